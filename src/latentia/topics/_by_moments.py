"""What topic models by tensor decomposition share: passes over the documents, recovery, lines of the evidence.

Passes over the documents: word frequencies; two of subspace iteration for coordinates in which the sampling noise is even;
one for all moments in them, of four groups of documents. All else is algebra on arrays of K + 12 dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..evidence import (
    Check,
    PartErrors,
    TensorMeasured,
    separation_limit,
    settled_checks,
    tensor_checks,
    whitened_noise,
)
from ..exceptions import LatentiaError
from ..likelihood import Refined
from ..metrics import nearest_distances
from ..moments import Cooccurrence, DocumentMoments, WordMoments, leading_words
from ..passes import Blocks, RowGroups
from ..simplex import distributions
from ..tensor import WhitenedDecomposition, decompose_whitened
from ._corpus import Documents, check_n_topics, count_documents
from ._evidence import TRUSTED, topic_error_checks

__all__ = ["CorpusMoments", "Recovered", "TopicShares", "distance", "moment_checks", "moments_of", "recover"]

_OVERSAMPLE = 12


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
    def dealt(self) -> RowGroups:
        return self.moments.q.dealt

    @property
    def n_passes(self) -> int:
        return self.moments.q.n_passes

    @property
    def n_triples(self) -> int:
        """Documents of three words or more."""
        return int(self.moments.documents.sum())

    def of(self, groups: tuple[int, ...]) -> WordMoments:
        return self.moments.of(groups)


@dataclass(frozen=True)
class Recovered:
    """Topics, their shares, and the decomposition that they come from."""

    found: TopicShares
    fit: WhitenedDecomposition


def moments_of(blocks: Blocks, n_components: int, seed: int, *, n_jobs: int | None, progress: bool) -> CorpusMoments:
    """Moments of the words of four groups of documents, in four passes."""
    q = Cooccurrence(blocks, dealt=RowGroups(4, seed), n_jobs=n_jobs, progress=progress)
    documents = count_documents(q, blocks.n_rows)
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


def recover(moments: WordMoments, n_components: int, seed: int) -> Recovered:
    """Topics and their shares from moments that are sums over topics.

    M_2 W v_k is sqrt(w_k) mu_k, and E[x]^T W v_k is sqrt(w_k).
    """
    fit = decompose_whitened(moments.second, moments.third, n_components, seed)
    directions = fit.whitening.matrix @ fit.vectors.T
    roots = np.maximum(moments.first @ directions, 1e-6)
    shares = roots**2
    topics = distributions((moments.sketch @ directions).T, moments.marginal)
    return Recovered(TopicShares(topics, shares / shares.sum()), fit)


def distance(model: Refined, part: Refined) -> np.ndarray:
    """l1 distance of each topic to the nearest one of a part of the documents, shape (K,)."""
    return nearest_distances(model.parameters.topics, part.parameters.topics)


def moment_checks(
    refined: Refined,
    fit: WhitenedDecomposition,
    corpus: CorpusMoments,
    moments: Callable[[tuple[int, ...]], WordMoments],
    parts: PartErrors,
) -> list[Check]:
    """The lines of the evidence.

    ``moments`` gives those of some groups of documents that are sums over topics, which the decomposition took.
    """
    first, second = (moments(half) for half in corpus.dealt.splits[0])
    measured = TensorMeasured(
        spectrum=fit.whitening.spectrum,
        weights=fit.weights,
        residual=fit.info.residual,
        stable=fit.info.stable,
        samples=corpus.n_triples,
        noise=whitened_noise(fit.whitening.matrix, (first.second, first.third), (second.second, second.third)),
    )
    limit = separation_limit(refined.parameters.topics, "cityblock", TRUSTED)
    errors = [*topic_error_checks(parts, limit), *settled_checks(refined.refinement)]
    return [*errors, *tensor_checks(measured), _documents_used(corpus)]


def _documents_used(corpus: CorpusMoments) -> Check:
    d = corpus.documents
    meaning = (
        f"Of {d.used + d.empty + d.short}; the others have fewer than two words. {corpus.n_triples} have the three words "
        "that third moments need."
    )
    return Check("documents used", "", float(d.used), None, meaning, "section 7.3.1")
