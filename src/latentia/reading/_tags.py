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
_EMPTY_WORDS = frozenset({"", "nan", "none", "na", "n/a", "null", "<na>"})
_TAG_COLUMN = re.compile(
    r"(tags?|labels?|keywords?|genres?|categories|topics|hashtags|skills|ingredients|items|symptoms)", re.IGNORECASE
)
_HASHTAGS = re.compile(r"#\w[\w-]*(?:[\s,]+#\w[\w-]*)*")
_FASTTEXT = re.compile(r"(?:__label__\S+\s*)+")


def split_tags(cells: Sequence[str]) -> list[list[str]]:
    """Split the cells of a column into tags, without repetition and in the order of the cell; an empty cell has none.

    Cells are lists or sets in JSON or Python (``["a", "b"]``), tags in angle brackets (``<a><b>``), hashtags (``#a #b``),
    fastText labels (``__label__a``), or separated by ``;``, ``|`` or ``,``, whichever is in most cells. Cells that hold nan,
    None or NA have no tags.

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
    cells = ["" if cell.strip().lower() in _EMPTY_WORDS else cell.strip() for cell in cells]
    filled = [cell for cell in cells if cell]
    if 2 * sum(map(_is_list, filled)) > len(filled):
        return [_unique(_parse_list(cell) if _is_list(cell) else [cell]) for cell in cells]
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


def _parse_list(cell: str) -> list[str]:
    """Parse a list in JSON, Python or NumPy notation; a list without quotes is split at the commas."""
    if "," not in cell and len(_QUOTED.findall(cell)) > 1:
        return [first or second for first, second in _QUOTED.findall(cell)]
    for parse in (json.loads, ast.literal_eval):
        try:
            entries = parse(cell) if cell else []
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if isinstance(entries, set):
            entries = sorted(entries, key=str)
        if isinstance(entries, (list, tuple)):
            return [str(tag) for tag in entries if tag is not None]
    return [tag.strip().strip("'\"") for tag in cell[1:-1].split(",")]


def holds_tags(name: str, cells: Sequence[str]) -> str:
    """Return the notation of cells that hold several tags each; empty for other cells."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if 2 * sum(map(_is_list, filled)) > len(filled):
        return "lists in brackets"
    for why, form in (
        ("tags in angle brackets", _IN_BRACKETS),
        ("hashtags", _HASHTAGS),
        ("fastText labels", _FASTTEXT),
    ):
        if filled and all(form.fullmatch(cell) for cell in filled):
            return why
    if _TAG_COLUMN.fullmatch(name.strip()):
        for separator in _SEPARATORS:
            if 4 * sum(separator in cell for cell in filled) > len(filled):
                return f"tags separated by {separator!r}"
    return ""
