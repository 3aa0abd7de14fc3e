"""Independent columns of views, among the columns of all views side by side.

A copy of a column in another view makes views dependent given the component, which violates the model; a copy in the same view
counts twice. If nothing is assumed within views, linear combinations of columns of one view do no harm and stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..moments import ColumnSpan, select_columns, span_of
from ..passes import Block, Blocks


def find_view_span(blocks: Blocks, assumes_within: bool) -> ColumnSpan | None:
    """Find the independent columns of all views; None if all are independent.

    Parameters
    ----------
    blocks : Blocks
        One part per view.
    assumes_within : bool
        True if the model assumes something about columns within views.

    Returns
    -------
    ColumnSpan or None
    """
    widths = [width for _, width in blocks.shapes]
    span = span_of(blocks.map(lambda block: [_join_tables(block)], [(blocks.n_rows, sum(widths))]))
    if span is None:
        return None
    views = np.repeat(np.arange(len(widths)), widths)
    sources = {int(j): span.kept[span.weights[[j]].indices] for j in span.dependent_columns}
    dependent = [j for j in sources if len(sources[j])]
    # In rows without noise each view may determine all others.
    if set(views[dependent]) - set(views[span.kept]):
        return span.keep_columns(np.array(dependent))
    if assumes_within:
        return span
    combined = [j for j in dependent if len(sources[j]) > 1 and (views[sources[j]] == views[j]).all()]
    return span.keep_columns(np.array(combined, int))


def select_by_view(span: ColumnSpan, widths: Sequence[int]) -> list[np.ndarray]:
    """Split the kept columns by view; a view without any is an error."""
    kept_columns = [
        span.kept[(span.kept >= end - width) & (span.kept < end)] - (end - width)
        for end, width in zip(np.cumsum(widths), widths, strict=True)
    ]
    for view, columns in enumerate(kept_columns, 1):
        if not len(columns):
            raise LatentiaError(
                f"View {view} has no independent column, so that it cannot distinguish components: remove it."
            )
    return kept_columns


def reduce_views(blocks: Blocks, kept_columns: Sequence[np.ndarray]) -> Blocks:
    """Select some columns of each view."""
    shapes = [(blocks.n_rows, len(columns)) for columns in kept_columns]
    return blocks.map(lambda block: [select_columns(*pair) for pair in zip(block, kept_columns, strict=False)], shapes)


def _join_tables(block: Block) -> Any:
    if any(sparse.issparse(table) for table in block):
        return sparse.csr_array(sparse.hstack(list(block), format="csr"))
    return np.hstack(list(block))
