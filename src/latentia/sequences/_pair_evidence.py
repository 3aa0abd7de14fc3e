"""Checks that two states explain the pairs of neighbours, and predict better than frequencies.

The scaled counts S of neighbours (see `latentia.linalg.scaled`) have one eigenpair if there are two states. Pairs that occur
twice give the squared norm of S without noise. Anything beyond that eigenpair is structure that two states do not have: further
states, subjects, phrases. Symbols that return sooner than the chain allows are tested separately, which has more power, since
several lags add up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..evidence import Check, PartErrors, above, at_most, bounds, error_checks
from ..evidence.limits import MANY_STANDARD_ERRORS, MAX_L1_ERROR
from ..linalg import ScaledSpace, signal_norm
from ._chain import Chain

_MAX_REPEAT_DEVIATIONS = 4.0  # standard deviations of the number of returning symbols
_ERROR_PER_SHARE = 0.5  # error of a state, as a share of the states' distance, for a misfit as large as all of S
_MIN_TEST_CHANCE = 2 / 3  # smallest chance that the best possible test is right
_MAX_BOUND_SYMBOLS = 1_000_000  # The bound is a sum over at most this many symbols.
_MAX_SHARE_DIFFERENCE = 0.2  # between the states, where the method takes their shares to be equal
_REMEDY = (
    "The steps have structure that two states do not explain: try more states, or drop repeated symbols and phrases."
)


class PairFit(NamedTuple):
    """Misfit of two states to the pairs.

    Attributes
    ----------
    deviations : float
        Norm of the residual, in standard deviations of noise.
    share : float
        Norm of the residual, as a share of that of S.
    repeats : float
        Symbols that return one to three steps later beyond what the chain expects, in standard deviations.
    """

    deviations: float
    share: float
    repeats: float

    def bias(self, separation: float) -> np.ndarray:
        """Compute the error that the misfit adds to each state, from the states' distance, shape (2,)."""
        return np.full(2, _ERROR_PER_SHARE * self.share * separation)

    def checks(self) -> list[Check]:
        """Build a check that asks for care if it fails, and a note."""
        return [
            Check(
                "goodness of fit", "(|S|^2 - l^2) / sd", self.deviations, at_most(MANY_STANDARD_ERRORS, "standard deviations"),
                "Pairs of neighbours that two states do not explain. Above the limit the steps have structure that the model "
                "lacks, and the expected errors are larger.", "not in the paper", "caution", _REMEDY,
            ),
            Check(
                "symbols that return", "sum of c_xx, 1 to 3 apart", abs(self.repeats),
                at_most(_MAX_REPEAT_DEVIATIONS, "standard deviations"),
                "How often a symbol returns within three steps, compared with what the states make likely.",
                "not in the paper", "note", _REMEDY,
            ),
        ]  # fmt: skip


def compare_pairs(
    space: ScaledSpace, distinct: Any, lagged: list[Any], chain: Chain, copies: float, n_jobs: int | None
) -> PairFit:
    """Compare the pairs with those of a chain.

    Parameters
    ----------
    space : ScaledSpace
        Scaled counts of neighbours.
    distinct : csr_array of shape (M, M)
        C + C^T for neighbours, without copies.
    lagged : list of csr_array
        Pairs at lags 1, 2, ...
    chain : Chain
    copies : float
        Average number of occurrences of a step.
    """
    norm = signal_norm(distinct, space.marginals, space.scale, n_jobs)
    signal = float(space.signal[0] ** 2) if space.n_kept else space.edge**2 / 4
    deviation = space.edge**2 / 2
    residual = max(norm - signal, 0.0)
    share = float(np.sqrt(residual / norm)) if norm > 0 and residual > MANY_STANDARD_ERRORS * deviation else 0.0
    return PairFit((norm - signal) / deviation, share, _measure_repeats(space.marginals, lagged, chain, copies))


def _measure_repeats(marginals: np.ndarray, lagged: list[Any], chain: Chain, copies: float) -> float:
    """Measure how many more symbols return than a chain expects, in standard deviations of Poisson counts."""
    totals = np.array([float(counts.sum()) for counts in lagged])
    observed = np.array([float(counts.diagonal().sum()) for counts in lagged])
    # The noise of the frequencies adds 1 / n to their squares.
    by_frequency = float(marginals @ marginals) - copies / max(totals[0], 1.0)
    state_difference = float(chain.startprob.prod() * ((chain.emissions[0] - chain.emissions[1]) ** 2).sum())
    memory = float(np.trace(chain.transmat) - 1)
    expected = totals * (by_frequency + state_difference * memory ** np.arange(1, len(totals) + 1))
    return float((observed - expected).sum() / np.sqrt(max(float(np.maximum(observed, expected).sum()), 1.0) * copies))


def pair_log_likelihoods(counts: Any, chain: Chain, marginals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute log-probabilities of pairs of neighbours under a chain and under independent steps, shape (n,) each.

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
    """Measurements of a fit, for the checks.

    Attributes
    ----------
    parts : PartErrors
    fit : PairFit or None
    best_test : float
        Largest chance with which any test distinguishes two states from none.
    spectrum, edge : float
        Leading eigenvalue of the scaled counts, and the edge of the noise.
    deviations : float
        Agreement of neighbours' scores, in standard deviations of independent steps.
    is_crossed : bool
        True if those steps are held out from the fit of the direction.
    memory, apart : float
        Second eigenvalue of the transitions, and the l1 distance of the states' symbols.
    chain : Chain or None
        Chain by moments.
    unequal : float or None
        Difference of the states' shares, if the method takes them to be equal.
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
        """Largest useful error: a third of the states' distance by the moments, less what errors add to that distance."""
        if self.chain is None:
            return MAX_L1_ERROR
        separation = float(np.abs(self.chain.emissions[0] - self.chain.emissions[1]).sum())
        errors = self.parts.errors
        noise = 0.0 if errors is None else min(float(np.linalg.norm(errors)), 0.9 * separation)
        return min(MAX_L1_ERROR, float(np.sqrt(separation**2 - noise**2)) / 3)


def best_test(occurrences: np.ndarray, lengths: np.ndarray, chain: Chain | None) -> float:
    """Bound the power of any test of two states, for equally frequent symbols that return as often as these do.

    The states switch as often as those of the chain, or without a chain as in the theorem: states that stay longer are easier
    to detect.
    """
    switch = 0.25 if chain is None else float(np.clip(1 - np.trace(chain.transmat) / 2, 0, 1))
    counts, n = occurrences.astype(float), int(occurrences.sum())
    returns = max(float((counts * (counts - 1)).sum()), 1.0)
    size = n * (n - 1) / returns
    return bounds.two_state_detection(lengths, int(np.clip(round(size), 2, _MAX_BOUND_SYMBOLS)), switch)


def build_chain_checks(m: ChainMeasurements, n_steps: int) -> list[Check]:
    """Build the checks of the theorem's assumptions and of the expected errors."""
    return [
        *error_checks(
            m.parts, m.limit, "mean |p_i - p'_i|_1", "in l1: 0 is exact, 2 is all wrong", "state", "halves of the steps",
            n_rows=n_steps,
        ),
        *([] if m.fit is None else m.fit.checks()),
        Check(
            "leading eigenvalue", "|lambda_1(S)|", abs(m.spectrum), above(m.edge, "e"),
            "Of the scaled counts of neighbours, compared with the edge of the noise.", "appendix C",
        ),
        Check(
            "agreement of neighbours", "c_1 / sd", abs(m.deviations), above(MANY_STANDARD_ERRORS),
            "Lagged score on held-out steps, in standard deviations of independent steps.", "Theorem 1.5",
            "verdict" if m.is_crossed else "note",
        ),
        Check(
            "best possible test", "1/2 + (E[Y^2] - 1)^(1/2) / 4", m.best_test, above(_MIN_TEST_CHANCE, "1/2 for a coin"),
            "Largest chance with which any method can distinguish two states from independent draws of as many steps and "
            "symbols. The states share no symbol and switch as the fitted ones do, or else every fourth step. 1: no bound.",
            "Lemma B.6", "note",
            "In so few steps no method detects two states that switch as often: give about five steps per symbol.",
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
        "Difference of the states' shares; method='cubic' takes them to be equal. Use 'moments' if they are not.",
        "Proposition 1.4", "verdict",
    )  # fmt: skip
