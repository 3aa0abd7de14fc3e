"""Claim: a rank-10 matrix of 50,000 words from 5 million pairs in the time of a truncated SVD; 50 million pairs off disk.

    python benchmarks/matrices_at_scale.py [--quick] [--power 1.7] [--no-disk]

``memory``: peak of the process that holds the counts and fits, in GB, in all; each fit runs in a process of its own. The
seconds of ``ProbabilityMatrix`` include its evidence. TruncatedSVD is scikit-learn's, of rank 10, on the same counts.
Medians of three runs that take turns. ``from disk``: pairs in a .npy file, which are counted and fitted. ``gbyte`` is what
that moves if nothing stays in a cache: pairs are read three times and sorted twice, and each entry of the counts gathers a row
of the block that they are multiplied with; ``share`` is what that takes at the bandwidth of a copy or a triad, whichever is
faster, measured in the same run, of the wall time. Sorting writes to as many places as there are words, and is bound by their
latency.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import Rates, report, timed
from scipy import sparse

from latentia.datasets import planted
from latentia.linalg import scaled
from latentia.matrices import ProbabilityMatrix
from latentia.moments import count_pairs


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def in_process(task: str, path: Path, size: int) -> dict:
    """Run a task in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--task", task, "--path", str(path), "--size", str(size)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


class Products:
    """Counts the traffic of products with the counts, in GB."""

    def __init__(self) -> None:
        self.gbyte, self.seconds, self._product = 0.0, 0.0, scaled.sparse_product
        scaled.sparse_product = self

    def __call__(self, table: Any, columns: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        start = time.perf_counter()
        found = self._product(table, columns, n_jobs)
        self.seconds += time.perf_counter() - start
        entry = table.data.itemsize + table.indices.itemsize + columns.shape[1] * columns.itemsize
        self.gbyte += 1e-9 * (table.nnz * entry + found.nbytes)
        return found


def moved_by_sorting(pairs: int) -> float:
    """GB: a pair of 8 bytes is read three times; first words, second words and cells are written and read again."""
    return 1e-9 * pairs * (3 * 8 + 2 * 4 + 2 * 4 + 2 * 8)


def run_task(task: str, path: Path, size: int) -> None:
    if task == "disk":
        ProbabilityMatrix(2, n_jobs=2).fit_pairs(np.random.default_rng(0).integers(0, 50, (3000, 2), np.int32), 50)
        rates, products = Rates.measured(), Products()
        counting = timed(lambda: count_pairs(path, size, 2).nnz)
        run = timed(lambda: ProbabilityMatrix(10, n_jobs=2).fit_pairs(path, size))
        sorting = moved_by_sorting(len(np.load(path, mmap_mode="r")))
        bandwidth = max(rates.copy, rates.triad)
        values = (run.value.marginals_, run.value._matrix.factored.factor, run.value._matrix.factored.core)
        np.savez(path.with_suffix(".model.npz"), *values)
        out = {"wall_s": run.wall, "cpu_s": run.cpu, "kept": run.value.n_kept_}
        out |= {"counting_s": counting.wall, "counting_cpu_s": counting.cpu, "counting_gbyte": sorting}
        out |= {"counting_share": sorting / bandwidth / counting.wall, "products_s": products.seconds}
        out |= {"products_gbyte": products.gbyte, "products_share": products.gbyte / bandwidth / products.seconds}
        out |= {"gb_per_s": bandwidth, "share": (sorting + products.gbyte) / bandwidth / run.wall}
        print(json.dumps(out | {"expected": float(run.value.evidence_.component_errors[0]), "memory": peak()}))
        return
    counts = sparse.load_npz(path)
    small = counts[:200][:, :200] + sparse.eye_array(200, format="csr")
    if task == "svd":
        from sklearn.decomposition import TruncatedSVD

        TruncatedSVD(2, random_state=0).fit(small)
        runs = [timed(lambda: TruncatedSVD(10, random_state=0).fit(counts)) for _ in range(3)]
        extra = {}
    else:
        ProbabilityMatrix(2, n_jobs=2).fit(small)
        runs = [timed(lambda: ProbabilityMatrix(10, n_jobs=2).fit(counts)) for _ in range(3)]
        model = runs[0].value
        extra = {"kept": model.n_kept_, "expected": float(model.evidence_.component_errors[0])}
        np.savez(
            path.with_suffix(".model.npz"), model.marginals_, model._matrix.factored.factor, model._matrix.factored.core
        )
    walls, cpus = np.median([r.wall for r in runs]), np.median([r.cpu for r in runs])
    print(json.dumps({"wall_s": float(walls), "cpu_s": float(cpus), "memory": peak(), **extra}))


def l1(path: Path, data: planted.PlantedPairs) -> float:
    from latentia.matrices.factored import LowRankProduct, total_distance

    with np.load(path.with_suffix(".model.npz")) as file:
        r, left, core = (file[name] for name in file.files)
    model = LowRankProduct(left, core, np.sqrt(0.1) * r)
    return total_distance(model, data, (1 / float(model.row_sums(2).sum()), 1.0), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5,000 words, 500,000 pairs")
    parser.add_argument("--power", type=float, default=1.7)
    parser.add_argument("--no-disk", action="store_true")
    parser.add_argument("--task")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--size", type=int)
    options = parser.parse_args()
    if options.task:
        run_task(options.task, options.path, options.size)
        return
    shrink = 10 if options.quick else 1
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        size, n = 50_000 // shrink, 5_000_000 // shrink
        for base, power in (("zipf", 1.0), ("zipf", options.power), ("uniform", options.power)):
            data = planted.word_pairs(n, 10, size, base=base, contrast=power, random_state=7)
            path = Path(folder) / "counts.npz"
            sparse.save_npz(path, data.counts.astype(np.float64), compressed=False)
            found = {task: in_process(task, path, size) for task in ("svd", "own")}
            row = {"words": size, "pairs": n, "base": base, "power": power, "l1": l1(path, data)}
            row |= found["own"] | {"svd_wall_s": found["svd"]["wall_s"], "svd_memory": found["svd"]["memory"]}
            rows.append(row | {"over_svd": row["wall_s"] / row["svd_wall_s"]})
            print(".", end="", flush=True)
        if not options.no_disk:
            size, n = 200_000 // shrink, 50_000_000 // shrink
            data = planted.word_pairs(n, 10, size, base="zipf", contrast=options.power, random_state=8)
            path = Path(folder) / "pairs.npy"
            np.save(path, data.pairs)
            row = {"words": size, "pairs": n, "base": "zipf, from disk", "power": options.power}
            rows.append(row | in_process("disk", path, size))
            if options.quick:
                rows[-1]["l1"] = l1(path, data)
    print()
    report("matrices_at_scale" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
