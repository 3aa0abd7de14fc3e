"""Topics by group and over time: small multiples with their intervals, what is clear in words, and tables of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..summaries import Column, Figure, Table
from ..topics.prevalence import Prevalence
from .figures import bands, intervals, shorten
from .parts import count

FILES = "prevalence.csv", "trends.csv"
_PANELS, _MOST_BARS, _LETTERS = 12, 16, 28  # of a figure, groups in a panel, and over it
_NAMED = 5  # of what is clear

Found = Sequence[tuple[str, Prevalence]]


def prevalence_figures(found: Found, titles: Sequence[str]) -> tuple[Figure, ...]:
    """A figure for each of the columns; ``titles`` are the names of the topics."""
    return tuple(_figure(number, name, one, titles) for number, (name, one) in enumerate(found))


def prevalence_tables(found: Found) -> tuple[Table, ...]:
    """Every share with its bounds, and trends where there are times."""
    listed = ("prevalence", Prevalence.rows), ("trends", Prevalence.trends)
    made = []
    for (title, rows_of), file in zip(listed, FILES, strict=True):
        rows = [{"column": name} | row for name, one in found for row in rows_of(one)]
        columns = (Column(key, [row[key] for row in rows], _cell) for key in (rows[0] if rows else ()))
        made += [Table(title, tuple(columns), file=file)] if rows else []
    return tuple(made)


def prevalence_lines(found: Found, titles: Sequence[str]) -> tuple[str, ...]:
    """What differs most between groups, and what rises and falls, as far as it is clear, for the screen."""
    lines = []
    for name, one in found:
        by_time = one.places is not None
        what = f"{'Over' if by_time else 'By'} {name}, {count(len(one.labels), 'period' if by_time else 'group')}"
        said = _clear(one, titles, screen=True)
        more = [f"{len(said) - _NAMED} more in {FILES[int(by_time)]}"] if len(said) > _NAMED else []
        left = f"; {one.n_left_out:,} documents left out" if one.n_left_out else ""
        lines += [f"\n{what}{left}:"]
        lines += [f"  {line}" for line in [*said[:_NAMED], *more] or ["Nothing that is clear beyond chance."]]
        lines += [f"  {line}" for line in _unsupported(one)]
    return (*lines, "") if lines else ()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _clear(one: Prevalence, titles: Sequence[str], screen: bool = False) -> list[str]:
    """A phrase for every change or difference that is clear, the largest first."""
    form = {
        (True, False): "{topic} {trend} by {size:.1f} points ({low:+.1f} to {high:+.1f})",
        (True, True): "{topic}: {trend} by {size:.1f} points from {first} to {last} ({low:+.1f} to {high:+.1f})",
        (False, False): "{topic} has {share:.1f}% in {group}, {difference:+.1f} points from the other documents",
        (False, True): "{topic}: {share:.1f}% in {group} ({low:.1f}% to {high:.1f}%), {difference:+.1f} points from the others",
    }[one.places is not None, screen]  # fmt: skip
    said, ends = [], {"first": one.labels[0], "last": one.labels[-1]}
    for row in one.clear_rows():
        numbers = {key: 100 * value for key, value in row.items() if isinstance(value, float)}
        topic = f"topic {row['topic']} ({titles[row['topic']]})"
        said.append(form.format(**row | ends | numbers | {"size": abs(numbers.get("change", 0.0)), "topic": topic}))
    return said


def _figure(number: int, name: str, one: Prevalence, titles: Sequence[str]) -> Figure:
    """A curve in its band, or bars of the largest groups with their intervals, for each of the topics that move most."""
    by_time, topics, n = one.places is not None, one.most_moving(_PANELS), len(one.labels)
    shown = np.arange(n) if by_time else np.sort(np.argsort(-one.n_documents, kind="stable")[:_MOST_BARS])
    x: Any = [one.labels[g] for g in shown]
    if by_time:
        x = np.asarray(one.places if one.numbers is None else one.numbers)
    bounds = (one.share.value, one.share.low, one.share.high)
    held = f"holds the true share with a chance of {one.level:.0%}."
    panels = [(shorten(f"{k}: {titles[k]}", _LETTERS), x, *(part[shown, k] for part in bounds)) for k in topics]
    largest = f" ({_MOST_BARS} largest of {n} groups)" if len(shown) < n else ""
    where = "a period; the band" if by_time else f"a group{largest}; the line through the end of a bar"
    caption = f"Mean share of each topic in the documents of {where} {held}"
    if len(topics) < len(one.topics):
        caption += f" The {len(topics)} of {len(one.topics)} topics that move most beyond chance are shown; "
        caption += "all are in prevalence.csv."
    if one.n_left_out:
        left_out = f"{count(one.n_left_out, 'document')} without {'a time' if by_time else 'a group'}"
        caption += f" {left_out} or without words left out."
    how = f"{'over' if by_time else 'by'} {name}"
    known = " and of the errors of the topics" if one.topic_errors else ""
    return Figure(
        f"prevalence-{number}",
        bands(panels, labels=one.axis or None, percent=True, level=one.level)
        if by_time
        else intervals(panels, percent=True, level=one.level),
        f"Topics {how}",
        f"Shares of {len(topics)} topics {how}",
        caption,
        term="Topics by group and over time",
        meaning="" if number else f"{_INTERVALS}{known}; {_DEPENDENT}",
        hint=" ".join([_sentence(one, _clear(one, titles)), *_unsupported(one)]),
    )


def _unsupported(one: Prevalence) -> list[str]:
    """Return a sentence on topics of which nothing is called clear, if there are any."""
    n = len(one.not_supported)
    return [f"Of {count(n, 'topic')} without support by the evidence nothing is called clear."] if n else []


def _sentence(one: Prevalence, said: list[str]) -> str:
    ends, by_time = f"rom {one.labels[0]} to {one.labels[-1]}", one.places is not None
    if not said:
        return f"No topic rises or falls clearly f{ends}." if by_time else "No group differs clearly from the others."
    more = [f"and {len(said) - _NAMED} more"] if len(said) > _NAMED else []
    return f"{f'F{ends},' if by_time else 'Clearly different:'} {'; '.join([*said[:_NAMED], *more])}."


_INTERVALS = "Documents weigh equally. The intervals know of the choice of documents, of the noise of their words"
_DEPENDENT = (
    "many documents by one author, or copies, count for less. A difference or change is called clear where it is more "
    "than chance makes of all topics together."
)
