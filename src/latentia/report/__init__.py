"""Reports: one HTML file that needs no network and no other file."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._any import write_any_report
    from .communities import write_communities_report
    from .contrast import write_contrast_report
    from .dictionary import write_dictionary_report
    from .hmm import write_hmm_report
    from .ica import write_ica_report
    from .labels import write_labels_report
    from .matrix import write_matrix_report
    from .mixture import write_mixture_report
    from .model import write_report
    from .network import write_network_report
    from .nmf import write_nmf_report
    from .noisy_or import write_noisy_or_report
    from .topics import write_topics_report

__all__ = [
    "write_any_report",
    "write_communities_report",
    "write_contrast_report",
    "write_dictionary_report",
    "write_hmm_report",
    "write_ica_report",
    "write_labels_report",
    "write_matrix_report",
    "write_mixture_report",
    "write_network_report",
    "write_nmf_report",
    "write_noisy_or_report",
    "write_report",
    "write_topics_report",
]


def __getattr__(name: str) -> Any:
    """A function when it is first asked for: each page has modules of its own, and a command writes one."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kind = name.removeprefix("write_").removesuffix("report").rstrip("_")
    module = {"": "model", "any": "_any"}.get(kind, kind)
    return getattr(import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
