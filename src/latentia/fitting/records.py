"""Checks of fitted estimators and their records against their declared fields: see `latentia._fields`."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Protocol, Union

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._fields import MAX_MAGNITUDE, MAX_SINGLE_MAGNITUDE, Field, Letters
from .._parameters import check_parameters
from .._validation import check_vocabulary
from ..evidence import Evidence
from ..exceptions import LatentiaError
from ..words import UnsavedVectorizer, WordVectorizer

_SUM_TOLERANCE = 1e-9  # tolerance for sums of distributions
_MAY_BE_ZERO = "EDPHU*"  # letters of sizes that may be zero
_CHECKED_SEPARATELY = frozenset({
    "_column_names", "feature_names_in_", "_v_names", "names_", "vectorizer_", "reading_", "comparison_", "recommendation_",
    "_sklearn_output_config",
})  # fmt: skip
"""Attributes of all classes that `_check_special_attributes` checks."""


# --- declarations --------------------------------------------------------------------------------------------------


def fields_of(cls: type) -> dict[str, tuple[Any, Field | None, Letters]]:
    """Return type, description (or None) and size letters of each attribute that a class declares."""
    return {name: _parse_hint(hint) for name, hint in _hints(cls).items()}


@cache
def _hints(cls: type) -> dict[str, Any]:
    # The base class of estimators imports Evidence for type hints only.
    return typing.get_type_hints(cls, localns={"Evidence": Evidence}, include_extras=True)


def _parse_hint(hint: Any) -> tuple[Any, Field | None, Letters]:
    if typing.get_origin(hint) is not Annotated:
        return hint, None, Letters()
    kind, *extras = typing.get_args(hint)
    field = next((extra for extra in extras if isinstance(extra, Field)), None)
    return kind, field, next((extra for extra in extras if isinstance(extra, Letters)), Letters())


def attributes_of(cls: type) -> frozenset[str]:
    """Return the names of attributes that an estimator may have besides its parameters."""
    return _CHECKED_SEPARATELY | {
        name for name, (kind, *_) in fields_of(cls).items() if typing.get_origin(kind) is not typing.ClassVar
    }


def find_undeclared(model: Any) -> list[str]:
    """Return the places of fitted values that no declaration describes."""
    parameters = model.get_params(deep=False)
    state = {
        name: value for name, value in vars(model).items() if name not in parameters and name not in _CHECKED_SEPARATELY
    }
    open_leaves = {leaf.place for leaf in _leaves(model, state) if leaf.is_open}
    parts = [place for value in state.values() if isinstance(value, BaseEstimator) for place in find_undeclared(value)]
    return sorted(open_leaves | set(parts) | (state.keys() - attributes_of(type(model))))


@dataclass(frozen=True)
class _Leaf:
    """Single value of an estimator, with its place and its declared field."""

    place: str
    value: Any
    owner: type
    field: Field | None
    letters: Mapping[str, str]

    @property
    def is_open(self) -> bool:
        """True if neither a description nor its type determines the value."""
        if self.field is not None or self.value is None or isinstance(self.value, (bool, str)):
            return False
        is_array = isinstance(self.value, np.ndarray) or sparse.issparse(self.value)
        return is_array or not self.owner.__module__.startswith("latentia.evidence.")

    def letter(self, letter: str) -> str:
        """Return the letter (such as K) under which the whole estimator knows this size."""
        if letter.endswith("#"):
            return letter + self.place[self.place.find("[") :]
        return self.letters.get(letter, letter)


def _leaves(
    owner: Any, state: Mapping[str, Any], prefix: str = "", letters: Mapping[str, str] | None = None
) -> Iterator[_Leaf]:
    fields, inherited = fields_of(type(owner)), letters or {}
    for name, value in state.items():
        if name in fields:
            _, described, declared = fields[name]
            yield from _leaves_of(f"{prefix}{name}", value, type(owner), described, {**inherited, **declared.of})


def _leaves_of(place: str, value: Any, owner: type, field: Field | None, letters: Mapping[str, str]) -> Iterator[_Leaf]:
    if isinstance(value, (list, tuple, dict)):
        for i, item in enumerate(value.values() if isinstance(value, dict) else value):
            yield from _leaves_of(f"{place}[{i}]", item, owner, field, letters)
    elif _is_record(value):
        yield from _leaves(value, _state(value), f"{place}.", letters)
    elif isinstance(value, BaseEstimator):
        return  # an inner estimator has been checked on its own
    else:
        yield _Leaf(place, value, owner, field, letters)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _state(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


# --- estimators ---------------------------------------------------------------------------------------------------


def check_fitted(model: Any) -> None:
    """Raise a `LatentiaError` if parameters or fitted attributes contradict the declarations of the class."""
    check_parameters(model)
    model._check_parameters()
    state, fields = vars(model), fields_of(type(model))
    _check_types(model, state)
    if not any(name.endswith("_") for name in state):
        return
    for name, (kind, field, _) in fields.items():
        if _is_required(kind, field) and not hasattr(model, name):
            raise LatentiaError(f"{name} is missing")
    parameters = model.get_params(deep=False)
    fitted = {
        name: value for name, value in state.items() if name not in parameters and name not in _CHECKED_SEPARATELY
    }
    leaves, sizes = list(_leaves(model, fitted)), _Sizes()
    for leaf in sorted(leaves, key=lambda entry: entry.field is not None and bool(entry.field.below)):
        if leaf.is_open:
            raise LatentiaError(f"{leaf.place} is a {type(leaf.value).__name__}")
        if leaf.field is not None and leaf.value is not None:
            _check_leaf(leaf, leaf.field, sizes)
    if not isinstance(state.get("evidence_"), Evidence):
        raise LatentiaError("evidence_ is missing")
    _check_special_attributes(model)
    model._check_fitted()


def _is_required(kind: Any, field: Field | None) -> bool:
    """Return True for attributes that every fitted estimator has: all declared ones that are not optional."""
    if kind is Any or typing.get_origin(kind) is typing.ClassVar:
        return False
    return field is None or field.required


class _Sizes:
    """Sizes that letters stand for."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def agree(self, letter: str, size: Any, place: str) -> None:
        if size < 1 - (letter[0] in _MAY_BE_ZERO):
            raise LatentiaError(f"{place} has the size {size!r}")
        if letter != "*" and self.of.setdefault(letter, size) != size:
            raise LatentiaError(f"{place} has the size {size}, expected {self.of[letter]}")


def _check_leaf(leaf: _Leaf, field: Field, sizes: _Sizes) -> None:
    """Raise unless a value agrees with its field."""
    place, value = leaf.place, leaf.value
    array = _as_array(place, value, field)
    is_single_number = field.number and isinstance(value, float)
    letters, shape = [] if is_single_number else field.shape.split(), value.shape if field.sparse else array.shape
    if letters[:1] == ["..."]:
        letters = letters[1:]
        shape = shape[len(shape) - len(letters) :]
    if not _has_type(array.dtype, field.types) or len(shape) != len(letters):
        raise LatentiaError(f"{place} has the type {array.dtype} and the shape {array.shape}")
    for letter, size in zip(letters, shape, strict=True):
        sizes.agree(leaf.letter(letter), size, place)
    if field.size:
        sizes.agree(leaf.letter(field.size), int(array), place)
    if array.dtype.kind in "iuf" and array.size:
        high = sizes.of.get(leaf.letter(field.below), 0) - 1 if field.below else field.high
        _check_numbers(place, array, replace(field, high=high))


def _as_array(place: str, value: Any, field: Field) -> np.ndarray:
    """Return the numbers of a value; for a sparse matrix in canonical format, the stored ones."""
    if field.sparse:
        if not isinstance(value, sparse.csr_array) or not value.has_canonical_format:
            raise LatentiaError(f"{place} is not a sparse matrix in canonical format")
        return np.asarray(value.data)
    if isinstance(value, np.ndarray) is not bool(field.shape) and not (field.number and isinstance(value, float)):
        raise LatentiaError(f"{place} is a {type(value).__name__}")
    return np.asarray(value, dtype=np.float64 if type(value) is int and "float64" in field.types else None)


def _has_type(dtype: np.dtype, types_: tuple[str, ...]) -> bool:
    if types_ == ("symbols",):
        return dtype.kind in "biuUSO" or dtype.name in ("float64", "float32")
    return ("str" if dtype.kind == "U" else dtype.name) in types_


def _check_numbers(place: str, array: np.ndarray, field: Field) -> None:
    max_magnitude = np.float64(MAX_MAGNITUDE if array.dtype != np.float32 else MAX_SINGLE_MAGNITUDE)
    if field.finite and not (np.abs(array) <= max_magnitude).all():
        raise LatentiaError(f"{place} has NaN, infinity or numbers out of range")
    low, high = field.low, field.high
    if (array < low).any() or (array > high).any():  # NaN passes where it is allowed
        raise LatentiaError(f"{place} has entries outside of {low:g} to {high:g}")
    if field.sums and not np.allclose(array.sum(axis=-1), 1.0, rtol=0, atol=_SUM_TOLERANCE):
        raise LatentiaError(f"{place} has rows that do not sum to one")


def _check_special_attributes(model: Any) -> None:
    """Check names, and attributes of the command line and of scikit-learn."""
    _check_names(model)
    state = vars(model)
    rows = state.get("comparison_", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _is_plain_row(row) for row in rows):
        raise LatentiaError("comparison_ is not a list of rows")
    if not isinstance(state.get("recommendation_", ""), str):
        raise LatentiaError("recommendation_ is not a text")
    reading = state.get("reading_", {})
    if not isinstance(reading, dict) or not all(isinstance(name, str) for name in reading):
        raise LatentiaError("reading_ is not a dict of options")
    output = state.get("_sklearn_output_config", {})
    if not isinstance(output, dict) or not set(output.values()) <= {"default", "pandas", "polars", None}:
        raise LatentiaError("_sklearn_output_config is not what set_output makes")


def _is_plain_row(row: Mapping[Any, Any]) -> bool:
    """Return True for rows with text keys and plain numbers or texts."""
    return all(
        isinstance(key, str) and (cell is None or isinstance(cell, (str, float, int))) for key, cell in row.items()
    )


def _check_names(model: Any) -> None:
    """Check the names of columns, one per column."""
    width, state = getattr(model, "n_features_in_", None), vars(model)
    for name, n, kind in (
        ("_column_names", width, (list, tuple, np.ndarray)),
        ("feature_names_in_", width, np.ndarray),
        ("_v_names", state.get("n_features_v_"), (list, tuple)),
        ("names_", width, (list, tuple)),
    ):
        names = state.get(name)
        if names is None:
            continue
        if not isinstance(names, kind) or np.ndim(names) != 1 or len(names) != n:
            raise LatentiaError(f"{name} does not name {n} columns")
        if not all(isinstance(column_name, str) for column_name in names):
            raise LatentiaError(f"{name} has names that are not texts")
    if hasattr(model, "vocabulary") and width is not None:
        check_vocabulary(model)
    vectorizer = getattr(model, "vectorizer_", None)
    if isinstance(vectorizer, WordVectorizer):
        if len(getattr(vectorizer, "vocabulary_", ())) != width:
            raise LatentiaError(f"vectorizer_ does not count {width} words")
    elif vectorizer is not None and not isinstance(vectorizer, UnsavedVectorizer):
        raise LatentiaError("vectorizer_ is not a vectorizer")


# --- types --------------------------------------------------------------------------------------------------------


def check_record(record: Any) -> None:
    """Raise a `LatentiaError` unless the fields of a dataclass have their declared types."""
    _check_types(record, _state(record))


def _check_types(owner: Any, state: Mapping[str, Any]) -> None:
    fields = fields_of(type(owner))
    for name, value in state.items():
        if name in fields and not _has_declared_type(value, fields[name][0]):
            raise LatentiaError(f"{type(owner).__name__}.{name} is a {type(value).__name__}")


def _has_declared_type(value: Any, hint: Any) -> bool:
    """Return True if a value has a declared type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin is Annotated:
        return _has_declared_type(value, arguments[0])
    if origin in (Union, types.UnionType):
        return any(_has_declared_type(value, argument) for argument in arguments)
    if origin is typing.ClassVar:
        return True
    if origin is typing.Literal:
        return any(type(value) is type(argument) and value == argument for argument in arguments)
    if origin is tuple:
        if not isinstance(value, tuple) or (arguments[-1:] != (...,) and len(value) != len(arguments)):
            return False
        return all(
            _has_declared_type(v, arguments[0] if arguments[-1] is ... else arguments[i]) for i, v in enumerate(value)
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, origin) and all(
            _has_declared_type(k, arguments[0]) and _has_declared_type(v, arguments[1]) for k, v in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return isinstance(value, origin) and all(_has_declared_type(argument, arguments[0]) for argument in value)
    if hint is None or hint is type(None):
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool) and _fits_64_bits(value)
    if hint is sparse.csr_array or hint is np.ndarray or (isinstance(hint, type) and not _is_protocol(hint)):
        return isinstance(value, hint)
    return dataclasses.is_dataclass(value)


def _fits_64_bits(value: float) -> bool:
    """Return True for floats and for whole numbers that fit into 64 bits."""
    return isinstance(value, float) or abs(value) < 1 << 63


def _is_protocol(hint: type) -> bool:
    return Protocol in hint.__mro__ and bool(getattr(hint, "_is_protocol", False))
