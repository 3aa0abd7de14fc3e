"""Whether refinement has converged: a fit that is still climbing has a bias that parts of the data share."""

from __future__ import annotations

from typing import Any

from .checks import Check, at_most

_STILL = 0.1  # nats that a step may gain, or all further steps together, where EM has converged


def convergence_checks(refinement: Any, share: float | None = None) -> list[Check]:
    """One line where a fit was refined: what further steps would gain, or what the last of a given number did.

    Parameters
    ----------
    refinement : Refinement
    share : float, optional
        Of the log-likelihood, that a step may gain; for refinements that are no EM and stop by that. By default a gain is
        measured in nats.
    """
    values = refinement.log_likelihood
    if not len(values):
        return []
    gain = float(values[-1] - values[-2]) if len(values) > 1 else None
    if share is not None:
        relative = None if gain is None else gain / max(abs(float(values[-1])), 1.0)
        meaning = f"{len(values)} sweeps; the share of the log-likelihood that the last one gained."
        return [
            Check("refinement has converged", "log-likelihood", relative, at_most(share), meaning, "not in the paper")
        ]
    measured = refinement.remaining if refinement.remaining == refinement.remaining else gain
    meaning = f"{len(values)} steps. " + (
        "Predicted gain of further ones."
        if refinement.remaining == refinement.remaining
        else "Gain of the last one. Parts of the data do not show what is left to gain."
    )
    return [Check("EM has converged", "log-likelihood, nats", measured, at_most(_STILL), meaning, "not in the paper")]
