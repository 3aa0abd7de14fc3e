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

_MAX_VALUE_LENGTH = 60  # characters; longer settings are shown by type and shape
_HIDDEN_PARAMETERS = ("n_jobs", "verbose", "n_components", "random_state")
_REFERENCES = re.compile(r"^References\n-+\n(.*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)


def methods_text(model: Any) -> str:
    """Describe a fitted model in the style of a methods section; every number comes from the model.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    str
        One paragraph. Add what the data were and why they were collected.
    """
    evidence = model.evidence_
    sentences = [
        _describe_fit(model), *_describe_size(model), *_describe_settings(model), *_describe_iterations(model),
        f"Evidence from the data: {evidence.verdict}",
        *map(_describe_statement, evidence.of_components.statements),
        *_describe_failures([check for _, check in evidence.reasons]),
        *_cite(model),
    ]  # fmt: skip
    return " ".join(sentences)


def _describe_fit(model: Any) -> str:
    name, doc = type(model).__name__, inspect.getdoc(type(model)) or ""
    first = " ".join(doc.split("\n\n")[0].split())
    width = vars(model).get("n_features_in_", 1)
    columns = f", to data of {width} columns" if width > 1 else ""
    return f"{first} It was fitted with {name} of latentia {version()}{columns}.".strip()


def _describe_size(model: Any) -> list[str]:
    size, (singular, plural, _) = model.n_found, model.nouns
    if size is None:
        return []
    if not model.compared:
        return [f"The model has {size} {singular if size == 1 else plural}."]
    sizes = [str(row["n_components"]) for row in model.compared]
    return [f"The number of {plural}, {size}, was chosen from {', '.join(sizes)} by the evidence of each fit."]


def _describe_settings(model: Any) -> list[str]:
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _HIDDEN_PARAMETERS}
    changed = [
        f"{name}={_value_text(value)}" for name, value in parameters.items() if not _is_default(value, defaults[name])
    ]
    settings = (
        f"Settings other than the defaults: {', '.join(changed)}."
        if changed
        else "All settings had their default values."
    )
    return [settings, f"The seed was {model._seed}."] if "random_state" in defaults else [settings]


def _value_text(value: Any) -> str:
    text = repr(value)
    if len(text) <= _MAX_VALUE_LENGTH and "\n" not in text:
        return text
    shape = np.shape(value) if hasattr(value, "__array__") else (len(value),) if isinstance(value, Sequence) else ()
    return f"{type(value).__name__} of shape {shape}" if shape else type(value).__name__


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.ndim(value) == 0 and bool(value == default))


def _describe_iterations(model: Any) -> list[str]:
    steps = vars(model).get("n_iter_")
    if not steps or "converged_" not in vars(model):
        return []
    return [f"It was refined in {steps} iterations{' until convergence' if model.converged_ else ''}."]


def _describe_statement(statement: Statement) -> str:
    """Write a statement as ``Error: how far ... (measured 0.2, needed <= 0.4; passed).``"""
    name = f"{statement.name[:1].upper()}{statement.name[1:]}"
    if statement.passed is None:
        return f"{name}: not measured."
    needed = (
        f" (measured {statement.measured}, needed {statement.needed}; {'passed' if statement.passed else 'not passed'})"
    )
    return f"{name}: {statement.sentence.rstrip('.')}{needed}."


def _describe_failures(checks: Sequence[Check]) -> list[str]:
    opened = [check.name for check in checks if check.measured is None]
    failed = [f"{check.name} ({_describe_measure(check)})" for check in checks if check.measured is not None]
    return [
        *([f"Failed checks: {'; '.join(failed)}."] if failed else []),
        *([f"Not measured: {', '.join(opened)}."] if opened else []),
    ]


def _describe_measure(check: Check) -> str:
    _, measured, needed, _, _ = describe(check)
    return f"{measured}, needed {needed}" if needed else measured


def _cite(model: Any) -> list[str]:
    match = _REFERENCES.search(inspect.getdoc(type(model)) or "")
    return [f"Method: {' '.join(match.group(1).split())}"] if match else []
