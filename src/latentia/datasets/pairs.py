"""Pairs of words counted from files: lists of pairs, and tables of counts."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._progress import progress_bar
from ..exceptions import LatentiaError
from ..moments import count_pairs, symmetric_counts
from ..passes import Blocks
from ..passes.formats import bytes_read, no_encoding, open_unicode, plain_name, reusable
from ._csv import csv_rows, find_separator, has_columns, is_csv
from ._excel import is_excel, sheet_rows
from .texts import read_lines

__all__ = ["Pairs", "read_pairs"]

_CHUNK = 1 << 18
_MOST_EXACT = 2**40  # counts above are added as floats


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
    cache: str | os.PathLike[str] | bool | None = None,
    encoding: str | None = None,
    progress: bool = False,
) -> Pairs:
    """Read pairs that were counted or listed before.

    Parameters
    ----------
    path : path
        A MatrixMarket file with a square table; a ``.npy`` file of two or three columns of whole numbers, words from 0; a CSV
        or TSV file or Excel workbook with headings; or a text with two words a line, separated by blanks. A third column says
        how often a pair occurs. ``.gz`` is read as it is. A pipe is read to its end; ``-`` is standard input.
    columns : sequence of str, optional
        Of a table with headings the two columns of words and the one of counts, if there is one; by default the first two, and
        the third.
    vocabulary : path, optional
        A file with a word a line, for files that hold numbers.
    min_count : int
        Leave out words that are in fewer pairs.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.
    encoding : str, optional
        Of a CSV file, a text or a vocabulary, see `read_texts`.
    """
    with reusable(path) as source:
        kept = cache if source == Path(path) else False
        return _read_pairs(source, columns, vocabulary, min_count, kept, encoding, progress)


def _read_pairs(
    source: Path,
    columns: Sequence[str] | None,
    vocabulary: str | Path | None,
    min_count: int,
    cache: str | os.PathLike[str] | bool | None,
    encoding: str | None,
    progress: bool,
) -> Pairs:
    if source.is_dir():
        raise LatentiaError(f"{source}: a folder, and a file of pairs is needed. For folders of texts give a window.")
    if not source.exists():
        raise LatentiaError(f"{source}: no such file.")
    name = plain_name(source)
    if encoding is not None and vocabulary is None and name.endswith((".mtx", ".npy", ".xlsx")):
        raise no_encoding(source, encoding)
    if columns is not None and not has_columns(source):
        raise LatentiaError(f"{source}: the file has no named columns; leave {', '.join(columns)} out.")
    if name.endswith(".mtx"):
        counts = _square(source, cache)
        words: Sequence[Any] = range(1, counts.shape[0] + 1)
    elif name.endswith(".npy"):
        counts = count_pairs(source, progress=progress and "counting pairs")
        words = range(counts.shape[0])
    else:
        if vocabulary is not None:
            raise LatentiaError(f"{source}: a list of pairs brings its own words; leave the vocabulary out.")
        return _kept(*_from_lines(source, columns, encoding, progress), source.name, min_count)
    if vocabulary is not None:
        words = read_lines(Path(vocabulary), encoding)
        if len(words) != counts.shape[0]:
            raise LatentiaError(
                f"{vocabulary}: {len(words)} words, and {source} has {counts.shape[0]}: they must agree."
            )
    return _kept(counts, words, source.name, min_count)


# --- tables and lists -------------------------------------------------------------------------------------------


def _square(path: Path, cache: str | os.PathLike[str] | bool | None) -> sparse.csr_array:
    table = sparse.csr_array(Blocks.from_files(path, cache=cache).table())
    if table.shape[0] != table.shape[1]:
        raise LatentiaError(
            f"{path}: {table.shape[0]} rows and {table.shape[1]} columns. Counts of pairs are a square table, with the same "
            "words in rows and columns."
        )
    return table


def _from_lines(
    path: Path, columns: Sequence[str] | None, encoding: str | None, progress: bool
) -> tuple[sparse.csr_array, list[str]]:
    """Counts and words of a list of pairs; the words in the order of their numbers, or else of their first use."""
    numbers: dict[str, int] = {}
    counts = sparse.csr_array((1, 1), dtype=np.int64)
    size, label = path.stat().st_size, progress and "counting pairs"
    with _open(path, columns, encoding) as (rows, read), progress_bar(label, size, "bytes") as advance:
        done = 0
        while chunk := list(itertools.islice(rows, _CHUNK)):
            codes = [(numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers))) for a, b, _ in chunk]
            first, second = np.array(codes).T
            times = np.array([n for _, _, n in chunk])
            shape = (len(numbers), len(numbers))
            counts.resize(shape)
            counts = counts + sparse.csr_array(sparse.coo_array((times, (first, second)), shape=shape))
            advance(read() - done)
            done = read()
    words = list(numbers)
    if not words:
        raise LatentiaError(f"{path}: there are no pairs in the file.")
    if all(word.isdecimal() for word in words):
        order = np.argsort([int(word) for word in words], kind="stable")
        counts, words = counts[order][:, order], [words[i] for i in order]
    return counts, words


_NumberedRows = Iterator[tuple[int, list[str]]]


@contextlib.contextmanager
def _open(
    path: Path, columns: Sequence[str] | None, encoding: str | None
) -> Iterator[tuple[Iterator[tuple[str, str, float | int]], Callable[[], int]]]:
    """Pairs of a table with headings or of a text, and a function that says how many bytes of the file were read."""
    if is_excel(path):
        sheet = iter(sheet_rows(path))
        yield _rows(path, "row", sheet, _headed(path, sheet, columns)), lambda: path.stat().st_size
        return
    with open_unicode(path, encoding=encoding) as file:
        lines: _NumberedRows = enumerate((line.split() for line in file), 1)
        places = None
        if is_csv(path):
            lines = csv_rows(path, file, find_separator(path, file), even=False)
            places = _headed(path, lines, columns)
        yield _rows(path, "line", lines, places), lambda: bytes_read(file)


def _headed(path: Path, rows: _NumberedRows, columns: Sequence[str] | None) -> Sequence[int]:
    """Places of the columns; the headings are the first row."""
    return _places(path, [cell.strip() for cell in next(rows, (1, []))[1]], columns)


def _rows(
    path: Path, unit: str, rows: _NumberedRows, places: Sequence[int] | None
) -> Iterator[tuple[str, str, float | int]]:
    """Two words and how often they occur together, of every row."""
    for number, row in rows:
        if not row or (places is None and (row[0] in ("#", "%") or row[0].startswith("%%"))):
            continue  # empty, or a comment
        cells = row if places is None else [row[i].strip() for i in places if i < len(row)]
        if (places is not None and len(cells) < len(places)) or not 2 <= len(cells) <= 3:
            raise LatentiaError(
                f"{path}, {unit} {number}: {len(row)} columns, and a pair is two words and, if wanted, how often. "
                "For running text give a window, within which words are paired."
            )
        if not (cells[0] and cells[1]):
            raise LatentiaError(
                f"{path}, {unit} {number}: an empty cell where a word is needed. Fill it in or leave the {unit} out."
            )
        yield cells[0], cells[1], _times(f"{path}, {unit} {number}", cells[2]) if len(cells) == 3 else 1


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


def _times(place: str, cell: str) -> float | int:
    value = float(cell) if _is_number(cell) else float("nan")
    if not 0 <= value < float("inf"):
        raise LatentiaError(f"{place}: {cell!r} is no count; the third column says how often a pair occurs.")
    return int(value) if value.is_integer() and value < _MOST_EXACT else value


def _kept(counts: Any, words: Sequence[Any], source: str, min_count: int) -> Pairs:
    """Without words that are in too few pairs, or in none."""
    table = sparse.csr_array(counts)
    seen = np.asarray(symmetric_counts(table)[0].sum(axis=0)).ravel()
    kept = np.flatnonzero(seen >= min_count if min_count > 1 else seen > 0)
    if not len(kept):
        less = f"is in {min_count} pairs or more; lower the least count" if min_count > 1 else "is in a pair"
        raise LatentiaError(f"{source}: no word {less}.")
    if len(kept) < len(words):
        table = table[kept][:, kept]
    return Pairs(table, [str(words[int(i)]) for i in kept], source, len(seen) - len(kept))
