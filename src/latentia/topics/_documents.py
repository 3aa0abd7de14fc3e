"""Models of documents: reading counts, and the use of topics whose proportions are Dirichlet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._base import Estimator, check_size, fitted
from .._parameters import seed_of
from .._validation import check_vocabulary, column_names, table_blocks
from ..likelihood import Refine, WordSampler, fold_in
from ..metrics import completion_log_likelihood
from ..moments.counts import as_counts, check_counts
from ..passes import Blocks
from ._refine import smoothed

__all__ = ["SMOOTHING", "Admixture", "OfDocuments"]

SMOOTHING = 0.05  # share of the word frequencies in topics that a likelihood is taken of


class OfDocuments(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of models fitted on counts of words, with a parameter ``vocabulary``."""

    _nouns: ClassVar = ("topic", "topics", "documents")
    vocabulary: Any
    refine: Refine
    n_jobs: int | None
    _column_names: Any

    def _blocks(self, X: Any, reset: bool) -> Blocks:
        """Check the input and cut it into blocks; remember its width and column names when ``reset``."""
        blocks = table_blocks(self, X, reset=reset, what="words", min_columns=2)
        if reset:
            check_vocabulary(self)
        return blocks

    def _tables(self, X: Any) -> Iterator[Any]:
        """Checked tables of new documents, one block at a time."""
        names = column_names(self)
        for block in self._blocks(X, reset=False):
            check_counts(as_counts(block[0]), block.rows, names)
            yield block[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


class Admixture(OfDocuments):
    """Documents that mix topics: ``components_`` with proportions under ``dirichlet_``."""

    components_: np.ndarray
    prevalence_: np.ndarray
    dirichlet_: np.ndarray
    word_frequencies_: np.ndarray

    def _shares(self) -> np.ndarray | None:
        return self.prevalence_

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return the topic proportions of every document, shape (n_documents, K).

        Rows sum to one. An empty document gets the mean of the prior.
        """
        return np.vstack([fold_in(table, *self._model(), n_jobs=self.n_jobs) for table in self._tables(X)])

    @fitted
    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability in nats of a word of one half of a document given the other half.

        Higher is better.
        """
        return completion_log_likelihood(*self._model(), self._tables(X), n_jobs=self.n_jobs)

    def perplexity(self, X: Any) -> float:
        """Return the document-completion perplexity exp(-score): as uncertain as a uniform choice of that many words."""
        return float(np.exp(-self.score(X)))

    @fitted
    def sample(
        self, n_documents: int = 100, length: int = 100, random_state: Any = 0
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Draw documents from the fitted model.

        Parameters
        ----------
        n_documents : int
        length : int
            Number of words of every document.
        random_state : int, RandomState, Generator or None

        Returns
        -------
        counts : csr_array of shape (n_documents, V)
        proportions : ndarray of shape (n_documents, K)
        """
        n_documents, length = check_size(n_documents, "n_documents"), check_size(length, "length")
        check_size(n_documents * length, "n_documents * length")
        rng = np.random.default_rng(seed_of(random_state))
        proportions = rng.dirichlet(self.dirichlet_, size=n_documents)
        return WordSampler(self.components_)(rng.multinomial(length, proportions), rng), proportions

    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        return smoothed(self.components_, self.word_frequencies_, SMOOTHING), self.dirichlet_
