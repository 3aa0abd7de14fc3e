"""Claim: shrinkage of the scaled spectrum is never worse than independence, and better than SVDs where data is short.

    python benchmarks/matrices_against_svd.py [--quick] [--seeds 3] [--power 1.7]

l1 error of B, of a possible 2, mean over seeds: rank one (marginals alone), SVD of the counts, SVD of the counts scaled by
their marginals (both cut at 0 and scaled to sum to one), the paper's Algorithm 1 (``binned``), EM from a random start by
maximum likelihood and with a pseudo-pair a word, 100 steps, ``shrink``, and ``shrink`` with refine=10 and refine="auto". Pairs
are drawn from components proportional to base * Exponential(1)^power. One BLAS thread.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import report
from _matrices import TABLE, binned, plain_svd, plsa, rank_one, scaled_svd
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.matrices import ProbabilityMatrix


def errors(m: int, rank: int, base: str, ratio: int, power: float, seed: int) -> dict[str, float]:
    data = planted.word_pairs(m * ratio, rank, m, base=base, contrast=power, random_state=seed)
    counts = data.counts.astype(np.float64)

    def own(**options) -> ProbabilityMatrix:
        return ProbabilityMatrix(rank, n_splits=0, n_jobs=2, **options).fit(counts)

    shrunk = own()
    return {
        "rank_one": rank_one(counts, data),
        "svd": plain_svd(counts, data, rank),
        "scaled_svd": scaled_svd(counts, data, rank),
        "binned": binned(counts, data, rank),
        "plsa": plsa(counts, data, rank, 0.0),
        "map_plsa": plsa(counts, data, rank, 1.0),
        "shrink": shrunk.l1_distance(data),
        "refine": own(refine=10).l1_distance(data),
        "auto": own(refine="auto").l1_distance(data),
        "expected": float(shrunk.evidence_.component_errors[0]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the settings of 1,000 words, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--power", type=float, default=1.7, help="contrast at rank above 2")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for m, rank, base, ratio in TABLE:
            if options.quick and m > 1000:
                continue
            for power in (1.0,) if rank == 2 else (1.0, options.power):
                seeds = range(100, 101 if options.quick else 100 + options.seeds)
                found = [errors(m, rank, base, ratio, power, seed) for seed in seeds]
                row = {"words": m, "rank": rank, "base": base, "pairs_a_word": ratio, "power": power}
                row |= {name: float(np.mean([each[name] for each in found])) for name in found[0]}
                row["worst_over_rank_one"] = max(min(e["shrink"], 9) - e["rank_one"] for e in found)
                row["over_better_svd"] = row["shrink"] / min(row["svd"], row["scaled_svd"])
                others = min(row[k] for k in ("rank_one", "svd", "scaled_svd", "binned", "plsa", "map_plsa", "shrink"))
                row["refine_over_best"] = row["refine"] - others
                rows.append(row)
                print(".", end="", flush=True)
    print()
    report("matrices_against_svd" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
