"""Lines of (row, column, value), turned into CSR: streamed where they come row by row, else in two passes."""

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
from ._sizes import MOST
from ._text import chunks, fail, open_lines
from ._vocabulary import vocabulary_beside

_LARGEST = {"int32": float(MOST), "int64": 2.0**53, "float64": np.inf}  # what is exact
EXPECTED = {
    "int32": f"a whole count from 0 to {MOST}",
    "int64": f"a whole number from -{2**53} to {2**53}",
    "float64": "a finite number",
}


@dataclass(frozen=True)
class Triples:
    """The (row, column, value) lines of a file, checked against its header and yielded in chunks.

    Attributes
    ----------
    skip : int
        Lines above them.
    shape : (int, int)
    nnz : int
        How many the header promises.
    dtype : {"int32", "int64", "float64"}
        Type of the table: counts, whole numbers or others. Values are yielded as floats; sums are checked to fit.
    width : int
        2: there are no values, and each is 1.
    mirror : {0, 1, -1}
        Each entry off the diagonal stands for that of its transpose too, with the same or the opposite sign.
    names : str
        Of the three.
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
        """Rows, columns and values, counted from 0, in the order of the file."""
        arguments = (self.width, *self.shape, *limits(self.dtype), self.mirror < 0)
        found = entries(self.path, self.skip, self.nnz, parsing.triples, arguments, self.expected, progress)
        for rows, columns, values in found:
            yield _mirrored(rows, columns, values, self.mirror) if self.mirror else (rows, columns, values)


def convert_triples(triples: Triples, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Write triples as CSR: streamed if they come row by row, else counted first and then put in place."""
    names = vocabulary_beside(triples.path, triples.shape[1])
    with CacheWriter(folder, [triples.shape[1]], names, source) as writer:
        for csr in _sorted_rows(triples, progress):
            if csr is None:
                break
            writer.append(csr)
        else:
            return
        writer.restart()
        writer.append(_scattered(triples, progress))


def _sorted_rows(triples: Triples, progress: bool) -> Iterator[sparse.csr_array | None]:
    """CSR pieces of whole rows with summed duplicates; ends with None at the first row out of order."""
    done = 0
    held: list[np.ndarray] = [np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)]
    if triples.mirror:
        yield None
        return
    for chunk in triples.chunks(progress):
        rows, columns, values = (np.concatenate(pair) for pair in zip(held, chunk, strict=True))
        if (np.diff(rows) < 0).any() or (len(rows) and rows[0] < done):
            yield None
            return
        last = rows[-1] if len(rows) else done
        cut = int(np.searchsorted(rows, last))
        yield _csr(triples, (rows[:cut] - done, columns[:cut]), values[:cut], last - done)
        held, done = [rows[cut:], columns[cut:], values[cut:]], int(last)
    yield _csr(triples, (held[0] - done, held[1]), held[2], triples.shape[0] - done)


def _csr(triples: Triples, places: tuple[np.ndarray, np.ndarray], values: np.ndarray, n_rows: int) -> sparse.csr_array:
    return _compact(triples, sparse.csr_array((values, places), shape=(n_rows, triples.shape[1])))


def _compact(triples: Triples, csr: sparse.csr_array) -> sparse.csr_array:
    """Sum entries of one cell, drop zeros, and give the table its type."""
    csr.sum_duplicates()
    csr.eliminate_zeros()
    most = _LARGEST[triples.dtype]
    fits = np.isfinite(csr.data) if triples.dtype == "float64" else np.abs(csr.data) <= most
    if not fits.all():
        if triples.dtype == "int32":
            problem = f"a word occurs more than {MOST} times in one document: the counts cannot be right."
        else:
            problem = f"the entries of one cell add up to {csr.data[~fits][0]:g}, which is too large."
        raise LatentiaError(f"{problem}", source=triples.path)
    return csr.astype(triples.dtype, copy=False)


def _scattered(triples: Triples, progress: bool) -> sparse.csr_array:
    """CSR of triples in any order: one pass counts the rows' entries, the next puts them in place."""
    counts = np.zeros(triples.shape[0], np.int64)
    for rows, _, _ in triples.chunks(progress):
        counts += np.bincount(rows, minlength=len(counts))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    place = indptr[:-1].copy()
    for rows, columns, values in triples.chunks(progress):
        parsing.scatter(rows, columns, values, place, indices, data)
    return _compact(triples, sparse.csr_array((data, indices, indptr), shape=triples.shape))


def _mirrored(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, sign: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries, and those of the transpose off the diagonal."""
    off = rows != columns
    both = ((rows, columns[off]), (columns, rows[off]), (values, sign * values[off]))
    first, second, third = (np.concatenate(pair) for pair in both)
    return first, second, third


def entries(
    path: Path, skip: int, promised: int, kernel: Any, arguments: tuple[Any, ...], expected: str, progress: bool
) -> Iterator[list[np.ndarray]]:
    """What a kernel makes of the lines below a header, chunk by chunk: as many entries as the header promises."""
    found = 0
    with open_lines(path) as file:
        for _ in range(skip):
            file.readline()
        for buffer, line in chunks(path, file, progress, skip + 1):
            *arrays, bad = kernel(buffer, *arguments)
            if bad >= 0:
                fail(path, line, buffer, bad, expected)
            found += len(arrays[0])
            if found > promised:
                raise LatentiaError(f"the header promises {promised} entries, and there are more.", source=path)
            yield arrays
    if found != promised:
        raise LatentiaError(f"the header promises {promised} entries and {found} were found: truncated?", source=path)


def limits(dtype: str) -> tuple[bool, float, float]:
    """Whether numbers of this type are whole, the least and the largest."""
    most = _LARGEST[dtype]
    return dtype != "float64", 0.0 if dtype == "int32" else -most, most
