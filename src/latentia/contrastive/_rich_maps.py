"""The linear maps of many components, and their cumulants: Algorithms 2 and 3 of the paper, from exact cumulants or estimates.

Components are taken in an order in which supersets come first. The cumulant of views W and a last view i, without the
components before j,

    M_i = unfold(kappa(U_W, U_i) - sum_l kappa(A^(W,l) S_l, A^(i,l) S_l)) = (A^(w_1,j) (x) ...) unfold(kappa(S_j)) A^(i,j)T,

has the rows of A^(i,j) in common for all W and orders, if W isolates j. With the M_i side by side, and those of all W below
each other, the rows lie in the span of (A^(i,j))_i. Groups of rows of the data give their noise, so that generalised total
least squares finds this span: leading eigenvectors of M^T M in the metric of the noise. Where the signal is within its noise in
some direction, these are arbitrary. Then M_i is regressed on M_min for A^(i,j), as in the paper, and M_min on M_i for its
inverse: noise makes both too small, so that too little is subtracted for the components after this one, and not too much.

The paper computes the part of S_l in a cumulant from kappa(S_l) and maps of all modes. Here it comes from a cumulant that
differs from it in as few views as possible: kappa(A^(0,l) S_l, A^(0,l) S_l, A^(1,l) S_l), where S_l is in views 0, 1 and 2, is
kappa(U_0, A^(0,l) (A^(2,l))^-1 U_2, U_1), and the same with the first two modes exchanged. With exact cumulants it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ..linalg.ratios import ratio_of
from ._sets import SetSystem, Views, indices

Cumulants = Callable[[Views], np.ndarray]
"""A function that returns the cross-cumulant of some views, with a mode of d entries for each."""

_SHRINKAGE = 0.2  # weight of the views' covariance in the metric of the noise
_RIDGE = 1e-9  # keeps covariances of dependent views invertible
FIRM_DEVIATIONS = 6.0  # total least squares is better if the weakest direction has so many standard deviations
_MIN_DEVIATIONS = 3.0  # a direction with fewer standard deviations is unknown
_EXACT_ZERO = 1e-9  # exact cumulants below this count as zero
_SINGULAR = 1e-12  # relative singular values below this count as zero


@dataclass
class Parts:
    """Maps and cumulants of the components, from one set of cumulants.

    Attributes
    ----------
    system : SetSystem
        With the components that are known to be zero.
    declared_system : SetSystem
        As the user gave it. It holds for covariances, which have Gaussian components that other orders do not see.
    cumulants : callable
    maps, inverses : dict of (int, int) to ndarray of shape (d, d)
        A^(i, j) and its inverse for view i and component j.
    loose : dict of (int, int) to ndarray of shape (d, d)
        A^(i, j) by total least squares, also where regressions are used: their difference says how far the answer may be off.
    """

    system: SetSystem
    declared_system: SetSystem
    cumulants: Cumulants
    maps: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    inverses: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    loose: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    _part_cumulants: dict[tuple[int, Views], np.ndarray] = field(default_factory=dict)

    def system_for_order(self, order: int) -> SetSystem:
        """Return the sets that identify components in cumulants of this order."""
        return self.declared_system if order == 2 else self.system

    def rest(self, j: int, index: Views) -> np.ndarray:
        """Return the cross-cumulant of some views without the parts of all components but j."""
        cumulant = self.cumulants(index)
        for component in self.system.containing(index, j):
            cumulant = cumulant - self.part(component, index)
        return cumulant

    def part(self, j: int, index: Views) -> np.ndarray:
        """Return kappa(A^(i_1, j) S_j, ..., A^(i_t, j) S_j), the part of component j in the cumulant of views i_1, ..., i_t."""
        if (j, index) not in self._part_cumulants:
            places = self.system_for_order(len(index)).sources(j, index)
            total: np.ndarray | float = 0.0
            for place in places:
                tensor = self.rest(j, place)
                for mode, (view, source) in enumerate(zip(index, place, strict=True)):
                    if view != source:
                        tensor = _multiply_mode(tensor, self.maps[view, j] @ self.inverses[source, j], mode)
                total = total + tensor
            self._part_cumulants[j, index] = np.asarray(total) / len(places)
        return self._part_cumulants[j, index]

    def cumulant(self, j: int, order: int) -> np.ndarray:
        """Return kappa(S_j), in the coordinates of the first view of component j."""
        return self.part(j, (self.system.subsets[j][0],) * order)

    def unfold_rest(self, j: int, instruments: Views, whiteners: Sequence[np.ndarray]) -> np.ndarray:
        """Return the M_i of all views of component j side by side, shape (d^(t - 1), m d), with white instruments."""
        return np.hstack(
            [_unfold(self.rest(j, (*instruments, view)), instruments, whiteners) for view in self.system.subsets[j]]
        )

    def learn(self, j: int, gram: np.ndarray, metric: np.ndarray, is_firm: bool) -> None:
        """Learn the maps of component j from M^T M, shape (m d, m d): by total least squares, or by two regressions."""
        views = self.system.subsets[j]
        d = len(gram) // len(views)
        rows, first = _leading(gram, metric, d), slice(0, d)
        for place, view in enumerate(views):
            columns = slice(place * d, (place + 1) * d)
            forward = np.eye(d) if place == 0 else _quotient(rows[columns], rows[first])
            self.loose[view, j] = forward
            self.maps[view, j] = (
                forward if is_firm or place == 0 else _quotient(gram[columns, first], gram[first, first])
            )
            quotient = (rows[first], rows[columns]) if is_firm else (gram[first, columns], gram[columns, columns])
            self.inverses[view, j] = np.eye(d) if place == 0 else _quotient(*quotient)


@dataclass
class Plan:
    """The way to find components: decided on all rows, and shared by the fits of parts.

    Attributes
    ----------
    system, declared_system : SetSystem
        With the components that are zero, and as the user gave it.
    whiteners : list of ndarray of shape (d, d)
        Whitening matrices of the instruments of every view.
    scores : dict of int to float
        For every component, the norm of its cumulants in standard deviations of their noise.
    weakest : dict of int to float
        For every component that is not zero, the same in its weakest direction.
    unknown : dict of int to float
        The share of a component's directions in which its signal is within the noise.
    blocks : dict of int to list of (tuple of int, float)
        Instruments, and the variance of an entry of M with them.
    noise : dict of int to ndarray of shape (m d, m d)
        Gram matrix of the noise of M.
    metrics : dict of int to ndarray of shape (m d, m d)
    """

    system: SetSystem
    declared_system: SetSystem
    whiteners: list[np.ndarray]
    scores: dict[int, float] = field(default_factory=dict)
    weakest: dict[int, float] = field(default_factory=dict)
    unknown: dict[int, float] = field(default_factory=dict)
    blocks: dict[int, list[tuple[Views, float]]] = field(default_factory=dict)
    noise: dict[int, np.ndarray] = field(default_factory=dict)
    metrics: dict[int, np.ndarray] = field(default_factory=dict)

    def is_firm(self, j: int) -> bool:
        """Return True if the signal of component j is clearly above its noise in all directions."""
        return self.weakest[j] >= FIRM_DEVIATIONS

    @property
    def present(self) -> list[int]:
        """Components that are not zero, in their order."""
        return [j for j in range(len(self.declared_system.subsets)) if j not in self.system.absent]

    @property
    def components_with_maps(self) -> list[int]:
        """Components that are not zero and in several views, which have maps."""
        return [j for j in self.present if len(self.declared_system.subsets[j]) > 1]


@dataclass(frozen=True)
class ResidualSums:
    """Squared norms, over the noise of an entry, of residuals, of noise, and of all; and the number of entries."""

    residual: float = 0.0
    noise: float = 0.0
    total: float = 0.0
    entries: float = 0.0

    def __add__(self, addend: ResidualSums) -> ResidualSums:
        return ResidualSums(
            self.residual + addend.residual,
            self.noise + addend.noise,
            self.total + addend.total,
            self.entries + addend.entries,
        )


def find_parts(
    declared_system: SetSystem,
    full_cumulants: Cumulants,
    jackknife_cumulants: Sequence[Cumulants],
    n_views: int,
    orders: Callable[[SetSystem, int], Sequence[int]],
    min_score: float,
) -> tuple[Plan, Parts]:
    """Decide which components are zero, and find the maps of the others.

    Once the zero components are known, the maps of the others are computed again: more cumulants identify these then.

    Parameters
    ----------
    declared_system : SetSystem
    full_cumulants : callable
        Cumulants of all rows.
    jackknife_cumulants : sequence of callable
        Cumulants of all rows without each group in turn; empty where the cumulants are exact.
    n_views : int
    orders : callable
        ``orders(system, j)``: orders of the cumulants that identify component j.
    min_score : float
        Components with lower scores are zero.
    """
    whiteners = [_whitener(full_cumulants((view, view))) for view in range(n_views)]
    plan = Plan(declared_system, declared_system, whiteners)
    states = [
        Parts(declared_system, declared_system, cumulants) for cumulants in (full_cumulants, *jackknife_cumulants)
    ]
    for j in declared_system.supersets_first:
        measured = _measure(plan, states, j, orders(states[0].system, j))
        plan.scores[j] = measured.score
        if measured.score >= min_score:
            _learn(plan, states, j, measured)
        else:
            for state in states:
                state.system = state.system.mark_absent([j])
    absent = states[0].system.absent
    if absent:
        plan = Plan(declared_system.mark_absent(absent), declared_system, whiteners, plan.scores)
        states = [
            Parts(plan.system, declared_system, cumulants) for cumulants in (full_cumulants, *jackknife_cumulants)
        ]
        for j in declared_system.supersets_first:
            if j not in absent:
                _learn(plan, states, j, _measure(plan, states, j, orders(plan.system, j)))
    return plan, states[0]


def solve(plan: Plan, cumulants: Cumulants) -> Parts:
    """Learn the maps from the cumulants of a part of the rows, by the plan of all rows."""
    parts = Parts(plan.system, plan.declared_system, cumulants)
    for j in plan.declared_system.supersets_first:
        if j in plan.blocks:
            gram = sum(
                (unfolded.T @ unfolded) / variance
                for instruments, variance in plan.blocks[j]
                for unfolded in [parts.unfold_rest(j, instruments, plan.whiteners)]
            )
            parts.learn(j, np.asarray(gram), plan.metrics[j], plan.is_firm(j))
    return parts


# --- one component ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measurement:
    """The cumulants that identify a component: M for each of their instruments, of all rows and of groups of rows.

    Attributes
    ----------
    blocks : list of (tuple of int, float)
    unfolded : list of ndarray of shape (n_states, d^(t - 1), m d)
        In units of the noise of an entry.
    groups : ndarray of shape (G, n_rows, m d)
        Pseudo-values of M from each group of rows, all instruments below each other, in units of the noise of an entry.
    noise, metric : ndarray of shape (m d, m d)
    score : float
    """

    blocks: list[tuple[Views, float]]
    unfolded: list[np.ndarray]
    groups: np.ndarray
    noise: np.ndarray
    metric: np.ndarray
    score: float


def _measure(plan: Plan, states: Sequence[Parts], j: int, orders: Sequence[int]) -> _Measurement:
    """Compute jackknife pseudo-values G M - (G - 1) M_(-g), with M of all rows and M_(-g) of all rows without group g.

    They are like estimates from each group by itself, include the effect of its rows on the maps in M, and are independent to
    first order. So products of two of them have the signal only, and their scatter is that of the noise.
    """
    views = plan.declared_system.subsets[j]
    covariance = _regular(np.block([[states[0].cumulants((a, b)) for b in views] for a in views]))
    root = _whitener(covariance)
    inverse = root @ root.T
    n_groups, width = len(states) - 1, len(covariance)
    blocks, unfolded, groups, noise = [], [], [], np.zeros_like(covariance)
    for order in orders:
        for instruments in states[0].system_for_order(order).instruments(j, order):
            unfoldings = np.array([state.unfold_rest(j, instruments, plan.whiteners) for state in states])
            variance = 1.0
            if n_groups:
                values = n_groups * unfoldings[0] - (n_groups - 1) * unfoldings[1:]
                scatter = (values - values.mean(axis=0)).reshape(-1, width)
                block_noise = scatter.T @ scatter / (n_groups * (n_groups - 1))
                variance = max(float(np.vdot(inverse, block_noise)) / unfoldings[0].size, np.finfo(float).tiny)
                noise += block_noise / variance
                groups.append(values / np.sqrt(variance))
            blocks.append((instruments, variance))
            unfolded.append(unfoldings / np.sqrt(variance))
    rows = sum(block.shape[1] for block in unfolded)
    values = np.concatenate(groups, axis=1) if groups else np.empty((0, rows, width))
    metric = _regular((1 - _SHRINKAGE) * noise + _SHRINKAGE * rows * covariance) if n_groups else covariance
    score = _score(values @ root) if n_groups else np.inf * _presence_sign(unfolded)
    return _Measurement(blocks, unfolded, values, noise, metric, score)


def _presence_sign(unfolded: Sequence[np.ndarray]) -> float:
    """Return one, or minus one where exact cumulants are zero."""
    return 1.0 if max((np.abs(block[0]).max() for block in unfolded), default=0.0) > _EXACT_ZERO else -1.0


def _learn(plan: Plan, states: Sequence[Parts], j: int, measured: _Measurement) -> None:
    d = len(plan.whiteners[0])
    plan.blocks[j], plan.noise[j], plan.metrics[j] = measured.blocks, measured.noise, measured.metric
    if not measured.blocks:
        return
    grams = [np.asarray(sum(block[i].T @ block[i] for block in measured.unfolded)) for i in range(len(states))]
    directions = linalg.eigh(grams[0], measured.metric)[1][:, -d:]
    scores = [_score(measured.groups @ block) if len(measured.groups) else np.inf for block in directions.T]
    plan.weakest[j], plan.unknown[j] = scores[0], float(np.mean(np.array(scores) < _MIN_DEVIATIONS))
    for state, gram in zip(states, grams, strict=True):
        state.learn(j, gram, measured.metric, plan.is_firm(j))


def _leading(gram: np.ndarray, metric: np.ndarray, d: int) -> np.ndarray:
    """Return a basis of the span of the rows of M without noise, shape (m d, d)."""
    _, vectors = linalg.eigh(gram, metric)
    return np.asarray(metric @ vectors[:, -d:])


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return X with X below = above, by least squares where ``below`` is singular."""
    return np.asarray(np.linalg.lstsq(below.T, above.T, rcond=_SINGULAR)[0].T)


def _score(values: np.ndarray) -> float:
    """Return the mean product of the values of two groups of rows, shape (G, ...), in standard deviations: zero for noise."""
    flat = values.reshape(len(values), -1)
    pairs = (flat @ flat.T)[np.triu_indices(len(flat), 1)]
    return float(ratio_of(pairs.mean(), pairs.std(ddof=1) / np.sqrt(len(pairs))))


# --- residuals ----------------------------------------------------------------------------------------------------


def measure_residual_cumulants(
    plan: Plan, parts: Parts, full_cumulants: Cumulants, jackknife_cumulants: Sequence[Cumulants], orders: Sequence[int]
) -> ResidualSums:
    """Measure cumulants that the components do not explain, against noise.

    Two things should be noise: cross-cumulants of views that no component has in common; and the rows of M outside of the d
    directions that the maps of a component span.
    """
    total, n_groups = ResidualSums(), len(jackknife_cumulants)
    for order in orders:
        for views in indices(len(plan.whiteners), order):
            if plan.system.containing(views, -1):
                continue
            unfoldings = np.array(
                [
                    _unfold(cumulants(views), views, plan.whiteners)
                    for cumulants in (full_cumulants, *jackknife_cumulants)
                ]
            )
            scatter = n_groups * unfoldings[0] - (n_groups - 1) * unfoldings[1:]
            variance = float(scatter.var(axis=0, ddof=1).mean()) / n_groups
            size = float(ratio_of((unfoldings[0] ** 2).sum(), variance))
            total += ResidualSums(size, unfoldings[0].size, size, unfoldings[0].size)
    for j in plan.components_with_maps:
        gram = np.zeros_like(plan.metrics[j])
        rows = 0
        for instruments, variance in plan.blocks[j]:
            unfolded = parts.unfold_rest(j, instruments, plan.whiteners)
            gram, rows = gram + unfolded.T @ unfolded / variance, rows + len(unfolded)
        _, vectors = linalg.eigh(gram, plan.metrics[j])
        rest, directions = vectors[:, : -len(plan.whiteners[0])], vectors
        total += ResidualSums(
            float(np.vdot(rest, gram @ rest)) * rows, float(np.vdot(rest, plan.noise[j] @ rest)) * rows,
            float(np.vdot(directions, gram @ directions)) * rows, rows * rest.shape[1],
        )  # fmt: skip
    return total


# --- tensors ------------------------------------------------------------------------------------------------------


def _multiply_mode(tensor: np.ndarray, matrix: np.ndarray, mode: int) -> np.ndarray:
    """Multiply one mode of a tensor by a matrix."""
    return np.moveaxis(np.tensordot(matrix, tensor, axes=(1, mode)), 0, mode)


def _unfold(tensor: np.ndarray, instruments: Views, whiteners: Sequence[np.ndarray]) -> np.ndarray:
    """Unfold a tensor: whitened instruments of the first modes in rows, the last mode in columns."""
    for mode, view in enumerate(instruments):
        tensor = _multiply_mode(tensor, whiteners[view].T, mode)
    return tensor.reshape(int(np.prod(tensor.shape[: len(instruments)])), -1)


def _regular(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric part plus a small ridge, for views that depend on each other exactly."""
    return (matrix + matrix.T) / 2 + _RIDGE * np.trace(matrix) / len(matrix) * np.eye(len(matrix))


def _whitener(covariance: np.ndarray) -> np.ndarray:
    """Return W with W^T S W = I."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(values))
