"""``latentia matrix``: probabilities of pairs of words, nodes or things on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import Pairs, match_pairs, read_pairs, read_text_pairs
from ..exceptions import LatentiaError
from ..matrices import ProbabilityMatrix
from ..moments import split_counts, symmetric_counts
from ..reading import has_columns
from ..report.matrix import community_evidence, summarize_matrix
from ..report.parts import evidence_of
from ..summaries import Column, Table
from ..system.terminal import say
from ._run import Run
from ._shared import Comparison, ReadOptions, Rows, existing, highest, learn, parse_sizes
from ._tables import split_names

_FILES = "following.csv", "labels.csv", "nearest.csv", "spectrum.csv", "words.csv"
_HELD_OUT, _LISTED = 0.1, 500


def matrix(
    run: Run,
    source: Path,
    k: str = "10",
    bigrams: bool = False,
    window: int | None = None,
    lines: bool = False,
    column: str | None = None,
    columns: str | None = None,
    vocabulary: Path | None = None,
    min_count: int | None = None,
    near: list[str] | None = None,
    group: bool = False,
    ordered: bool = False,
    tau: float | None = None,
    refine: str = "0",
) -> dict[str, Any]:
    """Learn how probable every pair is, what is near to what, or communities, and write tables and a report.

    Parameters
    ----------
    source
        Pairs, two words per line and, if wanted, how often; a table of counts (.mtx); or texts.
    k : -k, --rank, -r
        Rank, or number of communities; FROM:TO:STEP compares a range.
    bigrams
        Count neighbouring words of texts.
    window : >= 1
        Count words of texts that stand at most this many words apart.
    lines
        Every line is a text of its own.
    column
        Text column of a CSV file.
    columns
        Two columns of words of a CSV file, and one of counts, separated by commas.
    min_count : >= 1
        Skip rarer words; by default 5 for texts and 1 for pairs.
    near
        A word whose nearest words are shown; may be given again.
    group : --communities
        The pairs are edges of a graph: find -k communities of nodes.
    ordered
        The order of a pair matters: what follows what in texts, or which user took which item.
    tau
        How far rare words are held back; by default 0.3, for communities 0.5.
    """
    what = "communities" if group else "dimensions"
    sizes = parse_sizes(k, what)
    if group and min(sizes) < 2:
        raise LatentiaError(f"-k {k}: two communities or more are needed.")
    if ordered and group:
        raise LatentiaError("--ordered: communities are those of pairs without order.")
    if ordered and str(refine) not in ("0", "auto"):
        raise LatentiaError("--ordered: leave out --refine, which is for pairs without order.")
    results = run.results(source, *_FILES)
    window = 1 if bigrams and window is None else window
    reading = {"window": window, "lines": lines, "column": column, "columns": split_names(columns)}
    pairs = _read(source, reading, vocabulary, min_count, run.reading())
    say(_described(pairs, group, ordered))
    wanted = _known(pairs, near or [])
    data = f"{pairs.source}: {len(pairs.words):,} {'nodes' if group else 'words'}"
    sizes = sizes.up_to(len(pairs.words), data)
    options: dict[str, Any] = {
        "symmetric": not ordered, "tau": (0.5 if group else 0.3) if tau is None else tau, "refine": refine,
        "vocabulary": pairs.words, **run.parameters,
    }  # fmt: skip
    return learn(
        results, pairs.source, sizes,
        lambda size: ProbabilityMatrix(size, **options).fit(pairs.counts),  # type: ignore[arg-type]
        lambda model, comparison: summarize_matrix(
            model, pairs.counts, near=wanted, communities=group, listed=_LISTED, comparison=comparison, source=pairs.source,
            title=f"{'Communities' if group else 'Pairs'} of {pairs.source}",
        ),
        reading=reading,
        compare=lambda: _comparison(pairs, options | {"n_splits": 0, "verbose": False}),
        evidence=community_evidence if group else evidence_of,
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


def _read(
    path: Path, reading: dict[str, Any], vocabulary: Path | None, min_count: int | None, how: ReadOptions
) -> Pairs:
    texts, counts = ({f"--{one}": reading[one] for one in some} for some in (("lines", "column"), ("columns",)))
    given = counts | {"--vocabulary": vocabulary}
    why = "pairs that were counted before, not for --bigrams and --window."
    if reading["window"] is None:
        given, why = texts, "texts: add --bigrams to count neighbouring words."
    for option, value in given.items():
        if value:
            raise LatentiaError(f"{option} is for {why}")
    common: dict[str, Any] = {"encoding": how.encoding, "progress": how.progress}
    if reading["window"] is None:
        known = vocabulary and existing(vocabulary, "--vocabulary")
        more: dict[str, Any] = {"columns": reading["columns"], "min_count": min_count or 1, "cache": how.cache}
        return read_pairs(path, vocabulary=known, **common, **more)
    least: dict[str, Any] = {} if min_count is None else {"min_count": min_count}
    return read_text_pairs(path, **{one: reading[one] for one in ("window", "lines", "column")}, **common, **least)


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
    found = {word if word in words else word.lower(): word for word in near}
    for chosen, word in found.items():
        if chosen not in words:
            rare = " It may be rarer than --min-count." if pairs.left_out else ""
            raise LatentiaError(f"--near {word}: {pairs.source} has no such word.{rare}")
    return list(found)


def _comparison(pairs: Pairs, options: dict[str, Any]) -> Comparison:
    """Models of nine tenths of the pairs, and the likelihood that each gives to the tenth."""
    counts, symmetric = symmetric_counts(pairs.counts) if options["symmetric"] else (pairs.counts, False)
    held, kept = split_counts(counts if symmetric else pairs.counts, symmetric, options["random_state"], _HELD_OUT)
    if not held.nnz or not kept.nnz:
        raise LatentiaError("too few pairs to hold some out; give one number with -k.", source=pairs.source)
    score, above = "held-out log-likelihood", "above independent words"
    alone = ProbabilityMatrix(1, **options | {"refine": 0, "discount": False}).fit(kept).score(held)
    best = "Rank {} has the highest held-out log-likelihood per pair, in nats, and is fitted on all pairs."

    def choose(rows: Rows) -> tuple[int, str]:
        better = max(row[above] for row in rows) > 0
        return highest(score, best + ("" if better else " No rank predicts better than independent words."))(rows)

    return Comparison(
        "rank", "one pair in ten", lambda size: ProbabilityMatrix(size, **options).fit(kept),
        lambda model: {score: (value := model.score(held)), above: value - alone, "directions kept": model.n_kept_}, choose,
    )  # fmt: skip


# --- applying ---------------------------------------------------------------------------------------------------


def apply_matrix(model: Any, source: Path, how: ReadOptions) -> Callable[[Path], object]:
    """Read other pairs; gives the function that writes how probable each is."""
    reading = {"window": None, "lines": False, "column": None, "columns": None} | dict(model.reading_)
    if not has_columns(source):
        reading = reading | {"column": None, "columns": None}
    pairs = _read(source, reading, None, 1, how)
    names = range(model.n_features_in_) if model.vocabulary is None else model.vocabulary
    say(f"{pairs.source}: {pairs.counts.nnz:,} different pairs of {len(pairs.words):,} words")
    found = match_pairs(pairs, names)
    if found.n_ignored:
        strange = f"{found.n_unknown:,} words that the model does not have"
        say(f"{found.n_ignored:,} pairs with {strange} are ignored.")
    return _probabilities(model, names, found.first, found.second, found.times).write


def _probabilities(model: Any, names: Any, first: np.ndarray, second: np.ndarray, times: np.ndarray) -> Table:
    """The probability of every pair, and the logarithm of how many times as probable it is as of independent words."""
    probability = model.entries(first, second)
    alone = model.marginals_[first] * (model.marginals_ if model.symmetric else model.column_marginals_)[second]
    ratio = np.divide(probability, alone, out=np.zeros(len(alone)), where=alone > 0)
    columns = (
        Column("word", [names[i] for i in first]), Column("other word", [names[j] for j in second]),
        Column("times", times, ".10g"), Column("probability", probability, ".8g"),
        Column("pmi", [np.log(r) if r > 0 else None for r in ratio], ".6g"),
    )  # fmt: skip
    return Table("pairs", columns)
