"""Number of rows that an expected error needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .checks import EXPECTED_ERROR, Check

_INTERVAL_FACTOR = 1.5  # between expected and true error; covers 90% of the fits of benchmarks/rows_needed.py
_MAX_TIMES_ROWS = 20.0  # advice to get more rows goes up to this multiple of the present number


@dataclass(frozen=True)
class RowsNeeded:
    """A number of rows, with an interval.

    Attributes
    ----------
    rows, low, high : float
        Number of rows and its interval; infinite if no number is enough.
    """

    rows: float
    low: float
    high: float


def rows_at(error: float, target: float, n_rows: int, shared: float) -> RowsNeeded:
    """Return how many rows bring the error to ``target``; all but ``shared`` falls with their square root."""
    reducible = target**2 - shared
    rows = np.inf if reducible <= 0 else n_rows * max(error**2 - shared, 0.0) / reducible
    return RowsNeeded(
        *(float(np.ceil(number)) for number in (rows, rows / _INTERVAL_FACTOR**2, rows * _INTERVAL_FACTOR**2))
    )


def shared_part(check: Check, fits: bool | None) -> float:
    """Return the part of a squared error that more rows do not reduce; 0 if no misfit shows."""
    return 0.0 if fits else check.shared


def more_rows(
    errors: np.ndarray, is_known: np.ndarray, checks: Sequence[Check], nouns: tuple[str, str, str], fits: bool | None
) -> str:
    """Return a sentence on how many rows would bring the errors to their limit; "" if that is far away.

    Only components that are known to exist (``is_known``, bool, shape (K,)) have errors that more rows reduce.
    """
    check: Any = next((check for check in checks if check.name == EXPECTED_ERROR and check.n_rows), None)
    if check is None or check.bound is None:
        return ""
    limit, shared, (singular, plural, rows) = check.bound.limit, shared_part(check, fits), nouns
    exceeds = errors > limit
    needed = [rows_at(error, limit, check.n_rows, shared) for error in errors[is_known & exceeds]]
    within_reach = [number for number in needed if number.rows <= _MAX_TIMES_ROWS * check.n_rows]
    if not within_reach:
        return ""
    largest, n = max(within_reach, key=lambda number: number.rows), len(within_reach)
    components = f"all {plural}" if n == exceeds.sum() else f"{n} more {plural if n > 1 else singular}"
    return (
        f"About {_round_up(largest.rows)} {rows} ({_round_up(largest.low)} to {_round_up(largest.high)}) would be enough for "
        f"{components}, if the model holds: there are {check.n_rows:,}."
    )


def _round_up(number: float) -> str:
    """Round up to two digits."""
    digit = 10 ** max(int(np.log10(max(number, 1.0))) - 1, 0)
    return f"{-(-number // digit) * digit:,.0f}"
