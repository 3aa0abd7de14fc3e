"""Base class of all estimators: checked parameters, fits that succeed completely or change nothing, hooks of the evidence."""

from __future__ import annotations

import functools
import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .. import _fields as of
from .._parameters import Constraint, Integer, check_parameter, check_parameters, seed_of
from .._presentation import presenters
from .._validation import check_same_rows, list_of
from ..comparing.levels import Levels, levels_of
from ..comparing.news import News, find_news
from ..comparing.profile import Profile
from ..evidence.sizes import CANDIDATES, Size, and_beyond, recommend, until_enough
from ..exceptions import LatentiaError, LatentiaWarning, NotSupportedWarning, warn
from ..metrics.matching import nearest_distances
from ..passes import Blocks
from ..passes.blocks import draw_folds
from ..passes.checkpoint import Identity, keep_fit
from ..passes.dask import convert_collections
from ..system.threads import single_blas_thread

if TYPE_CHECKING:
    from ..evidence import Evidence
    from ..summaries import Summary, Table

_MAX_SAMPLED_ROWS = 10**8  # rows that one call of `sample` may draw
_MAX_TRIED_COMPONENTS = 40  # largest number of components tried when the requested one cannot be fitted

E = TypeVar("E", bound="Estimator")
P = ParamSpec("P")
R = TypeVar("R")


class Estimator(BaseEstimator):
    """Base class of the estimators.

    A family writes its constructor, a table of ``_constraints`` for parameters that `latentia._parameters.SHARED` lacks, a
    ``fit`` under `fitting`, and methods that use the model under `fitted`.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    _compared: ClassVar[tuple[str, ...]] = ("components_",)
    """Attributes that `_distances` reads."""
    _nouns: ClassVar[tuple[str, str, str]] = ("component", "components", "rows")
    """Singular and plural noun for components, and plural noun for rows."""
    _rival: ClassVar[str] = "No rival with other assumptions is known: errors that all parts share are not included."
    """Sentence on a second method that sees errors shared by all parts of the data."""
    _is_compared: bool = False
    """True if the evidence compares this fit with fits of other numbers of components."""
    _column_names: Any = None
    reading_: Mapping[str, Any] = MappingProxyType({})
    """Options with which a command read its file."""
    n_components: Any  # an int within a fit; elsewhere also "auto" or a list of numbers
    verbose: Any
    evidence_: Evidence
    _seed: Annotated[int, of.count()]
    _n_rows: Annotated[int, of.optional(of.count())]
    n_features_in_: Annotated[int, of.size("V")]
    n_components_: Annotated[int, of.optional(of.size("K"))]
    n_passes_: Annotated[int, of.count()]

    def _check_parameters(self) -> None:
        """Raise for combinations of parameters that the constraints allow one by one only."""

    def _check_fitted(self) -> None:
        """Raise for inconsistent fitted attributes, after `latentia.load` has read them."""

    def _columns_compared(self) -> dict[str, Any]:
        """Return further choices of the fit as columns of ``comparison_``."""
        return {}

    def _candidates(self, *args: Any, **kwargs: Any) -> Sequence[int] | None:
        """Return the numbers of components that "auto" compares on this data; None for the common list."""
        return None

    def _distances(self, fit: Any) -> np.ndarray:
        """Return the distance of each component to the nearest one of another fit, shape (K,)."""
        return nearest_distances(self.components_, fit.components_)  # type: ignore[attr-defined]

    def _profile(self) -> Profile | None:
        """Return the components by the names of the columns, for `latentia.match`; None if the family has no such rows."""
        return None

    def _profile_of_levels(self) -> Profile | None:
        """Return the rows by which `levels` groups the components."""
        return self._profile()

    def _rows_in_memory(self, X: Any) -> Any:
        """Return the rows of X for `news`, which needs them several times and by their numbers."""
        (X,), _ = convert_collections(type(self).fit, (X,), {})
        return X.table() if isinstance(X, Blocks) and len(X.shapes) == 1 else X

    def _row_scores(self, X: Any) -> np.ndarray | None:
        """Return a log-probability of each row, for `news`; None if the family has none."""
        return None

    def _draw_alike(self, X: Any, rng: np.random.Generator) -> Any:
        """Draw as many rows as X has from the model, with the lengths and the gaps of X."""
        raise LatentiaError(
            f"news: a {type(self).__name__} cannot draw rows like X. Give rows without news as reference."
        )

    def _n_rows_of_fit(self) -> float:
        """Return the number of rows, or of windows of a sequence, that the model was fitted to; infinite if unknown."""
        return vars(self).get("_n_rows", 0) / len(self._steps_of(np.zeros(1, dtype=int))) or np.inf

    def _steps_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers of the rows of X that these numbers of `_row_scores` stand for."""
        return rows

    def _noun_of_scores(self) -> str:
        """Return the plural noun of what `_row_scores` scores."""
        return self.nouns[2]

    def _fit_rest(self, X: Any) -> tuple[Any, int]:
        """Fit a new component to rows that the model does not explain; return its model, and its number there."""
        return clone(self).set_params(n_components=1).fit(X), 0

    def _shares_by(self, X: Any, of_rows: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the shares of components, (K,), and those in batches with 90% intervals, (G, K, 3); None without shares."""
        return None

    def news(self, X: Any, reference: Any = None) -> News:
        """Measure how much of new rows the model does not explain.

        New rows are compared with rows that the model draws, by their log-probability. The model's error counts by the number
        of rows of its fit, if that is known. No model is quite right: with many rows
        its misfit is news too. Rows that were kept from the time of the fit, but not fitted, as ``reference`` avoid that.

        Parameters
        ----------
        X : as in ``fit``
            New rows, 50 or more; or sequences, of which windows of 20 steps are compared, 50 or more; or pairs of words, as
            ``fit_pairs`` takes them.
        reference : as X, optional
            Rows without news, to compare with; by default rows drawn from the model, with the lengths and gaps of X.

        Returns
        -------
        News
            Share of the rows that the model does not explain, with a 90% interval, an alarm, a component fitted to those rows,
            and exemplary rows. The share is at least what the probabilities of rows tell: rows of a new component that are
            as probable as others do not count.

        Raises
        ------
        LatentiaError
            If the family has no probabilities of rows or cannot draw rows, or there are too few rows.
        """
        check_is_fitted(self)
        return find_news(self, X, reference)

    def _shares(self) -> np.ndarray | None:
        """Return the share of the data of each component, shape (K,); None if the model has none."""
        weights = getattr(self, "weights_", None)
        return weights if isinstance(weights, np.ndarray) and weights.ndim == 1 else None

    def _read_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Read the arguments of ``fit`` that are not tables yet, once for all numbers of components."""
        return args, kwargs

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Return the arguments of ``fit`` for two random halves of the data, for `Evidence.stability`."""
        return halves_of_rows(random_state, X=X, **fit_parameters)

    def _widths(self) -> dict[str, Any]:
        """Return the numbers of columns, which compared fits must share."""
        return {"columns": self.__dict__.get("n_features_in_"), "columns of V": self.__dict__.get("n_features_v_")}

    @property
    def nouns(self) -> tuple[str, str, str]:
        """Singular and plural noun for components, and plural noun for rows."""
        return self._nouns

    @property
    def text_vectorizer(self) -> Any:
        """Vectorizer of a model that was fitted on texts; None for other models."""
        return self.__dict__.get("vectorizer_")

    @property
    def n_found(self) -> int | None:
        """Number of components, requested or chosen; None if there is neither."""
        return getattr(self, "n_components_", self.get_params(deep=False).get("n_components"))

    @property
    def compared(self) -> list[dict[str, Any]]:
        """Rows of the comparison of numbers of components; empty if one number was requested."""
        return getattr(self, "comparison_", [])

    @property
    def column_names(self) -> list[str] | None:
        """Names of the fitted columns, from ``vocabulary``, the table, or the file of a command; None without names."""
        vocabulary = vars(self).get("vocabulary")
        vocabulary = sorted(vocabulary, key=vocabulary.__getitem__) if isinstance(vocabulary, Mapping) else vocabulary
        candidates = (
            vocabulary,
            getattr(self, "feature_names_in_", None),
            self._column_names,
            self.reading_.get("columns"),
        )
        column_names = next((names for names in candidates if names is not None), None)
        return None if column_names is None else [str(name) for name in column_names]

    def report(self, path: str | os.PathLike[str], *data: Any, **options: Any) -> Path:
        """Write the result, and how far it can be trusted, to one HTML file that works offline.

        Parameters
        ----------
        path : path
            The file is written completely or not at all; an existing file is replaced.
        *data
            The arguments of ``fit``, by position or name: ``report(path, X)``, ``report(path, X, lengths=lengths)``,
            ``report(path, U, V, y)``. Without data the page shows what the model alone knows, and names what is missing.
        **options
            ``title``, ``source`` (origin of the data), ``comparison`` and other options of the family's function in
            `latentia.report`: ``columns`` or ``vocabulary``, ``names`` and ``texts`` of documents, ...

        Returns
        -------
        Path of the file
        """
        return presenters["report"](path, self, *data, **options)

    def levels(self) -> Levels:
        """Return the components as a tree on coarser levels, with the evidence for each split.

        The two closest groups are joined first, weighted by their shares (Ward; Hellinger distances for probabilities). A split
        is *supported* if the means of its two parts differ by more than 1.5 times the expected error of this difference, and by
        1.5 times the largest distance inside; *with care* if only the error is exceeded. No split rests on components that are
        found again by less than half, or are almost empty.

        Returns
        -------
        latentia.comparing.Levels
            ``print`` shows the tree, ``cut(k)`` returns the group of every component at k groups, ``to_frame()`` has the joins.

        Raises
        ------
        LatentiaError
            If the family has no rows to compare, or the fit has no expected errors.
        """
        check_is_fitted(self, "evidence_")
        return levels_of(self)

    def summary(self, *data: Any, **options: Any) -> Summary:
        """Return the result, and how far it can be trusted, as data for reports, tables, files and figures.

        Parameters
        ----------
        *data, **options
            As in `report`. With data there are also tables of its rows.

        Returns
        -------
        latentia.summaries.Summary
            Its ``tables`` map names to `latentia.summaries.Table`, each with ``rows()`` and ``to_frame()``.
        """
        return presenters["summary"](self, *data, **options)

    def methods_text(self) -> str:
        """Return a paragraph for the methods section of a paper: model, settings, evidence, and what was not measured.

        Returns
        -------
        str
            All numbers come from the fit. Add a description of the data and the question.
        """
        check_is_fitted(self, "evidence_")
        return str(presenters["methods_text"](self))

    @property
    def tables(self) -> dict[str, Table]:
        """Tables of `summary` that need no data: ``model.tables["components"].to_frame()``."""
        return self.summary().tables


class OutputNames(ClassNamePrefixFeaturesOutMixin):
    """Estimators whose ``transform`` has a column for each component, named by the class."""

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``transform``.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns of the data, which must be those of the fit; otherwise not used.

        Returns
        -------
        ndarray of str, shape (K,)
        """
        names = None if input_features is None else list_of(input_features, "input_features")
        try:
            return np.asarray(super().get_feature_names_out(names))
        except NotFittedError:
            raise
        except ValueError as error:
            raise LatentiaError(f"{error}.", parameter="input_features") from error


def fitting(fit: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """Wrap ``fit`` or a similar method: check parameters first, and change the estimator only after success.

    The method runs on an empty copy with the parameters and ``_seed``, without results of an earlier fit. Matrix products run
    in one thread, so that the bits of the answer do not depend on the number of BLAS threads.
    """

    @functools.wraps(fit)
    def wrapper(self: E, /, *args: P.args, **kwargs: P.kwargs) -> E:
        fresh = copy_unfitted(self)
        seed = seed_of(fresh.get_params(deep=False).get("random_state", 0))
        arguments: Any = fresh._read_arguments(args, kwargs) if fit.__name__ == "fit" else (args, kwargs)
        arguments = convert_collections(fit, *arguments)

        def identity() -> Identity:
            return Identity.from_fit(f"{type(self).__name__}.{fit.__name__}", fresh.get_params(deep=False), arguments)

        with single_blas_thread(), keep_fit(identity, seed) as fresh._seed:
            n_components = getattr(fresh, "n_components", None)
            if n_components is None or isinstance(n_components, numbers.Integral):
                empty, fresh = fresh, copy(fresh)
                try:
                    fit(fresh, *arguments[0], **arguments[1])
                except LatentiaError as error:
                    hinted_error = _suggest_size(error, empty, fit, *arguments[0], **arguments[1])
                    if hinted_error is None:
                        raise
                    raise hinted_error from error
            else:
                fresh = _fit_best_size(fresh, fit, *arguments[0], **arguments[1])
        self.__dict__ = fresh.__dict__
        evidence = getattr(self, "evidence_", None)
        if evidence is not None and evidence.grade == "not supported" and evidence.measured:
            warn(f"{evidence.verdict} {evidence.advice} evidence_ has the measurements.", NotSupportedWarning)
        return self

    return wrapper


def copy_unfitted(estimator: E) -> E:
    """Return an unfitted copy of an estimator, with checked parameters."""
    fresh: E = object.__new__(type(estimator))
    fresh.__dict__.update({name: value for name, value in estimator.__dict__.items() if not _is_fitted_attribute(name)})
    check_parameters(fresh)
    fresh._check_parameters()
    return fresh


def _fit_best_size(empty: E, fit: Callable[Concatenate[E, P], E], /, *args: P.args, **kwargs: P.kwargs) -> E:
    """Fit all candidate numbers of components and return the fit that the evidence recommends."""
    requested = empty.n_components
    fits: dict[int, E] = {}
    messages_by_size: dict[int, list[warnings.WarningMessage]] = {}
    results: list[Size] = []
    if not isinstance(requested, str):
        sizes: Iterable[int] = sorted(set(requested))
    else:
        candidates = empty._candidates(*args, **kwargs)
        sizes = until_enough(CANDIDATES, results) if candidates is None else and_beyond(candidates, results)
    for size in sizes:
        model = copy(empty)
        model.__dict__ = empty.__dict__ | {"n_components": int(size), "_is_compared": True}
        try:
            with warnings.catch_warnings(record=True) as messages:
                warnings.simplefilter("always")
                fit(model, *args, **kwargs)
        except LatentiaError as error:
            if error.parameter != "n_components" or not results:
                raise
            break
        fits[size], messages_by_size[size] = model, messages
        results.append(Size.from_evidence(size, model.evidence_))
    size, reason = recommend(results, empty._nouns[1])
    best = fits[size]
    best.evidence_.forget_sizes(fits)
    for message in messages_by_size[size]:
        warn(cast(Any, message.message), cast(Any, message.category))
    del best._is_compared
    best.__dict__ |= {
        "n_components": requested, "n_components_": size, "recommendation_": reason,
        "comparison_": [
            model.row() | fits[model.n_components]._columns_compared() for model in sorted(results, key=lambda model:
            model.n_components)
        ],
    }  # fmt: skip
    return best


def _suggest_size(
    error: LatentiaError, empty: E, fit: Callable[Concatenate[E, P], E], /, *args: P.args, **kwargs: P.kwargs
) -> LatentiaError | None:
    """Return the error with a number of components that can be fitted, if the error knows a maximum; otherwise None.

    A failed fit knows the rank of its own moments; with fewer components these may have a lower rank. Fits of more than 40
    components take long, so for larger numbers the hint says that 40, or fewer, can be fitted.
    """
    supported, requested = error.at_most, getattr(empty, "n_components", None)
    if error.parameter != "n_components" or supported is None or not isinstance(requested, numbers.Integral):
        return None
    settings = {name: 0 for name in ("n_splits", "refine") if hasattr(empty, name)}
    size = int(requested)
    max_size: int | None = supported
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        while size > 1:
            size = max(1, min(size // 2 if max_size is None else max_size, size - 1, _MAX_TRIED_COMPONENTS))
            model = copy(empty)
            model.__dict__ = empty.__dict__ | settings | {"n_components": size}
            try:
                fit(model, *args, **kwargs)
            except LatentiaError as size_error:
                if size_error.parameter != "n_components":
                    return None
                max_size = size_error.at_most
            else:
                is_many = supported > _MAX_TRIED_COMPONENTS
                hint = f"{size} can be fitted." if is_many else f"Its moments carry fewer: {size} can be fitted."
                hinted = copy(error)
                hinted.at_most, hinted.hint = supported if is_many else size, "" if size == supported else hint
                return hinted
    return None


def fitted(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Wrap a method that uses the model: require a fit, and run matrix products in one thread."""

    @functools.wraps(method)
    def wrapper(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_is_fitted(self)
        try:
            arguments: Any = convert_collections(method, args, kwargs, getattr(self, "vectorizer_", None))
            with single_blas_thread():
                return method(self, *arguments[0], **arguments[1])
        except MemoryError as error:
            raise LatentiaError(
                f"The result does not fit into memory ({error}). Ask for fewer rows at a time."
            ) from error

    return wrapper


def _is_fitted_attribute(name: str) -> bool:
    """Return True for attributes of a fit, not for parameters or scikit-learn's settings."""
    if name.startswith("_"):
        return not name.startswith(("_sklearn", "_skl_", "_parent_callback", "_metadata"))
    return name.endswith("_")


def check_size(n: Any, name: str = "n_samples") -> int:
    """Check a number of rows to draw: a whole number of at least 1, at most 10^8."""
    check_parameter(name, n, Integer(1))
    if n > _MAX_SAMPLED_ROWS:
        raise LatentiaError(f"expected at most {_MAX_SAMPLED_ROWS:,} rows at a time.", parameter=name, value=n)
    return int(n)


def halves_of_rows(random_state: int, **tables: Any) -> list[dict[str, Any]]:
    """Split the rows of aligned tables, or of one Blocks, into two random halves, by the names of the tables."""
    (name, first), *rest = tables.items()
    if isinstance(first, Blocks):
        return [{name: half, **dict(rest)} for half in first.split(2, random_state)]
    n_rows = {key: _count_rows(table, key) for key, table in tables.items()}
    check_same_rows(**n_rows)
    halves = draw_folds(2, random_state).of(np.arange(n_rows[name]))
    tables = {key: sparse.csr_array(table) if sparse.issparse(table) else table for key, table in tables.items()}
    return [{key: _safe_indexing(t, np.flatnonzero(halves == g)) for key, t in tables.items()} for g in (0, 1)]


def _count_rows(table: Any, name: str) -> int:
    """Return the number of rows of a table or list."""
    shape = getattr(table, "shape", None)
    if shape is None and isinstance(table, (list, tuple)):
        return len(table)
    if not shape:
        raise LatentiaError(f"{name}: expected a table or a list, found one of type {type(table).__name__}.")
    return int(shape[0])
