r"""Search for exact factorizations: floats find where zeros are, rational numbers follow.

*Simplicial* (Moitra's thesis, section 2.2): M has rank r, the inner dimension. Then M = U V with U of shape (n, r), V of shape
(r, m), and every factorization is A = U S, W = S^{-1} V for an invertible S, so there are r^2 unknowns. The search minimises

    sum min(0, U S)^2 + min(0, S^{-1} V)^2

by Levenberg-Marquardt steps from random starts, each improved by coordinate descent on (A, W) first. Where the minimum is zero it
is then pushed inward: entries above mu are asked for, and those that cannot be are taken for zeros. In rational numbers,
column s_j of S is in the null space of the rows of U where A_ij = 0, row t_j of S^{-1} in that of the columns of V where
W_jk = 0, and t_j s_k = 0. Vectors that are determined narrow the spaces of the others; where none is, one is rounded within its
space. In the end signs are checked exactly.

*In general* r is above the rank. Alternating coordinate descent finds factors, which move along the solutions of M = A W until
so many entries are zero that the rest is isolated. One factor is rounded to fractions with small denominators, and the other
follows from linear equations, exactly.

Differences from Theorem 2.6, which decides systems of polynomial inequalities in time (nm)^{O(r^2)}:

1. The search decides nothing where it finds nothing.
2. Solutions that are isolated and not rational are not found.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from ._rational import flint, fractions_of, nullspace, rank_of, solved, to_flint
from ._results import Approximation

__all__ = ["Search", "SearchResult"]

_MARGINS = (1e-2, 1e-3, 1e-4, 1e-6)
_ZEROS = (1e-10, 1e-7, 1e-5)
_FEASIBLE = 1e-16  # squared violation of factors whose entries are of order one
_DIGITS = (3, 6, 10)


class SearchResult(NamedTuple):
    """Exact factors, if any were found, and the best ones in floats."""

    factors: tuple[np.ndarray, np.ndarray] | None
    best: Approximation


class Search:
    """Factorizations of a matrix with a given rank, from seeded random starts until a time is over.

    Parameters
    ----------
    M : array of int, shape (n, m)
        No zero rows and no zero columns.
    minor : (tuple of int, tuple of int)
        Rows and columns of a largest minor that is not zero.
    """

    def __init__(self, M: np.ndarray, minor: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        self.M, self.rank = M, len(minor[0])
        self._floats, self._rows, self._columns = _balanced(M)
        self._exact = _Spanned.of(M, self._floats, minor)

    def run(self, r: int, seconds: float, seed: int = 0) -> SearchResult:
        """Search for ``r`` components, at least the rank."""
        end, rng = time.monotonic() + seconds, np.random.default_rng(seed)
        best = self.nothing(r)
        general = _General(self.M, self._floats, self._rows, self._columns)
        with threadpool_limits(1):
            start = 0
            while start == 0 or time.monotonic() < end:
                # Fewer components than r are as good, and the simplicial search is much the faster one.
                simplicial = r == self.rank or start % 4 == 3
                if simplicial:
                    found, A, W = self._simplicial(rng, end)
                else:
                    found, A, W = general.attempt(r, rng, end)
                best = self._better(best, A, W)
                if found is not None:
                    return SearchResult(found, best)
                start += 1
        return SearchResult(None, best)

    def nothing(self, r: int) -> Approximation:
        """Factors that are zero."""
        return Approximation(np.zeros((self.M.shape[0], r)), np.zeros((r, self.M.shape[1])), 1.0)

    def _simplicial(
        self, rng: np.random.Generator, end: float
    ) -> tuple[tuple[np.ndarray, np.ndarray] | None, np.ndarray, np.ndarray]:
        r = self.rank
        U, V = _halves(self._floats, r)
        A, W = _descended(self._floats, r, rng, 100)
        point = _pushed(U, V, np.linalg.lstsq(U, A, rcond=None)[0])
        if point is None:
            return None, A, W
        if point.violation > _FEASIBLE:
            return None, np.maximum(point.A, 0), np.maximum(point.W, 0)
        for zeros, near, digits in self._patterns(U, V, point):
            found = self._exact.factors(*zeros, self._rows[:, None] * near.A, digits)
            if found is not None or time.monotonic() > end:
                break
        else:
            found = None
        return found, np.maximum(point.A, 0), np.maximum(point.W, 0)

    def _patterns(
        self, U: np.ndarray, V: np.ndarray, point: _Point
    ) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], _Point, int]]:
        """Zeros of A and of W that may be forced, a point with these zeros, and digits for rounding."""
        dimension = self.rank * (self.rank - 1)
        plain = [(_zeros(point, level), point) for level in _ZEROS]
        if sum(z.sum() for z in plain[0][0]) >= dimension:  # so many are zero that there may be no freedom
            yield *plain[0], _DIGITS[0]
        for margin in _MARGINS:
            near, zeros = point, (np.zeros(point.A.shape, bool), np.zeros(point.W.shape, bool))
            for wanted in margin * np.array([1, 1e-1, 1e-2, 1e-3]):
                moved = _pushed(U, V, near.S, zeros, wanted)
                if moved is None:
                    break
                if moved.violation < _FEASIBLE * margin * wanted:
                    digits = round(-np.log10(wanted))
                    for more in (2, 4, 7):
                        yield zeros, moved, digits + more
                    break
                near, zeros = moved, (zeros[0] | (moved.A < 0.9 * wanted), zeros[1] | (moved.W < 0.9 * wanted))
        for zeros, near in plain:
            for digits in _DIGITS:
                yield zeros, near, digits

    def _better(self, best: Approximation, A: np.ndarray, W: np.ndarray) -> Approximation:
        residual = float(np.linalg.norm(self._floats - A @ W) / np.linalg.norm(self._floats))
        if not residual < best.residual:
            return best
        r = best.A.shape[1]
        A, W = self._rows[:, None] * A, W * self._columns
        return Approximation(np.pad(A, ((0, 0), (0, r - A.shape[1]))), np.pad(W, ((0, r - len(W)), (0, 0))), residual)


# --- floats -----------------------------------------------------------------------------------------------------------


class _Point(NamedTuple):
    """S, its inverse, A = U S, W = S^{-1} V, and the sum of squares that the zeros and the margin are missed by."""

    S: np.ndarray
    T: np.ndarray
    A: np.ndarray
    W: np.ndarray
    violation: float


def _balanced(M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Floats with rows and columns of mean one, and the scales: M = rows[:, None] * X * columns."""
    top = max(int(x).bit_length() for x in M.flat)
    shift = max(0, top - 1000)
    X = np.array([[float(int(x) >> shift) for x in row] for row in M])
    rows, columns = np.ones(len(X)), np.ones(X.shape[1])
    for _ in range(10):
        mean = X.mean(axis=1)
        X, rows = X / mean[:, None], rows * mean
        mean = X.mean(axis=0)
        X, columns = X / mean, columns * mean
    return X, rows, columns


def _halves(X: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """U and V of the singular value decomposition."""
    left, values, right = np.linalg.svd(X, full_matrices=False)
    return left[:, :r], values[:r, None] * right[:r]


def _descended(X: np.ndarray, r: int, rng: np.random.Generator, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Nonnegative factors by coordinate descent (HALS) from a random start."""
    A, W = rng.random((X.shape[0], r)), rng.random((r, X.shape[1]))
    for _ in range(rounds):
        for left, right, target in ((A, W, X), (W.T, A.T, X.T)):
            gram, products = right @ right.T, target @ right.T
            for k in range(r):
                step = (products[:, k] - left @ gram[:, k]) / max(gram[k, k], 1e-12)
                left[:, k] = np.maximum(1e-12, left[:, k] + step)
    return A, W


def _pushed(
    U: np.ndarray,
    V: np.ndarray,
    S: np.ndarray,
    zeros: tuple[np.ndarray, np.ndarray] | None = None,
    margin: float = 0.0,
    rounds: int = 200,
) -> _Point | None:
    """Levenberg-Marquardt steps on S for entries above the margin, and zero where they should be; None if S is singular."""
    r = len(S)
    held = zeros or (np.zeros((len(U), r), bool), np.zeros((r, V.shape[1]), bool))
    asked = tuple(np.where(h, 0.0, margin) for h in held)
    state = _evaluated(U, V, S, held, asked)
    damping = 1e-3
    for step in range(rounds):
        if state is None or state[0].violation < 1e-26:
            break
        point, (left, right) = state
        i, j = np.nonzero(left)
        a, b = np.nonzero(right)
        on_left = np.zeros((len(i), r, r))
        on_left[np.arange(len(i)), :, j] = U[i]
        on_right = -point.T[a][:, :, None] * point.W[:, b].T[:, None, :]
        jacobian = np.concatenate([on_left, on_right]).reshape(-1, r * r)
        normal = jacobian.T @ jacobian
        gradient = jacobian.T @ np.concatenate([left[i, j], right[a, b]])
        following = None
        for _ in range(8):
            try:
                move = np.linalg.solve(normal + damping * np.eye(r * r), -gradient).reshape(r, r)
            except np.linalg.LinAlgError:
                move = np.zeros((r, r))
            trial = _evaluated(U, V, point.S + move, held, asked)
            if trial is not None and trial[0].violation < point.violation:
                following = trial
                break
            damping *= 4
        if following is None:
            break
        slow = following[0].violation > point.violation * (1 - 1e-6)
        state, damping = following, max(damping / 5, 1e-14)
        if slow and step > 20:
            break
    return None if state is None else state[0]


def _evaluated(
    U: np.ndarray,
    V: np.ndarray,
    S: np.ndarray,
    held: tuple[np.ndarray, np.ndarray],
    asked: tuple[np.ndarray, ...],
) -> tuple[_Point, tuple[np.ndarray, np.ndarray]] | None:
    """The point with balanced columns, and what is missed in A and in W."""
    try:
        T = np.linalg.inv(S)
    except np.linalg.LinAlgError:
        return None
    A, W = U @ S, T @ V
    with np.errstate(all="ignore"):
        balance = np.sqrt(np.linalg.norm(W, axis=1) / np.linalg.norm(A, axis=0))
    if not np.all(np.isfinite(balance)) or balance.min() == 0:
        return None
    S, T, A, W = S * balance, T / balance[:, None], A * balance, W / balance[:, None]
    missed = np.where(held[0], A, np.minimum(A - asked[0], 0)), np.where(held[1], W, np.minimum(W - asked[1], 0))
    return _Point(S, T, A, W, float((missed[0] ** 2).sum() + (missed[1] ** 2).sum())), missed


def _zeros(point: _Point, level: float) -> tuple[np.ndarray, np.ndarray]:
    return point.A < level * point.A.max(axis=0), point.W < level * point.W.max(axis=1, keepdims=True)


# --- rational numbers: the simplicial case ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Spanned:
    """M = U V over the rationals, V being r rows of M and U the identity on them.

    Column j of S is then column j of A on these rows.
    """

    U: Any
    V: Any
    rows: list[int]

    @classmethod
    def of(cls, M: np.ndarray, X: np.ndarray, minor: tuple[tuple[int, ...], tuple[int, ...]]) -> _Spanned:
        """Rows and columns that are far from dependent, as floats say, or those of a given minor."""
        r = len(minor[0])
        rows = sorted(int(i) for i in qr(X.T, mode="r", pivoting=True)[1][:r])
        columns = sorted(int(j) for j in qr(X[rows], mode="r", pivoting=True)[1][:r])
        if len(rank_of(M[np.ix_(rows, columns)])[0]) < r:
            rows, columns = list(minor[0]), list(minor[1])
        square = to_flint(M[np.ix_(rows, columns)])
        U = square.transpose().solve(to_flint(M[:, columns].T)).transpose()
        return cls(U, to_flint(M[rows]), rows)

    def factors(
        self, left: np.ndarray, right: np.ndarray, A: np.ndarray, digits: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Exact nonnegative factors near A in floats with the given zeros; None if there are none.

        Parameters
        ----------
        left, right : array of bool, shapes (n, r) and (r, m)
            Zeros of A and of W.
        digits : int
            Free coordinates are rounded to denominators up to ``10**digits``.
        """
        S = A[self.rows]
        S = S / np.abs(S).max(axis=0)
        try:
            closure = _Closure(self.U, self.V, left, right, S, digits)
        except np.linalg.LinAlgError:
            return None
        exact = closure.solve()
        return None if exact is None else self._checked(exact)

    def _checked(self, S: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """A and W for S, if both are nonnegative, with columns of A in whole numbers without common factors."""
        A = fractions_of(self.U * S)
        for j in range(A.shape[1]):
            if all(x <= 0 for x in A[:, j]):
                A[:, j] = -A[:, j]
                for i in range(S.nrows()):
                    S[i, j] = -S[i, j]
        if any(x < 0 for x in A.flat):
            return None
        W = solved(S, self.V)
        if W is None or any(x < 0 for x in W.entries()):
            return None
        return A, fractions_of(W)


class _Closure:
    """Spaces of the columns of S and of the rows of its inverse, narrowed until each has dimension one."""

    def __init__(self, U: Any, V: Any, left: np.ndarray, right: np.ndarray, S: np.ndarray, digits: int) -> None:
        self.r, self._digits = len(S), digits
        self._targets = (S.T, np.linalg.inv(S))
        across = V.transpose()
        self._spaces = (
            [_space(U, np.flatnonzero(left[:, j])) for j in range(self.r)],
            [_space(across, np.flatnonzero(right[j])) for j in range(self.r)],
        )
        self._zeros_leave = {(side, j): self._dimension((side, j)) for side in (0, 1) for j in range(self.r)}
        # Column k of V is a combination of the s_j with W_jk > 0, and row i of U of the t_j with A_ij > 0.
        self._flats = _flats(across, ~right.T), _flats(U, ~left)

    def solve(self) -> Any | None:
        """S, or None if the zeros contradict each other."""
        open_ = {(side, j) for side in (0, 1) for j in range(self.r)}
        while True:
            if any(self._dimension(key) == 0 for key in open_):
                return None
            lines = sorted(key for key in open_ if self._dimension(key) == 1)
            if not lines and self._narrow_within_flats(open_):
                continue
            for side, j in lines:
                open_.remove((side, j))
                if not self._narrow_others(side, j):
                    return None
            for side in (0, 1):
                if all(key[0] != side for key in open_):
                    return self._assembled(side)
            if not lines:
                self._round(min(open_, key=lambda key: (self._zeros_leave[key], key)))

    def _dimension(self, key: tuple[int, int]) -> int:
        return int(self._spaces[key[0]][key[1]].ncols())

    def _narrow_others(self, side: int, j: int) -> bool:
        """Ask t_j s_k = 0 of all others; whether they are all still more than zero."""
        row = self._spaces[side][j].transpose()
        others = self._spaces[1 - side]
        for k in range(self.r):
            if k == j:
                continue
            products = row * others[k]
            if all(x == 0 for x in products.entries()):
                continue
            if others[k].ncols() == 1:
                return False
            others[k] = others[k] * nullspace(products)
        return True

    def _narrow_within_flats(self, open_: set[tuple[int, int]]) -> bool:
        """Put vectors into spans that they must be in because these are full; whether any space became smaller."""
        narrowed = False
        for side, flats in enumerate(self._flats):
            for members, vectors in flats.items():
                undetermined = [j for j in members if (side, j) in open_]
                if not undetermined:
                    continue
                known = [self._spaces[side][j].transpose() for j in members if j not in undetermined]
                across = nullspace(_stacked([vectors, *known]))
                if across.ncols() != self.r - len(members):
                    continue
                for j in undetermined:
                    products = across.transpose() * self._spaces[side][j]
                    if any(x != 0 for x in products.entries()):
                        self._spaces[side][j] = self._spaces[side][j] * nullspace(products)
                        narrowed = True
        return narrowed

    def _round(self, key: tuple[int, int]) -> None:
        """Put a vector of the space in its place: the one whose pivot coordinates are the rounded ones of the target."""
        lib, (side, j) = flint(), key
        basis, rank = self._spaces[side][j].transpose().rref()
        pivots = [next(q for q in range(self.r) if basis[i, q] != 0) for i in range(rank)]
        target = self._targets[side][j]
        near = [Fraction(float(x)).limit_denominator(10**self._digits) for x in target[pivots] / np.abs(target).max()]
        weights = lib.fmpq_mat(1, rank, [lib.fmpq(x.numerator, x.denominator) for x in near])
        self._spaces[side][j] = (weights * basis).transpose()

    def _assembled(self, side: int) -> Any | None:
        spaces = self._spaces[side]
        square = flint().fmpq_mat(self.r, self.r, [spaces[j][i, 0] for i in range(self.r) for j in range(self.r)])
        if side == 0:
            return square
        try:
            return square.transpose().inv()
        except ZeroDivisionError:
            return None


def _flats(M: Any, positive: np.ndarray) -> dict[tuple[int, ...], Any]:
    """Rows of an `fmpq_mat` by the components that they are combinations of, for less than all components."""
    found: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(positive):
        if not row.all():
            found.setdefault(tuple(int(j) for j in np.flatnonzero(row)), []).append(i)
    return {members: _part(M, rows) for members, rows in found.items()}


def _part(M: Any, rows: Sequence[int]) -> Any:
    """Some rows of an `fmpq_mat`."""
    return flint().fmpq_mat(len(rows), M.ncols(), [M[int(i), j] for i in rows for j in range(M.ncols())])


def _stacked(parts: Sequence[Any]) -> Any:
    """Rows of several `fmpq_mat`, one below the other."""
    entries = [x for part in parts for x in part.entries()]
    return flint().fmpq_mat(len(entries) // parts[0].ncols(), parts[0].ncols(), entries)


def _space(M: Any, rows: np.ndarray) -> Any:
    """Basis of the vectors on which some rows of an `fmpq_mat` vanish."""
    lib, width = flint(), M.ncols()
    if not len(rows):
        return lib.fmpq_mat(width, width, [int(i == j) for i in range(width) for j in range(width)])
    return nullspace(_part(M, rows))


# --- more components than the rank ------------------------------------------------------------------------------------


class _General:
    """Factors of any inner dimension: coordinate descent, a walk to an isolated solution, fractions."""

    def __init__(self, M: np.ndarray, X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        self._M, self._X, self._rows, self._columns = M, X, rows, columns

    def attempt(
        self, r: int, rng: np.random.Generator, end: float
    ) -> tuple[tuple[np.ndarray, np.ndarray] | None, np.ndarray, np.ndarray]:
        A, W = _descended(self._X, r, rng, 200)
        A, W, error = _fitted(self._X, A, W)
        if error > 1e-20:
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
    """Projected Levenberg-Marquardt steps for |X - A W|^2 with nonnegative factors, entries that are zero among them."""
    A, W = np.where(A > 1e-9, A, 0.0), np.where(W > 1e-9, W, 0.0)
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
            trial[free] -= np.linalg.solve(normal + damping * np.eye(len(free)), gradient[free])
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
    z[z < 1e-9] = 0
    support = np.flatnonzero(z)
    r = A.shape[1]
    scalings = np.zeros((r, len(z)))
    for k in range(r):
        scalings[k] = np.concatenate([_only(A, k).ravel(), -_only(W.T, k).T.ravel()])
    system = np.vstack([_jacobian(A, W), scalings])[:, support]
    _, values, directions = np.linalg.svd(system)
    rank = int((values > 1e-8 * values[0]).sum())
    if rank == len(support):
        return None
    direction = rng.standard_normal(len(support) - rank) @ directions[rank:]
    for sign in (1, -1):
        with np.errstate(divide="ignore"):
            steps = np.where(sign * direction < 0, z[support] / np.abs(direction), np.inf)
        stop = int(np.argmin(steps))
        length = steps[stop]
        for _ in range(4):  # solutions are curved: shorter steps stay nearer to them
            trial = z.copy()
            trial[support] = np.maximum(z[support] + sign * length * direction, 0)
            if length == steps[stop]:
                trial[support[stop]] = 0
            new_A, new_W, error = _fitted(X, *_unpacked(trial, A, W), rounds=50)
            zeros = int((new_A < 1e-9).sum() + (new_W < 1e-9).sum())
            if error < 1e-20 and zeros > len(z) - len(support):
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
    """Exact factors whose second one is W rounded to fractions, and whose first one solves M = A W; None if there are none."""
    top = W.max(axis=1, keepdims=True)
    if top.min() <= 0:
        return None
    for largest in (12, 100, 1000, 10**5):
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
    lib, n_rows = flint(), across.nrows()
    floats = np.array(
        [[float(Fraction(int(across[j, k].p), int(across[j, k].q))) for k in allowed] for j in range(n_rows)]
    )
    target = row.astype(float)
    if not allowed:
        return None
    shares, error = nnls(floats, target)
    if error > 1e-6 * np.linalg.norm(target):
        return None
    support = [k for k, x in enumerate(shares) if x > 0]
    entries = [x for j in range(n_rows) for x in (*(across[j, allowed[k]] for k in support), lib.fmpq(int(row[j])))]
    echelon, rank = lib.fmpq_mat(n_rows, len(support) + 1, entries).rref()
    solved_for = [echelon[i, len(support)] for i in range(len(support))] if rank == len(support) else []
    if any(echelon[i, i] != 1 for i in range(len(support))) or not solved_for or min(solved_for) < 0:
        return None
    found = [Fraction(0)] * len(allowed)
    for k, x in zip(support, solved_for, strict=True):
        found[k] = Fraction(int(x.p), int(x.q))
    return found
