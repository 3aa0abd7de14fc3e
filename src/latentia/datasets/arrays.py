"""Tables in files of NumPy: ``.npy``, ``.npz``, and what ``scipy.sparse.save_npz`` writes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..passes.formats import readable

__all__ = ["ArrayTable", "is_array", "read_array"]

_SUFFIXES = (".npy", ".npz")
_KINDS = "biuf"
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
    """Whether the name says that the file holds arrays of NumPy."""
    return Path(path).name.lower().endswith(_SUFFIXES)


def read_array(path: str | os.PathLike[str], name: str | None = None) -> ArrayTable:
    """Read an array of two dimensions, or of three: then it is an image of several bands, and its pixels become rows.

    Parameters
    ----------
    path : path
    name : str, optional
        Of the array in a ``.npz`` file; by default its largest one.

    Returns
    -------
    ArrayTable
        Pixels are in the order in which an image is read: row by row.
    """
    target = Path(path)
    with readable(target):
        if not target.is_file():
            raise LatentiaError(f"{target}: {'a folder, and a file is needed' if target.is_dir() else 'no such file'}.")
        try:
            own, found = _loaded(target, name)
        except LatentiaError:
            raise
        except Exception as error:  # whatever NumPy meets in a damaged file
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise LatentiaError(f"{target}: not a readable file of NumPy ({error}).") from error
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
    """Name and content of the array that is asked for."""
    loaded = np.load(path, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        if name is not None:
            raise LatentiaError(f"{path}: a .npy file holds one array, which has no name; leave {name!r} out.")
        return "", loaded
    with loaded:
        if {"format", "data", "shape"} <= set(loaded.files):
            return "", _checked(sparse.load_npz(path))
        arrays = {key: loaded[key] for key in loaded.files if name in (None, key)}
        listed = ", ".join(loaded.files)
    if name is not None and name not in arrays:
        raise LatentiaError(f"{path}: no array {name!r}. There are {listed}.")
    if not arrays:
        raise LatentiaError(f"{path}: there are no arrays in the file.")
    tables = [key for key, one in arrays.items() if one.ndim in (_TABLE, _CUBE) and one.dtype.kind in _KINDS]
    own = max(tables or arrays, key=lambda key: arrays[key].size)
    return own, arrays[own]


def _checked(table: Any) -> Any:
    check = getattr(table, "check_format", None)
    if check is not None:
        check(full_check=True)  # compiled code trusts the numbers of columns
    return table
