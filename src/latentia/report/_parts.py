"""What every report has: grades of components, a verdict, the evidence table, a comparison of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evidence import Evidence
from ..evidence.checks import describe

__all__ = [
    "RELIABLE",
    "Grade",
    "Nouns",
    "comparison_rows",
    "component_errors",
    "count",
    "error_limit",
    "evidence_rows",
    "grade",
    "largest",
    "legend",
    "short_number",
    "verdict",
    "version",
]


@dataclass(frozen=True)
class Grade:
    """How far a component may be trusted; `key` is its name in the style sheet."""

    key: str
    label: str


@dataclass(frozen=True)
class Nouns:
    """What a report calls its components, one of them, and the data that more of would help."""

    many: str
    one: str
    data: str


RELIABLE = Grade("good", "reliable")
_CARE = Grade("care", "read with care")
_UNREADABLE = Grade("bad", "unreliable")
_UNKNOWN = Grade("unknown", "not measured")


def component_errors(evidence: Evidence | None, n_components: int) -> list[float | None]:
    """Expected errors of the components; None for each that was not measured."""
    errors = None if evidence is None else evidence.component_errors
    if errors is None:
        return [None] * n_components
    return [float(error) if np.isfinite(error) else None for error in errors]


def error_limit(evidence: Evidence | None, otherwise: float = 0.4) -> float:
    """The mean expected error up to which the evidence supports a fit."""
    limit = None if evidence is None else evidence.limit
    return otherwise if limit is None else limit


def grade(error: float | None, limit: float = 0.4) -> Grade:
    """Reliable up to the limit of the evidence, with care up to twice as much."""
    if error is None:
        return _UNKNOWN
    return RELIABLE if error <= limit else _CARE if error <= 2 * limit else _UNREADABLE


def legend(errors: Sequence[float | None], limit: float = 0.4) -> list[tuple[Grade, str, int]]:
    """Grades with their rules and the number of components of each; a measured model's also where there are none."""
    grades = [grade(error, limit) for error in errors]
    low, high = f"{limit:.3g}", f"{2 * limit:.3g}"
    rules = (
        (RELIABLE, f"expected error up to {low}"),
        (_CARE, f"above {low}, up to {high}"),
        (_UNREADABLE, f"above {high}"),
    )
    unknown = grades.count(_UNKNOWN)
    measured = [(g, rule, grades.count(g)) for g, rule in rules] if unknown < len(grades) else []
    return measured + ([(_UNKNOWN, "no error was measured", unknown)] if unknown else [])


def verdict(evidence: Evidence | None, grades: Sequence[Grade], nouns: Nouns, sentence: str) -> dict[str, str]:
    """The verdict: a key for the style sheet, a headline, and what it means; ``sentence`` explains the mean error."""
    if evidence is None or not evidence.measured:
        text = f"No error bars were made for this model, so nothing is known about how far its {nouns.many} can be trusted."
        return {"key": "unknown", "headline": f"These {nouns.many} were not checked", "text": text, "error": ""}
    if evidence.holds:
        headline, text = f"The evidence supports these {nouns.many}", "They can be read and compared one by one."
        return {"key": "good", "headline": headline, "text": text, "error": sentence}
    headline = f"The evidence does not support these {nouns.many} as a whole"
    more = f"ewer {nouns.many}, or more {nouns.data}"
    text = f"Read only those marked reliable. F{more}, usually make the others firmer."
    if RELIABLE not in grades:
        text = f"None of them is reliable. Try f{more}."
    failed = [check.name for check in evidence.failed if check.name != "expected error"]
    if failed:
        text = (
            f"The data does not tell so many {nouns.many} from noise (in the evidence: {', '.join(failed)}), so that errors "
            f"may be larger than stated. Try f{more}."
        )
    return {"key": "bad", "headline": headline, "text": text, "error": sentence}


def evidence_rows(evidence: Evidence | None) -> list[dict[str, str]]:
    """The checks as texts."""
    columns = ("name", "measured", "needed", "holds", "meaning")
    checks = [] if evidence is None else evidence.checks
    return [
        dict(zip(columns, describe(check), strict=True)) | {"reference": check.reference, "symbol": check.symbol}
        for check in checks
    ]


def comparison_rows(rows: Sequence[Mapping[str, Any]] | None, size: int) -> dict[str, Any] | None:
    """Headings, and rows of texts with a mark on those of this model's size."""
    if not rows:
        return None
    headings = list(dict.fromkeys(key for row in rows for key in row))
    cells = [([_cell(row.get(key)) for key in headings], row.get(headings[0]) == size) for row in rows]
    return {"headings": [str(heading).replace("_", " ") for heading in headings], "rows": cells}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "NO"
    if isinstance(value, (float, np.floating)):
        number = float(value)
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


def short_number(value: float, sign: bool = False) -> str:
    """Three digits; numbers of four to six before the point whole, and in groups of three."""
    form = ",.0f" if 1000 <= abs(value) < 1e6 else ".3g"
    return format(value, ("+" if sign else "") + form)


def count(number: int, noun: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def version() -> str:
    """Of this library."""
    from .. import __version__

    return __version__
