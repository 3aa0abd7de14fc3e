"""Grades from the four statements: one rule for headline, badge, table, advice and sentence.

A component is *not supported* (cannot be used) if there is no structure, if less than half of it repeats in fits on other rows,
or if its error is too large: above twice the limit, or, for components that are found again, above three limits, which is the
distance to the next component. It is *supported* if its error is within the limit and structure and fit passed; otherwise *with
care*.

A fit is *not supported* if its error was not measured, if there is no structure, or if no component can be used; *partly* if
some cannot be used or the mean error is too large; *supported* if all four statements passed; otherwise *with care*. What was
not measured has not passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from .._frames import frame_of_rows
from .checks import EXPECTED_ERROR, Check
from .repeats import MOSTLY_FOUND, WELL_FOUND
from .statements import CARE_FACTOR, Statement, statement_of, status

Grade: TypeAlias = Literal["supported", "with care", "partly", "not supported"]
GRADES: tuple[Grade, ...] = ("supported", "with care", "partly", "not supported")

# A component can be used with care if its error is within 2 limits, or within 3 if it is found again.
_CARE_FACTOR, _REPEATED_FACTOR = 2.0, 3.0


@dataclass(frozen=True)
class Component:
    """Share, expected error and grade of one component.

    Attributes
    ----------
    component : int
    share : float or None
        Share of the data; None if the model has none.
    found_again : float or None
        How much of the component, as people read it, repeats on other rows, from 0 to 1, see `latentia.evidence.repeats`;
        None if not measured.
    expected_error : float or None
    grade : {"supported", "with care", "not supported"}
    """

    component: int
    share: float | None
    found_again: float | None
    expected_error: float | None
    grade: Grade


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
        """Return the components of a grade."""
        return [record for record in self._records if record.grade == grade]

    def to_frame(self) -> Any:
        """Return a data frame of pandas or polars: see `latentia.summaries.Table.to_frame`."""
        rows = [vars(record) for record in self._records]
        return frame_of_rows(rows, "Components.to_frame", list(Component.__annotations__))


def grade_of(statements: Sequence[Statement], checks: Sequence[Check], components: Components) -> Grade:
    """Return the grade of a fit; ``components`` are empty if the verdict is about predictions."""
    error_marks = {status(check) for check in checks if statement_of(check) == "error"}
    if _is_denied(checks) or statements[1].passed is None:
        return "not supported"
    usable = [record for record in components if record.grade != "not supported"]
    if len(components) and not usable:
        return "not supported"
    if "bad" in error_marks or len(usable) < len(components):
        return "partly"
    return "supported" if all(record.passed for record in statements) else "with care"


def component_grades(
    statements: Sequence[Statement],
    checks: Sequence[Check],
    errors: np.ndarray | None,
    limit: float | None,
    repeats: np.ndarray | None,
) -> list[Grade]:
    """Return the grade of each component."""
    if errors is None or limit is None:
        return []
    repeats = np.full(len(errors), MOSTLY_FOUND) if repeats is None or len(repeats) != len(errors) else repeats
    best: Grade = "supported" if statements[2].passed and statements[3].passed else "with care"
    max_errors = np.where(repeats >= WELL_FOUND, _REPEATED_FACTOR * limit, _max_usable_error(errors, limit))
    usable = (errors <= max_errors) & (repeats >= MOSTLY_FOUND) & (not _is_denied(checks))
    return [
        "not supported" if not is_usable else best if error <= limit else "with care"
        for error, is_usable in zip(errors, usable, strict=True)
    ]


def _is_denied(checks: Sequence[Check]) -> bool:
    """Return True if structure is missing, a required check was not measured, or too few parts could be fitted."""
    return any(
        status(check) == "open" or (status(check) == "bad" and check.name != EXPECTED_ERROR)
        for check in checks
        if statement_of(check)
    )


def _max_usable_error(errors: np.ndarray, limit: float) -> float:
    """Return the largest error of a usable component.

    It is at most twice the limit. If all errors are below that although their mean is *bad*, only the smallest errors whose
    mean is acceptable pass: a fit with a bad mean error never has all components usable.
    """
    if np.max(errors) > _CARE_FACTOR * limit:
        return _CARE_FACTOR * limit
    ascending = np.sort(errors)
    means = np.cumsum(ascending) / np.arange(1, len(errors) + 1)
    exceeds = (means > CARE_FACTOR * limit) | (limit <= 0)
    usable = ascending[ascending < ascending[exceeds.argmax()]] if exceeds.any() else ascending
    return float(usable[-1]) if len(usable) else -np.inf
