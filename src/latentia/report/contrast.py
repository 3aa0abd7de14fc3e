"""The part of one table that a second table about the same rows lacks, for readers who do not program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..evidence import Evidence
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .contrast_peers import PEERS, answer_of, contrast_peers, differences, kind_of, scale_errors, spread_of, variances
from .figures import bars, dot_plot, heat_map, shorten
from .page import page
from .parts import check_keys, check_shape, column_names, count, evidence_of, grades_say, largest, listing, short_number

NOUNS = {
    "pca": "direction", "regression": "coefficient", "logistic": "coefficient", "mixture": "component", "ising": "coupling",
    "components": "part",
}  # fmt: skip
FILES = {kind: "means.csv" if kind == "mixture" else f"{noun}s.csv" for kind, noun in NOUNS.items()}
SCORES = "scores.csv"
_THIS_FIT = "this fit"
_BEFORE, _AFTER = "before: as it is", "after: without what is shared"
_PARTS = "only in U", "in both", "only in V"
_N_STRONGEST, _MAX_LINES, _MAX_MAP_SIZE, _MAX_DOTS, _MAX_DIRECTIONS = 6, 400, 40, 14, 6
_SAME_DISTANCE = 1e-3  # answers closer than this are the same
_SIGNED = partial(short_number, sign=True)


_Columns = tuple[
    Sequence[Column], Sequence[Column], tuple[str, ...]
]  # columns before and after the errors, and names of those on the screen


@dataclass(frozen=True)
class _Context:
    """A model, the rows of both views, the names of their columns, answers of simpler methods, and the scaling of U."""

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
        """Name of the first table."""
        return self.files[0] or "the first table"

    @property
    def v(self) -> str:
        """Name of the second table."""
        return self.files[1] or "the second table"

    @property
    def kind(self) -> str:
        return kind_of(self.model)

    @property
    def noun(self) -> str:
        """Noun for one line of the answer."""
        return NOUNS[self.kind]

    @property
    def answer(self) -> np.ndarray:
        """Answer of this fit, in the shape of simpler methods."""
        return answer_of(self.model, self.U)

    @property
    def titles(self) -> list[str]:
        """Names of the columns of the answer."""
        return matrix_names(self.model, self.names) if self.kind == "ising" else self.names

    @property
    def unit(self) -> str:
        """Unit of the distances between means."""
        return "in standard deviations" if self.scaling else "in the units of the data"

    def unscale_means(self, means: np.ndarray) -> np.ndarray:
        """Return rows of U in the units before the scaling."""
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
    """Describe the model of one view, beside the answers of simpler methods.

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
        Number subtracted from every column of U, and its divisor; means are shown in the units before the scaling.
    peers : dict of arrays, optional
        Answers of simpler methods, by their names, in the shape and units of the model; by default they are computed.
    row_labels : sequence of Column
        Columns that identify the rows.
    files : (str, str)
        Names of the files of U and V.
    target : str
        Name of the target.

    Returns
    -------
    Summary

    """
    U, V = (np.asarray(table, dtype=float) for table in (U, V))
    names, names_v = column_names(columns, U.shape[1]), column_names(columns_v, V.shape[1], "columns_v")
    peers = contrast_peers(model, U, V, y) if peers is None else peers
    check_keys("peers", peers, PEERS)
    for peer in peers.values():
        check_shape("peers", peer, *answer_of(model, U).shape)
    for part in scaling or ():
        check_shape("scaling", part, U.shape[1])
    context, evidence = _Context(model, U, V, names, names_v, peers, scaling, files), evidence_of(model)
    covariance, specific = variances(model, U, V)
    shared, noun, peer_distances = (
        1 - float(np.trace(specific) / np.trace(covariance)),
        context.noun,
        differences(model, U, peers),
    )
    table = _build_answer_table(context, target, peer_distances)
    size = len(table)
    rows = () if context.kind == "ising" else (rows_of(model, U, V, names, row_labels),)
    before_and_after = _draw_answers(context), _draw_spectra(context, covariance, specific)
    (picture, second_figure) = before_and_after[::-1] if noun == "part" else before_and_after
    has_given_map = model.linear_map is not None
    details = {"files": files, "widths": (len(names), len(names_v)), "shared": shared, "known": has_given_map}
    is_unsupported = evidence.measured and evidence.grade == "not supported"
    return Summary(
        headline=f"{count(size, noun)} in {count(len(U), 'row')} of {len(names)} and {count(len(names_v), 'column')}.",
        nouns=(noun, f"{noun}s", "rows"),
        evidence=_insert_column_names(evidence, context),
        parts=(
            table,
            Section("contrast.html", details),
            _distances(context, peer_distances),
            second_figure,
            _linear_map(context),
            *_files(context),
            *rows,
        ),
        answer=Answer(
            _QUESTIONS[noun].format(context=context, target=target), _write_answer(context, 1 - shared), picture
        ),
        error=_ERRORS[noun].replace("UNIT", context.unit),
        reading=_READING[:-1] if has_given_map else _READING,
        note=_SIMPLER if is_unsupported else "",
        styles=("tables.css", "contrast.css"),
    )


def _insert_column_names(evidence: Evidence, context: _Context) -> Evidence:
    """Return evidence whose checks name columns, where a fit without names has "column 3 of U"."""

    def name(match: re.Match[str]) -> str:
        names, table = (context.names, context.u) if match[2] == "U" else (context.names_v, context.v)
        return f"{names[int(match[1])]} of {table}"

    insert_names = partial(re.sub, r"\bcolumn (\d+) of ([UV])\b", name)
    checks = [
        replace(check, meaning=insert_names(check.meaning), remedy=insert_names(check.remedy))
        for check in evidence.checks
    ]
    return replace(evidence, checks=checks)


def matrix_names(model: Any, columns: Sequence[str]) -> list[str]:
    """Return the names of the couplings of an Ising model."""
    return [f"{columns[i]} and {columns[j]}" for i, j in model.edges_]


def distance_text(distance: float) -> str:
    """Format a distance with two digits; 0 below .005."""
    return "0" if distance < 0.005 else f"{distance:.2g}" if distance < 100 else f"{distance:.0f}"


def _percent(value: float, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f}%"


# --- tables ---------------------------------------------------------------------------------------------------------


def _build_answer_table(context: _Context, target: str, peer_distances: Mapping[str, float]) -> Table:
    """Build the table of the answer, beside simpler methods."""
    kind, noun, evidence = context.kind, context.noun, evidence_of(context.model)
    before, after, screen = _COLUMNS[noun](context)
    size, unit = len(before[0].values), "relative" if noun == "coefficient" else ""
    unit = "standard deviations" if noun == "component" and context.scaling else unit
    meaning = _EXPECTED + grades_say(evidence, f"a {noun}", "other rows would give another one")
    error = evidence.expected_error
    if error is not None and kind == "components" and evidence.component_errors is not None:
        error = float(evidence.component_errors[0])  # simpler methods are compared by s1 alone
    error_text = "" if error is None else f" Its own expected error is {distance_text(error)}."
    distances_text = ", ".join(f"{name} {distance_text(distance)}" for name, distance in peer_distances.items())
    divided = ", after each was brought to standard deviation 1" if context.scaling else ""
    head = "number" if _THIS_FIT in screen else ""
    key = Column(noun, range(size), kind="bold", head=head, meaning=_MEANINGS[noun].format(divided=divided))
    answer_text = f"{count(size, noun)}{f' for {target},' if noun == 'coefficient' else ''} of the part that only U has"
    truncation = f" The first {_MAX_LINES} of {size}; the tables of the results have all." if size > _MAX_LINES else ""
    classes = [str(label) for label in context.model.classes_] if kind == "logistic" else ["", ""]
    outcome = "the log-odds of {} = {}, against {}".format(target, *classes[::-1]) if kind == "logistic" else target
    scaled = ", which were brought to standard deviation 1 first" if context.scaling else ""
    return Table(
        "components",
        (key, *before, *grade_columns(evidence, size, unit=unit, meaning=meaning), *after),
        title="The three parts" if noun == "part" else f"All {noun}s",
        hint=_HINTS[noun].format(adds=outcome, scaled=scaled, unit=context.unit, u=context.u) + truncation,
        file="" if noun == "part" else FILES[kind],
        caption="Three parts" if noun == "part" else answer_text + (", largest first" if noun == "component" else ""),
        note=f"How far simpler methods are from this fit: {distances_text}.{error_text}\n",
        label="answer",
        most=_MAX_LINES,
        tall=True,
        screen=(noun, *screen),
    )


def _direction_columns(context: _Context) -> _Columns:
    model, answer, peers = context.model, context.answer, []
    for name, peer_answer in context.peers.items():
        angles = np.degrees(np.arccos(np.clip(np.abs((answer * peer_answer).sum(axis=1)), 0, 1)))
        peers.append(Column(name, angles, short=lambda angle: f"{angle:.0f}°", where="p"))
    ratio, percent = model.explained_variance_ratio_, partial(_percent, digits=1)
    return (
        [
            Column("strongest columns", _rank_columns(answer, context.names), short=_SIGNED, kind="words", where="ps"),
            Column("variance", model.explained_variance_, ".8g", where="f"),
            Column("share of variance", ratio, ".6f", percent, heading="Variance", head="variance"),
            *peers,
        ],
        block(context.names, answer),
        ("share of variance", "expected error", "grade", "strongest columns"),
    )


def _component_columns(context: _Context) -> _Columns:
    answer, means = context.answer, context.unscale_means(context.answer)
    distinctive_columns = _rank_columns((answer - context.U.mean(axis=0)) / spread_of(context.U), context.names, means)
    distances = {name: np.linalg.norm(answer - peer_answer, axis=1) for name, peer_answer in context.peers.items()}
    return (
        [
            Column("what sets it apart", distinctive_columns, short=short_number, kind="words", where="ps"),
            Column("share", context.model.weights_, ".6f", partial(_percent, digits=1)),
            *(
                Column(name, peer_distances, short=short_number, where="p")
                for name, peer_distances in distances.items()
            ),
        ],
        block(context.names, means),
        ("share", "expected error", "grade", "what sets it apart"),
    )


def _part_columns(context: _Context) -> _Columns:
    tables, strongest_columns, sizes = "UUV", [], []
    for part in (1, 2, 3):
        scale = spread_of(context.V if part == 3 else context.U)
        variance = np.diag(context.model.covariance(part) / np.outer(scale, scale))
        strongest_columns += _rank_columns(variance[None], context.names_v if part == 3 else context.names)
        sizes.append(float(variance.sum()) / len(variance))
    shares = [f"{_percent(size)} of {view}" for size, view in zip(sizes, tables, strict=True)]
    return (
        [
            Column("what it is", _PARTS, kind="name", where="p"),
            Column("strongest columns", strongest_columns, short=_percent, kind="words", where="p"),
            Column("share", sizes, where=""),
            Column("share of the variance", shares, where="p"),
            Column("name", ["of U alone", "of both", "of V alone"], kind="text", head="what it is", where="s"),
        ],
        (),
        ("expected error", "grade", "name"),
    )


def _number_columns(context: _Context) -> _Columns:
    """Return the columns of coefficients or couplings."""
    answer, errors, ising = context.answer, evidence_of(context.model).component_errors, context.kind == "ising"
    pairs = [(context.names[a], context.names[b]) for a, b in context.model.edges_] if ising else []
    errors_in_units = (
        [None] * len(answer) if ising or errors is None else scale_errors(context.model, errors, answer, context.U)
    )
    name_columns = [
        Column("columns", context.titles, kind="name", heading="Pair of columns", where="ps"),
        Column("column", [a for a, _ in pairs], where="f"),
        Column("other column", [b for _, b in pairs], where="f"),
    ] if ising else [Column("column", context.titles, kind="name")]  # fmt: skip
    faces = "f" if errors is None else "psf"
    error_column = (
        () if ising else (Column("plus or minus", errors_in_units, ".4g", short_number, head="+-", where=faces),)
    )
    before = *name_columns, Column(_THIS_FIT, answer, ".8g", _SIGNED, kind="bold"), *error_column
    peers = [
        Column(name, peer_answer, ".8g", _SIGNED, head="beside V" if name == PEERS[2] else "")
        for name, peer_answer in context.peers.items()
    ]
    return (
        before,
        peers,
        (PEERS[0], PEERS[2], _THIS_FIT, "expected error" if ising else "plus or minus", "grade", name_columns[0].name),
    )


_COLUMNS = {
    "direction": _direction_columns, "component": _component_columns, "part": _part_columns, "coupling": _number_columns,
    "coefficient": _number_columns,
}  # fmt: skip


def _rank_columns(
    values: np.ndarray, names: list[str], displayed: np.ndarray | None = None
) -> list[list[tuple[str, float]]]:
    """Return for each row the columns with the largest absolute values, and the numbers to display for them."""
    displayed = values if displayed is None else displayed
    return [
        [(names[d], float(numbers[d])) for d in largest(np.abs(row), _N_STRONGEST)]
        for row, numbers in zip(values, displayed, strict=True)
    ]


def _distances(context: _Context, peer_distances: Mapping[str, float]) -> Table:
    """Build the table of simpler methods: their distance from the fit, and its meaning."""
    component_errors = [
        component.expected_error
        for component in evidence_of(context.model).components
        if component.expected_error is not None
    ]
    errors = [error for error in component_errors if np.isfinite(error)]
    error = (
        None if not errors else errors[0] if context.kind == "components" else float(np.mean(errors))
    )  # peers say s1 alone
    unit = _UNITS[context.noun] + (f", {context.unit}" if context.kind == "mixture" else "")
    advice = " Where **V as covariates** gives the same answer, prefer it: it is simpler, and makes fewer assumptions."
    return Table(
        "peers",
        (
            Column("method", list(peer_distances), kind="name"),
            Column("distance", list(peer_distances.values()), short=distance_text),
            Column(
                "what that means",
                [_explain_distance(distance, error) for distance in peer_distances.values()],
                kind="text",
            ),
        ),
        title="What simpler methods say",
        hint=f"Mean distance of their answers from this one; {unit}.{'' if context.kind == 'components' else advice}",
        label="peer",
    )


def _explain_distance(distance: float, error: float | None) -> str:
    if distance < _SAME_DISTANCE:
        return "The same answer: where the data hardly identifies the shared part, this fit falls back to it."
    if error is None:
        return ""
    if distance <= error:
        return "No more than the error of this fit: the two do not differ measurably."
    if distance <= 2 * error:
        return "Somewhat more than the error of this fit."
    return "Clearly more than the error of this fit: the choice between the two matters."


def _files(context: _Context) -> list[Table]:
    """Build the tables that are written to files only."""
    model, kind, names, tables = context.model, context.kind, context.names, []
    if kind == "components":
        errors = grade_columns(evidence_of(model), 3)[-2:]
        cells = [
            (part, f"s{part + 1}", *(column.values[part] for column in errors), a, b, value)
            for part, columns_of_part in enumerate((names, names, context.names_v))
            for a, row in zip(columns_of_part, model.covariance(part + 1), strict=True)
            for b, value in zip(columns_of_part, row, strict=True)
        ]
        cell_columns = zip(
            ("part", "name", "expected error", "grade", "column", "other column"),
            zip(*cells, strict=True),
            strict=False,
        )
        columns = [
            Column(name, columns_of_part, ".4f" if name == "expected error" else "")
            for name, columns_of_part in cell_columns
        ]
        covariance = Column("covariance", [cell[-1] for cell in cells], ".8g")
        tables.append(Table("covariances", (*columns, covariance), file=FILES[kind]))
    if kind in ("pca", "mixture"):
        rows = [
            (k, name, peer_answer[k]) for k in range(len(context.answer)) for name, peer_answer in context.peers.items()
        ]
        ks, methods, answers = zip(*rows, strict=True)
        values = np.array(answers) if kind == "pca" else context.unscale_means(np.array(answers))
        columns_of_part = Column(context.noun, ks), Column("method", methods), *block(names, values)
        tables.append(Table("simpler methods", columns_of_part, file="peers.csv"))
    if context.scaling is not None:
        centre, divisor = context.scaling
        columns_of_part = Column("column", names), Column("subtracted", centre), Column("divided by", divisor)
        tables.append(Table("scaling", columns_of_part, file="scaling.csv"))
    per_unit = model.linear_map_ / (1.0 if context.scaling is None else context.scaling[1])
    tables.append(
        Table("linear map", (Column("column of V", context.names_v), *block(names, per_unit)), file="map.csv")
    )
    return tables


def rows_of(
    model: Any, U: np.ndarray, V: np.ndarray | None, names: Sequence[str] | None, row_labels: Sequence[Column] = ()
) -> Table:
    """Return the model's answer for every row; ``names`` are those of the columns of U, if known."""
    kind, answer_columns = kind_of(model), tuple[Column, ...]()
    if kind == "regression":
        answer_columns = (Column("predicted", model.predict(U, V), ".8g"),)
    elif kind == "logistic":
        heads = [f"probability of {label}" for label in model.classes_]
        answer_columns = Column("class", model.predict(U, V)), *block(heads, model.predict_proba(U, V), ".5f")
    elif kind == "mixture":
        chance = model.predict_proba(U, V)
        answer_columns = Column("component", chance.argmax(axis=1)), Column("probability", chance.max(axis=1), ".5f")
    else:
        scores = model.transform(U, V)
        heads = [f"{'direction' if kind == 'pca' else 'column'} {i}" for i in range(scores.shape[1])]
        answer_columns = block(names if kind == "components" and names is not None else heads, scores)
    return Table("rows", (*row_labels, *answer_columns), file=SCORES)


# --- figures --------------------------------------------------------------------------------------------------------


def _draw_answers(context: _Context) -> Figure:
    """Draw the answers before and after the correction; for three parts, the covariance of the first."""
    kind, noun, spread, center = context.kind, context.noun, spread_of(context.U), context.U.mean(axis=0)
    answers, errors = (
        {_AFTER: context.answer, _BEFORE: context.peers[PEERS[0]]},
        evidence_of(context.model).component_errors,
    )
    truncation = f" The {_MAX_DOTS} largest." if len(context.titles) > _MAX_DOTS else ""
    column_truncation = f" The {_MAX_MAP_SIZE} columns with the largest." if len(context.names) > _MAX_MAP_SIZE else ""
    if noun == "coefficient":
        unit = float(np.sqrt(np.mean((context.answer * spread) ** 2)))
        answers = {name: values * spread for name, values in answers.items()}
        whiskers = None if errors is None else errors * unit
        data = _draw_dots(answers, context.names, whiskers, "effect of one standard deviation of the column")
    elif noun == "coupling":
        titles = [f"{context.names[i]}, {context.names[j]}" for i, j in context.model.edges_]
        data = _draw_dots(answers, titles, errors, "coupling: positive together, negative apart")
    elif noun == "part":
        return _draw_covariance(context, column_truncation)
    else:
        means = {name: (values - center) / spread for name, values in answers.items()}
        data = _draw_heat_map(answers if kind == "pca" else means, context.names, noun)
    caption = f"Whiskers are the expected errors.{truncation}"
    if noun in ("direction", "component"):
        quantity = "Weights of the columns" if kind == "pca" else "In standard deviations from the mean"
        first = f" The first {_MAX_DIRECTIONS}." if len(context.answer) > _MAX_DIRECTIONS else ""
        caption = (
            f"{quantity}: {_COLOURS} Before: the nearest {noun} of {context.u} as it is.{first}{column_truncation}"
        )
    label = "Before and after what is shared is taken out; the tables of the results hold the numbers"
    return Figure("answers", data, "Before and after", label, caption)


def _draw_covariance(context: _Context, truncation: str) -> Figure:
    """Draw the covariance of the part that only U has, in the columns with the largest variances."""
    covariance, names = context.answer, context.names
    chosen = np.sort(largest(np.abs(np.diag(covariance)), _MAX_MAP_SIZE))
    texts = [names[d] for d in chosen]
    hover = "{row} and {column}\n{value:+.3g}"
    data = heat_map(covariance[np.ix_(chosen, chosen)], texts, texts, hover=hover, signed=True)
    caption = (
        f"Covariances once the shared part is removed, in standard deviations of the columns: {_COLOURS}{truncation}"
    )
    label = "Heat map of covariances; covariances.csv holds the numbers"
    return Figure("answers", data, "How the columns go together, without what is shared", label, caption)


_COLOURS = "blue positive, brown negative."


def _draw_spectra(context: _Context, covariance: np.ndarray, specific: np.ndarray) -> Figure:
    """Draw eigenvalues of two covariances as bars beside each other."""
    number = np.arange(1, len(specific) + 1)
    matrices = {f"{context.u} as it is": covariance, "what it has alone": specific}
    values = {name: np.maximum(np.linalg.eigvalsh(matrix)[::-1], 0) for name, matrix in matrices.items()}
    hover = [
        [f"direction {i}\n{name}: variance {v:.3g}" for i, v in zip(number, eigenvalues, strict=True)]
        for name, eigenvalues in values.items()
    ]
    colours: tuple[int | str, ...] = "pale", 0
    series = [(name, eigenvalues, colour) for (name, eigenvalues), colour in zip(values.items(), colours, strict=True)]
    return Figure(
        "spectrum",
        bars(number, series, hover=hover, title="direction, by its variance", y_title="variance", height=240),
        "Variance before and after",
        f"Bars of the variances of {context.u} and of its own part",
        f"The variances of {context.u} along its main directions, columns in standard deviations, as it is and once what "
        "it shares is removed. Where a bar falls, that much was shared.",
    )


def _draw_dots(
    answers: Mapping[str, np.ndarray], names: list[str], errors: np.ndarray | None, title: str
) -> dict[str, Any]:
    """Draw a row for every name, with a dot for each method, and bars of the expected error at the first method's dots."""
    chosen = largest(np.abs(next(iter(answers.values()))), _MAX_DOTS)
    displayed = {name: values[chosen] for name, values in answers.items()}
    return dot_plot([names[d] for d in chosen], displayed, None if errors is None else errors[chosen], title=title)


def _draw_heat_map(answers: Mapping[str, np.ndarray], names: list[str], noun: str) -> dict[str, Any]:
    """Draw a heat map with a row for every component and method, methods of a component below one another."""
    answer = next(iter(answers.values()))
    chosen = np.sort(largest((answer**2).sum(axis=0), _MAX_MAP_SIZE))
    displayed = [
        (k, name, rows_of_method[k])
        for k in range(min(len(answer), _MAX_DIRECTIONS))
        for name, rows_of_method in answers.items()
    ]
    rows = [f"{k} {name.partition(':')[0]}" for k, name, _ in displayed]
    values = np.array([values_of_row[chosen] for _, _, values_of_row in displayed])

    def hover(i: int, j: int) -> str:
        k, name, values_of_row = displayed[i]
        return f"{noun} {k}, {name}\n{shorten(names[chosen[j]])}: {values_of_row[chosen[j]]:+.3g}"

    return heat_map(values, rows, [names[d] for d in chosen], hover=hover, signed=True)


def _linear_map(context: _Context) -> Figure:
    """Draw the map A, columns in units of their standard deviations."""
    scaled = context.model.linear_map_ * spread_of(context.U) / spread_of(context.V)[:, None]
    rows, columns = (np.sort(largest((scaled**2).sum(axis=axis), _MAX_MAP_SIZE)) for axis in (1, 0))
    hover = "{row} of V, from {column} of U\n{value:+.3g} standard deviations for one"
    values = scaled[np.ix_(rows, columns)]
    below = [context.names_v[a] for a in rows]
    across = [context.names[b] for b in columns]
    truncation = f" The {_MAX_MAP_SIZE} columns with the largest." if max(scaled.shape) > _MAX_MAP_SIZE else ""
    return Figure(
        "map",
        heat_map(values, below, across, hover=hover, signed=True),
        "How V sees the shared part",
        "Heat map of the linear map; map.csv holds the numbers",
        "The linear map A, columns of V below each other and those of U beside each other: how far a column of V moves, in its "
        "standard deviations, when the shared part moves a column of U by one of its own; blue with it, brown against it."
        f"{truncation} If the evidence marks a shared direction as weak, single cells may be far off.",
    )


# --- words ----------------------------------------------------------------------------------------------------------

_QUESTIONS = {
    "direction": "Along which directions does {context.u} vary in ways that {context.v} does not see?",
    "coefficient": "How does {target} depend on {context.u}, without the part shared with {context.v}?",
    "component": "Which groups do the rows form by the part of {context.u} that {context.v} lacks?",
    "coupling": "Which columns of {context.u} go together, without the part shared with {context.v}?",
    "part": "What does {context.u} have that {context.v} lacks, and how much do they share?",
}


def _write_answer(context: _Context, specific_share: float) -> str:
    """Write the answer; ``specific_share`` is the share of the variance of U that only U has."""
    model, answer, before, spread = context.model, context.answer, context.peers[PEERS[0]], spread_of(context.U)
    share_text = (
        f"{_percent(min(max(specific_share, 0.0), 1.0))} of the variance of {context.u} is its own; the rest is shared with "
        f"{context.v}."
    )
    if context.noun in ("coefficient", "coupling"):
        first = largest(np.abs(answer * spread if context.noun == "coefficient" else answer), 3)
        strongest = listing(f"{context.titles[i]} ({_SIGNED(answer[i])}, before {_SIGNED(before[i])})" for i in first)
        return f"Strongest: {strongest}. {share_text}" if len(first) else share_text
    if context.noun == "direction":
        weights = [listing(name for name, _ in columns[:3]) for columns in _rank_columns(answer[:2], context.names)]
        shares = [_percent(share) for share in model.explained_variance_ratio_]
        shares_along = [f"{share} along {names}" for share, names in zip(shares, weights, strict=False)]
        return f"{share_text} Its own part varies {listing(shares_along)}."
    if context.noun == "component":
        deviations = (answer - context.U.mean(axis=0)) / spread
        descriptions = [
            listing(f"{'high' if d[i] > 0 else 'low'} {context.names[i]}" for i in largest(np.abs(d), 2))
            for d in deviations
        ]
        groups = [f"{_percent(w)} of the rows ({text})" for w, text in zip(model.weights_, descriptions, strict=True)]
        return f"{count(len(answer), 'group')}: {listing(groups)}. {share_text}"
    strongest = listing(context.names[i] for i in largest(np.diag(answer), 3))
    return f"{share_text} Its own part is strongest in {strongest}."


_ERRORS = {
    "direction": "Expected error of a direction: {} on average, the sine of the angle to the true one (0.1 is about 6 "
    "degrees).",
    "coefficient": "Expected error of a coefficient: {} on average, relative to the size of the coefficients.",
    "component": "Expected error of a component's mean: {} on average, UNIT over all columns together.",
    "coupling": "Expected error of a coupling: {} on average.",
    "part": "Expected error of a part: {} on average, relative to the size of its covariance.",
}
_UNITS = {
    "direction": "sine of the angle between directions",
    "coefficient": "relative to the size of the coefficients",
    "component": "distance of the means",
    "coupling": "difference of couplings",
    "part": "of the covariance of U's own part, relative to its size",
}
_HINTS = {
    "direction": "Directions along which the part that only {u} has varies most, and the columns that make them up{scaled}. "
    "Variance is the share in the variance of this part. Angles are distances to the nearest direction of a simpler method: 0° "
    "is the same direction, 90° has nothing in common.",
    "component": "Groups of rows by the part that only {u} has, the largest first, with their means in the columns that set "
    "them apart. The columns of simpler methods show how far their nearest group is from it, {unit}.",
    "coupling": "How strongly two columns of {u} go together, the others held fixed, once the shared part is removed: "
    "positive together, negative apart. The answers of simpler methods are beside them.",
    "part": "Share of each part in the variance, columns in standard deviations, and its strongest columns, with the share of "
    "the column's variance.",
    "coefficient": "Effect of one more unit of a column on {adds}, once the shared part is removed, in the units of the "
    "files. A coefficient smaller than its plus or minus may be zero, or have the other sign. The answers of simpler methods "
    "are beside them.",
}
_MEANINGS = {
    "direction": "A weighted sum of the columns of U. Along the first direction the part that only U has varies most; the "
    "second varies most at right angles to the first, and so on. Directions of almost equal variance can be exchanged by "
    "chance, which their expected errors show.",
    "component": "A group of rows that are alike in the part that only U has. A group is taken to be round: equally wide in "
    "all columns{divided}.",
    "coupling": "For columns with two states. Two columns that go together only because both go with a third one have no "
    "coupling.",
    "part": "The fit learns how the columns of a part vary together (its covariance), not its rows. scores.csv has the best "
    "estimate of the rows of the part that only U has, from both tables.",
    "coefficient": "As in a regression on U without its shared part. The shared part blurs U, which weakens and mixes the "
    "coefficients of a regression on U as it is.",
}
_EXPECTED = (
    "The rows are split at random, and the answer is learned again from the parts. Its changes, and its possible bias towards "
    "no correction, show how far it may be from the truth. "
)
_SIMPLER = "*V as covariates* is a simpler answer that needs less data; see [below](#peers)."
_READING = (
    ("U, V and the parts", "U = s1 + s2 and V = A s2 + s3, row by row: s1 is only in U, s2 in both, s3 only in V. "
     "V measures a disturbance of U, or something known already; the question is what U holds beyond it. The files have only "
     "the sums. A shared part that is not Gaussian (skewed, with outliers, in groups, or with sharp bounds) leaves traces in "
     "both tables that nothing else leaves, and so identifies the parts; a Gaussian shared part leaves none."),
    ("Simpler methods", "*U alone* ignores V. *CCA* removes the directions of U that correlate most with V, and everything "
     "that only U has along them. *V as covariates* removes from U the prediction of a linear regression on V; as V has a part "
     "of its own, some of the shared part remains."),
    ("The shared cumulants", "Cumulants measure dependence of two tables beyond their correlation. The line *shared "
     "cumulant above noise* shows how clearly those of U and V are above chance: if they are not, the shared part looks "
     "Gaussian, or there are too few rows, and nothing here should be used. *Conditioning of A*, which is not part of "
     "the verdict, is how many times more clearly V sees one shared direction than another: from about ten on, some are "
     "hardly detected."),
)  # fmt: skip
