"""What every estimator checks: parameters, the table of data, and its columns."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from .exceptions import LatentiaError
from .passes import Blocks

__all__ = ["check_choices", "check_splits", "check_vocabulary", "check_whole", "seed_of", "table_blocks"]


def check_whole(estimator: Any, **least: int) -> None:
    """Raise unless each named parameter of the estimator is a whole number of at least the given value."""
    for name, low in least.items():
        value = getattr(estimator, name)
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
            raise LatentiaError(f"{name}={value!r}: a whole number of at least {low} is needed.")


def check_choices(estimator: Any, **allowed: tuple[str, ...]) -> None:
    """Raise unless each named parameter of the estimator is one of the given values."""
    for name, values in allowed.items():
        if getattr(estimator, name) not in values:
            raise LatentiaError(f"{name}={getattr(estimator, name)!r}: use one of {', '.join(map(repr, values))}.")


def check_splits(estimator: Any, rows: str) -> None:
    """Raise unless ``n_splits`` is from 0 to 3; ``rows`` is what is split."""
    check_whole(estimator, n_splits=0)
    if estimator.n_splits > 3:
        raise LatentiaError(f"n_splits={estimator.n_splits}: four groups of {rows} can be split in halves in 3 ways.")


def check_vocabulary(estimator: Any) -> None:
    """Raise unless ``vocabulary`` is None or names every column."""
    given = estimator.vocabulary
    if given is not None and len(given) != estimator.n_features_in_:
        raise LatentiaError(
            f"vocabulary has {len(given)} words and the data {estimator.n_features_in_} columns: they must agree."
        )


def seed_of(random_state: Any) -> int:
    """The seed that ``random_state`` stands for; None, a RandomState or a Generator draws one."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if whole and int(random_state) >= 0:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise LatentiaError(
            f"random_state={random_state!r}: a whole number of at least 0 is needed, or None."
        ) from error


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
) -> Blocks:
    """Check a table and cut it into blocks; with ``reset`` the estimator remembers its width and column names.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_``, ``feature_names_in_`` where scikit-learn sets it, and ``_column_names`` (or None).
    X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, n_columns)
    reset : bool
        Whether this is a fit; otherwise the width must be the one remembered.
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
    """
    if isinstance(X, Blocks):
        width = X.shapes[0][1]
        if reset:
            estimator.n_features_in_, estimator._column_names = width, X.names
            if hasattr(estimator, "feature_names_in_"):
                del estimator.feature_names_in_
            if X.n_rows and (width < min_columns or X.n_rows < min_rows):
                raise LatentiaError(
                    f"The data has {X.n_rows} rows and {width} {what}: at least {min_rows} and {min_columns} are needed."
                )
        elif width != estimator.n_features_in_:
            raise LatentiaError(f"X has {width} {what} and the model was fitted on {estimator.n_features_in_}.")
        if not X.n_rows:
            raise LatentiaError("The data is empty: it has no rows.")
        return X
    try:
        X = validate_data(
            estimator, X, reset=reset, accept_sparse="csr" if sparse else False,
            dtype=dtype if isinstance(dtype, str) else list(dtype),
            ensure_min_samples=min_rows if reset else 1, ensure_min_features=min_columns if reset else 1,
        )  # fmt: skip
    except ValueError as error:
        raise LatentiaError(str(error)) from error
    except TypeError as error:
        if "parse" in str(error):  # sparse or sparsity: other types of input are programming errors
            raise LatentiaError(str(error)) from error
        raise
    if reset:
        estimator._column_names = getattr(estimator, "feature_names_in_", None)
    return Blocks.from_array(X, lengths=lengths)
