"""What the theorem of multi-label learning by moments assumes, measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evidence import (
    Check,
    Evidence,
    PartErrors,
    TensorMeasured,
    at_least,
    between,
    bounds,
    error_checks,
    separation_limit,
    settled_checks,
    tensor_checks,
    whitened_noise,
)
from ..likelihood import Refinement
from ..moments import LabelledSums
from ._topics import Recovered

__all__ = ["weigh_evidence"]

_TRUSTED = 0.4
_DELTA = 0.05


def weigh_evidence(
    model: Any, seen: LabelledSums, found: Recovered, refinement: Refinement, parts: PartErrors
) -> Evidence:
    """The evidence table of a fitted `MomentMultiLabelClassifier`."""
    words = model.word_probabilities_
    some = words if found.parts is None else words[:, found.parts.words]  # of millions the frequent ones
    limit = separation_limit(_rows_of_sum_one(some), "cityblock", _TRUSTED)
    checks = error_checks(parts, limit, "mean |mu_k - mu'_k|_1", "in l1, of a possible 2", "topic")
    checks += settled_checks(refinement)
    checks += [*_sizes(model, seen), *_theorem(model, seen), *_tensor(model, found), *_weights(model, found)]
    subject = "the topics (the head does not use them)" if model.head == "ridge" else "the topics"
    return Evidence([*checks, *_head(model), *_rows(seen)], parts.errors, subject)


def _sizes(model: Any, seen: LabelledSums) -> list[Check]:
    square = model.n_components**2
    return [
        Check(
            "documents against topics", "N", float(seen.n_rows), at_least(square, "K^2"),
            "With fewer the moments of words cannot carry K topics. The ridge head does not use the topics.", "section 6",
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
    parts, matrix = found.parts, found.whitening
    if parts is None or matrix is None or not parts.dealt.splits or model.n_components == 1:
        return []
    first, second = (parts.of(half) for half in parts.dealt.splits[0])
    measured = TensorMeasured(
        spectrum=found.spectrum, weights=found.weights, residual=found.info.residual, stable=found.info.stable,
        samples=int(parts.sums.documents[:, 2].sum()),
        noise=whitened_noise(matrix, (first.second, first.third), (second.second, second.third)),
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


def _head(model: Any) -> list[Check]:
    if model.head != "ridge":
        return []
    return [
        Check(
            "explained by the head", "1 - GCV / variance", model._explained, None,
            "Share of the label sets' variance that the ridge head predicts for new rows (generalised cross-validation).",
            "not in the paper",
        )
    ]  # fmt: skip


def _rows(seen: LabelledSums) -> list[Check]:
    return [
        Check(
            "rows without words, without labels", "n", f"{seen.n_empty}, {seen.n_unlabelled}", None,
            f"Of {seen.n_rows} rows. They are kept: empty label sets are label sets.", "",
        )
    ]  # fmt: skip


def _rows_of_sum_one(words: np.ndarray) -> np.ndarray:
    return words / words.sum(axis=1, keepdims=True)
