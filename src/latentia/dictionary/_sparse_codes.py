"""Rows that are sparse combinations of atoms: the update of the method of optimal directions.

Model: y = c D + noise, with at most k coefficients c_j that are not zero, and noise of variance s^2 in every feature. Given the
atoms, codes are those of orthogonal matching pursuit; given the codes, D solves C^T C D = C^T Y. Both raise, or nearly, the
log-likelihood -(p n / 2) log(2 pi e s^2), where p n s^2 is the squared length of the residuals.

Atoms that hardly any row uses, or that duplicate another one, are replaced: by a common direction of residuals, or by one of
two atoms that an atom has merged.

Source: K. Engan, S. Aase, J. Husoy, Method of optimal directions for frame design, ICASSP 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import njit
from scipy import linalg as dense_linalg

from ..likelihood import Values
from ..likelihood.residuals import best_gaussian_log_likelihood
from ..linalg import leading_direction, unit_rows
from ..passes import Block
from ..passes.blocks import mix_bits
from .pursuit import matching_pursuit

_MAX_PRODUCTS = 1 << 22  # entries of the products of rows with atoms at a time
_MAX_KEPT_ROWS = 256  # residuals to keep, to make atoms of
_SHARPNESS = 4.0  # power of the squared length of a residual in its probability to be kept
_SAME_DIRECTION = 0.5  # residuals with a larger |cosine| have the same direction
_STEPS = 10
_MIN_SHARE_OF_GROUP = 0.5  # an atom has merged two if so large a share of a group's rows use it
_MIN_ROWS_OF_DIRECTION = 6  # least residuals of one missing direction
_MAX_SHARE_SWAPPED = 0.05
_MIN_USES = 0.1  # atoms with a smaller share of the mean number of uses are replaced
_SAME_ATOM = 0.95  # atoms with a larger |cosine| are duplicates
_RIDGE = 1e-10
_ZERO_SHARE = 1e-14  # share of the energy that counts as nothing


@dataclass
class CodeSums:
    """Sums of a pass over the rows.

    Attributes
    ----------
    gram : ndarray of shape (m, m)
        C^T C.
    cross : ndarray of shape (m, n)
        C^T Y.
    uses : ndarray of shape (m,)
        Number of rows that use each atom.
    energy, residual : float
        Squared length of the rows, and of their residuals.
    n_rows : int
    keys : ndarray of shape (r,)
        Random keys of the residuals to keep, drawn in proportion to the fourth power of their squared length: the largest keys.
    spare : ndarray of shape (r, n)
        Kept residuals.
    chosen, values : ndarrays of shape (r, k)
        Codes of their rows.
    """

    gram: np.ndarray
    cross: np.ndarray
    uses: np.ndarray
    keys: np.ndarray
    spare: np.ndarray
    chosen: np.ndarray
    values: np.ndarray
    energy: float = 0.0
    residual: float = 0.0
    n_rows: int = 0

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood in nats, at the best variance of the noise."""
        return best_gaussian_log_likelihood(self.residual, self.energy, self.n_rows * self.cross.shape[1])

    def reorder(self, order: np.ndarray) -> CodeSums:
        """Return the sums with atoms in another order."""
        return replace(self, gram=self.gram[np.ix_(order, order)], cross=self.cross[order], uses=self.uses[order])

    def swap_weak_atoms(self, atoms: np.ndarray) -> np.ndarray | None:
        """Return the atoms with the least important ones replaced by missing directions; None if no direction is missing."""
        if self.relative_error < _ZERO_SHARE:
            return None
        n_places = max(1, int(_MAX_SHARE_SWAPPED * len(atoms)))
        places = np.argsort(np.diag(self.gram), kind="stable")[:n_places]
        swap_weak_atoms, n = _replace_atoms(atoms, self, places, _MIN_ROWS_OF_DIRECTION)
        return swap_weak_atoms if n else None

    @property
    def relative_error(self) -> float:
        """Share of the rows' squared length in the residuals."""
        return self.residual / self.energy if self.energy > 0 else 0.0


@dataclass
class Rounds:
    """History of the rounds, which decides when they end.

    Attributes
    ----------
    errors : list of float
        Relative squared error of every round.
    replaced : list of int
        Number of atoms replaced after every round.
    """

    tol: float = 1e-3
    last_replacement: int = 25
    errors: list[float] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)

    @property
    def may_replace(self) -> bool:
        return len(self.errors) <= self.last_replacement

    def converged(self) -> bool:
        """Return True if the last two rounds changed the error by less than a thousandth, and replaced no atom."""
        if self.errors and self.errors[-1] < _ZERO_SHARE:
            return True
        recent = np.array(self.errors[-3:])
        calm = len(recent) == 3 and bool((np.abs(np.diff(recent)) <= self.tol * recent[1:]).all())
        return calm and not any(self.replaced[-2:])


class AtomsUpdate:
    """Small statistic of one round.

    Parameters
    ----------
    atoms : ndarray of shape (m, n)
        Atoms of unit length.
    sparsity : int
        Number of atoms that a row may use.
    rounds : Rounds
    seed : int
    """

    def __init__(self, atoms: np.ndarray, sparsity: int, rounds: Rounds, seed: int) -> None:
        self.atoms, self.sparsity, self.rounds, self.seed = atoms, sparsity, rounds, seed

    @property
    def values(self) -> Values:
        return (self.atoms,)

    def move_to(self, *values: np.ndarray) -> AtomsUpdate:
        (atoms,) = values
        return AtomsUpdate(atoms, self.sparsity, self.rounds, self.seed)

    def zero(self) -> CodeSums:
        (m, n), k = self.atoms.shape, min(self.sparsity, *self.atoms.shape)
        no_rows = np.empty(0), np.empty((0, n)), np.empty((0, k), np.int32), np.empty((0, k))
        return CodeSums(np.zeros((m, m)), np.zeros((m, n)), np.zeros(m, np.int64), *no_rows)

    def add(self, state: CodeSums, block: Block) -> CodeSums:
        step = max(1, _MAX_PRODUCTS // sum(self.atoms.shape))
        for first in range(0, block[0].shape[0], step):
            part = block[0][first : first + step]
            self._add(state, np.ascontiguousarray(_dense(part), dtype=np.float64), block.rows[first : first + step])
        return state

    def _add(self, state: CodeSums, rows: np.ndarray, numbers: np.ndarray) -> None:
        codes = matching_pursuit(rows, self.atoms, self.sparsity)
        rest = rows.copy()
        _add_codes(rows, codes.atoms, codes.values, self.atoms, state.gram, state.cross, state.uses, rest)
        residuals = np.einsum("ij,ij->i", rest, rest)
        state.energy += float(codes.residuals[:, 0].sum())
        state.residual += float(residuals.sum())
        state.n_rows += len(rows)
        with np.errstate(divide="ignore"):
            log_uniform = np.log(_uniform(numbers, self.seed + len(self.rounds.errors)))
            keys = _SHARPNESS * np.log(residuals) - np.log(
                -log_uniform
            )  # depend on the row alone, whatever block it is in
        largest = np.argsort(-keys, kind="stable")[:_MAX_KEPT_ROWS]
        largest = largest[residuals[largest] > 0]
        _keep_largest(state, keys[largest], rest[largest], codes.atoms[largest], codes.values[largest])

    def merge(self, first: CodeSums, second: CodeSums) -> CodeSums:
        first.gram += second.gram
        first.cross += second.cross
        first.uses += second.uses
        first.energy += second.energy
        first.residual += second.residual
        first.n_rows += second.n_rows
        _keep_largest(first, second.keys, second.spare, second.chosen, second.values)
        return first

    def expected(self, sums: CodeSums) -> Sequence[Any]:
        return (_LeastSquares(self, sums),)


@dataclass(frozen=True)
class _LeastSquares:
    """Least squares for the atoms, given the sums of a pass."""

    update: AtomsUpdate
    sums: CodeSums

    def estimate(self) -> Values:
        """Return the atoms of least squares, of unit length, with weak atoms replaced; counts as a round."""
        rounds, sums = self.update.rounds, self.sums
        atoms = _solve_least_squares(sums, self.update.atoms)
        rounds.errors.append(sums.relative_error)
        weak = _find_weak_atoms(atoms, sums.uses) if rounds.may_replace else np.empty(0, np.int64)
        atoms, n = _replace_atoms(atoms, sums, weak)
        rounds.replaced.append(n)
        return (atoms,)

    def log_prior(self) -> float:
        return 0.0


def _solve_least_squares(sums: CodeSums, current_atoms: np.ndarray) -> np.ndarray:
    """Solve C^T C D = C^T Y, rows scaled to unit length; unused atoms stay."""
    atoms_in_use = np.nonzero(np.diag(sums.gram) > 0)[0]
    atoms = current_atoms.copy()
    if not len(atoms_in_use):
        return atoms
    gram = sums.gram[np.ix_(atoms_in_use, atoms_in_use)]
    scales = np.sqrt(np.diag(gram))
    gram = gram / scales / scales[:, None] + _RIDGE * np.eye(len(atoms_in_use))
    solution = dense_linalg.solve(gram, sums.cross[atoms_in_use] / scales[:, None], assume_a="pos")
    lengths = np.linalg.norm(solution, axis=1)
    is_nonzero = lengths > np.finfo(float).tiny
    atoms[atoms_in_use[is_nonzero]] = solution[is_nonzero] / lengths[is_nonzero, None]
    return atoms


def _find_weak_atoms(atoms: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Return the atoms that hardly any row uses, and the less used one of two duplicates."""
    weak = uses < _MIN_USES * uses.mean()
    are_twins = np.abs(np.triu(atoms @ atoms.T, 1)) > _SAME_ATOM
    for i, j in zip(*np.nonzero(are_twins), strict=True):
        if not (weak[i] or weak[j]):
            weak[i if uses[i] < uses[j] else j] = True
    return np.nonzero(weak)[0]


def _replace_atoms(atoms: np.ndarray, sums: CodeSums, places: np.ndarray, min_rows: int = 1) -> tuple[np.ndarray, int]:
    """Replace atoms in ``places`` by missing directions, and return how many were replaced.

    Kept residuals are grouped by direction, v: first the residual with the most others like it, then the same without these,
    and so on, in groups of at least ``min_rows``. Where most rows of a group use one atom d, it has merged two atoms, which are
    near d + t v and d - t v: it becomes one of them, and the replaced atom the other. Otherwise the replaced atom becomes v.
    """
    atoms, rows = atoms.copy(), unit_rows(sums.spare)
    remaining, n = np.arange(len(rows)), 0
    while n < len(places) and len(remaining):
        are_alike = np.abs(rows[remaining] @ rows[remaining].T) > _SAME_DIRECTION
        members = are_alike[are_alike.sum(axis=1).argmax()]
        if members.sum() < min_rows:
            break
        group, remaining = remaining[members], remaining[~members]
        v = leading_direction(rows[group], _STEPS)
        halves = _split_atom(atoms, sums, group, v)
        atoms[places[n]] = v if halves is None else halves[1]
        if halves is not None and halves[0] != places[n]:
            atoms[halves[0]] = halves[2]
        n += 1
    return atoms, n


def _split_atom(
    atoms: np.ndarray, sums: CodeSums, group: np.ndarray, v: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Return the atom that most rows of a group use, and the two atoms that it has merged; None without such an atom."""
    chosen = sums.chosen[group]
    counts = np.bincount(chosen[chosen >= 0], minlength=len(atoms))
    atom = int(counts.argmax())
    if len(group) < 2 or counts[atom] < _MIN_SHARE_OF_GROUP * len(group):
        return None
    uses = chosen == atom
    size = float(np.abs(sums.values[group][uses]).mean())
    spread = float(np.abs(sums.spare[group] @ v).mean())
    first, second = unit_rows(np.array([size * atoms[atom] + spread * v, size * atoms[atom] - spread * v]))
    return atom, first, second


def _keep_largest(state: CodeSums, *new_tables: np.ndarray) -> None:
    state_tables = (state.keys, state.spare, state.chosen, state.values)
    keys, *tables = (np.concatenate(pair) for pair in zip(state_tables, new_tables, strict=True))
    best = np.argsort(-keys, kind="stable")[:_MAX_KEPT_ROWS]
    state.keys = keys[best]
    state.spare, state.chosen, state.values = (table[best] for table in tables)


def _uniform(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return a number between 0 and 1 for each row, which depends on its number in the source and the seed."""
    bits = mix_bits(mix_bits(numbers.astype(np.uint64)) ^ mix_bits(np.array([seed + 1], dtype=np.uint64)))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54


def _dense(part: Any) -> np.ndarray:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part)


@njit(nogil=True, cache=True)
def _add_codes(rows, chosen, values, atoms, gram, cross, uses, rest):
    for row in range(len(rows)):
        for i in range(chosen.shape[1]):
            a = chosen[row, i]
            if a < 0:
                break
            value = values[row, i]
            uses[a] += 1
            for f in range(rows.shape[1]):
                cross[a, f] += value * rows[row, f]
                rest[row, f] -= value * atoms[a, f]
            for j in range(chosen.shape[1]):
                b = chosen[row, j]
                if b < 0:
                    break
                gram[a, b] += value * values[row, j]
