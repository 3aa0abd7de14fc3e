"""Data frames of any library, by narwhals, and AnnData: a table in ``X``, with the names of its rows and columns."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw


def frame_of(X: Any) -> nw.DataFrame[Any] | None:
    """A frame of pandas, polars, pyarrow or another library as one of narwhals; None for what is no frame in memory."""
    found = nw.from_native(X, eager_only=True, pass_through=True) if hasattr(X, "columns") else X
    return found if isinstance(found, nw.DataFrame) else None
