"""Claim: pure pixels give the materials of a spectral image, which alternating factorizations from other starts do not find.

    python benchmarks/nmf_samson.py [--repeats 3]

Samson (the folder of data as ``LATENTIA_DATA``): 95 x 95 pixels in 156 bands, with reference spectra and abundances of soil,
tree and water. *angle*: mean angle to the reference spectra in radians, components matched one to one. *abundance*: root mean
square difference to the reference abundances, of shares of a pixel's sum (`latentia.report.nmf.contributions`), which do not
depend on the brightness of components. *relative error*: |X - A W| / |X|. CPU seconds on one thread, the least of some
repeats. scikit-learn's NMF by coordinate descent from its start "nndsvda" and from random starts of some seeds: until it
settles to its default tolerance of 1e-4, and to 1e-6 or for 5,000 rounds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import DATA, report, timed
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from latentia.nmf import SeparableNMF
from latentia.report.nmf import contributions

OURS: dict[str, dict[str, Any]] = {
    "SeparableNMF": {},
    "n_splits=0": {"n_splits": 0},
    'n_splits=0, mixing="simplex"': {"n_splits": 0, "mixing": "simplex"},
    'n_splits=0, mixing="cone"': {"n_splits": 0, "mixing": "cone"},
    "n_splits=0, pooled=False": {"n_splits": 0, "pooled": False},
    **{f'n_splits=0, method="{one}"': {"n_splits": 0, "method": one} for one in ("spa", "spa-spa", "snpa", "farthest")},
    "n_splits=0, refine=4": {"n_splits": 0, "refine": 4},
    "n_splits=0, refine=30": {"n_splits": 0, "refine": 30},
    'n_splits=0, refine="auto"': {"n_splits": 0, "refine": "auto"},
}
PLAIN, POLISHED = "n_splits=0", ("n_splits=0, refine=4", "n_splits=0, refine=30", 'n_splits=0, refine="auto"')
SEEDS = {"tol 1e-4": range(300, 310), "tol 1e-6": range(300, 302)}
ANGLE, FASTER, WORSE = 0.065, 10, 1.1


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def shares(model: Any, weights: np.ndarray) -> np.ndarray:
    if isinstance(model, SeparableNMF):
        return contributions(model, weights)
    parts = weights * model.components_.sum(axis=1)
    return parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)


def judged(model: Any, X: np.ndarray, spectra: np.ndarray, abundances: np.ndarray) -> dict[str, float]:
    weights = model.transform(X)
    angles = np.arccos(np.clip(unit(model.components_) @ unit(spectra).T, -1, 1))
    own, true = linear_sum_assignment(angles)
    difference = shares(model, weights)[:, own] - abundances[:, true]
    return {
        "angle": float(angles[own, true].mean()),
        "worst angle": float(angles[own, true].max()),
        "abundance": float(np.sqrt((difference**2).mean())),
        "relative error": float(np.linalg.norm(X - weights @ model.components_) / np.linalg.norm(X)),
    }


def peers() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    for name, seeds in SEEDS.items():
        given = {"n_components": 3, "tol": float(name.split()[1]), "max_iter": 5000}
        found[f"NMF nndsvda, {name}"] = lambda given=given: NMF(init="nndsvda", **given)
        for seed in seeds:
            found[f"NMF random, {name}, seed {seed}"] = lambda given=given, seed=seed: NMF(
                init="random", random_state=seed, **given
            )
    return found


def checked(rows: list[dict[str, Any]]) -> dict[str, bool]:
    by = {row["method"]: row for row in rows}
    plain = by[PLAIN]
    holds = {f"angle {plain['angle']:.4f} <= {ANGLE}": plain["angle"] <= ANGLE}
    for name in SEEDS:
        median = float(np.median([row["cpu_s"] for row in rows if name in row["method"]]))
        faster = median / plain["cpu_s"]
        holds[f"{faster:.1f} times faster than the median NMF, {name}"] = faster >= FASTER
    for polished in POLISHED:
        times = by[polished]["angle"] / plain["angle"]
        holds[f"{polished}: {times:.2f} times the angle before <= {WORSE}"] = times <= WORSE
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = np.load(DATA / "samson" / "samson.npz")
    X, truth = data["pixels"].astype(float), (data["endmembers"], data["abundances"])
    makers: dict[str, Callable[[], Any]] = {
        name: lambda given=given: SeparableNMF(3, n_jobs=1, **given) for name, given in OURS.items()
    }
    rows = []
    with threadpool_limits(1):
        for given in OURS.values():
            SeparableNMF(3, n_jobs=1, **given).fit(X[:400])  # compiled
        for name, make in (makers | peers()).items():
            repeats = options.repeats if name in makers else 1
            runs = [timed(lambda make=make: make().fit(X)) for _ in range(repeats)]
            rows.append({"method": name, **judged(runs[0].value, X, *truth), "cpu_s": min(run.cpu for run in runs)})
            model = runs[0].value
            facts = {"chosen": getattr(model, "method_", ""), "mixing": getattr(model, "mixing_kind_", "")}
            rows[-1] |= facts | {"rounds": getattr(model, "n_iter_", None), "grade": _grade(model)}
            print({key: round(v, 4) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
    report("nmf_samson", rows, holds=checked(rows))


def _grade(model: Any) -> str:
    return str(model.evidence_.grade) if hasattr(model, "evidence_") and model.n_splits else ""


if __name__ == "__main__":
    main()
