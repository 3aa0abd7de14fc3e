"""Documents and words of a corpus: their numbers, a sample of documents, and the merging of rare words into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..exceptions import DroppedDataWarning, LatentiaError, NonIntegerCountWarning, warn
from ..moments import Cooccurrence
from ..moments.cooccurrence import WordSums
from ..moments.counts import as_counts, check_counts
from ..passes import Block, Blocks
from ._ordering import CanonicalOrder, canonical_order
from ._refine import LARGE

_SAMPLE_SIZE = 300  # Documents in the sample.


@dataclass(frozen=True)
class Documents:
    """Numbers of documents.

    Attributes
    ----------
    used, empty, short : int
        Documents with two words or more, with none, and with one.
    length : float
        Mean number of words of the used documents.
    """

    used: Annotated[int, of.count()] = 0
    empty: Annotated[int, of.count()] = 0
    short: Annotated[int, of.count()] = 0
    length: Annotated[float, of.number(0.0)] = 2.0


@dataclass(frozen=True)
class Words:
    """Words of a corpus, and the column that each has in the co-occurrence matrix.

    Attributes
    ----------
    codes : ndarray of int, shape (V,)
        Column of every word. Rare words may share the last one, as the runoff word of Lemma 3.16.
    document_frequency : ndarray of shape (V,)
    probabilities : ndarray of shape (V,)
        Frequencies, documents weighing equally.
    """

    codes: Annotated[np.ndarray, of.places("V", below="W")]
    document_frequency: Annotated[np.ndarray, of.Field("V", low=0.0, finite=False)]
    probabilities: Annotated[np.ndarray, of.shares("V")]

    @property
    def alone(self) -> np.ndarray:
        """Boolean mask of the words with a column to themselves, shape (V,)."""
        return np.bincount(self.codes)[self.codes] == 1

    @property
    def exclusive_columns(self) -> np.ndarray:
        """Column of every word, shape (V,); -1 for a word that shares the runoff column or never occurs."""
        return np.where(self.alone & (self.probabilities > 0), self.codes, -1)

    @property
    def n_unseen(self) -> int:
        """Number of words that never occur."""
        return int((self.document_frequency == 0).sum())

    @property
    def n_merged(self) -> int:
        """Number of words that occur and share the runoff column."""
        return int((~self.alone & (self.document_frequency > 0)).sum())

    @property
    def n_kept(self) -> int:
        """Number of words that occur and have a column to themselves."""
        return len(self.codes) - self.n_unseen - self.n_merged

    def restore(self, order: CanonicalOrder) -> Words:
        """Return these words, of a table in canonical order, by the columns of the data."""
        return Words(*map(order.restore, (self.codes, self.document_frequency, self.probabilities)))

    def spread(self, topics: np.ndarray) -> np.ndarray:
        """Spread topics over all words, (K, V') to (K, V): words share the runoff column by their frequencies."""
        p = self.probabilities
        ascending = np.argsort(p, kind="stable")  # The sum does not depend on the order of the words.
        total = np.bincount(self.codes[ascending], p[ascending], topics.shape[1])[self.codes]
        share = np.where(self.alone, 1.0, p / np.where(total > 0, total, 1.0))
        return topics[:, self.codes] * share

    def merge(self, topics: np.ndarray) -> np.ndarray:
        """Sum topics over the words of each column of the co-occurrence matrix, (K, V) to (K, V')."""
        size = int(self.codes.max()) + 1
        return np.array([np.bincount(self.codes, row, size) for row in topics])


class DocumentSample:
    """Statistic that samples about 300 documents, spread evenly over at most eight blocks, as a list of tables.

    Parameters
    ----------
    n_blocks : int
    """

    def __init__(self, n_blocks: int) -> None:
        self.chosen = np.unique(np.linspace(0, n_blocks - 1, min(8, n_blocks)).astype(int))

    def zero(self) -> list[sparse.csr_array]:
        return []

    def add(self, state: list[sparse.csr_array], block: Block) -> list[sparse.csr_array]:
        if block.number not in self.chosen:
            return state
        table, n = block[0], block[0].shape[0]
        picked = np.unique(np.linspace(0, max(n - 1, 0), min(n, -(-_SAMPLE_SIZE // len(self.chosen)))).astype(np.int64))
        indptr, indices, data = as_counts(table[picked])
        return [*state, sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, table.shape[1]))]

    def merge(self, first: list[sparse.csr_array], second: list[sparse.csr_array]) -> list[sparse.csr_array]:
        return first + second


def order_documents(blocks: Blocks) -> CanonicalOrder:
    """Check every count, and put documents and words into canonical order; large corpora keep their order."""

    def read_counts(block: Block) -> sparse.csr_array:
        counts = as_counts(block[0])
        check_counts(counts, block.rows, blocks.names)
        return sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=block[0].shape)

    return canonical_order(blocks, read_counts, LARGE)


def count_documents(sums: WordSums, n_rows: int) -> Documents:
    """Count the documents; raise an error if none can be used, and warn of those that cannot."""
    n_used, n_empty, n_short = int(sums.used.sum()), int(sums.empty.sum()), int(sums.short.sum())
    if not n_used:
        raise LatentiaError(
            f"Expected documents of two words or more; none of the {n_rows} has two ({n_empty} are empty). If they are texts, "
            "check the stop words and the vocabulary."
        )
    if sums.fractional:
        warn(
            "The counts are not whole numbers. They are used as they are; tf-idf weights do not follow the model.",
            NonIntegerCountWarning,
        )
    if n_short:
        warn(
            f"{n_short} of {n_rows} documents have fewer than two words ({n_empty} have none) and were left out.",
            DroppedDataWarning,
        )
    return Documents(n_used, n_empty, n_short - n_empty, float(sums.occurrences.sum() / n_used))


def min_documents_of_word(n_documents: int) -> int:
    """Return in how many documents a word must occur to be an anchor: one in 200, but at least 3 and at most 50."""
    return int(np.clip(n_documents // 200, 3, 50))


def check_n_topics(n_components: int, documents: Documents, n_words: int) -> None:
    """Raise an error for more topics than documents or words."""
    max_topics = min(documents.used, n_words)
    if n_components > max_topics:
        raise LatentiaError(
            f"{documents.used} documents with {n_words} words support at most {max_topics} topics.",
            at_most=max_topics, parameter="n_components", value=n_components,
        )  # fmt: skip


def merge_rare_words(q: Cooccurrence, runoff_df: int) -> Words:
    """Give words in fewer than ``runoff_df`` documents one common column of Q, the last (Lemma 3.16)."""
    probabilities, frequency = q.marginal(), q.sums.document_frequency
    rare = frequency < runoff_df
    if rare.sum() < 2 or rare.all():
        return Words(np.arange(len(frequency)), frequency, probabilities)
    codes = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
    q.merge_words(codes)
    return Words(codes, frequency, probabilities)
