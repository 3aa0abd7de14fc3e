"""``latentia topics``: topics of a corpus on disk, as tables, a model and a report; and ``latentia demo``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from .._validation import column_names
from ..datasets import Corpus, load_bible, readers
from ..datasets._csv import has_columns
from ..exceptions import LatentiaError
from ..metrics import npmi_coherence, top_words, umass_coherence, unique_words
from ..passes import Blocks
from ..report.topics import topic_shares
from ..topics import AnchorTopics, SingleTopicModel, SpectralLDA
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
    write_csv,
)

__all__ = ["apply_topics", "demo", "topics"]

_ARCHAIC = "shall unto thou thy thee hath thine saith shalt said came come went let say upon also yea doth hast"
_DEMO_SIZES = range(3, 17)
_DOCUMENTS = "documents.csv"
_FILES = (_DOCUMENTS, "topics.csv")
_TABLE_ROWS = 200_000
_MODELS = {"anchor": AnchorTopics, "lda": SpectralLDA, "single": SingleTopicModel}


def topics(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder of texts, a file with one document per line, a CSV file, a UCI bag of words, or MatrixMarket."
        ),
    ],
    k: Annotated[str, typer.Option("-k", "--topics", help="Number of topics; FROM:TO:STEP compares a range.")] = "20",
    model: Annotated[
        str,
        typer.Option(
            help="anchor: topics have words of their own. lda: proportions are Dirichlet. single: one topic per document."
        ),
    ] = "anchor",
    out: Out = Path("topics"),
    column: Annotated[str | None, typer.Option(help="Text column of a CSV file.")] = None,
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
    stop_words: Annotated[
        str, typer.Option(help="english, none, or a file of words to skip besides the English ones.")
    ] = "english",
    min_df: Annotated[int, typer.Option(help="Skip words in fewer documents (texts only).", min=1)] = 3,
    max_df: Annotated[
        float, typer.Option(help="Skip words in more than this share of the documents (texts only).", min=0.0, max=1.0)
    ] = 0.5,
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
    words = {"stop_words": _stop_words(stop_words), "min_df": min_df, "max_df": max_df}
    corpus = readers.read_corpus(
        source, column=column, vocabulary=vocabulary, progress=how.progress, cache=how.cache,
        encoding=how.encoding, **words,
    )  # fmt: skip
    options = {"refine": refine, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    reading = {"column": column, "stop_words": words["stop_words"]}
    return _run(_MODELS[model], corpus, sizes, own | options, reading, results)


def demo(out: Out = Path("out/demo"), evidence: FullEvidence = False) -> dict[str, Any]:
    """Learn topics of the King James Bible, which comes with the library, as many as the evidence recommends."""
    results = Results(out, Path("bible"), _FILES, force=True, evidence=evidence)
    results.check()
    corpus = readers.count_words(load_bible(), stop_words=_ARCHAIC.split(), min_df=5)
    reading = {"stop_words": _ARCHAIC.split()}
    return _run(AnchorTopics, corpus, list(_DEMO_SIZES), {"n_jobs": -1}, reading, results)


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
    kind: type, corpus: Corpus, sizes: list[int], options: dict[str, Any], reading: dict[str, Any], results: Results
) -> dict[str, Any]:
    n_rows, n_words = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    console = Console()
    say(console, f"{corpus.source}: {n_rows:,} documents, {n_words:,} words")
    data = f"{corpus.source}: {n_rows} documents of {n_words} words"
    sizes = possible_sizes(sizes, min(n_rows, n_words), data, "topics", console)
    given = 0 if isinstance(options.get("anchors", "greedy"), str) else len(options["anchors"])
    if given > min(sizes):
        raise LatentiaError(f"{given} anchors are given for {min(sizes)} topics: raise -k.")
    options = options | {"vocabulary": corpus.vocabulary}
    return run_command(
        results, corpus.source, sizes,
        fit=lambda size: kind(size, **options).fit(corpus.blocks),
        show=lambda model, console: _show(model, corpus, console),
        write=lambda folder, model, comparison: _write(folder, model, corpus, comparison),
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


def _show(model: Any, corpus: Corpus, console: Console) -> None:
    words = readers.vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])
    shares, anchored = topic_shares(model), hasattr(model, "anchor_words_")
    first = {"topic": "right", "share": "right", "error": "right", "grade": "left"}
    first |= {"anchor": "left"} if anchored else {}
    rows = []
    for i in np.argsort(-shares, kind="stable"):
        anchor = [_anchor(model, i)] if anchored else []
        listed = " ".join(words[top_words(model.components_[i : i + 1], 10)[0]])
        rows.append([str(i), f"{100 * shares[i]:.1f}%", *component_cells(model.evidence_, i, 2), *anchor, listed])
    title = f"{len(rows)} topics, most frequent first"
    print_components(console, title, first | {"words": "left"}, rows, "topics.csv")


def _anchor(model: Any, topic: int) -> str:
    return " ".join(str(word) for word in model.anchor_words_[topic])


# --- writing ----------------------------------------------------------------------------------------------------


def _write(folder: Path, model: Any, corpus: Corpus, comparison: Rows | None) -> None:
    from ..report import write_topics_report

    words = readers.vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])
    _write_topic_words(folder / "topics.csv", model, words)
    _write_documents(folder / _DOCUMENTS, model, corpus)
    write_topics_report(
        folder / "report.html", model, corpus.blocks, vocabulary=corpus.vocabulary, names=_names(corpus),
        texts=corpus.texts, title=f"Topics of {corpus.source}", source=corpus.source, comparison=comparison,
    )  # fmt: skip


def _write_documents(path: Path, model: Any, corpus: Corpus) -> None:
    """The share of every topic in every document."""
    header = ["document", *(f"topic {i}" for i in range(len(model.components_)))]
    write_csv(path, header, _document_rows(model, corpus, _names(corpus)))


def _names(corpus: Corpus) -> list[str]:
    return corpus.names or [f"document {i}" for i in range(1, corpus.blocks.n_rows + 1)]


def _write_topic_words(path: Path, model: Any, words: np.ndarray) -> None:
    shares, anchored, rows = topic_shares(model), hasattr(model, "anchor_words_"), []
    for i, topic in enumerate(top_words(model.components_, 50)):
        first = [
            i,
            f"{shares[i]:.6f}",
            *component_cells(model.evidence_, i),
            *([_anchor(model, i)] if anchored else []),
        ]
        rows += [[*first, rank, words[w], f"{model.components_[i, w]:.8f}"] for rank, w in enumerate(topic, 1)]
    first_columns = ["topic", "share", "expected error (l1 of 2)", "grade", *(["anchor"] if anchored else [])]
    write_csv(path, [*first_columns, "rank", "word", "probability"], rows)


def _document_rows(model: Any, corpus: Corpus, names: list[str]) -> Any:
    for block in corpus.blocks:
        shares = model.transform(Blocks.from_array(block[0]))
        for row, share in zip(block.rows, shares, strict=True):
            yield [names[row], *(f"{value:.5f}" for value in share)]


# --- applying ---------------------------------------------------------------------------------------------------


def apply_topics(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other documents; gives the function that writes their topics."""
    reading = getattr(model, "reading_", {})
    column = reading.get("column") if has_columns(source) else None
    words: dict[str, Any] = {"stop_words": reading.get("stop_words"), "min_df": 1, "max_df": 1.0}
    corpus = readers.read_corpus(
        source, column=column, progress=how.progress, cache=how.cache, encoding=how.encoding, **words
    )
    say(console, f"{corpus.source}: {corpus.blocks.n_rows:,} documents")
    known = _known_words(corpus, column_names(model), model.n_features_in_, console)
    return lambda path: _write_documents(path, model, known)


def _known_words(corpus: Corpus, words: Sequence[str] | None, n_words: int, console: Console) -> Corpus:
    """The corpus with the columns of the model; words that the model does not have are counted, said, and ignored."""
    found, width = corpus.vocabulary, corpus.blocks.shapes[0][1]
    if found is None or words is None:
        if width != n_words or corpus.texts is not None:
            raise LatentiaError(
                f"{corpus.source}: its words and the model's cannot be compared, because one of them has no names: a table of "
                f"counts with {n_words} columns is needed."
            )
        return corpus
    if list(found) == list(words):
        return corpus
    places = {str(word): place for place, word in enumerate(words)}
    cells = [(column, places[word]) for column, word in enumerate(found) if word in places]
    if not cells:
        raise LatentiaError(
            f"{corpus.source}: the model has none of its words. Was it learned from texts of another kind?"
        )
    chosen = sparse.csr_array((np.ones(len(cells), np.int32), tuple(np.transpose(cells))), shape=(width, n_words))
    blocks = corpus.blocks.map(lambda block: [_sorted(block[0] @ chosen)], [(corpus.blocks.n_rows, n_words)])
    total, kept = (sum(block[0].sum() for block in each) for each in (corpus.blocks, blocks))
    if total > kept:
        say(console, f"{total - kept:,.0f} of {total:,.0f} words are none of the model's and are ignored.")
    return replace(corpus, blocks=blocks)


def _sorted(counts: Any) -> Any:
    """The columns of every row in order, as a table that was counted has them."""
    if sparse.issparse(counts):
        counts.sort_indices()
    return counts


# --- reading options --------------------------------------------------------------------------------------------


def _stop_words(option: str) -> Any:
    if option == "english":
        return "english"
    if option == "none":
        return None
    words = readers.read_lines(existing(Path(option), "--stop-words"))
    return [word.strip() for word in words if word.strip()]


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
