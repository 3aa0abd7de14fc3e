"""Manifests of fits: what was fitted, on what, with what, in a record that can be kept, and compared later."""

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
_NOT_COMPARED = "n_jobs", "verbose"  # parameters on which no answer depends


def manifest(model: Any, *data: Any, **named: Any) -> dict[str, Any]:
    """Say what was fitted on what, as a record for JSON.

    Parameters
    ----------
    model : fitted estimator
    *data, **named
        What ``fit`` took, by position or name; it is read once. Without it the record is of the model alone.

    Returns
    -------
    dict
        ``class``, ``parameters``, ``seed``, how a command has read its file (``reading``), versions (``latentia``,
        ``libraries``), ``fit`` (number of components, and the SHA-256 of all that was learned), and ``data``: of every argument
        its shape and the SHA-256 of its content. Arrays, data frames, sparse matrices, files and `Blocks` of the same numbers,
        row by row, have the same one.

    Raises
    ------
    LatentiaError
        If the model is not fitted, or if an argument holds neither numbers nor texts, in tables, lists or graphs.
    """
    if not isinstance(model, Estimator) or not hasattr(model, "evidence_"):
        raise LatentiaError(f"A fitted estimator of latentia is needed, not a {type(model).__name__}.")
    header, arrays = contents(model)
    given, others = convert_collections(type(model).fit, data, named)
    arguments = inspect.signature(model.fit).bind_partial(*given, **others).arguments
    settings = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_COMPARED}
    return {
        "class": header["class"].replace(":", "."),
        "parameters": {name: _plain(value) for name, value in settings.items()},
        "seed": int(model._seed),
        "reading": {name: _plain(value) for name, value in model.reading_.items()},
        "latentia": header["version"],
        "libraries": {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES},
        "fit": {"n_components": _plain(model.n_found), "sha256": _of_answer(header["attributes"], arrays)},
        "data": {name: _described(value, name) for name, value in arguments.items() if value is not None},
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
        What differs, a sentence each; empty where all agree. Other versions of libraries are differences, and may be the reason
        of others: they change last bits.

    Raises
    ------
    LatentiaError
        As in `manifest`, or if the record is none.
    """
    if not isinstance(record, Mapping) or not {"class", "parameters", "fit", "data"} <= record.keys():
        raise LatentiaError("The record is no manifest: give what latentia.manifest returned.")
    now = json.loads(json.dumps(manifest(model, *data, **named)))
    kept = dict(record) if data or named else {**record, "data": {}}
    return list(_differences(json.loads(json.dumps(kept)), now, ""))


def _differences(kept: Any, now: Any, place: str) -> Iterable[str]:
    if isinstance(kept, dict) and isinstance(now, dict):
        for name in {**kept, **now}:
            yield from _differences(kept.get(name), now.get(name), f"{place} {name}".strip())
    elif kept != now:
        yield f"{place}: {json.dumps(kept)} in the manifest, and {json.dumps(now)} here."


def _plain(value: Any) -> Any:
    """A setting for JSON: an array by its digest, an estimator by its settings, and a function by its name."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return _described(value, "A parameter")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {type(value).__name__: _plain(value.get_params(deep=False))}
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _of_answer(attributes: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of attributes and of the arrays that they refer to."""
    found = hashlib.sha256(json.dumps(attributes, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _described(value: Any, name: str) -> Any:
    """Return the shape and the SHA-256 of an argument of ``fit``, or a list of these where it has several parts.

    It is read as ``fit`` reads it; what cannot be read is an error, as two of its kind could not be told apart.
    """
    if isinstance(value, Blocks):
        return [
            _of_tables([n, *_width(shape)], (block[i] for block in value)) for i, (n, *shape) in enumerate(value.shapes)
        ]
    if isinstance(value, (list, tuple)) and any(len(getattr(one, "shape", ())) == 2 for one in value):
        return [_described(one, name) for one in value]
    if is_graph(value):
        graph = as_graph(value)
        matrix = _of_tables(list(graph.adjacency.shape), [graph.adjacency])
        return matrix | {
            "directed": graph.directed,
            "names": None if graph.names is None else _of_texts(map(str, graph.names)),
        }
    if isinstance(value, Mapping) or not (np.isscalar(value) or hasattr(value, "__len__") or hasattr(value, "shape")):
        return _of_values(value, name)
    try:
        texts = texts_of(value)
        table = table_of(value)
        table = table if sparse.issparse(table) else np.asarray(table)
    except ValueError:  # The lists of views, or of labels, have several lengths.
        if hasattr(value, "columns"):
            raise
        return _of_values(value, name)
    if texts is not None:
        return _of_texts(texts)
    if table.dtype.kind == "O" and all(is_missing(cell) or isinstance(cell, Real) for cell in table.flat):
        table = np.array([np.nan if is_missing(cell) else cell for cell in table.flat], float).reshape(table.shape)
    if table.dtype.kind not in "biuf":
        return _of_texts([_text(cell, name) for cell in table.ravel()])
    table = table if table.ndim == 2 else table.reshape(-1, 1)
    return _of_tables(list(table.shape), [table])


def _text(cell: Any, name: str) -> str:
    """Return a cell of a table that is not of numbers alone as a text."""
    if is_missing(cell) or isinstance(cell, (str, bytes, Number, np.generic, date, time, timedelta)):
        return str(cell)
    raise LatentiaError(
        f"{name} holds what no manifest describes: a {type(cell).__name__}. Give numbers, texts, tables or graphs."
    )


def _of_values(value: Any, name: str) -> Any:
    """Return numbers, texts, and lists and dictionaries of these, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _of_values(one, name) for key, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_of_values(one, name) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_text(one, name) for one in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if len(getattr(value, "shape", ())):
        return _described(value, name)
    return value.item() if isinstance(value, np.generic) else _text(value, name)


def _width(shape: list[int]) -> list[int]:
    return shape or [1]


def _of_tables(shape: list[int], tables: Iterable[Any]) -> dict[str, Any]:
    """Of rows in order, by the numbers of their entries that are not zero, the places of these, and their values."""
    parts = [hashlib.sha256() for _ in range(3)]
    for table in tables:
        rows = sparse.csr_array(
            table if sparse.issparse(table) else np.reshape(table, (len(table), shape[1])), dtype=float
        )
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for part, numbers in zip(parts, (np.diff(rows.indptr), rows.indices, rows.data), strict=True):
            part.update(numbers.astype("<f8" if numbers.dtype.kind == "f" else "<i8").tobytes())
    whole = hashlib.sha256(str([int(n) for n in shape]).encode() + b"".join(part.digest() for part in parts))
    return {"shape": [int(n) for n in shape], "sha256": whole.hexdigest()}


def _of_texts(texts: Iterable[str]) -> dict[str, Any]:
    found, n = hashlib.sha256(), 0
    for text in texts:
        data, n = text.encode("utf-8", "surrogatepass"), n + 1
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return {"shape": [n], "sha256": found.hexdigest()}
