"""EM over the documents, from topics that a recovery found. Outside the theorems."""

from __future__ import annotations

import numpy as np

from ..likelihood import AdmixtureUpdate, Proportions, Refinement, over, refine
from ..passes import Blocks

__all__ = ["refine_topics", "smoothed", "word_prior"]

_PROPORTION_PRIOR, _WORD_PRIOR = 0.05, 0.01  # pseudo-counts: of a topic in a document, of a word in a topic on average


def refine_topics(
    topics: np.ndarray,
    blocks: Blocks,
    word_frequencies: np.ndarray,
    n_passes: int,
    *,
    dirichlet: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[np.ndarray, np.ndarray, Refinement]:
    """Topics, shape (K, V), after ``n_passes`` EM passes over the documents, at least one, and mean proportions (K,).

    With the Dirichlet parameters of the proportions, shape (K,), words are attributed without their own share (see
    `AdmixtureUpdate`); without them proportions are point estimates under a small pseudo-count. Proportions of all
    documents are held in float32 from pass to pass, n_documents x K.
    """
    k = len(topics)
    alpha = np.full(k, _PROPORTION_PRIOR) if dirichlet is None else dirichlet
    prior = word_prior(word_frequencies)
    proportions = Proportions(np.full((blocks.n_rows, k), 1.0 / k, dtype=np.float32))
    start = smoothed(topics, word_frequencies, 1e-6)
    update = AdmixtureUpdate(start, alpha, proportions, leave_one_out=dirichlet is not None, prior=prior)
    refinement = refine(update, over(blocks, n_jobs, progress), n_passes)
    return refinement.values[0], proportions.shares(), refinement


def word_prior(word_frequencies: np.ndarray) -> np.ndarray:
    """Pseudo-counts of every word in a topic, 0.01 on average, shape (V,)."""
    return _WORD_PRIOR * len(word_frequencies) * _positive(word_frequencies)


def smoothed(topics: np.ndarray, word_frequencies: np.ndarray, weight: float) -> np.ndarray:
    """Topics mixed with the word frequencies, and these with a uniform pinch, so that every word is possible."""
    return (1 - weight) * topics + weight * _positive(word_frequencies)


def _positive(word_frequencies: np.ndarray) -> np.ndarray:
    return 0.999 * word_frequencies + 0.001 / len(word_frequencies)
