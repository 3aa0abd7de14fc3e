"""``latentia contrast``: the part of one table that a second table about the same rows lacks, as tables and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import contrastive
from ..contrastive.views import MAX_TENSOR_COLUMNS
from ..datasets.tables import dense, places_of
from ..datasets.views import Views, match_rows, read_views
from ..exceptions import LatentiaError
from ..report.background import coordinates_of
from ..report.contrast import FILES, NOUNS, SCORES, rows_of, summarize_contrast
from ..report.contrast_peers import KINDS, contrast_peers, differences, kind_of
from ..report.parts import count
from ..summaries import Summary
from ..system.scratch import real_path
from ..system.terminal import say
from ._background import contrast_background
from ._records import ContrastOptions
from ._shared import Comparison, ReadOptions, explain_cell_errors, learn, parse_sizes
from ._tables import (
    MISSING,
    Labels,
    announce,
    labels_of,
    missing_setting,
    read_known_columns,
    read_like,
    scale_rows,
    split_names,
)

_KINDS: dict[str, type] = {kind: getattr(contrastive, name) for name, kind in KINDS.items()}
_KINDS_WITH_SIZE = ("pca", "mixture")
_KINDS_WITH_TARGET = ("regression", "logistic")
_FILES = (*sorted(set(FILES.values())), SCORES, "map.csv", "peers.csv", "scaling.csv")
_PAIRWISE_WIDTH = MAX_TENSOR_COLUMNS  # with more columns in both tables, all pairs of rows are compared
_MAX_WIDTHS = {"logistic": _PAIRWISE_WIDTH, "mixture": 160}  # models that need full fourth or third cumulants
_MANY_ROWS = 5000  # comparing all pairs of more rows takes long
_OF_TWO_VIEWS = (
    "fit", "target", "shared", "linear_map", "edges", "penalty", "alpha", "method", "order", "columns_v",
    "keep_moments",
)  # fmt: skip


def contrast(run: ContrastOptions) -> dict[str, Any]:
    """Find the part of one table that another table of the same rows or columns lacks; write tables, a model and a report."""
    if run.background is not None:
        _check_background_options(run)
        return contrast_background(run, run.background)
    if run.other is None:
        raise LatentiaError(
            "Expected a second table: V, with the same rows, or --background FILE, with other rows and the same columns."
        )
    _check_options(run)
    noun = f"{NOUNS[run.fit]}s"
    sizes = parse_sizes((run.k or "2") if run.fit in _KINDS_WITH_SIZE else None, noun)
    target_file = Path(run.target) if run.target is not None and Path(run.target).is_file() else None
    for path in (run.other, target_file):
        if path is not None:
            run.results(path, *_FILES)
    results, options_of_reading = run.results(run.source, *_FILES), run.reading(run.missing, MISSING)
    data = _read(run, run.other, options_of_reading)
    files = data.tables[0].source, data.tables[1].source
    both_files = " and ".join(files)
    _check_width(run.fit, len(data.columns) + len(data.columns_v), len(data.U), both_files)
    given_map = None if run.linear_map is None else _read_linear_map(run.linear_map, data, options_of_reading)
    shared = _shared_dimensions(run.shared, data) if given_map is None else None
    d = len(data.columns)
    if run.fit in _KINDS_WITH_SIZE:
        sizes[0] = min(sizes[0], d) if run.k is None else sizes[0]
        sizes = sizes.limit_to(d, f"{both_files}: {d} columns of U")
    reading: dict[str, Any] = {"columns": data.columns, "columns_v": data.columns_v}
    if run.fit in _KINDS_WITH_SIZE and run.scale is not False:
        reading |= {"subtracted": data.U.mean(axis=0), "divided_by": data.U.std(axis=0, ddof=1)}
        say("Columns of U are scaled: directions, distances and errors are in standard deviations.")
    given_map = given_map if given_map is None or "divided_by" not in reading else given_map * reading["divided_by"]
    rows, distances = scale_rows(data.U, reading), dict[str, float]()
    order = run.order if run.order == "auto" else int(run.order)
    options = run.parameters_of(_KINDS[run.fit]) | {"order": order, "n_shared": shared, "linear_map": given_map}
    further_options = {"edges": data.edges, "penalty": run.penalty, "alpha": run.alpha}
    options |= {name: value for name, value in further_options.items() if value is not None}

    def fit_size(size: int | None, **overrides: Any) -> Any:
        size_of = {"n_components": size} if run.fit in _KINDS_WITH_SIZE else {}
        arguments = (rows, data.V, data.y) if run.fit in _KINDS_WITH_TARGET else (rows, data.V)
        return _KINDS[run.fit](**size_of, **options | overrides).fit(*arguments)

    def summarize(model: Any, _: Any) -> Summary:
        peers = contrast_peers(model, rows, data.V, data.y)
        distances.update(differences(model, rows, peers))
        return summarize_contrast(
            model, rows, data.V, data.y, columns=data.columns, columns_v=data.columns_v, peers=peers,
            scaling=(reading["subtracted"], reading["divided_by"]) if "divided_by" in reading else None,
            row_labels=labels_of(Labels(data.rows, data.names)), files=files, target=data.target,
            title=f"What {files[0]} has and {files[1]} has not", source=", ".join([both_files, *_remarks(data)]),
        )  # fmt: skip

    summary = learn(
        results, both_files, sizes, fit_size, summarize, reading=reading | missing_setting(run.missing),
        compare=lambda: Comparison(noun, "", lambda size: fit_size(size, verbose=False), _measure_fit),
    )  # fmt: skip
    return summary | {"source_v": str(run.other), "differences": distances}


def _measure_fit(model: Any) -> dict[str, Any]:
    """Measure a fit on all rows: without a likelihood there is nothing to measure on held-out rows."""
    if kind_of(model) == "pca":
        return {"share of variance": float(model.explained_variance_ratio_.sum())}
    return {"smallest share": float(model.weights_.min()), "spread": float(np.sqrt(model.variance_))}


def _check_background_options(run: ContrastOptions) -> None:
    """Raise if --background comes with a table V, or with an option that needs V."""
    if run.other is not None:
        raise LatentiaError(f"{run.other}: expected one table of rows with --background; leave this one out.")
    for name in _OF_TWO_VIEWS:
        value = getattr(run, name)
        if value not in (None, "pca", "auto") and value is not False:
            option = f"--{name.replace('_', '-')}"
            raise LatentiaError(
                f"{option} {value}: expected a table V of the same rows; leave it out with --background."
            )


def _check_options(run: ContrastOptions) -> None:
    fit = run.fit
    if run.keep_moments and fit in _KINDS_WITH_TARGET:
        raise LatentiaError(f"--keep-moments: add rows to a {fit} in Python, with partial_fit, or leave it out.")
    if fit in _KINDS_WITH_TARGET and run.target is None:
        raise LatentiaError(f"--fit {fit} needs --target: a column of U, or a file of one column, to predict.")
    if fit not in _KINDS_WITH_TARGET and run.target is not None:
        raise LatentiaError(
            f"--target is for --fit regression and logistic. To leave a column out of a {fit}, use --ignore."
        )
    if fit not in _KINDS_WITH_SIZE and run.k is not None:
        raise LatentiaError(f"-k is for --fit pca and mixture: leave it out with {fit}.")
    if fit not in _KINDS_WITH_SIZE and run.scale is not None:
        raise LatentiaError(f"--scale/--no-scale is for --fit pca and mixture: units do not matter with {fit}.")
    if run.edges is not None and fit != "ising":
        raise LatentiaError(f"--edges is for --fit ising: leave it out with {fit}.")
    if run.penalty is not None and fit != "regression":
        raise LatentiaError(f"--penalty is for --fit regression: leave it out with {fit}.")
    if run.alpha is not None and run.penalty is None:
        raise LatentiaError(f"--alpha {run.alpha:g} needs --penalty l1 or l2.")


# --- reading ----------------------------------------------------------------------------------------------------


def _read(run: ContrastOptions, table_v: Path, options: ReadOptions) -> Views:
    """Read the two tables and the target, and say which columns and rows are used."""
    source, target, fit = run.source, run.target, run.fit
    min_columns = 1 if fit in (*_KINDS_WITH_TARGET, "components") else 2
    with explain_cell_errors(options):
        views = read_views(
            source, table_v, target=target, classes=fit == "logistic", min_columns=min_columns, missing=options.missing,
            cache=options.cache, encoding=options.encoding, columns=split_names(run.columns),
            columns_v=split_names(run.columns_v), ignore=split_names(run.ignore) or [], edges=run.edges,
        )  # fmt: skip
    for table in views.tables:
        announce(table)
    if (
        target in views.tables[1].left_out
        and target in views.tables[0].left_out
        and real_path(source) != real_path(table_v)
    ):
        say(f"note: {table_v.name} also has a column {target!r}, which is left out as the target.")
    if views.n_dropped:
        n = len(views.U) + views.n_dropped
        say(f"{views.n_dropped:,} of {n:,} rows lack a value in one of the files and are left out of all.")
    for letter, constant_columns in zip("UV", (views.constant, views.constant_v), strict=True):
        if constant_columns:
            suffix = f" and {len(constant_columns) - 5} more" if len(constant_columns) > 5 else ""
            say(f"note: constant columns of {letter} are left out: {', '.join(constant_columns[:5])}{suffix}.")
    return views


def _read_linear_map(value: str, views: Views, options: ReadOptions) -> np.ndarray:
    """Read A, shape (d_v, d_u), in the units of the files; the file's columns are found by name, or else taken in order."""
    columns_u, columns_v = views.columns, views.columns_v
    if value == "identity":
        if len(columns_u) != len(columns_v):
            raise LatentiaError(
                f"--linear-map identity: U has {count(len(columns_u), 'column')} and V {len(columns_v)}. Choose columns "
                "that belong together, with --columns and --columns-v."
            )
        return np.eye(len(columns_u))
    table = read_known_columns(Path(value), columns_u, len(columns_u), options)
    values, names = dense(table), list(table.names)
    if set(columns_v) <= set(names):
        return np.asarray(values[places_of(names, columns_v)])
    if len(values) != len(columns_v):
        raise LatentiaError(f"{value}: {count(len(values), 'row')}, and V has {count(len(columns_v), 'column')}.")
    return values


def _remarks(views: Views) -> list[str]:
    """Describe dropped rows and filled cells."""
    n = len(views.U) + views.n_dropped
    dropped = f"without {views.n_dropped:,} of {n:,} rows, which lack a value in one of the files"
    filled = f"with means in {views.n_filled:,} cells that had no value"
    return [*([dropped] if views.n_dropped else []), *([filled] if views.n_filled else [])]


def _check_width(fit: str, width: int, n: int, source: str) -> None:
    if width <= _PAIRWISE_WIDTH:
        return
    max_width = _MAX_WIDTHS.get(fit, width)
    if width > max_width:
        raise LatentiaError(
            f"{width} columns in both tables, and --fit {fit} takes at most {max_width}. Choose columns with --columns "
            "and --columns-v, or reduce each table to its first principal components.",
            source=source,
        )
    if n > _MANY_ROWS:
        say(
            f"note: {width} columns in both tables: with more than {_PAIRWISE_WIDTH} all pairs of the {n:,} rows are compared, "
            "which takes long. Fewer columns (--columns, --columns-v) are faster.",
        )


def _shared_dimensions(shared: int | None, data: Views) -> int | None:
    d_u, d_v = len(data.columns), len(data.columns_v)
    max_shared = min(d_u, d_v)
    if shared is not None and shared > max_shared:
        raise LatentiaError(
            f"--shared {shared}: U has {d_u} columns and V {d_v}: they share at most {max_shared} dimensions."
        )
    if shared is None and d_v < d_u:
        say(
            f"note: V has {count(d_v, 'column')} and U {d_u}: they can share {d_v} at most, as with --shared {d_v}.",
        )
        return d_v
    return shared


# --- applying -------------------------------------------------------------------------------------------------------


def apply_contrast(model: Any, source: Path, options: ReadOptions, other: Path | None) -> Callable[[Path], object]:
    """Read other rows of U, and of V if given; return the function that writes the model's answer about them."""
    if isinstance(model, contrastive.BackgroundPCA):
        if other is not None:
            raise LatentiaError(f"{other}: a BackgroundPCA is applied to one table; leave this one out.")
        rows = read_like(model, source, options)
        return lambda path: coordinates_of(model, rows.values, labels_of(rows)).write(path)
    if kind_of(model) == "ising":
        raise LatentiaError("A ContrastiveIsing has no answer for single rows; its couplings are in couplings.csv.")
    (U, *V), labels = _read_rows(model, source, options, other)
    if other is None:
        say("note: without V the shared part is not removed from U; U is taken to have none.")
    names = model.reading_.get("columns")
    return lambda path: rows_of(model, U, V[0] if V else None, names, labels_of(labels)).write(path)


def added_contrast(model: Any, source: Path, options: ReadOptions, other: Path | None = None) -> tuple[Any, ...]:
    """Read rows of both tables to add to a model."""
    if other is None:
        raise LatentiaError(
            f"{source}: rows of a {type(model).__name__} are in two files; give that of V after this one."
        )
    return tuple(_read_rows(model, source, options, other)[0])


def _read_rows(model: Any, source: Path, options: ReadOptions, other: Path | None) -> tuple[list[np.ndarray], Labels]:
    """Read rows of U, in the units of the model, and of V if given; rows that lack a value in either are left out of both."""
    reading = model.reading_ or {"columns": model.column_names, "columns_v": model.column_names_v}
    tables = [announce(read_known_columns(source, reading["columns"], model.n_features_in_, options))]
    if other is not None:
        tables.append(announce(read_known_columns(other, reading["columns_v"], model.n_features_v_, options)))
    with explain_cell_errors(options):
        masks = match_rows(
            tables, [source, *([] if other is None else [other])], cache=options.cache, encoding=options.encoding
        )
    U, *V = (dense(table)[mask] for table, mask in zip(tables, masks, strict=True))
    return [scale_rows(U, reading), *V], Labels(tables[0].rows, tables[0].names).select(masks[0])
