"""What a fit keeps of its corpus: numbers of documents, a sample of them, and words, the rare ones merged into one."""

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
from ._ordering import OwnOrder, own_order
from ._refine import LARGE

_SAMPLE = 300  # documents


@dataclass(frozen=True)
class Documents:
    """Numbers of documents.

    Attributes
    ----------
    used, empty, short : int
        Documents with two words or more, with none, and with one.
    length : float
        Mean number of words of those used.
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
        """Whether each word has a column to itself, bool, shape (V,)."""
        return np.bincount(self.codes)[self.codes] == 1

    @property
    def own_columns(self) -> np.ndarray:
        """Column of every word, -1 for one that shares the runoff column or never occurs, shape (V,)."""
        return np.where(self.alone & (self.probabilities > 0), self.codes, -1)

    @property
    def n_unseen(self) -> int:
        """Words that never occur."""
        return int((self.document_frequency == 0).sum())

    @property
    def n_merged(self) -> int:
        """Words that occur and share the runoff column."""
        return int((~self.alone & (self.document_frequency > 0)).sum())

    @property
    def n_kept(self) -> int:
        """Words with a column to themselves, and those that never occur not counted."""
        return len(self.codes) - self.n_unseen - self.n_merged

    def restored(self, order: OwnOrder) -> Words:
        """The same by the columns of the data, of those by the columns of a table in another order."""
        return Words(*map(order.restored, (self.codes, self.document_frequency, self.probabilities)))

    def spread(self, topics: np.ndarray) -> np.ndarray:
        """Topics over all words, (K, V') to (K, V): the runoff word's share goes to its words by their frequency."""
        p = self.probabilities
        ascending = np.argsort(p, kind="stable")  # a sum that does not depend on where the words stand
        total = np.bincount(self.codes[ascending], p[ascending], topics.shape[1])[self.codes]
        share = np.where(self.alone, 1.0, p / np.where(total > 0, total, 1.0))
        return topics[:, self.codes] * share

    def merge(self, topics: np.ndarray) -> np.ndarray:
        """Topics over the columns of the co-occurrence matrix, (K, V) to (K, V')."""
        size = int(self.codes.max()) + 1
        return np.array([np.bincount(self.codes, row, size) for row in topics])


class DocumentSample:
    """Statistic: about 300 documents, spread evenly over at most eight of the blocks, as a list of tables.

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
        picked = np.unique(np.linspace(0, max(n - 1, 0), min(n, -(-_SAMPLE // len(self.chosen)))).astype(np.int64))
        indptr, indices, data = as_counts(table[picked])
        return [*state, sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, table.shape[1]))]

    def merge(self, first: list[sparse.csr_array], second: list[sparse.csr_array]) -> list[sparse.csr_array]:
        return first + second


def in_own_order(blocks: Blocks) -> OwnOrder:
    """Documents and words in canonical order, every count checked; as they are in large corpora."""

    def read(block: Block) -> sparse.csr_array:
        counts = as_counts(block[0])
        check_counts(counts, block.rows, blocks.names)
        return sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=block[0].shape)

    return own_order(blocks, read, LARGE)


def count_documents(sums: WordSums, n_rows: int) -> Documents:
    """How many of the documents can be used; an error if none can, and a warning of those that cannot."""
    used, empty, short = int(sums.used.sum()), int(sums.empty.sum()), int(sums.short.sum())
    if not used:
        raise LatentiaError(
            f"None of the {n_rows} documents has two words or more ({empty} are empty): there is nothing to learn from. "
            "If they are texts, check the stop words and the vocabulary."
        )
    if sums.fractional:
        warn(
            "The counts are not whole numbers. They are used as they are; tf-idf weights do not follow the model.",
            NonIntegerCountWarning,
        )
    if short:
        warn(
            f"{short} of {n_rows} documents have fewer than two words ({empty} have none) and were left out.",
            DroppedDataWarning,
        )
    return Documents(used, empty, short - empty, float(sums.occurrences.sum() / used))


def least_documents(n_documents: int) -> int:
    """In how many documents a word must be for what it occurs with to be known: one in 200, but at least 3 and at most 50."""
    return int(np.clip(n_documents // 200, 3, 50))


def check_n_topics(n_components: int, documents: Documents, n_words: int) -> None:
    """Raise for more topics than documents or words."""
    most = min(documents.used, n_words)
    if n_components > most:
        raise LatentiaError(
            f"{documents.used} documents with {n_words} words support at most {most} topics.",
            at_most=most, parameter="n_components", value=n_components,
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
