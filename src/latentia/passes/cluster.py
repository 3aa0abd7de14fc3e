"""Passes on the workers of a Dask cluster.

A pass on a cluster gives each worker one run of neighbouring blocks. A worker sums the statistics over its run, block by
block, with all its threads, and returns one partial sum; these are added in the order of the runs. The sums differ from those
of one machine only by the order of additions, that is by rounding. A run is a task without side effects: when a worker dies,
the scheduler gives its run to another one, and the sums are the same.

Only blocks that are cheap to send go to the workers: chunks of collections, which workers compute themselves, and tables that
are mapped from files, which workers must be able to open under the same path. Rows in memory, and statistics that keep data
about every row, are summed locally.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError, MissingExtraError
from ..system.progress import progress_bar
from .blocks import Blocks
from .folding import fold_blocks

_POLL_S, _MAX_WAIT_S = 5.0, 60.0  # seconds between looks for workers, and that a pass waits for one
_RESTART_ADVICE = (
    "Start workers with `dask worker ADDRESS`, and fit again; with a checkpoint the finished passes are kept."
)
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # options of mallopt in the C library
_topics = itertools.count()
_ambient: ContextVar[Cluster | None] = ContextVar("latentia_cluster", default=None)


@runtime_checkable
class ClusterBlocks(Protocol):
    """Blocks of which some may be in the cluster's memory."""

    def find_futures(self, numbers: Sequence[int]) -> list[Any]:
        """Return the futures of some blocks; None for those that are not in the cluster's memory."""

    def use_parts(self, numbers: Sequence[int], parts: Sequence[Any]) -> None:
        """Use these parts for the blocks of these numbers."""


@contextlib.contextmanager
def on_cluster(client: Any) -> Iterator[Cluster]:
    """Run passes over files and Dask collections on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler, such as "tcp://10.0.0.1:8786".

    Notes
    -----
    Passes over Dask collections use the cluster of the default client without this. All workers must find the files under the
    same path. Sums are those of one machine up to the order of additions.

    Examples
    --------
    ::

        with on_cluster("tcp://10.0.0.1:8786"):
            model = AnchorTopics(50).fit(Blocks.from_files("/shared/docword.txt"))
    """
    distributed = import_extra("distributed")
    owns_client = isinstance(client, (str, os.PathLike))
    if owns_client:
        try:
            client = distributed.Client(os.fspath(client), set_as_default=True, timeout="10s")
        except (OSError, ValueError) as error:
            raise LatentiaError(
                f"{client}: no Dask scheduler answers there ({error}). Start one with `dask scheduler`, and workers with "
                "`dask worker ADDRESS`."
            ) from error
    if not isinstance(client, distributed.Client) or client.status != "running":
        raise LatentiaError(
            "expected a connected distributed.Client, or the address of a scheduler such as 'tcp://10.0.0.1:8786'.",
            parameter="client", value=client,
        )  # fmt: skip
    token = _ambient.set(Cluster(client))
    try:
        yield _ambient.get()  # type: ignore[misc]
    finally:
        _ambient.reset(token)
        if owns_client:
            client.close()


def choose_cluster(blocks: Blocks) -> Cluster | None:
    """Return the cluster for passes over these blocks, or None to run them here."""
    if not blocks.cheap_to_send or len(blocks) < 2:
        return None
    cluster = _ambient.get()
    if cluster is None and isinstance(blocks.source, ClusterBlocks):
        client = find_client()
        cluster = None if client is None else Cluster(client)
    return None if cluster is None or is_on_worker() else cluster


def find_client() -> Any:
    """Return the client in use, or None."""
    cluster = _ambient.get()
    if cluster is not None:
        return cluster.client
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def is_on_worker() -> bool:
    """Return True in a worker of a cluster that is running a task."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


class Cluster:
    """The workers of a client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def fold(self, blocks: Blocks, statistics: list[Any], progress: bool | str) -> list[Any]:
        """Return the sums of a pass: one partial sum from each worker, added in the order of the blocks."""
        workers = self._list_workers()
        if not workers:
            raise LatentiaError("The Dask cluster has no workers: start some with `dask worker ADDRESS`.")
        runs = [run.tolist() for run in np.array_split(np.arange(len(blocks)), min(len(workers), len(blocks)))]
        name = "+".join(type(statistic).__name__.lstrip("_") for statistic in statistics)
        topic, token = f"latentia-{os.getpid()}-{next(_topics)}", uuid.uuid4().hex[:8]
        source = blocks.source
        with explain_cluster_errors(), progress_bar(progress, len(blocks), "blocks") as advance:
            self.client.subscribe_topic(topic, lambda event: advance(event[1]))
            try:
                futures = [
                    self.client.submit(
                        fold_run, blocks, run, statistics, topic,
                        source.find_futures(run) if isinstance(source, ClusterBlocks) else None,
                        key=f"latentia-{name}-{token}-{i}", pure=False,
                    )
                    for i, run in enumerate(runs)
                ]  # fmt: skip
                return self._add_results(statistics, futures)
            finally:
                self.client.unsubscribe_topic(topic)

    def _add_results(self, statistics: list[Any], futures: list[Any]) -> list[Any]:
        totals: list[Any] | None = None
        try:
            for future in futures:
                sums = self._await_result(future)
                totals = sums if totals is None else [
                    merge_sums(*terms) for terms in zip(statistics, totals, sums, strict=True)
                ]  # fmt: skip
        finally:
            self.client.cancel(futures)
        assert totals is not None
        return totals

    def _await_result(self, future: Any) -> list[Any]:
        """Return a worker's sums; raise if the cluster has had no workers for a while, or has failed."""
        n_polls_without_workers = 0
        while True:
            try:
                return list(future.result(timeout=_POLL_S))
            except TimeoutError:
                if future.done():  # it ended meanwhile, or raised the TimeoutError itself
                    return list(future.result())
            n_polls_without_workers = 0 if self._list_workers() else n_polls_without_workers + 1
            if n_polls_without_workers * _POLL_S >= _MAX_WAIT_S:
                raise LatentiaError(
                    f"The Dask cluster has had no workers for {_MAX_WAIT_S:g} s: they died or were stopped. "
                    f"Look at their logs. {_RESTART_ADVICE}"
                )

    def _list_workers(self) -> list[str]:
        try:
            return list(self.client.nthreads())
        except OSError:  # the scheduler does not answer
            return []


@contextlib.contextmanager
def explain_cluster_errors() -> Iterator[None]:
    """Explain failures of the cluster; errors of the computation pass through."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, CancelledError) and type(error).__module__.partition(".")[0] != "distributed":
            raise
        raise LatentiaError(
            f"The Dask cluster failed ({type(error).__name__}: {error}). Look at the logs of its scheduler and workers; most "
            f"fail because their memory is full. {_RESTART_ADVICE}"
        ) from error


def fold_run(
    blocks: Blocks, numbers: list[int], statistics: list[Any], topic: str, futures: list[Any] | None
) -> list[Any]:
    """Return the sums over a run of blocks, on a worker."""
    from distributed import get_worker

    worker = get_worker()
    if futures is not None and isinstance(blocks.source, ClusterBlocks):
        blocks.source.use_parts(numbers, futures)
    with _keep_memory():
        return fold_blocks(
        blocks, range(numbers[0], numbers[-1] + 1), statistics, worker.state.nthreads,
        advance=lambda n: worker.log_event(topic, n),
    )  # fmt: skip


@contextlib.contextmanager
def _keep_memory() -> Iterator[None]:
    """Let the C library reuse the memory of temporary arrays, and return it to the system at the end.

    Dask's nannies make it return memory at once; a pass would then spend half of its time on requesting it again.
    """
    threshold = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    try:
        library = ctypes.CDLL(None)
        set_option, trim = library.mallopt, library.malloc_trim
    except (OSError, AttributeError, TypeError):  # another C library
        threshold = ""
    if not threshold.isdigit():
        yield
        return
    set_option(_MMAP_THRESHOLD, 1 << 25)
    set_option(_TRIM_THRESHOLD, 1 << 29)
    try:
        yield
    finally:
        set_option(_TRIM_THRESHOLD, int(threshold))
        trim(0)


def merge_sums(statistic: Any, first: Any, second: Any) -> Any:
    """Return the sum of two sums of a statistic; the first may be changed."""
    return statistic.merge(first, second) if hasattr(statistic, "merge") else _add_sums(first, second, {})


def _add_sums(first: Any, second: Any, visited: dict[int, Any]) -> Any:
    """Add two sums that are arrays, numbers, or records, tuples, lists and dicts of them; the first may be changed.

    An array that occurs twice is added once: ``visited`` records it by its identity.
    """
    if isinstance(first, np.ndarray) and first.ndim:
        if id(first) not in visited:
            visited[id(first)] = first
            first += second
        return first
    if isinstance(first, (np.ndarray, np.number, int, float)) or sparse.issparse(first):
        return first + second
    if isinstance(first, dict):
        summed = {key: _add_sums(first[key], second[key], visited) for key in first.keys() & second.keys()}
        return first | second | summed
    if isinstance(first, (list, tuple)):
        parts = [
            _add_sums(first_part, second_part, visited) for first_part, second_part in zip(first, second, strict=True)
        ]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if first is None and second is None:
        return None
    for name, value in vars(first).items():
        object.__setattr__(first, name, _add_sums(value, getattr(second, name), visited))
    return first


def import_extra(package: str) -> Any:
    """Import a package of the ``dask`` extra."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, "dask", "Rows of Dask collections") from error
