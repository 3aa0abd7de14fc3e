"""Sums of passes as bytes: the arrays, and JSON for the structure that holds them. Reading executes no code.

Records are built from plain values without their constructors, and are dataclasses or named tuples of this library.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from .._archive import build_csr, find_class
from ..exceptions import LatentiaError

_KINDS = "biufc"


def pack(value: Any) -> list[Any]:
    """Return the bytes of a value: first the JSON, then each array. Raise a LatentiaError for other kinds of values."""
    arrays = _Arrays()
    tree = _build_tree(value, arrays)
    heads = [[array.dtype.str, array.shape, "C" if array.flags.c_contiguous else "F"] for array in arrays.arrays]
    return [json.dumps({"tree": tree, "arrays": heads}).encode(), *(_view_bytes(array) for array in arrays.arrays)]


def unpack(pieces: Sequence[bytearray]) -> Any:
    """Return the value that `pack` turned into these bytes."""
    first = json.loads(pieces[0])
    arrays = []
    for (dtype, shape, order), piece in zip(first["arrays"], pieces[1:], strict=True):
        kind = np.dtype(str(dtype))
        if kind.kind not in _KINDS or kind.itemsize * prod(shape) != len(piece):
            raise LatentiaError("an array has another type or size")
        arrays.append(
            np.frombuffer(piece, kind).reshape(shape, order=order) if len(piece) else np.empty(shape, kind, order)
        )
    return _read_tree(first["tree"], arrays)


class _Arrays:
    """The distinct arrays of a value, in the order of their first use."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._references: list[np.ndarray] = []  # keeps the arrays alive, so that their ids stay unique

    def number(self, array: np.ndarray) -> int:
        if array.dtype.kind not in _KINDS:
            raise LatentiaError(
                f"Expected sums that are arrays of numbers for a checkpoint; found an array of dtype {array.dtype}."
            )
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self._references.append(array)
            plain = array.flags.c_contiguous or array.flags.f_contiguous
            self.arrays.append(array if plain else np.ascontiguousarray(array))
        return self._numbers[id(array)]


def _view_bytes(array: np.ndarray) -> Any:
    flat = array.reshape(-1, order="C" if array.flags.c_contiguous else "F")
    return flat.view(np.uint8).data if flat.size else b""


def _build_tree(value: Any, arrays: _Arrays) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return {"number": arrays.number(np.asarray(value))}
    if type(value) is np.ndarray:
        return {"array": arrays.number(value)}
    if type(value) is sparse.csr_array:
        parts = [arrays.number(part) for part in (value.data, value.indices, value.indptr)]
        return {"csr": parts, "shape": list(value.shape)}
    if type(value) in (list, tuple, set, frozenset):
        return {type(value).__name__: [_build_tree(item, arrays) for item in value]}
    if type(value) is dict:
        return {"dict": [[_build_tree(key, arrays), _build_tree(item, arrays)] for key, item in value.items()]}
    if _is_record(type(value)):
        fields = dict(zip(value._fields, value, strict=True)) if isinstance(value, tuple) else vars(value)  # type: ignore[attr-defined]
        state = {name: _build_tree(item, arrays) for name, item in fields.items()}
        return {"record": f"{type(value).__module__}:{type(value).__qualname__}", "state": state}
    raise LatentiaError(
        "Expected sums that are numbers, arrays, texts, or tuples, lists and dicts of them for a checkpoint; found a "
        f"{type(value).__name__}."
    )


def _read_tree(tree: Any, arrays: Sequence[np.ndarray]) -> Any:
    if not isinstance(tree, dict):
        return tree
    (kind, content), *rest = tree.items()
    if kind == "array":
        return arrays[content]
    if kind == "number":
        return arrays[content][()]
    if kind == "csr":
        data, indices, indptr = (arrays[number] for number in content)
        return build_csr(data, indices, indptr, rest[0][1])
    if kind == "dict":
        return {_read_tree(key, arrays): _read_tree(item, arrays) for key, item in content}
    if kind == "record":
        return _build_record(content, {name: _read_tree(item, arrays) for name, item in rest[0][1].items()})
    collection: Any = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind]
    return collection(_read_tree(item, arrays) for item in content)


def _build_record(name: str, state: dict[str, Any]) -> Any:
    cls: Any = find_class(name)
    if cls is None or not _is_record(cls):
        raise LatentiaError(f"{name} is no record of this version")
    if issubclass(cls, tuple):
        return cls._make(state[field] for field in cls._fields)
    record = object.__new__(cls)
    vars(record).update(state)
    return record


def _is_record(cls: type) -> bool:
    is_ours = cls.__module__.partition(".")[0] == "latentia"
    return is_ours and (dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")))
