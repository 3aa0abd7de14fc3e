"""Cumulants of several tables of rows, of any order up to six.

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

MOST_ORDER = 6
MOST_ENTRIES = 1 << 26
_CHUNK_ENTRIES = 1 << 22

Partition = tuple[tuple[int, ...], ...]


# --- moments and cumulants ----------------------------------------------------------------------------------------


@cache
def set_partitions(n: int) -> tuple[Partition, ...]:
    """All partitions of 0, ..., n - 1 into blocks; each block ascends, and blocks are in order of their first elements."""
    if n == 0:
        return ((),)
    found: list[Partition] = []
    for smaller in set_partitions(n - 1):
        found += [(*smaller[:i], (*block, n - 1), *smaller[i + 1 :]) for i, block in enumerate(smaller)]
        found.append((*smaller, (n - 1,)))
    return tuple(found)


def moments_to_cumulants(moments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cumulants of orders 1, ..., t of a vector from its moments: tensors of shape (d,), (d, d), ...

    Parameters
    ----------
    moments : sequence of ndarray
        E[x], E[x x^T], E[x (x) x (x) x], and so on.
    """
    moments = _of_orders(moments)
    return [
        sum(
            (-1) ** (len(pi) - 1) * math.factorial(len(pi) - 1) * _product(moments, pi)
            for pi in set_partitions(order + 1)
        )  # type: ignore[misc]
        for order in range(len(moments))
    ]


def cumulants_to_moments(cumulants: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Moments of orders 1, ..., t of a vector from its cumulants: the inverse of `moments_to_cumulants`."""
    cumulants = _of_orders(cumulants)
    return [sum(_product(cumulants, pi) for pi in set_partitions(order + 1)) for order in range(len(cumulants))]  # type: ignore[misc]


def _of_orders(tensors: Sequence[Any]) -> list[np.ndarray]:
    """The tensors, of orders 1, 2, ... and of one dimension."""
    arrays = [np.asarray(tensor, dtype=float) for tensor in tensors]
    d = arrays[0].shape[0] if arrays and arrays[0].ndim == 1 else -1
    for order, array in enumerate(arrays):
        if array.shape != (d,) * (order + 1):
            raise LatentiaError(
                f"Tensor {order} has shape {array.shape}: tensors of orders 1, 2, ... and of one dimension are needed."
            )
    return arrays


def _product(tensors: Sequence[np.ndarray], partition: Partition) -> np.ndarray:
    """Tensor product over the blocks of a partition, each with the tensor of its size, with the modes in order."""
    found = np.ones(())
    for block in partition:
        found = np.multiply.outer(found, tensors[len(block) - 1])
    places = [i for block in partition for i in block]
    return found.transpose(np.argsort(places))


# --- k-statistics of any order ------------------------------------------------------------------------------------


def cross_cumulant(
    tables: Any,
    parts: Sequence[int] | None = None,
    maps: Mapping[int, np.ndarray] | Sequence[np.ndarray | None] | None = None,
    *,
    n_jobs: int | None = None,
    progress: bool | str = False,
) -> np.ndarray:
    """Unbiased estimate of a cross-cumulant of tables with aligned rows: two passes over them.

    Parameters
    ----------
    tables : Blocks, or a sequence of array-likes of shape (n_rows, D_i)
    parts : sequence of int, optional
        The table of each mode of the cumulant, up to six, such as (0, 0, 1) for kappa(U, U, V); by default each table once.
    maps : sequence of ndarray of shape (D_i, k), or None, optional
        What the rows of a mode are multiplied by. Modes of one column are projections, and cost the less for it: with all
        but one of them projected, the time is linear in D.

    Returns
    -------
    ndarray of shape (k_1, ..., k_t)
    """
    blocks = tables if isinstance(tables, Blocks) else Blocks.from_array(*tables)
    parts = tuple(range(len(blocks.shapes))) if parts is None else tuple(int(part) for part in parts)
    given: Any = maps if maps is not None else [None] * len(parts)
    mapped = [given.get(i) if isinstance(given, Mapping) else given[i] for i in range(len(parts))]
    order = len(parts)
    if not 1 <= order <= MOST_ORDER:
        raise LatentiaError(f"The cumulant has order {order}: orders 1 to {MOST_ORDER} are computed.")
    if blocks.n_rows < max(order, 2):
        raise LatentiaError(
            f"A cumulant of order {order} needs at least {max(order, 2)} rows, and there are {blocks.n_rows}."
        )
    shape = tuple(blocks.shapes[p][1] if m is None else m.shape[1] for p, m in zip(parts, mapped, strict=True))
    if math.prod(shape) > MOST_ENTRIES:
        raise LatentiaError(
            f"The cumulant would have {math.prod(shape):,} entries, more than {MOST_ENTRIES:,}: project modes by maps, or "
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
        # Modes that are alike have alike sums.
        kinds = [(part, id(one) if one is not None else 0) for part, one in zip(parts, maps, strict=True)]
        self.kinds = [kinds.index(kind) for kind in kinds]
        subsets = (subset for size in range(2, len(parts) + 1) for subset in combinations(self.kinds, size))
        self.keys = list(dict.fromkeys(subsets))

    def zero(self) -> dict[tuple[int, ...], Any]:
        return {}

    def add(self, state: dict[tuple[int, ...], Any], block: Block) -> dict[tuple[int, ...], Any]:
        rows: list[Any] = [None] * len(self.parts)
        for i in set(self.kinds):
            table, one = block[self.parts[i]], self.maps[i]
            table = table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=float)
            centred = table - self.centers[self.parts[i]]
            rows[i] = centred if one is None else centred @ one
        for key in self.keys:
            state[key] = state.get(key, 0.0) + _summed([rows[i] for i in key])
        return state

    def merge(
        self, first: dict[tuple[int, ...], Any], second: dict[tuple[int, ...], Any]
    ) -> dict[tuple[int, ...], Any]:
        return {key: first.get(key, 0.0) + second.get(key, 0.0) for key in {**first, **second}} if first else second


def _summed(rows: Sequence[np.ndarray]) -> np.ndarray:
    """sum_n x_n (x) y_n (x) ..., by a matrix product of the two halves of the modes, a stretch of rows at a time."""
    half = len(rows) // 2
    widths = [one.shape[1] for one in rows]
    left, right = math.prod(widths[:half]), math.prod(widths[half:])
    step = max(1, _CHUNK_ENTRIES // max(left + right, 1))
    total = np.zeros((left, right))
    for a in range(0, len(rows[0]), step):
        total += _outer([one[a : a + step] for one in rows[:half]]).T @ _outer(
            [one[a : a + step] for one in rows[half:]]
        )
    return total.reshape(widths)


def _outer(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Products of the entries of each row of some tables, shape (n, product of the widths)."""
    found = rows[0]
    for one in rows[1:]:
        found = (found[:, :, None] * one[:, None, :]).reshape(len(found), -1)
    return found


def _k_statistic(
    sums: Mapping[tuple[int, ...], Any], kinds: Sequence[int], n: int, shape: tuple[int, ...]
) -> np.ndarray:
    """From power sums about the means: sum over partitions without single elements."""
    total = np.zeros(shape)
    for partition in set_partitions(len(shape)):
        if min(map(len, partition)) < 2:
            continue
        found = np.ones(())
        for block in partition:
            found = np.multiply.outer(found, sums[tuple(kinds[i] for i in block)])
        places = [i for block in partition for i in block]
        total += _coefficient(tuple(sorted(map(len, partition))), n) * found.transpose(np.argsort(places))
    return total


@cache
def _coefficient(sizes: tuple[int, ...], n: int) -> float:
    """Of a product of power sums over blocks of these sizes.

    Each block C of the partition is cut into b blocks, in S(|C|, b) ways; the products of moments of the finer partitions have
    the coefficients of the cumulant, are estimated by sums over different rows, of which there are n (n - 1) ..., and those
    contain the power sums with (-1)^(b - 1) (b - 1)! for each C.
    """
    total = 0.0
    for cut in product(*[range(1, size + 1) for size in sizes]):
        ways = math.prod(
            _stirling(size, b) * (-1) ** (b - 1) * math.factorial(b - 1) for size, b in zip(sizes, cut, strict=True)
        )
        many = sum(cut)
        total += ways * (-1) ** (many - 1) * math.factorial(many - 1) / math.perm(n, many)
    return total


@cache
def _stirling(n: int, k: int) -> int:
    """Partitions of n elements into k blocks."""
    if n == k:
        return 1
    return 0 if k < 1 or k > n else k * _stirling(n - 1, k) + _stirling(n - 1, k - 1)


def k_factors(n: int) -> tuple[float, float]:
    """Factors of E[x^4] and of the products of covariances, about the mean of n rows, in the fourth k-statistic."""
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
            raise LatentiaError("'auto', 'kernel' or 'slabs' is needed.", parameter="method", value=method)
        self.method = method

    def __call__(
        self, instruments: tuple[np.ndarray, np.ndarray, np.ndarray], x: np.ndarray, groups: np.ndarray | None = None
    ) -> np.ndarray:
        """The Gram matrices, shape (G, G, D, D).

        Parameters
        ----------
        instruments : three ndarrays of shape (n, d_p), (n, d_q), (n, d_r)
        x : ndarray of shape (n, D)
        groups : ndarray of int, shape (n,), optional
            The group of every row; by default one of all.
        """
        groups = np.zeros(len(x), int) if groups is None else groups
        rows = [np.flatnonzero(groups == g) for g in range(int(groups.max()) + 1)]
        pieces = [_Piece.of([part[r] for part in (*instruments, x)], instruments) for r in rows]
        widths = [one.shape[1] for one in instruments]
        kernel = len(x) * (sum(widths) + x.shape[1]) <= math.prod(widths) * x.shape[1]
        if self.method == "slabs" or (self.method == "auto" and not kernel):
            return _by_slabs(pieces)
        found = np.empty((len(pieces), len(pieces), x.shape[1], x.shape[1]))
        for g, one in enumerate(pieces):
            for h, other in enumerate(pieces[: g + 1]):
                found[g, h] = _by_kernel(one, other)
                found[h, g] = found[g, h].T
        return found


class _Piece:
    """Rows about their mean, their covariances, and the factors of the k-statistic."""

    def __init__(self, rows: Sequence[np.ndarray], alike: Sequence[int]) -> None:
        self.p, self.q, self.r, self.x = rows
        self.n, self.alike = len(self.x), alike
        self.fourth, self.pairs = k_factors(self.n)
        self.pq, self.pr, self.qr = self.p.T @ self.q / self.n, self.p.T @ self.r / self.n, self.q.T @ self.r / self.n
        self.px, self.qx, self.rx = (one.T @ self.x / self.n for one in (self.p, self.q, self.r))

    @classmethod
    def of(cls, rows: Sequence[np.ndarray], instruments: Sequence[np.ndarray]) -> _Piece:
        """Centred; instruments that are the same array are multiplied once."""
        alike = [next(j for j, other in enumerate(instruments) if other is one) for one in instruments]
        if len(rows[0]) < 4:
            raise LatentiaError("A part of the data has fewer than 4 rows: there are too few for fourth cumulants.")
        return cls([one - one.mean(axis=0) for one in rows], alike)


def _by_kernel(one: _Piece, other: _Piece) -> np.ndarray:
    """M_g^T M_h of two groups."""
    step = max(64, _CHUNK_ENTRIES // max(other.n, 1))
    moments = np.zeros((one.x.shape[1], other.x.shape[1]))
    for a in range(0, one.n, step):
        kernel, products = 1.0, {}
        for i, (left, right) in enumerate(((one.p, other.p), (one.q, other.q), (one.r, other.r))):
            like = one.alike[i]
            if like not in products:
                products[like] = left[a : a + step] @ right.T
            kernel = kernel * products[like]
        moments += one.x[a : a + step].T @ (kernel @ other.x)
    moments /= one.n * other.n
    crossed = one.fourth * other.pairs * _crossed(one, other) + one.pairs * other.fourth * _crossed(other, one).T
    return one.fourth * other.fourth * moments - crossed + one.pairs * other.pairs * _of_pairs(one, other)


def _crossed(one: _Piece, other: _Piece) -> np.ndarray:
    """Fourth moments of one group times the products of covariances of another one."""
    found = np.zeros((one.x.shape[1], other.x.shape[1]))
    for (a, b), pair, c, last in (
        ((one.p, one.q), other.pq, one.r, other.rx),
        ((one.p, one.r), other.pr, one.q, other.qx),
        ((one.q, one.r), other.qr, one.p, other.px),
    ):
        weights = np.einsum("na,na->n", a @ pair, b)
        found += (one.x * weights[:, None]).T @ c @ last
    return found / one.n


def _of_pairs(f: _Piece, g: _Piece) -> np.ndarray:
    """Products of covariances of both groups."""

    def inner(a: np.ndarray, b: np.ndarray) -> float:
        return float((a * b).sum())

    return (
        inner(f.pq, g.pq) * f.rx.T @ g.rx + inner(f.pr, g.pr) * f.qx.T @ g.qx + inner(f.qr, g.qr) * f.px.T @ g.px
        + f.rx.T @ g.pr.T @ f.pq @ g.qx + f.qx.T @ g.pq.T @ f.pr @ g.rx
        + f.rx.T @ g.qr.T @ f.pq.T @ g.px + f.px.T @ g.pq @ f.qr @ g.rx
        + f.qx.T @ g.qr @ f.pr.T @ g.px + f.px.T @ g.pr @ f.qr.T @ g.qx
    )  # fmt: skip


def _by_slabs(pieces: Sequence[_Piece]) -> np.ndarray:
    """All of them at once, for some of the first instrument's columns at a time."""
    first = pieces[0]
    n_groups, size = len(pieces), first.x.shape[1]
    found = np.zeros((n_groups, n_groups, size, size))
    for i in range(first.p.shape[1]):
        slabs = [_slab(piece, i) for piece in pieces]
        for g in range(n_groups):
            for h in range(g + 1):
                found[g, h] += slabs[g].T @ slabs[h]
    for g in range(n_groups):
        for h in range(g):
            found[h, g] = found[g, h].T
    return found


def _slab(piece: _Piece, i: int) -> np.ndarray:
    """Rows of the unfolding that belong to column i of the first instrument, shape (d_q d_r, D)."""
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
