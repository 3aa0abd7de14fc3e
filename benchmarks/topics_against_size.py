"""Claim: at every size of corpus the default is nearer to the truth than RecoverL2, and than Gibbs sampling at equal CPU.

    python benchmarks/topics_against_size.py [--quick] [--sizes 2000 20000 100000 300000 2000000] [--folder DIR]

Section 4.3 of the thesis at its size: 100 topics of 15,000 words, 30% of which all topics share, and documents of 80 words with
Dirichlet parameters of .03, written block by block to the binary cache. RecoverL2 and RecoverKL (up to 20,000 documents) on a
random projection, the default without error bars, and tomotopy from its own start, for as many sweeps as take the CPU seconds
of the default; its reading of documents is not counted. Every method runs in a process of its own on one thread; memory is
anonymous. A figure goes to ``results/``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, report, verdict
from threadpoolctl import threadpool_limits
from topics_at_scale import Peak, anonymous_mb

from latentia.datasets import planted
from latentia.datasets.planted import TopicModelTruth
from latentia.metrics import recovery_errors
from latentia.moments import Cooccurrence
from latentia.papers.topics import kl_weights, topics_from_weights
from latentia.passes import Blocks, write_cache
from latentia.topics import AnchorTopics

K, V, SHARED, LENGTH, SLOW = 100, 15_000, 0.3, 80, 20_000
METHODS: dict[str, dict[str, Any]] = {
    "RecoverKL": {"embedding": "projection", "n_splits": 0},
    "RecoverL2": {"embedding": "projection", "n_splits": 0},
    "default": {"n_splits": 0},
}


def truth() -> TopicModelTruth:
    model = planted.topic_model(K, V, random_state=77)
    background = np.random.default_rng(79).dirichlet(np.full(V, 0.5))
    return replace(model, topics=(1 - SHARED) * model.topics + SHARED * background)


def kl_topics(blocks: Blocks, anchors: np.ndarray) -> np.ndarray:
    """Topics by RecoverKL, on rows of Q whose columns are merged at random into 512."""
    cooccurrence = Cooccurrence(blocks)
    merged = np.zeros((V, 512))
    merged[np.arange(V), np.random.default_rng(0).permutation(V) % 512] = 1.0
    word_probabilities = cooccurrence.marginal()
    rows = np.maximum(cooccurrence.product(merged), 0.0) / np.maximum(word_probabilities, 1e-300)[:, None]
    return topics_from_weights(kl_weights(rows, rows[anchors]), word_probabilities)


def gibbs(blocks: Blocks, seconds: float) -> tuple[np.ndarray, int]:
    """Topics of tomotopy after so many CPU seconds of training, and the sweeps."""
    import tomotopy

    names, model = np.array([str(word) for word in range(V)], dtype=object), tomotopy.LDAModel(k=K, alpha=0.03)
    for (table,) in blocks:
        for start, end in zip(table.indptr, table.indptr[1:], strict=False):
            words = np.repeat(names[table.indices[start:end]], table.data[start:end].astype(int))
            if len(words):
                model.add_doc(words.tolist())
    model.burn_in, began, n = 0, time.process_time(), 0
    while time.process_time() - began < seconds:
        model.train(1, workers=1)
        n += 1
    topics, words = np.zeros((K, V)), np.array([int(word) for word in model.used_vocabs])
    for k in range(K):
        topics[k, words] = model.get_topic_word_dist(k)
    return topics, n


def fit_here(folder: str, name: str, seconds: float) -> None:
    """Fit in this process and print one line of JSON."""
    blocks, sweeps = Blocks.from_files(folder), None
    with threadpool_limits(1):
        warm = planted.topic_corpus(300, n_topics=3, n_words=300).counts
        if name != "tomotopy":
            AnchorTopics(3, **METHODS[name]).fit(warm)  # compile
        before, watch, began = anonymous_mb(), Peak(), time.process_time()
        watch.start()
        if name == "tomotopy":
            topics, sweeps = gibbs(blocks, seconds)
        else:
            model = AnchorTopics(K, **METHODS[name]).fit(blocks)
            topics = kl_topics(blocks, model.anchors_) if name == "RecoverKL" else model.components_
        cpu = time.process_time() - began if name != "tomotopy" else seconds
        watch.done.set()
    errors = recovery_errors(topics, truth().topics)
    facts = {"l1": errors.mean(), "cpu_s": cpu, "memory_mb": watch.peak - before, "sweeps": sweeps}
    print(json.dumps(facts))


def compare(n: int, folder: str) -> list[dict[str, Any]]:
    """Rows of all methods at one size."""
    rows: list[dict[str, Any]] = []
    blocks = truth().sample_blocks(n, LENGTH, random_state=500)
    write_cache(Path(folder) / "c", ((counts,) for counts, _ in blocks))
    for name in [*METHODS, "tomotopy"]:
        if name == "RecoverKL" and n > SLOW:
            continue
        seconds = rows[-1]["cpu_s"] if name == "tomotopy" else 0.0
        command = [sys.executable, __file__, "--fit", str(Path(folder) / "c"), name, str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append({"documents": n, "method": name} | json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    return rows


def draw(rows: list[dict[str, Any]]) -> None:
    """Draw errors against sizes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.4))
    for name in [*METHODS, "tomotopy"]:
        points = [(row["documents"], row["l1"]) for row in rows if row["method"] == name]
        axes.loglog(*zip(*points, strict=True), marker="o", label=name)
    axes.set(xlabel="documents", ylabel="mean l1 error of a topic")
    axes.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "topics_against_size.png", dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest size alone; results apart")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 20_000, 100_000, 300_000, 2_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fit", nargs=3, metavar=("FOLDER", "METHOD", "SECONDS"))
    options = parser.parse_args()
    if options.fit:
        fit_here(options.fit[0], options.fit[1], float(options.fit[2]))
        return
    rows = []
    for n in options.sizes[:1] if options.quick else options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            rows += compare(n, folder)
    error = {(row["documents"], row["method"]): row["l1"] for row in rows}
    worst = {
        peer: max(value / error[n, peer] for (n, name), value in error.items() if name == "default")
        for peer in ("RecoverL2", "tomotopy")
    }
    memory = max(row["memory_mb"] for row in rows if row["method"] == "default")
    facts = {f"l1 over that of {peer}, largest, below 1": verdict(value, value < 1) for peer, value in worst.items()}
    draw(rows)
    suffix = "_quick" if options.quick else ""
    report("topics_against_size" + suffix, rows, **facts, **{"MB < 2,000": verdict(memory, memory < 2000)})


if __name__ == "__main__":
    main()
