"""Whether documents mix topics as a model says: one topic each, or in Dirichlet proportions of a given sum.

Of documents with one topic each the eigenvalues lambda_k of the whitened tensor are w_k^(-1/2), with the shares w_k that the
mean of the words gives; so the mean of lambda_k w_k^(1/2) is one. Documents that mix topics have another one, which latent
Dirichlet allocation has at some alpha_0. The topics of such mixed documents, recovered from the same moments, are at a
distance from those of single topics: the error of taking documents for single ones, which halves of the data share.

The statistic's noise and, by twice the whole less the halves, its bias come from the fits on halves.

Proportions that are not Dirichlet can look as if they were in the first three moments, at another alpha_0 and with other
topics. How well other documents are completed tells: topics at a larger or smaller alpha_0 should do worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..evidence import Check, at_most, within
from ..evidence.checks import number_text
from ..exceptions import LatentiaError
from ..metrics import l1_distances, nearest_distances
from ..moments import WordMoments, correct_for_lda
from ..passes import Folds
from ._by_moments import ALPHA0, ROUGH, Recovered, excess, recover, search_alpha0
from ._prediction import OtherDocuments
from ._refine import completion

_DEVIATIONS = 3.0  # of a statistic whose noise three splits tell: all but a fortieth of Student's t
_STEP = 3.0
_MOST = 0.1  # alpha_0 up to which documents are as good as of one topic


@dataclass(frozen=True)
class Mixing:
    """How far documents are from mixing topics as a model says.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
        Of the model.
    alpha0 : float, optional
        Of the mixtures that explain the documents better; the model's own, which is 0 for single topics, where none do; None
        where it was not measured.
    moved : ndarray of shape (K,) or 0
        How far each topic is from those of these mixtures.
    """

    topics: np.ndarray
    alpha0: float | None = None
    moved: np.ndarray | float = 0.0

    def bias(self, topics: np.ndarray) -> np.ndarray:
        """The error of each of some topics, such as these after EM, shape (K,)."""
        moved = np.broadcast_to(self.moved, len(self.topics))
        return np.asarray(moved[l1_distances(topics, self.topics).argmin(axis=1)])

    def of_proportions(self, alpha0: float) -> list[Check]:
        """One line, which asks for care where other documents prefer another alpha_0."""
        return [] if self.alpha0 is None else [
            Check(
                "preferred Dirichlet sum", "alpha_0", self.alpha0, within(alpha0 / _STEP**0.5, alpha0 * _STEP**0.5),
                "Of this one, a third and three times of it and so on that under which other documents are completed best. "
                "Errors are widened by how far it moves the topics.",
                "not in the papers", "caution",
                f"Proportions do not look Dirichlet: compare with a Dirichlet sum of {number_text(self.alpha0)}, or use anchor "
                "words, which do not ask for that.",
            )
        ]  # fmt: skip

    def of_single_topics(self) -> list[Check]:
        """One line, which asks for care where documents mix topics."""
        return [] if self.alpha0 is None else [
            Check(
                "one topic a document", "alpha_0", self.alpha0, at_most(_MOST),
                "Sum of the Dirichlet parameters of mixtures of topics that would explain what single topics do not. Errors "
                "are widened by how far it moves the topics.",
                "Anandkumar et al. 2012", "caution",
                "The documents mix topics, or have other words in common: compare with latent Dirichlet allocation.",
            )
        ]  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """What the mixing is measured on.

    Attributes
    ----------
    moments, recovered : callables
        From groups of documents to their moments, and to the topics that were recovered from these.
    folds : Folds
    seed : int
    """

    moments: Callable[[tuple[int, ...]], WordMoments]
    recovered: Callable[[tuple[int, ...]], Recovered]
    folds: Folds
    seed: int

    @property
    def topics(self) -> np.ndarray:
        """Of all documents."""
        return self.recovered(self.folds.all).found.topics

    def at(self, alpha0: float, groups: tuple[int, ...]) -> Recovered:
        """Topics of mixed documents, recovered from the moments of some groups."""
        return recover(correct_for_lda(self.moments(groups), alpha0), len(self.topics), self.seed, tol=ROUGH)


def mixing_by_moments(corpus: Corpus) -> Mixing:
    """How far documents taken for single topics mix them."""
    found, topics, everything = corpus.recovered(corpus.folds.all), corpus.topics, corpus.folds.all
    if len(topics) == 1:
        return Mixing(topics)
    try:
        halves = np.array([[excess(corpus.recovered(half), 0.0) for half in split] for split in corpus.folds.splits])
    except LatentiaError:
        return Mixing(topics)
    single = excess(found, 0.0)
    noise = float(np.sqrt(np.mean((halves[:, 0] - halves[:, 1]) ** 2))) / 2
    beyond = abs(2 * single - float(halves.mean())) - _DEVIATIONS * noise
    if not beyond > 0:
        return Mixing(topics, 0.0)
    alpha0 = search_alpha0(lambda at: excess(corpus.at(at, everything), at), single + beyond, 7, 0.02)
    if alpha0 == ALPHA0[1]:  # no mixture explains it
        return Mixing(topics, alpha0)
    return Mixing(topics, alpha0, nearest_distances(topics, corpus.at(alpha0, everything).found.topics))


def mixing_by_prediction(corpus: Corpus, alpha0: float, others: OtherDocuments | None) -> Mixing:
    """The alpha_0 under which other documents are completed best, in steps of three from that of a fit."""
    topics = corpus.topics
    if others is None or len(topics) == 1:
        return Mixing(topics)
    frequencies = corpus.moments(others.learned).marginal

    def scores(at: float) -> np.ndarray:
        found = (corpus.recovered(others.learned) if at == alpha0 else corpus.at(at, others.learned)).found
        return completion(found.topics, at * found.shares, frequencies, others.counts)

    try:
        own = scores(alpha0)
        preferred = _climb(scores, own, alpha0, _STEP)
        preferred = _climb(scores, own, alpha0, 1 / _STEP) if preferred == alpha0 else preferred
        if preferred == alpha0:
            return Mixing(topics, alpha0)
        moved = nearest_distances(topics, corpus.at(preferred, corpus.folds.all).found.topics)
    except LatentiaError:
        return Mixing(topics)
    return Mixing(topics, preferred, moved)


def _climb(scores: Callable[[float], np.ndarray], own: np.ndarray, start: float, step: float) -> float:
    """The last of start, start step, start step^2 and so on up to which scores rise, clearly above the first ones."""
    best, at = own, start
    while ALPHA0[0] <= at * step <= ALPHA0[1]:
        gained = scores(at * step)
        gain = gained - own
        clear = gain.mean() > _DEVIATIONS * gain.std() / np.sqrt(len(gain))
        if not (clear and gained.mean() > best.mean()):
            break
        best, at = gained, at * step
    return at
