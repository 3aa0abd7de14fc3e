"""Conversion of lines (row, column, value) to CSR: streamed if they are sorted by rows, else in two passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from .. import parsing
from ..cache import CacheWriter
from ._sizes import MAX_SIZE
from ._text import chunks, fail, open_lines
from ._vocabulary import vocabulary_beside

_MAX_EXACT = {"int32": float(MAX_SIZE), "int64": 2.0**53, "float64": np.inf}  # largest exact value
EXPECTED = {
    "int32": f"a whole count from 0 to {MAX_SIZE}",
    "int64": f"a whole number from -{2**53} to {2**53}",
    "float64": "a finite number",
}


@dataclass(frozen=True)
class Triples:
    """The (row, column, value) lines of a file, checked against its header and yielded in chunks.

    Attributes
    ----------
    skip : int
        Number of lines above them.
    shape : (int, int)
    nnz : int
        Number of entries that the header promises.
    dtype : {"int32", "int64", "float64"}
        Type of the table: counts, whole numbers or others. Values are yielded as floats; sums are checked to fit.
    width : int
        2 for files without values; each value is then 1.
    mirror : {0, 1, -1}
        1 or -1: each entry off the diagonal also stands for the transposed one, with the same or the opposite sign.
    names : str
        Names of the three numbers.
    """

    path: Path
    skip: int
    shape: tuple[int, int]
    nnz: int
    dtype: str
    width: int = 3
    mirror: int = 0
    names: str = "row column value"

    @property
    def expected(self) -> str:
        names = " ".join(self.names.split()[: self.width])
        text = f"'{names}' with row 1 to {self.shape[0]} and column 1 to {self.shape[1]}"
        if self.width > 2:
            text += f", {EXPECTED[self.dtype]}"
        return text + ", off the diagonal" * (self.mirror < 0)

    def chunks(self, progress: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, columns and values, counted from 0, in the order of the file."""
        arguments = (self.width, *self.shape, *get_limits(self.dtype), self.mirror < 0)
        arrays = read_entries(self.path, self.skip, self.nnz, parsing.parse_triples, arguments, self.expected, progress)
        for rows, columns, values in arrays:
            yield _mirror_entries(rows, columns, values, self.mirror) if self.mirror else (rows, columns, values)


def convert_triples(triples: Triples, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Write triples as CSR: streamed if they are sorted by rows, else counted first and then put in place."""
    names = vocabulary_beside(triples.path, triples.shape[1])
    with CacheWriter(folder, [triples.shape[1]], names, source) as writer:
        for csr in _stream_rows(triples, progress):
            if csr is None:
                break
            writer.append(csr)
        else:
            return
        writer.restart()
        writer.append(_place_entries(triples, progress))


def _stream_rows(triples: Triples, progress: bool) -> Iterator[sparse.csr_array | None]:
    """Yield CSR pieces of complete rows with summed duplicates; end with None at the first row out of order."""
    n_written = 0
    pending: list[np.ndarray] = [np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)]
    if triples.mirror:
        yield None
        return
    for chunk in triples.chunks(progress):
        rows, columns, values = (np.concatenate(pair) for pair in zip(pending, chunk, strict=True))
        if (np.diff(rows) < 0).any() or (len(rows) and rows[0] < n_written):
            yield None
            return
        last = rows[-1] if len(rows) else n_written
        cut = int(np.searchsorted(rows, last))
        yield _build_csr(triples, (rows[:cut] - n_written, columns[:cut]), values[:cut], last - n_written)
        pending, n_written = [rows[cut:], columns[cut:], values[cut:]], int(last)
    yield _build_csr(triples, (pending[0] - n_written, pending[1]), pending[2], triples.shape[0] - n_written)


def _build_csr(
    triples: Triples, places: tuple[np.ndarray, np.ndarray], values: np.ndarray, n_rows: int
) -> sparse.csr_array:
    return _compact(triples, sparse.csr_array((values, places), shape=(n_rows, triples.shape[1])))


def _compact(triples: Triples, csr: sparse.csr_array) -> sparse.csr_array:
    """Sum entries of one cell, drop zeros, and convert to the table's dtype."""
    csr.sum_duplicates()
    csr.eliminate_zeros()
    limit = _MAX_EXACT[triples.dtype]
    fits = np.isfinite(csr.data) if triples.dtype == "float64" else np.abs(csr.data) <= limit
    if not fits.all():
        if triples.dtype == "int32":
            problem = f"a word occurs more than {MAX_SIZE} times in one document: the counts cannot be right."
        else:
            problem = f"the entries of one cell add up to {csr.data[~fits][0]:g}, which is too large."
        raise LatentiaError(f"{problem}", source=triples.path)
    return csr.astype(triples.dtype, copy=False)


def _place_entries(triples: Triples, progress: bool) -> sparse.csr_array:
    """Return triples in any order as CSR: one pass counts the entries of rows, the next puts them in place."""
    counts = np.zeros(triples.shape[0], np.int64)
    for rows, _, _ in triples.chunks(progress):
        counts += np.bincount(rows, minlength=len(counts))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    place = indptr[:-1].copy()
    for rows, columns, values in triples.chunks(progress):
        parsing.scatter(rows, columns, values, place, indices, data)
    return _compact(triples, sparse.csr_array((data, indices, indptr), shape=triples.shape))


def _mirror_entries(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, sign: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries, and the transposed ones off the diagonal."""
    off_diagonal = rows != columns
    mirrored = ((rows, columns[off_diagonal]), (columns, rows[off_diagonal]), (values, sign * values[off_diagonal]))
    first, second, third = (np.concatenate(pair) for pair in mirrored)
    return first, second, third


def read_entries(
    path: Path, skip: int, promised: int, kernel: Any, arguments: tuple[Any, ...], expected: str, progress: bool
) -> Iterator[list[np.ndarray]]:
    """Yield a kernel's arrays for the lines below a header, chunk by chunk; raise unless all promised entries are there."""
    n_found = 0
    with open_lines(path) as file:
        for _ in range(skip):
            file.readline()
        for buffer, line in chunks(path, file, progress, skip + 1):
            *arrays, bad = kernel(buffer, *arguments)
            if bad >= 0:
                fail(path, line, buffer, bad, expected)
            n_found += len(arrays[0])
            if n_found > promised:
                raise LatentiaError(f"the header promises {promised} entries, and there are more.", source=path)
            yield arrays
    if n_found != promised:
        raise LatentiaError(f"the header promises {promised} entries and {n_found} were found: truncated?", source=path)


def get_limits(dtype: str) -> tuple[bool, float, float]:
    """Return True if numbers of this dtype are whole, the smallest and the largest."""
    limit = _MAX_EXACT[dtype]
    return dtype != "float64", 0.0 if dtype == "int32" else -limit, limit
