"""``latentia matrix``: probabilities of pairs of words, nodes or things on disk, as tables, a model and a report."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen

from .. import persistence
from .._progress import progress_bar
from ..datasets import Pairs, read_pairs, read_text_pairs
from ..exceptions import LatentiaError, LatentiaWarning
from ..matrices import ProbabilityMatrix
from ..moments import split_counts, symmetric_counts
from ..report import import_report
from ..report.matrix import Community, communities, community_verdict, telling_words
from ._shared import (
    Force,
    Jobs,
    Quiet,
    Seed,
    best_size,
    check_choice,
    check_jobs,
    check_target,
    existing,
    named,
    parse_sizes,
    print_comparison,
    print_evidence,
    write_all,
    write_csv,
    write_evidence,
)
from ._tables import split_names

__all__ = ["matrix"]

_SCORE = "held-out log-likelihood"
_HELD_OUT = 0.1
_PRINTED, _LISTED, _NEAREST = 8, 500, 10
_GRAPH_TAU = 0.5


def matrix(
    source: Annotated[
        Path,
        typer.Argument(help="Pairs, two words a line and, if wanted, how often; a table of counts (.mtx); or texts."),
    ],
    r: Annotated[str, typer.Option("-r", help="Rank, or number of communities; FROM:TO:STEP compares a range.")] = "10",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("matrix"),
    bigrams: Annotated[bool, typer.Option("--bigrams", help="Count neighbouring words of texts.")] = False,
    window: Annotated[
        int | None, typer.Option(help="Count words of texts that stand at most so many words apart.", min=1)
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Every line is a text of its own.")] = False,
    column: Annotated[str | None, typer.Option(help="Text column of a CSV file.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Two columns of words of a CSV file, and one of counts, separated by commas.")
    ] = None,
    vocabulary: Annotated[Path | None, typer.Option(help="Words of a table of counts, one a line.")] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Leave rarer words out; by default 5 for texts and 1 for pairs.", min=1)
    ] = None,
    near: Annotated[
        list[str] | None, typer.Option(help="A word whose nearest words are shown; may be given again.")
    ] = None,
    group: Annotated[
        bool, typer.Option("--communities", help="The pairs are edges of a graph: find -r communities of nodes.")
    ] = False,
    method: Annotated[str, typer.Option(help="shrink, or binned: the paper's algorithm.")] = "shrink",
    tau: Annotated[
        float | None, typer.Option(help="How far rare words are held back; by default .3, for communities .5.")
    ] = None,
    refine: Annotated[int, typer.Option(help="EM steps after the recovery; 0 keeps to the theorem.", min=0)] = 0,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn how probable every pair is, what is near to what, or communities, and write tables and a report."""
    sizes = parse_sizes(r, "ranks", "-r")
    if group and min(sizes) < 2:
        raise LatentiaError(f"-r {r}: two communities or more are needed.")
    check_jobs(jobs)
    check_choice("--method", method, ("shrink", "binned"))
    check_target(out, source, force)
    import_report()
    window = 1 if bigrams and window is None else window
    pairs = _read(source, window, lines, column, split_names(columns), vocabulary, min_count, not quiet)
    console = Console()
    console.print(_described(pairs, group), highlight=False, markup=False, soft_wrap=True)
    wanted = _known(pairs, near or [])
    _check_sizes(pairs, sizes)
    options: dict[str, Any] = {
        "method": method, "tau": (_GRAPH_TAU if group else 0.3) if tau is None else tau, "refine": refine,
        "vocabulary": pairs.words, "random_state": seed, "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    with named(pairs.source, "-r"):
        comparison = _compare(pairs, sizes, options, console) if len(sizes) > 1 else None
        size = best_size(comparison, _SCORE, lowest=False) if comparison else sizes[0]
        model = ProbabilityMatrix(size, **options).fit(pairs.counts)
    found = communities(model, pairs.counts) if group else []
    if found:
        _print_communities(found, console)
    if wanted or not found:
        _print_nearest(model, pairs, wanted, console)
    print_evidence(model.evidence_, console, verdict=not found)  # that of the matrix is not that of communities
    if found:
        good, headline, text = community_verdict(model)
        console.print(f"{headline}. {text}", style="bold" if good else "bold red", highlight=False, markup=False)
    written = write_all(out, lambda folder: _write(folder, model, pairs, wanted, found, comparison))
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


# --- reading ----------------------------------------------------------------------------------------------------


def _read(
    path: Path,
    window: int | None,
    lines: bool,
    column: str | None,
    columns: list[str] | None,
    vocabulary: Path | None,
    min_count: int | None,
    progress: bool,
) -> Pairs:
    if window is None:
        for option, given in (("--lines", lines), ("--column", column)):
            if given:
                raise LatentiaError(
                    f"{option} is for texts: add --bigrams to count neighbouring words, or leave it out."
                )
        if vocabulary is not None:
            existing(vocabulary, "--vocabulary")
        return read_pairs(path, columns=columns, vocabulary=vocabulary, min_count=min_count or 1, progress=progress)
    for option, value in (("--columns", columns), ("--vocabulary", vocabulary)):
        if value is not None:
            raise LatentiaError(
                f"{option} is for pairs that were counted before: leave it out, or --bigrams and --window."
            )
    least = {} if min_count is None else {"min_count": min_count}
    return read_text_pairs(path, window=window, lines=lines, column=column, progress=progress, **least)


def _described(pairs: Pairs, graph: bool) -> str:
    counts, twice = symmetric_counts(pairs.counts)
    size, total = len(pairs.words), float(counts.sum()) / 2
    many, one = ("edges", "node") if graph else ("pairs", "word")
    rare = f"; {pairs.left_out:,} rarer {one}s were left out" if pairs.left_out else ""
    rare += f"; all {many} are there in both orders, and counted once" if twice else ""
    return f"{pairs.source}: {total:,.0f} {many} of {size:,} {one}s, {total / size:.3g} a {one}{rare}"


def _known(pairs: Pairs, near: list[str]) -> list[str]:
    """The words of ``--near``, each once."""
    words = set(pairs.words) if near else set()
    found = []
    for word in near:
        chosen = word if word in words else word.lower()
        if chosen not in words:
            rare = " It may be rarer than --min-count." if pairs.left_out else ""
            raise LatentiaError(f"--near {word}: {pairs.source} has no such word.{rare}")
        found.append(chosen)
    return list(dict.fromkeys(found))


def _check_sizes(pairs: Pairs, sizes: list[int]) -> None:
    """Say before the work begins what would fail after it."""
    if max(sizes) > len(pairs.words):
        raise LatentiaError(f"{pairs.source}: -r {max(sizes)} is more than there are words, {len(pairs.words)}.")


# --- fitting ----------------------------------------------------------------------------------------------------


def _compare(pairs: Pairs, sizes: list[int], options: dict[str, Any], console: Console) -> list[dict[str, Any]]:
    """Fit every rank on nine tenths of the pairs and measure each on the tenth; the table is printed."""
    counts, symmetric = symmetric_counts(pairs.counts)
    held, kept = split_counts(counts if symmetric else pairs.counts, symmetric, options["random_state"], _HELD_OUT)
    if not held.nnz or not kept.nnz:
        raise LatentiaError(f"{pairs.source}: too few pairs to hold some out; give one number with -r.")
    options = options | {"n_splits": 0}
    found: list[dict[str, Any]] = []
    with (
        progress_bar(options["verbose"] and "comparing", len(sizes) + 1, "ranks") as advance,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", LatentiaWarning)  # the model of all pairs says again what concerns it
        alone = ProbabilityMatrix(1, **options | {"refine": 0, "method": "shrink"}).fit(kept).score(held)
        advance(1)
        for size in sizes:
            model = ProbabilityMatrix(size, **options).fit(kept)
            value = model.score(held)
            check = model.evidence_["expected error"]
            found.append(
                {
                    "rank": size,
                    _SCORE: value,
                    "above independent words": value - alone,
                    "directions kept": model.n_kept_,
                    "expected error": check.measured,
                    "needed": check.needed,
                }
            )
            advance(1)
    best = best_size(found, _SCORE, lowest=False)
    sentence = f"Rank {best} has the highest held-out log-likelihood a pair, in nats, and is fitted on all pairs."
    if max(row["above independent words"] for row in found) <= 0:
        sentence += " No rank predicts better than independent words."
    print_comparison(found, best, "Ranks (held out: one pair in ten)", sentence, console)
    return found


# --- printing ---------------------------------------------------------------------------------------------------


def _nearest(model: ProbabilityMatrix, word: int) -> list[tuple[Any, float]]:
    """Nearest words, none for a word that has no place in the embedding."""
    try:
        return model.most_similar(word, _NEAREST)
    except LatentiaError:
        return []


def _print_nearest(model: ProbabilityMatrix, pairs: Pairs, wanted: list[str], console: Console) -> None:
    screen = Screen(title="Nearest words, with cosines" if wanted else "Words that tell most, and their nearest words")
    screen.add_column("word")
    screen.add_column("seen", justify="right")
    screen.add_column("nearest")
    seen = 2 * model.n_pairs_ * model.marginals_
    for i in [pairs.words.index(word) for word in wanted] or telling_words(model, _PRINTED):
        listed = [f"{other} {cosine:.2f}" for other, cosine in _nearest(model, i)]
        screen.add_row(escape(pairs.words[i]), f"{seen[i]:,.0f}", escape(", ".join(listed)) or "not known")
    if screen.row_count:
        console.print(screen)
    else:
        asked = "No direction stands out of the noise" if model.n_components > 1 else "Rank 1 asks for no direction"
        console.print(f"{asked}: nothing is known of words beyond their frequencies.")


def _print_communities(found: list[Community], console: Console) -> None:
    screen = Screen(title=f"{len(found)} communities, the largest first")
    for name in ("community", "nodes", "ends inside", "by chance"):
        screen.add_column(name, justify="right")
    screen.add_column("best connected")
    for each in found:
        inside = "" if each.inside is None else f"{100 * each.inside:.0f}%"
        members = escape(", ".join(name for name, _ in each.members[:_PRINTED]))
        screen.add_row(str(each.number), f"{each.size:,}", inside, f"{100 * each.share:.0f}%", members)
    console.print(screen)


# --- writing ----------------------------------------------------------------------------------------------------


def _write(
    folder: Path,
    model: ProbabilityMatrix,
    pairs: Pairs,
    wanted: list[str],
    found: list[Community],
    comparison: list[dict[str, Any]] | None,
) -> None:
    from ..report import write_matrix_report

    persistence.save(model, folder / "model.npz")
    _write_words(folder / "words.csv", model, pairs)
    _write_spectrum(folder / "spectrum.csv", model)
    write_csv(folder / "nearest.csv", ["word", "rank", "nearest", "cosine"], _all_nearest(model, pairs, wanted))
    write_evidence(folder / "evidence.csv", model.evidence_)
    if comparison:
        write_csv(folder / "comparison.csv", list(comparison[0]), [list(row.values()) for row in comparison])
    if found:
        seen, numbers = 2 * model.n_pairs_ * model.marginals_, np.full(model.n_components, -1)
        numbers[[each.label for each in found]] = [each.number for each in found]
        rows = zip(pairs.words, (f"{n:.10g}" for n in seen), numbers[model.labels_], strict=True)
        write_csv(folder / "labels.csv", ["node", "edges", "community"], rows)
    write_matrix_report(
        folder / "report.html", model, pairs.counts, near=wanted, found=found, comparison=comparison, source=pairs.source,
        title=f"{'Communities' if found else 'Pairs'} of {pairs.source}",
    )  # fmt: skip


def _write_words(path: Path, model: ProbabilityMatrix, pairs: Pairs) -> None:
    seen = 2 * model.n_pairs_ * model.marginals_
    rows = (
        [word, f"{n:.10g}", f"{share:.8g}", *(f"{x:.6g}" for x in place)]
        for word, n, share, place in zip(pairs.words, seen, model.marginals_, model.embedding_, strict=True)
    )
    header = ["word", "seen", "share", *(f"direction {k}" for k in range(1, model.embedding_.shape[1] + 1))]
    write_csv(path, header, rows)


def _write_spectrum(path: Path, model: ProbabilityMatrix) -> None:
    shrunk = np.sign(model.spectrum_) * np.sqrt(np.maximum(model.spectrum_**2 - model.edge_**2, 0))
    rows = [
        [k + 1, f"{value:.8g}", f"{model.edge_:.8g}", "yes" if k < model.n_kept_ else "no", f"{less:.8g}"]
        for k, (value, less) in enumerate(zip(model.spectrum_, shrunk, strict=True))
    ]
    write_csv(path, ["direction", "eigenvalue", "edge of the noise", "kept", "shrunk"], rows)


def _all_nearest(model: ProbabilityMatrix, pairs: Pairs, wanted: list[str]) -> Iterator[list[Any]]:
    telling = telling_words(model, _LISTED, apart=False)
    for i in dict.fromkeys([*(pairs.words.index(word) for word in wanted), *telling]):
        for rank, (other, cosine) in enumerate(_nearest(model, i), 1):
            yield [pairs.words[i], rank, other, f"{cosine:.4f}"]
