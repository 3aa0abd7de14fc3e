"""Fits that can be added to, merged and forgotten: of methods that take everything from sums over rows.

A fit keeps its sums in ``moments_``. Those of other rows are added to them, or taken away, and the model is that of what is
there: the one of a single fit on these rows, whatever the order. It is learned when the first of its attributes is asked for,
so that many small batches cost what their sums do. Rows are dealt into groups by their content, so that this
holds for the evidence as well. Nothing of the rows themselves is kept, so that what is said of a model is what its sums say;
rows that are given beside (``refine_on``) refine it. The frame in which sums are kept is that of the first rows, and stays: see
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
from ..evidence import Check, at_most
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..moments import WIDEST, FramedSums, Sums, WideSums, check_width
from ..passes import Blocks, Folds, deal_by_content
from ..passes.dask import in_blocks
from ..system.threads import one_blas_thread
from .base import copy_unfitted, fitting
from .records import attributes_of
from .stages import Staged

_LAYOUT = (
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
"""Attributes that say what the columns are."""
_NAMING = ("id", "roles", "sheet", "missing")
"""What `reading_` says of a file besides its columns that are used."""
_APART = ("keep_moments", "n_jobs", "verbose")  # parameters in which models that are merged may differ

M = TypeVar("M", bound="Additive")


@dataclass(frozen=True)
class Receipt:
    """What a model has forgotten.

    Attributes
    ----------
    n_rows : int
        Rows that were taken away; of a matrix of pairs the sum of the counts.
    n_left : int
        Rows that are left.
    digest : str
        SHA-256 of the content of the rows, whatever their order.
    """

    n_rows: int
    n_left: int
    digest: str


class Additive(Staged):
    """Base of the estimators that are fitted on sums over rows.

    A family writes `_moments_from_sums`, and what else differs: `_read`, which its ``fit`` calls as well, and `_sums`.
    """

    _order: ClassVar[int] = 4
    _groups: ClassVar[int] = 4
    _spare: ClassVar[int | None] = None
    """Directions beside as many as components that moments of wide tables are kept in; None where all columns are needed."""
    keep_moments: bool
    moments_: Annotated[Sums, of.optional(of.Field())]

    # --- what a family writes -----------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool = True) -> Any:
        """The rows, checked; with ``reset=False`` against the columns that the estimator knows."""
        return table_blocks(self, X, reset=reset)

    def _sums(self, rows: Any, folds: Folds, like: Any) -> Any:
        """Sums over rows, in the way of others where these are given: by default all moments up to ``_order``.

        Of wide tables in a frame, where the family has one.
        """
        options: dict[str, Any] = {"n_jobs": vars(self).get("n_jobs"), "progress": self.verbose}
        width, k = rows.shapes[0][1], vars(self).get("n_components")
        framed = self._spare is not None and isinstance(k, Integral) and width > WIDEST
        if framed or isinstance(like, WideSums):
            directions = int(cast(int, k)) + (self._spare or 0) if like is None else 0
            return WideSums.of_blocks(rows, self._order, folds, directions, like, **options)
        check_width(width)
        return FramedSums.of_blocks(rows, self._order, folds, like, **options)

    def _moments_from_sums(self, sums: Any) -> Any:
        """What ``_moments`` returns, from sums."""
        raise NotImplementedError

    def _add_refinement_rows(self, moments: Any, rows: Any) -> Any:
        """What ``_moments`` returns, with rows on which the answer is refined."""
        return moments

    def _assign_content_folds(self, rows: Any) -> Folds:
        """Groups of rows that hang on what is in a row alone."""
        return deal_by_content(rows if isinstance(rows, Blocks) else Blocks.from_array(rows), self._groups)

    def _sum_rows(self, rows: Any, like: Any) -> Any:
        """Sums over rows, dealt by their content."""
        return self._sums(rows, self._assign_content_folds(rows), like)

    # --- adding and forgetting ----------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, refine_on: Any = None) -> Self:
        """Add rows: the model is that of all rows so far, as of one ``fit`` with ``keep_moments=True``.

        Parameters
        ----------
        X : as in ``fit``
            New rows. The first ones of a table with more than 64 columns choose the directions in which moments are kept;
            *new rows outside of the frame* in the evidence says whether later ones need others.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is there.
        refine_on : as X, optional
            Rows on which the answer is refined, as ``refine`` says; without them it is what the moments say. Not of counts of
            pairs, which are all that a fit looks at.

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
            After a ``fit`` without ``keep_moments``, whose rows are not among those of the model then.
        """
        rows = None if refine_on is None else (refine_on,)
        return self._update_rows((X,), refine_on=rows, sample_weight=sample_weight)

    def forget(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Receipt:
        """Take rows away again: the model is that of the remaining rows, and nothing in it depends on the removed ones.

        Only the frame in which numbers are summed, which the first rows chose, stays as it is: a center and a scale of each
        column, or directions of more than 64 columns. The model hangs on it in wide tables alone.

        Parameters
        ----------
        X : as in ``fit``
            Rows that were in a ``fit`` or ``partial_fit``. Of counts it is an error if they were not; sums of other numbers
            do not show it.
        y : ignored
        sample_weight : array-like of int, shape (n_rows,), optional
            How often each row is to be forgotten.

        Returns
        -------
        Receipt
            How many rows were removed, how many are left, and a digest of those removed.
        """
        return self._forget_rows((X,), sample_weight)

    def _forget_rows(self, data: tuple[Any, ...], sample_weight: Any = None) -> Receipt:
        before = self._kept()
        if before is None:
            raise LatentiaError("There is nothing to forget: the model has not been fitted.")
        self._update_rows(data, -1, sample_weight=sample_weight)
        left, rows = self.moments_.n_rows, weighted(self._rows_of(data), sample_weight)
        return Receipt(before.n_rows - left, left, _digest(self._assign_content_folds(rows)))

    def _before(self, sign: int) -> Sums | None:
        """The sums that rows are added to; none after a fit that has kept none, which is said."""
        if sign > 0 and "evidence_" in vars(self) and "moments_" not in vars(self):
            warn(
                "The rows of the fit before were not kept: the model is now that of the new rows alone. To add rows to a fit, "
                "fit with keep_moments=True.",
                DroppedDataWarning,
            )
            return None
        return self._kept()

    def _kept(self) -> Sums | None:
        """The sums so far; None before the first fit."""
        found = vars(self).get("moments_")
        if found is None and "evidence_" in vars(self):
            raise LatentiaError(
                "This model was fitted without its moments, so that it cannot be merged, and no rows be taken away: fit with "
                "keep_moments=True, or begin with partial_fit."
            )
        return found

    def _update_rows(
        self,
        data: tuple[Any, ...],
        sign: int = 1,
        *,
        refine_on: tuple[Any, ...] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """The model with rows, or without them."""
        before, reader = self._before(sign), copy(self)
        with one_blas_thread():
            blocks = weighted(reader._rows_of(data, reset=before is None), sample_weight)
            sums = reader._sum_rows(blocks, before)
            total = sums if before is None else before.plus(sums, sign)
            rows = None if refine_on is None else reader._rows_of(refine_on)
        layout = _layout_of(reader)
        return self._set_sums(total, layout) if rows is None else self._of_moments(total, layout, rows)

    def _rows_of(self, data: tuple[Any, ...], reset: bool = False) -> Blocks:
        given, named = in_blocks(type(self)._read, data, {}, vars(self).get("vectorizer_"))
        return self._read(*given, **named, reset=reset)

    def _set_sums(self, sums: Sums, layout: dict[str, Any]) -> Self:
        """The model of sums, to be learned when it is asked for."""
        empty = copy_unfitted(self)
        empty.__dict__ |= layout | {"moments_": sums, "_unsolved": True}
        self.__dict__ = empty.__dict__
        return self

    def __getattr__(self, name: str) -> Any:
        # scikit-learn asks for names of columns whenever rows are read, and copies for slots: no model is learned for these.
        asked = name != "feature_names_in_" and not name.startswith("__")
        if asked and "_unsolved" in vars(self) and name in attributes_of(type(self)):
            self._of_moments(self.moments_, _layout_of(self))
            return getattr(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @fitting
    def _of_moments(self, sums: Sums, layout: dict[str, Any], rows: Blocks | None = None) -> Self:
        """The model that sums say, refined on some rows."""
        self.__dict__ |= layout
        return self._fit_sums(sums, rows)

    def _fit_sums(self, sums: Any, rows: Blocks | None) -> Self:
        self.moments_ = sums
        self._fit_sums_in_span(sums, rows)
        self.evidence_.checks += [*_outside_of_frame(sums), _of_moments(sums, rows)]
        return self

    def _fit_sums_in_span(self, sums: Any, rows: Blocks | None) -> None:
        """Fit what sums say of the columns that say something of their own, where these may be fewer: see `_fit_in_span`."""
        self._fit_selected(sums, rows)

    def _fit_selected(self, sums: Any, rows: Blocks | None) -> None:
        """Fit what sums say, and refine it on rows of the same columns."""
        asked = vars(self).get("refine")
        if rows is None and asked is not None:
            self.refine = 0
        try:
            exact = (
                self._moments_from_sums(sums)
                if rows is None
                else self._add_refinement_rows(self._moments_from_sums(sums), rows)
            )
            super()._fit_stages(rows, exact, Folds(self._groups) if rows is None else self._assign_folds(rows))
        finally:
            if asked is not None:
                self.refine = asked

    def _fit_stages(self, rows: Any, exact: Any = None, folds: Folds | None = None) -> Self:
        if exact is None and self.keep_moments:
            return self._fit_sums(self._sum_rows(rows, None), None)
        return super()._fit_stages(rows, exact, folds)


def merge(models: Sequence[M]) -> M:
    """Make the model of all rows that several models were fitted on, without these rows.

    Parameters
    ----------
    models : sequence of estimators
        Of one class, with the same parameters and columns, each fitted with ``keep_moments=True`` or by ``partial_fit``.

    Returns
    -------
    estimator
        A new one, as of one fit on all rows.

    Raises
    ------
    LatentiaError
        If they differ, which says in what; or if one has not kept its moments.
    """
    first, *others = cast(list[Any], list(models)) or [None]
    if not all(isinstance(model, Additive) for model in (first, *others)):
        wrong = next(model for model in (first, *others) if not isinstance(model, Additive))
        raise LatentiaError(f"A {type(wrong).__name__} cannot be merged: models whose moments can be added are needed.")
    found: Any = copy(first)
    layout, total = _layout_of(found), _kept_by(found)
    for number, other in enumerate(others, 1):
        _check_alike(found, other, number)
        total = total.plus(_kept_by(other))
    return found._set_sums(total, layout)


def _kept_by(model: Any) -> Any:
    kept = model._kept()
    if kept is None:
        raise LatentiaError("A model that is to be merged has not been fitted.")
    return kept


def _check_alike(first: Any, other: Any, number: int) -> None:
    if type(first) is not type(other):
        raise LatentiaError(f"Models 0 and {number} are a {type(first).__name__} and a {type(other).__name__}.")
    one, two = first.get_params(deep=False), other.get_params(deep=False)
    for name in one:
        if name not in _APART and not _same(one[name], two[name]):
            raise LatentiaError(
                f"Models 0 and {number} have {name}={one[name]!r} and {name}={two[name]!r}: fit both alike."
            )
    one, two = _layout_of(first), _layout_of(other)
    for name in _LAYOUT[:-2]:
        if not _same(one.get(name), two.get(name)):
            what = name.strip("_").replace("_", " ")
            raise LatentiaError(f"Models 0 and {number} differ in {what}: {one.get(name)!r} and {two.get(name)!r}.")
    one, two = dict(first.reading_), dict(other.reading_)
    for name in sorted({**one, **two}.keys() - set(_NAMING)):
        if not _same(one.get(name), two.get(name)):
            raise LatentiaError(
                f"The files of models 0 and {number} were read differently ({name.replace('_', ' ')}: {one.get(name)!r} and "
                f"{two.get(name)!r}): read them alike, and leave columns as they are where each file would be scaled by itself."
            )


def _same(one: Any, two: Any) -> bool:
    return (
        np.array_equal(one, two) if isinstance(one, (np.ndarray, list)) else type(one) is type(two) and bool(one == two)
    )


def _layout_of(model: Any) -> dict[str, Any]:
    return {name: vars(model)[name] for name in _LAYOUT if name in vars(model)}


def _digest(folds: Folds) -> str:
    """Of the content of rows, in any order."""
    leaders = folds.leaders
    return sha256(np.sort(leaders).tobytes()).hexdigest() if leaders is not None else ""


def _of_moments(sums: Sums, rows: Blocks | None) -> Check:
    how = "It was refined on rows that were given beside." if rows is not None else "It was not refined."
    return Check(
        "fitted on kept moments", "rows", float(sums.n_rows), None,
        f"The answer is what sums over the rows say ({sums.n_bytes / 2**20:.2g} MB). {how} Rows were assigned to groups by "
        "their content: copies together, neighbours apart.", "not in the paper", "note",
    )  # fmt: skip


def _outside_of_frame(sums: Sums) -> list[Check]:
    """Whether rows that came after the first ones vary in directions that these did not show."""
    if not isinstance(sums, WideSums):
        return []
    found, b = sums.outside(), sums.frame.basis.shape[1]
    if found is None:
        return []
    first, later = found.shares
    return [
        Check(
            "new rows outside of the frame", "variance", found.rise, at_most(found.limit, "above that of the first rows"),
            f"Moments are kept in {b} directions that the first rows chose. {first:.1%} of the variance of first rows, and "
            f"{later:.1%} of that of the {found.n_rows:,} others, is outside of them. Here is how much more the others vary "
            "than first rows in the direction in which this stands out most. Above the limit they have something that the "
            "model has no place for.", "not in the paper", "caution",
            "Newer rows have a component that the first ones did not show: begin anew, with a first batch that has it, or "
            "fit all rows at once.",
        )
    ]  # fmt: skip
