"""A single note that inner loops are being compiled, if that takes a while; numba caches them for later runs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from numba.core import event

_PATIENCE = 1.0  # total seconds of compiling before the note
_COMPILING = "numba:compile"  # numba's event for functions that are not cached


@contextlib.contextmanager
def announce_compiling(say: Callable[[], None], patience: float = _PATIENCE) -> Iterator[None]:
    """Call ``say`` once if functions are compiled for more than ``patience`` seconds in total."""
    listener = _Listener(say, patience)
    try:
        with event.install_listener(_COMPILING, listener):
            yield
    finally:
        listener.stop()


class _Listener(event.Listener):
    """Total time of compilation; functions are compiled within one another and in several threads."""

    def __init__(self, say: Callable[[], None], patience: float) -> None:
        self._say, self._remaining = say, patience
        self._depth, self._since = 0, 0.0
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def on_start(self, event: event.Event) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1 and self._remaining > 0:
                self._since = time.monotonic()
                self._timer = threading.Timer(self._remaining, self._announce)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: event.Event) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._remaining = (
                    max(self._remaining - (time.monotonic() - self._since), 0.001) if self._remaining > 0 else 0.0
                )

    def stop(self) -> None:
        """Cancel the note."""
        with self._lock:
            self._remaining = 0.0
            if self._timer is not None:
                self._timer.cancel()

    def _announce(self) -> None:
        with self._lock:
            if self._remaining <= 0 or self._timer is None:
                return
            self._remaining = 0.0
        self._say()
