"""Declarations of record fields and fitted attributes: shape, type and range.

::

    means_: Annotated[np.ndarray, numbers("K V")]
    weights_: Annotated[np.ndarray, distributions("K")]
    n_iter_: Annotated[int, count()]

A letter stands for one size in a whole estimator: V is ``n_features_in_``. For a list, tuple or dict, a field describes the
items; a record describes its own fields. `latentia.load` checks every field, and a test finds undescribed ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

TOLERANCE = 1e-6  # shares may exceed one by this much
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-100, 1e100  # magnitudes whose products stay in range
MAX_SINGLE_MAGNITUDE = 1e15  # the same for float32
_INTEGER_TYPES = ("int64", "int32")


@dataclass(frozen=True)
class Field:
    """Declared field: an array, a number, or a text.

    Attributes
    ----------
    shape : str
        Letters of the sizes, such as "K V". "*" is any size, a leading "..." any number of sizes, and a letter with "#" a
        separate size for each item of a list. Empty for a number or a text.
    types : tuple of str
        Allowed NumPy types; "symbols" for numbers or texts.
    low, high : float
        Bounds of all entries.
    below : str
        Letter of the size that entries, positions in another array, stay below.
    size : str
        Letter of the size that this number gives.
    sums : bool
        Whether rows sum to one.
    sparse : bool
        Whether it is a CSR matrix in canonical format.
    number : bool
        Whether one number may stand for the array.
    finite : bool
    required : bool
        Whether every fitted estimator has it.
    """

    shape: str = ""
    types: tuple[str, ...] = ("float64",)
    low: float = -np.inf
    high: float = np.inf
    below: str = ""
    size: str = ""
    sums: bool = False
    sparse: bool = False
    number: bool = False
    finite: bool = True
    required: bool = True


@dataclass(frozen=True)
class Letters:
    """Letters of a record's sizes, mapped to those of the estimator that holds it.

    Attributes
    ----------
    of : mapping of str to str
    """

    of: Mapping[str, str] = field(default_factory=dict)


def numbers(shape: str, low: float = -np.inf, high: float = np.inf) -> Field:
    """Declare finite numbers between two bounds."""
    return Field(shape, low=low, high=high)


def shares(shape: str) -> Field:
    """Declare numbers from 0 to 1."""
    return numbers(shape, 0.0, 1.0 + TOLERANCE)


def distributions(shape: str) -> Field:
    """Declare shares that sum to one along the last axis."""
    return replace(shares(shape), sums=True)


def places(shape: str, below: str = "", low: float = 0) -> Field:
    """Declare whole numbers of at least ``low``, below a size."""
    return Field(shape, _INTEGER_TYPES, low, below=below)


def symbols(shape: str) -> Field:
    """Declare labels: numbers or texts."""
    return Field(shape, ("symbols",))


def flags(shape: str) -> Field:
    """Declare truth values."""
    return Field(shape, ("bool",))


def sparse_matrix(shape: str, kind: str = "float64", low: float = -np.inf, high: float = np.inf) -> Field:
    """Declare a sparse matrix in CSR format."""
    return Field(shape, (kind,), low, high, sparse=True)


def number(low: float = -np.inf, high: float = np.inf) -> Field:
    """Declare one finite number between two bounds."""
    return Field(low=low, high=high)


def share() -> Field:
    """Declare one number from 0 to 1."""
    return number(0.0, 1.0 + TOLERANCE)


def count(low: int = 0) -> Field:
    """Declare one whole number of at least ``low``."""
    return Field(types=_INTEGER_TYPES, low=low)


def size(letter: str) -> Field:
    """Declare the whole number that a letter stands for."""
    return replace(count(), size=letter)


def optional(field: Field) -> Field:
    """Declare an attribute that some fits lack."""
    return replace(field, required=False)
