"""The command ``latentia``: errors of input end with a message and exit code 2."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import __version__
from ..exceptions import FileNotice, LatentiaError, NotSupportedWarning
from ._json import JSON, plain, with_json
from ._running import with_running
from ._shared import in_options
from .apply import apply
from .communities import communities
from .contrast import contrast
from .demo import demo
from .dictionary import dictionary
from .hmm import hmm
from .ica import ica
from .labels import labels
from .matrix import matrix
from .mixture import mixture
from .network import network
from .nmf import nmf
from .noisy_or import noisy_or
from .topics import topics

__all__ = ["app", "run"]

_ADVICE = {
    "cache=": "--cache DIR puts it elsewhere, and --no-cache keeps none.",
    "columns=": "--columns names others.",
    "encoding=": "If letters are wrong in it, name another with --encoding.",
    "split=": "--split chapter, --split paragraph or --split 500 cuts it into chapters, paragraphs, or so many words.",
}
"""What notices advise, by what they advise in Python."""
_PARAMETER = re.compile(r"\b(refine|missing|encoding)='?(\w+)'?")
"""Parameters that warnings name and that are options of the same name."""

app = typer.Typer(
    help="Latent-variable models from data, the same answer every run, with evidence.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, Callable[..., Any]] = {
    "topics": topics, "labels": labels, "hmm": hmm, "mixture": mixture, "ica": ica, "noisy-or": noisy_or, "matrix": matrix,
    "communities": communities, "dictionary": dictionary, "network": network, "nmf": nmf, "contrast": contrast, "apply": apply,
    "demo": demo,
}  # fmt: skip
_LEARN_NOTHING = "apply", "demo"
for _name, _command in _COMMANDS.items():
    app.command(_name)(with_json(_command if _name in _LEARN_NOTHING else with_running(_command)))


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


def run() -> None:
    """Run the command line; a `LatentiaError` or one of the system becomes a message on standard error and exit code 2."""
    console = Console(stderr=True)

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if isinstance(message, FileNotice):
            advice = next((said for way, said in _ADVICE.items() if way in message.advice), message.advice)
            _print(console, "note:", "cyan", f"{message.fact} {advice}".rstrip())
        else:
            _print(console, "warning:", "yellow", re.sub(_PARAMETER, r"--\1 \2", str(message)))

    warnings.showwarning = show  # type: ignore[assignment]
    warnings.simplefilter("ignore", NotSupportedWarning)  # a command prints the verdict itself
    if JSON in sys.argv[1:]:
        sys.exit(_run_for_programs(console, show))
    try:
        app()
    except (LatentiaError, OSError, MemoryError) as error:
        _print(console, "error:", "bold red", _text(error))
        sys.exit(2)


def _text(error: Exception) -> str:
    return in_options(error) if isinstance(error, LatentiaError) else str(error) or "there is not enough memory."


def _run_for_programs(console: Console, show: Callable[..., None]) -> int:
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
            done = app(standalone_mode=False)
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


def _print(console: Console, what: str, style: str, text: str) -> None:
    console.print(f"[{style}]{what}[/{style}]", end=" ")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
