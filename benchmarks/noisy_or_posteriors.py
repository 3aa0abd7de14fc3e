"""Claim: refined networks tell the causes of a row nearly as well as the true network does, and know their own errors.

    python benchmarks/noisy_or_posteriors.py [--quick] [--part posteriors|errors]

Posteriors: 30 causes of about 30 of 300 findings each, with strengths like those of QMR-DT, 1 to 1.6 causes on in a row,
leaks from .001 to .02, uniform or log-uniform, in 2,000 to 100,000 rows; and two networks of 8 causes whose parameters are
known (img, plnt; 10,000 rows). ``loss`` is the mean log loss of a cause in 500 fresh rows by `predict_proba`, causes matched
by their strengths, ``of truth`` its ratio to that of the true network; errors are relative and in l2. Errors: the expected
error of a fit over the true one, on networks of the model; ``within`` are shares of all fits. Seeds are others than those that
constants were chosen on. --quick: one seed, at most 20,000 rows; two seeds and small networks for errors.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from _common import DATA, report, timed
from noisy_or_against_em import real
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from latentia.datasets import planted
from latentia.noisyor import NoisyOr
from latentia.noisyor.inference import Network, posteriors

SEEDS = (101, 102)
FRESH = 500
METHODS = {"moments": {"refine": 0}, "auto": {}}
LEAST = 1e-7  # probability in log losses


def network(seed: int, active: float, leaks: str) -> planted.NoisyOrTruth:
    truth = planted.qmr_network(300, 30, mean_findings=30, active=active, spread=3, random_state=seed)
    low, high, rng = 0.001, 0.02, np.random.default_rng(seed + 1000)
    uniform = rng.uniform(low, high, 300)
    logarithmic = np.exp(rng.uniform(np.log(low), np.log(high), 300))
    return replace(truth, leak=uniform if leaks == "uniform" else logarithmic)


def cases(quick: bool) -> Iterator[tuple[str, planted.NoisyOrTruth, np.ndarray, int]]:
    """Name, truth, rows and a seed."""
    sizes = (2_000, 20_000) if quick else (2_000, 20_000, 100_000)
    for n_rows in sizes:
        for seed in SEEDS[: 1 if quick else None]:
            for active, leaks in ((1.6, "uniform"), (1.0, "log-uniform")):
                truth = network(seed, active, leaks)
                yield f"{n_rows} rows, {active} on, {leaks}", truth, truth.sample(n_rows, seed + 1).X, seed
    if (DATA / "noisy_or").exists():
        for name in ("img", "plnt"):
            yield name, *real(name), 0


def log_loss(probabilities: np.ndarray, causes: np.ndarray) -> float:
    p = np.clip(probabilities, LEAST, 1 - LEAST)
    return -float(np.where(causes, np.log(p), np.log1p(-p)).mean())


def matched(model: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """The fitted cause of every true one, and relative errors of weights."""
    apart = cdist(truth.weights, model.weights_) / np.linalg.norm(truth.weights, axis=1, keepdims=True)
    places = linear_sum_assignment(apart)
    return places[1], apart[places]


def strength_errors(model: Any, truth: Any, places: np.ndarray) -> np.ndarray:
    true = -np.expm1(-truth.weights)
    return np.linalg.norm(model.strengths_[places] - true, axis=1) / np.linalg.norm(true, axis=1)


def posterior_rows(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for name, truth, X, seed in cases(quick):
        fresh = truth.sample(FRESH, seed + 2)
        true = posteriors(Network(truth.weights, truth.priors, truth.leak), fresh.X, n_jobs=-1)
        best = log_loss(true.probabilities, fresh.causes)
        for method, options in METHODS.items():
            done = timed(
                lambda X=X, truth=truth, options=options: NoisyOr(len(truth.priors), n_jobs=-1, **options).fit(X)
            )
            model = done.value
            places, weights = matched(model, truth)
            loss = log_loss(model.predict_proba(fresh.X)[:, places], fresh.causes)
            rows.append(
                {
                    "data": name, "seed": seed, "method": method,
                    "strengths": float(strength_errors(model, truth, places).mean()),
                    "weights": float(weights.mean()), "expected/true": model.evidence_.expected_error / float(weights.mean()),
                    "loss": loss, "of truth": loss / best, "least leak": float(model.leak_.min()),
                    "E-steps": len(model.refinement_), "cpu_s": done.cpu,
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


# Rows, findings, causes, causes on, density.
SETTINGS = (
    (1000, 60, 10, 1.0, 1 / 3), (3000, 60, 10, 1.0, 1 / 3), (10_000, 60, 10, 1.0, 1 / 3), (30_000, 60, 10, 1.0, 1 / 3),
    (3000, 40, 8, 1.5, 1 / 3), (3000, 90, 8, 2.0, 1 / 3), (10_000, 30, 6, 1.0, 1 / 3), (10_000, 80, 20, 4.0, 0.15),
    (3000, 120, 20, 1.6, 0.1), (3000, 300, 30, 1.6, 0.1), (20_000, 300, 30, 1.6, 0.1),
)  # fmt: skip


def error_rows(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for setting in SETTINGS[: 6 if quick else None]:
        n_rows, n, m, active, density = setting
        for method, options in METHODS.items():
            ratios, true = [], []
            for seed in range(200, 202 if quick else 204):
                truth = planted.noisy_or_network(
                    n, m, active=active, density=density, leak=0.02, spread=2, random_state=seed
                )
                model = NoisyOr(m, n_jobs=-1, **options).fit(truth.sample(n_rows, seed + 1).X)
                error = float(matched(model, truth)[1].mean())
                ratios.append(model.evidence_.expected_error / error)
                true.append(error)
            rows.append(
                {
                    "data": f"{n_rows} rows, {n} findings, {m} causes, {active} on", "method": method,
                    "weights": float(np.mean(true)), "expected/true": float(np.exp(np.mean(np.log(ratios)))),
                    "ratios": ratios,
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def within(rows: list[dict[str, Any]], method: str, factor: float) -> float:
    ratios = np.concatenate([row["ratios"] for row in rows if row["method"] == method])
    return float((np.abs(np.log(ratios)) <= np.log(factor)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=["posteriors", "errors"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    suffix = "_quick" if options.quick else ""
    if options.part != "errors":
        rows = posterior_rows(options.quick)
        moments, refined = ([row for row in rows if row["method"] == method] for method in ("moments", "auto"))
        large = [row for row in refined if row["data"].startswith("100000")]
        holds = {
            "loss within 25% of the truth's at 100,000 rows": all(row["of truth"] <= 1.25 for row in large),
            "no leak is 0": all(row["least leak"] > 0 for row in rows),
            "refined strengths are no worse": all(
                one["strengths"] <= other["strengths"] for one, other in zip(refined, moments, strict=True)
            ),
            "refined posteriors are no worse, by 5%": all(
                one["loss"] <= 1.05 * other["loss"] for one, other in zip(refined, moments, strict=True)
            ),
        }
        report("noisy_or_posteriors" + suffix, rows, holds=holds)
    if options.part != "posteriors":
        rows = error_rows(options.quick)
        shares = {f"{method}, within {f}": within(rows, method, f) for method in METHODS for f in (1.3, 2)}
        holds = {"auto": shares["auto, within 1.3"] >= 0.75 and shares["auto, within 2"] >= 0.97}
        plain = [{key: value for key, value in row.items() if key != "ratios"} for row in rows]
        report("noisy_or_expected_errors" + suffix, plain, shares=shares, holds=holds)


if __name__ == "__main__":
    main()
