"""Rows and columns that do not matter: zero ones, and multiples of others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, eq=False)
class Core:
    """A matrix without zero rows and columns and without multiples of others; its nonnegative rank is the same.

    Attributes
    ----------
    core : array of int, shape (n', m')
        The rows and columns that are kept, each row in whole numbers without a common factor. Columns keep their scale,
        so that the core is a part of the matrix with rows scaled by positive numbers.
    rows, columns : tuple of int
        Their numbers in the whole matrix.
    row_of, column_of : list of int
        For each row and column of the whole matrix the kept one that it is a multiple of; -1 for a zero one.
    row_scales, column_scales : list of Fraction
        ``M[i, j] = row_scales[i] * core[row_of[i], column_of[j]] * column_scales[j]``.
    """

    core: np.ndarray
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    row_of: list[int]
    column_of: list[int]
    row_scales: list[Fraction]
    column_scales: list[Fraction]

    def undo(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return factors of the whole matrix from those of the core, shapes (n', r) and (r, m')."""
        return _spread(A, self.row_of, self.row_scales), _spread(W.T, self.column_of, self.column_scales).T


def reduce_matrix(M: np.ndarray) -> Core:
    """Drop zero rows and columns and multiples.

    Parameters
    ----------
    M : array of Fraction, shape (n, m)
    """
    columns = _Directions.from_vectors(M.T)
    rows = _Directions.from_vectors(M[:, list(columns.firsts)])
    column_scales = [columns.scales[j] for j in columns.firsts]
    relative = [
        scale / column_scales[k] if k >= 0 else scale
        for scale, k in zip(columns.scales, columns.of_vector, strict=True)
    ]
    return Core(rows.primitive, rows.firsts, columns.firsts, rows.of_vector, columns.of_vector, rows.scales, relative)


class _Directions(NamedTuple):
    """Directions of vectors: vector i is ``scales[i] * primitive[of_vector[i]]``; a zero vector has number -1."""

    primitive: np.ndarray
    firsts: tuple[int, ...]
    of_vector: list[int]
    scales: list[Fraction]

    @classmethod
    def from_vectors(cls, vectors: np.ndarray) -> _Directions:
        number_of: dict[tuple[int, ...], int] = {}
        firsts: list[int] = []
        of_vector, scales = [], []
        for i, vector in enumerate(vectors):
            direction, scale = primitive(vector)
            if scale and direction not in number_of:
                number_of[direction] = len(firsts)
                firsts.append(i)
            of_vector.append(number_of[direction] if scale else -1)
            scales.append(scale)
        table = np.empty((len(number_of), vectors.shape[1]), dtype=object)
        for k, vector in enumerate(number_of):
            table[k] = vector
        return cls(table, tuple(firsts), of_vector, scales)


def primitive(vector: np.ndarray) -> tuple[tuple[int, ...], Fraction]:
    """Return whole numbers without a common factor, and the positive number that scales them to the vector."""
    denominator = math.lcm(*(x.denominator for x in vector))
    integers = [x.numerator * (denominator // x.denominator) for x in vector]
    divisor = math.gcd(*integers)
    if not divisor:
        return tuple(integers), Fraction(0)
    return tuple(x // divisor for x in integers), Fraction(divisor, denominator)


def _spread(factor: np.ndarray, class_of: list[int], scales: list[Fraction]) -> np.ndarray:
    """Return rows of a factor for all vectors of the whole matrix."""
    all_rows = np.empty((len(class_of), factor.shape[1]), dtype=object)
    all_rows[:] = Fraction(0)
    for i, (k, scale) in enumerate(zip(class_of, scales, strict=True)):
        if k >= 0:
            all_rows[i] = [scale * x for x in factor[k]]
    return all_rows
