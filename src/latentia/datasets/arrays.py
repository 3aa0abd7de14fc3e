"""Tables in NumPy files: ``.npy``, ``.npz``, and those of ``scipy.sparse.save_npz``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._archive import array_members, read_member_array
from ..exceptions import LatentiaError
from ..passes.formats import readable
from ..system.compressed import open_archive
from .images import check_pixels, image_words

__all__ = ["ArrayTable", "is_array", "read_array"]

_SUFFIXES = (".npy", ".npz")
_KINDS = "biuf"
_NPY, _ZIP = b"\x93NUMPY", b"PK"
_MAGIC_SIZE = len(_NPY)
_SPARSE = {"format", "data", "shape"}  # arrays in a file of `scipy.sparse.save_npz`
_TABLE, _CUBE = 2, 3  # dimensions


@dataclass(frozen=True)
class ArrayTable:
    """Table of numbers, possibly of the pixels of an image.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n_rows, d)
    name : str
        Name of the array in a ``.npz`` file; empty otherwise.
    image : (int, int) or None
        Height and width if the array has three dimensions: an image of d bands.
    """

    values: Any
    name: str = ""
    image: tuple[int, int] | None = None


def is_array(path: str | os.PathLike[str]) -> bool:
    """Return True if the name is that of a NumPy file.

    Parameters
    ----------
    path : str or path
        The file or folder.

    Returns
    -------
    bool
    """
    return Path(path).name.lower().endswith(_SUFFIXES)


def read_array(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    image: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
) -> ArrayTable:
    """Read an array of two dimensions, or of three: an image of several bands, whose pixels become rows.

    Parameters
    ----------
    path : path
        A ``.npy`` or ``.npz`` file, also one of `scipy.sparse.save_npz`.
    name : str, optional
        Name of the array in a ``.npz`` file; by default the largest array.
    image : (int, int), optional
        Height and width of an image with a row for each pixel; their product is the number of rows.
    shape : (int, int), optional
        Height and width of pictures, one a row; their product is the number of columns.

    Returns
    -------
    ArrayTable
        Values, shape (n_rows, d). Pixels are in the order in which an image is read: row by row.

    Raises
    ------
    LatentiaError
        If the file or the array cannot be read, is no table of numbers, or has another number of rows or columns.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from latentia.datasets.arrays import read_array
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/cube.npy", np.zeros((4, 5, 3)))
    ...     found = read_array(f"{folder}/cube.npy")
    >>> found.values.shape, found.image
    ((20, 3), (4, 5))
    """
    table = _read(Path(path), name)
    source = Path(path).name
    if table.image is not None and image is not None and tuple(image) != table.image:
        raise LatentiaError(
            f"holds an image of {image_words(table.image)}; leave it out.", source=source,
            parameter="image", value=f"{image[1]}x{image[0]}",
        )  # fmt: skip
    check_pixels(table.values, source, image=image, shape=shape)
    return table


def _read(target: Path, name: str | None) -> ArrayTable:
    with readable(target):
        if not target.is_file():
            raise LatentiaError(
                f"{'expected a file, found a folder' if target.is_dir() else 'no such file'}.", source=target
            )
        try:
            array_name, array = _load(target, name)
        except LatentiaError as error:
            if error.source is not None:
                raise
            raise LatentiaError(f"not a readable file of NumPy ({error}).", source=target) from error
        except Exception as error:  # whatever NumPy meets in a damaged file
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise LatentiaError(f"not a readable file of NumPy ({error}).", source=target) from error
    if sparse.issparse(array):
        return ArrayTable(sparse.csr_array(array, dtype=np.float64))
    if array.ndim not in (_TABLE, _CUBE) or array.dtype.kind not in _KINDS or not array.size:
        description = f"{target}{f', array {array_name!r}' if array_name else ''}"
        raise LatentiaError(
            f"{description}: expected numbers of shape (rows, columns) or (height, width, bands), found shape {array.shape} "
            f"and dtype {array.dtype}."
        )
    values = np.ascontiguousarray(array.reshape(-1, array.shape[-1]), dtype=np.float64)
    return ArrayTable(values, array_name, (array.shape[0], array.shape[1]) if array.ndim == _CUBE else None)


def _load(path: Path, name: str | None) -> tuple[str, Any]:
    """Return name and content of the requested array, or of the largest table."""
    with open(path, "rb") as file:
        start = file.read(_MAGIC_SIZE)
    if start == _NPY:
        if name is not None:
            raise LatentiaError(f"a .npy file holds one array, which has no name; leave {name!r} out.", source=path)
        return "", np.load(path, allow_pickle=False)
    if not start.startswith(_ZIP):
        raise LatentiaError("not a readable file of NumPy (it begins like neither .npy nor .npz).", source=path)
    with open_archive(path) as archive:
        members = array_members(archive)
        if set(members) >= _SPARSE:
            return "", _check_indices(sparse.load_npz(path))
        arrays = {key: read_member_array(archive, member) for key, member in members.items() if name in (None, key)}
    if name is not None and name not in arrays:
        raise LatentiaError(f"no array {name!r}. There are {', '.join(members)}.", source=path)
    if not arrays:
        raise LatentiaError("expected arrays, found none in the file.", source=path)
    tables = [key for key, array in arrays.items() if array.ndim in (_TABLE, _CUBE) and array.dtype.kind in _KINDS]
    largest = max(tables or arrays, key=lambda key: arrays[key].size)
    return largest, arrays[largest]


def _check_indices(table: Any) -> Any:
    check = getattr(table, "check_format", None)
    if check is not None:
        check(full_check=True)  # compiled code relies on valid indices
    return table
