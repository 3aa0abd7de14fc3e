"""Regression of memberships on covariates, and of outcomes on memberships."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._parameters import Number, check_parameter
from .._validation import check_same_rows, number_column
from ..effects import Effects, Estimates, Memberships, least_squares, outcomes
from ..effects.combinations import Combinations
from ..effects.dependence import warn_of_clusters
from ..effects.design import check_independent, clusters_of, columns_by_name, columns_of, design_of
from ..effects.estimates import column_sizes
from ..effects.formulas import check_formula
from ..effects.results import COMBINED
from .base import Estimator, fitted

_LEVEL = Number(0.0, 1.0)


class CovariateEffects(Estimator):
    """Mixin of models that estimate memberships of rows without bias."""

    @abstractmethod
    def _memberships(self, X: Any) -> Memberships:
        """Return unbiased memberships of new rows."""

    @abstractmethod
    def _plug_in_shares(self, X: Any) -> np.ndarray:
        """Return the memberships that a naive regression would use, shape (n_rows, K)."""

    def _names_of_components(self) -> list[str]:
        return [f"{self.nouns[0]} {k}" for k in range(int(self.n_found or 0))]

    @fitted
    def effects(
        self,
        X: Any,
        formula: str,
        data: Any,
        cluster: Any = None,
        level: float = 0.9,
        components: Mapping[str, Any] | None = None,
    ) -> Effects:
        """Estimate how the shares of the components depend on covariates, with intervals.

        Parameters
        ----------
        X : as in ``transform`` or ``predict``
            Rows, which need not be those of the fit.
        formula : str
            For example ``"~ party + year"``, in the syntax of the package formulaic: ``"~ 0 + party"`` for levels, ``"~
            party"`` for differences from the first one, ``bs(year, df=4)`` for a spline, ``party:year`` for an interaction.
        data : DataFrame or dict of columns
            Covariates, one row for every row of X in the same order. Rows with missing entries are left out.
        cluster : str or sequence of length n_rows, optional
            Column of ``data``, or labels, of groups of dependent rows: authors, sites, persons. By default rows are
            independent; a warning names columns of ``data`` whose groups have correlated residuals.
        level : float, default=0.9
            Chance with which an interval holds the true value.
        components : dict, optional
            Named sums, contrasts and ratios instead of single components: ``{"a and d": [0, 3]}`` for the share of two,
            ``{"a less b": {0: 1, 1: -1}}`` for weights, ``{"a to b": ([0], [1])}`` for a ratio. A ratio requires terms that
            are levels, as in ``"~ 0 + party"``; its interval is by the delta method.

        Returns
        -------
        Effects
            One row for every component and term of the formula: ``to_frame()``, ``plot()``.

        Raises
        ------
        LatentiaError
            If the formula is invalid, if its terms are collinear, if tables differ in rows, or if components do not exist.

        Notes
        -----
        The model is E[w_i | x_i] = B' x_i for the shares w_i of row i in the components. The estimate of w_i from a row is
        corrected to have mean w_i, whatever the covariates are; its least squares on x_i gives B. Shares by ``transform`` and
        most probable classes shrink to the mean, and so do their effects.

        Intervals are Student's t with cluster-robust errors CR2 (HC2 without clusters). They include the sampling of rows, the
        noise within rows and, unless ``n_splits`` is 0, errors of the components from fits on halves of the data. They do not
        include doubts about the components themselves: see ``evidence_``.

        Source: for classes A. Bolck, M. Croon, J. Hagenaars, Political Analysis 12, 2004; for topics not in the papers.
        """
        check_parameter("level", level, _LEVEL)
        check_formula(formula)
        memberships = self._memberships(X)
        n = len(memberships.shares)
        design, clusters = design_of(formula, data, n), clusters_of(cluster, data, n)
        rows = memberships.is_known & design.is_known & (clusters >= 0)
        check_independent(design.matrix[rows], design.terms, clusters[rows])
        if cluster is None:
            warn_of_clusters(design.matrix, memberships.shares, columns_by_name(data, n), rows)
        return self._build_effects(
            lambda sums: least_squares(design.matrix, memberships, rows, clusters, sums), components, level,
            terms=design.terms, formula=formula, references=design.references,
            **self._describe_rows(memberships, rows, clusters),
        )  # fmt: skip

    @fitted
    def regress(
        self,
        X: Any,
        y: Any,
        controls: Any = None,
        level: float = 0.9,
        cluster: Any = None,
        components: Mapping[str, Any] | None = None,
    ) -> Effects:
        """Estimate how an outcome depends on the shares of the components, with intervals.

        Parameters
        ----------
        X : as in ``transform`` or ``predict``
            Rows, which need not be those of the fit.
        y : array-like of shape (n_rows,)
            Outcome: numbers, or 0 and 1. NaN if unknown.
        controls : DataFrame, dict of columns or array of shape (n_rows, q), optional
            Other variables with a linear effect on the outcome; each level of a text column but the first is one variable.
        level : float, default=0.9
            Chance with which an interval holds the true value.
        cluster : str or sequence of length n_rows, optional
            Column of ``controls``, or labels, of groups of dependent rows.
        components : dict, optional
            As in `effects`: ``{"b less a": {1: 1, 0: -1}}`` compares the outcome of two components.

        Returns
        -------
        Effects
            For every component the terms ``level``, the expected outcome of a row that consists of it, with controls at their
            means, and ``difference`` from the mean outcome. ``plug_in`` is least squares on the shares of ``transform``, or on
            the most probable classes.

        Raises
        ------
        LatentiaError
            If tables differ in rows, if y holds no numbers, or if the rows do not distinguish the components.

        Notes
        -----
        The model is E[y_i | w_i, z_i] = w_i' b + z_i' c; only w_i connects y_i to the words or columns of row i. Estimated
        shares in place of w_i bias b, more so with fewer words in a row. Here E[w w'] and E[w y] are estimated without bias:
        for topics from pairs of words of a document, for classes by the inverse of the expected probabilities (BCH). Errors
        come from the estimating equations by cluster, and from the components.

        Source: W. Fuller, Measurement Error Models, 1987; K. Bandeen-Roche and others, JASA 92, 1997; for classes A. Bolck, M.
        Croon, J. Hagenaars, Political Analysis 12, 2004.
        """
        check_parameter("level", level, _LEVEL)
        memberships = self._memberships(X)
        n = len(memberships.shares)
        outcome = number_column(y, missing=True)
        check_same_rows(X=n, y=len(outcome))
        clusters = clusters_of(cluster, controls, n, "controls")
        if isinstance(cluster, str):
            controls = {name: controls[name] for name in controls if name != cluster} or None
        design = columns_of(controls, n) if controls is not None else None
        z = np.zeros((n, 0)) if design is None else design.matrix
        rows = memberships.is_known & np.isfinite(outcome) & np.isfinite(z).all(axis=1) & (clusters >= 0)
        terms = [] if design is None else design.terms
        check_independent(
            np.column_stack([memberships.shares, z])[rows], [*self._names_of_components(), *terms], clusters[rows]
        )
        z = z / column_sizes(z[rows])
        plain_design = np.column_stack([self._plug_in_shares(X), z - z[rows].mean(axis=0)])[rows]
        plain_levels = np.linalg.lstsq(plain_design, outcome[rows], rcond=None)[0][: memberships.shares.shape[1]]
        plug_in = np.stack([plain_levels, plain_levels - outcome[rows].mean()])
        return self._build_effects(
            lambda sums: outcomes(outcome, z, memberships, rows, clusters, sums), components, level,
            plug_in=plug_in, terms=["level", "difference"], **self._describe_rows(memberships, rows, clusters),
        )  # fmt: skip

    def _build_effects(
        self,
        estimate: Callable[[np.ndarray | None], Estimates],
        requested: Mapping[str, Any] | None,
        level: float,
        plug_in: np.ndarray | None = None,
        **facts: Any,
    ) -> Effects:
        """Build the effects on all components, or on combinations of them."""
        if requested is None:
            return Effects.from_estimates(estimate(None), level, plug_in=plug_in, **facts)
        combinations = Combinations.from_request(requested, len(facts["components"]))
        combined_plug_in = None if plug_in is None else combinations.combine_values(plug_in)
        is_part = (combinations.top != 0) | (combinations.bottom != 0)
        unsupported = np.flatnonzero(is_part[:, facts["not_supported"]].any(axis=1)).tolist()
        facts |= {"components": combinations.names, "nouns": (*COMBINED, self.nouns[2]), "not_supported": unsupported}
        return Effects.from_estimates(
            combinations.estimate(estimate),
            level,
            plug_in=combined_plug_in,
            null=combinations.is_ratio.astype(float),
            **facts,
        )

    def _describe_rows(self, memberships: Memberships, rows: np.ndarray, cluster: np.ndarray) -> dict[str, Any]:
        """Return names, numbers of rows and doubts for the results."""
        names = self._names_of_components()
        return {
            "components": names,
            "not_supported": self.evidence_.not_supported(len(names)),
            "n_rows": int(rows.sum()),
            "n_clusters": len(np.unique(cluster[rows])),
            "n_left_out": int((~rows).sum()),
            "component_errors": len(memberships.errors) > 0,
            "nouns": self.nouns,
        }
