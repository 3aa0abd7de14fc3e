"""Sums of statistics over a run of blocks, with the same bits for any number of workers.

A small statistic is summed block by block, and its partial sums are merged in a fixed binary tree over block numbers.
A large one (features x columns) has one sum, updated in place in block order; the work on a block is cut into tasks
that write to disjoint memory. Either way the order of every floating-point sum depends on the data alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from ..system.progress import progress_bar
from ..system.threads import Parallel, single_blas_thread, threads
from .blocks import Block, Blocks
from .checkpoint import Checkpoint, PassState


@runtime_checkable
class Statistic(Protocol):
    """A small additive statistic. `add` must release the interpreter lock (numpy, numba) to profit from threads."""

    def zero(self) -> Any:
        """Return the sum over no rows."""

    def add(self, state: Any, block: Block) -> Any:
        """Add a block's rows to ``state``, which may be changed in place, and return the sum."""

    def merge(self, first: Any, second: Any) -> Any:
        """Return the sum of two partial sums; ``first`` may be changed."""


class InPlaceStatistic(Protocol):
    """A large additive statistic: one sum, updated in block order by tasks that write to disjoint memory.

    Sums of several runs of blocks are added by `merge` if there is one, and otherwise number by number.
    """

    def zero(self) -> Any:
        """Return the sum over no rows."""

    def add_tasks(self, state: Any, block: Block, parallel: Parallel) -> Any:
        """Add a block's rows to ``state`` through ``parallel``; the number of tasks must not depend on the workers."""


def fold_blocks(
    blocks: Blocks,
    numbers: range,
    statistics: list[Any],
    n_workers: int,
    checkpoint: Checkpoint | None = None,
    progress: bool | str = False,
    advance: Callable[[int], None] = lambda n: None,
) -> list[Any]:
    """Return the sums of all statistics over a run of blocks; ``advance`` is called with the number of blocks just read."""
    reducers = make_reducers(statistics)
    state = (checkpoint.load() if checkpoint else None) or PassState(
        numbers.start, [reducer.start() for reducer in reducers]
    )
    bar = progress_bar(progress, numbers.stop - state.next_block, "blocks")
    with threads(n_workers) as parallel, single_blas_thread(), bar as show:
        for first in range(state.next_block, numbers.stop, n_workers):
            window: list[Any] = [None] * min(n_workers, numbers.stop - first)

            def load(i: int, first: int = first, window: list[Any] = window) -> None:
                window[i] = blocks[first + i]

            parallel(load, len(window))
            for i, reducer in enumerate(reducers):
                state.sums[i] = reducer.add(state.sums[i], window, parallel)
            state.next_block = first + len(window)
            if checkpoint:
                checkpoint.save(state)
            show(len(window))
            advance(len(window))
    return finish_sums(reducers, state)


def make_reducers(statistics: list[Any]) -> list[_TreeReducer | _SingleSumReducer]:
    """Return a reducer for each statistic, according to its kind."""
    return [_SingleSumReducer(s) if hasattr(s, "add_tasks") else _TreeReducer(s) for s in statistics]


def finish_sums(reducers: list[_TreeReducer | _SingleSumReducer], state: PassState) -> list[Any]:
    """Return the sums at the end of a pass."""
    return [reducer.finish(s) for reducer, s in zip(reducers, state.sums, strict=True)]


class _TreeReducer:
    """Partial sums of a small statistic as on a binary counter: equal levels merge, so the tree is fixed."""

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic

    def start(self) -> list[tuple[int, Any]]:
        return []

    def add(self, stack: list[tuple[int, Any]], window: list[Block], parallel: Parallel) -> list[tuple[int, Any]]:
        partials: list[Any] = [None] * len(window)

        def task(i: int) -> None:
            partials[i] = self.statistic.add(self.statistic.zero(), window[i])

        parallel(task, len(window))
        for partial in partials:
            stack.append((0, partial))
            while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
                (level, first), (_, second) = stack[-2:]
                stack[-2:] = [(level + 1, self.statistic.merge(first, second))]
        return stack

    def final_state(self, total: Any) -> list[tuple[int, Any]]:
        """Return the state at the end of a pass that has this sum."""
        return [(0, total)]

    def finish(self, stack: list[tuple[int, Any]]) -> Any:
        if not stack:
            return self.statistic.zero()
        total = stack[-1][1]
        for _, partial in reversed(stack[:-1]):
            total = self.statistic.merge(partial, total)
        return total


class _SingleSumReducer:
    """The single sum of a large statistic."""

    def __init__(self, statistic: InPlaceStatistic) -> None:
        self.statistic = statistic

    def start(self) -> Any:
        return self.statistic.zero()

    def add(self, total: Any, window: list[Block], parallel: Parallel) -> Any:
        for block in window:
            total = self.statistic.add_tasks(total, block, parallel)
        return total

    def final_state(self, total: Any) -> Any:
        return total

    def finish(self, total: Any) -> Any:
        return total
