"""The binary cache: tables as raw arrays in a folder, read through memory maps.

A folder holds ``header.json`` and, for every table, either ``indptr``, ``indices`` and ``data`` of a CSR matrix or the
``data`` of a dense one. It is written beside its final place and renamed when complete, so that an existing cache is complete.
The header has a checksum of every file and of itself; all are verified whenever a cache is opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError, write_parameter
from ..system.scratch import scratch_folder, sweep
from .tables import canonical

_VERSION, _PIECE_SIZE, _MAX_TRIES = 2, 1 << 22, 100
_PARTIAL, _REPLACED = ".partial", ".old"
_HEADER = "header.json"
_CACHE_FILE = re.compile(r"header\.json|\d+-(data|indices|indptr)\.bin")
_DTYPES = frozenset(np.dtype(code).name for code in np.typecodes["AllInteger"] + "?efd")


class CacheWriter:
    """Writer that appends blocks of rows to a cache: a context manager that leaves nothing behind if the block raises.

    Parameters
    ----------
    path : path
        Folder to make. An older cache there is replaced; any other folder is an error.
    n_columns : sequence of int
        Columns of every table.
    names : list of str, optional
        Column names of the first table.
    source : dict, optional
        Facts about the converted file, by which a stale cache is recognised.
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
        self._checksums: dict[tuple[int, str], int] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> CacheWriter:
        with _explain_write_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            folder = scratch_folder(self.path.parent, f".{self.path.name}.", _PARTIAL)
            self._partial = self._stack.enter_context(folder) / "tables"  # beside the lock of the folder
            self._partial.mkdir()
        return self

    def append(self, *tables: Any) -> None:
        """Add the next rows of every table: CSR matrices or arrays, of one type from block to block."""
        for i, (table, entry) in enumerate(zip(tables, self._tables, strict=True)):
            values = table.data if sparse.issparse(table) else table
            if values.dtype.name not in _DTYPES or (values.dtype.kind == "f" and not np.isfinite(values).all()):
                raise LatentiaError(f"expected finite numbers in table {i}. Clean it first.", source=self.path)
            if sparse.issparse(table):
                csr = canonical(table)
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
        self._checksums.clear()
        for entry in self._tables:
            entry.update(n_rows=0, nnz=0)

    def _write(self, table: int, name: str, values: np.ndarray) -> None:
        piece = np.ascontiguousarray(values).view(np.uint8).data if values.size else b""
        with _explain_write_errors(self.path):
            file = self._files.get((table, name))
            if file is None:
                path = self._partial / f"{table}-{name}.bin"
                file = self._files[table, name] = self._stack.enter_context(path.open("wb"))
            file.write(piece)
        self._checksums[table, name] = zlib.crc32(piece, self._checksums.get((table, name), 0))

    def __exit__(self, kind: object, *_: object) -> None:
        with _explain_write_errors(self.path), self._stack:
            if kind is None:
                for file in self._files.values():
                    file.close()
                for (table, name), checksum in self._checksums.items():
                    self._tables[table].setdefault("checksums", {})[name] = checksum
                text = json.dumps(self._header)
                (self._partial / _HEADER).write_text(f"{_digest(text)}\n{text}\n", encoding="utf-8")
                _publish(self._partial, self.path, self._header["source"])


@contextlib.contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file system into messages that name the cache."""
    try:
        yield
    except OSError as error:
        raise LatentiaError(
            f"the binary copy cannot be written ({error.strerror or error}). Make room, or name another folder with "
            f"{write_parameter('cache')}.",
            source=path,
        ) from error


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def sweep_cache(path: Path) -> None:
    """Remove unfinished files of killed processes that were writing this cache."""
    for suffix in (_PARTIAL, _REPLACED):
        sweep(path.parent, f".{path.name}.", suffix)


def _publish(complete: Path, target: Path, source: Any) -> None:
    """Move a complete folder to the place of an older one; another process may be doing the same."""
    for _ in range(_MAX_TRIES):
        header = read_header(target)
        if source is not None and header is not None and header["source"] == source:
            return  # another process has written it meanwhile, and may be using it
        with contextlib.suppress(OSError):
            complete.replace(target)
            return
        try:
            if not _is_cache(target):
                break
        except FileNotFoundError:
            continue  # another process has moved it aside meanwhile
        # The system does not replace a folder with files in it: move it aside first.
        with scratch_folder(target.parent, f".{target.name}.", _REPLACED) as aside, contextlib.suppress(OSError):
            target.replace(aside / "replaced")
    raise LatentiaError(
        f"the binary copy cannot be written here: the folder holds other files. Move them, or name another folder with "
        f"{write_parameter('cache')}.",
        source=target,
    )


def _is_cache(folder: Path) -> bool:
    """Return True for a folder that holds the files of a cache, complete or damaged, and no others."""
    try:
        return all(_CACHE_FILE.fullmatch(entry.name) for entry in folder.iterdir())
    except NotADirectoryError:
        return False


def remove_cache(folder: Path) -> None:
    """Remove the files of a cache, and the folder if it is empty then."""
    with contextlib.suppress(OSError):
        for entry in list(folder.iterdir()):
            if _CACHE_FILE.fullmatch(entry.name):
                entry.unlink()
        folder.rmdir()


def write_cache(path: str | os.PathLike[str], blocks: Iterable[Sequence[Any]], names: list[str] | None = None) -> None:
    """Write an iterable of blocks (tuples of aligned CSR matrices or arrays) as a cache, with one block in memory at a time.

    Parameters
    ----------
    path : str or path
        Folder of the cache.
    blocks : iterable of tuples
        Aligned CSR matrices or arrays.
    names : list of str, optional
        Column names of the first table.
    """
    iterator = iter(blocks)
    first = next(iterator, None)
    if first is None:
        raise LatentiaError("expected at least one block to write, found none.", source=os.fspath(path))
    with CacheWriter(path, [t.shape[1] for t in first], names) as writer:
        writer.append(*first)
        for block in iterator:
            writer.append(*block)


def read_cache(path: str | os.PathLike[str]) -> tuple[list[Any], list[str] | None]:
    """Map a cache into memory; return its tables and the column names of the first.

    Parameters
    ----------
    path : str or path
        Folder of the cache.

    Returns
    -------
    tables : list of CSR matrices or arrays
        Mapped into memory.
    names : list of str or None
        Column names of the first table.
    """
    folder = Path(path)
    header = read_header(folder)
    if header is None:
        raise LatentiaError("expected a cache that this version reads, found none.", source=folder)
    try:
        return [_map_table(folder, i, entry) for i, entry in enumerate(header["tables"])], header["names"]
    except (OSError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, LatentiaError):
            raise
        raise LatentiaError(f"the cache is damaged ({error}). Convert its source again.", source=folder) from error


def read_header(folder: Path) -> dict[str, Any] | None:
    """Return the header of a cache, or None where there is no cache that this version reads."""
    try:
        digest, _, text = (folder / _HEADER).read_text(encoding="utf-8").partition("\n")
        text = text.removesuffix("\n")
        header = json.loads(text) if digest == _digest(text) else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not {"names", "source", "tables"} <= header.keys():
        return None
    return header if header.get("version") == _VERSION else None


def _map_table(folder: Path, number: int, entry: dict[str, Any]) -> Any:
    n_rows, n_columns = entry["n_rows"], entry["n_columns"]
    if entry["dtype"] not in _DTYPES or min(n_rows, n_columns, entry["nnz"]) < 0:
        raise LatentiaError(
            "the cache is damaged, its header describes an impossible table. Convert its source again.", source=folder
        )

    def load(name: str, dtype: str, length: int, max_column: int | None = None) -> np.ndarray:
        file = folder / f"{number}-{name}.bin"
        expected = length * np.dtype(dtype).itemsize
        if not file.exists() or file.stat().st_size != expected:
            raise LatentiaError(
                f"the cache is damaged, expected {expected} bytes. Convert its source again.", source=file
            )
        values = np.memmap(file, dtype=dtype, mode="r", shape=(length,)) if length else np.empty(0, dtype)
        _check_values(file, values, entry["checksums"].get(name, 0), max_column)
        return np.asarray(values)

    if entry["kind"] == "dense":
        return load("data", entry["dtype"], n_rows * n_columns).reshape(n_rows, n_columns)
    indptr = load("indptr", "int64", n_rows + 1)
    table = sparse.csr_array((n_rows, n_columns), dtype=entry["dtype"])
    table.indptr, table.indices = indptr, load("indices", "int32", entry["nnz"], n_columns)
    table.data = load("data", entry["dtype"], entry["nnz"])
    if indptr[0] != 0 or indptr[-1] != entry["nnz"] or (np.diff(indptr) < 0).any():
        raise LatentiaError(
            "the cache is damaged, its indices are out of range. Convert its source again.", source=folder
        )
    return table


def _check_values(file: Path, values: np.ndarray, checksum: int, n_columns: int | None) -> None:
    """Raise unless a file has its checksum, finite numbers and, if it holds indices, columns below ``n_columns``."""
    actual, problem = 0, ""
    for start in range(0, len(values), _PIECE_SIZE):
        piece = values[start : start + _PIECE_SIZE]
        actual = zlib.crc32(piece.view(np.uint8).data, actual)
        if n_columns is not None and (piece.min() < 0 or piece.max() >= n_columns):
            problem = "its indices are out of range"
        elif piece.dtype.kind == "f" and not np.isfinite(piece).all():
            problem = "it holds NaN or infinity"
    if actual != checksum:
        problem = problem or "its checksum does not match"
    if problem:
        raise LatentiaError(f"the cache is damaged, {problem}. Convert its source again.", source=file)
