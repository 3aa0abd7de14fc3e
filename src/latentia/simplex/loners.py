"""Vertices of a simplex by linear programming: rows that are far from the hull of the others.

Three rules of Ge's thesis (2013), each of which asks of every row whether its l1 distance to the convex hull of some of the
other rows exceeds a threshold: `exact_loners` (Thm 2.46), `distance_loners` (Thm 2.48, with the constants that its proof
needs), `robust_loners` (section 3.5). Asked literally, that is a linear program over all rows for each row, and n^2 of them
for section 3.5. Here the least-squares projection onto the hull answers first. Its residual bounds the l1 distance from
above and, as the normal of a plane that separates the row from the hull, from below; first with the rows that are extreme in
some random direction alone, then with all. The linear program of a row that is still undecided takes rows into its hull one
by one, and stops as soon as its own bounds decide. The answers are those of the literal programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import optimize, sparse
from scipy.sparse.csgraph import connected_components

from ..exceptions import LatentiaError
from ..system.threads import run_in_chunks, single_blas_thread
from ._active_set import improve_weights, least_weights

_COPY_DISTANCE = 1e-7  # share of the spread: distance up to which rows are copies, or inside a hull
_CHUNK = 64
_DIRECTIONS = 256
_ROWS_ADDED = 8  # rows that enter a linear program at once
_ENOUGH_RATIO = 8.0  # bounds beyond this multiple of the threshold are not improved
_ROUNDS, _ROWS_ENTERING = 12, 3  # rounds of weighted projections, and rows that enter after each
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Loners:
    """Robust loners in groups: the rows of a group stand for the same vertex.

    Attributes
    ----------
    rows : ndarray of int, shape (n_groups,)
        The loner of each group with the largest least-squares distance to its hull, by decreasing distance.
    groups : list of ndarray of int
        All loners of each group, in the order of ``rows``.
    distances : ndarray of shape (n_groups,)
        Least-squares distance of each of ``rows`` to the hull of the rows outside its neighbourhood; infinite if there are
        none.
    eps : float
        l1 noise of a row for which these are the loners.
    separation : float
        The alpha (or gamma) for which they are: no vertex is taken to be nearer to the hull of the others.
    """

    rows: np.ndarray
    groups: list[np.ndarray]
    distances: np.ndarray
    eps: float
    separation: float


def exact_loners(points: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
    """Return rows that are not in the convex hull of the other rows (Thm 2.46).

    Of rows that are equal, the first counts and the others are ignored. Rows are equal, and in a hull, to 1e-7 of the
    largest l1 distance from the mean row.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of int, shape (n_found,), sorted
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    spread = _measure_spread(points)
    if spread == 0:
        return np.arange(min(1, len(points)))
    with single_blas_thread():
        first = _list_first_copies(points, _COPY_DISTANCE * spread)
        return first[_Hulls(points[first] / spread, n_jobs).vertices(_COPY_DISTANCE)]


def distance_loners(
    points: np.ndarray,
    n_vertices: int,
    *,
    eps: float | None = None,
    alpha: float | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return one row for each vertex: more than 2 eps from the hull of the rows that are not near it (Thm 2.48).

    Near are rows within l1 distance d = 10 eps / alpha + 2 eps, and robust loners within 2 (d + eps) of one another stand
    for the same vertex. (The thesis prints 5 eps / alpha. Its proof needs the double: rows of unit l1 norm that differ by
    1 - A_ji in a weight differ by up to 2 (1 - A_ji) in l1.) If every row is within eps of a separable factorisation whose
    vertices are at least alpha from the hulls of the others, and 40 eps / alpha + 13 eps < alpha, each vertex gets one row,
    within d + eps of it.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_vertices : int
    eps : float, optional
        l1 noise of a row. By default the first of a doubling series that leaves ``n_vertices`` groups of loners or fewer.
    alpha : float, optional
        Least l1 distance of a vertex to the hull of the others. By default first the smallest that the theorem allows for
        eps, then that of the chosen rows less their error, as at the end of section 3.5.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of int, shape (n_found,), with n_found <= n_vertices, by decreasing distance from their hulls
    """
    return loner_groups(points, n_vertices, near="distance", eps=eps, separation=alpha, n_jobs=n_jobs).rows[:n_vertices]


def robust_loners(
    points: np.ndarray,
    n_vertices: int,
    *,
    eps: float | None = None,
    gamma: float | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return one row for each vertex: more than 2 eps from the hull of the rows outside its neighbourhood (section 3.5).

    Row j is (delta, eps)-close to row i if some convex combination of all rows that puts at least 1 - delta on j lies
    within eps of row i in l1. A row is a robust loner if its l1 distance to the hull of the rows that it is not
    (6 eps / gamma, 2 eps)-close to exceeds 2 eps (Def. 3.23, which prints "at most"). Loners that are close to one
    another stand for the same vertex.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_vertices : int
    eps : float, optional
        l1 noise of a row. By default the first of a doubling series that leaves ``n_vertices`` groups of loners or
        fewer.
    gamma : float, optional
        Least l1 distance of a vertex to the hull of the others. By default first 100 eps, then that of the rows found less
        2 eps (end of section 3.5).
    n_jobs : int, optional
        Threads.

    Returns
    -------
    ndarray of int, shape (n_found,), with n_found <= n_vertices, by decreasing distance from their hulls
    """
    return loner_groups(points, n_vertices, near="weight", eps=eps, separation=gamma, n_jobs=n_jobs).rows[:n_vertices]


def loner_groups(
    points: np.ndarray,
    n_vertices: int,
    *,
    near: str = "distance",
    eps: float | None = None,
    separation: float | None = None,
    n_jobs: int | None = None,
) -> Loners:
    """Robust loners in groups, with the noise and the separation for which they are.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    n_vertices : int
        Where ``eps`` is sought, that of the first of a doubling series that leaves this many groups or fewer.
    near : {"distance", "weight"}
        Neighbourhoods of `distance_loners` or of `robust_loners`.
    eps, separation : float, optional
        As there.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Loners
    """
    if near not in ("distance", "weight"):
        raise LatentiaError("use 'distance' or 'weight'.", parameter="near", value=near)
    points = np.ascontiguousarray(points, dtype=np.float64)
    spread = _measure_spread(points)
    if spread == 0:
        only = np.arange(min(1, len(points)))
        return Loners(only, [np.arange(len(points))] * len(only), np.full(len(only), np.inf), 0.0, 0.0)
    with single_blas_thread():
        return _search(points, n_vertices, near, eps, separation, spread, n_jobs)


def _search(
    points: np.ndarray,
    n_vertices: int,
    near: str,
    eps: float | None,
    separation: float | None,
    spread: float,
    n_jobs: int | None,
) -> Loners:
    """Return the first noise of the series with few enough groups."""
    rule: _DistanceRule | _WeightRule = (
        _DistanceRule(points, n_jobs) if near == "distance" else _WeightRule(points, n_jobs)
    )
    series = [float(eps)] if eps is not None else list(spread * 2.0 ** np.arange(-20, 0))
    chosen = None
    for noise in series:
        # The last noise of the series decides; before it, the search of a noise ends once there are too many groups.
        max_groups = None if noise == series[-1] else n_vertices
        candidate = rule.groups(noise, rule.min_separation(noise) if separation is None else separation, max_groups)
        if candidate is not None and separation is None and len(candidate.rows) > 1:
            # These rows are nearly the vertices, so their separation is a sharper one.
            sharper_separation = hull_separation(points[candidate.rows]) - rule.error(candidate)
            candidate = (
                rule.groups(noise, sharper_separation, max_groups)
                if sharper_separation > candidate.separation
                else candidate
            )
        if candidate is not None:
            chosen = candidate
            if len(chosen.rows) <= n_vertices:
                break
    assert chosen is not None
    return chosen


def hull_separation(points: np.ndarray) -> float:
    """Return the least l1 distance of a row to the hull of the others: alpha of a robustly simplicial matrix (Def. 2.47).

    Infinite for a single row.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    if len(points) < 2:
        return np.inf
    hulls, other_rows, least_distance = _Hulls(points), ~np.eye(len(points), dtype=bool), np.inf
    bounds = hulls.bounds(np.arange(len(points)), lambda a, b: other_rows[a:b])
    for i in np.argsort(bounds.upper):
        if bounds.lower[i] < least_distance:
            least_distance = min(least_distance, hulls.distance(points[i], other_rows[i], bounds.support[i])[1])
    return float(least_distance)


def _measure_spread(points: np.ndarray) -> float:
    """Return the largest l1 distance of a row from the mean row; 0 without rows."""
    return float(np.abs(points - points.mean(axis=0)).sum(axis=1).max()) if len(points) else 0.0


@dataclass
class _Bounds:
    """Lower and upper bounds of the l1 distances of m targets to hulls, with squared distances and support of projections.

    ``reach`` is the least l1 distance of a target to a row in the support of its projection.
    """

    lower: np.ndarray
    upper: np.ndarray
    squared: np.ndarray
    reach: np.ndarray
    support: np.ndarray  # numbers of rows, shape (m, k), ended by -1
    weights: np.ndarray  # of the support
    residual: np.ndarray


class _Hulls:
    """Convex hulls of subsets of the rows, by least squares in coordinates of the rows' affine span."""

    def __init__(self, points: np.ndarray, n_jobs: int | None = None) -> None:
        self.points, self.n_jobs = points, n_jobs
        self.scale = max(_measure_spread(points), np.finfo(float).tiny)
        centred = points - points.mean(axis=0)
        row_vectors, singular, _ = np.linalg.svd(centred, full_matrices=False)
        rank = int((singular > _ROUNDING * singular[0]).sum()) if singular[0] > 0 else 0
        inside = row_vectors[:, :rank] * singular[:rank]
        lift = float(np.sqrt((inside**2).sum() / len(points))) or 1.0
        # A constant coordinate makes weights that sum to one of independent columns unique (see `_active_set`).
        self.inside = np.column_stack([inside, np.full(len(points), lift)])
        self.columns = np.ascontiguousarray(self.inside.T)
        directions = np.random.default_rng(0).standard_normal((_DIRECTIONS, rank))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True) if rank else 1.0
        self.ahead = directions @ inside.T
        self.extreme = np.unique(np.concatenate([self.ahead.argmax(axis=1), self.ahead.argmin(axis=1)]))
        # A few rows are tested first: if they already have too many groups, the others need no test.
        everyone = np.random.default_rng(0).permutation(len(points))
        self.in_turn = [everyone[:_CHUNK], everyone[_CHUNK : 4 * _CHUNK], everyone[4 * _CHUNK :]]

    def bounds(
        self,
        rows: np.ndarray,
        usable: Callable[[int, int], np.ndarray] | None = None,
        *,
        columns: np.ndarray | None = None,
        threshold: float = -1.0,
        targets: tuple[np.ndarray, np.ndarray] | None = None,
        start: tuple[np.ndarray, np.ndarray] | None = None,
        sharpen: bool = False,
    ) -> _Bounds:
        """Return bounds of the l1 distances of ``rows``, or of ``targets``, to hulls of ``columns`` (all, if None).

        ``usable(a, b)`` are those of the columns that the hulls of targets a to b - 1 may have. Bounds are made no better
        than it takes to tell which side of ``threshold`` a distance is. ``start`` is the support and the weights of earlier
        projections; for hulls of all rows. With ``sharpen``, bounds that do not tell are improved.
        """
        hull_points = self.points if columns is None else self.points[columns]
        inside = self.columns if columns is None else np.ascontiguousarray(self.columns[:, columns])
        target_points, coordinates = targets or (self.points[rows], self.inside[rows])
        m, n_columns = len(target_points), inside.shape[1]
        support, weights = start or (np.full((m, len(inside) + 1), -1), np.zeros((m, len(inside) + 1)))
        bounds = _Bounds(
            np.empty(m), np.empty(m), np.empty(m), np.empty(m), support, weights, np.empty((m, self.points.shape[1]))
        )
        lengths, all_columns = np.linalg.norm(inside, axis=0), np.ones((_CHUNK, n_columns), dtype=bool)
        gap_limit = _ENOUGH_RATIO * threshold if threshold >= 0.0 else np.inf

        def solve(first: int, last: int) -> None:
            mask = all_columns[: last - first] if usable is None else usable(first, last)
            all_weights = np.zeros((last - first, n_columns + 1))  # the last column is where -1 points to
            np.put_along_axis(all_weights, support[first:last], weights[first:last], axis=1)
            least_weights(
                inside, lengths, coordinates[first:last], mask, all_weights, support[first:last], True, gap_limit
            )
            weights[first:last] = np.take_along_axis(all_weights, support[first:last], axis=1)
            _compute_bounds(
                hull_points, target_points[first:last], mask, support[first:last], weights[first:last], threshold,
                gap_limit, bounds.lower[first:last], bounds.upper[first:last], bounds.squared[first:last],
                bounds.reach[first:last], bounds.residual[first:last],
            )  # fmt: skip
            if sharpen:
                for i in first + np.flatnonzero(
                    (bounds.lower[first:last] <= threshold) & (threshold < bounds.upper[first:last])
                ):
                    bounds.lower[i], bounds.upper[i] = _sharpen(
                        hull_points, target_points[i], mask[i - first], threshold, support[i][support[i] >= 0],
                        bounds.residual[i], bounds.lower[i], bounds.upper[i],
                    )  # fmt: skip

        run_in_chunks(solve, m, _CHUNK, self.n_jobs)
        if columns is not None:
            support[:] = np.where(support >= 0, columns[support], -1)
        return bounds

    def distance(
        self, target: np.ndarray, usable: np.ndarray, support: np.ndarray, threshold: float | None = None
    ) -> tuple[float, float]:
        """Return bounds of the l1 distance to the hull of the usable rows, by linear programs over few of them.

        The dual, max over |g| <= 1 of min_k g . (x - x_k), gives a g that holds for the rows left out as well, where it
        bounds the distance from below. It ends where the bounds meet, or tell the side of ``threshold``.
        """
        rows = np.flatnonzero(usable)
        if not len(rows):
            return np.inf, np.inf
        gaps = (target - self.points[rows]) / self.scale
        limit = None if threshold is None else threshold / self.scale
        chosen = np.flatnonzero(np.isin(rows, support[support >= 0]))
        if not len(chosen):
            chosen = np.argsort(np.abs(gaps).sum(axis=1), kind="stable")[:_ROWS_ADDED]
        lower, upper = 0.0, np.inf
        while True:
            value, normal = _solve_program(gaps[chosen])
            ahead = gaps @ normal
            upper, lower = min(upper, value), max(lower, float(ahead.min()))
            if upper - lower <= 1e-10 or (limit is not None and (upper <= limit or lower > limit)):
                break
            ahead[chosen] = np.inf
            entering = np.argsort(ahead, kind="stable")[:_ROWS_ADDED]
            entering = entering[ahead[entering] < value]
            if not len(entering):
                break
            chosen = np.concatenate([chosen, entering])
        return lower * self.scale, upper * self.scale

    def beyond(
        self,
        rows: np.ndarray,
        usable: Callable[[int, int], np.ndarray] | None,
        threshold: float,
        targets: tuple[np.ndarray, np.ndarray] | None = None,
        start: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return True where l1 distances exceed the threshold, by linear programs where bounds do not decide."""
        bounds = self.bounds(rows, usable, threshold=threshold, targets=targets, start=start, sharpen=True)
        far = bounds.lower > threshold
        target_points = self.points[rows] if targets is None else targets[0]
        for i in np.flatnonzero(~far & (bounds.upper > threshold)):
            mask = np.ones(len(self.points), bool) if usable is None else usable(int(i), int(i) + 1)[0]
            far[i] = self.distance(target_points[i], mask, bounds.support[i], threshold)[1] > threshold
        return far

    def vertices(self, tol: float) -> np.ndarray:
        """Return rows farther than ``tol`` from the hull of all others, sorted; no two rows are within ``tol``."""
        n = len(self.points)
        chosen, certain = self.extreme, np.zeros(n, dtype=bool)
        for ahead in (self.ahead, -self.ahead) if n > 1 else ():
            leaders, runner_ups = -np.partition(-ahead, 1, axis=1)[:, :2].T
            certain[ahead.argmax(axis=1)[leaders - runner_ups > 2 * tol]] = True
        remaining = np.setdiff1d(np.arange(n), chosen)
        while len(remaining):
            bounds = self.bounds(remaining, columns=chosen, threshold=tol)
            outside = bounds.upper > tol
            remaining, normals = remaining[outside], bounds.residual[outside]
            if not len(remaining):
                break
            # The farthest row in the direction of a residual is a vertex, and certainly so if it leads by enough.
            winners = [chosen]
            for a in range(0, len(remaining), _DIRECTIONS):
                some_normals = normals[a : a + _DIRECTIONS]
                scores = self.points[remaining] @ some_normals.T
                best, reach = scores.argmax(axis=0), np.arange(len(some_normals))
                top = scores[best, reach]
                scores[best, reach] = -np.inf
                runner_up = np.maximum(scores.max(axis=0), (self.points[chosen] @ some_normals.T).max(axis=0))
                leads = top - runner_up > 2 * tol * np.abs(some_normals).max(axis=1)
                certain[remaining[best[leads]]] = True
                winners.append(remaining[best])
            chosen = np.unique(np.concatenate(winners))
            remaining = np.setdiff1d(remaining, chosen)
        unsure = chosen[~certain[chosen]]
        far = self.beyond(unsure, lambda a, b: np.arange(n) != unsure[a:b, None], tol)
        return np.sort(np.concatenate([chosen[certain[chosen]], unsure[far]]))


class _Balls:
    """Tests whether the l1 distance of a row to the hull of the rows outside a ball around it exceeds a threshold.

    Bounds of earlier tests are stored. A hull shrinks as its ball grows, so a lower bound holds for every larger ball, and an
    upper bound as long as the support of its projection lies outside.
    """

    def __init__(self, hulls: _Hulls) -> None:
        n = len(hulls.points)
        self.hulls = hulls
        self.lower, self.radius = np.zeros(n), np.zeros(n)
        self.upper, self.reach = np.full(n, np.inf), np.zeros(n)
        self.support = np.full((n, len(hulls.columns) + 1), -1)
        self.weights = np.zeros(self.support.shape)

    def ask(self, rows: np.ndarray, radii: np.ndarray, threshold: float) -> np.ndarray:
        """Return 1 where the distance exceeds the threshold, -1 where it does not, 0 where bounds do not decide."""
        self._forget(rows, radii)
        self._project(rows[self.support[rows, 0] < 0], radii[self.support[rows, 0] < 0], threshold, self.hulls.extreme)
        self._project(rows, radii, threshold, None)
        return self._side(rows, threshold)

    def _side(self, rows: np.ndarray, threshold: float) -> np.ndarray:
        return np.where(self.lower[rows] > threshold, 1, np.where(self.upper[rows] <= threshold, -1, 0))

    def _project(
        self,
        rows: np.ndarray,
        radii: np.ndarray,
        threshold: float,
        columns: np.ndarray | None,
        sharpen: bool = False,
    ) -> None:
        """Improve bounds that do not decide, by projections on the hulls of some columns or of all."""
        open_ = (self.lower[rows] <= threshold) & (self.upper[rows] > threshold)
        rows, radii = rows[open_], radii[open_]
        if not len(rows):
            return
        bounds = self.hulls.bounds(
            rows, self.outside(rows, radii, columns), columns=columns, threshold=threshold,
            start=(self.support[rows], self.weights[rows]) if columns is None else None, sharpen=sharpen,
        )  # fmt: skip
        self.support[rows], self.weights[rows] = bounds.support, bounds.weights
        # An upper bound that was sharpened has another support, and holds for this ball only.
        bounds.reach[bounds.upper < (1 - 1e-9) * np.abs(bounds.residual).sum(axis=1)] = 0.0
        better = bounds.upper < self.upper[rows]
        self.upper[rows[better]], self.reach[rows[better]] = bounds.upper[better], bounds.reach[better]
        if columns is None:
            self.lower[rows], self.radius[rows] = np.maximum(self.lower[rows], bounds.lower), radii

    def _forget(self, rows: np.ndarray, radii: np.ndarray) -> None:
        """Drop bounds that do not hold for these balls."""
        smaller = rows[radii < self.radius[rows]]
        self.lower[smaller] = 0.0
        covered = rows[radii >= self.reach[rows]]
        self.upper[covered] = np.inf

    def outside(
        self, rows: np.ndarray, radii: np.ndarray, columns: np.ndarray | None = None
    ) -> Callable[[int, int], np.ndarray]:
        """Return a function for `_Hulls.bounds` that masks the rows farther than the radius."""
        points = self.hulls.points
        hull_points = points if columns is None else points[columns]
        return lambda a, b: _l1_distances(points[rows[a:b]], hull_points) > radii[a:b, None]

    def decide(self, rows: np.ndarray, radii: np.ndarray, threshold: float) -> np.ndarray:
        """Return True where distances exceed the threshold, by linear programs where even sharp bounds do not decide."""
        self._project(rows, radii, threshold, None, sharpen=True)
        status = self._side(rows, threshold)
        far = status > 0
        for i in np.flatnonzero(status == 0):
            mask = self.outside(rows[i : i + 1], radii[i : i + 1])(0, 1)[0]
            row = rows[i]
            lower, upper = self.hulls.distance(self.hulls.points[row], mask, self.support[row], threshold)
            far[i] = upper > threshold
            self.lower[row] = max(self.lower[row], lower)
            self.radius[row] = radii[i]
        return far


class _DistanceRule:
    """Neighbourhoods of Thm 2.48."""

    def __init__(self, points: np.ndarray, n_jobs: int | None) -> None:
        self.hulls = _Hulls(points, n_jobs)
        self.balls = _Balls(self.hulls)

    @staticmethod
    def min_separation(eps: float) -> float:
        """Return the smallest alpha with 40 eps / alpha + 13 eps <= alpha."""
        return (13 * eps + np.sqrt(169 * eps**2 + 160 * eps)) / 2

    @staticmethod
    def radius(eps: float, alpha: float) -> float:
        return 10 * eps / alpha + 2 * eps

    def error(self, loners: Loners) -> float:
        """Return by how much the separation of the loners may exceed that of the vertices."""
        return 2 * (self.radius(loners.eps, loners.separation) + loners.eps)

    def groups(self, eps: float, alpha: float, max_groups: int | None) -> Loners | None:
        """Return loners in groups, or None if there are certainly more than ``max_groups``."""
        radius = self.radius(eps, alpha)
        rows, link_radius = np.arange(len(self.hulls.points)), 2 * (radius + eps)
        radii, status = np.full(len(rows), radius), np.zeros(len(rows), dtype=np.int64)
        for batch in self.hulls.in_turn:
            status[batch] = self.balls.ask(batch, radii[batch], 2 * eps)
            if max_groups is not None and _count_certain_groups(self.hulls.points, status, link_radius) > max_groups:
                return None
        loners = rows[self.balls.decide(rows, radii, 2 * eps)]
        labels = _label_linked(self.hulls.points[loners], link_radius)
        bounds = self.hulls.bounds(loners, self.balls.outside(loners, radii[loners]))
        return _group(loners, labels, np.sqrt(bounds.squared), eps, alpha)


class _WeightRule:
    """Neighbourhoods of section 3.5."""

    def __init__(self, points: np.ndarray, n_jobs: int | None) -> None:
        self.hulls = _Hulls(points, n_jobs)
        self.wide, self.narrow = _Balls(self.hulls), _Balls(self.hulls)
        self.farthest = np.empty(len(points))

        def measure(a: int, b: int) -> None:
            self.farthest[a:b] = _l1_distances(points[a:b], points).max(axis=1)

        run_in_chunks(measure, len(points), _CHUNK, n_jobs)

    @staticmethod
    def min_separation(eps: float) -> float:
        return 100 * eps

    @staticmethod
    def error(loners: Loners) -> float:
        return 2 * loners.eps

    def groups(self, eps: float, gamma: float, max_groups: int | None) -> Loners | None:
        """Return loners in groups, or None if there are certainly more than ``max_groups``."""
        delta = min(6 * eps / gamma, 1.0)
        points, rows = self.hulls.points, np.arange(len(self.hulls.points))
        # Rows within 2 eps are close, and rows beyond `reach` are not, whatever else there is.
        reach, sure = 2 * eps + delta * self.farthest, np.full(len(rows), 2 * eps)
        status = np.zeros(len(rows), dtype=np.int64)
        for batch in self.hulls.in_turn:
            status[batch] = np.minimum(self.wide.ask(batch, reach[batch], 2 * eps), 0)
            remaining = batch[status[batch] == 0]
            status[remaining] = np.maximum(self.narrow.ask(remaining, sure[remaining], 2 * eps), 0)
            if (
                max_groups is not None
                and _count_certain_groups(points, status, 2 * eps + delta * self.farthest.max()) > max_groups
            ):
                return None
        remaining = np.flatnonzero(status >= 0)
        far, unsure = status[remaining] > 0, np.flatnonzero(status[remaining] == 0)
        close = np.zeros((len(remaining), len(rows)), dtype=bool)
        outside = self._mark_close(remaining[unsure], reach, delta, eps)
        close[unsure] = outside
        np.logical_not(outside, out=outside)
        far[unsure] = self.hulls.beyond(remaining[unsure], lambda a, b: outside[a:b], 2 * eps)
        certain = np.flatnonzero(status[remaining] > 0)
        close[certain] = self._mark_close(remaining[certain], reach, delta, eps)
        loners, close = remaining[far], close[far]
        links = sparse.csr_array(close[:, loners])
        labels = connected_components(links, directed=False)[1]
        bounds = self.hulls.bounds(loners, lambda a, b: ~close[a:b])
        return _group(loners, labels, np.sqrt(bounds.squared), eps, gamma)

    def _mark_close(self, rows: np.ndarray, reach: np.ndarray, delta: float, eps: float) -> np.ndarray:
        """Mark where each of ``rows`` is (delta, 2 eps)-close to each row, shape (len(rows), n)."""
        points, inside = self.hulls.points, self.hulls.inside
        close = np.zeros((len(rows), len(points)), dtype=bool)
        for a in range(0, len(rows), _CHUNK):
            batch = rows[a : a + _CHUNK]
            distances = _l1_distances(points[batch], points)
            close[a : a + _CHUNK] = distances <= 2 * eps
            batch_places, row_places = np.nonzero((distances > 2 * eps) & (distances <= reach[batch][:, None]))
            # c with at least 1 - delta on j: is (x_i - (1 - delta) x_j) / delta within 2 eps / delta of the hull of all?
            targets = tuple((x[row_places] - (1 - delta) * x[batch[batch_places]]) / delta for x in (points, inside))
            far = self._mark_far((targets[0], targets[1]), 2 * eps / delta)
            close[a + batch_places[~far], row_places[~far]] = True
        return close

    def _mark_far(self, targets: tuple[np.ndarray, np.ndarray], threshold: float) -> np.ndarray:
        far = np.ones(len(targets[0]), dtype=bool)
        no_rows = np.empty(0, dtype=np.int64)
        bounds = self.hulls.bounds(no_rows, columns=self.hulls.extreme, threshold=threshold, targets=targets)
        open_ = np.flatnonzero(bounds.upper > threshold)
        far[bounds.upper <= threshold] = False
        far[open_] = self.hulls.beyond(
            no_rows,
            None,
            threshold,
            (targets[0][open_], targets[1][open_]),
            (bounds.support[open_], bounds.weights[open_]),
        )
        return far


def _group(loners: np.ndarray, labels: np.ndarray, distances: np.ndarray, eps: float, separation: float) -> Loners:
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)] if len(labels) else []
    best = np.array([members[np.argmax(distances[members])] for members in groups], dtype=np.int64)
    order = np.argsort(-distances[best], kind="stable")
    return Loners(
        loners[best[order]], [loners[groups[g]] for g in order], distances[best[order]], float(eps), float(separation)
    )


def _count_certain_groups(points: np.ndarray, status: np.ndarray, linked: float) -> int:
    """Count the groups that certainly exist, where status is 1 for loners and 0 for rows that may be loners."""
    possible = np.flatnonzero(status >= 0)
    labels = _label_linked(points[possible], linked)
    return len(np.unique(labels[status[possible] > 0]))


def _label_linked(points: np.ndarray, radius: float) -> np.ndarray:
    """Connected components of the rows, linked where they are within l1 distance ``radius``, as labels."""
    return np.unique(_link_components(points, *_sort_by_projection(points), radius), return_inverse=True)[1]


def _list_first_copies(points: np.ndarray, radius: float) -> np.ndarray:
    """Return rows of which no earlier one that counts is within l1 distance ``radius``."""
    return np.flatnonzero(_mark_leaders(points, *_sort_by_projection(points), radius))


def _sort_by_projection(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the order of a projection that no l1 distance is less than, and the projection in that order."""
    place = points @ np.random.default_rng(0).uniform(-1, 1, points.shape[1])
    order = np.argsort(place, kind="stable")
    return order, place[order]


def _solve_program(gaps: np.ndarray) -> tuple[float, np.ndarray]:
    """max over |g| <= 1 of min_k g . gap_k, and g."""
    m, d = gaps.shape
    cost = np.append(np.zeros(d), -1.0)
    constraints = np.column_stack([-gaps, np.ones(m)])
    bounds = [(-1.0, 1.0)] * d + [(None, None)]
    result = optimize.linprog(cost, A_ub=constraints, b_ub=np.zeros(m), bounds=bounds, method="highs")
    if result.status != 0:
        raise LatentiaError(f"A linear program of the vertex selection failed: {result.message}")
    return -float(result.fun), np.clip(result.x[:d], -1.0, 1.0)


@njit(nogil=True, cache=True)
def _dot(a, b):
    """Return the inner product by four sums side by side, which are faster than one and have a fixed order."""
    s0 = s1 = s2 = s3 = 0.0
    n_quads = len(a) - len(a) % 4
    for i in range(0, n_quads, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(n_quads, len(a)):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@njit(nogil=True, cache=True)
def _l1(a, b):
    s0 = s1 = s2 = s3 = 0.0
    n_quads = len(a) - len(a) % 4
    for i in range(0, n_quads, 4):
        s0 += abs(a[i] - b[i])
        s1 += abs(a[i + 1] - b[i + 1])
        s2 += abs(a[i + 2] - b[i + 2])
        s3 += abs(a[i + 3] - b[i + 3])
    for i in range(n_quads, len(a)):
        s0 += abs(a[i] - b[i])
    return (s0 + s1) + (s2 + s3)


@njit(nogil=True, cache=True)
def _l1_distances(rows, points):
    distances = np.empty((len(rows), len(points)))
    for i in range(len(rows)):
        for j in range(len(points)):
            distances[i, j] = _l1(rows[i], points[j])
    return distances


@njit(nogil=True, cache=True)
def _link_components(points, order, place, radius):
    parent = np.arange(len(points))
    for a in range(len(points)):
        i = order[a]
        for b in range(a + 1, len(points)):
            if place[b] - place[a] > radius:
                break
            j = order[b]
            top, second_top = i, j
            while parent[top] != top:
                parent[top] = parent[parent[top]]
                top = parent[top]
            while parent[second_top] != second_top:
                parent[second_top] = parent[parent[second_top]]
                second_top = parent[second_top]
            if top != second_top and _l1(points[i], points[j]) <= radius:
                parent[max(top, second_top)] = min(top, second_top)
    for i in range(len(points)):
        top = i
        while parent[top] != top:
            top = parent[top]
        parent[i] = top
    return parent


@njit(nogil=True, cache=True)
def _mark_leaders(points, order, place, radius):
    n = len(points)
    place_of, is_leader = np.empty(n, np.int64), np.zeros(n, np.bool_)
    for a in range(n):
        place_of[order[a]] = a
    for i in range(n):
        is_leader[i] = True
        for way in (-1, 1):
            b = place_of[i] + way
            while is_leader[i] and 0 <= b < n and abs(place[b] - place[place_of[i]]) <= radius:
                j = order[b]
                if is_leader[j] and j < i and _l1(points[i], points[j]) <= radius:
                    is_leader[i] = False
                b += way
    return is_leader


@njit(nogil=True, cache=True)
def _compute_bounds(
    hull_points, targets, usable, support, weights, threshold, gap_limit, lower, upper, squared, reach, residual
):
    d, n_columns = targets.shape[1], len(hull_points)
    normal = np.empty(d)
    for i in range(len(targets)):
        for a in range(d):
            residual[i, a] = 0.0
        if support[i, 0] < 0:
            lower[i], upper[i], squared[i], reach[i] = np.inf, np.inf, np.inf, np.inf
            continue
        near = np.inf
        for a in range(d):
            residual[i, a] = targets[i, a]
        for p in range(support.shape[1]):
            j = support[i, p]
            if j < 0:
                break
            for a in range(d):
                residual[i, a] -= weights[i, p] * hull_points[j, a]
            near = min(near, _l1(targets[i], hull_points[j]))
        total, largest, length = 0.0, 0.0, 0.0
        for a in range(d):
            total += abs(residual[i, a])
            largest = max(largest, abs(residual[i, a]))
            length += residual[i, a] ** 2
        upper[i], squared[i], reach[i], lower[i] = total, length, near, 0.0
        # The residual, with its entries cut at some height, is the normal of a plane that separates.
        height = largest
        for _ in range(5):
            if total <= threshold or lower[i] > gap_limit or not height > 0.0:
                break
            for a in range(d):
                normal[a] = min(max(residual[i, a] / height, -1.0), 1.0)
            reached = -np.inf
            for j in range(n_columns):
                if usable[i, j]:
                    reached = max(reached, _dot(normal, hull_points[j]))
            lower[i] = max(lower[i], _dot(normal, targets[i]) - reached)
            height = 0.5 * min(height, 4.0 * np.sqrt(length / d))


def _sharpen(
    hull_points: np.ndarray,
    target: np.ndarray,
    usable: np.ndarray,
    threshold: float,
    chosen: np.ndarray,
    residual: np.ndarray,
    lower: float,
    upper: float,
) -> tuple[float, float]:
    """Sharpen bounds of an l1 distance by projections in which entry a of the residual has weight 1 / max(|residual_a|, h).

    As the height h falls, they tend to the nearest point in l1, and the weighted residual, whose entries are at most one, to
    the normal of the best plane. The rows that are farthest beyond that plane enter.
    """
    is_free = usable.copy()
    is_free[chosen] = False
    start, height = np.zeros(len(chosen)), np.abs(residual).max()
    for _ in range(_ROUNDS):
        height *= 0.5
        root = np.sqrt(height / np.maximum(np.abs(residual), height))
        scaled = root[:, None] * (hull_points[chosen] - target).T
        lift = np.sqrt((scaled**2).sum() / len(chosen))
        if not lift > 0.0:
            break
        columns = np.vstack([scaled, np.full(len(chosen), lift)])
        origin = np.append(np.zeros(len(target)), lift)[None]
        start = improve_weights(columns, np.linalg.norm(columns, axis=0), origin, start[None], affine=True)[0]
        residual = target - start @ hull_points[chosen]
        normal = np.clip(residual * root**2 / height, -1.0, 1.0)
        ahead = hull_points @ normal
        upper = min(upper, float(np.abs(residual).sum()))
        lower = max(lower, float(normal @ target - ahead[usable].max()))
        if upper <= threshold or lower > threshold:
            break
        remaining = np.flatnonzero(is_free)
        entering = remaining[np.argsort(-ahead[remaining], kind="stable")[:_ROWS_ENTERING]]
        is_free[entering] = False
        chosen, start = np.append(chosen, entering), np.append(start, np.zeros(len(entering)))
    return lower, upper
