"""Claim: loners are those of one linear program for each row, hundreds of times faster.

    python benchmarks/nmf_loners.py [--seeds 3] [--quick]

Rows are mixtures of 10 random distributions in 50 dimensions, of which each occurs itself (Dirichlet(.5) weights, vertices
Dirichlet(.3)); l1 noise of a row is at most ``noise``. *exact* is `exact_loners` (Thm 2.46), *distance* and *weight* are
`distance_loners` (Thm 2.48) and `robust_loners` (section 3.5) with eps the noise and the vertices' own separation.

Beside them the literal programs, min |x - c X|_1 over convex weights c of all rows allowed, by `scipy.optimize.linprog`
(HiGHS): all of them where there are 200 rows, else every tenth row, scaled up. Section 3.5 asks for a program for each near
pair as well, which are not counted. *same*: rows for which both answers agree, of those asked. *found*: vertices that are
taken, of 10 (first seed, eps given and eps sought). CPU seconds on one thread, medians over seeds.
"""

from __future__ import annotations

import argparse

import numpy as np
from _common import report, timed
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from latentia.simplex import exact_loners, hull_separation, loner_groups

COMPONENTS, DIMENSIONS = 10, 50


def rows_of(n, noise, seed):
    rng = np.random.default_rng(seed)
    vertices = rng.dirichlet(np.full(DIMENSIONS, 0.3), COMPONENTS)
    weights = np.vstack([np.eye(COMPONENTS), rng.dirichlet(np.full(COMPONENTS, 0.5), n - COMPONENTS)])
    error = rng.standard_normal((n, DIMENSIONS))
    error *= noise * rng.random((n, 1)) / np.abs(error).sum(axis=1, keepdims=True)
    return weights @ vertices + error, vertices


def distance(x, rows):
    """l1 distance to the hull of rows, by the program that the theorems write."""
    n, d = rows.shape
    equal = np.block([[rows.T, np.eye(d), -np.eye(d)], [np.ones((1, n)), np.zeros((1, 2 * d))]])
    cost = np.concatenate([np.zeros(n), np.ones(2 * d)])
    return linprog(cost, A_eq=equal, b_eq=np.append(x, 1.0), method="highs").fun


def literal(points, asked, radius, threshold):
    """Which of the rows asked are farther than the threshold from the hull of the rows beyond the radius."""
    apart = [np.abs(points - points[j]).sum(axis=1) for j in asked]
    return np.array(
        [distance(points[j], points[gap > radius]) > threshold for j, gap in zip(asked, apart, strict=True)]
    )


def measured(kind, n, noise, seed):
    points, vertices = rows_of(n, noise, seed)
    asked = np.arange(n) if n <= 200 else np.arange(0, n, 10)
    if kind == "exact":
        spread = np.abs(points - points.mean(axis=0)).sum(axis=1).max()
        ours = timed(lambda: exact_loners(points, n_jobs=1))
        found = ours.value
        programs = timed(lambda: literal(points, asked, 1e-7 * spread, 1e-7 * spread))
        sought = None
    else:
        alpha = hull_separation(vertices)
        ours = timed(lambda: loner_groups(points, COMPONENTS, near=kind, eps=noise, separation=alpha, n_jobs=1))
        found = np.concatenate(ours.value.groups)
        radius = 10 * noise / alpha + 2 * noise
        programs = timed(lambda: literal(points, asked, radius, 2 * noise))
        sought = timed(lambda: loner_groups(points, COMPONENTS, near=kind, n_jobs=1))
    vertices_found = found if kind == "exact" else ours.value.rows
    return {
        "cpu_s": ours.cpu, "programs_s": programs.cpu * n / len(asked),
        "same": np.mean(np.isin(asked, found) == programs.value) if kind != "weight" else np.nan,
        "loners": len(found), "found": np.sum(np.isin(np.arange(COMPONENTS), vertices_found)),
        "sought_s": sought.cpu if sought else np.nan,
        "found_sought": np.sum(np.isin(np.arange(COMPONENTS), sought.value.rows)) if sought else np.nan,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="200 rows only")
    options = parser.parse_args()
    cases = [("exact", 200, 0.0), ("exact", 200, 0.05), ("distance", 200, 0.005), ("weight", 200, 0.005)]
    if not options.quick:
        cases += [("exact", 1000, 0.0), ("distance", 1000, 0.005), ("distance", 1000, 0.01), ("weight", 1000, 0.005)]
    table = []
    with threadpool_limits(1):
        for kind in ("exact", "distance", "weight"):
            measured(kind, 60, 0.005, 100)  # compiled
        for kind, n, noise in cases:
            runs = [measured(kind, n, noise, seed) for seed in range(options.seeds)]
            row = {key: np.median([run[key] for run in runs]) for key in runs[0]}
            row["same"] = min(run["same"] for run in runs)
            row = {key: None if np.isnan(value) else value for key, value in row.items()}
            times = row["programs_s"] / row["cpu_s"]
            table.append({"loners of": kind, "rows": n, "noise": noise, "times": times} | row)
        if not options.quick:
            points = large()
            done = timed(lambda: exact_loners(points, n_jobs=1))
            table.append(
                {"loners of": "exact", "rows": 10_000, "noise": 0.0, "cpu_s": done.cpu, "loners": len(done.value)}
            )
    report("nmf_loners", table, components=COMPONENTS, dimensions=DIMENSIONS, seeds=options.seeds)


def large():
    """10,000 mixtures of 30 vertices that span 15 dimensions."""
    rng = np.random.default_rng(0)
    vertices = rng.random((30, 15)) @ rng.random((15, 60))
    return np.vstack([vertices, rng.dirichlet(np.full(30, 0.3), 9970) @ vertices])


if __name__ == "__main__":
    main()
