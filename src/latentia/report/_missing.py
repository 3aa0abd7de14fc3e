"""What a page says where it was written without the data."""

from __future__ import annotations


def without_data(lacks: str, data: str = "X") -> str:
    """Say what a page lacks that was written from the model alone, and how to have it.

    Parameters
    ----------
    lacks : str
        What is not shown, in the plural.
    data : str
        Arguments of ``fit`` with which it would be.
    """
    return f"This page was written from the model alone and lacks {lacks}. model.report(path, {data}) shows them too."
