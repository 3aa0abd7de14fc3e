"""Claim: the error of the paper's Algorithm 1 falls with pairs a word, at any number of words.

    python benchmarks/binned_trend.py [--quick] [--seeds 3]

l1 error of `latentia.papers.matrices.recover_by_bins` with its default constants (sample reused), with three-way splitting, and
with the printed constants, beside the marginals alone and `ProbabilityMatrix` (``shrink``); mean over seeds. Rank 2, uniform
frequencies before an Exponential(1) draw to the power 1.7. First N / M grows with M fixed, then M and N grow with N / M
fixed: Theorem 1.1 promises an error that depends on N / M alone, so that it falls along the former and does not rise along
the latter.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import report
from _matrices import binned
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.matrices import ProbabilityMatrix
from latentia.papers.matrices import get_printed_constants

BINNINGS = {"binned": {}, "split": {"split": True}, "printed": get_printed_constants(2)}
RANKS = {"marginals": 1, "shrink": 2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 words, one seed")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = [(1000, 20), (1000, 50), (1000, 100), (1000, 200), (1000, 500), (1000, 1000)]
    settings += [] if options.quick else [(m, ratio) for ratio in (50, 200) for m in (500, 2000, 4000, 8000)]
    rows = []
    with threadpool_limits(1):
        for m, ratio in settings:
            errors: dict[str, list[float]] = {name: [] for name in (*BINNINGS, *RANKS)}
            for seed in range(1 if options.quick else options.seeds):
                data = planted.word_pairs(m * ratio, 2, m, base="uniform", contrast=1.7, random_state=30 + seed)
                for name, constants in BINNINGS.items():
                    errors[name].append(binned(data.counts, data, 2, **constants))
                for name, rank in RANKS.items():
                    model = ProbabilityMatrix(rank, n_splits=0, n_jobs=2).fit(data.counts)
                    errors[name].append(model.l1_distance(data))
            rows.append({"words": m, "pairs_a_word": ratio, **{name: float(np.mean(v)) for name, v in errors.items()}})
            print(".", end="", flush=True)
    print()
    report("binned_trend" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
