"""Claim: two hidden layers are found from 200,000 rows where each has enough parents, and refused where it has not.

    python benchmarks/network_layers.py [--seeds 1] [--quick]

Networks of `planted.sparse_network`, seeds from 300 on: 6,000 columns, 1,000 and 1,000 units, 6 and 40 parents of either sign
on average, units on top on with probability .0015. Figures are named as in `network_recovery.py`; wrong signs and
undetermined pairs are of columns that are ever on, and those of the second layer of units of the first that were matched. The
last cases are outside the regime, and have error bars: few parents of either layer with few units on top, and too few rows.
--quick: a tenth of the units, which is outside the regime as well.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import report, timed
from _networks import FIRST_SEED, Found, compared, signs, summary, wrong_bits
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.deep import SparseNetwork

CASES: dict[str, dict[str, Any]] = {
    "6000, 1000, 1000": {"n_rows": 200_000, "sizes": (6000, 1000, 1000), "degrees": (6, 40), "density": 0.0015},
    "refused: 3000, 1000, 300": {"n_rows": 40_000, "sizes": (3000, 1000, 300), "degrees": (8, 8), "density": 0.005},
    "refused: 20,000 rows": {"n_rows": 20_000, "sizes": (6000, 1000, 1000), "degrees": (6, 40), "density": 0.0015},
}
NEW = 5000


def renamed(edges: Any, below: Found, n_below: int) -> sparse.csr_array:
    """Edges to fitted units as edges to the true ones that they are matched with; the others come behind."""
    matrix = sparse.coo_array(edges)
    names = np.full(edges.shape[1], -1)
    names[below.fitted] = below.true
    names[names < 0] = n_below + np.arange((names < 0).sum())
    shape = (edges.shape[0], n_below + int((names >= n_below).sum()))
    return sparse.csr_array((matrix.data, (matrix.coords[0], names[matrix.coords[1]])), shape=shape)


def padded(edges: sparse.csr_array, columns: int) -> sparse.csr_array:
    return sparse.csr_array((edges.data, edges.indices, edges.indptr), shape=(edges.shape[0], columns))


def measure(name: str, how: dict[str, Any], seed: int, threads: int) -> list[dict[str, Any]]:
    data = planted.sparse_network(**how | {"n_rows": how["n_rows"] + NEW}, random_state=seed)
    Y, new = data.Y[: how["n_rows"]], data.Y[how["n_rows"] :]
    done = timed(lambda: SparseNetwork(2, n_splits=int(name.startswith("refused")), n_jobs=threads).fit(Y))
    model, rows = done.value, []
    facts = {
        "cpu_s": done.cpu,
        "wall_s": done.wall,
        "grade": model.evidence_.grade,
        "expected": model.evidence_.expected_error,
    }
    below: Found | None = None
    for number, edges in enumerate(model.layers_):
        truth, undetermined = data.layers[number], model.undetermined_[number]
        if below is not None:
            edges, undetermined = (renamed(table, below, truth.shape[1]) for table in (edges, undetermined))
            truth = padded(truth, edges.shape[1])
        found = compared(truth, edges)
        row = {"case": name, "seed": seed, "layer": number + 1} | summary(truth, edges) | facts
        if len(found.true):
            coded = model.encode(new, layer=number + 1)
            row |= wrong_bits(data.hidden[number][how["n_rows"] :], coded, found)
            shown = slice(None) if below is None else below.true  # the layer below that is known
            of_known = [table[:, shown] for table in (truth, edges, undetermined)]
            row |= signs(*(sparse.csr_array(table) for table in of_known), found)
        rows.append(row)
        print({key: round(v, 6) if isinstance(v, float) else v for key, v in row.items()}, flush=True)
        below = found
    if len(model.layers_) < 2:
        print(f"{name}: the second layer was refused", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    quick = "_quick" * options.quick
    with threadpool_limits(1):
        SparseNetwork().fit(planted.sparse_network(2000, (200, 50), 10, 0.02).Y)  # compiled
        for name in options.cases:
            how = CASES[name]
            if options.quick:
                how = how | {"n_rows": how["n_rows"] // 20, "sizes": tuple(size // 10 for size in how["sizes"])}
                how |= {"density": how["density"] * 10, "degrees": tuple(min(d, 12) for d in how["degrees"])}
            for seed in range(FIRST_SEED, FIRST_SEED + (1 if options.quick else options.seeds)):
                rows += measure(name, how, seed, options.threads)
                report(f"network_layers{quick}", rows, threads=options.threads)


if __name__ == "__main__":
    main()
