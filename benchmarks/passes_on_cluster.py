"""Claim: a pass of a million rows on a Dask cluster of one worker takes at most 1.3 times that of local threads.

    python benchmarks/passes_on_cluster.py [--quick] [--workers 1 2]

Passes over a binary cache of a million rows: third moments of 50 columns of numbers, and a supervised basis of sparse rows of
5,000 words and 500 labels; local threads and workers of one thread each. A pass that has compiled its kernels is timed, medians
of five. ``partial_mb`` is what a worker sends, and ``sending_s`` the time to send and add it, from the size and the rate that
numpy arrays were measured to have between these processes. What W workers take is then simulated: the longest run of blocks,
and W partial sums sent one after the other.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import report, timed
from distributed import Client, LocalCluster

from latentia.datasets import planted
from latentia.moments.vectors import VectorMoments, column_moments, principal_coordinates
from latentia.multilabel.moments import LabelsToWords
from latentia.passes import Blocks, Folds, accumulate, on_cluster, write_cache

SIMULATED = (4, 8, 16, 32)
REPEATS = 5


def main() -> None:
    """Time passes here and on workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 rows")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    n_rows = 50_000 if arguments.quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        cases = prepared(Path(folder), n_rows)
        rows = [row for case in cases for row in measured(*case, workers=arguments.workers)]
    name = "passes_on_cluster" + "_quick" * arguments.quick
    report(name, rows, rows_of_the_data=n_rows, repeats=REPEATS)


def prepared(folder: Path, n_rows: int) -> list[tuple[str, Blocks, Any]]:
    """Names, blocks mapped from files, and statistics."""
    mixture = planted.gaussian_mixture(n_rows, n_components=10, n_features=50, separation=4)
    write_cache(folder / "numbers", [[mixture.X]])
    corpus = planted.labelled_corpus(n_rows, n_topics=20, n_words=5000, n_labels=500)
    write_cache(folder / "labels", [[corpus.X, corpus.Y, corpus.X.astype(np.float32)]])
    numbers, labels = Blocks.from_files(folder / "numbers"), Blocks.from_files(folder / "labels")
    coordinates, _ = principal_coordinates(numbers, 40, column_moments(numbers).mean, random_state=0)
    columns = np.random.default_rng(0).standard_normal((500, 100))
    return [
        ("third moments", numbers, VectorMoments(coordinates, Folds())),
        ("words by labels", labels, LabelsToWords(columns, 5000)),
    ]


def measured(name: str, blocks: Blocks, statistic: Any, workers: list[int]) -> list[dict[str, Any]]:
    """Seconds of a pass for threads and for workers, and what more workers would take."""
    rows, local = [], {}
    for n in workers:
        local[n] = median(lambda n=n: accumulate(blocks, statistic, n))
        rows.append({"pass": name, "where": f"{n} thread{'s' * (n > 1)}", "blocks": len(blocks), "wall_s": local[n]})
    partial = pickle.dumps(accumulate(blocks, statistic, max(workers)), protocol=5)
    for n in workers:
        options = {"n_workers": n, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
        with LocalCluster(**options) as cluster, Client(cluster) as client, on_cluster(client):
            wall = median(lambda: accumulate(blocks, statistic))
            sending = median(lambda client=client: client.submit(np.ones, len(partial) // 8, pure=False).result())
        rows.append(
            {"pass": name, "where": f"{n} worker{'s' * (n > 1)}", "blocks": len(blocks), "wall_s": wall,
             "over_threads": wall / local[n], "partial_mb": len(partial) / 1e6, "sending_s": sending}
        )  # fmt: skip
    for n in SIMULATED:
        share = -(-len(blocks) // n) / len(blocks)
        simulated = share * local[min(workers)] * min(workers) + n * sending
        rows.append({"pass": name, "where": f"{n} workers, simulated", "blocks": len(blocks), "wall_s": simulated})
    return rows


def median(task: Any) -> float:
    """Median wall seconds, after a first run."""
    task()
    return float(np.median([timed(task).wall for _ in range(REPEATS)]))


if __name__ == "__main__":
    start = time.perf_counter()
    main()
    print(f"{time.perf_counter() - start:.0f} s")
