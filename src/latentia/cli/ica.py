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
from ._records import IcaOptions
from ._shared import Comparison, ReadOptions, learn, parse_sizes
from ._tables import MISSING, describe_source, labels_of, missing_setting, read_like, read_numbers


def ica(run: IcaOptions) -> dict[str, Any]:
    """Separate mixed signals into independent sources and write tables, a model and a report."""
    sizes = parse_sizes(run.k, "sources")
    results = run.results(run.source, "mixing.csv", "sources.csv", "unmixing.csv")
    reason = "two or more signals are needed to separate them"
    table = read_numbers(
        run.source, run.columns, run.ignore, 2, reason, run.reading(run.missing, MISSING).code_two_values()
    )
    values = dense(table)
    varying = int((np.ptp(values, axis=0) > 0).sum()) if len(values) else 0
    if varying < 2:
        raise LatentiaError(f"{count(varying, 'column')} with different values; {reason}.", source=table.source)
    sizes = sizes.limit_to(values.shape[1], f"{table.source}: {values.shape[1]} columns")

    def fit(size: int | None, **overrides: Any) -> TensorICA:
        noise = None if run.noise == "none" else run.noise
        return TensorICA(size, **run.parameters_of(TensorICA) | {"noise": noise} | overrides).fit(values)

    return learn(
        results, table.source, sizes, fit,
        lambda model, _: summarize_ica(model, values, columns=table.columns, row_labels=labels_of(table)),
        description=describe_source(table), reading={"columns": list(table.columns)} | missing_setting(run.missing),
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
