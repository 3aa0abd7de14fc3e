"""The generative parameters: what both ways to find them give, and EM from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..exceptions import LatentiaError
from ..likelihood import Refine, Refined, Refinement, over, refine
from ..passes import Blocks, Folds, Plan
from ..tensor import WhitenedDecomposition
from ._documents import Documents
from ._likelihood import LabelledMixtureUpdate, Pseudo
from ._parts import PartMoments

SMOOTHING = 0.05  # share of the overall frequencies in word and label probabilities that leaves nothing impossible
_PSEUDO_DOCUMENTS = 1.0


@dataclass(frozen=True)
class Topics:
    """A mixture of labelled documents: word probabilities (K, D), label probabilities (K, L), weights (K,)."""

    words: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def sorted(self) -> Topics:
        """The same, the largest weight first."""
        order = np.argsort(-self.weights, kind="stable")
        return Topics(self.words[order], self.labels[order], self.weights[order])

    def smoothed(self, words: np.ndarray, labels: np.ndarray) -> Topics:
        """Mixed with the overall probabilities of words (D,) and labels (L,), so that nothing is impossible."""
        keep = 1 - SMOOTHING
        return Topics(keep * self.words + SMOOTHING * words, keep * self.labels + SMOOTHING * labels, self.weights)


@dataclass(frozen=True)
class Recovered:
    """Topics and what they were found from.

    Attributes
    ----------
    topics : Topics
        The largest weight first.
    spectrum : ndarray
        Leading eigenvalues of the second moment that was whitened, descending.
    weights : ndarray of shape (K,)
        Eigenvalues lambda_k of the whitened tensor.
    info : Bunch
        Of the decomposition.
    total : float
        Sum of the weights before they were normalised.
    parts : PartMoments or None
        From which parts of the data can be fitted.
    decomposition : WhitenedDecomposition or None
        Of the moments in coordinates.
    share : float
        Of the overall probabilities in those that posteriors are taken of.
    """

    topics: Topics
    spectrum: np.ndarray
    weights: np.ndarray
    info: Any
    total: float
    parts: PartMoments | None = None
    decomposition: WhitenedDecomposition | None = None
    share: float = SMOOTHING


class Recovery(Protocol):
    """A way from documents to topics."""

    def recover(
        self, documents: Documents, beside: Sequence[Plan], folds: Folds
    ) -> tuple[Recovered | LatentiaError, list[Any]]:
        """Finished topics, or why the documents do not carry them; and the results of plans that share their passes."""


def one_topic(documents: Documents) -> Recovered:
    """A single topic, whose probabilities are those of all documents."""
    topics = Topics(documents.words[None].copy(), documents.labels[None].copy(), np.ones(1))
    return Recovered(topics, np.ones(1), np.ones(1), None, 1.0)


def refined_topics(topics: Topics, documents: Documents, rows: Blocks, steps: Refine) -> Refined:
    """Topics after EM on some rows of the documents."""
    if not steps:
        return Refined(topics, Refinement.no_steps())
    words, labels, passes = documents.words, documents.labels, documents.passes
    start = topics.smoothed(words, labels)
    pseudo = Pseudo(_PSEUDO_DOCUMENTS, words, labels)
    update = LabelledMixtureUpdate(start.words, start.labels, start.weights, documents.occurrences, pseudo)
    found = refine(update, over(rows, passes.n_jobs, passes.verbose), steps)
    return Refined(Topics(*found.values).sorted(), found)
