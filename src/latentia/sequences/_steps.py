"""Reading steps of sequences: symbols as numbers, or vectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from ..exceptions import DroppedDataWarning, LatentiaError
from ..moments import window_groups
from ..passes import Blocks

__all__ = ["alphabet", "as_table", "encoded", "has_symbols", "long_enough", "stretches", "vectors"]


def as_table(X: Any, lengths: Any) -> np.ndarray:
    """The steps as a table (n, D) of any type; of Blocks the first block's."""
    if isinstance(X, Blocks):
        if X.lengths is None or lengths is not None:
            raise LatentiaError(
                "Blocks carry the lengths of their sequences: make them with from_array(X, lengths=...)."
            )
        return X[0][0]
    table = np.asarray(X)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size:
        raise LatentiaError(f"X has shape {table.shape}: a sequence of symbols or of vectors is needed.")
    return table


def has_symbols(table: np.ndarray, kind: str) -> bool:
    """Whether a table holds symbols: strings, or one column of integers, unless ``kind`` says what it is."""
    if kind == "vectors":
        return False
    one = table.shape[1] == 1
    if kind == "symbols" and not one:
        raise LatentiaError(f"X has {table.shape[1]} columns: symbols come in one.")
    return kind == "symbols" or (one and table.dtype.kind in "iubUSO")


def alphabet(X: Any, table: np.ndarray, n_symbols: int | None) -> np.ndarray:
    """The symbols in order: the different strings, or whole numbers from 0."""
    values = _plain(table)
    if values.dtype.kind not in "iub":
        return np.unique(values)
    if values.min() < 0:
        at = int(np.argmin(values))
        raise LatentiaError(f"Symbol {values[at]} in row {at}: whole numbers from 0 are needed.")
    largest = max(int(block[0].max()) for block in X) if isinstance(X, Blocks) else int(values.max())
    if n_symbols is not None and largest >= n_symbols:
        raise LatentiaError(
            f"Symbol {largest} is outside the alphabet: n_symbols={n_symbols} allows 0 to {n_symbols - 1}."
        )
    return np.arange(largest + 1 if n_symbols is None else n_symbols)


def encoded(table: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """Numbers of the symbols in the alphabet, shape (n, 1)."""
    values = _plain(table)
    known = np.isin(values, symbols)
    if not known.all():
        at = int(np.argmin(known))
        some = ", ".join(map(str, symbols[:5])) + (", ..." if len(symbols) > 5 else "")
        raise LatentiaError(
            f"Symbol {str(values[at])!r} in row {at} is outside the alphabet of {len(symbols)} symbols ({some}). "
            "Leave such steps out, or map them, before the fit too, to a symbol for rare ones."
        )
    return np.searchsorted(symbols, values)[:, None]


def vectors(table: np.ndarray) -> np.ndarray:
    """Finite numbers, shape (n, D)."""
    try:
        return check_array(table, dtype=np.float64, input_name="X")
    except ValueError as error:
        raise LatentiaError(str(error)) from error


def long_enough(blocks: Blocks) -> Blocks:
    """The blocks, if some sequence has three steps; a warning for sequences that have not."""
    lengths = np.asarray(blocks.lengths)
    short = int((lengths < 3).sum())
    if short == len(lengths):
        raise LatentiaError(
            f"All {short} sequences have fewer than 3 steps (the longest {lengths.max()}): the moments of three consecutive "
            "steps need longer ones. Were the lengths given?"
        )
    if short:
        warnings.warn(
            f"{short} of {len(lengths)} sequences have fewer than 3 steps, which the moments cannot use.",
            DroppedDataWarning,
            stacklevel=4,
        )
    return blocks


def stretches(blocks: Blocks, groups: tuple[int, ...], random_state: int, stretch: int) -> Blocks:
    """The stretches of some of four groups as sequences of their own, in memory."""
    pieces, lengths = [], []
    for block in blocks:
        sequence = np.repeat(np.arange(len(block[-1])), block[-1])
        rows = np.flatnonzero(np.isin(window_groups(block.rows, 4, random_state, stretch), groups))
        breaks = np.flatnonzero((np.diff(rows) > 1) | (np.diff(sequence[rows]) > 0)) + 1
        pieces.append(block[0][rows])
        lengths.append(np.diff(np.concatenate([[0], breaks, [len(rows)]])))
    return Blocks.from_array(np.vstack(pieces), lengths=np.concatenate([part[part > 0] for part in lengths]))


def _plain(table: np.ndarray) -> np.ndarray:
    """The one column as strings or integers, shape (n,)."""
    values = table[:, 0]
    if values.dtype.kind == "O":
        return values.astype(str)
    if values.dtype.kind != "f":
        return values
    if not (values % 1 == 0).all():
        at = int(np.argmin(values % 1 == 0))
        raise LatentiaError(f"Symbol {values[at]} in row {at}: symbols must be whole numbers or strings.")
    return values.astype(np.int64)
