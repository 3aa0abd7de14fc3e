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
    for package in ("jinja2", "plotly"):
        try:
            importlib.import_module(package)
        except ImportError:
            raise MissingExtraError(package, "report", "The report") from None


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package; every value is escaped, and `plotly_js` is added to the values."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "report", "The report") from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("latentia.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short_number
    return environment.get_template(template).render(plotly_js=_plotly_js(), **values)


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


def _plotly_js() -> Any:
    """The plotting library, marked as safe to put into the page as it is."""
    try:
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("plotly", "report", "The report") from None
    return Markup(get_plotlyjs())
