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
_EXAMPLES, _EXAMPLE_WORDS, _EXAMPLE_LABELS, _BARS = 10, 5, 12, 12


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
    """Say what a multi-label classifier learned, and how far it can be trusted.

    Parameters
    ----------
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
    tested : str
        On which rows these were measured.
    facts : sequence of (str, str), optional
        What to say in large figures: a text and its number.
    label_sets : table of shape (m, L), or Blocks with labels as their second part, optional
        Rows in which it is counted which labels go together; by default Y.

    Returns
    -------
    Summary

    """
    words = _names("word", vocabulary, model.word_names, len(model.word_frequencies_))
    labels = _names("label", label_names, model.names_of_labels, len(model.label_frequencies_))
    counted = (label_sets, Y, X if isinstance(X, Blocks) else None)
    examples = _examples(model, X, Y, words, labels)
    return Summary(
        says=_says(model),
        parts=(
            *((Section("labels_facts.html", {"facts": facts}),) if facts else ()),
            *((_metrics(measures, tested),) if measures else ()),
            *((Section("labels_examples.html", {"examples": examples}),) if examples else ()),
            *_label_space(model, labels, next((one for one in counted if one is not None), None)),
            *(_topics(model, words, labels, not measures) if model.topics else ()),
        ),
        answer=_answer(model, labels, measures),
        size=len(model.weights_) if model.topics else int(model.n_components),
        error=_sentence(model, measures),
        reading=_reading(model, bool(measures)),
        styles=("tables.css", "labels.css"),
    )


def _names(kind: str, given: Any, known: Any, width: int) -> Names:
    if isinstance(given, Names):
        return given
    names = known if given is None else given
    if names is not None and len(names) != width:
        raise LatentiaError(f"There are {len(names)} names of {kind}s and the model has {width}: they must agree.")
    return Names(kind, names)


# --- tables ---------------------------------------------------------------------------------------------------------


def _metrics(measures: Sequence[Mapping[str, Any]], tested: str) -> Table:
    names, values, plain, rows, meanings = (
        [one[name] for one in measures] for name in ("name", "value", "plain", "rows", "meaning")
    )
    samples = [f"{one['name']}: {one['meaning'].split('. ')[-1]}" for one in measures if "sample" in one["meaning"]]
    return Table(
        "metrics",
        (
            Column("metric", names, kind="name", term="Metrics", meaning=_METRICS),
            Column("value", values, _known, kind="meter", heading="This model"),
            Column("most frequent labels", [x if np.isfinite(x) else None for x in plain], ".4f", kind="meter"),
            Column("rows", rows, "", ","),
            Column("meaning", meanings, kind="text", where="pf"),
        ),
        title="How good the predictions are",
        hint="On rows that were not learned from; the higher the better. Beside it, for comparison: what the most frequent "
        "labels reach, given to every row alike.",
        file="metrics.csv",
        caption=tested,
        note="\n".join(samples),
        place="measures",
        label="measure",
    )  # fmt: skip


def _answer(model: Any, labels: Names, measures: Sequence[Mapping[str, Any]]) -> Answer:
    """How right the predictions are, where that was measured on test rows, and how frequent the labels are."""
    frequent = largest(model.label_frequencies_, _BARS)
    named = [f"{labels[label]} ({model.label_frequencies_[label]:.0%})" for label in frequent]
    many = (
        f"{count(len(model.label_frequencies_), 'label')}, {model.label_frequencies_.sum():.2g} a document on average"
    )
    words = f"{many}. The most frequent, with their shares of the documents: {listing(named)}."
    measured = [one for one in measures if np.isfinite(one["value"]) and np.isfinite(one["plain"])]
    if measured:
        ours, plain = (np.array([one[name] for one in measured]) for name in ("value", "plain"))
        data = dot_plot(
            [one["name"] for one in measured], {"this model": ours, "most frequent labels": plain}, None, title=""
        )
        told = "How good the predictions are", "On rows that were not learned from, the higher the better."
        label = "Dots of how good the predictions are; metrics.csv holds the numbers"
    else:
        names, shares = [labels[label] for label in frequent], model.label_frequencies_[frequent]
        data = horizontal_bars(names, shares, title="share of the documents")
        told, label = ("The labels", f"The {len(frequent)} most frequent labels."), "Bars of how frequent labels are"
    return Answer("Which labels does a new document get?", words, Figure("labels", data, told[0], label, told[1]))


def _known(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else ""


def _topics(model: Any, words: Names, labels: Names, printed: bool) -> tuple[Table, Table, Table]:
    """The topics; and of each, for files, the most probable words and labels."""
    evidence, size = evidence_of(model), len(model.weights_)
    means = _ERROR + grades_say(evidence, "a topic", "other documents of the same kind would give it other words")
    own = (
        Column("share", model.weights_, ".6f", kind="share"),
        *grade_columns(evidence, size, unit="l1 of 2", meaning=means),
    )
    overall = np.maximum(model.weights_ @ model.word_probabilities_, 1e-300)
    telling = [_telling_words(own_words, overall, words) for own_words in model.word_probabilities_]
    chances = model.label_probabilities_
    probable = [[(labels[j], float(p[j])) for j in largest(p, _TABLE_LABELS) if p[j] >= 0.005] for p in chances]
    listed = [[(labels.short(j), float(p[j])) for j in largest(p, _SCREEN_LABELS)] for p in chances]
    apart = evidence.topics
    above = None if apart is None else Section("labels_topics.html", {"evidence": evidence_parts(apart)})
    topics = Table(
        "components",
        (
            Column("topic", range(size), kind="bold", meaning=_TOPIC),
            own[0],
            Column("words that set it apart", telling, kind="words", where="p",
                   tip="{:.1f} times as frequent as in all documents"),
            Column("labels", probable, short=".0%", kind="words", heading="Most probable labels", where="p"),
            *own[1:],
            Column("most probable labels", listed, short=".0%", kind="words", where="s"),
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
    topic, word, of_words = _ranked(model.word_probabilities_, _FILE_WORDS, words)
    of_topic = [replace(one, values=[one.values[k] for k in topic], meaning="") for one in own]
    lift = Column("lift", of_words[-1].values / overall[word], ".4f")
    found, label, of_labels = _ranked(chances, _FILE_LABELS, labels)
    frequency = Column("share of all rows", model.label_frequencies_[label], ".8f")
    return (
        topics,
        Table("words", (Column("topic", topic), *of_topic, *of_words, lift), file="topics.csv"),
        Table("labels", (Column("topic", found), *of_labels, frequency), file="labels.csv"),
    )


def _ranked(
    probabilities: np.ndarray, most: int, names: Names
) -> tuple[np.ndarray, np.ndarray, tuple[Column, Column, Column]]:
    """Of the most probable columns of every row: row, column, and what files say of them."""
    best = np.array([largest(row, most) for row in probabilities])
    row, column = np.repeat(np.arange(len(best)), best.shape[1]), best.ravel()
    rank = Column("rank", np.tile(np.arange(1, best.shape[1] + 1), len(best)))
    named = Column(names.kind, [names.short(one) for one in column])
    return row, column, (rank, named, Column("probability", probabilities[row, column], ".8f"))


def _telling_words(probabilities: np.ndarray, overall: np.ndarray, words: Names) -> list[tuple[str, float]]:
    """The words that set a topic apart: frequent in it, and more so than in all documents; with that factor."""
    lift = probabilities / overall
    gain = probabilities * np.log(np.maximum(lift, 1e-12))
    return [(words[w], float(lift[w])) for w in largest(gain, _TABLE_WORDS) if lift[w] > 1]


# --- labels ---------------------------------------------------------------------------------------------------------


def _label_space(model: Any, labels: Names, label_sets: Any) -> tuple[Figure, ...]:
    """Which of the most frequent labels go together in rows, as a heat map in which alike ones stand side by side."""
    if label_sets is None or (isinstance(label_sets, Blocks) and len(label_sets.shapes) < 2):
        return ()
    chosen = largest(model.label_frequencies_, _MAP_LABELS)
    blocks = [block[1] for block in label_sets] if isinstance(label_sets, Blocks) else [number_table(label_sets, "Y")]
    tables = [sparse.csr_array(block)[:, chosen].astype(np.float64) for block in blocks]
    together, n_rows = sum((table.T @ table).toarray() for table in tables), sum(table.shape[0] for table in tables)
    seen = np.flatnonzero((np.diag(together) > 0) & (np.diag(together) < n_rows))
    if len(seen) < 3:
        return ()
    correlations = _correlations(together[np.ix_(seen, seen)], n_rows)
    if not (np.triu(correlations, 1) > 0).any():
        return ()
    alike = _neighbours_together(correlations)
    together = together[np.ix_(seen[alike], seen[alike])]
    names, shown = [labels[label] for label in chosen[seen[alike]]], np.maximum(correlations[np.ix_(alike, alike)], 0)
    return (
        Figure(
            "label-space",
            heat_map(shown, names, names, hover=partial(_pair, together, n_rows, names)),
            "Labels that go together",
            "Heat map of labels that go together; labels.csv holds the labels of every topic",
            f"The {len(names)} most frequent labels. The stronger the colour of a cell, the more its two labels are labels of "
            "the same documents; without colour they go together no more than chance would have it. Labels that are alike "
            "stand side by side, so that groups show as squares along the diagonal. Point at a cell for names and numbers.",
            shape="square-map",
            place="space",
        ),
    )


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
        return f"{shorten(names[i])}\n{count(both, 'document')}, {both / n_rows:.1%} of all"
    pair = f"{shorten(names[i])} and {shorten(names[j])}"
    if not both:
        return f"{pair}\nno document has both"
    times = both * n_rows / (own * other)
    return f"{pair}\n{count(both, 'document')} with both: {times:.1f} times as many as by chance"


# --- examples -------------------------------------------------------------------------------------------------------


class _Example(NamedTuple):
    """A row: its labels, how many are not shown, and the predictions (label, probability, whether it has it, words)."""

    number: int
    labels: list[tuple[str, bool]]
    more: int
    predictions: list[tuple[str, float, bool, list[str]]]


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
    chosen = found[np.unique(np.linspace(0, max(len(found) - 1, 0), min(_EXAMPLES, len(found))).round().astype(int))]
    examples, named = [], copy.copy(model)
    named.vocabulary, named.label_names = words, labels
    for block in blocks:
        own = chosen[(chosen >= block.start) & (chosen < block.start + len(block.rows))] - block.start
        if len(own):
            rows, sets = (sparse.csr_array(part)[own] for part in block[:2])
            told = named.explain(Blocks.from_array(rows), n_words=_EXAMPLE_WORDS)
            each = zip(block.rows[own], np.split(sets.indices, sets.indptr[1:-1]), told, strict=True)
            examples += [_example(int(row) + 1, np.sort(of_row).tolist(), one, labels) for row, of_row, one in each]
    return examples


def _filled(block: Any) -> np.ndarray:
    """Rows of a block that have words and labels."""
    filled = [np.diff(sparse.csr_array(part).indptr) > 0 for part in block[:2]]
    return np.flatnonzero(filled[0] & filled[1])


def _example(number: int, own: list[int], told: list[Any], labels: Names) -> _Example:
    guessed = {one.label for one in told}
    shown = sorted(own, key=lambda label: label not in guessed)[:_EXAMPLE_LABELS]
    predictions = [(e.name, e.probability, e.label in own, [w for w, value in e.words if value > 0]) for e in told]
    return _Example(number, [(labels[one], one in guessed) for one in shown], len(own) - len(shown), predictions)


# --- words about the whole ------------------------------------------------------------------------------------------


def _says(model: Any) -> str:
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
        text += f"The first label that is predicted is right for {first:.0%} of the rows tested on."
    return text.strip()


def _reading(model: Any, measured: bool) -> tuple[tuple[str, str], ...]:
    """What is said of the model itself."""
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


_LINEAR = (
    "Labels are predicted by a linear model: each word of a document adds to the score of a label or takes from it."
)
_BESIDE = (
    " The topics are a second model of the same documents, which shows what they are about. The predictions do not use the "
    "topics."
)
_BY_TOPICS = (
    "The topics both show what the documents are about and predict their labels: a document is assigned to topics by its "
    "words, and gets the labels of these."
)
_CALIBRATED = (
    "Labels are ranked by their scores. The probability is an increasing function of the score, fitted on rows that had no "
    "part in their own scores: of many labels with a probability of 30% about three in ten are right"
)
_ROUGH = (
    "Labels are ranked by their scores. The probability is an increasing function of the score between 0 and 1, and a rough "
    "guide to how often such a label is right"
)
_METRICS = (
    "They say how good the predictions are for new rows. Precision and nDCG look at the labels that are ranked first, the "
    "AUC at the whole ranking. Precision@5 cannot be 1 where rows have fewer than five labels. Propensity-scored precision "
    "gives rare labels, which are harder and often missing in the data, more weight."
)
_TOPIC = (
    "A group of documents with similar words and labels. Its share is how many documents belong to it. A topic has a "
    "number, not a name: what it is about is for the reader to say."
)
_ERROR = (
    "The documents are split at random, and topics are learned from the parts anew. How far a topic moves says how far it "
    "may be from the truth. The error is the sum of the differences of its word probabilities: 0 is perfect, 2 means that "
    "no word is right. "
)
_THEOREM = (
    "K topics need at least K² documents. The condition says how much better the best visible topic shows than the "
    "faintest: near 1 is easy, and the larger it is the more documents are needed. The sample size and the error of the "
    "theorem are guarantees for the worst case; the method works with far fewer documents than they ask for."
)
