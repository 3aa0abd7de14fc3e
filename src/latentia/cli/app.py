"""``latentia app``: the app in the browser, on this machine alone."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

from .._validation import column_names
from ..exceptions import MissingExtraError
from ..reading import ColumnOptions, is_excel, reading_as
from ._options import render_error
from ._records import AppOptions
from ._run import FileOptions
from ._shared import ReadOptions
from ._texts import read_known

_N_DOCUMENTS = 1000


def app(options: AppOptions) -> dict[str, Any]:
    """Open the app in the browser: from a file to an answer without options, on this machine alone."""
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "app", "latentia app")
    from ..app import Faces, serve
    from .commands import COMMANDS

    folder = options.workspace.expanduser()
    serve(
        folder,
        Faces(tuple(COMMANDS), _describe, render_error, _column_options, _documents),
        options.port,
        options.browser,
    )
    return {"workspace": str(folder)}


def _describe(name: str) -> Any:
    """Return a command with its options."""
    from ..app import Command, Option
    from .commands import command_of, record_of

    kinds = get_type_hints(record_of(name))
    options = []
    declarations: list[Any] = command_of(name).params
    for declared in declarations:
        is_argument = declared.param_type_name == "argument"
        is_flag = getattr(declared, "is_flag", False)
        is_path = kinds.get(declared.name) in (Path, Path | None)
        options.append(
            Option(
                str(declared.name), "" if is_argument else declared.opts[0], next(iter(declared.secondary_opts), ""),
                declared.help or "", "" if declared.default is None else str(declared.default),
                "flag" if is_flag else "path" if is_path else "text", declared.multiple, declared.required,
                tuple(declared.opts),
            )
        )  # fmt: skip
    return Command(name, tuple(options))


def _column_options(fields: Any) -> Any:
    """Return the options about columns from the fields of a form."""

    def last(name: str) -> str | None:
        return next((value for value in reversed(fields.get(name, ())) if value), None)

    names_and_roles: dict[str, Any] = {name: list(fields[name]) for name in ("role", "positive") if fields.get(name)}
    codes = ",".join(fields.get("missing_codes", ()))
    return FileOptions(
        missing_codes=codes, empty=last("empty") or "missing", id=last("id"), **names_and_roles
    ).column_options


def _documents(model: Any, path: Path) -> Any:
    """Return the first documents of a file, counted by the words of a model."""
    options = ReadOptions(progress=False, column_options=ColumnOptions().like(model.reading_))
    with reading_as(options.column_options, model.reading_.get("sheet") if is_excel(path) else None):
        corpus = read_known(path, model, column_names(model), options)
        block = next(iter(corpus.blocks))[0]
    return block[:_N_DOCUMENTS]
