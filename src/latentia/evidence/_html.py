"""Evidence as HTML for notebooks: inline styles only, colours for light and dark backgrounds, no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

from .checks import Check, describe, number_text
from .grades import Components, Grade
from .repeats import again_text
from .sentences import ERRORS_SENTENCE
from .statements import Statement, Status, status

# Sign and colour of each grade. White letters on these colours are readable.
_GRADE_STYLES = {
    "supported": ("✓", "#0072b2"),
    "with care": ("!", "#946200"),
    "partly": ("◐", "#946200"),
    "not supported": ("✕", "#a33b00"),
}
_UNMEASURED_STYLE = ("?", "#5f6b76")
_STYLES = {
    "ok": _GRADE_STYLES["supported"],
    "look": _GRADE_STYLES["with care"],
    "bad": _GRADE_STYLES["not supported"],
    "open": _UNMEASURED_STYLE,
}
_BORDER = "border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = f"text-align:left;vertical-align:top;padding:.25em .8em .25em 0;white-space:normal;{_BORDER}"
_NUMBER = f"text-align:right;vertical-align:top;padding:.25em .8em .25em 0;white-space:nowrap;{_BORDER}"
_MAX_COMPONENTS = 100  # rows of the table of components


class EvidenceLike(Protocol):
    """Part of `latentia.evidence.Evidence` that a page shows."""

    checks: list[Check]
    nouns: tuple[str, str, str]

    @property
    def grade(self) -> Grade: ...
    @property
    def measured(self) -> bool: ...
    @property
    def verdict(self) -> str: ...
    @property
    def advice(self) -> str: ...
    @property
    def on_components(self) -> bool: ...
    @property
    def components(self) -> Components: ...
    @property
    def topics(self) -> EvidenceLike | None: ...
    @property
    def marks(self) -> list[tuple[Status, Statement]]: ...
    @property
    def reasons(self) -> list[tuple[Status, Check]]: ...
    def rests_on(self) -> list[tuple[Status, Check]]: ...


def evidence_page(evidence: EvidenceLike) -> str:
    """Render verdict, advice, statements and failed checks; components and all measurements are folded."""
    head, _, sentence = evidence.verdict.partition(". ")
    closing = ERRORS_SENTENCE if evidence.on_components else ""
    style = _GRADE_STYLES[evidence.grade] if evidence.measured else _UNMEASURED_STYLE
    parts = [
        f"<p style='margin:.2em 0;font-size:1.1em'>{_badge(*style, head)} <b>{escape(sentence)}</b></p>",
        f"<p style='margin:.4em 0'>{escape(evidence.advice)}</p>",
        _checks_table(evidence),
        _components_table(evidence),
        _notes_table(evidence),
        f"<p style='margin:.4em 0;opacity:.75'><small>{escape(closing)}</small></p>" if closing else "",
    ]
    if evidence.topics is not None:
        heading = escape(evidence.topics.nouns[1].capitalize())
        parts.append(f"<p style='margin:1em 0 .2em'><b>{heading}</b></p>{evidence_page(evidence.topics)}")
    return f"<div style='max-width:64em;line-height:1.45'>{''.join(parts)}</div>"


def _badge(sign: str, colour: str, word: str) -> str:
    style = f"background:{colour};color:#fff;border-radius:.8em;padding:.05em .65em;white-space:nowrap"
    return f"<span style='{style}'><span aria-hidden='true'>{sign}</span> {escape(word)}</span>"


def _table(headings: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """Render a table of HTML cells; headings are plain texts with the style of their column."""
    head = "".join(f"<th scope='col' style='{style};font-weight:600'>{escape(text)}</th>" for text, style in headings)
    body = "".join(
        "<tr style='background:transparent'>"
        + "".join(f"<td style='{style}'>{cell}</td>" for cell, (_, style) in zip(row, headings, strict=True))
        + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums"
    return f"<table style='{style}'><thead><tr style='background:transparent'>{head}</tr></thead><tbody>{body}</tbody></table>"


def _fold(summary: str, content: str) -> str:
    return (
        f"<details style='margin:.3em 0'><summary style='cursor:pointer'>{escape(summary)}</summary>{content}</details>"
    )


def _checks_table(evidence: EvidenceLike) -> str:
    rows = [
        [
            _badge(*_STYLES[mark], mark),
            f"<b>{statement.name}</b>",
            escape(statement.measured),
            _bound_text(statement.needed),
            escape(statement.sentence),
        ]
        for mark, statement in evidence.marks
    ]
    for mark, check in evidence.reasons:
        name, measured, _, _, meaning = map(escape, describe(check))
        remedy = f" <b>{escape(check.remedy)}</b>" if check.remedy else ""
        rows.append([_badge(*_STYLES[mark], mark), name, measured, _bound_text(check.needed), meaning + remedy])
    headings = [("", _CELL), ("statement", _CELL), ("measured", _NUMBER), ("needed", _CELL), ("meaning", _CELL)]
    return _table(headings, rows)


def _components_table(evidence: EvidenceLike) -> str:
    records = [] if evidence.topics is not None else list(evidence.components)
    if len(records) < 2:
        return ""
    singular, plural, rows = evidence.nouns
    has_shares = all(record.share is not None for record in records)
    has_repeats = all(record.found_again is not None for record in records)
    lines = [
        [
            str(record.component),
            *([f"{100 * (record.share or 0.0):.1f}%"] if has_shares else []),
            _error_text(record.expected_error),
            _badge(*_GRADE_STYLES[record.grade], record.grade),
            *([again_text(record.found_again)] if has_repeats else []),
        ]
        for record in records[:_MAX_COMPONENTS]
    ]
    share_heading = [(f"share of the {rows}", _NUMBER)] if has_shares else []
    repeat_heading = [("found again", _CELL)] if has_repeats else []
    headings = [(singular, _NUMBER), *share_heading, ("expected error", _NUMBER), ("grade", _CELL), *repeat_heading]
    remainder = f"<p>and {len(records) - _MAX_COMPONENTS} more</p>" if len(records) > _MAX_COMPONENTS else ""
    return _fold(f"The {len(records)} {plural}", _table(headings, lines) + remainder)


def _error_text(value: float | None) -> str:
    return "" if value is None else "&lt; 0.001" if value < 0.001 else number_text(value)


def _bound_text(text: str) -> str:
    return escape(text.replace("<=", "≤").replace(">=", "≥"))


def _notes_table(evidence: EvidenceLike) -> str:
    rows = []
    for check in evidence.checks:
        name, measured, _, _, meaning = map(escape, describe(check))
        reference = " · ".join(part for part in (check.reference, check.symbol) if part)
        badge = _badge(*_STYLES[mark], mark) if (mark := status(check)) else ""
        rows.append([badge, name, measured, _bound_text(check.needed), meaning, f"<small>{escape(reference)}</small>"])
    if not rows:
        return ""
    columns = [("measured", _NUMBER), ("needed", _CELL), ("meaning", _CELL), ("reference", _CELL)]
    lines = "1 measurement" if len(rows) == 1 else f"{len(rows)} measurements"
    return _fold(f"{lines} behind these statements", _table([("", _CELL), ("check", _CELL), *columns], rows))
