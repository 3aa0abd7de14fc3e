"""Pages: templates filled in, and written complete or not at all."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from .._scratch import whole_file
from .parts import short_number

__all__ = ["render", "write_page"]


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package; every value is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Any:
    """The templates, each compiled once in a process."""
    import jinja2  # a page is the only thing that needs it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("latentia.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short_number
    return environment


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page, whole or not at all; parts of characters become question marks."""
    with whole_file(path) as file:
        file.write(page.encode("utf-8", "replace"))
    return Path(path)
