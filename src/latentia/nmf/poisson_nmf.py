"""Nonnegative factors of counts: every row is a sum of components, and counts scatter about it as Poisson counts do.

Model. x_ij ~ Poisson((A W)_ij) with A, W >= 0, and rows of W, the components, sum to one: A_ik is how many counts of row i are
of component k. The most likely factors have the least Kullback-Leibler divergence

    D(X, A W) = sum_ij x_ij log(x_ij / (A W)_ij) - x_ij + (A W)_ij,

which is what scikit-learn's ``NMF(beta_loss="kullback-leibler", solver="mu")`` makes small; probabilistic latent semantic
analysis has the same components. A and W take turns, each entry by a Newton step: see `latentia.nmf._counts`.

Source: D. D. Lee, H. S. Seung, Learning the parts of objects by non-negative matrix factorization, Nature 401 (1999), for the
model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._entries import missing_entries
from .._parameters import Integer, NComponents, Number, Seed
from .._validation import check_gaps, gaps_of, table_blocks, weighted
from ..evidence import Check, Misfit, PartErrors, at_least, at_most, error_checks, trivial_checks
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refinement
from ..moments.counts import Counts, as_counts, check_counts
from ..passes import Block, Blocks, Folds
from ._counts import Gaps, Table, counts_and_gaps, divergence_of, divergence_of_one, factored, loadings, row_sums, start
from ._descent import filled
from ._evidence import LEFT_OUT, component_distances, gaps_checks, structure_check, trusted_error
from ._misfit import ROWS, bias_of, largest_direction
from ._model import FactorModel
from ._points import evenly
from ._span import freedom, telling_apart

_OF_PARTS = 3  # times the tolerance, for parts of the rows
_TELLING = 2  # features, and rows, of one component without another
_SAMPLE, _COLUMNS = 2000, 500  # rows that are looked at, and their most frequent columns
_SMALL = 0.25  # of the mean, below which a row or a column has too few counts to be of one component
_DISPERSED = 0.1  # of the scatter of Poisson counts, beyond it: errors are 5% larger
_DEVIATIONS = 4.0  # standard errors of it
_TINY = 1e-300


@dataclass(frozen=True)
class _Found:
    """Components that sum to one, the largest first, weights of the rows, and how the descent went."""

    components: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    divergence: np.ndarray
    of_one: float
    refinement: Refinement


class PoissonNMF(FactorModel):
    """Nonnegative factors of counts, by the Kullback-Leibler divergence.

    Choose it for counts of words in documents, of genes in cells, of items in baskets: where an entry scatters as a count
    does, and zeros are most of the table. It reads stored counts alone, needs no restarts, and says how far components can be
    trusted. For proportions of topics with a prior see `latentia.topics.AnchorTopics`; where entries scatter evenly,
    `ApproximateNMF`.

    It can stand where scikit-learn's ``NMF(beta_loss="kullback-leibler", solver="mu")`` stands.

    Parameters
    ----------
    n_components : int, "auto" or several, default=5
        Number of components r. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    max_iter : int, default=200
        Sweeps over both factors at most.
    tol : float, default=1e-4
        The fit stops after three sweeps in a row that each lower the divergence by a smaller share of it than this.
    n_splits : int, default=3
        With any, the rows are split into halves once, whose fits give the expected errors, and cost about as much as the fit;
        counts of up to 1,000 rows are drawn again as often as this says, if more than once. With 0 there are none.
    random_state : int, default=0
        Seed of the halves. The components do not depend on it.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Has no effect: for the interface of the other estimators.

    Attributes
    ----------
    components_ : ndarray of shape (r, d)
        Rows of W, which sum to one; the one with the most counts first.
    weights_ : ndarray of shape (r,)
        Share of all counts that are of each component.
    reconstruction_err_ : float
        sqrt(2 D(X, A W)), as scikit-learn has it.
    relative_error_ : float
        The same over that of the mean row, scaled to the counts of each row.
    refinement_ : ndarray of shape (n_iter_,)
        Log-likelihood of the counts after every sweep, in nats.
    n_iter_ : int
        Number of sweeps over both factors.
    converged_ : bool
        Whether the last sweeps gained less than ``tol``.
    evidence_ : Evidence
        Checks. Expected errors (``component_errors``) are distances of components to the true ones, all of unit length. They
        include how far components can be moved along others with the same A W, and how far they are off because entries are
        not negative.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    All stored counts are held in memory, by rows and by columns. Zeros cost nothing.

    The descent stops where no entry can be moved alone; other starts may lead elsewhere. It starts from soft components, near
    the mean row, which reach a lower divergence than sharp ones.

    References
    ----------
    D. D. Lee, H. S. Seung, Nature 401 (1999). C.-J. Hsieh, I. S. Dhillon, KDD 2011. L. T. K. Hien, N. Gillis, J. Sci.
    Comput. 87 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from latentia.nmf import PoissonNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(0.3, 20, (300, 3)) @ rng.dirichlet(np.full(40, 0.2), 3))
    >>> model = PoissonNMF(3).fit(X)
    >>> model.transform(X).shape
    (300, 3)
    """

    _constraints: ClassVar = {"max_iter": Integer(1), "tol": Number(0)}
    _max_distance = float(np.sqrt(2))
    components_: Annotated[np.ndarray, of.numbers("K V", 0.0)]
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool

    def __init__(
        self,
        n_components: NComponents = 5,
        *,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> PoissonNMF:
        """Find the components.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Counts, or other numbers of at least 0. NaN is a cell that is missing, in tables that are not sparse; every row and
            column must have one that is there.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if X has infinite or negative entries or a row or column without a cell, or if
            there are more components than rows or features carry.
        """
        return self._fit_in_span(weighted(table_blocks(self, X, reset=True, missing=True), sample_weight))

    def _moments(self, rows: Blocks, folds: Folds) -> None:
        """There are none: descent reads rows."""

    def _recover(self, moments: None, subset: Subset, full_fit: Any) -> tuple[Table, np.ndarray]:
        """The counts, and components to start from."""
        table = self._table(subset)
        return table, start(table, self.n_components, self._seed)

    def _table(self, part: Subset) -> Table:
        parts = []
        for block in part.rows:
            parts.append(sparse.csr_array(block[0], dtype=np.float64))
            if part.is_whole:
                _checked(parts[-1], block, self._column_names)
        table = Table.of(sparse.csr_array(sparse.vstack(parts)) if len(parts) > 1 else parts[0])
        if table.n_missing:
            gaps_of(part.rows)
        if not table.rows.data.sum():
            raise LatentiaError("All entries are zero: there is nothing to factorize.")
        return table

    def _refine(self, recovered: tuple[Table, np.ndarray], moments: None, subset: Subset, full_fit: Any) -> _Found:
        """Sweeps over both factors in turn."""
        return self._descended(*recovered, self.tol * (1 if subset.is_whole else _OF_PARTS))

    def _restart(self, model: _Found, moments: None, subset: Subset) -> _Found:
        return self._descended(self._table(subset), model.components.T, self.tol * _OF_PARTS)

    def _descended(self, table: Table, columns: np.ndarray, tol: float) -> _Found:
        found = factored(table, columns, self.max_iter, tol, self.n_jobs)
        sums = found.columns.sum(axis=0)
        counts = found.weights.sum(axis=0) * sums
        order = np.argsort(-counts, kind="stable")
        components = found.columns / np.where(sums > 0, sums, 1.0)
        likelihood = -found.divergence + table.of_counts - table.log_factorials
        steps = Refinement((components,), likelihood, found.converged, float("nan"))
        return _Found(
            components.T[order],
            (found.weights * sums)[:, order],
            counts[order] / counts.sum(),
            found.divergence,
            divergence_of_one(table),
            steps,
        )

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        found: _Found = fitted.model
        divergence = max(float(found.divergence[-1]), 0.0)
        self.components_, self.weights_ = found.components, found.shares
        self.reconstruction_err_ = float(np.sqrt(2 * divergence))
        self.relative_error_ = float(np.sqrt(divergence / found.of_one)) if found.of_one > 0 else 0.0
        self._set_refinement_attributes(found.refinement)
        self.n_passes_ = 1

    def _cost(self) -> Literal["passes"]:
        return "passes"

    def _distance(self, first: _Found, second: _Found, moments: None) -> np.ndarray:
        return component_distances(first.components, second.components, "cone")

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of halves, widened by what these share: factors that are as good, and structure beyond the components."""
        found: _Found = fitted.model
        parts, (limit, apart) = fitted.errors(self.n_splits), trusted_error(found.components, "cone")
        at = np.linspace(0, len(found.weights) - 1, min(len(found.weights), _SAMPLE)).astype(np.int64)
        weights, rows = found.weights[at], fitted.recovered[0].with_gaps()[at]
        free, misfit = freedom(found.components, weights), _misfit(rows, weights, found.components, self._seed)
        bias, dispersion = self._drawn_again(rows, found.components, weights)
        for shared in (free, misfit.bias(apart), bias):
            parts = parts.widen(shared, self._max_distance)
        share = fitted.recovered[0].n_missing / (fitted.rows.n_rows * rows.shape[1])
        gaps = gaps_checks(share, LEFT_OUT, rows, partial(_expected, rows, found.components, self.n_jobs), self._seed)
        return self._lines(fitted, parts, limit, weights, free, misfit) + dispersion + gaps, parts

    def _drawn_again(
        self, rows: sparse.csr_array, components: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, list[Check]]:
        """Return what fits to counts that are drawn from the model say.

        It is the error that all parts share as weights and components are not negative, shape (r,), and whether counts scatter
        about their fit as drawn ones do about theirs.
        """
        if self.n_splits < 2:
            return np.zeros(len(components)), []
        at, draws, scatters = evenly(len(weights), ROWS), list[np.ndarray](), list[float]()
        weights, missing = weights[at], sparse.csr_array(rows[at] != rows[at])
        for number in range(self.n_splits):
            drawn = _drawn(weights, components, np.random.default_rng([self._seed, 103, number]), missing)
            found = factored(drawn, components.T, self.max_iter, self.tol * _OF_PARTS, self.n_jobs)
            draws.append(found.columns.T)
            scatters.append(_scatter(drawn.with_gaps(), found.weights, found.columns.T)[0])
        scatter, deviation = _scatter(rows[at], weights, components)
        return bias_of(components, draws), [
            _dispersion_check(scatter / max(float(np.mean(scatters)), _TINY), deviation)
        ]

    def _lines(
        self, fitted: Fitted, parts: PartErrors, limit: float, weights: np.ndarray, free: np.ndarray, misfit: Misfit
    ) -> list[Check]:
        found: _Found = fitted.model
        lines = error_checks(parts, limit, "mean |w - w'|", "of unit length", "component")
        lines += [
            Check(
                "features and rows of one alone", "least of a pair",
                float(telling_apart(_relative(found.components.T).T, _relative(weights))),
                at_least(_TELLING), "Of one component without the other. Where there are none, other factors give the same "
                "rows.", "section 2.5", "caution",
                "Other components may give the same rows: do not read much into the small entries of these.",
            ),
            structure_check(misfit),
            *self._held_out(fitted),
            Check(
                "freedom of the factors", "", float(free.mean()), None,
                "How far a component can be moved along another with the same A W, of unit length; expected errors include it.",
                "section 2.2",
            ),
        ]  # fmt: skip
        return lines

    def _held_out(self, fitted: Fitted) -> list[Check]:
        """Whether a half's components predict half of the columns of other rows from the others better than a mean row."""
        halves = fitted.compared[:1]
        found: Any = fitted.cached_model(halves[0]) if halves else fitted.model
        others = tuple(g for g in fitted.folds.all if g not in halves[0]) if halves else fitted.folds.all
        rows = sparse.csr_array(Subset(others, fitted.folds, fitted.rows).rows.some_rows(_SAMPLE)[0])
        halved = np.random.default_rng([self._seed, 102]).permutation(rows.shape[1]) % 2 == 0
        mean = found.shares @ found.components
        models = [_possible(one, mean) for one in (found.components, mean[None])]
        fitted_, trivial = (_predicted(rows, halved, one, self.n_jobs) for one in models)
        return trivial_checks(fitted_, trivial, extra=0, n_rows=rows.shape[0], against="the mean row")

    def _distances(self, other: PoissonNMF) -> np.ndarray:
        return component_distances(self.components_, other.components_, "cone")

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return how many counts of each row are of each component, where the divergence is least.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Counts in the columns of the fit. Those of columns that no component has are left out, and cells that are NaN.

        Returns
        -------
        ndarray of shape (n_rows, r), nonnegative

        Raises
        ------
        LatentiaError
            If X has another number of columns than the data of the fit, negative entries, or a row without a cell.
        """
        return np.concatenate(
            [loadings(counts, self.components_, self.n_jobs, gaps)[0] for counts, gaps in self._counts(X)]
        )

    @fitted
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the share of the deviance from the mean row that the components explain; at most 1.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Counts in the columns of the fit. Those of columns that no component has are left out, and cells that are NaN.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        float
        """
        left = whole = 0.0
        mean = self.weights_ @ self.components_
        for counts, gaps in self._counts(X, sample_weight):
            known = Counts(counts.indptr, counts.indices, np.where(mean[counts.indices] > 0, counts.data, 0.0))
            for components, is_mean in ((self.components_, False), (mean[None], True)):
                weights, logs = loadings(known, components, self.n_jobs, gaps)
                expected = weights @ components.sum(axis=1) - gaps.sums(weights, components.T)
                divergence = float(divergence_of(known, logs, expected).sum())
                left, whole = (left, whole + divergence) if is_mean else (left + divergence, whole)
        return 1.0 - left / whole if whole > 0 else 1.0

    def _counts(self, X: Any, sample_weight: Any = None) -> Any:
        """Checked counts of the blocks, and their missing cells."""
        for block in weighted(table_blocks(self, X, reset=False, missing=True), sample_weight):
            gaps = missing_entries(block[0])
            if gaps is not None:
                check_gaps(gaps, block.rows)
            yield _checked(block[0], block, self._column_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _checked(table: Any, block: Block, names: Any) -> tuple[Counts, Gaps]:
    """Split the table of a block into counts and missing cells; raise for what is no count, and for NaN in a sparse block."""
    counts, gaps = counts_and_gaps(table)
    is_sparse = len(gaps.indices) and sparse.issparse(block[0])
    check_counts(as_counts(table) if is_sparse else counts, block.rows, names)
    return counts, gaps


def _relative(entries: np.ndarray) -> np.ndarray:
    """Entries over the largest of their row, shape (n, r), of rows that are not small."""
    sums = entries.sum(axis=1)
    kept = entries[sums >= _SMALL * sums.mean()]
    return np.asarray(kept / np.maximum(kept.max(axis=1, keepdims=True, initial=0.0), _TINY))


def _scatter(rows: sparse.csr_array, weights: np.ndarray, components: np.ndarray) -> tuple[float, float]:
    """Return squares of residuals over the sum of what is expected, and the standard deviation of that for Poisson counts.

    Sums over all cells are those of products of the factors: nothing but stored counts is visited.
    """
    table = sparse.coo_array(rows)
    row, column = table.coords
    counts, expected = table.data, np.einsum("nk,nk->n", weights[row], components.T[column])
    known = ~np.isnan(counts)
    total = float(weights.sum(axis=0) @ components.sum(axis=1) - expected[~known].sum())
    squared = float(((weights.T @ weights) * (components @ components.T)).sum() - (expected[~known] ** 2).sum())
    residual = squared + float((counts[known] * (counts[known] - 2 * expected[known])).sum())
    total = max(total, _TINY)
    return max(residual, 0.0) / total, float(np.sqrt(max(2 * squared + total, 0.0))) / total


def _dispersion_check(measured: float, deviation: float) -> Check:
    """Return the line on the scatter of counts, in that of Poisson counts, of which chance makes one fit in thousands."""
    return Check(
        "dispersion of counts", "sum (x - m)^2 / sum m", measured, at_most(1 + max(_DISPERSED, _DEVIATIONS * deviation)),
        "How much counts scatter about the fit, in what counts drawn from the model do about theirs. 1 is a Poisson count; "
        "expected errors are of halves of the rows, and know of more.",
        "not in the paper", "caution",
        "Counts scatter more than Poisson counts do: single cells say less, and zeros may be missing counts.",
    )  # fmt: skip


def _misfit(rows: sparse.csr_array, weights: np.ndarray, components: np.ndarray, seed: int) -> Misfit:
    """Largest direction of Pearson residuals in the most frequent columns, against that with random signs."""
    often = np.argsort(-_column_sums(rows), kind="stable")[:_COLUMNS]
    counts, expected = rows[:, often].toarray(), weights @ components[:, often]
    counts = filled(counts, missing_entries(counts), weights, components[:, often])
    deviations = np.sqrt(np.maximum(expected, _TINY))
    residual = np.where(expected > 0, (counts - expected) / deviations, 0.0)
    return Misfit.from_norms(
        *largest_direction(residual, seed), float((counts / np.maximum(deviations, 1e-6)).ravel() @ counts.ravel())
    )


def _drawn(
    weights: np.ndarray, components: np.ndarray, rng: np.random.Generator, missing: sparse.csr_array | None = None
) -> Table:
    """Counts as the components give them, of each, or where they are many of each entry; cells that are missing are again."""
    shape = len(weights), components.shape[1]
    if weights.sum() > shape[0] * shape[1]:
        return Table.of(_without(rng.poisson(weights @ components).astype(np.float64), missing))
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for counts, component in zip(rng.poisson(weights).T, components, strict=True):
        if counts.any():
            rows.append(np.repeat(np.arange(shape[0]), counts))
            columns.append(rng.choice(shape[1], counts.sum(), p=component))
    at = np.concatenate(rows), np.concatenate(columns)
    return Table.of(_without(sparse.csr_array((np.ones(len(at[0])), at), shape=shape), missing))


def _without(counts: Any, missing: sparse.csr_array | None) -> sparse.csr_array:
    """The counts with NaN in cells that are missing."""
    counts = sparse.csr_array(counts)
    if missing is None or not missing.nnz:
        return counts
    return sparse.csr_array(counts + missing.astype(np.float64) * np.nan)


def _column_sums(rows: sparse.csr_array) -> np.ndarray:
    """Sums of the counts that are there, shape (d,)."""
    return np.bincount(rows.indices, np.nan_to_num(rows.data), rows.shape[1])


def _possible(components: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Components with a little of the mean row, and of any column, so that no count is impossible."""
    base = 0.99 * mean + 0.01 / len(mean)
    return 0.95 * components + 0.05 * base


def _expected(
    rows: sparse.csr_array, components: np.ndarray, n_jobs: int | None, seen: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Return what the components expect in some columns, given the counts of others."""
    counts, gaps = counts_and_gaps(rows[:, seen])
    return np.asarray(loadings(counts, components[:, seen], n_jobs, gaps)[0] @ components[:, others])


def _predicted(rows: sparse.csr_array, halved: np.ndarray, components: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Log-likelihood of one half of the columns under the weights by the other one, and the other way round, shape (n,)."""
    total = np.zeros(rows.shape[0])
    for seen in (halved, ~halved):
        counts, gaps = counts_and_gaps(rows[:, seen])
        weights, _ = loadings(counts, components[:, seen], n_jobs, gaps)
        (held, held_gaps), there = counts_and_gaps(rows[:, ~seen]), components[:, ~seen]
        at = np.repeat(np.arange(rows.shape[0]), np.diff(held.indptr))
        expected = np.einsum("ij,ji->i", weights[at], there[:, held.indices])
        total += row_sums(held, held.data * np.log(np.maximum(expected, _TINY))) - weights @ there.sum(axis=1)
        total += held_gaps.sums(weights, there.T)
    return total
