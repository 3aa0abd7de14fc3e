"""EM over the documents, from topics that a recovery found. Outside the theorems."""

from __future__ import annotations

import numpy as np

from ..moments import AdmixtureUpdate
from ..passes import Blocks, accumulate

__all__ = ["refine_topics", "smoothed", "word_prior"]

_PROPORTION_PRIOR, _WORD_PRIOR = 0.05, 0.01  # pseudo-counts: of a topic in a document, of a word in a topic on average
_FIRST, _LATER = 10, 3  # iterations of the proportions in the first pass and in the later ones, which start warm


def refine_topics(
    topics: np.ndarray,
    blocks: Blocks,
    word_probabilities: np.ndarray,
    n_passes: int,
    *,
    dirichlet: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Topics, shape (K, V), after ``n_passes`` EM passes over the documents, at least one, and mean proportions (K,).

    With the Dirichlet parameters of the proportions, shape (K,), words are attributed without their own share (see
    `AdmixtureUpdate`); without them proportions are point estimates under a small pseudo-count. Proportions of all
    documents are held in float32 from pass to pass, n_documents x K.
    """
    k = len(topics)
    alpha = np.full(k, _PROPORTION_PRIOR) if dirichlet is None else dirichlet
    prior = word_prior(word_probabilities)
    proportions = np.full((blocks.n_rows, k), 1.0 / k, dtype=np.float32)
    topics = smoothed(topics, word_probabilities, 1e-6)
    for step in range(n_passes):
        update = AdmixtureUpdate(topics, alpha, proportions, _LATER if step else _FIRST, dirichlet is not None)
        label = progress and f"refining {step + 1} of {n_passes}"
        topics = update.updated_topics(accumulate(blocks, update, n_jobs, progress=label), prior)
    return topics, update.shares()


def word_prior(word_probabilities: np.ndarray) -> np.ndarray:
    """Pseudo-counts of every word in a topic, 0.01 on average, shape (V,)."""
    return _WORD_PRIOR * len(word_probabilities) * _positive(word_probabilities)


def smoothed(topics: np.ndarray, word_probabilities: np.ndarray, weight: float) -> np.ndarray:
    """Topics mixed with the word frequencies, and these with a uniform pinch, so that every word is possible."""
    return (1 - weight) * topics + weight * _positive(word_probabilities)


def _positive(word_probabilities: np.ndarray) -> np.ndarray:
    return 0.999 * word_probabilities + 0.001 / len(word_probabilities)
