"""Claim: triples of findings are counted on packed bits many times faster than by matrix products, and large fits are short.

    python benchmarks/noisy_or_at_scale.py [--quick]

Counting: all triples of a partition of 150 findings over 200,000 rows, by the counter of `AbsenceCounts` and by float32
matrix products, one a finding, medians of three. Fits: random networks with
n = 300 and 900, m = 30, of a million rows, without EM, each in a process of its own; memory is its largest resident set.
``gwords``: words of 64 rows that are counted, among the rows of the rarest finding of each triple, and ``gflop`` of the
contraction; ``bound_s`` is what both take at the rate of a population count on columns that are in the cache, and at that of
matrix products, both measured in the same run, on all cores, and ``share`` that of the wall time.
--quick: a tenth of the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from _common import report, timed
from noisy_or_recovery import errors

from latentia.datasets import planted
from latentia.noisyor import NoisyOr
from latentia.noisyor.absences import AbsenceCounts, Partition, RowPacking
from latentia.noisyor.bits import count_pairs_with
from latentia.passes import Blocks, Folds, accumulate
from latentia.system.threads import run_in_chunks

FITS = ((300, 30), (900, 30))
LIMITS = {300: (60, 2.0), 900: (75, None)}
SELECTIONS = 11  # of rows: all, six halves, and four times three quarters


def count_rate() -> float:
    """Gigawords a second of AND and population counts on all cores, of columns of 4 KB in the cache."""
    bits = np.random.default_rng(0).integers(0, 1 << 63, (100, 480)).astype(np.uint64)
    cores = os.cpu_count() or 1
    tables = np.empty((cores, 100, 100), np.int32)

    def count(core: int) -> None:
        for _ in range(20):
            for i in range(100):
                count_pairs_with(bits, i, tables[core])

    with ThreadPoolExecutor(cores) as pool:
        seconds = min(timed(lambda: list(pool.map(count, range(cores)))).wall for _ in range(5))
    return 1e-9 * 20 * cores * 480 * 99 * 50 / seconds


def product_rate() -> float:
    """Gigaflops of matrix products in double precision on all cores."""
    a, n = np.random.default_rng(0).random((2000, 2000)), 2000
    return 2e-9 * n**3 / min(timed(lambda: a @ a).wall for _ in range(3))


def all_triples_work(present: np.ndarray, m: int) -> tuple[float, float]:
    """Gigawords and gigaflops of all triples, for the rows that have each finding."""
    present, after = np.sort(present), np.arange(len(present))[::-1]
    pairs = after * (after - 1) / 2
    return 1e-9 * float(present @ pairs) / 64, 2e-9 * m * SELECTIONS * float(pairs.sum())


def counting(n_rows: int) -> dict[str, Any]:
    n = 150
    X = planted.noisy_or_network(n, 20, leak=0.01).sample(n_rows).X
    partition = Partition(*np.array_split(np.random.default_rng(0).permutation(n), 3))
    packed = accumulate(Blocks.from_array(X), RowPacking(n, Folds(4, 0)), -1)
    counts = AbsenceCounts(packed, n_jobs=-1).select(np.concatenate(partition))
    end_a, end_b = len(partition.a), len(partition.a) + len(partition.b)

    def by_bits() -> None:
        count = counts.counter()
        run_in_chunks(lambda first, last: [count(i, end_a, end_b, end_b) for i in range(first, last)], end_a, 1, -1)

    by_bits()  # compiled

    def by_products() -> None:
        absent = (~X).astype(np.float32)
        right = np.ascontiguousarray(absent[:, partition.c])
        for i in partition.a:
            (absent[:, partition.b] * absent[:, [i]]).T @ right

    tasks = {"bits": by_bits, "products": by_products}
    seconds = {name: [] for name in tasks}
    for _ in range(3):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - start)
    medians = {name: float(np.median(values)) for name, values in seconds.items()}
    words = float(X[:, partition.a].sum()) * len(partition.b) * len(partition.c) / 64
    rate = count_rate()
    return {
        "task": "triples of a partition", "n": n, "rows": n_rows, "bits_s": medians["bits"], "products_s": medians["products"],
        "ratio": medians["products"] / medians["bits"], "gwords": words / 1e9,
        "gwords_per_s": words / medians["bits"] / 1e9, "count_rate": rate,
        "bound_s": words / 1e9 / rate, "share": words / 1e9 / rate / medians["bits"],
    }  # fmt: skip


def fit(n: int, m: int, n_rows: int) -> dict[str, Any]:
    """In this process: call `fit_apart`."""
    truth = planted.noisy_or_network(n, m, leak=0.01)
    X = np.empty((n_rows, n), bool)
    start = 0
    for block, _ in truth.sample_blocks(n_rows):
        X[start : start + len(block)] = block
        start += len(block)
    NoisyOr(2, refine=0, n_jobs=-1).fit(planted.noisy_or_network(12, 2, leak=0.05).sample(1000).X)  # compiled
    gwords, gflop = all_triples_work(X.sum(axis=0), m)
    rate, flops = count_rate(), product_rate()
    bound = gwords / rate + gflop / flops
    wall, cpu = time.perf_counter(), time.process_time()
    model = NoisyOr(m, refine=0, n_jobs=-1).fit(X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    weights, priors, leak = errors(model, truth)
    return {
        "task": "fit", "n": n, "m": m, "rows": n_rows, "wall_s": wall, "cpu_s": cpu,
        "gwords": gwords, "gflop": gflop, "count_rate": rate, "bound_s": bound, "share": bound / wall,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "rows_gb": X.nbytes / 1e9,
        "weights_median": float(np.median(weights)), "weights_worst": float(weights.max()),
        "expected_error": float(model.evidence_.component_errors.mean()), "priors_worst": float(priors.max()),
        "leak_worst": leak,
    }  # fmt: skip


def fit_apart(n: int, m: int, n_rows: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--fit", f"{n},{m},{n_rows}"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit(*(int(number) for number in options.fit.split(",")))))
        return
    n_rows = 100_000 if options.quick else 1_000_000
    rows = [counting(n_rows // 5)] + [fit_apart(n, m, n_rows) for n, m in FITS]
    holds = {"bits": rows[0]["ratio"] >= 8}
    for row in rows[1:]:
        seconds, gb = LIMITS[row["n"]]
        holds[f"n={row['n']}"] = row["wall_s"] <= seconds and (gb is None or row["peak_gb"] < gb)
    report("noisy_or_at_scale" + ("_quick" if options.quick else ""), rows, holds=holds, cores=os.cpu_count())


if __name__ == "__main__":
    main()
