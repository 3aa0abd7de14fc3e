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
    transpose_masks,
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
        """Return True if the recorded steps leave no cover by ``bound - 1`` rectangles.

        Rectangles are listed anew, by intersections of columns.
        """
        M = as_rational(M)
        if not are_in(M, self.rows, self.columns):
            return False
        masks = positive_masks(M, self.rows, self.columns)
        support = Support(self.rows, self.columns, masks)
        by_column = transpose_masks(masks, len(self.columns))
        listed = (maximal_rectangles(by_column) or []) if any(self.steps.values()) else []  # weights need none
        rectangles = [support.cells_of((rows, columns)) for columns, rows in listed]
        proof = _Proof(self.steps, rectangles, *_scale_weights(self.cover, support))
        return self.bound < 1 or (self.cover.verify(M) and proof.refutes(support.all_cells, self.bound - 1))


def boolean_rank_bound(M: Any, seconds: float = 10.0) -> BooleanRank:
    """Bound the number of rectangles that cover the support of M, with a proof that fewer do not.

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
    support = Support.from_matrix(M)
    cover = rectangle_cover_bound(M, seconds / 2)
    best = BooleanRank(cover.bound, not support.rows, support.rows, support.columns, cover, {support.all_cells: ()})
    listed = maximal_rectangles(support.masks, deadline)
    if listed is None or not are_few(listed) or not support.rows:
        return best
    rectangles = [support.cells_of(rectangle) for rectangle in listed]
    cover_size = _least_cover(support, rectangles, deadline)
    search = _Refutation(support, rectangles, cover, deadline)
    while best.bound < cover_size and search.refute(support.all_cells, best.bound):
        best = replace(best, bound=best.bound + 1, steps=dict(search.steps))
    proof = _Proof(best.steps, rectangles, *_scale_weights(cover, support))
    proof.refutes(support.all_cells, best.bound - 1)
    return replace(best, exact=best.bound == cover_size, steps={cells: best.steps[cells] for cells in proof.confirmed})


def _least_cover(support: Support, rectangles: Sequence[int], deadline: Deadline) -> int:
    """Return the size of the smallest cover that integer programming finds in half of the time."""
    cells = support.cells
    inside = incidence(rectangles, cells)
    limit = {"time_limit": max(0.1, deadline.remaining / 2)}
    costs = np.ones(len(rectangles))
    constraint = LinearConstraint(sparse.csr_array(inside.T), lb=1)
    solved = milp(costs, constraints=constraint, integrality=costs, bounds=Bounds(0, 1), options=limit)
    if solved.x is None:
        return len(support.rows)
    chosen = [rectangle for rectangle, value in zip(rectangles, solved.x, strict=True) if value > 0.5]
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
        self._refuted: dict[int, int] = {}  # for each set of cells, the largest number of rectangles proved too few
        self._deadline, self._shared = deadline, shared_cells(support)
        self._weights, self._scale = _scale_weights(cover, support)
        self._holding: dict[int, list[int]] = {cell: [] for cell in self._shared}
        for rectangle in rectangles:
            for cell in bits(rectangle):
                self._holding[cell].append(rectangle)

    def refute(self, cells: int, budget: int) -> bool:
        """Return True if it is shown that ``budget`` rectangles do not cover ``cells``."""
        if self._refuted.get(cells, -1) >= budget:
            return True
        if self._deadline.has_passed or not cells:
            return False
        step = self._step(cells, budget)
        if step is not None:
            self.steps[cells], self._refuted[cells] = step, budget
        return step is not None

    def _step(self, cells: int, budget: int) -> tuple[int, ...] | None:
        if _weight(cells, self._weights) > budget * self._scale:
            return ()
        independent_cells = self._choose_independent_cells(cells)
        if len(independent_cells) > budget:
            return independent_cells[: budget + 1]
        if not budget:
            return None
        # Branch on the cell with the fewest uncovered sets, among the most promising cells.
        likely = sorted(independent_cells, key=lambda cell: (len(self._holding[cell]), cell))[:4]
        _, cell, rests = min(
            (len(rests), cell, rests) for cell in likely for rests in [self._list_uncovered(cells, cell)]
        )
        return (cell,) if all(self.refute(rest, budget - 1) for rest in rests) else None

    def _list_uncovered(self, cells: int, cell: int) -> list[int]:
        """List the uncovered cells after each rectangle of a cell, without sets that contain another one."""
        return [cells & ~part for part in only_maximal(cells & rectangle for rectangle in self._holding[cell])]

    def _choose_independent_cells(self, cells: int) -> tuple[int, ...]:
        """Return cells of which no two share a rectangle, chosen greedily: those first that share with the fewest."""
        chosen = []
        while cells:
            cell = min(bits(cells), key=lambda c: ((self._shared[c] & cells).bit_count(), c))
            chosen.append(cell)
            cells &= ~self._shared[cell]
        return tuple(chosen)


class _Proof:
    """Recorded steps of a refutation, checked one by one; ``confirmed`` has those that were needed."""

    def __init__(
        self,
        steps: Mapping[int, tuple[int, ...]],
        rectangles: Sequence[int],
        weights: Mapping[int, int],
        scale: int,
    ) -> None:
        self._steps, self._rectangles, self._weights, self._scale = steps, rectangles, weights, scale
        self.confirmed: dict[int, int] = {}

    def refutes(self, uncovered: int, budget: int) -> bool:
        """Return True if the steps show that ``budget`` rectangles do not cover the uncovered cells."""
        if self.confirmed.get(uncovered, -1) >= budget:
            return True
        step = self._steps.get(uncovered)
        if step is None or not self._holds(uncovered, budget, step):
            return False
        self.confirmed[uncovered] = budget
        return True

    def _holds(self, uncovered: int, budget: int, step: tuple[int, ...]) -> bool:
        if not step:
            return _weight(uncovered, self._weights) > budget * self._scale
        cells = sum(1 << cell for cell in set(step))
        if cells & ~uncovered:
            return False
        if cells.bit_count() > budget:
            return all((rectangle & cells).bit_count() <= 1 for rectangle in self._rectangles)
        parts = only_maximal(uncovered & rectangle for rectangle in self._rectangles if rectangle >> step[0] & 1)
        return budget > 0 and all(self.refutes(uncovered & ~part, budget - 1) for part in parts)


def _scale_weights(cover: RectangleCover, support: Support) -> tuple[dict[int, int], int]:
    """Return whole weights of cells, by the numbers of the cells in the support, and the number that stands for 1."""
    scale = math.lcm(1, *(weight.denominator for *_, weight in cover.weights))
    width = len(support.columns)
    row = {i: k for k, i in enumerate(support.rows)}
    column = {j: k for k, j in enumerate(support.columns)}
    return {row[i] * width + column[j]: int(weight * scale) for i, j, weight in cover.weights}, scale


def _weight(cells: int, weights: Mapping[int, int]) -> int:
    return sum(weight for cell, weight in weights.items() if cells >> cell & 1)
