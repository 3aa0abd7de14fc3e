"""Claim: a fit that is killed twenty times over ends with the same bits each time, and keeping its passes costs at most 5%.

    python benchmarks/checkpoints.py [--quick] [--kills 20]

Multi-label learning of 300,000 documents of 5,000 words and 300 labels, K = 30, with 5 steps of EM, from a binary cache: 200
blocks a pass. The fit runs in a process of its own, which gets SIGKILL at a random moment and is started again until it ends;
"same bits" compares the model, field by field, with that of a fit that nobody killed. ``kept`` and ``plain`` are the least wall
seconds and the median CPU seconds of seven fits with and without a checkpoint, in turn.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import report, timed, verdict

from latentia.datasets import planted
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks, checkpointing, write_cache

_FIELDS = "word_probabilities_", "label_probabilities_", "weights_", "coef_", "intercept_", "refinement_"


def fit(cache: Path) -> MomentMultiLabelClassifier:
    blocks = Blocks.from_files(cache, block_rows=1500)
    return MomentMultiLabelClassifier(30, head="ridge", refine=5).fit(blocks)


def kept_fit(cache: Path, folder: Path) -> MomentMultiLabelClassifier:
    with checkpointing(folder):
        return fit(cache)


def saved(model: MomentMultiLabelClassifier, path: Path) -> None:
    np.savez(path, errors=model.evidence_.component_errors, **{name: getattr(model, name) for name in _FIELDS})


def child(cache: Path, folder: Path, out: Path) -> None:
    """What the killed process does."""
    print("begun", flush=True)
    with checkpointing(folder):
        saved(fit(cache), out)


def same(one: Path, other: Path) -> bool:
    with np.load(one) as first, np.load(other) as second:
        return all(np.array_equal(first[name], second[name]) for name in first.files)


def killed(cache: Path, folder: Path, out: Path, whole_s: float, rng: random.Random) -> tuple[int, float]:
    """Kill fits at random moments until one ends; how many died, and the seconds of all."""
    died, start = 0, time.perf_counter()
    while True:
        process = subprocess.Popen(
            [sys.executable, __file__, "--child", str(cache), str(folder), str(out)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        if not died:  # once; then it may end
            try:
                process.wait(rng.uniform(0.02, 1.0) * whole_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        died += process.wait() != 0
        process.stdout.close()
        if process.returncode == 0:
            return died, time.perf_counter() - start


def main() -> None:
    """Time fits with and without a checkpoint, and kill some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 documents, three kills, one fit of each kind")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--child", type=Path, nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    n_rows, kills, repeats = (20_000, 3, 1) if arguments.quick else (300_000, arguments.kills, 7)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = planted.labelled_corpus(n_rows, n_topics=30, n_words=5000, n_labels=300)
        write_cache(folder / "cache", [[corpus.X, corpus.Y]])
        del corpus
        fit(folder / "cache")  # compiles
        runs: dict[str, list[Any]] = {"plain": [], "kept": []}
        for _ in range(repeats):
            runs["plain"].append(timed(lambda: fit(folder / "cache")))
            runs["kept"].append(timed(lambda: kept_fit(folder / "cache", folder / "kept")))
        model = runs["plain"][0].value
        saved(model, folder / "whole.npz")
        wall = {key: min(run.wall for run in several) for key, several in runs.items()}
        cpu = {key: float(np.median([run.cpu for run in several])) for key, several in runs.items()}
        rng = random.Random(7)
        for number in range(kills):
            out = folder / f"{number}.npz"
            died, took = killed(folder / "cache", folder / "kept", out, wall["kept"], rng)
            rows.append({"kill": number, "died": died, "same bits": same(out, folder / "whole.npz"), "all_s": took})
            out.unlink()
    agree = sum(row["same bits"] for row in rows)
    report(
        "checkpoints" + "_quick" * arguments.quick, rows, wall_s=wall, cpu_s=cpu,
        **{
            f"{name} seconds, kept over plain <= 1.05": verdict(own["kept"] / own["plain"], own["kept"] <= 1.05 * own["plain"])
            for name, own in (("wall", wall), ("CPU", cpu))
        },
        **{
            "same bits": f"{agree} of {len(rows)}, of which {sum(row['died'] > 0 for row in rows)} were killed",
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
