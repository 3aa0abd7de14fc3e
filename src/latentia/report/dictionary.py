"""The report of a dictionary of atoms, for readers who do not program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._progress import progress_bar
from ..exceptions import LatentiaError
from ._missing import without_data
from .figures import bars, lines, picture
from .page import render, write_page
from .parts import Mark, Nouns, comparison_rows, component_marks, count, evidence_of, evidence_parts, largest, version

__all__ = [
    "Restored", "mosaic", "needed", "psnr", "row_errors", "sparse_codes", "write_dictionary_report",
]  # fmt: skip

_BATCH = 20_000  # rows whose codes are dense at a time
_TILES, _PANELS, _LISTED = 400, 24, 300  # atoms as pictures, with bars, and in the table
_STRONGEST, _BARS = 6, 8
_FEW_COLUMNS = 12  # columns from which the whole atom is drawn as a line
_MOST_POINTS = 240
_CURVE_WIDTH, _CURVE_HEIGHT = 240.0, 46.0
_SHOWN = 640  # pixels of a picture, down and across
_GAP = 1  # pixels between the atoms of a mosaic
_WORST = 100.0  # decibels of pictures that are the same
_INK_GREY = 0.5
_MORE = 1.5  # times chance: what is left is fitted, and so a little less than the noise
_NOUNS = Nouns("atoms", "atom", "rows")
_PATCHES = Nouns("atoms", "atom", "patches")


@dataclass(frozen=True)
class Restored:
    """A picture, and what a dictionary makes of it.

    Attributes
    ----------
    name : str
    original, restored : ndarray of shape (height, width) or (height, width, 3)
        From 0, black, to 1, white.
    """

    name: str
    original: np.ndarray
    restored: np.ndarray


@dataclass(frozen=True)
class _Atom:
    """What the page shows of an atom; `strongest` holds columns and weights, `bars` also signed lengths in percent."""

    number: int
    usage: float
    error: float | None
    grade: Mark
    strongest: list[tuple[str, float]]
    bars: list[tuple[str, float, float]]
    curve: str
    picture: str


# --- what codes say -------------------------------------------------------------------------------------------------


def sparse_codes(model: Any, X: Any, progress: str = "") -> sparse.csr_array:
    """The codes of all rows, shape (n_rows, m), made some rows at a time: dense ones can be larger than the data."""
    parts, start = [], 0
    with progress_bar(progress, X.shape[0], "rows") as advance:
        for rows in _batches(X):
            parts.append(sparse.csr_array(model.transform(rows)))
            start += rows.shape[0]
            advance(rows.shape[0])
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def needed(model: Any, codes: sparse.csr_array) -> np.ndarray:
    """How many atoms each row needs, shape (n_rows,): those with half as much weight again as noise would give the best of all.

    Noise of standard deviation s in every column gives the best of m atoms a weight of about s (2 log m)^(1/2).
    """
    limit = _MORE * float(model.noise_) * float(np.sqrt(2 * np.log(max(codes.shape[1], 2))))
    kept = np.abs(codes.data) > limit
    counts = np.zeros(codes.shape[0] + 1, dtype=np.int64)
    counts[1:] = np.diff(np.concatenate([[0], np.cumsum(kept)])[codes.indptr])
    return counts[1:]


def row_errors(model: Any, X: Any, codes: sparse.csr_array) -> np.ndarray:
    """Squared distance of each row from what its code says, relative to its square, shape (n_rows,); 0 for a row of zeros."""
    found, start = [], 0
    for rows in _batches(X):
        rows = (rows.toarray() if sparse.issparse(rows) else np.asarray(rows)).astype(np.float64)
        said = codes[start : start + len(rows)] @ model.components_
        square = (rows**2).sum(axis=1)
        found.append(((rows - said) ** 2).sum(axis=1) / np.where(square > 0, square, 1.0))
        start += len(rows)
    return np.concatenate(found)


def psnr(original: np.ndarray, restored: np.ndarray) -> float:
    """Peak signal-to-noise ratio in decibels, -10 log10 of the mean squared difference where white is 1; at most 100."""
    error = float(np.mean((original - restored) ** 2))
    return min(-10 * float(np.log10(max(error, 1e-300))), _WORST)


def mosaic(atoms: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Atoms (m, n) of patches of this shape side by side as one image, black to white; grey is zero."""
    m, (height, width) = len(atoms), shape[:2]
    across = int(np.ceil(np.sqrt(m)))
    down = -(-m // across)
    whole = np.ones(((height + _GAP) * down - _GAP, (width + _GAP) * across - _GAP, *shape[2:]))
    for i, atom in enumerate(atoms):
        y, x = (height + _GAP) * (i // across), (width + _GAP) * (i % across)
        whole[y : y + height, x : x + width] = _as_grey(atom).reshape(tuple(shape))
    return whole


def _as_grey(atom: np.ndarray) -> np.ndarray:
    """Weights as brightness: the same distance from grey for as much weight of either sign."""
    return _INK_GREY + _INK_GREY * atom / max(float(np.abs(atom).max()), 1e-300)


def _batches(X: Any) -> Iterator[Any]:
    return (X[start : start + _BATCH] for start in range(0, X.shape[0], _BATCH))


# --- the page -------------------------------------------------------------------------------------------------------


def write_dictionary_report(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[str] | None = None,
    codes: sparse.csr_array | None = None,
    patch: Sequence[int] | None = None,
    pictures: Sequence[Restored] = (),
    comparison: Sequence[Mapping[str, Any]] | None = None,
    title: str = "Atoms",
    source: str = "",
) -> Path:
    """Write the atoms that were found, and how far they can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : IncoherentDictionary
        A fitted model.
    X : array or sparse matrix of shape (n_rows, n), optional
        The rows, usually those that the model was fitted on. Without them it is not shown how well they are described.
    columns : sequence of str of length n, optional
        Names of the columns.
    codes : csr_array of shape (n_rows, m), optional
        What `sparse_codes` gives, if it is there already.
    patch : sequence of int, optional
        Shape of the patches that the rows are: (height, width) or (height, width, 3). Atoms are shown as pictures then.
    pictures : sequence of Restored
        Shown beside what the dictionary makes of them.
    comparison : sequence of dict, optional
        Rows of a table that compares numbers of atoms, the first value the number.
    title, source : str
        Heading of the page, and where the rows came from.

    Returns
    -------
    Path of the file

    """
    check_is_fitted(model)
    m, n = model.components_.shape
    names = [f"column {i}" for i in range(1, n + 1)] if columns is None else [str(name) for name in columns]
    width = n if X is None else X.shape[1]
    if len(names) != n or width != n:
        raise LatentiaError(
            f"columns has {len(names)} entries, the data {width} columns and the atoms {n}: they must agree."
        )
    if patch is not None and int(np.prod(patch)) != n:
        raise LatentiaError(
            f"patches of the shape {tuple(patch)} have {int(np.prod(patch))} values, and the atoms {n}."
        )
    codes = sparse_codes(model, X) if codes is None and X is not None else codes
    atoms, nouns = _describe(model, names, patch), _NOUNS if patch is None else _PATCHES
    page = render(
        "dictionary.html",
        title=title,
        source=source,
        summary=_summary(model, None if X is None else X.shape[0], names, patch),
        nouns=nouns,
        evidence=evidence_parts(evidence_of(model)),
        error=_error_sentence([atom.error for atom in atoms]),
        atoms=atoms,
        tiles=atoms[:_TILES] if patch is not None else [],
        panels=[] if patch is not None else atoms[:_PANELS],
        listed=atoms[:_LISTED],
        curves=n >= _FEW_COLUMNS,
        n_columns=n,
        rows=nouns.data,
        sparsity=int(model.sparsity_),
        start=model.start_,
        explained=1 - float(model.reconstruction_error_),
        noise=float(model.noise_),
        nearest=_nearest(model.components_),
        errors=None if X is None or codes is None else _error_bars(row_errors(model, X, codes)),
        sparsities=None if codes is None else _sparsity_bars(needed(model, codes), int(model.sparsity_)),
        rounds=len(model.errors_),
        pictures=[_shown(one) for one in pictures],
        data=_figures(model, nouns.data),
        comparison=comparison_rows(comparison, m),
        version=version(),
        missing=without_data("rows and how well they are described") if X is None else "",
    )
    return write_page(path, page)


def _describe(model: Any, names: list[str], patch: Sequence[int] | None) -> list[_Atom]:
    found = []
    marks = component_marks(evidence_of(model), len(model.components_))
    for i, (atom, (error, mark)) in enumerate(zip(model.components_, marks, strict=True)):
        first = largest(np.abs(atom), _BARS)
        top = max(float(np.abs(atom).max()), 1e-300)
        shown = patch is None and i < _PANELS
        found.append(
            _Atom(
                number=i,
                usage=float(model.usage_[i]),
                error=error,
                grade=mark,
                strongest=[(names[d], float(atom[d])) for d in first[:_STRONGEST]],
                bars=[(names[d], float(atom[d]), 50 * float(atom[d]) / top) for d in first] if shown else [],
                curve=_curve(atom) if shown and len(atom) >= _FEW_COLUMNS else "",
                picture=picture(_as_grey(atom).reshape(tuple(patch))) if patch is not None and i < _TILES else "",
            )
        )
    return found


def _curve(atom: np.ndarray) -> str:
    """The weights of all columns, in the order of the file, as the path of a line."""
    steps = np.linspace(0, len(atom), min(len(atom), _MOST_POINTS) + 1).astype(int)
    high = np.maximum.reduceat(atom, steps[:-1])
    low = np.minimum.reduceat(atom, steps[:-1])
    heights = np.where(high > -low, high, low) / max(float(np.abs(atom).max()), 1e-300)
    x = _CURVE_WIDTH * (np.arange(len(heights)) + 0.5) / len(heights)
    y = _CURVE_HEIGHT / 2 * (1 - 0.94 * heights)
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _shown(one: Restored) -> dict[str, Any]:
    """Both pictures, or the middle of them where they are large, with the difference as decibels."""
    height, width = one.original.shape[:2]
    top, left = (max(0, (length - _SHOWN) // 2) for length in (height, width))
    part = np.s_[top : top + _SHOWN, left : left + _SHOWN]
    return {
        "name": one.name,
        "size": f"{width} x {height} pixels",
        "part": max(height, width) > _SHOWN,
        "psnr": psnr(one.original, one.restored),
        "original": picture(one.original[part]),
        "restored": picture(one.restored[part]),
        "width": min(width, _SHOWN),
    }


def _nearest(atoms: np.ndarray) -> float:
    """The largest |cosine| of two atoms."""
    if len(atoms) < 2:
        return 0.0
    table = np.abs(atoms @ atoms.T)
    np.fill_diagonal(table, 0.0)
    return float(table.max())


# --- bars and figures -----------------------------------------------------------------------------------------------


def _error_bars(errors: np.ndarray) -> dict[str, Any]:
    """How many rows have so large an error, in steps that widen: a quarter, a half and all of a row are far apart."""
    edges = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, np.inf])
    labels = ["below 1%", "1 to 5%", "5 to 10%", "10 to 20%", "20 to 30%", "30 to 50%", "above 50%"]
    counts = np.histogram(errors, edges)[0]
    return {
        "rows": list(zip(labels, map(int, counts), strict=True)),
        "most": max(int(counts.max()), 1),
        "median": float(np.median(errors)),
        "worst": float(np.quantile(errors, 0.95)),
    }


def _sparsity_bars(numbers: np.ndarray, most: int) -> dict[str, Any]:
    counts = np.bincount(numbers, minlength=most + 1)
    return {
        "rows": [(count(i, "atom") if i else "none", int(number)) for i, number in enumerate(counts)],
        "most": max(int(counts.max()), 1),
        "mean": float(numbers.mean()),
    }


def _figures(model: Any, rows: str) -> dict[str, Any]:
    found = {"usage": _usage(model.usage_, rows)}
    rounds = np.asarray(model.errors_, dtype=float)
    if len(rounds) > 1:
        curve = [("error", np.arange(1, len(rounds) + 1), 100 * rounds)]
        found["rounds"] = lines(curve, title="round", y_title="error in %", from_zero=True, whole=True)
    return found


def _usage(shares: np.ndarray, rows: str) -> dict[str, Any]:
    """How often each atom is used, as bars."""
    percents = np.round(100 * shares, 4)
    hover = [f"atom {i}\n{value:.3g}% of the {rows}" for i, value in enumerate(percents)]
    width = 0.85 if len(shares) < 80 else 1.0
    series = [("", percents, 0)]
    return bars(
        range(len(shares)), series, hover=[hover], title="atom", y_title=f"% of the {rows}", width=width, height=190
    )


# --- words about the whole ------------------------------------------------------------------------------------------


def _summary(model: Any, n_rows: int | None, names: list[str], patch: Sequence[int] | None) -> str:
    if n_rows is None:
        return f"{count(len(model.components_), 'atom')} of {count(len(names), 'column')}."
    what = f"{count(n_rows, 'row')} of {count(len(names), 'column')}"
    if patch is not None:
        colour = " in colour" if len(patch) == 3 else ""
        what = f"{n_rows:,} patches of {patch[0]} x {patch[1]} pixels{colour}, each without its mean"
    return f"{count(len(model.components_), 'atom')} in {what}; each is a sum of up to {count(int(model.sparsity_), 'atom')}."


def _error_sentence(errors: Sequence[float | None]) -> str:
    measured = [error for error in errors if error is not None]
    if not measured:
        return ""
    return (
        f"Expected error of an atom: {np.mean(measured):.2g} on average, as a distance of atoms of length 1; 0 is perfect, and "
        "1.41 has nothing in common with the true one."
    )
