"""Topics without the bias of Algorithm 1, from moments of different words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..linalg import cholesky_qr
from ..moments import WordMoments
from ..passes import Folds, Plan
from ..simplex import distributions
from ..system.threads import single_blas_thread
from ..tensor import WhitenedDecomposition, decompose_whitened
from ._documents import Documents
from ._parts import PartMoments
from ._topics import Recovered, Topics
from .moments import Factors, OccurrenceMoments, OccurrenceProducts, TopicMoments, diagonal_moments, frequent_words

_OVERSAMPLE = 12  # coordinates beyond the number of topics
_MAX_WORDS = 1 << 14  # most frequent words, which have coordinates
_ROUNDS = 2  # rounds of the subspace iteration
_MIN_ROOT = 1e-6  # smallest root of a weight
_MIN_SHARE = 0.1  # weight of a topic, in units of 1 / K, below which it is noise
_MAX_COMPLETED_TOPICS = 20  # topics up to which the diagonal is completed in several rounds
_MAX_COMPLETIONS, _COMPLETION_TOL = 10, 1e-3  # rounds of completion, and change at which they end
_MAX_POLAR_STEPS = 40  # components above the noise have converged by then; the others never do


def recover_topics(
    documents: Documents, n_components: int, other_plans: Sequence[Plan], folds: Folds
) -> tuple[Recovered | LatentiaError, list[Any]]:
    """Recover topics from moments of different words of a document, in coordinates of even noise.

    Returns
    -------
    topics : Recovered or LatentiaError
        The error says why the documents carry no such topics.
    results : list
        Those of the other plans, which share the passes.
    """
    *results, topics = documents.passes.follow([*other_plans, _plan(documents, n_components, folds)])
    return topics, results


def _plan(documents: Documents, n_components: int, folds: Folds) -> Plan:
    """Plan four passes whose result is `Recovered`, or the `LatentiaError` that says why there are no such topics."""
    counts, factors = documents.counts, Factors(falling=not documents.occurrences)
    overall, n_jobs = documents.words, documents.passes.n_jobs
    words, codes = frequent_words(counts.document_frequency, _MAX_WORDS)
    scale = 1 / np.sqrt(counts.document_frequency[words] / counts.n_rows)[:, None]
    width = min(n_components + _OVERSAMPLE, len(words))
    basis = cholesky_qr(np.random.default_rng(folds.seed).standard_normal((len(words), width)))
    for _ in range(_ROUNDS):
        # With its diagonal M_2 is positive; for occurrences the diagonal is one in these coordinates.
        ((products, _),) = yield [OccurrenceProducts((scale * basis).astype(np.float32), codes, factors)]
        basis = cholesky_qr(scale * products)
    moments = OccurrenceMoments(scale * basis, codes, factors, folds, single=True)
    (sums,) = yield [moments]
    parts = PartMoments(moments, sums, words, overall[words], n_jobs)
    try:
        fit = _complete_diagonal(parts, n_components)
    except LatentiaError as error:
        return error
    all_documents = parts.combine(folds.all)
    rotation, roots = _directions(fit, all_documents)
    order = np.argsort(-roots, kind="stable")
    roots, directions = roots[order], moments.coordinates @ rotation[:, order]
    ((crossed, labels),) = yield [TopicMoments(directions.astype(np.float32), codes, factors, len(counts.label_counts))]
    crossed[words] -= sums.twice.sum(axis=0)[:, None] * directions
    n_pairs = sums.documents[:, 1].sum()
    if parts.diagonal is not None:
        crossed[words] += n_pairs * parts.diagonal.pairs[:, None] * directions
    crossed /= n_pairs * roots  # in place: there may be millions of words
    labels /= n_pairs
    if parts.diagonal is not None:
        labels = _correct_labels(labels, crossed[words], roots, directions)
    topics = _probabilities(Topics(crossed.T, labels.T, roots**2), overall, factors, n_components)
    return Recovered(topics, fit.whitening.spectrum, fit.weights, fit.info, float((roots**2).sum()), parts, fit)


def _probabilities(estimates: Topics, overall: np.ndarray, factors: Factors, n_components: int) -> Topics:
    """Turn estimates into probabilities, in place; ``overall`` are the word probabilities of all documents."""
    # If the share of a topic is noise, its probabilities are far too large: raise the share.
    shares = np.maximum(estimates.weights, _MIN_SHARE / n_components)
    np.multiply(estimates.words, np.sqrt(estimates.weights / shares)[:, None], out=estimates.words)
    np.clip(estimates.words, 0, 1, out=estimates.words)
    estimates.words[estimates.words.sum(axis=1) == 0] = overall  # the topic is noise
    np.clip(estimates.labels, 0, 1, out=estimates.labels)
    return Topics(
        distributions(estimates.words, overall) if factors.falling else estimates.words,
        estimates.labels,
        shares / shares.sum(),
    )


def _complete_diagonal(parts: PartMoments, n_components: int) -> WhitenedDecomposition:
    """Decompose the moments of all documents, completed by the diagonal of the topics.

    Occurrences have moments of different words only. The diagonal of the model and the topics are computed in turn: up to ten
    rounds with few topics, and one with many, where a round is expensive and the diagonal is small.
    """
    groups, seed = parts.folds.all, parts.folds.seed
    fit = _decompose(parts.combine(groups), n_components, seed)
    if parts.moments.factors.falling:
        return fit
    for _ in range(_MAX_COMPLETIONS if n_components <= _MAX_COMPLETED_TOPICS else 1):
        moments = parts.combine(groups)
        directions, roots = _directions(fit, moments)
        words, weights = _clip_to_bounds(moments.sketch @ directions / roots, roots)
        last_diagonal = parts.diagonal
        parts.diagonal = diagonal_moments(parts.moments.coordinates, words, weights, parts.n_jobs)
        fit = _decompose(parts.combine(groups), n_components, seed)
        if (
            last_diagonal is not None
            and np.abs(parts.diagonal.pairs - last_diagonal.pairs).sum() < _COMPLETION_TOL * last_diagonal.pairs.sum()
        ):
            break
    return fit


def _clip_to_bounds(words: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Clip word probabilities (F, K) and weights (K,) to their bounds; raise weights that are noise."""
    lifted = np.maximum(roots, np.sqrt(_MIN_SHARE / len(roots)))
    return np.clip(words * (roots / lifted), 0, 1), lifted**2 / (lifted**2).sum()


def _correct_labels(labels: np.ndarray, words: np.ndarray, roots: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return label probabilities (L, K) from their moments with pairs of different words.

    The moments are gamma_j - sum_k gamma_k pi_k sum_v mu_kv^2 g_vj^2: a linear system of size K.
    """
    bounded, weights = _clip_to_bounds(words, roots)
    diagonal_part = weights[:, None] * ((bounded**2).T @ directions**2)
    return np.linalg.solve((np.eye(len(roots)) - diagonal_part).T, labels.T).T


def recover_part(parts: PartMoments, groups: Sequence[int], n_components: int, labels: np.ndarray) -> Topics:
    """Recover topics of some groups of documents: frequent words alone, (K, F), and the same labels for all topics, (L,)."""
    part = parts.combine(groups)
    fit = _decompose(part, n_components, parts.folds.seed)
    directions, roots = _directions(fit, part)
    words = (part.sketch @ directions).T / roots[:, None]
    estimates = Topics(words, np.tile(labels, (len(roots), 1)), roots**2)
    return _probabilities(estimates, parts.overall, parts.moments.factors, n_components)


def _decompose(moments: WordMoments, n_components: int, random_state: int) -> WhitenedDecomposition:
    """Decompose the moments of all documents or of a part.

    If pairs of different words carry too few components, a diagonal is added that raises the last eigenvalue to the noise.
    """
    values = np.linalg.eigvalsh(moments.second)
    if not values[-1] > 0 or not moments.third.any():
        raise LatentiaError(
            "No two different words occur together more often than by chance: there are no topics. Use topics=False."
        )
    diagonal = max(0.0, -values[0] - values[-n_components])
    second = moments.second + diagonal * np.eye(len(values))
    with single_blas_thread():  # hundreds of small products and decompositions, which threads only slow down
        return decompose_whitened(
            second, moments.third, n_components, random_state, n_init=1, max_iter=_MAX_POLAR_STEPS
        )


def _directions(fit: WhitenedDecomposition, moments: WordMoments) -> tuple[np.ndarray, np.ndarray]:
    """Return W v_k in columns, (b, K), and the roots of the weights, E[z]^T W v_k, (K,)."""
    directions = fit.whitening.matrix @ fit.vectors.T
    roots = moments.first @ directions
    if len(roots) == 1:  # the tensor does not determine the sign
        directions, roots = directions * np.sign(roots), np.abs(roots)
    return directions, np.maximum(roots, _MIN_ROOT)
