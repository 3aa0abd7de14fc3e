"""``latentia ica``: independent sources of signals on disk, as tables, a model and a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.tables import dense
from ..exceptions import LatentiaError
from ..ica import TensorICA
from ..report.ica import build_rows_table, excess_kurtosis, summarize_ica
from ..report.parts import count
from ._run import Run
from ._shared import Comparison, ReadOptions, learn, parse_sizes
from ._tables import MISSING, describe_source, labels_of, read_like, read_numbers


def ica(
    run: Run,
    source: Path,
    k: str | None = None,
    columns: str | None = None,
    ignore: str | None = None,
    refine: str = "auto",
    noise: str = "auto",
    keep_moments: bool = False,
    missing: str | None = None,
) -> dict[str, Any]:
    """Separate mixed signals into independent sources and write tables, a model and a report.

    Parameters
    ----------
    source
        A table with a header, one signal per column and one time step per row: CSV, TSV, Excel, Parquet.
    k : -k, --sources
        Number of sources, by default that of the columns; FROM:TO:STEP compares a range.
    noise : {auto, gaussian, none}
        Gaussian noise in the signals: gaussian or none; auto decides from the data.
    """
    sizes = parse_sizes(k, "sources")
    results = run.results(source, "mixing.csv", "sources.csv", "unmixing.csv")
    reason = "two or more signals are needed to separate them"
    table = read_numbers(source, columns, ignore, 2, reason, run.reading(missing, MISSING).code_two_values())
    values = dense(table)
    varying = int((np.ptp(values, axis=0) > 0).sum()) if len(values) else 0
    if varying < 2:
        raise LatentiaError(f"{count(varying, 'column')} with different values; {reason}.", source=table.source)
    sizes = sizes.limit_to(values.shape[1], f"{table.source}: {values.shape[1]} columns")

    def fit(size: int | None, **overrides: Any) -> TensorICA:
        noise_model = None if noise == "none" else noise
        options: dict[str, Any] = {"refine": refine, "noise": noise_model, "keep_moments": keep_moments}
        return TensorICA(size, **options | run.parameters | overrides).fit(values)

    return learn(
        results, table.source, sizes, fit,
        lambda model, _: summarize_ica(model, values, columns=table.columns, row_labels=labels_of(table)),
        description=describe_source(table), reading={"columns": list(table.columns)},
        compare=lambda: _compare_sizes(lambda size: fit(size, verbose=False), values),
    )  # fmt: skip


def _compare_sizes(fit: Callable[[int], Any], values: np.ndarray) -> Comparison:
    """Compare models of all rows; without a likelihood no rows are held out."""
    total = float(values.var(axis=0).sum())

    def measure(model: Any) -> dict[str, Any]:
        sources = model.transform(values)
        return {
            "variance kept": float((sources @ model.mixing_.T).var(axis=0).sum()) / total,
            "least |kurtosis|": float(np.abs(excess_kurtosis(sources)).min()),
        }

    return Comparison("sources", "", fit, measure)


def added_ica(model: Any, source: Path, read_options: ReadOptions) -> tuple[Any, ...]:
    """Read rows to add to a model."""
    return (dense(read_like(model, source, read_options)),)


def apply_ica(model: Any, source: Path, read_options: ReadOptions) -> Callable[[Path], object]:
    """Read other rows, and return the function that writes their sources."""
    table = read_like(model, source, read_options)
    return build_rows_table(model.transform(dense(table)), labels_of(table)).write
