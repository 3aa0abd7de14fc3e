"""Claim: chains of Theorem 1.5's family are detected from a few steps a symbol; at one, no test is right above .71.

    python benchmarks/two_state_detection.py [--quick] [--runs 60]

Chains of two states that switch with probability 1/4, uniform on disjoint halves of M = 1,000 symbols. ``detected``: share of
runs in which ``TwoStateHMM`` says so; ``pairs_twice``: power at the level 5% of the bigrams' likelihood ratio to second
order, averaged over all halves: what pairs seen twice exceed their expectation by (``ScaledSpace.norm``), its level found on
independent draws. ``false_*``: the same shares on independent draws. ``most``: the chance to tell the two apart that no test
exceeds, by the exact sum of Lemma B.6; ``refused``: share of runs that are "not supported".
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import report
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.evidence.bounds import two_state_detection
from latentia.linalg import scaled_eigenspace
from latentia.moments import count_pairs, symmetric_counts
from latentia.sequences import TwoStateHMM

M = 1000


def statistics(symbols: np.ndarray) -> tuple[bool, float, bool]:
    pairs = count_pairs(np.column_stack([symbols[:-1], symbols[1:]]), M)
    norm = scaled_eigenspace(symmetric_counts(pairs)[0], 1, n_passes=2).norm
    model = TwoStateHMM(n_symbols=M).fit(symbols)
    return model.detected_, norm, model.evidence_.grade == "not supported"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 runs")
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    runs = 10 if options.quick else options.runs
    rows = []
    with threadpool_limits(1):
        for ratio in (0.4, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 12.0, 16.0):
            n = int(ratio * M)
            chains = [
                planted.two_state_chain(n, M, switch=(0.25, 0.25), emissions="halves", random_state=s)
                for s in range(runs)
            ]
            planted_runs = [statistics(chain.symbols) for chain in chains]
            null = [statistics(np.random.default_rng(500 + s).integers(0, M, n)) for s in range(runs)]
            level = np.quantile([norm for _, norm, _ in null], 0.95)
            rows.append(
                {
                    "steps_a_symbol": ratio, "most": two_state_detection(n, M),
                    "detected": np.mean([found for found, _, _ in planted_runs]),
                    "pairs_twice": np.mean([norm > level for _, norm, _ in planted_runs]),
                    "false_detected": np.mean([found for found, _, _ in null]), "false_pairs_twice": 0.05,
                    "refused": np.mean([refused for _, _, refused in planted_runs]), "runs": runs,
                }
            )  # fmt: skip
            print(".", end="", flush=True)
    print()
    report("two_state_detection" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
