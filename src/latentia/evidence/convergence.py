"""Convergence of refinement: a fit that still climbs has a bias that fits on parts of the data share."""

from __future__ import annotations

from typing import Any

from .checks import Check, at_most

_MAX_GAIN = 0.1  # nats: EM has converged if the last step, or all further steps together, gain at most this


def convergence_checks(refinement: Any, share: float | None = None) -> list[Check]:
    """Report the gain of further steps of a refined fit, or of its last step if their number was given.

    Parameters
    ----------
    refinement : Refinement
    share : float, optional
        Share of the log-likelihood that a step may gain, for refinements other than EM that stop by it. By default gains are
        in nats.
    """
    values = refinement.log_likelihood
    if not len(values):
        return []
    gain = float(values[-1] - values[-2]) if len(values) > 1 else None
    if share is not None:
        relative = None if gain is None else gain / max(abs(float(values[-1])), 1.0)
        meaning = f"{len(values)} sweeps. The last one gained this share of the log-likelihood."
        return [
            Check("refinement has converged", "log-likelihood", relative, at_most(share), meaning, "not in the paper")
        ]
    measured = refinement.remaining if refinement.remaining == refinement.remaining else gain
    meaning = f"{len(values)} steps. " + (
        "Predicted gain of further steps."
        if refinement.remaining == refinement.remaining
        else "Gain of the last one. Fits on parts of the data do not show the remaining gain."
    )
    return [
        Check("EM has converged", "log-likelihood, nats", measured, at_most(_MAX_GAIN), meaning, "not in the paper")
    ]
