"""Columns of views that carry something of their own, among the columns of all views side by side.

A copy in another view makes views depend on each other, which they must not given the component, and one in the same view
counts twice. Where nothing is assumed within views, combinations of columns of one view stay: they do neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..moments import ColumnSpan, select_columns, span_of
from ..passes import Block, Blocks


def span_of_views(blocks: Blocks, within: bool) -> ColumnSpan | None:
    """Return which columns of all views say something of their own; None where these are all.

    Parameters
    ----------
    blocks : Blocks
        With a part for each view.
    within : bool
        Whether something is assumed of columns within views.

    Returns
    -------
    ColumnSpan or None
    """
    widths = [width for _, width in blocks.shapes]
    span = span_of(blocks.map(lambda block: [_joined(block)], [(blocks.n_rows, sum(widths))]))
    if span is None:
        return None
    views = np.repeat(np.arange(len(widths)), widths)
    sources = {int(j): span.kept[span.weights[[j]].indices] for j in span.dependent_columns}
    dependent = [j for j in sources if len(sources[j])]
    # Of rows without noise each view may say all that the others say of the component.
    if set(views[dependent]) - set(views[span.kept]):
        return span.keep_columns(np.array(dependent))
    if within:
        return span
    combined = [j for j in dependent if len(sources[j]) > 1 and (views[sources[j]] == views[j]).all()]
    return span.keep_columns(np.array(combined, int))


def kept_by_view(span: ColumnSpan, widths: Sequence[int]) -> list[np.ndarray]:
    """Return the columns of each view that are kept; a view without any is an error."""
    kept = [
        span.kept[(span.kept >= end - width) & (span.kept < end)] - (end - width)
        for end, width in zip(np.cumsum(widths), widths, strict=True)
    ]
    for view, columns in enumerate(kept, 1):
        if not len(columns):
            raise LatentiaError(f"View {view} is constant and says nothing about the component: remove it.")
    return kept


def reduced_views(blocks: Blocks, kept: Sequence[np.ndarray]) -> Blocks:
    """Return some columns of each view."""
    shapes = [(blocks.n_rows, len(columns)) for columns in kept]
    return blocks.map(lambda block: [select_columns(*pair) for pair in zip(block, kept, strict=False)], shapes)


def _joined(block: Block) -> Any:
    if any(sparse.issparse(table) for table in block):
        return sparse.csr_array(sparse.hstack(list(block), format="csr"))
    return np.hstack(list(block))
