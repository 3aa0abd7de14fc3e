"""Browser app on the user's own machine: files, questions, and results of the command line in a folder.

It knows no model: `latentia.cli.app` gives it the commands with their options, and every job is a run of a command in a process
of its own.
"""

from .forms import Command, Faces, Option
from .server import serve

__all__ = ["Command", "Faces", "Option", "serve"]
