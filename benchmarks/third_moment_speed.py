"""Claim: the whitened third moment is summed faster than the machine's dgemm rate would allow for all K^3 entries.

    python benchmarks/third_moment_speed.py [--quick] [--repeats 5]

Rows Z, N = 15,000 and K = 150, random. The rate counts 2 N K^3 flops, those of the full tensor; symmetry makes a third of
that necessary. Beside it: ``dgemm`` and ``sgemm``, the best rate of products of 2000 x 2000 matrices on the same threads;
``einsum``, np.einsum("na,nb,nc->abc", optimize=True), on 2 K rows alone, since its memory limit leaves it at a loop;
``einsum, pairwise``, the same call with the path of opt_einsum, whose Khatri-Rao product takes N K^2 numbers; and ``Khatri-
Rao in chunks``, all K^2 products of 2,048 rows at a time and a matrix product. Errors are relative, in Frobenius norm, to
``einsum, pairwise``. Best of some repeats; wall seconds.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from _common import report
from threadpoolctl import threadpool_limits

from latentia.moments import third_moment
from latentia.system.threads import threads

PAIRWISE = ["einsum_path", (0, 1), (0, 1)]


def best(task, repeats: int) -> tuple[float, object]:
    """Least wall seconds, and the answer."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = task()
        seconds.append(time.perf_counter() - start)
    return min(seconds), value


def einsum(rows: np.ndarray, optimize: object = True) -> np.ndarray:
    return np.einsum("na,nb,nc->abc", rows, rows, rows, optimize=optimize)


def in_chunks(rows: np.ndarray, size: int = 2048) -> np.ndarray:
    k = rows.shape[1]
    total = np.zeros((k * k, k))
    for a in range(0, len(rows), size):
        piece = rows[a : a + size]
        total += (piece[:, :, None] * piece[:, None, :]).reshape(len(piece), -1).T @ piece
    return total.reshape(k, k, k)


def ours(rows: np.ndarray, n_threads: int) -> np.ndarray:
    """As the estimators do it: threads over blocks, one BLAS thread each."""
    with threadpool_limits(1), threads(n_threads) as parallel:
        return third_moment(rows, parallel=parallel)


def gemm_rate(dtype, repeats: int) -> float:
    matrix = np.random.default_rng(0).standard_normal((2000, 2000)).astype(dtype)
    return 2 * 2000**3 / best(lambda: matrix @ matrix, repeats)[0] / 1e9


def measure(rows: np.ndarray, n_threads: int, repeats: int) -> list[dict]:
    single, few = rows.astype(np.float32), rows[: 2 * rows.shape[1]]
    reference = einsum(rows, PAIRWISE)
    tasks = {
        "third_moment": (rows, lambda: ours(rows, n_threads), repeats),
        "third_moment, float32": (rows, lambda: ours(single, n_threads), repeats),
        "Khatri-Rao in chunks": (rows, lambda: in_chunks(rows), repeats),
        "einsum, pairwise": (rows, lambda: einsum(rows, PAIRWISE), max(1, repeats // 2)),
        "einsum": (few, lambda: einsum(few), 1),
    }
    rates = {"dgemm": gemm_rate(np.float64, repeats), "sgemm": gemm_rate(np.float32, repeats)}
    out = [{"threads": n_threads, "method": name, "gflops": rate} for name, rate in rates.items()]
    for name, (used, task, times) in tasks.items():
        seconds, tensor = best(task, times)
        flops = 2 * len(used) * rows.shape[1] ** 3
        row = {"threads": n_threads, "method": name, "wall_s": seconds * len(rows) / len(used)}
        row |= {"gflops": flops / seconds / 1e9, "over_gemm": flops / seconds / 1e9 / rates["dgemm"]}
        if used is rows:
            row["error"] = float(np.linalg.norm(tensor - reference) / np.linalg.norm(reference))
        out.append(row)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="N = 3,000, K = 100")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    n, k = (3000, 100) if options.quick else (15_000, 150)
    rows = np.random.default_rng(0).standard_normal((n, k))
    table = []
    for n_threads in dict.fromkeys((1, os.cpu_count() or 1)):
        with threadpool_limits(n_threads):
            table += measure(rows, n_threads, options.repeats)
    report("third_moment_speed" + ("_quick" if options.quick else ""), table, size=f"{n} x {k}")


if __name__ == "__main__":
    main()
