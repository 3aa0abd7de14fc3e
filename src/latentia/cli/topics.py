"""``latentia topics``: topics of a corpus on disk, as tables, a model and a report; and ``latentia demo``."""

from __future__ import annotations

import csv
import os
import re
import shutil
import tempfile
from collections.abc import Callable
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
from ..evidence.checks import Evidence, describe
from ..exceptions import LatentiaError
from ..metrics import npmi_coherence, top_words, umass_coherence, unique_words
from ..passes import Blocks, row_groups
from ..report import import_report
from ..topics import AnchorTopics

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
_OUTPUTS = ("comparison.csv", "documents.csv", "evidence.csv", "model.npz", "report.html", "topics.csv")
_MOST_SIZES = 100


def topics(
    source: Annotated[
        Path,
        typer.Argument(help="A folder of texts, a file with one document a line, CSV, UCI bag of words, MatrixMarket."),
    ],
    k: Annotated[str, typer.Option("-k", help="Number of topics; FROM:TO:STEP compares a range.")] = "20",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("topics"),
    column: Annotated[str | None, typer.Option(help="Text column of a CSV file.")] = None,
    vocabulary: Annotated[Path | None, typer.Option(help="Words of a table of counts, one a line.")] = None,
    anchors: Annotated[
        Path | None, typer.Option(help="Anchors, a topic a line: words separated by spaces; word=strength allowed.")
    ] = None,
    refine: Annotated[int, typer.Option(help="EM passes after the recovery; 0 keeps to the theorem.", min=0)] = 10,
    stop_words: Annotated[
        str, typer.Option(help="english, none, or a file of words to leave out besides.")
    ] = "english",
    min_df: Annotated[int, typer.Option(help="Leave out words in fewer documents (texts only).", min=1)] = 3,
    max_df: Annotated[
        float, typer.Option(help="Leave out words in more than this share (texts only).", min=0.0, max=1.0)
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Seed.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 uses every core.")] = -1,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the results of an earlier run in the folder.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Learn topics by anchor words and write tables, a model and a report."""
    sizes = _parse_sizes(k)
    if jobs == 0:
        raise LatentiaError("--jobs 0: give a number of threads, or -1 for every core.")
    _check_target(out, source, force)
    given = _read_anchors(anchors) if anchors else "greedy"
    words = {"stop_words": _stop_words(stop_words), "min_df": min_df, "max_df": max_df}
    corpus = readers.read_corpus(
        source, column=column, vocabulary=vocabulary, progress=not quiet, cache=_cache(source), **words
    )
    options = {
        "anchors": given,
        "refine": refine,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": not quiet,
        "vocabulary": corpus.vocabulary,
    }
    _run(corpus, sizes, options, out)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("out/demo"),
) -> None:
    """Learn topics of the King James Bible, bundled with the library."""
    corpus = readers.count_words(load_bible(), stop_words=_ARCHAIC, min_df=5)
    _run(corpus, [20], {"refine": 10, "n_jobs": -1, "vocabulary": corpus.vocabulary}, out)


def _run(corpus: Corpus, sizes: list[int], options: dict[str, Any], out: Path) -> None:
    """Fit, print, and write everything, or nothing."""
    console = Console()
    n_rows, n_words = corpus.blocks.n_rows, corpus.blocks.shapes[0][1]
    console.print(f"{corpus.source}: {n_rows:,} documents, {n_words:,} words", highlight=False, markup=False)
    _check_sizes(corpus, sizes, options)
    try:
        comparison = _compare(corpus, sizes, options, console) if len(sizes) > 1 else None
        size = _best(comparison) if comparison else sizes[0]
        model = AnchorTopics(size, **options).fit(corpus.blocks)
    except LatentiaError as error:
        raise LatentiaError(str(error) if corpus.source in str(error) else f"{corpus.source}: {error}") from error
    written = _write_all(out, lambda folder: _write(folder, model, corpus, comparison))
    _print_topics(model, corpus, console)
    _print_evidence(model.evidence_, console)
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


def _compare(corpus: Corpus, sizes: list[int], options: dict[str, Any], console: Console) -> list[dict[str, Any]]:
    """Fit every number of topics on nine tenths of the documents and measure each; the table is printed."""
    held = row_groups(np.arange(corpus.blocks.n_rows), 10, 1)[:, None] == 0
    train = corpus.blocks.group(frozenset(range(1, 10)), 10, 1)
    test = corpus.blocks.group(frozenset([0]), 10, 1)
    if held.sum() < 2:
        raise LatentiaError(f"{corpus.source}: too few documents to hold some out; give one number with -k.")
    some = _first_rows(train)
    rows = []
    for size in sizes:
        model = AnchorTopics(size, **options).fit(train)
        errors = model.evidence_.component_errors
        rows.append(
            {
                "topics": size,
                "perplexity": model.perplexity(test),
                "coherence (NPMI)": float(npmi_coherence(model.components_, some).mean()),
                "coherence (UMass)": float(umass_coherence(model.components_, some).mean()),
                "unique words of 10": float(unique_words(model.components_).mean()),
                "expected error": float(errors.mean()) if errors is not None else float("nan"),
                "topics above .8": int((errors > 0.8).sum()) if errors is not None else 0,
            }
        )
    best = _best(rows)
    table = Table(title="Numbers of topics (held out: one document in ten)")
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [
            f"{value:.3g}" if isinstance(value, float) and value < 1000 else f"{value:.0f}" for value in row.values()
        ]
        table.add_row(*cells, style="bold" if row["topics"] == best else None)
    console.print(table)
    console.print(
        f"{best} topics have the lowest held-out perplexity and are fitted on all documents.", highlight=False
    )
    return rows


def _best(rows: list[dict[str, Any]]) -> int:
    return int(min(rows, key=lambda row: row["perplexity"])["topics"])


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


def _print_topics(model: AnchorTopics, corpus: Corpus, console: Console) -> None:
    words = readers.vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])
    errors = model.evidence_.component_errors
    table = Table(title=f"{len(model.components_)} topics, most frequent first")
    for name, justify in (
        ("topic", "right"),
        ("share", "right"),
        ("error", "right"),
        ("anchor", "left"),
        ("words", "left"),
    ):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for i in np.argsort(-model.prevalence_, kind="stable"):
        error = f"{errors[i]:.2f}" if errors is not None else ""
        anchor = " ".join(str(word) for word in model.anchor_words_[i])
        listed = " ".join(words[top_words(model.components_[i : i + 1], 10)[0]])
        table.add_row(str(i), f"{100 * model.prevalence_[i]:.1f}%", error, escape(anchor), escape(listed))
    console.print(table)


def _print_evidence(evidence: Evidence, console: Console) -> None:
    table = Table(title="Evidence")
    for name in ("check", "measured", "needed", "holds", "meaning"):
        table.add_column(name, justify="right" if name == "measured" else "left")
    for check in evidence.checks:
        table.add_row(*map(escape, describe(check)), style="red" if check.holds is False else None)
    console.print(table)
    verdict = "supports" if evidence.holds else "does NOT support"
    console.print(f"The evidence {verdict} this fit.", style="bold" if evidence.holds else "bold red", highlight=False)


# --- writing ----------------------------------------------------------------------------------------------------


def _write(folder: Path, model: AnchorTopics, corpus: Corpus, comparison: list[dict[str, Any]] | None) -> None:
    from ..report import write_topics_report

    words = readers.vocabulary_array(corpus.vocabulary, corpus.blocks.shapes[0][1])
    names = corpus.names or [f"document {i}" for i in range(1, corpus.blocks.n_rows + 1)]
    persistence.save(model, folder / "model.npz")
    _write_topic_words(folder / "topics.csv", model, words)
    header = ["document", *(f"topic {i}" for i in range(len(model.components_)))]
    _write_csv(folder / "documents.csv", header, _document_rows(model, corpus, names))
    evidence = [list(row.values()) for row in model.evidence_.rows()]
    _write_csv(folder / "evidence.csv", list(model.evidence_.rows()[0]), evidence)
    if comparison:
        _write_csv(folder / "comparison.csv", list(comparison[0]), [list(row.values()) for row in comparison])
    write_topics_report(
        folder / "report.html", model, corpus.blocks, vocabulary=corpus.vocabulary, names=names, texts=corpus.texts,
        title=f"Topics of {corpus.source}", source=corpus.source, comparison=comparison,
    )  # fmt: skip


def _write_topic_words(path: Path, model: AnchorTopics, words: np.ndarray) -> None:
    errors = model.evidence_.component_errors
    rows = []
    for i, topic in enumerate(top_words(model.components_, 50)):
        for rank, w in enumerate(topic, 1):
            error = f"{errors[i]:.4f}" if errors is not None else ""
            share = f"{model.prevalence_[i]:.6f}"
            anchor = " ".join(str(word) for word in model.anchor_words_[i])
            rows.append([i, share, error, anchor, rank, words[w], f"{model.components_[i, w]:.8f}"])
    header = ["topic", "share", "expected error (l1 of 2)", "anchor", "rank", "word", "probability"]
    _write_csv(path, header, rows)


def _document_rows(model: AnchorTopics, corpus: Corpus, names: list[str]) -> Any:
    for block in corpus.blocks:
        shares = model.transform(Blocks.from_array(block[0]))
        for row, share in zip(block.rows, shares, strict=True):
            yield [names[row], *(f"{value:.5f}" for value in share)]


def _write_csv(path: Path, header: list[str], rows: Any) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _write_all(out: Path, write: Callable[[Path], None]) -> list[str]:
    """Write into a folder beside ``out`` and move the files over when all are there."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            write(partial)
            files = sorted(file.name for file in partial.iterdir())
            out.mkdir(exist_ok=True)
            for name in set(_OUTPUTS) - set(files):
                (out / name).unlink(missing_ok=True)  # of an earlier run
            for name in files:
                os.replace(partial / name, out / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise LatentiaError(f"{out}: cannot be written ({error.strerror or error}).") from error
    return files


# --- reading options --------------------------------------------------------------------------------------------


def _parse_sizes(text: str) -> list[int]:
    """``20`` or ``FROM:TO:STEP``, both ends included."""
    if not re.fullmatch(r"\d+(:\d+(:\d+)?)?", text):
        raise LatentiaError(f"-k {text!r}: give a number of topics, or FROM:TO:STEP as in 10:50:10.")
    parts = [int(part) for part in text.split(":")]
    if len(parts) == 1:
        sizes: Any = parts
    else:
        step = parts[2] if len(parts) == 3 else 1
        sizes = range(parts[0], parts[1] + 1, step) if all(parts) else []
    if not len(sizes) or sizes[0] < 1:
        raise LatentiaError(f"-k {text!r}: no number of topics in that range.")
    if len(sizes) > _MOST_SIZES:
        raise LatentiaError(f"-k {text!r}: {len(sizes)} numbers of topics; {_MOST_SIZES} can be compared.")
    return list(sizes)


def _check_target(out: Path, source: Path, force: bool) -> None:
    try:
        if out.exists() and not out.is_dir():
            raise LatentiaError(f"{out}: exists and is not a folder. Choose another with --out.")
        if out.exists() and any(out.iterdir()) and not force:
            raise LatentiaError(
                f"{out}: the folder is not empty. Choose another with --out, or replace its results with --force."
            )
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LatentiaError(f"--out {out}: cannot be written ({error.strerror or error}).") from error
    if source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise LatentiaError(
            f"--out {out}: lies in the folder of texts {source}, which would be read again. Choose another."
        )


def _stop_words(option: str) -> Any:
    if option == "english":
        return "english"
    if option == "none":
        return None
    words = readers.read_lines(_existing(Path(option), "--stop-words"))
    return [word.strip() for word in words if word.strip()]


def _read_anchors(path: Path) -> list[dict[str, float]]:
    anchors = []
    for number, line in enumerate(readers.read_lines(_existing(path, "--anchors")), 1):
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


def _existing(path: Path, option: str) -> Path:
    if not path.is_file():
        raise LatentiaError(f"{option} {path}: no such file.")
    return path


def _cache(source: Path) -> Path | None:
    """Beside the source if that can be written, else a folder of temporary files."""
    folder = source if source.is_dir() else source.parent
    return None if os.access(folder, os.W_OK) else Path(tempfile.gettempdir()) / "latentia-cache"
