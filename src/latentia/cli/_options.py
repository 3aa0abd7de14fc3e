"""Checks of options, and their names in messages."""

import re
from collections.abc import Sequence
from typing import Any

from typer import CallbackParam, Option

from ..exceptions import LatentiaError

_OPTIONS = {
    "covariance_type": "--covariance",
    "n_components": "-k",
    "n_features": None,
    "n_jobs": "--jobs",
    "n_splits": "--splits",
    "n_labels": None,
    "random_state": "--seed",
    "size": "--patch",
    "zero_based": "--zero-based/--one-based",
    "labels_zero_based": "--labels-zero-based/--labels-one-based",
}
"""Options for the parameters of estimators and readers, None if the command sets the parameter itself; other options have the
name of the parameter."""
_VALUES = {("cache", False): "--no-cache", ("classes", True): "--fit logistic", ("classes", False): "--fit regression"}
"""Options for parameters with a given value, where these differ from the parameter's option with that value."""


def check_jobs(jobs: int) -> int:
    """Return a valid number of threads; raise for others."""
    if jobs == 0 or jobs < -1:
        raise LatentiaError(f"--jobs {jobs}: give a number of threads, or -1 for every core.")
    return jobs


def steps_of(refine: str) -> int | str:
    """Parse a number of steps, or "auto"."""
    if refine == "auto":
        return refine
    if not re.fullmatch(r"\d{1,6}", refine):
        raise LatentiaError(f"--refine {refine}: give a number of steps, 0 for the theorem's result, or auto.")
    return int(refine)


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise for a value that the option does not allow."""
    if value not in allowed:
        raise LatentiaError(f"{option} {value!r}: use one of {', '.join(allowed)}.")


def one_of(*choices: str) -> Any:
    """Return an option that takes one of these words."""

    def check(parameter: CallbackParam, value: Any) -> Any:
        if value is not None:
            check_choice(parameter.opts[0], value, choices)
        return value

    return Option(callback=check)


def render_error(error: LatentiaError) -> str:
    """Return the message of an error with the command's option instead of the Python parameter."""
    name = _find_option(error.parameter) if error.parameter else None
    if name is None:
        return error.message
    value_text = "" if error.value is None or isinstance(error.value, bool) else f" {error.value}"
    return error.compose(f"{name}{value_text}")


def option_of(parameter: str, value: Any = None) -> str:
    """Return the option for a Python parameter, with its value if there is one."""
    name = _find_option(parameter) or parameter
    return name if value is None else _VALUES.get((parameter, value), f"{name} {value}")


def _find_option(parameter: str) -> str | None:
    return _OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")
