"""What a record's field or a fitted attribute holds: shape, type and range, beside its declaration.

::

    means_: Annotated[np.ndarray, numbers("K V")]
    weights_: Annotated[np.ndarray, distributions("K")]
    n_iter_: Annotated[int, count()]

A letter stands for one size in a whole estimator: V is ``n_features_in_``. Of a list, a tuple or a dict, a field describes the
items; a record describes its own fields. `latentia.load` checks every field, and a test finds those that have no description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

TOLERANCE = 1e-6  # by which shares may exceed one
LEAST, MOST = 1e-100, 1e100  # sizes of numbers whose products stay in range
MOST_SINGLE = 1e15  # of float32
_WHOLE = ("int64", "int32")


@dataclass(frozen=True)
class Field:
    """An array, a number, or a text.

    Attributes
    ----------
    shape : str
        Letters of the sizes, such as "K V". "*" is any size, "..." at the start any number of them, and a letter with "#" a
        size of its own for each item of a list. Empty for a number or a text.
    types : tuple of str
        NumPy types that it may have; "symbols" for numbers or texts.
    low, high : float
        Between which all entries lie.
    below : str
        Letter of the size that entries stay below, which are places in another array.
    size : str
        Letter of the size that the number is.
    sums : bool
        Whether rows sum to one.
    sparse : bool
        Whether it is a CSR matrix, in order and with each entry once.
    number : bool
        Whether one number may stand for the array.
    finite : bool
    required : bool
        Whether a fitted estimator always has it.
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
    """Letters of a record's sizes, and what they are in the estimator that holds it.

    Attributes
    ----------
    of : mapping of str to str
    """

    of: Mapping[str, str] = field(default_factory=dict)


def numbers(shape: str, low: float = -np.inf, high: float = np.inf) -> Field:
    """Finite numbers between two bounds."""
    return Field(shape, low=low, high=high)


def shares(shape: str) -> Field:
    """Numbers from 0 to 1."""
    return numbers(shape, 0.0, 1.0 + TOLERANCE)


def distributions(shape: str) -> Field:
    """Shares that sum to one along the last axis."""
    return replace(shares(shape), sums=True)


def places(shape: str, below: str = "", low: float = 0) -> Field:
    """Whole numbers from ``low`` on, below a size."""
    return Field(shape, _WHOLE, low, below=below)


def symbols(shape: str) -> Field:
    """Numbers or texts, as labels are."""
    return Field(shape, ("symbols",))


def flags(shape: str) -> Field:
    """Truth values."""
    return Field(shape, ("bool",))


def sparse_matrix(shape: str, kind: str = "float64", low: float = -np.inf, high: float = np.inf) -> Field:
    """A sparse matrix in CSR format."""
    return Field(shape, (kind,), low, high, sparse=True)


def number(low: float = -np.inf, high: float = np.inf) -> Field:
    """One finite number between two bounds."""
    return Field(low=low, high=high)


def share() -> Field:
    """One number from 0 to 1."""
    return number(0.0, 1.0 + TOLERANCE)


def count(low: int = 0) -> Field:
    """One whole number, at least ``low``."""
    return Field(types=_WHOLE, low=low)


def size(letter: str) -> Field:
    """The whole number that a letter stands for."""
    return replace(count(), size=letter)


def optional(described: Field) -> Field:
    """An attribute that not every fit has."""
    return replace(described, required=False)
