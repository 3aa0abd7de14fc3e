"""From checks and errors to a grade: the one rule behind verdict, badge, table and sentence.

A fit is *supported* if every verdict was measured and is met, no veto and no caution fails, and its expected error is clearly
below the limit; *with care* if only cautions fail, or the error is about the limit; *partly* if the mean error is above it, but
that of components which stand for a tenth of the data or more is not; *not supported* otherwise. A component has the grade that
its own error gives it, at best that which the cautions leave, and none where a veto fails. Where the mean error is too large
although each error alone would pass with care, those of the largest errors cannot be used: so many of them that the mean of the
others is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from .._frames import frame_of_rows
from .checks import EXPECTED_ERROR, Check

Grade: TypeAlias = Literal["supported", "with care", "partly", "not supported"]
Status: TypeAlias = Literal["ok", "look", "bad", "open", ""]
GRADES: tuple[Grade, ...] = ("supported", "with care", "partly", "not supported")

_CLEARLY, _ABOUT = 0.85, 1.15  # of the limit of the mean error: up to the first supported, up to the second with care
_LEAST_SHARE = 0.1  # of the data in supported components, for a fit that is partly supported
_CARE = 2.0  # limits up to which a component can be used with care


@dataclass(frozen=True)
class Component:
    """Share, expected error and grade of one component.

    Attributes
    ----------
    component : int
    share : float or None
        Of the data; None where the model has none.
    expected_error : float or None
    grade : {"supported", "with care", "not supported"}
    found_again : float or None
        How much of what people read of it is the same on other rows, from 0 to 1, see `latentia.evidence.repeats`; None where
        it was not measured.
    """

    component: int
    share: float | None
    expected_error: float | None
    grade: Grade
    found_again: float | None = None


class Components(Sequence[Component]):
    """Records of all components, in the order of the model."""

    def __init__(self, records: Sequence[Component]) -> None:
        self._records = tuple(records)

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, number: Any) -> Any:
        return self._records[number]

    def __iter__(self) -> Iterator[Component]:
        return iter(self._records)

    def __repr__(self) -> str:
        return f"Components({list(self._records)!r})"

    def of(self, grade: Grade) -> list[Component]:
        """Those of a grade."""
        return [one for one in self._records if one.grade == grade]

    def to_frame(self) -> Any:
        """As a data frame of pandas, or of polars: see `latentia.summaries.Table.to_frame`."""
        rows = [vars(one) for one in self._records]
        return frame_of_rows(rows, "Components.to_frame", list(Component.__annotations__))


def status(check: Check) -> Status:
    """What a check that counts says, "open" where it was not measured; nothing for notes."""
    if check.role == "note":
        return ""
    if check.name == EXPECTED_ERROR and check.bound is not None and isinstance(check.measured, (int, float)):
        share = check.measured / check.bound.limit if check.bound.limit > 0 else np.inf
        return "ok" if share <= _CLEARLY else "look" if share <= _ABOUT else "bad"
    if check.holds is None:
        return "open" if check.role == "verdict" else ""
    return "ok" if check.holds else "look" if check.role == "caution" else "bad"


def grade_of(checks: Sequence[Check], components: Components) -> Grade:
    """The grade of a fit."""
    verdicts = [check for check in checks if check.role == "verdict"]
    bad = [check for check in checks if status(check) == "bad"]
    if not verdicts or any(status(check) == "open" for check in checks):
        return "not supported"
    if not bad:
        return "with care" if any(status(check) == "look" for check in checks) else "supported"
    usable = [one for one in components if one.grade in ("supported", "with care")]
    firm = [one for one in usable if one.grade == "supported"] or usable
    measured = all(check.name == EXPECTED_ERROR and _finite(check.measured) for check in bad)
    if measured and len(components) > 1 and _share(firm, components) >= _LEAST_SHARE:
        return "partly"
    return "not supported"


def component_grades(checks: Sequence[Check], errors: np.ndarray | None, limit: float | None) -> list[Grade]:
    """The grade of each component."""
    if errors is None or limit is None:
        return []
    others = [status(check) for check in checks if check.name != EXPECTED_ERROR]
    if "bad" in others:
        return ["not supported"] * len(errors)
    best: Grade = "with care" if "look" in others else "supported"
    most = _most_usable(errors, limit)
    return ["not supported" if not error <= most else best if error <= limit else "with care" for error in errors]


def _most_usable(errors: np.ndarray, limit: float) -> float:
    """The largest error of a component that can be used.

    It is at most twice the limit. Where that would let all of them pass and their mean is *bad*, only the smallest can be used,
    whose mean is not: a fit whose mean error is bad never has components that can all be used.
    """
    if np.max(errors) > _CARE * limit:
        return _CARE * limit
    ascending = np.sort(errors)
    means = np.cumsum(ascending) / np.arange(1, len(errors) + 1)
    beyond = (means > _ABOUT * limit) | (limit <= 0)
    few = ascending[ascending < ascending[beyond.argmax()]] if beyond.any() else ascending
    return float(few[-1]) if len(few) else -np.inf


def _finite(value: object) -> bool:
    return isinstance(value, (int, float)) and bool(np.isfinite(value))


def _share(some: Sequence[Component], all_: Components) -> float:
    """Of the data, or of the components where shares are not known."""
    if not len(all_):
        return 0.0
    if any(one.share is None for one in all_):
        return len(some) / len(all_)
    return float(sum(one.share or 0.0 for one in some))
