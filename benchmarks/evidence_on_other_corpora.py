"""Claim: expected errors of topics are right on corpora as others make them, and care is asked for where these are wrong.

    python benchmarks/evidence_on_other_corpora.py [--seeds 201-203] [--family AnchorTopics ...] [--save FILE]

Worlds: ``_worlds/corpora.py``, whose names start with *others'*; *right*, *wrong* and *empty* ones, errors, and *dangerous* are
as in ``evidence_on_wrong_models.py``. Rules were set on seeds 1 to 3, figures are reported on seeds from 201. A fit is *sound*
where its true error is below the limit and within twice the expected one: of these the share in the first two grades counts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from _common import report
from _worlds import worlds_of
from evidence_on_wrong_models import GRADES, Fit, dangerous, good, measured, numbers, one_fit, percent, trusted, within
from scipy.stats import spearmanr

TOPICS = ["AnchorTopics", "SpectralLDA", "SingleTopicModel"]


def summary(fits: list[Fit], **names: str) -> Fit:
    """A line for some fits."""
    known = [fit for fit in fits if measured(fit)]
    sound = [fit for fit in known if good(fit) and not dangerous(fit)]
    true, expected = ([fit[key] for fit in known] for key in ("true", "expected"))
    return names | {
        "fits": len(fits),
        "true": float(np.median(true)) if true else None,
        "expected": float(np.median(expected)) if true else None,
        "spearman": spearmanr(true, expected)[0] if len(known) > 3 else None,
        "% in 1.3": within(known, 1.3) if known else None,
        "% in 2": within(known, 2) if known else None,
        "grades": "/".join(str(sum(fit["grade"] == grade for fit in fits)) for grade in GRADES),
        "% of sound 1st, 2nd": percent(sound, lambda fit: trusted(fit, 2)) if sound else None,
        "% 1st, dangerous": percent(fits, lambda fit: trusted(fit) and dangerous(fit)),
        "% 2nd, dangerous": percent(fits, lambda fit: trusted(fit, 2) and not trusted(fit) and dangerous(fit)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", choices=TOPICS, default=TOPICS)
    parser.add_argument("--seeds", type=numbers, default=[201, 202, 203])
    parser.add_argument("--save", type=Path, help="all fits, as JSON")
    options = parser.parse_args()
    fits, rows = [], []
    for family in options.family:
        chosen = [world for world in worlds_of(family) if world.name.startswith("others'")]
        found = [one_fit(family, world.name, seed, "auto", False) for world in chosen for seed in options.seeds]
        fits += found
        for name in dict.fromkeys(fit["world"] for fit in found):
            mine = [fit for fit in found if fit["world"] == name]
            rows.append(summary(mine, family=family, kind=mine[0]["kind"], world=name))
        for kind in dict.fromkeys(fit["kind"] for fit in found):
            rows.append(summary([fit for fit in found if fit["kind"] == kind], family=family, kind=kind, world="ALL"))
    if options.save:
        options.save.write_text(json.dumps(fits, default=str) + "\n")
    report("evidence_on_other_corpora", rows, seeds=options.seeds)


if __name__ == "__main__":
    main()
