"""Evidence on predictions and topics of multi-label learning."""

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
from ..evidence.limits import MANY_STANDARD_ERRORS, MAX_L1_ERROR, NOISE_RATIO, STANDARD_ERRORS
from ..likelihood import Refinement
from ..linalg.ratios import ratio_of
from ..passes import sample_rows
from ..simplex import distributions
from ..tensor import apply_to_modes
from ._choice import Chosen
from ._documents import Documents
from ._held_out import RARE, Assessment
from ._likelihood import log_probabilities, topic_rows
from ._topics import SMOOTHING, Recovered, Topics
from .moments import DocumentCounts

_DELTA = 0.05  # probability that the theorem's bound fails
_MAX_MISFIT = 3.0  # residual in units of the noise; the completed diagonal leaves more than noise
_MAX_DISTANCE = 2.0  # largest l1 distance
_MIN_RARE_PREDICTIONS = 20  # fewer predictions of rare labels cannot be judged
_HEAD_NAMES = {
    "ridge": "ridge regression on supervised directions", "full": "ridge regression on all words",
    "logistic": "logistic regression",
}  # fmt: skip


def weigh_evidence(
    model: Any,
    documents: Documents,
    recovered: Recovered,
    chosen: Chosen | None,
    refinement: Refinement,
    parts: PartErrors,
    first_half_topics: Topics | None,
) -> Evidence:
    """Weigh the evidence on a fitted `MomentMultiLabelClassifier`: on its predictions if these do not use the topics.

    ``first_half_topics`` are topics of the first half of the documents.
    """
    words, counts = model.word_probabilities_, documents.counts
    # There may be millions of words: judge the frequent ones.
    judged_words = words if recovered.parts is None else words[:, recovered.parts.words]
    limit = separation_limit(_rows_of_sum_one(judged_words), "cityblock", MAX_L1_ERROR)
    parts, goodness = _goodness(model, documents, recovered, parts, first_half_topics, limit)
    checks = error_checks(
        parts,
        limit,
        "mean |mu_k - mu'_k|_1",
        "0 is exact, 2 is all wrong",
        "topic",
        n_rows=counts.n_rows,
    )
    checks += [*goodness, *convergence_checks(refinement)]
    checks += [
        *_sizes(model, counts),
        *_theorem(model, counts),
        *_tensor(model, recovered),
        *_weights(model, recovered),
    ]
    topics = Evidence([*checks, *_rows(counts)], parts.errors, "the topics" if parts.errors is None else "")
    if chosen is None:
        return topics
    return replace(evidence_of_head(model, documents, chosen), component_errors=parts.errors, topics=topics)


def evidence_of_head(model: Any, documents: Documents, chosen: Chosen) -> Evidence:
    """Return the evidence on the predictions of a linear head."""
    line_on_topics = Check(
        "topics", "K", "none asked for", None,
        f"With topics=False, K = {model.n_components} is only a number of directions.", "",
    )  # fmt: skip
    lines = [*_head(chosen), *([] if model.topics else [line_on_topics]), *_rows(documents.counts)]
    return Evidence(lines, subject=_predictions(chosen.assessment))


def _predictions(held_out: Assessment | None) -> str:
    """Describe what the verdict is on."""
    if held_out is None:
        return "the predictions"
    return (
        f"the predictions: the first label is right for {held_out.first:.0%} of {held_out.n_rows:,} rows "
        f"{held_out.description} (the most frequent label: {held_out.frequent:.0%})"
    )


# --- goodness of fit of documents ----------------------------------------------------------------------------------


def _goodness(
    model: Any,
    documents: Documents,
    recovered: Recovered,
    parts: PartErrors,
    first_half_topics: Topics | None,
    limit: float,
) -> tuple[PartErrors, list[Check]]:
    """Widen errors by the spread of documents within a topic, and list the lines on goodness of fit.

    Some documents of the second half show the spread, and whether topics of the first half predict them.
    """
    if recovered.parts is None or first_half_topics is None:
        return parts, []
    folds, words = recovered.parts.folds, recovered.parts.words
    frequencies = documents.word_frequencies[words]
    first_half, second_half = (sample_rows(documents.blocks.group(groups, folds))[:2] for groups in folds.splits[0])
    rows = second_half[0][:, words]
    overall = (
        recovered.parts.overall if documents.occurrences else recovered.parts.overall / recovered.parts.overall.sum()
    )
    trivial = trivial_checks(
        *_against_one_topic(rows, first_half_topics, overall, documents.occurrences), extra=0, n_rows=documents.counts.n_rows,
        against="word frequencies", unit="document", deviations=STANDARD_ERRORS,
    )  # fmt: skip
    if model.head == "bayes":
        posteriors = [
            _log_rows(documents_of_half[:, words], first_half_topics, overall, documents.occurrences)[0]
            for documents_of_half in (first_half[0], second_half[0])
        ]
        trivial += trivial_checks(
            *_compare_labels(posteriors[0], first_half[1], posteriors[1], second_half[1]), extra=0,
            n_rows=documents.counts.n_rows, against="label frequencies", unit="document", deviations=STANDARD_ERRORS,
        )  # fmt: skip
    # Fit of moments, and spread of documents of the same topic.
    misfit = _misfit(recovered)
    topics = Topics(model.word_probabilities_[:, words], first_half_topics.labels, model.weights_)
    posterior, _ = _log_rows(rows, topics, overall, documents.occurrences)
    spread = spread_of_documents(
        rows,
        posterior,
        topics.words,
        frequencies,
        _directions(recovered, frequencies),
        counts=not documents.occurrences,
    )
    bias = spread.bias(parts.errors, model.weights_)
    lines = [*misfit.checks(_MAX_MISFIT, "topics"), *spread.checks(bias, limit), *trivial]
    return parts.widen(np.full(len(topics.words), bias), _MAX_DISTANCE), lines


def posterior_of(documents: Documents, parts: Any, topics: Topics) -> np.ndarray:
    """Compute probabilities of topics of frequent words in some documents, shape (n, K)."""
    rows = sample_rows(documents.blocks)[0][:, parts.words]
    overall = parts.overall if documents.occurrences else parts.overall / parts.overall.sum()
    return _log_rows(rows, topics, overall, documents.occurrences)[0]


def _against_one_topic(
    rows: Any, topics: Topics, overall: np.ndarray, occurrences: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return log-likelihoods of documents under topics and under one topic.

    They are those of present and absent words; for occurrences, or those of present words given their number, if they gain
    less: topics that only separate long documents from short ones gain nothing there.
    """
    single = Topics(overall[None], topics.labels[:1], np.ones(1))
    pairs = [
        (_log_rows(rows, topics, overall, as_occurrences)[1], _log_rows(rows, single, overall, as_occurrences)[1])
        for as_occurrences in ({occurrences, False})
    ]
    return min(pairs, key=lambda pair: float(np.mean(pair[0] - pair[1])))


def _compare_labels(
    posterior: np.ndarray, labels: Any, test_posterior: np.ndarray, test_labels: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean log-probabilities of the labels of held-out documents, as draws by topic and by frequency.

    Posteriors (n, K) and labels (n, L) of training documents give the labels of topics; those of test documents test them.
    """
    labels, test_labels = sparse.csr_array(labels), sparse.csr_array(test_labels)
    frequency = np.asarray(labels.sum(axis=0)).ravel() + 1.0
    frequency /= frequency.sum()
    by_topic = labels.T @ posterior + frequency[:, None]  # one pseudo-label for each topic
    by_topic /= by_topic.sum(axis=0)
    documents, places = test_labels.nonzero()
    chance = np.einsum("ik,ik->i", test_posterior[documents], by_topic[places])
    counts = np.bincount(documents, minlength=len(test_posterior))

    def means(chances: np.ndarray) -> np.ndarray:
        return np.bincount(documents, np.log(chances), len(test_posterior))[counts > 0] / counts[counts > 0]

    return means(chance), means(frequency[places])


def _log_rows(rows: Any, topics: Topics, overall: np.ndarray, occurrences: bool) -> tuple[np.ndarray, np.ndarray]:
    """Compute posteriors and log-likelihoods of documents of frequent words."""
    words = topics.words
    if not occurrences:
        overall = overall / overall.sum()
        words = distributions(words, overall)
    model = log_probabilities(words, topics.weights, occurrences=occurrences, share=SMOOTHING, overall=overall)
    return topic_rows(rows, model)


def _misfit(recovered: Recovered) -> Misfit:
    """Compute the misfit of the decomposition from the moments of halves."""
    assert recovered.parts is not None
    fit, parts = recovered.decomposition, recovered.parts
    if fit is None:
        return Misfit()

    def whiten(groups: tuple[int, ...]) -> WhitenedMoments:
        part, matrix = parts.combine(groups), fit.whitening.matrix
        return WhitenedMoments(matrix.T @ part.second @ matrix, apply_to_modes(part.third, matrix))

    halves = [(whiten(first), whiten(second)) for first, second in parts.folds.splits[:1]]
    return misfit_of_tensor(fit.tensor, fit.weights, fit.vectors, halves)


def _directions(recovered: Recovered, frequencies: np.ndarray) -> np.ndarray:
    """Return directions of words clearly above the noise, (F, r), if these are more than the topics span."""
    assert recovered.parts is not None
    parts = recovered.parts
    first, second = (parts.combine(half).second for half in parts.folds.splits[0])
    values, vectors = np.linalg.eigh(parts.combine(parts.folds.all).second)
    rank = int((values > NOISE_RATIO * np.linalg.norm(first - second, 2) / 2).sum())
    further = vectors[:, ::-1][:, : rank if rank > len(recovered.weights) else 0]
    return np.sqrt(frequencies)[:, None] * (parts.moments.coordinates @ further)


def _sizes(model: Any, counts: DocumentCounts) -> list[Check]:
    square = model.n_components**2
    return [
        Check(
            "documents against topics", "N", float(counts.n_rows), at_least(square, "K^2"),
            "With fewer documents, moments of words cannot carry K topics.", "section 6",
        )
    ]  # fmt: skip


def _theorem(model: Any, counts: DocumentCounts) -> list[Check]:
    """Evaluate Theorem 1 at the fitted parameters: eigenvalues of M_2 = sum_k pi_k mu_k mu_k^T with mu_k of sum one."""
    words = model.word_probabilities_
    scale = np.sqrt(model.weights_) / words.sum(axis=1)
    spectrum = np.maximum(np.linalg.eigvalsh(words @ words.T * np.outer(scale, scale))[::-1], 0)
    largest, smallest = float(spectrum[0]), float(spectrum[-1])
    condition = largest / smallest if smallest > 0 else float("inf")
    lines = [
        Check(
            "condition of M2", "sigma_1 / sigma_K", condition, None,
            "How unequally pairs of words show the topics; errors grow with its power 2.5.", "Theorem 1",
        )
    ]  # fmt: skip
    _, pairs, triples, labelled = np.maximum(counts.powers / counts.n_rows, np.finfo(float).tiny)
    if not smallest > 1e-9 * largest or labelled <= 0:
        return lines
    arguments = {"smallest": smallest, "pairs": pairs, "triples": triples, "delta": _DELTA, "longest": counts.longest}
    imbalance = float(ratio_of(model.weights_[0], model.weights_[-1]))
    needed = bounds.multilabel_documents(model.n_components, imbalance=imbalance, **arguments)
    errors = bounds.multilabel_errors(counts.n_rows, largest=largest, labelled_pairs=labelled, **arguments)
    return [
        *lines,
        Check(
            "sample size of the theorem", "max(n_1, n_2, n_3)", float(counts.n_rows), at_least(needed),
            "Documents for the guarantee, with constants of one. In practice far fewer suffice.", "Theorem 1",
        ),
        Check(
            "error that is promised", "|mu_k - mu'_k|_2", errors.words, None,
            f"The theorem's bound at this N, with probability 0.95 (labels {errors.labels:.2g}, weights {errors.weight:.2g}). "
            "Above one it promises nothing.", "Theorem 1",
        ),
    ]  # fmt: skip


def _tensor(model: Any, recovered: Recovered) -> list[Check]:
    parts, fit = recovered.parts, recovered.decomposition
    if parts is None or fit is None or not parts.folds.splits or model.n_components == 1:
        return []
    first, second = (parts.combine(half) for half in parts.folds.splits[0])
    measured = TensorMeasured(
        spectrum=recovered.spectrum, weights=recovered.weights, residual=recovered.info.residual, stable=recovered.info.stable,
        samples=int(parts.sums.documents[:, 2].sum()),
        noise=whiten_noise(fit.whitening.matrix, (first.second, first.third), (second.second, second.third)),
    )  # fmt: skip
    skipped = ("sample size of the theorem",)  # Theorem 1 has its own
    return [check for check in tensor_checks(measured) if check.name not in skipped]


def _weights(model: Any, recovered: Recovered) -> list[Check]:
    if recovered.parts is None:
        return []
    return [
        Check(
            "sum of the weights", "sum_k pi_k", recovered.total, between(0.8, 1.2),
            "Sum before normalisation. Far from one, documents differ in length more than their topics explain, or are no "
            "mixture of K topics.", "section 2.1",
        )
    ]  # fmt: skip


def _head(chosen: Chosen) -> list[Check]:
    """List the lines on a linear head."""
    head, held_out = chosen.head, chosen.assessment
    head_name = _HEAD_NAMES[head.kind]
    if head.kind == "logistic":
        head_name += " on all words" if head.features is None else " on supervised directions"
    compared = f" Compared by held-out precision and AUC: {chosen.text}." if chosen.text else ""
    lines = [Check("head", "", head_name, None, f"The head that predicts labels.{compared}", "not in the paper")]
    lines += _ranking(held_out)
    if held_out is not None:
        lines += [_first(held_out), _rare(held_out)]
    if head.explained is not None:
        lines += [
            Check(
                "explained by the head", "1 - GCV / variance", head.explained, None,
                "Share of the label sets' variance that the ridge head predicts for new rows (generalised cross-validation).",
                "not in the paper",
            )
        ]  # fmt: skip
    return lines


def _ranking(held_out: Assessment | None) -> list[Check]:
    """List the lines on rankings of labels against their frequencies and against naive Bayes."""
    symbol, reached, gain = "mean of precision@1, 3, 5 and AUC", "", None
    meaning, remedy = "There are too few rows to hold some of them out.", "Measure predictions on other rows."
    if held_out is not None:
        over = held_out.over_frequencies
        gain = over.mean - MANY_STANDARD_ERRORS * over.error
        reached = f"M{symbol[1:]} on {held_out.n_rows:,} rows {held_out.description}: {over.value:.3f}"
        meaning = f"{reached}, and {over.simple:.3f} for labels in the order of their frequencies. The value is the gain less "
        meaning += "three standard errors."
        remedy = "The words predict no better than label frequencies: do not use the predictions."
    lines = [
        Check(
            "better than label frequencies", symbol, gain, above(0), meaning, "not in the paper", "verdict", remedy,
        )
    ]  # fmt: skip
    over_bayes = None if held_out is None else held_out.over_bayes
    if over_bayes is None:
        return lines
    return [
        *lines,
        Check(
            "as good as naive Bayes", symbol, over_bayes.mean + STANDARD_ERRORS * over_bayes.error, at_least(0),
            f"{reached}, and {over_bayes.simple:.3f} for naive Bayes. The value is the gain plus two standard errors.",
            "not in the paper", "caution",
            "Naive Bayes on the same words ranks labels better: try another head, or other n_components.",
        ),
    ]  # fmt: skip


def _first(held_out: Assessment) -> Check:
    auc = f", and the document-averaged AUC is {held_out.auc:.3f}" if np.isfinite(held_out.auc) else ""
    return Check(
        "first label is right", "precision@1", held_out.first, None,
        f"Of {held_out.n_rows:,} rows, {held_out.description}; of the first five labels {held_out.first_five:.3f} are{auc}.",
        "not in the paper",
    )  # fmt: skip


def _rare(held_out: Assessment) -> Check:
    """Return the line on labels with few rows to learn from and to judge by."""
    precision_text = "" if not held_out.n_rare else (
        f" Among the first five they are right {held_out.rare_right} of {held_out.rare_predicted} times on these rows."
        if held_out.rare_predicted >= _MIN_RARE_PREDICTIONS
        else " They are too seldom among the first five on these rows to judge their precision."
    )  # fmt: skip
    return Check(
        "rare labels", f"n_l < {RARE}", f"{held_out.n_rare} of {held_out.n_labels}", None,
        f"Labels with fewer than {RARE} training rows.{precision_text}", "",
    )  # fmt: skip


def _rows(counts: DocumentCounts) -> list[Check]:
    return [
        Check(
            "rows without words, without labels", "n", f"{counts.n_empty}, {counts.n_unlabelled}", None,
            f"Out of {counts.n_rows} rows. They stay in the data: empty label sets are label sets.", "",
        )
    ]  # fmt: skip


def _rows_of_sum_one(words: np.ndarray) -> np.ndarray:
    return words / words.sum(axis=1, keepdims=True)
