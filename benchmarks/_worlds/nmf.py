"""Rows that are mixtures of a few of them, for `SeparableNMF`.

The true error is the distance of a fitted component to the nearest true one, over the root mean square length of the true
ones; where rows may have any scale ("cone") both are brought to unit length. It is cut at 1.41, what two nonnegative
directions without anything in common are apart. Where rows are no mixtures there is nothing right to find, and every component
is 1.41 off.

Noise is relative: its standard deviation over the root mean square entry of what the components give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentia.nmf import SeparableNMF

from .world import Case, Draw, Rng, copies, labels_of, remembering, spread_shares, worlds

Rows = Callable[[Rng, int], np.ndarray]
Weights = Callable[[Rng, int, int], np.ndarray]  # (rng, n, r): nonnegative
Table = Callable[[Rng, int, int], np.ndarray]
After = Callable[[Rng, np.ndarray], np.ndarray]
_MOST = float(np.sqrt(2))
_NEW = 500


def case(
    X: np.ndarray, new: np.ndarray, asked: int, truth: np.ndarray | None, nothing: bool = False, **told: Any
) -> Case:
    """``truth`` are components in rows; without them every component is 1.41 off, or in ``nothing`` has no error at all."""

    def distances(model: SeparableNMF) -> np.ndarray:
        found = model.components_
        if truth is None:
            return np.full((len(found), 1), _MOST)
        true = unit(truth) if model.mixing_kind_ == "cone" else truth
        found = unit(found) if model.mixing_kind_ == "cone" else found
        apart = np.linalg.norm(found[:, None] - true[None], axis=2)
        return apart / np.sqrt((true**2).sum(axis=1).mean())

    def score(model: SeparableNMF) -> tuple[float, float]:
        """Explained shares of new rows; without components it is their mean, or one direction where scales are free."""
        if model.mixing_kind_ == "cone":
            one = unit(X.mean(axis=0)[None])
            left = new - new @ one.T @ one
        else:
            left = new - X.mean(axis=0)
        return model.score(new), 1 - float((left**2).sum() / max((new**2).sum(), 1e-300))

    return Case(
        lambda refine: SeparableNMF(asked, refine=refine, **told),
        lambda model: model.fit(X),
        None if nothing else distances,
        score if len(new) else None,
        _MOST,
    )


# --- components -----------------------------------------------------------------------------------------------------


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def uniform(rng: Rng, r: int, d: int) -> np.ndarray:
    return rng.random((r, d))


def exponential(rng: Rng, r: int, d: int) -> np.ndarray:
    return rng.exponential(size=(r, d))


def sparse(rng: Rng, r: int, d: int) -> np.ndarray:
    """A fifth of the entries, and every component some."""
    found = rng.exponential(size=(r, d)) * (rng.random((r, d)) < 0.2)
    found[np.arange(r), rng.permutation(d)[:r]] += 1.0
    return found


def curves(rng: Rng, r: int, d: int) -> np.ndarray:
    """Smooth, as spectra are: cosines of low frequency above zero."""
    x = np.linspace(0, np.pi, d)
    waves = np.cos(np.arange(8)[:, None] * x)
    found = rng.standard_normal((r, 8)) / (1 + np.arange(8)) @ waves
    return (found - found.min(axis=1, keepdims=True)) / np.ptp(found, axis=1)[:, None] + rng.uniform(0, 0.3, (r, 1))


def conditioned(condition: float) -> Table:
    """Uniform, with singular values that fall by this much; some entries are negative."""

    def table(rng: Rng, r: int, d: int) -> np.ndarray:
        left, values, right = np.linalg.svd(uniform(rng, r, d), full_matrices=False)
        return left * np.geomspace(values[0], values[0] / condition, len(values)) @ right

    return table


def twins(apart: float) -> Table:
    """The first two are this far from each other, relative to their length."""

    def table(rng: Rng, r: int, d: int) -> np.ndarray:
        found = uniform(rng, r, d)
        found[1] = (1 - apart) * found[0] + apart * found[1]
        return found

    return table


def between(apart: float) -> Table:
    """The last component lies this near to the mean of the first two."""

    def table(rng: Rng, r: int, d: int) -> np.ndarray:
        found = uniform(rng, r, d)
        found[-1] = (1 - apart) * found[:2].mean(axis=0) + apart * found[-1]
        return found

    return table


def of_uneven_units(fold: float) -> Table:
    """Features in units of which the largest is ``fold`` times the smallest."""

    def table(rng: Rng, r: int, d: int) -> np.ndarray:
        return uniform(rng, r, d) * rng.permutation(np.geomspace(fold, 1, d))

    return table


def of_uneven_lengths(fold: float) -> Table:
    def table(rng: Rng, r: int, d: int) -> np.ndarray:
        return uniform(rng, r, d) * np.geomspace(fold, 1, r)[:, None]

    return table


# --- weights --------------------------------------------------------------------------------------------------------


def dirichlet(concentration: float, fold: float = 1.0) -> Weights:
    """The most used component has ``fold`` times the mean weight of the least used one."""
    return lambda rng, n, r: rng.dirichlet(r * concentration * spread_shares(r, fold), n)


def midpoints(rng: Rng, n: int, r: int) -> np.ndarray:
    first, second = np.triu_indices(r, 1)
    pairs = np.resize(rng.permutation(len(first)), n)
    found = np.zeros((n, r))
    found[np.arange(n), first[pairs]] = found[np.arange(n), second[pairs]] = 0.5
    return found


def few(k: int) -> Weights:
    """Only k components in a row, in shares that are uniform."""

    def weights(rng: Rng, n: int, r: int) -> np.ndarray:
        own = rng.random((n, r)).argsort(axis=1).argsort(axis=1) < k
        found = rng.exponential(size=(n, r)) * own
        return found / found.sum(axis=1, keepdims=True)

    return weights


def near_copies(count: int) -> Weights:
    """The first rows are this many of each component, pure but for a hundredth."""

    def weights(rng: Rng, n: int, r: int) -> np.ndarray:
        found = rng.dirichlet(np.full(r, 0.5), n)
        found[: count * r] = 0.99 * np.repeat(np.eye(r), count, axis=0) + 0.01 * found[: count * r]
        return found

    return weights


def at_most(purity: float, concentration: float = 0.5) -> Weights:
    """No row has more than this of one component."""

    def weights(rng: Rng, n: int, r: int) -> np.ndarray:
        found = rng.dirichlet(np.full(r, concentration), n)
        step = np.minimum(1, (purity - 1 / r) / np.maximum(found.max(axis=1, keepdims=True) - 1 / r, 1e-12))
        return 1 / r + step * (found - 1 / r)

    return weights


def without_some(count: int, purity: float = 0.6) -> Weights:
    """The last ``count`` components are never more than this share of a row."""

    def weights(rng: Rng, n: int, r: int) -> np.ndarray:
        found = rng.dirichlet(np.full(r, 0.5), n)
        for k in range(r - count, r):
            over = np.maximum(found[:, k] - purity, 0)
            found[:, k] -= over
            found[np.arange(n), rng.integers(0, r - count, n)] += over
        return found

    return weights


def slow(rng: Rng, n: int, r: int) -> np.ndarray:
    """Shares that change slowly from row to row."""
    found = np.exp(2 * remembering(rng, n, r, 0.98))
    return found / found.sum(axis=1, keepdims=True)


def of_regions(rng: Rng, n: int, r: int) -> np.ndarray:
    """Pixels of an image, row by row: smooth maps, and where one of them rules the others vanish."""
    side = int(np.ceil(np.sqrt(n)))
    f = np.fft.fftfreq(side)
    damping = np.exp(-((f[:, None] ** 2 + f**2) * (side / 6) ** 2) * 4)
    maps = np.fft.ifft2(np.fft.fft2(rng.standard_normal((r, side, side))) * damping).real
    maps /= maps.std(axis=(1, 2), keepdims=True)
    found = np.exp(4 * maps).reshape(r, -1).T[:n]
    found /= found.sum(axis=1, keepdims=True)
    found[found < 0.02] = 0
    return found / found.sum(axis=1, keepdims=True)


def staying(stay: float) -> Weights:
    """Rows near a component, which is that of the row before with this chance."""

    def weights(rng: Rng, n: int, r: int) -> np.ndarray:
        found = rng.dirichlet(np.full(r, 0.5), n)
        return 0.4 * found + 0.6 * np.eye(r)[labels_of(rng, n, spread_shares(r), stay)]

    return weights


# --- noise, and what else happens to rows ---------------------------------------------------------------------------


def white(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def heavy(degrees: float) -> Table:
    return lambda rng, n, d: rng.standard_t(degrees, (n, d)) / np.sqrt(3)


def in_some_directions(count: int) -> Table:
    """Noise of a few directions, the same for all rows."""

    def noise(rng: Rng, n: int, d: int) -> np.ndarray:
        directions = np.linalg.qr(rng.standard_normal((d, count)))[0].T
        return rng.standard_normal((n, count)) @ directions * np.sqrt(d / count)

    return noise


def loud_in_some_rows(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) * rng.lognormal(0, 1, (n, 1)) / np.e


def of_some_features(rng: Rng, n: int, d: int) -> np.ndarray:
    size = np.geomspace(10, 1, d)
    return rng.standard_normal((n, d)) * size / np.sqrt((size**2).mean())


def smooth_noise(rng: Rng, n: int, d: int) -> np.ndarray:
    """Neighbouring features have about the same noise."""
    return remembering(rng, d, n, 0.9).T


def poisson(counts: float) -> After:
    """Counts of this mean, in the units of the rows."""
    return lambda rng, X: rng.poisson(np.maximum(X, 0) * counts / X.mean()) * X.mean() / counts


def multiplied(size: float) -> After:
    return lambda rng, X: X * rng.lognormal(0, size, X.shape)


def outliers(share: float, size: float = 3.0) -> After:
    """Some rows are something else, of ``size`` times the usual entries."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        out = rng.random(len(X)) < share
        X[out] = size * X.mean() * rng.exponential(size=(int(out.sum()), X.shape[1]))
        return X

    return after


def dead_entries(rng: Rng, X: np.ndarray) -> np.ndarray:
    """One entry in a hundred is stuck at ten times the mean."""
    return np.where(rng.random(X.shape) < 0.01, 10 * X.mean(), X)


def filled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A fifth of the entries is missing, and filled with zeros."""
    return np.where(rng.random(X.shape) < 0.2, 0.0, X)


def saturated(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.minimum(X, np.quantile(X, 0.8))


def concave(strength: float) -> After:
    """A response that bends: entries far above the mean are cut at (1 + strength) / strength of it."""
    return lambda rng, X: X * (1 + strength) / (1 + strength * np.maximum(X, 0) / X.mean())


def gains_by_row(size: float) -> After:
    """Slowly changing from row to row, the same for all features."""
    return lambda rng, X: X * np.exp(size * remembering(rng, len(X), 1, 0.99))


def gains_by_feature(size: float) -> After:
    """Each feature's drifts from the first row to the last."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        return X * np.exp(size * np.linspace(-1, 1, len(X))[:, None] * rng.standard_normal(X.shape[1]))

    return after


def baselines(size: float, count: int = 2) -> After:
    """Smooth ones, nonnegative, that change slowly from row to row."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        amounts = np.abs(remembering(rng, len(X), count, 0.98))
        return X + size * X.mean() * amounts @ curves(rng, count, X.shape[1])

    return after


def more_of(size: float, count: int = 3, share: float = 0.3) -> After:
    """Some rows hold further things, in any amount."""

    def after(rng: Rng, X: np.ndarray) -> np.ndarray:
        amounts = rng.exponential(size=(len(X), count)) * (rng.random((len(X), count)) < share)
        return X + size * X.mean() * amounts @ exponential(rng, count, X.shape[1])

    return after


def squared(rng: Rng, X: np.ndarray) -> np.ndarray:
    """A detector that is not linear."""
    return X**2


def coarse(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Four levels."""
    return np.round(3 * X / X.max()) * X.max() / 3


def over_a_background(size: float) -> After:
    """The same row added to all, which is itself no component."""
    return lambda rng, X: X + size * X.mean() * 2 * rng.random(X.shape[1])


def clipped(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.maximum(X, 0)


# --- worlds with components -----------------------------------------------------------------------------------------


def mixed(
    n: int = 1000,
    d: int = 50,
    r: int = 5,
    noise: float = 0.0,
    *,
    components: Table = uniform,
    weights: Weights | None = None,
    pure: int = 1,
    scales: float | None = None,
    dark: float = 0.0,
    kind: Table = white,
    after: After | None = None,
    outward: float = 0.0,
    varied: float = 0.0,
    bilinear: float = 0.0,
    asked: int | None = None,
    times: int = 1,
    shuffled: bool = True,
    **told: Any,
) -> Draw:
    """n rows of d features, mixtures of r components; ``pure`` rows of each are nothing else.

    ``scales`` is the deviation of the logarithm of the rows' scales, ``outward`` moves mixtures away from the mean of the
    components, ``varied`` changes the components from row to row, ``bilinear`` adds products of two components.
    """

    def make(rng: Rng) -> Case:
        W = components(rng, r, d)

        def rows(rng: Rng, count: int, alone: int) -> np.ndarray:
            A = (weights or dirichlet(0.5))(rng, count, r)
            places = rng.permutation(count)[: alone * r]
            A[places] = np.repeat(np.eye(r), alone, axis=0)
            X = A @ W
            mixtures = ~np.isin(np.arange(count), places)
            if outward:
                X[mixtures] += outward * (X[mixtures] - W.mean(axis=0))
            if varied:
                changed = W * rng.lognormal(0, varied, (count, r, 1)) * rng.lognormal(0, varied, (count, r, d))
                X = np.einsum("nr,nrd->nd", A, changed)
            if bilinear:
                X += bilinear * ((A @ W) ** 2 - A**2 @ W**2) / 2 / W.mean()
            if scales is not None:
                size = rng.lognormal(0, scales, (count, 1))
                size[mixtures & (rng.random(count) < dark)] *= 0.03
                X = size * X
            X = X + noise * np.sqrt((X**2).mean()) * kind(rng, count, d)
            return after(rng, X) if after else X

        X = rows(rng, n // times, pure)
        X = X if times == 1 else X[copies(rng, n, times, shuffled)]
        return case(X, rows(rng, _NEW, 0), asked or r, W, **told)

    return make


def clusters(n: int, d: int, r: int, scatter: float) -> Draw:
    """Around r centres, and nothing between them."""

    def make(rng: Rng) -> Case:
        centres = uniform(rng, r, d)

        def rows(rng: Rng, count: int) -> np.ndarray:
            return np.abs(centres[rng.integers(0, r, count)] + scatter * rng.standard_normal((count, d)))

        return case(rows(rng, n), rows(rng, _NEW), r, centres)

    return make


def signed(n: int, d: int, r: int) -> Draw:
    """A matrix of low rank whose weights have any sign, lifted above zero by a constant."""

    def make(rng: Rng) -> Case:
        W = rng.standard_normal((r, d))

        def rows(rng: Rng, count: int) -> np.ndarray:
            return rng.standard_normal((count, r)) @ W

        X, new = rows(rng, n), rows(rng, _NEW)
        least = min(X.min(), new.min())
        return case(X - least, new - least, r + 1, None)

    return make


def drifting(n: int, d: int, r: int) -> Draw:
    """The components turn into others from the first row to the last."""

    def make(rng: Rng) -> Case:
        first = uniform(rng, r, d)
        last = 0.6 * first + 0.4 * uniform(rng, r, d)

        def rows(rng: Rng, count: int) -> np.ndarray:
            A, share = dirichlet(0.3)(rng, count, r), np.linspace(0, 1, count)[:, None]
            return (1 - share) * (A @ first) + share * (A @ last)

        return case(rows(rng, n), rows(rng, _NEW), r, first)

    return make


# --- worlds without -------------------------------------------------------------------------------------------------


def without(draw: Rows, n: int = 1000, asked: int = 5, nothing: bool = False, **told: Any) -> Draw:
    def make(rng: Rng) -> Case:
        X = draw(rng, n + _NEW)
        return case(X[:n], X[n:], asked, None, nothing, **told)

    return make


def on_a_circle(d: int, noise: float = 0.0) -> Rows:
    """A ring in a plane: mixtures of as many rows as there are."""

    def draw(rng: Rng, n: int) -> np.ndarray:
        angle = rng.uniform(0, 2 * np.pi, n)
        X = 1.5 * rng.random(d) + np.column_stack([np.cos(angle), np.sin(angle)]) @ rng.standard_normal((2, d)) / 4 + 1
        return X + noise * rng.standard_normal(X.shape)

    return draw


def on_a_roll(d: int) -> Rows:
    """A rolled sheet."""

    def draw(rng: Rng, n: int) -> np.ndarray:
        angle, height = 1.5 * np.pi * (1 + 2 * rng.random(n)), 10 * rng.random(n)
        sheet = np.column_stack([angle * np.cos(angle) + 15, height, angle * np.sin(angle) + 15])
        return sheet @ rng.random((3, d))

    return draw


def bumps(d: int, width: float) -> Rows:
    """One bump at any place of a circle of features."""

    def draw(rng: Rng, n: int) -> np.ndarray:
        apart = np.abs(np.arange(d) - rng.uniform(0, d, (n, 1)))
        return np.exp(-0.5 * (np.minimum(apart, d - apart) / width) ** 2)

    return draw


def in_a_ball(d: int, k: int) -> Rows:
    """A ball in k dimensions: no row is a corner."""

    def draw(rng: Rng, n: int) -> np.ndarray:
        inside = rng.standard_normal((n, k))
        inside *= rng.random((n, 1)) ** (1 / k) / np.linalg.norm(inside, axis=1, keepdims=True)
        return 3 + inside @ np.linalg.qr(rng.standard_normal((d, k)))[0].T * np.sqrt(d) / 3

    return draw


def in_a_box(d: int, k: int) -> Rows:
    """A box in k dimensions, with 2^k corners."""
    return lambda rng, n: rng.random((n, k)) @ rng.random((k, d))


def lognormal(d: int, k: int) -> Rows:
    """Features that vary together by factors."""

    def draw(rng: Rng, n: int) -> np.ndarray:
        return np.exp(rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) / np.sqrt(k))

    return draw


def permuted(rng: Rng, n: int) -> np.ndarray:
    """Mixtures, each row with its own order of features."""
    return rng.permuted(dirichlet(0.3)(rng, n, 5) @ exponential(rng, 5, 40), axis=1)


WORLDS = worlds(
    "SeparableNMF",
    right={
        "exact": mixed(1000, 50, 5),
        "exact, few pure": mixed(300, 40, 8, weights=dirichlet(1.0)),
        "noise .003": mixed(1000, 50, 5, 0.003),
        "noise .01": mixed(1000, 50, 5, 0.01),
        "noise .03": mixed(1000, 50, 5, 0.03),
        "noise .1": mixed(1000, 50, 5, 0.1),
        "noise .2": mixed(1000, 50, 5, 0.2, pure=5),
        "noise .4": mixed(1000, 100, 5, 0.4, pure=10),
        "noise .8": mixed(600, 100, 4, 0.8, pure=10),
        "many pure": mixed(1000, 50, 6, 0.05, pure=30),
        "many pure, noise .3": mixed(2000, 50, 6, 0.3, pure=50),
        "near pure": mixed(1500, 60, 6, 0.05, weights=dirichlet(0.1)),
        "near pure, noise .2": mixed(1500, 60, 6, 0.2, weights=dirichlet(0.1)),
        "two at a time": mixed(1500, 60, 10, 0.02, weights=few(2)),
        "midpoints": mixed(210, 100, 20, weights=midpoints),
        "midpoints, outward .1": mixed(210, 100, 20, weights=midpoints, outward=0.1),
        "twenty, noise .1": mixed(210, 100, 20, 0.1),
        "twenty, noise .3": mixed(210, 100, 20, 0.3),
        "condition 100": mixed(210, 100, 20, 0.005, components=conditioned(100)),
        "condition 1000": mixed(210, 100, 20, 0.002, components=conditioned(1000)),
        "condition 1000, noise .05": mixed(210, 100, 20, 0.05, components=conditioned(1000)),
        "two components": mixed(500, 30, 2, 0.05),
        "three, few rows": mixed(60, 30, 3, 0.03),
        "few rows, noise": mixed(80, 40, 6, 0.1),
        "as many features as components": mixed(1000, 8, 8, 0.02),
        "spectra": mixed(3000, 150, 4, 0.01, components=curves, pure=10),
        "spectra, noise .05": mixed(3000, 150, 4, 0.05, components=curves, weights=dirichlet(0.3), pure=10),
        "sparse components": mixed(1000, 200, 10, 0.05, components=sparse, pure=2),
        "exponential components": mixed(1000, 80, 6, 0.1, components=exponential, pure=3),
        "shares tenfold": mixed(1500, 50, 5, 0.05, weights=dirichlet(0.4, 10)),
        "lengths threefold": mixed(1000, 50, 5, 0.03, components=of_uneven_lengths(3)),
        "cone": mixed(1000, 50, 5, scales=0.5),
        "cone, noise .02": mixed(1000, 50, 5, 0.02, scales=0.5),
        "cone, noise .1": mixed(1000, 60, 5, 0.1, scales=0.5, pure=5),
        "cone, told": mixed(1000, 60, 8, 0.03, scales=0.3, mixing="cone"),
        "cone, sparse": mixed(1000, 150, 8, 0.05, components=sparse, scales=0.5, pure=3),
        "cone of spectra": mixed(3000, 120, 4, 0.01, components=curves, scales=0.3, pure=10),
        "counts of 100": mixed(1000, 60, 5, scales=0.3, after=poisson(100), components=exponential, pure=3),
        "counts of 5": mixed(1000, 100, 5, scales=0.3, after=poisson(5), components=exponential, pure=5),
        "simplex, told": mixed(1000, 40, 6, 0.05, mixing="simplex"),
        "4000 rows": mixed(4000, 60, 10, 0.05, pure=3),
        **{f"{r} components, noise {e}": mixed(800, 60, r, e, pure=2) for r in (3, 6, 12) for e in (0.02, 0.08)},
        "eight, wide": mixed(500, 300, 8, 0.1, components=exponential, pure=2),
        "four, narrow": mixed(1000, 12, 4, 0.03, pure=3),
        "near copies of pure rows": mixed(1000, 50, 5, 0.01, weights=near_copies(40)),
        "near copies of pure rows, noise": mixed(1000, 50, 5, 0.1, weights=near_copies(40)),
        "loners": mixed(1000, 50, 5, 0.02, weights=dirichlet(2.0)),
        "loners, exact": mixed(600, 50, 6, weights=dirichlet(3.0)),
        "loners, noise": mixed(1000, 80, 4, 0.06, weights=dirichlet(1.5), pure=2),
        "rare": mixed(1500, 50, 5, 0.03, weights=dirichlet(0.5, 100), pure=2),
        "rare, exact": mixed(1000, 50, 5, weights=dirichlet(0.5, 200)),
    },
    wrong={
        **{f"at most .5, {r}": mixed(1000, 50, r, 0.01, weights=at_most(0.5), pure=0) for r in (3, 6, 10)},
        **{f"at most .7, {r}": mixed(1000, 50, r, 0.02, weights=at_most(0.7), pure=0) for r in (3, 6, 10)},
        "at most .5, cone": mixed(1000, 50, 5, 0.01, weights=at_most(0.5), pure=0, scales=0.4),
        **{f"concave {s}": mixed(1000, 50, 4, 0.01, after=concave(s), pure=3) for s in (0.1, 0.5, 2.0)},
        "concave, cone": mixed(1000, 50, 5, 0.02, after=concave(0.5), scales=0.4, pure=3),
        **{f"gains by row {s}": mixed(1000, 50, 5, 0.01, after=gains_by_row(s), pure=3) for s in (0.02, 0.1, 0.4)},
        **{f"gains by feature {s}": mixed(1000, 50, 5, 0.01, after=gains_by_feature(s), pure=3) for s in (0.03, 0.1, 0.3)},
        **{f"baselines {s}": mixed(1000, 50, 4, 0.01, after=baselines(s), pure=3) for s in (0.05, 0.2, 0.8)},
        "baselines, cone": mixed(1000, 60, 4, 0.02, after=baselines(0.3), scales=0.4, pure=3),
        **{f"more, {s}": mixed(1000, 50, 5, 0.02, after=more_of(s), pure=3) for s in (0.05, 0.2, 0.8)},
        **{f"half of {r}": mixed(1000, 60, r, 0.03, asked=r // 2, pure=2) for r in (6, 10, 16)},
        **{f"twice {r}": mixed(1000, 60, r, 0.03, asked=2 * r, pure=2) for r in (3, 6, 8)},
        "twice 4, cone": mixed(1000, 60, 4, 0.03, asked=8, pure=2, scales=0.4),
        **{f"outliers of {s}": mixed(1000, 50, 5, 0.03, after=outliers(0.005, s), pure=2) for s in (1.0, 2.0, 10.0)},
        "no pure rows": mixed(1000, 50, 4, weights=dirichlet(2.0), pure=0),
        "no pure rows, far": mixed(1000, 50, 5, weights=dirichlet(5.0), pure=0),
        "no pure rows, noise": mixed(1000, 50, 4, 0.05, weights=dirichlet(2.0), pure=0),
        "at most .9": mixed(1500, 50, 4, weights=at_most(0.9), pure=0),
        "at most .8": mixed(1500, 50, 4, weights=at_most(0.8), pure=0),
        "at most .6, noise": mixed(1500, 50, 4, 0.03, weights=at_most(0.6), pure=0),
        "at most .7, cone": mixed(1500, 50, 5, 0.01, weights=at_most(0.7), pure=0, scales=0.4),
        "one is never pure": mixed(1500, 50, 5, weights=without_some(1), pure=0),
        "two are never pure, noise": mixed(1500, 50, 6, 0.03, weights=without_some(2), pure=0),
        "one too few": mixed(1000, 50, 6, asked=5),
        "one too few, noise": mixed(1000, 50, 6, 0.05, asked=5),
        "half": mixed(1000, 50, 8, 0.02, asked=4),
        "one too many": mixed(1000, 50, 5, asked=6),
        "one too many, noise": mixed(1000, 50, 5, 0.05, asked=6, pure=3),
        "twice as many": mixed(1000, 50, 5, 0.05, asked=10, pure=3),
        "twice as many, cone": mixed(1000, 50, 4, 0.05, asked=8, pure=3, scales=0.4),
        "circle": without(on_a_circle(30)),
        "circle, noise": without(on_a_circle(30, 0.1), asked=4),
        "roll": without(on_a_roll(30), asked=4),
        "bumps": without(bumps(48, 3.0), asked=8),
        "ball": without(in_a_ball(40, 4)),
        "box": without(in_a_box(40, 4), asked=5),
        "lognormal factors": without(lognormal(40, 5), asked=5),
        "bilinear": mixed(1000, 50, 4, bilinear=0.5),
        "bilinear, faint": mixed(1000, 50, 4, 0.01, bilinear=0.1),
        "squared": mixed(1000, 50, 4, after=squared),
        "saturated": mixed(1000, 50, 4, 0.01, after=saturated),
        "four levels": mixed(1000, 60, 5, after=coarse),
        "clusters": clusters(1000, 40, 5, 0.1),
        "clusters, wide": clusters(1000, 40, 5, 0.4),
        "outliers": mixed(1000, 50, 5, 0.02, after=outliers(0.01)),
        "outliers, few": mixed(1000, 50, 5, 0.02, after=outliers(0.002)),
        "outliers, small": mixed(1000, 50, 5, 0.02, after=outliers(0.02, 1.0)),
        "stuck entries": mixed(1000, 50, 5, 0.02, after=dead_entries),
        "missing, filled with zeros": mixed(1000, 50, 5, after=filled),
        "copied rows": mixed(1000, 50, 5, 0.1, times=10),
        "copied rows, neighbours": mixed(1000, 50, 5, 0.1, times=10, shuffled=False),
        "copied rows, exact": mixed(1000, 50, 6, times=4),
        "time series": mixed(1500, 50, 5, 0.05, weights=slow, pure=0),
        "time series, staying": mixed(1500, 50, 5, 0.05, weights=staying(0.95)),
        "time series of regions": mixed(2500, 80, 4, 0.02, weights=of_regions, components=curves, pure=0),
        "signed weights": signed(1000, 40, 5),
        "heavy-tailed noise": mixed(1000, 50, 5, 0.1, kind=heavy(2.5), pure=5),
        "heavy-tailed noise, worse": mixed(1000, 50, 5, 0.3, kind=heavy(2.1), pure=5),
        "noise in five directions": mixed(1000, 50, 5, 0.1, kind=in_some_directions(5)),
        "noise of some features": mixed(1000, 50, 5, 0.1, kind=of_some_features, pure=5),
        "smooth noise": mixed(1000, 100, 4, 0.05, kind=smooth_noise, components=curves, pure=5),
        "loud rows": mixed(1000, 50, 5, 0.2, kind=loud_in_some_rows, pure=5),
        "multiplied noise": mixed(1000, 50, 5, after=multiplied(0.3), pure=5),
        "features in other units": mixed(1000, 50, 5, 0.05, components=of_uneven_units(100), pure=5),
        "features in other units, cone": mixed(1000, 50, 5, 0.02, components=of_uneven_units(100), scales=0.5),
        "twins": mixed(1000, 50, 5, 0.05, components=twins(0.05), pure=5),
        "twins, near": mixed(1000, 50, 5, 0.01, components=twins(0.01)),
        "between two": mixed(1000, 50, 5, 0.05, components=between(0.05), pure=5),
        "dark rows": mixed(1000, 50, 5, 0.02, scales=0.3, dark=0.3, pure=5),
        "dark rows, told": mixed(1000, 50, 5, 0.05, scales=0.3, dark=0.5, pure=5, mixing="cone"),
        "cone, told simplex": mixed(1000, 50, 5, 0.02, scales=0.5, mixing="simplex"),
        "background": mixed(1000, 50, 5, 0.02, after=over_a_background(1.0), scales=0.5),
        "components that vary": mixed(800, 50, 4, varied=0.1),
        "components that vary, more": mixed(800, 50, 4, varied=0.3),
        "moving components": drifting(1000, 50, 5),
        "clipped noise": mixed(1000, 60, 5, 0.5, components=sparse, after=clipped, pure=5),
        "outward 1": mixed(210, 100, 20, weights=midpoints, outward=1.0),
    },
    empty={
        "uniform": without(lambda rng, n: rng.random((n, 40)), nothing=True),
        "uniform, cone": without(lambda rng, n: rng.random((n, 40)), nothing=True, mixing="cone"),
        "exponential": without(lambda rng, n: rng.exponential(size=(n, 40)), nothing=True),
        "absolute Gaussian": without(lambda rng, n: np.abs(rng.standard_normal((n, 30))), asked=10, nothing=True),
        "counts": without(lambda rng, n: rng.poisson(3.0, (n, 50)).astype(float), nothing=True),
        "zeros and ones": without(lambda rng, n: (rng.random((n, 48)) < 0.2).astype(float), nothing=True),
        "permuted features": without(permuted, nothing=True),
        "few rows": without(lambda rng, n: rng.random((n, 60)), 60, 4, nothing=True),
        "two asked": without(lambda rng, n: rng.random((n, 20)), asked=2, nothing=True),
        "constant": without(lambda rng, n: np.ones((n, 24)), 300, 3, nothing=True),
        "constant and noise": without(lambda rng, n: 1 + 0.05 * rng.standard_normal((n, 32)), nothing=True),
        "one row and noise": without(
            lambda rng, n: rng.random(40) + 0.1 * rng.standard_normal((n, 40)), asked=4, nothing=True
        ),
        "one row of any scale": without(
            lambda rng, n: rng.lognormal(0, 0.5, (n, 1)) * rng.random(40) + 0.02 * rng.random((n, 40)), nothing=True
        ),
    },
)  # fmt: skip
