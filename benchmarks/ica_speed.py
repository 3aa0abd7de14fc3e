"""Claim: ICA by the fourth cumulant is as accurate as FastICA with the cube and faster; refined, as accurate as logcosh.

    python benchmarks/ica_speed.py [--quick] [--seeds 20]

20,000 rows of 10 Laplace sources, mixed by a random matrix. Amari index: median and largest over seeds, of answers
converged or not. ``converged``: fits without a warning, of FastICA that it has not converged (its defaults: 200 iterations,
random start by seed), of TensorICA that its decomposition or FastICA's iterations after it have not. ``ratio``: wall
seconds over those of FastICA logcosh, the faster of the two. One process, one BLAS thread for both sides; medians of
seconds.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, timed
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning
from latentia.ica import TensorICA
from latentia.metrics import amari_index


def models(k: int, seed: int) -> dict[str, Any]:
    return {
        "TensorICA": TensorICA(k),
        "no error bars": TensorICA(k, n_splits=0),
        "refine=50": TensorICA(k, refine=50),
        "refine=50, no error bars": TensorICA(k, refine=50, n_splits=0),
        "FastICA logcosh": FastICA(k, fun="logcosh", random_state=seed),
        "FastICA cube": FastICA(k, fun="cube", random_state=seed),
    }


def fit(model: Any, X: np.ndarray) -> tuple[np.ndarray, bool]:
    """Unmixing, and whether the fit converged without a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    failed = any(issubclass(warning.category, (ConvergenceWarning, EvidenceWarning)) for warning in caught)
    return model.components_, not failed


def compare(n: int, k: int, distribution: str, n_seeds: int) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in range(n_seeds):
        data = planted.independent_sources(n, k, distribution=distribution, random_state=seed)
        for name, model in models(k, seed).items():
            run = timed(lambda model=model: fit(model, data.X))
            unmixing, converged = run.value
            rows.setdefault(name, []).append((amari_index(unmixing, data.mixing), converged, run.cpu, run.wall))
    wall = {name: float(np.median([run[3] for run in runs])) for name, runs in rows.items()}
    out = []
    for name, runs in rows.items():
        amari, converged, cpu, _ = np.array(runs, dtype=float).T
        out.append(
            {
                "sources": distribution, "method": name, "amari": np.median(amari), "largest": amari.max(),
                "converged": f"{int(converged.sum())} of {n_seeds}", "cpu_s": np.median(cpu), "wall_s": wall[name],
                "ratio": wall[name] / wall["FastICA logcosh"],
            }
        )  # fmt: skip
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 seeds of 5,000 rows")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    n, seeds = (5000, 3) if options.quick else (20_000, options.seeds)
    with threadpool_limits(1):
        fit(TensorICA(2, refine=5), planted.independent_sources(500, 2).X)  # compile
        rows = compare(n, 10, "laplace", seeds) + compare(n, 10, "uniform", seeds)
    report("ica_speed" + ("_quick" if options.quick else ""), rows, rows_of_data=n, seeds=seeds)


if __name__ == "__main__":
    main()
