"""Choice of the head: heads that the size of the data allows are compared on a fifth of the rows; the best is fitted to all.

The rows are in memory here. Work and memory are bounded in advance, by sizes that the first pass has counted; beyond the bounds
the moment head is used, which needs no further pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..passes import Block, Blocks, Plan, assign_folds, sample_rows
from ..system.threads import Parallel
from ._calibration import Calibration, fit_calibration
from ._full import SHARES, STRENGTHS, LogisticHeads, Rows, full_ridge, moment_head
from ._head import LinearHead
from ._held_out import Assessment, assess, precision_of
from ._naive_bayes import naive_bayes
from .moments import DocumentCounts

_N_FOLDS = 5  # folds of the rows, one of which is held out
_MIN_ROWS = 50  # with fewer rows heads are not compared
_MAX_ENTRIES = 1 << 25  # entries of the features in memory
_MAX_SCORES = 1 << 27  # rows times labels of a comparison
_MAX_COEFFICIENTS = 1 << 24  # words times labels of a head on all words
_MAX_SPARSE_FLOPS, _MAX_DENSE_FLOPS = 4e9, 4e10  # flops of a step of logistic regression, on words and in directions
_MAX_EQUATIONS = 1000  # size of ridge regression on all words, if it is one of several heads
_MAX_HELD_OUT_SCORES = 1 << 24  # rows times labels that a head is judged on


@dataclass(frozen=True)
class Heads:
    """Kinds of heads to compare.

    Attributes
    ----------
    kinds : tuple of {"logistic", "ridge", "full"}
    directions : bool
        Whether logistic regression is in the directions of the moment head.
    """

    kinds: tuple[str, ...]
    directions: bool = False


class Chosen(NamedTuple):
    """The chosen head, its assessment on held-out rows, its probabilities, and a text on the comparison."""

    head: LinearHead
    assessment: Assessment | None
    calibration: Calibration
    text: str


def choose_kinds(head: str, counts: DocumentCounts, n_components: int) -> Heads | None:
    """Return the kinds of heads to compare in memory; None for the moment head alone, fitted in the passes."""
    n, d, n_labels = counts.n_rows, len(counts.document_frequency), len(counts.label_counts)
    entries = float(counts.powers[0])
    fits_words = d * n_labels <= _MAX_COEFFICIENTS
    if head == "full":
        return Heads(("full",))
    if head == "logistic":
        return Heads(("logistic",), directions=not fits_words)
    if head != "auto" or n < _MIN_ROWS or entries > _MAX_ENTRIES or n * n_labels > _MAX_SCORES:
        return None
    full = ("full",) if fits_words and min(n, d) <= _MAX_EQUATIONS else ()
    if fits_words and 4 * entries * n_labels <= _MAX_SPARSE_FLOPS:
        return Heads(("logistic", "ridge", *full))
    if 4.0 * n * n_components * n_labels <= _MAX_DENSE_FLOPS:
        return Heads(("logistic", "ridge", *full), directions=True)
    return None


# --- rows in memory -------------------------------------------------------------------------------------------------


class _RowCollector:
    """In-place statistic that collects features and labels of all rows, in their order."""

    def zero(self) -> list[tuple[Any, Any]]:
        return []

    def add_tasks(self, state: list[tuple[Any, Any]], block: Block, parallel: Parallel) -> list[tuple[Any, Any]]:
        return [*state, (sparse.csr_array(block[2], copy=True), sparse.csr_array(block[1], copy=True))]

    def merge(self, first: list[tuple[Any, Any]], second: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return first + second


def rows_in_memory(n_jobs: int | None) -> Plan:
    """Plan one pass over blocks (C, Y, F) whose result is `Rows`."""
    (pairs,) = yield [_RowCollector()]
    features, labels = (sparse.vstack([pair[i] for pair in pairs], format="csr") for i in (0, 1))
    return Rows(_tidy(features, np.float32), _tidy(labels, np.int8), n_jobs)


def _tidy(table: Any, dtype: Any) -> sparse.csr_array:
    """Return a table without stored zeros, with the types that kernels are compiled for."""
    table = sparse.csr_array(table, dtype=dtype)
    table.sum_duplicates()
    table.eliminate_zeros()
    return sparse.csr_array(
        (table.data, table.indices.astype(np.int32), table.indptr.astype(np.int32)), shape=table.shape
    )


# --- the choice -----------------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    """A candidate head fitted to some rows: its parameters, and its scores for the others."""

    name: str
    scores: np.ndarray
    kind: str
    strength: float = 0.0
    share: float = 0.0


def choose(rows: Rows, heads: Heads, n_components: int, random_state: int) -> Chosen:
    """Choose the head that ranks labels best on a fifth of the rows, and fit it to all rows."""
    part, rest = _halves(rows, random_state)
    edge = _edge(rows)
    if part is None or rest is None:  # too few rows to compare heads
        untried = _Candidate("", np.empty(0), heads.kinds[0], STRENGTHS[-1], SHARES[0])
        head = _fitted(rows, untried, heads, n_components, random_state, None)
        return Chosen(head, None, Calibration(head.kind == "logistic", edge), "")
    moment = None if heads.kinds == ("full",) else moment_head(part, n_components, random_state)
    logistic = None
    if moment is not None and "logistic" in heads.kinds:
        logistic = LogisticHeads.prepare(part, moment, heads.directions, random_state)
    candidates = list(_fit_candidates(part, rest, heads, moment, logistic))
    values = [precision_of(candidate.scores, rest.labels, rows.n_jobs).criterion for candidate in candidates]
    best = candidates[int(np.argmax(values))]
    head = _fitted(rows, best, heads, n_components, random_state, logistic)
    d, n_labels = rows.features.shape[1], rows.labels.shape[1]
    bayes_scores = naive_bayes(part, rest) if d * n_labels <= _MAX_COEFFICIENTS else None
    assessment = assess("held out", best.scores, rest.labels, part.label_counts, bayes_scores)
    calibration = fit_calibration(Calibration(head.kind == "logistic", edge), best.scores, rest.labels)
    return Chosen(head, assessment, calibration, _summarise(candidates, values))


def _halves(rows: Rows, random_state: int) -> tuple[Rows | None, Rows | None]:
    """Split rows into those to learn from and those held out, copies together; None if one side has too few labels."""
    n, n_labels = rows.labels.shape
    folds = assign_folds(Blocks.from_array(rows.features, rows.labels), random_state, _N_FOLDS)
    is_held_out = folds.of(np.arange(n)) == 0
    rest, max_rows = np.flatnonzero(is_held_out), max(1, _MAX_HELD_OUT_SCORES // max(n_labels, 1))
    train, test = rows.select(np.flatnonzero(~is_held_out)), rows.select(rest[:: -(-len(rest) // max_rows) or 1])
    is_enough = n >= _MIN_ROWS and train.label_counts.any() and test.label_counts.any()
    return (train, test) if is_enough else (None, None)


def _fit_candidates(
    part: Rows, rest: Rows, heads: Heads, moment: LinearHead | None, logistic: LogisticHeads | None
) -> Iterator[_Candidate]:
    """Yield heads fitted to a part of the rows, with their scores for the rest; the first of equal ones wins."""
    if logistic is not None:
        ridge_scores = logistic.moment.scores(rest.features, rest.n_jobs)
        for strength in STRENGTHS:
            logistic_scores = logistic.head(strength).scores(rest.features, rest.n_jobs)
            for share in SHARES:
                name = f"logistic C={strength:g} and {share:g} x ridge"
                yield _Candidate(name, logistic_scores + share * ridge_scores, "logistic", strength, share)
    if "ridge" in heads.kinds and moment is not None:
        yield _Candidate("ridge", moment.scores(rest.features, rest.n_jobs), "ridge")
    if "full" in heads.kinds:
        yield _Candidate("full", full_ridge(part).scores(rest.features), "full")


def _fitted(
    rows: Rows, candidate: _Candidate, heads: Heads, n_components: int, random_state: int, start: LogisticHeads | None
) -> LinearHead:
    """Fit a candidate to all rows; logistic regression starts from the weights of a part."""
    if candidate.kind == "full":
        return full_ridge(rows)
    moment = moment_head(rows, n_components, random_state)
    if candidate.kind == "ridge":
        return moment
    logistic = LogisticHeads.prepare(rows, moment, heads.directions, random_state)
    if start is not None and not heads.directions:  # other rows have other directions
        logistic.start = start.start
    return logistic.add_ridge(logistic.head(candidate.strength), candidate.share)


def _summarise(candidates: list[_Candidate], values: list[float]) -> str:
    """List the best head of every kind with its value, as text."""
    best: dict[str, tuple[float, str]] = {}
    for candidate, value in zip(candidates, values, strict=True):
        if candidate.kind not in best or value > best[candidate.kind][0]:
            best[candidate.kind] = value, candidate.name
    return ", ".join(f"{name} {value:.3f}" for value, name in sorted(best.values(), reverse=True))


def _edge(rows: Rows) -> float:
    n, n_labels = rows.labels.shape
    return edge_of(rows.label_counts / max(n, 1) if n_labels else np.zeros(1))


def edge_of(frequencies: np.ndarray) -> float:
    """Return the score below which those of least squares are bent: the mean label frequency, within bounds."""
    return float(np.clip(frequencies.mean(), 1e-6, 0.25))


def leave_own_labels_out(head: LinearHead, blocks: Blocks, counts: DocumentCounts) -> Chosen:
    """Assess the moment head on scores of some rows without the contribution of their own labels.

    In ridge regression on given directions that is (s - h y) / (1 - h) with the leverage h of the row; the directions are those
    of all rows. It reads some blocks (C, Y, F), and needs no pass.
    """
    n_labels = len(counts.label_counts)
    _, labels, features = sample_rows(blocks, int(np.clip(_MAX_HELD_OUT_SCORES // max(n_labels, 1), _MIN_ROWS, 2000)))
    labels, rows = _tidy(labels, np.int8), head.coordinates(_tidy(features, np.float32))
    assert head.leverage is not None
    added = np.minimum(head.leverage(rows), 0.99)[:, None]
    scores = rows @ head.coefficients + head.intercept
    scores -= added * labels.toarray()
    scores /= 1 - added
    plain = Calibration(False, edge_of(counts.label_counts / counts.n_rows))
    assessment = assess("each left out of its own scores", scores, labels, counts.label_counts)
    return Chosen(head, assessment, fit_calibration(plain, scores, labels), "")
