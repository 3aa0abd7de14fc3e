"""What topic models by tensor decomposition share: passes over the documents, recovery, lines of the evidence.

Passes over the documents: word frequencies; two of subspace iteration for coordinates in which the sampling noise is even;
one for all moments in them, of four groups of documents. All else is algebra on arrays of K + 12 dimensions.
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
from ..exceptions import LatentiaError
from ..likelihood import Refined
from ..metrics import nearest_distances
from ..moments import Cooccurrence, DocumentMoments, WordMoments, leading_words
from ..passes import Blocks, Folds
from ..simplex import distributions
from ..tensor import WhitenedDecomposition, apply_to_modes, decompose_whitened
from ._corpus import Documents, check_n_topics, count_documents, least_documents
from ._evidence import TRUSTED, topic_error_checks
from ._repeated import repeated_in

ROUGH = 1e-5  # tolerance of decompositions of parts of the documents, whose noise is far larger
_OVERSAMPLE = 12
ALPHA0 = (0.01, 100.0)  # where alpha_0 is looked for
_GRID = 13
_MISFIT = 2.5  # ratio that noise alone seldom has where topics are few: three splits tell it, and few numbers count
_MERGED = 0.35  # share of the misfit that a left out direction as strong as those of the topics is


class TopicShares(NamedTuple):
    """Topics (K, V), and the share of each in the corpus (K,)."""

    topics: np.ndarray
    shares: np.ndarray

    def sorted(self) -> TopicShares:
        """The same, the largest share first."""
        order = np.argsort(-self.shares, kind="stable")
        return TopicShares(self.topics[order], self.shares[order])


@dataclass(frozen=True)
class CorpusMoments:
    """Moments of words for groups of documents, and what was counted on the way.

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
        """Documents of three words or more."""
        return int(self.moments.documents.sum())

    def of(self, groups: tuple[int, ...]) -> WordMoments:
        return self.moments.of(groups)

    @cached_property
    def repeated(self) -> np.ndarray:
        """Eigenvalues of the pairs of words as large as other documents have them, as many as the moments have dimensions."""
        q, width = self.moments.q, self.moments.coordinates.shape[1]
        frequent = q.sums.document_frequency >= least_documents(self.documents.used)
        return repeated_in(q.blocks, self.folds, frequent, self.documents.length, width)

    def spectrum(self, fit: WhitenedDecomposition, edge: float) -> np.ndarray:
        """What was whitened; eigenvalues beyond the topics as large as other documents have them, where noise seems less."""
        spectrum, k = fit.whitening.spectrum, len(fit.weights)
        if (spectrum > edge).sum() <= k:
            return spectrum
        return np.append(spectrum[:k], np.minimum(spectrum[k:], self.repeated[k : len(spectrum)]))


@dataclass(frozen=True)
class Recovered:
    """Topics, their shares, and the decomposition that they come from."""

    found: TopicShares
    fit: WhitenedDecomposition


def moments_of(blocks: Blocks, n_components: int, folds: Folds, *, n_jobs: int | None, progress: bool) -> CorpusMoments:
    """Moments of the words of four groups of documents, in four passes."""
    q = Cooccurrence(blocks, folds=folds, n_jobs=n_jobs, progress=progress)
    documents = count_documents(q.sums, blocks.n_rows)
    check_n_topics(n_components, documents, int((q.sums.document_frequency > 0).sum()))
    moments = DocumentMoments(q, leading_words(q, n_components + _OVERSAMPLE))
    corpus = CorpusMoments(moments, documents, q.marginal())
    if n_components > 1 and corpus.n_triples < 2 * n_components:
        raise LatentiaError(
            f"{corpus.n_triples} of {blocks.n_rows} documents have three words or more. This many topics need "
            f"{2 * n_components} at the very least, and hundreds for each topic to be trusted.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
    return corpus


def recover(moments: WordMoments, n_components: int, seed: int, **options: Any) -> Recovered:
    """Topics and their shares from moments that are sums over topics; ``options`` of `latentia.tensor.decompose`.

    M_2 W v_k is sqrt(w_k) mu_k, and E[x]^T W v_k is sqrt(w_k).
    """
    fit = decompose_whitened(moments.second, moments.third, n_components, seed, **options)
    directions = fit.whitening.matrix @ fit.vectors.T
    roots = np.maximum(moments.first @ directions, 1e-6)
    shares = roots**2
    topics = distributions((moments.sketch @ directions).T, moments.marginal)
    return Recovered(TopicShares(topics, shares / shares.sum()), fit)


def excess(recovered: Recovered, alpha0: float) -> float:
    """Log of the mean of the tensor's eigenvalues over those that the shares of the topics predict; 0 at the true alpha_0."""
    predicted = 2 * np.sqrt((alpha0 + 1) / recovered.found.shares) / (alpha0 + 2)
    return float(np.log(np.mean(recovered.fit.weights / predicted)))


def search_alpha0(
    excess_at: Callable[[float], float], level: float = 0.0, n_grid: int = _GRID, tol: float = 1e-4
) -> float:
    """The least alpha_0 at which the excess reaches ``level``, or an end of `ALPHA0` where none does.

    It is looked for from below: it first grows with alpha_0 and then falls again, where most of the moments is taken away.
    """
    grid = np.geomspace(*ALPHA0, n_grid)
    for i, alpha0 in enumerate(grid):
        if excess_at(float(alpha0)) >= level:
            if i == 0:
                return ALPHA0[0]
            low, high = np.log(grid[i - 1 : i + 1])
            return float(np.exp(brentq(lambda x: excess_at(float(np.exp(x))) - level, low, high, xtol=tol)))
    return ALPHA0[1]


def distance(model: Refined, part: Refined) -> np.ndarray:
    """l1 distance of each topic to the nearest one of a part of the documents, shape (K,)."""
    return nearest_distances(model.parameters.topics, part.parameters.topics)


def clear(parts: PartErrors, topics: np.ndarray) -> bool:
    """Whether parts of the documents agree on the topics, so that it is worth asking for errors that they share."""
    return parts.errors is not None and float(parts.errors.mean()) <= separation_limit(topics, "cityblock", TRUSTED)


def misfit_of(
    fit: WhitenedDecomposition, corpus: CorpusMoments, moments: Callable[[tuple[int, ...]], WordMoments]
) -> Misfit:
    """What the topics leave of the whitened tensor, and leave out of the pairs of words; ``moments`` as in `moment_checks`.

    Nothing is measured where a part has no documents.
    """

    def whitened(m: WordMoments) -> WhitenedMoments:
        matrix = fit.whitening.matrix
        return WhitenedMoments(matrix.T @ m.second @ matrix, apply_to_modes(m.third, matrix))

    try:
        splits = [(moments(first), moments(second)) for first, second in corpus.folds.splits]
    except LatentiaError:
        return Misfit()
    halves = [(whitened(first), whitened(second)) for first, second in splits]
    misfit = misfit_of_tensor(fit.tensor, fit.weights, fit.vectors, halves)
    return replace(misfit, share=float(np.hypot(misfit.share, share_left_out(fit, corpus, moments))))


def share_left_out(
    fit: WhitenedDecomposition, corpus: CorpusMoments, moments: Callable[[tuple[int, ...]], WordMoments]
) -> float:
    """What the topics leave out of the pairs of words in further directions, as a share of a misfit."""
    splits = [(moments(first), moments(second)) for first, second in corpus.folds.splits]
    edge = float(np.mean([np.linalg.norm(first.second - second.second, 2) / 2 for first, second in splits]))
    return _MERGED * missing_spectrum_share(corpus.spectrum(fit, edge), len(fit.weights), edge, first=1)


def moment_checks(
    refined: Refined,
    fit: WhitenedDecomposition,
    corpus: CorpusMoments,
    moments: Callable[[tuple[int, ...]], WordMoments],
    parts: PartErrors,
    misfit: Misfit,
) -> list[Check]:
    """The lines of the evidence.

    ``moments`` gives those of some groups of documents that are sums over topics, which the decomposition took.
    """
    first, second = (moments(half) for half in corpus.folds.splits[0])
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
    limit = separation_limit(refined.parameters.topics, "cityblock", TRUSTED)
    errors = topic_error_checks(parts, limit, corpus.documents.used)
    return [*errors, *misfit.checks(_MISFIT, "topics"), *tensor_checks(measured), _documents_used(corpus)]


def _documents_used(corpus: CorpusMoments) -> Check:
    d = corpus.documents
    meaning = (
        f"Of {d.used + d.empty + d.short}; the others have fewer than two words. {corpus.n_triples} have the three words "
        "that third moments need."
    )
    return Check("documents used", "", float(d.used), None, meaning, "section 7.3.1")
