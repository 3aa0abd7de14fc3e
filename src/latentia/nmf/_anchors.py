"""Rows that are a component alone: the searches, the race between them, and means of the rows near each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from ..exceptions import LatentiaError
from ..simplex import distance_loners, farthest_vertices
from ._descent import row_weights
from ._selection import (
    Leading,
    affine_vertices,
    nonnegative_projections,
    preconditioned_vertices,
    squared_distances,
    whitened_vertices,
)

K = TypeVar("K")

Method = Literal["auto", "spa", "farthest", "whitened", "spa-spa", "snpa", "robust-lp"]
METHODS = get_args(Method)
RACE = "spa", "farthest", "whitened", "spa-spa", "snpa"  # that "auto" compares

_FEW = 500  # points, of which more vertices than there are points are looked for, to say how many there are
_SAMPLE = 2000  # points whose residuals decide a race
_NEAR = 0.9999, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8  # least weight of points that are averaged


Members = list[np.ndarray]


class Selection(NamedTuple):
    """Points that are vertices.

    Attributes
    ----------
    members : list of ndarray of int
        The points whose mean each vertex is, the anchor first.
    method : str
        What found them.
    scaled : bool
        Whether it searched among scaled rows.
    others : dict
        What the methods that lost the race found.
    """

    members: Members
    method: str
    scaled: bool
    others: dict[str, Members]

    @classmethod
    def of(cls, found: Mapping[Any, Members], best: Any, method: str, scaled: bool) -> Selection:
        """The best of what was found."""
        names = {one: one if isinstance(one, str) else one[0] for one in found}
        return cls(found[best], method, scaled, {names[one]: own for one, own in found.items() if one != best})

    @property
    def anchors(self) -> np.ndarray:
        """Number of the point that stands for each vertex, shape (r,)."""
        return np.array([one[0] for one in self.members], dtype=np.int64)

    def vertices(self, points: np.ndarray) -> np.ndarray:
        """Means of the members, shape (r, k)."""
        return means(points, self.members)


def means(points: np.ndarray, members: Members) -> np.ndarray:
    """Mean of the points of each vertex, shape (r, k)."""
    return np.array([points[own].mean(axis=0) for own in members])


def found_by(
    method: Method, points: np.ndarray, n_components: int, *, eps: float | None = None, n_jobs: int | None = None
) -> dict[str, Members]:
    """What the methods that are compared find, those that find as many as were asked for."""
    if len(points) < n_components and len(points) > _FEW:
        raise _too_many(len(points), n_components, "there are no more different rows")
    n = min(n_components, len(points))
    methods = RACE if method == "auto" else (method,)
    leading = Leading.of(points, n) if {"whitened", "spa-spa"} & set(methods) else None
    found = {one: _by(one, points, n, leading, eps, n_jobs) for one in methods}
    complete = {one: members for one, members in found.items() if len(members) == n_components}
    if not complete:
        raise _too_many(max(len(members) for members in found.values()), n_components, _WHY.get(method, _SPAN))
    return complete


def raced(
    found: Mapping[K, Members], points: np.ndarray, mixing: Literal["simplex", "cone"], n_jobs: int | None = None
) -> tuple[K, float]:
    """What leaves the least of the points, and how much, of a sample of them."""
    some = points if len(points) <= _SAMPLE else points[np.linspace(0, len(points) - 1, _SAMPLE).astype(np.int64)]
    squared = np.einsum("ij,ij->i", some, some)
    left: dict[frozenset[int], float] = {}
    best: dict[K, float] = {}
    for one, members in found.items():
        same = frozenset(int(own[0]) for own in members)
        if same not in left:
            vertices = means(points, members)
            weights = row_weights(some, vertices, mixing, n_jobs)
            left[same] = float(squared_distances(some, squared, vertices, weights).sum())
        best[one] = left[same]
    first = min(best, key=lambda one: best[one])
    return first, best[first]


_SPAN = "beyond them every row lies in the span of those found"
_WHY = {
    "robust-lp": "there are no more rows clearly outside of the hull of the others. Lower eps, or use another method",
}


def _too_many(found: int, asked: int, why: str) -> LatentiaError:
    return LatentiaError(
        f"this data supports at most {max(found, 1)} components: {why}.",
        at_most=max(found, 1),
        parameter="n_components",
        value=asked,
    )


def _by(
    method: str, points: np.ndarray, n: int, leading: Leading | None, eps: float | None, n_jobs: int | None
) -> Members:
    """The points of each vertex, as one method finds them."""
    if method == "spa":
        found = farthest_vertices(points, n)[0]
    elif method == "farthest":
        found = affine_vertices(points, n)
    elif method == "whitened":
        found = whitened_vertices(points, n, leading)
    elif method == "spa-spa":
        found = preconditioned_vertices(points, n, leading)
    elif method == "snpa":
        found = nonnegative_projections(points, n, n_jobs)
    else:
        found = distance_loners(points, n, eps=eps)
    return list(found[:, None])


def pooled(points: np.ndarray, selection: Selection, weights: np.ndarray, noise: float, hidden: float) -> Selection:
    """Vertices averaged over the points near them, as far as this lowers the expected error.

    The mean of the points with a share of at least t has less noise than the anchor and some bias. The squared distance of the
    two estimates the bias (less the noise of both), so each vertex takes the t of the least bias^2 + noise, the anchor alone
    included.

    Parameters
    ----------
    weights : ndarray of shape (m, r)
        Of all points on the vertices.
    noise : float
        Squared length of the noise of a point.
    hidden : float
        That of what its coordinates leave out.
    """
    totals = weights.sum(axis=1, keepdims=True)
    shares = weights / np.where(totals > 0, totals, 1.0)
    members = list(selection.members)
    whole = noise + hidden
    for k, anchor in enumerate(selection.anchors):
        least = whole
        for limit in _NEAR:
            near = np.flatnonzero(shares[:, k] >= limit)
            near = np.concatenate([[anchor], near[near != anchor]])
            apart = float(((points[near].mean(axis=0) - points[anchor]) ** 2).sum())
            bias = max(apart - noise * (1 - 1 / len(near)), 0.0)
            if bias + whole / len(near) < least:
                least, members[k] = bias + whole / len(near), near
    return selection._replace(members=members)
