"""Pages: templates filled in, and written complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..exceptions import LatentiaError
from ._parts import short_number

__all__ = ["render", "write_page"]


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package; every value is escaped."""
    import jinja2  # a page is the only thing that needs it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("latentia.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short_number
    return environment.get_template(template).render(**values)


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page to a file beside its place, then move it there; parts of characters become question marks."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(page.encode("utf-8", "replace"))
        partial.replace(target)
    except OSError as error:
        raise LatentiaError(f"{target}: cannot be written ({error.strerror}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return target
