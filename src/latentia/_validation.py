"""Validation of data: tables, columns and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from numbers import Integral, Number
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from ._entries import LARGEST, is_missing, missing_entries
from ._fields import MAX_MAGNITUDE
from ._frames import column_names_of, has_frame_names, is_annotated, is_reading, table_of
from .exceptions import LatentiaError
from .passes import Block, Blocks, MappedBlocks
from .passes.tables import as_table, fill_masked

_MAX_TEXT_LENGTH = 40  # characters of an entry that a message shows
_MAX_REPEATED_ROWS = 2**31  # limit for rows repeated by sample_weight


class _NotNumbersError(LatentiaError, TypeError):
    """Error about a table of objects: scikit-learn expects a `TypeError`."""


def check_vocabulary(estimator: Any) -> None:
    """Raise unless ``vocabulary`` is None or names every column."""
    vocabulary, n_columns = estimator.vocabulary, estimator.n_features_in_
    if vocabulary is None:
        return
    if len(vocabulary) != n_columns:
        raise LatentiaError(
            f"vocabulary has {len(vocabulary)} words; expected {n_columns}, one for each column of the data."
        )
    if isinstance(vocabulary, Mapping) and {c for c in vocabulary.values() if isinstance(c, Integral)} != set(
        range(n_columns)
    ):
        raise LatentiaError(f"vocabulary: expected one word for each of the columns 0 to {n_columns - 1}.")


def column_names(estimator: Any) -> Sequence[str] | None:
    """Return the names of the columns, from ``vocabulary`` or else from the data; None without names."""
    vocabulary = estimator.vocabulary
    if vocabulary is None:
        return estimator._column_names  # type: ignore[no-any-return]
    return sorted(vocabulary, key=vocabulary.__getitem__) if isinstance(vocabulary, Mapping) else vocabulary  # type: ignore[no-any-return]


def table_blocks(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    column_noun: str = "features",
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
        Its ``n_features_in_``, ``feature_names_in_`` (as scikit-learn does) and ``_column_names`` are set.
    X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_columns)
    reset : bool
        Whether this is a fit, whose statistics reject non-numbers. Otherwise the width must be that of the fit, and blocks are
        checked as they are read.
    column_noun : str
        Noun for the columns in messages.
    sparse : bool
        Whether sparse matrices are allowed.
    min_rows, min_columns : int
        Smallest sizes in a fit.
    lengths : array-like of shape (n_sequences,), optional
        Lengths of sequences of rows.
    dtype : sequence of types or "numeric"
        Types that are kept; others are converted to the first. "numeric" keeps any numbers and truth values.
    missing : bool
        Whether NaN is allowed, for missing values.
    """
    X = X.numeric_frame() if is_reading(X) else X
    if isinstance(X, Blocks):
        width = X.shapes[0][1]
        if reset:
            estimator.n_features_in_, estimator._column_names = width, X.names
            if X.n_rows and (width < min_columns or X.n_rows < min_rows):
                raise LatentiaError(
                    f"The data has {X.n_rows} rows and {width} {column_noun}; expected at least {min_rows} and {min_columns}."
                )
        elif width != estimator.n_features_in_:
            raise LatentiaError(f"X has {width} {column_noun}; the model was fitted on {estimator.n_features_in_}.")
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
    """Store the column names of a frame in a fit; otherwise compare their number, as scikit-learn does for pandas."""
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, dtype=object)
    elif len(names) != estimator.n_features_in_:
        raise LatentiaError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as "
            "input."
        )


def _check_names(estimator: Any, names: Sequence[str] | None) -> None:
    """Raise if the columns have other names or another order than in the fit."""
    fitted_names = estimator._column_names
    if names is not None and fitted_names is not None and list(names) != list(fitted_names):
        raise LatentiaError(
            f"The columns begin with {', '.join(map(str, names[:3]))}; expected those of the fit in their order, "
            f"{', '.join(map(str, fitted_names[:3]))}."
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
    """Validate a table of finite numbers, shape (n, D), and return an array, or a csr_array in canonical format.

    Every table from a user passes here once. Errors name the place and what to do.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n, D)
        It is not changed.
    name : str
        Name of the table in messages.
    sparse_allowed : bool
        Whether sparse matrices are allowed.
    min_rows, min_columns : int
        Smallest sizes.
    dtype : type, list of types or "numeric"
        As in scikit-learn's `check_array`.
    missing : bool
        Whether NaN is allowed, for missing values.
    estimator : estimator, optional
        Named in messages about sizes.
    """
    check_form(X, name)
    table = table_of(X)
    if sparse.issparse(table):
        if not sparse_allowed:
            raise LatentiaError(f"{name} is sparse; expected a dense table. Use its toarray().")
        table = as_table(table, name)
    else:
        is_sparse_frame = not sparse_allowed and hasattr(table, "iloc") and hasattr(table, "sparse")
        table = table.sparse.to_dense() if is_sparse_frame else fill_masked(table)
    try:
        with np.errstate(all="ignore"):  # conversions may overflow; their results are checked below
            numbers = check_array(
                table, accept_sparse="csr", dtype=dtype, ensure_all_finite=False, ensure_min_samples=min_rows,
                ensure_min_features=min_columns, input_name=name, estimator=estimator,
            )  # fmt: skip
            numbers = numbers if sparse.issparse(numbers) else as_table(numbers, name)
    except (ValueError, TypeError, OverflowError) as error:
        _check_cells(X, name)
        raise LatentiaError(f"{name}: {error}") from error
    check_sizes(
        numbers, "" if name == "X" else f" of {name}", names=column_names_of(X), missing=missing, original=table
    )
    return numbers


def number_column(y: Any, name: str = "y", *, missing: bool = False) -> np.ndarray:
    """Validate a column of finite numbers, shape (n,), as `number_table` does for tables.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, 1), Series or DataFrame
        It is not changed.
    name : str
        Name of the table in messages.
    missing : bool
        Whether NaN is allowed, for missing values.
    """
    refuse_dates(getattr(y, "dtype", None), name)
    if not hasattr(y, "columns"):
        if hasattr(y, "to_frame"):  # some types of series convert to numbers only in a frame
            y = y.to_frame()
        elif isinstance(y, (list, tuple)) or hasattr(y, "__array__"):
            column = np.ma.asanyarray(y) if np.ma.isMaskedArray(y) else _array_of(y)
            y = column[:, None] if column is not None and column.ndim == 1 else y
    table = number_table(y, name, sparse_allowed=False, missing=missing)
    if table.shape[1] != 1:
        raise LatentiaError(f"{name} has {table.shape[1]} columns; expected one.")
    return np.asarray(table[:, 0])


def classes_of(column: np.ndarray, name: str = "y") -> np.ndarray:
    """Return the sorted classes of a column: texts, truth values, or whole numbers."""
    whole_numbers = np.floor(column) if column.dtype.kind == "f" else column
    fractions = np.flatnonzero(column != whole_numbers) if whole_numbers is not column else np.empty(0, np.int64)
    if len(fractions):
        raise LatentiaError(
            f"Row {fractions[0]} of {name} holds {column[fractions[0]]}; expected one of few classes: whole numbers, truth "
            "values or texts.",
            row=int(fractions[0]), value=column[fractions[0]],
        )  # fmt: skip
    try:
        return np.unique(column)
    except TypeError as error:
        raise LatentiaError(f"{name} mixes classes of several types, such as numbers and texts ({error}).") from error


def list_of(values: Any, parameter: str) -> list[Any]:
    """Return a column of any values as a list, with None for masked ones; raise for a number, None or a table."""
    try:
        if getattr(values, "ndim", 1) != 1:
            raise TypeError
        return [None if value is np.ma.masked else value for value in values]
    except TypeError as error:
        raise LatentiaError(
            f"Expected a list, an array or a column; found {type(values).__name__}.", parameter=parameter
        ) from error


def array_of(values: Any, parameter: str) -> np.ndarray:
    """Return values as an array of any shape and type; raise for lists of different lengths."""
    array = None if sparse.issparse(values) else _array_of(fill_masked(values))
    if array is None:
        raise LatentiaError(f"Expected an array; found {type(values).__name__}.", parameter=parameter)
    return array


def number_array(values: Any, parameter: str) -> np.ndarray:
    """Return values as an array of any shape of float64, of which some may be NaN; raise for what is no number."""
    array = array_of(values, parameter)
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError(f"they have type {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise LatentiaError(f"Expected numbers ({error}).", parameter=parameter) from error


def _array_of(values: Any) -> np.ndarray | None:
    """Return values as an array; None for rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return None


def not_empty(blocks: Blocks) -> Blocks:
    """Return the blocks; raise if they have no rows."""
    if not blocks.n_rows:
        raise LatentiaError("The data is empty: it has no rows.")
    return blocks


def check_same_rows(**tables: int) -> None:
    """Raise unless tables of these names have equally many rows."""
    (first, n), *rest = tables.items()
    for name, n_other in rest:
        if n_other != n:
            raise LatentiaError(
                f"{first} has {n} rows and {name} has {n_other}; expected the same rows in the same order."
            )


def weighted(rows: Any, sample_weight: Any) -> Any:
    """Repeat rows by their weights; return them unchanged without weights."""
    if sample_weight is None:
        return rows
    if not isinstance(rows, Blocks):
        raise LatentiaError("sample_weight needs rows, which a table of counts lacks. Multiply the counts instead.")
    return rows.repeated(times_of(sample_weight, rows.n_rows))


def times_of(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the number of copies of each row, shape (n_rows,), from weights."""
    weights = weights_of(sample_weight, n_rows)
    assert weights is not None
    invalid = np.flatnonzero(weights != np.rint(weights))
    if len(invalid):
        raise LatentiaError(
            f"sample_weight is {weights[invalid[0]]} at position {invalid[0]}; expected whole numbers of copies. "
            "Make shares whole by numpy.rint(10 * sample_weight / sample_weight.mean()), at ten times the rows."
        )
    if weights.sum() >= _MAX_REPEATED_ROWS:
        raise LatentiaError(
            f"sample_weight adds up to {weights.sum():,.0f} rows; expected at most {_MAX_REPEATED_ROWS - 1:,}."
        )
    return weights.astype(np.int64)


def weighted_mean(values: np.ndarray, sample_weight: Any) -> float:
    """Return the weighted mean of one value per row."""
    return float(np.average(values, weights=weights_of(sample_weight, len(values))))


def weights_of(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Return checked weights of rows, shape (n_rows,); None for none."""
    if sample_weight is None:
        return None
    weights = array_of(sample_weight, "sample_weight")
    if weights.shape != (n_rows,):
        raise LatentiaError(f"sample_weight has shape {weights.shape}; expected ({n_rows},).")
    weights = as_table(weights, "sample_weight")[:, 0].astype(np.float64)
    invalid = np.flatnonzero(~((weights >= 0) & (weights <= MAX_MAGNITUDE)))
    if len(invalid):
        raise LatentiaError(
            f"sample_weight is {weights[invalid[0]]} at position {invalid[0]}; expected numbers of at least 0, and at most "
            f"{MAX_MAGNITUDE:g}."
        )
    if not weights.any():
        raise LatentiaError("sample_weight is zero for all rows.")
    return weights


def check_form(X: Any, name: str) -> None:
    """Raise unless an object is a table of numbers."""
    expectation = "expected a table of numbers in rows and columns, such as an array, a sparse matrix or a DataFrame"
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
        _check_array(X, name, expectation)
    elif isinstance(X, (list, tuple)) or (isinstance(X, Sequence) and not isinstance(X, (str, bytes))):
        _check_rows(X, name, expectation)
    else:
        remedy = ""
        if isinstance(X, Mapping):
            remedy = " Use pandas.DataFrame for a dict of columns."
        elif isinstance(X, (Iterator, Set)):
            remedy = " Convert it to a list first."
        kind = "None" if X is None else f"of type {type(X).__name__}"
        raise LatentiaError(f"{name} is {kind}: {expectation}.{remedy}")


def _check_array(X: Any, name: str, expectation: str) -> None:
    array = X if hasattr(X, "shape") else np.asarray(X)
    shape, dtype = array.shape, getattr(array, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if dtype is not None and getattr(dtype, "names", None):
        raise LatentiaError(
            f"{name} has named fields, {_list_first_names(dtype.names)}: {expectation}. "
            "Convert it by numpy.lib.recfunctions.structured_to_unstructured."
        )
    if kind == "c":
        raise LatentiaError(f"Complex data not supported: {name} has type {dtype}; expected real numbers.")
    if len(shape) == 1:
        raise LatentiaError(_describe_one_dimension(name, shape[0], kind in "US" or (kind == "O" and _is_text(array))))
    if len(shape) != 2:
        raise LatentiaError(f"{name} has {len(shape)} dimensions: {expectation}.")


def _check_rows(X: Sequence[Any], name: str, expectation: str) -> None:
    """Raise unless a list has rows of equal length."""
    if not len(X):
        raise LatentiaError(f"{name} is empty: it has no rows.")
    sizes = [len(row) if hasattr(row, "__len__") and not isinstance(row, (str, bytes)) else None for row in X]
    if sizes[0] is None and len(set(sizes)) == 1:
        raise LatentiaError(_describe_one_dimension(name, len(X), _is_text(X)))
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if odd is not None:
        odd_row, first_row = (
            "is not a row" if size is None else f"has {size} entries" for size in (sizes[odd], sizes[0])
        )
        raise LatentiaError(f"{name}: row {odd} {odd_row} and row 0 {first_row}: {expectation}.")


def _is_text(values: Any) -> bool:
    return all(isinstance(value, (str, bytes)) for value in values)


def _describe_one_dimension(name: str, size: int, texts: bool) -> str:
    if texts:
        return (
            f"{name} holds {size} texts in one dimension; expected a table of numbers. Count their words first, for example "
            "with latentia.words.WordVectorizer().fit_transform."
        )
    return (
        f"{name} has one dimension, of {size} entries; expected a table. Reshape your data: .reshape(-1, 1) makes one column, "
        ".reshape(1, -1) one row."
    )


def _list_first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _check_cells(X: Any, name: str) -> None:
    """Raise for the first entry that is not a number, if there is one."""
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
            column_text = f"column {number}" if names is None else f"column {names[number]!r}"
            refuse_cell(value, f"Row {row}, {column_text} of {name}", row, number if names is None else names[number])


def fits(value: Any) -> bool:
    """Return True if a number fits into 64 bits."""
    try:
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def refuse_cell(value: Any, where: str, row: int | None = None, column: Any = None) -> None:
    """Raise unless a value is a number, or a text of one."""
    cell: dict[str, Any] = {"value": value, "row": row, "column": column}
    text = repr(value) if len(repr(value)) <= _MAX_TEXT_LENGTH else f"{repr(value)[:_MAX_TEXT_LENGTH]}..."
    try:
        float(value)
    except OverflowError as error:
        raise LatentiaError(f"{where}: {text} is too large for a number of 64 bits.", **cell) from error
    except (TypeError, ValueError) as error:
        if isinstance(value, (str, bytes)):
            raise LatentiaError(
                f"{where}: {text} is text; expected a number. Drop the column, or encode it.", **cell
            ) from error
        raise _NotNumbersError(
            f"{where}: {error}. Expected a number: drop the column, or encode it.", **cell
        ) from error


def refuse_dates(table: Any, name: str = "The data") -> None:
    """Raise for an array or type of dates or time spans, which would pass for numbers of nanoseconds or days."""
    dtype = getattr(table, "dtype", table)
    if getattr(dtype, "kind", "") in ("m", "M"):
        raise LatentiaError(
            f"{name} has type {dtype} (dates or spans of time); expected numbers. Drop it, or convert it, for example to days "
            "since the first."
        )


def check_sizes(
    table: Any,
    place: str = "",
    rows: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    missing: bool = False,
    original: Any = None,
) -> Any:
    """Return the table, shape (n, D), if its numbers are finite and their powers in range; otherwise raise.

    ``place`` names the table in messages, and ``rows`` are the numbers of its rows in the source. With ``missing``, NaN passes
    in dense tables. ``original`` is the table before conversion, perhaps of another type.
    """
    if missing and not sparse.issparse(table) and table.dtype.kind == "f" and np.isnan(table).any():
        check_sizes(np.where(np.isnan(table), 0.0, table), place, rows, names, original=original)
        return table
    values = table.data if sparse.issparse(table) else table
    if values.dtype.kind not in "fiu" or not values.size or max(float(values.max()), -float(values.min())) <= LARGEST:
        return table
    is_invalid = ~(np.abs(values) <= np.float64(LARGEST))
    if sparse.issparse(table):
        entry = int(np.argmax(is_invalid))
        row, column = int(np.searchsorted(table.indptr, entry, side="right")) - 1, int(table.indices[entry])
        value = values[entry]
    else:
        row, column = (int(i) for i in np.argwhere(is_invalid)[0])
        value = values[row, column]
    column_text = f"column {column}" if names is None else f"column {names[column]!r}"
    row_number = row if rows is None else int(rows[row])
    where = f"Row {row_number}, {column_text}{place}"
    cell: dict[str, Any] = {"row": row_number, "column": column if names is None else names[column], "value": value}
    if np.isfinite(value):
        raise LatentiaError(f"{where}: {value!s}, whose powers are out of range. Divide the data by its size.", **cell)
    source = _original_cell(original, row, column)
    if source is not None:
        raise LatentiaError(
            f"{where}: {source!s} is too large for a number of 64 bits. Divide the data by its size.", **cell
        )
    text = "NaN" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
    n_more = int(np.count_nonzero(~np.isfinite(values))) - 1
    raise LatentiaError(
        f"{where}: {text}; expected a number{f' ({n_more:,} more like it)' if n_more else ''}. Drop such rows or columns, or "
        "impute the entries, for example with scikit-learn's SimpleImputer.",
        **cell,
    )


def _original_cell(table: Any, row: int, column: int) -> Any:
    """Return an entry of the original table, if it is a finite number of another type; otherwise None."""
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
    """Return blocks that raise when a block with NaN, infinity or a number out of range is read.

    Only these parts are checked; ``labels`` name them in messages. With ``missing``, NaN passes.
    """
    places = [f" of {label}" for label in labels] if labels else [""] * len(parts)

    def check(block: Block) -> Block:
        for part, place in zip(parts, places, strict=True):
            check_sizes(block[part], place, block.rows, blocks.names if part == 0 else None, missing)
        return block

    return MappedBlocks(blocks, check, blocks.shapes, blocks.names)


def missing_cells(blocks: Blocks) -> np.ndarray | None:
    """Return a mask of the missing cells of all rows, shape (n, D); None if there are none."""
    if not any(missing_entries(block[0]) is not None for block in blocks):
        return None
    return np.vstack([np.isnan(np.asarray(block[0], dtype=np.float64)) for block in blocks])


def gaps_of(blocks: Blocks) -> np.ndarray | None:
    """Return `missing_cells`; raise for a row or column without any value."""
    gaps = missing_cells(blocks)
    if gaps is None:
        return None
    if gaps.all(axis=1).any():
        check_gaps(gaps, np.concatenate([block.rows for block in blocks]))
    is_empty = gaps.all(axis=0)
    if is_empty.any():
        raise LatentiaError(f"Column {int(np.argmax(is_empty))} has no values, only NaN. Drop it.")
    return gaps


def check_gaps(gaps: np.ndarray, rows: np.ndarray) -> None:
    """Raise for a row whose cells are all missing."""
    is_empty = gaps.all(axis=1)
    if is_empty.any():
        raise LatentiaError(f"Row {rows[int(np.argmax(is_empty))]} has no values, only NaN. Drop it.")
