"""Cumulants of several tables of aligned rows, up to order six.

The cross-cumulant of variables X_1, ..., X_t is

    kappa(X_1, ..., X_t) = sum_pi (-1)^(|pi| - 1) (|pi| - 1)! prod_(B in pi) E[prod_(i in B) X_i]

over the partitions pi of {1, ..., t}. It is additive over independent parts, linear in each variable, and from the third order
on zero for Gaussians. Its estimate here is the k-statistic, which is unbiased: products of expectations are estimated by sums
over different rows, and these by products of power sums. About the column means only partitions without single elements are
left.

Source: R. Ge and J. Zou, Rich component analysis, 2015, section 2 and appendix A; C. Rose and M. Smith, Mathematical
Statistics with Mathematica, 2002, chapter 7, for k-statistics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes import Block, Blocks, accumulate
from .vectors import all_column_moments

MAX_ORDER = 6
MAX_ENTRIES = 1 << 26
_CHUNK_ENTRIES = 1 << 22

Partition = tuple[tuple[int, ...], ...]


# --- moments and cumulants ----------------------------------------------------------------------------------------


@cache
def set_partitions(n: int) -> tuple[Partition, ...]:
    """List all partitions of 0, ..., n - 1; blocks ascend, and are in the order of their first elements."""
    if n == 0:
        return ((),)
    partitions: list[Partition] = []
    for smaller in set_partitions(n - 1):
        partitions += [(*smaller[:i], (*block, n - 1), *smaller[i + 1 :]) for i, block in enumerate(smaller)]
        partitions.append((*smaller, (n - 1,)))
    return tuple(partitions)


def moments_to_cumulants(moments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compute cumulants of orders 1, ..., t of a vector from its moments: tensors of shape (d,), (d, d), ...

    Parameters
    ----------
    moments : sequence of ndarray
        E[x], E[x x^T], E[x (x) x (x) x], and so on.
    """
    moments = _check_orders(moments)
    return [
        sum(
            (-1) ** (len(pi) - 1) * math.factorial(len(pi) - 1) * _product(moments, pi)
            for pi in set_partitions(order + 1)
        )  # type: ignore[misc]
        for order in range(len(moments))
    ]


def cumulants_to_moments(cumulants: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compute moments of orders 1, ..., t of a vector from its cumulants: the inverse of `moments_to_cumulants`."""
    cumulants = _check_orders(cumulants)
    return [sum(_product(cumulants, pi) for pi in set_partitions(order + 1)) for order in range(len(cumulants))]  # type: ignore[misc]


def _check_orders(tensors: Sequence[Any]) -> list[np.ndarray]:
    """Check that tensors have orders 1, 2, ... and equal dimension."""
    arrays = [np.asarray(tensor, dtype=float) for tensor in tensors]
    d = arrays[0].shape[0] if arrays and arrays[0].ndim == 1 else -1
    for order, array in enumerate(arrays):
        if array.shape != (d,) * (order + 1):
            raise LatentiaError(
                f"Tensor {order} has shape {array.shape}; expected tensors of orders 1, 2, ... of equal dimension."
            )
    return arrays


def _product(tensors: Sequence[np.ndarray], partition: Partition) -> np.ndarray:
    """Return the tensor product over the blocks of a partition, with the modes in order."""
    tensor = np.ones(())
    for block in partition:
        tensor = np.multiply.outer(tensor, tensors[len(block) - 1])
    modes = [i for block in partition for i in block]
    return tensor.transpose(np.argsort(modes))


# --- k-statistics of any order ------------------------------------------------------------------------------------


def cross_cumulant(
    tables: Any,
    parts: Sequence[int] | None = None,
    maps: Mapping[int, np.ndarray] | Sequence[np.ndarray | None] | None = None,
    *,
    n_jobs: int | None = None,
    progress: bool | str = False,
) -> np.ndarray:
    """Estimate a cross-cumulant of tables with aligned rows, without bias: two passes.

    Parameters
    ----------
    tables : Blocks, or a sequence of array-likes of shape (n_rows, D_i)
    parts : sequence of int, optional
        The table of each mode of the cumulant, up to six, such as (0, 0, 1) for kappa(U, U, V); by default each table once.
    maps : sequence of ndarray of shape (D_i, k), or None, optional
        Matrix that multiplies the rows of a mode. Maps to one column are projections; with all modes but one projected, the
        time is linear in D.

    Returns
    -------
    ndarray of shape (k_1, ..., k_t)
    """
    blocks = tables if isinstance(tables, Blocks) else Blocks.from_array(*tables)
    parts = tuple(range(len(blocks.shapes))) if parts is None else tuple(int(part) for part in parts)
    given_maps: Any = maps if maps is not None else [None] * len(parts)
    mapped = [given_maps.get(i) if isinstance(given_maps, Mapping) else given_maps[i] for i in range(len(parts))]
    order = len(parts)
    if not 1 <= order <= MAX_ORDER:
        raise LatentiaError(f"The cumulant has order {order}; expected an order from 1 to {MAX_ORDER}.")
    if blocks.n_rows < max(order, 2):
        raise LatentiaError(
            f"A cumulant of order {order} needs at least {max(order, 2)} rows, and there are {blocks.n_rows}."
        )
    shape = tuple(blocks.shapes[p][1] if m is None else m.shape[1] for p, m in zip(parts, mapped, strict=True))
    if math.prod(shape) > MAX_ENTRIES:
        raise LatentiaError(
            f"The cumulant would have {math.prod(shape):,} entries, more than {MAX_ENTRIES:,}: project modes by maps, or "
            "choose fewer columns."
        )
    options: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    columns = all_column_moments(blocks, **options)
    if order == 1:
        mean = columns[parts[0]].mean
        return mean if mapped[0] is None else mean @ mapped[0]
    statistic = _PowerSums(parts, mapped, [column.mean for column in columns])
    return _k_statistic(accumulate(blocks, statistic, **options), statistic.kinds, blocks.n_rows, shape)


class _PowerSums:
    """Statistic: sums over rows of products of the modes of every subset of two or more, about the column means."""

    def __init__(self, parts: tuple[int, ...], maps: Sequence[Any], centers: Sequence[np.ndarray]) -> None:
        self.parts, self.maps, self.centers = parts, maps, centers
        # Equal modes share their sums.
        kinds = [
            (part, id(mode_map) if mode_map is not None else 0) for part, mode_map in zip(parts, maps, strict=True)
        ]
        self.kinds = [kinds.index(kind) for kind in kinds]
        subsets = (subset for size in range(2, len(parts) + 1) for subset in combinations(self.kinds, size))
        self.keys = list(dict.fromkeys(subsets))

    def zero(self) -> dict[tuple[int, ...], Any]:
        return {}

    def add(self, state: dict[tuple[int, ...], Any], block: Block) -> dict[tuple[int, ...], Any]:
        rows: list[Any] = [None] * len(self.parts)
        for i in set(self.kinds):
            table, mode_map = block[self.parts[i]], self.maps[i]
            table = table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=float)
            centred = table - self.centers[self.parts[i]]
            rows[i] = centred if mode_map is None else centred @ mode_map
        for key in self.keys:
            state[key] = state.get(key, 0.0) + _sum_products([rows[i] for i in key])
        return state

    def merge(
        self, first: dict[tuple[int, ...], Any], second: dict[tuple[int, ...], Any]
    ) -> dict[tuple[int, ...], Any]:
        return {key: first.get(key, 0.0) + second.get(key, 0.0) for key in {**first, **second}} if first else second


def _sum_products(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return sum_n x_n (x) y_n (x) ..., by matrix products of the two halves of the modes, in chunks of rows."""
    half = len(rows) // 2
    widths = [table.shape[1] for table in rows]
    n_left, n_right = math.prod(widths[:half]), math.prod(widths[half:])
    step = max(1, _CHUNK_ENTRIES // max(n_left + n_right, 1))
    total = np.zeros((n_left, n_right))
    for a in range(0, len(rows[0]), step):
        total += _outer([table[a : a + step] for table in rows[:half]]).T @ _outer(
            [table[a : a + step] for table in rows[half:]]
        )
    return total.reshape(widths)


def _outer(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return row-wise outer products of tables, shape (n, product of the widths)."""
    outer = rows[0]
    for table in rows[1:]:
        outer = (outer[:, :, None] * table[:, None, :]).reshape(len(outer), -1)
    return outer


def _k_statistic(
    sums: Mapping[tuple[int, ...], Any], kinds: Sequence[int], n: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Combine power sums about the means over partitions without single elements."""
    total = np.zeros(shape)
    for partition in set_partitions(len(shape)):
        if min(map(len, partition)) < 2:
            continue
        tensor = np.ones(())
        for block in partition:
            tensor = np.multiply.outer(tensor, sums[tuple(kinds[i] for i in block)])
        modes = [i for block in partition for i in block]
        total += _coefficient(tuple(sorted(map(len, partition))), n) * tensor.transpose(np.argsort(modes))
    return total


@cache
def _coefficient(sizes: tuple[int, ...], n: int) -> float:
    """Return the coefficient of a product of power sums over blocks of these sizes.

    Each block C of the partition is cut into b blocks, in S(|C|, b) ways; the products of moments of the finer partitions have
    the coefficients of the cumulant, are estimated by sums over different rows, of which there are n (n - 1) ..., and those
    contain the power sums with (-1)^(b - 1) (b - 1)! for each C.
    """
    total = 0.0
    for cuts in product(*[range(1, size + 1) for size in sizes]):
        ways = math.prod(
            _stirling(size, b) * (-1) ** (b - 1) * math.factorial(b - 1) for size, b in zip(sizes, cuts, strict=True)
        )
        n_blocks = sum(cuts)
        total += ways * (-1) ** (n_blocks - 1) * math.factorial(n_blocks - 1) / math.perm(n, n_blocks)
    return total


@cache
def _stirling(n: int, k: int) -> int:
    """Count the partitions of n elements into k blocks."""
    if n == k:
        return 1
    return 0 if k < 1 or k > n else k * _stirling(n - 1, k) + _stirling(n - 1, k - 1)


def k_factors(n: int) -> tuple[float, float]:
    """Return the factors of E[x^4] and of products of covariances in the fourth k-statistic of n rows."""
    if n < 4:
        raise LatentiaError(f"Fourth cumulants need at least 4 rows, and there are {n}.")
    common = n * n / ((n - 1) * (n - 2) * (n - 3))
    return common * (n + 1), common * (n - 1)


# --- Gram matrices of unfoldings ----------------------------------------------------------------------------------


class FourthGram:
    """Gram matrices of unfolded fourth cumulants, between groups of rows, without anything of size d^4.

    With M_g the cumulant kappa_4(P, Q, R, X) of the rows of group g, unfolded to d_p d_q d_r rows and a column for each of X,
    it gives the D x D matrices M_g^T M_h. Two ways lead there:

    - "kernel": the sum over rows s of g and t of h of (p_s . p_t) (q_s . q_t) (r_s . r_t) x_s x_t^T, and terms with
      covariances. n^2 (d_p + d_q + d_r + D) flops.
    - "slabs": the unfolding a few rows at a time. n d_p d_q d_r D flops.

    Parameters
    ----------
    method : {"auto", "kernel", "slabs"}
        "auto" takes the one of less work.
    """

    def __init__(self, method: str = "auto") -> None:
        if method not in ("auto", "kernel", "slabs"):
            raise LatentiaError("expected 'auto', 'kernel' or 'slabs'.", parameter="method", value=method)
        self.method = method

    def __call__(
        self, instruments: tuple[np.ndarray, np.ndarray, np.ndarray], x: np.ndarray, groups: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the Gram matrices, shape (G, G, D, D).

        Parameters
        ----------
        instruments : three ndarrays of shape (n, d_p), (n, d_q), (n, d_r)
        x : ndarray of shape (n, D)
        groups : ndarray of int, shape (n,), optional
            Group of every row; by default a single group.
        """
        groups = np.zeros(len(x), int) if groups is None else groups
        rows = [np.flatnonzero(groups == g) for g in range(int(groups.max()) + 1)]
        pieces = [_Piece.of([part[r] for part in (*instruments, x)], instruments) for r in rows]
        widths = [instrument.shape[1] for instrument in instruments]
        kernel = len(x) * (sum(widths) + x.shape[1]) <= math.prod(widths) * x.shape[1]
        if self.method == "slabs" or (self.method == "auto" and not kernel):
            return _gram_by_slabs(pieces)
        grams = np.empty((len(pieces), len(pieces), x.shape[1], x.shape[1]))
        for g, instrument in enumerate(pieces):
            for h, earlier in enumerate(pieces[: g + 1]):
                grams[g, h] = _gram_by_kernel(instrument, earlier)
                grams[h, g] = grams[g, h].T
        return grams


class _Piece:
    """Centred rows, their covariances, and the factors of the k-statistic."""

    def __init__(self, rows: Sequence[np.ndarray], same_as: Sequence[int]) -> None:
        self.p, self.q, self.r, self.x = rows
        self.n, self.count_remainders = len(self.x), same_as
        self.fourth, self.pairs = k_factors(self.n)
        self.pq, self.pr, self.qr = self.p.T @ self.q / self.n, self.p.T @ self.r / self.n, self.q.T @ self.r / self.n
        self.px, self.qx, self.rx = (table.T @ self.x / self.n for table in (self.p, self.q, self.r))

    @classmethod
    def of(cls, rows: Sequence[np.ndarray], instruments: Sequence[np.ndarray]) -> _Piece:
        """Centre the rows; equal instruments are multiplied once."""
        same_as = [
            next(j for j, earlier in enumerate(instruments) if earlier is instrument) for instrument in instruments
        ]
        if len(rows[0]) < 4:
            raise LatentiaError("Expected at least 4 rows in each part of the data for fourth cumulants.")
        return cls([instrument - instrument.mean(axis=0) for instrument in rows], same_as)


def _gram_by_kernel(first: _Piece, second: _Piece) -> np.ndarray:
    """Return M_g^T M_h of two groups by the kernel."""
    step = max(64, _CHUNK_ENTRIES // max(second.n, 1))
    moments = np.zeros((first.x.shape[1], second.x.shape[1]))
    for a in range(0, first.n, step):
        kernel, products = 1.0, {}
        for i, (first_rows, second_rows) in enumerate(((first.p, second.p), (first.q, second.q), (first.r, second.r))):
            index = first.count_remainders[i]
            if index not in products:
                products[index] = first_rows[a : a + step] @ second_rows.T
            kernel = kernel * products[index]
        moments += first.x[a : a + step].T @ (kernel @ second.x)
    moments /= first.n * second.n
    crossed = (
        first.fourth * second.pairs * _cross_term(first, second)
        + first.pairs * second.fourth * _cross_term(second, first).T
    )
    return first.fourth * second.fourth * moments - crossed + first.pairs * second.pairs * _pair_term(first, second)


def _cross_term(first: _Piece, second: _Piece) -> np.ndarray:
    """Return fourth moments of one group times products of covariances of another."""
    total = np.zeros((first.x.shape[1], second.x.shape[1]))
    for (a, b), pair, c, last in (
        ((first.p, first.q), second.pq, first.r, second.rx),
        ((first.p, first.r), second.pr, first.q, second.qx),
        ((first.q, first.r), second.qr, first.p, second.px),
    ):
        weights = np.einsum("na,na->n", a @ pair, b)
        total += (first.x * weights[:, None]).T @ c @ last
    return total / first.n


def _pair_term(f: _Piece, g: _Piece) -> np.ndarray:
    """Return products of covariances of both groups."""

    def inner(a: np.ndarray, b: np.ndarray) -> float:
        return float((a * b).sum())

    return (
        inner(f.pq, g.pq) * f.rx.T @ g.rx + inner(f.pr, g.pr) * f.qx.T @ g.qx + inner(f.qr, g.qr) * f.px.T @ g.px
        + f.rx.T @ g.pr.T @ f.pq @ g.qx + f.qx.T @ g.pq.T @ f.pr @ g.rx
        + f.rx.T @ g.qr.T @ f.pq.T @ g.px + f.px.T @ g.pq @ f.qr @ g.rx
        + f.qx.T @ g.qr @ f.pr.T @ g.px + f.px.T @ g.pr @ f.qr.T @ g.qx
    )  # fmt: skip


def _gram_by_slabs(pieces: Sequence[_Piece]) -> np.ndarray:
    """Return all Gram matrices by slabs, one column of the first instrument at a time."""
    first = pieces[0]
    n_groups, size = len(pieces), first.x.shape[1]
    grams = np.zeros((n_groups, n_groups, size, size))
    for i in range(first.p.shape[1]):
        slabs = [_slab(piece, i) for piece in pieces]
        for g in range(n_groups):
            for h in range(g + 1):
                grams[g, h] += slabs[g].T @ slabs[h]
    for g in range(n_groups):
        for h in range(g):
            grams[h, g] = grams[g, h].T
    return grams


def _slab(piece: _Piece, i: int) -> np.ndarray:
    """Return the rows of the unfolding for column i of the first instrument, shape (d_q d_r, D)."""
    d_q, d_r, size = piece.q.shape[1], piece.r.shape[1], piece.x.shape[1]
    total, step = np.zeros((d_q * d_r, size)), max(64, _CHUNK_ENTRIES // (d_q * d_r))
    for a in range(0, piece.n, step):
        rows = slice(a, a + step)
        total += _outer([piece.p[rows, i : i + 1] * piece.q[rows], piece.r[rows]]).T @ piece.x[rows]
    pairs = (
        piece.pq[i][:, None, None] * piece.rx
        + piece.pr[i][None, :, None] * piece.qx[:, None, :]
        + piece.px[i] * piece.qr[:, :, None]
    )
    return (piece.fourth * total / piece.n).reshape(d_q * d_r, size) - piece.pairs * pairs.reshape(d_q * d_r, size)
