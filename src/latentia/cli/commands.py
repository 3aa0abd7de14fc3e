"""The command ``latentia``: errors of input end with a message and exit code 2."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console

from .. import __version__
from ..exceptions import FileNotice, LatentiaError
from ._shared import in_options
from .apply import apply
from .hmm import hmm
from .ica import ica
from .labels import labels
from .matrix import matrix
from .mixture import mixture
from .noisy_or import noisy_or
from .topics import demo, topics

__all__ = ["app", "run"]

_ADVICE = {
    "cache=": "--cache DIR puts it elsewhere, and --no-cache keeps none.",
    "encoding=": "If letters are wrong in it, save it as UTF-8.",
}
"""What notices advise, by what they advise in Python."""

app = typer.Typer(
    help="Latent-variable models from data, the same answer every run, with evidence.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(topics)
app.command()(labels)
app.command()(hmm)
app.command()(mixture)
app.command()(ica)
app.command("noisy-or")(noisy_or)
app.command()(matrix)
app.command()(apply)
app.command()(demo)


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
            _print(console, "warning:", "yellow", str(message))

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        app()
    except LatentiaError as error:
        _print(console, "error:", "bold red", in_options(error))
        sys.exit(2)
    except (OSError, MemoryError) as error:
        _print(console, "error:", "bold red", str(error) or "there is not enough memory.")
        sys.exit(2)


def _print(console: Console, what: str, style: str, text: str) -> None:
    console.print(f"[{style}]{what}[/{style}]", end=" ")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
