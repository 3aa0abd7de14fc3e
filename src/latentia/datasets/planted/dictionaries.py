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


@dataclass(frozen=True)
class SparseCodes:
    """Rows, the dictionary and the codes that generated them.

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
    mean: float = 0.0,
    pair_correlation: float = 0.0,
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
    mean : float
        Mean of the coefficients over their mean size: they are positive with probability (1 + mean) / 2.
    pair_correlation : float
        Correlation of the uses of atoms 0 and 1, 2 and 3, and so on. Rows still have ``sparsity`` atoms.
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
    if not -1 <= mean <= 1:
        raise LatentiaError("expected a number from -1 to 1.", parameter="mean", value=mean)
    rng = np.random.default_rng(random_state)
    atoms = rng.standard_normal((n_components, n_features))
    atoms /= np.linalg.norm(atoms, axis=1)[:, None]
    if pair_correlation:
        places = _draw_paired_supports(rng, n_rows, n_components, sparsity, pair_correlation)
    else:
        places = _draw_supports(rng, n_rows, n_components, sparsity)
    if coefficients == "normal":
        values = rng.standard_normal(places.shape)
    else:
        values = rng.choice([-1.0, 1.0], places.shape)
        values *= rng.uniform(1, 2, places.shape) if coefficients == "uniform" else 1.0
    if mean:
        values = np.where(rng.random(places.shape) < (1 + mean) / 2, 1.0, -1.0) * np.abs(values)
    starts = sparsity * np.arange(n_rows + 1)
    codes = sparse.csr_array((values.ravel(), places.ravel(), starts), shape=(n_rows, n_components))
    codes.sort_indices()
    return SparseCodes(codes @ atoms + noise * rng.standard_normal((n_rows, n_features)), atoms, codes)


def _draw_supports(rng: np.random.Generator, n_rows: int, m: int, k: int) -> np.ndarray:
    """Draw k different atoms for each row, shape (n_rows, k), by Floyd's algorithm for all rows at once."""
    places = np.empty((n_rows, k), dtype=np.int64)
    for i in range(k):
        candidates = rng.integers(0, m - k + i + 1, n_rows)
        is_used = (places[:, :i] == candidates[:, None]).any(axis=1)
        places[:, i] = np.where(is_used, m - k + i, candidates)
    return places


def _draw_paired_supports(rng: np.random.Generator, n_rows: int, m: int, k: int, correlation: float) -> np.ndarray:
    """Draw k different atoms for each row, where atoms 2 i and 2 i + 1 occur together more often.

    A share q of the rows has both atoms of one of m / 2 pairs, and all use an atom with chance p = k / m: the correlation is
    (2 q / m - p^2) / (p (1 - p)).
    """
    p = k / m
    share = k / 2 * (correlation * (1 - p) + p)
    if m % 2 or not 2 <= k <= m // 2 or not 0 <= share <= 1:
        raise LatentiaError(
            f"rows with {k} of {m} atoms cannot have this correlation.", parameter="pair_correlation", value=correlation
        )
    pairs = rng.permuted(_draw_supports(rng, n_rows, m // 2, k), axis=1)
    places = 2 * pairs + rng.integers(0, 2, pairs.shape)
    is_paired = rng.random(n_rows) < share
    places[is_paired, 1] = places[is_paired, 0] ^ 1
    return places
