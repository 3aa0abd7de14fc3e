"""Checks of the theorems' assumptions about pairs, and of expected errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..evidence import (
    Check,
    PartErrors,
    above,
    at_least,
    at_most,
    convergence_checks,
    equal_to,
    noise_limit,
    parts_checks,
)
from ..evidence.limits import MAX_TOTAL_ERROR
from ..linalg import ScaledSpace
from ._matrix import Estimate

_SIGNAL_SHARE = 0.7  # share of |S|_F: errors below it are clearly below those of independent words
_MAX_ASYMMETRY = 1.5  # in units of the asymmetry that noise gives symmetric counts


@dataclass(frozen=True)
class FitMeasurements:
    """Measurements of a fit, for its evidence.

    Attributes
    ----------
    estimate : Estimate
    directions : int
        R - 1, the requested number of directions.
    n_pairs : float
    missing : float
        Squared norm of S that the kept directions do not explain.
    error : float
        Expected l1 error.
    parts : PartErrors
    asymmetry : float or None
        None for symmetric counts.
    gain : float or None
        Gain of refinement, in nats a held-out pair; None if refinement was not requested.
    """

    estimate: Estimate
    directions: int
    n_pairs: float
    missing: float
    error: float
    parts: PartErrors
    asymmetry: float | None
    gain: float | None

    @property
    def space(self) -> ScaledSpace:
        return self.estimate.space


def matrix_checks(m: FitMeasurements) -> list[Check]:
    """Check the error of all probabilities, and the signal in the kept directions."""
    space, size = m.space, len(m.space.marginals)
    signal, kept_signal = (float(np.sqrt((space.signal**2).sum() + squared_rest)) for squared_rest in (m.missing, 0.0))
    limit = min(max(_SIGNAL_SHARE * kept_signal, 0.02), MAX_TOTAL_ERROR)
    lines = [
        total_error_check(
            m.error, limit,
            "That of independent words is about 0.8 |S|_F, where S has the kept directions. Above 1 most of the probability is "
            "on wrong pairs.",
            "Theorem 1.1", "It is hardly better than independence: give more pairs, or a lower rank.",
        ),
        Check(
            "directions kept", "|lambda_k| > e", float(space.n_kept), equal_to(m.directions),
            f"Eigenvalues above the edge of the noise at {space.edge:.2g}; the others are dropped. With fewer than "
            "n_components - 1, part of B is missing, or its rank is lower.", "section 2",
        ),
        Check(
            "signal", "|S|_F", signal, above(space.edge / 2, "e / 2"),
            "Norm of the associations between words; a direction with less than e / 2 cannot be detected.", "section 1.2.2",
            "verdict" if m.directions else "note",
        ),
        pairs_note(m.n_pairs / size),
    ]  # fmt: skip
    return [*lines, *_fit_checks(m), *_refinement_checks(m), *_data_checks(m), *halves_checks(m.parts)]


def _fit_checks(m: FitMeasurements) -> list[Check]:
    if not m.space.beyond:
        return []
    return [
        Check(
            "goodness of fit", "|lambda_R| / e", m.space.beyond / m.space.plain_edge,
            at_most(noise_limit(int((m.space.marginals > 0).sum())), "1 for noise"),
            "The first eigenvalue beyond the requested ones, relative to the edge of the noise of independent pairs. Above the "
            "limit the rank is too low for the structure, or pairs depend on each other; errors are widened accordingly.",
            "section 1.2.2", "caution",
            "The pairs have more structure than this rank, or they are not independent, such as all pairs of some documents: "
            "compare with a higher rank, or take fewer pairs of each document.",
        )
    ]  # fmt: skip


def _refinement_checks(m: FitMeasurements) -> list[Check]:
    lines = convergence_checks(m.estimate.refinement)
    if m.gain is not None:
        meaning = (
            "Gain in log-probability of held-out pairs (one in ten) by refinement, which is used if it is positive."
        )
        lines.append(Check("held-out pairs", "nats a pair", m.gain, above(0), meaning, "not in the paper"))
    return lines


def _data_checks(m: FitMeasurements) -> list[Check]:
    unseen, negative = int((m.space.marginals == 0).sum()), float((m.space.values < 0).sum())
    lines = [
        Check("unseen words", "r_i = 0", float(unseen), None, "Their rows are zero.", "section 2"),
        Check(
            "negative eigenvalues", "lambda_k < 0", negative, equal_to(0),
            "The theorem assumes a positive semidefinite mixing matrix; this estimator keeps them.", "Theorem 1.1",
        ),
    ]  # fmt: skip
    if m.asymmetry is not None:
        lines.append(
            Check(
                "asymmetry", "sum (c_ij - c_ji)^2 / sum (c_ij + c_ji)", m.asymmetry, at_most(_MAX_ASYMMETRY),
                "1 for pairs without order. Above the limit the order of words matters, and the model ignores it.",
                "section 1.1",
            )
        )  # fmt: skip
    return lines


def halves_checks(parts: PartErrors) -> list[Check]:
    """Measure the distance to fits on halves of the pairs, and check how parts were fitted."""
    lines, source = [], "parts of the data"
    if parts.errors is not None:
        meaning = "l1 distance to fits on halves of the pairs; it does not include errors that all fits share."
        lines.append(Check("distance to halves", "|B - B_half|_1", float(parts.errors[0]), None, meaning, source))
    return lines + parts_checks(parts)


def total_error_check(error: float, limit: float, meaning: str, reference: str, remedy: str) -> Check:
    """Check the expected error of all probabilities together."""
    return Check(
        "expected error", "|B - B'|_1", error, at_most(limit), f"Expected l1 error (0 to 2). {meaning}", reference, "verdict",
        remedy,
    )  # fmt: skip


def pairs_note(pairs_per_word: float) -> Check:
    """Compare the number of pairs with the sample size of the theorem."""
    return Check(
        "pairs per word", "N / M", pairs_per_word, at_least(1), "The sample size of the theorem is of the order of M.",
        "Theorem 1.5",
    )  # fmt: skip
