"""Checks of the sizes that a file declares against the file and the memory, before anything of that size is allocated."""

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

MAX_SIZE = 2**31 - 1
_ALWAYS_ALLOWED = 10_000_000  # rows or columns that any file may have


def parse_header_number(path: Path, line: int, text: bytes) -> int:
    """Return a number of a header; raise if no table can be so large."""
    if len(text) > 18 or int(text) > 64 * MAX_SIZE:
        raise LatentiaError(
            f"the header says {text[:30].decode()}, which is too large for a table.", source=path, place=f"line {line}"
        )
    return int(text)


def check_shape(path: Path, lines: str, shape: tuple[int, int]) -> None:
    """Raise if a header describes a table without rows or columns, or one that is too large for the file or the memory."""
    if min(shape) < 1:
        problem = ": expected at least one of each."
    elif max(shape) > MAX_SIZE:
        problem = f": expected at most {MAX_SIZE} of each."
    elif max(shape) > estimate_max_size(path):
        problem = f", in a file of {path.stat().st_size} bytes. Is the number right?"
    elif not rows_fit(shape[0]):
        problem = ": that many rows do not fit into memory. Is the number right?"
    else:
        return
    raise LatentiaError(f"{shape[0]} rows and {shape[1]} columns{problem}", source=path, place=lines)


def estimate_max_size(path: Path) -> int:
    """Return the largest plausible number of rows or columns: as many as the file has bytes, as more would be mostly empty."""
    size = path.stat().st_size
    return max(_ALWAYS_ALLOWED, max_unpacked_size(size) if is_compressed(path) else size)


def rows_fit(n_rows: int) -> bool:
    """Return True if the index of so many sparse rows fits into memory: 8 bytes a row, in three copies."""
    return 24 * n_rows <= free_memory()


def free_memory() -> float:
    """Return the bytes that this process may still allocate, as far as the system tells."""
    candidates = [math.inf]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        candidates.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as file:
        candidates += [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable")]
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as file:
            used_bytes = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            candidates += [max(limit - used_bytes, 0)] if limit != resource.RLIM_INFINITY else []
    return min(candidates)


def check_length(path: Path, line: int, n_entries: int, min_bytes: int) -> None:
    """Raise if a file is too short for its entries of at least ``min_bytes`` each; compressed files are not checked."""
    size = path.stat().st_size
    if not is_compressed(path) and min_bytes * n_entries - 1 > size:
        raise LatentiaError(
            f"the header promises {n_entries} entries, which do not fit into a file of {size} bytes: truncated?",
            source=path,
            place=f"line {line}",
        )
