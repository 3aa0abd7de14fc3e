"""Claim: causes are learned from tables with gaps, their number is found and its range is said, and too many cost little.

    python benchmarks/noisy_or_tables.py [--quick]

Planted networks of 30 causes of about 30 of 300 findings each, 1.6 causes on in a row, leaks from .001 to .02, as in
`noisy_or_posteriors.py`, in 100,000 rows. ``error`` is relative, of the weights of a cause in l2; ``loss`` the mean log loss
of a cause in 500 fresh rows over that of the true network. "gaps": 20% of the cells at random are not known. "40 asked for":
more causes than there are. "number": `NoisyOr()` finds it; ``within`` says whether its range holds 30. Seeds are others than
those that constants were chosen on (1 to 4). --quick: one seed, 20,000 rows.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, timed, verdict
from noisy_or_posteriors import log_loss, matched, network

from latentia.noisyor import NoisyOr
from latentia.noisyor.inference import Network, posteriors

SEEDS = (301, 302, 303, 304, 305)
CAUSES, SURPLUS, GAPS, FRESH = 30, 40, 0.2, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    n_rows, seeds = (20_000, SEEDS[:1]) if quick else (100_000, SEEDS)
    rows = [row for seed in seeds for row in fits(seed, n_rows)]
    report("noisy_or_tables" + "_quick" * quick, rows, rows_of_the_data=n_rows, **summary(rows))


def fits(seed: int, n_rows: int) -> list[dict[str, Any]]:
    truth = network(seed, 1.6, "uniform")
    X, fresh = truth.sample(n_rows, seed + 1).X, truth.sample(FRESH, seed + 2)
    true = posteriors(Network(truth.weights, truth.priors, truth.leak), fresh.X, n_jobs=-1)
    best = log_loss(true.probabilities, fresh.causes)
    gaps = np.where(np.random.default_rng(seed).random(X.shape) < GAPS, np.nan, X)
    cases: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "moments": (X, CAUSES, {"refine": 0}),
        "default": (X, CAUSES, {}),
        "gaps": (gaps, CAUSES, {}),
        "40 asked for": (X, SURPLUS, {}),
        "number": (X, None, {}),
    }
    rows = []
    for name, (table, k, options) in cases.items():
        done = timed(lambda table=table, k=k, options=options: NoisyOr(k, n_jobs=-1, **options).fit(table))
        model = done.value
        places, error = matched(model, truth)
        found = model.predict_proba(fresh.X)
        probabilities = np.zeros((FRESH, CAUSES))
        probabilities[:, : len(places)] = found[:, places]  # too few causes were found: the others are never on
        low, high = model.n_components_range_ or (0, 0)
        rows.append(
            {
                "seed": seed, "fit": name, "causes": len(model.priors_), "range": f"{low}-{high}" if high else "",
                "within": low <= CAUSES <= high if high else None, "error": float(error.mean()),
                "expected": model.evidence_.expected_error, "grade": model.evidence_.grade,
                "loss": log_loss(probabilities, fresh.causes) / best if len(places) == CAUSES else None,
                "E-steps": len(model.refinement_), "wall_s": done.wall, "cpu_s": done.cpu,
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, str]:
    """What was claimed, in medians over the seeds, but refinement, which must help on each."""

    def of(fit: str, what: str) -> np.ndarray:
        return np.array([row[what] for row in rows if row["fit"] == fit], dtype=float)

    loss = float(np.median(of("default", "loss")))
    refined = float((of("default", "error") / of("moments", "error")).max())
    gaps = float(np.median(of("gaps", "error") / of("default", "error")))
    surplus = float(np.median(of("40 asked for", "cpu_s") / of("default", "cpu_s")))
    right = np.mean((of("number", "causes") == CAUSES) | (of("number", "within") == 1))
    return {
        "log loss of the true network's <= 1.15": verdict(loss, loss <= 1.15),
        "error of the moments', worst <= 1": verdict(refined, refined <= 1),
        "gaps: error of whole rows' < 1.5": verdict(gaps, gaps < 1.5),
        "40 for 30: CPU seconds <= 2.5": verdict(surplus, surplus <= 2.5),
        "number or its range right >= 0.8": verdict(float(right), right >= 0.8),
    }


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
