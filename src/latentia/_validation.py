"""What every estimator checks of its data: the table, its columns, and that it holds numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from numbers import Integral, Number
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from ._entries import LARGEST, is_missing, missing_entries
from ._frames import column_names_of, has_frame_names, is_annotated, is_reading, table_of
from .exceptions import LatentiaError
from .passes import Block, Blocks, MappedBlocks
from .passes.tables import as_table, fill_masked

_SHOWN = 40  # characters of an entry in a message
_MOST_ROWS = 2**31  # that are read where they are repeated


class _NotNumbersError(LatentiaError, TypeError):
    """A table holds objects: scikit-learn's conventions ask for a `TypeError`."""


def check_vocabulary(estimator: Any) -> None:
    """Raise unless ``vocabulary`` is None or names every column."""
    given, n_columns = estimator.vocabulary, estimator.n_features_in_
    if given is None:
        return
    if len(given) != n_columns:
        raise LatentiaError(f"vocabulary has {len(given)} words and the data {n_columns} columns: they must agree.")
    if isinstance(given, Mapping) and {c for c in given.values() if isinstance(c, Integral)} != set(range(n_columns)):
        raise LatentiaError(
            f"vocabulary maps words to columns, and each of the columns 0 to {n_columns - 1} must have one word."
        )


def column_names(estimator: Any) -> Sequence[str] | None:
    """Names of the columns: from ``vocabulary`` where it is given, otherwise from the data; None if neither has them."""
    given = estimator.vocabulary
    if given is None:
        return estimator._column_names  # type: ignore[no-any-return]
    return sorted(given, key=given.__getitem__) if isinstance(given, Mapping) else given  # type: ignore[no-any-return]


def table_blocks(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    what: str = "features",
    sparse: bool = True,
    min_rows: int = 2,
    min_columns: int = 1,
    lengths: Any = None,
    dtype: Any = (np.float64, np.float32, np.int64, np.int32),
    missing: bool = False,
) -> Blocks:
    """Check a table and cut it into blocks; with ``reset`` the estimator remembers its width and column names.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_``, ``feature_names_in_`` where scikit-learn sets it, and ``_column_names`` (or None).
    X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_columns)
    reset : bool
        Whether this is a fit, whose statistics refuse what is no number; otherwise the width must be the one remembered, and
        blocks are checked as they are read.
    what : str
        What the columns are called in messages.
    sparse : bool
        Whether sparse matrices may come.
    min_rows, min_columns : int
        Least sizes in a fit.
    lengths : array-like of shape (n_sequences,), optional
        Lengths of sequences of rows.
    dtype : sequence of types or "numeric"
        Types that are kept, others becoming the first; or any numbers and truth values.
    missing : bool
        Whether NaN may stand for what is not known.
    """
    X = X.numeric_frame() if is_reading(X) else X
    if isinstance(X, Blocks):
        width = X.shapes[0][1]
        if reset:
            estimator.n_features_in_, estimator._column_names = width, X.names
            if X.n_rows and (width < min_columns or X.n_rows < min_rows):
                raise LatentiaError(
                    f"The data has {X.n_rows} rows and {width} {what}: at least {min_rows} and {min_columns} are needed."
                )
        elif width != estimator.n_features_in_:
            raise LatentiaError(f"X has {width} {what} and the model was fitted on {estimator.n_features_in_}.")
        else:
            _check_names(estimator, X.names)
        return not_empty(X) if reset else finite_blocks(not_empty(X), missing=missing)
    table = number_table(
        X, sparse_allowed=sparse, min_rows=min_rows if reset else 1, min_columns=min_columns if reset else 1,
        dtype=dtype if isinstance(dtype, str) else list(dtype), missing=missing, estimator=estimator,
    )  # fmt: skip
    names = column_names_of(X) if is_annotated(X) or has_frame_names(X) else None
    if has_frame_names(X):
        _keep_names(estimator, list(names or ()), reset)
    else:
        try:
            validate_data(estimator, X, reset=reset, skip_check_array=True)  # names and number of the columns
        except (ValueError, TypeError) as error:
            raise LatentiaError(str(error)) from error
    if reset:
        estimator._column_names = getattr(estimator, "feature_names_in_", names)
    else:
        _check_names(estimator, names)
    return Blocks.from_array(table, lengths=lengths)


def _keep_names(estimator: Any, names: list[str], reset: bool) -> None:
    """Remember the columns of a frame in a fit, and compare their number otherwise, as scikit-learn does for pandas."""
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)
    elif len(names) != estimator.n_features_in_:
        raise LatentiaError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as "
            "input."
        )


def _check_names(estimator: Any, names: Sequence[str] | None) -> None:
    """Raise where columns have other names than those of the fit, or the same in another order."""
    known = estimator._column_names
    if names is not None and known is not None and list(names) != list(known):
        raise LatentiaError(
            f"The columns begin {', '.join(map(str, names[:3]))}, and those of the fit {', '.join(map(str, known[:3]))}: give "
            "those of the fit, in the same order."
        )


def number_table(
    X: Any,
    name: str = "X",
    *,
    sparse_allowed: bool = True,
    min_rows: int = 1,
    min_columns: int = 1,
    dtype: Any = np.float64,
    missing: bool = False,
    estimator: Any = None,
) -> Any:
    """A table of finite numbers, shape (n, D): an array, or a csr_array in canonical form.

    Every table that a user gives passes here once. What cannot be used is an error that says where, and what to do.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n, D)
        Stays as it is.
    name : str
        What messages call it.
    sparse_allowed : bool
        Whether it may be sparse.
    min_rows, min_columns : int
        Least sizes.
    dtype : type, list of types or "numeric"
        As in scikit-learn's `check_array`.
    missing : bool
        Whether NaN may stand for what is not known.
    estimator : estimator, optional
        Named in messages about sizes.
    """
    check_form(X, name)
    table = table_of(X)
    if sparse.issparse(table):
        if not sparse_allowed:
            raise LatentiaError(f"{name} is sparse, and a dense table is needed: use its toarray().")
        table = as_table(table, name)
    else:
        table = fill_masked(table)
    try:
        with np.errstate(all="ignore"):  # of conversions, whose results are looked at one by one
            found = check_array(
                table, accept_sparse="csr", dtype=dtype, ensure_all_finite=False, ensure_min_samples=min_rows,
                ensure_min_features=min_columns, input_name=name, estimator=estimator,
            )  # fmt: skip
            found = found if sparse.issparse(found) else as_table(found, name)
    except (ValueError, TypeError, OverflowError) as error:
        _check_cells(X, name)
        raise LatentiaError(f"{name}: {error}") from error
    check_sizes(found, "" if name == "X" else f" of {name}", names=column_names_of(X), missing=missing, given=table)
    return found


def number_column(y: Any, name: str = "y", *, missing: bool = False) -> np.ndarray:
    """A column of finite numbers, shape (n,), read as `number_table` reads tables.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, 1), Series or DataFrame
        Stays as it is.
    name : str
        What messages call it.
    missing : bool
        Whether NaN may stand for what is not known.
    """
    refuse_dates(getattr(y, "dtype", None), name)
    if not hasattr(y, "columns"):
        if hasattr(y, "to_frame"):  # A series may have a type that only its frame turns into numbers.
            y = y.to_frame()
        elif isinstance(y, (list, tuple)) or hasattr(y, "__array__"):
            column = np.ma.asanyarray(y) if np.ma.isMaskedArray(y) else _array_of(y)
            y = column[:, None] if column is not None and column.ndim == 1 else y
    table = number_table(y, name, sparse_allowed=False, missing=missing)
    if table.shape[1] != 1:
        raise LatentiaError(f"{name} has {table.shape[1]} columns; expected one.")
    return np.asarray(table[:, 0])


def classes_of(column: np.ndarray, name: str = "y") -> np.ndarray:
    """Return the different classes of a column, in order: texts, truth values, or whole numbers."""
    whole = np.floor(column) if column.dtype.kind == "f" else column
    fractions = np.flatnonzero(column != whole) if whole is not column else np.empty(0, np.int64)
    if len(fractions):
        raise LatentiaError(
            f"Row {fractions[0]} of {name} holds {column[fractions[0]]}; expected one of few classes: whole numbers, truth "
            "values or texts.",
            row=int(fractions[0]), value=column[fractions[0]],
        )  # fmt: skip
    try:
        return np.unique(column)
    except TypeError as error:
        raise LatentiaError(f"{name} mixes classes of several types, as numbers and texts ({error}).") from error


def _array_of(values: Any) -> np.ndarray | None:
    """Return values as an array; None where they are of several lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return None


def not_empty(blocks: Blocks) -> Blocks:
    """The blocks, if they have rows."""
    if not blocks.n_rows:
        raise LatentiaError("The data is empty: it has no rows.")
    return blocks


def check_same_rows(**tables: int) -> None:
    """Raise unless tables of these names have equally many rows."""
    (first, n), *others = tables.items()
    for name, other in others:
        if other != n:
            raise LatentiaError(
                f"{first} has {n} rows and {name} has {other}: they need the same rows, in the same order."
            )


def weighted(rows: Any, sample_weight: Any) -> Any:
    """Rows as often as their weights say, or as they are where there are none."""
    if sample_weight is None:
        return rows
    if not isinstance(rows, Blocks):
        raise LatentiaError("sample_weight is of rows, and there are none in a table of counts: multiply the counts.")
    return rows.repeated(times_of(sample_weight, rows.n_rows))


def times_of(sample_weight: Any, n_rows: int) -> np.ndarray:
    """How often each row is there, whole numbers of shape (n_rows,)."""
    weights = _weights_of(sample_weight, n_rows)
    wrong = np.flatnonzero(weights != np.rint(weights))
    if len(wrong):
        raise LatentiaError(
            f"sample_weight is {weights[wrong[0]]} at position {wrong[0]}. It says how often a row is there: whole numbers of "
            "at least 0. Make shares whole by numpy.rint(10 * sample_weight / sample_weight.mean()), at ten times the rows."
        )
    if weights.sum() >= _MOST_ROWS:
        raise LatentiaError(f"sample_weight adds up to {weights.sum():,.0f} rows: {_MOST_ROWS - 1:,} are the most.")
    return weights.astype(np.int64)


def weighted_mean(values: np.ndarray, sample_weight: Any) -> float:
    """The mean of a value of each row."""
    return float(np.average(values, weights=None if sample_weight is None else _weights_of(sample_weight, len(values))))


def _weights_of(sample_weight: Any, n_rows: int) -> np.ndarray:
    weights = np.asarray(sample_weight)
    if weights.shape != (n_rows,):
        raise LatentiaError(f"sample_weight has shape {weights.shape}, and ({n_rows},) is needed.")
    weights = as_table(weights, "sample_weight")[:, 0].astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise LatentiaError(
            f"sample_weight is {weights[wrong[0]]} at position {wrong[0]}: numbers of at least 0 are needed."
        )
    if not weights.any():
        raise LatentiaError("sample_weight is zero for all rows.")
    return weights


def check_form(X: Any, name: str) -> None:
    """Raise for what has no rows and columns, or none of numbers."""
    what = "a table of numbers in rows and columns is needed, such as an array, a sparse matrix or a DataFrame"
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = sorted({type(column).__name__ for column in X.columns})
        if len(kinds) > 1 and "str" in kinds:
            raise LatentiaError(
                f"The columns of {name} have names of several types, {' and '.join(kinds)}. Make all of them strings: "
                "frame.columns = frame.columns.astype(str)."
            )
        for column, dtype in zip(X.columns, X.dtypes, strict=True):
            refuse_dates(dtype, f"Column {column!r} of {name}")
        return
    refuse_dates(getattr(X, "dtype", None), name)
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        _check_array(X, name, what)
    elif isinstance(X, (list, tuple)) or (isinstance(X, Sequence) and not isinstance(X, (str, bytes))):
        _check_rows(X, name, what)
    else:
        remedy = ""
        if isinstance(X, Mapping):
            remedy = " Of columns by their names pandas.DataFrame makes one."
        elif isinstance(X, (Iterator, Set)):
            remedy = " Make a list of it first."
        shown = "None" if X is None else f"of type {type(X).__name__}"
        raise LatentiaError(f"{name} is {shown}: {what}.{remedy}")


def _check_array(X: Any, name: str, what: str) -> None:
    array = X if hasattr(X, "shape") else np.asarray(X)
    shape, dtype = array.shape, getattr(array, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if dtype is not None and getattr(dtype, "names", None):
        raise LatentiaError(
            f"{name} has named fields, {_few(dtype.names)}: {what}. "
            "numpy.lib.recfunctions.structured_to_unstructured makes one."
        )
    if kind == "c":
        raise LatentiaError(f"Complex data not supported: {name} has type {dtype}, and real numbers are needed.")
    if len(shape) == 1:
        raise LatentiaError(_one_dimension(name, shape[0], kind in "US" or (kind == "O" and _is_text(array))))
    if len(shape) != 2:
        raise LatentiaError(f"{name} has {len(shape)} dimensions: {what}.")


def _check_rows(X: Sequence[Any], name: str, what: str) -> None:
    """Of lists: they must have rows, of equal length."""
    if not len(X):
        raise LatentiaError(f"{name} is empty: it has no rows.")
    sizes = [len(row) if hasattr(row, "__len__") and not isinstance(row, (str, bytes)) else None for row in X]
    if sizes[0] is None and len(set(sizes)) == 1:
        raise LatentiaError(_one_dimension(name, len(X), _is_text(X)))
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is not None:
        one, other = ("is no row" if size is None else f"has {size} entries" for size in (sizes[odd], sizes[0]))
        raise LatentiaError(f"{name}: row {odd} {one} and row 0 {other}: {what}.")


def _is_text(values: Any) -> bool:
    return all(isinstance(value, (str, bytes)) for value in values)


def _one_dimension(name: str, size: int, texts: bool) -> str:
    if texts:
        return (
            f"{name} holds {size} texts in one dimension, and a table of numbers is needed. Count their words first, such as "
            "with latentia.words.WordVectorizer().fit_transform."
        )
    return (
        f"{name} has one dimension, of {size} entries, and a table is needed. Reshape your data: .reshape(-1, 1) makes one "
        "column of it, .reshape(1, -1) one row."
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _check_cells(X: Any, name: str) -> None:
    """Raise for the first entry that is no number, if there is one."""
    if sparse.issparse(X):
        return
    names, X = column_names_of(X), table_of(X)
    table = None if hasattr(X, "iloc") else np.array(X, dtype=object, ndmin=2)
    for number in range(X.shape[1] if table is None else table.shape[1]):
        column = np.asarray(X.iloc[:, number]) if table is None else table[:, number]
        if column.dtype.kind in "biuf":
            continue
        for row, value in enumerate(column.tolist()):
            if is_missing(value) or (isinstance(value, Number) and not isinstance(value, complex) and fits(value)):
                continue
            named = f"column {number}" if names is None else f"column {names[number]!r}"
            refuse_cell(value, f"Row {row}, {named} of {name}", row, number if names is None else names[number])


def fits(value: Any) -> bool:
    """Whether a number can be one of 64 bits."""
    try:
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def refuse_cell(value: Any, where: str, row: int | None = None, column: Any = None) -> None:
    """Raise unless a string holds a number."""
    cell: dict[str, Any] = {"value": value, "row": row, "column": column}
    shown = repr(value) if len(repr(value)) <= _SHOWN else f"{repr(value)[:_SHOWN]}..."
    try:
        float(value)
    except OverflowError as error:
        raise LatentiaError(f"{where}: {shown} is too large for a number of 64 bits.", **cell) from error
    except (TypeError, ValueError) as error:
        if isinstance(value, (str, bytes)):
            raise LatentiaError(
                f"{where}: {shown} is text, and a number is needed. Drop the column, or encode it.", **cell
            ) from error
        raise _NotNumbersError(
            f"{where}: {error}. A number is needed: drop the column, or encode it.", **cell
        ) from error


def refuse_dates(table: Any, name: str = "The data") -> None:
    """Raise for an array, or a type, of dates or spans of time: they would pass for numbers of nanoseconds or days."""
    dtype = getattr(table, "dtype", table)
    if getattr(dtype, "kind", "") in ("m", "M"):
        raise LatentiaError(
            f"{name} has type {dtype}, dates or spans of time, and numbers are needed. Drop it, or make numbers of it, such as "
            "days since the first."
        )


def check_sizes(
    table: Any,
    place: str = "",
    rows: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    missing: bool = False,
    given: Any = None,
) -> Any:
    """The table, shape (n, D), if its numbers are finite and their powers in range; otherwise an error that names the entry.

    ``place`` says in messages what the table is, and ``rows`` are numbers of its rows in the source. Where entries may be
    missing, NaN passes in tables that are not sparse. ``given`` is what the table was made of, perhaps of another type.
    """
    if missing and not sparse.issparse(table) and table.dtype.kind == "f" and np.isnan(table).any():
        check_sizes(np.where(np.isnan(table), 0.0, table), place, rows, names, given=given)
        return table
    values = table.data if sparse.issparse(table) else table
    if values.dtype.kind not in "fiu" or not values.size or max(float(values.max()), -float(values.min())) <= LARGEST:
        return table
    wrong = ~(np.abs(values) <= np.float64(LARGEST))
    if sparse.issparse(table):
        entry = int(np.argmax(wrong))
        row, column = int(np.searchsorted(table.indptr, entry, side="right")) - 1, int(table.indices[entry])
        value = values[entry]
    else:
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        value = values[row, column]
    named = f"column {column}" if names is None else f"column {names[column]!r}"
    number = row if rows is None else int(rows[row])
    where = f"Row {number}, {named}{place}"
    cell: dict[str, Any] = {"row": number, "column": column if names is None else names[column], "value": value}
    if np.isfinite(value):
        raise LatentiaError(f"{where}: {value!s}, whose powers are out of range. Divide the data by its size.", **cell)
    source = _cell(given, row, column)
    if source is not None:
        raise LatentiaError(
            f"{where}: {source!s} is too large for a number of 64 bits. Divide the data by its size.", **cell
        )
    shown = "NaN" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
    more = int(np.count_nonzero(~np.isfinite(values))) - 1
    raise LatentiaError(
        f"{where}: {shown}, and a number is needed{f' ({more:,} more like it)' if more else ''}. Drop such rows or columns, or "
        "impute the entries, such as with scikit-learn's SimpleImputer.",
        **cell,
    )


def _cell(table: Any, row: int, column: int) -> Any:
    """An entry of a table that was given, where it is a finite number of another type; otherwise None."""
    if table is None or sparse.issparse(table):
        return None
    value = table.iloc[row, column] if hasattr(table, "iloc") else np.asarray(table)[row, column]
    try:
        return value if np.isfinite(value) else None
    except TypeError:  # text
        return value if str(value).strip().lstrip("+-")[:1].isdigit() else None


def finite_blocks(
    blocks: Blocks, parts: Sequence[int] = (0,), labels: Sequence[str] = (), missing: bool = False
) -> Blocks:
    """The blocks; reading one with NaN, infinity or a number out of range in one of these parts is an error that names it.

    ``labels`` are names of the parts for the message. Where entries may be missing, NaN passes.
    """
    places = [f" of {label}" for label in labels] if labels else [""] * len(parts)

    def checked(block: Block) -> Block:
        for part, place in zip(parts, places, strict=True):
            check_sizes(block[part], place, block.rows, blocks.names if part == 0 else None, missing)
        return block

    return MappedBlocks(blocks, checked, blocks.shapes, blocks.names)


def missing_cells(blocks: Blocks) -> np.ndarray | None:
    """Return which cells of all rows are missing, shape (n, D); None where none are."""
    if not any(missing_entries(block[0]) is not None for block in blocks):
        return None
    return np.vstack([np.isnan(np.asarray(block[0], dtype=np.float64)) for block in blocks])


def gaps_of(blocks: Blocks) -> np.ndarray | None:
    """Return `missing_cells`; raise for a row or column of nothing else."""
    gaps = missing_cells(blocks)
    if gaps is None:
        return None
    if gaps.all(axis=1).any():
        check_gaps(gaps, np.concatenate([block.rows for block in blocks]))
    empty = gaps.all(axis=0)
    if empty.any():
        raise LatentiaError(f"Column {int(np.argmax(empty))} has no cell that is there, all are NaN: drop it.")
    return gaps


def check_gaps(gaps: np.ndarray, rows: np.ndarray) -> None:
    """Raise for a row of which all cells are missing."""
    empty = gaps.all(axis=1)
    if empty.any():
        raise LatentiaError(f"Row {rows[int(np.argmax(empty))]} has no cell that is there, all are NaN: drop it.")
