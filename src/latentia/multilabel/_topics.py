"""The generative parameters: Algorithm 1 as it is printed, and without its biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._threads import one_blas_thread
from ..exceptions import LatentiaError
from ..linalg import block_krylov_eigh, cholesky_qr
from ..moments import (
    DiagonalMoments,
    Factors,
    LabelledSums,
    OccurrenceCubes,
    OccurrenceMoments,
    OccurrenceProducts,
    OccurrenceSums,
    TopicMoments,
    WordMoments,
    diagonal_moments,
    frequent_words,
)
from ..moments.products import mirror_cube
from ..passes import Plan, RowGroups
from ..simplex import distributions
from ..tensor import WhitenedDecomposition, decompose, decompose_whitened

__all__ = [
    "SMOOTHING",
    "Parameters",
    "PartMoments",
    "Recovered",
    "algorithm_1",
    "debiased",
    "of_part",
    "overall_words",
    "probabilities",
]

SMOOTHING = 0.05  # share of the overall frequencies in word and label probabilities that a posterior is taken of
_OVERSAMPLE = 12
_WORDS = 1 << 14
_ROUNDS = 2
_KRYLOV = 6
_LEAST_ROOT = 1e-6
_LEAST_SHARE = 0.1  # of 1 / K, below which the weight of a topic is noise
_LEAST_WORD = 1e-10  # probability, of the algorithm as printed
_FEW, _MOST_COMPLETIONS, _SETTLED = 20, 10, 1e-3
_ITERATIONS = 40  # components that stand out of the noise are settled by then, and the others never are


@dataclass(frozen=True)
class Parameters:
    """A mixture of labelled documents: word probabilities (K, D), label probabilities (K, L), weights (K,), descending."""

    words: np.ndarray
    labels: np.ndarray
    weights: np.ndarray

    def sorted(self) -> Parameters:
        """The same, the largest weight first."""
        order = np.argsort(-self.weights, kind="stable")
        return Parameters(self.words[order], self.labels[order], self.weights[order])


@dataclass(frozen=True)
class Recovered:
    """Parameters and what they were found from.

    Attributes
    ----------
    parameters : Parameters
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
    whitening : ndarray of shape (b, K) or None
        W of the second moment in coordinates.
    """

    parameters: Parameters
    spectrum: np.ndarray
    weights: np.ndarray
    info: Any
    total: float
    parts: PartMoments | None = None
    whitening: np.ndarray | None = None


@dataclass
class PartMoments:
    """Moments of groups of documents, each computed once.

    Attributes
    ----------
    words : ndarray of int, shape (F,)
        The frequent words that have coordinates.
    overall : ndarray of shape (F,)
        Their frequencies in all documents, on the scale of their probabilities.
    diagonal : DiagonalMoments or None
        What is added to the moments of different words.
    """

    moments: OccurrenceMoments
    sums: OccurrenceSums
    words: np.ndarray
    overall: np.ndarray
    n_jobs: int | None = None
    diagonal: DiagonalMoments | None = None
    _cubes: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def dealt(self) -> RowGroups:
        return self.moments.dealt

    def of(self, groups: Sequence[int]) -> WordMoments:
        """Moments of the documents of some groups together."""
        found = self.moments.of(self.sums, groups, self._cube(tuple(groups)))
        return self.diagonal.added_to(found, self.moments.coordinates) if self.diagonal else found

    def _cube(self, groups: tuple[int, ...]) -> np.ndarray:
        if groups not in self._cubes:
            parts = self.dealt.splits[0] if groups == self.dealt.all and self.dealt.splits else ()  # sums add up
            self._cubes[groups] = (
                self._cube(parts[0]) + self._cube(parts[1])
                if parts
                else self.moments.cube(self.sums, groups, self.n_jobs)
            )
        return self._cubes[groups]


def algorithm_1(
    accumulate: Callable[[Any], Any], seen: LabelledSums, n_components: int, method: Any, random_state: int
) -> Recovered:
    """The paper's Algorithm 1. ``accumulate`` sums a statistic in one pass."""
    every, once = np.arange(len(seen.document_frequency), dtype=np.int32), Factors(falling=False)

    def second_moment(columns: np.ndarray) -> np.ndarray:
        return accumulate(OccurrenceProducts(columns, every, once))[0] / seen.powers[1]

    # Steps 1 to 3: eigenvectors of M_2 and the whitening matrix.
    values, vectors = block_krylov_eigh(
        second_moment, len(every), n_components, n_passes=_KRYLOV, random_state=random_state
    )
    _check_rank(values, n_components)
    vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
    whitening, inverse = vectors / np.sqrt(values), vectors * np.sqrt(values)
    # Steps 4 and 5: the whitened third moment and its eigenvectors.
    cube = mirror_cube(accumulate(OccurrenceCubes(whitening, every))) / seen.powers[2]
    weights, rotation, info = decompose(cube, n_components, random_state, method=method)
    weights, rotation = weights[::-1], rotation[::-1]  # pi = lambda^-2: the largest first
    # Steps 6 and 7: words. Eigenvectors have positive eigenvalues, so that their signs are settled.
    words = rotation @ inverse.T
    words /= words.sum(axis=1, keepdims=True)
    np.maximum(words, _LEAST_WORD, out=words)
    # Steps 8 and 9: labels.
    crossed = TopicMoments(whitening @ rotation.T, every, once, len(seen.label_counts), diagonal=True, words=False)
    labels = accumulate(crossed)[1].T
    labels /= labels.sum(axis=1, keepdims=True)
    shares = weights**-2.0
    found = Parameters(words, labels, shares / shares.sum())
    return Recovered(found, values, weights, info, float(shares.sum()))


def debiased(
    seen: LabelledSums, factors: Factors, n_components: int, dealt: RowGroups, n_jobs: int | None = None
) -> Plan:
    """Plan of four passes whose result is `Recovered`: moments of different words, in coordinates of even noise.

    The seed of ``dealt`` is also that of the decomposition. If the moments carry no such number of topics, the result is
    the `LatentiaError` that says why.
    """
    words, codes = frequent_words(seen.document_frequency, _WORDS)
    scale = 1 / np.sqrt(seen.document_frequency[words] / seen.n_rows)[:, None]
    width = min(n_components + _OVERSAMPLE, len(words))
    basis = cholesky_qr(np.random.default_rng(dealt.seed).standard_normal((len(words), width)))
    for _ in range(_ROUNDS):
        # With its diagonal M_2 is positive, and in these coordinates for occurrences the diagonal is one.
        ((products, _),) = yield [OccurrenceProducts(scale * basis, codes, factors)]
        basis = cholesky_qr(scale * products)
    moments = OccurrenceMoments(scale * basis, codes, factors, dealt)
    (sums,) = yield [moments]
    overall = overall_words(seen, factors.falling)
    parts = PartMoments(moments, sums, words, overall[words], n_jobs)
    try:
        fit = _completed(parts, n_components)
    except LatentiaError as error:
        return error
    everyone = parts.of(dealt.all)
    rotation, roots = _directions(fit, everyone)
    order = np.argsort(-roots, kind="stable")
    roots, directions = roots[order], moments.coordinates @ rotation[:, order]
    ((crossed, labels),) = yield [TopicMoments(directions, codes, factors, len(seen.label_counts))]
    crossed[words] -= sums.twice.sum(axis=0)[:, None] * directions
    n_pairs = sums.documents[:, 1].sum()
    if parts.diagonal is not None:
        crossed[words] += n_pairs * parts.diagonal.pairs[:, None] * directions
    crossed /= n_pairs * roots  # in place: there may be millions of words
    labels /= n_pairs
    if parts.diagonal is not None:
        labels = _with_diagonal(labels, crossed[words], roots, directions)
    found = probabilities(Parameters(crossed.T, labels.T, roots**2), overall, factors, n_components)
    return Recovered(
        found, fit.whitening.spectrum, fit.weights, fit.info, float((roots**2).sum()), parts, fit.whitening.matrix
    )


def probabilities(p: Parameters, overall: np.ndarray, factors: Factors, n_components: int) -> Parameters:
    """Probabilities from estimates, which are changed; ``overall`` are those of the words in all documents."""
    # A topic whose share is noise has probabilities out of all bounds: its share is lifted.
    shares = np.maximum(p.weights, _LEAST_SHARE / n_components)
    np.multiply(p.words, np.sqrt(p.weights / shares)[:, None], out=p.words)
    np.clip(p.words, 0, 1, out=p.words)
    p.words[p.words.sum(axis=1) == 0] = overall  # a topic of noise alone
    np.clip(p.labels, 0, 1, out=p.labels)
    return Parameters(distributions(p.words, overall) if factors.falling else p.words, p.labels, shares / shares.sum())


def overall_words(seen: LabelledSums, normalised: bool) -> np.ndarray:
    """Share of the documents with each word, shape (D,), or these divided by their sum."""
    shares = seen.document_frequency / seen.n_rows
    return shares / shares.sum() if normalised else shares


def _completed(parts: PartMoments, n_components: int) -> WhitenedDecomposition:
    """Decompose the moments of all documents, with the diagonal that their own topics say they have.

    Occurrences have moments of different words only. The diagonal of the model is found with the topics in turn: a few
    rounds where topics are few, and one where a round is dear and words are many, so that the diagonal is little.
    """
    groups, seed = parts.dealt.all, parts.dealt.seed
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


def of_part(parts: PartMoments, groups: Sequence[int], n_components: int, labels: np.ndarray) -> Parameters:
    """Parameters from the documents of some groups: of the frequent words, (K, F), and with the given labels for all, (L,)."""
    part = parts.of(groups)
    fit = _decomposed(part, n_components, parts.dealt.seed)
    directions, roots = _directions(fit, part)
    words = (part.sketch @ directions).T / roots[:, None]
    found = Parameters(words, np.tile(labels, (len(roots), 1)), roots**2)
    return probabilities(found, parts.overall, parts.moments.factors, n_components)


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
    with one_blas_thread():  # hundreds of small products and singular values, for which threads only wait
        return decompose_whitened(second, moments.third, n_components, random_state, n_starts=1, max_iter=_ITERATIONS)


def _directions(fit: WhitenedDecomposition, moments: WordMoments) -> tuple[np.ndarray, np.ndarray]:
    """W v_k in columns, (b, K), and the roots of the weights, E[z]^T W v_k, (K,)."""
    directions = fit.whitening.matrix @ fit.vectors.T
    roots = moments.first @ directions
    if len(roots) == 1:  # no tensor has settled the sign
        directions, roots = directions * np.sign(roots), np.abs(roots)
    return directions, np.maximum(roots, _LEAST_ROOT)


def _check_rank(values: np.ndarray, n_components: int) -> None:
    rank = int((values > len(values) * np.finfo(float).eps * values[0]).sum())
    if rank < n_components:
        raise LatentiaError(
            f"the words of the documents span {rank} directions, which carry at most that many topics.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
