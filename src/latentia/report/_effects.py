"""Effects of covariates on components: a panel a term, what is clearest in words, and a table of all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..effects import Effects
from ..summaries import Column, Figure, Table
from .figures import intervals, shortened
from .parts import count

FILE = "effects.csv"
_PANELS, _BARS, _LETTERS = 9, 30, 28  # of a figure, components in a panel, and in a name
_LINES, _ROWS = 12, 60  # on the screen, and on the page


def effects_parts(formula: str, found: Effects, titles: Sequence[str]) -> tuple[Figure | Table, ...]:
    """The figure and the table of a page."""
    one, several, of_rows = found.nouns
    named = found.components if found.combined else [f"{k}: {title}" for k, title in enumerate(titles)]
    labels = [shortened(name, _LETTERS) for name in named[:_BARS]]
    panels = [
        (_said(term, found), labels, value[:_BARS], low[:_BARS], high[:_BARS])
        for term, value, low, high in found.panels()[:_PANELS]
    ]
    known = ", and of errors of the components" if found.component_errors else ""
    figure = Figure(
        "effects",
        intervals(panels, percent=True, level=found.level),
        f"Effects of {formula.lstrip('~ ')}",
        f"Effects on {len(labels)} {one if len(labels) == 1 else several}",
        f"By how many points the share of a {one} changes with a term, of a group beside the one that is named; the line "
        f"through the end of a bar holds the true value with a chance of {found.level:.0%}. {_used(found)}.",
        term="Effects",
        meaning=f"Coefficients of least squares of the shares. {_KNOWS.format(of_rows)}{known}; "
        "not of components that are none.",
    )
    rows = found.rows()
    columns = tuple(
        Column(key, [row[key] for row in rows], ".6g" if isinstance(rows[0][key], float) else str) for key in rows[0]
    )
    return figure, Table("effects", columns, title="All effects", file=FILE, most=_ROWS, folded="Show the table")


def effects_lines(formula: str, found: Effects, titles: Sequence[str]) -> tuple[str, ...]:
    """The clearest effects, for the screen."""
    doubtful = set(found.not_supported)
    rows = [row for row in found.rows() if row["term"] != "Intercept" and row["component"] not in doubtful]
    rows.sort(key=lambda row: row["p_value"])
    wide = max((len(_said(row["term"], found)) for row in rows[:_LINES]), default=0)
    said = [
        f"  {_said(row['term'], found):<{wide}}  {100 * row['estimate']:+6.1f} points "
        f"({100 * row['low']:+.1f} to {100 * row['high']:+.1f})  {_named(row, found, titles)}"
        for row in rows[:_LINES]
    ]
    more = [f"  {len(rows) - _LINES} more in {FILE}"] if len(rows) > _LINES else []
    if doubtful:
        more += [f"  Not shown are {count(len(doubtful), found.nouns[0])} without support by the evidence: see {FILE}."]
    return f"\nEffects of {formula.lstrip('~ ')}, the clearest first; {_used(found)}:", *said, *more, ""


def _said(term: str, found: Effects) -> str:
    """A term in words: "party: left (beside right)" is the group of that name beside the one that has no term."""
    reference = found.reference_of(term)
    return re.sub(r"\[(?:T\.)?(.*?)\]", r": \1", term) + (f" (beside {reference})" if reference else "")


def _named(row: dict[str, Any], found: Effects, titles: Sequence[str]) -> str:
    k = row["component"]
    return str(row["name"]) if found.combined else f"{found.nouns[0]} {k} ({titles[k]})"


def _used(found: Effects) -> str:
    clusters = f" in {count(found.n_clusters, 'cluster')}" if found.n_clusters != found.n_rows else ""
    left = f", {found.n_left_out:,} left out" if found.n_left_out else ""
    return f"{found.n_rows:,} {found.nouns[2]}{clusters}{left}"


_KNOWS = "Intervals know of the choice of {}, of the noise within them, of clusters where these are given"
