"""Sums in twice the precision: a number is the sum of two floats, the second of which holds what the first one rounds away.

Fourth powers of a row that lies a million deviations out have 24 digits in front of those of other rows, and a float has 16.
Two floats have 32, so that such a row can be added and taken away again, and the other rows keep their digits.

Source: T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numba.extending import register_jitable

Twofold: TypeAlias = tuple[Any, Any]
"""Numbers, or arrays of one shape, as their high and low parts."""

_SPLIT = 134217729.0  # 2^27 + 1


@register_jitable
def add_floats(first: Any, second: Any) -> Twofold:
    """Add two floats without error."""
    total = first + second
    of_second = total - first
    return total, (first - (total - of_second)) + (second - of_second)


@register_jitable
def multiply_floats(first: Any, second: Any) -> Twofold:
    """Multiply two floats without error."""
    product = first * second
    wide_first, wide_second = _SPLIT * first, _SPLIT * second
    first_high, second_high = wide_first - (wide_first - first), wide_second - (wide_second - second)
    first_low, second_low = first - first_high, second - second_high
    error = ((first_high * second_high - product) + (first_high * second_low + first_low * second_high)) + (
        first_low * second_low
    )
    return product, error


@register_jitable
def add(first: Twofold, second: Twofold) -> Twofold:
    """Add two numbers in twice the precision."""
    total, error = add_floats(first[0], second[0])
    small, rest = add_floats(first[1], second[1])
    total, error = add_floats(total, error + small)
    return add_floats(total, error + rest)


@register_jitable
def multiply(first: Twofold, second: Twofold) -> Twofold:
    """Multiply two numbers in twice the precision."""
    product, error = multiply_floats(first[0], second[0])
    return add_floats(product, error + (first[0] * second[1] + first[1] * second[0]))


def sum_of_rows(high: np.ndarray, low: np.ndarray) -> Twofold:
    """Add up the rows of a table."""
    total: Twofold = high[0], low[0]
    for row in zip(high[1:], low[1:], strict=True):
        total = add(total, row)
    return total


def add_tables(first: Twofold, second: Twofold, sign: int = 1) -> Twofold:
    """Add tables of one shape, or take the second one away."""
    high, low, other_high, other_low = (np.ascontiguousarray(part).ravel() for part in (*first, *second))
    total, rest = _add_arrays(high, low, other_high, other_low, float(sign))
    return total.reshape(first[0].shape), rest.reshape(first[0].shape)


@njit(nogil=True, cache=True)
def _add_arrays(high, low, other_high, other_low, sign):
    total, rest = np.empty_like(high), np.empty_like(high)
    for i in range(len(high)):
        total[i], rest[i] = add((high[i], low[i]), (sign * other_high[i], sign * other_low[i]))
    return total, rest


@njit(nogil=True, cache=True)
def add_outer(high, low, first, first_low, second, second_low):
    """Add the outer product of two vectors to a matrix (m, n) in place."""
    for i in range(len(first)):
        for j in range(len(second)):
            product = multiply((first[i], first_low[i]), (second[j], second_low[j]))
            high[i, j], low[i, j] = add((high[i, j], low[i, j]), product)


@njit(nogil=True, cache=True)
def combine_rows(high, low, places, factors, factors_low):
    """Sums of rows of a matrix (m, n) times factors: row i of the result is of rows ``places[i]``, with ``factors[i]``."""
    total, rest = np.zeros((len(places), high.shape[1])), np.zeros((len(places), high.shape[1]))
    for i in range(len(places)):
        for t in range(places.shape[1]):
            if factors[i, t] == 0.0:
                continue
            source, factor = places[i, t], (factors[i, t], factors_low[i, t])
            for j in range(high.shape[1]):
                product = multiply((high[source, j], low[source, j]), factor)
                total[i, j], rest[i, j] = add((total[i, j], rest[i, j]), product)
    return total, rest


@njit(nogil=True, cache=True)
def products_in_order(rows, matrix):
    """Rows (n, D) times a matrix (D, k), added up in the order of the columns, which matrix products of BLAS do not keep to."""
    products = np.zeros((rows.shape[0], matrix.shape[1]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            for k in range(matrix.shape[1]):
                products[i, k] += rows[i, j] * matrix[j, k]
    return products
