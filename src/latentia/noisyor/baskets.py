"""Baskets: rows given as lists of items, and their table of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import DroppedDataWarning, LatentiaError, warn

_MAX_LISTED = 3  # items that a warning names


def is_baskets(X: Any) -> bool:
    """Return True if X lists items by name: lists, tuples or sets of strings, one a row."""
    if not hasattr(X, "__iter__") or hasattr(X, "columns") or getattr(X, "dtype", np.dtype(object)).kind != "O":
        return False
    for basket in X:
        if not isinstance(basket, list | tuple | set | frozenset):
            return False
        if len(basket):
            return all(isinstance(item, str) for item in basket)
    return False


def choose_items(baskets: Sequence[Any], min_df: int) -> list[str]:
    """Return the items in at least ``min_df`` baskets, in alphabetical order; a warning counts the others."""
    counts = Counter(item for number, basket in enumerate(baskets) for item in _read_basket(basket, number))
    frequent_items = sorted(item for item, count in counts.items() if count >= min_df)
    if not frequent_items:
        raise LatentiaError(f"No item is in {min_df} baskets or more. Lower min_df.", parameter="min_df", value=min_df)
    if len(frequent_items) < len(counts):
        rare = [item for item, count in counts.items() if count < min_df]
        warn(
            f"{len(rare)} of {len(counts)} items are in fewer than {min_df} baskets and are left out: "
            f"{', '.join(map(repr, rare[:_MAX_LISTED]))}{', ...' if len(rare) > _MAX_LISTED else ''}. Lower min_df to keep "
            "them.",
            DroppedDataWarning,
        )
    return frequent_items


def make_basket_table(baskets: Sequence[Any], items: Sequence[str]) -> sparse.csr_array:
    """Return the table of items in baskets, 0 or 1, shape (n_baskets, n_items); other items are ignored."""
    place = {item: i for i, item in enumerate(items)}
    rows = [
        sorted({place[item] for item in _read_basket(basket, n) if item in place}) for n, basket in enumerate(baskets)
    ]
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    indices = np.array([i for row in rows for i in row], dtype=np.int32)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), len(items)))


def _read_basket(basket: Any, number: int) -> set[str]:
    if not isinstance(basket, list | tuple | set | frozenset) or not all(isinstance(item, str) for item in basket):
        raise LatentiaError(f"Basket {number} is {basket!r:.60}; expected a list of the names of its items.")
    return set(basket)
