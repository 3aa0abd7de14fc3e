"""Claim: 90% intervals of topics by group and over time hold the planted values in 85% to 95% of the cases.

    python benchmarks/topics_prevalence.py [--quick] [--seeds 20]

Corpora with topics whose prevalence moves along ten periods, each topic at its own rate: corpora of long and short documents,
few and many of them. ``shares``: intervals of each period; ``rare``: of those under .03; ``differences``: of a period from all
others; ``changes``: of the rise of the line from the first period to the last. ``means of transform``: how many of the
intervals of 1.645 standard errors about the mean of the documents' own proportions hold the planted shares, which is what
people draw. Topics are fitted to the same documents, as by default. Means over seeds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from _common import report, verdict
from _topics import parsed
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.likelihood import WordSampler
from latentia.metrics import match_components
from latentia.topics import AnchorTopics

LEVEL, PERIODS = 0.9, 10


@dataclass(frozen=True)
class Case:
    """Sizes of a corpus, the mean number of words of a document, and the Dirichlet parameter of a topic."""

    documents: int
    length: int
    topics: int = 20
    words: int = 2000
    alpha: float = 0.05


CASES = [Case(500, 150, 5, 1000, 0.1), Case(1000, 100, 10, 1000, 0.1), Case(5000, 50), Case(20_000, 50), Case(5000, 15)]


def planted_trend(case: Case, seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray, np.ndarray]:
    """Counts, the period of every document, topics (K, V), and their prevalence in every period (PERIODS, K)."""
    rng = np.random.default_rng(seed)
    model = planted.topic_model(case.topics, case.words, concentration=case.alpha, spread=4.0, random_state=seed)
    period = rng.integers(PERIODS, size=case.documents)
    rates = np.outer(np.linspace(-0.5, 0.5, PERIODS), rng.standard_normal(case.topics))
    shares = model.prevalence * np.exp(rates)
    shares /= shares.sum(axis=1, keepdims=True)
    proportions = np.vstack([rng.dirichlet(case.alpha * case.topics * shares[p]) for p in period])
    lengths = 2 + rng.poisson(case.length - 2, case.documents)
    topics_of_words = np.array([rng.multinomial(n, p) for n, p in zip(lengths, proportions, strict=True)])
    return WordSampler(model.topics)(topics_of_words, rng), period, model.topics, shares


def coverage(case: Case, seed: int, options: Any) -> dict[str, Any]:
    """Shares of the intervals that hold the planted values."""
    counts, period, topics, planted_shares = planted_trend(case, seed)
    model = AnchorTopics(case.topics, refine=options.refine, random_state=seed).fit(counts)
    found = model.prevalence_over(counts, period, period=1, level=LEVEL)
    own, true = match_components(model.components_, topics)
    shares, n = planted_shares[:, true], found.n_documents
    others = (n @ shares - n[:, None] * shares) / (n.sum() - n)[:, None]
    about = np.arange(PERIODS) - n @ np.arange(PERIODS) / n.sum()
    rises = (PERIODS - 1) * (n * about) @ shares / (n @ about**2)
    held = holds(found.share, shares, own)
    folded = model.transform(counts)[:, own]
    groups = [folded[period == p] for p in range(PERIODS)]
    means, errors = (np.array([f(group) for group in groups]) for f in (mean, standard_error))
    return {
        "shares": held.mean(),
        "rare": held[shares < 0.03].mean() if (shares < 0.03).any() else None,
        "differences": holds(found.difference, shares - others, own).mean(),
        "changes": holds(found.change, rises, own).mean(),
        "means of transform": (np.abs(means - shares) <= 1.645 * errors).mean(),
        "width": (found.share.high - found.share.low).mean(),
        "error": np.abs(model.components_[own] - topics[true]).sum(axis=1).mean(),
    }


def holds(interval: Any, true: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Whether the intervals of matched topics, on the last axis, hold the true values."""
    return (interval.low[..., own] <= true) & (true <= interval.high[..., own])


def mean(rows: np.ndarray) -> np.ndarray:
    return rows.mean(axis=0)


def standard_error(rows: np.ndarray) -> np.ndarray:
    return rows.std(axis=0, ddof=1) / np.sqrt(len(rows))


def main() -> None:
    options = parsed(__doc__, seeds=20)
    warnings.simplefilter("ignore")
    table = []
    with threadpool_limits(1):
        for case in CASES[: 2 if options.quick else None]:
            rows = [coverage(case, seed, options) for seed in options.seeds]
            kept = {name: [row[name] for row in rows if row[name] is not None] for name in rows[0]}
            sizes = {field.name: getattr(case, field.name) for field in fields(Case)}
            table.append(sizes | {name: float(np.mean(some)) if some else None for name, some in kept.items()})
            print(".", end="", flush=True)
    print()
    facts = {}
    for name in ("shares", "differences", "changes"):
        values = [row[name] for row in table]
        inside = min(values) >= 0.85 and max(values) <= 0.95
        facts[f"90% intervals of {name}, 85% to 95%: least"] = verdict(min(values), inside)
        facts[f"90% intervals of {name}: mean"] = verdict(np.mean(values), 0.85 <= np.mean(values) <= 0.95)
    report("topics_prevalence" + options.suffix, table, **facts, seeds=options.seeds, refine=options.refine)


if __name__ == "__main__":
    main()
