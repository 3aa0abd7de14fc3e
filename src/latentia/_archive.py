"""Reader of arrays in an untrusted ``.npz`` file: declared sizes are checked before memory is allocated.

Stored members take their own size in the file, and compressed members are small together, since `write_arrays` does not
compress large models.
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

_MAX_COMPRESSED_BYTES = 1 << 28  # larger models are not compressed: it takes minutes, and noise does not shrink
_HEADER_BYTES = 1 << 20  # allowance for the headers of small arrays
_MODULE = re.compile(r"latentia(\.[a-z_][a-z0-9_]*)+")
_KINDS = "biufUS"
_MAX_DIMENSIONS = 8
_MAX_HEADER_LENGTH = 10_000


def write_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as an ``.npz`` file, compressed if they are small."""
    small = sum(array.nbytes for array in arrays.values()) <= _MAX_COMPRESSED_BYTES
    write: Any = np.savez_compressed if small else np.savez
    write(file, **arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a file by name.

    Damage raises a `LatentiaError` without the file's name, or an error of `zipfile` or `zlib`.
    """
    with open(path, "rb", opener=_open_nonblocking) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise LatentiaError("it is not a regular file")
        if file.read(2) != b"PK":
            raise LatentiaError("it is not an .npz file")
        with open_archive(path, file) as archive:
            compressed = sum(
                member.file_size for member in archive.infolist() if member.compress_type != zipfile.ZIP_STORED
            )
            if compressed > _MAX_COMPRESSED_BYTES + _HEADER_BYTES:
                raise LatentiaError(f"its {status.st_size} bytes declare {compressed} bytes of compressed arrays")
            return {name: read_member_array(archive, member) for name, member in array_members(archive).items()}


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, if it is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def array_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive by the names of their arrays."""
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    for member in members.values():
        if not member.filename.endswith(".npy"):
            raise LatentiaError(f"its member {member.filename!r} is not one array of that name")
    return members


def read_member_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Return the array of a member, whose header must declare exactly the bytes that follow it."""
    content = read_member(archive, member)
    body = io.BytesIO(content)
    version = np.lib.format.read_magic(body)
    read_header: Any = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    if version not in ((1, 0), (2, 0)):
        raise LatentiaError(f"its member {member.filename!r} has a header of version {version}")
    shape, fortran_order, dtype = read_header(body, max_header_size=_MAX_HEADER_LENGTH)
    start, n = body.tell(), prod(shape)
    has_valid_shape = all(type(length) is int and length >= 0 for length in shape) and len(shape) <= _MAX_DIMENSIONS
    if (
        not has_valid_shape
        or dtype.kind not in _KINDS
        or (n and not dtype.itemsize)
        or n * dtype.itemsize != len(content) - start
    ):
        raise LatentiaError(f"its member {member.filename!r} declares {shape} of type {dtype}, but holds other data")
    array = np.frombuffer(content, dtype, n, start) if n else np.empty(0, dtype)
    # The array becomes writable, aligned and native in byte order.
    return array.reshape(shape, order="F" if fortran_order else "C").astype(dtype.newbyteorder("="))


def build_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> sparse.csr_array:
    """Build a sparse matrix after checking that its parts agree."""
    rows, columns = shape
    has_valid_shape = all(type(size) is int and size >= 0 for size in (rows, columns))
    has_valid_types = data.dtype.kind in "biuf" and indices.dtype.kind in "iu" and indptr.dtype.kind in "iu"
    if (
        not has_valid_shape
        or not has_valid_types
        or any(part.ndim != 1 for part in (data, indices, indptr))
        or len(indptr) != rows + 1
    ):
        raise LatentiaError("the parts of a sparse matrix have other shapes or types")
    has_valid_pointers = bool(
        indptr[0] == 0 and indptr[-1] == len(data) == len(indices) and (indptr[:-1] <= indptr[1:]).all()
    )
    if not has_valid_pointers or (len(indices) and (indices.min() < 0 or indices.max() >= columns)):
        raise LatentiaError("the parts of a sparse matrix do not agree")
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


def find_class(name: Any) -> type | None:
    """Return a class of this library by its name, ``module:Class``; None if it does not exist."""
    module, _, class_name = str(name).partition(":")
    if not _MODULE.fullmatch(module) or "__" in module or len(module) > 100:
        return None
    try:
        candidate = getattr(importlib.import_module(module), class_name, None)
    except ImportError:
        return None
    return candidate if isinstance(candidate, type) and candidate.__module__.partition(".")[0] == "latentia" else None


DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, MemoryError, NotImplementedError,
    RuntimeError, SyntaxError, TypeError, ValueError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Errors that readers of zip, deflate, npy and JSON, and our checks, raise for damaged bytes."""
