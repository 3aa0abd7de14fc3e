"""Pairs of neighbouring words of texts, counted."""

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

_LEAST = 5


def read_text_pairs(
    path: str | Path,
    *,
    window: int = 1,
    lines: bool = False,
    column: str | None = None,
    encoding: str | None = None,
    min_count: int = _LEAST,
    progress: bool = False,
) -> Pairs:
    """Count the pairs of words of a text that stand at most ``window`` words apart, the earlier word first.

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
        Leave out words that occur less often. They keep their places: with a window of 1 pairs do not reach over them.
    progress : bool, default=False
        Whether to show progress.

    Returns
    -------
    Pairs

    Raises
    ------
    LatentiaError
        If the file cannot be read as one of these formats. The message names the file, the line and the column.
    """
    if window < 1:
        raise LatentiaError("1 counts neighbouring words; give 1 or more.", parameter="window", value=window)
    with reusable(path) as source:
        texts = read_texts(source, column=column, encoding=encoding)
        together = source.is_file() and not has_columns(source)
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
        raise LatentiaError(f"no word occurs {min_count} times or more; lower the least count.", source=texts.source)
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
