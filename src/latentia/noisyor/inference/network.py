"""Parameters of a noisy-or network, and the priors of its causes given the absent findings of a row.

Model: causes d_k are independent, on with probability rho_k; given them the findings are independent with

    P[s_i = 0 | d] = (1 - leak_i) exp(-sum_k W_ki d_k).

Unknown findings sum out of the model and are dropped. An absent finding is a product over causes: all absent findings
together only turn rho_k into rho_k c_k / (1 - rho_k + rho_k c_k) with c_k = exp(-sum_(i absent) W_ki). Only present findings
couple the causes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from ...exceptions import LatentiaError
from .search import SearchModel

MIN_STRENGTH = 0.05  # smallest strength of a link; weaker ones are mostly noise
_MIN_LEAK = 1e-12  # findings that no cause explains have this probability
_MIN_PRIOR = 1e-300  # its logarithm is finite
_MAX_PRIOR, _MAX_STRENGTH = 1 - 1e-15, 1 - 1e-12


@dataclass(frozen=True)
class Network:
    """Parameters of a noisy-or network of m causes and n findings.

    Attributes
    ----------
    weights : ndarray of shape (m, n)
        W, nonnegative: cause k alone turns finding i on with probability 1 - exp(-W_ki).
    priors : ndarray of shape (m,)
        rho, the probabilities that a cause is on.
    leak : ndarray of shape (n,)
        Probabilities that a finding is on while no cause is.
    """

    weights: np.ndarray
    priors: np.ndarray
    leak: np.ndarray

    def __post_init__(self) -> None:
        for name in ("weights", "priors", "leak"):
            try:
                values = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise LatentiaError(f"{name} of the network is not an array of numbers ({error}).") from error
            object.__setattr__(self, name, values)
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise LatentiaError(
                f"weights has shape {self.weights.shape}; expected a row for each cause and a column for each finding."
            )
        for name, values, size in (("priors", self.priors, self.m), ("leak", self.leak, self.n)):
            if values.shape != (size,):
                raise LatentiaError(
                    f"{name} has shape {values.shape}; expected ({size},), as weights has shape {self.weights.shape}."
                )
            outside = np.flatnonzero(~((values >= 0) & (values <= 1)))
            if len(outside):
                raise LatentiaError(
                    f"{name}[{outside[0]}] is {values[outside[0]]}; expected a probability from 0 to 1."
                )
        invalid = np.argwhere(~(np.isfinite(self.weights) & (self.weights >= 0)))
        if len(invalid):
            k, i = invalid[0]
            raise LatentiaError(
                f"weights[{k}, {i}] is {self.weights[k, i]}; expected a finite number of at least 0. Set negative "
                "estimates to 0."
            )

    @cached_property
    def search_model(self) -> SearchModel:
        """The network in the form that the search for likely configurations takes."""
        strengths = np.minimum(-np.expm1(-self.weights), _MAX_STRENGTH)
        return SearchModel.from_strengths(
            strengths, np.clip(self.leak, _MIN_LEAK, _MAX_STRENGTH), np.clip(self.priors, _MIN_LEAK, _MAX_STRENGTH)
        )

    @property
    def n_links(self) -> int:
        """Number of links that are not mostly noise: steps of EM fade links, but never to zero."""
        return int(np.count_nonzero(-np.expm1(-self.weights) >= MIN_STRENGTH))

    @property
    def m(self) -> int:
        """Number of causes."""
        return int(self.weights.shape[0])

    @property
    def n(self) -> int:
        """Number of findings."""
        return int(self.weights.shape[1])


@dataclass(frozen=True)
class InteriorNetwork:
    """A network with parameters away from the ends of their ranges, so that every logarithm is finite.

    Attributes
    ----------
    weights : ndarray of shape (m, n)
    on, off : ndarray of shape (m,)
        rho and 1 - rho.
    hazard : ndarray of shape (n,)
        -log(1 - leak): the load of a finding if no cause is on.
    """

    weights: np.ndarray
    on: np.ndarray
    off: np.ndarray
    hazard: np.ndarray

    @classmethod
    def from_network(cls, network: Network) -> InteriorNetwork:
        on = np.clip(network.priors, _MIN_PRIOR, _MAX_PRIOR)
        return cls(network.weights, on, 1 - on, -np.log1p(-np.clip(network.leak, _MIN_LEAK, _MAX_PRIOR)))


@njit(nogil=True, cache=True)
def absorb_absent(
    weights: np.ndarray, on: np.ndarray, off: np.ndarray, hazard: np.ndarray, present: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return priors on and off (m,) given the absent findings, log P[absent findings], and the present findings."""
    m = len(on)
    absent = np.flatnonzero(observed & ~present)
    new_on, new_off, scale = np.empty(m), np.empty(m), 0.0
    for i in absent:
        scale -= hazard[i]
    for k in range(m):
        load = 0.0
        for i in absent:
            load += weights[k, i]
        total = off[k] + on[k] * np.exp(-load)
        new_on[k], new_off[k] = on[k] * np.exp(-load) / total, off[k] / total
        scale += np.log(total)
    return new_on, new_off, scale, np.flatnonzero(present)
