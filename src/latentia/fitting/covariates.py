"""Methods of models whose rows have memberships: what moves these, and what they move."""

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
    """Models that can give memberships of rows without bias."""

    @abstractmethod
    def _memberships(self, X: Any) -> Memberships:
        """Of new rows."""

    @abstractmethod
    def _plug_in_shares(self, X: Any) -> np.ndarray:
        """The memberships that people would use, shape (n_rows, K)."""

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
        """Say how the shares of the components depend on covariates, with intervals.

        Parameters
        ----------
        X : as in ``transform`` or ``predict``
            Rows, which need not be those of the fit.
        formula : str
            Such as ``"~ party + year"``, as the package formulaic reads it: ``"~ 0 + party"`` for levels, ``"~ party"`` for
            differences from the first one, ``bs(year, df=4)`` for a spline, ``party:year`` for an interaction.
        data : DataFrame or dict of columns
            Covariates, a row for every row of X in the same order. Rows that lack an entry are left out.
        cluster : str or sequence of length n_rows, optional
            Column of ``data``, or labels, of what rows depend on each other within: authors, sites, persons. By default rows
            are independent; a warning names the columns of ``data`` whose groups have residuals that say otherwise.
        level : float, default=0.9
            Chance with which an interval holds the true value.
        components : dict, optional
            Sums, contrasts and ratios in the place of the single components, by names: ``{"a and d": [0, 3]}`` for the share of
            two, ``{"a less b": {0: 1, 1: -1}}`` for weights, ``{"a to b": ([0], [1])}`` for a ratio, which asks for terms that
            are levels, as in ``"~ 0 + party"``, and has an interval by the delta method.

        Returns
        -------
        Effects
            A row for every component and term of the formula: ``to_frame()``, ``plot()``.

        Raises
        ------
        LatentiaError
            If the formula cannot be used, if its terms depend on each other, if tables differ in rows, or if there are no such
            components.

        Notes
        -----
        The model is E[w_i | x_i] = B' x_i for the shares w_i of row i in the components. What a row says of w_i is corrected so
        that its mean is w_i, whatever the covariates are, and least squares of that on x_i gives B. Shares by ``transform`` and
        most probable classes lean to the mean, so that their effects do too.

        Intervals are Student's t with errors of clusters in the form CR2 (HC2 without clusters); they know of the choice of
        rows, of the noise within rows, and, unless ``n_splits`` is 0, of errors of the components as fits on halves of the data
        show them. They do not know of components that are none: see ``evidence_``.

        Source: for classes A. Bolck, M. Croon, J. Hagenaars, Political Analysis 12, 2004; for topics not in the papers.
        """
        check_parameter("level", level, _LEVEL)
        check_formula(formula)
        members = self._memberships(X)
        n = len(members.shares)
        design, of_rows = design_of(formula, data, n), clusters_of(cluster, data, n)
        rows = members.known & design.known & (of_rows >= 0)
        check_independent(design.matrix[rows], design.terms, of_rows[rows])
        if cluster is None:
            warn_of_clusters(design.matrix, members.shares, columns_by_name(data, n), rows)
        return self._told(
            lambda sums: least_squares(design.matrix, members, rows, of_rows, sums), components, level,
            terms=design.terms, formula=formula, references=design.references, **self._facts(members, rows, of_rows),
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
        """Say how an outcome depends on the shares of the components, with intervals.

        Parameters
        ----------
        X : as in ``transform`` or ``predict``
            Rows, which need not be those of the fit.
        y : array-like of shape (n_rows,)
            Outcome: numbers, or 0 and 1. NaN where it is not known.
        controls : DataFrame, dict of columns or array of shape (n_rows, q), optional
            Other variables that the outcome depends on, linearly; of texts each level but the first is one.
        level : float, default=0.9
            Chance with which an interval holds the true value.
        cluster : str or sequence of length n_rows, optional
            Column of ``controls``, or labels, of what rows depend on each other within.
        components : dict, optional
            As in `effects`: ``{"b less a": {1: 1, 0: -1}}`` is by how much the outcome is higher in one than in the other.

        Returns
        -------
        Effects
            For every component the terms ``level``, the expected outcome of a row that is all of it with controls at their
            means, and ``difference``, how far that is from the mean outcome. ``plug_in`` is least squares on the shares of
            ``transform``, or on the most probable classes.

        Raises
        ------
        LatentiaError
            If tables differ in rows, if y holds no numbers, or if the rows do not tell the components apart.

        Notes
        -----
        The model is E[y_i | w_i, z_i] = w_i' b + z_i' c; nothing but w_i connects y_i to the words or columns of row i. Shares
        that are estimated from a row in place of w_i bias b, the more so the fewer words a row has. Here E[w w'] and E[w y] are
        estimated without bias: for topics from pairs of words of a document, for classes by the inverse of the expected
        probabilities (BCH). Errors are those of the estimating equations by cluster, and of the components.

        Source: W. Fuller, Measurement Error Models, 1987; K. Bandeen-Roche and others, JASA 92, 1997; for classes A. Bolck, M.
        Croon, J. Hagenaars, Political Analysis 12, 2004.
        """
        check_parameter("level", level, _LEVEL)
        members = self._memberships(X)
        n = len(members.shares)
        outcome = number_column(y, missing=True)
        check_same_rows(X=n, y=len(outcome))
        of_rows = clusters_of(cluster, controls, n, "controls")
        if isinstance(cluster, str):
            controls = {name: controls[name] for name in controls if name != cluster} or None
        design = columns_of(controls, n) if controls is not None else None
        z = np.zeros((n, 0)) if design is None else design.matrix
        rows = members.known & np.isfinite(outcome) & np.isfinite(z).all(axis=1) & (of_rows >= 0)
        terms = [] if design is None else design.terms
        check_independent(
            np.column_stack([members.shares, z])[rows], [*self._names_of_components(), *terms], of_rows[rows]
        )
        z = z / column_sizes(z[rows])
        plain = np.column_stack([self._plug_in_shares(X), z - z[rows].mean(axis=0)])[rows]
        levels = np.linalg.lstsq(plain, outcome[rows], rcond=None)[0][: members.shares.shape[1]]
        plug_in = np.stack([levels, levels - outcome[rows].mean()])
        return self._told(
            lambda sums: outcomes(outcome, z, members, rows, of_rows, sums), components, level,
            plug_in=plug_in, terms=["level", "difference"], **self._facts(members, rows, of_rows),
        )  # fmt: skip

    def _told(
        self,
        estimate: Callable[[np.ndarray | None], Estimates],
        wanted: Mapping[str, Any] | None,
        level: float,
        plug_in: np.ndarray | None = None,
        **facts: Any,
    ) -> Effects:
        """Effects on all components, or on combinations of them, with what is said beside their numbers."""
        if wanted is None:
            return Effects.of(estimate(None), level, plug_in=plug_in, **facts)
        found = Combinations.of(wanted, len(facts["components"]))
        plain = None if plug_in is None else found.of_values(plug_in)
        parts = (found.top != 0) | (found.bottom != 0)
        doubtful = np.flatnonzero(parts[:, facts["not_supported"]].any(axis=1)).tolist()
        facts |= {"components": found.names, "nouns": (*COMBINED, self.nouns[2]), "not_supported": doubtful}
        return Effects.of(found.estimated(estimate), level, plug_in=plain, null=found.is_ratio.astype(float), **facts)

    def _facts(self, members: Memberships, rows: np.ndarray, cluster: np.ndarray) -> dict[str, Any]:
        """What results say beside their numbers."""
        names = self._names_of_components()
        return {
            "components": names,
            "not_supported": self.evidence_.not_supported(len(names)),
            "n_rows": int(rows.sum()),
            "n_clusters": len(np.unique(cluster[rows])),
            "n_left_out": int((~rows).sum()),
            "component_errors": len(members.errors) > 0,
            "nouns": self.nouns,
        }
