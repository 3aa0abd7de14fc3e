"""Anchors: which words, or combinations of words, stand for the topics.

An anchor given by the user is a word, several words (a tandem anchor: their occurrences count as one word's), or a
mapping from words to strengths in (0, 1]. Strength s says that a share s of the word's occurrences belongs to the
topic and the rest follows the corpus at large, so that its row is s v + (1 - s) c with c the mean row and v the vertex.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parameters import Number
from ..exceptions import AnchorWarning, LatentiaError, warn
from ..simplex import farthest_vertices, robust_loners
from ._embedding import Embedding

__all__ = ["MOST_LONERS", "Anchor", "choose_anchors", "parse_anchors", "pooled_vertices", "vertex_rows"]

MOST_LONERS = 2000
_STRENGTH = Number(0, 1, "high")
_POOLING = (1 - 1e-9, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class Anchor:
    """Words of one topic, as columns, their strengths, and whether the user gave them."""

    words: tuple[int, ...]
    strengths: tuple[float, ...]
    given: bool = True


def parse_anchors(anchors: Sequence[Any], names: Sequence[str] | None, codes: np.ndarray) -> list[Anchor]:
    """Read the user's anchors; words that are missing or were merged into the runoff word are reported and skipped.

    Parameters
    ----------
    anchors : sequence of words, sequences of words, or mappings from words to strengths
        A word is a column name or a column number. An `Anchor` is taken as it is.
    names : sequence of str or None
        Column names.
    codes : ndarray of shape (V,)
        Column of the embedding for every word, -1 for a word that is too rare to have its own.
    """
    columns = {str(name): i for i, name in enumerate(names)} if names is not None else {}
    parsed, missing, rare = [], [], []
    for anchor in anchors:
        if isinstance(anchor, Anchor):
            parsed.append(anchor)
            continue
        kept = []
        for word, strength in _strengths(anchor):
            if not _STRENGTH.allows(strength):
                raise LatentiaError(f"Anchor {word!r}: strength {strength!r} must be above 0 and at most 1.")
            column = _column(word, columns, names, len(codes))
            if column is None:
                missing.append(word)
            elif codes[column] < 0:
                rare.append(word)
            else:
                kept.append((column, float(strength)))
        if kept:
            parsed.append(Anchor(tuple(c for c, _ in kept), tuple(s for _, s in kept)))
    if missing or rare:
        reasons = [f"{len(missing)} not in the vocabulary: {_listed(missing)}"] if missing else []
        reasons += [f"{len(rare)} in too few documents: {_listed(rare)}"] if rare else []
        warn(f"Anchor words skipped, {'; '.join(reasons)}.", AnchorWarning)
    words = [word for anchor in parsed for word in anchor.words]
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        label = str(names[int(repeated[0])]) if names is not None else repeated[0]
        raise LatentiaError(
            f"The word {label!r} is an anchor more than once: topics with the same anchor are one topic."
        )
    if len(anchors) and not parsed:
        raise LatentiaError(
            f"None of the anchor words can be used ({_listed(missing + rare)}). Check their spelling against the "
            "vocabulary, lower runoff_df, or use anchors='greedy'."
        )
    return parsed


def choose_anchors(
    embedding: Embedding,
    n_components: int,
    given: list[Anchor],
    candidates: np.ndarray,
    codes: np.ndarray,
    method: str,
) -> list[Anchor]:
    """Anchors for all topics: those given, then the ones found.

    ``candidates`` are words (columns of the data); ``codes`` leads from them to rows of the embedding.
    """
    if len(given) > n_components:
        raise LatentiaError(
            f"{len(given)} anchors are given, and each is one topic.", parameter="n_components", value=n_components
        )
    wanted = n_components - len(given)
    taken = {word for anchor in given for word in anchor.words}
    candidates = np.array([w for w in candidates if w not in taken], dtype=np.int64)
    if len(candidates) < wanted:
        raise LatentiaError(
            f"{len(candidates)} words are frequent enough to be anchors and {wanted} are needed. Lower min_df or the number of "
            "topics, or give more documents.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
    rows = embedding.shrunk_rows()[codes[candidates]]
    if method == "lp":
        if len(rows) > MOST_LONERS:
            raise LatentiaError(
                f"Selection by linear programming is for at most {MOST_LONERS} candidate words and there are {len(rows)}. "
                "Raise min_df, or use anchors='greedy'."
            )
        found = robust_loners(rows, wanted)
    else:
        start = vertex_rows(embedding, given, codes) if given else None
        found, _ = farthest_vertices(rows, wanted, start=start)
    if len(found) < wanted:
        raise LatentiaError(
            f"this data supports at most {max(len(given) + len(found), 1)} topics: beyond them every word is a mixture of the "
            "anchors found.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
    return given + [Anchor((int(candidates[i]),), (1.0,), given=False) for i in found]


def vertex_rows(embedding: Embedding, anchors: list[Anchor], codes: np.ndarray) -> np.ndarray:
    """The row that each anchor puts at its topic's vertex, shape (K, d)."""
    centre = embedding.sketch.sum(axis=0)
    vertices = []
    for anchor in anchors:
        words, strengths = codes[list(anchor.words)], np.array(anchor.strengths)
        weight = embedding.marginal[words]
        own = embedding.sketch[words].sum(axis=0) - ((1 - strengths) @ weight) * centre
        vertices.append(own / max(strengths @ weight, np.finfo(float).tiny))
    return np.array(vertices)


def pooled_vertices(
    embedding: Embedding, vertices: np.ndarray, weights: np.ndarray, anchors: list[Anchor], codes: np.ndarray
) -> np.ndarray:
    """Vertices averaged over the words that lie near them, as far as this lowers the expected error, shape (K, d).

    The mean row of the words with weight >= t on a topic has less noise than the anchor's row and some bias. The squared
    distance of the two estimates the bias (less the noise of both), so each topic takes the t of the least bias^2 + noise,
    the anchor alone included. Anchors that the user gave stay as they are.

    Parameters
    ----------
    vertices : ndarray of shape (K, d)
        The anchors' rows.
    weights : ndarray of shape (V, K)
        Of every word on the vertices.
    """
    own = embedding.row_noise[codes[[anchor.words[0] for anchor in anchors]]]
    found = np.array([not anchor.given for anchor in anchors])
    best, least = vertices.copy(), own.copy()
    for threshold in _POOLING:
        mass, noise = _row_noise_of(embedding, weights >= threshold)
        pooled = ((weights >= threshold).T @ embedding.sketch) / np.maximum(mass, np.finfo(float).tiny)[:, None]
        bias = np.maximum(((pooled - vertices) ** 2).sum(axis=1) - np.maximum(own - noise, 0.0), 0.0)
        better = found & (mass > 0) & (bias + noise < least)
        best[better], least[better] = pooled[better], (bias + noise)[better]
    return best


def _row_noise_of(embedding: Embedding, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of each topic's member words together, and the noise of their mean row, both of shape (K,)."""
    mass = members.T @ embedding.marginal
    squared = members.T @ (embedding.row_noise * embedding.marginal**2)
    return mass, np.divide(squared, mass**2, out=np.full(len(mass), np.inf), where=mass > 0)


def _strengths(anchor: Any) -> list[tuple[Any, Any]]:
    """Words of an anchor as the user wrote it, with their strengths."""
    if isinstance(anchor, Mapping):
        return list(anchor.items())
    if isinstance(anchor, (str, int, np.integer)):
        return [(anchor, 1.0)]
    if not isinstance(anchor, Iterable):
        raise LatentiaError(f"Anchor {anchor!r}: a word, a list of words or a dict from words to strengths is needed.")
    return [(word, 1.0) for word in anchor]


def _column(word: Any, columns: dict[str, int], names: Sequence[str] | None, n_words: int) -> int | None:
    if isinstance(word, (int, np.integer)):
        return int(word) if 0 <= word < n_words else None
    if names is None:
        raise LatentiaError(
            f"Anchor {word!r} is a word and the data has no column names. Fit on a DataFrame, pass vocabulary=, or "
            "give column numbers."
        )
    return columns.get(str(word))


def _listed(words: list[Any], most: int = 10) -> str:
    shown = ", ".join(map(str, words[:most]))
    return shown + (f" and {len(words) - most} more" if len(words) > most else "")
