"""Save and load fitted models without pickle: arrays in an ``.npz`` file, everything else in a JSON header.

Loading builds objects of this library's classes from plain values and checks them against their declared fields; it never runs
code from the file. ``docs/persistence.md`` describes the format.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._archive import DAMAGE, build_csr, find_class, read_arrays, write_arrays
from .exceptions import FileNotice, LatentiaError, warn
from .fitting.base import Estimator
from .fitting.records import check_fitted, check_record
from .system.scratch import atomic_file, path_of
from .words import UnsavedVectorizer, WordVectorizer

__all__ = ["load", "save"]

_FORMAT = 5
_NOT_SAVED = ("_estimator", "held_out")  # attributes of the evidence
_HEADER = "header"
_MAX_HEADER_BYTES, _MAX_HEADER_DEPTH = 1 << 26, 1000  # size, and depth of nested brackets
_MAX_PARSED_BYTES = 1 << 28  # memory that a parsed header may take
_CHUNK_BYTES = 1 << 20  # bytes scanned at a time
_PARSED_SIZES = {"{": 240, "[": 80, ",": 72, ":": 100}  # memory of an object, a list, a value and a key
_DEPTH_STEPS = np.zeros(256, np.int64)  # change of depth at each byte
_DEPTH_STEPS[list(b"{[")], _DEPTH_STEPS[list(b"}]")] = 1, -1
_IS_MARK = np.zeros(256, bool)
_IS_MARK[list(b"{}[],:")] = True
_MAX_TEXTS = 1 << 22  # largest array of strings that become objects
_LAST_CODE_POINT = 0x10FFFF


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to one file, complete or not at all.

    Parameters
    ----------
    model : estimator of this library
    path : path
        File to write; ``.npz`` is appended if missing.

    Returns
    -------
    Path of the file

    Raises
    ------
    LatentiaError
        If the model is not an estimator of this library, or if the file cannot be written.
    """
    if not isinstance(model, Estimator) or not type(model).__module__.startswith("latentia."):
        raise LatentiaError(f"A {type(model).__name__} cannot be saved: expected an estimator of latentia.")
    target = path_of(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    getattr(model, "evidence_", None)  # learns a model with pending moments
    _warn_unsaved(vars(model))
    header, arrays = contents(model)
    text = json.dumps(header).encode()
    try:
        _check_size(text)
    except LatentiaError as error:
        raise LatentiaError(f"A {type(model).__name__} cannot be saved: {error}.") from None
    arrays[_HEADER] = np.frombuffer(text, np.uint8)
    with atomic_file(target) as file:
        write_arrays(file, arrays)
    return target


def contents(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header of an estimator's file, and the arrays that it names."""
    from . import __version__

    arrays: dict[str, np.ndarray] = {}
    header = {"format": _FORMAT, "version": __version__, **_encode_estimator(model, arrays)}
    return header, arrays


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote.

    Untrusted files are safe: declared sizes are checked before memory is allocated, and all values before they become part of
    an estimator. A damaged or missing file raises a `LatentiaError`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Fitted estimator of the saved class.

    Raises
    ------
    LatentiaError
        If the file cannot be read, is damaged, holds something else, or has an unknown format. The message says which.
    """
    source = path_of(path)
    source = source if source.exists() or source.suffix == ".npz" else source.with_name(source.name + ".npz")
    try:
        arrays = read_arrays(source)
        return _model(_header(arrays), arrays)
    except OSError as error:
        raise LatentiaError(f"cannot be read ({error.strerror or error}).", source=source) from error
    except _FormatVersionError as error:
        raise LatentiaError(f"{error}", source=source) from error
    except DAMAGE as error:
        text = error.problem if isinstance(error, LatentiaError) else str(error)
        text = text.rstrip(".") or type(error).__name__
        raise LatentiaError(f"not a model saved by latentia, or damaged ({text[:300]}).", source=source) from error


def _warn_unsaved(state: Mapping[str, Any]) -> None:
    """Warn if an embedder or a vectorizer of another library is not saved."""
    if callable(state.get("embedder")):
        warn(
            FileNotice(
                "The function that embeds the texts is not saved with the model.",
                "Set embedder= of the loaded model to it, or give the embeddings.",
            )
        )
    vectorizer = state.get("vectorizer_", state.get("vectorizer"))
    if vectorizer is None or isinstance(vectorizer, (WordVectorizer, UnsavedVectorizer)):
        return
    warn(
        FileNotice(
            f"The {type(vectorizer).__name__} that counts the words is not saved with the model.",
            "The loaded model takes counts; keep the vectorizer beside it for texts, or use latentia.words.WordVectorizer.",
        )
    )


class _FormatVersionError(LatentiaError):
    """Error about a file in the format of another version."""


# --- headers ------------------------------------------------------------------------------------------------------


def _header(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Read the header from the arrays of a file."""
    if _HEADER not in arrays:
        raise LatentiaError("it has no header")
    symbols = arrays.pop(_HEADER)
    if symbols.dtype != np.uint8 or symbols.ndim != 1:
        raise LatentiaError("its header is not a text")
    text = symbols.tobytes()
    _check_size(text)
    header = json.loads(text)
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise LatentiaError("its header names no format")
    if header["format"] != _FORMAT:
        raise _FormatVersionError(
            f"written in format {header['format']} by latentia {str(header.get('version'))[:30]}; this version reads format "
            f"{_FORMAT}. Fit the model again or use that version."
        )
    return header


def _check_size(text: bytes) -> None:
    """Raise if a parsed header would take too much memory, or is too deep."""
    if len(text) > _MAX_HEADER_BYTES:
        raise LatentiaError(f"its header has {len(text)} bytes; expected at most {_MAX_HEADER_BYTES}")
    size, depth = _measure_json(text)
    if size > _MAX_PARSED_BYTES:
        raise LatentiaError(f"its header would take more than {_MAX_PARSED_BYTES >> 20} MiB of memory")
    if depth > _MAX_HEADER_DEPTH:
        raise LatentiaError(f"its header has more than {_MAX_HEADER_DEPTH} nested values")


def _measure_json(text: bytes) -> tuple[int, int]:
    """Estimate the memory of a parsed JSON text without its strings, and its depth."""
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")  # every remaining quote begins or ends a string
    size = level = deepest = in_string = 0
    for start in range(0, len(unescaped), _CHUNK_BYTES):
        symbols = np.frombuffer(unescaped[start : start + _CHUNK_BYTES], np.uint8)
        inside = np.bitwise_xor.accumulate((symbols == ord('"')).view(np.uint8)) ^ in_string
        marks, in_string = symbols[(inside == 0) & _IS_MARK[symbols]], int(inside[-1])
        size += sum(int(np.count_nonzero(marks == ord(mark))) * n_bytes for mark, n_bytes in _PARSED_SIZES.items())
        levels = level + np.cumsum(_DEPTH_STEPS[marks])
        level, deepest = int(levels[-1]) if len(levels) else level, max(deepest, int(levels.max(initial=0)))
        if size > _MAX_PARSED_BYTES or deepest > _MAX_HEADER_DEPTH:
            break
    return size, deepest


def _model(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Build the estimator; missing parameters get their defaults, and unknown ones are dropped."""
    cls = _find_saved_class(header["class"])
    if not issubclass(cls, Estimator):
        raise LatentiaError(f"it holds a {cls.__name__}, which is not an estimator")
    defaults = {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}
    state = dict(defaults)
    for name, value in header["parameters"].items():
        if name in defaults:
            state[name] = _decode(value, arrays)
    for name, value in header["attributes"].items():
        if name not in defaults and name != "_estimator" and not callable(inspect.getattr_static(cls, name, None)):
            state[name] = _decode(value, arrays)
    model: Any = object.__new__(cls)
    vars(model).update(state)
    check_fitted(model)
    if "evidence_" in state:
        model.evidence_.bind(model)
    return model


# --- values -------------------------------------------------------------------------------------------------------


def _encode_estimator(model: Any, arrays: dict[str, np.ndarray], prefix: str = "") -> dict[str, Any]:
    """Encode class, parameters and attributes of an estimator; array names begin with ``prefix``."""
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in sorted(vars(model).items()) if name not in parameters}
    return {
        "class": _public_name(type(model)),
        "parameters": {name: _encode(value, arrays, f"{prefix}{name}") for name, value in parameters.items()},
        "attributes": {name: _encode(value, arrays, f"{prefix}{name}") for name, value in attributes.items()},
    }


def _encode(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    """Encode a value for JSON; its arrays go to ``arrays`` under names that begin with ``name``."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if (
        isinstance(value, np.ndarray)
        and value.dtype == object
        and any(str(element).endswith("\0") for element in value.flat)
    ):
        return {
            "texts": [str(element) for element in value.flat],
            "shape": list(value.shape),
        }  # an array would drop trailing zeros
    if isinstance(value, np.ndarray):
        arrays[name] = value.astype(str) if value.dtype == object else value
        return {"array": name, "object": value.dtype == object}
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        arrays.update({f"{name}.{key}": part for key, part in parts.items()})
        return {"csr": name, "shape": list(csr.shape)}
    if isinstance(value, (list, tuple)):
        items = [_encode(item, arrays, f"{name}.{i}") for i, item in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": items}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, dict):
        pairs = enumerate(value.items())
        return {
            "dict": [[_encode(k, arrays, f"{name}.{i}k"), _encode(v, arrays, f"{name}.{i}")] for i, (k, v) in pairs]
        }
    if _is_record(type(value)):
        fields = [element.name for element in dataclasses.fields(value) if element.name not in _NOT_SAVED]
        state = {key: _encode(getattr(value, key), arrays, f"{name}.{key}") for key in fields}
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "state": state}
    if isinstance(value, Estimator):
        return {"model": _encode_estimator(value, arrays, f"{name}.")}
    if name == "embedder":
        return None
    if type(value) is WordVectorizer:
        parameters = {
            key: _encode(element, arrays, f"{name}.{key}") for key, element in value.get_params(deep=False).items()
        }
        return {"words": parameters, "vocabulary": _words_of(value)}
    if name in ("vectorizer", "vectorizer_"):
        return _encode(UnsavedVectorizer(type(value).__name__), arrays, name)
    raise LatentiaError(f"{name} is a {type(value).__name__}, which cannot be saved.")


def _words_of(vectorizer: WordVectorizer) -> list[str] | None:
    """Return the words of a vectorizer in the order of their columns; None if it is not fitted."""
    vocabulary = getattr(vectorizer, "vocabulary_", None)
    return None if vocabulary is None else [str(word) for word in sorted(vocabulary, key=vocabulary.__getitem__)]


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Decode a value of `_encode`. Every array is used once."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, dict):
        raise LatentiaError("its header has a list; expected a value")
    if "array" in value:
        return _decode_array(arrays.pop(value["array"]), value.get("object", False))
    if "texts" in value:
        return _decode_texts(value["texts"], value["shape"])
    if "csr" in value:
        data, indices, indptr = (arrays.pop(f"{value['csr']}.{key}") for key in ("data", "indices", "indptr"))
        return build_csr(data, indices, indptr, value["shape"])
    if "list" in value:
        return [_decode(item, arrays) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if "range" in value:
        return range(*value["range"])
    if "words" in value:
        return _vectorizer(value, arrays)
    if "model" in value:
        return _model(value["model"], arrays)
    if "dict" in value:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in value["dict"]}
    return _record(value["class"], value["state"], arrays)


def _decode_array(array: np.ndarray, is_object_array: Any) -> np.ndarray:
    if array.dtype.kind == "U" and array.size and array.ravel().view(np.uint32).max() > _LAST_CODE_POINT:
        raise LatentiaError("an array of texts has an invalid character")
    if array.dtype.kind == "b" and array.size and array.ravel().view(np.uint8).max() > 1:
        raise LatentiaError("an array of truth values has other values")
    if not is_object_array:
        return array
    if array.dtype.kind != "U" or array.size > _MAX_TEXTS:
        raise LatentiaError("an array of objects is not made of texts")
    return array.astype(object)


def _decode_texts(texts: Any, shape: Any) -> np.ndarray:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise LatentiaError("an array of texts has other values")
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def _record(name: Any, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Build a record of this library; missing fields get their defaults, and unknown ones are dropped."""
    cls = _find_saved_class(name)
    if not _is_record(cls):
        raise LatentiaError(f"it has a {cls.__name__}; expected a record")
    fields = {}
    for field in dataclasses.fields(cls):
        if field.name in state and field.name not in _NOT_SAVED:
            fields[field.name] = _decode(state[field.name], arrays)
        elif field.default is not dataclasses.MISSING:
            fields[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            fields[field.name] = field.default_factory()
        else:
            raise LatentiaError(f"its {cls.__name__} has no {field.name}")
    record: Any = object.__new__(cls)
    vars(record).update(fields)
    check_record(record)
    return record


def _vectorizer(value: dict[str, Any], arrays: dict[str, np.ndarray]) -> WordVectorizer:
    """Build a vectorizer with the words of the file; parameters as in `_model`."""
    parameters = WordVectorizer().get_params()
    vectorizer = WordVectorizer(**{k: _decode(item, arrays) for k, item in value["words"].items() if k in parameters})
    vectorizer.check_parameters()
    words = value["vocabulary"]
    if words is not None:
        if not isinstance(words, list) or not all(isinstance(w, str) for w in words) or len(set(words)) < len(words):
            raise LatentiaError("the words of a vectorizer are not texts, or are repeated")
        vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
        vectorizer.fixed_vocabulary_ = vectorizer.vocabulary is not None
    return vectorizer


# --- classes ------------------------------------------------------------------------------------------------------


def _public_name(cls: type) -> str:
    """Return ``latentia.family:Class``, which does not depend on the modules of a family."""
    family = ".".join(cls.__module__.split(".")[:2])
    public = getattr(importlib.import_module(family), cls.__name__, None) is cls
    return f"{family if public else cls.__module__}:{cls.__qualname__}"


def _find_saved_class(name: Any) -> type:
    """Return an estimator class, or a class of its records, by name."""
    cls = find_class(name)
    if cls is None or not (_is_record(cls) or issubclass(cls, Estimator)):
        raise LatentiaError(f"it names a class {str(name)[:100]!r} that this version of latentia lacks")
    return cls


def _is_record(cls: type) -> bool:
    return cls.__module__.startswith("latentia.") and dataclasses.is_dataclass(cls)
