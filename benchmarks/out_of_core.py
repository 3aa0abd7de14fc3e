"""Claim: data of three times the anonymous memory that the process uses are fitted from files.

    python benchmarks/out_of_core.py [--quick] [--only topics labels ...]

Data are planted block by block and written as a binary cache; each fit runs in a process of its own with two threads.
``data_gb`` is the size of the cache, ``anonymous_gb`` the peak of anonymous memory (arrays, not mapped files) of the whole
process, Python and compiled code among it. ``constant``: the peak over that of a quarter of the rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, report, timed, verdict
from topics_at_scale import Peak

from latentia.datasets import planted
from latentia.passes import Blocks, write_cache

PIECE = 100_000


def topics(n: int) -> Iterator[list[Any]]:
    truth = planted.topic_model(n_topics=50, n_words=10_000, random_state=0)
    for seed in range(n // PIECE):
        yield [truth.sample(PIECE, 300, random_state=seed).counts]


def labels(n: int) -> Iterator[list[Any]]:
    truth = planted.label_model(20, 8000, 300, features=120)
    for X, Y, _ in truth.sample_blocks(n, 1):
        yield [X, Y]


def mixture(n: int) -> Iterator[list[Any]]:
    means = 2.0 * np.random.default_rng(0).standard_normal((10, 40))
    for seed in range(n // PIECE):
        rng = np.random.default_rng([seed, 1])
        yield [means[rng.integers(10, size=PIECE)] + rng.standard_normal((PIECE, 40))]


def causes(n: int) -> Iterator[list[Any]]:
    network = planted.noisy_or_network(200, 12, leak=0.01)
    for X, _ in network.sample_blocks(n, 0):
        yield [np.asarray(X).astype(np.uint8)]


def fit_topics(blocks: Blocks) -> Any:
    from latentia.topics import AnchorTopics

    return AnchorTopics(50, refine=0, n_jobs=2).fit(blocks)


def fit_labels(blocks: Blocks) -> Any:
    from latentia.multilabel import MomentMultiLabelClassifier

    return MomentMultiLabelClassifier(50, n_jobs=2, refine=2).fit(blocks)


def fit_mixture(blocks: Blocks) -> Any:
    from latentia.mixtures import SphericalGaussianMixture

    return SphericalGaussianMixture(10, n_jobs=2).fit(blocks)


def fit_causes(blocks: Blocks) -> Any:
    from latentia.noisyor import NoisyOr

    return NoisyOr(12, n_jobs=2, refine=2).fit(blocks)


def fit_pairs(path: Path) -> Any:
    from latentia.matrices import ProbabilityMatrix

    return ProbabilityMatrix(10, n_jobs=2).fit_pairs(path, 2000)


CASES: dict[str, tuple[Any, Callable[[Any], Any], int]] = {
    "topics": (topics, fit_topics, 1_200_000),
    "labels": (labels, fit_labels, 3_000_000),
    "mixtures": (mixture, fit_mixture, 6_000_000),
    "pairs": (None, fit_pairs, 300_000_000),
    "causes": (causes, fit_causes, 8_000_000),
}


def write_pairs(path: Path, n: int) -> None:
    """Pairs of 2,000 words, from ten topics, as a mapped array of int32."""
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.int32, shape=(n, 2))
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(2000, 0.05), 10)
    tables = [np.searchsorted(np.cumsum(row), np.linspace(0, 1, 1 << 16, endpoint=False)) for row in words]
    lookup = np.minimum(np.array(tables), 1999).astype(np.int32)
    for start in range(0, n, 10_000_000):
        size = min(10_000_000, n - start)
        topic = rng.integers(10, size=size)
        for side in (0, 1):
            out[start : start + size, side] = lookup[topic, rng.integers(1 << 16, size=size)]
    out.flush()


def child(name: str, path: str) -> None:
    """Fit, and print the peak of anonymous memory as JSON."""
    warnings.simplefilter("ignore")
    watch = Peak()
    watch.start()
    source = Path(path) if name == "pairs" else Blocks.from_files(path)
    run = timed(lambda: CASES[name][1](source))
    watch.done.set()
    grade = run.value.evidence_.grade
    print(json.dumps({"fit_s": run.wall, "cpu_s": run.cpu, "anonymous_gb": watch.peak * 2**20 / 1e9, "grade": grade}))


def measured(name: str, folder: Path, n: int) -> dict[str, Any]:
    """Write the data of a case, fit them apart, and delete them."""
    path = folder / ("pairs.npy" if name == "pairs" else name)
    if name == "pairs":
        write_pairs(path, n)
        size = path.stat().st_size
    else:
        write_cache(path, CASES[name][0](n))
        size = sum(file.stat().st_size for file in path.iterdir())
    done = subprocess.run(
        [sys.executable, __file__, "--child", name, str(path)], stdout=subprocess.PIPE, text=True, check=True
    )
    subprocess.run(["rm", "-r", str(path)], check=True)
    return {"data": name, "rows": n, "data_gb": size / 1e9} | json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Fit every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--workdir", type=Path, help="folder of the data; by default a temporary one")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.workdir) as name:
        for case in arguments.only:
            n = CASES[case][2] // (20 if arguments.quick else 1)
            n = max(n // PIECE, 4) * PIECE
            quarter = measured(case, Path(name), n // 4 // PIECE * PIECE)
            whole = measured(case, Path(name), n)
            print({name: whole[name] for name in ("data", "data_gb", "anonymous_gb", "fit_s")}, flush=True)
            rows.append(
                whole
                | {
                    "constant": whole["anonymous_gb"] / quarter["anonymous_gb"],
                    "times": whole["data_gb"] / whole["anonymous_gb"],
                }
            )
    if not arguments.quick and len(rows) < len(CASES):  # the others are as they were
        before = json.loads((RESULTS / "out_of_core.json").read_text())["rows"]
        rows = [next((row for row in rows if row["data"] == old["data"]), old) for old in before]
    facts = {row["data"]: verdict(row["times"], row["times"] >= 3) for row in rows}
    report("out_of_core" + "_quick" * arguments.quick, rows, **facts)


if __name__ == "__main__":
    main()
