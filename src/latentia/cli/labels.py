"""``latentia labels``: a multi-label classifier of text on disk, as tables, a model and a report.

Rows are counts with labels in svmlight files, or texts with tags in CSV files and workbooks.
"""

from __future__ import annotations

import contextlib
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse
from sklearn.base import clone

from .._progress import progress_bar
from .._validation import column_names
from ..datasets.readers import Texts, count_words, read_lines, read_texts, split_tags
from ..datasets.separated import has_columns
from ..exceptions import DroppedDataWarning, LatentiaError, warn
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
from ..passes.formats import open_text, reusable
from ..report.labels import Names
from ..report.parts import count, largest
from ._shared import (
    Cache,
    Comparison,
    Encoding,
    Force,
    FullEvidence,
    Jobs,
    NoCache,
    Out,
    Quiet,
    Reading,
    Refine,
    Results,
    Rows,
    Seed,
    check_choice,
    component_cells,
    existing,
    highest,
    hold_out,
    named,
    parse_sizes,
    possible_sizes,
    print_components,
    refuse_options,
    run_command,
    say,
    sizes_help,
    write_csv,
)
from ._texts import Column, MaxDf, MinDf, StopWords, kept_options, read_known, word_options

__all__ = ["apply_labels", "labels"]

_PREDICTIONS = "predictions.csv"
_FILES = ("labels.csv", "metrics.csv", _PREDICTIONS, "topics.csv")
_TAGS = frozenset(["tag", "tags", "label", "labels", "keywords", "categories", "category"])
_FEWEST_HELD = 20  # rows of which some are held out
_TOPIC_WORDS, _TOPIC_LABELS = 50, 20
_AT = (1, 3, 5)  # labels that are counted
_MOST_SCORES, _CHUNK_SCORES = 20_000_000, 1 << 22
_FIRST_OF_LABELLED = "The same as precision@1, over rows that have labels."
_FIRST = "How often the first label that is predicted is one that the row has."


@dataclass(frozen=True)
class _Numbers:
    """From where a file counts its words and labels; None where that was not said."""

    words_from_0: bool | None
    labels_from_0: bool | None

    def options(self) -> dict[str, bool]:
        """Those that were given, as the reader of files calls them."""
        given = {"zero_based": self.words_from_0, "labels_zero_based": self.labels_from_0}
        return {name: value for name, value in given.items() if value is not None}

    def known(self, source: Path) -> dict[str, bool]:
        """The same for other files: what could be read without saying so counts from 0, unless it was read before."""
        return ({} if source.is_dir() else {"zero_based": True}) | self.options()

    @property
    def first(self) -> tuple[int, int]:
        """Numbers of the first word and the first label in the files."""
        labels = self.words_from_0 if self.labels_from_0 is None else self.labels_from_0
        return int(self.words_from_0 is False), int(labels is False)


@dataclass(frozen=True)
class _Data:
    """What was read: rows of words and labels to learn from and to test on, and names.

    Where ``held`` is true the rows to test on are some of the others, and a model of the rest is tested. ``lines`` are the
    places of the rows to test on in their file, where these are not their numbers.
    """

    train: Blocks
    test: Blocks | None
    words: Names
    labels: Names
    source: str
    held: bool = False
    lines: list[str] | None = None

    @property
    def tested_on(self) -> str:
        return "one row in ten" if self.held else "the rows of --test"


@dataclass
class _Predicted:
    """What is kept of predictions: the first labels of every row, block by block, and how long it took."""

    first: list[np.ndarray] = field(default_factory=list)
    seconds: float = 0.0


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
        typer.Argument(
            help="Rows with labels to learn from: svmlight, Extreme Classification Repository, or a CSV file or workbook of "
            "texts and tags."
        ),
    ],
    test: Annotated[Path | None, typer.Option("--test", help="Rows to predict labels of, in the same format.")] = None,
    k: Annotated[
        str,
        typer.Option("-k", "--topics", help=sizes_help("topics, and directions of the ridge head")),
    ] = "50",
    out: Out = Path("labels"),
    head: Annotated[
        str,
        typer.Option(
            help="auto, ridge, logistic, full or bayes: what predicts; auto compares, bayes is the topics alone."
        ),
    ] = "auto",
    no_topics: Annotated[
        bool, typer.Option("--no-topics", help="Learn to predict alone: no topics, and none of their files.")
    ] = False,
    moments: Annotated[
        str, typer.Option(help="auto, occurrence, factorial or paper: how words are looked at.")
    ] = "auto",
    refine: Refine = "0",
    top: Annotated[int, typer.Option(help="Labels written for every row of --test.", min=1)] = 5,
    label_names: Annotated[Path | None, typer.Option("--labels", help="Names of the labels, one per line.")] = None,
    word_names: Annotated[
        Path | None, typer.Option("--vocabulary", "--words", help="Words of a table of counts, one per line.")
    ] = None,
    column: Column = None,
    tags: Annotated[
        str | None,
        typer.Option(help="Column of tags of a CSV file or workbook: several are separated by ; | or commas."),
    ] = None,
    stop_words: StopWords = None,
    min_df: MinDf = None,
    max_df: MaxDf = None,
    zero_based: Annotated[
        bool | None, typer.Option("--zero-based/--one-based", help="From where words and labels are counted.")
    ] = None,
    labels_zero_based: Annotated[
        bool | None,
        typer.Option("--labels-zero-based/--labels-one-based", help="The same for labels, where words differ."),
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Learn which labels text has, predict those of new text, and write tables, a model and a report."""
    sizes = parse_sizes(k, "topics")
    check_choice("--head", head, ("auto", "ridge", "logistic", "full", "bayes"))
    check_choice("--moments", moments, ("auto", "occurrence", "factorial", "paper"))
    if no_topics and (head == "bayes" or len(sizes) > 1):
        what = "--head bayes predicts with the topics" if head == "bayes" else "-k compares numbers of topics"
        raise LatentiaError(f"--no-topics: {what}; leave one of them out.")
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, encoding=encoding)
    numbers, console = _Numbers(zero_based, labels_zero_based), Console()
    words = word_options(stop_words, min_df, max_df)
    if has_columns(source):
        refuse_options(
            source, "its words and tags have names", labels=label_names, vocabulary=word_names, zero_based=zero_based,
            labels_zero_based=labels_zero_based,
        )  # fmt: skip
        posts = _Posts(column, tags, words, how)
        data, reading = _read_posts(source, test, posts), posts.reading()
    else:
        refuse_options(
            source, "it holds counts of words, and is no table of texts", column=column, tags=tags, stop_words=stop_words,
            min_df=min_df, max_df=max_df,
        )  # fmt: skip
        data = _read(source, test, numbers, (word_names, label_names), how)
        reading = numbers.known(source) | {"first_label": data.labels.first}
    described = f"{data.source}: {_described(data.train)}"
    say(console, described)
    sizes = possible_sizes(sizes, min(data.train.n_rows, data.train.shapes[0][1]), described, "topics", console)
    options: dict[str, Any] = {
        "head": head, "topics": not no_topics, "moments": moments, "refine": refine, "vocabulary": data.words.given,
        "label_names": data.labels.given, "random_state": seed, "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    run = _Run(data, options, top)
    return run_command(
        results, data.source, sizes, run.fit, run.show, run.write,
        reading=reading | {"top": top},
        compare=run.comparison,
    )  # fmt: skip


def _described(blocks: Blocks) -> str:
    return f"{count(blocks.n_rows, 'row')}, {count(blocks.shapes[0][1], 'word')}, {count(blocks.shapes[1][1], 'label')}"


# --- reading ----------------------------------------------------------------------------------------------------


def _read(
    source: Path, test: Path | None, numbers: _Numbers, names: tuple[Path | None, Path | None], how: Reading
) -> _Data:
    """Everything that the command needs, checked as far as that takes no fit."""
    for path, option in ((source, ""), (test, "--test ")):
        if path is not None and not path.exists():
            raise LatentiaError(f"{option}{path}: no such file.")
    train = _open(source, numbers.options(), how)
    if len(train.shapes) < 2 or not train.shapes[1][1]:
        raise LatentiaError(f"{source}: there are no labels in it. A line is 'label,label word:value word:value ...'.")
    sizes = train.shapes[0][1], train.shapes[1][1]
    words = _names(names[0], "--vocabulary", sizes[0], "words", source, how.encoding)
    labels = _names(names[1], "--labels", sizes[1], "labels", source, how.encoding)
    first = numbers.first
    tested = None
    if test is not None:
        tested = _open_like(test, "--test ", sizes, str(source), numbers.known(source), how)
        for block in tested:
            with named(str(test)):
                check_counts(as_counts(block[0]), block.rows)
    named_words = Names("word", words if words is not None else train.names, first[0])
    return _Data(train, tested, named_words, Names("label", labels, first[1]), source.name)


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
        raise LatentiaError(
            f"{option} {path}: {count(len(names), 'name')}, and {source} has {needed:,} {what}: they must agree."
        )
    if "" in names:
        raise LatentiaError(f"{option} {path}, line {names.index('') + 1}: empty, and a name is needed.")
    return names


# --- reading texts and tags -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Posts:
    """How a table of texts and tags is read; ``words`` chooses the words that are counted."""

    column: str | None
    tags: str | None
    words: dict[str, Any]
    how: Reading

    def reading(self) -> dict[str, Any]:
        return {"column": self.column} | kept_options(self.words)

    def texts(self, path: Path, option: str = "") -> tuple[Texts, list[list[str]]]:
        """The texts of a file, and the tags of each."""
        if not path.exists():
            raise LatentiaError(f"{option}{path}: no such file.")
        texts = read_texts(path, column=self.column, encoding=self.how.encoding)
        found = split_tags(texts.columns[self._tags_column(path, texts.columns)])
        if not any(found):
            raise LatentiaError(f"{option}{path}: there are no tags in it.")
        return texts, found

    def _tags_column(self, path: Path, columns: Mapping[str, Any]) -> str:
        there = f"Besides the texts there {'are ' + ', '.join(columns) if columns else 'is no other column'}"
        if self.tags is not None:
            if self.tags not in columns:
                raise LatentiaError(f"--tags {self.tags}: {path} has no such column. {there}.")
            return self.tags
        known = [name for name in columns if name.strip().lower() in _TAGS]
        if len(known) != 1:
            raise LatentiaError(f"{path}: which column holds the tags? {there}; name one with --tags.")
        return known[0]


def _read_posts(source: Path, test: Path | None, posts: _Posts) -> _Data:
    """Texts and their tags, counted; without other rows to test on one in ten."""
    texts, tags = posts.texts(source)
    corpus, names = count_words(texts, **posts.words), sorted({tag for found in tags for tag in found})
    words = [str(word) for word in corpus.vocabulary or ()]
    train = Blocks.from_array(corpus.counts, _tag_table(tags, names), names=words)
    data = _Data(train, None, Names("word", words), Names("label", names), source.name)
    if test is None:
        held = hold_out(train, source.name)[1] if train.n_rows >= _FEWEST_HELD else None
        return replace(data, test=held, held=held is not None, lines=corpus.names)
    others, found = posts.texts(test, "--test ")
    new = sorted({tag for each in found for tag in each} - set(names))
    if new:
        some = ", ".join(new[:5]) + (", ..." if len(new) > 5 else "")
        warn(
            f"{test}: {count(len(new), 'tag')} that no row learned from has, and that cannot be predicted: {some}.",
            DroppedDataWarning,
        )
    known = {name: value for name, value in posts.words.items() if name in ("stop_words", "language")}
    counted = count_words(others, **known, words=words)
    tested = Blocks.from_array(counted.counts, _tag_table(found, names), names=words)
    return replace(data, test=tested, lines=counted.names)


def _tag_table(tags: Sequence[Sequence[str]], names: Sequence[str]) -> sparse.csr_array:
    """Which of the names each row has, shape (n_rows, L)."""
    places = {name: i for i, name in enumerate(names)}
    known = [[places[tag] for tag in found if tag in places] for found in tags]
    indptr = np.concatenate([[0], np.cumsum([len(each) for each in known])])
    indices = np.array([place for each in known for place in sorted(each)], dtype=np.int64)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(tags), len(names)))


# --- predicting and measuring -----------------------------------------------------------------------------------


class _Run:
    """Fits, predictions for the test rows and how good they are: known once `write` has been called."""

    def __init__(self, data: _Data, options: dict[str, Any], n_top: int):
        self.data, self.options, self.n_top = data, options, n_top
        self.seconds = 0.0
        self.predicted, self.measures = _Predicted(), list[_Measure]()

    def fit(self, size: int | None) -> Any:
        """The model of all rows, and how long it takes."""
        start = perf_counter()
        model = MomentMultiLabelClassifier(size, **self.options).fit(self.data.train)  # type: ignore[arg-type]
        self.seconds = perf_counter() - start
        return model

    def comparison(self) -> Comparison:
        """Measures on the rows of --test, or else models of nine tenths of the rows and measures on the others."""
        train, test, what = self.data.train, self.data.test, self.data.tested_on
        if test is None or self.data.held:
            (train, test), what = hold_out(train, self.data.source), "one row in ten"
        rows, options = test, self.options | {"verbose": False}

        def measure(model: Any) -> dict[str, Any]:
            Y = sparse.vstack([sparse.csr_array(block[1]) for block in rows], format="csr")
            return {
                "precision@1": float(precision_at_k(Y, model.top_labels(rows, 1)[0], 1).mean()),
                "document AUC": _auc_measure(model, rows).value,
            }

        return Comparison(
            "topics", what, lambda size: MomentMultiLabelClassifier(size, **options).fit(train), measure,
            highest("precision@1", "{} topics have the highest held-out precision@1 and are fitted on all rows."),
        )  # fmt: skip

    def write(self, folder: Path, model: Any, comparison: Rows | None) -> None:
        """Write every table, and the report."""
        from ..report import write_labels_report

        if model.topics:
            _write_topics(folder / "topics.csv", model, self.data.words)
            _write_labels(folder / "labels.csv", model, self.data.labels)
        if self.data.test is not None:
            self._test(folder, self._other(model) if self.data.held else model, self.data.test)
        write_labels_report(
            folder / "report.html", model, None if self.data.held else self.data.test, vocabulary=self.data.words,
            label_names=self.data.labels, measures=[vars(measure) for measure in self.measures], facts=self._facts(model),
            comparison=comparison, title=f"Labels of {self.data.source}", source=self.data.source, label_sets=self.data.train,
        )  # fmt: skip

    def _other(self, model: Any) -> Any:
        """A model of the same kind that has not seen the rows to test on."""
        train = hold_out(self.data.train, self.data.source)[0]
        return clone(model).set_params(n_components=model.n_components, verbose=False).fit(train)

    def show(self, model: Any, console: Console) -> None:
        """What it took, and the measures or else the topics."""
        memory = f"; {_peak_memory()} of memory at most" if _peak_memory() else ""
        say(console, f"Learned in {self.seconds:.1f} seconds and {model.n_passes_} passes over the data{memory}.")
        if model.head_ != "bayes":
            say(console, f"Labels are predicted by {model.evidence_['head'].measured}.")
        if self.data.test is None:
            if model.topics:
                _print_topics(model, self.data.labels, console)
            return
        rows, seconds = count(self.data.test.n_rows, "row"), self.predicted.seconds
        say(console, f"Predicted {rows} in {seconds:.2f} seconds, {self._speed():,.0f} rows per second.")
        heads = {"metric": "left", "value": "right", "most frequent labels": "right", "rows": "right"}
        lines = [[m.name, _cell(m.value), _cell(m.plain), f"{m.rows:,}"] for m in self.measures]
        title = "On one row in ten, by a model of the others" if self.data.held else "On the test rows"
        print_components(console, title, heads, lines, "metrics.csv")
        for m in self.measures:
            if "sample" in m.meaning:
                say(console, f"{m.name}: {m.meaning.split('. ')[-1]}")

    def _facts(self, model: Any) -> list[tuple[str, str]]:
        """Headline numbers for the report."""
        train, test = self.data.train, self.data.test
        found = [
            ("rows learned from", f"{train.n_rows:,}"), ("words", f"{train.shapes[0][1]:,}"),
            ("labels", f"{train.shapes[1][1]:,}"), ("passes over the data", str(model.n_passes_)),
            ("to learn", f"{self.seconds:.1f} s"),
        ]  # fmt: skip
        if memory := _peak_memory():
            found.append(("of memory at most", memory))
        if test is not None:
            found += [("rows tested on", f"{test.n_rows:,}"), ("rows predicted per second", f"{self._speed():,.0f}")]
        return found

    def _speed(self) -> float:
        return 0.0 if self.data.test is None else self.data.test.n_rows / max(self.predicted.seconds, 1e-9)

    def _test(self, folder: Path, model: Any, test: Blocks) -> None:
        """Write the best labels of every test row as they are found, keep the first few, and measure these."""
        progress = bool(self.options["verbose"])
        _write_predictions(
            folder / _PREDICTIONS, model, test, self.data.labels, self.n_top, progress, self.predicted, self.data.lines
        )
        first, n_train = np.concatenate(self.predicted.first), self.data.train.n_rows
        self.measures = [_auc_measure(model, test), *_ranking_measures(model, test, first, n_train)]
        rows = [[m.name, _cell(m.value), _cell(m.plain), m.rows, m.meaning] for m in self.measures]
        write_csv(folder / "metrics.csv", ["metric", "value", "most frequent labels", "rows", "meaning"], rows)


def _write_predictions(
    path: Path,
    model: Any,
    rows: Blocks,
    labels: Names,
    n_top: int,
    progress: bool,
    seen: _Predicted,
    lines: Sequence[str] | None = None,
) -> None:
    """The best labels of every row, written as they are found; ``seen`` keeps the first few."""
    found = _predictions(model, rows, labels, n_top, progress, seen)
    if lines is not None:
        found = ([lines[row - 1], *rest] for row, *rest in found)
    write_csv(path, ["row", "rank", "label", "score", "probability"], found)


def _predictions(
    model: Any, rows: Blocks, labels: Names, n_top: int, progress: bool, seen: _Predicted
) -> Iterator[list[Any]]:
    with progress_bar(progress and "predicting", rows.n_rows, "rows") as advance:
        for block in rows:
            start = perf_counter()
            found, scores = model.top_labels(Blocks.from_array(block[0]), max(n_top, *_AT))
            seen.seconds += perf_counter() - start
            seen.first.append(found[:, : max(_AT)])
            probability = model._probability(scores)
            for row, *best in zip(block.rows + 1, found, scores, probability, strict=True):
                for rank, (label, score, p) in enumerate(zip(*best, strict=True), 1):
                    if rank > n_top:
                        break
                    yield [row, rank, labels.short(label), f"{score:.6g}", f"{p:.6g}"]
            advance(len(block.rows))


def _auc_measure(model: Any, test: Blocks) -> _Measure:
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
    return _Measure("document-averaged AUC", *_means(values), int(known.sum()), meaning + sampled)


def _ranking_measures(model: Any, test: Blocks, top: np.ndarray, n_train: int) -> Iterator[_Measure]:
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


def _cell(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else ""


def _print_topics(model: Any, labels: Names, console: Console) -> None:
    rows = []
    for i, probabilities in enumerate(model.label_probabilities_):
        listed = ", ".join(f"{labels.short(j)} {100 * probabilities[j]:.0f}%" for j in largest(probabilities, 8))
        rows.append([str(i), f"{100 * model.weights_[i]:.1f}%", *component_cells(model.evidence_, i, 2), listed])
    heads = {"topic": "right", "share": "right", "error": "right", "grade": "left", "most probable labels": "left"}
    print_components(
        console, f"{count(len(rows), 'topic')}, most frequent first", heads, rows, "topics.csv and labels.csv"
    )


# --- writing ----------------------------------------------------------------------------------------------------


def _write_topics(path: Path, model: Any, words: Names) -> None:
    """The most probable words of every topic."""
    overall, rows = model.weights_ @ model.word_probabilities_, []
    for i, probabilities in enumerate(model.word_probabilities_):
        first = [i, f"{model.weights_[i]:.6f}", *component_cells(model.evidence_, i)]
        for rank, w in enumerate(largest(probabilities, _TOPIC_WORDS), 1):
            lift = probabilities[w] / max(overall[w], 1e-300)
            rows.append([*first, rank, words.short(w), f"{probabilities[w]:.8f}", f"{lift:.4f}"])
    header = ["topic", "share", "expected error (l1 of 2)", "grade", "rank", "word", "probability", "lift"]
    write_csv(path, header, rows)


def _write_labels(path: Path, model: Any, labels: Names) -> None:
    """The most probable labels of every topic."""
    rows = [
        [i, rank, labels.short(label), f"{probabilities[label]:.8f}", f"{model.label_frequencies_[label]:.8f}"]
        for i, probabilities in enumerate(model.label_probabilities_)
        for rank, label in enumerate(largest(probabilities, _TOPIC_LABELS), 1)
    ]
    write_csv(path, ["topic", "rank", "label", "probability", "share of all rows"], rows)


# --- applying ---------------------------------------------------------------------------------------------------


def apply_labels(
    model: Any, source: Path, console: Console, how: Reading, column: str | None = None, split: str | None = None
) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their labels."""
    reading = getattr(model, "reading_", {"zero_based": True})
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
    names = model.label_names if "top" in reading else model._names_of_labels()
    labels, top = Names("label", names, reading.get("first_label", 0)), reading.get("top", 5)
    return lambda path: _write_predictions(path, model, rows, labels, top, how.progress, _Predicted(), lines)
