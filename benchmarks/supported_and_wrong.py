"""Claim: of eight ways in which data differs from a model, evidence catches most, and guarantees.md names the others.

    python benchmarks/supported_and_wrong.py [--seeds 400-419] [--world NAME ...]

Each world looks like good data of its family. A fit is *dangerous* if its true error is above the limit, or above twice the
expected one. *Caught*: it is not "supported", or it is not dangerous. *Denied*: "partly" or "not supported". Limits of the
evidence were set on seeds below 400.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from _common import report
from _worlds import causes, corpora, counts, embeddings, gaussians, views
from _worlds.world import Case, Rng
from threadpoolctl import threadpool_limits

from latentia.exceptions import LatentiaError
from latentia.topics import SingleTopicModel


def lognormal(rng: Rng, labels: np.ndarray, d: int) -> np.ndarray:
    """Skewed noise of unit variance."""
    values = rng.lognormal(0, 0.75, (len(labels), d))
    return (values - np.exp(0.28125)) / np.sqrt((np.exp(0.5625) - 1) * np.exp(0.5625))


def unseen(rng: Rng, on: np.ndarray, X: np.ndarray) -> np.ndarray:
    """In 20% of the rows a random half of the findings was not looked at, and is absent."""
    X[(rng.random((len(X), 1)) < 0.2) & (rng.random((1, X.shape[1])) < 0.5)] = False
    return X


def bent(rng: Rng) -> Case:
    """Counts of a detector that counts large rates too low."""
    W = rng.dirichlet(np.full(60, 0.3), 3)

    def rows(n: int) -> np.ndarray:
        rates = 150 * rng.dirichlet(np.full(3, 0.5), n) @ W * rng.lognormal(0, 0.5, (n, 1))
        return rng.poisson(rates / (1 + rates / 10)).astype(float)

    return counts.case(rows(600), rows(300), 3, W)


def two_topics(rng: Rng) -> Case:
    """Half of the documents lie halfway between their topic and another one."""
    means = 6 * np.eye(6, 40)

    def noise(rng: Rng, labels: np.ndarray) -> np.ndarray:
        other = rng.integers(0, 6, len(labels))
        half = (rng.random(len(labels)) < 0.5)[:, None]
        return rng.standard_normal((len(labels), 40)) + half * (means[other] - means[labels]) / 2

    return embeddings.documents(rng, noise=noise)


WORLDS: dict[str, Callable[[Rng], Case]] = {
    "skewed clusters": lambda rng: gaussians.clusters(rng, sep=4.5, noise=lognormal),
    "junk rows, 5%": lambda rng: gaussians.clusters(rng, after=gaussians.outlying(0.05, 8.0)),
    "tails of t(4)": lambda rng: gaussians.clusters(rng, noise=gaussians.student(4)),
    "shared nuisance": lambda rng: views.switches(rng, change=views.nuisance(0.4, 2.0)),
    "unseen findings": lambda rng: causes.findings(rng, after=unseen),
    "bent response": bent,
    "background of 30%": corpora.drawn(
        SingleTopicModel, 4000, 5, 600, corpora.around(300), corpora.one_of, corpora.about(60), behind=(0.3, False)
    ),
    "two topics a document": two_topics,
}


def one_fit(name: str, number: int, seed: int) -> dict:
    case = WORLDS[name](np.random.default_rng([seed, number, 2026]))
    try:
        model = case.fit(case.estimator("auto"))
    except LatentiaError:
        return {"grade": "not supported", "dangerous": False}
    true, evidence = case.error(model), model.evidence_
    expected, limit = evidence.expected_error, evidence.limit
    failed = [statement.name for statement in evidence.statements if statement.passed is False]
    dangerous = expected is None or true > limit or true > 2 * expected
    return {"grade": evidence.grade, "dangerous": dangerous, "true": true, "expected": expected, "failed": failed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="400-419", help="first-last")
    parser.add_argument("--world", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    lines = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name in enumerate(WORLDS):
            if name not in options.world:
                continue
            fits = [one_fit(name, number, seed) for seed in range(first, last + 1)]
            grades = [fit["grade"] for fit in fits]
            measured = [fit for fit in fits if fit.get("expected")]
            line = {
                "world": name, "fits": len(fits), "supported": grades.count("supported"),
                "with care": grades.count("with care"), "denied": sum(grade in ("partly", "not supported") for grade in grades),
                "dangerous": sum(fit["dangerous"] for fit in fits),
                "caught": sum(not (fit["dangerous"] and fit["grade"] == "supported") for fit in fits),
                "true": float(np.median([fit["true"] for fit in measured])) if measured else None,
                "expected": float(np.median([fit["expected"] for fit in measured])) if measured else None,
                "fit fails": sum("fit" in fit["failed"] for fit in measured),
            }  # fmt: skip
            lines.append(line)
            print(line, flush=True)
    report("supported_and_wrong", lines, seeds=options.seeds)


if __name__ == "__main__":
    main()
