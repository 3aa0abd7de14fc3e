"""Baskets: rows as lists of the items that are in them, and the table of items that they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import DroppedDataWarning, LatentiaError, warn

_LOOKED_AT = 100
_MAX_LISTED = 3


def is_baskets(X: Any) -> bool:
    """Whether X lists items by name: lists, tuples or sets of strings, one a row, the first of them not empty."""
    if not hasattr(X, "__iter__") or hasattr(X, "columns") or getattr(X, "dtype", np.dtype(object)).kind != "O":
        return False
    for basket in X:
        if not isinstance(basket, list | tuple | set | frozenset):
            return False
        if len(basket):
            return all(isinstance(item, str) for item in basket)
    return False


def choose_items(baskets: Sequence[Any], min_df: int) -> list[str]:
    """The items in at least so many baskets, in alphabetical order; a warning says how many others there are."""
    counts = Counter(item for number, basket in enumerate(baskets) for item in _read_basket(basket, number))
    frequent_items = sorted(item for item, count in counts.items() if count >= min_df)
    if not frequent_items:
        raise LatentiaError(f"No item is in {min_df} baskets or more.", parameter="min_df", value=min_df)
    if len(frequent_items) < len(counts):
        rare = [item for item, count in counts.items() if count < min_df]
        warn(
            f"{len(rare)} of {len(counts)} items are in fewer than {min_df} baskets and are left out: "
            f"{', '.join(map(repr, rare[:_MAX_LISTED]))}{', ...' if len(rare) > _MAX_LISTED else ''}. Lower min_df to keep them.",
            DroppedDataWarning,
        )
    return frequent_items


def make_basket_table(baskets: Sequence[Any], items: Sequence[str]) -> sparse.csr_array:
    """Which items each basket holds, 0 or 1, shape (n_baskets, n_items); items that are not listed are left out."""
    place = {item: i for i, item in enumerate(items)}
    rows = [
        sorted({place[item] for item in _read_basket(basket, n) if item in place}) for n, basket in enumerate(baskets)
    ]
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    indices = np.array([i for row in rows for i in row], dtype=np.int32)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), len(items)))


def _read_basket(basket: Any, number: int) -> set[str]:
    if not isinstance(basket, list | tuple | set | frozenset) or not all(isinstance(item, str) for item in basket):
        raise LatentiaError(f"Basket {number} is {basket!r:.60}: a list of the names of its items is needed.")
    return set(basket)
