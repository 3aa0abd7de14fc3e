"""Tables of numbers and texts, with chosen columns; `latentia.reading` opens them and determines the kinds of columns."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import DroppedDataWarning, FileNotice, LatentiaError, warn, write_parameter
from ..passes import Blocks
from ..passes.formats import no_encoding, plain_name, readable, reusable
from ..reading import ColumnOptions, Reading, has_columns, is_coded, is_table_name, open_reading

__all__ = ["CellError", "ColumnChoice", "Table", "check_columns", "is_table", "numeric_columns", "read_table"]

_N_NAMED = 5  # rows in a notice


@dataclass(frozen=True)
class ColumnChoice:
    """Choice of columns to read as numbers, and as texts; with ``names`` rows are named by a column of ids."""

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()
    names: bool = False


class Kinds(dict[str, str]):
    """Kind of every column, and the reading of the table."""

    reading: Reading | None = None


Choose = Callable[[Mapping[str, str]], ColumnChoice]


@dataclass(frozen=True)
class Table:
    """Chosen columns of a file.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (n_rows, D)
        The columns of numbers.
    columns : list of str
        Their names.
    texts : dict of lists
        The columns of texts.
    rows : list of int
        For every row its line in the file, or its number from 1 if the format has no lines.
    left_out : list of str
        The file's other columns.
    source : str
    unit : {"line", "row"}
        Unit of ``rows``: "row" if the format has no lines.
    n_dropped : int
        Number of rows that were left out, as they lack a value.
    n_filled : int
        Number of cells without a value that were filled with the mean of their column.
    names : sequence of str
        Names of the rows; empty if no column names them.
    reading : Reading or None
        The reading of the file, with a role for every column; None for a matrix without names.
    """

    values: Any
    columns: list[str]
    texts: dict[str, list[str]]
    rows: Sequence[int]
    left_out: list[str]
    source: str
    unit: str = "row"
    n_dropped: int = 0
    n_filled: int = 0
    names: Sequence[str] = ()
    reading: Reading | None = None


class CellError(LatentiaError):
    """Error of a cell without a value, or with a text where a number is expected; the problem ends with advice.

    Parameters
    ----------
    problem : str
    missing : bool
        True for a cell without a value, which the parameter ``missing=`` handles.
    """

    def __init__(self, problem: str, *, missing: bool = False, **about: Any) -> None:
        super().__init__(problem, **about)
        self.missing = missing

    def __str__(self) -> str:
        ways = " missing='drop' leaves such rows out, and missing='mean' fills such cells." if self.missing else ""
        return f"{super().__str__()}{ways}"


def is_table(path: Path) -> bool:
    """Return True if the name is that of a table.

    Parameters
    ----------
    path : str or path
        The file or folder.

    Returns
    -------
    bool
    """
    return has_columns(path) or plain_name(path).endswith(".mtx")


def read_table(
    path: str | os.PathLike[str],
    choose: Choose | None = None,
    *,
    missing: str = "error",
    cache: str | os.PathLike[str] | bool | None = None,
    encoding: str | None = None,
    column_options: ColumnOptions | None = None,
    sheet: str | None = None,
) -> Table:
    """Read columns of a table; an error names the line and the column.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.tsv`` file, with columns separated by commas, semicolons (then decimal commas may be), tabs, bars or
        blanks; an ``.xlsx`` workbook, of which the first sheet is read; a ``.parquet`` or ``.mtx`` file. ``.gz`` is read as it
        is, and a pipe to its end.
    choose : callable, optional
        ``choose(kinds)`` gives a `ColumnChoice`; ``kinds`` says of every column whether it holds "whole" or "decimal"
        numbers, "two" texts that are read as 0 and 1, other "text", or numbers that stand "apart": ids, clocks, dates. By
        default all columns of numbers are read.
    missing : {"error", "drop", "mean", "keep"}
        What to do with a cell that is empty or says NA, null, ? or alike: raise; leave its row out; give it the mean of its
        column, which must be one of numbers; or keep it as NaN or an empty text. Of rows left out and cells filled a warning
        says how many there were, and so do ``n_dropped`` and ``n_filled``.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.
    encoding : str, optional
        Of separated values, see `read_texts`.
    column_options : latentia.reading.ColumnOptions, optional
        Roles of columns, codes of missing answers and other options of `latentia.reading.read`.
    sheet : str, optional
        Of a workbook, by name or number from 1; by default the first.

    Returns
    -------
    Table

    Raises
    ------
    LatentiaError
        If the file cannot be read as one of these formats. The message names the file, the line and the column.
    """
    if missing not in ("error", "drop", "mean", "keep"):
        raise LatentiaError("expected 'error', 'drop', 'mean' or 'keep'.", parameter="missing", value=missing)
    with reusable(path) as source:
        if source.is_dir():
            raise LatentiaError("expected a file, found a folder.", source=source)
        with readable(source):
            if not source.exists():
                raise LatentiaError("no such file.", source=source)
        name, choose = plain_name(source), choose or _choose_numbers
        if not is_table_name(source) and not name.endswith(".mtx"):
            raise LatentiaError("expected a table as .csv, .tsv, .xlsx, .parquet or .mtx.", source=source)
        if name.endswith(".mtx"):
            if encoding is not None:
                raise no_encoding(source, encoding)
            return _read_matrix(source, choose, cache if source == Path(path) else False)
        reading = open_reading(source, column_options=column_options, encoding=encoding, sheet=sheet)
        table = _read_chosen(reading, choose(kinds_of(reading)), missing)
        if missing == "error" and np.isnan(table.values).any():
            missing = "drop"  # these are values that a model does not know; other gaps have raised an error
        return table if missing in ("error", "keep") else _handle_missing(source, table, missing)


def kinds_of(reading: Reading) -> Kinds:
    """Return the kind of every column: "whole" or "decimal" numbers, "two" texts, other "text", or "apart".

    Parameters
    ----------
    reading : Reading

    Returns
    -------
    Kinds
    """
    kinds = Kinds()
    kinds.reading = reading
    for column in reading.columns:
        texts = reading.holds_texts(column.name)
        if column.role == "binary":
            kinds[column.name] = "two" if is_coded(column) else "whole"
        elif column.role in ("count", "measurement"):
            kinds[column.name] = "whole" if column.reason.startswith(("whole", "counts")) else "decimal"
        else:
            kinds[column.name] = "text" if texts else "apart"
    return kinds


def _choose_numbers(kinds: Mapping[str, str]) -> ColumnChoice:
    return ColumnChoice([name for name, kind in kinds.items() if kind not in ("text", "apart")])


# --- columns ----------------------------------------------------------------------------------------------------


def check_columns(path: Path, kinds: Mapping[str, str], parameter: str | None, names: Sequence[str]) -> None:
    """Raise unless a table has all columns that a parameter, or a model, names, each once.

    Parameters
    ----------
    path : path
        For the message.
    kinds : dict from str to str
        The columns of the table with their kinds, as `read_table` gives them.
    parameter : str or None
        Parameter that names the columns, such as "columns="; None for a model.
    names : sequence of str

    Raises
    ------
    LatentiaError
    """
    for name, times in Counter(names).items():
        if name not in kinds:
            source = "the model needs" if parameter is None else f"{parameter} names"
            raise LatentiaError(f"no column {name!r}, which {source}. There are {list_names(kinds)}.", source=path)
        if times > 1:
            raise LatentiaError(f"{parameter} names {name!r} twice.")


def numeric_columns(
    path: Path,
    kinds: Mapping[str, str],
    columns: Sequence[str] | None,
    ignore: Sequence[str] = (),
    min_columns: int = 1,
    reason: str = "expected at least one",
    parameter: str | None = None,
    ignored: str | None = None,
) -> list[str]:
    """Return the named columns, or else all columns of numbers, without those to ignore.

    Parameters
    ----------
    path : path
        For messages.
    kinds : dict from str to str
        Kinds of the columns, as `read_table` gives them.
    columns : sequence of str, optional
    ignore : sequence of str
    min_columns : int
        Minimum number of columns.
    reason : str
        Reason of the minimum, for the message.
    parameter, ignored : str, optional
        Names of the parameters of ``columns`` and ``ignore``, for messages.

    Returns
    -------
    list of str

    Raises
    ------
    LatentiaError
        If there are fewer columns, or a named one is missing.
    """
    parameter, ignored = parameter or write_parameter("columns"), ignored or write_parameter("ignore")
    check_columns(path, kinds, parameter, columns or ())
    check_columns(path, kinds, ignored, ignore)
    ignored_names = set(ignore)
    duplicates = [name for name in columns or () if name in ignored_names]
    if duplicates:
        raise LatentiaError(f"{parameter} and {ignored} both name {duplicates[0]!r}: name it in one.")
    chosen = list(columns) if columns else list(_choose_numbers(kinds).numbers)
    chosen = [name for name in chosen if name not in ignored_names]
    if len(chosen) < min_columns:
        description = (
            f"{len(chosen)} column{'' if len(chosen) == 1 else 's'} of numbers" if chosen else "no column of numbers"
        )
        raise LatentiaError(f"{description}; {reason}. There are {list_names(kinds)}.", source=path)
    return chosen


def dense(table: Table) -> np.ndarray:
    """Return the values of a table as a dense array."""
    return table.values.toarray() if sparse.issparse(table.values) else table.values


def places_of(names: Sequence[str], selected: Sequence[str]) -> list[int]:
    """Return the places of some names in a list of distinct names."""
    places = {name: place for place, name in enumerate(names)}
    return [places[name] for name in selected]


def list_names(names: Any, max_names: int = 30) -> str:
    """Return a text with the first names, and the number of others."""
    names = list(names)
    return ", ".join(names[:max_names]) + (f" and {len(names) - max_names} more" if len(names) > max_names else "")


# --- columns as numbers and as texts ------------------------------------------------------------------------------


def _read_chosen(reading: Reading, selection: ColumnChoice, missing: str) -> Table:
    """Return the chosen columns; raise for a cell that cannot be read, with its place."""
    may_lack, raw = missing != "error", reading.table
    assert raw is not None
    columns, fractions = [], False
    commas: dict[str, str] = {}
    for name in selection.numbers:
        column_numbers = reading.numbers(name)
        gaps = np.flatnonzero(column_numbers.missing)
        first = len(column_numbers.values) if column_numbers.wrong is None else column_numbers.wrong
        if len(gaps) and not may_lack and gaps[0] < first:
            raise _build_missing_error(reading, int(gaps[0]), name)
        if column_numbers.wrong is not None:
            raise CellError(reading.describe_problem(column_numbers), **reading.cell(column_numbers.wrong, name))
        if column_numbers.unseen is not None and column_numbers.unseen.any():
            _report_unseen(reading, name, column_numbers.unseen)
        decimal = "with decimal commas" in column_numbers.forms
        commas |= {name: column_numbers.doubt} if decimal and column_numbers.doubt else {}
        fractions |= decimal and not column_numbers.doubt
        columns.append(column_numbers.values)
    if commas and not fractions:
        _report_thousands(raw.path, commas)
    texts = {name: _read_texts(reading, name, may_lack) for name in selection.texts}
    names = reading.row_names if selection.names else []
    values = np.column_stack(columns) if columns else np.empty((reading.n_rows, 0))
    left_out = _list_unused(raw.names, selection)
    return Table(
        values,
        list(selection.numbers),
        texts,
        raw.rows,
        left_out,
        raw.path.name,
        raw.unit,
        names=names,
        reading=reading,
    )


def _read_texts(reading: Reading, name: str, may_lack: bool) -> list[str]:
    """Return cells without surrounding blanks, empty if there is no value."""
    cells = [cell.strip() for cell in reading.texts(name)]
    empty = [i for i, cell in enumerate(cells) if cell.lower() in reading.EMPTY]
    if empty and not may_lack:
        raise _build_missing_error(reading, empty[0], name)
    for i in empty:
        cells[i] = ""
    return cells


def _build_missing_error(reading: Reading, row: int, name: str) -> CellError:
    table = reading.table
    assert table is not None
    cell = str(table.texts(name)[row])
    problem = f"no value ({cell!r}). Fill it in or delete the {table.unit}."
    return CellError(problem, missing=True, value=cell, **table.cell(row, name))


def _report_unseen(reading: Reading, name: str, unseen: np.ndarray) -> None:
    """Issue a notice about cells of a two-valued column with another value, which count as missing."""
    table, n = reading.table, int(unseen.sum())
    assert table is not None
    row, coding = int(unseen.argmax()), reading.column(name).coding
    cell, codes = str(table.texts(name)[row]), " and ".join(map(repr, coding))
    fact = f"{table.place(row, name)}: {cell!r}, but the model knows {codes}; {n} such cells count as missing."
    warn(FileNotice(fact))


def _report_thousands(path: Path, commas: Mapping[str, str]) -> None:
    """Issue a notice about columns whose commas may group thousands instead of being decimal commas."""
    fact = f"{path}, column {', '.join(map(repr, commas))}: {next(iter(commas.values()))}."
    warn(FileNotice(fact, "If they group thousands, take them out of the file."))


def _list_unused(names: Sequence[str], selection: ColumnChoice) -> list[str]:
    names_used = {*selection.numbers, *selection.texts}
    return [name for name in names if name not in names_used]


# --- missing values ---------------------------------------------------------------------------------------------


def _handle_missing(path: Path, table: Table, missing: str) -> Table:
    """Drop the rows that lack a value, or fill the gaps with means."""
    holes = np.isnan(table.values)
    empty = {name: np.array([not text for text in texts], dtype=bool) for name, texts in table.texts.items()}
    has_gap = holes.any(axis=1)
    for name, cells in empty.items():
        if missing == "mean" and cells.any():
            row = table.rows[int(cells.argmax())]
            raise CellError(
                "no value, and texts have no mean. Fill it in.",
                source=path,
                place=f"{table.unit} {row}, column {name!r}",
            )
        has_gap = has_gap | cells
    if not has_gap.any():
        return table
    gap_counts = Counter({name: int(n) for name, n in zip(table.columns, holes.sum(axis=0), strict=True)})
    gap_counts.update({name: int(cells.sum()) for name, cells in empty.items()})
    return (
        _fill_with_means(path, table, holes, gap_counts)
        if missing == "mean"
        else _drop_rows(path, table, has_gap, gap_counts)
    )


def _fill_with_means(path: Path, table: Table, holes: np.ndarray, gap_counts: Counter[str]) -> Table:
    empty_columns = [name for name, n in gap_counts.items() if n == len(holes)]
    if empty_columns:
        raise LatentiaError(
            "expected at least one value for a mean, found none. Leave the column out.",
            source=path,
            place=f"column {empty_columns[0]!r}",
        )
    values, n = table.values.copy(), int(holes.sum())
    for i in np.flatnonzero(holes.any(axis=0)):
        values[holes[:, i], i] = _compute_mean(values[~holes[:, i], i])
    warn(
        FileNotice(
            f"{path}: {n} cells without a value were filled with the mean of their column: {_format_counts(gap_counts)}."
        )
    )
    return replace(table, values=values, n_filled=n)


def _compute_mean(values: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        mean = float(values.mean())
    return mean if math.isfinite(mean) else float((values / len(values)).sum())


def _drop_rows(path: Path, table: Table, has_gap: np.ndarray, gap_counts: Counter[str]) -> Table:
    n = int(has_gap.sum())
    if n == len(has_gap):
        raise LatentiaError(
            f"each of the {n} rows lacks a value in some column ({_format_counts(gap_counts)}). Leave columns out, or fill "
            "them in.",
            source=path,
        )
    warn(
        f"{path}: {n} of {len(has_gap)} rows lack a value and were left out: {list_rows(table, has_gap)}; "
        f"{_format_counts(gap_counts)}.",
        DroppedDataWarning,
    )
    return select_rows(table, ~has_gap)


def find_gaps(table: Table) -> np.ndarray:
    """Return the cells without a value, numbers first, shape (n_rows, n_columns)."""
    texts = [[not cell for cell in cells] for cells in table.texts.values()]
    return np.column_stack([np.isnan(table.values), *np.array(texts, bool).reshape(len(texts), len(table.rows))])


def list_rows(table: Table, mask: np.ndarray) -> str:
    """List the first rows in a mask by their place in the file."""
    places = [str(table.rows[int(i)]) for i in np.flatnonzero(mask)]
    return f"{table.unit} {', '.join(places[:_N_NAMED])}{', ...' if len(places) > _N_NAMED else ''}"


def select_rows(table: Table, mask: np.ndarray) -> Table:
    """Return the rows of a table in a mask; the others count as left out."""
    places = np.flatnonzero(mask)
    texts = {name: [cells[i] for i in places] for name, cells in table.texts.items()}
    rows, names = [table.rows[int(i)] for i in places], [table.names[int(i)] for i in places] if table.names else ()
    n_dropped = table.n_dropped + len(mask) - len(places)
    return replace(table, values=table.values[places], texts=texts, rows=rows, names=names, n_dropped=n_dropped)


def _format_counts(gap_counts: Counter[str]) -> str:
    """Return a text with the number of cells in each column."""
    counts = [f"{n} in {name!r}" for name, n in gap_counts.most_common() if n]
    return ", ".join(counts[:_N_NAMED]) + (
        f" and others in {len(counts) - _N_NAMED} columns" if len(counts) > _N_NAMED else ""
    )


# --- matrices ---------------------------------------------------------------------------------------------------


def _read_matrix(path: Path, choose: Choose, cache: str | os.PathLike[str] | bool | None) -> Table:
    blocks = Blocks.from_files(path, cache=cache)
    names = [f"column {i}" for i in range(1, blocks.shapes[0][1] + 1)]
    selection = choose(dict.fromkeys(names, "decimal"))
    if selection.texts:
        raise LatentiaError(
            f"a matrix holds numbers only; column {selection.texts[0]!r} cannot be read as text.", source=path
        )
    values = _narrow_indices(blocks.table())
    if list(selection.numbers) != names:
        values = values[:, places_of(names, selection.numbers)]
    return Table(
        values, list(selection.numbers), {}, range(1, blocks.n_rows + 1), _list_unused(names, selection), path.name
    )


def _narrow_indices(table: Any) -> Any:
    """Return a sparse matrix with 32-bit indices if they suffice, as scikit-learn's scaler requires them."""
    if not sparse.issparse(table) or max(table.nnz, *table.shape) >= 2**31:
        return table
    parts = table.data, table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=table.shape)
