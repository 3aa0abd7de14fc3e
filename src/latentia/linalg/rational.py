"""Linear algebra of small matrices in exact rational numbers, with nothing but `fractions.Fraction`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

Vector = tuple[int, ...]


def reduce_rows(rows: list[list[Fraction]]) -> list[int]:
    """Bring ``rows`` to reduced echelon form in place, and return the pivot columns, one a row from the first on."""
    pivots: list[int] = []
    for j in range(len(rows[0]) if rows else 0):
        top = len(pivots)
        pivot_row = next((i for i in range(top, len(rows)) if rows[i][j]), None)
        if pivot_row is None:
            continue
        rows[top], rows[pivot_row] = rows[pivot_row], rows[top]
        scale = 1 / rows[top][j]
        rows[top] = [x * scale for x in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[j]:
                factor = row[j]
                rows[i] = [x - factor * y for x, y in zip(row, rows[top], strict=True)]
        pivots.append(j)
    return pivots


def independent_columns(M: Iterable[Iterable[Any]]) -> list[int]:
    """Return the columns that are no combination of earlier ones, by elimination in whole numbers (Bareiss)."""
    rows = [list(primitive([Fraction(x) for x in row])) for row in M]
    columns: list[int] = []
    divisor = 1
    for j in range(len(rows[0]) if rows else 0):
        k = len(columns)
        pivot = next((i for i in range(k, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[k], rows[pivot] = rows[pivot], rows[k]
        top, scale = rows[k], rows[k][j]
        for i in range(k + 1, len(rows)):
            factor = rows[i][j]
            rows[i] = [(scale * x - factor * y) // divisor for x, y in zip(rows[i], top, strict=True)]
        columns.append(j)
        divisor = scale
    return columns


def rank(M: Iterable[Iterable[Any]]) -> int:
    """Rank over the rationals."""
    return len(independent_columns(M))


def inverse(square: Sequence[Sequence[Any]]) -> list[list[Fraction]] | None:
    """Return the inverse of a square matrix; None if it is singular."""
    size = len(square)
    work = [[*map(Fraction, row), *(Fraction(i == j) for j in range(size))] for i, row in enumerate(square)]
    if reduce_rows(work)[:size] != list(range(size)):
        return None
    return [row[size:] for row in work]


def null_vectors(rows: Sequence[Vector]) -> Iterator[Vector]:
    """Primitive vectors that k - 1 independent rows vanish on, for all choices of rows of k whole numbers.

    A vector comes as often as rows are chosen for it, with either sign.
    """
    size = len(rows[0])
    return _null_vectors([tuple(int(i == j) for j in range(size)) for i in range(size)], rows, 0)


def _null_vectors(basis: Sequence[Vector], rows: Sequence[Vector], start: int) -> Iterator[Vector]:
    """Yield vectors in the span of ``basis`` that are orthogonal to maximal sets of independent rows, from ``start`` on."""
    if len(basis) == 1:
        yield basis[0]
        return
    for i in range(start, len(rows) - len(basis) + 2):
        heights = [dot(rows[i], vector) for vector in basis]
        pivot = next((k for k, height in enumerate(heights) if height), None)
        if pivot is not None:
            rest = [
                primitive([heights[pivot] * x - height * y for x, y in zip(vector, basis[pivot], strict=True)])
                for k, (vector, height) in enumerate(zip(basis, heights, strict=True))
                if k != pivot
            ]
            yield from _null_vectors(rest, rows, i + 1)


def primitive(vector: Sequence[int | Fraction]) -> Vector:
    """Return the vector times the positive number that makes its entries integers without a common factor."""
    common = math.lcm(*(x.denominator for x in vector))
    integers = [int(x * common) for x in vector]
    divisor = math.gcd(*integers) or 1
    return tuple(x // divisor for x in integers)


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Inner product."""
    return sum(x * y for x, y in zip(a, b, strict=True))
