"""Claim: a fit on two worker processes, one of which is killed in the middle, ends with the result of one machine to 1e-6.

    python benchmarks/killed_workers.py [--quick]

Topics, labels, a mixture, pairs and causes from binary caches, on a `distributed.LocalCluster` of two processes of one thread.
At a random moment of each fit one of them gets SIGKILL. ``difference`` is the largest one of what was learned, over the
largest entry, to a fit on one machine; ``without a kill`` the same on a cluster that is left alone. Topics are recovered up to
a tolerance, ``tol``, of 1e-6 by default: where the solver stops is decided by rounding, so that they differ by more.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import report
from distributed import Client, LocalCluster

from latentia.datasets import planted
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks, on_cluster, write_cache
from latentia.topics import AnchorTopics


def cases(folder: Path, n: int) -> dict[str, Callable[[], tuple[Any, list[str]]]]:
    """For every family a fit and what it learns, on data that are written here."""
    corpus = planted.topic_corpus(n, n_topics=20, n_words=3000, length=300)
    write_cache(folder / "topics", [[corpus.counts]])
    labelled = planted.labelled_corpus(n, n_topics=20, n_words=3000, n_labels=200)
    write_cache(folder / "labels", [[labelled.X, labelled.Y]])
    mixture = planted.gaussian_mixture(4 * n, n_components=8, n_features=20, separation=5)
    write_cache(folder / "mixture", [[mixture.X]])
    findings = planted.noisy_or_network(80, 10, leak=0.01).sample(n).X
    write_cache(folder / "causes", [[np.asarray(findings, dtype=np.uint8)]])
    np.save(folder / "pairs.npy", planted.word_pairs(40 * n, 5, 2000, random_state=1).pairs)

    def read(name: str, block_rows: int = n // 20) -> Blocks:
        return Blocks.from_files(folder / name, block_rows=block_rows)

    def labels() -> MomentMultiLabelClassifier:
        return MomentMultiLabelClassifier(20, head="ridge", refine=5).fit(read("labels"))

    return {
        "topics": lambda: (AnchorTopics(20, refine=0).fit(read("topics")), ["components_"]),
        "topics, tol=1e-10": lambda: (AnchorTopics(20, refine=0, tol=1e-10).fit(read("topics")), ["components_"]),
        "labels": lambda: (labels(), ["word_probabilities_", "label_probabilities_", "coef_"]),
        "mixtures": lambda: (SphericalGaussianMixture(8).fit(read("mixture")), ["means_", "variance_"]),
        "pairs": lambda: (ProbabilityMatrix(5).fit_pairs(read("pairs.npy", n), 2000), ["embedding_", "marginals_"]),
        "causes": lambda: (NoisyOr(10).fit(read("causes")), ["weights_", "priors_", "leak_"]),
    }


def apart(one: Any, other: Any, names: list[str]) -> float:
    return max(float(np.abs(getattr(one, x) - getattr(other, x)).max() / np.abs(getattr(one, x)).max()) for x in names)


def fitted(fit: Callable[[], tuple[Any, list[str]]], kill_after: float | None) -> tuple[Any, float, bool]:
    """The model of a fit on a fresh cluster, its seconds, and whether a worker was killed before it ended."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(**options) as cluster, Client(cluster) as client, on_cluster(client):
        pids = list(client.run(os.getpid).values())
        done, killed = threading.Event(), threading.Event()

        def kill() -> None:
            if kill_after is not None and not done.wait(kill_after):
                os.kill(pids[1], signal.SIGKILL)
                killed.set()

        thread = threading.Thread(target=kill)
        thread.start()
        start = time.perf_counter()
        model, _ = fit()
        took = time.perf_counter() - start
        done.set()
        thread.join()
    return model, took, killed.is_set()


def main() -> None:
    """Fit here, on a cluster, and on one that loses a worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an eighth of the rows")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, rows = random.Random(5), []
    with tempfile.TemporaryDirectory() as folder:
        for name, fit in cases(Path(folder), 5000 if arguments.quick else 40_000).items():
            whole, names = fit()
            left, took, _ = fitted(fit, None)
            model, after, killed = fitted(fit, rng.uniform(0.2, 0.7) * took)
            rows.append(
                {"data": name, "killed": killed, "difference": apart(whole, model, names),
                 "without a kill": apart(whole, left, names), "fit_s": took, "with_a_kill_s": after}
            )  # fmt: skip
            print(rows[-1], flush=True)
    worst = max(row["difference"] for row in rows if row["data"] != "topics")
    report(
        "killed_workers" + "_quick" * arguments.quick, rows,
        **{"largest difference <= 1e-6, but for topics": f"{worst:.2g}, {'holds' if worst <= 1e-6 else 'does not hold'}",
           "killed before the end": f"{sum(row['killed'] for row in rows)} of {len(rows)}"},
    )  # fmt: skip


if __name__ == "__main__":
    main()
