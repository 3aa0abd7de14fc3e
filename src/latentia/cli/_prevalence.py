"""Topics by group and over time, on the command line: options, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..datasets import Corpus
from ..exceptions import LatentiaError
from ..topics.periods import UNITS, assign_periods
from ..topics.prevalence import Prevalence, assign_groups


def prepare_prevalence(
    corpus: Corpus, by: Sequence[str], over: str | None, period: str | None
) -> Callable[[Any], list[tuple[str, Prevalence]]]:
    """What measures how much of each topic of a model there is in groups and periods, with names of the columns.

    These are there and can be used: an error before any fit otherwise.
    """
    if period is not None and over is None:
        raise LatentiaError("--period: belongs to --over COLUMN.")
    width = _parse_width(period)
    for name in by:
        _check("--group-by", name, corpus, assign_groups)
    if over is not None:
        _check("--over", over, corpus, lambda times: assign_periods(times, width))

    def measure(model: Any) -> list[tuple[str, Prevalence]]:
        results = [(name, model.prevalence_by(corpus.blocks, corpus.columns[name])) for name in by]
        if over is not None:
            results.append((over, model.prevalence_over(corpus.blocks, corpus.columns[over], period=width)))
        return results

    return measure


def _check(option: str, name: str, corpus: Corpus, use: Callable[[list[str]], object]) -> None:
    if not corpus.columns:
        raise LatentiaError(f"{option} {name}: {no_columns(corpus.source)}")
    if name not in corpus.columns:
        raise LatentiaError(f"{option} {name}: there is no such column. There are {', '.join(corpus.columns)}.")
    try:
        use(corpus.columns[name])
    except LatentiaError as error:
        raise LatentiaError(f"{option} {name}: {error.message}") from error


def no_columns(source: str) -> str:
    """What is said where a corpus has none."""
    return f"{source} has no columns besides the texts. Give a table about the documents with --metadata."


def _parse_width(period: str | None) -> str | float | None:
    if period is None or period in UNITS:
        return period
    try:
        return float(period)
    except ValueError:
        raise LatentiaError(f"--period {period}: one of {', '.join(UNITS)}, or a number, is needed.") from None
