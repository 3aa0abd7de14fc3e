"""Noisy-or networks: the random model of the paper, unequal priors, leaks, and sparse networks like QMR-DT.

Causes are on independently with probability rho_k; cause k switches finding i on with probability 1 - exp(-W_ki), and a
leak does so by itself (Arora, Ge, Ma and Risteski, Provable learning of noisy-or networks, section 1).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from ...likelihood import noisy_or_rows
from ...passes import write_cache
from ._draws import check_sizes, geometric_weights

_BLOCK_ENTRIES = 1 << 22
_FREQUENCIES = np.array([0.025, 0.2, 0.5, 0.8, 0.985])  # probabilities of QMR's five grades of frequency
_SHARES = np.array([0.2, 0.35, 0.25, 0.15, 0.05])


@dataclass(frozen=True)
class PlantedFindings:
    """Rows of a network, and the truth behind them.

    Attributes
    ----------
    X : ndarray of bool, shape (n_rows, n_features)
    causes : ndarray of bool, shape (n_rows, n_components)
    truth : NoisyOrTruth
    """

    X: np.ndarray
    causes: np.ndarray
    truth: NoisyOrTruth


@dataclass(frozen=True)
class NoisyOrTruth:
    """The parameters of a network, and a sampler of rows from it.

    Attributes
    ----------
    weights : ndarray of shape (n_components, n_features)
    priors : ndarray of shape (n_components,)
    leak : ndarray of shape (n_features,)
    """

    weights: np.ndarray
    priors: np.ndarray
    leak: np.ndarray

    def sample(self, n_rows: int, random_state: int = 0) -> PlantedFindings:
        """Draw rows into memory, the same as all blocks of `sample_blocks` together."""
        blocks = list(self.sample_blocks(n_rows, random_state))
        return PlantedFindings(np.vstack([b[0] for b in blocks]), np.vstack([b[1] for b in blocks]), self)

    def sample_blocks(self, n_rows: int, random_state: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Findings and causes of rows, both bool, some four million findings at a time."""
        check_sizes(n_rows=n_rows)
        rng = np.random.default_rng(random_state)
        size = max(1, _BLOCK_ENTRIES // self.weights.shape[1])
        for start in range(0, n_rows, size):
            yield noisy_or_rows(self.weights, self.priors, self.leak, min(size, n_rows - start), rng)

    def write(self, path: str | os.PathLike[str], n_rows: int, random_state: int = 0) -> Path:
        """Write rows to a cache folder block by block, for `Blocks.from_files`; nothing more than a block is in memory."""
        target = Path(path)
        blocks = self.sample_blocks(n_rows, random_state)
        write_cache(target, ((sparse.csr_array(X.astype(np.float32)),) for X, _ in blocks))
        return target


def noisy_or_network(
    n_features: int = 60,
    n_components: int = 10,
    *,
    density: float = 1 / 3,
    least_weight: float = 0.5,
    largest_weight: float = 2.0,
    active: float = 1.0,
    spread: float = 1.0,
    leak: float = 0.0,
    random_state: int = 0,
) -> NoisyOrTruth:
    """Plant the random network of the paper's section 1.

    Parameters
    ----------
    n_features, n_components : int
        Findings n and causes m.
    density : float
        p: each weight is zero with probability 1 - p.
    least_weight, largest_weight : float
        Other weights are uniform between these.
    active : float
        rho m: mean number of causes that are on.
    spread : float
        Ratio of the largest to the smallest prior; 1: all are equal.
    leak : float
        Mean leak; each finding's is uniform between 0 and twice that.
    random_state : int

    Returns
    -------
    NoisyOrTruth
        The truth, from which data is drawn.
    """
    check_sizes(n_features=n_features, n_components=n_components)
    if not 0 < density <= 1 or not 0 < least_weight <= largest_weight or not 0 <= leak < 0.5:
        raise LatentiaError(
            f"density={density}, least_weight={least_weight}, largest_weight={largest_weight}, leak={leak}: needed are 0 < "
            "density <= 1, 0 < least_weight <= largest_weight and 0 <= leak < .5."
        )
    rng = np.random.default_rng(random_state)
    shape = (n_components, n_features)
    present = rng.random(shape) < density
    weights = np.where(present, rng.uniform(least_weight, largest_weight, shape), 0.0)
    priors = active * geometric_weights(n_components, spread, rng)
    if not 0 < priors.max() < 1:
        raise LatentiaError(
            f"active={active}: the largest prior would be {priors.max():.3g}. Probabilities are below 1."
        )
    return NoisyOrTruth(weights, priors, rng.uniform(0, 2 * leak, n_features) if leak else np.zeros(n_features))


def qmr_network(
    n_features: int = 4000,
    n_components: int = 500,
    *,
    mean_findings: float = 80.0,
    active: float = 2.0,
    spread: float = 100.0,
    leak: float = 0.001,
    random_state: int = 0,
) -> NoisyOrTruth:
    """Plant a sparse network in the manner of QMR-DT (570 diseases, 4,075 findings, 45,470 edges).

    Parameters
    ----------
    n_features, n_components : int
    mean_findings : float
        Mean number of findings of a cause: log-normal with standard deviation .6 of its logarithm. Which they are is drawn
        with probabilities that fall as 1 / sqrt(i) over the findings, and the strengths from five grades, .025 to .985.
    active, spread, leak, random_state
        As in `noisy_or_network`.

    Returns
    -------
    NoisyOrTruth
        The truth, from which data is drawn.
    """
    check_sizes(n_features=n_features, n_components=n_components)
    rng = np.random.default_rng(random_state)
    popularity = 1 / np.sqrt(np.arange(1, n_features + 1))
    popularity = rng.permutation(popularity / popularity.sum())
    sizes = np.clip(mean_findings * np.exp(0.6 * rng.standard_normal(n_components) - 0.18), 3, n_features).astype(int)
    weights = np.zeros((n_components, n_features))
    for row, size in zip(weights, sizes, strict=True):
        chosen = rng.choice(n_features, size, replace=False, p=popularity)
        row[chosen] = -np.log1p(-rng.choice(_FREQUENCIES, size, p=_SHARES))
    priors = active * geometric_weights(n_components, spread, rng)
    if not 0 < priors.max() < 1:
        raise LatentiaError(
            f"active={active}: the largest prior would be {priors.max():.3g}. Probabilities are below 1."
        )
    return NoisyOrTruth(weights, priors, rng.uniform(0, 2 * leak, n_features))
