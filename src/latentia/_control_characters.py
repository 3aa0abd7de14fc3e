"""Characters that a terminal obeys in the place of showing them, and halves of characters that nothing can write."""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 and C1 but tabs and ends of lines, marks that turn the direction of writing, and lone surrogates."""


def escape_controls(text: str) -> str:
    """Return a text whose control characters are written in hexadecimal, as Python writes them."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
