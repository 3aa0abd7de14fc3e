"""Nonnegative factorization of rows without pure ones, with a certificate of how near to the best it is.

Model. M = A W + noise with A, W >= 0 and few components r. Nothing is assumed of the factors, so that finding the best ones is
hard in general; for small r the search has few unknowns: the rows of W lie near the span of the r leading singular vectors
(section 2.7), and there A = U S, W = S^-1 V for a matrix S of shape (r, r).

No factorization by r components, of any sign, has an error below that of the truncated singular value decomposition. The error
over this lower bound is the certificate: at 1 there is none better.

Source: R. Ge, thesis, Princeton 2013, section 2.7 (with S. Arora, R. Kannan, A. Moitra).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._entries import missing_entries
from .._parameters import Integer, NComponents, Number, Seed, check_parameter
from .._validation import gaps_of, table_blocks, weighted
from ..evidence import Check, Misfit, PartErrors, at_most, bounds, error_checks
from ..exceptions import LatentiaError
from ..fitting.base import fitted, fitting
from ..fitting.stages import Fitted, Subset
from ..likelihood import over, refine
from ..linalg import complete_table, unit_rows
from ..passes import Blocks, Folds, accumulate, sample_rows
from ._descent import Descent, FactorSums, FactorUpdate, fill_gaps, row_weights
from ._evidence import (
    LEFT_OUT,
    FitMeasurements,
    column_predictor,
    component_distances,
    distinguishing_check,
    feature_prediction_checks,
    find_error_limit,
    gaps_checks,
    measure_structure,
    structure_check,
    surplus_check,
)
from ._misfit import Bend, estimate_clipping_bias
from ._model import FactorModel, dense_parts, to_dense
from ._points import Table, compute_leading_triplets, read_table
from ._selection import find_hull_vertices
from ._span import measure_freedom, reduce_negative_parts

_FIRST_ROUNDS = 20  # rounds of descent of every start
_ERROR_TOL = 1e-6  # change of the error at which the descent of the best starts ends
_N_FOLLOWED = 3  # starts whose descent is followed to the end
_N_HALF_STARTS = 2  # starts for a half of the rows
_EQUAL_ERROR = 1.001  # answers up to this multiple of the least error are equally good
_START_NOISE = 1e-3  # noise that is added to the unit rows of a start, so that none depend on each other
_EXACT = 1e-12  # share of the rows' length that counts as zero
_MAX_SAMPLE = 2000  # rows whose evidence is measured
_MAX_DENSE_ENTRIES = 1 << 22  # up to so many entries the residual is computed, not its length by subtraction
_SAME_ERROR = 1e-9  # relative difference of errors that may be rounding


class ApproximateNMF(FactorModel[None, "_Solution"]):
    """Nonnegative factorization by a search in the span of the rows, with a certificate.

    Choose it where no row is a component alone, so that `SeparableNMF` does not apply, and there are few components (up to
    about ten). It says how far its error can be from the least one, and whether other answers are as good, which scikit-learn's
    ``NMF`` does not.

    Parameters
    ----------
    n_components : int, "auto" or several, default=3
        Number of components r. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    n_init : int, default=10
        Starts of the search, the first from rows far apart, the others from rows drawn at random. It stops earlier where
        the certificate says that nothing is better.
    tol : float, default=1e-6
        Share by which the error may exceed its lower bound for the search to end.
    n_splits : int, default=3
        Splits of the rows into halves, whose fits give the expected errors. With 0 there are none.
    random_state : int, default=0
        Seed of starts and halves.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (r, d)
        Rows of W, of unit length times the root mean square weight, the one with the largest share first.
    weights_ : ndarray of shape (r,)
        Mean share of each component in a row.
    reconstruction_err_ : float
        |M - A W| in the Frobenius norm.
    relative_error_ : float
        The same over |M|.
    lower_bound_ : float
        Least error of any r components of any sign, in the units of ``reconstruction_err_``: the residual of r singular
        vectors. For more than 1,000 rows and features it comes from a few passes, and may be slightly too large. With missing
        cells it is the residual of the nearest table of rank r to the observed cells, by an iteration that ends before the last
        digit.
    certificate_ : float
        ``reconstruction_err_`` over ``lower_bound_``, at least 1.
    starts_ : ndarray of shape (n,)
        Error over lower bound that each start led to after its first rounds, in the order of the starts.
    evidence_ : Evidence
        Checks. Expected errors (``component_errors``) are distances of components to the true ones, all of unit length. They
        include the distance to other equally good answers, and errors by noise, by a response that bends, and by structure
        beyond the components.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    Differences from section 2.7:

    1. The net of all factors, `net_size` of them, is replaced by starts whose negative parts are reduced by descent on S;
       then what is left of them is cut, and rounds of exact least squares for A and coordinate descent for W follow. The
       convex program (2.4) has no part of its own.
    2. A' is from nonnegative least squares (the text of Lemma 2.53 says least squares).
    3. Cells may be missing, at random. Starts are in the span of the rows as completed to a table of rank r; rounds, errors
       and the evidence are of the cells that are there.

    References
    ----------
    R. Ge, thesis 2013, section 2.7, Theorem 2.49.

    Examples
    --------
    >>> import numpy as np
    >>> from latentia.nmf import ApproximateNMF
    >>> rng = np.random.default_rng(0)
    >>> M = rng.random((60, 2)) @ rng.random((2, 30)) + 0.05 * rng.random((60, 30))
    >>> model = ApproximateNMF(2).fit(M)
    >>> bool(model.certificate_ < 1.001)
    True
    """

    _constraints: ClassVar = {"n_init": Integer(1), "tol": Number(0)}
    _max_distance = float(np.sqrt(2))
    components_: Annotated[np.ndarray, of.numbers("K V", 0.0)]
    starts_: Annotated[np.ndarray, of.numbers("*", 0.0)]
    lower_bound_: Annotated[float, of.number(0.0)]
    certificate_: Annotated[float, of.number(0.0)]

    def __init__(
        self,
        n_components: NComponents = 3,
        *,
        n_init: int = 10,
        tol: float = 1e-6,
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.n_init = n_init
        self.tol = tol
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> ApproximateNMF:
        """Search for the components.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            Nonnegative. NaN is a cell that is missing, in tables that are not sparse; every row and column must have one that
            is there.
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
        return self._fit_varying(weighted(table_blocks(self, X, reset=True, missing=True), sample_weight))

    def _moments(self, rows: Blocks, folds: Folds) -> None:
        """Return no moments: descent reads rows."""

    def _recover(self, moments: None, subset: Subset, choices: Any) -> _Solution:
        """Return the best descent from several starts. Starts fill missing cells; the descent uses the observed ones."""
        table = read_table(subset.rows, missing=True)
        blocks = Blocks.from_array(table.rows)
        _check_nonnegative(table)
        gaps = None if missing_entries(table.rows) is None else gaps_of(blocks)
        if gaps is not None:
            table = replace(table, rows=complete_table(table.rows, gaps, self.n_components))
        row_factor, column_factor, bound, energy = self._compute_range(table, gaps)
        # Starts, each with a few rounds of descent.
        attempts: list[_Attempt] = []
        for start in self._draw_starts(
            row_factor, self.n_init if subset.is_whole else min(self.n_init, _N_HALF_STARTS)
        ):
            components = np.maximum(reduce_negative_parts(row_factor, column_factor, start) @ column_factor, 0.0)
            attempts.append(self._descend(_Attempt(components, np.inf), blocks, table, _FIRST_ROUNDS))
            if attempts[-1].error <= max((1 + self.tol) * bound, _EXACT):
                break
        # For a half only one start is followed to the end, since rival answers are searched in all rows.
        followed = _choose_followed(attempts) if subset.is_whole else [attempts[_find_best(attempts)]]
        finished = [self._descend(attempt, blocks, table, "auto") for attempt in followed]
        errors, missing = np.array([attempt.error for attempt in attempts]), 0.0 if gaps is None else float(gaps.mean())
        solution = *self._order_components(finished, blocks, table), bound, energy, table.unit
        return _Solution(*solution, errors / max(bound, _EXACT), _list_equally_good(finished), missing)

    def _order_components(
        self, finished: list[_Attempt], blocks: Blocks, table: Table
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the components of the best attempt, the strongest first, their shares, and its error."""
        best = finished[_find_best(finished)]
        sums: FactorSums = accumulate(blocks, FactorUpdate(best.components, "cone", Descent()), self.n_jobs)
        lengths = np.linalg.norm(best.components, axis=1, keepdims=True)
        strengths = np.diag(sums.gram)[:, None] * lengths**2
        order = np.argsort(-strengths[:, 0], kind="stable")
        components = best.components / np.where(lengths > 0, lengths, 1.0) * np.sqrt(strengths / max(sums.n_rows, 1))
        shares = np.sqrt(strengths[order, 0])
        return components[order], shares / max(float(shares.sum()), np.finfo(float).tiny), best.error

    def _compute_range(self, table: Table, gaps: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return U and V of the best approximation of any sign, its relative error, and the length of the table."""
        n, d = table.rows.shape
        r = self.n_components
        if r > min(n, d):
            raise LatentiaError(
                f"a table of {n} rows and {d} features supports at most {min(n, d)} components.",
                at_most=min(n, d), parameter="n_components", value=r,
            )  # fmt: skip
        rows_without_gaps = table.rows if gaps is None else np.where(gaps, 0.0, table.rows)
        energy = sum(float(np.vdot(part, part)) for part in dense_parts(rows_without_gaps))
        if energy == 0:
            raise LatentiaError("All entries are zero: there is nothing to factorize.")
        is_small = gaps is not None or n * d <= _MAX_DENSE_ENTRIES
        rows = to_dense(table.rows) if is_small else table.rows
        row_vectors, sizes, directions = compute_leading_triplets(rows, r, self._seed)
        if len(sizes) < r:
            raise LatentiaError(
                f"the rows have rank {len(sizes)}, which supports at most {len(sizes)} components.",
                at_most=len(sizes), parameter="n_components", value=r,
            )  # fmt: skip
        residual = rows - (row_vectors * sizes) @ directions if is_small else None
        residual = residual if residual is None or gaps is None else np.where(gaps, 0.0, residual)
        residual_energy = (
            energy - float((sizes**2).sum()) if residual is None else float(np.einsum("ij,ij->", residual, residual))
        )
        roots = np.sqrt(sizes)
        return (
            row_vectors * roots,
            roots[:, None] * directions,
            math.sqrt(max(residual_energy, 0.0) / energy),
            math.sqrt(energy),
        )

    def _draw_starts(self, row_factor: np.ndarray, n: int) -> Iterator[np.ndarray]:
        """Yield matrices S whose components are rows of the table: first r distant ones, then r drawn at random."""
        rng, r, coordinates = np.random.default_rng(self._seed), self.n_components, unit_rows(row_factor)
        coordinates = coordinates[coordinates.any(axis=1)]
        far_rows = find_hull_vertices(coordinates, r)
        too_few = len(coordinates) < r
        for number in range(n):
            chosen = (
                far_rows if number == 0 and len(far_rows) == r else rng.choice(len(coordinates), r, replace=too_few)
            )
            yield np.linalg.pinv(coordinates[chosen] + _START_NOISE * rng.standard_normal((r, r)))

    def _descend(self, start: _Attempt, blocks: Blocks, table: Table, rounds: Any) -> _Attempt:
        descent = Descent(_ERROR_TOL)
        update = FactorUpdate(start.components, "cone", descent)
        refined = refine(update, over(blocks, self.n_jobs, self.verbose), rounds, until=descent.converged)
        sums: FactorSums = accumulate(blocks, update.move_to(*refined.values), self.n_jobs)
        return _Attempt(refined.values[0], sums.relative_error)

    def _set_fitted_attributes(self, fitted: Fitted[None, _Solution]) -> None:
        solution: _Solution = fitted.model
        self.components_, self.weights_ = solution.components * solution.unit, solution.shares
        size = solution.length * solution.unit
        bound = min(solution.bound, solution.error)  # rounding may put the bound above the error
        self.relative_error_, self.reconstruction_err_, self.lower_bound_ = (
            solution.error,
            solution.error * size,
            bound * size,
        )
        self.certificate_ = 1.0 if solution.error <= _EXACT**0.5 else solution.error / max(bound, _EXACT)
        self.starts_, self.n_passes_ = solution.starts, 1

    def _cost(self) -> Literal["algebra"]:
        return "algebra"

    def _distance(self, first: _Solution, second: _Solution, moments: None) -> np.ndarray:
        return component_distances(first.components, second.components, "cone")

    def _checks(self, fitted: Fitted[None, _Solution]) -> tuple[list[Check], PartErrors]:
        """Return checks and errors of halves, widened by errors that halves share: rival answers, clipped noise, and misfit."""
        solution: _Solution = fitted.model
        parts = fitted.errors(self.n_splits)
        if parts.errors is not None and solution.rivals:
            rival_distances = [component_distances(solution.components, rival, "cone") for rival in solution.rivals]
            parts = parts.widen(np.mean(rival_distances, axis=0), self._max_distance)
        rows = to_dense(sample_rows(fitted.rows, _MAX_SAMPLE)[0]) / solution.unit
        weights = row_weights(rows, solution.components, "cone", self.n_jobs)
        limit, distances = find_error_limit(solution.components, "cone")
        gaps = missing_entries(rows)
        completed_rows = fill_gaps(rows, gaps, weights, solution.components)
        bend = Bend.compute(completed_rows, solution.components, "cone", self.n_jobs)
        misfit = measure_structure(completed_rows, solution.components, "cone", self._seed)
        clipped = estimate_clipping_bias(rows, solution.components, self.n_splits, self._seed, self.n_jobs)
        for common_error in (measure_freedom(solution.components, weights), clipped, bend.bias, misfit.bias(distances)):
            parts = parts.widen(common_error, self._max_distance)
        checks = self._build_checks(solution, rows, weights, parts, limit, bend, misfit)
        half, other_rows = fitted.first_half_and_other_rows()
        held_rows = to_dense(sample_rows(other_rows, _MAX_SAMPLE)[0])
        return checks + feature_prediction_checks(held_rows, half.components, "cone", self._seed), parts

    def _build_checks(
        self,
        solution: _Solution,
        rows: np.ndarray,
        weights: np.ndarray,
        parts: PartErrors,
        limit: float,
        bend: Bend,
        misfit: Misfit,
    ) -> list[Check]:
        gaps = missing_entries(rows)
        measured = FitMeasurements(
            fill_gaps(rows, gaps, weights, solution.components), solution.components, weights, "cone", np.ones(len(rows)),
            rows.shape[1], 0.0, np.ones(len(weights.T)), 0 if gaps is None else int(np.count_nonzero(gaps)),
        )  # fmt: skip
        checks = error_checks(parts, limit, "mean |w - w'|", "of unit length", "component")
        checks += [
            Check(
                "certificate", "|M - A W| / lower bound", self.certificate_, at_most(1.2),
                "No factorization with as many components has an error below the lower bound: at 1 none is better.",
                "Theorem 2.49", "note", "A better factorization may exist: raise n_init.",
            ),
            distinguishing_check(solution.components, weights),
            bend.check(limit),
            structure_check(misfit),
            surplus_check(measured),
        ]  # fmt: skip
        checks.append(
            Check(
                "freedom of the factors", "", float(measure_freedom(solution.components, weights).mean()), None,
                "How far a component of unit length can be moved along another with the same A W; expected errors include it.",
                "section 2.2",
            )
        )  # fmt: skip
        checks.append(
            Check(
                "other answers that are as good", "", float(len(solution.rivals)), None,
                f"Number of other answers whose error is within {_EQUAL_ERROR - 1:.1%} of the least, among {_N_FOLLOWED} "
                "starts that were followed to the end.",
                "section 2.7",
            )
        )  # fmt: skip
        expect = column_predictor(rows, solution.components, "cone", self.n_jobs)
        return checks + gaps_checks(solution.missing, LEFT_OUT, rows, expect, self._seed)

    def _distances(self, second: ApproximateNMF) -> np.ndarray:
        return component_distances(self.components_, second.components_, "cone")

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def net_size(self, eps: float | None = None) -> float:
        """Return the number of convex programs in the net of section 2.7 for a relative error ``eps``.

        Parameters
        ----------
        eps : float, optional
            By default the error of the fit.

        Returns
        -------
        float
        """
        eps = self.relative_error_ if eps is None else eps
        check_parameter("eps", eps, Number(0, 1))
        r = len(self.components_)
        cutoff = bounds.approximate_factorization_bounds(float(eps), r).cutoff
        of_rows = r * r * math.log1p(2 * math.sqrt(r) * cutoff / eps)
        of_directions = r * (r - 1) * math.log1p(2 / min(eps / (cutoff * r), 0.1))
        logarithm = of_rows + of_directions
        return math.exp(logarithm) if logarithm < math.log(np.finfo(float).max) else math.inf

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@dataclass(frozen=True)
class _Attempt:
    """Components and their relative error."""

    components: np.ndarray
    error: float


@dataclass(frozen=True)
class _Solution:
    """Result of the search, in the units of the table."""

    components: np.ndarray
    shares: np.ndarray
    error: float
    bound: float
    length: float
    unit: float
    starts: np.ndarray
    rivals: list[np.ndarray]
    missing: float


def _check_nonnegative(table: Table) -> None:
    entries = table.rows.data if sparse.issparse(table.rows) else table.rows
    smallest = float(np.fmin.reduce(entries, axis=None, initial=0.0))
    if smallest < 0:
        raise LatentiaError(
            f"Negative values in data: expected numbers of at least 0, the least is {smallest * table.unit:.3g}. Set those "
            "that are noise to zero, or use SeparableNMF."
        )


def _choose_followed(attempts: Sequence[_Attempt]) -> list[_Attempt]:
    """Return the first attempt, so that more starts never raise the error, and the best others."""
    chosen, remaining = [attempts[0]], [*attempts[1:]]
    while remaining and len(chosen) < _N_FOLLOWED:
        chosen.append(remaining.pop(_find_best(remaining)))
    return chosen


def _find_best(attempts: Sequence[_Attempt]) -> int:
    """Return the number of the first attempt with the least error; errors that differ by rounding are equal."""
    limit = (1 + _SAME_ERROR) * min(attempt.error for attempt in attempts) + _EXACT
    return next(i for i, attempt in enumerate(attempts) if attempt.error <= limit)


def _list_equally_good(finished: list[_Attempt]) -> list[np.ndarray]:
    """Return the components of other attempts that are as good as the best."""
    best = finished[_find_best(finished)]
    return [
        attempt.components
        for attempt in finished
        if attempt is not best and attempt.error <= _EQUAL_ERROR * best.error + _EXACT
    ]
