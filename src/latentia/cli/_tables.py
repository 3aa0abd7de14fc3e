"""Columns of a table that the options name, and lines about them."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from ..datasets import tables
from ..datasets.tables import (
    ColumnChoice,
    Table,
    check_columns,
    find_gaps,
    list_names,
    list_rows,
    numeric_columns,
    select_rows,
)
from ..exceptions import FileNotice, LatentiaError, warn
from ..summaries import Column, write_csv
from ..system.terminal import say
from ._shared import BLANK, ReadOptions, explain_cell_errors

MISSING = "drop", "mean"
_MAX_LINES = 8  # about one file


def announce(table: Table, labels: Iterable[str] = ()) -> Table:
    """Print what was used and left out, in at most eight lines, doubts first; ``labels`` are further columns in use."""
    if table.reading is not None:
        named = f"rows are named as in {table.reading.naming!r}: {list_names(table.names, 3)}" if table.names else ""
        lines = table.reading.lines(table.columns, [*table.texts, *labels])
        for line in filter(None, [*lines[: _MAX_LINES - bool(named)], named]):
            say(line)
        return table
    n, width = table.values.shape
    say(f"{table.source}: {n:,} rows, {width} columns: {list_names(table.columns, 10)}")
    if table.left_out:
        say(f"not used: {list_names(table.left_out, 10)}")
    return table


def describe_source(table: Table) -> str:
    """Return the source as reports name it, with the treatment of missing cells."""
    if table.n_dropped:
        n = len(table.rows) + table.n_dropped
        return f"{table.source}, without {table.n_dropped:,} of {n:,} rows, which lack a value"
    if table.n_filled:
        return f"{table.source}, with means in {table.n_filled:,} cells that had no value"
    return table.source


def read_table(
    path: Path, choose: Callable[[Mapping[str, str]], ColumnChoice], reading: ReadOptions, option: str = "--columns"
) -> Table:
    """Read columns as `datasets.tables.read_table` does; errors suggest ``option`` for a choice of columns."""
    with explain_cell_errors(reading, f"Or use other columns with {option}." if option else ""):
        table = tables.read_table(
            path, choose, missing="keep" if reading.missing == BLANK else reading.missing, cache=reading.cache,
            encoding=reading.encoding, column_options=reading.column_options, sheet=reading.sheet,
        )  # fmt: skip
    table = table if len(set(table.names)) > 1 else replace(table, names=())
    return _leave_out_rows(path, table, reading) if reading.missing in ("keep", BLANK) else table


def _leave_out_rows(path: Path, table: Table, reading: ReadOptions) -> Table:
    """Leave out rows in which no cell has a value, or any has none if a model cannot answer them, with a notice."""
    if sparse.issparse(table.values):
        return table
    gaps = find_gaps(table)
    out: np.ndarray = np.any(gaps, axis=1) if reading.missing == BLANK else np.all(gaps, axis=1)
    n = int(out.sum())
    if not n:
        return table
    lack = "lack a value" if reading.missing == BLANK else "have no value"
    if n == len(out):
        raise LatentiaError(f"all {n:,} rows {lack} in the columns {list_names(table.columns, 10)}.", source=path)
    treatment = "were left out" if reading.left_out is None else "get an empty answer"
    warn(
        FileNotice(
            f"{path.name}: {n:,} of {len(out):,} rows {lack} in these columns and {treatment}: {list_rows(table, out)}."
        )
    )
    if reading.left_out is not None:
        reading.left_out.extend(Labels(table.rows, table.names).select(out))
    return select_rows(table, ~out)


def read_numbers(
    path: Path,
    columns: str | Sequence[str] | None,
    ignore: str | Sequence[str] | None,
    min_columns: int,
    why: str,
    reading: ReadOptions,
    option: str = "--columns",
    labels: Iterable[str] = (),
) -> Table:
    """Read the columns of numbers that options name, by default all, and announce them; see `numeric_columns`."""
    chosen, unused = split_names(columns), split_names(ignore) or []

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        return ColumnChoice(numeric_columns(path, kinds, chosen, unused, min_columns, why, option), names=True)

    return announce(read_table(path, choose, reading), labels)


def read_known_columns(
    path: Path, columns: Sequence[str] | None, width: int, reading: ReadOptions, texts: Sequence[str] = ()
) -> Table:
    """Read the columns that a model was fitted on, by name in any order; without names, all columns of numbers."""

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        if columns is not None:
            check_columns(path, kinds, None, columns)
            check_columns(path, kinds, "--batch", texts)
            return ColumnChoice(columns, texts, names=True)
        columns_found = numeric_columns(path, kinds, None)
        if len(columns_found) != width:
            raise LatentiaError(
                f"expected {width} columns of numbers, as in the model, which knows no names; found {len(columns_found)}.",
                source=path,
            )
        return ColumnChoice(columns_found, names=True)

    return read_table(path, choose, reading, option="")


def read_like(model: Any, path: Path, reading: ReadOptions, text: str | None = None) -> Table:
    """Read new rows with the columns and the units of a model, and a column of texts, and announce them."""
    settings = model.reading_ or {"columns": model.column_names}
    columns = settings.get("columns")
    width = model.n_features_in_ if columns is None else len(columns)
    table = announce(read_known_columns(path, columns, width, reading, [] if text is None else [text]))
    return replace(table, values=scale_rows(table.values, settings))


@dataclass(frozen=True)
class NewRows:
    """Rows that a model did not see, as its ``news`` takes them.

    Attributes
    ----------
    values : array, matrix or data frame
    unit : str
        Meaning of the names, such as "line".
    names : list of str
        Name of each row, or of each window of a sequence.
    batches : list of str, optional
        Cell of each row in the column of batches.
    """

    values: Any
    unit: str
    names: list[str]
    batches: list[str] | None = None

    @classmethod
    def from_table(cls, table: Table, batch: str | None) -> NewRows:
        """Return the rows of a table, named by their lines, and by their names if there are any."""
        names = [" ".join(map(str, cells)) for cells in Labels(table.rows, table.names)]
        return cls(table.values, table.unit, names, None if batch is None else table.texts[batch])


@dataclass(frozen=True)
class Labels:
    """Labels of the rows of a file in results.

    Attributes
    ----------
    rows : sequence of int
        Line or number of each row.
    names : sequence of str
        Names of the rows; empty if there are none.
    """

    rows: Sequence[int] = ()
    names: Sequence[str] = ()

    @property
    def head(self) -> list[str]:
        """Headings of the columns."""
        return ["row", "name"] if self.names else ["row"]

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the label cells of every row."""
        return ([*cells] for cells in (zip(self.rows, self.names, strict=True) if self.names else zip(self.rows)))

    def select(self, mask: np.ndarray) -> Labels:
        """Return the labels of the rows in a mask."""
        return Labels(list(compress(self.rows, mask)), list(compress(self.names, mask)))


def missing_setting(missing: str | None) -> dict[str, Any]:
    """Return the reading setting of ``--missing``; empty if cells without a value were an error."""
    return {"missing": missing} if missing not in (None, "error") else {}


def insert_empty_answers(path: Path, left_out: Sequence[Sequence[Any]]) -> None:
    """Insert a line without an answer for each row that was left out into a file of answers, in the order of the rows."""
    if not left_out:
        return
    with open(path, newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    place, width = header.index("row"), len(header)
    answers = [[*label, *[""] * (width - len(label))] for label in left_out]
    merged = heapq.merge(lines, answers, key=lambda cells: int(cells[place]))
    write_csv(path, header, merged)


def labels_of(table: Table | Labels) -> tuple[Column, ...]:
    """Return the row labels as columns of results: lines or numbers, and names if there are any."""
    names = (Column("name", table.names, where="f"),) if table.names else ()
    return Column("row", table.rows, where="f"), *names


def split_names(text: str | Sequence[str] | None) -> list[str] | None:
    """Split the column names of an option; return a sequence unchanged."""
    if isinstance(text, str):
        return [part.strip() for part in text.split(",") if part.strip()]
    return None if text is None else list(text)


def to_binary(table: Table, requirement: str, remedy: Callable[[Sequence[str]], str] | None = None) -> Table:
    """Convert a table to bool, unless it is sparse or has gaps; raise for the first cell that is not 0 or 1.

    Parameters
    ----------
    requirement : str
        What cells must be, such as "findings are 1 or 0".
    remedy : callable, optional
        ``remedy(columns)`` returns advice about such columns.
    """
    values = table.values
    if sparse.issparse(values):
        rows, places = values.nonzero()
        wrong = (values.data[values.data != 0]) != 1
        cells = np.column_stack([places[wrong], rows[wrong]])
    else:
        gaps = np.isnan(values)
        cells = np.argwhere(((values != 0) & (values != 1) & ~gaps).T)
    if not len(cells):
        return table if sparse.issparse(values) or gaps.any() else replace(table, values=values != 0)
    column, row = (int(i) for i in cells[np.lexsort(cells.T[::-1])[0]])
    wrong_columns = [table.columns[i] for i in np.unique(cells[:, 0])]
    further_columns = f" So do {len(wrong_columns) - 1} other columns." if len(wrong_columns) > 2 else ""
    further_columns = f" So does column {wrong_columns[1]!r}." if len(wrong_columns) == 2 else further_columns
    raise LatentiaError(
        f"{values[row, column]:g}, and {requirement}.{further_columns}{f' {remedy(wrong_columns)}' if remedy else ''}",
        source=table.source,
        place=f"{table.unit} {table.rows[row]}, column {table.columns[column]!r}",
    )


def quote_names(names: Sequence[str]) -> str:
    """Join names to one value of an option."""
    text = ",".join(names)
    return text if text.replace(",", "").isidentifier() else f'"{text}"'


def scaling(values: Any) -> dict[str, Any]:
    """Return the centre and scale of every column; the centre of a sparse table is zero."""
    scaler = StandardScaler(with_mean=not sparse.issparse(values)).fit(values)
    centre = scaler.mean_ if scaler.with_mean else np.zeros(values.shape[1])
    return {"subtracted": centre, "divided_by": scaler.scale_}


def scale_rows(values: Any, reading: Mapping[str, Any]) -> Any:
    """Scale rows as for the fit of a model; return them unchanged if it was fitted on unscaled rows."""
    if "divided_by" not in reading:
        return values
    if sparse.issparse(values):
        scaled = sparse.csr_array(values, dtype=float, copy=True)
        scaled.data *= (1 / reading["divided_by"])[scaled.indices]
        return scaled
    return (values - reading["subtracted"]) / reading["divided_by"]
