"""Two views of the same rows, in one table each, with an optional target."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

import numpy as np

from ..exceptions import LatentiaError, write_parameter
from ..system.scratch import real_path
from .tables import CellError, ColumnChoice, Table, dense, numeric_columns, read_table
from .texts import read_lines

__all__ = ["Views", "match_rows", "read_views"]

_SINGULAR_RATIO = 1e-10  # smallest ratio of eigenvalues; below it columns depend on each other
_MIN_ROWS = 16  # four in each quarter, for fourth cumulants
_NUMBER_WORDS = {1: "one", 2: "two"}
_Cache = str | os.PathLike[str] | bool | None


@dataclass(frozen=True)
class Views:
    """Two tables of the same rows, without constant columns, and the target.

    Attributes
    ----------
    U : ndarray of shape (n_rows, D_u)
    V : ndarray of shape (n_rows, D_v)
    y : ndarray of shape (n_rows,) or None
        The target: numbers, or two classes as texts.
    columns, columns_v : list of str
        Names of the columns of U, and of V.
    constant, constant_v : list of str
        Columns of either that are left out, as they are constant.
    rows : list of int
        For every row its line in the file of U, or its number from 1 if the format has no lines.
    names : list of str
        Names of the rows, from the first text column of U's file; empty if there is none.
    target : str
        Name of the target; empty if there is none.
    edges : list of pairs of int, or None
        Columns of U that may be coupled.
    tables : (Table, Table)
        Both files as they were read, before rows and columns were left out.
    n_dropped : int
        Number of rows that lack a value in one of the files, and are left out of all.
    n_filled : int
        Number of cells without a value that were filled with the mean of their column.
    """

    U: np.ndarray
    V: np.ndarray
    y: np.ndarray | None
    columns: list[str]
    columns_v: list[str]
    constant: list[str]
    constant_v: list[str]
    rows: list[int]
    names: list[str]
    target: str
    edges: list[list[int]] | None
    tables: tuple[Table, Table]
    n_dropped: int
    n_filled: int


def read_views(
    path: str | os.PathLike[str],
    other: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    columns_v: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    target: str | os.PathLike[str] | None = None,
    classes: bool = False,
    edges: str | os.PathLike[str] | None = None,
    min_columns: int = 1,
    missing: str = "error",
    cache: _Cache = None,
    encoding: str | None = None,
) -> Views:
    r"""Read two tables of the same rows in the same order, for `latentia.contrastive`.

    Rows that lack a value in one of the files are left out of all, and so are constant columns.

    Parameters
    ----------
    path, other : path
        The tables of U and of V, as `read_table` reads them. One file may be both, with other columns.
    columns, columns_v : sequence of str, optional
        The columns of U, and of V; by default all of numbers.
    ignore : sequence of str
        Columns of either not to use, such as an id.
    target : str or path, optional
        Target of a prediction: a file with one column, if there is one of this name, or else a column of U's file.
    classes : bool, default=False
        True if the target has two classes; by default it holds numbers.
    edges : path, optional
        A text with the names of two columns of U a line, separated by a tab, a semicolon, a comma or blanks.
    min_columns : int, default=1
        Minimum number of columns of U.
    missing : {"error", "drop", "mean"}
        Treatment of cells without a value, see `read_table`. A target is never filled: with "mean" rows that lack it are left
        out.
    cache : path or bool, optional
        Folder for the binary cache of MatrixMarket files; by default beside them. False keeps none.
    encoding : str, optional
        Of separated values, see `read_texts`.

    Returns
    -------
    Views

    Raises
    ------
    LatentiaError
        If a file cannot be read or lacks a column, the files have not the same number of rows, there are fewer than 16 of them
        or not more than columns, columns depend on each other linearly, or the target is constant or has not two classes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentia.datasets import read_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     u, v = Path(folder) / "u.csv", Path(folder) / "v.csv"
    ...     _ = u.write_text("a,b,one" + "".join(f"\n{i % 5},{i * i % 7},1" for i in range(20)))
    ...     _ = v.write_text("c" + "".join(f"\n{i * i % 11}" for i in range(20)))
    ...     views = read_views(u, v)
    >>> views.U.shape, views.V.shape, views.columns, views.constant
    ((20, 2), (20, 1), ['a', 'b'], ['one'])
    """
    if missing not in ("error", "drop", "mean"):
        raise LatentiaError("expected 'error', 'drop' or 'mean'.", parameter="missing", value=missing)
    first, second = Path(path), Path(other)
    file = None if target is None or not Path(target).is_file() else Path(target)
    target_column, kinds_by_file = None if target is None or file else str(target), dict[Path, Mapping[str, str]]()
    tables = [
        _read_view(file_path, name, chosen, ignore, target_column, minimum, kinds_by_file, missing, cache, encoding)
        for file_path, name, chosen, minimum in (
            (first, "columns", columns, min_columns),
            (second, "columns_v", columns_v, 1),
        )
    ]
    for name in ignore:
        if not any(name in kinds for kinds in kinds_by_file.values()):
            raise LatentiaError(
                f"{write_parameter('ignore')} names {name!r}, and neither {first} nor {second} has such a column."
            )
    duplicates = [name for name in tables[0].columns if name in tables[1].columns]
    if duplicates and real_path(first) == real_path(second):
        raise LatentiaError(
            f"{first}: is given as U and as V, and both have column {duplicates[0]!r}. Choose the columns of each with "
            f"{write_parameter('columns')} and {write_parameter('columns_v')}."
        )
    if target is not None:
        target_missing = missing if missing == "error" else "drop"
        tables.append(
            _read_target(first, str(target), file, classes, kinds_by_file[first], target_missing, cache, encoding)
        )
    masks = match_rows(tables, [first, second, file or first][: len(tables)], cache=cache, encoding=encoding)
    views = _join_tables(tables, masks, classes)
    return views if edges is None else replace(views, edges=_read_edges(Path(edges), views.columns, encoding))


def match_rows(
    tables: Sequence[Table],
    paths: Sequence[str | os.PathLike[str]],
    *,
    cache: _Cache = None,
    encoding: str | None = None,
) -> list[np.ndarray]:
    """Return masks of the rows that all tables have: some tables may lack rows without a value.

    Parameters
    ----------
    tables : sequence of Table
        U, V and the target, or the first of these.
    paths : sequence of path
        Their files.
    cache, encoding : optional
        Options with which they were read.

    Returns
    -------
    list of ndarrays
        A bool for every row of every table.

    Raises
    ------
    LatentiaError
        If the files have not the same number of rows, or no row has all its values.
    """
    sizes = [len(table.rows) + table.n_dropped for table in tables]
    for path, size, noun in zip(paths[1:], sizes[1:], ("V", "the target"), strict=False):
        if size != sizes[0]:
            raise LatentiaError(
                f"{paths[0]} has {sizes[0]:,} rows and {path} {size:,}: expected the same rows in U and {noun}, in the same "
                "order." + (" Empty lines are no rows: write NA where a value is not known." if noun != "V" else "")
            )
    places = []
    for table, path in zip(tables, paths, strict=True):
        has_row = np.ones(sizes[0], bool)
        if table.n_dropped:
            all_rows = read_table(path, lambda _: ColumnChoice(), cache=cache, encoding=encoding).rows
            has_row = np.isin(np.fromiter(all_rows, int), np.fromiter(table.rows, int))
        places.append(has_row)
    in_all = np.logical_and.reduce(places)
    if not in_all.any():
        raise LatentiaError(
            f"{' and '.join(table.source for table in tables[:2])}: no row has all its values. Leave columns out with "
            f"{write_parameter('ignore')}, or use {write_parameter('missing', 'mean')}."
        )
    return [in_all[has_row] for has_row in places]


# --- tables -----------------------------------------------------------------------------------------------------


def _read_view(
    path: Path, parameter: str, columns: Sequence[str] | None, ignore: Sequence[str], target: str | None, min_columns: int,
    kinds_by_file: dict[Path, Mapping[str, str]], missing: str, cache: _Cache, encoding: str | None,
) -> Table:  # fmt: skip
    """Read columns of numbers of U or V, and note the kinds of all columns of the file in ``kinds_by_file``."""

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        kinds_by_file[path] = kinds
        left_out = [name for name in [*ignore, *([target] if target else [])] if name in kinds]
        if target in (columns or []):
            parameters = f"{write_parameter(parameter)} and {write_parameter('target')} both name {target!r}"
            raise LatentiaError(f"{parameters}: the target cannot predict itself.")
        reason = f"expected at least {_NUMBER_WORDS.get(min_columns, min_columns)}"
        parameter_names = write_parameter(parameter), write_parameter("ignore")
        return ColumnChoice(
            numeric_columns(path, kinds, columns, left_out, min_columns, reason, *parameter_names), names=True
        )

    try:
        table = read_table(path, choose, missing=missing, cache=cache, encoding=encoding)
    except CellError as error:
        error.hint = f"Or use other columns with {write_parameter(parameter)}."
        raise
    return table if len(set(table.names)) > 1 else replace(table, names=())


def _read_target(
    source: Path, target: str, file: Path | None, classes: bool, kinds_by_column: Mapping[str, str], missing: str,
    cache: _Cache, encoding: str | None,
) -> Table:  # fmt: skip
    """Read the target as a table of one column."""
    if file is None and target not in kinds_by_column:
        text = f"no such file, and no such column in {source}. There are {', '.join(list(kinds_by_column)[:30])}."
        raise LatentiaError(text, parameter="target", value=target)

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        name = target
        if file is not None:
            if len(kinds) != 1:
                text = (
                    f"expected one column, found {len(kinds)} ({', '.join(list(kinds)[:10])}). Keep one, or put it into the "
                    "file of U and name it."
                )
                raise LatentiaError(text, parameter="target", value=str(file))
            (name,) = kinds
        if classes:
            return ColumnChoice(texts=[name])
        if kinds[name] in ("text", "two"):
            way = write_parameter("classes", True)
            text = f"expected a column of numbers for a regression, found texts. Use {way} for two classes."
            raise LatentiaError(text, parameter="target", value=name)
        return ColumnChoice(numbers=[name])

    return read_table(file or source, choose, missing=missing, cache=cache, encoding=encoding)


def _read_edges(path: Path, columns: Sequence[str], encoding: str | None) -> list[list[int]]:
    """Return pairs of column numbers of U, from a text with two names a line."""
    if not path.is_file():
        raise LatentiaError("no such file.", parameter="edges", value=str(path))
    number = {name: i for i, name in enumerate(columns)}
    pairs = []
    for n, line in enumerate(read_lines(path, encoding), 1):
        if not line.strip():
            continue
        split = ([cell.strip() for cell in line.split(mark)] for mark in "\t;,")
        names = next((cells for cells in split if len(cells) == 2), line.split())
        unknown = [name for name in names if name not in number]
        problem = f"U has no column {unknown[0]!r}. It has {', '.join(list(columns)[:30])}." if unknown else ""
        if len(names) != 2:
            problem = f"expected the names of two columns of U, found {len(names)}."
        if problem:
            raise LatentiaError(f"line {n}: {problem}", parameter="edges", value=str(path))
        pairs.append([number[name] for name in names])
    if not pairs:
        raise LatentiaError("expected pairs, found none in the file.", parameter="edges", value=str(path))
    return pairs


# --- views ------------------------------------------------------------------------------------------------------


def _join_tables(tables: Sequence[Table], masks: Sequence[np.ndarray], classes: bool) -> Views:
    """Join the rows that all tables have, without constant columns."""
    first, second = tables[:2]
    views, names, constant = [], [], []
    for letter, table, mask in zip("UV", (first, second), masks, strict=False):
        values = dense(table) if mask.all() else dense(table)[mask]
        varies = np.ptp(values, axis=0) > 0
        if not varies.any():
            raise LatentiaError(
                f"all {len(varies)} columns of {letter} are constant over {len(values)} rows.", source=table.source
            )
        views.append(values[:, varies])
        names.append(list(compress(table.columns, varies)))
        constant.append(list(compress(table.columns, ~varies)))
    _check_dependence(views, names, f"{first.source} and {second.source}")
    y = None if len(tables) < 3 else _extract_target(tables[2], masks[2], classes)
    target_name = "" if len(tables) < 3 else next(iter([*tables[2].columns, *tables[2].texts]))
    rows, row_names = list(compress(first.rows, masks[0])), list(compress(first.names, masks[0]))
    n_dropped, n_filled = len(first.rows) + first.n_dropped - len(rows), sum(table.n_filled for table in tables)
    return Views(
        U=views[0],
        V=views[1],
        y=y,
        columns=names[0], columns_v=names[1], constant=constant[0], constant_v=constant[1], rows=rows, names=row_names,
        target=target_name, edges=None, tables=(first, second), n_dropped=n_dropped, n_filled=n_filled,
    )  # fmt: skip


def _check_dependence(views: list[np.ndarray], names: list[list[str]], source: str) -> None:
    """Raise, with names, if columns depend on each other linearly."""
    titles = [*(f"{name} of U" for name in names[0]), *(f"{name} of V" for name in names[1])]
    joined, start = np.hstack(views), 0
    n, d = joined.shape
    if n < _MIN_ROWS:
        raise LatentiaError(f"expected at least {_MIN_ROWS} rows, and better hundreds; found {n}.", source=source)
    if n <= d:
        raise LatentiaError(
            f"expected more rows than columns, found {n} rows and {d} columns in both tables. Use fewer columns "
            f"({write_parameter('columns')}, {write_parameter('columns_v')}), such as the first principal components of each "
            "table.",
            source=source,
        )
    scaled = (joined - joined.mean(axis=0)) / joined.std(axis=0)
    for stop in (len(names[0]), d, d):
        values, vectors = np.linalg.eigh(scaled[:, start:stop].T @ scaled[:, start:stop] / n)
        if values[0] <= _SINGULAR_RATIO * values[-1]:
            involved = np.flatnonzero(np.abs(vectors[:, 0]) > 0.1)
            listed = ", ".join(titles[start + i] for i in involved[:6])
            raise LatentiaError(
                f"columns depend on each other: {listed}{' and more' if len(involved) > 6 else ''}. One of them "
                f"follows from the others: leave it out with {write_parameter('ignore')}.",
                source=source,
            )
        start = stop if stop < d else 0


def _extract_target(table: Table, mask: np.ndarray, classes: bool) -> np.ndarray:
    """Return the target of the selected rows."""
    if not classes:
        y = np.asarray(table.values[mask, 0])
        if np.ptp(y) == 0:
            text = f"it is {y[0]:g} in all {len(y)} rows, nothing to predict."
            raise LatentiaError(text, parameter="target", value=table.columns[0])
        return y
    ((name, texts),) = table.texts.items()
    y = np.asarray(texts, dtype=str)[mask]
    classes_found = sorted(set(y.tolist()))
    if len(classes_found) != 2:
        listed = ", ".join(classes_found[:5]) + (", ..." if len(classes_found) > 5 else "")
        hint = f" For numbers use {write_parameter('classes', False)}." if len(classes_found) > 2 else ""
        text = f"expected two classes, found {len(classes_found)} different values ({listed}).{hint}"
        raise LatentiaError(text, parameter="target", value=name)
    return y
