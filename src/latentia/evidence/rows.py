"""How many rows would bring an expected error down to where it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .checks import EXPECTED_ERROR, Check

_FACTOR = 1.5  # between an expected error and the true one: 90% of the fits of benchmarks/rows_needed.py are within it
_MOST_TIMES = 20.0  # as many rows, for advice to get more


@dataclass(frozen=True)
class RowsNeeded:
    """A number of rows, with an interval.

    Attributes
    ----------
    rows, low, high : float
        Infinite where no number of rows is enough.
    """

    rows: float
    low: float
    high: float


def rows_at(error: float, wanted: float, n_rows: int, shared: float) -> RowsNeeded:
    """Return how many rows bring the ``error`` of ``n_rows`` to ``wanted``: what is not ``shared`` falls with their root."""
    room = wanted**2 - shared
    rows = np.inf if room <= 0 else n_rows * max(error**2 - shared, 0.0) / room
    return RowsNeeded(*(float(np.ceil(number)) for number in (rows, rows / _FACTOR**2, rows * _FACTOR**2)))


def shared_part(check: Check, fits: bool | None) -> float:
    """Return what more rows leave of the square of an error; where no misfit shows, it is noise as well, and falls."""
    return 0.0 if fits else check.shared


def more_rows(
    errors: np.ndarray, known: np.ndarray, checks: Sequence[Check], nouns: tuple[str, str, str], fits: bool | None
) -> str:
    """Return a sentence on how many rows would bring the errors of components to their limit; none where that is far off.

    Only those that are ``known`` to be there, bool, shape (K,), have errors that more rows make smaller.
    """
    check: Any = next((check for check in checks if check.name == EXPECTED_ERROR and check.n_rows), None)
    if check is None or check.bound is None:
        return ""
    limit, shared, (singular, plural, rows) = check.bound.limit, shared_part(check, fits), nouns
    beyond = errors > limit
    needed = [rows_at(error, limit, check.n_rows, shared) for error in errors[known & beyond]]
    within_reach = [number for number in needed if number.rows <= _MOST_TIMES * check.n_rows]
    if not within_reach:
        return ""
    most, n = max(within_reach, key=lambda number: number.rows), len(within_reach)
    components = f"all {plural}" if n == beyond.sum() else f"{n} more {plural if n > 1 else singular}"
    return (
        f"About {_about(most.rows)} {rows} ({_about(most.low)} to {_about(most.high)}) would be enough for {components}, "
        f"if the model holds: there are {check.n_rows:,}."
    )


def _about(number: float) -> str:
    """Return a number with two digits, rounded up."""
    digit = 10 ** max(int(np.log10(max(number, 1.0))) - 1, 0)
    return f"{-(-number // digit) * digit:,.0f}"
