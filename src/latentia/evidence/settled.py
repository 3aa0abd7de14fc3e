"""Whether EM has settled: a fit that is still climbing has a bias that parts of the data share."""

from __future__ import annotations

from typing import Any

from .checks import Check, at_most

__all__ = ["settled_checks"]

_STILL = 0.1  # nats that a step may gain, or all further steps together, where EM has settled


def settled_checks(refinement: Any) -> list[Check]:
    """One line where EM refined the fit: what further steps would gain, or what the last of a given number did."""
    values = refinement.log_likelihood
    if not len(values):
        return []
    gain = float(values[-1] - values[-2]) if len(values) > 1 else None
    measured = refinement.remaining if refinement.remaining == refinement.remaining else gain
    meaning = f"{len(values)} steps. " + (
        "What further ones are predicted to gain."
        if refinement.remaining == refinement.remaining
        else "What the last one gained. Parts of the data cannot see what is left to gain."
    )
    return [Check("EM has settled", "log-likelihood, nats", measured, at_most(_STILL), meaning, "not in the paper")]
