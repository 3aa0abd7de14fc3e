"""Command line options for topics by group and over time."""

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
    """Check the columns of groups and times; return a function that measures the topics of a model by them.

    The check raises an error before any fit. The function returns pairs of a column and its `Prevalence`.
    """
    if period is not None and over is None:
        raise LatentiaError("--period needs --over COLUMN.")
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
        raise LatentiaError(f"{option} {name}: expected one of the columns {', '.join(corpus.columns)}.")
    try:
        use(corpus.columns[name])
    except LatentiaError as error:
        raise LatentiaError(f"{option} {name}: {error.message}") from error


def no_columns(source: str) -> str:
    """Return the message for a corpus without columns."""
    return f"{source} has no columns besides the texts. Give a table about the documents with --metadata."


def _parse_width(period: str | None) -> str | float | None:
    if period is None or period in UNITS:
        return period
    try:
        return float(period)
    except ValueError:
        raise LatentiaError(f"--period {period}: expected one of {', '.join(UNITS)}, or a number.") from None
