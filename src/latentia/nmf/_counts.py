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
from ._points import compute_leading_triplets

_ROWS_PER_TASK = 64  # rows that a thread takes at a time
_COMPONENT_SHARE = 0.1  # share of the chosen rows in a start; the rest is the mean row: soft starts end lower
_MIN_SHARE = 1e-12  # share of p that other components must have; below it, one component alone explains a count
_TINY, _SMALLEST = 1e-150, 1e-300
_MAX_SWEEPS, _MIN_MOVE = 200, 1e-6  # sweeps of a single row; they end when one moves less than this share of it
_CALM_SWEEPS = 3  # consecutive sweeps with a negligible gain that end a fit


class Gaps(NamedTuple):
    """Missing cells: ``indices[indptr[i]:indptr[i + 1]]`` are their columns in row i."""

    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def empty(cls, n: int) -> Gaps:
        """Return gaps for n rows without a missing cell."""
        return cls(np.zeros(n + 1, np.int64), np.empty(0, np.int32))

    def sums(self, fit_weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return the sums of A W over the missing cells of each row, shape (n,)."""
        if not len(self.indices):
            return np.zeros(len(fit_weights))
        rows = np.repeat(np.arange(len(fit_weights)), np.diff(self.indptr))
        expected = sum(
            weight[rows] * entries[self.indices] for weight, entries in zip(fit_weights.T, factor.T, strict=True)
        )
        return np.bincount(rows, expected, len(fit_weights))


def split_gaps(table: Any) -> tuple[Counts, Gaps]:
    """Split a table of shape (n, d), dense or sparse, into its counts and its missing cells, which are NaN."""
    counts = as_counts(table)
    missing = np.isnan(counts.data)
    if not missing.any():
        return counts, Gaps.empty(len(counts.indptr) - 1)
    rows = np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))
    row_ends = np.append(0, np.cumsum(np.bincount(rows[missing], minlength=len(counts.indptr) - 1)))
    observed = Counts(counts.indptr - row_ends, counts.indices[~missing], counts.data[~missing])
    return observed, Gaps(row_ends, counts.indices[missing])


@dataclass(frozen=True)
class Table:
    """Counts by rows and by columns.

    Attributes
    ----------
    rows, columns : Counts
    row_gaps, column_gaps : Gaps
    shape : (int, int)
    entropy_term, log_factorials : float
        Sums of x log x - x and of log x!: the constant terms of the divergence and of minus the log-likelihood.
    """

    rows: Counts
    columns: Counts
    row_gaps: Gaps
    column_gaps: Gaps
    shape: tuple[int, int]
    entropy_term: float
    log_factorials: float

    @classmethod
    def from_matrix(cls, table: Any) -> Table:
        """Return the table of a csr_array, whose NaN are missing cells."""
        (rows, row_gaps), (columns, column_gaps) = split_gaps(table), split_gaps(table.T.tocsr())
        sum_of_counts = float((xlogy(rows.data, rows.data) - rows.data).sum())
        return cls(
            rows, columns, row_gaps, column_gaps, table.shape, sum_of_counts, float(gammaln(rows.data + 1).sum())
        )

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return len(self.row_gaps.indices)

    @property
    def csr(self) -> sparse.csr_array:
        """The counts as a matrix, zero where they are missing."""
        return sparse.csr_array((self.rows.data, self.rows.indices, self.rows.indptr), shape=self.shape)

    def to_csr_with_gaps(self) -> sparse.csr_array:
        """Return the counts as a matrix, NaN where they are missing."""
        if not self.n_missing:
            return self.csr
        gaps = self.row_gaps
        missing = sparse.csr_array((np.full(self.n_missing, np.nan), gaps.indices, gaps.indptr), shape=self.shape)
        return sparse.csr_array(self.csr + missing)

    def impute(self) -> sparse.csr_array:
        """Replace missing counts by those of independent rows and columns, for the start of a fit."""
        if not self.n_missing:
            return self.csr
        rank_one = factorize(self, self.csr.sum(axis=0)[:, None], _MAX_SWEEPS, _MIN_MOVE)
        rows, columns = np.repeat(np.arange(self.shape[0]), np.diff(self.row_gaps.indptr)), self.row_gaps.indices
        means = rank_one.weights[rows, 0] * rank_one.columns[columns, 0]
        return sparse.csr_array(self.csr + sparse.csr_array((means, (rows, columns)), shape=self.shape))


@dataclass(frozen=True)
class Factors:
    """Nonnegative factors A, W of a table.

    Attributes
    ----------
    weights, columns : ndarrays of shape (n, r), (d, r)
        A, and W transposed.
    divergence : ndarray of shape (n_iterations,)
        Divergence after each sweep.
    converged : bool
    """

    weights: np.ndarray
    columns: np.ndarray
    divergence: np.ndarray
    converged: bool


def factorize(table: Table, columns: np.ndarray, max_sweeps: int, tol: float, n_jobs: int | None = None) -> Factors:
    """Sweep over both factors in turn, until three sweeps in a row each gain less than ``tol`` of the divergence.

    Parameters
    ----------
    table : Table
    columns : ndarray of shape (d, r)
        Initial W, transposed.
    """
    columns = np.array(columns, dtype=np.float64, order="C")
    weights = _spread_evenly(table.rows, columns)
    divergence: list[float] = []
    while len(divergence) < max_sweeps and not _has_converged(divergence, tol):
        sweep_factor(table.rows, columns, weights, 1, n_jobs, table.row_gaps)
        logs = sweep_factor(table.columns, weights, columns, 1, n_jobs, table.column_gaps)
        expected = float(weights.sum(axis=0) @ columns.sum(axis=0)) - float(table.row_gaps.sums(weights, columns).sum())
        divergence.append(table.entropy_term - float(logs.sum()) + expected)
    return Factors(weights, columns, np.array(divergence), _has_converged(divergence, tol))


def fit_weights(
    counts: Counts, components: np.ndarray, n_jobs: int | None = None, gaps: Gaps | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Fit the weights of rows on components of shape (r, d); return them and sum x log p of each row.

    Columns that no component has are left out.
    """
    columns = np.ascontiguousarray(components.T)
    weights = _spread_evenly(counts, columns)
    return weights, sweep_factor(counts, columns, weights, _MAX_SWEEPS, n_jobs, gaps)


def sweep_factor(
    counts: Counts,
    fixed: np.ndarray,
    factor: np.ndarray,
    max_sweeps: int,
    n_jobs: int | None = None,
    gaps: Gaps | None = None,
) -> np.ndarray:
    """Change one factor, shape (n, r), in place, with the other, shape (d, r), fixed; return sum x log p of each row."""
    n, fixed_sums, logs = len(factor), fixed.sum(axis=0), np.zeros(len(factor))
    gaps = Gaps.empty(n) if gaps is None else gaps

    def sweep_chunk(first: int, last: int) -> None:
        _sweep(*counts, *gaps, first, last, fixed, fixed_sums, factor, max_sweeps, _MIN_MOVE, logs)

    run_in_chunks(sweep_chunk, n, _ROWS_PER_TASK, n_jobs)
    return logs


def choose_start(table: Table, r: int, seed: int) -> np.ndarray:
    """Choose initial components, shape (d, r): counts of the rows around each of r distant rows, and some of the mean row.

    Distances are those of correspondence analysis in r dimensions: rows over their sums, columns weighted by their inverse
    sums. Near the mean row the divergence is half of their square. Vertices are chosen among the rows with at least the median
    sum, which have the least noise.
    """
    counts = table.impute()
    row_totals, column_totals = counts.sum(axis=1), counts.sum(axis=0)
    n, d = np.count_nonzero(row_totals), np.count_nonzero(column_totals)
    if r > min(n, d):
        raise LatentiaError(
            f"a table of {n} rows and {d} features with counts supports at most {min(n, d)} components.",
            at_most=int(min(n, d)), parameter="n_components", value=r,
        )  # fmt: skip
    scales = [1 / np.sqrt(np.where(sums > 0, sums, 1.0)) for sums in (row_totals, column_totals)]
    scaled = sparse.csr_array(sparse.diags_array(scales[0]) @ counts @ sparse.diags_array(scales[1]))
    row_vectors, sizes, _ = compute_leading_triplets(scaled, r, seed, n_passes=2)
    places = row_vectors * sizes * scales[0][:, None]
    frequent_rows = np.flatnonzero(row_totals >= np.median(row_totals[row_totals > 0]))
    vertices = np.empty(0, dtype=np.int64)
    for candidates in (frequent_rows, np.flatnonzero(row_totals > 0)):
        if len(vertices) < r:
            vertices = candidates[farthest_vertices(places[candidates], r)[0]]
    if len(vertices) < r:
        raise LatentiaError(
            f"the rows have rank {len(vertices)}, which supports at most {len(vertices)} components.",
            at_most=len(vertices), parameter="n_components", value=r,
        )  # fmt: skip
    components = np.asarray(counts.T @ simplex_least_squares(places, places[vertices]))
    components /= np.maximum(components.sum(axis=0), _TINY)
    return _COMPONENT_SHARE * components + (1 - _COMPONENT_SHARE) * (column_totals / column_totals.sum())[:, None]


def compute_divergences(counts: Counts, logs: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return D of each row from its sum x log p and its sum p, shape (n,)."""
    return sum_rows(counts, xlogy(counts.data, counts.data) - counts.data) - logs + expected


def compute_mean_row_divergence(table: Table) -> float:
    """Return D of the model in which all rows are multiples of the mean row."""
    if table.n_missing:
        return float(factorize(table, table.csr.sum(axis=0)[:, None], _MAX_SWEEPS, _MIN_MOVE).divergence[-1])
    row_totals, column_totals = sum_rows(table.rows, table.rows.data), sum_rows(table.columns, table.columns.data)
    return float(
        _sum_x_log_x(table.rows.data)
        - _sum_x_log_x(row_totals)
        - _sum_x_log_x(column_totals)
        + _sum_x_log_x(row_totals.sum())
    )


def _sum_x_log_x(counts: Any) -> float:
    return float((counts * np.log(np.maximum(counts, _SMALLEST))).sum())


def sum_rows(counts: Counts, values: np.ndarray) -> np.ndarray:
    """Sum values of the stored counts by row, shape (n,)."""
    sums = np.add.reduceat(np.append(values, 0.0), counts.indptr[:-1])
    sums[np.diff(counts.indptr) == 0] = 0.0
    return np.asarray(sums)


def _spread_evenly(counts: Counts, columns: np.ndarray) -> np.ndarray:
    """Return weights of rows that are equal for all components, shape (n, r)."""
    return np.repeat(sum_rows(counts, counts.data)[:, None], columns.shape[1], axis=1) / max(
        float(columns.sum()), _TINY
    )


def _has_converged(divergence: list[float], tol: float) -> bool:
    recent_values = np.array(divergence[-_CALM_SWEEPS - 1 :])
    return len(recent_values) > _CALM_SWEEPS and bool(
        (np.abs(np.diff(recent_values)) <= tol * np.abs(recent_values[1:])).all()
    )


# Sums may be reordered, which lets them use vector registers; the order is fixed when this is compiled, so long as no loop both
# sums and stores: such loops are compiled twice, and where arrays lie in memory says which one runs.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _compute_slopes(x, inverse, h, n):
    """Return a = sum x h / p and b = sum x h^2 / p^2."""
    a, b = 0.0, 0.0
    for e in range(n):
        r = h[e] * inverse[e]
        a += x[e] * r
        b += x[e] * r * r
    return a, b


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _compute_slope_at_zero(x, p, h, w, n):
    """Return a(0); it is infinite where no other component explains a count."""
    a = 0.0
    for e in range(n):
        rest = p[e] - w * h[e]
        a += x[e] * h[e] / rest if rest > _MIN_SHARE * p[e] else (np.inf if h[e] > 0.0 else 0.0)
    return a


@njit(nogil=True, cache=True, error_model="numpy")
def _move(p, inverse, h, by, n):
    for e in range(n):
        p[e] = max(p[e] + by * h[e], _TINY)
        inverse[e] = 1.0 / p[e]


@njit(nogil=True, cache=True, error_model="numpy")
def _take_step(w, a, b, s, x, p, h, n):
    """Return the entry after a step."""
    if w == 0.0 and a <= s:
        return 0.0
    new = w + a / b * (a / s - 1.0) if b > 0.0 else 0.0
    if new > 0.0:
        return new
    return 0.0 if _compute_slope_at_zero(x, p, h, w, n) <= s else w * a / s


@njit(nogil=True, cache=True, error_model="numpy")
def _gather(indices, data, first, last, fixed, h, x):
    """Gather the counts x of a row and the rows h of the fixed factor at them; return how many some component explains."""
    n = 0
    for e in range(first, last):
        row, total = fixed[indices[e]], 0.0
        for j in range(len(row)):
            h[j, n] = row[j]
            total += row[j]
        if total > 0.0 and data[e] > 0.0:
            x[n] = data[e]
            n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _sum_observed(sums, gap_indices, first, last, fixed, w, s):
    """Put the sums of h over the observed cells of a row into ``s``; a component without observed cells gets no weight."""
    s[:] = sums
    for e in range(first, last):
        s -= fixed[gap_indices[e]]
    for j in range(len(s)):
        if first < last and s[j] <= _MIN_SHARE * sums[j]:
            s[j], w[j] = 0.0, 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _sweep(
    indptr, indices, data, gap_indptr, gap_indices, first, last, fixed, fixed_sums, factor, max_sweeps, min_move, logs
):
    """Sweep over rows first to last of ``factor``, each until a sweep moves almost nothing or ``max_sweeps`` are done."""
    longest, r = 0, fixed.shape[1]
    s = np.empty(r)
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    h, x = np.empty((r, longest + 1)), np.empty(longest + 1)
    p, inverse = np.empty(longest + 1), np.empty(longest + 1)
    for i in range(first, last):
        w = factor[i]
        _sum_observed(fixed_sums, gap_indices, gap_indptr[i], gap_indptr[i + 1], fixed, w, s)
        n = _gather(indices, data, indptr[i], indptr[i + 1], fixed, h, x)
        p[:n] = 0.0
        for j in range(r):
            _move(p, inverse, h[j], w[j], n)
        for _ in range(max_sweeps):
            total_move, total_size = 0.0, 0.0
            for j in range(r):
                if s[j] <= 0.0:
                    continue
                a, b = _compute_slopes(x, inverse, h[j], n)
                new = _take_step(w[j], a, b, s[j], x, p, h[j], n)
                if new != w[j]:
                    total_move += abs(new - w[j])
                    _move(p, inverse, h[j], new - w[j], n)
                    w[j] = new
                total_size += new
            if total_move <= min_move * total_size:
                break
        total = 0.0
        for e in range(n):
            total += x[e] * np.log(p[e])
        logs[i] = total
