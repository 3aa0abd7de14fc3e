"""``--checkpoint`` and ``--scheduler``: options of every command that learns."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

_Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Folder for the state of long fits: after a crash the same command goes on from it. Removed in the end.",
    ),
]
_Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers make the passes over files.",
    ),
]
_ADDED = {"checkpoint": _Checkpoint, "scheduler": _Scheduler}


def with_running(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options that say where it runs and where it keeps what it has read."""

    @functools.wraps(command)
    def run(*, checkpoint: Path | None = None, scheduler: str | None = None, **options: Any) -> Any:
        from ..passes import checkpointing, on_cluster  # takes a second, and --help none

        with contextlib.ExitStack() as around:
            if checkpoint is not None:
                around.enter_context(checkpointing(checkpoint))
            if scheduler is not None:
                around.enter_context(on_cluster(scheduler))
            return command(**options)

    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _ADDED.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = get_type_hints(command, include_extras=True) | _ADDED
    return run
