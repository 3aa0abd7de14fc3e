"""The command ``latentia``: input errors end with a message and exit code 2.

Modules of a command are imported when it runs, so that ``--version``, ``--help`` and errors about options appear at once.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from .._control_characters import escape_controls
from ..exceptions import FileNotice, LatentiaError, NotSupportedWarning, parameters_written
from ..families import FAMILIES
from ..system.progress import progress_as_json
from ..system.terminal import Terminal, say
from . import _records
from ._json import JSON, plain
from ._options import one_of, option_of, render_error
from ._panels import group_options
from ._run import Run, link_parameters

COMMANDS = (
    {"look": "Show what a file holds: the role of every column, missing cells, suspicious codes, and commands to copy."}
    | {family.command: family.headline for family in FAMILIES}
    | {
        "apply": "Apply a model to other data: its topics, labels, states, components, sources, causes, pairs, communities or "
        "codes.",
        "update": "Add rows to a model, or remove them, as if it had been learned from the remaining rows.",
        "merge": "Merge several models into one model of all their rows, without the rows themselves.",
        "compare": "Match the components of two models: which are the same within their errors, changed, new, gone, split or "
        "merged.",
        "news": "Measure how much of new rows a model does not explain, and how shares drift over batches.",
        "demo": "Learn a model of every family, and write their reports with a start page, index.html.",
        "app": "Open the app in the browser: from a file to an answer without options, on this machine alone.",
    }
)
"""Each command with its line in the list of commands, which opens its help."""
LEARN_NOTHING = "look", "apply", "update", "merge", "compare", "news", "demo", "app"
_ADVICE = {
    "cache": "--cache DIR writes it elsewhere; --no-cache writes none.",
    "columns": "--columns chooses others.",
    "encoding": "If letters look wrong, give the encoding with --encoding.",
    "rows": "--rows wide reads one basket per row.",
    "split": "--split chapter, --split paragraph or --split 500 cuts it into chapters, paragraphs, or pieces of 500 words.",
}
"""Advice of notices in terms of options, by the Python parameter of the notice."""


DEFAULTS = Path(__file__).with_name("defaults.json")
"""Defaults of the parameters that options set, by command; ``tests/write_defaults.py`` takes them from the estimators."""
_ENTRY = re.compile(r"^(\w+)\n((?: +.+\n?)+)", re.MULTILINE)


def command_of(name: str, ready: Callable[[], None] | None = None, record: type[Any] | None = None) -> TyperCommand:
    """Make a command from the record of its options; the function that takes the record is imported when the command runs."""
    record = record or record_of(name)
    summary, *further = (inspect.getdoc(record) or "").partition("\nParameters\n")[0].strip().split("\n\n")
    options = _options_of(name, record)
    function = _function_of(name.replace("-", "_"), record, ready)
    function.__annotations__ = {option.name: option.annotation for option in options}
    function.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    alone = typer.Typer(add_completion=False)
    alone.command(name, help="\n\n".join([COMMANDS.get(name, summary), *further]))(function)
    command: Any = typer.main.get_command(alone)
    for option in command.params:  # Click 8.5 or later takes the help of arguments from Typer before 0.26.
        if option.param_type_name == "argument":
            option.help = function.__annotations__[option.name].__metadata__[0].help
    return group_options(command)


def record_of(name: str) -> type[Any]:
    """Return the record of a command's options."""
    return getattr(_records, f"{name.title().replace('-', '')}Options")  # type: ignore[no-any-return]


def _function_of(module: str, record: type[Any], ready: Callable[[], None] | None) -> Callable[..., Any]:
    """Return the function of a command, with options as keywords; ``ready`` is called when its modules are loaded."""

    def run(as_json: bool = False, progress: str = "bar", **values: Any) -> Any:
        function = getattr(import_module(f".{module}", __package__), module)
        if ready is not None:
            ready()
        printed_progress = progress_as_json() if progress == "json" else contextlib.nullcontext()
        with _standard_input(values), parameters_written(option_of), printed_progress:
            options = record(**values)
            with options.apply_settings() if isinstance(options, Run) else contextlib.nullcontext():
                return function(options)

    return run


@contextlib.contextmanager
def _standard_input(values: dict[str, Any]) -> Iterator[None]:
    """Replace ``-`` by a copy of standard input, which every command can read as a file."""
    piped = [name for name, value in values.items() if isinstance(value, Path) and str(value) == "-"]
    if len(piped) > 1:
        raise LatentiaError("-: standard input can be read only once; give a file for the second source.")
    with contextlib.ExitStack() as around:
        if piped:
            formats = import_module("..passes.formats", __package__)
            values[piped[0]] = around.enter_context(formats.reusable("-"))
        yield


def _options_of(name: str, record: type[Any]) -> list[inspect.Parameter]:
    """Return the fields of a record, those of its bases last, as parameters in typer's form."""
    defaults = {"out": Path(name)} | json.loads(DEFAULTS.read_text("utf-8")).get(name, {})
    defaults = {
        field: defaults[parameter] for field, parameter in link_parameters(record).items() if parameter in defaults
    }
    defaults |= {field.name: field.default for field in fields(record) if field.default is not MISSING}
    docstrings = [f"{inspect.getdoc(cls)}\n" for cls in (Run, *record.__mro__[::-1])]
    texts = {entry[1]: " ".join(entry[2].split()) for docstring in docstrings for entry in _ENTRY.finditer(docstring)}
    kinds = get_type_hints(record, include_extras=True)
    inherited_last = sorted(
        fields(record), key=lambda field: (field.name not in record.__annotations__, field.name in ("force", "quiet"))
    )
    options = [
        (field.name, kinds[field.name], defaults.get(field.name, inspect.Parameter.empty)) for field in inherited_last
    ]
    common = (
        ("as_json", Annotated[bool, typer.Option(JSON)], False),
        ("progress", Annotated[str, one_of("bar", "json")], "bar"),
    )
    return [_make_option(*option, texts.get(option[0], "")) for option in (*options, *common)]


def _make_option(name: str, kind: Any, default: Any, text: str) -> inspect.Parameter:
    """Convert a field to typer's form: an argument if it has neither a default nor an option."""
    metadata = getattr(kind, "__metadata__", ())
    if metadata and not isinstance(metadata[0], str):
        info = copy(metadata[0])
    elif default is inspect.Parameter.empty:
        info = typer.Argument()
    else:
        info = typer.Option(*([f"--{name.replace('_', '-')}"] if kind is bool else []))
    info.help = text
    kind = Annotated[kind.__origin__ if metadata else kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


class _Commands(TyperGroup):
    """Group that lists commands in the order of `COMMANDS` and makes each when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in self.commands:
            self.commands[args[0]] = command_of(args[0], ctx.obj)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            if hasattr(error, "format_message"):  # Typer prints errors about options.
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
    """Run the command line; a `LatentiaError` or system error becomes a message on standard error and exit code 2.

    ``ready`` is called when the modules of the command are loaded, before it runs.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # The screen may lack some characters.
    console = Terminal(stderr=True)

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if isinstance(message, FileNotice):
            advice = _ADVICE.get(message.parameter or "", message.advice)
            _print(console, "note:", "cyan", f"{message.fact} {advice}".rstrip())
        else:
            _print(console, "warning:", "yellow", str(message))

    warnings.showwarning = show  # type: ignore[assignment]
    warnings.simplefilter("ignore", NotSupportedWarning)  # Commands print the verdict.
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
    return render_error(error)


def _run_for_programs(console: Terminal, show: Callable[..., None], ready: Callable[[], None] | None) -> int:
    """Run a command with one JSON object on standard output and everything else on standard error; return the exit code."""
    messages: list[str] = []

    def show_and_keep(message: Warning | str, *_: object, **__: object) -> None:
        messages.append(message.fact if isinstance(message, FileNotice) else str(message))
        show(message)

    warnings.showwarning = show_and_keep  # type: ignore[assignment]
    code, name = 0, next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    summary: dict[str, Any] = {"latentia": __version__, "command": name}
    with contextlib.redirect_stdout(sys.stderr):
        try:
            command_summary = app(standalone_mode=False, obj=ready)
            summary |= command_summary if isinstance(command_summary, dict) else {}
        except (LatentiaError, OSError, MemoryError) as error:
            code, summary["error"] = 2, _text(error)
            _print(console, "error:", "bold red", summary["error"])
        except Exception as error:
            if not hasattr(error, "format_message"):  # Only errors about options have it.
                raise
            code, summary["error"] = error.exit_code, error.format_message()  # type: ignore[attr-defined]
            _print(console, "error:", "bold red", summary["error"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # An interrupt would print a second object.
    try:
        print(json.dumps(plain(summary | {"warnings": messages}), allow_nan=False), flush=True)
    except OSError as error:
        _print(console, "error:", "bold red", f"the summary cannot be printed ({error.strerror}).")
        code = 2
    return code


def _print(console: Terminal, label: str, style: str, text: str) -> None:
    console.print(f"[{style}]{label}[/{style}]", end=" ")
    say(text, console)
