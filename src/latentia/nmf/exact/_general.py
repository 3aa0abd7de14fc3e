"""Exact factorizations with more components than the rank.

Coordinate descent and projected Levenberg-Marquardt steps find factors in floats. They are then moved along the
solutions of M = A W until so many entries are zero that the rest is isolated, apart from scales. One factor is rounded
to fractions with small denominators, and the other follows from linear equations, exactly.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ._floats import descend, to_floats
from ._rational import flint, fractions_of, to_flint

_MAX_SOLVED_ERROR = 1e-20  # squared error of a product whose entries are of order one
_ZERO = 1e-9
_DESCENT_ROUNDS = 50  # rounds of coordinate descent
_DENOMINATORS = (12, 100, 1000, 10**5)

Factors = tuple[np.ndarray, np.ndarray]


class GeneralSearch:
    """Factors of any inner dimension: coordinate descent, a walk to an isolated solution, fractions."""

    def __init__(self, M: np.ndarray, X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        self._M, self._X, self._rows, self._columns = M, X, rows, columns

    def attempt(
        self, r: int, rng: np.random.Generator, end: float
    ) -> tuple[tuple[np.ndarray, np.ndarray] | None, np.ndarray, np.ndarray]:
        A, W = descend(self._X, r, rng, _DESCENT_ROUNDS)
        A, W, error = _fit(self._X, A, W)
        if error > _MAX_SOLVED_ERROR:
            return None, A, W
        while time.monotonic() < end:
            sparser = _add_zero(self._X, A, W, rng)
            if sparser is None:
                break
            A, W = sparser
        true_A, true_W = self._rows[:, None] * A, W * self._columns
        factors = _complete_factors(self._M, true_W)
        if factors is None:
            transposed = _complete_factors(self._M.T, true_A.T)
            factors = None if transposed is None else (transposed[1].T, transposed[0].T)
        return factors, A, W


def _fit(X: np.ndarray, A: np.ndarray, W: np.ndarray, rounds: int = 100) -> tuple[np.ndarray, np.ndarray, float]:
    """Minimise |X - A W|^2 over nonnegative factors by projected Levenberg-Marquardt steps; return them and the error."""
    A, W = np.where(A > _ZERO, A, 0.0), np.where(W > _ZERO, W, 0.0)
    error, damping = float(((X - A @ W) ** 2).sum()), 1e-3
    for _ in range(rounds):
        if error < 1e-26:
            break
        jacobian, residual = _jacobian(A, W), (A @ W - X).ravel()
        gradient, z = jacobian.T @ residual, np.concatenate([A.ravel(), W.ravel()])
        free = np.flatnonzero((z > 0) | (gradient < 0))
        normal = jacobian[:, free].T @ jacobian[:, free]
        better = False
        for _ in range(8):
            trial = z.copy()
            try:
                trial[free] -= np.linalg.solve(normal + damping * np.eye(len(free)), gradient[free])
            except np.linalg.LinAlgError:
                break
            new_A, new_W = _unpack(np.maximum(trial, 0), A, W)
            new_error = float(((X - new_A @ new_W) ** 2).sum())
            if new_error < error:
                better = True
                break
            damping *= 4
        if not better:
            break
        slow = new_error > error * (1 - 1e-4)
        A, W, error, damping = new_A, new_W, new_error, max(damping / 5, 1e-14)
        if slow:
            break
    return A, W, error


def _add_zero(
    X: np.ndarray, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a solution with one more zero, along a direction in which the product does not change; None if there is none."""
    z = np.concatenate([A.ravel(), W.ravel()])
    z[z < _ZERO] = 0
    support = np.flatnonzero(z)
    r = A.shape[1]
    scalings = np.zeros((r, len(z)))
    for k in range(r):
        scalings[k] = np.concatenate([_keep_column(A, k).ravel(), -_keep_column(W.T, k).T.ravel()])
    system = np.vstack([_jacobian(A, W), scalings])[:, support]
    try:
        _, values, directions = np.linalg.svd(system)
    except np.linalg.LinAlgError:
        return None
    rank = int((values > 1e-8 * values[0]).sum())
    if rank == len(support):
        return None
    direction = rng.standard_normal(len(support) - rank) @ directions[rank:]
    for sign in (1, -1):
        with np.errstate(divide="ignore"):
            steps = np.where(sign * direction < 0, z[support] / np.abs(direction), np.inf)
        stop = int(np.argmin(steps))
        length = steps[stop]
        if not np.isfinite(length):
            continue
        for _ in range(4):  # solutions are curved: shorter steps stay nearer to them
            trial = z.copy()
            trial[support] = np.maximum(z[support] + sign * length * direction, 0)
            if length == steps[stop]:
                trial[support[stop]] = 0
            new_A, new_W, error = _fit(X, *_unpack(trial, A, W), rounds=50)
            zeros = int((new_A < _ZERO).sum() + (new_W < _ZERO).sum())
            if error < _MAX_SOLVED_ERROR and zeros > len(z) - len(support):
                return new_A, new_W
            length /= 3
    return None


def _jacobian(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return derivatives of the entries of A W by those of A and of W: array, shape (n m, (n + m) r)."""
    (n, r), m = A.shape, W.shape[1]
    by_A = np.einsum("ip,kj->ijpk", np.eye(n), W).reshape(n * m, n * r)
    by_W = np.einsum("ik,jq->ijkq", A, np.eye(m)).reshape(n * m, r * m)
    return np.hstack([by_A, by_W])


def _unpack(z: np.ndarray, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return z[: A.size].reshape(A.shape), z[A.size :].reshape(W.shape)


def _keep_column(A: np.ndarray, k: int) -> np.ndarray:
    """Return A with all columns but one set to zero."""
    single = np.zeros_like(A)
    single[:, k] = A[:, k]
    return single


def _complete_factors(M: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return exact factors: W rounded to fractions, and the A that solves M = A W; None if none of them is nonnegative."""
    top = W.max(axis=1, keepdims=True)
    if top.min() <= 0:
        return None
    for largest in _DENOMINATORS:
        exact = np.array(
            [[Fraction(float(x)).limit_denominator(largest) for x in row] for row in W / top], dtype=object
        )
        A = _solve(M, exact)
        if A is not None:
            return A, exact
    return None


def _solve(M: np.ndarray, W: np.ndarray) -> np.ndarray | None:
    """Return nonnegative A with A W = M for W with independent rows or not; None if none was found."""
    across = to_flint(W.T)
    A = np.full((len(M), len(W)), Fraction(0), dtype=object)
    for i, row in enumerate(M):
        # Only rows of W within the support of this row of M can have a share.
        allowed = [k for k in range(len(W)) if all(x == 0 or row[j] > 0 for j, x in enumerate(W[k]))]
        shares = _solve_row(across, allowed, row)
        if shares is None:
            return None
        A[i, allowed] = shares
    return A


def _solve_row(across: Any, allowed: list[int], row: np.ndarray) -> list[Fraction] | None:
    """Return shares >= 0 with ``sum_k shares[k] W[allowed[k]] = row``, on the support that floats find."""
    if not allowed:
        return None
    n_rows, target = across.nrows(), to_floats(row)
    shares, error = nnls(to_floats(fractions_of(across)[:, allowed]), target)
    if error > 1e-6 * np.linalg.norm(target):
        return None
    support = [k for k, x in enumerate(shares) if x > 0]
    sides = to_flint(row[:, None])
    entries = [x for j in range(n_rows) for x in (*(across[j, allowed[k]] for k in support), sides[j, 0])]
    echelon, rank = flint().fmpq_mat(n_rows, len(support) + 1, entries).rref()
    solution = [echelon[i, len(support)] for i in range(len(support))] if rank == len(support) else []
    if any(echelon[i, i] != 1 for i in range(len(support))) or not solution or min(solution) < 0:
        return None
    exact_shares = [Fraction(0)] * len(allowed)
    for k, x in zip(support, solution, strict=True):
        exact_shares[k] = Fraction(int(x.p), int(x.q))
    return exact_shares
