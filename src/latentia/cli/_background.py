"""Cases and controls for ``latentia contrast``: other rows with the same columns, in a second file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..contrastive import BackgroundPCA
from ..datasets.tables import ColumnChoice, Table, list_names
from ..exceptions import LatentiaError
from ..report.background import FILES, summarize_background
from ..summaries import Summary
from ..system.terminal import say
from ._records import ContrastOptions
from ._shared import Comparison, ReadOptions, learn, parse_sizes
from ._tables import (
    MISSING,
    announce,
    describe_source,
    labels_of,
    quote_names,
    read_numbers,
    read_table,
    scale_rows,
    scaling,
)  # fmt: skip

_NOUN = "directions"


def contrast_background(run: ContrastOptions, background: Path) -> dict[str, Any]:
    """Find directions along which cases vary more than controls, and write tables, a model and a report."""
    sizes = parse_sizes(run.k or "2", _NOUN)
    run.results(background, *FILES)
    results, options = run.results(run.source, *FILES), run.reading(run.missing, MISSING)
    cases = read_numbers(run.source, run.columns, run.ignore, 2, "a contrast needs two or more", options)
    controls = _read_controls(background, cases, options)
    files = cases.source, controls.source
    sizes[0] = min(sizes[0] or 2, len(cases.columns)) if run.k is None else sizes[0]
    sizes = sizes.limit_to(len(cases.columns), f"{files[0]}: {len(cases.columns)} columns")
    reading: dict[str, Any] = {"columns": list(cases.columns)}
    if run.scale is not False:
        reading |= scaling(cases.values)
        say("Columns are scaled by the cases: directions and errors are in standard deviations.")
    tables = [scale_rows(table.values, reading) for table in (cases, controls)]
    parameters = run.parameters_of(BackgroundPCA)

    def fit(size: int | None, **overrides: Any) -> BackgroundPCA:
        return BackgroundPCA(size or 2, **parameters | overrides).fit(*tables)

    def summarize(model: BackgroundPCA, _: Any) -> Summary:
        summary = summarize_background(
            model, tables[0], columns=cases.columns, row_labels=labels_of(cases), files=files,
            scaling=(reading["subtracted"], reading["divided_by"]) if "divided_by" in reading else None,
        )  # fmt: skip
        return replace(summary, source=", ".join(map(describe_source, (cases, controls))))

    summary = learn(
        results, " and ".join(files), sizes, fit, summarize, reading=reading,
        compare=lambda: Comparison(_NOUN, "", lambda size: fit(size, verbose=False), _measure),
    )  # fmt: skip
    return summary | {"source_background": str(background)}


def _measure(model: BackgroundPCA) -> dict[str, float]:
    """Measure the share of variance, which grows with the number of directions."""
    return {"share of variance": float(model.explained_variance_ratio_.sum())}


def _read_controls(path: Path, cases: Table, options: ReadOptions) -> Table:
    """Read the columns of the cases by name, in any order."""

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        lacking = [name for name in cases.columns if name not in kinds]
        if lacking:
            raise LatentiaError(
                f"expected the columns of {cases.source}; it lacks {list_names(lacking)}. Leave them out of both with "
                f"--ignore {quote_names(lacking)}.",
                source=path,
            )
        return ColumnChoice(cases.columns, names=True)

    options = (
        options
        if cases.reading is None
        else replace(options, column_options=options.column_options.like(cases.reading.model_settings))
    )
    return announce(read_table(path, choose, options))
