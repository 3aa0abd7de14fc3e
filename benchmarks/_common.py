"""What the benchmarks share: peers, clocks, tables, and results as JSON beside the script."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
DATA = Path(os.environ.get("LATENTIA_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass
class Timed:
    """A result with the CPU seconds (all threads) and wall seconds that it took."""

    value: Any
    cpu: float
    wall: float


def timed(task: Callable[[], Any]) -> Timed:
    """Run once and measure."""
    cpu, wall = time.process_time(), time.perf_counter()
    value = task()
    return Timed(value, time.process_time() - cpu, time.perf_counter() - wall)


@dataclass(frozen=True)
class Rates:
    """What this machine does: gigaflops of matrix products, gigabytes a second of copying and of a triad."""

    double: float
    single: float
    copy: float
    triad: float

    @classmethod
    def measured(cls, n_threads: int = 2, n: int = 3000) -> Rates:
        """Copying and triad on so many threads; products, of size n, on those that BLAS has."""
        products = [2e-9 * n**3 / _least(_product(n, dtype)) for dtype in (np.float64, np.float32)]
        return cls(*products, *_bandwidths(n_threads))

    def best(self, other: Rates) -> Rates:
        return Rates(*np.maximum(list(asdict(self).values()), list(asdict(other).values())).tolist())

    def bound(self, work: dict[str, float]) -> float:
        """Seconds that ``gflop``, ``gflop_single`` and ``gbyte`` take at the least: the larger of arithmetic and traffic."""
        arithmetic = work["gflop"] / self.double + work["gflop_single"] / self.single
        return max(arithmetic, work["gbyte"] / max(self.copy, self.triad))


def _product(n: int, dtype: Any) -> Any:
    a, b = (np.random.default_rng(i).random((n, n)).astype(dtype) for i in (0, 1))
    out = np.empty((n, n), dtype)
    return lambda: np.matmul(a, b, out=out)


def _bandwidths(n_threads: int) -> tuple[float, float]:
    """Gigabytes a second of b = a and of a += 3 b on parts of 400 MB in all, pages resident."""
    n = 25_000_000
    a, b = np.ones(n), np.ones(n)
    parts = [slice(i * n // n_threads, (i + 1) * n // n_threads) for i in range(n_threads)]

    def triad(part: slice) -> None:
        size = 1 << 15  # the product stays in the cache
        scratch = np.empty(size)
        for start in range(part.start, part.stop, size):
            piece = slice(start, min(start + size, part.stop))
            product = np.multiply(b[piece], 3.0, out=scratch[: piece.stop - piece.start])
            a[piece] += product

    with ThreadPoolExecutor(n_threads) as pool:
        copied = _least(lambda: list(pool.map(lambda part: np.copyto(b[part], a[part]), parts)))
        added = _least(lambda: list(pool.map(triad, parts)))
    return 16e-9 * n / copied, 24e-9 * n / added


def _least(task: Callable[[], Any], repeats: int = 5) -> float:
    task()
    return min(timed(task).wall for _ in range(repeats))


def report(name: str, rows: Iterable[dict[str, Any]], **facts: Any) -> None:
    """Print rows as a table and write them with the facts to ``results/NAME.json``."""
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    texts = [columns] + [[_text(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    for row in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for key, value in facts.items():
        print(f"{key}: {_text(value)}")
    RESULTS.mkdir(exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "machine": platform.machine()}
    payload = {"machine": machine, "facts": facts, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(payload, indent=1, default=_plain) + "\n")


def verdict(value: float, holds: bool) -> str:
    """A number and whether it is as claimed, for the facts of a report."""
    return f"{value:.3f}, {'holds' if holds else 'does not hold'}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def tomotopy_topics(counts: Any, n_topics: int, iterations: int, alpha: float, seed: int = 1) -> Timed:
    """Collapsed Gibbs sampling: (topics, alpha), timed for training alone, on one worker."""
    run = tomotopy_model(counts, n_topics, iterations, alpha, seed)
    model, topics = run.value, np.zeros((n_topics, counts.shape[1]))
    words = np.array([int(word) for word in model.used_vocabs])
    for k in range(n_topics):
        topics[k, words] = model.get_topic_word_dist(k)
    return Timed((topics, np.array(model.alpha)), run.cpu, run.wall)


def tomotopy_proportions(counts: Any, n_topics: int, iterations: int, alpha: float, seed: int = 1) -> Timed:
    """Collapsed Gibbs sampling: proportions of the documents, shape (n, K), zero for empty ones; timed as the topics are."""
    run = tomotopy_model(counts, n_topics, iterations, alpha, seed)
    proportions = np.zeros((counts.shape[0], n_topics))
    proportions[np.diff(counts.indptr) > 0] = [document.get_topic_dist() for document in run.value.docs]
    return Timed(proportions, run.cpu, run.wall)


def tomotopy_model(counts: Any, n_topics: int, iterations: int, alpha: float, seed: int) -> Timed:
    """A model of tomotopy trained on one worker; empty documents are left out."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=seed, alpha=alpha)
    for d in range(counts.shape[0]):
        row = slice(counts.indptr[d], counts.indptr[d + 1])
        words = np.repeat(counts.indices[row], counts.data[row].astype(int))
        if len(words):
            model.add_doc([str(word) for word in words])
    run = timed(lambda: model.train(iterations, workers=1))
    return Timed(model, run.cpu, run.wall)


def gensim_topics(counts: Any, n_topics: int, passes: int = 2, seed: int = 1) -> Timed:
    """Online variational Bayes of gensim: (topics, alpha)."""
    import gensim

    corpus = gensim.matutils.Sparse2Corpus(counts, documents_columns=False)
    names = {i: str(i) for i in range(counts.shape[1])}
    run = timed(
        lambda: gensim.models.LdaModel(
            corpus, num_topics=n_topics, id2word=names, passes=passes, random_state=seed, alpha="symmetric"
        )
    )
    return Timed((run.value.get_topics().astype(float), run.value.alpha.astype(float)), run.cpu, run.wall)


def sklearn_topics(counts: Any, n_topics: int, passes: int = 10, seed: int = 1) -> Timed:
    """Online variational Bayes of scikit-learn: (topics, alpha)."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, learning_method="online", max_iter=passes, random_state=seed, n_jobs=1)
    run = timed(lambda: model.fit(counts))
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return Timed((topics, np.full(n_topics, 1.0 / n_topics)), run.cpu, run.wall)
