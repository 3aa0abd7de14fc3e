"""``latentia mixture``: a mixture model of the rows of a table on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..datasets.tables import places_of
from ..exceptions import LatentiaError
from ..mixtures import MultiViewMixture, SphericalGaussianMixture
from ..passes import Blocks
from ..report.mixture import build_rows_table, join_means, summarize_mixture
from ..summaries import Summary
from ..system.terminal import say
from ._effects import Covariates, prepare_effects
from ._mixed import frame_of, mixture_of_kinds, read_same_kinds
from ._options import check_choice
from ._records import MixtureOptions
from ._shared import Comparison, ReadOptions, hold_out, learn, parse_sizes
from ._tables import (
    MISSING,
    NewRows,
    Table,
    describe_source,
    labels_of,
    missing_setting,
    read_like,
    read_numbers,
    scale_rows,
    scaling,
    split_names,
)


def mixture(run: MixtureOptions) -> dict[str, Any]:
    """Learn a mixture of components of the rows of a table and write tables, a model and a report."""
    if run.distribution == "mixed":
        _check_mixed(run)
        return mixture_of_kinds(run)
    sizes = parse_sizes(run.k, "components")
    groups = _parse_views(run)
    _check_covariance(run.covariance, groups, run.refine)
    results = run.results(run.source, "labels.csv", "means.csv", "scaling.csv", "effects.csv", "levels.csv")
    chosen = [name for group in groups for name in group] or split_names(run.columns)
    option, reason = "--views" if groups else "--columns", "a mixture needs two or more"
    read_options = run.reading(run.missing, (*MISSING, "keep")).code_two_values()
    covariates = Covariates.read(run.source, run.effects, run.cluster, read_options)
    table = read_numbers(
        run.source, chosen, _list_ignored(chosen, run.ignore, covariates, option), 2, reason, read_options, option,
        covariates.columns,
    )  # fmt: skip
    fit_effects = prepare_effects(covariates.select_rows(table.rows), len(table.rows), run.effects, run.cluster)
    sizes = sizes.limit_to(*_count_supported(table, groups, bool(run.refine)))
    options = run.parameters_of(MultiViewMixture if groups else SphericalGaussianMixture)
    reading: dict[str, Any] = {"columns": list(table.columns)} | missing_setting(run.missing)
    if groups:
        options["distribution"] = run.distribution or _choose_distribution(table.values)
    else:
        options["covariance_type"] = "spherical" if run.covariance == "auto" and run.keep_moments else run.covariance
    if not groups and run.scale is not False:
        reading |= scaling(table.values)
        say("Columns are scaled: distances and errors are in standard deviations.")
    rows = scale_rows(table.values, reading)
    criteria: dict[str, float] = {}

    def summarize(model: Any, _: Any) -> Summary:
        criteria.update(bic=model.bic(rows), aic=model.aic(rows))
        return summarize_mixture(
            model, _fill_missing(table.values), columns=table.columns, probabilities=model.predict_proba(rows),
            criteria=criteria, row_labels=labels_of(table), effects=fit_effects(model, rows), **units_mixture(model),
        )  # fmt: skip

    shapes: dict[int | None, str] = {}

    def fit(size: int | None) -> Any:
        shape = {"covariance_type": shapes[size]} if size in shapes else {}
        return _fit(rows, table.columns, groups, size, options | shape)

    quiet = options | {"verbose": False}
    summary = learn(
        results, table.source, sizes, fit, summarize, reading=reading, description=describe_source(table),
        compare=lambda: (
            _compare_held_out(rows, table, groups, quiet) if groups else _compare_by_folds(rows, table, quiet, shapes)
        ),
        messages=lambda model: _describe_shape(model, run.covariance), levels=run.levels,
    )  # fmt: skip
    return summary | criteria


# --- options ----------------------------------------------------------------------------------------------------


def _parse_views(run: MixtureOptions) -> list[list[str]]:
    """Parse the groups of columns; empty without --views."""
    views, distribution = run.views, run.distribution
    if views is None:
        if distribution is not None:
            raise LatentiaError(
                "--distribution needs --views; without them use --distribution mixed, or choose a shape with --covariance."
            )
        return []
    for option, value in (("--columns", run.columns), ("--ignore", run.ignore)):
        if value is not None:
            raise LatentiaError(f"{option}: --views names the columns already; leave {option} out.")
    if run.scale is not None:
        raise LatentiaError("--scale: with --views every column has its own scale; leave it out.")
    if distribution is not None:
        check_choice("--distribution", distribution, ("bernoulli", "gaussian"))
    groups = [split_names(group) or [] for group in views.split(";") if group.strip()]
    if len(groups) < 3:
        raise LatentiaError(
            f'--views {views!r}: expected three or more groups of columns, as in "a,b;c,d;e,f"; found {len(groups)}.'
        )
    if not all(groups):
        raise LatentiaError(f"--views {views!r}: a group has no columns.")
    return groups


def _check_mixed(run: MixtureOptions) -> None:
    """Raise for options that do not go with columns of several kinds."""
    unused = dict.fromkeys(("views", "effects", "cluster", "scale"), None) | {
        "covariance": "auto",
        "keep_moments": False,
    }
    for name, default in unused.items():
        if getattr(run, name) != default:
            raise LatentiaError(
                f"--{name.replace('_', '-')}: leave it out with --distribution mixed, which treats every column by its kind."
            )


def _list_ignored(chosen: list[str] | None, ignore: str | None, covariates: Covariates, option: str) -> list[str]:
    """List the columns that the components ignore; columns of effects are always among them."""
    ignored = split_names(ignore) or []
    shared = [name for name in chosen or () if name in covariates.columns]
    if shared:
        raise LatentiaError(
            f"--effects: column {shared[0]!r} is also in {option}, which the components use: name it in one of the two."
        )
    return ignored if chosen else [*ignored, *(name for name in covariates.columns if name not in ignored)]


def _check_covariance(covariance: str, groups: list[list[str]], refine: Any) -> None:
    if covariance != "auto" and groups:
        raise LatentiaError("--covariance needs components over all columns: leave it out with --views.")
    if covariance not in ("auto", "spherical") and not refine:
        raise LatentiaError(f"--covariance {covariance} needs EM: leave --refine 0 out.")


def _count_supported(table: Table, groups: list[list[str]], has_em: bool) -> tuple[int, str]:
    """Count the components that the data can carry, and describe the data."""
    n, width = table.values.shape
    if not groups:
        return n if has_em else min(n, width), f"{table.source}: {n} rows of {width} columns"
    widths = [sum(len(group) for group in groups[i::3]) for i in range(3)]
    sizes = ", ".join(map(str, widths))
    return min(min(widths) + 1, n // 2), f"{table.source}: {n} rows and {sizes} columns in the three views"


def _choose_distribution(rows: Any) -> str:
    values = rows.data if sparse.issparse(rows) else rows
    return "bernoulli" if ((values == 0) | (values == 1) | np.isnan(values)).all() else "gaussian"


def _fill_missing(values: Any) -> Any:
    """Fill missing cells with the mean of the column, for tables and figures."""
    if sparse.issparse(values) or not np.isnan(values).any():
        return values
    return np.where(np.isnan(values), np.nanmean(values, axis=0), values)


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(
    rows: Any, columns: list[str], groups: list[list[str]], size: int | list[int] | None, options: dict[str, Any]
) -> Any:
    if not groups:
        # Blocks bring the names of the columns, and hold no missing cells.
        has_gaps = not sparse.issparse(rows) and np.isnan(rows).any()
        X = rows if has_gaps else Blocks.from_array(rows, names=columns)
        return SphericalGaussianMixture(size, **options).fit(X)  # type: ignore[arg-type]
    places = [places_of(columns, group) for group in groups]
    return MultiViewMixture(size, **options).fit(rows, views=places)  # type: ignore[arg-type]


def _describe_shape(model: Any, covariance: str) -> list[str]:
    """Describe the chosen shape, if several were compared."""
    if covariance != "auto" or not isinstance(model, SphericalGaussianMixture):
        return []
    checks = [check.meaning for check in model.evidence_.checks if check.name == "held-out log-likelihood"]
    return [" ".join([f"Shape of the components: {model.covariance_type_}.", *checks])]


def _compare_by_folds(rows: Any, table: Table, options: dict[str, Any], shapes: dict[int | None, str]) -> Comparison:
    """Compare models of all rows by cross-validation; ``shapes`` receives the chosen shape of each size."""

    def fit(size: int) -> Any:
        model = _fit(rows, table.columns, [], [size], options)
        shapes[size] = model.covariance_type_
        return model

    def measure(model: Any) -> dict[str, Any]:
        held_out = next((check.held_out for check in model.evidence_.checks if check.held_out is not None), None)
        return {
            "shape": model.covariance_type_, "held-out log-density": np.nan if held_out is None else float(held_out.mean()),
            "BIC": model.bic(rows), "AIC": model.aic(rows), "smallest share": float(model.weights_.min()),
        }  # fmt: skip

    return Comparison("components", "each row by fits without it", fit, measure)


def _compare_held_out(rows: Any, table: Table, groups: list[list[str]], options: dict[str, Any]) -> Comparison:
    """Fit models to nine tenths of the rows and compare them by the likelihood of the other tenth."""
    train, test = hold_out(rows, table.source)
    score = "held-out log-density"
    return Comparison(
        "components", "one row in ten", lambda size: _fit(train, table.columns, groups, size, options),
        lambda model: {
            score: model.score(test), "BIC": model.bic(train), "AIC": model.aic(train),
            "smallest share": float(model.weights_.min()),
        },
    )  # fmt: skip


# --- applying ---------------------------------------------------------------------------------------------------


def units_mixture(model: Any) -> dict[str, Any]:
    """Return means in the units of the file, and the scaling of its columns."""
    scales = {name: model.reading_[name] for name in ("subtracted", "divided_by") if name in model.reading_}
    means = join_means(model) * scales.get("divided_by", 1.0) + scales.get("subtracted", 0.0)
    return {"means": means, "scaling": scales or None}


def added_mixture(model: Any, source: Path, read_options: ReadOptions) -> tuple[Any, ...]:
    """Read rows to add to a model, in its units."""
    return (read_like(model, source, read_options).values,)


def news_mixture(model: Any, source: Path, read_options: ReadOptions, batch: str | None) -> NewRows:
    """Read other rows, in the units of a model, and the column of their batches."""
    if "categories" not in model.reading_:
        return NewRows.from_table(read_like(model, source, read_options, batch), batch)
    if batch is not None:
        raise LatentiaError(
            "--batch: give a file for each batch to a model of columns of several kinds.", source=source
        )
    kinds = read_same_kinds(source, model.reading_, read_options)
    return replace(NewRows.from_table(kinds, None), values=frame_of(kinds))


def apply_mixture(model: Any, source: Path, read_options: ReadOptions) -> Callable[[Path], object]:
    """Read other rows, and return the function that writes their components."""
    if not model.reading_ and isinstance(model, MultiViewMixture):
        raise LatentiaError(
            "The model was fitted in Python and does not name the columns of its views. Use it in Python, or fit it with "
            "'latentia mixture --views'."
        )
    if "categories" in model.reading_:
        kinds = read_same_kinds(source, model.reading_, read_options)
        return build_rows_table(model.predict_proba(frame_of(kinds)), labels_of(kinds)).write
    table = read_like(model, source, read_options)
    return build_rows_table(model.predict_proba(table.values), labels_of(table)).write
