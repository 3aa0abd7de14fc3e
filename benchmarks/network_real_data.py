"""Claim: on tables that no network of bits has made, the evidence says so; units are sets of columns that are on together.

    python benchmarks/network_real_data.py [--data DIR] [--quick]

scikit-learn's digits, with pixels on from half of their range; and the words of 20 Newsgroups (DIR/newsgroups20, or
LATENTIA_DATA) that occur in at least ``--least`` documents, by whether they occur. Beside them, the same table with each
column in an order of its own, in which there is nothing. ``explained`` is the share of ones that units explain,
``left`` that of the dependence of pairs which they leave, ``decoded`` that of the bits of new rows, a fifth of all, that
decoding their code gives back, and ``rates`` that which saying the more frequent value of each column gives. --quick: digits
alone.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _common import DATA, report, timed
from scipy import sparse
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from latentia.deep import SparseNetwork
from latentia.passes import Blocks

SHOWN, WORDS = 12, 10


def digits() -> tuple[sparse.csr_array, list[str]]:
    pixels = load_digits().data >= 8
    return sparse.csr_array(pixels), [f"{j // 8},{j % 8}" for j in range(pixels.shape[1])]


def newsgroups(folder: Path, least: int) -> tuple[sparse.csr_array, list[str]]:
    counts = sparse.csr_array(Blocks.from_files(folder / "docword-train.txt.gz").table())
    words = (folder / "vocab.txt").read_text().split("\n")[: counts.shape[1]]
    occurs = sparse.csr_array(counts > 0)
    kept = np.flatnonzero(np.bincount(occurs.indices, minlength=occurs.shape[1]) >= least)
    return sparse.csr_array(occurs[:, kept]), [words[j] for j in kept]


def permuted(Y: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Each column with its own order of rows."""
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    rows = np.concatenate([rng.choice(Y.shape[0], count, replace=False) for count in counts])
    columns = np.repeat(np.arange(Y.shape[1]), counts)
    return sparse.csr_array((np.ones(len(rows), bool), (rows, columns)), shape=Y.shape)


def measure(name: str, Y: sparse.csr_array, names: list[str], layers: int, show: bool) -> dict[str, Any]:
    order = np.random.default_rng(0).permutation(Y.shape[0])
    cut = Y.shape[0] * 4 // 5
    train, new = Y[order[:cut]], Y[order[cut:]]
    done = timed(lambda: SparseNetwork(layers, n_jobs=1).fit(train))
    model, evidence = done.value, done.value.evidence_
    checks = {check.name.split(",")[0]: check.measured for check in evidence.checks}
    n_units = model.layers_[0].shape[0]
    said = model.decode(model.encode(new, layer=1), layer=1) if n_units else sparse.csr_array(new.shape, dtype=bool)
    rates = np.asarray(train.mean(axis=0)).ravel()
    row = {
        "data": name, "rows": cut, "columns": Y.shape[1], "ones": model.observed_density_,
        "units": "/".join(str(layer.shape[0]) for layer in model.layers_), "grade": evidence.grade,
        "expected": evidence.expected_error, "explained": checks.get("ones explained"), "left": checks.get("goodness of fit"),
        "decoded": 1 - sparse.csr_array(said != new).nnz / np.prod(new.shape),
        "rates": float(np.where(rates > 0.5, new.mean(axis=0), 1 - new.mean(axis=0)).mean()),
        "cpu_s": done.cpu, "wall_s": done.wall,
    }  # fmt: skip
    if show and n_units:
        errors = evidence.component_errors
        members = model.layers_[0].tocsr()
        for unit in range(min(SHOWN, n_units)):
            own = members.indices[members.indptr[unit] : members.indptr[unit + 1]][
                members.data[members.indptr[unit] : members.indptr[unit + 1]] > 0
            ]
            error = "" if errors is None else f", expected error {errors[unit]:.2f}"
            print(f"  {model.densities_[0][unit]:.3f}{error}: {' '.join(names[j] for j in own[:WORDS])}")
    if show:
        print(evidence)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--least", type=int, default=50)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {"digits": digits()}
    if not options.quick:
        tables["20 Newsgroups"] = newsgroups(options.data / "newsgroups20", options.least)
    rows, rng = [], np.random.default_rng(0)
    with threadpool_limits(1):
        for name, (Y, names) in tables.items():
            print(f"\n== {name}", flush=True)
            rows.append(measure(name, Y, names, options.layers, True))
            rows.append(measure(f"{name}, columns permuted", permuted(Y, rng), names, options.layers, False))
    report(f"network_real_data{'_quick' * options.quick}", rows, least=options.least)


if __name__ == "__main__":
    main()
