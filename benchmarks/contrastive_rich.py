"""Claim: with three views and all seven subsets of them, the maps of every component and the absent ones are found.

    python benchmarks/contrastive_rich.py [--quick] [--seeds 10]

`RichComponents` on `planted.rich_components`: d = 5, maps with a condition number of at most 5, seeds from 300 on. ``maps`` is
the Frobenius error of the maps of a component to all views but its first, relative to them, mean over the four components in
several views; ``expected`` the mean of their expected errors; ``cumulant`` the relative error of the third cumulant of the
component in all views, which has entries of 2 on its diagonal (exponential draws alone); ``present`` how many of the seven
were told rightly from absent ones, all together. Rows with absent ones lack the components in (0, 1) and (1, 2). --quick:
10,000 rows.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, timed
from _contrastive import FIRST_SEED

from latentia.contrastive import RichComponents
from latentia.datasets import planted
from latentia.exceptions import LatentiaWarning

SETTINGS = (
    ("exponential", 10_000, ()), ("exponential", 100_000, ()), ("uniform", 100_000, ()), ("exponential", 100_000, (3, 5)),
    ("exponential", 500_000, ()), ("exponential", 500_000, (3, 5)),
)  # fmt: skip


def measure(distribution: Any, n: int, absent: tuple[int, ...], seed: int) -> dict[str, float]:
    data = planted.rich_components(n, 5, distribution=distribution, absent=absent, random_state=seed)
    done = timed(lambda: RichComponents().fit(data.views))
    model, maps = done.value, []
    for j, views in enumerate(data.subsets):
        if len(views) > 1 and data.present[j] and model.present_[j]:
            found, truth = (
                np.vstack([some[i, j] for i in views[1:]]) for some in (model.linear_maps_, data.linear_maps)
            )
            maps.append(np.linalg.norm(found - truth) / np.linalg.norm(truth))
    row = {"maps": float(np.mean(maps)), "worst": float(max(maps)), "expected": float(model.evidence_.expected_error)}
    if distribution == "exponential":
        third = np.zeros((5, 5, 5))
        np.einsum("iii->i", third)[:] = 2.0
        row["cumulant"] = float(np.linalg.norm(model.cumulant(6, 3) - third) / np.linalg.norm(third))
    return row | {"present": float((model.present_ == data.present).sum()), "cpu_s": done.cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore", LatentiaWarning)
    rows = []
    for distribution, n, absent in SETTINGS[: 1 if options.quick else None]:
        many = [measure(distribution, n, absent, FIRST_SEED + seed) for seed in range(options.seeds)]
        row: dict[str, Any] = {"sources": distribution, "n": n, "absent": len(absent)}
        row |= {key: float(np.mean([one[key] for one in many])) for key in many[0]}
        rows.append(
            row
            | {
                "worst": max(one["worst"] for one in many),
                "present": f"{sum(o['present'] for o in many):.0f}/{7 * len(many)}",
            }
        )
    report("contrastive_rich" + ("_quick" if options.quick else ""), rows, seeds=options.seeds)


if __name__ == "__main__":
    main()
