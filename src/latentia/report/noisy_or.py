"""Noisy-or networks, for readers who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._parameters import Integer, check_parameter
from .._validation import list_of
from ..exceptions import LatentiaError
from ..noisyor import Diagnosis
from ..summaries import Answer, Column, Figure, Section, Summary, Table, block, grade_columns
from .figures import PALETTE, links, shorten, spectrum
from .page import page
from .parts import count, evidence_of, grades_say, largest, listing, short_number

_MAX_FINDINGS_ON_PAGE, _MAX_FINDINGS_ON_SCREEN, _MAX_FINDINGS_IN_FIGURE, _MAX_LISTED, _MAX_EDGES = 8, 6, 24, 300, 250
_MIN_CAUSES_OF_ROW, _MAX_CAUSES_OF_ROW, _MIN_PROBABILITY = 3, 8, 0.01  # causes that are shown of a row
_N_QUESTIONS, _MIN_STRENGTH = 5, 0.05
_MAX_EVIDENCE_WORDS, _MIN_EVIDENCE, _MAX_EVIDENCE = 5, 0.1, np.log(1e6)
_MIN_DISTANCE = 2.3  # smallest distance of two causes in the figure; that of two findings is 1


def frequencies(X: Any) -> np.ndarray:
    """Compute the share of the rows in which each finding is present, shape (n,)."""
    if sparse.issparse(X) or np.asarray(X).dtype.kind != "f":
        return np.asarray(X.mean(axis=0), dtype=float).ravel()
    is_known = ~np.isnan(X)
    return np.where(is_known, X, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)


def _expected_frequencies(model: Any) -> np.ndarray:
    """Compute the frequencies of findings that the model expects, shape (n,)."""
    absent = (1 - model.leak_) * np.prod(1 - model.priors_[:, None] * model.strengths_, axis=0)
    return np.asarray(1 - absent)


def strongest_findings(
    strengths: np.ndarray, threshold: float, max_findings: int = _MAX_FINDINGS_ON_PAGE
) -> np.ndarray:
    """Return the strongest findings of a cause, strongest first, given its strengths (n,) and a threshold."""
    strongest = largest(strengths, max_findings)
    return strongest[strengths[strongest] >= threshold]


def percent(value: float) -> str:
    """Format a probability in percent; only 0 and 1 look like 0 and 1."""
    if 0 < value < 0.001:
        return "<0.1%"
    if 0.999 < value < 1:
        return ">99.9%"
    return f"{100 * value:.1f}%"


@page("Causes", "rows (how often findings are present is what the model expects)")
def summarize_noisy_or(
    model: Any, X: Any = None, *, columns: Sequence[str] | None = None, rows: Sequence[int] = (),
    row_names: Sequence[str] | None = None, diagnoses: Sequence[Diagnosis] | None = None, printed: bool = False,
    threshold: float = 0.05,
) -> Summary:  # fmt: skip
    """Summarise the causes of a network, and how far they can be trusted.

    Parameters
    ----------
    model : NoisyOr
        A fitted model.
    X : array or sparse matrix of shape (n_rows, n), optional
        1 where a finding is present and 0 where it is absent; usually the data of the fit. Without it, frequencies are those
        that the model expects.
    columns : sequence of str of length n, optional
        Names of the findings.
    rows : sequence of int
        Positions in X of the rows whose diagnosis is shown.
    row_names : sequence of str, optional
        Names of these rows; by default their numbers from 1.
    diagnoses : sequence of Diagnosis, optional
        Results of `NoisyOr.explain` for these rows, if they are known already.
    printed : bool
        Whether the screen shows these rows too.
    threshold : float
        Smallest strength that is shown.

    Returns
    -------
    Summary

    """
    m, n = model.weights_.shape
    names = [f"column {i}" for i in range(1, n + 1)] if columns is None else [str(name) for name in columns]
    width = n if X is None else X.shape[1]
    if len(names) != n or width != n:
        raise LatentiaError(
            f"columns has {len(names)} names and the data {width} columns; expected {n}, the findings of the model."
        )
    rows = list_of(rows, "rows")
    if X is None and rows:
        raise LatentiaError("rows are positions in X. Give X.")
    for row in rows:
        check_parameter("rows", row, Integer(0, X.shape[0] - 1, "rows are positions in X"))
    frequency = _expected_frequencies(model) if X is None else frequencies(X)
    in_rows = "" if X is None else f" in {count(X.shape[0], 'row')}"
    labels_of_rows = [f"row {i + 1}" for i in rows] if row_names is None else [str(name) for name in row_names]
    network = Figure(
        "network", _network(model, frequency, names, threshold), "Causes and their findings",
        "Lines from causes to findings; edges.csv holds the strengths",
        "Causes on the left, findings on the right, with a line from each cause to the findings that it makes appear; wider "
        "lines are stronger. Point at a circle or a dot for the numbers."
        + (f" The {_MAX_FINDINGS_IN_FIGURE} findings with the strongest lines; edges.csv holds all."
           if n > _MAX_FINDINGS_IN_FIGURE else ""),
        shape="square",
    )  # fmt: skip
    error = (
        "Expected error of a cause: {} on average; 0.1 means that its strengths as a whole may be off by about a tenth of "
        "their size."
    )
    parts: tuple[Table | Figure | Section, ...] = (
        _table(model, evidence_of(model), names, threshold),
        *_explain_rows(model, X, names, rows, labels_of_rows, diagnoses, printed),
        _questions(model, names), _findings(model, frequency, names, threshold), _spectrum(model),
        _edges(model, names, threshold),
    )  # fmt: skip
    return Summary(
        headline=f"{count(m, 'cause')} of {count(n, 'finding')}{in_rows}.", parts=parts, error=error, reading=_READING,
        answer=Answer("Which hidden causes make these findings appear together?", _words(model, names, threshold), network),
        styles=("tables.css", "explained.css"),
    )  # fmt: skip


def _table(model: Any, evidence: Any, names: list[str], threshold: float) -> Table:
    size = len(model.priors_)
    given_names = model.given_names
    is_given = model.prior is not None
    strengths = model.strengths_
    low, high = model.n_components_range_ or (0, 0)
    number_text = f", a number estimated from the data{f' ({low} to {high} fit as well)' if low < high else ''}"
    findings_of_causes = [
        [(names[i], float(row[i])) for i in strongest_findings(row, threshold, len(row))] for row in strengths
    ]
    cause = (
        "Something outside the data that makes several findings appear together, as a disease makes symptoms. Several causes "
        "can be at work in one row, independently of each other. Read from the strongest findings what a cause stands for: "
        '--name 0="the flu" gives cause 0 a name. A cause never makes a finding less likely.'
    )
    learned_text = ", and how far that share moves if it is learned from half of the rows"
    source = "; here it was given, not learned" if is_given else learned_text
    share = f"The share of the rows in which the cause is at work{source}."
    strength = (
        "The probability that the cause alone makes the finding appear where it is at work. If two causes with strengths of "
        "50% are both at work, the finding appears in 75% of the cases."
    )
    error = (
        "The rows are split at random, and the causes are learned again from each part. The change of the strengths of a "
        "cause estimates how far they are from the truth, relative to their size. "
        + grades_say(evidence, "a cause", "other rows of the same kind would give another one")
    )
    names_of_causes = [given_names.get(k, "") for k in range(size)] if given_names else []
    return Table(
        "components",
        (
            Column("cause", range(size), kind="key", meaning=cause),
            Column("name", model.cause_names_, kind="text", where="sf" if given_names else "f"),
            *((Column("given name", names_of_causes, kind="bold", heading="Name", where="p"),) if given_names else ()),
            Column(
                "prevalence", model.priors_, ".6f", percent, "share", heading="At work in", head="at work in",
                term="At work in, give or take", meaning=share,
            ),
            Column(
                "error of prevalence", [None] * size if model.prior_errors_ is None else model.prior_errors_, ".6f", percent,
                heading="Give or take", head="+/-", empty="as given" if is_given else "not measured",
            ),
            *grade_columns(evidence, size, meaning=error),
            Column(
                "its findings", findings_of_causes, short=".0%", kind="words", where="p", most=_MAX_FINDINGS_ON_PAGE,
                empty=f"none of {100 * threshold:.3g}% or more", term="Strength", meaning=strength,
            ),
            Column("strongest findings", findings_of_causes, short=".0%", kind="words", where="s",
                   most=_MAX_FINDINGS_ON_SCREEN),
            *block(names, strengths, ".6f"),
        ),
        title="All causes",
        hint="The most frequent first. Beside each finding is the strength of the cause: the probability that the cause alone, "
        f"where it is at work, makes the finding appear. Strengths below {100 * threshold:.3g}% are left out.",
        file="causes.csv",
        caption=f"{count(size, 'cause')}{number_text if model.n_components is None else ''}, most frequent first",
        label="cause",
    )  # fmt: skip


def _findings(model: Any, frequency: np.ndarray, names: list[str], threshold: float) -> Table:
    """Tabulate all findings; the page shows the most frequent ones."""
    n, causes_of_findings = len(names), []
    for column, share in zip(model.strengths_.T, frequency, strict=True):
        causes: list[Any] = [
            (cause_name(model, k, names, threshold), float(column[k])) for k in strongest_findings(column, threshold)
        ]
        causes_of_findings.append(
            causes or ([] if 0 < share < 1 else ["none: it is the same in all rows and was left out"])
        )
    leak = "How often a finding is present where none of these causes is at work: chance, recording errors, and missing causes."
    limit_text = f"The {_MAX_LISTED} most frequent of {n}; findings.csv holds all. " if n > _MAX_LISTED else ""
    columns = (
        Column("finding", names, kind="name"),
        Column("frequency", frequency, ".6f", percent, heading="Present in"),
        Column("leak", model.leak_, ".6f", percent, heading="Without a cause", meaning=leak),
        Column("causes", causes_of_findings, short=".0%", kind="words", where="p", empty="none"),
    )
    return Table(
        "findings", columns, title="The findings", file="findings.csv", label="finding", tall=True,
        order=largest(frequency, _MAX_LISTED), hint=f"{limit_text}How often each is present, how often it would be without a "
        "cause, and the causes that make it appear.",
    )  # fmt: skip


def cause_name(model: Any, cause: int, names: Sequence[str], threshold: float) -> str:
    """Return the name of a cause as tables have it; its strongest findings if the model knows no names of findings."""
    if model.column_names is not None or cause in model.given_names:
        return str(model.cause_names_[cause])
    strongest = strongest_findings(model.strengths_[cause], threshold, 2)
    return " + ".join(names[i] for i in strongest) or f"cause {cause}"


def _words(model: Any, names: Sequence[str], threshold: float) -> str:
    shares = zip(range(len(model.priors_)), model.priors_, strict=True)
    causes = [
        f"{cause_name(model, k, names, threshold)} (at work in {percent(share)} of the rows)" for k, share in shares
    ]
    naming_text = "" if model.given_names else ", called by findings that tell them apart"
    return f"{count(len(causes), 'cause')}{naming_text}: {listing(causes)}."


def _questions(model: Any, names: list[str]) -> Table:
    """Tabulate the findings to ask for first, and those to ask for next if the first is present."""
    answers = np.full((1, len(names)), np.nan)
    first = model.ask(answers, _N_QUESTIONS)
    answers[0, first[0].number] = 1
    questions = [("nothing", question) for question in first]
    questions += [(f"{names[first[0].number]}: present", question) for question in model.ask(answers, _N_QUESTIONS)]
    gain = (
        "Expected decrease of the uncertainty of the causes by the answer, summed over all causes, in nats: a cause with a "
        "probability of 50% has 0.69 nats of uncertainty, one of 1% has 0.06."
    )
    probabilities, gains = [item.probability for _, item in questions], [item.gain for _, item in questions]
    columns = (
        Column("known", [answer for answer, _ in questions], kind="text", heading="Known so far"),
        Column("finding", [names[question.number] for _, question in questions], kind="text", heading="Ask for"),
        Column("probability", probabilities, ".6f", percent, "share", heading="Chance of it"),
        Column("gain", gains, ".6f", ".3f", heading="Information (nats)", meaning=gain),
    )
    return Table(
        "questions", columns, title="What to ask first", label="question",
        hint="For a new row of which nothing is known, these findings are expected to tell most about the causes; those below "
        "follow if the first one is present. Each finding is judged alone: ask for one, then see what is best to ask next. "
        "latentia apply --ask 3 names the next three for every row of a table with empty cells.",
    )  # fmt: skip


def _edges(model: Any, names: list[str], threshold: float) -> Table:
    """Tabulate all links, the strongest of each cause first."""
    edges = [
        (model.cause_names_[k], names[i], row[i], model.weights_[k, i])
        for k, row in enumerate(model.strengths_)
        for i in strongest_findings(row, threshold, len(row))
        if row[i] > 0
    ]
    heads = {"cause": "", "finding": "", "strength": ".6f", "weight": ".6f"}
    columns = [Column(name, [edge[i] for edge in edges], form) for i, (name, form) in enumerate(heads.items())]
    return Table("edges", tuple(columns), file="edges.csv")


# --- rows that are explained ----------------------------------------------------------------------------------------


def _capitalize(name: str) -> str:
    """Begin a place such as "row 3" with a capital; return names of the user as they are."""
    return name.capitalize() if name.startswith(("row ", "line ")) else name


def _explain_rows(
    model: Any, X: Any, names: list[str], rows: Sequence[int], labels_of_rows: list[str], diagnoses: Any, printed: bool
) -> tuple[Section, ...]:
    tables = [X[[i]] for i in rows]
    tables = [table.toarray() if sparse.issparse(table) else np.asarray(table) for table in tables]
    answers = [model.explain(table) for table in tables] if diagnoses is None else list(diagnoses)
    if not len(labels_of_rows) == len(answers) == len(tables):
        raise LatentiaError(
            f"Found {len(tables)} rows, {len(labels_of_rows)} row_names and {len(answers)} diagnoses; expected one name and "
            "one diagnosis for each row."
        )
    explained_rows = list(zip([table[0] == 1 for table in tables], labels_of_rows, answers, strict=True))
    names_of_causes = [cause_name(model, k, names, _MIN_STRENGTH) for k in range(len(model.priors_))]
    values = {
        "rows": [_explain(model, *explained, names) for explained in explained_rows],
        "percent": percent,
        "cause_names": names_of_causes,
    }
    return (
        (
            Section(
                "explained.html",
                values,
                tuple(_tabulate_row(*explained, names, printed) for explained in explained_rows),
            ),
        )
        if explained_rows
        else ()
    )


def _explain(model: Any, present: np.ndarray, name: str, diagnosis: Any, names: list[str]) -> dict[str, Any]:
    """Return the findings and the most probable causes of a row, for the page."""
    probabilities = diagnosis.probabilities
    likely = largest(
        probabilities, max(_MIN_CAUSES_OF_ROW, min(_MAX_CAUSES_OF_ROW, int((probabilities >= _MIN_PROBABILITY).sum())))
    )
    suspects = []
    for k in likely:
        evidence = [_list_evidence(sign * diagnosis.attribution[k], _texts(present, names)) for sign in (1, -1)]
        suspects.append((int(k), float(model.priors_[k]), float(probabilities[k]), *evidence))
    present_names = [names[i] for i in np.flatnonzero(present)]
    return {
        "name": name, "present": present_names, "diagnosis": diagnosis, "suspects": suspects,
        "n_others": len(probabilities) - len(suspects),
    }  # fmt: skip


def _tabulate_row(present: np.ndarray, name: str, diagnosis: Any, names: list[str], printed: bool) -> Table:
    """Tabulate the probable causes of a row, and the findings that speak for them."""
    probabilities, texts = diagnosis.probabilities, _texts(present, names)
    likely = [i for i in largest(probabilities, _MAX_FINDINGS_ON_SCREEN) if probabilities[i] >= _MIN_PROBABILITY]
    speaking = [strongest_findings(diagnosis.attribution[i], _MIN_EVIDENCE, _MAX_FINDINGS_ON_SCREEN) for i in likely]
    columns = (
        Column("cause", likely),
        Column("probability", probabilities[likely], short=percent),
        Column("speaks for it", [[texts[j] for j in findings] for findings in speaking], kind="words"),
    )
    accuracy_text = "" if diagnosis.exact else f"Probabilities have an error of about {percent(diagnosis.error)}."
    caption = f"{_capitalize(name)}: {int(present.sum())} findings present" if printed else ""
    return Table(f"explained {name}", columns, caption=caption, note=accuracy_text, rest="report.html")


def _texts(present: np.ndarray, names: list[str]) -> list[str]:
    return [name if is_present else f"no {name}" for name, is_present in zip(names, present, strict=True)]


def _list_evidence(evidence: np.ndarray, texts: list[str]) -> list[tuple[str, str]]:
    """List the findings with the largest evidence (n,) in nats, with the factors by which they change the odds."""
    first = strongest_findings(evidence, _MIN_EVIDENCE, _MAX_EVIDENCE_WORDS)
    return [(texts[i], short_number(float(np.exp(min(evidence[i], _MAX_EVIDENCE))))) for i in first]


# --- figures --------------------------------------------------------------------------------------------------------


def _network(model: Any, frequency: np.ndarray, names: list[str], threshold: float) -> dict[str, Any]:
    """Lay out causes on the left, the findings with the strongest lines on the right; lines are as wide as strong."""
    strengths = model.strengths_
    order = order_findings(strengths, threshold, _MAX_FINDINGS_IN_FIGURE)
    shown_strengths = strengths[:, order]
    edges = np.argwhere((shown_strengths >= threshold) & (shown_strengths > 0))
    edges = edges[largest(shown_strengths[tuple(edges.T)], _MAX_EDGES)]
    names_of_causes = [cause_name(model, k, names, threshold) for k in range(len(shown_strengths))]
    return links(
        [
            (str(k), _hover_of_cause(model, k, names, threshold), k % len(PALETTE), cause)
            for k, cause in enumerate(names_of_causes)
        ],
        [(shorten(names[i]), _hover_of_finding(model, i, names, frequency, threshold)) for i in order],
        [(k, i, shown_strengths[k, i]) for k, i in edges],
        (compute_heights(shown_strengths), np.arange(len(order)) + 0.5),
    )


def order_findings(strengths: np.ndarray, threshold: float, max_findings: int) -> np.ndarray:
    """Return the findings with the strongest lines, those of the first cause on top, so that few lines cross."""
    top = strengths.max(axis=0)
    chosen = largest(top, max_findings)
    chosen = chosen[(top[chosen] >= threshold) & (top[chosen] > 0)]
    return chosen[np.lexsort((-top[chosen], strengths[:, chosen].argmax(axis=0)))]


def compute_heights(strengths: np.ndarray) -> np.ndarray:
    """Compute heights (m,) of the causes, each beside the findings of which it is the strongest cause, without overlap."""
    m, n = strengths.shape
    n_findings = np.bincount(strengths.argmax(axis=0), minlength=m) if n else np.zeros(m, int)
    first_findings = np.cumsum(n_findings) - n_findings
    min_distances = _MIN_DISTANCE * np.arange(m)
    return np.maximum.accumulate(first_findings + n_findings / 2 - min_distances) + min_distances


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
    """Draw the directions of pairs of findings, those that the causes need in blue."""
    m, noise, likely = len(model.priors_), model.noise_level_, model.n_components_range_
    above, hint = int((model.spectrum_ > noise).sum()), ""
    text = "The size that chance alone reaches was not measured."
    if noise:
        need = f"{m} causes need" if m > 1 else f"{m} cause needs"
        text = (
            f"{above} {'is' if above == 1 else 'are'} above the dashed line, the size that chance alone reaches; those that "
            f"the {need} are blue."
        )
        if above < m:
            text += " These are fewer than the causes: causes with the largest expected errors may be invented."
        elif above > m:
            text += " These are more than the causes: a larger number may show further causes."
    if likely:
        comparison = (
            f"as well with {likely[0]} to {likely[1]}" if likely[0] < likely[1] else "clearly worse with others"
        )
        best = f"networks of half of the rows predict the other half best with {m} causes"
        hint = f"The number comes from the data: {best}, and {comparison}."
    return Figure(
        "spectrum", spectrum(model.spectrum_, m, [noise] if noise else [], "size"), "How many causes the data shows",
        "Bars of the directions, and the line of noise",
        "Findings of one cause appear together more often than by chance. All such coincidences are decomposed "
        f"into directions, the largest first. {text}", hint=hint,
    )  # fmt: skip


_READING = (
    (
        "Probability of a cause in a row",
        "Probability given all findings of the row, also the absent ones. It is as good as the causes: with a cause that is "
        "not supported it means little. posteriors.csv holds it for every row. It is a statement about rows like these, not "
        "a diagnosis of a person.",
    ),
    (
        "What to do next",
        "Name the supported causes. If some are not supported, ask for fewer causes with -k, or use more rows. If a cause has "
        "a single finding, or two causes share most of theirs, there may be too many causes. If findings that you know to "
        "belong together have no cause, try more. Leave out findings that are nearly always present: the method learns from "
        "findings that are absent together. -k 4:12 compares several numbers on rows that were held out.",
    ),
)
