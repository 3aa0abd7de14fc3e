"""Allowed values of parameters, as data: each class has a table of constraints, checked in one place."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from .exceptions import LatentiaError

_MAX_SEED = 2**32 - 1  # limit of NumPy's and scikit-learn's generators
_MAX_SIZES = 1000  # largest number of candidates to compare

NComponents: TypeAlias = int | Sequence[int] | Literal["auto"]
"""A number of components, several to compare, or "auto": see `Sizes`."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""A seed, or a generator that draws one: see `seed_of`."""


class Constraint(Protocol):
    """Constraint on the values of a parameter."""

    @property
    def expectation(self) -> str:
        """End of the message: "expected ..."."""

    def allows(self, value: Any) -> bool:
        """Return True if the parameter may have this value."""


@dataclass(frozen=True)
class Integer:
    """Whole number from ``low`` to ``high``; ``because`` explains the limit in messages."""

    low: int
    high: int | None = None
    because: str = ""

    @property
    def expectation(self) -> str:
        span = f"of at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"
        numbers_text = f"{self.low}" if self.low == self.high else f"a whole number {span}"
        return f"expected {numbers_text}" + (f", because {self.because}" if self.because else "")

    def allows(self, value: Any) -> bool:
        is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return is_whole and value >= self.low and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class Number:
    """Finite number between ``low`` and ``high``; ``closed`` names the ends that are allowed: "", "low", "high", "both"."""

    low: float = -np.inf
    high: float = np.inf
    closed: str = ""

    @property
    def expectation(self) -> str:
        lower = "of at least" if self.closed in ("low", "both") else "above"
        upper = "at most" if self.closed in ("high", "both") else "below"
        low = f" {lower} {self.low:g}" if np.isfinite(self.low) else ""
        high = f"{' and' if low else ''} {upper} {self.high:g}" if np.isfinite(self.high) else ""
        return f"expected a number{low}{high}"

    def allows(self, value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)) or not np.isfinite(float(value)):
            return False
        number = float(value)
        inside = self.low < number < self.high
        return inside or (number == self.low and self.closed in ("low", "both")) or (
            number == self.high and self.closed in ("high", "both")
        )  # fmt: skip


@dataclass(frozen=True, init=False)
class Choice:
    """One of several strings; False only if it is listed."""

    options: tuple[str | bool, ...]

    def __init__(self, *options: str | bool) -> None:
        object.__setattr__(self, "options", options)

    @property
    def expectation(self) -> str:
        return f"use one of {', '.join(map(repr, self.options))}"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) or value is False) and value in self.options


@dataclass(frozen=True)
class Flag:
    """True or False; with ``auto`` also "auto", which lets the data decide."""

    auto: bool = False

    @property
    def expectation(self) -> str:
        return "expected True, False or 'auto'" if self.auto else "expected True or False"

    def allows(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_)) or (self.auto and isinstance(value, str) and value == "auto")


@dataclass(frozen=True)
class Names:
    """Sequence of names, such as a vocabulary, or a mapping from names to columns."""

    expectation: str = "expected a sequence of names, one for each column, or a dict from names to columns"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, (Sequence, Mapping)) and not isinstance(value, str)) or (
            hasattr(value, "__array__") and np.ndim(value) == 1
        )


@dataclass(frozen=True)
class Vectorizer:
    """Vectorizer that turns texts into counts, as scikit-learn's do."""

    expectation: str = "expected a vectorizer of texts, such as scikit-learn's CountVectorizer()"

    def allows(self, value: Any) -> bool:
        return not isinstance(value, type) and all(
            callable(getattr(value, m, None)) for m in ("fit_transform", "transform")
        )


@dataclass(frozen=True)
class OrNone:
    """None, or a value that another constraint allows."""

    inner: Constraint

    @property
    def expectation(self) -> str:
        return f"{self.inner.expectation}, or None"

    def allows(self, value: Any) -> bool:
        return value is None or self.inner.allows(value)


@dataclass(frozen=True)
class Anything:
    """Any value: the estimator checks it itself."""

    expectation: str = ""

    def allows(self, value: Any) -> bool:
        return True


@dataclass(frozen=True)
class Sizes:
    """Number of components, "auto", or several numbers to compare."""

    expectation: str = (
        f"expected a whole number of at least 1, a range or list of at most {_MAX_SIZES} such numbers, or 'auto'"
    )

    def allows(self, value: Any) -> bool:
        if isinstance(value, (range, list, tuple)):
            # len() of a huge range overflows.
            first_sizes = value[: _MAX_SIZES + 1]
            return 0 < len(first_sizes) <= _MAX_SIZES and all(Integer(1).allows(size) for size in first_sizes)
        return (isinstance(value, str) and value == "auto") or Integer(1).allows(value)


@dataclass(frozen=True)
class Steps:
    """Number of refinement steps, or "auto"."""

    expectation: str = "expected a number of steps (a whole number of at least 0) or 'auto'"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) and value == "auto") or Integer(0).allows(value)


@dataclass(frozen=True)
class Verbosity:
    """Verbosity: True or False, or a whole number as in scikit-learn (0 shows nothing)."""

    expectation: str = "expected True, False or a whole number of at least 0"

    def allows(self, value: Any) -> bool:
        return Flag().allows(value) or Integer(0).allows(value)


@dataclass(frozen=True)
class _Jobs:
    expectation: str = "expected a number of threads, -1 for all cores, or None for one"

    def allows(self, value: Any) -> bool:
        return value is None or (Integer(-(2**31), 2**31).allows(value) and value != 0)


@dataclass(frozen=True)
class _Seed:
    expectation: str = f"expected a whole number from 0 to {_MAX_SEED}, a generator of NumPy, or None"

    def allows(self, value: Any) -> bool:
        is_generator = isinstance(value, (np.random.Generator, np.random.RandomState)) or value is np.random
        return value is None or is_generator or Integer(0, _MAX_SEED).allows(value)


SHARED: Mapping[str, Constraint] = {
    "n_components": Sizes(),
    "refine": Steps(),
    "n_splits": Integer(0, 3, because="four groups of rows can be halved in three ways"),
    "keep_moments": Flag(),
    "vocabulary": OrNone(Names()),
    "vectorizer": OrNone(Vectorizer()),
    "random_state": _Seed(),
    "n_jobs": _Jobs(),
    "verbose": Verbosity(),
}
"""Constraints of parameters that all classes share."""


def check_parameters(estimator: Any) -> None:
    """Raise unless the class's constraints, or `SHARED`, allow every parameter of an estimator."""
    constraints = type(estimator)._constraints
    for name, value in estimator.get_params(deep=False).items():
        check_parameter(name, value, constraints.get(name) or SHARED[name])


def check_parameter(name: str, value: Any, constraint: Constraint) -> None:
    """Raise unless the constraint allows the value."""
    if not constraint.allows(value):
        raise LatentiaError(f"{constraint.expectation}.", parameter=name, value=value)


def seed_of(random_state: Any) -> int:
    """Return the seed of ``random_state``; None, a RandomState or a Generator draws one."""
    check_parameter("random_state", random_state, SHARED["random_state"])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
