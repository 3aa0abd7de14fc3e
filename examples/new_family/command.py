"""``latentia exponentials``: `latentia.cli.exponentials`, were it a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from exponentials import ExponentialMixture
from page import rows_of, summarize_exponentials
from typer import Option

from latentia.cli._run import Run, Splits
from latentia.cli._shared import Comparison, ReadOptions, learn, parse_sizes
from latentia.cli._tables import describe_source, labels_of, read_like, read_numbers
from latentia.datasets.tables import dense


@dataclass(frozen=True, kw_only=True)
class ExponentialsOptions(Run):
    """Options of ``latentia exponentials``: a record of `latentia.cli._records`, were it a family.

    Parameters
    ----------
    source
        A table with a header: CSV, TSV, Excel, Parquet.
    column
        Column of waiting times.
    k
        Number of components; FROM:TO:STEP compares a range.
    """

    source: Path
    column: Annotated[str, Option("--column")]
    k: Annotated[str, Option("-k", "--components"), "n_components"]
    splits: Splits


def exponentials(run: ExponentialsOptions) -> dict[str, Any]:
    """Learn a mixture of exponential waiting times and write tables, a model and a report."""
    results = run.results(run.source, "components.csv", "labels.csv")
    table = read_numbers(run.source, [run.column], None, 1, "waiting times are numbers", run.reading(), "--column")
    values = dense(table)

    def fit(size: int | None) -> ExponentialMixture:
        return ExponentialMixture(size or 2, **run.parameters_of(ExponentialMixture)).fit(values)

    return learn(
        results, table.source, parse_sizes(run.k, "components"), fit,
        lambda model, _: summarize_exponentials(model, values, row_labels=labels_of(table)), description=describe_source(table),
        reading={"columns": table.columns}, compare=lambda: Comparison("components", "", fit, lambda model: {}),
    )  # fmt: skip


def apply_exponentials(model: Any, source: Path, how: ReadOptions) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their components."""
    table = read_like(model, source, how)
    return rows_of(model.predict_proba(dense(table)), labels_of(table)).write
