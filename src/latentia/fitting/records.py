"""Checks of what fitted estimators and their records hold, by the fields that they declare: see `latentia._fields`."""

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

from .._fields import MOST, MOST_SINGLE, Field, Letters
from .._parameters import check_parameters
from .._validation import check_vocabulary
from ..evidence import Evidence
from ..exceptions import LatentiaError
from ..words import UnsavedVectorizer, WordVectorizer

_OF_SUMS = 1e-9  # by which sums of distributions may differ from one
_MAY_BE_ZERO = "EDPHU*"  # letters of sizes
_APART = frozenset({
    "_column_names", "feature_names_in_", "_v_names", "names_", "vectorizer_", "reading_", "comparison_", "recommendation_",
    "_sklearn_output_config",
})  # fmt: skip
"""Attributes that have checks of their own, in all classes."""


# --- what is declared ---------------------------------------------------------------------------------------------


def fields_of(cls: type) -> dict[str, tuple[Any, Field | None, Letters]]:
    """Of the attributes that a class declares: type, description if there is one, and letters of sizes."""
    return {name: _read(hint) for name, hint in _hints(cls).items()}


@cache
def _hints(cls: type) -> dict[str, Any]:
    # The base of estimators imports Evidence for types alone.
    return typing.get_type_hints(cls, localns={"Evidence": Evidence}, include_extras=True)


def _read(hint: Any) -> tuple[Any, Field | None, Letters]:
    if typing.get_origin(hint) is not Annotated:
        return hint, None, Letters()
    kind, *extras = typing.get_args(hint)
    described = next((one for one in extras if isinstance(one, Field)), None)
    return kind, described, next((one for one in extras if isinstance(one, Letters)), Letters())


def attributes_of(cls: type) -> frozenset[str]:
    """Names of what an estimator of a class may hold beside its parameters."""
    return _APART | {
        name for name, (kind, *_) in fields_of(cls).items() if typing.get_origin(kind) is not typing.ClassVar
    }


def find_undeclared(model: Any) -> list[str]:
    """Places of what a fitted estimator keeps beside its parameters, and no declaration describes."""
    parameters = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in parameters and name not in _APART}
    open_ones = {leaf.place for leaf in _leaves(model, state) if leaf.is_open}
    parts = [place for value in state.values() if isinstance(value, BaseEstimator) for place in find_undeclared(value)]
    return sorted(open_ones | set(parts) | (state.keys() - attributes_of(type(model))))


@dataclass(frozen=True)
class _Leaf:
    """A value that is no list, tuple, dict or record; where it is, and what it must be."""

    place: str
    value: Any
    owner: type
    described: Field | None
    letters: Mapping[str, str]

    @property
    def is_open(self) -> bool:
        """Whether it has neither a description nor a type that says all."""
        if self.described is not None or self.value is None or isinstance(self.value, (bool, str)):
            return False
        is_array = isinstance(self.value, np.ndarray) or sparse.issparse(self.value)
        return is_array or not self.owner.__module__.startswith("latentia.evidence.")

    def letter(self, letter: str) -> str:
        """Of a size in the whole estimator."""
        if letter.endswith("#"):
            return letter + self.place[self.place.find("[") :]
        return self.letters.get(letter, letter)


def _leaves(
    owner: Any, state: Mapping[str, Any], at: str = "", letters: Mapping[str, str] | None = None
) -> Iterator[_Leaf]:
    fields, known = fields_of(type(owner)), letters or {}
    for name, value in state.items():
        if name in fields:
            _, described, own = fields[name]
            yield from _leaves_of(f"{at}{name}", value, type(owner), described, {**known, **own.of})


def _leaves_of(
    place: str, value: Any, owner: type, described: Field | None, letters: Mapping[str, str]
) -> Iterator[_Leaf]:
    if isinstance(value, (list, tuple, dict)):
        for i, one in enumerate(value.values() if isinstance(value, dict) else value):
            yield from _leaves_of(f"{place}[{i}]", one, owner, described, letters)
    elif _is_record(value):
        yield from _leaves(value, _state(value), f"{place}.", letters)
    elif isinstance(value, BaseEstimator):
        return  # an estimator within another one has been checked by itself
    else:
        yield _Leaf(place, value, owner, described, letters)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _state(record: Any) -> dict[str, Any]:
    return {one.name: getattr(record, one.name) for one in dataclasses.fields(record)}


# --- estimators ---------------------------------------------------------------------------------------------------


def check_fitted(model: Any) -> None:
    """Raise a `LatentiaError` unless parameters and fitted attributes of an estimator are such as its class declares."""
    check_parameters(model)
    model._check_parameters()
    state, fields = vars(model), fields_of(type(model))
    _check_types(model, state)
    if not any(name.endswith("_") for name in state):
        return
    for name, (kind, described, _) in fields.items():
        if _is_required(kind, described) and not hasattr(model, name):
            raise LatentiaError(f"{name} is missing")
    parameters = model.get_params(deep=False)
    fitted = {name: value for name, value in state.items() if name not in parameters and name not in _APART}
    leaves, sizes = list(_leaves(model, fitted)), _Sizes()
    for leaf in sorted(leaves, key=lambda one: one.described is not None and bool(one.described.below)):
        if leaf.is_open:
            raise LatentiaError(f"{leaf.place} is a {type(leaf.value).__name__}")
        if leaf.described is not None and leaf.value is not None:
            _check_leaf(leaf, leaf.described, sizes)
    if not isinstance(state.get("evidence_"), Evidence):
        raise LatentiaError("evidence_ is missing")
    _check_apart(model)
    model._check_fitted()


def _is_required(kind: Any, described: Field | None) -> bool:
    """Whether a fitted estimator always has an attribute: all that it declares are, but for those that say otherwise."""
    if kind is Any or typing.get_origin(kind) is typing.ClassVar:
        return False
    return described is None or described.required


class _Sizes:
    """What the letters of sizes stand for."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def agree(self, letter: str, size: Any, place: str) -> None:
        if size < 1 - (letter[0] in _MAY_BE_ZERO):
            raise LatentiaError(f"{place} has the size {size!r}")
        if letter != "*" and self.of.setdefault(letter, size) != size:
            raise LatentiaError(f"{place} has the size {size} where {self.of[letter]} is needed")


def _check_leaf(leaf: _Leaf, described: Field, sizes: _Sizes) -> None:
    """Raise unless a value is as its field says."""
    place, value = leaf.place, leaf.value
    array = _as_array(place, value, described)
    one = described.number and isinstance(value, float)
    letters, shape = [] if one else described.shape.split(), value.shape if described.sparse else array.shape
    if letters[:1] == ["..."]:
        letters = letters[1:]
        shape = shape[len(shape) - len(letters) :]
    if not _has_type(array.dtype, described.types) or len(shape) != len(letters):
        raise LatentiaError(f"{place} has the type {array.dtype} and the shape {array.shape}")
    for letter, size in zip(letters, shape, strict=True):
        sizes.agree(leaf.letter(letter), size, place)
    if described.size:
        sizes.agree(leaf.letter(described.size), int(array), place)
    if array.dtype.kind in "iuf" and array.size:
        high = sizes.of.get(leaf.letter(described.below), 0) - 1 if described.below else described.high
        _check_numbers(place, array, replace(described, high=high))


def _as_array(place: str, value: Any, described: Field) -> np.ndarray:
    """Its numbers: of a sparse matrix, which must be in order, those that are stored."""
    if described.sparse:
        if not isinstance(value, sparse.csr_array) or not value.has_canonical_format:
            raise LatentiaError(f"{place} is no sparse matrix in order")
        return np.asarray(value.data)
    if isinstance(value, np.ndarray) is not bool(described.shape) and not (
        described.number and isinstance(value, float)
    ):
        raise LatentiaError(f"{place} is a {type(value).__name__}")
    return np.asarray(value, dtype=np.float64 if type(value) is int and "float64" in described.types else None)


def _has_type(dtype: np.dtype, types_: tuple[str, ...]) -> bool:
    if types_ == ("symbols",):
        return dtype.kind in "biuUSO" or dtype.name in ("float64", "float32")
    return ("str" if dtype.kind == "U" else dtype.name) in types_


def _check_numbers(place: str, array: np.ndarray, described: Field) -> None:
    most = np.float64(MOST if array.dtype != np.float32 else MOST_SINGLE)
    if described.finite and not (np.abs(array) <= most).all():
        raise LatentiaError(f"{place} has NaN, infinity or numbers out of range")
    low, high = described.low, described.high
    if (array < low).any() or (array > high).any():  # NaN is neither: where it may be, it says nothing
        raise LatentiaError(f"{place} has entries outside of {low:g} to {high:g}")
    if described.sums and not np.allclose(array.sum(axis=-1), 1.0, rtol=0, atol=_OF_SUMS):
        raise LatentiaError(f"{place} has rows that do not sum to one")


def _check_apart(model: Any) -> None:
    """Names, and what the command line and scikit-learn keep."""
    _check_names(model)
    state = vars(model)
    rows = state.get("comparison_", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _all_plain(row) for row in rows):
        raise LatentiaError("comparison_ is no list of rows")
    if not isinstance(state.get("recommendation_", ""), str):
        raise LatentiaError("recommendation_ is no text")
    reading = state.get("reading_", {})
    if not isinstance(reading, dict) or not all(isinstance(name, str) for name in reading):
        raise LatentiaError("reading_ is no dict of options")
    output = state.get("_sklearn_output_config", {})
    if not isinstance(output, dict) or not set(output.values()) <= {"default", "pandas", "polars", None}:
        raise LatentiaError("_sklearn_output_config is not what set_output makes")


def _all_plain(row: Mapping[Any, Any]) -> bool:
    """Whether a row of a table has names, and numbers or texts."""
    return all(isinstance(key, str) and (one is None or isinstance(one, (str, float, int))) for key, one in row.items())


def _check_names(model: Any) -> None:
    """Names of columns, which must be as many as the columns."""
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
        if not all(isinstance(each, str) for each in names):
            raise LatentiaError(f"{name} has names that are no text")
    if hasattr(model, "vocabulary") and width is not None:
        check_vocabulary(model)
    vectorizer = getattr(model, "vectorizer_", None)
    if isinstance(vectorizer, WordVectorizer):
        if len(getattr(vectorizer, "vocabulary_", ())) != width:
            raise LatentiaError(f"vectorizer_ does not count {width} words")
    elif vectorizer is not None and not isinstance(vectorizer, UnsavedVectorizer):
        raise LatentiaError("vectorizer_ is no vectorizer")


# --- types --------------------------------------------------------------------------------------------------------


def check_record(record: Any) -> None:
    """Raise a `LatentiaError` unless the fields of a dataclass have the types that it declares."""
    _check_types(record, _state(record))


def _check_types(owner: Any, state: Mapping[str, Any]) -> None:
    fields = fields_of(type(owner))
    for name, value in state.items():
        if name in fields and not _is_a(value, fields[name][0]):
            raise LatentiaError(f"{type(owner).__name__}.{name} is a {type(value).__name__}")


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value has a declared type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin is Annotated:
        return _is_a(value, arguments[0])
    if origin in (Union, types.UnionType):
        return any(_is_a(value, one) for one in arguments)
    if origin is typing.ClassVar:
        return True
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is tuple:
        if not isinstance(value, tuple) or (arguments[-1:] != (...,) and len(value) != len(arguments)):
            return False
        return all(_is_a(v, arguments[0] if arguments[-1] is ... else arguments[i]) for i, v in enumerate(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, origin) and all(
            _is_a(k, arguments[0]) and _is_a(v, arguments[1]) for k, v in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return isinstance(value, origin) and all(_is_a(one, arguments[0]) for one in value)
    if hint is None or hint is type(None):
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool) and _in_words(value)
    if hint is sparse.csr_array or hint is np.ndarray or (isinstance(hint, type) and not _is_protocol(hint)):
        return isinstance(value, hint)
    return dataclasses.is_dataclass(value)


def _in_words(value: float) -> bool:
    """Whether a whole number is none that only Python has."""
    return isinstance(value, float) or abs(value) < 1 << 63


def _is_protocol(hint: type) -> bool:
    return Protocol in hint.__mro__ and bool(getattr(hint, "_is_protocol", False))
