"""The command ``latentia``: errors of input end with a message and exit code 2.

What a command needs is imported when it runs, so that ``--version``, ``--help`` and a wrong option wait for nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from .._control_characters import escape_controls
from ..exceptions import FileNotice, LatentiaError, NotSupportedWarning
from ..families import FAMILIES
from ..system.terminal import Terminal, say
from ._json import JSON, plain
from ._options import as_command, in_options
from ._panels import in_panels

COMMANDS = (
    {"look": "Show what a file holds: the role of every column, missing cells, suspicious codes, and commands to copy."}
    | {family.command: family.says for family in FAMILIES}
    | {
        "apply": "Apply a model to other data: its topics, labels, states, components, sources, causes, pairs, communities or "
        "codes.",
        "update": "Add rows to a model, or take them away, as if it had been learned from all that are left.",
        "merge": "Make one model of all rows that several models were learned from; the rows are not needed.",
        "demo": "Learn a model of every family, and write their reports with a page that opens them: index.html.",
    }
)
"""Each command, and what the list of commands says of it: the docstring of its function, the first line."""
LEARN_NOTHING = "look", "apply", "update", "merge", "demo"
_ADVICE = {
    "cache": "--cache DIR puts it elsewhere, and --no-cache keeps none.",
    "columns": "--columns names others.",
    "encoding": "If letters are wrong in it, name another with --encoding.",
    "rows": "--rows wide reads a basket a row.",
    "split": "--split chapter, --split paragraph or --split 500 cuts it into chapters, paragraphs, or as many words.",
}
"""What notices advise, by the parameter that they advise in Python."""


def command_of(name: str, ready: Callable[[], None] | None = None) -> TyperCommand:
    """A command with its options."""
    alone, function = typer.Typer(add_completion=False), as_command(name, ready)
    alone.command(name)(function)
    command: Any = typer.main.get_command(alone)
    for option in command.params:  # Click 8.5 or later takes the help of arguments from Typer before 0.26.
        if option.param_type_name == "argument":
            option.help = function.__annotations__[option.name].__metadata__[0].help
    return in_panels(command)


class _Commands(TyperGroup):
    """Commands that are listed as they stand in `COMMANDS`, and made when they are called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in self.commands:
            self.commands[args[0]] = command_of(args[0], ctx.obj)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            if hasattr(error, "format_message"):  # It is about options, and is printed by typer.
                error.message = escape_controls(error.message)  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    cls=_Commands,
    help="Latent-variable models from data, the same answer every run, with evidence.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
) -> None:
    """Latent-variable models from data, the same answer every run, with evidence."""
    if version:
        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(ready: Callable[[], None] | None = None) -> None:
    """Run the command line; a `LatentiaError` or one of the system becomes a message on standard error and exit code 2.

    ``ready`` is called when the modules of the command are there, before it runs.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the screen has no letters for
    console = Terminal(stderr=True)

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if isinstance(message, FileNotice):
            advice = _ADVICE.get(message.parameter or "", message.advice)
            _print(console, "note:", "cyan", f"{message.fact} {advice}".rstrip())
        else:
            _print(console, "warning:", "yellow", str(message))

    warnings.showwarning = show  # type: ignore[assignment]
    warnings.simplefilter("ignore", NotSupportedWarning)  # a command prints the verdict itself
    if JSON in sys.argv[1:]:
        sys.exit(_run_for_programs(console, show, ready))
    try:
        app(obj=ready)
    except (LatentiaError, OSError, MemoryError) as error:
        _print(console, "error:", "bold red", _text(error))
        sys.exit(2)


def _text(error: Exception) -> str:
    if not isinstance(error, LatentiaError):
        return str(error) or "there is not enough memory."
    return in_options(error)


def _run_for_programs(console: Terminal, show: Callable[..., None], ready: Callable[[], None] | None) -> int:
    """Run a command with one JSON object on standard output, and all else on standard error; its exit code."""
    heard: list[str] = []

    def show_and_keep(message: Warning | str, *_: object, **__: object) -> None:
        heard.append(message.fact if isinstance(message, FileNotice) else str(message))
        show(message)

    warnings.showwarning = show_and_keep  # type: ignore[assignment]
    code, name = 0, next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    summary: dict[str, Any] = {"latentia": __version__, "command": name}
    with contextlib.redirect_stdout(sys.stderr):
        try:
            done = app(standalone_mode=False, obj=ready)
            summary |= done if isinstance(done, dict) else {}
        except (LatentiaError, OSError, MemoryError) as error:
            code, summary["error"] = 2, _text(error)
            _print(console, "error:", "bold red", summary["error"])
        except Exception as error:
            if not hasattr(error, "format_message"):  # of options that are not there, or not numbers
                raise
            code, summary["error"] = error.exit_code, error.format_message()  # type: ignore[attr-defined]
            _print(console, "error:", "bold red", summary["error"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # or there would be two objects
    try:
        print(json.dumps(plain(summary | {"warnings": heard}), allow_nan=False), flush=True)
    except OSError as error:
        _print(console, "error:", "bold red", f"the summary cannot be printed ({error.strerror}).")
        code = 2
    return code


def _print(console: Terminal, what: str, style: str, text: str) -> None:
    console.print(f"[{style}]{what}[/{style}]", end=" ")
    say(text, console)
