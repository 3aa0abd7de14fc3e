"""The experiments of section 4.3 of the thesis, redrawn.

    python benchmarks/thesis_section_4_3.py [--quick]

1. l1 error against corpus size, up to infinite data, for Recover (inverse), RecoverKL and RecoverL2 on a random
   projection, the default, the default with refine=3, and Gibbs sampling (fig. 4.2, 4.3); without and with artificial
   anchors (fig. 4.4); with correlated topics, rho = .05 and .1 (fig. 4.5).
2. Training time against corpus size (fig. 4.1).
3. Semi-synthetic corpora: documents drawn from a model that was fitted to a real corpus, the King James Bible.
4. On a real corpus, Associated Press or the Bible: held-out log-probability, coherence and unique words (fig. 4.6).

Pictures go to ``results/``. Corpora are smaller than in the thesis, and a method that would need more than its share of
the time is left out at large sizes and said so by its absence.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
from _common import DATA, RESULTS, report, timed, tomotopy_topics
from scipy import sparse
from threadpoolctl import threadpool_limits

from latentia import LatentiaError, metrics
from latentia.datasets import load_bible, planted, readers
from latentia.datasets.planted import TopicModelTruth
from latentia.moments import Cooccurrence
from latentia.papers.topics import recover, recover_kl
from latentia.passes import Blocks, row_groups
from latentia.topics import AnchorTopics

METHODS = {
    "Recover": {"embedding": "projection", "n_splits": 0},
    "RecoverKL": {"embedding": "projection", "n_splits": 0},
    "RecoverL2": {"embedding": "projection", "n_splits": 0},
    "default": {"n_splits": 0},
    "default, refine=3": {"n_splits": 0, "refine": 3},
}
PRINTED = {"Recover": recover, "RecoverKL": recover_kl}
"""These take the anchors of the fit, and recover topics by the algorithm as printed."""
SLOW = {"RecoverKL": 2000, "Gibbs": 10_000}
K, V, LENGTH = 40, 3000, 150


def truths(seed: int) -> dict[str, TopicModelTruth]:
    plain = {"n_topics": K, "n_words": V, "random_state": seed}
    normal = {**plain, "proportions": "logistic-normal"}
    return {
        "no artificial anchors": planted.topic_model(**plain),
        "artificial anchors": planted.topic_model(**plain, anchors=True),
        "rho = .05": planted.topic_model(**normal, correlation=0.05),
        "rho = .1": planted.topic_model(**normal, correlation=0.1),
    }


def semi_synthetic(seed: int) -> TopicModelTruth:
    """The parameters of a model fitted to the Bible, as the truth of new documents."""
    corpus = readers.count_words(load_bible(), min_df=5)
    model = AnchorTopics(20, refine=20, random_state=seed).fit(corpus.blocks)
    return TopicModelTruth(model.components_, model.prevalence_, dirichlet=0.03 * 20 * model.prevalence_)


def learn(name: str, counts, k: int) -> tuple[np.ndarray, float]:
    if name == "Gibbs":
        run = tomotopy_topics(counts, k, 200, 0.03)
        return run.value[0], run.cpu
    run = timed(lambda: topics_of_documents(name, counts, k))
    return run.value, run.cpu


def topics_of_documents(name: str, counts, k: int) -> np.ndarray:
    model = AnchorTopics(k, **METHODS[name]).fit(counts)
    if name not in PRINTED:
        return model.components_
    cooccurrence = Cooccurrence(Blocks.from_array(counts))
    q = np.maximum(cooccurrence.product(np.eye(cooccurrence.size)), 0)
    return printed_topics(name, q, model.anchors_)


def printed_topics(name: str, q: np.ndarray, anchors: np.ndarray, **options: float) -> np.ndarray:
    """Topics by an algorithm as printed, with negative entries set to zero."""
    topics = np.maximum(PRINTED[name](q, anchors, **options)[0], 0)
    return topics / topics.sum(axis=1, keepdims=True)


def errors_against_size(truth: TopicModelTruth, corpus_name: str, sizes: list[int], seed: int) -> list[dict]:
    rows = []
    k = len(truth.topics)
    for n in sizes:
        corpus = truth.sample(n, LENGTH, random_state=seed + n)
        for name in [*METHODS, "Gibbs"]:
            if n > SLOW.get(name, 10**9):
                continue
            try:
                topics, cpu = learn(name, corpus.counts, k)
            except LatentiaError as error:
                print(f"{corpus_name}, {n} documents, {name}: {error}")
                continue
            errors = metrics.recovery_errors(topics, truth.topics)
            rows.append(row(corpus_name, n, name, errors, cpu))
    exact = truth.cooccurrence()
    for name, options in METHODS.items():
        if "refine" in options:
            continue
        model = AnchorTopics(k, **options).fit_moments(exact, tol=1e-10)
        topics = model.components_
        if name in PRINTED:
            precision = {"tolerance": 1e-12} if name == "RecoverKL" else {}
            topics = printed_topics(name, exact, model.anchors_, **precision)
        errors = metrics.recovery_errors(topics, truth.topics)
        rows.append(row(corpus_name, "infinite", name, errors, None))
    uniform = np.full_like(truth.topics, 1 / truth.topics.shape[1])
    rows.append(row(corpus_name, "any", "uniform topics", np.abs(uniform - truth.topics).sum(axis=1), None))
    return rows


def row(corpus, n, name, errors, cpu):
    low, high = np.quantile(errors, [0.1, 0.9])
    return {
        "corpus": corpus,
        "documents": n,
        "method": name,
        "l1": errors.mean(),
        "q10": low,
        "q90": high,
        "cpu_s": cpu,
    }


def real_corpus(k: int) -> list[dict]:
    if (DATA / "ap").is_dir():
        with tempfile.TemporaryDirectory() as cache:
            table = sparse.csr_array(Blocks.from_files(DATA / "ap" / "docword.txt.gz", cache=cache).table()).copy()
        title = "Associated Press"
    else:
        table, title = sparse.csr_array(readers.count_words(load_bible(), min_df=3).counts), "King James Bible"
    held = row_groups(np.arange(table.shape[0]), 10, 0) == 0
    train, test = table[~held], table[held]
    base = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    rows = []
    for name in [*METHODS, "Gibbs"]:
        topics, cpu = learn(name, train, k)
        smooth = 0.95 * topics + 0.05 * (0.999 * base + 0.001 / len(base))
        alpha = np.full(k, 0.1)
        rows.append(
            {
                "corpus": title, "method": name,
                "log_probability": metrics.completion_log_likelihood(smooth, alpha, test),
                "umass": metrics.umass_coherence(topics, train).mean(),
                "unique": metrics.unique_words(topics).mean(), "cpu_s": cpu,
            }
        )  # fmt: skip
    return rows


def draw(rows: list[dict], real: list[dict], folder: Path) -> None:
    """Three pictures: errors, times, and the metrics of the real corpus."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [*METHODS, "Gibbs"]
    colours = dict(zip(names, plt.get_cmap("tab10").colors, strict=False))
    corpora = list(dict.fromkeys(r["corpus"] for r in rows))
    figure, axes = plt.subplots(1, len(corpora), figsize=(3.4 * len(corpora), 3.6), sharey=True)
    for axis, corpus in zip(np.atleast_1d(axes), corpora, strict=True):
        mine = [r for r in rows if r["corpus"] == corpus]
        sizes = sorted({r["documents"] for r in mine if isinstance(r["documents"], int)})
        infinite = sizes[-1] * 4
        for name in names:
            line = [r for r in mine if r["method"] == name]
            x = [infinite if r["documents"] == "infinite" else r["documents"] for r in line]
            finite = [i for i, r in enumerate(line) if r["documents"] != "infinite"]
            axis.plot(
                [x[i] for i in finite], [line[i]["l1"] for i in finite], "o-", ms=3, label=name, color=colours[name]
            )
            for i in set(range(len(line))) - set(finite):
                axis.plot(x[i], line[i]["l1"], "D", ms=5, color=colours[name])
        axis.axhline(next(r["l1"] for r in mine if r["method"] == "uniform topics"), color="grey", lw=0.8, ls=":")
        axis.set(xscale="log", title=corpus, xlabel="documents")
        axis.set_xticks([*sizes, infinite], [*(f"{n / 1000:g}k" for n in sizes), "\N{INFINITY}"])
        axis.set_xticks([], minor=True)
    axes[0].set_ylabel("mean l1 error of a topic")
    axes[-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder / "thesis_4_3_errors.png", dpi=130)
    figure, axis = plt.subplots(figsize=(4.4, 3.4))
    for name in names:
        line = [r for r in rows if r["corpus"] == corpora[0] and r["method"] == name and r["cpu_s"]]
        axis.plot(
            [r["documents"] for r in line], [r["cpu_s"] for r in line], "o-", ms=3, label=name, color=colours[name]
        )
    axis.set(xscale="log", yscale="log", xlabel="documents", ylabel="CPU seconds")
    axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(folder / "thesis_4_3_time.png", dpi=130)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3))
    labels = {
        "log_probability": "held-out log-probability",
        "umass": "coherence (UMass)",
        "unique": "unique words of 10",
    }
    for axis, (key, label) in zip(axes, labels.items(), strict=True):
        values = [r[key] for r in real]
        axis.barh([r["method"] for r in real], values, color=[colours[r["method"]] for r in real])
        axis.set_xlim(
            min(0, min(values)) if key == "unique" else min(values) * 1.03,
            None if key == "unique" else max(values) * 0.97,
        )
        axis.set_title(label, fontsize=9)
        axis.invert_yaxis()
    figure.tight_layout()
    figure.savefig(folder / "thesis_4_3_real.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="corpora of at most 2,000 documents")
    parser.add_argument("--draw", action="store_true", help="draw the results of the last run again")
    options = parser.parse_args()
    if options.draw:
        saved = [json.loads((RESULTS / f"thesis_section_4_3{part}.json").read_text()) for part in ("", "_real")]
        draw(saved[0]["rows"], saved[1]["rows"], RESULTS)
        return
    warnings.simplefilter("ignore")
    sizes = [500, 2000] if options.quick else [500, 2000, 10_000, 40_000]
    rows = []
    with threadpool_limits(1):
        AnchorTopics(3, refine=1).fit(planted.topic_corpus(200, n_topics=3, n_words=200).counts)  # compile
        for name, truth in truths(11).items():
            rows += errors_against_size(truth, name, sizes, seed=200)
            print(name, flush=True)
        rows += errors_against_size(semi_synthetic(0), "semi-synthetic (Bible)", sizes, seed=300)
        real = real_corpus(20 if options.quick else 50)
    name = "thesis_section_4_3" + ("_quick" if options.quick else "")
    report(name, rows)
    report(name + "_real", real)
    draw(rows, real, RESULTS)


if __name__ == "__main__":
    main()
