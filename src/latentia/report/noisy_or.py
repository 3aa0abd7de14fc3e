"""Noisy-or networks, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .figures import PALETTE, links, shorten, spectrum
from .page import page
from .parts import count, evidence_of, grades_say, largest, listing, short_number

_STRONGEST, _PRINTED, _MOST_FINDINGS, _MOST_LISTED, _MOST_EDGES = 8, 6, 24, 300, 250
_FEWEST, _CAUSES_OF_ROW, _PROBABLE = 3, 8, 0.01  # causes that are shown of a row
_ASKED, _LEAST_STRENGTH = 5, 0.05
_SPEAKING, _LEAST_EVIDENCE, _MOST_EVIDENCE = 5, 0.1, np.log(1e6)
_APART = 2.3  # least distance of two causes, that of two findings being 1


def frequencies(X: Any) -> np.ndarray:
    """Share of the rows in which each finding is present, shape (n,)."""
    if sparse.issparse(X) or np.asarray(X).dtype.kind != "f":
        return np.asarray(X.mean(axis=0), dtype=float).ravel()
    known = ~np.isnan(X)
    return np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _expected_frequencies(model: Any) -> np.ndarray:
    """The same in the rows that the model expects."""
    absent = (1 - model.leak_) * np.prod(1 - model.priors_[:, None] * model.strengths_, axis=0)
    return np.asarray(1 - absent)


def strongest_findings(strengths: np.ndarray, threshold: float, most: int = _STRONGEST) -> np.ndarray:
    """The findings of a cause, given its strengths (n,): at most so many of at least the threshold, strongest first."""
    first = largest(strengths, most)
    return first[strengths[first] >= threshold]


def percent(value: float) -> str:
    """A probability in percent; what is neither 0 nor 1 never looks as if it were."""
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{100 * value:.1f}%"


@page("Causes", "rows (how often findings are present is what the model expects)")
def summarize_noisy_or(
    model: Any, X: Any = None, *, columns: Sequence[str] | None = None, rows: Sequence[int] = (),
    row_names: Sequence[str] | None = None, diagnoses: Sequence[Any] | None = None, printed: bool = False,
    threshold: float = 0.05,
) -> Summary:  # fmt: skip
    """Say what causes were found, and how far they can be trusted.

    Parameters
    ----------
    model : NoisyOr
        A fitted model.
    X : array or sparse matrix of shape (n_rows, n), optional
        1 where a finding is present and 0 where it is absent; usually what the model was fitted on. Without it frequencies are
        those that the model expects.
    columns : sequence of str of length n, optional
        Names of the findings.
    rows : sequence of int
        Positions in X of the rows whose diagnosis is shown.
    row_names : sequence of str, optional
        What these rows are called; by default by their number from 1.
    diagnoses : sequence of Diagnosis, optional
        What `NoisyOr.explain` says of these rows, where it is known already.
    printed : bool
        Whether the screen shows them too.
    threshold : float
        Strengths below it are not shown.

    Returns
    -------
    Summary

    """
    m, n = model.weights_.shape
    names = [f"column {i}" for i in range(1, n + 1)] if columns is None else [str(name) for name in columns]
    width = n if X is None else X.shape[1]
    if len(names) != n or width != n:
        raise LatentiaError(
            f"columns has {len(names)} entries, the data {width} columns and the model {n} findings: they must agree."
        )
    if X is None and len(rows):
        raise LatentiaError("rows are positions in X, which was not given.")
    frequency = _expected_frequencies(model) if X is None else frequencies(X)
    in_rows = "" if X is None else f" in {count(X.shape[0], 'row')}"
    called = [f"row {i + 1}" for i in rows] if row_names is None else [str(name) for name in row_names]
    network = Figure(
        "network", _network(model, frequency, names, threshold), "Causes and their findings",
        "Lines from causes to findings; edges.csv holds the strengths",
        "Causes on the left, findings on the right, a line from each cause to the findings that it makes appear: the wider, "
        "the stronger. Point at a circle or a dot for the numbers."
        + (f" Findings: the {_MOST_FINDINGS} with the strongest lines; edges.csv holds all." if n > _MOST_FINDINGS else ""),
        shape="square",
    )  # fmt: skip
    error = (
        "Expected error of a cause: {} on average; 0.1 means that its strengths as a whole may be off by about a tenth of "
        "their size."
    )
    parts: tuple[Table | Figure | Section, ...] = (
        _table(model, evidence_of(model), names, threshold), *_explained(model, X, names, rows, called, diagnoses, printed),
        _questions(model, names), _findings(model, frequency, names, threshold), _spectrum(model),
        _edges(model, names, threshold),
    )  # fmt: skip
    return Summary(
        says=f"{count(m, 'cause')} of {count(n, 'finding')}{in_rows}.", parts=parts, error=error, reading=_READING,
        answer=Answer("Which hidden causes make these findings appear together?", _words(model, names, threshold), network),
        styles=("tables.css", "explained.css"),
    )  # fmt: skip


def _table(model: Any, evidence: Any, names: list[str], threshold: float) -> Table:
    size, given, fixed, strengths = len(model.priors_), model.given_names, model.prior is not None, model.strengths_
    low, high = model.n_components_range_ or (0, 0)
    found = f", a number that the data gave{f' ({low} to {high} say as much)' if low < high else ''}"
    told = [[(names[i], float(own[i])) for i in strongest_findings(own, threshold, len(own))] for own in strengths]
    cause = (
        "Something that is not in the data and makes several findings appear together, as a disease makes symptoms. Several "
        "causes can be at work in one row, independently of each other. What it stands for is for the reader to say, from its "
        'strongest findings: --name 0="the flu" gives cause 0 a name. A cause never makes a finding less likely.'
    )
    learned = ", and how far that share moves when it is learned from half of the rows"
    share = f"The share of the rows in which the cause is at work{'; here it was given, not learned' if fixed else learned}."
    strength = (
        "The probability that the cause makes the finding appear by itself where it is at work. Of two causes with strengths "
        "of 50%, both at work, at least one makes it appear in 75% of the cases."
    )
    error = (
        "The rows are split at random, and the causes are learned from the parts anew. How far the strengths of a cause move "
        "says how far they may be from the truth, relative to their size. "
        + grades_say(evidence, "a cause", "other rows of the same kind would give another one")
    )
    called = [given.get(k, "") for k in range(size)] if given else []
    return Table(
        "components",
        (
            Column("cause", range(size), kind="key", meaning=cause),
            Column("name", model.cause_names_, kind="text", where="sf" if given else "f"),
            *((Column("given name", called, kind="bold", heading="Name", where="p"),) if given else ()),
            Column(
                "prevalence", model.priors_, ".6f", percent, "share", heading="At work in", head="at work in",
                term="At work in, give or take", meaning=share,
            ),
            Column(
                "error of prevalence", [None] * size if model.prior_errors_ is None else model.prior_errors_, ".6f", percent,
                heading="Give or take", head="+/-", empty="as given" if fixed else "not measured",
            ),
            *grade_columns(evidence, size, meaning=error),
            Column(
                "its findings", told, short=".0%", kind="words", where="p", most=_STRONGEST,
                empty=f"none of {100 * threshold:.3g}% or more", term="Strength", meaning=strength,
            ),
            Column("strongest findings", told, short=".0%", kind="words", where="s", most=_PRINTED),
            *block(names, strengths, ".6f"),
        ),
        title="All causes",
        hint="The most frequent first. Behind a finding stands the strength of the cause: the probability that the cause, "
        f"where it is at work, makes the finding appear by itself. Strengths below {100 * threshold:.3g}% are left out.",
        file="causes.csv",
        caption=f"{count(size, 'cause')}{found if model.n_components is None else ''}, most frequent first",
        label="cause",
    )  # fmt: skip


def _findings(model: Any, frequency: np.ndarray, names: list[str], threshold: float) -> Table:
    """All of them, on the page the most frequent."""
    n, told = len(names), []
    for own, share in zip(model.strengths_.T, frequency, strict=True):
        causes: list[Any] = [
            (cause_name(model, k, names, threshold), float(own[k])) for k in strongest_findings(own, threshold)
        ]
        told.append(causes or ([] if 0 < share < 1 else ["none: it is the same in all rows and was left out"]))
    leak = (
        "How often a finding is present where none of these causes is at work: chance, errors of recording, and causes that "
        "were not found."
    )
    cut = f"The {_MOST_LISTED} most frequent of {n}; findings.csv holds all. " if n > _MOST_LISTED else ""
    columns = (
        Column("finding", names, kind="name"),
        Column("frequency", frequency, ".6f", percent, heading="Present in"),
        Column("leak", model.leak_, ".6f", percent, heading="Without a cause", meaning=leak),
        Column("causes", told, short=".0%", kind="words", where="p", empty="none"),
    )
    return Table(
        "findings", columns, title="The findings", file="findings.csv", label="finding", tall=True,
        order=largest(frequency, _MOST_LISTED), hint=f"{cut}How often each is present, how often it would be where no cause is "
        "at work, and the causes that make it appear.",
    )  # fmt: skip


def cause_name(model: Any, cause: int, names: Sequence[str], threshold: float) -> str:
    """The name of a cause, or else its strongest findings."""
    found = strongest_findings(model.strengths_[cause], threshold, 2)
    return str(model.given_names.get(cause) or ", ".join(names[i] for i in found) or f"cause {cause}")


def _words(model: Any, names: Sequence[str], threshold: float) -> str:
    shares = zip(range(len(model.priors_)), model.priors_, strict=True)
    causes = [
        f"{cause_name(model, k, names, threshold)} (at work in {percent(share)} of the rows)" for k, share in shares
    ]
    how = "" if model.given_names else ", called by their strongest findings"
    return f"{count(len(causes), 'cause')}{how}: {listing(causes)}."


def _questions(model: Any, names: list[str]) -> Table:
    """Findings to ask for first, and those to ask for when the first of them is present."""
    known = np.full((1, len(names)), np.nan)
    first = model.ask(known, _ASKED)
    known[0, first[0].number] = 1
    asked = [("nothing", question) for question in first]
    asked += [(f"{names[first[0].number]}: present", question) for question in model.ask(known, _ASKED)]
    gain = (
        "How much less uncertain the causes are expected to be once it is known, added up over all causes, in nats: a cause "
        "that is on with a probability of 50% has 0.69 nats of uncertainty, one of 1% has 0.06."
    )
    chances, gains = [one.probability for _, one in asked], [one.gain for _, one in asked]
    columns = (
        Column("known", [said for said, _ in asked], kind="text", heading="Known so far"),
        Column("finding", [names[question.number] for _, question in asked], kind="text", heading="Ask for"),
        Column("probability", chances, ".6f", percent, "share", heading="Chance of it"),
        Column("gain", gains, ".6f", ".3f", heading="Says, in nats", meaning=gain),
    )
    return Table(
        "questions", columns, title="What to ask first", label="question",
        hint="Of a new row of which nothing is known, these findings are expected to say most of the causes; and, if the first "
        "of them is found present, those below. Each is weighed alone: ask for one, then see what is best to ask next. "
        "latentia apply --ask 3 names the next three of every row of a table with empty cells.",
    )  # fmt: skip


def _edges(model: Any, names: list[str], threshold: float) -> Table:
    """The strongest of each cause first."""
    found = [
        (model.cause_names_[k], names[i], own[i], model.weights_[k, i])
        for k, own in enumerate(model.strengths_)
        for i in strongest_findings(own, threshold, len(own))
        if own[i] > 0
    ]
    heads = {"cause": "", "finding": "", "strength": ".6f", "weight": ".6f"}
    columns = [Column(name, [edge[i] for edge in found], form) for i, (name, form) in enumerate(heads.items())]
    return Table("edges", tuple(columns), file="edges.csv")


# --- rows that are explained ----------------------------------------------------------------------------------------


def _explained(
    model: Any, X: Any, names: list[str], rows: Sequence[int], called: list[str], diagnoses: Any, printed: bool
) -> tuple[Section, ...]:
    tables = [X[[i]] for i in rows]
    tables = [table.toarray() if sparse.issparse(table) else np.asarray(table) for table in tables]
    said = [model.explain(table) for table in tables] if diagnoses is None else list(diagnoses)
    if not len(called) == len(said) == len(tables):
        raise LatentiaError(
            f"{len(tables)} rows, {len(called)} row_names and {len(said)} diagnoses: there must be one of each a row."
        )
    told = list(zip([table[0] == 1 for table in tables], called, said, strict=True))
    named = [cause_name(model, k, names, _LEAST_STRENGTH) for k in range(len(model.priors_))]
    values = {"rows": [_explain(model, *one, names) for one in told], "percent": percent, "called": named}
    return (Section("explained.html", values, tuple(_of_row(*one, names, printed) for one in told)),) if told else ()


def _explain(model: Any, present: np.ndarray, name: str, diagnosis: Any, names: list[str]) -> dict[str, Any]:
    """What the page shows of a row: its findings and the most probable causes."""
    found = diagnosis.probabilities
    likely = largest(found, max(_FEWEST, min(_CAUSES_OF_ROW, int((found >= _PROBABLE).sum()))))
    suspects = []
    for k in likely:
        sides = [_speaking(sign * diagnosis.attribution[k], _texts(present, names)) for sign in (1, -1)]
        suspects.append((int(k), float(model.priors_[k]), float(found[k]), *sides))
    listed = [names[i] for i in np.flatnonzero(present)]
    return {
        "name": name, "present": listed, "diagnosis": diagnosis, "suspects": suspects, "others": len(found) - len(suspects),
    }  # fmt: skip


def _of_row(present: np.ndarray, name: str, diagnosis: Any, names: list[str], printed: bool) -> Table:
    """The probable causes of a row, and the findings that speak for them."""
    found, texts = diagnosis.probabilities, _texts(present, names)
    likely = [i for i in largest(found, _PRINTED) if found[i] >= _PROBABLE]
    speaking = [strongest_findings(diagnosis.attribution[i], _LEAST_EVIDENCE, _PRINTED) for i in likely]
    columns = (
        Column("cause", likely),
        Column("probability", found[likely], short=percent),
        Column("speaks for it", [[texts[j] for j in own] for own in speaking], kind="words"),
    )
    sampled = "" if diagnosis.exact else f"Probabilities are not exact, but to about {percent(diagnosis.error)}."
    caption = f"{name.capitalize()}: {int(present.sum())} findings present" if printed else ""
    return Table(f"explained {name}", columns, caption=caption, note=sampled, rest="report.html")


def _texts(present: np.ndarray, names: list[str]) -> list[str]:
    return [name if here else f"no {name}" for name, here in zip(names, present, strict=True)]


def _speaking(evidence: np.ndarray, texts: list[str]) -> list[tuple[str, str]]:
    """The findings with the largest evidence (n,) in nats, with the factors by which they change the odds."""
    first = strongest_findings(evidence, _LEAST_EVIDENCE, _SPEAKING)
    return [(texts[i], short_number(float(np.exp(min(evidence[i], _MOST_EVIDENCE))))) for i in first]


# --- figures --------------------------------------------------------------------------------------------------------


def _network(model: Any, frequency: np.ndarray, names: list[str], threshold: float) -> dict[str, Any]:
    """Causes on the left, the findings that have the strongest lines on the right, lines as wide as they are strong."""
    strengths = model.strengths_
    order = placed(strengths, threshold, _MOST_FINDINGS)
    shown = strengths[:, order]
    edges = np.argwhere((shown >= threshold) & (shown > 0))
    edges = edges[largest(shown[tuple(edges.T)], _MOST_EDGES)]
    called = [cause_name(model, k, names, threshold) for k in range(len(shown))]
    return links(
        [(str(k), _hover_of_cause(model, k, names, threshold), k % len(PALETTE), one) for k, one in enumerate(called)],
        [(shorten(names[i]), _hover_of_finding(model, i, names, frequency, threshold)) for i in order],
        [(k, i, shown[k, i]) for k, i in edges],
        (heights_of(shown), np.arange(len(order)) + 0.5),
    )


def placed(strengths: np.ndarray, threshold: float, most: int) -> np.ndarray:
    """The findings with the strongest lines, those of the first cause on top, so that few lines cross."""
    top = strengths.max(axis=0)
    chosen = largest(top, most)
    chosen = chosen[(top[chosen] >= threshold) & (top[chosen] > 0)]
    return chosen[np.lexsort((-top[chosen], strengths[:, chosen].argmax(axis=0)))]


def heights_of(strengths: np.ndarray) -> np.ndarray:
    """Heights (m,) of the causes: each beside the findings of which it is the strongest cause, none upon another."""
    m, n = strengths.shape
    own = np.bincount(strengths.argmax(axis=0), minlength=m) if n else np.zeros(m, int)
    above = np.cumsum(own) - own
    apart = _APART * np.arange(m)
    return np.maximum.accumulate(above + own / 2 - apart) + apart


def _hover_of_cause(model: Any, cause: int, names: list[str], threshold: float) -> str:
    first = strongest_findings(model.strengths_[cause], threshold, 12)
    listed = [f"{shorten(names[i], 40)} {percent(model.strengths_[cause, i])}" for i in first]
    called, share = cause_name(model, cause, names, threshold), percent(model.priors_[cause])
    return "\n".join([f"cause {cause}: {called}\non in {share} of the rows", *listed])


def _hover_of_finding(model: Any, finding: int, names: list[str], frequency: np.ndarray, threshold: float) -> str:
    first = strongest_findings(model.strengths_[:, finding], threshold)
    listed = [f"{cause_name(model, k, names, threshold)} {percent(model.strengths_[k, finding])}" for k in first]
    heading = f"{shorten(names[finding], 40)}, in {percent(frequency[finding])} of the rows"
    return "\n".join([heading, *listed, f"without any cause {percent(model.leak_[finding])}"])


def _spectrum(model: Any) -> Figure:
    """Directions of the pairs of findings, those that the causes need in blue."""
    m, noise, likely = len(model.priors_), model.noise_level_, model.n_components_range_
    above, hint = int((model.spectrum_ > noise).sum()), ""
    said = "The size that chance alone would reach was not measured."
    if noise:
        need = f"{m} causes need" if m > 1 else f"{m} cause needs"
        said = (
            f"{above} {'stands' if above == 1 else 'stand'} above the dashed line, the size that chance alone would reach; "
            f"blue are those that the {need}."
        )
        if above < m:
            said += " Fewer stand out than there are causes: those with the largest expected errors may be invented."
        elif above > m:
            said += " More stand out than there are causes: a larger number may show others."
    if likely:
        others = f"as well with {likely[0]} to {likely[1]}" if likely[0] < likely[1] else "clearly worse with others"
        best = f"networks of half of the rows predict the other half best with {m} causes"
        hint = f"The number was found in the data: {best}, and {others}."
    return Figure(
        "spectrum", spectrum(model.spectrum_, m, [noise] if noise else [], "size"), "How many causes the data shows",
        "Bars of the directions, and the line of noise",
        "Findings of one cause appear together more often than chance would have it. All such coincidences are decomposed "
        f"into directions, the largest first. {said}", hint=hint,
    )  # fmt: skip


_READING = (
    (
        "Probability of a cause in a row",
        "Probability given all findings of the row, also the absent ones. It is as good as the causes "
        "are: with a cause that is not supported it means little. posteriors.csv holds it for every row. It is a statement "
        "about rows like these, and no diagnosis of a person.",
    ),
    (
        "What to do next",
        "Give names to the causes that are supported. If some are not, lower the number of causes with -k, or use more rows. "
        "If a cause has a single finding, or two causes share most of theirs, there may be too many. If findings that you know "
        "to belong together have no cause, try a larger number. Leave out findings that are nearly always present: the method "
        "learns from findings that are absent together. -k 4:12 compares several numbers on rows that were held out.",
    ),
)
