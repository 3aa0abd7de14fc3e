"""Checks of what the theorems assume of pairs, and of expected errors."""

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
)
from ..linalg import ScaledSpace
from ._matrix import Estimate

_TRUSTED = 1.0  # l1 error (0 to 2)
_BETTER = 0.7  # of |S|_F: an error that is clearly below that of independent words
_ASYMMETRIC = 1.5  # times the noise of symmetric counts


@dataclass(frozen=True)
class Measured:
    """What the fit knows about itself.

    Attributes
    ----------
    found : Estimate
    directions : int
        R - 1, as asked for.
    n_pairs : float
    missing : float
        Squared norm of what the kept directions leave of S.
    error : float
        Expected l1 error.
    parts : PartErrors
    asymmetry : float or None
        None for symmetric counts.
    gain : float or None
        Nats a held-out pair that refining gives; None where that was not asked.
    """

    found: Estimate
    directions: int
    n_pairs: float
    missing: float
    error: float
    parts: PartErrors
    asymmetry: float | None
    gain: float | None

    @property
    def space(self) -> ScaledSpace:
        return self.found.space


def matrix_checks(m: Measured) -> list[Check]:
    space, size = m.space, len(m.space.marginals)
    signal, kept = (float(np.sqrt((space.signal**2).sum() + more)) for more in (m.missing, 0.0))
    limit = min(max(_BETTER * kept, 0.02), _TRUSTED)
    lines = [
        Check(
            "expected error", "|B - B'|_1", m.error, at_most(limit),
            "Expected l1 error (0 to 2). That of independent words is about 0.8 |S|_F, of the directions that were "
            "kept; above 1 most of the probability is on wrong pairs.", "Theorem 1.1", "verdict",
            "It is hardly better than independence: more pairs are needed, or a lower rank.",
        ),
        Check(
            "directions kept", "|lambda_k| > e", float(space.n_kept), equal_to(m.directions),
            f"Eigenvalues above the edge of the noise at {space.edge:.2g}. The others are dropped. With fewer than "
            "n_components - 1, part of B is missing, or its rank is lower.", "section 2",
        ),
        Check(
            "signal", "|S|_F", signal, above(space.edge / 2, "e / 2"),
            "Norm of the associations between words; a direction with less than e / 2 cannot be detected.", "section 1.2.2",
            "verdict" if m.directions else "note",
        ),
        Check(
            "pairs per word", "N / M", m.n_pairs / size, at_least(1),
            "The sample size of the theorem is of the order of M.", "Theorem 1.5", "verdict",
        ),
    ]  # fmt: skip
    if m.directions and not space.n_kept:
        meaning = (
            "Beyond their frequencies words say nothing about each other: the matrix is that of independent words."
        )
        lines.append(Check("structure", "|lambda_1| > e", 0.0, at_least(1), meaning, "section 2", "veto"))
    return [*lines, *_further(m), *_refining_checks(m), *_other_checks(m), *part_checks(m.parts)]


def _further(m: Measured) -> list[Check]:
    if not m.space.beyond:
        return []
    return [
        Check(
            "goodness of fit", "|lambda_R| / e", m.space.beyond / m.space.plain_edge,
            at_most(noise_limit(int((m.space.marginals > 0).sum())), "1 for noise"),
            "The eigenvalue after those that were asked for, beside the edge of the noise of independent pairs. Above the "
            "limit the rank does not hold all structure, or pairs depend on each other, and errors are widened by it.",
            "section 1.2.2", "caution",
            "There is more in the pairs than this rank, or they are not independent, such as all pairs of some documents: "
            "compare with a higher rank, or take fewer pairs of each document.",
        )
    ]  # fmt: skip


def _refining_checks(m: Measured) -> list[Check]:
    lines = convergence_checks(m.found.refinement)
    if m.gain is not None:
        meaning = "How much more probable refining makes pairs that are held out, one in ten. The matrix is refined if it does."
        lines.append(Check("held-out pairs", "nats a pair", m.gain, above(0), meaning, "not in the paper"))
    return lines


def _other_checks(m: Measured) -> list[Check]:
    unseen, negative = int((m.space.marginals == 0).sum()), float((m.space.values < 0).sum())
    lines = [
        Check("unseen words", "r_i = 0", float(unseen), None, "Their rows are zero.", "section 2"),
        Check(
            "negative eigenvalues", "lambda_k < 0", negative, equal_to(0),
            "The theorem asks for a positive semidefinite mixing matrix; this estimator keeps them.", "Theorem 1.1",
        ),
    ]  # fmt: skip
    if m.asymmetry is not None:
        lines.append(
            Check(
                "asymmetry", "sum (c_ij - c_ji)^2 / sum (c_ij + c_ji)", m.asymmetry, at_most(_ASYMMETRIC),
                "1 for pairs without order. Above, the order of the words matters, and the model leaves it out.", "section 1.1",
            )
        )  # fmt: skip
    return lines


def part_checks(parts: PartErrors) -> list[Check]:
    lines, source = [], "parts of the data"
    if parts.errors is not None:
        meaning = "l1 distance to fits on halves of the pairs, which does not see what all of them miss."
        lines.append(Check("distance to halves", "|B - B_half|_1", float(parts.errors[0]), None, meaning, source))
    if parts.n_failed:
        made = float(parts.n_parts - parts.n_failed)
        needed = at_least(-(-3 * parts.n_parts // 4), f"of {parts.n_parts}")
        lines.append(Check("parts fitted", "halves, three quarters", made, needed, parts.reason, source, "verdict"))
    return lines
