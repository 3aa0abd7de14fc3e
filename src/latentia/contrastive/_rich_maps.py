"""The linear maps of many components, and their cumulants: Algorithms 2 and 3 of the paper, from exact cumulants or estimates.

Components are taken in an order in which supersets come first. What the views W and a last view i of component j have beyond
the components before it,

    M_i = unfold(kappa(U_W, U_i) - sum_l kappa(A^(W,l) S_l, A^(i,l) S_l)) = (A^(w_1,j) (x) ...) unfold(kappa(S_j)) A^(i,j)T,

has the rows of A^(i,j) in common for all W and orders, if W isolates j. With the M_i side by side, and those of all W below
each other, the rows lie in the span of (A^(i,j))_i. Their noise is known from parts of the data, so that this span is found by
generalised total least squares: leading eigenvectors of M^T M in the metric of the noise. Where the signal is within its noise
in some direction these could be anything. Then M_i is regressed on M_min for A^(i,j), as in the paper, and M_min on M_i for its
inverse: noise makes both too small, so that components after this one have too little taken away, and not too much.

The part of a cumulant that is of S_l is not made of kappa(S_l) and maps of all modes, as in the paper, but of a cumulant that
differs from it in as few views as possible: kappa(A^(0,l) S_l, A^(0,l) S_l, A^(1,l) S_l), where S_l is in views 0, 1 and 2, is
kappa(U_0, A^(0,l) (A^(2,l))^-1 U_2, U_1), and the same with the first two modes exchanged. With exact cumulants it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ._sets import SetSystem, Views, indices

Cumulants = Callable[[Views], np.ndarray]
"""The cross-cumulant of some views, a mode of d entries for each."""

_SHRINK = 0.2  # of the noise's metric, to the covariance of the views
_RIDGE = 1e-9
FIRM = 6.0  # standard deviations of noise in the weakest direction, from which on total least squares is better
_SEEN = 3.0  # such standard deviations, below which a direction is not known at all
_EXACT = 1e-9  # of the whole, below which an exact cumulant is zero
_SINGULAR = 1e-12


@dataclass
class Parts:
    """What is known of the components, from one set of cumulants.

    Attributes
    ----------
    system : SetSystem
        As far as components are known to be zero.
    given : SetSystem
        As the user gave it. It holds for covariances, in which Gaussian components are that other orders do not see.
    cumulants : callable
    maps, inverses : dict of (int, int) to ndarray of shape (d, d)
        A^(i, j) and its inverse for view i and component j.
    loose : dict of (int, int) to ndarray of shape (d, d)
        A^(i, j) by total least squares, whatever is taken: how far the other answer may be off.
    """

    system: SetSystem
    given: SetSystem
    cumulants: Cumulants
    maps: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    inverses: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    loose: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    _found: dict[tuple[int, Views], np.ndarray] = field(default_factory=dict)

    def system_of(self, order: int) -> SetSystem:
        """The sets that tell components apart in cumulants of this order."""
        return self.given if order == 2 else self.system

    def rest(self, j: int, index: Views) -> np.ndarray:
        """The cross-cumulant of some views without the parts of all components but j, which are known."""
        found = self.cumulants(index)
        for other in self.system.containing(index, j):
            found = found - self.part(other, index)
        return found

    def part(self, j: int, index: Views) -> np.ndarray:
        """kappa(A^(i_1, j) S_j, ..., A^(i_t, j) S_j), the part of component j in the cumulant of views i_1, ..., i_t."""
        if (j, index) not in self._found:
            places = self.system_of(len(index)).sources(j, index)
            total: np.ndarray | float = 0.0
            for place in places:
                one = self.rest(j, place)
                for mode, (view, source) in enumerate(zip(index, place, strict=True)):
                    if view != source:
                        one = _multiplied(one, self.maps[view, j] @ self.inverses[source, j], mode)
                total = total + one
            self._found[j, index] = np.asarray(total) / len(places)
        return self._found[j, index]

    def cumulant(self, j: int, order: int) -> np.ndarray:
        """kappa(S_j), in the coordinates of the first view of component j."""
        return self.part(j, (self.system.subsets[j][0],) * order)

    def unfolded(self, j: int, instruments: Views, whiteners: Sequence[np.ndarray]) -> np.ndarray:
        """The M_i of all views of component j side by side, shape (d^(t - 1), m d), with white instruments."""
        return np.hstack(
            [_unfolded(self.rest(j, (*instruments, view)), instruments, whiteners) for view in self.system.subsets[j]]
        )

    def learn(self, j: int, gram: np.ndarray, metric: np.ndarray, firm: bool) -> None:
        """Take the maps of component j from M^T M, shape (m d, m d): by total least squares, or by two regressions."""
        views = self.system.subsets[j]
        d = len(gram) // len(views)
        rows, first = _leading(gram, metric, d), slice(0, d)
        for place, view in enumerate(views):
            own = slice(place * d, (place + 1) * d)
            found = np.eye(d) if place == 0 else _quotient(rows[own], rows[first])
            self.loose[view, j] = found
            self.maps[view, j] = found if firm or place == 0 else _quotient(gram[own, first], gram[first, first])
            back = (rows[first], rows[own]) if firm else (gram[first, own], gram[own, own])
            self.inverses[view, j] = np.eye(d) if place == 0 else _quotient(*back)


@dataclass
class Plan:
    """How components are found, as all rows decide it, for the fits of parts as well.

    Attributes
    ----------
    system, given : SetSystem
        With the components that are zero, and as it was given.
    whiteners : list of ndarray of shape (d, d)
        Of the instruments of every view.
    scores : dict of int to float
        For every component, the norm of its cumulants in standard deviations of their noise.
    weakest : dict of int to float
        For every component that is not zero, the same in its weakest direction.
    unknown : dict of int to float
        The share of its directions in which it is within its noise.
    blocks : dict of int to list of (tuple of int, float)
        Instruments, and the variance of an entry of M for them.
    noise : dict of int to ndarray of shape (m d, m d)
        Gram matrix of the noise of M.
    metrics : dict of int to ndarray of shape (m d, m d)
    """

    system: SetSystem
    given: SetSystem
    whiteners: list[np.ndarray]
    scores: dict[int, float] = field(default_factory=dict)
    weakest: dict[int, float] = field(default_factory=dict)
    unknown: dict[int, float] = field(default_factory=dict)
    blocks: dict[int, list[tuple[Views, float]]] = field(default_factory=dict)
    noise: dict[int, np.ndarray] = field(default_factory=dict)
    metrics: dict[int, np.ndarray] = field(default_factory=dict)

    def is_firm(self, j: int) -> bool:
        """Whether the signal of component j is clearly above its noise in all directions."""
        return self.weakest[j] >= FIRM

    @property
    def present(self) -> list[int]:
        """Components that are not zero, in their order."""
        return [j for j in range(len(self.given.subsets)) if j not in self.system.absent]

    @property
    def mapped(self) -> list[int]:
        """Those of them that are in several views."""
        return [j for j in self.present if len(self.given.subsets[j]) > 1]


@dataclass(frozen=True)
class Left:
    """Squared norms, over the noise of an entry, of what should be noise, of noise, and of the whole; and the entries."""

    left: float = 0.0
    noise: float = 0.0
    whole: float = 0.0
    entries: float = 0.0

    def __add__(self, other: Left) -> Left:
        return Left(
            self.left + other.left, self.noise + other.noise, self.whole + other.whole, self.entries + other.entries
        )


def find_parts(
    given: SetSystem,
    whole: Cumulants,
    without: Sequence[Cumulants],
    n_views: int,
    orders: Callable[[SetSystem, int], Sequence[int]],
    least: float,
) -> tuple[Plan, Parts]:
    """Decide which components are zero, and find the maps of the others.

    Once the components that are zero are known, the maps of the others are found again: without them more cumulants tell these
    apart.

    Parameters
    ----------
    given : SetSystem
    whole : callable
        Cumulants of all rows.
    without : sequence of callable
        Those of all rows but each of some groups; none where the cumulants are exact.
    n_views : int
    orders : callable
        ``orders(system, j)``: orders of the cumulants that tell of component j.
    least : float
        Score from which on a component is not zero.
    """
    whiteners = [_whitener(whole((view, view))) for view in range(n_views)]
    plan = Plan(given, given, whiteners)
    states = [Parts(given, given, one) for one in (whole, *without)]
    for j in given.in_order:
        measured = _measure(plan, states, j, orders(states[0].system, j))
        plan.scores[j] = measured.score
        if measured.score >= least:
            _learn(plan, states, j, measured)
        else:
            for state in states:
                state.system = state.system.without([j])
    absent = states[0].system.absent
    if absent:
        plan = Plan(given.without(absent), given, whiteners, plan.scores)
        states = [Parts(plan.system, given, one) for one in (whole, *without)]
        for j in given.in_order:
            if j not in absent:
                _learn(plan, states, j, _measure(plan, states, j, orders(plan.system, j)))
    return plan, states[0]


def solve(plan: Plan, cumulants: Cumulants) -> Parts:
    """The maps from other cumulants, those of a part of the rows."""
    found = Parts(plan.system, plan.given, cumulants)
    for j in plan.given.in_order:
        if j in plan.blocks:
            gram = sum(
                (unfolded.T @ unfolded) / variance
                for instruments, variance in plan.blocks[j]
                for unfolded in [found.unfolded(j, instruments, plan.whiteners)]
            )
            found.learn(j, np.asarray(gram), plan.metrics[j], plan.is_firm(j))
    return found


# --- one component ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured:
    """The cumulants that tell of a component: for each of their instruments M, and the same of groups of rows.

    Attributes
    ----------
    blocks : list of (tuple of int, float)
    unfolded : list of ndarray of shape (n_states, d^(t - 1), m d)
        Over the noise of an entry.
    groups : ndarray of shape (G, n_rows, m d)
        What each group of rows says of M, all instruments below each other, over the noise of an entry.
    noise, metric : ndarray of shape (m d, m d)
    score : float
    """

    blocks: list[tuple[Views, float]]
    unfolded: list[np.ndarray]
    groups: np.ndarray
    noise: np.ndarray
    metric: np.ndarray
    score: float


def _measure(plan: Plan, states: Sequence[Parts], j: int, orders: Sequence[int]) -> _Measured:
    """Jackknife pseudo-values of M: with M and M_(-g), of all rows and of those but group g, G M - (G - 1) M_(-g).

    They are as if each group of rows were looked at by itself, with the effect of its rows on the maps that M is made with,
    and independent to first order. So the products of two of them have the signal only, and their scatter is that of the noise.
    """
    views = plan.given.subsets[j]
    covariance = _regular(np.block([[states[0].cumulants((a, b)) for b in views] for a in views]))
    root = _whitener(covariance)
    inverse = root @ root.T
    n_groups, width = len(states) - 1, len(covariance)
    blocks, unfolded, groups, noise = [], [], [], np.zeros_like(covariance)
    for order in orders:
        for instruments in states[0].system_of(order).instruments(j, order):
            found = np.array([state.unfolded(j, instruments, plan.whiteners) for state in states])
            variance = 1.0
            if n_groups:
                values = n_groups * found[0] - (n_groups - 1) * found[1:]
                scatter = (values - values.mean(axis=0)).reshape(-1, width)
                own = scatter.T @ scatter / (n_groups * (n_groups - 1))
                variance = max(float(np.vdot(inverse, own)) / found[0].size, np.finfo(float).tiny)
                noise += own / variance
                groups.append(values / np.sqrt(variance))
            blocks.append((instruments, variance))
            unfolded.append(found / np.sqrt(variance))
    rows = sum(one.shape[1] for one in unfolded)
    values = np.concatenate(groups, axis=1) if groups else np.empty((0, rows, width))
    metric = _regular((1 - _SHRINK) * noise + _SHRINK * rows * covariance) if n_groups else covariance
    score = _score(values @ root) if n_groups else np.inf * _is_there(unfolded)
    return _Measured(blocks, unfolded, values, noise, metric, score)


def _is_there(unfolded: Sequence[np.ndarray]) -> float:
    """One, or minus one where exact cumulants are zero."""
    return 1.0 if max((np.abs(one[0]).max() for one in unfolded), default=0.0) > _EXACT else -1.0


def _learn(plan: Plan, states: Sequence[Parts], j: int, measured: _Measured) -> None:
    d = len(plan.whiteners[0])
    plan.blocks[j], plan.noise[j], plan.metrics[j] = measured.blocks, measured.noise, measured.metric
    if not measured.blocks:
        return
    grams = [np.asarray(sum(one[i].T @ one[i] for one in measured.unfolded)) for i in range(len(states))]
    directions = linalg.eigh(grams[0], measured.metric)[1][:, -d:]
    found = [_score(measured.groups @ one) if len(measured.groups) else np.inf for one in directions.T]
    plan.weakest[j], plan.unknown[j] = found[0], float(np.mean(np.array(found) < _SEEN))
    for state, gram in zip(states, grams, strict=True):
        state.learn(j, gram, measured.metric, plan.is_firm(j))


def _leading(gram: np.ndarray, metric: np.ndarray, d: int) -> np.ndarray:
    """A basis of the span of the rows of M less their noise, shape (m d, d)."""
    _, vectors = linalg.eigh(gram, metric)
    return np.asarray(metric @ vectors[:, -d:])


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """X with X below = above, nearly so where ``below`` is singular."""
    return np.asarray(np.linalg.lstsq(below.T, above.T, rcond=_SINGULAR)[0].T)


def _score(values: np.ndarray) -> float:
    """Mean product of the values of two groups of rows, shape (G, ...), in its standard deviations: zero for noise alone."""
    flat = values.reshape(len(values), -1)
    pairs = (flat @ flat.T)[np.triu_indices(len(flat), 1)]
    return float(pairs.mean() / max(pairs.std(ddof=1) / np.sqrt(len(pairs)), np.finfo(float).tiny))


# --- what is left -------------------------------------------------------------------------------------------------


def left_over(plan: Plan, parts: Parts, whole: Cumulants, without: Sequence[Cumulants], orders: Sequence[int]) -> Left:
    """What the components leave of the cumulants, against noise.

    Two things should be noise: cross-cumulants of views that no component has in common; and the rows of M outside of the d
    directions that the maps of a component span.
    """
    total, n_groups = Left(), len(without)
    for order in orders:
        for index in indices(len(plan.whiteners), order):
            if plan.system.containing(index, -1):
                continue
            found = np.array([_unfolded(one(index), index, plan.whiteners) for one in (whole, *without)])
            scatter = n_groups * found[0] - (n_groups - 1) * found[1:]
            variance = float(scatter.var(axis=0, ddof=1).mean()) / n_groups
            size = float((found[0] ** 2).sum()) / max(variance, np.finfo(float).tiny)
            total += Left(size, found[0].size, size, found[0].size)
    for j in plan.mapped:
        gram = np.zeros_like(plan.metrics[j])
        rows = 0
        for instruments, variance in plan.blocks[j]:
            unfolded = parts.unfolded(j, instruments, plan.whiteners)
            gram, rows = gram + unfolded.T @ unfolded / variance, rows + len(unfolded)
        _, vectors = linalg.eigh(gram, plan.metrics[j])
        rest, every = vectors[:, : -len(plan.whiteners[0])], vectors
        total += Left(
            float(np.vdot(rest, gram @ rest)) * rows, float(np.vdot(rest, plan.noise[j] @ rest)) * rows,
            float(np.vdot(every, gram @ every)) * rows, rows * rest.shape[1],
        )  # fmt: skip
    return total


# --- tensors ------------------------------------------------------------------------------------------------------


def _multiplied(tensor: np.ndarray, matrix: np.ndarray, mode: int) -> np.ndarray:
    """The tensor with a matrix applied to one of its modes."""
    return np.moveaxis(np.tensordot(matrix, tensor, axes=(1, mode)), 0, mode)


def _unfolded(tensor: np.ndarray, instruments: Views, whiteners: Sequence[np.ndarray]) -> np.ndarray:
    """With white instruments in the first modes, and the rest in columns."""
    for mode, view in enumerate(instruments):
        tensor = _multiplied(tensor, whiteners[view].T, mode)
    return tensor.reshape(int(np.prod(tensor.shape[: len(instruments)])), -1)


def _regular(matrix: np.ndarray) -> np.ndarray:
    """Symmetric, with a little added, so that views that depend on each other exactly are not too much."""
    return (matrix + matrix.T) / 2 + _RIDGE * np.trace(matrix) / len(matrix) * np.eye(len(matrix))


def _whitener(covariance: np.ndarray) -> np.ndarray:
    """W with W^T S W = I."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(values))
