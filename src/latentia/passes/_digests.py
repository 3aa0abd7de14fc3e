"""Digests: what a checkpoint knows data, parameters and statistics by.

Equal digests must mean equal answers. So functions and classes of the user are told by their code with its constants,
defaults, and what they close over, find in their module, and name of modules of the user; those of installed libraries by
their names, beside which a checkpoint keeps the versions. What cannot be told from another one of its kind is refused.
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
_NO_BODY = frozenset({  # what does nothing, or is put into classes when somebody looks at them
    "__abstractmethods__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dataclass_fields__",
    "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__static_attributes__", "__weakref__", "_abc_impl",
})  # fmt: skip


def digest(value: Any) -> str:
    """Digest of data, parameters, functions, statistics, and tuples, lists and dicts of them.

    Raises
    ------
    LatentiaError
        If something in it cannot be told from another one: an open file, a lock, a generator.
    """
    try:
        return str(_Digest().hash(value))
    except LatentiaError:
        raise
    except Exception as error:  # whatever objects raise that cannot be pickled
        kind = type(value).__name__
        raise LatentiaError(
            f"A {kind} holds what a checkpoint cannot tell from something else ({str(error)[:200]}). Take it out, or fit "
            "without a checkpoint."
        ) from error


class _Digest(NumpyHasher):
    """Hashes values, with functions and classes by what they do."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[int, tuple[int, Any]] = {}  # functions and classes, which may refer to each other

    def save(self, obj: Any) -> None:
        if type(obj) in _PLAIN:
            super().save(obj)
        elif isinstance(obj, (types.FunctionType, type)) and not _is_named(obj):
            if id(obj) in self._known:
                super().save(("again", self._known[id(obj)][0]))
                return
            self._known[id(obj)] = len(self._known), obj
            super().save(_function(obj) if isinstance(obj, types.FunctionType) else _class(obj))
        else:
            super().save(_told(obj))


def _told(value: Any) -> Any:
    """What is hashed in the place of a value."""
    if isinstance(value, (types.FunctionType, type)):
        return ("name", value.__module__, value.__qualname__)
    if hasattr(value, "fingerprint"):
        return ("blocks", value.fingerprint())
    if sparse.issparse(value):
        table = value.tocsr()
        return ("table", table.shape, table.indptr, table.indices, table.data)
    if isinstance(value, np.ndarray):
        mapped = _file_of(value)
        return value if mapped is None else mapped
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(digest(one) for one in value))
    if isinstance(value, types.MethodType):
        return ("method", value.__func__, value.__self__)
    if isinstance(value, functools.partial):
        return ("partial", value.func, value.args, value.keywords)
    if isinstance(getattr(value, "py_func", None), types.FunctionType):  # compiled
        return ("compiled", value.py_func)
    if isinstance(value, types.CodeType):
        return _code(value)
    if isinstance(value, types.MappingProxyType):
        return dict(value)
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__, _source_of(value))
    if isinstance(value, (staticmethod, classmethod)):
        return (type(value).__name__, value.__func__)
    if isinstance(value, property):
        return ("property", value.fget)
    if isinstance(value, functools.cached_property):
        return ("property", value.func)
    return value


def _is_named(value: Any) -> bool:
    """Whether a function or class belongs to a library, and its name says which it is."""
    if "<" in value.__qualname__ or not _is_library(value.__module__):
        return False
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value or isinstance(value, type)


def _is_library(module: str | None) -> bool:
    """Whether a module comes with Python, this library, or another one that is installed."""
    root = (module or "").partition(".")[0]
    if root in sys.stdlib_module_names or root == "latentia":
        return True
    if root == "__main__":  # whose file may be that of a notebook's kernel
        return False
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def _function(function: types.FunctionType) -> Any:
    """A function by its code, its defaults, what it closes over and, outside of libraries, what it names and imports."""
    codes = list(_codes(function.__code__))
    names = sorted({name for code in codes for name in code.co_names})
    held = [_cell(cell) for cell in function.__closure__ or ()]
    used = {} if _is_library(function.__module__) else _used(function, codes)
    return (
        "function", function.__module__, function.__qualname__, function.__code__, function.__defaults__,
        function.__kwdefaults__, vars(function), function.__code__.co_freevars, [_known_by(one, names) for one in held],
        {name: _known_by(value, names) for name, value in used.items()},
    )  # fmt: skip


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code and those of the functions within."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return "empty"


def _used(function: types.FunctionType, codes: Sequence[types.CodeType]) -> dict[str, Any]:
    """The globals that a function looks up, and the modules that it imports, by their names."""
    found, space = {}, function.__globals__
    for code in codes:
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(steps):
            if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"} and step.argval in space:
                found[step.argval] = space[step.argval]
            elif step.opname == "IMPORT_NAME":
                level, wanted = (one.argval for one in steps[i - 2 : i])
                with contextlib.suppress(ImportError):
                    found[f"import {step.argval}"] = __import__(step.argval, space, None, wanted or (), level)
    return found


def _known_by(value: Any, names: Sequence[str], above: tuple[Any, ...] = ()) -> Any:
    """A module of the user by its source, and those of its attributes that have such names; else the value."""
    if not isinstance(value, types.ModuleType) or _is_library(value.__name__) or value in above:
        return value
    own = vars(value)
    return (value, {name: _known_by(own[name], names, (*above, value)) for name in names if name in own})


def _code(code: types.CodeType) -> Any:
    """Instructions with their constants; those of the functions within are constants too."""
    return (
        "code", code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, code.co_flags, getattr(code, "co_exceptiontable", b""),
    )  # fmt: skip


def _class(cls: type) -> Any:
    """A class by its bases and what its body defines."""
    body = {name: value for name, value in vars(cls).items() if name not in _NO_BODY and not isinstance(value, _SLOTS)}
    return ("class", cls.__module__, cls.__qualname__, cls.__bases__, body)


def _source_of(module: types.ModuleType) -> bytes | None:
    """The source of a module of the user."""
    file = getattr(module, "__file__", None)
    if file is None or _is_library(module.__name__):
        return None
    return Path(file).read_bytes()


def _file_of(array: np.ndarray) -> tuple[Any, ...] | None:
    """The place in a binary cache that an array is mapped from, by the checksums of the cache; None for all others."""
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
