"""``latentia labels``: a multi-label classifier of text on disk, as tables, a model and a report."""

from __future__ import annotations

import contextlib
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import sparse

from .. import persistence
from ..datasets.readers import read_lines
from ..exceptions import LatentiaError
from ..metrics import (
    document_auc,
    ndcg_at_k,
    precision_at_k,
    propensities,
    propensity_scored_precision_at_k,
)
from ..moments.counts import as_counts, check_counts
from ..multilabel import MomentMultiLabelClassifier
from ..passes import Blocks
from ..passes.formats import open_text
from ..report import import_report
from ..report._parts import count, largest
from ..report.labels import Names
from ._shared import (
    Force,
    Jobs,
    Quiet,
    Seed,
    cache_folder,
    check_choice,
    check_jobs,
    check_target,
    error_cell,
    existing,
    named,
    print_evidence,
    write_all,
    write_csv,
    write_evidence,
)

__all__ = ["labels"]

_TOPIC_WORDS, _TOPIC_LABELS = 50, 20
_AT = (1, 3, 5)  # labels that are counted
_MOST_SCORES, _CHUNK_SCORES = 20_000_000, 1 << 22
_FIRST_OF_LABELLED = "The same as precision@1, over rows that have labels."
_FIRST = "How often the first label that is predicted is one that the row has."
_OPTIONS = (  # what the reader of files calls its parameters, and what this command does
    ("labels_zero_based=True", "--labels-zero-based"), ("labels_zero_based=False", "--labels-one-based"),
    ("zero_based=True", "--zero-based"), ("zero_based=False", "--one-based"), (": give n_features=.", "."),
)  # fmt: skip


@dataclass(frozen=True)
class _Numbers:
    """From where a file counts its words and labels; None where that was not said."""

    words_from_0: bool | None
    labels_from_0: bool | None

    def options(self) -> dict[str, bool]:
        """Those that were given, as the reader of files calls them."""
        given = {"zero_based": self.words_from_0, "labels_zero_based": self.labels_from_0}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def first(self) -> tuple[int, int]:
        """Numbers of the first word and the first label in the files."""
        labels = self.words_from_0 if self.labels_from_0 is None else self.labels_from_0
        return int(self.words_from_0 is False), int(labels is False)


@dataclass(frozen=True)
class _Data:
    """What was read: rows of words and labels to learn from and to test on, and names."""

    train: Blocks
    test: Blocks | None
    words: Names
    labels: Names
    source: str


@dataclass(frozen=True)
class _Measure:
    """A line of the metrics; ``plain`` is what the most frequent labels reach, given to every row alike."""

    name: str
    value: float
    plain: float
    rows: int
    meaning: str


def labels(
    source: Annotated[
        Path,
        typer.Argument(help="Rows with labels to learn from: svmlight, Extreme Classification Repository, .gz too."),
    ],
    test: Annotated[Path | None, typer.Option("--test", help="Rows to predict labels of, in the same format.")] = None,
    k: Annotated[int, typer.Option("-k", help="Number of topics, and dimensions of the ridge head.", min=1)] = 50,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("labels"),
    head: Annotated[str, typer.Option(help="ridge or bayes: what predicts; bayes is the topics alone.")] = "ridge",
    moments: Annotated[
        str, typer.Option(help="auto, occurrence, factorial or paper: how words are looked at.")
    ] = "auto",
    refine: Annotated[int, typer.Option(help="EM passes after the recovery; 0 keeps to the theorem.", min=0)] = 0,
    top: Annotated[int, typer.Option(help="Labels written for every row of --test.", min=1)] = 5,
    label_names: Annotated[Path | None, typer.Option("--labels", help="Names of the labels, one a line.")] = None,
    word_names: Annotated[Path | None, typer.Option("--words", help="Names of the words, one a line.")] = None,
    zero_based: Annotated[
        bool | None, typer.Option("--zero-based/--one-based", help="From where words and labels are counted.")
    ] = None,
    labels_zero_based: Annotated[
        bool | None,
        typer.Option("--labels-zero-based/--labels-one-based", help="The same for labels, where words differ."),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn which labels text has, predict those of new text, and write tables, a model and a report."""
    check_jobs(jobs)
    check_choice("--head", head, ("ridge", "bayes"))
    check_choice("--moments", moments, ("auto", "occurrence", "factorial", "paper"))
    check_target(out, source, force)
    import_report()
    data = _read(source, test, _Numbers(zero_based, labels_zero_based), (word_names, label_names), not quiet)
    console = Console()
    console.print(f"{data.source}: {_described(data.train)}", highlight=False, markup=False)
    if k > min(data.train.n_rows, data.train.shapes[0][1]):
        raise LatentiaError(f"{data.source}: {_described(data.train)} cannot carry {k} topics; lower -k.")
    start = perf_counter()
    with named(data.source):
        model = MomentMultiLabelClassifier(
            k, head=head, moments=moments, refine=refine, vocabulary=data.words.given, label_names=data.labels.given,
            random_state=seed, n_jobs=jobs, verbose=not quiet,
        ).fit(data.train)  # fmt: skip
    run = _Run(model, data, top, perf_counter() - start, not quiet)
    written = write_all(out, run.write)
    for line in run.summary():
        console.print(line, highlight=False, markup=False)
    _print_measures(run.measures, console)
    print_evidence(model.evidence_, console)
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


def _described(blocks: Blocks) -> str:
    return f"{count(blocks.n_rows, 'row')}, {count(blocks.shapes[0][1], 'word')}, {count(blocks.shapes[1][1], 'label')}"


# --- reading ----------------------------------------------------------------------------------------------------


def _read(
    source: Path, test: Path | None, numbers: _Numbers, names: tuple[Path | None, Path | None], progress: bool
) -> _Data:
    """Everything that the command needs, checked as far as that takes no fit."""
    for path, option in ((source, ""), (test, "--test ")):
        if path is not None and not path.exists():
            raise LatentiaError(f"{option}{path}: no such file.")
    train = _open(source, numbers.options(), progress)
    if len(train.shapes) < 2 or not train.shapes[1][1]:
        raise LatentiaError(f"{source}: there are no labels in it. A line is 'label,label word:value word:value ...'.")
    sizes = train.shapes[0][1], train.shapes[1][1]
    words = _names(names[0], "--words", sizes[0], "words", source)
    labels = _names(names[1], "--labels", sizes[1], "labels", source)
    first = numbers.first
    return _Data(
        train,
        None if test is None else _open_test(test, source, sizes, numbers, progress),
        Names("word", words if words is not None else train.names, first[0]),
        Names("label", labels, first[1]),
        source.name,
    )


def _open(path: Path, options: dict[str, Any], progress: bool) -> Blocks:
    try:
        if path.is_dir():
            return Blocks.from_files(path)
        return Blocks.from_files(path, format="svmlight", cache=cache_folder(path), progress=progress, **options)
    except LatentiaError as error:
        message = str(error)
        for parameter, option in _OPTIONS:
            message = message.replace(parameter, option)
        raise LatentiaError(message) from error


def _open_test(path: Path, source: Path, sizes: tuple[int, int], numbers: _Numbers, progress: bool) -> Blocks:
    """The file of ``--test``, with as many words and labels as there are to learn from, and its numbers checked."""
    promised = None if path.is_dir() else _promised(path)
    if promised is not None:
        _check_sizes(path, promised, source, sizes)
    options: dict[str, Any] = numbers.options()
    if promised is None:
        options |= {"n_features": sizes[0], "n_labels": sizes[1]}
    if not source.is_dir():
        options = {"zero_based": True} | options  # what else could be read without saying so counts from 0
    blocks = _open(path, options, progress)
    _check_sizes(path, tuple(shape[1] for shape in blocks.shapes[:2]), source, sizes)
    for block in blocks:
        with named(str(path)):
            check_counts(as_counts(block[0]), block.rows)
    return blocks


def _promised(path: Path) -> tuple[int, ...] | None:
    """Numbers of words and labels that the first line of a file states, if it does."""
    with contextlib.suppress(OSError, EOFError, zlib.error), open_text(path) as file:  # the reader names these
        first = file.readline(1 << 16).split()
        if len(first) == 3 and all(re.fullmatch(rb"\d{1,18}", number) for number in first):
            return int(first[1]), int(first[2])
    return None


def _check_sizes(path: Path, found: tuple[int, ...], source: Path, sizes: tuple[int, int]) -> None:
    if found != sizes:
        has = f"{count(found[0], 'word')} and {count(found[1], 'label') if len(found) > 1 else 'no labels'}"
        raise LatentiaError(
            f"--test {path}: has {has}, and {source} {count(sizes[0], 'word')} and {count(sizes[1], 'label')}: "
            "they must agree. Test rows are counted in the words and labels of the training rows."
        )


def _names(path: Path | None, option: str, needed: int, what: str, source: Path) -> list[str] | None:
    """The names in a file, one a line, which must be as many as there are columns."""
    if path is None:
        return None
    names = [name.strip() for name in read_lines(existing(path, option))]
    while names and not names[-1]:
        names.pop()
    if len(names) != needed:
        raise LatentiaError(
            f"{option} {path}: {count(len(names), 'name')}, and {source} has {needed:,} {what}: they must agree."
        )
    if "" in names:
        raise LatentiaError(f"{option} {path}, line {names.index('') + 1}: empty, and a name is needed.")
    return names


# --- predicting and measuring -----------------------------------------------------------------------------------


class _Run:
    """A fitted model, what it predicts for the test rows, and how good that is: known once `write` has been called."""

    def __init__(self, model: MomentMultiLabelClassifier, data: _Data, n_top: int, seconds: float, progress: bool):
        self.model, self.data, self.n_top, self.progress = model, data, n_top, progress
        self.training, self.predicting = seconds, 0.0
        self.measures: list[_Measure] = []

    def write(self, folder: Path) -> None:
        """Write every file of the results."""
        from ..report import write_labels_report

        persistence.save(self.model, folder / "model.npz")
        _write_topics(folder / "topics.csv", self.model, self.data.words)
        _write_labels(folder / "labels.csv", self.model, self.data.labels)
        write_evidence(folder / "evidence.csv", self.model.evidence_)
        if self.data.test is not None:
            self._predict(folder, self.data.test)
        write_labels_report(
            folder / "report.html", self.model, self.data.test, vocabulary=self.data.words, label_names=self.data.labels,
            measures=[vars(measure) for measure in self.measures], facts=self._facts(),
            title=f"Labels of {self.data.source}", source=self.data.source,
        )  # fmt: skip

    def summary(self) -> list[str]:
        """What it took, in sentences."""
        lines = [f"Learned in {self.training:.1f} seconds and {self.model.n_passes_} passes over the data."]
        if memory := _peak_memory():
            lines[0] = lines[0][:-1] + f"; {memory} of memory at most."
        if self.data.test is not None:
            lines.append(
                f"Predicted {count(self.data.test.n_rows, 'row')} in {self.predicting:.2f} seconds, "
                f"{self._speed():,.0f} rows a second."
            )
        return lines

    def _facts(self) -> list[tuple[str, str]]:
        """Headline numbers for the report."""
        train, test = self.data.train, self.data.test
        found = [
            ("rows learned from", f"{train.n_rows:,}"), ("words", f"{train.shapes[0][1]:,}"),
            ("labels", f"{train.shapes[1][1]:,}"), ("passes over the data", str(self.model.n_passes_)),
            ("to learn", f"{self.training:.1f} s"),
        ]  # fmt: skip
        if memory := _peak_memory():
            found.append(("of memory at most", memory))
        if test is not None:
            found += [("rows tested on", f"{test.n_rows:,}"), ("rows predicted per second", f"{self._speed():,.0f}")]
        return found

    def _speed(self) -> float:
        return 0.0 if self.data.test is None else self.data.test.n_rows / max(self.predicting, 1e-9)

    def _predict(self, folder: Path, test: Blocks) -> None:
        """Write the best labels of every test row as they are found, keep the first few, and measure these."""
        kept: list[np.ndarray] = []
        header = ["row", "rank", "label", "score", "probability"]
        write_csv(folder / "predictions.csv", header, self._predictions(test, kept))
        self.measures = [
            *_auc_measures(self.model, test),
            *_ranking_measures(self.model, test, np.concatenate(kept), self.data.train.n_rows),
        ]
        rows = [[m.name, _cell(m.value), _cell(m.plain), m.rows, m.meaning] for m in self.measures]
        write_csv(folder / "metrics.csv", ["metric", "value", "most frequent labels", "rows", "meaning"], rows)

    def _predictions(self, test: Blocks, kept: list[np.ndarray]) -> Iterator[list[Any]]:
        blocks: Any = range(len(test))
        if self.progress:
            blocks = track(blocks, "predicting", console=Console(stderr=True), transient=True)
        for number in blocks:
            block, start = test[number], perf_counter()
            found, scores = self.model.top_labels(Blocks.from_array(block[0]), max(self.n_top, *_AT))
            self.predicting += perf_counter() - start
            kept.append(found[:, : max(_AT)])
            probability = self.model._probability(scores)
            for row, *best in zip(block.rows + 1, found, scores, probability, strict=True):
                for rank, (label, score, p) in enumerate(zip(*best, strict=True), 1):
                    if rank > self.n_top:
                        break
                    yield [row, rank, self.data.labels.short(label), f"{score:.6g}", f"{p:.6g}"]


def _auc_measures(model: MomentMultiLabelClassifier, test: Blocks) -> list[_Measure]:
    """Document-averaged AUC, which needs all scores: of all rows, or of a sample of them."""
    n_labels = test.shapes[1][1]
    most = max(1, _MOST_SCORES // n_labels)
    chosen = np.arange(test.n_rows)
    if test.n_rows > most:
        chosen = np.sort(np.random.default_rng(0).choice(test.n_rows, most, replace=False))
    found: list[np.ndarray] = []
    for block in test:
        own = chosen[(chosen >= block.start) & (chosen < block.start + len(block.rows))] - block.start
        for rows in np.array_split(own, -(-len(own) * n_labels // _CHUNK_SCORES) or 1):
            if len(rows):
                Y = sparse.csr_array(block[1])[rows]
                scores = model.decision_function(Blocks.from_array(sparse.csr_array(block[0])[rows]))
                plain = np.broadcast_to(model.label_frequencies_, scores.shape)
                found.append(np.stack([document_auc(Y, s, model.n_jobs) for s in (scores, plain)]))
    values = np.concatenate(found, axis=1)
    known = np.isfinite(values[0])
    sampled = f" On a random sample of {len(chosen):,} of {test.n_rows:,} rows." if len(chosen) < test.n_rows else ""
    meaning = (
        "How often a label of the row is ranked before one it lacks, averaged over rows: 0.5 is guessing, 1 perfect."
    )
    return [_Measure("document-averaged AUC", *_means(values), int(known.sum()), meaning + sampled)]


def _ranking_measures(
    model: MomentMultiLabelClassifier, test: Blocks, top: np.ndarray, n_train: int
) -> Iterator[_Measure]:
    """Precision, nDCG and propensity-scored precision of the first labels."""
    Y = sparse.vstack([sparse.csr_array(block[1]) for block in test], format="csr")
    frequent = np.broadcast_to(largest(model.label_frequencies_, top.shape[1]), top.shape)
    at = [(k, "label" if k == 1 else f"{k} labels") for k in _AT if k <= top.shape[1]]
    labelled = int((np.diff(Y.indptr) > 0).sum())
    for k, first in at:
        both = np.stack([precision_at_k(Y, ranked, k) for ranked in (top, frequent)])
        meaning = f"Of the first {first} that are predicted, the share that the row has."
        yield _Measure(f"precision@{k}", *_means(both), len(top), meaning if k > 1 else _FIRST)
    for k, first in at:
        both = np.stack([ndcg_at_k(Y, ranked, k) for ranked in (top, frequent)])
        meaning = f"Hits among the first {first}, early ones counting more, as a share of the most there can be."
        yield _Measure(f"nDCG@{k}", *_means(both), labelled, meaning if k > 1 else _FIRST_OF_LABELLED)
    if n_train < 3:
        return  # the model of propensities is for more
    p = propensities(np.rint(model.label_frequencies_ * n_train), n_train)
    for k, first in at:
        value, plain = (propensity_scored_precision_at_k(Y, ranked, k, p) for ranked in (top, frequent))
        meaning = f"Hits among the first {first}, rare labels counting more, as a share of the most there can be."
        yield _Measure(f"propensity-scored precision@{k}", value, plain, len(top), meaning)


def _means(values: np.ndarray) -> tuple[float, float]:
    """Means of the two rows over what is not NaN; NaN where that is nothing."""
    known = np.isfinite(values[0])
    first, second = values[:, known].mean(axis=1) if known.any() else (float("nan"), float("nan"))
    return float(first), float(second)


def _peak_memory() -> str:
    """The most memory that this process has held, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9:.1f} GB"


# --- printing ---------------------------------------------------------------------------------------------------


def _print_measures(measures: Sequence[_Measure], console: Console) -> None:
    if not measures:
        return
    table = Table(title="On the test rows")
    table.add_column("metric")
    for name in ("value", "most frequent labels", "rows"):
        table.add_column(name, justify="right")
    for m in measures:
        table.add_row(m.name, _cell(m.value), _cell(m.plain), f"{m.rows:,}")
    console.print(table)
    for m in measures:
        if "sample" in m.meaning:
            console.print(f"{m.name}: {m.meaning.split('. ')[-1]}", highlight=False)


def _cell(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else ""


# --- writing ----------------------------------------------------------------------------------------------------


def _write_topics(path: Path, model: MomentMultiLabelClassifier, words: Names) -> None:
    """The most probable words of every topic."""
    overall, rows = model.weights_ @ model.word_probabilities_, []
    for i, probabilities in enumerate(model.word_probabilities_):
        first = [i, f"{model.weights_[i]:.6f}", error_cell(model.evidence_.component_errors, i)]
        for rank, w in enumerate(largest(probabilities, _TOPIC_WORDS), 1):
            lift = probabilities[w] / max(overall[w], 1e-300)
            rows.append([*first, rank, words.short(w), f"{probabilities[w]:.8f}", f"{lift:.4f}"])
    header = ["topic", "share", "expected error (l1 of 2)", "rank", "word", "probability", "lift"]
    write_csv(path, header, rows)


def _write_labels(path: Path, model: MomentMultiLabelClassifier, labels: Names) -> None:
    """The most probable labels of every topic."""
    rows = [
        [i, rank, labels.short(label), f"{probabilities[label]:.8f}", f"{model.label_frequencies_[label]:.8f}"]
        for i, probabilities in enumerate(model.label_probabilities_)
        for rank, label in enumerate(largest(probabilities, _TOPIC_LABELS), 1)
    ]
    write_csv(path, ["topic", "rank", "label", "probability", "share of all rows"], rows)
