"""``--json``: a summary for programs, in place of what is printed for people."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

import typer

JSON = "--json"
_Json = Annotated[bool, typer.Option(JSON, help="Print one JSON object for programs; all else goes to standard error.")]


def with_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option ``--json``, which `run` looks for: what the command returns is the summary."""

    @functools.wraps(command)
    def run(*, as_json: bool = False, **options: Any) -> Any:
        return command(**options)

    option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Json)
    signature = inspect.signature(command, eval_str=True)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    run.__annotations__ = get_type_hints(command, include_extras=True) | {"as_json": _Json}
    return run


def plain(value: Any) -> Any:
    """A value as JSON has it; NaN and infinity, which it has not, become null."""
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
