"""Nonnegative rows of few factors without pure ones, for `ApproximateNMF`.

The true error is the distance of a fitted component to the nearest true one, both of unit length. It is cut at 1.41, what two
nonnegative directions without anything in common are apart, and where there are no factors every component is 1.41 off.
"""

from __future__ import annotations

import numpy as np

from latentia.nmf import ApproximateNMF

from .nmf import (
    After,
    Rows,
    Table,
    Weights,
    at_most,
    baselines,
    concave,
    copies,
    curves,
    dirichlet,
    exponential,
    few,
    gains_by_feature,
    heavy,
    in_a_ball,
    in_some_directions,
    lognormal,
    more_of,
    of_uneven_units,
    on_a_circle,
    outliers,
    over_a_background,
    permuted,
    poisson,
    saturated,
    slow,
    sparse,
    squared,
    twins,
    uniform,
    unit,
    white,
)
from .world import Case, Draw, Rng, worlds

_MOST = float(np.sqrt(2))
_NEW = 300


def case(X: np.ndarray, new: np.ndarray, asked: int, truth: np.ndarray | None, nothing: bool = False) -> Case:
    """``truth`` are components in rows; without them every component is 1.41 off, or in ``nothing`` has no error at all."""

    def distances(model: ApproximateNMF) -> np.ndarray:
        if truth is None:
            return np.full((len(model.components_), 1), _MOST)
        return np.linalg.norm(unit(model.components_)[:, None] - unit(truth)[None], axis=2)

    def score(model: ApproximateNMF) -> tuple[float, float]:
        """Explained shares of new rows; without factors it is one direction."""
        one = unit(X.mean(axis=0)[None])
        left = new - new @ one.T @ one
        return model.score(new), 1 - float((left**2).sum() / max((new**2).sum(), 1e-300))

    return Case(
        lambda refine: ApproximateNMF(asked), lambda model: model.fit(X), None if nothing else distances, score, _MOST
    )


def factored(
    n: int = 400,
    d: int = 40,
    r: int = 3,
    noise: float = 0.0,
    *,
    components: Table = sparse,
    weights: Weights | None = None,
    scales: float = 0.3,
    kind: Table | None = None,
    after: After | None = None,
    asked: int | None = None,
    times: int = 1,
    shuffled: bool = True,
) -> Draw:
    """n rows of d features, mixtures of two factors each unless told otherwise, none of them pure.

    ``noise`` is the deviation of an entry of mean size over its size, that of counts; of a ``kind`` it is added and cut at
    zero.
    """

    def make(rng: Rng) -> Case:
        W = components(rng, r, d)

        def rows(count: int) -> np.ndarray:
            X = (weights or few(2))(rng, count, r) @ W * rng.lognormal(0, scales, (count, 1))
            if kind is None:
                X = poisson(noise**-2)(rng, X) if noise else X
            else:
                X = np.maximum(X + noise * np.sqrt((X**2).mean()) * kind(rng, count, d), 0)
            return np.maximum(after(rng, X) if after else X, 0)

        X = rows(n // times)
        X = X if times == 1 else X[copies(rng, n, times, shuffled)]
        return case(X, rows(_NEW), asked or r, W)

    return make


def without(draw: Rows, n: int = 400, asked: int = 3, nothing: bool = False) -> Draw:
    def make(rng: Rng) -> Case:
        X = np.maximum(draw(rng, n + _NEW), 0)
        return case(X[:n], X[n:], asked, None, nothing)

    return make


WORLDS = worlds(
    "ApproximateNMF",
    right={
        "noise .01": factored(noise=0.01),
        "noise .03": factored(noise=0.03),
        "noise .1": factored(noise=0.1),
        "noise .3": factored(noise=0.3),
        "noise .6": factored(noise=0.6),
        "two factors": factored(300, 30, 2, 0.1, weights=dirichlet(0.5)),
        "two factors, loud": factored(150, 30, 2, 0.4, weights=dirichlet(0.5)),
        "five factors": factored(600, 60, 5, 0.05),
        "five factors, noise": factored(600, 60, 5, 0.2),
        "six factors, few rows": factored(120, 60, 6, 0.05),
        "few rows": factored(60, 40, 3, 0.1),
        "many rows": factored(3000, 40, 3, 0.3),
        "exponential": factored(600, 60, 4, 0.05, components=exponential),
        "exponential, noise": factored(600, 60, 4, 0.2, components=exponential),
        "wide": factored(300, 300, 4, 0.2),
        "shares": factored(800, 50, 4, 0.1, weights=dirichlet(0.3, 5)),
        "counts of 20": factored(600, 50, 3, 20**-0.5),
        "counts of 2": factored(600, 80, 3, 2**-0.5),
        "no scales": factored(noise=0.1, scales=0.0),
        "three at a time": factored(800, 60, 5, 0.05, weights=few(3)),
    },
    wrong={
        "dense factors": factored(components=lambda rng, r, d: 1 + rng.random((r, d)), weights=dirichlet(3.0), noise=0.05),
        "dense weights": factored(weights=dirichlet(5.0), noise=0.02),
        "at most .6": factored(components=uniform, weights=at_most(0.6, 2.0), noise=0.02),
        "uniform factors": factored(components=uniform, weights=dirichlet(1.0), noise=0.05),
        "one too few": factored(600, 50, 4, 0.05, asked=3),
        "half": factored(600, 50, 6, 0.05, asked=3),
        "one too many": factored(600, 50, 3, 0.1, asked=4),
        "twice as many": factored(600, 50, 3, 0.1, asked=6),
        "circle": without(on_a_circle(30)),
        "ball": without(in_a_ball(30, 3), asked=4),
        "lognormal factors": without(lognormal(40, 4), asked=4),
        "squared": factored(after=squared, components=exponential),
        "saturated": factored(after=saturated, components=exponential, noise=0.02),
        "outliers": factored(noise=0.05, after=outliers(0.02)),
        "copied rows": factored(1000, noise=0.2, times=10),
        "copied rows, neighbours": factored(1000, noise=0.2, times=10, shuffled=False),
        "time series": factored(800, noise=0.1, weights=slow),
        "heavy-tailed noise": factored(noise=0.2, kind=heavy(2.2)),
        "noise in five directions": factored(noise=0.1, kind=in_some_directions(5)),
        "features in other units": factored(components=of_uneven_units(100), noise=0.05),
        "twins": factored(components=twins(0.05), weights=few(1), noise=0.05),
        "background": factored(noise=0.05, after=over_a_background(1.0)),
        "spectra": factored(components=curves, weights=dirichlet(1.0), noise=0.02),
        "clipped noise": factored(noise=0.5, kind=white),
        "concave .1": factored(noise=0.03, after=concave(0.1), components=exponential),
        "concave .5": factored(noise=0.03, after=concave(0.5)),
        "gains by feature": factored(noise=0.03, after=gains_by_feature(0.2)),
        "baselines": factored(noise=0.03, after=baselines(0.2)),
        "more": factored(600, 50, 4, 0.05, after=more_of(0.3)),
    },
    empty={
        "uniform": without(lambda rng, n: rng.random((n, 40)), nothing=True),
        "exponential entries": without(lambda rng, n: rng.exponential(size=(n, 40)), nothing=True),
        "counts": without(lambda rng, n: rng.poisson(3.0, (n, 50)).astype(float), nothing=True),
        "zeros and ones": without(lambda rng, n: (rng.random((n, 48)) < 0.2).astype(float), nothing=True),
        "permuted features": without(permuted, nothing=True),
        "uniform, few rows": without(lambda rng, n: rng.random((n, 60)), 60, 3, nothing=True),
        "one row and noise": without(
            lambda rng, n: rng.random(40) + 0.1 * rng.standard_normal((n, 40)), asked=3, nothing=True
        ),
        "one row of any scale": without(
            lambda rng, n: rng.lognormal(0, 0.5, (n, 1)) * rng.random(40) + 0.02 * rng.random((n, 40)), nothing=True
        ),
    },
)  # fmt: skip
