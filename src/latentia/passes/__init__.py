"""Rows in blocks, and one pass over them."""

from .accumulate import accumulate
from .blocks import Block, Blocks, MappedBlocks, RowGroups, TableBlocks, made_by, row_groups
from .cache import read_cache, write_cache
from .checkpoint import Checkpoint, PassState, checkpointing
from .cluster import on_cluster
from .dask import from_collections
from .dealing import (
    content_keys,
    deal,
    deal_by_content,
    deal_sequences,
    deal_sequences_by_content,
    deal_together,
    sample_rows,
)
from .folding import InPlaceStatistic, Statistic
from .plans import Plan, follow

__all__ = [
    "Block",
    "Blocks",
    "Checkpoint",
    "InPlaceStatistic",
    "MappedBlocks",
    "PassState",
    "Plan",
    "RowGroups",
    "Statistic",
    "TableBlocks",
    "accumulate",
    "checkpointing",
    "content_keys",
    "deal",
    "deal_by_content",
    "deal_sequences",
    "deal_sequences_by_content",
    "deal_together",
    "follow",
    "on_cluster",
    "read_cache",
    "row_groups",
    "sample_rows",
    "write_cache",
]

made_by["from_dask"] = from_collections
