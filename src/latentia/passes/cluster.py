"""Passes on the workers of a Dask cluster.

A pass on a cluster cuts the blocks into one run of neighbours for each worker. A worker folds the statistics over its run,
block by block, with all its threads, and sends one partial sum; these are added in the order of the runs. Sums differ from
those of one machine by the order of additions alone, which is rounding. A run is a task that changes nothing: where a worker
dies, the scheduler gives its run to another one, and the sums are the same.

Only blocks that are cheap to send go to the workers: chunks of collections, which workers make themselves, and tables that are
mapped from files, which workers must be able to open under the same path. Rows in memory, and statistics that keep something of
every row, are folded where they are.
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

_LOOKED_S, _WAITED_S = 5.0, 60.0  # how often workers are looked for, and how long a pass waits for one
_GO_ON = (
    "Start workers with `dask worker ADDRESS`, and fit again; with a checkpoint the passes that were finished are kept."
)
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt
_topics = itertools.count()
_ambient: ContextVar[Cluster | None] = ContextVar("latentia_cluster", default=None)


@runtime_checkable
class InMemoryOfCluster(Protocol):
    """Blocks of which the cluster's memory may hold some."""

    def held(self, numbers: Sequence[int]) -> list[Any]:
        """Futures of some blocks, as far as they are in the cluster's memory already."""

    def hold(self, numbers: Sequence[int], made: Sequence[Any]) -> None:
        """Use these parts for some blocks."""


@contextlib.contextmanager
def on_cluster(client: Any) -> Iterator[Cluster]:
    """Make passes over files and Dask collections on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler, such as "tcp://10.0.0.1:8786".

    Notes
    -----
    Passes over Dask collections run on the cluster of the default client without this. Files must be there for all workers
    under the same path. Sums are those of one machine up to the order of additions.

    Examples
    --------
    ::

        with on_cluster("tcp://10.0.0.1:8786"):
            model = AnchorTopics(50).fit(Blocks.from_files("/shared/docword.txt"))
    """
    distributed = import_extra("distributed")
    own = isinstance(client, (str, os.PathLike))
    if own:
        try:
            client = distributed.Client(os.fspath(client), set_as_default=True, timeout="10s")
        except (OSError, ValueError) as error:
            raise LatentiaError(
                f"{client}: no Dask scheduler answers there ({error}). Start one with `dask scheduler`, and workers with "
                "`dask worker ADDRESS`."
            ) from error
    if not isinstance(client, distributed.Client) or client.status != "running":
        raise LatentiaError(
            "need a distributed.Client that is connected, or the address of a scheduler such as 'tcp://10.0.0.1:8786'.",
            parameter="client", value=client,
        )  # fmt: skip
    token = _ambient.set(Cluster(client))
    try:
        yield _ambient.get()  # type: ignore[misc]
    finally:
        _ambient.reset(token)
        if own:
            client.close()


def cluster_of(blocks: Blocks) -> Cluster | None:
    """Where passes over these blocks are made, if not here."""
    if not blocks.cheap_to_send or len(blocks) < 2:
        return None
    found = _ambient.get()
    if found is None and isinstance(blocks.source, InMemoryOfCluster):
        client = client_in_use()
        found = None if client is None else Cluster(client)
    return None if found is None or on_worker() else found


def client_in_use() -> Any:
    """The client in use, or None."""
    found = _ambient.get()
    if found is not None:
        return found.client
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def on_worker() -> bool:
    """Whether this process is a worker of a cluster, in the middle of a task."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


class Cluster:
    """The workers that a client knows."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def fold(self, blocks: Blocks, statistics: list[Any], progress: bool | str) -> list[Any]:
        """Sums of a pass: one partial sum a worker, added in the order of the blocks."""
        workers = self._workers()
        if not workers:
            raise LatentiaError("The Dask cluster has no workers: start some with `dask worker ADDRESS`.")
        runs = [run.tolist() for run in np.array_split(np.arange(len(blocks)), min(len(workers), len(blocks)))]
        name = "+".join(type(statistic).__name__.lstrip("_") for statistic in statistics)
        topic, token = f"latentia-{os.getpid()}-{next(_topics)}", uuid.uuid4().hex[:8]
        source = blocks.source
        with cluster_at_work(), progress_bar(progress, len(blocks), "blocks") as advance:
            self.client.subscribe_topic(topic, lambda event: advance(event[1]))
            try:
                futures = [
                    self.client.submit(
                        fold_run, blocks, run, statistics, topic,
                        source.held(run) if isinstance(source, InMemoryOfCluster) else None,
                        key=f"latentia-{name}-{token}-{i}", pure=False,
                    )
                    for i, run in enumerate(runs)
                ]  # fmt: skip
                return self._added(statistics, futures)
            finally:
                self.client.unsubscribe_topic(topic)

    def _added(self, statistics: list[Any], futures: list[Any]) -> list[Any]:
        totals: list[Any] | None = None
        try:
            for future in futures:
                sums = self._awaited(future)
                totals = sums if totals is None else [
                    merged(*own) for own in zip(statistics, totals, sums, strict=True)
                ]  # fmt: skip
        finally:
            self.client.cancel(futures)
        assert totals is not None
        return totals

    def _awaited(self, future: Any) -> list[Any]:
        """What a worker found; an error if there have been no workers for a while, or the cluster gave up."""
        without = 0
        while True:
            try:
                return list(future.result(timeout=_LOOKED_S))
            except TimeoutError:
                if future.done():  # meanwhile, or the error is its own
                    return list(future.result())
            without = 0 if self._workers() else without + 1
            if without * _LOOKED_S >= _WAITED_S:
                raise LatentiaError(
                    f"The Dask cluster has had no workers for {_WAITED_S:g} s: they died or were stopped, and none came back. "
                    f"Look at their logs. {_GO_ON}"
                )

    def _workers(self) -> list[str]:
        try:
            return list(self.client.nthreads())
        except OSError:  # the scheduler does not answer
            return []


@contextlib.contextmanager
def cluster_at_work() -> Iterator[None]:
    """Say what happened where the cluster fails, and not what it computes."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, CancelledError) and type(error).__module__.partition(".")[0] != "distributed":
            raise
        raise LatentiaError(
            f"The Dask cluster failed ({type(error).__name__}: {error}). Look at the logs of its scheduler and workers; most "
            f"fail because their memory is full. {_GO_ON}"
        ) from error


def fold_run(
    blocks: Blocks, numbers: list[int], statistics: list[Any], topic: str, held: list[Any] | None
) -> list[Any]:
    """Sums over some blocks, on a worker."""
    from distributed import get_worker

    worker = get_worker()
    if held is not None and isinstance(blocks.source, InMemoryOfCluster):
        blocks.source.hold(numbers, held)
    with _memory_kept():
        return fold_blocks(
        blocks, range(numbers[0], numbers[-1] + 1), statistics, worker.state.nthreads,
        advance=lambda n: worker.log_event(topic, n),
    )  # fmt: skip


@contextlib.contextmanager
def _memory_kept() -> Iterator[None]:
    """Let the C library keep the memory of temporary arrays for the next ones, and give it back in the end.

    Dask's nannies make it give memory back at once, and a pass would spend half of its time on asking for it again.
    """
    asked = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    try:
        library = ctypes.CDLL(None)
        set_option, trim = library.mallopt, library.malloc_trim
    except (OSError, AttributeError, TypeError):  # another C library
        asked = ""
    if not asked.isdigit():
        yield
        return
    set_option(_MMAP_THRESHOLD, 1 << 25)
    set_option(_TRIM_THRESHOLD, 1 << 29)
    try:
        yield
    finally:
        set_option(_TRIM_THRESHOLD, int(asked))
        trim(0)


def merged(statistic: Any, first: Any, second: Any) -> Any:
    """The sum of two sums of a statistic; the first may be changed."""
    return statistic.merge(first, second) if hasattr(statistic, "merge") else _added(first, second, {})


def _added(first: Any, second: Any, done: dict[int, Any]) -> Any:
    """The sum of two sums that are arrays, numbers, or records, tuples, lists and dicts of them; the first may be changed.

    What is there twice, as the same array, is added once: ``done`` remembers it by its identity.
    """
    if isinstance(first, np.ndarray) and first.ndim:
        if id(first) not in done:
            done[id(first)] = first
            first += second
        return first
    if isinstance(first, (np.ndarray, np.number, int, float)) or sparse.issparse(first):
        return first + second
    if isinstance(first, dict):
        both = {key: _added(first[key], second[key], done) for key in first.keys() & second.keys()}
        return first | second | both
    if isinstance(first, (list, tuple)):
        parts = [_added(one, other, done) for one, other in zip(first, second, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if first is None and second is None:
        return None
    for name, value in vars(first).items():
        object.__setattr__(first, name, _added(value, getattr(second, name), done))
    return first


def import_extra(package: str) -> Any:
    """A package of the ``dask`` extra."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, "dask", "Rows of Dask collections") from error
