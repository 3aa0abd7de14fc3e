"""Topics by group and over time on the command line: options, a table, and what is clear printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from ..datasets import Corpus
from ..exceptions import LatentiaError
from ..topics.periods import UNITS, periods_of
from ..topics.prevalence import Prevalence, groups_of
from ._shared import say, write_csv

PREVALENCE = ("prevalence.csv", "trends.csv")
_PRINTED = 5

GroupBy = Annotated[
    list[str] | None,
    typer.Option(help="Column with the group of every document: topics by group, with error bars. May be repeated."),
]
Over = Annotated[
    str | None, typer.Option(help="Column with dates or numbers: topics over time, with error bars and trends.")
]
PeriodOf = Annotated[
    str | None,
    typer.Option("--period", help=f"With --over: {', '.join(UNITS)}, or a width of numbers; by default it is chosen."),
]


class Groups(NamedTuple):
    """Columns with groups, the one with times, and the periods of these."""

    by: Sequence[str] = ()
    over: str | None = None
    period: str | float | None = None


def check_groups(corpus: Corpus, group_by: Sequence[str] | None, over: str | None, period: str | None) -> Groups:
    """The columns, which are there and can be used, and the period; an error before any fit otherwise."""
    if period is not None and over is None:
        raise LatentiaError("--period: belongs to --over COLUMN.")
    width = _width(period)
    for option, column in [*(("--group-by", name) for name in group_by or []), *([("--over", over)] if over else [])]:
        values = _column(corpus, option, column)
        try:
            if option == "--over":
                periods_of(values, width)
            else:
                groups_of(values)
        except LatentiaError as error:
            raise LatentiaError(f"{option} {column}: {error.problem}") from error
    return Groups(group_by or (), over, width)


def prevalence_of(model: Any, corpus: Corpus, groups: Groups) -> list[tuple[str, Prevalence]]:
    """Names of the columns, and how much of each topic their groups or periods have."""
    columns, blocks, over = corpus.columns, corpus.blocks, groups.over
    found = [(name, model.prevalence_by(blocks, columns[name])) for name in groups.by]
    if over is not None:
        found.append((over, model.prevalence_over(blocks, columns[over], period=groups.period)))
    return found


def write_prevalence(folder: Path, found: Sequence[tuple[str, Prevalence]]) -> None:
    """Every share with its bounds, and trends where there are times."""
    rows = [{"column": name} | row for name, one in found for row in one.rows()]
    if rows:
        write_csv(folder / PREVALENCE[0], list(rows[0]), [_cells(row) for row in rows])
    trends = [{"column": name} | row for name, one in found for row in one.trends()]
    if trends:
        write_csv(folder / PREVALENCE[1], list(trends[0]), [_cells(row) for row in trends])


def print_prevalence(console: Console, found: Sequence[tuple[str, Prevalence]], titles: Sequence[str]) -> None:
    """What differs most between groups, and what rises and falls, as far as it is clear; ``titles`` are those of the topics."""
    for name, one in found:
        by_time, n = one.places is not None, len(one.labels)
        left = f"; {one.n_left_out:,} documents left out" if one.n_left_out else ""
        what = f"{'Over' if by_time else 'By'} {name}, {n} {'period' if by_time else 'group'}{'' if n == 1 else 's'}"
        say(console, f"\n{what}{left}:")
        lines = _trends(one, titles) if by_time else _differences(one, titles)
        for line in lines[:_PRINTED] or ["Nothing that is clear beyond chance."]:
            say(console, f"  {line}")
        if len(lines) > _PRINTED:
            say(console, f"  {len(lines) - _PRINTED} more in {PREVALENCE[int(by_time)]}")
    if found:
        say(console, "")


def _differences(one: Prevalence, titles: Sequence[str]) -> list[str]:
    """Clear differences of groups from all others."""
    return [
        f"{titles[row['topic']]}: {row['share']:.1%} in {row['group']} ({row['low']:.1%} to {row['high']:.1%}), "
        f"{100 * row['difference']:+.1f} points from the others"
        for row in one.clear_rows()
    ]


def _trends(one: Prevalence, titles: Sequence[str]) -> list[str]:
    """Clear changes."""
    first, last = one.labels[0], one.labels[-1]
    return [
        f"{titles[row['topic']]}: {row['trend']} by {abs(100 * row['change']):.1f} points from {first} to {last} "
        f"({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
        for row in one.clear_rows()
    ]


def _column(corpus: Corpus, option: str, name: str) -> list[str]:
    if name in corpus.columns:
        return corpus.columns[name]
    if not corpus.columns:
        raise LatentiaError(
            f"{option} {name}: {corpus.source} has no columns besides the texts. Give a table about the documents with "
            "--metadata."
        )
    raise LatentiaError(f"{option} {name}: there is no such column. There are {', '.join(corpus.columns)}.")


def _width(period: str | None) -> str | float | None:
    if period is None or period in UNITS:
        return period
    try:
        return float(period)
    except ValueError:
        raise LatentiaError(f"--period {period}: one of {', '.join(UNITS)}, or a number, is needed.") from None


def _cells(row: dict[str, Any]) -> list[Any]:
    texts = {True: "yes", False: ""}
    return [
        f"{value:.6f}" if isinstance(value, float) else texts[value] if isinstance(value, bool) else value
        for value in row.values()
    ]
