"""Read arrays from an untrusted ``.npz`` file: what it declares is checked before anything is allocated.

A file holds at most what `write_arrays` would have made of its size: members that are stored take their own size in the file,
and members that are compressed are small together, since large models are not compressed.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from .exceptions import LatentiaError
from .system.compressed import open_archive, read_member

_MOST_COMPRESSED = (
    1 << 28
)  # bytes of all arrays together: compression takes minutes for more, and noise does not shrink
_SLACK = 1 << 20  # bytes of the heads of small arrays
_MODULE = re.compile(r"latentia(\.[a-z_][a-z0-9_]*)+")
_KINDS = "biufUS"
_MOST_DIMENSIONS = 8
_LONGEST_HEAD = 10_000


def write_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as an ``.npz`` file, compressed if they are small."""
    small = sum(array.nbytes for array in arrays.values()) <= _MOST_COMPRESSED
    write: Any = np.savez_compressed if small else np.savez
    write(file, **arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name.

    Damage is a `LatentiaError` without the file's name, or one of the errors of `zipfile` and `zlib`.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise LatentiaError("it is no regular file")
        if file.read(2) != b"PK":
            raise LatentiaError("it is no .npz file")
        with open_archive(path, file) as archive:
            compressed = sum(
                member.file_size for member in archive.infolist() if member.compress_type != zipfile.ZIP_STORED
            )
            if compressed > _MOST_COMPRESSED + _SLACK:
                raise LatentiaError(f"its {status.st_size} bytes declare {compressed} bytes of compressed arrays")
            return {name: read_member_array(archive, member) for name, member in array_members(archive).items()}


def _without_waiting(path: str, flags: int) -> int:
    """Opened without waiting for someone to write into a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def array_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by the names of their arrays."""
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    for member in members.values():
        if not member.filename.endswith(".npy"):
            raise LatentiaError(f"its member {member.filename!r} is not one array of that name")
    return members


def read_member_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Return the array of a member, whose head must declare just the bytes that follow it."""
    content = read_member(archive, member)
    body = io.BytesIO(content)
    version = np.lib.format.read_magic(body)
    read: Any = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    if version not in ((1, 0), (2, 0)):
        raise LatentiaError(f"its member {member.filename!r} has a head of version {version}")
    shape, by_columns, dtype = read(body, max_header_size=_LONGEST_HEAD)
    start, n = body.tell(), prod(shape)
    sizes = all(type(length) is int and length >= 0 for length in shape) and len(shape) <= _MOST_DIMENSIONS
    if (
        not sizes
        or dtype.kind not in _KINDS
        or (n and not dtype.itemsize)
        or n * dtype.itemsize != len(content) - start
    ):
        raise LatentiaError(f"its member {member.filename!r} declares {shape} of type {dtype}, which it does not hold")
    array = np.frombuffer(content, dtype, n, start) if n else np.empty(0, dtype)
    # As it is in memory everywhere else: writable, aligned, in the byte order of the machine.
    return array.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="))


def checked_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> sparse.csr_array:
    """A sparse matrix whose parts agree."""
    rows, columns = shape
    whole = all(type(size) is int and size >= 0 for size in (rows, columns))
    typed = data.dtype.kind in "biuf" and indices.dtype.kind in "iu" and indptr.dtype.kind in "iu"
    if not whole or not typed or any(part.ndim != 1 for part in (data, indices, indptr)) or len(indptr) != rows + 1:
        raise LatentiaError("the parts of a sparse matrix have other shapes or types")
    ends = bool(indptr[0] == 0 and indptr[-1] == len(data) == len(indices) and (indptr[:-1] <= indptr[1:]).all())
    if not ends or (len(indices) and (indices.min() < 0 or indices.max() >= columns)):
        raise LatentiaError("the parts of a sparse matrix do not agree")
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


def own_class(name: Any) -> type | None:
    """A class of this library by its name, ``module:Class``; None where there is none."""
    module, _, own = str(name).partition(":")
    if not _MODULE.fullmatch(module) or "__" in module or len(module) > 100:
        return None
    try:
        found = getattr(importlib.import_module(module), own, None)
    except ImportError:
        return None
    return found if isinstance(found, type) and found.__module__.partition(".")[0] == "latentia" else None


DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, MemoryError, NotImplementedError,
    RuntimeError, SyntaxError, TypeError, ValueError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What the readers of zip, deflate, npy and JSON, and checks of what they read, raise for bytes that make no sense."""
