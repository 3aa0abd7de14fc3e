"""Memberships of rows in the classes of a mixture, corrected for classes that its probabilities confuse.

The probabilities p_i of a row's classes have the mean C' e_h in class h, C_hk = E[p_ik | h]. With shares w of the classes
diag(w) C = E[p p'] = S if the model holds, so that

    W_i = diag(w) S^-1 p_i

has the mean e_h. Bolck, Croon and Hagenaars (Political Analysis 12, 2004) correct assignments in this way, J. Vermunt
(Political Analysis 18, 2010) proportional memberships. The shares w are those of the given rows, by EM with fixed classes. Then
p_i are probabilities among these rows even if the fitted rows had other shares, and the mean of W_i is w.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..effects import Memberships
from ..exceptions import LatentiaError
from ..likelihood.rows import scale_exp

_MAX_STEPS, _MIN_CHANGE = 500, 1e-7  # steps of EM for the shares, and the change at which it stops
_MAX_MISSED = 0.1  # largest share of a class to correct for; halves with different classes would suggest more
_MIN_EIGENVALUE = 1e-8  # Below it, for correlations of probabilities, classes cannot be distinguished.


class ClassMemberships(Memberships):
    """Corrected memberships of rows in classes.

    A fit is too sure of its own rows, so that the correction is too small. The full fit relates to the truth as a fit on half
    of the rows relates to the full fit: so the average that the halves miss is added.

    Parameters
    ----------
    log_density : ndarray of shape (n_rows, K)
        Log-density of every row in every class.
    half_confusions : ndarray of shape (2 n_splits, K, K)
        See `measure_confusions`.
    """

    def __init__(self, log_density: np.ndarray, half_confusions: np.ndarray) -> None:
        k = log_density.shape[1]
        self.errors = (half_confusions[::2] - half_confusions[1::2]).transpose(0, 2, 1) / 2
        missed = np.eye(k) - half_confusions.mean(axis=0) if len(half_confusions) else np.zeros((k, k))
        missed *= min(1.0, _MAX_MISSED / max(float(np.abs(missed).max()), 1e-300))
        self.shares = correct_memberships(log_density)[1] @ (np.eye(k) + missed)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """Sum the products of memberships: a row belongs to one class, so that w w' is diag(w)."""
        return np.diag(self.shares[rows].sum(axis=0))

    def perturb_squares(self, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        return np.diag(error @ second.diagonal())

    def apply_squares(self, coefficients: np.ndarray) -> np.ndarray:
        return self.shares * coefficients


def correct_memberships(log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the probabilities of the rows' classes, and the corrected memberships, both (n, K)."""
    n, k = log_density.shape
    density, shares = scale_exp(log_density)[0], np.full(k, 1 / k)
    density[density.max(axis=1) == 0] = 1.0  # Impossible rows belong to no class in particular.
    for _ in range(_MAX_STEPS):
        total, previous = density @ shares, shares
        shares = previous * (density.T @ (1 / total)) / n
        if np.abs(shares - previous).max() < _MIN_CHANGE:
            break
    posterior = density * previous / total[:, None]
    scale = np.sqrt(np.maximum(shares, 1e-300))
    correlations = (posterior.T @ posterior / n) / np.outer(scale, scale)
    if np.linalg.eigvalsh(correlations)[0] < _MIN_EIGENVALUE:
        smallest = int(shares.argmin())
        raise LatentiaError(
            f"The {n} rows do not distinguish the {k} components; component {smallest} has the fewest rows, "
            f"{n * shares[smallest]:.1f}. Give more rows, or fit fewer components."
        )
    return posterior, np.linalg.solve(correlations, (posterior / scale).T).T * scale


def measure_confusions(full: np.ndarray, halves: Sequence[np.ndarray]) -> np.ndarray:
    """Measure the mean memberships that fits on halves give to rows of each class, shape (2 n_splits, K, K).

    Parameters
    ----------
    full : ndarray of shape (n, K)
        Log-densities of some rows by the full fit.
    halves : sequence of ndarray of shape (n, K)
        Log-densities by the fits on the two halves of the first split, then of the second, and so on. A split counts only if
        both halves have all components.
    """
    k, results = full.shape[1], []
    for pair in zip(halves[::2], halves[1::2], strict=True):
        with suppress(LatentiaError):
            if all(half.shape == full.shape for half in pair):
                results.append([_average_by_class(correct_memberships(full)[0], half) for half in pair])
    return np.array(results).reshape(-1, k, k)


def _average_by_class(p: np.ndarray, log_density: np.ndarray) -> np.ndarray:
    """Average memberships by class, (K, K), in the order of the classes; p are the probabilities of the full fit."""
    posterior, members = correct_memberships(log_density)
    order = linear_sum_assignment(-(p.T @ posterior))[1]
    return np.asarray((p.T @ members[:, order]) / np.maximum(p.sum(axis=0), 1e-300)[:, None])
