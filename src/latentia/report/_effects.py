"""Effects of covariates on components: a panel per term, the clearest effects in words, and a table of all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..effects import Effects
from ..summaries import Column, Figure, Table
from .figures import intervals, shorten
from .parts import count

FILE = "effects.csv"
_MAX_PANELS, _MAX_BARS, _MAX_NAME_LENGTH = 9, 30, 28  # panels of a figure, bars of a panel, characters of a name
_MAX_LINES, _MAX_ROWS = 12, 60  # of effects on the screen and on the page


def effects_parts(formula: str, effects: Effects, titles: Sequence[str]) -> tuple[Figure | Table, ...]:
    """Return the figure and the table of a page."""
    singular, plural, row_noun = effects.nouns
    component_names = effects.components if effects.combined else [f"{k}: {title}" for k, title in enumerate(titles)]
    labels = [shorten(name, _MAX_NAME_LENGTH) for name in component_names[:_MAX_BARS]]
    panels = [
        (_term_text(term, effects), labels, value[:_MAX_BARS], low[:_MAX_BARS], high[:_MAX_BARS])
        for term, value, low, high in effects.panels()[:_MAX_PANELS]
    ]
    component_text = ", and of errors of the components" if effects.component_errors else ""
    figure = Figure(
        "effects",
        intervals(panels, percent=True, level=effects.level),
        f"Effects of {formula.lstrip('~ ')}",
        f"Effects on {len(labels)} {singular if len(labels) == 1 else plural}",
        f"Change of the share of a {singular} with a term, in percentage points; a group is compared with the named "
        f"reference. The line at the end of a bar contains the true value with a chance of {effects.level:.0%}. "
        f"{_rows_text(effects)}.",
        term="Effects",
        meaning=f"Least-squares coefficients of the shares. {_INTERVAL_TEXT.format(row_noun)}{component_text}; "
        "they do not allow for components that are not real.",
    )
    rows = effects.rows()
    columns = tuple(
        Column(key, [row[key] for row in rows], ".6g" if isinstance(rows[0][key], float) else str) for key in rows[0]
    )
    return figure, Table("effects", columns, title="All effects", file=FILE, most=_MAX_ROWS, folded="Show the table")


def effects_lines(formula: str, effects: Effects, titles: Sequence[str]) -> tuple[str, ...]:
    """Return lines about the clearest effects, for the screen."""
    doubtful = set(effects.not_supported)
    rows = [row for row in effects.rows() if row["term"] != "Intercept" and row["component"] not in doubtful]
    rows.sort(key=lambda row: row["p_value"])
    wide = max((len(_term_text(row["term"], effects)) for row in rows[:_MAX_LINES]), default=0)
    lines = [
        f"  {_term_text(row['term'], effects):<{wide}}  {100 * row['estimate']:+6.1f} points "
        f"({100 * row['low']:+.1f} to {100 * row['high']:+.1f})  {_component_text(row, effects, titles)}"
        for row in rows[:_MAX_LINES]
    ]
    closing_lines = [f"  {len(rows) - _MAX_LINES} more in {FILE}"] if len(rows) > _MAX_LINES else []
    if doubtful:
        closing_lines += [
            f"  {count(len(doubtful), effects.nouns[0])} without support by the evidence left out: see {FILE}."
        ]
    return (
        f"\nEffects of {formula.lstrip('~ ')}, the clearest first; {_rows_text(effects)}:",
        *lines,
        *closing_lines,
        "",
    )


def _term_text(term: str, effects: Effects) -> str:
    """Write a term in words: "party: left (vs right)" compares the group "left" with the reference "right"."""
    reference = effects.reference_of(term)
    return re.sub(r"\[(?:T\.)?(.*?)\]", r": \1", term) + (f" (vs {reference})" if reference else "")


def _component_text(row: dict[str, Any], effects: Effects, titles: Sequence[str]) -> str:
    k = row["component"]
    return str(row["name"]) if effects.combined else f"{effects.nouns[0]} {k} ({titles[k]})"


def _rows_text(effects: Effects) -> str:
    clusters = f" in {count(effects.n_clusters, 'cluster')}" if effects.n_clusters != effects.n_rows else ""
    left_out = f", {effects.n_left_out:,} left out" if effects.n_left_out else ""
    return f"{effects.n_rows:,} {effects.nouns[2]}{clusters}{left_out}"


_INTERVAL_TEXT = "Intervals allow for the sampling of {}, the noise within them, and clusters if given"
