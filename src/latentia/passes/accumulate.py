"""One pass over blocks: statistics are summed here (`latentia.passes.folding`) or on the workers of a cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

from joblib import effective_n_jobs

from .blocks import Blocks
from .checkpoint import Checkpoint, PassState, keep_single_pass, open_next_pass
from .cluster import Cluster, choose_cluster
from .folding import finish_sums, fold_blocks, make_reducers


def accumulate(
    blocks: Blocks,
    statistics: Any,
    n_jobs: int | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    progress: bool | str = False,
) -> Any:
    """Sum one or several statistics over the blocks in a single pass.

    Parameters
    ----------
    blocks : Blocks
    statistics : Statistic, InPlaceStatistic, or a sequence of them
    n_jobs : int, optional
        Threads; None means one (or what a joblib context says), -1 all cores. The result does not depend on it. Matrix
        products within a pass run in these threads, and BLAS has none of its own meanwhile.
    checkpoint : path or Checkpoint, optional
        Folder in which to keep the state of the pass, and to resume it from; it is emptied when the pass has ended. By default
        that of `checkpointing`, if there is one.
    progress : bool or str
        Show a progress bar with the remaining time on standard error; a string is its label.

    Returns
    -------
    The sum, or a list of the sums in the order of ``statistics``.
    """
    is_single = not isinstance(statistics, Sequence)
    all_statistics = [statistics] if is_single else list(statistics)
    with contextlib.ExitStack() as stack:
        if isinstance(checkpoint, (str, os.PathLike)):
            checkpoint = stack.enter_context(keep_single_pass(checkpoint, all_statistics, blocks))
        elif checkpoint is None:
            checkpoint = open_next_pass(all_statistics, blocks)
        stateful = any(getattr(statistic, "keeps_rows", False) for statistic in all_statistics)
        cluster = None if stateful else choose_cluster(blocks)
        if cluster is None:
            sums = fold_blocks(
                blocks, range(len(blocks)), all_statistics, effective_n_jobs(n_jobs), checkpoint, progress
            )
        else:
            sums = _accumulate_on_cluster(cluster, blocks, all_statistics, checkpoint, progress)
    return sums[0] if is_single else sums


def _accumulate_on_cluster(
    cluster: Cluster, blocks: Blocks, statistics: list[Any], checkpoint: Checkpoint | None, progress: bool | str
) -> list[Any]:
    """Return the sums of a pass on the workers; a checkpoint gets them when the pass has ended."""
    reducers, state = make_reducers(statistics), checkpoint.load() if checkpoint else None
    if state is not None and state.next_block == len(blocks):
        return finish_sums(reducers, state)
    sums = cluster.fold(blocks, statistics, progress)
    if checkpoint:
        checkpoint.save(
            PassState(len(blocks), [reducer.final_state(s) for reducer, s in zip(reducers, sums, strict=True)])
        )
    return sums
