"""Linear heads on all words: ridge regression, and logistic regression helped by the moment head.

Both need the rows in memory. The logistic head of label l has the scores

    s_l(f) = f^T w_l + b_l + a r_l(f),

logistic regression of the label (strength C) plus ``a`` times the score r_l of ridge regression on the supervised directions of
the moment head. The first knows the words of a label, the second what labels have in common, which helps most with rare labels.
Their sum is one linear map. If D x L coefficients are too many, w_l lies in the K directions of the moment head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ..passes import Blocks, follow
from ._head import LinearHead, linear_head, ridge
from ._logistic import Design, LogisticWeights, logistic_regressions

STRENGTHS = (3.0, 10.0)  # values of C to try
SHARES = (5.0, 10.0, 20.0)  # values of a to try
_STEPS = 6  # steps of L-BFGS
DIRECTIONS = 100  # smallest number of directions of the ridge score


@dataclass(frozen=True)
class Rows:
    """Rows in memory.

    Attributes
    ----------
    features : csr_array of shape (n, D), float32
    labels : csr_array of shape (n, L)
    n_jobs : int, optional
    """

    features: sparse.csr_array
    labels: sparse.csr_array
    n_jobs: int | None = None

    @cached_property
    def label_counts(self) -> np.ndarray:
        return np.bincount(self.labels.indices, minlength=self.labels.shape[1]).astype(np.float64)

    def select(self, chosen: np.ndarray) -> Rows:
        return Rows(self.features[chosen], self.labels[chosen], self.n_jobs)


def moment_head(rows: Rows, n_components: int, random_state: int) -> LinearHead:
    """Fit the moment head to rows in memory."""
    (n, d), blocks = rows.features.shape, Blocks.from_array(rows.features, rows.labels, rows.features)
    return follow(blocks, [linear_head(rows.label_counts, n, d, n_components, random_state)], rows.n_jobs)[0][0]


def full_ridge(rows: Rows) -> LinearHead:
    """Fit ridge regression on all words, with generalised cross-validation: an eigenproblem of size min(n, D)."""
    table, (n, d) = rows.features.astype(np.float64), rows.features.shape
    crossed, total = (rows.labels.T @ table).toarray(), np.asarray(table.sum(axis=0)).ravel()
    if d <= n:
        gram = (table.T @ table).toarray()
        return replace(ridge(None, gram, crossed, total, rows.label_counts, n), kind="full", leverage=None)
    values, vectors = np.linalg.eigh((table @ table.T).toarray())  # n rows span at most n directions of words
    is_positive = np.flatnonzero(values > 1e-10 * max(values[-1], np.finfo(float).tiny))
    basis = table.T @ (vectors[:, is_positive] / np.sqrt(values[is_positive]))
    n_different = len(is_positive)  # copies of rows add no directions
    head = ridge(None, np.diag(values[is_positive]), crossed @ basis, total @ basis, rows.label_counts, n, n_different)
    return replace(head, kind="full", coefficients=basis @ head.coefficients, leverage=None)


@dataclass
class LogisticHeads:
    """Logistic heads of the same rows, each started from the weights of the last one.

    Attributes
    ----------
    rows : Rows
    moment : LinearHead
        Moment head of these rows.
    directions : bool
        Whether the weights lie in the directions of the moment head.
    start : LogisticWeights or None
        Weights of the last fit.
    """

    rows: Rows
    moment: LinearHead
    directions: bool
    start: LogisticWeights | None = None

    @classmethod
    def prepare(cls, rows: Rows, moment: LinearHead, directions: bool, random_state: int) -> LogisticHeads:
        """Prepare heads, with at least 100 directions of the moment head unless the weights must lie in the given ones."""
        n_directions = 0 if moment.features is None else moment.features.shape[1]
        if not directions and n_directions < min(DIRECTIONS, rows.labels.shape[1]):
            moment = moment_head(rows, min(DIRECTIONS, rows.labels.shape[1]), random_state)
        return cls(rows, moment, directions)

    @cached_property
    def _design(self) -> Design:
        rows = self.rows
        table = self.moment.coordinates(rows.features, rows.n_jobs) if self.directions else rows.features
        design = Design(table.astype(np.float32))
        _ = design.columns, design.squares  # computed before several threads need them
        return design

    def head(self, strength: float) -> LinearHead:
        """Fit logistic regression alone, at a strength C."""
        rows = self.rows
        self.start = logistic_regressions(self._design, rows.labels, strength, _STEPS, self.start, rows.n_jobs)
        features = self.moment.features if self.directions else None
        coefficients = self.start.coefficients.astype(np.float64)
        return LinearHead("logistic", features, coefficients, self.start.intercept, 1 / strength, None)

    def add_ridge(self, head: LinearHead, share: float) -> LinearHead:
        """Return a head plus a share of the ridge scores."""
        moment = self.moment
        assert moment.features is not None
        ridge_map = moment.coefficients if self.directions else moment.features @ moment.coefficients
        return replace(
            head,
            coefficients=head.coefficients + share * ridge_map,
            intercept=head.intercept + share * moment.intercept,
        )
