"""``latentia matrix``: probabilities of pairs of words, nodes or things in a file, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import KnownPairs, Pairs, match_pairs, read_pairs, read_text_pairs
from ..exceptions import LatentiaError
from ..matrices import ProbabilityMatrix
from ..moments import split_counts, symmetric_counts
from ..reading import has_columns
from ..report.matrix import community_evidence, summarize_matrix
from ..report.parts import evidence_of
from ..summaries import Column, Table
from ..system.terminal import say
from ._records import MatrixOptions
from ._shared import Comparison, ReadOptions, Rows, check_file, highest, learn, parse_sizes
from ._tables import NewRows, split_names

_FILES = "following.csv", "labels.csv", "nearest.csv", "spectrum.csv", "words.csv"
_HELD_OUT_SHARE, _N_LISTED = 0.1, 500


def matrix(run: MatrixOptions) -> dict[str, Any]:
    """Learn the probability of every pair, nearest words, or communities, and write tables and a report."""
    noun = "communities" if run.group else "dimensions"
    sizes = parse_sizes(run.k, noun)
    if run.group and min(sizes) < 2:
        raise LatentiaError(f"-k {run.k}: expected at least two communities.")
    if run.ordered and run.group:
        raise LatentiaError("--ordered: communities need pairs without order. Leave one of the two options out.")
    if run.ordered and str(run.refine) not in ("0", "auto"):
        raise LatentiaError("--ordered: leave out --refine, which is for pairs without order.")
    results = run.results(run.source, *_FILES)
    window = 1 if run.bigrams and run.window is None else run.window
    reading = {"window": window, "lines": run.lines, "column": run.column, "columns": split_names(run.columns)}
    pairs = _read_source(run.source, reading, run.vocabulary, run.min_count, run.reading())
    say(_describe_pairs(pairs, run.group, run.ordered))
    near_words = _check_near(pairs, run.near or [])
    data = f"{pairs.source}: {len(pairs.words):,} {'nodes' if run.group else 'words'}"
    sizes = sizes.limit_to(len(pairs.words), data)
    tau = (0.5 if run.group else 0.3) if run.tau is None else run.tau
    options = run.parameters_of(ProbabilityMatrix) | {
        "symmetric": not run.ordered,
        "tau": tau,
        "vocabulary": pairs.words,
    }
    return learn(
        results, pairs.source, sizes,
        lambda size: ProbabilityMatrix(size, **options).fit(pairs.counts),  # type: ignore[arg-type]
        lambda model, comparison: summarize_matrix(
            model, pairs.counts, near=near_words, communities=run.group, listed=_N_LISTED, comparison=comparison,
            source=pairs.source, title=f"{'Communities' if run.group else 'Pairs'} of {pairs.source}",
        ),
        reading=reading,
        compare=lambda: _build_comparison(pairs, options | {"n_splits": 0, "verbose": False}),
        evidence=community_evidence if run.group else evidence_of,
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


def _read_source(
    path: Path, reading: dict[str, Any], vocabulary: Path | None, min_count: int | None, read_options: ReadOptions
) -> Pairs:
    texts, counts = ({f"--{name}": reading[name] for name in names} for names in (("lines", "column"), ("columns",)))
    unused = counts | {"--vocabulary": vocabulary}
    explanation = "pairs that were counted before, not for --bigrams and --window."
    if reading["window"] is None:
        unused, explanation = texts, "texts: add --bigrams to count neighbouring words."
    for option, value in unused.items():
        if value:
            raise LatentiaError(f"{option} is for {explanation}")
    common: dict[str, Any] = {"encoding": read_options.encoding, "progress": read_options.progress}
    if reading["window"] is None:
        vocabulary_path = vocabulary and check_file(vocabulary, "--vocabulary")
        list_options: dict[str, Any] = {
            "columns": reading["columns"],
            "min_count": min_count or 1,
            "cache": read_options.cache,
        }
        return read_pairs(path, vocabulary=vocabulary_path, **common, **list_options)
    text_options: dict[str, Any] = {} if min_count is None else {"min_count": min_count}
    return read_text_pairs(
        path, **{name: reading[name] for name in ("window", "lines", "column")}, **common, **text_options
    )


def _describe_pairs(pairs: Pairs, graph: bool, ordered: bool) -> str:
    counts, twice = (pairs.counts, False) if ordered else symmetric_counts(pairs.counts)
    size, total = len(pairs.words), float(counts.sum()) / (1 if ordered else 2)
    plural, noun = ("edges", "node") if graph else ("pairs", "word")
    rare = f"; {pairs.left_out:,} rarer {noun}s are skipped" if pairs.left_out else ""
    rare += f"; all {plural} are there in both orders, and counted once" if twice else ""
    return f"{pairs.source}: {total:,.0f} {plural} of {size:,} {noun}s, {total / size:.3g} per {noun}{rare}"


def _check_near(pairs: Pairs, near: list[str]) -> list[str]:
    """Return the words of ``--near``, each once; raise for unknown ones."""
    words = set(pairs.words) if near else set()
    chosen_words = {word if word in words else word.lower(): word for word in near}
    for chosen, word in chosen_words.items():
        if chosen not in words:
            rare = " It may be rarer than --min-count." if pairs.left_out else ""
            raise LatentiaError(f"--near {word}: {pairs.source} has no such word.{rare}")
    return list(chosen_words)


def _build_comparison(pairs: Pairs, options: dict[str, Any]) -> Comparison:
    """Fit models to nine tenths of the pairs and compare them by the likelihood of the last tenth."""
    counts, symmetric = symmetric_counts(pairs.counts) if options["symmetric"] else (pairs.counts, False)
    held_out, training = split_counts(
        counts if symmetric else pairs.counts, symmetric, options["random_state"], _HELD_OUT_SHARE
    )
    if not held_out.nnz or not training.nnz:
        raise LatentiaError("too few pairs to hold some out. Give one number with -k.", source=pairs.source)
    score, above = "held-out log-likelihood", "above independent words"
    base_score = ProbabilityMatrix(1, **options | {"refine": 0, "discount": False}).fit(training).score(held_out)
    best = "Rank {} has the highest held-out log-likelihood per pair, in nats, and is fitted on all pairs."

    def choose(rows: Rows) -> tuple[int, str]:
        better = max(row[above] for row in rows) > 0
        return highest(score, best + ("" if better else " No rank predicts better than independent words."))(rows)

    def measure(model: ProbabilityMatrix) -> dict[str, float]:
        value = model.score(held_out)
        return {score: value, above: value - base_score, "directions kept": model.n_kept_}

    return Comparison(
        "rank",
        "one pair in ten",
        lambda size: ProbabilityMatrix(size, **options).fit(training),
        measure,
        choose,
        by_grade=False,
    )


# --- applying ---------------------------------------------------------------------------------------------------


def apply_matrix(model: Any, source: Path, read_options: ReadOptions) -> Callable[[Path], object]:
    """Read other pairs; return the function that writes the probability of each."""
    matches, names = _match_known(model, source, read_options)
    return _build_probability_table(model, names, matches.first, matches.second, matches.times).write


def _match_known(model: Any, source: Path, read_options: ReadOptions) -> tuple[KnownPairs, Any]:
    """Read other pairs as those of a model; return those of known words, and the names of all words."""
    reading = {"window": None, "lines": False, "column": None, "columns": None} | dict(model.reading_)
    if not has_columns(source):
        reading = reading | {"column": None, "columns": None}
    pairs = _read_source(source, reading, None, 1, read_options)
    names = range(model.n_features_in_) if model.vocabulary is None else model.vocabulary
    say(f"{pairs.source}: {pairs.counts.nnz:,} different pairs of {len(pairs.words):,} words")
    matches = match_pairs(pairs, names)
    if matches.n_ignored:
        unknown = f"{matches.n_unknown:,} words that the model does not have"
        say(f"{matches.n_ignored:,} pairs with {unknown} are ignored.")
    return matches, names


def news_matrix(model: Any, source: Path, read_options: ReadOptions, batch: str | None) -> NewRows:
    """Read other pairs, one by one, without those that have words that a model does not know."""
    if batch is not None:
        raise LatentiaError("--batch: give a file of pairs for each batch.", source=source)
    matches, names = _match_known(model, source, read_options)
    if (matches.times % 1).any():
        raise LatentiaError("expected whole counts of pairs for news, found fractions.", source=source)
    pairs = np.repeat(np.column_stack([matches.first, matches.second]), matches.times.astype(int), axis=0)
    return NewRows(pairs, "pair", [f"{names[i]} {names[j]}" for i, j in pairs])


def _build_probability_table(model: Any, names: Any, first: np.ndarray, second: np.ndarray, times: np.ndarray) -> Table:
    """Build a table of pairs with their probabilities, and the log-ratios to those of independent words."""
    probability = model.entries(first, second)
    independent = model.marginals_[first] * (model.marginals_ if model.symmetric else model.column_marginals_)[second]
    ratio = np.divide(probability, independent, out=np.zeros(len(independent)), where=independent > 0)
    columns = (
        Column("word", [names[i] for i in first]), Column("other word", [names[j] for j in second]),
        Column("times", times, ".10g"), Column("probability", probability, ".8g"),
        Column("pmi", [np.log(r) if r > 0 else None for r in ratio], ".6g"),
    )  # fmt: skip
    return Table("pairs", columns)
