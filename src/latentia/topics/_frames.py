"""Tables of topics as pandas data frames. This module is imported on use, since pandas is optional."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ._plain import FORMATS, format_table


class TopicTable(pd.DataFrame):
    """A data frame with a row for each topic, which prints shares and words legibly."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return TopicTable

    def __repr__(self) -> str:
        is_formatted = self.columns.is_unique and set(self.columns) <= FORMATS.keys() and "words" in self.columns
        if not is_formatted:
            return super().__repr__()
        return format_table(
            {name: self[name].tolist() for name in self.columns}, self.index, str(self.index.name or "")
        )

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return str(pd.DataFrame(self).to_html(formatters=FORMATS))
