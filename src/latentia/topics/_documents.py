"""Models of documents: reading counts, and the use of topics whose proportions are Dirichlet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._validation import check_vocabulary, table_blocks
from ..metrics import completion_log_likelihood
from ..moments import WordSampler, fold_in
from ..moments.counts import as_counts, check_counts
from ..passes import Blocks
from ._refine import smoothed

__all__ = ["SMOOTHING", "Admixture", "OfDocuments"]

SMOOTHING = 0.05  # share of the word frequencies in topics that a likelihood is taken of


class OfDocuments(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of models fitted on counts of words, with a parameter ``vocabulary``."""

    vocabulary: Any
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
        check_is_fitted(self)
        for block in self._blocks(X, reset=False):
            check_counts(as_counts(block[0]), block.rows, self._names())
            yield block[0]

    def _names(self) -> Any:
        return self.vocabulary if self.vocabulary is not None else self._column_names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


class Admixture(OfDocuments):
    """Documents that mix topics: ``components_`` with proportions under ``dirichlet_``."""

    components_: np.ndarray
    dirichlet_: np.ndarray
    word_probabilities_: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Topic proportions of documents, shape (n_documents, K); rows sum to one, for an empty document the prior."""
        check_is_fitted(self)
        return np.vstack([fold_in(table, *self._model(), n_jobs=self.n_jobs) for table in self._tables(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability, in nats, of a word of one half of a document given the other half. Higher is better."""
        check_is_fitted(self)
        return completion_log_likelihood(*self._model(), self._tables(X), n_jobs=self.n_jobs)

    def perplexity(self, X: Any) -> float:
        """Document-completion perplexity, exp(-score): as uncertain as a uniform choice among that many words."""
        return float(np.exp(-self.score(X)))

    def sample(
        self, n_documents: int = 100, length: int = 100, random_state: int = 0
    ) -> tuple[sparse.csr_array, np.ndarray]:
        """Draw documents from the fitted model.

        Returns
        -------
        counts : csr_array of shape (n_documents, V)
        proportions : ndarray of shape (n_documents, K)
        """
        check_is_fitted(self)
        rng = np.random.default_rng(random_state)
        proportions = rng.dirichlet(self.dirichlet_, size=n_documents)
        return WordSampler(self.components_)(rng.multinomial(length, proportions), rng), proportions

    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        return smoothed(self.components_, self.word_probabilities_, SMOOTHING), self.dirichlet_
