"""``latentia merge``: one model of all rows that several were learned from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._additive import merge as merged
from ._shared import Force, Out, Quiet, Results
from .update import kept_model, learn_again


def merge(
    models: Annotated[
        list[Path], typer.Argument(help="Folders of results whose models were learned alike, with --keep-moments.")
    ],
    out: Out = Path("merged"),
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Make one model of all rows that several models were learned from; the rows are not needed."""
    results = Results(out, models[0], (), force, progress=not quiet)
    results.check()
    found = [kept_model(path) for path in models]
    return learn_again(results, f"{len(found)} models", lambda _: merged(found), [])
