"""Dictionaries of atoms, for readers who do not program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..dictionary.codes import needed, sparse_codes
from ..dictionary.codes import row_errors as row_errors
from ..dictionary.patches import as_grey, psnr
from ..exceptions import LatentiaError
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .figures import bars, heat_map, lines, picture
from .mixture import scaling_of
from .page import page
from .parts import column_names, component_marks, count, evidence_of, grades_say, largest, listing, short_number

_TILES, _CURVES, _PANELS, _LISTED = 60, 12, 24, 300  # atoms as pictures, as curves, with bars, and in the table
_STRONGEST, _PRINTED, _BARS = 6, 5, 8
_FEW_COLUMNS, _ASIDE = 12, 150  # from so many columns on atoms are curves, each so many pixels wide
_SHOWN = 640  # pixels of a picture, down and across
_STEPS = np.array([0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, np.inf])  # a quarter, a half and all of a row are far apart
_STEP_NAMES = "below 1%", "1 to 5%", "5 to 10%", "10 to 20%", "20 to 30%", "30 to 50%", "above 50%"


class Restored(NamedTuple):
    """The name of a picture, the picture (height, width) or (height, width, 3), white being 1, and what atoms make of it."""

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
    pictures: Sequence[Restored] = (),
    scaling: Mapping[str, np.ndarray] | None = None,
    row_labels: Sequence[Column] = (),
) -> Summary:
    """Say what atoms were found, and how far they can be trusted.

    Parameters
    ----------
    model : IncoherentDictionary
        A fitted model.
    X : array or sparse matrix of shape (n_rows, n), optional
        The rows, usually those that the model was fitted on. Without them it is not shown how well they are described.
    columns : sequence of str of length n, optional
        Names of the columns.
    codes : csr_array of shape (n_rows, m), optional
        What `latentia.dictionary.codes.sparse_codes` gives, if it is there already.
    patch : sequence of int, optional
        Shape of the patches that the rows are: (height, width) or (height, width, 3). Atoms are shown as pictures then.
    pictures : sequence of Restored
        Shown beside what the dictionary makes of them.
    scaling : dict of "subtracted" and "divided_by", optional
        What brought the columns to standard deviation 1, if anything did.
    row_labels : sequence of Column
        What tells the rows apart.

    Returns
    -------
    Summary

    """
    n = model.components_.shape[1]
    names = column_names(columns, n, X=X, noun="atoms")
    if patch is not None and (size := int(np.prod(patch))) != n:
        raise LatentiaError(f"patches of the shape {tuple(patch)} have {size} values, and the atoms {n}.")
    codes = sparse_codes(model, X) if codes is None and X is not None else codes
    one, many = ("row", "rows") if patch is None else ("patch", "patches")
    parts: list[Table | Figure | Section] = [
        *_figures(model, many),
        _table(model, names, columns is not None, patch is None, one, many),
    ]
    parts += [] if scaling is None else [scaling_of(names, scaling)]
    parts += [] if codes is None or patch is not None else [codes_of(codes, row_labels)]
    said: tuple[str, ...] = ()
    if X is not None and codes is not None:
        parts[:0], said = _described(model, X, codes, one, many)
    shown = [_shown(one) for one in pictures]
    return Summary(
        says=_says(model, None if X is None else X.shape[0], n, patch), nouns=("atom", "atoms", many),
        parts=(*_drawn(model, names if columns is not None and patch is None else [], shown), *parts),
        answer=Answer(f"Of which patterns is every {one} a sum?",
               _words(model, names if columns is not None and patch is None else [], one, many),
               _atoms(model, names, patch, many)),
        styles=("tables.css", "dictionary.css"),
        error="Expected error of an atom: {} on average, as a distance of atoms of length 1; 0 is perfect, and 1.41 has "
        "nothing in common with the true one.",
        reading=(
            ("Code", f"The atoms that a {one} uses, up to {model.sparsity_}, with their weights: those that come nearest to it "
             "are taken one after the other, and the weights of all fitted anew each time."),
            ("What to do next", f"-k 100:400:100 compares several numbers of atoms. {_NEXT[one]}"),
        ),
        lines=(*said, *(f"{one['name']}: rebuilt with a PSNR of {one['psnr']:.1f} dB." for one in shown)),
    )  # fmt: skip


_NEXT = {
    "row": "'latentia apply' gives the codes of other rows and, with --denoise, the rows as the atoms say them.",
    "patch": "'latentia apply' rebuilds another picture from these atoms; noise that they cannot say is left out.",
}


def _says(model: Any, n_rows: int | None, n: int, patch: Sequence[int] | None) -> str:
    atoms = count(len(model.components_), "atom")
    if n_rows is None:
        return f"{atoms} of {count(n, 'column')}."
    what = f"{count(n_rows, 'row')} of {count(n, 'column')}"
    if patch is not None:
        colour = " in colour" if len(patch) == 3 else ""
        what = f"{n_rows:,} patches of {patch[0]} x {patch[1]} pixels{colour}, each without its mean"
    return f"{atoms} in {what}; each is a sum of up to {count(int(model.sparsity_), 'atom')}."


# --- tables ---------------------------------------------------------------------------------------------------------


def codes_of(codes: sparse.csr_array, row_labels: Sequence[Column] = ()) -> Table:
    """A line for every atom of every row, those of most weight first."""
    rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    order = np.lexsort((-np.abs(codes.data), rows))
    labels = [Column(one.name, [one.values[i] for i in rows]) for one in row_labels] or [Column("row", rows)]
    found = Column("atom", codes.indices[order]), Column("weight", codes.data[order], ".6g")
    return Table("codes", (*labels, *found), file="codes.csv")


def _table(model: Any, names: list[str], named: bool, of_columns: bool, one: str, many: str) -> Table:
    evidence, m = evidence_of(model), len(model.components_)
    told = [[(names[d], float(atom[d])) for d in largest(np.abs(atom), _STRONGEST)] for atom in model.components_]
    strongest = (
        Column("strongest columns", told, short="+.2f", kind="words", heading="Strongest", where="p"),
        Column("strongest", [own[:_PRINTED] for own in told], short=lambda x: short_number(x, True), kind="words", where="s"),
    ) if of_columns and named else ()  # fmt: skip
    atom = (
        "A pattern over the columns. Every row is, apart from noise, a sum of few atoms, each with a weight of its own."
        if of_columns
        else "A small picture. Every patch is, apart from its mean and from noise, a sum of few atoms, each with a weight of "
        "its own: edges, stripes and spots in the places where they occur."
    )
    error = (
        f"The {many} are split at random, and the atoms are learned from the parts anew. How far an atom moves says how far it "
        "may be from the truth, as a distance of atoms of length 1, whatever their sign: 0.1 is an angle of 6 degrees. "
        f"{grades_say(evidence, 'an atom', f'other {many} of the same kind would give another one')} An atom can describe "
        f"{many} well and still not be the true one: whoever only needs few numbers instead of many may use atoms that are not "
        "supported, as long as the error above is small."
    )
    cut = f"The {_LISTED} most used; atoms.csv holds all {m}. " if m > _LISTED else ""
    return Table(
        "components",
        (
            Column("atom", range(m), kind="bold", meaning=f"{atom} There are more atoms than a {one} can use at once, and "
                   "which ones it uses is what tells it from others. An atom has a number, not a name, and neither a size nor "
                   "a sign of its own: its length is 1."),
            Column("usage", model.usage_, ".6f", _used, kind="share", heading="Used in", head="used in",
                   meaning=f"The share of the {many} in whose code the atom is."),
            *strongest,
            *grade_columns(evidence, m, meaning=error),
            *block(names, model.components_),
        ),
        "All atoms", cut + ("Strongest are the columns of most weight." if strongest else ""), "atoms.csv",
        f"{count(m, 'atom')}, the most used first", "atom", most=_LISTED, tall=True,
        folded="" if of_columns else "A table of them",
    )  # fmt: skip


def _used(share: float) -> str:
    return f"{100 * share:.2g}%"


def _described(
    model: Any, X: Any, codes: sparse.csr_array, one: str, many: str
) -> tuple[tuple[Table, Table], tuple[str]]:
    """How many rows have so large an error, and how many need so many atoms; and a line of that."""
    errors, numbers, sparsity = row_errors(model, X, codes), needed(model, codes), int(model.sparsity_)
    counts, mean, left = np.bincount(numbers, minlength=sparsity + 1), numbers.mean(), 100 * model.reconstruction_err_
    more = " Most need all that are allowed: more may describe them better." if counts[-1] == counts.max() else ""
    lengths = np.histogram(errors, _STEPS)[0]
    well = Table(
        "errors",
        (Column("left over", _STEP_NAMES, kind="name"), Column(many, lengths, short=",", kind="bar")),
        f"How well {many} are described",
        f"The atoms account for **{100 - left:.1f}%** of the squares of all {many}. What is left of a {one}, relative to it: "
        f"half of them have less than {100 * np.median(errors):.2g}%, and one in twenty more than "
        f"{100 * np.quantile(errors, 0.95):.2g}%. The spread that is left in a single "
        f"{'cell' if one == 'row' else 'pixel'} is {short_number(float(model.noise_))}.",
    )
    few = Table(
        "needed",
        (
            Column("atoms", range(len(counts)), short=lambda i: count(i, "atom") if i else "none", kind="name"),
            Column(many, counts, short=",", kind="bar"),
        ),
        f"How many atoms a {one} needs",
        f"{sparsity} {'is' if sparsity == 1 else 'are'} allowed, and {mean:.1f} needed on average: atoms count that have half "
        "as much weight again as noise of the spread that is left over would give the best of "
        f"{len(model.components_)}.{more}",
    )
    said = (
        f"Up to {count(sparsity, 'atom')} a {one}, {mean:.1f} needed on average; they leave {left:.2g}% of the squares."
    )
    return (well, few), (said,)


# --- pictures, and figures ------------------------------------------------------------------------------------------


def _words(model: Any, names: list[str], one: str, many: str) -> str:
    first = [listing(names[d] for d in largest(np.abs(atom), 3)) for atom in model.components_[:2]] if names else []
    most = "; ".join(
        f"atom {k} ({_used(model.usage_[k])} of the {many}) mostly of {own}" for k, own in enumerate(first)
    )
    patterns = f"{count(len(model.components_), 'pattern')}, of which a {one} needs {int(model.sparsity_)} or fewer"
    return f"{patterns}: {most}." if most else f"{patterns}."


_GREY = "Grey is zero; an atom and its negative are the same atom."


def _atoms(model: Any, names: list[str], patch: Sequence[int] | None, many: str) -> Figure | Section:
    """The most used atoms: as pictures, as curves over the columns, or of few columns as rows of a heat map."""
    (m, n), components = model.components_.shape, model.components_
    if patch is not None:
        marks = component_marks(evidence_of(model), m)
        tiles = [
            {"number": i, "used": _used(used), "error": error, "grade": mark, "alt": f"atom {i}",
             "title": f"atom {i}: used in {_used(used)} of the {many}", "picture": picture(as_grey(atom).reshape(tuple(patch)))}
            for i, (atom, used, (error, mark)) in enumerate(zip(components[:_TILES], model.usage_, marks, strict=False))
        ]  # fmt: skip
        cut = f" The first {len(tiles)} of {m}; atoms.png shows all." if len(tiles) < m else ""
        hint = f"The most used first, with the share of the {many} that use it.{cut} {_GREY}"
        return Section("tiles.html", {"tiles": tiles, "tile": 56, "things": "atoms", "hint": hint})
    caption = "Weights have squares that sum to 1; an atom and its negative are the same atom."
    label = "The weights of the columns in the atoms; atoms.csv holds the numbers"
    if n < _FEW_COLUMNS:
        rows = [f"atom {k}" for k in range(min(m, _PANELS))]
        hover, most = "{row}, {column}\n{value:+.3g}", len(rows)
        data = heat_map(components[:most], rows, names, hover=hover, signed=True)
    else:
        x, most = np.arange(1, n + 1), min(m, _CURVES)
        series = [(f"atom {k}: {_used(model.usage_[k])}", x, atom) for k, atom in enumerate(components[:most])]
        data = lines(series, title="", whole_numbers=True, aside=_ASIDE)
    cut = f"{most} of {m}, with" if m > most else "With"
    told = (
        f"The most used first. {cut} the share of the {many} that use each."
        if n >= _FEW_COLUMNS
        else "The most used first."
    )
    return Figure("atoms", data, "The atoms", label, f"{told} {caption}")


def _drawn(model: Any, names: list[str], pictures: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Where columns have names, the first atoms with bars; and pictures that they make."""
    m, marks = len(model.components_), component_marks(evidence_of(model), len(model.components_))
    drawn = [_bars(names, one) for one in model.components_[:_PANELS]] if len(names) >= _FEW_COLUMNS else []
    atoms = [
        {"number": i, "used": f"in {_used(model.usage_[i])} of the rows", "error": error, "grade": mark, "bars": bars}
        for i, (bars, (error, mark)) in enumerate(zip(drawn, marks, strict=False))
    ]  # fmt: skip
    cut = f" {len(atoms)} of {m} atoms; atoms.csv holds all." if len(atoms) < m else ""
    hint = f"The columns of most weight, blue to the right where it is positive, brown to the left where it is negative.{cut}"
    panels = {
        "place": "atoms-by-column",
        "title": "The columns of the atoms",
        "hint": hint,
        "panels": atoms,
        "signed": True,
    }
    made = {"total": m, "pictures": pictures, "sparsity": int(model.sparsity_)}
    shown = ("panels.html", panels, atoms), ("dictionary.html", made, pictures)
    return tuple(Section(template, values) for template, values, some in shown if some)


def _bars(names: list[str], atom: np.ndarray) -> list[tuple[str, float, str, str]]:
    """Columns of most weight, with signed lengths in percent."""
    shares = 50 * atom / max(float(np.abs(atom).max()), 1e-300)
    return [(names[d], float(shares[d]), "", f"{atom[d]:+.2f}") for d in largest(np.abs(atom), _BARS)]


def _shown(one: Restored) -> dict[str, Any]:
    """Both pictures, or the middle of them where they are large, with the difference as decibels."""
    height, width = one.original.shape[:2]
    top, left = (max(0, (length - _SHOWN) // 2) for length in (height, width))
    part = np.s_[top : top + _SHOWN, left : left + _SHOWN]
    cut = ", the middle of it" if max(height, width) > _SHOWN else ""
    return {
        "name": one.name, "size": f"{width} x {height} pixels{cut}", "psnr": psnr(one.original, one.restored),
        "original": picture(one.original[part]), "restored": picture(one.restored[part]), "width": min(width, _SHOWN),
    }  # fmt: skip


def _figures(model: Any, many: str) -> Iterator[Figure]:
    """How often each atom is used, and how the error fell."""
    percents, alike = np.round(100 * model.usage_, 4), np.abs(model.components_ @ model.components_.T)
    np.fill_diagonal(alike, 0.0)
    hover = [f"atom {i}\n{value:.3g}% of the {many}" for i, value in enumerate(percents)]
    width = 0.85 if len(percents) < 80 else 1.0
    series, what = [("", percents, 0)], f"% of the {many}"
    yield Figure(
        "usage",
        bars(range(len(percents)), series, hover=[hover], title="atom", y_title=what, width=width, height=190),
        "How often each atom is used",
        "Bars of the share of rows that use each atom; atoms.csv holds the numbers",
        f"How many of the {many} use each atom, in percent. Atoms that hardly any of them use are learned from few. The two "
        f"atoms that are most alike have the cosine {alike.max():.2f}; 1 would be the same atom.",
    )
    rounds = np.asarray(model.errors_, dtype=float)
    if len(rounds) > 1:
        drawn = (
            f"were drawn from the {many}"
            if model.start_ != "graph"
            else f"came from the graph of {many} that share one"
        )
        curve = [("error", np.arange(1, len(rounds) + 1), 100 * rounds)]
        yield Figure(
            "rounds",
            lines(curve, title="round", y_title="error in %", from_zero=True, whole_numbers=True),
            "How the error fell",
            "Line of the error after each round",
            f"Residual of the {many} after each round of refinement; a curve that is flat at its end has converged. The "
            f"first atoms {drawn}.",
        )
