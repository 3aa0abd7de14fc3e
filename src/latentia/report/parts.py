"""What every report has: how grades look, what the evidence says, a comparison of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evidence import GRADES, Check, Evidence, Grade, Statement
from ..evidence.checks import count as count
from ..evidence.checks import describe
from ..evidence.sentences import ERRORS_SENTENCE
from ..evidence.statements import status
from ..exceptions import LatentiaError
from ..summaries import Column


@dataclass(frozen=True)
class Mark:
    """How a grade looks: `key` is its name in the style sheet, `label` the word."""

    key: str
    label: str


_MARKS = {
    "supported": Mark("good", "supported"),
    "with care": Mark("care", "with care"),
    "partly": Mark("partly", "partly supported"),
    "not supported": Mark("bad", "not supported"),
}
_UNMEASURED = Mark("unknown", "not measured")


def mark_of(grade: Grade) -> Mark:
    """How a grade looks."""
    return _MARKS[grade]


def grade_mark(grade: str, error: float | None) -> Mark:
    """How the grade of a component looks, or that its error was not measured."""
    return _UNMEASURED if error is None or not np.isfinite(error) or not grade else _MARKS[grade]


def mean_error(evidence: Evidence, sentence: str) -> str:
    """A sentence about the mean expected error of the components, empty where none was measured.

    It has ``{}`` for the error in two digits, or ``{1}`` for the number, and ``{2}`` for half of it, of which all is 1.
    """
    measured = [one.expected_error for one in evidence.components if one.expected_error is not None]
    measured = [error for error in measured if np.isfinite(error)]
    mean = float(np.mean(measured)) if measured else 0.0
    return sentence.format(f"{mean:.2g}", mean, min(mean / 2, 1)) if measured else ""


def grades_say(evidence: Evidence, what: str, bad: str) -> str:
    """What grades of components mean, for the limit of the evidence."""
    if evidence.limit is None:
        return "It was not measured here."
    return (
        f"Up to {evidence.limit:.3g} {what} is *supported*, up to twice as much *with care*, or three times of what is found "
        f"again, and above *not supported*: {bad}. So is what other rows have less than half of. Where *fit* has not passed, "
        "none is better than *with care*, and without *structure* none is supported."
    )


def column_names(
    names: Sequence[object] | None, width: int, parameter: str = "columns", *, X: Any = None, what: str = ""
) -> list[str]:
    """Names of the columns, or their numbers from 1; ``what`` has the width that those of the data have to have as well."""
    found = [f"column {i}" for i in range(1, width + 1)] if names is None else [str(name) for name in names]
    given = width if X is None else X.shape[1]
    if what and not len(found) == width == given:
        raise LatentiaError(
            f"columns has {len(found)} entries, the data {given} columns and the {what} {width}: they must agree."
        )
    if len(found) != width:
        raise LatentiaError(f"{parameter} has {len(found)} entries and the data has {width}: they must agree.")
    return found


def evidence_of(model: Any) -> Evidence:
    """The evidence of a model; one without checks where it has none."""
    return model.evidence_ or Evidence([])


def component_marks(evidence: Evidence, n_components: int) -> list[tuple[float | None, Mark]]:
    """Expected error of each component, None where it was not measured, and how its grade looks."""
    found = [
        (one.expected_error if one.expected_error is not None and np.isfinite(one.expected_error) else None, one.grade)
        for one in evidence.components
    ]
    if len(found) != n_components:
        return [(None, _UNMEASURED)] * n_components
    return [(error, _UNMEASURED if error is None else mark_of(grade)) for error, grade in found]


def evidence_parts(evidence: Evidence) -> dict[str, Any]:
    """The evidence as pages show it: verdict and advice, how many components have which grade, checks, and what errors are."""
    sentence = evidence.verdict.partition(". ")[2]
    return {
        "mark": mark_of(evidence.grade) if evidence.measured else _UNMEASURED,
        "sentence": sentence,
        "advice": evidence.advice,
        "grades": _grades(evidence) if evidence.topics is None else [],
        "statements": [_statement(mark, one) for mark, one in evidence.marks],
        "reasons": [_check(check) for _, check in evidence.reasons],
        "checks": [_check(check) for check in evidence.checks],
        "closing": "" if evidence.component_errors is None or not evidence.on_components else ERRORS_SENTENCE,
    }


def _grades(evidence: Evidence) -> list[tuple[Mark, int, str]]:
    """How many components have each grade, and what share of the data."""
    found = []
    for grade in GRADES:
        some = evidence.components.of(grade)
        if some:
            known = all(one.share is not None for one in some)
            share = f"{sum(one.share or 0.0 for one in some):.0%} of the {evidence.nouns[2]}" if known else ""
            found.append((mark_of(grade), len(some), share))
    return found


def _statement(mark: str, one: Statement) -> dict[str, str]:
    """A statement as texts."""
    return {
        "says": mark,
        "name": one.name,
        "measured": one.measured,
        "needed": _signs(one.needed),
        "meaning": one.sentence,
    }


def _check(check: Check) -> dict[str, str]:
    """A check as texts; ``says`` is empty for notes."""
    mark = status(check)
    found = dict(zip(("name", "measured", "needed", "holds", "meaning"), describe(check), strict=True))
    remedy = check.remedy if mark in ("bad", "look") else ""
    return found | {
        "needed": _signs(check.needed), "reference": check.reference, "symbol": check.symbol, "says": mark, "remedy": remedy
    }  # fmt: skip


def _signs(needed: str) -> str:
    return needed.replace("<=", "≤").replace(">=", "≥")


def first_sentence(text: str) -> str:
    """Up to the first full stop that a space follows."""
    first, stop, _ = text.partition(". ")
    return first + stop.rstrip()


def comparison_rows(rows: Sequence[Mapping[str, Any]] | None, size: int) -> dict[str, Any] | None:
    """Headings, and rows of texts, or of marks where they are grades, with a sign on those of this model's size."""
    if not rows:
        return None
    headings = list(dict.fromkeys(key for row in rows for key in row))
    cells = [
        (
            [_MARKS.get(str(row.get(key)), "") if key == "grade" else _cell(row.get(key)) for key in headings],
            row[headings[0]] == size,
        )
        for row in rows
    ]
    return {"headings": [str(heading).replace("_", " ") for heading in headings], "rows": cells}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not np.isfinite(number):
            return ""
        return f"{number:,.0f}" if number.is_integer() or abs(number) >= 1000 else f"{number:.3g}"
    return str(value)


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest values, largest first; equal ones in their order."""
    if count < len(values):
        limit = np.partition(values, -count)[-count]
        above = np.flatnonzero(values >= limit)
    else:
        above = np.arange(len(values))
    return above[np.argsort(-values[above], kind="stable")][:count]


def listing(names: Iterable[object], most: int = 4, comma: str = ", ") -> str:
    """The first names as a phrase: "a, b and c", and how many more there are."""
    every = [str(name) for name in names]
    shown = every if len(every) <= most else [*every[: most - 1], f"{len(every) - most + 1:,} more"]
    return " and ".join(one for one in (comma.join(shown[:-1]), *shown[-1:]) if one)


def short_number(value: float, sign: bool = False) -> str:
    """Three digits; numbers of four to six before the point whole, and in groups of three."""
    form = ",.0f" if 1000 <= abs(value) < 1e6 else ".3g"
    return format(value, ("+" if sign else "") + form)


def directions(values: np.ndarray, edge: float) -> tuple[Column, ...]:
    """Columns of a table of eigenvalues, which are numbered from 1, and of the edge of the noise."""
    edges = Column("edge of the noise", [edge] * len(values), ".8g")
    return Column("direction", range(1, len(values) + 1)), Column("eigenvalue", values, ".8g"), edges


def version() -> str:
    """Of this library."""
    from .. import __version__

    return __version__
