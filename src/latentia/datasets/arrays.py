"""Tables in files of NumPy: ``.npy``, ``.npz``, and what ``scipy.sparse.save_npz`` writes."""

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
_MAGIC = len(_NPY)
_SPARSE = {"format", "data", "shape"}  # These are in a file of `scipy.sparse.save_npz`.
_TABLE, _CUBE = 2, 3  # dimensions


@dataclass(frozen=True)
class ArrayTable:
    """A table, and the image whose pixels its rows are.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n_rows, d)
    name : str
        Of the array in a ``.npz`` file; empty otherwise.
    image : (int, int) or None
        Height and width, where the array has three dimensions: an image of d bands.
    """

    values: Any
    name: str = ""
    image: tuple[int, int] | None = None


def is_array(path: str | os.PathLike[str]) -> bool:
    """Whether the name says that the file holds arrays of NumPy.

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
    """Read an array of two dimensions, or of three: then it is an image of several bands, and its pixels become rows.

    Parameters
    ----------
    path : path
        A ``.npy`` or ``.npz`` file, also one of `scipy.sparse.save_npz`.
    name : str, optional
        Of the array in a ``.npz`` file; by default its largest one.
    image : (int, int), optional
        Height and width of the image whose pixels the rows are; their product is the number of rows.
    shape : (int, int), optional
        Height and width of the pictures that the rows are; their product is the number of columns.

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
    found = _read(Path(path), name)
    source = Path(path).name
    if found.image is not None and image is not None and tuple(image) != found.image:
        raise LatentiaError(
            f"holds an image of {image_words(found.image)}; leave it out.", source=source,
            parameter="image", value=f"{image[1]}x{image[0]}",
        )  # fmt: skip
    check_pixels(found.values, source, image=image, shape=shape)
    return found


def _read(target: Path, name: str | None) -> ArrayTable:
    with readable(target):
        if not target.is_file():
            raise LatentiaError(
                f"{'a folder, and a file is needed' if target.is_dir() else 'no such file'}.", source=target
            )
        try:
            own, found = _loaded(target, name)
        except LatentiaError as error:
            if error.source is not None:
                raise
            raise LatentiaError(f"not a readable file of NumPy ({error}).", source=target) from error
        except Exception as error:  # whatever NumPy meets in a damaged file
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise LatentiaError(f"not a readable file of NumPy ({error}).", source=target) from error
    if sparse.issparse(found):
        return ArrayTable(sparse.csr_array(found, dtype=np.float64))
    if found.ndim not in (_TABLE, _CUBE) or found.dtype.kind not in _KINDS or not found.size:
        what = f"{target}{f', array {own!r}' if own else ''}"
        raise LatentiaError(
            f"{what}: shape {found.shape} and type {found.dtype}, and numbers of shape (rows, columns) or (height, width, "
            "bands) are needed."
        )
    values = np.ascontiguousarray(found.reshape(-1, found.shape[-1]), dtype=np.float64)
    return ArrayTable(values, own, (found.shape[0], found.shape[1]) if found.ndim == _CUBE else None)


def _loaded(path: Path, name: str | None) -> tuple[str, Any]:
    """Return name and content of the array that is asked for, or of the largest table."""
    with open(path, "rb") as file:
        start = file.read(_MAGIC)
    if start == _NPY:
        if name is not None:
            raise LatentiaError(f"a .npy file holds one array, which has no name; leave {name!r} out.", source=path)
        return "", np.load(path, allow_pickle=False)
    if not start.startswith(_ZIP):
        raise LatentiaError("not a readable file of NumPy (it begins like neither .npy nor .npz).", source=path)
    with open_archive(path) as archive:
        members = array_members(archive)
        if set(members) >= _SPARSE:
            return "", _checked(sparse.load_npz(path))
        arrays = {key: read_member_array(archive, member) for key, member in members.items() if name in (None, key)}
    if name is not None and name not in arrays:
        raise LatentiaError(f"no array {name!r}. There are {', '.join(members)}.", source=path)
    if not arrays:
        raise LatentiaError("there are no arrays in the file.", source=path)
    tables = [key for key, array in arrays.items() if array.ndim in (_TABLE, _CUBE) and array.dtype.kind in _KINDS]
    largest = max(tables or arrays, key=lambda key: arrays[key].size)
    return largest, arrays[largest]


def _checked(table: Any) -> Any:
    check = getattr(table, "check_format", None)
    if check is not None:
        check(full_check=True)  # compiled code trusts the numbers of columns
    return table
