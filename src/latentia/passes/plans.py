"""Computations of several passes that share their passes.

A plan is a generator: it yields the statistics of its next pass, receives their sums, and returns its result. Plans that are
followed together take as many passes as the longest of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

from .accumulate import accumulate
from .blocks import Blocks

Plan: TypeAlias = Generator[list[Any], list[Any], Any]
"""Yields lists of statistics, is sent the list of their sums, returns a result."""


def follow(
    blocks: Blocks, plans: Sequence[Plan], n_jobs: int | None = None, progress: str = ""
) -> tuple[list[Any], int]:
    """Run plans together; return their results in order, and the number of passes over the blocks.

    Parameters
    ----------
    blocks : Blocks
    plans : sequence of Plan
    n_jobs
        As in `accumulate`.
    progress : str
        Label of the bar; "{}" in it becomes the number of the pass. Empty: no bar.

    Returns
    -------
    results : list
        The result of each plan.
    n_passes : int
        Passes over the blocks.
    """
    results: list[Any] = [None] * len(plans)
    requests: dict[int, list[Any]] = {}

    def resume(i: int, sums: list[Any] | None) -> None:
        try:
            requests[i] = plans[i].send(sums) if sums is not None else next(plans[i])
        except StopIteration as stop:
            results[i] = stop.value
            requests.pop(i, None)

    for i in range(len(plans)):
        resume(i, None)
    n_passes = 0
    while requests:
        n_passes += 1
        statistics = [statistic for part in requests.values() for statistic in part]
        label = progress and progress.format(n_passes)
        sums = accumulate(blocks, statistics, n_jobs, progress=label or False)
        for i in list(requests):
            plan_sums, sums = sums[: len(requests[i])], sums[len(requests[i]) :]
            resume(i, plan_sums)
            del plan_sums
    return results, n_passes
