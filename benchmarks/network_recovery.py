"""Claim: one layer of a sparse network is found exactly from some 50 / rho rows; outside the regime no unit is made up.

    python benchmarks/network_recovery.py [--seeds 3] [--first 300] [--only NAME ...] [--quick]

Networks of `planted.sparse_network`, seeds from 300 on: 2,000 columns, 500 units, each with 20 positive and 20 negative edges
on average, on with probability .01. ``exact`` units have the positive edges of the planted one; ``matched`` ones are nearer
to it than a Jaccard distance of .5; the others are ``spurious``; ``wrong +`` are positive edges of matched units that differ.
``exact rows`` are new ones whose code has no wrong bit, and ``wrong bits`` the share of bits of the code. ``missed`` are
negative edges that the fit denies, ``left open`` those that it leaves undetermined, ``false`` ones that are none, of columns
with a positive parent. Seconds are those of the process, on one thread, with n_splits=0 where it is named so. For real columns
`_networks.exact_rows` says what ``signed``, ``made up``, ``missed`` and ``all`` are.

Peers, on 1,000 columns and 250 units: scikit-learn's NMF and BernoulliRBM know the number of units. Columns with at least a
share of the largest weight of a component are its columns; the share is the best of eight in hindsight. --quick: one seed and
a fifth of columns and units.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common import report, timed
from _networks import FIRST_SEED, compared, exact_rows, signs, summary, wrong_bits
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.neural_network import BernoulliRBM
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.deep import SparseNetwork

SIZES, DEGREE, DENSITY, NEW = (2000, 500), 10.0, 0.01, 2000
SHARES = np.linspace(0.1, 0.8, 8)
REAL = {
    "A": {"n_rows": 5000, "sizes": (200, 100), "density": 0.05},
    "A, noise .3": {"noise": 0.3},
    "B": {"n_rows": 10_000, "sizes": (600, 300), "density": 0.1},
}
BOUNDARY = {  # A with noise of .3, but for
    "500 rows": {"n_rows": 500},
    "300 rows": {"n_rows": 300},
    "noise .5": {"noise": 0.5},
    "noise .7": {"noise": 0.7},
    "noise 1": {"noise": 1.0},
    "rho d = 1": {"density": 0.2},
    "rho d = 1.25": {"density": 0.25},
    "rho d = 1.5": {"density": 0.3},
    "6 columns a unit": {"degree": 3.0},
    "4 columns a unit": {"degree": 2.0},
}
Line = dict[str, Any]


def drawn(n_rows: int, sizes: tuple[int, int], seed: int, density: float = DENSITY, degree: float = DEGREE, **how: Any):
    """Rows to learn from, new ones and their units, and the network."""
    data = planted.sparse_network(n_rows + NEW, sizes, degree, density, random_state=seed, **how)
    return data.Y[:n_rows], data.Y[n_rows:], data.hidden[0][n_rows:], data.layers[0]


def fitted(Y: Any, truth: Any, **options: Any) -> tuple[SparseNetwork, Line]:
    done = timed(lambda: SparseNetwork(n_jobs=1, **options).fit(Y))
    model = done.value
    line = summary(truth, model.layers_[0]) | {"cpu_s": done.cpu, "wall_s": done.wall}
    if options.get("n_splits") != 0:
        line |= {"expected": model.evidence_.expected_error, "grade": model.evidence_.grade}
    return model, line


def regime(sizes: tuple[int, int], seed: int) -> Iterator[Line]:
    """The layer from more and fewer rows, with flips, and the encoder."""
    for n_rows, flips, options in (
        (5000, 0.0, {"n_splits": 0}),
        (5000, 0.0, {}),
        (10_000, 0.02, {"n_splits": 0}),
        (3000, 0.0, {"n_splits": 0}),
        (2000, 0.0, {"n_splits": 0}),
    ):
        Y, new, H, truth = drawn(n_rows, sizes, seed, flips=flips)
        model, line = fitted(Y, truth, **options)
        code = wrong_bits(H, model.encode(new), compared(truth, model.layers_[0]))
        default = "" if options else ", with error bars"
        yield {"case": f"N = {n_rows:,}, flips {flips:g}{default}"} | line | code


def outside(sizes: tuple[int, int], seed: int) -> Iterator[Line]:
    """Too few rows, too many units on, too many flips, too few edges, and nothing."""
    for name, n_rows, how in (
        ("N = 500", 500, {}),
        ("rho d = .3", 5000, {"density": 0.06}),
        ("rho d = .5", 5000, {"density": 0.1}),
        ("rho d = 1", 5000, {"density": 0.2}),
        ("flips .1", 5000, {"flips": 0.1}),
        ("3 positive edges a unit", 5000, {"degree": 1.5}),
        ("nothing: flips of .5", 2000, {"flips": 0.5}),
    ):
        Y, _, _, truth = drawn(n_rows, sizes, seed, **how)
        yield {"case": name} | fitted(Y, truth)[1]


def negatives(sizes: tuple[int, int], seed: int) -> Iterator[Line]:
    Y, _, _, truth = drawn(40_000, sizes, seed)
    model, line = fitted(Y, truth, n_splits=0)
    found = compared(truth, model.layers_[0])
    yield {"case": "N = 40,000"} | line | signs(truth, model.layers_[0], model.undetermined_[0], found)


def real(sizes: tuple[int, int], seed: int, cases: dict[str, Line] = REAL, noise: float = 0.0) -> Iterator[Line]:
    """Real columns: sums of edges, without noise and with some; five parents of either sign a column, but where it is said."""
    scale = max(sizes[1] / SIZES[1], 0.4)
    for name, changed in cases.items():
        how = REAL["A"] | {"degree": 5.0, "noise": noise} | changed
        how["sizes"] = tuple(int(scale * n) for n in how["sizes"])
        Y, new, H, truth = drawn(**how, seed=seed, observed="real")
        model, line = fitted(Y, truth, input_type="real", n_splits=0)
        code = wrong_bits(H, model.encode(new), compared(truth, model.layers_[0]))
        yield {"case": name} | exact_rows(truth, model.layers_[0]) | line | code


def real_boundary(sizes: tuple[int, int], seed: int) -> Iterator[Line]:
    """The same with fewer rows, more noise, more units on, or fewer columns a unit."""
    yield from real(sizes, seed, BOUNDARY, 0.3)


def peers(sizes: tuple[int, int], seed: int) -> Iterator[Line]:
    n, m = sizes[0] // 2, sizes[1] // 2
    Y, _, _, truth = drawn(5000, (n, m), seed)
    yield {"case": "ours"} | fitted(Y, truth, n_splits=0)[1]
    table = Y.astype(np.float64)
    tasks: dict[str, Callable[[], Any]] = {
        "NMF": lambda: NMF(m, init="nndsvd", max_iter=400, random_state=0).fit(table),
        "BernoulliRBM": lambda: BernoulliRBM(m, learning_rate=0.05, n_iter=30, random_state=0).fit(table),
    }
    for name, task in tasks.items():
        done = timed(task)
        W = np.maximum(done.value.components_, 0)
        sets = [sparse.csr_array((share * W.max(axis=1, keepdims=True) <= W).astype(np.int8)) for share in SHARES]
        best = max((summary(truth, edges) for edges in sets), key=lambda one: (one["exact"], one["matched"]))
        yield {"case": name} | best | {"cpu_s": done.cpu, "wall_s": done.wall}


PARTS: dict[str, Callable[[tuple[int, int], int], Iterator[Line]]] = {
    "regime": regime, "outside": outside, "negatives": negatives, "real": real, "real_boundary": real_boundary, "peers": peers,
}  # fmt: skip


def medians(rows: list[Line]) -> list[Line]:
    """Means over the seeds; seconds are medians; ``worst`` is the fewest exact units of any."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for row in rows:
        groups.setdefault((row["part"], row["case"]), []).append(row)
    lines = []
    for (part, case), some in groups.items():
        line: Line = {"part": part, "case": case, "seeds": len(some), "worst": min(row["exact"] for row in some)}
        for key in dict.fromkeys(key for row in some for key in row):
            values = [row[key] for row in some if isinstance(row.get(key), (int, float))]
            if values and key != "seed":
                line[key] = float((np.median if key.endswith("_s") else np.mean)(values))
        lines.append(line | ({"grade": "/".join(row["grade"] for row in some)} if "grade" in some[0] else {}))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = (SIZES[0] // 5, SIZES[1] // 5) if options.quick else SIZES
    rows: list[Line] = []
    quick = "_quick" * options.quick
    with threadpool_limits(1):
        SparseNetwork().fit(planted.sparse_network(2000, (200, 50), 10, 0.02).Y)  # compiled
        for part in options.only:
            for seed in range(options.first, options.first + (1 if options.quick else options.seeds)):
                for line in PARTS[part](sizes, seed):
                    rows.append({"part": part, "seed": seed} | line)
                    print({k: round(v, 5) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
            report(f"network_recovery_{part}{quick}", medians([row for row in rows if row["part"] == part]))


if __name__ == "__main__":
    main()
