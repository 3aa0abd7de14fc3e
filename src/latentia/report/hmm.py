"""Hidden Markov models, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import LatentiaError
from ..sequences import TwoStateHMM
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .figures import heat_map, lines, means_map, shorten, strips
from .page import page
from .parts import column_names, component_marks, count, evidence_of, grades_say, largest, listing, short_number

_LISTED = 10  # symbols of a state, and the probability of one that is worth a bar
_BARS = 15
_IN_FILE = 20
_LEAST = 5e-4
_SEQUENCES, _STEPS, _CURVE_STEPS, _CURVES, _MEANS = 8, 300, 500, 5, 8


def mean_stays(transmat: np.ndarray) -> np.ndarray:
    """Steps that a state lasts on average, 1 / (1 - p), shape (K,); infinite where it is never left."""
    leave = 1 - np.diag(transmat)
    return np.where(leave > 1e-6, 1 / np.maximum(leave, 1e-6), np.inf)


def emission_lifts(model: Any, steps: np.ndarray | None = None) -> np.ndarray:
    """How many times as probable as overall, in the steps or in the long run, every symbol is in every state, shape (K, S)."""
    frequencies = np.asarray(model.weights_ @ model.emissionprob_)
    if steps is not None:
        seen = np.array([step for step in steps if step is not None]) if steps.dtype.kind == "O" else steps
        frequencies = np.bincount(np.searchsorted(model.symbols_, seen), minlength=len(model.symbols_)) / len(seen)
    return np.asarray(model.emissionprob_ / np.where(frequencies > 0, frequencies, np.inf))


@page("States", "sequences and their paths", "X, lengths")
def summarize_hmm(
    model: Any, steps: Any = None, lengths: Any = None, *, columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None, row_labels: Sequence[Column] = (), criteria: str = "",
) -> Summary:  # fmt: skip
    """Say what a hidden Markov model found, and how far it can be trusted.

    Parameters
    ----------
    model : SpectralHMM or TwoStateHMM
        A fitted model.
    steps : array of shape (n_steps,) of symbols, or (n_steps, D) of numbers, optional
        The sequences one after another, usually those that the model was fitted on; None and NaN are missing steps. Without
        them none are shown.
    lengths : sequence of int, optional
        Lengths of the sequences; by default there is one.
    columns : sequence of str of length D, optional
        Names of the features.
    names : sequence of str of length n_sequences, optional
        Names of the sequences.
    row_labels : sequence of Column
        What tells steps of numbers apart.
    criteria : str
        What the screen says of the fit as a whole.

    Returns
    -------
    Summary

    """
    symbols, evidence, size = model.of_symbols, evidence_of(model), len(model.weights_)
    features = [] if symbols else column_names(columns, model.means_.shape[1])
    what = count(len(model.symbols_), "different symbol") if symbols else count(len(features), "column")
    says, rows = f"{count(size, 'state')} with {what}.", None
    if steps is not None:
        steps = np.asarray(steps)
        lengths = np.array([len(steps)] if lengths is None else lengths)
        if lengths.sum() != len(steps):
            raise LatentiaError(
                f"lengths add up to {lengths.sum()}, and the data has {len(steps)} steps: they must agree."
            )
        in_all = f"{count(len(lengths), 'sequence')} of {what} ({len(steps):,} steps in all)"
        says, rows = f"{count(size, 'state')} in {in_all}.", rows_of(model, steps, lengths, names, row_labels)
    first = _first(model, symbols, evidence)
    seen = () if rows is None else (rows, lengths)
    words, *parts = (
        _of_symbols(model, first, steps, *seen) if symbols else _of_numbers(model, first, features, steps, *seen)
    )
    hint = "The most visited state first. " + (
        "A symbol can be probable because it is frequent everywhere; those that set a state apart are much more probable in it "
        "than elsewhere." if symbols else "The columns that set a state apart most, as mean ± standard deviation."
    )  # fmt: skip
    states = Table(
        "components", (*first, *words), title="All states", hint=hint, caption=f"{size} states, most visited first",
        label="state", note=criteria, rest="states.csv",
    )  # fmt: skip
    error = (
        "Expected error of a state: {1:.2f} on average, where 0 is perfect and 2 is all wrong. That is about {2:.0%} of a "
        "state's probability expected on the wrong symbols."
        if symbols else "Expected error of a state's means: {} standard deviations on average."
    )  # fmt: skip
    (moves, *listed), called = _transitions(model), _called(model, words, features)
    pass_ = "sequences" if rows is None or len(lengths) > 1 else "steps"
    picture = moves if rows is None else _strip(rows, lengths, called)
    return Summary(
        says=says, parts=(states, *([moves] if picture is not moves else []), *listed, *parts, *seen[:1]),
        answer=Answer(f"Which hidden states do the {pass_} pass through?", _words(model, called), picture),
        error=error, reading=(("Path", _PATH),),
        note="" if (not isinstance(model, TwoStateHMM) or model.detected_) else _NOT_DETECTED,
    )  # fmt: skip


def rows_of(model: Any, steps: np.ndarray, lengths: Any, names: Any = None, row_labels: Sequence[Column] = ()) -> Table:
    """The most probable state of every step on its path, and how sure it is."""
    states = model.predict(steps, lengths)
    sure = model.predict_proba(steps, lengths)[np.arange(len(states)), states]
    called = [f"sequence {i}" for i in range(1, len(lengths) + 1)] if names is None else names
    sequence = Column("sequence", [str(name) for name, n in zip(called, lengths, strict=True) for _ in range(n)])
    step = Column("step", [t for n in lengths for t in range(1, n + 1)])
    shown = (Column("symbol", steps),) if steps.ndim == 1 else row_labels
    path = Column("state", states), Column("probability", sure, ".5f")
    return Table("rows", (sequence, step, *shown, *path), file="paths.csv")


# --- states ---------------------------------------------------------------------------------------------------------


def _first(model: Any, symbols: bool, evidence: Any) -> tuple[Column, ...]:
    """What tables of states begin with."""
    size = len(model.weights_)
    has = "probabilities of the symbols" if symbols else "means and standard deviations of the columns"
    state = (
        f"A condition that is not observed, but shows in what comes out of it: each state has its own {has}, and its own "
        "probabilities of the state that comes next. A state has a number, not a name: what it stands for is for the reader to "
        "say."
    )
    share = (
        "The share of all steps in the long run; how many steps the state lasts on average once it is entered; how often a "
        "sequence begins in it."
    )
    error = _error(evidence, symbols, isinstance(model, TwoStateHMM))
    return (
        Column("state", range(size), kind="key", meaning=state),
        Column("share", model.weights_, ".6f", kind="share", term="Share, mean stay, starts", meaning=share),
        Column("mean stay", mean_stays(model.transmat_), short=_stay, where="ps"),
        *grade_columns(evidence, size, unit="l1 of 2" if symbols else "standard deviations", meaning=error),
        Column("start probability", model.startprob_, ".6f", ".0%", heading="Starts", where="pf"),
    )


def _stay(steps: float) -> str:
    return f"{steps:.1f}" if steps < 1e5 else "for ever"


def _error(evidence: Any, symbols: bool, two: bool) -> str:
    """What the expected error is."""
    parts = "The steps are split at random, and states are learned from the parts anew. How far a state"
    other = f"other data of the same kind would give it other {'symbols' if symbols else 'means'}"
    grades = grades_say(evidence, "a state", other)
    if not symbols:
        return (
            f"{parts}'s means move says how far they may be from the truth, in standard deviations of the columns. {grades} "
            "The limit depends on how far the states lie apart."
        )
    noise = "How far a state may be from the truth, computed from the noise that is left in the pairs of neighbours"
    return (
        f"{noise if two else f'{parts} moves says how far it may be from the truth'}. The error is the sum of the differences "
        f"of all its symbol probabilities: 0 is perfect, 2 means that no symbol is right. {grades} The limit is 0.4"
        f"{'' if two else ', or less where states differ little from each other'}."
    )


def _in_file(first: tuple[Column, ...], *own: Column) -> Table:
    """The file of states, in which each has as many lines."""
    each = len(own[0].values) // len(first[0].values)
    again = [replace(one, values=[value for value in one.values for _ in range(each)], meaning="") for one in first]
    return Table("states", (*again, *own), file="states.csv")


def _transitions(model: Any) -> tuple[Figure, Table]:
    names = [str(i) for i in range(len(model.transmat_))]
    hover = "from state {row} to state {column}\nprobability {value:.3f}"
    figure = Figure(
        "transitions", heat_map(model.transmat_, names, names, hover=hover, row_title="from", column_title="to"),
        "Transitions", "Heat map of the transitions; transitions.csv holds the same numbers",
        "Row: the state now. Column: the state of the next step. A row sums to one; what lies on the diagonal is the "
        "probability to stay, so that a strong diagonal means long stays.", shape="square",
    )  # fmt: skip
    state, stay = Column("from state", range(len(names))), Column("mean stay", mean_stays(model.transmat_), ".4f")
    moves = block([f"to {j}" for j in names], model.transmat_, ".6f")
    return figure, Table("transitions", (state, *moves, stay), file="transitions.csv")


def _called(model: Any, words: Sequence[Column], features: list[str]) -> list[str]:
    """What shows a state: the symbols that set it apart, or else the most probable ones; or its columns."""
    if model.of_symbols:
        return [
            " ".join((apart or probable)[:3]) for probable, apart in zip(words[1].values, words[2].values, strict=True)
        ]
    distances = (model.means_ - model.weights_ @ model.means_) / (np.sqrt(model.weights_ @ model.variances_) + 1e-300)
    first = [largest(np.abs(own), 2) for own in distances]
    return [
        listing(f"{'high' if own[d] > 0 else 'low'} {features[d]}" for d in few)
        for own, few in zip(distances, first, strict=True)
    ]


def _words(model: Any, called: Sequence[str]) -> str:
    stays = [
        f"{_stay(stay)} at a time" if stay < 1e5 else "which is never left" for stay in mean_stays(model.transmat_)
    ]
    each = zip(called, model.weights_, stays, strict=True)
    states = [f"state {k} ({shows}), {share:.0%} of the steps, {stay}" for k, (shows, share, stay) in enumerate(each)]
    return f"{count(len(states), 'state')}: {listing(states, comma='; ')}."


def _strip(rows: Table, lengths: Any, called: Sequence[str]) -> Figure:
    """The paths of the first sequences."""
    paths = [(stop - length, stop) for stop, length in zip(np.cumsum(lengths)[:_SEQUENCES], lengths, strict=False)]
    found = [(str(rows["sequence"].values[a]), np.asarray(rows["state"].values[a:b])) for a, b in paths if b > a]
    kinds = [shorten(f"state {k}: {shows}", 40) for k, shows in enumerate(called)]
    whole = len(lengths) <= _SEQUENCES and max(lengths) <= _STEPS
    few = f" of the first {_SEQUENCES} sequences" if len(lengths) > _SEQUENCES else ""
    which = "" if whole else f" The first {_STEPS} steps{few}."
    return Figure(
        "paths", strips(found, kinds, title="step", max_steps=_STEPS), "The states over time",
        "Strips of the states over the steps; paths.csv holds the path", f"The most probable path of states.{which}",
    )  # fmt: skip


# --- of symbols -----------------------------------------------------------------------------------------------------


def _of_symbols(
    model: Any, first: tuple[Column, ...], steps: Any, rows: Table | None = None, lengths: Any = ()
) -> tuple[Any, ...]:
    """Columns of words, the file of the most probable symbols, and bars."""
    found, lifts, names = model.emissionprob_, emission_lifts(model, steps), [str(one) for one in model.symbols_]
    ranked = np.argsort(-found, axis=1, kind="stable")
    raised = np.argsort(-found * np.log(np.maximum(lifts, 1e-12)), axis=1, kind="stable")[:, :_LISTED]
    probable = [[s for s in own[:_BARS] if p[s] >= min(_LEAST, p.max())] for own, p in zip(ranked, found, strict=True)]
    apart = [[s for s in own if lift[s] > 1] for own, lift in zip(raised, lifts, strict=True)]
    words = [
        Column(name, [[names[s] for s in own[:_LISTED]] for own in some], kind="words", between=" ", heading=head, where=where)
        for name, some, head, where in (
            ("most probable symbols", ranked, "", "s"), ("probable symbols", probable, "Most probable symbols", "p"),
            ("set it apart", apart, "", "p"),
        )
    ]  # fmt: skip
    top = ranked[:, :_IN_FILE]
    states = _in_file(
        first,
        Column("rank", [*range(1, top.shape[1] + 1)] * len(top)),
        Column("symbol", model.symbols_[top.ravel()]),
        Column("probability", np.take_along_axis(found, top, 1).ravel(), ".8f"),
        Column("lift", np.take_along_axis(lifts, top, 1).ravel(), ".4f", meaning=_LIFT),
    )
    shown = zip(component_marks(evidence_of(model), len(found)), probable, found, lifts, strict=True)
    panels = [
        {"number": k, "grade": mark, "error": None, "bars": [
            (names[s], 70 * p[s] / p[own[0]], f"{p[s]:.1%}", f"{lift[s]:.{int(lift[s] < 100)}f}") for s in own
        ]} for k, ((_, mark), own, p, lift) in enumerate(shown)
    ]  # fmt: skip
    hint = "Bars: probability in the state. Lift: how many times as probable as in all the data."
    heads, title = ("Symbol", "Probability", "Lift"), "Symbols of the states"
    return words, states, Section("panels.html", {"title": title, "hint": hint, "heads": heads, "panels": panels})


_LIFT = (
    "How many times as probable a symbol is in the state as in all the data. A lift of 1 says nothing about the state. Large "
    "lifts of rare symbols rest on few cases."
)
_PATH = (
    "The one sequence of states that is the most probable for a whole sequence. How sure a single step is, the probability in "
    "paths.csv says."
)
_NOT_DETECTED = (
    "No second state was found: the steps look like independent draws, and what comes next does not depend on what came "
    "before, as far as so few steps can show. Both states below are the same, the frequencies of the symbols."
)


# --- of numbers -----------------------------------------------------------------------------------------------------


def _of_numbers(
    model: Any, first: tuple[Column, ...], features: list[str], steps: Any, rows: Table | None = None, lengths: Any = ()
) -> tuple[Any, ...]:
    """Columns of words, the file of means and deviations, and figures; with covariances, a file of these."""
    means, deviations, weights = model.means_, np.sqrt(np.asarray(model.variances_)), model.weights_
    spread, centre = np.sqrt(weights @ model.variances_) + 1e-300, weights @ means
    states = _in_file(
        first,
        Column("column", features * len(means)),
        Column("mean", means.ravel(), ".8g"),
        Column("standard deviation", deviations.ravel(), ".8g"),
    )
    chosen = np.sort(np.argsort(-np.abs(means - centre) / spread, axis=1, kind="stable")[:, :_MEANS])
    plain = [list(zip(features, row, strict=True)) for row in means.tolist()]
    told = [
        [(*plain[i][d], short_number(deviation[d])) for d in own]
        for i, (own, deviation) in enumerate(zip(chosen, deviations, strict=True))
    ]
    words = (
        Column("means", plain, short=short_number, kind="words", where="s", most=_LISTED),
        Column("means that differ", told, short=short_number, kind="words", heading="Means", where="p", after=" ± {}"),
    )
    total = np.sqrt(weights @ (model.variances_ + (means - centre) ** 2))
    distances = (means - centre) / np.where(total > 0, total, 1.0)
    figure = Figure(
        "means", means_map("state", means, distances, weights, features, deviations), "Means of the states",
        "Heat map of the means; states.csv holds the same numbers",
        "How far the mean of each state lies from the overall mean, in standard deviations of the column: blue above, brown "
        "below. Columns: those whose means differ most, at most 60.",
    )  # fmt: skip
    together = () if model.covariance_type == "diag" else (_covariances(model, features),)
    order = np.argsort(-means.std(axis=0) / spread, kind="stable")[:_CURVES]
    curves = (
        () if rows is None else (_curves(steps[: lengths[0]][:_CURVE_STEPS], rows["state"].values, features, order),)
    )
    return words, states, figure, *curves, *together


def _curves(steps: np.ndarray, states: Any, features: list[str], order: np.ndarray) -> Figure:
    """The path over the first steps, and the columns that tell the states apart best."""
    x = np.arange(1, len(steps) + 1)
    series = [("state", x, states[: len(steps)]), *((features[d], x, steps[:, d]) for d in order)]
    return Figure(
        "curves", lines(series, steps=[0], title="step", whole_numbers=True), "The first steps",
        "Path of states and columns over the first steps; paths.csv holds the path",
        "On top the most probable path of states through the first sequence, below it the columns that tell the states apart "
        "best. A state is at work where these jump to its means.",
    )  # fmt: skip


def _covariances(model: Any, features: list[str]) -> Table:
    """How columns vary together in every state: a line for each pair of them."""
    size, width = model.means_.shape
    found, (i, j) = np.broadcast_to(model.covariances_, (size, width, width)), np.triu_indices(width, 1)
    deviations = np.sqrt(np.diagonal(found, axis1=1, axis2=2))
    values = found[:, i, j]
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
