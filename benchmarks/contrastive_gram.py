"""Claim: Gram matrices of unfolded fourth cumulants come ten times faster from pairs of rows than from the unfolding.

    python benchmarks/contrastive_gram.py [--quick] [--repeats 5]

M = kappa_4(V, U, U, (U, V)), d^3 rows and 2 d columns, of n = 5,000 rows and d = 100 columns in each view; M^T M by
`FourthGram`, one BLAS thread. ``kernel`` sums over pairs of rows, ``slabs`` makes the unfolding d^2 rows at a time.
Each method has a process of its own, whose peak memory (VmHWM) less what it held before is stated; d^4 numbers would take
800 MB. Seconds are medians of the repeats, one repeat of the slabs; flops and bytes are counted from the formulas below, and
``of_dgemm`` is the rate of flops in CPU seconds over that of products of 2000 x 2000 matrices on one thread. --quick: n =
2,000, d = 40, where the bounds need not hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _common import report, timed
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.moments import FourthGram


def work(method: str, n: int, d: int) -> tuple[float, float]:
    """Flops, and bytes read and written."""
    if method == "kernel":
        # v.v, u.u and the weighted sum of x, of every pair; three products of n x n numbers.
        return float(n * n * (8 * d + 3)), 88.0 * n * n
    # For each column of V: products of pairs of columns, and their product with x; then M^T M.
    return 4.0 * n * d**4 + n * d**3 + 8.0 * d**5, 16.0 * n * d**3


def memory(what: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024


def child(method: str, n: int, d: int, repeats: int, path: str) -> None:
    data = planted.contrastive_views(n, d, "regression")
    instruments, x = (data.V, data.U, data.U), np.hstack([data.U, data.V])
    FourthGram(method)((data.V[:64, :4], data.U[:64, :4], data.U[:64, :4]), x[:64])  # libraries are loaded
    before = memory("VmRSS")
    runs = [timed(lambda: FourthGram(method)(instruments, x)) for _ in range(repeats)]
    np.save(path, runs[0].value)
    facts = {
        "wall_s": float(np.median([run.wall for run in runs])),
        "cpu_s": float(np.median([run.cpu for run in runs])),
    }
    print(json.dumps(facts | {"peak_mb": (memory("VmHWM") - before) / 1e6}))


def gemm_rate() -> float:
    matrix = np.random.default_rng(0).standard_normal((2000, 2000))
    return 2 * 2000**3 / min(timed(lambda: matrix @ matrix).cpu for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.child:
            method, n, d, path = options.child
            child(method, int(n), int(d), options.repeats, path)
            return
        run(*((2000, 40) if options.quick else (5000, 100)), options.repeats, options.quick)


def run(n: int, d: int, repeats: int, quick: bool) -> None:
    rate, rows, found = gemm_rate(), [], {}
    with tempfile.TemporaryDirectory() as folder:
        for method, times in (("kernel", repeats), ("slabs", 1)):
            path = f"{folder}/{method}.npy"
            command = [sys.executable, __file__, "--repeats", str(times), "--child", method, str(n), str(d), path]
            facts = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            flops, size = work(method, n, d)
            row: dict[str, Any] = {"method": method, "n": n, "d": d, **facts}
            row |= {"gflop": flops / 1e9, "gbyte": size / 1e9, "of_dgemm": flops / facts["cpu_s"] / rate}
            rows.append(row)
            found[method] = np.load(path)
    kernel, slabs = rows
    difference = float(np.linalg.norm(found["kernel"] - found["slabs"]) / np.linalg.norm(found["slabs"]))
    ratios = {key: slabs[key] / kernel[key] for key in ("wall_s", "cpu_s")}
    holds = {
        "ten times faster": min(ratios.values()) >= 10, "the same to 1e-4": difference <= 1e-4,
        "at most 5 s": kernel["wall_s"] <= 5, "nothing of d^4": kernel["peak_mb"] < 8e-6 * d**4,
    }  # fmt: skip
    facts = {"dgemm_gflops": rate / 1e9, "difference": difference, "ratios": ratios, "d^4 MB": 8e-6 * d**4}
    report("contrastive_gram" + ("_quick" if quick else ""), rows, **facts, holds=holds)


if __name__ == "__main__":
    main()
