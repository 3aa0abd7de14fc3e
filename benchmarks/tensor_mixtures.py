"""Claim: mixtures of Gaussians and of binary features are recovered as from known labels; EM from one start often fails.

    python benchmarks/tensor_mixtures.py [--quick] [--seeds 5]

Spherical Gaussians: 50,000 rows, 20 components, 50 features, means 6 standard deviations apart. ``worst`` and ``mean``: l2
errors of the means after matching, medians over seeds; ``largest``: the worst over seeds. scikit-learn's GaussianMixture is
spherical, with its defaults otherwise. Binary features: 20,000 rows, 5 components, 30 features in three views; ``mean``: l1
error of a component over the number of features. EM is that of the Bernoulli mixture from 10 starts, probabilities uniform
in [.25, .75], at most 300 iterations or until the mean log-likelihood gains less than 1e-7: the start of the highest
likelihood, the median and the worst start by error; its seconds are those of all starts. One process, one BLAS thread for
both sides.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import report, timed
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture


def known_labels(data: Any) -> np.ndarray:
    return np.vstack([data.X[data.labels == k].mean(axis=0) for k in range(len(data.means))])


def sklearn_means(X: np.ndarray, k: int, seed: int, **options: Any) -> np.ndarray:
    return GaussianMixture(k, covariance_type="spherical", random_state=seed, **options).fit(X).means_


def gaussian_tasks(data: Any, k: int, seed: int) -> dict[str, Callable[[], np.ndarray]]:
    X = data.X
    return {
        "SphericalGaussianMixture": lambda: SphericalGaussianMixture(k).fit(X).means_,
        "no error bars": lambda: SphericalGaussianMixture(k, n_splits=0).fit(X).means_,
        "refine=0": lambda: SphericalGaussianMixture(k, refine=0).fit(X).means_,
        "refine=0, no error bars": lambda: SphericalGaussianMixture(k, refine=0, n_splits=0).fit(X).means_,
        "known labels": lambda: known_labels(data),
        "scikit-learn, k-means start": lambda: sklearn_means(X, k, seed),
        "scikit-learn, 10 k-means starts": lambda: sklearn_means(X, k, seed, n_init=10),
        "scikit-learn, random start": lambda: sklearn_means(X, k, seed, init_params="random"),
        "scikit-learn, 10 random starts": lambda: sklearn_means(X, k, seed, n_init=10, init_params="random"),
    }


def gaussians(n: int, k: int, d: int, seeds: list[int]) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in seeds:
        data = planted.gaussian_mixture(n, k, d, separation=6.0, random_state=seed)
        for name, task in gaussian_tasks(data, k, seed).items():
            run = timed(task)
            errors = recovery_errors(run.value, data.means, norm="l2")
            rows.setdefault(name, []).append((errors.max(), errors.mean(), run.cpu, run.wall))
        print(".", end="", flush=True)
    print()
    return table(rows, "spherical Gaussians")


def bernoulli_em(X: np.ndarray, k: int, seed: int, n_iter: int = 300, tol: float = 1e-7) -> tuple[np.ndarray, float]:
    """Probabilities (k, d) and mean log-likelihood from one random start."""
    probabilities = np.random.default_rng(seed).uniform(0.25, 0.75, (k, X.shape[1]))
    weights, previous = np.full(k, 1.0 / k), -np.inf
    for _ in range(n_iter):
        odds = np.log(probabilities) - np.log1p(-probabilities)
        joint = X @ odds.T + (np.log1p(-probabilities).sum(axis=1) + np.log(weights))
        total = logsumexp(joint, axis=1)
        shares = np.exp(joint - total[:, None])
        mass = shares.sum(axis=0)
        probabilities = np.clip(shares.T @ X / mass[:, None], 1e-3, 1 - 1e-3)
        weights, value = mass / len(X), float(total.mean())
        if value - previous < tol:
            break
        previous = value
    return probabilities, value


def products(n: int, seeds: list[int], k: int = 5, d: int = 30) -> list[dict]:
    rows: dict[str, list] = {}
    views = np.array_split(np.arange(d), 3)
    for seed in seeds:
        data = planted.product_mixture(n, k, d, random_state=seed)
        tasks = {
            "MultiViewMixture": lambda: _centres(MultiViewMixture(k, distribution="bernoulli"), data.X, views),
            "refine=0": lambda: _centres(MultiViewMixture(k, refine=0), data.X, views),
            "known labels": lambda: known_labels(data),
        }
        for name, task in tasks.items():
            run = timed(task)
            rows.setdefault(name, []).append((*_by_feature(run.value, data.means), run.cpu, run.wall))
        run = timed(lambda: [bernoulli_em(data.X, k, 100 * seed + s) for s in range(10)])
        errors = np.array([_by_feature(found, data.means) for found, _ in run.value])
        order = np.argsort(errors[:, 1])
        chosen = {
            "EM, highest likelihood of 10": int(np.argmax([value for _, value in run.value])),
            "EM, median start": order[len(order) // 2],
            "EM, worst start": order[-1],
        }
        for name, i in chosen.items():
            rows.setdefault(name, []).append((*errors[i], run.cpu, run.wall))
        print(".", end="", flush=True)
    print()
    return table(rows, "binary features")


def _centres(model: MultiViewMixture, X: np.ndarray, views: list) -> np.ndarray:
    return np.hstack(model.fit(X, views=views).means_)


def _by_feature(found: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    errors = recovery_errors(found, true) / true.shape[1]
    return float(errors.max()), float(errors.mean())


def table(rows: dict[str, list], name: str) -> list[dict]:
    out = []
    for method, runs in rows.items():
        worst, mean, cpu, wall = np.median(runs, axis=0)
        largest = max(run[0] for run in runs)
        out.append({"data": name, "method": method, "worst": worst, "mean": mean, "largest": largest, "cpu_s": cpu})
        out[-1]["wall_s"] = wall
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, 10 components")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = list(range(options.seeds))
    with threadpool_limits(1):
        tiny = planted.product_mixture(500, 2, 9)
        MultiViewMixture(2, distribution="bernoulli", refine=1).fit(tiny.X, views=[range(3), range(3, 6), range(6, 9)])
        SphericalGaussianMixture(2, refine=1).fit(tiny.X)  # compile
        rows = gaussians(5000, 10, 20, seeds) if options.quick else gaussians(50_000, 20, 50, seeds)
        rows += products(2000 if options.quick else 20_000, seeds)
    report("tensor_mixtures" + ("_quick" if options.quick else ""), rows, seeds=len(seeds))


if __name__ == "__main__":
    main()
