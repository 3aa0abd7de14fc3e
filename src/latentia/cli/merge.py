"""``latentia merge``: one model of all rows that several were learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..fitting.additive import merge as merged
from ._results import Results
from .update import kept_model, learn_again


def merge(
    models: list[Path],
    out: Path = Path("merged"),
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Make one model of all rows that several models were learned from; the rows are not needed.

    Parameters
    ----------
    models
        Folders of results whose models were learned alike, with --keep-moments.
    """
    results = Results(out, models[0], (), force, progress=not quiet)
    results.check()
    found = [kept_model(path) for path in models]
    return learn_again(results, f"{len(found)} models", lambda _: merged(found), [])
