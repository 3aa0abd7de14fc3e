"""Pairs whose order matters: low rank, or what was seen less a discount, and low rank for the rest.

The model of low rank is B = r c^T + D_r^1/2 U s V^T D_c^1/2, with the scaled singular triplets of the counts
(`latentia.matrices._scaled_pairs`), raised to ``floor`` r c^T where it is less.

Where the same pairs come again and again, as neighbouring words do, no low rank holds them. Then a count c gives up D_c, as in
modified Kneser-Ney smoothing (Chen and Goodman 1999, with the discounts of equation 17),

    Y = n_1 / (n_1 + 2 n_2),        D_c = c - (c + 1) Y n_(c+1) / n_c    for c = 1, 2, and 3 for all above,

n_c being the number of pairs that were seen c times, and what row i gave up, m_i, is dealt by the low rank:

    B_ij = [c_ij - D_ij + m_i (.95 L_ij + .05 k_j)] / N,

where L is the low rank *of what was given up*, with rows that sum to one, and k_j the share of different rows that column j was
seen with. Of rare pairs what was given up has the variance D_1 times its mean, and of frequent ones less still.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..evidence import Check, above, at_least, at_most, equal_to
from ..exceptions import LatentiaError
from ..moments import split_counts
from ..system.threads import run_in_chunks, single_blas_thread
from ._scaled_pairs import ScaledPairs, scaled_singular_space

_TILE = 512
_HELD_OUT, _DRAWS, _TRUSTED = 0.1, 50_000, 1.0
_LOW_RANK = 0.95  # of what is given up; the rest goes to columns by the number of rows that they were seen with
_ADDED = 0.3  # to counts of a column or row, where one that was never seen must not be impossible
_SMOOTHING = 0.01  # share of the smoothed marginals in likelihoods, without discounts


@dataclass(frozen=True)
class OrderedMatrix:
    """B of shape (M_rows, M_columns).

    Attributes
    ----------
    left, right : ndarray of shape (M_rows, k) and (M_columns, k)
        The low rank is left @ right.T, raised to ``floor`` times the product of the shares.
    row_shares, column_shares : ndarray
        Marginals of what the low rank was fitted to.
    floor : float
    sums : ndarray of shape (M_rows,)
        Sums of the rows of the low rank.
    marginals : ndarray of shape (M_rows,)
        How often each row is in a pair.
    continuation : ndarray of shape (M_columns,)
        k.
    seen : csr_array, optional
        (c - D) / N, without discounts none.
    given_up : ndarray of shape (M_rows,), optional
        m / N.
    n_pairs : float
        N.
    """

    left: Annotated[np.ndarray, of.numbers("V R")]
    right: Annotated[np.ndarray, of.numbers("W R")]
    row_shares: Annotated[np.ndarray, of.shares("V")]
    column_shares: Annotated[np.ndarray, of.shares("W")]
    floor: Annotated[float, of.number(0.0)]
    sums: Annotated[np.ndarray, of.numbers("V", 0.0)]
    marginals: Annotated[np.ndarray, of.shares("V")]
    continuation: Annotated[np.ndarray, of.shares("W")]
    seen: Annotated[sparse.csr_array | None, of.sparse_matrix("V W", low=0.0, high=1.0)] = None
    given_up: Annotated[np.ndarray | None, of.numbers("V", 0.0)] = None
    n_pairs: Annotated[float, of.number(0.0)] = 1.0

    # As a matrix of factors, for what reads both kinds.

    @property
    def factored(self) -> OrderedMatrix:
        return self

    @property
    def scale(self) -> float:
        return 1.0

    @property
    def size(self) -> int:
        return len(self.left)

    @property
    def width(self) -> int:
        return len(self.right)

    def row_sums(self, n_jobs: int | None = None) -> np.ndarray:
        """Sums of the rows of B."""
        return self.sums / self.sums.sum() if self.seen is None else self.marginals

    def entries(self, i: Any, j: Any) -> np.ndarray:
        """B at the places (i, j), arrays that broadcast."""
        i, j = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        return self._entries(i.ravel(), j.ravel()).reshape(i.shape)

    def _entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        low = np.einsum("nk,nk->n", self.left[i], self.right[j])
        low = np.maximum(low, self.floor * self.row_shares[i] * self.column_shares[j])
        if self.seen is None or self.given_up is None:
            return low / self.sums.sum()
        sums = self.sums[i]
        low = np.where(sums > 0, low / np.where(sums > 0, sums, 1.0), self.column_shares[j])
        rest = self.given_up[i] * (_LOW_RANK * low + (1 - _LOW_RANK) * self.continuation[j])
        return np.asarray(self.seen[i, j]).ravel() + rest

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        """Rows i of B, (n, M_columns), or some of their columns."""
        low = self._low(i, columns)
        if self.seen is None or self.given_up is None:
            return low / self.sums.sum()
        sums = self.sums[i][:, None]
        low = np.where(sums > 0, low / np.where(sums > 0, sums, 1.0), self.column_shares[columns])
        rest = self.given_up[i][:, None] * (_LOW_RANK * low + (1 - _LOW_RANK) * self.continuation[columns])
        return np.asarray(self.seen[i][:, columns].toarray() + rest)

    def log_likelihood(self, counts: sparse.csr_array, marginals: Any = None) -> float:
        """Mean logarithm of the probability of a pair; rows and columns that were never seen are not impossible."""
        cells = counts.tocoo()
        n_rows, n_columns = self.size, self.width
        i, j = cells.coords
        added = _ADDED / n_rows if self.seen is None else _ADDED / self.n_pairs
        first = (self.marginals + added) / (1 + added * n_rows)
        total = 0.0
        for start in range(0, cells.nnz, 1 << 19):
            part = slice(start, start + (1 << 19))
            a, b = i[part], j[part]
            found = self.entries(a, b)
            if self.seen is None:
                second = (self.column_shares[b] + _ADDED / n_columns) / (1 + _ADDED)
                chance = (1 - _SMOOTHING) * found + _SMOOTHING * first[a] * second
            else:  # a row that was never seen goes on as rows do
                own = self.marginals[a]
                known = own > 0
                chance = first[a] * np.where(known, found / np.where(known, own, 1.0), self.continuation[b])
            total += float(cells.data[part] @ np.log(chance))
        return total / float(cells.sum())

    def _low(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        least = self.floor * self.row_shares[i][:, None] * self.column_shares[columns]
        return np.asarray(np.maximum(self.left[i] @ self.right[columns].T, least))

    def check(self) -> None:
        """Raise a `LatentiaError` where fields do not fit together."""
        if (self.seen is None) is not (self.given_up is None):
            raise LatentiaError("_matrix.seen is not what the discounts leave")
        for name, found in (("sums", self.sums), ("marginals", self.marginals)):  # which entries are divided by
            if not found.any() or found[found > 0].min() < of.MIN_MAGNITUDE:
                raise LatentiaError(f"_matrix.{name} are nothing")


@dataclass(frozen=True)
class OrderedSettings:
    """What estimates of parts of the pairs share."""

    rank: int
    tau: float
    floor: float
    seed: int
    n_jobs: int | None


def discounts_of(counts: sparse.csr_array) -> np.ndarray | None:
    """D of counts of 0, 1, 2 and more, shape (4,); None where too few pairs were seen once, twice or three times to tell."""
    if counts.dtype.kind == "f" and not (np.rint(counts.data) == counts.data).all():
        return None
    n = [int((counts.data == c).sum()) for c in (1, 2, 3, 4)]
    if min(n[:3]) < 1:
        return None
    share = n[0] / (n[0] + 2 * n[1])
    found = [c - (c + 1) * share * n[c] / n[c - 1] for c in (1, 2, 3)]
    return np.append(0.0, np.clip(found, 0.05, [1.0, 2.0, 3.0]))


def ordered_matrix(
    counts: sparse.csr_array, settings: OrderedSettings, discounts: np.ndarray | None
) -> tuple[OrderedMatrix, ScaledPairs]:
    """B, and the singular space that it is from, of all counts or of what they give up."""
    n_rows, n_columns = counts.shape
    total = float(counts.sum())
    marginals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel() / total
    given, variance, seen, given_up = counts, 1.0, None, None
    if discounts is not None:
        off = discounts[np.minimum(counts.data, 3).astype(np.int64)]
        given = _with_data(counts, np.minimum(off, counts.data))
        variance = float(discounts[1])
        seen = _with_data(counts, (counts.data - given.data) / total)
        given_up = np.asarray(given.sum(axis=1), dtype=np.float64).ravel() / total
    # The low rank of what is given up, or of all.
    space = scaled_singular_space(
        given,
        settings.rank - 1,
        tau=settings.tau,
        variance=variance,
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
    )
    kept = space.n_kept
    left = np.sqrt(space.row_scale)[:, None] * space.left[:, :kept] * space.values[:kept]
    right = np.sqrt(space.column_scale)[:, None] * space.right[:, :kept]
    left, right = np.column_stack([space.rows, left]), np.column_stack([space.columns, right])
    met = np.bincount(counts.indices, minlength=n_columns) + _ADDED
    unsummed = OrderedMatrix(
        left,
        right,
        space.rows,
        space.columns,
        settings.floor,
        np.ones(n_rows),
        marginals,
        met / met.sum(),
        seen,
        given_up,
        total,
    )
    sums = _row_sums(unsummed, settings.n_jobs)
    return replace(unsummed, sums=sums), space


def _row_sums(matrix: OrderedMatrix, n_jobs: int | None) -> np.ndarray:
    """Sums of the rows of the low rank, in tiles: r_i sum_j c_j max(x_ij, floor), x being the multiple of independence."""
    if matrix.left.shape[1] == 1:
        return matrix.row_shares.copy()
    left, right = (
        (side / np.where(share > 0, share, 1.0)[:, None]).astype(np.float32)
        for side, share in ((matrix.left, matrix.row_shares), (matrix.right, matrix.column_shares))
    )
    weights, floor = matrix.column_shares.astype(np.float32), np.float32(matrix.floor)
    out = np.zeros(matrix.size)

    def task(start: int, stop: int) -> None:
        for first in range(0, len(right), _TILE):
            tile = left[start:stop] @ right[first : first + _TILE].T
            np.maximum(tile, floor, out=tile)
            out[start:stop] += tile @ weights[first : first + _TILE]

    with single_blas_thread():
        run_in_chunks(task, len(out), _TILE, n_jobs)
    return out * matrix.row_shares


def _with_data(table: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data.astype(np.float64), table.indices, table.indptr), shape=table.shape)


def ordered_distance(one: OrderedMatrix, other: OrderedMatrix, counts: sparse.csr_array, seed: int) -> float:
    """l1 distance of two matrices, from some cells: half of them drawn among those that were seen, half by frequency."""
    rng = np.random.default_rng(seed)
    cells = counts.tocoo()
    chosen = rng.integers(cells.nnz, size=_DRAWS)
    first, second = np.asarray(counts.sum(axis=1)).ravel(), np.asarray(counts.sum(axis=0)).ravel()
    first, second = first / first.sum(), second / second.sum()
    i = np.append(cells.coords[0][chosen], rng.choice(len(first), _DRAWS, p=first))
    j = np.append(cells.coords[1][chosen], rng.choice(len(second), _DRAWS, p=second))
    seen = np.asarray(counts[i, j]).ravel() > 0
    chance = 0.5 * first[i] * second[j] + 0.5 * seen / cells.nnz
    return float((np.abs(one.entries(i, j) - other.entries(i, j)) / chance).mean())


# --- what held-out pairs say --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldOut:
    """Nats that a held-out pair gains, one in ten, over independent rows and columns.

    Attributes
    ----------
    discounted : bool
        Whether discounts are used.
    gain : float or None
        Of what is used; None where there are too few pairs to hold some out.
    other : float or None
        Of what is not.
    """

    discounted: bool
    gain: float | None = None
    other: float | None = None


def held_out_pairs(counts: sparse.csr_array, settings: OrderedSettings, discount: bool | str) -> HeldOut:
    """Try with discounts and without, or what was asked for, on nine tenths of the pairs."""
    known, rest = split_counts(counts, False, settings.seed, 1 - _HELD_OUT)
    possible = discounts_of(counts) is not None
    if discount is True and not possible:
        raise LatentiaError(
            "discounts are estimated from whole counts: some pairs must occur once, twice and three times.",
            parameter="discount", value=True,
        )  # fmt: skip
    if not (known.nnz and rest.nnz):
        return HeldOut(discount is True)
    alone, _ = ordered_matrix(known, replace(settings, rank=1), None)
    base, gains = alone.log_likelihood(rest), {}
    for discounted in (False, True) if discount == "auto" else (bool(discount),):
        off = discounts_of(known) if discounted else None
        if not discounted or off is not None:
            gains[discounted] = ordered_matrix(known, settings, off)[0].log_likelihood(rest) - base
    best = possible and max(gains, key=lambda each: gains[each], default=True)
    return HeldOut(best, gains.get(best), gains.get(not best))


def ordered_checks(space: ScaledPairs, directions: int, n_pairs: float, error: float, held_out: HeldOut) -> list[Check]:
    """The lines of the evidence table."""
    size = max(len(space.rows), len(space.columns))
    how = "Counts less discounts, and low rank for the rest" if held_out.discounted else "The low rank alone"
    other = "" if held_out.other is None else f" The other way gains {held_out.other:.3g}."
    lines = [
        Check(
            "expected error", "|B - B'|_1", error, at_most(_TRUSTED),
            "Expected l1 error (0 to 2), from fits on halves of the pairs; above 1 most of the probability is on wrong "
            "pairs.", "not in the paper", "verdict",
            "Most of the probability is on wrong pairs: more pairs are needed, or leave rare words out.",
        ),
        Check(
            "better than independent pairs", "nats a pair", held_out.gain, above(0),
            "How much more probable held-out pairs are, one in ten, than by the frequencies of rows and columns. "
            f"{how}.{other}",
            "not in the paper", "veto",
            "Pairs are predicted no better than by frequencies: do not use this matrix.",
        ),
        Check(
            "directions kept", "s_k > e", float(space.n_kept), equal_to(directions),
            f"Singular values above the edge of the noise at {space.edge:.2g}. The others are dropped: if all are kept, a "
            "higher rank may find more.", "section 2",
        ),
        Check(
            "pairs per word", "N / M", n_pairs / size, at_least(1), "The sample size of the theorem is of the order of M.",
            "Theorem 1.5", "verdict",
        ),
        Check(
            "unseen rows and columns", "r_i = 0, c_j = 0",
            float((space.rows == 0).sum() + (space.columns == 0).sum()), None, "They have no pairs.", "section 2",
        ),
    ]  # fmt: skip
    if directions and not space.n_kept and not held_out.discounted:
        meaning = "Beyond their frequencies rows say nothing about columns: the matrix is that of independent pairs."
        lines.append(Check("structure", "s_1 > e", 0.0, at_least(1), meaning, "section 2", "veto"))
    return lines
