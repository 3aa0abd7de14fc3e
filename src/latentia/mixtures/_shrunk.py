"""Covariances of components that are shrunk towards what all components share, by as much as serves rows that are left out.

With n_k rows of scatter S_k the covariance of component k is estimated as

    C_k = (S_k + nu T) / (n_k + nu),

as if nu rows with covariance T had been seen besides: T is the covariance within components, which itself is shrunk in this way
towards its diagonal. EM then climbs the log-likelihood less nu sum_k KL(N(0, T) | N(0, C_k)). The strength nu is the one under
which rows are likeliest in their component as it would be without them. With d the distance of a row to the mean of its
component and a = n_k / (n_k - 1), its mean without the row is a d away, and its scatter is S_k - a d d^T; so all that is needed
is d^T (S_k + nu T)^-1 d, for many nu at once from the eigenvectors of T^-1 S_k. Where classes are large and differ, nu rows are
next to nothing.

Source: C. Fraley, A. E. Raftery, Bayesian regularization for normal mixture estimation and model-based clustering, Journal of
Classification 24 (2007), for such a prior, of fixed strength.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

_STRENGTHS = np.geomspace(1e-6, 1e4, 16)  # in rows
_MOST = 1 << 16  # numbers of entries of the table that are left out one by one
_TINY = 1e-9


class Prior(NamedTuple):
    """Of covariances: the strength nu in rows, the target T, shape (D,) or (D, D), and the nats by which a fit flatters itself.

    ``optimism`` is how much likelier the rows are in their components than they are left out. A component of one row stands for
    the mean of all when that is left out.
    """

    strength: float
    target: np.ndarray
    optimism: float = 0.0

    @classmethod
    def of(cls, table: np.ndarray, labels: np.ndarray, shape: str, least: np.ndarray | float) -> Prior:
        """What rows say that are dealt to components.

        Parameters
        ----------
        table : ndarray of shape (n, D)
            The rows about their mean.
        labels : ndarray of int, shape (n,)
        shape : {"diag", "full", "tied"}
        least : float or ndarray of shape (D,)
            Added to the variances of the target.
        """
        order = np.argsort(labels, kind="stable")
        groups = np.split(table[order], np.flatnonzero(np.diff(labels[order])) + 1)
        groups = [rows - rows.mean(axis=0) if len(rows) > 1 else rows for rows in groups]
        within = np.vstack([rows for rows in groups if len(rows) > 1] or groups)
        variance = (within**2).mean(axis=0) + least
        if shape == "diag":
            thin = max(table.size * len(_STRENGTHS) // _MOST, 1)
            return cls._best((_left_out_of_columns(rows / np.sqrt(variance), thin) for rows in groups), variance)
        prior = cls._best([_left_out(within / np.sqrt(variance))], np.diag(variance))
        if shape == "tied":
            return prior
        target = prior.shrunk(within.T @ within, len(within))
        root = np.linalg.inv(np.linalg.cholesky(target)).T
        return cls._best((_left_out(rows @ root) for rows in groups), target)

    @classmethod
    def _best(cls, heights: Iterable[np.ndarray], target: np.ndarray) -> Prior:
        left_out, fitted = np.sum(list(heights), axis=0)
        best = int(np.argmax(left_out))
        return cls(float(_STRENGTHS[best]), target, float(fitted[best] - left_out[best]))

    def shrunk(self, scatters: np.ndarray, mass: np.ndarray | float) -> np.ndarray:
        """Covariances of components, (..., D) or (..., D, D), from scatters and numbers of rows (...)."""
        mass = np.reshape(mass, np.shape(mass) + (1,) * self.target.ndim)
        return (scatters + self.strength * self.target) / (mass + self.strength)

    def cost(self, precisions: np.ndarray, log_dets: np.ndarray) -> float:
        """Nats that the log-likelihood is penalized by, of inverse covariances and the logarithms of their determinants."""
        width, full = len(self.target), self.target.ndim == 2
        own = np.linalg.slogdet(self.target)[1] if full else np.log(self.target).sum()
        traces = (precisions * self.target).sum(axis=(1, 2) if full else 1)
        return 0.5 * self.strength * float((log_dets - own + traces - width).sum())


def _alone(row: np.ndarray) -> np.ndarray:
    """`_left_out` of a component of one row, shape (1, D)."""
    return -0.5 * np.array([0 * _STRENGTHS + (row**2).sum(), row.size * np.log(_STRENGTHS / (1 + _STRENGTHS))])


def _left_out(rows: np.ndarray) -> np.ndarray:
    """Log-likelihood of a component's rows about its mean, each left out, and as they are, for all strengths, shape (2, G).

    The target is I; what all strengths share is left away.
    """
    if len(rows) < 2:
        return _alone(rows)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    scales = np.maximum(values, 0.0)[:, None] + _STRENGTHS
    return _heights((rows @ vectors) ** 2 @ (1 / scales), len(rows), np.log(scales).sum(axis=0), rows.shape[1])


def _left_out_of_columns(rows: np.ndarray, thin: int) -> np.ndarray:
    """The same of columns that are independent given the component, of each so many-th row."""
    if len(rows) < 2:
        return _alone(rows)
    scales = (rows**2).sum(axis=0)[:, None] + _STRENGTHS
    some = rows[::thin]
    heights = _heights((some**2)[..., None] / scales, len(rows), np.log(scales), 1)
    return np.asarray(heights.sum(axis=1) * len(rows) / len(some))


def _heights(squares: np.ndarray, n: int, log_dets: np.ndarray, width: int) -> np.ndarray:
    """From d^T (S + nu T)^-1 d of rows, shape (m, ..., G), the sums of their log-likelihoods, shape (2, ..., G)."""
    m, mass = len(squares), n + _STRENGTHS
    fitted = m * (log_dets - width * np.log(mass)) + mass * squares.sum(axis=0)
    a, mass = n / (n - 1), mass - 1
    left = np.maximum(1 - a * squares, _TINY)
    left_out = m * (log_dets - width * np.log(mass)) + (np.log(left) + mass * a**2 * squares / left).sum(axis=0)
    return -0.5 * np.array([left_out, fitted])
