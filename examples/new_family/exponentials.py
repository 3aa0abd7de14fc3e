"""Mixture of exponential waiting times, by Prony's method: the smallest family, as docs/adding-a-family.md makes it.

Model. x > 0 is of component k with probability w_k, and then exponential with mean s_k. Then

    c_j = E x^j / j! = sum_k w_k s_k^j,      j = 0, ..., 2 K - 1,

and with the Hankel matrices H = (c_{i+l}) and H' = (c_{i+l+1}), i, l < K, the means are the eigenvalues of H^-1 H'.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from latentia import _fields as of
from latentia._parameters import Integer, Seed
from latentia._validation import table_blocks
from latentia.evidence import Check, PartErrors, error_checks, trivial_checks
from latentia.exceptions import LatentiaError
from latentia.fitting.base import fitted, fitting
from latentia.fitting.stages import Fitted, Staged, Subset
from latentia.passes import Block, Blocks, Folds, accumulate, sample_rows

__all__ = ["ExponentialMixture"]

_LIMIT = 0.2  # relative error of a mean, up to which it is of use


@dataclass(frozen=True)
class Exponentials:
    """K exponential distributions."""

    weights: Annotated[np.ndarray, of.distributions("K")]
    means: Annotated[np.ndarray, of.numbers("K", 0.0)]

    def log_likelihood(self, rows: np.ndarray) -> np.ndarray:
        """Of waiting times (n,), in nats, shape (n,)."""
        return np.asarray(np.log(self.densities(rows).sum(axis=1)))

    def densities(self, rows: np.ndarray) -> np.ndarray:
        """Of each component at each row, times its weight, shape (n, K)."""
        return np.asarray(self.weights / self.means * np.exp(-rows[:, None] / self.means)) + 1e-300


class _Powers:
    """Statistic: sums of x^j / j! by group, shape (n_groups, 2 K)."""

    def __init__(self, folds: Folds, n_components: int) -> None:
        self.folds, self.powers = folds, np.arange(2 * n_components)

    def zero(self) -> np.ndarray:
        return np.zeros((self.folds.n, len(self.powers)))

    def add(self, sums: np.ndarray, block: Block) -> np.ndarray:
        rows, groups = block[0][:, 0], self.folds.of(block.rows)
        if (rows < 0).any():
            raise LatentiaError("X has negative entries, and waiting times are positive.")
        np.add.at(sums, groups, rows[:, None] ** self.powers / [factorial(j) for j in self.powers])
        return sums

    def merge(self, sums: np.ndarray, others: np.ndarray) -> np.ndarray:
        return sums + others


class ExponentialMixture(Staged[np.ndarray, Exponentials]):
    """Mixture of exponential distributions of one positive number, by its moments.

    Parameters
    ----------
    n_components : int, default=2
        Number of components K, at most 4: more moments than eight say nothing.
    n_splits : int, default=3
        Splits into halves, whose fits give the expected errors.
    random_state : int, default=0
        Seed of the splits.
    n_jobs : int, optional
        Number of threads.
    verbose : bool, default=False
        Whether to show progress.

    Attributes
    ----------
    weights_, means_ : ndarray of shape (K,)
        Shares and mean waiting times, the longest first.
    evidence_ : Evidence
        Expected errors are relative to the mean.
    """

    _constraints: ClassVar = {"n_components": Integer(1, 4)}
    _compared = ("means_",)
    weights_: Annotated[np.ndarray, of.distributions("K")]
    means_: Annotated[np.ndarray, of.numbers("K", 0.0)]
    refine = 0

    def __init__(
        self, n_components: int = 2, *, n_splits: int = 3, random_state: Seed = 0, n_jobs: int | None = None, verbose: int = 0
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fitting
    def fit(self, X: Any, y: Any = None) -> ExponentialMixture:
        """Learn the mixture from waiting times of shape (n_rows, 1)."""
        return self._fit_stages(table_blocks(self, X, reset=True, sparse=False))

    def _moments(self, rows: Blocks, folds: Folds) -> np.ndarray:
        """One pass: the sums of the powers of the rows, by group."""
        sums: np.ndarray = accumulate(
            rows, _Powers(folds, self.n_components), n_jobs=self.n_jobs, progress=self.verbose
        )
        return sums

    def _recover(self, moments: np.ndarray, subset: Subset, choices: Any) -> Exponentials:
        """Prony's method: means are generalized eigenvalues of two Hankel matrices, and weights solve for the moments."""
        sums, size = moments[list(subset.groups)].sum(axis=0), self.n_components
        unit = sums[1] / sums[0]
        c = sums / sums[0] / unit ** np.arange(2 * size)
        places = np.add.outer(np.arange(size), np.arange(size))
        means = np.linalg.eigvals(np.linalg.solve(c[places], c[places + 1]))
        if np.abs(means.imag).max() > 0 or means.real.min() <= 0:
            raise LatentiaError(
                f"The moments of these rows are not those of {size} exponentials: this data supports at most {size - 1}.",
                parameter="n_components", value=size,
            )  # fmt: skip
        means = np.sort(means.real)[::-1]
        weights = np.linalg.lstsq(means ** np.arange(2 * size)[:, None], c, rcond=None)[0]
        weights = np.maximum(weights, 0)
        return Exponentials(weights / weights.sum(), means * unit)

    def _checks(self, fitted: Fitted[np.ndarray, Exponentials]) -> tuple[list[Check], PartErrors]:
        """The errors of parts, and one exponential as the trivial model."""
        parts, model, n = fitted.errors(self.n_splits), fitted.model, int(fitted.moments[:, 0].sum())
        rows = sample_rows(fitted.rows)[0][:, 0]
        one = Exponentials(np.ones(1), fitted.moments[:, 1].sum(keepdims=True) / n)
        against = {"extra": 2 * (self.n_components - 1), "n_rows": n, "against": "one exponential"}
        return [
            *error_checks(parts, _LIMIT, "mean |s - s'| / s", "relative to it", n_rows=n),
            *trivial_checks(model.log_likelihood(rows), one.log_likelihood(rows), **against),
        ], parts

    def _cost(self) -> Literal["free"]:
        return "free"

    def _distance(self, first: Exponentials, second: Exponentials, moments: Any) -> np.ndarray:
        return np.asarray(np.abs(first.means[:, None] - second.means).min(axis=1) / first.means)

    def _distances(self, other: ExponentialMixture) -> np.ndarray:
        return np.asarray(np.abs(self.means_[:, None] - other.means_).min(axis=1) / self.means_)

    def _set_fitted_attributes(self, fitted: Fitted[np.ndarray, Exponentials]) -> None:
        self.weights_, self.means_, self.n_passes_ = fitted.model.weights, fitted.model.means, 1

    @fitted
    def sample(self, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draw waiting times, shape (n_samples, 1)."""
        rng = np.random.default_rng(random_state)
        return rng.exponential(rng.choice(self.means_, n_samples, p=self.weights_))[:, None]

    @fitted
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components, shape (n_rows, K)."""
        rows = np.concatenate([block[0][:, 0] for block in table_blocks(self, X, reset=False, sparse=False)])
        found = Exponentials(self.weights_, self.means_).densities(rows)
        return np.asarray(found / found.sum(axis=1, keepdims=True))
