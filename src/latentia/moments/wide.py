"""Sums over rows of many columns: moments in the coordinates of a frame, and what tells whether new rows lie outside of it.

Moments of D columns take D^3 or D^4 numbers. Of wide tables they are kept in few coordinates y = B^T (x - c), the leading
principal directions of half of the first rows, which stay as they are: the frame. Beside them sums over all rows of

    (x - c) y^T,  |x - c|^2 y,  (x - c)^2

are kept, which tell means and variances of all columns, and how columns hang on the coordinates. Rows far out are added one by
one in twice the precision, as in `latentia.moments.framed`, and are read there in an order of their own, so that each has the
same coordinates whatever comes with it.

What lies outside of the frame is s = S^T (x - c - B y). As long as rows come from one source, its covariance given y stays the
same. The other half of the first rows, which had no part in the frame, says what it is, as far as it has not been forgotten. A
new component adds variance in some direction: it is looked for in one half of the later rows, and measured in the other half
and in the first rows.

Up to 512 columns S is the identity, of more it adds up columns with signs, by a hash of their numbers, so that no D x D matrix
appears: M. Charikar, K. Chen, M. Farach-Colton, Finding frequent items in data streams, ICALP 2002.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._threads import Parallel
from ..exceptions import LatentiaError
from ..passes import Block, Blocks, RowGroups, accumulate
from ..passes.blocks import mixed_bits
from . import twofold
from .additive import WIDEST
from .framed import FARTHEST, FramedSums
from .products import CHUNK
from .vectors import (
    ColumnMoments,
    Coordinates,
    centred_product,
    column_moments,
    dense_table,
    principal_coordinates,
    squared_distances,
)

_BUCKETS = 512  # columns, or sums of columns, whose products are kept outside of the frame
_FIRST_HALF = (0, 1)  # groups
_FIRST = 2  # place of the first rows among the products
_ORDINARY = 4.0  # times the variance of the first rows, beyond which coordinates are added up in order
_NEAR = 64.0  # root of the variance of the first rows, within which rows are summed by matrix products
_IN_TWO = ("sketch", "energy", "squares", "products")  # sums that are kept in twice the precision
_ROWS_A_DIRECTION = 4  # of the first rows, at least
_LOOKED_AT = 12  # leading directions outside of the frame
_LEAST_RISE, _DEVIATIONS = 0.1, 4.0  # of a variance, that is let pass, or so many of its standard deviations
_ROUNDING = 1e-9  # of all variance
_GAUSSIAN = 3.0  # kurtosis


@dataclass(frozen=True)
class Frame:
    """Directions of the first rows, and what these say of the rest.

    Attributes
    ----------
    center : ndarray of shape (D,)
    basis : ndarray of shape (D, b)
        B, orthonormal.
    spread : float
        Variance of the first rows, in all columns.
    """

    center: Annotated[np.ndarray, of.numbers("V")]
    basis: Annotated[np.ndarray, of.numbers("V Q")]
    spread: Annotated[float, of.number(0.0)]

    @property
    def coordinates(self) -> Coordinates:
        return Coordinates(self.center, self.basis)

    def places(self, table: Any) -> np.ndarray:
        """(y, 1) of the rows of a table; those out of the ordinary are the same whatever rows are beside them."""
        y = self.coordinates(table)
        some = np.flatnonzero(squared_distances(table, self.center) > _ORDINARY * self.spread)
        if len(some):
            y[some, :-1] = twofold.products_in_order(dense_table(table[some]) - self.center, self.basis)
        return y

    @cached_property
    def buckets(self) -> sparse.csr_array:
        """S, (D, q): a column in a bucket, with a sign; each in its own where there are few."""
        width = len(self.center)
        numbers = mixed_bits(np.arange(1, width + 1, dtype=np.uint64))
        places = np.arange(width) if width <= _BUCKETS else (numbers >> np.uint64(1)) % np.uint64(_BUCKETS)
        signs = np.where(numbers & np.uint64(1), 1.0, -1.0) if width > _BUCKETS else np.ones(width)
        return sparse.csr_array((signs, (np.arange(width), places.astype(np.int64))), (width, min(width, _BUCKETS)))

    @cached_property
    def _inside(self) -> np.ndarray:
        """S^T (c, B), (q, b + 1)."""
        return np.asarray(self.buckets.T @ np.column_stack([self.basis, self.center]))

    def outside(self, table: Any, y: np.ndarray) -> np.ndarray:
        """s of the rows of a table, (n, q), with their coordinates (y, 1)."""
        if sparse.issparse(table):
            return (table @ self.buckets).toarray() - y @ self._inside.T
        left = table - self.center - y[:, :-1] @ self.basis.T
        return left if left.shape[1] <= _BUCKETS else np.asarray((self.buckets.T @ left.T).T)

    def check_reach(self, rows: np.ndarray) -> None:
        """Raise for a row so far out that it could not be forgotten without a trace."""
        distances = np.sqrt(squared_distances(rows, self.center) / max(self.spread, of.LEAST))
        if len(rows) and distances.max() > FARTHEST:
            raise LatentiaError(
                f"A row is {distances.max():.1g} times as far from the mean as the first rows are: beyond {FARTHEST:.1g} times "
                "kept sums lose the digits of other rows, and it could not be forgotten again. Drop or clip such rows, or fit "
                "without keep_moments."
            )

    def is_that_of(self, other: Frame) -> bool:
        return np.array_equal(self.center, other.center) and np.array_equal(self.basis, other.basis)


class _Beside(NamedTuple):
    """What is added up beside the moments: of groups of rows, of all, of halves of later rows and of the first ones."""

    sketch: np.ndarray
    energy: np.ndarray
    squares: np.ndarray
    products: np.ndarray
    fourth: np.ndarray


class _BesideMoments:
    """In-place statistic: `_Beside`, and the rows far out as they are, each with its group and its part of the products.

    Parameters
    ----------
    frame : Frame
    dealt : RowGroups
    members : ndarray of int, optional
        Hashes of the first rows; by default all are such rows.
    """

    def __init__(self, frame: Frame, dealt: RowGroups, members: np.ndarray | None) -> None:
        self.frame, self.dealt, self.members = frame, dealt, members

    def zero(self) -> tuple[_Beside, list[np.ndarray], list[np.ndarray]]:
        (width, b), g = self.frame.basis.shape, self.dealt.n
        q = self.frame.buckets.shape[1]
        shapes = (g, width, b + 1), (g, b + 1), (width,), (3, q + b + 1, q + b + 1), (q,)
        return _Beside(*(np.zeros(shape) for shape in shapes)), [np.empty((0, width))], [np.empty((0, 2), np.int64)]

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        near, far, kinds = state
        table, kind = block[0], np.column_stack([self.dealt.of(block.rows), self._parts(block.rows)]).astype(np.int64)
        is_far = squared_distances(table, self.frame.center) > _NEAR**2 * self.frame.spread
        if is_far.any():
            far, kinds = [*far, dense_table(table[is_far])], [*kinds, kind[is_far]]
        for g, part in np.unique(kind[~is_far], axis=0):
            rows = np.flatnonzero(~is_far & (kind == (g, part)).all(axis=1))
            for a in range(0, len(rows), CHUNK):
                self._add(near, table[rows[a : a + CHUNK]], g, part)
        return near, far, kinds

    def merge(self, first: Any, second: Any) -> Any:
        return _Beside(*map(np.add, first[0], second[0])), first[1] + second[1], first[2] + second[2]

    def _parts(self, rows: np.ndarray) -> np.ndarray:
        """Which products each row is in: 0 or 1, a half of later rows, 2, the first ones; -1 where it chose the directions."""
        late = ~np.isin(self.dealt.of(rows), _FIRST_HALF)
        first = np.full(len(rows), self.members is None)
        if self.members is not None and self.dealt.leaders is not None:
            first = np.isin(self.dealt.leaders[rows], self.members)
        return np.where(first, np.where(late, 2, -1), late)

    def _add(self, state: _Beside, table: Any, group: int, part: int) -> None:
        frame = self.frame
        y = frame.places(table)
        state.sketch[group] += centred_product(table, frame.center, y)
        state.energy[group] += squared_distances(table, frame.center) @ y
        state.squares[:] += _squares(table, frame.center)
        if part >= 0:
            s = frame.outside(table, y)
            rows = np.hstack([s, y])
            state.products[part] += rows.T @ rows
            state.fourth[:] += (s**4).sum(axis=0) * (part == _FIRST)

    def add_far(self, state: _Beside, rows: np.ndarray, kinds: np.ndarray) -> _Beside:
        """Add rows one by one, in place; what their sums round away, in arrays of the same shapes."""
        rest = _Beside(*(np.zeros_like(part) for part in state))
        for x, (group, part) in zip(rows, kinds, strict=True):
            left = x - self.frame.center
            y = np.append(twofold.products_in_order(left[None], self.frame.basis), 1.0)
            energy = twofold.products_in_order(left[None], left[:, None])[0]
            _add_one(state.sketch[group], rest.sketch[group], left, y)
            _add_one(state.energy[group][None], rest.energy[group][None], energy, y)
            state.squares[:], rest.squares[:] = twofold.add(
                (state.squares, rest.squares), twofold.multiply_floats(left, left)
            )
            if part >= 0:
                apart = left - twofold.products_in_order(y[None, :-1], np.ascontiguousarray(self.frame.basis.T))[0]
                s = apart if len(apart) <= _BUCKETS else self.frame.buckets.T @ apart
                _add_one(state.products[part], rest.products[part], *[np.append(s, y)] * 2)
                state.fourth[:] += s**4 * (part == _FIRST)
        return rest


def _add_one(sums: np.ndarray, rest: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    twofold.add_outer(sums, rest, left, np.zeros_like(left), right, np.zeros_like(right))


def _squares(table: Any, center: np.ndarray) -> np.ndarray:
    """sum_n (x_n - c)^2 of every column."""
    if not sparse.issparse(table):
        return np.asarray(((table - center) ** 2).sum(axis=0))
    numbers = table.astype(np.float64, copy=False)
    sums, squares = (np.asarray(one.sum(axis=0)).ravel() for one in (numbers, numbers.multiply(numbers)))
    return squares - 2 * center * sums + table.shape[0] * center**2


class Outside(NamedTuple):
    """How later rows vary outside of a frame, beside the first rows.

    Attributes
    ----------
    n_rows : int
        Later rows.
    shares : tuple of float
        Of the variance of the first rows, and of later ones, that their coordinates do not tell.
    rise : float
        How much more later rows vary than the first ones in a direction, as a share of the variance of these.
    limit : float
        What chance allows.
    """

    n_rows: int
    shares: tuple[float, float]
    rise: float
    limit: float


@dataclass(frozen=True)
class WideSums:
    """Sums of moments in the coordinates of a frame, and beside them.

    Attributes
    ----------
    frame : Frame
    inside : FramedSums
        Of the coordinates y.
    sketch : ndarray of shape (4, D, b + 1)
        Sums of (x - c) (y, 1)^T.
    energy : ndarray of shape (4, b + 1)
        Sums of |x - c|^2 (y, 1).
    squares : ndarray of shape (D,)
        Sums of (x - c)^2.
    products : ndarray of shape (3, q + b + 1, q + b + 1)
        Sums of products of (s, y, 1): of later rows, in two halves, and of the first rows that had no part in the directions.
    fourth : ndarray of shape (q,)
        Of the latter: sums of s^4.
    rest : dict of ndarray
        What ``sketch``, ``energy``, ``squares`` and ``products`` round away.
    members, copies : ndarray of int
        Hashes of the first rows, in order, and how often each is there.
    """

    frame: Frame
    inside: FramedSums
    sketch: Annotated[np.ndarray, of.numbers("* V *")]
    energy: Annotated[np.ndarray, of.numbers("* *")]
    squares: Annotated[np.ndarray, of.numbers("V")]
    products: Annotated[np.ndarray, of.numbers("* S S")]
    fourth: Annotated[np.ndarray, of.numbers("*", 0.0)]
    rest: Annotated[dict[str, np.ndarray], of.numbers("...")]
    members: Annotated[np.ndarray, of.Field("*", ("int64",))]
    copies: Annotated[np.ndarray, of.Field("*", ("int64",), 0)]

    @classmethod
    def of_blocks(
        cls, blocks: Blocks, order: int, dealt: RowGroups, n_directions: int, like: Self | None = None, **options: Any
    ) -> Self:
        """Of the rows of the first part, in the frame of others where these are given: two passes, or seven."""
        frame = _frame_of(blocks, dealt, n_directions, options) if like is None else like.frame
        mapped = blocks.map(lambda block: [frame.places(block[0])[:, :-1]], [(blocks.n_rows, frame.basis.shape[1])])
        inside = FramedSums.of_blocks(mapped, order, dealt, None if like is None else like.inside, np.inf, **options)
        statistic = _BesideMoments(frame, dealt, None if like is None else like.members)
        beside, rows, kinds = accumulate(blocks, statistic, **options)
        frame.check_reach(rows := np.vstack(rows))
        rest = statistic.add_far(beside, rows, np.vstack(kinds))
        leaders = np.empty(0, np.int64) if dealt.leaders is None else dealt.leaders
        members, copies = np.unique(leaders, return_counts=True)
        known = np.ones(len(members), bool) if like is None else np.isin(members, like.members)
        return cls(
            frame=frame, inside=inside, **beside._asdict(), rest={name: getattr(rest, name) for name in _IN_TWO},
            members=members[known], copies=copies[known],
        )  # fmt: skip

    @property
    def n_rows(self) -> int:
        return self.inside.n_rows

    @property
    def n_bytes(self) -> int:
        arrays = (
            self.frame.basis,
            self.members,
            self.copies,
            *(getattr(self, name) for name in _IN_TWO),
            *self.rest.values(),
        )
        return self.inside.n_bytes + sum(one.nbytes for one in arrays)

    @property
    def columns(self) -> ColumnMoments:
        """Means and variances of all columns."""
        n, square = self.n_rows, self.squares / self.n_rows
        mean = self.sketch[..., -1].sum(axis=0) / n
        variance = np.maximum(square - mean**2, 0.0)
        variance[variance <= 1e-14 * square] = 0.0
        return ColumnMoments(n, self.frame.center + mean, variance)

    def principal(self, n_columns: int, slack: float = 1.0) -> Coordinates:
        """About the mean, the leading directions within the frame."""
        self._check_directions(n_columns)
        basis = self.frame.basis @ self.inside.principal(n_columns, 1.0).basis
        return Coordinates(self.columns.mean, basis)

    def within(self, coordinates: Coordinates) -> np.ndarray:
        """The sums of moments in other coordinates (C^T (x - m), 1), whose basis C lies in the frame."""
        frame = self.frame.basis
        center = frame.T @ (coordinates.center - self.frame.center)
        return self.inside.within(Coordinates(center, frame.T @ coordinates.basis))

    def vectors(self, n_columns: int) -> tuple[Coordinates, tuple[np.ndarray, ...]]:
        """Coordinates, and sums as `VectorMoments` has them."""
        self._check_directions(n_columns)
        return self.frame.coordinates, (self.within(self.frame.coordinates), self.energy, self.sketch)

    def _check_directions(self, needed: int) -> None:
        if needed > self.frame.basis.shape[1]:
            raise LatentiaError(
                f"Moments are kept in a frame of {self.frame.basis.shape[1]} directions, and {needed} are needed for that many "
                "components: begin anew with a first batch."
            )

    def lift(self, coordinates: Coordinates) -> np.ndarray:
        """From principal coordinates back to all columns, by least squares over the rows: (D, b)."""
        frame, n = self.frame.basis, self.n_rows
        second, mean = self.sketch.sum(axis=0) / n, self.columns.mean - self.frame.center
        covariance = self.inside.covariance
        left = second[:, :-1] - np.outer(mean, mean @ frame) - frame @ covariance
        return (frame + left @ np.linalg.pinv(covariance, _ROUNDING, hermitian=True)) @ (frame.T @ coordinates.basis)

    def plus(self, other: Self, sign: int = 1) -> Self:
        if not self.frame.is_that_of(other.frame):
            raise LatentiaError(
                "The models keep moments in different frames, the directions of the first rows of each. Begin with one: load "
                "the same saved model of some first rows at every site, add the site's rows, merge, and forget the first rows "
                "for each site but one."
            )
        rest: dict[str, np.ndarray] = {}
        added: dict[str, Any] = {}
        for name in _IN_TWO:
            added[name], rest[name] = twofold.add(
                (getattr(self, name), self.rest[name]), (sign * getattr(other, name), sign * other.rest[name])
            )
        members, places = np.unique(np.append(self.members, other.members), return_inverse=True)
        copies = np.bincount(places, np.append(self.copies, sign * other.copies), len(members)).astype(np.int64)
        if (copies < 0).any():
            raise LatentiaError("Rows are to be forgotten that are not all among those of the model.")
        fourth = np.maximum(self.fourth + sign * other.fourth, 0.0)
        there = copies > 0
        added |= {"rest": rest, "members": members[there], "copies": copies[there]}
        return replace(self, inside=self.inside.plus(other.inside, sign), fourth=fourth, **added)

    def outside(self) -> Outside | None:
        """The variance of later rows outside of the frame; None where there are too few.

        Directions are those in which one half of the later rows varies most; how much the other half does is compared with the
        first rows. Of both ways the lesser one counts.
        """
        b, first = self.frame.basis.shape[1], self.products[_FIRST]
        halves = [(half, float(half[-1, -1])) for half in self.products[:_FIRST]]
        if min(first[-1, -1], *(n for _, n in halves)) <= 2 * (b + 1):
            return None
        total, found = _spread(first), []
        for (one, _), (other, n) in (halves, halves[::-1]):
            directions = np.linalg.eigh(_given(one, b))[1][:, -_LOOKED_AT:]
            before, after = (
                np.einsum("ij,ik,kj->j", directions, _given(part, b), directions) for part in (first, other)
            )
            before += _ROUNDING * total
            noise = np.sqrt((self._kurtosis(directions, before) - 1) * (1 / first[-1, -1] + 1 / n))
            rise, limit = after / before - 1, np.maximum(_LEAST_RISE, _DEVIATIONS * noise)
            at = int(np.argmax(rise / limit))
            found.append((rise[at] / limit[at], float(rise[at]), float(limit[at])))
        _, rise, limit = min(found)
        later = self.products[:_FIRST].sum(axis=0)
        before, after = (float(np.trace(_given(part, b))) / max(_spread(part), of.LEAST) for part in (first, later))
        return Outside(round(float(later[-1, -1])), (before, after), rise, limit)

    def _kurtosis(self, directions: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Of the first rows along directions, as of independent columns: that of most of them, and what single ones add."""
        first = self.products[_FIRST]
        n = first[-1, -1]
        second, fourth = np.diag(first)[: len(directions)] / n, self.fourth / n
        usual = (
            max(_GAUSSIAN, float(np.median(fourth[second > 0] / second[second > 0] ** 2)))
            if second.any()
            else _GAUSSIAN
        )
        more = (fourth - usual * second**2) @ directions**4
        return usual + np.maximum(more, 0.0) / np.maximum(variance, of.LEAST) ** 2


def _frame_of(blocks: Blocks, dealt: RowGroups, n_directions: int, options: dict[str, Any]) -> Frame:
    """The leading principal directions of half of the rows."""
    if n_directions > WIDEST:
        raise LatentiaError(
            f"The rows have {blocks.shapes[0][1]} columns, and {n_directions} directions of them are needed for that many "
            f"components: moments are kept of at most {WIDEST}. Ask for {n_directions - WIDEST} components fewer, or fit "
            "without keep_moments."
        )
    half, needed = blocks.group(_FIRST_HALF, dealt), _ROWS_A_DIRECTION * n_directions
    if half.n_rows < needed // 2:
        raise LatentiaError(
            f"The first batch has {blocks.n_rows} rows, from which the {n_directions} directions are chosen in which moments "
            f"of wide tables are kept: begin with a batch of {needed} different rows at least."
        )
    columns = column_moments(blocks, **options)
    coordinates, _ = principal_coordinates(half, n_directions, columns.mean, slack=1.0, **options)
    return Frame(columns.mean, np.ascontiguousarray(coordinates.basis), float(columns.variance.sum()))


def _centred(products: np.ndarray) -> np.ndarray:
    """Sums of products of (s, y) about their mean."""
    return np.asarray(products[:-1, :-1] - np.outer(products[-1, :-1], products[-1, :-1]) / products[-1, -1])


def _spread(products: np.ndarray) -> float:
    """Variance of the rows, in all columns."""
    return float(np.trace(_centred(products))) / (products[-1, -1] - 1)


def _given(products: np.ndarray, b: int) -> np.ndarray:
    """Covariance of s given y, (q, q)."""
    about = _centred(products)
    ss, sy, yy = about[:-b, :-b], about[:-b, -b:], about[-b:, -b:]
    return np.asarray((ss - sy @ np.linalg.pinv(yy, _ROUNDING, hermitian=True) @ sy.T) / (products[-1, -1] - b - 1))
