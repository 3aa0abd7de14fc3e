"""Sums of passes as bytes: arrays, and JSON for what holds them. Nothing in them is executed when they are read.

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


def packed(value: Any) -> list[Any]:
    """Bytes: first the JSON, then each array. A LatentiaError where a value is of another kind."""
    arrays = _Arrays()
    tree = _tree(value, arrays)
    heads = [[array.dtype.str, array.shape, "C" if array.flags.c_contiguous else "F"] for array in arrays.found]
    return [json.dumps({"tree": tree, "arrays": heads}).encode(), *(_bytes_of(array) for array in arrays.found)]


def unpacked(pieces: Sequence[bytearray]) -> Any:
    """The value that `packed` made these bytes of."""
    first = json.loads(pieces[0])
    arrays = []
    for (dtype, shape, order), piece in zip(first["arrays"], pieces[1:], strict=True):
        kind = np.dtype(str(dtype))
        if kind.kind not in _KINDS or kind.itemsize * prod(shape) != len(piece):
            raise LatentiaError("an array has another type or size")
        arrays.append(
            np.frombuffer(piece, kind).reshape(shape, order=order) if len(piece) else np.empty(shape, kind, order)
        )
    return _value(first["tree"], arrays)


class _Arrays:
    """Arrays in the order in which they were met, each once."""

    def __init__(self) -> None:
        self.found: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._met: list[np.ndarray] = []  # whose identities stay theirs

    def number(self, array: np.ndarray) -> int:
        if array.dtype.kind not in _KINDS:
            raise LatentiaError(f"Sums are an array of type {array.dtype}, and a checkpoint keeps arrays of numbers.")
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.found)
            self._met.append(array)
            plain = array.flags.c_contiguous or array.flags.f_contiguous
            self.found.append(array if plain else np.ascontiguousarray(array))
        return self._numbers[id(array)]


def _bytes_of(array: np.ndarray) -> Any:
    flat = array.reshape(-1, order="C" if array.flags.c_contiguous else "F")
    return flat.view(np.uint8).data if flat.size else b""


def _tree(value: Any, arrays: _Arrays) -> Any:
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
        return {type(value).__name__: [_tree(one, arrays) for one in value]}
    if type(value) is dict:
        return {"dict": [[_tree(key, arrays), _tree(one, arrays)] for key, one in value.items()]}
    if _is_record(type(value)):
        fields = dict(zip(value._fields, value, strict=True)) if isinstance(value, tuple) else vars(value)  # type: ignore[attr-defined]
        state = {name: _tree(one, arrays) for name, one in fields.items()}
        return {"record": f"{type(value).__module__}:{type(value).__qualname__}", "state": state}
    raise LatentiaError(
        f"Sums are a {type(value).__name__}, and a checkpoint keeps numbers, arrays, texts, and tuples, lists and dicts of "
        "them."
    )


def _value(tree: Any, arrays: Sequence[np.ndarray]) -> Any:
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
        return {_value(key, arrays): _value(one, arrays) for key, one in content}
    if kind == "record":
        return _record(content, {name: _value(one, arrays) for name, one in rest[0][1].items()})
    made: Any = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind]
    return made(_value(one, arrays) for one in content)


def _record(name: str, state: dict[str, Any]) -> Any:
    cls: Any = find_class(name)
    if cls is None or not _is_record(cls):
        raise LatentiaError(f"{name} is no record of this version")
    if issubclass(cls, tuple):
        return cls._make(state[field] for field in cls._fields)
    record = object.__new__(cls)
    vars(record).update(state)
    return record


def _is_record(cls: type) -> bool:
    own = cls.__module__.partition(".")[0] == "latentia"
    return own and (dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")))
