"""The evidence table of a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import LatentiaError, MissingExtraError

__all__ = ["Check", "Evidence"]


@dataclass(frozen=True)
class Check:
    """One line of the evidence.

    Attributes
    ----------
    name : str
    symbol : str
        The letter or formula of the reference.
    measured : float or str
        What the data says.
    needed : str
        What is asked of it, as text; empty where the line only informs.
    holds : bool or None
        Whether it is met; None where the line only informs.
    meaning : str
        What it means for the user, in a sentence.
    reference : str
        Theorem, section or definition.
    decides : bool
        Whether the verdict `Evidence.holds` depends on it.
    """

    name: str
    symbol: str
    measured: float | str
    needed: str
    holds: bool | None
    meaning: str
    reference: str
    decides: bool = False


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
        """Whether every deciding check is met. False also where none could be made: nothing is known then."""
        deciding = [check.holds for check in self.checks if check.decides]
        return bool(deciding) and all(bool(holds) for holds in deciding)

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
        for name in getattr(estimator, "_compared", ("components_",)):
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
        texts = [("check", "measured", "needed", "", "meaning")]
        texts += [(c.name, _number(c.measured), c.needed, _mark(c.holds), c.meaning) for c in self.checks]
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


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{int(value)}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.3g}"


def _mark(holds: bool | None) -> str:
    return "" if holds is None else "yes" if holds else "NO"


def describe(check: Check) -> Sequence[str]:
    """Name, measured value, need, verdict and meaning of a check as texts, for tables."""
    return check.name, _number(check.measured), check.needed, _mark(check.holds), check.meaning
