"""Claim: TensorICA separates sources in Gaussian noise of unknown covariance, which biases FastICA's whitening.

    python benchmarks/ica_in_noise.py [--quick] [--first 10] [--seeds 10]

100,000 rows of K sources in K features, mixed by a random matrix of condition at most 10, or of 30, with noise of covariance
2 sigma^2 G G^T / K for a K x K matrix G of standard normal entries. "laplace": all sources are; "signs": every other one is
uniform, of negative kurtosis; "mixed": those of `planted.independent_sources`, one of them with few moments.

Crosstalk: amplitude of the other sources in a recovered one relative to all of them, mean over the sources; medians over seeds.
``noise taken``: of the default fits. ``expected in 2``: default fits whose expected error is within a factor of two of that.
``covariance``: distance of ``noise_covariance_``, where there is one, to that of the noise, in norms of it.
Rules were chosen on seeds 0 to 4.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report
from sklearn.decomposition import FastICA
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.ica import TensorICA

CELLS = [
    *(("laplace", 4, 10, sigma) for sigma in (0.0, 0.5, 1.0, 1.5)),
    *(("signs", 4, 10, sigma) for sigma in (0.5, 1.0)),
    *(("mixed", 4, 10, sigma) for sigma in (0.5, 1.0)),
    *(("laplace", 8, 10, sigma) for sigma in (0.5, 1.0)),
    ("laplace", 4, 30, 0.5),
]


def crosstalk(unmixing: np.ndarray, mixing: np.ndarray) -> float:
    gains = unmixing @ mixing
    shares = (gains / np.linalg.norm(gains, axis=1, keepdims=True)) ** 2
    return float(np.sqrt(1 - shares.max(axis=1)).mean())


def data(distribution: str, k: int, condition: float, sigma: float, n: int, seed: int) -> tuple[np.ndarray, Any, Any]:
    """Rows, mixing and covariance of the noise."""
    root = sigma * np.random.default_rng([seed, 2]).standard_normal((k, k)) * np.sqrt(2 / k)
    options: dict[str, Any] = {"max_condition": min(condition, 10) if k < 8 else 50, "random_state": seed}
    drawn = planted.independent_sources(n, k, distribution="mixed" if distribution == "mixed" else "laplace", **options)
    sources, mixing = drawn.sources, drawn.mixing
    rng = np.random.default_rng([seed, 1])
    if distribution == "signs":
        sources[:, 1::2] = rng.uniform(-np.sqrt(3), np.sqrt(3), sources[:, 1::2].shape)
    if condition > 10:
        left, values, right = np.linalg.svd(mixing)
        mixing = left * (np.linalg.norm(values) * np.geomspace(condition, 1, k) / condition) @ right
    return sources @ mixing.T + rng.standard_normal((n, k)) @ root.T, mixing, root @ root.T


def fits(cell: tuple[str, int, float, float], n: int, seed: int) -> dict[str, Any]:
    X, mixing, noise = data(*cell, n, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, plain = TensorICA().fit(X), TensorICA(noise=None, n_splits=0).fit(X)
        peer = FastICA(random_state=seed).fit(X)
    true, found = crosstalk(model.components_, mixing), model.noise_covariance_
    return {
        "TensorICA": true, "noise=None": crosstalk(plain.components_, mixing),
        "FastICA": crosstalk(peer.components_, mixing),
        "taken": found is not None, "ratio": model.evidence_.component_errors.mean() / true,
        "grade": model.evidence_.grade,
        "covariance": np.nan if found is None or not noise.any() else np.linalg.norm(found - noise) / np.linalg.norm(noise),
    }  # fmt: skip


def summary(cell: tuple[str, int, float, float], runs: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = np.array([run["ratio"] for run in runs])
    row: dict[str, Any] = dict(zip(("sources", "K", "condition", "noise"), cell, strict=True))
    row |= {name: float(np.median([run[name] for run in runs])) for name in ("TensorICA", "noise=None", "FastICA")}
    row["largest"] = max(run["TensorICA"] for run in runs)
    row["above FastICA"] = sum(run["TensorICA"] > 1.1 * run["FastICA"] for run in runs)
    row["noise taken"] = sum(run["taken"] for run in runs)
    row["expected in 2"] = int(((ratios > 0.5) & (ratios < 2)).sum())
    row["expected / true"] = f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
    row["first two grades"] = sum(run["grade"] in ("supported", "with care") for run in runs)
    known = [run["covariance"] for run in runs if not np.isnan(run["covariance"])]
    row["covariance"] = float(np.median(known)) if known else None
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 seeds of 20,000 rows")
    parser.add_argument("--first", type=int, default=10, help="first seed")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    n, seeds = (20_000, 2) if options.quick else (100_000, options.seeds)
    chosen = range(options.first, options.first + seeds)
    with threadpool_limits(1):
        rows = [summary(cell, [fits(cell, n, seed) for seed in chosen]) for cell in CELLS]
    report("ica_in_noise" + ("_quick" if options.quick else ""), rows, rows_of_data=n, seeds=str(chosen))


if __name__ == "__main__":
    main()
