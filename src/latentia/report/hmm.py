"""Summaries of hidden Markov models, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._entries import is_missing
from .._validation import check_same_rows
from ..passes.blocks import check_lengths
from ..sequences import TwoStateHMM
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .figures import heat_map, lines, means_map, shorten, strips
from .page import page
from .parts import column_names, component_marks, count, evidence_of, grades_say, largest, listing, short_number

_MAX_SYMBOLS = 10  # symbols of a state in a line
_MAX_BARS = 15
_MAX_FILE_SYMBOLS = 20
_MIN_PROBABILITY = 5e-4
_MAX_SEQUENCES, _MAX_STEPS, _MAX_CURVE_STEPS, _MAX_CURVES, _MAX_MEANS = 8, 300, 500, 5, 8


def mean_stays(transmat: np.ndarray) -> np.ndarray:
    """Compute the mean number of steps in a state, 1 / (1 - p), shape (K,); infinite if it is never left."""
    leave = 1 - np.diag(transmat)
    return np.where(leave > 1e-6, 1 / np.maximum(leave, 1e-6), np.inf)


def emission_lifts(model: Any, steps: np.ndarray | None = None) -> np.ndarray:
    """Compute the lift of every symbol in every state, (K, S): its probability relative to the steps or to the long run."""
    frequencies = np.asarray(model.weights_ @ model.emissionprob_)
    if steps is not None:
        observed = np.array([step for step in steps.tolist() if not is_missing(step)], dtype=model.symbols_.dtype)
        counts = np.bincount(np.searchsorted(model.symbols_, observed), minlength=len(model.symbols_))
        frequencies = counts / max(len(observed), 1)
    return np.asarray(model.emissionprob_ / np.where(frequencies > 0, frequencies, np.inf))


@page("States", "sequences and their paths", "X, lengths")
def summarize_hmm(
    model: Any, steps: Any = None, lengths: Any = None, *, columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None, row_labels: Sequence[Column] = (), criteria: str = "",
) -> Summary:  # fmt: skip
    """Summarize a hidden Markov model and its reliability.

    Parameters
    ----------
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    steps : array of shape (n_steps,) of symbols, or (n_steps, D) of numbers, optional
        The sequences one after another, usually those of the fit; None and NaN are missing steps. Without them the summary has
        no steps.
    lengths : sequence of int, optional
        Lengths of the sequences; by default there is one.
    columns : sequence of str of length D, optional
        Names of the features.
    names : sequence of str of length n_sequences, optional
        Names of the sequences.
    row_labels : sequence of Column
        Columns that label steps of numbers.
    criteria : str
        Criteria of the fit, as the screen shows them.

    Returns
    -------
    Summary

    """
    symbols, evidence, size = model.of_symbols, evidence_of(model), len(model.weights_)
    features = [] if symbols else column_names(columns, model.means_.shape[1])
    content = count(len(model.symbols_), "different symbol") if symbols else count(len(features), "column")
    headline, rows = f"{count(size, 'state')} with {content}.", None
    if steps is not None:
        steps = np.asarray(steps)
        lengths = check_lengths([len(steps)] if lengths is None else lengths, len(steps))
        data_size = f"{count(len(lengths), 'sequence')} of {content} ({len(steps):,} steps in all)"
        headline = f"{count(size, 'state')} in {data_size}."
        rows = build_rows_table(model, steps, lengths, names, row_labels)
    state_columns = _build_state_columns(model, symbols, evidence)
    paths = () if rows is None else (rows, lengths)
    words, *parts = (
        _summarize_symbols(model, state_columns, steps, *paths)
        if symbols
        else _summarize_numbers(model, state_columns, features, steps, *paths)
    )
    hint = "The most visited state first. " + (
        "A symbol can be probable because it is frequent everywhere; the symbols that set a state apart are much more probable "
        "in it than elsewhere." if symbols else "The columns that set a state apart most, as mean ± standard deviation."
    )  # fmt: skip
    states = Table(
        "components", (*state_columns, *words), title="All states", hint=hint, caption=f"{size} states, most visited first",
        label="state", note=criteria, rest="states.csv",
    )  # fmt: skip
    error = (
        "Expected error of a state: {1:.2f} on average, where 0 is perfect and 2 is all wrong. About {2:.0%} of a state's "
        "probability is then on the wrong symbols."
        if symbols else "Expected error of a state's means: {} standard deviations on average."
    )  # fmt: skip
    (transitions, *tables), state_names = _build_transitions(model), _name_states(model, words, features)
    passing = "sequences" if rows is None or len(lengths) > 1 else "steps"
    main_figure = transitions if rows is None else _draw_paths(rows, lengths, state_names)
    return Summary(
        headline=headline,
        parts=(states, *([transitions] if main_figure is not transitions else []), *tables, *parts, *paths[:1]),
        answer=Answer(f"Which hidden states do the {passing} pass through?", _write_answer(model, state_names), main_figure),
        error=error, reading=(("Path", _PATH_MEANING),),
        note="" if (not isinstance(model, TwoStateHMM) or model.detected_) else _NOT_DETECTED,
    )  # fmt: skip


def build_rows_table(
    model: Any, steps: np.ndarray, lengths: Any, names: Any = None, row_labels: Sequence[Column] = ()
) -> Table:
    """Build the table of every step's state on the most probable path, and its probability."""
    states = model.predict(steps, lengths)
    probability = model.predict_proba(steps, lengths)[np.arange(len(states)), states]
    sequence_names = [f"sequence {i}" for i in range(1, len(lengths) + 1)] if names is None else names
    check_same_rows(lengths=len(lengths), names=len(sequence_names))
    sequence = Column(
        "sequence", [str(name) for name, n in zip(sequence_names, lengths, strict=True) for _ in range(n)]
    )
    step = Column("step", [t for n in lengths for t in range(1, n + 1)])
    step_columns = (Column("symbol", steps),) if steps.ndim == 1 else row_labels
    path = Column("state", states), Column("probability", probability, ".5f")
    return Table("rows", (sequence, step, *step_columns, *path), file="paths.csv")


# --- states ---------------------------------------------------------------------------------------------------------


def _build_state_columns(model: Any, symbols: bool, evidence: Any) -> tuple[Column, ...]:
    """Build the first columns of all tables of states."""
    size = len(model.weights_)
    distribution = "probabilities of the symbols" if symbols else "means and standard deviations of the columns"
    state = (
        f"A condition that is not observed itself, only through the steps: each state has its own {distribution}, and its own "
        "probabilities of the next state. A state has a number, not a name: you decide what it stands for."
    )
    share = (
        "The share of all steps in the long run; the mean number of steps from entering the state to leaving it; the share of "
        "sequences that begin in it."
    )
    error = _describe_error(evidence, symbols, isinstance(model, TwoStateHMM))
    return (
        Column("state", range(size), kind="key", meaning=state),
        Column("share", model.weights_, ".6f", kind="share", term="Share, mean stay, starts", meaning=share),
        Column("mean stay", mean_stays(model.transmat_), short=_format_stay, where="ps"),
        *grade_columns(evidence, size, unit="l1 of 2" if symbols else "standard deviations", meaning=error),
        Column("start probability", model.startprob_, ".6f", ".0%", heading="Starts", where="pf"),
    )


def _format_stay(steps: float) -> str:
    return f"{steps:.1f}" if steps < 1e5 else "for ever"


def _describe_error(evidence: Any, symbols: bool, is_two_state: bool) -> str:
    """Describe the expected error."""
    method = "The steps are split at random, and states are fitted to each part. The distance by which a state"
    consequence = f"other data of the same kind would give it other {'symbols' if symbols else 'means'}"
    grades = grades_say(evidence, "a state", consequence)
    if not symbols:
        return (
            f"{method}'s means move estimates their distance from the truth, in standard deviations of the columns. {grades} "
            "The limit depends on the distances between the states."
        )
    noise = "The distance of a state from the truth, computed from the noise in the pairs of neighbours"
    return (
        f"{noise if is_two_state else f'{method} moves estimates its distance from the truth'}. The error is the sum of the "
        f"differences of all its symbol probabilities: 0 is perfect, 2 means that no symbol is right. {grades} The limit is 0.4"
        f"{'' if is_two_state else ', or less if states differ little from each other'}."
    )


def _build_states_table(state_columns: tuple[Column, ...], *columns: Column) -> Table:
    """Build the file of states, with an equal number of lines for each."""
    lines_per_state = len(columns[0].values) // len(state_columns[0].values)
    repeated = [
        replace(column, values=[value for value in column.values for _ in range(lines_per_state)], meaning="")
        for column in state_columns
    ]
    return Table("states", (*repeated, *columns), file="states.csv")


def _build_transitions(model: Any) -> tuple[Figure, Table]:
    names = [str(i) for i in range(len(model.transmat_))]
    hover = "from state {row} to state {column}\nprobability {value:.3f}"
    figure = Figure(
        "transitions", heat_map(model.transmat_, names, names, hover=hover, row_title="from", column_title="to"),
        "Transitions", "Heat map of the transitions; transitions.csv holds the same numbers",
        "Row: the state now. Column: the state of the next step. A row sums to one. The diagonal holds the probabilities to "
        "stay, so that a strong diagonal means long stays.", shape="square",
    )  # fmt: skip
    state, stay = Column("from state", range(len(names))), Column("mean stay", mean_stays(model.transmat_), ".4f")
    moves = block([f"to {j}" for j in names], model.transmat_, ".6f")
    return figure, Table("transitions", (state, *moves, stay), file="transitions.csv")


def _name_states(model: Any, words: Sequence[Column], features: list[str]) -> list[str]:
    """Name states by the symbols that set them apart, or else by the most probable ones; or by columns."""
    if model.of_symbols:
        return [
            " ".join((distinctive or probable)[:3])
            for probable, distinctive in zip(words[1].values, words[2].values, strict=True)
        ]
    distances = (model.means_ - model.weights_ @ model.means_) / (np.sqrt(model.weights_ @ model.variances_) + 1e-300)
    top_columns = [largest(np.abs(deviations), 2) for deviations in distances]
    return [
        listing(f"{'high' if deviations[d] > 0 else 'low'} {features[d]}" for d in top)
        for deviations, top in zip(distances, top_columns, strict=True)
    ]


def _write_answer(model: Any, state_names: Sequence[str]) -> str:
    stays = [
        f"{_format_stay(stay)} at a time" if stay < 1e5 else "which is never left"
        for stay in mean_stays(model.transmat_)
    ]
    states_data = zip(state_names, model.weights_, stays, strict=True)
    states = [
        f"state {k} ({description}), {share:.0%} of the steps, {stay}"
        for k, (description, share, stay) in enumerate(states_data)
    ]
    return f"{count(len(states), 'state')}: {listing(states, comma='; ')}."


def _draw_paths(rows: Table, lengths: Any, state_names: Sequence[str]) -> Figure:
    """Draw the paths of the first sequences."""
    paths = [(stop - length, stop) for stop, length in zip(np.cumsum(lengths)[:_MAX_SEQUENCES], lengths, strict=False)]
    strips_of_sequences = [
        (str(rows["sequence"].values[a]), np.asarray(rows["state"].values[a:b])) for a, b in paths if b > a
    ]
    state_labels = [shorten(f"state {k}: {description}", 40) for k, description in enumerate(state_names)]
    shows_all = len(lengths) <= _MAX_SEQUENCES and max(lengths) <= _MAX_STEPS
    sequences_text = f" of the first {_MAX_SEQUENCES} sequences" if len(lengths) > _MAX_SEQUENCES else ""
    omission = "" if shows_all else f" The first {_MAX_STEPS} steps{sequences_text}."
    return Figure(
        "paths", strips(strips_of_sequences, state_labels, title="step", max_steps=_MAX_STEPS), "The states over time",
        "Strips of the states over the steps; paths.csv holds the path", f"The most probable path of states.{omission}",
    )  # fmt: skip


# --- of symbols -----------------------------------------------------------------------------------------------------


def _summarize_symbols(
    model: Any, state_columns: tuple[Column, ...], steps: Any, rows: Table | None = None, lengths: Any = ()
) -> tuple[Any, ...]:
    """Summarize states of symbols: columns of words, the file of the most probable symbols, and bars."""
    emissions = model.emissionprob_
    lifts = emission_lifts(model, steps)
    names = [str(symbol) for symbol in model.symbols_]
    ranked = np.argsort(-emissions, axis=1, kind="stable")
    by_weight = np.argsort(-emissions * np.log(np.maximum(lifts, 1e-12)), axis=1, kind="stable")[:, :_MAX_SYMBOLS]
    probable = [
        [s for s in symbols[:_MAX_BARS] if p[s] >= min(_MIN_PROBABILITY, p.max())]
        for symbols, p in zip(ranked, emissions, strict=True)
    ]
    distinctive = [[s for s in symbols if lift[s] > 1] for symbols, lift in zip(by_weight, lifts, strict=True)]
    words = [
        Column(
            name, [[names[s] for s in symbols[:_MAX_SYMBOLS]] for symbols in symbol_lists], kind="words", between=" ",
            heading=head, where=where,
        )
        for name, symbol_lists, head, where in (
            ("most probable symbols", ranked, "", "s"), ("probable symbols", probable, "Most probable symbols", "p"),
            ("set it apart", distinctive, "", "p"),
        )
    ]  # fmt: skip
    top = ranked[:, :_MAX_FILE_SYMBOLS]
    states = _build_states_table(
        state_columns,
        Column("rank", [*range(1, top.shape[1] + 1)] * len(top)),
        Column("symbol", model.symbols_[top.ravel()]),
        Column("probability", np.take_along_axis(emissions, top, 1).ravel(), ".8f"),
        Column("lift", np.take_along_axis(lifts, top, 1).ravel(), ".4f", meaning=_LIFT_MEANING),
    )
    state_data = zip(component_marks(evidence_of(model), len(emissions)), probable, emissions, lifts, strict=True)
    panels = [
        {"number": k, "grade": mark, "error": None, "bars": [
            (names[s], 70 * p[s] / p[symbols[0]], f"{p[s]:.1%}", f"{lift[s]:.{int(lift[s] < 100)}f}") for s in symbols
        ]} for k, ((_, mark), symbols, p, lift) in enumerate(state_data)
    ]  # fmt: skip
    hint = "Bars: probability in the state. Lift: how many times as probable as in all the data."
    heads, title = ("Symbol", "Probability", "Lift"), "Symbols of the states"
    return words, states, Section("panels.html", {"title": title, "hint": hint, "heads": heads, "panels": panels})


_LIFT_MEANING = (
    "The probability of a symbol in the state, divided by that in all the data. A lift of 1 says nothing about the state. "
    "Large lifts of rare symbols rest on few cases."
)
_PATH_MEANING = (
    "The most probable states of a whole sequence. The probability in paths.csv says how certain each single step is."
)
_NOT_DETECTED = (
    "No second state was found: the steps look like independent draws, in which the next step does not depend on earlier ones, "
    "as far as these steps can show. Both states below are the same: the frequencies of the symbols."
)


# --- of numbers -----------------------------------------------------------------------------------------------------


def _summarize_numbers(
    model: Any,
    state_columns: tuple[Column, ...],
    features: list[str],
    steps: Any,
    rows: Table | None = None,
    lengths: Any = (),
) -> tuple[Any, ...]:
    """Summarize states of numbers: columns of words, the file of means and deviations, figures, and a file of covariances."""
    means, deviations, weights = model.means_, np.sqrt(np.asarray(model.variances_)), model.weights_
    spread, centre = np.sqrt(weights @ model.variances_) + 1e-300, weights @ means
    states = _build_states_table(
        state_columns,
        Column("column", features * len(means)),
        Column("mean", means.ravel(), ".8g"),
        Column("standard deviation", deviations.ravel(), ".8g"),
    )
    chosen = np.sort(np.argsort(-np.abs(means - centre) / spread, axis=1, kind="stable")[:, :_MAX_MEANS])
    plain = [list(zip(features, row, strict=True)) for row in means.tolist()]
    top_columns = [
        [(*plain[i][d], short_number(deviation[d])) for d in top]
        for i, (top, deviation) in enumerate(zip(chosen, deviations, strict=True))
    ]
    words = (
        Column("means", plain, short=short_number, kind="words", where="s", most=_MAX_SYMBOLS),
        Column(
            "means that differ",
            top_columns,
            short=short_number,
            kind="words",
            heading="Means",
            where="p",
            after=" ± {}",
        ),
    )
    total = np.sqrt(weights @ (model.variances_ + (means - centre) ** 2))
    distances = (means - centre) / np.where(total > 0, total, 1.0)
    figure = Figure(
        "means", means_map("state", means, distances, weights, features, deviations), "Means of the states",
        "Heat map of the means; states.csv holds the same numbers",
        "Distance of each state's mean from the overall mean, in standard deviations of the column: blue above, brown below. "
        "Columns: those whose means differ most, at most 60.",
    )  # fmt: skip
    covariance_tables = () if model.covariance_type == "diag" else (_build_covariance_table(model, features),)
    order = np.argsort(-means.std(axis=0) / spread, kind="stable")[:_MAX_CURVES]
    curves = (
        ()
        if rows is None
        else (_draw_curves(steps[: lengths[0]][:_MAX_CURVE_STEPS], rows["state"].values, features, order),)
    )
    return words, states, figure, *curves, *covariance_tables


def _draw_curves(steps: np.ndarray, states: Any, features: list[str], order: np.ndarray) -> Figure:
    """Draw the path over the first steps, and the columns that distinguish the states best."""
    x = np.arange(1, len(steps) + 1)
    series = [("state", x, states[: len(steps)]), *((features[d], x, steps[:, d]) for d in order)]
    return Figure(
        "curves", lines(series, steps=[0], title="step", whole_numbers=True), "The first steps",
        "Path of states and columns over the first steps; paths.csv holds the path",
        "Top: the most probable path of states through the first sequence. Below: the columns that distinguish the states "
        "best. Where a state begins, these jump to its means.",
    )  # fmt: skip


def _build_covariance_table(model: Any, features: list[str]) -> Table:
    """Build the table of covariances in every state: a line for each pair of columns."""
    size, width = model.means_.shape
    covariances, (i, j) = np.broadcast_to(model.covariances_, (size, width, width)), np.triu_indices(width, 1)
    deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    values = covariances[:, i, j]
    return Table(
        "covariances",
        (
            Column("state", np.repeat(np.arange(size), len(i))),
            Column("column", [features[d] for d in i] * size),
            Column("other column", [features[d] for d in j] * size),
            Column("covariance", values.ravel(), ".8g"),
            Column("correlation", (values / (deviations[:, i] * deviations[:, j])).ravel(), ".4f"),
        ),
        file="covariances.csv",
    )
