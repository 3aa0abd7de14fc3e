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

from ._floats import descended, in_floats
from ._rational import flint, fractions_of, to_flint

_SOLVED = 1e-20  # squared error of a product whose entries are of order one
_ZERO = 1e-9
_ROUNDS = 50  # of coordinate descent
_DENOMINATORS = (12, 100, 1000, 10**5)

Factors = tuple[np.ndarray, np.ndarray]


class GeneralSearch:
    """Factors of any inner dimension: coordinate descent, a walk to an isolated solution, fractions."""

    def __init__(self, M: np.ndarray, X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        self._M, self._X, self._rows, self._columns = M, X, rows, columns

    def attempt(
        self, r: int, rng: np.random.Generator, end: float
    ) -> tuple[tuple[np.ndarray, np.ndarray] | None, np.ndarray, np.ndarray]:
        A, W = descended(self._X, r, rng, _ROUNDS)
        A, W, error = _fitted(self._X, A, W)
        if error > _SOLVED:
            return None, A, W
        while time.monotonic() < end:
            further = _walked(self._X, A, W, rng)
            if further is None:
                break
            A, W = further
        true_A, true_W = self._rows[:, None] * A, W * self._columns
        found = _followed(self._M, true_W)
        if found is None:
            across = _followed(self._M.T, true_A.T)
            found = None if across is None else (across[1].T, across[0].T)
        return found, A, W


def _fitted(X: np.ndarray, A: np.ndarray, W: np.ndarray, rounds: int = 100) -> tuple[np.ndarray, np.ndarray, float]:
    """Projected Levenberg-Marquardt steps for |X - A W|^2 with nonnegative factors, and the squared error left."""
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
            new_A, new_W = _unpacked(np.maximum(trial, 0), A, W)
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


def _walked(
    X: np.ndarray, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """A solution with one more zero, along a direction in which the product does not change; None if there is none."""
    z = np.concatenate([A.ravel(), W.ravel()])
    z[z < _ZERO] = 0
    support = np.flatnonzero(z)
    r = A.shape[1]
    scalings = np.zeros((r, len(z)))
    for k in range(r):
        scalings[k] = np.concatenate([_only(A, k).ravel(), -_only(W.T, k).T.ravel()])
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
            new_A, new_W, error = _fitted(X, *_unpacked(trial, A, W), rounds=50)
            zeros = int((new_A < _ZERO).sum() + (new_W < _ZERO).sum())
            if error < _SOLVED and zeros > len(z) - len(support):
                return new_A, new_W
            length /= 3
    return None


def _jacobian(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Derivatives of the entries of A W by those of A and of W: array, shape (n m, (n + m) r)."""
    (n, r), m = A.shape, W.shape[1]
    by_A = np.einsum("ip,kj->ijpk", np.eye(n), W).reshape(n * m, n * r)
    by_W = np.einsum("ik,jq->ijkq", A, np.eye(m)).reshape(n * m, r * m)
    return np.hstack([by_A, by_W])


def _unpacked(z: np.ndarray, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return z[: A.size].reshape(A.shape), z[A.size :].reshape(W.shape)


def _only(A: np.ndarray, k: int) -> np.ndarray:
    """A with all columns but one set to zero."""
    kept = np.zeros_like(A)
    kept[:, k] = A[:, k]
    return kept


def _followed(M: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Exact factors: W rounded to fractions, and the A that solves M = A W; None if none of them is nonnegative."""
    top = W.max(axis=1, keepdims=True)
    if top.min() <= 0:
        return None
    for largest in _DENOMINATORS:
        exact = np.array(
            [[Fraction(float(x)).limit_denominator(largest) for x in row] for row in W / top], dtype=object
        )
        A = _solution(M, exact)
        if A is not None:
            return A, exact
    return None


def _solution(M: np.ndarray, W: np.ndarray) -> np.ndarray | None:
    """Nonnegative A with A W = M for W with independent rows or not; None if none was found."""
    across = to_flint(W.T)
    A = np.full((len(M), len(W)), Fraction(0), dtype=object)
    for i, row in enumerate(M):
        # Only rows of W within the support of this row of M can have a share.
        allowed = [k for k in range(len(W)) if all(x == 0 or row[j] > 0 for j, x in enumerate(W[k]))]
        shares = _nonnegative_solution(across, allowed, row)
        if shares is None:
            return None
        A[i, allowed] = shares
    return A


def _nonnegative_solution(across: Any, allowed: list[int], row: np.ndarray) -> list[Fraction] | None:
    """Shares >= 0 with ``sum_k shares[k] W[allowed[k]] = row``, on the support that floats find."""
    if not allowed:
        return None
    n_rows, target = across.nrows(), in_floats(row)
    shares, error = nnls(in_floats(fractions_of(across)[:, allowed]), target)
    if error > 1e-6 * np.linalg.norm(target):
        return None
    support = [k for k, x in enumerate(shares) if x > 0]
    sides = to_flint(row[:, None])
    entries = [x for j in range(n_rows) for x in (*(across[j, allowed[k]] for k in support), sides[j, 0])]
    echelon, rank = flint().fmpq_mat(n_rows, len(support) + 1, entries).rref()
    solved_for = [echelon[i, len(support)] for i in range(len(support))] if rank == len(support) else []
    if any(echelon[i, i] != 1 for i in range(len(support))) or not solved_for or min(solved_for) < 0:
        return None
    found = [Fraction(0)] * len(allowed)
    for k, x in zip(support, solved_for, strict=True):
        found[k] = Fraction(int(x.p), int(x.q))
    return found
