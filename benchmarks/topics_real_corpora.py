"""Claim: on real corpora refined topics predict better than those of Gibbs sampling, and variational Bayes worse.

    python benchmarks/topics_real_corpora.py [--topics 50]

One seed of `topics_against_gibbs.py`, beside more methods: the word frequencies, the thesis pipeline, and variational Bayes
of gensim and scikit-learn. Associated Press (one document in five held out) and 20 Newsgroups (its own test documents; stop
words, words of fewer than three letters, in fewer than 5 or more than 30% of the documents left out). All predict with
topics mixed with 5% of the word frequencies and with their own Dirichlet parameters. Coherence and unique words of the 10
most probable words. CPU seconds of all threads, one BLAS thread; tomotopy is timed for training alone.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from _common import gensim_topics, report, sklearn_topics, timed, tomotopy_topics
from _topics import ALPHA, Split, associated_press, compile_topics, measure, newsgroups
from threadpoolctl import threadpool_limits

from latentia.topics import AnchorTopics

FITS = {
    "projection (thesis)": {"embedding": "projection", "n_splits": 0, "refine": 0},
    "refine=0": {"refine": 0},
    "refined, no error bars": {"refine": "auto", "n_splits": 0},
    "refined": {"refine": "auto"},
}


def compare(split: Split, k: int, iterations: int) -> list[dict[str, Any]]:
    """Measures of every method, beside those of Gibbs sampling."""
    counts, rows = split.train, []

    def add(name: str, topics: np.ndarray, alpha: np.ndarray, cpu: float, **more: Any) -> None:
        rows.append(measure(split.name, name, topics, alpha, cpu, counts, split.test, **more))

    base = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    add("word frequencies", base[None, :], np.ones(1), 0.0)
    for name, options in FITS.items():
        run = timed(lambda o=options: AnchorTopics(k, **o).fit(counts))
        errors = run.value.evidence_.component_errors
        expected = None if errors is None else errors.mean()
        add(name, run.value.components_, run.value.dirichlet_, run.cpu, expected_error=expected)
    gibbs = tomotopy_topics(counts, k, iterations, ALPHA)
    peers = {
        f"tomotopy, {iterations} iterations": gibbs,
        "gensim, 2 passes": gensim_topics(counts, k),
        "scikit-learn online, 10 passes": sklearn_topics(counts, k),
    }
    for name, run in peers.items():
        add(name, *run.value, run.cpu)
    best = next(row["perplexity"] for row in rows if row["method"].startswith("tomotopy"))
    for row in rows:
        row["perplexity_ratio"] = row["perplexity"] / best
        row["cpu_share"] = row["cpu_s"] / gibbs.cpu
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        compile_topics()
        rows = [
            row
            for split in (associated_press(), newsgroups())
            for row in compare(split, options.topics, options.iterations)
        ]
    report("topics_real_corpora", rows, topics=options.topics)


if __name__ == "__main__":
    main()
