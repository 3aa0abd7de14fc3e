"""Linear scores of rows from means alone, and how well means predict the dependence of views.

Without a distribution rows have neither densities nor probabilities, but they have coordinates in the space of the means. If
views depend on each other only through the component, their covariances are products of its means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from ..evidence import Check, above
from ..evidence.limits import STANDARD_ERRORS
from ..linalg.ratios import ratio_of


def compute_linear_scores(
    tables: Sequence[Any], means: Sequence[np.ndarray], weights: np.ndarray, scales: Sequence[np.ndarray]
) -> Any:
    """Compute products of rows with the components' means in each view, both centred and in standard deviations.

    Parameters
    ----------
    tables : sequence of (ndarray or sparse matrix) of shape (n, D_a)
        The views. Missing cells take the value of the centre.

    Returns
    -------
    scores : list of ndarrays of shape (n, K)
    directions : list of ndarrays of shape (K, D_a)
    """
    scores, directions = [], []
    for table, mean, scale in zip(tables, means, scales, strict=True):
        center = weights @ mean
        direction = (mean - center) / scale
        cells = table if sparse.issparse(table) else np.where(np.isnan(table), center, table)
        scores.append(np.asarray(cells @ (direction / scale).T) - center @ (direction / scale).T)
        directions.append(direction)
    return scores, directions


def compute_linear_shares(scores: Sequence[np.ndarray], directions: Sequence[np.ndarray]) -> np.ndarray:
    """Compute least-squares coordinates of rows in the space of the means, shape (K, n)."""
    means = np.hstack(list(directions))
    return np.asarray(np.linalg.pinv(means @ means.T, hermitian=True) @ np.sum(scores, axis=0).T)


def build_dependence_checks(parts: Sequence[tuple[Any, Any]], scales: Sequence[np.ndarray]) -> list[Check]:
    """Check that the means of one half predict the covariances of views in the other half better than independence.

    Parameters
    ----------
    parts : sequence of pairs
        Mixture of one half, and views of rows of the other half.
    """
    gains = [np.zeros(0)]
    for mixture, tables in parts:
        scores, directions = compute_linear_scores(tables, mixture.means, mixture.weights, scales)
        gain, pair = np.zeros(len(scores[0])), np.outer(mixture.weights, mixture.weights)
        for a, b in combinations(range(len(scores)), 2):
            gain += 2 * (scores[a] * scores[b]) @ mixture.weights
            gain -= float((pair * (directions[a] @ directions[a].T) * (directions[b] @ directions[b].T)).sum())
        gains.append(gain)
    gain = np.concatenate(gains)
    if not gain.any():
        return []
    deviations = float(ratio_of(gain.mean(), gain.std()) * np.sqrt(len(gain)))
    return [
        Check(
            "better than independent views", "standard errors", deviations, above(STANDARD_ERRORS),
            f"How much better than independence the means of one half of the rows predict the covariances of views in "
            f"{len(gain):,} other rows.",
            "not in the paper", "veto",
            "These components predict no better than independent views: do not use them. Use fewer components.",
        )
    ]  # fmt: skip
