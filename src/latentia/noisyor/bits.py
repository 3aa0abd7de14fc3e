"""Columns of truth values packed into bits, and counts of rows in which several of them are set.

A column is a sequence of words of 64 rows each: rows with both of two columns are counted by AND and a population count. For
three columns i, j and l only the N p_i rows with i matter. They are gathered once for each i: with n columns in order of their
frequency about N p n^3 / 384 words are read, not N n^3 / 384. Rows are gathered from a copy in which each row is contiguous,
and transposed back in squares of 64 x 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

_WORD = 64  # bits of a word
_BLOCK_WORDS = 480  # words of a column in one block: 4 KB
_TILE = COLUMNS = 16  # columns of a block that stay in the cache: 60 KB


def pack_columns(table: np.ndarray) -> np.ndarray:
    """Return the columns of a table of bool, (rows, n), as bits: (n, words) of uint64."""
    as_bytes = np.packbits(table, axis=0, bitorder="little")
    padded = np.zeros((-(-len(as_bytes) // 8) * 8, table.shape[1]), np.uint8)
    padded[: len(as_bytes)] = as_bytes
    return np.ascontiguousarray(padded.T).view(np.uint64)


def transpose_bits(bits: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return rows as bits, (64 words, ceil(n / 64)), of n columns as bits, (columns, words), in a given order."""
    rows = np.empty((_WORD * bits.shape[1], -(-len(order) // _WORD)), np.uint64)
    _transpose(bits, order, rows)
    return rows


@intrinsic
def _count_ones(context: Any, word: Any) -> Any:
    """Count the ones among the bits of a word."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), emit


@njit(nogil=True, cache=True)
def count_pairs_with(bits, i, table):
    """Fill table[i, j > i] with the number of rows that have both."""
    for j in range(i + 1, len(bits)):
        table[i, j] = _count_common(bits[i], bits[j])


@njit(nogil=True, cache=True)
def count_pairs_of_range(bits, start, stop, table):
    """Add to table[i, j > i], for i from start to stop, the number of rows with both; other columns are read once."""
    for first in range(0, bits.shape[1], _BLOCK_WORDS):
        last = min(first + _BLOCK_WORDS, bits.shape[1])
        for j in range(start + 1, len(bits)):
            end, column = min(stop, j), bits[j, first:last]
            last_of_fours = start + (end - start) // 4 * 4
            for i in range(start, last_of_fours, 4):
                a, b = bits[i, first:last], bits[i + 1, first:last]
                counts = _count_common_of_four(a, b, bits[i + 2, first:last], bits[i + 3, first:last], column)
                for k in range(4):
                    table[i + k, j] += counts[k]
            for i in range(last_of_fours, end):
                table[i, j] += _count_common(bits[i, first:last], column)


@njit(nogil=True, cache=True)
def count_pairs_among(bits, order, rows, i, start, stop, first, table):
    """Add to table the number of rows with columns i, j and l, for j from start to stop and l from first to the end, j < l.

    Parameters
    ----------
    bits : ndarray of uint64, shape (columns, words)
        The columns; only column i is read.
    order : ndarray of int64, shape (n,)
        Columns to use, in their order.
    rows : ndarray of uint64, shape (64 words, ceil(n / 64))
        The same bits, a row at a time.
    i, start, stop, first : int
    table : ndarray of int32, shape (stop - start, n - first)
        The entry [j - start, l - first] belongs to j and l.
    """
    n, first_word = len(order), min(start, first) // _WORD
    chosen, shift = _list_set_bits(bits[order[i]]), _WORD * first_word
    columns = np.empty((_WORD * rows.shape[1] - shift, min(_BLOCK_WORDS, -(-len(chosen) // _WORD))), np.uint64)
    for begin in range(0, len(chosen), _WORD * _BLOCK_WORDS):
        words = _gather_rows(rows, chosen[begin : begin + _WORD * _BLOCK_WORDS], first_word, columns)
        for top in range(start, stop, _TILE):
            for c in range(max(first, top + 1), n):
                end, column = min(top + _TILE, stop, c), columns[c - shift, :words]
                last_of_fours = top + (end - top) // 4 * 4
                for j in range(top, last_of_fours, 4):
                    a, b = columns[j - shift, :words], columns[j + 1 - shift, :words]
                    counts = _count_common_of_four(
                        a, b, columns[j + 2 - shift, :words], columns[j + 3 - shift, :words], column
                    )
                    for k in range(4):
                        table[j + k - start, c - first] += counts[k]
                for j in range(last_of_fours, end):
                    table[j - start, c - first] += _count_common(columns[j - shift, :words], column)


@njit(nogil=True)
def _count_common_of_four(a, b, c, d, column):
    """Count the rows that each of four columns shares with another one, which is read once."""
    ones_a, ones_b, ones_c, ones_d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for word in range(len(column)):
        shared = column[word]
        ones_a += _count_ones(a[word] & shared)
        ones_b += _count_ones(b[word] & shared)
        ones_c += _count_ones(c[word] & shared)
        ones_d += _count_ones(d[word] & shared)
    return ones_a, ones_b, ones_c, ones_d


@njit(nogil=True)
def _count_common(first, second):
    total = np.uint64(0)
    for word in range(len(first)):
        total += _count_ones(first[word] & second[word])
    return total


@njit(nogil=True)
def _list_set_bits(column):
    """List the rows whose bit is set in a column."""
    total = np.uint64(0)
    for word in column:
        total += _count_ones(word)
    numbers, at, one_bit = np.empty(total, np.int32), 0, np.uint64(1)
    for place in range(len(column)):
        word = column[place]
        while word:
            numbers[at] = _WORD * place + _count_ones((word & (~word + one_bit)) - one_bit)
            at += 1
            word &= word - one_bit
    return numbers


@njit(nogil=True)
def _gather_rows(rows, chosen, first_word, columns):
    """Fill columns, (width, words), with chosen rows from word ``first_word`` on; return the number of words used."""
    square, words = np.empty(_WORD, np.uint64), -(-len(chosen) // _WORD)
    for word in range(words):
        word_rows = chosen[_WORD * word : _WORD * (word + 1)]
        for part in range(rows.shape[1] - first_word):
            for k in range(len(word_rows)):
                square[k] = rows[word_rows[k], first_word + part]
            square[len(word_rows) :] = 0
            _transpose_square(square)
            for k in range(_WORD):
                columns[_WORD * part + k, word] = square[k]
    return words


@njit(nogil=True, cache=True)
def _transpose(bits, order, rows):
    square, n = np.empty(_WORD, np.uint64), len(order)
    for part in range(rows.shape[1]):
        size = min(_WORD, n - _WORD * part)
        for word in range(bits.shape[1]):
            square[size:] = 0
            for k in range(size):
                square[k] = bits[order[_WORD * part + k], word]
            _transpose_square(square)
            for k in range(_WORD):
                rows[_WORD * word + k, part] = square[k]


@njit(nogil=True)
def _transpose_square(square):
    """Exchange bit j of word k with bit k of word j, in halves, quarters and so on."""
    half, mask = 32, np.uint64(0xFFFFFFFF)
    while half:
        shift = np.uint64(half)
        for top in range(0, _WORD, 2 * half):
            for k in range(top, top + half):
                difference = ((square[k] >> shift) ^ square[k + half]) & mask
                square[k] ^= difference << shift
                square[k + half] ^= difference
        half >>= 1
        mask ^= mask << np.uint64(half)
