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

MOST_IN_TENSORS = 64
"""Columns of both views whose fourth moments, in four groups of rows, fit into a gigabyte."""

FOLD_SEED = 0
"""Seed of the groups of rows: the answer comes from products of groups, and must not hang on ``random_state``."""

_MOST_ENTRIES = 1 << 22  # of a joint cumulant
_MOST_IN_MEMORY = 1 << 27  # numbers in views that are wider, of which all pairs of rows are looked at
_SINGULAR = 1e-10
_FEWEST_ROWS = 8


def two_views(estimator: Any, U: Any, V: Any, y: Any = None, *, reset: bool = True, target: bool = False) -> Blocks:
    """Blocks with the parts U, V and, where there is a target, y; with ``reset`` the estimator remembers widths and names."""
    if isinstance(U, Blocks):
        needed = 2 + target
        if V is not None or y is not None:
            raise LatentiaError("U is blocks and the others are tables: make blocks of all, Blocks.from_array(U, V).")
        if len(U.shapes) < needed:
            raise LatentiaError(
                f"These blocks have {len(U.shapes)} parts: {needed} are needed, {'U, V and y' if target else 'U and V'}."
            )
        names = ["U", "V", "y"][: len(U.shapes)]
        blocks = finite_blocks(table_blocks(estimator, U, reset=reset, sparse=False), range(len(names)), names)
    else:
        last = [target_column(y)[:, None]] if target else []  # before V: it may have been given in its place
        if V is None:
            raise LatentiaError("A second view is needed: give V, a table with as many rows as U.")
        first = table_blocks(estimator, U, reset=reset, sparse=False, min_rows=_FEWEST_ROWS if reset else 1)
        tables = [first.table(), view_table(V, "V"), *last]
        check_same_rows(**{name: len(table) for name, table in zip("UVy", tables, strict=False)})
        blocks = Blocks.from_array(*tables, names=first.names)
    width, of_v = blocks.shapes[1][1], getattr(V, "columns", None)
    names_v = None if of_v is None else [str(name) for name in of_v]
    if reset:
        estimator.n_features_v_, estimator._v_names = width, names_v
        if blocks.n_rows < _FEWEST_ROWS:
            raise LatentiaError(
                f"The data has {blocks.n_rows} rows: fourth cumulants of halves need at least {_FEWEST_ROWS}."
            )
    elif width != estimator.n_features_v_:
        raise LatentiaError(f"V has {width} features and the model was fitted on {estimator.n_features_v_}.")
    elif names_v and estimator.column_names_v and names_v != list(estimator.column_names_v):
        known = estimator.column_names_v
        place = next(i for i, name in enumerate(names_v) if name != known[i])
        raise LatentiaError(
            f"Column {place} of V is {names_v[place]!r}, and was {known[place]!r} in the fit: give its columns, in its order."
        )
    return blocks


def check_shape(n: int, widths: Sequence[int], orders: Sequence[int]) -> None:
    """Raise, before any pass, for n rows of views so wide that cumulants of these orders cannot be used."""
    d_u, d_v = widths[:2]
    d = d_u + d_v
    if n <= d:
        raise LatentiaError(
            f"The views have {d:,} columns together and {n:,} rows: with no more rows than columns their covariance is "
            f"singular. Reduce each view to far fewer than {max(n // 2, 1):,} columns, by PCA for example, or use more rows."
        )
    if d <= MOST_IN_TENSORS:
        return
    if n * d > _MOST_IN_MEMORY:
        raise LatentiaError(
            f"The views have {d:,} columns and {n:,} rows: with more than {MOST_IN_TENSORS} columns at most "
            f"{_MOST_IN_MEMORY // d:,} rows are compared with each other. Reduce the columns first, by PCA of each view, "
            "or take a sample of the rows."
        )
    if 3 in orders and d_u * d_v * d > MAX_ENTRIES:
        raise LatentiaError(
            f"Views of {d_u:,} and {d_v:,} columns have third cumulants of {d_u * d_v * d:,} entries, and at most "
            f"{MAX_ENTRIES:,} are computed. Reduce the views first, by PCA of each, or use order=4."
        )


def view_table(table: Any, name: str) -> np.ndarray:
    """A dense table of numbers, shape (n, D)."""
    return np.asarray(number_table(table, name, sparse_allowed=False))


def target_column(y: Any, numbers: bool = True) -> np.ndarray:
    """The target, shape (n,): numbers, or classes of any kind; none may be missing or infinite."""
    if y is None:
        raise LatentiaError(
            "A target is needed: give y, a value for every row, after both views, (U, V, y), or by its name."
        )
    try:
        column = column_or_1d(y, warn=False)
    except (ValueError, TypeError) as error:
        raise LatentiaError(f"y: {error}") from error
    if numbers:
        return view_table(column[:, None], "y")[:, 0]
    lost = ~np.isfinite(column) if column.dtype.kind == "f" else [is_missing(value) for value in column]
    if np.any(lost):
        raise LatentiaError(
            f"Row {int(np.argmax(lost))} of y is missing or infinite, and a class is needed. Drop such rows."
        )
    return np.asarray(column)


# --- joint moments ------------------------------------------------------------------------------------------------


class Grams(NamedTuple):
    """Gram matrices of an unfolded cross-cumulant M, columns in u and v: the whole, and its parts.

    With M_g from the rows of group g alone, M_g^T M_h of two groups has the signal only, and M_g^T M_g the noise as well.

    Attributes
    ----------
    whole : ndarray of shape (D, D)
        M^T M.
    signal, noise : ndarray of shape (D, D)
        Unbiased estimates of its two parts.
    pairs : ndarray of shape (n_pairs, D, D)
        M_g^T M_h of every pair of groups, whose mean is ``signal``.
    """

    whole: np.ndarray
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
    """Joint moments of two views, and of a target, in four groups of rows. Make them with `of_blocks` or `of_sums`.

    Columns are brought to unit variance, so that units do not matter. With at most 64 columns all moments up to the fourth are
    kept; with more the rows themselves are, and Gram matrices come from pairs of rows.

    Parameters
    ----------
    columns : sequence of ColumnMoments
        Of U, V and perhaps y.
    folds : Folds
        Four groups of rows.
    """

    n_passes = 2
    _sums: np.ndarray
    _rows: np.ndarray | None = None
    _groups: np.ndarray

    def __init__(self, columns: Sequence[ColumnMoments], folds: Folds) -> None:
        check_constant(columns[:2], "UV")
        if any((one.variance == 0).any() for one in columns[2:]):
            raise LatentiaError("y is constant: there is nothing to predict.")
        self.widths = tuple(len(one.mean) for one in columns)
        self.center = np.concatenate([one.mean for one in columns])
        self.scale = np.sqrt(np.concatenate([one.variance for one in columns]))
        self.folds = folds
        d = self.n_views = self.widths[0] + self.widths[1]
        self.u, self.v, self.y = slice(0, self.widths[0]), slice(self.widths[0], d), slice(d, len(self.center))
        self._statistic = FourthMoments(Coordinates(self.center, np.diag(1 / self.scale)), folds)
        self._sums_of: dict[tuple[int, ...], JointSums] = {}
        self._last: tuple[tuple[int, ...], KStatistics] | None = None
        self._grams: dict[tuple[int, bool], np.ndarray] = {}

    @classmethod
    def of_blocks(cls, blocks: Blocks, folds: Folds, **options: Any) -> JointMoments:
        """Of blocks of U, V and perhaps y: two passes. Options are those of `accumulate`."""
        self, joined = cls(all_column_moments(blocks, **options), folds), dense_rows(blocks)
        if self.n_views <= MOST_IN_TENSORS:
            self._sums = accumulate(joined, self._statistic, **options)
        else:
            coordinates = self._statistic.coordinates
            found = [(folds.of(block.rows), coordinates(block[0])[:, :-1]) for block in joined]
            self._rows = np.vstack([rows for _, rows in found])
            self._groups = np.concatenate([groups for groups, _ in found]).astype(int)
            _check_groups(np.bincount(self._groups, minlength=folds.n))
        return self._whitened()

    @classmethod
    def of_sums(cls, sums: FramedSums, widths: tuple[int, int]) -> JointMoments:
        """Of sums over rows of (u, v), or (u, v, y), of views that are so wide."""
        check_shape(sums.n_rows, widths, [])
        whole, ends = sums.columns, np.cumsum([0, *widths, len(sums.center) - sum(widths)])
        columns = [
            ColumnMoments(whole.n, whole.mean[a:b], whole.variance[a:b]) for a, b in itertools.pairwise(ends) if a < b
        ]
        self = cls(columns, Folds())
        self._sums = sums.to_coordinates(self._statistic.coordinates)
        return self._whitened()

    def _whitened(self) -> JointMoments:
        whole = self.of(self.folds.all).covariance
        self._whitening = [whitener(whole[one, one], name) for one, name in ((self.u, "U"), (self.v, "V"))]
        return self

    def of(self, groups: tuple[int, ...]) -> JointSums:
        """Of the rows of some groups."""
        if groups not in self._sums_of:
            if self._rows is None:
                sums = self._statistic.of(self._sums, groups)
                found = JointSums(sums.n, sums.mean, sums.covariance * (sums.n / max(sums.n - 1, 1)))
            else:
                rows = self._rows[np.isin(self._groups, groups)]
                found = JointSums(len(rows), rows.mean(axis=0), np.atleast_2d(np.cov(rows.T)))
            self._sums_of[groups] = found
        return self._sums_of[groups]

    def _statistics(self, groups: tuple[int, ...]) -> KStatistics:
        """Those of the groups that were asked for last are kept."""
        if self._last is None or self._last[0] != groups:
            self._last = groups, KStatistics(self._statistic.of(self._sums, groups))
        return self._last[1]

    def tensor(self, groups: tuple[int, ...], order: int, basis: np.ndarray | None = None) -> np.ndarray:
        """Third or fourth k-statistic of (u, v), or of their product with a basis of shape (D, b), as a full tensor."""
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
        """kappa_4 of every column of u and v over its variance squared, of all rows whose moments are kept, shape (D,)."""
        fourth = self._statistics(self.folds.all).fourth
        place = np.diag(fourth.where)[: self.n_views]
        return fourth.packed[place, place]

    @property
    def keeps_fourth(self) -> bool:
        """Whether fourth moments are kept, not rows."""
        return self._rows is None

    def keeps(self, order: int) -> bool:
        """Whether `tensor` has the joint cumulant of this order, of all columns of both views."""
        return self.n_views**order <= _MOST_ENTRIES and (order == 3 or self._rows is None)

    def _tensor_of_rows(self, groups: tuple[int, ...], order: int, basis: np.ndarray | None) -> np.ndarray:
        d = self.n_views if basis is None else basis.shape[1]
        if order > 3 or d**3 > _MOST_ENTRIES:
            raise LatentiaError(
                f"Cumulants of order {order} of {d} columns are too large: reduce the views first, by PCA of each."
            )
        assert self._rows is not None
        rows = self._rows[np.isin(self._groups, groups)][:, : self.n_views]
        rows = rows if basis is None else rows @ basis
        return cross_cumulant([rows], (0, 0, 0))

    def grams(self, groups: tuple[int, ...], order: int, whitened: bool = True) -> Grams:
        """Of the cross-cumulants whose modes but the last have both views; those modes are whitened, or in the units of the
        data.

        Whitened: kappa_3(v, u, .), or kappa_4(v, u, u, .) above kappa_4(v, v, u, .). Otherwise the paper's kappa_4(v, u, u, .).
        """
        if (order, whitened) not in self._grams:
            self._grams[order, whitened] = self._between_groups(order, whitened)
        chosen, g = self._grams[order, whitened][np.ix_(groups, groups)], len(groups)
        total, own = chosen.sum(axis=(0, 1)), np.einsum("aaxy->xy", chosen)
        pairs = np.array([(chosen[a, b] + chosen[b, a]) / 2 for a in range(g) for b in range(a)])
        signal = pairs.mean(axis=0) if len(pairs) else np.zeros_like(total)
        return Grams(total / g**2, signal, (own / g - signal) / g, pairs)

    def _between_groups(self, order: int, whitened: bool) -> np.ndarray:
        """M_g^T M_h for all groups, shape (G, G, D, D)."""
        d, u, v = self.n_views, self.u, self.v
        of_u, of_v = self._whitening if whitened else (np.diag(self.scale[u]), np.diag(self.scale[v]))
        if self._rows is not None:
            rows = self._rows[:, :d]
            x, z = rows[:, u] @ of_u, rows[:, v] @ of_v
            if order == 4:
                found = FourthGram()((z, x, x), rows, self._groups)
                return found + FourthGram()((z, z, x), rows, self._groups) if whitened else found
            some = [self._groups == g for g in self.folds.all]
            unfolded = [cross_cumulant([z[of], x[of], rows[of]]).reshape(-1, d) for of in some]
        else:
            basis = np.zeros((d, d))
            basis[u, u], basis[v, v] = of_u, of_v
            back = np.linalg.inv(basis)
            unfolded = []
            for g in self.folds.all:
                tensor = self.tensor((g,), order, basis)
                blocks = [tensor[v, u]] if order == 3 else [tensor[v, u, u], *([tensor[v, v, u]] if whitened else [])]
                unfolded.append(np.vstack([block.reshape(-1, d) for block in blocks]) @ back)
        return np.array([[one.T @ other for other in unfolded] for one in unfolded])


def dense_rows(blocks: Blocks) -> Blocks:
    """All parts side by side, as one dense table."""

    def joined(block: Block) -> list[np.ndarray]:
        if any(sparse.issparse(part) for part in block):
            raise LatentiaError("A view is sparse: cumulants need dense tables. Use its array.")
        return [np.hstack([np.asarray(part) for part in block])]

    return blocks.map(joined, [(blocks.n_rows, sum(shape[1] for shape in blocks.shapes))])


def check_constant(columns: Sequence[ColumnMoments], names: Sequence[str], more: str = "") -> None:
    """Refuse views, by these names, with a column that is the same in all rows."""
    for name, one in zip(names, columns, strict=True):
        constant = np.flatnonzero(one.variance == 0)
        if len(constant):
            raise LatentiaError(f"Column {constant[0]} of {name} is constant, over all {one.n} rows: remove it{more}.")


def whitener(covariance: np.ndarray, name: str) -> np.ndarray:
    """W with W^T S W = I, for the covariance of a view of this name; refuses a singular one."""
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= _SINGULAR * values[-1]:
        most = np.argsort(-np.abs(vectors[:, 0]))[:3]
        raise LatentiaError(
            f"The covariance of {name} is singular: columns {', '.join(map(str, sorted(most)))} and perhaps others depend on "
            "each other linearly. Remove one of them, or reduce the view by PCA."
        )
    return np.asarray(vectors / np.sqrt(values))


def _check_groups(counts: np.ndarray) -> None:
    if counts.min() < 4:
        raise LatentiaError(
            f"A quarter of the rows has {counts.min()} of them: there are too few for fourth cumulants of parts of the data."
        )
