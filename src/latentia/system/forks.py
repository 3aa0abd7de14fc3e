"""Check for processes forked from one with polars: they lack its threads and would wait forever."""

from __future__ import annotations

import os
import sys

from ..exceptions import LatentiaError

_lacks_threads = False


def _note_fork() -> None:
    global _lacks_threads
    _lacks_threads = "polars" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def check_threads(source: object) -> None:
    """Raise if polars would wait forever in this process."""
    if _lacks_threads:
        raise LatentiaError(
            "this process was forked from one that had loaded polars, and cannot read tables. Read before the "
            "fork, or start processes by 'spawn' or 'forkserver', such as multiprocessing.get_context('spawn').",
            source=str(source),
        )
