"""The report of a matrix of pair probabilities, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list as leaves
from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist
from sklearn.utils.validation import check_is_fitted

from .._validation import column_names
from ..evidence import Check, Evidence, at_least
from ..exceptions import LatentiaError
from .figures import PALETTE, heat_map, shortened, spectrum, trend
from .page import render, write_page
from .parts import Nouns, comparison_rows, count, evidence_of, evidence_parts, largest, version

__all__ = ["Community", "communities", "community_evidence", "telling_words", "write_matrix_report"]

_ROWS, _NEAREST, _PICTURED, _GROUP, _MEMBERS = 20, 8, 40, 4, 12
_MOST_DIRECTIONS, _MOST_COMMUNITIES = 200, 40
_LEAST_SEEN = 50
_NOUNS = Nouns("pair probabilities", "pair probability", "pairs")
_COMMUNITIES = Nouns("communities", "community", "edges")


@dataclass(frozen=True)
class Community:
    """A group of nodes.

    Attributes
    ----------
    number : int
        By size, the largest first.
    label : int
        Its value in what `ProbabilityMatrix.communities` gives.
    size : int
        Nodes.
    share : float
        Of all ends of edges.
    inside : float or None
        Share of its own ends whose edge stays inside; None without edges. By chance it would be ``share``.
    members : list of (str, float)
        The best connected nodes, and how many edges they have.
    """

    number: int
    label: int
    size: int
    share: float
    inside: float | None
    members: list[tuple[str, float]]


def _names(model: Any) -> list[str]:
    given = column_names(model)
    return [str(name) for name in (range(model.n_features_in_) if given is None else given)]


def _seen(model: Any) -> np.ndarray:
    """How often every word is in a pair; of ordered pairs, how often it is the first."""
    return (1 + model.symmetric) * model.n_pairs_ * model.marginals_


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


def communities(model: Any, counts: Any) -> list[Community]:
    """The communities of a fitted `ProbabilityMatrix`, the largest first, given the counts that it was fitted on."""
    labels, seen, names = model.communities(counts), _seen(model), _names(model)
    between = _between(model, labels, counts)
    sizes = np.bincount(labels, minlength=model.n_components)
    found = []
    for number, label in enumerate(np.argsort(-sizes, kind="stable")):
        members = np.flatnonzero(labels == label)
        if not len(members):
            break  # there are fewer than were asked for
        own, first = between[label].sum(), members[largest(seen[members], _MEMBERS)]
        found.append(
            Community(
                number=number,
                label=int(label),
                size=int(sizes[label]),
                share=float(own / between.sum()),
                inside=float(between[label, label] / own) if own > 0 else None,
                members=[(names[i], float(seen[i])) for i in first],
            )
        )
    return found


def _between(model: Any, labels: np.ndarray, counts: Any) -> np.ndarray:
    """Counts of pairs between communities, both ways, shape (R, R)."""
    group = sparse.csr_array(
        (np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), model.n_components)
    )
    table = (group.T @ sparse.csr_array(counts).astype(float) @ group).toarray()
    return table + table.T


def write_matrix_report(
    path: str | os.PathLike[str],
    model: Any,
    counts: Any = None,
    *,
    near: Sequence[str] = (),
    found: Sequence[Community] = (),
    comparison: Sequence[Mapping[str, Any]] | None = None,
    title: str = "Pairs",
    source: str = "",
) -> Path:
    """Write what a matrix of pair probabilities says, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : ProbabilityMatrix
        A fitted model.
    counts : sparse matrix of shape (M, M), optional
        The counts of pairs that it was fitted on; edges between communities are not shown without them.
    near : sequence of str
        Words of the model's vocabulary whose nearest words are shown first.
    found : sequence of Community
        What `communities` gives, if communities are shown.
    comparison : sequence of dict, optional
        Rows of a table that compares ranks: "rank", "held-out log-likelihood", "above independent words" and others.
    title, source : str
        Heading of the page, and where the pairs came from.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    size, names = model.n_features_in_, _names(model)
    if counts is not None and counts.shape != (size, model._n_columns):
        raise LatentiaError(f"The counts have shape {counts.shape} and the model {size} words: they must agree.")
    unknown = [word for word in near if word not in names]
    if unknown:
        raise LatentiaError(f"near: {unknown[0]!r} is not in the model's vocabulary.")
    evidence = community_evidence(model) if found else evidence_of(model)
    if found:
        evidence.forget_sizes([row["rank"] for row in comparison or ()])
    error, thing = evidence_of(model).expected_error, "node" if found else "word"
    figures = {"spectrum": _spectrum(model)}
    pictured = [] if found else _groups(model, [names.index(word) for word in near])
    if len(pictured) > 2 and model.n_kept_ > 1:
        figures["similar"] = _similar(model, pictured, names)
    if len(found) > 1 and counts is not None:
        figures["between"] = _mixing(model, counts, found)
    if comparison and len(comparison) > 1:
        figures["held-out"] = _held_out(comparison, model.n_components)
    page = render(
        "matrix.html",
        title=title,
        source=source,
        summary=f"{count(round(model.n_pairs_), 'edge' if found else 'pair')} of {count(size, thing)}, "
        f"{model.n_pairs_ / size:.3g} a {thing}; rank {model.n_components}.",
        nouns=_COMMUNITIES if found else _NOUNS,
        evidence=evidence_parts(evidence),
        error="" if found else _error_sentence(error),
        thing=thing,
        rank=model.n_components,
        kept=model.n_kept_,
        edge=model.edge_,
        nearest=_nearest(model, near, names, bool(found)),
        following=[] if model.symmetric else _following(model, near, names),
        least_seen=_LEAST_SEEN,
        communities=list(found),
        palette=PALETTE,
        shown=[name for name in ("similar", "between", "held-out") if name in figures],
        data=figures,
        comparison=comparison_rows(comparison, model.n_components),
        version=version(),
    )
    return write_page(path, page)


def _following(model: Any, near: Sequence[str], names: list[str]) -> list[dict[str, Any]]:
    """Rows that were asked for, or else those that tell most, with the columns that most probably go with them."""
    numbers, columns = {name: i for i, name in enumerate(names)}, range(model._n_columns)
    called = names if len(columns) == len(names) else [f"column {j}" for j in columns]
    chosen = [numbers[word] for word in near]
    chosen += [i for i in telling_words(model, _ROWS) if i not in chosen][: max(_ROWS - len(chosen), 0)]
    seen = _seen(model)
    return [
        {
            "name": names[i],
            "seen": float(seen[i]),
            "following": [(called[j], float(chances[j])) for j in largest(chances, _NEAREST) if chances[j] > 0],
        }
        for i, chances in zip(chosen, model.conditional(chosen) if chosen else [], strict=True)
    ]


def _nearest(model: Any, near: Sequence[str], names: list[str], few: bool) -> list[dict[str, Any]]:
    """Words that were asked for, or else those that tell most, with what is nearest to them."""
    numbers = {name: i for i, name in enumerate(names)}
    chosen = [numbers[word] for word in near]
    if not few and model.n_kept_:
        chosen += [i for i in telling_words(model, _ROWS) if i not in chosen][: max(_ROWS - len(chosen), 0)]
    rows, seen = [], _seen(model)
    for i in chosen:
        try:
            nearest = [(str(other), cosine) for other, cosine in model.most_similar(i, _NEAREST)]
        except LatentiaError:  # it has no place in the embedding
            nearest = []
        rows.append({"name": names[i], "seen": float(seen[i]), "nearest": nearest})
    return rows


# --- figures --------------------------------------------------------------------------------------------------------


def _groups(model: Any, near: list[int]) -> list[int]:
    """Words that were asked for or tell most, each with the nearest others."""
    chosen: dict[int, None] = {}
    names = column_names(model)
    numbers = None if names is None else {word: i for i, word in enumerate(names)}
    for word in [*near, *telling_words(model, _PICTURED)]:
        if len(chosen) + _GROUP > _PICTURED:
            break
        if word not in chosen and model.embedding_[word].any():
            others = (other for other, _ in model.most_similar(word, _GROUP - 1))
            chosen |= dict.fromkeys([word, *(other if numbers is None else numbers[other] for other in others)])
    return list(chosen)


def _similar(model: Any, chosen: list[int], names: list[str]) -> dict[str, Any]:
    """Cosines of words, similar ones beside each other."""
    places = model.embedding_[chosen]
    places = places / np.linalg.norm(places, axis=1, keepdims=True)
    apart = pdist(places)
    order = leaves(optimal_leaf_ordering(linkage(apart, "average"), apart))
    cosines = (places @ places.T)[np.ix_(order, order)]
    listed = [names[chosen[i]] for i in order]
    hover = [
        [f"{shortened(a)}, {shortened(b)}\ncosine {value:.2f}" for b, value in zip(listed, row, strict=True)]
        for a, row in zip(listed, cosines, strict=True)
    ]
    return heat_map(cosines, listed, listed, hover=hover, signed=True, small=True)


def _mixing(model: Any, counts: Any, found: Sequence[Community]) -> dict[str, Any]:
    """How many times as many edges as by chance run between the communities."""
    order = [each.label for each in found][:_MOST_COMMUNITIES]
    between = _between(model, model.communities(counts), counts)
    ends = between.sum(axis=1)
    chance = np.outer(ends, ends) / between.sum()
    times = np.divide(between, chance, out=np.zeros_like(between), where=chance > 0)[np.ix_(order, order)]
    names = [str(number) for number in range(len(order))]
    hover = [
        [
            f"communities {a} and {b}\n{value:.2f} times as many edges as by chance"
            for b, value in zip(names, row, strict=True)
        ]
        for a, row in zip(names, times, strict=True)
    ]
    return heat_map(times, names, names, hover=hover, digits=1)


def _spectrum(model: Any) -> dict[str, Any]:
    """Eigenvalues by decreasing modulus, those above the edge of the noise in blue, and the edge on both sides."""
    values, edge = model.spectrum_[:_MOST_DIRECTIONS], float(model.edge_)
    return spectrum(values, model.n_kept_, [edge, -edge] if (values < 0).any() else [edge], "eigenvalue")


def _held_out(comparison: Sequence[Mapping[str, Any]], rank: int) -> dict[str, Any]:
    """Log-likelihood of pairs that were held out, less that of independent words, against the rank."""
    x = [row["rank"] for row in comparison]
    y = [round(float(row["above independent words"]), 6) for row in comparison]
    hover = [f"rank {a}\n{b:+.4f} nats a pair" for a, b in zip(x, y, strict=True)]
    large = [a == rank for a in x]
    return trend(x, y, hover=hover, large=large, title="rank", y_title="nats a pair above independence")


# --- words about the whole ------------------------------------------------------------------------------------------


def community_evidence(model: Any) -> Evidence:
    """The evidence of communities: whether as many stand out as were asked for. That of the probabilities becomes notes."""
    kept, wanted = model.n_kept_, model.n_components - 1
    if kept:
        remedy = f"At most {kept + 1} communities can be told apart: try -k {kept + 1}."
    else:
        remedy = "As far as these edges tell, there are no communities."
    decides = Check(
        "directions kept", "|lambda_k| > e", float(kept), at_least(wanted),
        "Directions that stand out of the noise: so many communities, less one, can be told apart. Single nodes with few edges "
        "may be in a wrong one all the same.", "section 2", "verdict", remedy, kept + 1 if kept else 0,
    )  # fmt: skip
    others = [replace(check, role="note") for check in evidence_of(model).checks if check.name != decides.name]
    nouns = ("community", "communities", "edges")
    return Evidence([decides, *others], subject=f"these {model.n_components} communities", nouns=nouns)


def _error_sentence(error: float | None) -> str:
    if error is None:
        return ""
    return (
        f"Expected error of all probabilities together: {error:.2f}, where 0 is perfect and 2 is all wrong; about "
        f"{min(error / 2, 1):.0%} of the probability is expected on the wrong pairs."
    )
