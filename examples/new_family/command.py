"""``latentia exponentials``: `latentia.cli.exponentials`, were it a family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from exponentials import ExponentialMixture
from page import rows_of, summarize_exponentials

from latentia.cli._run import Run
from latentia.cli._shared import Comparison, ReadOptions, learn, parse_sizes
from latentia.cli._tables import describe_source, labels_of, read_like, read_numbers
from latentia.datasets.tables import dense


def exponentials(run: Run, source: Path, column: str, k: str = "2", splits: int = 3) -> dict[str, Any]:
    """Learn a mixture of exponential waiting times and write tables, a model and a report.

    Parameters
    ----------
    source
        A table with a header: CSV, TSV, Excel, Parquet.
    column : --column
        Column of waiting times.
    k : -k, --components
        Number of components; FROM:TO:STEP compares a range.
    """
    results = run.results(source, "components.csv", "labels.csv")
    table = read_numbers(source, [column], None, 1, "waiting times are numbers", run.reading(), "--column")
    values = dense(table)

    def fit(size: int | None) -> ExponentialMixture:
        return ExponentialMixture(size or 2, n_splits=splits, **run.parameters).fit(values)

    return learn(
        results, table.source, parse_sizes(k, "components"), fit,
        lambda model, _: summarize_exponentials(model, values, row_labels=labels_of(table)), description=describe_source(table),
        reading={"columns": table.columns}, compare=lambda: Comparison("components", "", fit, lambda model: {}),
    )  # fmt: skip


def apply_exponentials(model: Any, source: Path, how: ReadOptions) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their components."""
    table = read_like(model, source, how)
    return rows_of(model.predict_proba(dense(table)), labels_of(table)).write
