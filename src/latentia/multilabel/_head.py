"""The moment head: ridge regression of all labels on few supervised features of the words.

Let F be the features of the words (tf-idf, rows of unit length), Y the label sets, and

    C = F^T Y diag(1 + n_l)^-1/2,      n_l = documents with label l.

The K leading left singular vectors U of the D x L matrix C span the directions of words that separate labels. Ridge
regression of Y on F U needs only K x K and L x K sums, which come from the last pass of the subspace iteration for U. Its
penalty minimises generalised cross-validation, in closed form on the same sums.

There are at most L such directions. If K is larger, the next blocks of the Krylov space F^T F U, (F^T F)^2 U, ... follow: one
pass each, and one more for the sums.

A round of the iteration is two passes, F^T (Y B) and Y^T (F T). The D x k block T is in single precision: it is a basis, whose
rounding changes no sum that is taken with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..linalg import cholesky_qr
from ..passes import Block, Plan
from ..system.threads import Parallel
from ._scores import project
from .moments import LabelsToWords, WordsToLabels

_OVERSAMPLE, _ROUNDS = 28, 2  # extra columns and rounds of the subspace iteration
_CHUNK = 1 << 16  # rows of a product at a time
_ROUNDING = 1e-6  # relative rounding of features in single precision
_NEW = 1e-4  # relative size below which a new direction is rounding
_MIN_RESIDUAL_SHARE = 1e-3  # smallest share of rows beyond the degrees of freedom that judges a penalty
_PENALTIES = np.geomspace(1e-8, 1e2, 161)  # in units of the largest eigenvalue


@dataclass(frozen=True)
class Leverage:
    """Leverage of rows, the effect of their own labels on their scores: h_d = 1 / n + |R^T (z_d - mean)|^2, z in K dimensions.

    Attributes
    ----------
    root : ndarray of shape (K, K)
        R.
    mean : ndarray of shape (K,)
    n_rows : int
    """

    root: np.ndarray
    mean: np.ndarray
    n_rows: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return 1 / self.n_rows + (((rows - self.mean) @ self.root) ** 2).sum(axis=1)


@dataclass(frozen=True)
class LinearHead:
    """Scores f^T U H + h_0.

    Attributes
    ----------
    kind : {"ridge", "full", "logistic"}
    features : ndarray of shape (D, K), float32, or None
        U, orthonormal columns; None if scores are linear in all words, f^T H + h_0.
    coefficients : ndarray of shape (K, L) or (D, L)
        H.
    intercept : ndarray of shape (L,)
        h_0.
    penalty : float
        Ridge penalty on the squared coefficients, in units of the sum over documents.
    explained : float or None
        Share of the labels' variance that the head explains, by generalised cross-validation; None if scores do not
        estimate probabilities.
    leverage : Leverage or None
    """

    kind: Literal["ridge", "full", "logistic"]
    features: np.ndarray | None
    coefficients: np.ndarray
    intercept: np.ndarray
    penalty: float
    explained: float | None
    leverage: Leverage | None = None

    def coordinates(self, features: sparse.csr_array, n_jobs: int | None = None) -> Any:
        """Return the coordinates in which scores are linear: F U, shape (n, K), or F itself."""
        return features if self.features is None else project(features, self.features, n_jobs)

    def scores(self, features: sparse.csr_array, n_jobs: int | None = None) -> np.ndarray:
        """Return scores of rows of features, shape (n, L)."""
        return self.coordinates(features, n_jobs) @ self.coefficients + self.intercept


def linear_head(label_counts: np.ndarray, n_rows: int, n_words: int, n_components: int, random_state: int) -> Plan:
    """Plan four passes over blocks (C, Y, F), and more if K > L, whose result is a `LinearHead`.

    Parameters
    ----------
    label_counts : ndarray of shape (L,)
        Documents with the label.
    n_rows, n_words : int
        Shape of F.
    n_components : int
        Number of directions K.
    random_state : int
    """
    n_labels = len(label_counts)
    scale = 1 / np.sqrt(1 + label_counts)[:, None]
    width = min(n_components + _OVERSAMPLE, n_labels, n_words)
    block = np.random.default_rng(random_state).standard_normal((n_labels, width)) * (label_counts > 0)[:, None]
    for _ in range(_ROUNDS):
        (basis,) = yield [LabelsToWords(scale * cholesky_qr(block), n_words)]
        ((crossed, gram, total),) = yield [WordsToLabels(basis, n_labels)]
        block = scale * crossed
    mix = _leading(basis, block, n_components)
    features = _mix_in_place(basis, mix)
    gram, crossed, total = mix.T @ gram @ mix, crossed @ mix, total @ mix
    if features.shape[1] < n_components and (last := features).shape[1]:
        while last.shape[1] and features.shape[1] < n_components:
            (image,) = yield [_WordsToWords(last, n_words)]
            last = _beyond(features, image, n_components - features.shape[1])
            features = np.hstack([features, last])
        ((crossed, gram, total),) = yield [WordsToLabels(features, n_labels)]
    return ridge(features, gram, crossed, total, label_counts, n_rows)


class _WordsToWords(LabelsToWords):
    """In-place statistic: F^T F B, shape (D, k), for B of shape (D, k)."""

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        return super().add_tasks(state, Block.from_parts((block[0], block[2], block[2])), parallel)


def _beyond(basis: np.ndarray, image: np.ndarray, max_columns: int) -> np.ndarray:
    """Return orthonormal directions of the image outside the basis, float32, (D, up to ``max_columns``), largest first."""
    size = float(np.linalg.norm(image))
    for _ in range(2):
        image = image - basis @ (basis.T @ image)
    values, vectors = np.linalg.eigh(image.T.astype(np.float64) @ image)
    chosen = np.flatnonzero(values > (_NEW * size) ** 2)[::-1][:max_columns]
    directions = (image @ (vectors[:, chosen] / np.sqrt(values[chosen]))).astype(np.float32)
    directions -= basis @ (basis.T @ directions)
    return cholesky_qr(directions) if len(chosen) else directions


def _leading(basis: np.ndarray, image: np.ndarray, n_components: int) -> np.ndarray:
    """Return M with T M = U, the leading left singular vectors of C within the span of T, given T and C^T T."""
    squares = np.zeros((basis.shape[1],) * 2)
    for a in range(0, len(basis), _CHUNK):
        rows = basis[a : a + _CHUNK].astype(np.float64)
        squares += rows.T @ rows
    values, vectors = np.linalg.eigh(squares)
    is_positive = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    root = vectors[:, is_positive] / np.sqrt(values[is_positive])
    projected = image @ root
    _, rotation = np.linalg.eigh(projected.T @ projected)
    return root @ rotation[:, ::-1][:, :n_components]


def _mix_in_place(basis: np.ndarray, mix: np.ndarray) -> np.ndarray:
    """Compute T M in the memory of T, which is overwritten: the new rows are no longer than the old ones."""
    n, k = len(basis), mix.shape[1]
    flat = basis.reshape(-1)
    for a in range(0, n, _CHUNK):
        rows = basis[a : a + _CHUNK].astype(np.float64) @ mix
        flat[a * k : (a + len(rows)) * k] = rows.reshape(-1)
    if not basis.flags.owndata:  # read from a checkpoint
        return flat[: n * k].reshape(n, k).copy()
    del flat
    basis.resize((n, k), refcheck=False)
    return basis


def ridge(
    features: np.ndarray | None,
    gram: np.ndarray,
    crossed: np.ndarray,
    total: np.ndarray,
    label_counts: np.ndarray,
    n: int,
    n_different: int | None = None,
) -> LinearHead:
    """Fit ridge regression with an intercept from Z^T Z (K, K), Y^T Z (L, K) and the sum of Z (K,).

    Cross-validation is too optimistic about copies of rows if K is near the number of rows: then ``n_different`` rows count.
    """
    mean, frequency = total / n, label_counts / n
    values, vectors = np.linalg.eigh(gram - n * np.outer(mean, mean))
    values = np.maximum(values, 0)
    if not values.size or values[-1] <= _ROUNDING * float(np.trace(gram)):  # all rows are equal
        no_leverage = Leverage(np.zeros((len(values), 0)), mean, n)
        return LinearHead("ridge", features, np.zeros(crossed.T.shape), frequency, 0.0, 0.0, no_leverage)
    rotated = crossed @ vectors
    shift = mean @ vectors
    for a in range(0, len(rotated), _CHUNK):
        rotated[a : a + _CHUNK] -= np.outer(label_counts[a : a + _CHUNK], shift)
    energy = (rotated**2).sum(axis=0)
    variance = float(label_counts.sum() - n * (frequency**2).sum())
    penalties = _PENALTIES * max(values[-1], np.finfo(float).tiny)
    shrunk = 1 / (values + penalties[:, None])
    residual = variance - 2 * shrunk @ energy + shrunk**2 @ (values * energy)
    degrees = 1 + (shrunk * values).sum(axis=1)
    residual_share = 1 - degrees / (n_different or n)
    criterion = np.where(
        residual_share > _MIN_RESIDUAL_SHARE, residual / np.maximum(residual_share, _MIN_RESIDUAL_SHARE) ** 2, np.inf
    )
    best = int(criterion.argmin()) if np.isfinite(criterion).any() else len(penalties) - 1
    coefficients = (vectors * shrunk[best]) @ rotated.T
    explained = 1 - criterion[best] / variance if variance > 0 and np.isfinite(criterion[best]) else 0.0
    intercept = frequency - mean @ coefficients
    leverage = Leverage(vectors * np.sqrt(shrunk[best]), mean, n)
    return LinearHead("ridge", features, coefficients, intercept, float(penalties[best]), float(explained), leverage)
