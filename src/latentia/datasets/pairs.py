"""Counts of pairs of words from files: lists of pairs, and tables of counts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..moments import count_pairs, symmetric_counts
from ..passes.formats import no_encoding, plain_name, reusable
from ..reading import has_columns
from ._edges import ListKind, read_named_matrix, read_numbered_rows, read_square, sort_by_number
from .texts import read_lines

_PAIRS = ListKind(
    things="pairs",
    end="word",
    ends="words",
    number="count",
    numbers="counts",
    meaning="the third column counts the pair",
    row="a pair is two words and optionally a count. For running text give a window, within which words are paired.",
    table="A table of counts of pairs",
    is_comment=lambda word: word in ("#", "%") or word.startswith("%%"),
    allows=lambda times: 0 <= times < float("inf"),
)


@dataclass(frozen=True)
class Pairs:
    """Counts of pairs.

    Attributes
    ----------
    counts : csr_array of shape (M, M)
        Count of each pair.
    words : list of str of length M
    source : str
        Name of the file.
    left_out : int
        Number of words that are too rare.
    """

    counts: sparse.csr_array
    words: list[str]
    source: str
    left_out: int = 0


@dataclass(frozen=True)
class KnownPairs:
    """Different pairs of words that a model knows.

    Attributes
    ----------
    first, second : ndarrays of shape (n_pairs,)
        Numbers of the words in the model.
    times : ndarray of shape (n_pairs,)
        Count of each pair.
    n_ignored : int
        Number of other pairs.
    n_unknown : int
        Number of words that the model does not know.
    """

    first: np.ndarray
    second: np.ndarray
    times: np.ndarray
    n_ignored: int
    n_unknown: int


def match_pairs(pairs: Pairs, words: Sequence[object]) -> KnownPairs:
    """Return the pairs whose words a model knows, for `ProbabilityMatrix.entries`.

    Parameters
    ----------
    pairs : Pairs
    words : sequence
        The model's words in their order, such as its ``vocabulary``, or their numbers.

    Returns
    -------
    KnownPairs

    Raises
    ------
    LatentiaError
        If the model has none of the pairs.

    Examples
    --------
    >>> from scipy import sparse
    >>> from latentia.datasets import Pairs, match_pairs
    >>> pairs = Pairs(sparse.csr_array([[0, 2, 1], [0, 0, 0], [0, 0, 0]]), ["cat", "sat", "mew"], "a text")
    >>> found = match_pairs(pairs, ["sat", "cat"])
    >>> found.first.tolist(), found.second.tolist(), found.times.tolist(), found.n_ignored
    ([1], [0], [2], 1)
    """
    numbers = {str(word): i for i, word in enumerate(words)}
    places = np.array([numbers.get(word, -1) for word in pairs.words])
    cells = pairs.counts.tocoo()
    first, second = (places[part] for part in cells.coords)
    is_known = (first >= 0) & (second >= 0)
    if not is_known.any():
        raise LatentiaError(
            "the model knows none of its pairs. Was it learned from words of another kind?", source=pairs.source
        )
    times, n_unknown = cells.data[is_known], int((places < 0).sum())
    return KnownPairs(first[is_known], second[is_known], times, int((~is_known).sum()), n_unknown)


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
    """Read a list of pairs, or a table of their counts.

    Parameters
    ----------
    path : path
        A MatrixMarket file with a square table; a ``.npy`` file of two or three columns of whole numbers, words from 0; a CSV
        or TSV file or Excel workbook with headings; or a text with two words a line, separated by blanks. A third column
        holds counts. ``.gz`` is read as it is. A pipe is read to its end; ``-`` is standard input.
    columns : sequence of str, optional
        The two columns of words and optionally the one of counts, of a table with headings; by default the first three.
    vocabulary : path, optional
        A file with a word a line, for files that hold numbers.
    min_count : int
        Leave out words that are in fewer pairs.
    cache : path or bool, optional
        Folder for the binary cache of a MatrixMarket file; by default beside it. False keeps none.
    encoding : str, optional
        Encoding of a CSV file, a text or a vocabulary, see `read_texts`.
    progress : bool, default=False
        True shows progress.

    Returns
    -------
    Pairs

    Raises
    ------
    LatentiaError
        If the file cannot be read as one of these formats. The message names the file, the line and the column.
    """
    with reusable(path) as source:
        file_cache = cache if source == Path(path) else False
        return _read_pairs(source, columns, vocabulary, min_count, file_cache, encoding, progress)


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
        raise LatentiaError(
            "expected a file of pairs, found a folder. For folders of texts give a window.", source=source
        )
    if not source.exists():
        raise LatentiaError("no such file.", source=source)
    name = plain_name(source)
    if encoding is not None and vocabulary is None and name.endswith((".mtx", ".npy", ".xlsx")):
        raise no_encoding(source, encoding)
    if columns is not None and not has_columns(source):
        raise LatentiaError(f"the file has no named columns; leave {', '.join(columns)} out.", source=source)
    if name.endswith(".mtx"):
        counts = read_square(source, cache, _PAIRS)
        words: Sequence[Any] = range(1, counts.shape[0] + 1)
    elif name.endswith(".npy"):
        counts = count_pairs(source, progress=progress and "counting pairs")
        words = range(counts.shape[0])
    else:
        if vocabulary is not None:
            raise LatentiaError("a list of pairs contains its words; leave the vocabulary out.", source=source)
        matrix = read_named_matrix(source, columns, encoding, _PAIRS)
        return _drop_rare_words(*(matrix or _read_list(source, columns, encoding, progress)), source.name, min_count)
    if vocabulary is not None:
        words = read_lines(Path(vocabulary), encoding)
        if len(words) != counts.shape[0]:
            raise LatentiaError(
                f"{vocabulary}: expected {counts.shape[0]} words, as many as in {source}; found {len(words)}."
            )
    return _drop_rare_words(counts, words, source.name, min_count)


# --- tables and lists -------------------------------------------------------------------------------------------


def _read_list(
    path: Path, columns: Sequence[str] | None, encoding: str | None, progress: bool
) -> tuple[sparse.csr_array, list[str]]:
    """Return counts and words of a list of pairs; words in numerical order, or else in the order of their first use."""
    numbers: dict[str, int] = {}
    counts = sparse.csr_array((1, 1), dtype=np.int64)
    for codes, times in read_numbered_rows(path, _PAIRS, numbers, columns, encoding, progress and "counting pairs"):
        shape = (len(numbers), len(numbers))
        counts.resize(shape)
        counts = counts + sparse.csr_array(sparse.coo_array((times, (codes[:, 0], codes[:, 1])), shape=shape))
    words = list(numbers)
    order = sort_by_number(words)
    if order is not None:
        counts, words = counts[order][:, order], [words[i] for i in order]
    return counts, words


def _drop_rare_words(counts: Any, words: Sequence[Any], source: str, min_count: int) -> Pairs:
    """Drop words that are in too few pairs, or in none."""
    table = sparse.csr_array(counts)
    occurrences = np.asarray(symmetric_counts(table)[0].sum(axis=0)).ravel()
    frequent = np.flatnonzero(occurrences >= min_count if min_count > 1 else occurrences > 0)
    if not len(frequent):
        condition = f"is in {min_count} pairs or more; lower the minimum count" if min_count > 1 else "is in a pair"
        raise LatentiaError(f"no word {condition}.", source=source)
    if len(frequent) < len(words):
        table = table[frequent][:, frequent]
    return Pairs(table, [str(words[int(i)]) for i in frequent], source, len(occurrences) - len(frequent))
