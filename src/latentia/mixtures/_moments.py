"""Mixtures of spherical Gaussians from their moments, in principal coordinates. See `latentia.mixtures.spherical`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evidence import Misfit, WhitenedMoments, misfit_of_tensor
from ..exceptions import LatentiaError
from ..moments import (
    ColumnMoments,
    Coordinates,
    FramedSums,
    HiddenMoments,
    HiddenVectors,
    VectorMoments,
    VectorSums,
    WideSums,
    column_moments,
    principal_coordinates,
)
from ..passes import Blocks, Folds, accumulate
from ..tensor import Decomposition, apply_to_modes, decompose
from ..tensor.operators import symmetrise_modes
from ._rows import Mixture

OVERSAMPLE = 12  # directions beyond the number of components


@dataclass(frozen=True)
class Moments:
    """Column statistics, and moments of groups of rows in principal coordinates."""

    columns: ColumnMoments
    statistic: VectorMoments | HiddenVectors
    sums: Any
    folds: Folds
    n_passes: int

    def sum_groups(self, groups: tuple[int, ...]) -> VectorSums:
        return self.statistic.of(self.sums, groups)

    @classmethod
    def from_blocks(cls, blocks: Blocks, k: int, folds: Folds, seed: int, **options: Any) -> Moments:
        """Pass over the data: columns, principal coordinates, and in these the moments of four groups of rows."""
        columns = _check_variation(column_moments(blocks, **options))
        coordinates, n_passes = principal_coordinates(
            blocks, k + OVERSAMPLE, columns.mean, random_state=seed, **options
        )
        statistic = VectorMoments(coordinates, folds)
        return cls(columns, statistic, accumulate(blocks, statistic, **options), folds, n_passes + 2)

    @classmethod
    def from_sums(cls, sums: FramedSums | WideSums, k: int) -> Moments:
        """Build from sums of third moments."""
        columns, (coordinates, state) = _check_variation(sums.columns), sums.vectors(k + OVERSAMPLE)
        return cls(columns, VectorMoments(coordinates, Folds()), state, Folds(), 1)

    @classmethod
    def from_hidden(cls, moments: HiddenMoments, k: int) -> Moments:
        """Take the third cumulant of a hidden part, in its principal coordinates."""
        columns = _check_variation(moments.columns)
        basis = np.linalg.eigh(moments.covariance)[1][:, ::-1][:, : k + OVERSAMPLE]
        return cls(columns, HiddenVectors(moments, Coordinates(columns.mean, basis)), None, moments.folds, 0)

    def to_coordinates(self, mixture: Mixture) -> Mixture:
        """Express a spherical mixture in coordinates."""
        coordinates = self.statistic.coordinates
        return mixture._replace(means=(mixture.means - coordinates.center) @ coordinates.basis)

    def to_columns(self, mixture: Mixture) -> Mixture:
        """Express a spherical mixture of coordinates in columns."""
        coordinates = self.statistic.coordinates
        return mixture._replace(means=mixture.means @ coordinates.basis.T + coordinates.center)

    @property
    def min_variance(self) -> float:
        """Variance of a component whose rows are all the same."""
        return 1e-9 * float(self.columns.variance.mean())


def _check_variation(columns: ColumnMoments) -> ColumnMoments:
    if not columns.variance.any():
        raise LatentiaError(f"Expected rows that vary; all {columns.n} rows are the same.")
    return columns


@dataclass(frozen=True)
class Recovered:
    """Recovered mixture, with its tensor decomposition."""

    mixture: Mixture
    spectrum: np.ndarray
    whitening: np.ndarray
    tensor: np.ndarray
    decomposition: Decomposition


def recover(moments: Moments, groups: tuple[int, ...], k: int, seed: int) -> Recovered:
    """Recover the mixture from the moments of some groups, in the coordinates of an orthonormal basis (D x b)."""
    m, basis, min_variance = moments.sum_groups(groups), moments.statistic.coordinates.basis, moments.min_variance
    values, vectors = np.linalg.eigh(m.third[:-1, :-1, -1])
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = measure_noise(m, values, k)
    signal = _extract_signal(values, noise, k)
    # Whitening scales the plane of the means to unit signal; the constant is a separate direction.
    size = m.third.shape[0]
    plane = np.zeros((size, k))
    plane[:-1, : k - 1] = vectors[:, : k - 1]
    plane[-1, -1] = 1.0
    whitening = plane / np.append(np.sqrt(signal), 1.0)
    tensor, g = _build_tensor(m, whitening)
    decomposition = decompose(tensor, k, seed)
    eigenvalues, v, _ = decomposition
    roots = np.clip(v[:, -1], 0.3 / eigenvalues, 3 / eigenvalues)
    directions = whitening @ v.T
    spread = m.sketch @ directions - noise * basis @ directions[:-1]
    means = m.mean + (spread / roots).T
    variance = np.clip(v @ g / roots, max(0.05 * noise, min_variance), max(20 * noise, min_variance))
    mixture = Mixture(means, roots**2 / (roots**2).sum(), variance).sorted()
    return Recovered(mixture, values - noise, whitening, tensor, decomposition)


def _build_tensor(m: VectorSums, whitening: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build the whitened tensor of the means, (K, K, K), and g, the part of the variances, in whitened coordinates."""
    k = whitening.shape[1]
    scales = np.append(np.linalg.norm(whitening[:-1, :-1], axis=0), 0.0)
    plane = whitening[:, :-1] / scales[:-1]
    # g averages over the directions outside the plane.
    across = m.energy - np.einsum("abc,ai,bi->c", m.third, plane, plane, optimize=True)
    g = whitening.T @ across / (len(m.mean) - k + 1)
    tensor = apply_to_modes(m.third, whitening)
    return tensor - 3 * symmetrise_modes(np.diag(scales**2)[:, :, None] * g), g


def measure_noise(m: VectorSums, values: np.ndarray, k: int) -> float:
    """Measure the mean variance outside the plane of the means, from descending principal variances."""
    return max((m.energy[-1] - values[: k - 1].sum()) / (len(m.mean) - k + 1), 0.0)


def _whiten(m: VectorSums, whitening: np.ndarray) -> WhitenedMoments:
    """Whiten the moments of some rows with the whitening of all rows."""
    k = whitening.shape[1]
    noise = measure_noise(m, np.linalg.eigvalsh(m.third[:-1, :-1, -1])[::-1], k)
    second = whitening.T @ m.third[..., -1] @ whitening
    second[:-1, :-1] -= noise * whitening[:-1, :-1].T @ whitening[:-1, :-1]
    return WhitenedMoments(second, _build_tensor(m, whitening)[0])


def compute_misfit(recovered: Recovered, moments: Moments) -> Misfit:
    """Compute the residual of the decomposition of the whitened tensor, and its noise."""
    sum_groups, whitening = moments.sum_groups, recovered.whitening
    halves = [
        (_whiten(sum_groups(first), whitening), _whiten(sum_groups(second), whitening))
        for first, second in moments.folds.splits
    ]
    weights, vectors, _ = recovered.decomposition
    return misfit_of_tensor(recovered.tensor, weights, vectors, halves)


def _extract_signal(values: np.ndarray, noise: float, k: int) -> np.ndarray:
    """Extract the variance of the means along the K - 1 leading directions, shape (K - 1,)."""
    signal = values[: k - 1] - noise
    is_missing = signal <= 1e-9 * values[0]
    if len(signal) < k - 1 or is_missing.any():
        rank = int(np.argmax(is_missing)) if is_missing.any() else len(signal)
        raise LatentiaError(
            f"the means span {k - 1} directions, but eigenvalue {rank + 1} of the covariance does not exceed the noise of "
            f"{noise:.3g} (the largest is {values[0]:.3g}): this data supports at most {rank + 1} components.",
            at_most=rank + 1, parameter="n_components", value=k,
        )  # fmt: skip
    return signal
