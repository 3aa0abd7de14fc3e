"""Topics of labelled documents, and EM that refines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..likelihood import Refine, Refined, Refinement, over, refine
from ..passes import Blocks
from ..tensor import WhitenedDecomposition
from ._documents import Documents
from ._likelihood import MixtureWithLabelsUpdate, Pseudo
from ._parts import PartMoments

SMOOTHING = 0.05  # share of the overall frequencies in word and label probabilities, so that nothing is impossible
_PSEUDO_DOCUMENTS = 1.0  # pseudo-documents that EM adds to each topic


@dataclass(frozen=True)
class Topics:
    """A mixture of labelled documents: word probabilities (K, D), label probabilities (K, L), weights (K,)."""

    words: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def sorted(self) -> Topics:
        """Return the topics with the largest weight first."""
        order = np.argsort(-self.weights, kind="stable")
        return Topics(self.words[order], self.labels[order], self.weights[order])

    def mix_with_overall(self, words: np.ndarray, labels: np.ndarray) -> Topics:
        """Return topics mixed with the overall probabilities of words (D,) and labels (L,), so that nothing is impossible."""
        own_share = 1 - SMOOTHING
        return Topics(
            own_share * self.words + SMOOTHING * words, own_share * self.labels + SMOOTHING * labels, self.weights
        )


@dataclass(frozen=True)
class Recovered:
    """Recovered topics, and the decomposition behind them.

    Attributes
    ----------
    topics : Topics
        The largest weight first.
    spectrum : ndarray
        Leading eigenvalues of the second moment that was whitened, descending.
    weights : ndarray of shape (K,)
        Eigenvalues lambda_k of the whitened tensor.
    info : Bunch
        Diagnostics of the decomposition.
    total : float
        Sum of the weights before normalisation.
    parts : PartMoments or None
        Moments from which parts of the data can be fitted.
    decomposition : WhitenedDecomposition or None
        Decomposition of the moments in coordinates.
    """

    topics: Topics
    spectrum: np.ndarray
    weights: np.ndarray
    info: Any
    total: float
    parts: PartMoments | None = None
    decomposition: WhitenedDecomposition | None = None


def make_single_topic(documents: Documents) -> Recovered:
    """Return a single topic with the probabilities of all documents."""
    topics = Topics(documents.words[None].copy(), documents.labels[None].copy(), np.ones(1))
    return Recovered(topics, np.ones(1), np.ones(1), None, 1.0)


def refine_topics(topics: Topics, documents: Documents, rows: Blocks, steps: Refine) -> Refined:
    """Refine topics by EM on some rows of the documents."""
    if not steps:
        return Refined(topics, Refinement.no_steps())
    words, labels, passes = documents.words, documents.labels, documents.passes
    start = topics.mix_with_overall(words, labels)
    pseudo = Pseudo(_PSEUDO_DOCUMENTS, words, labels)
    update = MixtureWithLabelsUpdate(start.words, start.labels, start.weights, documents.occurrences, pseudo)
    refinement = refine(update, over(rows, passes.n_jobs, passes.verbose), steps)
    return Refined(Topics(*refinement.values).sorted(), refinement)
