"""Search for pure rows: the searches, the race between them, and means of the rows near each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from ..exceptions import LatentiaError
from ..simplex import distance_loners, farthest_vertices
from ._descent import row_weights
from ._selection import (
    LeadingCoordinates,
    compute_squared_distances,
    find_affine_vertices,
    find_hull_vertices,
    find_preconditioned_vertices,
    find_whitened_vertices,
)

K = TypeVar("K")

Method = Literal["auto", "spa", "farthest", "whitened", "spa-spa", "snpa", "robust-lp"]
METHODS = get_args(Method)
RACING_METHODS = "spa", "farthest", "whitened", "spa-spa", "snpa"  # the searches that "auto" compares

_MAX_SEARCHED = 500  # with fewer points than components, so many points are searched for the supported number
_RACE_SAMPLE = 2000  # number of points whose residuals decide the race
_WEIGHT_LIMITS = 0.9999, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8  # least weights that are tried for points to be averaged


Members = list[np.ndarray]


class Selection(NamedTuple):
    """Points chosen as vertices.

    Attributes
    ----------
    members : list of ndarray of int
        The points that are averaged for each vertex, the anchor first.
    method : str
        The search that chose them.
    scaled : bool
        Whether rows were scaled for the search.
    rivals : dict
        Members by the methods that lost the race.
    """

    members: Members
    method: str
    scaled: bool
    rivals: dict[str, Members]

    @classmethod
    def from_best(cls, candidates: Mapping[Any, Members], best: Any, method: str, scaled: bool) -> Selection:
        """Return the best candidate; the others become its rivals."""
        names = {key: key if isinstance(key, str) else key[0] for key in candidates}
        rivals = {names[key]: members for key, members in candidates.items() if key != best}
        return cls(candidates[best], method, scaled, rivals)

    @property
    def anchors(self) -> np.ndarray:
        """Numbers of the points that stand for the vertices, shape (r,)."""
        return np.array([rows[0] for rows in self.members], dtype=np.int64)

    def vertices(self, points: np.ndarray) -> np.ndarray:
        """Return means of the members, shape (r, k)."""
        return average_members(points, self.members)


def average_members(points: np.ndarray, members: Members) -> np.ndarray:
    """Average the points of each vertex, shape (r, k)."""
    return np.array([points[rows].mean(axis=0) for rows in members])


def search_vertices(
    method: Method, points: np.ndarray, n_components: int, *, eps: float | None = None, n_jobs: int | None = None
) -> dict[str, Members]:
    """Search by each method that is compared; keep the answers with as many vertices as were asked for."""
    if len(points) < n_components and len(points) > _MAX_SEARCHED:
        raise _too_many_error(len(points), n_components, "there are no more different rows")
    n = min(n_components, len(points))
    methods = RACING_METHODS if method == "auto" else (method,)
    leading = LeadingCoordinates.compute(points, n) if {"whitened", "spa-spa"} & set(methods) else None
    candidates = {name: _search(name, points, n, leading, eps, n_jobs) for name in methods}
    complete = {name: members for name, members in candidates.items() if len(members) == n_components}
    if not complete:
        n_supported = max(len(members) for members in candidates.values())
        raise _too_many_error(n_supported, n_components, _NOT_FAR if method == "robust-lp" else _IN_SPAN)
    return complete


def select_by_residual(
    candidates: Mapping[K, Members], points: np.ndarray, mixing: Literal["simplex", "cone"], n_jobs: int | None = None
) -> tuple[K, float]:
    """Return the candidate with the smallest residual on a sample of the points, and this residual."""
    sample = (
        points
        if len(points) <= _RACE_SAMPLE
        else points[np.linspace(0, len(points) - 1, _RACE_SAMPLE).astype(np.int64)]
    )
    squared = np.einsum("ij,ij->i", sample, sample)
    residuals: dict[frozenset[int], float] = {}
    residual_of: dict[K, float] = {}
    for key, members in candidates.items():
        anchors = frozenset(int(rows[0]) for rows in members)
        if anchors not in residuals:
            vertices = average_members(points, members)
            weights = row_weights(sample, vertices, mixing, n_jobs)
            residuals[anchors] = float(compute_squared_distances(sample, squared, vertices, weights).sum())
        residual_of[key] = residuals[anchors]
    winner = min(residual_of, key=lambda key: residual_of[key])
    return winner, residual_of[winner]


_IN_SPAN = "beyond them every row lies in the span of those found"
_NOT_FAR = "there are no more rows clearly outside of the hull of the others. Lower eps, or use another method"


def _too_many_error(n_found: int, n_components: int, reason: str) -> LatentiaError:
    return LatentiaError(
        f"this data supports at most {max(n_found, 1)} components: {reason}.",
        at_most=max(n_found, 1),
        parameter="n_components",
        value=n_components,
    )


def _search(
    method: str, points: np.ndarray, n: int, leading: LeadingCoordinates | None, eps: float | None, n_jobs: int | None
) -> Members:
    """Find vertices by one method; each has one member."""
    if method == "spa":
        rows = farthest_vertices(points, n)[0]
    elif method == "farthest":
        rows = find_affine_vertices(points, n)
    elif method == "whitened":
        rows = find_whitened_vertices(points, n, leading)
    elif method == "spa-spa":
        rows = find_preconditioned_vertices(points, n, leading)
    elif method == "snpa":
        rows = find_hull_vertices(points, n, n_jobs)
    else:
        rows = distance_loners(points, n, eps=eps)
    return list(rows[:, None])


def pool_members(
    points: np.ndarray, selection: Selection, weights: np.ndarray, noise: float, hidden: float
) -> Selection:
    """Average vertices over the points near them, as far as this lowers the expected error.

    The mean of the points with a share of at least t has less noise than the anchor and some bias. The squared distance between
    the two, less the noise of both, estimates the bias. So each vertex takes the t with the least bias^2 + noise, or stays the
    anchor alone.

    Parameters
    ----------
    weights : ndarray of shape (m, r)
        Weights of all points on the vertices.
    noise : float
        Squared length of the noise of a point.
    hidden : float
        Squared length of the noise that the coordinates leave out.
    """
    totals = weights.sum(axis=1, keepdims=True)
    shares = weights / np.where(totals > 0, totals, 1.0)
    members = list(selection.members)
    anchor_noise = noise + hidden
    for k, anchor in enumerate(selection.anchors):
        best_error = anchor_noise
        for limit in _WEIGHT_LIMITS:
            rows = np.flatnonzero(shares[:, k] >= limit)
            rows = np.concatenate([[anchor], rows[rows != anchor]])
            squared_distance = float(((points[rows].mean(axis=0) - points[anchor]) ** 2).sum())
            bias = max(squared_distance - noise * (1 - 1 / len(rows)), 0.0)
            if bias + anchor_noise / len(rows) < best_error:
                best_error, members[k] = bias + anchor_noise / len(rows), rows
    return selection._replace(members=members)
