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
    def of(cls, wanted: Mapping[str, Any], k: int) -> Combinations:
        """What a dict asks for, of K components."""
        if not isinstance(wanted, Mapping) or not wanted:
            raise LatentiaError(
                "a dict of names is needed, such as {'a and b': [0, 3]}.", parameter="components", value=wanted
            )
        pairs = [(one if _is_ratio(one) else (one, {})) for one in wanted.values()]
        top, bottom = ([_weights(one, k) for one in side] for side in zip(*pairs, strict=True))
        empty = [name for name, one in zip(wanted, top, strict=True) if not one.any()]
        if empty:
            raise LatentiaError(f"{empty[0]!r} names no component.", parameter="components", value=dict(wanted))
        return cls([str(name) for name in wanted], np.array(top), np.array(bottom))

    @property
    def is_ratio(self) -> np.ndarray:
        """Which of them are, bool, shape (J,)."""
        return np.asarray(self.bottom.any(axis=1))

    def of_values(self, value: np.ndarray) -> np.ndarray:
        """The combinations of plain numbers (P, K), shape (P, J)."""
        below = np.where(self.is_ratio, value @ self.bottom.T, 1.0)
        return np.asarray(value @ self.top.T / np.where(below == 0, np.nan, below))

    def estimated(self, estimate: Callable[[np.ndarray], Estimates]) -> Estimates:
        """Estimates of the combinations, given those of sums with weights (J, K); of ratios by the delta method.

        The ratio r = a / b of two sums is off by (a's error - r b's error) / b, which is the error of a sum.
        """
        found = estimate(self.top)
        value, error, freedom = (np.array(one) for one in (found.value, found.error, found.freedom))
        for j in np.flatnonzero(self.is_ratio):
            below = estimate(self.bottom[j : j + 1]).value[:, 0]
            below[below == 0] = np.nan
            ratio = value[:, j] / below
            moved = estimate((self.top[j] - ratio[:, None] * self.bottom[j]) / below[:, None])
            value[:, j], error[:, j], freedom[:, j] = ratio, np.diag(moved.error), np.diag(moved.freedom)
        return Estimates(value, error, freedom)


def _is_ratio(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and not any(isinstance(side, Integral) for side in one)


def _weights(one: Any, k: int) -> np.ndarray:
    """Of components by number: of one, of several, each with weight one, or of a dict of weights."""
    given = one if isinstance(one, Mapping) else dict.fromkeys(one if isinstance(one, Sequence) else [one], 1.0)
    found = np.zeros(k)
    for number, weight in given.items():
        if not isinstance(number, Integral) or not 0 <= int(number) < k:
            raise LatentiaError(f"components are numbered from 0 to {k - 1}.", parameter="components", value=one)
        found[int(number)] = weight
    return found
