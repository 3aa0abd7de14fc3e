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
_NONE = frozenset({"", "nan", "none", "na", "n/a", "null", "<na>"})
_TAGGED = re.compile(
    r"(tags?|labels?|keywords?|genres?|categories|topics|hashtags|skills|ingredients|items|symptoms)", re.IGNORECASE
)
_HASHTAGS = re.compile(r"#\w[\w-]*(?:[\s,]+#\w[\w-]*)*")
_FASTTEXT = re.compile(r"(?:__label__\S+\s*)+")


def split_tags(cells: Sequence[str]) -> list[list[str]]:
    """Cut the cells of a column into tags, each once and in the order of the cell; an empty cell has none.

    Cells are lists or sets as JSON or Python writes them (``["a", "b"]``), tags in angle brackets (``<a><b>``), hashtags
    (``#a #b``), labels of fastText (``__label__a``), or separated by ``;``, ``|`` or ``,``: by the one that most cells have.
    Cells that say nan, None or NA have no tags.

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
    cells = ["" if cell.strip().lower() in _NONE else cell.strip() for cell in cells]
    filled = [cell for cell in cells if cell]
    if 2 * sum(map(_is_list, filled)) > len(filled):
        return [_unique(_listed(cell) if _is_list(cell) else [cell]) for cell in cells]
    if filled and all(_IN_BRACKETS.fullmatch(cell) for cell in filled):
        return [_unique(_BRACKETED.findall(cell)) for cell in cells]
    if filled and all(_HASHTAGS.fullmatch(cell) for cell in filled):
        return [_unique(re.findall(r"#(\w[\w-]*)", cell)) for cell in cells]
    if filled and all(_FASTTEXT.fullmatch(cell) for cell in filled):
        return [_unique(re.findall(r"__label__(\S+)", cell)) for cell in cells]
    counts = [sum(separator in cell for cell in filled) for separator in _SEPARATORS]
    separator = _SEPARATORS[counts.index(max(counts))]
    return [_unique(cell.split(separator)) for cell in cells]


def _is_list(cell: str) -> bool:
    return len(cell) > 1 and cell[0] + cell[-1] in ("[]", "()", "{}")


def _unique(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def _listed(cell: str) -> list[str]:
    """The entries of a list in JSON, Python or NumPy; of one without quotes what stands between commas."""
    if "," not in cell and len(_QUOTED.findall(cell)) > 1:
        return [first or second for first, second in _QUOTED.findall(cell)]
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(cell) if cell else []
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if isinstance(found, set):
            found = sorted(found, key=str)
        if isinstance(found, (list, tuple)):
            return [str(tag) for tag in found if tag is not None]
    return [tag.strip().strip("'\"") for tag in cell[1:-1].split(",")]


def holds_tags(name: str, cells: Sequence[str]) -> str:
    """Return why the cells of a column hold several tags each; empty where they do not."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if 2 * sum(map(_is_list, filled)) > len(filled):
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
