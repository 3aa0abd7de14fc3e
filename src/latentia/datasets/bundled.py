"""Bundled corpus: the chapters of the King James Bible (1611, out of copyright)."""

from __future__ import annotations

import gzip
from importlib import resources

from .texts import Texts


def load_bible() -> Texts:
    """Return the 1,189 chapters of the King James Bible as texts, named like ``Genesis 1``; 790,000 words.

    Returns
    -------
    Texts
        With ``texts`` and ``names``; count them with `readers.count_words`.
    """
    source = resources.files(__package__) / "data" / "king_james_bible.txt.gz"
    with source.open("rb") as raw, gzip.open(raw, "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t", 1) for line in file]
    return Texts([text for _, text in pairs], [name for name, _ in pairs], "King James Bible")
