"""Dates as people write them: with month names, day first, month first, or as one number."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

import numpy as np

_MONTH_NAMES = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar m\u00e4rz april mai juni juli august september oktober november dezember",
    "janvier f\u00e9vrier mars avril mai juin juillet ao\u00fbt septembre octobre novembre d\u00e9cembre",
)
_MONTHS = {name: i for names in _MONTH_NAMES for i, name in enumerate(names.split(), 1)}
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T ].*)?")
_NUMERIC_DATE = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[T ,](.*))?")
_HOURS = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?(?:\s*([ap])\.?m\.?)?", re.IGNORECASE)
_DAY_MONTH_YEAR = re.compile(
    r"(?:[A-Za-z]{3,9}, )?(\d{1,2})(?:st|nd|rd|th|\.)?[ -]([^\W\d_]{3,10})\.?,?[ -](\d{4}|\d{2})(?:[ ,].*)?"
)
_MONTH_DAY_YEAR = re.compile(r"([^\W\d_]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?:[ ,].*)?")
_MONTH_YEAR = re.compile(r"([^\W\d_]{3,10})\.?[ -](\d{4})")
_DATE_COLUMN = re.compile(r"(date|day|time|datum|tag|month|year|stamp|when|born|created|updated)", re.IGNORECASE)
_SAMPLE_SIZE = 2000
_EPOCH = date(1970, 1, 1)


def dates_of(name: str, cells: list[str]) -> tuple[np.ndarray, str] | None:
    """Convert dates to days since 1970 and name their notation; return None if any cell is not a date.

    Parameters
    ----------
    name : str
        Name of the column. Numbers count as dates only if the name says so.
    cells : list of str
        Cells with a value.
    """
    if not cells:
        return None
    for form, parse in _PARSERS.items():
        if form.startswith("number") and not _DATE_COLUMN.search(name):
            continue
        if parse(cells[0]) is None:
            continue
        days = [parse(cell) for cell in cells]
        if None not in days:
            return np.array(days, float), form
    return None


def looks_dated(name: str, values: np.ndarray) -> str | None:
    """Return the notation of dates written as numbers; None unless the name of the column announces dates."""
    if not _DATE_COLUMN.search(name) or not len(values):
        return None
    smallest, largest = float(values.min()), float(values.max())
    all_whole = bool((values[:_SAMPLE_SIZE] % 1 == 0).all())
    if all_whole and smallest >= 1800_01_01 and largest <= 2200_12_31:
        cells = [str(int(value)) for value in values[:_SAMPLE_SIZE]]
        return "numbers such as 20191224" if dates_of(name, cells) is not None else None
    if re.search(r"time|stamp|created|updated|date", name, re.IGNORECASE) and smallest >= 1e8 and largest < 5e12:
        return "seconds since 1970" if largest < 5e9 else "milliseconds since 1970"
    if re.search(r"date|day|datum", name, re.IGNORECASE) and smallest >= 20_000 and largest <= 70_000:
        return "days of a spreadsheet"
    return None


def _days_since_epoch(year: int, month: int, day: int) -> float | None:
    year += (2000 if year < 70 else 1900) if year < 100 else 0
    try:
        return float((date(year, month, day) - _EPOCH).days)
    except ValueError:
        return None


def _parse_iso(cell: str) -> float | None:
    match = _ISO.fullmatch(cell)
    if not match:
        return None
    day = _days_since_epoch(int(match[1]), int(match[2]), int(match[3] or 1))
    if day is None or len(cell) <= len("2020-01-31"):
        return day
    try:
        moment = datetime.fromisoformat(cell.replace("/", "-"))
    except ValueError:
        return day
    return day + (moment.replace(tzinfo=None) - datetime(moment.year, moment.month, moment.day)) / timedelta(days=1)


def hours_of(cell: str) -> float | None:
    """Convert a time such as 9:30, 21:30:05 or 9:30 pm to a share of a day; return None for other cells."""
    match = _HOURS.fullmatch(cell)
    if not match:
        return None
    hours = int(match[1]) % 12 + 12 * (match[4].lower() == "p") if match[4] else int(match[1])
    return (hours + int(match[2]) / 60 + float((match[3] or "0").replace(",", ".")) / 3600) / 24


def _make_number_parser(month_first: bool) -> Callable[[str], float | None]:
    def read(cell: str) -> float | None:
        match = _NUMERIC_DATE.fullmatch(cell)
        if not match:
            return None
        first, second = int(match[1]), int(match[3])
        day = _days_since_epoch(int(match[4]), *((first, second) if month_first else (second, first)))
        return day if day is None else day + (hours_of((match[5] or "").strip()) or 0.0)

    return read


def _month_number(name: str) -> int | None:
    name = name.lower()
    return _MONTHS.get(name) or _MONTHS.get(name[:3])


def _parse_named_month(cell: str) -> float | None:
    european, american = _DAY_MONTH_YEAR.fullmatch(cell), _MONTH_DAY_YEAR.fullmatch(cell)
    if european and _month_number(european[2]):
        return _days_since_epoch(int(european[3]), _month_number(european[2]) or 1, int(european[1]))
    if american and _month_number(american[1]):
        return _days_since_epoch(int(american[3]), _month_number(american[1]) or 1, int(american[2]))
    monthly = _MONTH_YEAR.fullmatch(cell)
    return (
        _days_since_epoch(int(monthly[2]), _month_number(monthly[1]) or 1, 1)
        if monthly and _month_number(monthly[1])
        else None
    )


def _parse_compact(cell: str) -> float | None:
    plain = re.fullmatch(r"(1[89]|20|21)\d{6}", cell)
    return _days_since_epoch(int(cell[:4]), int(cell[4:6]), int(cell[6:])) if plain else None


_PARSERS: dict[str, Callable[[str], float | None]] = {
    "year first": _parse_iso, "day first": _make_number_parser(False), "month first": _make_number_parser(True),
    "with names of months": _parse_named_month,
    "numbers such as 20191224": _parse_compact,
}  # fmt: skip
