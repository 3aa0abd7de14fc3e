"""Rows of the co-occurrence matrix in few dimensions.

Anchors and recovery need one sketch Y = Q S of Q, with a test matrix S of few columns. Rows of D^-1 Y, with D = diag(Q 1), are
the conditional distributions of the thesis seen through S, and R = A^+ Q A^+T is A^+ Y (A^T S)^+.

subspace
    S = D^-1/2 U, with the leading eigenvectors U of D^-1/2 Q D^-1/2. Under this scaling the sampling noise of Q has about the
    same size everywhere. U comes from block Krylov passes that start from the frequencies of the words, so that the result
    depends neither on a seed nor on the order of documents or words.
projection
    A random S, as in the thesis (Alg. 4.3).

The last pass also gives the noise of every row, as a sum over documents, and the sketch of every group of documents, hence of
halves of the data. A half gets the leading directions of its Q inside the common basis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..linalg import converged_eigenspace, leading_eigenspace
from ..moments import Cooccurrence
from ..passes import Folds
from ._corpus import DocumentSample

_OVERSAMPLE = 28  # Dimensions of the basis beyond the number of topics.
_PROJECTION_WIDTH = 1000
_TOLERANCE = 0.03  # Residual of an eigenvector, as a share of the last eigenvalue.
_PASS_LIMITS = (2, 12)  # Fewest and most passes of subspace iteration.
_MAX_WORK_IN_MEMORY = (
    3e8  # Up to this many stored counts times columns, counts are in memory and the eigenspace is exact.
)
_MAX_WORK = 4e9  # From this many stored counts times columns on, passes are the fewest.
_MAX_BASIS = 1 << 25  # Numbers of the basis in memory.
_WAVE_NUMBER = 1e4  # Frequencies that differ in the third digit give very different starts.
_TIE_BREAK = 1e-9  # Size of the random numbers that distinguish words with the same frequencies.
_MIN_NOISE = 0.5  # Relative to the median, because rows of few documents underestimate their noise.
_NOISE_OF_ONE_DOCUMENT = 4.0  # Relative to the median.


@dataclass(frozen=True)
class Embedding:
    """The sketch of a co-occurrence matrix.

    Attributes
    ----------
    sketch : ndarray of shape (V, d)
        Y = Q S.
    test : ndarray of shape (V, d)
        S.
    marginal : ndarray of shape (V,)
        p = Q 1.
    noise : float
        Expected squared error of row w of D^-1 Y, times p_w, for a typical word; 0 if unknown.
    excess : ndarray of shape (V,)
        Ratio of the error of a row to the typical one: above 1 for words that come in bursts.
    spectrum : ndarray
        Leading eigenvalues of D^-1/2 Q D^-1/2, descending; empty for a projection.
    """

    sketch: Annotated[np.ndarray, of.numbers("W D")]
    test: Annotated[np.ndarray, of.numbers("W D")]
    marginal: Annotated[np.ndarray, of.shares("W")]
    noise: Annotated[float, of.number(0.0)] = 0.0
    excess: Annotated[np.ndarray | float, of.Field("W", low=0.0, number=True)] = 1.0
    spectrum: Annotated[np.ndarray, of.numbers("*")] = field(default_factory=lambda: np.empty(0))

    @property
    def rows(self) -> np.ndarray:
        """D^-1 Y, shape (V, d); zero for words that never occur."""
        return self.sketch * _safe_inverse(self.marginal)[:, None]

    @property
    def row_noise(self) -> np.ndarray:
        """Expected squared error of every row, shape (V,)."""
        return self.noise * self.excess * _safe_inverse(self.marginal)

    def shrunk_rows(self) -> np.ndarray:
        """Shrink rows towards their mean by signal / (signal + noise), which estimates the rows without noise.

        The farthest of the raw rows would be the noisiest, a rare word; the farthest of the shrunk rows is an extreme one.
        """
        rows, noise = self.rows, self.row_noise
        centre = self.marginal @ rows
        signal = self.marginal @ ((rows - centre) ** 2).sum(axis=1) - self.marginal @ noise
        if self.noise <= 0 or signal <= 0:
            return rows
        return centre + (signal / (signal + noise))[:, None] * (rows - centre)

    def noise_edge(self) -> float:
        """Return the largest eigenvalue that noise alone would give D^-1/2 Q D^-1/2.

        Its entries have variance noise / K in K dimensions, so its spectrum fills a semicircle of radius
        2 sqrt(V noise / K).
        """
        return 2.0 * float(np.sqrt(np.count_nonzero(self.marginal) * self.noise / self.sketch.shape[1]))

    def topic_moment(self, topics: np.ndarray) -> np.ndarray:
        """Compute R = A^+ Q A^+T, shape (K, K), of topics in rows (K, V): positive semidefinite, with sum one."""
        # A^+ by the K x K Gram matrix: topics are far from parallel, and a singular value decomposition of V x K is slow.
        half_moment = np.linalg.pinv(topics @ topics.T, hermitian=True) @ (topics @ self.sketch)
        moment = half_moment @ np.linalg.pinv(topics @ self.test)
        return _valid_moment((moment + moment.T) / 2)


@dataclass(frozen=True)
class GroupSketches:
    """Sketches of groups of documents from one pass; several groups are combined on demand.

    The same pass takes a sample of the documents. If ``q`` has one sum for all documents, so that it does not depend on the
    folds, the sketches of the groups come from another pass when they are first needed.

    Attributes
    ----------
    q : Cooccurrence
    folds : Folds
        The groups.
    documents : csr_array of shape (about 300, V)
    products : ndarray of shape (G, V, k)
        Q_g S of every group g.
    test : ndarray of shape (V, k)
        S.
    """

    q: Cooccurrence
    folds: Folds
    documents: sparse.csr_array
    products: np.ndarray
    test: np.ndarray

    def embedding(self, groups: tuple[int, ...], n_components: int | None = None) -> Embedding:
        """Combine the sketches of some groups; a projection has the same dimensions for fewer topics."""
        product, marginal = self.sums(groups)
        return Embedding(product, self.test, marginal)

    def sums(self, groups: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return Q S and the row sums of Q, of some groups together."""
        if groups == self.folds.all:
            return self.q.combine(self.products, self.q.folds.all), self.q.marginal()
        q, products = self._group_products
        return q.combine(products, groups), q.marginal(list(groups))

    @property
    def n_passes(self) -> int:
        """Number of passes so far."""
        return self.q.n_passes

    @cached_property
    def _group_products(self) -> tuple[Cooccurrence, np.ndarray]:
        if self.q.folds.n == self.folds.n:
            return self.q, self.products
        q = self.q.regroup(self.folds)
        return q, q.group_products(self.test)


@dataclass(frozen=True)
class SubspaceSketches(GroupSketches):
    """Sketches with S = D^-1/2 B, B orthonormal; each embedding has the leading directions of its Q within B.

    Attributes
    ----------
    basis : ndarray of shape (V, k)
        B.
    scale : ndarray of shape (V, 1)
        D^-1/2.
    n_components : int
    noise, excess
        Of the embedding of all documents.
    """

    basis: np.ndarray
    scale: np.ndarray
    n_components: int
    noise: float = 0.0
    excess: np.ndarray | float = 1.0

    def embedding(self, groups: tuple[int, ...], n_components: int | None = None) -> Embedding:
        """Combine the sketches of some groups, in as many dimensions as there are topics.

        Half of the documents have twice the noise, which is about the same in every dimension.
        """
        product, marginal = self.sums(groups)
        values, vectors = self.ritz(product)
        leading = vectors[:, : n_components or self.n_components]
        share = len(groups) / self.folds.n * self.n_components / max(leading.shape[1], 1)
        return Embedding(
            product @ leading,
            self.test @ leading,
            marginal,
            self.noise / share,
            self.excess,
            values,
        )

    def ritz(self, product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute the eigenvalues, descending, and eigenvectors of B^T D^-1/2 Q D^-1/2 B."""
        small = self.basis.T @ (self.scale * product)
        values, vectors = np.linalg.eigh((small + small.T) / 2)
        return values[::-1], vectors[:, ::-1]


def subspace(q: Cooccurrence, n_components: int, folds: Folds | None = None) -> GroupSketches:
    """Sketch Q in the leading eigenspace of D^-1/2 Q D^-1/2: passes until it has converged, and one more."""
    folds = folds or q.folds
    scale = np.sqrt(_safe_inverse(q.marginal()))[:, None]
    width = min(n_components + _OVERSAMPLE, int(np.count_nonzero(scale)))
    start, entries = _initial_block(q, width), float(q.sums.document_frequency.sum())
    if entries * width <= _MAX_WORK_IN_MEMORY:
        product = q.build_operator()
        values, basis = converged_eigenspace(lambda v: scale[:, 0] * product(scale[:, 0] * v), start)
    else:
        values, basis = leading_eigenspace(
            lambda block: scale * q.product((scale * block).astype(np.float32)),
            start,
            min(n_components, width),
            tol=_TOLERANCE,
            n_passes=int(np.clip(_MAX_WORK / max(entries * width, 1.0), *_PASS_LIMITS)),
            most_columns=_MAX_BASIS // q.size,
        )
    test = scale * basis
    products, noise, (pieces,) = q.noisy_pass(test, values[:n_components], DocumentSample(len(q.blocks)))
    documents = sparse.csr_array(sparse.vstack(pieces, format="csr"))
    return SubspaceSketches(
        q, folds, documents, products, test, basis, scale, n_components, *_noise_levels(noise * q.marginal())
    )


def _initial_block(q: Cooccurrence, width: int) -> np.ndarray:
    """Return an initial block that does not depend on the order of the words: waves of the logarithms of their frequencies.

    Tiny random numbers by column distinguish words with the same frequencies.
    """
    rng = np.random.default_rng(0)
    sizes = q.word_sizes()
    occurs = sizes[:, :1] > 0
    logs = np.log(np.where(occurs, sizes, 1.0))
    waves = np.cos(logs @ (_WAVE_NUMBER * rng.standard_normal((sizes.shape[1], width))) + 2 * np.pi * rng.random(width))
    return np.asarray((waves + _TIE_BREAK * rng.standard_normal(waves.shape)) * occurs)


def projection(q: Cooccurrence, random_state: int, folds: Folds) -> GroupSketches:
    """Sketch Q by a Gaussian projection to 1000 dimensions, or V if fewer, in one pass over the documents."""
    test = random_columns(q.size, random_state)
    return GroupSketches(q, folds, *_pass_with_sample(q, test), test)


def random_columns(size: int, random_state: int) -> np.ndarray:
    """Draw S of a projection, shape (V, 1000), or (V, V) for fewer words."""
    width = min(_PROJECTION_WIDTH, size)
    return np.asarray(np.random.default_rng(random_state).standard_normal((size, width)) / np.sqrt(width))


def exact(q: np.ndarray, n_components: int, embedding: str, random_state: int) -> Embedding:
    """Sketch a given co-occurrence matrix of shape (V, V) and sum one."""
    marginal = q.sum(axis=1)
    if embedding == "projection":
        test = random_columns(len(q), random_state)
        return Embedding(q @ test, test, marginal)
    scale = np.sqrt(_safe_inverse(marginal))[:, None]
    values, vectors = np.linalg.eigh(scale * q * scale.T)
    test = scale * vectors[:, ::-1][:, :n_components]
    return Embedding(q @ test, test, marginal, spectrum=values[::-1][: n_components + _OVERSAMPLE])


def _pass_with_sample(q: Cooccurrence, test: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """Return a sample of the documents, and Q_g S of every group g, in one pass."""
    products, pieces = q.pass_with(test, DocumentSample(len(q.blocks)))
    return sparse.csr_array(sparse.vstack(pieces, format="csr")), products


def _noise_levels(scaled: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the median noise of the rows, times p_w, and the ratio of each word's noise to it.

    The noise of a word of a single document is not measured but assumed.
    """
    measured = scaled[scaled > 0]
    if not len(measured):
        return 0.0, np.ones(len(scaled))
    typical = float(np.median(measured))
    return typical, np.where(np.isnan(scaled), _NOISE_OF_ONE_DOCUMENT, np.maximum(scaled / typical, _MIN_NOISE))


def _safe_inverse(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, 1.0 / np.where(values > 0, values, 1.0), 0.0)


def _valid_moment(moment: np.ndarray, rounds: int = 20) -> np.ndarray:
    """Project to a positive semidefinite matrix with (nearly) nonnegative entries, and scale it to sum one."""
    projected = moment
    for _ in range(rounds):
        values, vectors = np.linalg.eigh(np.maximum(projected, 0.0))
        projected = (vectors * np.maximum(values, 0)) @ vectors.T
        if projected.min() >= 0:
            break
    return projected / max(projected.sum(), np.finfo(float).tiny)
