"""Claim: the strongest topics of documents cluster them better than NMF of tf-idf weights and Gibbs sampling do.

    python benchmarks/topics_clusters.py [--quick] [--seeds 3] [--topics 6 10 20 50]

Nine in ten, by seed, of the training documents of 20 Newsgroups, whose groups are merged to six subjects (computers,
recreation, science, politics, religion with atheism, things for sale). Normalised mutual information of the subjects and
the strongest topic of every document: `AnchorTopics` without error bars; scikit-learn's NMF of tf-idf weights, by its
strongest component; tomotopy (300 iterations, its defaults), each of three seeds, and the best of them in hindsight with
the seconds of one. Accuracy gives each cluster the subject that most of its documents have. CPU seconds of all threads, one
BLAS thread. Medians over seeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common import Timed, report, timed, tomotopy_proportions, verdict
from _topics import ALPHA, compile_topics, kept, medians, newsgroups_subjects, parsed
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from latentia.metrics import many_to_one_accuracy
from latentia.topics import AnchorTopics

STARTS = 3
NMF_NAME, GIBBS, BEST = "NMF of tf-idf", "tomotopy", f"tomotopy, best of {STARTS} seeds"


def clusterings(
    counts: sparse.csr_array, k: int, seed: int, gibbs: Callable[..., Timed], refine: Any
) -> Iterator[tuple[str, Timed]]:
    """Strengths of topics in documents, shape (n, K), by method."""

    def strengths(steps: Any) -> np.ndarray:
        return AnchorTopics(k, refine=steps, n_splits=0, random_state=seed).fit(counts).transform(counts)

    def factors() -> np.ndarray:
        return NMF(k, random_state=seed).fit_transform(TfidfTransformer().fit_transform(counts))

    yield "refine=0", timed(lambda: strengths(0))
    yield "refined", timed(lambda: strengths(refine))
    yield NMF_NAME, timed(factors)
    for start in range(STARTS):
        yield GIBBS, gibbs(counts, k, 300, ALPHA, STARTS * seed + start)


def compare(k: int, seed: int, gibbs: Callable[..., Timed], refine: Any) -> list[dict[str, Any]]:
    """Agreement of every clustering with the subjects, and the best of Gibbs sampling."""
    (counts, subjects), rows = newsgroups_subjects(seed), []
    for name, run in clusterings(counts, k, seed, gibbs, refine):
        labels = run.value.argmax(axis=1)
        nmi = normalized_mutual_info_score(subjects, labels)
        row = {"topics": k, "method": name, "nmi": nmi, "accuracy": many_to_one_accuracy(labels, subjects)}
        rows.append(row | {"used": len(np.unique(labels)), "cpu_s": run.cpu})
    best = max(rows[-STARTS:], key=lambda row: row["nmi"])
    return [*rows, best | {"method": BEST}]


def bars(table: list[dict[str, Any]]) -> dict[str, str]:
    """By how much the NMI is above that of the better peer, for every number of topics."""
    nmi = {(row["topics"], row["method"]): row["nmi"] for row in table}
    facts = {}
    for k in dict.fromkeys(row["topics"] for row in table):
        for peer in (NMF_NAME, BEST):
            gain = nmi[k, "refined"] - nmi[k, peer]
            facts[f"{k} topics: NMI above {peer}"] = verdict(gain, gain >= 0)
    return facts


def main() -> None:
    options = parsed(__doc__, topics=(6, 10, 20, 50))
    warnings.simplefilter("ignore")
    gibbs, rows = kept(tomotopy_proportions, options.keep), []
    with threadpool_limits(1):
        compile_topics()
        for k in options.topics:
            for seed in options.seeds:
                rows += compare(k, seed, gibbs, options.refine)
                print(".", end="", flush=True)
    print()
    table = medians(rows, by=("topics", "method"))
    report("topics_clusters" + options.suffix, table, **bars(table), seeds=options.seeds, refine=options.refine)


if __name__ == "__main__":
    main()
