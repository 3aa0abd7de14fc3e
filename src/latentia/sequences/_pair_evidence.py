"""Whether two states explain the pairs of neighbours, and what they gain over frequencies.

The scaled counts S of neighbours (see `latentia.linalg.scaled`) have one eigenpair if there are two states. The squared norm of
S without noise is known from pairs that were seen twice; what it has beyond that eigenpair is structure that two states do not
have: further states, subjects, phrases. Symbols that return sooner than the chain says are seen with more power by
themselves, since each lag adds to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..evidence import Check, PartErrors, above, at_most, bounds, error_checks
from ..linalg import ScaledSpace, signal_norm
from ._chain import Chain

MIN_DEVIATIONS = 3.0  # of the lagged score on steps that it was not found on: chance below 0.3%

_MAX_NORM_DEVIATIONS = 3.0  # standard deviations of the norm
_MAX_REPEAT_DEVIATIONS = 4.0  # of the repeats
_ERROR_PER_SHARE = 0.5  # error of a state, of what the states are apart, for a misfit that is all of S
_MAX_TRUSTED_ERROR = 0.4  # l1 error of a state's symbols (0 to 2); and a third of what the states are apart
_MIN_TEST_CHANCE = 2 / 3  # of the best test to be right, below which none is worth the name
_MAX_BOUND_SYMBOLS = 1_000_000  # that the bound adds up over
_MAX_SHARE_DIFFERENCE = 0.2
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

    def bias(self, separation: float) -> np.ndarray:
        """Error that it adds to each state, from how far the states are apart, shape (2,)."""
        return np.full(2, _ERROR_PER_SHARE * self.share * separation)

    def checks(self) -> list[Check]:
        """Two lines, which ask for care where they fail."""
        return [
            Check(
                "goodness of fit", "(|S|^2 - l^2) / sd", self.deviations, at_most(_MAX_NORM_DEVIATIONS, "standard deviations"),
                "Part of the pairs of neighbours that two states do not explain. Above the limit the steps have structure "
                "that the model does not have, and errors are widened by it.", "not in the paper", "caution", _REMEDY,
            ),
            Check(
                "symbols that return", "sum of c_xx, 1 to 3 apart", abs(self.repeats),
                at_most(_MAX_REPEAT_DEVIATIONS, "standard deviations"),
                "How often a symbol is said again within three steps, beside what the states make likely.", "not in the paper",
                "caution", _REMEDY,
            ),
        ]  # fmt: skip


def compare_pairs(
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
    residual = max(norm - signal, 0.0)
    share = float(np.sqrt(residual / norm)) if norm > 0 and residual > _MAX_NORM_DEVIATIONS * deviation else 0.0
    return PairFit((norm - signal) / deviation, share, _measure_repeats(space.marginals, lagged, chain, copies))


def _measure_repeats(marginals: np.ndarray, lagged: list[Any], chain: Chain, copies: float) -> float:
    """Symbols that return, beyond those of a chain, in standard deviations of Poisson counts."""
    totals = np.array([float(counts.sum()) for counts in lagged])
    observed = np.array([float(counts.diagonal().sum()) for counts in lagged])
    # Frequencies have noise of their own, which adds 1 / n to their squares.
    by_frequency = float(marginals @ marginals) - copies / max(totals[0], 1.0)
    state_difference = float(chain.startprob.prod() * ((chain.emissions[0] - chain.emissions[1]) ** 2).sum())
    memory = float(np.trace(chain.transmat) - 1)
    expected = totals * (by_frequency + state_difference * memory ** np.arange(1, len(totals) + 1))
    return float((observed - expected).sum() / np.sqrt(max(float(np.maximum(observed, expected).sum()), 1.0) * copies))


def pair_log_likelihoods(counts: Any, chain: Chain, marginals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of pairs of neighbours under a chain and of independent steps, shape (n,) each.

    ``marginals`` are positive, so that no symbol is impossible.
    """
    cells = counts.tocoo()
    i, j = cells.coords
    smoothed = chain.smooth(marginals)
    joint = smoothed.startprob[:, None] * smoothed.transmat
    joint_probabilities = np.einsum("kn,kn->n", joint.T @ smoothed.emissions[:, i], smoothed.emissions[:, j])
    times = cells.data.astype(np.int64)
    return np.repeat(np.log(joint_probabilities), times), np.repeat(np.log(marginals[i] * marginals[j]), times)


class ChainMeasurements(NamedTuple):
    """What was measured of a fit.

    Attributes
    ----------
    parts : PartErrors
    fit : PairFit or None
    best_test : float
        Chance of the best test to tell two states from none.
    spectrum, edge : float
        Leading eigenvalue of the scaled counts, and the edge of the noise.
    deviations : float
        Of neighbours' scores, in standard deviations of independent steps.
    is_crossed : bool
        Whether these are of steps that the direction was not found on.
    memory, apart : float
        Second eigenvalue of the transitions, and the l1 distance of the states' symbols.
    chain : Chain or None
        Of the moments.
    unequal : float or None
        How far apart the states' shares are, where the method takes them to be equal.
    """

    parts: PartErrors
    fit: PairFit | None
    best_test: float
    spectrum: float
    edge: float
    deviations: float
    is_crossed: bool
    memory: float
    separation: float
    chain: Chain | None
    share_difference: float | None

    @property
    def limit(self) -> float:
        """Error up to which states are told apart: a third of their distance by the moments, without what errors add to it."""
        if self.chain is None:
            return _MAX_TRUSTED_ERROR
        separation = float(np.abs(self.chain.emissions[0] - self.chain.emissions[1]).sum())
        errors = self.parts.errors
        noise = 0.0 if errors is None else min(float(np.linalg.norm(errors)), 0.9 * separation)
        return min(_MAX_TRUSTED_ERROR, float(np.sqrt(separation**2 - noise**2)) / 3)


def best_test(occurrences: np.ndarray, lengths: np.ndarray, chain: Chain | None) -> float:
    """Bound on any test of two states, for as many equally frequent symbols as return as often as these do.

    The states switch as those of the chain, or where none was found as in the theorem: those that stay longer are told sooner.
    """
    switch = 0.25 if chain is None else float(np.clip(1 - np.trace(chain.transmat) / 2, 0, 1))
    counts, n = occurrences.astype(float), int(occurrences.sum())
    returns = max(float((counts * (counts - 1)).sum()), 1.0)
    size = n * (n - 1) / returns
    return bounds.two_state_detection(lengths, int(np.clip(round(size), 2, _MAX_BOUND_SYMBOLS)), switch)


def build_chain_checks(m: ChainMeasurements, n_steps: int) -> list[Check]:
    """What the theorem assumes, and the expected errors."""
    return [
        *error_checks(
            m.parts, m.limit, "mean |p_i - p'_i|_1", "in l1: 0 is exact, 2 is all wrong", "state", "halves of the steps",
            n_rows=n_steps,
        ),
        *([] if m.fit is None else m.fit.checks()),
        Check(
            "leading eigenvalue", "|lambda_1(S)|", abs(m.spectrum), above(m.edge, "e"),
            "Of the scaled counts of neighbours, beside the edge of the noise.", "appendix C", "verdict",
        ),
        Check(
            "agreement of neighbours", "c_1 / sd", abs(m.deviations), above(MIN_DEVIATIONS), "Lagged score on steps that its "
            "direction was not found on, in standard deviations of independent steps.", "Theorem 1.5",
            "verdict" if m.is_crossed else "note",
        ),
        Check(
            "best possible test", "1/2 + (E[Y^2] - 1)^(1/2) / 4", m.best_test, above(_MIN_TEST_CHANCE, "1/2 for a coin"),
            "Largest chance with which any method distinguishes two states without a common symbol, which switch as those "
            "found do, or else one step in four, from independent draws of as many steps and symbols. 1: there is no bound.",
            "Lemma B.6", "veto",
            "In so few steps no method detects two states that switch as often: about five for each symbol are needed.",
        ),
        *([] if m.share_difference is None else [_build_symmetry_check(m.share_difference)]),
        Check("memory", "lambda", m.memory, None, "Second eigenvalue of the transitions.", "Proposition 1.4"),
        Check(
            "separation", "|p_1 - p_2|_1", m.separation, None, "l1 distance of the states' symbols (0 to 2).",
            "Proposition 1.4",
        ),
    ]  # fmt: skip


def _build_symmetry_check(share_difference: float) -> Check:
    return Check(
        "symmetry", "|pi_2 - pi_1|", share_difference, at_most(_MAX_SHARE_DIFFERENCE),
        "Of the states' shares; method='cubic' takes them to be equal. Use 'moments' where they are not.",
        "Proposition 1.4", "verdict",
    )  # fmt: skip
