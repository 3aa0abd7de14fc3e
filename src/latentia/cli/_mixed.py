"""Columns of several kinds for ``latentia mixture``: numbers, categories and columns of two values together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.tables import ColumnChoice, Table, check_columns, list_names, numeric_columns
from ..exceptions import LatentiaError
from ..mixtures import MultiViewMixture
from ..summaries import Summary
from ._records import MixtureOptions
from ._shared import Comparison, ReadOptions, hold_out, learn, parse_sizes
from ._tables import announce, describe_source, labels_of, missing_setting, read_table, split_names

FILES = "labels.csv", "means.csv", "columns.csv"
_MIN_COLUMNS = 3  # one for each of three views
_MAX_CATEGORIES = 50  # Columns with more categories are used only if --columns names them.


def mixture_of_kinds(run: MixtureOptions) -> dict[str, Any]:
    """Fit a mixture of numbers and categories, and write tables, a model and a report."""
    results, read_options = run.results(run.source, *FILES), run.reading(run.missing, ("drop", "keep"))
    table, codes = _read_kinds(run.source, split_names(run.columns), split_names(run.ignore) or [], read_options)
    texts = [name for name in table.texts if name not in codes]
    reading = {"columns": [*table.columns, *codes], "categories": texts, "codes": codes} | missing_setting(run.missing)
    frame, sizes = frame_of(table), parse_sizes(run.k, "components")
    options = run.parameters_of(MultiViewMixture) | {"distribution": "mixed"}
    quiet = options | {"verbose": False}

    def summarize(model: MultiViewMixture, _: Any) -> Summary:
        summary = model.summary(frame, row_labels=labels_of(table))
        kinds = model.kinds or {}
        words = {"gaussian": "numbers", "categorical": "categories", "poisson": "counts"}
        groups = {words[kind]: [name for name in kinds if kinds[name] == kind] for kind in words}
        lines = [f"Columns as {word}: {list_names(names, 10)}" for word, names in groups.items() if names]
        return replace(summary, lines=(*summary.lines, *lines))

    def compare() -> Comparison:
        train, test = hold_out(np.arange(len(frame)), table.source)
        return Comparison(
            "components", "one row in ten", lambda size: MultiViewMixture(size, **quiet).fit(frame[train]),
            lambda model: {
                "held-out log-density": model.score(frame[test]), "smallest share": float(model.weights_.min()),
            },
        )  # fmt: skip

    return learn(
        results, table.source, sizes.limit_to(len(frame) // 2, f"{table.source}: {len(frame):,} rows"),
        lambda size: MultiViewMixture(int(size or 1), **options).fit(frame), summarize, reading=reading,
        description=describe_source(table), compare=compare,
    )  # fmt: skip


def frame_of(table: Table) -> Any:
    """Join the columns of numbers and texts to one data frame; an empty text is missing."""
    import polars as pl

    numbers = {name: table.values[:, i] for i, name in enumerate(table.columns)}
    texts = {name: [cell or None for cell in cells] for name, cells in table.texts.items()}
    return (
        pl.DataFrame(numbers | texts).with_columns(pl.col(*numbers).fill_nan(None)) if numbers else pl.DataFrame(texts)
    )


def read_same_kinds(source: Path, reading: Mapping[str, Any], read_options: ReadOptions) -> Table:
    """Read other rows with the columns of a model of several kinds."""
    numbers, texts = list(reading["columns"]), list(reading["categories"])

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        check_columns(source, kinds, None, [*numbers, *texts])
        return ColumnChoice(numbers, texts, names=True)

    table = read_table(source, choose, read_options, option="")
    return _announce(_as_categories(table, list(reading["codes"])))


def _read_kinds(
    source: Path, columns: Sequence[str] | None, ignore: Sequence[str], read_options: ReadOptions
) -> tuple[Table, list[str]]:
    """Read the named columns, or all with numbers or few different texts, and list the numbers with two values."""

    def choose(kinds: Mapping[str, str]) -> ColumnChoice:
        named = [name for name in columns or kinds if name not in ignore]
        check_columns(source, kinds, "--columns", columns or ())
        check_columns(source, kinds, "--ignore", ignore)
        texts = [name for name in named if kinds[name] in ("text", "two")]
        chosen = [name for name in named if name not in texts and (columns or kinds[name] != "apart")]
        numbers = numeric_columns(source, kinds, chosen, (), 0, "", "--columns") if chosen else []
        return ColumnChoice(numbers, texts, names=True)

    table = read_table(source, choose, read_options)
    n_values = [len(np.unique(column[~np.isnan(column)])) for column in table.values.T]
    codes = [name for name, n in zip(table.columns, n_values, strict=True) if n <= 2]
    table = _as_categories(table, codes)
    texts = {name: cells for name, cells in table.texts.items() if columns or _has_categories(cells)}
    left_out = [*table.left_out, *(name for name in table.texts if name not in texts)]
    if len(texts) + len(table.columns) < _MIN_COLUMNS:
        names = list_names([*table.columns, *texts], 10) or "none"
        raise LatentiaError(
            f"expected three or more columns of numbers or categories, found {names}. Name others with --columns.",
            source=source,
        )
    return _announce(replace(table, texts=texts, left_out=left_out)), codes


def _as_categories(table: Table, codes: Sequence[str]) -> Table:
    """Move some columns of numbers, such as 0 and 1, to the texts of a table."""
    is_code = np.isin(table.columns, codes)
    cells = {
        name: ["" if np.isnan(cell) else f"{cell:g}" for cell in table.values[:, table.columns.index(name)]]
        for name in codes
    }
    columns = [name for name in table.columns if name not in cells]
    return replace(table, values=table.values[:, ~is_code], columns=columns, texts=table.texts | cells)


def _announce(table: Table) -> Table:
    announce(replace(table, columns=[*table.columns, *table.texts]))
    return table


def _has_categories(cells: Sequence[str]) -> bool:
    """Return True if a column of texts has few different values."""
    return len(set(cells)) <= min(_MAX_CATEGORIES, len(cells) // 5)
