"""Data frames of any library, and AnnData: a table in ``X``, with the names of its rows and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn import get_config

from .exceptions import LatentiaError, MissingExtraError

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def frame_of(X: Any) -> nw.DataFrame[Any] | None:
    """Convert a data frame of any library to narwhals; return None for anything else."""
    X = X.to_frame() if is_reading(X) else X
    if not hasattr(X, "columns"):
        return None
    import narwhals.stable.v2 as nw

    check_names_differ(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def column_names_of(X: Any) -> list[str] | None:
    """Return the column names of a frame, or the variable names of AnnData; None without names."""
    if is_annotated(X) or is_reading(X):
        return [str(name) for name in (X.used if is_reading(X) else X.var_names)]
    names = getattr(X, "column_names", getattr(X, "columns", None))  # columns of pyarrow are their cells
    return None if names is None else [str(name) for name in names]


def check_names_differ(X: Any) -> None:
    """Raise for a frame with two columns of one name: which is meant would depend on the library."""
    names = column_names_of(X) or []
    if len(set(names)) < len(names):
        repeated_name, n_columns = Counter(names).most_common(1)[0]
        raise LatentiaError(
            f"{n_columns} columns have the name {repeated_name!r}; expected different names. Rename them.",
            column=repeated_name,
        )


def has_frame_names(X: Any) -> bool:
    """Return True for frames whose column names only some versions of scikit-learn read."""
    return not hasattr(X, "iloc") and frame_of(X) is not None


def row_names_of(X: Any) -> Any:
    """Return the index of a pandas object, or the observation names of AnnData; None without names."""
    names = X.obs_names if is_annotated(X) else getattr(X, "index", None)
    return None if names is None or callable(names) else names


def table_of(X: Any) -> Any:
    """Return the array or matrix of AnnData or a frame; pandas frames and other objects unchanged."""
    if is_annotated(X) or is_reading(X):
        return X.values() if is_reading(X) else X.X
    if hasattr(X, "iloc"):
        check_names_differ(X)
        return X
    frame = frame_of(X)
    if frame is None:
        return X
    for name, dtype in frame.schema.items():
        if dtype.is_temporal() or dtype.is_nested():
            kind = "dates or spans of time" if dtype.is_temporal() else "several values in a cell"
            raise LatentiaError(f"Column {name!r} has type {dtype}, {kind}. Drop it, or make numbers of it.")
    return frame.to_numpy()


def is_annotated(X: Any) -> bool:
    """Return True for AnnData and objects that look like it."""
    return all(hasattr(X, name) for name in ("X", "obs_names", "var_names"))


def is_reading(X: Any) -> bool:
    """Return True for a `latentia.reading.Reading`, of which estimators take the used columns."""
    return hasattr(X, "numeric_frame")


def new_frame(columns: Mapping[str, Sequence[Any]], purpose: str) -> Any:
    """Build a pandas frame, or a polars one after ``sklearn.set_config(transform_output="polars")``."""
    if get_config()["transform_output"] == "polars":
        import polars as pl

        return pl.DataFrame(dict(columns), strict=False)
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "data", purpose) from None
    return pd.DataFrame(dict(columns))


def frame_of_rows(rows: Sequence[Mapping[str, Any]], purpose: str, names: Sequence[str] | None = None) -> Any:
    """Build a frame from rows with these names, by default those of the first row."""
    names = list(rows[0] if rows else {}) if names is None else names
    return new_frame({name: [row[name] for row in rows] for name in names}, purpose)
