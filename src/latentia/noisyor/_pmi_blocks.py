"""Blocks of PMI3: one finding with all pairs of later ones (a slab), from counts of packed rows.

Rows with all three findings are counted once for every group of rows. A selection of groups has the sum of their counts; only
the logarithms are taken again. Slabs come in tiles of rows that stay in the cache: no array has n^2 entries for every
selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

Groups = tuple[int, ...]
# A counter maps (i, start, stop, first) to the rows of each group with findings i, j from start to stop, and l > j from first:
# int32, shape (G, stop - start, n - first), 0 where l is not after j.
Counter: TypeAlias = Callable[[int, int, int, int], np.ndarray]
ADDED_COUNT = 0.5  # rows added to each count and to the number of rows: logarithms then have no bias of order 1 / N
_TILE_ROWS = 32  # rows of a slab that stay in the cache
# Bits of a float64: of sqrt(1/2), and of the fraction. From 2^52 on floats are integers, whose last bits hold the number.
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
_FRACTION = np.uint64((1 << 52) - 1)
_BIAS = 1024
_SHIFT = np.uint64((_BIAS << 52) - 0x3FE6A09E667F3BCD)
_INTEGER_OFFSET, _INTEGER_OFFSET_BITS = 2.0**52 + _BIAS, np.uint64(0x433 << 52)
_LOG_2 = float(np.log(2.0))


class _AbsenceCounts(Protocol):
    """The part of `latentia.noisyor.absences.AbsenceCounts` that slabs use."""

    n_features: int
    n_rows: np.ndarray
    present: np.ndarray

    @property
    def together(self) -> np.ndarray: ...

    def logs(self, groups: Groups) -> Any: ...

    def counter(self) -> Counter: ...


class Tile(NamedTuple):
    """A tile of rows of a slab.

    Attributes
    ----------
    rows : slice
        Findings j.
    first : int
        First finding l; the last one is n - 1.
    tables : ndarray of shape (n_selections, n_rows, n - first)
        PMI3, 0 where l is not after j.
    """

    rows: slice
    first: int
    tables: np.ndarray


class Slabs:
    """Slabs of all findings, for some selections of groups of rows.

    Parameters
    ----------
    source : AbsenceCounts
    selections : sequence of tuple of int
    """

    def __init__(self, source: _AbsenceCounts, selections: Sequence[Groups]) -> None:
        self._source, self._count = source, source.counter()
        self._member = np.array([np.isin(np.arange(len(source.n_rows)), groups) for groups in selections])
        # Rows without both of a pair, and log P_ij - (log P_i + log P_j) / 2: three of these, less log P_ijl, are PMI3.
        present, total = source.present, source.n_rows[:, None, None]
        self._present = present.astype(np.float64)
        self._absent = (total - present[:, :, None] - present[:, None] + source.together).astype(np.float64)
        logs = [source.logs(groups) for groups in selections]
        self._pair = np.array([log.pair - (log.single[:, None] + log.single) / 2 for log in logs])

    def tiles(self, i: int) -> Iterator[Tile]:
        """Yield tiles of PMI3 of finding i with findings j > i, and findings l > j."""
        source, n = self._source, self._source.n_features
        counts = self._count(i, i + 1, n, i + 1)
        for top in range(i + 1, n, _TILE_ROWS):
            end = min(top + _TILE_ROWS, n)
            tables = np.empty((len(self._member), end - top, n - top))
            single_counts = source.n_rows, self._present, self._absent
            _fill_pmi(counts, *single_counts, self._member, self._pair, i, top, tables)
            yield Tile(slice(top, end), top, tables)


class SplitSums:
    """Sums of PMI3_jl f_j (x) f_l over the findings j and l in the two sets of a partition that finding i is not in.

    Parameters
    ----------
    factor : ndarray of shape (n, d)
        Rows f.
    sides : ndarray of int, shape (n_partitions, n)
        The set of each finding, 0, 1 or 2, or -1.
    i : int
    """

    def __init__(self, factor: np.ndarray, sides: np.ndarray, i: int) -> None:
        set_of_i = sides[:, i, None]
        next_factor, last_factor = (
            factor * ((sides == (set_of_i + k) % 3) & (set_of_i >= 0))[..., None] for k in (1, 2)
        )
        self._row_factors = np.stack([next_factor, last_factor], axis=1)  # (n_partitions, 2, n, d)
        self._column_factors = (
            np.stack([last_factor, next_factor], axis=1).transpose(2, 0, 1, 3).reshape(len(factor), -1)
        )

    def sum_tile(self, table: np.ndarray, rows: slice, first: int) -> np.ndarray:
        """Return the contribution of a tile's table of one selection, (n_partitions, d, d)."""
        factor = self._row_factors[:, :, rows]
        images = (table @ self._column_factors[first:]).reshape(len(table), *factor.shape[:2], factor.shape[3])
        return np.asarray((factor.swapaxes(2, 3) @ images.transpose(1, 2, 0, 3)).sum(axis=1))


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def _fill_pmi(counts, n_rows, present, absent, member, pair, i, top, tables):
    """Fill tables, (S, rows from top on, findings from top on), from the groups' counts of finding i with later ones."""
    n_groups, size = counts.shape[0], tables.shape[2]
    absent_counts, selected = np.zeros((n_groups, size)), np.empty(size)
    for row in range(tables.shape[1]):
        j = top + row
        begin, after = row + 1, j + 1
        for g in range(n_groups):  # by inclusion and exclusion
            base = absent[g, i, j] + present[g, i] + present[g, j] - 2 * n_rows[g]
            triple_counts = counts[g, j - i - 1, j - i :]
            _count_absent(
                base, absent[g, i, after:], absent[g, j, after:], present[g, after:], triple_counts, absent_counts[g]
            )
        for s in range(len(member)):
            selected[:], total = ADDED_COUNT, ADDED_COUNT
            for g in range(n_groups):
                if member[s, g]:
                    total += n_rows[g]
                    selected += absent_counts[g]
            tables[s, row, :begin] = 0.0
            _fill_row(
                pair[s, i, j],
                pair[s, i, after:],
                pair[s, j, after:],
                selected,
                1 / total,
                tables[s, row, begin:],
            )


@njit(nogil=True)
def _count_absent(base, absent_i, absent_j, present, triple_counts, out):
    for c in range(len(absent_i)):
        out[c] = base + absent_i[c] + absent_j[c] + present[c] - triple_counts[c]


@njit(nogil=True, fastmath={"contract"}, error_model="numpy")
def _fill_row(base, pair_i, pair_j, absent_counts, scale, out):
    for c in range(len(out)):
        out[c] = base + pair_i[c] + pair_j[c] - _log(absent_counts[c] * scale)


@intrinsic
def _float_to_bits(context: Any, number: Any) -> Any:
    """Return the bits of a float64 as uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), emit


@intrinsic
def _bits_to_float(context: Any, bits: Any) -> Any:
    """Return the float64 with the bits of an uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.uint64), emit


@njit(nogil=True, fastmath={"contract"}, error_model="numpy", inline="always")
def _log(x):
    """Return the natural logarithm of a positive normal number, without branches, so that it can be vectorised.

    x = 2^e m with m in [sqrt(1/2), sqrt(2)) and log m = 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1); s^23 is below rounding.
    """
    shifted = _float_to_bits(x) + _SHIFT
    exponent = _bits_to_float((shifted >> np.uint64(52)) | _INTEGER_OFFSET_BITS) - _INTEGER_OFFSET
    m = _bits_to_float((shifted & _FRACTION) + _ROOT_HALF)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = ((((z * (1 / 21) + 1 / 19) * z + 1 / 17) * z + 1 / 15) * z + 1 / 13) * z + 1 / 11
    series = ((((series * z + 1 / 9) * z + 1 / 7) * z + 1 / 5) * z + 1 / 3) * z
    return exponent * _LOG_2 + (2 * s + 2 * s * series)
