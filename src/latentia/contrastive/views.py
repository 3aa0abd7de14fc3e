"""The two views as data: aligned blocks, and their joint moments up to the fourth in groups of rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d

from .._entries import is_missing
from .._validation import check_same_rows, finite_blocks, number_table, table_blocks
from ..exceptions import LatentiaError
from ..moments import (
    ColumnMoments,
    Coordinates,
    FourthGram,
    FourthMoments,
    FramedSums,
    KStatistics,
    all_column_moments,
    cross_cumulant,
)
from ..moments.cumulants import MAX_ENTRIES
from ..passes import Block, Blocks, Folds, accumulate
from ..tensor import apply_to_modes

MAX_TENSOR_COLUMNS = 64
"""Columns of both views whose fourth moments, in four groups of rows, fit into a gigabyte."""

FOLD_SEED = 0
"""Seed of the groups of rows: the answer comes from products of groups, and must not depend on ``random_state``."""

_MAX_ENTRIES = 1 << 22  # entries of a joint cumulant
_MAX_NUMBERS_IN_MEMORY = 1 << 27  # numbers in wide views, which are kept to compare all pairs of rows
_SINGULAR = 1e-10  # eigenvalues below this share of the largest count as zero
_MIN_ROWS = 8


def two_views(estimator: Any, U: Any, V: Any, y: Any = None, *, reset: bool = True, target: bool = False) -> Blocks:
    """Return Blocks with the parts U, V and perhaps a target y; with ``reset`` the estimator remembers widths and names."""
    if isinstance(U, Blocks):
        n_parts = 2 + target
        if V is not None or y is not None:
            raise LatentiaError("U is Blocks and the others are tables. Make Blocks of all: Blocks.from_array(U, V).")
        if len(U.shapes) < n_parts:
            raise LatentiaError(
                f"These Blocks have {len(U.shapes)} parts; expected {n_parts}, {'U, V and y' if target else 'U and V'}."
            )
        names = ["U", "V", "y"][: len(U.shapes)]
        blocks = finite_blocks(table_blocks(estimator, U, reset=reset, sparse=False), range(len(names)), names)
    else:
        target_table = (
            [target_column(y)[:, None]] if target else []
        )  # checked before V, as it may have been passed in place of V
        if V is None:
            raise LatentiaError("Expected a second view: give V, a table with as many rows as U.")
        first_view = table_blocks(estimator, U, reset=reset, sparse=False, min_rows=_MIN_ROWS if reset else 1)
        tables = [first_view.table(), view_table(V, "V"), *target_table]
        check_same_rows(**{name: len(table) for name, table in zip("UVy", tables, strict=False)})
        blocks = Blocks.from_array(*tables, names=first_view.names)
    width, columns_v = blocks.shapes[1][1], getattr(V, "columns", None)
    names_v = None if columns_v is None else [str(name) for name in columns_v]
    if reset:
        estimator.n_features_v_, estimator._v_names = width, names_v
        if blocks.n_rows < _MIN_ROWS:
            raise LatentiaError(
                f"The data has {blocks.n_rows} rows; fourth cumulants of halves need at least {_MIN_ROWS}."
            )
    elif width != estimator.n_features_v_:
        raise LatentiaError(f"V has {width} columns; the model was fitted on {estimator.n_features_v_}.")
    elif names_v and estimator.column_names_v and names_v != list(estimator.column_names_v):
        fitted_names = estimator.column_names_v
        position = next(i for i, name in enumerate(names_v) if name != fitted_names[i])
        raise LatentiaError(
            f"Column {position} of V is {names_v[position]!r}, and was {fitted_names[position]!r} in the fit. Give the "
            "columns of the fit, in the same order."
        )
    return blocks


def check_shape(n: int, widths: Sequence[int], orders: Sequence[int]) -> None:
    """Raise, before any pass, if n rows are too few or views too wide for cumulants of these orders."""
    d_u, d_v = widths[:2]
    d = d_u + d_v
    if n <= d:
        raise LatentiaError(
            f"The views have {d:,} columns together and {n:,} rows: with no more rows than columns their covariance is "
            f"singular. Reduce each view to far fewer than {max(n // 2, 1):,} columns, by PCA for example, or use more rows."
        )
    if d <= MAX_TENSOR_COLUMNS:
        return
    if n * d > _MAX_NUMBERS_IN_MEMORY:
        raise LatentiaError(
            f"The views have {d:,} columns and {n:,} rows: with more than {MAX_TENSOR_COLUMNS} columns at most "
            f"{_MAX_NUMBERS_IN_MEMORY // d:,} rows are compared with each other. Reduce the columns first, by PCA of each "
            "view, or take a sample of the rows."
        )
    if 3 in orders and d_u * d_v * d > MAX_ENTRIES:
        raise LatentiaError(
            f"Views of {d_u:,} and {d_v:,} columns have third cumulants of {d_u * d_v * d:,} entries, and at most "
            f"{MAX_ENTRIES:,} are computed. Reduce the views first, by PCA of each, or use order=4."
        )


def view_table(table: Any, name: str) -> np.ndarray:
    """Return a dense table of numbers, shape (n, D)."""
    return np.asarray(number_table(table, name, sparse_allowed=False))


def target_column(y: Any, numbers: bool = True) -> np.ndarray:
    """Return the checked target, shape (n,): numbers, or classes of any kind; none may be missing or infinite."""
    if y is None:
        raise LatentiaError(
            "Expected a target: give y, a value for every row, after both views, (U, V, y), or by its name."
        )
    try:
        column = column_or_1d(y, warn=False)
    except (ValueError, TypeError) as error:
        raise LatentiaError(f"y: {error}") from error
    if numbers:
        return view_table(column[:, None], "y")[:, 0]
    is_unusable = ~np.isfinite(column) if column.dtype.kind == "f" else [is_missing(value) for value in column]
    if np.any(is_unusable):
        raise LatentiaError(
            f"Row {int(np.argmax(is_unusable))} of y is missing or infinite; expected a class. Drop such rows."
        )
    return np.asarray(column)


# --- joint moments ------------------------------------------------------------------------------------------------


class Grams(NamedTuple):
    """Gram matrices of an unfolded cross-cumulant M, columns in u and v: signal and noise, and each by itself.

    With M_g from the rows of group g alone, M_g^T M_h of two groups has the signal only, and M_g^T M_g the noise as well.

    Attributes
    ----------
    total : ndarray of shape (D, D)
        M^T M.
    signal, noise : ndarray of shape (D, D)
        Unbiased estimates of its two parts.
    pairs : ndarray of shape (n_pairs, D, D)
        M_g^T M_h of every pair of groups, whose mean is ``signal``.
    """

    total: np.ndarray
    signal: np.ndarray
    noise: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True)
class JointSums:
    """Mean and unbiased covariance of some rows, in units of the columns' standard deviations: u first, then v, then y."""

    n: int
    mean: np.ndarray
    covariance: np.ndarray


class JointMoments:
    """Joint moments of two views, and of a target, in four groups of rows. Make them with `from_blocks` or `from_sums`.

    Columns are brought to unit variance, so that units do not matter. With at most 64 columns all moments up to the fourth are
    kept; with more the rows themselves are, and Gram matrices come from pairs of rows.

    Parameters
    ----------
    columns : sequence of ColumnMoments
        Moments of U, V and perhaps y.
    folds : Folds
        Four groups of rows.
    """

    n_passes = 2
    _sums: np.ndarray
    _rows: np.ndarray | None = None
    _groups: np.ndarray

    def __init__(self, columns: Sequence[ColumnMoments], folds: Folds) -> None:
        check_constant(columns[:2], "UV")
        if any((moments.variance == 0).any() for moments in columns[2:]):
            raise LatentiaError("y is constant: there is nothing to predict.")
        self.widths = tuple(len(moments.mean) for moments in columns)
        self.center = np.concatenate([moments.mean for moments in columns])
        self.scale = np.sqrt(np.concatenate([moments.variance for moments in columns]))
        self.folds = folds
        d = self.n_views = self.widths[0] + self.widths[1]
        self.u, self.v, self.y = slice(0, self.widths[0]), slice(self.widths[0], d), slice(d, len(self.center))
        self._statistic = FourthMoments(Coordinates(self.center, np.diag(1 / self.scale)), folds)
        self._sums_of: dict[tuple[int, ...], JointSums] = {}
        self._last: tuple[tuple[int, ...], KStatistics] | None = None
        self._grams: dict[tuple[int, bool], np.ndarray] = {}

    @classmethod
    def from_blocks(cls, blocks: Blocks, folds: Folds, **options: Any) -> JointMoments:
        """Compute from blocks of U, V and perhaps y, in two passes. Options are those of `accumulate`."""
        self, joined = cls(all_column_moments(blocks, **options), folds), dense_rows(blocks)
        if self.n_views <= MAX_TENSOR_COLUMNS:
            self._sums = accumulate(joined, self._statistic, **options)
        else:
            coordinates = self._statistic.coordinates
            pieces = [(folds.of(block.rows), coordinates(block[0])[:, :-1]) for block in joined]
            self._rows = np.vstack([rows for _, rows in pieces])
            self._groups = np.concatenate([groups for groups, _ in pieces]).astype(int)
            _check_groups(np.bincount(self._groups, minlength=folds.n))
        return self._set_whitening()

    @classmethod
    def from_sums(cls, sums: FramedSums, widths: tuple[int, int]) -> JointMoments:
        """Compute from sums over rows of (u, v), or (u, v, y), for views of these widths."""
        check_shape(sums.n_rows, widths, [])
        moments, ends = sums.columns, np.cumsum([0, *widths, len(sums.center) - sum(widths)])
        columns = [
            ColumnMoments(moments.n, moments.mean[a:b], moments.variance[a:b])
            for a, b in itertools.pairwise(ends)
            if a < b
        ]
        self = cls(columns, Folds())
        self._sums = sums.to_coordinates(self._statistic.coordinates)
        return self._set_whitening()

    def _set_whitening(self) -> JointMoments:
        covariance = self.group_sums(self.folds.all).covariance
        self._whitening = [whitener(covariance[view, view], name) for view, name in ((self.u, "U"), (self.v, "V"))]
        return self

    def group_sums(self, groups: tuple[int, ...]) -> JointSums:
        """Return mean and covariance of the rows of some groups."""
        if groups not in self._sums_of:
            if self._rows is None:
                sums = self._statistic.of(self._sums, groups)
                group_sums = JointSums(sums.n, sums.mean, sums.covariance * (sums.n / max(sums.n - 1, 1)))
            else:
                rows = self._rows[np.isin(self._groups, groups)]
                group_sums = JointSums(len(rows), rows.mean(axis=0), np.atleast_2d(np.cov(rows.T)))
            self._sums_of[groups] = group_sums
        return self._sums_of[groups]

    def _statistics(self, groups: tuple[int, ...]) -> KStatistics:
        """Return k-statistics of the rows of some groups; the last ones are cached."""
        if self._last is None or self._last[0] != groups:
            self._last = groups, KStatistics(self._statistic.of(self._sums, groups))
        return self._last[1]

    def tensor(self, groups: tuple[int, ...], order: int, basis: np.ndarray | None = None) -> np.ndarray:
        """Return the third or fourth k-statistic of (u, v), or of their product with a basis (D, b), as a full tensor."""
        if self._rows is not None:
            return self._tensor_of_rows(groups, order, basis)
        statistics, views = self._statistics(groups), np.arange(self.n_views)
        if basis is None:
            return statistics.block(*[views] * order)
        if order == 3:
            return np.asarray(apply_to_modes(statistics.block(views, views, views), basis))
        matrix = np.zeros((len(self.center), basis.shape[1]))
        matrix[: self.n_views] = basis
        return statistics.fourth.project(matrix).full()

    def kurtosis(self) -> np.ndarray:
        """Return kappa_4 of every column of u and v over its squared variance, shape (D,)."""
        fourth = self._statistics(self.folds.all).fourth
        place = np.diag(fourth.where)[: self.n_views]
        return fourth.packed[place, place]

    @property
    def keeps_fourth(self) -> bool:
        """True if fourth moments are kept, and not rows."""
        return self._rows is None

    def keeps(self, order: int) -> bool:
        """Return True if `tensor` can compute the joint cumulant of this order, of all columns of both views."""
        return self.n_views**order <= _MAX_ENTRIES and (order == 3 or self._rows is None)

    def _tensor_of_rows(self, groups: tuple[int, ...], order: int, basis: np.ndarray | None) -> np.ndarray:
        d = self.n_views if basis is None else basis.shape[1]
        if order > 3 or d**3 > _MAX_ENTRIES:
            raise LatentiaError(
                f"Cumulants of order {order} of {d} columns are too large: reduce the views first, by PCA of each."
            )
        assert self._rows is not None
        rows = self._rows[np.isin(self._groups, groups)][:, : self.n_views]
        rows = rows if basis is None else rows @ basis
        return cross_cumulant([rows], (0, 0, 0))

    def grams(self, groups: tuple[int, ...], order: int, whitened: bool = True) -> Grams:
        """Return Gram matrices of the cross-cumulants whose modes but the last have both views.

        These modes are whitened, or in the units of the data. Whitened: kappa_3(v, u, .), or kappa_4(v, u, u, .) above
        kappa_4(v, v, u, .). Otherwise the paper's kappa_4(v, u, u, .).
        """
        if (order, whitened) not in self._grams:
            self._grams[order, whitened] = self._compute_group_products(order, whitened)
        chosen, g = self._grams[order, whitened][np.ix_(groups, groups)], len(groups)
        total, within_groups = chosen.sum(axis=(0, 1)), np.einsum("aaxy->xy", chosen)
        pairs = np.array([(chosen[a, b] + chosen[b, a]) / 2 for a in range(g) for b in range(a)])
        signal = pairs.mean(axis=0) if len(pairs) else np.zeros_like(total)
        return Grams(total / g**2, signal, (within_groups / g - signal) / g, pairs)

    def _compute_group_products(self, order: int, whitened: bool) -> np.ndarray:
        """Compute M_g^T M_h for all groups, shape (G, G, D, D)."""
        d, u, v = self.n_views, self.u, self.v
        basis_u, basis_v = self._whitening if whitened else (np.diag(self.scale[u]), np.diag(self.scale[v]))
        if self._rows is not None:
            rows = self._rows[:, :d]
            x, z = rows[:, u] @ basis_u, rows[:, v] @ basis_v
            if order == 4:
                products = FourthGram()((z, x, x), rows, self._groups)
                return products + FourthGram()((z, z, x), rows, self._groups) if whitened else products
            members = [self._groups == g for g in self.folds.all]
            unfolded = [
                cross_cumulant([z[rows_of_group], x[rows_of_group], rows[rows_of_group]]).reshape(-1, d)
                for rows_of_group in members
            ]
        else:
            basis = np.zeros((d, d))
            basis[u, u], basis[v, v] = basis_u, basis_v
            inverse_basis = np.linalg.inv(basis)
            unfolded = []
            for g in self.folds.all:
                tensor = self.tensor((g,), order, basis)
                blocks = [tensor[v, u]] if order == 3 else [tensor[v, u, u], *([tensor[v, v, u]] if whitened else [])]
                unfolded.append(np.vstack([block.reshape(-1, d) for block in blocks]) @ inverse_basis)
        return np.array([[first.T @ second for second in unfolded] for first in unfolded])


def dense_rows(blocks: Blocks) -> Blocks:
    """Join all parts side by side, as one dense table."""

    def join(block: Block) -> list[np.ndarray]:
        if any(sparse.issparse(part) for part in block):
            raise LatentiaError("Expected dense tables; a view is sparse. Use its array.")
        return [np.hstack([np.asarray(part) for part in block])]

    return blocks.map(join, [(blocks.n_rows, sum(shape[1] for shape in blocks.shapes))])


def check_constant(columns: Sequence[ColumnMoments], names: Sequence[str], advice: str = "") -> None:
    """Raise if a view has a column that is the same in all rows."""
    for name, moments in zip(names, columns, strict=True):
        constant = np.flatnonzero(moments.variance == 0)
        if len(constant):
            raise LatentiaError(
                f"Column {constant[0]} of {name} is constant, over all {moments.n} rows: remove it{advice}."
            )


def whitener(covariance: np.ndarray, name: str) -> np.ndarray:
    """Return W with W^T S W = I, for the covariance of a view; raise if it is singular."""
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= _SINGULAR * values[-1]:
        columns = np.argsort(-np.abs(vectors[:, 0]))[:3]
        raise LatentiaError(
            f"The covariance of {name} is singular: columns {', '.join(map(str, sorted(columns)))} and perhaps others depend "
            "on each other linearly. Remove one of them, or reduce the view by PCA."
        )
    return np.asarray(vectors / np.sqrt(values))


def _check_groups(counts: np.ndarray) -> None:
    if counts.min() < 4:
        raise LatentiaError(
            f"A quarter of the rows is {counts.min()} rows: too few for fourth cumulants of parts of the data."
        )
