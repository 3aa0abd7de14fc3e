"""Comparison with a model without components: one component, independence, frequencies."""

from __future__ import annotations

import numpy as np

from .checks import Check, above

_ROUNDING = 1e-9  # relative rounding error of a log-likelihood


def trivial_checks(
    fitted: np.ndarray,
    trivial: np.ndarray,
    *,
    extra: int,
    n_rows: int,
    against: str,
    unit: str = "row",
    deviations: float = 0.0,
) -> list[Check]:
    """Build one veto: the gain in log-likelihood over a trivial model, less a penalty for parameters.

    Parameters
    ----------
    fitted, trivial : ndarray of shape (n,)
        Log-likelihood of some rows under both models, in nats. On training rows Schwarz's penalty is subtracted, half the
        logarithm of their number per extra parameter; give ``extra=0`` for held-out rows.
    extra : int
        Number of parameters of the fit beyond the trivial model's.
    n_rows : int
        Number of training rows.
    against : str
        The trivial model, such as "one component".
    deviations : float
        Standard errors to subtract from the gain: on held-out rows it may be one by chance.
    """
    penalty = 0.5 * extra * np.log(max(n_rows, 2)) / max(n_rows, 1)
    gains = fitted - trivial
    size = float(np.abs(gains).max(initial=0.0)) or 1.0  # scaling, since squares of gains may overflow
    error = size * float((gains / size).std()) / np.sqrt(max(len(gains), 1))
    gain = float(gains.mean()) - penalty - deviations * error
    if abs(gain) <= _ROUNDING * float(
        np.abs(trivial).mean()
    ):  # the same model, such as a fit with one remaining component
        gain = 0.0
    return [
        Check(
            f"better than {against}", f"nats {'an' if unit[0] in 'aeiou' else 'a'} {unit}", gain, above(0),
            f"Gain in the log-likelihood of {len(fitted):,} {unit}s over {against}, less a penalty for parameters.",
            "not in the papers", "veto",
            f"This fit predicts no better than {against}: do not use it. Ask for fewer components, scale or clean the data, or "
            "try another model.",
            held_out=None if extra else fitted,
        )
    ]  # fmt: skip
