"""Classes of rows of 0 and 1: a mixture of product Bernoulli distributions, as what other models are compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..likelihood.rows import normalised

_STARTS, _STEPS = 2, 60
_SETTLED = 1e-6  # relative gain of a step
_PSEUDO = 0.5  # rows of each class with the frequencies of all
_LEAST = 1e-9


@dataclass(frozen=True)
class BernoulliClasses:
    """Classes, each with its own chances of a one.

    Attributes
    ----------
    shares : ndarray of shape (K,)
    chances : ndarray of shape (K, d)
    """

    shares: np.ndarray
    chances: np.ndarray

    @classmethod
    def of(cls, present: np.ndarray, known: np.ndarray, n_classes: int, seed: int) -> BernoulliClasses:
        """The likelier of two random starts of EM.

        Parameters
        ----------
        present, known : ndarray of shape (n, d), of 0 and 1
            Which entries are ones, and which are there at all.
        """
        found = [cls._climbed(present, known, n_classes, [seed, 105, start]) for start in range(_STARTS)]
        return max(found, key=lambda one: float(one.log_likelihood(present, known).sum()))

    @classmethod
    def _climbed(cls, present: np.ndarray, known: np.ndarray, n_classes: int, seed: list[int]) -> BernoulliClasses:
        frequency = present.sum(axis=0) / np.maximum(known.sum(axis=0), 1.0)
        posterior = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.1), len(present))
        last = -np.inf
        for _ in range(_STEPS):
            counts = posterior.sum(axis=0)
            chances = (posterior.T @ present + _PSEUDO * frequency) / (posterior.T @ known + _PSEUDO)
            one = cls((counts + _PSEUDO) / (counts + _PSEUDO).sum(), np.clip(chances, _LEAST, 1 - _LEAST))
            posterior, each = normalised(one._log_joint(present, known), one.shares)
            total = float(each.sum())
            if total - last < _SETTLED * abs(total):
                break
            last = total
        return one

    def log_likelihood(self, present: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Of each row, in nats, shape (n,)."""
        return normalised(self._log_joint(present, known), self.shares)[1]

    def _log_joint(self, present: np.ndarray, known: np.ndarray) -> np.ndarray:
        never = np.log1p(-self.chances)
        return np.asarray(present @ (np.log(self.chances) - never).T + known @ never.T + np.log(self.shares))
