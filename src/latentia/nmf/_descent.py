"""Nonnegative factorization of rows, X = A W + noise, by alternating least squares: one round is one pass.

A pass finds the weights of every row exactly, which needs no memory of the pass before, and adds up A^T A and A^T X. From these
the components follow by sweeps of coordinate descent (HALS), each component in turn at its best, with the others as they are.

Cells that are missing, NaN, are left out of the weights, and are A W of these in the sums. Sweeps then lower the error on the
other cells: that of the filled table bounds it, and is equal to it where they start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import sparse

from .._entries import missing_entries
from ..likelihood import EStep, Refine, Refinement, Values, refine
from ..likelihood.residuals import best_gaussian_log_likelihood
from ..passes import Block
from ..simplex import nonnegative_least_squares, observed_least_squares, simplex_least_squares
from ._selection import compute_squared_distances

Mixing = Literal["simplex", "cone"]

_MAX_DENSE_ENTRIES = 1 << 22  # entries of rows that are made dense at a time
_SWEEPS = 10
_MAX_ROUNDS = 200
_CANCELLATION_LIMIT = 1e-8  # share of the energy below which a residual by differences of squares is rounding


@dataclass
class FactorSums:
    """Sums of one pass over the rows.

    Attributes
    ----------
    gram : ndarray of shape (r, r)
        A^T A.
    cross : ndarray of shape (r, d)
        A^T X.
    shares : ndarray of shape (r,)
        Sum over rows of the share that each component has of a row: its weight, or for "cone", where the length of a component
        means nothing, the sum of what it adds to the row.
    energy, residual_energy : float
        Squared lengths of the rows and of X - A W.
    n_rows, n_cells : int
        Cells without those that are missing.
    """

    gram: np.ndarray
    cross: np.ndarray
    shares: np.ndarray
    energy: float = 0.0
    residual_energy: float = 0.0
    n_rows: int = 0
    n_cells: int = 0

    @property
    def relative_error(self) -> float:
        """|X - A W| / |X|."""
        return float(np.sqrt(self.residual_energy / self.energy)) if self.energy > 0 else 0.0

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood in nats, at the best variance of the noise."""
        return best_gaussian_log_likelihood(self.residual_energy, self.energy, self.n_cells)


@dataclass
class Descent:
    """Relative errors of the rounds, which decide when they end.

    Attributes
    ----------
    tol : float
        Relative change of the error below which two rounds in a row mean convergence.
    outside : callable or None
        Takes components; returns the part of the rows outside their hull, relative to noise. From 1 down, rounds fit noise.
    components : ndarray of shape (r, d)
        Components of the last round.
    """

    tol: float = 1e-4
    outside: Callable[[np.ndarray], float] | None = None
    errors: list[float] = field(default_factory=list)
    components: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def fingerprint(self) -> list[float]:
        """Return the errors so far, by which checkpoints recognise a pass."""
        return self.errors

    def converged(self) -> bool:
        """Return True if the last two rounds hardly changed the error, or if the rows lie in the hull but for noise."""
        if self.outside is not None and self.outside(self.components) <= 1:
            return True
        recent_errors = np.array(self.errors[-3:])
        return len(recent_errors) == 3 and bool((np.abs(np.diff(recent_errors)) <= self.tol * recent_errors[1:]).all())


class FactorUpdate:
    """Statistic of one round: the sums from which the next components follow.

    Parameters
    ----------
    components : ndarray of shape (r, d)
    mixing : {"simplex", "cone"}
        Whether weights sum to one.
    descent : Descent
    nonnegative : bool
        Whether components must be nonnegative.
    scale : float
        Factor of the rows.
    """

    def __init__(
        self, components: np.ndarray, mixing: Mixing, descent: Descent, nonnegative: bool = True, scale: float = 1.0
    ) -> None:
        self.components, self.mixing, self.descent = components, mixing, descent
        self.nonnegative, self.scale = nonnegative, scale

    @property
    def values(self) -> Values:
        return (self.components,)

    def move_to(self, *values: np.ndarray) -> FactorUpdate:
        (components,) = values
        return FactorUpdate(components, self.mixing, self.descent, self.nonnegative, self.scale)

    def zero(self) -> FactorSums:
        r, d = self.components.shape
        return FactorSums(np.zeros((r, r)), np.zeros((r, d)), np.zeros(r))

    def add(self, state: FactorSums, block: Block) -> FactorSums:
        step = max(1, _MAX_DENSE_ENTRIES // self.components.shape[1])
        for first in range(0, block[0].shape[0], step):
            table = block[0][first : first + step]
            rows = np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)
            rows = rows if self.scale == 1 else rows * self.scale
            weights, gaps = row_weights(rows, self.components, self.mixing, n_jobs=1), missing_entries(rows)
            rows = fill_gaps(rows, gaps, weights, self.components)
            state.gram += weights.T @ weights
            state.cross += weights.T @ rows
            state.shares += _compute_shares(weights, self.components, self.mixing).sum(axis=0)
            squared = np.einsum("ij,ij->i", rows, rows)
            energy = float(squared.sum() if gaps is None else (rows[~gaps] ** 2).sum())
            residual = float(compute_squared_distances(rows, squared, self.components, weights).sum())
            if residual <= _CANCELLATION_LIMIT * energy:
                residual = float(((rows - weights @ self.components) ** 2).sum())
            state.energy += energy
            state.residual_energy += residual
            state.n_rows += len(rows)
            state.n_cells += rows.size if gaps is None else int(np.count_nonzero(~gaps))
        return state

    def merge(self, first: FactorSums, second: FactorSums) -> FactorSums:
        first.gram += second.gram
        first.cross += second.cross
        first.shares += second.shares
        first.energy += second.energy
        first.residual_energy += second.residual_energy
        first.n_rows += second.n_rows
        first.n_cells += second.n_cells
        return first

    def expected(self, sums: FactorSums) -> Sequence[Any]:
        return (_SweepStep(self, sums),)


def run_rounds(start: FactorUpdate, e_step: EStep, rounds: Refine) -> Refinement:
    """Run rounds until they converge, or at most ``rounds`` of them."""
    max_rounds = _MAX_ROUNDS if rounds == "auto" else rounds
    return refine(start, e_step, "auto" if max_rounds else 0, until=start.descent.converged, max_steps=max_rounds)


def row_weights(rows: np.ndarray, components: np.ndarray, mixing: Mixing, n_jobs: int | None = None) -> np.ndarray:
    """Fit the nonnegative weights of each row by least squares, shape (n, r); for "simplex" they sum to one.

    NaN cells are left out.
    """
    gaps = missing_entries(rows)
    if gaps is not None:
        gappy, weights = gaps.any(axis=1), np.empty((len(rows), len(components)))
        if not gappy.all():
            weights[~gappy] = row_weights(rows[~gappy], components, mixing, n_jobs)
        weights[gappy] = observed_least_squares(
            rows[gappy], ~gaps[gappy], components, affine=mixing == "simplex", n_jobs=n_jobs
        )
        return weights
    if mixing == "simplex":
        return simplex_least_squares(rows, components, tol=0.0, n_jobs=n_jobs)
    return nonnegative_least_squares(rows, components, tol=0.0, n_jobs=n_jobs)


def fill_gaps(rows: np.ndarray, gaps: np.ndarray | None, weights: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return the rows with fitted entries in missing cells.

    Least squares on the filled rows has the same weights, and lowers the error on the observed cells.
    """
    return rows if gaps is None else np.where(gaps, weights @ components, rows)


def _compute_shares(weights: np.ndarray, components: np.ndarray, mixing: Mixing) -> np.ndarray:
    if mixing == "simplex":
        return weights
    parts = weights * np.abs(components).sum(axis=1)
    totals = parts.sum(axis=1, keepdims=True)
    return np.asarray(parts / np.where(totals > 0, totals, 1.0))


@dataclass(frozen=True)
class _SweepStep:
    """Components and the sums of a pass with them."""

    update: FactorUpdate
    sums: FactorSums

    def estimate(self) -> Values:
        """Return the components after some sweeps; those that no row uses stay. It counts as a round."""
        sums, components = self.sums, self.update.components.copy()
        self.update.descent.errors.append(sums.relative_error)
        active_components = np.flatnonzero(np.diag(sums.gram) > 0)
        for _ in range(_SWEEPS):
            for k in active_components:
                components[k] += (sums.cross[k] - sums.gram[k] @ components) / sums.gram[k, k]
                if self.update.nonnegative:
                    np.maximum(components[k], 0.0, out=components[k])
        self.update.descent.components = components
        return (components,)

    def log_prior(self) -> float:
        return 0.0
