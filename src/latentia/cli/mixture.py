"""``latentia mixture``: components of the rows of a table on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from ..exceptions import LatentiaError
from ..mixtures import MultiViewMixture, SphericalGaussianMixture
from ..report.mixture import standard_deviations, telling_columns
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
    check_choice,
    component_cells,
    hold_out,
    parse_sizes,
    possible_sizes,
    print_components,
    run_command,
    say,
    sizes_help,
    write_csv,
)
from ._tables import (
    MISSING,
    Labels,
    Table,
    announce,
    described,
    missing_help,
    read_known_columns,
    read_numbers,
    scaled_rows,
    scaling,
    split_names,
)

__all__ = ["apply_mixture", "mixture"]

_LABELS = "labels.csv"
_FILES = (_LABELS, "means.csv", "scaling.csv")


def mixture(
    source: Annotated[Path, typer.Argument(help="A table with a header: CSV, TSV, Excel, Parquet; or MatrixMarket.")],
    k: Annotated[str, typer.Option("-k", "--components", help=sizes_help("components"))] = "10",
    out: Out = Path("mixture"),
    columns: Columns = None,
    ignore: Ignore = None,
    scale: Annotated[
        bool | None,
        typer.Option("--scale/--no-scale", help="Bring the columns to standard deviation 1 first (default: yes)."),
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help='Three or more groups of columns, independent given the component: "a,b,c;d,e;f,g".'),
    ] = None,
    covariance: Annotated[
        str, typer.Option(help="Shape of the components: spherical, diag, full, or tied (one for all).")
    ] = "spherical",
    distribution: Annotated[
        str | None,
        typer.Option(help="bernoulli or gaussian, for --views; by default bernoulli for columns of 0 and 1."),
    ] = None,
    refine: Refine = "auto",
    missing: Annotated[
        str | None,
        typer.Option("--missing", help=missing_help(*MISSING, "keep", note=" (with --views)")),
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Learn a mixture of components of the rows of a table and write tables, a model and a report."""
    sizes = parse_sizes(k, "components")
    grouped = _parse_views(views, columns, ignore, scale, distribution)
    _check_covariance(covariance, grouped, refine)
    results = Results(out, source, _FILES, force, evidence, not quiet)
    results.check()
    ways = (*MISSING, "keep") if grouped else MISSING
    how = Reading.of(quiet, cache, no_cache, missing, ways, encoding=encoding)
    chosen = [name for group in grouped for name in group] or split_names(columns)
    option, why = "--views" if grouped else "--columns", "a mixture needs two or more"
    table = read_numbers(source, chosen, split_names(ignore) or [], 2, why, how, option)
    console = Console()
    announce(table, console)
    sizes = possible_sizes(sizes, *_most(table, grouped, bool(refine)), "components", console)
    options: dict[str, Any] = {"refine": refine, "random_state": seed, "n_jobs": jobs, "verbose": not quiet}
    reading: dict[str, Any] = {"columns": table.columns}
    if grouped:
        options["distribution"] = distribution or _distribution(table.values)
    else:
        options["covariance_type"] = covariance
    if not grouped and scale is not False:
        reading |= scaling(table.values)
        say(console, "Columns are scaled: distances and errors are in standard deviations.")
    rows = scaled_rows(table.values, reading)
    criteria: dict[str, float] = {}
    summary = run_command(
        results, table.source, sizes,
        fit=lambda size: _fit(rows, table.columns, grouped, size, options),
        show=lambda model, console: criteria.update(_show(model, table, console)),
        write=lambda folder, model, comparison: _write(folder, model, rows, table, comparison),
        reading=reading,
        compare=lambda: _comparison(rows, table, grouped, options | {"verbose": False}),
    )  # fmt: skip
    return summary | criteria


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


def _check_covariance(covariance: str, grouped: list[list[str]], refine: Any) -> None:
    check_choice("--covariance", covariance, ("spherical", "diag", "full", "tied"))
    if covariance != "spherical" and grouped:
        raise LatentiaError("--covariance is for components of all columns; leave it out with --views.")
    if covariance != "spherical" and not refine:
        raise LatentiaError(f"--covariance {covariance}: such components are fitted by EM; leave --refine 0 out.")


def _most(table: Table, grouped: list[list[str]], refined: bool) -> tuple[int, str]:
    """The most components that the data can carry, and what carries them."""
    n, width = table.values.shape
    if not grouped:
        return n if refined else min(n, width), f"{table.source}: {n} rows of {width} columns"
    joined = [sum(len(group) for group in grouped[i::3]) for i in range(3)]
    sizes = ", ".join(map(str, joined))
    return min(min(joined) + 1, n // 2), f"{table.source}: {n} rows and {sizes} columns in the three views"


def _distribution(rows: Any) -> str:
    values = rows.data if sparse.issparse(rows) else rows
    return "bernoulli" if ((values == 0) | (values == 1) | np.isnan(values)).all() else "gaussian"


def _shown(values: Any) -> Any:
    """The rows with the mean of the column where a cell is missing, for tables and figures."""
    if sparse.issparse(values) or not np.isnan(values).any():
        return values
    return np.where(np.isnan(values), np.nanmean(values, axis=0), values)


def _means(model: Any) -> np.ndarray:
    """Means of the components in the units of the file, shape (K, D)."""
    means = np.hstack(model.means_) if isinstance(model.means_, list) else model.means_
    reading = model.reading_
    return means * reading["divided_by"] + reading["subtracted"] if "divided_by" in reading else means


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(rows: Any, columns: list[str], grouped: list[list[str]], size: int | None, options: dict[str, Any]) -> Any:
    if not grouped:
        return SphericalGaussianMixture(size, **options).fit(rows)  # type: ignore[arg-type]
    places = [[columns.index(name) for name in group] for group in grouped]
    return MultiViewMixture(size, **options).fit(rows, views=places)  # type: ignore[arg-type]


def _comparison(rows: Any, table: Table, grouped: list[list[str]], options: dict[str, Any]) -> Comparison:
    """Models of nine tenths of the rows, and what each says of the others."""
    train, test = hold_out(rows, table.source)
    score = "held-out log-density"
    return Comparison(
        "components", "one row in ten", lambda size: _fit(train, table.columns, grouped, size, options),
        lambda model: {
            score: model.score(test), "BIC": model.bic(train), "AIC": model.aic(train),
            "smallest share": float(model.weights_.min()),
        },
    )  # fmt: skip


# --- printing and writing ---------------------------------------------------------------------------------------


def _show(model: Any, table: Table, console: Console) -> dict[str, float]:
    """Print the components; the criteria that compare numbers of them."""
    means = _means(model)
    scaled, rows = standard_deviations(means, _shown(table.values)), []
    for i, weight in enumerate(model.weights_):
        listed = [f"{table.columns[d]} {short_number(means[i, d])}" for d in telling_columns(scaled, i)]
        rows.append([str(i), f"{100 * weight:.1f}%", *component_cells(model.evidence_, i, 2), ", ".join(listed)])
    heads = {"component": "right", "share": "right", "error": "right", "grade": "left", "what sets it apart": "left"}
    data = scaled_rows(table.values, model.reading_)
    found = {"bic": model.bic(data), "aic": model.aic(data)}
    title = "{} components, largest first (BIC {bic:,.0f}, AIC {aic:,.0f})".format(len(rows), **found)
    print_components(console, title, heads, rows, "means.csv")
    return found


def _write(folder: Path, model: Any, rows: Any, table: Table, comparison: Rows | None) -> None:
    from ..report import write_mixture_report

    scaled, round_ = "divided_by" in model.reading_, hasattr(model, "variance_")
    means = _means(model)
    spread = [[f"{v:.8g}"] for v in np.sqrt(model.variance_)] if round_ else [[]] * len(means)
    lines = [
        [
            i,
            f"{model.weights_[i]:.6f}",
            *component_cells(model.evidence_, i),
            *spread[i],
            *(f"{value:.8g}" for value in mean),
        ]
        for i, mean in enumerate(means)
    ]
    unit = "" if not scaled and round_ else " (standard deviations)"
    first = ["component", "share", f"expected error{unit}", "grade", *([f"spread{unit}"] if round_ else [])]
    write_csv(folder / "means.csv", [*first, *table.columns], lines)
    labels = _write_labels(folder / _LABELS, model, rows, table)
    if scaled:
        scaling = zip(table.columns, model.reading_["subtracted"], model.reading_["divided_by"], strict=True)
        write_csv(folder / "scaling.csv", ["column", "subtracted", "divided by"], scaling)
    write_mixture_report(
        folder / "report.html", model, _shown(table.values), columns=table.columns, means=means, labels=labels, scaled=scaled,
        title=f"Components of {table.source}", source=described(table), comparison=comparison,
    )  # fmt: skip


def _write_labels(path: Path, model: Any, rows: Any, table: Table) -> np.ndarray:
    """The component of every row; they are returned."""
    probabilities = model.predict_proba(rows)
    labels = probabilities.argmax(axis=1)
    sure = probabilities[np.arange(len(labels)), labels]
    rows_of = Labels(table.rows, table.names)
    lines = ([*row, label, f"{p:.5f}"] for row, label, p in zip(rows_of, labels, sure, strict=True))
    write_csv(path, [*rows_of.head, "component", "probability"], lines)
    return labels  # type: ignore[no-any-return]


# --- applying ---------------------------------------------------------------------------------------------------


def apply_mixture(model: Any, source: Path, console: Console, how: Reading) -> Callable[[Path], object]:
    """Read other rows; gives the function that writes their components."""
    reading = getattr(model, "reading_", None)
    if reading is None and isinstance(model, MultiViewMixture):
        raise LatentiaError(
            "The model does not say which columns its views are: it was fitted in Python. Predict with it there, or fit it "
            "with 'latentia mixture --views'."
        )
    reading = reading or {"columns": getattr(model, "feature_names_in_", None)}
    table = read_known_columns(source, reading["columns"], getattr(model, "n_features_in_", 0), how)
    announce(table, console)
    rows = scaled_rows(table.values, reading)
    return lambda path: _write_labels(path, model, rows, table)
