"""File of words beside a table of counts."""

from __future__ import annotations

from pathlib import Path

from ...exceptions import LatentiaError
from ...system.compressed import strip_compression
from ._text import open_unicode


def vocabulary_file(path: Path) -> Path | None:
    """Return ``vocab.NAME.txt`` or ``vocab.txt`` beside ``docword.NAME.txt``, if there is one."""
    stem = strip_compression(path.name).removesuffix(".txt").removesuffix(".mtx")
    corpus = stem.removeprefix("docword").lstrip(".-_")
    candidates = (path.with_name(name) for name in (f"vocab.{corpus}.txt", f"vocab-{corpus}.txt", "vocab.txt"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def vocabulary_beside(path: Path, n_words: int) -> list[str] | None:
    """Return the words of the vocabulary file beside a table; raise unless there is one for each column."""
    file = vocabulary_file(path)
    if file is None:
        return None
    with open_unicode(file, newline=None) as text:
        words = text.read().rstrip("\n").split("\n")
    if len(words) == n_words:
        return words
    if file.name == "vocab.txt" and not path.name.startswith("docword"):
        return None  # the vocabulary of another file in the folder
    raise LatentiaError(f"{len(words)} words, and {path.name} has {n_words} columns: they must agree.", source=file)
