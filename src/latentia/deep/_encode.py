"""The encoder: a unit is on where enough of its members are, also of those that no other unit explains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from ..system.threads import run_in_chunks
from ._statistics import BinaryRows, doubled, put_in_order

SHARE_ON = 0.6  # of a unit's members that are on where it is
_ROWS = 2048


def thresholds(members: sparse.csr_array) -> np.ndarray:
    """Members that must be on for each unit to be on, shape (n_units,)."""
    sizes = np.diff(members.indptr)
    return np.maximum(np.ceil(SHARE_ON * sizes - 1e-9), 1).astype(np.int32)


def encode(
    firings: BinaryRows, members: sparse.csr_array, n_jobs: int | None = None, *, explain_away: bool = True
) -> BinaryRows:
    """Units that are on in each row.

    Parameters
    ----------
    firings : BinaryRows
        Of the layer below.
    members : csr_array of shape (n_units, n_columns)
        Entries are the positive edges.
    n_jobs : int, optional
    explain_away : bool
        Whether units that have 60% of their members only thanks to other units are taken out: the one first of whose members
        without another unit that is on the fewest are on, until at least half of these are for every unit. Without it the
        encoder is that of Algorithm 6.4.
    """
    owners, needed = sparse.csr_array(members.T), thresholds(members)
    signs, rows = np.ones(owners.nnz, np.int32), (firings.indptr, firings.indices)
    edges = _edges(owners)

    def kernel(start: int, stop: int) -> Any:
        sizes, units = _reached(*rows, *edges, signs, needed, start, stop)
        if explain_away:
            units = units[
                : _explain_away(*rows, members.indptr, members.indices, firings.n_columns, start, stop, sizes, units)
            ]
        return sizes, units

    return _rowwise(firings, kernel, members.shape[0], n_jobs)


def decode(hidden: BinaryRows, layer: sparse.csr_array, n_jobs: int | None = None) -> BinaryRows:
    """Columns whose edges to units that are on sum to more than 0, in each row."""
    signs, needed = layer.data.astype(np.int32), np.ones(layer.shape[1], np.int32)
    edges = _edges(layer)
    return _rowwise(
        hidden, lambda a, b: _reached(hidden.indptr, hidden.indices, *edges, signs, needed, a, b),
        layer.shape[1], n_jobs,
    )  # fmt: skip


def _edges(layer: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Its starts and ends, of one type: a kernel is compiled for each."""
    return layer.indptr.astype(np.int32, copy=False), layer.indices.astype(np.int32, copy=False)


def unexplained(
    firings: BinaryRows, hidden: BinaryRows, members: sparse.csr_array, n_jobs: int | None = None
) -> BinaryRows:
    """Columns that are on in a row where no unit of theirs is."""
    return _rowwise(
        firings,
        lambda a, b: _unexplained(
            firings.indptr, firings.indices, hidden.indptr, hidden.indices, members.indptr, members.indices,
            firings.n_columns, a, b,
        ),
        firings.n_columns, n_jobs,
    )  # fmt: skip


def difference(rows: BinaryRows, others: BinaryRows, n_jobs: int | None = None) -> BinaryRows:
    """What is on in rows and not in others."""
    return _rowwise(
        rows, lambda a, b: _difference(rows.indptr, rows.indices, others.indptr, others.indices, a, b),
        rows.n_columns, n_jobs,
    )  # fmt: skip


def _rowwise(rows: BinaryRows, kernel: Any, n_columns: int, n_jobs: int | None) -> BinaryRows:
    """What a kernel says of stretches of rows: numbers of columns on, and which."""
    found: list[Any] = [None] * -(-rows.n_rows // _ROWS)

    def task(start: int, stop: int) -> None:
        found[start // _ROWS] = kernel(start, stop)

    run_in_chunks(task, rows.n_rows, _ROWS, n_jobs)
    sizes = np.concatenate([np.empty(0, np.int64), *(one[0] for one in found)])
    indices = np.concatenate([np.empty(0, np.int32), *(one[1] for one in found)])
    return BinaryRows(n_columns, np.append(0, np.cumsum(sizes)), indices)


# --- kernels --------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _reached(indptr, indices, edge_starts, ends, signs, needed, start, stop):
    """In each row the ends to which edges from what is on, with their signs, sum to what is needed: how many, and which."""
    n_ends, n_found = len(needed), np.int64(0)  # a literal 0 would make another version of what it is given to
    sizes, found = np.zeros(stop - start, np.int64), np.empty(1024, np.int32)
    sums, touched, seen = np.zeros(n_ends, np.int32), np.empty(n_ends, np.int32), np.zeros(n_ends, np.bool_)
    for row in range(start, stop):
        n_touched, first = 0, n_found
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(edge_starts[indices[i]], edge_starts[indices[i] + 1]):
                end = ends[j]
                if not seen[end]:
                    seen[end] = True
                    touched[n_touched] = end
                    n_touched += 1
                sums[end] += signs[j]
        while n_found + n_touched > len(found):
            found = doubled(found)
        for i in range(n_touched):
            end = touched[i]
            if sums[end] >= needed[end]:
                found[n_found] = end
                n_found += 1
            sums[end], seen[end] = 0, False
        put_in_order(found, first, n_found)
        sizes[row - start] = n_found - first
    return sizes, found[:n_found].copy()


@njit(nogil=True, cache=True)
def _explain_away(indptr, indices, member_starts, members, n_columns, start, stop, sizes, found):
    """Take out of rows, in place, the units that are on only thanks to others; how many are left in all."""
    covered, is_on = np.zeros(n_columns, np.int32), np.zeros(n_columns, np.bool_)
    first, n_kept = 0, 0
    for row in range(start, stop):
        units = found[first : first + sizes[row - start]]
        first += len(units)
        n = len(units)
        if n > 1:
            for i in range(indptr[row], indptr[row + 1]):
                is_on[indices[i]] = True
            n = _explained_away(units, member_starts, members, covered, is_on)
            for i in range(indptr[row], indptr[row + 1]):
                is_on[indices[i]] = False
        for i in range(n):
            found[n_kept + i] = units[i]
        sizes[row - start] = n
        n_kept += n
    return n_kept


@njit(nogil=True, cache=True)
def _explained_away(units, member_starts, members, covered, is_on):
    """Take units out of a row, in place; returns how many stay. ``covered`` has zeros, and has them again afterwards."""
    n = len(units)
    for i in range(n):
        for j in range(member_starts[units[i]], member_starts[units[i] + 1]):
            covered[members[j]] += 1
    while n > 1:
        worst, least = -1, 0.5
        for i in range(n):
            alone, on = 0, 0
            for j in range(member_starts[units[i]], member_starts[units[i] + 1]):
                if covered[members[j]] == 1:
                    alone += 1
                    on += is_on[members[j]]
            share = on / alone if alone else 0.0
            if share < least:
                worst, least = i, share
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
def _unexplained(indptr, indices, hidden_starts, hidden, layer_starts, columns, n_columns, start, stop):
    sizes, n_found = np.zeros(stop - start, np.int64), 0
    found = np.empty(indptr[stop] - indptr[start], np.int32)
    last = np.empty(n_columns, np.int64)
    for column in range(n_columns):
        last[column] = -1
    for row in range(start, stop):
        for i in range(hidden_starts[row], hidden_starts[row + 1]):
            for j in range(layer_starts[hidden[i]], layer_starts[hidden[i] + 1]):
                last[columns[j]] = row
        first = n_found
        for i in range(indptr[row], indptr[row + 1]):
            if last[indices[i]] != row:
                found[n_found] = indices[i]
                n_found += 1
        sizes[row - start] = n_found - first
    return sizes, found[:n_found].copy()


@njit(nogil=True, cache=True)
def _difference(indptr, indices, other_starts, others, start, stop):
    sizes, n_found = np.zeros(stop - start, np.int64), 0
    found = np.empty(indptr[stop] - indptr[start], np.int32)
    for row in range(start, stop):
        first, j = n_found, other_starts[row]
        for i in range(indptr[row], indptr[row + 1]):
            while j < other_starts[row + 1] and others[j] < indices[i]:
                j += 1
            if j == other_starts[row + 1] or others[j] != indices[i]:
                found[n_found] = indices[i]
                n_found += 1
        sizes[row - start] = n_found - first
    return sizes, found[:n_found].copy()
