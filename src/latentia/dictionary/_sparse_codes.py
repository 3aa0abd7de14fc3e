"""Rows that are sparse combinations of atoms: the update of the method of optimal directions.

Model: y = c D + noise, with at most k coefficients c_j that are not zero, and noise of variance s^2 in every feature. Given the
atoms, codes are those of orthogonal matching pursuit; given the codes, D solves C^T C D = C^T Y. Both raise, or nearly, the
log-likelihood -(p n / 2) log(2 pi e s^2), where p n s^2 is what the codes leave.

An atom that hardly any row uses, or that is another one over again, makes room for what rows lack: a direction of what
is left of them, or one of the two atoms that an atom stands for.

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

_AT_ONCE = 1 << 22  # entries of the products of rows with atoms
_SPARE = 256  # rows that are kept to make atoms of
_SHARPNESS = 4.0  # power of the squared length of what is left of a row, in its chance to be kept
_ALIKE = 0.5  # |cosine| from which on what is left of two rows is the same direction
_STEPS = 10
_MOSTLY = 0.5  # share of the rows of a group that use an atom which stands for two
_FEWEST_ALIKE = 6  # kept rows of one direction that is lacking; share of the atoms that make room at a time
_MOST_SWAPPED = 0.05
_SELDOM = 0.1  # of the uses that atoms have on average, below which one is replaced
_TWIN = 0.95  # |cosine| of two atoms, above which they are the same
_RIDGE = 1e-10
_EXACT = 1e-14  # share of the energy that counts as nothing


@dataclass
class CodeSums:
    """What a pass adds up.

    Attributes
    ----------
    gram : ndarray of shape (m, m)
        C^T C.
    cross : ndarray of shape (m, n)
        C^T Y.
    uses : ndarray of shape (m,)
        Rows that use each atom.
    energy, left : float
        Squared length of the rows, and of what their codes leave.
    n_rows : int
    keys : ndarray of shape (r,)
        Some rows are kept, drawn in proportion to the fourth power of the square of what is left of them: those with the
        largest keys.
    spare : ndarray of shape (r, n)
        What is left of these.
    chosen, values : ndarrays of shape (r, k)
        Their codes.
    """

    gram: np.ndarray
    cross: np.ndarray
    uses: np.ndarray
    keys: np.ndarray
    spare: np.ndarray
    chosen: np.ndarray
    values: np.ndarray
    energy: float = 0.0
    left: float = 0.0
    n_rows: int = 0

    @property
    def log_likelihood(self) -> float:
        """In nats, at the best variance of the noise."""
        return best_gaussian_log_likelihood(self.left, self.energy, self.n_rows * self.cross.shape[1])

    def in_order(self, order: np.ndarray) -> CodeSums:
        """The same of the atoms in another order."""
        return replace(self, gram=self.gram[np.ix_(order, order)], cross=self.cross[order], uses=self.uses[order])

    def swapped(self, atoms: np.ndarray) -> np.ndarray | None:
        """The atoms with room made for what several rows lack, by those that contribute least; None if they lack nothing."""
        if self.relative_error < _EXACT:
            return None
        n_places = max(1, int(_MOST_SWAPPED * len(atoms)))
        places = np.argsort(np.diag(self.gram), kind="stable")[:n_places]
        swapped, n = _renewed(atoms, self, places, _FEWEST_ALIKE)
        return swapped if n else None

    @property
    def relative_error(self) -> float:
        """Share of the rows' squared length that the codes leave."""
        return self.left / self.energy if self.energy > 0 else 0.0


@dataclass
class Rounds:
    """How the rounds went, which decides when they end.

    Attributes
    ----------
    errors : list of float
        Relative squared error of every round.
    replaced : list of int
        Atoms replaced after it.
    """

    tol: float = 1e-3
    last_replacement: int = 25
    errors: list[float] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)

    @property
    def may_replace(self) -> bool:
        return len(self.errors) <= self.last_replacement

    def converged(self) -> bool:
        """Whether the last two rounds changed the error by less than a thousandth, with no atom replaced."""
        if self.errors and self.errors[-1] < _EXACT:
            return True
        recent = np.array(self.errors[-3:])
        calm = len(recent) == 3 and bool((np.abs(np.diff(recent)) <= self.tol * recent[1:]).all())
        return calm and not any(self.replaced[-2:])


class AtomsUpdate:
    """Small statistic of one round.

    Parameters
    ----------
    atoms : ndarray of shape (m, n)
        Of unit length.
    sparsity : int
        Atoms that a row may use.
    rounds : Rounds
    seed : int
    """

    def __init__(self, atoms: np.ndarray, sparsity: int, rounds: Rounds, seed: int) -> None:
        self.atoms, self.sparsity, self.rounds, self.seed = atoms, sparsity, rounds, seed

    @property
    def values(self) -> Values:
        return (self.atoms,)

    def at(self, *values: np.ndarray) -> AtomsUpdate:
        (atoms,) = values
        return AtomsUpdate(atoms, self.sparsity, self.rounds, self.seed)

    def zero(self) -> CodeSums:
        (m, n), k = self.atoms.shape, min(self.sparsity, *self.atoms.shape)
        kept = np.empty(0), np.empty((0, n)), np.empty((0, k), np.int32), np.empty((0, k))
        return CodeSums(np.zeros((m, m)), np.zeros((m, n)), np.zeros(m, np.int64), *kept)

    def add(self, state: CodeSums, block: Block) -> CodeSums:
        step = max(1, _AT_ONCE // sum(self.atoms.shape))
        for first in range(0, block[0].shape[0], step):
            part = block[0][first : first + step]
            self._add(state, np.ascontiguousarray(_dense(part), dtype=np.float64), block.rows[first : first + step])
        return state

    def _add(self, state: CodeSums, rows: np.ndarray, numbers: np.ndarray) -> None:
        codes = matching_pursuit(rows, self.atoms, self.sparsity)
        rest = rows.copy()
        _add_codes(rows, codes.atoms, codes.values, self.atoms, state.gram, state.cross, state.uses, rest)
        left = np.einsum("ij,ij->i", rest, rest)
        state.energy += float(codes.left[:, 0].sum())
        state.left += float(left.sum())
        state.n_rows += len(rows)
        with np.errstate(divide="ignore"):
            drawn = np.log(_uniform(numbers, self.seed + len(self.rounds.errors)))
            keys = _SHARPNESS * np.log(left) - np.log(-drawn)  # of the row alone, whatever block it is in
        best = np.argsort(-keys, kind="stable")[:_SPARE]
        best = best[left[best] > 0]
        _keep_largest(state, keys[best], rest[best], codes.atoms[best], codes.values[best])

    def merge(self, first: CodeSums, second: CodeSums) -> CodeSums:
        first.gram += second.gram
        first.cross += second.cross
        first.uses += second.uses
        first.energy += second.energy
        first.left += second.left
        first.n_rows += second.n_rows
        _keep_largest(first, second.keys, second.spare, second.chosen, second.values)
        return first

    def expected(self, sums: CodeSums) -> Sequence[Any]:
        return (_Solved(self, sums),)


@dataclass(frozen=True)
class _Solved:
    """The atoms, and what a pass says of them."""

    update: AtomsUpdate
    sums: CodeSums

    def estimate(self) -> Values:
        """The atoms of least squares, of unit length; those that stand for nothing make room for others. Counts as a round."""
        rounds, sums = self.update.rounds, self.sums
        atoms = _least_squares(sums, self.update.atoms)
        rounds.errors.append(sums.relative_error)
        weak = _weak(atoms, sums.uses) if rounds.may_replace else np.empty(0, np.int64)
        atoms, n = _renewed(atoms, sums, weak)
        rounds.replaced.append(n)
        return (atoms,)

    def log_prior(self) -> float:
        return 0.0


def _least_squares(sums: CodeSums, before: np.ndarray) -> np.ndarray:
    """Solve C^T C D = C^T Y, rows scaled to unit length; atoms that no row uses stay."""
    used = np.nonzero(np.diag(sums.gram) > 0)[0]
    atoms = before.copy()
    if not len(used):
        return atoms
    gram = sums.gram[np.ix_(used, used)]
    scales = np.sqrt(np.diag(gram))
    gram = gram / scales / scales[:, None] + _RIDGE * np.eye(len(used))
    solution = dense_linalg.solve(gram, sums.cross[used] / scales[:, None], assume_a="pos")
    lengths = np.linalg.norm(solution, axis=1)
    kept = lengths > np.finfo(float).tiny
    atoms[used[kept]] = solution[kept] / lengths[kept, None]
    return atoms


def _weak(atoms: np.ndarray, uses: np.ndarray) -> np.ndarray:
    """Numbers of the atoms that hardly any row uses, and of the less used one of two that are the same."""
    weak = uses < _SELDOM * uses.mean()
    same = np.abs(np.triu(atoms @ atoms.T, 1)) > _TWIN
    for i, j in zip(*np.nonzero(same), strict=True):
        if not (weak[i] or weak[j]):
            weak[i if uses[i] < uses[j] else j] = True
    return np.nonzero(weak)[0]


def _renewed(atoms: np.ndarray, sums: CodeSums, places: np.ndarray, fewest: int = 1) -> tuple[np.ndarray, int]:
    """Atoms with those in ``places`` replaced by what rows lack, and how many are.

    What is left of the kept rows is grouped by its direction, v: that of the row with the most others like it, then without
    these, and so on, in groups of ``fewest`` rows at least. Where most rows of a group use one atom d, it stands for two, which
    are near d + t v and d - t v: it becomes one, and the replaced atom the other. Else the replaced atom becomes v.
    """
    atoms, rows = atoms.copy(), unit_rows(sums.spare)
    left, n = np.arange(len(rows)), 0
    while n < len(places) and len(left):
        alike = np.abs(rows[left] @ rows[left].T) > _ALIKE
        own = alike[alike.sum(axis=1).argmax()]
        if own.sum() < fewest:
            break
        group, left = left[own], left[~own]
        v = leading_direction(rows[group], _STEPS)
        both = _halves(atoms, sums, group, v)
        atoms[places[n]] = v if both is None else both[1]
        if both is not None and both[0] != places[n]:
            atoms[both[0]] = both[2]
        n += 1
    return atoms, n


def _halves(
    atoms: np.ndarray, sums: CodeSums, group: np.ndarray, v: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray] | None:
    """The atom which most rows of a group use, and the two atoms that it stands for; None if there is none such."""
    chosen = sums.chosen[group]
    counts = np.bincount(chosen[chosen >= 0], minlength=len(atoms))
    atom = int(counts.argmax())
    if len(group) < 2 or counts[atom] < _MOSTLY * len(group):
        return None
    uses = chosen == atom
    size = float(np.abs(sums.values[group][uses]).mean())
    beyond = float(np.abs(sums.spare[group] @ v).mean())
    first, second = unit_rows(np.array([size * atoms[atom] + beyond * v, size * atoms[atom] - beyond * v]))
    return atom, first, second


def _keep_largest(state: CodeSums, *more: np.ndarray) -> None:
    kept = (state.keys, state.spare, state.chosen, state.values)
    keys, *others = (np.concatenate(both) for both in zip(kept, more, strict=True))
    best = np.argsort(-keys, kind="stable")[:_SPARE]
    state.keys = keys[best]
    state.spare, state.chosen, state.values = (table[best] for table in others)


def _uniform(numbers: np.ndarray, seed: int) -> np.ndarray:
    """A number between 0 and 1 for each row, which hangs on its number in the source and the seed."""
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
