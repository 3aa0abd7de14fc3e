"""Four statements that make up a verdict: found again, error, structure, fit.

=============  ==================================================================  ========================================
statement      asks                                                                rests on
=============  ==================================================================  ========================================
found again    Are the components in fits on other rows?                           `latentia.evidence.repeats`
error          How far are their numbers from the truth?                           the expected error, and fits on parts
structure      Is there more than in data without components?                      verdicts and vetoes
fit            Does the data look as the model says?                               cautions
=============  ==================================================================  ========================================

A statement has passed if all measurements that it rests on hold. A statement without any measurement has not passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from .checks import EXPECTED_ERROR, PARTS_FITTED, Check, at_least, number_text
from .repeats import MOSTLY_FOUND, WELL_FOUND, parts_text

StatementName: TypeAlias = Literal["found again", "error", "structure", "fit"]
Status: TypeAlias = Literal["ok", "look", "bad", "open", ""]
STATEMENTS: tuple[StatementName, ...] = ("found again", "error", "structure", "fit")

CARE_FACTOR = 1.15  # mean errors up to this many limits ask for care; larger ones are bad
_UNMEASURED_SENTENCES = {
    "found again": "It was not measured whether fits on other rows find the same.",
    "error": "It was not measured how far the numbers are from the truth.",
    "structure": "It was not measured whether there is more than in data without components.",
    "fit": "It was not measured whether the data looks as the model says.",
}


@dataclass(frozen=True)
class Statement:
    """One of the four statements.

    Attributes
    ----------
    name : {"found again", "error", "structure", "fit"}
    value : float or None
        Measured value; for *found again* the lowest share of all components. None if there is none.
    needed : str
        Bound on the value, as text.
    passed : bool or None
        None if it was not measured, which counts as not passed.
    sentence : str
        The statement in words.
    check : str
        Check that *structure* or *fit* rests on.
    """

    name: StatementName
    value: float | None
    needed: str
    passed: bool | None
    sentence: str
    check: str = ""

    @property
    def measured(self) -> str:
        """Value as text."""
        return "not measured" if self.passed is None else "" if self.value is None else number_text(self.value)


def status(check: Check) -> Status:
    """Return the status of a check: "open" if it was not measured; "" for notes."""
    if check.role == "note":
        return ""
    if check.name == EXPECTED_ERROR and check.bound is not None and isinstance(check.measured, (int, float)):
        near = check.measured <= CARE_FACTOR * check.bound.limit
        return "ok" if check.holds else "look" if near and check.bound.limit > 0 else "bad"
    if check.holds is None:
        return "open" if check.role == "verdict" else ""
    return "ok" if check.holds else "look" if check.role == "caution" else "bad"


def statement_of(check: Check) -> StatementName | None:
    """Return the statement that a check belongs to; None for notes."""
    if check.role == "note":
        return None
    if check.name in (EXPECTED_ERROR, PARTS_FITTED):
        return "error"
    return "fit" if check.role == "caution" else "structure"


def make_statements(
    checks: Sequence[Check],
    found_again: np.ndarray | None,
    nouns: tuple[str, str, str],
    missing: str = "",
    rival: str = "",
) -> tuple[Statement, Statement, Statement, Statement]:
    """Build the four statements; ``missing`` is the reason for missing measurements, ``rival`` the comparison of errors.

    If the verdict is about predictions, these are judged on held-out rows: one check, whether they are better than none, then
    answers *found again*, *error* and *structure*.
    """
    structure, fit = (_build_statement(checks, name, missing) for name in ("structure", "fit"))
    if any(check.role == "verdict" for check in checks) and not any(statement_of(check) == "error" for check in checks):
        return replace(structure, name="found again"), replace(structure, name="error"), structure, fit
    error = _build_statement(checks, "error", missing)
    if rival and error.passed is not None:
        error = replace(error, sentence=f"{error.sentence} {rival}")
    return _build_repeat_statement(found_again, nouns, missing), error, structure, fit


def mark_of_statement(statement: Statement, checks: Sequence[Check]) -> Status:
    """Return the mark of a statement: "look" asks for care, "bad" denies."""
    if statement.passed is None:
        return "open"
    marks = {status(check) for check in checks if statement_of(check) == statement.name}
    return "ok" if statement.passed else "bad" if "bad" in marks else "look"


def _build_statement(checks: Sequence[Check], name: StatementName, missing: str) -> Statement:
    """Build a statement from the worst of its checks, or from the first one if all hold."""
    marked_checks = [(status(check), check) for check in checks if statement_of(check) == name]
    ordered = [
        check for mark in ("bad", "open", "look", "ok") for status_mark, check in marked_checks if status_mark == mark
    ]
    if not ordered:
        return Statement(name, None, "", None, " ".join(filter(None, (_UNMEASURED_SENTENCES[name], missing))))
    worst = ordered[0]
    value = float(worst.measured) if isinstance(worst.measured, (int, float)) else None
    passed = None if status(worst) == "open" else status(worst) == "ok"
    label = "" if name == "error" else f"{worst.name[:1].upper()}{worst.name[1:]}: "
    reason = worst.meaning if passed is not None else f"{_UNMEASURED_SENTENCES[name]} {worst.meaning}".strip()
    sentence = (label if passed is not None else "") + reason
    return Statement(name, value, worst.needed, passed, sentence, "" if name == "error" else worst.name)


def _build_repeat_statement(shares: np.ndarray | None, nouns: tuple[str, str, str], missing: str) -> Statement:
    needed = at_least(MOSTLY_FOUND)
    if shares is None or not len(shares):
        text = " ".join(filter(None, (_UNMEASURED_SENTENCES["found again"], missing)))
        return Statement("found again", None, str(needed), None, text)
    return Statement(
        "found again",
        float(shares.min()),
        str(needed),
        needed.holds(float(shares.min())),
        repeats_sentence(shares, nouns) + ".",
    )


def repeats_sentence(shares: np.ndarray, nouns: tuple[str, str, str]) -> str:
    """Return ``9 of 12 topics are found again in halves of the documents, 2 mostly, 1 not``."""
    singular, plural, _ = nouns
    n_repeated, n_missed = int((shares >= WELL_FOUND).sum()), int((shares < MOSTLY_FOUND).sum())
    n_mostly = len(shares) - n_repeated - n_missed
    subject = f"{n_repeated} of {len(shares)} {singular if len(shares) == 1 else plural}"
    parts = [f"{subject} {'is' if n_repeated == 1 else 'are'} found again in {parts_text(nouns)}"]
    parts += [f"{n_mostly} mostly"] if n_mostly else []
    parts += [f"{n_missed} not"] if n_missed and n_repeated + n_mostly else []
    return ", ".join(parts)
