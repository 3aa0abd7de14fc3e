"""Claim: on real corpora, document-completion perplexity near that of Gibbs sampling in a fraction of its time.

    python benchmarks/topics_real_corpora.py [--refine 20] [--topics 50]

Corpora: Associated Press (one document in five held out) and 20 Newsgroups (its own test set; stop words, words of fewer
than three letters, in fewer than 5 or more than 30% of the documents left out). Both sides predict with topics mixed with
5% of the word frequencies and with their own Dirichlet parameters. Coherence and unique words of the 10 most probable
words. CPU seconds of all threads, one BLAS thread; tomotopy is timed for training alone.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings

import numpy as np
from _common import DATA, gensim_topics, report, sklearn_topics, timed, tomotopy_topics
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from threadpoolctl import threadpool_limits

from latentia import metrics
from latentia.passes import Blocks, row_groups
from latentia.topics import AnchorTopics


def associated_press(cache):
    blocks = Blocks.from_files(DATA / "ap" / "docword.txt.gz", cache=cache)
    held = row_groups(np.arange(blocks.n_rows), 5, 0) == 0
    table = sparse.csr_array(blocks.table())
    return table[~held], table[held]


def newsgroups(cache):
    train, test = (
        Blocks.from_files(DATA / "newsgroups20" / f"docword-{part}.txt.gz", cache=cache) for part in ("train", "test")
    )
    table = sparse.csr_array(train.table())
    frequency = np.bincount(table.indices, minlength=table.shape[1])
    keep = (frequency >= 5) & (frequency <= 0.3 * table.shape[0])
    words = (DATA / "newsgroups20" / "vocab.txt").read_text().split("\n")[: table.shape[1]]
    keep &= np.array([len(word) > 2 and word not in ENGLISH_STOP_WORDS for word in words])
    return table[:, keep], sparse.csr_array(test.table())[:, keep]


def measure(corpus, name, topics, alpha, cpu, train, test, **more):
    base = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    smooth = 0.95 * topics + 0.05 * (0.999 * base + 0.001 / len(base))
    return {
        "corpus": corpus,
        "method": name,
        "perplexity": metrics.completion_perplexity(smooth, alpha, test),
        "npmi": metrics.npmi_coherence(topics, train).mean(),
        "umass": metrics.umass_coherence(topics, train).mean(),
        "unique": metrics.unique_words(topics).mean(),
        "cpu_s": cpu,
        **more,
    }


def compare(corpus, train, test, k, refine, iterations):
    rows = []
    base = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    rows.append(measure(corpus, "word frequencies", base[None, :], np.ones(1), 0.0, train, test))
    for name, options in {
        "projection (thesis)": {"embedding": "projection", "n_splits": 0},
        "default": {},
        f"refine={refine}": {"refine": refine, "n_splits": 0},
        f"refine={refine}, error bars": {"refine": refine, "n_splits": 1},
    }.items():
        run = timed(lambda o=options: AnchorTopics(k, **o).fit(train))
        model = run.value
        errors = model.evidence_.component_errors
        more = {"expected_error": None if errors is None else errors.mean()}
        rows.append(measure(corpus, name, model.components_, model.dirichlet_, run.cpu, train, test, **more))
    gibbs = tomotopy_topics(train, k, iterations, 0.1)
    rows.append(measure(corpus, f"tomotopy, {iterations} iterations", *gibbs.value, gibbs.cpu, train, test))
    variational = gensim_topics(train, k)
    rows.append(measure(corpus, "gensim, 2 passes", *variational.value, variational.cpu, train, test))
    online = sklearn_topics(train, k)
    rows.append(measure(corpus, "scikit-learn online, 10 passes", *online.value, online.cpu, train, test))
    for row in rows:
        row["perplexity_ratio"] = row["perplexity"] / rows[5]["perplexity"]
        row["cpu_ratio"] = gibbs.cpu / row["cpu_s"] if row["cpu_s"] else None
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--refine", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as cache, threadpool_limits(1):
        for name, read in (("Associated Press", associated_press), ("20 Newsgroups", newsgroups)):
            train, test = read(cache)
            AnchorTopics(5, refine=1).fit(train[:200])  # compile
            rows += compare(name, train, test, options.topics, options.refine, options.iterations)
    report("topics_real_corpora", rows, topics=options.topics)


if __name__ == "__main__":
    main()
