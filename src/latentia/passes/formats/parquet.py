"""Parquet: numeric columns, through the ``data`` extra."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import LatentiaError, MissingExtraError, write_parameter
from ...system.compressed import max_unpacked_size
from ..cache import CacheWriter

OPTIONS = ("columns",)


@contextlib.contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Yield a ``pyarrow.parquet.ParquetFile`` with distinct column names; later errors of reading name the file."""
    try:
        import pyarrow
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "data", "Reading Parquet") from None
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            name, times = Counter(names).most_common(1)[0] if names else ("", 0)
            if times > 1:
                raise LatentiaError(f"two columns are called {name!r}. Give each its own name.", source=path)
            unpacked = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            size = path.stat().st_size
            if unpacked > max_unpacked_size(size):
                raise LatentiaError(f"its {size} bytes unpack to {unpacked}, which is not plausible.", source=path)
            if not file.metadata.num_rows:
                raise LatentiaError("the table has no rows.", source=path)
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the file system
        raise LatentiaError(f"not a readable Parquet file ({error}).", source=path) from error


def arrow_kind(kind: Any) -> str:
    """Return the kind of values in a column of this Arrow type: "whole", "decimal" or "text"."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_boolean(kind):
        return "whole"
    return "decimal" if types.is_floating(kind) else "text"


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """Convert one table, with the columns of the option ``columns`` or all columns."""
    with open_parquet(path) as file:
        schema = file.schema_arrow
        columns = [str(c) for c in options.get("columns") or schema.names]
        unknown = sorted(set(columns) - set(schema.names))
        if unknown:
            raise LatentiaError(f"no column {unknown[0]!r}. It has {', '.join(schema.names[:20])}.", source=path)
        for name in columns:
            kind = schema.field(name).type
            if arrow_kind(kind) == "text":
                raise LatentiaError(
                    f"expected numbers in column {name!r}, found {kind}. Choose others with {write_parameter('columns')}.",
                    source=path,
                )
        with CacheWriter(folder, [len(columns)], columns, source) as writer:
            start = 0
            for batch in file.iter_batches(columns=columns):
                table = [_read_numbers(path, name, batch[name], start) for name in columns]
                writer.append(np.column_stack(table))
                start += batch.num_rows


def _read_numbers(path: Path, name: str, column: Any, start: int) -> np.ndarray:
    """Return the numbers of a column of a batch whose first row is number ``start``; raise unless all are finite."""
    import pyarrow

    try:
        values = column.cast("float64").to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid as error:
        raise LatentiaError(f"{error}.", source=path, place=f"column {name!r}") from error
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        problem = f"{values[at]} is not a number" if column[at].is_valid else "no value"
        raise LatentiaError(
            f"{problem}. Correct it, or drop the row.", source=path, place=f"row {start + at + 1}, column {name!r}"
        )
    return values
