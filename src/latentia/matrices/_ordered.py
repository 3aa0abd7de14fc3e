"""Ordered pairs: a low-rank matrix, or discounted counts plus a low-rank matrix for the discounts.

The low-rank model is B = r c^T + D_r^1/2 U s V^T D_c^1/2, with the scaled singular triplets of the counts
(`latentia.matrices._scaled_pairs`), with ``floor`` r c^T as the lower limit of entries.

If the same pairs come again and again, as neighbouring words do, no low rank fits. Then a count c is reduced by D_c, as in
modified Kneser-Ney smoothing (Chen and Goodman 1999, with the discounts of equation 17),

    Y = n_1 / (n_1 + 2 n_2),        D_c = c - (c + 1) Y n_(c+1) / n_c    for c = 1, 2, and 3 for all above,

where n_c is the number of pairs with count c; the low rank distributes the total discount m_i of row i:

    B_ij = [c_ij - D_ij + m_i (.95 L_ij + .05 k_j)] / N,

where L is the low rank *of the discounts*, with rows that sum to one, and k_j the share of column j in all pairs of a row and a
column that occur together. The discounts of rare pairs have the variance D_1 times their mean, those of frequent pairs less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from .. import _fields as of
from ..evidence import Check, above, equal_to
from ..evidence.limits import MAX_TOTAL_ERROR
from ..exceptions import LatentiaError
from ..moments import split_counts
from ..system.threads import run_in_chunks, single_blas_thread
from ._checks import pairs_note, total_error_check
from ._scaled_pairs import SingularSpace, compute_singular_space

_TILE = 512
_HELD_OUT_SHARE, _DRAWS = 0.1, 50_000
_LOW_RANK = 0.95  # share of the discounts for the low rank; the rest goes to columns by their number of partners
_ADDED = 0.3  # added to counts of columns or rows, so that unobserved ones are not impossible
_SMOOTHING = 0.01  # share of the smoothed marginals in likelihoods, without discounts


@dataclass(frozen=True)
class AsymmetricMatrix:
    """B of shape (M_rows, M_columns).

    Attributes
    ----------
    row_factors, column_factors : ndarray of shape (M_rows, k) and (M_columns, k)
        The low rank is row_factors @ column_factors.T, raised to ``floor`` times the product of the shares.
    row_shares, column_shares : ndarray
        Marginals of the counts, or discounts, behind the low rank.
    floor : float
    sums : ndarray of shape (M_rows,)
        Sums of the rows of the low rank.
    marginals : ndarray of shape (M_rows,)
        Share of each row in all pairs.
    continuation : ndarray of shape (M_columns,)
        k.
    discounted : csr_array, optional
        (c - D) / N; None without discounts.
    given_up : ndarray of shape (M_rows,), optional
        m / N.
    n_pairs : float
        N.
    """

    row_factors: Annotated[np.ndarray, of.numbers("V R")]
    column_factors: Annotated[np.ndarray, of.numbers("W R")]
    row_shares: Annotated[np.ndarray, of.shares("V")]
    column_shares: Annotated[np.ndarray, of.shares("W")]
    floor: Annotated[float, of.number(0.0)]
    sums: Annotated[np.ndarray, of.numbers("V", 0.0)]
    marginals: Annotated[np.ndarray, of.shares("V")]
    continuation: Annotated[np.ndarray, of.shares("W")]
    discounted: Annotated[sparse.csr_array | None, of.sparse_matrix("V W", low=0.0, high=1.0)] = None
    given_up: Annotated[np.ndarray | None, of.numbers("V", 0.0)] = None
    n_pairs: Annotated[float, of.number(0.0)] = 1.0

    # The interface of `SymmetricMatrix` and `LowRankProduct`.

    @property
    def factored(self) -> AsymmetricMatrix:
        return self

    @property
    def scale(self) -> float:
        return 1.0

    @property
    def size(self) -> int:
        return len(self.row_factors)

    @property
    def width(self) -> int:
        return len(self.column_factors)

    def row_sums(self, n_jobs: int | None = None) -> np.ndarray:
        """Return the sums of the rows of B."""
        return self.sums / self.sums.sum() if self.discounted is None else self.marginals

    def entries(self, i: Any, j: Any) -> np.ndarray:
        """Return the entries (i, j) of B, for arrays that broadcast."""
        i, j = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        return self._entries(i.ravel(), j.ravel()).reshape(i.shape)

    def _entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        low = np.einsum("nk,nk->n", self.row_factors[i], self.column_factors[j])
        low = np.maximum(low, self.floor * self.row_shares[i] * self.column_shares[j])
        if self.discounted is None or self.given_up is None:
            return low / self.sums.sum()
        sums = self.sums[i]
        low = np.where(sums > 0, low / np.where(sums > 0, sums, 1.0), self.column_shares[j])
        rest = self.given_up[i] * (_LOW_RANK * low + (1 - _LOW_RANK) * self.continuation[j])
        return np.asarray(self.discounted[i, j]).ravel() + rest

    def rows(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        """Return rows i of B, (n, M_columns), or some of their columns."""
        low = self._low(i, columns)
        if self.discounted is None or self.given_up is None:
            return low / self.sums.sum()
        sums = self.sums[i][:, None]
        low = np.where(sums > 0, low / np.where(sums > 0, sums, 1.0), self.column_shares[columns])
        rest = self.given_up[i][:, None] * (_LOW_RANK * low + (1 - _LOW_RANK) * self.continuation[columns])
        return np.asarray(self.discounted[i][:, columns].toarray() + rest)

    def log_likelihood(self, counts: sparse.csr_array, marginals: Any = None) -> float:
        """Return the mean log-probability of a pair; unobserved rows and columns are not impossible."""
        cells = counts.tocoo()
        n_rows, n_columns = self.size, self.width
        i, j = cells.coords
        added = _ADDED / n_rows if self.discounted is None else _ADDED / self.n_pairs
        first = (self.marginals + added) / (1 + added * n_rows)
        total = 0.0
        for start in range(0, cells.nnz, 1 << 19):
            part = slice(start, start + (1 << 19))
            a, b = i[part], j[part]
            probabilities = self.entries(a, b)
            if self.discounted is None:
                second = (self.column_shares[b] + _ADDED / n_columns) / (1 + _ADDED)
                chance = (1 - _SMOOTHING) * probabilities + _SMOOTHING * first[a] * second
            else:  # an unobserved row has the average continuation
                row_marginals = self.marginals[a]
                is_observed = row_marginals > 0
                chance = first[a] * np.where(
                    is_observed, probabilities / np.where(is_observed, row_marginals, 1.0), self.continuation[b]
                )
            total += float(cells.data[part] @ np.log(chance))
        return total / float(cells.sum())

    def _low(self, i: Any, columns: slice = slice(None)) -> np.ndarray:
        limits = self.floor * self.row_shares[i][:, None] * self.column_shares[columns]
        return np.asarray(np.maximum(self.row_factors[i] @ self.column_factors[columns].T, limits))

    def check(self) -> None:
        """Raise a `LatentiaError` where fields do not fit together."""
        if (self.discounted is None) is not (self.given_up is None):
            raise LatentiaError("_matrix.discounted and _matrix.given_up do not fit together")
        for name, values in (("sums", self.sums), ("marginals", self.marginals)):  # divisors of entries
            if not values.any() or values[values > 0].min() < of.MIN_MAGNITUDE:
                raise LatentiaError(f"_matrix.{name} are zero")


@dataclass(frozen=True)
class AsymmetricSettings:
    """Parameters of an estimate, common to all parts of the pairs."""

    rank: int
    tau: float
    floor: float
    seed: int
    n_jobs: int | None


def estimate_discounts(counts: sparse.csr_array) -> np.ndarray | None:
    """Estimate D for counts of 0, 1, 2 and more, shape (4,); return None if no pair has a count of 1, of 2 or of 3."""
    if counts.dtype.kind == "f" and not (np.rint(counts.data) == counts.data).all():
        return None
    n = [int((counts.data == c).sum()) for c in (1, 2, 3, 4)]
    if min(n[:3]) < 1:
        return None
    share = n[0] / (n[0] + 2 * n[1])
    discounts = [c - (c + 1) * share * n[c] / n[c - 1] for c in (1, 2, 3)]
    return np.append(0.0, np.clip(discounts, 0.05, [1.0, 2.0, 3.0]))


def fit_asymmetric(
    counts: sparse.csr_array, settings: AsymmetricSettings, discounts: np.ndarray | None
) -> tuple[AsymmetricMatrix, SingularSpace]:
    """Fit B to all counts or, with discounts, to the discounted counts; return it and its singular space."""
    n_rows, n_columns = counts.shape
    total = float(counts.sum())
    marginals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel() / total
    given_counts, variance, discounted, given_up = counts, 1.0, None, None
    if discounts is not None:
        cell_discounts = discounts[np.minimum(counts.data, 3).astype(np.int64)]
        given_counts = _replace_data(counts, np.minimum(cell_discounts, counts.data))
        variance = float(discounts[1])
        discounted = _replace_data(counts, (counts.data - given_counts.data) / total)
        given_up = np.asarray(given_counts.sum(axis=1), dtype=np.float64).ravel() / total
    # The low rank of the discounts, or of all counts.
    space = compute_singular_space(
        given_counts,
        settings.rank - 1,
        tau=settings.tau,
        variance=variance,
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
    )
    n_kept = space.n_kept
    left_factor = np.sqrt(space.row_scale)[:, None] * space.left_vectors[:, :n_kept] * space.values[:n_kept]
    right_factor = np.sqrt(space.column_scale)[:, None] * space.right_vectors[:, :n_kept]
    left_factor, right_factor = (
        np.column_stack([space.rows, left_factor]),
        np.column_stack([space.columns, right_factor]),
    )
    n_partners = np.bincount(counts.indices, minlength=n_columns) + _ADDED
    matrix = AsymmetricMatrix(
        left_factor,
        right_factor,
        space.rows,
        space.columns,
        settings.floor,
        np.ones(n_rows),
        marginals,
        n_partners / n_partners.sum(),
        discounted,
        given_up,
        total,
    )
    sums = _compute_row_sums(matrix, settings.n_jobs)
    return replace(matrix, sums=sums), space


def _compute_row_sums(matrix: AsymmetricMatrix, n_jobs: int | None) -> np.ndarray:
    """Return row sums of the low rank, in tiles: r_i sum_j c_j max(x_ij, floor), where x is the multiple of independence."""
    if matrix.row_factors.shape[1] == 1:
        return matrix.row_shares.copy()
    left_ratios, right_ratios = (
        (side / np.where(share > 0, share, 1.0)[:, None]).astype(np.float32)
        for side, share in ((matrix.row_factors, matrix.row_shares), (matrix.column_factors, matrix.column_shares))
    )
    weights, floor = matrix.column_shares.astype(np.float32), np.float32(matrix.floor)
    out = np.zeros(matrix.size)

    def task(start: int, stop: int) -> None:
        for first in range(0, len(right_ratios), _TILE):
            tile = left_ratios[start:stop] @ right_ratios[first : first + _TILE].T
            np.maximum(tile, floor, out=tile)
            out[start:stop] += tile @ weights[first : first + _TILE]

    with single_blas_thread():
        run_in_chunks(task, len(out), _TILE, n_jobs)
    return out * matrix.row_shares


def _replace_data(table: sparse.csr_array, data: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array((data.astype(np.float64), table.indices, table.indptr), shape=table.shape)


def estimate_asymmetric_distance(
    first_matrix: AsymmetricMatrix, second_matrix: AsymmetricMatrix, counts: sparse.csr_array, seed: int
) -> float:
    """Estimate the l1 distance of two matrices from random cells: half of them observed cells, half drawn by frequency."""
    rng = np.random.default_rng(seed)
    cells = counts.tocoo()
    chosen = rng.integers(cells.nnz, size=_DRAWS)
    first, second = np.asarray(counts.sum(axis=1)).ravel(), np.asarray(counts.sum(axis=0)).ravel()
    first, second = first / first.sum(), second / second.sum()
    i = np.append(cells.coords[0][chosen], rng.choice(len(first), _DRAWS, p=first))
    j = np.append(cells.coords[1][chosen], rng.choice(len(second), _DRAWS, p=second))
    is_observed = np.asarray(counts[i, j]).ravel() > 0
    chance = 0.5 * first[i] * second[j] + 0.5 * is_observed / cells.nnz
    return float((np.abs(first_matrix.entries(i, j) - second_matrix.entries(i, j)) / chance).mean())


# --- choice by held-out pairs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiscountChoice:
    """Choice of discounts by held-out pairs, one in ten: gains in nats a pair over independent rows and columns.

    Attributes
    ----------
    discounted : bool
        True if discounts are used.
    gain : float or None
        Gain of the chosen model; None if there are too few pairs to hold some out.
    alternative_gain : float or None
        Gain of the other model.
    """

    discounted: bool
    gain: float | None = None
    alternative_gain: float | None = None


def choose_discounts(counts: sparse.csr_array, settings: AsymmetricSettings, discount: bool | str) -> DiscountChoice:
    """Compare models with and without discounts (or only the requested one), fitted on nine tenths of the pairs."""
    training, rest = split_counts(counts, False, settings.seed, 1 - _HELD_OUT_SHARE)
    possible = estimate_discounts(counts) is not None
    if discount is True and not possible:
        raise LatentiaError(
            "expected whole counts with some pairs that occur once, twice and three times, for discounts.",
            parameter="discount", value=True,
        )  # fmt: skip
    if not (training.nnz and rest.nnz):
        return DiscountChoice(discount is True)
    alone, _ = fit_asymmetric(training, replace(settings, rank=1), None)
    base, gains = alone.log_likelihood(rest), {}
    for discounted in (False, True) if discount == "auto" else (bool(discount),):
        training_discounts = estimate_discounts(training) if discounted else None
        if not discounted or training_discounts is not None:
            gains[discounted] = fit_asymmetric(training, settings, training_discounts)[0].log_likelihood(rest) - base
    best = possible and max(gains, key=lambda choice: gains[choice], default=True)
    return DiscountChoice(best, gains.get(best), gains.get(not best))


def asymmetric_checks(
    space: SingularSpace, directions: int, n_pairs: float, error: float, held_out: DiscountChoice
) -> list[Check]:
    """Return the lines of the evidence table."""
    size = max(len(space.rows), len(space.columns))
    method = "Counts less discounts, and low rank for the rest" if held_out.discounted else "The low rank alone"
    alternative = (
        "" if held_out.alternative_gain is None else f" The other model gains {held_out.alternative_gain:.3g}."
    )
    lines = [
        total_error_check(
            error, MAX_TOTAL_ERROR, "From fits on halves of the pairs; above 1 most of the probability is on wrong pairs.",
            "not in the paper", "Most of the probability is on wrong pairs: give more pairs, or leave rare words out.",
        ),
        Check(
            "better than independent pairs", "nats a pair", held_out.gain, above(0),
            "Gain in log-probability of held-out pairs, one in ten, over the frequencies of rows and columns alone. "
            f"{method}.{alternative}",
            "not in the paper", "veto",
            "Pairs are predicted no better than by frequencies: do not use this matrix.",
        ),
        Check(
            "directions kept", "s_k > e", float(space.n_kept), equal_to(directions),
            f"Singular values above the edge of the noise at {space.edge:.2g}; the others are dropped. If all are kept, a "
            "higher rank may find more.", "section 2",
        ),
        pairs_note(n_pairs / size),
        Check(
            "unseen rows and columns", "r_i = 0, c_j = 0",
            float((space.rows == 0).sum() + (space.columns == 0).sum()), None, "They have no pairs.", "section 2",
        ),
    ]  # fmt: skip
    return lines
