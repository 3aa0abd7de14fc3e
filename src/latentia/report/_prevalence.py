"""Topics by group and over time: figures with intervals, sentences on what is clear, and tables of all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..summaries import Column, Figure, Table
from ..topics.prevalence import Prevalence
from .figures import bands, intervals, shorten
from .parts import count

FILES = "prevalence.csv", "trends.csv"
_MAX_PANELS, _MAX_BARS, _MAX_LETTERS = 12, 16, 28  # Panels of a figure, bars in a panel, letters of its title.
_MAX_NAMED = 5  # Clear changes or differences in a sentence.

_BY_LINE = "by a straight line through all periods"

NamedPrevalences = Sequence[tuple[str, Prevalence]]


def prevalence_figures(prevalences: NamedPrevalences, titles: Sequence[str]) -> tuple[Figure, ...]:
    """Make a figure for each column; ``titles`` are the names of the topics."""
    return tuple(_figure(number, name, prevalence, titles) for number, (name, prevalence) in enumerate(prevalences))


def prevalence_tables(prevalences: NamedPrevalences) -> tuple[Table, ...]:
    """Make tables of every share with its bounds, and of trends over time."""
    listed = ("prevalence", Prevalence.rows), ("trends", Prevalence.trends)
    tables = []
    for (title, rows_of), file in zip(listed, FILES, strict=True):
        rows = [{"column": name} | row for name, prevalence in prevalences for row in rows_of(prevalence)]
        columns = (Column(key, [row[key] for row in rows], _format_cell) for key in (rows[0] if rows else ()))
        tables += [Table(title, tuple(columns), file=file)] if rows else []
    return tuple(tables)


def prevalence_lines(prevalences: NamedPrevalences, titles: Sequence[str]) -> tuple[str, ...]:
    """Describe the largest clear differences between groups, and clear trends, for the screen."""
    lines = []
    for name, prevalence in prevalences:
        by_time = prevalence.places is not None
        heading = (
            f"{'Over' if by_time else 'By'} {name}, {count(len(prevalence.labels), 'period' if by_time else 'group')}"
        )
        phrases = _describe_clear(prevalence, titles, screen=True)
        further = [f"{len(phrases) - _MAX_NAMED} more in {FILES[int(by_time)]}"] if len(phrases) > _MAX_NAMED else []
        omitted = f"; {prevalence.n_left_out:,} documents left out" if prevalence.n_left_out else ""
        lines += [f"\n{heading}{omitted}{f'; changes {_BY_LINE}' if by_time and phrases else ''}:"]
        lines += [f"  {line}" for line in [*phrases[:_MAX_NAMED], *further] or ["Nothing is clear beyond chance."]]
        lines += [f"  {line}" for line in _describe_unsupported(prevalence)]
    return (*lines, "") if lines else ()


def _format_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _describe_clear(prevalence: Prevalence, titles: Sequence[str], screen: bool = False) -> list[str]:
    """Describe every clear change or difference in a phrase, the largest first."""
    form = {
        (True, False): "{topic} {trend} by {size:.1f} points ({low:+.1f} to {high:+.1f}), with {ends}",
        (True, True): "{topic}: {trend} by {size:.1f} points ({low:+.1f} to {high:+.1f}), with {ends}",
        (False, False): "{topic} has {share:.1f}% in {group}, {difference:+.1f} points from the other documents",
        (False, True): "{topic}: {share:.1f}% in {group} ({low:.1f}% to {high:.1f}%), {difference:+.1f} points from the others",
    }[prevalence.places is not None, screen]  # fmt: skip
    phrases = []
    for row in prevalence.clear_rows():
        numbers = {key: 100 * value for key, value in row.items() if isinstance(value, float)}
        topic = f"topic {row['topic']} ({titles[row['topic']]})"
        first, last = prevalence.share.value[[0, -1], row["topic"]]
        ends = f"{first:.1%} in {prevalence.labels[0]} and {last:.1%} in {prevalence.labels[-1]}"
        size = abs(numbers.get("change", 0.0))
        phrases.append(form.format(**row | numbers | {"size": size, "topic": topic, "ends": ends}))
    return phrases


def _figure(number: int, name: str, prevalence: Prevalence, titles: Sequence[str]) -> Figure:
    """Draw a curve in its band, or bars of the largest groups with intervals, for the topics that move most."""
    by_time, topics, n = prevalence.places is not None, prevalence.most_moving(_MAX_PANELS), len(prevalence.labels)
    groups = np.arange(n) if by_time else np.sort(np.argsort(-prevalence.n_documents, kind="stable")[:_MAX_BARS])
    x: Any = [prevalence.labels[g] for g in groups]
    if by_time:
        x = np.asarray(prevalence.places if prevalence.numbers is None else prevalence.numbers)
    bounds = (prevalence.share.value, prevalence.share.low, prevalence.share.high)
    chance = f"holds the true share with a chance of {prevalence.level:.0%}."
    panels = [(shorten(f"{k}: {titles[k]}", _MAX_LETTERS), x, *(part[groups, k] for part in bounds)) for k in topics]
    largest = f" ({_MAX_BARS} largest of {n} groups)" if len(groups) < n else ""
    where = "a period; the band" if by_time else f"a group{largest}; the line through the end of a bar"
    caption = f"Mean share of each topic in the documents of {where} {chance}"
    if len(topics) < len(prevalence.topics):
        caption += f" The {len(topics)} of {len(prevalence.topics)} topics that move most beyond chance are shown; "
        caption += "all are in prevalence.csv."
    if prevalence.n_left_out:
        left_out = f"{count(prevalence.n_left_out, 'document')} without {'a time' if by_time else 'a group'}"
        caption += f" {left_out} or without words left out."
    grouping = f"{'over' if by_time else 'by'} {name}"
    topic_errors = " and the errors of the topics" if prevalence.topic_errors else ""
    return Figure(
        f"prevalence-{number}",
        bands(panels, labels=prevalence.axis or None, percent=True, level=prevalence.level)
        if by_time
        else intervals(panels, percent=True, level=prevalence.level),
        f"Topics {grouping}",
        f"Shares of {len(topics)} topics {grouping}",
        caption,
        term="Topics by group and over time",
        meaning="" if number else f"{_INTERVALS}{topic_errors}; {_DEPENDENT}",
        hint=" ".join(
            [_summarise_clear(prevalence, _describe_clear(prevalence, titles)), *_describe_unsupported(prevalence)]
        ),
    )


def _describe_unsupported(prevalence: Prevalence) -> list[str]:
    """Return a sentence on the topics that are not supported, if there are any."""
    n = len(prevalence.not_supported)
    return [f"Nothing is called clear for {count(n, 'topic')} without support by the evidence."] if n else []


def _summarise_clear(prevalence: Prevalence, phrases: list[str]) -> str:
    by_time = prevalence.places is not None
    if not phrases:
        return (
            f"No topic rises or falls clearly {_BY_LINE}." if by_time else "No group differs clearly from the others."
        )
    further = [f"and {len(phrases) - _MAX_NAMED} more"] if len(phrases) > _MAX_NAMED else []
    heading = f"{_BY_LINE.capitalize()}," if by_time else "Clearly different:"
    return f"{heading} {'; '.join([*phrases[:_MAX_NAMED], *further])}."


_INTERVALS = "Documents have equal weights. The intervals include the choice of documents, the noise of their words"
_DEPENDENT = (
    "many documents by one author, or copies, contain less information. A difference or change is called clear if it is "
    "more than chance would make for any of the topics."
)
