"""Headline and advice of an `Evidence`: what the four statements say, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .checks import EXPECTED_ERROR, REAL_OR_SIMULATED
from .grades import Component
from .repeats import LEAST_FOUND
from .rows import more_rows
from .statements import found_sentence, status

_HEADS = {"supported": "SUPPORTED", "with care": "SUPPORTED WITH CARE", "partly": "PARTLY SUPPORTED"}
_USE = "Use them for rows like those that were learned from."
ERRORS_SENTENCE = "Expected errors assume that the data follows the model; where a misfit was found, they include it."


def headline(evidence: Any) -> str:
    """The grade as a sentence: how many components are found again, and how many can be used."""
    if not evidence.measured:
        return f"NOT MEASURED. How far to trust {_subject(evidence)} was not measured."
    head, found = _HEADS.get(evidence.grade, "NOT SUPPORTED"), evidence.found_again if evidence.topics is None else None
    again = "" if found is None or not len(found) else found_sentence(found, evidence.nouns)
    if evidence.grade == "not supported":
        return f"{head}. The data does not support {_subject(evidence)}{f'; {again}' if again else ''}."
    if evidence.topics is not None or evidence.subject or not len(evidence.components):
        return f"{head}. The data supports {_subject(evidence)}."
    return f"{head}. {'; '.join(part for part in (again, _usable(evidence)) if part)}."


def next_steps(evidence: Any) -> str:
    """What to do, as far as it follows from the data; checks that name a remedy of their own come before the general one."""
    care = evidence.components.of("with care") if evidence.topics is None else []
    if evidence.grade == "supported":
        return _of_supported(evidence, care)
    order = {"bad": 0, "open": 1, "look": 2, "": 3}
    wanting = sorted(
        (check for check in evidence.checks if status(check) in order and (status(check) or check.holds is False)),
        key=lambda check: (check.name == REAL_OR_SIMULATED, order[status(check)], check.role != "veto"),
    )
    too_many = any(check.name == EXPECTED_ERROR and status(check) == "bad" for check in evidence.checks)
    most = len(evidence.component_errors) if too_many and evidence.component_errors is not None else np.inf
    remedies = [check.remedy for check in wanting if check.remedy and check.suggests <= most]
    steps = list(dict.fromkeys(remedies))[:2]
    _, _, structure, fit = evidence.statements
    if evidence.component_errors is not None and structure.passed is not False:
        errors, shares = evidence.component_errors, evidence.found_again
        known = np.full(len(errors), True) if shares is None or len(shares) != len(errors) else shares >= LEAST_FOUND
        more = more_rows(errors, known, evidence.checks, evidence.nouns, fit.passed)
        steps += [more] if more else []
    usable = evidence.components.of("supported") or care
    if evidence.grade == "partly":
        steps.insert(0, f"Use {evidence.nouns[1] if len(usable) > 1 else evidence.nouns[0]} {_numbered(usable)}.")
    unmeasured = [statement.sentence for statement in evidence.statements if statement.passed is None]
    return " ".join(steps or unmeasured) or "Read the statements below, and use it with that in mind."


def closing_sentence(evidence: Any) -> str:
    """Note on the meaning of errors, and where the checks are."""
    more = f"What they rest on, in {len(evidence.checks)} measurements: evidence_.table()." if evidence.checks else ""
    return f"{ERRORS_SENTENCE} {more}".strip() if evidence.on_components else more


def _of_supported(evidence: Any, care: Sequence[Component]) -> str:
    one, many, _ = evidence.nouns
    if not evidence.on_components:
        return _USE
    if len(evidence.components) == 1:
        return f"The {one} can be used."
    if not care:
        return f"The {many} can be read and compared one by one."
    return f"The {many} can be read and compared, of {_numbered(care)} the main features."


def _usable(evidence: Any) -> str:
    """How many components can be used, with care, and not."""
    one, many, rows = evidence.nouns
    well, care, none = (evidence.components.of(grade) for grade in ("supported", "with care", "not supported"))
    n = len(evidence.components)
    what = one if n == 1 else many
    parts = [f"{len(well)} of {n} {what} can be used{_of_data(well, rows)}"] if well else []
    if care:
        usable = f"{len(care)} with care" if well else f"{len(care)} of {n} {what} can be used with care"
        parts.append(f"{usable}{'' if well else _of_data(care, rows)}")
    return ", ".join([*parts, *([f"{len(none)} not"] if none else [])])


def _subject(evidence: Any) -> str:
    """What the verdict is on."""
    n, (one, many, _) = 0 if evidence.component_errors is None else len(evidence.component_errors), evidence.nouns
    return evidence.subject or (f"these {n} {many}" if n > 1 else f"this {one}" if n else "this fit")


def _numbered(components: Sequence[Component]) -> str:
    """The numbers of the first ten."""
    return ", ".join(str(component.component) for component in components[:10]) + (
        ", ..." if len(components) > 10 else ""
    )


def _of_data(components: Sequence[Component], rows: str) -> str:
    shares = [one.share for one in components]
    if not shares or any(share is None for share in shares):
        return ""
    return f" ({sum(share or 0.0 for share in shares):.0%} of the {rows})"
