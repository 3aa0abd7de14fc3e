"""Rows in blocks, and one pass over them."""

from .accumulate import accumulate
from .blocks import Block, Blocks, Folds, MappedBlocks, TableBlocks, constructors, row_groups
from .cache import read_cache, write_cache
from .checkpoint import Checkpoint, PassState, checkpointing
from .cluster import on_cluster
from .dask import from_collections
from .folding import InPlaceStatistic, Statistic
from .folds import (
    assign_folds,
    assign_folds_by_content,
    assign_sequence_folds,
    assign_sequence_folds_by_content,
    content_keys,
    join_copies,
    sample_rows,
)
from .plans import Plan, follow

__all__ = [
    "Block",
    "Blocks",
    "Checkpoint",
    "Folds",
    "InPlaceStatistic",
    "MappedBlocks",
    "PassState",
    "Plan",
    "Statistic",
    "TableBlocks",
    "accumulate",
    "assign_folds",
    "assign_folds_by_content",
    "assign_sequence_folds",
    "assign_sequence_folds_by_content",
    "checkpointing",
    "content_keys",
    "follow",
    "join_copies",
    "on_cluster",
    "read_cache",
    "row_groups",
    "sample_rows",
    "write_cache",
]

constructors["from_dask"] = from_collections
