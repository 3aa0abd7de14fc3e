"""Results of commands for the pages: files, the comparison of numbers, and topics with other anchors."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from .. import persistence
from .._validation import column_names
from ..exceptions import LatentiaError
from .forms import Command, Fields
from .workspace import MANIFEST, Workspace, date_text, read_json

_MODEL, _RESULT = "model.npz", "result.json"
_MAX_RECORD_BYTES = 64 << 20
_N_ROWS, _MAX_CELLS = 20, 14  # of a table on a page
_MAX_ROWS, _MAX_VALUES = 100_000, 12  # that are counted
_DECIMAL = re.compile(r"-?\d{1,9}(\.\d+(e[-+]\d+)?|e[-+]\d+)")
_PROBABILITY = re.compile(r"0|1|[01]\.\d+|\d(\.\d+)?e-\d+")
_NOT_COUNTED = {"row", "name", "accuracy", "method", "step", "symbol", "probability", "sequence", "ask next"}
_N_WORDS = 12


@dataclass(frozen=True)
class Excerpt:
    """The first rows of a table in a file."""

    file: str
    head: list[str]
    rows: list[list[str]]

    def shown(self) -> list[list[str]]:
        """Return the rows of a page, with rounded numbers."""
        return [[_round(cell)[:80] for cell in row[:_MAX_CELLS]] for row in [self.head, *self.rows[:_N_ROWS]]]

    def summary(self) -> list[str]:
        """Return how often each value of a column occurs, or, of a probability, how often it is above one half."""
        lines = []
        for name, cells in zip(self.head, zip(*self.rows, strict=False), strict=False):
            counts = Counter(() if name in _NOT_COUNTED else cells)
            if counts and len(counts) <= _MAX_VALUES and not any("." in value for value in counts):
                values = [f"{value or 'empty'} in {n:,}" for value, n in counts.most_common()]
                lines.append(f"{name}: {', '.join(values)} rows")
            elif counts and all(_PROBABILITY.fullmatch(value) for value in counts):
                numbers = list(map(float, cells))
                above, mean = sum(number > 0.5 for number in numbers), sum(numbers) / len(numbers)
                lines.append(f"{name}: above 50% in {above:,} rows, {mean:.1%} on average")
        return lines


class Results:
    """Folder of a result."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace, self.name, self.folder = workspace, name, workspace.result(name)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.is_file() and not path.name.startswith("."))

    @property
    def model(self) -> Path | None:
        path = self.folder / _MODEL
        return self.workspace.find(f"{self.name}/{_MODEL}") if path.is_file() else None

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return ``result.json``; empty for results that have none."""
        path = self.folder / _RESULT
        if not path.is_file() or path.stat().st_size > _MAX_RECORD_BYTES:
            return {}
        return read_json(self.workspace.find(f"{self.name}/{_RESULT}"))

    @property
    def date(self) -> str:
        """Return when it was written, or when its work began."""
        paths = self.folder / MANIFEST, self.workspace.app_folder(self.name)
        return next((date_text(path.lstat().st_mtime) for path in paths if path.exists()), "")

    @property
    def estimator(self) -> str:
        return str(self.record.get("estimator", ""))

    @property
    def verdict(self) -> str:
        return str(self.record.get("verdict", ""))

    @property
    def comparison(self) -> list[dict[str, str]]:
        """Return the rows of the comparison of numbers, as texts."""
        compared = self.record.get("comparison")
        rows = compared.get("rows") if isinstance(compared, dict) else None
        rows = [row for row in rows if isinstance(row, dict) and row] if isinstance(rows, list) else []
        return [{str(key): _cell_text(value) for key, value in row.items()} for row in rows]

    @property
    def why(self) -> str:
        compared = self.record.get("comparison")
        return str(compared.get("why", "")) if isinstance(compared, dict) else ""

    def is_like(self, other: Results) -> bool:
        """Return True if another result has a model of the same kind."""
        return other.model is not None and self.estimator == other.estimator

    def abilities(self, words: list[str], command: Command | None) -> set[str]:
        """Return what can be done with the result, which this command learned."""
        if self.model is None:
            return set()
        able = {"apply", "compare", *(["update"] if "--keep-moments" in words else [])}
        return able | ({"names"} if command is not None and command.option("name") else set())

    def tables(self) -> list[Excerpt]:
        """Return the beginning of each table of a result without report."""
        excerpts = []
        for file in () if "report.html" in self.files else self.files:
            if file.endswith(".csv"):
                path = self.workspace.find(f"{self.name}/{file}")
                with open(path, encoding="utf-8", errors="replace", newline="") as lines:
                    rows = list(islice(csv.reader(lines), _MAX_ROWS + 1))
                excerpts += [Excerpt(file, rows[0], rows[1:])] if rows else []
        return excerpts

    def load(self) -> Any:
        """Return the model."""
        path = self.model
        if path is None:
            raise LatentiaError("this result has no model.", source=self.name)
        return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _load(path: Path, _: int) -> Any:
    return persistence.load(path)


def _round(cell: str) -> str:
    """Return a cell, rounded if it is a number with decimals."""
    return f"{float(cell):.3f}" if _DECIMAL.fullmatch(cell) else cell


def _cell_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


# --- topics ---------------------------------------------------------------------------------------------------------


def component_rows(model: Any) -> list[dict[str, str]]:
    """Return name, anchors, share and words of each topic or cause."""
    if hasattr(model, "cause_names_"):
        findings = [str(name) for name in model.column_names or range(model.strengths_.shape[1])]
        names, shares = model.cause_names_, model.priors_
        anchors: list[list[str]] = [[]] * len(names)
        words = [
            [f"{findings[i]} {row[i]:.0%}" for i in (-row).argsort()[:_N_WORDS] if row[i] > 0]
            for row in model.strengths_
        ]
    elif hasattr(model, "top_words"):
        names, words = model.topic_names, model.top_words(_N_WORDS)
        anchors = anchors_of(model) or [[]] * len(names)
        shares = getattr(model, "prevalence_", None)
        shares = model.weights_ if shares is None else shares
    else:
        raise LatentiaError("this result has no topics or causes.")
    return [
        {"name": name, "anchors": " ".join(anchor), "share": f"{share:.1%}", "words": ", ".join(top)}
        for name, anchor, share, top in zip(names, anchors, shares, words, strict=True)
    ]


def anchors_of(model: Any) -> list[list[str]]:
    """Return the anchors of each topic; an empty list for topics without."""
    return [list(map(str, words)) for words in getattr(model, "anchor_words_", [])]


def parse_anchors(model: Any, fields: Fields) -> list[list[str]]:
    """Return the anchors in a form, each of which must be a word of the model."""
    anchors = [text.split() for text in fields.get("anchor", ())]
    n_topics = len(anchors_of(model))
    if len(anchors) != n_topics or not all(anchors):
        raise LatentiaError(
            f"expected at least one anchor for each of {n_topics} topics. Undo the change, or write a word."
        )
    names = column_names(model)
    unknown = {word for words in anchors for word in words} - set(map(str, [] if names is None else names))
    if unknown:
        raise LatentiaError(f"not a word of these texts: {', '.join(sorted(unknown))}. Choose one that the texts have.")
    return anchors


def anchor_lines(anchors: list[list[str]]) -> str:
    """Return the text of a file for ``--anchors``."""
    if any(mark in word for words in anchors for word in words for mark in "#="):
        raise LatentiaError("an anchor with # or = cannot be written to a file. Choose another word.")
    return "".join(f"{' '.join(words)}\n" for words in anchors)


def cost_of_anchors(model: Any, anchors: list[list[str]], source: Path, documents: Callable[[Any, Path], Any]) -> str:
    """Return a sentence about the likelihood of documents under the topics with and without other anchors."""
    rows = documents(model, source)
    before, after = (model.reanchor(anchors=chosen).score(rows) for chosen in (anchors_of(model), anchors))
    return (
        f"The texts fit {'worse' if after < before else 'better'} by {abs(after - before):.3f} nats of log-likelihood a word: "
        f"{before:.3f} before, {after:.3f} now, both without the refinement that learning adds."
    )
