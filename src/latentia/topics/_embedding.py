"""Rows of the co-occurrence matrix in few dimensions.

All that anchors and recovery need of Q is one sketch Y = Q S with a test matrix S of few columns: rows of D^-1 Y, with
D = diag(Q 1), are the conditional distributions of the thesis seen through S, and R = A^+ Q A^+T is A^+ Y (A^T S)^+.

subspace
    S = D^-1/2 U, with U the leading eigenvectors of D^-1/2 Q D^-1/2, the scaling under which the sampling noise of Q
    has about the same size everywhere. U comes from subspace iteration; Y falls out of its last pass.
projection
    S random, as the thesis has it (Alg. 4.3).

With documents in groups the last pass gives the sketch of every group, hence of halves of the data, and their
difference is the noise of every row. A half is given the leading directions of its own Q inside the common basis.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from ..linalg import subspace_iteration
from ..moments import Cooccurrence
from ._corpus import DocumentSample

__all__ = ["Embedding", "GroupSketches", "exact", "projection", "subspace"]

_OVERSAMPLE = 28
_PASSES = 3
_PROJECTED = 1000


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
        Expected squared error of row w of D^-1 Y, times p_w, for most words; 0 where it is not known.
    excess : ndarray of shape (V,)
        How many times larger the error of a row is: above 1 for words that come in bursts.
    spectrum : ndarray
        Leading eigenvalues of D^-1/2 Q D^-1/2, descending; empty for a projection.
    """

    sketch: np.ndarray
    test: np.ndarray
    marginal: np.ndarray
    noise: float = 0.0
    excess: np.ndarray | float = 1.0
    spectrum: np.ndarray = field(default_factory=lambda: np.empty(0))

    @property
    def rows(self) -> np.ndarray:
        """D^-1 Y, shape (V, d); zero for words that never occur."""
        return self.sketch * _inverse(self.marginal)[:, None]

    @property
    def row_noise(self) -> np.ndarray:
        """Expected squared error of every row, shape (V,)."""
        return self.noise * self.excess * _inverse(self.marginal)

    def shrunk_rows(self) -> np.ndarray:
        """Rows drawn towards their mean by signal / (signal + noise): the best guess of where each row truly is.

        The farthest among rows as they are would be the noisiest, a rare word; among these it is an extreme one.
        """
        rows, noise = self.rows, self.row_noise
        centre = self.marginal @ rows
        signal = self.marginal @ ((rows - centre) ** 2).sum(axis=1) - self.marginal @ noise
        if self.noise <= 0 or signal <= 0:
            return rows
        return centre + (signal / (signal + noise))[:, None] * (rows - centre)

    def noise_edge(self) -> float:
        """Largest eigenvalue that noise alone would give D^-1/2 Q D^-1/2.

        Its entries have variance noise / K in K dimensions, so its spectrum fills a semicircle of radius
        2 sqrt(V noise / K).
        """
        return 2.0 * float(np.sqrt(np.count_nonzero(self.marginal) * self.noise / self.sketch.shape[1]))

    def topic_moment(self, topics: np.ndarray) -> np.ndarray:
        """R = A^+ Q A^+T, shape (K, K), for topics in rows, shape (K, V): positive semidefinite, sums to one."""
        # A^+ by its K x K Gram matrix: topics are far from parallel, and a singular value decomposition of V x K is slow.
        left = np.linalg.pinv(topics @ topics.T, hermitian=True) @ (topics @ self.sketch)
        moment = left @ np.linalg.pinv(topics @ self.test)
        return _valid_moment((moment + moment.T) / 2)


@dataclass(frozen=True)
class GroupSketches:
    """Sketches of groups of documents from one pass, from which those of several groups together are made.

    The same pass takes a sample of the documents.

    Attributes
    ----------
    q : Cooccurrence
    documents : csr_array of shape (about 300, V)
    products : ndarray of shape (G, V, k)
        Q_g S of every group g.
    test : ndarray of shape (V, k)
        S.
    """

    q: Cooccurrence
    documents: sparse.csr_array
    products: np.ndarray
    test: np.ndarray

    def embedding(self, groups: tuple[int, ...]) -> Embedding:
        """The sketch of some groups together."""
        marginal = self.q.marginal(list(groups))
        return Embedding(self.q.combine(self.products, groups), self.test, marginal)


@dataclass(frozen=True)
class SubspaceSketches(GroupSketches):
    """Sketches with S = D^-1/2 B, B orthonormal; each embedding has the leading directions of its own Q within B.

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

    def embedding(self, groups: tuple[int, ...]) -> Embedding:
        """The sketch of some groups together; half of the documents have twice the noise."""
        product = self.q.combine(self.products, groups)
        values, vectors = self.ritz(product)
        leading = vectors[:, : self.n_components]
        share = len(groups) / self.q.dealt.n
        return Embedding(
            product @ leading,
            self.test @ leading,
            self.q.marginal(list(groups)),
            self.noise / share,
            self.excess,
            values,
        )

    def ritz(self, product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, descending, and eigenvectors of B^T D^-1/2 Q D^-1/2 B."""
        small = self.basis.T @ (self.scale * product)
        values, vectors = np.linalg.eigh((small + small.T) / 2)
        return values[::-1], vectors[:, ::-1]


def subspace(q: Cooccurrence, n_components: int, random_state: int) -> GroupSketches:
    """Leading eigenspace of D^-1/2 Q D^-1/2 in three passes over the documents."""
    scale = np.sqrt(_inverse(q.marginal()))[:, None]
    width = min(n_components + _OVERSAMPLE, int(np.count_nonzero(scale)))
    start = np.random.default_rng(random_state).standard_normal((q.size, width)) * (scale > 0)
    basis = subspace_iteration(lambda block: scale * q.product(scale * block), start, _PASSES - 1)
    test = scale * basis
    sketches = SubspaceSketches(q, *_last_pass(q, test), test, basis, scale, n_components)
    noise, excess = _noise(sketches)
    return replace(sketches, noise=noise, excess=excess)


def projection(q: Cooccurrence, random_state: int) -> GroupSketches:
    """A Gaussian projection of the rows to 1000 dimensions (or V, if fewer), in one pass over the documents."""
    width = min(_PROJECTED, q.size)
    test = np.random.default_rng(random_state).standard_normal((q.size, width)) / np.sqrt(width)
    return GroupSketches(q, *_last_pass(q, test), test)


def exact(q: np.ndarray, n_components: int, embedding: str, random_state: int) -> Embedding:
    """The sketch of a co-occurrence matrix that is given, shape (V, V), scaled to sum one."""
    marginal = q.sum(axis=1)
    if embedding == "projection":
        width = min(_PROJECTED, len(q))
        test = np.random.default_rng(random_state).standard_normal((len(q), width)) / np.sqrt(width)
        return Embedding(q @ test, test, marginal)
    scale = np.sqrt(_inverse(marginal))[:, None]
    values, vectors = np.linalg.eigh(scale * q * scale.T)
    test = scale * vectors[:, ::-1][:, :n_components]
    return Embedding(q @ test, test, marginal, spectrum=values[::-1][: n_components + _OVERSAMPLE])


def _last_pass(q: Cooccurrence, test: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """A sample of the documents, and Q_g S of every group g."""
    products, pieces = q.pass_with(test, DocumentSample(len(q.blocks)))
    return sparse.csr_array(sparse.vstack(pieces, format="csr")), products


def _noise(sketches: SubspaceSketches) -> tuple[float, np.ndarray]:
    """Noise of the rows from |row of one half - row of the other|^2 / 4, averaged over splits.

    Its median over words, times p_w, and how far each word's own exceeds that.
    """
    q, products = sketches.q, sketches.products
    leading = sketches.ritz(q.combine(products, q.dealt.all))[1][:, : sketches.n_components]
    marginal, splits = q.marginal(), q.dealt.splits
    scaled = np.zeros(q.size)
    for split in splits:
        marginals = [q.marginal(list(half)) for half in split]
        first, second = (
            (q.combine(products, half) @ leading) * _inverse(p)[:, None]
            for half, p in zip(split, marginals, strict=True)
        )
        squared = ((first - second) ** 2).sum(axis=1) / (4 * len(splits))
        # A word that one half lacks has half of the squared difference missing, and nothing that vouches for it.
        scaled += squared * marginal * np.where(np.minimum(*marginals) > 0, 1.0, 4.0)
    seen = scaled > 0
    if not seen.any():
        return 0.0, np.ones(q.size)
    typical = float(np.median(scaled[seen]))
    return typical, np.maximum(scaled / typical, 1.0)


def _inverse(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, 1.0 / np.where(values > 0, values, 1.0), 0.0)


def _valid_moment(moment: np.ndarray, rounds: int = 20) -> np.ndarray:
    """A positive semidefinite matrix near ``moment``, with entries nonnegative or nearly so, scaled to sum one."""
    projected = moment
    for _ in range(rounds):
        values, vectors = np.linalg.eigh(np.maximum(projected, 0.0))
        projected = (vectors * np.maximum(values, 0)) @ vectors.T
        if projected.min() >= 0:
            break
    return projected / max(projected.sum(), np.finfo(float).tiny)
