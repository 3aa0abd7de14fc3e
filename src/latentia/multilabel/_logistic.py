"""Many logistic regressions on the same rows, solved together.

For each of L labels with y in {0, 1}^n and rows z_d of a table Z, dense or sparse,

    f(w, b) = sum_d [log(1 + exp(z_d^T w + b)) - y_d (z_d^T w + b)] + |w|^2 / (2 C)

is a separate problem. Products with Z are computed for 64 labels at a time, so that an entry of Z is read once for 64
multiplications; the rest of a step is elementwise. The steps are those of L-BFGS with a memory for each label. Its first
Hessian is the diagonal one of the model without words, at the frequencies of the labels:

    h_k = q (1 - q) sum_d z_dk^2 + 1 / C,      q = sum_d y_d / n.

With it a few steps are accurate enough for prediction. A step takes 4 nnz(Z) flops and one exponential a row, for each label.
Products are in single precision.

Source: J. Nocedal, Updating quasi-Newton matrices with limited storage, Mathematics of Computation 35 (1980).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from ..moments import gather_products
from ..moments.counts import as_stored_counts
from ..system.threads import single_blas_thread, threads

_LABELS_AT_ONCE = 64  # labels solved together
_ROWS_AT_ONCE = 2048  # rows whose temporaries stay in the cache
_MEMORY = 5  # steps that L-BFGS remembers
_MAX_TRIALS, _SHORTENING, _SUFFICIENT_DECREASE = 6, 0.4, 1e-4
_ROUNDING = 1e-6  # relative rounding of a sum of single-precision terms
_TOL = 1e-4  # relative decrease of the objective at which steps end


class LogisticWeights(NamedTuple):
    """Weights W of shape (D, L), float32, and intercepts b of shape (L,), float64: scores are Z W + b."""

    coefficients: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class Design:
    """A table Z of shape (n, D), float32, an ndarray or a csr_array, and its transpose."""

    rows: Any

    @cached_property
    def columns(self) -> Any:
        return sparse.csr_array(self.rows.T) if sparse.issparse(self.rows) else np.ascontiguousarray(self.rows.T)

    @cached_property
    def squares(self) -> np.ndarray:
        """sum_d z_dk^2, shape (D,)."""
        table = self.rows.multiply(self.rows) if sparse.issparse(self.rows) else self.rows**2
        return np.asarray(table.sum(axis=0), dtype=np.float64).ravel()

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Return Z W, shape (n, k)."""
        return _product(self.rows, weights)

    def back(self, residuals: np.ndarray) -> np.ndarray:
        """Return Z^T R, shape (D, k)."""
        return _product(self.columns, residuals)


def logistic_regressions(
    design: Design,
    labels: sparse.csr_array,
    strength: float,
    steps: int,
    start: LogisticWeights | None = None,
    n_jobs: int | None = None,
) -> LogisticWeights:
    """Solve the problems of all labels.

    A label of all rows, or of none, has zero weights, and the intercept of half a row.

    Parameters
    ----------
    design : Design
    labels : csr_array of 0 and 1, shape (n, L)
    strength : float
        C, the weight of the rows against the penalty.
    steps : int
        Largest number of steps for each label.
    start : LogisticWeights, optional
        Weights of a similar problem; by default the labels' frequencies.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    """
    n, n_labels = labels.shape
    counts = np.bincount(labels.indices, minlength=n_labels).astype(np.float64)
    frequency = np.clip(counts / n, 0.5 / n, 1 - 0.5 / n)
    weights = np.zeros((design.rows.shape[1], n_labels), np.float32)
    intercept = np.log(frequency / (1 - frequency))
    solvable = np.flatnonzero((counts > 0) & (counts < n))
    by_label = sparse.csc_array(labels)

    def task(i: int) -> None:
        block = solvable[i * _LABELS_AT_ONCE : (i + 1) * _LABELS_AT_ONCE]
        first_weights = None if start is None else np.vstack([start.coefficients[:, block], start.intercept[block]])
        problems = _Problems(design, by_label[:, block].astype(np.float32), frequency[block], strength)
        solution = _minimise(problems, first_weights, steps)
        weights[:, block], intercept[block] = solution[:-1], solution[-1]

    with threads(effective_n_jobs(n_jobs)) as parallel, single_blas_thread():
        parallel(task, -(-len(solvable) // _LABELS_AT_ONCE))
    return LogisticWeights(weights, intercept)


def _product(table: Any, columns: np.ndarray) -> np.ndarray:
    columns = np.ascontiguousarray(columns)
    if not sparse.issparse(table):
        return table @ columns
    return gather_products(as_stored_counts(table), None, columns, 1)


# --- the problems of some labels ------------------------------------------------------------------------------------


class _Point(NamedTuple):
    """Weights with the intercepts as their last row (D + 1, k), scores (n, k), objectives (k,), and probabilities (n, k)."""

    weights: np.ndarray
    scores: np.ndarray
    values: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True)
class _Problems:
    """Objectives of k labels.

    Attributes
    ----------
    labels : csc_array of shape (n, k)
    frequency : ndarray of shape (k,)
    """

    design: Design
    labels: Any
    frequency: np.ndarray
    strength: float

    @cached_property
    def linear(self) -> np.ndarray:
        """Z^T Y and the sums of Y, (D + 1, k)."""
        crossed = (self.design.columns @ self.labels).toarray() if sparse.issparse(self.design.rows) else (
            self.labels.T @ self.design.rows
        ).T  # fmt: skip
        return np.vstack([crossed, np.asarray(self.labels.sum(axis=0)).ravel()]).astype(np.float32)

    @cached_property
    def penalty(self) -> np.ndarray:
        """1 / C for weights and 0 for intercepts, (D + 1, 1)."""
        penalty = np.full((len(self.linear), 1), 1 / self.strength, np.float32)
        penalty[-1] = 0
        return penalty

    def start(self) -> np.ndarray:
        weights = np.zeros_like(self.linear)
        weights[-1] = np.log(self.frequency / (1 - self.frequency))
        return weights

    def curvature(self) -> np.ndarray:
        """Return the diagonal of the Hessian at the frequencies, (D + 1, k)."""
        n = self.design.rows.shape[0]
        variance = self.frequency * (1 - self.frequency)
        return (np.append(self.design.squares, n)[:, None] * variance).astype(np.float32) + self.penalty

    def scores(self, weights: np.ndarray) -> np.ndarray:
        scores = self.design.scores(weights[:-1])
        scores += weights[-1]
        return scores

    def evaluate(self, weights: np.ndarray, scores: np.ndarray) -> _Point:
        """Compute objectives and probabilities at weights with known scores."""
        values = 0.5 * _sums(self.penalty * weights, weights) - _sums(self.linear, weights)
        probabilities = np.empty_like(scores)
        for a in range(0, len(scores), _ROWS_AT_ONCE):
            values += _log_one_plus_exp(scores[a : a + _ROWS_AT_ONCE], probabilities[a : a + _ROWS_AT_ONCE])
        return _Point(weights, scores, values, probabilities)

    def gradient(self, point: _Point) -> np.ndarray:
        gradient = self.penalty * point.weights
        gradient[:-1] += self.design.back(point.probabilities)
        gradient[-1] += point.probabilities.sum(axis=0, dtype=np.float64)
        gradient -= self.linear
        return gradient


def _log_one_plus_exp(scores: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Sum log(1 + e^s) over rows, (k,), and fill ``probabilities`` with 1 / (1 + e^-s)."""
    small = np.exp(-np.abs(scores))  # at most 1, so that nothing overflows
    positive = scores > 0
    probabilities[:] = np.where(positive, 1, small)
    small += 1
    probabilities /= small
    np.log(small, out=small)
    small += np.where(positive, scores, 0)
    return small.sum(axis=0).astype(np.float64)


def _sums(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return inner products of columns, (k,)."""
    return np.einsum("ij,ij->j", first, second, dtype=np.float64)


# --- L-BFGS ---------------------------------------------------------------------------------------------------------


@dataclass
class _Inverse:
    """Inverse Hessians estimated from the last steps."""

    diagonal: np.ndarray
    steps: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=lambda: deque(maxlen=_MEMORY))
    scale: Any = 1.0

    def learn(self, moved: np.ndarray, change: np.ndarray) -> None:
        """Add a step and the change of the gradient along it, (D + 1, k); labels that did not move learn nothing."""
        product = _sums(moved, change)
        size = _sums(change / self.diagonal, change)
        is_positive = (product > 1e-12) & (size > 0)
        inverse = np.where(is_positive, 1 / np.where(is_positive, product, 1), 0)
        self.scale = np.where(is_positive, product / np.where(is_positive, size, 1), self.scale).astype(np.float32)
        self.steps.append((moved, change, inverse))

    def times(self, gradient: np.ndarray) -> np.ndarray:
        """Multiply by a gradient, in the two loops of the recursion."""
        q, shares = gradient.copy(), []
        for moved, change, inverse in reversed(self.steps):
            share = (inverse * _sums(moved, q)).astype(np.float32)
            q -= share * change
            shares.append(share)
        q *= np.float32(self.scale) / self.diagonal
        for (moved, change, inverse), share in zip(self.steps, reversed(shares), strict=True):
            q += (share - (inverse * _sums(change, q)).astype(np.float32)) * moved
        return q


def _minimise(problems: _Problems, start: np.ndarray | None, steps: int) -> np.ndarray:
    """Minimise by L-BFGS; return weights with the intercepts as their last row, (D + 1, k)."""
    weights = problems.start() if start is None else start.astype(np.float32)
    point = problems.evaluate(weights, problems.scores(weights))
    gradient, inverse = problems.gradient(point), _Inverse(problems.curvature())
    for step in range(steps):
        direction = -inverse.times(gradient)
        next_point = _search_line(problems, point, direction, _sums(direction, gradient))
        gain = float((point.values - next_point.values).sum())
        if step + 1 == steps or gain <= _TOL * float(point.values.sum()):
            return next_point.weights
        next_gradient = problems.gradient(next_point)
        inverse.learn(next_point.weights - point.weights, next_gradient - gradient)
        point, gradient = next_point, next_gradient
    return point.weights


def _search_line(problems: _Problems, point: _Point, direction: np.ndarray, slope: np.ndarray) -> _Point:
    """Search a low enough point along the direction; labels without such a point stay where they are."""
    direction_scores = problems.scores(direction)
    length = np.ones(direction.shape[1], np.float32)
    for trial in range(_MAX_TRIALS):
        trial_point = problems.evaluate(point.weights + length * direction, point.scores + length * direction_scores)
        limit = point.values + _SUFFICIENT_DECREASE * length * slope + _ROUNDING * np.abs(point.values)
        is_too_high = ~(trial_point.values <= limit) & (length > 0)
        if not is_too_high.any():
            break
        length[is_too_high] *= _SHORTENING if trial + 2 < _MAX_TRIALS else 0.0
    return trial_point
