"""The binary cache: tables as raw arrays in a folder, read through memory maps.

A folder holds ``header.json`` and, for every table, either ``indptr``, ``indices`` and ``data`` of a CSR matrix or the
``data`` of a dense one. It is written beside its final place and renamed when complete: a cache that exists is whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError

__all__ = ["CacheWriter", "read_cache", "write_cache"]

_VERSION, _PIECE = 1, 1 << 22


class CacheWriter:
    """Append blocks of rows to a cache; a context manager that leaves nothing behind if the block raises.

    Parameters
    ----------
    path : path
        Folder to make. An older cache there is replaced.
    n_columns : sequence of int
        Columns of every table.
    names : list of str, optional
        Column names of the first table.
    source : dict, optional
        What the cache was made from, so that a stale one is recognised.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        n_columns: Sequence[int],
        names: list[str] | None = None,
        source: dict[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self._tables: list[dict[str, Any]] = [{"n_columns": int(n), "n_rows": 0, "nnz": 0} for n in n_columns]
        self._header = {"version": _VERSION, "names": names, "source": source, "tables": self._tables}
        self._files: dict[tuple[int, str], Any] = {}

    def __enter__(self) -> CacheWriter:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._partial = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", suffix=".partial", dir=self.path.parent))
        return self

    def append(self, *tables: Any) -> None:
        """Add the next rows of every table: CSR matrices or arrays, of one type from block to block."""
        for i, (table, entry) in enumerate(zip(tables, self._tables, strict=True)):
            if sparse.issparse(table):
                csr = sparse.csr_array(table)
                start = entry["nnz"]
                indptr = csr.indptr[1:].astype(np.int64) + start
                self._write(i, "indptr", indptr if (i, "indptr") in self._files else np.append(start, indptr))
                self._write(i, "indices", csr.indices.astype(np.int32))
                self._write(i, "data", csr.data)
                entry.update(kind="csr", nnz=start + int(csr.nnz), dtype=csr.data.dtype.name)
            else:
                dense = np.ascontiguousarray(table)
                self._write(i, "data", dense)
                entry.update(kind="dense", dtype=dense.dtype.name)
            entry["n_rows"] += int(table.shape[0])

    def restart(self) -> None:
        """Forget the rows that were appended."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        for entry in self._tables:
            entry.update(n_rows=0, nnz=0)

    def _write(self, table: int, name: str, values: np.ndarray) -> None:
        file = self._files.get((table, name))
        if file is None:
            file = self._files[table, name] = open(self._partial / f"{table}-{name}.bin", "wb")  # noqa: SIM115
        file.write(np.ascontiguousarray(values).view(np.uint8).data if values.size else b"")

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            for file in self._files.values():
                file.close()
            if kind is None:
                (self._partial / "header.json").write_text(json.dumps(self._header))
                _publish(self._partial, self.path, self._header["source"])
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)


def _publish(complete: Path, target: Path, source: Any) -> None:
    """Put a complete folder in the place of an older one; another process may be doing the same."""
    for _ in range(10):
        theirs = read_header(target)
        if source is not None and theirs is not None and theirs["source"] == source:
            return  # made meanwhile by another process, perhaps in use
        with contextlib.suppress(OSError):
            complete.replace(target)
            return
        if target.exists() and not target.is_dir():
            break
        # A folder with files in it is not replaced: move it aside first.
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
        with contextlib.suppress(OSError):
            target.replace(aside)
        shutil.rmtree(aside, ignore_errors=True)
    raise LatentiaError(
        f"{target}: the cache cannot be put here. Remove what is there, or name another folder with cache=."
    )


def write_cache(path: str | os.PathLike[str], blocks: Iterable[Sequence[Any]], names: list[str] | None = None) -> None:
    """Write an iterable of blocks (tuples of aligned CSR matrices or arrays) as a cache, one block in memory."""
    iterator = iter(blocks)
    first = next(iterator, None)
    if first is None:
        raise LatentiaError(f"{os.fspath(path)}: no blocks to write.")
    with CacheWriter(path, [t.shape[1] for t in first], names) as writer:
        writer.append(*first)
        for block in iterator:
            writer.append(*block)


def read_cache(path: str | os.PathLike[str]) -> tuple[list[Any], list[str] | None]:
    """Map a cache into memory; return its tables and the column names of the first."""
    folder = Path(path)
    header = read_header(folder)
    if header is None:
        raise LatentiaError(f"{folder}: no cache that this version reads.")
    try:
        return [_map_table(folder, i, entry) for i, entry in enumerate(header["tables"])], header["names"]
    except (OSError, KeyError, TypeError) as error:
        raise LatentiaError(f"{folder}: the cache is damaged ({error}). Convert its source again.") from error


def read_header(folder: Path) -> dict[str, Any] | None:
    """The header of a cache, or None where there is no cache that this version reads."""
    try:
        header = json.loads((folder / "header.json").read_text())
    except (OSError, ValueError):
        return None
    whole = isinstance(header, dict) and {"names", "source", "tables"} <= header.keys()
    return header if whole and header.get("version") == _VERSION else None


def _map_table(folder: Path, number: int, entry: dict[str, Any]) -> Any:
    n_rows, n_columns = entry["n_rows"], entry["n_columns"]

    def load(name: str, dtype: str, length: int) -> np.ndarray:
        file = folder / f"{number}-{name}.bin"
        expected = length * np.dtype(dtype).itemsize
        if not file.exists() or file.stat().st_size != expected:
            raise LatentiaError(f"{file}: the cache is damaged, expected {expected} bytes. Convert its source again.")
        return np.memmap(file, dtype=dtype, mode="r", shape=(length,)) if length else np.empty(0, dtype)

    if entry["kind"] == "dense":
        return load("data", entry["dtype"], n_rows * n_columns).reshape(n_rows, n_columns)
    table = sparse.csr_array((n_rows, n_columns), dtype=entry["dtype"])
    table.indptr = np.asarray(load("indptr", "int64", n_rows + 1))
    table.indices = np.asarray(load("indices", "int32", entry["nnz"]))
    table.data = np.asarray(load("data", entry["dtype"], entry["nnz"]))
    if not _sound(table):  # compiled loops follow these numbers without looking
        raise LatentiaError(f"{folder}: the cache is damaged, its indices are out of range. Convert its source again.")
    return table


def _sound(table: sparse.csr_array) -> bool:
    """Whether row pointers ascend from 0 to the number of entries and all columns exist."""
    pointers, n_columns = table.indptr, table.shape[1]
    if pointers[0] != 0 or pointers[-1] != len(table.indices) or (np.diff(pointers) < 0).any():
        return False
    pieces = (table.indices[a : a + _PIECE] for a in range(0, len(table.indices), _PIECE))
    return all(piece.min() >= 0 and piece.max() < n_columns for piece in pieces)
