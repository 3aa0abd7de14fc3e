"""Periods of documents by their times: numbers, years or dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np

from .._entries import is_missing
from .._fields import MAX_MAGNITUDE
from .._parameters import Number
from .._validation import list_of
from ..exceptions import LatentiaError

UNITS = ("day", "week", "month", "quarter", "year", "decade", "century")
_MAX_PERIODS = 24  # The default unit gives at most this many periods.
_MAX_AXIS = 200  # An axis of at most this many periods also has those without documents.
_MONTHS_PER_UNIT = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_DAYS_PER_UNIT = {"day": 1, "week": 7}
_DATE_PATTERN = re.compile(r"\s*(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})")


@dataclass(frozen=True)
class Periods:
    """Periods of time with documents, in order.

    Attributes
    ----------
    of_rows : ndarray of int, shape (n_rows,)
        Period of every row, -1 for rows without a time.
    labels : list of str
    places : ndarray of shape (n_periods,)
        Mean times of the periods, in years for dates.
    unit : str
        Unit of the periods, or "" for numbers.
    numbers : ndarray of int, shape (n_periods,), or None
        For dates: number of units from the first period to each one.
    axis : list of str
        For dates: labels of all periods from the first to the last one, also of those without documents.
    """

    of_rows: np.ndarray
    labels: list[str]
    places: np.ndarray
    unit: str = ""
    numbers: np.ndarray | None = None
    axis: list[str] = field(default_factory=list)


def is_blank(value: Any) -> bool:
    """Return True if a cell is missing or holds only white space."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def assign_periods(times: Sequence[Any], period: str | float | None = None) -> Periods:
    """Assign times to periods.

    Parameters
    ----------
    times : sequence of numbers, dates, or texts that are either
        Dates as texts are 2024-05-31, 31.5.2024, or 5/31/2024 and 31/5/2024 if some day is above 12. Years are numbers.
    period : str or float, optional
        One of `UNITS` for dates, or the width of periods of numbers. By default the shortest unit with at most 24 periods;
        for numbers every value if there are at most 24, and a round width otherwise.
    """
    times = list_of(times, "times")
    rows = np.array([i for i, value in enumerate(times) if not is_blank(value)], dtype=np.int64)
    if not len(rows):
        raise LatentiaError("None of the documents has a time.")
    present_times = [times[i] for i in rows]
    numbers = _parse_numbers(present_times)
    if numbers is not None:
        return _periods_of_numbers(numbers, rows, len(times), period)
    return _periods_of_dates(_parse_dates(present_times, rows), rows, len(times), period)


# --- numbers ----------------------------------------------------------------------------------------------------


def _parse_numbers(values: Sequence[Any]) -> np.ndarray | None:
    """Parse finite numbers; return None if a value is something else."""
    if any(isinstance(value, (bool, np.bool_, complex, np.complexfloating, date, np.datetime64)) for value in values):
        return None
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def _periods_of_numbers(numbers: np.ndarray, rows: np.ndarray, n_rows: int, period: str | float | None) -> Periods:
    if isinstance(period, str):
        width = dict(zip(UNITS[4:], (1, 10, 100), strict=True)).get(period)
        if width is None:
            raise LatentiaError(
                f"expected a width as a number, because the times are numbers, such as {numbers[0]:g}.",
                parameter="period", value=period,
            )  # fmt: skip
        period = width
    is_whole = bool((numbers == np.round(numbers)).all())
    if period is None:
        if len(np.unique(numbers)) <= _MAX_PERIODS:
            return _make_periods(numbers, rows, n_rows, numbers, lambda value: f"{value:g}")
        period = _round_width(float(np.ptp(numbers)) / _MAX_PERIODS, is_whole)
    if not Number(np.abs(numbers).max() / MAX_MAGNITUDE, closed="").allows(period):
        raise LatentiaError("expected a positive width.", parameter="period", value=period)
    starts = np.floor(numbers / period) * period

    def label(start: float) -> str:
        last = start + period - 1 if is_whole and float(period).is_integer() else start + period
        return f"{start:.10g}" if last == start else f"{start:.10g} to {last:.10g}"

    return _make_periods(starts, rows, n_rows, numbers, label)


def _round_width(width: float, is_whole: bool) -> float:
    """Round a width up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(width))
    round_width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * (1 - 1e-9))
    return max(round_width, 1.0) if is_whole else float(round_width)


# --- dates ------------------------------------------------------------------------------------------------------


def _parse_dates(values: Sequence[Any], rows: np.ndarray) -> np.ndarray:
    """Parse dates to days, datetime64[D]."""
    texts = [value for value in values if isinstance(value, str)]
    order = _infer_day_order(texts)
    days = []
    for value, row in zip(values, rows, strict=True):
        try:
            days.append(_parse_day(value, order))
        except (TypeError, ValueError, OverflowError):
            raise LatentiaError(
                f"Expected a number or a date such as 2024-05-31 as the time of document {row + 1}; it is {value!r}."
            ) from None
    return np.array(days, dtype="datetime64[D]")


def _parse_day(value: Any, order: str) -> np.datetime64:
    if isinstance(value, str):
        parts = _DATE_PATTERN.match(value)
        if parts and len(parts[1]) < 3:
            first, second, year = int(parts[1]), int(parts[3]), int(parts[4])
            if len(parts[4]) != 4:
                raise ValueError
            day, month = (first, second) if parts[2] == "." or order == "day first" else (second, first)
            return np.datetime64(date(year, month, day), "D")
        text = value.strip()
        text = f"{text}-01" if re.fullmatch(r"\d{4}-\d{2}", text) else text
        return np.datetime64(datetime.fromisoformat(text).date(), "D")
    return np.datetime64(value, "D")


def _infer_day_order(texts: Sequence[str]) -> str:
    """Infer from days above 12 if dates with slashes or dashes, such as 5/31/2024, name the day or the month first."""
    matches = [
        parts
        for text in texts
        if (parts := _DATE_PATTERN.match(text)) and len(parts[1]) < 3 and parts[2] != "." and len(parts[4]) == 4
    ]
    if not matches:
        return ""
    first, second = (max(int(parts[i]) for parts in matches) for i in (1, 3))
    if first <= 12 and second <= 12:
        raise LatentiaError(
            f"Dates such as {matches[0].string!r} may name the day or the month first, and no day is above 12. Write them as "
            "2024-05-31."
        )
    return "day first" if first > 12 else "month first"


def _periods_of_dates(days: np.ndarray, rows: np.ndarray, n_rows: int, period: str | float | None) -> Periods:
    if period is not None and period not in UNITS:
        raise LatentiaError(
            f"expected one of {', '.join(UNITS)}, because the times are dates.", parameter="period", value=period
        )
    for unit in UNITS if period is None else [str(period)]:
        starts = _first_days(days, unit)
        if len(np.unique(starts)) <= _MAX_PERIODS:
            break
    years = 1970 + days.astype(np.int64) / 365.2425
    periods = _make_periods(starts.astype(np.int64), rows, n_rows, years, lambda day: _label_period(int(day), unit))
    numbers = np.unique(_period_numbers(starts, unit))
    axis_numbers = range(int(numbers[0]), int(numbers[-1]) + 1) if np.ptp(numbers) < _MAX_AXIS else numbers
    if len(axis_numbers) == len(numbers):
        return replace(periods, unit=unit, numbers=np.arange(len(numbers)), axis=periods.labels)
    axis = [_label_period(int(_first_day(int(number), unit).astype(np.int64)), unit) for number in axis_numbers]
    return replace(periods, unit=unit, numbers=numbers - numbers[0], axis=axis)


def _period_numbers(starts: np.ndarray, unit: str) -> np.ndarray:
    """Number periods by their starts; consecutive periods have consecutive numbers."""
    if unit in _MONTHS_PER_UNIT:
        return np.asarray((starts.astype("datetime64[M]").astype(np.int64) + 1970 * 12) // _MONTHS_PER_UNIT[unit])
    return np.asarray(starts.astype(np.int64) // _DAYS_PER_UNIT[unit])


def _first_day(number: int, unit: str) -> np.datetime64:
    """Return the first day of the period with a number."""
    if unit in _MONTHS_PER_UNIT:
        return np.datetime64(number * _MONTHS_PER_UNIT[unit] - 1970 * 12, "M").astype("datetime64[D]")
    return np.datetime64(number * _DAYS_PER_UNIT[unit] + (4 if unit == "week" else 0), "D")


def _first_days(days: np.ndarray, unit: str) -> np.ndarray:
    """Return the first day of the period of every day."""
    if unit == "day":
        return days
    if unit == "week":
        return days - (days.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
    months = days.astype("datetime64[M]").astype(np.int64)
    length = _MONTHS_PER_UNIT[unit]
    from_year_0 = months + 1970 * 12
    return ((from_year_0 - from_year_0 % length) - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]")


def _label_period(day: int, unit: str) -> str:
    start = np.datetime64(day, "D").item()
    labels: dict[str, Callable[[date], str]] = {
        "month": lambda d: f"{d:%Y-%m}",
        "quarter": lambda d: f"{d.year} Q{(d.month + 2) // 3}",
        "year": lambda d: str(d.year),
        "decade": lambda d: f"{d.year}s",
        "century": lambda d: f"{d.year} to {d.year + 99}",
        "week": lambda d: f"week of {d}",
    }
    return labels.get(unit, str)(start)


def _make_periods(
    starts: np.ndarray, rows: np.ndarray, n_rows: int, places: np.ndarray, label: Callable[[Any], str]
) -> Periods:
    """Make periods from the starts of the rows with a time."""
    distinct_starts, period_of_row = np.unique(starts, return_inverse=True)
    of_rows = np.full(n_rows, -1)
    of_rows[rows] = period_of_row
    means = np.bincount(period_of_row, places) / np.bincount(period_of_row)
    return Periods(of_rows, [label(start) for start in distinct_starts], means)
