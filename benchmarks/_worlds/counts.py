"""Tables of counts that are sums of few components, for `PoissonNMF`.

The true error is the distance of a fitted component to the nearest true one, both of unit length. It is cut at 1.41, what two
nonnegative directions without anything in common are apart.
"""

from __future__ import annotations

import numpy as np

from latentia.nmf import PoissonNMF

from .nmf import Rows, Table, Weights, copies, dirichlet, exponential, few, permuted, slow, sparse, twins, unit
from .world import Case, Draw, Rng, worlds

_MOST = float(np.sqrt(2))
_NEW = 300


def case(X: np.ndarray, new: np.ndarray, asked: int, truth: np.ndarray | None) -> Case:
    """``truth`` are components in rows; without them there is nothing to find."""

    def distances(model: PoissonNMF) -> np.ndarray:
        return np.linalg.norm(unit(model.components_)[:, None] - unit(truth)[None], axis=2)

    def score(model: PoissonNMF) -> tuple[float, float]:
        return model.score(new), 0.0

    return Case(
        lambda refine: PoissonNMF(asked), lambda model: model.fit(X), None if truth is None else distances, score, _MOST
    )


def counted(
    n: int = 400,
    d: int = 60,
    r: int = 3,
    length: float = 100.0,
    *,
    components: Table = sparse,
    weights: Weights | None = None,
    scales: float = 0.5,
    spread: float = 0.0,
    asked: int | None = None,
    times: int = 1,
) -> Draw:
    """n rows of about ``length`` counts in d columns, sums of two components each unless told otherwise.

    ``spread`` is the variance of gamma factors of the entries, beyond that of Poisson counts.
    """

    def make(rng: Rng) -> Case:
        W = components(rng, r, d)
        W = W / W.sum(axis=1, keepdims=True)

        def rows(count: int) -> np.ndarray:
            A = (weights or few(2))(rng, count, r)
            rates = length * A @ W * rng.lognormal(0, scales, (count, 1))
            rates = rates * rng.gamma(1 / spread, spread, rates.shape) if spread else rates
            return rng.poisson(rates).astype(float)

        X = rows(n // times)
        X = X if times == 1 else X[copies(rng, n, times, True)]
        return case(X, rows(_NEW), asked or r, W)

    return make


def nothing(draw: Rows, n: int = 400, asked: int = 3) -> Draw:
    def make(rng: Rng) -> Case:
        X = draw(rng, n + _NEW)
        return case(X[:n], X[n:], asked, None)

    return make


def one_row(length: float, scales: float, d: int = 60) -> Rows:
    """Poisson counts about one row of any scale."""
    return lambda rng, n: rng.poisson(length * rng.dirichlet(np.ones(d)) * rng.lognormal(0, scales, (n, 1))).astype(
        float
    )


WORLDS = worlds(
    "PoissonNMF",
    right={
        "long rows": counted(length=1000),
        "rows of 100": counted(),
        "rows of 30": counted(1000, length=30),
        "rows of 10": counted(2000, length=10),
        "two components": counted(300, 40, 2, 100, weights=dirichlet(0.5)),
        "six components": counted(1500, 100, 6, 100),
        "ten components": counted(3000, 200, 10, 100),
        "few rows": counted(80, 60, 3, 200),
        "wide": counted(300, 400, 4, 200),
        "exponential": counted(600, 60, 4, 300, components=exponential),
        "shares": counted(800, 60, 5, 150, weights=dirichlet(0.2)),
        "no scales": counted(scales=0.0),
    },
    wrong={
        "dense weights": counted(weights=dirichlet(5.0)),
        "dense components": counted(components=lambda rng, r, d: 1 + rng.random((r, d)), weights=dirichlet(2.0)),
        "spread counts": counted(spread=1.0),
        "very spread counts": counted(spread=4.0),
        "one too few": counted(600, 60, 4, 150, asked=3),
        "half": counted(600, 60, 6, 150, asked=3),
        "one too many": counted(600, 60, 3, 150, asked=4),
        "copied rows": counted(1000, times=10, length=50),
        "time series": counted(800, weights=slow),
        "twins": counted(components=twins(0.05), weights=few(1)),
    },
    empty={
        "one row": nothing(one_row(100, 0.0)),
        "one row of any scale": nothing(one_row(100, 0.5)),
        "short rows": nothing(one_row(10, 0.5)),
        "counts of 3": nothing(lambda rng, n: rng.poisson(3.0, (n, 50)).astype(float)),
        "one row, few rows": nothing(one_row(100, 0.5), 60),
        "zeros and ones": nothing(lambda rng, n: (rng.random((n, 48)) < 0.2).astype(float)),
        "permuted columns": nothing(lambda rng, n: np.rint(10 * np.maximum(permuted(rng, n), 0))),
    },
)  # fmt: skip
