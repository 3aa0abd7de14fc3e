"""Sufficient statistics of documents in the columns of a random projection, which can be added across data sets.

The sketch Y = Q S of Algorithm 4.3 is a sum over documents, and S is drawn before any of them is read. So sketches of batches
add up to the sketch of all documents, and those of halves to the sketches of halves. V words in k columns take 16 V k bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import _fields as of
from .._parameters import seed_of
from ..exceptions import LatentiaError
from ..fitting.additive import Additive
from ..fitting.stages import Moments, Parameters
from ..moments.cooccurrence import WordCounts, WordSums
from ..moments.count_products import CountProducts
from ..passes import Blocks, Folds, accumulate
from ..words import texts_of
from ._corpus import order_documents
from ._embedding import Embedding, random_columns

_MAX_BYTES = 4 << 30  # A larger sketch is refused.


@dataclass(frozen=True)
class CorpusSums:
    """Sums over the documents of two folds.

    Attributes
    ----------
    seed : int
        Seed of S.
    used, empty, short : ndarray of int, shape (2,)
        Documents with two words or more, with none, with fewer than two.
    scaled, paired : ndarray of shape (2, V)
        As in `latentia.moments.WordSums`.
    document_frequency, occurrences : ndarray of shape (V,)
        Number of used documents with the word, and of its occurrences in them.
    products : ndarray of shape (2, V, k)
        Sum of c_d s_d (c_d^T S), s_d = 1 / (n_d (n_d - 1)).
    """

    seed: Annotated[int, of.count()]
    used: Annotated[np.ndarray, of.numbers("*", 0.0)]
    empty: Annotated[np.ndarray, of.numbers("*", 0.0)]
    short: Annotated[np.ndarray, of.numbers("*", 0.0)]
    scaled: Annotated[np.ndarray, of.numbers("* V")]
    paired: Annotated[np.ndarray, of.numbers("* V")]
    document_frequency: Annotated[np.ndarray, of.numbers("V", 0.0)]
    occurrences: Annotated[np.ndarray, of.numbers("V")]
    products: Annotated[np.ndarray, of.numbers("...")]

    @classmethod
    def from_blocks(cls, blocks: Blocks, folds: Folds, seed: int, n_jobs: int | None, progress: Any) -> CorpusSums:
        """Sum over the documents in one pass."""
        n_words = blocks.shapes[0][1]
        test = random_columns(n_words, seed)
        if (size := folds.n * test.nbytes) > _MAX_BYTES:
            raise LatentiaError(
                f"The moments of {n_words} words would take {size / 2**30:.1f} GB. Give fewer words, or fit without "
                "keep_moments."
            )
        statistics = (
            WordCounts(n_words, folds, blocks.names, exact=True),
            CountProducts(test, np.arange(n_words, dtype=np.int32), folds, exact=True),
        )
        words, products = accumulate(blocks, statistics, n_jobs, progress=progress and "counting words")
        word_sums = {name: np.asarray(getattr(words, name), float) for name in _WORD_SUMS}
        return cls(seed, **word_sums, products=products)

    @property
    def n_rows(self) -> int:
        return round(float((self.used + self.short).sum()))

    @property
    def n_bytes(self) -> int:
        return self.products.nbytes + self.scaled.nbytes + self.paired.nbytes

    @property
    def words(self) -> WordSums:
        """Sums over words, as the first pass over all documents gives them."""
        fractional = bool((self.occurrences != np.rint(self.occurrences)).any())
        return WordSums(**{name: getattr(self, name) for name in _WORD_SUMS}, fractional=fractional)

    def plus(self, other: Self, sign: int = 1) -> Self:
        if self.seed != other.seed:
            raise LatentiaError("The models drew different columns. Give both the same random_state.")
        total = {name: getattr(self, name) + sign * getattr(other, name) for name in (*_WORD_SUMS, "products")}
        counts = ("used", "empty", "short", "document_frequency")
        if sign < 0 and any((total[name] < 0).any() for name in counts):
            raise LatentiaError("Some of these documents were never added to the model.")
        if not (total["used"] + total["short"]).sum():
            raise LatentiaError("No document would remain. Keep at least one document of two words.")
        return replace(self, **total)


_WORD_SUMS = ("scaled", "paired", "used", "empty", "short", "document_frequency", "occurrences")


@dataclass(frozen=True)
class SumSketches:
    """Sketches of groups of documents from stored sums: as `latentia.topics._embedding.GroupSketches`.

    Attributes
    ----------
    sums : CorpusSums
    folds : Folds
    """

    sums: CorpusSums
    folds: Folds
    n_passes: ClassVar = 2
    documents: ClassVar = None

    def embedding(self, groups: tuple[int, ...], n_components: int | None = None) -> Embedding:
        """Combine the sketches of some groups."""
        group_list, sums = list(groups), self.sums
        test, n_used = random_columns(sums.products.shape[1], sums.seed), max(float(sums.used[group_list].sum()), 1.0)
        product = sums.products[group_list].sum(axis=0) - sums.scaled[group_list].sum(axis=0)[:, None] * test
        return Embedding(product / n_used, test, sums.paired[group_list].sum(axis=0) / n_used)


class AdditiveTopics(Additive[Moments, Parameters]):
    """Base of a topic model that can be learned from `CorpusSums`."""

    _groups = 2
    embedding: Any

    def _read(self, X: Any, *, reset: bool = True) -> Blocks:
        texts = texts_of(X)
        if reset and texts is not None:
            X = self._learn_words(texts)  # type: ignore[attr-defined]
        return self._blocks(X, reset=reset)  # type: ignore[attr-defined,no-any-return]

    def _sums(self, rows: Blocks, folds: Folds, like: CorpusSums | None) -> CorpusSums:
        if self.embedding != "projection":
            raise LatentiaError(
                "kept moments need embedding='projection': other embeddings read the documents several times.",
                parameter="embedding", value=self.embedding,
            )  # fmt: skip
        seed = seed_of(self.random_state) if like is None else like.seed  # type: ignore[attr-defined]
        return CorpusSums.from_blocks(rows, folds, seed, self.n_jobs, self.verbose)  # type: ignore[attr-defined]

    def _add_refinement_rows(self, moments: Any, rows: Blocks) -> Any:
        return self._add_refiner(replace(moments, order=order_documents(rows)))
