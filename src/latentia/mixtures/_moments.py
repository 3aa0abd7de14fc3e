"""Mixtures of spherical Gaussians from their moments, in principal coordinates. See `latentia.mixtures.spherical`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evidence import Misfit, WhitenedMoments, misfit_of_tensor
from ..exceptions import LatentiaError
from ..moments import (
    ColumnMoments,
    FramedSums,
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

OVERSAMPLE = 12


@dataclass(frozen=True)
class Moments:
    """Columns, and the moments of groups of rows in principal coordinates."""

    columns: ColumnMoments
    statistic: VectorMoments
    sums: Any
    folds: Folds
    n_passes: int

    def of(self, groups: tuple[int, ...]) -> VectorSums:
        return self.statistic.of(self.sums, groups)

    @classmethod
    def of_blocks(cls, blocks: Blocks, k: int, folds: Folds, seed: int, **options: Any) -> Moments:
        """Passes over the data: columns, principal coordinates, and moments in these of four groups of rows."""
        columns = _varying(column_moments(blocks, **options))
        coordinates, n_passes = principal_coordinates(
            blocks, k + OVERSAMPLE, columns.mean, random_state=seed, **options
        )
        statistic = VectorMoments(coordinates, folds)
        return cls(columns, statistic, accumulate(blocks, statistic, **options), folds, n_passes + 2)

    @classmethod
    def of_sums(cls, sums: FramedSums | WideSums, k: int) -> Moments:
        """The same from sums of third moments."""
        columns, (coordinates, state) = _varying(sums.columns), sums.vectors(k + OVERSAMPLE)
        return cls(columns, VectorMoments(coordinates, Folds()), state, Folds(), 1)

    def in_coordinates(self, mixture: Mixture) -> Mixture:
        """A spherical mixture of columns as one of coordinates."""
        coordinates = self.statistic.coordinates
        return mixture._replace(means=(mixture.means - coordinates.center) @ coordinates.basis)

    def in_columns(self, mixture: Mixture) -> Mixture:
        """A spherical mixture of coordinates as one of columns."""
        coordinates = self.statistic.coordinates
        return mixture._replace(means=mixture.means @ coordinates.basis.T + coordinates.center)

    @property
    def least_variance(self) -> float:
        """Of a component whose rows are all the same."""
        return 1e-9 * float(self.columns.variance.mean())


def _varying(columns: ColumnMoments) -> ColumnMoments:
    if not columns.variance.any():
        raise LatentiaError(f"All {columns.n} rows are the same: there is no mixture to find.")
    return columns


@dataclass(frozen=True)
class Recovered:
    """The mixture, and the decomposition that it comes from."""

    mixture: Mixture
    spectrum: np.ndarray
    whitening: np.ndarray
    tensor: np.ndarray
    decomposition: Decomposition


def recover(moments: Moments, groups: tuple[int, ...], k: int, seed: int) -> Recovered:
    """The mixture from the moments of some groups, in the coordinates of an orthonormal basis (D x b)."""
    m, basis, least = moments.of(groups), moments.statistic.coordinates.basis, moments.least_variance
    values, vectors = np.linalg.eigh(m.third[:-1, :-1, -1])
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = noise_of(m, values, k)
    signal = _signal(values, noise, k)
    # Whitening: the plane of the means is scaled to unit signal, and the constant is a direction of its own.
    size = m.third.shape[0]
    plane = np.zeros((size, k))
    plane[:-1, : k - 1] = vectors[:, : k - 1]
    plane[-1, -1] = 1.0
    whitening = plane / np.append(np.sqrt(signal), 1.0)
    tensor, g = _tensor(m, whitening)
    decomposition = decompose(tensor, k, seed)
    eigenvalues, v, _ = decomposition
    roots = np.clip(v[:, -1], 0.3 / eigenvalues, 3 / eigenvalues)
    directions = whitening @ v.T
    spread = m.sketch @ directions - noise * basis @ directions[:-1]
    means = m.mean + (spread / roots).T
    variance = np.clip(v @ g / roots, max(0.05 * noise, least), max(20 * noise, least))
    mixture = Mixture(means, roots**2 / (roots**2).sum(), variance).sorted()
    return Recovered(mixture, values - noise, whitening, tensor, decomposition)


def _tensor(m: VectorSums, whitening: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The whitened tensor of the means, (K, K, K), and g in the whitened coordinates: the share of the variances in it."""
    k = whitening.shape[1]
    scales = np.append(np.linalg.norm(whitening[:-1, :-1], axis=0), 0.0)
    plane = whitening[:, :-1] / scales[:-1]
    # g: what lies across the plane, averaged over its directions.
    across = m.energy - np.einsum("abc,ai,bi->c", m.third, plane, plane, optimize=True)
    g = whitening.T @ across / (len(m.mean) - k + 1)
    tensor = apply_to_modes(m.third, whitening)
    return tensor - 3 * symmetrise_modes(np.diag(scales**2)[:, :, None] * g), g


def noise_of(m: VectorSums, values: np.ndarray, k: int) -> float:
    """Mean variance across the plane of the means, from the principal variances, descending."""
    return max((m.energy[-1] - values[: k - 1].sum()) / (len(m.mean) - k + 1), 0.0)


def _whitened(m: VectorSums, whitening: np.ndarray) -> WhitenedMoments:
    """Moments of some rows in the whitened coordinates of all."""
    k = whitening.shape[1]
    noise = noise_of(m, np.linalg.eigvalsh(m.third[:-1, :-1, -1])[::-1], k)
    second = whitening.T @ m.third[..., -1] @ whitening
    second[:-1, :-1] -= noise * whitening[:-1, :-1].T @ whitening[:-1, :-1]
    return WhitenedMoments(second, _tensor(m, whitening)[0])


def misfit(found: Recovered, moments: Moments) -> Misfit:
    """What the decomposition leaves of the whitened tensor, beside its noise."""
    one, whitening = moments.of, found.whitening
    halves = [(_whitened(one(a), whitening), _whitened(one(b), whitening)) for a, b in moments.folds.splits]
    weights, vectors, _ = found.decomposition
    return misfit_of_tensor(found.tensor, weights, vectors, halves)


def _signal(values: np.ndarray, noise: float, k: int) -> np.ndarray:
    """Variance of the means along the K - 1 leading directions, shape (K - 1,)."""
    signal = values[: k - 1] - noise
    lacking = signal <= 1e-9 * values[0]
    if len(signal) < k - 1 or lacking.any():
        rank = int(np.argmax(lacking)) if lacking.any() else len(signal)
        raise LatentiaError(
            f"the means span {k - 1} directions, but eigenvalue {rank + 1} of the covariance does not exceed the noise of "
            f"{noise:.3g} (the largest is {values[0]:.3g}): this data supports at most {rank + 1} components.",
            at_most=rank + 1, parameter="n_components", value=k,
        )  # fmt: skip
    return signal
