"""From the four statements to grades: the one rule behind headline, badge, table, advice and sentence.

A component cannot be used, *not supported*, where there is no structure, where fits on other rows have less than half of it, or
where its error is too large: above twice the limit, and, of components that are found again, above three limits, which is as
far off as the next component. It is *supported* if its own error is at most the limit, and structure and fit passed, else *with
care*.

A fit is *not supported* where its error was not measured, where there is no structure, or where no component can be used;
*partly* where some cannot, or the mean error is too large; *supported* if all four statements passed; else *with care*. What
was not measured has not passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from .._frames import frame_of_rows
from .checks import EXPECTED_ERROR, Check
from .repeats import FOUND, LEAST_FOUND
from .statements import ABOUT, Statement, statement_of, status

Grade: TypeAlias = Literal["supported", "with care", "partly", "not supported"]
GRADES: tuple[Grade, ...] = ("supported", "with care", "partly", "not supported")

_CARE, _WIDE = 2.0, 3.0  # limits of a component's error, to use it with care; and where it is found again


@dataclass(frozen=True)
class Component:
    """Share, expected error and grade of one component.

    Attributes
    ----------
    component : int
    share : float or None
        Of the data; None where the model has none.
    found_again : float or None
        How much of what people read of it is the same on other rows, from 0 to 1, see `latentia.evidence.repeats`; None where
        it was not measured.
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
        """Those of a grade."""
        return [one for one in self._records if one.grade == grade]

    def to_frame(self) -> Any:
        """As a data frame of pandas, or of polars: see `latentia.summaries.Table.to_frame`."""
        rows = [vars(one) for one in self._records]
        return frame_of_rows(rows, "Components.to_frame", list(Component.__annotations__))


def grade_of(statements: Sequence[Statement], checks: Sequence[Check], components: Components) -> Grade:
    """The grade of a fit; ``components`` are empty where the verdict is not on them, as on predictions."""
    error = {status(check) for check in checks if statement_of(check) == "error"}
    if _denied(checks) or statements[1].passed is None:
        return "not supported"
    usable = [one for one in components if one.grade != "not supported"]
    if len(components) and not usable:
        return "not supported"
    if "bad" in error or len(usable) < len(components):
        return "partly"
    return "supported" if all(one.passed for one in statements) else "with care"


def component_grades(
    statements: Sequence[Statement],
    checks: Sequence[Check],
    errors: np.ndarray | None,
    limit: float | None,
    found: np.ndarray | None,
) -> list[Grade]:
    """The grade of each component."""
    if errors is None or limit is None:
        return []
    found = np.full(len(errors), LEAST_FOUND) if found is None or len(found) != len(errors) else found
    best: Grade = "supported" if statements[2].passed and statements[3].passed else "with care"
    most = np.where(found >= FOUND, _WIDE * limit, _most_usable(errors, limit))
    usable = (errors <= most) & (found >= LEAST_FOUND) & (not _denied(checks))
    return [
        "not supported" if not can else best if error <= limit else "with care"
        for error, can in zip(errors, usable, strict=True)
    ]


def _denied(checks: Sequence[Check]) -> bool:
    """Return True where there is no structure, what must be measured was not, or too few parts carry the components."""
    return any(
        status(check) == "open" or (status(check) == "bad" and check.name != EXPECTED_ERROR)
        for check in checks
        if statement_of(check)
    )


def _most_usable(errors: np.ndarray, limit: float) -> float:
    """The largest error of a component that can be used.

    It is at most twice the limit. Where that would let all of them pass and their mean is *bad*, only the smallest can be used,
    whose mean is not: a fit whose mean error is bad never has components that can all be used.
    """
    if np.max(errors) > _CARE * limit:
        return _CARE * limit
    ascending = np.sort(errors)
    means = np.cumsum(ascending) / np.arange(1, len(errors) + 1)
    beyond = (means > ABOUT * limit) | (limit <= 0)
    few = ascending[ascending < ascending[beyond.argmax()]] if beyond.any() else ascending
    return float(few[-1]) if len(few) else -np.inf
