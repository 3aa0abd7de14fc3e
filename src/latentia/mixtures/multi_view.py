"""Mixtures of views that are independent given the component: mixtures of product distributions among them.

Model. A row draws a component h with P(h = k) = w_k, and then each of its views x_1, x_2, x_3, ... independently from
distributions of which only the means matter, E[x_a | h = k] = mu_ak. Views may be of different kind and dimension.

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
from ._columns import Columns, Encoded, Kinds, Table, learned_columns
from ._emissions import FLOOR, Emissions, Mixed, OneKind
from ._linear import dependence_checks, linear_scores, linear_shares
from ._methods import MixtureMethods
from ._view_span import kept_by_view, reduced_views, span_of_views
from ._view_split import deals

_OVERSAMPLE = 12
_FEW, _RACED_ROWS = 10, 10_000  # steps of EM, and rows, by which ways to deal columns into views are compared
_ONE_KIND = ("bernoulli", "gaussian")


class _Described:
    """What a mixture of views says of its columns."""

    @property
    def view_columns(self: Any) -> list[list[Any]] | None:
        """Columns of each view, by place or name; None where views are tables."""
        return self._layout.columns

    @property
    def feature_names(self: Any) -> list[list[str]] | None:
        """Names of the features of each view: of columns of several kinds one for every value of a category."""
        return self._layout.names

    @property
    def has_densities(self: Any) -> bool:
        """Whether rows have probabilities: not where nothing is assumed within views."""
        return self._emissions is not None

    @property
    def kinds(self: Any) -> dict[str, str] | None:
        """Of columns of several kinds: "gaussian", "categorical" or "poisson", by name; None where there are none."""
        return None if self._columns is None else dict(zip(self._columns.names, self._columns.kinds, strict=True))

    @property
    def parameters(self: Any) -> list[tuple[str, str, np.ndarray]]:
        """Of columns of several kinds: column, what it is, and its value in each component, (K,), for every parameter."""
        if self._columns is None:
            return []
        return self._columns.parameters(np.hstack(self.means_), np.hstack(self.variances_))

    @property
    def column_scales(self: Any) -> list[np.ndarray]:
        """Standard deviations of the columns of each view, in which distances are measured."""
        return self._scales

    @property
    def _emissions(self: Any) -> Emissions | None:
        """Distributions of the features; None where nothing is assumed."""
        if self._columns is not None:
            return Mixed(self._columns)
        return None if self.distribution is None else OneKind(str(self.distribution), _side_by_side, self._layout.place)


class MultiViewMixture(_Described, MixtureMethods, Staged):
    """Mixture of views that are independent given the component, fitted by tensor decomposition.

    The fit is deterministic, makes a few passes over the data, and gives an expected error for every component.

    Choose it for three or more groups of measurements that have nothing in common but the class (words in three parts of
    a text, three sensors, three blocks of a questionnaire), or for one table whose features are independent given the
    class, cut in three. Columns of one data frame may be numbers, categories and counts. Without a distribution nothing is
    assumed within a view. In every view the means must be affinely independent, which takes at least K - 1 features there.
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
        numbers, categories and counts, by their types (see *Notes*). A list says of every column, and a dict of some by their
        names, that it is "gaussian", "categorical" or "poisson". None assumes nothing, and the fit finds means and weights
        alone, but for one data frame without ``views``: it is "mixed" there.
    refine : int or "auto", default="auto"
        EM under ``distribution``, from the moments: "auto" makes accelerated steps until they converge, a number that
        many plain ones, each a pass over the data. 0 keeps to the theorem, and so does "auto" without a distribution. See
        ``refinement_``, and *EM has converged* in the evidence.
    n_splits : int, default=3
        Number of random splits into halves, at most 3, whose fits give the expected errors. They cost no pass over the
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
        Means of every view, in order of decreasing weight. Of "mixed" columns: means of numbers, rates of counts, and
        probabilities of every value of a category, by ``feature_names``; ``tables["columns"]`` has them by column.
    weights_ : ndarray of shape (K,)
    variances_ : list of ndarray of shape (K, D_a)
        Variances of the features, with ``distribution="gaussian"`` and "mixed".
    evidence_ : Evidence
        Checks of the assumptions, and the expected l2 error of every component over all features, in standard deviations
        of the data (``component_errors``), widened where the fit leaves more of the moments than noise is.
    refinement_ : ndarray of shape (n_steps,)
        Log-likelihood of the data at every step of EM, in nats.
    n_iter_ : int
        Number of steps of refinement.
    converged_ : bool
        Whether further steps would gain only a negligible amount; only ``refine="auto"`` looks at that.
    n_passes_ : int
        Number of passes over the data, those for the expected errors not counted.

    Notes
    -----
    Differences from the thesis:

    1. Views may have any dimension: each is reduced to the K leading singular directions of its cross moments.
    2. A constant is appended to every view, so that K means need only be affinely independent, and features are
       scaled to unit variance.
    3. The three views are symmetrised together, and the third moment is averaged over the six orders of the views,
       where Theorem 7.5 singles out one view (see `latentia.moments`).
    4. Means are weighted averages of the rows, with weights that are linear in the other views, scaled to sum one.
    5. Entries may be missing: moments are those of the entries that are there, over their shares, and EM leaves the
       others out. Moments ask that entries of one view are missing independently of those of another given the component.
    6. More than three views are joined into three: view i goes to group i mod 3.
    7. "mixed": a category is a feature of 0 and 1 for each of its values, whose mean is its probability, and the columns are
       split into three views, in the way from whose moments a few steps of EM come highest. By type floats are numbers; texts,
       truth values and categories are categories, and so are whole numbers of two values; other whole numbers of at least 0
       are counts where their mean is at most 20, and numbers otherwise. Floats with gaps that are whole count as whole numbers.

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
            NaN is a missing entry, in tables that are not sparse; every row and column must have one that is there.
        y : ignored
        views : list of lists of columns, optional
            For one table: the columns, by number or name, of each of three or more views.
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if there are fewer than three views, if they differ in rows, if X has
            infinite entries, or if a row or column has no entry at all.
        """
        blocks = self._encoded(X, views) if _is_mixed(self.distribution, X, views) else _split(X, views)
        blocks = weighted(blocks, sample_weight)
        self._layout = _layout(blocks, X, views) if self._columns is None else _layout_of(self._columns, blocks)
        self._check_count(blocks)
        return self._fit_stages(blocks) if self._columns is not None else self._fit_in_span(blocks)

    def _fit_in_span(self, rows: Blocks, *more: Any) -> MultiViewMixture:
        """Fit on the columns that say something of their own among those of all views, and give all columns their entries."""
        layout, span = self._layout, span_of_views(rows, self.distribution is not None)
        if span is None:
            return self._fit_stages(rows)
        kept = kept_by_view(span, layout.widths)
        span.tell([layout.place(column).removeprefix("column ") for column in range(sum(layout.widths))])
        self._layout = layout.select(kept)
        self._check_count(rows)
        self._fit_stages(reduced_views(rows, kept))
        self._layout, self._span = layout, span
        self.means_ = layout.split(span.points(np.hstack(self.means_)))
        if "variances_" in vars(self):
            self.variances_ = layout.split(np.maximum(span.variances(np.hstack(self.variances_)), of.MIN_MAGNITUDE))
        self._scales = [_deviations(one.moments) for one in observed_columns(rows, n_jobs=self.n_jobs)]
        return self

    def _encoded(self, X: Any, views: Any) -> Blocks:
        """Features of columns of several kinds, with a part a view."""
        if not isinstance(X, Encoded):
            if _is_several(X) and not (isinstance(X, Blocks) and len(X.shapes) == 1):
                raise LatentiaError("X: columns of several kinds are in one table, and this is one for each view.")
            table = Table.of(X)
            given = None
            if views is not None:
                given = _columns_of_views(views, table.names if table.named else None, len(table.columns))
            columns, cells = learned_columns(table, self.distribution, given)
            X = Encoded(columns, columns.encoded(cells, learned=True))
            X = self._best_deal(deals(X, self.n_components, self._seed)) if views is None else X
        self._columns = X.columns
        return X.blocks

    def _best_deal(self, ways: Sequence[Encoded]) -> Encoded:
        """Of ways to deal columns into views the one from whose moments a few steps of EM come highest, on some of the rows."""

        def climb(way: Encoded) -> tuple[float, Encoded]:
            one = copy(self)
            one._columns, one._layout, one.refine = way.columns, _layout_of(way.columns, way.blocks), _FEW
            one._check_count(way.blocks)
            rows = Blocks.from_array(*sample_rows(way.blocks, _RACED_ROWS))
            folds = one._assign_folds(rows)
            moments, part = one._moments(rows, folds), Subset(folds.all, folds, rows)
            reached = one._refine(one._recover(moments, part, None), moments, part, None)
            return float(reached.refinement.log_likelihood[-1]), way

        return race({str(i): way for i, way in enumerate(ways)}, climb).reached if self.refine else ways[0]

    def _moments(self, rows: Blocks, folds: Folds) -> _Moments:
        """Passes over the data: columns, coordinates of three joined views, and moments of four groups of rows."""
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        layout, observed, emissions = self._layout, observed_columns(rows, **options), self._emissions
        columns = _checked_columns([one.moments for one in observed], rows, emissions)
        scales = [_deviations(one) for one in columns]
        inverse = [np.where(c.variance > 0, 1.0 / scale, 0.0) for c, scale in zip(columns, scales, strict=True)]
        joined = _joined(_whole(rows, observed), layout.joined)
        found = [
            principal_coordinates(
                joined, self.n_components + _OVERSAMPLE, np.concatenate([columns[i].mean for i in views]),
                scale=np.concatenate([inverse[i] for i in views]), part=part, random_state=self._seed, **options,
            )
            for part, views in enumerate(layout.joined)
        ]  # fmt: skip
        coordinates, n_passes = [one for one, _ in found], sum(n for _, n in found)
        squares = emissions is not None and emissions.squares
        statistic = ViewMoments(coordinates, lambda b: (b, folds.of(b.rows)), folds.n, squares=squares)
        sums = accumulate(joined, statistic, **options)
        shares = None if all(one.is_complete for one in observed) else [one.share for one in observed]
        return _Moments(layout, columns, shares, scales, statistic, sums, folds, n_passes + 2)

    def _recover(self, moments: _Moments, subset: Subset, full_fit: Any) -> _Recovered:
        """Two whitened views and the third moment of three: see `_recover`."""
        return _recover(moments, subset.groups, self.n_components, self._seed)

    def _refine(self, recovered: _Recovered, moments: _Moments, subset: Subset, full_fit: Any) -> Refined:
        """EM on the rows."""
        return self._settled(recovered.mixture, moments, subset)

    def _restart(self, model: Refined, moments: _Moments, subset: Subset) -> Refined | None:
        return self._settled(model.parameters, moments, subset) if self._steps else None

    def _distance(self, first: Refined, second: Refined, moments: _Moments) -> np.ndarray:
        return _nearest(first.parameters.means, second.parameters.means, moments.scales)

    def _cost(self) -> Literal["free", "passes"]:
        return "passes" if self._steps else "free"

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """What the moments leave unexplained, the errors of parts widened by it, and one component instead."""
        found: _Recovered = fitted.recovered
        moments: _Moments = fitted.moments
        mixture: _Mixture = fitted.model.parameters
        measured = _measured(found, moments)
        misfits = _misfits(mixture, found, moments, self._emissions, measured.surplus)
        apart = nearest_others(_scaled(mixture.means, moments.scales), "euclidean")
        parts = fitted.errors(self.n_splits).widen(misfits.together(bool(self._steps)).bias(apart))
        self._keep_confusions(fitted, 0 if self._emissions is None else self.n_splits)
        checks = _checks(fitted.model, found, moments, parts, measured, misfits)
        if self._emissions is None:
            return checks + dependence_checks(_held_out(fitted, self.n_splits), moments.scales), parts
        return checks + self._checks_of_rows(fitted.rows, moments), parts

    def _set_fitted_attributes(self, fitted: Fitted) -> None:
        mixture: _Mixture = fitted.model.parameters
        self.means_, self.weights_, self._scales = mixture.means, mixture.weights, fitted.moments.scales
        if mixture.variances is not None:
            self.variances_ = mixture.variances
        self._set_refinement_attributes(fitted.model.refinement)
        self.n_passes_ = fitted.moments.n_passes + len(self.refinement_)

    def _component_view(self, fitted: Fitted) -> ComponentView | None:
        """Probabilities of the components of rows, or without a likelihood their coordinates in the space of the means."""
        if self._emissions is not None:
            return super()._component_view(fitted)
        tables = sample_rows(fitted.comparison_rows)
        return ComponentView(linear_shares(*linear_scores(tables, self.means_, self.weights_, self._scales)))

    @property
    def _steps(self) -> Refine:
        """Of refining, for which there must be a likelihood."""
        return 0 if self._emissions is None else self.refine

    def _settled(self, mixture: _Mixture, moments: _Moments, part: Subset) -> Refined:
        """After EM on the rows of a part."""
        emissions, layout = self._emissions, moments.layout
        if emissions is None or not self._steps:
            return Refined(
                (mixture if emissions is None else _spread(mixture, emissions)).sorted(), Refinement.no_steps()
            )
        shape = part.rows.n_rows, sum(layout.widths)
        rows = part.rows.map(lambda block: [emissions.table(block)], [shape])
        variances = None if mixture.variances is None else np.hstack(mixture.variances)
        update = emissions.update(np.hstack(mixture.means), variances, mixture.weights, np.concatenate(moments.scales))
        found = refine(update, over(rows, self.n_jobs, self.verbose), self._steps)
        means, spread, weights = emissions.answer(found.values)
        of_views = None if spread is None else layout.split(spread)
        return Refined(_Mixture(layout.split(means), weights, of_views).sorted(), found)

    def _checks_of_rows(self, blocks: Blocks, moments: _Moments) -> list[Check]:
        """Whether the fit predicts better than one component, and what its likelihood says of rows."""
        emissions: Any = self._emissions
        rows = list(sample_rows(blocks))
        trivial, n_parameters = emissions.independent(
            _side_by_side(rows),
            self.weights_,
            np.hstack(self.means_),
            np.hstack(self.variances_) if emissions.squares else None,
        )
        n_rows = round(independent_rows(moments.of(moments.folds.all), moments.halves))
        extra = count_parameters((len(self.weights_) - 1) * (n_parameters + 1), n_rows, bool(self._steps))
        joint = np.vstack(list(self._joint(Blocks.from_array(*rows))))
        posterior, heights = normalised(joint, self.weights_)
        found = trivial_checks(heights, trivial, extra=extra, n_rows=n_rows, against="one component")
        found += emissions.checks(_side_by_side(rows), posterior, np.hstack(self.means_))
        return found if moments.shares is None else found + self._gaps_checks(_side_by_side(rows))

    def _gaps_checks(self, table: np.ndarray) -> list[Check]:
        """Measure whether cells of some rows are missing by their value, which the components expect from other views."""
        emissions: Any = self._emissions
        means, ends = emissions.possible(np.hstack(self.means_)), np.cumsum(self._layout.widths)
        variances = np.hstack(self.variances_) if emissions.squares else None

        def expect(seen: np.ndarray, others: np.ndarray) -> np.ndarray:
            density = emissions.log_density(np.where(seen, table, np.nan), means, variances)
            return np.asarray(normalised(density + log(self.weights_), self.weights_)[0] @ means[:, others])

        return missing_checks(table, expect, self._seed, np.split(np.arange(ends[-1]), ends[:-1]))

    def _check_parameters(self) -> None:
        if self.refine not in (0, "auto") and self.distribution is None:
            raise LatentiaError(
                "a likelihood is needed: choose a distribution, 'bernoulli', 'gaussian' or 'mixed'.",
                parameter="refine", value=self.refine,
            )  # fmt: skip

    def _check_count(self, blocks: Blocks) -> None:
        k, widths = self.n_components, self._layout.joined_widths
        if self._columns is not None:
            widths = [sum(self._columns.free(self._columns.views[i]) for i in views) for views in self._layout.joined]
        if min(widths) < k - 1:
            raise LatentiaError(
                f"at least {k - 1} features are needed in each of three views, and they have "
                f"{', '.join(map(str, widths))}: this data supports at most {min(widths) + 1} components.",
                at_most=min(widths) + 1, parameter="n_components", value=k,
            )  # fmt: skip
        if blocks.n_rows < 2 * k:
            raise LatentiaError(
                f"{blocks.n_rows} rows support at most {blocks.n_rows // 2} components.",
                at_most=blocks.n_rows // 2, parameter="n_components", value=k,
            )  # fmt: skip

    def _distances(self, other: MultiViewMixture) -> np.ndarray:
        return _nearest(self.means_, other.means_, self._scales)

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        if self._columns is not None:
            blocks = X.blocks if isinstance(X, Encoded) else self._columns.blocks(X)
            return [{"X": Encoded(self._columns, half)} for half in blocks.split(2, random_state)]
        views = None if _is_several(X) else fit_parameters.get("views", self._layout.columns)
        return [{"X": half} for half in _split(X, views).split(2, random_state)]

    # --- use ----------------------------------------------------------------------------------------------------

    def fit_predict(  # type: ignore[override]
        self, X: Any, y: Any = None, *, views: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn the mixture, and return the most probable component of every row, shape (n_rows,).

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
        """Log-density of each row together with each component, (n, K), block by block."""
        emissions = self._emissions
        if emissions is None:
            raise LatentiaError(
                "there are means and no densities: fit with 'bernoulli', 'gaussian' or 'mixed'.",
                parameter="distribution",
                value=None,
            )
        span = vars(self).get("_span") or ColumnSpan.all_columns(sum(self._layout.widths))
        means = emissions.possible(span.select(np.hstack(self.means_)))  # moments may lie outside
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
            If the views have other columns than those of the fit, or no rows.
        """
        if self._columns is not None:
            return not_empty(X if isinstance(X, Blocks) and len(X.shapes) > 1 else self._columns.blocks(X))
        layout, several = self._layout, _is_several(X)
        if not several and layout.columns is None:
            raise LatentiaError(f"The model was fitted on {len(layout.widths)} tables: give as many, in a list.")
        blocks = _split(X, None if several else layout.columns, layout.width)
        widths = [shape[1] for shape in blocks.shapes]
        if widths != layout.widths:
            raise LatentiaError(f"The views have {widths} columns and the model was fitted on {layout.widths}.")
        if not blocks.n_rows:
            raise LatentiaError("The data is empty: it has no rows.")
        names = _names(X, None if several else layout.columns)
        for i, (given, known) in enumerate(zip(names or [], layout.names or [], strict=False)):
            if given != known:
                raise LatentiaError(
                    f"View {i + 1} has the columns {given}, and had {known} in the fit: give these, in this order."
                )
        if not isinstance(X, Blocks):
            return blocks
        return finite_blocks(blocks, range(len(widths)), [f"view {i + 1}" for i in range(len(widths))], missing=True)

    def _check_fitted(self) -> None:
        layout, widths = self._layout, [mean.shape[1] for mean in self.means_]
        columns = layout.columns
        same = layout.widths == widths and [len(scale) for scale in self._scales] == widths and len(widths) >= 3
        if columns is not None:
            same = same and [len(view) for view in columns] == widths and layout.width is not None
            same = same and all(isinstance(c, str) or 0 <= c < layout.width for view in columns for c in view)
        if self._columns is not None:
            self._columns.check()
            same = same and [sum(map(self._columns.size, view)) for view in self._columns.views] == widths
        emissions = self._emissions
        if emissions is not None and emissions.squares:
            same = same and [variance.shape for variance in self.variances_] == [mean.shape for mean in self.means_]
        if not same:
            raise LatentiaError("the views have other widths in different attributes")


# --- views --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """How features are cut into views.

    Attributes
    ----------
    widths : list of int
        Number of features of every view.
    columns : list of list of (int or str), or None
        The columns of every view in the one table that they were cut from; None where each view is a table of its own.
    width : int or None
        Number of columns of that table.
    names : list of list of str, or None
        Names of the columns of every view, where the tables had names.
    """

    widths: Annotated[list[int], of.count(1)]
    columns: Annotated[list[list[Any]] | None, of.Field(types=("int64", "int32", "str"))]
    width: Annotated[int | None, of.count(1)]
    names: Annotated[list[list[str]] | None, of.Field(types=("str",))]

    @property
    def joined(self) -> list[list[int]]:
        """The views that are joined, for each of three."""
        return [list(range(i, len(self.widths), 3)) for i in range(3)]

    @property
    def joined_widths(self) -> list[int]:
        return [sum(self.widths[i] for i in views) for views in self.joined]

    def select(self, kept: Sequence[np.ndarray]) -> _Layout:
        """The layout of some columns of each view."""
        columns, names = (
            None if whole is None else [[view[i] for i in own] for view, own in zip(whole, kept, strict=True)]
            for whole in (self.columns, self.names)
        )
        return _Layout([len(own) for own in kept], columns, self.width, names)

    def split(self, table: np.ndarray) -> list[np.ndarray]:
        """From all features side by side, (K, D), to those of the views."""
        return list(np.split(table, np.cumsum(self.widths)[:-1], axis=1))

    def separated(self, joined: Sequence[np.ndarray]) -> list[np.ndarray]:
        """From arrays of three joined views, (K, D), back to those of the views, in their order."""
        found: dict[int, np.ndarray] = {}
        for views, table in zip(self.joined, joined, strict=True):
            ends = np.cumsum([self.widths[i] for i in views])[:-1]
            found |= dict(zip(views, np.split(table, ends, axis=1), strict=True))
        return [found[i] for i in range(len(self.widths))]

    def place(self, column: int) -> str:
        """A column of all views side by side, as a text for messages."""
        ends = np.cumsum(self.widths)
        view = int(np.searchsorted(ends, column, side="right"))
        within = column - int(ends[view]) + self.widths[view]
        return (
            f"column {within} of view {view + 1}" if self.columns is None else f"column {self.columns[view][within]!r}"
        )


def _layout(blocks: Blocks, X: Any, views: Any) -> _Layout:
    """The layout of blocks with one part a view."""
    widths = [shape[1] for shape in blocks.shapes]
    if len(widths) < 3:
        raise LatentiaError(f"{len(widths)} views: three or more are needed. Cut one table with views=[...].")
    names = _names(X, views)
    if views is None:
        return _Layout(widths, None, None, names)
    columns = [[c if isinstance(c, str) else int(c) for c in view] for view in views]
    return _Layout(widths, columns, np.shape(X)[1], names)


def _layout_of(columns: Columns, blocks: Blocks) -> _Layout:
    """The layout of encoded columns."""
    if len(columns.views) < 3:
        raise LatentiaError(f"{len(columns.views)} views: three or more are needed.")
    return _Layout([shape[1] for shape in blocks.shapes], None, None, columns.feature_names)


def _names(X: Any, views: Any) -> list[list[str]] | None:
    """Names of the columns of every view; None where not all of them have names."""
    tables = [X] if views is not None else [] if isinstance(X, Blocks) else list(X)
    found = [column_names_of(table) for table in tables]
    names = [one for one in found if one]
    if not names or len(names) < len(found):
        return None
    return names if views is None else [[c if isinstance(c, str) else names[0][int(c)] for c in view] for view in views]


def _is_mixed(distribution: Any, X: Any, views: Any) -> bool:
    """Whether columns have kinds of their own: of one frame they do, unless something else is asked for."""
    if distribution is None:
        return isinstance(X, Encoded) or (views is None and frame_of(X) is not None)
    return not isinstance(distribution, str) or distribution not in _ONE_KIND


def _is_several(X: Any) -> bool:
    """Whether this is a table for each view, not one table."""
    if isinstance(X, Blocks):
        return True
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    try:
        return np.ndim(X[0]) == 2
    except ValueError:  # a nested list with rows of different lengths
        return True


def _split(X: Any, views: Any, width: int | None = None) -> Blocks:
    """Blocks with one part a view; ``width`` is that of the table that the model was fitted on."""
    if _is_several(X):
        if views is not None:
            raise LatentiaError("views: they cut one table, and there is one for each view already.")
        if isinstance(X, Blocks):
            return X
        tables = [_checked(table, i) for i, table in enumerate(X)]
        if tables:
            check_same_rows(**{f"view {i}": table.shape[0] for i, table in enumerate(tables, 1)})
        return Blocks.from_array(*tables)
    if views is None:
        raise LatentiaError(
            "X: a list of three or more tables is needed, or one table with views=[columns, columns, ...]."
        )
    names, table = column_names_of(X), _checked(X, 0)
    if width is not None and table.shape[1] != width:
        raise LatentiaError(f"X has {table.shape[1]} columns and the model was fitted on {width}.")
    return Blocks.from_array(*[table[:, columns] for columns in _columns_of_views(views, names, table.shape[1])])


def _columns_of_views(views: Any, names: list[str] | None, width: int) -> list[list[int]]:
    """The numbers of the columns of every view; views must not share any."""
    if not isinstance(views, Iterable) or isinstance(views, str):
        raise LatentiaError(f"views={views!r}: a list of lists of columns is needed.")
    parts: list[list[int]] = []
    seen: set[int] = set()
    for i, view in enumerate(views):
        if not isinstance(view, (list, tuple)) and np.ndim(view) != 1:
            raise LatentiaError(f"views: view {i + 1} is {view!r}; a list of columns is needed for each view.")
        columns = [_column(c, names, width, i) for c in view]
        twice = seen.intersection(columns)
        if twice or len(set(columns)) < len(columns) or not columns:
            what = f"column {min(twice)} is in another view too" if twice else "no column, or one that is named twice"
            raise LatentiaError(f"views: view {i + 1} has {what}. Views must have columns of their own.")
        seen.update(columns)
        parts.append(columns)
    return parts


def _column(column: Any, names: list[str] | None, width: int, view: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise LatentiaError(f"views: view {view + 1} names column {column!r}, which the table does not have.")
        return names.index(column)
    if not isinstance(column, numbers.Integral) or isinstance(column, bool):
        raise LatentiaError(f"views: view {view + 1} has column {column!r}: give numbers or names of columns.")
    number = int(column)
    if not 0 <= number < width:
        raise LatentiaError(f"views: view {view + 1} has column {number}, and the table has {width} columns.")
    return number


def _checked(table: Any, number: int) -> Any:
    return number_table(table, f"view {number + 1}", missing=True)


def _whole(blocks: Blocks, observed: list[ObservedColumns]) -> Blocks:
    """Tables that stand for those with missing entries in moments."""
    if all(one.is_complete for one in observed):
        return blocks
    return blocks.map(
        lambda block: [fill_missing(block[i], one) for i, one in enumerate(observed)], list(blocks.shapes)
    )


def _joined(blocks: Blocks, views: list[list[int]]) -> Blocks:
    """Blocks with three parts, each of some views side by side."""
    shapes = [(blocks.n_rows, sum(blocks.shapes[i][1] for i in some)) for some in views]
    return blocks.map(lambda block: [_side_by_side([block[i] for i in some]) for some in views], shapes)


def _side_by_side(tables: Sequence[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    if any(sparse.issparse(table) for table in tables):
        return sparse.csr_array(sparse.hstack(list(tables), format="csr"))
    return np.hstack(list(tables))


def _check_binary(columns: list[ColumnMoments], emissions: Emissions, blocks: Blocks) -> None:
    """Raise for features that are not 0 and 1, where there are any: the mean of their squares is not theirs."""
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
        """The same, the largest weight first."""
        order = np.argsort(-self.weights, kind="stable")
        variances = None if self.variances is None else [v[order] for v in self.variances]
        return _Mixture([m[order] for m in self.means], self.weights[order], variances)


def _spread(mixture: _Mixture, emissions: Emissions) -> _Mixture:
    """With the variances that the means ask for."""
    if mixture.variances is None:
        return mixture
    found = emissions.spread(emissions.possible(np.hstack(mixture.means)), np.hstack(mixture.variances))
    ends = np.cumsum([mean.shape[1] for mean in mixture.means])[:-1]
    return mixture._replace(variances=np.split(found, ends, axis=1))


@dataclass(frozen=True)
class _Moments:
    """Columns of the views, and the moments of groups of rows in principal coordinates of three joined views.

    Where entries are missing, ``shares`` has what share of each column is there.
    """

    layout: _Layout
    columns: list[ColumnMoments]
    shares: list[np.ndarray] | None
    scales: list[np.ndarray]
    statistic: ViewMoments
    sums: Any
    folds: Folds
    n_passes: int

    def of(self, groups: tuple[int, ...]) -> ViewSums:
        return self.statistic.of(self.sums, groups)

    @property
    def halves(self) -> list[tuple[ViewSums, ViewSums]]:
        return [(self.of(one), self.of(two)) for one, two in self.folds.splits]


@dataclass(frozen=True)
class _Recovered:
    """The mixture, and the frame and the decomposition that it comes from."""

    mixture: _Mixture
    frame: CommonFrame
    decomposition: Decomposition


def _recover(moments: _Moments, groups: tuple[int, ...], k: int, seed: int) -> _Recovered:
    """The mixture from the moments of some groups."""
    m, layout = moments.of(groups), moments.layout
    frame = common_frame(m, k)
    decomposition = decompose(frame.tensor, k, seed)
    v = decomposition.vectors
    means = layout.separated([frame.mean_given(m.sketches, a, v) for a in range(3)])
    variances = None
    if moments.statistic.squares:
        squares = layout.separated([frame.mean_given(m.squares, a, v) for a in range(3)])
        if moments.shares is not None:
            squares = [square * share for square, share in zip(squares, moments.shares, strict=True)]
        centers = layout.separated([c.center[None] for c in moments.statistic.coordinates])
        variances = [
            np.maximum(square - (mean - center) ** 2, FLOOR * scale**2)
            for square, mean, center, scale in zip(squares, means, centers, moments.scales, strict=True)
        ]
    return _Recovered(_Mixture(means, frame.weights(v), variances), frame, decomposition)


def _nearest(means: list[np.ndarray], other: list[np.ndarray], scales: list[np.ndarray]) -> np.ndarray:
    """Distance of every component to the nearest of another fit, over all features, in standard deviations."""
    return cdist(_scaled(means, scales), _scaled(other, scales)).min(axis=1)


def _scaled(means: list[np.ndarray], scales: list[np.ndarray]) -> np.ndarray:
    return np.hstack([mean / scale for mean, scale in zip(means, scales, strict=True)])


# --- evidence -----------------------------------------------------------------------------------------------------


def _measured(found: _Recovered, moments: _Moments) -> TensorMeasured:
    return TensorMeasured(
        spectrum=found.frame.spectrum,
        weights=found.decomposition.weights,
        residual=found.decomposition.info.residual,
        stable=found.decomposition.info.stable,
        samples=moments.of(moments.folds.all).n,
        noise=frame_noise(found.frame, *moments.halves[0]),
        exact=True,
    )


def _misfits(
    mixture: _Mixture, found: _Recovered, moments: _Moments, emissions: Emissions | None, surplus: bool
) -> ViewMisfits:
    coordinates, whole, weights = moments.statistic.coordinates, moments.of(moments.folds.all), mixture.weights
    halves, joined = moments.halves, moments.layout.joined
    means = [np.hstack([mixture.means[i] for i in views]) for views in joined]
    seen = [to(mean) for to, mean in zip(coordinates, means, strict=True)]
    within = None
    if emissions is not None and moments.shares is None:
        variance = np.concatenate([column.variance for column in moments.columns])
        own = emissions.within(variance, np.hstack(mixture.means), weights)
        places = np.split(np.arange(len(variance)), np.cumsum(moments.layout.widths)[:-1])
        of_views = [np.concatenate([places[i] for i in views]) for views in joined]
        variances = [own[places] if own.ndim == 1 else own[places][:, places] for places in of_views]
        within = residual_within_views(coordinates, variances, whole, halves, means, weights)
    return ViewMisfits.from_norms(
        tensor_residual(found.frame, whole, halves, seen, weights),
        residual_across_views(whole, halves, seen, weights),
        within,
        surplus,
    )


def _checks(
    refined: Refined,
    found: _Recovered,
    moments: _Moments,
    parts: PartErrors,
    measured: TensorMeasured,
    misfits: ViewMisfits,
) -> list[Check]:
    mixture: _Mixture = refined.parameters
    several = len(mixture.weights) > 1
    limit = separation_limit(_scaled(mixture.means, moments.scales), "euclidean") if several else 1.0
    unit = "over all features, in standard deviations"
    return [
        *error_checks(parts, limit, "mean |mu_k - mu'_k|_2", unit, n_rows=measured.samples),
        *misfits.checks("components", "views", "features of a view", len(refined.refinement.log_likelihood) > 0),
        *convergence_checks(refined.refinement),
        *tensor_checks(measured),
        Check(
            "symmetry of the views", "|T - T^sigma| / |T|", found.frame.asymmetry, None,
            "How far the third moment is from being the same for every order of the views: noise, or views that share "
            "more than the component.", "Theorem 7.5",
        ),
        *_constant_features(moments.columns),
        *_missing(moments.shares),
    ]  # fmt: skip


def _held_out(fitted: Fitted, n_splits: int) -> list[tuple[_Mixture, Any]]:
    """The mixtures of two halves of the rows, each with the views of some rows of the other half."""
    found = []
    for pair, groups in zip(fitted.halves(min(n_splits, 1)), fitted.folds.splits, strict=False):
        for half, other in zip(pair, reversed(groups), strict=True):
            found.append((half.parameters, sample_rows(fitted.rows.group(other, fitted.folds))))
    return found


def _constant_features(columns: list[ColumnMoments]) -> list[Check]:
    n = sum(int((column.variance == 0).sum()) for column in columns)
    if not n:
        return []
    meaning = "They say nothing about the component, and the moments do not use them."
    return [Check("constant features", "", float(n), None, meaning, "model")]


def _missing(shares: list[np.ndarray] | None) -> list[Check]:
    if shares is None:
        return []
    meaning = (
        "The moments ask that cells are missing at random, in each view independently of the others; EM only that what is "
        "missing does not depend on its value. Features within views are not compared."
    )
    return [Check("missing cells", "share", float(1 - np.concatenate(shares).mean()), None, meaning, "model")]


def _deviations(columns: ColumnMoments) -> np.ndarray:
    """Standard deviations, and one of constants."""
    return np.sqrt(np.where(columns.variance > 0, columns.variance, 1.0))


def _checked_columns(columns: list[ColumnMoments], rows: Blocks, emissions: Emissions | None) -> list[ColumnMoments]:
    for i, column in enumerate(columns):
        if not (column.variance > 0).any():
            raise LatentiaError(f"View {i + 1} is constant and says nothing about the component: remove it.")
    if isinstance(emissions, OneKind) and emissions.kind == "bernoulli":
        _check_binary(columns, emissions, rows)
    return columns
