"""``latentia ica``: independent sources of signals on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ..datasets.tables import dense
from ..ica import TensorICA
from ..report.ica import excess_kurtosis, rows_of, summarize_ica
from ._shared import (
    Columns,
    Comparison,
    Ignore,
    KeepMoments,
    Reading,
    Refine,
    Run,
    check_choice,
    learn,
    parse_sizes,
    possible_sizes,
    sizes_help,
)
from ._tables import (
    MISSING,
    MayBeMissing,
    announce,
    described,
    labels_of,
    read_known_columns,
    read_numbers,
    split_names,
)

_SIGNALS = "A table with a header, one signal per column and one time step per row: CSV, TSV, Excel, Parquet."


def ica(
    run: Run,
    source: Annotated[Path, typer.Argument(help=_SIGNALS)],
    k: Annotated[
        str | None, typer.Option("-k", "--sources", help=sizes_help("sources, by default that of the columns"))
    ] = None,
    columns: Columns = None,
    ignore: Ignore = None,
    refine: Refine = "auto",
    noise: Annotated[
        str, typer.Option(help="Gaussian noise in the signals: gaussian or none; auto decides from the data.")
    ] = "auto",
    keep_moments: KeepMoments = False,
    missing: MayBeMissing = None,
) -> dict[str, Any]:
    """Separate mixed signals into independent sources and write tables, a model and a report."""
    check_choice("--noise", noise, ("auto", "gaussian", "none"))
    sizes: list[Any] = [None] if k is None else parse_sizes(k, "sources")
    results = run.results(source, "mixing.csv", "sources.csv", "unmixing.csv")
    why = "two or more signals are needed to separate them"
    table = read_numbers(source, split_names(columns), split_names(ignore) or [], 2, why, run.reading(missing, MISSING))
    announce(table, run.console)
    values = dense(table)
    if k is not None:
        width = values.shape[1]
        sizes = possible_sizes(sizes, width, f"{table.source}: {width} columns", "sources", run.console)

    def fit(size: int | None, **more: Any) -> TensorICA:
        modelled = None if noise == "none" else noise
        options: dict[str, Any] = {"refine": refine, "noise": modelled, "keep_moments": keep_moments}
        return TensorICA(size, **options | run.parameters | more).fit(values)

    return learn(
        results, table.source, sizes, fit,
        lambda model, comparison: summarize_ica(
            model, values, columns=table.columns, row_labels=labels_of(table), title=f"Sources of {table.source}",
            source=described(table), comparison=comparison,
        ),
        reading={"columns": table.columns},
        compare=lambda: _comparison(lambda size: fit(size, verbose=False), values),
    )  # fmt: skip


def _comparison(fit: Callable[[int], Any], values: np.ndarray) -> Comparison:
    """Models of all rows: there is no likelihood to hold rows out for."""
    total = float(values.var(axis=0).sum())

    def measure(model: Any) -> dict[str, Any]:
        sources = model.transform(values)
        return {
            "variance kept": float((sources @ model.mixing_.T).var(axis=0).sum()) / total,
            "least |kurtosis|": float(np.abs(excess_kurtosis(sources)).min()),
        }

    return Comparison("sources", "", fit, measure)


def added_ica(model: Any, source: Path, console: Console, how: Reading) -> tuple[Any, ...]:
    """Read rows that are added to a model."""
    table = read_known_columns(source, model.column_names, model.n_features_in_, how)
    announce(table, console)
    return (dense(table),)


def apply_ica(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their sources."""
    table = read_known_columns(source, model.column_names, model.n_features_in_, how)
    announce(table, console)
    return lambda path: rows_of(model.transform(dense(table)), labels_of(table)).write(path)
