"""Tables of topics as pandas data frames. Imported where one is made, since pandas is optional."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pandas as pd

__all__ = ["TopicTable"]

_LEAST_WORDS, _ANCHORS = 30, 20  # characters of words, however narrow the terminal, and of anchor words


class TopicTable(pd.DataFrame):
    """A data frame of one row a topic, printed so that shares and words can be read."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return TopicTable

    def __repr__(self) -> str:
        texts = [name for name in ("anchor words", "words") if name in self.columns]
        if "words" not in texts or not self.columns.is_unique:
            return super().__repr__()
        shown = pd.DataFrame(self)
        for name in texts:
            others = shown.drop(columns="words").to_string(formatters=_FORMATS, max_colwidth=None)
            room = shutil.get_terminal_size((100, 24)).columns - others.find("\n") - 2
            cut = [_cut(text, max(room, _LEAST_WORDS) if name == "words" else _ANCHORS) for text in shown[name]]
            width = max([len(name), *map(len, cut)])
            shown = shown.assign(**{name: [text.ljust(width) for text in cut]})
        shown = shown.rename(columns={name: name.ljust(len(shown[name].iloc[0])) for name in texts if len(shown)})
        lines = shown.to_string(formatters=_FORMATS, max_colwidth=None).splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return str(pd.DataFrame(self).to_html(formatters=_FORMATS))


def _cut(text: Any, width: int) -> str:
    """A text of at most so many characters, cut between words."""
    text = str(text)
    return text if len(text) <= width else text[: width - 1].rsplit(" ", 1)[0] + "…"


def _share(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.1%}"


_FORMATS: dict[Any, Callable[[Any], str]] = {
    "share": _share,
    "probability": _share,
    "expected error": lambda error: "" if pd.isna(error) else f"{error:.2f}",
}
