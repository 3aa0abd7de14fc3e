"""Checks: measured values and the bounds they should meet."""

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
    """Bound on a measured value.

    Attributes
    ----------
    relation : {"<=", ">=", ">", "=", "in", "to"}
    limit : float
        The bound; the lower end of an open interval for "in", of a closed one for "to".
    high : float
        Upper end of the interval.
    unit : str
        Note on the limit, shown in tables.
    """

    relation: Literal["<=", ">=", ">", "=", "in", "to"]
    limit: float
    high: float = np.inf
    unit: str = ""

    def holds(self, measured: float) -> bool:
        """Return True if the value meets the bound; NaN never does."""
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
    """Require measured <= limit."""
    return Bound("<=", float(limit), unit=unit)


def at_least(limit: float, unit: str = "") -> Bound:
    """Require measured >= limit."""
    return Bound(">=", float(limit), unit=unit)


def above(limit: float, unit: str = "") -> Bound:
    """Require measured > limit."""
    return Bound(">", float(limit), unit=unit)


def equal_to(limit: float, unit: str = "") -> Bound:
    """Require measured = limit."""
    return Bound("=", float(limit), unit=unit)


def between(low: float, high: float, unit: str = "") -> Bound:
    """Require low < measured < high."""
    return Bound("in", float(low), float(high), unit)


def within(low: float, high: float, unit: str = "") -> Bound:
    """Require low <= measured <= high."""
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
        Measured value; None if it was not measured.
    bound : Bound or None
        Bound on the value; None if the check only informs.
    meaning : str
        Meaning for the user, in one sentence.
    reference : str
        Theorem, section or definition.
    role : {"note", "caution", "veto", "verdict"}
        A verdict must be measured and met, and a veto must not fail. A failed caution means: use with care. Notes are not
        part of the verdict.
    remedy : str
        What to do if the check fails, in one sentence, where possible with numbers measured on this data.
    suggests : int
        Number of components that the remedy suggests; 0 if it names none.
    n_rows : int
        For an expected error: rows of the fit; 0 if the error falls with something other than rows.
    shared : float
        For an expected error: the part of its square that more rows do not reduce.
    held_out : ndarray or None
        Log-likelihood of held-out rows, shape (n,), where that is what was measured. It is not saved.
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
        """True if the bound is met; None if there is no bound or no measurement."""
        if self.bound is None or self.measured is None or isinstance(self.measured, str):
            return None
        return self.bound.holds(self.measured)

    @property
    def needed(self) -> str:
        """Bound as text."""
        return "" if self.bound is None else str(self.bound)


def number_text(value: float) -> str:
    """Format a number: whole numbers in full, others with three digits."""
    return f"{int(value)}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.3g}"


def count(number: int, noun: str) -> str:
    """Format a count with its noun: ``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def describe(check: Check) -> Sequence[str]:
    """Return name, measured value, bound, result and meaning of a check as texts, for tables."""
    measured = "not measured" if check.measured is None else check.measured
    mark = "" if check.role == "note" else {True: "yes", False: "NO", None: ""}[check.holds]
    text = measured if isinstance(measured, str) else number_text(measured)
    return check.name, text, check.needed, mark, check.meaning
