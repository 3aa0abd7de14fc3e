"""Claim: nonnegative and simplex least squares are exact to 1e-10, at least 5 times faster than scipy and 10 than scikit-learn.

    python benchmarks/nmf_least_squares.py [--points 10000] [--components 20] [--dimensions 200] [--repeats 3]

Weights of 10,000 points on 20 vertices in 200 dimensions. Well conditioned: vertices uniform in the unit cube. Ill
conditioned: a common part that leaves condition 1000, still nonnegative. Points are Dirichlet(.3) mixtures without noise, with
noise of a tenth of an entry, and with noise as large as the entries (negative entries are set to 0 for scikit-learn's sake).

Peers: a loop of scipy.optimize.nnls, `transform` of scikit-learn's NMF (coordinate descent, its default tolerance; 1000
rounds at most), and for weights that sum to one nnls with a heavy row of ones. Peers with loops run on every tenth point and
are scaled up. Agreement is the largest difference of weights from scipy's, and for the simplex the violation of the
optimality conditions, relative to the largest inner product. CPU seconds, one thread, best of the repeats.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import report, timed
from scipy.optimize import nnls
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from latentia.simplex import nonnegative_least_squares, simplex_least_squares

NOISES = 0.0, 0.1, 1.0


def vertices_of(kind, components, dimensions, rng):
    if kind == "well":
        return rng.random((components, dimensions))
    own, common = rng.random((components, dimensions)), rng.random(dimensions)
    strengths = np.geomspace(1, 3e-3, components)[:, None]
    return common + strengths * (own - common)


def learned_transform(points, vertices):
    """Weights by scikit-learn's NMF with given components."""
    model = NMF(len(vertices), solver="cd", init="custom", max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = np.full((len(vertices), len(vertices)), 1 / len(vertices))
        model.fit_transform(vertices, W=weights, H=vertices.copy())
        model.components_, model.max_iter = vertices, 1000
        return model.transform(points)


def violation(points, vertices, weights, convex):
    slopes = (points - weights @ vertices) @ vertices.T
    if convex:
        slopes -= (slopes * weights).sum(axis=1, keepdims=True)
    largest = np.abs(points @ vertices.T).max()
    return max(slopes.max(), np.abs(slopes * weights).max()) / largest


def best(task, repeats):
    runs = [timed(task) for _ in range(repeats)]
    return runs[0].value, min(run.cpu for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--dimensions", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows, rng = [], np.random.default_rng(0)
    with threadpool_limits(1):
        for kind in ("well", "ill"):
            vertices = vertices_of(kind, options.components, options.dimensions, rng)
            for noise in NOISES:
                mixed = rng.dirichlet(np.full(options.components, 0.3), options.points) @ vertices
                points = np.maximum(mixed + noise * 0.5 * rng.standard_normal(mixed.shape), 0)
                some = points[::10]
                nonnegative_least_squares(some, vertices, n_jobs=1)  # compiled
                simplex_least_squares(some, vertices, tol=0, n_jobs=1)
                ours, cpu = best(lambda: nonnegative_least_squares(points, vertices, n_jobs=1), options.repeats)
                convex, convex_cpu = best(
                    lambda: simplex_least_squares(points, vertices, tol=0, n_jobs=1),
                    options.repeats,
                )
                scipy_, scipy_cpu = best(lambda: np.array([nnls(vertices.T, x)[0] for x in some]), options.repeats)
                heavy = 1e3 * np.abs(vertices).max()
                longer = np.column_stack([vertices, np.full(len(vertices), heavy)]).T
                _, heavy_cpu = best(lambda: [nnls(longer, np.append(x, heavy))[0] for x in some], options.repeats)
                learned, learned_cpu = best(lambda: learned_transform(points, vertices), 1)
                rows.append({
                    "vertices": kind, "condition": np.linalg.cond(vertices), "noise": noise,
                    "nonnegative_s": cpu, "scipy_s": 10 * scipy_cpu, "sklearn_s": learned_cpu,
                    "times_scipy": 10 * scipy_cpu / cpu, "times_sklearn": learned_cpu / cpu,
                    "difference": np.abs(ours[::10] - scipy_).max(), "sklearn_difference": np.abs(learned - ours).max(),
                    "simplex_s": convex_cpu, "times_heavy_row": 10 * heavy_cpu / convex_cpu,
                    "simplex_times_sklearn": learned_cpu / convex_cpu,
                    "simplex_violation": violation(points, vertices, convex, True),
                })  # fmt: skip
    report("nmf_least_squares", rows, points=options.points, components=options.components)


if __name__ == "__main__":
    main()
