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
    content_keys,
    deal_by_content,
    deal_sequences,
    deal_sequences_by_content,
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
    "checkpointing",
    "content_keys",
    "deal_by_content",
    "deal_sequences",
    "deal_sequences_by_content",
    "follow",
    "join_copies",
    "on_cluster",
    "read_cache",
    "row_groups",
    "sample_rows",
    "write_cache",
]

constructors["from_dask"] = from_collections
