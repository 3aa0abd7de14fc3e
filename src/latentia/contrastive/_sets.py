"""Set systems: the views of each component, and the cumulants that identify the components.

Views W *isolate* component j if every set that contains W contains Q_j. A cross-cumulant of views that isolate j depends only
on S_j and on components in supersets of Q_j. The smallest such W in Q_j is the distinguishing set of j, and the system is
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

MAX_VIEWS_OF_ALL_SUBSETS = 3
"""Number of views up to which all subsets may have a component: more would need cumulants of the fifth order."""

Views = tuple[int, ...]


@dataclass(frozen=True)
class SetSystem:
    """The views of each component, ascending.

    Attributes
    ----------
    subsets : tuple of tuple of int
    absent : frozenset of int
        Components that are zero; their sets do not count.
    """

    subsets: tuple[Views, ...]
    absent: frozenset[int] = frozenset()

    def isolates(self, views: Iterable[int], j: int) -> bool:
        """Return True if every set that contains these views contains Q_j."""
        component_views = set(self.subsets[j])
        return all(component_views <= set(self.subsets[component]) for component in self.containing(views, j))

    def distinguishing(self, j: int) -> Views:
        """Return the first of the smallest sets of views in Q_j that isolate j; Q_j itself always does."""
        return next(
            views
            for size in range(1, len(self.subsets[j]) + 1)
            for views in combinations(self.subsets[j], size)
            if self.isolates(views, j)
        )

    def containing(self, views: Iterable[int], excluded: int) -> tuple[int, ...]:
        """Return components other than ``excluded`` that are in all of these views."""
        required = set(views)
        candidates = (
            component
            for component in range(len(self.subsets))
            if component != excluded and component not in self.absent
        )
        return tuple(component for component in candidates if required <= set(self.subsets[component]))

    @property
    def supersets_first(self) -> tuple[int, ...]:
        """Components, those in a superset of another's views before that one."""
        return tuple(sorted(range(len(self.subsets)), key=lambda j: (-len(self.subsets[j]), j)))

    def available(self, j: int, order: int) -> bool:
        """Return True if this order identifies the cumulant of S_j: it needs all components in its views to be separable."""
        needed = (j, *self.containing(self.subsets[j], j))
        return all(len(self.distinguishing(component)) <= order for component in needed)

    def instruments(self, j: int, order: int) -> list[Views]:
        """Return the views of all modes but the last, in cross-cumulants of this order that identify the maps of S_j."""
        if order < 2 or not self.available(j, order):
            return []
        candidates = combinations_with_replacement(self.subsets[j], order - 1)
        return [views for views in candidates if self.isolates(views, j)]

    def sources(self, j: int, index: Views) -> tuple[Views, ...]:
        """Return views that isolate j and differ from ``index`` in as few modes as possible."""
        return _sources(self, j, index)

    def mark_absent(self, absent: Iterable[int]) -> SetSystem:
        """Return the set system where these components are zero too."""
        return SetSystem(self.subsets, self.absent | frozenset(absent))


@cache
def _sources(system: SetSystem, j: int, index: Views) -> tuple[Views, ...]:
    component_views = system.subsets[j]
    for size in range(len(index) + 1):
        sources = []
        for modes in combinations(range(len(index)), size):
            for values in product(component_views, repeat=size):
                if any(index[mode] == value for mode, value in zip(modes, values, strict=True)):
                    continue
                changed = list(index)
                for mode, value in zip(modes, values, strict=True):
                    changed[mode] = value
                if system.isolates(changed, j):
                    sources.append(tuple(changed))
        if sources:
            return tuple(sources)
    raise LatentiaError(f"These sets do not identify the cumulant of order {len(index)} of component {j}.")


def all_subsets(n_views: int) -> list[Views]:
    """List all nonempty subsets of the views, the smaller ones first."""
    return [views for size in range(1, n_views + 1) for views in combinations(range(n_views), size)]


def indices(n_views: int, order: int) -> list[Views]:
    """List all cross-cumulants of an order that have more than one view, each once."""
    candidates = combinations_with_replacement(range(n_views), order)
    return [index for index in candidates if len(set(index)) > 1]


def set_system(subsets: Any, n_views: int, max_views: int) -> SetSystem:
    """Check the sets of views that a user gave; None stands for all subsets.

    Parameters
    ----------
    subsets : sequence of sequences of int, or None
    n_views : int
    max_views : int
        Largest size of a distinguishing set.
    """
    if subsets is None:
        if n_views > MAX_VIEWS_OF_ALL_SUBSETS:
            raise LatentiaError(
                f"all {2**n_views - 1} subsets of {n_views} views need cumulants of order {n_views + 1}, which take very many "
                "rows: give the sets of views that may share a component, such as subsets=[(0,), (1,), (0, 1)].",
                parameter="subsets", value=None,
            )  # fmt: skip
        return SetSystem(tuple(all_subsets(n_views)))
    sets: list[Views] = []
    for j, subset in enumerate(subsets):
        if not isinstance(subset, Iterable) or isinstance(subset, str):
            raise _subsets_error(subsets, f"set {j} is {subset!r}; expected a tuple of numbers of views")
        numbers_of_views = list(subset)
        views = tuple(sorted({int(i) for i in numbers_of_views if _is_whole_number(i)}))
        if len(views) != len(numbers_of_views):
            raise _subsets_error(subsets, f"set {j} is {subset!r}; expected different whole numbers")
        if not views:
            raise _subsets_error(subsets, f"set {j} is empty; a component is in at least one view")
        if views[0] < 0 or views[-1] >= n_views:
            unknown = views[0] if views[0] < 0 else views[-1]
            raise _subsets_error(subsets, f"set {j} has view {unknown}; the views are 0 to {n_views - 1}")
        if views in sets:
            raise _subsets_error(
                subsets, f"sets {sets.index(views)} and {j} are the same, and their components cannot be told apart"
            )
        sets.append(views)
    if not sets:
        raise _subsets_error(subsets, "there is no set")
    missing = sorted(set(range(n_views)) - {i for views in sets for i in views})
    if missing:
        raise _subsets_error(
            subsets, f"view {missing[0]} is in no set: leave it out of the data, or add ({missing[0]},)"
        )
    system = SetSystem(tuple(sets))
    for j, views in enumerate(sets):
        needed = len(system.distinguishing(j))
        if needed > max_views:
            raise _subsets_error(
                subsets,
                f"{needed} views separate set {j}, {views}, from the others, which takes cumulants of order {needed + 1}; "
                f"orders up to {max_views + 1} are available. Leave out sets that cannot share a component",
            )
    return system


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _subsets_error(subsets: Any, problem: str) -> LatentiaError:
    return LatentiaError(f"{problem}.", parameter="subsets", value=subsets)
