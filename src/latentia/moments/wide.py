"""Sums over rows of many columns: moments in the coordinates of a frame, and a test for new rows outside of it.

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
from .frames import FIRST, FIRST_HALF, Frame, FrameMoments
from .span import ColumnSpan, span_of_moments
from .vectors import (
    ColumnMoments,
    Coordinates,
    column_moments,
    principal_coordinates,
)

_TWOFOLD_SUMS = ("sketch", "energy", "squares", "products")  # sums kept in twice the precision
_MIN_ROWS_PER_DIRECTION = 4  # smallest number of first rows per direction
_N_DIRECTIONS = 12  # number of leading directions outside of the frame that are tested
_MIN_RISE, _MIN_DEVIATIONS = 0.1, 4.0  # tolerated relative rise of a variance, and the same in standard deviations
_ROUNDING = 1e-9  # of all variance
_GAUSSIAN = 3.0  # kurtosis


class Outside(NamedTuple):
    """Variance of later rows outside of a frame, compared with the first rows.

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
    def from_blocks(
        cls, blocks: Blocks, order: int, folds: Folds, n_directions: int, like: Self | None = None, **options: Any
    ) -> Self:
        """Sum the rows of the first part, in the frame of ``like`` if given: two passes, or seven."""
        frame = _choose_frame(blocks, folds, n_directions, options) if like is None else like.frame
        mapped = blocks.map(lambda block: [frame.places(block[0])[:, :-1]], [(blocks.n_rows, frame.basis.shape[1])])
        inside = FramedSums.from_blocks(mapped, order, folds, None if like is None else like.inside, np.inf, **options)
        statistic = FrameMoments(frame, folds, None if like is None else like.members)
        beside, rows, kinds = accumulate(blocks, statistic, **options)
        frame.check_reach(rows := np.vstack(rows))
        rest = statistic.add_far(beside, rows, np.vstack(kinds))
        leaders = np.empty(0, np.int64) if folds.leaders is None else folds.leaders
        members, copies = np.unique(leaders, return_counts=True)
        is_known = np.ones(len(members), bool) if like is None else np.isin(members, like.members)
        return cls(
            frame=frame, inside=inside, **beside._asdict(), rest={name: getattr(rest, name) for name in _TWOFOLD_SUMS},
            members=members[is_known], copies=copies[is_known],
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
            *(getattr(self, name) for name in _TWOFOLD_SUMS),
            *self.rest.values(),
        )
        return self.inside.n_bytes + sum(array.nbytes for array in arrays)

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
        """Return the sums of some columns, besides constant ones, to read moments off."""
        frame = replace(self.frame, center=self.frame.center[columns], basis=self.frame.basis[columns])
        return replace(self, frame=frame, sketch=self.sketch[:, columns], squares=self.squares[columns])

    def principal(self, n_columns: int, slack: float = 1.0) -> Coordinates:
        """About the mean, the leading directions within the frame."""
        self._check_directions(n_columns)
        basis = self.frame.basis @ self.inside.principal(n_columns, 1.0).basis
        return Coordinates(self.columns.mean, basis)

    def to_coordinates(self, coordinates: Coordinates) -> np.ndarray:
        """The sums of moments in other coordinates (C^T (x - m), 1), whose basis C lies in the frame."""
        frame = self.frame.basis
        center = frame.T @ (coordinates.center - self.frame.center)
        return self.inside.to_coordinates(Coordinates(center, frame.T @ coordinates.basis))

    def vectors(self, n_columns: int) -> tuple[Coordinates, tuple[np.ndarray, ...]]:
        """Coordinates, and sums as `VectorMoments` has them."""
        self._check_directions(n_columns)
        return self.frame.coordinates, (self.to_coordinates(self.frame.coordinates), self.energy, self.sketch)

    def _check_directions(self, needed: int) -> None:
        if needed > self.frame.basis.shape[1]:
            raise LatentiaError(
                f"Moments are kept in a frame of {self.frame.basis.shape[1]} directions, and {needed} are needed for that many "
                "components: begin anew with a first batch."
            )

    def lift(self, coordinates: Coordinates) -> np.ndarray:
        """Map principal coordinates back to all columns, by least squares over the rows: (D, b)."""
        frame, n = self.frame.basis, self.n_rows
        second, mean = self.sketch.sum(axis=0) / n, self.columns.mean - self.frame.center
        covariance = self.inside.covariance
        residual = second[:, :-1] - np.outer(mean, mean @ frame) - frame @ covariance
        return (frame + residual @ np.linalg.pinv(covariance, _ROUNDING, hermitian=True)) @ (
            frame.T @ coordinates.basis
        )

    def plus(self, added: Self, sign: int = 1) -> Self:
        if not self.frame.is_that_of(added.frame):
            raise LatentiaError(
                "The models keep moments in different frames, the directions of the first rows of each. Begin with one: load "
                "the same saved model of some first rows at every site, add the site's rows, merge, and forget the first rows "
                "for each site but one."
            )
        rest: dict[str, np.ndarray] = {}
        updates: dict[str, Any] = {}
        for name in _TWOFOLD_SUMS:
            updates[name], rest[name] = twofold.add_tables(
                (getattr(self, name), self.rest[name]), (getattr(added, name), added.rest[name]), sign
            )
        members, places = np.unique(np.append(self.members, added.members), return_inverse=True)
        copies = np.bincount(places, np.append(self.copies, sign * added.copies), len(members)).astype(np.int64)
        if (copies < 0).any():
            raise LatentiaError("Some of these rows were never added to the model.")
        fourth = np.maximum(self.fourth + sign * added.fourth, 0.0)
        is_present = copies > 0
        updates |= {"rest": rest, "members": members[is_present], "copies": copies[is_present]}
        return replace(self, inside=self.inside.plus(added.inside, sign), fourth=fourth, **updates)

    def outside(self) -> Outside | None:
        """Measure the variance of later rows outside of the frame; return None for too few rows.

        One half of the later rows chooses the directions of largest variance; the other half is compared with the first rows in
        them. The smaller result of both ways counts.
        """
        b, first = self.frame.basis.shape[1], self.products[FIRST]
        halves = [(half, float(half[-1, -1])) for half in self.products[:FIRST]]
        if min(first[-1, -1], *(n for _, n in halves)) <= 2 * (b + 1):
            return None
        total, rises = _spread(first), []
        for (first_half, _), (second_half, n) in (halves, halves[::-1]):
            directions = np.linalg.eigh(_conditional_covariance(first_half, b))[1][:, -_N_DIRECTIONS:]
            before, after = (
                np.einsum("ij,ik,kj->j", directions, _conditional_covariance(part, b), directions)
                for part in (first, second_half)
            )
            before += _ROUNDING * total
            noise = np.sqrt((self._kurtosis(directions, before) - 1) * (1 / first[-1, -1] + 1 / n))
            rise, limit = after / before - 1, np.maximum(_MIN_RISE, _MIN_DEVIATIONS * noise)
            at = int(np.argmax(rise / limit))
            rises.append((rise[at] / limit[at], float(rise[at]), float(limit[at])))
        _, rise, limit = min(rises)
        later = self.products[:FIRST].sum(axis=0)
        before, after = (
            float(np.trace(_conditional_covariance(part, b))) / max(_spread(part), of.MIN_MAGNITUDE)
            for part in (first, later)
        )
        return Outside(round(float(later[-1, -1])), (before, after), rise, limit)

    def _kurtosis(self, directions: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return the kurtosis of the first rows along directions, as for independent columns."""
        first = self.products[FIRST]
        n = first[-1, -1]
        second, fourth = np.diag(first)[: len(directions)] / n, self.fourth / n
        typical = (
            max(_GAUSSIAN, float(np.median(fourth[second > 0] / second[second > 0] ** 2)))
            if second.any()
            else _GAUSSIAN
        )
        excess = (fourth - typical * second**2) @ directions**4
        return typical + np.maximum(excess, 0.0) / np.maximum(variance, of.MIN_MAGNITUDE) ** 2


def _choose_frame(blocks: Blocks, folds: Folds, n_directions: int, options: dict[str, Any]) -> Frame:
    """Choose the leading principal directions of half of the rows as frame."""
    if n_directions > WIDEST:
        raise LatentiaError(
            f"The rows have {blocks.shapes[0][1]} columns, and that many components need {n_directions} directions; expected "
            f"at most {WIDEST} for kept moments. Ask for {n_directions - WIDEST} components fewer, or fit without keep_moments."
        )
    half, n_needed = blocks.group(FIRST_HALF, folds), _MIN_ROWS_PER_DIRECTION * n_directions
    if half.n_rows < n_needed // 2:
        raise LatentiaError(
            f"The first batch has {blocks.n_rows} rows, too few to choose {n_directions} directions for moments of a wide "
            f"table; expected at least {n_needed} different rows."
        )
    columns = column_moments(blocks, **options)
    coordinates, _ = principal_coordinates(half, n_directions, columns.mean, slack=1.0, **options)
    return Frame(columns.mean, np.ascontiguousarray(coordinates.basis), float(columns.variance.sum()))


def _sums_about_mean(products: np.ndarray) -> np.ndarray:
    """Return sums of products of (s, y) about their mean."""
    return np.asarray(products[:-1, :-1] - np.outer(products[-1, :-1], products[-1, :-1]) / products[-1, -1])


def _spread(products: np.ndarray) -> float:
    """Return the variance of the rows, in all columns."""
    return float(np.trace(_sums_about_mean(products))) / (products[-1, -1] - 1)


def _conditional_covariance(products: np.ndarray, b: int) -> np.ndarray:
    """Return the covariance of s given y, (q, q)."""
    about = _sums_about_mean(products)
    ss, sy, yy = about[:-b, :-b], about[:-b, -b:], about[-b:, -b:]
    return np.asarray((ss - sy @ np.linalg.pinv(yy, _ROUNDING, hermitian=True) @ sy.T) / (products[-1, -1] - b - 1))
