"""Anchors: which words, or combinations of words, stand for the topics.

An anchor given by the user is a word, several words (a tandem anchor: their occurrences count as one word's), or a
mapping from words to strengths in (0, 1]. Strength s says that a share s of the word's occurrences belongs to the
topic and the rest follows the corpus at large, so that its row is s v + (1 - s) c with c the mean row and v the vertex.

Where the noise of the rows is known, a vertex that was found is no single word's row but a mean over words near it
(`latentia.topics._pooled`), and its anchor is the word that lies farthest towards it.
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
_MIN_TOPIC_WEIGHT = 1e-3  # weight of an anchor's own topic
_MIN_DOCUMENTS = 10  # documents that an exclusive word is in; of the largest share that a word of the topic has there
_NEARLY_LARGEST = 0.9
_STRENGTH = Number(0, 1, "high")


@dataclass(frozen=True)
class Anchor:
    """Words of one topic, as columns, their strengths, and whether the user gave them.

    ``vertex``, of shape (d,), is the topic's row in the embedding where that is not the words' own.
    """

    words: Annotated[tuple[int, ...], of.places("", below="V")]
    strengths: Annotated[tuple[float, ...], of.number(0.0)]
    given: bool = True
    vertex: Annotated[np.ndarray | None, of.numbers("D")] = field(default=None, compare=False)


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
        raise LatentiaError(
            f"The word {label!r} is an anchor more than once: topics with the same anchor are one topic."
        )
    if len(anchors) and not user_anchors:
        raise LatentiaError(
            f"None of the anchor words can be used ({_list_words(missing_words + rare_words)}). Check their spelling against the "
            "vocabulary, lower runoff_df, or use anchors='greedy'."
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
    """Anchors for all topics: those given, then the ones found.

    Parameters
    ----------
    embedding : Embedding
    n_components : int
    given : list of Anchor
    candidates : ndarray of int
        Words (columns of the data) that may be anchors.
    codes : ndarray of int, shape (V,)
        Row of the embedding for every word.
    method : {"greedy", "lp"}
    sharpen : bool
        Whether vertices are moved outwards as far as the noise allows. Otherwise they lie inside of the simplex, where
        fewer words hold each, and the topics overlap.
    """
    if len(user_anchors) > n_components:
        raise LatentiaError(
            f"{len(user_anchors)} anchors are given, and each is one topic.",
            parameter="n_components",
            value=n_components,
        )
    n_missing = n_components - len(user_anchors)
    anchor_words = {word for anchor in user_anchors for word in anchor.words}
    candidates = np.array([w for w in candidates if w not in anchor_words], dtype=np.int64)
    if len(candidates) < n_missing:
        raise LatentiaError(
            f"{len(candidates)} words are frequent enough to be anchors and {n_missing} are needed. Lower min_df or the number of "
            "topics, or give more documents.",
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
                f"Selection by linear programming is for at most {MAX_LP_CANDIDATES} candidate words and there are {len(shrunk)}. "
                "Raise min_df, or use anchors='greedy'."
            )
        chosen = robust_loners(shrunk, n_missing)
    elif embedding.noise > 0:
        vertices = find_pooled_vertices(points, n_missing, start=known_vertices)
        chosen = _find_highest_rows(points.heights(np.vstack([known_vertices, vertices]))[:, len(known_vertices) :])
    else:
        chosen, _ = farthest_vertices(shrunk, n_missing, start=known_vertices)
    if len(chosen) < n_missing:
        raise LatentiaError(
            f"this data supports at most {max(len(user_anchors) + len(chosen), 1)} topics: beyond them every word is a mixture of the "
            "anchors found.",
            at_most=max(len(user_anchors) + len(chosen), 1), parameter="n_components", value=n_components,
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
    """For topics over all words the word of each that others have least: the most frequent of those nearly so, shape (K,)."""
    is_frequent = words.document_frequency >= np.minimum(_MIN_DOCUMENTS, words.document_frequency.max())
    shares = topics / np.maximum(topics.sum(axis=0), np.finfo(float).tiny) * is_frequent
    is_nearly_largest = shares >= _NEARLY_LARGEST * shares.max(axis=1, keepdims=True)
    return np.asarray((topics * is_nearly_largest).argmax(axis=1))


def _find_highest_rows(heights: np.ndarray) -> np.ndarray:
    """The row that is highest in each column, no row twice, shape (K,)."""
    remaining_heights, highest_rows = heights.copy(), []
    for column in remaining_heights.T:
        highest_rows.append(int(np.argmax(column)))
        remaining_heights[highest_rows[-1]] = -np.inf
    return np.array(highest_rows, dtype=np.int64)


def _restore_anchor_rows(vertices: np.ndarray, known_vertices: np.ndarray, anchor_rows: np.ndarray) -> np.ndarray:
    """Vertices of which every one holds its anchor's row; one that does not, being among others, becomes that row."""
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
    """The row that each anchor puts at its topic's vertex, shape (K, d)."""
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
    """Words of an anchor as the user wrote it, with their strengths."""
    if isinstance(anchor, Mapping):
        return list(anchor.items())
    if isinstance(anchor, (str, int, np.integer)):
        return [(anchor, 1.0)]
    if not isinstance(anchor, Iterable):
        raise LatentiaError(f"Anchor {anchor!r}: a word, a list of words or a dict from words to strengths is needed.")
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
