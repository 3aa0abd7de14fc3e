"""What the benchmarks of multi-label learning share: shapes of the paper's data, fits in a process of their own, bounds.

Run as a script with a `Job` as JSON, this file fits once and prints one line of JSON, so that a peak of memory is that of
the fit. It is VmHWM, what ``ru_maxrss`` should be: the latter starts at the size of the parent, whose memory the child has
until it is replaced. Mapped pages of the data count in it; anonymous memory is sampled apart.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _common import timed
from _leml import LowRankSquaredLoss
from scipy import sparse
from topics_at_scale import Peak, anonymous_mb

from latentia.datasets import planted
from latentia.metrics import (
    document_auc,
    l1_distances,
    match_components,
    ndcg_at_k,
    precision_at_k,
    propensity_scored_precision_at_k,
    top_indices,
)
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.multilabel._features import features, inverse_document_frequency
from latentia.multilabel.moments import DocumentCounts, frequent_words
from latentia.papers.multilabel import learn_labelled_topics, score_labels
from latentia.passes import Blocks, accumulate, write_cache

_N_TOPICS = 100
_MOST_SCORES = 2_000_000_000  # labels times rows of a prediction that is timed
_MOST_PREDICTED = 50_000
_CHECKED_TOPICS = 20
_FREQUENT = 1 << 15  # words whose distributions the evidence speaks of
_ACCUMULATES = ("latentia.passes.plans", "latentia.multilabel._documents", "latentia.likelihood.em")


# --- data -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A row of the paper's Table 1: sizes, mean numbers of words and labels, and how unequally long documents are."""

    rows: int
    words: int
    labels: int
    mean_words: float
    mean_labels: float
    length_variation: float

    def truth(self) -> Any:
        return planted.label_model(
            _N_TOPICS, self.words, self.labels, features=self.mean_words, labels=self.mean_labels,
            length_variation=self.length_variation,
        )  # fmt: skip


SHAPES = {  # the last number: so that the median number of words is about that of Table 1
    "wiki31k": Shape(14_146, 101_938, 30_938, 669.05, 18.64, 0.85),
    "nytimes": Shape(14_669, 24_670, 4_185, 373.91, 5.40, 0.37),
    "amazoncat": Shape(1_186_239, 203_882, 13_330, 71.09, 5.04, 0.955),
    "wikilshtc": Shape(1_778_351, 1_617_899, 325_056, 42.15, 3.19, 0.82),
}


@contextlib.contextmanager
def workplace(folder: Path | None) -> Iterator[Path]:
    """The folder for generated files and caches, kept; by default a temporary one."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def planted_text(folder: Path, shape: str, rows: int) -> Path:
    """A planted text file of a shape; one that is there is used again."""
    path = folder / f"{shape}-{rows}.txt"
    return path if path.exists() else SHAPES[shape].truth().write(path, rows, random_state=1)


def planted_test(folder: Path, shape: str, rows: int) -> Path:
    """Documents of the same planted model that are in no training file, as a cache."""
    path = folder / f"{shape}-test-{rows}"
    if not path.exists():
        write_cache(path, ((X.astype(float), Y) for X, Y, _ in SHAPES[shape].truth().sample_blocks(rows, 2)))
    return path


def labels_of(blocks: Blocks) -> sparse.csr_array:
    return sparse.vstack([block[1] for block in blocks], format="csr")


# --- measures ---------------------------------------------------------------------------------------------------


def ranking(Y: Any, scores: np.ndarray, propensity: np.ndarray) -> dict[str, float]:
    """Means of all measures of ranked labels."""
    top, _ = top_indices(scores, 5)
    measured = {"auc": float(np.nanmean(document_auc(Y, scores)))}
    measured |= {f"p@{k}": float(precision_at_k(Y, top, k).mean()) for k in (1, 3, 5)}
    measured["ndcg@5"] = float(np.nanmean(ndcg_at_k(Y, top, 5)))
    return measured | {"psp@5": propensity_scored_precision_at_k(Y, top, 5, propensity)}


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Of the logarithm of the values against that of the sizes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


# --- bounds -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """Arithmetic in both precisions, and memory traffic if nothing stays in a cache but the row at hand."""

    gflop: float = 0.0
    gflop_single: float = 0.0
    gbyte: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*(x + y for x, y in zip(asdict(self).values(), asdict(other).values(), strict=True)))


@dataclass(frozen=True)
class Counted:
    """Numbers that work depends on."""

    rows: int
    words: float  # entries of X
    marks: float  # entries of Y
    document_frequency: np.ndarray

    def work(self, statistic: Any) -> Work:
        """Least work of one pass of a statistic; none for those that are not known."""
        return getattr(self, f"_{type(statistic).__name__}", lambda _: Work())(statistic)

    def reading(self) -> Work:
        """Every index and value of X and Y once: what a pass reads."""
        return Work(gbyte=1e-9 * (12 * self.words + 5 * self.marks))

    def _gather(self, entries: float, k: int, size: int = 8) -> Work:
        """C B: an index, a value and a row of B for every entry, and a row written for every document."""
        return _by_size(size, 2e-9 * entries * k, 1e-9 * (entries * (12 + size * k) + self.rows * size * k))

    def _collect(self, entries: float, k: int, size: int = 8) -> Work:
        """C^T Z: every entry is put in the order of columns, and reads a row of Z; sums are written once a block."""
        return _by_size(size, 2e-9 * entries * k, 1e-9 * entries * (3 * (4 + size) + size * k))

    def _cubes(self, b: int, size: int) -> Work:
        """The third moment by symmetric blocks, a sixth of 2 N b^3, whose Khatri-Rao products stay in the cache."""
        return _by_size(size, self.rows * b**3 / 3e9, 1e-9 * self.rows * size * b)

    def _frequent(self, statistic: Any) -> float:
        return float(self.document_frequency[statistic.codes >= 0].sum())

    def _OccurrenceProducts(self, s: Any) -> Work:  # noqa: N802
        entries, k, size = self._frequent(s), s.columns.shape[1], s.columns.itemsize
        return self._gather(entries, k, size) + self._collect(entries, k, size)

    def _OccurrenceMoments(self, s: Any) -> Work:  # noqa: N802
        entries, b, size = self._frequent(s), s.coordinates.shape[1], np.dtype(s.dtype).itemsize
        return self._gather(entries, b, size) + self._collect(entries, b, size) + self._cubes(b, 4)

    def _TopicMoments(self, s: Any) -> Work:  # noqa: N802
        entries, k, size = self._frequent(s), s.directions.shape[1], s.directions.itemsize
        work = self._gather(entries, k, size) + self._collect(self.marks, k, size) + self._collect(self.words, k, size)
        return work + _by_size(size, 2e-9 * entries * k, 0.0)

    def _LabelsToWords(self, s: Any) -> Work:  # noqa: N802
        k = s.columns.shape[1]
        return self._gather(self.marks, k, 4) + self._collect(self.words, k, 4)

    def _WordsToLabels(self, s: Any) -> Work:  # noqa: N802
        k = s.basis.shape[1]
        products = Work(gflop=1e-9 * self.rows * k**2, gbyte=8e-9 * self.rows * k)  # symmetric
        return self._gather(self.words, k, 4) + self._collect(self.marks, k, 4) + products


def _by_size(size: int, gflop: float, gbyte: float) -> Work:
    return Work(gflop, 0.0, gbyte) if size == 8 else Work(0.0, gflop, gbyte)


# --- passes -----------------------------------------------------------------------------------------------------


class Clocked:
    """An in-place statistic that measures its own time."""

    def __init__(self, statistic: Any) -> None:
        self.statistic, self.wall, self.cpu = statistic, 0.0, 0.0

    def zero(self) -> Any:
        return self._timed(self.statistic.zero)

    def add_tasks(self, *arguments: Any) -> Any:
        return self._timed(lambda: self.statistic.add_tasks(*arguments))

    def _timed(self, task: Any) -> Any:
        run = timed(task)
        self.wall += run.wall
        self.cpu += run.cpu
        return run.value


@dataclass
class PassClock:
    """Stages of a fit: while it is ``installed``, every pass, every statistic in it, and the algebra between passes."""

    stages: list[dict[str, Any]] = field(default_factory=list)
    _counted: Counted | None = None
    _n_passes: int = 0

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        modules = [module for module in map(importlib.import_module, _ACCUMULATES) if hasattr(module, "accumulate")]
        for module in modules:
            module.accumulate = self._accumulate
        self._last = _now()
        try:
            yield
        finally:
            for module in modules:
                module.accumulate = accumulate
        self._stage("algebra", _now() - self._last)

    @property
    def passes_s(self) -> float:
        return sum(stage["wall_s"] for stage in self.stages if stage["stage"] != "algebra")

    def _accumulate(self, blocks: Blocks, statistics: Any, *arguments: Any, **options: Any) -> Any:
        start = _now()
        self._stage("algebra", start - self._last)  # before this pass
        self._n_passes += 1
        several = statistics if isinstance(statistics, Sequence) else [statistics]
        clocked = [Clocked(s) if hasattr(s, "add_tasks") else s for s in several]
        sums = accumulate(blocks, clocked if several is statistics else clocked[0], *arguments, **options)
        if isinstance(sums, DocumentCounts):
            self._counted = Counted(sums.n_rows, sums.powers[0], sums.label_counts.sum(), sums.document_frequency)
        self._last = _now()
        self._note(clocked, self._last - start)
        return sums

    def _note(self, clocked: list[Any], seconds: np.ndarray) -> None:
        assert self._counted is not None
        known = [s for s in clocked if isinstance(s, Clocked)]
        for s in known:
            own = np.array([s.wall, s.cpu])
            self._stage(type(s.statistic).__name__, own, self._counted.work(s.statistic))
            seconds = seconds - own
        rest = "read and weigh" if known else type(clocked[0]).__name__
        self._stage(rest, seconds, self._counted.reading())

    def _stage(self, name: str, seconds: np.ndarray, work: Work | None = None) -> None:
        wall, cpu = seconds.tolist()
        own = {"pass": self._n_passes, "stage": name, "wall_s": wall, "cpu_s": cpu}
        self.stages.append(own | (asdict(work) if work else {}))


def _now() -> np.ndarray:
    """Wall seconds, and CPU seconds of all threads."""
    return np.array([time.perf_counter(), time.process_time()])


# --- a fit in a process of its own ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A fit, and what to measure of it.

    Attributes
    ----------
    path, cache : str
        File or cache of the training data, and folder for the cache of a file.
    k : int
    model : {"moments", "paper", "leml"}
    options : dict
        Of `MomentMultiLabelClassifier`; of `learn_labelled_topics`; of `LowRankSquaredLoss`, with ``weighted`` for tf-idf
        features.
    test, test_cache : str
        Measure AUC on these data.
    predict : bool
        Measure rows a second of the five best labels.
    shape : str
        Compare topics with those planted.
    """

    path: str
    k: int
    cache: str | None = None
    model: str = "moments"
    options: dict[str, Any] = field(default_factory=dict)
    test: str | None = None
    test_cache: str | None = None
    predict: bool = False
    shape: str | None = None


def fit_apart(job: Job) -> dict[str, Any]:
    """Run a job in a fresh interpreter."""
    command = [sys.executable, __file__, json.dumps(asdict(job))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run(job: Job) -> dict[str, Any]:
    """Fit in this process: seconds, memory, stages, and what else the job asks for."""
    fit = {"moments": _fit_moments, "paper": _fit_paper, "leml": _fit_leml}[job.model]
    blocks = Blocks.from_files(job.path, cache=job.cache)
    _warm(fit, job, blocks)
    clock, watch, before = PassClock(), Peak(), anonymous_mb()
    watch.start()
    with clock.installed():
        measured = timed(lambda: fit(blocks, job.k, job.options))
    watch.done.set()
    model, gigabytes = measured.value, 2**20 / 1e9
    facts = {"fit_s": measured.wall, "cpu_s": measured.cpu, "peak_gb": _most_resident_mb() * gigabytes}
    facts |= {"anonymous_gb": watch.peak * gigabytes, "before_gb": before * gigabytes}
    if job.model == "moments":
        facts |= {"passes": model.n_passes_, "passes_s": clock.passes_s, "stages": clock.stages}
    if job.test:
        test = Blocks.from_files(job.test, cache=job.test_cache)
        auc = document_auc(labels_of(test), model.decision_function(_in_memory(test.table())))
        facts["auc"] = float(np.nanmean(auc))
    if job.predict:
        facts |= _prediction(model, blocks)
    if job.shape:
        facts |= _recovery(model, SHAPES[job.shape].truth())
    return facts


def _fit_moments(blocks: Blocks, k: int, options: dict[str, Any]) -> MomentMultiLabelClassifier:
    """With the moment head, unless the options name another one: at these sizes it is what "auto" is."""
    return MomentMultiLabelClassifier(k, n_jobs=2, **{"head": "ridge", **options}).fit(blocks)


@dataclass(frozen=True)
class Weighted:
    """The LEML-like model on tf-idf features."""

    model: LowRankSquaredLoss
    weights: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        return self.model.decision_function(features(X, self.weights))


@dataclass(frozen=True)
class PaperTopics:
    """Topics of Algorithm 1 as printed, which predict by their posterior with eta = .001."""

    weights: np.ndarray
    words: np.ndarray
    labels: np.ndarray

    @classmethod
    def fit(cls, X: Any, Y: Any, k: int, **options: Any) -> PaperTopics:
        return cls(*learn_labelled_topics(X, Y, k, **options))

    def decision_function(self, X: Any) -> np.ndarray:
        return score_labels(X, self.weights, self.words, self.labels, threshold=0.001)


def _fit_paper(blocks: Blocks, k: int, options: dict[str, Any]) -> PaperTopics:
    return PaperTopics.fit(blocks.table(), labels_of(blocks), k, **options)


def _fit_leml(blocks: Blocks, k: int, options: dict[str, Any]) -> LowRankSquaredLoss | Weighted:
    return fit_leml(blocks.table(), labels_of(blocks), k, **options)


def fit_leml(X: Any, Y: Any, k: int, *, weighted: bool = False, **options: Any) -> LowRankSquaredLoss | Weighted:
    """The LEML-like model on X as it is, or on rows of unit length weighted by inverse document frequencies."""
    model = LowRankSquaredLoss(k, **options)
    if not weighted:
        return model.fit(X, Y)
    weights = inverse_document_frequency(np.bincount(X.indices, minlength=X.shape[1]), X.shape[0])
    return Weighted(model.fit(features(X, weights), Y), weights)


def _warm(fit: Any, job: Job, blocks: Blocks) -> None:
    """Compile, on a few rows from a cache with the types of the whole."""
    rows = max(1, min(500, blocks.n_rows))
    with tempfile.TemporaryDirectory() as folder:
        write_cache(Path(folder) / "few", [[_rows(part, rows) for part in blocks[0]]])
        fit(Blocks.from_files(Path(folder) / "few"), 3, job.options)


def _rows(table: sparse.csr_array, n: int) -> sparse.csr_array:
    return table[: min(n, table.shape[0])]


def _in_memory(table: Any) -> sparse.csr_array:
    return sparse.csr_array(table, copy=True)


def _most_resident_mb() -> float:
    """VmHWM of this process."""
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _prediction(model: MomentMultiLabelClassifier, blocks: Blocks) -> dict[str, float]:
    n = min(blocks.n_rows, _MOST_PREDICTED, _MOST_SCORES // blocks.shapes[1][1])
    table = _rows(blocks.table(), n)
    model.top_labels(table[:100], 5)
    seconds = np.median([timed(lambda: model.top_labels(table, 5)).wall for _ in range(3)])
    return {"predicted_rows": n, "predicted_rows_per_s": n / seconds}


def _recovery(model: MomentMultiLabelClassifier, truth: Any) -> dict[str, float | None]:
    """l1 errors of some planted topics' word distributions, of frequent words and of all, beside the expected ones."""
    true = truth.words.probabilities(list(range(_CHECKED_TOPICS)))
    frequent, _ = frequent_words(model.word_frequencies_, _FREQUENT)
    found = model.word_probabilities_
    of_found, of_true = match_components(_sum_one(found[:, frequent]), _sum_one(true[:, frequent]))
    found, true = found[of_found], true[of_true]
    expected = model.evidence_.component_errors
    return {
        "l1": _mean_l1(found[:, frequent], true[:, frequent]),
        "l1_all_words": _mean_l1(found, true),
        "expected_l1": None if expected is None else float(np.mean(expected[of_found])),
    }


def _mean_l1(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.mean(l1_distances(_sum_one(found), _sum_one(true)).diagonal()))


def _sum_one(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(run(Job(**json.loads(sys.argv[1])))))
