"""Readers of sequences: symbols as numbers, or vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np

from .._entries import is_missing
from .._validation import number_table
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..passes import Block, Blocks
from ..passes.tables import fill_masked

_MAX_SYMBOLS = 1 << 20  # size of an alphabet of whole numbers, or a hundred per step; unused numbers count too
_LARGEST_SYMBOL = 2.0**53  # Floats hold all whole numbers up to here.

_MAX_SAMPLED_BLOCKS = 16


def read_first_block(X: Any, lengths: Any) -> Block:
    """Read the steps as a block of one table (n, D) of any type; of Blocks the first block that has steps."""
    if isinstance(X, Blocks):
        if X.lengths is None or lengths is not None:
            raise LatentiaError(
                "Expected Blocks that carry the lengths of their sequences: make them with from_array(X, lengths=...)."
            )
        if not X.n_rows:
            raise LatentiaError("The data is empty: it has no steps.")
        return next(block for block in X if len(block.rows))
    try:
        table = np.asarray(fill_masked(X))
    except (ValueError, OverflowError):  # The rows have different lengths.
        sizes = [len(sequence) if hasattr(sequence, "__len__") else 1 for sequence in X]
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        raise LatentiaError(
            f"X holds {len(sizes)} sequences of different lengths: join them, with numpy.concatenate, and give "
            f"lengths=[{listed}]."
        ) from None
    if not table.ndim:
        raise LatentiaError(f"Expected a sequence of symbols or vectors; X has type {type(X).__name__}.")
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size:
        raise LatentiaError(f"Expected a sequence of symbols or vectors; X has shape {table.shape}.")
    return Block.from_parts([table])


def join_sequences(X: Any, lengths: Any, kind: str = "auto") -> tuple[Any, Any]:
    """Join a list of sequences, and return their lengths; return anything else unchanged.

    A sequence is a list or one-dimensional array of strings, whole numbers or vectors; or a string in which blanks separate
    symbols. Lists of fractions that all have one length are vectors, as arrays are.
    """
    if lengths is not None or not isinstance(X, (list, tuple)) or not len(X) or kind in ("vectors", "counts"):
        return X, lengths
    if all(isinstance(sequence, str) for sequence in X):
        lines = [sequence.split() for sequence in X]
        are_lines = sum(len(line) > 1 for line in lines) > len(lines) / 2
        X = [line for line in lines if line] if are_lines else X
        return (
            (np.array([symbol for line in X for symbol in line], object), [len(line) for line in X])
            if are_lines
            else (X, None)
        )
    if not all(
        isinstance(sequence, (list, tuple, np.ndarray)) and np.ndim(_first_entry(sequence)) <= 1 for sequence in X
    ):
        return X, lengths
    sizes = [len(sequence) for sequence in X]
    are_vectors = any(np.ndim(_first_entry(sequence)) == 1 for sequence in X)
    if are_vectors:
        return np.concatenate([np.asarray(sequence) for sequence in X if len(sequence)]), [
            size for size in sizes if size
        ]
    entries = [value for sequence in X for value in sequence]
    vectors_of_numbers = len(set(sizes)) == 1 and any(isinstance(value, (float, np.floating)) for value in entries)
    if vectors_of_numbers or max(sizes) < 2:
        return X, lengths
    texts = any(isinstance(value, str) for value in entries)
    return np.array(entries, object if texts else None), [size for size in sizes if size]


def _first_entry(sequence: Any) -> Any:
    return sequence[0] if len(sequence) else 0


def read_all_steps(X: Any, lengths: Any) -> tuple[Block, Any]:
    """Read all steps as one block in memory, and the lengths of their sequences."""
    X, lengths = join_sequences(X, lengths)
    first = read_first_block(X, lengths)
    if not isinstance(X, Blocks):
        return first, lengths
    blocks = list(iterate_from_first(X, first))
    table, rows = (np.concatenate(pieces) for pieces in zip(*((block[0], block.rows) for block in blocks), strict=True))
    return Block.from_parts([table], rows=rows), X.lengths


def has_symbols(table: np.ndarray, kind: str) -> bool:
    """Return True if a table holds symbols: strings, or one column of integers, unless ``kind`` decides."""
    if kind == "vectors":
        return False
    is_single = table.shape[1] == 1
    if kind == "symbols" and not is_single:
        raise LatentiaError(f"Expected one column of symbols; X has {table.shape[1]} columns.")
    if kind == "auto" and is_single and table.dtype.kind == "f":
        gaps = np.isnan(table)
        if gaps.any() and (table[~gaps] % 1 == 0).all():
            raise LatentiaError(
                "X is one column of whole numbers in which some are missing: symbols, or measurements? Drop the rows without "
                "a symbol, or give kind='vectors'.",
                parameter="kind", value=kind,
            )  # fmt: skip
    return kind == "symbols" or (is_single and table.dtype.kind in "iubUSO")


def find_alphabet(blocks: Iterable[Block], n_symbols: int | None) -> np.ndarray:
    """Find the sorted alphabet: the different strings, or whole numbers from 0."""
    largest, n, strings = 0, 0, []
    for block in blocks:
        values = _read_symbols(block)
        n += len(values)
        if values.dtype.kind not in "iub":
            strings.append(np.unique(values))
            continue
        if len(values) and values.min() < 0:
            place = int(np.argmin(values))
            raise LatentiaError(
                f"Expected symbols that are whole numbers from 0; row {block.rows[place]} holds {values[place]}."
            )
        largest = max(largest, int(values.max(initial=0)))
    if strings:
        return np.unique(np.concatenate(strings))
    if n_symbols is not None and largest >= n_symbols:
        raise LatentiaError(
            f"symbol {largest} is outside the alphabet of whole numbers from 0 to {n_symbols - 1}.",
            parameter="n_symbols", value=n_symbols,
        )  # fmt: skip
    size = largest + 1 if n_symbols is None else n_symbols
    if size > max(_MAX_SYMBOLS, 100 * n):
        raise LatentiaError(
            f"An alphabet of the whole numbers from 0 to {size - 1} is too large for {n} steps. Number only the symbols that "
            "occur, for instance with numpy.unique(X, return_inverse=True), or give them as strings."
        )
    return np.arange(size)


def encode_symbols(block: Block, symbols: np.ndarray) -> np.ndarray:
    """Encode a block's symbols by their numbers in the alphabet, shape (n, 1)."""
    values = _read_symbols(block)
    if block[0].dtype.kind == "O" and symbols.dtype.kind in "US":
        values = values.astype(str)
    is_known = np.isin(values, symbols)
    if not is_known.all():
        place = int(np.argmin(is_known))
        listed = ", ".join(map(str, symbols[:5])) + (", ..." if len(symbols) > 5 else "")
        raise LatentiaError(
            f"Symbol {str(values[place])!r} in row {block.rows[place]} is outside the alphabet of {len(symbols)} symbols "
            f"({listed}). Drop such steps, or map them to a symbol for rare ones, before the fit too."
        )
    return np.searchsorted(symbols, values)[:, None]


def encode_symbol_blocks(blocks: Blocks, symbols: np.ndarray) -> Blocks:
    """Encode blocks of symbols by their numbers, (n, 1); the lengths stay."""

    def encode(block: Block) -> list[Any]:
        if symbols.dtype.kind not in "iu" and block[0].dtype.kind not in "USO":
            raise LatentiaError("Expected strings, as in the fit; Blocks hold numbers. Give strings as an array.")
        return [encode_symbols(block, symbols), block[-1]]

    return blocks.map(encode, [(blocks.n_rows, 1)])


def read_vectors(table: np.ndarray, missing: bool = False) -> np.ndarray:
    """Read finite numbers, shape (n, D); NaN is allowed if cells may be missing."""
    return np.asarray(number_table(table, missing=missing))


def find_present(table: np.ndarray) -> np.ndarray:
    """Mark the observed steps of a table, shape (n,): every cell of a missing step is None or NaN.

    A step with some missing cells counts as observed.
    """
    if table.dtype.kind == "f":
        is_present = ~np.isnan(table).all(axis=1)
    elif table.dtype.kind == "O":
        is_present = np.array([not all(is_missing(value) for value in row) for row in table.tolist()], bool)
    else:
        return np.ones(len(table), bool)
    if not is_present.any():
        raise LatentiaError(f"All {len(table)} steps are missing (None or NaN).")
    return np.asarray(is_present)


def select_rows(block: Block, is_kept: np.ndarray) -> Block:
    """Select rows of a block of one table."""
    return Block.from_parts([block[0][is_kept]], rows=block.rows[is_kept])


def insert_missing(values: np.ndarray, is_present: np.ndarray, missing: float) -> np.ndarray:
    """Insert ``missing`` in the places of missing steps."""
    if is_present.all():
        return values
    table = np.full((len(is_present), values.shape[1]), missing, values.dtype)
    table[is_present] = values
    return table


def drop_missing(blocks: Blocks, missing: Callable[[np.ndarray], np.ndarray]) -> Blocks:
    """Drop missing steps; a sequence is cut where one was."""
    is_missing = np.concatenate([missing(block[0]) for block in blocks])
    if not is_missing.any():
        return blocks
    rows, piece_lengths = cut_sequences(~is_missing, np.asarray(blocks.lengths))
    if piece_lengths.max() < 3:
        raise LatentiaError("Expected three consecutive observed steps somewhere; too many are missing (None or NaN).")
    return Blocks.from_array(blocks.table()[rows], lengths=piece_lengths)


def sequence_blocks(values: np.ndarray, lengths: Any) -> Blocks:
    """Build blocks of steps and the lengths of their sequences; by default there is one sequence."""
    return Blocks.from_array(values, lengths=[len(values)] if lengths is None else lengths)


def check_lengths(blocks: Blocks) -> Blocks:
    """Return the blocks if some sequence has three steps; warn of shorter sequences."""
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


def select_groups(blocks: Blocks, groups: tuple[int, ...], folds: Any) -> Blocks:
    """Select the steps of some groups, as sequences in memory; return the blocks themselves for all groups."""
    if set(groups) == set(folds.all):
        return blocks
    steps, lengths = [], []
    for block in blocks:
        rows, piece_lengths = cut_sequences(np.isin(folds.of(block.rows), groups), block[-1])
        steps.append(block[0][rows])
        lengths.append(piece_lengths)
    if not any(map(len, steps)):
        raise LatentiaError(
            "Too few steps to split: a part of the data would have none. Give more steps, or n_splits=0."
        )
    return Blocks.from_array(np.vstack(steps), lengths=np.concatenate(lengths))


def sample_stretches(blocks: Blocks, max_steps: int, stretch: int) -> Blocks:
    """Sample up to ``max_steps`` steps in stretches of up to ``stretch`` neighbours, from up to 16 blocks, in memory."""
    numbers = np.unique(np.linspace(0, len(blocks) - 1, min(len(blocks), _MAX_SAMPLED_BLOCKS)).round().astype(int))
    steps, lengths = [], []
    for number in numbers:
        block = blocks[int(number)]
        n, block_steps = len(block[0]), -(-max_steps // len(numbers))
        is_kept = np.zeros(n, bool)
        n_stretches = min(-(-block_steps // stretch), -(-n // stretch))
        for start in np.linspace(0, max(n - stretch, 0), n_stretches).astype(int):
            is_kept[start : start + min(stretch, block_steps)] = True
        rows, piece_lengths = cut_sequences(is_kept, block[-1])
        steps.append(block[0][rows])
        lengths.append(piece_lengths)
    return Blocks.from_array(np.vstack(steps), lengths=np.concatenate(lengths))


def sample_even_stretches(blocks: Blocks, max_steps: int, stretch: int) -> Blocks:
    """Sample about ``max_steps`` steps in even stretches, in memory; the cut into blocks does not matter."""
    stride = -(-blocks.n_rows // max_steps)
    steps, lengths = [], []
    for block in blocks:
        rows, piece_lengths = cut_sequences(np.asarray(block.rows) // stretch % stride == 0, block[-1])
        steps.append(block[0][rows])
        lengths.append(piece_lengths)
    return Blocks.from_array(np.vstack(steps), lengths=np.concatenate(lengths))


def cut_sequences(is_kept: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the kept steps, and the lengths of the pieces into which they cut the sequences."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.flatnonzero(is_kept)
    breaks = np.flatnonzero((np.diff(rows) > 1) | (np.diff(sequence[rows]) > 0)) + 1
    piece_lengths = np.diff(np.concatenate([[0], breaks, [len(rows)]]))
    return rows, piece_lengths[piece_lengths > 0]


def iterate_from_first(X: Any, first: Block) -> Iterator[Block]:
    """Yield the first block and all later ones."""
    yield first
    if isinstance(X, Blocks):
        yield from (X[number] for number in range(first.number + 1, len(X)))


def _read_symbols(block: Block) -> np.ndarray:
    """Read the one column of a block as strings or integers, shape (n,)."""
    values = block[0][:, 0]
    if values.dtype.kind == "O":
        for row, value in zip(block.rows, values.tolist(), strict=True):
            if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
                raise LatentiaError(
                    f"Expected symbols that are whole numbers or strings; row {row} holds a {type(value).__name__}. Join "
                    "sequences with numpy.concatenate, and give their lengths."
                )
            if is_missing(value):
                raise LatentiaError(f"Row {row} has no symbol: drop it, or give such rows a symbol.")
        are_numbers = all(isinstance(value, Integral) and abs(int(value)) < _LARGEST_SYMBOL for value in values)
        return values.astype(np.int64 if are_numbers else str)
    if values.dtype.kind not in "fiubUS":
        raise LatentiaError(f"Expected symbols that are whole numbers or strings; found type {values.dtype}.")
    if values.dtype.kind != "f":
        return values
    with np.errstate(invalid="ignore"):  # Infinity has no remainder.
        is_whole = (values % 1 == 0) & (np.abs(values) < np.float64(_LARGEST_SYMBOL))
    if not is_whole.all():
        place = int(np.argmin(is_whole))
        raise LatentiaError(
            f"Expected symbols that are whole numbers or strings; row {block.rows[place]} holds {values[place]}."
        )
    return values.astype(np.int64)
