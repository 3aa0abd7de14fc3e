"""Command line: one subcommand a family."""

from .main import main

__all__ = ["main"]
