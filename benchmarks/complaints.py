"""Claim: of nineteen things that users of other libraries report or ask for, eighteen are answered here.

    python benchmarks/complaints.py [--only 1 2 ...]

Each row is a thread of another project, with its complaint planted again on small data: what latentia gives, and what the
project that was asked gives on the same data in the same run, or "no such thing" where it has none. ``distance`` is the mean l1
distance of a topic to the nearest one of the other fit (0 is the same, 2 the most), ``nmi`` the agreement of two partitions (1
is the same). The table stands in docs/complaints.md.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from _common import report, tomotopy_topics
from _communities import as_igraph
from hmm_bad_optima import WORLDS, height, peer
from scipy import sparse
from sklearn.decomposition import FastICA, LatentDirichletAllocation
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import latentia
from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import load_bible, planted
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.metrics import nearest_distances
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments import count_pairs
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics
from latentia.words import WordVectorizer

NONE = "no such thing"
Answer = tuple[str, str]
CASES: list[tuple[str, str, Callable[[], Answer]]] = []


def case(threads: str, complaint: str) -> Callable[[Callable[[], Answer]], Callable[[], Answer]]:
    """Enter a thread, and what is complained of, with the function that tries it."""

    def entered(task: Callable[[], Answer]) -> Callable[[], Answer]:
        CASES.append((threads, complaint, task))
        return task

    return entered


@cache
def chapters() -> sparse.csr_array:
    return sparse.csr_array(WordVectorizer().fit_transform(load_bible().texts), dtype=float)


def apart(one: Any, other: Any) -> str:
    return f"distance {nearest_distances(np.asarray(one), np.asarray(other)).mean():.2g}"


@case("BERTopic 1817, 461, 987, 306", "other topics on each run")
def other_seeds() -> Answer:
    ours = [AnchorTopics(10, n_splits=0, random_state=seed).fit(chapters()).components_ for seed in (1, 2)]
    return apart(*ours), "tomotopy: " + apart(
        *(tomotopy_topics(chapters(), 10, 300, 0.1, seed).value[0] for seed in (1, 2))
    )


@case("gensim 3218, 113", "several workers, and the seed no longer holds")
def workers() -> Answer:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    ours = [AnchorTopics(10, n_splits=0, n_jobs=n).fit(chapters()).components_ for n in (1, 2)]
    words = dict(enumerate(map(str, range(chapters().shape[1]))))
    fits = (
        LdaMulticore(Sparse2Corpus(chapters(), False), 10, words, workers=2, passes=2, chunksize=100, random_state=1)
        for _ in range(2)
    )
    theirs = [model.get_topics() for model in fits]
    return ("same bits" if np.array_equal(*ours) else apart(*ours)), "LdaMulticore: " + apart(*theirs)


@case("BERTopic 423, 485, 1485, 2026", "a third of the documents in no topic, one topic a document")
def no_pile() -> Answer:
    shares = AnchorTopics(10, n_splits=0).fit(chapters()).transform(chapters())
    several = (np.sort(shares, axis=1)[:, -2] > 0.2).mean()
    return f"{(shares.max(axis=1) == 0).mean():.0%} in none; {several:.0%} have a second topic above 20%", NONE


@case("BERTopic 419, 735; cNMF 27", "how many topics?")
def how_many() -> Answer:
    corpus = planted.topic_corpus(4000, n_topics=12, n_words=1500, length=100, random_state=3)
    model = AnchorTopics("auto").fit(corpus.counts)
    return (
        f"{len(model.components_)} of 12 planted, with a curve of the error",
        "merging those that are alike, coherence, or a plot to read",
    )


@case("BERTopic 655, 771; Top2Vec 263", "new documents every day, without fitting all again")
def new_rows() -> Answer:
    counts = planted.topic_corpus(4000, n_topics=8, n_words=800, random_state=4).counts
    model = AnchorTopics(8, embedding="projection", keep_moments=True)
    whole = model.fit(counts).components_
    added = AnchorTopics(8, embedding="projection")
    for start in range(0, 4000, 1000):
        added.partial_fit(counts[start : start + 1000])
    lda = LatentDirichletAllocation(8, random_state=0, total_samples=4000)
    online = [lda.partial_fit(counts[start : start + 1000]).components_ for start in range(0, 4000, 1000)][-1]
    again = LatentDirichletAllocation(8, random_state=0).fit(counts).components_
    theirs = (table / table.sum(axis=1, keepdims=True) for table in (online, again))
    return f"partial_fit beside fit on all: {apart(added.components_, whole)}", "scikit-learn's LDA: " + apart(*theirs)


@case("BERTopic 1876, 2222", "models of several parts merged into one")
def sites() -> Answer:
    rows = planted.independent_sources(20_000, 4, random_state=1).X
    models = [TensorICA(keep_moments=True).fit(part) for part in np.array_split(rows, 4)]
    one, all_rows = latentia.merge(models), TensorICA(keep_moments=True).fit(rows)
    return f"merged beside one fit: {np.abs(one.components_ - all_rows.components_).max():.1g}", NONE


@case("no thread: the right to be forgotten", "a model without the rows of a person")
def forgotten() -> Answer:
    pairs = planted.word_pairs(20_000, n_words=60, random_state=0).pairs
    theirs, others = (count_pairs(some, 60) for some in (pairs[:500], pairs[500:]))
    model = ProbabilityMatrix(3, keep_moments=True).fit(theirs + others)
    receipt, never = model.forget(theirs), ProbabilityMatrix(3, keep_moments=True).fit(others)
    same = np.array_equal(model.embedding_, never.embedding_)
    return f"{receipt.n_rows} pairs gone; {'the bits of a model that never saw them' if same else 'differs'}", NONE


@case("scikit-learn 15647", "sample_weight for Gaussian mixtures")
def weights() -> Answer:
    rows = planted.gaussian_mixture(2000, n_components=4, n_features=5, random_state=1).X
    times = np.random.default_rng(0).integers(0, 4, len(rows))
    one = SphericalGaussianMixture(4).fit(rows, sample_weight=times)
    other = SphericalGaussianMixture(4).fit(np.repeat(rows, times, axis=0))
    return "same bits as repeated rows" if np.array_equal(one.means_, other.means_) else "differs", NONE


def optimum(name: str) -> Answer:
    """In the best optimum of EM, of three draws: one fit, and a single start of hmmlearn's; `hmm_bad_optima` has more."""
    found = np.zeros(2, int)
    for seed in range(3):
        world = WORLDS[name](np.random.default_rng([seed, 41]))
        best = height(world, peer(world, 0, truth=True))
        n_symbols = None if not world.symbols else world.emissions.shape[1]
        model = SpectralHMM(len(world.moves), n_symbols=n_symbols, n_splits=0).fit(world.steps, world.lengths)
        found += np.array([height(world, model), height(world, peer(world, 0))]) > best - 2
    return f"{found[0]} of 3", f"hmmlearn, one start: {found[1]} of 3"


case("hmmlearn 162", "half of the fits are very wrong (answers right and wrong)")(lambda: optimum("tracing"))
case("hmmlearn 86, 46, 120", "how to find the best optimum? (two alphabets)")(lambda: optimum("two alphabets"))
case("hmmlearn 458", "1,000 random starts miss the maximum (the casino)")(lambda: optimum("casino"))


@case("hmmlearn 327", "steps that are missing")
def gaps() -> Answer:
    from hmmlearn.hmm import GaussianHMM

    chain = planted.gaussian_chain(20_000, n_states=3, n_features=4, random_state=2)
    rows = chain.X.copy()
    rows[np.random.default_rng(0).random(len(rows)) < 0.2] = np.nan
    model = SpectralHMM(3, kind="vectors").fit(rows)
    order = np.abs(model.means_[:, None] - chain.means).sum(axis=2).argmin(axis=0)
    try:
        theirs = f"hmmlearn: {GaussianHMM(3).fit(rows).score(rows):.3g}"
    except ValueError as error:
        theirs = f"hmmlearn: {str(error).splitlines()[0]}"
    return f"a fifth missing: means within {np.abs(model.means_[order] - chain.means).max():.2g}", theirs


@case("leidenalg 106", "another partition on each run")
def partitions() -> Answer:
    import leidenalg

    graph = planted.mixed_membership_graph(2000, 5, alpha0=0, degree=12, snr=1.6, random_state=1)
    edges = graph.adjacency.astype(float)
    ours = [MixedMembershipBlockModel(5, random_state=seed).fit(edges).memberships_.argmax(axis=1) for seed in (1, 2)]
    network = as_igraph(edges)
    theirs = [leidenalg.find_partition(network, leidenalg.ModularityVertexPartition, seed=seed) for seed in (1, 2)]
    apart_ = normalized_mutual_info_score(*(one.membership for one in theirs))
    return f"nmi {normalized_mutual_info_score(*ours):.2f}", f"Leiden: nmi {apart_:.2f}"


@case("tedana 629, 1013", "other components with another seed")
def unstable() -> Answer:
    rng = np.random.default_rng(0)
    rows = planted.independent_sources(2000, 8, random_state=5).X + 0.3 * rng.standard_normal((2000, 8))

    def angles(one: np.ndarray, other: np.ndarray) -> str:
        unit = [table / np.linalg.norm(table, axis=1, keepdims=True) for table in (one, other)]
        return f"worst correlation {np.abs(unit[0] @ unit[1].T).max(axis=1).min():.2f}"

    ours = [TensorICA(random_state=seed).fit(rows).components_ for seed in (1, 2)]
    theirs = [FastICA(random_state=seed).fit(rows).components_ for seed in (1, 2)]
    return angles(*ours), "FastICA: " + angles(*theirs)


@case("pgmpy 1386", "noisy-or networks whose strengths are learned")
def causes() -> Answer:
    network = planted.noisy_or_network(48, 6, random_state=1)
    model = NoisyOr(6).fit(network.sample(10_000).X)
    strengths = 1 - np.exp(-network.weights)
    error = nearest_distances(strengths, model.strengths_) / strengths.sum(axis=1)
    return f"6 causes, relative error of their strengths {error.mean():.2g}", "not run"


@case("gensim 1038; tomotopy 142; BERTopic 360", "what drives the topics, with intervals that hold")
def effects() -> Answer:
    import pandas as pd

    inside, n = 0, 20
    for seed in range(n):
        rng = np.random.default_rng(seed)
        truth = planted.topic_model(4, 400, random_state=seed)
        party = rng.integers(0, 2, 800)
        shares = np.array([rng.dirichlet([0.5 + 0.8 * p, 0.5, 0.5, 0.5]) for p in party])
        counts = sparse.csr_array(np.array([rng.multinomial(60, share @ truth.topics) for share in shares], float))
        model = AnchorTopics(4).fit(counts)
        table = model.effects(counts, "~ party", pd.DataFrame({"party": party})).to_frame()
        topic = int(nearest(truth.topics[0], model.components_))
        row = table[(table["term"] == "party") & (table["component"] == topic)].iloc[0]
        true = shares[party == 1, 0].mean() - shares[party == 0, 0].mean()
        inside += bool(row["low"] <= true <= row["high"])
    return f"intervals of 90% hold the truth in {inside} of {n}", NONE


def nearest(topic: np.ndarray, topics: np.ndarray) -> int:
    return int(np.abs(topics - topic).sum(axis=1).argmin())


@case("stm 237; BERTopic 1790", "a million documents on a laptop")
def large() -> Answer:
    import resource

    corpus = planted.topic_corpus(50_000, n_topics=10, n_words=3000, length=60, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        from latentia.passes import write_cache

        write_cache(Path(folder) / "c", ((corpus.counts[i : i + 5000],) for i in range(0, 50_000, 5000)))
        del corpus
        model = AnchorTopics(10, refine=0, n_splits=0).fit(Blocks.from_files(Path(folder) / "c"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return f"50,000 from a file in {model.n_passes_} passes ({peak:.1f} GB, all of this run)", NONE


@case("scikit-learn 8447, 25229", "nonnegative factors of tables with empty cells")
def empty_cells() -> Answer:
    from latentia.nmf import SeparableNMF

    data = planted.separable_rows(2000, n_components=4, n_features=30, noise=0.01, random_state=1)
    rows = data.X.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    model = SeparableNMF(4).fit(rows)
    error = nearest_distances(data.components, model.components_).mean() / data.components.sum(axis=1).mean()
    return f"a fifth empty: materials within {error:.1%}", "scikit-learn: Input X contains NaN."


@case("hmmlearn 211", "more states than columns allow (12 groups of one column)")
def too_many() -> Answer:
    states = np.arange(3600) % 12
    rows = 100.0 * states[:, None] + np.random.default_rng(0).standard_normal((3600, 1))
    try:
        model = SpectralHMM(12, kind="vectors").fit(rows)
    except latentia.LatentiaError as error:
        return f"NOT answered: {str(error).split('. ')[0]}.", "hmmlearn: some of its starts find them"
    return f"{len(model.means_)} states", "hmmlearn: some of its starts find them"


def answered(chosen: list[int]) -> Iterator[dict[str, Any]]:
    for number in chosen:
        threads, complaint, task = CASES[number - 1]
        ours, theirs = task()
        print(f"{number:2d} {threads} | {complaint} | {ours} | {theirs}", flush=True)
        yield {"number": number, "threads": threads, "complaint": complaint, "latentia": ours, "asked of": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="+", default=list(range(1, len(CASES) + 1)))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        rows = list(answered(options.only))
    report("complaints" if len(rows) == len(CASES) else "complaints_quick", rows)


if __name__ == "__main__":
    main()
