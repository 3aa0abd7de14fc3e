"""What is in one table but not in a second table about the same rows, for readers who do not program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..evidence import Evidence
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .contrast_peers import PEERS, answer_of, contrast_peers, differences, in_units_of, kind_of, spread_of, variances
from .figures import bars, dot_plot, heat_map, shorten
from .page import page
from .parts import column_names, count, evidence_of, grades_say, largest, listing, short_number

NOUNS = {
    "pca": "direction", "regression": "coefficient", "logistic": "coefficient", "mixture": "component", "ising": "coupling",
    "components": "part",
}  # fmt: skip
FILES = {kind: "means.csv" if kind == "mixture" else f"{noun}s.csv" for kind, noun in NOUNS.items()}
SCORES = "scores.csv"
_OURS = "this fit"
_BEFORE, _AFTER = "before: as it is", "after: without what is shared"
_PARTS = "only in U", "in both", "only in V"
_TELLING, _MOST_LINES, _MOST_MAP, _MOST_DOTS, _MOST_DIRECTIONS = 6, 400, 40, 14, 6
_SAME = 1e-3
_SIGNED = partial(short_number, sign=True)


_Columns = tuple[Sequence[Column], Sequence[Column], tuple[str, ...]]  # before and after the errors, and on the screen


@dataclass(frozen=True)
class _Seen:
    """A model, the rows of both views, the names of their columns, what simpler methods say, and the scaling of U."""

    model: Any
    U: np.ndarray
    V: np.ndarray
    names: list[str]
    names_v: list[str]
    peers: Mapping[str, np.ndarray]
    scaling: tuple[np.ndarray, np.ndarray] | None
    files: tuple[str, str] = ("", "")

    @property
    def u(self) -> str:
        """What the first table is called."""
        return self.files[0] or "the first table"

    @property
    def v(self) -> str:
        """What the second one is called."""
        return self.files[1] or "the second table"

    @property
    def kind(self) -> str:
        return kind_of(self.model)

    @property
    def noun(self) -> str:
        """What one line of the answer is."""
        return NOUNS[self.kind]

    @property
    def ours(self) -> np.ndarray:
        """What this fit says, in the shape of simpler methods."""
        return answer_of(self.model, self.U)

    @property
    def titles(self) -> list[str]:
        """What the columns of the answer are called."""
        return matrix_names(self.model, self.names) if self.kind == "ising" else self.names

    @property
    def unit(self) -> str:
        """Of the distance of means."""
        return "in standard deviations" if self.scaling else "in the units of the data"

    def in_units(self, means: np.ndarray) -> np.ndarray:
        """Rows of U in the units before the scaling."""
        return means if self.scaling is None else means * self.scaling[1] + self.scaling[0]


@page("What one table has and the other lacks")
def summarize_contrast(
    model: Any,
    U: Any,
    V: Any,
    y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    columns_v: Sequence[str] | None = None,
    scaling: tuple[np.ndarray, np.ndarray] | None = None,
    peers: Mapping[str, np.ndarray] | None = None,
    row_labels: Sequence[Column] = (),
    files: tuple[str, str] = ("", ""),
    target: str = "the target",
) -> Summary:
    """Say what a model found of one view, beside what simpler methods say.

    Parameters
    ----------
    model : estimator of `latentia.contrastive`, of two views
        A fitted model.
    U, V : arrays of shape (n_rows, d_u), (n_rows, d_v)
        The views that the model was fitted on.
    y : array of shape (n_rows,), optional
        The target, where the model has one.
    columns, columns_v : sequence of str, optional
        Names of the columns of U and V.
    scaling : (ndarray, ndarray), optional
        What was subtracted from every column of U and what it was divided by; means are shown in the units before that.
    peers : dict of arrays, optional
        What simpler methods say, by their names, in the shape and units of the model; by default it is computed.
    row_labels : sequence of Column
        What tells the rows apart.
    files : (str, str)
        Where U and V came from.
    target : str
        Name of the target.

    Returns
    -------
    Summary

    """
    U, V = (np.asarray(table, dtype=float) for table in (U, V))
    names, names_v = column_names(columns, U.shape[1]), column_names(columns_v, V.shape[1], "columns_v")
    peers = contrast_peers(model, U, V, y) if peers is None else peers
    seen, evidence = _Seen(model, U, V, names, names_v, peers, scaling, files), evidence_of(model)
    covariance, own = variances(model, U, V)
    shared, noun, found = 1 - float(np.trace(own) / np.trace(covariance)), seen.noun, differences(model, U, peers)
    table = _table(seen, target, found)
    size = len(table)
    rows = () if seen.kind == "ising" else (rows_of(model, U, V, names, row_labels),)
    before_and_after = _answers(seen), _spectra(seen, covariance, own)
    (picture, other) = before_and_after[::-1] if noun == "part" else before_and_after
    known = model.linear_map is not None
    what = {"files": files, "widths": (len(names), len(names_v)), "shared": shared, "known": known}
    bad = evidence.measured and evidence.grade == "not supported"
    return Summary(
        says=f"{count(size, noun)} in {count(len(U), 'row')} of {len(names)} and {count(len(names_v), 'column')}.",
        nouns=(noun, f"{noun}s", "rows"),
        evidence=_by_name(evidence, seen),
        parts=(
            table,
            Section("contrast.html", what),
            _distances(seen, found),
            other,
            _linear_map(seen),
            *_files(seen),
            *rows,
        ),
        answer=Answer(_QUESTIONS[noun].format(seen=seen, target=target), _words(seen, 1 - shared), picture),
        error=_ERRORS[noun].replace("UNIT", seen.unit),
        reading=_READING[:-1] if known else _READING,
        note=_SIMPLER if bad else "",
        styles=("tables.css", "contrast.css"),
    )


def _by_name(evidence: Evidence, seen: _Seen) -> Evidence:
    """Evidence whose checks name columns, where a fit that knew no names has "column 3 of U"."""

    def name(found: re.Match[str]) -> str:
        names, table = (seen.names, seen.u) if found[2] == "U" else (seen.names_v, seen.v)
        return f"{names[int(found[1])]} of {table}"

    told = partial(re.sub, r"\bcolumn (\d+) of ([UV])\b", name)
    checks = [replace(check, meaning=told(check.meaning), remedy=told(check.remedy)) for check in evidence.checks]
    return replace(evidence, checks=checks)


def matrix_names(model: Any, columns: Sequence[str]) -> list[str]:
    """Names of the couplings of an Ising model."""
    return [f"{columns[i]} and {columns[j]}" for i, j in model.edges_]


def distance_text(distance: float) -> str:
    """Two digits; what is next to nothing is 0."""
    return "0" if distance < 0.005 else f"{distance:.2g}" if distance < 100 else f"{distance:.0f}"


def _percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f}%"


# --- tables ---------------------------------------------------------------------------------------------------------


def _table(seen: _Seen, target: str, found: Mapping[str, float]) -> Table:
    """The answer, one line each, beside simpler methods."""
    kind, noun, evidence = seen.kind, seen.noun, evidence_of(seen.model)
    before, after, screen = _COLUMNS[noun](seen)
    size, unit = len(before[0].values), "relative" if noun == "coefficient" else ""
    unit = "standard deviations" if noun == "component" and seen.scaling else unit
    says = _EXPECTED + grades_say(evidence, f"a {noun}", "other rows would give another one")
    error = evidence.expected_error
    if error is not None and kind == "components" and evidence.component_errors is not None:
        error = float(evidence.component_errors[0])  # the others are compared by s1 alone
    error_text = "" if error is None else f" Its own expected error is {distance_text(error)}."
    said = ", ".join(f"{name} {distance_text(distance)}" for name, distance in found.items())
    divided = ", after each was brought to standard deviation 1" if seen.scaling else ""
    head = "number" if _OURS in screen else ""
    key = Column(noun, range(size), kind="bold", head=head, meaning=_MEANINGS[noun].format(divided=divided))
    of = f"{count(size, noun)}{f' for {target},' if noun == 'coefficient' else ''} of what U has and V has not"
    cut = f" The first {_MOST_LINES} of {size}; the tables of the results have all." if size > _MOST_LINES else ""
    classes = [str(one) for one in seen.model.classes_] if kind == "logistic" else ["", ""]
    adds = "the log-odds of {} = {}, against {}".format(target, *classes[::-1]) if kind == "logistic" else target
    scaled = ", which were brought to standard deviation 1 first" if seen.scaling else ""
    return Table(
        "components",
        (key, *before, *grade_columns(evidence, size, unit=unit, meaning=says), *after),
        title="The three parts" if noun == "part" else f"All {noun}s",
        hint=_HINTS[noun].format(adds=adds, scaled=scaled, unit=seen.unit, u=seen.u) + cut,
        file="" if noun == "part" else FILES[kind],
        caption="Three parts" if noun == "part" else of + (", largest first" if noun == "component" else ""),
        note=f"How far simpler methods are from this fit: {said}.{error_text}\n",
        label="answer",
        most=_MOST_LINES,
        tall=True,
        screen=(noun, *screen),
    )


def _directions(seen: _Seen) -> _Columns:
    model, ours, peers = seen.model, seen.ours, []
    for name, other in seen.peers.items():
        angles = np.degrees(np.arccos(np.clip(np.abs((ours * other).sum(axis=1)), 0, 1)))
        peers.append(Column(name, angles, short=lambda angle: f"{angle:.0f}°", where="p"))
    ratio, percent = model.explained_variance_ratio_, partial(_percent, digits=1)
    return (
        [
            Column("strongest columns", _told(ours, seen.names), short=_SIGNED, kind="words", where="ps"),
            Column("variance", model.explained_variance_, ".8g", where="f"),
            Column("share of variance", ratio, ".6f", percent, heading="Variance", head="variance"),
            *peers,
        ],
        block(seen.names, ours),
        ("share of variance", "expected error", "grade", "strongest columns"),
    )


def _groups(seen: _Seen) -> _Columns:
    ours, means = seen.ours, seen.in_units(seen.ours)
    apart = _told((ours - seen.U.mean(axis=0)) / spread_of(seen.U), seen.names, means)
    distances = {name: np.linalg.norm(ours - other, axis=1) for name, other in seen.peers.items()}
    return (
        [
            Column("what sets it apart", apart, short=short_number, kind="words", where="ps"),
            Column("share", seen.model.weights_, ".6f", partial(_percent, digits=1)),
            *(Column(name, far, short=short_number, where="p") for name, far in distances.items()),
        ],
        block(seen.names, means),
        ("share", "expected error", "grade", "what sets it apart"),
    )


def _three(seen: _Seen) -> _Columns:
    of, told, sizes = "UUV", [], []
    for part in (1, 2, 3):
        scale = spread_of(seen.V if part == 3 else seen.U)
        variance = np.diag(seen.model.covariance(part) / np.outer(scale, scale))
        told += _told(variance[None], seen.names_v if part == 3 else seen.names)
        sizes.append(float(variance.sum()) / len(variance))
    shares = [f"{_percent(size)} of {view}" for size, view in zip(sizes, of, strict=True)]
    return (
        [
            Column("what it is", _PARTS, kind="name", where="p"),
            Column("strongest columns", told, short=_percent, kind="words", where="p"),
            Column("share", sizes, where=""),
            Column("share of the variance", shares, where="p"),
            Column("name", ["of U alone", "of both", "of V alone"], kind="text", head="what it is", where="s"),
        ],
        (),
        ("expected error", "grade", "name"),
    )


def _numbers(seen: _Seen) -> _Columns:
    """Coefficients and couplings."""
    ours, errors, ising = seen.ours, evidence_of(seen.model).component_errors, seen.kind == "ising"
    pairs = [(seen.names[a], seen.names[b]) for a, b in seen.model.edges_] if ising else []
    plus = [None] * len(ours) if ising or errors is None else in_units_of(seen.model, errors, ours, seen.U)
    called = [
        Column("columns", seen.titles, kind="name", heading="Pair of columns", where="ps"),
        Column("column", [a for a, _ in pairs], where="f"),
        Column("other column", [b for _, b in pairs], where="f"),
    ] if ising else [Column("column", seen.titles, kind="name")]  # fmt: skip
    shown = "f" if errors is None else "psf"
    own = () if ising else (Column("plus or minus", plus, ".4g", short_number, head="+-", where=shown),)
    before = *called, Column(_OURS, ours, ".8g", _SIGNED, kind="bold"), *own
    peers = [
        Column(name, other, ".8g", _SIGNED, head="beside V" if name == PEERS[2] else "")
        for name, other in seen.peers.items()
    ]
    return (
        before,
        peers,
        (PEERS[0], PEERS[2], _OURS, "expected error" if ising else "plus or minus", "grade", called[0].name),
    )


_COLUMNS = {
    "direction": _directions, "component": _groups, "part": _three, "coupling": _numbers, "coefficient": _numbers,
}  # fmt: skip


def _told(values: np.ndarray, names: list[str], shown: np.ndarray | None = None) -> list[list[tuple[str, float]]]:
    """The columns with the largest values of each row, without their signs, and what is shown of them."""
    shown = values if shown is None else shown
    return [
        [(names[d], float(numbers[d])) for d in largest(np.abs(row), _TELLING)]
        for row, numbers in zip(values, shown, strict=True)
    ]


def _distances(seen: _Seen, found: Mapping[str, float]) -> Table:
    """Simpler methods, their distance from the fit, and what that means."""
    measured = [one.expected_error for one in evidence_of(seen.model).components if one.expected_error is not None]
    errors = [error for error in measured if np.isfinite(error)]
    error = (
        None if not errors else errors[0] if seen.kind == "components" else float(np.mean(errors))
    )  # peers say s1 alone
    unit = _UNITS[seen.noun] + (f", {seen.unit}" if seen.kind == "mixture" else "")
    prefer = (
        " Where **V as covariates** says the same as this fit, prefer it: it is simpler, and needs fewer assumptions."
    )
    return Table(
        "peers",
        (
            Column("method", list(found), kind="name"),
            Column("distance", list(found.values()), short=distance_text),
            Column("what that means", [_said(distance, error) for distance in found.values()], kind="text"),
        ),
        title="What simpler methods say",
        hint=f"How far their answers lie from this one, on average; {unit}.{'' if seen.kind == 'components' else prefer}",
        label="peer",
    )


def _said(distance: float, error: float | None) -> str:
    if distance < _SAME:
        return "The same answer: where the data hardly identifies the shared part, this fit falls back to it."
    if error is None:
        return ""
    if distance <= error:
        return "No more than the error of this fit: the two cannot be told apart."
    if distance <= 2 * error:
        return "Somewhat more than the error of this fit."
    return "Clearly more than the error of this fit: it matters which of the two is taken."


def _files(seen: _Seen) -> list[Table]:
    """Tables that only files have."""
    model, kind, names, found = seen.model, seen.kind, seen.names, []
    if kind == "components":
        errors = grade_columns(evidence_of(model), 3)[-2:]
        cells = [
            (part, f"s{part + 1}", *(one.values[part] for one in errors), a, b, value)
            for part, own in enumerate((names, names, seen.names_v))
            for a, row in zip(own, model.covariance(part + 1), strict=True)
            for b, value in zip(own, row, strict=True)
        ]
        named = zip(
            ("part", "name", "expected error", "grade", "column", "other column"),
            zip(*cells, strict=True),
            strict=False,
        )
        columns = [Column(name, own, ".4f" if name == "expected error" else "") for name, own in named]
        covariance = Column("covariance", [cell[-1] for cell in cells], ".8g")
        found.append(Table("covariances", (*columns, covariance), file=FILES[kind]))
    if kind in ("pca", "mixture"):
        shown = [(k, name, other[k]) for k in range(len(seen.ours)) for name, other in seen.peers.items()]
        ks, methods, answers = zip(*shown, strict=True)
        values = np.array(answers) if kind == "pca" else seen.in_units(np.array(answers))
        own = Column(seen.noun, ks), Column("method", methods), *block(names, values)
        found.append(Table("simpler methods", own, file="peers.csv"))
    if seen.scaling is not None:
        centre, divided = seen.scaling
        own = Column("column", names), Column("subtracted", centre), Column("divided by", divided)
        found.append(Table("scaling", own, file="scaling.csv"))
    per_unit = model.linear_map_ / (1.0 if seen.scaling is None else seen.scaling[1])
    found.append(Table("linear map", (Column("column of V", seen.names_v), *block(names, per_unit)), file="map.csv"))
    return found


def rows_of(
    model: Any, U: np.ndarray, V: np.ndarray | None, names: Sequence[str] | None, row_labels: Sequence[Column] = ()
) -> Table:
    """What the model says of every row; ``names`` are those of the columns of U, where they are known."""
    kind, own = kind_of(model), tuple[Column, ...]()
    if kind == "regression":
        own = (Column("predicted", model.predict(U, V), ".8g"),)
    elif kind == "logistic":
        heads = [f"probability of {one}" for one in model.classes_]
        own = Column("class", model.predict(U, V)), *block(heads, model.predict_proba(U, V), ".5f")
    elif kind == "mixture":
        chance = model.predict_proba(U, V)
        own = Column("component", chance.argmax(axis=1)), Column("probability", chance.max(axis=1), ".5f")
    else:
        scores = model.transform(U, V)
        heads = [f"{'direction' if kind == 'pca' else 'column'} {i}" for i in range(scores.shape[1])]
        own = block(names if kind == "components" and names is not None else heads, scores)
    return Table("rows", (*row_labels, *own), file=SCORES)


# --- figures --------------------------------------------------------------------------------------------------------


def _answers(seen: _Seen) -> Figure:
    """What U says as it is, and what is left of it; of three parts, how the columns of the first go together."""
    kind, noun, spread, middle = seen.kind, seen.noun, spread_of(seen.U), seen.U.mean(axis=0)
    answers, errors = {_AFTER: seen.ours, _BEFORE: seen.peers[PEERS[0]]}, evidence_of(seen.model).component_errors
    cut = f" The {_MOST_DOTS} largest." if len(seen.titles) > _MOST_DOTS else ""
    cut_columns = f" The {_MOST_MAP} columns with the largest." if len(seen.names) > _MOST_MAP else ""
    if noun == "coefficient":
        unit = float(np.sqrt(np.mean((seen.ours * spread) ** 2)))
        answers = {name: found * spread for name, found in answers.items()}
        whiskers = None if errors is None else errors * unit
        data = _dots(answers, seen.names, whiskers, "effect of one standard deviation of the column")
    elif noun == "coupling":
        titles = [f"{seen.names[i]}, {seen.names[j]}" for i, j in seen.model.edges_]
        data = _dots(answers, titles, errors, "coupling: positive together, negative apart")
    elif noun == "part":
        return _covariance(seen, cut_columns)
    else:
        means = {name: (found - middle) / spread for name, found in answers.items()}
        data = _stacked(answers if kind == "pca" else means, seen.names, noun)
    caption = f"Whiskers are the expected errors.{cut}"
    if noun in ("direction", "component"):
        what = "Weights of the columns" if kind == "pca" else "In standard deviations from the mean"
        first = f" The first {_MOST_DIRECTIONS}." if len(seen.ours) > _MOST_DIRECTIONS else ""
        caption = f"{what}: {_COLOURS} Before: the nearest {noun} of {seen.u} as it is.{first}{cut_columns}"
    label = "Before and after what is shared is taken out; the tables of the results hold the numbers"
    return Figure("answers", data, "Before and after", label, caption)


def _covariance(seen: _Seen, cut: str) -> Figure:
    """Of U's own part, in the columns with the largest variances."""
    own, names = seen.ours, seen.names
    chosen = np.sort(largest(np.abs(np.diag(own)), _MOST_MAP))
    texts = [names[d] for d in chosen]
    hover = "{row} and {column}\n{value:+.3g}"
    data = heat_map(own[np.ix_(chosen, chosen)], texts, texts, hover=hover, signed=True)
    caption = f"Covariances once the shared part is removed, in standard deviations of the columns: {_COLOURS}{cut}"
    label = "Heat map of covariances; covariances.csv holds the numbers"
    return Figure("answers", data, "How the columns go together, without what is shared", label, caption)


_COLOURS = "blue positive, brown negative."


def _spectra(seen: _Seen, covariance: np.ndarray, own: np.ndarray) -> Figure:
    """Eigenvalues of two covariances as bars beside each other."""
    number = np.arange(1, len(own) + 1)
    named = {f"{seen.u} as it is": covariance, "what it has alone": own}
    values = {name: np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0) for name, matrix in named.items()}
    hover = [
        [f"direction {i}\n{name}: variance {v:.3g}" for i, v in zip(number, found, strict=True)]
        for name, found in values.items()
    ]
    colours: tuple[int | str, ...] = "pale", 0
    series = [(name, found, colour) for (name, found), colour in zip(values.items(), colours, strict=True)]
    return Figure(
        "spectrum",
        bars(number, series, hover=hover, title="direction, by its variance", y_title="variance", height=240),
        "Variance before and after",
        f"Bars of the variances of {seen.u} and of its own part",
        f"The variances of {seen.u} along its main directions, columns in standard deviations, as it is and once what "
        "it shares is removed. Where a bar falls, that much was shared.",
    )


def _dots(answers: Mapping[str, np.ndarray], names: list[str], errors: np.ndarray | None, title: str) -> dict[str, Any]:
    """A row for every name with a dot for each method, and bars of the expected error at the first one's."""
    chosen = largest(np.abs(next(iter(answers.values()))), _MOST_DOTS)
    shown = {name: values[chosen] for name, values in answers.items()}
    return dot_plot([names[d] for d in chosen], shown, None if errors is None else errors[chosen], title=title)


def _stacked(answers: Mapping[str, np.ndarray], names: list[str], noun: str) -> dict[str, Any]:
    """A heat map with a row for every component and method, methods of a component below one another."""
    ours = next(iter(answers.values()))
    chosen = np.sort(largest((ours**2).sum(axis=0), _MOST_MAP))
    shown = [(k, name, found[k]) for k in range(min(len(ours), _MOST_DIRECTIONS)) for name, found in answers.items()]
    rows = [f"{k} {name.partition(':')[0]}" for k, name, _ in shown]
    values = np.array([own[chosen] for _, _, own in shown])

    def hover(i: int, j: int) -> str:
        k, name, own = shown[i]
        return f"{noun} {k}, {name}\n{shorten(names[chosen[j]])}: {own[chosen[j]]:+.3g}"

    return heat_map(values, rows, [names[d] for d in chosen], hover=hover, signed=True)


def _linear_map(seen: _Seen) -> Figure:
    """A, columns in units of their standard deviations."""
    scaled = seen.model.linear_map_ * spread_of(seen.U) / spread_of(seen.V)[:, None]
    rows, columns = (np.sort(largest((scaled**2).sum(axis=axis), _MOST_MAP)) for axis in (1, 0))
    hover = "{row} of V, from {column} of U\n{value:+.3g} standard deviations for one"
    values = scaled[np.ix_(rows, columns)]
    below = [seen.names_v[a] for a in rows]
    across = [seen.names[b] for b in columns]
    cut = f" The {_MOST_MAP} columns with the largest." if max(scaled.shape) > _MOST_MAP else ""
    return Figure(
        "map",
        heat_map(values, below, across, hover=hover, signed=True),
        "How V sees the shared part",
        "Heat map of the linear map; map.csv holds the numbers",
        "The linear map A, columns of V below each other and those of U beside each other: how far a column of V moves, in its "
        "standard deviations, when the shared part moves a column of U by one of its own; blue with it, brown against it."
        f"{cut} If the evidence marks a shared direction as weak, single cells may be far off.",
    )


# --- words ----------------------------------------------------------------------------------------------------------

_QUESTIONS = {
    "direction": "Along which directions does {seen.u} vary in ways that {seen.v} does not see?",
    "coefficient": "How does {target} depend on {seen.u}, without what it shares with {seen.v}?",
    "component": "Which groups do the rows form by what {seen.u} has and {seen.v} lacks?",
    "coupling": "Which columns of {seen.u} go together, without what they share with {seen.v}?",
    "part": "What has {seen.u} that {seen.v} lacks, and how much do they share?",
}


def _words(seen: _Seen, own: float) -> str:
    """The answer; ``own`` is the share of the variance of U that it does not share."""
    model, ours, before, spread = seen.model, seen.ours, seen.peers[PEERS[0]], spread_of(seen.U)
    alone = (
        f"{_percent(min(max(own, 0.0), 1.0))} of the variance of {seen.u} is its own; the rest it shares with {seen.v}."
    )
    if seen.noun in ("coefficient", "coupling"):
        first = largest(np.abs(ours * spread if seen.noun == "coefficient" else ours), 3)
        strongest = listing(f"{seen.titles[i]} ({_SIGNED(ours[i])}, before {_SIGNED(before[i])})" for i in first)
        return f"Strongest: {strongest}. {alone}" if len(first) else alone
    if seen.noun == "direction":
        weights = [listing(name for name, _ in own[:3]) for own in _told(ours[:2], seen.names)]
        shares = [_percent(share) for share in model.explained_variance_ratio_]
        each = [f"{share} along {names}" for share, names in zip(shares, weights, strict=False)]
        return f"{alone} Of its own part varies {listing(each)}."
    if seen.noun == "component":
        apart = (ours - seen.U.mean(axis=0)) / spread
        said = [
            listing(f"{'high' if d[i] > 0 else 'low'} {seen.names[i]}" for i in largest(np.abs(d), 2)) for d in apart
        ]
        groups = [f"{_percent(w)} of the rows ({text})" for w, text in zip(model.weights_, said, strict=True)]
        return f"{count(len(ours), 'group')}: {listing(groups)}. {alone}"
    strongest = listing(seen.names[i] for i in largest(np.diag(ours), 3))
    return f"{alone} Its own part is strongest in {strongest}."


_ERRORS = {
    "direction": "Expected error of a direction: {} on average, the sine of the angle to the true one (0.1 is about 6 "
    "degrees).",
    "coefficient": "Expected error of a coefficient: {} on average, of the size that coefficients have.",
    "component": "Expected error of a component's mean: {} on average, UNIT over all columns together.",
    "coupling": "Expected error of a coupling: {} on average.",
    "part": "Expected error of a part: {} on average, of the size of its covariance.",
}
_UNITS = {
    "direction": "sine of the angle between directions",
    "coefficient": "relative to the size of the coefficients",
    "component": "distance of the means",
    "coupling": "difference of couplings",
    "part": "of the covariance of U's own part, relative to its size",
}
_HINTS = {
    "direction": "Those along which what {u} has alone varies most, and the columns that make them up{scaled}. Variance is the "
    "share of that of what it has alone. Angles say how far the nearest direction of a simpler method lies from it: 0° is the "
    "same, 90° has nothing in common.",
    "component": "Groups of rows by what {u} has alone, the largest first, with their means in the columns that set them "
    "apart. Under the names of simpler methods stands how far their nearest group lies from it, {unit}.",
    "coupling": "How strongly two columns of {u} go together, the others held fixed, once what is shared is removed: "
    "positive together, negative apart. Beside them what simpler methods say.",
    "part": "Their share of the variance, columns in standard deviations, and the columns where they are strongest, with the "
    "share of the column's variance.",
    "coefficient": "Effect of one more unit of a column on {adds}, once what is shared is removed, in the units of the "
    "files. One that is smaller than its plus or minus may as well be zero, or have the other sign. Beside them what simpler "
    "methods say.",
}
_MEANINGS = {
    "direction": "A weighted sum of the columns of U. The first is the one along which what only U has varies most, the "
    "second the one that varies most at right angles to it, and so on. Directions of almost equal variance can be exchanged "
    "by chance, which their expected errors show.",
    "component": "A group of rows that are alike in what U has alone. Within a group it is taken to be round: equally wide in "
    "all columns{divided}.",
    "coupling": "For columns with two states. Two columns that only go together since both go with a third one have no "
    "coupling.",
    "part": "What is known of a part is how its columns vary together (its covariance), not its rows. scores.csv has the best "
    "guess at the rows of what only U has, from both tables.",
    "coefficient": "As in a regression on U, had U come without its shared part. A shared part blurs U, which weakens and "
    "mixes the coefficients of a regression on U as it is.",
}
_EXPECTED = (
    "The rows are split at random, and the answer is learned from the parts anew; how far it moves, and how far it may be "
    "pulled towards no correction, say how far it may be from the truth. "
)
_SIMPLER = "A simpler answer, which asks less of the data, is that of *V as covariates*; it stands [below](#peers)."
_READING = (
    ("U, V and the parts", "U = s1 + s2 and V = A s2 + s3, row by row: s1 is only in U, s2 in both, s3 only in V. "
     "V stands for what disturbs U, or for what is known already; the question is what U says beyond it. Only the sums are in "
     "the files. The parts can be told apart since a shared part that is not Gaussian (skewed, with outliers, in groups, or "
     "with sharp bounds) leaves traces in both tables "
     "that nothing else leaves; what is Gaussian leaves none."),
    ("Simpler methods", "*U alone* takes no notice of V. *CCA* leaves out the directions of U that go together with V most, "
     "and with them all that only U has there. *V as covariates* removes from U what a linear regression on V predicts; as V "
     "has a part of its own, some of what is shared remains."),
    ("The shared cumulants", "Cumulants measure how two tables go together beyond what a correlation sees. The line *shared "
     "cumulant above noise* says how clearly those of U and V stand above chance: if they do not, the shared part looks "
     "Gaussian, or the rows are too few, and nothing here should be used. *Conditioning of A*, which is not part of "
     "the verdict, says how many times more clearly V sees one shared direction than another: from about ten on, some are "
     "hardly detected."),
)  # fmt: skip
