"""Threads for compiled kernels: tasks write to disjoint memory, so results do not depend on the number of workers."""

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import scipy.linalg  # noqa: F401 - its BLAS is loaded before the libraries are looked up
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

Parallel: TypeAlias = Callable[[Callable[[int], None], int], None]
"""``parallel(task, n_tasks)`` runs task(0), ..., task(n_tasks - 1) and waits for them."""


def serial(task: Callable[[int], None], n_tasks: int) -> None:
    """Run tasks in the caller's thread, as a `Parallel`."""
    for i in range(n_tasks):
        task(i)


@contextlib.contextmanager
def threads(n_workers: int) -> Iterator[Parallel]:
    """Yield a `Parallel` on ``n_workers`` threads, including the caller's."""
    if n_workers == 1:
        yield serial
        return
    with ThreadPoolExecutor(n_workers - 1) as pool:

        def run_tasks(task: Callable[[int], None], n_tasks: int) -> None:
            remaining = iter(range(n_tasks))
            lock = threading.Lock()

            def work() -> None:
                while True:
                    with lock:
                        i = next(remaining, None)
                    if i is None:
                        return
                    try:
                        task(i)
                    except BaseException:
                        with lock:
                            collections.deque(remaining, maxlen=0)  # the other workers stop after their current task
                        raise

            workers = [pool.submit(work) for _ in range(min(n_workers, n_tasks) - 1)]
            try:
                work()
            finally:
                started = [worker for worker in workers if not worker.cancel()]
                wait(started)
            for worker in started:
                worker.result()

        yield run_tasks


class _SingleBlasThread:
    """Context that limits BLAS to one thread; the last user restores the limit that the first one met.

    The limit applies to the process: without a count, two overlapping uses would restore each other's limit.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._controller: ThreadpoolController | None = None
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._controller = self._controller or ThreadpoolController()
                _take_control(self._controller)
                self._limits = self._controller.limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._controller is not None:
                _take_control(self._controller)  # another thread may have set the limit
                self._limits.restore_original_limits()
                _take_control(self._controller)


def _take_control(controller: ThreadpoolController) -> None:
    """Let any thread set limits: newer versions of threadpoolctl ignore all but the first thread that set one."""
    for library in controller.lib_controllers:
        if clear := getattr(library, "clear_controlling_thread", None):
            clear(force=True)


_SINGLE_BLAS_THREAD = _SingleBlasThread()


def single_blas_thread() -> AbstractContextManager[None]:
    """Return a context, shared and reentrant, in which matrix products run in the calling thread.

    Otherwise threads of a pass would wait for BLAS threads, and the bits of a product could depend on their number.
    """
    return _SINGLE_BLAS_THREAD


def run_in_chunks(task: Callable[[int, int], None], n: int, size: int, n_jobs: int | None) -> None:
    """Run ``task(start, stop)`` over the pieces of ``size`` of range(n) on ``n_jobs`` threads."""
    with threads(effective_n_jobs(n_jobs)) as parallel:
        parallel(lambda i: task(i * size, min(n, (i + 1) * size)), -(-n // size))
