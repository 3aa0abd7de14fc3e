"""Save and load fitted models without pickle: arrays in an ``.npz`` file, everything else in a JSON header.

Loading builds objects of this library's own classes from plain values, and checks them against what their classes hold; it
never runs code from the file. ``docs/persistence.md`` describes the format.
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

from ._archive import DAMAGE, checked_csr, own_class, read_arrays, write_arrays
from .exceptions import FileNotice, LatentiaError, warn
from .fitting.base import Estimator
from .fitting.records import check_fitted, check_record
from .system.scratch import whole_file
from .words import UnsavedVectorizer, WordVectorizer

__all__ = ["load", "save"]

_FORMAT = 4
_NOT_SAVED = ("_estimator", "held_out")  # of the evidence
_HEADER = "header"
_LONGEST_HEADER, _DEEPEST_HEADER = 1 << 26, 1000  # bytes, and brackets within brackets
_MOST_PARSED = 1 << 28  # bytes of memory that a header takes besides its own
_PIECE = 1 << 20  # bytes of it that are looked at together
_PARSED_SIZES = {"{": 240, "[": 80, ",": 72, ":": 100}  # bytes of an object, a list, a value and a key
_STEPS = np.zeros(256, np.int64)  # how much deeper a mark leads
_STEPS[list(b"{[")], _STEPS[list(b"}]")] = 1, -1
_IS_MARK = np.zeros(256, bool)
_IS_MARK[list(b"{}[],:")] = True
_MOST_TEXTS = 1 << 22  # strings of an array that become objects
_LAST_CODE_POINT = 0x10FFFF


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to one file, complete or not at all.

    Parameters
    ----------
    model : estimator of this library
    path : path
        Its name gets the ending ``.npz`` if it has none.

    Returns
    -------
    Path of the file

    Raises
    ------
    LatentiaError
        If the model is not of this library, or if the file cannot be written.
    """
    if not isinstance(model, Estimator) or not type(model).__module__.startswith("latentia."):
        raise LatentiaError(f"A {type(model).__name__} cannot be saved: estimators of latentia can.")
    target = Path(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    getattr(model, "evidence_", None)  # of moments that were added to it is learned now
    _tell_unsaved(vars(model))
    header, arrays = contents(model)
    text = json.dumps(header).encode()
    try:
        _check_size(text)
    except LatentiaError as error:
        raise LatentiaError(f"A {type(model).__name__} cannot be saved: {error}.") from None
    arrays[_HEADER] = np.frombuffer(text, np.uint8)
    with whole_file(target) as file:
        write_arrays(file, arrays)
    return target


def contents(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a file says of an estimator: its header, and the arrays that this names."""
    from . import __version__

    arrays: dict[str, np.ndarray] = {}
    header = {"format": _FORMAT, "version": __version__, **_described(model, arrays)}
    return header, arrays


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote.

    The file may come from anyone: what it declares is checked before memory is taken for it, and everything that it holds
    before it becomes part of an estimator. A file that is damaged, or no such file, is a `LatentiaError`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Fitted, of the class that was saved.

    Raises
    ------
    LatentiaError
        If the file cannot be read, is damaged, holds something else, or was written by a version whose format is not
        known. The message says which.
    """
    source = Path(path)
    source = source if source.exists() or source.suffix == ".npz" else source.with_name(source.name + ".npz")
    try:
        arrays = read_arrays(source)
        return _model(_header(arrays), arrays)
    except OSError as error:
        raise LatentiaError(f"cannot be read ({error.strerror or error}).", source=source) from error
    except _OtherFormatError as error:
        raise LatentiaError(f"{error}", source=source) from error
    except DAMAGE as error:
        text = error.problem if isinstance(error, LatentiaError) else str(error)
        text = text.rstrip(".") or type(error).__name__
        raise LatentiaError(f"not a model saved by latentia, or damaged ({text[:300]}).", source=source) from error


def _tell_unsaved(state: Mapping[str, Any]) -> None:
    """Say so where a vectorizer of another library will be missing."""
    if callable(state.get("embedder")):
        warn(
            FileNotice(
                "The function that embeds the texts is not saved with the model.",
                "Set embedder= of the loaded model to it, or give the embeddings.",
            )
        )
    used = state.get("vectorizer_", state.get("vectorizer"))
    if used is None or isinstance(used, (WordVectorizer, UnsavedVectorizer)):
        return
    warn(
        FileNotice(
            f"The {type(used).__name__} that counts the words is not saved with the model.",
            "The loaded model takes counts; keep the vectorizer beside it for texts, or use latentia.words.WordVectorizer.",
        )
    )


class _OtherFormatError(LatentiaError):
    """A file of another version of this library."""


# --- headers ------------------------------------------------------------------------------------------------------


def _header(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The header; what it has besides stays unread."""
    if _HEADER not in arrays:
        raise LatentiaError("it has no header")
    symbols = arrays.pop(_HEADER)
    if symbols.dtype != np.uint8 or symbols.ndim != 1:
        raise LatentiaError("its header is no text")
    text = symbols.tobytes()
    _check_size(text)
    header = json.loads(text)
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise LatentiaError("its header names no format")
    if header["format"] != _FORMAT:
        raise _OtherFormatError(
            f"written in format {header['format']} by latentia {str(header.get('version'))[:30]}; this version reads format "
            f"{_FORMAT}. Fit the model again or use that version."
        )
    return header


def _check_size(text: bytes) -> None:
    """Raise if a header would take much memory, or is deep: of its marks outside of strings each is an object."""
    if len(text) > _LONGEST_HEADER:
        raise LatentiaError(f"its header has {len(text)} bytes, and at most {_LONGEST_HEADER} are read")
    size, depth = _parsed(text)
    if size > _MOST_PARSED:
        raise LatentiaError(f"its header would take more than {_MOST_PARSED >> 20} MiB of memory")
    if depth > _DEEPEST_HEADER:
        raise LatentiaError(f"its header has more than {_DEEPEST_HEADER} values within values")


def _parsed(text: bytes) -> tuple[int, int]:
    """About how many bytes of memory a JSON text takes when it is parsed, besides its strings; and how deep it is."""
    plain = text.replace(rb"\\", b"").replace(rb"\"", b"")  # every quote that is left begins or ends a string
    size = level = deepest = within = 0
    for start in range(0, len(plain), _PIECE):
        symbols = np.frombuffer(plain[start : start + _PIECE], np.uint8)
        inside = np.bitwise_xor.accumulate((symbols == ord('"')).view(np.uint8)) ^ within
        marks, within = symbols[(inside == 0) & _IS_MARK[symbols]], int(inside[-1])
        size += sum(int(np.count_nonzero(marks == ord(mark))) * each for mark, each in _PARSED_SIZES.items())
        levels = level + np.cumsum(_STEPS[marks])
        level, deepest = int(levels[-1]) if len(levels) else level, max(deepest, int(levels.max(initial=0)))
        if size > _MOST_PARSED or deepest > _DEEPEST_HEADER:
            break
    return size, deepest


def _model(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator; parameters that the file lacks have their defaults, and those that the class lacks are dropped."""
    cls = _own_class(header["class"])
    if not issubclass(cls, Estimator):
        raise LatentiaError(f"it holds a {cls.__name__}, which is no estimator")
    defaults = {name: one.default for name, one in inspect.signature(cls).parameters.items()}
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


def _described(model: Any, arrays: dict[str, np.ndarray], at: str = "") -> dict[str, Any]:
    """Class, parameters and attributes of an estimator; ``at`` begins the names of its arrays."""
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in sorted(vars(model).items()) if name not in parameters}
    return {
        "class": _public_name(type(model)),
        "parameters": {name: _encode(value, arrays, f"{at}{name}") for name, value in parameters.items()},
        "attributes": {name: _encode(value, arrays, f"{at}{name}") for name, value in attributes.items()},
    }


def _encode(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    """A JSON value for ``value``; its arrays go to ``arrays`` under names that begin with ``name``."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype == object and any(str(one).endswith("\0") for one in value.flat):
        return {
            "texts": [str(one) for one in value.flat],
            "shape": list(value.shape),
        }  # An array would lose their ends.
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
        fields = [one.name for one in dataclasses.fields(value) if one.name not in _NOT_SAVED]
        state = {key: _encode(getattr(value, key), arrays, f"{name}.{key}") for key in fields}
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "state": state}
    if isinstance(value, Estimator):
        return {"model": _described(value, arrays, f"{name}.")}
    if name == "embedder":
        return None
    if type(value) is WordVectorizer:
        parameters = {key: _encode(one, arrays, f"{name}.{key}") for key, one in value.get_params(deep=False).items()}
        return {"words": parameters, "vocabulary": _words_of(value)}
    if name in ("vectorizer", "vectorizer_"):
        return _encode(UnsavedVectorizer(type(value).__name__), arrays, name)
    raise LatentiaError(f"{name} is a {type(value).__name__}, which cannot be saved.")


def _words_of(vectorizer: WordVectorizer) -> list[str] | None:
    """The words that it counts in the order of their columns; None if it is not fitted."""
    found = getattr(vectorizer, "vocabulary_", None)
    return None if found is None else [str(word) for word in sorted(found, key=found.__getitem__)]


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value that `_encode` made this of. Every array is used once."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, dict):
        raise LatentiaError("its header has a list where a value is needed")
    if "array" in value:
        return _decoded_array(arrays.pop(value["array"]), value.get("object", False))
    if "texts" in value:
        return _decoded_texts(value["texts"], value["shape"])
    if "csr" in value:
        data, indices, indptr = (arrays.pop(f"{value['csr']}.{key}") for key in ("data", "indices", "indptr"))
        return checked_csr(data, indices, indptr, value["shape"])
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


def _decoded_array(array: np.ndarray, of_objects: Any) -> np.ndarray:
    if array.dtype.kind == "U" and array.size and array.ravel().view(np.uint32).max() > _LAST_CODE_POINT:
        raise LatentiaError("an array of text has what is no character")
    if array.dtype.kind == "b" and array.size and array.ravel().view(np.uint8).max() > 1:
        raise LatentiaError("an array of truth values has others")
    if not of_objects:
        return array
    if array.dtype.kind != "U" or array.size > _MOST_TEXTS:
        raise LatentiaError("an array of objects is no text")
    return array.astype(object)


def _decoded_texts(texts: Any, shape: Any) -> np.ndarray:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise LatentiaError("an array of texts has others")
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def _record(name: Any, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """A record of this library: fields that the file lacks have their defaults, and those that the class lacks are dropped."""
    cls = _own_class(name)
    if not _is_record(cls):
        raise LatentiaError(f"it has a {cls.__name__} where a record is needed")
    found = {}
    for one in dataclasses.fields(cls):
        if one.name in state and one.name not in _NOT_SAVED:
            found[one.name] = _decode(state[one.name], arrays)
        elif one.default is not dataclasses.MISSING:
            found[one.name] = one.default
        elif one.default_factory is not dataclasses.MISSING:
            found[one.name] = one.default_factory()
        else:
            raise LatentiaError(f"its {cls.__name__} has no {one.name}")
    record: Any = object.__new__(cls)
    vars(record).update(found)
    check_record(record)
    return record


def _vectorizer(value: dict[str, Any], arrays: dict[str, np.ndarray]) -> WordVectorizer:
    """A vectorizer whose words are those of the file; parameters as in `_model`."""
    known = WordVectorizer().get_params()
    vectorizer = WordVectorizer(**{k: _decode(one, arrays) for k, one in value["words"].items() if k in known})
    vectorizer.check_parameters()
    words = value["vocabulary"]
    if words is not None:
        if not isinstance(words, list) or not all(isinstance(w, str) for w in words) or len(set(words)) < len(words):
            raise LatentiaError("the words of a vectorizer are no texts, or one of them is there twice")
        vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
        vectorizer.fixed_vocabulary_ = vectorizer.vocabulary is not None
    return vectorizer


# --- classes ------------------------------------------------------------------------------------------------------


def _public_name(cls: type) -> str:
    """``latentia.family:Class``, which stays what it is where the modules of a family change."""
    family = ".".join(cls.__module__.split(".")[:2])
    public = getattr(importlib.import_module(family), cls.__name__, None) is cls
    return f"{family if public else cls.__module__}:{cls.__qualname__}"


def _own_class(name: Any) -> type:
    """A class of this library by its name: an estimator, or a record of one."""
    found = own_class(name)
    if found is None or not (_is_record(found) or issubclass(found, Estimator)):
        raise LatentiaError(f"it names a class {str(name)[:100]!r} that this version of latentia does not have")
    return found


def _is_record(cls: type) -> bool:
    return cls.__module__.startswith("latentia.") and dataclasses.is_dataclass(cls)
