"""Separable nonnegative factorization: rows that are mixtures of a few of them.

Model. X = A W + noise, A >= 0. Each of the r rows of W, the components, is a row of X: some rows are one component alone (pure
pixels of an image, anchor words of a word table). Rows of A sum to one ("simplex"), or to anything ("cone"); then only the
direction of a component is known, and rows are scaled to sum to one first.

The components are then the vertices of the hull of the rows, and finding them is geometry, not search: one answer, in
polynomial time, where nonnegative factorization in general is hard.

Source: R. Ge, thesis, Princeton 2013, sections 2.5, 2.6 and 3.5 and Algorithm 4.3 (with S. Arora, R. Kannan, A. Moitra).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from .. import _fields as of
from .._parameters import Choice, Flag, NComponents, Number, OrNone, Seed
from .._validation import gaps_of, missing_cells, table_blocks
from ..evidence import Check, PartErrors, mean_repeat_shares
from ..exceptions import EvidenceWarning, LatentiaError, warn
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Subset, fit_alone
from ..likelihood import Refine, Refinement, over
from ..linalg import complete_table
from ..moments import ColumnSpan, span_without_constants
from ..passes import Blocks, Folds, accumulate, assign_folds, sample_rows
from ._anchors import (
    METHODS,
    Members,
    Method,
    Selection,
    average_members,
    pool_members,
    search_vertices,
    select_by_residual,
)
from ._descent import Descent, FactorSums, FactorUpdate, row_weights, run_rounds
from ._evidence import (
    FitMeasurements,
    NewNoiseFits,
    column_predictor,
    component_distances,
    evidence_checks,
    gaps_checks,
)
from ._misfit import ROWS, measure_followed_structure
from ._model import FactorModel, to_dense
from ._points import Points, Table, read_table

Mixing = Literal["simplex", "cone"]
_SIMPLEX_MARGIN = 1.1  # the simplex is taken if its residual variance is within this multiple of the cone's
_NEGLIGIBLE = 1e-20  # share of the rows' squared length that counts as zero
_MAX_RESAMPLED_ROUNDS = 30  # rounds of descent in a fit with new noise
_MAX_SAMPLE = 2000  # rows whose evidence is measured


class _Rows(NamedTuple):
    """All rows, and whether they are nonnegative."""

    table: Table
    nonnegative: bool


class _Vertices(NamedTuple):
    """Points of a search, the vertices among them, and the vertices averaged over near points."""

    points: Points
    selection: Selection
    pooled: Selection


class _Factors(NamedTuple):
    """Components, the points that they are averages of, sums of a pass with them, shares, and the rounds."""

    components: np.ndarray
    members: Selection
    sums: FactorSums
    shares: np.ndarray
    refinement: Refinement
    n_passes: int


_COMPLETION_NOTE = "They were completed to a table of low rank. Expected errors treat them as observed."


class SeparableNMF(FactorModel[_Rows, _Factors]):
    """Nonnegative factorization whose components are rows of the data.

    Choose it where some rows are one component alone, or nearly: pixels of a spectral image, samples of a mixture experiment,
    words by documents (transpose a document table, then the anchors are words). There is one answer, no seed and no restarts.
    Where no row is pure, use `ApproximateNMF` or scikit-learn's ``NMF``; the evidence says whether that is so.

    It can stand where scikit-learn's ``NMF`` stands.

    Parameters
    ----------
    n_components : int, "auto" or several, default=5
        Number of components r. A range or list tries each value and keeps the one the evidence recommends; so does "auto". See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    method : str, default="auto"
        Search for the vertices. "auto" runs "spa", "farthest", "whitened", "spa-spa" and "snpa", and takes the answer with the
        least residual.

        - "spa": farthest from the span of those chosen (successive projections);
        - "farthest": from the affine span, then each once more (Algorithm 4.3);
        - "whitened", "spa-spa": "spa" after whitening, or after the vertices of a first search were made orthonormal:
          for components that nearly depend on each other;
        - "snpa": farthest from the hull of those chosen: for more components than dimensions, and against noise in weak
          directions;
        - "robust-lp": far from the hull of the rows that are not near (Theorem 2.48), for noise of ``eps``.
    mixing : {"auto", "simplex", "cone"}, default="auto"
        Whether weights of a row sum to one ("simplex"). "auto" takes "simplex" if its residual is hardly larger.
    eps : float, optional
        l1 noise of a row, for "robust-lp": in the units of the data, or for "cone" of rows that sum to one. By
        default the least of a series that leaves r groups of loners.
    pooled : bool, default=True
        Whether a component is the mean of the rows near its anchor, if that lowers the expected error. False keeps the anchors.
    refine : int or "auto", default=0
        Largest number of rounds of coordinate descent from the components, each a pass over the data. Rounds end when the rows
        are in the hull but for noise, or when the error converges; components are then no longer rows of the data. Where rows
        have structure beyond r components, which rounds would fit, the vertices stay and ``n_iter_`` is 0.
    n_splits : int, default=3
        Number of refits with new noise for the expected errors; each costs a search. With 0 there are no expected errors.
    random_state : int, default=0
        Seed of the new noise. The components do not depend on it.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    anchors_ : ndarray of int, shape (r,)
        Rows of the data that stand for the components.
    components_ : ndarray of shape (r, d)
        Rows of W, in the units of the data, the one with the largest share first.
    weights_ : ndarray of shape (r,)
        Mean share of each component in a row: of its weights, or for "cone" of its sum.
    method_ : str
        The chosen search.
    mixing_kind_ : {"simplex", "cone"}
    reconstruction_err_ : float
        |X - A W| in the Frobenius norm.
    relative_error_ : float
        The same over |X|.
    refinement_ : ndarray of shape (n_rounds,)
        Log-likelihood of the rows in every round, in nats, at its best variance of the noise.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are distances |w - w'| to the true components, over
        the root mean square length of components; for "cone" of components scaled to unit length.
    n_passes_ : int
        Number of passes over the data.

    Notes
    -----
    All rows are held in memory. Rows of more than twice 3 r + 20 features are replaced by their coordinates on that many
    leading singular vectors, which keep what tells components apart; means of rows are taken with all features.

    Differences from the thesis:

    1. Rows that sum to less than a tenth of the median row's sum are not scaled to one: their noise would be (all rows are, in
       the thesis).
    2. "auto", "pooled" and "refine" are not in the thesis, nor are "whitened", "spa-spa" and "snpa". Its linear programs as
       printed are functions of `latentia.papers.nmf`.
    3. Theorem 2.48's constant is mended: the neighbourhood is 10 eps / alpha + 2 eps.
    4. Entries may be negative, with a warning: what is asked of the weights does not need positive rows.
    5. Cells may be missing, at random: the rows are then completed to a table of rank r, and fitted as whole ones.

    References
    ----------
    R. Ge, thesis 2013, sections 2.5, 2.6, 3.5, 4.2. S. Arora, R. Ge, R. Kannan, A. Moitra, STOC 2012.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.nmf import SeparableNMF
    >>> data = planted.separable_rows(500, 60, 4, n_pure=3, noise=0.02)
    >>> X = data.X.clip(0)
    >>> model = SeparableNMF(4).fit(X)
    >>> model.transform(X).shape
    (500, 4)
    """

    _gaps: np.ndarray | None = None  # within a fit, the cells that are missing
    _rival: ClassVar[str] = "It includes the distance to a rival, least squares from all rows."
    _constraints: ClassVar = {
        "method": Choice(*METHODS),
        "mixing": Choice("auto", "simplex", "cone"),
        "eps": OrNone(Number(0)),
        "pooled": Flag(),
    }
    anchors_: Annotated[np.ndarray, of.places("K")]
    method_: str
    mixing_kind_: Mixing
    refinement_: Annotated[np.ndarray, of.numbers("*")]
    n_iter_: Annotated[int, of.count()]
    converged_: bool

    def __init__(
        self,
        n_components: NComponents = 5,
        *,
        method: Method = "auto",
        mixing: Literal["auto", "simplex", "cone"] = "auto",
        eps: float | None = None,
        pooled: bool = True,
        refine: Refine = 0,
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.mixing = mixing
        self.eps = eps
        self.pooled = pooled
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None) -> SeparableNMF:
        """Find the components.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, d)
            NaN is a cell that is missing, in tables that are neither sparse nor Blocks; every row and column must have one that
            is there.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, or if X has infinite entries, or a row or column without a cell.
        """
        rows = table_blocks(self, X, reset=True, missing=True)
        gaps = None if isinstance(X, Blocks) else gaps_of(rows)
        self._gaps = gaps
        self._fit_varying(rows)
        del self._gaps
        return self

    def _span_of(self, rows: Any, more: Sequence[Any]) -> ColumnSpan | None:
        return span_without_constants(rows)

    def _fit_rows(self, rows: Blocks, *more: Any) -> SeparableNMF:
        self._gaps = None if self._gaps is None else missing_cells(rows)
        return self._fit_stages(rows if self._gaps is None else self._complete(rows, self._gaps))

    def _complete(self, rows: Blocks, gaps: np.ndarray) -> Blocks:
        """Complete the rows to a table of rank ``n_components``; nonnegative if the observed cells are."""
        table = np.vstack([np.asarray(block[0], dtype=np.float64) for block in rows])
        filled = complete_table(table, gaps, self.n_components)
        return Blocks.from_array(np.maximum(filled, min(float(np.nanmin(table)), 0.0)), names=rows.names)

    def _assign_folds(self, rows: Blocks) -> Folds:
        return Folds(1, self._seed)  # errors come from refits with new noise, not from parts of the rows

    def _moments(self, rows: Blocks, folds: Folds) -> _Rows:
        """Return the rows themselves, for the search."""
        table = read_table(rows)
        return _Rows(table, self._check_signs(table))

    def _recover(self, moments: _Rows, subset: Subset, choices: Any) -> _Vertices:
        """Find vertices, on the simplex or in the cone, and the rows near each."""
        points, selection = self._select_vertices(moments.table)
        return _Vertices(points, selection, self._pool(points, selection))

    def _refine(self, recovered: _Vertices, moments: _Rows, subset: Subset, choices: Any) -> _Factors:
        """Run rounds of descent, then a pass with the last components; sort them by share."""
        table, mixing, sample = moments.table, recovered.points.mixing, recovered.points.subsample(_MAX_SAMPLE)
        components = table.average_members(recovered.pooled.members, recovered.points)
        descent = Descent(outside=lambda now: self._measure_outside(sample, now))
        start = FactorUpdate(components, mixing, descent, moments.nonnegative, 1 / table.unit)
        refinement = run_rounds(start, over(subset.rows, self.n_jobs, self.verbose), self.refine)
        before, after = (sample.project_components(values) for values in (components, *refinement.values))
        if descent.errors and measure_followed_structure(
            table.scale_rows(recovered.points, _MAX_SAMPLE), sample.points, before, after, mixing, self._seed
        ):
            refinement = Refinement.no_steps(components)
        final = start.move_to(*refinement.values)
        _require_components(final.components, mixing)
        sums: FactorSums = accumulate(subset.rows, final, self.n_jobs)
        order = np.argsort(-sums.shares, kind="stable")
        members = [recovered.pooled.members[k] for k in order]
        return _Factors(
            final.components[order], recovered.pooled._replace(members=members), sums, sums.shares[order],
            refinement, len(descent.errors),
        )  # fmt: skip

    def _set_fitted_attributes(self, fitted: Fitted[_Rows, _Factors]) -> None:
        model = fitted.model
        table: Table = fitted.moments.table
        self.components_, self.anchors_ = model.components * table.unit, table.first[model.members.anchors]
        self.weights_ = model.shares / max(float(model.sums.shares.sum()), np.finfo(float).tiny)
        self.method_, self.mixing_kind_ = fitted.recovered.selection.method, fitted.recovered.points.mixing
        self.reconstruction_err_ = float(np.sqrt(model.sums.residual_energy)) * table.unit
        self.relative_error_ = model.sums.relative_error
        self._set_refinement_attributes(model.refinement)
        self.n_passes_ = 2 + model.n_passes

    def _checks(self, fitted: Fitted[_Rows, _Factors]) -> tuple[list[Check], PartErrors]:
        """Return errors of fits to rows with new noise, and checks of the theorem's assumptions."""
        points, selection, _ = fitted.recovered
        model = fitted.model
        members, table = model.members, fitted.moments.table
        rounds, vertices = len(model.refinement.log_likelihood), members.vertices(points.points)
        measured = self._measure(points, points.project_components(model.components) if rounds else vertices)
        sizes = np.array([len(rows_of) for rows_of in members.members])
        counts = (measured.weights**2).sum(axis=0) if rounds else sizes
        measured, eps = replace(measured, counts=counts), self._scale_eps(table, selection.scaled)
        rounds = min(rounds, _MAX_RESAMPLED_ROUNDS)
        redrawn = NewNoiseFits.compute(
            measured, lambda simulated: self._refit(measured, selection, simulated, eps, rounds), self.n_splits, self._seed
        )  # fmt: skip
        rows = to_dense(sample_rows(fitted.rows, _MAX_SAMPLE)[0]) / table.unit
        rival_vertices = {name: average_members(points.points, rows_of) for name, rows_of in selection.rivals.items()}
        samples = table.scale_rows(points, ROWS), points.subsample(ROWS).points
        moves = component_distances(measured.vertices, vertices, points.mixing)
        checks, parts = evidence_checks(
            measured, redrawn, rows, samples, moves, model.components, rival_vertices, self._seed
        )
        return checks + self._gaps_checks(fitted, model.components), parts

    def _gaps_checks(self, fitted: Fitted[_Rows, _Factors], components: np.ndarray) -> list[Check]:
        if self._gaps is None:
            return []
        (rows,) = sample_rows(Blocks.from_array(np.where(self._gaps, np.nan, fitted.rows.table())), _MAX_SAMPLE)
        scaled_rows = rows / fitted.moments.table.unit
        predict = column_predictor(scaled_rows, components, fitted.recovered.points.mixing, self.n_jobs)
        return gaps_checks(float(self._gaps.mean()), _COMPLETION_NOTE, scaled_rows, predict, self._seed)

    def _repeat_shares(self, fitted: Fitted[_Rows, _Factors]) -> np.ndarray | None:
        """Compare the weights of rows with those of fits to halves: a half has a component if it has another row like it."""
        folds, halves = assign_folds(fitted.rows, self._seed), []
        settings = {"method": self.method_, "mixing": self.mixing_kind_, "refine": 0}
        for half in folds.splits[0] if self.n_splits else ():
            with contextlib.suppress(LatentiaError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                half_fit = fit_alone(self, fitted.rows.group(half, folds), settings)
                half_fit.method._set_fitted_attributes(half_fit)
                component_view = half_fit.method._component_view(fitted)
                halves += [] if component_view is None else [component_view]
        return mean_repeat_shares(self._component_view(fitted), halves)

    def _check_signs(self, table: Table) -> bool:
        """Return True if all entries are nonnegative; warn if not."""
        entries = table.rows.data if sparse.issparse(table.rows) else table.rows
        smallest = float(entries.min(initial=0.0))
        if smallest < 0:
            share = float((entries < 0).sum()) / max(table.rows.shape[0] * table.rows.shape[1], 1)
            warn(
                f"{share:.1%} of the entries are negative, the least is {smallest * table.unit:.3g}. Weights will be "
                "nonnegative, components may have negative entries. If they should not, set them to zero first.",
                EvidenceWarning,
            )
        return smallest >= 0

    def _select_vertices(self, table: Table) -> tuple[Points, Selection]:
        """Return the vertices of the best search; on the simplex, unless the cone has a clearly smaller residual."""
        cone = self._search(table, "cone") if self.mixing == "cone" else None
        if cone is not None and self.method != "auto":
            return cone[0], Selection.from_best(cone[1], self.method, self.method, scaled=True)
        plain_points, simplex_candidates = self._search(table, "simplex")
        winner, simplex_residual = select_by_residual(simplex_candidates, plain_points.points, "simplex", self.n_jobs)
        simplex = plain_points, Selection.from_best(simplex_candidates, winner, winner, scaled=False)
        if self.mixing == "simplex":
            return simplex
        try:
            scaled_points, cone_candidates = cone or self._search(table, "cone")
        except LatentiaError:
            return simplex
        candidates = {(name, False): members for name, members in simplex_candidates.items()}
        candidates |= {(name, True): members for name, members in cone_candidates.items()}
        best, cone_residual = select_by_residual(candidates, plain_points.points, "cone", self.n_jobs)
        n_free = max(table.rows.shape[1] - self.n_components, 1)
        limit = _SIMPLEX_MARGIN * cone_residual * (n_free + 1) / n_free + _NEGLIGIBLE * plain_points.energy
        if self.mixing == "auto" and simplex_residual <= limit:
            return simplex
        return scaled_points, Selection.from_best(candidates, best, best[0], scaled=best[1])

    def _search(self, table: Table, mixing: Mixing) -> tuple[Points, dict[str, Members]]:
        points = table.points(mixing, self.n_components, self._seed, exact=self.method == "robust-lp")
        eps = self._scale_eps(table, mixing == "cone")
        return points, search_vertices(self.method, points.points, self.n_components, eps=eps, n_jobs=self.n_jobs)

    def _scale_eps(self, table: Table, scaled: bool) -> float | None:
        """Return the noise of a row in the units of the points."""
        return self.eps if self.eps is None or scaled else self.eps / table.unit

    def _pool(self, points: Points, selection: Selection) -> Selection:
        if not self.pooled:
            return selection
        measured = self._measure(points, selection.vertices(points.points))
        return pool_members(points.points, selection, measured.weights, *measured.sizes)

    def _measure(self, points: Points, vertices: np.ndarray) -> FitMeasurements:
        weights = row_weights(points.points, vertices, points.mixing, self.n_jobs)
        return FitMeasurements(
            points.points,
            vertices,
            weights,
            points.mixing,
            points.scales,
            points.dimension,
            points.outside,
            np.ones(len(vertices)),
        )

    def _measure_outside(self, points: Points, components: np.ndarray) -> float:
        """Return the squared distance of the points from the hull of components, over that by noise."""
        return self._measure(points, points.project_components(components)).outside_noise(self._seed, self.n_jobs)

    def _refit(
        self, measured: FitMeasurements, selection: Selection, simulated: np.ndarray, eps: float | None, rounds: int
    ) -> FitMeasurements:
        """Repeat the fit on points with new noise."""
        scales = measured.scales[:, None]
        searched = simulated if selection.scaled else simulated / np.where(scales > 0, scales, 1.0)
        method: Any = selection.method
        candidates = search_vertices(method, searched, self.n_components, eps=eps, n_jobs=self.n_jobs)
        vertices = Selection.from_best(candidates, selection.method, selection.method, selection.scaled)

        refit = measured.refit(simulated, vertices.vertices(simulated), self.n_jobs)
        if self.pooled:
            refit = measured.refit(
                simulated,
                pool_members(simulated, vertices, refit.weights, *refit.sizes).vertices(simulated),
                self.n_jobs,
            )
        if rounds:
            descent = Descent(
                outside=lambda now: refit.refit(simulated, now, self.n_jobs).outside_noise(self._seed, self.n_jobs)
            )
            update = FactorUpdate(refit.vertices, measured.mixing, descent, bool(simulated.min() >= 0))
            refinement = run_rounds(update, over(Blocks.from_array(simulated), self.n_jobs), rounds)
            refit = measured.refit(simulated, refinement.values[0], self.n_jobs)
        return refit

    def _distances(self, second: SeparableNMF) -> np.ndarray:
        return component_distances(self.components_, second.components_, self.mixing_kind_)


def _require_components(components: np.ndarray, mixing: str) -> None:
    if not components.any():
        message = "all components are zero, because most rows have no positive sum. Use mixing='simplex'."
        raise LatentiaError(message, parameter="mixing", value=mixing)
