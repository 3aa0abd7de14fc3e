"""Mixtures of views that are independent given the component: mixtures of product distributions among them.

Model. A row draws a component h with P(h = k) = w_k, and then each of its views x_1, x_2, x_3, ... independently from
distributions of which only the means matter, E[x_a | h = k] = mu_ak. Views may be of different kind and dimension.

Source: R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, section 7.3.3, Theorem 7.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from .._validation import check_choices, check_splits, check_whole, seed_of
from ..evidence import (
    EVERYONE,
    HALVES,
    Check,
    Evidence,
    PartErrors,
    TensorMeasured,
    error_checks,
    errors_from_groups,
    separation_limit,
    tensor_checks,
)
from ..exceptions import LatentiaError
from ..moments import (
    CommonFrame,
    ProductMixtureUpdate,
    ViewMoments,
    ViewSums,
    all_column_moments,
    common_frame,
    frame_noise,
    principal_coordinates,
    product_log_density,
)
from ..passes import Block, Blocks, MappedBlocks, accumulate, row_groups
from ..tensor import Decomposition, decompose

__all__ = ["MultiViewMixture"]

_OVERSAMPLE = 12
_LEAST = 1e-3  # least probability of a binary feature, and of its absence
_FLOOR = 0.02  # of a feature's variance: the least variance of it in a component


class MultiViewMixture(BaseEstimator):
    """Mixture of views by tensor decomposition: deterministic, few passes, error bars for every component.

    When to choose it: three or more groups of measurements that have nothing in common but the class (words in three
    parts of a text, three sensors, three blocks of a questionnaire), or one table whose features are independent
    given the class, cut in three. It assumes no distribution within a view. It needs, in every view, means that are
    affinely independent, so at least K - 1 features there.

    Parameters
    ----------
    n_components : int, default=5
        Number of components K.
    distribution : {None, "bernoulli", "gaussian"}, default=None
        Distribution of every feature given the component, all features independent: what ``refine``, `predict` and
        `score` need. "gaussian" has a variance for each feature and component. None assumes nothing, and finds means
        and weights alone.
    refine : int, default=0
        EM passes over the data under ``distribution``, started from the moments. Outside the theorem.
    n_splits : int, default=3
        Random splits into halves, at most 3, whose fits give the error bars; they cost no pass over the data, but with
        ``refine`` one is made and costs as much as refining itself. 0 gives up the error bars.
    random_state : int, default=0
        Seed of the starts and splits; None or a RandomState draws one.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : bool, default=False
        Show progress and the time that remains.

    Attributes
    ----------
    means_ : list of ndarray of shape (K, D_a)
        Means of every view; the largest weight first.
    weights_ : ndarray of shape (K,)
    variances_ : list of ndarray of shape (K, D_a)
        Variances of the features; with ``distribution="gaussian"``.
    evidence_ : Evidence
        Checks of the assumptions, and expected l2 errors of the components over all features in standard deviations
        of the data (``component_errors``).
    n_passes_ : int
        Passes over the data.

    Notes
    -----
    Differences from the thesis:

    1. Views may have any dimension: each is reduced to the K leading singular directions of its cross moments.
    2. A constant is appended to every view, so that K means need only be affinely independent, and features are
       scaled to unit variance.
    3. The three views are symmetrised together, and the third moment is averaged over the six orders of the views,
       where Theorem 7.5 singles out one view (see `latentia.moments`).
    4. Means are weighted averages of the rows, with weights that are linear in the other views, scaled to sum one.
    5. More than three views are joined into three: view i goes to group i mod 3.

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

    _compared = ("means_", "_scales", "_views")

    def __init__(
        self,
        n_components: int = 5,
        *,
        distribution: str | None = None,
        refine: int = 0,
        n_splits: int = 3,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.distribution = distribution
        self.refine = refine
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, views: Any = None) -> MultiViewMixture:
        """Learn the mixture.

        Parameters
        ----------
        X : list of three or more tables of shape (n_rows, D_a), or one of shape (n_rows, D), or Blocks of three or more parts
        y : ignored
        views : list of lists of columns, optional
            For one table: the columns, by number or name, of each of three or more views.

        Returns
        -------
        self
        """
        self._check_parameters()
        blocks = self._read(X, views)
        moments, sums = self._moments(blocks)
        frame, decomposition, found = self._recover(moments.of(sums, EVERYONE))
        means, weights, variances = self._refine(*found, blocks)

        def fit_half(groups: tuple[int, ...]) -> list[np.ndarray]:
            half = blocks.group(frozenset(groups), 4, self._seed) if self.refine else blocks
            return self._refine(*self._recover(moments.of(sums, groups))[-1], half)[0]

        parts = errors_from_groups(
            fit_half, lambda half: self._nearest(means, half), self.n_splits, cheap=not self.refine
        )
        self._finish(means, weights, variances)
        return self._weigh_evidence(frame, decomposition, moments, sums, parts)

    def _read(self, X: Any, views: Any) -> Blocks:
        """Blocks with one part a view; the number of columns of each is remembered."""
        blocks = _split(X, views)
        self._widths = [shape[1] for shape in blocks.shapes]
        self._width = None if views is None else np.shape(X)[1]
        self._views = None if views is None else [[_plain(c) for c in view] for view in views]
        if len(self._widths) < 3:
            raise LatentiaError(f"{len(self._widths)} views: three or more are needed. Cut one table with views=[...].")
        least = self.n_components - 1
        groups = [sum(self._widths[i] for i in group) for group in self._groups()]
        if min(groups) < least:
            raise LatentiaError(
                f"n_components={self.n_components} needs at least {least} features in each of three views, and they have "
                f"{', '.join(map(str, groups))}: this data supports at most n_components={min(groups) + 1}."
            )
        if blocks.n_rows < 2 * self.n_components:
            raise LatentiaError(f"{blocks.n_rows} rows cannot carry n_components={self.n_components}: lower it.")
        return blocks

    def _groups(self) -> list[list[int]]:
        """Views that are joined, for each of three."""
        return [list(range(i, len(self._widths), 3)) for i in range(3)]

    def _moments(self, blocks: Blocks) -> tuple[ViewMoments, Any]:
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "progress": self.verbose}
        columns = all_column_moments(blocks, **options)
        for i, column in enumerate(columns):
            if (column.variance > 0).sum() == 0:
                raise LatentiaError(f"View {i + 1} is constant: it says nothing about the component. Leave it out.")
        self._constant = sum(int((column.variance == 0).sum()) for column in columns)
        self._scales = [np.sqrt(np.where(c.variance > 0, c.variance, 1.0)) for c in columns]
        joined, n_passes = [], 0
        joint_blocks = _joined(blocks, self._groups())
        for a, group in enumerate(self._groups()):
            center = np.concatenate([columns[i].mean for i in group])
            scale = np.concatenate([np.where(columns[i].variance > 0, 1.0 / self._scales[i], 0.0) for i in group])
            coordinates, more = principal_coordinates(
                joint_blocks,
                self.n_components + _OVERSAMPLE,
                center,
                scale=scale,
                part=a,
                random_state=self._seed,
                **options,
            )
            joined.append(coordinates)
            n_passes += more
        moments = ViewMoments(
            joined, lambda block: (block, row_groups(block.rows, 4, self._seed)), squares=self._gaussian
        )
        self._centers = self._separate([c.center[None] for c in joined])
        self.n_passes_ = 1 + n_passes + 1 + self.refine
        return moments, accumulate(joint_blocks, moments, **options)

    def _recover(
        self, m: ViewSums
    ) -> tuple[CommonFrame, Decomposition, tuple[list[np.ndarray], np.ndarray, list[np.ndarray] | None]]:
        """Means of the views, weights and, for Gaussians, variances, from moments."""
        frame = common_frame(m, self.n_components)
        decomposition = decompose(frame.tensor, self.n_components, self._seed)
        v = decomposition.vectors
        means = self._separate([frame.mean_given(m.sketches, a, v) for a in range(3)])
        variances = None
        if self._gaussian:
            squares = self._separate([frame.mean_given(m.squares, a, v) for a in range(3)])
            variances = [
                np.maximum(square - (mean - center) ** 2, _FLOOR * scale**2)
                for square, mean, center, scale in zip(squares, means, self._centers, self._scales, strict=True)
            ]
        return frame, decomposition, (means, frame.weights(v), variances)

    def _separate(self, joined: list[np.ndarray]) -> list[np.ndarray]:
        """From three joined views back to the views, in their order."""
        found: dict[int, np.ndarray] = {}
        for group, table in zip(self._groups(), joined, strict=True):
            ends = np.cumsum([self._widths[i] for i in group])[:-1]
            found |= dict(zip(group, np.split(table, ends, axis=1), strict=True))
        return [found[i] for i in range(len(self._widths))]

    def _refine(
        self, means: list[np.ndarray], weights: np.ndarray, variances: list[np.ndarray] | None, blocks: Blocks
    ) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray] | None]:
        """After the EM passes, the largest weight first."""
        ends = np.cumsum(self._widths)[:-1]
        if self.refine:
            mean = np.hstack(self._possible(means))
            variance = None if variances is None else np.hstack(variances)
            width = sum(self._widths)
            rows = MappedBlocks(blocks, lambda block: [self._rows(block)], [(blocks.n_rows, width)])
            floor = _FLOOR * np.concatenate(self._scales) ** 2 if self._gaussian else _LEAST
            for step in range(self.refine):
                update = ProductMixtureUpdate(str(self.distribution), mean, variance, weights)
                label = self.verbose and f"refining {step + 1} of {self.refine}"
                mean, variance, weights = update.updated(accumulate(rows, update, self.n_jobs, progress=label), floor)
            means = np.split(mean, ends, axis=1)
            variances = None if variance is None else np.split(variance, ends, axis=1)
        order = np.argsort(-weights, kind="stable")
        return [m[order] for m in means], weights[order], None if variances is None else [v[order] for v in variances]

    def _finish(self, means: list[np.ndarray], weights: np.ndarray, variances: list[np.ndarray] | None) -> None:
        self.means_, self.weights_ = means, weights
        if variances is not None:
            self.variances_ = variances
        elif hasattr(self, "variances_"):
            del self.variances_

    def _nearest(self, means: list[np.ndarray], other: list[np.ndarray]) -> np.ndarray:
        """Distance of every component to the nearest of another fit, in standard deviations, over all features."""
        first, second = (np.hstack([m / s for m, s in zip(side, self._scales, strict=True)]) for side in (means, other))
        return cdist(first, second).min(axis=1)

    def _distances(self, other: MultiViewMixture) -> np.ndarray:
        return self._nearest(self.means_, other.means_)

    def _weigh_evidence(
        self,
        frame: CommonFrame,
        decomposition: Decomposition,
        moments: ViewMoments,
        sums: Any,
        parts: PartErrors,
    ) -> MultiViewMixture:
        weights, _, info = decomposition
        first, second = (moments.of(sums, half) for half in HALVES[0])
        measured = TensorMeasured(
            spectrum=frame.spectrum,
            weights=weights,
            residual=info.residual,
            stable=info.stable,
            samples=moments.of(sums, EVERYONE).n,
            noise=frame_noise(frame, first, second),
        )
        scaled = np.hstack([m / s for m, s in zip(self.means_, self._scales, strict=True)])
        limit = separation_limit(scaled, "euclidean") if self.n_components > 1 else 1.0
        checks = error_checks(parts, limit, "mean |mu_k - mu'_k|_2", "in l2 over all features, in standard deviations")
        checks += tensor_checks(measured)
        checks.append(
            Check(
                "symmetry of the views", "|T - T^sigma| / |T|", frame.asymmetry, "", None,
                "How far the third moment is from being the same for every order of the views: noise, or views that share "
                "more than the component.", "Theorem 7.5",
            )
        )  # fmt: skip
        if self._constant:
            meaning = "They tell nothing about the component and were left out of the moments."
            checks.append(Check("constant features", "", float(self._constant), "", None, meaning, "model"))
        self.evidence_ = Evidence(checks, parts.errors).bind(self)
        return self

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Arguments of `fit` for two random halves of the rows."""
        several = isinstance(X, Blocks) or (isinstance(X, (list, tuple)) and np.ndim(X[0]) == 2)
        blocks = _split(X, None if several else fit_parameters.get("views", self._views))
        return [{"X": half} for half in blocks.split(2, random_state)]

    # --- use ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Most probable component of every row, shape (n_rows,). Needs ``distribution``."""
        return np.concatenate([joint.argmax(axis=1) for joint in self._joint(X)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the components of every row, shape (n_rows, K). Needs ``distribution``."""
        return np.vstack([np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) for joint in self._joint(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of a row, in nats. Higher is better. Needs ``distribution``."""
        return float(np.mean(np.concatenate([logsumexp(joint, axis=1) for joint in self._joint(X)])))

    def _joint(self, X: Any) -> Iterator[np.ndarray]:
        """Log-density of each row together with each component, (n, K), block by block."""
        check_is_fitted(self)
        if self.distribution is None:
            raise LatentiaError(
                "Without a distribution there are means and no densities: fit with distribution='bernoulli' or 'gaussian'."
            )
        several = isinstance(X, Blocks) or (isinstance(X, (list, tuple)) and len(X) and np.ndim(X[0]) == 2)
        if not several and self._views is None:
            raise LatentiaError(f"The model was fitted on {len(self._widths)} tables: give as many, in a list.")
        if not several and np.shape(X)[1] != self._width:
            raise LatentiaError(f"X has {np.shape(X)[1]} columns and the model was fitted on {self._width}.")
        blocks = _split(X, None if several else self._views)
        widths = [shape[1] for shape in blocks.shapes]
        if widths != self._widths:
            raise LatentiaError(f"The views have {widths} columns and the model was fitted on {self._widths}.")
        means = np.hstack(self._possible(self.means_))
        variances = np.hstack(self.variances_) if self._gaussian else None
        log_weights = np.log(np.maximum(self.weights_, np.finfo(float).tiny))
        kind = str(self.distribution)
        return (product_log_density(kind, self._rows(block), means, variances) + log_weights for block in blocks)

    def _rows(self, block: Block) -> Any:
        """The views of a block side by side; under "bernoulli" they must be 0 and 1."""
        table = _side_by_side(block)
        if self.distribution == "bernoulli":
            values = table.data if sparse.issparse(table) else table
            if ((values != 0) & (values != 1)).any():
                dense = table.toarray() if sparse.issparse(table) else table
                row, column = (int(i) for i in np.argwhere((dense != 0) & (dense != 1))[0])
                raise LatentiaError(
                    f"distribution='bernoulli' needs features of 0 and 1, and row {block.rows[row]} has {dense[row, column]} "
                    f"in column {column} of the joined views: use 'gaussian', or make the features binary."
                )
        return table

    def _possible(self, means: list[np.ndarray]) -> list[np.ndarray]:
        """Means that every row is possible under: probabilities are kept off 0 and 1."""
        return [np.clip(mean, _LEAST, 1 - _LEAST) if self.distribution == "bernoulli" else mean for mean in means]

    # --- helpers ------------------------------------------------------------------------------------------------

    @property
    def _gaussian(self) -> bool:
        return self.distribution == "gaussian"

    def _check_parameters(self) -> None:
        check_whole(self, n_components=1, refine=0)
        if self.distribution is not None:
            check_choices(self, distribution=("bernoulli", "gaussian"))
        elif self.refine:
            raise LatentiaError(
                f"refine={self.refine} needs a likelihood: give distribution='bernoulli' or 'gaussian'."
            )
        check_splits(self, "rows")
        self._seed = seed_of(self.random_state)


def _split(X: Any, views: Any) -> Blocks:
    """Blocks with one part a view."""
    if isinstance(X, Blocks):
        return X
    if views is None:
        if not isinstance(X, (list, tuple)) or not len(X) or np.ndim(X[0]) != 2:
            raise LatentiaError(
                "X: a list of three or more tables is needed, or one table with views=[columns, columns, ...]."
            )
        return Blocks.from_array(*[_checked(table, i) for i, table in enumerate(X)])
    names = [str(c) for c in X.columns] if hasattr(X, "columns") else None
    table = _checked(X, 0)
    parts: list[Any] = []
    seen: set[int] = set()
    for i, view in enumerate(views):
        if np.ndim(view) != 1:
            raise LatentiaError(f"views: view {i + 1} is {view!r}; a list of columns is needed for each view.")
        columns = [_column(c, names, table.shape[1], i) for c in view]
        twice = seen.intersection(columns)
        if twice or len(set(columns)) < len(columns) or not columns:
            what = f"column {min(twice)} is in another view too" if twice else "no column, or one that is named twice"
            raise LatentiaError(f"views: view {i + 1} has {what}. Views must have columns of their own.")
        seen.update(columns)
        parts.append(table[:, columns])
    return Blocks.from_array(*parts)


def _column(column: Any, names: list[str] | None, width: int, view: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            raise LatentiaError(f"views: view {view + 1} names column {column!r}, which the table does not have.")
        return names.index(column)
    if not 0 <= column < width:
        raise LatentiaError(f"views: view {view + 1} has column {column}, and the table has {width} columns.")
    return int(column)


def _checked(table: Any, number: int) -> Any:
    try:
        return check_array(table, accept_sparse="csr", dtype=np.float64, input_name=f"View {number + 1}")
    except ValueError as error:
        raise LatentiaError(str(error)) from error


def _joined(blocks: Blocks, groups: list[list[int]]) -> Blocks:
    """Blocks with three parts, each of some views side by side."""
    widths = [sum(blocks.shapes[i][1] for i in group) for group in groups]
    shapes = [(blocks.n_rows, width) for width in widths]
    return MappedBlocks(blocks, lambda block: [_side_by_side([block[i] for i in group]) for group in groups], shapes)


def _side_by_side(tables: Sequence[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    if any(sparse.issparse(table) for table in tables):
        return sparse.csr_array(sparse.hstack(list(tables), format="csr"))
    return np.hstack(list(tables))


def _plain(column: Any) -> Any:
    return column if isinstance(column, str) else int(column)
