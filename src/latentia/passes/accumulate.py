"""One pass over blocks: statistics are folded here, see `latentia.passes.folding`, or on the workers of a cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any

from joblib import effective_n_jobs

from .blocks import Blocks
from .checkpoint import Checkpoint, PassState, kept_pass, single_pass
from .cluster import Cluster, cluster_of
from .folding import finished, fold_blocks, folds_of


def accumulate(
    blocks: Blocks,
    statistics: Any,
    n_jobs: int | None = None,
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    progress: bool | str = False,
) -> Any:
    """Fold one or several statistics over the blocks in a single pass.

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
    The sum, or a list of sums in the order of ``statistics``.
    """
    single = not isinstance(statistics, Sequence)
    several = [statistics] if single else list(statistics)
    with contextlib.ExitStack() as stack:
        if isinstance(checkpoint, (str, os.PathLike)):
            checkpoint = stack.enter_context(single_pass(checkpoint, several, blocks))
        elif checkpoint is None:
            checkpoint = kept_pass(several, blocks)
        stateful = any(getattr(statistic, "keeps_rows", False) for statistic in several)
        cluster = None if stateful else cluster_of(blocks)
        if cluster is None:
            sums = fold_blocks(blocks, range(len(blocks)), several, effective_n_jobs(n_jobs), checkpoint, progress)
        else:
            sums = _on_cluster(cluster, blocks, several, checkpoint, progress)
    return sums[0] if single else sums


def _on_cluster(
    cluster: Cluster, blocks: Blocks, statistics: list[Any], checkpoint: Checkpoint | None, progress: bool | str
) -> list[Any]:
    """The sums of a pass that workers make; they add to a checkpoint when the pass has ended."""
    folds, state = folds_of(statistics), checkpoint.load() if checkpoint else None
    if state is not None and state.next_block == len(blocks):
        return finished(folds, state)
    sums = cluster.fold(blocks, statistics, progress)
    if checkpoint:
        checkpoint.save(PassState(len(blocks), [fold.whole(s) for fold, s in zip(folds, sums, strict=True)]))
    return sums
