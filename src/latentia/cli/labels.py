"""``latentia labels``: a multi-label classifier of text on disk, as tables, a model and a report.

Rows are counts with labels in svmlight files, or texts with tags in CSV files and workbooks.
"""

from __future__ import annotations

import contextlib
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import MultiLabelBinarizer

from .._progress import progress_bar
from .._validation import column_names
from ..datasets.readers import Corpus, Texts, count_words, read_lines, read_texts, split_tags
from ..datasets.separated import has_columns
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..moments.counts import as_counts, check_counts
from ..multilabel import MomentMultiLabelClassifier
from ..multilabel.measures import AT, auc_measure, ranking_measures
from ..passes import Blocks
from ..passes.formats import open_text, reusable
from ..report.labels import Names, summarize_labels
from ..report.parts import count
from ..summaries import Summary, write_csv
from ._shared import (
    Comparison,
    Reading,
    Refine,
    Rows,
    Run,
    check_choice,
    existing,
    highest,
    hold_out,
    learn,
    named,
    parse_sizes,
    possible_sizes,
    refuse_options,
    say,
    sizes_help,
)  # fmt: skip
from ._texts import Column, MaxDf, MinDf, StopWords, kept_options, read_known, word_options

__all__ = ["apply_labels", "labels"]

_PREDICTIONS = "predictions.csv"
_TAGS = frozenset(["tag", "tags", "label", "labels", "keywords", "categories", "category"])
_FEWEST_HELD = 20  # rows of which some are held out
_HEADS = "row", "rank", "label", "score", "probability"

_FORMATS = "svmlight, Extreme Classification Repository, or a CSV file or workbook of texts and tags"
_HEAD = "auto, ridge, logistic, full or bayes: what predicts; auto compares, bayes is the topics alone."
_NO_TOPICS = typer.Option("--no-topics", help="Learn to predict alone: no topics, and none of their files.")
_MOMENTS = "auto, occurrence, factorial or paper: how words are looked at."
_WORDS = typer.Option("--vocabulary", "--words", help="Words of a table of counts, one per line.")
_TAGS_OF = "Column of tags of a CSV file or workbook: several are separated by ; | or commas."
_FIRST = typer.Option("--zero-based/--one-based", help="From where words and labels are counted.")
_FIRST_LABEL = typer.Option("--labels-zero-based/--labels-one-based", help="The same for labels, where words differ.")


def labels(
    run: Run,
    source: Annotated[Path, typer.Argument(help=f"Rows with labels to learn from: {_FORMATS}.")],
    test: Annotated[Path | None, typer.Option("--test", help="Rows to predict labels of, in the same format.")] = None,
    k: Annotated[
        str, typer.Option("-k", "--topics", help=sizes_help("topics, and directions of the ridge head"))
    ] = "50",
    head: Annotated[str, typer.Option(help=_HEAD)] = "auto",
    no_topics: Annotated[bool, _NO_TOPICS] = False,
    moments: Annotated[str, typer.Option(help=_MOMENTS)] = "auto",
    refine: Refine = "0",
    top: Annotated[int, typer.Option(help="Labels written for every row of --test.", min=1)] = 5,
    label_names: Annotated[Path | None, typer.Option("--labels", help="Names of the labels, one per line.")] = None,
    word_names: Annotated[Path | None, _WORDS] = None,
    column: Column = None,
    tags: Annotated[str | None, typer.Option(help=_TAGS_OF)] = None,
    stop_words: StopWords = None,
    min_df: MinDf = None,
    max_df: MaxDf = None,
    zero_based: Annotated[bool | None, _FIRST] = None,
    labels_zero_based: Annotated[bool | None, _FIRST_LABEL] = None,
) -> dict[str, Any]:
    """Learn which labels text has, predict those of new text, and write tables, a model and a report."""
    sizes = parse_sizes(k, "topics")
    check_choice("--head", head, ("auto", "ridge", "logistic", "full", "bayes"))
    check_choice("--moments", moments, ("auto", "occurrence", "factorial", "paper"))
    if no_topics and (head == "bayes" or len(sizes) > 1):
        what = "--head bayes predicts with the topics" if head == "bayes" else "-k compares numbers of topics"
        raise LatentiaError(f"--no-topics: {what}; leave one of them out.")
    results = run.results(source, "labels.csv", "metrics.csv", _PREDICTIONS, "topics.csv")
    for path, option in ((source, ""), (test, "--test ")):
        if path is not None and not path.exists():
            raise LatentiaError(f"{option}{path}: no such file.")
    how, words = run.reading(), word_options(stop_words, min_df, max_df)
    numbers = {"zero_based": zero_based, "labels_zero_based": labels_zero_based}
    texts = {"column": column, "tags": tags, "stop_words": stop_words, "min_df": min_df, "max_df": max_df}
    if has_columns(source):
        given = {"labels": label_names, "vocabulary": word_names, **numbers}
        refuse_options(source, "its words and tags have names", **given)
        data, reading = _read_posts(source, test, (column, tags), words, how), {"column": column} | kept_options(words)
    else:
        refuse_options(source, "it holds counts of words, and is no table of texts", **texts)
        known = {name: value for name, value in numbers.items() if value is not None}
        data = _read(source, test, known, (word_names, label_names), how)
        reading = _of_others(source, known) | {"first_label": data.labels.first}
    described = f"{source.name}: {', '.join(map(count, data.size, ('row', 'word', 'label')))}"
    say(run.console, described)
    sizes = possible_sizes(sizes, min(data.size[:2]), described, "topics", run.console)
    options = run.parameters | {
        "head": head, "topics": not no_topics, "moments": moments, "refine": refine, "vocabulary": data.words.given,
        "label_names": data.labels.given,
    }  # fmt: skip
    learned = _Learned(data, options, top)
    return learn(
        results, source.name, sizes, learned.fit, learned.summary, reading=reading | {"top": top},
        compare=learned.comparison, first=learned.test, said=learned.said,
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Data:
    """What was read: rows of words and labels to learn from and to test on, and names.

    Where ``held`` is true the rows to test on are some of the others, and a model of the rest is tested. ``lines`` are the
    places of the rows to test on in their file, where these are not their numbers.
    """

    source: str
    train: Blocks
    words: Names
    labels: Names
    test: Blocks | None = None
    held: bool = False
    lines: list[str] | None = None

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers of rows, words and labels."""
        return self.train.n_rows, self.train.shapes[0][1], self.train.shapes[1][1]

    def measured(self) -> tuple[Blocks, Blocks, str]:
        """Rows that a model is learned from and measured on, where one is, and what the latter are."""
        if self.test is None or self.held:
            return *hold_out(self.train, self.source), "one row in ten"
        return self.train, self.test, "the rows of --test"


def _read(
    source: Path, test: Path | None, numbers: dict[str, Any], names: tuple[Path | None, Path | None], how: Reading
) -> _Data:
    """Everything that the command needs, checked as far as that takes no fit."""
    train = _open(source, numbers, how)
    if len(train.shapes) < 2 or not train.shapes[1][1]:
        raise LatentiaError(f"{source}: there are no labels in it. A line is 'label,label word:value word:value ...'.")
    sizes = train.shapes[0][1], train.shapes[1][1]
    words = _names(names[0], "--vocabulary", sizes[0], "words", source, how.encoding)
    labels = _names(names[1], "--labels", sizes[1], "labels", source, how.encoding)
    tested = None
    if test is not None:
        tested = _open_like(test, "--test ", sizes, str(source), _of_others(source, numbers), how)
        with named(str(test)):
            for block in tested:
                check_counts(as_counts(block[0]), block.rows)
    first = numbers.get("zero_based", True)
    named_words = Names("word", train.names if words is None else words, int(not first))
    named_labels = Names("label", labels, int(not numbers.get("labels_zero_based", first)))
    return _Data(source.name, train, named_words, named_labels, tested)


def _of_others(source: Path, numbers: dict[str, Any]) -> dict[str, Any]:
    """From where other files count: what could be read without saying so counts from 0, unless it was read before."""
    return ({} if source.is_dir() else {"zero_based": True}) | numbers


def _open(path: Path, options: dict[str, Any], how: Reading) -> Blocks:
    with named(str(path)):
        if path.is_dir():
            return Blocks.from_files(path)
        return Blocks.from_files(path, format="svmlight", cache=how.cache, progress=how.progress, **options)


def _open_like(
    path: Path, option: str, sizes: tuple[int, int | None], other: str, options: dict[str, Any], how: Reading
) -> Blocks:
    """A file with as many words, and labels unless these are None, as ``other`` has, which is learned from."""
    with reusable(path) as file:
        promised = None if file.is_dir() else _promised(file)
        if promised is not None:
            _check_sizes(f"{option}{path}", promised, other, sizes)
        else:
            options = options | {"n_features": sizes[0]} | ({} if sizes[1] is None else {"n_labels": sizes[1]})
        blocks = _open(file, options, how if file == path else replace(how, cache=False))
    _check_sizes(f"{option}{path}", tuple(shape[1] for shape in blocks.shapes[:2]), other, sizes)
    return blocks


def _promised(path: Path) -> tuple[int, ...] | None:
    """Numbers of words and labels that the first line of a file states, if it does."""
    with contextlib.suppress(OSError, EOFError, zlib.error), open_text(path) as file:  # the reader names these
        first = file.readline(1 << 16).split()
        if len(first) == 3 and all(re.fullmatch(rb"\d{1,18}", number) for number in first):
            return int(first[1]), int(first[2])
    return None


def _check_sizes(path: str, found: tuple[int, ...], other: str, sizes: tuple[int, int | None]) -> None:
    """Raise unless the numbers of words, and of labels unless these are None, are those of ``other``."""
    has, needed = [count(found[0], "word")], [count(sizes[0], "word")]
    if sizes[1] is not None:
        has.append(count(found[1], "label") if len(found) > 1 else "no labels")
        needed.append(count(sizes[1], "label"))
    if has != needed:
        raise LatentiaError(
            f"{path}: has {' and '.join(has)}, and {other} {' and '.join(needed)}: they must agree. Rows to predict are "
            "counted in the words and labels of those learned from."
        )


def _names(
    path: Path | None, option: str, needed: int, what: str, source: Path, encoding: str | None
) -> list[str] | None:
    """The names in a file, one a line, which must be as many as there are columns."""
    if path is None:
        return None
    names = [name.strip() for name in read_lines(existing(path, option), encoding)]
    while names and not names[-1]:
        names.pop()
    if len(names) != needed:
        found = f"{count(len(names), 'name')}, and {source} has {needed:,} {what}"
        raise LatentiaError(f"{option} {path}: {found}: they must agree.")
    if "" in names:
        raise LatentiaError(f"{option} {path}, line {names.index('') + 1}: empty, and a name is needed.")
    return names


# --- reading texts and tags -------------------------------------------------------------------------------------


def _texts(
    path: Path, columns: tuple[str | None, str | None], how: Reading, option: str = ""
) -> tuple[Texts, list[list[str]]]:
    """The texts of a file, and the tags of each; ``columns`` are those of texts and of tags, where options name them."""
    texts = read_texts(path, column=columns[0], encoding=how.encoding)
    there = f"Besides the texts there {'are ' + ', '.join(texts.columns) if texts.columns else 'is no other column'}"
    known = [name for name in texts.columns if name.strip().lower() in _TAGS] if columns[1] is None else [columns[1]]
    if not {*known} <= {*texts.columns}:
        raise LatentiaError(f"--tags {columns[1]}: {path} has no such column. {there}.")
    if len(known) != 1:
        raise LatentiaError(f"{path}: which column holds the tags? {there}; name one with --tags.")
    found = split_tags(texts.columns[known[0]])
    if not any(found):
        raise LatentiaError(f"{option}{path}: there are no tags in it.")
    return texts, found


def _read_posts(
    source: Path, test: Path | None, columns: tuple[str | None, str | None], words: dict[str, Any], how: Reading
) -> _Data:
    """Texts and their tags, counted; without other rows to test on one in ten. ``words`` chooses those that are counted."""
    texts, tags = _texts(source, columns, how)
    corpus, names = count_words(texts, **words), sorted(set().union(*tags))
    vocabulary = [str(word) for word in corpus.vocabulary or ()]
    train = _blocks(corpus, tags, names, vocabulary)
    data = _Data(source.name, train, Names("word", vocabulary), Names("label", names), lines=corpus.names)
    if test is None:
        held = hold_out(train, source.name)[1] if train.n_rows >= _FEWEST_HELD else None
        return replace(data, test=held, held=held is not None)
    others, found = _texts(test, columns, how, "--test ")
    new = sorted(set().union(*found).difference(names))
    if new:
        some = ", ".join(new[:5]) + (", ..." if len(new) > 5 else "")
        what = f"{count(len(new), 'tag')} that no row learned from has, and that cannot be predicted"
        warn(f"{test}: {what}: {some}.", DroppedDataWarning)
    known = {name: value for name, value in words.items() if name in ("stop_words", "language")}
    counted = count_words(others, **known, words=vocabulary)
    kept = [[tag for tag in one if tag not in new] for one in found]
    return replace(data, test=_blocks(counted, kept, names, vocabulary), lines=counted.names)


def _blocks(corpus: Corpus, tags: Sequence[Sequence[str]], names: list[str], vocabulary: list[str]) -> Blocks:
    """The words of texts, and which of the names each has."""
    table = sparse.csr_array(MultiLabelBinarizer(classes=names, sparse_output=True).fit_transform(tags))
    table.sort_indices()
    return Blocks.from_array(corpus.counts, table.astype(np.float64), names=vocabulary)


# --- learning, predicting and measuring -------------------------------------------------------------------------


@dataclass
class _Predicted:
    """What is kept of predictions: the first labels of every row, block by block, and how long it took."""

    first: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Learned:
    """Fits, predictions for the test rows and how good they are: known once `test` has been called."""

    data: _Data
    options: dict[str, Any]
    top: int
    seconds: float = 0.0
    predicted: _Predicted = field(default_factory=_Predicted)
    measures: list[dict[str, Any]] = field(default_factory=list)

    def fit(self, size: int | None) -> Any:
        """The model of all rows, and how long it takes."""
        start = perf_counter()
        model = MomentMultiLabelClassifier(size, **self.options).fit(self.data.train)  # type: ignore[arg-type]
        self.seconds = perf_counter() - start
        return model

    def comparison(self) -> Comparison:
        """Measures on the rows of --test, or else models of nine tenths of the rows and measures on the others."""
        (train, test, what), options = self.data.measured(), self.options | {"verbose": False}

        def measure(model: Any) -> dict[str, Any]:
            first = next(ranking_measures(model, test, model.top_labels(test, 1)[0]))
            return {"precision@1": first["value"], "document AUC": auc_measure(model, test)["value"]}

        return Comparison(
            "topics", what, lambda size: MomentMultiLabelClassifier(size, **options).fit(train), measure,
            highest("precision@1", "{} topics have the highest held-out precision@1 and are fitted on all rows."),
        )  # fmt: skip

    def test(self, folder: Path, model: Any) -> None:
        """Write the best labels of every test row as they are found, keep the first few, and measure these."""
        data, test = self.data, self.data.test
        if test is None:
            return
        if data.held:  # a model of the same kind that has not seen them
            model = clone(model).set_params(n_components=model.n_components, verbose=False).fit(data.measured()[0])
        progress = bool(self.options["verbose"])
        found = _predictions(model, test, data.labels, self.top, progress, self.predicted, data.lines)
        write_csv(folder / _PREDICTIONS, _HEADS, found)
        first = np.concatenate(self.predicted.first)
        self.measures = [auc_measure(model, test), *ranking_measures(model, test, first, data.train.n_rows)]

    def summary(self, model: Any, comparison: Rows | None) -> Summary:
        """What the page says, and files."""
        data = self.data
        return summarize_labels(
            model, None if data.held else data.test, vocabulary=data.words, label_names=data.labels,
            measures=self.measures, facts=self._facts(model), comparison=comparison, title=f"Labels of {data.source}",
            tested="On one row in ten, by a model of the others" if data.held else "On the test rows",
            source=data.source, label_sets=data.train,
        )  # fmt: skip

    def said(self, model: Any) -> Iterator[str]:
        """What it took, and what predicts."""
        memory = f"; {_peak_memory()} of memory at most" if _peak_memory() else ""
        yield f"Learned in {self.seconds:.1f} seconds and {model.n_passes_} passes over the data{memory}."
        if model.head_ != "bayes":
            yield f"Labels are predicted by {model.evidence_['head'].measured}."
        if self.data.test is not None:
            rows, seconds = count(self.data.test.n_rows, "row"), self.predicted.seconds
            yield f"Predicted {rows} in {seconds:.2f} seconds, {self.speed} rows per second."

    def _facts(self, model: Any) -> list[tuple[str, str]]:
        """Headline numbers for the report."""
        sizes = zip(("rows learned from", "words", "labels"), (f"{size:,}" for size in self.data.size), strict=True)
        took = ("to learn", f"{self.seconds:.1f} s"), ("of memory at most", _peak_memory())
        found = [*sizes, ("passes over the data", str(model.n_passes_)), *took]
        if self.data.test is not None:
            found += [("rows tested on", f"{self.data.test.n_rows:,}"), ("rows predicted per second", self.speed)]
        return [fact for fact in found if fact[1]]

    @property
    def speed(self) -> str:
        """Rows predicted per second."""
        return f"{sum(map(len, self.predicted.first)) / max(self.predicted.seconds, 1e-9):,.0f}"


def _predictions(
    model: Any, rows: Blocks, labels: Names, n_top: int, progress: bool, seen: _Predicted, lines: list[str] | None = None
) -> Iterator[list[Any]]:  # fmt: skip
    """The best labels of every row, as they are found; ``seen`` keeps the first few."""
    with progress_bar(progress and "predicting", rows.n_rows, "rows") as advance:
        for block in rows:
            start = perf_counter()
            found, scores = model.top_labels(Blocks.from_array(block[0]), max(n_top, *AT))
            seen.seconds += perf_counter() - start
            seen.first.append(found[:, : max(AT)])
            kept = (found[:, :n_top], scores[:, :n_top], model.probability_of(scores)[:, :n_top])
            for row, *best in zip(block.rows, *kept, strict=True):
                place = row + 1 if lines is None else lines[row]
                for rank, (label, score, p) in enumerate(zip(*best, strict=True), 1):
                    yield [place, rank, labels.short(label), f"{score:.6g}", f"{p:.6g}"]
            advance(len(block.rows))


def _peak_memory() -> str:
    """The most memory that this process has held, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9:.1f} GB"


# --- applying ---------------------------------------------------------------------------------------------------


def apply_labels(
    model: Any, source: Path, console: Console, how: Reading, column: str | None = None, split: str | None = None
) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their labels."""
    reading = model.reading_ or {"zero_based": True}
    lines: list[str] | None = None
    if "column" in reading:
        corpus = read_known(source, model, column_names(model), console, how, column, split)
        rows, lines = corpus.blocks, corpus.names
    else:
        if column is not None or split is not None:
            raise LatentiaError("--column and --split: the model was not learned from texts; leave them out.")
        numbers = {name: reading[name] for name in ("zero_based", "labels_zero_based") if name in reading}
        rows = _open_like(source, "", (model.n_features_in_, None), "the model", numbers, how)
    say(console, f"{source.name}: {count(rows.n_rows, 'row')}, {count(rows.shapes[0][1], 'word')}")
    names = model.label_names if "top" in reading else model.names_of_labels
    labels, top = Names("label", names, reading.get("first_label", 0)), reading.get("top", 5)
    found = _predictions(model, rows, labels, top, how.progress, _Predicted(), lines)
    return lambda path: write_csv(path, _HEADS, found)
