"""File formats, one a module: files are read in pieces and converted to the binary cache.

Each error names the file and the line. A pipe is copied to a temporary file and read from there; its cache is deleted as soon
as it is mapped. The cache of a file lies beside it, in another folder, or is deleted like that of a pipe. It is used as long as
the file has the same content, whatever its times.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import FileNotice, LatentiaError, warn
from ...system.scratch import can_write, real_path, scratch_folder
from ..cache import read_cache, read_header, remove_cache, sweep_cache
from . import matrixmarket, pairs, parquet, svmlight, uci
from ._sizes import free_memory, rows_fit
from ._text import (
    LONGEST_LINE,
    STANDARD_INPUT,
    bytes_read,
    check_encoding,
    chunks,
    find_encoding,
    no_encoding,
    open_lines,
    open_text,
    open_unicode,
    plain_name,
    readable,
    reusable,
)
from ._vocabulary import vocabulary_file

__all__ = [
    "CACHE_SUFFIX",
    "LONGEST_LINE",
    "STANDARD_INPUT",
    "bytes_read",
    "check_encoding",
    "chunks",
    "detect_format",
    "find_encoding",
    "free_memory",
    "no_encoding",
    "open_lines",
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


_OPTIONS: dict[str, tuple[str, ...]] = {"svmlight": svmlight.OPTIONS, "parquet": parquet.OPTIONS}
_MAX_WHOLE_HASH = 1 << 28  # bytes: files up to this size are hashed completely
_N_SAMPLES, _SAMPLE_SIZE = 64, 1 << 20  # number and bytes of the pieces that are hashed of a larger file


def open_tables(
    path: Path,
    format: str | None,
    cache: str | os.PathLike[str] | bool | None,
    progress: bool,
    options: dict[str, Any],
) -> tuple[list[Any], list[str] | None]:
    """Return tables and column names of a file, through its cache, which is written if missing or stale."""
    with reusable(path) as file:
        with readable(file):
            if not file.exists():
                raise LatentiaError("no such file.", source=path)
        kind = format or detect_format(file)
        if kind != "cache" and kind not in _CONVERTERS:
            raise LatentiaError(f"format={kind!r}: use one of {', '.join([*_CONVERTERS, 'cache'])}.")
        _check_options(kind, options)
        if kind == "cache":
            return read_cache(file)
        with readable(file):
            if not stat.S_ISREG(file.stat().st_mode):
                raise LatentiaError("expected a file, found a folder.", source=path)
            if kind == "pairs" and pairs.is_array(file):
                return [pairs.map_array(file)], None
        if file != path or cache is False:
            return _open_temporarily(file, kind, progress, options)
        folder = _choose_cache_folder(path, None if cache is True else cache)
        if cache in (None, True) and not can_write(folder.parent):
            return _open_in_unwritable_folder(path, kind, folder, progress, options)
        return _open_cached(path, kind, folder, progress, options)


def _check_options(kind: str, options: dict[str, Any]) -> None:
    """Raise for an option that this format does not have."""
    allowed = _OPTIONS.get(kind, ())
    for name, value in options.items():
        if name not in allowed and value is not None:
            statement = f"has {', '.join(allowed)}" if allowed else "has none"
            raise LatentiaError(f"no option of this format ({kind}), which {statement}.", parameter=name, value=value)


_Tables = tuple[list[Any], list[str] | None]


def _open_temporarily(path: Path, kind: str, progress: bool, options: dict[str, Any]) -> _Tables:
    """Return tables and names through a temporary cache, which is deleted as soon as it is mapped."""
    with scratch_folder() as folder:
        return _open_cached(path, kind, folder / f"{path.name[:50]}{CACHE_SUFFIX}", progress, options)


def _open_in_unwritable_folder(path: Path, kind: str, folder: Path, progress: bool, options: dict[str, Any]) -> _Tables:
    """Return tables and names through the cache beside the file if it is valid; else through a temporary one, with a notice."""
    with readable(path):
        header = read_header(folder)
        if header is not None and header["source"] == _compute_fingerprint(path, kind, options):
            with contextlib.suppress(LatentiaError):  # damaged
                return read_cache(folder)
    tables = _open_temporarily(path, kind, progress, options)
    warn(
        FileNotice(
            f"{path}: no binary copy was stored, as the folder cannot be written: later runs convert the file again.",
            "cache=FOLDER puts one elsewhere.",
            parameter="cache",
        )
    )
    return tables


def _open_cached(path: Path, kind: str, folder: Path, progress: bool, options: dict[str, Any]) -> _Tables:
    sweep_cache(folder)
    with readable(path, "read or converted"):
        source, before = _compute_fingerprint(path, kind, options), _read_times(path)
        for _ in range(3):  # another process may be replacing the cache meanwhile
            header = read_header(folder)
            if header is not None and header["source"] == source:
                try:
                    return read_cache(folder)
                except LatentiaError:
                    remove_cache(folder)  # damaged
            _CONVERTERS[kind](path, folder, source, progress, dict(options))
            if _read_times(path) != before:
                remove_cache(folder)
                raise LatentiaError(
                    "the file changed while it was read. Read it again when it is complete.", source=path
                )
            if folder.parent == path.parent:
                _announce(path, folder)
        return read_cache(folder)


def _announce(path: Path, folder: Path) -> None:
    """Issue a notice about a new folder that the user did not ask for."""
    try:
        size = sum(file.stat().st_size for file in folder.iterdir())
    except FileNotFoundError:  # another thread or process is replacing it, and issues the notice
        return
    text = f"{size / 2**20:.0f} MB" if size >= 2**20 else f"{size / 2**10:.0f} kB"
    warn(
        FileNotice(
            f"{path}: a binary copy, which later runs read faster, was stored beside it as {folder.name} ({text}). You can "
            "delete it at any time.",
            "cache=FOLDER puts it elsewhere, and cache=False keeps none.",
            parameter="cache",
        )
    )


def _choose_cache_folder(path: Path, cache: str | os.PathLike[str] | None) -> Path:
    """Return a folder beside the file, or in the folder ``cache`` under a name that is unique for every path."""
    if cache is None:
        return path.with_name(f"{path.name}{CACHE_SUFFIX}")
    digest = hashlib.sha256(str(real_path(path)).encode()).hexdigest()[:12]
    return Path(cache) / f"{path.name}.{digest}{CACHE_SUFFIX}"


def _compute_fingerprint(path: Path, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that a cache depends on: format, options, and content of the file and of its vocabulary."""
    facts: dict[str, Any] = {
        "format": kind,
        "options": {k: _to_json_value(v) for k, v in options.items() if v is not None},
    }
    for name, file in (("file", path), ("vocabulary", vocabulary_file(path))):
        facts[name] = None if file is None else [file.name, *_digest_content(file)]
    return facts


def _digest_content(path: Path) -> list[Any]:
    """Return size and checksum of a file; of a large one the checksum of samples, and its times.

    The second time is that of the last change of any kind, which no program can set.
    """
    size = path.stat().st_size
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        if size <= _MAX_WHOLE_HASH:
            while piece := file.read(_SAMPLE_SIZE):
                digest.update(piece)
            return [size, digest.hexdigest()]
        for i in range(_N_SAMPLES):
            file.seek((size - _SAMPLE_SIZE) * i // (_N_SAMPLES - 1))
            digest.update(file.read(_SAMPLE_SIZE))
    return [size, digest.hexdigest(), *_read_times(path)[1:]]


def _read_times(path: Path) -> list[int]:
    """Return size and times (in nanoseconds) of a file."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _to_json_value(option: Any) -> Any:
    """Return an option as JSON gives it back."""
    if isinstance(option, np.generic):
        return option.item()
    return list(option) if isinstance(option, (list, tuple)) else option


def detect_format(path: Path) -> str:
    """Recognise the format by the file's name and first lines."""
    if path.is_dir():
        if read_header(path) is not None:
            return "cache"
        raise LatentiaError("expected a file or a cache, found a folder without a cache.", source=path)
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
    if any(b":" in line for line in lines) or (headed and all(map(_is_label_line, lines[1:]))):
        return "svmlight"
    raise LatentiaError(
        f"expected UCI bag of words, MatrixMarket, svmlight, Parquet or NumPy; the file begins with {lines[0][:60]!r}. "
        "Name its format with format=.",
        source=path,
    )


def _is_label_line(line: bytes) -> bool:
    """Return True for a line of svmlight with labels alone: a document without words."""
    return not line or all(label.isdigit() for label in line.split(b","))
