"""Whether two states explain the pairs of neighbours, and what they gain over frequencies.

The scaled counts S of neighbours (see `latentia.linalg.scaled`) have one eigenpair if there are two states. The squared norm of
S without noise is known from pairs that were seen twice; what it has beyond that eigenpair is structure that two states do not
have: further states, subjects, phrases. Symbols that return sooner than the chain says are seen with more power by
themselves, since each lag adds to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..evidence import Check, at_most
from ..linalg import ScaledSpace, signal_norm
from ._chain import Chain

__all__ = ["PairFit", "fit_of_pairs", "pair_log_likelihoods"]

_MOST = 3.0  # standard deviations of the norm
_MOST_REPEATS = 4.0  # of the repeats
_PER_SHARE = 0.5  # error of a state, of what the states are apart, for a misfit that is all of S
_REMEDY = "The steps have structure that two states do not explain: try more states, or leave repeated symbols and phrases out."


class PairFit(NamedTuple):
    """What two states leave of the pairs.

    Attributes
    ----------
    deviations : float
        Of the norm of what they leave, in standard deviations of noise.
    share : float
        That norm, as a share of all of S.
    repeats : float
        Symbols that return one to three steps later, beyond what the chain says, in standard deviations.
    """

    deviations: float
    share: float
    repeats: float

    def bias(self, apart: float) -> np.ndarray:
        """Error that it adds to each state, from how far the states are apart, shape (2,)."""
        return np.full(2, _PER_SHARE * self.share * apart)

    def checks(self) -> list[Check]:
        """Two lines, which ask for care where they fail."""
        return [
            Check(
                "goodness of fit", "(|S|^2 - l^2) / sd", self.deviations, at_most(_MOST, "standard deviations"),
                "What two states leave of the pairs of neighbours. Above the limit the steps have structure that the model "
                "does not have, and errors are widened by it.", "not in the paper", "caution", _REMEDY,
            ),
            Check(
                "symbols that return", "sum of c_xx, 1 to 3 apart", abs(self.repeats),
                at_most(_MOST_REPEATS, "standard deviations"),
                "How often a symbol is said again within three steps, beside what the states make likely.", "not in the paper",
                "caution", _REMEDY,
            ),
        ]  # fmt: skip


def fit_of_pairs(
    space: ScaledSpace, distinct: Any, lagged: list[Any], chain: Chain, copies: float, n_jobs: int | None
) -> PairFit:
    """Compare the pairs with those of a chain.

    Parameters
    ----------
    space : ScaledSpace
        Of neighbours.
    distinct : csr_array of shape (M, M)
        C + C^T of neighbours, copies left out.
    lagged : list of csr_array
        Pairs 1, 2, ... apart.
    chain : Chain
    copies : float
        Times that a step is there on average.
    """
    norm = signal_norm(distinct, space.marginals, space.scale, n_jobs)
    signal = float(space.signal[0] ** 2) if space.n_kept else space.edge**2 / 4
    deviation = space.edge**2 / 2
    left = max(norm - signal, 0.0)
    share = float(np.sqrt(left / norm)) if norm > 0 and left > _MOST * deviation else 0.0
    return PairFit((norm - signal) / deviation, share, _repeats(space.marginals, lagged, chain, copies))


def _repeats(marginals: np.ndarray, lagged: list[Any], chain: Chain, copies: float) -> float:
    """Symbols that return, beyond those of a chain, in standard deviations of Poisson counts."""
    totals = np.array([float(counts.sum()) for counts in lagged])
    seen = np.array([float(counts.diagonal().sum()) for counts in lagged])
    # Frequencies have noise of their own, which adds 1 / n to their squares.
    alone = float(marginals @ marginals) - copies / max(totals[0], 1.0)
    apart = float(chain.startprob.prod() * ((chain.emissions[0] - chain.emissions[1]) ** 2).sum())
    memory = float(np.trace(chain.transmat) - 1)
    expected = totals * (alone + apart * memory ** np.arange(1, len(totals) + 1))
    return float((seen - expected).sum() / np.sqrt(max(float(np.maximum(seen, expected).sum()), 1.0) * copies))


def pair_log_likelihoods(counts: Any, chain: Chain, marginals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of pairs of neighbours under a chain and of independent steps, shape (n,) each.

    ``marginals`` are positive, so that no symbol is impossible.
    """
    cells = counts.tocoo()
    i, j = cells.coords
    smoothed = chain.smoothed(marginals)
    joint = smoothed.startprob[:, None] * smoothed.transmat
    together = np.einsum("kn,kn->n", joint.T @ smoothed.emissions[:, i], smoothed.emissions[:, j])
    times = cells.data.astype(np.int64)
    return np.repeat(np.log(together), times), np.repeat(np.log(marginals[i] * marginals[j]), times)
