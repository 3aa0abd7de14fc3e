"""The ground of every estimator: checked parameters, fits that succeed whole or change nothing, hooks of the evidence."""

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
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .. import _fields as of
from .._parameters import Constraint, Integer, check_parameter, check_parameters, seed_of
from .._presentation import presenters
from .._validation import check_same_rows
from ..evidence.sizes import CANDIDATES, Size, and_beyond, recommend, until_enough
from ..exceptions import LatentiaError, LatentiaWarning, NotSupportedWarning, warn
from ..metrics.matching import nearest_distances
from ..passes import Blocks
from ..passes.blocks import random_groups
from ..passes.checkpoint import Identity, fit_kept
from ..passes.dask import in_blocks
from ..system.threads import one_blas_thread

if TYPE_CHECKING:
    from ..evidence import Evidence
    from ..summaries import Summary, Table

_MOST_DRAWN = 10**8
_MOST_TRIED = 40  # components, where a smaller number than was asked for is looked for

E = TypeVar("E", bound="Estimator")
P = ParamSpec("P")
R = TypeVar("R")


class Estimator(BaseEstimator):
    """Base of the estimators.

    A family writes its constructor, a table of ``_constraints`` for the parameters that `latentia._parameters.SHARED` does
    not have, a ``fit`` under `fitting`, and methods that use the model under `fitted`.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}
    _compared: ClassVar[tuple[str, ...]] = ("components_",)
    """Attributes that `_distances` reads."""
    _nouns: ClassVar[tuple[str, str, str]] = ("component", "components", "rows")
    """What one component is called, several, and the rows."""
    _rival: ClassVar[str] = "No rival with other assumptions is known: what all parts of the data miss is not in it."
    """Whether a second method sees errors that all parts of the data share."""
    _is_compared: bool = False
    """Whether the evidence chooses this fit's number of components among several."""
    _column_names: Any = None
    reading_: Mapping[str, Any] = MappingProxyType({})
    """How a command read its file."""
    n_components: Any  # an int within a fit, whatever leaves a choice to the evidence outside
    verbose: Any
    evidence_: Evidence
    _seed: Annotated[int, of.count()]
    n_features_in_: Annotated[int, of.size("V")]
    n_components_: Annotated[int, of.optional(of.size("K"))]
    n_passes_: Annotated[int, of.count()]

    def _check_parameters(self) -> None:
        """Raise for values that the constraints allow one by one and not together."""

    def _check_fitted(self) -> None:
        """Raise for fitted attributes that are right one by one and not together: after `latentia.load` has read them."""

    def _columns_compared(self) -> dict[str, Any]:
        """Return what was chosen beside the number of components, as columns of ``comparison_``."""
        return {}

    def _candidates(self, *args: Any, **kwargs: Any) -> Sequence[int] | None:
        """Numbers of components that "auto" compares on the data of ``fit``; None for those that all families have."""
        return None

    def _distances(self, other: Any) -> np.ndarray:
        """Distance of each component to the nearest one of another fit, shape (K,): of what the evidence says."""
        return nearest_distances(self.components_, other.components_)  # type: ignore[attr-defined]

    def _shares(self) -> np.ndarray | None:
        """What share of the data each component stands for, shape (K,); None if the model has none."""
        weights = getattr(self, "weights_", None)
        return weights if isinstance(weights, np.ndarray) and weights.ndim == 1 else None

    def _read_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of ``fit``, read where they are not tables yet: once for all numbers of components."""
        return args, kwargs

    def _halves(self, X: Any, random_state: int, **fit_parameters: Any) -> list[dict[str, Any]]:
        """Arguments of ``fit`` for two random halves of the data, for `Evidence.stability`."""
        return halves_of_rows(random_state, X=X, **fit_parameters)

    def _widths(self) -> dict[str, Any]:
        """Return numbers of columns, which fits that are compared have in common."""
        return {"columns": self.__dict__.get("n_features_in_"), "columns of V": self.__dict__.get("n_features_v_")}

    @property
    def nouns(self) -> tuple[str, str, str]:
        """What one component is called, several, and the rows."""
        return self._nouns

    @property
    def text_vectorizer(self) -> Any:
        """What counts its words where it was fitted on texts, None elsewhere."""
        return self.__dict__.get("vectorizer_")

    @property
    def n_found(self) -> int | None:
        """Number of components: what was asked for, or chosen, or is left; None where neither was said."""
        return getattr(self, "n_components_", self.get_params(deep=False).get("n_components"))

    @property
    def compared(self) -> list[dict[str, Any]]:
        """Rows that compare the numbers of components among which the evidence chose; empty where one was asked for."""
        return getattr(self, "comparison_", [])

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns that were fitted, where ``vocabulary``, the table, or the file of a command, has names."""
        words = vars(self).get("vocabulary")
        words = sorted(words, key=words.__getitem__) if isinstance(words, Mapping) else words
        given = words, getattr(self, "feature_names_in_", None), self._column_names, self.reading_.get("columns")
        found = next((names for names in given if names is not None), None)
        return None if found is None else [str(name) for name in found]

    def report(self, path: str | os.PathLike[str], *data: Any, **options: Any) -> Path:
        """Write what was found, and how far it can be trusted, to one HTML file that works offline.

        Parameters
        ----------
        path : path
            The file appears complete or not at all; one that is there is replaced.
        *data
            What ``fit`` took, by position or name: ``report(path, X)``, ``report(path, X, lengths=lengths)``, ``report(path, U,
            V, y)``. Without it the page shows what the model alone knows, and says what it lacks.
        **options
            ``title``, ``source`` (where the data came from), ``comparison`` and what else the function of `latentia.report`
            takes that writes the family's page: ``columns`` or ``vocabulary``, ``names`` and ``texts`` of documents, ...

        Returns
        -------
        Path of the file
        """
        return presenters["report"](path, self, *data, **options)

    def summary(self, *data: Any, **options: Any) -> Summary:
        """Say what was found, and how far it can be trusted, as data: what `report` writes, and tables, files and figures show.

        Parameters
        ----------
        *data, **options
            As of `report`. With the data there are tables of its rows as well.

        Returns
        -------
        latentia.summaries.Summary
            Its ``tables`` are dictionaries of names and `latentia.summaries.Table`, each with ``rows()`` and ``to_frame()``.
        """
        return presenters["summary"](self, *data, **options)

    def methods_text(self) -> str:
        """Return a paragraph for the methods section of a paper: model, settings, evidence, and what was not measured.

        Returns
        -------
        str
            Every number in it is the fit's own. What the data were, and why, is yours to add.
        """
        check_is_fitted(self, "evidence_")
        return str(presenters["methods_text"](self))

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of `summary` that need no data: ``model.tables["components"].to_frame()``."""
        return self.summary().tables


def fitting(fit: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """Wrap ``fit`` or one of its kind: parameters are checked first, and the estimator changes only when it has succeeded.

    The method runs on an empty copy, which has the parameters and ``_seed``, and nothing of an earlier fit. Matrix products
    run in one thread, so that the answer's bits do not depend on the number of BLAS threads.
    """

    @functools.wraps(fit)
    def wrapper(self: E, /, *args: P.args, **kwargs: P.kwargs) -> E:
        fresh = copy_unfitted(self)
        seed = seed_of(fresh.get_params(deep=False).get("random_state", 0))
        given: Any = fresh._read_arguments(args, kwargs) if fit.__name__ == "fit" else (args, kwargs)
        given = in_blocks(fit, *given)

        def identity() -> Identity:
            return Identity.of_fit(f"{type(self).__name__}.{fit.__name__}", fresh.get_params(deep=False), given)

        with one_blas_thread(), fit_kept(identity, seed) as fresh._seed:
            asked = getattr(fresh, "n_components", None)
            if asked is None or isinstance(asked, numbers.Integral):
                empty, fresh = fresh, copy(fresh)
                try:
                    fit(fresh, *given[0], **given[1])
                except LatentiaError as error:
                    better = _with_number_that_works(error, empty, fit, *given[0], **given[1])
                    if better is None:
                        raise
                    raise better from error
            else:
                fresh = _of_best_size(fresh, fit, *given[0], **given[1])
        self.__dict__ = fresh.__dict__
        evidence = getattr(self, "evidence_", None)
        if evidence is not None and evidence.grade == "not supported" and evidence.measured:
            warn(f"{evidence.verdict} {evidence.advice} evidence_ has the measurements.", NotSupportedWarning)
        return self

    return wrapper


def copy_unfitted(estimator: E) -> E:
    """An estimator with the same parameters, which are checked, and nothing of a fit."""
    fresh: E = object.__new__(type(estimator))
    fresh.__dict__.update({name: value for name, value in estimator.__dict__.items() if not _learned(name)})
    check_parameters(fresh)
    fresh._check_parameters()
    return fresh


def _of_best_size(empty: E, fit: Callable[Concatenate[E, P], E], /, *args: P.args, **kwargs: P.kwargs) -> E:
    """The fit with the number of components which the evidence recommends, where ``n_components`` leaves a choice."""
    asked = empty.n_components
    fits: dict[int, E] = {}
    heard: dict[int, list[warnings.WarningMessage]] = {}
    found: list[Size] = []
    if not isinstance(asked, str):
        sizes: Iterable[int] = sorted(set(asked))
    else:
        own = empty._candidates(*args, **kwargs)
        sizes = until_enough(CANDIDATES, found) if own is None else and_beyond(own, found)
    for size in sizes:
        one = copy(empty)
        one.__dict__ = empty.__dict__ | {"n_components": int(size), "_is_compared": True}
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                fit(one, *args, **kwargs)
        except LatentiaError as error:
            if error.parameter != "n_components" or not found:
                raise
            break
        fits[size], heard[size] = one, said
        found.append(Size.from_evidence(size, one.evidence_))
    size, why = recommend(found, empty._nouns[1])
    best = fits[size]
    best.evidence_.forget_sizes(fits)
    for message in heard[size]:
        warn(cast(Any, message.message), cast(Any, message.category))
    del best._is_compared
    best.__dict__ |= {
        "n_components": asked, "n_components_": size, "recommendation_": why,
        "comparison_": [
            one.row() | fits[one.n_components]._columns_compared() for one in sorted(found, key=lambda one: one.n_components)
        ],
    }  # fmt: skip
    return best


def _with_number_that_works(
    error: LatentiaError, empty: E, fit: Callable[Concatenate[E, P], E], /, *args: P.args, **kwargs: P.kwargs
) -> LatentiaError | None:
    """Return the error with a number that can be fitted, where it knows the most that the data supports; otherwise None.

    What a fit that failed knows is the rank of its own moments, and those of fewer components may have a lower one. Fits of
    more than 40 components take long, so that of larger numbers it is said that 40, or fewer, can be fitted.
    """
    supported, asked = error.at_most, getattr(empty, "n_components", None)
    if error.parameter != "n_components" or supported is None or not isinstance(asked, numbers.Integral):
        return None
    plain = {name: 0 for name in ("n_splits", "refine") if hasattr(empty, name)}
    size = int(asked)
    most: int | None = supported
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)
        while size > 1:
            size = max(1, min(size // 2 if most is None else most, size - 1, _MOST_TRIED))
            one = copy(empty)
            one.__dict__ = empty.__dict__ | plain | {"n_components": size}
            try:
                fit(one, *args, **kwargs)
            except LatentiaError as other:
                if other.parameter != "n_components":
                    return None
                most = other.at_most
            else:
                many = supported > _MOST_TRIED
                fewer = f"{size} can be fitted." if many else f"Its moments carry fewer: {size} can be fitted."
                clearer = copy(error)
                clearer.at_most, clearer.hint = supported if many else size, "" if size == supported else fewer
                return clearer
    return None


def fitted(method: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Wrap a method that uses the model: there must have been a fit, and matrix products run in one thread, as in it."""

    @functools.wraps(method)
    def wrapper(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_is_fitted(self)
        try:
            given: Any = in_blocks(method, args, kwargs, getattr(self, "vectorizer_", None))
            with one_blas_thread():
                return method(self, *given[0], **given[1])
        except MemoryError as error:
            raise LatentiaError(f"The answer does not fit into memory ({error}): ask for less at a time.") from error

    return wrapper


def _learned(name: str) -> bool:
    """Whether an attribute is of a fit, not a parameter or one of scikit-learn's settings."""
    if name.startswith("_"):
        return not name.startswith(("_sklearn", "_skl_", "_parent_callback", "_metadata"))
    return name.endswith("_")


def check_size(n: Any, name: str = "n_samples") -> int:
    """A number of rows to draw, which is a whole number of at least 1, and not more than memory has."""
    check_parameter(name, n, Integer(1))
    if n > _MOST_DRAWN:
        raise LatentiaError(f"{_MOST_DRAWN:,} at a time are the most.", parameter=name, value=n)
    return int(n)


def halves_of_rows(random_state: int, **tables: Any) -> list[dict[str, Any]]:
    """Two random halves of the rows of aligned tables, or of one Blocks, under the names of the tables."""
    (name, first), *others = tables.items()
    if isinstance(first, Blocks):
        return [{name: half, **dict(others)} for half in first.split(2, random_state)]
    n_rows = {key: _count_rows(table, key) for key, table in tables.items()}
    check_same_rows(**n_rows)
    group = random_groups(2, random_state).of(np.arange(n_rows[name]))
    tables = {key: sparse.csr_array(table) if sparse.issparse(table) else table for key, table in tables.items()}
    return [{key: _safe_indexing(t, np.flatnonzero(group == g)) for key, t in tables.items()} for g in (0, 1)]


def _count_rows(table: Any, name: str) -> int:
    """Return the number of rows of what can be cut into rows."""
    shape = getattr(table, "shape", None)
    if shape is None and isinstance(table, (list, tuple)):
        return len(table)
    if not shape:
        raise LatentiaError(f"{name}: expected a table or a list, found one of type {type(table).__name__}.")
    return int(shape[0])
