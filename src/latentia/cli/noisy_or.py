"""``latentia noisy-or``: hidden causes of the binary findings of a table on disk, as tables, a model and a report."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen
from scipy import sparse

from .. import persistence
from .._progress import progress_bar
from ..exceptions import LatentiaError, LatentiaWarning
from ..noisyor import Diagnosis, NoisyOr
from ..noisyor._posterior import SAMPLING, Posteriors
from ..passes import Blocks, row_groups
from ..report import import_report
from ..report._parts import largest
from ..report.noisy_or import frequencies, percent, strongest_findings
from ._shared import (
    Force,
    Jobs,
    Quiet,
    Seed,
    best_size,
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

__all__ = ["noisy_or"]

_SCORE = "held-out log-likelihood"
_BEHIND = "behind the highest"  # tells numbers apart that look alike with three digits
_BATCH, _SLOW_BATCH = 2000, 50  # rows between two steps of the bar
_ENUMERATED = 14  # causes, up to which every row takes the same short time
_EXAMPLES, _FEW = 3, 14  # rows that the report explains unless --row names others, and the findings they have at most
_PRINTED = 6


@dataclass(frozen=True)
class Findings:
    """What was read.

    Attributes
    ----------
    X : ndarray of bool or sparse matrix, shape (n_rows, n)
    columns : list of str
    rows : sequence of int
        The line or number of every row in the file.
    unit : str
        What ``rows`` count: "line" or "row".
    source : str
    """

    X: Any
    columns: list[str]
    rows: Sequence[int]
    unit: str
    source: str


@dataclass(frozen=True)
class Explained:
    """Rows whose diagnosis is shown: positions, names, and what the model says."""

    places: list[int]
    names: list[str]
    diagnoses: list[Diagnosis]


def noisy_or(
    source: Annotated[
        Path,
        typer.Argument(help="A table with a header, a finding a column, 1 or 0: CSV, TSV, Parquet; or MatrixMarket."),
    ],
    m: Annotated[
        str | None,
        typer.Option("-m", help="Number of causes; by default the data says. FROM:TO:STEP compares a range."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("noisy-or"),
    columns: Annotated[
        str | None, typer.Option(help="Columns of findings, separated by commas; by default all columns of numbers.")
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(help="Columns to leave out, such as an id or an age, separated by commas.")
    ] = None,
    prior: Annotated[
        float | None, typer.Option(help="Share of the rows in which every cause is at work, if known.")
    ] = None,
    partitions: Annotated[
        int, typer.Option(help="Random partitions of the findings with which the causes are checked.", min=1)
    ] = 5,
    corrections: Annotated[int, typer.Option(help="Rounds that take off moments of higher order.", min=0)] = 2,
    refine: Annotated[int, typer.Option(help="EM passes after the recovery; 0 keeps to the theorem.", min=0)] = 0,
    row: Annotated[
        list[int] | None,
        typer.Option(help="Line of the file whose diagnosis is shown; may be given again for others."),
    ] = None,
    threshold: Annotated[float, typer.Option(help="Least strength of a link that is shown.", min=0, max=1)] = 0.05,
    seed: Seed = 0,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn hidden causes of findings that are present or absent and write tables, a network and a report."""
    sizes = [] if m is None else parse_sizes(m, "causes", "-m")
    if prior is not None and not 0 < prior < 1:
        raise LatentiaError(f"--prior {prior}: a share between 0 and 1 is needed; leave it out to estimate it.")
    check_jobs(jobs)
    check_target(out, source, force)
    import_report()
    chosen, left = split_names(columns), split_names(ignore) or []
    console = Console()
    data = _read(source, chosen, left, console)
    _check_sizes(data, sizes)
    places = _places(data, row)
    options: dict[str, Any] = {
        "prior": prior, "n_partitions": partitions, "corrections": corrections, "refine": refine, "random_state": seed,
        "n_jobs": jobs, "verbose": not quiet,
    }  # fmt: skip
    with named(data.source, "-m"):
        comparison = _compare(data, sizes, options, console) if len(sizes) > 1 else None
        size = best_size(comparison, _SCORE, lowest=False) if comparison else next(iter(sizes), None)
        model = _fit(data.X, data.columns, size, options)
    _print_causes(model, data, threshold, size is None, console)
    print_evidence(model.evidence_, console)
    explained = _explain(model, data, places, not quiet)
    if row:
        _print_rows(explained, data, console)
    written = write_all(out, lambda folder: _write(folder, model, data, explained, threshold, comparison, console))
    console.print(f"Wrote {', '.join(written)} to {out}", highlight=False, soft_wrap=True, markup=False)


# --- reading ----------------------------------------------------------------------------------------------------


def _read(path: Path, columns: list[str] | None, ignore: list[str], console: Console) -> Findings:
    table = read_table(path, lambda kinds: _choose(path, kinds, columns, ignore))
    announce(table, console)
    unit = "row" if isinstance(table.rows, range) else "line"
    return Findings(_binary(table, unit), table.columns, table.rows, unit, table.source)


def _choose(path: Path, kinds: Mapping[str, str], columns: list[str] | None, ignore: list[str]) -> Wanted:
    if all(kind == "text" for name, kind in kinds.items() if name not in ignore):
        raise LatentiaError(
            f"{path}: no column holds numbers. Findings are written as 1 (present) and 0 (absent): replace words such as "
            "yes and no by these."
        )
    wanted = numeric_columns(path, kinds, columns, ignore)
    if len(wanted) < 3:
        raise LatentiaError(f"{path}: {len(wanted)} columns of numbers; a cause shows in three findings or more.")
    return Wanted(wanted)


def _binary(table: Table, unit: str) -> Any:
    """The values as bool, or sparse as they are; an error names the first cell that is neither 0 nor 1."""
    values = table.values
    if sparse.issparse(values):
        rows, places = values.nonzero()
        wrong = (values.data[values.data != 0]) != 1
        cells = np.column_stack([places[wrong], rows[wrong]])
    else:
        cells = np.argwhere(((values != 0) & (values != 1)).T)
    if not len(cells):
        return values if sparse.issparse(values) else values != 0
    column, row = (int(i) for i in cells[np.lexsort(cells.T[::-1])[0]])
    others = [table.columns[i] for i in np.unique(cells[:, 0])]
    more = f" So do {len(others) - 1} other columns." if len(others) > 2 else ""
    more = f" So does column {others[1]!r}." if len(others) == 2 else more
    raise LatentiaError(
        f"{table.source}, {unit} {table.rows[row]}, column {table.columns[column]!r}: {values[row, column]:g}, and findings "
        f"are 1 (present) or 0 (absent).{more} Leave out what is no finding with "
        f"--ignore {_quoted(others)}, or name the findings with --columns; cut measured values at a threshold first."
    )


def _quoted(names: list[str]) -> str:
    """Names as one value of an option."""
    text = ",".join(names)
    return text if text.replace(",", "").isidentifier() else f'"{text}"'


def _check_sizes(data: Findings, sizes: list[int]) -> None:
    """Say before the work begins what would fail after it."""
    most = data.X.shape[1] // 3
    if sizes and max(sizes) > most:
        raise LatentiaError(
            f"{data.source}: {data.X.shape[1]} findings cannot carry {max(sizes)} causes, which need three each; at most "
            f"-m {most}."
        )


def _places(data: Findings, wanted: list[int] | None) -> list[int]:
    """Positions of the rows to explain: those of --row, or else the first that have few findings."""
    if not wanted:
        present = np.asarray(data.X.sum(axis=1)).ravel()
        return [int(i) for i in np.flatnonzero((present > 0) & (present <= _FEW))[:_EXAMPLES]]
    where = {number: place for place, number in enumerate(data.rows)}
    for number in wanted:
        if number not in where:
            raise LatentiaError(
                f"--row {number}: {data.source} has no row there. They begin in {data.unit} {data.rows[0]} and end in "
                f"{data.unit} {data.rows[-1]}."
            )
    return [where[number] for number in dict.fromkeys(wanted)]


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(X: Any, columns: list[str], size: int | None, options: dict[str, Any]) -> NoisyOr:
    blocks = Blocks.from_array(X)
    blocks.names = columns
    return NoisyOr(size, **options).fit(blocks)


def _compare(data: Findings, sizes: list[int], options: dict[str, Any], console: Console) -> list[dict[str, Any]]:
    """Fit every number of causes on nine tenths of the rows and measure each; the table is printed."""
    held = row_groups(np.arange(data.X.shape[0]), 10, 1) == 0
    if not held.any():
        raise LatentiaError(f"{data.source}: too few rows to hold some out; give one number with -m.")
    found: list[dict[str, Any]] = []
    problem, sampled = None, False
    for size in sizes:
        try:
            with warnings.catch_warnings():  # the model of all rows says again what concerns it
                warnings.simplefilter("ignore", LatentiaWarning)
                model = _fit(data.X[~held], data.columns, size, options)
        except LatentiaError as error:  # more than this data can carry: so are those after it
            problem = error
            console.print(f"{size} causes were left out: {error}".replace("n_components=", "-m "), markup=False)
            continue
        batches = list(_posteriors(model, data.X[held], options["verbose"], f"measuring {size} causes"))
        sampled |= any((batch.method == SAMPLING).any() for batch in batches)
        errors, limit = model.evidence_.component_errors, model.evidence_["expected error"].needed
        found.append(
            {
                "causes": size,
                _SCORE: float(np.concatenate([batch.log_likelihood for batch in batches]).mean()),
                _BEHIND: 0.0,
                "expected error": float(errors.mean()) if errors is not None else float("nan"),
                "needed": limit,
                "rarest cause": float(model.priors_.min()),
            }
        )
    if problem is not None and not found:
        raise problem
    best = best_size(found, _SCORE, lowest=False)
    highest = max(row[_SCORE] for row in found)
    for row in found:
        row[_BEHIND] = row[_SCORE] - highest
    sentence = f"{best} causes have the highest held-out log-likelihood and are fitted on all rows."
    if sampled:
        sentence += " Of rows with many findings it is a lower bound where there are many causes."
    print_comparison(found, best, "Numbers of causes (held out: one row in ten)", sentence, console)
    return found


def _posteriors(model: NoisyOr, X: Any, progress: bool, label: str) -> Iterator[Posteriors]:
    """Posteriors of some rows at a time, with a bar."""
    step = _BATCH if len(model.priors_) <= _ENUMERATED else _SLOW_BATCH
    with progress_bar(progress and label, X.shape[0], "rows") as advance:
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            yield model.posterior(part)
            advance(part.shape[0])


def _explain(model: NoisyOr, data: Findings, places: list[int], progress: bool) -> Explained:
    diagnoses = []
    with progress_bar(progress and "explaining", len(places), "rows") as advance:
        for place in places:
            diagnoses.append(model.explain(data.X[[place]]))
            advance(1)
    return Explained(places, [f"{data.unit} {data.rows[place]}" for place in places], diagnoses)


# --- printing ---------------------------------------------------------------------------------------------------


def _print_causes(model: NoisyOr, data: Findings, threshold: float, found: bool, console: Console) -> None:
    many = f"{len(model.priors_)} cause{'' if len(model.priors_) == 1 else 's'}"
    screen = Screen(title=f"{many}{', a number that the data gave' if found else ''}, most frequent first")
    for name in ("cause", "at work in", "give or take", "error"):
        screen.add_column(name, justify="right")
    screen.add_column("strongest findings")
    for k, prior in enumerate(model.priors_):
        strengths = model.strengths_[k]
        listed = [
            f"{data.columns[i]} {100 * strengths[i]:.0f}%" for i in strongest_findings(strengths, threshold, _PRINTED)
        ]
        apart = "" if model.prior_errors_ is None else percent(model.prior_errors_[k])
        error = error_cell(model.evidence_.component_errors, k, 2)
        screen.add_row(str(k), percent(prior), apart, error, escape(", ".join(listed)))
    console.print(screen)


def _print_rows(explained: Explained, data: Findings, console: Console) -> None:
    """The probable causes of the rows that were asked for, and the findings that speak for them."""
    for place, name, diagnosis in zip(explained.places, explained.names, explained.diagnoses, strict=True):
        present = np.asarray(data.X[[place]].sum(axis=0)).ravel() > 0
        screen = Screen(title=f"{name.capitalize()}: {int(present.sum())} findings present")
        screen.add_column("cause", justify="right")
        screen.add_column("probability", justify="right")
        screen.add_column("speaks for it")
        likely = [k for k in largest(diagnosis.probabilities, _PRINTED) if diagnosis.probabilities[k] >= 0.01]
        for k in likely:
            speaking = strongest_findings(diagnosis.evidence[k], 0.1, _PRINTED)
            listed = [data.columns[i] if present[i] else f"no {data.columns[i]}" for i in speaking]
            screen.add_row(str(k), percent(diagnosis.probabilities[k]), escape(", ".join(listed)))
        console.print(screen)
        if not diagnosis.exact:
            console.print(f"Probabilities were sampled, to about {percent(diagnosis.error)}.", highlight=False)


# --- writing ----------------------------------------------------------------------------------------------------


def _write(
    folder: Path,
    model: NoisyOr,
    data: Findings,
    explained: Explained,
    threshold: float,
    comparison: list[dict[str, Any]] | None,
    console: Console,
) -> None:
    from ..report import write_noisy_or_report

    persistence.save(model, folder / "model.npz")
    _write_parameters(folder, model, data, threshold)
    _write_network(folder, model, threshold, console)
    write_evidence(folder / "evidence.csv", model.evidence_)
    if comparison:
        write_csv(folder / "comparison.csv", list(comparison[0]), [list(row.values()) for row in comparison])
    causes = [f"cause {k}" for k in range(len(model.priors_))]
    rows = _probabilities(model, data)
    write_csv(folder / "posteriors.csv", ["row", *causes, "accuracy", "method"], rows)
    write_noisy_or_report(
        folder / "report.html", model, data.X, columns=data.columns, rows=explained.places, row_names=explained.names,
        diagnoses=explained.diagnoses, threshold=threshold, title=f"Causes of {data.source}", source=data.source,
        comparison=comparison,
    )  # fmt: skip


def _write_parameters(folder: Path, model: NoisyOr, data: Findings, threshold: float) -> None:
    errors, apart = model.evidence_.component_errors, model.prior_errors_
    causes = [
        [k, f"{prior:.6f}", error_cell(apart, k, 6), error_cell(errors, k), *(f"{value:.6f}" for value in strengths)]
        for k, (prior, strengths) in enumerate(zip(model.priors_, model.strengths_, strict=True))
    ]
    heading = ["cause", "prevalence", "error of prevalence", "expected error", *data.columns]
    write_csv(folder / "causes.csv", heading, causes)
    edges = [[e.cause, e.finding, f"{e.strength:.6f}", f"{e.weight:.6f}"] for e in model.graph(threshold)]
    write_csv(folder / "edges.csv", ["cause", "finding", "strength", "weight"], edges)
    shares = zip(data.columns, frequencies(data.X), model.leak_, strict=True)
    rows = [[name, f"{share:.6f}", f"{leak:.6f}"] for name, share, leak in shares]
    write_csv(folder / "findings.csv", ["finding", "frequency", "leak"], rows)


def _write_network(folder: Path, model: NoisyOr, threshold: float, console: Console) -> None:
    """The network for other programs; a note where a finding has too many causes for its table."""
    try:
        model.write_bif(folder / "network.bif", threshold)
    except LatentiaError as error:
        reason = str(error).replace("Raise threshold", "Raise --threshold")
        console.print(f"note: network.bif is not written. {reason}", highlight=False, markup=False, soft_wrap=True)


def _probabilities(model: NoisyOr, data: Findings) -> Iterator[list[Any]]:
    rows = iter(data.rows)
    for batch in _posteriors(model, data.X, bool(model.verbose), "probabilities"):
        for probabilities, error, method in zip(batch.probabilities, batch.error, batch.method, strict=True):
            how = "sampled" if method == SAMPLING else "exact"
            yield [next(rows), *(f"{p:.6g}" for p in probabilities), f"{error:.2g}", how]
