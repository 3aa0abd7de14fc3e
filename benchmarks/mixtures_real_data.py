"""Claim: on real tables `SphericalGaussianMixture` is at least as likely as the best of ten k-means starts, in no more time.

    python benchmarks/mixtures_real_data.py [--seeds 5] [--tables digits wine] [--choosing]

The peer is scikit-learn's ``GaussianMixture(K, covariance_type=..., n_init=10, random_state=seed)`` with its other defaults,
and `SphericalGaussianMixture` has its own but ``shrink=False``, so that both maximize the likelihood. ``log_likelihood``:
nats a row on the rows that were fitted; of the peer the median over seeds, ``peer_best`` the highest. ``ari``: adjusted Rand
index beside the known classes, likewise. ``cpu_s`` of `SphericalGaussianMixture` has its error bars in it, ``bare_cpu_s`` has
none (``n_splits=0``). Digits are their 20 leading principal components; the other tables have columns of unit variance,
missing cells their column's mean. K is the number of classes, and a larger one. ``--choosing`` runs the tables on which the
effort of the search was chosen; no figure is taken from these. One process, one thread for both sides.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from _common import DATA, report, timed
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture

SHAPES = ("spherical", "diag", "full", "tied")
Table = tuple[np.ndarray, np.ndarray, tuple[int, int]]
"""Rows, classes, and numbers of components."""


def scaled(X: np.ndarray) -> np.ndarray:
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def digits() -> Table:
    X, y = datasets.load_digits(return_X_y=True)
    return PCA(20, svd_solver="full").fit_transform(X), y, (10, 20)


def wine() -> Table:
    X, y = datasets.load_wine(return_X_y=True)
    return scaled(X), y, (3, 5)


def breast_cancer() -> Table:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return scaled(X), y, (2, 5)


def mice_protein() -> Table:
    import pandas as pd

    (path,) = sorted((DATA / "mice_protein").glob("*.csv*"))
    frame = pd.read_csv(path)
    values = frame.select_dtypes("number").to_numpy(float)
    return scaled(values), frame["class"].astype("category").cat.codes.to_numpy(), (8, 16)


def iris() -> Table:
    X, y = datasets.load_iris(return_X_y=True)
    return scaled(X), y, (3, 6)


def diabetes() -> Table:
    X, y = datasets.load_diabetes(return_X_y=True)
    return scaled(X), np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75])), (4, 8)


def samson() -> Table:
    with np.load(DATA / "samson" / "samson.npz") as held:
        pixels = held["pixels"] if "pixels" in held else held[held.files[0]]
        labels = held["abundances"].argmax(axis=1)
    pixels = pixels if pixels.shape[0] == len(labels) else pixels.T
    return scaled(PCA(10, svd_solver="full").fit_transform(pixels)), labels, (6, 12)


def planted_full() -> Table:
    rng = np.random.default_rng(0)
    labels = rng.integers(12, size=2400)
    roots, means = rng.standard_normal((12, 15, 15)) / 4, 1.2 * rng.standard_normal((12, 15))
    X = means[labels] + np.einsum("nij,nj->ni", roots[labels], rng.standard_normal((2400, 15)))
    return scaled(X), labels, (12, 18)


def planted_heavy() -> Table:
    rng = np.random.default_rng(1)
    data = planted.gaussian_mixture(1200, 15, 30, separation=4.0, random_state=1)
    return data.X * np.sqrt(4 / rng.chisquare(4, (1200, 1))), data.labels, (15, 25)


def planted_wide() -> Table:
    rng = np.random.default_rng(2)
    labels = rng.integers(6, size=700)
    roots, means = rng.standard_normal((6, 50, 20)) / 3, rng.standard_normal((6, 50)) / 2
    X = means[labels] + np.einsum("nij,nj->ni", roots[labels], rng.standard_normal((700, 20)))
    return scaled(X + 0.2 * rng.standard_normal(X.shape)), labels, (6, 12)


CLAIMED: dict[str, Callable[[], Table]] = {
    "digits": digits, "wine": wine, "breast cancer": breast_cancer, "mice protein": mice_protein,
}  # fmt: skip
CHOOSING: dict[str, Callable[[], Table]] = {
    "iris": iris, "diabetes": diabetes, "samson": samson, "planted full": planted_full, "planted heavy": planted_heavy,
    "planted wide": planted_wide,
}  # fmt: skip


def compared(name: str, X: np.ndarray, y: np.ndarray, k: int, shape: str, seeds: list[int]) -> dict:
    ours = timed(lambda: SphericalGaussianMixture(k, covariance_type=shape, shrink=False).fit(X))
    bare = timed(lambda: SphericalGaussianMixture(k, covariance_type=shape, shrink=False, n_splits=0).fit(X))
    peers = [
        timed(lambda seed=seed: GaussianMixture(k, covariance_type=shape, n_init=10, random_state=seed).fit(X))
        for seed in seeds
    ]
    heights = [one.value.score(X) for one in peers]
    row = {
        "table": name, "shape": shape, "K": k, "log_likelihood": ours.value.score(X), "peer": float(np.median(heights)),
        "peer_best": max(heights), "ari": adjusted_rand_score(y, ours.value.predict(X)),
        "peer_ari": float(np.median([adjusted_rand_score(y, one.value.predict(X)) for one in peers])),
        "cpu_s": ours.cpu, "bare_cpu_s": bare.cpu, "peer_cpu_s": float(np.median([one.cpu for one in peers])),
    }  # fmt: skip
    likely = "as likely" if row["log_likelihood"] >= row["peer"] - 1e-3 else "less likely"
    row["holds"] = likely + (", as fast" if row["cpu_s"] <= row["peer_cpu_s"] else ", slower")
    numbers = " ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values())
    print(numbers, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    parser.add_argument("--choosing", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables, rows = CHOOSING if options.choosing else CLAIMED, []
    with threadpool_limits(1):
        SphericalGaussianMixture(2).fit(planted.gaussian_mixture(200, 2, 4).X)  # compile
        for name in options.tables or tables:
            X, y, sizes = tables[name]()
            for shape in options.shapes:
                rows += [compared(name, X, y, k, shape, list(range(options.seeds))) for k in sizes]
    whole = set(options.tables or tables) == set(CLAIMED) and set(options.shapes) == set(SHAPES)
    report(
        "mixtures_real_data" + ("_choosing" if options.choosing else "" if whole else "_part"), rows,
        seeds=options.seeds,
        as_likely=f"{sum('as likely' in row['holds'] for row in rows)} of {len(rows)}",
        as_fast=f"{sum('as fast' in row['holds'] for row in rows)} of {len(rows)}",
        as_fast_without_error_bars=f"{sum(row['bare_cpu_s'] <= row['peer_cpu_s'] for row in rows)} of {len(rows)}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
