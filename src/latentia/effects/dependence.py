"""Columns of a table whose groups of rows have alike residuals: clusters that nobody named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import EvidenceWarning, warn, write_parameter
from .estimates import column_sizes

_MIN_CORRELATION = (
    0.1  # correlation of the residuals of two rows of a group: ten clusters of .3 show less in one case of twenty
)
_DEVIATIONS = 4.0  # standard errors of it in rows that are independent


class AlikeRows(NamedTuple):
    """A column, the number of its groups, and the correlation of the residuals of two rows of a group, the largest of all."""

    column: str
    n_groups: int
    correlation: float


def warn_of_clusters(design: np.ndarray, shares: np.ndarray, columns: Mapping[Any, Any], rows: np.ndarray) -> None:
    """Warn where the rows that are used depend on each other within groups of a column, and would be taken as independent."""
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
        f"Rows of one group have alike residuals, in the column {descriptions}: intervals that take rows as independent are too "
        f"narrow. Name what rows depend on each other within, as in {write_parameter('cluster', coarsest.column)}.",
        EvidenceWarning,
    )


def _groups_of(columns: Mapping[Any, Any], rows: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the name of every column, and the group of every row that is used by it, -1 for none."""
    import pandas as pd

    for name, column in columns.items():
        with contextlib.suppress(TypeError):  # Cells that cannot be compared make no groups.
            yield name, pd.factorize(np.asarray(column)[rows])[0]


def _test_groups(column: str, residuals: np.ndarray, groups: np.ndarray) -> AlikeRows | None:
    """Return a column whose groups have alike residuals; None for others."""
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
