"""svmlight multi-label: ``l1,l2 f:v f:v # comment``, two tables X and Y.

With the first line ``rows features labels`` of the Extreme Classification Repository, numbers count from 0, or from 1 with
``zero_based=False``. Without it, a 0 among the features shows that they count from 0; a file without a 0 is refused until
``zero_based=`` is given. Labels count like features unless ``labels_zero_based=`` is given: classic svmlight has features from
1 and labels from 0. ``n_features=`` and ``n_labels=`` default to the largest numbers in the file; give them to open a test file
with the columns of its training file. A line without features, or without labels (it begins with a blank or with a feature), or
blank, is a row; one that begins with ``#`` is not. A feature that occurs twice on a line has the sum of its values, and a label
that occurs twice counts once.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...exceptions import LatentiaError
from .. import parsing
from ..cache import CacheWriter
from ._sizes import MAX_SIZE, estimate_max_size, parse_header_number
from ._text import chunks, fail, open_text

_PARAMETERS = ("zero_based", "labels_zero_based")
OPTIONS = (*_PARAMETERS, "n_features", "n_labels")
_NAMES = ("features", "labels")


class _Layout(NamedTuple):
    """Numbering and sizes of a file; lists hold features first and labels second.

    Attributes
    ----------
    n_rows : int or None
        Number of rows that the first line promises; None without such a line.
    bases : list of int
        First numbers: 0 or 1.
    sizes : list of int
    options : list of bool or None
        The options ``zero_based`` and ``labels_zero_based``.
    sizes_unknown : bool
        True while the sizes are upper limits for a file of this length, and the real ones are being determined.
    """

    n_rows: int | None
    bases: list[int]
    sizes: list[int]
    options: list[bool | None]
    sizes_unknown: bool = False


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """Convert two tables, X and Y."""
    _check_options(options)
    with open_text(path) as file:
        first = file.readline().split()
    if len(first) == 3 and all(number.isdigit() for number in first):
        layout = _read_headed_layout(path, [parse_header_number(path, 1, number) for number in first], options)
    else:
        layout = _find_layout(path, options, progress)
    n_found = 0
    with CacheWriter(folder, layout.sizes, source=source) as writer:
        for pieces in _parse_pieces(path, layout, progress):
            x, y = _build_tables(path, pieces, layout.sizes)
            writer.append(x, y)
            n_found += x.shape[0]
        if layout.n_rows is not None and n_found != layout.n_rows:
            hint = "truncated?" if n_found < layout.n_rows else "remove the other lines, blank ones too."
            raise LatentiaError(
                f"the first line promises {layout.n_rows} rows and {n_found} were found: {hint}", source=path
            )
        if not n_found:
            raise LatentiaError("expected rows, found none in the file.", source=path)


def _check_options(options: dict[str, Any]) -> None:
    for name in _PARAMETERS:
        if not isinstance(options.get(name), (bool, type(None))):
            raise LatentiaError("expected True or False.", parameter=name, value=options[name])
    for name, minimum in (("n_features", 1), ("n_labels", 0)):
        size = options.get(name)
        is_whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
        if size is not None and not (is_whole and minimum <= size <= MAX_SIZE):
            raise LatentiaError(f"expected a whole number from {minimum} to {MAX_SIZE}.", parameter=name, value=size)


def _read_headed_layout(path: Path, header: list[int], options: dict[str, Any]) -> _Layout:
    """Return the layout from the first line; numbers count from 0 unless the options say otherwise."""
    n_rows, *sizes = header
    statement = f"its first line says {sizes[0]} features and {sizes[1]} labels"
    for name, size in zip(("n_features", "n_labels"), sizes, strict=True):
        if options.get(name) not in (None, size):
            raise LatentiaError(f"{statement}: they must agree.", parameter=name, value=options[name], source=path)
    if max(sizes) > MAX_SIZE:
        raise LatentiaError(f"{statement}: expected at most {MAX_SIZE}.", source=path)
    for name, size in zip(("n_features", "n_labels"), sizes, strict=True):
        if size > estimate_max_size(path) and options.get(name) is None:
            raise LatentiaError(
                f"{statement}, in {path.stat().st_size} bytes. If that is right, give {name}={size}.", source=path
            )
    zero_based, labels_zero_based = options_given = [options.get(name) for name in _PARAMETERS]
    zero_based = True if zero_based is None else zero_based
    return _Layout(
        n_rows,
        [int(not zero_based), int(not (zero_based if labels_zero_based is None else labels_zero_based))],
        sizes,
        options_given,
    )


def _find_layout(path: Path, options: dict[str, Any], progress: bool) -> _Layout:
    """Return the layout from the options or, where they are incomplete, from a pass over the file."""
    zero_based, labels_zero_based = options_given = [options.get(name) for name in _PARAMETERS]
    zero_bases = [zero_based, zero_based if labels_zero_based is None else labels_zero_based]
    sizes = [options.get("n_features"), options.get("n_labels")]
    if None not in zero_bases and None not in sizes:
        return _Layout(None, [int(not zero) for zero in zero_bases], [int(size) for size in sizes], options_given)  # type: ignore[arg-type]
    ranges = _find_ranges(path, sizes, progress)
    if zero_bases[0] is None and ranges[0][0] == 0:
        zero_bases = [True, True if labels_zero_based is None else labels_zero_based]
    unclear = [i for i in (0, 1) if zero_bases[i] is None and ranges[i][0] > 0]
    if unclear:
        raise LatentiaError(
            _describe_unclear(path, unclear, ranges), parameter=_PARAMETERS[unclear[0]], value=None, source=path
        )
    bases = [int(zero is not None and not zero) for zero in zero_bases]
    if sizes[0] is None and ranges[0][1] < 0:
        raise LatentiaError(
            "expected the number of features, as the file has none.",
            source=path,
            parameter="n_features",
            value=None,
        )
    chosen_sizes = [
        max(largest + 1 - base, 0) if size is None else int(size)
        for size, base, (_, largest) in zip(sizes, bases, ranges, strict=True)
    ]
    return _Layout(None, bases, chosen_sizes, options_given)


def _find_ranges(path: Path, sizes: list[int | None], progress: bool) -> list[tuple[int, int]]:
    """Return the smallest and largest feature, and label, of a file; -1 where there is none."""
    ranges = [(-1, -1), (-1, -1)]
    max_sizes = [min(estimate_max_size(path), MAX_SIZE) if size is None else MAX_SIZE for size in sizes]
    for _, features, _, _, labels in _parse_pieces(
        path, _Layout(None, [0, 0], max_sizes, [None, None], sizes_unknown=True), progress
    ):
        for i, numbers_found in enumerate((features, labels)):
            if len(numbers_found):
                low, high = int(numbers_found.min()), int(numbers_found.max())
                ranges[i] = (min(low, ranges[i][0]) if ranges[i][0] >= 0 else low, max(high, ranges[i][1]))
    return ranges


def _describe_unclear(path: Path, unclear: list[int], ranges: list[tuple[int, int]]) -> str:
    ranges_found = [f"{n} {r[0]} to {r[1]}" if r[1] >= 0 else f"no {n}" for n, r in zip(_NAMES, ranges, strict=True)]
    advice = "Give the number from which they count"
    if 0 in unclear and ranges[1][0] == 0:
        advice += "; if only the features count from 1, give it for the labels too"
    return (
        "has no first line 'rows features labels', and no 0 among the "
        f"{' and '.join(_NAMES[i] for i in unclear)}, which may count from 0 or from 1. Found {' and '.join(ranges_found)}. "
        f"{advice}."
    )


def _parse_pieces(path: Path, layout: _Layout, progress: bool) -> Iterator[list[np.ndarray]]:
    """Yield arrays of complete rows: indptr, indices and data of X, indptr and indices of Y, counted from 0."""
    headed = layout.n_rows is not None
    with open_text(path) as file:
        if headed:
            file.readline()
        for buffer, line in chunks(path, file, progress, 1 + headed):
            *arrays, bad, beyond, number = parsing.parse_svmlight(buffer, *layout.bases, *layout.sizes)
            if bad >= 0:
                fail(path, line, buffer, bad, *_describe_expected(beyond, number, layout))
            yield arrays


def _build_tables(path: Path, pieces: list[np.ndarray], sizes: list[int]) -> tuple[sparse.csr_array, sparse.csr_array]:
    x_indptr, x_indices, x_data, y_indptr, y_indices = pieces
    rows = len(x_indptr) - 1
    x = sparse.csr_array((x_data, x_indices, x_indptr), shape=(rows, sizes[0]))
    y = sparse.csr_array((np.ones(len(y_indices), np.int8), y_indices, y_indptr), shape=(rows, sizes[1]))
    x.sum_duplicates()
    x.eliminate_zeros()
    y.sum_duplicates()
    y.data[:] = 1
    if not np.isfinite(x.data).all():
        raise LatentiaError("the values of a feature that a line names twice add up to infinity.", source=path)
    return x, y


def _describe_expected(beyond: int, number: int, layout: _Layout) -> tuple[str, str, str | None, bool | None]:
    """Return the expected content, a hint and its parameter, for a ``number`` beyond the features (1) or labels (2)."""
    if not beyond:
        return "'label,label feature:value ...'", "", None, None
    i = beyond - 1
    kind, base, size = _NAMES[i], layout.bases[i], layout.sizes[i]
    about = _PARAMETERS[i], layout.options[i]
    if base and number == 0:
        return f"{kind} from 1, not 0", f" Do {kind} count from 0?", *about
    if not size:
        return f"no {kind}, as their number is 0", "", None, None
    expected = f"{kind} from {base} to {size + base - 1}, not {number}"
    if layout.sizes_unknown:
        return f"{expected}, in a file of this length", f" If that is right, give n_{kind}=.", None, None
    if not base and number == size:
        hint = (
            "Does the file count from 1?",
            "Do labels count from 1? Unless said otherwise they count as features do.",
        )
        return expected, f" {hint[i]}", *about
    return expected, "", None, None
