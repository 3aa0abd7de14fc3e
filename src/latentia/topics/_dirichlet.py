"""Parameters of a Dirichlet distribution of the topic proportions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..metrics import completion_log_likelihood, split_tokens

_ALPHA0_GRID = np.array([0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])


def dirichlet_from_moment(moment: np.ndarray) -> np.ndarray:
    """Estimate the parameters alpha, shape (K,), from R = E[w w^T] by Algorithm 3.4; alpha_0 is clipped to [0.01, 1000].

    The rarest topic gives alpha_0 = (1 - u / v) / (u / v - v) with u = R_ii and v = E[w_i].
    """
    mean = np.maximum(moment.sum(axis=1), 1e-12)
    mean /= mean.sum()
    i = int(np.argmin(mean))
    ratio, v = moment[i, i] / mean[i], mean[i]
    alpha0 = (1 - ratio) / (ratio - v) if ratio > v else np.inf
    return mean * float(np.clip(alpha0, 0.01, 1000.0))


def dirichlet_by_likelihood(
    topics: np.ndarray, prevalence: np.ndarray, rows: sparse.csr_array, n_jobs: int | None
) -> np.ndarray:
    """Estimate alpha = alpha_0 times the prevalence, with alpha_0 from a grid by the likelihood of document completion.

    The thesis (section 4.1) finds such a search better than Algorithm 3.4 in practice. alpha_0 lies between 0.1 and 100: in
    bursty text, document completion favours ever smaller values, which are not a property of the topics.
    """
    mean = np.maximum(prevalence, 1e-6 / len(prevalence))
    mean = mean / mean.sum()
    if split_tokens(rows)[1].sum() == 0:
        return mean
    search: dict[str, Any] = {"max_iter": 30, "tol": 2e-3, "n_jobs": n_jobs}
    scores = np.array([completion_log_likelihood(topics, alpha0 * mean, rows, **search) for alpha0 in _ALPHA0_GRID])
    return float(np.exp(_find_peak(np.log(_ALPHA0_GRID), np.nan_to_num(scores, nan=-np.inf)))) * mean


def _find_peak(x: np.ndarray, y: np.ndarray) -> float:
    """Return the top of the parabola through the largest value and its neighbours."""
    i = int(np.argmax(y))
    if i in (0, len(x) - 1) or not np.isfinite(y[i - 1 : i + 2]).all():
        return float(x[i])
    return float(np.clip(-np.divide(*np.polyfit(x[i - 1 : i + 2], y[i - 1 : i + 2], 2)[1::-1]) / 2, x[i - 1], x[i + 1]))
