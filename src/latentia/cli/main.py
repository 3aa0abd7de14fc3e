"""The command ``latentia``: errors of input end with a message and exit code 2."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import typer
from rich.console import Console

from .. import __version__
from ..exceptions import LatentiaError
from .apply import apply
from .hmm import hmm
from .ica import ica
from .labels import labels
from .matrix import matrix
from .mixture import mixture
from .noisy_or import noisy_or
from .topics import demo, topics

__all__ = ["app", "main"]

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


def main() -> None:
    """Run the command line; a `LatentiaError` or one of the system becomes a message on standard error and exit code 2."""
    console = Console(stderr=True)

    def show(message: Warning | str, *_: object, **__: object) -> None:
        console.print("[yellow]warning:[/yellow]", end=" ")
        console.print(str(message), markup=False, highlight=False, soft_wrap=True)

    warnings.showwarning = show  # type: ignore[assignment]
    try:
        app()
    except (LatentiaError, OSError, MemoryError) as error:
        console.print("[bold red]error:[/bold red]", end=" ")
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
