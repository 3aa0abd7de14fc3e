"""Tables of numbers and texts, of the columns that are asked for; `latentia.reading` opens them and says what they hold."""

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

__all__ = ["CellError", "Table", "Wanted", "check_columns", "is_table", "numeric_columns", "read_table"]

_NAMED = 5  # rows that a note names


@dataclass(frozen=True)
class Wanted:
    """The columns to read: as numbers, and as they are; and whether rows have the names that an id gives them."""

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()
    names: bool = False


Choose = Callable[[Mapping[str, str]], Wanted]


@dataclass(frozen=True)
class Table:
    """Columns of a file.

    Attributes
    ----------
    values : ndarray or sparse matrix of shape (n_rows, D)
        The columns read as numbers.
    columns : list of str
        Their names.
    texts : dict of lists
        The columns read as they are.
    rows : list of int
        For every row the line of the file that it stands in, or its number from 1 where the format has no lines.
    left_out : list of str
        The file's other columns.
    source : str
    unit : {"line", "row"}
        What ``rows`` count: "row" where the format has no lines.
    n_dropped : int
        How many rows were left out, as they lack a value.
    n_filled : int
        How many cells without a value were given the mean of their column.
    names : sequence of str
        Names of the rows; empty where no column was to name them.
    reading : Reading or None
        What was read, with a role for every column; None for a matrix without names.
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
    """A cell without a value, or one that should be a number and is not; the problem ends with what to do.

    Parameters
    ----------
    problem : str
    missing : bool
        Whether there is no value, and ``missing=`` says what to do with it.
    """

    def __init__(self, problem: str, *, missing: bool = False, **about: Any) -> None:
        super().__init__(problem, **about)
        self.missing = missing

    def __str__(self) -> str:
        ways = " missing='drop' leaves such rows out, and missing='mean' fills such cells." if self.missing else ""
        return f"{super().__str__()}{ways}"


def is_table(path: Path) -> bool:
    """Whether the name says that the file is a table.

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
    asked: ColumnOptions | None = None,
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
        ``choose(kinds)`` gives the `Wanted` columns; ``kinds`` says of every column whether it holds "whole" or "decimal"
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
    asked : latentia.reading.Asked, optional
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
        raise LatentiaError("use 'error', 'drop', 'mean' or 'keep'.", parameter="missing", value=missing)
    with reusable(path) as source:
        if source.is_dir():
            raise LatentiaError("a folder, and a file is needed.", source=source)
        with readable(source):
            if not source.exists():
                raise LatentiaError("no such file.", source=source)
        name, choose = plain_name(source), choose or _all_numbers
        if not is_table_name(source) and not name.endswith(".mtx"):
            raise LatentiaError(
                "not a table that can be read. Save it as .csv, .tsv, .xlsx, .parquet or .mtx.", source=source
            )
        if name.endswith(".mtx"):
            if encoding is not None:
                raise no_encoding(source, encoding)
            return _read_matrix(source, choose, cache if source == Path(path) else False)
        reading = open_reading(source, asked=asked, encoding=encoding, sheet=sheet)
        table = _chosen(reading, choose(kinds_of(reading)), missing)
        if missing == "error" and np.isnan(table.values).any():
            missing = "drop"  # Rows with values that a model does not know; other cells have raised.
        return table if missing in ("error", "keep") else _complete(source, table, missing)


def kinds_of(reading: Reading) -> dict[str, str]:
    """Return of every column whether it holds "whole" or "decimal" numbers, "two" texts, other "text", or stands "apart".

    Parameters
    ----------
    reading : Reading

    Returns
    -------
    dict from str to str
    """
    kinds = {}
    for column in reading.columns:
        texts = reading.holds_texts(column.name)
        if column.role == "binary":
            kinds[column.name] = "two" if is_coded(column) else "whole"
        elif column.role in ("count", "measurement"):
            kinds[column.name] = "whole" if column.reason.startswith(("whole", "counts")) else "decimal"
        else:
            kinds[column.name] = "text" if texts else "apart"
    return kinds


def _all_numbers(kinds: Mapping[str, str]) -> Wanted:
    return Wanted([name for name, kind in kinds.items() if kind not in ("text", "apart")])


# --- columns ----------------------------------------------------------------------------------------------------


def check_columns(path: Path, kinds: Mapping[str, str], parameter: str | None, names: Sequence[str]) -> None:
    """Raise unless a table has the columns that a parameter, or a model, names, each once.

    Parameters
    ----------
    path : path
        For the message.
    kinds : dict from str to str
        Those that it has, as `read_table` gives them.
    parameter : str or None
        What names the columns, such as "columns="; None for a model.
    names : sequence of str

    Raises
    ------
    LatentiaError
    """
    for name, times in Counter(names).items():
        if name not in kinds:
            who = "the model needs" if parameter is None else f"{parameter} names"
            raise LatentiaError(f"no column {name!r}, which {who}. There are {listed(kinds)}.", source=path)
        if times > 1:
            raise LatentiaError(f"{parameter} names {name!r} twice.")


def numeric_columns(
    path: Path,
    kinds: Mapping[str, str],
    columns: Sequence[str] | None,
    ignore: Sequence[str] = (),
    least: int = 1,
    why: str = "one or more are needed",
    parameter: str | None = None,
    ignored: str | None = None,
) -> list[str]:
    """The columns that are named, or else all that hold numbers, less those to ignore.

    Parameters
    ----------
    path : path
        For messages.
    kinds : dict from str to str
        What the columns hold, as `read_table` gives it.
    columns : sequence of str, optional
    ignore : sequence of str
    least : int
        How many are needed.
    why : str
        Why this many.
    parameter, ignored : str, optional
        What names ``columns`` and ``ignore``, where not the parameters of these names do.

    Returns
    -------
    list of str

    Raises
    ------
    LatentiaError
        If there are fewer, or others are named than there are.
    """
    parameter, ignored = parameter or write_parameter("columns"), ignored or write_parameter("ignore")
    check_columns(path, kinds, parameter, columns or ())
    check_columns(path, kinds, ignored, ignore)
    ignored_names = set(ignore)
    both = [name for name in columns or () if name in ignored_names]
    if both:
        raise LatentiaError(f"{parameter} and {ignored} both name {both[0]!r}: name it in one.")
    chosen = list(columns) if columns else list(_all_numbers(kinds).numbers)
    chosen = [name for name in chosen if name not in ignored_names]
    if len(chosen) < least:
        found = (
            f"{len(chosen)} column{'' if len(chosen) == 1 else 's'} of numbers" if chosen else "no column of numbers"
        )
        raise LatentiaError(f"{found}; {why}. There are {listed(kinds)}.", source=path)
    return chosen


def dense(table: Table) -> np.ndarray:
    """Its values as an array."""
    return table.values.toarray() if sparse.issparse(table.values) else table.values


def places_of(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the places of some of the names, which differ."""
    places = {name: place for place, name in enumerate(names)}
    return [places[name] for name in wanted]


def listed(names: Any, most: int = 30) -> str:
    """The first names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# --- columns as numbers and as texts ------------------------------------------------------------------------------


def _chosen(reading: Reading, wanted: Wanted, missing: str) -> Table:
    """Return the columns that are wanted; a cell that cannot be read is an error that says where it stands."""
    allowed, raw = missing != "error", reading.table
    assert raw is not None
    columns, fractions = [], False
    commas: dict[str, str] = {}
    for name in wanted.numbers:
        found = reading.numbers(name)
        lacking = np.flatnonzero(found.missing)
        first = len(found.values) if found.wrong is None else found.wrong
        if len(lacking) and not allowed and lacking[0] < first:
            raise _no_value(reading, int(lacking[0]), name)
        if found.wrong is not None:
            raise CellError(reading.describe_problem(found), **reading.cell(found.wrong, name))
        if found.unseen is not None and found.unseen.any():
            _tell_unseen(reading, name, found.unseen)
        decimal = "with decimal commas" in found.forms
        commas |= {name: found.doubt} if decimal and found.doubt else {}
        fractions |= decimal and not found.doubt
        columns.append(found.values)
    if commas and not fractions:
        _tell_thousands(raw.path, commas)
    texts = {name: _texts(reading, name, allowed) for name in wanted.texts}
    names = reading.row_names if wanted.names else []
    values = np.column_stack(columns) if columns else np.empty((reading.n_rows, 0))
    others = _others(raw.names, wanted)
    return Table(
        values, list(wanted.numbers), texts, raw.rows, others, raw.path.name, raw.unit, names=names, reading=reading
    )


def _texts(reading: Reading, name: str, allowed: bool) -> list[str]:
    """Return cells without blanks around them, empty where there is no value."""
    cells = [cell.strip() for cell in reading.texts(name)]
    empty = [i for i, cell in enumerate(cells) if cell.lower() in reading.EMPTY]
    if empty and not allowed:
        raise _no_value(reading, empty[0], name)
    for i in empty:
        cells[i] = ""
    return cells


def _no_value(reading: Reading, row: int, name: str) -> CellError:
    table = reading.table
    assert table is not None
    cell = str(table.texts(name)[row])
    problem = f"no value ({cell!r}). Fill it in or delete the {table.unit}."
    return CellError(problem, missing=True, value=cell, **table.cell(row, name))


def _tell_unseen(reading: Reading, name: str, unseen: np.ndarray) -> None:
    """Say how many cells of a column of two values have another one, and are taken as cells without a value."""
    table, n = reading.table, int(unseen.sum())
    assert table is not None
    row, coding = int(unseen.argmax()), reading.column(name).coding
    cell, known = str(table.texts(name)[row]), " and ".join(map(repr, coding))
    fact = f"{table.place(row, name)}: {cell!r}, and the model knows {known}; {n} such cells are taken as not known."
    warn(FileNotice(fact))


def _tell_thousands(path: Path, commas: Mapping[str, str]) -> None:
    """Say which columns would hold thousands if commas were not decimal ones, where nothing in the file says so."""
    fact = f"{path}, column {', '.join(map(repr, commas))}: {next(iter(commas.values()))}."
    warn(FileNotice(fact, "If they group thousands, take them out of the file."))


def _others(names: Sequence[str], wanted: Wanted) -> list[str]:
    used = {*wanted.numbers, *wanted.texts}
    return [name for name in names if name not in used]


# --- missing values ---------------------------------------------------------------------------------------------


def _complete(path: Path, table: Table, missing: str) -> Table:
    """The table without the rows that lack a value, or with means in place of those that are not there."""
    holes = np.isnan(table.values)
    empty = {name: np.array([not text for text in texts], dtype=bool) for name, texts in table.texts.items()}
    lacking = holes.any(axis=1)
    for name, cells in empty.items():
        if missing == "mean" and cells.any():
            at = table.rows[int(cells.argmax())]
            raise CellError(
                "no value, and texts have no mean. Fill it in.",
                source=path,
                place=f"{table.unit} {at}, column {name!r}",
            )
        lacking = lacking | cells
    if not lacking.any():
        return table
    each = Counter({name: int(n) for name, n in zip(table.columns, holes.sum(axis=0), strict=True)})
    each.update({name: int(cells.sum()) for name, cells in empty.items()})
    return _filled(path, table, holes, each) if missing == "mean" else _dropped(path, table, lacking, each)


def _filled(path: Path, table: Table, holes: np.ndarray, each: Counter[str]) -> Table:
    without = [name for name, n in each.items() if n == len(holes)]
    if without:
        raise LatentiaError(
            "there is no value, and so no mean. Leave the column out.", source=path, place=f"column {without[0]!r}"
        )
    values, n = table.values.copy(), int(holes.sum())
    for i in np.flatnonzero(holes.any(axis=0)):
        values[holes[:, i], i] = _mean(values[~holes[:, i], i])
    warn(FileNotice(f"{path}: {n} cells without a value have the mean of their column now: {_counted(each)}."))
    return replace(table, values=values, n_filled=n)


def _mean(values: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        mean = float(values.mean())
    return mean if math.isfinite(mean) else float((values / len(values)).sum())


def _dropped(path: Path, table: Table, lacking: np.ndarray, each: Counter[str]) -> Table:
    n, kept = int(lacking.sum()), np.flatnonzero(~lacking)
    if not len(kept):
        raise LatentiaError(
            f"each of the {n} rows lacks a value in one column or another ({_counted(each)}). Leave columns out, or "
            "fill them in.",
            source=path,
        )
    first = ", ".join(str(table.rows[int(i)]) for i in np.flatnonzero(lacking)[:_NAMED]) + (
        ", ..." if n > _NAMED else ""
    )
    warn(
        f"{path}: {n} of {len(lacking)} rows lack a value and were left out: {table.unit} {first}; {_counted(each)}.",
        DroppedDataWarning,
    )
    texts = {name: [cells[i] for i in kept] for name, cells in table.texts.items()}
    rows, names = [table.rows[int(i)] for i in kept], [table.names[int(i)] for i in kept] if table.names else ()
    return replace(table, values=table.values[kept], texts=texts, rows=rows, n_dropped=n, names=names)


def _counted(each: Counter[str]) -> str:
    """How many cells of which columns."""
    found = [f"{n} in {name!r}" for name, n in each.most_common() if n]
    return ", ".join(found[:_NAMED]) + (f" and others in {len(found) - _NAMED} columns" if len(found) > _NAMED else "")


# --- matrices ---------------------------------------------------------------------------------------------------


def _read_matrix(path: Path, choose: Choose, cache: str | os.PathLike[str] | bool | None) -> Table:
    blocks = Blocks.from_files(path, cache=cache)
    names = [f"column {i}" for i in range(1, blocks.shapes[0][1] + 1)]
    wanted = choose(dict.fromkeys(names, "decimal"))
    if wanted.texts:
        raise LatentiaError(
            f"a matrix holds numbers only; column {wanted.texts[0]!r} cannot be read as text.", source=path
        )
    values = _narrowed(blocks.table())
    if list(wanted.numbers) != names:
        values = values[:, places_of(names, wanted.numbers)]
    return Table(values, list(wanted.numbers), {}, range(1, blocks.n_rows + 1), _others(names, wanted), path.name)


def _narrowed(table: Any) -> Any:
    """A sparse matrix with indices of 32 bits where they suffice: scikit-learn's scaler takes no others."""
    if not sparse.issparse(table) or max(table.nnz, *table.shape) >= 2**31:
        return table
    parts = table.data, table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=table.shape)
