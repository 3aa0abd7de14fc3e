"""``latentia exponentials``: `latentia.cli.exponentials`, were it a family."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from exponentials import ExponentialMixture
from page import rows_of, summarize_exponentials
from rich.console import Console

from latentia.cli._shared import Comparison, Reading, Run, Splits, learn, parse_sizes, sizes_help
from latentia.cli._tables import announce, described, labels_of, read_known_columns, read_numbers
from latentia.datasets.tables import dense


def exponentials(
    run: Run,
    source: Annotated[Path, typer.Argument(help="A table with a header: CSV, TSV, Excel, Parquet.")],
    column: Annotated[str, typer.Option(help="Column of waiting times.")],
    k: Annotated[str, typer.Option("-k", "--components", help=sizes_help("components"))] = "2",
    splits: Splits = 3,
) -> dict[str, Any]:
    """Learn a mixture of exponential waiting times and write tables, a model and a report."""
    results = run.results(source, "components.csv", "labels.csv")
    table = read_numbers(source, [column], [], 1, "waiting times are numbers", run.reading(), "--column")
    announce(table, run.console)
    values = dense(table)

    def fit(size: int | None) -> ExponentialMixture:
        return ExponentialMixture(size or 2, n_splits=splits, **run.parameters).fit(values)

    return learn(
        results, table.source, parse_sizes(k, "components"), fit,
        lambda model, comparison: summarize_exponentials(
            model, values, row_labels=labels_of(table), title=f"Waiting times of {table.source}", source=described(table),
            comparison=comparison,
        ),
        reading={"columns": table.columns}, compare=lambda: Comparison("components", "", fit, lambda model: {}),
    )  # fmt: skip


def apply_exponentials(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their components."""
    table = read_known_columns(source, model.reading_["columns"], 1, how)
    return lambda path: rows_of(model.predict_proba(dense(table)), labels_of(table)).write(path)
