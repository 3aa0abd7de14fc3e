"""Common parts of all reports: marks of grades, the evidence, a comparison of sizes."""

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
    """Appearance of a grade: `key` is its name in the style sheet, `label` its word."""

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
    """Return the mark of a grade."""
    return _MARKS[grade]


def grade_mark(grade: str, error: float | None) -> Mark:
    """Return the mark of a component's grade, or "not measured" without an error."""
    return _UNMEASURED if error is None or not np.isfinite(error) or not grade else _MARKS[grade]


def mean_error(evidence: Evidence, sentence: str) -> str:
    """Fill a sentence with the mean expected error of the components; empty if none was measured.

    ``{}`` stands for the error in two digits, ``{1}`` for the number, and ``{2}`` for half of it, at most 1.
    """
    measured = [component.expected_error for component in evidence.components if component.expected_error is not None]
    measured = [error for error in measured if np.isfinite(error)]
    mean = float(np.mean(measured)) if measured else 0.0
    return sentence.format(f"{mean:.2g}", mean, min(mean / 2, 1)) if measured else ""


def grades_say(evidence: Evidence, criterion: str, consequence: str) -> str:
    """Explain the grades of components for the limit of the evidence."""
    if evidence.limit is None:
        return "It was not measured here."
    return (
        f"With an error up to {evidence.limit:.3g}, {criterion} is *supported*; up to twice that limit, or three times if it is"
        f" found again, it is *with care*; above, it is *not supported*: {consequence}. It is also *not supported* if fewer"
        " than half of the fits on other rows have it. If *fit* has not passed, the best grade is *with care*; without"
        " *structure* none is supported."
    )


def column_names(
    names: Sequence[object] | None, width: int, parameter: str = "columns", *, X: Any = None, noun: str = ""
) -> list[str]:
    """Return the names of the columns, by default their numbers from 1; raise unless they agree with X and the ``noun``."""
    result = [f"column {i}" for i in range(1, width + 1)] if names is None else [str(name) for name in names]
    data_width = width if X is None else X.shape[1]
    if noun and not len(result) == width == data_width:
        raise LatentiaError(
            f"columns has {len(result)} entries, the data {data_width} columns and the {noun} {width}: they must agree."
        )
    if len(result) != width:
        raise LatentiaError(f"{parameter} has {len(result)} entries and the data has {width}: they must agree.")
    return result


def evidence_of(model: Any) -> Evidence:
    """Return the evidence of a model; empty evidence if it has none."""
    return model.evidence_ or Evidence([])


def component_marks(evidence: Evidence, n_components: int) -> list[tuple[float | None, Mark]]:
    """Return the expected error of each component, None if not measured, with the mark of its grade."""
    graded_errors = [
        (
            component.expected_error
            if component.expected_error is not None and np.isfinite(component.expected_error)
            else None,
            component.grade,
        )
        for component in evidence.components
    ]
    if len(graded_errors) != n_components:
        return [(None, _UNMEASURED)] * n_components
    return [(error, _UNMEASURED if error is None else mark_of(grade)) for error, grade in graded_errors]


def evidence_parts(evidence: Evidence) -> dict[str, Any]:
    """Return the evidence for pages: verdict, advice, number of components by grade, statements and checks."""
    sentence = evidence.verdict.partition(". ")[2]
    return {
        "mark": mark_of(evidence.grade) if evidence.measured else _UNMEASURED,
        "sentence": sentence,
        "advice": evidence.advice,
        "grades": _grades(evidence) if evidence.topics is None else [],
        "statements": [_statement(mark, statement) for mark, statement in evidence.marks],
        "reasons": [_check(check) for _, check in evidence.reasons],
        "checks": [_check(check) for check in evidence.checks],
        "closing": "" if evidence.component_errors is None or not evidence.on_components else ERRORS_SENTENCE,
    }


def _grades(evidence: Evidence) -> list[tuple[Mark, int, str]]:
    """Count the components of each grade, with their share of the data."""
    rows = []
    for grade in GRADES:
        grade_columns = evidence.components.of(grade)
        if grade_columns:
            has_shares = all(component.share is not None for component in grade_columns)
            share = (
                f"{sum(component.share or 0.0 for component in grade_columns):.0%} of the {evidence.nouns[2]}"
                if has_shares
                else ""
            )
            rows.append((mark_of(grade), len(grade_columns), share))
    return rows


def _statement(mark: str, statement: Statement) -> dict[str, str]:
    """Return a statement as text."""
    return {
        "says": mark,
        "name": statement.name,
        "measured": statement.measured,
        "needed": _signs(statement.needed),
        "meaning": statement.sentence,
    }


def _check(check: Check) -> dict[str, str]:
    """Return a check as text; ``headline`` is empty for notes."""
    mark = status(check)
    texts = dict(zip(("name", "measured", "needed", "holds", "meaning"), describe(check), strict=True))
    remedy = check.remedy if mark in ("bad", "look") else ""
    return texts | {
        "needed": _signs(check.needed), "reference": check.reference, "symbol": check.symbol, "says": mark, "remedy": remedy
    }  # fmt: skip


def _signs(needed: str) -> str:
    return needed.replace("<=", "≤").replace(">=", "≥")


def first_sentence(text: str) -> str:
    """Return a text up to the first full stop before a space."""
    first, stop, _ = text.partition(". ")
    return first + stop.rstrip()


def comparison_rows(rows: Sequence[Mapping[str, Any]] | None, size: int) -> dict[str, Any] | None:
    """Return headings and rows of text, with marks for grades; the row of this model's size is flagged."""
    if not rows:
        return None
    headings = list(dict.fromkeys(key for row in rows for key in row))
    cells = [
        (
            [_MARKS.get(str(row.get(key)), "") if key == "grade" else _cell(row.get(key)) for key in headings],
            row.get(headings[0]) == size,
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


def check_shape(name: str, array: Any, *shape: int) -> None:
    """Raise for an option, an array, whose shape differs from that of the model and the data."""
    if array.shape != shape:
        expected, found = (" x ".join(f"{size:,}" for size in sizes) for sizes in (shape, array.shape))
        raise LatentiaError(f"Expected {expected} numbers; found {found}.", parameter=name)


def check_keys(name: str, values: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Raise for an option, a dict, that lacks some keys."""
    missing = [key for key in keys if key not in values]
    if missing:
        raise LatentiaError(
            f"Expected a dict with {listing(map(repr, missing))}; found {listing(values)}.", parameter=name
        )


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of the largest values, largest first; ties stay in order."""
    if count < len(values):
        limit = np.partition(values, -count)[-count]
        above = np.flatnonzero(values >= limit)
    else:
        above = np.arange(len(values))
    return above[np.argsort(-values[above], kind="stable")][:count]


def listing(names: Iterable[object], max_names: int = 4, comma: str = ", ") -> str:
    """Join the first names to a phrase, "a, b and c", with the number of further ones."""
    texts = [str(name) for name in names]
    visible = texts if len(texts) <= max_names else [*texts[: max_names - 1], f"{len(texts) - max_names + 1:,} more"]
    return " and ".join(part for part in (comma.join(visible[:-1]), *visible[-1:]) if part)


def short_number(value: float, sign: bool = False) -> str:
    """Format a number with three digits; numbers from 1,000 to a million are whole, with thousands separators."""
    form = ",.0f" if 1000 <= abs(value) < 1e6 else ".3g"
    return format(value, ("+" if sign else "") + form)


def directions(values: np.ndarray, edge: float) -> tuple[Column, ...]:
    """Return table columns of eigenvalues, numbered from 1, and of the edge of the noise."""
    edges = Column("edge of the noise", [edge] * len(values), ".8g")
    return Column("direction", range(1, len(values) + 1)), Column("eigenvalue", values, ".8g"), edges


def version() -> str:
    """Return the version of this library."""
    from .. import __version__

    return __version__
