"""Claim: weights, priors and leaks of noisy-or networks are recovered, from exact moments and from rows.

    python benchmarks/noisy_or_recovery.py [--quick]

Networks are random, p = 1/3, weights uniform in [.5, 2], rho m = 1; an error of weights is that of a cause's row of W, in
l2 and relative, causes matched; of priors, relative; of the leak, absolute and the largest. ``printed`` is the paper's
Algorithm 1 with the known prior (of weights alone), ``moments`` the method with refine=0, and ``refined`` the default, on up
to 100,000 rows. Medians over the causes of all seeds, and the worst. --quick: without 1e6 and 1e7 rows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from _common import report, timed
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from latentia.datasets import planted
from latentia.noisyor import NoisyOr
from latentia.noisyor.absences import ExactAbsences
from latentia.papers.noisy_or import learn_noisy_or, recover_weights

EXACT = ((60, 10), (150, 20), (300, 30))
ROWS = ((10_000, 5), (100_000, 5), (1_000_000, 3), (10_000_000, 1))
ASKED = {100_000: 0.02, 1_000_000: 0.01, 10_000_000: 0.003}


def errors(model: Any, truth: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Relative errors of weights and priors, causes matched, and the largest error of the leak."""
    errors_of_weights, i, j = matched_errors(model.weights_, truth)
    priors = np.abs(model.priors_[j] - truth.priors[i]) / truth.priors[i]
    return errors_of_weights, priors, float(np.abs(model.leak_ - truth.leak).max())


def matched_errors(weights: np.ndarray, truth: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relative errors of weights, and the numbers of the true and the recovered causes that match."""
    distances = cdist(truth.weights, weights) / np.linalg.norm(truth.weights, axis=1, keepdims=True)
    i, j = linear_sum_assignment(distances)
    return distances[i, j], i, j


def summary_of_printed(weights: list[np.ndarray], truths: list[Any]) -> dict[str, float]:
    relative = np.concatenate([matched_errors(*pair)[0] for pair in zip(weights, truths, strict=True)])
    return {"weights_median": float(np.median(relative)), "weights_worst": float(relative.max())}


def summary(found: list[tuple[np.ndarray, np.ndarray, float]]) -> dict[str, float]:
    weights, priors = (np.concatenate([one[i] for one in found]) for i in (0, 1))
    return {
        "weights_median": float(np.median(weights)), "weights_worst": float(weights.max()),
        "priors_median": float(np.median(priors)), "priors_worst": float(priors.max()),
        "leak_worst": max(one[2] for one in found),
    }  # fmt: skip


def exact(n: int, m: int) -> list[dict[str, Any]]:
    truth = planted.noisy_or_network(n, m)
    moments = ExactAbsences(truth.weights, truth.priors)
    partition = np.array_split(np.random.default_rng(0).permutation(n), 3)
    triples = moments.contract(partition, [np.eye(len(findings)) for findings in partition])
    printed = recover_weights(moments.logs().pmi, triples, partition, m, 1 / m)
    models = {f"{c} corrections": NoisyOr(m, corrections=c) for c in range(4)}
    measured = {"printed": summary_of_printed([printed], [truth])}
    measured |= {name: summary([errors(model.fit_moments(moments), truth)]) for name, model in models.items()}
    return [{"data": "exact", "n": n, "m": m, "method": name} | row for name, row in measured.items()]


def sampled(
    what: str, n_rows: int, seeds: int, methods: dict[str, dict[str, Any]], with_printed: bool = False, **network: Any
) -> list[dict[str, Any]]:
    found: dict[str, list[Any]] = {name: [] for name in methods}
    printed: list[np.ndarray] = []
    truths: list[Any] = []
    seconds = dict.fromkeys([*methods, *(["printed"] if with_printed else [])], 0.0)
    for seed in range(seeds):
        truth = planted.noisy_or_network(60, 10, random_state=seed, **network)
        X = truth.sample(n_rows, seed + 100).X
        for name, options in methods.items():
            done = timed(lambda X=X, options=options: NoisyOr(10, n_jobs=-1, **options).fit(X))
            found[name].append(errors(done.value, truth))
            seconds[name] += done.wall / seeds
        if with_printed:
            done = timed(lambda X=X: learn_noisy_or(X, 10, 0.1))
            printed.append(done.value)
            truths.append(truth)
            seconds["printed"] += done.wall / seeds
    row = {"data": what, "n": 60, "m": 10, "rows": n_rows}
    measured = {"printed": summary_of_printed(printed, truths)} if with_printed else {}
    measured |= {name: summary(found[name]) for name in methods}
    return [row | {"method": name} | measured[name] | {"wall_s": seconds[name]} for name in measured]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = [row for n, m in EXACT[: 2 if quick else 3] for row in exact(n, m)]
    for n_rows, seeds in ROWS[: 2 if quick else 4]:
        # A leak, else some finding of a random network has no cause and is never present.
        methods: dict[str, dict[str, Any]] = {"moments": {"refine": 0}}
        if n_rows <= 100_000:
            methods = {"moments": {"refine": 0, "n_splits": 0}, "refined": {"n_splits": 0}}
        rows += sampled("rows", n_rows, seeds, methods, n_rows <= 100_000, leak=0.01)
    rows += sampled("unequal priors and leak", 100_000, 5, {"moments": {"refine": 0}}, spread=3, leak=0.05)
    by_rows = {
        row["rows"]: row for row in rows if row.get("rows") and row["method"] == "moments" and row["data"] == "rows"
    }
    unequal = rows[-1]
    holds = {
        f"{n_rows:.0e} rows": row["weights_median"] <= ASKED[n_rows]
        for n_rows, row in by_rows.items()
        if n_rows in ASKED
    }
    holds |= {
        "exact, printed": rows[5]["weights_median"] <= 0.05,
        "exact, 3 corrections": rows[9]["weights_worst"] <= 1e-3,
        "priors": unequal["priors_median"] <= 0.015 and unequal["priors_worst"] <= 0.05,
        "leak": unequal["leak_worst"] <= 0.01,
    }
    report("noisy_or_recovery" + ("_quick" if quick else ""), rows, holds=holds)


if __name__ == "__main__":
    main()
