"""Noise that the tensor power method tolerates: Ge, thesis 2013, chapter 7."""

from __future__ import annotations

from ._positive import check_positive


def tensor_noise_limit(smallest_weight: float, n_components: int, constant: float = 1.0) -> float:
    """Return the largest noise (operator norm) for which the tensor power method is proven: C lambda_min / K (Theorem 7.9).

    Parameters
    ----------
    smallest_weight : float
        Smallest weight of a component of the tensor.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    return constant * smallest_weight / n_components


def tensor_samples(
    n_samples: int, noise: float, smallest_weight: float, n_components: int, constant: float = 1.0
) -> float:
    """Return the rows at which the noise would meet `tensor_noise_limit`, if it falls with their square root.

    Parameters
    ----------
    n_samples : int
        Number of rows on which the noise was measured.
    noise : float
        Size of the noise.
    smallest_weight : float
        Smallest weight of a component of the tensor.
    n_components : int
        K, the number of components.
    constant : float, default=1.0
        Constant of the theorem, which it leaves open.

    Returns
    -------
    float
    """
    check_positive(smallest_weight=smallest_weight)
    return n_samples * (noise / tensor_noise_limit(smallest_weight, n_components, constant)) ** 2
