"""The expected l1 error of a shrunk probability matrix, from the counts alone.

Three things are missing from the answer, and each has a size that can be computed.

1. The marginals: r_i has the variance rho_i / (2N).
2. What noise does to a kept direction. With l = signal, c^2 = 1 - e^2 / (4 l^2), s^2 = 1 - c^2 and g a random direction,
   the answer has l c^2 (c u + s g)(c u + s g)^T where the truth has l u u^T.
3. What is below the edge and was dropped: the part of |S|^2 (see `latentia.linalg.scaled`) that the kept directions do not
   explain. At most (e / 2)^2 can hide in each of the R - 1 directions, or else it is above the edge; the noisy estimate is
   averaged over what is possible.

Errors of entries are taken as Gaussian: the l1 error is sqrt(2 / pi) times the sum of their standard deviations, which is
averaged over pairs of words drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import truncnorm

from ..evidence import noise_limit
from ..linalg import ScaledSpace
from ..moments import split_counts

_DRAWS = 10_000
_CHUNK = 1 << 20


def missing_signal(space: ScaledSpace, n_directions: int) -> float:
    """Squared Frobenius norm of what the kept directions leave of S."""
    found = space.norm - float((space.signal**2).sum())
    hidden = (n_directions - space.n_kept) * space.edge**2 / 4
    if hidden == 0 or space.norm_deviation == 0:
        return max(found - 2 * space.norm_deviation, 0.0)
    # The mean of what lies in [0, hidden] given a normal error, everything in between being as likely beforehand.
    low, high = -found / space.norm_deviation, (hidden - found) / space.norm_deviation
    with np.errstate(all="ignore"):
        expected = float(truncnorm.mean(low, high, loc=found, scale=space.norm_deviation))
    if not np.isfinite(expected):  # so far from zero that the mean is at the nearer end
        expected = min(max(found, 0.0), hidden)
    return max(min(expected, hidden), found - 2 * space.norm_deviation, 0.0)


def excess(space: ScaledSpace) -> float:
    """What |S|^2 has beyond the kept directions, in standard deviations of noise."""
    return (space.norm - float((space.signal**2).sum())) / space.norm_deviation if space.norm_deviation else 0.0


def dependence(space: ScaledSpace, n_pairs: float) -> float:
    """Factor by which errors grow where pairs depend on each other without cells that are too full: as those of documents do.

    All pairs of m documents of L words are L^2 / 2 times m, and the eigenvalues of their noise end at 1 + sqrt(M / m) / 2 times
    the edge of as many independent pairs. So the eigenvalue after the kept ones tells m and L, and errors are those of L times
    fewer pairs.
    """
    n_words, ratio = int((space.marginals > 0).sum()), space.beyond / space.plain_edge if space.plain_edge else 0.0
    if ratio <= noise_limit(n_words):
        return 1.0
    length = 2 * (ratio - 1) * np.sqrt(2 * n_pairs / n_words)
    return float(np.sqrt(max(length, 1.0)))


def persistent_excess(counts: Any, entries: Callable[[Any, Any], np.ndarray], whole: float, random_state: int) -> float:
    """Least l1 distance of the estimate to the truth (0 to 2), that two halves of the pairs agree on.

    Cells that one half has more often than the estimate says have it in the other half, too, as far as that is not noise.

    Parameters
    ----------
    counts : csr_array of shape (M, M)
        C + C^T.
    entries : callable
        Estimated probabilities of cells (i, j), up to a factor.
    whole : float
        Their sum.
    """
    halves = split_counts(counts, True, random_state)
    totals = [float(half.sum()) for half in halves]
    if not min(totals) > 0 or not whole > 0:
        return 0.0
    found = []
    for one, other in ((0, 1), (1, 0)):
        cells, rest = halves[one].tocoo(), halves[other].tocsr()
        i, j = cells.coords
        total = 0.0
        for start in range(0, cells.nnz, _CHUNK):
            a, b = i[start : start + _CHUNK], j[start : start + _CHUNK]
            chance = entries(a, b) / whole
            above = cells.data[start : start + _CHUNK] > totals[one] * chance
            seen = np.asarray(rest[a[above], b[above]]).ravel()
            total += float((seen / totals[other] - chance[above]).sum())
        found.append(2 * total)
    return max(float(np.mean(found)), 0.0)


def expected_error(space: ScaledSpace, missing: float, n_pairs: float, random_state: int) -> float:
    """Expected l1 distance of the estimate to the truth (0 to 2)."""
    rng = np.random.default_rng(random_state)
    chance = space.scale / space.scale.sum()
    cumulated = np.cumsum(chance)
    size = len(chance)
    i, j = (np.minimum(np.searchsorted(cumulated, rng.random(_DRAWS)), size - 1) for _ in range(2))
    r, scale = space.marginals, space.scale
    spread = (r / scale) / (r / scale).sum()  # of a random direction
    smooth = np.maximum(r, 0.5 / (2 * n_pairs))
    signal, kept = np.abs(space.signal), np.abs(space.values[: space.n_kept])
    c2 = np.divide(kept, signal, out=np.zeros_like(kept), where=signal > 0)
    s2 = 1 - c2
    both = float(((signal - kept * c2) ** 2).sum()) + missing
    one, none = float((kept**2 * c2 * s2).sum()), float((kept**2 * s2**2).sum())
    structure = (
        scale[i]
        * scale[j]
        * (
            both * smooth[i] * smooth[j]
            + one * (smooth[i] * spread[j] + smooth[j] * spread[i])
            + none * spread[i] * spread[j]
        )
    )
    marginal = (smooth[i] ** 2 * smooth[j] + smooth[j] ** 2 * smooth[i]) / (2 * n_pairs)
    deviations = np.sqrt(structure + marginal) / (chance[i] * chance[j])
    return min(float(np.sqrt(2 / np.pi) * deviations.mean()), 2.0)
