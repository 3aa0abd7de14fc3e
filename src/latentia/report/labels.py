"""Multi-label classifiers, for readers who do not program."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from .._validation import number_table
from ..exceptions import LatentiaError
from ..passes import Blocks
from ..summaries import Answer, Column, Figure, Section, Summary, Table, grade_columns
from .figures import dot_plot, heat_map, horizontal_bars, shorten
from .page import page
from .parts import count, evidence_of, evidence_parts, grades_say, largest, listing, mean_error

_TABLE_WORDS, _TABLE_LABELS, _SCREEN_LABELS, _MAP_LABELS = 8, 5, 8, 40
_FILE_WORDS, _FILE_LABELS = 50, 20
_N_EXAMPLES, _EXAMPLE_WORDS, _EXAMPLE_LABELS, _BARS = 10, 5, 12, 12


@dataclass(frozen=True)
class Names:
    """Names of columns: given names, or ``word 0``, ``word 1``, ... with the numbers of the source.

    Attributes
    ----------
    kind : str
        Noun for a column, such as word.
    names : sequence of str, or None
    first : int
        Number of the first column.
    """

    kind: str
    names: Sequence[str] | None = None
    first: int = 0

    def __getitem__(self, column: int) -> str:
        return self.short(column) if self.names is not None else f"{self.kind} {self.short(column)}"

    def short(self, column: int) -> str:
        """Return the name, or the number alone."""
        return str(column + self.first) if self.names is None else str(self.names[column])


@page("Labels")
def summarize_labels(
    model: Any,
    X: Any = None,
    Y: Any = None,
    *,
    vocabulary: Sequence[str] | Names | None = None,
    label_names: Sequence[str] | Names | None = None,
    measures: Sequence[Mapping[str, Any]] = (),
    tested: str = "On the test rows",
    facts: Sequence[tuple[str, str]] = (),
    label_sets: Any = None,
) -> Summary:
    """Summarise a multi-label classifier, and how far it can be trusted.

    Parameters
    ----------
    model : MomentMultiLabelClassifier
        A fitted model.
    X : table or Blocks of shape (n_rows, D), optional
        Rows to take examples from, usually new ones; Blocks have two parts, X and Y.
    Y : table of shape (n_rows, L), optional
        Label sets of these rows.
    vocabulary, label_names : sequence of str of length D and L, optional
        Names of the columns; by default those that the model knows.
    measures : sequence of dict, optional
        Lines of a table of metrics, with ``name``, ``value``, ``plain`` (value of the most frequent labels), ``rows`` and
        ``meaning``.
    tested : str
        Text on the rows of these measures.
    facts : sequence of (str, str), optional
        Numbers to show in large figures: a text and its number.
    label_sets : table of shape (m, L), or Blocks with labels as their second part, optional
        Rows in which joint labels are counted; by default Y.

    Returns
    -------
    Summary

    """
    words = _names("word", vocabulary, model.word_names, len(model.word_frequencies_))
    labels = _names("label", label_names, model.names_of_labels, len(model.label_frequencies_))
    counted = (label_sets, Y, X if isinstance(X, Blocks) else None)
    examples = _examples(model, X, Y, words, labels)
    return Summary(
        headline=_write_headline(model),
        parts=(
            *((Section("labels_facts.html", {"facts": facts}),) if facts else ()),
            *((_metrics(measures, tested),) if measures else ()),
            *((Section("labels_examples.html", {"examples": examples}),) if examples else ()),
            *_label_space(
                model, labels, next((label_table for label_table in counted if label_table is not None), None)
            ),
            *(_topics(model, words, labels, not measures) if model.topics else ()),
        ),
        answer=_answer(model, labels, measures),
        size=len(model.weights_) if model.topics else int(model.n_components),
        error=_sentence(model, measures),
        reading=_reading(model, bool(measures)),
        styles=("tables.css", "labels.css"),
    )


def _names(kind: str, own_names: Any, model_names: Any, width: int) -> Names:
    if isinstance(own_names, Names):
        return own_names
    names = model_names if own_names is None else own_names
    if names is not None and len(names) != width:
        raise LatentiaError(f"Found {len(names)} names of {kind}s; expected {width}, those of the model.")
    return Names(kind, names)


# --- tables ---------------------------------------------------------------------------------------------------------


def _metrics(measures: Sequence[Mapping[str, Any]], tested: str) -> Table:
    names, values, plain, rows, meanings = (
        [measure[name] for measure in measures] for name in ("name", "value", "plain", "rows", "meaning")
    )
    sampled = [measure for measure in measures if "sample" in measure["meaning"]]
    samples = [f"{measure['name']}: {measure['meaning'].split('. ')[-1]}" for measure in sampled]
    return Table(
        "metrics",
        (
            Column("metric", names, kind="name", term="Metrics", meaning=_METRICS),
            Column("value", values, _format_finite, kind="meter", heading="This model"),
            Column("most frequent labels", [x if np.isfinite(x) else None for x in plain], ".4f", kind="meter"),
            Column("rows", rows, "", ","),
            Column("meaning", meanings, kind="text", where="pf"),
        ),
        title="How good the predictions are",
        hint="On test rows; higher is better. For comparison: the values of the most frequent labels, the same for every row.",
        file="metrics.csv",
        caption=tested,
        note="\n".join(samples),
        place="measures",
        label="measure",
    )  # fmt: skip


def _answer(model: Any, labels: Names, measures: Sequence[Mapping[str, Any]]) -> Answer:
    """Answer by the quality of predictions, if it was measured on test rows, else by the frequencies of labels."""
    frequent = largest(model.label_frequencies_, _BARS)
    frequent_names = [f"{labels[label]} ({model.label_frequencies_[label]:.0%})" for label in frequent]
    counts_text = (
        f"{count(len(model.label_frequencies_), 'label')}, {model.label_frequencies_.sum():.2g} a document on average"
    )
    words = f"{counts_text}. The most frequent, with their shares of the documents: {listing(frequent_names)}."
    measured = [measure for measure in measures if np.isfinite(measure["value"]) and np.isfinite(measure["plain"])]
    if measured:
        values, frequent_values = (np.array([measure[name] for measure in measured]) for name in ("value", "plain"))
        data = dot_plot(
            [measure["name"] for measure in measured],
            {"this model": values, "most frequent labels": frequent_values},
            None,
            title="",
        )
        title_and_hint = "How good the predictions are", "On test rows; higher is better."
        label = "Dots of how good the predictions are; metrics.csv holds the numbers"
    else:
        names, shares = [labels[label] for label in frequent], model.label_frequencies_[frequent]
        data = horizontal_bars(names, shares, title="share of the documents")
        title_and_hint = ("The labels", f"The {len(frequent)} most frequent labels.")
        label = "Bars of how frequent labels are"
    return Answer(
        "Which labels does a new document get?",
        words,
        Figure("labels", data, title_and_hint[0], label, title_and_hint[1]),
    )


def _format_finite(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else ""


def _topics(model: Any, words: Names, labels: Names, printed: bool) -> tuple[Table, Table, Table]:
    """Tabulate the topics, and for files the most probable words and labels of each."""
    evidence, size = evidence_of(model), len(model.weights_)
    means = _ERROR + grades_say(evidence, "a topic", "other documents of the same kind would give it other words")
    share_and_error = (
        Column("share", model.weights_, ".6f", kind="share"),
        *grade_columns(evidence, size, unit="l1 of 2", meaning=means),
    )
    overall = np.maximum(model.weights_ @ model.word_probabilities_, 1e-300)
    distinctive_words = [_telling_words(own_words, overall, words) for own_words in model.word_probabilities_]
    probabilities_of_labels = model.label_probabilities_
    labels_on_page = [
        [(labels[j], float(p[j])) for j in largest(p, _TABLE_LABELS) if p[j] >= 0.005] for p in probabilities_of_labels
    ]
    labels_on_screen = [
        [(labels.short(j), float(p[j])) for j in largest(p, _SCREEN_LABELS)] for p in probabilities_of_labels
    ]
    topic_evidence = evidence.topics
    above = (
        None if topic_evidence is None else Section("labels_topics.html", {"evidence": evidence_parts(topic_evidence)})
    )
    topics = Table(
        "components",
        (
            Column("topic", range(size), kind="bold", meaning=_TOPIC),
            share_and_error[0],
            Column("words that set it apart", distinctive_words, kind="words", where="p",
                   tip="{:.1f} times as frequent as in all documents"),
            Column("labels", labels_on_page, short=".0%", kind="words", heading="Most probable labels", where="p"),
            *share_and_error[1:],
            Column("most probable labels", labels_on_screen, short=".0%", kind="words", where="s"),
        ),
        title="All topics",
        hint="The most frequent first. Words that set a topic apart are frequent in it, and more so than in other documents. "
        "Beside each label its probability in documents of the topic. topics.csv and labels.csv hold more of both.",
        caption=f"{count(size, 'topic')}, most frequent first" if printed else "",
        rest="topics.csv and labels.csv",
        above=above,
        place="topics",
        label="topic",
    )  # fmt: skip
    topic, word, of_words = _rank_columns(model.word_probabilities_, _FILE_WORDS, words)
    of_topic = [replace(column, values=[column.values[k] for k in topic], meaning="") for column in share_and_error]
    lift = Column("lift", of_words[-1].values / overall[word], ".4f")
    topic_of_label, label, of_labels = _rank_columns(probabilities_of_labels, _FILE_LABELS, labels)
    frequency = Column("share of all rows", model.label_frequencies_[label], ".8f")
    return (
        topics,
        Table("words", (Column("topic", topic), *of_topic, *of_words, lift), file="topics.csv"),
        Table("labels", (Column("topic", topic_of_label), *of_labels, frequency), file="labels.csv"),
    )


def _rank_columns(
    probabilities: np.ndarray, n_columns: int, names: Names
) -> tuple[np.ndarray, np.ndarray, tuple[Column, Column, Column]]:
    """Return the most probable columns of every row: rows, columns, and columns of the file."""
    best = np.array([largest(row, n_columns) for row in probabilities])
    row, column = np.repeat(np.arange(len(best)), best.shape[1]), best.ravel()
    rank = Column("rank", np.tile(np.arange(1, best.shape[1] + 1), len(best)))
    name_column = Column(names.kind, [names.short(label) for label in column])
    return row, column, (rank, name_column, Column("probability", probabilities[row, column], ".8f"))


def _telling_words(probabilities: np.ndarray, overall: np.ndarray, words: Names) -> list[tuple[str, float]]:
    """Return the distinctive words of a topic, frequent in it and more so than in all documents, with that factor."""
    lift = probabilities / overall
    gain = probabilities * np.log(np.maximum(lift, 1e-12))
    return [(words[w], float(lift[w])) for w in largest(gain, _TABLE_WORDS) if lift[w] > 1]


# --- labels ---------------------------------------------------------------------------------------------------------


def _label_space(model: Any, labels: Names, label_sets: Any) -> tuple[Figure, ...]:
    """Draw a heat map of the most frequent labels that occur together, with similar labels side by side."""
    if label_sets is None or (isinstance(label_sets, Blocks) and len(label_sets.shapes) < 2):
        return ()
    chosen = largest(model.label_frequencies_, _MAP_LABELS)
    blocks = [block[1] for block in label_sets] if isinstance(label_sets, Blocks) else [number_table(label_sets, "Y")]
    tables = [sparse.csr_array(block)[:, chosen].astype(np.float64) for block in blocks]
    together, n_rows = sum((table.T @ table).toarray() for table in tables), sum(table.shape[0] for table in tables)
    varying = np.flatnonzero((np.diag(together) > 0) & (np.diag(together) < n_rows))
    if len(varying) < 3:
        return ()
    correlations = _correlations(together[np.ix_(varying, varying)], n_rows)
    if not (np.triu(correlations, 1) > 0).any():
        return ()
    order = _order_neighbours(correlations)
    together = together[np.ix_(varying[order], varying[order])]
    names = [labels[label] for label in chosen[varying[order]]]
    shades = np.maximum(correlations[np.ix_(order, order)], 0)
    return (
        Figure(
            "label-space",
            heat_map(shades, names, names, hover=partial(_hover_of_pair, together, n_rows, names)),
            "Labels that go together",
            "Heat map of labels that go together; labels.csv holds the labels of every topic",
            f"The {len(names)} most frequent labels. The stronger the colour of a cell, the more often its two labels occur "
            "together; without colour they do so no more often than by chance. Similar labels are side by side, so that "
            "groups show as squares along the diagonal. Point at a cell for names and numbers.",
            shape="square-map",
            place="space",
        ),
    )


def _correlations(together: np.ndarray, n_rows: int) -> np.ndarray:
    """Compute correlations of labels from the number of rows with each two of them, (n, n)."""
    shares = together / n_rows
    about = shares - np.outer(np.diag(shares), np.diag(shares))
    spread = np.sqrt(np.diag(about))
    return about / np.outer(spread, spread)


def _order_neighbours(together: np.ndarray) -> np.ndarray:
    """Return an order in which labels that occur together (n, n) are side by side."""
    distances = np.clip(1 - (together + together.T) / 2, 0, None)
    np.fill_diagonal(distances, 0)
    return leaves_list(linkage(squareform(distances, checks=False), "average", optimal_ordering=True))


def _hover_of_pair(together: np.ndarray, n_rows: int, names: list[str], i: int, j: int) -> str:
    """Return the text of a cell of two labels, for the pointer."""
    n_together, n_first, n_second = int(together[i, j]), together[i, i], together[j, j]
    if i == j:
        return f"{shorten(names[i])}\n{count(n_together, 'document')}, {n_together / n_rows:.1%} of all"
    pair = f"{shorten(names[i])} and {shorten(names[j])}"
    if not n_together:
        return f"{pair}\nno document has both"
    ratio = n_together * n_rows / (n_first * n_second)
    return f"{pair}\n{count(n_together, 'document')} with both: {ratio:.1f} times as many as by chance"


# --- examples -------------------------------------------------------------------------------------------------------


class _Example(NamedTuple):
    """A row: its labels, the number of hidden ones, and predictions (label, probability, whether it has it, words)."""

    number: int
    labels: list[tuple[str, bool]]
    n_hidden: int
    predictions: list[tuple[str, float, bool, list[str]]]


def _examples(model: Any, X: Any, Y: Any, words: Names, labels: Names) -> list[_Example]:
    """Return rows at even distances among those with words and labels, their predictions, and the words behind these."""
    if isinstance(X, Blocks) and Y is not None:
        raise LatentiaError("X is blocks and Y a table; expected blocks of both. Use Blocks.from_array(X, Y).")
    if X is None or (Y is None and not isinstance(X, Blocks)):
        return []
    blocks = X if isinstance(X, Blocks) else Blocks.from_array(number_table(X), number_table(Y, "Y"))
    if len(blocks.shapes) < 2:
        return []
    complete_rows = np.concatenate([block.start + _find_complete_rows(block) for block in blocks])
    chosen = complete_rows[
        np.unique(
            np.linspace(0, max(len(complete_rows) - 1, 0), min(_N_EXAMPLES, len(complete_rows))).round().astype(int)
        )
    ]
    examples, named_model = [], copy.copy(model)
    named_model.vocabulary, named_model.label_names = words, labels
    for block in blocks:
        rows_of_block = chosen[(chosen >= block.start) & (chosen < block.start + len(block.rows))] - block.start
        if len(rows_of_block):
            rows, label_sets = (sparse.csr_array(part)[rows_of_block] for part in block[:2])
            explanations = named_model.explain(Blocks.from_array(rows), n_words=_EXAMPLE_WORDS)
            rows_with_labels = zip(
                block.rows[rows_of_block],
                np.split(label_sets.indices, label_sets.indptr[1:-1]),
                explanations,
                strict=True,
            )
            examples += [
                _example(int(row) + 1, np.sort(labels_of_row).tolist(), explanations_of_row, labels)
                for row, labels_of_row, explanations_of_row in rows_with_labels
            ]
    return examples


def _find_complete_rows(block: Any) -> np.ndarray:
    """Return the rows of a block that have words and labels."""
    filled = [np.diff(sparse.csr_array(part).indptr) > 0 for part in block[:2]]
    return np.flatnonzero(filled[0] & filled[1])


def _example(number: int, row_labels: list[int], explanations: list[Any], labels: Names) -> _Example:
    predicted_labels = {explanation.label for explanation in explanations}
    shown_labels = sorted(row_labels, key=lambda label: label not in predicted_labels)[:_EXAMPLE_LABELS]
    predictions = [
        (
            explanation.name,
            explanation.probability,
            explanation.label in row_labels,
            [w for w, value in explanation.words if value > 0],
        )
        for explanation in explanations
    ]
    return _Example(
        number,
        [(labels[explanation], explanation in predicted_labels) for explanation in shown_labels],
        len(row_labels) - len(shown_labels),
        predictions,
    )


# --- words about the whole ------------------------------------------------------------------------------------------


def _write_headline(model: Any) -> str:
    n_words, n_labels = len(model.word_frequencies_), len(model.label_frequencies_)
    per_row = float(model.label_frequencies_.sum())
    return (
        f"{count(n_labels, 'label')} of documents with {count(n_words, 'different word')}, "
        f"{per_row:.1f} labels a document on average; "
        f"{count(len(model.weights_), 'topic') if model.topics else 'no topics were asked for'}."
    )


def _sentence(model: Any, measures: Sequence[Mapping[str, Any]]) -> str:
    evidence, text = evidence_of(model), ""
    if evidence.topics is None:
        text = mean_error(
            evidence, "Expected error of a topic: {1:.2f} on average, where 0 is perfect and 2 is all wrong. "
        )
    first = {measure["name"]: measure["value"] for measure in measures}.get("precision@1", float("nan"))
    if np.isfinite(first):
        text += f"The first predicted label is right for {first:.0%} of the test rows."
    return text.strip()


def _reading(model: Any, measured: bool) -> tuple[tuple[str, str], ...]:
    """List the notes on the model."""
    linear, kinds = model.head_ != "bayes", "Two models in one" if model.topics else "The model"
    rare = next((check for check in model.evidence_.checks if check.name == "rare labels"), None)
    if rare is not None and str(rare.measured).startswith("0 "):
        rare = None
    probability = _CALIBRATED if linear else _ROUGH
    return (
        (kinds, _LINEAR + (_BESIDE if model.topics else "") if linear else _BY_TOPICS),
        *(() if rare is None else (("Rare labels", f"{rare.measured}. {rare.meaning}"),)),
        ("Probability", probability + ("; predictions.csv holds both." if measured else ".")),
        *((("Evidence: documents against topics, condition of M2, the theorem", _THEOREM),) if model.topics else ()),
    )


_LINEAR = "Labels are predicted by a linear model: each word of a document raises or lowers the score of a label."
_BESIDE = (
    " The topics are a second model of the same documents, which shows their subjects. The predictions do not use the "
    "topics."
)
_BY_TOPICS = (
    "The topics show the subjects of the documents and predict their labels: a document is assigned to topics by its "
    "words, and gets the labels of these topics."
)
_CALIBRATED = (
    "Labels are ranked by their scores. The probability is an increasing function of the score, fitted on held-out rows: "
    "about three in ten labels with a probability of 30% are right"
)
_ROUGH = (
    "Labels are ranked by their scores. The probability is an increasing function of the score between 0 and 1, and a rough "
    "guide to how often such a label is right"
)
_METRICS = (
    "Quality of the predictions for new rows. Precision and nDCG use the labels that are ranked first, the AUC the whole "
    "ranking. Precision@5 cannot be 1 where rows have fewer than five labels. Propensity-scored precision "
    "gives rare labels, which are harder and often missing in the data, more weight."
)
_TOPIC = (
    "A group of documents with similar words and labels. Its share is the share of documents that belong to it. A topic "
    "has a number, not a name: read its subject from its words."
)
_ERROR = (
    "The documents are split at random, and topics are learned again from each part. The change of a topic estimates how "
    "far it is from the truth. The error is the sum of the differences of its word probabilities: 0 is perfect, 2 means "
    "that no word is right. "
)
_THEOREM = (
    "K topics need at least K² documents. The condition compares the most visible topic with the faintest: near 1 is easy, "
    "and a larger value needs more documents. The sample size and the error of the theorem are guarantees for the worst "
    "case; in practice far fewer documents suffice."
)
