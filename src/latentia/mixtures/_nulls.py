"""Tests of structure: does a fit gain more in held-out rows than fits to simulated data without components?

The gain of a fit over a model without components, in held-out rows, is compared with that of fits to some sets of simulated
rows, which have everything but the components. A penalty for parameters would not do: components describe a single cloud with
heavy tails better than one Gaussian does, and elongated clusters, if they are taken as spherical, worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..evidence import Check, above

MAX_ROWS = 10_000
"""Largest number of rows for which nulls are simulated; for more rows the standard error of the gain is enough."""
_MIN_DEVIATIONS = 3.5  # standard deviations of the nulls' gain: one in two hundred is larger by chance
_MIN_SETS, _MAX_SETS = 4, 10  # simulated sets of rows, in clear and in unclear cases
_CLEAR_DEVIATIONS = 3 * _MIN_DEVIATIONS  # limit with few sets: one gain in eight hundred is larger by chance


def simulate_null_gains(gain: float, simulate: Callable[[int], float | None]) -> list[float]:
    """Simulate the gains of fits to rows without components: few sets if the fit's gain is far above them, or below.

    Parameters
    ----------
    gain : float
        Gain of the fit, in nats per row.
    simulate : callable
        Returns the gain of the fit to the set with a number, or None if it cannot be fitted.
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
    """Build one check, a veto; none if fewer than three nulls could be fitted.

    Parameters
    ----------
    gain : float
        Gain of the fit, in nats per row.
    null_gains : sequence of float
        Gains of the fits to simulated rows.
    null : str
        Name of the simulated data, such as "single clouds".
    """
    if len(null_gains) < 3:
        return []
    return [
        Check(
            f"better than {null}", "(g - mean) / sd", _measure_deviations(gain, null_gains), above(_MIN_DEVIATIONS),
            f"Median gain of the components over one ellipsoid in other {unit}s: {gain:.2g} nats per {unit}. Fits to "
            f"{len(null_gains)} simulated {null} gain {np.mean(null_gains):.2g} on average. The measured value is the "
            "difference in standard deviations of the simulated gains.",
            "not in the papers", "veto",
            f"Simulated {null} give components that describe them as well: there may be no structure.",
        )
    ]  # fmt: skip
