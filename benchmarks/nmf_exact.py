"""Claim: matrices of rank three are decided without an error, and larger ones get factorizations in seconds.

    python benchmarks/nmf_exact.py [--instances 300] [--seeds 10] [--quick]

*Rank three*: is the nonnegative rank three? For instances whose answer is known by how they are made
(``_nmf_exact.py``), two thirds of them degenerate: a change of 1e-9 could change the answer. ``right``: answers that
are as they should be, and whose factorization or proof passes its own check. Seconds are those of the slowest.

*Gadgets* of section 2.4 with N values: N triangles fit; inward by 1e-9 infinitely many do, outward none.
``residual_in_floats``: what the search in floats is left with outward, where no factorization exists.

*Nonnegative ranks*: both bounds, and whether both certificates hold.

*Simplicial*: 30 x 30 matrices A W of rank r, entries whole numbers from 1 to 9 of which a share is zero; in the last
rows W is divided by whole numbers from 1 to 7. ``certified``: share with an exact factorization, checked, within the
budget.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from _common import report, timed
from _nmf_exact import TINY, Instance, rank_three_instances

from latentia.datasets.instances import euclidean_distance_matrix, hardness_gadget, polygon_slack_matrix
from latentia.nmf.exact._rational import as_rational, rank_of
from latentia.nmf.exact._reduce import reduce_matrix
from latentia.nmf.exact._results import Factorization, Impossible
from latentia.nmf.exact._search import Search
from latentia.nmf.exact.exact_nmf import exact_nmf, nonnegative_rank

BUDGETS = {4: 2.0, 5: 2.0, 6: 2.0, 8: 10.0}
ZEROS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7)


# --- rank three -----------------------------------------------------------------------------------------------------


def rank_three(instances: int) -> list[dict[str, Any]]:
    by_kind: dict[str, list[Instance]] = defaultdict(list)
    for instance in rank_three_instances(instances):
        by_kind[instance.kind].append(instance)
    rows = []
    for kind, found in by_kind.items():
        done = [timed(lambda: exact_nmf(instance.M, 3)) for instance in found]
        right = [isinstance(d.value, Factorization) == i.feasible for d, i in zip(done, found, strict=True)]
        checked = [timed(d.value.verify) for d in done]
        rows.append(
            {
                "kind": kind, "n": len(found), "degenerate": sum(i.degenerate for i in found),
                "feasible": sum(i.feasible for i in found),
                "right": sum(r and c.value for r, c in zip(right, checked, strict=True)),
                "seconds": max(d.wall for d in done), "seconds_to_verify": max(c.wall for c in checked),
            }
        )  # fmt: skip
    totals = {key: sum(row[key] for row in rows) for key in ("n", "degenerate", "feasible", "right")}
    return [*rows, {"kind": "all", **totals, "seconds": max(row["seconds"] for row in rows)}]


def gadgets(sizes: range) -> list[dict[str, Any]]:
    rows = []
    for n in sizes:
        row: dict[str, Any] = {"N": n, "right": 0, "seconds": 0.0, "seconds_to_verify": 0.0}
        for shift in (-TINY, Fraction(0), TINY):
            M = hardness_gadget([Fraction(i, n + 1) for i in range(1, n + 1)], shift=shift)
            done = timed(lambda: exact_nmf(M, 3))
            checked = timed(done.value.verify)
            row["right"] += isinstance(done.value, Impossible if shift > 0 else Factorization) and checked.value
            row["seconds"] = max(row["seconds"], done.wall)
            row["seconds_to_verify"] = max(row["seconds_to_verify"], checked.wall)
        core = reduce_matrix(as_rational(M)).core
        row["residual_in_floats"] = Search(core, rank_of(core)).run(3, 0.5).best.residual
        rows.append(row)
    return rows


def ranks() -> list[dict[str, Any]]:
    rows = []
    for name, M in (
        ("slack matrix of the regular hexagon", polygon_slack_matrix(6, "regular")),
        ("distances of six points on a line", euclidean_distance_matrix(range(6))),
        ("slack matrix of a pentagon", polygon_slack_matrix(5)),
        ("slack matrix of a heptagon", polygon_slack_matrix(7)),
        ("slack matrix of an octagon", polygon_slack_matrix(8)),
        ("distances of eight points on a line", euclidean_distance_matrix(range(8))),
    ):
        done = timed(lambda: nonnegative_rank(M, 20.0))
        bounds = done.value
        rows.append(
            {
                "matrix": name,
                "lower": bounds.lower,
                "upper": bounds.upper,
                "verified": bounds.verify(),
                "seconds": done.wall,
            }
        )  # fmt: skip
    return rows


# --- as many components as the rank ---------------------------------------------------------------------------------


def product(r: int, zeros: float, fractions: bool, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    while True:
        A, W = (rng.integers(1, 10, shape) * (rng.random(shape) >= zeros) for shape in ((30, r), (r, 30)))
        if np.linalg.matrix_rank(A @ W) == r:
            break
    exact = np.array([[Fraction(int(x)) for x in row] for row in W], dtype=object)
    if fractions:
        exact = exact / np.array([[int(x) for x in row] for row in rng.integers(1, 8, W.shape)], dtype=object)
    return A.astype(object) @ exact


def simplicial(r: int, seeds: int) -> list[dict[str, Any]]:
    rows = []
    for zeros, fractions in [(zeros, False) for zeros in ZEROS] + [(0.2, True), (0.5, True)]:
        matrices = [product(r, zeros, fractions, seed) for seed in range(seeds)]
        done = [timed(lambda: exact_nmf(M, r, BUDGETS[r])) for M in matrices]
        certified = [
            isinstance(d.value, Factorization) and d.value.verify() and d.wall < BUDGETS[r] * 1.05 for d in done
        ]
        rows.append(
            {
                "r": r, "zeros": zeros, "fractions": fractions, "budget": BUDGETS[r],
                "certified": float(np.mean(certified)), "n": seeds,
                "seconds": float(np.median([d.wall for d in done])), "slowest": max(d.wall for d in done),
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="45 instances, five gadgets, r = 4 and two seeds")
    options = parser.parse_args()
    quick = "_quick" * options.quick
    exact_nmf([[1, 2], [3, 4]], 2)  # imports
    report(f"nmf_exact_rank_three{quick}", rank_three(45 if options.quick else options.instances))
    report(f"nmf_exact_gadgets{quick}", gadgets(range(2, 7) if options.quick else range(2, 21)))
    if not options.quick:
        report("nmf_exact_ranks", ranks())
    sizes = (4,) if options.quick else tuple(BUDGETS)
    rows = [row for r in sizes for row in simplicial(r, 2 if options.quick else options.seeds)]
    shares = {f"certified_r{r}": np.mean([row["certified"] for row in rows if row["r"] == r]) for r in sizes}
    report(f"nmf_exact_simplicial{quick}", rows, **shares)


if __name__ == "__main__":
    main()
