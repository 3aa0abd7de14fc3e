"""``latentia contrast``: what one table has and another one of the same rows has not, as tables, a model and a report."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import contrastive
from ..contrastive.views import MOST_IN_TENSORS
from ..exceptions import LatentiaError
from ..report.contrast import FILES, NOUNS, SCORES, rows_of, summarize_contrast
from ..report.contrast_peers import KINDS, contrast_peers, differences, kind_of
from ..report.parts import count
from ..summaries import Summary
from ._shared import Comparison, Reading, Rows, Run, check_choice, learn, parse_sizes, possible_sizes, say, sizes_help
from ._tables import (
    MISSING,
    Labels,
    MayBeMissing,
    Table,
    Wanted,
    announce,
    check_columns,
    dense,
    labels_of,
    naming,
    numeric_columns,
    read_known_columns,
    read_table,
    scaled_rows,
    split_names,
)

_KINDS: dict[str, type] = {kind: getattr(contrastive, name) for name, kind in KINDS.items()}
_SIZED = ("pca", "mixture")
_TARGETED = ("regression", "logistic")
_FILES = (*sorted(set(FILES.values())), SCORES, "map.csv", "peers.csv", "scaling.csv")
_WIDE = MOST_IN_TENSORS  # columns of both tables, beyond which all pairs of rows are looked at
_WIDEST = {"logistic": _WIDE, "mixture": 160}  # whose fourth, or third, cumulants are learned from
_SLOW = 5000  # rows from which on that takes long
_SINGULAR = 1e-10
_FEWEST = 16  # rows: four in each quarter, for fourth cumulants
_WHY = {1: "one or more are needed", 2: "two or more are needed"}


def contrast(
    run: Run,
    source: Annotated[Path, typer.Argument(metavar="U", help="The table to learn from: CSV, TSV, Excel, Parquet.")],
    other: Annotated[
        Path,
        typer.Argument(metavar="V", help="The table to set apart: the same rows in the same order, other columns."),
    ],
    fit: Annotated[str, typer.Option(help=f"What to learn of what U has and V has not: {', '.join(_KINDS)}.")] = "pca",
    target: Annotated[
        str | None,
        typer.Option(help="What to predict, with regression or logistic: a column of U, or a file of one column."),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option("-k", "--components", help=sizes_help("directions (pca) or components (mixture), by default 2")),
    ] = None,
    shared: Annotated[
        int | None,
        typer.Option(help="Dimensions of what both share, if known; by default as many as U has columns.", min=1),
    ] = None,
    edges: Annotated[
        Path | None,
        typer.Option(
            help="With ising: a file with two columns of U a line, which may be coupled; by default all pairs."
        ),
    ] = None,
    penalty: Annotated[str | None, typer.Option(help="With regression: l1 or l2, of the coefficients.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Weight of the penalty, by default 0.1.", min=0.0)] = None,
    method: Annotated[str, typer.Option(help="How the shared part is found: auto, bls, gtls or eq2.")] = "auto",
    order: Annotated[str, typer.Option(help="Order of the cumulants: 3, 4 or auto.")] = "auto",
    columns: Annotated[
        str | None, typer.Option(help="Columns of U to use, separated by commas; by default all of numbers.")
    ] = None,
    columns_v: Annotated[
        str | None, typer.Option("--columns-v", help="Columns of V to use; by default all of numbers.")
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(help="Columns of either table not to use, such as an id, separated by commas.")
    ] = None,
    scale: Annotated[
        bool | None,
        typer.Option(
            "--scale/--no-scale",
            help="Bring columns of U to standard deviation 1 first, with pca and mixture (default: yes).",
        ),
    ] = None,
    missing: MayBeMissing = None,
) -> dict[str, Any]:
    """Learn what one table has and another one of the same rows has not, and write tables, a model and a report."""
    _check_options(fit, target, k, method, order, scale, edges, penalty, alpha)
    noun = f"{NOUNS[fit]}s"
    sizes: list[Any] = parse_sizes(k or "2", noun) if fit in _SIZED else [None]
    target_file = Path(target) if target is not None and Path(target).is_file() else None
    for path in (other, target_file):
        if path is not None:
            run.results(path, *_FILES)
    results, how = run.results(source, *_FILES), run.reading(missing, MISSING)
    data = _read(source, other, target, target_file, fit, columns, columns_v, ignore, how, run.console)
    shared, d = _shared_dimensions(shared, data, run.console), len(data.columns)
    if fit in _SIZED:
        sizes = [min(sizes[0], d)] if k is None else sizes
        sizes = possible_sizes(sizes, d, f"{data.source}: {d} columns of U", noun, run.console)
    reading: dict[str, Any] = {"columns": data.columns, "columns_v": data.columns_v}
    if fit in _SIZED and scale is not False:
        reading |= {"subtracted": data.U.mean(axis=0), "divided_by": data.U.std(axis=0, ddof=1)}
        say(run.console, "Columns of U are scaled: directions, distances and errors are in standard deviations.")
    rows, distances = scaled_rows(data.U, reading), dict[str, float]()
    parameters = inspect.signature(_KINDS[fit]).parameters
    options = {name: value for name, value in run.parameters.items() if name in parameters}  # some have no seed
    options |= {"method": method, "order": order if order == "auto" else int(order), "n_shared": shared}
    options |= {} if edges is None else {"edges": _read_edges(edges, data.columns)}
    options |= {name: value for name, value in (("penalty", penalty), ("alpha", alpha)) if value is not None}

    def learned(size: int | None, **more: Any) -> Any:
        size_of = {"n_components": size} if fit in _SIZED else {}
        arguments = (rows, data.V, data.y) if fit in _TARGETED else (rows, data.V)
        return _KINDS[fit](**size_of, **options | more).fit(*arguments)

    def told(model: Any, comparison: Rows | None) -> Summary:
        peers = contrast_peers(model, rows, data.V, data.y)
        distances.update(differences(model, rows, peers))
        return summarize_contrast(
            model, rows, data.V, data.y, columns=data.columns, columns_v=data.columns_v, peers=peers,
            scaling=(reading["subtracted"], reading["divided_by"]) if "divided_by" in reading else None,
            row_labels=labels_of(data.labels), files=data.files, target=data.target,
            title=f"What {data.files[0]} has and {data.files[1]} has not", source=", ".join([data.source, *data.remarks]),
            comparison=comparison,
        )  # fmt: skip

    summary = learn(
        results, data.source, sizes, learned, told, reading=reading,
        compare=lambda: Comparison(noun, "", lambda size: learned(size, verbose=False), _measured),
    )  # fmt: skip
    return summary | {"source_v": str(other), "differences": distances}


def _measured(model: Any) -> dict[str, Any]:
    """Of all rows: there is no likelihood to hold rows out for."""
    if kind_of(model) == "pca":
        return {"share of variance": float(model.explained_variance_ratio_.sum())}
    return {"smallest share": float(model.weights_.min()), "spread": float(np.sqrt(model.variance_))}


def _check_options(
    fit: str, target: str | None, k: str | None, method: str, order: str, scale: bool | None, edges: Path | None,
    penalty: str | None, alpha: float | None,
) -> None:  # fmt: skip
    check_choice("--fit", fit, tuple(_KINDS))
    check_choice("--method", method, ("auto", "bls", "gtls", "eq2"))
    check_choice("--order", order, ("auto", "3", "4"))
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
    if penalty is not None:
        check_choice("--penalty", penalty, ("l1", "l2"))
    if penalty is not None and fit != "regression":
        raise LatentiaError(f"--penalty is for --fit regression: leave it out with {fit}.")
    if alpha is not None and penalty is None:
        raise LatentiaError(f"--alpha {alpha:g}: of which penalty? Choose --penalty l1 or l2.")


def _read_edges(path: Path, columns: Sequence[str]) -> list[list[int]]:
    """Pairs of places of columns of U, from a text with two names a line."""
    if not path.is_file():
        raise LatentiaError(f"--edges {path}: no such file.")
    number = {name: i for i, name in enumerate(columns)}
    pairs = []
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for n, line in enumerate(file, 1):
            if not line.strip():
                continue
            names = next(
                (parts for mark in "\t;," if len(parts := [each.strip() for each in line.split(mark)]) == 2),
                line.split(),
            )
            if len(names) != 2:
                raise LatentiaError(f"--edges {path}, line {n}: {len(names)} names, and two columns of U are needed.")
            unknown = [name for name in names if name not in number]
            if unknown:
                raise LatentiaError(
                    f"--edges {path}, line {n}: U has no column {unknown[0]!r}. It has {', '.join(list(columns)[:30])}."
                )
            pairs.append([number[name] for name in names])
    if not pairs:
        raise LatentiaError(f"--edges {path}: the file has no pairs.")
    return pairs


# --- reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Data:
    """Two tables of the same rows, without constant columns, and the target.

    Attributes
    ----------
    U, V : ndarrays
    y : ndarray or None
    columns, columns_v : list of str
    labels : Labels
        Lines of U's file, and their names.
    source : str
        Both files in messages.
    files : (str, str)
    target : str
    remarks : list of str
        What was left out or filled in.
    """

    U: np.ndarray
    V: np.ndarray
    y: np.ndarray | None
    columns: list[str]
    columns_v: list[str]
    labels: Labels
    source: str
    files: tuple[str, str]
    target: str
    remarks: list[str]


def _read(
    source: Path, other: Path, target: str | None, target_file: Path | None, fit: str, columns: str | None,
    columns_v: str | None, ignore: str | None, how: Reading, console: Console,
) -> _Data:  # fmt: skip
    """The two tables and the target: the rows that all have in full."""
    ignored, kinds = split_names(ignore) or [], dict[Path, dict[str, str]]()
    own_target = target if target_file is None else None
    least = 1 if fit in (*_TARGETED, "components") else 2
    first = _read_view(source, "--columns", columns, ignored, own_target, least, how, kinds)
    second = _read_view(other, "--columns-v", columns_v, ignored, own_target, 1, how, kinds)
    for name in ignored:
        if not any(name in found for found in kinds.values()):
            raise LatentiaError(f"--ignore names {name!r}, and neither {source} nor {other} has such a column.")
    for table in (first, second):
        announce(table, console)
    if own_target and source.resolve() != other.resolve() and own_target in kinds[other]:
        say(console, f"note: {other.name} has a column {own_target!r} as well, which is left out as the target.")
    both = [name for name in first.columns if name in second.columns]
    if source.resolve() == other.resolve() and both:
        raise LatentiaError(
            f"{source}: is given as U and as V, and both have column {both[0]!r}. Say which columns are whose with --columns "
            "and --columns-v."
        )
    tables = [first, second]
    if target is not None:
        tables.append(_read_target(source, target, target_file, fit, kinds[source], how))
    return _matched(tables, [source, other, target_file or source][: len(tables)], fit, target, how, console)


def _read_view(
    path: Path, option: str, columns: str | None, ignored: list[str], target: str | None, least: int, how: Reading,
    kinds: dict[Path, dict[str, str]],
) -> Table:  # fmt: skip
    """Columns of numbers of U or V; what columns the file has goes to ``kinds``."""

    def choose(found: Mapping[str, str]) -> Wanted:
        kinds[path] = kinds.get(path, {}) | dict(found)
        left_out = [name for name in [*ignored, *([target] if target else [])] if name in found]
        chosen = split_names(columns)
        if target in (chosen or []):
            raise LatentiaError(f"{option} and --target both name {target!r}: what is predicted cannot predict.")
        if chosen is not None and (both := [name for name in chosen if name in ignored]):
            raise LatentiaError(f"{option} and --ignore both name {both[0]!r}: name it in one.")
        return Wanted(numeric_columns(path, found, chosen, left_out, least, _WHY[least], option), names=naming(found))

    return read_table(path, choose, how, option)


def _read_target(
    source: Path, target: str, file: Path | None, fit: str, kinds: Mapping[str, str], how: Reading
) -> Table:
    """The target as a table of one column; rows that lack it are left out where cells may be missing."""
    if file is None and target not in kinds:
        raise LatentiaError(
            f"--target {target}: no such file, and no such column in {source}. There are {', '.join(list(kinds)[:30])}."
        )

    def choose(found: Mapping[str, str]) -> Wanted:
        name = target
        if file is not None:
            if len(found) != 1:
                raise LatentiaError(
                    f"--target {file}: {len(found)} columns ({', '.join(list(found)[:10])}), and one is needed. Keep one, or "
                    "put it into the file of U and name it."
                )
            (name,) = found
        check_columns(file or source, found, "--target", [name])
        if fit == "logistic":
            return Wanted(texts=[name])
        if found[name] == "text":
            raise LatentiaError(
                f"--target {name}: not a column of numbers, and a regression needs one; for two classes use --fit logistic."
            )
        return Wanted(numbers=[name])

    reading = how if how.missing == "error" else Reading(how.progress, how.cache, "drop", how.ways, how.encoding)
    return read_table(file or source, choose, reading, other="")


def _matched(
    tables: list[Table], paths: list[Path], fit: str, target: str | None, how: Reading, console: Console
) -> _Data:
    """The tables without the rows that one of them lacks, and without constant columns."""
    sizes = [len(table.rows) + table.n_dropped for table in tables]
    for path, size, what in zip(paths[1:], sizes[1:], ("V", "the target"), strict=False):
        if size != sizes[0]:
            raise LatentiaError(
                f"{paths[0]} has {sizes[0]:,} rows and {path} {size:,}: U and {what} need the same rows, in the same order."
                + (" Empty lines are no rows: write NA where a value is not known." if what != "V" else "")
            )
    places = [_complete(table, path, how) for table, path in zip(tables, paths, strict=True)]
    kept = np.logical_and.reduce(places)
    source = f"{tables[0].source} and {tables[1].source}"
    if not kept.any():
        raise LatentiaError(
            f"{source}: no row has all its values. Leave columns out with --ignore, or use --missing mean."
        )
    remarks, dropped = [], int((~kept).sum())
    if dropped:
        remarks.append(f"without {dropped:,} of {sizes[0]:,} rows, which lack a value in one of the files")
        say(console, f"{dropped:,} of {sizes[0]:,} rows lack a value in one of the files and are left out of all.")
    if filled := sum(table.n_filled for table in tables):
        remarks.append(f"with means in {filled:,} cells that had no value")
    parts = [kept[here] for here in places]  # of the rows of each table
    views, names = [], []
    for letter, table, mask in zip("UV", tables[:2], parts[:2], strict=True):
        values, columns = _varying(letter, dense(table)[mask], table, console)
        views.append(values)
        names.append(columns)
    _check_dependence(views, names, source)
    y, called = _target_of(tables, parts, fit, target)
    labels = Labels(tables[0].rows, tables[0].names).kept(parts[0])
    width = len(names[0]) + len(names[1])
    _check_width(fit, width, len(views[0]), source, console)
    return _Data(
        views[0], views[1], y, names[0], names[1], labels, source, (tables[0].source, tables[1].source), called, remarks
    )


def _complete(table: Table, path: Path, how: Reading) -> np.ndarray:
    """Which rows of the file are in the table."""
    size = len(table.rows) + table.n_dropped
    if not table.n_dropped:
        return np.ones(size, bool)
    everything = read_table(path, lambda kinds: Wanted(), how).rows
    return np.isin(np.fromiter(everything, int), np.fromiter(table.rows, int))


def _varying(letter: str, values: np.ndarray, table: Table, console: Console) -> tuple[np.ndarray, list[str]]:
    """Columns that are not constant."""
    constant = np.ptp(values, axis=0) == 0
    gone = [name for name, one in zip(table.columns, constant, strict=True) if one]
    if len(gone) == len(constant):
        raise LatentiaError(
            f"{table.source}: all {len(gone)} columns of {letter} are constant over {len(values)} rows."
        )
    if gone:
        more = f" and {len(gone) - 5} more" if len(gone) > 5 else ""
        say(console, f"note: constant columns of {letter} are left out: {', '.join(gone[:5])}{more}.")
    return values[:, ~constant], [name for name, one in zip(table.columns, constant, strict=True) if not one]


def _check_dependence(views: list[np.ndarray], names: list[list[str]], source: str) -> None:
    """Raise, with names, where columns depend on each other linearly."""
    titles = [*(f"{name} of U" for name in names[0]), *(f"{name} of V" for name in names[1])]
    joined, start = np.hstack(views), 0
    n, d = joined.shape
    if n < _FEWEST:
        raise LatentiaError(
            f"{source}: {n} rows are too few: {_FEWEST} or more are needed, and hundreds to learn much."
        )
    if n <= d:
        raise LatentiaError(
            f"{source}: {n} rows and {d} columns in both tables: more rows than columns are needed. Use fewer columns "
            "(--columns, --columns-v), such as the first principal components of each table."
        )
    scaled = (joined - joined.mean(axis=0)) / joined.std(axis=0)
    for stop in (len(names[0]), d, d):
        values, vectors = np.linalg.eigh(scaled[:, start:stop].T @ scaled[:, start:stop] / n)
        if values[0] <= _SINGULAR * values[-1]:
            involved = np.flatnonzero(np.abs(vectors[:, 0]) > 0.1)
            listed = ", ".join(titles[start + i] for i in involved[:6])
            raise LatentiaError(
                f"{source}: columns depend on each other: {listed}{' and more' if len(involved) > 6 else ''}. One of them "
                "follows from the others: leave it out with --ignore."
            )
        start = stop if stop < d else 0


def _target_of(
    tables: list[Table], masks: list[np.ndarray], fit: str, target: str | None
) -> tuple[np.ndarray | None, str]:
    """The target, and what it is called."""
    if target is None:
        return None, ""
    table, mask = tables[2], masks[2]
    if fit == "regression":
        y = np.asarray(table.values[mask, 0])
        if np.ptp(y) == 0:
            raise LatentiaError(
                f"--target {table.columns[0]}: it is {y[0]:g} in all {len(y)} rows, nothing to predict."
            )
        return y, table.columns[0]
    ((name, texts),) = table.texts.items()
    y = np.asarray(texts, dtype=str)[mask]
    classes = sorted(set(y.tolist()))
    if len(classes) != 2:
        listed = ", ".join(classes[:5]) + (", ..." if len(classes) > 5 else "")
        hint = " For numbers use --fit regression." if len(classes) > 2 else ""
        raise LatentiaError(
            f"--target {name}: {len(classes)} different values ({listed}); two classes are needed.{hint}"
        )
    return y, name


def _check_width(fit: str, width: int, n: int, source: str, console: Console) -> None:
    if width <= _WIDE:
        return
    most = _WIDEST.get(fit, width)
    if width > most:
        raise LatentiaError(
            f"{source}: {width} columns in both tables, and --fit {fit} takes at most {most}. Choose columns with --columns "
            "and --columns-v, or reduce each table to its first principal components."
        )
    if n > _SLOW:
        say(
            console,
            f"note: {width} columns in both tables: with more than {_WIDE} all pairs of the {n:,} rows are compared, which "
            "takes long. Fewer columns (--columns, --columns-v) are faster.",
        )


def _shared_dimensions(shared: int | None, data: _Data, console: Console) -> int | None:
    d_u, d_v = len(data.columns), len(data.columns_v)
    most = min(d_u, d_v)
    if shared is not None and shared > most:
        raise LatentiaError(
            f"--shared {shared}: U has {d_u} columns and V {d_v}: they share at most {most} dimensions."
        )
    if shared is None and d_v < d_u:
        say(
            console,
            f"note: V has {count(d_v, 'column')} and U {d_u}: they can share {d_v} at most, as with --shared {d_v}.",
        )
        return d_v
    return shared


# --- applying -------------------------------------------------------------------------------------------------------


def apply_contrast(
    model: Any, source: Path, console: Console, how: Reading, other: Path | None
) -> Callable[[Path], object]:
    """Read other rows of U, and of V if there are any; gives the function that writes what the model says of them."""
    if kind_of(model) == "ising":
        raise LatentiaError("A ContrastiveIsing says nothing of single rows: its couplings are in couplings.csv.")
    reading = model.reading_ or {"columns": model.column_names, "columns_v": model.column_names_v}
    tables = [read_known_columns(source, reading["columns"], model.n_features_in_, how)]
    if other is not None:
        tables.append(read_known_columns(other, reading["columns_v"], model.n_features_v_, how))
    for table in tables:
        announce(table, console)
    sizes = [len(table.rows) + table.n_dropped for table in tables]
    if len(set(sizes)) > 1:
        raise LatentiaError(
            f"{source} has {sizes[0]:,} rows and {other} {sizes[1]:,}: U and V need the same rows, in the same order."
        )
    if other is None:
        say(console, "note: without V what it shares with U is not removed: U is taken to have nothing of it.")
    places = [_complete(table, path, how) for table, path in zip(tables, (source, other), strict=False) if path]
    kept = np.logical_and.reduce(places)
    U, *V = (dense(one)[kept[place]] for one, place in zip(tables, places, strict=True))
    labels, names = (
        Labels(tables[0].rows, tables[0].names).kept(kept[places[0]]),
        model.reading_.get("columns"),
    )
    return lambda path: rows_of(model, scaled_rows(U, reading), V[0] if V else None, names, labels_of(labels)).write(
        path
    )
