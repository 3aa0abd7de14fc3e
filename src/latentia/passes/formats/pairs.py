"""Lists of pairs: one table of two columns, or of three, the third with counts.

A text has two or three whole numbers per line, separated by blanks; ``#`` begins a comment. A ``.npy`` file has shape
(N, 2) or (N, 3), and is mapped into memory instead of converted.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ...exceptions import LatentiaError
from ...system.compressed import is_compressed
from .. import parsing
from ..cache import CacheWriter
from ._sizes import MAX_SIZE, estimate_max_size
from ._text import chunks, fail, open_lines, plain_name

_MAX_EXACT = 2**53  # largest exact whole number in floating point
_PIECE_ROWS = 1 << 20  # rows that are checked together
_MAGIC = b"\x93NUMPY"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """Convert a text to a table: int32 if there are two columns, int64 if there are three."""
    width = _find_width(path)
    max_word = min(estimate_max_size(path), MAX_SIZE - 1)
    with CacheWriter(folder, [width], source=source) as writer, open_lines(path) as file:
        for buffer, line in chunks(path, file, progress):
            values, bad = parsing.parse_pairs(buffer, width, float(max_word), float(_MAX_EXACT))
            if bad >= 0:
                shown_max = (
                    max_word
                    if parsing.parse_pairs(buffer, width, float(MAX_SIZE - 1), float(_MAX_EXACT))[1] != bad
                    else MAX_SIZE - 1
                )
                fail(path, line, buffer, bad, *_describe_expected(path, width, shown_max))
            writer.append(values.astype(np.int32) if width == 2 else values)


def _describe_expected(path: Path, width: int, max_word: int) -> tuple[str, str]:
    """Return the expected content of a line, and a hint if the limit is due to the size of the file."""
    expected = f"{('two', 'three')[width - 2]} whole numbers from 0 to {max_word}"
    if width == 3:
        expected += f", the third to {_MAX_EXACT}"
    return (
        expected,
        "" if max_word == MAX_SIZE - 1 else f" The file has {path.stat().st_size} bytes: are the numbers right?",
    )


def _find_width(path: Path) -> int:
    """Return the number of columns, from the first line that is not empty."""
    with open_lines(path) as file:
        for number, line in enumerate(file, 1):
            n_numbers = len(line.partition(b"#")[0].split())
            if n_numbers in (2, 3):
                return n_numbers
            if n_numbers:
                text = line.strip()[:80].decode("utf-8", "replace")
                raise LatentiaError(
                    f"expected two or three whole numbers, found {text!r}.", source=path, place=f"line {number}"
                )
    raise LatentiaError("expected pairs, found none in the file.", source=path)


def is_array(path: Path) -> bool:
    """Return True for a NumPy file, by its name or its first bytes."""
    if plain_name(path).endswith(".npy"):
        return True
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def map_array(path: Path) -> np.ndarray:
    """Map the array of a ``.npy`` file into memory, after a check of its header against the file."""
    if is_compressed(path):
        raise LatentiaError("a packed .npy file cannot be mapped into memory. Unpack it first.", source=path)
    shape, by_columns, dtype, start = _read_header(path)
    if len(shape) != 2 or shape[0] < 0 or shape[1] not in (2, 3) or dtype.kind not in "iuf":
        raise LatentiaError(
            f"expected two or three columns of whole numbers, found an array of shape {shape} and dtype {dtype}. Read other "
            "tables with Blocks.from_array(numpy.load(path, mmap_mode='r')).",
            source=path,
        )
    n_bytes = os.stat(path).st_size - start
    if shape[0] * shape[1] * dtype.itemsize > n_bytes:
        raise LatentiaError(
            f"its header promises {shape[0]} pairs, and {n_bytes} bytes follow: truncated?", source=path
        )
    if not shape[0]:
        raise LatentiaError("expected pairs, found none in the file.", source=path)
    table = np.memmap(path, dtype, "r", start, shape, "F" if by_columns else "C")
    _check_numbers(path, table)
    return table


def _check_numbers(path: Path, table: np.ndarray) -> None:
    """Raise for numbers that are not finite, and for words that are too large for a file of this size."""
    max_word = min(estimate_max_size(path), MAX_SIZE - 1)
    for start in range(0, len(table), _PIECE_ROWS):
        piece = table[start : start + _PIECE_ROWS]
        bad = ~np.isfinite(piece)
        bad[:, :2] |= piece[:, :2] > max_word
        if bad.any():
            row, column = (int(at) for at in np.unravel_index(bad.argmax(), bad.shape))
            problem = f"has the word {piece[row, column]}" if column < 2 else f"is counted {piece[row, column]} times"
            raise LatentiaError(
                f"Pair {start + row} {problem}. Expected whole numbers, those of words from 0 to {max_word} in a file of "
                f"{os.stat(path).st_size} bytes.",
                source=path,
            )


def _read_header(path: Path) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Return shape, True for column order, dtype, and the offset of the numbers."""
    try:
        with open(path, "rb") as file:
            shape, by_columns, dtype = _HEADERS[npy.read_magic(file)](file)
            return shape, by_columns, dtype, file.tell()
    except OSError:
        raise
    except Exception as error:  # whatever NumPy meets while it evaluates a damaged header
        raise LatentiaError(f"not a readable NumPy file ({error}).", source=path) from error
