"""Mixtures: spherical Gaussians, products of independent features, and tables with columns of several kinds.

A sample draws a component h with probability w_h and then its features from that component. The features of a
spherical Gaussian mixture have mean m_h and covariance s_h^2 I; those of a product mixture are independent given h,
Bernoulli with probabilities m_h or Gaussian with mean m_h and diagonal covariance. The columns of a table of several kinds are
Gaussian, categorical or Poisson.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase
from typing import Literal

import numpy as np

from ...exceptions import LatentiaError
from ._draws import check_sizes, check_variance, draw_separated_means, gaussian_rows, geometric_weights


@dataclass(frozen=True)
class PlantedMixture:
    """Samples of a mixture of spherical Gaussians, and its parameters.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,), int64
        Component of each sample.
    means : ndarray of shape (n_components, n_features)
    weights : ndarray of shape (n_components,)
    variance : ndarray of shape (n_components,)
        Variance of every feature given the component.
    """

    X: np.ndarray
    labels: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True)
class PlantedProducts:
    """Samples of a mixture whose features are independent given the component, and its parameters.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Zeros and ones if Bernoulli.
    labels : ndarray of shape (n_samples,), int64
        Component of each sample.
    means : ndarray of shape (n_components, n_features)
        Probabilities of a one if Bernoulli.
    weights : ndarray of shape (n_components,)
    variances : ndarray of shape (n_components, n_features)
        Variance of each feature given the component; means (1 - means) if Bernoulli.
    """

    X: np.ndarray
    labels: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True)
class PlantedTable:
    """A table of numbers, categories and counts, and the parameters of the mixture that it comes from.

    Attributes
    ----------
    X : dict of str to ndarray of shape (n_samples,)
        Columns "number 0", ..., "category 0", ..., "count 0", ...: floats, texts and floats, with NaN or None for missing
        cells. ``pandas.DataFrame(X)`` makes a table of them.
    labels : ndarray of shape (n_samples,), int64
        Component of each sample.
    weights : ndarray of shape (n_components,)
    means, deviations : ndarray of shape (n_components, n_numbers)
        Of the numbers.
    probabilities : ndarray of shape (n_components, n_categories, n_values)
        Of the values "a", "b", ... of the categories.
    rates : ndarray of shape (n_components, n_counts)
        Means of the counts.
    """

    X: dict[str, np.ndarray]
    labels: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    probabilities: np.ndarray
    rates: np.ndarray


def gaussian_mixture(
    n_samples: int = 50_000,
    n_components: int = 20,
    n_features: int = 50,
    *,
    separation: float = 6.0,
    spread: float = 1.0,
    variance: float | np.ndarray = 1.0,
    random_state: int = 0,
) -> PlantedMixture:
    """Plant a mixture of spherical Gaussians and draw from it.

    Parameters
    ----------
    n_samples, n_components, n_features : int
        n, K and d.
    separation : float
        Root mean square distance of two means, in units of the square root of the mean variance.
    spread : float
        Ratio of the largest to the smallest weight; components lie between them geometrically, in random order.
    variance : float or ndarray of shape (n_components,)
    random_state : int
        The same ``random_state`` plants the same parameters for every ``n_samples``.

    Returns
    -------
    PlantedMixture
        The data and the truth that it was drawn from.
    """
    check_sizes(n_samples=n_samples, n_components=n_components, n_features=n_features)
    rng = np.random.default_rng(random_state)
    variances = check_variance(variance, (n_components,))
    weights = geometric_weights(n_components, spread, rng)
    means = draw_separated_means(n_components, n_features, separation * np.sqrt(variances.mean()), rng)
    labels = rng.choice(n_components, size=n_samples, p=weights)
    return PlantedMixture(gaussian_rows(labels, means, variances[:, None], rng), labels, means, weights, variances)


def product_mixture(
    n_samples: int = 20_000,
    n_components: int = 5,
    n_features: int = 30,
    *,
    kind: Literal["bernoulli", "gaussian"] = "bernoulli",
    contrast: float = 0.6,
    separation: float = 6.0,
    variance: float | np.ndarray = 1.0,
    spread: float = 1.0,
    random_state: int = 0,
) -> PlantedProducts:
    """Plant a mixture of products and draw from it.

    Parameters
    ----------
    n_samples, n_components, n_features : int
        n, K and d.
    kind : {"bernoulli", "gaussian"}
        Distribution of a feature given the component.
    contrast : float
        For "bernoulli", in (0, 1]: twice the standard deviation of a probability. Probabilities are Beta(a, a) with
        2a + 1 = 1 / contrast^2. Near 0 all of them are near 1/2 and components look alike; 1 makes every
        probability 0 or 1.
    separation : float
        For "gaussian": root mean square distance of two means, in units of the square root of the mean variance.
    variance : float or ndarray of shape (n_features,) or (n_components, n_features)
        For "gaussian": variance of a feature given the component.
    spread : float
        Ratio of the largest to the smallest weight; components lie between them geometrically, in random order.
    random_state : int
        The same ``random_state`` plants the same parameters for every ``n_samples``.

    Returns
    -------
    PlantedProducts
        The data and the truth that it was drawn from.
    """
    check_sizes(n_samples=n_samples, n_components=n_components, n_features=n_features)
    if kind not in ("bernoulli", "gaussian"):
        raise LatentiaError(f"kind={kind!r}: use 'bernoulli' or 'gaussian'.")
    rng = np.random.default_rng(random_state)
    weights = geometric_weights(n_components, spread, rng)
    shape = (n_components, n_features)
    if kind == "bernoulli":
        means = _probabilities(shape, contrast, rng)
        labels = rng.choice(n_components, size=n_samples, p=weights)
        X = (rng.random((n_samples, n_features)) < means[labels]).astype(np.float64)
        return PlantedProducts(X, labels, means, weights, means * (1 - means))
    variances = check_variance(variance, shape)
    means = draw_separated_means(*shape, separation * np.sqrt(variances.mean()), rng)
    labels = rng.choice(n_components, size=n_samples, p=weights)
    return PlantedProducts(gaussian_rows(labels, means, variances, rng), labels, means, weights, variances)


def _probabilities(shape: tuple[int, int], contrast: float, rng: np.random.Generator) -> np.ndarray:
    """Beta(a, a) draws of standard deviation ``contrast`` / 2; fair coins in the limit a = 0."""
    if not 0 < contrast <= 1:
        raise LatentiaError(f"contrast={contrast}: need a number in (0, 1].")
    if contrast == 1:
        return rng.integers(2, size=shape).astype(np.float64)
    a = (1 / contrast**2 - 1) / 2
    return rng.beta(a, a, size=shape)


def mixed_table(
    n_samples: int = 5000,
    n_components: int = 3,
    *,
    n_numbers: int = 4,
    n_categories: int = 4,
    n_counts: int = 4,
    n_values: int = 3,
    contrast: float = 1.0,
    missing: float = 0.0,
    spread: float = 1.0,
    random_state: int = 0,
) -> PlantedTable:
    """Plant a mixture of rows with columns of several kinds and draw from it.

    Parameters
    ----------
    n_samples, n_components : int
        n and K.
    n_numbers, n_categories, n_counts : int
        Numbers of columns of each kind.
    n_values : int
        Values of every category, at most 26.
    contrast : float
        How much components differ: standard deviation of the mean of a number, whose own is 0.6 to 1.4; of the logarithm of
        the odds of a value; and twice that of the logarithm of a rate.
    missing : float
        Share of the cells that are missing, at random.
    spread : float
        Ratio of the largest to the smallest weight; components lie between them geometrically, in random order.
    random_state : int
        The same ``random_state`` plants the same parameters for every ``n_samples`` and ``missing``.

    Returns
    -------
    PlantedTable
        The data and the truth that it was drawn from.
    """
    check_sizes(n_samples=n_samples, n_components=n_components, n_values=n_values)
    if not 0 <= missing < 1 or n_values > len(ascii_lowercase):
        raise LatentiaError(
            f"missing={missing}, n_values={n_values}: expected missing below 1, and n_values of at most 26."
        )
    rng = np.random.default_rng(random_state)
    weights = geometric_weights(n_components, spread, rng)
    means = contrast * rng.standard_normal((n_components, n_numbers))
    deviations = rng.uniform(0.6, 1.4, means.shape)
    odds = np.exp(contrast * rng.standard_normal((n_components, n_categories, n_values)))
    probabilities = odds / odds.sum(axis=2, keepdims=True)
    rates = 4 * np.exp(contrast / 2 * rng.standard_normal((n_components, n_counts)))
    labels = rng.choice(n_components, size=n_samples, p=weights)
    chance = rng.random((n_samples, n_categories, 1))
    values = (chance > probabilities[labels].cumsum(axis=2)[:, :, :-1]).sum(axis=2)
    texts = np.array(list(ascii_lowercase), dtype=object)[values]
    real = means[labels] + deviations[labels] * rng.standard_normal((n_samples, n_numbers))
    counts = rng.poisson(rates[labels]).astype(np.float64)
    X = {f"{kind} {i}": column.copy() for kind, table in (("number", real), ("category", texts), ("count", counts))
         for i, column in enumerate(table.T)}  # fmt: skip
    for cells in X.values():
        cells[rng.random(n_samples) < missing] = None if cells.dtype == object else np.nan
    return PlantedTable(X, labels, weights, means, deviations, probabilities, rates)
