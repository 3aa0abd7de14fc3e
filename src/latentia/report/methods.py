"""A paragraph for the methods section of a paper: model, settings, evidence, and what was not measured."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..evidence import Check, Statement
from ..evidence.checks import describe
from .parts import version

_LONGEST = 60  # characters of a setting that is written out
_NOT_SETTINGS = ("n_jobs", "verbose", "n_components", "random_state")
_REFERENCES = re.compile(r"^References\n-+\n(.*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)


def methods_text(model: Any) -> str:
    """Describe a fitted model in the words of a methods section; every number in it is the model's own.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    str
        One paragraph of sentences. What the data were, and why, is yours to add.
    """
    evidence = model.evidence_
    told = [
        _what(model), *_size(model), *_settings(model), *_iterations(model), f"Evidence from the data: {evidence.verdict}",
        *map(_statement, evidence.of_components.statements), *_failed([check for _, check in evidence.reasons]),
        *_references(model),
    ]  # fmt: skip
    return " ".join(told)


def _what(model: Any) -> str:
    name, doc = type(model).__name__, inspect.getdoc(type(model)) or ""
    first = " ".join(doc.split("\n\n")[0].split())
    width = vars(model).get("n_features_in_", 1)
    columns = f", to data of {width} columns" if width > 1 else ""
    return f"{first} It was fitted with {name} of latentia {version()}{columns}.".strip()


def _size(model: Any) -> list[str]:
    size, (one, many, _) = model.n_found, model.nouns
    if size is None:
        return []
    if not model.compared:
        return [f"The model has {size} {one if size == 1 else many}."]
    sizes = [str(row["n_components"]) for row in model.compared]
    return [f"The number of {many}, {size}, was chosen among {', '.join(sizes)} by the evidence of each fit."]


def _settings(model: Any) -> list[str]:
    defaults = {name: one.default for name, one in inspect.signature(type(model)).parameters.items()}
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_SETTINGS}
    changed = [f"{name}={_value(value)}" for name, value in given.items() if not _same(value, defaults[name])]
    settings = (
        f"Settings other than the defaults: {', '.join(changed)}." if changed else "All settings were the defaults."
    )
    return [settings, f"The seed was {model._seed}."] if "random_state" in defaults else [settings]


def _value(value: Any) -> str:
    text = repr(value)
    if len(text) <= _LONGEST and "\n" not in text:
        return text
    shape = np.shape(value) if hasattr(value, "__array__") else (len(value),) if isinstance(value, Sequence) else ()
    return f"{type(value).__name__} of shape {shape}" if shape else type(value).__name__


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.ndim(value) == 0 and bool(value == default))


def _iterations(model: Any) -> list[str]:
    steps = vars(model).get("n_iter_")
    if not steps or "converged_" not in vars(model):
        return []
    return [f"It was refined in {steps} iterations{', which had converged' if model.converged_ else ''}."]


def _statement(one: Statement) -> str:
    """``Error: how far ...: 0.2, needed <= 0.4 (passed).``"""
    name = f"{one.name[:1].upper()}{one.name[1:]}"
    if one.passed is None:
        return f"{name}: not measured."
    needed = f" (measured {one.measured}, needed {one.needed}; {'passed' if one.passed else 'not passed'})"
    return f"{name}: {one.sentence.rstrip('.')}{needed}."


def _failed(checks: Sequence[Check]) -> list[str]:
    opened = [check.name for check in checks if check.measured is None]
    failed = [f"{check.name} ({_measured(check)})" for check in checks if check.measured is not None]
    return [
        *([f"Checks that did not hold: {'; '.join(failed)}."] if failed else []),
        *([f"Not measured: {', '.join(opened)}."] if opened else []),
    ]


def _measured(check: Check) -> str:
    _, measured, needed, _, _ = describe(check)
    return f"{measured}, needed {needed}" if needed else measured


def _references(model: Any) -> list[str]:
    found = _REFERENCES.search(inspect.getdoc(type(model)) or "")
    return [f"Method: {' '.join(found.group(1).split())}"] if found else []
