"""Anchors: the words, or combinations of words, that stand for the topics.

A user's anchor is a word, several words (a tandem anchor: their occurrences count as one word's), or a mapping from words to
strengths in (0, 1]. A strength s means that a share s of the word's occurrences belongs to the topic, and the rest follows the
corpus at large: the word's row is s v + (1 - s) c, with the mean row c and the vertex v.

Where the noise of the rows is known, a recovered vertex is a mean over the words near it, not the row of a single word
(`latentia.topics._pooled`). Its anchor is the word that lies farthest towards it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from .. import _fields as of
from .._parameters import Number
from ..exceptions import AnchorWarning, LatentiaError, warn
from ..simplex import farthest_vertices, robust_loners, simplex_least_squares
from ._corpus import Words
from ._embedding import Embedding
from ._pooled import NoisyPoints, find_pooled_vertices, sharpen_vertices

MAX_LP_CANDIDATES = 2000
_MIN_TOPIC_WEIGHT = 1e-3  # Weight of its own topic in the row of an anchor.
_MIN_DOCUMENTS = 10  # An exclusive word occurs in at least this many documents.
_NEARLY_LARGEST = 0.9  # Words with this part of the largest share are as exclusive as the most exclusive one.
_STRENGTH = Number(0, 1, "high")


@dataclass(frozen=True)
class Anchor:
    """Words of one topic, as columns, their strengths, and whether the user gave them.

    ``vertex``, of shape (d,), is the topic's row in the embedding where it differs from the row of the words.
    """

    words: Annotated[tuple[int, ...], of.places("", below="V")]
    strengths: Annotated[tuple[float, ...], of.number(0.0)]
    given: bool = True
    vertex: Annotated[np.ndarray | None, of.numbers("D")] = field(default=None, compare=False)


def parse_anchors(anchors: Sequence[Any], names: Sequence[str] | None, codes: np.ndarray) -> list[Anchor]:
    """Parse the user's anchors. Warn of words that are missing or too rare, and skip them.

    Parameters
    ----------
    anchors : sequence of words, sequences of words, or mappings from words to strengths
        A word is a column name or a column number. An `Anchor` stays as it is.
    names : sequence of str or None
        Column names.
    codes : ndarray of shape (V,)
        Column of the embedding for every word, -1 for a word that is too rare to have one.
    """
    columns = {str(name): i for i, name in enumerate(names)} if names is not None else {}
    user_anchors, missing_words, rare_words = [], [], []
    for anchor in anchors:
        if isinstance(anchor, Anchor):
            user_anchors.append(anchor)
            continue
        usable_words = []
        for word, strength in _parse_strengths(anchor):
            if not _STRENGTH.allows(strength):
                raise LatentiaError(f"Anchor {word!r}: strength {strength!r} must be above 0 and at most 1.")
            column = _find_column(word, columns, names, len(codes))
            if column is None:
                missing_words.append(word)
            elif codes[column] < 0:
                rare_words.append(word)
            else:
                usable_words.append((column, float(strength)))
        if usable_words:
            user_anchors.append(Anchor(tuple(c for c, _ in usable_words), tuple(s for _, s in usable_words)))
    if missing_words or rare_words:
        reasons = [f"{len(missing_words)} not in the vocabulary: {_list_words(missing_words)}"] if missing_words else []
        reasons += [f"{len(rare_words)} in too few documents: {_list_words(rare_words)}"] if rare_words else []
        warn(f"Anchor words skipped, {'; '.join(reasons)}.", AnchorWarning)
    words = [word for anchor in user_anchors for word in anchor.words]
    repeated = sorted({word for word in words if words.count(word) > 1})
    if repeated:
        label = str(names[int(repeated[0])]) if names is not None else repeated[0]
        raise LatentiaError(f"The word {label!r} is an anchor of more than one topic. Give every topic its own anchor.")
    if len(anchors) and not user_anchors:
        raise LatentiaError(
            f"None of the anchor words can be used ({_list_words(missing_words + rare_words)}). Check their spelling against "
            "the vocabulary, lower runoff_df, or use anchors='greedy'."
        )
    return user_anchors


def choose_anchors(
    embedding: Embedding,
    n_components: int,
    user_anchors: list[Anchor],
    candidates: np.ndarray,
    codes: np.ndarray,
    method: str,
    *,
    sharpen: bool = True,
) -> list[Anchor]:
    """Choose anchors for all topics: the user's, then greedy ones or those of linear programs.

    Parameters
    ----------
    embedding : Embedding
    n_components : int
    user_anchors : list of Anchor
    candidates : ndarray of int
        Words (columns of the data) that can become anchors.
    codes : ndarray of int, shape (V,)
        Row of the embedding for every word.
    method : {"greedy", "lp"}
    sharpen : bool
        Whether vertices are moved outwards as far as the noise allows. Otherwise they lie inside the simplex, and the topics
        overlap.
    """
    if len(user_anchors) > n_components:
        raise LatentiaError(
            f"expected at most one anchor for each topic; {len(user_anchors)} are given.",
            parameter="n_components",
            value=n_components,
        )
    n_missing = n_components - len(user_anchors)
    anchor_words = {word for anchor in user_anchors for word in anchor.words}
    candidates = np.array([w for w in candidates if w not in anchor_words], dtype=np.int64)
    if len(candidates) < n_missing:
        raise LatentiaError(
            f"expected {n_missing} words that are frequent enough to be anchors; there are {len(candidates)}. Lower min_df or "
            "the number of topics, or give more documents.",
            parameter="n_components", value=n_components,
        )  # fmt: skip
    if not n_missing:
        return user_anchors
    rows = codes[candidates]
    shrunk = embedding.shrunk_rows()[rows]
    points = NoisyPoints(embedding.rows[rows], shrunk, embedding.marginal[rows], embedding.row_noise[rows])
    known_vertices = vertex_rows(embedding, user_anchors, codes) if user_anchors else np.empty((0, shrunk.shape[1]))
    vertices = None
    if method == "lp":
        if len(shrunk) > MAX_LP_CANDIDATES:
            raise LatentiaError(
                f"Linear programs take at most {MAX_LP_CANDIDATES} candidate words; there are {len(shrunk)}. Raise min_df, or "
                "use anchors='greedy'."
            )
        chosen = robust_loners(shrunk, n_missing)
    elif embedding.noise > 0:
        vertices = find_pooled_vertices(points, n_missing, start=known_vertices)
        chosen = _find_highest_rows(points.heights(np.vstack([known_vertices, vertices]))[:, len(known_vertices) :])
    else:
        chosen, _ = farthest_vertices(shrunk, n_missing, start=known_vertices)
    if len(chosen) < n_missing:
        n_supported = max(len(user_anchors) + len(chosen), 1)
        raise LatentiaError(
            f"this data supports at most {n_supported} topics: every other word is a mixture of their anchors.",
            at_most=n_supported, parameter="n_components", value=n_components,
        )  # fmt: skip
    anchors = [Anchor((int(candidates[i]),), (1.0,), given=False) for i in chosen]
    if embedding.noise > 0:
        vertices = points.measured[chosen] if vertices is None else vertices
        if sharpen:
            moving = np.arange(len(known_vertices) + len(vertices)) >= len(known_vertices)
            vertices = sharpen_vertices(points, np.vstack([known_vertices, vertices]), moving)[moving]
        vertices = _restore_anchor_rows(vertices, known_vertices, points.measured[chosen])
        anchors = [replace(anchor, vertex=vertex) for anchor, vertex in zip(anchors, vertices, strict=True)]
    return user_anchors + anchors


def exclusive_words(topics: np.ndarray, words: Words) -> np.ndarray:
    """Return a word of each topic, shape (K,): the most frequent among its most exclusive words."""
    is_frequent = words.document_frequency >= np.minimum(_MIN_DOCUMENTS, words.document_frequency.max())
    shares = topics / np.maximum(topics.sum(axis=0), np.finfo(float).tiny) * is_frequent
    is_nearly_largest = shares >= _NEARLY_LARGEST * shares.max(axis=1, keepdims=True)
    return np.asarray((topics * is_nearly_largest).argmax(axis=1))


def _find_highest_rows(heights: np.ndarray) -> np.ndarray:
    """Find the highest row of each column, no row twice, shape (K,)."""
    remaining_heights, highest_rows = heights.copy(), []
    for column in remaining_heights.T:
        highest_rows.append(int(np.argmax(column)))
        remaining_heights[highest_rows[-1]] = -np.inf
    return np.array(highest_rows, dtype=np.int64)


def _restore_anchor_rows(vertices: np.ndarray, known_vertices: np.ndarray, anchor_rows: np.ndarray) -> np.ndarray:
    """Replace a vertex by its anchor's row where the anchor has hardly any weight on it, being among other vertices."""
    columns = len(known_vertices) + np.arange(len(vertices))
    for _ in range(len(vertices)):
        weights = simplex_least_squares(anchor_rows, np.vstack([known_vertices, vertices]))[
            np.arange(len(vertices)), columns
        ]
        is_lost = (weights < _MIN_TOPIC_WEIGHT) & (vertices != anchor_rows).any(axis=1)
        if not is_lost.any():
            break
        vertices = np.where(is_lost[:, None], anchor_rows, vertices)
    return vertices


def vertex_rows(embedding: Embedding, anchors: list[Anchor], codes: np.ndarray) -> np.ndarray:
    """Return the vertex of each anchor's topic, shape (K, d)."""
    centre = embedding.sketch.sum(axis=0)
    vertices = []
    for anchor in anchors:
        if anchor.vertex is not None:
            vertices.append(anchor.vertex)
            continue
        words, strengths = codes[list(anchor.words)], np.array(anchor.strengths)
        weight = embedding.marginal[words]
        anchor_sum = embedding.sketch[words].sum(axis=0) - ((1 - strengths) @ weight) * centre
        vertices.append(anchor_sum / max(strengths @ weight, np.finfo(float).tiny))
    return np.array(vertices)


def _parse_strengths(anchor: Any) -> list[tuple[Any, Any]]:
    """Return the words of an anchor, as the user wrote it, with their strengths."""
    if isinstance(anchor, Mapping):
        return list(anchor.items())
    if isinstance(anchor, (str, int, np.integer)):
        return [(anchor, 1.0)]
    if not isinstance(anchor, Iterable):
        raise LatentiaError(f"Anchor {anchor!r}: expected a word, a list of words or a dict from words to strengths.")
    return [(word, 1.0) for word in anchor]


def _find_column(word: Any, columns: dict[str, int], names: Sequence[str] | None, n_words: int) -> int | None:
    if isinstance(word, (int, np.integer)):
        return int(word) if 0 <= word < n_words else None
    if names is None:
        raise LatentiaError(
            f"Anchor {word!r} is a word and the data has no column names. Fit on a DataFrame, pass vocabulary=, or "
            "give column numbers."
        )
    return columns.get(str(word))


def _list_words(words: list[Any], max_words: int = 10) -> str:
    text = ", ".join(map(str, words[:max_words]))
    return text + (f" and {len(words) - max_words} more" if len(words) > max_words else "")
