"""``latentia merge``: one model of all rows from several models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..fitting.additive import merge as merged
from ._results import Results
from .update import load_extendable_model, report_changed_model


def merge(
    models: list[Path],
    out: Path = Path("merged"),
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Merge several models into one model of all their rows, without the rows themselves.

    Parameters
    ----------
    models
        Folders of results, learned with the same options and --keep-moments.
    """
    results = Results(out, models[0], (), force, progress=not quiet)
    results.check()
    loaded_models = [load_extendable_model(path) for path in models]
    return report_changed_model(results, f"{len(loaded_models)} models", lambda _: merged(loaded_models), [])
