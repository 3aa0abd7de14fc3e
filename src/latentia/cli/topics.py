"""``latentia topics``: topics of a corpus on disk, as tables, a model and a report; and ``latentia demo``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy import sparse

from .. import persistence
from ..datasets import Corpus, load_bible, readers
from ..exceptions import LatentiaError
from ..metrics import npmi_coherence, top_words, umass_coherence, unique_words
from ..passes import Blocks, row_groups
from ..report import import_report
from ..report.topics import topic_shares
from ..topics import AnchorTopics, SingleTopicModel, SpectralLDA
from ._shared import (
    Force,
    Jobs,
    Quiet,
    Seed,
    best_size,
    cache_folder,
    check_choice,
    check_jobs,
    check_target,
    error_cell,
    existing,
    named,
    parse_sizes,
    print_comparison,
    print_evidence,
    write_all,
    write_csv,
    write_evidence,
)

__all__ = ["demo", "topics"]

_ARCHAIC = [
    "shall",
    "unto",
    "thou",
    "thy",
    "thee",
    "hath",
    "thine",
    "saith",
    "shalt",
    "said",
    "came",
    "come",
    "went",
    "let",
    "say",
    "upon",
    "also",
    "yea",
    "doth",
    "hast",
]
_TABLE_ROWS = 200_000
_MODELS = {"anchor": AnchorTopics, "lda": SpectralLDA, "single": SingleTopicModel}


def topics(
    source: Annotated[
        Path,
        typer.Argument(help="A folder of texts, a file with one document a line, CSV, UCI bag of words, MatrixMarket."),
    ],
    k: Annotated[str, typer.Option("-k", help="Number of topics; FROM:TO:STEP compares a range.")] = "20",
    model: Annotated[
        str,
        typer.Option(
            help="anchor: topics have words of their own. lda: proportions are Dirichlet. single: a document, a topic."
        ),
    ] = "anchor",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("topics"),
    column: Annotated[str | None, typer.Option(help="Text column of a CSV file.")] = None,
    vocabulary: Annotated[Path | None, typer.Option(help="Words of a table of counts, one a line.")] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(help="Anchors, a topic a line: words separated by spaces; word=strength allowed (anchor only)."),
    ] = None,
    alpha0: Annotated[
        float | None, typer.Option(help="Sum of the Dirichlet parameters; by default it is found (lda only).")
    ] = None,
    refine: Annotated[int, typer.Option(help="EM passes after the recovery; 0 keeps to the theorem.", min=0)] = 10,
    stop_words: Annotated[
        str, typer.Option(help="english, none, or a file of words to leave out besides.")
    ] = "english",
    min_df: Annotated[int, typer.Option(help="Leave out words in fewer documents (texts only).", min=1)] = 3,
    max_df: Annotated[
        float, typer.Option(help="Leave out words in more than this share (texts only).", min=0.0, max=1.0)
    ] = 0.5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn topics and write tables, a model and a report."""
    sizes = parse_sizes(k)
    check_jobs(jobs)
    own = _options_of(model, anchors, alpha0)
    check_target(out, source, force)
    words = {"stop_words": _stop_words(stop_words), "min_df": min_df, "max_df": max_df}
    corpus = readers.read_corpus(
        source, column=column, vocabulary=vocabulary, progress=not quiet, cache=cache_folder(source), **words
    )
    options = {
        "refine": refine,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": not quiet,
        "vocabulary": corpus.vocabulary,
    }
    _run(_MODELS[model], corpus, sizes, own | options, out)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("out/demo"),
) -> None:
    """Learn topics of the King James Bible, bundled with the library."""
    corpus = readers.count_words(load_bible(), stop_words=_ARCHAIC, min_df=5)
    _run(AnchorTopics, corpus, [20], {"refine": 10, "n_jobs": -1, "vocabulary": corpus.vocabulary}, out)


def _options_of(model: str, anchors: Path | None, alpha0: float | None) -> dict[str, Any]:
    """The options that belong to one model alone."""
    check_choice("--model", model, list(_MODELS))
    if anchors is not None and model != "anchor":
        raise LatentiaError(f"--anchors: --model {model} has no anchors; leave one of the two out.")
    if alpha0 is not None and model != "lda":
        raise LatentiaError(f"--alpha0: --model {model} has no such parameter; add --model lda, or leave it out.")
    if alpha0 is not None and not 0 < alpha0 < np.inf:
        raise LatentiaError(f"--alpha0 {alpha0:g}: a positive number is needed, or leave it out to find it.")
    if model == "lda":
        return {"alpha0": alpha0}
    return {"anchors": _read_anchors(anchors) if anchors else "greedy"} if model == "anchor" else {}


def _run(kind: type, corpus: Corpus, sizes: list[int], options: dict[str, Any], out: Path) -> None:
    """Fit, print, and write everything, or nothing."""
    console = Console()
    n_rows, n_words = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    console.print(f"{corpus.source}: {n_rows:,} documents, {n_words:,} words", highlight=False, markup=False)
    _check_sizes(corpus, sizes, options)
    with named(corpus.source):
        comparison = _compare(kind, corpus, sizes, options, console) if len(sizes) > 1 else None
        size = best_size(comparison, "perplexity", lowest=True) if comparison else sizes[0]
        model = kind(size, **options).fit(corpus.blocks)
    written = write_all(out, lambda folder: _write(folder, model, corpus, comparison))
    _print_topics(model, corpus, console)
    print_evidence(model.evidence_, console)
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


def _check_sizes(corpus: Corpus, sizes: list[int], options: dict[str, Any]) -> None:
    """Say before the work begins what would fail after it."""
    import_report()
    n_rows, n_words = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    if max(sizes) > min(n_rows, n_words):
        raise LatentiaError(
            f"{corpus.source}: {n_rows} documents of {n_words} words cannot carry {max(sizes)} topics; lower -k."
        )
    given = 0 if isinstance(options.get("anchors", "greedy"), str) else len(options["anchors"])
    if given > min(sizes):
        raise LatentiaError(f"{given} anchors are given for {min(sizes)} topics: raise -k.")


# --- comparing numbers of topics --------------------------------------------------------------------------------


def _compare(
    kind: type, corpus: Corpus, sizes: list[int], options: dict[str, Any], console: Console
) -> list[dict[str, Any]]:
    """Fit every number of topics on nine tenths of the documents and measure each; the table is printed."""
    held = row_groups(np.arange(corpus.blocks.n_rows), 10, 1)[:, None] == 0
    train = corpus.blocks.group(frozenset(range(1, 10)), 10, 1)
    test = corpus.blocks.group(frozenset([0]), 10, 1)
    if held.sum() < 2:
        raise LatentiaError(f"{corpus.source}: too few documents to hold some out; give one number with -k.")
    some = _first_rows(train)
    rows = []
    for size in sizes:
        model = kind(size, **options).fit(train)
        errors = model.evidence_.component_errors
        rows.append(
            {
                "topics": size,
                "perplexity": _perplexity(model, test),
                "coherence (NPMI)": float(npmi_coherence(model.components_, some).mean()),
                "coherence (UMass)": float(umass_coherence(model.components_, some).mean()),
                "unique words of 10": float(unique_words(model.components_).mean()),
                "expected error": float(errors.mean()) if errors is not None else float("nan"),
                "topics above .8": int((errors > 0.8).sum()) if errors is not None else 0,
            }
        )
    best = best_size(rows, "perplexity", lowest=True)
    sentence = f"{best} topics have the lowest held-out perplexity and are fitted on all documents."
    print_comparison(rows, best, "Numbers of topics (held out: one document in ten)", sentence, console)
    return rows


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


def _print_topics(model: Any, corpus: Corpus, console: Console) -> None:
    words = readers.vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])
    errors, shares, anchored = model.evidence_.component_errors, topic_shares(model), hasattr(model, "anchor_words_")
    table = Table(title=f"{len(model.components_)} topics, most frequent first")
    for name in ("topic", "share", "error"):
        table.add_column(name, justify="right")
    for name in ("anchor", "words") if anchored else ("words",):
        table.add_column(name)
    for i in np.argsort(-shares, kind="stable"):
        anchor = [escape(_anchor(model, i))] if anchored else []
        listed = " ".join(words[top_words(model.components_[i : i + 1], 10)[0]])
        table.add_row(str(i), f"{100 * shares[i]:.1f}%", error_cell(errors, i, 2), *anchor, escape(listed))
    console.print(table)


def _anchor(model: Any, topic: int) -> str:
    return " ".join(str(word) for word in model.anchor_words_[topic])


# --- writing ----------------------------------------------------------------------------------------------------


def _write(folder: Path, model: Any, corpus: Corpus, comparison: list[dict[str, Any]] | None) -> None:
    from ..report import write_topics_report

    words = readers.vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])
    names = corpus.names or [f"document {i}" for i in range(1, corpus.blocks.n_rows + 1)]
    persistence.save(model, folder / "model.npz")
    _write_topic_words(folder / "topics.csv", model, words)
    header = ["document", *(f"topic {i}" for i in range(len(model.components_)))]
    write_csv(folder / "documents.csv", header, _document_rows(model, corpus, names))
    write_evidence(folder / "evidence.csv", model.evidence_)
    if comparison:
        write_csv(folder / "comparison.csv", list(comparison[0]), [list(row.values()) for row in comparison])
    write_topics_report(
        folder / "report.html", model, corpus.blocks, vocabulary=corpus.vocabulary, names=names, texts=corpus.texts,
        title=f"Topics of {corpus.source}", source=corpus.source, comparison=comparison,
    )  # fmt: skip


def _write_topic_words(path: Path, model: Any, words: np.ndarray) -> None:
    errors, shares, anchored = model.evidence_.component_errors, topic_shares(model), hasattr(model, "anchor_words_")
    rows = []
    for i, topic in enumerate(top_words(model.components_, 50)):
        first = [i, f"{shares[i]:.6f}", error_cell(errors, i), *([_anchor(model, i)] if anchored else [])]
        rows += [[*first, rank, words[w], f"{model.components_[i, w]:.8f}"] for rank, w in enumerate(topic, 1)]
    first_columns = ["topic", "share", "expected error (l1 of 2)", *(["anchor"] if anchored else [])]
    write_csv(path, [*first_columns, "rank", "word", "probability"], rows)


def _document_rows(model: Any, corpus: Corpus, names: list[str]) -> Any:
    for block in corpus.blocks:
        shares = model.transform(Blocks.from_array(block[0]))
        for row, share in zip(block.rows, shares, strict=True):
            yield [names[row], *(f"{value:.5f}" for value in share)]


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
