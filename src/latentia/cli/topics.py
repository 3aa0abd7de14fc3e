"""``latentia topics``: topics of a corpus on disk, as tables, a model and a report."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .. import summaries
from .._validation import column_names
from ..datasets import Corpus, readers
from ..datasets.tables import list_names
from ..exceptions import LatentiaError
from ..metrics import npmi_coherence, umass_coherence, unique_words
from ..passes import Blocks
from ..reading import open_table
from ..report.topics import document_names, document_rows, summarize_topics, topic_headings
from ..system.terminal import say
from ..topics import AnchorTopics, SingleTopicModel, SpectralLDA
from ..topics.race import Race, race_on_hidden_words
from ._effects import check_effects, prepare_effects
from ._prevalence import no_columns, prepare_prevalence
from ._records import TopicsOptions
from ._shared import Comparison, ReadOptions, Sizes, check_file, hold_out, learn, name_source, parse_sizes
from ._tables import NewRows
from ._texts import parse_split, read_known, reading_options, say_columns, say_words, word_options

_MAX_TABLE_ROWS = 200_000
_RACE_SIZE = 20  # Models are raced with this many topics if their number is still to be chosen.
_FILES = "documents.csv", "topics.csv", "prevalence.csv", "trends.csv", "effects.csv", "levels.csv"
_CUT = (
    "Long texts can be cut into documents: --split chapter, --split paragraph, or --split 500 for parts of 500 words."
)
_MODELS = {"anchor": AnchorTopics, "lda": SpectralLDA, "single": SingleTopicModel}


def topics(run: TopicsOptions) -> dict[str, Any]:
    """Learn topics of documents and write tables, a model and a report."""
    check_effects(run.effects)
    sizes = parse_sizes(run.k, "topics")
    names_given = _topic_names(run.name or [], run.names, sizes)
    model_options = _model_options(run)
    results, read_options = run.results(run.source, *_FILES), run.reading()
    word_choice, parts = word_options(run.stop_words, run.min_df, run.max_df, run.words), parse_split(run.split)
    corpus = readers.read_corpus(
        run.source, column=run.column, split=parts, metadata=run.metadata, vocabulary=run.vocabulary,
        progress=read_options.progress, cache=read_options.cache, encoding=read_options.encoding, **word_choice,
    )  # fmt: skip
    prevalence = prepare_prevalence(corpus, run.group_by or [], run.over, run.period)
    measure_effects = prepare_effects(
        corpus.columns, corpus.blocks.n_rows, run.effects, run.cluster, no_columns(corpus.source)
    )
    sizes = _limit_sizes(corpus, sizes, model_options)
    race = _race(corpus, sizes, run.parameters | {"refine": run.refine}) if run.model == "auto" else None
    kind: Any = _MODELS[run.model if race is None else race.chosen]
    options = run.parameters_of(kind) | model_options | {"vocabulary": corpus.vocabulary}

    def build_summary(model: Any, _: Any) -> summaries.Summary:
        prevalences = prevalence(model)
        summary = summarize_topics(
            model, corpus.blocks, vocabulary=corpus.vocabulary, names=corpus.names, texts=corpus.texts,
            row_labels=[summaries.Column(name, corpus.columns[name]) for name, _ in prevalences],
            prevalence=prevalences, effects=measure_effects(model, corpus.blocks),
        )  # fmt: skip
        return summary if race is None else replace(summary, parts=(*summary.parts, _race_table(race)))

    return learn(
        results, corpus.source, sizes, lambda size: kind(size, **options).fit(corpus.blocks), build_summary,
        reading={"column": run.column, "split": parts} | reading_options(word_choice) | names_given,
        compare=lambda: _make_comparison(kind, corpus, options | {"verbose": False}),
        levels=run.levels, facts={} if race is None else {"race": asdict(race) | {"why": str(race)}},
    )  # fmt: skip


def _model_options(run: TopicsOptions) -> dict[str, Any]:
    """Return the options that only one model has."""
    model, alpha0 = run.model, run.alpha0
    if run.anchors is not None and model != "anchor":
        raise LatentiaError(f"--anchors: --model {model} has no anchors. Leave out one of the two.")
    if alpha0 is not None and model != "lda":
        raise LatentiaError(f"--alpha0: --model {model} has no such parameter. Use --model lda, or leave it out.")
    if alpha0 is not None and not 0 < alpha0 < np.inf:
        raise LatentiaError(f"--alpha0 {alpha0:g}: expected a positive number. Leave it out to estimate it.")
    if run.keep_moments and model != "anchor":
        raise LatentiaError(
            f"--keep-moments: --model {model} has no moments to keep. Use --model anchor, or leave it out."
        )
    if model == "lda":
        return {"alpha0": alpha0}
    if model in ("single", "auto"):
        return {}
    moment_options = {"keep_moments": True, "embedding": "projection"} if run.keep_moments else {}
    return {"anchors": _read_anchors(run.anchors) if run.anchors else "greedy"} | moment_options


def _limit_sizes(corpus: Corpus, sizes: Sizes, model_options: dict[str, Any]) -> Sizes:
    """Limit the numbers of topics by documents and words, and check the number of anchors."""
    n_rows, n_words = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    say(f"{corpus.source}: {n_rows:,} documents, {n_words:,} words")
    say_columns(corpus)
    say_words(corpus)
    data = f"{corpus.source}: {n_rows} documents of {n_words} words"
    if corpus.texts is not None and n_rows < min(sizes):
        raise LatentiaError(f"{data} carry at most {n_rows} topics: -k {min(sizes)} is too large. {_CUT}")
    sizes = sizes.limit_to(min(n_rows, n_words), data)
    n_anchors = 0 if isinstance(model_options.get("anchors", "greedy"), str) else len(model_options["anchors"])
    if n_anchors > min(sizes):
        raise LatentiaError(
            f"Expected at most one anchor for each of {min(sizes)} topics; there are {n_anchors}. Raise -k."
        )
    return sizes


def _race(corpus: Corpus, sizes: Sizes, parameters: dict[str, Any]) -> Race:
    """Race single topics beside anchors, both learned from three quarters of the documents."""
    train, test = hold_out(corpus.blocks, corpus.source, n_parts=4)
    size = max((size for size in sizes if size is not None), default=min(_RACE_SIZE, *corpus.blocks.shapes[0]))
    options = parameters | {"n_splits": 0, "verbose": False}
    with name_source(corpus.source):
        models = {name: _MODELS[name](size, **options).fit(train) for name in ("anchor", "single")}
        return race_on_hidden_words(models, sparse.csr_array(_read_first_rows(test)))


def _race_table(race: Race) -> summaries.Table:
    """Return the perplexities of the raced models, with the reason for the choice."""
    why = f"--model auto takes {race}"
    columns = (
        summaries.Column("model", list(race.perplexities), kind="name"),
        summaries.Column("perplexity", list(race.perplexities.values()), ",.0f"),
    )
    return summaries.Table("race", columns, "Choice of the model", why, note=why)


# --- comparing numbers of topics --------------------------------------------------------------------------------


def _make_comparison(kind: type, corpus: Corpus, options: dict[str, Any]) -> Comparison:
    """Fit models to nine tenths of the documents and compare them by the other documents."""
    train, test = hold_out(corpus.blocks, corpus.source)
    rows = _read_first_rows(train)

    def measure(model: Any) -> dict[str, Any]:
        return {
            "perplexity": _perplexity(model, test),
            "coherence (NPMI)": float(npmi_coherence(model.components_, rows).mean()),
            "coherence (UMass)": float(umass_coherence(model.components_, rows).mean()),
            "unique words of 10": float(unique_words(model.components_).mean()),
        }

    return Comparison(
        "topics", "one document in ten", lambda size: kind(size, **options).fit(train), measure,
    )  # fmt: skip


def _perplexity(model: Any, test: Blocks) -> float:
    """Return the perplexity of a word given half of its document, or of whole documents if each has one topic."""
    if not isinstance(model, SingleTopicModel):
        return float(model.perplexity(test))
    n_words = sum(float(block[0].sum()) for block in test)
    return float(np.exp(-model.score(test) * test.n_rows / max(n_words, 1.0)))


def _read_first_rows(blocks: Blocks) -> Any:
    """Read at most 200,000 documents: coherence needs no more."""
    pieces, n = [], 0
    for block in blocks:
        pieces.append(sparse.csr_array(block[0]))
        n += block[0].shape[0]
        if n >= _MAX_TABLE_ROWS:
            break
    return sparse.vstack(pieces, format="csr")


# --- other documents ------------------------------------------------------------------------------------------------


def added_topics(model: Any, source: Path, read_options: ReadOptions) -> tuple[Any, ...]:
    """Read documents to add to a model."""
    corpus = read_known(source, model, column_names(model), read_options)
    say(f"{corpus.source}: {corpus.blocks.n_rows:,} documents")
    return (corpus.blocks,)


def apply_topics(
    model: Any, source: Path, read_options: ReadOptions, column: str | None = None, split: str | None = None
) -> Callable[[Path], object]:
    """Read other documents; return the function that writes their topics, a block at a time."""
    corpus = read_known(source, model, column_names(model), read_options, column, split)
    say(f"{corpus.source}: {corpus.blocks.n_rows:,} documents")
    topics = topic_headings(model)
    pieces = (
        document_rows(
            model.transform(Blocks.from_array(block[0])), np.asarray(block[0].sum(axis=1)).ravel(),
            document_names(corpus.names, block.rows), (), topics,
        )
        for block in corpus.blocks
    )  # fmt: skip
    header = ["document", *topics]
    return lambda path: summaries.write_csv(path, header, (row for piece in pieces for row in piece.texts()))


def news_topics(model: Any, source: Path, read_options: ReadOptions, batch: str | None) -> NewRows:
    """Read other documents and the column of their batches; those without words of the model are left out."""
    corpus = read_known(source, model, column_names(model), read_options)
    say(f"{corpus.source}: {corpus.blocks.n_rows:,} documents")
    if batch is not None and batch not in (corpus.columns or {}):
        columns = list_names(corpus.columns or (), 10) or "none"
        raise LatentiaError(f"--batch {batch}: no such column; there are {columns}.", source=source)
    counts = sparse.vstack([sparse.csr_array(block[0]) for block in corpus.blocks], format="csr")
    used = np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel() > 0)
    names = [f"document {i + 1}" if corpus.names is None else str(corpus.names[i]) for i in used]
    batches = None if batch is None else [corpus.columns[batch][i] for i in used]
    return NewRows(counts[used], "document", names, batches)


def _topic_names(pairs_given: list[str], path: Path | None, sizes: Sizes) -> dict[str, list[str]]:
    """Return the names of topics that the model stores; an empty dict without names."""
    pairs = [(f"--name {text}", *text.partition("=")[::2]) for text in pairs_given]
    if path is not None:
        table = open_table(check_file(path, "--names"))
        if not {"component", "name"} <= set(table.names):
            raise LatentiaError(
                f"--names {path}: expected the columns component and name; it has {', '.join(table.names)}."
            )
        cells = zip(table.texts("component").to_list(), table.texts("name").to_list(), strict=True)
        pairs = [(f"--names {path}", *pair) for pair in cells] + pairs
    if not pairs:
        return {}
    if len(sizes) != 1 or sizes[0] is None:
        raise LatentiaError("--name needs one number of topics. Choose it with -k.")
    names = [""] * int(sizes[0])
    for option, number, name in pairs:
        if not number.strip().isdigit() or int(number) >= len(names) or not name.strip():
            raise LatentiaError(f"{option}: expected a number from 0 to {len(names) - 1} and a name, such as 3=guns.")
        names[int(number)] = name.strip()
    twice = next((name for name in filter(None, names) if names.count(name) > 1), None)
    if twice is not None:
        raise LatentiaError(f"--name: two topics are called {twice!r}. Give them different names.")
    return {"topic_names": names}


# --- reading options --------------------------------------------------------------------------------------------


def _read_anchors(path: Path) -> list[dict[str, float]]:
    anchors = []
    for number, line in enumerate(readers.read_lines(check_file(path, "--anchors")), 1):
        words: dict[str, float] = {}
        for part in line.split("#")[0].split():
            match = re.fullmatch(r"([^=]+)(?:=(1|1\.0*|0?\.\d*[1-9]\d*))?", part)
            if not match:
                raise LatentiaError(
                    f"expected a word, or word=strength with a strength above 0 and at most 1; found {part!r}.",
                    source=path,
                    place=f"line {number}",
                )
            words[match[1]] = float(match[2] or 1)
        anchors += [words] if words else []
    if not anchors:
        raise LatentiaError("expected anchor words, one topic a line; there are none.", source=path)
    return anchors
