"""Claim: the race between searches finds pure rows where each search alone fails on some data.

    python benchmarks/nmf_separable.py [--seeds 5] [--methods spa snpa ...] [--quick]

The experiments of Gillis and Vavasis (2014), `planted.separable_rows`: 20 components of 100 features, 210 rows, of which 20 are
pure. *middle*: the others are the midpoints of all pairs of components, moved away from the mean of the components by ``noise``
times their distance from it. *Gauss*: the others are Dirichlet mixtures, with Gaussian noise on all rows of ``noise`` times the
root mean square entry. *well*: components uniform between 0 and 1; *ill*: their condition number is 1000. Shares of the pure
rows that are found, means over seeds from 300 on, and *limit*: the largest noise up to which it is at least .95. Searches know
that weights sum to one, and take single rows (``pooled=False``). CPU seconds are those of one fit on one thread.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, timed
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.nmf import SeparableNMF

FIRST_SEED = 300
LEVELS = np.round(np.logspace(-3, 0, 10), 4)
ENOUGH = 0.95
WORLDS: dict[str, dict[str, Any]] = {
    "well/middle": {"mixtures": "midpoints", "noise_kind": "middle"},
    "well/Gauss": {"mixtures": "dirichlet", "noise_kind": "gauss"},
    "ill/middle": {"mixtures": "midpoints", "noise_kind": "middle", "condition": 1000},
    "ill/Gauss": {"mixtures": "dirichlet", "noise_kind": "gauss", "condition": 1000},
}
METHODS = ("spa", "farthest", "whitened", "spa-spa", "snpa", "auto")
ASKED = {"well/middle": (0.2, "auto"), "ill/middle": (0.2, "auto"), "ill/Gauss": (0.1, "auto")}
"""Noise at which a method is to find 95% of the pure rows."""


def found(world: str, method: str, noise: float, seed: int) -> tuple[float, float]:
    """Share of the pure rows that are found, and CPU seconds."""
    data = planted.separable_rows(noise=noise, random_state=seed, **WORLDS[world])
    model = SeparableNMF(20, method=method, mixing="simplex", pooled=False, n_splits=0, n_jobs=1)
    try:
        done = timed(lambda: model.fit(data.X))
    except LatentiaError:
        return 0.0, np.nan
    return float(np.isin(data.anchors.ravel(), done.value.anchors_).mean()), done.cpu


def measured(world: str, method: str, levels: np.ndarray, seeds: range) -> dict[str, Any]:
    shares, seconds = [], []
    for noise in levels:
        some = [found(world, method, float(noise), seed) for seed in seeds]
        shares.append(float(np.mean([share for share, _ in some])))
        seconds += [cpu for _, cpu in some]
    below = next((i for i, share in enumerate(shares) if share < ENOUGH), len(shares))
    row = {"world": world, "method": method, "limit": float(levels[below - 1]) if below else None}
    row |= {f"{noise:g}": share for noise, share in zip(levels, shares, strict=True)}
    return row | {"cpu_s": float(np.nanmedian(seconds))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--quick", action="store_true", help="one seed and every third noise")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    levels = LEVELS[::3] if options.quick else LEVELS
    seeds = range(FIRST_SEED, FIRST_SEED + (1 if options.quick else options.seeds))
    rows, holds = [], {}
    with threadpool_limits(1):
        for method in options.methods:
            found("well/Gauss", method, 0.1, 0)  # compiled
        for world in options.worlds:
            for method in options.methods:
                rows.append(measured(world, method, levels, seeds))
                print({key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
            if world in ASKED and ASKED[world][1] in options.methods:
                noise, method = ASKED[world]
                share = np.mean([found(world, method, noise, seed)[0] for seed in seeds])
                holds[f"{world}: {method} finds 95% at {noise} ({share:.2f})"] = bool(share >= ENOUGH)
    report(f"nmf_separable{'_quick' * options.quick}", rows, holds=holds)


if __name__ == "__main__":
    main()
