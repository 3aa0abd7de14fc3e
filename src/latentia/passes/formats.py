"""Text formats, read in pieces and converted to the binary cache.

UCI bag of words: three header lines (documents, words, entries), then ``document word count`` from 1.
MatrixMarket: coordinate integer, real or pattern, general; other kinds through SciPy.
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

Each error names the file and the line.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import numbers
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from scipy import io, sparse

from ..exceptions import LatentiaError, MissingExtraError
from . import _parse
from .cache import CacheWriter, read_cache, read_header

__all__ = ["CACHE_SUFFIX", "detect_format", "open_tables", "open_text"]

_CHUNK = 1 << 25
CACHE_SUFFIX = ".latentia-cache"
_MOST = 2**31 - 1
_FORMATS = ("uci", "matrixmarket", "svmlight", "parquet", "cache")


def open_tables(
    path: Path, format: str | None, cache: str | os.PathLike[str] | None, progress: bool, options: dict[str, Any]
) -> tuple[list[Any], list[str] | None]:
    """Tables and column names of a file, through its cache, which is written if absent or stale."""
    if not path.exists():
        raise LatentiaError(f"{path}: no such file.")
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
        with _readable(path):
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
        stat = file.stat() if file is not None else None
        facts[name] = [file.name, stat.st_size, stat.st_mtime_ns] if file is not None and stat is not None else None
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
    with _readable(path), open_text(path) as file:
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


def open_text(path: Path) -> BinaryIO:
    """Open a file for reading bytes, unpacking gzip."""
    file = open(path, "rb")  # noqa: SIM115
    if file.read(2) == b"\x1f\x8b":
        file.seek(0)
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    file.seek(0)
    return file


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of the file system and of gzip into messages that name the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LatentiaError(f"{path}: the compressed file is damaged or truncated ({error}).") from error
    except OSError as error:
        raise LatentiaError(f"{path}: cannot be read or converted ({error.strerror or error}).") from error


def _chunks(path: Path, file: BinaryIO, progress: bool) -> Iterator[tuple[np.ndarray, int]]:
    """Yield (bytes of whole lines, number of the first line); ``file`` may have been read some lines into."""
    line, rest = 1, b""
    with _byte_bar(path, progress) as advance:
        while chunk := file.read(_CHUNK):
            advance(file)
            chunk = rest + chunk
            cut = chunk.rfind(b"\n") + 1
            rest = chunk[cut:]
            if cut:
                piece = np.frombuffer(chunk, np.uint8, cut)
                yield piece, line
                line += int(np.count_nonzero(piece == 10))
        if rest:
            yield np.frombuffer(rest + b"\n", np.uint8), line


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
        yield lambda file: bar.update(task, completed=getattr(file, "fileobj", file).tell())


def _fail(path: Path, line: int, buffer: np.ndarray, number: int, expected: str) -> NoReturn:
    """Raise for line ``number`` (from 0) of a chunk whose first line is ``line``."""
    text = bytes(buffer).split(b"\n")[number][:80].decode("utf-8", "replace")
    raise LatentiaError(f"{path}, line {line + number}: expected {expected}, found {text!r}.")


# --- UCI and MatrixMarket: triples ------------------------------------------------------------------------------


class _Triples:
    """The (row, column, value) lines of a file, checked against its header and yielded in chunks."""

    def __init__(self, path: Path, skip: int, shape: tuple[int, int], nnz: int, width: int, whole: bool) -> None:
        self.path, self.skip, self.shape, self.nnz, self.width, self.whole = path, skip, shape, nnz, width, whole
        names = ("document word count" if whole else "row column value").split()[:width]
        number = ", a whole count from 0 to 2147483647" if whole else ", a finite number"
        self.expected = (
            f"'{' '.join(names)}' with row 1 to {shape[0]} and column 1 to {shape[1]}{number[: 99 * (width > 2)]}"
        )

    def chunks(self, progress: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        found = 0
        with open_text(self.path) as file:
            for _ in range(self.skip):
                file.readline()
            for buffer, line in _chunks(self.path, file, progress):
                first = line + self.skip
                largest = float(_MOST) if self.whole else np.inf
                rows, columns, values, bad = _parse.triples(buffer, self.width, *self.shape, self.whole, largest)
                if bad >= 0:
                    _fail(self.path, first, buffer, bad, self.expected)
                found += len(rows)
                if found > self.nnz:
                    raise LatentiaError(f"{self.path}: the header promises {self.nnz} entries, and there are more.")
                yield rows, columns, values.astype(np.int64) if self.whole else values
        if found != self.nnz:
            raise LatentiaError(
                f"{self.path}: the header promises {self.nnz} entries and {found} were found: truncated?"
            )


def _convert_uci(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    with open_text(path) as file:
        header = [file.readline().strip() for _ in range(3)]
    for number, text in enumerate(header, 1):
        if not text.isdigit():
            raise LatentiaError(
                f"{path}, line {number}: expected the number of {('documents', 'words', 'entries')[number - 1]}, "
                f"found {text[:80].decode('utf-8', 'replace')!r}."
            )
    n_rows, n_columns, nnz = (_header_number(path, text) for text in header)
    _convert_triples(_Triples(path, 3, (n_rows, n_columns), nnz, 3, True), folder, source, progress)


def _header_number(path: Path, text: bytes) -> int:
    if len(text) > 18 or int(text) > 64 * _MOST:
        raise LatentiaError(f"{path}: the header says {text[:30].decode()}, which no table can have.")
    return int(text)


def _convert_matrixmarket(
    path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]
) -> None:
    with open_text(path) as file:
        kind = file.readline().lower().split()
        skip, line = 2, file.readline()
        while line.startswith(b"%") or not line.strip():
            if not line:
                raise LatentiaError(f"{path}: ends before the line with its size.")
            skip, line = skip + 1, file.readline()
    if len(kind) != 5 or kind[3] == b"complex":
        raise LatentiaError(f"{path}, line 1: expected '%%MatrixMarket matrix coordinate integer general' or alike.")
    streamed = kind[2:3] == [b"coordinate"] and kind[3] in (b"integer", b"real", b"pattern") and kind[4] == b"general"
    if not streamed:
        try:
            table = io.mmread(path)
        except Exception as error:
            raise LatentiaError(f"{path}: not a readable MatrixMarket file ({error}).") from error
        with CacheWriter(folder, [table.shape[1]], source=source) as writer:
            writer.append(sparse.csr_array(table) if sparse.issparse(table) else table)
        return
    size = line.split()
    if len(size) != 3 or not all(part.isdigit() for part in size):
        raise LatentiaError(
            f"{path}, line {skip}: expected 'rows columns entries', found {line[:80].decode('utf-8', 'replace')!r}."
        )
    n_rows, n_columns, nnz = (_header_number(path, text) for text in size)
    width = 2 if kind[3] == b"pattern" else 3
    _convert_triples(_Triples(path, skip, (n_rows, n_columns), nnz, width, False), folder, source, progress)


def _convert_triples(triples: _Triples, folder: Path, source: dict[str, Any], progress: bool) -> None:
    """Write triples as CSR: streamed if they come row by row, else counted first and then put in place."""
    if max(triples.shape) > _MOST:
        raise LatentiaError(
            f"{triples.path}: {triples.shape[0]} x {triples.shape[1]} is more than 2147483647 either way."
        )
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
    n_rows, n_columns = triples.shape
    done = 0
    held: list[np.ndarray] = [np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)]
    for chunk in triples.chunks(progress):
        rows, columns, values = (np.concatenate(pair) for pair in zip(held, chunk, strict=True))
        if (np.diff(rows) < 0).any() or (len(rows) and rows[0] < done):
            yield None
            return
        last = rows[-1] if len(rows) else done
        cut = int(np.searchsorted(rows, last))
        yield _csr(rows[:cut] - done, columns[:cut], values[:cut], (last - done, n_columns))
        held, done = [rows[cut:], columns[cut:], values[cut:]], int(last)
    yield _csr(held[0] - done, held[1], held[2], (n_rows - done, n_columns))


def _csr(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    csr = sparse.csr_array((values, (rows, columns)), shape=shape)
    return _compact(csr)


def _compact(csr: sparse.csr_array) -> sparse.csr_array:
    """Sum entries of one cell, drop zeros, and store whole numbers in 32 bits where they fit in all pieces' sum."""
    csr.sum_duplicates()
    csr.eliminate_zeros()
    if csr.dtype.kind == "i":
        if csr.nnz and csr.data.max() > _MOST:
            raise LatentiaError("A word occurs more than 2147483647 times in one document: the counts cannot be right.")
        csr = csr.astype(np.int32)
    return csr


def _scattered(triples: _Triples, progress: bool) -> sparse.csr_array:
    """CSR of triples in any order: one pass counts the rows' entries, the next puts them in place."""
    counts = np.zeros(triples.shape[0], np.int64)
    for rows, _, _ in triples.chunks(progress):
        counts += np.bincount(rows, minlength=len(counts))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices, data = np.empty(triples.nnz, np.int32), np.empty(triples.nnz, np.int64 if triples.whole else np.float64)
    place = indptr[:-1].copy()
    for rows, columns, values in triples.chunks(progress):
        _parse.scatter(rows, columns, values, place, indices, data)
    csr = sparse.csr_array((data, indices, indptr), shape=triples.shape)
    return _compact(csr)


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


# --- svmlight multi-label ---------------------------------------------------------------------------------------


def _convert_svmlight(
    path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]
) -> None:
    """Two tables, X and Y."""
    _check_svmlight_options(path, options)
    with open_text(path) as file:
        first = file.readline().split()
    header = [_header_number(path, n) for n in first] if len(first) == 3 and all(n.isdigit() for n in first) else None
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
        for buffer, line in _chunks(path, file, progress):
            *arrays, bad, beyond, number = _parse.svmlight(buffer, *bases, *sizes)
            if bad >= 0:
                expected = "'label,label feature:value ...'"
                if beyond:
                    expected = _svmlight_expected(beyond - 1, number, bases, sizes)
                _fail(path, line + headed, buffer, bad, expected)
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
