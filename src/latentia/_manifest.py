"""Manifests of fits: records of model, data, parameters and versions, for later comparison."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from importlib.metadata import version
from numbers import Number, Real
from typing import Any

import numpy as np
from scipy import sparse

from ._entries import is_missing
from ._frames import table_of
from .exceptions import LatentiaError
from .fitting.base import Estimator
from .moments.graphs import as_graph, is_graph
from .passes import Blocks
from .passes.dask import convert_collections
from .persistence import contents
from .words import texts_of

_LIBRARIES = "numpy", "scipy", "scikit-learn", "numba"
_IGNORED_PARAMETERS = "n_jobs", "verbose"  # parameters that do not change the answer


def manifest(model: Any, *data: Any, **named: Any) -> dict[str, Any]:
    """Describe a fit and its data in a record for JSON.

    Parameters
    ----------
    model : fitted estimator
    *data, **named
        The arguments of ``fit``, by position or name; they are read once. Without them the record describes the model only.

    Returns
    -------
    dict
        ``class``, ``parameters``, ``seed``, options with which a command read its file (``reading``), versions (``latentia``,
        ``libraries``), ``fit`` (number of components, and the SHA-256 of everything learned), and ``data``: shape and SHA-256
        of every argument. Arrays, data frames, sparse matrices, files and `Blocks` of equal rows have equal hashes.

    Raises
    ------
    LatentiaError
        If the model is not fitted, or if an argument is not made of numbers or texts, in tables, lists or graphs.
    """
    if not isinstance(model, Estimator) or not hasattr(model, "evidence_"):
        raise LatentiaError(f"Expected a fitted estimator of latentia, found a {type(model).__name__}.")
    header, arrays = contents(model)
    positional, keywords = convert_collections(type(model).fit, data, named)
    arguments = inspect.signature(model.fit).bind_partial(*positional, **keywords).arguments
    settings = {name: value for name, value in model.get_params(deep=False).items() if name not in _IGNORED_PARAMETERS}
    return {
        "class": header["class"].replace(":", "."),
        "parameters": {name: _convert_setting(value) for name, value in settings.items()},
        "seed": int(model._seed),
        "reading": {name: _convert_setting(value) for name, value in model.reading_.items()},
        "latentia": header["version"],
        "libraries": {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES},
        "fit": {"n_components": _convert_setting(model.n_found), "sha256": _hash_fit(header["attributes"], arrays)},
        "data": {name: _describe_argument(value, name) for name, value in arguments.items() if value is not None},
    }


def verify(record: Mapping[str, Any], model: Any, *data: Any, **named: Any) -> list[str]:
    """Compare a manifest with a model and its data.

    Parameters
    ----------
    record : dict
        From `manifest`, or read from JSON.
    model : fitted estimator
    *data, **named
        As in `manifest`. Without them the data are not compared.

    Returns
    -------
    list of str
        One sentence per difference; empty if all agree. Other versions of libraries count as differences and can cause others,
        since they change last bits.

    Raises
    ------
    LatentiaError
        As in `manifest`, or if the record is not a manifest.
    """
    if not isinstance(record, Mapping) or not {"class", "parameters", "fit", "data"} <= record.keys():
        raise LatentiaError("The record is not a manifest. Give the result of latentia.manifest.")
    current = json.loads(json.dumps(manifest(model, *data, **named)))
    expected = dict(record) if data or named else {**record, "data": {}}
    return list(_differences(json.loads(json.dumps(expected)), current, ""))


def _differences(expected: Any, current: Any, place: str) -> Iterable[str]:
    if isinstance(expected, dict) and isinstance(current, dict):
        for name in {**expected, **current}:
            yield from _differences(expected.get(name), current.get(name), f"{place} {name}".strip())
    elif expected != current:
        yield f"{place}: {json.dumps(expected)} in the manifest, and {json.dumps(current)} here."


def _convert_setting(value: Any) -> Any:
    """Convert a setting for JSON: an array to its digest, an estimator to its settings, a function to its name."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): _convert_setting(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_convert_setting(item) for item in value]
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return _describe_argument(value, "A parameter")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {type(value).__name__: _convert_setting(value.get_params(deep=False))}
    definition = value if hasattr(value, "__qualname__") else type(value)
    return f"{definition.__module__}.{definition.__qualname__}"


def _hash_fit(attributes: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 of attributes and of the arrays that they refer to."""
    digest = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _describe_argument(value: Any, name: str) -> Any:
    """Return shape and SHA-256 of an argument of ``fit``, or a list of them if it has several parts.

    It is read as ``fit`` reads it; unreadable arguments raise an error, since two of them could not be distinguished.
    """
    if isinstance(value, Blocks):
        return [
            _hash_tables([n, *_width(shape)], (block[i] for block in value))
            for i, (n, *shape) in enumerate(value.shapes)
        ]
    if isinstance(value, (list, tuple)) and any(len(getattr(item, "shape", ())) == 2 for item in value):
        return [_describe_argument(item, name) for item in value]
    if is_graph(value):
        graph = as_graph(value)
        matrix = _hash_tables(list(graph.adjacency.shape), [graph.adjacency])
        return matrix | {
            "directed": graph.directed,
            "names": None if graph.names is None else _hash_texts(map(str, graph.names)),
        }
    if isinstance(value, Mapping) or not (np.isscalar(value) or hasattr(value, "__len__") or hasattr(value, "shape")):
        return _convert_values(value, name)
    try:
        texts = texts_of(value)
        table = table_of(value)
        table = table if sparse.issparse(table) else np.asarray(table)
    except ValueError:  # lists of views, or of labels, of different lengths
        if hasattr(value, "columns"):
            raise
        return _convert_values(value, name)
    if texts is not None:
        return _hash_texts(texts)
    if table.dtype.kind == "O" and all(is_missing(cell) or isinstance(cell, Real) for cell in table.flat):
        table = np.array([np.nan if is_missing(cell) else cell for cell in table.flat], float).reshape(table.shape)
    if table.dtype.kind not in "biuf":
        return _hash_texts([_text(cell, name) for cell in table.ravel()])
    table = table if table.ndim == 2 else table.reshape(-1, 1)
    return _hash_tables(list(table.shape), [table])


def _text(cell: Any, name: str) -> str:
    """Return a cell of a mixed table as a text."""
    if is_missing(cell) or isinstance(cell, (str, bytes, Number, np.generic, date, time, timedelta)):
        return str(cell)
    raise LatentiaError(f"{name}: expected numbers, texts, tables or graphs; found a {type(cell).__name__}.")


def _convert_values(value: Any, name: str) -> Any:
    """Convert numbers, texts, and lists and dictionaries of these, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _convert_values(item, name) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_convert_values(item, name) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_text(item, name) for item in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if len(getattr(value, "shape", ())):
        return _describe_argument(value, name)
    return value.item() if isinstance(value, np.generic) else _text(value, name)


def _width(shape: list[int]) -> list[int]:
    return shape or [1]


def _hash_tables(shape: list[int], tables: Iterable[Any]) -> dict[str, Any]:
    """Hash rows in order: numbers of nonzero entries, their columns, and their values."""
    parts = [hashlib.sha256() for _ in range(3)]
    for table in tables:
        rows = sparse.csr_array(
            table if sparse.issparse(table) else np.reshape(table, (len(table), shape[1])), dtype=float
        )
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for part, numbers in zip(parts, (np.diff(rows.indptr), rows.indices, rows.data), strict=True):
            part.update(numbers.astype("<f8" if numbers.dtype.kind == "f" else "<i8").tobytes())
    digest = hashlib.sha256(str([int(n) for n in shape]).encode() + b"".join(part.digest() for part in parts))
    return {"shape": [int(n) for n in shape], "sha256": digest.hexdigest()}


def _hash_texts(texts: Iterable[str]) -> dict[str, Any]:
    digest, n = hashlib.sha256(), 0
    for text in texts:
        data, n = text.encode("utf-8", "surrogatepass"), n + 1
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return {"shape": [n], "sha256": digest.hexdigest()}
