"""What values a parameter may have, as data: a table in each class, read in one place."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from .exceptions import LatentiaError

_MOST_SEED = 2**32 - 1  # what NumPy's and scikit-learn's generators take
_MOST_SIZES = 1000  # numbers of components that are compared

NComponents: TypeAlias = int | Sequence[int] | Literal["auto"]
"""A number of components, several that are compared, or "auto": what `Sizes` allows."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""A seed, or what draws one: what `seed_of` takes."""


class Constraint(Protocol):
    """The values that a parameter may have."""

    @property
    def needed(self) -> str:
        """What is needed, as the end of a sentence."""

    def allows(self, value: Any) -> bool:
        """Whether the parameter may have this value."""


@dataclass(frozen=True)
class Integer:
    """A whole number from ``low`` to ``high``; ``because`` explains the limit in messages."""

    low: int
    high: int | None = None
    because: str = ""

    @property
    def needed(self) -> str:
        span = f"of at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"
        what = f"{self.low}" if self.low == self.high else f"a whole number {span}"
        return f"{what} is needed" + (f", because {self.because}" if self.because else "")

    def allows(self, value: Any) -> bool:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return whole and value >= self.low and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class Number:
    """A finite number between ``low`` and ``high``; ``closed`` names the ends that are allowed: "", "low", "high", "both"."""

    low: float = -np.inf
    high: float = np.inf
    closed: str = ""

    @property
    def needed(self) -> str:
        least = "of at least" if self.closed in ("low", "both") else "above"
        most = "at most" if self.closed in ("high", "both") else "below"
        low = f" {least} {self.low:g}" if np.isfinite(self.low) else ""
        high = f"{' and' if low else ''} {most} {self.high:g}" if np.isfinite(self.high) else ""
        return f"a number{low}{high} is needed"

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
    """One of some strings, False among them where it is named."""

    options: tuple[str | bool, ...]

    def __init__(self, *options: str | bool) -> None:
        object.__setattr__(self, "options", options)

    @property
    def needed(self) -> str:
        return f"use one of {', '.join(map(repr, self.options))}"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) or value is False) and value in self.options


@dataclass(frozen=True)
class Flag:
    """True or False; with ``auto`` also "auto", where the data decides."""

    auto: bool = False

    @property
    def needed(self) -> str:
        return "True, False or 'auto' is needed" if self.auto else "True or False is needed"

    def allows(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_)) or (self.auto and isinstance(value, str) and value == "auto")


@dataclass(frozen=True)
class Names:
    """A sequence of names, such as a vocabulary, or a mapping from names to columns."""

    needed: str = "a sequence of names is needed, one for each column, or a dict from names to columns"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, (Sequence, Mapping)) and not isinstance(value, str)) or (
            hasattr(value, "__array__") and np.ndim(value) == 1
        )


@dataclass(frozen=True)
class Vectorizer:
    """What turns texts into counts, as scikit-learn's vectorizers do."""

    needed: str = "a vectorizer of texts is needed, such as scikit-learn's CountVectorizer()"

    def allows(self, value: Any) -> bool:
        return not isinstance(value, type) and all(
            callable(getattr(value, m, None)) for m in ("fit_transform", "transform")
        )


@dataclass(frozen=True)
class OrNone:
    """None, or what another constraint allows."""

    inner: Constraint

    @property
    def needed(self) -> str:
        return f"{self.inner.needed}, or None"

    def allows(self, value: Any) -> bool:
        return value is None or self.inner.allows(value)


@dataclass(frozen=True)
class Anything:
    """What the estimator checks itself."""

    needed: str = ""

    def allows(self, value: Any) -> bool:
        return True


@dataclass(frozen=True)
class Sizes:
    """A number of components, "auto", or several numbers to be compared."""

    needed: str = (
        f"a whole number of at least 1 is needed, a range or list of at most {_MOST_SIZES} such numbers, or 'auto'"
    )

    def allows(self, value: Any) -> bool:
        if isinstance(value, (range, list, tuple)):
            # A range may be longer than len() can say.
            some = value[: _MOST_SIZES + 1]
            return 0 < len(some) <= _MOST_SIZES and all(Integer(1).allows(size) for size in some)
        return (isinstance(value, str) and value == "auto") or Integer(1).allows(value)


@dataclass(frozen=True)
class Steps:
    """A number of refining steps, or "auto"."""

    needed: str = "a number of steps is needed, a whole number of at least 0, or 'auto'"

    def allows(self, value: Any) -> bool:
        return (isinstance(value, str) and value == "auto") or Integer(0).allows(value)


@dataclass(frozen=True)
class Verbosity:
    """Whether progress is shown: True or False, or a whole number as in scikit-learn, 0 for no."""

    needed: str = "True, False or a whole number of at least 0 is needed"

    def allows(self, value: Any) -> bool:
        return Flag().allows(value) or Integer(0).allows(value)


@dataclass(frozen=True)
class _Jobs:
    needed: str = "a number of threads is needed, -1 for all cores, or None for one"

    def allows(self, value: Any) -> bool:
        return value is None or (Integer(-(2**31), 2**31).allows(value) and value != 0)


@dataclass(frozen=True)
class _Seed:
    needed: str = f"a whole number from 0 to {_MOST_SEED} is needed, a generator of NumPy, or None"

    def allows(self, value: Any) -> bool:
        known = isinstance(value, (np.random.Generator, np.random.RandomState)) or value is np.random
        return value is None or known or Integer(0, _MOST_SEED).allows(value)


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
"""Parameters that mean the same in every class that has them."""


def check_parameters(estimator: Any) -> None:
    """Raise unless every parameter of the estimator has a value that its class's table, or `SHARED`, allows."""
    own = type(estimator)._constraints
    for name, value in estimator.get_params(deep=False).items():
        check_parameter(name, value, own.get(name) or SHARED[name])


def check_parameter(name: str, value: Any, constraint: Constraint) -> None:
    """Raise unless the constraint allows the value."""
    if not constraint.allows(value):
        raise LatentiaError(f"{constraint.needed}.", parameter=name, value=value)


def seed_of(random_state: Any) -> int:
    """The seed that ``random_state`` stands for; None, a RandomState or a Generator draws one."""
    check_parameter("random_state", random_state, SHARED["random_state"])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
