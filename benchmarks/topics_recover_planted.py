"""Claim: topics of planted corpora are recovered far better than by the thesis pipeline and by Gibbs sampling, in less time.

    python benchmarks/topics_recover_planted.py [--quick] [--seeds 3]

Corpora of `latentia.datasets.planted`: base measure 1 / (v + 30), topics .98 Dirichlet(.04 V b) + .02 b, proportions
Dirichlet(.03), 300 words a document. Error: mean l1 distance of topics after matching. CPU seconds of all threads, with
one BLAS thread; medians over fresh seeds; peers in the same process. ``projection`` is the thesis pipeline; its row is
the better of the default anchor threshold and of all words that occur 3 times.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from _common import gensim_topics, report, sklearn_topics, timed, tomotopy_topics
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.topics import AnchorTopics


def fit(counts, k, **options):
    run = timed(lambda: AnchorTopics(k, **options).fit(counts))
    return run.value.components_, run.cpu


def thesis(counts, k):
    fits = [fit(counts, k, embedding="projection", n_splits=0, min_df=df) for df in (None, 3)]
    return fits


def large(n: int, seeds: list[int]) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in seeds:
        corpus = planted.topic_corpus(n, n_topics=100, n_words=15_000, random_state=seed)
        runs = {
            "default": fit(corpus.counts, 100),
            "default, no error bars": fit(corpus.counts, 100, n_splits=0),
            "refine=3": fit(corpus.counts, 100, refine=3, n_splits=1),
            "refine=0": fit(corpus.counts, 100, refine=0),
            "refine=0, no error bars": fit(corpus.counts, 100, refine=0, n_splits=0),
        }
        projections = thesis(corpus.counts, 100)
        runs["projection (thesis)"] = min(projections, key=lambda r: recovery_errors(r[0], corpus.topics).mean())
        runs["projection, min_df=3"] = projections[1]
        for name, (topics, cpu) in runs.items():
            errors = recovery_errors(topics, corpus.topics)
            rows.setdefault(name, []).append((errors.mean(), errors.max(), cpu))
    return table(n, 15_000, 100, rows)


def small(seeds: list[int], peers: bool) -> list[dict]:
    rows: dict[str, list] = {}
    for seed in seeds:
        corpus = planted.topic_corpus(3000, n_topics=50, n_words=5000, random_state=seed)
        runs = {
            "default": fit(corpus.counts, 50),
            "refine=3": fit(corpus.counts, 50, refine=3),
            "refine=3, no error bars": fit(corpus.counts, 50, refine=3, n_splits=0),
        }
        if peers:
            for name, run in {
                "tomotopy, 200 iterations": tomotopy_topics(corpus.counts, 50, 200, 0.03),
                "gensim, 2 passes": gensim_topics(corpus.counts, 50),
                "scikit-learn online, 10 passes": sklearn_topics(corpus.counts, 50),
            }.items():
                runs[name] = (run.value[0], run.cpu)
        for name, (topics, cpu) in runs.items():
            errors = recovery_errors(topics, corpus.topics)
            rows.setdefault(name, []).append((errors.mean(), errors.max(), cpu))
    return table(3000, 5000, 50, rows)


def table(n: int, v: int, k: int, rows: dict[str, list]) -> list[dict]:
    out = []
    for name, runs in rows.items():
        mean, worst, cpu = np.median(runs, axis=0)
        out.append({"documents": n, "words": v, "topics": k, "method": name, "l1": mean, "worst": worst, "cpu_s": cpu})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small corpus alone")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    seeds = list(range(100, 100 + options.seeds))
    warnings.simplefilter("ignore")
    fit(planted.topic_corpus(200, n_topics=3, n_words=200).counts, 3, refine=1)  # compile
    with threadpool_limits(1):
        rows = small(seeds, peers=True)
        if not options.quick:
            rows += large(10_000, seeds) + large(50_000, seeds[:1])
    report("topics_recover_planted" + ("_quick" if options.quick else ""), rows)


if __name__ == "__main__":
    main()
