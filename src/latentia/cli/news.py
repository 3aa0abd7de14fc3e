"""``latentia news``: how much of new rows a saved model does not explain, by batches."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from .. import persistence
from ..comparing import Drift, News, measure_drift
from ..exceptions import LatentiaError
from ..families import family_of
from ..reading import reading_as
from ..report.page import write_tables
from ..summaries import Column, Table
from ..system.scratch import atomic_file
from ..system.terminal import Terminal, say
from ..topics.periods import assign_periods
from ..topics.prevalence import assign_groups
from ._json import plain
from ._records import NewsOptions
from ._results import RESULT_FILE, Results, find_model
from ._shared import name_source, print_listing
from ._tables import NewRows

_FILES = "batches.csv", "shares.csv", "examples.csv", "report.html", RESULT_FILE


def news(options: NewsOptions) -> dict[str, Any]:
    """Measure how much of new rows a model does not explain, and how shares drift over batches."""
    model, source, reference, out = options.model, options.source, options.reference, options.out
    path = find_model(model)
    fitted = persistence.load(path)
    kind = type(fitted).__name__
    family = family_of(kind)
    name = "" if family is None else family.module
    read_rows: Any = getattr(import_module(f".{name}", __package__), f"news_{name}", None) if name else None
    if read_rows is None:
        raise LatentiaError(f"the model is a {kind}, for which news are not measured.", source=path)
    results = Results(out, source, _FILES, options.force, progress=not options.quiet, model=path)
    results.check()
    fitted.set_params(n_jobs=options.jobs, verbose=not options.quiet)
    keeps_gaps = kind in ("NoisyOr", "SpectralHMM") or get_tags(fitted).input_tags.allow_nan

    def read(file: Path, batch: str | None) -> NewRows:
        read_options = options.reading_like(fitted, file, "keep" if keeps_gaps else None, ("keep",))
        with name_source(file.name), reading_as(read_options.column_options, read_options.sheet):
            rows: NewRows = read_rows(fitted, file, read_options, batch)
        return rows

    with warnings.catch_warnings(), name_source(source.name, reference=reference.name if reference else ""):
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.utils\.validation")
        rows = read(source, options.batch)
        reference_rows = None if reference is None else read(reference, None).values
        try:
            result: News = fitted.news(rows.values, reference_rows)
        except LatentiaError as error:
            error.source = reference if error.parameter == "reference" else None
            raise
        drift = None if rows.batches is None else _measure_drift(fitted, rows, reference_rows)
    batches, shares = (None, None) if drift is None else (drift.table(), drift.shares_table())
    examples = _build_examples(result, rows) if result.examples else None
    tables = [table for table in (batches, shares, examples) if table is not None]
    lines = [result.headline, *([] if drift is None else drift.lines())]
    record = {
        "model": str(path), "source": str(source), "reference": reference and str(reference), "estimator": kind,
        "share": result.share, "interval": result.interval, "alarm": result.alarm, "n_rows": result.n_rows,
        "examples": [rows.names[i] for i in result.examples], "largest_moves": result.largest_moves,
        "batches": [] if batches is None else batches.rows(), "shares": [] if shares is None else shares.rows(),
    }  # fmt: skip

    def write(folder: Path) -> None:
        for table in tables:
            table.write(folder / table.file)
        write_tables(
            folder / "report.html", f"News in {source}", tables, f"{source}, compared with the model of {model}.", lines
        )
        with atomic_file(folder / RESULT_FILE, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(plain(record), file, indent=1, ensure_ascii=False)

    files = results.write(write)
    console = Terminal()
    for table in tables:
        print_listing(replace(table, caption=table.title), console)
    for line in (*lines, f"Wrote {', '.join(files)} to {out}"):
        say(line, console)
    return {"out": str(out), "files": files, **record}


def _measure_drift(model: Any, rows: NewRows, reference: Any) -> Drift:
    """Measure news and shares in periods, if the cells of the batches are dates or numbers, else in groups."""
    cells = rows.batches or []
    try:
        periods = assign_periods(cells)
        numbers, labels = periods.of_rows, periods.labels
    except LatentiaError:
        numbers, labels = assign_groups(cells)
    batches = [None if number < 0 else labels[number] for number in np.asarray(numbers)]
    return measure_drift(model, rows.values, batches, labels=labels, reference=reference)


def _build_examples(result: News, rows: NewRows) -> Table:
    """Return the least probable rows as a table."""
    return Table(
        "examples",
        (Column(rows.unit, [rows.names[i] for i in result.examples], kind="name"),),
        f"Least probable {result.noun}",
        f"The {len(result.examples)} {result.noun} that are least probable under the model, the least probable first.",
        file="examples.csv",
    )
