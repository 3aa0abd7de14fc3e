"""File formats, one a module, read in pieces and converted to the binary cache.

Each error names the file and the line. A pipe is copied to a temporary file and read from there; its cache is deleted with it,
as soon as it is mapped. The cache of a file lies beside it, in another folder, or is deleted as that of a pipe is. It serves as
long as the file has the same content, whatever its times say.
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
    chunks,
    find_encoding,
    known_encoding,
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
    "chunks",
    "detect_format",
    "find_encoding",
    "free_memory",
    "known_encoding",
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
_HASHED_WHOLE = 1 << 28  # bytes of a file that are read at once to tell its content
_SAMPLES, _SAMPLE = 64, 1 << 20  # of a larger one


def open_tables(
    path: Path,
    format: str | None,
    cache: str | os.PathLike[str] | bool | None,
    progress: bool,
    options: dict[str, Any],
) -> tuple[list[Any], list[str] | None]:
    """Tables and column names of a file, through its cache, which is written if absent or stale."""
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
                raise LatentiaError("cannot be read: a folder, and a file is needed.", source=path)
            if kind == "pairs" and pairs.is_array(file):
                return [pairs.map_array(file)], None
        if file != path or cache is False:
            return _without_cache(file, kind, progress, options)
        folder = _cache_folder(path, None if cache is True else cache)
        if cache in (None, True) and not can_write(folder.parent):
            return _through_unwritable(path, kind, folder, progress, options)
        return _through_cache(path, kind, folder, progress, options)


def _check_options(kind: str, options: dict[str, Any]) -> None:
    """Raise for an option that files of this kind do not have."""
    known = _OPTIONS.get(kind, ())
    for name, value in options.items():
        if name not in known and value is not None:
            has = f"has {', '.join(known)}" if known else "has none"
            raise LatentiaError(f"no option of this format ({kind}), which {has}.", parameter=name, value=value)


_Tables = tuple[list[Any], list[str] | None]


def _without_cache(path: Path, kind: str, progress: bool, options: dict[str, Any]) -> _Tables:
    """Through a temporary copy, which goes as soon as it is mapped."""
    with scratch_folder() as folder:
        return _through_cache(path, kind, folder / f"{path.name[:50]}{CACHE_SUFFIX}", progress, options)


def _through_unwritable(path: Path, kind: str, folder: Path, progress: bool, options: dict[str, Any]) -> _Tables:
    """Through the cache beside the file if that is still good; else without one, which is said."""
    with readable(path):
        header = read_header(folder)
        if header is not None and header["source"] == _fingerprint(path, kind, options):
            with contextlib.suppress(LatentiaError):  # damaged
                return read_cache(folder)
    tables = _without_cache(path, kind, progress, options)
    warn(
        FileNotice(
            f"{path}: no binary copy could be kept, as the folder cannot be written: later runs convert the file again.",
            "cache=FOLDER puts one elsewhere.",
            parameter="cache",
        )
    )
    return tables


def _through_cache(path: Path, kind: str, folder: Path, progress: bool, options: dict[str, Any]) -> _Tables:
    sweep_cache(folder)
    with readable(path, "read or converted"):
        source, before = _fingerprint(path, kind, options), _moment(path)
        for _ in range(3):  # another process may be replacing the cache under our eyes
            header = read_header(folder)
            if header is not None and header["source"] == source:
                try:
                    return read_cache(folder)
                except LatentiaError:
                    remove_cache(folder)  # damaged
            _CONVERTERS[kind](path, folder, source, progress, dict(options))
            if _moment(path) != before:
                remove_cache(folder)
                raise LatentiaError("was changed while it was read. Read it again when it is complete.", source=path)
            if folder.parent == path.parent:
                _announce(path, folder)
        return read_cache(folder)


def _announce(path: Path, folder: Path) -> None:
    """Say that there is a folder now that nobody has asked for."""
    try:
        size = sum(file.stat().st_size for file in folder.iterdir())
    except FileNotFoundError:  # another thread or process is replacing it, and says so itself
        return
    text = f"{size / 2**20:.0f} MB" if size >= 2**20 else f"{size / 2**10:.0f} kB"
    warn(
        FileNotice(
            f"{path}: a binary copy, which later runs read faster, was put beside it as {folder.name} ({text}). It can be "
            "deleted at any time.",
            "cache=FOLDER puts it elsewhere, and cache=False keeps none.",
            parameter="cache",
        )
    )


def _cache_folder(path: Path, cache: str | os.PathLike[str] | None) -> Path:
    """Beside the file, or in the folder ``cache`` under a name of its own for every path."""
    if cache is None:
        return path.with_name(f"{path.name}{CACHE_SUFFIX}")
    digest = hashlib.sha256(str(real_path(path)).encode()).hexdigest()[:12]
    return Path(cache) / f"{path.name}.{digest}{CACHE_SUFFIX}"


def _fingerprint(path: Path, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """What a cache depends on: the content of the file and of its vocabulary, and how they are read."""
    facts: dict[str, Any] = {
        "format": kind,
        "options": {k: _plain(v) for k, v in options.items() if v is not None},
    }
    for name, file in (("file", path), ("vocabulary", vocabulary_file(path))):
        facts[name] = None if file is None else [file.name, *_content(file)]
    return facts


def _content(path: Path) -> list[Any]:
    """Size and checksum of a file; of a large one the checksum of samples, and its times.

    The second of these is that of the last change by whatever means, which nobody can set.
    """
    size = path.stat().st_size
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        if size <= _HASHED_WHOLE:
            while piece := file.read(_SAMPLE):
                digest.update(piece)
            return [size, digest.hexdigest()]
        for i in range(_SAMPLES):
            file.seek((size - _SAMPLE) * i // (_SAMPLES - 1))
            digest.update(file.read(_SAMPLE))
    return [size, digest.hexdigest(), *_moment(path)[1:]]


def _moment(path: Path) -> list[int]:
    """Size and times of a file, in nanoseconds."""
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


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
        raise LatentiaError("a folder without a cache in it.", source=path)
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
        f"not recognised as UCI bag of words, MatrixMarket, svmlight, Parquet or NumPy. "
        f"It begins with {lines[0][:60]!r}; name the format with format=.",
        source=path,
    )


def _are_labels(line: bytes) -> bool:
    """Whether a line is that of an svmlight document without words, where a MatrixMarket size has triples below it."""
    return not line or all(label.isdigit() for label in line.split(b","))
