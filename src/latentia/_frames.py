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
    """A frame of pandas, polars, pyarrow or another library as one of narwhals; None for what is no frame in memory."""
    X = X.to_frame() if is_reading(X) else X
    if not hasattr(X, "columns"):
        return None
    import narwhals.stable.v2 as nw

    check_names_differ(X)
    found = nw.from_native(X, eager_only=True, pass_through=True)
    return found if isinstance(found, nw.DataFrame) else None


def column_names_of(X: Any) -> list[str] | None:
    """Names of the columns of a frame, or of the variables of AnnData; None where there are none."""
    if is_annotated(X) or is_reading(X):
        return [str(name) for name in (X.used if is_reading(X) else X.var_names)]
    names = getattr(X, "column_names", getattr(X, "columns", None))  # columns of pyarrow are their cells
    return None if names is None else [str(name) for name in names]


def check_names_differ(X: Any) -> None:
    """Raise for a frame with two columns of one name: which is meant would depend on the library."""
    names = column_names_of(X) or []
    if len(set(names)) < len(names):
        twice, number = Counter(names).most_common(1)[0]
        raise LatentiaError(
            f"{number} columns have the name {twice!r}; expected different names. Rename them.", column=twice
        )


def has_frame_names(X: Any) -> bool:
    """Return True for a frame of a library whose names of columns scikit-learn reads in some of its versions only."""
    return not hasattr(X, "iloc") and frame_of(X) is not None


def row_names_of(X: Any) -> Any:
    """The index of a frame or series of pandas, or the names of the observations of AnnData; None where there are none."""
    names = X.obs_names if is_annotated(X) else getattr(X, "index", None)
    return None if names is None or callable(names) else names


def table_of(X: Any) -> Any:
    """The array or matrix of AnnData or of a frame; frames of pandas, and all else, as they are."""
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
    """Whether this is AnnData, or looks like it."""
    return all(hasattr(X, name) for name in ("X", "obs_names", "var_names"))


def is_reading(X: Any) -> bool:
    """Return True if this is a `latentia.reading.Reading`, of which estimators take the columns that are used."""
    return hasattr(X, "numeric_frame")


def new_frame(columns: Mapping[str, Sequence[Any]], purpose: str) -> Any:
    """A frame of pandas, or of polars where ``sklearn.set_config(transform_output="polars")`` asks for it."""
    if get_config()["transform_output"] == "polars":
        import polars as pl

        return pl.DataFrame(dict(columns), strict=False)
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "data", purpose) from None
    return pd.DataFrame(dict(columns))


def frame_of_rows(rows: Sequence[Mapping[str, Any]], purpose: str, names: Sequence[str] | None = None) -> Any:
    """The same of rows, which have these names, by default those of the first."""
    names = list(rows[0] if rows else {}) if names is None else names
    return new_frame({name: [row[name] for row in rows] for name in names}, purpose)
