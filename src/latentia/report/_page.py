"""Pages: templates filled in, and written complete or not at all."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from ..exceptions import LatentiaError, MissingExtraError
from ._parts import short_number

__all__ = ["import_report", "render", "write_page"]


def import_report() -> None:
    """Raise now rather than after long work if a package that reports need is missing."""
    try:
        importlib.import_module("jinja2")
    except ImportError:
        raise MissingExtraError("jinja2", "report", "The report") from None


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package; every value is escaped."""
    import_report()
    import jinja2

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
