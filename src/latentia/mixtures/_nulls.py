"""Structure: whether a fit gains more in other rows than fits to data without components do.

The gain of a fit over a model without components, in rows that it was not learned from, is compared with that of fits to some
sets of simulated rows, which are alike in all but the components. A penalty for parameters is no measure of it: components
describe a single cloud with heavy tails better than one Gaussian does, and long clusters, if they are taken for balls, worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..evidence import Check, above

MAX_ROWS = 10_000
"""Rows up to which nulls are simulated: of more the standard error of the gain tells."""
_MIN_DEVIATIONS = 3.5  # standard deviations of the gain of nulls: one in two hundred exceeds it by chance
_MIN_SETS, _MAX_SETS = 4, 10  # simulated sets of rows, where they tell clearly and where they do not
_CLEAR_DEVIATIONS = (
    3 * _MIN_DEVIATIONS
)  # standard deviations that few sets need: one gain in eight hundred exceeds them by chance


def simulate_null_gains(gain: float, simulate: Callable[[int], float | None]) -> list[float]:
    """Return the gains of fits to simulated rows: few of them where the fit's own gain is far above them, or not above.

    Parameters
    ----------
    gain : float
        Nats a row of the fit.
    simulate : callable
        Of the number of a set: the gain of the fit to it, or None where it cannot be fitted.
    """
    gains = list[float]()
    for number in range(_MAX_SETS):
        simulated = simulate(number)
        gains += [] if simulated is None else [simulated]
        if len(gains) == _MIN_SETS and not 0 < _measure_deviations(gain, gains) < _CLEAR_DEVIATIONS:
            break
    return gains


def _measure_deviations(gain: float, null_gains: Sequence[float]) -> float:
    return float((gain - np.mean(null_gains)) / max(float(np.std(null_gains, ddof=1)), 1e-9))


def build_null_checks(gain: float, null_gains: Sequence[float], null: str, unit: str = "row") -> list[Check]:
    """One line, a veto; none where fewer than three nulls could be fitted.

    Parameters
    ----------
    gain : float
        Nats a row of the fit.
    of_nulls : sequence of float
        The same of the fits to simulated rows.
    null : str
        What these are, such as "single clouds".
    """
    if len(null_gains) < 3:
        return []
    return [
        Check(
            f"better than {null}", "(g - mean) / sd", _measure_deviations(gain, null_gains), above(_MIN_DEVIATIONS),
            f"In other {unit}s the components gain {gain:.2g} nats each over one ellipsoid, by the median; those of "
            f"{len(null_gains)} simulated {null} gain {np.mean(null_gains):.2g} on average. Measured is the difference in standard "
            "deviations of the latter.",
            "not in the papers", "veto",
            f"Simulated {null} give components that describe them as well: there may be nothing to find.",
        )
    ]  # fmt: skip
