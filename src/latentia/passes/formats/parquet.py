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
    """A ``pyarrow.parquet.ParquetFile`` whose columns have names of their own; damage that is met later is named too."""
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
                raise LatentiaError(f"its {size} bytes unpack to {unpacked}, which no table does.", source=path)
            if not file.metadata.num_rows:
                raise LatentiaError("the table has no rows.", source=path)
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the file system
        raise LatentiaError(f"not a readable Parquet file ({error}).", source=path) from error


def arrow_kind(kind: Any) -> str:
    """What a column of this type holds: "whole", "decimal" or "text"."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_boolean(kind):
        return "whole"
    return "decimal" if types.is_floating(kind) else "text"


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """One table, of the option ``columns`` or of all columns."""
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
                    f"column {name!r} holds {kind}, and numbers are needed. Choose with {write_parameter('columns')}.",
                    source=path,
                )
        with CacheWriter(folder, [len(columns)], columns, source) as writer:
            start = 0
            for batch in file.iter_batches(columns=columns):
                table = [_numbers(path, name, batch[name], start) for name in columns]
                writer.append(np.column_stack(table))
                start += batch.num_rows


def _numbers(path: Path, name: str, column: Any, start: int) -> np.ndarray:
    """Finite numbers of a column of a batch whose first row is number ``start``."""
    import pyarrow

    try:
        values = column.cast("float64").to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid as error:
        raise LatentiaError(f"{error}.", source=path, place=f"column {name!r}") from error
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        found = f"{values[at]} is not a number" if column[at].is_valid else "no value"
        raise LatentiaError(
            f"{found}. Correct it, or drop the row.", source=path, place=f"row {start + at + 1}, column {name!r}"
        )
    return values
