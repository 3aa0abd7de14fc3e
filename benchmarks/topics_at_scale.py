"""Claim: 300,000 documents with 15,000 words and 100 topics, streamed from disk, in a minute and a half within 300 MB.

    python benchmarks/topics_at_scale.py [--documents 300000] [--folder DIR]

The corpus is planted and written block by block to the binary cache, and as UCI text to time the conversion apart. The fit
runs in a process of its own; its memory is the largest anonymous resident set less that before the fit, and the corpus is
a memory map, not anonymous. Work of a pass for k columns: 4 nnz k flops. Then a vocabulary of 100,000 words.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from _common import report, timed

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.passes import Blocks, write_cache
from latentia.topics import AnchorTopics


def anonymous_mb() -> float:
    """Anonymous resident memory of this process: what it holds beyond mapped files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return float("nan")


class Peak(threading.Thread):
    """The largest anonymous resident set while it runs."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.done = 0.0, threading.Event()

    def run(self):
        while not self.done.wait(0.02):
            self.peak = max(self.peak, anonymous_mb())


def fit_here(folder: str, k: int, options: dict) -> None:
    """Fit in this process and print one line of JSON."""
    warm = planted.topic_corpus(300, n_topics=3, n_words=300)
    AnchorTopics(3, n_jobs=2, **options).fit(warm.counts)  # compile
    blocks = Blocks.from_files(folder)
    before = anonymous_mb()
    watch = Peak()
    watch.start()
    run = timed(lambda: AnchorTopics(k, n_jobs=2, **options).fit(blocks))
    watch.done.set()
    model = run.value
    np.save(f"{folder}.topics.npy", model.components_)
    errors = model.evidence_.component_errors
    facts = {"fit_s": run.wall, "cpu_s": run.cpu, "memory_mb": watch.peak - before, "passes": model.n_passes_}
    print(json.dumps(facts | {"expected": None if errors is None else float(errors.mean())}))


def write_text(path: Path, blocks: Blocks) -> None:
    """UCI bag of words."""
    table = blocks.table()
    with open(path, "wb") as file:
        file.write(f"{table.shape[0]}\n{table.shape[1]}\n{len(table.data)}\n".encode())
        for block in blocks:
            counts = block[0]
            rows = np.repeat(block.rows, np.diff(counts.indptr)) + 1
            columns = (rows, counts.indices + 1, counts.data)
            text = [np.asarray(column).astype("S") for column in columns]
            lines = np.char.add(np.char.add(np.char.add(text[0], b" "), np.char.add(text[1], b" ")), text[2])
            file.write(b"\n".join(lines.tolist()) + b"\n" if len(lines) else b"")


def case(folder: Path, n: int, v: int, k: int, options: dict, convert: bool) -> dict:
    truth = planted.topic_model(k, v, random_state=77)
    written = timed(lambda: write_cache(folder / "c", ((c,) for c, _ in truth.sample_blocks(n, random_state=78))))
    blocks = Blocks.from_files(folder / "c")
    row = {"documents": n, "words": v, "topics": k, "nonzeros": len(blocks.table().data), "options": str(options)}
    row["generate_s"] = written.wall
    if convert:
        write_text(folder / "docword.c.txt", blocks)
        start = time.perf_counter()
        Blocks.from_files(folder / "docword.c.txt")
        row["convert_s"] = time.perf_counter() - start
        row["text_mb"] = (folder / "docword.c.txt").stat().st_size / 2**20
    done = subprocess.run(
        [sys.executable, __file__, "--fit", str(folder / "c"), str(k), json.dumps(options)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    row |= json.loads(done.stdout.splitlines()[-1])
    row["l1"] = recovery_errors(np.load(folder / "c.topics.npy"), truth.topics).mean()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=300_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fit", nargs=3, metavar=("FOLDER", "K", "OPTIONS"))
    options = parser.parse_args()
    if options.fit:
        folder, k, parameters = options.fit
        fit_here(folder, int(k), json.loads(parameters))
        return
    rows = []
    cases = [
        (options.documents, 15_000, 100, {}, True),
        (options.documents, 15_000, 100, {"n_splits": 0}, False),
        (options.documents // 10, 100_000, 100, {"n_splits": 0}, False),
    ]
    for n, v, k, parameters, convert in cases:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            rows.append(case(Path(folder), n, v, k, parameters, convert))
            print(rows[-1], flush=True)
    report("topics_at_scale", rows)


if __name__ == "__main__":
    main()
