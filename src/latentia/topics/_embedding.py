"""Rows of the co-occurrence matrix in few dimensions.

All that anchors and recovery need of Q is one sketch Y = Q S with a test matrix S of few columns: rows of D^-1 Y, with
D = diag(Q 1), are the conditional distributions of the thesis seen through S, and R = A^+ Q A^+T is A^+ Y (A^T S)^+.

subspace
    S = D^-1/2 U, with U the leading eigenvectors of D^-1/2 Q D^-1/2, the scaling under which the sampling noise of Q
    has about the same size everywhere. U comes from block Krylov passes that start from the words' own frequencies, so
    that nothing depends on a seed, nor on the order of documents or words.
projection
    S random, as the thesis has it (Alg. 4.3).

The last pass gives the noise of every row, as a sum over documents, and, with documents in groups, the sketch of every
group, hence of halves of the data. A half is given the leading directions of its own Q inside the common basis.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..linalg import converged_eigenspace, leading_eigenspace
from ..moments import Cooccurrence
from ..passes import Folds
from ._corpus import DocumentSample

_OVERSAMPLE = 28
_PROJECTED = 1000
_ANGLE = 0.03  # residual of an eigenvector, as a share of the last eigenvalue
_PASSES = (2, 12)
_IN_MEMORY = 3e8  # stored counts times columns, up to which the counts are held and the eigenspace is exact
_WORK = 4e9  # stored counts times columns, beyond which no more than the fewest passes are made
_BASIS = 1 << 25  # numbers of the basis that are held
_WAVES = 1e4  # of a logarithm: words whose frequencies differ in the third digit start far apart
_TIES = 1e-9
_LEAST_NOISE = 0.5  # of the median: rows of few documents misjudge their own
_ONE_DOCUMENT = 4.0


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

    sketch: Annotated[np.ndarray, of.numbers("W D")]
    test: Annotated[np.ndarray, of.numbers("W D")]
    marginal: Annotated[np.ndarray, of.shares("W")]
    noise: Annotated[float, of.number(0.0)] = 0.0
    excess: Annotated[np.ndarray | float, of.Field("W", low=0.0, number=True)] = 1.0
    spectrum: Annotated[np.ndarray, of.numbers("*")] = field(default_factory=lambda: np.empty(0))

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

    The same pass takes a sample of the documents. Where ``q`` has one sum for all documents, so that it does not depend on how
    they are dealt, the groups get theirs from a pass of their own when they are first asked for.

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
        """The sketch of some groups together; a projection has no fewer dimensions for fewer topics."""
        product, marginal = self.sums(groups)
        return Embedding(product, self.test, marginal)

    def sums(self, groups: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Q S and the row sums of Q of some groups together."""
        if groups == self.folds.all:
            return self.q.combine(self.products, self.q.folds.all), self.q.marginal()
        q, products = self._of_groups
        return q.combine(products, groups), q.marginal(list(groups))

    @property
    def n_passes(self) -> int:
        """Passes made so far."""
        return self.q.n_passes

    def dealt_by(self, seed: int) -> GroupSketches:
        """The same for groups by another seed, where the groups are not fixed by the pass that was made."""
        fixed = self.q.folds.n == self.folds.n or self.folds.seed == seed
        return self if fixed else replace(self, folds=replace(self.folds, seed=seed))

    @cached_property
    def _of_groups(self) -> tuple[Cooccurrence, np.ndarray]:
        if self.q.folds.n == self.folds.n:
            return self.q, self.products
        q = self.q.regroup(self.folds)
        return q, q.group_products(self.test)


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

    def embedding(self, groups: tuple[int, ...], n_components: int | None = None) -> Embedding:
        """The sketch of some groups together, in other than the usual number of dimensions if need be.

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
        """Eigenvalues, descending, and eigenvectors of B^T D^-1/2 Q D^-1/2 B."""
        small = self.basis.T @ (self.scale * product)
        values, vectors = np.linalg.eigh((small + small.T) / 2)
        return values[::-1], vectors[:, ::-1]


def subspace(q: Cooccurrence, n_components: int, folds: Folds | None = None) -> GroupSketches:
    """Leading eigenspace of D^-1/2 Q D^-1/2, in passes until it has settled and one more; groups by default as ``q`` has."""
    folds = folds or q.folds
    scale = np.sqrt(_inverse(q.marginal()))[:, None]
    width = min(n_components + _OVERSAMPLE, int(np.count_nonzero(scale)))
    start, entries = _start(q, width), float(q.sums.document_frequency.sum())
    if entries * width <= _IN_MEMORY:
        product = q.build_operator()
        values, basis = converged_eigenspace(lambda v: scale[:, 0] * product(scale[:, 0] * v), start)
    else:
        values, basis = leading_eigenspace(
            lambda block: scale * q.product((scale * block).astype(np.float32)),
            start,
            min(n_components, width),
            tol=_ANGLE,
            n_passes=int(np.clip(_WORK / max(entries * width, 1.0), *_PASSES)),
            most_columns=_BASIS // q.size,
        )
    test = scale * basis
    products, noise, (pieces,) = q.noisy_pass(test, values[:n_components], DocumentSample(len(q.blocks)))
    documents = sparse.csr_array(sparse.vstack(pieces, format="csr"))
    return SubspaceSketches(
        q, folds, documents, products, test, basis, scale, n_components, *_levels(noise * q.marginal())
    )


def _start(q: Cooccurrence, width: int) -> np.ndarray:
    """A block that depends on what each word is, not on where it stands: waves of the logarithms of its frequencies.

    Words whose frequencies are all the same are told apart by their columns, as little as can be.
    """
    rng = np.random.default_rng(0)
    sizes = q.word_sizes()
    seen = sizes[:, :1] > 0
    logs = np.log(np.where(seen, sizes, 1.0))
    waves = np.cos(logs @ (_WAVES * rng.standard_normal((sizes.shape[1], width))) + 2 * np.pi * rng.random(width))
    return np.asarray((waves + _TIES * rng.standard_normal(waves.shape)) * seen)


def projection(q: Cooccurrence, random_state: int, folds: Folds) -> GroupSketches:
    """A Gaussian projection of the rows to 1000 dimensions (or V, if fewer), in one pass over the documents."""
    test = random_columns(q.size, random_state)
    return GroupSketches(q, folds, *_last_pass(q, test), test)


def random_columns(size: int, random_state: int) -> np.ndarray:
    """S of a projection, shape (V, 1000), or (V, V) of fewer words."""
    width = min(_PROJECTED, size)
    return np.asarray(np.random.default_rng(random_state).standard_normal((size, width)) / np.sqrt(width))


def exact(q: np.ndarray, n_components: int, embedding: str, random_state: int) -> Embedding:
    """The sketch of a co-occurrence matrix that is given, shape (V, V), scaled to sum one."""
    marginal = q.sum(axis=1)
    if embedding == "projection":
        test = random_columns(len(q), random_state)
        return Embedding(q @ test, test, marginal)
    scale = np.sqrt(_inverse(marginal))[:, None]
    values, vectors = np.linalg.eigh(scale * q * scale.T)
    test = scale * vectors[:, ::-1][:, :n_components]
    return Embedding(q @ test, test, marginal, spectrum=values[::-1][: n_components + _OVERSAMPLE])


def _last_pass(q: Cooccurrence, test: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
    """A sample of the documents, and Q_g S of every group g."""
    products, pieces = q.pass_with(test, DocumentSample(len(q.blocks)))
    return sparse.csr_array(sparse.vstack(pieces, format="csr")), products


def _levels(scaled: np.ndarray) -> tuple[float, np.ndarray]:
    """Median noise of the rows, times p_w, and how many times larger each word's own is.

    A word of a single document has nothing that vouches for its row.
    """
    known = scaled[scaled > 0]
    if not len(known):
        return 0.0, np.ones(len(scaled))
    typical = float(np.median(known))
    return typical, np.where(np.isnan(scaled), _ONE_DOCUMENT, np.maximum(scaled / typical, _LEAST_NOISE))


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
