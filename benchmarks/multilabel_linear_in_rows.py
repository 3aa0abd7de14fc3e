"""Claim: training time grows like the number of rows, and memory beyond the mapped data does not grow.

    python benchmarks/multilabel_linear_in_rows.py [--rows 400000] [-k 100] [--workdir DIR] [--quick]

AmazonCat's shape (see `multilabel_at_scale`) with 1/8, 1/4, 1/2 and all of the rows; every fit in a process of its own, in
which the sizes take turns; medians over repeats. ``slope``: of log seconds against log rows, asked .9 to 1.1, for the whole
fit and for its passes: the algebra of (D + L) K numbers and of the tensor, ``algebra_s``, costs the same for any number of
rows. ``fixed_s`` and ``s_per_million_rows`` are the line through the seconds of the whole fit. ``peak_gb`` is the resident
set with the mapped data, ``anonymous_gb`` without them. --quick: 40,000 rows, one repeat.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from _common import report
from _multilabel import Job, fit_apart, planted_text, slope, workplace

from latentia.passes import Blocks

SHARES = (8, 4, 2, 1)
LEAST, MOST = 0.9, 1.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument(
        "--workdir", type=Path, help="folder of the generated text and its cache; by default a temporary one"
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    most = options.rows or (40_000 if options.quick else 400_000)
    repeats = options.repeats or (1 if options.quick else 3)
    sizes = [most // share for share in SHARES]
    runs: dict[int, list[dict]] = {n: [] for n in sizes}
    with workplace(options.workdir) as folder:
        files = {n: planted_text(folder, "amazoncat", n) for n in sizes}
        entries = {n: int(Blocks.from_files(files[n]).table().indptr[-1]) for n in sizes}
        for _ in range(repeats):
            for n in sizes:
                runs[n].append(fit_apart(Job(str(files[n]), options.k)))
                print(".", end="", flush=True)
    print()
    keys = ("fit_s", "passes_s", "cpu_s", "peak_gb", "anonymous_gb", "before_gb")
    rows = [
        {"rows": n, "mapped_gb": 12e-9 * entries[n]} | {k: float(np.median([r[k] for r in runs[n]])) for k in keys}
        for n in sizes
    ]
    for row in rows:
        row["algebra_s"] = row["fit_s"] - row["passes_s"]
    line = np.polyfit(sizes, [row["fit_s"] for row in rows], 1)
    whole, passes = (slope(sizes, [row[key] for row in rows]) for key in ("fit_s", "passes_s"))
    report(
        "multilabel_linear_in_rows" + "_quick" * options.quick, rows, slope=whole, slope_of_passes=passes,
        asked=[LEAST, MOST], holds=LEAST <= whole <= MOST, holds_of_passes=LEAST <= passes <= MOST,
        fixed_s=float(line[1]), s_per_million_rows=float(1e6 * line[0]), repeats=repeats,
        k=options.k,
    )  # fmt: skip


if __name__ == "__main__":
    main()
