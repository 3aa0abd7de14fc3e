"""Text formats, read in pieces and converted to the binary cache.

UCI bag of words: three header lines (documents, words, entries), then ``document word count`` from 1.
MatrixMarket: coordinate and array; integer, real and pattern; general, symmetric and skew-symmetric.
svmlight multi-label: ``l1,l2 f:v f:v # comment``, in two ways.
    With the first line ``rows features labels`` of the Extreme Classification Repository, numbers count from 0, or from
    1 with ``zero_based=False``. Without it, a 0 among the features proves that they count from 0; a file where none is
    seen is refused until ``zero_based=`` says from where they count. Labels count as features do unless
    ``labels_zero_based=`` is given: classic svmlight has features from 1 and labels from 0. ``n_features=`` and
    ``n_labels=`` are by default as many as the largest numbers found; say them to open a test file with the columns of
    its training file. A line without features, or without labels (it begins with a blank or with a feature), or blank,
    is a row; one that begins with ``#`` is none. A feature named twice on a line has the sum of its values, and a label
    named twice counts once.
Parquet: numeric columns, through the ``data`` extra.

Each error names the file and the line. A pipe is copied to a temporary file and read from there; its cache is deleted
with it, as soon as it is mapped.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import numbers
import os
import re
import select
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError, MissingExtraError
from . import _parse
from .cache import CacheWriter, read_cache, read_header

__all__ = ["CACHE_SUFFIX", "bytes_read", "detect_format", "open_tables", "open_text", "readable", "reusable"]

_CHUNK = 1 << 25
_PIECE = 1 << 22  # entries of a dense table that are turned at once
CACHE_SUFFIX = ".latentia-cache"
_MOST = 2**31 - 1
_GZIP = b"\x1f\x8b"
_PATIENCE = 10.0  # seconds without anyone who writes to a pipe
_DESCRIPTOR = re.compile(r"/dev/(stdin|fd/\d+)|/proc/[^/]+/fd/\d+")
_FORMATS = ("uci", "matrixmarket", "svmlight", "parquet", "cache")


def open_tables(
    path: Path, format: str | None, cache: str | os.PathLike[str] | None, progress: bool, options: dict[str, Any]
) -> tuple[list[Any], list[str] | None]:
    """Tables and column names of a file, through its cache, which is written if absent or stale."""
    with reusable(path) as file:
        if not file.exists():
            raise LatentiaError(f"{path}: no such file.")
        return _through_cache(file, format, cache if file == path else None, progress, options)


def _through_cache(
    path: Path, format: str | None, cache: str | os.PathLike[str] | None, progress: bool, options: dict[str, Any]
) -> tuple[list[Any], list[str] | None]:
    kind = format or detect_format(path)
    if kind == "cache":
        return read_cache(path)
    if kind not in _FORMATS:
        raise LatentiaError(f"format={kind!r}: use one of {', '.join(_FORMATS)}.")
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
    for name, file in (("file", path), ("vocabulary", _vocabulary_file(path))):
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
        f"{path}: not recognised as UCI bag of words, MatrixMarket, svmlight or Parquet. "
        f"It begins with {lines[0][:60]!r}; name the format with format=."
    )


def _are_labels(line: bytes) -> bool:
    """Whether a line is that of an svmlight document without words, where a MatrixMarket size has triples below it."""
    return not line or all(label.isdigit() for label in line.split(b","))


# --- text -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def reusable(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path that can be opened again and again: for a pipe that of a temporary copy. Errors name the pipe.

    ``-`` is standard input.
    """
    source = Path("/dev/stdin" if os.fspath(path) == "-" else path)
    if not _runs_dry(source):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="latentia-") as folder:
        copy = Path(folder) / source.name
        with readable(source), open(copy, "wb") as file:
            _drain(source, file)
        try:
            yield copy
        except LatentiaError as error:
            error.problem = error.problem.replace(str(copy), str(source))
            error.args = (str(error).replace(str(copy), str(source)),)
            raise


def open_text(path: Path) -> BinaryIO:
    """Open a file for reading bytes, unpacking gzip; a pipe is read to its end first."""
    file: Any = _drained(path) if _runs_dry(path) else open(path, "rb")  # noqa: SIM115
    packed = file.read(2) == _GZIP
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[return-value]


@contextlib.contextmanager
def readable(path: Path, what: str = "read") -> Iterator[None]:
    """Turn errors of the file system and of gzip into messages that name the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LatentiaError(f"{path}: the compressed file is damaged or truncated ({error}).") from error
    except OSError as error:
        raise LatentiaError(f"{path}: cannot be {what} ({error.strerror or error}).") from error


def bytes_read(file: Any) -> int:
    """How many bytes of the file on disk, packed as it is, were read through what `open_text` gave."""
    file = getattr(file, "raw", file)
    return int(getattr(file, "fileobj", file).tell())


def _runs_dry(path: Path) -> bool:
    """Whether a path gives its bytes but once, or names an open file of this process: a pipe, a terminal, /dev/stdin."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # who opens it will say so
    return not stat.S_ISDIR(mode) and (not stat.S_ISREG(mode) or _DESCRIPTOR.fullmatch(str(path)) is not None)


def _drained(path: Path) -> Any:
    """A temporary file with all that comes out of a pipe."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    _drain(path, file)
    file.seek(0)
    return file


def _drain(path: Path, target: Any) -> None:
    """Copy a pipe to its end."""
    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as pipe:
        mode = os.fstat(pipe.fileno()).st_mode
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not pipe.isatty()):
            raise LatentiaError(f"{path}: a device, and a file or a pipe is needed.")
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        ready = poll.poll(1000 * _PATIENCE)
        first = pipe.read(_CHUNK)  # None: there is a writer, who has written nothing yet
        if first == b"" and not ready:
            raise LatentiaError(
                f"{path}: a pipe that nobody has opened for writing in {_PATIENCE:g} seconds. Start what writes to it."
            )
        target.write(first or b"")
        os.set_blocking(pipe.fileno(), True)
        shutil.copyfileobj(pipe, target)


class _Lines(io.RawIOBase):
    """Bytes of a file in which every line ends with a newline, whatever ends it on disk: that, a return, or both."""

    def __init__(self, file: BinaryIO) -> None:
        self.fileobj, self._cut = getattr(file, "fileobj", file), False
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        if self._cut and data[:1] == b"\n":  # the second half of an end
            data = data[1:] or self._file.read(len(buffer))
        self._cut = data[-1:] == b"\r"
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_lines(path: Path) -> BinaryIO:
    return io.BufferedReader(_Lines(open_text(path)))


def _chunks(path: Path, file: BinaryIO, progress: bool, line: int = 1) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (bytes of whole lines, number of the first line) of what is left of ``file``, from number ``line`` on."""
    rest = b""
    with _byte_bar(path, progress) as advance:
        while chunk := file.read(_CHUNK):
            advance(file)
            if b"\0" in chunk:
                _refuse_nul(path, line + chunk.count(b"\n", 0, chunk.index(b"\0")))
            chunk = rest + chunk
            cut = chunk.rfind(b"\n") + 1
            rest = chunk[cut:]
            if cut:
                piece = np.frombuffer(chunk, np.uint8, cut)
                yield piece, line
                line += int(np.count_nonzero(piece == 10))
        if rest:
            yield np.frombuffer(rest + b"\n", np.uint8), line


def _refuse_nul(path: Path, line: int) -> NoReturn:
    raise LatentiaError(f"{path}, line {line}: a NUL byte, which no text has: the file is damaged or not a text.")


@contextlib.contextmanager
def _byte_bar(path: Path, progress: bool) -> Iterator[Callable[[Any], None]]:
    if not progress:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("converting {task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        yield lambda file: bar.update(task, completed=bytes_read(file))


def _fail(path: Path, line: int, buffer: np.ndarray, number: int, expected: str) -> NoReturn:
    """Raise for line ``number`` (from 0) of a chunk whose first line is ``line``."""
    text = bytes(buffer).split(b"\n")[number][:80].decode("utf-8", "replace")
    raise LatentiaError(f"{path}, line {line + number}: expected {expected}, found {text!r}.")


# --- UCI and MatrixMarket: triples ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Triples:
    """The (row, column, value) lines of a file, checked against its header and yielded in chunks.

    Attributes
    ----------
    skip : int
        Lines above them.
    shape : (int, int)
    nnz : int
        How many the header promises.
    dtype : {"int32", "int64", "float64"}
        Type of the table: counts, whole numbers or others. Values are yielded as floats; sums are checked to fit.
    width : int
        2: there are no values, and each is 1.
    mirror : {0, 1, -1}
        Each entry off the diagonal stands for that of its transpose too, with the same or the opposite sign.
    names : str
        Of the three.
    """

    path: Path
    skip: int
    shape: tuple[int, int]
    nnz: int
    dtype: str
    width: int = 3
    mirror: int = 0
    names: str = "row column value"

    @property
    def expected(self) -> str:
        names = " ".join(self.names.split()[: self.width])
        text = f"'{names}' with row 1 to {self.shape[0]} and column 1 to {self.shape[1]}"
        if self.width > 2:
            text += f", {_EXPECTED[self.dtype]}"
        return text + ", off the diagonal" * (self.mirror < 0)

    def chunks(self, progress: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        limits = (self.width, *self.shape, *_limits(self.dtype), self.mirror < 0)
        found = _entries(self.path, self.skip, self.nnz, _parse.triples, limits, self.expected, progress)
        for rows, columns, values in found:
            yield _mirrored(rows, columns, values, self.mirror) if self.mirror else (rows, columns, values)


def _entries(
    path: Path, skip: int, promised: int, kernel: Any, arguments: tuple[Any, ...], expected: str, progress: bool
) -> Iterator[list[np.ndarray]]:
    """What a kernel makes of the lines below a header, chunk by chunk: as many entries as the header promises."""
    found = 0
    with _open_lines(path) as file:
        for _ in range(skip):
            file.readline()
        for buffer, line in _chunks(path, file, progress, skip + 1):
            *arrays, bad = kernel(buffer, *arguments)
            if bad >= 0:
                _fail(path, line, buffer, bad, expected)
            found += len(arrays[0])
            if found > promised:
                raise LatentiaError(f"{path}: the header promises {promised} entries, and there are more.")
            yield arrays
    if found != promised:
        raise LatentiaError(f"{path}: the header promises {promised} entries and {found} were found: truncated?")


_LARGEST = {"int32": float(_MOST), "int64": 2.0**53, "float64": np.inf}  # what is exact
_EXPECTED = {
    "int32": f"a whole count from 0 to {_MOST}",
    "int64": f"a whole number from -{2**53} to {2**53}",
    "float64": "a finite number",
}


def _limits(dtype: str) -> tuple[bool, float, float]:
    """Whether numbers of this type are whole, the least and the largest."""
    most = _LARGEST[dtype]
    return dtype != "float64", 0.0 if dtype == "int32" else -most, most


def _mirrored(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, sign: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries, and those of the transpose off the diagonal."""
    off = rows != columns
    both = ((rows, columns[off]), (columns, rows[off]), (values, sign * values[off]))
    first, second, third = (np.concatenate(pair) for pair in both)
    return first, second, third


def _convert_uci(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    with _open_lines(path) as file:
        header = [file.readline().strip() for _ in range(3)]
    for number, text in enumerate(header, 1):
        if not text.isdigit():
            raise LatentiaError(
                f"{path}, line {number}: expected the number of {('documents', 'words', 'entries')[number - 1]}, "
                f"found {_shown(text)}."
            )
    n_rows, n_columns, nnz = (_header_number(path, number, text) for number, text in enumerate(header, 1))
    _check_shape(path, "lines 1 and 2", (n_rows, n_columns))
    names = "document word count"
    triples = _Triples(path, 3, (n_rows, n_columns), nnz, "int32", names=names)
    _convert_triples(triples, folder, source, progress)


def _header_number(path: Path, line: int, text: bytes) -> int:
    if len(text) > 18 or int(text) > 64 * _MOST:
        raise LatentiaError(f"{path}, line {line}: the header says {text[:30].decode()}, which no table can have.")
    return int(text)


def _check_shape(path: Path, lines: str, shape: tuple[int, int]) -> None:
    """Raise where a header speaks of a table without rows or columns, or of one that is too large to be held."""
    said = f"{path}, {lines}: {shape[0]} rows and {shape[1]} columns"
    if min(shape) < 1:
        raise LatentiaError(f"{said}, and a table needs at least one of each.")
    if max(shape) > _MOST:
        raise LatentiaError(f"{said}: more than {_MOST} either way.")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else np.inf
    if 24 * shape[0] > memory:  # where rows begin takes 8 bytes a row, three times over
        raise LatentiaError(f"{said}: so many rows do not fit into memory. Is the number right?")


def _convert_triples(triples: _Triples, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Write triples as CSR: streamed if they come row by row, else counted first and then put in place."""
    names = _vocabulary_beside(triples.path, triples.shape[1])
    with CacheWriter(folder, [triples.shape[1]], names, source) as writer:
        for csr in _sorted_rows(triples, progress):
            if csr is None:
                break
            writer.append(csr)
        else:
            return
        writer.restart()
        writer.append(_scattered(triples, progress))


def _sorted_rows(triples: _Triples, progress: bool) -> Iterator[sparse.csr_array | None]:
    """CSR pieces of whole rows with summed duplicates; ends with None at the first row out of order."""
    done = 0
    held: list[np.ndarray] = [np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)]
    if triples.mirror:
        yield None
        return
    for chunk in triples.chunks(progress):
        rows, columns, values = (np.concatenate(pair) for pair in zip(held, chunk, strict=True))
        if (np.diff(rows) < 0).any() or (len(rows) and rows[0] < done):
            yield None
            return
        last = rows[-1] if len(rows) else done
        cut = int(np.searchsorted(rows, last))
        yield _csr(triples, (rows[:cut] - done, columns[:cut]), values[:cut], last - done)
        held, done = [rows[cut:], columns[cut:], values[cut:]], int(last)
    yield _csr(triples, (held[0] - done, held[1]), held[2], triples.shape[0] - done)


def _csr(triples: _Triples, places: tuple[np.ndarray, np.ndarray], values: np.ndarray, n_rows: int) -> sparse.csr_array:
    return _compact(triples, sparse.csr_array((values, places), shape=(n_rows, triples.shape[1])))


def _compact(triples: _Triples, csr: sparse.csr_array) -> sparse.csr_array:
    """Sum entries of one cell, drop zeros, and give the table its type."""
    csr.sum_duplicates()
    csr.eliminate_zeros()
    most = _LARGEST[triples.dtype]
    fits = np.isfinite(csr.data) if triples.dtype == "float64" else np.abs(csr.data) <= most
    if not fits.all():
        if triples.dtype == "int32":
            problem = f"a word occurs more than {_MOST} times in one document: the counts cannot be right."
        else:
            problem = f"the entries of one cell add up to {csr.data[~fits][0]:g}, which is too large."
        raise LatentiaError(f"{triples.path}: {problem}")
    return csr.astype(triples.dtype, copy=False)


def _scattered(triples: _Triples, progress: bool) -> sparse.csr_array:
    """CSR of triples in any order: one pass counts the rows' entries, the next puts them in place."""
    counts = np.zeros(triples.shape[0], np.int64)
    for rows, _, _ in triples.chunks(progress):
        counts += np.bincount(rows, minlength=len(counts))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    place = indptr[:-1].copy()
    for rows, columns, values in triples.chunks(progress):
        _parse.scatter(rows, columns, values, place, indices, data)
    return _compact(triples, sparse.csr_array((data, indices, indptr), shape=triples.shape))


def _vocabulary_file(path: Path) -> Path | None:
    """``vocab.NAME.txt`` or ``vocab.txt`` beside ``docword.NAME.txt``."""
    stem = path.name.removesuffix(".gz").removesuffix(".txt").removesuffix(".mtx")
    corpus = stem.removeprefix("docword").lstrip(".-_")
    candidates = (path.with_name(name) for name in (f"vocab.{corpus}.txt", f"vocab-{corpus}.txt", "vocab.txt"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _vocabulary_beside(path: Path, n_words: int) -> list[str] | None:
    """The words of the vocabulary file beside a table, which must be as many as its columns."""
    file = _vocabulary_file(path)
    if file is None:
        return None
    words = file.read_text(encoding="utf-8", errors="replace").rstrip("\n").split("\n")
    if len(words) == n_words:
        return words
    if file.name == "vocab.txt" and not path.name.startswith("docword"):
        return None  # of something else in the folder
    raise LatentiaError(f"{file}: {len(words)} words, and {path.name} has {n_words} columns: they must agree.")


# --- MatrixMarket -----------------------------------------------------------------------------------------------

_LAYOUTS, _SYMMETRIES = ("coordinate", "array"), {"general": 0, "symmetric": 1, "skew-symmetric": -1}
_FIELDS = {
    "real": "float64",
    "double": "float64",
    "integer": "int64",
    "unsigned-integer": "int64",
    "pattern": "float64",
}


@dataclass(frozen=True)
class _Market:
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


def _convert_matrixmarket(
    path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]
) -> None:
    head = _market(path)
    if head.layout == "array":
        _convert_array(head, folder, source, progress)
        return
    width = 2 if head.field == "pattern" else 3
    triples = _Triples(path, head.skip, head.shape, head.n_entries, head.dtype, width, head.mirror)
    _convert_triples(triples, folder, source, progress)


def _market(path: Path) -> _Market:
    """Read and check the first lines, and that the file is long enough for what they promise."""
    with _open_lines(path) as file:
        layout, field, symmetry = _market_kind(path, file.readline())
        number, line = _first_beyond_comments(path, file)
    mirror = _SYMMETRIES[symmetry]
    n_rows, n_columns, *stated = _market_size(path, number, line, 2 if layout == "array" else 3)
    _check_shape(path, f"line {number}", (n_rows, n_columns))
    if mirror and n_rows != n_columns:
        raise LatentiaError(
            f"{path}, line {number}: {n_rows} rows and {n_columns} columns, and a {symmetry} table is square."
        )
    numbers_of_array = n_rows * (n_columns + mirror) // 2 if mirror else n_rows * n_columns
    n_entries = stated[0] if stated else numbers_of_array
    _check_length(path, number, n_entries, 2 if layout == "array" else 4 if field == "pattern" else 6)
    return _Market(path, layout, field, mirror, number, (n_rows, n_columns), n_entries)


def _first_beyond_comments(path: Path, file: BinaryIO) -> tuple[int, bytes]:
    """The line after the first, the comments and what is blank, and its number."""
    number, line = 2, file.readline()
    while line.startswith(b"%") or line.isspace():
        if b"\0" in line:
            _refuse_nul(path, number)
        number, line = number + 1, file.readline()
    if not line:
        raise LatentiaError(f"{path}: ends before the line with its size.")
    return number, line


def _market_size(path: Path, number: int, line: bytes, n: int) -> list[int]:
    """Rows and columns and, if there are n = 3 numbers, entries."""
    parts = line.split()
    if len(parts) != n or not all(part.isdigit() for part in parts):
        wanted = ("'rows columns'", "'rows columns entries'")[n - 2]
        raise LatentiaError(f"{path}, line {number}: expected {wanted}, found {_shown(line)}.")
    return [_header_number(path, number, part) for part in parts]


def _market_kind(path: Path, line: bytes) -> tuple[str, str, str]:
    """Layout, field and symmetry, from the first line."""
    words = line.decode("latin-1").lower().split()
    if words[3:4] == ["complex"] or words[4:5] == ["hermitian"]:
        raise LatentiaError(
            f"{path}, line 1: a table of complex numbers ({' '.join(words[3:5])}), and real ones are needed. Save their real "
            "parts."
        )
    known: tuple[Container[str], ...] = (["%%matrixmarket"], ["matrix"], _LAYOUTS, _FIELDS, _SYMMETRIES)
    if len(words) != 5 or not all(word in allowed for word, allowed in zip(words, known, strict=True)):
        raise LatentiaError(
            f"{path}, line 1: expected '%%MatrixMarket matrix coordinate integer general' or alike, found {_shown(line)}."
        )
    if words[2:4] == ["array", "pattern"]:
        raise LatentiaError(f"{path}, line 1: an array has numbers, and no pattern; it may be real or integer.")
    return words[2], words[3], words[4]


def _shown(line: bytes) -> str:
    return repr(line.strip()[:80].decode("utf-8", "replace"))


def _check_length(path: Path, line: int, n_entries: int, least: int) -> None:
    """Raise where a file is too short for its entries, of which each takes so many bytes; a packed one is counted as read."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        packed = file.read(2) == _GZIP
    if not packed and least * n_entries - 1 > size:
        raise LatentiaError(
            f"{path}, line {line}: promises {n_entries} entries, which do not fit into a file of {size} bytes: truncated?"
        )


def _convert_array(head: _Market, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Numbers column by column: put down as they come, and then read row by row."""
    n_rows, n_columns = head.shape
    names = _vocabulary_beside(head.path, n_columns)
    limits, expected = _limits(head.dtype), f"one number a line, {_EXPECTED[head.dtype]}"
    with CacheWriter(folder, [n_columns], names, source) as writer, tempfile.TemporaryFile(dir=folder.parent) as file:
        for (values,) in _entries(head.path, head.skip, head.n_entries, _parse.numbers, limits, expected, progress):
            file.write(values.astype(head.dtype).data)
        file.flush()
        packed = np.memmap(file, head.dtype, "r") if head.n_entries else np.zeros(1, head.dtype)
        step = max(1, _PIECE // n_columns)
        for start in range(0, n_rows, step):
            writer.append(_array_rows(head, packed, start, min(start + step, n_rows)))


def _array_rows(head: _Market, packed: np.ndarray, start: int, stop: int) -> np.ndarray:
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


# --- svmlight multi-label ---------------------------------------------------------------------------------------


def _convert_svmlight(
    path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]
) -> None:
    """Two tables, X and Y."""
    _check_svmlight_options(path, options)
    with open_text(path) as file:
        first = file.readline().split()
    header = (
        [_header_number(path, 1, n) for n in first] if len(first) == 3 and all(n.isdigit() for n in first) else None
    )
    bases, sizes = (
        _svmlight_unheaded(path, options, progress) if header is None else _svmlight_headed(path, header, options)
    )
    found = 0
    with CacheWriter(folder, sizes, source=source) as writer:
        for x_indptr, x_indices, x_data, y_indptr, y_indices in _svmlight_pieces(
            path, header is not None, bases, sizes, progress
        ):
            rows = len(x_indptr) - 1
            x = sparse.csr_array((x_data, x_indices, x_indptr), shape=(rows, sizes[0]))
            y = sparse.csr_array((np.ones(len(y_indices), np.int8), y_indices, y_indptr), shape=(rows, sizes[1]))
            x.sum_duplicates()
            y.sum_duplicates()
            y.data[:] = 1
            if not np.isfinite(x.data).all():
                raise LatentiaError(f"{path}: the values of a feature that a line names twice add up to infinity.")
            writer.append(x, y)
            found += rows
        if header is not None and found != header[0]:
            hint = "truncated?" if found < header[0] else "remove the others, blank lines too."
            raise LatentiaError(f"{path}: the first line promises {header[0]} rows and {found} were found: {hint}")
        if not found:
            raise LatentiaError(f"{path}: there are no rows in the file.")


def _check_svmlight_options(path: Path, options: dict[str, Any]) -> None:
    for name in ("zero_based", "labels_zero_based"):
        if not isinstance(options.get(name), (bool, type(None))):
            raise LatentiaError(f"{path}: {name}={options[name]!r}: use True or False.")
    for name, least in (("n_features", 1), ("n_labels", 0)):
        size = options.get(name)
        whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
        if size is not None and not (whole and least <= size <= _MOST):
            raise LatentiaError(f"{path}: {name}={size!r}: a whole number from {least} to {_MOST} is needed.")


def _svmlight_headed(path: Path, header: list[int], options: dict[str, Any]) -> tuple[list[int], list[int]]:
    """First numbers and numbers of features and labels, from 0 unless the options say otherwise."""
    sizes = header[1:]
    for name, size in zip(("n_features", "n_labels"), sizes, strict=True):
        if options.get(name) not in (None, size):
            raise LatentiaError(
                f"{path}: its first line says {sizes[0]} features and {sizes[1]} labels, and {name}={options[name]} "
                "was asked for: they must agree."
            )
    if max(sizes) > _MOST:
        raise LatentiaError(
            f"{path}: the first line says {sizes[0]} features and {sizes[1]} labels: more than {_MOST}."
        )
    zero_based, labels = options.get("zero_based"), options.get("labels_zero_based")
    zero_based = True if zero_based is None else zero_based
    return [int(not zero_based), int(not (zero_based if labels is None else labels))], sizes


def _svmlight_unheaded(path: Path, options: dict[str, Any], progress: bool) -> tuple[list[int], list[int]]:
    """First numbers and numbers of features and labels, from the options or else from a look at the whole file."""
    zero_based, labels = options.get("zero_based"), options.get("labels_zero_based")
    start = [zero_based, zero_based if labels is None else labels]
    sizes = [options.get("n_features"), options.get("n_labels")]
    if None not in start and None not in sizes:
        return [int(not zero) for zero in start], [int(size) for size in sizes]  # type: ignore[arg-type]
    ranges = _svmlight_ranges(path, progress)
    if start[0] is None and ranges[0][0] == 0:
        start = [True, True if labels is None else labels]
    unclear = [i for i in (0, 1) if start[i] is None and ranges[i][0] > 0]
    if unclear:
        raise LatentiaError(_svmlight_unclear(path, unclear, ranges))
    bases = [int(zero is not None and not zero) for zero in start]
    if sizes[0] is None and ranges[0][1] < 0:
        raise LatentiaError(f"{path}: there is no feature in the file: give n_features=.")
    return bases, [
        max(largest + 1 - base, 0) if size is None else int(size)
        for size, base, (_, largest) in zip(sizes, bases, ranges, strict=True)
    ]


def _svmlight_ranges(path: Path, progress: bool) -> list[tuple[int, int]]:
    """Smallest and largest feature, and label, of a file; -1 where there is none."""
    ranges = [(-1, -1), (-1, -1)]
    for _, features, _, _, labels in _svmlight_pieces(path, False, [0, 0], [_MOST, _MOST], progress):
        for i, found in enumerate((features, labels)):
            if len(found):
                low, high = int(found.min()), int(found.max())
                ranges[i] = (min(low, ranges[i][0]) if ranges[i][0] >= 0 else low, max(high, ranges[i][1]))
    return ranges


def _svmlight_unclear(path: Path, unclear: list[int], ranges: list[tuple[int, int]]) -> str:
    names = ("features", "labels")
    found = [f"{n} {r[0]} to {r[1]}" if r[1] >= 0 else f"no {n}" for n, r in zip(names, ranges, strict=True)]
    if unclear == [1]:
        advice = "labels_zero_based=True or labels_zero_based=False"
    elif ranges[1][0] == 0:
        advice = "zero_based=True, or zero_based=False and labels_zero_based=True if only the features count from 1"
    else:
        advice = "zero_based=True or zero_based=False"
    return (
        f"{path}: has no first line 'rows features labels', and no 0 among the "
        f"{' and '.join(names[i] for i in unclear)}, which may count from 0 or from 1. Found {' and '.join(found)}. "
        f"Pass {advice}."
    )


def _svmlight_pieces(
    path: Path, headed: bool, bases: list[int], sizes: list[int], progress: bool
) -> Iterator[list[np.ndarray]]:
    """Arrays of whole rows: indptr, indices and data of X, indptr and indices of Y, counted from 0."""
    with open_text(path) as file:
        if headed:
            file.readline()
        for buffer, line in _chunks(path, file, progress, 1 + headed):
            *arrays, bad, beyond, number = _parse.svmlight(buffer, *bases, *sizes)
            if bad >= 0:
                expected = "'label,label feature:value ...'"
                if beyond:
                    expected = _svmlight_expected(beyond - 1, number, bases, sizes)
                _fail(path, line, buffer, bad, expected)
            yield arrays


def _svmlight_expected(i: int, number: int, bases: list[int], sizes: list[int]) -> str:
    """What was expected in place of feature (i = 0) or label (i = 1) ``number``, and what to do."""
    kind = ("features", "labels")[i]
    if bases[i] and number == 0:
        option = ("zero_based=True if they", "labels_zero_based=True if labels")[i]
        return f"{kind} from 1, not 0 (pass {option} count from 0)"
    if not sizes[i]:
        return f"no {kind}, as there are to be 0"
    expected = f"{kind} from {bases[i]} to {sizes[i] + bases[i] - 1}, not {number}"
    if not bases[i] and number == sizes[i]:
        only_labels = ", labels_zero_based=False if only the labels do" * i
        return f"{expected} (pass zero_based=False if the file counts from 1{only_labels})"
    return expected


# --- Parquet ----------------------------------------------------------------------------------------------------


def _convert_parquet(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "data", "Reading Parquet") from None
    try:
        file = pq.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise LatentiaError(f"{path}: not a readable Parquet file ({error}).") from error
    columns = [str(c) for c in options.get("columns") or file.schema_arrow.names]
    unknown = sorted(set(columns) - set(file.schema_arrow.names))
    if unknown:
        raise LatentiaError(f"{path}: no column {unknown[0]!r}. It has {', '.join(file.schema_arrow.names[:20])}.")
    for name in columns:
        kind = file.schema_arrow.field(name).type
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind)):
            raise LatentiaError(f"{path}: column {name!r} holds {kind}, and numbers are needed. Choose with columns=.")
    with CacheWriter(folder, [len(columns)], columns, source) as writer:
        for batch in file.iter_batches(columns=columns):
            table = [batch.column(i).cast("float64").to_numpy(zero_copy_only=False) for i in range(len(columns))]
            writer.append(np.column_stack(table))


_CONVERTERS: dict[str, Callable[[Path, Path, dict[str, Any], bool, dict[str, Any]], None]] = {
    "uci": _convert_uci,
    "matrixmarket": _convert_matrixmarket,
    "svmlight": _convert_svmlight,
    "parquet": _convert_parquet,
}
