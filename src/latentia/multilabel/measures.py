"""Measures of predicted labels on labelled rows, compared with those of the most frequent labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..metrics import document_auc, ndcg_at_k, precision_at_k, propensities, propensity_scored_precision_at_k
from ..passes import Blocks

AT = (1, 3, 5)
"""Numbers of first labels in the measures."""
_MAX_SCORES, _CHUNK_SCORES = 20_000_000, 1 << 22  # scores of the AUC in all, and in memory at a time


def _measure(name: str, values: np.ndarray, rows: int | None, meaning: str) -> dict[str, Any]:
    """Return a line of the metrics: means over rows of the values of a model and of the most frequent labels, (2, n).

    Rows with NaN do not count; the means are NaN if no row counts.
    """
    is_known = np.isfinite(values[0])
    value, frequent_value = values[:, is_known].mean(axis=1) if is_known.any() else (float("nan"), float("nan"))
    rows = int(is_known.sum()) if rows is None else rows
    return {"name": name, "value": float(value), "plain": float(frequent_value), "rows": rows, "meaning": meaning}


def auc_measure(model: Any, test: Blocks) -> dict[str, Any]:
    """Measure the document-averaged AUC, which needs all scores, on all rows or a sample of them."""
    n_labels = test.shapes[1][1]
    max_rows = max(1, _MAX_SCORES // n_labels)
    chosen = np.arange(test.n_rows)
    if test.n_rows > max_rows:
        chosen = np.sort(np.random.default_rng(0).choice(test.n_rows, max_rows, replace=False))
    values: list[np.ndarray] = []
    for block in test:
        rows_of_block = chosen[(chosen >= block.start) & (chosen < block.start + len(block.rows))] - block.start
        for rows in np.array_split(rows_of_block, -(-len(rows_of_block) * n_labels // _CHUNK_SCORES) or 1):
            if len(rows):
                Y = sparse.csr_array(block[1])[rows]
                scores = model.decision_function(Blocks.from_array(sparse.csr_array(block[0])[rows]))
                plain = np.broadcast_to(model.label_frequencies_, scores.shape)
                values.append(np.stack([document_auc(Y, s, model.n_jobs) for s in (scores, plain)]))
    sampled = f" On a random sample of {len(chosen):,} of {test.n_rows:,} rows." if len(chosen) < test.n_rows else ""
    meaning = (
        "How often a label of the row is ranked before one it lacks, averaged over rows: 0.5 is guessing, 1 perfect."
    )
    return _measure("document-averaged AUC", np.concatenate(values, axis=1), None, meaning + sampled)


def ranking_measures(model: Any, test: Blocks, top: np.ndarray, n_train: int = 0) -> Iterator[dict[str, Any]]:
    """Measure precision and nDCG of the first labels, and propensity-scored precision if training rows are known.

    Parameters
    ----------
    model : MomentMultiLabelClassifier
    test : Blocks of rows and their labels
    top : ndarray of shape (n_rows, n)
        Labels that are predicted first.
    n_train : int
        Number of training rows.

    Yields
    ------
    dict of "name", "value", "plain" (value of the most frequent labels), "rows" and "meaning"
    """
    Y = sparse.vstack([sparse.csr_array(block[1]) for block in test], format="csr")
    frequencies = model.label_frequencies_
    frequent = np.broadcast_to(np.argsort(-frequencies, kind="stable")[: top.shape[1]], top.shape)
    of_maximum = "as a share of the most there can be."
    kinds: list[tuple[str, Callable[..., Any], int | None, str, str]] = [
        ("precision", precision_at_k, len(top), "Share of the first {} predicted that the row has.",
         "How often the row has the first predicted label."),
        ("nDCG", ndcg_at_k, None, f"Hits among the first {{}}, early ones counting more, {of_maximum}",
         "The same as precision@1, over rows that have labels."),
    ]  # fmt: skip
    if n_train > 2:  # the model of propensities needs more rows
        p = propensities(np.rint(frequencies * n_train), n_train)
        meaning = f"Hits among the first {{}}, rare labels counting more, {of_maximum}"
        weighted = partial(propensity_scored_precision_at_k, propensities=p)
        kinds.append(("propensity-scored precision", weighted, len(top), meaning, ""))
    for name, measure, rows, meaning, text_at_one in kinds:
        for k in (k for k in AT if k <= top.shape[1]):
            values = np.stack([measure(Y, ranked, k) for ranked in (top, frequent)]).reshape(2, -1)
            text = (text_at_one if k == 1 else "") or meaning.format("label" if k == 1 else f"{k} labels")
            yield _measure(f"{name}@{k}", values, rows, text)
