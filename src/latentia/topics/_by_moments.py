"""What topic models by tensor decomposition share: passes, whitening, error bars, evidence.

Passes over the documents: word frequencies; two of subspace iteration for coordinates in which the sampling noise is even;
one for all moments in them, of four groups of documents. All else is algebra on arrays of K + 12 dimensions.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import check_splits, check_whole, seed_of
from ..evidence import (
    EVERYONE,
    HALVES,
    Check,
    Evidence,
    PartErrors,
    TensorMeasured,
    error_checks,
    errors_from_groups,
    separation_limit,
    tensor_checks,
    whitened_noise,
)
from ..exceptions import DroppedDataWarning, LatentiaError, NonIntegerCountWarning
from ..metrics import nearest_distances
from ..moments import Cooccurrence, DocumentMoments, WordMoments, leading_words
from ..passes import Blocks
from ..simplex import distributions
from ..tensor import WhitenedDecomposition, decompose_whitened
from ._documents import OfDocuments

__all__ = ["ByMoments", "Recovered"]

_OVERSAMPLE = 12
_TRUSTED = 0.4


@dataclass(frozen=True)
class Recovered:
    """Topics (K, V), their shares (K,), and the decomposition they come from."""

    topics: np.ndarray
    shares: np.ndarray
    fit: WhitenedDecomposition


class ByMoments(OfDocuments):
    """Base of topic models whose corrected moments are sums over topics."""

    n_components: int
    refine: int
    n_splits: int
    vocabulary: Any
    random_state: Any
    n_jobs: int | None
    verbose: bool

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn topics from counts.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_documents, V)
            Nonnegative counts of words in documents. Those of one word or none are left out, those of two count for pairs
            alone.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = self._blocks(X, reset=True)
        moments = self._moments(blocks)
        self._prepare(moments.of(EVERYONE))
        found = self._recover(moments.of(EVERYONE))
        topics, shares = self._refine(found.topics, found.shares, blocks)
        order = np.argsort(-shares, kind="stable")
        topics, shares = topics[order], shares[order]
        parts = self._part_errors(topics, moments, blocks)
        self._finish(topics, shares, moments.q.n_passes + self.refine)
        return self._weigh_evidence(found.fit, moments, parts)

    # --- stages -------------------------------------------------------------------------------------------------

    def _moments(self, blocks: Blocks) -> DocumentMoments:
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        q = Cooccurrence(blocks, n_groups=4, random_state=self._seed, **options)
        self._report_dropped(q, blocks.n_rows)
        self.word_probabilities_ = q.marginal()
        moments = DocumentMoments(q, leading_words(q, self.n_components + _OVERSAMPLE))
        triples = self._documents["triples"] = int(moments.documents.sum())
        if self.n_components > 1 and triples < 2 * self.n_components:
            raise LatentiaError(
                f"{triples} of {blocks.n_rows} documents have three words or more. n_components={self.n_components} needs "
                f"{2 * self.n_components} at the very least, and hundreds a topic for an answer that can be trusted."
            )
        return moments

    def _prepare(self, moments: WordMoments) -> None:
        """Settle what is chosen once, for all fits."""

    def _corrected(self, moments: WordMoments) -> WordMoments:
        """Moments that are sums over topics."""
        return moments

    def _recover(self, moments: WordMoments) -> Recovered:
        """Topics and their shares from moments: M_2 W v_k is sqrt(w_k) mu_k, and E[x]^T W v_k is sqrt(w_k)."""
        corrected = self._corrected(moments)
        fit = decompose_whitened(corrected.second, corrected.third, self.n_components, self._seed)
        directions = fit.whitening.matrix @ fit.vectors.T
        roots = np.maximum(corrected.first @ directions, 1e-6)
        return Recovered(distributions((corrected.sketch @ directions).T, moments.marginal), _shares(roots**2), fit)

    def _refine(self, topics: np.ndarray, shares: np.ndarray, blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _part_errors(self, topics: np.ndarray, moments: DocumentMoments, blocks: Blocks) -> PartErrors:
        """Distances of each topic to the nearest one of fits on parts of the documents."""

        def fit_half(groups: tuple[int, ...]) -> np.ndarray:
            found = self._recover(moments.of(groups))
            documents = blocks.group(frozenset(groups), 4, self._seed) if self.refine else blocks
            return self._refine(found.topics, found.shares, documents)[0]

        return errors_from_groups(
            fit_half, lambda half: nearest_distances(topics, half), self.n_splits, cheap=not self.refine, most=2.0
        )

    def _finish(self, topics: np.ndarray, shares: np.ndarray, n_passes: int) -> None:
        raise NotImplementedError

    def _weigh_evidence(self, fit: WhitenedDecomposition, moments: DocumentMoments, parts: PartErrors) -> Any:
        first, second = (self._corrected(moments.of(half)) for half in HALVES[0])
        measured = TensorMeasured(
            spectrum=fit.whitening.spectrum,
            weights=fit.weights,
            residual=fit.info.residual,
            stable=fit.info.stable,
            samples=int(moments.documents.sum()),
            noise=whitened_noise(fit.whitening.matrix, (first.second, first.third), (second.second, second.third)),
        )
        limit = separation_limit(self.components_, "cityblock", _TRUSTED)
        checks = error_checks(parts, limit, "mean |A_k - A'_k|_1", "in l1, of a possible 2", "topic")
        checks += [*tensor_checks(measured), *self._model_checks(), *self._dropped_checks()]
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    def _model_checks(self) -> list[Check]:
        return []

    # --- helpers ------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_whole(self, n_components=1, refine=0)
        check_splits(self, "documents")
        self._seed = seed_of(self.random_state)

    def _report_dropped(self, q: Cooccurrence, n_rows: int) -> None:
        sums = q.sums
        used = int(sums.used.sum())
        self._documents = {"used": used, "empty": int(sums.empty.sum()), "short": n_rows - used - int(sums.empty.sum())}
        words = int((sums.document_frequency > 0).sum())
        if not used:
            raise LatentiaError(
                f"None of the {n_rows} documents has two words or more ({self._documents['empty']} are empty): there is "
                "nothing to learn from. If they are texts, check the stop words and the vocabulary."
            )
        if self.n_components > min(used, words):
            raise LatentiaError(
                f"n_components={self.n_components} topics cannot be told apart in {used} documents with {words} words: lower "
                "n_components."
            )
        if sums.fractional:
            warnings.warn(
                "The counts are not whole numbers. They are used as they are; tf-idf weights do not follow the model.",
                NonIntegerCountWarning,
                stacklevel=4,
            )
        if used < n_rows:
            warnings.warn(
                f"{n_rows - used} of {n_rows} documents have fewer than two words ({self._documents['empty']} have none) and "
                "were left out.",
                DroppedDataWarning,
                stacklevel=4,
            )

    def _dropped_checks(self) -> list[Check]:
        left = self._documents["empty"] + self._documents["short"]
        meaning = (
            f"Of {self._documents['used'] + left}; the others have fewer than two words. {self._documents['triples']} have the "
            "three words that third moments need."
        )
        return [Check("documents used", "", float(self._documents["used"]), "", None, meaning, "section 7.3.1")]


def _shares(values: np.ndarray) -> np.ndarray:
    return values / values.sum()
