"""The four statements that a verdict consists of: found again, error, structure, fit.

=============  ==================================================================  ========================================
statement      asks                                                                rests on
=============  ==================================================================  ========================================
found again    Are the components in fits on other rows?                           `latentia.evidence.repeats`
error          How far are their numbers from the truth?                           the expected error, and fits on parts
structure      Is there more than in data without components?                      verdicts and vetoes
fit            Is the data as the model says?                                      cautions
=============  ==================================================================  ========================================

A statement has passed if everything that it rests on was measured and holds, or, of several measurements, those that were made.
What was not measured at all has not passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from .checks import EXPECTED_ERROR, PARTS_FITTED, Check, at_least, number_text
from .repeats import FOUND, LEAST_FOUND, parts_text

StatementName: TypeAlias = Literal["found again", "error", "structure", "fit"]
Status: TypeAlias = Literal["ok", "look", "bad", "open", ""]
STATEMENTS: tuple[StatementName, ...] = ("found again", "error", "structure", "fit")

ABOUT = 1.15  # limits of the mean error, up to which it asks for care
_NOTHING_MEASURED = {
    "found again": "Whether fits on other rows have the same was not measured.",
    "error": "How far numbers are from the truth was not measured.",
    "structure": "Whether there is more than in data without components was not measured.",
    "fit": "Whether the data is as the model says was not measured.",
}


@dataclass(frozen=True)
class Statement:
    """One of the four statements.

    Attributes
    ----------
    name : {"found again", "error", "structure", "fit"}
    value : float or None
        What was measured: of *found again* the least share of all components. None where nothing was, or no number.
    needed : str
        What is asked of the value.
    passed : bool or None
        None where it was not measured, which is not passed.
    sentence : str
        The same in words.
    check : str
        The check of *structure* or *fit* that it rests on.
    """

    name: StatementName
    value: float | None
    needed: str
    passed: bool | None
    sentence: str
    check: str = ""

    @property
    def measured(self) -> str:
        """The value as text."""
        return "not measured" if self.passed is None else "" if self.value is None else number_text(self.value)


def status(check: Check) -> Status:
    """What a check that counts says, "open" where it was not measured; nothing for notes."""
    if check.role == "note":
        return ""
    if check.name == EXPECTED_ERROR and check.bound is not None and isinstance(check.measured, (int, float)):
        near = check.measured <= ABOUT * check.bound.limit
        return "ok" if check.holds else "look" if near and check.bound.limit > 0 else "bad"
    if check.holds is None:
        return "open" if check.role == "verdict" else ""
    return "ok" if check.holds else "look" if check.role == "caution" else "bad"


def statement_of(check: Check) -> StatementName | None:
    """The statement that a check belongs to; None for notes."""
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
    """The four statements, in their order; ``missing`` says why something was not measured, ``rival`` what checks the error.

    Where the verdict is on predictions, the rows that these are judged on are not those that were learned from: whether they
    are better than none is *found again*, *error* and *structure* in one.
    """
    structure, fit = (_resting_on(checks, name, missing) for name in ("structure", "fit"))
    if any(check.role == "verdict" for check in checks) and not any(statement_of(check) == "error" for check in checks):
        return replace(structure, name="found again"), replace(structure, name="error"), structure, fit
    error = _resting_on(checks, "error", missing)
    if rival and error.passed is not None:
        error = replace(error, sentence=f"{error.sentence} {rival}")
    return _found_again(found_again, nouns, missing), error, structure, fit


def mark_of_statement(statement: Statement, checks: Sequence[Check]) -> Status:
    """What a statement says as a mark: "look" asks for care, "bad" denies."""
    if statement.passed is None:
        return "open"
    marks = {status(check) for check in checks if statement_of(check) == statement.name}
    return "ok" if statement.passed else "bad" if "bad" in marks else "look"


def _resting_on(checks: Sequence[Check], name: StatementName, missing: str) -> Statement:
    """The statement that the worst of its checks makes, or, where all hold, the first one."""
    marked = [(status(check), check) for check in checks if statement_of(check) == name]
    ordered = [check for mark in ("bad", "open", "look", "ok") for status_mark, check in marked if status_mark == mark]
    if not ordered:
        return Statement(name, None, "", None, " ".join(filter(None, (_NOTHING_MEASURED[name], missing))))
    worst = ordered[0]
    value = float(worst.measured) if isinstance(worst.measured, (int, float)) else None
    passed = None if status(worst) == "open" else status(worst) == "ok"
    label = "" if name == "error" else f"{worst.name[:1].upper()}{worst.name[1:]}: "
    reason = worst.meaning if passed is not None else f"{_NOTHING_MEASURED[name]} {worst.meaning}".strip()
    sentence = (label if passed is not None else "") + reason
    return Statement(name, value, worst.needed, passed, sentence, "" if name == "error" else worst.name)


def _found_again(repeats: np.ndarray | None, nouns: tuple[str, str, str], missing: str) -> Statement:
    needed = at_least(LEAST_FOUND)
    if repeats is None or not len(repeats):
        text = " ".join(filter(None, (_NOTHING_MEASURED["found again"], missing)))
        return Statement("found again", None, str(needed), None, text)
    return Statement(
        "found again",
        float(repeats.min()),
        str(needed),
        needed.holds(float(repeats.min())),
        found_sentence(repeats, nouns) + ".",
    )


def found_sentence(repeats: np.ndarray, nouns: tuple[str, str, str]) -> str:
    """``9 of 12 topics are found again in halves of the documents, 2 mostly, 1 not``."""
    one, many, _ = nouns
    well, badly = int((repeats >= FOUND).sum()), int((repeats < LEAST_FOUND).sum())
    mostly = len(repeats) - well - badly
    parts = [f"{well} of {len(repeats)} {one if len(repeats) == 1 else many} {'is' if well == 1 else 'are'} found again in "
             f"{parts_text(nouns)}"]  # fmt: skip
    parts += [f"{mostly} mostly"] if mostly else []
    parts += [f"{badly} not"] if badly and well + mostly else []
    return ", ".join(parts)
