"""Errors and warnings."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ._control_characters import escape_controls

__all__ = [
    "AnchorWarning",
    "DroppedDataWarning",
    "EvidenceWarning",
    "FileNotice",
    "LatentiaError",
    "LatentiaWarning",
    "MissingExtraError",
    "NegativeRecoveryWarning",
    "NonIntegerCountWarning",
    "NotSupportedWarning",
    "warn",
]


_NO_VALUE = object()
_WRITERS: list[Callable[[str, Any], str]] = []


def write_parameter(name: str, value: Any = _NO_VALUE) -> str:
    """Return how the reader of a message types a parameter, with or without a value: ``columns=`` in Python."""
    if _WRITERS:
        return _WRITERS[-1](name, None if value is _NO_VALUE else value)
    return f"{name}=" if value is _NO_VALUE else f"{name}={value!r}"


@contextlib.contextmanager
def parameters_written(writer: Callable[[str, Any], str]) -> Iterator[None]:
    """Have messages name parameters by ``writer(name, value)``; the value may be None."""
    _WRITERS.append(writer)
    try:
        yield
    finally:
        _WRITERS.remove(writer)


class LatentiaError(ValueError):
    """Error about input or parameters; a `ValueError`, so that existing handlers catch it.

    The message is built from the attributes: code that knows more sets them and raises the error again.

    Parameters
    ----------
    problem : str
        Expected and actual input, and what to do.
    parameter : str, optional
        Parameter that caused the error. The message then begins with ``parameter=value:``, or ``parameter:`` without a value;
        the command line shows its option instead.
    value : object, optional
        Value of the parameter, or of the cell in ``row`` and ``column``.
    at_most : int, optional
        Largest value of the parameter that the data supports.
    row, column : int or str, optional
        Number of the row, from 0, and number or name of the column.
    source : str or path, optional
        File or table, which the message names before the problem.
    place : str, optional
        Place in the source, such as "line 3".
    hint : str, optional
        Another solution, as the last sentence of the message.
    """

    def __init__(
        self,
        problem: str,
        *,
        parameter: str | None = None,
        value: Any = _NO_VALUE,
        at_most: int | None = None,
        row: int | None = None,
        column: Any = None,
        source: str | os.PathLike[str] | None = None,
        place: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem, self.parameter, self.value = problem, parameter, None if value is _NO_VALUE else value
        self.at_most, self.row, self.column = at_most, row, column
        self.source, self.place, self.hint = source, place, hint
        self._has_value = value is not _NO_VALUE

    def rename_source(self, path: Path, name: Path) -> None:
        """Replace the path of a temporary copy by the name that the user knows."""
        if self.source is not None and Path(self.source).is_relative_to(path):
            self.source = name / Path(self.source).relative_to(path)

    @property
    def message(self) -> str:
        """Message without the parameter."""
        return self.compose("")

    def compose(self, parameter: str) -> str:
        """Return the message, with a text for the parameter after source and place."""
        where = ", ".join(filter(None, [os.fspath(self.source or ""), self.place]))
        return " ".join(filter(None, [": ".join(filter(None, [where, parameter, self.problem])), self.hint]))

    def __str__(self) -> str:
        name = self.parameter
        place = "" if name is None else f"{name}={self.value!r}: " if self._has_value else f"{name}: "
        return escape_controls(f"{place}{self.message}")


class MissingExtraError(LatentiaError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. Install it with: pip install {package} "
            f"(or, in a copy of latentia's sources, pip install '.[{extra}]' for all of its kind)"
        )
        self.args = (package, extra, purpose)  # used by copy and pickle


class LatentiaWarning(UserWarning):
    """Base class of the warnings of this library."""

    def __init__(self, message: str = "") -> None:
        super().__init__(escape_controls(str(message)))


class AnchorWarning(LatentiaWarning):
    """Requested anchor words are missing, too rare, or repeated."""


class DroppedDataWarning(LatentiaWarning):
    """Rows or columns that the model cannot use were left out."""


class EvidenceWarning(LatentiaWarning):
    """An assumption of the method's theorem does not hold on this data."""


class NotSupportedWarning(EvidenceWarning):
    """The data does not support the fit: its evidence has the last grade."""


class FileNotice(LatentiaWarning):
    """Notice about a file: a copy was put beside it, or its encoding was detected.

    Parameters
    ----------
    fact : str
        Fact to report.
    advice : str
        What to do about it, in Python.
    parameter : str, optional
        Parameter in the advice; the command line names its own option instead.
    """

    def __init__(self, fact: str, advice: str = "", *, parameter: str | None = None) -> None:
        super().__init__(f"{fact} {advice}".rstrip())
        self.fact, self.advice, self.parameter = fact, advice, parameter


class NegativeRecoveryWarning(LatentiaWarning):
    """Recovery by matrix inversion gave negative probabilities, which were clipped."""


class NonIntegerCountWarning(LatentiaWarning):
    """Expected counts, but the values are not whole numbers."""


def warn(message: str | LatentiaWarning, category: type[LatentiaWarning] = LatentiaWarning) -> None:
    """Warn at the line outside of this library that called it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
