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
from ._sizes import check_length, check_shape, header_number
from ._text import open_lines, refuse_nul, shown
from ._triples import EXPECTED, Triples, convert_triples, entries, limits
from ._vocabulary import vocabulary_beside

_PIECE = 1 << 22  # entries of a dense table that are turned at once
_LAYOUTS, _SYMMETRIES = ("coordinate", "array"), {"general": 0, "symmetric": 1, "skew-symmetric": -1}
_FIELDS = {
    "real": "float64",
    "double": "float64",
    "integer": "int64",
    "unsigned-integer": "int64",
    "pattern": "float64",
}


@dataclass(frozen=True)
class _Head:
    """What the first lines of a MatrixMarket file say.

    Attributes
    ----------
    layout, field : str
    mirror : {0, 1, -1}
        1: symmetric; -1: skew-symmetric. Such a file holds the lower triangle.
    skip : int
        Lines of the header.
    shape : (int, int)
    n_entries : int
        How many lines must follow.
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
    """One table, with the words that lie beside it."""
    head = _head(path)
    if head.layout == "array":
        _convert_array(head, folder, source, progress)
        return
    width = 2 if head.field == "pattern" else 3
    triples = Triples(path, head.skip, head.shape, head.n_entries, head.dtype, width, head.mirror)
    convert_triples(triples, folder, source, progress)


def _head(path: Path) -> _Head:
    """Read and check the first lines, and that the file is long enough for what they promise."""
    with open_lines(path) as file:
        layout, field, symmetry = _kind(path, file.readline())
        number, line = _first_beyond_comments(path, file)
    mirror = _SYMMETRIES[symmetry]
    n_rows, n_columns, *stated = _size(path, number, line, 2 if layout == "array" else 3)
    check_shape(path, f"line {number}", (n_rows, n_columns))
    if mirror and n_rows != n_columns:
        raise LatentiaError(
            f"{n_rows} rows and {n_columns} columns, and a {symmetry} table is square.",
            source=path,
            place=f"line {number}",
        )
    numbers_of_array = n_rows * (n_columns + mirror) // 2 if mirror else n_rows * n_columns
    n_entries = stated[0] if stated else numbers_of_array
    check_length(path, number, n_entries, 2 if layout == "array" else 4 if field == "pattern" else 6)
    return _Head(path, layout, field, mirror, number, (n_rows, n_columns), n_entries)


def _first_beyond_comments(path: Path, file: BinaryIO) -> tuple[int, bytes]:
    """The line after the first, the comments and what is blank, and its number."""
    number, line = 2, file.readline()
    while line.startswith(b"%") or line.isspace():
        if b"\0" in line:
            refuse_nul(path, number)
        number, line = number + 1, file.readline()
    if not line:
        raise LatentiaError("has no line with its size.", source=path)
    return number, line


def _size(path: Path, number: int, line: bytes, n: int) -> list[int]:
    """Rows and columns and, if there are n = 3 numbers, entries."""
    parts = line.split()
    if len(parts) != n or not all(part.isdigit() for part in parts):
        wanted = ("'rows columns'", "'rows columns entries'")[n - 2]
        raise LatentiaError(f"expected {wanted}, found {shown(line)}.", source=path, place=f"line {number}")
    return [header_number(path, number, part) for part in parts]


def _kind(path: Path, line: bytes) -> tuple[str, str, str]:
    """Layout, field and symmetry, from the first line."""
    words = line.decode("latin-1").lower().split()
    if words[3:4] == ["complex"] or words[4:5] == ["hermitian"]:
        raise LatentiaError(
            f"a table of complex numbers ({' '.join(words[3:5])}), and real ones are needed. Save their real parts.",
            source=path,
            place="line 1",
        )
    known: tuple[Container[str], ...] = (["%%matrixmarket"], ["matrix"], _LAYOUTS, _FIELDS, _SYMMETRIES)
    if len(words) != 5 or not all(word in allowed for word, allowed in zip(words, known, strict=True)):
        raise LatentiaError(
            f"expected '%%MatrixMarket matrix coordinate integer general' or alike, found {shown(line)}.",
            source=path,
            place="line 1",
        )
    if words[2:4] == ["array", "pattern"]:
        raise LatentiaError(
            "an array has numbers, and no pattern; it may be real or integer.", source=path, place="line 1"
        )
    return words[2], words[3], words[4]


def _convert_array(head: _Head, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Numbers column by column: put down as they come, and then read row by row."""
    n_rows, n_columns = head.shape
    names = vocabulary_beside(head.path, n_columns)
    allowed, expected = limits(head.dtype), f"one number a line, {EXPECTED[head.dtype]}"
    with CacheWriter(folder, [n_columns], names, source) as writer, tempfile.TemporaryFile(dir=folder.parent) as file:
        for (values,) in entries(head.path, head.skip, head.n_entries, parsing.numbers, allowed, expected, progress):
            file.write(values.astype(head.dtype).data)
        file.flush()
        packed = np.memmap(file, head.dtype, "r") if head.n_entries else np.zeros(1, head.dtype)
        step = max(1, _PIECE // n_columns)
        for start in range(0, n_rows, step):
            writer.append(_array_rows(head, packed, start, min(start + step, n_rows)))


def _array_rows(head: _Head, packed: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Rows of a table whose columns, or those of its lower triangle, are given one after the other."""
    if not head.mirror:
        return packed.reshape(*head.shape[::-1])[:, start:stop].T
    n = head.shape[0]
    i, j = np.arange(start, stop)[:, None], np.arange(n)
    low, high = np.minimum(i, j), np.maximum(i, j)
    if head.mirror > 0:
        return packed[low * n - low * (low + 1) // 2 + high]
    values = packed[low * n - low * (low + 3) // 2 + high - 1]  # those of the diagonal mean nothing
    return np.where(i == j, 0, np.where(i > j, values, -values))
