"""Reports: one HTML file that needs no network and no other file."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..families import FAMILIES

if TYPE_CHECKING:
    from .model import write_report as write_report

_MODULES = {"write_report": "model", "write_any_report": "_any"} | {
    f"write_{family.page}_report": family.page for family in FAMILIES
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Callable[..., Path]:
    """Import a function on first use: each page has its own modules, and a command writes only one page."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_MODULES[name]}", __name__)
    if name == "write_report":
        return module.write_report
    summarize = getattr(module, name.replace("write", "summarize").removesuffix("_report"))
    return globals().setdefault(name, import_module(".page", __name__).make_writer(summarize))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
