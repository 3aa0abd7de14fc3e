"""Claim: causes never predict rows worse than independent findings do, and the evidence says where classes predict better.

    python benchmarks/causes_or_classes.py [--jobs 1]

Tags of papers (Bibtex, on 10 and more) and of pages (Delicious, on 100 and more), split at random: learned from and held out;
baskets of 6,000 planted rows (15 causes of some 12 of 120 items each, 1.6 on); questionnaires of 3,000 rows and 24 yes-no
questions in four classes. Five seeds each, 8 and 15 causes: 40 fits, of the defaults. All figures are mean log-likelihoods of
held-out rows in nats, more is better: ``gain`` is that of the causes over independent findings, ``error`` its standard error,
and ``classes`` that of a mixture of as many product Bernoulli distributions (EM from five random starts, the best on the rows
learned from) over the causes; ``said`` is whether *classes of rows* in the evidence is a caution.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from _common import DATA, report
from noisy_or_baskets import LEAST, best_mixture, frequent, log_joint, table, tags
from scipy import sparse
from scipy.special import logsumexp

from latentia.datasets import planted
from latentia.noisyor import NoisyOr

SEEDS = (21, 22, 23, 24, 25)


def rows_of(kind: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if kind == "baskets":
        truth = planted.noisy_or_network(120, 15, active=1.6, density=0.1, leak=0.01, spread=2, random_state=seed)
        return sparse.csr_array(np.asarray(truth.sample(9000, seed).X, float))
    if kind == "questionnaires":
        chances = rng.choice([0.1, 0.25, 0.75, 0.9], size=(4, 24))
        return sparse.csr_array((rng.random((4500, 24)) < chances[rng.choice(4, 4500, p=[0.4, 0.3, 0.2, 0.1])]) * 1.0)
    baskets = [basket for part in ("train", "test") for basket in tags(kind, part)]
    return table(baskets, sorted(frequent(baskets, LEAST if kind == "bibtex" else 100)))


def one(task: tuple[str, int, int]) -> dict[str, Any]:
    kind, seed, k = task
    warnings.simplefilter("ignore")
    X = rows_of(kind, seed)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    train, test = X[order[: 2 * len(order) // 3]], X[order[2 * len(order) // 3 :]]
    model = NoisyOr(k).fit(train)
    causes = model.posterior(test).log_likelihood
    shares = np.clip((np.asarray(train.sum(axis=0)).ravel() + 0.5) / (train.shape[0] + 1), 1e-9, 1 - 1e-9)
    independent = logsumexp(log_joint(test, shares[None], np.ones(1)), axis=1)
    classes = logsumexp(log_joint(test, *best_mixture(train, k)), axis=1)
    gain = causes - independent
    said = [check for check in model.evidence_.checks if check.name == "classes of rows"]
    return {
        "rows": kind, "seed": seed, "causes": k, "gain": float(gain.mean()), "error": float(gain.std() / np.sqrt(len(gain))),
        "classes": float((classes - causes).mean()), "said": any(check.holds is False for check in said),
        "grade": model.evidence_.grade,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    kinds = ["baskets", "questionnaires", *(name for name in ("bibtex", "delicious") if (DATA / name).exists())]
    tasks = [(kind, seed, k) for kind in kinds for seed in SEEDS for k in (8, 15)]
    with ProcessPoolExecutor(parser.parse_args().jobs) as pool:
        rows = list(pool.map(one, tasks))
    worse = sum(row["gain"] < -row["error"] for row in rows)
    ahead = [row for row in rows if row["classes"] > 0.1]
    behind = [row for row in rows if row["classes"] < 0]
    report(
        "causes_or_classes", rows, worse=f"{worse} of {len(rows)}",
        ahead_and_said=f"{sum(row['said'] for row in ahead)} of {len(ahead)}",
        behind_and_said=f"{sum(row['said'] for row in behind)} of {len(behind)}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
