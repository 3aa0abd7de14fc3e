"""Clusters of rows, for `SphericalGaussianMixture`.

The true error of a mean is its l2 distance to the nearest true one, in the units of the data.

Truth of a cluster that is no ball is its mean; of rows between archetypes the archetypes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist, pdist

from latentia.mixtures import SphericalGaussianMixture

from .world import Case, Rng, copies, labels_of, remembering, spread_shares, worlds

Noise = Callable[[Rng, np.ndarray, int], np.ndarray]


def case(rng: Rng, draw: Callable[[Rng, int], np.ndarray], n: int, k: int, means: np.ndarray | None) -> Case:
    X, new = draw(rng, n), draw(rng, 1000)
    return Case(
        lambda refine: SphericalGaussianMixture(k, refine=refine),
        lambda model: model.fit(X),
        None if means is None else lambda model: cdist(model.means_, means),
        lambda model: (model.score(new), one_ball(X, new)),
    )


def one_ball(X: np.ndarray, new: np.ndarray) -> float:
    """Mean log-density of new rows under one spherical Gaussian."""
    variance, d = X.var(axis=0).mean(), X.shape[1]
    return float(
        -0.5 * (((new - X.mean(axis=0)) ** 2).sum(axis=1).mean() / variance + d * np.log(2 * np.pi * variance))
    )


def apart(rng: Rng, k: int, d: int, sep: float) -> np.ndarray:
    """Means of which the median distance is ``sep``."""
    means = rng.standard_normal((k, d))
    return means * sep / np.median(pdist(means))


def clusters(
    rng: Rng,
    n: int = 6000,
    k: int = 5,
    d: int = 10,
    sep: float = 6.0,
    *,
    fold: float = 1.0,
    stay: float = 0.0,
    asked: int | None = None,
    means: np.ndarray | None = None,
    noise: Noise | None = None,
    after: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    truth: Callable[[Rng, np.ndarray], np.ndarray] | None = None,
    times: int = 1,
    shuffled: bool = True,
) -> Case:
    """Balls of unit variance; ``noise(rng, labels, d)`` makes others, ``after`` changes the rows."""
    means, shares = apart(rng, k, d, sep) if means is None else means, spread_shares(k, fold)
    noise = noise or (lambda rng, labels, d: rng.standard_normal((len(labels), d)))

    def draw(rng: Rng, n: int) -> np.ndarray:
        labels = labels_of(rng, n // times, shares, stay)
        X = means[labels] + noise(rng, labels, d)
        X = after(rng, X) if after else X
        return X if times == 1 else X[copies(rng, n, times, shuffled)]

    true = means if truth is None else truth(rng, means)
    return case(rng, draw, n, k if asked is None else asked, true)


def own_spread(low: float, high: float, k: int) -> Noise:
    """Balls of variances from ``low`` to ``high``."""
    sd = np.sqrt(np.geomspace(low, high, k))
    return lambda rng, labels, d: sd[labels, None] * rng.standard_normal((len(labels), d))


def ellipsoids(rng: Rng, k: int, d: int, stretch: float, common: bool = False) -> Noise:
    """Gaussians with covariances of their own, or one in common, of mean variance one; axes differ ``stretch``-fold."""
    axes = np.geomspace(1, stretch, d)
    axes /= np.sqrt((axes**2).mean())
    shapes = [np.linalg.qr(rng.standard_normal((d, d)))[0] * axes for _ in range(1 if common else k)]
    shapes = np.stack(shapes * k if common else shapes)
    return lambda rng, labels, d: np.einsum("nij,nj->ni", shapes[labels], rng.standard_normal((len(labels), d)))


def student(degrees: float) -> Noise:
    """Balls with tails, of unit variance."""

    def noise(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
        scale = np.sqrt((degrees - 2) / rng.chisquare(degrees, len(labels)))
        return rng.standard_normal((len(labels), d)) * scale[:, None]

    return noise


def bent(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
    """Bananas: the second feature goes with the square of the first, which is long."""
    X = rng.standard_normal((len(labels), d))
    X[:, 1] += 1.2 * (X[:, 0] ** 2 - 1)
    X[:, 0] *= 2
    return X


def skewed(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
    """Exponential noise of unit variance."""
    return rng.exponential(size=(len(labels), d)) - 1


def outlying(share: float, scale: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """Some rows are anywhere."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        out = rng.random(len(X)) < share
        X[out] = scale * rng.standard_normal((int(out.sum()), X.shape[1]))
        return X

    return after


def background(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A fifth of the rows is uniform in the box of the others."""
    out = rng.random(len(X)) < 0.2
    low, high = np.quantile(X, 0.01, axis=0), np.quantile(X, 0.99, axis=0)
    X[out] = rng.uniform(low, high, (int(out.sum()), X.shape[1]))
    return X


def filled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A quarter of the entries is missing, and filled with the mean of the column."""
    return np.where(rng.random(X.shape) < 0.25, X.mean(axis=0), X)


def drifting(amount: float) -> Callable[[Rng, np.ndarray], np.ndarray]:
    """All rows move by ``amount`` from the first to the last; the truth is where they are halfway."""
    return lambda rng, X: X + amount * np.linspace(-0.5, 0.5, len(X))[:, None] * np.eye(X.shape[1])[0]


def cut_at_zero(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Measurements below zero read zero."""
    return np.maximum(X, 0)


def cut_means(rng: Rng, means: np.ndarray) -> np.ndarray:
    """Means of what is left of unit balls that are cut at zero."""
    return np.maximum(means[:, None, :] + rng.standard_normal((1, 20_000, means.shape[1])), 0).mean(axis=1)


def one_loud(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Two features in other units: their noise is four times that of the others."""
    X[:, :2] += np.sqrt(15) * rng.standard_normal((len(X), 2))
    return X


def twins(rng: Rng, k: int, d: int, sep: float, near: float) -> np.ndarray:
    """The last mean is ``near`` the first."""
    means = apart(rng, k, d, sep)
    step = rng.standard_normal(d)
    means[-1] = means[0] + near * step / np.linalg.norm(step)
    return means


def on_a_line(rng: Rng, k: int, d: int, sep: float) -> np.ndarray:
    step = rng.standard_normal(d)
    return np.arange(k)[:, None] * sep * step / np.linalg.norm(step)


def nearly_flat(rng: Rng, k: int, d: int, sep: float) -> np.ndarray:
    """Means of which the last direction has a fifth of the extent of the others."""
    means = apart(rng, k, d, sep)
    center = means.mean(axis=0)
    left, values, right = np.linalg.svd(means - center, full_matrices=False)
    values[k - 2] = values[0] / 5
    return center + (left * values) @ right


def archetypes(rng: Rng) -> Case:
    """Rows between five archetypes, in Dirichlet proportions."""
    corners = apart(rng, 5, 10, 8.0)
    draw = lambda rng, n: rng.dirichlet(np.full(5, 0.4), n) @ corners + 0.5 * rng.standard_normal((n, 10))  # noqa: E731
    return case(rng, draw, 6000, 5, corners)


def pairs_of_twins(rng: Rng) -> Case:
    """Four pairs of near means, and four components asked for."""
    centers = apart(rng, 4, 12, 8.0)
    means = np.vstack([centers, centers + rng.standard_normal((4, 12)) * 2.0 / np.sqrt(12)])
    return clusters(rng, 6000, 8, 12, means=means, asked=4)


def two_populations(rng: Rng) -> Case:
    """In a second half of the rows the clusters lie elsewhere, by a standard deviation and a half; the truth is the first."""
    means = apart(rng, 4, 10, 6.0)
    moved = means + 1.5 * rng.standard_normal((4, 10)) / np.sqrt(10)

    def draw(rng: Rng, n: int) -> np.ndarray:
        labels, second = rng.choice(4, n), rng.random(n) < 0.5
        return np.where(second[:, None], moved[labels], means[labels]) + rng.standard_normal((n, 10))

    return case(rng, draw, 6000, 4, means)


def nothing(draw: Callable[[Rng, int], np.ndarray], n: int = 5000, k: int = 4) -> Callable[[Rng], Case]:
    return lambda rng: case(rng, draw, n, k, None)


WORLDS = worlds(
    "SphericalGaussianMixture",
    right={
        "plenty": lambda rng: clusters(rng, 8000),
        "twelve balls": lambda rng: clusters(rng, 8000, 12, 20),
        "own variances": lambda rng: clusters(rng, 5000, 6, 12, noise=own_spread(0.4, 2.5, 6)),
        "fifteen balls, few rows": lambda rng: clusters(rng, 1500, 15, 20),
        "wide rows": lambda rng: clusters(rng, 2000, 4, 60, 8.0),
        "few rows": lambda rng: clusters(rng, 400, 5, 10),
        "two balls": lambda rng: clusters(rng, 1500, 2, 5, 4.0),
        "overlapping": lambda rng: clusters(rng, 8000, 5, 10, 3.0),
        "hardly enough": lambda rng: clusters(rng, 3000, 5, 10, 2.0),
        "hopeless": lambda rng: clusters(rng, 300, 7, 10, 1.5),
        "shares 50-fold": lambda rng: clusters(rng, 8000, 6, 12, fold=50),
        "twins": lambda rng: clusters(rng, 8000, 5, 10, means=twins(rng, 5, 10, 6.0, 1.5)),
        "nearly flat": lambda rng: clusters(rng, 8000, 4, 10, means=nearly_flat(rng, 4, 10, 8.0)),
    },
    wrong={
        "own ellipsoids": lambda rng: clusters(rng, noise=ellipsoids(rng, 5, 10, 5.0)),
        "ellipsoids, overlapping": lambda rng: clusters(rng, sep=3.5, noise=ellipsoids(rng, 5, 10, 5.0)),
        "one ellipsoid for all": lambda rng: clusters(rng, noise=ellipsoids(rng, 5, 10, 6.0, common=True)),
        "tails t3": lambda rng: clusters(rng, noise=student(3)),
        "bent": lambda rng: clusters(rng, noise=bent),
        "skewed": lambda rng: clusters(rng, sep=4.0, noise=skewed),
        "copied rows": lambda rng: clusters(rng, 5000, times=10),
        "copied rows, neighbours, overlapping": lambda rng: clusters(rng, 8000, sep=3.5, times=10, shuffled=False),
        "time series": lambda rng: clusters(rng, stay=0.98, noise=lambda r, z, d: remembering(r, len(z), d, 0.97)),
        "K half": lambda rng: clusters(rng, k=8, d=12, asked=4),
        "K twice": lambda rng: clusters(rng, k=4, d=12, asked=8),
        "K one too many": lambda rng: clusters(rng, k=5, d=12, asked=6),
        "pairs of twins, K half": pairs_of_twins,
        "outliers": lambda rng: clusters(rng, after=outlying(0.03, 12.0)),
        "background": lambda rng: clusters(rng, after=background),
        "missing, filled by means": lambda rng: clusters(rng, after=filled),
        "drift": lambda rng: clusters(rng, after=drifting(6.0)),
        "cut at zero": lambda rng: clusters(rng, sep=4.0, after=cut_at_zero, truth=cut_means),
        "two loud features": lambda rng: clusters(rng, after=one_loud),
        "means on a line": lambda rng: clusters(rng, k=4, means=on_a_line(rng, 4, 10, 3.0)),
        "archetypes": archetypes,
        "two populations": two_populations,
    },
    empty={
        "one ball": nothing(lambda rng, n: rng.standard_normal((n, 10))),
        "one ellipsoid": nothing(lambda rng, n: rng.standard_normal((n, 10)) * np.geomspace(1, 4, 10)),
        "one cloud with tails": nothing(lambda rng, n: student(5)(rng, np.zeros(n, int), 10)),
        "cube": nothing(lambda rng, n: rng.uniform(-2, 2, (n, 8))),
        "noise with memory": nothing(lambda rng, n: remembering(rng, n, 8, 0.98)),
    },
)
