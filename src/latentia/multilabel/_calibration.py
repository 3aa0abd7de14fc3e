"""Probabilities from scores by one strictly increasing map for all labels, which changes no ranking.

With an increasing function u(s) in (0, 1) of the score, the map is that of beta calibration,

    p = 1 / (1 + exp(-(a log u - c log(1 - u) + b))),      a, c > 0,

fitted to scores of held-out rows. It is the identity of u at a = c = 1, b = 0, where a weak prior keeps it if positives are
few. For logistic heads u(s) = 1 / (1 + e^-s). Least squares estimates probabilities that may leave (0, 1): for ridge heads u is
the score with its tails bent inwards.

Source: M. Kull, T. Silva Filho, P. Flach, Beta calibration, AISTATS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.special import expit

from .. import _fields as of
from ._scores import unit_interval

_PRIOR = 1.0  # weight of a = c = 1, b = 0, in squared units
_MIN_SLOPE = 0.05  # smallest slopes a and c
_MAX_NEGATIVES = 1 << 17  # pairs of a row and a label that it lacks, in the fit
_ROUNDS, _TOL = 30, 1e-6
_INSIDE = 1e-12  # smallest distance of a probability from 0 and 1


@dataclass(frozen=True)
class Calibration:
    """Map of scores to probabilities.

    Attributes
    ----------
    logistic : bool
        Whether scores are on the scale of log-odds.
    edge : float
        Mean frequency of a label; lower scores of least squares are bent.
    low, high, shift : float
        a, c and b.
    threshold : float
        Probability with the highest micro F1, if labels from it on are predicted.
    """

    logistic: bool
    edge: Annotated[float, of.number()]
    low: Annotated[float, of.number()] = 1.0
    high: Annotated[float, of.number()] = 1.0
    shift: Annotated[float, of.number()] = 0.0
    threshold: Annotated[float, of.number(0.0, 1.0)] = 0.5

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores of any shape."""
        below, above = self.sides(np.asarray(scores, dtype=np.float64))
        return np.clip(expit(self.low * below + self.high * above + self.shift), _INSIDE, 1 - _INSIDE)

    def sides(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log u and -log(1 - u)."""
        if self.logistic:
            return -np.logaddexp(0, -scores), np.logaddexp(0, scores)
        u = np.clip(unit_interval(scores, self.edge), np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        return np.log(u), -np.log1p(-u)


def fit_calibration(identity: Calibration, scores: np.ndarray, labels: sparse.csr_array) -> Calibration:
    """Fit the map to scores (n, L) and labels of held-out rows."""
    has_label = labels.toarray() != 0
    positive, negative = scores[has_label], scores[~has_label]
    stride = max(1, -(-len(negative) // _MAX_NEGATIVES))
    used_scores = np.concatenate([positive, negative[::stride]])
    y = np.repeat([1.0, 0.0], [len(positive), len(used_scores) - len(positive)])
    weight = np.where(y > 0, 1.0, len(negative) / max(len(used_scores) - len(positive), 1))
    below, above = identity.sides(used_scores)
    low, high, shift = _fitted(np.stack([below, above, np.ones(len(used_scores))], axis=1), y, weight)
    if min(low, high) < _MIN_SLOPE:  # use one slope for both sides, and the smallest one if scores are useless
        slope, shift = _fitted(np.stack([below + above, np.ones(len(used_scores))], axis=1), y, weight)
        low = high = max(slope, _MIN_SLOPE)
        if slope < _MIN_SLOPE:
            (shift,) = _fitted(np.ones((len(used_scores), 1)), y, weight, _MIN_SLOPE * (below + above))
    fitted_map = Calibration(identity.logistic, identity.edge, float(low), float(high), float(shift))
    return replace(fitted_map, threshold=float(fitted_map(_best_cut(positive, negative))))


def _best_cut(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Return the score with the highest micro F1, given scores of labels that rows have, and that they lack."""
    cuts = np.unique(positive)
    hits = len(positive) - np.searchsorted(np.sort(positive), cuts)
    n_false = len(negative) - np.searchsorted(np.sort(negative), cuts)
    f1 = 2 * hits / (hits + n_false + len(positive))
    return np.asarray(cuts[np.argmax(f1)] if len(cuts) else np.inf)


def _fitted(table: np.ndarray, y: np.ndarray, weight: np.ndarray, offset: np.ndarray | float = 0.0) -> np.ndarray:
    """Fit a logistic regression by Newton's method, with a prior at slopes of 1 and a shift of 0."""
    centre = np.append(np.ones(table.shape[1] - 1), 0.0)
    prior = np.full(len(centre), _PRIOR)

    def objective(theta: np.ndarray) -> float:
        eta = table @ theta + offset
        return float(weight @ (np.logaddexp(0, eta) - y * eta) + 0.5 * prior @ (theta - centre) ** 2)

    theta, value = centre.copy(), objective(centre)
    for _ in range(_ROUNDS):
        p = expit(table @ theta + offset)
        gradient = table.T @ (weight * (p - y)) + prior * (theta - centre)
        hessian = (table * (weight * p * (1 - p))[:, None]).T @ table + np.diag(prior)
        step, length = np.linalg.solve(hessian, gradient), 1.0
        while (lower := objective(theta - length * step)) > value and length > 1e-4:
            length /= 2
        if not lower < value:
            break
        theta, gain, value = theta - length * step, value - lower, lower
        if gain < _TOL * max(value, 1.0):
            break
    return theta
