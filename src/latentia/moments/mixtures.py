"""Mixtures with independent rows: densities, responsibilities, and EM updates of a pass.

Model: row x comes from component k with probability w_k, and has there the density f_k: of words drawn independently
(`MultinomialMixtureUpdate`), of a spherical Gaussian (`SphericalMixtureUpdate`), or a product over the columns
(`ProductMixtureUpdate`). One EM step sums over rows, with the responsibilities r_k = w_k f_k(x) / sum_l w_l f_l(x),

    r_k,   r_k x,   and for Gaussians r_k (x - mu_k)^2,

and `updated` turns the sums into parameters. Gaussians are summed about their current means mu, so that nothing
cancels when the data is far from the origin. A row that is impossible under every component has the weights for
responsibilities and makes the log-likelihood -inf; a component without rows keeps its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numba import njit
from scipy import sparse

from .._threads import Parallel, for_chunks
from ..exceptions import LatentiaError
from ..passes import Block
from .admixture import _COLUMNS, _add_expected
from .counts import Counts, as_counts

__all__ = [
    "MixtureSums",
    "MultinomialMixtureUpdate",
    "ProductMixtureUpdate",
    "SphericalMixtureUpdate",
    "gaussian_log_density",
    "multinomial_log_likelihood",
    "multinomial_responsibilities",
    "product_log_density",
    "spherical_log_density",
]

_ROWS = 1024
_NOTHING = 1e-12  # a component with less than this of one row has no rows

Sums = TypeVar("Sums")


@dataclass
class MixtureSums:
    """Sums over rows of one EM step.

    Attributes
    ----------
    mass : ndarray of shape (K,)
        Sum of r_k.
    first : ndarray of shape (K, d)
        Sum of r_k x, for Gaussians of r_k (x - mu_k); for words a list of ndarray of shape (V, at most 16), which
        side by side have a column for every component.
    second : ndarray of shape (K, d) or (K,), or zero
        Sum of r_k (x - mu_k)^2, by column or, for spherical Gaussians, over the columns.
    log_likelihood : float
        In nats.
    n_rows : int
    """

    mass: np.ndarray
    first: Any
    second: Any = 0.0
    log_likelihood: float = 0.0
    n_rows: int = 0


class MultinomialMixtureUpdate:
    """In-place statistic of one EM step for documents that each have one component.

    Parameters
    ----------
    components : ndarray of shape (K, V)
        Word probabilities; a word of probability zero rules the component out.
    weights : ndarray of shape (K,)
    """

    def __init__(self, components: np.ndarray, weights: np.ndarray) -> None:
        self.components, self.weights = np.asarray(components, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        self.log_by_word, self.log_weights = _log(self.components.T), _log(self.weights)

    def zero(self) -> MixtureSums:
        n_words, k = self.log_by_word.shape
        first = [np.zeros((n_words, min(_COLUMNS, k - a))) for a in range(0, k, _COLUMNS)]
        return MixtureSums(np.zeros(k), first)

    def add_tasks(self, state: MixtureSums, block: Block, parallel: Parallel) -> MixtureSums:
        counts = as_counts(block[0])
        n = len(counts.indptr) - 1
        posterior, log_likelihood = np.empty((n, len(self.weights))), np.empty(n)

        def rows(i: int) -> None:
            span = (i * _ROWS, min(n, (i + 1) * _ROWS))
            _multinomial(counts, *span, self.log_by_word, self.log_weights, self.weights, posterior, log_likelihood)

        def columns(i: int) -> None:
            chunk = np.ascontiguousarray(posterior[:, i * _COLUMNS : (i + 1) * _COLUMNS])
            _add_expected(counts.indptr, counts.indices, counts.data, chunk, state.first[i])

        parallel(rows, -(-n // _ROWS))
        parallel(columns, len(state.first))
        state.mass += posterior.sum(axis=0)
        state.log_likelihood += float(log_likelihood.sum())
        state.n_rows += n
        return state

    def updated(self, state: MixtureSums, prior: float | np.ndarray = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Components (K, V) and weights (K,) after the pass, with ``prior`` pseudo-counts of every word."""
        expected = np.concatenate(state.first, axis=1).T
        return stochastic_rows(expected, prior, self.components), _new_weights(state, self.weights)


class SphericalMixtureUpdate:
    """Statistic of one EM step for Gaussians with covariance sigma_k^2 I, on dense or sparse rows.

    Squared distances are one product with the means, taken about their centre (sparse rows: about the origin). They
    lose accuracy where the means are more than about 1e6 standard deviations apart.

    Parameters
    ----------
    means : ndarray of shape (K, d)
    weights : ndarray of shape (K,)
    variance : ndarray of shape (K,)
        sigma_k^2, positive.
    tied : bool
        Whether all components share one variance.
    """

    def __init__(self, means: np.ndarray, weights: np.ndarray, variance: np.ndarray, tied: bool = False) -> None:
        self.means, self.weights = np.asarray(means, dtype=np.float64), np.asarray(weights, dtype=np.float64)
        self.variance, self.tied = np.broadcast_to(np.asarray(variance, dtype=np.float64), len(means)), tied

    def zero(self) -> MixtureSums:
        k, d = self.means.shape
        return MixtureSums(np.zeros(k), np.zeros((k, d)), np.zeros(k))

    def add(self, state: MixtureSums, block: Block) -> MixtureSums:
        rows, means = _about_centre(block[0], self.means)
        squares = _squared_distances(rows, means)
        log_density = _spherical(squares, self.variance, means.shape[1])
        posterior, log_likelihood = _responsibilities(log_density, self.weights)
        mass = posterior.sum(axis=0)
        state.first += (rows.T @ posterior).T - mass[:, None] * means
        state.second += np.einsum("ij,ij->j", posterior, squares)
        return _add_rows(state, mass, log_likelihood)

    def merge(self, first: MixtureSums, second: MixtureSums) -> MixtureSums:
        return merged(first, second)

    def updated(self, state: MixtureSums, floor: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means (K, d), weights (K,) and variances (K,) after the pass, variances at least ``floor``."""
        used, d = state.mass > _NOTHING, self.means.shape[1]
        mass = np.where(used, state.mass, 1.0)
        moved = np.where(used[:, None], state.first / mass[:, None], 0.0)
        spread = np.where(used, state.second - state.mass * (moved**2).sum(axis=1), 0.0)
        if self.tied:
            variance = np.full(len(mass), spread.sum() / (d * state.n_rows)) if used.any() else self.variance
        else:
            variance = np.where(used, spread / (d * mass), self.variance)
        return self.means + moved, _new_weights(state, self.weights), np.maximum(variance, floor)


class ProductMixtureUpdate:
    """Statistic of one EM step for columns that are independent within a component.

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
        Columns of zeros and ones, or Gaussian columns with variances of their own.
    means : ndarray of shape (K, d)
        For "bernoulli" the probabilities of a one.
    variances : ndarray of shape (K, d) or None
        For "gaussian" only.
    weights : ndarray of shape (K,)
    """

    def __init__(self, kind: str, means: np.ndarray, variances: np.ndarray | None, weights: np.ndarray) -> None:
        _check_kind(kind, variances)
        self.kind, self.weights = kind, np.asarray(weights, dtype=np.float64)
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.variances = None if variances is None else np.asarray(variances, dtype=np.float64)

    def zero(self) -> MixtureSums:
        second = np.zeros(self.means.shape) if self.kind == "gaussian" else 0.0
        return MixtureSums(np.zeros(len(self.weights)), np.zeros(self.means.shape), second)

    def add(self, state: MixtureSums, block: Block) -> MixtureSums:
        log_density = product_log_density(self.kind, block[0], self.means, self.variances)
        posterior, log_likelihood = _responsibilities(log_density, self.weights)
        if self.kind == "gaussian":
            add_gaussian(block[0], posterior, self.means, state.first, state.second)
        else:
            state.first += (block[0].T @ posterior).T
        return _add_rows(state, posterior.sum(axis=0), log_likelihood)

    def merge(self, first: MixtureSums, second: MixtureSums) -> MixtureSums:
        return merged(first, second)

    def updated(
        self, state: MixtureSums, floor: float | np.ndarray = 0.0
    ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Means (K, d), variances (K, d) or None, and weights (K,) after the pass.

        Variances are at least ``floor``, a number or an array of shape (d,); probabilities are kept that far from
        zero and one.
        """
        weights = _new_weights(state, self.weights)
        if self.kind == "gaussian":
            sums = state.mass, state.first, state.second
            return *gaussian_update(*sums, self.means, self.variances, floor), weights
        used = state.mass[:, None] > _NOTHING
        means = np.where(used, state.first / np.where(used, state.mass[:, None], 1.0), self.means)
        return np.clip(means, floor, 1 - np.asarray(floor)), None, weights


def multinomial_responsibilities(
    table: Any, components: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Probabilities of the components given each document, shape (n_documents, K).

    Parameters
    ----------
    table : array or sparse matrix of shape (n_documents, V)
        Counts.
    components : ndarray of shape (K, V)
    weights : ndarray of shape (K,)
    n_jobs : int, optional
    """
    return _multinomial_rows(table, components, weights, n_jobs)[0]


def multinomial_log_likelihood(
    table: Any, components: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """log sum_k w_k prod_v A_kv^c_dv for each document, without the multinomial coefficient, shape (n_documents,)."""
    return _multinomial_rows(table, components, weights, n_jobs)[1]


def spherical_log_density(X: Any, means: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log-densities of Gaussians with covariance variance_k I, shape (n, K), for dense or sparse X (n, d)."""
    rows, shifted = _about_centre(X, np.asarray(means, dtype=np.float64))
    variance = np.broadcast_to(np.asarray(variance, dtype=np.float64), len(shifted))
    return _spherical(_squared_distances(rows, shifted), variance, shifted.shape[1])


def gaussian_log_density(X: Any, means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Log-densities of Gaussians with diagonal covariances, shape (n, K), for X (n, d) however far from the origin.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    means, variances : ndarray of shape (K, d)
    """
    variances = np.asarray(variances, dtype=np.float64)
    constant = -0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    rows, means = _dense(X), np.ascontiguousarray(means, dtype=np.float64)
    log_density = np.empty((len(rows), len(means)))
    _gaussian(rows, means, np.ascontiguousarray(1 / variances), constant, log_density)
    return log_density


def product_log_density(kind: str, X: Any, means: np.ndarray, variances: np.ndarray | None = None) -> np.ndarray:
    """Log-densities of rows with independent columns, shape (n, K).

    Parameters
    ----------
    kind : {"bernoulli", "gaussian"}
    X : array or sparse matrix of shape (n, d)
        Zeros and ones for "bernoulli".
    means : ndarray of shape (K, d)
    variances : ndarray of shape (K, d), optional
        For "gaussian".
    """
    _check_kind(kind, variances)
    if variances is not None:
        return gaussian_log_density(X, means, variances)
    ones, zeros = _log(means), _log(1 - means)
    never, always = np.isneginf(ones), np.isneginf(zeros)
    ones[never], zeros[always] = 0, 0
    log_density = X @ (ones - zeros).T + zeros.sum(axis=1)
    if never.any() or always.any():  # 0 * -inf is no number: count the columns with the impossible value instead
        impossible = X @ (never.astype(float) - always).T + always.sum(axis=1)
        log_density[impossible > 0.5] = -np.inf
    return log_density


def scaled_exp(log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Densities with largest entry one in every row, shape (n, K), and the logarithm of the scale, shape (n,).

    A row of -inf gives zeros and scale one.
    """
    shift = log_density.max(axis=1)
    shift[np.isneginf(shift)] = 0
    density = log_density - shift[:, None]
    return np.exp(density, out=density), shift


def stochastic_rows(counts: np.ndarray, prior: float | np.ndarray, old: np.ndarray) -> np.ndarray:
    """Rows of ``counts`` plus pseudo-counts, normalised; a row without counts is that of ``old``."""
    used = counts.sum(axis=1, keepdims=True) > _NOTHING
    smoothed = counts + prior
    return np.where(used, smoothed / np.where(used, smoothed.sum(axis=1, keepdims=True), 1.0), old)


def add_gaussian(X: Any, posterior: np.ndarray, means: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Add posterior (x - mean) and posterior (x - mean)^2 over the rows to ``first`` and ``second``, shape (K, d)."""
    _add_gaussian(_dense(X), posterior, means, first, second)


def gaussian_update(
    mass: np.ndarray, first: np.ndarray, second: np.ndarray, means: np.ndarray, variances: Any, floor: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (K, d) from sums about the old means; those of a component without mass are the old ones."""
    used = mass[:, None] > _NOTHING
    mass = np.where(used, mass[:, None], 1.0)
    moved = np.where(used, first / mass, 0.0)
    return means + moved, np.maximum(np.where(used, second / mass - moved**2, variances), floor)


def merged(first: Sums, second: Sums) -> Sums:
    """Two dataclasses of sums added field by field into ``first``."""
    for field in fields(first):  # type: ignore[arg-type]
        setattr(first, field.name, getattr(first, field.name) + getattr(second, field.name))
    return first


def _check_kind(kind: str, variances: np.ndarray | None) -> None:
    if kind not in ("bernoulli", "gaussian"):
        raise LatentiaError(f"kind={kind!r}: must be 'bernoulli' or 'gaussian'.")
    if (variances is None) != (kind == "bernoulli"):
        raise LatentiaError("variances: 'gaussian' columns need them, and 'bernoulli' columns have none.")


def _log(p: np.ndarray) -> np.ndarray:
    """Logarithms with -inf for zero, contiguous."""
    with np.errstate(divide="ignore"):
        return np.log(p, order="C", dtype=np.float64)


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _new_weights(state: MixtureSums, old: np.ndarray) -> np.ndarray:
    return state.mass / state.mass.sum() if state.n_rows else old


def _add_rows(state: MixtureSums, mass: np.ndarray, log_likelihood: np.ndarray) -> MixtureSums:
    state.mass += mass
    state.log_likelihood += float(log_likelihood.sum())
    state.n_rows += len(log_likelihood)
    return state


def _responsibilities(log_density: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (n, K) and log-likelihoods (n,) of rows."""
    return _normalise(log_density + _log(weights), weights)


def _normalise(log_joint: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From log w_k f_k(x) of shape (n, K): responsibilities (n, K) and log-likelihoods (n,)."""
    posterior, shift = scaled_exp(log_joint)
    total = posterior.sum(axis=1)
    log_likelihood = shift + _log(total)
    impossible = total == 0
    posterior[impossible], total[impossible] = weights, 1
    posterior /= total[:, None]
    return posterior, log_likelihood


def _multinomial_rows(
    table: Any, components: np.ndarray, weights: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    counts, update = as_counts(table), MultinomialMixtureUpdate(components, weights)
    n = len(counts.indptr) - 1
    out = np.empty((n, len(update.weights))), np.empty(n)
    model = update.log_by_word, update.log_weights, update.weights
    for_chunks(lambda a, b: _multinomial(counts, a, b, *model, *out), n, _ROWS, n_jobs)
    return out


def _multinomial(
    counts: Counts,
    first: int,
    last: int,
    log_by_word: np.ndarray,
    log_weights: np.ndarray,
    weights: np.ndarray,
    posterior: np.ndarray,
    log_likelihood: np.ndarray,
) -> None:
    """Responsibilities and log-likelihoods of documents first to last."""
    log_joint = np.tile(log_weights, (last - first, 1))
    _add_log_words(*counts, first, log_by_word, log_joint)
    posterior[first:last], log_likelihood[first:last] = _normalise(log_joint, weights)


def _about_centre(X: Any, means: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows and means without the centre of the means; sparse rows stay as they are."""
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64), means
    centre = means.mean(axis=0)
    return np.asarray(X) - centre, means - centre


def _squared_distances(rows: Any, means: np.ndarray) -> np.ndarray:
    lengths = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    squares = rows @ (-2 * means.T)
    squares += lengths[:, None]
    squares += (means**2).sum(axis=1)
    return np.maximum(squares, 0, out=squares)


def _spherical(squares: np.ndarray, variance: np.ndarray, d: int) -> np.ndarray:
    return squares * (-0.5 / variance) - 0.5 * d * np.log(2 * np.pi * variance)


@njit(nogil=True, cache=True)
def _add_log_words(indptr, indices, data, first, log_by_word, log_joint):  # pragma: no cover - compiled
    k = log_by_word.shape[1]
    for d in range(len(log_joint)):
        out = log_joint[d]
        for e in range(indptr[first + d], indptr[first + d + 1]):
            c = data[e]
            if c == 0.0:  # a stored zero is no word: 0 * -inf is no number
                continue
            row = log_by_word[indices[e]]
            for j in range(k):
                out[j] += c * row[j]


# Sums over columns may be reordered, which lets them use vector registers; the order is fixed when this is compiled.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _gaussian(rows, means, precisions, constant, log_density):  # pragma: no cover - compiled
    k, d = means.shape
    for t in range(len(rows)):
        for i in range(k):
            square = 0.0
            for j in range(d):
                gap = rows[t, j] - means[i, j]
                square += gap * gap * precisions[i, j]
            log_density[t, i] = constant[i] - 0.5 * square


@njit(nogil=True, cache=True)
def _add_gaussian(rows, posterior, means, first, second):  # pragma: no cover - compiled
    k, d = means.shape
    for t in range(len(rows)):
        for i in range(k):
            r = posterior[t, i]
            for j in range(d):
                gap = rows[t, j] - means[i, j]
                first[i, j] += r * gap
                second[i, j] += r * gap * gap
