"""Claim: one fit of a chain of counts reaches the optimum of EM from the truth at least as often as hmmlearn's best of five.

    python benchmarks/hmm_counts.py [--quick] [--seeds 100-109]

Planted chains of Poisson counts. *nats*: median log-likelihood less that of EM from the truth (of `SpectralHMM` and of
hmmlearn's PoissonHMM, the better one). *found*: it is at most 1 nat below. hmmlearn: ``n_iter=300, tol=1e-3``, its random
start; *best of 5* by likelihood, with the seconds of all five. Nothing was set on these seeds; seeds 0 to 5 were looked at
before. One process, one BLAS thread.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from typing import Any

import numpy as np
from _common import report, timed
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.sequences import SpectralHMM

WORLDS: dict[str, dict[str, Any]] = {
    "3 states, one column": {"n_steps": 5000, "n_states": 3, "n_columns": 1, "persistence": 0.7},
    "4 states, 5 columns": {"n_steps": 5000, "n_states": 4, "n_columns": 5, "persistence": 0.7},
    "6 states, 3 columns": {"n_steps": 10_000, "n_states": 6, "n_columns": 3, "persistence": 0.8, "min_mass": 0.05},
    "5 states, 30 rare columns": {
        "n_steps": 5000, "n_states": 5, "n_columns": 30, "persistence": 0.8, "rate": 0.2, "min_mass": 0.05,
    },
}  # fmt: skip
_CLOSE = 1.0  # nats


def peer(chain: Any, seed: int, start: bool = False) -> Any:
    from hmmlearn.hmm import PoissonHMM

    model = PoissonHMM(len(chain.rates), n_iter=300, tol=1e-3, random_state=seed, init_params="" if start else "stl")
    if start:
        model.startprob_, model.transmat_, model.lambdas_ = chain.startprob, chain.transmat, chain.rates
    return model.fit(chain.X, chain.lengths)


def from_truth(chain: Any) -> float:
    init = {"startprob": chain.startprob, "transmat": chain.transmat, "means": chain.rates}
    own = SpectralHMM(len(chain.rates), kind="counts", n_splits=0, init=init).fit(chain.X)
    return max(own.score(chain.X), peer(chain, 0, start=True).score(chain.X))


def compare(name: str, options: dict[str, Any], seeds: range) -> list[dict]:
    rows: dict[str, list] = {}
    k = options["n_states"]
    for seed in seeds:
        chain = planted.count_chain(**options, random_state=seed)
        best = from_truth(chain)
        run = timed(lambda: SpectralHMM(k, kind="counts").fit(chain.X))
        bare = timed(lambda: SpectralHMM(k, kind="counts", n_splits=0).fit(chain.X))
        peers = [timed(lambda: peer(chain, 100 * seed + i)) for i in range(5)]
        scores = [one.value.score(chain.X) for one in peers]
        each = {
            "SpectralHMM": (run.value.score(chain.X), run.cpu),
            "no error bars": (bare.value.score(chain.X), bare.cpu),
            "hmmlearn, one start": (scores[0], peers[0].cpu),
            "hmmlearn, best of 5": (max(scores), sum(one.cpu for one in peers)),
        }
        for method, (score, cpu) in each.items():
            rows.setdefault(method, []).append((score - best, cpu))
    return [
        {
            "chains": name, "method": method, "nats": float(np.median([gap for gap, _ in found])),
            "worst": min(gap for gap, _ in found),
            "found": f"{sum(gap >= -_CLOSE for gap, _ in found)} of {len(found)}",
            "cpu_s": float(np.median([cpu for _, cpu in found])),
        }
        for method, found in rows.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds")
    parser.add_argument("--seeds", default="100-109", help="first and last")
    options = parser.parse_args()
    first, last = (int(seed) for seed in options.seeds.split("-"))
    seeds = range(first, first + 2) if options.quick else range(first, last + 1)
    warnings.simplefilter("ignore")
    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    with threadpool_limits(1):
        SpectralHMM(2, kind="counts", refine=1).fit(planted.count_chain(1000, 2).X)  # compile
        rows = [row for name, world in WORLDS.items() for row in compare(name, world, seeds)]
    report("hmm_counts" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
