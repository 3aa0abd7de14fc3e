"""Covariances of cases and controls, their directions in units of the background, and the coordinates that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of
from ..moments import column_moments
from ..passes import Block, Blocks, Folds, accumulate
from ..system.threads import Parallel

Coordinates: TypeAlias = Literal["filter", "projection"]
Groups: TypeAlias = Sequence[int]

_TINY = np.finfo(float).tiny
_POWERS = np.linspace(0, 1, 5)  # prior variances of a direction: like any (0) to like the background's (1)
_MIN_SHRINKAGE = 1e-6  # keeps covariances invertible
_BINS = 400  # bins of a histogram of coordinates
_BIN_RANGE = 6.0  # the histogram covers so many standard deviations on either side
_MAX_DISTANCE = 3.0  # coordinates further out than so many robust standard deviations are clipped
_MIN_SHARE = 0.05  # share of the rows in the smaller of two parts
_QUARTILES = 1.349  # standard deviations of a Gaussian between its quartiles


# --- moments ------------------------------------------------------------------------------------------------------


class _Gram:
    """In-place statistic: sums of (1, x - c) (1, x - c)^T over groups of rows, shape (G, 1 + D, 1 + D)."""

    def __init__(self, center: np.ndarray, folds: Folds) -> None:
        self.center, self.folds = center, folds

    def zero(self) -> np.ndarray:
        return np.zeros((self.folds.n, 1 + len(self.center), 1 + len(self.center)))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        groups = self.folds.of(block.rows)
        for g in self.folds.all:
            rows = dense(block)[groups == g] - self.center
            rows = np.hstack([np.ones((len(rows), 1)), rows])
            state[g] += rows.T @ rows
        return state


def dense(block: Block) -> np.ndarray:
    """Return the rows of a block as an array; sparse ones are an error."""
    if sparse.issparse(block[0]):
        raise LatentiaError("Expected dense tables; these Blocks are sparse. Use their arrays.")
    return np.asarray(block[0])


class _Spreads:
    """In-place statistic of coordinates p = (x - c) V in groups of rows: sums of 1, p^2, p^4, and histograms, (G, 3 + bins, V).

    Bins are of p over ``scales``; the outermost bins take the coordinates beyond.
    """

    def __init__(self, center: np.ndarray, vectors: np.ndarray, scales: np.ndarray, folds: Folds) -> None:
        self.center, self.vectors, self.folds = center, vectors, folds
        self.scales = np.maximum(scales, _TINY)

    def zero(self) -> np.ndarray:
        return np.zeros((self.folds.n, 3 + _BINS, self.vectors.shape[1]))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        groups, coordinates = self.folds.of(block.rows), (dense(block) - self.center) @ self.vectors
        places = (np.clip(coordinates / self.scales / _BIN_RANGE, -1, 1) * _BINS + _BINS) // 2
        places = np.minimum(places, _BINS - 1).astype(np.int64)
        for g in self.folds.all:
            squares = coordinates[groups == g] ** 2
            state[g, :3] += np.array(
                [np.full(squares.shape[1], len(squares)), squares.sum(axis=0), (squares**2).sum(axis=0)]
            )
            for v, column in enumerate(places[groups == g].T):
                state[g, 3:, v] += np.bincount(column, minlength=_BINS)
        return state


@dataclass(frozen=True)
class Covariances:
    """Covariances of the groups of rows of one table."""

    table: Blocks
    folds: Folds
    mean: np.ndarray
    sums: np.ndarray
    options: dict[str, Any]

    @classmethod
    def compute(cls, table: Blocks, folds: Folds, **options: Any) -> Covariances:
        columns = column_moments(table, **options)
        return cls(table, folds, columns.mean, accumulate(table, _Gram(columns.mean, folds), **options), options)

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def covariance(self, groups: Sequence[int]) -> np.ndarray:
        total = self.sums[list(groups)].sum(axis=0)
        if total[0, 0] < 2:
            raise LatentiaError("A part of a table has fewer than two rows: the table is too short to be split.")
        shift = total[0, 1:] / total[0, 0]
        return np.asarray(total[1:, 1:] / total[0, 0] - np.outer(shift, shift))

    def shrinkage(self, groups: Sequence[int]) -> float:
        """Return the best weight of a multiple of the identity (Ledoit and Wolf), with noise from differences of groups."""
        covariance, n = self.covariance(groups), len(groups)
        noise = (
            sum(float(((self.covariance([g]) - covariance) ** 2).sum()) for g in groups) / (n * (n - 1))
            if n > 1
            else 0.0
        )
        spread = float(((covariance - np.trace(covariance) / len(covariance) * np.eye(len(covariance))) ** 2).sum())
        return float(np.clip(noise / max(spread, _TINY), _MIN_SHRINKAGE, 1.0))

    def spreads(self, vectors: np.ndarray) -> np.ndarray:
        """Return `_Spreads` of the coordinates along ``vectors``, (D, V), of each group: one pass."""
        variances = np.einsum("dv,de,ev->v", vectors, self.covariance(self.folds.all), vectors)
        scales = np.sqrt(np.maximum(variances, 0))  # rounding can make a zero variance negative
        return np.asarray(accumulate(self.table, _Spreads(self.mean, vectors, scales, self.folds), **self.options))


@dataclass(frozen=True)
class Moments:
    """Covariances of groups of both tables."""

    cases: Covariances
    controls: Covariances


# --- directions ---------------------------------------------------------------------------------------------------


class Contrast(NamedTuple):
    """Directions (K, D) with their variances and noise.

    Attributes
    ----------
    directions : ndarray of shape (K, D)
    variances : ndarray of shape (K,)
        Variances of the cases beyond the background's.
    strength : float
    noise : ndarray of shape (K,)
        Share of noise in each direction.
    filters : ndarray of shape (K, D)
        Weights of the columns in the filter of each direction.
    """

    directions: np.ndarray
    variances: np.ndarray
    strength: float
    noise: np.ndarray
    filters: np.ndarray

    @classmethod
    def from_directions(
        cls,
        directions: np.ndarray,
        variances: np.ndarray,
        strength: float,
        noise: np.ndarray,
        units: _Units | None = None,
    ) -> Contrast:
        signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
        directions = directions * signs[:, None]
        return cls(directions, variances, strength, noise, directions if units is None else units.inverse(directions))

    def weights(self, coordinates: Coordinates) -> np.ndarray:
        """Return the weights of the columns in the coordinates, (K, D)."""
        return self.filters if coordinates == "filter" else self.directions


def compute_contrast_of_strength(moments: Moments, groups: Groups, k: int, strength: float) -> Contrast:
    """Return contrastive PCA of a given strength."""
    difference = moments.cases.covariance(groups) - strength * moments.controls.covariance(groups)
    values, vectors = np.linalg.eigh(difference)
    return Contrast.from_directions(vectors[:, ::-1][:, :k].T, values[::-1][:k], strength, np.zeros(k))


def compute_contrast(moments: Moments, groups: Groups, k: int, noise: np.ndarray | Sequence[Any]) -> Contrast:
    """Return directions in units of the background, shrunk by their shares of noise: given, (K,), or estimated from splits."""
    return _shrunk_contrast(moments, _Axes.compute(moments, groups), k, noise)


def rescale_noise(noise: np.ndarray, times: float) -> np.ndarray:
    """Return the shares of noise in directions from a part of the rows; all rows are so many ``times`` more."""
    return times * noise / (1 + (times - 1) * noise)


def _shrunk_contrast(moments: Moments, axes: _Axes, k: int, noise: np.ndarray | Sequence[Any]) -> Contrast:
    units, values = axes.units, axes.values
    shares = noise if isinstance(noise, np.ndarray) else _measure_noise(moments, noise, units, k)
    strength = float(np.median(values))
    patterns = np.column_stack([units.shrunk(axes.vectors[:, i], shares[i]) for i in range(k)])
    scaled = patterns * np.sqrt(np.maximum(values[:k] - strength, 0))
    directions, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    return Contrast.from_directions(directions.T, sizes**2, strength, shares, units)


@dataclass(frozen=True)
class _Units:
    """Units of the background: its principal directions in columns, and their variances after shrinkage."""

    basis: np.ndarray
    variances: np.ndarray

    @classmethod
    def from_covariance(cls, controls: np.ndarray, shrinkage: float) -> _Units:
        values, basis = np.linalg.eigh(controls)
        mean = float(values.mean())
        if mean <= 0:
            raise LatentiaError("All rows of the background are the same: there is nothing to compare with.")
        return cls(basis, (1 - shrinkage) * np.maximum(values, 0) + shrinkage * mean)

    def contrasts(self, cases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues of W C_X W, descending, and eigenvectors in columns, in the background's directions."""
        to = self.basis / np.sqrt(self.variances)
        values, vectors = np.linalg.eigh(to.T @ cases @ to)
        return values[::-1], vectors[:, ::-1]

    def filters(self, vectors: np.ndarray) -> np.ndarray:
        """Return the weights C_B^-1/2 y, along which rows are most contrasted."""
        return np.asarray(self.basis @ (vectors / np.sqrt(self.variances)[:, None]))

    def patterns(self, vectors: np.ndarray) -> np.ndarray:
        """Return directions d = C_B^1/2 y in the columns of the data."""
        return np.asarray(self.basis @ (np.sqrt(self.variances)[:, None] * vectors))

    def inverse(self, directions: np.ndarray) -> np.ndarray:
        """Return (D C_B^-1 D^T)^-1 D C_B^-1, (K, D): weights that keep directions and have the least of the background."""
        scaled = directions @ self.basis / self.variances @ self.basis.T
        return np.linalg.solve(scaled @ directions.T, scaled)

    def shrunk(self, vector: np.ndarray, noise: float) -> np.ndarray:
        """Return the pattern of one eigenvector without its share of noise.

        The entries have the noise's variance in common, and prior variances in proportion to a power of those of the
        background, the power of the highest likelihood.
        """
        best, shrunken = -np.inf, vector
        for power in _POWERS:
            prior = self.variances**-power
            prior = (1 - noise) * prior / prior.sum()
            total = prior + noise / len(vector)
            height = -float((np.log(total) + vector**2 / total).sum())
            if height > best:
                best, shrunken = height, vector * prior / total
        return self.patterns(shrunken[:, None])[:, 0]


class _Axes(NamedTuple):
    """Eigenvalues of W C_X W, descending, and eigenvectors in columns, of some groups of rows."""

    units: _Units
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def compute(cls, moments: Moments, groups: Groups) -> _Axes:
        units = _Units.from_covariance(moments.controls.covariance(groups), moments.controls.shrinkage(groups))
        return cls(units, *units.contrasts(moments.cases.covariance(groups)))

    def log_strength(self, moments: Moments, groups: Groups) -> float:
        """Return the logarithm of the strength of the background in other rows: the median over all axes."""
        filters = self.units.filters(self.vectors)
        case_variances, control_variances = (
            np.einsum("di,di->i", filters, table.covariance(groups) @ filters)
            for table in (moments.cases, moments.controls)
        )
        return float(np.log(max(np.median(ratio_of(case_variances, control_variances)), _TINY)))


def _measure_noise(moments: Moments, splits: Sequence[Any], units: _Units, k: int) -> np.ndarray:
    """Return the share of noise in each direction of all rows, in units of the background, (K,), from agreement of halves."""
    agreement = []
    for split in splits:
        bases = []
        for half in split:
            half_units = _Units.from_covariance(moments.controls.covariance(half), moments.controls.shrinkage(half))
            patterns = half_units.patterns(half_units.contrasts(moments.cases.covariance(half))[1][:, :k])
            bases.append(np.linalg.qr(units.basis.T @ patterns / np.sqrt(units.variances)[:, None])[0])
        agreement.append(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False))
    cosines = np.clip(np.mean(agreement, axis=0), 0.02, 0.9999)
    return np.asarray((1 - cosines) / (1 + cosines))  # tan^2 of all rows is half of that of a half


# --- coordinates --------------------------------------------------------------------------------------------------


class CoordinateChoice(NamedTuple):
    """The chosen coordinates, and how much more cases vary along them on rows that the directions were not learned from.

    Attributes
    ----------
    coordinates : {"filter", "projection"}
    deviations : list of float
        How much more cases vary along each direction, in standard deviations.
    """

    coordinates: Coordinates
    deviations: list[float]


def choose_coordinates(moments: Moments, folds: Folds, full_fit: Contrast, *, choose: bool) -> CoordinateChoice:
    """Choose coordinates, and compare variances of cases and controls along directions that are learned from the other half."""
    halves = [pair for split in folds.splits for pair in (split, split[::-1])]
    fits, strengths = [], []
    for half, rest in halves:
        axes, k = _Axes.compute(moments, half), len(full_fit.directions)
        noise = rescale_noise(full_fit.noise, 2)
        fits.append(
            _shrunk_contrast(moments, axes, k, noise)
            if choose
            else compute_contrast_of_strength(moments, half, k, full_fit.strength)
        )
        strengths.append(axes.log_strength(moments, rest))
    kinds: tuple[Coordinates, ...] = ("filter", "projection") if choose else ("projection",)
    vectors = np.vstack([fit.weights(kind) for kind in kinds for fit in fits]).T
    # Shape (kinds, halves, groups, 3 + bins, K), of cases and of controls.
    cases, controls = (
        np.moveaxis(table.spreads(vectors).reshape(folds.n, 3 + _BINS, len(kinds), len(fits), -1), (2, 3), (0, 1))
        for table in (moments.cases, moments.controls)
    )
    groups = [list(rest) for _, rest in halves]
    place = _find_clearest_coordinates(cases, controls, groups, strengths) if choose else 0
    return CoordinateChoice(kinds[place], _deviations(cases[place], controls[place], groups, strengths))


def _deviations(
    cases: np.ndarray, controls: np.ndarray, groups: Sequence[list[int]], strengths: Sequence[float]
) -> list[float]:
    """Return how much more cases vary than controls, in standard deviations; statistics are (halves, groups, 3 + bins, K)."""
    gaps, errors, distances = [], [], []
    for case_sums, control_sums, rest, strength in zip(cases, controls, groups, strengths, strict=True):
        tables = [table[rest, :3] for table in (case_sums, control_sums)]
        logs, noises = zip(*(_log_variance(table.sum(axis=0)) for table in tables), strict=True)
        gaps.append(logs[0] - logs[1] - strength)
        errors.append(sum(noises))
        group_gaps = [_log_variance(a)[0] - _log_variance(b)[0] for a, b in zip(*tables, strict=True)]
        distances.append((group_gaps[0] - group_gaps[1]) ** 2 / (4 * errors[-1]))
    dependence = max(1.0, float(np.mean(distances)))  # above one where rows depend on each other
    return [float(z) for z in np.mean(np.array(gaps) / np.sqrt(np.array(errors) * dependence), axis=0)]


def _find_clearest_coordinates(
    cases: np.ndarray, controls: np.ndarray, groups: Sequence[list[int]], strengths: Sequence[float]
) -> int:
    """Return the number of the coordinates whose two parts are clearest, in a variance that is not the background's.

    The score is the variance between the parts over that within them, times the share of the variance beyond the background.
    """
    scores = []
    for i, (rest, strength) in enumerate(zip(groups, strengths, strict=True)):
        case_sums, control_sums = (table[:, i, rest].sum(axis=1) for table in (cases, controls))
        logs = [np.log(np.maximum(sums[:, 1] / sums[:, 0], _TINY)) for sums in (case_sums, control_sums)]
        excess_share = np.clip(1 - np.exp(strength + logs[1] - logs[0]), 0, 1)
        between = _split_share(case_sums[:, 3:])
        scores.append((excess_share * between / np.maximum(1 - between, np.finfo(float).eps)).mean(axis=-1))
    return int(np.mean(scores, axis=0).argmax())


def _split_share(counts: np.ndarray) -> np.ndarray:
    """Return the share of the variance between the two parts of the best split, of histograms (..., bins, K).

    Coordinates far out are clipped, so that a few rows do not count as a part.
    """
    counts = np.moveaxis(counts, -2, -1)
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    below = np.cumsum(counts, axis=-1) / total
    low, median, high = ((below < q).sum(axis=-1, keepdims=True) for q in (0.25, 0.5, 0.75))
    reach = _MAX_DISTANCE * np.maximum(high - low, 1) / _QUARTILES
    places = np.clip(np.arange(counts.shape[-1]), median - reach, median + reach)
    mean = (places * counts).sum(axis=-1, keepdims=True) / total
    sums = (places - mean) * counts / total
    between = np.cumsum(sums, axis=-1) ** 2 / np.maximum(below * (1 - below), _TINY)
    allowed = (below >= _MIN_SHARE) & (below <= 1 - _MIN_SHARE)
    variance = (sums * (places - mean)).sum(axis=-1)
    return np.asarray(ratio_of(np.where(allowed, between, 0).max(axis=-1), variance))


def _log_variance(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithm of a variance, and its squared standard error."""
    n, second, fourth = sums
    return np.log(np.maximum(second / n, _TINY)), np.maximum(ratio_of(n * fourth, second**2) - 1, 0.1) / n
