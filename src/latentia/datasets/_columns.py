"""Choice of columns of tables of counts: without stop words, or the columns of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..moments.counts import as_counts, check_counts
from ..passes import Blocks, MappedBlocks
from ..words import WordVectorizer, stop_words


def find_stop_words(words: Sequence[str], vectorizer: WordVectorizer) -> np.ndarray:
    """Mark stop words, and pieces of those with an apostrophe, such as "don" and "dont"; bool.

    Words of two letters, which the vectorizer never counts, are marked too.
    """
    vocabulary = frozenset().union(*map(stop_words, vectorizer._codes()), vectorizer.get_stop_words() or ())
    stops = set(vocabulary)
    for word in vocabulary:
        head, apostrophe, tail = word.partition("'")
        if word.endswith("n't") and word != "won't":
            stops |= {head, head + tail, tail}
        elif apostrophe and len(tail) <= 2:
            stops.add(tail)
    return np.array([word.lower().replace("\u2019", "'") in stops for word in words], dtype=bool)


def find_rare_and_common(
    blocks: Blocks, vectorizer: WordVectorizer, names: Sequence[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Mark columns in fewer, and in more, documents than the vectorizer allows; bool, in one pass.

    With ``min_df=1`` columns without counts stay.
    """
    limits = vectorizer._frequencies(blocks.n_rows)
    low, high = (x * blocks.n_rows if isinstance(x, (float, np.floating)) else x for x in limits)
    width = blocks.shapes[0][1]
    if low <= 1 and high >= blocks.n_rows:
        return np.zeros(width, bool), np.zeros(width, bool)
    document_counts = np.zeros(width, np.int64)
    for block in blocks:
        counts = as_counts(block[0])
        check_counts(counts, block.rows, names)
        document_counts += np.bincount(counts.indices[counts.data != 0], minlength=width)
    return (document_counts < low if low > 1 else np.zeros(width, bool)), document_counts > high


def select_columns(blocks: Blocks, columns: np.ndarray, names: list[str] | None) -> Blocks:
    """Return blocks with some columns of the first part, in ascending order, cut when a block is read."""
    shapes = [(blocks.n_rows, len(columns))]
    return MappedBlocks(blocks, lambda block: [block[0][:, columns]], shapes, names)


def place_columns(blocks: Blocks, names: Sequence[str], words: Sequence[str]) -> Blocks | None:
    """Return blocks with the columns named ``words``, in their order; None if there are none. Other columns are dropped."""
    places = {str(word): place for place, word in enumerate(words)}
    cells = [(column, places[word]) for column, word in enumerate(names) if word in places]
    if not cells:
        return None
    shape = (blocks.shapes[0][1], len(words))
    chosen = sparse.csr_array((np.ones(len(cells), np.int32), tuple(np.transpose(cells))), shape=shape)
    shapes = [(blocks.n_rows, len(words))]
    return MappedBlocks(
        blocks, lambda block: [_sort_row_indices(block[0] @ chosen)], shapes, [str(word) for word in words]
    )


def _sort_row_indices(counts: Any) -> Any:
    """Sort the column indices of every row, as in a table of counted words."""
    if sparse.issparse(counts):
        counts.sort_indices()
    return counts
