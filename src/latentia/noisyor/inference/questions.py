"""Which finding to ask for next: the one whose answer is expected to say most of the causes.

With p_k the posteriors given the answers so far, causes taken for independent, finding j is absent with probability
(1 - leak_j) prod_k (1 - p_k F_kj), and the answer moves p_k to

    p_k (1 - F_kj) / (1 - p_k F_kj)  if it is absent,    and to what makes the mean of both p_k  if it is present.

The gain is how far the sum of the entropies of all causes falls in the mean over both answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import entr

from .network import Network

_TINY = 1e-300


class Question(NamedTuple):
    """A finding that is not known yet.

    Attributes
    ----------
    finding : str
        Its name.
    number : int
        Its column.
    probability : float
        That it is present, given the others.
    gain : float
        Expected decrease, in nats, of the entropies of the causes (summed) once the answer is known.
    """

    finding: str
    number: int
    probability: float
    gain: float


def questions(network: Network, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of each finding to be present, given posteriors (m,) of causes, and its gain; both (n,)."""
    model = network.search_model
    p, absence_factors = probabilities[model.causes], model.absence_factors
    absent = 1 - p * (1 - absence_factors)  # of the finding if only this cause could act
    logs = np.bincount(model.findings, np.log(np.maximum(absent, _TINY)), network.n)
    without = model.silent * np.exp(logs)
    present = np.maximum(1 - without[model.findings], _TINY)
    if_absent = p * absence_factors / np.maximum(absent, _TINY)
    if_present = np.clip((p - (1 - present) * if_absent) / present, 0.0, 1.0)
    after = (1 - present) * _entropy(if_absent) + present * _entropy(if_present)
    return 1 - without, np.bincount(model.findings, _entropy(p) - after, network.n)


def _entropy(p: np.ndarray) -> np.ndarray:
    return np.asarray(entr(p) + entr(1 - p))
