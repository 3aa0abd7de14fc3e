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
from ..evidence import Check, Misfit, PartErrors, at_most, error_checks, trivial_checks
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import Refinement
from ..linalg.ratios import ratio_of
from ..moments.counts import Counts, as_counts, check_counts
from ..passes import Block, Blocks, Folds
from ._counts import (
    Gaps,
    Table,
    choose_start,
    compute_divergences,
    compute_mean_row_divergence,
    factorize,
    fit_weights,
    split_gaps,
    sum_rows,
)
from ._descent import fill_gaps
from ._evidence import (
    LEFT_OUT,
    component_distances,
    distinguishing_check,
    find_error_limit,
    gaps_checks,
    structure_check,
)
from ._misfit import ROWS, estimate_bias, measure_largest_direction
from ._model import FactorModel
from ._points import choose_evenly
from ._span import measure_freedom

_HALF_TOL_FACTOR = 3  # multiple of the tolerance for halves of the rows
_MAX_ROWS, _MAX_COLUMNS = 2000, 500  # rows whose evidence is measured, and their most frequent columns
_MIN_RELATIVE_SUM = (
    0.25  # share of the mean sum below which a row or a column has too few counts to distinguish components
)
_MAX_DISPERSION = 0.1  # excess scatter, relative to Poisson counts, that makes errors 5% larger
_DISPERSION_DEVIATIONS = 4.0  # standard errors that the excess must have
_TINY = 1e-300


@dataclass(frozen=True)
class _Solution:
    """Components that sum to one, the largest first, weights of the rows, and the course of the descent."""

    components: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    divergence: np.ndarray
    mean_row_divergence: float
    refinement: Refinement


class PoissonNMF(FactorModel[None, _Solution]):
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
        From 1, fits to two halves of the rows give the expected errors, and cost about as much as the fit. From 2, counts of up
        to 1,000 rows are also simulated and fitted so many times. With 0 there are no expected errors.
    random_state : int, default=0
        Seed of the halves. The components do not depend on it.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Has no effect; the other estimators have it.

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
        """Return no moments: descent reads rows."""

    def _recover(self, moments: None, subset: Subset, choices: Any) -> tuple[Table, np.ndarray]:
        """Return the counts and initial components."""
        table = self._table(subset)
        return table, choose_start(table, self.n_components, self._seed)

    def _table(self, subset: Subset) -> Table:
        tables = []
        for block in subset.rows:
            tables.append(sparse.csr_array(block[0], dtype=np.float64))
            if subset.is_whole:
                _split_checked(tables[-1], block, self._column_names)
        table = Table.from_matrix(sparse.csr_array(sparse.vstack(tables)) if len(tables) > 1 else tables[0])
        if table.n_missing:
            gaps_of(subset.rows)
        if not table.rows.data.sum():
            raise LatentiaError("All entries are zero: there is nothing to factorize.")
        return table

    def _refine(self, recovered: tuple[Table, np.ndarray], moments: None, subset: Subset, choices: Any) -> _Solution:
        """Sweep over both factors in turn."""
        return self._descend(*recovered, self.tol * (1 if subset.is_whole else _HALF_TOL_FACTOR))

    def _restart(self, model: _Solution, moments: None, subset: Subset) -> _Solution:
        return self._descend(self._table(subset), model.components.T, self.tol * _HALF_TOL_FACTOR)

    def _descend(self, table: Table, columns: np.ndarray, tol: float) -> _Solution:
        factors = factorize(table, columns, self.max_iter, tol, self.n_jobs)
        sums = factors.columns.sum(axis=0)
        counts = factors.weights.sum(axis=0) * sums
        order = np.argsort(-counts, kind="stable")
        components = factors.columns / np.where(sums > 0, sums, 1.0)
        likelihood = -factors.divergence + table.entropy_term - table.log_factorials
        steps = Refinement((components,), likelihood, factors.converged, float("nan"))
        return _Solution(
            components.T[order],
            (factors.weights * sums)[:, order],
            counts[order] / counts.sum(),
            factors.divergence,
            compute_mean_row_divergence(table),
            steps,
        )

    def _set_fitted_attributes(self, fitted: Fitted[None, _Solution]) -> None:
        solution: _Solution = fitted.model
        divergence = max(float(solution.divergence[-1]), 0.0)
        self.components_, self.weights_ = solution.components, solution.shares
        self.reconstruction_err_ = float(np.sqrt(2 * divergence))
        self.relative_error_ = (
            float(np.sqrt(divergence / solution.mean_row_divergence)) if solution.mean_row_divergence > 0 else 0.0
        )
        self._set_refinement_attributes(solution.refinement)
        self.n_passes_ = 1

    def _cost(self) -> Literal["passes"]:
        return "passes"

    def _distance(self, first: _Solution, second: _Solution, moments: None) -> np.ndarray:
        return component_distances(first.components, second.components, "cone")

    def _checks(self, fitted: Fitted[None, _Solution]) -> tuple[list[Check], PartErrors]:
        """Return checks and errors of halves, widened by errors that halves share: free moves, structure and zeros."""
        solution: _Solution = fitted.model
        parts, (limit, distances) = fitted.errors(self.n_splits), find_error_limit(solution.components, "cone")
        places = np.linspace(0, len(solution.weights) - 1, min(len(solution.weights), _MAX_ROWS)).astype(np.int64)
        weights, rows = solution.weights[places], fitted.recovered[0].to_csr_with_gaps()[places]
        freedoms, misfit = (
            measure_freedom(solution.components, weights),
            _measure_misfit(rows, weights, solution.components, self._seed),
        )
        bias, dispersion = self._refit_simulated_counts(rows, solution.components, weights)
        for common_error in (freedoms, misfit.bias(distances), bias):
            parts = parts.widen(common_error, self._max_distance)
        share = fitted.recovered[0].n_missing / (fitted.rows.n_rows * rows.shape[1])
        gaps = gaps_checks(
            share, LEFT_OUT, rows, partial(_predict_columns, rows, solution.components, self.n_jobs), self._seed
        )
        return self._build_checks(fitted, parts, limit, weights, freedoms, misfit) + dispersion + gaps, parts

    def _refit_simulated_counts(
        self, rows: sparse.csr_array, components: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, list[Check]]:
        """Fit counts that are simulated from the model.

        Return the error that all fits share since factors are not negative, shape (r,), and a check whether counts scatter
        about their fit as simulated ones do about theirs.
        """
        if self.n_splits < 2:
            return np.zeros(len(components)), []
        places, refits, scatters = choose_evenly(len(weights), ROWS), list[np.ndarray](), list[float]()
        weights, missing = weights[places], sparse.csr_array(rows[places] != rows[places])
        for number in range(self.n_splits):
            simulated = _simulate_counts(weights, components, np.random.default_rng([self._seed, 103, number]), missing)
            refit = factorize(simulated, components.T, self.max_iter, self.tol * _HALF_TOL_FACTOR, self.n_jobs)
            refits.append(refit.columns.T)
            scatters.append(_measure_scatter(simulated.to_csr_with_gaps(), refit.weights, refit.columns.T)[0])
        scatter, deviation = _measure_scatter(rows[places], weights, components)
        return estimate_bias(components, refits), [
            _dispersion_check(float(ratio_of(scatter, np.mean(scatters))), deviation)
        ]

    def _build_checks(
        self,
        fitted: Fitted[None, _Solution],
        parts: PartErrors,
        limit: float,
        weights: np.ndarray,
        freedoms: np.ndarray,
        misfit: Misfit,
    ) -> list[Check]:
        solution: _Solution = fitted.model
        checks = error_checks(parts, limit, "mean |w - w'|", "of unit length", "component")
        checks += [
            distinguishing_check(_divide_by_largest(solution.components.T).T, _divide_by_largest(weights)),
            structure_check(misfit),
            *self._prediction_checks(fitted),
            Check(
                "freedom of the factors", "", float(freedoms.mean()), None,
                "How far a component of unit length can be moved along another with the same A W; expected errors include it.",
                "section 2.2",
            ),
        ]  # fmt: skip
        return checks

    def _prediction_checks(self, fitted: Fitted[None, _Solution]) -> list[Check]:
        """Check that components of a half of the rows predict one half of the columns of other rows from the other half."""
        half_model, other_rows = fitted.first_half_and_other_rows()
        rows = sparse.csr_array(other_rows.some_rows(_MAX_ROWS)[0])
        first_half = np.random.default_rng([self._seed, 102]).permutation(rows.shape[1]) % 2 == 0
        mean = half_model.shares @ half_model.components
        models = [_mix_with_mean(components, mean) for components in (half_model.components, mean[None])]
        model_gains, mean_gains = (_score_halves(rows, first_half, components, self.n_jobs) for components in models)
        return trivial_checks(model_gains, mean_gains, extra=0, n_rows=rows.shape[0], against="the mean row")

    def _distances(self, second: PoissonNMF) -> np.ndarray:
        return component_distances(self.components_, second.components_, "cone")

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
            [fit_weights(counts, self.components_, self.n_jobs, gaps)[0] for counts, gaps in self._counts(X)]
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
        residual_divergence = total_divergence = 0.0
        mean = self.weights_ @ self.components_
        for counts, gaps in self._counts(X, sample_weight):
            possible_counts = Counts(
                counts.indptr, counts.indices, np.where(mean[counts.indices] > 0, counts.data, 0.0)
            )
            for components, is_mean in ((self.components_, False), (mean[None], True)):
                weights, logs = fit_weights(possible_counts, components, self.n_jobs, gaps)
                expected = weights @ components.sum(axis=1) - gaps.sums(weights, components.T)
                divergence = float(compute_divergences(possible_counts, logs, expected).sum())
                residual_divergence, total_divergence = (
                    (residual_divergence, total_divergence + divergence)
                    if is_mean
                    else (residual_divergence + divergence, total_divergence)
                )
        return 1.0 - residual_divergence / total_divergence if total_divergence > 0 else 1.0

    def _counts(self, X: Any, sample_weight: Any = None) -> Any:
        """Yield the checked counts of the blocks, and their missing cells."""
        for block in weighted(table_blocks(self, X, reset=False, missing=True), sample_weight):
            gaps = missing_entries(block[0])
            if gaps is not None:
                check_gaps(gaps, block.rows)
            yield _split_checked(block[0], block, self._column_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _split_checked(table: Any, block: Block, names: Any) -> tuple[Counts, Gaps]:
    """Split the table of a block into counts and missing cells; raise for entries that are no counts, and for sparse NaN."""
    counts, gaps = split_gaps(table)
    is_sparse = len(gaps.indices) and sparse.issparse(block[0])
    check_counts(as_counts(table) if is_sparse else counts, block.rows, names)
    return counts, gaps


def _divide_by_largest(entries: np.ndarray) -> np.ndarray:
    """Divide entries by the largest of their row, shape (n, r), and drop rows with small sums."""
    sums = entries.sum(axis=1)
    large_rows = entries[sums >= _MIN_RELATIVE_SUM * sums.mean()]
    return np.asarray(large_rows / np.maximum(large_rows.max(axis=1, keepdims=True, initial=0.0), _TINY))


def _measure_scatter(rows: sparse.csr_array, weights: np.ndarray, components: np.ndarray) -> tuple[float, float]:
    """Return squared residuals over the sum of expectations, and the standard deviation of this ratio for Poisson counts.

    Sums over all cells are those of products of the factors: nothing but stored counts is visited.
    """
    table = sparse.coo_array(rows)
    row, column = table.coords
    counts, expected = table.data, np.einsum("nk,nk->n", weights[row], components.T[column])
    is_observed = ~np.isnan(counts)
    total = float(weights.sum(axis=0) @ components.sum(axis=1) - expected[~is_observed].sum())
    squared = float(((weights.T @ weights) * (components @ components.T)).sum() - (expected[~is_observed] ** 2).sum())
    residual = squared + float((counts[is_observed] * (counts[is_observed] - 2 * expected[is_observed])).sum())
    total = max(total, _TINY)
    return max(residual, 0.0) / total, float(np.sqrt(max(2 * squared + total, 0.0))) / total


def _dispersion_check(measured: float, deviation: float) -> Check:
    """Check the scatter of counts, relative to Poisson counts; by chance one fit in thousands fails."""
    return Check(
        "dispersion of counts", "sum (x - m)^2 / sum m", measured,
        at_most(1 + max(_MAX_DISPERSION, _DISPERSION_DEVIATIONS * deviation)),
        "Scatter of counts about the fit, relative to simulated counts about theirs. 1 is a Poisson count; expected errors "
        "come from halves of the rows and include a larger scatter.",
        "not in the paper", "caution",
        "Counts scatter more than Poisson counts: single cells are less informative, and zeros may be missing counts.",
    )  # fmt: skip


def _measure_misfit(rows: sparse.csr_array, weights: np.ndarray, components: np.ndarray, seed: int) -> Misfit:
    """Compare the largest direction of Pearson residuals in the most frequent columns with that under random signs."""
    frequent_columns = np.argsort(-_sum_columns(rows), kind="stable")[:_MAX_COLUMNS]
    counts, expected = rows[:, frequent_columns].toarray(), weights @ components[:, frequent_columns]
    counts = fill_gaps(counts, missing_entries(counts), weights, components[:, frequent_columns])
    deviations = np.sqrt(np.maximum(expected, _TINY))
    residual = np.where(expected > 0, (counts - expected) / deviations, 0.0)
    return Misfit.from_norms(
        *measure_largest_direction(residual, seed),
        float((counts / np.maximum(deviations, 1e-6)).ravel() @ counts.ravel()),
    )


def _simulate_counts(
    weights: np.ndarray, components: np.ndarray, rng: np.random.Generator, missing: sparse.csr_array | None = None
) -> Table:
    """Draw counts from the model with the same missing cells: by component, or where counts are many, by entry."""
    shape = len(weights), components.shape[1]
    if weights.sum() > shape[0] * shape[1]:
        return Table.from_matrix(_mask_missing(rng.poisson(weights @ components).astype(np.float64), missing))
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for counts, component in zip(rng.poisson(weights).T, components, strict=True):
        if counts.any():
            rows.append(np.repeat(np.arange(shape[0]), counts))
            columns.append(rng.choice(shape[1], counts.sum(), p=component))
    places = np.concatenate(rows), np.concatenate(columns)
    return Table.from_matrix(_mask_missing(sparse.csr_array((np.ones(len(places[0])), places), shape=shape), missing))


def _mask_missing(counts: Any, missing: sparse.csr_array | None) -> sparse.csr_array:
    """Return the counts with NaN in missing cells."""
    counts = sparse.csr_array(counts)
    if missing is None or not missing.nnz:
        return counts
    return sparse.csr_array(counts + missing.astype(np.float64) * np.nan)


def _sum_columns(rows: sparse.csr_array) -> np.ndarray:
    """Sum the observed counts by column, shape (d,)."""
    return np.bincount(rows.indices, np.nan_to_num(rows.data), rows.shape[1])


def _mix_with_mean(components: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Mix components with a little of the mean row, and of every column, so that no count is impossible."""
    base = 0.99 * mean + 0.01 / len(mean)
    return 0.95 * components + 0.05 * base


def _predict_columns(
    rows: sparse.csr_array,
    components: np.ndarray,
    n_jobs: int | None,
    known_columns: np.ndarray,
    target_columns: np.ndarray,
) -> np.ndarray:
    """Predict some columns from the components and the counts of other columns."""
    counts, gaps = split_gaps(rows[:, known_columns])
    return np.asarray(
        fit_weights(counts, components[:, known_columns], n_jobs, gaps)[0] @ components[:, target_columns]
    )


def _score_halves(
    rows: sparse.csr_array, first_half: np.ndarray, components: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Return the log-likelihood of each half of the columns under the weights by the other half, summed; shape (n,)."""
    total = np.zeros(rows.shape[0])
    for known_columns in (first_half, ~first_half):
        counts, gaps = split_gaps(rows[:, known_columns])
        weights, _ = fit_weights(counts, components[:, known_columns], n_jobs, gaps)
        (held_counts, held_gaps), held_components = split_gaps(rows[:, ~known_columns]), components[:, ~known_columns]
        row_numbers = np.repeat(np.arange(rows.shape[0]), np.diff(held_counts.indptr))
        expected = np.einsum("ij,ji->i", weights[row_numbers], held_components[:, held_counts.indices])
        total += sum_rows(
            held_counts, held_counts.data * np.log(np.maximum(expected, _TINY))
        ) - weights @ held_components.sum(axis=1)
        total += held_gaps.sums(weights, held_components.T)
    return total
