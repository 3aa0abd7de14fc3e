"""Choice of the finding to ask for next, whose answer is expected to tell most about the causes.

Let p_k be the posteriors given the answers so far, with causes taken as independent. Finding j is absent with probability
(1 - leak_j) prod_k (1 - p_k F_kj). If it is absent, p_k becomes

    p_k (1 - F_kj) / (1 - p_k F_kj);

if it is present, p_k becomes the value that makes p_k the mean over both answers. The gain is the expected decrease of the sum
of the entropies of all causes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import entr

from .network import Network

_TINY = 1e-300


class Question(NamedTuple):
    """An unknown finding.

    Attributes
    ----------
    finding : str
        Name.
    number : int
        Column.
    probability : float
        Probability that it is present, given the known findings.
    gain : float
        Expected decrease of the summed entropies of the causes by the answer, in nats.
    """

    finding: str
    number: int
    probability: float
    gain: float


def questions(network: Network, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability that each finding is present, given posteriors (m,) of causes, and its gain; both (n,)."""
    model = network.search_model
    p, absence_factors = probabilities[model.causes], model.absence_factors
    absent = 1 - p * (1 - absence_factors)  # P(finding absent) if only this cause could act
    logs = np.bincount(model.findings, np.log(np.maximum(absent, _TINY)), network.n)
    without = model.silent * np.exp(logs)
    present = np.maximum(1 - without[model.findings], _TINY)
    if_absent = p * absence_factors / np.maximum(absent, _TINY)
    if_present = np.clip((p - (1 - present) * if_absent) / present, 0.0, 1.0)
    after = (1 - present) * _entropy(if_absent) + present * _entropy(if_present)
    return 1 - without, np.bincount(model.findings, _entropy(p) - after, network.n)


def _entropy(p: np.ndarray) -> np.ndarray:
    return np.asarray(entr(p) + entr(1 - p))
