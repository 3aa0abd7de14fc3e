"""What every estimator checks of its data: the table, its columns, and that it holds numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from .exceptions import LatentiaError
from .moments.vectors import LARGEST
from .passes import Block, Blocks, MappedBlocks

__all__ = [
    "check_sizes",
    "check_vocabulary",
    "column_names",
    "finite_blocks",
    "is_missing",
    "refuse_dates",
    "table_blocks",
]


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
        if not X.n_rows:
            raise LatentiaError("The data is empty: it has no rows.")
        return X if reset else finite_blocks(X, missing=missing)
    refuse_dates(X)
    try:
        with np.errstate(all="ignore"):  # of numbers whose sum is too large, which are looked for one by one then
            X = validate_data(
                estimator, X, reset=reset, accept_sparse="csr" if sparse else False,
                dtype=dtype if isinstance(dtype, str) else list(dtype),
                ensure_min_samples=min_rows if reset else 1, ensure_min_features=min_columns if reset else 1,
                ensure_all_finite="allow-nan" if missing else True,
            )  # fmt: skip
    except (ValueError, OverflowError) as error:
        raise LatentiaError(str(error)) from error
    except TypeError as error:
        if "parse" in str(error):  # sparse or sparsity: other types of input are programming errors
            raise LatentiaError(str(error)) from error
        raise
    check_sizes(X, missing=missing)
    if reset:
        estimator._column_names = getattr(estimator, "feature_names_in_", None)
    return Blocks.from_array(X, lengths=lengths)


def refuse_dates(table: Any) -> None:
    """Raise for an array of dates or spans of time, which would pass for numbers of nanoseconds or days."""
    dtype = getattr(table, "dtype", None)
    if getattr(dtype, "kind", "") in ("m", "M"):
        raise LatentiaError(f"The data has type {dtype}, and numbers are needed.")


def missing_entries(X: Any) -> np.ndarray | None:
    """Which entries of a table are NaN, bool of shape (n, d); None where there are none, or the table is sparse."""
    if sparse.issparse(X) or np.asarray(X).dtype.kind != "f":
        return None
    missing = np.isnan(X)
    return missing if missing.any() else None


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, or what pandas has in their place."""
    try:
        return value is None or bool(value != value)
    except ValueError:  # an array has no single truth
        return False
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def check_sizes(
    table: Any,
    place: str = "",
    rows: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    missing: bool = False,
) -> Any:
    """The table, shape (n, D), if its numbers are finite and their powers in range; otherwise an error that names the entry.

    ``place`` says in messages what the table is, and ``rows`` are numbers of its rows in the source. Where entries may be
    missing, NaN passes in tables that are not sparse.
    """
    if missing and not sparse.issparse(table) and np.isnan(table).any():
        check_sizes(np.where(np.isnan(table), 0.0, table), place, rows, names)
        return table
    values = table.data if sparse.issparse(table) else table
    if values.dtype.kind not in "fiu" or not values.size or max(float(values.max()), -float(values.min())) <= LARGEST:
        return table
    wrong = ~(np.abs(values.astype(np.float64, copy=False)) <= LARGEST)
    if sparse.issparse(table):
        entry = int(np.argmax(wrong))
        row, column = int(np.searchsorted(table.indptr, entry, side="right")) - 1, int(table.indices[entry])
        value = values[entry]
    else:
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        value = values[row, column]
    named = f"column {column}" if names is None else f"column {names[column]!r}"
    where = f"Row {row if rows is None else rows[row]}, {named}{place}: {value}"
    if np.isfinite(value):
        raise LatentiaError(f"{where}, whose powers are out of range. Divide the data by its size.")
    raise LatentiaError(f"{where}, and a number is needed. Drop or impute such entries.")


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
