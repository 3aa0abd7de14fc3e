"""The skeleton of a command: options, numbers of components that are compared, a fit, results written whole or not at all."""

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
from typing import Any, Literal

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import persistence
from ..datasets.tables import CellError
from ..evidence import Evidence
from ..evidence.checks import describe, number_text
from ..evidence.sentences import ERRORS_SENTENCE
from ..evidence.sizes import Size, all_sizes, is_worse_than_promised, recommend
from ..evidence.statements import status
from ..exceptions import LatentiaError, LatentiaWarning
from ..passes import Blocks, Folds
from ..passes.formats import known_encoding
from ..reading import Asked, Reading, kept_readings, readings
from ..report.parts import first_sentence
from ..summaries import Column, Summary, write_csv
from ..summaries import Table as Listing
from ..system.progress import progress_bar
from ..system.scratch import atomic_file, can_write
from ..system.terminal import Terminal, say
from ._json import plain
from ._options import check_choice
from ._results import MODEL_FILE, RESULT_FILE, Results

_MOST_SIZES = 100
_FEWEST = 20  # rows of which some can be held out
_PRINTED = 10  # components that are listed on the screen
_NARROW = 16  # characters of a text before a longer one
_STYLES = {"supported": "bold green", "with care": "bold yellow", "partly": "bold yellow", "not supported": "bold red"}


_WAYS = {"drop": "leaves such rows out", "mean": "fills such cells", "keep": "treats them as missing"}


# --- a command --------------------------------------------------------------------------------------------------

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """How numbers of components are compared.

    Attributes
    ----------
    noun : str
        What the first column is called, such as "topics".
    held_out : str
        What the models are measured on, such as "one document in ten"; empty if on all rows.
    fit : callable
        ``fit(size)``: the model of that size, of the rows that are not held out. It should show no progress of its own.
    measure : callable
        ``measure(model)``: a dict of the columns of its row, besides those of the evidence.
    choose : callable, optional
        ``choose(rows)``: the number that is best by the rows, and why, in a sentence, as `highest` makes one. By default it is
        the one that the evidence recommends.
    walk : callable, optional
        ``walk(sizes, found)``: the numbers to fit, one by one, by what was found of those before; by default all of them. See
        `latentia.evidence.until_enough` and `latentia.evidence.and_beyond`.
    """

    noun: str
    held_out: str
    fit: Callable[[int], Any]
    measure: Callable[[Any], dict[str, Any]]
    choose: Callable[[Rows], tuple[int, str]] | None = None
    walk: Callable[[Any, list[Size]], Iterable[int | None]] = all_sizes


def highest(column: str, sentence: str) -> Callable[[Rows], tuple[int, str]]:
    """A rule for `Comparison`: the highest value of a column is best. ``sentence`` has ``{}`` for the number."""

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
    described: str = "",
    compare: Callable[[], Comparison] | None = None,
    first: Callable[[Path, Any], object] = lambda folder, model: None,
    more: Callable[[Path, Any], object] = lambda folder, model: None,
    said: Callable[[Any], Iterable[str]] = lambda model: (),
    evidence: Callable[[Any], Evidence] = lambda model: model.evidence_,
) -> dict[str, Any]:
    """Compare numbers of components where there are several, fit one, write the results and print them.

    Parameters
    ----------
    results : Results
    source : str
        Name of the data in messages.
    sizes : sequence of int or None
        Numbers of components; None lets the estimator choose.
    fit : callable
        ``fit(size)``: the model of all rows.
    summarize : callable
        ``summarize(model, comparison)``: the tables and the page, with figures; where it names no source, that and the
        heading follow from it.
    reading : dict
        How the file was read, for ``latentia apply``: numbers, texts, lists and arrays that the model keeps as ``reading_``.
    described : str
        Name of the data on the page, by default as in messages.
    compare : callable, optional
        Makes the `Comparison` where there are several sizes.
    first, more : callable
        ``first(folder, model)`` and ``more(folder, model)`` write files that are no tables, before and after ``summarize``.
    said : callable
        ``said(model)``: lines that are printed before the tables.
    evidence : callable
        ``evidence(model)``, where it is another than that of the model.

    Returns
    -------
    dict
        A summary for programs, which ``--json`` prints.
    """
    console, rows, size, comparison = Terminal(), None, sizes[0], None
    with named(source):
        if compare is not None and len(sizes) > 1:
            how = compare()
            compared = _compared(how, sizes, console, results.progress, evidence)
            model, rows, size, why = _best(how, compared, fit, evidence, console)
            comparison = {"held_out": how.held_out, "rows": rows, "recommended": size, "why": why}
        else:
            model = fit(size)
    used = (reading.get(names) or () for names in ("columns", "columns_v", "categories"))
    model.reading_ = kept_readings({*chain.from_iterable(used)}) | dict(reading)
    found = evidence(model)
    if rows:
        found.forget_sizes([next(iter(row.values())) for row in rows])
    told: list[Summary] = []
    read = readings()

    def told_of(model: Any) -> dict[str, Any]:
        return {
            "estimator": type(model).__name__, "n_components": model.n_found, "comparison": comparison, **_said(found),
            "read": [reading.record() for reading in read],
        }  # fmt: skip

    def write(folder: Path) -> None:
        persistence.save(model, folder / MODEL_FILE)
        _write_evidence(folder / "evidence.csv", found)
        if rows:
            write_csv(folder / "comparison.csv", list(rows[0]), [list(row.values()) for row in rows])
        with named(source):
            first(folder, model)
            summary = replace(summarize(model, rows), comparison=rows)
            summary = replace(summary, parts=(*summary.parts, *map(_columns_read, read, range(len(read)))))
            if not summary.source:
                summary = replace(summary, title=f"{summary.title} of {source}", source=described or source)
            told.append(summary)
            _write_summary(folder, summary)
            more(folder, model)
        # A byte of a file name that is no text becomes an escape, which JSON has for it.
        with atomic_file(folder / RESULT_FILE, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(plain(told_of(model)), file, indent=1, ensure_ascii=False)

    files = results.write(write)
    for line in said(model):
        say(line, console)
    for table in told[0].tables.values():
        if table.caption or table.note:
            print_listing(table, console)
    for line in told[0].lines:
        say(line, console)
    print_evidence(found, console, full=results.evidence)
    say(f"Wrote {', '.join(files)} to {results.out}", console)
    return {
        "source": str(results.source), "out": str(results.out), "files": files, **told_of(model),
    }  # fmt: skip


def _columns_read(reading: Reading, number: int) -> Listing:
    """The columns of a table that was read, as a part of the page."""
    cells = list(zip(*reading.rows(), strict=True))
    heads = "column", "role", "why", "examples", "missing", "look at"
    columns = (Column(name, values, kind="text", where="p") for name, values in zip(heads, cells, strict=True))
    title = f"Columns of {reading.source}"
    place = f"read-{number}"
    return Listing(place, tuple(columns), title, "; ".join(reading.notes), place=place, folded="What was read, and why")


def _write_summary(folder: Path, summary: Summary) -> None:
    """The tables that have files, and the page."""
    from ..report.page import write_summary

    for table in summary.tables.values():
        if table.file and table.of("file"):
            table.write(folder / table.file)
    write_summary(folder / "report.html", summary)


def _grade(evidence: Evidence) -> str:
    """The grade; where what decides was not measured, that."""
    return evidence.grade if evidence.measured else "not measured"


_INSTEAD = (
    ("parts of the data: call evidence_.stability(X).", "parts of the data: give --splits 1 or more."),
    ("n_splits is 0", "--splits is 0"),
)


def _in_command(text: str) -> str:
    """What evidence says, with options of the command instead of methods and parameters."""
    for said, instead in _INSTEAD:
        text = text.replace(said, instead)
    return text


def _said(evidence: Evidence) -> dict[str, Any]:
    """The evidence as plain values, with the names of the columns of ``evidence.csv``."""
    checks = [
        {"says": status(check), "role": check.role, **row, "limit": None if check.bound is None else check.bound.limit}
        for check, row in zip(evidence.checks, evidence.rows()[len(evidence.statements) :], strict=True)
    ]
    return {
        "grade": _grade(evidence),
        "verdict": evidence.verdict,
        "advice": _in_command(evidence.advice),
        "statements": [{"says": mark, **asdict(one)} for mark, one in evidence.marks],
        "expected_error": evidence.expected_error,
        "components": [asdict(component) for component in evidence.components],
        "checks": checks,
        **({} if evidence.topics is None else {"topics": _said(evidence.topics)}),
    }


def _compared(
    how: Comparison,
    sizes: Sequence[int | None],
    console: Console,
    progress: bool,
    evidence: Callable[[Any], Evidence],
) -> tuple[Rows, list[Size]]:
    """A row of measures for every number of components that the data can carry, and what the evidence says of each."""
    rows: Rows = []
    found: list[Size] = []
    work = sum(int(size or 1) for size in sizes)  # larger numbers take longer
    with progress_bar(progress and "comparing", work, how.noun) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentiaWarning)  # the model of all the data says again what concerns it
        for size in how.walk(sizes, found):
            try:
                model = how.fit(int(size or 0))
                said = evidence(model)
                found.append(Size.from_evidence(int(size or 0), said))
                rows.append(
                    {how.noun: size, "grade": _grade(said.topics or said), **_columns(found[-1]), **how.measure(model)}
                )
            except LatentiaError as error:
                if error.parameter != "n_components" or not rows:
                    raise
                say(f"-k {size} and more are skipped: {error.message}", console)
                break
            advance(int(size or 1))
    return rows, found


def _best(
    how: Comparison,
    compared: tuple[Rows, list[Size]],
    fit: Callable[[int | None], Any],
    evidence: Callable[[Any], Evidence],
    console: Console,
) -> tuple[Any, Rows, int, str]:
    """The model of all rows with the best number, the rows of the comparison, which are printed, the number, and why.

    Where the grade of a number falls when all rows are fitted, that is its grade, and the best number may be another one.
    """
    rows, found = compared
    order = sorted(range(len(rows)), key=lambda i: rows[i][how.noun])
    rows, found = [rows[i] for i in order], [found[i] for i in order]
    fallen: list[str] = []
    while True:
        best, sentence = how.choose(rows) if how.choose else recommend(found, how.noun)
        model = fit(best)
        said = evidence(model)
        at = next(i for i, size in enumerate(found) if size.n_components == best)
        final = replace(Size.from_evidence(best, said), held_out=found[at].held_out)
        if how.choose or not is_worse_than_promised(found[at], final):
            break
        fallen.append(
            f"-k {best} is {final.grade} with all rows, and was {found[at].grade} with those that were compared."
        )
        found[at], rows[at] = final, rows[at] | {"grade": _grade(said.topics or said)}
    if all(row["goodness of fit"] is None for row in rows):
        rows = [{name: value for name, value in row.items() if name != "goodness of fit"} for row in rows]
    where = f"held out: {how.held_out}" if how.held_out else "on all rows"
    _print_comparison(rows, best, f"Comparison ({where})", console)
    for line in [*fallen, sentence]:
        say(line, console)
    return model, rows, best, " ".join([*fallen, sentence])


def _columns(found: Size) -> dict[str, Any]:
    """What the evidence says of a number of components, as columns of a comparison."""
    return {
        "expected error": float("nan") if found.expected_error is None else found.expected_error,
        "needed": "" if found.limit is None else f"<= {number_text(found.limit)}",
        "goodness of fit": found.goodness,
    }


def hold_out(rows: Any, source: str, stretch: int = 1, n_parts: int = 10) -> tuple[Any, Any]:
    """Nine tenths of the rows, of Blocks or of a table, to learn from, and the others to measure on; or of other parts.

    So many neighbouring rows stay together, where they are alike.
    """
    folds = Folds(n_parts, 1, stretch)
    if isinstance(rows, Blocks):
        train, test, n = rows.group(range(1, n_parts), folds), rows.group([0], folds), rows.n_rows
    else:
        held, n = folds.of(np.arange(rows.shape[0])) == 0, rows.shape[0]
        train, test = rows[~held], rows[held]
    if n < _FEWEST:
        raise LatentiaError(f"{n} rows are too few to hold some out; give one number with -k.", source=source)
    return train, test


@contextmanager
def named(source: str) -> Iterator[None]:
    """Errors of an estimator name the source."""
    try:
        yield
    except LatentiaError as error:
        error.source = error.source or source
        raise


@contextmanager
def cells_explained(reading: ReadOptions, hint: str = "") -> Iterator[None]:
    """Errors about a cell end with a hint, and with what --missing may do about it."""
    try:
        yield
    except CellError as error:
        ways = [f"--missing {way} {_WAYS[way]}" for way in reading.ways if error.missing and reading.missing == "error"]
        error.hint = " ".join(filter(None, [error.hint, hint, f"{', and '.join(ways)}." if ways else ""]))
        error.missing = False  # Nothing is left to say of it.
        raise


# --- options ----------------------------------------------------------------------------------------------------


class Sizes(list[Any]):
    """Numbers of components, such as "topics", that are to be fitted; None where the estimator chooses."""

    def __init__(self, sizes: Iterable[int | None], what: str) -> None:
        super().__init__(sizes)
        self.what = what

    def up_to(self, most: int, data: str) -> Sizes:
        """Those up to ``most``; a range is cut there with a note, and a single number beyond is refused.

        ``data`` is what carries no more, such as "rows.csv: 30 rows".
        """
        kept = [size for size in self if size is None or size <= most]
        if not kept:
            raise LatentiaError(f"{data} carry at most {most} {self.what}: -k {self[0]} is too large.")
        if len(kept) < len(self):
            say(f"{data} carry at most {most} {self.what}: the range stops there.")
        return Sizes(kept, self.what)


def parse_sizes(text: str | None, what: str, auto: bool = False) -> Sizes:
    """The numbers of -k: ``20`` or ``FROM:TO:STEP``, both ends included; none for "auto", where the command has it."""
    if text is None or (auto and text == "auto"):
        return Sizes([None] if text is None else [], what)
    if not re.fullmatch(r"\d+(:\d+(:\d+)?)?", text, re.ASCII):
        or_auto = ", or auto" if auto else ""
        raise LatentiaError(f"-k {text!r}: give a number of {what}, or FROM:TO:STEP as in 10:50:10{or_auto}.")
    if re.search(r"\d{10}", text):
        raise LatentiaError(f"-k {text[:40]}: no data carries that many {what}.")
    first, *more = (int(part) for part in text.split(":"))
    if not more and first < 1:
        raise LatentiaError(f"-k {text}: at least 1 of the {what} is needed.")
    step = more[1] if len(more) == 2 else 1
    sizes = range(first, (more[0] if more else first) + 1, step) if first and step else range(0)
    if not sizes:
        raise LatentiaError(f"-k {text!r}: no number of {what} in that range.")
    if len(sizes) > _MOST_SIZES:
        raise LatentiaError(f"-k {text!r}: {len(sizes)} numbers of {what}; {_MOST_SIZES} can be compared.")
    return Sizes(sizes, what)


def refuse_options(source: Path, why: str, **given: Any) -> None:
    """Raise for an option that sources of this kind do not have."""
    for name, value in given.items():
        if value is not None:
            raise LatentiaError(f"--{name.replace('_', '-')}: {source.name}: {why}; leave it out.")


def existing(path: Path, option: str) -> Path:
    """The path, if it is a file."""
    if not path.is_file():
        raise LatentiaError(f"{option} {path}: no such file.")
    return path


@dataclass(frozen=True)
class ReadOptions:
    """How files are read, as options say.

    Attributes
    ----------
    progress : bool
    cache : Path or False, optional
        Folder for binary copies of tables, by default that of each file, if it can be written; False keeps none.
    missing : {"error", "drop", "mean", "keep"}
        What is done with cells without a value.
    ways : tuple of str
        What ``--missing`` may say in this command; empty where there is no such option.
    encoding : str, optional
        Of texts; detected if it is not given.
    asked : Asked
        What the user says of columns.
    sheet : str, optional
        Of a workbook.
    """

    progress: bool = True
    cache: Path | Literal[False] | None = None
    missing: str = "error"
    ways: tuple[str, ...] = ()
    encoding: str | None = None
    asked: Asked = field(default_factory=Asked)
    sheet: str | None = None

    def of_two_values(self, amounts: bool = False) -> ReadOptions:
        """Return the same for a command that reads two numbers as 0 and 1, as it does two texts; see `Asked`."""
        return replace(self, asked=replace(self.asked, two=True, amounts=amounts))

    @classmethod
    def of(
        cls,
        quiet: bool,
        cache: Path | None,
        no_cache: bool,
        missing: str | None = None,
        ways: tuple[str, ...] = (),
        *,
        encoding: str | None = None,
        asked: Asked | None = None,
        sheet: str | None = None,
    ) -> ReadOptions:
        """From options, which are checked."""
        if encoding is not None:
            known_encoding(encoding)
        if missing is not None:
            check_choice("--missing", missing, ways)
        if cache is not None:
            if no_cache:
                raise LatentiaError("--cache and --no-cache: give one of the two.")
            there = next(path for path in (cache, *cache.absolute().parents) if path.exists())
            if not can_write(there):
                raise LatentiaError(f"--cache {cache}: no folder that can be written. Choose another, or --no-cache.")
        return cls(not quiet, False if no_cache else cache, missing or "error", ways, encoding, asked or Asked(), sheet)


# --- printing ---------------------------------------------------------------------------------------------------


def print_listing(table: Listing, console: Console) -> None:
    """The first rows of a table on the screen, with what is several of something last, and its note."""
    columns = sorted(table.of("screen"), key=lambda column: column.kind == "words")
    left = "text", "name", "words", "grade"
    heads = {column.head or column.name: "left" if column.kind in left else "right" for column in columns}
    most = len(table) if table.printed is None else table.printed
    rows = [[column.printed(column.values[i]) for column in columns] for i in range(min(most, _PRINTED))]
    if table.caption:
        _print_table(console, table.caption, heads, rows)
    if table.caption and most > _PRINTED:
        say(f"{most - _PRINTED} more in {table.rest or table.file}", console)
    if table.note:
        say(table.note, console)


def _print_comparison(rows: Rows, best: int, title: str, console: Console) -> None:
    """The table of sizes that were compared, the best one in bold; measures that the screen has no room for are left out."""
    names = list(rows[0])
    cells = {name: [_short(row[name]) for row in rows] for name in names}
    widths = [max(map(cell_len, [*name.split(), *cells[name]])) + 2 for name in names]
    shown = [name for i, name in enumerate(names) if sum(widths[: i + 1]) <= max(console.width, sum(widths[:5]))]
    bold = {i: "bold" for i, row in enumerate(rows) if row[names[0]] == best}
    texts = list(zip(*(cells[name] for name in shown), strict=True))
    _print_table(console, title, dict.fromkeys(shown, "right"), texts, bold)
    if len(shown) < len(names):
        say(f"More measures are in comparison.csv: {', '.join(names[len(shown) :])}.", console)


def _print_table(
    console: Console,
    title: str,
    heads: Mapping[str, str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[int, str] | None = None,
) -> None:
    """Texts in columns. The last is cut where the screen ends if it is one to the left; else headings are broken to fit."""
    table, names = _table(title), list(heads)
    cells = [[row[i] for row in rows] for i in range(len(names))]
    widths = [max(map(cell_len, [name, *texts])) for name, texts in zip(names, cells, strict=True)]
    room, cut = console.width - 2 * len(names), heads[names[-1]] == "left"
    if cut:
        widths = [
            width if heads[name] == "right" else min(width, _NARROW) for name, width in zip(names, widths, strict=True)
        ]
        widths[-1] = max(room - sum(widths[:-1]), _NARROW)
    elif sum(widths) > room:
        widths = [max(map(cell_len, [*name.split(), *texts])) for name, texts in zip(names, cells, strict=True)]
    for (name, side), width in zip(heads.items(), widths, strict=True):
        table.add_column(name, justify="default" if side == "left" else "right", width=width, no_wrap=side == "left")
    for i, row in enumerate(rows):
        table.add_row(*map(escape, row), style=(styles or {}).get(i))
    console.print(table)


def _table(title: str) -> Table:
    look: dict[str, Any] = {"box": SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    return Table(title=escape(title), title_justify="left", **look)


def _short(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    if 0 < abs(value) < 1e-9:
        return "0"
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else f"{value:.0f}"


def print_evidence(evidence: Evidence, console: Console, *, full: bool = False) -> None:
    """The verdict and what to do next; the four statements, and what did not hold, or every check if ``full``."""
    console.print(
        evidence.verdict, style=_STYLES[evidence.grade] if evidence.measured else "bold", highlight=False, markup=False
    )
    console.print(_in_command(evidence.advice), highlight=False, markup=False)
    console.print()
    said = [(mark, (one.name, one.measured, one.needed, "", one.sentence)) for mark, one in evidence.marks]
    _print_lines(said + [(mark, describe(check)) for mark, check in ([] if full else evidence.reasons)], console, full)
    if full:
        say("\nThey rest on:", console)
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
    """A line for each statement or check, which ends where the screen does; if ``full``, all that it means below."""
    texts = []
    for mark, (name, measured, needed, _, meaning) in lines:
        asked = f"needed {needed}" if needed else ""
        asked = asked if full else re.sub(r" \((?![-\d.]).*", "", asked)
        texts.append((mark, name, measured, asked, _in_command(meaning)))
    widths = [max((len(text[i]) for text in texts), default=0) for i in range(4)]
    for mark, name, measured, needed, meaning in texts:
        start = f"  {mark:<4} {name:<{widths[1]}}  {measured:>{widths[2]}}  {needed:<{widths[3]}}  "
        room = console.width - len(start) if console.is_terminal else len(meaning)
        say((start + ("" if full else _cut(first_sentence(meaning), room))).rstrip(), console)
        for line in textwrap.wrap(meaning, max(console.width - 7, _NARROW)) if full else ():
            say(f"       {line}", console)


def _cut(text: str, room: int) -> str:
    """The text, or as many of its words as there is room for."""
    if len(text) <= room:
        return text
    return text[: room - 1].rpartition(" ")[0] + "…" if room > _NARROW else ""


# --- writing ----------------------------------------------------------------------------------------------------


def _write_evidence(path: Path, evidence: Evidence) -> None:
    """The grade, and every check with what it says; after those of predictions those of topics that these do not use."""
    header = ["says", "name", "symbol", "measured", "needed", "meaning", "reference"]
    rows = list[list[Any]]()
    for what, one in (("grade", evidence), ("grade of the topics", evidence.topics)):
        if one is not None:
            rows.append([_grade(one), what, "", "", "", f"{one.verdict} {one.advice}", ""])
            rows += (
                [mark, said.name, "", said.value, said.needed, said.sentence, "statement"] for mark, said in one.marks
            )
            rows += ([status(check), *(getattr(check, name) for name in header[1:])] for check in one.checks)
    write_csv(path, header, ([_in_command(cell) if isinstance(cell, str) else cell for cell in row] for row in rows))
