"""Skeleton of a command: options, a comparison of sizes, the fit, and complete results or none."""

from __future__ import annotations

import json
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape

from .. import persistence
from ..comparing import Levels
from ..datasets.tables import CellError
from ..evidence import Evidence
from ..evidence.checks import describe, number_text
from ..evidence.sentences import ERRORS_SENTENCE
from ..evidence.sizes import Size, all_sizes, find_allowed_grades, is_worse_than_promised, recommend
from ..evidence.statements import status
from ..exceptions import LatentiaError, LatentiaWarning
from ..passes import Blocks, Folds
from ..reading import ColumnOptions, Reading, reading_settings, readings
from ..report.parts import first_sentence
from ..summaries import Column, Section, Summary, write_csv
from ..summaries import Table as Listing
from ..system.progress import progress_bar, report_stage
from ..system.scratch import atomic_file
from ..system.terminal import Terminal, make_table, say
from ._json import plain
from ._results import MODEL_FILE, RESULT_FILE, Results

_MAX_SIZES = 100
_MIN_ROWS = 20  # fewer rows are too few to hold some out
_MAX_LISTED = 10  # components on the screen
_MIN_TEXT_WIDTH = 16  # characters that a text column keeps on a narrow screen
_STYLES = {"supported": "bold green", "with care": "bold yellow", "partly": "bold yellow", "not supported": "bold red"}


BLANK = "blank"
_MISSING_EFFECTS = {"drop": "leaves such rows out", "mean": "fills such cells", "keep": "treats them as missing"}


# --- a command --------------------------------------------------------------------------------------------------

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """Plan of a comparison between numbers of components.

    Attributes
    ----------
    noun : str
        Heading of the first column, such as "topics".
    held_out : str
        Rows that measure the models, such as "one document in ten"; empty for all rows.
    fit : callable
        ``fit(size)`` returns the model of that size, fitted without the held-out rows and without progress bar.
    measure : callable
        ``measure(model)`` returns a dict of further columns besides those of the evidence.
    choose : callable, optional
        ``choose(rows)`` returns the best size and a sentence with the reason, as the rules from `highest` do. By default the
        evidence recommends the size.
    by_grade : bool
        Whether the choice depends on the grades, so that another size may be chosen if the grade falls with all rows.
    walk : callable, optional
        ``walk(sizes, results)`` yields the sizes to fit, given the results so far; by default all of them. See
        `latentia.evidence.until_enough` and `latentia.evidence.and_beyond`.
    """

    noun: str
    held_out: str
    fit: Callable[[int], Any]
    measure: Callable[[Any], dict[str, Any]]
    choose: Callable[[Rows], tuple[int, str]] | None = None
    by_grade: bool = True
    walk: Callable[[Any, list[Size]], Iterable[int | None]] = all_sizes


def best_graded(rows: Rows) -> Rows:
    """Return the rows of a comparison whose grades allow to choose them; see `latentia.evidence.sizes`."""
    allowed = find_allowed_grades(row["grade"] for row in rows)
    return [row for row in rows if row["grade"] in allowed]


def highest(column: str, sentence: str) -> Callable[[Rows], tuple[int, str]]:
    """Return a rule for `Comparison` that prefers the highest value of a column; ``{}`` in ``sentence`` stands for the size."""

    def choose(rows: Rows) -> tuple[int, str]:
        best = max(rows, key=lambda row: row[column] if np.isfinite(row[column]) else -np.inf)
        size = next(iter(best.values()))
        return size, sentence.format(size)

    return choose


def learn(
    results: Results,
    source: str,
    sizes: Sequence[int | None],
    fit: Callable[[int | None], Any],
    summarize: Callable[[Any, Rows | None], Summary],
    *,
    reading: Mapping[str, Any],
    description: str = "",
    compare: Callable[[], Comparison] | None = None,
    write_first: Callable[[Path, Any], object] = lambda folder, model: None,
    write_more: Callable[[Path, Any], object] = lambda folder, model: None,
    messages: Callable[[Any], Iterable[str]] = lambda model: (),
    evidence: Callable[[Any], Evidence] = lambda model: model.evidence_,
    facts: Mapping[str, Any] = MappingProxyType({}),
    levels: bool = False,
) -> dict[str, Any]:
    """Compare numbers of components if there are several, fit one model, write the results and print them.

    Parameters
    ----------
    results : Results
    source : str
        Name of the data in messages.
    sizes : sequence of int or None
        Numbers of components; None lets the estimator choose.
    fit : callable
        ``fit(size)`` returns the model of all rows.
    summarize : callable
        ``summarize(model, comparison)`` returns the `Summary` of tables and page. If it names no source, source and heading are
        added.
    reading : dict
        How the file was read, for ``latentia apply``: numbers, texts, lists and arrays that the model stores as ``reading_``.
    description : str
        Name of the data on the page; by default ``source``.
    compare : callable, optional
        Makes the `Comparison` if there are several sizes.
    write_first, write_more : callable
        ``write_first(folder, model)`` and ``write_more(folder, model)`` write further files before and after ``summarize``.
    messages : callable
        ``messages(model)`` returns lines that are printed before the tables.
    evidence : callable
        ``evidence(model)`` returns the evidence if it is not the model's own.
    facts : dict
        Further entries of the summary for programs.
    levels : bool
        Whether the tree of the components is written; see `Estimator.levels`.

    Returns
    -------
    dict
        A summary for programs, also written to ``result.json`` and printed by ``--json``.
    """
    console, rows, size, comparison = Terminal(), None, sizes[0], None
    report_stage("learning")
    with name_source(source):
        if compare is not None and len(sizes) > 1:
            comparison_plan = compare()
            compared = _compare_sizes(comparison_plan, sizes, console, results.progress, evidence)
            model, rows, size, why = _choose_and_fit(comparison_plan, compared, fit, evidence, console)
            comparison = {"held_out": comparison_plan.held_out, "rows": rows, "recommended": size, "why": why}
        else:
            model = fit(size)
    used_names = (reading.get(names) or () for names in ("columns", "columns_v", "categories"))
    model.reading_ = reading_settings({*chain.from_iterable(used_names)}) | dict(reading)
    model_evidence = evidence(model)
    if rows:
        model_evidence.forget_sizes([next(iter(row.values())) for row in rows])
    tree = model.levels() if levels else None
    facts = facts if tree is None else {**facts, "levels": tree.record()}
    summaries: list[Summary] = []
    read_tables = readings()

    def make_record(model: Any) -> dict[str, Any]:
        return {
            "estimator": type(model).__name__, "n_components": model.n_found, "comparison": comparison,
            **_evidence_record(model_evidence), "read": [reading.record() for reading in read_tables], **facts,
        }  # fmt: skip

    def write(folder: Path) -> None:
        report_stage("writing the report")
        persistence.save(model, folder / MODEL_FILE)
        _write_evidence(folder / "evidence.csv", model_evidence)
        if rows:
            write_csv(folder / "comparison.csv", list(rows[0]), [list(row.values()) for row in rows])
        with name_source(source):
            write_first(folder, model)
            summary = replace(summarize(model, rows), comparison=rows)
            tree_parts = () if tree is None else (_levels_section(tree),)
            summary = replace(
                summary, parts=(*summary.parts, *tree_parts, *map(_reading_table, read_tables, range(len(read_tables))))
            )
            if not summary.source:
                summary = replace(summary, title=f"{summary.title} of {source}", source=description or source)
            summaries.append(summary)
            _write_summary(folder, summary)
            write_more(folder, model)
        # Bytes of a file name that are not text become escapes.
        with atomic_file(folder / RESULT_FILE, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(plain(make_record(model)), file, indent=1, ensure_ascii=False)

    files = results.write(write)
    for line in messages(model):
        say(line, console)
    for table in summaries[0].tables.values():
        if table.caption or table.note:
            print_listing(table, console)
    for line in (*summaries[0].lines, *([] if tree is None else [f"{tree.headline} See levels.csv and report.html."])):
        say(line, console)
    print_evidence(model_evidence, console, full=results.evidence)
    say(f"Wrote {', '.join(files)} to {results.out}", console)
    return {
        "source": str(results.source), "out": str(results.out), "files": files, **make_record(model),
    }  # fmt: skip


def _levels_section(tree: Levels) -> Section:
    """Return the tree as a part of the page, open down to the suggested level."""
    size = len(tree.names)
    nodes = [
        {"depth": depth, "name": tree.names[number]} if number < size else
        {"depth": depth, "name": tree.group_names[number - size] if tree.group_names else "", "join": tree.joins[number - size],
         "open": number >= 2 * size - tree.suggested}
        for depth, number, _ in tree.nodes()
    ]  # fmt: skip
    return Section("levels.html", {"nodes": nodes, "headline": tree.headline}, (tree.table(),))


def _reading_table(reading: Reading, number: int) -> Listing:
    """Return the columns of an input table as a part of the page."""
    cells = list(zip(*reading.rows(), strict=True))
    heads = "column", "role", "why", "examples", "missing", "look at"
    columns = (Column(name, values, kind="text", where="p") for name, values in zip(heads, cells, strict=True))
    title = f"Columns of {reading.source}"
    place = f"read-{number}"
    return Listing(
        place,
        tuple(columns),
        title,
        "; ".join(reading.notes),
        place=place,
        folded="Columns as they were read, with reasons",
    )


def _write_summary(folder: Path, summary: Summary) -> None:
    """Write the tables that have files, and the page."""
    from ..report.page import write_summary

    for table in summary.tables.values():
        if table.file and table.of("file"):
            table.write(folder / table.file)
    write_summary(folder / "report.html", summary)


def _grade_text(evidence: Evidence) -> str:
    """Return the grade, or "not measured" if the decisive checks were not measured."""
    return evidence.grade if evidence.measured else "not measured"


_TRANSLATIONS = (
    ("parts of the data: call evidence_.stability(X).", "parts of the data: give --splits 1 or more."),
    ("n_splits is 0", "--splits is 0"),
)


def _translate_advice(text: str) -> str:
    """Replace methods and parameters in a text of the evidence by options of the command."""
    for python_text, option_text in _TRANSLATIONS:
        text = text.replace(python_text, option_text)
    return text


def _evidence_record(evidence: Evidence) -> dict[str, Any]:
    """Return the evidence as plain values, named as in ``evidence.csv``."""
    checks = [
        {"says": status(check), "role": check.role, **row, "limit": None if check.bound is None else check.bound.limit}
        for check, row in zip(evidence.checks, evidence.rows()[len(evidence.statements) :], strict=True)
    ]
    return {
        "grade": _grade_text(evidence),
        "verdict": evidence.verdict,
        "advice": _translate_advice(evidence.advice),
        "statements": [{"says": mark, **asdict(statement)} for mark, statement in evidence.marks],
        "expected_error": evidence.expected_error,
        "components": [asdict(component) for component in evidence.components],
        "checks": checks,
        **({} if evidence.topics is None else {"topics": _evidence_record(evidence.topics)}),
    }


def _compare_sizes(
    plan: Comparison,
    sizes: Sequence[int | None],
    console: Console,
    progress: bool,
    evidence: Callable[[Any], Evidence],
) -> tuple[Rows, list[Size]]:
    """Measure every number of components that the data supports; return rows of measures, and sizes with evidence."""
    rows: Rows = []
    sizes_tried: list[Size] = []
    work = sum(int(size or 1) for size in sizes)  # Larger sizes take longer.
    with progress_bar(progress and "comparing", work, plan.noun) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)  # The final fit repeats the warnings that matter.
        for size in plan.walk(sizes, sizes_tried):
            try:
                model = plan.fit(int(size or 0))
                model_evidence = evidence(model)
                sizes_tried.append(Size.from_evidence(int(size or 0), model_evidence))
                rows.append(
                    {
                        plan.noun: size,
                        "grade": _grade_text(model_evidence.topics or model_evidence),
                        **_comparison_columns(sizes_tried[-1]),
                        **plan.measure(model),
                    }
                )
            except LatentiaError as error:
                if error.parameter != "n_components" or not rows:
                    raise
                say(f"-k {size} and more are skipped: {error.message}", console)
                break
            advance(int(size or 1))
    return rows, sizes_tried


def _choose_and_fit(
    plan: Comparison,
    comparison_results: tuple[Rows, list[Size]],
    fit: Callable[[int | None], Any],
    evidence: Callable[[Any], Evidence],
    console: Console,
) -> tuple[Any, Rows, int, str]:
    """Choose the best size, fit it to all rows and print the comparison; return model, rows, size and reason.

    If the grade of a size falls when all rows are fitted, the lower grade counts and another size may be chosen.
    """
    rows, sizes_tried = comparison_results
    order = sorted(range(len(rows)), key=lambda i: rows[i][plan.noun])
    rows, sizes_tried = [rows[i] for i in order], [sizes_tried[i] for i in order]
    grade_changes: list[str] = []
    while True:
        best, sentence = plan.choose(rows) if plan.choose else recommend(sizes_tried, plan.noun)
        report_stage(f"learning {best} {plan.noun}")
        model = fit(best)
        model_evidence = evidence(model)
        at = next(i for i, size in enumerate(sizes_tried) if size.n_components == best)
        final = replace(Size.from_evidence(best, model_evidence), held_out=sizes_tried[at].held_out)
        if not plan.by_grade or not is_worse_than_promised(sizes_tried[at], final):
            break
        grade_changes.append(
            f"-k {best} is {final.grade} with all rows, but was {sizes_tried[at].grade} with the rows of the comparison."
        )
        sizes_tried[at], rows[at] = final, rows[at] | {"grade": _grade_text(model_evidence.topics or model_evidence)}
    if all(row["goodness of fit"] is None for row in rows):
        rows = [{name: value for name, value in row.items() if name != "goodness of fit"} for row in rows]
    where = f"held out: {plan.held_out}" if plan.held_out else "on all rows"
    _print_comparison(rows, best, f"Comparison ({where})", console)
    for line in [*grade_changes, sentence]:
        say(line, console)
    return model, rows, best, " ".join([*grade_changes, sentence])


def _comparison_columns(size: Size) -> dict[str, Any]:
    """Return the evidence about a size as columns of a comparison."""
    return {
        "expected error": float("nan") if size.expected_error is None else size.expected_error,
        "needed": "" if size.limit is None else f"<= {number_text(size.limit)}",
        "goodness of fit": size.goodness,
    }


def hold_out(rows: Any, source: str, stretch: int = 1, n_parts: int = 10) -> tuple[Any, Any]:
    """Split the rows of Blocks or of a table into nine tenths for learning and one tenth for measuring, or by ``n_parts``.

    ``stretch`` neighbouring rows stay together, for data whose neighbouring rows are alike.
    """
    folds = Folds(n_parts, 1, stretch)
    if isinstance(rows, Blocks):
        train, test, n = rows.group(range(1, n_parts), folds), rows.group([0], folds), rows.n_rows
    else:
        is_held_out, n = folds.of(np.arange(rows.shape[0])) == 0, rows.shape[0]
        train, test = rows[~is_held_out], rows[is_held_out]
    if n < _MIN_ROWS:
        raise LatentiaError(f"{n} rows are too few to hold some out. Give a single number with -k.", source=source)
    return train, test


@contextmanager
def name_source(source: str, **of_parameters: str) -> Iterator[None]:
    """Add the source to errors of an estimator; data that is given as a parameter may have another source."""
    try:
        yield
    except LatentiaError as error:
        error.source = error.source or of_parameters.get(error.parameter or "", source)
        raise


@contextmanager
def explain_cell_errors(reading: ReadOptions, hint: str = "") -> Iterator[None]:
    """Add a hint and the choices of --missing to errors about a cell."""
    try:
        yield
    except CellError as error:
        ways = [
            f"--missing {way} {_MISSING_EFFECTS[way]}"
            for way in reading.ways
            if error.missing and reading.missing == "error"
        ]
        error.hint = " ".join(filter(None, [error.hint, hint, f"{', and '.join(ways)}." if ways else ""]))
        error.missing = False  # The hint is complete.
        raise


# --- options ----------------------------------------------------------------------------------------------------


class Sizes(list[Any]):
    """Numbers of components to fit; None lets the estimator choose."""

    def __init__(self, sizes: Iterable[int | None], noun: str) -> None:
        super().__init__(sizes)
        self.noun = noun

    def limit_to(self, max_size: int, data: str) -> Sizes:
        """Return the sizes up to ``max_size``; cut a range there with a note, and refuse a larger single size.

        ``data`` describes the limit, such as "rows.csv: 30 rows".
        """
        allowed = [size for size in self if size is None or size <= max_size]
        if not allowed:
            raise LatentiaError(f"{data} support at most {max_size} {self.noun}: -k {self[0]} is too large.")
        if len(allowed) < len(self):
            say(f"{data} support at most {max_size} {self.noun}: the range stops there.")
        return Sizes(allowed, self.noun)


def parse_sizes(text: str | None, noun: str, auto: bool = False) -> Sizes:
    """Parse the sizes of -k: ``20`` or ``FROM:TO:STEP`` with both ends; no size for "auto", if the command has it."""
    if text is None or (auto and text == "auto"):
        return Sizes([None] if text is None else [], noun)
    if not re.fullmatch(r"\d+(:\d+(:\d+)?)?", text, re.ASCII):
        or_auto = ", or auto" if auto else ""
        raise LatentiaError(f"-k {text!r}: give a number of {noun}, or FROM:TO:STEP as in 10:50:10{or_auto}.")
    if re.search(r"\d{10}", text):
        raise LatentiaError(f"-k {text[:40]}: no data supports that many {noun}.")
    first, *bounds = (int(part) for part in text.split(":"))
    if not bounds and first < 1:
        raise LatentiaError(f"-k {text}: give at least 1 of the {noun}.")
    step = bounds[1] if len(bounds) == 2 else 1
    sizes = range(first, (bounds[0] if bounds else first) + 1, step) if first and step else range(0)
    if not sizes:
        raise LatentiaError(f"-k {text!r}: no number of {noun} in that range.")
    if len(sizes) > _MAX_SIZES:
        raise LatentiaError(f"-k {text!r}: {len(sizes)} numbers of {noun}; at most {_MAX_SIZES} can be compared.")
    return Sizes(sizes, noun)


def refuse_options(source: Path, reason: str, **options: Any) -> None:
    """Raise for an option that does not apply to this kind of source."""
    for name, value in options.items():
        if value is not None:
            raise LatentiaError(f"--{name.replace('_', '-')}: {source.name}: {reason}; leave it out.")


def check_file(path: Path, option: str) -> Path:
    """Return the path of a file; raise if there is none."""
    if not path.is_file():
        raise LatentiaError(f"{option} {path}: no such file.")
    return path


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading files.

    Attributes
    ----------
    progress : bool
    cache : Path or False, optional
        Folder for binary copies of tables; by default the folder of each file if writable; False keeps none.
    missing : {"error", "drop", "mean", "keep", "blank"}
        Treatment of cells without a value. "blank" gives their rows an empty answer, where a model cannot treat them.
    ways : tuple of str
        Allowed values of ``--missing`` in this command; empty without that option.
    encoding : str, optional
        Encoding of texts; detected by default.
    column_options : ColumnOptions
        Options about columns.
    sheet : str, optional
        Sheet of a workbook.
    left_out : list of lists, optional
        Filled with the labels of rows that get an empty answer; None if rows get no answers.
    """

    progress: bool = True
    cache: Path | Literal[False] | None = None
    missing: str = "error"
    ways: tuple[str, ...] = ()
    encoding: str | None = None
    column_options: ColumnOptions = field(default_factory=ColumnOptions)
    sheet: str | None = None
    left_out: list[list[Any]] | None = None

    def code_two_values(self, amounts: bool = False) -> ReadOptions:
        """Return a copy that codes columns of two numbers as 0 and 1, as it does two texts; see `ColumnOptions`."""
        return replace(self, column_options=replace(self.column_options, code_two_numbers=True, amounts=amounts))


# --- printing ---------------------------------------------------------------------------------------------------


def print_listing(table: Listing, console: Console) -> None:
    """Print the first rows of a table, lists of words last, and its note."""
    columns = sorted(table.of("screen"), key=lambda column: column.kind == "words")
    left_kinds = "text", "name", "words", "grade"
    heads = {column.head or column.name: "left" if column.kind in left_kinds else "right" for column in columns}
    n_rows = len(table) if table.printed is None else table.printed
    rows = [[column.printed(column.values[i]) for column in columns] for i in range(min(n_rows, _MAX_LISTED))]
    if table.caption:
        _print_table(console, table.caption, heads, rows)
    if table.caption and n_rows > _MAX_LISTED:
        say(f"{n_rows - _MAX_LISTED} more in {table.rest or table.file}", console)
    if table.note:
        say(table.note, console)


def _print_comparison(rows: Rows, best: int, title: str, console: Console) -> None:
    """Print the comparison of sizes with the best in bold; measures that do not fit on the screen are left out."""
    names = list(rows[0])
    cells = {name: [_short_text(row[name]) for row in rows] for name in names}
    widths = [max(map(cell_len, [*name.split(), *cells[name]])) + 2 for name in names]
    fitting_names = [
        name for i, name in enumerate(names) if sum(widths[: i + 1]) <= max(console.width, sum(widths[:5]))
    ]
    bold = {i: "bold" for i, row in enumerate(rows) if row[names[0]] == best}
    texts = list(zip(*(cells[name] for name in fitting_names), strict=True))
    _print_table(console, title, dict.fromkeys(fitting_names, "right"), texts, bold)
    if len(fitting_names) < len(names):
        say(f"More measures are in comparison.csv: {', '.join(names[len(fitting_names) :])}.", console)


def _print_table(
    console: Console,
    title: str,
    heads: Mapping[str, str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[int, str] | None = None,
) -> None:
    """Print text in columns. A left-aligned last column is cut at the end of the screen; otherwise headings are wrapped."""
    table, names = make_table(title), list(heads)
    cells = [[row[i] for row in rows] for i in range(len(names))]
    widths = [max(map(cell_len, [name, *texts])) for name, texts in zip(names, cells, strict=True)]
    room, cut = console.width - 2 * len(names), heads[names[-1]] == "left"
    if cut:
        widths = [
            width if heads[name] == "right" else min(width, _MIN_TEXT_WIDTH)
            for name, width in zip(names, widths, strict=True)
        ]
        widths[-1] = max(room - sum(widths[:-1]), _MIN_TEXT_WIDTH)
    elif sum(widths) > room:
        widths = [max(map(cell_len, [*name.split(), *texts])) for name, texts in zip(names, cells, strict=True)]
    for (name, side), width in zip(heads.items(), widths, strict=True):
        table.add_column(name, justify="default" if side == "left" else "right", width=width, no_wrap=side == "left")
    for i, row in enumerate(rows):
        table.add_row(*map(escape, row), style=(styles or {}).get(i))
    console.print(table)


def _short_text(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    if 0 < abs(value) < 1e-9:
        return "0"
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:.0f}"


def print_evidence(evidence: Evidence, console: Console, *, full: bool = False) -> None:
    """Print the verdict, the advice, the four statements, and the failed checks, or every check if ``full``."""
    console.print(
        evidence.verdict, style=_STYLES[evidence.grade] if evidence.measured else "bold", highlight=False, markup=False
    )
    console.print(_translate_advice(evidence.advice), highlight=False, markup=False)
    console.print()
    statement_lines = [
        (mark, (line.name, line.measured, line.needed, "", line.sentence)) for mark, line in evidence.marks
    ]
    _print_lines(
        statement_lines + [(mark, describe(check)) for mark, check in ([] if full else evidence.reasons)], console, full
    )
    if full:
        say("\nThese statements rest on:", console)
        _print_lines([(mark, describe(check)) for mark, check in evidence.rests_on()], console, full)
    notes = [("", describe(check)) for check in evidence.checks if not status(check)]
    if full and notes:
        say("\nMore measurements (not part of the verdict):", console)
        _print_lines(notes, console, full)
    errors = f"{ERRORS_SENTENCE} " if evidence.on_components and evidence.component_errors is not None else ""
    if evidence.topics is not None:
        say(f"\n{evidence.topics.nouns[1].capitalize()}:", console)
        print_evidence(evidence.topics, console, full=full)
        return
    say(errors + ("" if full else "All checks: --evidence, and in evidence.csv and report.html."), console)


def _print_lines(lines: Sequence[tuple[str, Sequence[str]]], console: Console, full: bool) -> None:
    """Print a line per statement or check, cut at the end of the screen; if ``full``, its whole meaning below."""
    texts = []
    for mark, (name, measured, needed, _, meaning) in lines:
        requirement = f"needed {needed}" if needed else ""
        requirement = requirement if full else re.sub(r" \((?![-\d.]).*", "", requirement)
        texts.append((mark, name, measured, requirement, _translate_advice(meaning)))
    widths = [max((len(text[i]) for text in texts), default=0) for i in range(4)]
    for mark, name, measured, needed, meaning in texts:
        start = f"  {mark:<4} {name:<{widths[1]}}  {measured:>{widths[2]}}  {needed:<{widths[3]}}  "
        room = console.width - len(start) if console.is_terminal else len(meaning)
        say((start + ("" if full else _shorten(first_sentence(meaning), room))).rstrip(), console)
        for line in textwrap.wrap(meaning, max(console.width - 7, _MIN_TEXT_WIDTH)) if full else ():
            say(f"       {line}", console)


def _shorten(text: str, room: int) -> str:
    """Shorten a text to the words that fit."""
    if len(text) <= room:
        return text
    return text[: room - 1].rpartition(" ")[0] + "…" if room > _MIN_TEXT_WIDTH else ""


# --- writing ----------------------------------------------------------------------------------------------------


def _write_evidence(path: Path, evidence: Evidence) -> None:
    """Write the grade and every check; for predictions, the checks of the topics follow."""
    header = ["says", "name", "symbol", "measured", "needed", "meaning", "reference"]
    rows = list[list[Any]]()
    for label, part_evidence in (("grade", evidence), ("grade of the topics", evidence.topics)):
        if part_evidence is not None:
            rows.append(
                [_grade_text(part_evidence), label, "", "", "", f"{part_evidence.verdict} {part_evidence.advice}", ""]
            )
            rows += (
                [mark, statement.name, "", statement.value, statement.needed, statement.sentence, "statement"]
                for mark, statement in part_evidence.marks
            )
            rows += ([status(check), *(getattr(check, name) for name in header[1:])] for check in part_evidence.checks)
    write_csv(
        path, header, ([_translate_advice(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    )
