"""Says once that inner loops are compiled, where that takes a while: numba caches them, and later runs do not wait."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from numba.core import event

_PATIENCE = 1.0  # seconds of compiling in all, after which it is said
_COMPILING = "numba:compile"  # numba's name of what happens where no cached code was found


@contextlib.contextmanager
def announced(say: Callable[[], None], patience: float = _PATIENCE) -> Iterator[None]:
    """Calls ``say`` once, while functions are compiled, if that takes longer than ``patience`` seconds in all."""
    listener = _Listener(say, patience)
    try:
        with event.install_listener(_COMPILING, listener):
            yield
    finally:
        listener.stop()


class _Listener(event.Listener):
    """Adds up the time for which functions are compiled; they are compiled within one another, and in several threads."""

    def __init__(self, say: Callable[[], None], patience: float) -> None:
        self._say, self._left = say, patience
        self._depth, self._since = 0, 0.0
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def on_start(self, event: event.Event) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1 and self._left > 0:
                self._since = time.monotonic()
                self._timer = threading.Timer(self._left, self._over)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: event.Event) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._left = max(self._left - (time.monotonic() - self._since), 0.001) if self._left > 0 else 0.0

    def stop(self) -> None:
        """Say nothing any more."""
        with self._lock:
            self._left = 0.0
            if self._timer is not None:
                self._timer.cancel()

    def _over(self) -> None:
        with self._lock:
            if self._left <= 0 or self._timer is None:
                return
            self._left = 0.0
        self._say()
