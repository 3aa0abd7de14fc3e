"""Claim: figure 1 of the paper on rich component analysis again: what holds of it, and of eq. 2, and what does not.

    python benchmarks/contrastive_figure_1.py [--seeds 5] [--quick] [--jobs 1]

Ge and Zou 2015, section 5, d = 10 and Ising models on a 5 x 5 grid, A uniform on [-1, 1] as there, and again an orthogonal A
times (d / 3)^(1/2), a well conditioned one of the same size. Panels a to e: error against rows. f, g: gradient descent
with 1,000 rows; the paper takes stochastic steps of the same gradients, and the library solves for their zero directly, which
is the dashed line. h to j: error against the strength of s2, as ratio of standard deviations, 1,000 rows. k: mean squared
error of the entries of A, d = 10 and 30. Methods and errors are those of `_contrastive`; means and standard deviations
over seeds from 300 on, two of them for Ising models, with a uniform A alone, and for d = 30. --quick: two seeds, 1,000 rows at
most, no Ising models, d = 10.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _common import RESULTS, report
from _contrastive import (
    FIRST_SEED,
    METHODS,
    PROBLEMS,
    composite,
    drawn,
    errors,
    over_seeds,
    taylor_gradient,
)
from joblib import Parallel, delayed
from scipy.special import expit

from latentia.contrastive import ContrastiveComponents, ContrastiveIsing, ContrastiveLogisticRegression

MAPS = ("uniform", "orthogonal")
ROWS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SPINS = (1000, 10_000, 50_000)
STRENGTHS = (0.1, 0.5, 1.0, 2.0, 4.0)
PERTURBED = ("regression", "logistic", "ising")
OF_MAP = {10: ROWS[2:], 30: (1000, 10_000, 100_000)}
SLOW_SEEDS = 2
STEPS = {"logistic": (60, 2.0), "ising": (300, 0.05)}  # and their size
SHOWN = (0, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 130, 200, 300)
COLOURS = {"true samples": "black", "default": "C0", "eq2": "C1", "naive": "C3", "CCA": "C4", "V covariates": "C2"}


# --- error against rows, and against the strength of s2 -----------------------------------------------------------


def compared(panel: str, problem: str, n: int, linear_map: str, strength: float, runs: Any) -> list[dict[str, Any]]:
    """A row for every method: mean and standard deviation of the error."""
    d = 25 if problem == "ising" else 10
    seeds = runs.seeds if problem != "ising" else runs.seeds[:SLOW_SEEDS]
    found = runs.parallel(delayed(one)(problem, n, d, linear_map, seed, strength) for seed in seeds)
    row = {"panel": panel, "problem": problem, "A": linear_map, "n": n}
    row["ratio"] = float(np.mean([ratio for ratio, _ in found]))
    means = over_seeds([values for _, values in found])
    return [{**row, "method": name, "error": means[name][0], "sd": means[name][1]} for name in METHODS if name in means]


def one(problem: str, n: int, d: int, linear_map: str, seed: int, strength: float) -> tuple[float, dict[str, float]]:
    data = drawn(problem, n, d, linear_map, seed, strength)
    return float(np.sqrt(data.shared.var(axis=0).sum() / data.own.var(axis=0).sum())), errors(problem, data)


# --- accuracy of A ------------------------------------------------------------------------------------------------


def of_map(d: int, n: int, runs: Any) -> list[dict[str, Any]]:
    seeds = runs.seeds if d == 10 else runs.seeds[:SLOW_SEEDS]
    found = np.array(runs.parallel(delayed(map_errors)(d, n, seed) for seed in seeds))
    row = {"panel": "k", "problem": "A", "A": "uniform", "n": n, "d": d}
    return [
        {**row, "method": name, "error": float(values.mean()), "sd": float(values.std())}
        for name, values in zip(("default", "eq2"), found.T, strict=True)
    ]


def map_errors(d: int, n: int, seed: int) -> list[float]:
    data = drawn("regression", n, d, "uniform", seed)
    fits = (ContrastiveComponents(method=method, n_splits=0).fit(data.U, data.V) for method in ("auto", "eq2"))
    return [float(((fit.linear_map_ - data.linear_map) ** 2).mean()) for fit in fits]


# --- steps of gradient descent ------------------------------------------------------------------------------------


def logistic_paths(n: int, linear_map: str, seed: int) -> list[dict[str, Any]]:
    """The paper's gradient E[y s1] - E[s1] / 2 - .245 E[s1 p] + .014 E[s1 p^3], p = theta . s1, about the mean."""
    data = drawn("logistic", n, 10, linear_map, seed)
    own, u = data.own, data.U
    gradients = {
        "true samples": lambda at: own.T @ (data.y - expit(own @ at)) / n,
        "true samples, polynomial": of_moments(np.cov(own.T), fourth_image(own), cov_with(own, data.y)),
        "naive": of_moments(np.cov(u.T), fourth_image(u), cov_with(u, data.y)),
    }
    zero = ContrastiveLogisticRegression(approximation="paper", n_splits=0).fit(data.U, data.V, data.y).coef_[0]
    views = ContrastiveComponents(n_splits=0).fit(data.U, data.V)
    fourth, weights = views.cumulant(1, 4), np.linalg.lstsq(data.V, u, rcond=None)[0]
    gradients["default"] = of_moments(
        views.covariance(1),
        lambda at: np.einsum("ijkl,j,k,l->i", fourth, at, at, at, optimize=True),
        cov_with(u - data.V @ weights, data.y),
    )
    paths = {name: descend(gradient, 10, *STEPS["logistic"]) for name, gradient in gradients.items()}
    return as_rows("f", "logistic", linear_map, n, paths, lambda at: float(((at - data.truth) ** 2).sum()), zero)


def of_moments(covariance: np.ndarray, fourth: Any, target: np.ndarray) -> Any:
    """The gradient, from cov(s1), kappa_4(s1) in three times its argument, and cov(s1, y)."""

    def gradient(at: np.ndarray) -> np.ndarray:
        images = covariance @ at
        return target - 0.245 * images + 0.014 * (fourth(at) + 3 * (at @ images) * images)

    return gradient


def fourth_image(rows: np.ndarray) -> Any:
    """kappa_4(rows) in three times its argument."""
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred / len(rows)

    def image(at: np.ndarray) -> np.ndarray:
        images = covariance @ at
        return centred.T @ (centred @ at) ** 3 / len(rows) - 3 * (at @ images) * images

    return image


def cov_with(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (rows - rows.mean(axis=0)).T @ (y - y.mean()) / (len(rows) - 1)


def ising_paths(n: int, linear_map: str, seed: int) -> list[dict[str, Any]]:
    """The paper's gradient of the composite likelihood, and the exact one for the spins themselves."""
    data = drawn("ising", n, 25, linear_map, seed)
    model = ContrastiveIsing(data.edges, gradient="taylor", n_splits=0).fit(data.U, data.V)
    value = composite(data.own, data.edges)
    gradients = {"true samples": lambda at: value(at)[1]} | {
        name: lambda at, moments=moments: taylor_gradient(at, moments, data.edges)
        for name, moments in (
            ("true samples, polynomial", np.corrcoef(data.own.T)),
            ("naive", np.cov(data.U.T)),
            ("default", model.correlations_),
        )
    }
    paths = {name: descend(gradient, len(data.edges), *STEPS["ising"]) for name, gradient in gradients.items()}
    zero = model.couplings_
    return as_rows("g", "ising", linear_map, n, paths, lambda at: float(((at - data.truth) ** 2).mean()), zero)


def descend(gradient: Any, size: int, steps: int, rate: float) -> list[np.ndarray]:
    path = [np.zeros(size)]
    for _ in range(steps):
        path.append(path[-1] + rate * gradient(path[-1]))
    return path


def as_rows(
    panel: str, problem: str, linear_map: str, n: int, paths: dict[str, list[np.ndarray]], error: Any, zero: np.ndarray
) -> list[dict[str, Any]]:
    row = {"panel": panel, "problem": problem, "A": linear_map, "n": n}
    paths = {**paths, "library, solved": [zero] * len(paths["default"])}
    return [
        {**row, "method": name, "steps": step, "error": error(path[step])}
        for name, path in paths.items()
        for step in SHOWN
        if step < len(path)
    ]


# --- the figure ---------------------------------------------------------------------------------------------------


def draw(rows: list[dict[str, Any]], linear_map: str, path: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in rows if row["A"] == linear_map]
    panels = sorted({row["panel"] for row in rows})
    figure, axes = plt.subplots(-(-len(panels) // 4), 4, figsize=(15, 3.2 * -(-len(panels) // 4)))
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for panel, axis in zip(panels, axes.flat, strict=False):
        own = [row for row in rows if row["panel"] == panel]
        key = "ratio" if panel in "hij" else "steps" if panel in "fg" else "n"
        for method, d in dict.fromkeys((row["method"], row.get("d")) for row in own):
            points = [row for row in own if (row["method"], row.get("d")) == (method, d)]
            x, y, sd = (np.array([row.get(what, 0.0) for row in points]) for what in (key, "error", "sd"))
            dashed = {"true samples, polynomial": ("black", ":"), "library, solved": ("C0", "--")}
            colour, line = dashed.get(method, (COLOURS.get(method), "--" if d == 30 else "-"))
            label = f"{method}, d = {d}" if d else method
            axis.errorbar(x, y, np.minimum(sd, 0.9 * y), ls=line, color=colour, marker="o", ms=3, label=label)
        if panel in "afk":
            axis.legend(fontsize="x-small")
        axis.set_yscale("log")
        if panel in "abcdek":
            axis.set_xscale("log")
        axis.set_ylim(top=min(axis.get_ylim()[1], 100.0))
        what = {"ratio": "sd of s2 / sd of s1", "n": "rows", "steps": "steps"}[key]
        axis.set(xlabel=what, title=f"{panel}: {own[0]['problem']}")
    figure.suptitle(f"Errors of what is learned of s1; A {linear_map}")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


class Runs:
    def __init__(self, seeds: int, jobs: int) -> None:
        self.seeds = range(FIRST_SEED, FIRST_SEED + seeds)
        self.parallel = Parallel(jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="processes; no seconds are measured here")
    options = parser.parse_args()
    quick, runs = options.quick, Runs(2 if options.quick else options.seeds, options.jobs)
    rows: list[dict[str, Any]] = []
    for linear_map in MAPS:
        spins = linear_map == "uniform" and not quick
        for panel, problem in zip("abcde", PROBLEMS, strict=True):
            if problem != "ising" or spins:
                for n in SPINS if problem == "ising" else ROWS[: 3 if quick else None]:
                    rows += compared(panel, problem, n, linear_map, 1.0, runs)
        rows += logistic_paths(1000, linear_map, FIRST_SEED)
        rows += ising_paths(1000, linear_map, FIRST_SEED) if spins else []
        for panel, problem in zip("hij", PERTURBED, strict=True):
            if problem != "ising" or spins:
                for strength in STRENGTHS:
                    rows += compared(panel, problem, 1000, linear_map, strength, runs)
        print(f"{linear_map}: done", flush=True)
    for d, sizes in OF_MAP.items():
        for n in sizes:
            rows += of_map(d, n, runs) if not quick or (d == 10 and n == 1000) else []
    name = "contrastive_figure_1" + ("_quick" if quick else "")
    report(name, rows, seeds=len(runs.seeds), slow_seeds=SLOW_SEEDS)
    for linear_map in MAPS:
        draw(rows, linear_map, RESULTS / f"{name}_{linear_map}.png")


if __name__ == "__main__":
    main()
