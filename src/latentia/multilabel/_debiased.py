"""The generative parameters without the biases of Algorithm 1: moments of different words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

_OVERSAMPLE = 12
_WORDS = 1 << 14
_ROUNDS = 2
_LEAST_ROOT = 1e-6
_LEAST_SHARE = 0.1  # of 1 / K, below which the weight of a topic is noise
_FEW, _MOST_COMPLETIONS, _SETTLED = 20, 10, 1e-3
_ITERATIONS = 40  # components that stand out of the noise are settled by then, and the others never are


@dataclass(frozen=True)
class DebiasedTopics:
    """Topics from moments of different words of a document, in coordinates of even noise, in passes that others share.

    Attributes
    ----------
    n_components : int
    """

    n_components: int

    def recover(
        self, documents: Documents, beside: Sequence[Plan], folds: Folds
    ) -> tuple[Recovered | LatentiaError, list[Any]]:
        """See `Recovery`."""
        *results, found = documents.passes.follow([*beside, _plan(documents, self.n_components, folds)])
        return found, results


def _plan(documents: Documents, n_components: int, folds: Folds) -> Plan:
    """Plan of four passes whose result is `Recovered`, or the `LatentiaError` that says why there are no such topics."""
    seen, factors = documents.seen, Factors(falling=not documents.occurrences)
    overall, n_jobs = documents.words, documents.passes.n_jobs
    words, codes = frequent_words(seen.document_frequency, _WORDS)
    scale = 1 / np.sqrt(seen.document_frequency[words] / seen.n_rows)[:, None]
    width = min(n_components + _OVERSAMPLE, len(words))
    basis = cholesky_qr(np.random.default_rng(folds.seed).standard_normal((len(words), width)))
    for _ in range(_ROUNDS):
        # With its diagonal M_2 is positive, and in these coordinates for occurrences the diagonal is one.
        ((products, _),) = yield [OccurrenceProducts((scale * basis).astype(np.float32), codes, factors)]
        basis = cholesky_qr(scale * products)
    moments = OccurrenceMoments(scale * basis, codes, factors, folds, single=True)
    (sums,) = yield [moments]
    parts = PartMoments(moments, sums, words, overall[words], n_jobs)
    try:
        fit = _completed(parts, n_components)
    except LatentiaError as error:
        return error
    everyone = parts.of(folds.all)
    rotation, roots = _directions(fit, everyone)
    order = np.argsort(-roots, kind="stable")
    roots, directions = roots[order], moments.coordinates @ rotation[:, order]
    ((crossed, labels),) = yield [TopicMoments(directions.astype(np.float32), codes, factors, len(seen.label_counts))]
    crossed[words] -= sums.twice.sum(axis=0)[:, None] * directions
    n_pairs = sums.documents[:, 1].sum()
    if parts.diagonal is not None:
        crossed[words] += n_pairs * parts.diagonal.pairs[:, None] * directions
    crossed /= n_pairs * roots  # in place: there may be millions of words
    labels /= n_pairs
    if parts.diagonal is not None:
        labels = _with_diagonal(labels, crossed[words], roots, directions)
    topics = _probabilities(Topics(crossed.T, labels.T, roots**2), overall, factors, n_components)
    return Recovered(topics, fit.whitening.spectrum, fit.weights, fit.info, float((roots**2).sum()), parts, fit)


def _probabilities(p: Topics, overall: np.ndarray, factors: Factors, n_components: int) -> Topics:
    """Probabilities from estimates, which are changed; ``overall`` are those of the words in all documents."""
    # A topic whose share is noise has probabilities out of all bounds: its share is lifted.
    shares = np.maximum(p.weights, _LEAST_SHARE / n_components)
    np.multiply(p.words, np.sqrt(p.weights / shares)[:, None], out=p.words)
    np.clip(p.words, 0, 1, out=p.words)
    p.words[p.words.sum(axis=1) == 0] = overall  # a topic of noise alone
    np.clip(p.labels, 0, 1, out=p.labels)
    return Topics(distributions(p.words, overall) if factors.falling else p.words, p.labels, shares / shares.sum())


def _completed(parts: PartMoments, n_components: int) -> WhitenedDecomposition:
    """Decompose the moments of all documents, with the diagonal that their own topics say they have.

    Occurrences have moments of different words only. The diagonal of the model is found with the topics in turn: a few
    rounds where topics are few, and one where a round is dear and words are many, so that the diagonal is little.
    """
    groups, seed = parts.folds.all, parts.folds.seed
    fit = _decomposed(parts.of(groups), n_components, seed)
    if parts.moments.factors.falling:
        return fit
    for _ in range(_MOST_COMPLETIONS if n_components <= _FEW else 1):
        moments = parts.of(groups)
        directions, roots = _directions(fit, moments)
        words, weights = _bounded(moments.sketch @ directions / roots, roots)
        old, parts.diagonal = parts.diagonal, diagonal_moments(parts.moments.coordinates, words, weights, parts.n_jobs)
        fit = _decomposed(parts.of(groups), n_components, seed)
        if old is not None and np.abs(parts.diagonal.pairs - old.pairs).sum() < _SETTLED * old.pairs.sum():
            break
    return fit


def _bounded(words: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Word probabilities (F, K) and weights (K,) within bounds; weights that are noise are lifted."""
    lifted = np.maximum(roots, np.sqrt(_LEAST_SHARE / len(roots)))
    return np.clip(words * (roots / lifted), 0, 1), lifted**2 / (lifted**2).sum()


def _with_diagonal(labels: np.ndarray, words: np.ndarray, roots: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Label probabilities (L, K) from their moments with pairs of different words.

    These are gamma_j - sum_k gamma_k pi_k sum_v mu_kv^2 g_vj^2: a linear system of size K.
    """
    bounded, weights = _bounded(words, roots)
    own = weights[:, None] * ((bounded**2).T @ directions**2)
    return np.linalg.solve((np.eye(len(roots)) - own).T, labels.T).T


def of_part(parts: PartMoments, groups: Sequence[int], n_components: int, labels: np.ndarray) -> Topics:
    """Topics from the documents of some groups: of the frequent words, (K, F), and with the given labels for all, (L,)."""
    part = parts.of(groups)
    fit = _decomposed(part, n_components, parts.folds.seed)
    directions, roots = _directions(fit, part)
    words = (part.sketch @ directions).T / roots[:, None]
    found = Topics(words, np.tile(labels, (len(roots), 1)), roots**2)
    return _probabilities(found, parts.overall, parts.moments.factors, n_components)


def _decomposed(moments: WordMoments, n_components: int, random_state: int) -> WhitenedDecomposition:
    """Decompose the moments of all documents or of a part.

    Where pairs of different words carry fewer components than asked for, as much of the diagonal is kept as lifts the
    last eigenvalue to the size of the noise.
    """
    values = np.linalg.eigvalsh(moments.second)
    if not values[-1] > 0 or not moments.third.any():
        raise LatentiaError("No two different words occur together more often than by chance: there are no topics.")
    kept = max(0.0, -values[0] - values[-n_components])
    second = moments.second + kept * np.eye(len(values))
    with single_blas_thread():  # hundreds of small products and singular values, for which threads only wait
        return decompose_whitened(second, moments.third, n_components, random_state, n_init=1, max_iter=_ITERATIONS)


def _directions(fit: WhitenedDecomposition, moments: WordMoments) -> tuple[np.ndarray, np.ndarray]:
    """W v_k in columns, (b, K), and the roots of the weights, E[z]^T W v_k, (K,)."""
    directions = fit.whitening.matrix @ fit.vectors.T
    roots = moments.first @ directions
    if len(roots) == 1:  # no tensor has settled the sign
        directions, roots = directions * np.sign(roots), np.abs(roots)
    return directions, np.maximum(roots, _LEAST_ROOT)
