"""``latentia labels``: a multi-label classifier of text on disk, as tables, a model and a report.

Rows are counts with labels in svmlight files, or texts with tags in CSV files and workbooks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from .._validation import column_names
from ..datasets.labelled import Labelled, read_labelled, read_rows
from ..exceptions import LatentiaError
from ..multilabel import MomentMultiLabelClassifier
from ..multilabel.measures import AT, auc_measure, ranking_measures
from ..passes import Blocks
from ..reading import has_columns
from ..report.labels import Names, summarize_labels
from ..report.parts import count
from ..summaries import Summary, write_csv
from ..system.progress import progress_bar
from ..system.terminal import say
from ._records import LabelsOptions
from ._shared import (
    Comparison,
    ReadOptions,
    highest,
    hold_out,
    learn,
    parse_sizes,
    refuse_options,
)
from ._texts import read_known, reading_options, word_options

_PREDICTIONS = "predictions.csv"
_MIN_ROWS_TO_HOLD_OUT = 20  # rows of which some are held out
_HEADER = "row", "rank", "label", "score", "probability"


def labels(run: LabelsOptions) -> dict[str, Any]:
    """Learn which labels text has, predict those of new text, and write tables, a model and a report."""
    sizes = parse_sizes(run.k, "topics")
    if run.no_topics and (run.head == "bayes" or len(sizes) > 1):
        conflict = "--head bayes predicts with the topics" if run.head == "bayes" else "-k compares numbers of topics"
        raise LatentiaError(f"--no-topics: {conflict}; leave one of them out.")
    results = run.results(run.source, "labels.csv", "metrics.csv", _PREDICTIONS, "topics.csv")
    for path, option in ((run.source, ""), (run.test, "--test ")):
        if path is not None and not path.exists():
            raise LatentiaError(f"{option}{path}: no such file.")
    read_options, counting_options = run.reading(), word_options(run.stop_words, run.min_df, run.max_df, run.words)
    numbers = {"zero_based": run.zero_based, "labels_zero_based": run.labels_zero_based}
    texts = {name: getattr(run, name) for name in ("column", "tags", "stop_words", "min_df", "max_df", "words")}
    if has_columns(run.source):
        name_options = {"labels": run.label_names, "vocabulary": run.word_names, **numbers}
        refuse_options(run.source, "its words and tags have names", **name_options)
        options = {"column": run.column, "tags": run.tags} | counting_options
        reading = {"column": run.column} | reading_options(counting_options)
    else:
        refuse_options(run.source, "it holds counts of words, and is no table of texts", **texts)
        options, reading = numbers | {"vocabulary": run.word_names, "labels": run.label_names}, {}
    data = _read(run.source, run.test, options, read_options)
    if not has_columns(run.source):
        reading = data.train.counted | {"first_label": data.train.first[1]}
    described = f"{run.source.name}: {', '.join(map(count, data.train.size, ('row', 'word', 'label')))}"
    say(described)
    sizes = sizes.limit_to(min(data.train.size[:2]), described)
    parameters = run.parameters_of(MomentMultiLabelClassifier) | {
        "topics": not run.no_topics, "vocabulary": data.train.words, "label_names": data.train.labels,
    }  # fmt: skip
    learned = _Learning(data, parameters, run.top)
    return learn(
        results, run.source.name, sizes, learned.fit, learned.summary, reading=reading | {"top": run.top},
        compare=learned.comparison, write_first=learned.test, messages=learned.describe,
    )  # fmt: skip


@dataclass(frozen=True)
class _Data:
    """Rows to learn from, and to test on.

    If ``is_held_out``, the rows to test on are some of the training rows, and a model of the rest is tested. ``lines`` are the
    places of the test rows in their file, if these are not their numbers.
    """

    train: Labelled
    test: Blocks | None = None
    is_held_out: bool = False
    lines: list[str] | None = None

    @property
    def words(self) -> Names:
        """Names of the words."""
        return Names("word", self.train.words, self.train.first[0])

    @property
    def labels(self) -> Names:
        """Names of the labels."""
        return Names("label", self.train.labels, self.train.first[1])

    def split_for_comparison(self) -> tuple[Blocks, Blocks, str]:
        """Return rows to learn from and rows to measure on, with a description of the latter."""
        if self.test is None or self.is_held_out:
            return *hold_out(self.train.rows, self.train.source), "one row in ten"
        return self.train.rows, self.test, "the rows of --test"


def _read(source: Path, test: Path | None, options: dict[str, Any], read_options: ReadOptions) -> _Data:
    """Read and check all data of the command; of texts without test rows one in ten is held out."""
    options = options | {
        "encoding": read_options.encoding,
        "cache": read_options.cache,
        "progress": read_options.progress,
    }
    train = read_labelled(source, **options)
    test_rows = None if test is None else read_labelled(test, **options, like=train)
    if test_rows is not None:
        return _Data(train, test_rows.rows, lines=test_rows.names)
    if train.names is None or train.rows.n_rows < _MIN_ROWS_TO_HOLD_OUT:
        return _Data(train)
    return _Data(train, hold_out(train.rows, train.source)[1], True, train.names)


# --- learning, predicting and measuring -------------------------------------------------------------------------


@dataclass
class _Predictions:
    """Record of predictions: the first labels of every row, block by block, and the seconds they took."""

    first: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Learning:
    """Fits, predictions for the test rows, and their measures, known after a call of `test`."""

    data: _Data
    options: dict[str, Any]
    top: int
    seconds: float = 0.0
    predicted: _Predictions = field(default_factory=_Predictions)
    measures: list[dict[str, Any]] = field(default_factory=list)

    def fit(self, size: int | None) -> Any:
        """Fit the model of all rows, and measure the time."""
        start = perf_counter()
        model = MomentMultiLabelClassifier(size, **self.options).fit(self.data.train.rows)  # type: ignore[arg-type]
        self.seconds = perf_counter() - start
        return model

    def comparison(self) -> Comparison:
        """Compare numbers of topics on the rows of --test, else on one row in ten."""
        (train, test, tested_on), options = self.data.split_for_comparison(), self.options | {"verbose": False}

        def measure(model: Any) -> dict[str, Any]:
            first = next(ranking_measures(model, test, model.top_labels(test, 1)[0]))
            return {"precision@1": first["value"], "document AUC": auc_measure(model, test)["value"]}

        return Comparison(
            "topics", tested_on, lambda size: MomentMultiLabelClassifier(size, **options).fit(train), measure,
            highest("precision@1", "{} topics have the highest held-out precision@1 and are fitted on all rows."),
            by_grade=False,
        )  # fmt: skip

    def test(self, folder: Path, model: Any) -> None:
        """Write the best labels of every test row, keep the first few, and measure these."""
        data, test = self.data, self.data.test
        if test is None:
            return
        if data.is_held_out:  # fit a model of the same kind without the test rows
            model = (
                clone(model)
                .set_params(n_components=model.n_components, verbose=False)
                .fit(data.split_for_comparison()[0])
            )
        progress = bool(self.options["verbose"])
        predictions = _predictions(model, test, data.labels, self.top, progress, self.predicted, data.lines)
        write_csv(folder / _PREDICTIONS, _HEADER, predictions)
        first = np.concatenate(self.predicted.first)
        self.measures = [auc_measure(model, test), *ranking_measures(model, test, first, data.train.rows.n_rows)]

    def summary(self, model: Any, _: Any) -> Summary:
        """Summarise the model for the page and files."""
        data = self.data
        return summarize_labels(
            model, None if data.is_held_out else data.test, vocabulary=data.words, label_names=data.labels,
            measures=self.measures, facts=self._facts(model),
            tested="On one row in ten, by a model of the others" if data.is_held_out else "On the test rows",
            label_sets=data.train.rows,
        )  # fmt: skip

    def describe(self, model: Any) -> Iterator[str]:
        """Yield lines on cost, head and predictions."""
        memory = f"; {_peak_memory()} of memory at most" if _peak_memory() else ""
        yield f"Learned in {self.seconds:.1f} seconds and {model.n_passes_} passes over the data{memory}."
        if model.head_ != "bayes":
            yield f"Labels are predicted by {model.evidence_['head'].measured}."
        if self.data.test is not None:
            rows, seconds = count(self.data.test.n_rows, "row"), self.predicted.seconds
            yield f"Predicted {rows} in {seconds:.2f} seconds, {self.speed} rows per second."

    def _facts(self, model: Any) -> list[tuple[str, str]]:
        """List the headline numbers of the report."""
        sizes = zip(
            ("rows learned from", "words", "labels"), (f"{size:,}" for size in self.data.train.size), strict=True
        )
        cost = ("to learn", f"{self.seconds:.1f} s"), ("of memory at most", _peak_memory())
        facts = [*sizes, ("passes over the data", str(model.n_passes_)), *cost]
        if self.data.test is not None:
            facts += [("test rows", f"{self.data.test.n_rows:,}"), ("rows predicted per second", self.speed)]
        return [fact for fact in facts if fact[1]]

    @property
    def speed(self) -> str:
        """Rows predicted per second."""
        return f"{sum(map(len, self.predicted.first)) / max(self.predicted.seconds, 1e-9):,.0f}"


def _predictions(
    model: Any, rows: Blocks, labels: Names, n_top: int, progress: bool, record: _Predictions, lines: list[str] | None = None
) -> Iterator[list[Any]]:  # fmt: skip
    """Yield the best labels of every row; ``record`` keeps the first few."""
    with progress_bar(progress and "predicting", rows.n_rows, "rows") as advance:
        for block in rows:
            start = perf_counter()
            labels_of_rows, scores = model.top_labels(Blocks.from_array(block[0]), max(n_top, *AT))
            record.seconds += perf_counter() - start
            record.first.append(labels_of_rows[:, : max(AT)])
            written = (labels_of_rows[:, :n_top], scores[:, :n_top], model.probability_of(scores)[:, :n_top])
            for row, *best in zip(block.rows, *written, strict=True):
                place = row + 1 if lines is None else lines[row]
                for rank, (label, score, p) in enumerate(zip(*best, strict=True), 1):
                    yield [place, rank, labels.short(label), f"{score:.6g}", f"{p:.6g}"]
            advance(len(block.rows))


def _peak_memory() -> str:
    """Return the peak memory of this process, if the system reports it."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9:.1f} GB"


# --- applying ---------------------------------------------------------------------------------------------------


def apply_labels(
    model: Any, source: Path, read_options: ReadOptions, column: str | None = None, split: str | None = None
) -> Callable[[Path], object]:
    """Read other rows; return the function that writes their labels."""
    reading = model.reading_ or {"zero_based": True}
    lines: list[str] | None = None
    if "column" in reading:
        corpus = read_known(source, model, column_names(model), read_options, column, split)
        rows, lines = corpus.blocks, corpus.names
    else:
        if column is not None or split is not None:
            raise LatentiaError("--column and --split need a model of texts. Leave them out.")
        numbers = {name: reading[name] for name in ("zero_based", "labels_zero_based") if name in reading}
        rows = read_rows(
            source, model.n_features_in_, **numbers, cache=read_options.cache, progress=read_options.progress
        )
    say(f"{source.name}: {count(rows.n_rows, 'row')}, {count(rows.shapes[0][1], 'word')}")
    names = model.label_names if "top" in reading else model.names_of_labels
    labels, top = Names("label", names, reading.get("first_label", 0)), reading.get("top", 5)
    predictions = _predictions(model, rows, labels, top, read_options.progress, _Predictions(), lines)
    return lambda path: write_csv(path, _HEADER, predictions)
