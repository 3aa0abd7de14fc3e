"""Search for columns whose groups of rows have correlated residuals: clusters that were not specified."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import EvidenceWarning, warn, write_parameter
from .estimates import column_sizes

_MIN_CORRELATION = 0.1  # smallest correlation to report: ten clusters of correlation .3 show less in one case of twenty
_DEVIATIONS = 4.0  # the same in standard errors for independent rows


class AlikeRows(NamedTuple):
    """Column with correlated groups: number of groups, and largest correlation of the residuals of two rows of a group."""

    column: str
    n_groups: int
    correlation: float


def warn_of_clusters(design: np.ndarray, shares: np.ndarray, columns: Mapping[Any, Any], rows: np.ndarray) -> None:
    """Warn if used rows depend on each other within groups of a column, although they are treated as independent."""
    x = design[rows]
    x = x / column_sizes(x)
    residuals = shares[rows] - x @ np.linalg.lstsq(x, shares[rows], rcond=None)[0]
    tests = [_test_groups(str(name), residuals, groups) for name, groups in _groups_of(columns, rows)]
    dependent = [column for column in tests if column is not None]
    if not dependent:
        return
    coarsest = min(dependent, key=lambda column: column.n_groups)
    descriptions = ", ".join(f"{column!r} ({n} groups, correlation {r:.2f})" for column, n, r in dependent)
    warn(
        f"Rows of one group have correlated residuals, in the column {descriptions}: intervals for independent rows are too "
        f"narrow. Name the groups of dependent rows, as in {write_parameter('cluster', coarsest.column)}.",
        EvidenceWarning,
    )


def _groups_of(columns: Mapping[Any, Any], rows: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the name of every column, and the group of every row that is used by it, -1 for none."""
    import pandas as pd

    for name, column in columns.items():
        with contextlib.suppress(TypeError):  # cells that cannot be compared form no groups
            yield name, pd.factorize(np.asarray(column)[rows])[0]


def _test_groups(column: str, residuals: np.ndarray, groups: np.ndarray) -> AlikeRows | None:
    """Return a column if its groups have correlated residuals; otherwise None."""
    residuals, groups = residuals[groups >= 0], groups[groups >= 0]
    n = int(groups.max(initial=-1)) + 1
    if not 2 <= n < len(groups):
        return None
    variance = np.maximum((residuals**2).mean(axis=0), 1e-300)
    size = np.bincount(groups, minlength=n)
    pairs = float((size * (size - 1.0)).sum())
    sums = np.stack([np.bincount(groups, values, n) for values in residuals.T])
    products = ((sums**2).sum(axis=1) - (residuals**2).sum(axis=0)) / max(pairs, 1.0)
    correlation = float((products / variance).max())
    is_clear = correlation >= max(_MIN_CORRELATION, _DEVIATIONS * np.sqrt(2 / max(pairs, 1.0)))
    return AlikeRows(column, n, correlation) if is_clear else None
