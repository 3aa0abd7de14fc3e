"""The evidence of a fitted model: checks as data, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from ..exceptions import LatentiaError, MissingExtraError

__all__ = ["Bound", "Check", "Evidence", "above", "at_least", "at_most", "between", "equal_to"]

EXPECTED_ERROR = "expected error"


@dataclass(frozen=True)
class Bound:
    """What is asked of a measured value.

    Attributes
    ----------
    relation : {"<=", ">=", ">", "=", "in"}
    limit : float
        For "in" the lower end of an open interval.
    high : float
        For "in" its upper end.
    unit : str
        What the limit is, for tables.
    """

    relation: Literal["<=", ">=", ">", "=", "in"]
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
        return bool(self.limit < measured < self.high) if self.relation == "in" else bool(measured == self.limit)

    def __str__(self) -> str:
        limit = _number(self.limit)
        text = f"in ({limit}, {_number(self.high)})" if self.relation == "in" else f"{self.relation} {limit}"
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
    role : {"note", "veto", "verdict"}
        A fit is supported if every verdict is met, measured ones only, and no veto fails. Notes never decide.
    """

    name: str
    symbol: str
    measured: float | str | None
    bound: Bound | None
    meaning: str
    reference: str
    role: Literal["note", "veto", "verdict"] = "note"

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


@dataclass
class Evidence:
    """Checks of a fitted model, and the expected error of each of its components.

    Attributes
    ----------
    checks : list of Check
    component_errors : ndarray of shape (K,) or None
        Expected error of each component, from fits on halves of the data; None if they were not made. For distributions
        it is an l1 distance, of a possible 2; other families say in their documentation what it is.
    subject : str
        What the verdict is on.
    """

    checks: list[Check]
    component_errors: np.ndarray | None = None
    subject: str = "this fit"
    _estimator: Any = field(default=None, repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """Whether every verdict is met and no veto fails. What was not measured is not met."""
        verdicts = [check.holds for check in self.checks if check.role == "verdict"]
        vetoed = any(check.holds is False for check in self.checks if check.role == "veto")
        return bool(verdicts) and all(holds is True for holds in verdicts) and not vetoed

    @property
    def failed(self) -> list[Check]:
        """The checks because of which the evidence does not hold."""
        undecided = {"verdict": (False, None), "veto": (False,), "note": ()}
        return [check for check in self.checks if check.holds in undecided[check.role]]

    @property
    def measured(self) -> bool:
        """Whether some verdict was measured, or a veto fails."""
        decided = {"verdict": (True, False), "veto": (False,), "note": ()}
        return any(check.holds in decided[check.role] for check in self.checks)

    @property
    def expected_error(self) -> float | None:
        """Mean expected error of a component; None if it was not measured."""
        value = next((check.measured for check in self.checks if check.name == EXPECTED_ERROR), None)
        return None if value is None or isinstance(value, str) else float(value)

    @property
    def limit(self) -> float | None:
        """The mean expected error up to which a fit is supported."""
        return next((c.bound.limit for c in self.checks if c.name == EXPECTED_ERROR and c.bound is not None), None)

    def __getitem__(self, name: str) -> Check:
        """The check of that name."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{name!r}; there are {', '.join(check.name for check in self.checks)}")

    def stability(self, X: Any, n_splits: int = 2, random_state: int = 0, **fit_parameters: Any) -> np.ndarray:
        """Expected error of each component, from independent fits on disjoint random halves of the data.

        Parameters
        ----------
        X : the data that the model was fitted on, in any form that ``fit`` takes
        n_splits : int
            Random splits into two halves, averaged; each costs two fits on half of the data.
        **fit_parameters
            What else ``fit`` took: ``lengths`` of sequences, ``views`` of a table.

        Returns
        -------
        ndarray of shape (K,)
        """
        from .stability import half_split_errors

        if self._estimator is None:
            raise LatentiaError("This evidence has no model. Use the evidence_ attribute of a fitted or loaded one.")
        options: dict[str, Any] = {"n_splits": n_splits, "random_state": random_state}
        return half_split_errors(self._estimator, X, **options, **fit_parameters)

    def bind(self, estimator: Any) -> Evidence:
        """Let `stability` refit copies of ``estimator`` as it is now; returns the evidence.

        Parameters and what is compared are kept, not the estimator: fitting it again leaves this evidence what it was.
        """
        self._estimator = clone(estimator)
        for name in estimator._compared:
            if hasattr(estimator, name):
                setattr(self._estimator, name, getattr(estimator, name))
        return self

    def to_frame(self) -> Any:
        """The checks as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "data", "Evidence.to_frame") from None
        return pd.DataFrame(self.rows(), columns=list(_COLUMNS))

    def rows(self) -> list[dict[str, Any]]:
        """The checks as dictionaries of name, symbol, measured, needed, holds, meaning and reference."""
        return [{column: getattr(check, column) for column in _COLUMNS} for check in self.checks]

    def __str__(self) -> str:
        texts = [("check", "measured", "needed", "", "meaning"), *(describe(check) for check in self.checks)]
        widths = [max(len(row[i]) for row in texts) for i in range(4)]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)) + "  " + row[4] for row in texts
        ]
        return "\n".join([lines[0], "-" * min(100, max(map(len, lines))), *lines[1:], self.verdict])

    @property
    def verdict(self) -> str:
        """`holds` as a sentence."""
        return f"The evidence {'supports' if self.holds else 'does NOT support'} {self.subject}."


_COLUMNS = ("name", "symbol", "measured", "needed", "holds", "meaning", "reference")


def _number(value: float) -> str:
    return f"{int(value)}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.3g}"


def describe(check: Check) -> Sequence[str]:
    """Name, measured value, need, verdict and meaning of a check as texts, for tables."""
    measured = "not measured" if check.measured is None else check.measured
    mark = {True: "yes", False: "NO", None: ""}[check.holds]
    text = measured if isinstance(measured, str) else _number(measured)
    return check.name, text, check.needed, mark, check.meaning
