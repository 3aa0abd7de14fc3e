"""File formats, one a module, read in pieces and converted to the binary cache.

Each error names the file and the line. A pipe is copied to a temporary file and read from there; its cache is deleted with it,
as soon as it is mapped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import LatentiaError
from ..cache import read_cache, read_header
from . import matrixmarket, pairs, parquet, svmlight, uci
from ._sizes import rows_fit
from ._text import bytes_read, open_text, open_unicode, plain_name, readable, reusable
from ._vocabulary import vocabulary_file

__all__ = [
    "CACHE_SUFFIX",
    "bytes_read",
    "detect_format",
    "open_tables",
    "open_text",
    "open_unicode",
    "plain_name",
    "readable",
    "reusable",
    "rows_fit",
]

CACHE_SUFFIX = ".latentia-cache"
_Convert = Callable[[Path, Path, dict[str, Any], bool, dict[str, Any]], None]
_CONVERTERS: dict[str, _Convert] = {
    "uci": uci.convert,
    "matrixmarket": matrixmarket.convert,
    "svmlight": svmlight.convert,
    "parquet": parquet.convert,
    "pairs": pairs.convert,
}


def open_tables(
    path: Path, format: str | None, cache: str | os.PathLike[str] | None, progress: bool, options: dict[str, Any]
) -> tuple[list[Any], list[str] | None]:
    """Tables and column names of a file, through its cache, which is written if absent or stale."""
    with reusable(path) as file:
        if not file.exists():
            raise LatentiaError(f"{path}: no such file.")
        kind = format or detect_format(file)
        if kind == "cache":
            return read_cache(file)
        if kind not in _CONVERTERS:
            raise LatentiaError(f"format={kind!r}: use one of {', '.join([*_CONVERTERS, 'cache'])}.")
        with readable(file):
            if kind == "pairs" and pairs.is_array(file):
                return [pairs.map_array(file)], None
        return _through_cache(file, kind, cache if file == path else None, progress, options)


def _through_cache(
    path: Path, kind: str, cache: str | os.PathLike[str] | None, progress: bool, options: dict[str, Any]
) -> tuple[list[Any], list[str] | None]:
    folder = _cache_folder(path, cache)
    source = _fingerprint(path, kind, options)
    for _ in range(3):  # another process may be replacing the cache under our eyes
        header = read_header(folder)
        if header is not None and header["source"] == source:
            try:
                return read_cache(folder)
            except LatentiaError:
                shutil.rmtree(folder, ignore_errors=True)  # damaged
        with readable(path, "read or converted"):
            _CONVERTERS[kind](path, folder, source, progress, dict(options))
    return read_cache(folder)


def _cache_folder(path: Path, cache: str | os.PathLike[str] | None) -> Path:
    """Beside the file, or in the folder ``cache`` under a name of its own for every path."""
    if cache is None:
        return path.with_name(f"{path.name}{CACHE_SUFFIX}")
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    return Path(cache) / f"{path.name}.{digest}{CACHE_SUFFIX}"


def _fingerprint(path: Path, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """What a cache depends on: the file, its vocabulary, and how they are read."""
    facts: dict[str, Any] = {
        "format": kind,
        "options": {k: _plain(v) for k, v in options.items() if v is not None},
    }
    for name, file in (("file", path), ("vocabulary", vocabulary_file(path))):
        facts[name] = None if file is None else [file.name, file.stat().st_size, file.stat().st_mtime_ns]
    return facts


def _plain(option: Any) -> Any:
    """An option as it comes back from JSON."""
    if isinstance(option, np.generic):
        return option.item()
    return list(option) if isinstance(option, (list, tuple)) else option


def detect_format(path: Path) -> str:
    """Tell the format from the file's name and first lines."""
    if path.is_dir():
        if read_header(path) is not None:
            return "cache"
        raise LatentiaError(f"{path}: a folder without a cache in it.")
    if path.suffix == ".parquet":
        return "parquet"
    if plain_name(path).endswith(".npy"):
        return "pairs"
    if path.name.startswith("docword"):
        return "uci"
    with readable(path), open_text(path) as file:
        lines = [file.readline(1 << 16).strip() for _ in range(4)]
    if lines[0].startswith(b"%%MatrixMarket"):
        return "matrixmarket"
    if all(line.isdigit() for line in lines[:3]):
        return "uci"
    headed = len(lines[0].split()) == 3 and all(part.isdigit() for part in lines[0].split())
    if any(b":" in line for line in lines) or (headed and all(map(_are_labels, lines[1:]))):
        return "svmlight"
    raise LatentiaError(
        f"{path}: not recognised as UCI bag of words, MatrixMarket, svmlight, Parquet or NumPy. "
        f"It begins with {lines[0][:60]!r}; name the format with format=."
    )


def _are_labels(line: bytes) -> bool:
    """Whether a line is that of an svmlight document without words, where a MatrixMarket size has triples below it."""
    return not line or all(label.isdigit() for label in line.split(b","))
