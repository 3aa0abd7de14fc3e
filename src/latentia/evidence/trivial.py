"""Whether a fit predicts better than a model without components: one component, independence, frequencies."""

from __future__ import annotations

import numpy as np

from .checks import Check, above

_ROUNDING = 1e-9  # of a log-likelihood


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
    """One line, a veto: the gain of the fit in the likelihood of some rows, less a penalty for its parameters.

    Parameters
    ----------
    fitted, trivial : ndarray of shape (n,)
        Log-likelihood of each of some rows under both, in nats. On training rows the gain is reduced by Schwarz's penalty, half
        the logarithm of their number per extra parameter; give ``extra=0`` for held-out rows.
    extra : int
        Parameters that the fit has more than the trivial model.
    n_rows : int
        Rows that both were learned from.
    against : str
        The trivial model, such as "one component".
    deviations : float
        Standard errors of the gain that do not count: on rows that were not learned from, it may be one by chance.
    """
    penalty = 0.5 * extra * np.log(max(n_rows, 2)) / max(n_rows, 1)
    gains = fitted - trivial
    size = float(np.abs(gains).max(initial=0.0)) or 1.0  # squares of gains may be out of range
    error = size * float((gains / size).std()) / np.sqrt(max(len(gains), 1))
    gain = float(gains.mean()) - penalty - deviations * error
    if abs(gain) <= _ROUNDING * float(
        np.abs(trivial).mean()
    ):  # the same model, such as a fit of which one component is left
        gain = 0.0
    return [
        Check(
            f"better than {against}", f"nats {'an' if unit[0] in 'aeiou' else 'a'} {unit}", gain, above(0),
            f"Gain in the likelihood of {len(fitted):,} {unit}s over {against}, less a penalty for its "
            "parameters.",
            "not in the papers", "veto",
            f"This fit predicts no better than {against}: do not use it. Ask for fewer components, scale or clean the data, or "
            "try another model.",
            held_out=None if extra else fitted,
        )
    ]  # fmt: skip
