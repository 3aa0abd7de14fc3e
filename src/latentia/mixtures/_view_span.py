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
from ..moments import ColumnSpan, span_of
from ..passes import Block, Blocks


def span_of_views(blocks: Blocks, within: bool) -> ColumnSpan | None:
    """Which columns of all views say something of their own; None where these are all.

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
    told = {int(j): span.kept[span.weights[[j]].indices] for j in span.left_out}
    # Of rows without noise each view may say all that the others say of the component.
    if {views[j] for j, sources in told.items() if len(sources)} - set(views[span.kept]):
        return span.with_columns(np.array([j for j, sources in told.items() if len(sources)]))
    if within:
        return span
    alone = [j for j, sources in told.items() if len(sources) > 1 and (views[sources] == views[j]).all()]
    return span.with_columns(np.array(alone, int))


def kept_by_view(span: ColumnSpan, widths: Sequence[int]) -> list[np.ndarray]:
    """The columns of each view that are kept; there must be one."""
    kept = [
        span.kept[(span.kept >= end - width) & (span.kept < end)] - (end - width)
        for end, width in zip(np.cumsum(widths), widths, strict=True)
    ]
    for view, own in enumerate(kept, 1):
        if not len(own):
            raise LatentiaError(f"View {view} is constant and says nothing about the component: remove it.")
    return kept


def reduced_views(blocks: Blocks, kept: Sequence[np.ndarray]) -> Blocks:
    """Some columns of each view."""
    shapes = [(blocks.n_rows, len(own)) for own in kept]
    return blocks.map(lambda block: [_selected(table, own) for table, own in zip(block, kept, strict=False)], shapes)


def _joined(block: Block) -> Any:
    if any(sparse.issparse(table) for table in block):
        return sparse.csr_array(sparse.hstack(list(block), format="csr"))
    return np.hstack(list(block))


def _selected(table: Any, columns: np.ndarray) -> Any:
    return table[:, columns] if sparse.issparse(table) else np.take(table, columns, axis=1)
