"""Pairs of words counted from files: lists of pairs, tables of counts, and neighbouring words of texts."""

from __future__ import annotations

import array
import contextlib
import csv
import functools
import io
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from scipy import sparse

from .._progress import progress_bar
from ..exceptions import LatentiaError
from ..moments import count_pairs, symmetric_counts
from ..passes import Blocks
from ..passes.formats import bytes_read, open_text, readable, reusable
from .readers import read_lines, read_texts

__all__ = ["Pairs", "read_pairs", "read_text_pairs"]

_CHUNK = 1 << 18
_MOST_EXACT = 2**40  # counts above are added as floats
_LEAST_OF_TEXTS = 5


@dataclass(frozen=True)
class Pairs:
    """Pairs as counts.

    Attributes
    ----------
    counts : csr_array of shape (M, M)
        How often each pair occurs.
    words : list of str of length M
    source : str
        Where they came from.
    left_out : int
        Words that occur too rarely to be among these.
    """

    counts: sparse.csr_array
    words: list[str]
    source: str
    left_out: int = 0


def read_pairs(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    vocabulary: str | Path | None = None,
    min_count: int = 1,
    progress: bool = False,
) -> Pairs:
    """Read pairs that were counted or listed before.

    Parameters
    ----------
    path : path
        A MatrixMarket file with a square table; a ``.npy`` file of two or three columns of whole numbers, words from 0; a CSV
        or TSV file with headings; or a text with two words a line, separated by blanks. A third column says how often a
        pair occurs. ``.gz`` is read as it is. A pipe is read to its end; ``-`` is standard input.
    columns : sequence of str, optional
        Of a CSV or TSV file the two columns of words and the one of counts, if there is one; by default the first two, and
        the third.
    vocabulary : path, optional
        A file with a word a line, for files that hold numbers.
    min_count : int
        Leave out words that are in fewer pairs.
    """
    with reusable(path) as source:
        return _read_pairs(source, columns, vocabulary, min_count, progress)


def _read_pairs(
    source: Path, columns: Sequence[str] | None, vocabulary: str | Path | None, min_count: int, progress: bool
) -> Pairs:
    if source.is_dir():
        raise LatentiaError(f"{source}: a folder, and a file of pairs is needed. For folders of texts give a window.")
    if not source.exists():
        raise LatentiaError(f"{source}: no such file.")
    name = source.name.removesuffix(".gz").lower()
    if columns is not None and not name.endswith((".csv", ".tsv")):
        raise LatentiaError(f"{source}: the file has no named columns; leave {', '.join(columns)} out.")
    if name.endswith(".mtx"):
        counts = _square(source)
        words = _numbered(counts.shape[0], 1)
    elif name.endswith(".npy"):
        counts = count_pairs(source, progress=progress and "counting pairs")
        words = _numbered(counts.shape[0], 0)
    else:
        if vocabulary is not None:
            raise LatentiaError(f"{source}: a list of pairs brings its own words; leave the vocabulary out.")
        return _kept(*_from_lines(source, columns, progress), source.name, min_count)
    if vocabulary is not None:
        words = read_lines(Path(vocabulary))
        if len(words) != counts.shape[0]:
            raise LatentiaError(
                f"{vocabulary}: {len(words)} words, and {source} has {counts.shape[0]}: they must agree."
            )
    return _kept(counts, words, source.name, min_count)


def read_text_pairs(
    path: str | Path,
    *,
    window: int = 1,
    lines: bool = False,
    column: str | None = None,
    min_count: int = _LEAST_OF_TEXTS,
    progress: bool = False,
) -> Pairs:
    """Count the pairs of words of a text that stand at most ``window`` words apart, the earlier word first.

    Words are letters in lower case, with apostrophes inside. Pairs reach over ends of lines, but not from one text to the
    next.

    Parameters
    ----------
    path : path
        A text file, a folder of them, or a CSV or TSV file with a text a row. A pipe is read to its end; ``-`` is standard
        input.
    window : int
        1 counts neighbours only.
    lines : bool
        Every line is a text of its own.
    column : str, optional
        Text column of a CSV file; by default one named text, or the only one.
    min_count : int
        Leave out words that occur less often. They keep their places: with a window of 1 pairs do not reach over them.
    """
    if window < 1:
        raise LatentiaError(f"window={window}: 1 counts neighbouring words; give 1 or more.")
    with reusable(path) as source:
        texts = read_texts(source, column=column)
        together = source.is_file() and not source.name.removesuffix(".gz").lower().endswith((".csv", ".tsv"))
    documents: Iterable[str] = texts.texts
    if lines:
        documents = [line for text in texts.texts for line in text.splitlines()]
    elif together:
        documents = ["\n".join(texts.texts)]
    codes, ends, words = _coded(documents, progress)
    seen = np.bincount(codes, minlength=len(words))
    order = np.argsort(-seen, kind="stable")
    kept = order[seen[order] >= min_count]
    if not len(kept):
        raise LatentiaError(f"{texts.source}: no word occurs {min_count} times or more; lower the least count.")
    numbers = np.full(len(words), -1, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    codes, text = numbers[codes], np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    counts = sparse.csr_array((len(kept), len(kept)), dtype=np.int32)
    for lag in range(1, window + 1):
        first, second = codes[:-lag], codes[lag:]
        near = (first >= 0) & (second >= 0) & (text[:-lag] == text[lag:])
        cells = (np.ones(int(near.sum()), np.int32), (first[near], second[near]))
        counts = counts + sparse.csr_array(sparse.coo_array(cells, shape=counts.shape))
    return Pairs(counts, [words[i] for i in kept], texts.source, len(words) - len(kept))


@functools.cache
def _word() -> re.Pattern[str]:
    """Letters with their marks, and apostrophes between them."""
    marks = "".join(chr(i) for i in range(0x300, 0xFFFF) if unicodedata.category(chr(i)).startswith("M"))
    letters = rf"[^\W\d_](?:[^\W\d_]|[{marks}])*"
    return re.compile(rf"{letters}(?:['\u2019]{letters})*")


def _coded(documents: Iterable[str], progress: bool) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Numbers of all words of all documents, where each document ends, and the words in the order of their first use."""
    numbers: dict[str, int] = {}
    word, codes, ends = _word(), array.array("i"), []
    documents = list(documents)
    with progress_bar(progress and "reading", len(documents), "texts") as advance:
        for document in documents:
            text = unicodedata.normalize("NFC", document.lower())
            codes.extend(numbers.setdefault(found, len(numbers)) for found in word.findall(text))
            ends.append(len(codes))
            advance(1)
    return np.frombuffer(codes, dtype=np.int32) if len(codes) else np.empty(0, np.int32), np.array(ends), list(numbers)


# --- tables and lists -------------------------------------------------------------------------------------------


def _square(path: Path) -> sparse.csr_array:
    table = sparse.csr_array(Blocks.from_files(path).table())
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"{path}: {table.shape[0]} rows and {table.shape[1]} columns. Counts of pairs are a square table, with the same "
            "words in rows and columns."
        )
    return table


def _numbered(size: int, first: int) -> list[str]:
    return [str(i) for i in range(first, size + first)]


def _from_lines(path: Path, columns: Sequence[str] | None, progress: bool) -> tuple[sparse.csr_array, list[str]]:
    """Counts and words of a list of pairs; the words in the order of their numbers, or else of their first use."""
    numbers: dict[str, int] = {}
    counts = sparse.csr_array((1, 1), dtype=np.int64)
    size = path.stat().st_size
    with _opened(path) as (file, place), progress_bar(progress and "counting pairs", size, "bytes") as advance:
        rows, done = _rows(path, file, columns), 0
        while chunk := list(itertools.islice(rows, _CHUNK)):
            codes = [(numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers))) for a, b, _ in chunk]
            first, second = np.array(codes).T
            times = np.array([n for _, _, n in chunk])
            shape = (len(numbers), len(numbers))
            counts.resize(shape)
            counts = counts + sparse.csr_array(sparse.coo_array((times, (first, second)), shape=shape))
            advance(place() - done)
            done = place()
    words = list(numbers)
    if not words:
        raise LatentiaError(f"{path}: there are no pairs in the file.")
    if all(word.isdecimal() for word in words):
        order = np.argsort([int(word) for word in words], kind="stable")
        counts, words = counts[order][:, order], [words[i] for i in order]
    return counts, words


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[str], Callable[[], int]]]:
    """The lines of a text, unpacked, and how many bytes of the file were read; errors name the file."""
    try:
        with readable(path):
            binary = open_text(path)
            with io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text:
                yield text, functools.partial(bytes_read, binary)
    except UnicodeDecodeError:
        _undecodable(path)


def _undecodable(path: Path) -> NoReturn:
    """Raise for the first line that is not UTF-8."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise LatentiaError(
                    f"{path}, line {number}: not UTF-8 text (byte {line[error.start]:#x}). Save it as UTF-8."
                ) from error
    raise LatentiaError(f"{path}: not UTF-8 text. Save it as UTF-8.")


def _rows(path: Path, file: IO[str], columns: Sequence[str] | None) -> Iterator[tuple[str, str, float | int]]:
    """Two words and how often they occur together, of every line."""
    name = path.name.removesuffix(".gz").lower()
    rows: Iterator[tuple[int, list[str]]] = enumerate((line.split() for line in file), 1)
    places: Sequence[int] | None = None
    if name.endswith((".csv", ".tsv")):
        rows = _csv_rows(path, file, "," if name.endswith(".csv") else "\t")
        places = _places(path, [cell.strip() for cell in next(rows, (1, []))[1]], columns)
    for number, row in rows:
        if not row or (places is None and (row[0] in ("#", "%") or row[0].startswith("%%"))):
            continue  # empty, or a comment
        cells = row if places is None else [row[i].strip() for i in places if i < len(row)]
        if (places is not None and len(cells) < len(places)) or not 2 <= len(cells) <= 3:
            raise LatentiaError(
                f"{path}, line {number}: {len(row)} columns, and a pair is two words and, if wanted, how often. "
                "For running text count neighbouring words with --bigrams."
            )
        if not (cells[0] and cells[1]):
            raise LatentiaError(
                f"{path}, line {number}: an empty cell where a word is needed. Fill it in or leave the line out."
            )
        yield cells[0], cells[1], _times(path, number, cells[2]) if len(cells) == 3 else 1


def _csv_rows(path: Path, file: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows, each with the line where it begins."""
    reader, first = csv.reader(file, delimiter=delimiter), 1
    try:
        for row in reader:
            yield first, row
            first = reader.line_num + 1
    except csv.Error as error:
        raise LatentiaError(f"{path}, line {first}: not readable as CSV ({error}). Is a quote not closed?") from error


def _places(path: Path, header: list[str], columns: Sequence[str] | None) -> list[int]:
    if header and all(_is_number(cell) for cell in header):
        raise LatentiaError(
            f"{path}: the first line, {', '.join(header[:3])}, holds numbers where headings are expected. Put a line of "
            "headings above it, such as from,to."
        )
    if columns is None:
        if len(header) < 2:
            raise LatentiaError(
                f"{path}: {len(header)} columns, and two of words are needed. Name a file .csv if commas separate its "
                "columns, and .tsv if tabs do."
            )
        return list(range(min(len(header), 3)))
    for column in columns:
        if column not in header:
            raise LatentiaError(f"{path}: no column {column!r}. There are {', '.join(header)}.")
    if len(columns) not in (2, 3):
        raise LatentiaError(f"{len(columns)} columns are named: two of words, and one of counts if there is one.")
    return [header.index(column) for column in columns]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _times(path: Path, line: int, cell: str) -> float | int:
    value = float(cell) if _is_number(cell) else float("nan")
    if not 0 <= value < float("inf"):
        raise LatentiaError(
            f"{path}, line {line}: {cell!r} is no count; the third column says how often a pair occurs."
        )
    return int(value) if value.is_integer() and value < _MOST_EXACT else value


def _kept(counts: Any, words: list[str], source: str, min_count: int) -> Pairs:
    """Without words that are in too few pairs, or in none."""
    table = sparse.csr_array(counts)
    seen = np.asarray(symmetric_counts(table)[0].sum(axis=0)).ravel()
    kept = np.flatnonzero(seen >= min_count if min_count > 1 else seen > 0)
    if not len(kept):
        less = f"is in {min_count} pairs or more; lower the least count" if min_count > 1 else "is in a pair"
        raise LatentiaError(f"{source}: no word {less}.")
    if len(kept) < len(words):
        table, words = table[kept][:, kept], [words[i] for i in kept]
    return Pairs(table, words, source, len(seen) - len(kept))
