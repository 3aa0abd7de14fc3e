"""Descent of the Kullback-Leibler divergence of counts from products of nonnegative factors, on stored counts alone.

With p = A W, the divergence D = sum x log(x / p) - x + p is convex in one entry w of a factor: D' = s - a(w) with a(w) =
sum x h / p, h what multiplies w, and s the sum of all h. As 1 / a is concave in w, Newton's step for 1 / a = 1 / s,

    w + (a / b) (a / s - 1),    b = sum x h^2 / p^2,

never goes too far where w has to grow. Where it has to shrink, and the step leads below zero, w is zero if a(0) <= s, where
zero is the minimum; otherwise the multiplicative update w a / s is made, which never goes too far. Zero counts only enter s.

A sweep takes each entry of a row of a factor once. Rows do not depend on each other.

Cells that are missing are in no sum: the s of a row is then that of the others. A sparse table stores them as NaN.

Source: C.-J. Hsieh, I. S. Dhillon, Fast coordinate descent methods with variable selection for nonnegative matrix
factorization, KDD 2011; L. T. K. Hien, N. Gillis, Algorithms for nonnegative matrix factorization with the Kullback-Leibler
divergence, J. Sci. Comput. 87 (2021). Both take Newton's step for a = s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from scipy.special import gammaln, xlogy

from ..exceptions import LatentiaError
from ..moments.counts import Counts, as_counts
from ..simplex import farthest_vertices, simplex_least_squares
from ..system.threads import run_in_chunks
from ._points import leading_triplets

_ROWS = 64  # that a thread takes at a time
_SOFT = 0.1  # share of a start in components; the others are the mean row, which leaves more to the counts
_ALONE = 1e-12  # of p, below which nothing else explains a count
_TINY, _SMALLEST = 1e-150, 1e-300
_MOST_SWEEPS, _STILL = 200, 1e-6  # of a row alone, and the share of it that a sweep moves at its end
_CALM = 3  # iterations in a row whose gain is negligible


class Gaps(NamedTuple):
    """Cells that are missing: ``indices[indptr[i]:indptr[i + 1]]`` are the columns of those of row i."""

    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def none(cls, n: int) -> Gaps:
        """No cell of n rows."""
        return cls(np.zeros(n + 1, np.int64), np.empty(0, np.int32))

    def sums(self, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Sums of A W over the missing cells of each row, shape (n,)."""
        if not len(self.indices):
            return np.zeros(len(weights))
        at = np.repeat(np.arange(len(weights)), np.diff(self.indptr))
        expected = sum(one[at] * other[self.indices] for one, other in zip(weights.T, columns.T, strict=True))
        return np.bincount(at, expected, len(weights))


def counts_and_gaps(table: Any) -> tuple[Counts, Gaps]:
    """Split a table of shape (n, d), dense or sparse, into its counts and its missing cells, which are NaN."""
    counts = as_counts(table)
    missing = np.isnan(counts.data)
    if not missing.any():
        return counts, Gaps.none(len(counts.indptr) - 1)
    at = np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))
    ends = np.append(0, np.cumsum(np.bincount(at[missing], minlength=len(counts.indptr) - 1)))
    observed = Counts(counts.indptr - ends, counts.indices[~missing], counts.data[~missing])
    return observed, Gaps(ends, counts.indices[missing])


@dataclass(frozen=True)
class Table:
    """Counts by rows and by columns.

    Attributes
    ----------
    rows, columns : Counts
    row_gaps, column_gaps : Gaps
    shape : (int, int)
    of_counts, log_factorials : float
        Sums of x log x - x, and of log x!: what does not depend on p in the divergence, and in minus the log-likelihood.
    """

    rows: Counts
    columns: Counts
    row_gaps: Gaps
    column_gaps: Gaps
    shape: tuple[int, int]
    of_counts: float
    log_factorials: float

    @classmethod
    def of(cls, table: Any) -> Table:
        """Of a csr_array; its NaN are missing cells."""
        (rows, row_gaps), (columns, column_gaps) = counts_and_gaps(table), counts_and_gaps(table.T.tocsr())
        own = float((xlogy(rows.data, rows.data) - rows.data).sum())
        return cls(rows, columns, row_gaps, column_gaps, table.shape, own, float(gammaln(rows.data + 1).sum()))

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return len(self.row_gaps.indices)

    @property
    def csr(self) -> sparse.csr_array:
        """The counts as a matrix, zero where they are missing."""
        return sparse.csr_array((self.rows.data, self.rows.indices, self.rows.indptr), shape=self.shape)

    def with_gaps(self) -> sparse.csr_array:
        """The counts as a matrix, NaN where they are missing."""
        if not self.n_missing:
            return self.csr
        gaps = self.row_gaps
        missing = sparse.csr_array((np.full(self.n_missing, np.nan), gaps.indices, gaps.indptr), shape=self.shape)
        return sparse.csr_array(self.csr + missing)

    def filled(self) -> sparse.csr_array:
        """The counts with those that independent rows and columns have in the place of missing ones: a place to start from."""
        if not self.n_missing:
            return self.csr
        one = factored(self, self.csr.sum(axis=0)[:, None], _MOST_SWEEPS, _STILL)
        at, columns = np.repeat(np.arange(self.shape[0]), np.diff(self.row_gaps.indptr)), self.row_gaps.indices
        means = one.weights[at, 0] * one.columns[columns, 0]
        return sparse.csr_array(self.csr + sparse.csr_array((means, (at, columns)), shape=self.shape))


@dataclass(frozen=True)
class Factors:
    """A W near a table.

    Attributes
    ----------
    weights, columns : ndarrays of shape (n, r), (d, r)
        A, and W transposed.
    divergence : ndarray of shape (n_iterations,)
        After each.
    converged : bool
    """

    weights: np.ndarray
    columns: np.ndarray
    divergence: np.ndarray
    converged: bool


def factored(table: Table, columns: np.ndarray, most: int, tol: float, n_jobs: int | None = None) -> Factors:
    """Sweeps over both factors in turn, until three in a row each gain less than ``tol`` of the divergence.

    Parameters
    ----------
    table : Table
    columns : ndarray of shape (d, r)
        W to start from, transposed.
    """
    columns = np.array(columns, dtype=np.float64, order="C")
    weights = _even(table.rows, columns)
    divergence: list[float] = []
    while len(divergence) < most and not _settled(divergence, tol):
        swept(table.rows, columns, weights, 1, n_jobs, table.row_gaps)
        logs = swept(table.columns, weights, columns, 1, n_jobs, table.column_gaps)
        expected = float(weights.sum(axis=0) @ columns.sum(axis=0)) - float(table.row_gaps.sums(weights, columns).sum())
        divergence.append(table.of_counts - float(logs.sum()) + expected)
    return Factors(weights, columns, np.array(divergence), _settled(divergence, tol))


def loadings(
    counts: Counts, components: np.ndarray, n_jobs: int | None = None, gaps: Gaps | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of rows on components of shape (r, d), and sum x log p of each row; words that no component has are left out."""
    columns = np.ascontiguousarray(components.T)
    weights = _even(counts, columns)
    return weights, swept(counts, columns, weights, _MOST_SWEEPS, n_jobs, gaps)


def swept(
    counts: Counts, other: np.ndarray, own: np.ndarray, most: int, n_jobs: int | None = None, gaps: Gaps | None = None
) -> np.ndarray:
    """Change one factor, shape (n, r), in place, the other one being (d, r); returns sum x log p of each row."""
    n, sums, logs = len(own), other.sum(axis=0), np.zeros(len(own))
    gaps = Gaps.none(n) if gaps is None else gaps
    run_in_chunks(lambda a, b: _sweep(*counts, *gaps, a, b, other, sums, own, most, _STILL, logs), n, _ROWS, n_jobs)
    return logs


def start(table: Table, r: int, seed: int) -> np.ndarray:
    """Components to start from, shape (d, r): what the rows nearest to r rows far apart count, mixed with the mean row.

    Distances are those of correspondence analysis, of rows over their sums with columns weighed by their inverse sums, in r
    dimensions: near the mean row the divergence is half of their square. Vertices are looked for among rows of at least the
    median sum, which have the least noise.
    """
    counts = table.filled()
    in_rows, in_columns = counts.sum(axis=1), counts.sum(axis=0)
    n, d = np.count_nonzero(in_rows), np.count_nonzero(in_columns)
    if r > min(n, d):
        raise LatentiaError(
            f"a table of {n} rows and {d} features with counts supports at most {min(n, d)} components.",
            at_most=int(min(n, d)), parameter="n_components", value=r,
        )  # fmt: skip
    scales = [1 / np.sqrt(np.where(sums > 0, sums, 1.0)) for sums in (in_rows, in_columns)]
    scaled = sparse.csr_array(sparse.diags_array(scales[0]) @ counts @ sparse.diags_array(scales[1]))
    left, sizes, _ = leading_triplets(scaled, r, seed, n_passes=2)
    places = left * sizes * scales[0][:, None]
    long = np.flatnonzero(in_rows >= np.median(in_rows[in_rows > 0]))
    found = np.empty(0, dtype=np.int64)
    for among in (long, np.flatnonzero(in_rows > 0)):
        if len(found) < r:
            found = among[farthest_vertices(places[among], r)[0]]
    if len(found) < r:
        raise LatentiaError(
            f"the rows have rank {len(found)}, which supports at most {len(found)} components: they are a sum of no more.",
            at_most=len(found), parameter="n_components", value=r,
        )  # fmt: skip
    components = np.asarray(counts.T @ simplex_least_squares(places, places[found]))
    components /= np.maximum(components.sum(axis=0), _TINY)
    return _SOFT * components + (1 - _SOFT) * (in_columns / in_columns.sum())[:, None]


def divergence_of(counts: Counts, logs: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """D of each row, from its sum x log p and sum p, shape (n,)."""
    return row_sums(counts, xlogy(counts.data, counts.data) - counts.data) - logs + expected


def divergence_of_one(table: Table) -> float:
    """D from the mean row, scaled to the counts of each row."""
    if table.n_missing:
        return float(factored(table, table.csr.sum(axis=0)[:, None], _MOST_SWEEPS, _STILL).divergence[-1])
    in_rows, in_columns = row_sums(table.rows, table.rows.data), row_sums(table.columns, table.columns.data)
    return float(_entropy(table.rows.data) - _entropy(in_rows) - _entropy(in_columns) + _entropy(in_rows.sum()))


def _entropy(counts: Any) -> float:
    return float((counts * np.log(np.maximum(counts, _SMALLEST))).sum())


def row_sums(counts: Counts, values: np.ndarray) -> np.ndarray:
    """Sums of values of the stored counts by row, shape (n,)."""
    sums = np.add.reduceat(np.append(values, 0.0), counts.indptr[:-1])
    sums[np.diff(counts.indptr) == 0] = 0.0
    return np.asarray(sums)


def _even(counts: Counts, columns: np.ndarray) -> np.ndarray:
    """Weights of rows that have the same of each component, shape (n, r)."""
    return np.repeat(row_sums(counts, counts.data)[:, None], columns.shape[1], axis=1) / max(
        float(columns.sum()), _TINY
    )


def _settled(divergence: list[float], tol: float) -> bool:
    recent = np.array(divergence[-_CALM - 1 :])
    return len(recent) > _CALM and bool((np.abs(np.diff(recent)) <= tol * np.abs(recent[1:])).all())


# Sums may be reordered, which lets them use vector registers; the order is fixed when this is compiled, so long as no loop both
# sums and stores: such loops are compiled twice, and where arrays lie in memory says which one runs.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _slopes(x, inverse, h, n):
    """a and b."""
    a, b = 0.0, 0.0
    for e in range(n):
        r = h[e] * inverse[e]
        a += x[e] * r
        b += x[e] * r * r
    return a, b


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _slope_at_zero(x, p, h, w, n):
    """a(0); infinite where nothing else explains a count."""
    a = 0.0
    for e in range(n):
        rest = p[e] - w * h[e]
        a += x[e] * h[e] / rest if rest > _ALONE * p[e] else (np.inf if h[e] > 0.0 else 0.0)
    return a


@njit(nogil=True, cache=True, error_model="numpy")
def _move(p, inverse, h, by, n):
    for e in range(n):
        p[e] = max(p[e] + by * h[e], _TINY)
        inverse[e] = 1.0 / p[e]


@njit(nogil=True, cache=True, error_model="numpy")
def _next(w, a, b, s, x, p, h, n):
    """The entry after a step."""
    if w == 0.0 and a <= s:
        return 0.0
    new = w + a / b * (a / s - 1.0) if b > 0.0 else 0.0
    if new > 0.0:
        return new
    return 0.0 if _slope_at_zero(x, p, h, w, n) <= s else w * a / s


@njit(nogil=True, cache=True, error_model="numpy")
def _gathered(indices, data, first, last, other, h, x):
    """What multiplies the entries at the counts of a row, and these, without those that nothing explains; their number."""
    n = 0
    for e in range(first, last):
        row, total = other[indices[e]], 0.0
        for j in range(len(row)):
            h[j, n] = row[j]
            total += row[j]
        if total > 0.0 and data[e] > 0.0:
            x[n] = data[e]
            n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _observed_sums(sums, gap_indices, first, last, other, w, s):
    """Put the sums of h over the cells of a row that are there into ``s``; what has none of them gets no weight."""
    s[:] = sums
    for e in range(first, last):
        s -= other[gap_indices[e]]
    for j in range(len(s)):
        if first < last and s[j] <= _ALONE * sums[j]:
            s[j], w[j] = 0.0, 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _sweep(indptr, indices, data, gap_indptr, gap_indices, first, last, other, sums, own, most, still, logs):
    """Sweeps of rows first to last of ``own``, at most so many, until one moves next to nothing."""
    longest, r = 0, other.shape[1]
    s = np.empty(r)
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    h, x = np.empty((r, longest + 1)), np.empty(longest + 1)
    p, inverse = np.empty(longest + 1), np.empty(longest + 1)
    for i in range(first, last):
        w = own[i]
        _observed_sums(sums, gap_indices, gap_indptr[i], gap_indptr[i + 1], other, w, s)
        n = _gathered(indices, data, indptr[i], indptr[i + 1], other, h, x)
        p[:n] = 0.0
        for j in range(r):
            _move(p, inverse, h[j], w[j], n)
        for _ in range(most):
            moved, size = 0.0, 0.0
            for j in range(r):
                if s[j] <= 0.0:
                    continue
                a, b = _slopes(x, inverse, h[j], n)
                new = _next(w[j], a, b, s[j], x, p, h[j], n)
                if new != w[j]:
                    moved += abs(new - w[j])
                    _move(p, inverse, h[j], new - w[j], n)
                    w[j] = new
                size += new
            if moved <= still * size:
                break
        total = 0.0
        for e in range(n):
            total += x[e] * np.log(p[e])
        logs[i] = total
