"""What the theorem of multi-label learning by moments assumes, measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..evidence import (
    Check,
    Evidence,
    Misfit,
    PartErrors,
    TensorMeasured,
    WhitenedMoments,
    above,
    at_least,
    between,
    bounds,
    convergence_checks,
    error_checks,
    misfit_of_tensor,
    separation_limit,
    spread_of_documents,
    tensor_checks,
    trivial_checks,
    whiten_noise,
)
from ..likelihood import Refinement
from ..passes import sample_rows
from ..simplex import distributions
from ..tensor import apply_to_modes
from ._choice import Chosen
from ._documents import Documents
from ._held_out import RARE, HeldOut
from ._likelihood import log_probabilities, topic_rows
from ._topics import SMOOTHING, Recovered, Topics
from .moments import LabelledSums

_TRUSTED = 0.4
_DELTA = 0.05
_MOST_MISFIT = 3.0  # moments without a diagonal are completed by the fit, which leaves more than noise
_CLEARLY = 2.0  # times the noise, which halves understate: they share the coordinates
_FARTHEST = 2.0
_DEVIATIONS = 2.0  # of a gain that do not count
_SURELY = 3.0  # of the gain of a head that was chosen on the same rows
_FEWEST_TOLD = 20  # predictions of rare labels, of fewer of which nothing is said
_WHAT = {
    "ridge": "ridge regression on supervised directions", "full": "ridge regression on all words",
    "logistic": "logistic regression",
}  # fmt: skip


def weigh_evidence(
    model: Any,
    documents: Documents,
    found: Recovered,
    chosen: Chosen | None,
    refinement: Refinement,
    parts: PartErrors,
    half: Topics | None,
) -> Evidence:
    """The evidence of a fitted `MomentMultiLabelClassifier`, of its predictions where these do not use the topics.

    ``half`` are topics of the first half of the documents.
    """
    words, seen = model.word_probabilities_, documents.seen
    some = words if found.parts is None else words[:, found.parts.words]  # of millions the frequent ones
    limit = separation_limit(_rows_of_sum_one(some), "cityblock", _TRUSTED)
    parts, goodness = _goodness(model, documents, found, parts, half, limit)
    checks = error_checks(
        parts,
        limit,
        "mean |mu_k - mu'_k|_1",
        "0 is exact, 2 is all wrong",
        "topic",
        n_rows=seen.n_rows,
    )
    checks += [*goodness, *convergence_checks(refinement)]
    checks += [*_sizes(model, seen), *_theorem(model, seen), *_tensor(model, found), *_weights(model, found)]
    topics = Evidence([*checks, *_rows(seen)], parts.errors, "the topics" if parts.errors is None else "")
    if chosen is None:
        return topics
    return replace(evidence_of_head(model, documents, chosen), component_errors=parts.errors, topics=topics)


def evidence_of_head(model: Any, documents: Documents, chosen: Chosen) -> Evidence:
    """The evidence of the predictions of a linear head."""
    without = Check(
        "topics", "K", "none asked for", None,
        f"With topics=False K = {model.n_components} is a number of directions, and nothing else is learned of the words.", "",
    )  # fmt: skip
    lines = [*_head(chosen), *([] if model.topics else [without]), *_rows(documents.seen)]
    return Evidence(lines, subject=_predictions(chosen.held))


def _predictions(held: HeldOut | None) -> str:
    """What the verdict is on."""
    if held is None:
        return "the predictions"
    return (
        f"the predictions: the first label is right for {held.first:.0%} of {held.n_rows:,} rows {held.how} (the most "
        f"frequent label: {held.frequent:.0%})"
    )


# --- whether documents are what the model says ----------------------------------------------------------------------


def _goodness(
    model: Any, documents: Documents, found: Recovered, parts: PartErrors, half: Topics | None, limit: float
) -> tuple[PartErrors, list[Check]]:
    """Errors widened by how far documents of a topic differ, and the lines on whether the model holds.

    Some documents of the second half say how far they differ, and whether topics of the first half predict them.
    """
    if found.parts is None or half is None:
        return parts, []
    folds, words = found.parts.folds, found.parts.words
    frequencies = documents.word_frequencies[words]
    learned, other = (sample_rows(documents.blocks.group(groups, folds))[:2] for groups in folds.splits[0])
    rows = other[0][:, words]
    overall = found.parts.overall if documents.occurrences else found.parts.overall / found.parts.overall.sum()
    trivial = trivial_checks(
        *_against_one_topic(rows, half, overall, documents.occurrences), extra=0, n_rows=documents.seen.n_rows,
        against="word frequencies", unit="document", deviations=_DEVIATIONS,
    )  # fmt: skip
    if model.head == "bayes":
        given = [_log_rows(one[:, words], half, overall, documents.occurrences)[0] for one in (learned[0], other[0])]
        trivial += trivial_checks(
            *_of_labels(given[0], learned[1], given[1], other[1]), extra=0, n_rows=documents.seen.n_rows,
            against="label frequencies", unit="document", deviations=_DEVIATIONS,
        )  # fmt: skip
    # Moments, and documents of the same topic.
    misfit, topics = _misfit(found), Topics(model.word_probabilities_[:, words], half.labels, model.weights_)
    posterior, _ = _log_rows(rows, topics, overall, documents.occurrences)
    spread = spread_of_documents(
        rows, posterior, topics.words, frequencies, _directions(found, frequencies), counts=not documents.occurrences
    )
    bias = spread.bias(parts.errors, model.weights_)
    lines = [*misfit.checks(_MOST_MISFIT, "topics"), *spread.checks(bias, limit), *trivial]
    return parts.widen(np.full(len(topics.words), bias), _FARTHEST), lines


def posterior_of(documents: Documents, parts: Any, topics: Topics) -> np.ndarray:
    """Probabilities of topics of frequent words in some documents, shape (n, K)."""
    rows = sample_rows(documents.blocks)[0][:, parts.words]
    overall = parts.overall if documents.occurrences else parts.overall / parts.overall.sum()
    return _log_rows(rows, topics, overall, documents.occurrences)[0]


def _against_one_topic(
    rows: Any, topics: Topics, overall: np.ndarray, occurrences: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihoods of documents under topics and under one topic.

    Of the words that are present and absent and, for occurrences, also of those that are present given how many: topics that
    tell only long documents from short ones gain nothing in these. Whichever gains less.
    """
    one = Topics(overall[None], topics.labels[:1], np.ones(1))
    found = [
        (_log_rows(rows, topics, overall, as_occurrences)[1], _log_rows(rows, one, overall, as_occurrences)[1])
        for as_occurrences in ({occurrences, False})
    ]
    return min(found, key=lambda pair: float(np.mean(pair[0] - pair[1])))


def _of_labels(posterior: np.ndarray, labels: Any, other: np.ndarray, held_out: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean log-probability of the labels of documents that are held out, as draws by topic and by frequency.

    Posteriors (n, K) and labels (n, L) of some documents tell the labels of the topics, and those of others test them.
    """
    labels, held_out = sparse.csr_array(labels), sparse.csr_array(held_out)
    frequency = np.asarray(labels.sum(axis=0)).ravel() + 1.0
    frequency /= frequency.sum()
    by_topic = labels.T @ posterior + frequency[:, None]  # as many as one label more a topic
    by_topic /= by_topic.sum(axis=0)
    documents, places = held_out.nonzero()
    chance = np.einsum("ik,ik->i", other[documents], by_topic[places])
    counts = np.bincount(documents, minlength=len(other))

    def means(chances: np.ndarray) -> np.ndarray:
        return np.bincount(documents, np.log(chances), len(other))[counts > 0] / counts[counts > 0]

    return means(chance), means(frequency[places])


def _log_rows(rows: Any, topics: Topics, overall: np.ndarray, occurrences: bool) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors and log-likelihoods of documents of frequent words."""
    words = topics.words
    if not occurrences:
        overall = overall / overall.sum()
        words = distributions(words, overall)
    model = log_probabilities(words, topics.weights, occurrences=occurrences, share=SMOOTHING, overall=overall)
    return topic_rows(rows, model)


def _misfit(found: Recovered) -> Misfit:
    """Of the decomposition, from the halves' moments."""
    assert found.parts is not None
    fit, parts = found.decomposition, found.parts
    if fit is None:
        return Misfit()

    def whitened(groups: tuple[int, ...]) -> WhitenedMoments:
        part, matrix = parts.of(groups), fit.whitening.matrix
        return WhitenedMoments(matrix.T @ part.second @ matrix, apply_to_modes(part.third, matrix))

    halves = [(whitened(first), whitened(second)) for first, second in parts.folds.splits[:1]]
    return misfit_of_tensor(fit.tensor, fit.weights, fit.vectors, halves)


def _directions(found: Recovered, frequencies: np.ndarray) -> np.ndarray:
    """Directions of words that clearly go together more than noise does, (F, r), where the topics span fewer."""
    assert found.parts is not None
    parts = found.parts
    first, second = (parts.of(half).second for half in parts.folds.splits[0])
    values, vectors = np.linalg.eigh(parts.of(parts.folds.all).second)
    rank = int((values > _CLEARLY * np.linalg.norm(first - second, 2) / 2).sum())
    further = vectors[:, ::-1][:, : rank if rank > len(found.weights) else 0]
    return np.sqrt(frequencies)[:, None] * (parts.moments.coordinates @ further)


def _sizes(model: Any, seen: LabelledSums) -> list[Check]:
    square = model.n_components**2
    return [
        Check(
            "documents against topics", "N", float(seen.n_rows), at_least(square, "K^2"),
            "With fewer the moments of words cannot carry K topics.", "section 6",
        )
    ]  # fmt: skip


def _theorem(model: Any, seen: LabelledSums) -> list[Check]:
    """Theorem 1 at the fitted parameters: eigenvalues of M_2 = sum_k pi_k mu_k mu_k^T with mu_k of sum one."""
    words = model.word_probabilities_
    scale = np.sqrt(model.weights_) / words.sum(axis=1)
    spectrum = np.maximum(np.linalg.eigvalsh(words @ words.T * np.outer(scale, scale))[::-1], 0)
    largest, smallest = float(spectrum[0]), float(spectrum[-1])
    condition = largest / smallest if smallest > 0 else float("inf")
    lines = [
        Check(
            "condition of M2", "sigma_1 / sigma_K", condition, None,
            "How unequally pairs of words speak of the topics; errors grow with its power 2.5.", "Theorem 1",
        )
    ]  # fmt: skip
    _, pairs, triples, labelled = np.maximum(seen.powers / seen.n_rows, np.finfo(float).tiny)
    if not smallest > 1e-9 * largest or labelled <= 0:
        return lines
    known = {"smallest": smallest, "pairs": pairs, "triples": triples, "delta": _DELTA, "longest": seen.longest}
    imbalance = float(model.weights_[0] / max(model.weights_[-1], np.finfo(float).tiny))
    needed = bounds.multilabel_documents(model.n_components, imbalance=imbalance, **known)
    errors = bounds.multilabel_errors(seen.n_rows, largest=largest, labelled_pairs=labelled, **known)
    return [
        *lines,
        Check(
            "sample size of the theorem", "max(n_1, n_2, n_3)", float(seen.n_rows), at_least(needed),
            "Documents for the guarantee, with constants of one. It works far below.", "Theorem 1",
        ),
        Check(
            "error that is promised", "|mu_k - mu'_k|_2", errors.words, None,
            f"The theorem's bound at this N, with probability 0.95 (labels {errors.labels:.2g}, weights {errors.weight:.2g}). "
            "Above one it promises nothing.", "Theorem 1",
        ),
    ]  # fmt: skip


def _tensor(model: Any, found: Recovered) -> list[Check]:
    parts, fit = found.parts, found.decomposition
    if parts is None or fit is None or not parts.folds.splits or model.n_components == 1:
        return []
    first, second = (parts.of(half) for half in parts.folds.splits[0])
    measured = TensorMeasured(
        spectrum=found.spectrum, weights=found.weights, residual=found.info.residual, stable=found.info.stable,
        samples=int(parts.sums.documents[:, 2].sum()),
        noise=whiten_noise(fit.whitening.matrix, (first.second, first.third), (second.second, second.third)),
    )  # fmt: skip
    skipped = ("sample size of the theorem",)  # Theorem 1 has its own
    return [check for check in tensor_checks(measured) if check.name not in skipped]


def _weights(model: Any, found: Recovered) -> list[Check]:
    if found.parts is None:
        return []
    return [
        Check(
            "sum of the weights", "sum_k pi_k", found.total, between(0.8, 1.2),
            "Before they are divided by it. Far from one: documents differ in length more than their topics say, or are no "
            "mixture of K topics.", "section 2.1",
        )
    ]  # fmt: skip


def _head(chosen: Chosen) -> list[Check]:
    """Lines on a linear head."""
    head, held = chosen.head, chosen.held
    what = _WHAT[head.kind]
    if head.kind == "logistic":
        what += " on all words" if head.features is None else " on supervised directions"
    compared = f" Compared by held-out precision and AUC: {chosen.text}." if chosen.text else ""
    lines = [Check("head", "", what, None, f"The head that predicts labels.{compared}", "not in the paper")]
    lines += _ranking(held)
    if held is not None:
        lines += [_first(held), _rare(held)]
    if head.explained is not None:
        lines += [
            Check(
                "explained by the head", "1 - GCV / variance", head.explained, None,
                "Share of the label sets' variance that the ridge head predicts for new rows (generalised cross-validation).",
                "not in the paper",
            )
        ]  # fmt: skip
    return lines


def _ranking(held: HeldOut | None) -> list[Check]:
    """Whether labels are ranked better than by their frequencies, and as well as naive Bayes does."""
    name, symbol = "better than label frequencies", "mean of precision@1, 3, 5 and AUC"
    if held is None:
        meaning, remedy = "The rows are too few to hold some of them out.", "Measure predictions on other rows."
        return [Check(name, symbol, None, above(0), meaning, "not in the paper", "verdict", remedy)]
    plain, bayes = held.over_frequencies, held.over_bayes
    ours = f"M{symbol[1:]} on {held.n_rows:,} rows {held.how}: {plain.value:.3f}"
    lines = [
        Check(
            name, symbol, plain.mean - _SURELY * plain.error, above(0),
            f"{ours}, and {plain.simple:.3f} for labels in the order of their frequencies. Measured is the gain, less three "
            "standard errors.",
            "not in the paper", "verdict", "The words predict no better than label frequencies: do not use the predictions.",
        )
    ]  # fmt: skip
    if bayes is None:
        return lines
    return [
        *lines,
        Check(
            "as good as naive Bayes", symbol, bayes.mean + _DEVIATIONS * bayes.error, at_least(0),
            f"{ours}, and {bayes.simple:.3f} for naive Bayes. Measured is the gain, plus two standard errors.",
            "not in the paper", "caution",
            "Naive Bayes of the same words ranks labels better: try another head, or n_components.",
        ),
    ]  # fmt: skip


def _first(held: HeldOut) -> Check:
    auc = f", and the document-averaged AUC is {held.auc:.3f}" if np.isfinite(held.auc) else ""
    return Check(
        "first label is right", "precision@1", held.first, None,
        f"Of {held.n_rows:,} rows, {held.how}; of the first five labels {held.first_five:.3f} are{auc}.", "not in the paper",
    )  # fmt: skip


def _rare(held: HeldOut) -> Check:
    """Labels of which there is little to learn and to judge by."""
    told = "" if not held.n_rare else (
        f" Among the first five they are right {held.rare_right} of {held.rare_told} times on these rows."
        if held.rare_told >= _FEWEST_TOLD
        else " They are so seldom among the first five on these rows that their precision cannot be judged."
    )  # fmt: skip
    return Check(
        "rare labels", f"n_l < {RARE}", f"{held.n_rare} of {held.n_labels}", None,
        f"Labels of fewer than {RARE} rows that were learned from.{told}", "",
    )  # fmt: skip


def _rows(seen: LabelledSums) -> list[Check]:
    return [
        Check(
            "rows without words, without labels", "n", f"{seen.n_empty}, {seen.n_unlabelled}", None,
            f"Of {seen.n_rows} rows. They are kept: empty label sets are label sets.", "",
        )
    ]  # fmt: skip


def _rows_of_sum_one(words: np.ndarray) -> np.ndarray:
    return words / words.sum(axis=1, keepdims=True)
