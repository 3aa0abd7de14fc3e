"""What a mixture of exponentials says: `latentia.report.exponentials`, were it a family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentia.report.figures import overlaid
from latentia.report.page import make_writer, page
from latentia.report.parts import count, evidence_of, grades_say, short_number
from latentia.summaries import Column, Figure, Summary, Table, grade_columns


@page("Waiting times")
def summarize_exponentials(model: Any, X: Any = None, *, row_labels: Sequence[Column] = ()) -> Summary:
    """Say what exponentials were found; takes what ``fit`` takes."""
    evidence, size = evidence_of(model), len(model.means_)
    rows = () if X is None else (rows_of(model.predict_proba(X), row_labels),)
    waits = np.linspace(0, 3 * model.means_.max(), 100)
    densities = [(f"component {k}", waits, np.exp(-waits / mean) / mean) for k, mean in enumerate(model.means_)]
    moved = grades_say(evidence, "a component", "other rows would give another one")
    return Summary(
        headline=f"{count(size, 'component')} of waiting times.",
        parts=(
            Table(
                "components",
                (
                    Column("component", range(size), kind="key", meaning="Rows that wait about as long."),
                    Column("share", model.weights_, ".6f", kind="share", meaning="How many rows are of it."),
                    Column("mean", model.means_, ".8g", short_number, meaning="Mean waiting time, in the unit of the data."),
                    *grade_columns(evidence, size, meaning=f"How far its mean moves on parts of the rows. {moved}"),
                ),
                title="All components",
                file="components.csv",
                caption=f"{size} components",
            ),
            Figure("densities", overlaid(densities, title="waiting time"), "Their densities", "Curves of the densities"),
            *rows,
        ),
        size=size,
        error="Expected error of a mean: {} of it on average.",
    )  # fmt: skip


summarize = summarize_exponentials
write_exponentials_report = make_writer(summarize_exponentials)


def rows_of(probabilities: np.ndarray, row_labels: Sequence[Column] = ()) -> Table:
    """The most probable component of every row, of probabilities (n_rows, K)."""
    most = probabilities.argmax(axis=1)
    return Table("rows", (*row_labels, Column("component", most)), file="labels.csv")
