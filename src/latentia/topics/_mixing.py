"""Tests of how documents mix topics: one topic each, or Dirichlet proportions with a given sum alpha_0.

If every document has one topic, the eigenvalues lambda_k of the whitened tensor are w_k^(-1/2), with the shares w_k from the
mean of the words, so that the mean of lambda_k w_k^(1/2) is one. Documents that mix topics have another mean, which equals that
of latent Dirichlet allocation at some alpha_0. The distance between the topics at that alpha_0 and the single topics, both from
the same moments, is an error that halves of the data share.

The fits on halves give the noise of this statistic, and its bias, as twice the full fit minus the halves.

The first three moments of proportions that are not Dirichlet can look Dirichlet, at another alpha_0 and with other topics. The
completion of held-out documents tells: topics at a larger or smaller alpha_0 should do worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..evidence import Check, at_most, within
from ..evidence.checks import number_text
from ..evidence.limits import MANY_STANDARD_ERRORS
from ..exceptions import LatentiaError
from ..metrics import l1_distances, nearest_distances
from ..moments import WordMoments, correct_for_lda
from ..passes import Folds
from ._prediction import UnseenDocuments
from ._refine import completion_scores
from ._tensor_moments import ALPHA0, ROUGH_TOLERANCE, Recovered, eigenvalue_excess, recover, search_alpha0

_ALPHA0_STEP = 3.0  # Factor from one tried alpha_0 to the next.
_MAX_SINGLE_ALPHA0 = 0.1  # Up to this alpha_0 documents practically have one topic.


@dataclass(frozen=True)
class Mixing:
    """Deviation of documents from the mixing that a model assumes.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
        Topics of the model.
    alpha0 : float, optional
        Dirichlet sum of the mixtures that explain the documents better. If none do, that of the model, 0 for single topics.
        None if not measured.
    moved : ndarray of shape (K,) or 0
        Distance of each topic from those of these mixtures.
    """

    topics: np.ndarray
    alpha0: float | None = None
    moved: np.ndarray | float = 0.0

    def bias(self, topics: np.ndarray) -> np.ndarray:
        """Return the error of some topics, such as these after EM, shape (K,)."""
        moved = np.broadcast_to(self.moved, len(self.topics))
        return np.asarray(moved[l1_distances(topics, self.topics).argmin(axis=1)])

    def proportion_checks(self, alpha0: float) -> list[Check]:
        """Return a check that asks for care if held-out documents prefer another alpha_0."""
        return [] if self.alpha0 is None else [
            Check(
                "preferred Dirichlet sum", "alpha_0", self.alpha0,
                within(alpha0 / np.sqrt(_ALPHA0_STEP), alpha0 * np.sqrt(_ALPHA0_STEP)),
                "The sum that completes other documents best, among this one, a third and three times of it, and so on. Errors "
                "are widened by how far it moves the topics.",
                "not in the papers", "caution",
                f"Proportions do not look Dirichlet: compare with a Dirichlet sum of {number_text(self.alpha0)}, or use anchor "
                "words, which do not ask for that.",
            )
        ]  # fmt: skip

    def single_topic_checks(self) -> list[Check]:
        """Return a check that asks for care if documents mix topics."""
        return [] if self.alpha0 is None else [
            Check(
                "one topic a document", "alpha_0", self.alpha0, at_most(_MAX_SINGLE_ALPHA0),
                "Sum of the Dirichlet parameters of mixtures that would explain what single topics do not explain. Errors are "
                "widened by how far it moves the topics.",
                "Anandkumar et al. 2012", "caution",
                "The documents mix topics, or have other words in common: compare with latent Dirichlet allocation.",
            )
        ]  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """Moments and recovered topics of groups of documents.

    Attributes
    ----------
    moments, recovered : callables
        Functions from groups of documents to their moments, and to the topics recovered from these.
    folds : Folds
    seed : int
    """

    moments: Callable[[tuple[int, ...]], WordMoments]
    recovered: Callable[[tuple[int, ...]], Recovered]
    folds: Folds
    seed: int

    @property
    def topics(self) -> np.ndarray:
        """Topics of all documents."""
        return self.recovered(self.folds.all).parameters.topics

    def recover_at(self, alpha0: float, groups: tuple[int, ...]) -> Recovered:
        """Recover topics of mixed documents from the moments of some groups."""
        return recover(correct_for_lda(self.moments(groups), alpha0), len(self.topics), self.seed, tol=ROUGH_TOLERANCE)


def measure_mixing_by_moments(corpus: Corpus) -> Mixing:
    """Measure how far documents mix topics that a model takes for single ones."""
    recovered, topics, all_groups = corpus.recovered(corpus.folds.all), corpus.topics, corpus.folds.all
    if len(topics) == 1:
        return Mixing(topics)
    try:
        halves = np.array(
            [[eigenvalue_excess(corpus.recovered(half), 0.0) for half in split] for split in corpus.folds.splits]
        )
    except LatentiaError:
        return Mixing(topics)
    single = eigenvalue_excess(recovered, 0.0)
    noise = float(np.sqrt(np.mean((halves[:, 0] - halves[:, 1]) ** 2))) / 2
    beyond = abs(2 * single - float(halves.mean())) - MANY_STANDARD_ERRORS * noise
    if not beyond > 0:
        return Mixing(topics, 0.0)
    alpha0 = search_alpha0(
        lambda at: eigenvalue_excess(corpus.recover_at(at, all_groups), at), single + beyond, 7, 0.02
    )
    if alpha0 == ALPHA0[1]:  # No mixture explains the statistic.
        return Mixing(topics, alpha0)
    return Mixing(topics, alpha0, nearest_distances(topics, corpus.recover_at(alpha0, all_groups).parameters.topics))


def measure_mixing_by_prediction(corpus: Corpus, alpha0: float, held_out: UnseenDocuments | None) -> Mixing:
    """Find the alpha_0 that completes held-out documents best, in factors of three from that of the fit."""
    topics = corpus.topics
    if held_out is None or len(topics) == 1:
        return Mixing(topics)
    frequencies = corpus.moments(held_out.learned).marginal

    def score_at(candidate: float) -> np.ndarray:
        parameters = (
            corpus.recovered(held_out.learned)
            if candidate == alpha0
            else corpus.recover_at(candidate, held_out.learned)
        ).parameters
        return completion_scores(parameters.topics, candidate * parameters.shares, frequencies, held_out.counts)

    try:
        initial_scores = score_at(alpha0)
        preferred = _climb(score_at, initial_scores, alpha0, _ALPHA0_STEP)
        preferred = _climb(score_at, initial_scores, alpha0, 1 / _ALPHA0_STEP) if preferred == alpha0 else preferred
        if preferred == alpha0:
            return Mixing(topics, alpha0)
        moved = nearest_distances(topics, corpus.recover_at(preferred, corpus.folds.all).parameters.topics)
    except LatentiaError:
        return Mixing(topics)
    return Mixing(topics, preferred, moved)


def _climb(score_at: Callable[[float], np.ndarray], initial_scores: np.ndarray, start: float, step: float) -> float:
    """Multiply alpha_0 by ``step`` as long as the scores rise and are clearly above the initial ones."""
    best_scores, alpha0 = initial_scores, start
    while ALPHA0[0] <= alpha0 * step <= ALPHA0[1]:
        new_scores = score_at(alpha0 * step)
        gain = new_scores - initial_scores
        clear = gain.mean() > MANY_STANDARD_ERRORS * gain.std() / np.sqrt(len(gain))
        if not (clear and new_scores.mean() > best_scores.mean()):
            break
        best_scores, alpha0 = new_scores, alpha0 * step
    return alpha0
