"""The columns of a table that options name, and what is printed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from ..datasets import tables
from ..datasets.tables import ColumnChoice, Table, check_columns, list_names, numeric_columns
from ..exceptions import LatentiaError
from ..summaries import Column
from ..system.terminal import say
from ._shared import ReadOptions, cells_explained

MISSING = "drop", "mean"
_LINES = 8  # that say what was read


def announce(table: Table) -> Table:
    """Print what was read and what was not, in at most eight lines, doubts first."""
    if table.reading is not None:
        named = f"rows are named as in {table.reading.naming!r}: {list_names(table.names, 3)}" if table.names else ""
        for line in filter(None, [*table.reading.lines(table.columns)[: _LINES - bool(named)], named]):
            say(line)
        return table
    n, width = table.values.shape
    say(f"{table.source}: {n:,} rows, {width} columns: {list_names(table.columns, 10)}")
    if table.left_out:
        say(f"not used: {list_names(table.left_out, 10)}")
    return table


def described(table: Table) -> str:
    """The source as reports name it, with what was done about cells without a value."""
    if table.n_dropped:
        n = len(table.rows) + table.n_dropped
        return f"{table.source}, without {table.n_dropped:,} of {n:,} rows, which lack a value"
    if table.n_filled:
        return f"{table.source}, with means in {table.n_filled:,} cells that had no value"
    return table.source


def read_table(
    path: Path, choose: Callable[[Mapping[str, str]], ColumnChoice], reading: ReadOptions, other: str = "--columns"
) -> Table:
    """Read columns as `datasets.tables.read_table` does; the option ``other``, if there is one, chooses other columns."""
    with cells_explained(reading, f"Or use other columns with {other}." if other else ""):
        table = tables.read_table(
            path, choose, missing=reading.missing, cache=reading.cache, encoding=reading.encoding, asked=reading.asked,
            sheet=reading.sheet,
        )  # fmt: skip
    return table if len(set(table.names)) > 1 else replace(table, names=())


def read_numbers(
    path: Path,
    columns: str | Sequence[str] | None,
    ignore: str | Sequence[str] | None,
    least: int,
    why: str,
    reading: ReadOptions,
    option: str = "--columns",
) -> Table:
    """Read the columns of numbers that options name, or all, and say so; see `numeric_columns`."""
    chosen, unused = split_names(columns), split_names(ignore) or []

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        return ColumnChoice(numeric_columns(path, kinds, chosen, unused, least, why, option), names=True)

    return announce(read_table(path, choose, reading))


def read_known_columns(path: Path, columns: Sequence[str] | None, width: int, reading: ReadOptions) -> Table:
    """Read the columns that a model was fitted on: by name and in any order or, without names, all columns of numbers."""

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        if columns is not None:
            check_columns(path, kinds, None, columns)
            return ColumnChoice(columns, names=True)
        found = numeric_columns(path, kinds, None)
        if len(found) != width:
            raise LatentiaError(
                f"{len(found)} columns of numbers, and the model was fitted on {width}, of which it has no names.",
                source=path,
            )
        return ColumnChoice(found, names=True)

    return read_table(path, choose, reading, other="")


def read_like(model: Any, path: Path, reading: ReadOptions) -> Table:
    """Read other rows in the columns of a model, and in its units, and say so."""
    kept = model.reading_ or {"columns": model.column_names}
    columns = kept.get("columns")
    width = model.n_features_in_ if columns is None else len(columns)
    table = announce(read_known_columns(path, columns, width, reading))
    return replace(table, values=scaled_rows(table.values, kept))


@dataclass(frozen=True)
class Labels:
    """What tells the rows of a file apart in results.

    Attributes
    ----------
    rows : sequence of int
        Their lines or numbers.
    names : sequence of str
        Empty where they have none.
    """

    rows: Sequence[int] = ()
    names: Sequence[str] = ()

    @property
    def head(self) -> list[str]:
        """Headings of the columns."""
        return ["row", "name"] if self.names else ["row"]

    def __iter__(self) -> Iterator[list[Any]]:
        """The cells of every row in these columns."""
        return ([*cells] for cells in (zip(self.rows, self.names, strict=True) if self.names else zip(self.rows)))

    def kept(self, mask: np.ndarray) -> Labels:
        """Those of some rows."""
        return Labels(list(compress(self.rows, mask)), list(compress(self.names, mask)))


def keeps(missing: str | None) -> dict[str, Any]:
    """Return what a model keeps of ``--missing``: that cells without a value are not known, where that is asked for."""
    return {"missing": missing} if missing == "keep" else {}


def labels_of(table: Table | Labels) -> tuple[Column, ...]:
    """What tells the rows of a file apart, as columns of results: their lines or numbers, and names where they have them."""
    names = (Column("name", table.names, where="f"),) if table.names else ()
    return Column("row", table.rows, where="f"), *names


def split_names(text: str | Sequence[str] | None) -> list[str] | None:
    """Names of columns from an option, or as they are."""
    if isinstance(text, str):
        return [part.strip() for part in text.split(",") if part.strip()]
    return None if text is None else list(text)


def binary(table: Table, what: str, remedy: Callable[[Sequence[str]], str] | None = None) -> Table:
    """The table with bool values, or as it is if it is sparse or has gaps; an error names the first cell that is not 0 or 1.

    Parameters
    ----------
    what : str
        What is asked of cells, such as "findings are 1 or 0".
    remedy : callable, optional
        ``remedy(columns)``: what to do about such columns.
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
    others = [table.columns[i] for i in np.unique(cells[:, 0])]
    more = f" So do {len(others) - 1} other columns." if len(others) > 2 else ""
    more = f" So does column {others[1]!r}." if len(others) == 2 else more
    raise LatentiaError(
        f"{values[row, column]:g}, and {what}.{more}{f' {remedy(others)}' if remedy else ''}",
        source=table.source,
        place=f"{table.unit} {table.rows[row]}, column {table.columns[column]!r}",
    )


def quoted(names: Sequence[str]) -> str:
    """Names as one value of an option."""
    text = ",".join(names)
    return text if text.replace(",", "").isidentifier() else f'"{text}"'


def scaling(values: Any) -> dict[str, Any]:
    """What is subtracted from every column, and what it is divided by; zeros of a sparse table stay zeros."""
    scaler = StandardScaler(with_mean=not sparse.issparse(values)).fit(values)
    centre = scaler.mean_ if scaler.with_mean else np.zeros(values.shape[1])
    return {"subtracted": centre, "divided_by": scaler.scale_}


def scaled_rows(values: Any, reading: Mapping[str, Any]) -> Any:
    """The rows as a model sees them that was fitted on scaled ones, or as they are."""
    if "divided_by" not in reading:
        return values
    if sparse.issparse(values):
        found = sparse.csr_array(values, dtype=float, copy=True)
        found.data *= (1 / reading["divided_by"])[found.indices]
        return found
    return (values - reading["subtracted"]) / reading["divided_by"]
