"""``latentia noisy-or``: hidden causes of the binary findings of a table on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..datasets.baskets import read_baskets
from ..evidence import bounds
from ..exceptions import LatentiaError
from ..noisyor import Diagnosis, NoisyOr
from ..noisyor.baskets import choose_items, make_basket_table
from ..noisyor.inference import ENUMERATION, QUICKSCORE, SAMPLING, SEARCH, Posteriors
from ..passes import Blocks
from ..report.noisy_or import percent, summarize_noisy_or
from ..summaries import Summary, write_csv
from ..system.progress import progress_bar
from ..system.terminal import say
from ._options import render_error
from ._records import NoisyOrOptions
from ._tables import read_like

from ._shared import (  # isort: skip
    Comparison, ReadOptions, Rows, best_graded, highest, hold_out, learn, parse_sizes,
)  # fmt: skip
from ._tables import (
    Labels,
    NewRows,
    Table,
    announce,
    describe_source,
    quote_names,
    read_numbers,
    split_names,
    to_binary,
)

_NETWORK, _POSTERIORS = "network.bif", "posteriors.csv"
_EXPECTED_VALUES = "findings are 1 (present) or 0 (absent)"
_BATCH, _SLOW_BATCH = 2000, 50  # rows between two steps of the progress bar
_METHOD_NAMES = {
    ENUMERATION: "exact",
    QUICKSCORE: "exact",
    SAMPLING: "sampled",
    SEARCH: "likely",
}  # methods of posteriors
_MAX_FAST_CAUSES = 14  # causes up to which every row takes the same short time
_N_EXAMPLES = 3  # rows that are explained without --row
_MAX_EXAMPLE_FINDINGS = 14  # largest number of findings of these rows


def noisy_or(run: NoisyOrOptions) -> dict[str, Any]:
    """Learn hidden causes of findings that are present or absent and write tables, a network and a report."""
    sizes = parse_sizes(run.k, "causes")
    if run.prior is not None and not 0 < run.prior < 1:
        raise LatentiaError(f"--prior {run.prior}: expected a share between 0 and 1. Leave --prior out to estimate it.")
    results = run.results(run.source, "causes.csv", "edges.csv", "findings.csv", _NETWORK, _POSTERIORS)
    read_options, cause_names = run.reading(run.missing, ("keep", "drop")).code_two_values(), _names(run.name)
    if run.baskets and (run.ignore or (run.columns and run.rows != "long")):
        raise LatentiaError("--baskets: the file has no columns. Leave --columns and --ignore out.")
    if run.rows is not None and not run.baskets:
        raise LatentiaError("--rows: belongs to --baskets.")
    data = (
        _read_baskets(run.source, read_options, run.min_df, rows=run.rows, columns=split_names(run.columns))
        if run.baskets
        else _read_findings(run.source, run.columns, run.ignore, read_options)
    )
    n = data.values.shape[1]
    sizes = sizes.limit_to(bounds.noisy_or_causes(n) if run.k else n, f"{data.source}: {n} findings")
    places = _places(data, run.row)
    options = run.parameters_of(NoisyOr)

    def build_summary(model: Any, _: Any) -> Summary:
        return summarize_noisy_or(
            model, data.values, columns=data.columns, rows=places, diagnoses=_explain(model, data, places, not run.quiet),
            row_names=[_name_row(data, place) for place in places],
            printed=bool(run.row), threshold=run.threshold,
        )  # fmt: skip

    def write_files(folder: Path, model: Any) -> None:
        try:
            model.write_bif(folder / _NETWORK, run.threshold)
        except LatentiaError as error:  # a finding has too many causes for its table
            say(f"note: {_NETWORK} is not written. {render_error(error)}")
        _write_posteriors(folder / _POSTERIORS, model, data)

    return learn(
        results, data.source, sizes, lambda size: _fit(data.values, data.columns, size, options, cause_names), build_summary,
        write_more=write_files, description=describe_source(data),
        reading={"columns": list(data.columns), "baskets": run.baskets}
        | ({"rows": run.rows, "pair": split_names(run.columns)} if run.rows else {}),
        compare=lambda: _comparison(data, options | {"verbose": False}),
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------------------------


def _name_row(data: Table, place: int) -> str:
    """Return the name of a row, if it has one, with its place in the file."""
    place_text = f"{data.unit} {data.rows[place]}"
    return f"{data.names[place]} ({place_text})" if data.names else place_text


def _remedy(columns: Sequence[str]) -> str:
    """Advise on columns of other values."""
    return (
        f"Exclude columns that are no findings with --ignore {quote_names(columns)}, or name the findings with --columns. Cut "
        "measured values at a threshold first."
    )


def _read_baskets(
    path: Path,
    read_options: ReadOptions,
    min_df: int = 1,
    items: Sequence[str] = (),
    *,
    rows: str | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """Read baskets as a table of the given items, or of all items in at least ``min_df`` baskets."""
    baskets, lines = read_baskets(
        path, rows=rows, empty=read_options.column_options.empty, encoding=read_options.encoding, columns=columns
    )
    chosen = list(items) or choose_items(baskets, min_df)
    return announce(Table(make_basket_table(baskets, chosen), chosen, {}, lines, [], str(path), "line"))


def _read_findings(path: Path, columns: str | None, ignore: str | None, read_options: ReadOptions) -> Table:
    """Read and announce columns of 0 and 1."""
    reason = "a cause shows in three findings or more, written as 1 (present) and 0 (absent)"
    data = to_binary(read_numbers(path, columns, ignore, 3, reason, read_options), _EXPECTED_VALUES, _remedy)
    if not sparse.issparse(data.values) and data.values.dtype.kind == "f":
        share = percent(float(np.isnan(data.values).mean()))
        say(f"{share} of the cells are empty and are taken as unknown (--missing drop leaves rows out).")
    return data


def _names(texts: list[str] | None) -> dict[int, str]:
    """Return names of causes by number."""
    names = {}
    for text in texts or []:
        number, equals, name = text.partition("=")
        if not equals or not number.strip().isdigit() or not name.strip():
            raise LatentiaError(f'--name {text}: expected a number and a name, such as --name 0="the flu".')
        names[int(number)] = name.strip()
    return names


def _places(data: Table, row_numbers: list[int] | None) -> list[int]:
    """Return positions of the rows to explain: those of --row, else the first with few findings."""
    if not row_numbers:
        present = np.asarray((data.values == 1).sum(axis=1)).ravel()
        return [int(i) for i in np.flatnonzero((present > 0) & (present <= _MAX_EXAMPLE_FINDINGS))[:_N_EXAMPLES]]
    places = {number: place for place, number in enumerate(data.rows)}
    for number in row_numbers:
        if number not in places:
            raise LatentiaError(
                f"--row {number}: {data.source} has no row there. Rows begin in {data.unit} {data.rows[0]} and end in "
                f"{data.unit} {data.rows[-1]}."
            )
    return [places[number] for number in dict.fromkeys(row_numbers)]


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(
    X: Any, columns: list[str], size: int | None, options: dict[str, Any], names: dict[int, str] | None = None
) -> Any:
    model = NoisyOr(size, **options).fit(Blocks.from_array(X, names=columns))
    return model.name_causes(names) if names else model


def _comparison(data: Table, options: dict[str, Any]) -> Comparison:
    """Fit models to nine tenths of the rows and compare them by the likelihood that they give to the others."""
    train, test = hold_out(data.values, data.source)
    score, behind = "held-out log-likelihood", "behind the highest"
    best = highest(score, "{} causes have the highest held-out log-likelihood and are fitted on all rows.")
    sampled = []

    def measure(model: Any) -> dict[str, Any]:
        batches = list(_posteriors(model, test))
        sampled.append(any((batch.method >= SAMPLING).any() for batch in batches))
        return {
            score: float(np.concatenate([batch.log_likelihood for batch in batches]).mean()),
            behind: 0.0,
            "rarest cause": float(model.priors_.min()),
        }

    def choose(rows: Rows) -> tuple[int, str]:
        top = max(row[score] for row in rows)
        for row in rows:  # shows differences that three digits hide
            row[behind] = row[score] - top
        graded = best_graded(rows)
        size, text = best(graded)
        if len(graded) < len(rows):
            text = f"Among the numbers with the best grades, {text}"
        if any(sampled):
            text += " With many causes it is a lower bound for rows with many findings."
        return size, text

    return Comparison(
        "causes", "one row in ten", lambda size: _fit(train, data.columns, size, options), measure, choose
    )


def _posteriors(model: Any, X: Any, progress: str = "") -> Iterator[Posteriors]:
    """Yield posteriors of batches of rows, with a progress bar."""
    step = _BATCH if len(model.priors_) <= _MAX_FAST_CAUSES else _SLOW_BATCH
    with progress_bar(progress, X.shape[0], "rows") as advance:
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            yield model.posterior(part)
            advance(part.shape[0])


def _explain(model: Any, data: Table, places: list[int], progress: bool) -> list[Diagnosis]:
    """Explain some rows, with a progress bar."""
    diagnoses = []
    with progress_bar(progress and "explaining", len(places), "rows") as advance:
        for place in places:
            diagnoses.append(model.explain(data.values[[place]]))
            advance(1)
    return diagnoses


# --- writing ----------------------------------------------------------------------------------------------------


def _write_posteriors(path: Path, model: Any, data: Table, ask: int = 0) -> None:
    """Write the probability of every cause in every row, and the names of ``ask`` findings to ask for next."""
    labels = Labels(data.rows, data.names)
    header = [*labels.head, *model.cause_names_, "accuracy", "method", *(["ask next"] if ask else [])]
    cells_and_rows = zip(_probabilities(model, data, labels), data.values, strict=True) if ask else ()
    rows_with_questions = ([*cells, _to_ask(model, row, ask)] for cells, row in cells_and_rows)
    write_csv(path, header, rows_with_questions if ask else _probabilities(model, data, labels))


def _to_ask(model: Any, row: np.ndarray, n: int) -> str:
    """List the unknown findings that are expected to tell most about the causes."""
    if row.dtype.kind != "f" or not np.isnan(row).any():
        return ""
    return "; ".join(question.finding for question in model.ask(row, n))


def _probabilities(model: Any, data: Table, labels: Labels) -> Iterator[list[Any]]:
    rows = iter(labels)
    for batch in _posteriors(model, data.values, "probabilities" if model.verbose else ""):
        for probabilities, error, method in zip(batch.probabilities, batch.error, batch.method, strict=True):
            method_name = _METHOD_NAMES[int(method)]
            yield [*next(rows), *(f"{p:.6g}" for p in probabilities), f"{error:.2g}", method_name]


# --- applying ---------------------------------------------------------------------------------------------------


def apply_noisy_or(model: Any, source: Path, read_options: ReadOptions, ask: int = 0) -> Callable[[Path], object]:
    """Read other rows; return the function that writes the probabilities of their causes, and what to ask for next."""
    data = _read_like(model, source, read_options)
    if ask and _reads_baskets(model):
        raise LatentiaError("--ask: baskets have no unknown items to ask for. Leave --ask out.")
    return lambda path: _write_posteriors(path, model, data, ask)


def news_noisy_or(model: Any, source: Path, read_options: ReadOptions, batch: str | None) -> NewRows:
    """Read other rows and the column of their batches."""
    if batch is not None and _reads_baskets(model):
        raise LatentiaError("--batch: baskets have no columns. Give a file for each batch.", source=source)
    return NewRows.from_table(_read_like(model, source, read_options, batch), batch)


def _reads_baskets(model: Any) -> bool:
    return model.column_names is not None and bool(model.reading_.get("baskets"))


def _read_like(model: Any, source: Path, read_options: ReadOptions, batch: str | None = None) -> Table:
    """Read other rows with the findings of a model."""
    if _reads_baskets(model):
        rows, pair = model.reading_.get("rows"), model.reading_.get("pair")
        return _read_baskets(source, read_options, items=model.column_names, rows=rows, columns=pair)
    return to_binary(read_like(model, source, read_options, batch), _EXPECTED_VALUES)
