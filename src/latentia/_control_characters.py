"""Escapes for control characters and lone surrogates, which terminals obey or cannot write."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 and C1 controls without tab and newline, marks of writing direction, and lone surrogates."""


def escape_controls(text: str) -> str:
    """Return a text with control characters as hexadecimal escapes."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
