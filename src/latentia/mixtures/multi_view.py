"""Mixtures of views that are independent given the component, such as mixtures of product distributions.

Model. A row draws a component h with P(h = k) = w_k, and then each of its views x_1, x_2, x_3, ... independently from
distributions of which only the means matter, E[x_a | h = k] = mu_ak. Views may differ in kind and dimension.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.3, Theorem 7.5.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from .. import _fields as of
from .._frames import column_names_of, frame_of
from .._parameters import NComponents, OrNone, Seed
from .._validation import check_same_rows, finite_blocks, not_empty, number_table, weighted
from ..comparing.profile import Profile
from ..evidence import (
    Check,
    ComponentView,
    PartErrors,
    TensorMeasured,
    ViewMisfits,
    convergence_checks,
    count_parameters,
    error_checks,
    missing_checks,
    separation_limit,
    tensor_checks,
    trivial_checks,
)
from ..exceptions import LatentiaError
from ..fitting.base import fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..likelihood import Refine, Refined, Refinement, log, normalised, over, race, refine
from ..metrics import nearest_others
from ..moments import (
    ColumnMoments,
    ColumnSpan,
    CommonFrame,
    ObservedColumns,
    ViewMoments,
    ViewSums,
    common_frame,
    fill_missing,
    frame_noise,
    independent_rows,
    observed_columns,
    principal_coordinates,
    residual_across_views,
    residual_within_views,
    tensor_residual,
)
from ..passes import Blocks, Folds, accumulate, sample_rows
from ..tensor import Decomposition, decompose
from ._columns import ColumnFeatures, Columns, Kinds, Table, learn_columns
from ._emissions import FLOOR, Emissions, MultiKindEmissions, UniformEmissions
from ._linear import build_dependence_checks, compute_linear_scores, compute_linear_shares
from ._methods import MixtureMethods
from ._view_span import find_view_span, reduce_views, select_by_view
from ._view_split import propose_splits

_OVERSAMPLE = 12
_RACE_STEPS, _RACE_ROWS = 10, 10_000  # number of EM steps, and of rows, that compare view splits
_ONE_KIND = ("bernoulli", "gaussian")


class _ColumnDescriptions:
    """Descriptions of the columns of a mixture of views."""

    @property
    def view_columns(self: Any) -> list[list[Any]] | None:
        """Columns of each view, by number or name; None if views are tables."""
        return self._layout.columns

    @property
    def feature_names(self: Any) -> list[list[str]] | None:
        """Names of the features of each view; a category has one feature for every value."""
        return self._layout.names

    @property
    def has_densities(self: Any) -> bool:
        """True if rows have densities; False without a distribution within views."""
        return self._emissions is not None

    @property
    def kinds(self: Any) -> dict[str, str] | None:
        """Kinds of the columns of a "mixed" table by name: "gaussian", "categorical" or "poisson"; else None."""
        return None if self._columns is None else dict(zip(self._columns.names, self._columns.kinds, strict=True))

    @property
    def parameters(self: Any) -> list[tuple[str, str, np.ndarray]]:
        """Parameters of a "mixed" table: column, name of the parameter, and its value in each component, (K,)."""
        if self._columns is None:
            return []
        return self._columns.parameters(np.hstack(self.means_), np.hstack(self.variances_))

    @property
    def column_scales(self: Any) -> list[np.ndarray]:
        """Standard deviations of the columns of each view, the units of distances."""
        return self._scales

    @property
    def _emissions(self: Any) -> Emissions | None:
        """Distributions of the features; None without a distribution."""
        if self._columns is not None:
            return MultiKindEmissions(self._columns)
        return (
            None
            if self.distribution is None
            else UniformEmissions(str(self.distribution), _join_tables, self._layout.place)
        )


class MultiViewMixture(_ColumnDescriptions, MixtureMethods, Staged["_Moments", Refined]):
    """Mixture of views that are independent given the component, fitted by tensor decomposition.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every component.

    Choose it for three or more groups of measurements that share nothing but the class (words in three parts of a text, three
    sensors, three blocks of a questionnaire), or for one table whose features are independent given the class, split in three.
    Columns of one data frame may be numbers, categories and counts. Without a distribution nothing is assumed within a view. In
    every view the means must be affinely independent, which takes at least K - 1 features there.
    Cells may be missing (NaN).

    Parameters
    ----------
    n_components : int, "auto" or several, default=5
        Number of components K.
        A range or list tries each value and keeps the one the evidence recommends; "auto" tries 2 to 100. See
        ``n_components_``, ``recommendation_`` and ``comparison_``. Each number costs a fit.
    distribution : {None, "bernoulli", "gaussian", "mixed"}, list or dict, default=None
        Distribution of every feature given the component, all features being independent: ``refine``, `predict` and
        `score` need one. "gaussian" has a variance for each feature and component. "mixed" is for one table whose columns are
        numbers, categories and counts, by their types (see *Notes*). A list gives the kind of every column, a dict of some
        columns by name: "gaussian", "categorical" or "poisson". None assumes nothing, and the fit finds means and weights only;
        for one data frame without ``views``, None means "mixed".
    refine : int or "auto", default="auto"
        EM under ``distribution``, from the moments: "auto" makes accelerated steps until they converge, a number that
        many plain steps, each a pass over the data. 0 keeps to the theorem, and so does "auto" without a distribution. See
        ``refinement_``, and *EM has converged* in the evidence.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They need no pass over the
        data; with ``refine`` a single split is used, which costs as much as refining. With 0 no errors are measured.
    random_state : int, default=0
        Seed of the starts and splits. None or a RandomState draws a seed.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    means_ : list of ndarray of shape (K, D_a)
        Means of every view, in order of decreasing weight. For "mixed" columns: means of numbers, rates of counts, and
        probabilities of every value of a category, by ``feature_names``; ``tables["columns"]`` lists them by column.
    weights_ : ndarray of shape (K,)
    variances_ : list of ndarray of shape (K, D_a)
        Variances of the features, with ``distribution="gaussian"`` and "mixed".
    evidence_ : Evidence
        Checks of the assumptions, and the expected l2 error of every component over all features, in standard deviations
        of the data (``component_errors``), larger if the fit misses more of the moments than noise explains.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        True if further steps would gain only a negligible amount; only ``refine="auto"`` checks this.
    n_passes_ : int
        Number of passes over the data, without those for the expected errors.

    Notes
    -----
    Differences from the thesis:

    1. Views may have any dimension: each is reduced to the K leading singular directions of its cross moments.
    2. A constant is appended to every view, so that K means need only be affinely independent, and features are
       scaled to unit variance.
    3. The three views are symmetrised together, and the third moment is averaged over the six orders of the views,
       where Theorem 7.5 singles out one view (see `latentia.moments`).
    4. Means are weighted averages of the rows, with weights that are linear in the other views, scaled to sum one.
    5. Entries may be missing: moments use the observed entries, divided by their shares, and EM skips missing ones. Moments
       assume that entries of one view are missing independently of those of another given the component.
    6. More than three views are joined into three: view i goes to group i mod 3.
    7. "mixed": a category is a feature of 0 and 1 for each of its values, whose mean is its probability. The columns are split
       into three views such that a few steps of EM reach the highest likelihood. By type, floats are numbers; texts, truth
       values and categories are categories, and so are whole numbers with two values; other whole numbers from 0 are counts if
       their mean is at most 20, and numbers otherwise. Whole floats with gaps are whole numbers.

    References
    ----------
    R. Ge, thesis 2013, section 7.3.3. A. Anandkumar, R. Ge, D. Hsu, S. Kakade, M. Telgarsky, Tensor
    decompositions for learning latent variable models, JMLR 2014.

    Examples
    --------
    >>> from latentia.datasets import planted
    >>> from latentia.mixtures import MultiViewMixture
    >>> data = planted.product_mixture(20_000, n_components=3, n_features=30)
    >>> model = MultiViewMixture(3).fit(data.X, views=[range(10), range(10, 20), range(20, 30)])
    >>> [means.shape for means in model.means_]
    [(3, 10), (3, 10), (3, 10)]
    """

    _constraints: ClassVar = {"distribution": OrNone(Kinds())}
    _compared = ("means_", "_scales", "_layout", "_columns")
    n_features_in_: Annotated[int, of.optional(of.count())]
    means_: Annotated[list[np.ndarray], of.numbers("K #")]
    variances_: Annotated[list[np.ndarray], of.optional(of.numbers("K #", of.MIN_MAGNITUDE))]
    _scales: Annotated[list[np.ndarray], of.numbers("#", of.MIN_MAGNITUDE)]
    _layout: _Layout
    _columns: Annotated[Columns | None, of.optional(of.Field())] = None

    def __init__(
        self,
        n_components: NComponents = 5,
        *,
        distribution: str | Sequence[str] | Mapping[str, str] | None = None,
        refine: Refine = "auto",
        n_splits: int = 3,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.distribution = distribution
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, y: Any = None, *, views: Any = None, sample_weight: Any = None) -> MultiViewMixture:
        """Learn the mixture.

        Parameters
        ----------
        X : list of three or more tables of shape (n_rows, D_a), or one of shape (n_rows, D), or Blocks of three or more parts
            One table, such as a data frame, may have columns of several kinds: see ``distribution``.
            NaN is a missing entry in dense tables; every row and column must have an observed entry.
        y : ignored
        views : list of lists of columns, optional
            For one table: the columns, by number or name, of each of three or more views.
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if there are fewer than three views, if they differ in rows, if X has
            infinite entries, or if a row or column has no entry at all.
        """
        blocks = self._encode(X, views) if _is_mixed(self.distribution, X, views) else _read_views(X, views)
        blocks = weighted(blocks, sample_weight)
        self._layout = (
            _build_layout(blocks, X, views) if self._columns is None else _build_column_layout(self._columns, blocks)
        )
        self._check_count(blocks)
        return self._fit_stages(blocks) if self._columns is not None else self._fit_in_span(blocks)

    def _fit_in_span(self, rows: Blocks, *more: Any) -> MultiViewMixture:
        """Fit on the independent columns of all views, and extend the result to all columns."""
        layout, span = self._layout, find_view_span(rows, self.distribution is not None)
        if span is None:
            return self._fit_stages(rows)
        kept_columns = select_by_view(span, layout.widths)
        span.tell([layout.place(column).removeprefix("column ") for column in range(sum(layout.widths))])
        self._layout = layout.select(kept_columns)
        self._check_count(rows)
        self._fit_stages(reduce_views(rows, kept_columns))
        self._layout, self._span = layout, span
        self.means_ = layout.split(span.points(np.hstack(self.means_)))
        if "variances_" in vars(self):
            self.variances_ = layout.split(np.maximum(span.variances(np.hstack(self.variances_)), of.MIN_MAGNITUDE))
        self._scales = [
            _standard_deviations(statistics.moments) for statistics in observed_columns(rows, n_jobs=self.n_jobs)
        ]
        return self

    def _encode(self, X: Any, views: Any) -> Blocks:
        """Encode columns of several kinds as features, with one part per view."""
        if not isinstance(X, ColumnFeatures):
            if _is_several(X) and not (isinstance(X, Blocks) and len(X.shapes) == 1):
                raise LatentiaError("X: expected one table with columns of several kinds; found one table per view.")
            table = Table.from_data(X)
            view_columns = None
            if views is not None:
                view_columns = _columns_of_views(views, table.names if table.named else None, len(table.columns))
            columns, cells = learn_columns(table, self.distribution, view_columns)
            X = ColumnFeatures(columns, columns.encode(cells, is_fit=True))
            X = self._choose_split(propose_splits(X, self.n_components, self._seed)) if views is None else X
        self._columns = X.columns
        return X.blocks

    def _choose_split(self, splits: Sequence[ColumnFeatures]) -> ColumnFeatures:
        """Choose the split into views from whose moments a few steps of EM reach the highest likelihood, on some rows."""

        def climb(split: ColumnFeatures) -> tuple[float, ColumnFeatures]:
            model = copy(self)
            model._columns = split.columns
            model._layout = _build_column_layout(split.columns, split.blocks)
            model.refine = _RACE_STEPS
            model._check_count(split.blocks)
            rows = Blocks.from_array(*sample_rows(split.blocks, _RACE_ROWS))
            folds = model._assign_folds(rows)
            moments, part = model._moments(rows, folds), Subset(folds.all, folds, rows)
            refined = model._refine(model._recover(moments, part, None), moments, part, None)
            return float(refined.refinement.log_likelihood[-1]), split

        return race({str(i): split for i, split in enumerate(splits)}, climb).reached if self.refine else splits[0]

    def _moments(self, rows: Blocks, folds: Folds) -> _Moments:
        """Pass over the data: columns, coordinates of three joined views, and moments of four groups of rows."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        layout, column_statistics, emissions = self._layout, observed_columns(rows, **options), self._emissions
        columns = _check_columns([column.moments for column in column_statistics], rows, emissions)
        scales = [_standard_deviations(column) for column in columns]
        inverse = [np.where(c.variance > 0, 1.0 / scale, 0.0) for c, scale in zip(columns, scales, strict=True)]
        grouped = _join_views(_fill_missing(rows, column_statistics), layout.view_groups)
        results = [
            principal_coordinates(
                grouped, self.n_components + _OVERSAMPLE, np.concatenate([columns[i].mean for i in views]),
                scale=np.concatenate([inverse[i] for i in views]), part=part, random_state=self._seed, **options,
            )
            for part, views in enumerate(layout.view_groups)
        ]  # fmt: skip
        coordinates, n_passes = [view for view, _ in results], sum(n for _, n in results)
        squares = emissions is not None and emissions.squares
        statistic = ViewMoments(coordinates, lambda block: (block, folds.of(block.rows)), folds.n, squares=squares)
        sums = accumulate(grouped, statistic, **options)
        has_gaps = not all(column.is_complete for column in column_statistics)
        shares = [column.share for column in column_statistics] if has_gaps else None
        return _Moments(layout, columns, shares, scales, statistic, sums, folds, n_passes + 2)

    def _recover(self, moments: _Moments, subset: Subset, choices: Any) -> _Recovery:
        """Recover the mixture from two whitened views and the third moment of three."""
        return _recover(moments, subset.groups, self.n_components, self._seed)

    def _refine(self, recovered: _Recovery, moments: _Moments, subset: Subset, choices: Any) -> Refined:
        """Refine the mixture by EM on the rows."""
        return self._run_em(recovered.mixture, moments, subset)

    def _restart(self, model: Refined, moments: _Moments, subset: Subset) -> Refined | None:
        return self._run_em(model.parameters, moments, subset) if self._steps else None

    def _distance(self, first: Refined, second: Refined, moments: _Moments) -> np.ndarray:
        return _nearest_distances(first.parameters.means, second.parameters.means, moments.scales)

    def _cost(self) -> Literal["free", "passes"]:
        return "passes" if self._steps else "free"

    def _checks(self, fitted: Fitted[_Moments, Refined]) -> tuple[list[Check], PartErrors]:
        """Check the misfit of the moments, expected errors, and the rival model of one component."""
        recovery: _Recovery = fitted.recovered
        moments = fitted.moments
        mixture: _Mixture = fitted.model.parameters
        measured = _measure_tensor(recovery, moments)
        misfits = _compute_misfits(mixture, recovery, moments, self._emissions, measured.surplus)
        distances = nearest_others(_scale_means(mixture.means, moments.scales), "euclidean")
        parts = fitted.errors(self.n_splits).widen(misfits.together(bool(self._steps)).bias(distances))
        self._keep_confusions(fitted, 0 if self._emissions is None else self.n_splits)
        checks = _checks(fitted.model, recovery, moments, parts, measured, misfits)
        if self._emissions is None:
            return checks + build_dependence_checks(_pair_held_out(fitted, self.n_splits), moments.scales), parts
        return checks + self._checks_of_rows(fitted.rows, moments), parts

    def _set_fitted_attributes(self, fitted: Fitted[_Moments, Refined]) -> None:
        mixture: _Mixture = fitted.model.parameters
        self.means_, self.weights_, self._scales = mixture.means, mixture.weights, fitted.moments.scales
        if mixture.variances is not None:
            self.variances_ = mixture.variances
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = fitted.moments.n_passes + len(self.refinement_)

    def _component_view(self, fitted: Fitted[_Moments, Refined]) -> ComponentView | None:
        """Return the rows' probabilities of components, or without a likelihood coordinates in the space of the means."""
        if self._emissions is not None:
            return super()._component_view(fitted)
        tables = sample_rows(fitted.comparison_rows)
        return ComponentView(
            compute_linear_shares(*compute_linear_scores(tables, self.means_, self.weights_, self._scales))
        )

    @property
    def _steps(self) -> Refine:
        """Steps of EM; none without a likelihood."""
        return 0 if self._emissions is None else self.refine

    def _run_em(self, mixture: _Mixture, moments: _Moments, part: Subset) -> Refined:
        """Run EM on the rows of a part."""
        emissions, layout = self._emissions, moments.layout
        if emissions is None or not self._steps:
            return Refined(
                (mixture if emissions is None else _complete_variances(mixture, emissions)).sorted(),
                Refinement.no_steps(),
            )
        shape = part.rows.n_rows, sum(layout.widths)
        rows = part.rows.map(lambda block: [emissions.table(block)], [shape])
        variances = None if mixture.variances is None else np.hstack(mixture.variances)
        update = emissions.update(np.hstack(mixture.means), variances, mixture.weights, np.concatenate(moments.scales))
        refinement = refine(update, over(rows, self.n_jobs, self.verbose), self._steps)
        means, variances_by_em, weights = emissions.unpack(refinement.values)
        view_variances = None if variances_by_em is None else layout.split(variances_by_em)
        return Refined(_Mixture(layout.split(means), weights, view_variances).sorted(), refinement)

    def _checks_of_rows(self, blocks: Blocks, moments: _Moments) -> list[Check]:
        """Check that the fit predicts better than one component, and the distributions on some rows."""
        emissions: Any = self._emissions
        rows = list(sample_rows(blocks))
        trivial, n_parameters = emissions.score_independent(
            _join_tables(rows),
            self.weights_,
            np.hstack(self.means_),
            np.hstack(self.variances_) if emissions.squares else None,
        )
        n_rows = round(independent_rows(moments.sum_groups(moments.folds.all), moments.halves))
        extra = count_parameters((len(self.weights_) - 1) * (n_parameters + 1), n_rows, bool(self._steps))
        joint = np.vstack(list(self._joint(Blocks.from_array(*rows))))
        posterior, log_likelihoods = normalised(joint, self.weights_)
        checks = trivial_checks(log_likelihoods, trivial, extra=extra, n_rows=n_rows, against="one component")
        checks += emissions.checks(_join_tables(rows), posterior, np.hstack(self.means_))
        return checks if moments.shares is None else checks + self._gaps_checks(_join_tables(rows))

    def _gaps_checks(self, table: np.ndarray) -> list[Check]:
        """Check on some rows whether cells are missing by their value, as other views predict it."""
        emissions: Any = self._emissions
        means, ends = emissions.clip_means(np.hstack(self.means_)), np.cumsum(self._layout.widths)
        variances = np.hstack(self.variances_) if emissions.squares else None

        def expect(is_observed: np.ndarray, target_columns: np.ndarray) -> np.ndarray:
            density = emissions.log_density(np.where(is_observed, table, np.nan), means, variances)
            return np.asarray(normalised(density + log(self.weights_), self.weights_)[0] @ means[:, target_columns])

        return missing_checks(table, expect, self._seed, np.split(np.arange(ends[-1]), ends[:-1]))

    def _check_parameters(self) -> None:
        if self.refine not in (0, "auto") and self.distribution is None:
            raise LatentiaError(
                "EM needs a likelihood: choose a distribution, 'bernoulli', 'gaussian' or 'mixed'.",
                parameter="refine", value=self.refine,
            )  # fmt: skip

    def _check_count(self, blocks: Blocks) -> None:
        k, widths = self.n_components, self._layout.group_widths
        if self._columns is not None:
            widths = [
                sum(self._columns.free(self._columns.views[i]) for i in views) for views in self._layout.view_groups
            ]
        if min(widths) < k - 1:
            raise LatentiaError(
                f"expected at least {k - 1} features in each of three views; found {', '.join(map(str, widths))}: this data "
                f"supports at most {min(widths) + 1} components.",
                at_most=min(widths) + 1, parameter="n_components", value=k,
            )  # fmt: skip
        if blocks.n_rows < 2 * k:
            raise LatentiaError(
                f"{blocks.n_rows} rows support at most {blocks.n_rows // 2} components.",
                at_most=blocks.n_rows // 2, parameter="n_components", value=k,
            )  # fmt: skip

    def _profile(self) -> Profile:
        names = self.feature_names
        columns = None if names is None else [name for view in names for name in view]
        return Profile(
            np.hstack(self.means_), self.weights_, columns, np.hstack(self._scales), cdist, missing="left out"
        )

    def _distances(self, other: MultiViewMixture) -> np.ndarray:
        return _nearest_distances(self.means_, other.means_, self._scales)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        if self._columns is not None:
            blocks = X.blocks if isinstance(X, ColumnFeatures) else self._columns.blocks(X)
            return [{"X": ColumnFeatures(self._columns, half)} for half in blocks.split(2, random_state)]
        views = None if _is_several(X) else fit_parameters.get("views", self._layout.columns)
        return [{"X": half} for half in _read_views(X, views).split(2, random_state)]

    # --- use ----------------------------------------------------------------------------------------------------

    def fit_predict(  # type: ignore[override]
        self, X: Any, y: Any = None, *, views: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Fit the mixture, and return the most probable component of every row, shape (n_rows,).

        Parameters
        ----------
        X : as in ``fit``
            Rows of all views.
        y : ignored
        views : list of lists of columns, optional
            As in ``fit``.
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        ndarray of int, shape (n_rows,)
        """
        return self.fit(X, views=views, sample_weight=sample_weight).predict(X)

    def _n_parameters(self) -> int:
        k, emissions = len(self.weights_), self._emissions
        d = len(self._span.kept) if "_span" in vars(self) else sum(self._layout.widths)
        return k - 1 + k * (d if emissions is None else emissions.n_parameters(d))

    def _joint(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the joint log-density of each row and component, (n, K), block by block."""
        emissions = self._emissions
        if emissions is None:
            raise LatentiaError(
                "the model has means but no densities: fit with 'bernoulli', 'gaussian' or 'mixed'.",
                parameter="distribution",
                value=None,
            )
        span = vars(self).get("_span") or ColumnSpan.all_columns(sum(self._layout.widths))
        means = emissions.clip_means(span.select(np.hstack(self.means_)))  # Moments may be out of range.
        variances = span.select(np.hstack(self.variances_)) if emissions.squares else None
        blocks, tables = self.views_of(X), emissions.table
        log_weights = np.log(np.maximum(self.weights_, np.finfo(float).tiny))
        return (emissions.log_density(span.select(tables(block)), means, variances) + log_weights for block in blocks)

    def views_of(self, X: Any) -> Blocks:
        """Return data like that of ``fit`` as blocks whose parts are the views.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Blocks of shape (n_rows, D), or a list of one table a view
            Rows with the columns of the fit.

        Returns
        -------
        Blocks

        Raises
        ------
        LatentiaError
            If the views have other columns than in the fit, or no rows.
        """
        if self._columns is not None:
            return not_empty(X if isinstance(X, Blocks) and len(X.shapes) > 1 else self._columns.blocks(X))
        layout, has_tables = self._layout, _is_several(X)
        if not has_tables and layout.columns is None:
            raise LatentiaError(f"Expected a list of {len(layout.widths)} tables, as in the fit.")
        blocks = _read_views(X, None if has_tables else layout.columns, layout.width)
        widths = [shape[1] for shape in blocks.shapes]
        if widths != layout.widths:
            raise LatentiaError(f"Expected views with {layout.widths} columns, as in the fit; found {widths}.")
        if not blocks.n_rows:
            raise LatentiaError("The data is empty: it has no rows.")
        names = _read_names(X, None if has_tables else layout.columns)
        for i, (found_names, expected_names) in enumerate(zip(names or [], layout.names or [], strict=False)):
            if found_names != expected_names:
                raise LatentiaError(
                    f"View {i + 1}: expected the columns {expected_names}, in this order, as in the fit; found {found_names}."
                )
        if not isinstance(X, Blocks):
            return blocks
        return finite_blocks(blocks, range(len(widths)), [f"view {i + 1}" for i in range(len(widths))], missing=True)

    def _check_fitted(self) -> None:
        layout, widths = self._layout, [mean.shape[1] for mean in self.means_]
        columns = layout.columns
        agree = layout.widths == widths and [len(scale) for scale in self._scales] == widths and len(widths) >= 3
        if columns is not None:
            agree = agree and [len(view) for view in columns] == widths and layout.width is not None
            agree = agree and all(isinstance(c, str) or 0 <= c < layout.width for view in columns for c in view)
        if self._columns is not None:
            self._columns.check()
            agree = agree and [sum(map(self._columns.size, view)) for view in self._columns.views] == widths
        emissions = self._emissions
        if emissions is not None and emissions.squares:
            agree = agree and [variance.shape for variance in self.variances_] == [mean.shape for mean in self.means_]
        if not agree:
            raise LatentiaError("the attributes disagree about the widths of the views")


# --- views --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """Layout of the features in views.

    Attributes
    ----------
    widths : list of int
        Number of features of every view.
    columns : list of list of (int or str), or None
        Columns of every view in the single table; None if each view is a table.
    width : int or None
        Number of columns of the single table.
    names : list of list of str, or None
        Names of the columns of every view, if the tables have names.
    """

    widths: Annotated[list[int], of.count(1)]
    columns: Annotated[list[list[Any]] | None, of.Field(types=("int64", "int32", "str"))]
    width: Annotated[int | None, of.count(1)]
    names: Annotated[list[list[str]] | None, of.Field(types=("str",))]

    @property
    def view_groups(self) -> list[list[int]]:
        """Views that are joined, for each of three groups."""
        return [list(range(i, len(self.widths), 3)) for i in range(3)]

    @property
    def group_widths(self) -> list[int]:
        return [sum(self.widths[i] for i in views) for views in self.view_groups]

    def select(self, kept_columns: Sequence[np.ndarray]) -> _Layout:
        """Select some columns of each view."""
        columns, names = (
            None
            if labels is None
            else [[view[i] for i in indices] for view, indices in zip(labels, kept_columns, strict=True)]
            for labels in (self.columns, self.names)
        )
        return _Layout([len(indices) for indices in kept_columns], columns, self.width, names)

    def split(self, table: np.ndarray) -> list[np.ndarray]:
        """Split an array of all features, (K, D), by view."""
        return list(np.split(table, np.cumsum(self.widths)[:-1], axis=1))

    def separate(self, grouped: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Split arrays of three joined views, (K, D), by view, in the views' order."""
        by_view: dict[int, np.ndarray] = {}
        for views, table in zip(self.view_groups, grouped, strict=True):
            ends = np.cumsum([self.widths[i] for i in views])[:-1]
            by_view |= dict(zip(views, np.split(table, ends, axis=1), strict=True))
        return [by_view[i] for i in range(len(self.widths))]

    def place(self, column: int) -> str:
        """Name a column of all views side by side, for messages."""
        ends = np.cumsum(self.widths)
        view = int(np.searchsorted(ends, column, side="right"))
        within = column - int(ends[view]) + self.widths[view]
        return (
            f"column {within} of view {view + 1}" if self.columns is None else f"column {self.columns[view][within]!r}"
        )


def _build_layout(blocks: Blocks, X: Any, views: Any) -> _Layout:
    """Build the layout of blocks with one part per view."""
    widths = [shape[1] for shape in blocks.shapes]
    if len(widths) < 3:
        raise LatentiaError(f"Expected at least three views; found {len(widths)}. Split one table with views=[...].")
    names = _read_names(X, views)
    if views is None:
        return _Layout(widths, None, None, names)
    columns = [[c if isinstance(c, str) else int(c) for c in view] for view in views]
    return _Layout(widths, columns, np.shape(X)[1], names)


def _build_column_layout(columns: Columns, blocks: Blocks) -> _Layout:
    """Build the layout of encoded columns."""
    if len(columns.views) < 3:
        raise LatentiaError(f"Expected at least three views; found {len(columns.views)}.")
    return _Layout([shape[1] for shape in blocks.shapes], None, None, columns.feature_names)


def _read_names(X: Any, views: Any) -> list[list[str]] | None:
    """Read the column names of every view; None unless all have names."""
    tables = [X] if views is not None else [] if isinstance(X, Blocks) else list(X)
    all_names = [column_names_of(table) for table in tables]
    names = [table_names for table_names in all_names if table_names]
    if not names or len(names) < len(all_names):
        return None
    return names if views is None else [[c if isinstance(c, str) else names[0][int(c)] for c in view] for view in views]


def _is_mixed(distribution: Any, X: Any, views: Any) -> bool:
    """Return True if each column has its own kind, the default for one data frame."""
    if distribution is None:
        return isinstance(X, ColumnFeatures) or (views is None and frame_of(X) is not None)
    return not isinstance(distribution, str) or distribution not in _ONE_KIND


def _is_several(X: Any) -> bool:
    """Return True if X has one table per view, False if it is a single table."""
    if isinstance(X, Blocks):
        return True
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    try:
        return np.ndim(X[0]) == 2
    except ValueError:  # The rows of a nested list have different lengths.
        return True


def _read_views(X: Any, views: Any, width: int | None = None) -> Blocks:
    """Read blocks with one part per view; ``width`` is that of the fitted table."""
    if _is_several(X):
        if views is not None:
            raise LatentiaError("views: leave it out; it splits one table, and X has one table per view already.")
        if isinstance(X, Blocks):
            return X
        tables = [_read_view(table, i) for i, table in enumerate(X)]
        if tables:
            check_same_rows(**{f"view {i}": table.shape[0] for i, table in enumerate(tables, 1)})
        return Blocks.from_array(*tables)
    if views is None:
        raise LatentiaError(
            "X: expected a list of three or more tables, or one table with views=[columns, columns, ...]."
        )
    names, table = column_names_of(X), _read_view(X, 0)
    if width is not None and table.shape[1] != width:
        raise LatentiaError(f"Expected {width} columns, as in the fit; X has {table.shape[1]}.")
    return Blocks.from_array(*[table[:, columns] for columns in _columns_of_views(views, names, table.shape[1])])


def _columns_of_views(views: Any, names: list[str] | None, width: int) -> list[list[int]]:
    """Find the column numbers of every view; views must not share columns."""
    if not isinstance(views, Iterable) or isinstance(views, str):
        raise LatentiaError(f"views={views!r}: expected a list of lists of columns.")
    parts: list[list[int]] = []
    taken: set[int] = set()
    for i, view in enumerate(views):
        if not isinstance(view, (list, tuple)) and np.ndim(view) != 1:
            raise LatentiaError(f"views: expected a list of columns for each view; view {i + 1} is {view!r}.")
        columns = [_find_column(c, names, width, i) for c in view]
        shared = taken.intersection(columns)
        if shared or len(set(columns)) < len(columns) or not columns:
            problem = (
                f"column {min(shared)} is in another view too" if shared else "no column, or one that is named twice"
            )
            raise LatentiaError(f"views: view {i + 1} has {problem}. Give every view its own columns.")
        taken.update(columns)
        parts.append(columns)
    return parts


def _find_column(column: Any, names: list[str] | None, width: int, view: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise LatentiaError(f"views: view {view + 1} names column {column!r}, which is not in the table.")
        return names.index(column)
    if not isinstance(column, numbers.Integral) or isinstance(column, bool):
        raise LatentiaError(f"views: expected numbers or names of columns; view {view + 1} has {column!r}.")
    number = int(column)
    if not 0 <= number < width:
        raise LatentiaError(
            f"views: view {view + 1} has column {number}; the table has {width} columns (0 to {width - 1})."
        )
    return number


def _read_view(table: Any, number: int) -> Any:
    return number_table(table, f"view {number + 1}", missing=True)


def _fill_missing(blocks: Blocks, columns: list[ObservedColumns]) -> Blocks:
    """Fill missing entries for the moments."""
    if all(column.is_complete for column in columns):
        return blocks
    return blocks.map(
        lambda block: [fill_missing(block[i], column) for i, column in enumerate(columns)], list(blocks.shapes)
    )


def _join_views(blocks: Blocks, views: list[list[int]]) -> Blocks:
    """Join views to three parts, each of some views side by side."""
    shapes = [(blocks.n_rows, sum(blocks.shapes[i][1] for i in group)) for group in views]
    return blocks.map(lambda block: [_join_tables([block[i] for i in group]) for group in views], shapes)


def _join_tables(tables: Sequence[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    if any(sparse.issparse(table) for table in tables):
        return sparse.csr_array(sparse.hstack(list(tables), format="csr"))
    return np.hstack(list(tables))


def _check_binary(columns: list[ColumnMoments], emissions: Emissions, blocks: Blocks) -> None:
    """Raise if features are not 0 and 1, in which case their mean differs from that of their squares."""
    mean = np.concatenate([column.mean for column in columns])
    off = np.abs(np.concatenate([column.variance for column in columns]) + mean**2 - mean)
    if ((off > 1e-6) | (mean < 0) | (mean > 1)).any():
        for block in blocks:
            emissions.table(block)


# --- from moments to the mixture ----------------------------------------------------------------------------------


class _Mixture(NamedTuple):
    """Means of every view (K, D_a), weights (K,) and, for Gaussians, variances (K, D_a)."""

    means: list[np.ndarray]
    weights: np.ndarray
    variances: list[np.ndarray] | None

    def sorted(self) -> _Mixture:
        """Sort the components by decreasing weight."""
        order = np.argsort(-self.weights, kind="stable")
        variances = None if self.variances is None else [v[order] for v in self.variances]
        return _Mixture([m[order] for m in self.means], self.weights[order], variances)


def _complete_variances(mixture: _Mixture, emissions: Emissions) -> _Mixture:
    """Complete the variances that follow from the means."""
    if mixture.variances is None:
        return mixture
    variances = emissions.complete_variances(
        emissions.clip_means(np.hstack(mixture.means)), np.hstack(mixture.variances)
    )
    ends = np.cumsum([mean.shape[1] for mean in mixture.means])[:-1]
    return mixture._replace(variances=np.split(variances, ends, axis=1))


@dataclass(frozen=True)
class _Moments:
    """Column statistics, and moments of groups of rows in principal coordinates of three joined views.

    If entries are missing, ``shares`` has the observed share of each column.
    """

    layout: _Layout
    columns: list[ColumnMoments]
    shares: list[np.ndarray] | None
    scales: list[np.ndarray]
    statistic: ViewMoments
    sums: Any
    folds: Folds
    n_passes: int

    def sum_groups(self, groups: tuple[int, ...]) -> ViewSums:
        return self.statistic.of(self.sums, groups)

    @property
    def halves(self) -> list[tuple[ViewSums, ViewSums]]:
        return [(self.sum_groups(first), self.sum_groups(second)) for first, second in self.folds.splits]


@dataclass(frozen=True)
class _Recovery:
    """Recovered mixture, with its frame and tensor decomposition."""

    mixture: _Mixture
    frame: CommonFrame
    decomposition: Decomposition


def _recover(moments: _Moments, groups: tuple[int, ...], k: int, seed: int) -> _Recovery:
    """Recover the mixture from the moments of some groups."""
    m, layout = moments.sum_groups(groups), moments.layout
    frame = common_frame(m, k)
    decomposition = decompose(frame.tensor, k, seed)
    v = decomposition.vectors
    means = layout.separate([frame.mean_given(m.sketches, a, v) for a in range(3)])
    variances = None
    if moments.statistic.squares:
        squares = layout.separate([frame.mean_given(m.squares, a, v) for a in range(3)])
        if moments.shares is not None:
            squares = [square * share for square, share in zip(squares, moments.shares, strict=True)]
        centers = layout.separate([c.center[None] for c in moments.statistic.coordinates])
        variances = [
            np.maximum(square - (mean - center) ** 2, FLOOR * scale**2)
            for square, mean, center, scale in zip(squares, means, centers, moments.scales, strict=True)
        ]
    return _Recovery(_Mixture(means, frame.weights(v), variances), frame, decomposition)


def _nearest_distances(means: list[np.ndarray], other_means: list[np.ndarray], scales: list[np.ndarray]) -> np.ndarray:
    """Compute the distance of every component to the nearest one of another fit, over all features, in standard deviations."""
    return cdist(_scale_means(means, scales), _scale_means(other_means, scales)).min(axis=1)


def _scale_means(means: list[np.ndarray], scales: list[np.ndarray]) -> np.ndarray:
    return np.hstack([mean / scale for mean, scale in zip(means, scales, strict=True)])


# --- evidence -----------------------------------------------------------------------------------------------------


def _measure_tensor(recovery: _Recovery, moments: _Moments) -> TensorMeasured:
    return TensorMeasured(
        spectrum=recovery.frame.spectrum,
        weights=recovery.decomposition.weights,
        residual=recovery.decomposition.info.residual,
        stable=recovery.decomposition.info.stable,
        samples=moments.sum_groups(moments.folds.all).n,
        noise=frame_noise(recovery.frame, *moments.halves[0]),
        exact=True,
    )


def _compute_misfits(
    mixture: _Mixture, recovery: _Recovery, moments: _Moments, emissions: Emissions | None, surplus: bool
) -> ViewMisfits:
    coordinates, sums, weights = moments.statistic.coordinates, moments.sum_groups(moments.folds.all), mixture.weights
    halves, view_groups = moments.halves, moments.layout.view_groups
    means = [np.hstack([mixture.means[i] for i in views]) for views in view_groups]
    coordinate_means = [project(mean) for project, mean in zip(coordinates, means, strict=True)]
    within = None
    if emissions is not None and moments.shares is None:
        variance = np.concatenate([column.variance for column in moments.columns])
        conditional = emissions.conditional_covariance(variance, np.hstack(mixture.means), weights)
        places = np.split(np.arange(len(variance)), np.cumsum(moments.layout.widths)[:-1])
        features_of_groups = [np.concatenate([places[i] for i in views]) for views in view_groups]
        variances = [
            conditional[places] if conditional.ndim == 1 else conditional[places][:, places]
            for places in features_of_groups
        ]
        within = residual_within_views(coordinates, variances, sums, halves, means, weights)
    return ViewMisfits.from_norms(
        tensor_residual(recovery.frame, sums, halves, coordinate_means, weights),
        residual_across_views(sums, halves, coordinate_means, weights),
        within,
        surplus,
    )


def _checks(
    refined: Refined,
    recovery: _Recovery,
    moments: _Moments,
    parts: PartErrors,
    measured: TensorMeasured,
    misfits: ViewMisfits,
) -> list[Check]:
    mixture: _Mixture = refined.parameters
    several = len(mixture.weights) > 1
    limit = separation_limit(_scale_means(mixture.means, moments.scales), "euclidean") if several else 1.0
    unit = "over all features, in standard deviations"
    return [
        *error_checks(parts, limit, "mean |mu_k - mu'_k|_2", unit, n_rows=measured.samples),
        *misfits.checks("components", "views", "features of a view", len(refined.refinement.log_likelihood) > 0),
        *convergence_checks(refined.refinement),
        *tensor_checks(measured),
        Check(
            "symmetry of the views", "|T - T^sigma| / |T|", recovery.frame.asymmetry, None,
            "Difference of the third moment between orders of the views: noise, or views that share more than the component.",
            "Theorem 7.5",
        ),
        *_check_constant_features(moments.columns),
        *_check_missing_cells(moments.shares),
    ]  # fmt: skip


def _pair_held_out(fitted: Fitted[_Moments, Refined], n_splits: int) -> list[tuple[_Mixture, Any]]:
    """Pair the mixture of each half of the rows with the views of some rows of the other half."""
    pairs = []
    for pair, groups in zip(fitted.halves(min(n_splits, 1)), fitted.folds.splits, strict=False):
        for half, other_half in zip(pair, reversed(groups), strict=True):
            pairs.append((half.parameters, sample_rows(fitted.rows.group(other_half, fitted.folds))))
    return pairs


def _check_constant_features(columns: list[ColumnMoments]) -> list[Check]:
    n = sum(int((column.variance == 0).sum()) for column in columns)
    if not n:
        return []
    meaning = "Constant features do not distinguish components, and the moments do not use them."
    return [Check("constant features", "", float(n), None, meaning, "model")]


def _check_missing_cells(shares: list[np.ndarray] | None) -> list[Check]:
    if shares is None:
        return []
    meaning = (
        "The moments assume that cells are missing at random, in each view independently of the others; EM only that whether a "
        "cell is missing does not depend on its value. Features within views are not compared."
    )
    return [Check("missing cells", "share", float(1 - np.concatenate(shares).mean()), None, meaning, "model")]


def _standard_deviations(columns: ColumnMoments) -> np.ndarray:
    """Compute standard deviations; constants get 1."""
    return np.sqrt(np.where(columns.variance > 0, columns.variance, 1.0))


def _check_columns(columns: list[ColumnMoments], rows: Blocks, emissions: Emissions | None) -> list[ColumnMoments]:
    for i, column in enumerate(columns):
        if not (column.variance > 0).any():
            raise LatentiaError(f"View {i + 1} is constant and cannot distinguish components: remove it.")
    if isinstance(emissions, UniformEmissions) and emissions.kind == "bernoulli":
        _check_binary(columns, emissions, rows)
    return columns
