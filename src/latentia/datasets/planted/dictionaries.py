"""Rows that are sparse combinations of atoms.

A row is y = c D + e: an incoherent dictionary D of m unit rows, a code c with k nonzeros at random places, Gaussian noise e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from ._draws import check_sizes

__all__ = ["SparseCodes", "sparse_codes"]


@dataclass(frozen=True)
class SparseCodes:
    """Rows, the dictionary and the codes that made them.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    components : ndarray of shape (n_components, n_features)
        Atoms, of unit length.
    codes : csr_array of shape (n_rows, n_components)
        X is codes @ components, plus noise.
    """

    X: np.ndarray
    components: np.ndarray
    codes: sparse.csr_array


def sparse_codes(
    n_rows: int = 20_000,
    n_features: int = 64,
    n_components: int = 128,
    sparsity: int = 3,
    *,
    coefficients: Literal["signs", "uniform", "normal"] = "signs",
    noise: float = 0.0,
    random_state: int = 0,
) -> SparseCodes:
    """Plant a random dictionary, which is incoherent, and draw sparse combinations of its atoms.

    Parameters
    ----------
    n_rows, n_features, n_components : int
    sparsity : int
        Atoms k of a row, at most ``n_components``.
    coefficients : {"signs", "uniform", "normal"}
        1 or -1; from 1 to 2 with a random sign; or standard normal, which may be as good as zero.
    noise : float
        Standard deviation of the noise of an entry.
    random_state : int

    Returns
    -------
    SparseCodes
    """
    check_sizes(n_rows=n_rows, n_features=n_features, n_components=n_components, sparsity=sparsity)
    if sparsity > n_components:
        raise LatentiaError(f"there are {n_components} atoms.", parameter="sparsity", value=sparsity)
    rng = np.random.default_rng(random_state)
    atoms = rng.standard_normal((n_components, n_features))
    atoms /= np.linalg.norm(atoms, axis=1)[:, None]
    places = _supports(rng, n_rows, n_components, sparsity)
    if coefficients == "normal":
        values = rng.standard_normal(places.shape)
    else:
        values = rng.choice([-1.0, 1.0], places.shape)
        values *= rng.uniform(1, 2, places.shape) if coefficients == "uniform" else 1.0
    starts = sparsity * np.arange(n_rows + 1)
    codes = sparse.csr_array((values.ravel(), places.ravel(), starts), shape=(n_rows, n_components))
    codes.sort_indices()
    return SparseCodes(codes @ atoms + noise * rng.standard_normal((n_rows, n_features)), atoms, codes)


def _supports(rng: np.random.Generator, n_rows: int, m: int, k: int) -> np.ndarray:
    """k different atoms for each row, shape (n_rows, k): Floyd's algorithm for all rows at once."""
    places = np.empty((n_rows, k), dtype=np.int64)
    for i in range(k):
        drawn = rng.integers(0, m - k + i + 1, n_rows)
        taken = (places[:, :i] == drawn[:, None]).any(axis=1)
        places[:, i] = np.where(taken, m - k + i, drawn)
    return places
