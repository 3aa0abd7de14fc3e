"""Tables with named columns: separated values, Excel workbooks, Parquet and MatrixMarket."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from ..exceptions import DroppedDataWarning, FileNotice, LatentiaError, warn
from ..passes import Blocks
from ..passes.formats import no_encoding, plain_name, readable, reusable
from ..passes.formats.parquet import arrow_kind, open_parquet
from .separated import open_rows

__all__ = ["CellError", "Table", "Wanted", "check_columns", "is_table", "numeric_columns", "read_table"]

_LOOKED_AT = 1000  # rows that say what a column holds
_MOST_COLUMNS = 1 << 20
_CHUNK = 10_000
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})
_TRUTH = {"true": 1.0, "false": 0.0}
_SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet", ".mtx")
_PLAIN = (".txt", ".dat", ".data", ".tab")  # texts that may hold separated values
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")
_NAMED = 5  # rows that a note names


@dataclass(frozen=True)
class Wanted:
    """The columns to read: as numbers, as they are, and one that names the rows, in which cells may be empty."""

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()
    names: str | None = None


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


class CellError(LatentiaError):
    """A cell without a value, or one that should be a number and is not; the problem ends with what to do.

    Parameters
    ----------
    problem : str
    missing : bool
        Whether there is no value, and ``missing=`` says what to do with it.
    """

    def __init__(self, problem: str, *, missing: bool = False) -> None:
        super().__init__(problem)
        self.missing = missing
        if missing:
            self.args = (f"{problem} missing='drop' leaves such rows out, and missing='mean' fills such cells.",)


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
    return plain_name(path).endswith(_SUFFIXES)


def read_table(
    path: str | os.PathLike[str],
    choose: Choose | None = None,
    *,
    missing: str = "error",
    cache: str | os.PathLike[str] | bool | None = None,
    encoding: str | None = None,
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
        numbers or "text". By default all columns of numbers are read.
    missing : {"error", "drop", "mean", "keep"}
        What to do with a cell that is empty or says NA, null, ? or alike: raise; leave its row out; give it the mean of its
        column, which must be one of numbers; or keep it as NaN or an empty text. Of rows left out and cells filled a warning
        says how many there were, and so do ``n_dropped`` and ``n_filled``.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.
    encoding : str, optional
        Of separated values, see `read_texts`.

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
            raise LatentiaError(f"{source}: a folder, and a file is needed.")
        with readable(source):
            if not source.exists():
                raise LatentiaError(f"{source}: no such file.")
        name, choose = plain_name(source), choose or _all_numbers
        if not name.endswith(_SUFFIXES + _PLAIN):
            raise LatentiaError(
                f"{source}: not a table that can be read. Save it as .csv, .tsv, .xlsx, .parquet or .mtx."
            )
        if encoding is not None and name.endswith((".mtx", ".parquet", ".xlsx")):
            raise no_encoding(source, encoding)
        if name.endswith(".mtx"):
            return _read_matrix(source, choose, cache if source == Path(path) else False)
        if name.endswith(".parquet"):
            table = _read_parquet(source, choose, missing)
        else:
            table = _read_rows(source, choose, missing, encoding)
        return table if missing in ("error", "keep") else _complete(source, table, missing)


def _all_numbers(kinds: Mapping[str, str]) -> Wanted:
    return Wanted([name for name, kind in kinds.items() if kind != "text"])


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
            raise LatentiaError(f"{path}: no column {name!r}, which {who}. There are {listed(kinds)}.")
        if times > 1:
            raise LatentiaError(f"{parameter} names {name!r} twice.")


def numeric_columns(
    path: Path,
    kinds: Mapping[str, str],
    columns: Sequence[str] | None,
    ignore: Sequence[str] = (),
    least: int = 1,
    why: str = "one or more are needed",
    parameter: str = "columns=",
    ignored: str = "ignore=",
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
    parameter, ignored : str
        What names ``columns`` and ``ignore``.

    Returns
    -------
    list of str

    Raises
    ------
    LatentiaError
        If there are fewer, or others are named than there are.
    """
    check_columns(path, kinds, parameter, columns or ())
    check_columns(path, kinds, ignored, ignore)
    ignored_names = set(ignore)
    both = [name for name in columns or () if name in ignored_names]
    if both:
        raise LatentiaError(f"{parameter} and {ignored} both name {both[0]!r}: name it in one.")
    chosen = list(columns) if columns else [name for name, kind in kinds.items() if kind != "text"]
    chosen = [name for name in chosen if name not in ignored_names]
    if len(chosen) < least:
        found = (
            f"{len(chosen)} column{'' if len(chosen) == 1 else 's'} of numbers" if chosen else "no column of numbers"
        )
        raise LatentiaError(f"{path}: {found}; {why}. There are {listed(kinds)}.")
    return chosen


def naming(kinds: Mapping[str, str]) -> str | None:
    """The column that names the rows: the first one of text."""
    return next((name for name, kind in kinds.items() if kind == "text"), None)


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


# --- rows of texts ----------------------------------------------------------------------------------------------


def _read_rows(path: Path, choose: Choose, missing: str, encoding: str | None) -> Table:
    with open_rows(path, None, encoding) as source:
        _, header = next(source.rows, (0, []))
        names = _header(path, header)
        first = list(islice(source.rows, _LOOKED_AT))
        if not first:
            raise LatentiaError(f"{path}: there are no rows below the header.")
        wanted = choose({name: _kind(row[i] for _, row in first) for i, name in enumerate(names)})
        numbers, texts = places_of(names, wanted.numbers), places_of(names, wanted.texts)
        cells = _Cells(path, names, source.unit, source.separator, missing != "error")
        pieces, lines, strings = [], [], {name: [] for name in wanted.texts}  # type: ignore[var-annotated]
        called, place = [], None if wanted.names is None else names.index(wanted.names)  # type: ignore[var-annotated]
        everything = chain(first, source.rows)
        while chunk := list(islice(everything, _CHUNK)):
            pieces.append(cells.numbers(chunk, numbers))
            lines += [line for line, _ in chunk]
            for i in texts:
                strings[names[i]] += [cells.text(line, i, row[i]) for line, row in chunk]
            if place is not None:
                called += [row[place].strip() for _, row in chunk]
    cells.tell_thousands()
    others = _others(names, wanted)
    values = np.vstack(pieces)
    return Table(values, list(wanted.numbers), strings, lines, others, path.name, source.unit, names=called)


def _header(path: Path, header: list[str]) -> list[str]:
    """Names of the columns, each its own."""
    if not any(name.strip() for name in header):
        raise LatentiaError(f"{path}: the file is empty.")
    if len(header) > _MOST_COLUMNS:
        raise LatentiaError(
            f"{path}, line 1: {len(header)} columns; at most {_MOST_COLUMNS} are read. Is it turned over?"
        )
    names = [name.strip() or f"column {i}" for i, name in enumerate(header, 1)]
    double = sorted(name for name, times in Counter(names).items() if times > 1)
    if all(_number(name) is not None for name in names) and (double or any("." in name for name in names)):
        raise LatentiaError(
            f"{path}, line 1: numbers, where the names of the columns are needed. Put a line of names above."
        )
    if double:
        raise LatentiaError(f"{path}, line 1: two columns are called {double[0]!r}. Give each its own name.")
    return names


def _kind(cells: Iterator[str]) -> str:
    """What most cells of a column are; a column without values is taken for text."""
    # A number with a comma counts: reading it then ends with an error that says so.
    values = [_number(cell.replace(",", ".")) for cell in cells if cell.strip().lower() not in _MISSING]
    good = [value for value in values if value is not None]
    if not good or 2 * len(good) < len(values):
        return "text"
    return "whole" if all(value.is_integer() for value in good) else "decimal"


def _number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return _TRUTH.get(cell.strip().lower())


@dataclass
class _Cells:
    """How cells of a file are turned to numbers and texts.

    Attributes
    ----------
    path : Path
    names : list of str
    unit, separator : str
    allowed : bool
        Whether cells may lack a value: as numbers they are NaN then, and "" as texts.
    points, commas : dict
        Of columns that are not separated by commas, the first line with a decimal point and with a decimal comma.
    fractions : bool
        Whether a number with a comma was met in which it can be nothing but a decimal comma.
    grouped : str
        The first number with a comma in which it may group thousands.
    """

    path: Path
    names: list[str]
    unit: str
    separator: str
    allowed: bool
    points: dict[int, int] = field(default_factory=dict)
    commas: dict[int, int] = field(default_factory=dict)
    fractions: bool = False
    grouped: str = ""

    def numbers(self, chunk: list[tuple[int, list[str]]], places: list[int]) -> np.ndarray:
        """Cells of some columns, shape (n, D)."""
        if self.separator != ",":
            for i in places:
                self._use_points(chunk, i)
        cells = [row[i] for _, row in chunk for i in places]
        try:
            values = np.array(list(map(float, cells))).reshape(len(chunk), len(places))
            if np.isfinite(values).all() and "_" not in "".join(cells):
                return values
        except ValueError:
            pass
        values = [self._value(line, i, row[i]) for line, row in chunk for i in places]  # type: ignore[assignment]
        return np.array(values, dtype=np.float64).reshape(len(chunk), len(places))

    def text(self, line: int, column: int, cell: str) -> str:
        """A cell as it is, without blanks around it."""
        if not _is_missing(cell):
            return cell.strip()
        if not self.allowed:
            self._refuse_missing(line, column, cell)
        return ""

    def tell_thousands(self) -> None:
        """Say which columns would hold thousands if commas were not decimal ones, where nothing in the file says so."""
        if self.commas and not self.fractions:
            listed = ", ".join(repr(self.names[column]) for column in self.commas)
            cell = self.grouped.strip()
            fact = f"{self.path}: all commas in {listed} stand before three digits, and were read as decimal points:"
            point = cell.replace(",", ".")
            warn(FileNotice(f"{fact} {cell} is {point}.", "If they group thousands, take them out of the file."))

    def _value(self, line: int, column: int, cell: str) -> float:
        if _is_missing(cell):
            if not self.allowed:
                self._refuse_missing(line, column, cell)
            return math.nan
        value = _number(cell)
        if value is None or not math.isfinite(value):
            number = "," in cell and _number(cell.replace(",", ".")) is not None
            hint = " Write decimals with a point, and thousands without a comma." if number else ""
            raise CellError(f"{self._place(line, column)}: {cell!r} is not a number.{hint} Correct it.")
        return value

    def _place(self, line: int, column: int) -> str:
        return f"{self.path}, {self.unit} {line}, column {self.names[column]!r}"

    def _refuse_missing(self, line: int, column: int, cell: str) -> NoReturn:
        text = f"{self._place(line, column)}: no value ({cell!r}). Fill it in or delete the {self.unit}."
        raise CellError(text, missing=True)

    def _use_points(self, chunk: list[tuple[int, list[str]]], column: int) -> None:
        """Put points for decimal commas; a comma before three digits is one if semicolons separate, and unclear else."""
        for line, row in chunk:
            cell = row[column]
            if "," in cell:
                thousands = _THOUSANDS.fullmatch(cell) is not None
                if _DECIMAL_COMMA.fullmatch(cell) and (self.separator == ";" or not thousands):
                    self.commas.setdefault(column, line)
                    self.fractions |= not thousands
                    self.grouped = self.grouped or cell
                    row[column] = cell.replace(",", ".")
            elif "." in cell and column not in self.points and _number(cell) is not None:
                self.points[column] = line
        if column in self.commas and column in self.points:
            raise CellError(
                f"{self._place(self.points[column], column)}: a number with a point, and one in {self.unit} "
                f"{self.commas[column]} with a comma. Write all with the same."
            )


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


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
                f"{path}, {table.unit} {at}, column {name!r}: no value, and texts have no mean. Fill it in."
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
        raise LatentiaError(f"{path}, column {without[0]!r}: there is no value, and so no mean. Leave the column out.")
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
            f"{path}: each of the {n} rows lacks a value in one column or another ({_counted(each)}). Leave columns out, or "
            "fill them in."
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


# --- binary formats ---------------------------------------------------------------------------------------------


def _read_parquet(path: Path, choose: Choose, missing: str) -> Table:
    with readable(path), open_parquet(path) as file:
        schema = file.schema_arrow
        kinds = {name: arrow_kind(schema.field(name).type) for name in schema.names}
        wanted = choose(kinds)
        given = [wanted.names] if wanted.names is not None else []
        table = file.read(columns=[*dict.fromkeys([*wanted.numbers, *wanted.texts, *given])])
        for name in wanted.numbers:
            if kinds[name] == "text":
                raise LatentiaError(
                    f"{path}, column {name!r}: holds {schema.field(name).type}, and numbers are needed."
                )
        values = np.empty((table.num_rows, len(wanted.numbers)))
        for i, name in enumerate(wanted.numbers):
            values[:, i] = table[name].to_numpy()
        texts = {name: table[name].to_pylist() for name in (*wanted.texts, *given)}
    if missing == "error":
        _refuse_nulls(path, table, wanted)
    for i, name in enumerate(wanted.numbers):
        if np.isinf(values[:, i]).any():
            row = int(np.argmax(np.isinf(values[:, i]))) + 1
            raise LatentiaError(f"{path}, row {row}, column {name!r}: {values[row - 1, i]} is not a number.")
        if missing == "error" and np.isnan(values[:, i]).any():
            row = int(np.argmax(np.isnan(values[:, i]))) + 1
            raise CellError(f"{path}, row {row}, column {name!r}: nan is not a number.", missing=True)
    strings = {name: ["" if text is None else str(text) for text in column] for name, column in texts.items()}
    called = strings[wanted.names] if wanted.names is not None else ()
    strings, rows = {name: strings[name] for name in wanted.texts}, range(1, table.num_rows + 1)
    others = _others(schema.names, wanted)
    return Table(values, list(wanted.numbers), strings, rows, others, path.name, names=called)


def _refuse_nulls(path: Path, table: Any, wanted: Wanted) -> None:
    for name in (*wanted.numbers, *wanted.texts):
        if table[name].null_count:
            row = table[name].is_null().to_numpy().argmax() + 1
            text = f"{path}, row {row}, column {name!r}: no value. Fill it in or drop the row."
            raise CellError(text, missing=True)


def _read_matrix(path: Path, choose: Choose, cache: str | os.PathLike[str] | bool | None) -> Table:
    blocks = Blocks.from_files(path, cache=cache)
    names = [f"column {i}" for i in range(1, blocks.shapes[0][1] + 1)]
    wanted = choose(dict.fromkeys(names, "decimal"))
    if wanted.texts:
        raise LatentiaError(f"{path}: a matrix holds numbers only; column {wanted.texts[0]!r} cannot be read as text.")
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
