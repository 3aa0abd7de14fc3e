"""Cumulants of a hidden part of rows, for estimators that are fitted to moments in place of rows.

Cumulants of independent parts add up. So the data can determine the cumulants of a part that no row shows, and a method of
moments needs no more (Ge and Zou, 2015, section 4.2). The classes here stand for sums over rows of that part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..passes import Folds
from ..tensor import apply_to_modes
from ..tensor.operators import SymmetricFour
from .vectors import ColumnMoments, Coordinates, VectorSums


@dataclass(frozen=True)
class Cumulants:
    """Cumulants of a hidden part in some rows.

    Attributes
    ----------
    n : int
        Number of rows.
    mean : ndarray of shape (D,)
    covariance : ndarray of shape (D, D)
    third : ndarray of shape (D, D, D) or None
        Also None for coordinates that need none.
    fourth : SymmetricFour of dimension D, or None
    """

    n: int
    mean: np.ndarray
    covariance: np.ndarray
    third: np.ndarray | None = None
    fourth: SymmetricFour | None = None

    def tensors(self) -> list[np.ndarray]:
        """Return the cumulants of orders 1, 2, 3 and perhaps 4 as full tensors."""
        assert self.third is not None
        return [self.mean, self.covariance, self.third, *([] if self.fourth is None else [self.fourth.full()])]

    def cumulant(self, matrix: np.ndarray) -> SymmetricFour:
        """Compute the fourth cumulant of matrix^T x, for a matrix of shape (D, k)."""
        assert self.fourth is not None
        return self.fourth.project(matrix)


@dataclass(frozen=True)
class HiddenMoments:
    """Cumulants of a hidden part, which `fit_moments` of several estimators takes in place of rows.

    Make them with `latentia.contrastive.contrast_moments`.

    Attributes
    ----------
    order : {3, 4}
        Highest order of the cumulants.
    of : callable
        From groups of rows, a tuple of int, to `Cumulants`.
    folds : Folds
        The groups, whose halves show the errors.
    evidence : Evidence
        How far the cumulants can be trusted.
    column_names : list of str or None
    alternatives : tuple of HiddenMoments
        Cumulants under which all groups err alike; answers by them widen the expected errors.
    """

    order: int
    of: Callable[[tuple[int, ...]], Cumulants] = field(repr=False)
    folds: Folds = field(repr=False)
    evidence: Any = field(repr=False)
    column_names: list[str] | None = None
    alternatives: tuple[HiddenMoments, ...] = field(default=(), repr=False)

    @property
    def all_rows(self) -> Cumulants:
        """Cumulants from all rows."""
        return self.of(self.folds.all)

    @property
    def mean(self) -> np.ndarray:
        """Mean, shape (D,)."""
        return self.all_rows.mean

    @property
    def covariance(self) -> np.ndarray:
        """Covariance, shape (D, D)."""
        return self.all_rows.covariance

    @property
    def cumulant(self) -> np.ndarray:
        """Cumulant of the highest order, shape (D,) * order."""
        cumulants = self.all_rows
        return cumulants.fourth.full() if cumulants.fourth is not None else np.asarray(cumulants.third)

    @property
    def columns(self) -> ColumnMoments:
        """Means and variances of the columns."""
        cumulants = self.all_rows
        return ColumnMoments(cumulants.n, cumulants.mean, np.diag(cumulants.covariance))

    def check_order(self, order: int) -> None:
        """Raise unless the cumulants are of an order."""
        if self.order != order:
            raise LatentiaError(
                f"fit_moments: expected cumulants of order {order}, found order {self.order}. Make them with "
                f"contrast_moments(U, V, order={order})."
            )


@dataclass(frozen=True)
class HiddenFourth:
    """Fourth cumulants in coordinates, in the place of `FourthMoments`."""

    moments: HiddenMoments
    coordinates: Coordinates

    @property
    def folds(self) -> Folds:
        return self.moments.folds

    def of(self, state: Any, groups: tuple[int, ...]) -> Cumulants:
        """Return the cumulants of some groups of rows."""
        cumulants, basis = self.moments.of(groups), self.coordinates.basis
        return Cumulants(
            cumulants.n,
            (cumulants.mean - self.coordinates.center) @ basis,
            basis.T @ cumulants.covariance @ basis,
            fourth=cumulants.cumulant(basis),
        )


@dataclass(frozen=True)
class HiddenVectors:
    """Third moments in coordinates, in the place of `VectorMoments`."""

    moments: HiddenMoments
    coordinates: Coordinates

    @property
    def folds(self) -> Folds:
        return self.moments.folds

    def of(self, state: Any, groups: tuple[int, ...]) -> VectorSums:
        """Return the moments of some groups of rows about their mean."""
        cumulants, basis = self.moments.of(groups), self.coordinates.basis
        assert cumulants.third is not None
        b = basis.shape[1]
        third = np.zeros((b + 1,) * 3)
        third[:-1, :-1, :-1] = apply_to_modes(cumulants.third, basis)
        covariance = basis.T @ cumulants.covariance @ basis
        third[:-1, :-1, -1] = third[:-1, -1, :-1] = third[-1, :-1, :-1] = covariance
        third[-1, -1, -1] = 1.0
        energy = np.append(np.einsum("aab->b", cumulants.third) @ basis, np.trace(cumulants.covariance))
        sketch = np.hstack([cumulants.covariance @ basis, np.zeros((len(basis), 1))])
        return VectorSums(cumulants.n, cumulants.mean, third, energy, sketch)
