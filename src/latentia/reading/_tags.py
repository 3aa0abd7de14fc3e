"""Cells that hold several tags each."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence

_SEPARATORS = (";", "|", ",")
_IN_BRACKETS = re.compile(r"\s*(?:<[^<>]+>\s*)+")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_BRACKETED = re.compile(r"<([^<>]+)>")


def split_tags(cells: Sequence[str]) -> list[list[str]]:
    """Cut the cells of a column into tags, each once and in the order of the cell; an empty cell has none.

    Cells are lists as JSON or Python writes them (``["a", "b"]``), tags in angle brackets (``<a><b>``), or separated by ``;``,
    ``|`` or ``,``: by the one that most cells have.

    Parameters
    ----------
    cells : sequence of str

    Returns
    -------
    list of list of str

    Examples
    --------
    >>> from latentia.datasets import readers
    >>> readers.split_tags(["art, war", "", "peace"])
    [['art', 'war'], [], ['peace']]
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    if filled and all(cell[0] in "[(" and cell[-1] in ")]" for cell in filled):
        return [_unique(_listed(cell.strip())) for cell in cells]
    if filled and all(_IN_BRACKETS.fullmatch(cell) for cell in filled):
        return [_unique(_BRACKETED.findall(cell)) for cell in cells]
    counts = [sum(separator in cell for cell in filled) for separator in _SEPARATORS]
    separator = _SEPARATORS[counts.index(max(counts))]
    return [_unique(cell.split(separator)) for cell in cells]


def _unique(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def _listed(cell: str) -> list[str]:
    """The entries of a list in JSON, Python or NumPy; of one without quotes what stands between commas."""
    if "," not in cell and len(_QUOTED.findall(cell)) > 1:
        return [first or second for first, second in _QUOTED.findall(cell)]
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(cell) if cell else []
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, (list, tuple)):
            return [str(tag) for tag in found if tag is not None]
    return [tag.strip().strip("'\"") for tag in cell[1:-1].split(",")]


_TAGGED = re.compile(
    r"(tags?|labels?|keywords?|genres?|categories|topics|hashtags|skills|ingredients|items|symptoms)", re.IGNORECASE
)
_HASHTAGS = re.compile(r"#\w[\w-]*(?:[\s,]+#\w[\w-]*)*")
_FASTTEXT = re.compile(r"(?:__label__\S+\s*)+")


def holds_tags(name: str, cells: Sequence[str]) -> str:
    """Return why the cells of a column hold several tags each; empty where they do not."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    listed = sum(cell[0] in "[({" and cell[-1] in ")]}" and len(cell) > 1 for cell in filled)
    if 2 * listed > len(filled):
        return "lists in brackets"
    for why, form in (
        ("tags in angle brackets", _IN_BRACKETS),
        ("hashtags", _HASHTAGS),
        ("labels of fastText", _FASTTEXT),
    ):
        if filled and all(form.fullmatch(cell) for cell in filled):
            return why
    if _TAGGED.fullmatch(name.strip()):
        for separator in _SEPARATORS:
            if 4 * sum(separator in cell for cell in filled) > len(filled):
                return f"tags separated by {separator!r}"
    return ""
