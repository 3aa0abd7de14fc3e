"""Topics by group and over time, and effects on them, on the command line: options, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from ..datasets import Corpus
from ..effects import Effects
from ..effects.design import design_of
from ..exceptions import LatentiaError, MissingExtraError
from ..topics.periods import UNITS, periods_of
from ..topics.prevalence import Prevalence, groups_of

_BY = "Column with the group of every document: topics by group, with error bars. May be repeated."
_OVER = "Column with dates or numbers: topics over time, with error bars and trends."
_PERIOD = f"With --over: {', '.join(UNITS)}, or a width of numbers; by default it is chosen."
GroupBy = Annotated[list[str] | None, typer.Option(help=_BY)]
Over = Annotated[str | None, typer.Option(help=_OVER)]
_EFFECTS = "Formula of columns, such as '~ party + year': their effects on the topics, with error bars."
_CLUSTER = "With --effects: column of what documents depend on each other within, such as their author."
EffectsOf = Annotated[str | None, typer.Option("--effects", help=_EFFECTS)]
ClusterOf = Annotated[str | None, typer.Option("--cluster", help=_CLUSTER)]
PeriodOf = Annotated[str | None, typer.Option("--period", help=_PERIOD)]


def prevalence_in(
    corpus: Corpus, by: Sequence[str], over: str | None, period: str | None
) -> Callable[[Any], list[tuple[str, Prevalence]]]:
    """What measures how much of each topic of a model there is in groups and periods, with names of the columns.

    These are there and can be used: an error before any fit otherwise.
    """
    if period is not None and over is None:
        raise LatentiaError("--period: belongs to --over COLUMN.")
    width = _width(period)
    for name in by:
        _check("--group-by", name, corpus, groups_of)
    if over is not None:
        _check("--over", over, corpus, lambda times: periods_of(times, width))

    def measured(model: Any) -> list[tuple[str, Prevalence]]:
        found = [(name, model.prevalence_by(corpus.blocks, corpus.columns[name])) for name in by]
        if over is not None:
            found.append((over, model.prevalence_over(corpus.blocks, corpus.columns[over], period=width)))
        return found

    return measured


def _check(option: str, name: str, corpus: Corpus, use: Callable[[list[str]], object]) -> None:
    _check_columns(f"{option} {name}", corpus)
    if name not in corpus.columns:
        raise LatentiaError(f"{option} {name}: there is no such column. There are {', '.join(corpus.columns)}.")
    try:
        use(corpus.columns[name])
    except LatentiaError as error:
        raise LatentiaError(f"{option} {name}: {error.problem}") from error


def _check_columns(option: str, corpus: Corpus) -> None:
    if not corpus.columns:
        raise LatentiaError(
            f"{option}: {corpus.source} has no columns besides the texts. Give a table about the documents with --metadata."
        )


def _width(period: str | None) -> str | float | None:
    if period is None or period in UNITS:
        return period
    try:
        return float(period)
    except ValueError:
        raise LatentiaError(f"--period {period}: one of {', '.join(UNITS)}, or a number, is needed.") from None


def effects_in(corpus: Corpus, formula: str | None, cluster: str | None) -> Callable[[Any], tuple[str, Effects] | None]:
    """What measures the effects of columns on the topics of a model; these can be used: an error before any fit otherwise."""
    if formula is None:
        if cluster is not None:
            raise LatentiaError("--cluster: belongs to --effects FORMULA.")
        return lambda model: None
    _check_columns(f"--effects '{formula}'", corpus)
    table, n = {name: _typed(values) for name, values in corpus.columns.items()}, corpus.blocks.n_rows
    try:
        design_of(formula, table, n)
    except MissingExtraError:
        raise
    except LatentiaError as error:
        raise LatentiaError(f"--effects '{formula}': {error.problem}") from error
    if cluster is not None:
        _check("--cluster", cluster, corpus, lambda values: values)
    return lambda model: (formula, model.effects(corpus.blocks, formula, table, cluster=cluster))


def _typed(values: Sequence[str]) -> Sequence[Any]:
    """Numbers, NaN for blanks, where all entries of a column are numbers; else the texts."""
    try:
        return [float(value) if value.strip() else np.nan for value in values]
    except ValueError:
        return values
