"""Two views that share a part, u = s1 + s2 and v = A s2 + s3, for the estimators of `latentia.contrastive`.

The true error is the estimator's own: of the covariances of s1, s2 and s3 with columns of u and v in unit variance, relative
to the true ones; the sine of the angle to the true direction of the same place; the difference of a coefficient for columns in
unit variance, relative to the root mean square of the true ones; the distance of a mean to the nearest true one; the
difference of a coupling.

Truth of data that is not as the model says is s1, s2 and s3 as they were before that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from latentia.contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)

from .gaussians import apart
from .sources import exponential, lagging, laplace, uniform
from .world import Case, Draw, Rng, World, copies, worlds

Entries: TypeAlias = Callable[[Rng, int, int], np.ndarray]  # (rng, n, d): (n, d) of unit variance and mean zero


# --- entries ------------------------------------------------------------------------------------------------------


def gaussian(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def two_clusters(rng: Rng, n: int, d: int) -> np.ndarray:
    """Each column in two clusters, of three quarters and one quarter of the rows."""
    centers = np.where(rng.random((n, d)) < 0.25, np.sqrt(3), -np.sqrt(1 / 3))
    return np.sqrt(0.9) * centers + np.sqrt(0.1) * rng.standard_normal((n, d))


def spins(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], (n, d))


def of_all_kinds(rng: Rng, n: int, d: int) -> np.ndarray:
    kinds = [exponential, uniform, two_clusters, laplace]
    return np.hstack([kinds[i % 4](rng, n, 1) for i in range(d)])


def remembered(entries: Entries, rho: float = 0.9) -> Entries:
    """The same with a memory: neighbouring rows are alike."""
    return lambda rng, n, d: np.column_stack([lagging(entries(rng, n + 300, 1)[:, 0], rho)[300:] for _ in range(d)])


# --- what s1 is ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Own:
    """How rows of s1 are drawn, and what is to be found."""

    draw: Callable[[Rng, int], np.ndarray]
    covariance: np.ndarray
    truth: Any = None
    target: Callable[[Rng, np.ndarray], np.ndarray] | None = None


def cloud(entries: Entries, fold: float = 6.0) -> Callable[[Rng, int], Own]:
    """Columns that are correlated; standard deviations of the axes differ ``fold``-fold."""

    def make(rng: Rng, d: int) -> Own:
        root = turned(rng, d, fold)
        return Own(lambda rng, n: entries(rng, n, d) @ root.T, root @ root.T)

    return make


def turned(rng: Rng, d: int, fold: float) -> np.ndarray:
    """A root of a covariance of mean variance one."""
    axes = np.geomspace(fold, 1, d)
    return np.linalg.qr(rng.standard_normal((d, d)))[0] * (axes / np.sqrt((axes**2).mean()))


def predicting(entries: Entries, noise: float | None, fold: float = 2.0) -> Callable[[Rng, int], Own]:
    """Columns, and a target of coefficients: numbers with this noise, or two classes."""

    def make(rng: Rng, d: int) -> Own:
        own, beta = cloud(entries, fold)(rng, d), rng.standard_normal(d)
        beta *= (1.0 if noise is not None else 1.5) / np.linalg.norm(beta)

        def target(rng: Rng, rows: np.ndarray) -> np.ndarray:
            mean = rows @ beta
            if noise is not None:
                return mean + noise * rng.standard_normal(len(rows))
            return (rng.random(len(rows)) < expit(mean)).astype(float)

        return replace(own, truth=beta, target=target)

    return make


def balls(k: int, stretch: float = 1.0) -> Callable[[Rng, int], Own]:
    """Clusters of the same size; their axes differ ``stretch``-fold."""

    def make(rng: Rng, d: int) -> Own:
        means = apart(rng, k, d, 3.0)
        means -= means.mean(axis=0)
        roots = [0.4 * turned(rng, d, stretch) for _ in range(k)]

        def draw(rng: Rng, n: int) -> np.ndarray:
            labels, noise = rng.integers(k, size=n), rng.standard_normal((n, d))
            return means[labels] + np.einsum("nij,nj->ni", np.array(roots)[labels], noise)

        return Own(draw, means.T @ means / k + np.mean([root @ root.T for root in roots], axis=0), means)

    return make


def coupled(edges: Callable[[int], np.ndarray], size: float = 0.8, soft: float = 0.0) -> Callable[[Rng, int], Own]:
    """Spins on a graph, from the list of all states; with ``soft`` they are of any size."""

    def make(rng: Rng, d: int) -> Own:
        pairs = edges(d)
        couplings = rng.uniform(-size, size, len(pairs))
        states = 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1) - 1
        energy = sum(j * states[:, a] * states[:, b] for j, (a, b) in zip(couplings, pairs, strict=True))
        chances = np.exp(energy - np.max(energy))
        chances /= chances.sum()

        def draw(rng: Rng, n: int) -> np.ndarray:
            rows = states[rng.choice(len(states), size=n, p=chances)]
            return rows * (1 + soft * rng.standard_normal(rows.shape))

        covariance = (states.T * chances) @ states + soft**2 * np.eye(d)
        return Own(draw, covariance, (pairs, couplings))

    return make


def chain(d: int) -> np.ndarray:
    return np.column_stack([np.arange(d - 1), np.arange(1, d)])


def grid(d: int) -> np.ndarray:
    """A square without a rim."""
    side = round(d**0.5)
    place = np.arange(d).reshape(side, side)
    found = {
        tuple(sorted(pair)) for axis in (0, 1) for pair in zip(place.flat, np.roll(place, -1, axis).flat, strict=True)
    }
    return np.array(sorted(found), dtype=int)


# --- views --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Views:
    """Rows of the parts, and of the views made of them."""

    own: np.ndarray
    shared: np.ndarray
    other: np.ndarray
    linear_map: np.ndarray
    u: np.ndarray
    v: np.ndarray

    @classmethod
    def of(cls, own: np.ndarray, shared: np.ndarray, other: np.ndarray, linear_map: np.ndarray) -> Views:
        return cls(own, shared, other, linear_map, own + shared, shared @ linear_map.T + other)


Change: TypeAlias = Callable[[Rng, Views], Views]


@dataclass(frozen=True)
class Kind:
    """A family: its estimator, what s1 is by default, and how far a fit is from the truth, shape (K, 1) or (K, K_true)."""

    estimator: Callable[..., Any]
    own: Callable[[Rng, int], Own]
    distances: Callable[[Any, Own, dict[str, np.ndarray]], np.ndarray]
    most: float = np.inf
    parameters: Callable[[Own], dict[str, Any]] = lambda own: {}
    slow: Callable[[Rng, int], Own] | None = None  # s1 with a memory


def two_views(
    kind: Kind,
    rng: Rng,
    n: int = 10_000,
    d: int = 5,
    shared: Entries = exponential,
    *,
    strength: float = 1.0,
    wide: int = 0,
    rank: int | None = None,
    n_shared: int | None = None,
    skew_map: bool = False,
    own: Callable[[Rng, int], Own] | None = None,
    other: Entries = uniform,
    noise: float = 0.6,
    change: Change | None = None,
    rows: Callable[[Rng, int], np.ndarray] | None = None,
    parameters: dict[str, Any] | None = None,
    y_too: bool = False,
    found: bool = True,
) -> Case:
    """Views with a shared part of ``rank`` dimensions, seen by d + wide columns of v through a map that is orthogonal or not.

    ``change`` is what is not as the model says, ``rows`` picks from those drawn, ``y_too`` lets s2 enter the target.
    """
    width, r = d + wide, d if rank is None else rank
    linear_map = rng.standard_normal((width, d)) / np.sqrt(width)
    linear_map = linear_map if skew_map else np.linalg.qr(linear_map)[0]
    root = turned(rng, d, 2.0)[:, :r] * strength
    of_other = noise * turned(rng, width, 2.0)
    s1 = (own or kind.own)(rng, d)
    views = Views.of(s1.draw(rng, n), shared(rng, n, r) @ root.T, other(rng, n, width) @ of_other.T, linear_map)
    y = None if s1.target is None else s1.target(rng, views.own)
    if y_too and y is not None:
        y = y + 0.7 * views.shared @ np.ones(d) / np.sqrt(d) if len(np.unique(y)) > 2 else np.where(
            rng.random(n) < 0.3, (views.shared.sum(axis=1) > 0).astype(float), y
        )  # fmt: skip
    views = change(rng, views) if change else views
    tables = [views.u, views.v] + ([] if y is None else [y])
    if rows is not None:
        chosen = rows(rng, n)
        tables = [table[chosen] for table in tables]
    truth = {
        "own": s1.covariance, "shared": root @ root.T, "other": of_other @ of_other.T,
        "u": tables[0].std(axis=0), "v": tables[1].std(axis=0),
    }  # fmt: skip
    options = kind.parameters(s1) | {"n_shared": n_shared} | (parameters or {})
    return Case(
        lambda refine: kind.estimator(**options),
        lambda model: model.fit(*tables),
        (lambda model: kind.distances(model, s1, truth)) if found else None,
        most=kind.most,
    )


# --- how far from the truth ---------------------------------------------------------------------------------------


def of_covariances(model: Any, own: Own, truth: dict[str, np.ndarray]) -> np.ndarray:
    scales = [np.outer(truth[view], truth[view]) for view in "uuv"]
    parts = [truth[name] for name in ("own", "shared", "other")]
    return np.array([
        [np.linalg.norm((model.covariance(i + 1) - part) / scale) / max(np.linalg.norm(part / scale), 1e-9)]
        for i, (part, scale) in enumerate(zip(parts, scales, strict=True))
    ])  # fmt: skip


def of_directions(model: Any, own: Own, truth: dict[str, np.ndarray]) -> np.ndarray:
    true = np.linalg.eigh(own.covariance)[1][:, ::-1].T[: len(model.components_)]
    cosines = (model.components_ * true).sum(axis=1, keepdims=True)
    return np.sqrt(np.clip(1 - cosines**2, 0, None))


def of_coefficients(model: Any, own: Own, truth: dict[str, np.ndarray]) -> np.ndarray:
    found, true = model.coef_.ravel() * truth["u"], own.truth * truth["u"]
    return np.abs(found - true)[:, None] / np.sqrt(np.mean(true**2))


def of_means(model: Any, own: Own, truth: dict[str, np.ndarray]) -> np.ndarray:
    return cdist(model.means_, own.truth)


def of_couplings(model: Any, own: Own, truth: dict[str, np.ndarray]) -> np.ndarray:
    pairs, couplings = own.truth
    d = model.n_features_in_
    true = np.zeros((d, d))
    true[pairs[:, 0], pairs[:, 1]] = couplings
    return np.abs(model.couplings_ - true[model.edges_[:, 0], model.edges_[:, 1]])[:, None]


SLOW = remembered(gaussian)
KINDS = {
    "ContrastiveComponents": Kind(ContrastiveComponents, cloud(gaussian), of_covariances, 2.0, slow=cloud(SLOW)),
    "ContrastivePCA": Kind(
        ContrastivePCA, cloud(gaussian), of_directions, 1.0, lambda own: {"n_components": 2}, slow=cloud(SLOW)
    ),
    "ContrastiveRegression": Kind(
        ContrastiveRegression, predicting(uniform, 0.7), of_coefficients, slow=predicting(SLOW, 0.7)
    ),
    "ContrastiveLogisticRegression": Kind(
        ContrastiveLogisticRegression, predicting(uniform, None), of_coefficients, slow=predicting(SLOW, None)
    ),
    "ContrastiveGaussianMixture": Kind(
        ContrastiveGaussianMixture, balls(3), of_means, parameters=lambda own: {"n_components": len(own.truth)}
    ),
    "ContrastiveIsing": Kind(
        ContrastiveIsing, coupled(chain), of_couplings, parameters=lambda own: {"edges": own.truth[0]}
    ),
}


# --- what is not as the model says --------------------------------------------------------------------------------


def loud_together(rng: Rng, views: Views) -> Views:
    """Rows are loud or quiet in all parts."""
    volume = np.exp(0.6 * rng.standard_normal((len(views.u), 1)) - 0.36)
    return replace(views, u=views.u * volume, v=views.v * volume)


def shared_follows_own(rng: Rng, views: Views) -> Views:
    """s2 is in part what s1 is."""
    return Views.of(views.own, views.shared + 0.5 * views.own, views.other, views.linear_map)


def volume_by_own(rng: Rng, views: Views) -> Views:
    """s2 is loud where s1 is large: uncorrelated, and not independent."""
    size = np.linalg.norm(views.own, axis=1, keepdims=True)
    return Views.of(views.own, views.shared * size / np.sqrt((size**2).mean()), views.other, views.linear_map)


def other_follows_own(rng: Rng, views: Views) -> Views:
    """v sees some of s1 as well."""
    seen = 0.5 * views.own @ np.linalg.qr(rng.standard_normal((views.own.shape[1],) * 2))[0]
    return Views.of(views.own, views.shared, views.other + seen @ views.linear_map.T, views.linear_map)


def bent(rng: Rng, views: Views) -> Views:
    """v sees s2 through sensors that saturate."""
    size = views.shared.std()
    return replace(views, v=size * np.tanh(views.shared / size) @ views.linear_map.T + views.other)


def squared(rng: Rng, views: Views) -> Views:
    """v sees squares of s2 as well."""
    size = views.shared.std(axis=0)
    square = 0.5 * ((views.shared / size) ** 2 - 1) * size
    return replace(views, v=(views.shared + square) @ views.linear_map.T + views.other)


def two_maps(rng: Rng, views: Views) -> Views:
    """A second shared part with a map of its own."""
    n, d = views.own.shape
    second, other_map = exponential(rng, n, d), rng.standard_normal(views.linear_map.shape) / np.sqrt(d)
    own = views.own + 0.7 * second
    return replace(
        Views.of(own, views.shared, views.other, views.linear_map),
        v=views.shared @ views.linear_map.T + 0.7 * second @ other_map.T + views.other,
    )


def spikes(rng: Rng, views: Views) -> Views:
    """One row in two hundred is far out in both views, each in a direction of its own."""
    out = rng.random((len(views.u), 1)) < 0.005
    far = [10 * rng.standard_normal(table.shape) * out for table in (views.u, views.v)]
    return replace(views, u=views.u + far[0], v=views.v + far[1])


def spikes_of_one(rng: Rng, views: Views) -> Views:
    """The same in u alone."""
    out = rng.random((len(views.u), 1)) < 0.005
    return replace(views, u=views.u + 10 * rng.standard_normal(views.u.shape) * out)


def drifting(rng: Rng, views: Views) -> Views:
    """Both views move by two standard deviations from the first row to the last."""
    steps = np.linspace(-1, 1, len(views.u))[:, None]
    return replace(
        views,
        u=views.u + steps * rng.standard_normal(views.u.shape[1]),
        v=views.v + steps * rng.standard_normal(views.v.shape[1]),
    )


def moving_map(rng: Rng, views: Views) -> Views:
    """A turns from the first row to the last."""
    last = views.linear_map + 0.7 * rng.standard_normal(views.linear_map.shape) / np.sqrt(views.linear_map.shape[1])
    share = np.linspace(0, 1, len(views.u))[:, None]
    seen = (1 - share) * (views.shared @ views.linear_map.T) + share * (views.shared @ last.T)
    return replace(views, v=seen + views.other)


def joined_wrongly(rng: Rng, views: Views) -> Views:
    """A third of the rows of v is of another row."""
    rows = np.arange(len(views.v))
    wrong = np.flatnonzero(rng.random(len(rows)) < 0.33)
    rows[wrong] = rng.permutation(wrong)
    return replace(views, v=views.v[rows])


def unrelated(rng: Rng, views: Views) -> Views:
    """Rows of v in an order of their own."""
    return replace(views, v=rng.permutation(views.v))


def repeated(times: int, shuffled: bool = True) -> Callable[[Rng, int], np.ndarray]:
    """A part of the rows, each so many times."""
    return lambda rng, n: copies(rng, n, times, shuffled)


def some_repeated(rng: Rng, n: int) -> np.ndarray:
    """A part of the rows, each two to ten times."""
    chosen = rng.permutation(n)[: n // 6]
    return rng.permutation(np.repeat(chosen, rng.integers(2, 11, len(chosen))))


# --- the worlds ---------------------------------------------------------------------------------------------------


def made(kind: Kind, *args: Any, **options: Any) -> Draw:
    return lambda rng: two_views(kind, rng, *args, **options)


def right_worlds(kind: Kind) -> dict[str, Draw]:
    return {
        "plenty": made(kind, 30_000, 5),
        "plenty, symmetric": made(kind, 50_000, 5, uniform),
        "many rows, skew map": made(kind, 100_000, 8, laplace, skew_map=True),
        "three columns": made(kind, 5000, 3, two_clusters),
        "twenty columns": made(kind, 20_000, 20, wide=4),
        "wide V": made(kind, 10_000, 6, wide=6),
        "wide V, skew map": made(kind, 10_000, 6, laplace, wide=4, skew_map=True),
        "skew map": made(kind, 10_000, 5, skew_map=True),
        "few rows": made(kind, 1000, 4),
        "hardly any rows": made(kind, 500, 5, laplace),
        "strong": made(kind, 5000, 5, laplace, strength=3.0),
        "weak": made(kind, 20_000, 6, strength=0.3),
        "symmetric": made(kind, 10_000, 8, uniform, strength=0.7),
        "spins": made(kind, 10_000, 6, spins),
        "of all kinds": made(kind, 20_000, 8, of_all_kinds, wide=2),
        "two shared of six": made(kind, 10_000, 6, rank=2, n_shared=2),
        "one shared of ten": made(kind, 5000, 10, two_clusters, rank=1, n_shared=1, strength=3.0),
        "hopeless": made(kind, 500, 12, uniform, strength=0.5),
    }  # fmt: skip


def wrong_worlds(kind: Kind) -> dict[str, Draw]:
    return {
        "shared follows own": made(kind, change=shared_follows_own),
        "loud where own is large": made(kind, change=volume_by_own),
        "other follows own": made(kind, change=other_follows_own),
        "saturated": made(kind, change=bent),
        "squares": made(kind, change=squared),
        "loud together": made(kind, change=loud_together),
        "two maps": made(kind, change=two_maps),
        "fewer shared than asked": made(kind, 20_000, 6, rank=3),
        "more shared than asked": made(kind, 20_000, 6, n_shared=3),
        "spikes": made(kind, change=spikes),
        "spikes in U": made(kind, change=spikes_of_one),
        "copied rows": made(kind, 3000, rows=repeated(10)),
        "copied rows, neighbours": made(kind, 10_000, rows=repeated(10, shuffled=False)),
        "some rows copied": made(kind, 12_000, rows=some_repeated),
        "time series": made(kind, own=kind.slow, shared=remembered(exponential), other=remembered(uniform)),
        "time series, symmetric": made(kind, 20_000, 4, remembered(two_clusters), own=kind.slow, other=SLOW),
        "drift": made(kind, change=drifting),
        "moving map": made(kind, change=moving_map),
        "joined wrongly": made(kind, change=joined_wrongly),
        "half Gaussian": made(kind, 20_000, 6, half_gaussian),
    }  # fmt: skip


def half_gaussian(rng: Rng, n: int, d: int) -> np.ndarray:
    """Shared dimensions of which half cannot be told."""
    return np.hstack([exponential(rng, n, d // 2), gaussian(rng, n, d - d // 2)])


def empty_worlds(kind: Kind) -> dict[str, Draw]:
    none: dict[str, Any] = {"found": False}
    return {
        "all Gaussian": made(kind, 10_000, 5, gaussian, other=gaussian, **none),
        "Gaussian shared part": made(kind, 10_000, 5, gaussian, **none),
        "Gaussian shared part, few rows": made(kind, 800, 4, gaussian, other=exponential, **none),
        "no shared part": made(kind, 10_000, 5, strength=0.0, **none),
        "independent views": made(kind, 10_000, 5, change=unrelated, **none),
        "Gaussian with memory": made(kind, 10_000, 5, remembered(gaussian, 0.97), other=remembered(gaussian, 0.97), **none),
        "twenty rows": made(kind, 20, 2, **none),
    }  # fmt: skip


def targeted(kind: Kind) -> dict[str, Draw]:
    return {"y depends on the shared part": made(kind, y_too=True)}


def more_of(family: str, kind: Kind) -> tuple[dict[str, Draw], dict[str, Draw]]:
    """Right and wrong worlds of one family alone."""
    if family == "ContrastiveGaussianMixture":
        return {"five balls": made(kind, 20_000, 6, own=balls(5)), "two balls": made(kind, 5000, 4, own=balls(2))}, {
            "long clusters": made(kind, own=balls(3, 4.0)),
            "K one too many": made(kind, own=balls(3), parameters={"n_components": 4}),
            "K one too few": made(kind, own=balls(4), parameters={"n_components": 3}),
        }  # fmt: skip
    if family == "ContrastiveIsing":
        return {
            "grid": made(kind, 50_000, 9, spins, own=coupled(grid)),
            "grid of sixteen": made(kind, 30_000, 16, spins, own=coupled(grid, 0.5)),
            "strong grid": made(kind, 50_000, 9, spins, own=coupled(grid, 1.2)),
        }, {
            "no spins": made(kind, own=coupled(chain, soft=0.5)),
            "other edges": made(kind, 20_000, 6, parameters={"edges": np.array([[0, 2], [1, 3], [2, 4], [3, 5], [0, 5]])}),
            "half of the edges": made(kind, 20_000, 9, own=coupled(grid), parameters={"edges": grid(9)[::2]}),
        }  # fmt: skip
    if family in ("ContrastiveRegression", "ContrastiveLogisticRegression"):
        return {}, targeted(kind)
    if family == "ContrastivePCA":
        return {"nearly round": made(kind, 30_000, 5, own=cloud(gaussian, 1.5))}, {}
    return {"skewed own part": made(kind, 10_000, 5, own=cloud(exponential))}, {}


def worlds_of(family: str) -> list[World]:
    kind = KINDS[family]
    right, wrong = more_of(family, kind)
    return worlds(family, right_worlds(kind) | right, wrong_worlds(kind) | wrong, empty_worlds(kind))


WORLDS = [world for family in KINDS for world in worlds_of(family)]
