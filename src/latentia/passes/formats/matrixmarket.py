"""MatrixMarket: coordinate and array; integer, real and pattern; general, symmetric and skew-symmetric."""

from __future__ import annotations

import tempfile
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...exceptions import LatentiaError
from .. import parsing
from ..cache import CacheWriter
from ._sizes import check_length, check_shape, parse_header_number
from ._text import open_lines, quote_line, refuse_nul
from ._triples import EXPECTED, Triples, convert_triples, get_limits, read_entries
from ._vocabulary import vocabulary_beside

_PIECE_ENTRIES = 1 << 22  # entries of a dense table that are transposed at once
_LAYOUTS, _SYMMETRIES = ("coordinate", "array"), {"general": 0, "symmetric": 1, "skew-symmetric": -1}
_FIELDS = {
    "real": "float64",
    "double": "float64",
    "integer": "int64",
    "unsigned-integer": "int64",
    "pattern": "float64",
}


@dataclass(frozen=True)
class _Header:
    """Header of a MatrixMarket file.

    Attributes
    ----------
    layout, field : str
    mirror : {0, 1, -1}
        1: symmetric; -1: skew-symmetric. Such files hold only the lower triangle.
    skip : int
        Lines of the header.
    shape : (int, int)
    n_entries : int
        Number of lines that must follow.
    """

    path: Path
    layout: str
    field: str
    mirror: int
    skip: int
    shape: tuple[int, int]
    n_entries: int

    @property
    def dtype(self) -> str:
        # Entries of a general table may be decimals where the header says integer.
        return "float64" if self.layout == "coordinate" and not self.mirror else _FIELDS[self.field]


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """Convert one table, with the vocabulary beside it."""
    head = _read_header(path)
    if head.layout == "array":
        _convert_array(head, folder, source, progress)
        return
    width = 2 if head.field == "pattern" else 3
    triples = Triples(path, head.skip, head.shape, head.n_entries, head.dtype, width, head.mirror)
    convert_triples(triples, folder, source, progress)


def _read_header(path: Path) -> _Header:
    """Read and check the header, and check that the file is long enough for its entries."""
    with open_lines(path) as file:
        layout, field, symmetry = _parse_first_line(path, file.readline())
        number, line = _skip_comments(path, file)
    mirror = _SYMMETRIES[symmetry]
    n_rows, n_columns, *n_stated = _parse_size(path, number, line, 2 if layout == "array" else 3)
    check_shape(path, f"line {number}", (n_rows, n_columns))
    if mirror and n_rows != n_columns:
        raise LatentiaError(
            f"expected as many rows as columns in a {symmetry} table, found {n_rows} rows and {n_columns} columns.",
            source=path,
            place=f"line {number}",
        )
    n_array_numbers = n_rows * (n_columns + mirror) // 2 if mirror else n_rows * n_columns
    n_entries = n_stated[0] if n_stated else n_array_numbers
    check_length(path, number, n_entries, 2 if layout == "array" else 4 if field == "pattern" else 6)
    return _Header(path, layout, field, mirror, number, (n_rows, n_columns), n_entries)


def _skip_comments(path: Path, file: BinaryIO) -> tuple[int, bytes]:
    """Return the number and text of the first line below the header, comments and blank lines."""
    number, line = 2, file.readline()
    while line.startswith(b"%") or line.isspace():
        if b"\0" in line:
            refuse_nul(path, number)
        number, line = number + 1, file.readline()
    if not line:
        raise LatentiaError("expected a line with the size of the table, found none.", source=path)
    return number, line


def _parse_size(path: Path, number: int, line: bytes, n: int) -> list[int]:
    """Return the n numbers of the line: rows, columns and, for n = 3, entries."""
    parts = line.split()
    if len(parts) != n or not all(part.isdigit() for part in parts):
        expected = ("'rows columns'", "'rows columns entries'")[n - 2]
        raise LatentiaError(f"expected {expected}, found {quote_line(line)}.", source=path, place=f"line {number}")
    return [parse_header_number(path, number, part) for part in parts]


def _parse_first_line(path: Path, line: bytes) -> tuple[str, str, str]:
    """Return layout, field and symmetry, from the first line."""
    words = line.decode("latin-1").lower().split()
    if words[3:4] == ["complex"] or words[4:5] == ["hermitian"]:
        raise LatentiaError(
            f"expected real numbers, found complex ones ({' '.join(words[3:5])}). Save their real parts.",
            source=path,
            place="line 1",
        )
    columns: tuple[Container[str], ...] = (["%%matrixmarket"], ["matrix"], _LAYOUTS, _FIELDS, _SYMMETRIES)
    if len(words) != 5 or not all(word in allowed for word, allowed in zip(words, columns, strict=True)):
        raise LatentiaError(
            f"expected '%%MatrixMarket matrix coordinate integer general' or alike, found {quote_line(line)}.",
            source=path,
            place="line 1",
        )
    if words[2:4] == ["array", "pattern"]:
        raise LatentiaError("expected an array that is real or integer, found pattern.", source=path, place="line 1")
    return words[2], words[3], words[4]


def _convert_array(head: _Header, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Convert numbers in column order: write them to a temporary file, and read that by rows."""
    n_rows, n_columns = head.shape
    names = vocabulary_beside(head.path, n_columns)
    allowed, expected = get_limits(head.dtype), f"one number a line, {EXPECTED[head.dtype]}"
    with CacheWriter(folder, [n_columns], names, source) as writer, tempfile.TemporaryFile(dir=folder.parent) as file:
        for (values,) in read_entries(
            head.path, head.skip, head.n_entries, parsing.parse_numbers, allowed, expected, progress
        ):
            file.write(values.astype(head.dtype).data)
        file.flush()
        packed = np.memmap(file, head.dtype, "r") if head.n_entries else np.zeros(1, head.dtype)
        step = max(1, _PIECE_ENTRIES // n_columns)
        for start in range(0, n_rows, step):
            writer.append(_read_array_rows(head, packed, start, min(start + step, n_rows)))


def _read_array_rows(head: _Header, packed: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return rows of a table that is stored by columns, completely or as its lower triangle."""
    if not head.mirror:
        return packed.reshape(*head.shape[::-1])[:, start:stop].T
    n = head.shape[0]
    i, j = np.arange(start, stop)[:, None], np.arange(n)
    low, high = np.minimum(i, j), np.maximum(i, j)
    if head.mirror > 0:
        return packed[low * n - low * (low + 1) // 2 + high]
    values = packed[low * n - low * (low + 3) // 2 + high - 1]  # values on the diagonal are undefined
    return np.where(i == j, 0, np.where(i > j, values, -values))
