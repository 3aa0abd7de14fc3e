"""Results of effects and outcomes: estimates with intervals, one row for every component and term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student

from .._control_characters import escape_controls
from .._frames import frame_of_rows
from .._presentation import presenters
from ..exceptions import LatentiaError
from ..linalg.ratios import ratio_of
from .estimates import Estimates

_MAX_ROWS_SHOWN = 40  # rows that the text shows
_INTERCEPT = "Intercept"
COMBINED = "combination", "combinations"  # singular and plural noun for combinations


@dataclass(frozen=True, repr=False)
class Effects:
    """Coefficients of memberships on covariates, or of an outcome on memberships, with intervals.

    Attributes
    ----------
    terms : list of str
        Names of the P terms: columns of the design; or ``level`` and ``difference`` of an outcome.
    components : list of str
        Names of the K components, or of combinations of components.
    estimate, low, high : ndarray of shape (P, K)
        Estimates, and the bounds of their intervals. Memberships lie between 0 and 1: an effect of 0.1 is ten points.
    error : ndarray of shape (P, K)
        Standard errors.
    p_value : ndarray of shape (P, K)
        P-value of Student's t test that the true value is zero, or that a ratio is one, without correction for multiple tests.
    plug_in : ndarray of shape (P, K) or None
        For an outcome: least squares with the model's estimated memberships instead of the hidden ones.
    level : float
        Coverage of an interval.
    n_rows, n_clusters, n_left_out : int
        Used rows, their clusters (as many as rows without ``cluster``), and incomplete or uninformative rows.
    component_errors : bool
        Whether the intervals include errors of the components: not after a fit with ``n_splits=0``.
    nouns : tuple of str
        Singular and plural noun for components or combinations, and plural noun for rows.
    formula : str
        Formula of `effects`; empty for an outcome.
    not_supported : list of int
        Numbers of the components, or combinations of these, that the evidence does not support.
    references : dict of str
        Reference level of each categorical column, which has no term.
    """

    terms: list[str]
    components: list[str]
    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    error: np.ndarray
    p_value: np.ndarray
    plug_in: np.ndarray | None
    level: float
    n_rows: int
    n_clusters: int
    n_left_out: int
    component_errors: bool
    nouns: tuple[str, str, str]
    formula: str = ""
    not_supported: Sequence[int] = ()
    references: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_estimates(
        cls, estimates: Estimates, level: float, *, plug_in: np.ndarray | None = None, null: Any = 0.0, **facts: Any
    ) -> Effects:
        """Build intervals and tests against ``null`` by Student's t; ``facts`` are the other attributes."""
        half_widths = student.ppf((1 + level) / 2, estimates.freedom) * estimates.error
        p_value = 2 * student.sf(ratio_of(np.abs(estimates.value - null), estimates.error), estimates.freedom)
        bounds = estimates.value, estimates.value - half_widths, estimates.value + half_widths
        return cls(**facts, **dict(zip(("estimate", "low", "high"), bounds, strict=True)), error=estimates.error,
                   p_value=p_value, plug_in=plug_in, level=level)  # fmt: skip

    @property
    def combined(self) -> bool:
        """True if the results are on combinations of components."""
        return self.nouns[:2] == COMBINED

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for every component and term.

        Returns
        -------
        list of dict
            Number of the component, term, estimate, bounds, standard error, p-value, name of the component, the plug-in
            estimate of an outcome, and the reference level if there are categories.
        """
        arrays = {name: getattr(self, name) for name in ("estimate", "low", "high", "error", "p_value")}
        arrays |= {} if self.plug_in is None else {"plug_in": self.plug_in}
        return [
            {"component": k, "term": term}
            | {key: float(a[p, k]) for key, a in arrays.items()}
            | {"name": name}
            | ({"reference": self.reference_of(term)} if self.references else {})
            for k, name in enumerate(self.components)
            for p, term in enumerate(self.terms)
        ]

    def reference_of(self, term: str) -> str:
        """Name the level that a term is compared with.

        Parameters
        ----------
        term : str
            One of ``terms``.

        Returns
        -------
        str
            Empty for a term without reference; for products of levels, the levels of each, joined by ":".
        """
        return ":".join(level for column, level in self.references.items() if f"{column}[T." in term)

    def panels(self, terms: Sequence[str] | None = None) -> list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Return the numbers of a picture of some terms, by default of all but the intercept.

        Parameters
        ----------
        terms : sequence of str, optional
            Names of terms.

        Returns
        -------
        list of (str, ndarray, ndarray, ndarray)
            Name of a term, estimates and bounds of all components.
        """
        selected = [term for term in self.terms if term != _INTERCEPT] or self.terms if terms is None else list(terms)
        unknown = [term for term in selected if term not in self.terms]
        if unknown or not selected:
            raise LatentiaError(f"expected some of {', '.join(self.terms)}.", parameter="terms", value=selected)
        places = [self.terms.index(term) for term in selected]
        return [(self.terms[p], self.estimate[p], self.low[p], self.high[p]) for p in places]

    def to_frame(self) -> Any:
        """Return `rows` as a data frame of pandas or polars: see `latentia.summaries.Table.to_frame`.

        Returns
        -------
        DataFrame
            The columns are the keys of `rows`.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return frame_of_rows(self.rows(), "Effects.to_frame")

    def plot(self, *, terms: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw the estimates and their intervals: see `latentia.plots.plot_effects`.

        Parameters
        ----------
        terms : sequence of str, optional
            Terms to draw; by default all but the intercept.
        ax : matplotlib.axes.Axes, optional
            Where to draw a single term.

        Returns
        -------
        matplotlib.axes.Axes, or an ndarray of them
        """
        return presenters["plot_effects"](self, terms=terms, ax=ax)

    def __repr__(self) -> str:
        singular, plural, row_noun = self.nouns
        clusters = f" in {self.n_clusters:,} clusters" if self.n_clusters != self.n_rows else ""
        lines = [
            f"{len(self.components)} {plural if len(self.components) > 1 else singular}, {self.n_rows:,} {row_noun}{clusters}, "
            f"{self.n_left_out:,} left out; intervals of {self.level:.0%}"
        ]
        lines += [f"{column}: each level compared with {level!r}" for column, level in self.references.items()]
        keys = ["estimate", "low", "high", *([] if self.plug_in is None else ["plug_in"])]
        term_width = max(len("term"), *map(len, self.terms))
        key_of, width = (
            ("name", max(9, len(singular), *map(len, self.components))) if self.combined else ("component", 9)
        )
        lines += [f"{singular:>{width}}  {'term':<{term_width}}" + "".join(f"{key:>10}" for key in keys)]
        rows = self.rows()
        for row in rows[:_MAX_ROWS_SHOWN]:
            lines += [
                f"{row[key_of]:>{width}}  {row['term']:<{term_width}}" + "".join(f"{row[key]:>10.3g}" for key in keys)
            ]
        remainder = [f"{len(rows) - _MAX_ROWS_SHOWN} more in to_frame()"] if len(rows) > _MAX_ROWS_SHOWN else []
        return escape_controls("\n".join([*lines, *remainder]))
