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
_MIN_POWER, _MAX_POWER = -360, 310  # powers of ten: beyond them 30 digits are 0, or infinite


def _compute_powers_of_ten() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return powers of ten as (high + low) 2^scale, with high from 1 to 2 and low the rounding error of high."""
    powers = np.empty((2, _MAX_POWER - _MIN_POWER + 1))
    scales = np.empty(powers.shape[1], np.int64)
    for i, power in enumerate(range(_MIN_POWER, _MAX_POWER + 1)):
        scale = 10 ** abs(power)
        shift = 120 + scale.bit_length() * (power < 0)
        number = scale << shift if power >= 0 else (1 << shift) // scale
        scales[i] = number.bit_length() - 1 - shift
        number >>= number.bit_length() - 120
        high = float(number)
        powers[:, i] = math.ldexp(high, -119), math.ldexp(float(number - int(high)), -119)
    return powers[0], powers[1], scales


_TENS = 10.0 ** np.arange(23)
_HIGH, _LOW, _SCALE = _compute_powers_of_ten()


@njit(nogil=True, cache=True)
def _is_digit(c):
    return 48 <= c <= 57


@njit(nogil=True, cache=True)
def skip_blanks(buffer, i):
    """Return the first place from i that is not a space, tab or carriage return."""
    while buffer[i] == SPACE or buffer[i] == _TAB or buffer[i] == _RETURN:
        i += 1
    return i


@njit(nogil=True, cache=True)
def _is_blank(buffer, i):
    return buffer[i] == SPACE or buffer[i] == _TAB


@njit(nogil=True, cache=True)
def _is_entry_end(buffer, i):
    """Return True where an entry of a line ends: at a blank, a comment or the end of the line."""
    return buffer[i] <= SPACE or buffer[i] == _HASH


@njit(nogil=True, cache=True)
def read_whole(buffer, i):
    """Read a nonnegative whole number at i (-1 if there is none); return it and the place after it."""
    value = np.int64(0)
    start = i
    while _is_digit(buffer[i]) and i - start < 18:
        value = value * 10 + (buffer[i] - 48)
        i += 1
    return (value if i > start else np.int64(-1)), i


@njit(nogil=True, cache=True)
def _multiply_exactly(a, b):
    """Return the product of two numbers without rounding, as a sum of two (Dekker)."""
    c, d = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(nogil=True, cache=True)
def _scale_decimal(first, rest, n_rest, power):
    """Return (first 10^n_rest + rest) 10^power, rounded once."""
    if n_rest == 0 and -22 <= power <= 22:
        return first / _TENS[-power] if power < 0 else first * _TENS[power]
    if first == 0.0 or power < _MIN_POWER:
        return 0.0
    if power > _MAX_POWER:
        return np.inf
    high, low = _multiply_exactly(first, _TENS[n_rest])
    low += rest
    if -22 <= power < 0:  # only here a number can lie just between two floats: 0.1 is rounded, 10 is not
        ten = _TENS[-power]
        value = (high + low) / ten
        product, error = _multiply_exactly(value, ten)
        return value + (high - product + low - error) / ten
    index = power - _MIN_POWER
    product, error = _multiply_exactly(high, _HIGH[index])
    error += high * _LOW[index] + low * _HIGH[index]
    return math.ldexp(product + error, _SCALE[index])


@njit(nogil=True, cache=True)
def read_decimal(buffer, i):
    """Read a decimal number at i; return it, the place after it, and True if there was one."""
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
    value = _scale_decimal(first, rest, max(digits - 15, 0), power)
    return (-value if negative else value), i, any_digit and value < np.inf


@njit(nogil=True, cache=True)
def count_lines(buffer):
    """Count the lines; each ends with a newline."""
    n = 0
    for c in buffer:
        n += c == NEWLINE
    return n


@njit(nogil=True, cache=True)
def _read_number(buffer, i, whole_only, low, high):
    """Read a decimal number at i; return it, the place after it, and True if it is within bounds and of the right kind."""
    value, i, good = read_decimal(buffer, i)
    return value, i, good and low <= value <= high and not (whole_only and value % 1.0 != 0.0)


@njit(nogil=True, cache=True)
def parse_numbers(buffer, whole_only, low, high):
    """Parse lines of one number each, from ``low`` to ``high``; blank lines are skipped."""
    n_lines = count_lines(buffer)
    values = np.empty(n_lines)
    i, n = np.int64(0), 0
    for line in range(n_lines):
        i = skip_blanks(buffer, i)
        if buffer[i] != NEWLINE:
            values[n], i, good = _read_number(buffer, i, whole_only, low, high)
            i = skip_blanks(buffer, i)
            if not good or buffer[i] != NEWLINE:
                return values[:0], line
            n += 1
        i += 1
    return values[:n], -1


@njit(nogil=True, cache=True)
def parse_pairs(buffer, width, most_words, max_count):
    """Parse lines of ``width`` (2 or 3) whole numbers from 0: words up to ``most_words``, counts up to ``max_count``."""
    n_lines = count_lines(buffer)
    values = np.empty((n_lines, width), np.int64)
    i, n = np.int64(0), 0
    for line in range(n_lines):
        i = skip_blanks(buffer, i)
        if buffer[i] != NEWLINE and buffer[i] != _HASH:
            for column in range(width):
                number, i, good = _read_number(buffer, i, np.bool_(True), 0.0, most_words if column < 2 else max_count)
                if not (good and _is_entry_end(buffer, i)):
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
def parse_triples(buffer, width, n_rows, n_columns, whole_only, low, high, hollow):
    """Parse lines of ``width`` (2 or 3) numbers; rows and columns count from 1, the third is 1 where width is 2.

    A third number must be finite, from ``low`` to ``high``, whole if ``whole_only``, and 0 on the diagonal if ``hollow``.
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
        good = 1 <= row <= n_rows and _is_blank(buffer, i)
        i = skip_blanks(buffer, i)
        column, i = read_whole(buffer, i)
        good = good and 1 <= column <= n_columns
        if width == 3 and good and _is_blank(buffer, i):
            i = skip_blanks(buffer, i)
            values[n], i, good = _read_number(buffer, i, whole_only, low, high)
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
    """Write each entry to the next free place of its row."""
    for e in range(len(rows)):
        at = place[rows[e]]
        indices[at], data[at] = columns[e], values[e]
        place[rows[e]] = at + 1


@njit(nogil=True, cache=True)
def parse_svmlight(buffer, x_base, y_base, n_features, n_labels):
    """Parse ``l1,l2 f:v f:v # comment`` lines: X as (indptr, indices, data), Y as (indptr, indices), and the first error.

    The error is the bad line, the kind of number out of range (0: none, the line is malformed; 1: a feature; 2: a label), and
    that number. A line that begins with ``#`` is no row. Repeated features and labels are kept.
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
        is_comment = buffer[i] == _HASH
        label_end = i
        while _is_digit(buffer[label_end]):
            label_end += 1
        has_labels = label_end > i and buffer[label_end] != _COLON
        while has_labels and good:
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
        good = good and (not has_labels or _is_entry_end(buffer, i))
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
                good = good and _is_entry_end(buffer, i)
                x_indices[x_end] = number - x_base
                x_end += 1
        if not good:
            return x_indptr, x_indices, x_data, y_indptr, y_indices, line, beyond, number
        while buffer[i] != NEWLINE:
            i += 1
        i += 1
        if not is_comment:
            row += 1
            x_indptr[row], y_indptr[row] = x_end, y_end
    return x_indptr[: row + 1], x_indices[:x_end], x_data[:x_end], y_indptr[: row + 1], y_indices[:y_end], -1, 0, 0
