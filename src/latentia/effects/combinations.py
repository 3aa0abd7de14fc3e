"""Sums, contrasts and ratios of components, of which effects and outcomes are estimated as of single ones."""

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
    """Sums of components with weights, or ratios of two of these.

    Attributes
    ----------
    names : list of str
        Of the J combinations.
    top, bottom : ndarray of shape (J, K)
        Weights; those of ``bottom`` are zero where a combination is no ratio.
    """

    names: list[str]
    top: np.ndarray
    bottom: np.ndarray

    @classmethod
    def from_request(cls, request: Mapping[str, Any], k: int) -> Combinations:
        """What a dict asks for, of K components."""
        if not isinstance(request, Mapping) or not request:
            raise LatentiaError(
                "a dict of names is needed, such as {'a and b': [0, 3]}.", parameter="components", value=request
            )
        pairs = [(item if _is_ratio(item) else (item, {})) for item in request.values()]
        top, bottom = ([_weights(item, k) for item in side] for side in zip(*pairs, strict=True))
        empty = [name for name, item in zip(request, top, strict=True) if not item.any()]
        if empty:
            raise LatentiaError(f"{empty[0]!r} names no component.", parameter="components", value=dict(request))
        return cls([str(name) for name in request], np.array(top), np.array(bottom))

    @property
    def is_ratio(self) -> np.ndarray:
        """Which of them are, bool, shape (J,)."""
        return np.asarray(self.bottom.any(axis=1))

    def combine_values(self, value: np.ndarray) -> np.ndarray:
        """The combinations of plain numbers (P, K), shape (P, J)."""
        denominator = np.where(self.is_ratio, value @ self.bottom.T, 1.0)
        return np.asarray(value @ self.top.T / np.where(denominator == 0, np.nan, denominator))

    def estimate(self, estimate: Callable[[np.ndarray], Estimates]) -> Estimates:
        """Estimates of the combinations, given those of sums with weights (J, K); of ratios by the delta method.

        The ratio r = a / b of two sums is off by (a's error - r b's error) / b, which is the error of a sum.
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
    """Of components by number: of one, of several, each with weight one, or of a dict of weights."""
    weights_by_number = (
        item if isinstance(item, Mapping) else dict.fromkeys(item if isinstance(item, Sequence) else [item], 1.0)
    )
    weights = np.zeros(k)
    for number, weight in weights_by_number.items():
        if not isinstance(number, Integral) or not 0 <= int(number) < k:
            raise LatentiaError(f"components are numbered from 0 to {k - 1}.", parameter="components", value=item)
        weights[int(number)] = weight
    return weights
