"""Effects of table columns on components: the command's options and their preparation."""

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


def prepare_effects(
    columns: Mapping[str, Sequence[str]], n_rows: int, formula: str | None, cluster: str | None, no_columns: str = ""
) -> Measure:
    """Return a function that measures the effects of columns on the components of a model.

    Problems of the formula or the columns raise before any fit; ``no_columns`` is the message if there are no columns.
    """
    if formula is None:
        if cluster is not None:
            raise LatentiaError("--cluster needs --effects FORMULA.")
        return lambda model, rows: None
    if not columns and no_columns:
        raise LatentiaError(f"--effects '{formula}': {no_columns}")
    table = {name: _parse_cells(values) for name, values in columns.items()}
    with _name_formula(formula):
        design_of(formula, table, n_rows)
    if cluster is not None and cluster not in table:
        raise LatentiaError(f"--cluster {cluster}: no such column. There are {', '.join(table)}.")
    return lambda model, rows: (formula, model.effects(rows, formula, table, cluster=cluster))


def check_effects(formula: str | None) -> None:
    """Raise for a formula with an error, or without the package that reads formulas, before any file is read."""
    if formula is not None:
        with _name_formula(formula):
            check_formula(formula)


@dataclass(frozen=True)
class Covariates:
    """Cells of the columns of a formula and its clusters, empty where missing, with their lines in the file."""

    columns: dict[str, list[str]]
    lines: Sequence[int]

    @classmethod
    def read(cls, path: Path, formula: str | None, cluster: str | None, reading: ReadOptions) -> Covariates:
        """Read the columns that the options name, for all rows of a file."""
        if formula is None:
            return cls({}, [])
        with _name_formula(formula):
            names = list(CheckedFormula(formula).columns.values())
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
            column_options=reading.column_options,
            sheet=reading.sheet,
        )
        return cls(table.texts, table.rows)

    def select_rows(self, lines: Sequence[int]) -> dict[str, list[str]]:
        """Return the cells of the rows at these lines."""
        places = np.searchsorted(self.lines, lines)
        return {name: [cells[i] for i in places] for name, cells in self.columns.items()}


@contextmanager
def _name_formula(formula: str) -> Iterator[None]:
    """Add the option to the errors of a formula."""
    try:
        yield
    except MissingExtraError:
        raise
    except LatentiaError as error:
        raise LatentiaError(f"--effects '{formula}': {error.message}") from error


def _parse_cells(values: Sequence[str]) -> Sequence[Any]:
    """Convert a column of numbers to floats, with NaN for blanks; return other columns unchanged."""
    try:
        return [float(value) if value.strip() else np.nan for value in values]
    except ValueError:
        return values
