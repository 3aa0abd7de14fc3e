"""Directions along which cases vary more than controls, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..contrastive import BackgroundPCA
from ..summaries import Column, Summary, Table, block
from ._any import summarize_any
from .parts import count, short_number

FILES = "directions.csv", "scores.csv", "scaling.csv"
_CHOSEN = {
    "filter": "Coordinates of rows are filtered: the background's variation along a direction is removed, as it hides "
    "differences between cases.",
    "projection": "Coordinates of rows are projections on the directions: the background does not hide differences between "
    "cases.",
}
_STRENGTH = (
    "Cases have {strength} times the variance of the background, and additional variance along the directions. Contrast is the "
    "variance of the coordinates of cases over that of the background."
)


def summarize_background(
    model: BackgroundPCA,
    X: Any,
    *,
    columns: Sequence[str],
    row_labels: Sequence[Column] = (),
    scaling: tuple[np.ndarray, np.ndarray] | None = None,
    files: tuple[str, str] = ("the cases", "the background"),
) -> Summary:
    """Describe directions, and the coordinates of the cases along them.

    Parameters
    ----------
    model : BackgroundPCA
        A fitted model.
    X : array of shape (n_rows, D)
        The cases.
    columns : sequence of str
        Names of the columns.
    row_labels : sequence of Column
        Columns that identify the rows.
    scaling : (ndarray, ndarray), optional
        Number subtracted from every column, and divisor of every column.
    files : (str, str)
        Names of the files of cases and background.

    Returns
    -------
    Summary
    """
    summary = summarize_any(model, columns=columns, note="")
    components, *further_parts = summary.parts
    assert isinstance(components, Table)
    hints = _STRENGTH.format(strength=short_number(model.strength_)), _CHOSEN[model.coordinates_]
    columns_on_page = [
        replace(column, where="ps") if column.kind == "words" else column for column in components.columns
    ]
    directions = replace(
        components,
        columns=(
            *columns_on_page,
            Column("variance", model.explained_variance_, ".8g", where="f"),
            Column("contrast", model.contrast_, ".4f", short_number),
            *block(columns, model.components_),
        ),
        file=FILES[0],
        hint=" ".join(hints),
        caption=f"{count(len(components), 'direction')} along which {files[0]} varies more than {files[1]}",
        note=f"{hints[1]}\n",
    )
    parts = directions, *further_parts, coordinates_of(model, X, row_labels)
    if scaling is not None:
        scaling_columns = Column("column", columns), Column("subtracted", scaling[0]), Column("divided by", scaling[1])
        parts += (Table("scaling", scaling_columns, file=FILES[2]),)
    return replace(summary, title=f"What {files[0]} varies in and {files[1]} does not", parts=parts)


def coordinates_of(model: BackgroundPCA, X: Any, row_labels: Sequence[Column] = ()) -> Table:
    """Return the coordinates of rows as a table."""
    values = model.transform(np.asarray(X, dtype=float))
    heads = [f"direction {i}" for i in range(values.shape[1])]
    return Table("rows", (*row_labels, *block(heads, values)), file=FILES[1])
