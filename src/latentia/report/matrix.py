"""A matrix of pair probabilities, for readers who do not program."""

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

_ROWS, _PRINTED, _NEAREST, _FEW, _FEWER = 20, 8, 10, 8, 6
_PICTURED, _GROUP, _MEMBERS, _DIRECTIONS, _MOST, _LEAST_SEEN = 16, 4, 12, 200, 40, 50

_GROUPS = "community", "communities", "edges"
Others = Callable[[int], list[tuple[str, float]]]
"""What is beside a word, by its number: names with a number each."""


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
    """Say what a matrix of pair probabilities says, and how far it can be trusted.

    Parameters
    ----------
    model : ProbabilityMatrix
        A fitted model.
    counts : sparse matrix of shape (M, M), optional
        The counts of pairs that it was fitted on, for communities.
    near : sequence of str
        Words of the model's vocabulary whose nearest words are shown first.
    communities : bool
        Whether the pairs are edges of a graph, of which communities of nodes are shown.
    listed : int
        Words whose nearest ones the longest tables have.
    comparison : sequence of dict, optional
        Rows of a table that compares ranks: "rank", "held-out log-likelihood", "above independent words" and others.

    Returns
    -------
    Summary

    """
    size, names, rank = model.n_features_in_, _names(model), model.n_components
    columns = size if model.symmetric else len(model.column_marginals_)
    if counts is not None and counts.shape != (size, columns):
        raise LatentiaError(f"The counts have shape {counts.shape} and the model {size} words: they must agree.")
    if communities and counts is None:
        raise LatentiaError("Communities are shown with their edges: give the counts as well, report(path, C).")
    unknown = [word for word in near if word not in names]
    if unknown:
        raise LatentiaError(f"near: {unknown[0]!r} is not in the model's vocabulary.")
    evidence, pairs = evidence_of(model), model.n_pairs_
    error, thing, noun = evidence.expected_error, *(("node", "edge") if communities else ("word", "pair"))
    words, groups = _Words(model, names, [names.index(word) for word in near], listed), list[Table | Figure]()
    if communities:
        groups, evidence = communities_of(model, counts), community_evidence(model)
        evidence.forget_sizes([row["rank"] for row in comparison or ()])
    drawn = _spectrum(model, thing)
    picture = next((one for one in (*groups, *words.similar()) if isinstance(one, Figure)), drawn)
    groups = [one for one in groups if one is not picture]
    return Summary(
        says=f"{count(round(pairs), noun)} of {count(size, thing)}, {pairs / size:.3g} a {thing}; rank {rank}.",
        nouns=_GROUPS if communities else ("pair probability", "pair probabilities", "pairs"), evidence=evidence,
        parts=(
            *groups, *(() if model.symmetric else words.following()), *words.nearest(thing),
            *(() if picture is drawn else (drawn,)),
            _directions(model, "spectrum" if communities else "components"),
            *((_held_out(comparison, rank, thing),) if comparison and len(comparison) > 1 else ()), words.table(),
        ),
        answer=Answer(_asked(model, communities), _words(words, groups), picture),
        size=rank, reading=_reading(thing, rank, evidence),
        error="" if communities or error is None else _ERROR.format(error, min(error / 2, 1)),
        numbered="Communities are numbered from 0, as in the tables. " if communities else "",
    )  # fmt: skip


def _asked(model: Any, communities: bool) -> str:
    if communities:
        return "Which groups do the nodes form?"
    return "Which words keep the same company?" if model.symmetric else "Which words follow which, and which are alike?"


def _words(words: _Words, groups: Sequence[Table | Figure]) -> str:
    """Some words with those that are nearest, or the communities with their best connected nodes."""
    if groups and isinstance(groups[0], Table):
        members = groups[0]["best connected"].values
        named = [
            f"community {k} around {listing([name for name, _ in own[:3]])}" for k, own in enumerate(members) if own
        ]
        return f"{len(members)} communit{'y' if len(members) == 1 else 'ies'}: {listing(named, comma='; ')}."
    first = [
        i for i in dict.fromkeys([*words.asked, *telling_words(words.model, 3)]) if words.model.embedding_[i].any()
    ][:3]
    kind = "" if column_names(words.model) is not None else "word "
    told = [f"{kind}{words.names[i]} to {listing([name for name, _ in words.near(i)[:3]])}" for i in first]
    unknown = "As far as these pairs show, none: of words no more than their frequencies is known."
    return f"Nearest are {listing(told, comma='; ')}." if told else unknown


def _names(model: Any) -> list[str]:
    given = column_names(model)
    return [str(name) for name in (range(model.n_features_in_) if given is None else given)]


def _seen(model: Any) -> np.ndarray:
    """How often every word is in a pair; of ordered pairs, how often it is the first."""
    return np.asarray((1 + model.symmetric) * model.n_pairs_ * model.marginals_)


# --- words ----------------------------------------------------------------------------------------------------------


def telling_words(model: Any, n: int, *, apart: bool = True) -> list[int]:
    """The words that carry most of the kept directions and were seen often enough to be known, at most ``n``.

    With ``apart`` a word is passed over that is among the nearest of one that was taken.
    """
    weight = (model.embedding_**2).sum(axis=1)
    weight[_seen(model) < min(_LEAST_SEEN, _seen(model).max(initial=0))] = 0
    order = [int(i) for i in largest(weight, 8 * n if apart else n) if weight[i] > 0]
    if not apart:
        return order
    directions = model.embedding_[order] / np.linalg.norm(model.embedding_[order], axis=1, keepdims=True)
    cosines = directions @ directions.T
    taken: list[int] = []
    for place in range(len(order)):
        if len(taken) < n and not any(cosines[place, other] > 0.8 for other in taken):
            taken.append(place)
    return [order[place] for place in taken]


@dataclass(frozen=True)
class _Words:
    """The words of a model; those that were asked for come first, and ``listed`` of them are in the longest tables."""

    model: Any
    names: list[str]
    asked: list[int]
    listed: int

    def table(self) -> Table:
        model, places = self.model, [f"direction {k}" for k in range(1, self.model.embedding_.shape[1] + 1)]
        seen, share = Column("seen", _seen(model), ".10g"), Column("share", model.marginals_, ".8g")
        columns = Column("word", self.names), seen, share, *block(places, model.embedding_, ".6g")
        return Table("words", columns, file="words.csv")

    def near(self, i: int) -> list[tuple[str, float]]:
        """Names and cosines of the nearest ones; none for a word that has no place in the embedding."""
        found = self.model.most_similar(i, _NEAREST) if self.model.embedding_[i].any() else []
        return [(str(other), cosine) for other, cosine in found]

    def nearest(self, thing: str) -> tuple[Table, Table]:
        asks = "No direction stands out of the noise" if self.model.n_components > 1 else "Rank 1 asks for no direction"
        empty = Table(
            "nearest", (Column("word", (), heading=thing.capitalize()), Column("nearest", (), short=".2f")),
            f"Nearest {thing}s",
            f"Two {thing}s are near if they occur with the same others, whether or not with each other. The number is a "
            f"cosine: 1 for the same company, 0 for nothing in common. {thing.capitalize()}s seen fewer than {_LEAST_SEEN} "
            "times are not listed as near. nearest.csv holds more.",
            caption="Nearest words, with cosines" if self.asked else "The most characteristic words, and their nearest words",
            note="" if thing == "node" else f"{asks}: nothing is known of words beyond their frequencies.",
        )  # fmt: skip
        heads = Column("nearest", ()), Column("cosine", (), ".4f")
        unknown = "not known: nothing of it stands out of the noise"
        return self._beside(self.near, 0 if thing == "node" else _ROWS, empty, heads, _NEAREST, unknown)

    def following(self) -> tuple[Table, Table]:
        size = len(self.model.column_marginals_)
        columns = self.names if size == len(self.names) else [f"column {j}" for j in range(size)]

        def follow(i: int) -> list[tuple[str, float]]:
            chances = self.model.conditional(i)
            return [(columns[j], float(chances[j])) for j in largest(chances, _NEAREST) if chances[j] > 0]

        title, hint = "What goes with what", (
            "Of every pair with this word first: which words are second, and in what share of the pairs, by the model. "
            "following.csv holds more."
        )  # fmt: skip
        first, second = Column("first", ()), Column("second, most probably", (), short=".1%")
        heads = Column("second", ()), Column("probability", (), ".6g")
        empty = Table("following", (first, second), title, hint, caption=title)
        return self._beside(follow, _ROWS, empty, heads, _FEWER, "")

    def _beside(
        self, others: Others, most: int, table: Table, heads: Sequence[Column], printed: int, unknown: str
    ) -> tuple[Table, Table]:
        """A table of words with what is beside each, and a longer one for files with a line for each of those."""
        others, asked, (first, second) = functools.cache(others), self.asked, table.columns
        words = list(dict.fromkeys([*asked, *telling_words(self.model, most)]))[: max(most, len(asked))]
        told, seen, name = [others(i) for i in words], _seen(self.model)[words], table.name

        def text(some: list[tuple[str, float]]) -> str:
            return ", ".join(f"{other} {second.number(x)}" for other, x in some[:printed]) or unknown.partition(":")[0]

        columns = (
            replace(first, values=[self.names[i] for i in words], kind="name", where="ps"),
            Column("seen", seen, short=short_number, screen=",.0f", where="ps"),
            replace(second, values=[one[:_FEW] or [unknown] * bool(unknown) for one in told], kind="words", where="p"),
            replace(
                second, name=f"{second.name}, all", head=second.name, values=told, short=text, kind="text", where="s"
            ),
        )
        every = dict.fromkeys([*asked, *telling_words(self.model, self.listed, apart=False)])
        lines = [(self.names[i], rank, *other) for i in every for rank, other in enumerate(others(i), 1)]
        cells = ([line[at] for line in lines] for at in range(4))
        long = (replace(one, values=own) for one, own in zip((first, Column("rank", ()), *heads), cells, strict=True))
        few = replace(
            table, columns=columns, title=table.title if words else "", caption=table.caption if words else "",
            note="" if words else table.note, file=f"{name}.csv",
            printed=len(asked) or len(telling_words(self.model, _PRINTED)),
        )  # fmt: skip
        return few, Table(f"{name} pairs", tuple(long), file=f"{name}.csv")

    def similar(self) -> tuple[Figure, ...]:
        """Cosines of words that were asked for or tell most, each with the nearest others; similar ones beside each other."""
        model, numbers, chosen = self.model, {word: i for i, word in enumerate(self.names)}, dict[int, None]()
        for i in [*self.asked, *telling_words(model, _PICTURED)]:
            if len(chosen) + _GROUP > _PICTURED:
                break
            if i not in chosen and model.embedding_[i].any():
                chosen |= dict.fromkeys([i, *(numbers[other] for other, _ in self.near(i)[: _GROUP - 1])])
        if len(chosen) <= 2 or model.n_kept_ <= 1:
            return ()
        places = model.embedding_[list(chosen)]
        places = places / np.linalg.norm(places, axis=1, keepdims=True)
        apart = pdist(places)
        order = leaves(optimal_leaf_ordering(linkage(apart, "average"), apart))
        cosines, listed = (places @ places.T)[np.ix_(order, order)], [self.names[list(chosen)[i]] for i in order]
        hover = "{row}, {column}\ncosine {value:.2f}"
        data = heat_map(cosines, listed, listed, hover=hover, signed=True, small=True)
        label = "Heat map of cosines between words; nearest.csv holds the numbers"
        return (Figure("similar", data, "A picture of similar words", label, _SIMILAR, shape="square"),)


# --- communities ----------------------------------------------------------------------------------------------------


def communities_of(model: Any, counts: Any) -> list[Table | Figure]:
    """The communities of a graph, the largest first, that of every node, and the edges between several of them."""
    seen, names, labels = _seen(model), _names(model), model.communities(counts)
    sizes = np.bincount(labels, minlength=model.n_components)
    order = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]  # there may be fewer than were asked for
    labels, sizes = np.argsort(order)[np.searchsorted(np.sort(order), labels)], sizes[order]
    group = sparse.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    between = (group.T @ sparse.csr_array(counts).astype(float) @ group).toarray()
    between = between + between.T
    ends = between.sum(axis=1)
    inside = np.divide(np.diag(between), ends, out=np.full(len(ends), np.nan), where=ends > 0)
    members = [(own := np.flatnonzero(labels == k))[largest(seen[own], _MEMBERS)] for k in range(len(sizes))]
    connected = [[(names[i], float(seen[i])) for i in some] for some in members]
    best = Column("best connected", connected, short=short_number, kind="words", where="p")
    table = Table(
        "components",
        (
            Column("community", range(len(sizes)), kind="key", meaning=_COMMUNITY, where="ps"),
            Column("nodes", sizes, short=",", where="ps"),
            Column("inside", inside, short=lambda x: "no edges" if np.isnan(x) else f"{x:.0%}", head="edges in it", where="ps"),
            Column("by chance", ends / between.sum(), short=".0%", where="ps"),
            best, replace(best, short=lambda some: ", ".join(name for name, _ in some[:_PRINTED]), kind="text", where="s"),
        ),
        "All communities",
        "The largest first. Inside: the share of endpoints in the community whose other endpoint is in it too; beside it "
        "what chance would give. labels.csv holds the community of every node.",
        "labels.csv", f"{len(sizes)} communities, the largest first", "community",
    )  # fmt: skip
    nodes = Column("node", names), Column("edges", seen, ".10g"), Column("community", labels)
    figure = [_between(between, ends)] if len(sizes) > 1 else []
    return [table, Table("nodes", nodes, file="labels.csv"), *figure]


def _between(between: np.ndarray, ends: np.ndarray) -> Figure:
    """How many times as many edges as by chance run between the communities."""
    chance = np.outer(ends, ends) / between.sum()
    times = np.divide(between, chance, out=np.zeros_like(between), where=chance > 0)[:_MOST, :_MOST]
    names = [str(number) for number in range(len(times))]
    hover = "communities {row} and {column}\n{value:.2f} times as many edges as by chance"
    data, title = heat_map(times, names, names, hover=hover, digits=1), "Edges between communities"
    return Figure("between", data, title, "Heat map of edges between communities", _BETWEEN, shape="square")


def community_evidence(model: Any) -> Evidence:
    """The evidence of communities: whether as many stand out as were asked for. Of that of the probabilities cautions count."""
    kept, wanted = model.n_kept_, model.n_components - 1
    if kept:
        remedy = f"At most {kept + 1} communities can be told apart: try -k {kept + 1}."
    else:
        remedy = "These edges show no communities."
    decides = Check(
        "directions kept", "|lambda_k| > e", float(kept), at_least(wanted),
        "Directions above the noise: one more community than these can be told apart. Single nodes with few edges "
        "may be in a wrong one all the same.", "section 2", "verdict", remedy, kept + 1 if kept else 0,
    )  # fmt: skip
    others = [
        check if check.role == "caution" else replace(check, role="note")
        for check in evidence_of(model).checks
        if check.name != decides.name
    ]
    return Evidence([decides, *others], subject=f"these {model.n_components} communities", nouns=_GROUPS)


# --- directions -----------------------------------------------------------------------------------------------------


def _directions(model: Any, name: str) -> Table:
    values, edge = model.spectrum_, model.noise_level_
    shrunk = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0))
    kept = ["yes" if k < model.n_kept_ else "no" for k in range(len(values))]
    columns = *directions(values, edge), Column("kept", kept), Column("shrunk", shrunk, ".8g")
    return Table(name, columns, file="spectrum.csv")


def _spectrum(model: Any, thing: str) -> Figure:
    """Eigenvalues by decreasing modulus, those above the edge of the noise in blue, and the edge on both sides."""
    values, edge = model.spectrum_[:_DIRECTIONS], float(model.noise_level_)
    kept, asked = model.n_kept_, model.n_components - 1
    (lies, are), more = ("lies", "is") if kept == 1 else ("lie", "are"), ""
    if asked and not kept:
        more = f"No direction stands out of the noise: nothing is known of the {thing}s beyond how frequent they are."
    elif kept:
        left_out = "The others are left out: more pairs might show them, or there may be no more."
        more = left_out if kept < asked else "All are kept: a higher rank may show more."
    return Figure(
        "spectrum", spectrum(values, kept, [edge, -edge] if (values < 0).any() else [edge], "eigenvalue"),
        "What stands out of the noise", "Bars of the eigenvalues, and the edge of the noise; spectrum.csv holds the numbers",
        f"The associations between {thing}s are decomposed into directions, the strongest first. {kept} of {asked} {lies} "
        f"beyond the dashed line, up to which chance alone would reach, and {are} kept (blue). {more}",
    )  # fmt: skip


def _held_out(comparison: Sequence[Mapping[str, Any]], rank: int, thing: str) -> Figure:
    """Log-likelihood of pairs that were held out, less that of independent words, against the rank."""
    x = [row["rank"] for row in comparison]
    y = [round(float(row["above independent words"]), 6) for row in comparison]
    hover, large = [f"rank {a}\n{b:+.4f} nats a pair" for a, b in zip(x, y, strict=True)], [a == rank for a in x]
    data = trend(x, y, hover=hover, large=large, title="rank", y_title="nats a pair above independence")
    return Figure(
        "held-out", data, "Pairs that were held out",
        "Held-out log-likelihood against the rank; comparison.csv holds the numbers",
        "One pair in ten was kept aside, and predicted by models of the other nine tenths. Height: by how many nats the "
        f"log-probability of a pair is above that of independent {thing}s; 0.1 makes the pairs that did occur about a tenth "
        "more probable. The large point is the rank of this report.",
    )  # fmt: skip


# --- words about the whole ------------------------------------------------------------------------------------------

_ERROR = (
    "Expected error of all probabilities together: {:.2f}, where 0 is perfect and 2 is all wrong; about {:.0%} of the "
    "probability is expected on the wrong pairs."
)
_SIMILAR = (
    "Characteristic words, each with some that are nearest to it; similar ones beside each other. Blue: the same company. "
    "Brown: what goes with one avoids the other. Blocks on the diagonal are groups of words that can stand for each other."
)
_BETWEEN = (
    "How many times as many edges as chance would lay between two communities, given how many edges their nodes have. Where a "
    "community holds together, its cell on the diagonal is the strongest of its row."
)
_COMMUNITY = (
    "Nodes that have edges to the same others. Their number was given with -r. A community in which the share inside is not "
    "above chance is none. If fewer directions stand out than communities were asked for, some of them are accidents."
)


def _reading(thing: str, rank: int, evidence: Evidence) -> tuple[tuple[str, str], ...]:
    graph = thing == "node"
    single = "single probabilities cannot be relied on, though what is near to what may still be right"
    apart = "Of the probabilities of edges, not of the communities: these can be right where the former are rough. "
    return (
        ("Pair probability",
         f"How probable it is that a pair, drawn at random, is these two {thing}s. The model gives every pair a probability, "
         "also pairs that never occurred: from how frequent both are, and from the company they keep."),
        ("Rank, direction",
         f"The model says that {thing}s are of few kinds, or mixtures of them, and that kinds decide who is met with whom. The "
         f"rank is their number. A direction is a contrast between {thing}s that explains which pairs are more frequent than "
         f"chance. Rank {rank} has {rank - 1} of them; rank 1 is chance alone."),
        ("Noise",
         "Even if pairs were drawn at random, some would be frequent by accident, and would look like a direction. How strong "
         "such an accident can be is computed from the counts. What is weaker is not believed."),
        ("Expected error",
         f"{apart if graph else ''}How far all probabilities together may be from the truth, computed from the counts and from "
         "what the noise adds: the sum of all differences, 0 if perfect and 2 if all is wrong. "
         + ("" if graph else grades_say(evidence, "the answer", single))),
        ("What to do next",
         f"-k 2:20:2 compares several ranks on pairs that were held out. --min-count leaves rare {thing}s out, of which little "
         f"is known. --near shows what is near to a {thing} of your choice."),
    )  # fmt: skip
