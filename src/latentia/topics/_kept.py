"""Moments of documents in the columns of a random projection, which are kept and added to those of other documents.

The sketch Y = Q S of Algorithm 4.3 is a sum over documents, and S is drawn before any of them is read: sketches of batches add
up to that of all documents, of halves of them too. Of V words in k columns they take 16 V k bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from .. import _fields as of
from .._parameters import seed_of
from ..exceptions import LatentiaError
from ..fitting.additive import Additive
from ..moments.cooccurrence import WordCounts, WordSums
from ..moments.count_products import CountProducts
from ..passes import Blocks, Folds, accumulate
from ..words import texts_of
from ._corpus import in_own_order
from ._embedding import Embedding, random_columns

_LARGEST = 4 << 30  # bytes


@dataclass(frozen=True)
class CorpusSums:
    """Sums over the documents of two groups.

    Attributes
    ----------
    seed : int
        Of S.
    used, empty, short : ndarray of int, shape (2,)
        Documents with two words or more, with none, with fewer than two.
    scaled, paired : ndarray of shape (2, V)
        As of `latentia.moments.WordSums`.
    document_frequency, occurrences : ndarray of shape (V,)
        Used documents with the word, and how often it occurs in them.
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
    def of_blocks(cls, blocks: Blocks, folds: Folds, seed: int, n_jobs: int | None, progress: Any) -> CorpusSums:
        """One pass over the documents."""
        n_words = blocks.shapes[0][1]
        test = random_columns(n_words, seed)
        if (size := folds.n * test.nbytes) > _LARGEST:
            raise LatentiaError(
                f"The moments of {n_words} words would take {size / 2**30:.1f} GB: give fewer words, or fit without "
                "keep_moments."
            )
        statistics = (
            WordCounts(n_words, folds, blocks.names, exact=True),
            CountProducts(test, np.arange(n_words, dtype=np.int32), folds, exact=True),
        )
        words, products = accumulate(blocks, statistics, n_jobs, progress=progress and "counting words")
        own = {name: np.asarray(getattr(words, name), float) for name in _OF_WORDS}
        return cls(seed, **own, products=products)

    @property
    def n_rows(self) -> int:
        return round(float((self.used + self.short).sum()))

    @property
    def n_bytes(self) -> int:
        return self.products.nbytes + self.scaled.nbytes + self.paired.nbytes

    @property
    def words(self) -> WordSums:
        """The same as a first pass over all documents gives."""
        fractional = bool((self.occurrences != np.rint(self.occurrences)).any())
        return WordSums(**{name: getattr(self, name) for name in _OF_WORDS}, fractional=fractional)

    def plus(self, other: Self, sign: int = 1) -> Self:
        if self.seed != other.seed:
            raise LatentiaError("The models have drawn other columns: give both the same random_state.")
        total = {name: getattr(self, name) + sign * getattr(other, name) for name in (*_OF_WORDS, "products")}
        counts = ("used", "empty", "short", "document_frequency")
        if sign < 0 and any((total[name] < 0).any() for name in counts):
            raise LatentiaError("Documents are to be forgotten that are not all among those of the model.")
        if not (total["used"] + total["short"]).sum():
            raise LatentiaError("No document would be left.")
        return replace(self, **total)


_OF_WORDS = ("scaled", "paired", "used", "empty", "short", "document_frequency", "occurrences")


@dataclass(frozen=True)
class KeptSketches:
    """Sketches of groups of documents, of sums that were kept: as `latentia.topics._embedding.GroupSketches`.

    Attributes
    ----------
    kept : CorpusSums
    folds : Folds
    """

    kept: CorpusSums
    folds: Folds
    n_passes: ClassVar = 2
    q: ClassVar = None
    documents: ClassVar = None

    def embedding(self, groups: tuple[int, ...], n_components: int | None = None) -> Embedding:
        """The sketch of some groups together."""
        chosen, kept = list(groups), self.kept
        test, used = random_columns(kept.products.shape[1], kept.seed), max(float(kept.used[chosen].sum()), 1.0)
        product = kept.products[chosen].sum(axis=0) - kept.scaled[chosen].sum(axis=0)[:, None] * test
        return Embedding(product / used, test, kept.paired[chosen].sum(axis=0) / used)


class AddedDocuments(Additive):
    """Base of a topic model that can be learned from `CorpusSums`."""

    _groups = 2
    embedding: Any
    recover: Any

    def _read(self, X: Any, *, reset: bool = True) -> Blocks:
        texts = texts_of(X)
        if reset and texts is not None:
            X = self._learn_words(texts)  # type: ignore[attr-defined]
        return self._blocks(X, reset=reset)  # type: ignore[attr-defined,no-any-return]

    def _sums(self, rows: Blocks, folds: Folds, like: CorpusSums | None) -> CorpusSums:
        for name, needed in (("embedding", "projection"), ("recover", "l2")):
            if getattr(self, name) != needed:
                raise LatentiaError(
                    f"moments are kept with {name}={needed!r}: others are made of the documents, in several passes.",
                    parameter=name, value=getattr(self, name),
                )  # fmt: skip
        seed = seed_of(self.random_state) if like is None else like.seed  # type: ignore[attr-defined]
        return CorpusSums.of_blocks(rows, folds, seed, self.n_jobs, self.verbose)  # type: ignore[attr-defined]

    def _add_refinement_rows(self, moments: Any, rows: Blocks) -> Any:
        return self._with_refiner(replace(moments, order=in_own_order(rows)))
