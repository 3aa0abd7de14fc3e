"""The two views as data: aligned blocks, and their joint moments up to the fourth in groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, column_or_1d

from .._validation import check_sizes, finite_blocks, refuse_dates, table_blocks
from ..exceptions import LatentiaError
from ..moments import (
    ColumnMoments,
    Coordinates,
    FourthGram,
    FourthMoments,
    FourthSums,
    all_column_moments,
    k_factors,
)
from ..passes import Blocks, RowGroups, accumulate, deal

__all__ = ["MOST_IN_TENSORS", "Grams", "JointMoments", "JointSums", "two_views", "view_table"]

MOST_IN_TENSORS = 64
"""Columns of both views whose fourth moments, in four groups of rows, fit into a gigabyte."""

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
        blocks = table_blocks(estimator, U, reset=reset, sparse=False)
        tables = None
    else:
        if V is None:
            raise LatentiaError("A second view is needed: give V, a table with as many rows as U.")
        first = table_blocks(estimator, U, reset=reset, sparse=False, min_rows=_FEWEST_ROWS if reset else 1)
        tables = [first.table(), view_table(V, "V")]
        if target:
            tables.append(_target(y))
        for name, table in zip("Vy", tables[1:], strict=False):
            if len(table) != first.n_rows:
                raise LatentiaError(
                    f"{name} has {len(table)} rows and U {first.n_rows}: views need the same rows, in the same order."
                )
        blocks = Blocks.from_array(*tables, names=first.names)
    width = blocks.shapes[1][1]
    if reset:
        estimator.n_features_v_ = width
        names = getattr(V, "columns", None)
        estimator._v_names = None if names is None else [str(name) for name in names]
        if blocks.n_rows < _FEWEST_ROWS:
            raise LatentiaError(
                f"The data has {blocks.n_rows} rows: fourth cumulants of halves need at least {_FEWEST_ROWS}."
            )
    elif width != estimator.n_features_v_:
        raise LatentiaError(f"V has {width} features and the model was fitted on {estimator.n_features_v_}.")
    return (
        finite_blocks(blocks, range(len(blocks.shapes)), ["U", "V", "y"][: len(blocks.shapes)])
        if tables is None
        else blocks
    )


def view_table(table: Any, name: str) -> np.ndarray:
    """A dense table of numbers, shape (n, D)."""
    refuse_dates(table)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(check_array(table, dtype=np.float64, input_name=name))
    except (ValueError, OverflowError) as error:
        raise LatentiaError(f"{name}: {error}") from error
    check_sizes(found, f" of {name}")
    return found


def _target(y: Any) -> np.ndarray:
    """A column of numbers."""
    if y is None:
        raise LatentiaError("A target is needed: give y, a number for every row.")
    try:
        column = np.asarray(column_or_1d(y, warn=False), dtype=np.float64)
    except ValueError as error:
        raise LatentiaError(f"y: {error}") from error
    return view_table(column[:, None], "y")


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
    """Joint moments of two views, and of a target, in four groups of rows: three passes.

    Columns are brought to unit variance, so that units do not matter. With at most 64 columns all moments up to the fourth are
    kept; with more the rows themselves are, and Gram matrices come from pairs of rows.

    Parameters
    ----------
    blocks : Blocks of U, V and perhaps y
    seed : int
    options : dict
        Of `accumulate`.
    """

    def __init__(self, blocks: Blocks, seed: int, **options: Any) -> None:
        columns = all_column_moments(blocks, **options)
        _check_columns(columns)
        self.widths = tuple(len(one.mean) for one in columns)
        self.center = np.concatenate([one.mean for one in columns])
        self.scale = np.sqrt(np.concatenate([one.variance for one in columns]))
        self.dealt: RowGroups = deal(blocks, seed)
        d = self.n_views = self.widths[0] + self.widths[1]
        self.u, self.v, self.y = slice(0, self.widths[0]), slice(self.widths[0], d), slice(d, len(self.center))
        self._rows: Any = None
        coordinates = Coordinates(self.center, np.diag(1 / self.scale))
        joined = blocks.map(
            lambda block: [np.hstack([_dense(part) for part in block])], [(blocks.n_rows, len(self.center))]
        )
        self._fourth: dict[tuple[int, ...], FourthSums] = {}
        if d <= MOST_IN_TENSORS:
            self._statistic = FourthMoments(coordinates, self.dealt)
            self._sums = accumulate(joined, self._statistic, **options)
        elif blocks.n_rows * d <= _MOST_IN_MEMORY:
            found = [(self.dealt.of(block.rows), coordinates(block[0])[:, :-1]) for block in joined]
            self._rows = np.vstack([rows for _, rows in found])
            self._groups = np.concatenate([groups for groups, _ in found]).astype(int)
            _check_groups(np.bincount(self._groups, minlength=self.dealt.n))
        else:
            raise LatentiaError(
                f"The views have {d} columns and {blocks.n_rows:,} rows: with more than {MOST_IN_TENSORS} columns at most "
                f"{_MOST_IN_MEMORY // d:,} rows are compared with each other. Reduce the columns first, by PCA of each view, "
                "or take a sample of the rows."
            )
        self.n_passes = 2
        whole = self.of(self.dealt.all).covariance
        self._whitening = [_whitener(whole[one, one], name) for one, name in ((self.u, "U"), (self.v, "V"))]
        self._grams: dict[tuple[int, bool], np.ndarray] = {}

    def of(self, groups: tuple[int, ...]) -> JointSums:
        """Of the rows of some groups."""
        if self._rows is None:
            sums = self._sums_of(groups)
            return JointSums(sums.n, sums.mean, sums.covariance * (sums.n / max(sums.n - 1, 1)))
        rows = self._rows[np.isin(self._groups, groups)]
        return JointSums(len(rows), rows.mean(axis=0), np.atleast_2d(np.cov(rows.T)))

    def _sums_of(self, groups: tuple[int, ...]) -> FourthSums:
        if groups not in self._fourth:
            self._fourth[groups] = self._statistic.of(self._sums, groups)
        return self._fourth[groups]

    def tensor(self, groups: tuple[int, ...], order: int, basis: np.ndarray | None = None) -> np.ndarray:
        """Third or fourth k-statistic of (u, v), or of their product with a basis of shape (D, b), as a full tensor."""
        if self._rows is not None:
            return self._tensor_of_rows(groups, order, basis)
        sums, d = self._sums_of(groups), self.n_views
        matrix = np.zeros((len(self.center), d if basis is None else basis.shape[1]))
        matrix[:d] = np.eye(d) if basis is None else basis
        k = matrix.shape[1]
        if order == 4:
            moment, pairs = k_factors(sums.n)
            about = np.vstack([matrix, -(sums.mean @ matrix)])
            spread = matrix.T @ sums.covariance @ matrix
            i, j = np.triu_indices(k)
            packed = moment * sums.fourth.project(about).packed
            packed -= pairs * np.outer(spread[i, j], spread[i, j])
            packed -= pairs * spread[i][:, i] * spread[j][:, j]
            packed -= pairs * spread[i][:, j] * spread[j][:, i]
            place = np.empty((k, k), int)
            place[i, j] = place[j, i] = np.arange(len(i))
            return packed[place[:, :, None, None], place[None, None]]
        if sums.n < 3:
            raise LatentiaError(f"Third cumulants need at least 3 rows, and there are {sums.n}.")
        about = np.zeros((len(self.center) + 1, k + 1))
        about[:-1, :k], about[-1, :k], about[-1, -1] = matrix, -(sums.mean @ matrix), 1.0
        central = sums.fourth.project(about)
        i, j = np.triu_indices(k + 1)
        place = np.empty((k + 1, k + 1), int)
        place[i, j] = place[j, i] = np.arange(len(i))
        third = central.packed[place[:k, :k, None], place[:k, k]]
        return third * (sums.n**2 / ((sums.n - 1) * (sums.n - 2)))

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
        rows = self._rows[np.isin(self._groups, groups)][:, : self.n_views]
        rows = rows if basis is None else rows @ basis
        return _third(rows, rows, rows).reshape(d, d, d)

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
            unfolded = [_third(z[of], x[of], rows[of]) for of in (self._groups == g for g in self.dealt.all)]
        else:
            basis = np.zeros((d, d))
            basis[u, u], basis[v, v] = of_u, of_v
            back = np.linalg.inv(basis)
            unfolded = []
            for g in self.dealt.all:
                tensor = self.tensor((g,), order, basis)
                blocks = [tensor[v, u]] if order == 3 else [tensor[v, u, u], *([tensor[v, v, u]] if whitened else [])]
                unfolded.append(np.vstack([block.reshape(-1, d) for block in blocks]) @ back)
        return np.array([[one.T @ other for other in unfolded] for one in unfolded])


def _dense(part: Any) -> np.ndarray:
    if sparse.issparse(part):
        raise LatentiaError("A view is sparse: cumulants need dense tables. Use its array.")
    return np.asarray(part)


def _third(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The third k-statistic kappa_3(p, q, x), unfolded to (d_p d_q, D)."""
    n = len(x)
    p, q, x = p - p.mean(axis=0), q - q.mean(axis=0), x - x.mean(axis=0)
    found = np.vstack([(p[:, i : i + 1] * q).T @ x for i in range(p.shape[1])])
    return found * (n / ((n - 1) * (n - 2)))


def _check_columns(columns: list[ColumnMoments]) -> None:
    for name, one in zip("UVy", columns, strict=False):
        constant = np.flatnonzero(one.variance == 0)
        if len(constant):
            what = "y is constant" if name == "y" else f"Column {constant[0]} of {name} is constant"
            raise LatentiaError(
                f"{what}, over all {one.n} rows: {'there is nothing to predict' if name == 'y' else 'remove it'}."
            )


def _check_groups(counts: np.ndarray) -> None:
    if counts.min() < 4:
        raise LatentiaError(
            f"A quarter of the rows has {counts.min()} of them: there are too few for fourth cumulants of parts of the data."
        )


def _whitener(covariance: np.ndarray, name: str) -> np.ndarray:
    """W with W^T S W = I; refuses a singular covariance."""
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= _SINGULAR * values[-1]:
        most = np.argsort(-np.abs(vectors[:, 0]))[:3]
        raise LatentiaError(
            f"The covariance of {name} is singular: columns {', '.join(map(str, sorted(most)))} and perhaps others depend on "
            "each other linearly. Remove one of them, or reduce the view by PCA."
        )
    return np.asarray(vectors / np.sqrt(values))
