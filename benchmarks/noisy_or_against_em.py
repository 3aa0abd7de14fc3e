"""Claim: one fit by moments loses no cause, where expectation maximisation from random starts does in some of its runs.

    python benchmarks/noisy_or_against_em.py [--quick]

Beside `NoisyOr`, plain and refined by EM: the same EM from three random starts, and what people take instead, NMF and LDA
of scikit-learn with each component scaled to its cause by an oracle (by least squares). Data: planted networks of 60
findings, 10 causes and 10,000 rows, and two networks whose parameters are known (plnt, img; 10,000 rows),
and 50,000 rows of a network of 20 diseases and their symptoms (`diseases`). Errors: of a cause's
strengths 1 - exp(-W), in l2 and relative, causes matched; ``lost``: causes with an error above .5. --quick: one planted network
and fewer steps.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import warnings
from typing import Any

import numpy as np
from _common import DATA, report, timed
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.decomposition import NMF, LatentDirichletAllocation

from latentia.datasets import planted
from latentia.likelihood import over, refine
from latentia.noisyor import NoisyOr
from latentia.noisyor._em import NoisyOrUpdate
from latentia.noisyor.inference import Network
from latentia.passes import Blocks

STARTS, STEPS = 3, 100


def real(name: str) -> tuple[planted.NoisyOrTruth, np.ndarray]:
    file = np.load(DATA / "noisy_or" / f"{name}.npz")
    return planted.NoisyOrTruth(-np.log(file["failure"]), file["priors"], 1 - file["leak_failure"]), file["samples"]


def diseases(n_rows: int) -> tuple[planted.NoisyOrTruth, np.ndarray]:
    """The 20 most frequent diseases of disease_symptom with symptom lists of their own.

    The file says how many patients each has, and which symptoms, not how strongly: strengths are uniform in [.3, .9], priors
    proportional to patients with 1.5 causes on at a time, leaks .01.
    """
    with gzip.open(DATA / "disease_symptom" / "columbia.csv.gz", "rt", encoding="latin-1") as file:
        lines = list(csv.DictReader(file))
    patients = {line["Source"]: float(line["Weight"]) for line in lines}
    symptoms = {name: frozenset(line["Target"] for line in lines if line["Source"] == name) for name in patients}
    kept: list[str] = []
    for name in sorted(patients, key=lambda name: -patients[name]):
        if all(symptoms[name] != symptoms[other] for other in kept):
            kept.append(name)
    kept = kept[:20]
    columns = sorted(set().union(*(symptoms[name] for name in kept)))
    linked = np.array([[symptom in symptoms[name] for symptom in columns] for name in kept])
    counts = np.array([patients[name] for name in kept])
    rng = np.random.default_rng(0)
    weights = np.where(linked, -np.log1p(-rng.uniform(0.3, 0.9, linked.shape)), 0.0)
    truth = planted.NoisyOrTruth(weights, 1.5 * counts / counts.sum(), np.full(len(columns), 0.01))
    return truth, truth.sample(n_rows, 1).X


def em(X: np.ndarray, m: int, seed: int, steps: int) -> Network:
    """The EM of `refine`, started at random: strengths uniform in [0, 1], priors 1 / m, leaks at half of the frequency."""
    rng = np.random.default_rng(seed)
    network = Network(-np.log1p(-rng.uniform(0, 0.95, (m, X.shape[1]))), np.full(m, 1 / m), X.mean(axis=0) / 2)
    update = NoisyOrUpdate.from_network(network, max_weight=5.0, enumerate_all=m <= 12)
    found = refine(update, over(Blocks.from_array(X), -1), steps)
    return update.move_to(*found.values).network


def matched(strengths: np.ndarray, truth: np.ndarray, oracle: bool) -> np.ndarray:
    """Relative errors of the true causes."""
    lengths = np.linalg.norm(truth, axis=1, keepdims=True)
    if oracle:  # of all pairs, each found row scaled to the true one
        norms = np.maximum((strengths**2).sum(axis=1), 1e-12)
        cosines = np.maximum(truth @ strengths.T, 0) / np.sqrt(norms) / lengths
        apart = np.sqrt(np.maximum(1 - cosines**2, 0))
    else:
        apart = cdist(truth, strengths) / lengths
    i, j = linear_sum_assignment(apart)
    return apart[i, j]


def measure(name: str, truth: planted.NoisyOrTruth, X: np.ndarray, steps: int) -> list[dict[str, Any]]:
    m = len(truth.priors)
    true = -np.expm1(-truth.weights)
    methods: dict[str, Any] = {
        "moments": lambda: NoisyOr(m, n_jobs=-1, refine=0).fit(X).strengths_,
        "moments, then EM": lambda: NoisyOr(m, n_jobs=-1, n_splits=0).fit(X).strengths_,
    }
    for seed in range(STARTS):
        methods[f"EM, start {seed}"] = lambda seed=seed: -np.expm1(-em(X, m, seed, steps).weights)
    table = X.astype(float)
    methods["NMF, oracle scale"] = lambda: NMF(m, random_state=0, max_iter=1000).fit(table).components_
    methods["LDA, oracle scale"] = lambda: LatentDirichletAllocation(m, random_state=0).fit(table).components_
    rows = []
    for method, task in methods.items():
        done = timed(task)
        errors = matched(done.value, true, "oracle" in method)
        rows.append(
            {
                "data": name, "method": method, "error_median": float(np.median(errors)), "error_worst": float(errors.max()),
                "lost": int((errors > 0.5).sum()), "wall_s": done.wall,
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    steps, rows = 10 if quick else STEPS, []
    for seed in range(1 if quick else 3):
        truth = planted.noisy_or_network(60, 10, leak=0.01, random_state=seed)
        rows += measure(f"planted {seed}", truth, truth.sample(10_000, seed).X, steps)
    if (DATA / "noisy_or").exists():
        rows += [row for name in ("plnt", "img") for row in measure(name, *real(name), steps)]
        rows += measure("disease_symptom", *diseases(5000 if quick else 50_000), steps)
    ours = [row for row in rows if row["method"] == "moments"]
    random = [row for row in rows if row["method"].startswith("EM")]
    holds = {
        "moments lose none": not any(row["lost"] for row in ours),
        "random EM loses some": any(row["lost"] for row in random),
    }
    report("noisy_or_against_em" + ("_quick" if quick else ""), rows, holds=holds, steps=steps)


if __name__ == "__main__":
    main()
