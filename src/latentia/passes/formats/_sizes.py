"""Sizes that a file declares, checked against the file and the memory before anything of that size is made."""

from __future__ import annotations

import math
import os
from pathlib import Path

from ...exceptions import LatentiaError
from ._text import is_packed

__all__ = ["MOST", "check_length", "check_shape", "header_number", "rows_fit"]

MOST = 2**31 - 1


def header_number(path: Path, line: int, text: bytes) -> int:
    """A number of a header, if a table can have so many of anything."""
    if len(text) > 18 or int(text) > 64 * MOST:
        raise LatentiaError(f"{path}, line {line}: the header says {text[:30].decode()}, which no table can have.")
    return int(text)


def check_shape(path: Path, lines: str, shape: tuple[int, int]) -> None:
    """Raise where a header speaks of a table without rows or columns, or of one that is too large to be held."""
    said = f"{path}, {lines}: {shape[0]} rows and {shape[1]} columns"
    if min(shape) < 1:
        raise LatentiaError(f"{said}, and a table needs at least one of each.")
    if max(shape) > MOST:
        raise LatentiaError(f"{said}: more than {MOST} either way.")
    if not rows_fit(shape[0]):
        raise LatentiaError(f"{said}: so many rows do not fit into memory. Is the number right?")


def rows_fit(n_rows: int) -> bool:
    """Whether the beginnings of so many sparse rows fit into memory: 8 bytes a row, three times over."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else math.inf
    return 24 * n_rows <= memory


def check_length(path: Path, line: int, n_entries: int, least: int) -> None:
    """Raise where a file is too short for its entries, of which each takes so many bytes; a packed one is counted as read."""
    size = path.stat().st_size
    if not is_packed(path) and least * n_entries - 1 > size:
        raise LatentiaError(
            f"{path}, line {line}: promises {n_entries} entries, which do not fit into a file of {size} bytes: truncated?"
        )
