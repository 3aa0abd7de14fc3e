"""The Boolean rank: the least number of rectangles that cover the support, with a proof that fewer do not.

A proof takes an uncovered cell, one of whose rectangles has to be in the cover, and goes through all of them. It ends where
what is left is too heavy for the rectangles that may still be taken, in the weights of the fractional cover, or has too many
cells of which no two share a rectangle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ._rational import as_rational
from ._rectangle_cover import RectangleCover, rectangle_cover_bound
from ._rectangles import (
    Deadline,
    Support,
    are_few,
    are_in,
    bits,
    incidence,
    maximal_rectangles,
    only_maximal,
    positive_masks,
    shared_cells,
    transposed,
)


@dataclass(frozen=True)
class BooleanRank:
    """A proof that fewer than ``bound`` rectangles do not cover the support.

    Attributes
    ----------
    bound : int
    exact : bool
        A cover by ``bound`` rectangles is known: the bound is the Boolean rank.
    rows, columns : tuple of int
        Of the submatrix that is considered.
    cover : RectangleCover
        Weights of cells of which no rectangle has more than one.
    steps : mapping of int to tuple of int
        For each set of uncovered cells that the proof meets, as bits that count cells of the submatrix row by row: nothing, if
        their weight is above the number of rectangles that are left; more cells than that of which no two share a rectangle;
        or a single cell, whose rectangles are tried one by one.
    """

    bound: int
    exact: bool
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    cover: RectangleCover = field(repr=False)
    steps: Mapping[int, tuple[int, ...]] = field(repr=False)

    @property
    def reason(self) -> str:
        return (
            f"Fewer than {self.bound} rectangles of positive entries do not cover all of them, as a proof with "
            f"{len(self.steps)} steps shows."
        )

    def verify(self, M: Any) -> bool:
        """Whether the recorded steps leave no cover by ``bound - 1`` rectangles.

        Rectangles are listed anew, by intersections of columns.
        """
        M = as_rational(M)
        if not are_in(M, self.rows, self.columns):
            return False
        masks = positive_masks(M, self.rows, self.columns)
        support = Support(self.rows, self.columns, masks)
        by_column = transposed(masks, len(self.columns))
        listed = (maximal_rectangles(by_column) or []) if any(self.steps.values()) else []  # weights need none
        rectangles = [support.cells_of((own, other)) for other, own in listed]
        proof = _Proof(self.steps, rectangles, *_whole_weights(self.cover, support))
        return self.bound < 1 or (self.cover.verify(M) and proof.refutes(support.all_cells, self.bound - 1))


def boolean_rank_bound(M: Any, seconds: float = 10.0) -> BooleanRank:
    """Least number of rectangles that cover the support of M, with a proof that fewer do not.

    The size of the cover is found by integer programming. That fewer rectangles do not do is then shown by trying the
    rectangles of one uncovered cell after the other, until what is left is too heavy for the rectangles that may still be
    taken, or has too many cells of which no two share one. Numbers are refuted in turn, from the fractional cover up, so that
    the best bound proved stands when the time is over.

    Parameters
    ----------
    M : array-like of exact numbers, shape (n, m)
        Nonnegative, as `exact_nmf` takes it. Only the support matters.
    seconds : float
        Time limit of the search.

    Returns
    -------
    BooleanRank
        The bound and its certificate, with a method ``verify``.

    Raises
    ------
    LatentiaError
        If M has negative entries or numbers that are not exact, such as NaN.
    """
    M = as_rational(M)
    deadline = Deadline(seconds)
    support = Support.of(M)
    cover = rectangle_cover_bound(M, seconds / 2)
    found = BooleanRank(cover.bound, not support.rows, support.rows, support.columns, cover, {support.all_cells: ()})
    listed = maximal_rectangles(support.masks, deadline)
    if listed is None or not are_few(listed) or not support.rows:
        return found
    rectangles = [support.cells_of(rectangle) for rectangle in listed]
    most = _least_cover(support, rectangles, deadline)
    search = _Refutation(support, rectangles, cover, deadline)
    while found.bound < most and search.refute(support.all_cells, found.bound):
        found = replace(found, bound=found.bound + 1, steps=dict(search.steps))
    proof = _Proof(found.steps, rectangles, *_whole_weights(cover, support))
    proof.refutes(support.all_cells, found.bound - 1)
    return replace(found, exact=found.bound == most, steps={left: found.steps[left] for left in proof.seen})


def _least_cover(support: Support, rectangles: Sequence[int], deadline: Deadline) -> int:
    """Size of the smallest cover that integer programming finds in half of the time."""
    cells = support.cells
    inside = incidence(rectangles, cells)
    limit = {"time_limit": max(0.1, deadline.left / 2)}
    ones = np.ones(len(rectangles))
    constraint = LinearConstraint(sparse.csr_array(inside.T), lb=1)
    solved = milp(ones, constraints=constraint, integrality=ones, bounds=Bounds(0, 1), options=limit)
    if solved.x is None:
        return len(support.rows)
    chosen = [rectangle for rectangle, taken in zip(rectangles, solved.x, strict=True) if taken > 0.5]
    covered = 0
    for rectangle in chosen:
        covered |= rectangle
    return len(chosen) if covered == support.all_cells else len(support.rows)


class _Refutation:
    """Search for a proof that few rectangles do not cover a set of cells.

    Attributes
    ----------
    steps : dict of int to tuple of int
        As `BooleanRank` records them.
    """

    def __init__(self, support: Support, rectangles: Sequence[int], cover: RectangleCover, deadline: Deadline) -> None:
        self.steps: dict[int, tuple[int, ...]] = {}
        self._refuted: dict[int, int] = {}  # the most rectangles that each set of cells is known not to be covered by
        self._deadline, self._shared = deadline, shared_cells(support)
        self._weights, self._one = _whole_weights(cover, support)
        self._holding: dict[int, list[int]] = {cell: [] for cell in self._shared}
        for rectangle in rectangles:
            for cell in bits(rectangle):
                self._holding[cell].append(rectangle)

    def refute(self, left: int, budget: int) -> bool:
        """Whether ``budget`` rectangles are shown not to cover the cells ``left``."""
        if self._refuted.get(left, -1) >= budget:
            return True
        if self._deadline.passed or not left:
            return False
        step = self._step(left, budget)
        if step is not None:
            self.steps[left], self._refuted[left] = step, budget
        return step is not None

    def _step(self, left: int, budget: int) -> tuple[int, ...] | None:
        if _weight(left, self._weights) > budget * self._one:
            return ()
        apart = self._apart(left)
        if len(apart) > budget:
            return apart[: budget + 1]
        if not budget:
            return None
        # The cell with the fewest rectangles, of those that hold most promise.
        likely = sorted(apart, key=lambda cell: (len(self._holding[cell]), cell))[:4]
        _, cell, rests = min((len(rests), cell, rests) for cell in likely for rests in [self._rests(left, cell)])
        return (cell,) if all(self.refute(rest, budget - 1) for rest in rests) else None

    def _rests(self, left: int, cell: int) -> list[int]:
        """What is left after each rectangle of a cell, without what contains another rest."""
        return [left & ~part for part in only_maximal(left & rectangle for rectangle in self._holding[cell])]

    def _apart(self, cells: int) -> tuple[int, ...]:
        """Cells of which no two share a rectangle, chosen greedily: those first that share with the fewest."""
        chosen = []
        while cells:
            cell = min(bits(cells), key=lambda c: ((self._shared[c] & cells).bit_count(), c))
            chosen.append(cell)
            cells &= ~self._shared[cell]
        return tuple(chosen)


class _Proof:
    """Recorded steps of a refutation, checked one by one; ``seen`` has those that were needed."""

    def __init__(
        self,
        steps: Mapping[int, tuple[int, ...]],
        rectangles: Sequence[int],
        weights: Mapping[int, int],
        one: int,
    ) -> None:
        self._steps, self._rectangles, self._weights, self._one = steps, rectangles, weights, one
        self.seen: dict[int, int] = {}

    def refutes(self, left: int, budget: int) -> bool:
        """Whether the steps show that ``budget`` rectangles do not cover the cells ``left``."""
        if self.seen.get(left, -1) >= budget:
            return True
        step = self._steps.get(left)
        if step is None or not self._holds(left, budget, step):
            return False
        self.seen[left] = budget
        return True

    def _holds(self, left: int, budget: int, step: tuple[int, ...]) -> bool:
        if not step:
            return _weight(left, self._weights) > budget * self._one
        cells = sum(1 << cell for cell in set(step))
        if cells & ~left:
            return False
        if cells.bit_count() > budget:
            return all((rectangle & cells).bit_count() <= 1 for rectangle in self._rectangles)
        parts = only_maximal(left & rectangle for rectangle in self._rectangles if rectangle >> step[0] & 1)
        return budget > 0 and all(self.refutes(left & ~part, budget - 1) for part in parts)


def _whole_weights(cover: RectangleCover, support: Support) -> tuple[dict[int, int], int]:
    """Weights of cells in whole numbers, by the numbers of the cells in the support, and what stands for one."""
    one = math.lcm(1, *(weight.denominator for *_, weight in cover.weights))
    width = len(support.columns)
    row = {i: k for k, i in enumerate(support.rows)}
    column = {j: k for k, j in enumerate(support.columns)}
    return {row[i] * width + column[j]: int(weight * one) for i, j, weight in cover.weights}, one


def _weight(cells: int, weights: Mapping[int, int]) -> int:
    return sum(weight for cell, weight in weights.items() if cells >> cell & 1)
