"""Claim: error bars of chains on time series are within a factor of 1.5 of the distance between fits on the two halves in time.

    python benchmarks/series_errors_chains.py [--quick] [--seeds 5]

Series of vectors whose noise may have memory of its own, so that neighbours say less than independent rows would. Fits on the
first and on the second half of the time have errors of root 2 times that of the whole each, and are 2 times its error apart:
``ratio`` is that distance over 2 times the expected error (medians over the states), 1 if the error bars are right, above if
they are too short. Medians of the seeds, none of which set a rule.

regimes        3 states of 4 features, that stay 20 steps; 6,000 steps
memory         the same, and noise is autoregressive with .5: not what the model says
drift          the same as regimes, and the means drift by half a standard deviation
short          400 sequences of 15 steps
correlated     features that share noise within a state, ``covariance_type="full"``
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _common import report, verdict

from latentia.sequences import SpectralHMM

K, D = 3, 4


class Series(NamedTuple):
    steps: np.ndarray
    lengths: np.ndarray
    options: dict[str, Any]


def regimes(
    rng: Any, n: int = 6000, memory: float = 0.0, drift: float = 0.0, length: int = 0, shared: float = 0.0
) -> Series:
    """Vectors around the means of states."""
    means, stay = 1.5 * rng.standard_normal((K, D)), 1 - 1 / 20
    states, moves = np.empty(n, np.int64), rng.random(n) >= stay
    for t in range(n):
        begins = t == 0 or (length and t % length == 0)
        states[t] = rng.integers(K) if begins else (states[t - 1] + moves[t] * rng.integers(1, K)) % K
    noise = rng.standard_normal((n, D))
    for t in range(1, n if memory else 0):
        noise[t] = memory * noise[t - 1] + np.sqrt(1 - memory**2) * noise[t]
    noise += shared * rng.standard_normal((n, 1))
    steps = means[states] + noise + drift * np.linspace(-0.5, 0.5, n)[:, None]
    lengths = np.full(n // length, length) if length else np.array([n])
    return Series(steps, lengths, {"covariance_type": "full"} if shared else {})


WORLDS: dict[str, Callable[[Any], Series]] = {
    "regimes": regimes,
    "memory": lambda rng: regimes(rng, memory=0.5),
    "drift": lambda rng: regimes(rng, drift=0.5),
    "short": lambda rng: regimes(rng, length=15),
    "correlated": lambda rng: regimes(rng, shared=1.0),
}


def compared(series: Series) -> dict[str, Any]:
    """One fit of the whole, and one of each half in time."""
    steps, lengths = series.steps, series.lengths
    whole = SpectralHMM(K, **series.options).fit(steps, lengths)
    n, middle = len(steps), len(lengths) // 2
    cuts = [lengths[:middle], lengths[middle:]] if middle else [np.array([n // 2]), np.array([n - n // 2])]
    at = int(cuts[0].sum())
    first, second = (
        SpectralHMM(K, n_splits=0, **series.options).fit(part, cut)
        for part, cut in zip((steps[:at], steps[at:]), cuts, strict=True)
    )
    apart = np.linalg.norm((first.means_[:, None] - second.means_[None]) / steps.std(axis=0), axis=2).min(axis=1)
    expected = np.asarray(whole.evidence_.component_errors)
    return {
        "apart": float(np.median(apart)), "expected": float(np.median(expected)),
        "ratio": float(np.median(apart) / (2 * np.median(expected))), "grade": whole.evidence_.grade,
    }  # fmt: skip


def main() -> None:
    """Fit every world, on seeds that set no rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, facts = [], {}
    for name, make in WORLDS.items():
        found = [
            compared(make(np.random.default_rng([seed, 53])))
            for seed in range(1 if arguments.quick else arguments.seeds)
        ]
        row = {key: float(np.median([one[key] for one in found])) for key in ("apart", "expected", "ratio")}
        ratios = [one["ratio"] for one in found]
        grades = sorted({one["grade"] for one in found})
        rows.append({"world": name, **row, "least": min(ratios), "most": max(ratios), "grades": ", ".join(grades)})
        facts[f"{name}: ratio within 1.5"] = verdict(row["ratio"], 1 / 1.5 <= row["ratio"] <= 1.5)
    report("series_errors_chains_quick" if arguments.quick else "series_errors_chains", rows, **facts)


if __name__ == "__main__":
    main()
