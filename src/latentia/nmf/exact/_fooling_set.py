"""Fooling sets: positive cells of which no two lie in a common rectangle, so that each needs a component of its own.

They are the cliques of a graph of cells; a largest one is found by branch and bound with greedy colours.

References
----------
Fiorini, Kaibel, Pashkovich, Theis. Combinatorial bounds on nonnegative rank and extended formulations. 2013.
Tomita, Seki. An efficient branch-and-bound algorithm for finding a maximum clique. 2003.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ._rational import as_rational
from ._rectangles import Deadline, Support, are_in, bits, shared_cells

Cell = tuple[int, int]
_MAX_CELLS = 1000  # cells that are searched, those first that share rectangles with the fewest others


@dataclass(frozen=True)
class FoolingSet:
    """Positive cells of which no two lie in a rectangle of positive entries.

    Attributes
    ----------
    cells : tuple of (int, int)
        Row and column of each.
    largest : bool
        No larger fooling set exists: the search ended before its time.
    """

    cells: tuple[Cell, ...]
    largest: bool

    @property
    def bound(self) -> int:
        return len(self.cells)

    @property
    def reason(self) -> str:
        return (
            f"{self.bound} positive entries, of which no two lie in one rectangle of positive entries: each needs its own "
            "component."
        )

    def verify(self, M: Any) -> bool:
        """Return True if every cell is positive, and of every two a corner of their rectangle is zero."""
        M = as_rational(M)
        if not are_in(M, *zip((0, 0), *self.cells, strict=True)):
            return False
        return all(M[i, j] > 0 for i, j in self.cells) and all(
            M[i, q] == 0 or M[p, j] == 0 for (i, j), (p, q) in combinations(self.cells, 2)
        )


def fooling_set_bound(M: Any, seconds: float = 2.0) -> FoolingSet:
    """Search for the largest fooling set of M: a clique of positive cells.

    Parameters
    ----------
    M : array-like of exact numbers, shape (n, m)
        Nonnegative, as `exact_nmf` takes it. Only the support matters.
    seconds : float
        Time limit of the search. The result is a fooling set in any case.

    Returns
    -------
    FoolingSet
        The bound and its certificate, with a method ``verify``.

    Raises
    ------
    LatentiaError
        If M has negative entries or numbers that are not exact, such as NaN.
    """
    M = as_rational(M)
    support = Support.from_matrix(M)
    shared = shared_cells(support)
    search = _Cliques(shared, Deadline(seconds))
    return FoolingSet(tuple(support.cell(cell) for cell in search.largest()), search.ended)


class _Cliques:
    """Branch and bound for a largest set of cells of which no two share a rectangle, coloured greedily (Tomita and Seki)."""

    def __init__(self, shared: Mapping[int, int], deadline: Deadline) -> None:
        self._deadline = deadline
        # Cells that share a rectangle with few others come first; they get the low numbers.
        self._cells = sorted(shared, key=lambda cell: (shared[cell].bit_count(), cell))[:_MAX_CELLS]
        self.ended = len(self._cells) == len(shared)
        searched = sum(1 << cell for cell in self._cells)
        number = {cell: k for k, cell in enumerate(self._cells)}
        all_cells = (1 << len(self._cells)) - 1
        self._compatible = [
            all_cells & ~sum(1 << number[shared_cell] for shared_cell in bits(shared[cell] & searched))
            for cell in self._cells
        ]
        self._best: list[int] = []

    def largest(self) -> list[int]:
        all_cells = (1 << len(self._cells)) - 1
        self._best = self._choose_greedily(all_cells)
        self._extend([], all_cells)
        return [self._cells[k] for k in self._best]

    def _choose_greedily(self, candidates: int) -> list[int]:
        chosen = []
        while candidates:
            first = (candidates & -candidates).bit_length() - 1
            chosen.append(first)
            candidates &= self._compatible[first]
        return chosen

    def _extend(self, chosen: list[int], candidates: int) -> None:
        if self._deadline.has_passed:
            self.ended = False
            return
        if len(chosen) > len(self._best):
            self._best = list(chosen)
        for vertex, colours in reversed(self._colour(candidates)):
            if len(chosen) + colours <= len(self._best):
                return
            self._extend([*chosen, vertex], candidates & self._compatible[vertex])
            candidates &= ~(1 << vertex)

    def _colour(self, candidates: int) -> list[tuple[int, int]]:
        """Return vertices with the number of colours used up to each; vertices of a colour are pairwise not adjacent."""
        ordered, colours = [], 0
        while candidates:
            colours += 1
            free = candidates
            while free:
                vertex = (free & -free).bit_length() - 1
                ordered.append((vertex, colours))
                candidates &= ~(1 << vertex)
                free &= ~(1 << vertex) & ~self._compatible[vertex]
        return ordered
