"""The discriminative head: ridge regression of all labels on few supervised features of the words.

Let F be the features of the words (tf-idf, rows of unit length), Y the label sets, and

    C = F^T Y diag(1 + n_l)^-1/2,      n_l = documents with label l.

The K leading left singular vectors U of the D x L matrix C span the words' directions that tell labels apart. Ridge
regression of Y on F U needs no more than K x K and L x K sums, which the last pass of the subspace iteration that finds
U makes on the way. Its penalty minimises generalised cross-validation, in closed form on the same sums.

A round of the iteration is two passes, F^T (Y B) and Y^T (F T): each reads one table's entries against 8 bytes x k. The D
x k block T is in single precision: it is a basis, whose rounding changes no sum that is taken with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..linalg import cholesky_qr
from ..moments import LabelledSums, LabelsToWords, WordsToLabels
from ..passes import Plan

__all__ = ["LinearHead", "linear_head"]

_OVERSAMPLE, _ROUNDS = 28, 2
_CHUNK = 1 << 16
_ROUNDING = 1e-6  # of features in single precision
_PENALTIES = np.geomspace(1e-8, 1e2, 161)


@dataclass(frozen=True)
class LinearHead:
    """Scores f^T U H + h_0.

    Attributes
    ----------
    features : ndarray of shape (D, K), float32
        U, orthonormal columns.
    coefficients : ndarray of shape (K, L)
        H.
    intercept : ndarray of shape (L,)
        h_0.
    penalty : float
        Ridge penalty on the squared coefficients, in units of the sum over documents.
    explained : float
        Share of the labels' variance about their frequencies that the head explains, by generalised cross-validation.
    """

    features: np.ndarray
    coefficients: np.ndarray
    intercept: np.ndarray
    penalty: float
    explained: float


def linear_head(seen: LabelledSums, n_components: int, random_state: int) -> Plan:
    """Plan of four passes over blocks (C, Y, F) whose result is a `LinearHead`."""
    label_counts, n_words = seen.label_counts, len(seen.document_frequency)
    n_labels = len(label_counts)
    scale = 1 / np.sqrt(1 + label_counts)[:, None]
    width = min(n_components + _OVERSAMPLE, n_labels, n_words)
    block = np.random.default_rng(random_state).standard_normal((n_labels, width)) * (label_counts > 0)[:, None]
    for _ in range(_ROUNDS):
        (basis,) = yield [LabelsToWords(scale * cholesky_qr(block), n_words)]
        ((crossed, gram, total),) = yield [WordsToLabels(basis, n_labels)]
        block = scale * crossed
    mix = _leading(basis, block, n_components)
    features = _mixed(basis, mix)
    return _ridge(features, mix.T @ gram @ mix, crossed @ mix, total @ mix, label_counts, seen.n_rows)


def _leading(basis: np.ndarray, image: np.ndarray, n_components: int) -> np.ndarray:
    """Matrix M with T M = U: the leading left singular vectors of C within the span of T, from T and C^T T."""
    squares = np.zeros((basis.shape[1],) * 2)
    for a in range(0, len(basis), _CHUNK):
        rows = basis[a : a + _CHUNK].astype(np.float64)
        squares += rows.T @ rows
    values, vectors = np.linalg.eigh(squares)
    kept = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    root = vectors[:, kept] / np.sqrt(values[kept])
    projected = image @ root
    _, rotation = np.linalg.eigh(projected.T @ projected)
    return root @ rotation[:, ::-1][:, :n_components]


def _mixed(basis: np.ndarray, mix: np.ndarray) -> np.ndarray:
    features = np.empty((len(basis), mix.shape[1]), np.float32)
    for a in range(0, len(basis), _CHUNK):
        features[a : a + _CHUNK] = basis[a : a + _CHUNK].astype(np.float64) @ mix
    return features


def _ridge(
    features: np.ndarray, gram: np.ndarray, crossed: np.ndarray, total: np.ndarray, label_counts: np.ndarray, n: int
) -> LinearHead:  # fmt: skip
    """Ridge regression with an intercept from Z^T Z (K, K), Y^T Z (L, K) and the sum of Z (K,)."""
    mean, frequency = total / n, label_counts / n
    crossed = crossed - np.outer(label_counts, mean)
    values, vectors = np.linalg.eigh(gram - n * np.outer(mean, mean))
    values = np.maximum(values, 0)
    if not values.size or values[-1] <= _ROUNDING * float(np.trace(gram)):  # rows that do not differ tell nothing
        return LinearHead(features, np.zeros(crossed.T.shape), frequency, 0.0, 0.0)
    rotated = crossed @ vectors
    energy = (rotated**2).sum(axis=0)
    variance = float(label_counts.sum() - n * (frequency**2).sum())
    penalties = _PENALTIES * max(values[-1], np.finfo(float).tiny)
    shrunk = 1 / (values + penalties[:, None])
    residual = variance - 2 * shrunk @ energy + shrunk**2 @ (values * energy)
    degrees = 1 + (shrunk * values).sum(axis=1)
    criterion = residual / np.maximum(1 - degrees / n, 1e-3) ** 2
    best = int(criterion.argmin())
    coefficients = (vectors * shrunk[best]) @ rotated.T
    explained = 1 - criterion[best] / variance if variance > 0 else 0.0
    intercept = frequency - mean @ coefficients
    return LinearHead(features, coefficients, intercept, float(penalties[best]), float(explained))
