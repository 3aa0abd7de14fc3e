"""Several computations that each need several passes, sharing them.

A plan is a generator: it yields the statistics of its next pass, gets their sums, and returns its result. Plans that
are followed together read the data as often as the longest of them, not as often as all of them.
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
    """Results of the plans, in their order, and the number of passes over the blocks that they took.

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
        What each plan returns.
    n_passes : int
        Passes over the blocks.
    """
    results: list[Any] = [None] * len(plans)
    wanted: dict[int, list[Any]] = {}

    def resume(i: int, sums: list[Any] | None) -> None:
        try:
            wanted[i] = plans[i].send(sums) if sums is not None else next(plans[i])
        except StopIteration as finished:
            results[i] = finished.value
            wanted.pop(i, None)

    for i in range(len(plans)):
        resume(i, None)
    n_passes = 0
    while wanted:
        n_passes += 1
        statistics = [statistic for part in wanted.values() for statistic in part]
        label = progress and progress.format(n_passes)
        sums = accumulate(blocks, statistics, n_jobs, progress=label or False)
        for i in list(wanted):
            own, sums = sums[: len(wanted[i])], sums[len(wanted[i]) :]
            resume(i, own)
            del own
    return results, n_passes
