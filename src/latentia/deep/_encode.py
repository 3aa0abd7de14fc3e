"""Encoder: a unit is on where enough of its members are on, and enough of those that no other unit explains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..system.threads import run_in_chunks
from ._statistics import BinaryRows, enlarge, put_in_order

MIN_SHARE_ON = 0.6  # share of a unit's members that must be on for the unit to be on
_CHUNK_ROWS = 2048


def compute_thresholds(members: sparse.csr_array) -> np.ndarray:
    """Return how many members must be on for each unit to be on, shape (n_units,)."""
    sizes = np.diff(members.indptr)
    return np.maximum(np.ceil(MIN_SHARE_ON * sizes - 1e-9), 1).astype(np.int32)


def encode(
    firings: BinaryRows, members: sparse.csr_array, n_jobs: int | None = None, *, explain_away: bool = True
) -> BinaryRows:
    """Decide which units are on in each row.

    Parameters
    ----------
    firings : BinaryRows
        Rows of the layer below.
    members : csr_array of shape (n_units, n_columns)
        Entries are the positive edges.
    n_jobs : int, optional
    explain_away : bool
        Whether to remove units whose members are on mostly because of other units. The unit with the smallest share of active
        members among those that no other active unit has goes first, until every unit has a share of at least half. Without
        it the encoder is that of Algorithm 6.4.
    """
    owners, needed = sparse.csr_array(members.T), compute_thresholds(members)
    signs, rows = np.ones(owners.nnz, np.int32), (firings.indptr, firings.indices)
    edges = _edges(owners)

    def kernel(start: int, stop: int) -> Any:
        sizes, units = _reach(*rows, *edges, signs, needed, start, stop)
        if explain_away:
            units = units[
                : _explain_away(*rows, members.indptr, members.indices, firings.n_columns, start, stop, sizes, units)
            ]
        return sizes, units

    return _map_rows(firings, kernel, members.shape[0], n_jobs)


def decode(hidden: BinaryRows, layer: sparse.csr_array, n_jobs: int | None = None) -> BinaryRows:
    """Return, for each row, the columns whose edges to active units have a positive sum."""
    signs, needed = layer.data.astype(np.int32), np.ones(layer.shape[1], np.int32)
    edges = _edges(layer)
    return _map_rows(
        hidden, lambda start, stop: _reach(hidden.indptr, hidden.indices, *edges, signs, needed, start, stop),
        layer.shape[1], n_jobs,
    )  # fmt: skip


def _edges(layer: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of the edges as int32, so that kernels are compiled once."""
    return layer.indptr.astype(np.int32, copy=False), layer.indices.astype(np.int32, copy=False)


def select_unexplained(
    firings: BinaryRows, hidden: BinaryRows, members: sparse.csr_array, n_jobs: int | None = None
) -> BinaryRows:
    """Return the columns that are on in a row although none of their units is."""
    return _map_rows(
        firings,
        lambda start, stop: _select_unexplained(
            firings.indptr, firings.indices, hidden.indptr, hidden.indices, members.indptr, members.indices,
            firings.n_columns, start, stop,
        ),
        firings.n_columns, n_jobs,
    )  # fmt: skip


def subtract(rows: BinaryRows, excluded: BinaryRows, n_jobs: int | None = None) -> BinaryRows:
    """Return the entries of ``rows`` that are not in ``excluded``."""
    return _map_rows(
        rows, lambda start, stop: _subtract(rows.indptr, rows.indices, excluded.indptr, excluded.indices, start, stop),
        rows.n_columns, n_jobs,
    )  # fmt: skip


def _map_rows(rows: BinaryRows, kernel: Any, n_columns: int, n_jobs: int | None) -> BinaryRows:
    """Run a kernel on chunks of rows; it returns the number of columns that are on in each row, and these columns."""
    results: list[Any] = [None] * -(-rows.n_rows // _CHUNK_ROWS)

    def task(start: int, stop: int) -> None:
        results[start // _CHUNK_ROWS] = kernel(start, stop)

    run_in_chunks(task, rows.n_rows, _CHUNK_ROWS, n_jobs)
    sizes = np.concatenate([np.empty(0, np.int64), *(result[0] for result in results)])
    indices = np.concatenate([np.empty(0, np.int32), *(result[1] for result in results)])
    return BinaryRows(n_columns, np.append(0, np.cumsum(sizes)), indices)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _reach(indptr, indices, edge_starts, targets, signs, needed, start, stop):
    """Return, for each row, how many targets have signed edges from active columns that reach ``needed``, and which."""
    # A literal 0 would compile another version of the kernels that are called with the number.
    n_targets, n_reached = len(needed), np.int64(0)
    sizes, reached = np.zeros(stop - start, np.int64), np.empty(1024, np.int32)
    sums, touched = np.zeros(n_targets, np.int32), np.empty(n_targets, np.int32)
    is_touched = np.zeros(n_targets, np.bool_)
    for row in range(start, stop):
        n_touched, first = 0, n_reached
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(edge_starts[indices[i]], edge_starts[indices[i] + 1]):
                target = targets[j]
                if not is_touched[target]:
                    is_touched[target] = True
                    touched[n_touched] = target
                    n_touched += 1
                sums[target] += signs[j]
        while n_reached + n_touched > len(reached):
            reached = enlarge(reached)
        for i in range(n_touched):
            target = touched[i]
            if sums[target] >= needed[target]:
                reached[n_reached] = target
                n_reached += 1
            sums[target], is_touched[target] = 0, False
        put_in_order(reached, first, n_reached)
        sizes[row - start] = n_reached - first
    return sizes, reached[:n_reached].copy()


@njit(nogil=True, cache=True)
def _explain_away(indptr, indices, member_starts, members, n_columns, start, stop, sizes, all_units):
    """Remove from rows, in place, units that are on only because of others; return how many remain in all."""
    covered, is_on = np.zeros(n_columns, np.int32), np.zeros(n_columns, np.bool_)
    first, n_kept = 0, 0
    for row in range(start, stop):
        units = all_units[first : first + sizes[row - start]]
        first += len(units)
        n = len(units)
        if n > 1:
            for i in range(indptr[row], indptr[row + 1]):
                is_on[indices[i]] = True
            n = _explain_row_away(units, member_starts, members, covered, is_on)
            for i in range(indptr[row], indptr[row + 1]):
                is_on[indices[i]] = False
        for i in range(n):
            all_units[n_kept + i] = units[i]
        sizes[row - start] = n
        n_kept += n
    return n_kept


@njit(nogil=True, cache=True)
def _explain_row_away(units, member_starts, members, covered, is_on):
    """Remove units from a row, in place; return how many remain. ``covered`` is zero before and after."""
    n = len(units)
    for i in range(n):
        for j in range(member_starts[units[i]], member_starts[units[i] + 1]):
            covered[members[j]] += 1
    while n > 1:
        worst, least_share = -1, 0.5
        for i in range(n):
            n_exclusive, n_exclusive_on = 0, 0
            for j in range(member_starts[units[i]], member_starts[units[i] + 1]):
                if covered[members[j]] == 1:
                    n_exclusive += 1
                    n_exclusive_on += is_on[members[j]]
            share = n_exclusive_on / n_exclusive if n_exclusive else 0.0
            if share < least_share:
                worst, least_share = i, share
        if worst < 0:
            break
        for j in range(member_starts[units[worst]], member_starts[units[worst] + 1]):
            covered[members[j]] -= 1
        for i in range(worst, n - 1):
            units[i] = units[i + 1]
        n -= 1
    for i in range(n):
        for j in range(member_starts[units[i]], member_starts[units[i] + 1]):
            covered[members[j]] = 0
    return n


@njit(nogil=True, cache=True)
def _select_unexplained(indptr, indices, hidden_starts, hidden, layer_starts, columns, n_columns, start, stop):
    sizes, n_result = np.zeros(stop - start, np.int64), 0
    result = np.empty(indptr[stop] - indptr[start], np.int32)
    last = np.empty(n_columns, np.int64)
    for column in range(n_columns):
        last[column] = -1
    for row in range(start, stop):
        for i in range(hidden_starts[row], hidden_starts[row + 1]):
            for j in range(layer_starts[hidden[i]], layer_starts[hidden[i] + 1]):
                last[columns[j]] = row
        first = n_result
        for i in range(indptr[row], indptr[row + 1]):
            if last[indices[i]] != row:
                result[n_result] = indices[i]
                n_result += 1
        sizes[row - start] = n_result - first
    return sizes, result[:n_result].copy()


@njit(nogil=True, cache=True)
def _subtract(indptr, indices, excluded_starts, excluded, start, stop):
    sizes, n_result = np.zeros(stop - start, np.int64), 0
    result = np.empty(indptr[stop] - indptr[start], np.int32)
    for row in range(start, stop):
        first, j = n_result, excluded_starts[row]
        for i in range(indptr[row], indptr[row + 1]):
            while j < excluded_starts[row + 1] and excluded[j] < indices[i]:
                j += 1
            if j == excluded_starts[row + 1] or excluded[j] != indices[i]:
                result[n_result] = indices[i]
                n_result += 1
        sizes[row - start] = n_result - first
    return sizes, result[:n_result].copy()
