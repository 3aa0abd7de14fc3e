"""Save and load fitted models without pickle: arrays in an ``.npz`` file, everything else in a JSON header.

Loading builds objects of this library's own classes from plain values; it never runs code from the file.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .exceptions import LatentiaError

__all__ = ["load", "save"]

_FORMAT = 2
_HEADER = "header"
_LARGE = 1 << 28


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
    """
    from . import __version__

    target = Path(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    arrays: dict[str, np.ndarray] = {}
    header = {"format": _FORMAT, "version": __version__, "model": _encode(model, arrays, type(model).__name__)}
    arrays[_HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    # Compression takes minutes for gigabytes, and noise in the last digits does not shrink.
    write: Any = np.savez if sum(a.nbytes for a in arrays.values()) > _LARGE else np.savez_compressed
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            write(file, **arrays)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise LatentiaError(f"{target}: cannot be written ({error.strerror}).") from error
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote."""
    source = Path(path)
    source = source if source.exists() or source.suffix == ".npz" else source.with_name(source.name + ".npz")
    try:
        with np.load(source, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(bytes(arrays[_HEADER]))
    except OSError as error:
        raise LatentiaError(f"{source}: cannot be read ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise LatentiaError(f"{source}: not a model saved by latentia, or damaged ({error}).") from error
    if not isinstance(header, dict):
        raise LatentiaError(f"{source}: not a model saved by latentia.")
    if header.get("format") != _FORMAT:
        raise LatentiaError(
            f"{source}: written in format {header.get('format')} by latentia {header.get('version')}; this version reads "
            f"format {_FORMAT}. Fit the model again or use that version."
        )
    try:
        return _decode(header["model"], arrays)
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        raise LatentiaError(f"{source}: the file is damaged or of another version ({error}).") from error


def _encode(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    """A JSON value for ``value``; its arrays go to ``arrays`` under names that begin with ``name``."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
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
        return {"dict": [[_encode(k, arrays, name), _encode(v, arrays, f"{name}.{i}")] for i, (k, v) in pairs]}
    if _is_own(type(value)):
        state = {key: item for key, item in vars(value).items() if key != "_estimator"}
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        return {"class": kind, "state": {key: _encode(item, arrays, f"{name}.{key}") for key, item in state.items()}}
    raise LatentiaError(f"{name} is a {type(value).__name__}, which cannot be saved.")


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = arrays[value["array"]]
        return array.astype(object) if value["object"] else array
    if "csr" in value:
        parts = [arrays[f"{value['csr']}.{key}"] for key in ("data", "indices", "indptr")]
        return sparse.csr_array(tuple(parts), shape=value["shape"])
    if "list" in value:
        return [_decode(item, arrays) for item in value["list"]]
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if "range" in value:
        return range(*value["range"])
    if "dict" in value:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in value["dict"]}
    return _rebuild(value["class"], {key: _decode(item, arrays) for key, item in value["state"].items()})


def _rebuild(kind: str, state: dict[str, Any]) -> Any:
    module, _, name = kind.partition(":")
    cls: Any = None
    if module.startswith("latentia."):
        cls = getattr(importlib.import_module(module), name, None)
    if not isinstance(cls, type) or not _is_own(cls):
        raise LatentiaError(f"The file names a class {kind!r} that this version of latentia does not have.")
    instance: Any = object.__new__(cls)
    vars(instance).update({"_estimator": None} | state if name == "Evidence" else state)
    if hasattr(instance, "evidence_"):
        instance.evidence_.bind(instance)
    return instance


def _is_own(cls: type) -> bool:
    return cls.__module__.startswith("latentia.") and (dataclasses.is_dataclass(cls) or issubclass(cls, BaseEstimator))
