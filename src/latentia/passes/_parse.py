"""Compiled parsers of number lines. Each returns the number of the first bad line (from 0), or -1.

A decimal is read as mantissa times a power of ten: exact to the last bit while the mantissa has at most 15 digits and
the power is at most 22 (both are then floating-point numbers, and one operation rounds once); what is longer differs
from the nearest float by a few units in the last place.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["scatter", "svmlight", "triples"]

_NEWLINE, _SPACE, _TAB, _RETURN, _HASH = 10, 32, 9, 13, 35
_PLUS, _COMMA, _MINUS, _POINT, _COLON = 43, 44, 45, 46, 58


@njit(nogil=True, cache=True)
def _is_digit(c):  # pragma: no cover - compiled
    return 48 <= c <= 57


@njit(nogil=True, cache=True)
def _blank(buffer, i):  # pragma: no cover - compiled
    """The first place from i that is not a space, tab or carriage return."""
    while buffer[i] == _SPACE or buffer[i] == _TAB or buffer[i] == _RETURN:
        i += 1
    return i


@njit(nogil=True, cache=True)
def _at_blank(buffer, i):  # pragma: no cover - compiled
    return buffer[i] == _SPACE or buffer[i] == _TAB


@njit(nogil=True, cache=True)
def _at_end(buffer, i):  # pragma: no cover - compiled
    """Whether an entry of a line ends here: at a blank, a comment or the end of the line."""
    return buffer[i] <= _SPACE or buffer[i] == _HASH


@njit(nogil=True, cache=True)
def _whole(buffer, i):  # pragma: no cover - compiled
    """A nonnegative whole number at i and the place after it; -1 if there is none."""
    value = np.int64(0)
    start = i
    while _is_digit(buffer[i]) and i - start < 18:
        value = value * 10 + (buffer[i] - 48)
        i += 1
    return (value if i > start else np.int64(-1)), i


@njit(nogil=True, cache=True)
def _decimal(buffer, i):  # pragma: no cover - compiled
    """A decimal number at i, the place after it, and whether there was one."""
    negative = buffer[i] == _MINUS
    if negative or buffer[i] == _PLUS:
        i += 1
    mantissa, digits, power, any_digit = 0.0, 0, 0, False
    point = False
    while True:
        c = buffer[i]
        if _is_digit(c):
            any_digit = True
            if digits < 18:
                mantissa = mantissa * 10.0 + (c - 48)
                digits += mantissa > 0
                power -= point
            else:
                power += not point
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
        exponent, after = _whole(buffer, i)
        any_digit = exponent >= 0
        power += -exponent if below else exponent
        i = after
    value = mantissa
    if mantissa > 0.0:
        if power < -300:  # in two steps: the power of ten would underflow
            value = value / 1e300
            power += 300
        value = value / 10.0 ** min(-power, 308) if power < 0 else value * 10.0**power if power <= 308 else np.inf
    return (-value if negative else value), i, any_digit and value < np.inf


@njit(nogil=True, cache=True)
def triples(buffer, width, n_rows, n_columns, whole, largest):  # pragma: no cover - compiled
    """Parse lines of ``width`` (2 or 3) numbers; rows and columns count from 1, the third is 1 where width is 2.

    A third number must be finite and at most ``largest``, and a whole number of at least 0 if ``whole``.
    """
    n_lines = 0
    for c in buffer:
        n_lines += c == _NEWLINE
    rows, columns = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
    values = np.ones(n_lines)
    i, n = 0, 0
    for line in range(n_lines):
        i = _blank(buffer, i)
        if buffer[i] == _NEWLINE:
            i += 1
            continue
        row, i = _whole(buffer, i)
        good = 1 <= row <= n_rows and _at_blank(buffer, i)
        i = _blank(buffer, i)
        column, i = _whole(buffer, i)
        good = good and 1 <= column <= n_columns
        if width == 3 and good and _at_blank(buffer, i):
            i = _blank(buffer, i)
            values[n], i, good = _decimal(buffer, i)
            good = good and values[n] <= largest and not (whole and (values[n] < 0.0 or values[n] % 1.0 != 0.0))
        elif width == 3:
            good = False
        i = _blank(buffer, i)
        if not good or buffer[i] != _NEWLINE:
            return rows[:0], columns[:0], values[:0], line
        rows[n], columns[n] = row - 1, column - 1
        n += 1
        i += 1
    return rows[:n], columns[:n], values[:n], -1


@njit(nogil=True, cache=True)
def scatter(rows, columns, values, place, indices, data):  # pragma: no cover - compiled
    """Put entries at the next free place of their row."""
    for e in range(len(rows)):
        at = place[rows[e]]
        indices[at], data[at] = columns[e], values[e]
        place[rows[e]] = at + 1


@njit(nogil=True, cache=True)
def svmlight(buffer, x_base, y_base, n_features, n_labels):  # pragma: no cover - compiled
    """Parse ``l1,l2 f:v f:v # comment`` lines: X as (indptr, indices, data), Y as (indptr, indices), and what is wrong.

    That is the bad line, what is out of range on it (0: nothing, the line is malformed; 1: a feature; 2: a label), and
    its number. A line that begins with ``#`` is no row. Repeated features and labels are kept.
    """
    n_lines = n_pairs = n_commas = 0
    for c in buffer:
        n_lines += c == _NEWLINE
        n_pairs += c == _COLON
        n_commas += c == _COMMA
    x_indptr, y_indptr = np.zeros(n_lines + 1, np.int64), np.zeros(n_lines + 1, np.int64)
    x_indices, x_data = np.empty(n_pairs, np.int32), np.empty(n_pairs)
    y_indices = np.empty(n_lines + n_commas, np.int32)
    i = x_end = y_end = row = 0
    for line in range(n_lines):
        good, beyond, number = True, 0, np.int64(0)
        noted = buffer[i] == _HASH
        ahead = i
        while _is_digit(buffer[ahead]):
            ahead += 1
        labelled = ahead > i and buffer[ahead] != _COLON
        while labelled and good:
            number, i = _whole(buffer, i)
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
            i = _blank(buffer, i)
            if buffer[i] == _NEWLINE or buffer[i] == _HASH:
                break
            number, i = _whole(buffer, i)
            good = number >= 0 and buffer[i] == _COLON
            if good and not x_base <= number < n_features + x_base:
                good, beyond = False, 1
            if good:
                x_data[x_end], i, good = _decimal(buffer, i + 1)
                good = good and _at_end(buffer, i)
                x_indices[x_end] = number - x_base
                x_end += 1
        if not good:
            return x_indptr, x_indices, x_data, y_indptr, y_indices, line, beyond, number
        while buffer[i] != _NEWLINE:
            i += 1
        i += 1
        if not noted:
            row += 1
            x_indptr[row], y_indptr[row] = x_end, y_end
    return x_indptr[: row + 1], x_indices[:x_end], x_data[:x_end], y_indptr[: row + 1], y_indices[:y_end], -1, 0, 0
