"""Sums, contrasts and ratios of components, for effects and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from .estimates import Estimates


@dataclass(frozen=True)
class Combinations:
    """Weighted sums of components, or ratios of two such sums.

    Attributes
    ----------
    names : list of str
        Names of the J combinations.
    top, bottom : ndarray of shape (J, K)
        Weights; zero in ``bottom`` for combinations that are not ratios.
    """

    names: list[str]
    top: np.ndarray
    bottom: np.ndarray

    @classmethod
    def from_request(cls, request: Mapping[str, Any], k: int) -> Combinations:
        """Build combinations of K components from a dict."""
        if not isinstance(request, Mapping) or not request:
            raise LatentiaError(
                "expected a dict of names, such as {'a and b': [0, 3]}.", parameter="components", value=request
            )
        pairs = [(item if _is_ratio(item) else (item, {})) for item in request.values()]
        top, bottom = ([_weights(item, k) for item in side] for side in zip(*pairs, strict=True))
        empty = [name for name, item in zip(request, top, strict=True) if not item.any()]
        if empty:
            raise LatentiaError(f"{empty[0]!r} names no component.", parameter="components", value=dict(request))
        return cls([str(name) for name in request], np.array(top), np.array(bottom))

    @property
    def is_ratio(self) -> np.ndarray:
        """Mask of the ratios, shape (J,)."""
        return np.asarray(self.bottom.any(axis=1))

    def combine_values(self, value: np.ndarray) -> np.ndarray:
        """Combine plain numbers (P, K), shape (P, J)."""
        denominator = np.where(self.is_ratio, value @ self.bottom.T, 1.0)
        return np.asarray(value @ self.top.T / np.where(denominator == 0, np.nan, denominator))

    def estimate(self, estimate: Callable[[np.ndarray], Estimates]) -> Estimates:
        """Estimate the combinations from estimates of sums with weights (J, K); ratios by the delta method.

        The error of the ratio r = a / b of two sums is (a's error - r b's error) / b, the error of a sum.
        """
        sums = estimate(self.top)
        value, error, freedom = (np.array(array) for array in (sums.value, sums.error, sums.freedom))
        for j in np.flatnonzero(self.is_ratio):
            denominator = estimate(self.bottom[j : j + 1]).value[:, 0]
            denominator[denominator == 0] = np.nan
            ratio = value[:, j] / denominator
            linearised = estimate((self.top[j] - ratio[:, None] * self.bottom[j]) / denominator[:, None])
            value[:, j], error[:, j], freedom[:, j] = ratio, np.diag(linearised.error), np.diag(linearised.freedom)
        return Estimates(value, error, freedom)


def _is_ratio(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and not any(isinstance(side, Integral) for side in item)


def _weights(item: Any, k: int) -> np.ndarray:
    """Return weights of components: of a number, of several numbers with weight one, or of a dict of weights."""
    weights_by_number = (
        item if isinstance(item, Mapping) else dict.fromkeys(item if isinstance(item, Sequence) else [item], 1.0)
    )
    weights = np.zeros(k)
    for number, weight in weights_by_number.items():
        if not isinstance(number, Integral) or not 0 <= int(number) < k:
            raise LatentiaError(
                f"expected numbers of components from 0 to {k - 1}.", parameter="components", value=item
            )
        weights[int(number)] = weight
    return weights
