"""Headline and advice of an `Evidence`, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .checks import EXPECTED_ERROR, REAL_OR_SIMULATED
from .grades import Component
from .repeats import MOSTLY_FOUND
from .rows import more_rows
from .statements import repeats_sentence, status

_GRADE_HEADS = {"supported": "SUPPORTED", "with care": "SUPPORTED WITH CARE", "partly": "PARTLY SUPPORTED"}
_PREDICTION_ADVICE = "Use them for rows like those that were learned from."
ERRORS_SENTENCE = "Expected errors assume that the data follows the model; if a misfit was measured, they include it."


def headline(evidence: Any) -> str:
    """Return the grade as a sentence: how many components are found again, and how many can be used."""
    if not evidence.measured:
        return f"NOT MEASURED. How far to trust {_subject(evidence)} was not measured."
    head, repeats = (
        _GRADE_HEADS.get(evidence.grade, "NOT SUPPORTED"),
        evidence.found_again if evidence.topics is None else None,
    )
    repeats_text = "" if repeats is None or not len(repeats) else repeats_sentence(repeats, evidence.nouns)
    if evidence.grade == "not supported":
        return f"{head}. The data does not support {_subject(evidence)}{f'; {repeats_text}' if repeats_text else ''}."
    if evidence.topics is not None or evidence.subject or not len(evidence.components):
        return f"{head}. The data supports {_subject(evidence)}."
    return f"{head}. {'; '.join(part for part in (repeats_text, _count_usable(evidence)) if part)}."


def next_steps(evidence: Any) -> str:
    """Return what to do, as far as it follows from the data: remedies of checks, then rows needed."""
    care = evidence.components.of("with care") if evidence.topics is None else []
    if evidence.grade == "supported":
        return _advise_supported(evidence, care)
    order = {"bad": 0, "open": 1, "look": 2, "": 3}
    unmet = sorted(
        (check for check in evidence.checks if status(check) in order and (status(check) or check.holds is False)),
        key=lambda check: (check.name == REAL_OR_SIMULATED, order[status(check)], check.role != "veto"),
    )
    error_is_bad = any(check.name == EXPECTED_ERROR and status(check) == "bad" for check in evidence.checks)
    max_components = (
        len(evidence.component_errors) if error_is_bad and evidence.component_errors is not None else np.inf
    )
    remedies = [check.remedy for check in unmet if check.remedy and check.suggests <= max_components]
    steps = list(dict.fromkeys(remedies))[:2]
    _, _, structure, fit = evidence.statements
    if evidence.component_errors is not None and structure.passed is not False:
        errors, shares = evidence.component_errors, evidence.found_again
        is_known = (
            np.full(len(errors), True) if shares is None or len(shares) != len(errors) else shares >= MOSTLY_FOUND
        )
        rows_sentence = more_rows(errors, is_known, evidence.checks, evidence.nouns, fit.passed)
        steps += [rows_sentence] if rows_sentence else []
    usable = evidence.components.of("supported") or care
    if evidence.grade == "partly":
        steps.insert(0, f"Use {evidence.nouns[1] if len(usable) > 1 else evidence.nouns[0]} {_number_list(usable)}.")
    unmeasured = [statement.sentence for statement in evidence.statements if statement.passed is None]
    return " ".join(steps or unmeasured) or "Read the statements below before you use the model."


def closing_sentence(evidence: Any) -> str:
    """Return a note on the meaning of errors, and where the checks are."""
    pointer = f"All {len(evidence.checks)} measurements: evidence_.table()." if evidence.checks else ""
    return f"{ERRORS_SENTENCE} {pointer}".strip() if evidence.on_components else pointer


def _advise_supported(evidence: Any, care: Sequence[Component]) -> str:
    singular, plural, _ = evidence.nouns
    if not evidence.on_components:
        return _PREDICTION_ADVICE
    if len(evidence.components) == 1:
        return f"The {singular} can be used."
    if not care:
        return f"The {plural} can be read and compared one by one."
    return f"The {plural} can be read and compared; for {_number_list(care)}, rely on the main features only."


def _count_usable(evidence: Any) -> str:
    """Count the components that can be used, can be used with care, and cannot be used."""
    singular, plural, rows = evidence.nouns
    supported, care, unusable = (evidence.components.of(grade) for grade in ("supported", "with care", "not supported"))
    n = len(evidence.components)
    noun = singular if n == 1 else plural
    parts = [f"{len(supported)} of {n} {noun} can be used{_share_text(supported, rows)}"] if supported else []
    if care:
        usable = f"{len(care)} with care" if supported else f"{len(care)} of {n} {noun} can be used with care"
        parts.append(f"{usable}{'' if supported else _share_text(care, rows)}")
    return ", ".join([*parts, *([f"{len(unusable)} not"] if unusable else [])])


def _subject(evidence: Any) -> str:
    """Name the subject of the verdict."""
    n, (singular, plural, _) = (
        0 if evidence.component_errors is None else len(evidence.component_errors),
        evidence.nouns,
    )
    return evidence.subject or (f"these {n} {plural}" if n > 1 else f"this {singular}" if n else "this fit")


def _number_list(components: Sequence[Component]) -> str:
    """List the numbers of the first ten components."""
    return ", ".join(str(component.component) for component in components[:10]) + (
        ", ..." if len(components) > 10 else ""
    )


def _share_text(components: Sequence[Component], rows: str) -> str:
    shares = [component.share for component in components]
    if not shares or any(share is None for share in shares):
        return ""
    return f" ({sum(share or 0.0 for share in shares):.0%} of the {rows})"
