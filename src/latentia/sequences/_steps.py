"""Reading steps of sequences: symbols as numbers, or vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._entries import is_missing
from .._validation import number_table
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..passes import Block, Blocks
from ..passes.tables import fill_masked

_MOST_SYMBOLS = 1 << 20  # or a hundred for each step: of whole numbers, those that do not occur count as well
_LARGEST_SYMBOL = 2.0**53  # up to which floats have all whole numbers

_STRIPS = 16  # blocks that stretches are taken from, at most


def first_block(X: Any, lengths: Any) -> Block:
    """The steps as a block of one table (n, D) of any type; of Blocks the first one that has some."""
    if isinstance(X, Blocks):
        if X.lengths is None or lengths is not None:
            raise LatentiaError(
                "Blocks carry the lengths of their sequences: make them with from_array(X, lengths=...)."
            )
        if not X.n_rows:
            raise LatentiaError("The data is empty: it has no steps.")
        return next(block for block in X if len(block.rows))
    try:
        table = np.asarray(fill_masked(X))
    except (ValueError, OverflowError):  # rows of different lengths
        sizes = [len(one) if hasattr(one, "__len__") else 1 for one in X]
        shown = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        raise LatentiaError(
            f"X holds {len(sizes)} sequences of different lengths: join them, with numpy.concatenate, and give "
            f"lengths=[{shown}]."
        ) from None
    if not table.ndim:
        raise LatentiaError(f"X is of type {type(X).__name__}: a sequence of symbols or of vectors is needed.")
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size:
        raise LatentiaError(f"X has shape {table.shape}: a sequence of symbols or of vectors is needed.")
    return Block.from_parts([table])


def joined_sequences(X: Any, lengths: Any, kind: str = "auto") -> tuple[Any, Any]:
    """Join a list of sequences, and return their lengths; anything else stays as it is.

    Sequences are lists or arrays of one dimension, of strings or whole numbers, or of vectors of numbers; or strings in which
    blanks separate symbols. Lists of fractions of one length are vectors, as arrays are.
    """
    if lengths is not None or not isinstance(X, (list, tuple)) or not len(X) or kind in ("vectors", "counts"):
        return X, lengths
    if all(isinstance(one, str) for one in X):
        lines = [one.split() for one in X]
        several = sum(len(line) > 1 for line in lines) > len(lines) / 2
        X = [line for line in lines if line] if several else X
        return (
            (np.array([symbol for line in X for symbol in line], object), [len(line) for line in X])
            if several
            else (X, None)
        )
    if not all(isinstance(one, (list, tuple, np.ndarray)) and np.ndim(_first_entry(one)) <= 1 for one in X):
        return X, lengths
    sizes = [len(one) for one in X]
    wide = any(np.ndim(_first_entry(one)) == 1 for one in X)
    if wide:
        return np.concatenate([np.asarray(one) for one in X if len(one)]), [size for size in sizes if size]
    entries = [value for one in X for value in one]
    vectors_of_numbers = len(set(sizes)) == 1 and any(isinstance(value, (float, np.floating)) for value in entries)
    if vectors_of_numbers or max(sizes) < 2:
        return X, lengths
    texts = any(isinstance(value, str) for value in entries)
    return np.array(entries, object if texts else None), [size for size in sizes if size]


def _first_entry(sequence: Any) -> Any:
    return sequence[0] if len(sequence) else 0


def all_steps(X: Any, lengths: Any) -> tuple[Block, Any]:
    """All steps as one block in memory, and the lengths of their sequences."""
    X, lengths = joined_sequences(X, lengths)
    first = first_block(X, lengths)
    if not isinstance(X, Blocks):
        return first, lengths
    blocks = list(from_first(X, first))
    table, rows = (np.concatenate(pieces) for pieces in zip(*((block[0], block.rows) for block in blocks), strict=True))
    return Block.from_parts([table], rows=rows), X.lengths


def has_symbols(table: np.ndarray, kind: str) -> bool:
    """Whether a table holds symbols: strings, or one column of integers, unless ``kind`` says what it is."""
    if kind == "vectors":
        return False
    one = table.shape[1] == 1
    if kind == "symbols" and not one:
        raise LatentiaError(f"X has {table.shape[1]} columns: symbols come in one.")
    if kind == "auto" and one and table.dtype.kind == "f":
        gaps = np.isnan(table)
        if gaps.any() and (table[~gaps] % 1 == 0).all():
            raise LatentiaError(
                "X is one column of whole numbers in which some are missing: symbols, or measurements? Drop the rows without "
                "a symbol, or give kind='vectors'.",
                parameter="kind", value=kind,
            )  # fmt: skip
    return kind == "symbols" or (one and table.dtype.kind in "iubUSO")


def alphabet(blocks: Iterable[Block], n_symbols: int | None) -> np.ndarray:
    """The symbols in order: the different strings, or whole numbers from 0."""
    largest, n, strings = 0, 0, []
    for block in blocks:
        values = _plain(block)
        n += len(values)
        if values.dtype.kind not in "iub":
            strings.append(np.unique(values))
            continue
        if len(values) and values.min() < 0:
            at = int(np.argmin(values))
            raise LatentiaError(f"Symbol {values[at]} in row {block.rows[at]}: whole numbers from 0 are needed.")
        largest = max(largest, int(values.max(initial=0)))
    if strings:
        return np.unique(np.concatenate(strings))
    if n_symbols is not None and largest >= n_symbols:
        raise LatentiaError(
            f"symbol {largest} is outside the alphabet of whole numbers from 0 to {n_symbols - 1}.",
            parameter="n_symbols", value=n_symbols,
        )  # fmt: skip
    size = largest + 1 if n_symbols is None else n_symbols
    if size > max(_MOST_SYMBOLS, 100 * n):
        raise LatentiaError(
            f"An alphabet of the whole numbers from 0 to {size - 1} is too large for {n} steps: number the symbols that occur, "
            "for instance with numpy.unique(X, return_inverse=True), or give them as strings."
        )
    return np.arange(size)


def encoded(block: Block, symbols: np.ndarray) -> np.ndarray:
    """Numbers of a block's symbols in the alphabet, shape (n, 1)."""
    values = _plain(block)
    known = np.isin(values, symbols)
    if not known.all():
        at = int(np.argmin(known))
        some = ", ".join(map(str, symbols[:5])) + (", ..." if len(symbols) > 5 else "")
        raise LatentiaError(
            f"Symbol {str(values[at])!r} in row {block.rows[at]} is outside the alphabet of {len(symbols)} symbols ({some}). "
            "Drop such steps, or map them, before the fit too, to a symbol for rare ones."
        )
    return np.searchsorted(symbols, values)[:, None]


def encoded_blocks(blocks: Blocks, symbols: np.ndarray) -> Blocks:
    """Blocks of symbols as blocks of their numbers, (n, 1), and lengths."""

    def encode(block: Block) -> list[Any]:
        if symbols.dtype.kind not in "iu" and block[0].dtype.kind not in "USO":
            raise LatentiaError("The model was fitted on strings, and Blocks hold numbers: give strings as an array.")
        return [encoded(block, symbols), block[-1]]

    return blocks.map(encode, [(blocks.n_rows, 1)])


def vectors(table: np.ndarray, missing: bool = False) -> np.ndarray:
    """Finite numbers, shape (n, D); NaN where cells may be missing."""
    return np.asarray(number_table(table, missing=missing))


def present(table: np.ndarray) -> np.ndarray:
    """Which steps of a table are there, shape (n,): all of a missing one is None or NaN.

    One that is there in part counts as there.
    """
    if table.dtype.kind == "f":
        there = ~np.isnan(table).all(axis=1)
    elif table.dtype.kind == "O":
        there = np.array([not all(is_missing(value) for value in row) for row in table.tolist()], bool)
    else:
        return np.ones(len(table), bool)
    if not there.any():
        raise LatentiaError(f"All {len(table)} steps are missing (None or NaN).")
    return np.asarray(there)


def kept(block: Block, there: np.ndarray) -> Block:
    """A block of one table with some of its rows."""
    return Block.from_parts([block[0][there]], rows=block.rows[there])


def spread(values: np.ndarray, there: np.ndarray, missing: float) -> np.ndarray:
    """The steps that are there among the others, for which ``missing`` stands."""
    if there.all():
        return values
    table = np.full((len(there), values.shape[1]), missing, values.dtype)
    table[there] = values
    return table


def observed(blocks: Blocks, missing: Callable[[np.ndarray], np.ndarray]) -> Blocks:
    """The steps of an array without the missing ones, which cut sequences."""
    gone = np.concatenate([missing(block[0]) for block in blocks])
    if not gone.any():
        return blocks
    rows, cut = pieces(~gone, np.asarray(blocks.lengths))
    if cut.max() < 3:
        raise LatentiaError("No three consecutive steps are there: too many are missing (None or NaN).")
    return Blocks.from_array(blocks.table()[rows], lengths=cut)


def sequence_blocks(values: np.ndarray, lengths: Any) -> Blocks:
    """Blocks of steps and the lengths of their sequences; by default there is one."""
    return Blocks.from_array(values, lengths=[len(values)] if lengths is None else lengths)


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
        warn(
            f"{short} of {len(lengths)} sequences have fewer than 3 steps, which the moments cannot use.",
            DroppedDataWarning,
        )
    return blocks


def stretches(blocks: Blocks, groups: tuple[int, ...], folds: Any) -> Blocks:
    """The steps of some groups of stretches as sequences of their own, in memory; those of all groups as they are."""
    if set(groups) == set(folds.all):
        return blocks
    steps, lengths = [], []
    for block in blocks:
        rows, cut = pieces(np.isin(folds.of(block.rows), groups), block[-1])
        steps.append(block[0][rows])
        lengths.append(cut)
    if not any(map(len, steps)):
        raise LatentiaError("A part of the data has no steps: there are too few to be split.")
    return Blocks.from_array(np.vstack(steps), lengths=np.concatenate(lengths))


def some_stretches(blocks: Blocks, most: int, stretch: int) -> Blocks:
    """Up to ``most`` steps in stretches of up to ``stretch`` neighbours, evenly from up to 16 blocks, in memory."""
    numbers = np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), _STRIPS)).round().astype(int))
    steps, lengths = [], []
    for number in numbers:
        block = blocks[int(number)]
        n, wanted = len(block[0]), -(-most // len(numbers))
        kept = np.zeros(n, bool)
        n_stretches = min(-(-wanted // stretch), -(-n // stretch))
        for start in np.linspace(0, max(n - stretch, 0), n_stretches).astype(int):
            kept[start : start + min(stretch, wanted)] = True
        rows, cut = pieces(kept, block[-1])
        steps.append(block[0][rows])
        lengths.append(cut)
    return Blocks.from_array(np.vstack(steps), lengths=np.concatenate(lengths))


def even_stretches(blocks: Blocks, most: int, stretch: int) -> Blocks:
    """Return about ``most`` steps in memory, in evenly spread stretches: the same ones however steps are cut into blocks."""
    every = -(-blocks.n_rows // most)
    steps, lengths = [], []
    for block in blocks:
        rows, cut = pieces(np.asarray(block.rows) // stretch % every == 0, block[-1])
        steps.append(block[0][rows])
        lengths.append(cut)
    return Blocks.from_array(np.vstack(steps), lengths=np.concatenate(lengths))


def pieces(kept: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of the steps that are kept, and the lengths of the pieces that they make of the sequences."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.flatnonzero(kept)
    breaks = np.flatnonzero((np.diff(rows) > 1) | (np.diff(sequence[rows]) > 0)) + 1
    cut = np.diff(np.concatenate([[0], breaks, [len(rows)]]))
    return rows, cut[cut > 0]


def from_first(X: Any, first: Block) -> Iterator[Block]:
    """The first block, and those after it."""
    yield first
    if isinstance(X, Blocks):
        yield from (X[number] for number in range(first.number + 1, len(X)))


def _plain(block: Block) -> np.ndarray:
    """The one column of a block as strings or integers, shape (n,)."""
    values = block[0][:, 0]
    if values.dtype.kind == "O":
        for row, value in zip(block.rows, values.tolist(), strict=True):
            if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
                raise LatentiaError(
                    f"Row {row} holds a {type(value).__name__}: symbols must be whole numbers or strings. Join sequences, with "
                    "numpy.concatenate, and give their lengths."
                )
            if is_missing(value):
                raise LatentiaError(f"Row {row} has no symbol: drop it, or give one for such rows.")
        return values.astype(str)
    if values.dtype.kind not in "fiubUS":
        raise LatentiaError(f"Symbols of type {values.dtype}: whole numbers or strings are needed.")
    if values.dtype.kind != "f":
        return values
    with np.errstate(invalid="ignore"):  # of infinity
        whole = (values % 1 == 0) & (np.abs(values) < np.float64(_LARGEST_SYMBOL))
    if not whole.all():
        at = int(np.argmin(whole))
        raise LatentiaError(f"Symbol {values[at]} in row {block.rows[at]}: symbols must be whole numbers or strings.")
    return values.astype(np.int64)
