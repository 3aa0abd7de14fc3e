"""Parts of the topic models by tensor decomposition: passes over the documents, recovery, and checks.

The passes are one for word frequencies, two of subspace iteration for coordinates in which the sampling noise is even, and one
for the moments of four groups of documents in these coordinates. The rest is algebra in K + 12 dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..evidence import (
    Check,
    Misfit,
    PartErrors,
    TensorMeasured,
    WhitenedMoments,
    misfit_of_tensor,
    missing_spectrum_share,
    separation_limit,
    tensor_checks,
    whiten_noise,
)
from ..evidence.limits import MAX_L1_ERROR
from ..exceptions import LatentiaError
from ..likelihood import Refined
from ..metrics import nearest_distances
from ..moments import Cooccurrence, DocumentMoments, HiddenMoments, WordMoments, leading_words
from ..passes import Blocks, Folds
from ..simplex import distributions
from ..tensor import WhitenedDecomposition, apply_to_modes, decompose_whitened
from ..tensor.operators import symmetrise_modes
from ._corpus import Documents, check_n_topics, count_documents, min_documents_of_word
from ._cross_validation import cross_validate_spectrum
from ._evidence import topic_error_checks

ROUGH_TOLERANCE = 1e-5  # For decompositions of subsets of the documents, whose noise is far larger.
_OVERSAMPLE = 12  # Dimensions beyond the number of topics.
ALPHA0 = (0.01, 100.0)  # The search for alpha_0 has these ends,
_N_GRID = 13  # and this many first values.
_MAX_MISFIT_RATIO = 2.5  # Noise alone seldom exceeds this ratio, even if topics are few and three splits measure it.
_MERGED_MISFIT = 0.35  # Misfit of an unexplained direction that is as strong as those of the topics.


class TopicShares(NamedTuple):
    """Topics (K, V) and the share of each in the corpus (K,)."""

    topics: np.ndarray
    shares: np.ndarray

    def sorted(self) -> TopicShares:
        """Sort the topics by their shares, the largest first."""
        order = np.argsort(-self.shares, kind="stable")
        return TopicShares(self.topics[order], self.shares[order])


@dataclass(frozen=True)
class CorpusMoments:
    """Moments of words for groups of documents, with counts of documents and words.

    Attributes
    ----------
    moments : DocumentMoments
    documents : Documents
    word_probabilities : ndarray of shape (V,)
        Frequencies of the words, documents weighing equally.
    """

    moments: DocumentMoments
    documents: Documents
    word_probabilities: np.ndarray

    @property
    def folds(self) -> Folds:
        return self.moments.q.folds

    @property
    def n_passes(self) -> int:
        return self.moments.q.n_passes

    @property
    def n_triples(self) -> int:
        """Number of documents of three words or more."""
        return int(self.moments.documents.sum())

    def combine(self, groups: tuple[int, ...]) -> WordMoments:
        """Return the moments of some groups together."""
        return self.moments.of(groups)

    @cached_property
    def cross_validated(self) -> np.ndarray:
        """Eigenvalues of the pairs of words in half of the documents, measured in the other half."""
        q, width = self.moments.q, self.moments.coordinates.shape[1]
        frequent = q.sums.document_frequency >= min_documents_of_word(self.documents.used)
        return cross_validate_spectrum(q.blocks, self.folds, frequent, self.documents.length, width)

    def spectrum(self, fit: WhitenedDecomposition, edge: float) -> np.ndarray:
        """Return the eigenvalues of the pairs of words; those beyond the topics are at most their cross-validated values."""
        spectrum, k = fit.whitening.spectrum, len(fit.weights)
        if (spectrum > edge).sum() <= k:
            return spectrum
        return np.append(spectrum[:k], np.minimum(spectrum[k:], self.cross_validated[k : len(spectrum)]))


@dataclass(frozen=True)
class HiddenCorpus:
    """Moments of the word probabilities of documents whose words were not observed, in the place of `CorpusMoments`."""

    moments: HiddenMoments

    @property
    def folds(self) -> Folds:
        return self.moments.folds

    @property
    def n_passes(self) -> int:
        return 0

    @property
    def n_triples(self) -> int:
        return self.moments.all_rows.n

    @cached_property
    def word_probabilities(self) -> np.ndarray:
        """Mean probabilities, shape (V,)."""
        return np.asarray(distributions(self.moments.mean[None], np.full(len(self.moments.mean), 1e-12))[0])

    @property
    def documents(self) -> Documents:
        return Documents(used=self.n_triples)

    def combine(self, groups: tuple[int, ...]) -> WordMoments:
        """Return the moments about zero of some groups together, in all words."""
        cumulants = self.moments.of(groups)
        assert cumulants.third is not None
        m, covariance = cumulants.mean, cumulants.covariance
        second = covariance + np.outer(m, m)
        third = cumulants.third + 3 * symmetrise_modes(covariance[:, :, None] * m) + m[:, None, None] * m[:, None] * m
        return WordMoments(m, second, m, second, third)

    def spectrum(self, fit: WhitenedDecomposition, edge: float) -> np.ndarray:
        """Return the eigenvalues of the pairs of words."""
        return fit.whitening.spectrum


@dataclass(frozen=True)
class Recovered:
    """Topics, their shares, and the decomposition that they come from."""

    parameters: TopicShares
    fit: WhitenedDecomposition


def compute_moments(
    blocks: Blocks, n_components: int, folds: Folds, *, n_jobs: int | None, progress: bool
) -> CorpusMoments:
    """Compute the moments of the words of four groups of documents, in four passes."""
    q = Cooccurrence(blocks, folds=folds, n_jobs=n_jobs, progress=progress)
    documents = count_documents(q.sums, blocks.n_rows)
    check_n_topics(n_components, documents, int((q.sums.document_frequency > 0).sum()))
    moments = DocumentMoments(q, leading_words(q, n_components + _OVERSAMPLE))
    corpus = CorpusMoments(moments, documents, q.marginal())
    if n_components > 1 and corpus.n_triples < 2 * n_components:
        raise LatentiaError(
            f"{corpus.n_triples} of {blocks.n_rows} documents have three words or more. This many topics need at least "
            f"{2 * n_components}, and hundreds for each topic that is to be trusted.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
    return corpus


def recover(moments: WordMoments, n_components: int, seed: int, **options: Any) -> Recovered:
    """Recover topics and their shares from moments that are sums over topics.

    M_2 W v_k is sqrt(w_k) mu_k, and E[x]^T W v_k is sqrt(w_k). ``options`` are those of `latentia.tensor.decompose`.
    """
    fit = decompose_whitened(moments.second, moments.third, n_components, seed, **options)
    directions = fit.whitening.matrix @ fit.vectors.T
    roots = np.maximum(moments.first @ directions, 1e-6)
    shares = roots**2
    topics = distributions((moments.sketch @ directions).T, moments.marginal)
    return Recovered(TopicShares(topics, shares / shares.sum()), fit)


def eigenvalue_excess(recovered: Recovered, alpha0: float) -> float:
    """Return the log mean ratio of the tensor's eigenvalues to those that the shares predict: 0 at the true alpha_0."""
    predicted = 2 * np.sqrt((alpha0 + 1) / recovered.parameters.shares) / (alpha0 + 2)
    return float(np.log(np.mean(recovered.fit.weights / predicted)))


def search_alpha0(
    excess_at: Callable[[float], float], level: float = 0.0, n_grid: int = _N_GRID, tol: float = 1e-4
) -> float:
    """Find the smallest alpha_0 at which the excess reaches ``level``, or return an end of `ALPHA0` if none does.

    The search starts from below: the excess first grows with alpha_0, and falls again where most of the moments is subtracted.
    """
    grid = np.geomspace(*ALPHA0, n_grid)
    for i, alpha0 in enumerate(grid):
        if excess_at(float(alpha0)) >= level:
            if i == 0:
                return ALPHA0[0]
            low, high = np.log(grid[i - 1 : i + 1])
            return float(np.exp(brentq(lambda x: excess_at(float(np.exp(x))) - level, low, high, xtol=tol)))
    return ALPHA0[1]


def measure_distances(model: Refined, other_model: Refined) -> np.ndarray:
    """Return the l1 distance of each topic to the nearest one of another model, shape (K,)."""
    return nearest_distances(model.parameters.topics, other_model.parameters.topics)


def halves_agree(parts: PartErrors, topics: np.ndarray) -> bool:
    """Return True if halves of the documents agree on the topics, so that the errors that they share matter."""
    return parts.errors is not None and float(parts.errors.mean()) <= separation_limit(
        topics, "cityblock", MAX_L1_ERROR
    )


def measure_misfit(
    fit: WhitenedDecomposition,
    corpus: CorpusMoments | HiddenCorpus,
    moments_at: Callable[[tuple[int, ...]], WordMoments],
) -> Misfit:
    """Measure what the topics do not explain of the whitened tensor and of the pairs of words.

    ``moments_at`` is as in `moment_checks`. Nothing is measured where a half has no documents.
    """

    def whiten(words: WordMoments) -> WhitenedMoments:
        matrix = fit.whitening.matrix
        return WhitenedMoments(matrix.T @ words.second @ matrix, apply_to_modes(words.third, matrix))

    try:
        splits = [(moments_at(first), moments_at(second)) for first, second in corpus.folds.splits]
    except LatentiaError:
        return Misfit()
    halves = [(whiten(first), whiten(second)) for first, second in splits]
    misfit = misfit_of_tensor(fit.tensor, fit.weights, fit.vectors, halves)
    return replace(misfit, share=float(np.hypot(misfit.share, measure_unexplained_share(fit, corpus, moments_at))))


def measure_unexplained_share(
    fit: WhitenedDecomposition,
    corpus: CorpusMoments | HiddenCorpus,
    moments_at: Callable[[tuple[int, ...]], WordMoments],
) -> float:
    """Measure what the topics do not explain of the pairs of words in further directions, as a share of a misfit."""
    splits = [(moments_at(first), moments_at(second)) for first, second in corpus.folds.splits]
    edge = float(np.mean([np.linalg.norm(first.second - second.second, 2) / 2 for first, second in splits]))
    return _MERGED_MISFIT * missing_spectrum_share(corpus.spectrum(fit, edge), len(fit.weights), edge, first=1)


def moment_checks(
    refined: Refined,
    fit: WhitenedDecomposition,
    corpus: CorpusMoments | HiddenCorpus,
    moments_at: Callable[[tuple[int, ...]], WordMoments],
    parts: PartErrors,
    misfit: Misfit,
) -> list[Check]:
    """Return the checks on errors, misfit and moments.

    ``moments_at`` returns the moments of some groups of documents, in the form that was decomposed.
    """
    first, second = (moments_at(half) for half in corpus.folds.splits[0])
    noise = whiten_noise(fit.whitening.matrix, (first.second, first.third), (second.second, second.third))
    measured = TensorMeasured(
        spectrum=fit.whitening.spectrum if noise.spectrum is None else corpus.spectrum(fit, noise.spectrum),
        weights=fit.weights,
        residual=fit.info.residual,
        stable=fit.info.stable,
        samples=corpus.n_triples,
        noise=noise,
        exact=True,
    )
    limit = separation_limit(refined.parameters.topics, "cityblock", MAX_L1_ERROR)
    errors = topic_error_checks(parts, limit, corpus.documents.used)
    return [*errors, *misfit.checks(_MAX_MISFIT_RATIO, "topics"), *tensor_checks(measured), _documents_used(corpus)]


def _documents_used(corpus: CorpusMoments | HiddenCorpus) -> Check:
    documents = corpus.documents
    total = documents.used + documents.empty + documents.short
    meaning = (
        f"Of {total}; others have fewer than two words. {corpus.n_triples} have the three that third moments need."
    )
    return Check("documents used", "", float(documents.used), None, meaning, "section 7.3.1")
