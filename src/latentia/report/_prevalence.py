"""What a page shows of topics by group and over time: small multiples with their intervals, and what is clear in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..topics.prevalence import Prevalence
from .figures import bands, intervals, shortened
from .parts import count

_PANELS = 12
_NAMED = 5  # in the sentence about what is clear
_MOST_BARS = 16  # groups in a panel
_TITLE = 28  # letters over a panel


def prevalence_parts(
    found: Sequence[tuple[str, Prevalence]] | None, titles: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Sections of the page, and their figures by name.

    Parameters
    ----------
    found : sequence of (name of the column, Prevalence), optional
    titles : sequence of str of length K
        Names of the topics.
    """
    sections, figures = [], {}
    for number, (name, one) in enumerate(found or []):
        by_time = one.places is not None
        topics = one.most_moving(_PANELS)
        place = f"prevalence-{number}"
        figures[place] = _curves(one, topics, titles) if by_time else _bars(one, topics, titles)
        sections.append({
            "id": place,
            "heading": f"Topics over {name}" if by_time else f"Topics by {name}",
            "label": f"Shares of {len(topics)} topics {'over' if by_time else 'by'} {name}",
            "sentence": _trends(one, titles) if by_time else _differences(one, titles),
            "by_time": by_time,
            "level": f"{one.level:.0%}",
            "n_topics": len(one.topics),
            "n_shown": len(topics),
            "n_groups": "" if by_time or len(one.labels) <= _MOST_BARS else f"{_MOST_BARS} largest of {len(one.labels)} groups",
            "left_out": count(one.n_left_out, "document") if one.n_left_out else "",
            "topic_errors": one.topic_errors,
        })  # fmt: skip
    return sections, figures


def _curves(one: Prevalence, topics: Sequence[int], titles: Sequence[str]) -> dict[str, Any]:
    """A curve in its band for each topic."""
    share, x = one.share, np.asarray(one.places)
    panels = [(_named(titles, k), x, share.value[:, k], share.low[:, k], share.high[:, k]) for k in topics]
    return bands(panels, percent=True, level=one.level)


def _bars(one: Prevalence, topics: Sequence[int], titles: Sequence[str]) -> dict[str, Any]:
    """A bar with its interval for each of the largest groups, a panel a topic."""
    largest = np.sort(np.argsort(-one.n_documents, kind="stable")[:_MOST_BARS])
    labels, share = [one.labels[g] for g in largest], one.share
    panels = [
        (_named(titles, k), labels, share.value[largest, k], share.low[largest, k], share.high[largest, k])
        for k in topics
    ]
    return intervals(panels, percent=True, level=one.level)


def _named(titles: Sequence[str], topic: int) -> str:
    return shortened(f"{topic}: {titles[topic]}", _TITLE)


def _trends(one: Prevalence, titles: Sequence[str]) -> str:
    rows, first, last = one.clear_rows(), one.labels[0], one.labels[-1]
    said = [
        f"topic {row['topic']} ({titles[row['topic']]}) {row['trend']} by {100 * abs(row['change']):.1f} points "
        f"({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
        for row in rows[:_NAMED]
    ]
    if not said:
        return f"No topic rises or falls clearly from {first} to {last}."
    return f"From {first} to {last}, {'; '.join(said)}{_more(rows)}."


def _differences(one: Prevalence, titles: Sequence[str]) -> str:
    rows = one.clear_rows()
    said = [
        f"topic {row['topic']} ({titles[row['topic']]}) has {row['share']:.1%} in {row['group']}, "
        f"{100 * row['difference']:+.1f} points from the other documents"
        for row in rows[:_NAMED]
    ]
    return (
        f"Clearly different: {'; '.join(said)}{_more(rows)}." if said else "No group differs clearly from the others."
    )


def _more(rows: Sequence[Any]) -> str:
    return f"; and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
