"""Compiled parsers of number lines. Each returns the number of the first bad line (from 0), or -1.

A decimal is read as mantissa times a power of ten. While the mantissa has at most 15 digits and the power is at most 22
both are floating-point numbers, and one operation rounds once. What is longer is multiplied in twice the precision, 30
digits of it, and then rounded: to the nearest float as well, but for the last bit of numbers below 1e-307.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

NEWLINE, SPACE, _TAB, _RETURN, _HASH = 10, 32, 9, 13, 35
_PLUS, _COMMA, _MINUS, _POINT, _COLON = 43, 44, 45, 46, 58
_LOWEST, _HIGHEST = -360, 310  # powers of ten: beyond them 30 digits are 0, or infinite


def _powers_of_ten() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers of ten as (high + low) 2^scale, with high from 1 to 2 and low what rounding took from it."""
    powers = np.empty((2, _HIGHEST - _LOWEST + 1))
    scales = np.empty(powers.shape[1], np.int64)
    for i, power in enumerate(range(_LOWEST, _HIGHEST + 1)):
        scale = 10 ** abs(power)
        shift = 120 + scale.bit_length() * (power < 0)
        number = scale << shift if power >= 0 else (1 << shift) // scale
        scales[i] = number.bit_length() - 1 - shift
        number >>= number.bit_length() - 120
        high = float(number)
        powers[:, i] = math.ldexp(high, -119), math.ldexp(float(number - int(high)), -119)
    return powers[0], powers[1], scales


_TENS = 10.0 ** np.arange(23)
_HIGH, _LOW, _SCALE = _powers_of_ten()


@njit(nogil=True, cache=True)
def _is_digit(c):
    return 48 <= c <= 57


@njit(nogil=True, cache=True)
def skip_blanks(buffer, i):
    """The first place from i that is not a space, tab or carriage return."""
    while buffer[i] == SPACE or buffer[i] == _TAB or buffer[i] == _RETURN:
        i += 1
    return i


@njit(nogil=True, cache=True)
def _at_blank(buffer, i):
    return buffer[i] == SPACE or buffer[i] == _TAB


@njit(nogil=True, cache=True)
def _at_end(buffer, i):
    """Whether an entry of a line ends here: at a blank, a comment or the end of the line."""
    return buffer[i] <= SPACE or buffer[i] == _HASH


@njit(nogil=True, cache=True)
def read_whole(buffer, i):
    """A nonnegative whole number at i and the place after it; -1 if there is none."""
    value = np.int64(0)
    start = i
    while _is_digit(buffer[i]) and i - start < 18:
        value = value * 10 + (buffer[i] - 48)
        i += 1
    return (value if i > start else np.int64(-1)), i


@njit(nogil=True, cache=True)
def _product(a, b):
    """The product of two numbers without rounding, as a sum of two (Dekker)."""
    c, d = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(nogil=True, cache=True)
def _scaled(first, rest, n_rest, power):
    """(first 10^n_rest + rest) 10^power, rounded once."""
    if n_rest == 0 and -22 <= power <= 22:
        return first / _TENS[-power] if power < 0 else first * _TENS[power]
    if first == 0.0 or power < _LOWEST:
        return 0.0
    if power > _HIGHEST:
        return np.inf
    high, low = _product(first, _TENS[n_rest])
    low += rest
    if -22 <= power < 0:  # only here a number can lie just between two floats: 0.1 is rounded, 10 is not
        ten = _TENS[-power]
        value = (high + low) / ten
        product, error = _product(value, ten)
        return value + (high - product + low - error) / ten
    at = power - _LOWEST
    product, error = _product(high, _HIGH[at])
    error += high * _LOW[at] + low * _HIGH[at]
    return math.ldexp(product + error, _SCALE[at])


@njit(nogil=True, cache=True)
def read_decimal(buffer, i):
    """A decimal number at i, the place after it, and whether there was one."""
    negative = buffer[i] == _MINUS
    if negative or buffer[i] == _PLUS:
        i += 1
    first, rest, digits, power = 0.0, 0.0, 0, np.int64(0)  # 15 digits and 15 more, each a whole number
    any_digit = point = False
    while True:
        c = buffer[i]
        if _is_digit(c):
            any_digit = True
            if digits < 15:
                first = first * 10.0 + (c - 48)
                digits += first > 0
            elif digits < 30:
                rest = rest * 10.0 + (c - 48)
                digits += 1
            else:
                power += 1
            power -= point
        elif c == _POINT and not point:
            point = True
        else:
            break
        i += 1
    if any_digit and (buffer[i] == 101 or buffer[i] == 69):
        i += 1
        below = buffer[i] == _MINUS
        if below or buffer[i] == _PLUS:
            i += 1
        exponent, i = read_whole(buffer, i)
        any_digit = exponent >= 0
        power += -exponent if below else exponent
    value = _scaled(first, rest, max(digits - 15, 0), power)
    return (-value if negative else value), i, any_digit and value < np.inf


@njit(nogil=True, cache=True)
def count_lines(buffer):
    """How many lines there are; each ends with a newline."""
    n = 0
    for c in buffer:
        n += c == NEWLINE
    return n


@njit(nogil=True, cache=True)
def _number(buffer, i, whole, least, most):
    """A decimal number at i within bounds, a whole one if asked for; the place after it, and whether there was one."""
    value, i, good = read_decimal(buffer, i)
    return value, i, good and least <= value <= most and not (whole and value % 1.0 != 0.0)


@njit(nogil=True, cache=True)
def numbers(buffer, whole, least, most):
    """Parse lines of one number each, from ``least`` to ``most``; blank lines hold none."""
    n_lines = count_lines(buffer)
    values = np.empty(n_lines)
    i, n = np.int64(0), 0
    for line in range(n_lines):
        i = skip_blanks(buffer, i)
        if buffer[i] != NEWLINE:
            values[n], i, good = _number(buffer, i, whole, least, most)
            i = skip_blanks(buffer, i)
            if not good or buffer[i] != NEWLINE:
                return values[:0], line
            n += 1
        i += 1
    return values[:n], -1


@njit(nogil=True, cache=True)
def pairs(buffer, width, most_words, most):
    """Parse lines of ``width`` (2 or 3) whole numbers from 0: words up to ``most_words``, and how often up to ``most``."""
    n_lines = count_lines(buffer)
    values = np.empty((n_lines, width), np.int64)
    i, n = np.int64(0), 0
    for line in range(n_lines):
        i = skip_blanks(buffer, i)
        if buffer[i] != NEWLINE and buffer[i] != _HASH:
            for column in range(width):
                number, i, good = _number(buffer, i, np.bool_(True), 0.0, most_words if column < 2 else most)
                if not (good and _at_end(buffer, i)):
                    return values[:0], line
                values[n, column] = np.int64(number)
                i = skip_blanks(buffer, i)
            n += 1
        if buffer[i] != NEWLINE and buffer[i] != _HASH:
            return values[:0], line
        while buffer[i] != NEWLINE:
            i += 1
        i += 1
    return values[:n], -1


@njit(nogil=True, cache=True)
def triples(buffer, width, n_rows, n_columns, whole, least, most, hollow):
    """Parse lines of ``width`` (2 or 3) numbers; rows and columns count from 1, the third is 1 where width is 2.

    A third number must be finite, from ``least`` to ``most``, a whole one if ``whole``, and 0 on the diagonal if
    ``hollow``.
    """
    n_lines = count_lines(buffer)
    rows, columns = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    values = np.ones(n_lines)
    i, n = np.int64(0), 0
    for line in range(n_lines):
        i = skip_blanks(buffer, i)
        if buffer[i] == NEWLINE:
            i += 1
            continue
        row, i = read_whole(buffer, i)
        good = 1 <= row <= n_rows and _at_blank(buffer, i)
        i = skip_blanks(buffer, i)
        column, i = read_whole(buffer, i)
        good = good and 1 <= column <= n_columns
        if width == 3 and good and _at_blank(buffer, i):
            i = skip_blanks(buffer, i)
            values[n], i, good = _number(buffer, i, whole, least, most)
        elif width == 3:
            good = False
        good = good and not (hollow and row == column and values[n] != 0.0)
        i = skip_blanks(buffer, i)
        if not good or buffer[i] != NEWLINE:
            return rows[:0], columns[:0], values[:0], line
        rows[n], columns[n] = row - 1, column - 1
        n += 1
        i += 1
    return rows[:n], columns[:n], values[:n], -1


@njit(nogil=True, cache=True)
def scatter(rows, columns, values, place, indices, data):
    """Put entries at the next free place of their row."""
    for e in range(len(rows)):
        at = place[rows[e]]
        indices[at], data[at] = columns[e], values[e]
        place[rows[e]] = at + 1


@njit(nogil=True, cache=True)
def svmlight(buffer, x_base, y_base, n_features, n_labels):
    """Parse ``l1,l2 f:v f:v # comment`` lines: X as (indptr, indices, data), Y as (indptr, indices), and what is wrong.

    That is the bad line, what is out of range on it (0: nothing, the line is malformed; 1: a feature; 2: a label), and
    its number. A line that begins with ``#`` is no row. Repeated features and labels are kept.
    """
    n_lines, n_pairs, n_commas = count_lines(buffer), 0, 0
    for c in buffer:
        n_pairs += c == _COLON
        n_commas += c == _COMMA
    x_indptr, y_indptr = np.zeros(n_lines + 1, np.int64), np.zeros(n_lines + 1, np.int64)
    x_indices, x_data = np.empty(n_pairs, np.int32), np.empty(n_pairs)
    y_indices = np.empty(n_lines + n_commas, np.int32)
    i = np.int64(0)
    x_end = y_end = row = 0
    for line in range(n_lines):
        good, beyond, number = True, 0, np.int64(0)
        noted = buffer[i] == _HASH
        ahead = i
        while _is_digit(buffer[ahead]):
            ahead += 1
        labelled = ahead > i and buffer[ahead] != _COLON
        while labelled and good:
            number, i = read_whole(buffer, i)
            good = number >= 0 and not _is_digit(buffer[i])
            if good and not y_base <= number < n_labels + y_base:
                good, beyond = False, 2
            if good:
                y_indices[y_end] = number - y_base
                y_end += 1
            if buffer[i] != _COMMA:
                break
            i += 1
        good = good and (not labelled or _at_end(buffer, i))
        while good:
            i = skip_blanks(buffer, i)
            if buffer[i] == NEWLINE or buffer[i] == _HASH:
                break
            number, i = read_whole(buffer, i)
            good = number >= 0 and buffer[i] == _COLON
            if good and not x_base <= number < n_features + x_base:
                good, beyond = False, 1
            if good:
                x_data[x_end], i, good = read_decimal(buffer, i + 1)
                good = good and _at_end(buffer, i)
                x_indices[x_end] = number - x_base
                x_end += 1
        if not good:
            return x_indptr, x_indices, x_data, y_indptr, y_indices, line, beyond, number
        while buffer[i] != NEWLINE:
            i += 1
        i += 1
        if not noted:
            row += 1
            x_indptr[row], y_indptr[row] = x_end, y_end
    return x_indptr[: row + 1], x_indices[:x_end], x_data[:x_end], y_indptr[: row + 1], y_indices[:y_end], -1, 0, 0
