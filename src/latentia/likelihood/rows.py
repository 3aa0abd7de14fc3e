"""Shared parts of mixture updates: sums over rows, responsibilities, logarithms of zero.

A row that is impossible under every component gets the weights as responsibilities and makes the log-likelihood -inf.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

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


def merge_sums(first: Sums, second: Sums) -> Sums:
    """Add two dataclasses of sums field by field into ``first``."""
    for field in fields(first):  # type: ignore[arg-type]
        setattr(first, field.name, getattr(first, field.name) + getattr(second, field.name))
    return first


def log(p: np.ndarray) -> np.ndarray:
    """Return logarithms, -inf for zero, in a contiguous array."""
    with np.errstate(divide="ignore"):
        return np.log(p, order="C", dtype=np.float64)


def scale_exp(log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return densities with largest entry one in every row, shape (n, K), and the logarithm of the scale, shape (n,).

    A row of -inf gives zeros and scale one.
    """
    shift = log_density.max(axis=1)
    shift[np.isneginf(shift)] = 0
    density = log_density - shift[:, None]
    return np.exp(density, out=density), shift


def responsibilities(log_density: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return responsibilities (n, K) and log-likelihoods (n,) of rows."""
    return normalised(log_density + log(weights), weights)


def normalised(log_joint: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return responsibilities (n, K) and log-likelihoods (n,) from log w_k f_k(x), shape (n, K)."""
    posterior, shift = scale_exp(log_joint)
    total = posterior.sum(axis=1)
    log_likelihood = shift + log(total)
    impossible = total == 0
    posterior[impossible], total[impossible] = weights, 1
    posterior /= total[:, None]
    return posterior, log_likelihood


def add_rows(state: MixtureSums, mass: np.ndarray, log_likelihood: np.ndarray) -> MixtureSums:
    """Count rows with these log-likelihoods, and add their mass."""
    state.mass += mass
    state.log_likelihood += float(log_likelihood.sum())
    state.n_rows += len(log_likelihood)
    return state
