"""Directions along which cases vary and controls do not: two tables of different rows with the same columns.

Model. Controls have the covariance C_B, and cases

    C_X = s C_B + sum_k l_k d_k d_k^T,

the background with a strength s, and an additional variance l_k along each direction d_k. In units of the background, W =
C_B^-1/2, these directions are the leading eigenvectors y_k of W C_X W, whose other eigenvalues are s, and d_k = C_B^1/2 y_k. No
strength has to be chosen for that. The noise of y_k is the same in all directions, so that d_k has most of it where the
background varies most. There y_k is shrunk, as the best linear estimate does if directions of the cases have prior variances
that are a power of those of the background: the power of the highest likelihood. Halves of the rows give the size of the noise.

Contrastive PCA takes the eigenvectors of C_X - a C_B, with a number a that is chosen by eye.

Source: A. Abid, M. J. Zhang, V. K. Bagaria, J. Zou, Exploring patterns enriched in a dataset with contrastive principal
component analysis, Nature Communications 9 (2018), for the question and for given strengths.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin

from .. import _fields as of
from .._parameters import Anything, Integer
from .._validation import number_table, table_blocks
from ..evidence import Check, ComponentView, PartErrors, above, error_checks
from ..evidence.limits import MAX_DIRECTION_ERROR
from ..exceptions import LatentiaError
from ..fitting.base import OutputNames, fitted, fitting
from ..fitting.stages import Fitted, Staged, Subset
from ..moments import ColumnSpan
from ..passes import Blocks, Folds, assign_folds
from ._background import (
    Contrast,
    CoordinateChoice,
    Covariances,
    Moments,
    choose_coordinates,
    compute_contrast,
    compute_contrast_of_strength,
    dense,
    rescale_noise,
)

_SEED = 0  # seed of the groups of rows
_MIN_DEVIATIONS = 4.0  # a clear contrast has so many standard deviations
_MAX_COLUMNS = 3000


class _Choices(NamedTuple):
    """Noise of the directions of all rows, and the choice of their coordinates."""

    noise: np.ndarray
    coordinate_choice: CoordinateChoice


class _Fit(NamedTuple):
    """Directions, and the choice of their coordinates."""

    contrast: Contrast
    coordinate_choice: CoordinateChoice


class BackgroundPCA(OutputNames, TransformerMixin, Staged[Moments, _Fit]):
    """Directions along which cases vary more than controls: contrastive PCA with its strength from the data.

    Choose it for two tables of different rows with the same columns, such as patients and healthy people, where differences
    among all people hide those among patients. Where both tables have the same rows, choose `ContrastivePCA`.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions K.
    strength : "auto" or float, default="auto"
        How much of the covariance of the background is taken off. "auto" works in units of the background, where it needs no
        strength, and reports one. A number gives contrastive PCA's eigenvectors of cov(X) - strength cov(background).
    n_splits : int, default=3
        Number of splits into halves, at most 3, whose fits give the expected errors; no pass over the data.
    n_jobs : int, optional
        Number of threads. Results are bitwise identical for any value.
    verbose : bool or int, default=False
        Whether to show progress and the remaining time.

    Attributes
    ----------
    components_ : ndarray of shape (K, D)
        Directions in rows, of unit length, in order of decreasing variance of their own. The largest entry of each is positive.
    explained_variance_ : ndarray of shape (K,)
        Variance of the cases along them beyond the background's.
    explained_variance_ratio_ : ndarray of shape (K,)
        Its share in the variance of the cases.
    contrast_ : ndarray of shape (K,)
        Variance of the coordinates of the cases, over that of the background's, with `transform`.
    coordinates_ : {"filter", "projection"}
        The coordinates that `transform` returns: see its notes.
    filters_ : ndarray of shape (K, D)
        Weights of the columns in these coordinates; `components_` with "projection".
    strength_ : float
        Factor s by which the background's covariance enters that of the cases.
    mean_ : ndarray of shape (D,)
        Of the cases.
    evidence_ : Evidence
        Checks of the assumptions. Expected errors (``component_errors``) are the sines of the angles between directions and
        true ones.
    n_passes_ : int
        Number of passes over both tables.

    Notes
    -----
    Differences from the paper:

    1. "auto" takes the leading eigenvectors of cov(X) in units of cov(background), and shrinks each where the background varies
       most, by as much of it as is noise. The paper has a person choose from several strengths.
    2. The covariance of the background is shrunk towards a multiple of one by as much as its groups of rows differ.
    3. `transform` returns filtered coordinates where the background hides what cases differ in, and projections where it does
       not (``coordinates_``). The paper projects.

    References
    ----------
    A. Abid, M. J. Zhang, V. K. Bagaria, J. Zou, Nature Communications 9 (2018).

    Examples
    --------
    >>> from latentia.contrastive import BackgroundPCA
    >>> from latentia.datasets import planted
    >>> data = planted.cases_and_controls(2000, 2000)
    >>> model = BackgroundPCA(1).fit(data.X, data.background)
    >>> bool(abs(model.components_[0] @ data.directions[0]) > 0.97)
    True
    """

    _constraints: ClassVar = {"n_components": Integer(1), "strength": Anything()}
    _compared = ("components_",)
    _nouns = ("direction", "directions", "variance")
    _max_distance: ClassVar[float] = 1.0
    components_: Annotated[np.ndarray, of.numbers("K V")]
    explained_variance_: Annotated[np.ndarray, of.numbers("K")]
    explained_variance_ratio_: Annotated[np.ndarray, of.numbers("K")]
    contrast_: Annotated[np.ndarray, of.numbers("K")]
    coordinates_: Literal["filter", "projection"]
    filters_: Annotated[np.ndarray, of.numbers("K V")]
    strength_: Annotated[float, of.Field()]
    mean_: Annotated[np.ndarray, of.numbers("V")]
    _n_features_out: Annotated[int, of.size("K")]

    def __init__(
        self,
        n_components: int = 2,
        *,
        strength: float | Literal["auto"] = "auto",
        n_splits: int = 3,
        n_jobs: int | None = None,
        verbose: int = False,
    ) -> None:
        self.n_components = n_components
        self.strength = strength
        self.n_splits = n_splits
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        value = self.strength
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not (value == "auto" if isinstance(value, str) else number and 0 <= value < np.inf):
            raise LatentiaError("expected 'auto' or a number of at least 0.", parameter="strength", value=value)

    # --- fitting ------------------------------------------------------------------------------------------------

    @fitting
    def fit(self, X: Any, background: Any = None) -> BackgroundPCA:
        """Learn the directions.

        Parameters
        ----------
        X : array-like, DataFrame or Blocks of shape (n_rows, D)
            The cases.
        background : array-like, DataFrame or Blocks of shape (n_background, D)
            The controls: other rows, with the same columns.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            If a parameter is out of its range, if the background is missing or has other columns, or if entries are NaN or
            infinite.
        """
        cases = table_blocks(self, X, reset=True, sparse=False, min_rows=8)
        tables = cases, self._controls(background)
        return self._fit_in_span(cases, tables[1])

    def _fit_rows(self, *rows: Blocks) -> BackgroundPCA:
        folds = assign_folds(rows[0], _SEED)
        return self._fit_stages(rows[0], self._moments(rows, folds), folds)

    def _expand_columns(self, span: ColumnSpan) -> None:
        self.components_, self.mean_ = span.coefficients(self.components_), span.points(self.mean_)
        self.filters_ = span.coefficients(self.filters_)

    def _controls(self, background: Any) -> Blocks:
        if background is None:
            raise LatentiaError(
                "BackgroundPCA needs a background: fit(X, background), two tables with the same columns."
            )
        if not isinstance(background, Blocks):
            background = Blocks.from_array(number_table(background, sparse_allowed=False, min_rows=8))
        width = background.shapes[0][1]
        if width != self.n_features_in_:
            raise LatentiaError(
                f"background has {width} columns and X has {self.n_features_in_}; expected the same columns in both."
            )
        if background.n_rows < 8:
            raise LatentiaError(f"background has {background.n_rows} rows; expected at least 8.")
        return background

    def _moments(self, rows: tuple[Blocks, ...], folds: Folds) -> Moments:
        """Compute columns, and covariances of four groups of rows, in two passes over each table."""
        d = self.n_features_in_
        if d > _MAX_COLUMNS:
            raise LatentiaError(
                f"Expected at most {_MAX_COLUMNS} columns; there are {d}. Choose some, or use principal components."
            )
        if self.n_components > d:
            raise LatentiaError(
                f"{d} columns support at most {d} components.",
                at_most=d,
                parameter="n_components",
                value=self.n_components,
            )
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        return Moments(*(Covariances.compute(table, assign_folds(table, _SEED), **options) for table in rows))

    def _shared_choices(self, recovered: Contrast, model: _Fit) -> _Choices:
        return _Choices(recovered.noise, model.coordinate_choice)

    def _recover(self, moments: Moments, subset: Subset, choices: _Choices | None) -> Contrast:
        """Learn directions in units of the background, shrunk by their noise; or contrastive PCA of a given strength."""
        k = int(self.n_components)
        if self.strength != "auto":
            return compute_contrast_of_strength(moments, subset.groups, k, float(self.strength))
        if choices is None:
            return compute_contrast(moments, subset.groups, k, subset.folds.splits)
        return compute_contrast(
            moments, subset.groups, k, rescale_noise(choices.noise, len(subset.folds.all) / len(subset.groups))
        )

    def _refine(self, recovered: Contrast, moments: Moments, subset: Subset, choices: _Choices | None) -> _Fit:
        """Choose coordinates by how well directions from half of the rows separate the other half."""
        if choices is None:
            return _Fit(recovered, choose_coordinates(moments, subset.folds, recovered, choose=self.strength == "auto"))
        return _Fit(recovered, choices.coordinate_choice)

    def _distance(self, first: _Fit, second: _Fit, moments: Moments) -> np.ndarray:
        return _sines(first.contrast.directions, second.contrast.directions)

    def _cost(self) -> Literal["free"]:
        return "free"

    def _checks(self, fitted: Fitted[Moments, _Fit]) -> tuple[list[Check], PartErrors]:
        """Compute errors from parts, and check whether cases vary more along directions that are learned from other rows."""
        parts, moments = fitted.errors(self.n_splits), fitted.moments
        first, *further = contrasts = fitted.model.coordinate_choice.deviations
        unit, rows = "as sine of the angle to the true one", moments.cases.n_rows + moments.controls.n_rows
        meaning = "Excess variance of the cases along directions learned from other rows, in standard deviations."
        clear = int((np.array(contrasts) > _MIN_DEVIATIONS).sum())
        return [
            *error_checks(parts, MAX_DIRECTION_ERROR, "mean sine of angle", unit, "direction", n_rows=rows),
            Check(
                "contrast on other rows", "z", float(first), above(_MIN_DEVIATIONS), meaning, "halves of the rows", "veto",
                "Cases do not vary differently from the background, as far as this number of rows can show.",
            ),
            Check(
                "weakest contrast on other rows", "min z", float(min(contrasts)), above(_MIN_DEVIATIONS), meaning,
                "halves of the rows", "caution" if further else "note",
                f"Along {clear} of {len(contrasts)} directions cases vary more: ask for so many.",
            ),
        ], parts  # fmt: skip

    def _set_fitted_attributes(self, fitted: Fitted[Moments, _Fit]) -> None:
        fit: _Fit = fitted.model
        moments = fitted.moments
        contrast = fit.contrast
        self.coordinates_ = fit.coordinate_choice.coordinates
        self.filters_ = contrast.weights(self.coordinates_)
        cases, controls = (
            moments_of_table.covariance(fitted.folds.all) for moments_of_table in (moments.cases, moments.controls)
        )
        self.components_, self.explained_variance_ = contrast.directions, contrast.variances
        case_variances, control_variances = (
            np.einsum("kd,de,ke->k", self.filters_, table, self.filters_) for table in (cases, controls)
        )
        tiny = np.finfo(float).tiny
        self.explained_variance_ratio_ = contrast.variances / max(float(np.trace(cases)), tiny)
        self.contrast_ = case_variances / np.maximum(
            control_variances, np.finfo(float).eps * max(float(np.trace(controls)), tiny)
        )
        self.strength_, self.mean_ = contrast.strength, moments.cases.mean
        self._n_features_out, self.n_passes_ = len(contrast.directions), 3

    def _component_view(self, fitted: Fitted[Moments, _Fit]) -> ComponentView:
        """Return coordinates of cases along the directions."""
        return ComponentView(np.asarray(self.transform(fitted.comparison_rows)).T, signed=True)

    def _distances(self, reference: BackgroundPCA) -> np.ndarray:
        return _sines(self.components_, reference.components_)

    def _shares(self) -> np.ndarray:
        return np.clip(self.explained_variance_ratio_, 0.0, 1.0)

    def _halves(self, X: Any, random_state: int, **rows: Any) -> list[dict[str, Any]]:
        """Split both tables in halves."""
        model = BackgroundPCA(**self.get_params())
        cases = table_blocks(model, X, reset=True, sparse=False)
        controls = model._controls(rows.get("background"))
        return [
            {"X": case_half, "background": control_half}
            for case_half, control_half in zip(
                cases.split(2, random_state), controls.split(2, random_state), strict=True
            )
        ]

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows along the directions, shape (n_rows, K).

        With directions D in rows and the covariance C_B of the background, they are

        - the filter (X - mean) C_B^-1 D^T (D C_B^-1 D^T)^-1 where the background hides what cases differ in: it takes from each
          coordinate what the background has along it, and leaves the directions as large as they are;
        - the projection (X - mean) D^T where it does not, since weights of the filter have more noise.

        The fit chooses those by which the cases of one half of the rows fall into two parts more clearly, and the controls
        do not, with directions that are learned from the other half (``coordinates_``). With a given strength they are the
        projection, as in contrastive PCA.

        Parameters
        ----------
        X : array-like, DataFrame or Blocks of shape (n_rows, D)
            Cases, controls or other rows.

        Returns
        -------
        ndarray of shape (n_rows, K)

        Raises
        ------
        LatentiaError
            If X has another number of columns than in the fit, or NaN.
        """
        blocks = table_blocks(self, X, reset=False, sparse=False)
        return np.vstack([(dense(block) - self.mean_) @ self.filters_.T for block in blocks])


def _sines(components: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return the sine of the angle of each direction to the nearest reference."""
    return np.sqrt(np.clip(1 - np.abs(components @ references.T).max(axis=1) ** 2, 0, None))
