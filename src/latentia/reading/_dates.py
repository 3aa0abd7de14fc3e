"""Dates as people write them: with names of months, day first or month first, as one number."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

import numpy as np

_NAMES_OF_MONTHS = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar m\u00e4rz april mai juni juli august september oktober november dezember",
    "janvier f\u00e9vrier mars avril mai juin juillet ao\u00fbt septembre octobre novembre d\u00e9cembre",
)
_MONTHS = {name: i for names in _NAMES_OF_MONTHS for i, name in enumerate(names.split(), 1)}
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T ].*)?")
_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[T ,].*)?")
_NAMED = re.compile(
    r"(?:[A-Za-z]{3,9}, )?(\d{1,2})(?:st|nd|rd|th|\.)?[ -]([^\W\d_]{3,10})\.?,?[ -](\d{4}|\d{2})(?:[ ,].*)?"
)
_AMERICAN = re.compile(r"([^\W\d_]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?:[ ,].*)?")
_MONTH_YEAR = re.compile(r"([^\W\d_]{3,10})\.?[ -](\d{4})")
_NAMES = re.compile(r"(date|day|time|datum|tag|month|year|stamp|when|born|created|updated)", re.IGNORECASE)
_SAMPLED = 2000
_EPOCH = date(1970, 1, 1)


def dates_of(name: str, cells: list[str]) -> tuple[np.ndarray, str] | None:
    """Read cells that all hold dates as days since 1970, with how they are written; None where some are no dates.

    Parameters
    ----------
    name : str
        Of the column: numbers are dates only where it says so.
    cells : list of str
        Without those that have no value.
    """
    if not cells:
        return None
    for form, read in _READERS.items():
        if form.startswith("number") and not _NAMES.search(name):
            continue
        if read(cells[0]) is None:
            continue
        days = [read(cell) for cell in cells]
        if None not in days:
            return np.array(days, float), form
    return None


def looks_dated(name: str, values: np.ndarray) -> str | None:
    """Return how numbers are dates, where the name of the column says that they are; else None."""
    if not _NAMES.search(name) or not len(values):
        return None
    least, most = float(values.min()), float(values.max())
    whole = bool((values[:_SAMPLED] % 1 == 0).all())
    if whole and least >= 1800_01_01 and most <= 2200_12_31:
        cells = [str(int(value)) for value in values[:_SAMPLED]]
        return "numbers such as 20191224" if dates_of(name, cells) is not None else None
    if re.search(r"time|stamp|created|updated|date", name, re.IGNORECASE) and least >= 1e8 and most < 5e12:
        return "seconds since 1970" if most < 5e9 else "milliseconds since 1970"
    if re.search(r"date|day|datum", name, re.IGNORECASE) and least >= 20_000 and most <= 70_000:
        return "days of a spreadsheet"
    return None


def _day(year: int, month: int, day: int) -> float | None:
    year += (2000 if year < 70 else 1900) if year < 100 else 0
    try:
        return float((date(year, month, day) - _EPOCH).days)
    except ValueError:
        return None


def _iso(cell: str) -> float | None:
    found = _ISO.fullmatch(cell)
    if not found:
        return None
    day = _day(int(found[1]), int(found[2]), int(found[3] or 1))
    if day is None or len(cell) <= len("2020-01-31"):
        return day
    try:
        moment = datetime.fromisoformat(cell.replace("/", "-"))
    except ValueError:
        return day
    return day + (moment.replace(tzinfo=None) - datetime(moment.year, moment.month, moment.day)) / timedelta(days=1)


def _numbers(month_first: bool) -> Callable[[str], float | None]:
    def read(cell: str) -> float | None:
        found = _NUMBERS.fullmatch(cell)
        if not found:
            return None
        first, second = int(found[1]), int(found[3])
        return _day(int(found[4]), *((first, second) if month_first else (second, first)))

    return read


def _month(name: str) -> int | None:
    name = name.lower()
    return _MONTHS.get(name) or _MONTHS.get(name[:3])


def _named(cell: str) -> float | None:
    found, american = _NAMED.fullmatch(cell), _AMERICAN.fullmatch(cell)
    if found and _month(found[2]):
        return _day(int(found[3]), _month(found[2]) or 1, int(found[1]))
    if american and _month(american[1]):
        return _day(int(american[3]), _month(american[1]) or 1, int(american[2]))
    monthly = _MONTH_YEAR.fullmatch(cell)
    return _day(int(monthly[2]), _month(monthly[1]) or 1, 1) if monthly and _month(monthly[1]) else None


def _compact(cell: str) -> float | None:
    plain = re.fullmatch(r"(1[89]|20|21)\d{6}", cell)
    return _day(int(cell[:4]), int(cell[4:6]), int(cell[6:])) if plain else None


_READERS: dict[str, Callable[[str], float | None]] = {
    "year first": _iso, "day first": _numbers(False), "month first": _numbers(True), "with names of months": _named,
    "numbers such as 20191224": _compact,
}  # fmt: skip
