"""``latentia ica``: independent sources of signals on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from ..ica import TensorICA
from ..report.ica import excess_kurtosis
from ..report.parts import short_number
from ._shared import (
    Cache,
    Columns,
    Comparison,
    Encoding,
    Force,
    FullEvidence,
    Ignore,
    Jobs,
    NoCache,
    Out,
    Quiet,
    Reading,
    Refine,
    Results,
    Rows,
    Seed,
    component_cells,
    parse_sizes,
    possible_sizes,
    print_components,
    run_command,
    sizes_help,
    write_csv,
)
from ._tables import (
    MISSING,
    Labels,
    MayBeMissing,
    Table,
    announce,
    described,
    read_known_columns,
    read_numbers,
    split_names,
)

__all__ = ["apply_ica", "ica"]

_SOURCES = "sources.csv"
_FILES = ("mixing.csv", _SOURCES, "unmixing.csv")


def ica(
    source: Annotated[
        Path,
        typer.Argument(
            help="A table with a header, one signal per column and one time step per row: CSV, TSV, Excel, Parquet."
        ),
    ],
    k: Annotated[
        str | None,
        typer.Option("-k", "--sources", help=sizes_help("sources, by default that of the columns")),
    ] = None,
    out: Out = Path("ica"),
    columns: Columns = None,
    ignore: Ignore = None,
    refine: Refine = "auto",
    missing: MayBeMissing = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Separate mixed signals into independent sources and write tables, a model and a report."""
    sizes: list[Any] = [None] if k is None else parse_sizes(k, "sources")
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    how = Reading.of(quiet, cache, no_cache, missing, MISSING, encoding=encoding)
    why = "two or more signals are needed to separate them"
    table = read_numbers(source, split_names(columns), split_names(ignore) or [], 2, why, how)
    console = Console()
    announce(table, console)
    values = _dense(table)
    if k is not None:
        width = values.shape[1]
        sizes = possible_sizes(sizes, width, f"{table.source}: {width} columns", "sources", console)

    def fit(size: int | None, **more: Any) -> TensorICA:
        options: dict[str, Any] = {"refine": refine, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
        return TensorICA(size, **options | more).fit(values)

    return run_command(
        results, table.source, sizes, fit,
        show=lambda model, console: _show(model, table, values, console),
        write=lambda folder, model, comparison: _write(folder, model, table, values, comparison),
        reading={"columns": table.columns},
        compare=lambda: _comparison(lambda size: fit(size, verbose=False), values),
    )  # fmt: skip


def _dense(table: Table) -> np.ndarray:
    return table.values.toarray() if sparse.issparse(table.values) else table.values


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


def _show(model: Any, table: Table, values: np.ndarray, console: Console) -> None:
    kurtosis, rows = excess_kurtosis(model.transform(values)), []
    for i, weights in enumerate(model.mixing_.T):
        strongest = np.argsort(-np.abs(weights), kind="stable")[:5]
        listed = ", ".join(f"{table.columns[d]} {short_number(weights[d], sign=True)}" for d in strongest)
        rows.append([str(i), f"{kurtosis[i]:.2f}", *component_cells(model.evidence_, i, 2), listed])
    heads = {"source": "right", "kurtosis": "right", "error": "right", "grade": "left", "strongest in": "left"}
    print_components(console, f"{len(rows)} sources", heads, rows, "unmixing.csv")


def _write(folder: Path, model: Any, table: Table, values: np.ndarray, comparison: Rows | None) -> None:
    from ..report import write_ica_report

    names = [f"source {i}" for i in range(len(model.components_))]
    sources = _write_sources(folder / _SOURCES, model, table, values)
    mixing = [
        [name, f"{mean:.8g}", *(f"{value:.8g}" for value in line)]
        for name, mean, line in zip(table.columns, model.mean_, model.mixing_, strict=True)
    ]
    write_csv(folder / "mixing.csv", ["column", "mean", *names], mixing)
    kurtosis = excess_kurtosis(sources)
    unmixing = [
        [i, f"{kurtosis[i]:.4f}", *component_cells(model.evidence_, i), *(f"{value:.8g}" for value in line)]
        for i, line in enumerate(model.components_)
    ]
    write_csv(folder / "unmixing.csv", ["source", "kurtosis", "expected crosstalk", "grade", *table.columns], unmixing)
    write_ica_report(
        folder / "report.html", model, values, columns=table.columns, sources=sources,
        title=f"Sources of {table.source}", source=described(table), comparison=comparison,
    )  # fmt: skip


def _write_sources(path: Path, model: Any, table: Table, values: np.ndarray) -> np.ndarray:
    """Every source at every row; they are returned."""
    sources: np.ndarray = model.transform(values)
    labels = Labels(table.rows, table.names)
    lines = ([*row, *(f"{value:.6g}" for value in line)] for row, line in zip(labels, sources, strict=True))
    write_csv(path, [*labels.head, *(f"source {i}" for i in range(sources.shape[1]))], lines)
    return sources


def apply_ica(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their sources."""
    names = getattr(model, "reading_", {}).get("columns", getattr(model, "feature_names_in_", None))
    table = read_known_columns(source, names, model.n_features_in_, how)
    announce(table, console)
    return lambda path: _write_sources(path, model, table, _dense(table))
