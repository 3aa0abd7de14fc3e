"""``latentia topics``: topics of a corpus on disk, as tables, a model and a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from .._validation import column_names
from ..datasets import Corpus, readers
from ..exceptions import LatentiaError
from ..metrics import RELEVANCE, npmi_coherence, other_topics, top_words, umass_coherence, unique_words
from ..passes import Blocks
from ..report.topics import topic_shares
from ..topics import AnchorTopics, SingleTopicModel, SpectralLDA
from ..topics.prevalence import Prevalence
from ._prevalence import (
    PREVALENCE,
    GroupBy,
    Groups,
    Over,
    PeriodOf,
    check_groups,
    prevalence_of,
    print_prevalence,
    write_prevalence,
)
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
    hold_out,
    parse_sizes,
    possible_sizes,
    print_components,
    run_command,
    say,
    sizes_help,
    write_csv,
)
from ._texts import (
    Column,
    MaxDf,
    Metadata,
    MinDf,
    Split,
    StopWords,
    kept_options,
    read_known,
    say_words,
    split_of,
    word_options,
)

__all__ = ["apply_topics", "topics"]

_DOCUMENTS = "documents.csv"
_FILES = (_DOCUMENTS, "topics.csv", *PREVALENCE)
_TABLE_ROWS = 200_000
_NO_GROUPS = Groups()
_CUT = "Long texts can be cut into documents: --split chapter, --split paragraph, or --split 500 after so many words."
_MODELS = {"anchor": AnchorTopics, "lda": SpectralLDA, "single": SingleTopicModel}


def topics(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder of texts, a file with one document per line, a CSV file or workbook, a UCI bag of words, or "
            "MatrixMarket."
        ),
    ],
    k: Annotated[str, typer.Option("-k", "--topics", help=sizes_help("topics"))] = "20",
    model: Annotated[
        str,
        typer.Option(
            help="anchor: topics have words of their own. lda: proportions are Dirichlet. single: one topic per document."
        ),
    ] = "anchor",
    out: Out = Path("topics"),
    column: Column = None,
    split: Split = None,
    metadata: Metadata = None,
    group_by: GroupBy = None,
    over: Over = None,
    period: PeriodOf = None,
    vocabulary: Annotated[Path | None, typer.Option(help="Words of a table of counts, one per line.")] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            help="Anchors, one topic per line: words separated by spaces; word=strength allowed (anchor only)."
        ),
    ] = None,
    alpha0: Annotated[
        float | None, typer.Option(help="Sum of the Dirichlet parameters; by default it is found (lda only).")
    ] = None,
    refine: Refine = "auto",
    stop_words: StopWords = None,
    min_df: MinDf = None,
    max_df: MaxDf = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Learn topics of documents and write tables, a model and a report."""
    sizes = parse_sizes(k, "topics")
    own = _options_of(model, anchors, alpha0)
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, encoding=encoding)
    words, parts = word_options(stop_words, min_df, max_df), split_of(split)
    corpus = readers.read_corpus(
        source, column=column, split=parts, metadata=metadata, vocabulary=vocabulary, progress=how.progress,
        cache=how.cache, encoding=how.encoding, **words,
    )  # fmt: skip
    options = {"refine": refine, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    reading = {"column": column, "split": parts} | kept_options(words)
    groups = check_groups(corpus, group_by, over, period)
    return _run(_MODELS[model], corpus, sizes, own | options, reading, results, groups)


def _options_of(model: str, anchors: Path | None, alpha0: float | None) -> dict[str, Any]:
    """The options that belong to one model alone."""
    check_choice("--model", model, list(_MODELS))
    if anchors is not None and model != "anchor":
        raise LatentiaError(f"--anchors: --model {model} has no anchors: give one of the two.")
    if alpha0 is not None and model != "lda":
        raise LatentiaError(f"--alpha0: --model {model} has no such parameter; add --model lda, or leave it out.")
    if alpha0 is not None and not 0 < alpha0 < np.inf:
        raise LatentiaError(f"--alpha0 {alpha0:g}: a positive number is needed, or leave it out to find it.")
    if model == "lda":
        return {"alpha0": alpha0}
    return {"anchors": _read_anchors(anchors) if anchors else "greedy"} if model == "anchor" else {}


def _run(
    kind: type,
    corpus: Corpus,
    sizes: list[int],
    options: dict[str, Any],
    reading: dict[str, Any],
    results: Results,
    groups: Groups = _NO_GROUPS,
) -> dict[str, Any]:
    n_rows, n_words = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    console = Console()
    say(console, f"{corpus.source}: {n_rows:,} documents, {n_words:,} words")
    say_words(corpus, console)
    data = f"{corpus.source}: {n_rows} documents of {n_words} words"
    if corpus.texts is not None and n_rows < min(sizes):
        raise LatentiaError(f"{data} carry at most {n_rows} topics: -k {min(sizes)} is too large. {_CUT}")
    sizes = possible_sizes(sizes, min(n_rows, n_words), data, "topics", console)
    given = 0 if isinstance(options.get("anchors", "greedy"), str) else len(options["anchors"])
    if given > min(sizes):
        raise LatentiaError(f"{given} anchors are given for {min(sizes)} topics: raise -k.")
    options, found = options | {"vocabulary": corpus.vocabulary}, list[tuple[str, Prevalence]]()

    def write(folder: Path, model: Any, comparison: Rows | None) -> None:
        found.extend(prevalence_of(model, corpus, groups))
        _write(folder, model, corpus, comparison, found)

    def show(model: Any, console: Console) -> None:
        _show(model, console)
        titles = [f"topic {k} ({', '.join(some)})" for k, some in enumerate(model.top_words(3))]
        print_prevalence(console, found, titles)

    return run_command(
        results, corpus.source, sizes,
        fit=lambda size: kind(size, **options).fit(corpus.blocks),
        show=show,
        write=write,
        reading=reading,
        compare=lambda: _comparison(kind, corpus, options | {"verbose": False}),
    )  # fmt: skip


# --- comparing numbers of topics --------------------------------------------------------------------------------


def _comparison(kind: type, corpus: Corpus, options: dict[str, Any]) -> Comparison:
    """Models of nine tenths of the documents, and what each says of the others."""
    train, test = hold_out(corpus.blocks, corpus.source)
    some = _first_rows(train)

    def measure(model: Any) -> dict[str, Any]:
        return {
            "perplexity": _perplexity(model, test),
            "coherence (NPMI)": float(npmi_coherence(model.components_, some).mean()),
            "coherence (UMass)": float(umass_coherence(model.components_, some).mean()),
            "unique words of 10": float(unique_words(model.components_).mean()),
        }

    return Comparison(
        "topics", "one document in ten", lambda size: kind(size, **options).fit(train), measure,
    )  # fmt: skip


def _perplexity(model: Any, test: Blocks) -> float:
    """Of a word: given half of its document, or, where a document has one topic, of whole documents."""
    if not isinstance(model, SingleTopicModel):
        return float(model.perplexity(test))
    n_words = sum(float(block[0].sum()) for block in test)
    return float(np.exp(-model.score(test) * test.n_rows / max(n_words, 1.0)))


def _first_rows(blocks: Blocks) -> Any:
    """At most 200,000 documents: coherence needs no more."""
    pieces, n = [], 0
    for block in blocks:
        pieces.append(sparse.csr_array(block[0]))
        n += block[0].shape[0]
        if n >= _TABLE_ROWS:
            break
    return sparse.vstack(pieces, format="csr")


# --- printing ---------------------------------------------------------------------------------------------------


def _show(model: Any, console: Console) -> None:
    words = model.top_words(10)
    shares, anchored = topic_shares(model), hasattr(model, "anchor_words_")
    first = {"topic": "right", "share": "right", "error": "right", "grade": "left"}
    first |= {"anchor": "left"} if anchored else {}
    rows = []
    for i in np.argsort(-shares, kind="stable"):
        anchor = [_anchor(model, i)] if anchored else []
        cells = component_cells(model.evidence_, i, 2)
        rows.append([str(i), f"{100 * shares[i]:.1f}%", *cells, *anchor, " ".join(words[i])])
    title = f"{len(rows)} topics, most frequent first"
    print_components(console, title, first | {"words": "left"}, rows, "topics.csv")


def _anchor(model: Any, topic: int) -> str:
    return " ".join(str(word) for word in model.anchor_words_[topic])


# --- writing ----------------------------------------------------------------------------------------------------


def _write(
    folder: Path, model: Any, corpus: Corpus, comparison: Rows | None, found: Sequence[tuple[str, Prevalence]]
) -> None:
    from ..report import write_topics_report

    _write_topic_words(folder / "topics.csv", model)
    _write_documents(folder / _DOCUMENTS, model, corpus, [name for name, _ in found])
    write_prevalence(folder, found)
    write_topics_report(
        folder / "report.html", model, corpus.blocks, vocabulary=corpus.vocabulary, names=_names(corpus),
        texts=corpus.texts, title=f"Topics of {corpus.source}", source=corpus.source, comparison=comparison,
        prevalence=found,
    )  # fmt: skip


def _write_documents(path: Path, model: Any, corpus: Corpus, columns: Sequence[str] = ()) -> None:
    """The share of every topic in every document, after some columns of the data."""
    header = ["document", *columns, *(f"topic {i}" for i in range(len(model.components_)))]
    known = list(zip(_names(corpus), *(corpus.columns[name] for name in columns), strict=True))
    write_csv(path, header, _document_rows(model, corpus, known))


def _names(corpus: Corpus) -> list[str]:
    return corpus.names or [f"document {i}" for i in range(1, corpus.blocks.n_rows + 1)]


def _write_topic_words(path: Path, model: Any) -> None:
    """The words that stand for every topic, and how probable they are in it."""
    shares, anchored, rows = topic_shares(model), hasattr(model, "anchor_words_"), []
    words = readers.vocabulary_array(column_names(model), model.n_features_in_)
    others = other_topics(model.components_, shares)
    ranked = top_words(model.components_, 50, word_frequencies=others, relevance=RELEVANCE)
    for i, topic in enumerate(ranked):
        first = [
            i,
            f"{shares[i]:.6f}",
            *component_cells(model.evidence_, i),
            *([_anchor(model, i)] if anchored else []),
        ]
        rows += [[*first, rank, words[w], f"{model.components_[i, w]:.8f}"] for rank, w in enumerate(topic, 1)]
    first_columns = ["topic", "share", "expected error (l1 of 2)", "grade", *(["anchor"] if anchored else [])]
    write_csv(path, [*first_columns, "rank", "word", "probability"], rows)


def _document_rows(model: Any, corpus: Corpus, known: Sequence[tuple[str, ...]]) -> Any:
    for block in corpus.blocks:
        shares = model.transform(Blocks.from_array(block[0]))
        for row, share in zip(block.rows, shares, strict=True):
            yield [*known[row], *(f"{value:.5f}" for value in share)]


# --- applying ---------------------------------------------------------------------------------------------------


def apply_topics(
    model: Any, source: Path, console: Console, how: Reading, column: str | None = None, split: str | None = None
) -> Callable[[Path], object]:
    """Read other documents; gives the function that writes their topics."""
    corpus = read_known(source, model, column_names(model), console, how, column, split)
    say(console, f"{corpus.source}: {corpus.blocks.n_rows:,} documents")
    return lambda path: _write_documents(path, model, corpus)


# --- reading options --------------------------------------------------------------------------------------------


def _read_anchors(path: Path) -> list[dict[str, float]]:
    anchors = []
    for number, line in enumerate(readers.read_lines(existing(path, "--anchors")), 1):
        words: dict[str, float] = {}
        for part in line.split("#")[0].split():
            word, equals, strength = part.partition("=")
            if not word or not re.fullmatch(r"(1|1\.0*|0?\.\d*[1-9]\d*)" if equals else "", strength):
                raise LatentiaError(
                    f"{path}, line {number}: {part!r} is not a word, or word=strength with a strength above 0, at most 1."
                )
            words[word] = float(strength) if strength else 1.0
        if words:
            anchors.append(words)
    if not anchors:
        raise LatentiaError(f"{path}: no anchor words in the file; write one topic a line.")
    return anchors
