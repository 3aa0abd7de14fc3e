"""Estimators that can add rows, forget rows and be merged, because sums over rows determine them.

A fit keeps its sums in ``moments_``. Sums of other rows can be added or subtracted; the model is then that of a single fit on
the present rows, whatever the order. It is learned at the first access to a fitted attribute, so many small batches cost no
more than their sums. Folds depend on the content of rows, so this also holds for the evidence. The rows themselves are not
kept; rows given as ``refine_on`` refine the answer. The first rows choose the frame in which sums are kept, and it stays: see
`latentia.moments.framed` and `latentia.moments.wide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from numbers import Integral
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from .. import _fields as of
from .._validation import table_blocks, weighted
from ..comparing import match
from ..evidence import Check, at_most
from ..exceptions import DroppedDataWarning, EvidenceWarning, LatentiaError, warn
from ..moments import WIDEST, FramedSums, Sums, WideSums, check_width
from ..passes import Blocks, Folds, assign_folds_by_content
from ..passes.dask import convert_collections
from ..system.threads import single_blas_thread
from .base import copy_unfitted, fitting
from .records import attributes_of
from .stages import Moments, Parameters, Staged

_COLUMN_ATTRIBUTES = (
    "n_features_in_",
    "feature_names_in_",
    "_column_names",
    "n_features_v_",
    "_v_names",
    "classes_",
    "symbols_",
    "reading_",
    "vectorizer_",
)
"""Attributes that describe the columns."""
_FILE_OPTIONS = ("id", "roles", "sheet", "missing")
"""Entries of `reading_` that name a file's parts; merged models may differ in them."""
_UNCOMPARED_PARAMETERS = ("keep_moments", "n_jobs", "verbose")  # merged models may differ in these parameters

M = TypeVar("M", bound="Additive")


@dataclass(frozen=True)
class Receipt:
    """Record of the rows that a model has forgotten.

    Attributes
    ----------
    n_rows : int
        Number of removed rows; for a matrix of pairs, the sum of the counts.
    n_left : int
        Number of remaining rows.
    digest : str
        SHA-256 of the content of the removed rows, in any order.
    """

    n_rows: int
    n_left: int
    digest: str


class Additive(Staged[Moments, Parameters]):
    """Base class of the estimators that are fitted on sums over rows.

    A family writes `_moments_from_sums` and, if needed, `_read`, which its ``fit`` calls as well, and `_sums`.
    """

    _order: ClassVar[int] = 4
    _groups: ClassVar[int] = 4
    _spare: ClassVar[int | None] = None
    """Spare directions, beyond the number of components, of moments of wide tables; None if all columns are needed."""
    keep_moments: bool
    moments_: Annotated[Sums, of.optional(of.Field())]

    # --- what a family writes -----------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool = True) -> Any:
        """Check the rows; with ``reset=False`` also against the estimator's columns."""
        return table_blocks(self, X, reset=reset)

    def _sums(self, rows: Any, folds: Folds, like: Any) -> Any:
        """Sum rows in the frame of ``like``, if given: by default all moments up to ``_order``.

        Wide tables are summed in a frame of few directions, if the family has one.
        """
        options: dict[str, Any] = {"n_jobs": vars(self).get("n_jobs"), "progress": self.verbose}
        width, k = rows.shapes[0][1], vars(self).get("n_components")
        is_framed = self._spare is not None and isinstance(k, Integral) and width > WIDEST
        if is_framed or isinstance(like, WideSums):
            directions = int(cast(int, k)) + (self._spare or 0) if like is None else 0
            return WideSums.from_blocks(rows, self._order, folds, directions, like, **options)
        check_width(width)
        return FramedSums.from_blocks(rows, self._order, folds, like, **options)

    def _moments_from_sums(self, sums: Any) -> Moments:
        """Return what ``_moments`` returns, from sums."""
        raise NotImplementedError

    def _add_refinement_rows(self, moments: Moments, rows: Any) -> Moments:
        """Return the moments with rows on which the answer is refined."""
        return moments

    def _assign_content_folds(self, rows: Any) -> Folds:
        """Assign rows to folds by a hash of their content."""
        return assign_folds_by_content(rows if isinstance(rows, Blocks) else Blocks.from_array(rows), self._groups)

    def _sum_rows(self, rows: Any, like: Any) -> Any:
        """Sum rows in folds by their content."""
        return self._sums(rows, self._assign_content_folds(rows), like)

    # --- adding and forgetting ----------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, refine_on: Any = None) -> Self:
        """Add rows: the model is that of all rows so far, as of one ``fit`` with ``keep_moments=True``.

        Parameters
        ----------
        X : as in ``fit``
            New rows. The first rows of a table with more than 64 columns choose the directions in which moments are kept; the
            check *new rows outside of the frame* reports whether later rows need others.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            Number of copies of each row.
        refine_on : as X, optional
            Rows on which the answer is refined, as ``refine`` says; without them it is the moment estimate. Not available for
            counts of pairs.

        Returns
        -------
        self

        Raises
        ------
        LatentiaError
            As in ``fit``.

        Warns
        -----
        DroppedDataWarning
            After a ``fit`` without ``keep_moments``, whose rows the model then drops.
        """
        rows = None if refine_on is None else (refine_on,)
        return self._update_rows((X,), refine_on=rows, sample_weight=sample_weight)

    def forget(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Receipt:
        """Remove rows: the model is that of the remaining rows, and nothing in it depends on the removed ones.

        Only the frame of the sums stays, which the first rows chose: a centre and a scale of each column, or directions for
        more than 64 columns. The model depends on it in wide tables only.

        Parameters
        ----------
        X : as in ``fit``
            Rows that were in a ``fit`` or ``partial_fit``. For counts, other rows raise an error; sums of other numbers cannot
            detect them.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            Number of copies of each row to forget.

        Returns
        -------
        Receipt
            Numbers of removed and remaining rows, and a digest of the removed ones.
        """
        return self._forget_rows((X,), sample_weight)

    def _forget_rows(self, data: tuple[Any, ...], sample_weight: Any = None) -> Receipt:
        sums_before = self._added_sums()
        if sums_before is None:
            raise LatentiaError("forget: the model has no rows yet. Fit it with keep_moments=True first.")
        self._update_rows(data, -1, sample_weight=sample_weight)
        n_left, blocks = self.moments_.n_rows, weighted(self._rows_of(data), sample_weight)
        return Receipt(sums_before.n_rows - n_left, n_left, _content_digest(self._assign_content_folds(blocks)))

    def _previous_sums(self, sign: int) -> Sums | None:
        """Return the sums to add rows to; None, with a warning, after a fit that kept none."""
        if sign > 0 and "evidence_" in vars(self) and "moments_" not in vars(self):
            warn(
                "The rows of the fit before were not kept: the model is now that of the new rows alone. To add rows to a fit, "
                "fit with keep_moments=True.",
                DroppedDataWarning,
            )
            return None
        return self._added_sums()

    def _added_sums(self) -> Sums | None:
        """Return the sums so far; None before the first fit."""
        sums = vars(self).get("moments_")
        if sums is None and "evidence_" in vars(self):
            raise LatentiaError(
                "This model kept no moments, so it cannot be merged and cannot forget rows. Fit with keep_moments=True, or "
                "begin with partial_fit."
            )
        return sums

    def _update_rows(
        self,
        data: tuple[Any, ...],
        sign: int = 1,
        *,
        refine_on: tuple[Any, ...] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Add rows to the model (sign 1) or remove them (sign -1)."""
        sums_before, reader = self._previous_sums(sign), copy(self)
        with single_blas_thread():
            blocks = weighted(reader._rows_of(data, reset=sums_before is None), sample_weight)
            sums = reader._sum_rows(blocks, sums_before)
            total = sums if sums_before is None else sums_before.plus(sums, sign)
            rows = None if refine_on is None else reader._rows_of(refine_on)
        columns = _column_attributes(reader)
        return self._set_sums(total, columns) if rows is None else self._fit_changed_sums(total, columns, rows)

    def _rows_of(self, data: tuple[Any, ...], reset: bool = False) -> Blocks:
        arguments, named = convert_collections(type(self)._read, data, {}, vars(self).get("vectorizer_"))
        return self._read(*arguments, **named, reset=reset)

    def _set_sums(self, sums: Sums, columns: dict[str, Any]) -> Self:
        """Set the sums of the model, which is learned at the first access to a fitted attribute."""
        empty = copy_unfitted(self)
        empty.__dict__ |= columns | {"moments_": sums, "_unsolved": True}
        self.__dict__ = empty.__dict__
        return self

    def __getattr__(self, name: str) -> Any:
        # scikit-learn reads feature_names_in_ and copies look for dunder names: these must not trigger learning.
        is_fitted_name = name != "feature_names_in_" and not name.startswith("__")
        if is_fitted_name and "_unsolved" in vars(self) and name in attributes_of(type(self)):
            self._fit_changed_sums(self.moments_, _column_attributes(self))
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @fitting
    def _fit_changed_sums(self, sums: Sums, columns: dict[str, Any], rows: Blocks | None = None) -> Self:
        """Fit the model of sums, refined on some rows."""
        self.__dict__ |= columns
        return self._fit_sums(sums, rows)

    def _fit_sums(self, sums: Any, rows: Blocks | None) -> Self:
        self.moments_ = sums
        self._fit_sums_in_span(sums, rows)
        self.evidence_.checks += [*_frame_checks(sums), _rows_check(sums, rows)]
        return self

    def _fit_sums_in_span(self, sums: Any, rows: Blocks | None) -> None:
        """Fit sums on the informative columns, where the family selects them: see `_fit_in_span`."""
        self._fit_selected(sums, rows)

    def _fit_selected(self, sums: Any, rows: Blocks | None) -> None:
        """Fit sums, and refine the answer on rows of the same columns."""
        refine = vars(self).get("refine")
        if rows is None and refine is not None:
            self.refine = 0
        try:
            exact = (
                self._moments_from_sums(sums)
                if rows is None
                else self._add_refinement_rows(self._moments_from_sums(sums), rows)
            )
            super()._fit_stages(rows, exact, Folds(self._groups) if rows is None else self._assign_folds(rows))
            self._n_rows = sums.n_rows
        finally:
            if refine is not None:
                self.refine = refine

    def _fit_stages(self, rows: Any, exact: Any = None, folds: Folds | None = None) -> Self:
        if exact is None and self.keep_moments:
            return self._fit_sums(self._sum_rows(rows, None), None)
        return super()._fit_stages(rows, exact, folds)


def merge(models: Sequence[M]) -> M:
    """Merge models into the model of all their rows, without reading these rows.

    Parameters
    ----------
    models : sequence of estimators
        Models of one class with equal parameters and columns, each fitted with ``keep_moments=True`` or by ``partial_fit``.

    Returns
    -------
    estimator
        A new model, as after one fit on all rows.

    Raises
    ------
    LatentiaError
        If the models differ, or if one kept no moments.

    Warns
    -----
    EvidenceWarning
        If components of a model differ clearly from those of the first, as `latentia.match` measures it. Models without
        expected errors, or that were not learned since their last rows, are not matched.
    """
    models = list(models)
    merged = add_models(models)
    for number, model in enumerate(models[1:], 1):
        _compare_components(models[0], model, number)
    return merged


def add_models(models: Sequence[M]) -> M:
    """Merge models as `merge` does, without matching them."""
    first, *further_models = cast(list[Any], models) or [None]
    if not all(isinstance(model, Additive) for model in (first, *further_models)):
        unsupported = next(model for model in (first, *further_models) if not isinstance(model, Additive))
        raise LatentiaError(
            f"A {type(unsupported).__name__} cannot be merged: expected models whose moments can be added."
        )
    merged: Any = copy(first)
    columns, total = _column_attributes(merged), _sums_of_model(merged)
    for number, next_model in enumerate(further_models, 1):
        _check_mergeable(merged, next_model, number)
        total = total.plus(_sums_of_model(next_model))
    return merged._set_sums(total, columns)


def _sums_of_model(model: Any) -> Any:
    sums = model._added_sums()
    if sums is None:
        raise LatentiaError("merge: expected fitted models, found one that has not been fitted.")
    return sums


def _check_mergeable(first_model: Any, second_model: Any, number: int) -> None:
    if type(first_model) is not type(second_model):
        raise LatentiaError(
            f"Models 0 and {number} are a {type(first_model).__name__} and a {type(second_model).__name__}."
        )
    first, second = first_model.get_params(deep=False), second_model.get_params(deep=False)
    for name in first:
        if name not in _UNCOMPARED_PARAMETERS and not _is_equal(first[name], second[name]):
            raise LatentiaError(
                f"Models 0 and {number} have {name}={first[name]!r} and {name}={second[name]!r}: fit both alike."
            )
    first, second = _column_attributes(first_model), _column_attributes(second_model)
    for name in _COLUMN_ATTRIBUTES[:-2]:
        if not _is_equal(first.get(name), second.get(name)):
            attribute = name.strip("_").replace("_", " ")
            raise LatentiaError(
                f"Models 0 and {number} differ in {attribute}: {first.get(name)!r} and {second.get(name)!r}."
            )
    first, second = dict(first_model.reading_), dict(second_model.reading_)
    for name in sorted({**first, **second}.keys() - set(_FILE_OPTIONS)):
        if not _is_equal(first.get(name), second.get(name)):
            raise LatentiaError(
                f"The files of models 0 and {number} were read differently ({name.replace('_', ' ')}: {first.get(name)!r} and "
                f"{second.get(name)!r}). Read them with the same options, without scaling each file by itself."
            )


def _compare_components(first: Any, second: Any, number: int) -> None:
    """Warn of components that differ clearly between two models that are merged."""
    if not all("evidence_" in vars(model) for model in (first, second)):
        return
    try:
        differences = match(first, second).differences()
    except LatentiaError:  # The family has no such comparison, or the models no errors.
        return
    if differences:
        warn(
            f"Models 0 (a) and {number} (b) disagree, and the merged model is that of all their rows: {' '.join(differences)} "
            f"See latentia.match(models[0], models[{number}]).",
            EvidenceWarning,
        )


def _is_equal(first: Any, second: Any) -> bool:
    if isinstance(first, (np.ndarray, list)):
        return np.array_equal(first, second)
    return type(first) is type(second) and bool(first == second)


def _column_attributes(model: Any) -> dict[str, Any]:
    return {name: vars(model)[name] for name in _COLUMN_ATTRIBUTES if name in vars(model)}


def _content_digest(folds: Folds) -> str:
    """Return a digest of the content of rows, in any order."""
    leaders = folds.leaders
    return sha256(np.sort(leaders).tobytes()).hexdigest() if leaders is not None else ""


def _rows_check(sums: Sums, rows: Blocks | None) -> Check:
    refinement = "It was refined on the rows in refine_on." if rows is not None else "It was not refined."
    return Check(
        "fitted on kept moments", "rows", float(sums.n_rows), None,
        f"The answer comes from sums over the rows ({sums.n_bytes / 2**20:.2g} MB). {refinement} Rows were assigned to folds "
        "by their content: copies together, neighbours apart.", "not in the paper", "note",
    )  # fmt: skip


def _frame_checks(sums: Sums) -> list[Check]:
    """Check whether later rows vary in directions that the first rows did not show."""
    if not isinstance(sums, WideSums):
        return []
    outside, n_directions = sums.outside(), sums.frame.basis.shape[1]
    if outside is None:
        return []
    first_share, later_share = outside.shares
    return [
        Check(
            "new rows outside of the frame", "variance", outside.rise, at_most(outside.limit, "above that of the first rows"),
            f"Moments are kept in {n_directions} directions that the first rows chose. Outside of them is {first_share:.1%} of "
            f"the variance of the first rows and {later_share:.1%} of that of the {outside.n_rows:,} later rows. The value is "
            "the largest excess variance of later rows in one such direction. Above the limit, later rows contain something "
            "that the model cannot represent.", "not in the paper", "caution",
            "Later rows have a component that the first rows did not show: start again with a first batch that contains it, or "
            "fit all rows at once.",
        )
    ]  # fmt: skip
