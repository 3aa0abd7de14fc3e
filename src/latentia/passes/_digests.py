"""Digests of data, parameters and statistics, by which a checkpoint recognises them.

Equal digests must mean equal answers. So the digest of a user's function or class covers its code with constants and defaults,
the variables that it closes over, and the globals and the user's modules that it refers to. Functions and classes of installed
libraries are identified by their names; the checkpoint keeps the libraries' versions. Objects without a distinguishing
content, such as open files, are refused.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib.hashing import NumpyHasher
from scipy import sparse

from ..exceptions import LatentiaError

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, list, tuple, dict})
_SLOTS = types.GetSetDescriptorType, types.MemberDescriptorType
_IGNORED_ATTRIBUTES = frozenset({  # attributes that do nothing, or that Python adds to classes later
    "__abstractmethods__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dataclass_fields__",
    "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__static_attributes__", "__weakref__", "_abc_impl",
})  # fmt: skip


def digest(value: Any) -> str:
    """Return the digest of data, parameters, functions, statistics, and tuples, lists and dicts of them.

    Raises
    ------
    LatentiaError
        If it holds an object whose content cannot be compared: an open file, a lock, a generator.
    """
    try:
        return str(_Digest().hash(value))
    except LatentiaError:
        raise
    except Exception as error:  # objects that cannot be pickled raise anything
        kind = type(value).__name__
        raise LatentiaError(
            f"A {kind} holds an object that a checkpoint cannot compare ({str(error)[:200]}). Take it out, or fit without a "
            "checkpoint."
        ) from error


class _Digest(NumpyHasher):
    """Hasher of values in which functions and classes count by what they do."""

    def __init__(self) -> None:
        super().__init__()
        self._visited: dict[int, tuple[int, Any]] = {}  # functions and classes, which may refer to each other

    def save(self, obj: Any) -> None:
        try:
            self._save_content(obj)
        except TypeError as error:  # Joblib takes it for keys without an order, and leaves the rest of the object out.
            raise ValueError(str(error)) from error

    def _save_content(self, obj: Any) -> None:
        if type(obj) in _PLAIN:
            super().save(obj)
        elif isinstance(obj, (types.FunctionType, type)) and not _is_named(obj):
            if id(obj) in self._visited:
                super().save(("again", self._visited[id(obj)][0]))
                return
            self._visited[id(obj)] = len(self._visited), obj
            super().save(_describe_function(obj) if isinstance(obj, types.FunctionType) else _describe_class(obj))
        else:
            super().save(_represent_content(obj))


def _represent_content(value: Any) -> Any:
    """Return the content to be hashed in place of a value."""
    if isinstance(value, (types.FunctionType, type)):
        return ("name", value.__module__, value.__qualname__)
    if hasattr(value, "fingerprint"):
        return ("blocks", value.fingerprint())
    if sparse.issparse(value):
        table = value.tocsr()
        return ("table", table.shape, table.indptr, table.indices, table.data)
    if isinstance(value, np.ndarray):
        mapped = _locate_in_cache(value)
        return value if mapped is None else mapped
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(digest(item) for item in value))
    if isinstance(value, types.MethodType):
        return ("method", value.__func__, value.__self__)
    if isinstance(value, functools.partial):
        return ("partial", value.func, value.args, value.keywords)
    if isinstance(getattr(value, "py_func", None), types.FunctionType):  # compiled
        return ("compiled", value.py_func)
    if isinstance(value, types.CodeType):
        return _describe_code(value)
    if isinstance(value, types.MappingProxyType):
        return dict(value)
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__, _read_source(value))
    if isinstance(value, (staticmethod, classmethod)):
        return (type(value).__name__, value.__func__)
    if isinstance(value, property):
        return ("property", value.fget)
    if isinstance(value, functools.cached_property):
        return ("property", value.func)
    return value


def _is_named(value: Any) -> bool:
    """Return True if a function or class belongs to a library, so that its name identifies it."""
    if "<" in value.__qualname__ or not _is_library(value.__module__):
        return False
    definition: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        definition = getattr(definition, name, None)
    return definition is value or isinstance(value, type)


def _is_library(module: str | None) -> bool:
    """Return True for a module of Python, of this library, or of an installed one."""
    root = (module or "").partition(".")[0]
    if root in sys.stdlib_module_names or root == "latentia":
        return True
    if root == "__main__":  # its file may be that of a notebook's kernel
        return False
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def _describe_function(function: types.FunctionType) -> Any:
    """Describe a function by its code, defaults, closure and, outside libraries, the globals and imports that it uses."""
    codes = list(_iterate_codes(function.__code__))
    names = sorted({name for code in codes for name in code.co_names})
    closure_values = [_read_cell(cell) for cell in function.__closure__ or ()]
    used_globals = {} if _is_library(function.__module__) else _find_used_globals(function, codes)
    return (
        "function", function.__module__, function.__qualname__, function.__code__, function.__defaults__,
        function.__kwdefaults__, vars(function), function.__code__.co_freevars,
        [_describe_module(cell, names) for cell in closure_values],
        {name: _describe_module(value, names) for name, value in used_globals.items()},
    )  # fmt: skip


def _iterate_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of the functions within."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _iterate_codes(constant)


def _read_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return "empty"


def _find_used_globals(function: types.FunctionType, codes: Sequence[types.CodeType]) -> dict[str, Any]:
    """Return the globals that a function looks up, and the modules that it imports, by their names."""
    values, namespace = {}, function.__globals__
    for code in codes:
        instructions = [current for current in dis.get_instructions(code) if current.opname != "EXTENDED_ARG"]
        for i, current in enumerate(instructions):
            if current.opname in {"LOAD_GLOBAL", "LOAD_NAME"} and current.argval in namespace:
                values[current.argval] = namespace[current.argval]
            elif current.opname == "IMPORT_NAME":
                level, fromlist = (instruction.argval for instruction in instructions[i - 2 : i])
                with contextlib.suppress(ImportError):
                    values[f"import {current.argval}"] = __import__(
                        current.argval, namespace, None, fromlist or (), level
                    )
    return values


def _describe_module(value: Any, names: Sequence[str], parents: tuple[Any, ...] = ()) -> Any:
    """Describe a user's module by its source and its attributes of these names; return any other value as it is."""
    if not isinstance(value, types.ModuleType) or _is_library(value.__name__) or value in parents:
        return value
    attributes = vars(value)
    return (
        value,
        {name: _describe_module(attributes[name], names, (*parents, value)) for name in names if name in attributes},
    )


def _describe_code(code: types.CodeType) -> Any:
    """Describe a code object by its instructions and constants; functions within are among the constants."""
    return (
        "code", code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, code.co_flags, getattr(code, "co_exceptiontable", b""),
    )  # fmt: skip


def _describe_class(cls: type) -> Any:
    """Describe a class by its bases and the content of its body."""
    body = {
        name: value
        for name, value in vars(cls).items()
        if name not in _IGNORED_ATTRIBUTES and not isinstance(value, _SLOTS)
    }
    return ("class", cls.__module__, cls.__qualname__, cls.__bases__, body)


def _read_source(module: types.ModuleType) -> bytes | None:
    """Return the source of a user's module; None for a library."""
    file = getattr(module, "__file__", None)
    if file is None or _is_library(module.__name__):
        return None
    return Path(file).read_bytes()


def _locate_in_cache(array: np.ndarray) -> tuple[Any, ...] | None:
    """Return the place in a binary cache that an array is mapped from, with its checksum; None for other arrays."""
    from .cache import read_header

    base: Any = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    if not isinstance(base, np.memmap) or base.filename is None:
        return None
    file = Path(base.filename)
    header = read_header(file.parent)
    number, _, name = file.stem.partition("-")
    if header is None or not number.isdigit():
        return None
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    checksum = header["tables"][int(number)].get("checksums", {}).get(name)
    return ("mapped", checksum, str(array.dtype), array.shape, array.strides, offset)
