"""Tables of topics as pandas data frames. Imported where one is made, since pandas is optional."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ._plain import FORMATS, as_text


class TopicTable(pd.DataFrame):
    """A data frame of one row a topic, printed so that shares and words can be read."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return TopicTable

    def __repr__(self) -> str:
        known = self.columns.is_unique and set(self.columns) <= FORMATS.keys() and "words" in self.columns
        if not known:
            return super().__repr__()
        return as_text({name: self[name].tolist() for name in self.columns}, self.index, str(self.index.name or ""))

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return str(pd.DataFrame(self).to_html(formatters=FORMATS))
