"""Effects of the columns of a table on components, on the command line: options, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import tables
from ..datasets.tables import ColumnChoice
from ..effects import Effects
from ..effects.design import design_of
from ..effects.formulas import CheckedFormula, check_formula
from ..exceptions import LatentiaError, MissingExtraError
from ._shared import ReadOptions

Measure = Callable[[Any, Any], tuple[str, Effects] | None]


def effects_of(
    columns: Mapping[str, Sequence[str]], n_rows: int, formula: str | None, cluster: str | None, without: str = ""
) -> Measure:
    """What measures the effects of columns on the components of a model, given it and its rows.

    The columns can be used: an error before any fit otherwise; ``without`` is what it says where there are none.
    """
    if formula is None:
        if cluster is not None:
            raise LatentiaError("--cluster: belongs to --effects FORMULA.")
        return lambda model, rows: None
    if not columns and without:
        raise LatentiaError(f"--effects '{formula}': {without}")
    table = {name: _typed(values) for name, values in columns.items()}
    with _about(formula):
        design_of(formula, table, n_rows)
    if cluster is not None and cluster not in table:
        raise LatentiaError(f"--cluster {cluster}: there is no such column. There are {', '.join(table)}.")
    return lambda model, rows: (formula, model.effects(rows, formula, table, cluster=cluster))


def check_effects(formula: str | None) -> None:
    """Raise for a formula that cannot be read, or without the package that reads it, before a file is read."""
    if formula is not None:
        with _about(formula):
            check_formula(formula)


@dataclass(frozen=True)
class Covariates:
    """Cells of the columns that a formula and clusters are of, empty where there is no value, and the lines they stand in."""

    columns: dict[str, list[str]]
    lines: Sequence[int]

    @classmethod
    def read(cls, path: Path, formula: str | None, cluster: str | None, reading: ReadOptions) -> Covariates:
        """Those that the options name, of all rows of a file."""
        if formula is None:
            return cls({}, [])
        with _about(formula):
            names = CheckedFormula(formula).columns
        names += [] if cluster is None or cluster in names else [cluster]

        def choose(kinds: Mapping[str, str]) -> ColumnChoice:
            tables.check_columns(path, kinds, f"--effects '{formula}'", names)
            return ColumnChoice(texts=names)

        table = tables.read_table(
            path,
            choose,
            missing="keep",
            cache=reading.cache,
            encoding=reading.encoding,
            asked=reading.asked,
            sheet=reading.sheet,
        )
        return cls(table.texts, table.rows)

    def of_rows(self, lines: Sequence[int]) -> dict[str, list[str]]:
        """The cells of some rows."""
        places = np.searchsorted(self.lines, lines)
        return {name: [cells[i] for i in places] for name, cells in self.columns.items()}


@contextmanager
def _about(formula: str) -> Iterator[None]:
    """Errors of a formula name the option."""
    try:
        yield
    except MissingExtraError:
        raise
    except LatentiaError as error:
        raise LatentiaError(f"--effects '{formula}': {error.message}") from error


def _typed(values: Sequence[str]) -> Sequence[Any]:
    """Numbers, NaN for blanks, where all entries of a column are numbers; else the texts."""
    try:
        return [float(value) if value.strip() else np.nan for value in values]
    except ValueError:
        return values
