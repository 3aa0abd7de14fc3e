"""Sizes that a file declares, checked against the file and the memory before anything of that size is made."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

from ...exceptions import LatentiaError
from ...system.compressed import is_compressed, max_unpacked_size

try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

MOST = 2**31 - 1
_ALWAYS = 10_000_000  # rows or columns that any file may have


def header_number(path: Path, line: int, text: bytes) -> int:
    """A number of a header, if a table can have so many of anything."""
    if len(text) > 18 or int(text) > 64 * MOST:
        raise LatentiaError(
            f"the header says {text[:30].decode()}, which no table can have.", source=path, place=f"line {line}"
        )
    return int(text)


def check_shape(path: Path, lines: str, shape: tuple[int, int]) -> None:
    """Raise where a header speaks of a table without rows or columns, or of one that is too large to be held."""
    if min(shape) < 1:
        problem = ", and a table needs at least one of each."
    elif max(shape) > MOST:
        problem = f": more than {MOST} either way."
    elif max(shape) > believable(path):
        problem = f", in a file of {path.stat().st_size} bytes. Is the number right?"
    elif not rows_fit(shape[0]):
        problem = ": that many rows do not fit into memory. Is the number right?"
    else:
        return
    raise LatentiaError(f"{shape[0]} rows and {shape[1]} columns{problem}", source=path, place=lines)


def believable(path: Path) -> int:
    """Rows or columns that a file may speak of: as many as it has bytes, for most of any more would be empty."""
    size = path.stat().st_size
    return max(_ALWAYS, max_unpacked_size(size) if is_compressed(path) else size)


def rows_fit(n_rows: int) -> bool:
    """Whether the beginnings of so many sparse rows fit into memory: 8 bytes a row, three times over."""
    return 24 * n_rows <= free_memory()


def free_memory() -> float:
    """Bytes that this process may still take, as far as the system tells."""
    found = [math.inf]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as file:
        found += [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable")]
    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            found += [max(most - used, 0)] if most != resource.RLIM_INFINITY else []
    return min(found)


def check_length(path: Path, line: int, n_entries: int, least: int) -> None:
    """Raise where a file is too short for its entries, of which each takes so many bytes; a packed one is counted as read."""
    size = path.stat().st_size
    if not is_compressed(path) and least * n_entries - 1 > size:
        raise LatentiaError(
            f"promises {n_entries} entries, which do not fit into a file of {size} bytes: truncated?",
            source=path,
            place=f"line {line}",
        )
