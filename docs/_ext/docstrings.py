"""Docstrings are plain text with formulas such as |x - y|_1 and names such as components_: neither is markup of Sphinx.

Runs after numpydoc, and leaves out what stands in backticks, in doctests and in literal blocks.
"""

import re

_QUOTED = re.compile(r"(``.*?``|`[^`]*`)")
_MARKUP = re.compile(r"\||(?<=\w)(?<!\\)_(?!\w)")


def _escaped(line: str) -> str:
    parts = _QUOTED.split(line)
    parts[::2] = [_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def escape(app, what, name, obj, options, lines: list[str]) -> None:
    literal, doctest = None, False  # literal: the indentation of the line that opened a literal block
    for i, line in enumerate(lines):
        text = line.strip()
        doctest = text.startswith(">>>") or (doctest and bool(text))
        if literal is not None and text and _indent(line) <= literal:
            literal = None
        if literal is None and not doctest and not text.startswith(".. "):
            lines[i] = _escaped(line)
        if literal is None and (text.endswith("::") or text.startswith((".. code", ".. math"))):
            literal = _indent(line)


def setup(app):
    app.connect("autodoc-process-docstring", escape, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
