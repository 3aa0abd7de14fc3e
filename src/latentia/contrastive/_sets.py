"""Which views each component is in: set systems, and the cumulants that tell their components apart.

Views W *isolate* component j if every set that contains W contains Q_j. A cross-cumulant of views that isolate j is of S_j and
of components in supersets of Q_j alone. The smallest such W in Q_j is the distinguishing set of j, and the system is
L-distinguishable if all of these have at most L views.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from typing import Any

from ..exceptions import LatentiaError

MOST_VIEWS = 3
"""Views of which all subsets may have a component: more need cumulants of the fifth order."""

Views = tuple[int, ...]


@dataclass(frozen=True)
class SetSystem:
    """The views of each component, ascending.

    Attributes
    ----------
    subsets : tuple of tuple of int
    absent : frozenset of int
        Components that are zero, whose sets do not count.
    """

    subsets: tuple[Views, ...]
    absent: frozenset[int] = frozenset()

    def isolates(self, views: Iterable[int], j: int) -> bool:
        """Whether every set that contains these views contains Q_j."""
        own = set(self.subsets[j])
        return all(own <= set(self.subsets[other]) for other in self.containing(views, j))

    def distinguishing(self, j: int) -> Views:
        """The first of the smallest sets of views in Q_j that isolate j; Q_j itself always does."""
        return next(
            views
            for size in range(1, len(self.subsets[j]) + 1)
            for views in combinations(self.subsets[j], size)
            if self.isolates(views, j)
        )

    def containing(self, views: Iterable[int], but: int) -> tuple[int, ...]:
        """Components other than ``but`` that are in all of these views."""
        some = set(views)
        others = (other for other in range(len(self.subsets)) if other != but and other not in self.absent)
        return tuple(other for other in others if some <= set(self.subsets[other]))

    @property
    def in_order(self) -> tuple[int, ...]:
        """Components in an order in which none comes before one in a superset of its views."""
        return tuple(sorted(range(len(self.subsets)), key=lambda j: (-len(self.subsets[j]), j)))

    def available(self, j: int, order: int) -> bool:
        """Whether the cumulant of this order of S_j can be had: of all components in its views, distinguishing sets fit."""
        needed = (j, *self.containing(self.subsets[j], j))
        return all(len(self.distinguishing(one)) <= order for one in needed)

    def instruments(self, j: int, order: int) -> list[Views]:
        """The views of all modes but the last one, in cross-cumulants of this order that tell the maps of S_j."""
        if order < 2 or not self.available(j, order):
            return []
        every = combinations_with_replacement(self.subsets[j], order - 1)
        return [views for views in every if self.isolates(views, j)]

    def sources(self, j: int, index: Views) -> tuple[Views, ...]:
        """Views that isolate j and differ from ``index`` in as few modes as can be: where its part of that cumulant is seen."""
        return _sources(self, j, index)

    def without(self, absent: Iterable[int]) -> SetSystem:
        """The same where these components are zero too."""
        return SetSystem(self.subsets, self.absent | frozenset(absent))


@cache
def _sources(system: SetSystem, j: int, index: Views) -> tuple[Views, ...]:
    own = system.subsets[j]
    for size in range(len(index) + 1):
        found = []
        for modes in combinations(range(len(index)), size):
            for values in product(own, repeat=size):
                if any(index[mode] == value for mode, value in zip(modes, values, strict=True)):
                    continue
                changed = list(index)
                for mode, value in zip(modes, values, strict=True):
                    changed[mode] = value
                if system.isolates(changed, j):
                    found.append(tuple(changed))
        if found:
            return tuple(found)
    raise LatentiaError(f"The cumulant of order {len(index)} of component {j} is not told apart by these sets.")


def all_subsets(n_views: int) -> list[Views]:
    """All subsets of some views but the empty one, the smaller ones first."""
    return [views for size in range(1, n_views + 1) for views in combinations(range(n_views), size)]


def indices(n_views: int, order: int) -> list[Views]:
    """All cross-cumulants of an order that are of more than one view, each once."""
    every = combinations_with_replacement(range(n_views), order)
    return [index for index in every if len(set(index)) > 1]


def set_system(subsets: Any, n_views: int, most: int) -> SetSystem:
    """Check the sets of views that a user gave; None stands for all subsets.

    Parameters
    ----------
    subsets : sequence of sequences of int, or None
    n_views : int
    most : int
        Views that a distinguishing set may have.
    """
    if subsets is None:
        if n_views > MOST_VIEWS:
            raise LatentiaError(
                f"all {2**n_views - 1} subsets of {n_views} views are told apart only by cumulants of order {n_views + 1}, "
                "which few tables are long enough for: give the sets of views that may share a component, such as "
                "subsets=[(0,), (1,), (0, 1)].",
                parameter="subsets", value=None,
            )  # fmt: skip
        return SetSystem(tuple(all_subsets(n_views)))
    found: list[Views] = []
    for j, one in enumerate(subsets):
        if not isinstance(one, Iterable) or isinstance(one, str):
            raise _wrong(subsets, f"set {j} is {one!r}, and a tuple of numbers of views is needed")
        given = list(one)
        views = tuple(sorted({int(i) for i in given if _whole(i)}))
        if len(views) != len(given):
            raise _wrong(subsets, f"set {j} is {one!r}, and different whole numbers are needed")
        if not views:
            raise _wrong(subsets, f"set {j} is empty, and a component is in one view or more")
        if views[0] < 0 or views[-1] >= n_views:
            unknown = views[0] if views[0] < 0 else views[-1]
            raise _wrong(subsets, f"set {j} has view {unknown}, and the views are 0 to {n_views - 1}")
        if views in found:
            raise _wrong(
                subsets, f"sets {found.index(views)} and {j} are the same, and their components cannot be told apart"
            )
        found.append(views)
    if not found:
        raise _wrong(subsets, "there is no set")
    missing = sorted(set(range(n_views)) - {i for views in found for i in views})
    if missing:
        raise _wrong(subsets, f"view {missing[0]} is in no set: leave it out of the data, or add ({missing[0]},)")
    system = SetSystem(tuple(found))
    for j, views in enumerate(found):
        needed = len(system.distinguishing(j))
        if needed > most:
            raise _wrong(
                subsets,
                f"{needed} views are needed to tell set {j}, {views}, from the others, which takes cumulants of order "
                f"{needed + 1}, and those up to order {most + 1} are computed: leave out sets that cannot share a component",
            )
    return system


def _whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _wrong(subsets: Any, problem: str) -> LatentiaError:
    return LatentiaError(f"{problem}.", parameter="subsets", value=subsets)
