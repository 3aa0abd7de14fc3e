"""``latentia matrix``: probabilities of pairs of words, nodes or things on disk, as tables, a model and a report."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..datasets import Pairs, read_pairs, read_text_pairs
from ..datasets.separated import has_columns
from ..exceptions import LatentiaError
from ..matrices import ProbabilityMatrix
from ..moments import split_counts, symmetric_counts
from ..report.matrix import Community, communities, community_evidence, telling_words
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
    existing,
    highest,
    parse_sizes,
    possible_sizes,
    print_components,
    run_command,
    say,
    write_csv,
)
from ._tables import split_names

__all__ = ["apply_matrix", "matrix"]

_FILES = ("following.csv", "labels.csv", "nearest.csv", "spectrum.csv", "words.csv")
_HELD_OUT = 0.1
_PRINTED, _LISTED, _NEAREST = 8, 500, 10
_GRAPH_TAU = 0.5


def matrix(
    source: Annotated[
        Path,
        typer.Argument(help="Pairs, two words per line and, if wanted, how often; a table of counts (.mtx); or texts."),
    ],
    k: Annotated[
        str,
        typer.Option("-k", "--rank", "-r", help="Rank, or number of communities; FROM:TO:STEP compares a range."),
    ] = "10",
    out: Out = Path("matrix"),
    bigrams: Annotated[bool, typer.Option("--bigrams", help="Count neighbouring words of texts.")] = False,
    window: Annotated[
        int | None, typer.Option(help="Count words of texts that stand at most so many words apart.", min=1)
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Every line is a text of its own.")] = False,
    column: Annotated[str | None, typer.Option(help="Text column of a CSV file.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Two columns of words of a CSV file, and one of counts, separated by commas.")
    ] = None,
    vocabulary: Annotated[Path | None, typer.Option(help="Words of a table of counts, one per line.")] = None,
    min_count: Annotated[
        int | None, typer.Option(help="Skip rarer words; by default 5 for texts and 1 for pairs.", min=1)
    ] = None,
    near: Annotated[
        list[str] | None, typer.Option(help="A word whose nearest words are shown; may be given again.")
    ] = None,
    group: Annotated[
        bool, typer.Option("--communities", help="The pairs are edges of a graph: find -k communities of nodes.")
    ] = False,
    ordered: Annotated[
        bool,
        typer.Option(
            "--ordered", help="The order of a pair matters: what follows what in texts, or which user took which item."
        ),
    ] = False,
    method: Annotated[str, typer.Option(help="shrink, or binned: the paper's algorithm.")] = "shrink",
    tau: Annotated[
        float | None, typer.Option(help="How far rare words are held back; by default 0.3, for communities 0.5.")
    ] = None,
    refine: Refine = "0",
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Learn how probable every pair is, what is near to what, or communities, and write tables and a report."""
    sizes = parse_sizes(k, "communities" if group else "dimensions")
    if group and min(sizes) < 2:
        raise LatentiaError(f"-k {k}: two communities or more are needed.")
    check_choice("--method", method, ("shrink", "binned"))
    if ordered and group:
        raise LatentiaError("--ordered: communities are those of pairs without order.")
    if ordered and (method != "shrink" or str(refine) not in ("0", "auto")):
        raise LatentiaError("--ordered: leave out --method and --refine, which are for pairs without order.")
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, encoding=encoding)
    reading = {
        "window": 1 if bigrams and window is None else window,
        "lines": lines,
        "column": column,
        "columns": split_names(columns),
    }
    pairs = _read(source, reading, vocabulary, min_count, how)
    console = Console()
    say(console, _described(pairs, group, ordered))
    wanted = _known(pairs, near or [])
    data = f"{pairs.source}: {len(pairs.words):,} {'nodes' if group else 'words'}"
    sizes = possible_sizes(sizes, len(pairs.words), data, "communities" if group else "dimensions", console)
    options: dict[str, Any] = {
        "symmetric": not ordered, "method": method, "tau": (_GRAPH_TAU if group else 0.3) if tau is None else tau,
        "refine": refine, "vocabulary": pairs.words, "random_state": seed, "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    found = functools.cache(lambda model: communities(model, pairs.counts) if group else [])

    def show(model: Any, console: Console) -> None:
        if group:
            _print_communities(found(model), console)
        if ordered:
            _print_following(model, pairs, wanted, console)
        if wanted or not group:
            _print_nearest(model, pairs, wanted, console)

    return run_command(
        results, pairs.source, sizes,
        fit=lambda size: ProbabilityMatrix(size, **options).fit(pairs.counts),  # type: ignore[arg-type]
        show=show,
        write=lambda folder, model, comparison: _write(folder, model, pairs, wanted, found(model), comparison),
        reading=reading,
        compare=lambda: _comparison(pairs, options | {"n_splits": 0, "verbose": False}),
        **({"evidence": community_evidence} if group else {}),
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


def _read(path: Path, reading: dict[str, Any], vocabulary: Path | None, min_count: int | None, how: Reading) -> Pairs:
    if reading["window"] is None:
        for option, given in (("--lines", reading["lines"]), ("--column", reading["column"])):
            if given:
                raise LatentiaError(f"{option} is for texts: add --bigrams to count neighbouring words.")
        if vocabulary is not None:
            existing(vocabulary, "--vocabulary")
        columns = reading["columns"]
        return read_pairs(
            path, columns=columns, vocabulary=vocabulary, min_count=min_count or 1, cache=how.cache,
            encoding=how.encoding, progress=how.progress,
        )  # fmt: skip
    for option, value in (("--columns", reading["columns"]), ("--vocabulary", vocabulary)):
        if value is not None:
            raise LatentiaError(f"{option} is for pairs that were counted before, not for --bigrams and --window.")
    least = {} if min_count is None else {"min_count": min_count}
    window, lines, column = reading["window"], reading["lines"], reading["column"]
    return read_text_pairs(
        path, window=window, lines=lines, column=column, encoding=how.encoding, progress=how.progress, **least
    )


def _described(pairs: Pairs, graph: bool, ordered: bool) -> str:
    counts, twice = (pairs.counts, False) if ordered else symmetric_counts(pairs.counts)
    size, total = len(pairs.words), float(counts.sum()) / (1 if ordered else 2)
    many, one = ("edges", "node") if graph else ("pairs", "word")
    rare = f"; {pairs.left_out:,} rarer {one}s are skipped" if pairs.left_out else ""
    rare += f"; all {many} are there in both orders, and counted once" if twice else ""
    return f"{pairs.source}: {total:,.0f} {many} of {size:,} {one}s, {total / size:.3g} per {one}{rare}"


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


def _comparison(pairs: Pairs, options: dict[str, Any]) -> Comparison:
    """Models of nine tenths of the pairs, and the likelihood that each gives to the tenth."""
    counts, symmetric = symmetric_counts(pairs.counts) if options["symmetric"] else (pairs.counts, False)
    held, kept = split_counts(counts if symmetric else pairs.counts, symmetric, options["random_state"], _HELD_OUT)
    if not held.nnz or not kept.nnz:
        raise LatentiaError(f"{pairs.source}: too few pairs to hold some out; give one number with -k.")
    score, above = "held-out log-likelihood", "above independent words"
    alone = ProbabilityMatrix(1, **options | {"refine": 0, "method": "shrink", "discount": False}).fit(kept).score(held)
    best = highest(
        score, "Rank {} has the highest held-out log-likelihood per pair, in nats, and is fitted on all pairs."
    )

    def measure(model: Any) -> dict[str, Any]:
        value = model.score(held)
        return {score: value, above: value - alone, "directions kept": model.n_kept_}

    def choose(rows: Rows) -> tuple[int, str]:
        size, text = best(rows)
        if max(row[above] for row in rows) <= 0:
            text += " No rank predicts better than independent words."
        return size, text

    return Comparison(
        "rank", "one pair in ten", lambda size: ProbabilityMatrix(size, **options).fit(kept), measure, choose
    )


# --- printing ---------------------------------------------------------------------------------------------------


def _nearest(model: Any, word: int) -> list[tuple[Any, float]]:
    """Nearest words, none for a word that has no place in the embedding."""
    try:
        return model.most_similar(word, _NEAREST)
    except LatentiaError:
        return []


def _print_nearest(model: Any, pairs: Pairs, wanted: list[str], console: Console) -> None:
    seen, rows = _seen(model), []
    for i in [pairs.words.index(word) for word in wanted] or telling_words(model, _PRINTED):
        listed = ", ".join(f"{other} {cosine:.2f}" for other, cosine in _nearest(model, i))
        rows.append([pairs.words[i], f"{seen[i]:,.0f}", listed or "not known"])
    if rows:
        title = "Nearest words, with cosines" if wanted else "Words that tell most, and their nearest words"
        print_components(console, title, {"word": "left", "seen": "right", "nearest": "left"}, rows, "nearest.csv")
    else:
        asked = "No direction stands out of the noise" if model.n_components > 1 else "Rank 1 asks for no direction"
        say(console, f"{asked}: nothing is known of words beyond their frequencies.")


def _following(model: Any, word: int) -> list[tuple[int, float]]:
    """What most probably follows a word, and how probably."""
    chances = model.conditional(word)
    first = np.argsort(-chances, kind="stable")[:_NEAREST]
    return [(int(j), float(chances[j])) for j in first if chances[j] > 0]


def _print_following(model: Any, pairs: Pairs, wanted: list[str], console: Console) -> None:
    seen, rows = _seen(model), []
    for i in [pairs.words.index(word) for word in wanted] or telling_words(model, _PRINTED):
        listed = ", ".join(f"{pairs.words[j]} {100 * chance:.1f}%" for j, chance in _following(model, i)[:6])
        rows.append([pairs.words[i], f"{seen[i]:,.0f}", listed])
    heads = {"first": "left", "seen": "right", "second, most probably": "left"}
    if rows:
        print_components(console, "What goes with what", heads, rows, "following.csv")


def _print_communities(found: list[Community], console: Console) -> None:
    rows = []
    for each in found:
        inside = "" if each.inside is None else f"{100 * each.inside:.0f}%"
        members = ", ".join(name for name, _ in each.members[:_PRINTED])
        rows.append([str(each.number), f"{each.size:,}", inside, f"{100 * each.share:.0f}%", members])
    heads = dict.fromkeys(("community", "nodes", "ends inside", "by chance"), "right") | {"best connected": "left"}
    print_components(console, f"{len(found)} communities, the largest first", heads, rows, "labels.csv")


# --- writing ----------------------------------------------------------------------------------------------------


def _write(
    folder: Path, model: Any, pairs: Pairs, wanted: list[str], found: list[Community], comparison: Rows | None
) -> None:
    from ..report import write_matrix_report

    _write_words(folder / "words.csv", model, pairs)
    if not model.symmetric:
        write_csv(
            folder / "following.csv", ["first", "rank", "second", "probability"], _all_following(model, pairs, wanted)
        )
    _write_spectrum(folder / "spectrum.csv", model)
    write_csv(folder / "nearest.csv", ["word", "rank", "nearest", "cosine"], _all_nearest(model, pairs, wanted))
    if found:
        seen, numbers = _seen(model), np.full(model.n_components, -1)
        numbers[[each.label for each in found]] = [each.number for each in found]
        rows = zip(pairs.words, (f"{n:.10g}" for n in seen), numbers[model.communities(pairs.counts)], strict=True)
        write_csv(folder / "labels.csv", ["node", "edges", "community"], rows)
    write_matrix_report(
        folder / "report.html", model, pairs.counts, near=wanted, found=found, comparison=comparison, source=pairs.source,
        title=f"{'Communities' if found else 'Pairs'} of {pairs.source}",
    )  # fmt: skip


def _write_words(path: Path, model: Any, pairs: Pairs) -> None:
    seen = _seen(model)
    rows = (
        [word, f"{n:.10g}", f"{share:.8g}", *(f"{x:.6g}" for x in place)]
        for word, n, share, place in zip(pairs.words, seen, model.marginals_, model.embedding_, strict=True)
    )
    header = ["word", "seen", "share", *(f"direction {k}" for k in range(1, model.embedding_.shape[1] + 1))]
    write_csv(path, header, rows)


def _all_following(model: Any, pairs: Pairs, wanted: list[str]) -> Iterator[list[Any]]:
    telling = telling_words(model, _LISTED, apart=False)
    for i in dict.fromkeys([*(pairs.words.index(word) for word in wanted), *telling]):
        for rank, (j, chance) in enumerate(_following(model, i), 1):
            yield [pairs.words[i], rank, pairs.words[j], f"{chance:.6g}"]


def _seen(model: Any) -> np.ndarray:
    """How often every word is in a pair; of ordered pairs, how often it is the first."""
    return np.asarray((1 + model.symmetric) * model.n_pairs_ * model.marginals_)


def _write_spectrum(path: Path, model: Any) -> None:
    shrunk = np.sign(model.spectrum_) * np.sqrt(np.maximum(model.spectrum_**2 - model.edge_**2, 0))
    rows = [
        [k + 1, f"{value:.8g}", f"{model.edge_:.8g}", "yes" if k < model.n_kept_ else "no", f"{less:.8g}"]
        for k, (value, less) in enumerate(zip(model.spectrum_, shrunk, strict=True))
    ]
    write_csv(path, ["direction", "eigenvalue", "edge of the noise", "kept", "shrunk"], rows)


def _all_nearest(model: Any, pairs: Pairs, wanted: list[str]) -> Iterator[list[Any]]:
    telling = telling_words(model, _LISTED, apart=False)
    for i in dict.fromkeys([*(pairs.words.index(word) for word in wanted), *telling]):
        for rank, (other, cosine) in enumerate(_nearest(model, i), 1):
            yield [pairs.words[i], rank, other, f"{cosine:.4f}"]


# --- applying ---------------------------------------------------------------------------------------------------


def apply_matrix(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other pairs; gives the function that writes how probable each is."""
    reading = getattr(model, "reading_", {"window": None, "lines": False, "column": None, "columns": None})
    if not has_columns(source):
        reading = reading | {"column": None, "columns": None}
    pairs = _read(source, reading, None, 1, how)
    names = range(model.n_features_in_) if model.vocabulary is None else model.vocabulary
    numbers = {str(name): i for i, name in enumerate(names)}
    places = np.array([numbers.get(word, -1) for word in pairs.words])
    cells = pairs.counts.tocoo()
    first, second = (places[part] for part in cells.coords)
    known = (first >= 0) & (second >= 0)
    say(console, f"{pairs.source}: {cells.nnz:,} different pairs of {len(pairs.words):,} words")
    if not known.any():
        raise LatentiaError(
            f"{pairs.source}: the model has none of its pairs. Was it learned from words of another kind?"
        )
    if not known.all():
        strange = f"{int((places < 0).sum()):,} words that the model does not have"
        say(console, f"{int((~known).sum()):,} pairs with {strange} are ignored.")
    return lambda path: _write_pairs(path, model, names, first[known], second[known], cells.data[known])


def _write_pairs(path: Path, model: Any, names: Any, first: np.ndarray, second: np.ndarray, times: np.ndarray) -> None:
    """The probability of every pair, and the logarithm of how many times as probable it is as of independent words."""
    probability = model.entries(first, second)
    alone = model.marginals_[first] * (model.marginals_ if model.symmetric else model.column_marginals_)[second]
    ratio = np.divide(probability, alone, out=np.zeros(len(alone)), where=alone > 0)
    rows = (
        [names[i], names[j], f"{n:.10g}", f"{p:.8g}", f"{np.log(r):.6g}" if r > 0 else ""]
        for i, j, n, p, r in zip(first, second, times, probability, ratio, strict=True)
    )
    write_csv(path, ["word", "other word", "times", "probability", "pmi"], rows)
