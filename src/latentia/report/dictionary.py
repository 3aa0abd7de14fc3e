"""Dictionaries of atoms, for readers who do not program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..dictionary.codes import count_needed_atoms, sparse_codes
from ..dictionary.codes import row_errors as row_errors
from ..dictionary.patches import as_grey, psnr
from ..exceptions import LatentiaError
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .figures import bars, heat_map, lines, picture
from .mixture import build_scaling_table
from .page import page
from .parts import (
    check_shape,
    column_names,
    component_marks,
    count,
    evidence_of,
    grades_say,
    largest,
    listing,
    short_number,
)

_MAX_TILES, _MAX_CURVES, _MAX_PANELS, _MAX_LISTED = (
    60,
    12,
    24,
    300,
)  # limits: atoms as pictures, as curves, with bars, and in the table
_N_STRONGEST, _N_PRINTED, _N_BARS = 6, 5, 8
_MIN_CURVE_COLUMNS, _CURVE_WIDTH = 12, 150  # atoms of at least so many columns are curves, each so many pixels wide
_MAX_PIXELS = 640  # largest height and width of a picture in pixels
_STEPS = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, np.inf])  # limits of relative errors
_STEP_NAMES = "below 1%", "1 to 5%", "5 to 10%", "10 to 20%", "20 to 30%", "30 to 50%", "above 50%"


class RebuiltPicture(NamedTuple):
    """The name of a picture, the picture (height, width) or (height, width, 3), white being 1, and its copy from atoms."""

    name: str
    original: np.ndarray
    restored: np.ndarray


@page("Atoms", "rows and how well they are described")
def summarize_dictionary(
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[str] | None = None,
    codes: sparse.csr_array | None = None,
    patch: Sequence[int] | None = None,
    pictures: Sequence[RebuiltPicture] = (),
    scaling: Mapping[str, np.ndarray] | None = None,
    row_labels: Sequence[Column] = (),
) -> Summary:
    """Describe the atoms, and how far they can be trusted.

    Parameters
    ----------
    model : IncoherentDictionary
        A fitted model.
    X : array or sparse matrix of shape (n_rows, n), optional
        The rows, usually those that the model was fitted on. Without them the page does not show how well rows are described.
    columns : sequence of str of length n, optional
        Names of the columns.
    codes : csr_array of shape (n_rows, m), optional
        The answer of `latentia.dictionary.codes.sparse_codes`; by default it is computed.
    patch : sequence of int, optional
        Shape of the patches in the rows: (height, width) or (height, width, 3). Atoms are then shown as pictures.
    pictures : sequence of RebuiltPicture
        Pictures to show, with their rebuilt versions.
    scaling : dict of "subtracted" and "divided_by", optional
        The scaling that brought the columns to standard deviation 1, if any.
    row_labels : sequence of Column
        Columns that identify the rows.

    Returns
    -------
    Summary

    """
    n = model.components_.shape[1]
    names = column_names(columns, n, X=X, noun="atoms")
    if patch is not None and (size := int(np.prod(patch))) != n:
        raise LatentiaError(f"patches of the shape {tuple(patch)} have {size} values; the atoms have {n}.")
    codes = sparse_codes(model, X) if codes is None and X is not None else codes
    if codes is not None and X is not None:
        check_shape("codes", codes, X.shape[0], len(model.components_))
    noun, plural = ("row", "rows") if patch is None else ("patch", "patches")
    parts: list[Table | Figure | Section] = [
        *_draw_figures(model, plural),
        _build_table(model, names, columns is not None, patch is None, noun, plural),
    ]
    parts += [] if scaling is None else [build_scaling_table(names, scaling)]
    parts += [] if codes is None or patch is not None else [codes_of(codes, row_labels)]
    lines_of_rows: tuple[str, ...] = ()
    if X is not None and codes is not None:
        parts[:0], lines_of_rows = _build_row_tables(model, X, codes, noun, plural)
    picture_values = [_prepare_pictures(noun) for noun in pictures]
    return Summary(
        headline=_write_headline(model, None if X is None else X.shape[0], n, patch), nouns=("atom", "atoms", plural),
        parts=(*_build_sections(model, names if columns is not None and patch is None else [], picture_values), *parts),
        answer=Answer(f"Of which patterns is every {noun} a sum?",
               _write_answer(model, names if columns is not None and patch is None else [], noun, plural),
               _draw_atoms(model, names, patch, plural)),
        styles=("tables.css", "dictionary.css"),
        error="Expected error of an atom: {} on average, as a distance of atoms of length 1; 0 is perfect, and 1.41 has "
        "nothing in common with the true one.",
        reading=(
            ("Code", f"The atoms that a {noun} uses, up to {model.sparsity_}, with their weights: the atoms nearest to it are "
             "added one after the other, and all weights are fitted again each time."),
            ("What to do next", f"-k 100:400:100 compares several numbers of atoms. {_NEXT[noun]}"),
        ),
        lines=(*lines_of_rows, *(f"{noun['name']}: rebuilt with a PSNR of {noun['psnr']:.1f} dB." for noun in picture_values)),
    )  # fmt: skip


_NEXT = {
    "row": "'latentia apply' gives the codes of other rows and, with --denoise, the rows rebuilt from the atoms.",
    "patch": "'latentia apply' rebuilds another picture from these atoms, without the noise that they cannot describe.",
}


def _write_headline(model: Any, n_rows: int | None, n: int, patch: Sequence[int] | None) -> str:
    atoms = count(len(model.components_), "atom")
    if n_rows is None:
        return f"{atoms} of {count(n, 'column')}."
    data_text = f"{count(n_rows, 'row')} of {count(n, 'column')}"
    if patch is not None:
        colour = " in colour" if len(patch) == 3 else ""
        data_text = f"{n_rows:,} patches of {patch[0]} x {patch[1]} pixels{colour}, each without its mean"
    return f"{atoms} in {data_text}; each is a sum of up to {count(int(model.sparsity_), 'atom')}."


# --- tables ---------------------------------------------------------------------------------------------------------


def codes_of(codes: sparse.csr_array, row_labels: Sequence[Column] = ()) -> Table:
    """Build a table with a line for every atom of every row, those of most weight first."""
    rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    order = np.lexsort((-np.abs(codes.data), rows))
    labels = [Column(label.name, [label.values[i] for i in rows]) for label in row_labels] or [Column("row", rows)]
    code_columns = Column("atom", codes.indices[order]), Column("weight", codes.data[order], ".6g")
    return Table("codes", (*labels, *code_columns), file="codes.csv")


def _build_table(model: Any, names: list[str], named: bool, has_columns: bool, noun: str, plural: str) -> Table:
    evidence, m = evidence_of(model), len(model.components_)
    strongest_columns = [
        [(names[d], float(atom[d])) for d in largest(np.abs(atom), _N_STRONGEST)] for atom in model.components_
    ]
    strongest = (
        Column("strongest columns", strongest_columns, short="+.2f", kind="words", heading="Strongest", where="p"),
        Column("strongest", [columns_of_atom[:_N_PRINTED] for columns_of_atom in strongest_columns],
               short=lambda x: short_number(x, True), kind="words", where="s"),
    ) if has_columns and named else ()  # fmt: skip
    atom = (
        "A pattern over the columns. Every row is, apart from noise, a weighted sum of few atoms."
        if has_columns
        else "A small picture. Every patch is, apart from its mean and from noise, a weighted sum of few atoms: edges, stripes "
        "and spots in the places where they occur."
    )
    error = (
        f"The {plural} are split at random, and the atoms are learned again from the parts. The move of an atom shows how far "
        "it may be from the truth, as a distance of atoms of length 1, whatever their sign: 0.1 is an angle of 6 degrees. "
        f"{grades_say(evidence, 'an atom', f'other {plural} of the same kind would give another one')} An atom can describe "
        f"{plural} well and still not be the true one: atoms that are not supported may serve to compress data, as long as the "
        "error above is small."
    )
    truncation = f"The {_MAX_LISTED} most used; atoms.csv holds all {m}. " if m > _MAX_LISTED else ""
    return Table(
        "components",
        (
            Column("atom", range(m), kind="bold", meaning=f"{atom} There are more atoms than a {noun} can use at once, and "
                   "the choice of atoms is what distinguishes it. An atom has a number, not a name; its length is 1, and its "
                   "sign has no meaning."),
            Column("usage", model.usage_, ".6f", _format_usage, kind="share", heading="Used in", head="used in",
                   meaning=f"The share of the {plural} in whose code the atom is."),
            *strongest,
            *grade_columns(evidence, m, meaning=error),
            *block(names, model.components_),
        ),
        "All atoms", truncation + ("Strongest are the columns of most weight." if strongest else ""), "atoms.csv",
        f"{count(m, 'atom')}, the most used first", "atom", most=_MAX_LISTED, tall=True,
        folded="" if has_columns else "A table of them",
    )  # fmt: skip


def _format_usage(share: float) -> str:
    return f"{100 * share:.2g}%"


def _build_row_tables(
    model: Any, X: Any, codes: sparse.csr_array, noun: str, plural: str
) -> tuple[tuple[Table, Table], tuple[str]]:
    """Build tables of the errors of rows and of the atoms that they need; and a line for the screen."""
    errors, numbers, sparsity = row_errors(model, X, codes), count_needed_atoms(model, codes), int(model.sparsity_)
    counts, mean, residual_percent = (
        np.bincount(numbers, minlength=sparsity + 1),
        numbers.mean(),
        100 * model.reconstruction_err_,
    )
    advice = " Most need all allowed atoms: more may describe them better." if counts[-1] == counts.max() else ""
    lengths = np.histogram(errors, _STEPS)[0]
    error_table = Table(
        "errors",
        (Column("left over", _STEP_NAMES, kind="name"), Column(plural, lengths, short=",", kind="bar")),
        f"How well {plural} are described",
        f"The atoms account for **{100 - residual_percent:.1f}%** of the squares of all {plural}. The residual of a {noun}, "
        f"relative to it: half of them have less than {100 * np.median(errors):.2g}%, and one in twenty more than "
        f"{100 * np.quantile(errors, 0.95):.2g}%. The remaining spread in a single "
        f"{'cell' if noun == 'row' else 'pixel'} is {short_number(float(model.noise_))}.",
    )
    needed_table = Table(
        "needed",
        (
            Column("atoms", range(len(counts)), short=lambda i: count(i, "atom") if i else "none", kind="name"),
            Column(plural, counts, short=",", kind="bar"),
        ),
        f"How many atoms a {noun} needs",
        f"{sparsity} {'is' if sparsity == 1 else 'are'} allowed, and {mean:.1f} needed on average. An atom counts if its "
        "weight is 1.5 times the largest that noise of the remaining spread gives any of "
        f"{len(model.components_)} atoms.{advice}",
    )
    atoms = f"Up to {count(sparsity, 'atom')} a {noun}, {mean:.1f} needed on average"
    line = f"{atoms}; the residual is {residual_percent:.2g}% of the squares."
    return (error_table, needed_table), (line,)


# --- pictures, and figures ------------------------------------------------------------------------------------------


def _write_answer(model: Any, names: list[str], noun: str, plural: str) -> str:
    first = [listing(names[d] for d in largest(np.abs(atom), 3)) for atom in model.components_[:2]] if names else []
    descriptions = "; ".join(
        f"atom {k} ({_format_usage(model.usage_[k])} of the {plural}) mostly of {columns}"
        for k, columns in enumerate(first)
    )
    patterns = f"{count(len(model.components_), 'pattern')}, of which a {noun} needs {int(model.sparsity_)} or fewer"
    return f"{patterns}: {descriptions}." if descriptions else f"{patterns}."


_GREY = "Grey is zero; an atom and its negative are the same atom."


def _draw_atoms(model: Any, names: list[str], patch: Sequence[int] | None, plural: str) -> Figure | Section:
    """Draw the most used atoms: as pictures, as curves over the columns, or for few columns as rows of a heat map."""
    (m, n), components = model.components_.shape, model.components_
    if patch is not None:
        marks = component_marks(evidence_of(model), m)
        tiles = [
            {"number": i, "used": _format_usage(usage), "error": error, "grade": mark, "alt": f"atom {i}",
             "title": f"atom {i}: used in {_format_usage(usage)} of the {plural}",
             "picture": picture(as_grey(atom).reshape(tuple(patch)))}
            for i, (atom, usage, (error, mark)) in enumerate(zip(components[:_MAX_TILES], model.usage_, marks, strict=False))
        ]  # fmt: skip
        truncation = f" The first {len(tiles)} of {m}; atoms.png shows all." if len(tiles) < m else ""
        hint = f"The most used first, with the share of the {plural} that use it.{truncation} {_GREY}"
        return Section("tiles.html", {"tiles": tiles, "tile": 56, "things": "atoms", "hint": hint})
    caption = "Weights have squares that sum to 1; an atom and its negative are the same atom."
    label = "The weights of the columns in the atoms; atoms.csv holds the numbers"
    if n < _MIN_CURVE_COLUMNS:
        rows = [f"atom {k}" for k in range(min(m, _MAX_PANELS))]
        hover, n_shown = "{row}, {column}\n{value:+.3g}", len(rows)
        data = heat_map(components[:n_shown], rows, names, hover=hover, signed=True)
    else:
        x, n_shown = np.arange(1, n + 1), min(m, _MAX_CURVES)
        series = [
            (f"atom {k}: {_format_usage(model.usage_[k])}", x, atom) for k, atom in enumerate(components[:n_shown])
        ]
        data = lines(series, title="", whole_numbers=True, aside=_CURVE_WIDTH)
    truncation = f"{n_shown} of {m}, with" if m > n_shown else "With"
    hint_text = (
        f"The most used first. {truncation} the share of the {plural} that use each."
        if n >= _MIN_CURVE_COLUMNS
        else "The most used first."
    )
    return Figure("atoms", data, "The atoms", label, f"{hint_text} {caption}")


def _build_sections(model: Any, names: list[str], pictures: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Build the sections of the first atoms with bars, if columns have names; and of rebuilt pictures."""
    m, marks = len(model.components_), component_marks(evidence_of(model), len(model.components_))
    bars_of_atoms = (
        [_compute_bars(names, atom) for atom in model.components_[:_MAX_PANELS]]
        if len(names) >= _MIN_CURVE_COLUMNS
        else []
    )
    atoms = [
        {"number": i, "used": f"in {_format_usage(model.usage_[i])} of the rows", "error": error, "grade": mark, "bars": bars}
        for i, (bars, (error, mark)) in enumerate(zip(bars_of_atoms, marks, strict=False))
    ]  # fmt: skip
    truncation = f" {len(atoms)} of {m} atoms; atoms.csv holds all." if len(atoms) < m else ""
    hint = f"The columns of most weight, blue to the right if it is positive, brown to the left if it is negative.{truncation}"
    panels = {
        "place": "atoms-by-column",
        "title": "The columns of the atoms",
        "hint": hint,
        "panels": atoms,
        "signed": True,
    }
    picture_section = {"total": m, "pictures": pictures, "sparsity": int(model.sparsity_)}
    sections = ("panels.html", panels, atoms), ("dictionary.html", picture_section, pictures)
    return tuple(Section(template, values) for template, values, content in sections if content)


def _compute_bars(names: list[str], atom: np.ndarray) -> list[tuple[str, float, str, str]]:
    """Return the columns of most weight, with signed lengths in percent."""
    shares = 50 * atom / max(float(np.abs(atom).max()), 1e-300)
    return [(names[d], float(shares[d]), "", f"{atom[d]:+.2f}") for d in largest(np.abs(atom), _N_BARS)]


def _prepare_pictures(restored: RebuiltPicture) -> dict[str, Any]:
    """Return both pictures, or the middle of large ones, with their difference in decibels."""
    height, width = restored.original.shape[:2]
    top, left_edge = (max(0, (length - _MAX_PIXELS) // 2) for length in (height, width))
    window = np.s_[top : top + _MAX_PIXELS, left_edge : left_edge + _MAX_PIXELS]
    suffix = ", the middle of it" if max(height, width) > _MAX_PIXELS else ""
    return {
        "name": restored.name, "size": f"{width} x {height} pixels{suffix}", "psnr": psnr(restored.original, restored.restored),
        "original": picture(restored.original[window]), "restored": picture(restored.restored[window]),
        "width": min(width, _MAX_PIXELS),
    }  # fmt: skip


def _draw_figures(model: Any, plural: str) -> Iterator[Figure]:
    """Draw how often each atom is used, and how the error fell."""
    percents, cosines = np.round(100 * model.usage_, 4), np.abs(model.components_ @ model.components_.T)
    np.fill_diagonal(cosines, 0.0)
    hover = [f"atom {i}\n{value:.3g}% of the {plural}" for i, value in enumerate(percents)]
    width = 0.85 if len(percents) < 80 else 1.0
    series, y_title_text = [("", percents, 0)], f"% of the {plural}"
    yield Figure(
        "usage",
        bars(range(len(percents)), series, hover=[hover], title="atom", y_title=y_title_text, width=width, height=190),
        "How often each atom is used",
        "Bars of the share of rows that use each atom; atoms.csv holds the numbers",
        f"How many of the {plural} use each atom, in percent. Rarely used atoms are learned from few {plural}. The two "
        f"most similar atoms have the cosine {cosines.max():.2f}; 1 would be the same atom.",
    )
    rounds = np.asarray(model.errors_, dtype=float)
    if len(rounds) > 1:
        origin = (
            f"were drawn from the {plural}"
            if model.start_ != "graph"
            else f"came from the graph of {plural} that share one"
        )
        curve = [("error", np.arange(1, len(rounds) + 1), 100 * rounds)]
        yield Figure(
            "rounds",
            lines(curve, title="round", y_title="error in %", from_zero=True, whole_numbers=True),
            "How the error fell",
            "Line of the error after each round",
            f"Residual of the {plural} after each round of refinement; a curve that is flat at its end has converged. The "
            f"first atoms {origin}.",
        )
