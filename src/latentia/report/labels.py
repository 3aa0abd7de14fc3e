"""The report of a multi-label classifier, for readers who do not program."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_is_fitted

from .._validation import number_table
from ..exceptions import LatentiaError
from ..passes import Blocks
from .figures import heat_map, shortened
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

__all__ = ["Names", "write_labels_report"]

_TABLE_WORDS, _TABLE_LABELS, _MAP_LABELS = 8, 5, 40
_ANNOTATED = 400  # cells up to which a heat map shows numbers
_EXAMPLES, _EXAMPLE_WORDS, _EXAMPLE_LABELS = 10, 5, 12
_NOUNS = Nouns("topics", "topic", "documents")


@dataclass(frozen=True)
class Names:
    """Names of columns: those given, or ``word 0``, ``word 1``, ... counted as the source counts.

    Attributes
    ----------
    kind : str
        What a column is called.
    given : sequence of str, or None
    first : int
        Number of the first column.
    """

    kind: str
    given: Sequence[str] | None = None
    first: int = 0

    def __getitem__(self, column: int) -> str:
        return self.short(column) if self.given is not None else f"{self.kind} {self.short(column)}"

    def short(self, column: int) -> str:
        """The name, or the number alone."""
        return str(column + self.first) if self.given is None else str(self.given[column])


@dataclass(frozen=True)
class _Topic:
    """What the page shows of a topic: words, each with how many times as frequent it is; labels with probabilities."""

    number: int
    share: float
    error: float | None
    grade: Mark
    words: list[tuple[str, float]]
    labels: list[tuple[str, float]]


@dataclass(frozen=True)
class _Example:
    """A row: its labels, how many are not shown, and the predictions (label, probability, whether it has it, words)."""

    number: int
    labels: list[tuple[str, bool]]
    more: int
    predictions: list[tuple[str, float, bool, list[str]]]


def write_labels_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    Y: Any = None,
    *,
    vocabulary: Sequence[str] | Names | None = None,
    label_names: Sequence[str] | Names | None = None,
    measures: Sequence[Mapping[str, Any]] = (),
    facts: Sequence[tuple[str, str]] = (),
    title: str = "Labels",
    source: str = "",
    comparison: Sequence[Mapping[str, Any]] | None = None,
    label_sets: Any = None,
) -> Path:
    """Write what a multi-label classifier learned, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : MomentMultiLabelClassifier
        A fitted model.
    X : table or Blocks of shape (n_rows, D), optional
        Rows to take examples from, usually new ones; Blocks have two parts, X and Y.
    Y : table of shape (n_rows, L), optional
        Their label sets.
    vocabulary, label_names : sequence of str of length D and L, optional
        Names of the columns; by default those that the model knows.
    measures : sequence of dict, optional
        Lines of a table of metrics, with ``name``, ``value``, ``plain`` (what the most frequent labels reach), ``rows`` and
        ``meaning``.
    facts : sequence of (str, str), optional
        What to say in large figures: a text and its number.
    title, source : str
        Heading of the page, and where the rows came from.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of topics, the first value the number.
    label_sets : table of shape (m, L), or Blocks with labels as their second part, optional
        Rows in which it is counted which labels go together; by default Y.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    words = _names("word", vocabulary, model._word_names(), len(model.word_frequencies_))
    labels = _names("label", label_names, model._names_of_labels(), len(model.label_frequencies_))
    topics = _describe(model, words, labels) if model.topics else []
    counted = (label_sets, Y, X if isinstance(X, Blocks) else None)
    space = _label_space(model, labels, next((one for one in counted if one is not None), None))
    evidence = evidence_of(model)
    page = render(
        "labels.html",
        title=title,
        source=source,
        summary=_summary(model),
        nouns=_NOUNS,
        evidence=evidence_parts(evidence),
        of_topics=None if evidence.topics is None else evidence_parts(evidence.topics),
        error=_sentence(model, [topic.error for topic in topics], measures),
        facts=facts,
        measures=measures,
        topics=topics,
        examples=_examples(model, X, Y, words, labels),
        linear=model.head_ != "bayes",
        rare=_rare(model),
        data={} if space is None else {"label-space": space},
        comparison=comparison_rows(comparison, len(topics) or int(model.n_components)),
        version=version(),
    )
    return write_page(path, page)


def _names(kind: str, given: Any, known: Any, width: int) -> Names:
    if isinstance(given, Names):
        return given
    names = known if given is None else given
    if names is not None and len(names) != width:
        raise LatentiaError(f"There are {len(names)} names of {kind}s and the model has {width}: they must agree.")
    return Names(kind, names)


# --- topics ---------------------------------------------------------------------------------------------------------


def _describe(model: Any, words: Names, labels: Names) -> list[_Topic]:
    marks = component_marks(evidence_of(model), len(model.weights_))
    overall = np.maximum(model.weights_ @ model.word_probabilities_, 1e-300)
    return [
        _Topic(
            number=k,
            share=float(model.weights_[k]),
            error=error,
            grade=mark,
            words=_telling_words(model.word_probabilities_[k], overall, words),
            labels=_probable_labels(model.label_probabilities_[k], labels),
        )
        for k, (error, mark) in enumerate(marks)
    ]


def _telling_words(probabilities: np.ndarray, overall: np.ndarray, words: Names) -> list[tuple[str, float]]:
    """The words that set a topic apart: frequent in it, and more so than in all documents; with that factor."""
    lift = probabilities / overall
    gain = probabilities * np.log(np.maximum(lift, 1e-12))
    return [(words[w], float(lift[w])) for w in largest(gain, _TABLE_WORDS) if lift[w] > 1]


def _probable_labels(probabilities: np.ndarray, labels: Names) -> list[tuple[str, float]]:
    """The most probable labels of a topic that round to a percent."""
    top = largest(probabilities, _TABLE_LABELS)
    return [(labels[label], float(probabilities[label])) for label in top if probabilities[label] >= 0.005]


# --- labels ---------------------------------------------------------------------------------------------------------


def _label_space(model: Any, labels: Names, label_sets: Any) -> dict[str, Any] | None:
    """Which of the most frequent labels go together in rows, as a heat map in which alike ones stand side by side."""
    if label_sets is None or (isinstance(label_sets, Blocks) and len(label_sets.shapes) < 2):
        return None
    together, n_rows = _counted(label_sets, largest(model.label_frequencies_, _MAP_LABELS))
    seen = (np.diag(together) > 0) & (np.diag(together) < n_rows)
    if seen.sum() < 3:
        return None
    correlations = _correlations(together[np.ix_(seen, seen)], n_rows)
    if not (np.triu(correlations, 1) > 0).any():
        return None
    order = np.flatnonzero(seen)[alike := _neighbours_together(correlations)]
    together, correlations = together[np.ix_(order, order)], correlations[np.ix_(alike, alike)]
    names = [labels[label] for label in largest(model.label_frequencies_, _MAP_LABELS)[order]]
    hover = [[_pair(together, n_rows, names, i, j) for j in range(len(order))] for i in range(len(order))]
    return heat_map(np.maximum(correlations, 0), names, names, hover=hover)


def _counted(label_sets: Any, chosen: np.ndarray) -> tuple[np.ndarray, int]:
    """In how many rows each two of some labels are together, (n, n), and the number of rows."""
    blocks = [block[1] for block in label_sets] if isinstance(label_sets, Blocks) else [number_table(label_sets, "Y")]
    tables = [sparse.csr_array(block)[:, chosen].astype(np.float64) for block in blocks]
    return sum((table.T @ table).toarray() for table in tables), sum(table.shape[0] for table in tables)


def _correlations(together: np.ndarray, n_rows: int) -> np.ndarray:
    """Of the labels of a row, from how often each two are together, (n, n)."""
    shares = together / n_rows
    about = shares - np.outer(np.diag(shares), np.diag(shares))
    spread = np.sqrt(np.diag(about))
    return about / np.outer(spread, spread)


def _neighbours_together(together: np.ndarray) -> np.ndarray:
    """An order in which labels that go together (n, n) stand side by side."""
    distances = np.clip(1 - (together + together.T) / 2, 0, None)
    np.fill_diagonal(distances, 0)
    return leaves_list(linkage(squareform(distances, checks=False), "average", optimal_ordering=True))


def _pair(together: np.ndarray, n_rows: int, names: list[str], i: int, j: int) -> str:
    """What the cell of two labels, together in so many rows, says when it is pointed at."""
    both, own, other = int(together[i, j]), together[i, i], together[j, j]
    if i == j:
        return f"{shortened(names[i])}\n{count(both, 'document')}, {both / n_rows:.1%} of all"
    pair = f"{shortened(names[i])} and {shortened(names[j])}"
    if not both:
        return f"{pair}\nno document has both"
    times = both * n_rows / (own * other)
    return f"{pair}\n{count(both, 'document')} with both: {times:.1f} times as many as by chance"


# --- examples -------------------------------------------------------------------------------------------------------


def _examples(model: Any, X: Any, Y: Any, words: Names, labels: Names) -> list[_Example]:
    """Rows at even distances among those that have words and labels, their predictions, and the words behind these."""
    if isinstance(X, Blocks) and Y is not None:
        raise LatentiaError("X is blocks and Y a table: make blocks of both, Blocks.from_array(X, Y).")
    if X is None or (Y is None and not isinstance(X, Blocks)):
        return []
    blocks = X if isinstance(X, Blocks) else Blocks.from_array(number_table(X), number_table(Y, "Y"))
    if len(blocks.shapes) < 2:
        return []
    found = np.concatenate([block.start + _filled(block) for block in blocks])
    if not len(found):
        return []
    chosen = found[np.unique(np.linspace(0, len(found) - 1, _EXAMPLES).round().astype(int))]
    named = copy.copy(model)
    named.vocabulary, named.label_names = words, labels
    examples = []
    for block in blocks:
        own = chosen[(chosen >= block.start) & (chosen < block.start + len(block.rows))] - block.start
        if len(own):
            rows, sets = (sparse.csr_array(part)[own] for part in block[:2])
            told = named.explain(Blocks.from_array(rows), n_words=_EXAMPLE_WORDS)
            each = zip(block.rows[own] + 1, np.split(sets.indices, sets.indptr[1:-1]), told, strict=True)
            examples += [_example(*row, labels) for row in each]
    return examples


def _filled(block: Any) -> np.ndarray:
    """Rows of a block that have words and labels."""
    filled = [np.diff(sparse.csr_array(part).indptr) > 0 for part in block[:2]]
    return np.flatnonzero(filled[0] & filled[1])


def _example(number: int, own: np.ndarray, told: list[Any], labels: Names) -> _Example:
    guessed, own = {e.label for e in told}, np.sort(own)
    shown = sorted((int(label) for label in own), key=lambda label: label not in guessed)[:_EXAMPLE_LABELS]
    return _Example(
        int(number),
        [(labels[label], label in guessed) for label in shown],
        len(own) - len(shown),
        [(e.name, e.probability, e.label in own, [word for word, value in e.words if value > 0]) for e in told],
    )


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(model: Any) -> str:
    n_words, n_labels = len(model.word_frequencies_), len(model.label_frequencies_)
    per_row = float(model.label_frequencies_.sum())
    return (
        f"{count(n_labels, 'label')} of documents with {count(n_words, 'different word')}, "
        f"{per_row:.1f} labels a document on average; "
        f"{count(len(model.weights_), 'topic') if model.topics else 'no topics were asked for'}."
    )


def _sentence(model: Any, errors: Sequence[float | None], measures: Sequence[Mapping[str, Any]]) -> str:
    measured = [error for error in errors if error is not None]
    text = ""
    if measured and evidence_of(model).topics is None:
        mean = float(np.mean(measured))
        text = f"Expected error of a topic: {mean:.2f} on average, where 0 is perfect and 2 is all wrong. "
    first = {measure["name"]: measure["value"] for measure in measures}.get("precision@1", float("nan"))
    if np.isfinite(first):
        text += f"The first label that is predicted is right for {first:.0%} of the rows tested on."
    return text.strip()


def _rare(model: Any) -> str:
    """What the evidence says of labels of few rows; nothing where there are none, or nothing was measured."""
    check = next((check for check in model.evidence_.checks if check.name == "rare labels"), None)
    if check is None or str(check.measured).startswith("0 "):
        return ""
    return f"{check.measured}. {check.meaning}"
