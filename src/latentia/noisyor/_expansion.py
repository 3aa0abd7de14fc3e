"""Moments of a noisy-or network as sums of products of powers.

With t_k = exp(-W_k), r = rho / (1 - rho) and g(t) = log(1 + r t), cause k contributes to PMI2 and PMI3

    g(t_i t_j) - g(t_i) - g(t_j) + g(1)    and    g(t_i t_j) + g(t_i t_l) + g(t_j t_l) - g(t_i t_j t_l) - ... + g(1),

which for g(t) = t^p are P_i P_j and P_i P_j P_l with P = 1 - t^p. So a polynomial sum_p c_p t^p near g on [0, 1] gives

    PMI2 = sum_k sum_p c_kp P_kp P_kp^T,    PMI3 = sum_k sum_p c_kp P_kp (x) P_kp (x) P_kp.

The series of Proposition A.2 takes c_p = (-1)^(p + 1) r^p / p, and converges for priors below one half only;
interpolation at Chebyshev points converges for all.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial import Polynomial, chebyshev

_MAX_DEGREE = 16  # the error of log(1 + r t) is then 2e-14 for priors up to 1/2, and 5e-6 at .9


def compute_power_coefficients(odds: np.ndarray, degree: int = _MAX_DEGREE) -> np.ndarray:
    """Compute c_1, ..., c_16 of log(1 + r t) for odds r, shape (K,); return them in shape (16, K)."""
    points, to_chebyshev, to_powers = _interpolation(degree)
    return to_powers @ (to_chebyshev @ np.log1p(np.outer(points, odds)))


def choose_degree(odds: np.ndarray, error: float) -> int:
    """Return the degree that gives log(1 + r t) within an error: the largest odds have the nearest pole, -1 / r."""
    nearest = 1 + 2 / max(float(odds.max()), 1e-12)
    rate = np.log(nearest + np.sqrt(nearest**2 - 1))
    return int(np.clip(np.ceil(-np.log(error) / rate), 2, _MAX_DEGREE))


@functools.cache
def _interpolation(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Chebyshev points of [0, 1], (17,), and maps from values there to Chebyshev coefficients and to c_1, ..., c_16.

    In a single map the entries, up to 10^10, would cancel to 5 digits.
    """
    points = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    to_powers = np.zeros((degree + 1, degree + 1))
    for power, row in enumerate(np.eye(degree + 1)):
        coefficients = Polynomial(chebyshev.cheb2poly(row[: power + 1]))(Polynomial([-1.0, 2.0])).coef
        to_powers[: len(coefficients), power] = coefficients
    return (points + 1) / 2, np.linalg.inv(chebyshev.chebvander(points, degree)), to_powers[1:]


def compute_higher_orders(
    weights: np.ndarray, odds: np.ndarray, degree: int = _MAX_DEGREE
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the terms of PMI2 and PMI3 beyond r F F^T and r F (x) F (x) F, with F = 1 - exp(-W).

    Parameters
    ----------
    weights : ndarray of shape (K, n)
    odds : ndarray of shape (K,)
        r.
    degree : int
        Degree of the interpolation, the number of orders.

    Returns
    -------
    coefficients : ndarray of shape (16 K,)
    vectors : ndarray of shape (16 K, n)
        Each coefficient times the product of its vector with itself, twice or three times.
    """
    coefficients = compute_power_coefficients(odds, degree)
    coefficients[0] -= odds
    orders = np.arange(1, degree + 1)[:, None, None]
    return coefficients.ravel(), -np.expm1(-orders * weights).reshape(-1, weights.shape[1])
