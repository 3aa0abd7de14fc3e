"""Claim: expected errors of mixtures and of independent components hold on time series, where neighbours are alike.

    python benchmarks/series_errors.py [--seeds 101-105]

Rows are dealt into halves in stretches of neighbours. ``halves``: mean distance of the full fit's components from those of
fits on the first and on the second half of the series, which has the size of the error of the full fit and takes nothing from
how rows are dealt; ``expected``: the mean of ``component_errors``; ``ratio``: expected over halves, median over seeds, and
``least`` and ``largest`` over them; ``true``: median of the true error over the expected one, where the truth is known.
``shuffled``: the ratio where the same rows come in random order, so that stretches hold nothing: what ignoring time would
say.

Mixtures: 20,000 rows in 6 columns, 4 clusters 6 standard deviations apart, in regimes that last 1, 50 and 200 rows on average,
noise with autocorrelation 0, .5 or .9. ICA: 20,000 rows of 4 Laplace sources passed through autoregressions with coefficient 0,
.5, .9. Real series, one fit each: pixels of a hyperspectral image line by line (10 principal components, 3 clusters), and four
grey images as signals. No constant was chosen here.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import DATA, report
from scipy.signal import lfilter
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture

N = 20_000
FACTOR = 1.5


def autoregression(noise: np.ndarray, coefficient: float) -> np.ndarray:
    """Rows with this correlation of neighbours and unit variance."""
    series = lfilter([1.0], [1.0, -coefficient], noise, axis=0) * np.sqrt(1 - coefficient**2)
    return series[500:]


def regimes(length: int, coefficient: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the means of the clusters."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((4, 6))
    apart = cdist(means, means)[np.triu_indices(4, 1)].min()
    means *= 6 / apart
    changes = rng.random(N) < 1 / length
    changes[0] = True
    labels = rng.integers(4, size=int(changes.sum()))[np.cumsum(changes) - 1]
    return means[labels] + autoregression(rng.standard_normal((N + 500, 6)), coefficient), means


def sources(coefficient: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the mixing."""
    rng = np.random.default_rng(seed)
    series = autoregression(rng.laplace(size=(N + 500, 4)) / np.sqrt(2), coefficient)
    mixing = rng.standard_normal((4, 4))
    return series @ mixing.T, mixing


def crosstalk(unmixing: np.ndarray, mixing: np.ndarray) -> np.ndarray:
    gains = unmixing @ mixing
    shares = (gains / np.linalg.norm(gains, axis=1, keepdims=True)) ** 2
    return np.sqrt(1 - shares.max(axis=0))


def distance(full: Any, other: Any) -> float:
    if isinstance(full, TensorICA):
        return float(crosstalk(other.components_, full.mixing_).mean())
    return float(cdist(full.means_, other.means_).min(axis=1).mean())


def true_error(model: Any, truth: np.ndarray | None) -> float:
    if truth is None:
        return float("nan")
    if isinstance(model, TensorICA):
        return float(crosstalk(model.components_, truth).mean())
    return float(cdist(model.means_, truth).min(axis=1).mean())


def measured(new: Callable[[], Any], X: np.ndarray, truth: np.ndarray | None, seed: int) -> dict[str, float]:
    half = len(X) // 2
    model = new().fit(X)
    halves = float(np.mean([distance(model, new().fit(part)) for part in (X[:half], X[half:])]))
    shuffled = new().fit(X[np.random.default_rng(seed).permutation(len(X))])
    expected = float(model.evidence_.component_errors.mean())
    return {
        "ratio": expected / halves, "true": true_error(model, truth) / expected, "expected": expected, "halves": halves,
        "shuffled": float(shuffled.evidence_.component_errors.mean()) / halves,
    }  # fmt: skip


def line(name: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    ratios = [run["ratio"] for run in runs]
    row: dict[str, Any] = {"series": name}
    row |= {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
    row |= {"least": min(ratios), "largest": max(ratios), "fits": len(runs)}
    row["holds"] = 1 / FACTOR <= row["ratio"] <= FACTOR
    print({key: value if isinstance(value, (str, bool)) else round(value, 3) for key, value in row.items()}, flush=True)
    return row


def real_series() -> list[dict[str, Any]]:
    with np.load(DATA / "samson" / "samson.npz") as held:
        pixels = PCA(10, svd_solver="full").fit_transform(held["pixels"])
    rows = [line("pixels, mixture", [measured(lambda: SphericalGaussianMixture(3), pixels / pixels.std(), None, 0)])]
    from tensor_real_data import signals

    rng = np.random.default_rng(0)
    signals, mixing = signals(), rng.standard_normal((4, 4))
    return [*rows, line("images, ICA", [measured(lambda: TensorICA(4), signals @ mixing.T, mixing, 0)])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="101-105")
    first, last = map(int, parser.parse_args().seeds.split("-"))
    seeds, rows = range(first, last + 1), []
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for length, coefficient in ((1, 0.0), (1, 0.5), (1, 0.9), (50, 0.0), (50, 0.9), (200, 0.9)):
            found = []
            for seed in seeds:
                X, means = regimes(length, coefficient, seed)
                found.append(measured(lambda: SphericalGaussianMixture(4), X, means, seed))
            rows.append(line(f"regimes of {length}, correlation {coefficient:g}", found))
        for coefficient in (0.0, 0.5, 0.9):
            found = []
            for seed in seeds:
                X, mixing = sources(coefficient, seed)
                found.append(measured(lambda: TensorICA(4), X, mixing, seed))
            rows.append(line(f"sources, correlation {coefficient:g}", found))
        rows += real_series()
    report("series_errors", rows, within_1_5=f"{sum(row['holds'] for row in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
