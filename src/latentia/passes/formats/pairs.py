"""Lists of pairs: one table of two columns, or of three, the last how often.

A text has two or three whole numbers per line, separated by blanks; what follows ``#`` is a comment. A ``.npy`` file has shape
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
from ._sizes import MOST, believable
from ._text import chunks, fail, open_lines, plain_name

_LARGEST = 2**53  # what is exact as a float
_PIECE = 1 << 20  # rows that are looked at together
_MAGIC = b"\x93NUMPY"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """The table of a text: int32 if there are two columns, int64 if there are three."""
    width = _width(path)
    most = min(believable(path), MOST - 1)
    with CacheWriter(folder, [width], source=source) as writer, open_lines(path) as file:
        for buffer, line in chunks(path, file, progress):
            values, bad = parsing.pairs(buffer, width, float(most), float(_LARGEST))
            if bad >= 0:
                last = most if parsing.pairs(buffer, width, float(MOST - 1), float(_LARGEST))[1] != bad else MOST - 1
                fail(path, line, buffer, bad, *_expected(path, width, last))
            writer.append(values.astype(np.int32) if width == 2 else values)


def _expected(path: Path, width: int, most: int) -> tuple[str, str]:
    """What a line should hold, and a hint where a number is too large for this file alone."""
    expected = f"{('two', 'three')[width - 2]} whole numbers from 0 to {most}"
    if width == 3:
        expected += f", the third to {_LARGEST}"
    return expected, "" if most == MOST - 1 else f" The file has {path.stat().st_size} bytes: are the numbers right?"


def _width(path: Path) -> int:
    """How many numbers the first line with any has."""
    with open_lines(path) as file:
        for number, line in enumerate(file, 1):
            found = len(line.partition(b"#")[0].split())
            if found in (2, 3):
                return found
            if found:
                text = line.strip()[:80].decode("utf-8", "replace")
                raise LatentiaError(
                    f"expected two or three whole numbers, found {text!r}.", source=path, place=f"line {number}"
                )
    raise LatentiaError("there are no pairs in the file.", source=path)


def is_array(path: Path) -> bool:
    """Whether a file is one of NumPy, by its name or its first bytes."""
    if plain_name(path).endswith(".npy"):
        return True
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def map_array(path: Path) -> np.ndarray:
    """The array of a ``.npy`` file, whose header is checked against the file, mapped into memory."""
    if is_compressed(path):
        raise LatentiaError("a packed .npy file cannot be mapped into memory. Unpack it first.", source=path)
    shape, by_columns, dtype, start = _header(path)
    if len(shape) != 2 or shape[0] < 0 or shape[1] not in (2, 3) or dtype.kind not in "iuf":
        raise LatentiaError(
            f"holds an array of shape {shape} and type {dtype}, and a list of pairs is two or three columns of whole "
            "numbers. Read other tables with Blocks.from_array(numpy.load(path, mmap_mode='r')).",
            source=path,
        )
    there = os.stat(path).st_size - start
    if shape[0] * shape[1] * dtype.itemsize > there:
        raise LatentiaError(f"its header promises {shape[0]} pairs, and {there} bytes follow: truncated?", source=path)
    if not shape[0]:
        raise LatentiaError("there are no pairs in the file.", source=path)
    table = np.memmap(path, dtype, "r", start, shape, "F" if by_columns else "C")
    _check_numbers(path, table)
    return table


def _check_numbers(path: Path, table: np.ndarray) -> None:
    """Raise for numbers that are not finite, and for words that a file of this size cannot speak of."""
    most = min(believable(path), MOST - 1)
    for start in range(0, len(table), _PIECE):
        piece = table[start : start + _PIECE]
        bad = ~np.isfinite(piece)
        bad[:, :2] |= piece[:, :2] > most
        if bad.any():
            row, column = (int(at) for at in np.unravel_index(bad.argmax(), bad.shape))
            what = f"has the word {piece[row, column]}" if column < 2 else f"is counted {piece[row, column]} times"
            raise LatentiaError(
                f"Pair {start + row} {what}. Whole numbers are needed, those of words from 0 to {most} in a file of "
                f"{os.stat(path).st_size} bytes.",
                source=path,
            )


def _header(path: Path) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, whether columns come one after the other, type, and where the numbers begin."""
    try:
        with open(path, "rb") as file:
            shape, by_columns, dtype = _HEADERS[npy.read_magic(file)](file)
            return shape, by_columns, dtype, file.tell()
    except OSError:
        raise
    except Exception as error:  # whatever NumPy meets while it evaluates a damaged header
        raise LatentiaError(f"not a readable NumPy file ({error}).", source=path) from error
