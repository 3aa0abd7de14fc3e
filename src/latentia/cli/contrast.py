"""``latentia contrast``: what one table has and another one of the same rows has not, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from scipy import sparse

from ..contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)
from ..contrastive.views import MOST_IN_TENSORS
from ..exceptions import LatentiaError
from ..report.contrast import distance_text, matrix_names, telling
from ..report.contrast_peers import PEERS, answer_of, contrast_peers, differences, in_units_of
from ..report.parts import count, short_number
from ._shared import (
    Cache,
    Comparison,
    Encoding,
    Force,
    FullEvidence,
    Jobs,
    NoCache,
    Out,
    Quiet,
    Reading,
    Results,
    Rows,
    Seed,
    check_choice,
    component_cells,
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
    MayBeMissing,
    Table,
    Wanted,
    announce,
    known,
    naming,
    numeric_columns,
    read_known_columns,
    read_table,
    split_names,
)

__all__ = ["CONTRASTIVE", "apply_contrast", "contrast"]

_KINDS: dict[str, type] = {
    "pca": ContrastivePCA,
    "regression": ContrastiveRegression,
    "logistic": ContrastiveLogisticRegression,
    "mixture": ContrastiveGaussianMixture,
    "ising": ContrastiveIsing,
    "components": ContrastiveComponents,
}
CONTRASTIVE = {one: kind for kind, one in _KINDS.items()}
"""The kind of every estimator, as ``--fit`` calls it."""

_SIZED = ("pca", "mixture")
_TARGETED = ("regression", "logistic")
_ANSWERS = {
    "pca": "directions.csv", "regression": "coefficients.csv", "logistic": "coefficients.csv", "mixture": "means.csv",
    "ising": "couplings.csv", "components": "parts.csv",
}  # fmt: skip
_SCORES, _MAP, _PEERS, _SCALING = "scores.csv", "map.csv", "peers.csv", "scaling.csv"
_FILES = (*sorted(set(_ANSWERS.values())), _SCORES, _MAP, _PEERS, _SCALING)
_WIDE = MOST_IN_TENSORS  # columns of both tables, beyond which all pairs of rows are looked at
_WIDEST = {"logistic": _WIDE, "mixture": 160}  # whose fourth, or third, cumulants are learned from
_SLOW = 5000  # rows from which on that takes long
_SINGULAR = 1e-10
_FEWEST = 16  # rows: four in each quarter, for fourth cumulants
_WHY = {1: "one or more are needed", 2: "two or more are needed"}
_NOUNS = {"pca": "directions", "mixture": "components"}


def contrast(
    source: Annotated[Path, typer.Argument(metavar="U", help="The table to learn from: CSV, TSV, Excel, Parquet.")],
    other: Annotated[
        Path,
        typer.Argument(metavar="V", help="The table to set apart: the same rows in the same order, other columns."),
    ],
    fit: Annotated[
        str,
        typer.Option(help=f"What to learn of what U has and V has not: {', '.join(_KINDS)}."),
    ] = "pca",
    target: Annotated[
        str | None,
        typer.Option(help="What to predict, with regression or logistic: a column of U, or a file of one column."),
    ] = None,
    out: Out = Path("contrast"),
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
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    evidence: FullEvidence = False,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Learn what one table has and another one of the same rows has not, and write tables, a model and a report."""
    _check_options(fit, target, k, method, order, scale)
    _check_own_options(fit, edges, penalty, alpha)
    sizes: list[Any] = parse_sizes(k or "2", _NOUNS[fit]) if fit in _SIZED else [None]
    results = Results(out, source, _FILES, force, evidence, not quiet)
    target_file = Path(target) if target is not None and Path(target).is_file() else None
    for path in (other, target_file, source):
        if path is not None:
            Results(out, path, _FILES, force, evidence, not quiet).check()
    how = Reading.of(quiet, cache, no_cache, missing, MISSING, encoding=encoding)
    console = Console()
    data = _read(source, other, target, target_file, fit, columns, columns_v, ignore, how, console)
    shared = _shared_dimensions(shared, data, console)
    if fit in _SIZED:
        d = len(data.columns)
        sizes = [min(sizes[0], d)] if k is None else sizes
        sizes = possible_sizes(sizes, d, f"{data.source}: {d} columns of U", _NOUNS[fit], console)
    reading: dict[str, Any] = {"columns": data.columns, "columns_v": data.columns_v}
    rows = data.U
    if fit in _SIZED and scale is not False:
        reading |= {"subtracted": data.U.mean(axis=0), "divided_by": data.U.std(axis=0, ddof=1)}
        rows = (data.U - reading["subtracted"]) / reading["divided_by"]
        say(console, "Columns of U are scaled: directions, distances and errors are in standard deviations.")
    options: dict[str, Any] = {
        "method": method, "order": order if order == "auto" else int(order), "n_shared": shared, "random_state": seed,
        "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip

    if edges is not None:
        options["edges"] = _read_edges(edges, data.columns)
    if penalty is not None:
        options |= {"penalty": penalty} | ({} if alpha is None else {"alpha": alpha})

    def learn(size: int | None, **more: Any) -> Any:
        size_of = {"n_components": size} if fit in _SIZED else {}
        arguments = (rows, data.V, data.y) if fit in _TARGETED else (rows, data.V)
        return _KINDS[fit](**size_of, **options | more).fit(*arguments)

    found = _Found(fit, data, rows)
    summary = run_command(
        results, data.source, sizes, learn,
        show=lambda model, console: _show(model, found, console),
        write=lambda folder, model, comparison: _write(folder, model, found, comparison),
        reading=reading,
        compare=lambda: _comparison(fit, lambda size: learn(size, verbose=False)),
    )  # fmt: skip
    return summary | {"source_v": str(other), "differences": found.distances}


def _check_options(fit: str, target: str | None, k: str | None, method: str, order: str, scale: bool | None) -> None:
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


def _check_own_options(fit: str, edges: Path | None, penalty: str | None, alpha: float | None) -> None:
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
    source: Path,
    other: Path,
    target: str | None,
    target_file: Path | None,
    fit: str,
    columns: str | None,
    columns_v: str | None,
    ignore: str | None,
    how: Reading,
    console: Console,
) -> _Data:
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
    path: Path,
    option: str,
    columns: str | None,
    ignored: list[str],
    target: str | None,
    least: int,
    how: Reading,
    kinds: dict[Path, dict[str, str]],
) -> Table:
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
        known(file or source, found, "--target", [name])
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
        dense = table.values.toarray() if sparse.issparse(table.values) else np.asarray(table.values)
        values, columns = _varying(letter, dense[mask], table, console)
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


# --- comparing numbers --------------------------------------------------------------------------------------------


def _comparison(fit: str, learn: Callable[[int], Any]) -> Comparison:
    """Models of all rows: there is no likelihood to hold rows out for."""

    def measure(model: Any) -> dict[str, Any]:
        if fit == "pca":
            return {"share of variance": float(model.explained_variance_ratio_.sum())}
        return {"smallest share": float(model.weights_.min()), "spread": float(np.sqrt(model.variance_))}

    return Comparison(_NOUNS[fit], "", learn, measure)


# --- printing and writing -------------------------------------------------------------------------------------------


class _Found:
    """The data of a run, and what simpler methods say of it, which is computed once."""

    def __init__(self, fit: str, data: _Data, rows: np.ndarray) -> None:
        self.fit, self.data, self.rows = fit, data, rows
        self.distances: dict[str, float] = {}
        self._peers: dict[str, np.ndarray] = {}

    def peers(self, model: Any) -> dict[str, np.ndarray]:
        if not self._peers:
            self._peers = contrast_peers(model, self.rows, self.data.V, self.data.y)
            self.distances = differences(model, self.rows, self._peers)
        return self._peers


def _errors_in_units(model: Any, found: _Found) -> list[str]:
    """Expected errors of coefficients in their own units, as texts; empty where none were measured."""
    ours, errors = answer_of(model, found.rows), model.evidence_.component_errors
    if errors is None:
        return [""] * len(ours)
    return [f"{v:.4g}" for v in in_units_of(model, errors, ours, found.rows)]


def _in_units(model: Any, means: np.ndarray) -> np.ndarray:
    """Means in the units of the file."""
    reading = model.reading_
    return means * reading["divided_by"] + reading["subtracted"] if "divided_by" in reading else means


def _show(model: Any, found: _Found, console: Console) -> None:
    evidence, names, kind = model.evidence_, found.data.columns, found.fit
    peers, rows = found.peers(model), []
    ours = answer_of(model, found.rows)

    def strongest(values: np.ndarray, numbers: np.ndarray, sign: bool) -> str:
        return ", ".join(f"{names[d]} {short_number(float(numbers[d]), sign=sign)}" for d in telling(values))

    heads: dict[str, str]
    if kind == "pca":
        heads = {"direction": "right", "variance": "right"}
        cells = [[f"{100 * share:.1f}%"] for share in model.explained_variance_ratio_]
        last, texts = "strongest columns", [strongest(one, one, True) for one in ours]
    elif kind == "mixture":
        heads = {"component": "right", "share": "right"}
        cells, means = [[f"{100 * share:.1f}%"] for share in model.weights_], _in_units(model, ours)
        scaled = (ours - found.rows.mean(axis=0)) / found.rows.std(axis=0)
        last, texts = "what sets it apart", [strongest(a, b, False) for a, b in zip(scaled, means, strict=True)]
    elif kind == "components":
        heads, cells = {"part": "right"}, [[]] * 3
        last, texts = "what it is", ["s1, of U alone", "s2, of both", "s3, of V alone"]
    else:
        heads = dict.fromkeys(("number", "U alone", "beside V", "this fit"), "right")
        columns = (peers[PEERS[0]], peers[PEERS[2]], ours)
        cells = [[short_number(float(v), sign=True) for v in line] for line in zip(*columns, strict=True)]
        last = "columns" if kind == "ising" else "column"
        texts = matrix_names(model, names) if kind == "ising" else names
    errors = [component_cells(evidence, i, 2)[0] for i in range(len(cells))]
    if kind in _TARGETED:
        errors = [error and short_number(float(error)) for error in _errors_in_units(model, found)]
    for i, (line, text) in enumerate(zip(cells, texts, strict=True)):
        rows.append([str(i), *line, errors[i], component_cells(evidence, i)[1], text])
    heads |= {"+-" if kind in _TARGETED else "error": "right", "grade": "left", last: "left"}
    title = {
        "pca": f"{count(len(rows), 'direction')} of what U has and V has not",
        "mixture": f"{count(len(rows), 'component')} of what U has and V has not, largest first",
        "ising": f"{count(len(rows), 'coupling')} of what U has and V has not",
        "components": "Three parts",
    }.get(kind, f"{count(len(rows), 'coefficient')} for {found.data.target}, of what U has and V has not")
    print_components(console, title, heads, rows, _ANSWERS[kind])
    error = evidence.expected_error
    if error is not None and kind == "components" and evidence.component_errors is not None:
        error = float(evidence.component_errors[0])  # the others are compared by s1 alone
    beside = "" if error is None else f" Its own expected error is {distance_text(error)}."
    said = ", ".join(f"{name} {distance_text(distance)}" for name, distance in found.distances.items())
    say(console, f"How far simpler methods are from this fit: {said}.{beside}\n")


def _write(folder: Path, model: Any, found: _Found, comparison: Rows | None) -> None:
    from ..report import write_contrast_report

    data, kind, peers = found.data, found.fit, found.peers(model)
    _write_answer(folder / _ANSWERS[kind], model, found, peers)
    if kind in _SIZED:
        noun = "direction" if kind == "pca" else "component"
        lines = (
            [i, name, *(f"{v:.8g}" for v in (answer[i] if kind == "pca" else _in_units(model, answer[i])))]
            for i in range(len(answer_of(model, found.rows)))
            for name, answer in peers.items()
        )
        write_csv(folder / _PEERS, [noun, "method", *data.columns], lines)
    scaling = None
    if "divided_by" in model.reading_:
        scaling = model.reading_["subtracted"], model.reading_["divided_by"]
        write_csv(folder / _SCALING, ["column", "subtracted", "divided by"], zip(data.columns, *scaling, strict=True))
    per_unit = model.linear_map_ / (1.0 if scaling is None else scaling[1])
    lines_of_map = ([name, *(f"{v:.8g}" for v in row)] for name, row in zip(data.columns_v, per_unit, strict=True))
    write_csv(folder / _MAP, ["column of V", *data.columns], lines_of_map)
    if kind != "ising":
        _write_scores(folder / _SCORES, model, found.rows, data.V, data.labels)
    write_contrast_report(
        folder / "report.html", model, found.rows, data.V, data.y, columns=data.columns, columns_v=data.columns_v,
        scaling=scaling, peers=peers, files=data.files, target=data.target,
        title=f"What {data.files[0]} has and {data.files[1]} has not",
        source=", ".join([data.source, *data.remarks]), comparison=comparison,
    )  # fmt: skip


def _write_answer(path: Path, model: Any, found: _Found, peers: Mapping[str, np.ndarray]) -> None:
    names, evidence, kind = found.data.columns, model.evidence_, found.fit
    ours = answer_of(model, found.rows)
    error = ["expected error", "grade"]
    if kind == "pca":
        lines = [
            [i, f"{model.explained_variance_[i]:.8g}", f"{model.explained_variance_ratio_[i]:.6f}",
             *component_cells(evidence, i), *(f"{v:.8g}" for v in one)]
            for i, one in enumerate(ours)
        ]  # fmt: skip
        write_csv(path, ["direction", "variance", "share of variance", *error, *names], lines)
    elif kind == "mixture":
        lines = [
            [i, f"{model.weights_[i]:.6f}", *component_cells(evidence, i), *(f"{v:.8g}" for v in mean)]
            for i, mean in enumerate(_in_units(model, ours))
        ]
        unit = " (standard deviations)" if "divided_by" in model.reading_ else ""
        write_csv(path, ["component", "share", f"expected error{unit}", "grade", *names], lines)
    elif kind == "components":
        lines = []
        for i, part in enumerate(("s1", "s2", "s3")):
            for name, row in zip(found.data.columns_v if i == 2 else names, model.covariance(i + 1), strict=True):
                lines += [
                    [i, part, *component_cells(evidence, i), name, other, f"{v:.8g}"]
                    for other, v in zip(found.data.columns_v if i == 2 else names, row, strict=True)
                ]
        write_csv(path, ["part", "name", *error, "column", "other column", "covariance"], lines)
    else:
        plus = _errors_in_units(model, found) if kind in _TARGETED else []
        titles = [[names[a], names[b]] for a, b in model.edges_] if kind == "ising" else [[name] for name in names]
        heads = ["coupling", "column", "other column"] if kind == "ising" else ["coefficient", "column"]
        lines = [
            [i, *title, f"{ours[i]:.8g}", *([plus[i]] if plus else []), *component_cells(evidence, i),
             *(f"{one[i]:.8g}" for one in peers.values())]
            for i, title in enumerate(titles)
        ]  # fmt: skip
        relative = ["plus or minus", "expected error (relative)", "grade"] if plus else error
        write_csv(path, [*heads, "this fit", *relative, *peers], lines)


def _write_scores(path: Path, model: Any, U: np.ndarray, V: np.ndarray | None, labels: Labels) -> None:
    """What the model says of every row."""
    kind = CONTRASTIVE[type(model)]
    cells: list[list[Any]]
    if kind == "regression":
        heads, cells = ["predicted"], [[f"{v:.8g}"] for v in model.predict(U, V)]
    elif kind == "logistic":
        chance = model.predict_proba(U, V)
        heads = ["class", *(f"probability of {one}" for one in model.classes_)]
        cells = [[label, *(f"{p:.5f}" for p in line)] for label, line in zip(model.predict(U, V), chance, strict=True)]
    elif kind == "mixture":
        chance = model.predict_proba(U, V)
        heads, cells = ["component", "probability"], [[int(p.argmax()), f"{p.max():.5f}"] for p in chance]
    else:
        scores = model.transform(U, V)
        names = model.reading_["columns"] if kind == "components" and hasattr(model, "reading_") else None
        heads = names or [f"{'direction' if kind == 'pca' else 'column'} {i}" for i in range(scores.shape[1])]
        cells = [[f"{v:.8g}" for v in line] for line in scores]
    write_csv(path, [*labels.head, *heads], ([*label, *line] for label, line in zip(labels, cells, strict=True)))


# --- applying -------------------------------------------------------------------------------------------------------


def apply_contrast(
    model: Any, source: Path, console: Console, how: Reading, other: Path | None
) -> Callable[[Path], object]:
    """Read other rows of U, and of V if there are any; gives the function that writes what the model says of them."""
    if CONTRASTIVE[type(model)] == "ising":
        raise LatentiaError("A ContrastiveIsing says nothing of single rows: its couplings are in couplings.csv.")
    reading = getattr(model, "reading_", None) or {
        "columns": getattr(model, "feature_names_in_", None), "columns_v": getattr(model, "_v_names", None),
    }  # fmt: skip
    widths = (model.n_features_in_, model.n_features_v_)
    tables = [read_known_columns(source, reading["columns"], widths[0], how)]
    if other is not None:
        tables.append(read_known_columns(other, reading["columns_v"], widths[1], how))
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
    values = [
        (one.values.toarray() if sparse.issparse(one.values) else one.values)[kept[place]]
        for one, place in zip(tables, places, strict=True)
    ]
    if "divided_by" in reading:
        values[0] = (values[0] - reading["subtracted"]) / reading["divided_by"]
    labels = Labels(tables[0].rows, tables[0].names).kept(kept[places[0]])
    return lambda path: _write_scores(path, model, values[0], values[1] if other is not None else None, labels)
