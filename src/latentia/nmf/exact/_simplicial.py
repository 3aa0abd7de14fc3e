r"""Exact factorizations with as many components as the rank.

M has rank r, the inner dimension. Then M = U V with U of shape (n, r) and V of shape (r, m), and every factorization is
A = U S, W = S^{-1} V for an invertible S: there are r^2 unknowns (R. Ge, thesis 2013, section 2.2).

*In floats* the search minimises

    sum min(0, U S)^2 + min(0, S^{-1} V)^2

by Levenberg-Marquardt steps from random starts, each improved by coordinate descent on (A, W) first, and from changes
of the best point so far. Where the minimum
is zero, it is pushed inward: entries above a margin are asked for, and those that cannot be are taken for zeros.

*In rational numbers* column s_j of S is in the null space of the rows of U where A_ij = 0, row t_j of S^{-1} in that of
the columns of V where W_jk = 0, and t_j s_k = 0. Column k of V is in the span of the s_j with W_jk > 0, and where this
span is full, so are these s_j; in the same way for rows of U and t_j. Vectors that are determined narrow the spaces of
the others; where none is, one is rounded within its space. In the end signs are checked exactly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from ._floats import descend
from ._rational import flint, fractions_of, nullspace, rank_of, solve, to_flint

_MARGINS = (1e-2, 1e-3, 1e-4, 1e-6)
_ZEROS = (1e-10, 1e-7, 1e-5)
_FEASIBLE = 1e-16  # squared violation of factors whose entries are of order one
_NEAR_SOLUTION = 1e-21  # of steps that converged, and have not come to a stop at a minimum beside a solution
_DIGITS = (3, 6, 10)
_ROUNDS = (50, 50, 200)  # of coordinate descent: few are cheap, many lead further in dense matrices

_MAX_UNIMPROVED = 60  # starts after which a best point is given up

Factors = tuple[np.ndarray, np.ndarray]


class SimplicialSearch:
    """Factorizations of a matrix of rank r with r components.

    Parameters
    ----------
    M : array of int, shape (n, m)
        No zero rows and no zero columns.
    minor : (tuple of int, tuple of int)
        Rows and columns of a largest minor that is not zero.
    X, rows : array, shapes (n, m) and (n,)
        Balanced floats, and the scales of their rows.
    """

    def __init__(
        self, M: np.ndarray, minor: tuple[tuple[int, ...], tuple[int, ...]], X: np.ndarray, rows: np.ndarray
    ) -> None:
        self._X, self._rows, self._r = X, rows, len(minor[0])
        self._U, self._V = _split(X, self._r)
        self._exact = _RationalSpan.from_matrix(M, X, minor)
        self._best: _Point | None = None
        self._starts = self._since = 0

    def attempt(self, rng: np.random.Generator, end: float) -> tuple[Factors | None, np.ndarray, np.ndarray]:
        """Try one start: return exact factors, if they are found before ``end``, and nonnegative ones in floats.

        Every second start is a random one. The others move one or two columns of S, or rows of its inverse, of the best
        point so far.
        """
        self._starts += 1
        if self._best is None or self._starts % 2:
            A, W = descend(self._X, self._r, rng, int(rng.choice(_ROUNDS)))
            point = self._solve_point(np.linalg.lstsq(self._U, A, rcond=None)[0])
            if point is None:
                return None, A, W
        else:
            point = self._solve_point(_perturb(self._best, rng)) or self._best
        factors = self._find_exact(point, end) if point.violation < _FEASIBLE else None
        self._remember(point)
        return factors, np.maximum(point.A, 0), np.maximum(point.W, 0)

    def _solve_point(self, S: np.ndarray) -> _Point | None:
        return _push(self._U, self._V, S)

    def _remember(self, point: _Point) -> None:
        """Keep the best point for some starts; one that is a solution in floats, but in no fractions, leads nowhere."""
        self._since += 1
        if point.violation < _FEASIBLE or self._since > _MAX_UNIMPROVED:
            self._best, self._since = None, 0
        elif self._best is None or point.violation < self._best.violation:
            self._best, self._since = point, 0

    def _find_exact(self, point: _Point, end: float) -> Factors | None:
        """Return exact factors near a point in floats."""
        for zeros, near, digits in self._patterns(point):
            factors = self._exact.factors(*zeros, self._rows[:, None] * near.A, digits)
            if factors is not None or time.monotonic() > end:
                return factors
        return None

    def _patterns(self, point: _Point) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], _Point, tuple[int, ...]]]:
        """Zeros of A and of W that may be forced, a point with these zeros, and digits for rounding."""
        dimension = self._r * (self._r - 1)
        plain = [(_list_zeros(point, level), point) for level in _ZEROS]
        if sum(z.sum() for z in plain[0][0]) >= dimension:  # so many are zero that there may be no freedom
            yield *plain[0], _DIGITS
        for margin in _MARGINS if point.violation < _NEAR_SOLUTION else ():
            near, zeros = point, (np.zeros(point.A.shape, bool), np.zeros(point.W.shape, bool))
            for target_margin in margin * np.array([1, 1e-1, 1e-2, 1e-3]):
                shifted = _push(self._U, self._V, near.S, zeros, target_margin)
                if shifted is not None and shifted.violation < 1e-2 * target_margin**2:
                    # Nearly there: with a margin that is met the zeros become exact.
                    shifted = _push(self._U, self._V, shifted.S, zeros, target_margin / 2)
                if shifted is None:
                    break
                if shifted.violation < _FEASIBLE * target_margin**2:
                    digits = round(-np.log10(target_margin))
                    yield zeros, shifted, (digits + 2, digits + 4, digits + 7)
                    break
                near, zeros = (
                    shifted,
                    (zeros[0] | (0.9 * target_margin > shifted.A), zeros[1] | (0.9 * target_margin > shifted.W)),
                )
        yield from ((*pattern, _DIGITS) for pattern in plain)


# --- floats -----------------------------------------------------------------------------------------------------------


class _Point(NamedTuple):
    """S, its inverse, A = U S, W = S^{-1} V, and the sum of squares that the zeros and the margin are missed by."""

    S: np.ndarray
    T: np.ndarray
    A: np.ndarray
    W: np.ndarray
    violation: float


def _split(X: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """U and V of the singular value decomposition."""
    row_vectors, values, directions = np.linalg.svd(X, full_matrices=False)
    return row_vectors[:, :r], values[:r, None] * directions[:r]


def _push(
    U: np.ndarray,
    V: np.ndarray,
    S: np.ndarray,
    zeros: tuple[np.ndarray, np.ndarray] | None = None,
    margin: float = 0.0,
    rounds: int = 200,
) -> _Point | None:
    """Move S by Levenberg-Marquardt steps to given zeros, with other entries above the margin; None if S is singular."""
    r = len(S)
    forced_zeros = zeros or (np.zeros((len(U), r), bool), np.zeros((r, V.shape[1]), bool))
    margins = tuple(np.where(h, 0.0, margin) for h in forced_zeros)
    state = _evaluate(U, V, S, forced_zeros, margins)
    damping = 1e-3
    for step in range(rounds):
        if state is None or state[0].violation < 1e-26:
            break
        point, (left_misses, right_misses) = state
        i, j = np.nonzero(left_misses)
        a, b = np.nonzero(right_misses)
        left_derivatives = np.zeros((len(i), r, r))
        left_derivatives[np.arange(len(i)), :, j] = U[i]
        right_derivatives = -point.T[a][:, :, None] * point.W[:, b].T[:, None, :]
        jacobian = np.concatenate([left_derivatives, right_derivatives]).reshape(-1, r * r)
        normal = jacobian.T @ jacobian
        gradient = jacobian.T @ np.concatenate([left_misses[i, j], right_misses[a, b]])
        next_state = None
        for _ in range(8):
            try:
                move = np.linalg.solve(normal + damping * np.eye(r * r), -gradient).reshape(r, r)
            except np.linalg.LinAlgError:
                move = np.zeros((r, r))
            trial = _evaluate(U, V, point.S + move, forced_zeros, margins)
            if trial is not None and trial[0].violation < point.violation:
                next_state = trial
                break
            damping *= 4
        if next_state is None:
            break
        slow = next_state[0].violation > point.violation * (1 - 1e-6)
        state, damping = next_state, max(damping / 5, 1e-14)
        if slow and step > 20:
            break
    return None if state is None else state[0]


def _perturb(point: _Point, rng: np.random.Generator) -> np.ndarray:
    """Move one or two columns of S, or rows of its inverse, at random."""
    r = len(point.S)
    chosen = rng.choice(r, min(r, int(rng.integers(1, 3))), replace=False)
    noise = rng.standard_normal((r, len(chosen))) / 2
    if rng.random() < 0.5:
        S = point.S.copy()
        S[:, chosen] += noise * np.abs(S).mean()
        return S
    T = point.T.copy()
    T[chosen] += noise.T * np.abs(T).mean()
    return np.linalg.pinv(T)


def _evaluate(
    U: np.ndarray,
    V: np.ndarray,
    S: np.ndarray,
    forced_zeros: tuple[np.ndarray, np.ndarray],
    margins: tuple[np.ndarray, ...],
) -> tuple[_Point, tuple[np.ndarray, np.ndarray]] | None:
    """Return the point with balanced columns, and the misses of A and W."""
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
    misses = (
        np.where(forced_zeros[0], A, np.minimum(A - margins[0], 0)),
        np.where(forced_zeros[1], W, np.minimum(W - margins[1], 0)),
    )
    return _Point(S, T, A, W, float((misses[0] ** 2).sum() + (misses[1] ** 2).sum())), misses


def _list_zeros(point: _Point, level: float) -> tuple[np.ndarray, np.ndarray]:
    return level * point.A.max(axis=0) > point.A, level * point.W.max(axis=1, keepdims=True) > point.W


# --- rational numbers: the simplicial case ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _RationalSpan:
    """M = U V over the rationals, V being r rows of M and U the identity on them.

    Column j of S is then column j of A on these rows.
    """

    U: Any
    V: Any
    rows: list[int]

    @classmethod
    def from_matrix(cls, M: np.ndarray, X: np.ndarray, minor: tuple[tuple[int, ...], tuple[int, ...]]) -> _RationalSpan:
        """Choose rows and columns that are far from dependent in floats, or those of a given minor."""
        r = len(minor[0])
        rows = sorted(int(i) for i in qr(X.T, mode="r", pivoting=True)[1][:r])
        columns = sorted(int(j) for j in qr(X[rows], mode="r", pivoting=True)[1][:r])
        if len(rank_of(M[np.ix_(rows, columns)])[0]) < r:
            rows, columns = list(minor[0]), list(minor[1])
        square = to_flint(M[np.ix_(rows, columns)])
        U = square.transpose().solve(to_flint(M[:, columns].T)).transpose()
        return cls(U, to_flint(M[rows]), rows)

    def factors(
        self, row_zeros: np.ndarray, column_zeros: np.ndarray, A: np.ndarray, digits: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return exact nonnegative factors near A in floats with the given zeros; None if there are none.

        Parameters
        ----------
        row_zeros, column_zeros : array of bool, shapes (n, r) and (r, m)
            Zeros of A and of W.
        digits : tuple of int
            Free coordinates are rounded to denominators up to 10 to this power: to the next one where signs are wrong.
        """
        S = A[self.rows]
        S = S / np.abs(S).max(axis=0)
        try:
            targets = S, np.linalg.inv(S)
        except np.linalg.LinAlgError:
            return None
        for power in digits:
            closure = _Closure(self.U, self.V, row_zeros, column_zeros, targets, power)
            exact = closure.solve()
            result = None if exact is None else self._check_signs(exact)
            if result is not None or exact is None or not closure.rounded:
                return result
        return None

    def _check_signs(self, S: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Return A and W for S, if both are nonnegative."""
        A = fractions_of(self.U * S)
        for j in range(A.shape[1]):
            if all(x <= 0 for x in A[:, j]):
                A[:, j] = -A[:, j]
                for i in range(S.nrows()):
                    S[i, j] = -S[i, j]
        if any(x < 0 for x in A.flat):
            return None
        W = solve(S, self.V)
        if W is None or any(x < 0 for x in W.entries()):
            return None
        return A, fractions_of(W)


class _Closure:
    """Spaces of the columns of S and of the rows of its inverse, narrowed until each has dimension one."""

    def __init__(
        self,
        U: Any,
        V: Any,
        row_zeros: np.ndarray,
        column_zeros: np.ndarray,
        near: tuple[np.ndarray, np.ndarray],
        digits: int,
    ) -> None:
        self.r, self._digits, self.rounded = len(near[0]), digits, False
        self._targets = near[0].T, near[1]
        V_transposed = V.transpose()
        self._spaces = (
            [_space(U, np.flatnonzero(row_zeros[:, j])) for j in range(self.r)],
            [_space(V_transposed, np.flatnonzero(column_zeros[j])) for j in range(self.r)],
        )
        self._zeros_leave = {(side, j): self._dimension((side, j)) for side in (0, 1) for j in range(self.r)}
        # Column k of V is a combination of the s_j with W_jk > 0, and row i of U of the t_j with A_ij > 0.
        self._flats = _flats(V_transposed, ~column_zeros.T), _flats(U, ~row_zeros)

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
                    return self._assemble(side)
            if not lines:
                self._round(min(open_, key=lambda key: (self._zeros_leave[key], key)))

    def _dimension(self, key: tuple[int, int]) -> int:
        return int(self._spaces[key[0]][key[1]].ncols())

    def _narrow_others(self, side: int, j: int) -> bool:
        """Require t_j s_k = 0 for all others; return False if one of them vanishes."""
        row = self._spaces[side][j].transpose()
        opposite = self._spaces[1 - side]
        for k in range(self.r):
            if k == j:
                continue
            products = row * opposite[k]
            if all(x == 0 for x in products.entries()):
                continue
            if opposite[k].ncols() == 1:
                return False
            opposite[k] = opposite[k] * nullspace(products)
        return True

    def _narrow_within_flats(self, open_: set[tuple[int, int]]) -> bool:
        """Restrict vectors to the full spans that must contain them; return True if any space became smaller."""
        narrowed = False
        for side, flats in enumerate(self._flats):
            for members, vectors in flats.items():
                undetermined = [j for j in members if (side, j) in open_]
                if not undetermined:
                    continue
                fixed_vectors = [self._spaces[side][j].transpose() for j in members if j not in undetermined]
                across = nullspace(_stack([vectors, *fixed_vectors]))
                if across.ncols() != self.r - len(members):
                    continue
                for j in undetermined:
                    products = across.transpose() * self._spaces[side][j]
                    if any(x != 0 for x in products.entries()):
                        self._spaces[side][j] = self._spaces[side][j] * nullspace(products)
                        narrowed = True
        return narrowed

    def _round(self, key: tuple[int, int]) -> None:
        """Replace the space by its vector whose pivot coordinates are those of the target, rounded."""
        self.rounded = True
        module, (side, j) = flint(), key
        basis, rank = self._spaces[side][j].transpose().rref()
        pivots = [next(q for q in range(self.r) if basis[i, q] != 0) for i in range(rank)]
        target = self._targets[side][j]
        near = [Fraction(float(x)).limit_denominator(10**self._digits) for x in target[pivots] / np.abs(target).max()]
        weights = module.fmpq_mat(1, rank, [module.fmpq(x.numerator, x.denominator) for x in near])
        self._spaces[side][j] = (weights * basis).transpose()

    def _assemble(self, side: int) -> Any | None:
        spaces = self._spaces[side]
        square = flint().fmpq_mat(self.r, self.r, [spaces[j][i, 0] for i in range(self.r) for j in range(self.r)])
        if side == 0:
            return square
        try:
            return square.transpose().inv()
        except ZeroDivisionError:
            return None


def _flats(M: Any, positive: np.ndarray) -> dict[tuple[int, ...], Any]:
    """Return rows of an `fmpq_mat` by the components that they are combinations of, for less than all components."""
    rows_of: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(positive):
        if not row.all():
            rows_of.setdefault(tuple(int(j) for j in np.flatnonzero(row)), []).append(i)
    return {members: _part(M, rows) for members, rows in rows_of.items()}


def _part(M: Any, rows: Sequence[int] | np.ndarray) -> Any:
    """Return some rows of an `fmpq_mat`."""
    return flint().fmpq_mat(len(rows), M.ncols(), [M[int(i), j] for i in rows for j in range(M.ncols())])


def _stack(parts: Sequence[Any]) -> Any:
    """Return rows of several `fmpq_mat`, one below the other."""
    entries = [x for part in parts for x in part.entries()]
    return flint().fmpq_mat(len(entries) // parts[0].ncols(), parts[0].ncols(), entries)


def _space(M: Any, rows: np.ndarray) -> Any:
    """Return the basis of the vectors on which some rows of an `fmpq_mat` vanish."""
    lib, width = flint(), M.ncols()
    if not len(rows):
        return lib.fmpq_mat(width, width, [int(i == j) for i in range(width) for j in range(width)])
    return nullspace(_part(M, rows))
