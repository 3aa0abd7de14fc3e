"""First, second and third moments of the words of a document, in few dimensions and without bias.

Let x_1, x_2, x_3 be three different words of a document, as unit vectors of R^V, and S a V x b matrix of coordinates.
From counts c_d of n_d words, with z_d = S^T c_d and s_d = 1 / (n_d (n_d - 1) (n_d - 2)),

    S^T E[x_1 x_2 x_3] = mean_d s_d z_d^(x 3) - 3 sym(sum_v S_v (x) S_v (x) G_v) + 2 sum_v a_v S_v^(x 3),

with G = mean_d s_d c_d z_d^T (V x b) and a = mean_d s_d c_d: the falling factorials of counts, exact for whole
numbers. The second moment is S^T Q S, with Q of `Cooccurrence`. Nothing of size V x V or V^3 appears.

Documents are assigned to folds with separate sums, so that moments of halves of the data cost no further pass. Sources:
Ge, thesis 2013, Theorem 7.2; Anandkumar, Foster, Hsu, Kakade, Liu, A spectral algorithm for latent Dirichlet
allocation, 2012, for the correction by alpha_0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..linalg import subspace_iteration
from ..passes import Block, Folds
from ..system.threads import Parallel, serial
from ..tensor.operators import symmetrise_modes
from .cooccurrence import Cooccurrence
from .count_products import CountProducts
from .counts import as_counts
from .products import CHUNK, add_cubes, add_triples, mirror_cube, third_moment


@dataclass(frozen=True)
class WordMoments:
    """Moments of different words of a document in coordinates S (V x b).

    Attributes
    ----------
    marginal : ndarray of shape (V,)
        p = E[x_1].
    sketch : ndarray of shape (V, b)
        E[x_1 x_2^T] S.
    first : ndarray of shape (b,)
    second : ndarray of shape (b, b)
    third : ndarray of shape (b, b, b)
    """

    marginal: np.ndarray
    sketch: np.ndarray
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class WordTriples:
    """In-place statistic, for each group: sums over documents of s_d z_d^(x 3), of s_d c_d, and the number of documents.

    Parameters
    ----------
    coordinates : ndarray of shape (V, b)
        S; z_d = S^T c_d.
    folds : Folds
        Groups of documents, with sums each.
    dtype : dtype
        Of z; float32 is twice as fast, with a relative error of about 1e-6. Sums over chunks of rows are in float64.
    """

    def __init__(self, coordinates: np.ndarray, folds: Folds, dtype: Any = np.float64) -> None:
        self.coordinates = np.ascontiguousarray(coordinates, dtype=dtype)
        self.folds, self.dtype = folds, dtype

    def zero(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_words, b = self.coordinates.shape
        cubes, words = np.zeros((self.folds.n, b, b, b)), np.zeros((self.folds.n, n_words))
        return cubes, words, np.zeros(self.folds.n, np.int64)

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        cubes, words, documents = state
        counts = as_counts(block[0])
        table = sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=block[0].shape)
        rows = np.empty((table.shape[0], self.coordinates.shape[1]), self.dtype)

        def project(i: int) -> None:
            rows[i * CHUNK : (i + 1) * CHUNK] = table[i * CHUNK : (i + 1) * CHUNK] @ self.coordinates

        parallel(project, -(-len(rows) // CHUNK))
        length = np.asarray(table.sum(axis=1)).ravel()
        is_usable = length >= 3
        factors = np.where(is_usable, 1.0 / np.where(is_usable, length * (length - 1) * (length - 2), 1.0), 0.0)
        groups = self.folds.of(block.rows)
        row_of_entry = np.repeat(np.arange(len(rows)), np.diff(counts.indptr))
        for g in self.folds.all:
            is_chosen = is_usable & (groups == g)
            add_cubes(cubes[g], rows[is_chosen], factors[is_chosen], parallel)
            weights = np.where(is_chosen, factors, 0.0)[row_of_entry] * counts.data
            words[g] += np.bincount(counts.indices, weights, words.shape[1])
            documents[g] += np.count_nonzero(is_chosen)
        return state


class DocumentMoments:
    """Moments of words for all documents and for groups of them, in given coordinates: one pass.

    Parameters
    ----------
    q : Cooccurrence
        Of the documents; its groups are used.
    coordinates : ndarray of shape (V, b)
        S.

    Attributes
    ----------
    documents : ndarray of int, shape (G,)
        Documents of three words or more in every group.
    """

    def __init__(self, q: Cooccurrence, coordinates: np.ndarray) -> None:
        self.q, self.coordinates = q, coordinates
        triples = WordTriples(coordinates, q.folds)
        products = CountProducts(coordinates, q.codes, q.folds, order=3)
        self._sketches, (cubes, words, self.documents), pairs = q.pass_with(coordinates, triples, products)
        for g, cube in enumerate(cubes):
            mirror_cube(cube)
            repeated = np.zeros_like(cube)
            add_triples(repeated, coordinates, coordinates, pairs[g], serial)
            cube -= 3 * symmetrise_modes(repeated)
            cube += 2 * third_moment(coordinates, words[g])
        self._cubes = cubes

    def of(self, groups: tuple[int, ...]) -> WordMoments:
        """Return the moments over the documents of some folds."""
        selected = list(groups)
        if not self.q.sums.used[selected].sum():
            raise LatentiaError("Expected documents in each part of the data, found none: there are too few to split.")
        sketch = self.q.combine(self._sketches, groups)
        second = self.coordinates.T @ sketch
        marginal = self.q.marginal(selected)
        third = self._cubes[selected].sum(axis=0) / max(int(self.documents[selected].sum()), 1)
        return WordMoments(marginal, sketch, self.coordinates.T @ marginal, (second + second.T) / 2, third)


def leading_words(q: Cooccurrence, n_columns: int, n_passes: int = 2) -> np.ndarray:
    """Compute coordinates S = D^-1/2 B, with B near the leading eigenspace of D^-1/2 Q D^-1/2 and D = diag(Q 1), shape (V, b).

    Under this scaling the sampling noise of Q has about the same size everywhere. ``n_passes`` of subspace iteration.
    """
    marginal = q.marginal()
    scale = np.sqrt(np.where(marginal > 0, 1.0 / np.where(marginal > 0, marginal, 1.0), 0.0))[:, None]
    width = min(n_columns, int(np.count_nonzero(scale)))
    if width == q.size:
        return np.diagflat(scale)
    start = np.random.default_rng(q.folds.seed).standard_normal((q.size, width)) * (scale > 0)
    return scale * subspace_iteration(lambda block: scale * q.product(scale * block), start, n_passes)


def correct_for_lda(moments: WordMoments, alpha0: float) -> WordMoments:
    """Correct moments so that their expectation under latent Dirichlet allocation is a sum over topics.

    With alpha_0 the sum of the Dirichlet parameters alpha_k and topics mu_k, the second moment becomes sum_k alpha_k
    / (alpha_0 (alpha_0 + 1)) mu_k mu_k^T and the third sum_k 2 alpha_k / (alpha_0 (alpha_0 + 1) (alpha_0 + 2))
    mu_k^(x 3) (in coordinates).
    """
    m = moments.first
    share = alpha0 / (alpha0 + 1)
    mixed = symmetrise_modes(moments.second[:, :, None] * m)
    cube = m[:, None, None] * m[:, None] * m
    return WordMoments(
        moments.marginal,
        moments.sketch - share * np.outer(moments.marginal, m),
        m,
        moments.second - share * np.outer(m, m),
        moments.third - 3 * alpha0 / (alpha0 + 2) * mixed + 2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)) * cube,
    )
