"""Claim: topics have no seed, and another order of the data or 1% fewer documents move them less than Gibbs sampling's.

    python benchmarks/topics_without_seed.py [--quick] [--seeds 3] [--topics 10 20 50] [--corpora ap newsgroups]

All documents of Associated Press and the training documents of 20 Newsgroups, for refine=0 and as refined. Mean l1 distance
of topics, after matching and of a possible 2, to those of the fit of the data as they are: under another random_state; with
error bars measured; with documents or columns in another order; and with one document in a hundred left out. tomotopy (300
iterations, its defaults) beside it: under another seed, and under a fixed seed with the same documents left out. Medians
over seeds, which draw the orders and the documents.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _common import Timed, report, tomotopy_topics, verdict
from _topics import ALPHA, compile_topics, counts_of, kept, medians, newsgroups, parsed
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia.metrics import recovery_errors
from latentia.passes import row_groups
from latentia.topics import AnchorTopics

CORPORA = {
    "ap": ("Associated Press", lambda: counts_of("ap")),
    "newsgroups": ("20 Newsgroups", lambda: newsgroups().train),
}
SEED, BARS, DOCUMENTS, COLUMNS, DROPPED = (
    "another seed",
    "error bars measured",
    "documents in another order",
    "columns in another order",
    "1% of the documents left out",
)


def ours(counts: sparse.csr_array, k: int, refine: Any, seeds: list[int]) -> Iterator[tuple[str, float]]:
    """Changes, and how far each moves the topics."""

    def topics(table: sparse.csr_array, **options: Any) -> np.ndarray:
        return AnchorTopics(k, refine=refine, **{"n_splits": 0, **options}).fit(table).components_

    base = topics(counts)
    yield BARS, moved(topics(counts, n_splits=3), base)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield SEED, moved(topics(counts, random_state=seed), base)
        yield DOCUMENTS, moved(topics(counts[rng.permutation(counts.shape[0])]), base)
        columns = rng.permutation(counts.shape[1])
        yield COLUMNS, moved(topics(counts[:, columns]), base[:, columns])
        yield DROPPED, moved(topics(without_one_percent(counts, seed)), base)


def peers(
    counts: sparse.csr_array, k: int, gibbs: Callable[..., Timed], seeds: list[int]
) -> Iterator[tuple[str, float]]:
    """The same for Gibbs sampling, as far as it has a bar."""

    def topics(table: sparse.csr_array, seed: int) -> np.ndarray:
        return gibbs(table, k, 300, ALPHA, seed).value[0]

    base = topics(counts, seeds[0])
    yield SEED, moved(topics(counts, seeds[0] + 1), base)
    for seed in seeds:
        yield DROPPED, moved(topics(without_one_percent(counts, seed), seeds[0]), base)


def moved(topics: np.ndarray, base: np.ndarray) -> float:
    """Mean distance of the topics to those of the data as they are."""
    return float(recovery_errors(topics, base).mean())


def without_one_percent(counts: sparse.csr_array, seed: int) -> sparse.csr_array:
    """One document in a hundred left out, at random by seed."""
    return counts[row_groups(np.arange(counts.shape[0]), 100, seed) != 0]


def bars(table: list[dict[str, Any]]) -> dict[str, str]:
    """What the claim means in numbers, and whether it holds, for refined topics."""

    def worst(change: str, column: str = "refined") -> float:
        return max(row[column] for row in table if row["change"] == change)

    share = max(row["refined"] / row["tomotopy"] for row in table if row["change"] == DROPPED)
    values = {
        "another seed: the same topics": (worst(SEED), 1e-6),
        "error bars measured: the same topics": (worst(BARS), 1e-6),
        "another order of documents: <= .12": (worst(DOCUMENTS), 0.12),
        "another order of columns: <= .12": (worst(COLUMNS), 0.12),
        "1% left out: share of what moves tomotopy's < .5": (share, 0.5),
    }
    return {text: verdict(value, value <= most) for text, (value, most) in values.items()}


def main() -> None:
    corpora = {"nargs": "+", "choices": list(CORPORA), "default": list(CORPORA)}
    options = parsed(__doc__, topics=(10, 20, 50), corpora=corpora)
    warnings.simplefilter("ignore")
    gibbs, rows = kept(tomotopy_topics, options.keep), []
    with threadpool_limits(1):
        compile_topics()
        for corpus, read in (CORPORA[name] for name in options.corpora):
            for k in options.topics:
                counts = read()
                methods = {
                    "refine=0": ours(counts, k, 0, options.seeds),
                    "refined": ours(counts, k, options.refine, options.seeds),
                    "tomotopy": peers(counts, k, gibbs, options.seeds),
                }
                for method, changes in methods.items():
                    empty = dict.fromkeys(methods)
                    for change, l1 in changes:
                        rows.append({"corpus": corpus, "topics": k, "change": change, **empty, method: l1})
                    print(".", end="", flush=True)
    print()
    table = medians(rows, by=("corpus", "topics", "change"))
    report("topics_without_seed" + options.suffix, table, **bars(table), seeds=options.seeds, refine=options.refine)


if __name__ == "__main__":
    main()
