"""The picture of docs/nmf.md: rows in a triangle, searches against noise, and nested polygons.

    python benchmarks/nmf_separable.py
    python benchmarks/nmf_picture.py

400 mixtures of three components with noise .03; shares of pure rows that were found, from ``results/nmf_separable.json``; and
a matrix of rank 3 with the exact factorization that was found. Writes ``docs/nmf.png``.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from _common import RESULTS
from scipy.spatial import ConvexHull, HalfspaceIntersection

from latentia.datasets import planted
from latentia.nmf import SeparableNMF
from latentia.nmf.exact._results import Factorization
from latentia.nmf.exact.exact_nmf import exact_nmf

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SHOWN = {"spa": "--", "spa-spa": ":", "snpa": "-.", "auto": "-"}
ILL = "ill/middle", "ill/Gauss"
A = [[1, 2, 0], [2, 1, 0], [0, 1, 3], [0, 3, 1], [1, 0, 2], [3, 0, 1]]
W = [[0, 2, 3, 4, 1, 5], [4, 0, 5, 1, 3, 2], [3, 5, 0, 2, 6, 1]]


def plane_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle of the rows, and the two directions in which they vary most."""
    middle = rows.mean(axis=0)
    return middle, np.linalg.svd(rows - middle, full_matrices=False)[2][:2]


def draw_triangle(axes: Any) -> None:
    data = planted.separable_rows(400, 40, 3, concentration=0.7, n_pure=3, noise=0.03, random_state=2)
    model = SeparableNMF(3).fit(data.X)
    middle, directions = plane_of(data.components)
    rows, true, found = ((part - middle) @ directions.T for part in (data.X, data.components, model.components_))
    axes.scatter(*rows.T, s=8, color="0.6", label="rows")
    axes.fill(*true.T, fill=False, edgecolor="black", linewidth=1)
    axes.scatter(*rows[model.anchors_].T, s=60, facecolors="none", edgecolors="tab:orange", label="anchors")
    axes.scatter(*found.T, s=30, marker="x", color="tab:blue", label="components")
    axes.set(title="mixtures of three components", xticks=[], yticks=[], aspect="equal")
    axes.legend(frameon=False, fontsize=8)


def draw_searches(axes: Any) -> None:
    table = json.loads((RESULTS / "nmf_separable.json").read_text())["rows"]
    noise = [key for key in table[0] if key.replace(".", "").isdigit()]
    for method, line in SHOWN.items():
        worst = [min(row[level] for row in table if row["method"] == method and row["world"] in ILL) for level in noise]
        axes.plot([float(level) for level in noise], worst, line, label=method)
    axes.axhline(0.95, color="0.7", linewidth=0.8)
    axes.set(title="share of pure rows found, condition 1000", xscale="log", xlabel="noise", ylim=(0, 1.05))
    axes.legend(frameon=False, fontsize=8)


def draw_polygons(axes: Any) -> None:
    M = np.array(A) @ np.array(W)
    found = exact_nmf(M, 3)
    assert isinstance(found, Factorization)
    assert found.verify()
    rows = M.astype(float)
    rows, between = (part / part.sum(axis=1, keepdims=True) for part in (rows, found.to_float()[1]))
    middle, directions = plane_of(rows)
    outer = HalfspaceIntersection(np.column_stack([-directions.T, -middle]), np.zeros(2)).intersections
    inner = (rows - middle) @ directions.T
    for points, style in ((outer, "-"), (inner, "-")):
        hull = points[ConvexHull(points).vertices]
        axes.fill(*hull.T, fill=False, edgecolor="black", linestyle=style)
    axes.scatter(*inner.T, s=12, color="black")
    axes.fill(*((between - middle) @ directions.T).T, alpha=0.3, color="tab:blue", edgecolor="tab:blue")
    axes.set(title="rank 3: a triangle between two polygons", xticks=[], yticks=[], aspect="equal")


def main() -> None:
    warnings.simplefilter("ignore")
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.7))
    draw_triangle(axes[0])
    draw_searches(axes[1])
    draw_polygons(axes[2])
    figure.tight_layout()
    figure.savefig(Path(__file__).parents[1] / "docs" / "nmf.png", dpi=110)


if __name__ == "__main__":
    main()
