"""Memberships of rows in the classes of a mixture, corrected for what its probabilities confuse.

The probabilities p_i of a row's classes have the mean C' e_h in class h, C_hk = E[p_ik | h]. With shares w of the classes
diag(w) C = E[p p'] = S where the model holds, so that

    W_i = diag(w) S^-1 p_i

has the mean e_h: as Bolck, Croon and Hagenaars (Political Analysis 12, 2004) correct assignments, J. Vermunt (Political
Analysis 18, 2010) proportional ones. The shares w are those of the rows at hand, by EM with the classes as they are: then
p_i are probabilities among these rows even where the rows of the fit had other shares, and the mean of W_i is w.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..effects import Memberships
from ..exceptions import LatentiaError
from ..likelihood.rows import scale_exp

_STEPS, _STILL = 500, 1e-7  # of EM for the shares, and their change at which it ends
_MOST = 0.1  # of a class that halves may call missed: where they have other classes, they call more
_LEAST = 1e-8  # eigenvalue of the correlations of probabilities below which classes are not told apart


class ClassMemberships(Memberships):
    """Corrected memberships of rows in classes.

    Fits are too sure of the rows that they have seen, so that rows are corrected too little. As a fit on half of the rows is to
    that on all, so is this to the truth: what the halves miss on average is added.

    Parameters
    ----------
    log_density : ndarray of shape (n_rows, K)
        Of every row in every class.
    of_halves : ndarray of shape (2 n_splits, K, K)
        See `confusions`.
    """

    def __init__(self, log_density: np.ndarray, of_halves: np.ndarray) -> None:
        k = log_density.shape[1]
        self.errors = (of_halves[::2] - of_halves[1::2]).transpose(0, 2, 1) / 2
        missed = np.eye(k) - of_halves.mean(axis=0) if len(of_halves) else np.zeros((k, k))
        missed *= min(1.0, _MOST / max(float(np.abs(missed).max()), 1e-300))
        self.shares = corrected(log_density)[1] @ (np.eye(k) + missed)

    def squares(self, rows: np.ndarray) -> np.ndarray:
        """A row is of one class: w w' is diag(w)."""
        return np.diag(self.shares[rows].sum(axis=0))

    def perturb_squares(self, second: np.ndarray, error: np.ndarray) -> np.ndarray:
        return np.diag(error @ second.diagonal())

    def apply_squares(self, coefficients: np.ndarray) -> np.ndarray:
        return self.shares * coefficients


def corrected(log_density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the classes of rows, and these corrected, both (n, K)."""
    n, k = log_density.shape
    density, shares = scale_exp(log_density)[0], np.full(k, 1 / k)
    density[density.max(axis=1) == 0] = 1.0  # rows that are impossible are of no class in particular
    for _ in range(_STEPS):
        total, before = density @ shares, shares
        shares = before * (density.T @ (1 / total)) / n
        if np.abs(shares - before).max() < _STILL:
            break
    p = density * before / total[:, None]
    scale = np.sqrt(np.maximum(shares, 1e-300))
    alike = (p.T @ p / n) / np.outer(scale, scale)
    if np.linalg.eigvalsh(alike)[0] < _LEAST:
        few = int(shares.argmin())
        raise LatentiaError(
            f"The {n} rows do not tell the {k} components apart; component {few} has the fewest, {n * shares[few]:.1f}. "
            "Give more rows, or fit fewer components."
        )
    return p, np.linalg.solve(alike, (p / scale).T).T * scale


def confusions(whole: np.ndarray, halves: Sequence[np.ndarray]) -> np.ndarray:
    """Mean memberships that fits on halves give to rows of each class, shape (2 n_splits, K, K); none without a whole split.

    Parameters
    ----------
    whole : ndarray of shape (n, K)
        Log-densities of some rows by the fit on all rows.
    halves : sequence of ndarray of shape (n, K)
        By the fits on the two halves of the first split, then of the second, and so on.
    """
    k, found = whole.shape[1], []
    for pair in zip(halves[::2], halves[1::2], strict=True):
        with suppress(LatentiaError):
            if all(one.shape == whole.shape for one in pair):
                found.append([_by_class(corrected(whole)[0], one) for one in pair])
    return np.array(found).reshape(-1, k, k)


def _by_class(p: np.ndarray, log_density: np.ndarray) -> np.ndarray:
    """Mean memberships (K, K), in the order of the classes; p are the probabilities by the fit on all rows."""
    own, members = corrected(log_density)
    order = linear_sum_assignment(-(p.T @ own))[1]
    return np.asarray((p.T @ members[:, order]) / np.maximum(p.sum(axis=0), 1e-300)[:, None])
