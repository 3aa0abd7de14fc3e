"""The checks of the evidence: what was measured, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from .. import _fields as of

EXPECTED_ERROR = "expected error"
REAL_OR_SIMULATED = "real or simulated"
PARTS_FITTED = "parts fitted"


@dataclass(frozen=True)
class Bound:
    """Bound of a measured value.

    Attributes
    ----------
    relation : {"<=", ">=", ">", "=", "in", "to"}
    limit : float
        For "in" the lower end of an open interval, for "to" of a closed one.
    high : float
        Its upper end.
    unit : str
        What the limit is, for tables.
    """

    relation: Literal["<=", ">=", ">", "=", "in", "to"]
    limit: float
    high: float = np.inf
    unit: str = ""

    def holds(self, measured: float) -> bool:
        """Whether the value meets it; NaN meets nothing."""
        if self.relation == "<=":
            return bool(measured <= self.limit)
        if self.relation == ">=":
            return bool(measured >= self.limit)
        if self.relation == ">":
            return bool(measured > self.limit)
        if self.relation == "to":
            return bool(self.limit <= measured <= self.high)
        return bool(self.limit < measured < self.high) if self.relation == "in" else bool(measured == self.limit)

    def __str__(self) -> str:
        limit = number_text(self.limit)
        if self.relation == "to":
            text = limit if self.limit == self.high else f"{limit} to {number_text(self.high)}"
            return f"{text} ({self.unit})" if self.unit else text
        text = f"in ({limit}, {number_text(self.high)})" if self.relation == "in" else f"{self.relation} {limit}"
        return f"{text} ({self.unit})" if self.unit else text


def at_most(limit: float, unit: str = "") -> Bound:
    """Measured <= limit."""
    return Bound("<=", float(limit), unit=unit)


def at_least(limit: float, unit: str = "") -> Bound:
    """Measured >= limit."""
    return Bound(">=", float(limit), unit=unit)


def above(limit: float, unit: str = "") -> Bound:
    """Measured > limit."""
    return Bound(">", float(limit), unit=unit)


def equal_to(limit: float, unit: str = "") -> Bound:
    """Measured = limit."""
    return Bound("=", float(limit), unit=unit)


def between(low: float, high: float, unit: str = "") -> Bound:
    """Low < measured < high."""
    return Bound("in", float(low), float(high), unit)


def within(low: float, high: float, unit: str = "") -> Bound:
    """Low <= measured <= high."""
    return Bound("to", float(low), float(high), unit)


@dataclass(frozen=True)
class Check:
    """One line of the evidence.

    Attributes
    ----------
    name : str
    symbol : str
        The letter or formula of the reference.
    measured : float, str or None
        What the data says; None where it was not measured.
    bound : Bound or None
        What is asked of it; None where the line only informs.
    meaning : str
        What it means for the user, in a sentence.
    reference : str
        Theorem, section or definition.
    role : {"note", "caution", "veto", "verdict"}
        A verdict must be measured and met, and a veto must not fail. Where a caution fails a fit is to be used with care. Notes
        are measurements that are not part of the verdict.
    remedy : str
        What to do where it fails, in a sentence; as far as can be, something that was measured on this data.
    suggests : int
        How many components the remedy says to try; 0 if it names no number.
    n_rows : int
        Of an expected error: rows that it is the error of; 0 where it falls with something else.
    shared : float
        Of an expected error: the part of its square that more rows do not make smaller.
    held_out : ndarray or None
        Log-likelihood of rows under fits to others, shape (n,), where that is what was measured. It is not saved.
    """

    name: str
    symbol: str
    measured: float | str | None
    bound: Bound | None
    meaning: str
    reference: str
    role: Literal["note", "caution", "veto", "verdict"] = "note"
    remedy: str = ""
    suggests: int = 0
    n_rows: int = 0
    shared: float = 0.0
    held_out: Annotated[np.ndarray | None, of.numbers("*")] = field(default=None, repr=False, compare=False)

    @property
    def holds(self) -> bool | None:
        """Whether the bound is met; None where there is none, or nothing was measured."""
        if self.bound is None or self.measured is None or isinstance(self.measured, str):
            return None
        return self.bound.holds(self.measured)

    @property
    def needed(self) -> str:
        """The bound as text."""
        return "" if self.bound is None else str(self.bound)


def number_text(value: float) -> str:
    """Whole numbers as they are, others with three digits."""
    return f"{int(value)}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.3g}"


def count(number: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def describe(check: Check) -> Sequence[str]:
    """Name, measured value, need, verdict and meaning of a check as texts, for tables."""
    measured = "not measured" if check.measured is None else check.measured
    mark = "" if check.role == "note" else {True: "yes", False: "NO", None: ""}[check.holds]
    text = measured if isinstance(measured, str) else number_text(measured)
    return check.name, text, check.needed, mark, check.meaning
