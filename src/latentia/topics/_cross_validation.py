"""Cross-validated eigenvalues: directions in which words co-occur in half of the documents, measured in the other half.

The noise of D^-1/2 Q D^-1/2 has no sharp edge if the lengths of documents differ much: every pair of words of a short document
has a large weight, and a few such documents make an eigenvector of their words. Its eigenvalue is large in the documents that
made it and, like all noise, zero on average in others. So eigenvectors of one half of the documents are measured in the other
half: v^T S' v is near zero except for directions that the documents share. Documents that are shorter than the mean have
smaller weights, by their words, so that they do not displace these directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from ..linalg import converged_eigenspace
from ..passes import Blocks, Folds
from ._refine import LARGE


def cross_validate_spectrum(
    blocks: Blocks, folds: Folds, frequent: np.ndarray, length: float, width: int
) -> np.ndarray:
    """Compute the `cross_validated_spectrum` of two halves of documents, or of as many of them as fit into memory.

    Parameters
    ----------
    blocks : Blocks
    folds : Folds
    frequent : ndarray of bool or int
        Columns of words in enough documents (`min_documents_of_word`) that a few documents do not make a direction.
    length, width
        As in `cross_validated_spectrum`.
    """
    max_rows = int(LARGE / length)
    halves = [
        sparse.csr_array(blocks.group(half, folds).some_rows(max_rows)[0], dtype=np.float64) for half in folds.splits[0]
    ]
    return cross_validated_spectrum([half[:, frequent] for half in halves], length, width)


def cross_validated_spectrum(halves: Sequence[sparse.csr_array], length: float, width: int) -> np.ndarray:
    """Compute eigenvalues of D^-1/2 Q D^-1/2 in each half of the documents, measured in the other half, descending.

    Parameters
    ----------
    halves : two csr_arrays of shape (n, V)
        Counts in disjoint sets of documents.
    length : float
        Mean number of words of a document.
    width : int

    Returns
    -------
    ndarray of shape (width,)
        Means over both halves, zero beyond V; infinite if a half has no pair of words.
    """
    sizes = [np.asarray(half.sum(axis=1)).ravel() for half in halves]
    weights = [np.where(n < 2, 0.0, np.minimum((n - 1) / length, 1.0)) for n in sizes]
    if min(w.sum() for w in weights) == 0:
        return np.full(width, np.inf)
    marginal = np.sum(
        [half.T @ (w / np.maximum(n, 1.0)) for half, n, w in zip(halves, sizes, weights, strict=True)], axis=0
    )
    root = np.sqrt(marginal / marginal.sum())
    scale = np.where(root > 0, 1 / np.where(root > 0, root, 1.0), 0.0)
    first, second = (_product(half, n, w, scale) for half, n, w in zip(halves, sizes, weights, strict=True))
    start = np.repeat(root[:, None], min(width, len(root)), axis=1)
    spectra = []
    for product, other_product in ((first, second), (second, first)):
        _, vectors = converged_eigenspace(product, start)
        spectra.append(np.sort([v @ other_product(v) for v in vectors.T])[::-1])
    return np.pad(np.mean(spectra, axis=0), (0, width - start.shape[1]))


def _product(
    table: sparse.csr_array, sizes: np.ndarray, weights: np.ndarray, scale: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function v -> D^-1/2 Q D^-1/2 v for documents with weights."""
    pairs = np.where(weights > 0, weights / np.maximum(sizes * (sizes - 1), 1.0), 0.0) / weights.sum()
    columns = sparse.csr_array(table.T)
    diagonal = columns @ pairs

    def product(v: np.ndarray) -> np.ndarray:
        scaled = scale * v
        return np.asarray(scale * (columns @ (pairs * (table @ scaled)) - diagonal * scaled))

    return product
