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
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from .. import _fields as of
from ..exceptions import LatentiaError
from ..passes import Blocks, Folds, accumulate
from . import twofold
from .additive import WIDEST
from .framed import FramedSums
from .frames import FIRST, FIRST_HALF, BesideMoments, Frame
from .span import ColumnSpan, span_of_moments
from .vectors import (
    ColumnMoments,
    Coordinates,
    column_moments,
    principal_coordinates,
)

_IN_TWO = ("sketch", "energy", "squares", "products")  # sums that are kept in twice the precision
_ROWS_A_DIRECTION = 4  # of the first rows, at least
_LOOKED_AT = 12  # leading directions outside of the frame
_LEAST_RISE, _DEVIATIONS = 0.1, 4.0  # of a variance, that is let pass, or so many of its standard deviations
_ROUNDING = 1e-9  # of all variance
_GAUSSIAN = 3.0  # kurtosis


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
        cls, blocks: Blocks, order: int, folds: Folds, n_directions: int, like: Self | None = None, **options: Any
    ) -> Self:
        """Of the rows of the first part, in the frame of others where these are given: two passes, or seven."""
        frame = _frame_of(blocks, folds, n_directions, options) if like is None else like.frame
        mapped = blocks.map(lambda block: [frame.places(block[0])[:, :-1]], [(blocks.n_rows, frame.basis.shape[1])])
        inside = FramedSums.of_blocks(mapped, order, folds, None if like is None else like.inside, np.inf, **options)
        statistic = BesideMoments(frame, folds, None if like is None else like.members)
        beside, rows, kinds = accumulate(blocks, statistic, **options)
        frame.check_reach(rows := np.vstack(rows))
        rest = statistic.add_far(beside, rows, np.vstack(kinds))
        leaders = np.empty(0, np.int64) if folds.leaders is None else folds.leaders
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

    @property
    def span(self) -> ColumnSpan | None:
        """The columns that are not constant; None where these are all, or none. Directions have what others share."""
        columns = self.columns
        return span_of_moments(columns.mean, np.diag(columns.variance))

    def select(self, columns: np.ndarray) -> Self:
        """Of some of the columns alone, with others that are constant, to read moments off."""
        frame = replace(self.frame, center=self.frame.center[columns], basis=self.frame.basis[columns])
        return replace(self, frame=frame, sketch=self.sketch[:, columns], squares=self.squares[columns])

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
            added[name], rest[name] = twofold.add_tables(
                (getattr(self, name), self.rest[name]), (getattr(other, name), other.rest[name]), sign
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
        b, first = self.frame.basis.shape[1], self.products[FIRST]
        halves = [(half, float(half[-1, -1])) for half in self.products[:FIRST]]
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
        later = self.products[:FIRST].sum(axis=0)
        before, after = (
            float(np.trace(_given(part, b))) / max(_spread(part), of.MIN_MAGNITUDE) for part in (first, later)
        )
        return Outside(round(float(later[-1, -1])), (before, after), rise, limit)

    def _kurtosis(self, directions: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Of the first rows along directions, as of independent columns: that of most of them, and what single ones add."""
        first = self.products[FIRST]
        n = first[-1, -1]
        second, fourth = np.diag(first)[: len(directions)] / n, self.fourth / n
        usual = (
            max(_GAUSSIAN, float(np.median(fourth[second > 0] / second[second > 0] ** 2)))
            if second.any()
            else _GAUSSIAN
        )
        more = (fourth - usual * second**2) @ directions**4
        return usual + np.maximum(more, 0.0) / np.maximum(variance, of.MIN_MAGNITUDE) ** 2


def _frame_of(blocks: Blocks, folds: Folds, n_directions: int, options: dict[str, Any]) -> Frame:
    """The leading principal directions of half of the rows."""
    if n_directions > WIDEST:
        raise LatentiaError(
            f"The rows have {blocks.shapes[0][1]} columns, and {n_directions} directions of them are needed for that many "
            f"components: moments are kept of at most {WIDEST}. Ask for {n_directions - WIDEST} components fewer, or fit "
            "without keep_moments."
        )
    half, needed = blocks.group(FIRST_HALF, folds), _ROWS_A_DIRECTION * n_directions
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
