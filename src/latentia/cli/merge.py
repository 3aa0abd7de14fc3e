"""``latentia merge``: one model of all rows from several models."""

from __future__ import annotations

from typing import Any

from ..fitting.additive import merge as merged
from ._records import MergeOptions
from ._results import Results
from .update import load_extendable_model, report_changed_model


def merge(options: MergeOptions) -> dict[str, Any]:
    """Merge several models into one model of all their rows, without the rows themselves."""
    results = Results(options.out, options.models[0], (), options.force, progress=not options.quiet)
    results.check()
    loaded_models = [load_extendable_model(path) for path in options.models]
    return report_changed_model(results, f"{len(loaded_models)} models", lambda _: merged(loaded_models), [])
