"""``latentia ica``: independent sources of signals on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen

from .. import persistence
from ..exceptions import LatentiaError
from ..ica import TensorICA
from ..report import import_report
from ..report._parts import short_number
from ..report.ica import excess_kurtosis
from ._shared import (
    Columns,
    Force,
    Jobs,
    Quiet,
    Seed,
    check_jobs,
    check_target,
    error_cell,
    named,
    print_evidence,
    write_all,
    write_csv,
    write_evidence,
)
from ._tables import Table, Wanted, announce, numeric_columns, read_table, split_names

__all__ = ["ica"]


def ica(
    source: Annotated[
        Path,
        typer.Argument(help="A table with a header, a signal a column and a time step a row: CSV, TSV, Parquet."),
    ],
    k: Annotated[
        int | None, typer.Option("-k", help="Number of sources; by default that of the columns.", min=1)
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("ica"),
    columns: Columns = None,
    ignore: Annotated[
        str | None, typer.Option(help="Columns to leave out, such as a time, separated by commas.")
    ] = None,
    refine: Annotated[
        int, typer.Option(help="Most iterations of FastICA after the recovery; 0 keeps to the theorem.", min=0)
    ] = 50,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Separate mixed signals into independent sources and write tables, a model and a report."""
    check_jobs(jobs)
    check_target(out, source, force)
    import_report()
    chosen, left = split_names(columns), split_names(ignore) or []
    table = read_table(source, lambda kinds: _choose(source, kinds, chosen, left))
    console = Console()
    announce(table, console)
    values = table.values if isinstance(table.values, np.ndarray) else table.values.toarray()
    if k is not None and k > values.shape[1]:
        raise LatentiaError(f"{table.source}: {values.shape[1]} columns cannot carry {k} sources; lower -k.")
    with named(table.source):
        model = TensorICA(k, refine=refine, random_state=seed, n_jobs=jobs, verbose=not quiet).fit(values)
    sources = model.transform(values)
    written = write_all(out, lambda folder: _write(folder, model, table, values, sources))
    _print_sources(model, table, sources, console)
    print_evidence(model.evidence_, console)
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


def _choose(path: Path, kinds: Mapping[str, str], columns: list[str] | None, ignore: list[str]) -> Wanted:
    chosen = numeric_columns(path, kinds, columns, ignore)
    if len(chosen) < 2:
        raise LatentiaError(
            f"{path}: one column of numbers, {chosen[0]!r}: two or more signals are needed to separate them."
        )
    return Wanted(chosen)


def _print_sources(model: TensorICA, table: Table, sources: np.ndarray, console: Console) -> None:
    screen = Screen(title=f"{len(model.components_)} sources")
    for name in ("source", "kurtosis", "error"):
        screen.add_column(name, justify="right")
    screen.add_column("strongest in")
    kurtosis, errors = excess_kurtosis(sources), model.evidence_.component_errors
    for i, weights in enumerate(model.mixing_.T):
        strongest = np.argsort(-np.abs(weights), kind="stable")[:5]
        listed = ", ".join(f"{table.columns[d]} {short_number(weights[d], sign=True)}" for d in strongest)
        screen.add_row(str(i), f"{kurtosis[i]:.2f}", error_cell(errors, i, 2), escape(listed))
    console.print(screen)


def _write(folder: Path, model: TensorICA, table: Table, values: np.ndarray, sources: np.ndarray) -> None:
    from ..report import write_ica_report

    persistence.save(model, folder / "model.npz")
    names = [f"source {i}" for i in range(len(model.components_))]
    lines = ([row, *(f"{value:.6g}" for value in line)] for row, line in zip(table.rows, sources, strict=True))
    write_csv(folder / "sources.csv", ["row", *names], lines)
    mixing = [
        [name, f"{mean:.8g}", *(f"{value:.8g}" for value in line)]
        for name, mean, line in zip(table.columns, model.mean_, model.mixing_, strict=True)
    ]
    write_csv(folder / "mixing.csv", ["column", "mean", *names], mixing)
    kurtosis, errors = excess_kurtosis(sources), model.evidence_.component_errors
    unmixing = [
        [i, f"{kurtosis[i]:.4f}", error_cell(errors, i), *(f"{value:.8g}" for value in line)]
        for i, line in enumerate(model.components_)
    ]
    write_csv(folder / "unmixing.csv", ["source", "kurtosis", "expected crosstalk", *table.columns], unmixing)
    write_evidence(folder / "evidence.csv", model.evidence_)
    write_ica_report(
        folder / "report.html", model, values, columns=table.columns, sources=sources,
        title=f"Sources of {table.source}", source=table.source,
    )  # fmt: skip
