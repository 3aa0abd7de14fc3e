"""svmlight multi-label: ``l1,l2 f:v f:v # comment``, two tables X and Y.

With the first line ``rows features labels`` of the Extreme Classification Repository, numbers count from 0, or from 1 with
``zero_based=False``. Without it, a 0 among the features proves that they count from 0; a file where none is seen is refused
until ``zero_based=`` says from where they count. Labels count as features do unless ``labels_zero_based=`` is given: classic
svmlight has features from 1 and labels from 0. ``n_features=`` and ``n_labels=`` are by default as many as the largest numbers
found; say them to open a test file with the columns of its training file. A line without features, or without labels (it
begins with a blank or with a feature), or blank, is a row; one that begins with ``#`` is none. A feature named twice on a line
has the sum of its values, and a label named twice counts once.
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
from ._sizes import MOST, believable, header_number
from ._text import chunks, fail, open_text

_PARAMETERS = ("zero_based", "labels_zero_based")
OPTIONS = (*_PARAMETERS, "n_features", "n_labels")
_NAMES = ("features", "labels")


class _Layout(NamedTuple):
    """How a file is read, features first and labels second.

    Attributes
    ----------
    n_rows : int or None
        How many rows the first line promises; None where there is no such line.
    bases : list of int
        First numbers: 0 or 1.
    sizes : list of int
    said : list of bool or None
        The options ``zero_based`` and ``labels_zero_based``.
    looking : bool
        Whether sizes are those that a file of this length may have, and the real ones are looked for.
    """

    n_rows: int | None
    bases: list[int]
    sizes: list[int]
    said: list[bool | None]
    looking: bool = False


def convert(path: Path, folder: Path, source: dict[str, Any], progress: bool, options: dict[str, Any]) -> None:
    """Two tables, X and Y."""
    _check_options(options)
    with open_text(path) as file:
        first = file.readline().split()
    if len(first) == 3 and all(number.isdigit() for number in first):
        layout = _headed(path, [header_number(path, 1, number) for number in first], options)
    else:
        layout = _unheaded(path, options, progress)
    found = 0
    with CacheWriter(folder, layout.sizes, source=source) as writer:
        for pieces in _pieces(path, layout, progress):
            x, y = _tables(path, pieces, layout.sizes)
            writer.append(x, y)
            found += x.shape[0]
        if layout.n_rows is not None and found != layout.n_rows:
            hint = "truncated?" if found < layout.n_rows else "remove the others, blank lines too."
            raise LatentiaError(
                f"the first line promises {layout.n_rows} rows and {found} were found: {hint}", source=path
            )
        if not found:
            raise LatentiaError("there are no rows in the file.", source=path)


def _check_options(options: dict[str, Any]) -> None:
    for name in _PARAMETERS:
        if not isinstance(options.get(name), (bool, type(None))):
            raise LatentiaError("use True or False.", parameter=name, value=options[name])
    for name, least in (("n_features", 1), ("n_labels", 0)):
        size = options.get(name)
        whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
        if size is not None and not (whole and least <= size <= MOST):
            raise LatentiaError(f"a whole number from {least} to {MOST} is needed.", parameter=name, value=size)


def _headed(path: Path, header: list[int], options: dict[str, Any]) -> _Layout:
    """What the first line says; numbers count from 0 unless the options say otherwise."""
    n_rows, *sizes = header
    said = f"its first line says {sizes[0]} features and {sizes[1]} labels"
    for name, size in zip(("n_features", "n_labels"), sizes, strict=True):
        if options.get(name) not in (None, size):
            raise LatentiaError(f"{said}: they must agree.", parameter=name, value=options[name], source=path)
    if max(sizes) > MOST:
        raise LatentiaError(f"{said}: more than {MOST}.", source=path)
    for name, size in zip(("n_features", "n_labels"), sizes, strict=True):
        if size > believable(path) and options.get(name) is None:
            raise LatentiaError(
                f"{said}, in {path.stat().st_size} bytes. If that is right, say {name}={size}.", source=path
            )
    zero_based, labels = given = [options.get(name) for name in _PARAMETERS]
    zero_based = True if zero_based is None else zero_based
    return _Layout(n_rows, [int(not zero_based), int(not (zero_based if labels is None else labels))], sizes, given)


def _unheaded(path: Path, options: dict[str, Any], progress: bool) -> _Layout:
    """What the options say, or else a look at the whole file."""
    zero_based, labels = given = [options.get(name) for name in _PARAMETERS]
    start = [zero_based, zero_based if labels is None else labels]
    sizes = [options.get("n_features"), options.get("n_labels")]
    if None not in start and None not in sizes:
        return _Layout(None, [int(not zero) for zero in start], [int(size) for size in sizes], given)  # type: ignore[arg-type]
    ranges = _ranges(path, sizes, progress)
    if start[0] is None and ranges[0][0] == 0:
        start = [True, True if labels is None else labels]
    unclear = [i for i in (0, 1) if start[i] is None and ranges[i][0] > 0]
    if unclear:
        raise LatentiaError(_unclear(path, unclear, ranges), parameter=_PARAMETERS[unclear[0]], value=None, source=path)
    bases = [int(zero is not None and not zero) for zero in start]
    if sizes[0] is None and ranges[0][1] < 0:
        raise LatentiaError(
            "there is no feature in the file that tells how many there are.",
            source=path,
            parameter="n_features",
            value=None,
        )
    found = [
        max(largest + 1 - base, 0) if size is None else int(size)
        for size, base, (_, largest) in zip(sizes, bases, ranges, strict=True)
    ]
    return _Layout(None, bases, found, given)


def _ranges(path: Path, sizes: list[int | None], progress: bool) -> list[tuple[int, int]]:
    """Smallest and largest feature, and label, of a file; -1 where there is none."""
    ranges = [(-1, -1), (-1, -1)]
    most = [min(believable(path), MOST) if size is None else MOST for size in sizes]
    for _, features, _, _, labels in _pieces(path, _Layout(None, [0, 0], most, [None, None], looking=True), progress):
        for i, found in enumerate((features, labels)):
            if len(found):
                low, high = int(found.min()), int(found.max())
                ranges[i] = (min(low, ranges[i][0]) if ranges[i][0] >= 0 else low, max(high, ranges[i][1]))
    return ranges


def _unclear(path: Path, unclear: list[int], ranges: list[tuple[int, int]]) -> str:
    found = [f"{n} {r[0]} to {r[1]}" if r[1] >= 0 else f"no {n}" for n, r in zip(_NAMES, ranges, strict=True)]
    advice = "Say from which number they count"
    if 0 in unclear and ranges[1][0] == 0:
        advice += "; if only the features count from 1, say of the labels that they count from 0"
    return (
        "has no first line 'rows features labels', and no 0 among the "
        f"{' and '.join(_NAMES[i] for i in unclear)}, which may count from 0 or from 1. Found {' and '.join(found)}. "
        f"{advice}."
    )


def _pieces(path: Path, layout: _Layout, progress: bool) -> Iterator[list[np.ndarray]]:
    """Arrays of whole rows: indptr, indices and data of X, indptr and indices of Y, counted from 0."""
    headed = layout.n_rows is not None
    with open_text(path) as file:
        if headed:
            file.readline()
        for buffer, line in chunks(path, file, progress, 1 + headed):
            *arrays, bad, beyond, number = parsing.svmlight(buffer, *layout.bases, *layout.sizes)
            if bad >= 0:
                fail(path, line, buffer, bad, *_expected(beyond, number, layout))
            yield arrays


def _tables(path: Path, pieces: list[np.ndarray], sizes: list[int]) -> tuple[sparse.csr_array, sparse.csr_array]:
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


def _expected(beyond: int, number: int, layout: _Layout) -> tuple[str, str, str | None, bool | None]:
    """What was expected, a hint, and the parameter that this is about; ``number`` is beyond the features (1) or labels (2)."""
    if not beyond:
        return "'label,label feature:value ...'", "", None, None
    i = beyond - 1
    kind, base, size = _NAMES[i], layout.bases[i], layout.sizes[i]
    about = _PARAMETERS[i], layout.said[i]
    if base and number == 0:
        return f"{kind} from 1, not 0", f" Do {kind} count from 0?", *about
    if not size:
        return f"no {kind}, as there are to be 0", "", None, None
    expected = f"{kind} from {base} to {size + base - 1}, not {number}"
    if layout.looking:
        return f"{expected}, in a file of this length", f" If that is right, say n_{kind}=.", None, None
    if not base and number == size:
        hint = (
            "Does the file count from 1?",
            "Do labels count from 1? Unless said otherwise they count as features do.",
        )
        return expected, f" {hint[i]}", *about
    return expected, "", None, None
