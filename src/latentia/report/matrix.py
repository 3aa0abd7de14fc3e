"""Summary of a matrix of pair probabilities, for readers who do not program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list as leaves
from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist

from .._validation import column_names
from ..evidence import Check, Evidence, at_least
from ..exceptions import LatentiaError
from ..summaries import Answer, Column, Figure, Summary, Table, block
from .figures import heat_map, spectrum, trend
from .page import page
from .parts import count, directions, evidence_of, grades_say, largest, listing, short_number

_ROWS, _PRINTED, _NEAREST, _N_CELL_WORDS, _N_PRINTED_FOLLOWERS = 20, 8, 10, 8, 6
_PICTURED, _GROUP, _MEMBERS, _DIRECTIONS, _MAX_PICTURED, _MIN_OCCURRENCES = 16, 4, 12, 200, 40, 50

_GROUPS = "community", "communities", "edges"
Neighbours = Callable[[int], list[tuple[str, float]]]
"""Function from the number of a word to its neighbours: names with a number each."""


@page("Pairs")
def summarize_matrix(
    model: Any,
    counts: Any = None,
    *,
    near: Sequence[str] = (),
    communities: bool = False,
    listed: int = _ROWS,
    comparison: Sequence[Mapping[str, Any]] | None = None,
) -> Summary:
    """Summarize a matrix of pair probabilities, and how far it can be trusted.

    Parameters
    ----------
    model : ProbabilityMatrix
        A fitted model.
    counts : sparse matrix of shape (M, M), optional
        The counts of pairs that it was fitted on, for communities.
    near : sequence of str
        Words of the model's vocabulary whose nearest words come first.
    communities : bool
        True if the pairs are edges of a graph, to show communities of nodes.
    listed : int
        Number of words in the longest tables of nearest words.
    comparison : sequence of dict, optional
        Rows of a table that compares ranks: "rank", "held-out log-likelihood", "above independent words" and others.

    Returns
    -------
    Summary

    """
    compared = [row for row in comparison or () if {"rank", "above independent words"} <= row.keys()]
    size, names, rank = model.n_features_in_, _name_words(model), model.n_components
    columns = size if model.symmetric else len(model.column_marginals_)
    if counts is not None and counts.shape != (size, columns):
        raise LatentiaError(f"The counts have shape {counts.shape} and the model {size} words: expected as many.")
    if communities and counts is None:
        raise LatentiaError("Expected counts, to show communities with their edges: use report(path, C).")
    near = [str(word) for word in near]
    unknown = [word for word in near if word not in names]
    if unknown:
        raise LatentiaError(f"near: {unknown[0]!r} is not in the model's vocabulary.")
    evidence, pairs = evidence_of(model), model.n_pairs_
    error, thing, noun = evidence.expected_error, *(("node", "edge") if communities else ("word", "pair"))
    words, groups = _WordTables(model, names, [names.index(word) for word in near], listed), list[Table | Figure]()
    if communities:
        groups, evidence = summarize_communities(model, counts), community_evidence(model)
        evidence.forget_sizes([row["rank"] for row in compared])
    spectrum_figure = _draw_spectrum(model, thing)
    picture = next((part for part in (*groups, *words.draw_similar()) if isinstance(part, Figure)), spectrum_figure)
    groups = [part for part in groups if part is not picture]
    return Summary(
        headline=f"{count(round(pairs), noun)} of {count(size, thing)}, {pairs / size:.3g} a {thing}; rank {rank}.",
        nouns=_GROUPS if communities else ("pair probability", "pair probabilities", "pairs"), evidence=evidence,
        parts=(
            *groups, *(() if model.symmetric else words.build_following()), *words.build_nearest(thing),
            *(() if picture is spectrum_figure else (spectrum_figure,)),
            _build_directions(model, "spectrum" if communities else "components"),
            *((_draw_held_out(compared, rank, thing),) if len(compared) > 1 else ()), words.table(),
        ),
        answer=Answer(_question(model, communities), _answer(words, groups), picture),
        size=rank, reading=_explain_terms(thing, rank, evidence),
        error="" if communities or error is None else _ERROR.format(error, min(error / 2, 1)),
        numbered="Communities are numbered from 0, as in the tables. " if communities else "",
    )  # fmt: skip


def _question(model: Any, communities: bool) -> str:
    if communities:
        return "Which groups do the nodes form?"
    return "Which words keep the same company?" if model.symmetric else "Which words follow which, and which are alike?"


def _answer(words: _WordTables, groups: Sequence[Table | Figure]) -> str:
    """Return a sentence about some words and their nearest ones, or about the communities and their best connected nodes."""
    if groups and isinstance(groups[0], Table):
        members = groups[0]["best connected"].values
        named = [
            f"community {k} around {listing([name for name, _ in best_members[:3]])}"
            for k, best_members in enumerate(members)
            if best_members
        ]
        return f"{len(members)} communit{'y' if len(members) == 1 else 'ies'}: {listing(named, comma='; ')}."
    shown_words = [
        i
        for i in dict.fromkeys([*words.requested_words, *choose_telling_words(words.model, 3)])
        if words.model.embedding_[i].any()
    ][:3]
    kind = "" if column_names(words.model) is not None else "word "
    sentences = [
        f"{kind}{words.names[i]} to {listing([name for name, _ in words.find_near(i)[:3]])}" for i in shown_words
    ]
    unknown = "None, as far as these pairs show: they tell only how frequent words are."
    return f"Nearest are {listing(sentences, comma='; ')}." if sentences else unknown


def _name_words(model: Any) -> list[str]:
    names = column_names(model)
    return [str(name) for name in (range(model.n_features_in_) if names is None else names)]


def _count_occurrences(model: Any) -> np.ndarray:
    """Return the number of pairs with each word; for ordered pairs, with the word first."""
    return np.asarray((1 + model.symmetric) * model.n_pairs_ * model.marginals_)


# --- words ----------------------------------------------------------------------------------------------------------


def choose_telling_words(model: Any, n: int, *, distinct: bool = True) -> list[int]:
    """Return up to ``n`` words with the largest weight in the kept directions, among those that are frequent enough.

    With ``distinct`` words that are close to a chosen one are skipped.
    """
    weight = (model.embedding_**2).sum(axis=1)
    weight[_count_occurrences(model) < min(_MIN_OCCURRENCES, _count_occurrences(model).max(initial=0))] = 0
    order = [int(i) for i in largest(weight, 8 * n if distinct else n) if weight[i] > 0]
    if not distinct:
        return order
    directions = model.embedding_[order] / np.linalg.norm(model.embedding_[order], axis=1, keepdims=True)
    cosines = directions @ directions.T
    places: list[int] = []
    for index in range(len(order)):
        if len(places) < n and not any(cosines[index, earlier] > 0.8 for earlier in places):
            places.append(index)
    return [order[index] for index in places]


@dataclass(frozen=True)
class _WordTables:
    """Tables about the words of a model: requested words come first, and the longest tables have ``listed`` words."""

    model: Any
    names: list[str]
    requested_words: list[int]
    listed: int

    def table(self) -> Table:
        model, places = self.model, [f"direction {k}" for k in range(1, self.model.embedding_.shape[1] + 1)]
        seen, share = Column("seen", _count_occurrences(model), ".10g"), Column("share", model.marginals_, ".8g")
        columns = Column("word", self.names), seen, share, *block(places, model.embedding_, ".6g")
        return Table("words", columns, file="words.csv")

    def find_near(self, i: int) -> list[tuple[str, float]]:
        """Return names and cosines of the nearest words; none for a word without an embedding."""
        neighbours = self.model.most_similar(i, _NEAREST) if self.model.embedding_[i].any() else []
        return [(str(name), cosine) for name, cosine in neighbours]

    def build_nearest(self, thing: str) -> tuple[Table, Table]:
        asks = "No direction stands out of the noise" if self.model.n_components > 1 else "Rank 1 asks for no direction"
        empty = Table(
            "nearest", (Column("word", (), heading=thing.capitalize()), Column("nearest", (), short=".2f")),
            f"Nearest {thing}s",
            f"Two {thing}s are near if they occur with the same {thing}s, whether or not with each other. The number is a "
            f"cosine: 1 for the same company, 0 for nothing in common. Only {thing}s that occur at least {_MIN_OCCURRENCES} "
            "times are listed as near. nearest.csv holds more.",
            caption=(
                "Nearest words, with cosines" if self.requested_words
                else "The most characteristic words, and their nearest words"
            ),
            note="" if thing == "node" else f"{asks}: the pairs tell only how frequent words are.",
        )  # fmt: skip
        heads = Column("nearest", ()), Column("cosine", (), ".4f")
        unknown = "not known: its associations do not stand out of the noise"
        return self._build_tables(self.find_near, 0 if thing == "node" else _ROWS, empty, heads, _NEAREST, unknown)

    def build_following(self) -> tuple[Table, Table]:
        size = len(self.model.column_marginals_)
        columns = self.names if size == len(self.names) else [f"column {j}" for j in range(size)]

        def list_followers(i: int) -> list[tuple[str, float]]:
            chances = self.model.conditional(i)
            return [(columns[j], float(chances[j])) for j in largest(chances, _NEAREST) if chances[j] > 0]

        title, hint = "What goes with what", (
            "Second words of the pairs with this first word, with their share of these pairs, by the model. "
            "following.csv holds more."
        )  # fmt: skip
        first, second = Column("first", ()), Column("second, most probably", (), short=".1%")
        heads = Column("second", ()), Column("probability", (), ".6g")
        empty = Table("following", (first, second), title, hint, caption=title)
        return self._build_tables(list_followers, _ROWS, empty, heads, _N_PRINTED_FOLLOWERS, "")

    def _build_tables(
        self,
        list_neighbours: Neighbours,
        max_words: int,
        table: Table,
        heads: Sequence[Column],
        printed: int,
        unknown: str,
    ) -> tuple[Table, Table]:
        """Build a table of words with the neighbours of each, and a longer one for files with a line for each neighbour."""
        list_neighbours, requested_words, (first, second) = (
            functools.cache(list_neighbours),
            self.requested_words,
            table.columns,
        )
        words = list(dict.fromkeys([*requested_words, *choose_telling_words(self.model, max_words)]))[
            : max(max_words, len(requested_words))
        ]
        neighbours, occurrences = [list_neighbours(i) for i in words], _count_occurrences(self.model)[words]

        def text(pairs: list[tuple[str, float]]) -> str:
            return ", ".join(f"{name} {second.number(x)}" for name, x in pairs[:printed]) or unknown.partition(":")[0]

        columns = (
            replace(first, values=[self.names[i] for i in words], kind="name", where="ps"),
            Column("seen", occurrences, short=short_number, screen=",.0f", where="ps"),
            replace(
                second,
                values=[pairs[:_N_CELL_WORDS] or [unknown] * bool(unknown) for pairs in neighbours],
                kind="words",
                where="p",
            ),
            replace(
                second,
                name=f"{second.name}, all",
                head=second.name,
                values=neighbours,
                short=text,
                kind="text",
                where="s",
            ),
        )
        all_words = dict.fromkeys([*requested_words, *choose_telling_words(self.model, self.listed, distinct=False)])
        rows = [
            (self.names[i], rank, *neighbour) for i in all_words for rank, neighbour in enumerate(list_neighbours(i), 1)
        ]
        cells = ([row[index] for row in rows] for index in range(4))
        long_heads = first, Column("rank", ()), *heads
        long_columns = (replace(head, values=values) for head, values in zip(long_heads, cells, strict=True))
        short_table = replace(
            table, columns=columns, title=table.title if words else "", caption=table.caption if words else "",
            note="" if words else table.note, file=f"{table.name}.csv",
            printed=len(requested_words) or len(choose_telling_words(self.model, _PRINTED)),
        )  # fmt: skip
        return short_table, Table(f"{table.name} pairs", tuple(long_columns), file=f"{table.name}.csv")

    def draw_similar(self) -> tuple[Figure, ...]:
        """Draw cosines of requested or characteristic words, each with its nearest words; similar ones beside each other."""
        model, numbers, chosen = self.model, {word: i for i, word in enumerate(self.names)}, dict[int, None]()
        for i in [*self.requested_words, *choose_telling_words(model, _PICTURED)]:
            if len(chosen) + _GROUP > _PICTURED:
                break
            if i not in chosen and model.embedding_[i].any():
                chosen |= dict.fromkeys([i, *(numbers[neighbour] for neighbour, _ in self.find_near(i)[: _GROUP - 1])])
        if len(chosen) <= 2 or model.n_kept_ <= 1:
            return ()
        places = model.embedding_[list(chosen)]
        places = places / np.linalg.norm(places, axis=1, keepdims=True)
        distances = pdist(places)
        order = leaves(optimal_leaf_ordering(linkage(distances, "average"), distances))
        cosines, listed = (places @ places.T)[np.ix_(order, order)], [self.names[list(chosen)[i]] for i in order]
        hover = "{row}, {column}\ncosine {value:.2f}"
        data = heat_map(cosines, listed, listed, hover=hover, signed=True, small=True)
        label = "Heat map of cosines between words; nearest.csv holds the numbers"
        return (Figure("similar", data, "A picture of similar words", label, _SIMILAR, shape="square"),)


# --- communities ----------------------------------------------------------------------------------------------------


def summarize_communities(model: Any, counts: Any) -> list[Table | Figure]:
    """Build tables of the communities of a graph, largest first, and of their nodes, and a figure of the edges between them."""
    occurrences, names, labels = _count_occurrences(model), _name_words(model), model.communities(counts)
    sizes = np.bincount(labels, minlength=model.n_components)
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]  # there may be fewer than requested
    labels, sizes = np.argsort(order)[np.searchsorted(np.sort(order), labels)], sizes[order]
    group = sparse.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    between = (group.T @ sparse.csr_array(counts).astype(float) @ group).toarray()
    between = between + between.T
    ends = between.sum(axis=1)
    inside = np.divide(np.diag(between), ends, out=np.full(len(ends), np.nan), where=ends > 0)
    members = [
        (inside_group := np.flatnonzero(labels == k))[largest(occurrences[inside_group], _MEMBERS)]
        for k in range(len(sizes))
    ]
    connected = [[(names[i], float(occurrences[i])) for i in chosen] for chosen in members]
    best = Column("best connected", connected, short=short_number, kind="words", where="p")
    table = Table(
        "components",
        (
            Column("community", range(len(sizes)), kind="key", meaning=_COMMUNITY, where="ps"),
            Column("nodes", sizes, short=",", where="ps"),
            Column("inside", inside, short=lambda x: "no edges" if np.isnan(x) else f"{x:.0%}", head="edges in it", where="ps"),
            Column("by chance", ends / between.sum(), short=".0%", where="ps"),
            best, replace(best, short=lambda pairs: ", ".join(name for name, _ in pairs[:_PRINTED]), kind="text", where="s"),
        ),
        "All communities",
        "The largest first. Inside: of all edge ends in the community, the share whose other end is in it too; beside it "
        "the share by chance. labels.csv holds the community of every node.",
        "labels.csv", f"{len(sizes)} communities, the largest first", "community",
    )  # fmt: skip
    nodes = Column("node", names), Column("edges", occurrences, ".10g"), Column("community", labels)
    figure = [_draw_between(between, ends)] if len(sizes) > 1 else []
    return [table, Table("nodes", nodes, file="labels.csv"), *figure]


def _draw_between(between: np.ndarray, ends: np.ndarray) -> Figure:
    """Draw the number of edges between communities, as a multiple of that by chance."""
    chance = np.outer(ends, ends) / between.sum()
    times = np.divide(between, chance, out=np.zeros_like(between), where=chance > 0)[:_MAX_PICTURED, :_MAX_PICTURED]
    names = [str(number) for number in range(len(times))]
    hover = "communities {row} and {column}\n{value:.2f} times as many edges as by chance"
    data, title = heat_map(times, names, names, hover=hover, digits=1), "Edges between communities"
    return Figure("between", data, title, "Heat map of edges between communities", _BETWEEN, shape="square")


def community_evidence(model: Any) -> Evidence:
    """Return the evidence of communities: do as many stand out as requested? Cautions about probabilities count too."""
    n_kept, n_needed = model.n_kept_, model.n_components - 1
    if n_kept:
        remedy = f"At most {n_kept + 1} communities can be distinguished: try -k {n_kept + 1}."
    else:
        remedy = "These edges show no communities."
    decides = Check(
        "directions kept", "|lambda_k| > e", float(n_kept), at_least(n_needed),
        "Directions above the noise: one more community than these can be distinguished. Single nodes with few edges "
        "may still be in the wrong one.", "section 2", "verdict", remedy, n_kept + 1 if n_kept else 0,
    )  # fmt: skip
    further_checks = [
        check if check.role == "caution" else replace(check, role="note")
        for check in evidence_of(model).checks
        if check.name != decides.name
    ]
    return Evidence([decides, *further_checks], subject=f"these {model.n_components} communities", nouns=_GROUPS)


# --- directions -----------------------------------------------------------------------------------------------------


def _build_directions(model: Any, name: str) -> Table:
    values, edge = model.spectrum_, model.noise_level_
    shrunk = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0))
    is_kept = ["yes" if k < model.n_kept_ else "no" for k in range(len(values))]
    columns = *directions(values, edge), Column("kept", is_kept), Column("shrunk", shrunk, ".8g")
    return Table(name, columns, file="spectrum.csv")


def _draw_spectrum(model: Any, thing: str) -> Figure:
    """Draw eigenvalues by decreasing modulus, those above the edge of the noise in blue, and the edge on both sides."""
    values, edge = model.spectrum_[:_DIRECTIONS], float(model.noise_level_)
    n_kept, n_asked = model.n_kept_, model.n_components - 1
    (lies, are), explanation = ("lies", "is") if n_kept == 1 else ("lie", "are"), ""
    if n_asked and not n_kept:
        explanation = f"No direction stands out of the noise: the pairs tell only how frequent {thing}s are."
    elif n_kept:
        left_out = "The others are left out: more pairs might show them, or there may be no more."
        explanation = left_out if n_kept < n_asked else "All are kept: a higher rank may show more."
    return Figure(
        "spectrum", spectrum(values, n_kept, [edge, -edge] if (values < 0).any() else [edge], "eigenvalue"),
        "What stands out of the noise", "Bars of the eigenvalues, and the edge of the noise; spectrum.csv holds the numbers",
        f"The associations between {thing}s are decomposed into directions, the strongest first. {n_kept} of {n_asked} {lies} "
        f"beyond the dashed line, which chance alone would not cross, and {are} kept (blue). {explanation}",
    )  # fmt: skip


def _draw_held_out(comparison: Sequence[Mapping[str, Any]], rank: int, thing: str) -> Figure:
    """Draw the log-likelihood of held-out pairs against the rank, relative to independent words."""
    x = [row["rank"] for row in comparison]
    y = [round(float(row["above independent words"]), 6) for row in comparison]
    hover, large = [f"rank {a}\n{b:+.4f} nats a pair" for a, b in zip(x, y, strict=True)], [a == rank for a in x]
    data = trend(x, y, hover=hover, large=large, title="rank", y_title="nats a pair above independence")
    return Figure(
        "held-out", data, "Held-out pairs",
        "Held-out log-likelihood against the rank; comparison.csv holds the numbers",
        "One pair in ten was held out, and predicted by models of the other nine tenths. Height: log-probability of a pair in "
        f"nats, minus that of independent {thing}s; 0.1 makes the observed pairs about a tenth more probable. The large point "
        "is the rank of this report.",
    )  # fmt: skip


# --- words about the whole ------------------------------------------------------------------------------------------

_ERROR = (
    "Expected error of all probabilities together: {:.2f}, where 0 is perfect and 2 is all wrong; about {:.0%} of the "
    "probability is expected on the wrong pairs."
)
_SIMILAR = (
    "Characteristic words, each with some of its nearest words; similar words beside each other. Blue: the same company. "
    "Brown: words that go with one avoid the other. Blocks on the diagonal are groups of words that can replace each other."
)
_BETWEEN = (
    "Number of edges between two communities as a multiple of the number by chance, given the edges of their nodes. If a "
    "community holds together, its cell on the diagonal is the strongest of its row."
)
_COMMUNITY = (
    "Nodes with edges to the same nodes. Option -k gave the number of communities. A community whose share inside is not above "
    "chance is not real. If fewer directions stand out than communities were requested, some of them are coincidences."
)


def _explain_terms(thing: str, rank: int, evidence: Evidence) -> tuple[tuple[str, str], ...]:
    graph = thing == "node"
    single = "single probabilities are not reliable, though near words may still be right"
    scope = "This is about the probabilities of edges. The communities can be right even if these are rough. "
    return (
        ("Pair probability",
         f"Probability that a random pair consists of these two {thing}s. The model gives every pair a probability, also pairs "
         "that never occurred: from the frequency of both, and from the company that they keep."),
        ("Rank, direction",
         f"The model assumes that {thing}s belong to a few kinds, or are mixtures of kinds, and that kinds decide which pairs "
         f"occur. The rank is the number of kinds. A direction is a contrast between {thing}s that explains which pairs are "
         f"more frequent than by chance. Rank {rank} has {rank - 1} of them; rank 1 is chance alone."),
        ("Noise",
         "Even if pairs were drawn at random, some would be frequent by coincidence, and would look like a direction. The "
         "largest strength of such a coincidence is computed from the counts; weaker directions are left out."),
        ("Expected error",
         f"{scope if graph else ''}Distance of all probabilities together from the truth, computed from the counts and their "
         "noise: the sum of all differences, 0 if perfect and 2 if all is wrong. "
         + ("" if graph else grades_say(evidence, "the answer", single))),
        ("What to do next",
         f"-k 2:20:2 compares several ranks on held-out pairs. --min-count leaves out rare {thing}s, about which the pairs "
         f"tell little. --near shows the nearest {thing}s of one that you choose."),
    )  # fmt: skip
