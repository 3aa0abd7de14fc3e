"""Evidence as HTML for notebooks: inline styles alone, colours that show on light and dark ground, no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

from .checks import Check, describe, number_text
from .grades import Components, Grade
from .repeats import again_text
from .sentences import ERRORS_SENTENCE
from .statements import Statement, Status, status

# Words stand beside the colours, and white letters on them are readable.
_GRADES = {
    "supported": ("✓", "#0072b2"),
    "with care": ("!", "#946200"),
    "partly": ("◐", "#946200"),
    "not supported": ("✕", "#a33b00"),
}
_UNMEASURED = ("?", "#5f6b76")
_SAYS = {"ok": _GRADES["supported"], "look": _GRADES["with care"], "bad": _GRADES["not supported"], "open": _UNMEASURED}
_LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = f"text-align:left;vertical-align:top;padding:.25em .8em .25em 0;white-space:normal;{_LINE}"
_NUMBER = f"text-align:right;vertical-align:top;padding:.25em .8em .25em 0;white-space:nowrap;{_LINE}"
_MOST = 100  # components that are listed


class Shown(Protocol):
    """What a page says of `latentia.evidence.Evidence`."""

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
    def topics(self) -> Shown | None: ...
    @property
    def marks(self) -> list[tuple[Status, Statement]]: ...
    @property
    def reasons(self) -> list[tuple[Status, Check]]: ...
    def rests_on(self) -> list[tuple[Status, Check]]: ...


def evidence_page(evidence: Shown) -> str:
    """Verdict and advice, the four statements and what did not hold, and folded the components and all measurements."""
    head, _, sentence = evidence.verdict.partition(". ")
    closing = ERRORS_SENTENCE if evidence.on_components else ""
    look = _GRADES[evidence.grade] if evidence.measured else _UNMEASURED
    parts = [
        f"<p style='margin:.2em 0;font-size:1.1em'>{_badge(*look, head)} <b>{escape(sentence)}</b></p>",
        f"<p style='margin:.4em 0'>{escape(evidence.advice)}</p>",
        _checks(evidence),
        _components(evidence),
        _notes(evidence),
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
    """Cells are HTML already; headings are texts with the style of their column."""
    head = "".join(f"<th scope='col' style='{style};font-weight:600'>{escape(text)}</th>" for text, style in headings)
    body = "".join(
        "<tr style='background:transparent'>"
        + "".join(f"<td style='{style}'>{cell}</td>" for cell, (_, style) in zip(row, headings, strict=True))
        + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums"
    return f"<table style='{style}'><thead><tr style='background:transparent'>{head}</tr></thead><tbody>{body}</tbody></table>"


def _folded(summary: str, inside: str) -> str:
    return (
        f"<details style='margin:.3em 0'><summary style='cursor:pointer'>{escape(summary)}</summary>{inside}</details>"
    )


def _checks(evidence: Shown) -> str:
    rows = [
        [
            _badge(*_SAYS[mark], mark),
            f"<b>{one.name}</b>",
            escape(one.measured),
            _needed(one.needed),
            escape(one.sentence),
        ]
        for mark, one in evidence.marks
    ]
    for mark, check in evidence.reasons:
        name, measured, _, _, meaning = map(escape, describe(check))
        remedy = f" <b>{escape(check.remedy)}</b>" if check.remedy else ""
        rows.append([_badge(*_SAYS[mark], mark), name, measured, _needed(check.needed), meaning + remedy])
    headings = [("", _CELL), ("statement", _CELL), ("measured", _NUMBER), ("needed", _CELL), ("meaning", _CELL)]
    return _table(headings, rows)


def _components(evidence: Shown) -> str:
    records = [] if evidence.topics is not None else list(evidence.components)
    if len(records) < 2:
        return ""
    one, many, rows = evidence.nouns
    shared = all(record.share is not None for record in records)
    measured = all(record.found_again is not None for record in records)
    lines = [
        [
            str(record.component),
            *([f"{100 * (record.share or 0.0):.1f}%"] if shared else []),
            _error(record.expected_error),
            _badge(*_GRADES[record.grade], record.grade),
            *([again_text(record.found_again)] if measured else []),
        ]
        for record in records[:_MOST]
    ]
    share = [(f"share of the {rows}", _NUMBER)] if shared else []
    found = [("found again", _CELL)] if measured else []
    headings = [(one, _NUMBER), *share, ("expected error", _NUMBER), ("grade", _CELL), *found]
    more = f"<p>and {len(records) - _MOST} more</p>" if len(records) > _MOST else ""
    return _folded(f"The {len(records)} {many}", _table(headings, lines) + more)


def _error(value: float | None) -> str:
    return "" if value is None else "&lt; 0.001" if value < 0.001 else number_text(value)


def _needed(text: str) -> str:
    return escape(text.replace("<=", "≤").replace(">=", "≥"))


def _notes(evidence: Shown) -> str:
    rows = []
    for check in evidence.checks:
        name, measured, _, _, meaning = map(escape, describe(check))
        reference = " · ".join(part for part in (check.reference, check.symbol) if part)
        says = _badge(*_SAYS[mark], mark) if (mark := status(check)) else ""
        rows.append([says, name, measured, _needed(check.needed), meaning, f"<small>{escape(reference)}</small>"])
    if not rows:
        return ""
    columns = [("measured", _NUMBER), ("needed", _CELL), ("meaning", _CELL), ("reference", _CELL)]
    lines = "1 measurement" if len(rows) == 1 else f"{len(rows)} measurements"
    return _folded(f"{lines} that these rest on", _table([("", _CELL), ("check", _CELL), *columns], rows))
