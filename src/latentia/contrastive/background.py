"""Directions along which cases vary and controls do not: two tables of different rows with the same columns.

Model. Controls have the covariance C_B, and cases

    C_X = s C_B + sum_k l_k d_k d_k^T,

the background with a strength s, and a variance l_k of their own along each direction d_k. In units of the background,
W = C_B^-1/2, own directions are the leading eigenvectors y_k of W C_X W, whose other eigenvalues are s, and d_k = C_B^1/2 y_k.
No strength has to be chosen for that. The noise of y_k is the same in all directions, so that d_k has most of it where the
background varies most. There y_k is shrunk, as the best linear estimate does if own directions have prior variances that are a
power of those of the background: the power of the highest likelihood. Halves of the rows say how large the noise is.

Contrastive PCA takes the eigenvectors of C_X - a C_B, with a number a that is chosen by eye.

Source: A. Abid, M. J. Zhang, V. K. Bagaria, J. Zou, Exploring patterns enriched in a dataset with contrastive principal
component analysis, Nature Communications 9 (2018), for the question and for given strengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .. import _fields as of
from .._base import fitted, fitting
from .._parameters import Anything, Integer
from .._stages import Fitted, Part, Staged
from .._threads import Parallel
from .._validation import number_table, table_blocks
from ..evidence import Check, PartErrors, Reading, above, error_checks
from ..exceptions import LatentiaError
from ..moments import ColumnSpan, column_moments
from ..passes import Block, Blocks, RowGroups, accumulate, deal

_SEED = 0  # of the groups
_LIMIT = 0.3  # sine of the angle to the true direction
_CLEARLY = 4.0  # standard deviations of a contrast
_POWERS = np.linspace(0, 1, 5)  # of the prior: own directions like those of the background, or like any
_MOST = 3000  # columns
_LEAST_SHRUNK = 1e-6


class BackgroundPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Staged):
    """Directions along which cases vary more than controls: contrastive PCA with its strength from the data.

    Choose it for two tables of different rows with the same columns, such as patients and healthy people, where what all people
    differ in hides what patients differ in. Where both tables have the same rows, `ContrastivePCA` is the one.

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
        Variance of the cases along each direction, over that of the background.
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
    _farthest: ClassVar[float] = 1.0
    components_: Annotated[np.ndarray, of.numbers("K V")]
    explained_variance_: Annotated[np.ndarray, of.numbers("K")]
    explained_variance_ratio_: Annotated[np.ndarray, of.numbers("K")]
    contrast_: Annotated[np.ndarray, of.numbers("K")]
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
            raise LatentiaError("'auto' or a number of at least 0 is needed.", parameter="strength", value=value)

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
        dealt = deal(rows[0], _SEED)
        return self._fit_stages(rows[0], self._moments(rows, dealt), dealt)

    def _widen(self, span: ColumnSpan) -> None:
        self.components_, self.mean_ = span.coefficients(self.components_), span.points(self.mean_)

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
                f"background has {width} columns and X {self.n_features_in_}: they must be the same ones."
            )
        if background.n_rows < 8:
            raise LatentiaError(f"background has {background.n_rows} rows: at least 8 are needed.")
        return background

    def _moments(self, rows: tuple[Blocks, ...], dealt: RowGroups) -> _Moments:
        """Two passes over each table: columns, and covariances of four groups of rows."""
        d = self.n_features_in_
        if d > _MOST:
            raise LatentiaError(
                f"{d} columns: at most {_MOST} are taken; choose some, or principal components of both tables."
            )
        if self.n_components > d:
            raise LatentiaError(
                f"{d} columns support at most {d} components.", parameter="n_components", value=self.n_components
            )
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        return _Moments(*(_Covariances.of(table, deal(table, _SEED), **options) for table in rows))

    def _recover(self, moments: _Moments, part: Part, whole: _Contrast | None) -> _Contrast:
        """Directions in units of the background, shrunk by their noise; or contrastive PCA of a given strength."""
        cases, controls = moments.cases.covariance(part.groups), moments.controls.covariance(part.groups)
        k = int(self.n_components)
        if self.strength != "auto":
            return _given(cases, controls, float(self.strength), k)
        units = _Units.of(controls, moments.controls.shrinkage(part.groups))
        values, vectors = units.contrasts(cases)
        if whole is None:
            noise = _noise(moments, part.dealt.splits, units, k)
        else:  # of fewer rows
            noise = whole.noise * len(part.dealt.all) / len(part.groups)
        strength = float(np.median(values))
        own = np.column_stack([units.shrunk(vectors[:, i], noise[i]) for i in range(k)]) * np.sqrt(
            np.maximum(values[:k] - strength, 0)
        )
        left, size, _ = np.linalg.svd(own, full_matrices=False)
        return _Contrast.of(left.T, size**2, strength, noise)

    def _distance(self, one: _Contrast, other: _Contrast, moments: _Moments) -> np.ndarray:
        return _sines(one.directions, other.directions)

    def _cost(self) -> Literal["free"]:
        return "free"

    def _checks(self, fitted: Fitted) -> tuple[list[Check], PartErrors]:
        """Errors of parts, and whether directions of one half vary more in the cases of the other one."""
        parts, moments = fitted.errors(self.n_splits), fitted.moments
        first, *others = contrasts = _held_out(moments, fitted.dealt, int(self.n_components))
        unit, rows = "as sine of the angle to the true one", moments.cases.n_rows + moments.controls.n_rows
        meaning = "In standard deviations: how much more cases vary along directions that were found on other rows."
        clear = int((np.array(contrasts) > _CLEARLY).sum())
        return [
            *error_checks(parts, _LIMIT, "mean sine of angle", unit, "direction", n_rows=rows),
            Check(
                "contrast on other rows", "z", float(first), above(_CLEARLY), meaning, "halves of the rows", "veto",
                "Cases and background do not differ in how they vary, as far as this number of rows can show.",
            ),
            Check(
                "weakest contrast on other rows", "min z", float(min(contrasts)), above(_CLEARLY), meaning,
                "halves of the rows", "caution" if others else "note",
                f"Of {len(contrasts)} directions {clear} vary more in the cases: ask for as many.",
            ),
        ], parts  # fmt: skip

    def _keep(self, fitted: Fitted) -> None:
        contrast: _Contrast = fitted.found
        moments: _Moments = fitted.moments
        cases, controls = (one.covariance(fitted.dealt.all) for one in (moments.cases, moments.controls))
        self.components_, self.explained_variance_ = contrast.directions, contrast.variances
        along = np.einsum("kd,de,ke->k", contrast.directions, cases, contrast.directions)
        below = np.einsum("kd,de,ke->k", contrast.directions, controls, contrast.directions)
        tiny = np.finfo(float).tiny
        self.explained_variance_ratio_ = contrast.variances / max(float(np.trace(cases)), tiny)
        self.contrast_ = along / np.maximum(below, np.finfo(float).eps * max(float(np.trace(controls)), tiny))
        self.strength_, self.mean_ = contrast.strength, moments.cases.mean
        self._n_features_out, self.n_passes_ = len(contrast.directions), 3

    def _reading(self, fitted: Fitted) -> Reading:
        """Coordinates of cases along the directions."""
        return Reading(np.asarray(self.transform(fitted.some)).T, signed=True)

    def _distances(self, other: BackgroundPCA) -> np.ndarray:
        return _sines(self.components_, other.components_)

    def _shares(self) -> np.ndarray:
        return np.clip(self.explained_variance_ratio_, 0.0, 1.0)

    def _halves(self, X: Any, random_state: int, **rows: Any) -> list[dict[str, Any]]:
        """Halves of both tables."""
        model = BackgroundPCA(**self.get_params())
        cases = table_blocks(model, X, reset=True, sparse=False)
        controls = model._controls(rows.get("background"))
        return [
            {"X": one, "background": two}
            for one, two in zip(cases.split(2, random_state), controls.split(2, random_state), strict=True)
        ]

    # --- use ----------------------------------------------------------------------------------------------------

    @fitted
    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows along the directions, shape (n_rows, K).

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
        return np.vstack([(_dense(block) - self.mean_) @ self.components_.T for block in blocks])


# --- moments ------------------------------------------------------------------------------------------------------


class _Gram:
    """In-place statistic: sum of (1, x - c) (1, x - c)^T in groups of rows, (G, 1 + D, 1 + D)."""

    def __init__(self, center: np.ndarray, dealt: RowGroups) -> None:
        self.center, self.dealt = center, dealt

    def zero(self) -> np.ndarray:
        return np.zeros((self.dealt.n, 1 + len(self.center), 1 + len(self.center)))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        groups = self.dealt.of(block.rows)
        for g in self.dealt.all:
            rows = _dense(block)[groups == g] - self.center
            rows = np.hstack([np.ones((len(rows), 1)), rows])
            state[g] += rows.T @ rows
        return state


def _dense(block: Block) -> np.ndarray:
    if sparse.issparse(block[0]):
        raise LatentiaError("The Blocks are sparse: dense tables are needed. Use their arrays.")
    return np.asarray(block[0])


class _Powers:
    """In-place statistic: sums of 1, p^2 and p^4 of coordinates p = (x - c) V in groups of rows, (G, 3, V)."""

    def __init__(self, center: np.ndarray, vectors: np.ndarray, dealt: RowGroups) -> None:
        self.center, self.vectors, self.dealt = center, vectors, dealt

    def zero(self) -> np.ndarray:
        return np.zeros((self.dealt.n, 3, self.vectors.shape[1]))

    def add_tasks(self, state: np.ndarray, block: Block, parallel: Parallel) -> np.ndarray:
        groups, squares = self.dealt.of(block.rows), ((_dense(block) - self.center) @ self.vectors) ** 2
        for g in self.dealt.all:
            own = squares[groups == g]
            state[g] += np.array([np.full(own.shape[1], len(own)), own.sum(axis=0), (own**2).sum(axis=0)])
        return state


@dataclass(frozen=True)
class _Covariances:
    """Of the groups of rows of one table."""

    table: Blocks
    dealt: RowGroups
    mean: np.ndarray
    sums: np.ndarray
    options: dict[str, Any]

    @classmethod
    def of(cls, table: Blocks, dealt: RowGroups, **options: Any) -> _Covariances:
        columns = column_moments(table, **options)
        return cls(table, dealt, columns.mean, accumulate(table, _Gram(columns.mean, dealt), **options), options)

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def covariance(self, groups: Sequence[int]) -> np.ndarray:
        total = self.sums[list(groups)].sum(axis=0)
        if total[0, 0] < 2:
            raise LatentiaError("A part of a table has fewer than two rows: there are too few to be split.")
        shift = total[0, 1:] / total[0, 0]
        return np.asarray(total[1:, 1:] / total[0, 0] - np.outer(shift, shift))

    def shrinkage(self, groups: Sequence[int]) -> float:
        """Share of a multiple of one that is nearest to the truth (Ledoit and Wolf), noise being what groups differ by."""
        whole, n = self.covariance(groups), len(groups)
        noise = (
            sum(float(((self.covariance([g]) - whole) ** 2).sum()) for g in groups) / (n * (n - 1)) if n > 1 else 0.0
        )
        spread = float(((whole - np.trace(whole) / len(whole) * np.eye(len(whole))) ** 2).sum())
        return float(np.clip(noise / max(spread, np.finfo(float).tiny), _LEAST_SHRUNK, 1.0))

    def powers(self, vectors: np.ndarray) -> np.ndarray:
        return np.asarray(accumulate(self.table, _Powers(self.mean, vectors, self.dealt), **self.options))


@dataclass(frozen=True)
class _Moments:
    """Covariances of groups of both tables."""

    cases: _Covariances
    controls: _Covariances


# --- directions ---------------------------------------------------------------------------------------------------


class _Contrast(NamedTuple):
    """Directions (K, D), variances beyond the background's, its strength, and the share of noise in each direction, (K,)."""

    directions: np.ndarray
    variances: np.ndarray
    strength: float
    noise: np.ndarray

    @classmethod
    def of(cls, directions: np.ndarray, variances: np.ndarray, strength: float, noise: np.ndarray) -> _Contrast:
        signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
        return cls(directions * signs[:, None], variances, strength, noise)


def _given(cases: np.ndarray, controls: np.ndarray, strength: float, k: int) -> _Contrast:
    """Contrastive PCA."""
    values, vectors = np.linalg.eigh(cases - strength * controls)
    return _Contrast.of(vectors[:, ::-1][:, :k].T, values[::-1][:k], strength, np.zeros(k))


@dataclass(frozen=True)
class _Units:
    """Those of the background: its principal directions in columns, and their variances after shrinkage."""

    basis: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, controls: np.ndarray, shrinkage: float) -> _Units:
        values, basis = np.linalg.eigh(controls)
        mean = float(values.mean())
        if mean <= 0:
            raise LatentiaError("All rows of the background are the same: there is nothing to compare with.")
        return cls(basis, (1 - shrinkage) * np.maximum(values, 0) + shrinkage * mean)

    def contrasts(self, cases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of W C_X W, descending, and eigenvectors in columns, in the background's directions."""
        to = self.basis / np.sqrt(self.variances)
        values, vectors = np.linalg.eigh(to.T @ cases @ to)
        return values[::-1], vectors[:, ::-1]

    def patterns(self, vectors: np.ndarray) -> np.ndarray:
        """Directions d = C_B^1/2 y in the columns of the data."""
        return np.asarray(self.basis @ (np.sqrt(self.variances)[:, None] * vectors))

    def filters(self, vectors: np.ndarray) -> np.ndarray:
        """The weights C_B^-1/2 y, along which rows are most contrasted."""
        return np.asarray(self.basis @ (vectors / np.sqrt(self.variances)[:, None]))

    def shrunk(self, vector: np.ndarray, noise: float) -> np.ndarray:
        """The pattern of one eigenvector, whose share of noise is shrunk away.

        The entries have the noise's variance in common, and prior variances in proportion to a power of those of the
        background, the power of the highest likelihood.
        """
        best, found = -np.inf, vector
        for power in _POWERS:
            prior = self.variances**-power
            prior = (1 - noise) * prior / prior.sum()
            total = prior + noise / len(vector)
            height = -float((np.log(total) + vector**2 / total).sum())
            if height > best:
                best, found = height, vector * prior / total
        return self.patterns(found[:, None])[:, 0]


def _noise(moments: _Moments, splits: Sequence[Any], units: _Units, k: int) -> np.ndarray:
    """Share of noise in each direction of all rows, in units of the background, (K,), from how halves agree."""
    agreement = []
    for split in splits:
        found = []
        for half in split:
            own = _Units.of(moments.controls.covariance(half), moments.controls.shrinkage(half))
            patterns = own.patterns(own.contrasts(moments.cases.covariance(half))[1][:, :k])
            found.append(np.linalg.qr(units.basis.T @ patterns / np.sqrt(units.variances)[:, None])[0])
        agreement.append(np.linalg.svd(found[0].T @ found[1], compute_uv=False))
    cosines = np.clip(np.mean(agreement, axis=0), 0.02, 0.9999)
    return np.asarray((1 - cosines) / (1 + cosines))  # tan^2 of all rows is half of that of a half


def _sines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sine of the angle of each direction to the nearest other one."""
    return np.sqrt(np.clip(1 - np.abs(one @ other.T).max(axis=1) ** 2, 0, None))


def _held_out(moments: _Moments, dealt: RowGroups, k: int) -> list[float]:
    """How much more cases vary along the directions of the other half of rows, in standard deviations, for each of them."""
    filters, bulk, halves = [], [], [half for split in dealt.splits for half in split]
    others = [half for split in dealt.splits for half in split[::-1]]
    for half, other in zip(halves, others, strict=True):
        units = _Units.of(moments.controls.covariance(half), moments.controls.shrinkage(half))
        vectors = units.filters(units.contrasts(moments.cases.covariance(half))[1])
        tables = moments.cases, moments.controls
        ratios = [np.einsum("di,di->i", vectors, one.covariance(other) @ vectors) for one in tables]
        tiny = np.finfo(float).tiny
        bulk.append(np.log(max(np.median(ratios[0] / np.maximum(ratios[1], tiny)), tiny)))
        filters.append(vectors[:, :k])
    powers = [one.powers(np.hstack(filters)) for one in (moments.cases, moments.controls)]
    gaps, errors, apart = [], [], []
    for i, other in enumerate(others):
        mine = slice(i * k, (i + 1) * k)
        logs, noises = zip(*(_log_variance(one[list(other)].sum(axis=0)[:, mine]) for one in powers), strict=True)
        gaps.append(logs[0] - logs[1] - bulk[i])
        errors.append(sum(noises))
        each = [_log_variance(powers[0][g][:, mine])[0] - _log_variance(powers[1][g][:, mine])[0] for g in other]
        apart.append((each[0] - each[1]) ** 2 / (4 * errors[-1]))
    more = max(1.0, float(np.mean(apart)))  # rows that depend on each other
    return [float(z) for z in np.mean(np.array(gaps) / np.sqrt(np.array(errors) * more), axis=0)]


def _log_variance(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logarithm of a variance, and the square of its standard error."""
    n, second, fourth = sums
    tiny = np.finfo(float).tiny
    return np.log(np.maximum(second / n, tiny)), np.maximum(n * fourth / np.maximum(second**2, tiny) - 1, 0.1) / n
