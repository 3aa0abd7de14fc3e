"""Prediction of the words of held-out documents by topics, compared with prediction by word frequencies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..evidence import Check, trivial_checks
from ..evidence.limits import STANDARD_ERRORS
from ..exceptions import LatentiaError
from ..metrics import split_tokens
from ..passes import Blocks, Folds, sample_rows
from ._refine import smooth_topics

_MAX_DOCUMENTS = 500  # Held-out documents to predict,
_MIN_WORDS = 40_000  # or more of them if they are short: at least this many words, half of which are hidden.


@dataclass(frozen=True)
class UnseenDocuments:
    """Documents outside the groups that topics were learned from.

    Attributes
    ----------
    learned : tuple of int
        Groups that the topics are learned from.
    counts : csr_array of shape (n, V)
        Some of the other documents: 500, or as many as have 40,000 words.
    """

    learned: tuple[int, ...]
    counts: sparse.csr_array


def select_unseen_documents(blocks: Blocks, folds: Folds, refined: bool) -> UnseenDocuments | None:
    """Hold out a quarter of the documents; of refined topics the half that the fits for the expected errors hold out."""
    if folds.n == 1:
        return None
    return _hold_out(blocks, folds, folds.splits[0][0] if refined or folds.n < 4 else folds.all[:-1])


def prediction_checks(
    predict: Callable[[UnseenDocuments], np.ndarray],
    frequencies: np.ndarray,
    held_out: UnseenDocuments | None,
    blocks: Blocks,
    folds: Folds,
) -> list[Check]:
    """Return a check, a veto; none if there are no held-out documents, or nothing can be learned.

    Topics of half of the documents may predict badly where those of all predict well. If they do not clearly predict the other
    half, topics of three quarters predict as well, and the gain of all documents is extrapolated from both: with n documents
    the gain is short of its limit by about c / n.

    Parameters
    ----------
    predict : callable
        Returns the log-likelihood of one half of the words of held-out documents given the other half (`split_tokens`), shape
        (n,).
    frequencies : ndarray of shape (V,)
        Frequencies of the words in the documents that topics are learned from.
    held_out : UnseenDocuments or None
        The documents that are predicted first.
    blocks, folds : Blocks, Folds
        All documents, and their groups.
    """
    if held_out is None:
        return []
    logs = np.log(smooth_topics(frequencies, frequencies, 1.0))

    def score(documents: UnseenDocuments) -> np.ndarray:
        return np.array([predict(documents), split_tokens(documents.counts)[1] @ logs])

    scores, has_more = None, len(held_out.learned) < folds.n - 1
    try:
        scores = score(held_out)
        if _clear_gain(scores) <= 0:
            scores = _extrapolate(score, blocks, folds) if has_more else scores
    except LatentiaError:
        if scores is None:
            return []
    return trivial_checks(
        *scores, extra=0, n_rows=2, against="word frequencies", unit="document", deviations=STANDARD_ERRORS
    )


def _extrapolate(score: Callable[[UnseenDocuments], np.ndarray], blocks: Blocks, folds: Folds) -> np.ndarray:
    """Return log-likelihoods under topics of all documents and under word frequencies, shape (2, n).

    The documents are those of one half, or of both if the gain in one is not clearly positive or negative.
    """
    n, scores = folds.n, np.empty((2, 0))
    weight = (n / (n - 1) - 1) / (2 - n / (n - 1))
    for learned, held_out_groups in (folds.splits[0], folds.splits[0][::-1]):
        for group in held_out_groups:
            documents = _hold_out(blocks, folds, tuple(g for g in folds.all if g != group))
            if documents is not None:
                scores_of_most = score(documents)
                scores_of_half = score(replace(documents, learned=learned))
                scores = np.hstack([scores, scores_of_most + weight * (scores_of_most - scores_of_half)])
        if _clear_gain(scores) > 0 or _clear_gain(scores[::-1]) > 0:
            break
    return scores


def _clear_gain(scores: np.ndarray) -> float:
    """Return a lower bound of the gain of the first row over the second, in nats a document."""
    gains = scores[0] - scores[1]
    return float(gains.mean() - STANDARD_ERRORS * gains.std() / np.sqrt(gains.size))


def _hold_out(blocks: Blocks, folds: Folds, learned: tuple[int, ...]) -> UnseenDocuments | None:
    """Return documents outside the groups that topics are learned from, if there are any with words."""
    held_out = blocks.group([g for g in folds.all if g not in learned], folds)
    tables = list(sample_rows(held_out, _MAX_DOCUMENTS)) if len(held_out) else []
    counts = sparse.csr_array(tables[0], dtype=np.float64) if tables else None
    if counts is not None and 0 < counts.sum() < _MIN_WORDS:
        n_rows = int(np.ceil(_MIN_WORDS * counts.shape[0] / counts.sum()))
        counts = sparse.csr_array(sample_rows(held_out, n_rows)[0], dtype=np.float64)
    return UnseenDocuments(learned, counts) if counts is not None and counts.sum() else None
