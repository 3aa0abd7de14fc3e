"""Latent-variable models by moments and spectral, tensor and combinatorial decompositions, with evidence.

Families are imported by name: ``from latentia.topics import AnchorTopics``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._presentation import presenters
from .exceptions import LatentiaError, LatentiaWarning
from .system.compiled import keep_compiled_code

if TYPE_CHECKING:
    from . import (
        communities,
        comparing,
        contrastive,
        datasets,
        deep,
        dictionary,
        effects,
        evidence,
        exceptions,
        families,
        ica,
        likelihood,
        linalg,
        matrices,
        metrics,
        mixtures,
        moments,
        multilabel,
        nmf,
        noisyor,
        passes,
        plots,
        report,
        sequences,
        simplex,
        summaries,
        tensor,
        topics,
        words,
    )
    from ._manifest import manifest, verify
    from .comparing import match
    from .fitting.additive import merge
    from .metrics import describe
    from .persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "LatentiaError",
    "LatentiaWarning",
    "__version__",
    "communities",
    "comparing",
    "contrastive",
    "datasets",
    "deep",
    "describe",
    "dictionary",
    "effects",
    "evidence",
    "exceptions",
    "families",
    "ica",
    "likelihood",
    "linalg",
    "load",
    "manifest",
    "match",
    "matrices",
    "merge",
    "metrics",
    "mixtures",
    "moments",
    "multilabel",
    "nmf",
    "noisyor",
    "passes",
    "plots",
    "report",
    "save",
    "sequences",
    "simplex",
    "summaries",
    "tensor",
    "topics",
    "verify",
    "words",
]


_FUNCTIONS = {
    "describe": ".metrics",
    "load": ".persistence",
    "save": ".persistence",
    "match": ".comparing",
    "merge": ".fitting.additive",
    "manifest": "._manifest",
    "verify": "._manifest",
}

keep_compiled_code()


def _report(*args: Any, **kwargs: Any) -> Any:
    from .report import write_report

    return write_report(*args, **kwargs)


def _summary(*args: Any, **kwargs: Any) -> Any:
    from .report.model import summarize

    return summarize(*args, **kwargs)


def _methods_text(model: Any) -> str:
    from .report.methods import methods_text

    return methods_text(model)


def _plot_effects(*args: Any, **kwargs: Any) -> Any:
    from .plots import plot_effects

    return plot_effects(*args, **kwargs)


presenters |= {
    "report": _report, "summary": _summary, "methods_text": _methods_text, "plot_effects": _plot_effects,
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import functions and modules at first access, since scikit-learn takes a second to import."""
    if name in _FUNCTIONS:
        return getattr(import_module(_FUNCTIONS[name], __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
