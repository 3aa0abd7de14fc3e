"""Columns of tables of counts, chosen as the tables are read: without stop words, or those of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..moments.counts import as_counts, check_counts
from ..passes import Blocks, MappedBlocks
from ..words import WordVectorizer, stop_words


def is_stop_word(words: Sequence[str], vectorizer: WordVectorizer) -> np.ndarray:
    """Which words are stop words, or what other rules leave of those with an apostrophe: "don" and "dont"; bool.

    Words of two letters, which the vectorizer never counts, are among them.
    """
    listed = frozenset().union(*map(stop_words, vectorizer._codes()), vectorizer.get_stop_words() or ())
    stops = set(listed)
    for word in listed:
        head, apostrophe, tail = word.partition("'")
        if word.endswith("n't") and word != "won't":
            stops |= {head, head + tail, tail}
        elif apostrophe and len(tail) <= 2:
            stops.add(tail)
    return np.array([word.lower().replace("\u2019", "'") in stops for word in words], dtype=bool)


def rare_and_common(
    blocks: Blocks, vectorizer: WordVectorizer, names: Sequence[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Which columns are in fewer documents than the vectorizer asks for, and which in more; bool, by one pass.

    ``min_df=1`` asks for nothing: columns without counts stay.
    """
    limits = vectorizer._frequencies(blocks.n_rows)
    least, most = (x * blocks.n_rows if isinstance(x, (float, np.floating)) else x for x in limits)
    width = blocks.shapes[0][1]
    if least <= 1 and most >= blocks.n_rows:
        return np.zeros(width, bool), np.zeros(width, bool)
    seen = np.zeros(width, np.int64)
    for block in blocks:
        counts = as_counts(block[0])
        check_counts(counts, block.rows, names)
        seen += np.bincount(counts.indices[counts.data != 0], minlength=width)
    return (seen < least if least > 1 else np.zeros(width, bool)), seen > most


def selected_columns(blocks: Blocks, columns: np.ndarray, names: list[str] | None) -> Blocks:
    """Some columns of the first part, in ascending order, cut from each block as it is read."""
    shapes = [(blocks.n_rows, len(columns))]
    return MappedBlocks(blocks, lambda block: [block[0][:, columns]], shapes, names)


def placed_columns(blocks: Blocks, found: Sequence[str], words: Sequence[str]) -> Blocks | None:
    """The columns that are called as ``words`` are, in their order; None if there are none. Others are left out."""
    places = {str(word): place for place, word in enumerate(words)}
    cells = [(column, places[word]) for column, word in enumerate(found) if word in places]
    if not cells:
        return None
    shape = (blocks.shapes[0][1], len(words))
    chosen = sparse.csr_array((np.ones(len(cells), np.int32), tuple(np.transpose(cells))), shape=shape)
    shapes = [(blocks.n_rows, len(words))]
    return MappedBlocks(blocks, lambda block: [_sorted(block[0] @ chosen)], shapes, [str(word) for word in words])


def _sorted(counts: Any) -> Any:
    """The columns of every row in order, as a table that was counted has them."""
    if sparse.issparse(counts):
        counts.sort_indices()
    return counts
