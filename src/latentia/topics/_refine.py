"""Refinement of topics by the words of all documents, from topics that a recovery found. Outside the theorems."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..likelihood import EStep, Refine, Refinement, over, refine
from ..metrics import l1_distances, nearest_distances, nearest_others
from ..passes import Blocks
from ._collapsed import CollapsedUpdate, held_shares
from ._ordering import OwnOrder

_ALPHA, _WORD_PRIOR = 0.05, 0.03  # pseudo-counts: of a topic in a document, of a word in a topic
_SOFT = 0.5  # weight of the topics in a soft start, beside the word frequencies
_SOFTEST = 0.1  # the same of those that a search starts with
_SHARED = (
    0.04  # l1 error by sweeps that all parts share: with it, those of 90 planted corpora are as expected in the median
)
_PINCH = 1e-6  # of the word frequencies in other starts, so that every word is possible
_MORE = 1.5  # topics that a search starts with, for each that is asked for
_SEARCHED = 100_000_000  # stored counts times topics that a search reads
_SWEEPS, _WAVES, _BETWEEN = 10, 5, 2  # sweeps before topics are joined; waves of joining; sweeps after each
LARGE = 5_000_000
"""Stored counts from which on the order of documents is kept, and more sweeps would follow their noise."""
_SETTLES = 3e-5, 2, 10  # relative gain of a sweep that is as good as nothing, times in a row, after so many sweeps
_LARGE_SETTLES = 5e-4, 1, 6  # the same of so many counts
SETTLED = _LARGE_SETTLES[0]
"""Share of the log-likelihood that the last sweep gains at most, of topics that have settled."""


@dataclass(frozen=True)
class RefinedTopics:
    """What refinement makes of topics.

    Attributes
    ----------
    topics : ndarray of shape (K, V)
    dirichlet : ndarray of shape (K,) or None
        Parameters of the proportions; None where nothing was refined.
    shares : ndarray of shape (K,)
        Of the topics in all words; empty where nothing was refined.
    refinement : Refinement
    n_undone : int
        Sweeps that were made, and whose outcome was not kept.
    """

    topics: np.ndarray
    dirichlet: np.ndarray | None
    shares: np.ndarray
    refinement: Refinement
    n_undone: int = 0

    @property
    def is_swept(self) -> bool:
        """Whether these are other than they were."""
        return self.dirichlet is not None

    @classmethod
    def none(cls, topics: np.ndarray) -> RefinedTopics:
        """The topics as they are."""
        return cls(topics, None, np.empty(0), Refinement.none())


def n_candidates(n_topics: int, rank: int) -> int:
    """With how many topics a search starts for some of them, in data that carries so many directions above its noise.

    Where it carries no more than asked for, the topics of the anchors are good as they are, and a search loses some of them.
    """
    return max(min(int(_MORE * n_topics), rank), n_topics)


def refine_topics(
    topics: np.ndarray,
    order: OwnOrder,
    word_frequencies: np.ndarray,
    steps: Refine,
    *,
    soft: bool,
    n_entries: float,
    candidates: np.ndarray | None = None,
    dirichlet: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> RefinedTopics:
    """Topics after sweeps of collapsed variational Bayes (`latentia.topics._collapsed`), in the order of their starts.

    Parameters
    ----------
    topics : ndarray of shape (K, V)
    order : OwnOrder
        Documents, which sweeps from a soft start do not forget the order of.
    word_frequencies : ndarray of shape (V,)
    steps : int or "auto"
        So many sweeps, or as many as it takes to settle.
    soft : bool
        Whether to start from topics that are half word frequencies, which leaves more to the documents, or as they are.
    n_entries : float
        Stored counts of all documents, at least about.
    candidates : ndarray of shape (K', V), optional
        More topics than asked for to start a search from: those that are most alike are joined on the way.
    dirichlet : ndarray of shape (K,), optional
        Parameters of the proportions, which are held then; by default they are estimated.
    n_jobs, progress
        As in `latentia.passes.accumulate`.
    """
    blocks, found = order.blocks, order.arranged(topics)
    base = order.arranged(_positive(word_frequencies))
    alpha = np.full(len(found), _ALPHA) if dirichlet is None else dirichlet
    start = _SOFT * found + (1 - _SOFT) * base if soft else (1 - _PINCH) * found + _PINCH * base
    options: dict[str, Any] = {"prior": np.full(len(base), _WORD_PRIOR), "learn_alpha": dirichlet is None}
    passes: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    with ExitStack() as rooms:
        update = None
        if candidates is not None and len(candidates) > len(found):
            share = min(1.0, _SEARCHED / (n_entries * len(candidates)))
            some = blocks if share == 1 else Blocks.from_array(*blocks.some_rows(int(share * blocks.n_rows)))
            room = rooms.enter_context(held_shares(int(share * n_entries), len(candidates), in_memory=True))
            softest = _SOFTEST * order.arranged(candidates) + (1 - _SOFTEST) * base
            update = CollapsedUpdate(softest, np.full(len(candidates), _ALPHA), room, some.n_rows, **options)
            _search(update, len(found), over(some, **passes))
            if share < 1:  # all documents start from what some of them found
                start, alpha, update = _SOFT * update.topics + (1 - _SOFT) * base, update.alpha, None
                rooms.close()
        if update is None:
            room = rooms.enter_context(held_shares(int(n_entries), len(found)))
            update = CollapsedUpdate(start, alpha, room, blocks.n_rows, **options)
        until = _until(update, *(_LARGE_SETTLES if n_entries > LARGE else _SETTLES))
        refinement = refine(update, over(blocks, **passes), steps, until=until)
    refined, counts = refinement.values[0], update.counts.sum(axis=0)
    matched = linear_sum_assignment(l1_distances(found, refined))[1]
    return RefinedTopics(
        order.restored(refined[matched]), update.alpha[matched], counts[matched] / counts.sum(), refinement
    )


def sweeps_bias(refined: np.ndarray, recovered: np.ndarray, swept: bool) -> float:
    """Error in l1 that sweeps add to topics, and that fits on parts of the documents share; 0 without sweeps.

    Without signal all topics end near the word frequencies, where parts agree on them: where refined topics are less than half
    as far from each other as the recovered ones, it is how much nearer they are.
    """
    if not swept or len(refined) < 2:
        return _SHARED if swept else 0.0
    now, before = (float(nearest_others(topics).mean()) for topics in (refined, recovered))
    return float(np.hypot(_SHARED, before - now if now < before / 2 else 0.0))


def led_astray(refined: np.ndarray, recovered: np.ndarray, halves: Iterable[np.ndarray]) -> bool:
    """Whether refinement has gone further than the error of what it started from.

    Where the model holds, an estimate that uses more of the data lies at sqrt(e^2 - e'^2) from one that uses less, e and e'
    being their errors: nearer than e (J. Hausman, Specification tests in econometrics, Econometrica 46, 1978). Further away,
    sweeps add an error of their own: of short documents, and of topics that are rare or mixed evenly, mean shares are biased.
    The error e is told by fits on halves of the documents.
    """
    error = np.mean([nearest_distances(recovered, half).mean() for half in halves])
    return bool(nearest_distances(refined, recovered).mean() > error)


def _search(update: CollapsedUpdate, n_topics: int, e_step: EStep) -> None:
    """Sweep with more topics than asked for, and join those that are most alike, some at a time."""
    n_more = len(update.topics)
    refine(update, e_step, _SWEEPS)
    for left in np.linspace(n_more, n_topics, _WAVES + 1).round().astype(int)[1:]:
        update.join(int(left))
        refine(update, e_step, _BETWEEN)


def _until(update: CollapsedUpdate, gain: float, calm: int, fewest: int) -> Callable[[], bool]:
    """Whether the last sweeps gained as good as nothing."""

    def settled() -> bool:
        values = np.array(update.log_likelihood[-calm - 1 :])
        return update.n_sweeps >= fewest and bool((np.abs(np.diff(values)) < gain * abs(values[-1])).all())

    return settled


def smoothed(topics: np.ndarray, word_frequencies: np.ndarray, weight: float) -> np.ndarray:
    """Topics mixed with the word frequencies, and these with a uniform pinch, so that every word is possible."""
    return (1 - weight) * topics + weight * _positive(word_frequencies)


def _positive(word_frequencies: np.ndarray) -> np.ndarray:
    return 0.999 * word_frequencies + 0.001 / len(word_frequencies)
