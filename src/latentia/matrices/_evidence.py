"""The expected l1 error of a shrunk probability matrix, from the counts alone.

The error has three parts, and the size of each can be computed.

1. The marginals: r_i has the variance rho_i / (2N).
2. Noise in a kept direction. With l = signal, c^2 = 1 - e^2 / (4 l^2), s^2 = 1 - c^2 and g a random direction, the answer has
   l c^2 (c u + s g)(c u + s g)^T where the truth has l u u^T.
3. Directions below the edge, which were dropped: the part of |S|^2 (see `latentia.linalg.scaled`) that the kept directions do
   not explain. A dropped direction holds at most (e / 2)^2, or else it would be above the edge; the noisy estimate is averaged
   over the possible values.

Errors of entries are taken as Gaussian: the l1 error is sqrt(2 / pi) times the sum of their standard deviations, averaged over
random pairs of words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import truncnorm

from ..evidence import noise_limit
from ..linalg import ScaledSpace
from ..moments import split_counts

_DRAWS = 10_000  # random pairs of words over which standard deviations are averaged
_CHUNK = 1 << 20  # cells at a time


def estimate_missing_signal(space: ScaledSpace, n_directions: int) -> float:
    """Estimate the squared Frobenius norm of S that the kept directions do not explain."""
    unexplained = space.norm - float((space.signal**2).sum())
    hidden = (n_directions - space.n_kept) * space.edge**2 / 4
    if hidden == 0 or space.norm_deviation == 0:
        return max(unexplained - 2 * space.norm_deviation, 0.0)
    # Posterior mean on [0, hidden] with a normal error and a uniform prior.
    low, high = -unexplained / space.norm_deviation, (hidden - unexplained) / space.norm_deviation
    with np.errstate(all="ignore"):
        expected = float(truncnorm.mean(low, high, loc=unexplained, scale=space.norm_deviation))
    if not np.isfinite(expected):  # so far from the interval that the mean is at its nearer end
        expected = min(max(unexplained, 0.0), hidden)
    return max(min(expected, hidden), unexplained - 2 * space.norm_deviation, 0.0)


def measure_excess(space: ScaledSpace) -> float:
    """Return |S|^2 beyond the kept directions, in standard deviations of noise."""
    return (space.norm - float((space.signal**2).sum())) / space.norm_deviation if space.norm_deviation else 0.0


def estimate_dependence(space: ScaledSpace, n_pairs: float) -> float:
    """Estimate the factor by which errors grow if pairs depend on each other as the pairs of a document do.

    m documents of L words have m L^2 / 2 pairs, and the eigenvalues of their noise end at 1 + sqrt(M / m) / 2 times the edge of
    as many independent pairs. So the first eigenvalue after the requested ones gives m and L, and errors are those of L times
    fewer pairs.
    """
    n_words, ratio = int((space.marginals > 0).sum()), space.beyond / space.plain_edge if space.plain_edge else 0.0
    if ratio <= noise_limit(n_words):
        return 1.0
    length = 2 * (ratio - 1) * np.sqrt(2 * n_pairs / n_words)
    return float(np.sqrt(max(length, 1.0)))


def estimate_persistent_excess(
    counts: Any, entries: Callable[[Any, Any], np.ndarray], entries_sum: float, random_state: int
) -> float:
    """Estimate the part of the l1 error (0 to 2) that two halves of the pairs agree on, a lower bound of it.

    Cells that are more frequent in one half than the estimate says are also more frequent in the other half, unless by noise.

    Parameters
    ----------
    counts : csr_array of shape (M, M)
        C + C^T.
    entries : callable
        Estimated probabilities of cells (i, j), up to a factor.
    entries_sum : float
        Sum of all cells.
    """
    halves = split_counts(counts, True, random_state)
    totals = [float(half.sum()) for half in halves]
    if not min(totals) > 0 or not entries_sum > 0:
        return 0.0
    distances = []
    for first, second in ((0, 1), (1, 0)):
        cells, rest = halves[first].tocoo(), halves[second].tocsr()
        i, j = cells.coords
        total = 0.0
        for start in range(0, cells.nnz, _CHUNK):
            a, b = i[start : start + _CHUNK], j[start : start + _CHUNK]
            chance = entries(a, b) / entries_sum
            above = cells.data[start : start + _CHUNK] > totals[first] * chance
            held_out = np.asarray(rest[a[above], b[above]]).ravel()
            total += float((held_out / totals[second] - chance[above]).sum())
        distances.append(2 * total)
    return max(float(np.mean(distances)), 0.0)


def compute_expected_error(space: ScaledSpace, missing: float, n_pairs: float, random_state: int) -> float:
    """Return the expected l1 distance of the estimate to the truth (0 to 2)."""
    rng = np.random.default_rng(random_state)
    chance = space.scale / space.scale.sum()
    cumulated = np.cumsum(chance)
    size = len(chance)
    i, j = (np.minimum(np.searchsorted(cumulated, rng.random(_DRAWS)), size - 1) for _ in range(2))
    r, scale = space.marginals, space.scale
    spread = (r / scale) / (r / scale).sum()  # squared entries of a random direction
    smooth = np.maximum(r, 0.5 / (2 * n_pairs))
    signal, kept_values = np.abs(space.signal), np.abs(space.values[: space.n_kept])
    c2 = np.divide(kept_values, signal, out=np.zeros_like(kept_values), where=signal > 0)
    s2 = 1 - c2
    pure_part = float(((signal - kept_values * c2) ** 2).sum()) + missing
    mixed_part, noise_part = float((kept_values**2 * c2 * s2).sum()), float((kept_values**2 * s2**2).sum())
    structure = (
        scale[i]
        * scale[j]
        * (
            pure_part * smooth[i] * smooth[j]
            + mixed_part * (smooth[i] * spread[j] + smooth[j] * spread[i])
            + noise_part * spread[i] * spread[j]
        )
    )
    marginal = (smooth[i] ** 2 * smooth[j] + smooth[j] ** 2 * smooth[i]) / (2 * n_pairs)
    deviations = np.sqrt(structure + marginal) / (chance[i] * chance[j])
    return min(float(np.sqrt(2 / np.pi) * deviations.mean()), 2.0)
