"""``latentia mixture``: components of the rows of a table on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from .. import persistence
from ..exceptions import LatentiaError
from ..mixtures import MultiViewMixture, SphericalGaussianMixture
from ..passes import row_groups
from ..report import import_report
from ..report._parts import short_number
from ..report.mixture import standard_deviations, telling_columns
from ._shared import (
    Columns,
    Force,
    Jobs,
    Quiet,
    Seed,
    best_size,
    check_choice,
    check_jobs,
    check_target,
    error_cell,
    named,
    parse_sizes,
    print_comparison,
    print_evidence,
    write_all,
    write_csv,
    write_evidence,
)
from ._tables import Table, Wanted, announce, numeric_columns, read_table, split_names

__all__ = ["mixture"]

_SCORE = "held-out log-density"


@dataclass(frozen=True)
class Fitted:
    """A model with what it was fitted on, and its means in the units of the file.

    Attributes
    ----------
    model : SphericalGaussianMixture or MultiViewMixture
    rows : ndarray or sparse matrix of shape (n_rows, D)
        The table that the model saw: scaled, if asked.
    means : ndarray of shape (K, D)
        In the units of the file.
    labels : ndarray of int, shape (n_rows,)
    sure : ndarray of shape (n_rows,)
        Probability of each row's component.
    """

    model: Any
    rows: Any
    means: np.ndarray
    labels: np.ndarray
    sure: np.ndarray


def mixture(
    source: Annotated[Path, typer.Argument(help="A table with a header: CSV, TSV, Parquet; or MatrixMarket.")],
    k: Annotated[str, typer.Option("-k", help="Number of components; FROM:TO:STEP compares a range.")] = "10",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("mixture"),
    columns: Columns = None,
    ignore: Annotated[
        str | None, typer.Option(help="Columns to leave out, such as an id, separated by commas.")
    ] = None,
    scale: Annotated[
        bool | None,
        typer.Option("--scale/--no-scale", help="Bring the columns to standard deviation 1 first (default: yes)."),
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help='Three or more groups of columns, independent given the component: "a,b,c;d,e;f,g".'),
    ] = None,
    distribution: Annotated[
        str | None,
        typer.Option(help="bernoulli or gaussian, for --views; by default bernoulli for columns of 0 and 1."),
    ] = None,
    refine: Annotated[int, typer.Option(help="EM passes after the recovery; 0 keeps to the theorem.", min=0)] = 10,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn a mixture of components of the rows of a table and write tables, a model and a report."""
    sizes = parse_sizes(k, "components")
    check_jobs(jobs)
    grouped = _parse_views(views, columns, ignore, scale, distribution)
    check_target(out, source, force)
    import_report()
    named_columns = [name for group in grouped for name in group] or split_names(columns)
    ignored = split_names(ignore) or []
    table = read_table(source, lambda kinds: _choose(source, kinds, named_columns, ignored, grouped))
    console = Console()
    announce(table, console)
    _check_sizes(table, sizes, grouped)
    options: dict[str, Any] = {"refine": refine, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    rows, scaler = table.values, None
    if grouped:
        options["distribution"] = distribution or _distribution(rows)
    elif scale is not False:
        scaler = StandardScaler(with_mean=not sparse.issparse(rows)).fit(rows)
        rows = scaler.transform(rows)
        console.print("Columns are scaled: distances and errors are in standard deviations.", highlight=False)
    with named(table.source):
        comparison = _compare(rows, table, grouped, sizes, options, console) if len(sizes) > 1 else None
        size = best_size(comparison, _SCORE, lowest=False) if comparison else sizes[0]
        fitted = _finish(_fit(rows, table.columns, grouped, size, options), rows, scaler)
    written = write_all(out, lambda folder: _write(folder, fitted, table, scaler, comparison))
    _print_components(fitted, table, console)
    print_evidence(fitted.model.evidence_, console)
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


# --- options ----------------------------------------------------------------------------------------------------


def _parse_views(
    views: str | None, columns: str | None, ignore: str | None, scale: bool | None, distribution: str | None
) -> list[list[str]]:
    """Groups of columns; empty without --views."""
    if views is None:
        if distribution is not None:
            raise LatentiaError("--distribution is for --views; without them the components are round Gaussians.")
        return []
    for option, given in (("--columns", columns), ("--ignore", ignore)):
        if given is not None:
            raise LatentiaError(f"{option}: --views names the columns already; leave {option} out.")
    if scale is not None:
        raise LatentiaError("--scale: with --views every column is measured in its own spread; leave it out.")
    if distribution is not None:
        check_choice("--distribution", distribution, ("bernoulli", "gaussian"))
    groups = [split_names(group) or [] for group in views.split(";") if group.strip()]
    if len(groups) < 3:
        raise LatentiaError(f'--views {views!r}: {len(groups)} groups of columns; three or more, as in "a,b;c,d;e,f".')
    if not all(groups):
        raise LatentiaError(f"--views {views!r}: a group has no columns.")
    return groups


def _choose(
    path: Path, kinds: Mapping[str, str], columns: list[str] | None, ignore: list[str], grouped: list[list[str]]
) -> Wanted:
    chosen = numeric_columns(path, kinds, columns, ignore, "--views" if grouped else "--columns")
    if len(chosen) < 2:
        raise LatentiaError(f"{path}: one column of numbers, {chosen[0]!r}: a mixture needs two or more.")
    return Wanted(chosen)


def _check_sizes(table: Table, sizes: list[int], grouped: list[list[str]]) -> None:
    """Say before the work begins what would fail after it."""
    n, width = table.values.shape
    if grouped:
        joined = [sum(len(group) for group in grouped[i::3]) for i in range(3)]
        most = min(min(joined) + 1, n // 2)
        what = f"{n} rows and {', '.join(map(str, joined))} columns in the three views"
    else:
        most, what = min(n, width), f"{n} rows of {width} columns"
    if max(sizes) > most:
        raise LatentiaError(f"{table.source}: {what} cannot carry {max(sizes)} components; at most -k {most}.")


def _distribution(rows: Any) -> str:
    values = rows.data if sparse.issparse(rows) else rows
    return "bernoulli" if ((values == 0) | (values == 1)).all() else "gaussian"


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(rows: Any, columns: list[str], grouped: list[list[str]], size: int, options: dict[str, Any]) -> Any:
    if not grouped:
        return SphericalGaussianMixture(size, **options).fit(rows)
    places = [[columns.index(name) for name in group] for group in grouped]
    return MultiViewMixture(size, **options).fit(rows, views=places)


def _finish(model: Any, rows: Any, scaler: StandardScaler | None) -> Fitted:
    """Components of the rows, and means in the units of the file."""
    means = np.hstack(model.means_) if isinstance(model.means_, list) else model.means_
    if scaler is not None:
        means = means * scaler.scale_ + (scaler.mean_ if scaler.with_mean else 0.0)
    probabilities = model.predict_proba(rows)
    labels = probabilities.argmax(axis=1)
    return Fitted(model, rows, means, labels, probabilities[np.arange(len(labels)), labels])


def _compare(
    rows: Any, table: Table, grouped: list[list[str]], sizes: list[int], options: dict[str, Any], console: Console
) -> list[dict[str, Any]]:
    """Fit every number of components on nine tenths of the rows and measure each; the table is printed."""
    held = row_groups(np.arange(rows.shape[0]), 10, 1) == 0
    if held.sum() < 2:
        raise LatentiaError(f"{table.source}: too few rows to hold some out; give one number with -k.")
    found, problem = [], None
    for size in sizes:
        try:
            model = _fit(rows[~held], table.columns, grouped, size, options)
        except LatentiaError as error:  # more than this data can carry: so are those after it
            problem = error
            console.print(f"{size} components were left out: {error}".replace("n_components=", "-k "), markup=False)
            continue
        errors, limit = model.evidence_.component_errors, model.evidence_["expected error"].needed
        found.append(
            {
                "components": size,
                _SCORE: model.score(rows[held]),
                "expected error": float(errors.mean()) if errors is not None else float("nan"),
                "needed": limit,
                "smallest share": float(model.weights_.min()),
            }
        )
    if problem is not None and not found:
        raise problem
    best = best_size(found, _SCORE, lowest=False)
    sentence = f"{best} components have the highest held-out log-density and are fitted on all rows."
    print_comparison(found, best, "Numbers of components (held out: one row in ten)", sentence, console)
    return found


# --- printing ---------------------------------------------------------------------------------------------------


def _print_components(fitted: Fitted, table: Table, console: Console) -> None:
    model, errors = fitted.model, fitted.model.evidence_.component_errors
    screen = Screen(title=f"{len(model.weights_)} components, largest first")
    for name in ("component", "share", "error"):
        screen.add_column(name, justify="right")
    screen.add_column("what sets it apart")
    scaled = standard_deviations(fitted.means, table.values)
    for i, weight in enumerate(model.weights_):
        listed = [f"{table.columns[d]} {short_number(fitted.means[i, d])}" for d in telling_columns(scaled, i)]
        screen.add_row(str(i), f"{100 * weight:.1f}%", error_cell(errors, i, 2), escape(", ".join(listed)))
    console.print(screen)


# --- writing ----------------------------------------------------------------------------------------------------


def _write(
    folder: Path, fitted: Fitted, table: Table, scaler: StandardScaler | None, comparison: list[dict[str, Any]] | None
) -> None:
    from ..report import write_mixture_report

    model = fitted.model
    persistence.save(model, folder / "model.npz")
    errors = model.evidence_.component_errors
    spread = (
        [[f"{v:.8g}"] for v in np.sqrt(model.variance_)] if hasattr(model, "variance_") else [[]] * len(fitted.means)
    )
    rows = [
        [i, f"{model.weights_[i]:.6f}", error_cell(errors, i), *spread[i], *(f"{value:.8g}" for value in mean)]
        for i, mean in enumerate(fitted.means)
    ]
    unit = "" if scaler is None and hasattr(model, "variance_") else " (standard deviations)"
    first = ["component", "share", f"expected error{unit}"]
    more = [f"spread{unit}"] if hasattr(model, "variance_") else []
    write_csv(folder / "means.csv", [*first, *more, *table.columns], rows)
    write_csv(folder / "labels.csv", ["row", "component", "probability"], _labels(fitted, table))
    if scaler is not None:
        centres = scaler.mean_ if scaler.with_mean else np.zeros(len(table.columns))
        scaling = zip(table.columns, centres, scaler.scale_, strict=True)
        write_csv(folder / "scaling.csv", ["column", "subtracted", "divided by"], scaling)
    write_evidence(folder / "evidence.csv", model.evidence_)
    if comparison:
        write_csv(folder / "comparison.csv", list(comparison[0]), [list(row.values()) for row in comparison])
    write_mixture_report(
        folder / "report.html", model, table.values, columns=table.columns, means=fitted.means, labels=fitted.labels,
        scaled=scaler is not None, title=f"Components of {table.source}", source=table.source, comparison=comparison,
    )  # fmt: skip


def _labels(fitted: Fitted, table: Table) -> Iterator[list[Any]]:
    for row, label, sure in zip(table.rows, fitted.labels, fitted.sure, strict=True):
        yield [row, label, f"{sure:.5f}"]
