"""Counts of pairs of neighbouring words of texts."""

from __future__ import annotations

import array
import functools
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes.formats import reusable
from ..reading import has_columns
from ..system.progress import progress_bar
from .pairs import Pairs
from .texts import read_texts

_MIN_COUNT = 5  # occurrences of a word; rarer ones are left out


def read_text_pairs(
    path: str | Path,
    *,
    window: int = 1,
    lines: bool = False,
    column: str | None = None,
    encoding: str | None = None,
    min_count: int = _MIN_COUNT,
    progress: bool = False,
) -> Pairs:
    """Count the pairs of words of a text at a distance of at most ``window`` words, the earlier word first.

    Words are letters in lower case, with apostrophes inside. Pairs reach across line breaks, but not from one text to the
    next.

    Parameters
    ----------
    path : path
        A text file, a folder of them, or a CSV or TSV file or Excel workbook with a text a row. A pipe is read to its end;
        ``-`` is standard input.
    window : int
        1 counts neighbours only.
    lines : bool
        Every line is a text of its own.
    column : str, optional
        Text column of a CSV file; by default one named text, or the only one.
    encoding : str, optional
        See `read_texts`.
    min_count : int
        Leave out rarer words. They still count for distances: with a window of 1 pairs do not reach over them.
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
    if window < 1:
        raise LatentiaError("expected 1, for neighbouring words, or more.", parameter="window", value=window)
    with reusable(path) as source:
        texts = read_texts(source, column=column, encoding=encoding)
        is_one_text = source.is_file() and not has_columns(source)
    documents: Iterable[str] = texts.texts
    if lines:
        documents = [line for text in texts.texts for line in text.splitlines()]
    elif is_one_text:
        documents = ["\n".join(texts.texts)]
    codes, ends, words = _code_words(documents, progress)
    occurrences = np.bincount(codes, minlength=len(words))
    order = np.argsort(-occurrences, kind="stable")
    frequent = order[occurrences[order] >= min_count]
    if not len(frequent):
        raise LatentiaError(f"no word occurs {min_count} times or more; lower the minimum count.", source=texts.source)
    numbers = np.full(len(words), -1, np.int32)
    numbers[frequent] = np.arange(len(frequent), dtype=np.int32)
    codes, text = numbers[codes], np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    counts = sparse.csr_array((len(frequent), len(frequent)), dtype=np.int32)
    for lag in range(1, window + 1):
        first, second = codes[:-lag], codes[lag:]
        near = (first >= 0) & (second >= 0) & (text[:-lag] == text[lag:])
        cells = (np.ones(int(near.sum()), np.int32), (first[near], second[near]))
        counts = counts + sparse.csr_array(sparse.coo_array(cells, shape=counts.shape))
    return Pairs(counts, [words[i] for i in frequent], texts.source, len(words) - len(frequent))


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word: letters with their marks, and apostrophes between them."""
    marks = "".join(chr(i) for i in range(0x300, 0xFFFF) if unicodedata.category(chr(i)).startswith("M"))
    letters = rf"[^\W\d_](?:[^\W\d_]|[{marks}])*"
    return re.compile(rf"{letters}(?:['\u2019]{letters})*")


def _code_words(documents: Iterable[str], progress: bool) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return numbers of all words of all documents, the end of each document, and the words in order of their first use."""
    numbers: dict[str, int] = {}
    word, codes, ends = _word_pattern(), array.array("i"), []
    documents = list(documents)
    with progress_bar(progress and "reading", len(documents), "texts") as advance:
        for document in documents:
            text = unicodedata.normalize("NFC", document.lower())
            codes.extend(numbers.setdefault(token, len(numbers)) for token in word.findall(text))
            ends.append(len(codes))
            advance(1)
    return np.frombuffer(codes, dtype=np.int32) if len(codes) else np.empty(0, np.int32), np.array(ends), list(numbers)
