"""``latentia contrast``: what is in one table but not in a second one about the same rows, as tables and a report."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import contrastive
from ..contrastive.views import MOST_IN_TENSORS
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
from ._run import Run
from ._shared import Comparison, ReadOptions, explain_cell_errors, learn, parse_sizes
from ._tables import MISSING, Labels, announce, labels_of, read_known_columns, read_like, scale_rows, split_names

_KINDS: dict[str, type] = {kind: getattr(contrastive, name) for name, kind in KINDS.items()}
_SIZED = ("pca", "mixture")
_TARGETED = ("regression", "logistic")
_FILES = (*sorted(set(FILES.values())), SCORES, "map.csv", "peers.csv", "scaling.csv")
_WIDE = MOST_IN_TENSORS  # columns of both tables, beyond which all pairs of rows are looked at
_WIDEST = {"logistic": _WIDE, "mixture": 160}  # whose fourth, or third, cumulants are learned from
_SLOW = 5000  # rows from which on that takes long


def contrast(
    run: Run,
    source: Path,
    other: Path | None = None,
    background: Path | None = None,
    fit: str = "pca",
    target: str | None = None,
    k: str | None = None,
    shared: int | None = None,
    linear_map: str | None = None,
    edges: Path | None = None,
    penalty: str | None = None,
    alpha: float | None = None,
    method: str = "auto",
    order: str = "auto",
    columns: str | None = None,
    columns_v: str | None = None,
    ignore: str | None = None,
    scale: bool | None = None,
    missing: str | None = None,
) -> dict[str, Any]:
    """Find what is in one table and not in another of the same rows or columns, and write tables, a model and a report.

    Parameters
    ----------
    source : U
        The table to learn from: CSV, TSV, Excel, Parquet.
    other : V
        The table to set apart: the same rows in the same order, other columns. Leave it out with --background.
    background
        In place of V, a table of controls: other rows, with the same columns by name. Finds the directions along which the rows
        of U vary more; of the other options -k, --columns, --ignore and --scale are for it.
    fit : {pca, regression, logistic, mixture, ising, components}
        What to learn about the part of U that V lacks: pca, regression, logistic, mixture, ising, components.
    target
        What to predict, with regression or logistic: a column of U, or a file of one column.
    k : -k, --components
        Number of directions (pca) or components (mixture), by default 2; FROM:TO:STEP compares a range.
    shared : >= 1
        Dimensions of what both share, if known; by default as many as U has columns.
    linear_map
        How V sees what it shares with U, if known: 'identity' for devices that are alike, or a file as map.csv, with a row
        for each column of V and a column for each one of U; by default it is learned.
    edges
        With ising: a file with two columns of U a line, which may be coupled; by default all pairs.
    penalty : {l1, l2}
        With regression: l1 or l2, of the coefficients.
    alpha : >= 0.0
        Weight of the penalty, by default 0.1.
    method : {auto, bls, gtls, eq2}
        How the shared part is found: auto, bls, gtls or eq2.
    order : {auto, 3, 4}
        Order of the cumulants: 3, 4 or auto.
    columns
        Columns of U to use, separated by commas; by default all of numbers.
    columns_v
        Columns of V to use; by default all of numbers.
    ignore
        Columns of either table not to use, such as an id, separated by commas.
    scale : --scale/--no-scale
        Bring columns of U to standard deviation 1 first, with pca and mixture (default: yes).
    """
    if background is not None:
        _check_alone(
            other, fit=fit, target=target, shared=shared, linear_map=linear_map, edges=edges, penalty=penalty, alpha=alpha,
            method=method, order=order, columns_v=columns_v,
        )  # fmt: skip
        return contrast_background(run, source, background, k, columns, ignore, scale, missing)
    if other is None:
        raise LatentiaError(
            "Expected a second table: V, with the same rows, or --background FILE, with other rows and the same columns."
        )
    _check_options(fit, target, k, method, order, scale, edges, penalty, alpha)
    noun = f"{NOUNS[fit]}s"
    sizes = parse_sizes((k or "2") if fit in _SIZED else None, noun)
    target_file = Path(target) if target is not None and Path(target).is_file() else None
    for path in (other, target_file):
        if path is not None:
            run.results(path, *_FILES)
    results, how = run.results(source, *_FILES), run.reading(missing, MISSING)
    given = {"columns": split_names(columns), "columns_v": split_names(columns_v), "ignore": split_names(ignore) or []}
    data = _read(source, other, target, fit, how, edges=edges, **given)
    files = data.tables[0].source, data.tables[1].source
    both = " and ".join(files)
    _check_width(fit, len(data.columns) + len(data.columns_v), len(data.U), both)
    known = None if linear_map is None else _known_map(linear_map, data, how)
    shared = _shared_dimensions(shared, data) if known is None else None
    d = len(data.columns)
    if fit in _SIZED:
        sizes[0] = min(sizes[0], d) if k is None else sizes[0]
        sizes = sizes.limit_to(d, f"{both}: {d} columns of U")
    reading: dict[str, Any] = {"columns": data.columns, "columns_v": data.columns_v}
    if fit in _SIZED and scale is not False:
        reading |= {"subtracted": data.U.mean(axis=0), "divided_by": data.U.std(axis=0, ddof=1)}
        say("Columns of U are scaled: directions, distances and errors are in standard deviations.")
    known = known if known is None or "divided_by" not in reading else known * reading["divided_by"]
    rows, distances = scale_rows(data.U, reading), dict[str, float]()
    options = _parameters_of(run, fit, method, order) | {"n_shared": shared, "linear_map": known}
    given_alone = {"edges": data.edges, "penalty": penalty, "alpha": alpha}
    options |= {name: value for name, value in given_alone.items() if value is not None}

    def learned(size: int | None, **more: Any) -> Any:
        size_of = {"n_components": size} if fit in _SIZED else {}
        arguments = (rows, data.V, data.y) if fit in _TARGETED else (rows, data.V)
        return _KINDS[fit](**size_of, **options | more).fit(*arguments)

    def told(model: Any, _: Any) -> Summary:
        peers = contrast_peers(model, rows, data.V, data.y)
        distances.update(differences(model, rows, peers))
        return summarize_contrast(
            model, rows, data.V, data.y, columns=data.columns, columns_v=data.columns_v, peers=peers,
            scaling=(reading["subtracted"], reading["divided_by"]) if "divided_by" in reading else None,
            row_labels=labels_of(Labels(data.rows, data.names)), files=files, target=data.target,
            title=f"What {files[0]} has and {files[1]} has not", source=", ".join([both, *_remarks(data)]),
        )  # fmt: skip

    summary = learn(
        results, both, sizes, learned, told, reading=reading,
        compare=lambda: Comparison(noun, "", lambda size: learned(size, verbose=False), _measured),
    )  # fmt: skip
    return summary | {"source_v": str(other), "differences": distances}


def _parameters_of(run: Run, fit: str, method: str, order: str) -> dict[str, Any]:
    """Return the parameters that all estimators of two views have; some have no seed."""
    parameters = inspect.signature(_KINDS[fit]).parameters
    common = {name: value for name, value in run.parameters.items() if name in parameters}
    return common | {"method": method, "order": order if order == "auto" else int(order)}


def _measured(model: Any) -> dict[str, Any]:
    """Of all rows: there is no likelihood to hold rows out for."""
    if kind_of(model) == "pca":
        return {"share of variance": float(model.explained_variance_ratio_.sum())}
    return {"smallest share": float(model.weights_.min()), "spread": float(np.sqrt(model.variance_))}


def _check_alone(other: Path | None, **options: Any) -> None:
    """Raise where V is given, or an option that needs it, and other rows with the same columns are there in its place."""
    if other is not None:
        raise LatentiaError(f"{other}: expected one table of rows with --background; leave this one out.")
    for name, value in options.items():
        if value not in (None, "pca", "auto"):
            option = f"--{name.replace('_', '-')}"
            raise LatentiaError(
                f"{option} {value}: expected a table V of the same rows; leave it out with --background."
            )


def _check_options(
    fit: str, target: str | None, k: str | None, method: str, order: str, scale: bool | None, edges: Path | None,
    penalty: str | None, alpha: float | None,
) -> None:  # fmt: skip
    if fit in _TARGETED and target is None:
        raise LatentiaError(f"--fit {fit}: what is to be predicted? Name a column of U, or a file, with --target.")
    if fit not in _TARGETED and target is not None:
        raise LatentiaError(
            f"--target is for --fit regression and logistic. To leave a column out of a {fit}, use --ignore."
        )
    if fit not in _SIZED and k is not None:
        raise LatentiaError(f"-k is for --fit pca and mixture: leave it out with {fit}.")
    if fit not in _SIZED and scale is not None:
        raise LatentiaError(f"--scale/--no-scale is for --fit pca and mixture: units do not matter with {fit}.")
    if edges is not None and fit != "ising":
        raise LatentiaError(f"--edges is for --fit ising: leave it out with {fit}.")
    if penalty is not None and fit != "regression":
        raise LatentiaError(f"--penalty is for --fit regression: leave it out with {fit}.")
    if alpha is not None and penalty is None:
        raise LatentiaError(f"--alpha {alpha:g}: of which penalty? Choose --penalty l1 or l2.")


# --- reading ----------------------------------------------------------------------------------------------------


def _read(source: Path, other: Path, target: str | None, fit: str, how: ReadOptions, **more: Any) -> Views:
    """The two tables and the target, with what is to be said of them."""
    least = 1 if fit in (*_TARGETED, "components") else 2
    with explain_cell_errors(how):
        views = read_views(
            source, other, target=target, classes=fit == "logistic", min_columns=least, missing=how.missing, cache=how.cache,
            encoding=how.encoding, **more,
        )  # fmt: skip
    for table in views.tables:
        announce(table)
    if (
        target in views.tables[1].left_out
        and target in views.tables[0].left_out
        and real_path(source) != real_path(other)
    ):
        say(f"note: {other.name} has a column {target!r} as well, which is left out as the target.")
    if views.n_dropped:
        n = len(views.U) + views.n_dropped
        say(f"{views.n_dropped:,} of {n:,} rows lack a value in one of the files and are left out of all.")
    for letter, gone in zip("UV", (views.constant, views.constant_v), strict=True):
        if gone:
            more_of = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
            say(f"note: constant columns of {letter} are left out: {', '.join(gone[:5])}{more_of}.")
    return views


def _known_map(value: str, views: Views, how: ReadOptions) -> np.ndarray:
    """A, shape (d_v, d_u), in the units of the files; rows of a file are those of V's columns by name, or else in order."""
    of_u, of_v = views.columns, views.columns_v
    if value == "identity":
        if len(of_u) != len(of_v):
            raise LatentiaError(
                f"--linear-map identity: U has {count(len(of_u), 'column')} and V {len(of_v)}: choose those that belong "
                "together, with --columns and --columns-v."
            )
        return np.eye(len(of_u))
    table = read_known_columns(Path(value), of_u, len(of_u), how)
    found, names = dense(table), list(table.names)
    if set(of_v) <= set(names):
        return np.asarray(found[places_of(names, of_v)])
    if len(found) != len(of_v):
        raise LatentiaError(f"{value}: {count(len(found), 'row')}, and V has {count(len(of_v), 'column')}.")
    return found


def _remarks(views: Views) -> list[str]:
    """What was left out or filled in."""
    n = len(views.U) + views.n_dropped
    dropped = f"without {views.n_dropped:,} of {n:,} rows, which lack a value in one of the files"
    filled = f"with means in {views.n_filled:,} cells that had no value"
    return [*([dropped] if views.n_dropped else []), *([filled] if views.n_filled else [])]


def _check_width(fit: str, width: int, n: int, source: str) -> None:
    if width <= _WIDE:
        return
    most = _WIDEST.get(fit, width)
    if width > most:
        raise LatentiaError(
            f"{width} columns in both tables, and --fit {fit} takes at most {most}. Choose columns with --columns "
            "and --columns-v, or reduce each table to its first principal components.",
            source=source,
        )
    if n > _SLOW:
        say(
            f"note: {width} columns in both tables: with more than {_WIDE} all pairs of the {n:,} rows are compared, which "
            "takes long. Fewer columns (--columns, --columns-v) are faster.",
        )


def _shared_dimensions(shared: int | None, data: Views) -> int | None:
    d_u, d_v = len(data.columns), len(data.columns_v)
    most = min(d_u, d_v)
    if shared is not None and shared > most:
        raise LatentiaError(
            f"--shared {shared}: U has {d_u} columns and V {d_v}: they share at most {most} dimensions."
        )
    if shared is None and d_v < d_u:
        say(
            f"note: V has {count(d_v, 'column')} and U {d_u}: they can share {d_v} at most, as with --shared {d_v}.",
        )
        return d_v
    return shared


# --- applying -------------------------------------------------------------------------------------------------------


def apply_contrast(model: Any, source: Path, how: ReadOptions, other: Path | None) -> Callable[[Path], object]:
    """Read other rows of U, and of V if there are any; gives the function that writes what the model says of them."""
    if isinstance(model, contrastive.BackgroundPCA):
        if other is not None:
            raise LatentiaError(f"{other}: a BackgroundPCA is applied to one table; leave this one out.")
        rows = read_like(model, source, how)
        return lambda path: coordinates_of(model, rows.values, labels_of(rows)).write(path)
    if kind_of(model) == "ising":
        raise LatentiaError("A ContrastiveIsing says nothing of single rows: its couplings are in couplings.csv.")
    reading = model.reading_ or {"columns": model.column_names, "columns_v": model.column_names_v}
    tables = [announce(read_known_columns(source, reading["columns"], model.n_features_in_, how))]
    if other is not None:
        tables.append(announce(read_known_columns(other, reading["columns_v"], model.n_features_v_, how)))
    with explain_cell_errors(how):
        kept = match_rows(tables, [source, *([] if other is None else [other])], cache=how.cache, encoding=how.encoding)
    if other is None:
        say("note: without V what it shares with U is not removed: U is taken to have nothing of it.")
    U, *V = (dense(table)[mask] for table, mask in zip(tables, kept, strict=True))
    labels = Labels(tables[0].rows, tables[0].names).select(kept[0])
    names = model.reading_.get("columns")
    return lambda path: rows_of(model, scale_rows(U, reading), V[0] if V else None, names, labels_of(labels)).write(
        path
    )
