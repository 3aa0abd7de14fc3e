"""What a fitted model says, as data: tables whose columns know their unit and meaning, figures, and what pages say of them.

A page, the screen of a command, its files, data frames and matplotlib all show the same `Summary`.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ._frames import new_frame
from ._summary_text import summary_page, summary_text
from .evidence import Evidence, again_text, parts_text
from .system.scratch import atomic_file

__all__ = ["Answer", "Column", "Figure", "Section", "Summary", "Table", "block", "graded", "histogram"]

Kind = Literal["number", "bold", "key", "name", "text", "share", "bar", "meter", "words", "grade"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        In files and data frames.
    values : sequence
        A value a row. Of ``words`` a value is a sequence of texts, or of a text, a number and maybe what stands in brackets.
    text : str or callable
        How a value is written to files: what `format` takes, or a function of the value.
    short : str or callable
        The same on pages and on the screen, by default as in files.
    screen : str or callable
        The same on the screen alone, where it differs.
    kind : str
        How pages show it: ``number``, ``text`` or ``bold``; ``key`` is the number of a component, in its colour; ``name`` heads
        the row; ``share`` is a percentage with a bar, ``bar`` a number with one, ``meter`` one from 0 to 1; ``words`` are
        several, last on the screen, as many as there is room for; ``grade`` is a badge with the value of the column before it.
    unit : str
        Stands in brackets in files.
    heading : str
        On pages, by default the name.
    head : str
        On the screen, by default the name.
    tip : str
        Of words: what pages say when one is pointed at, with ``{}`` for its number, which they do not show then.
    term, meaning : str
        Entry of the glossary, by default under the heading.
    where : str
        Where it is shown: of "page", "screen" and "file" the first letters.
    between, after : str
        Of ``words``: what stands between them, and how what follows a number is written.
    most : int, optional
        How many of ``words`` are shown; pages say how many more there are.
    empty : str
        What pages show where there is no value, or there are no ``words``.
    """

    name: str
    values: Sequence[Any] | np.ndarray
    text: str | Callable[[Any], str] = ""
    short: str | Callable[[Any], str] | None = None
    kind: Kind = "number"
    unit: str = ""
    heading: str = ""
    head: str = ""
    tip: str = ""
    term: str = ""
    meaning: str = ""
    where: str = "psf"
    between: str = ", "
    after: str = " ({})"
    most: int | None = None
    empty: str = ""
    screen: str | Callable[[Any], str] | None = None

    @property
    def title(self) -> str:
        """The heading on pages."""
        return self.heading or self.name[:1].upper() + self.name[1:]

    def written(self, value: Any) -> str:
        """A value as files have it; nothing where it is None."""
        return _written(self.text, value)

    def shown(self, value: Any) -> str:
        """A value as pages and the screen have it."""
        if self.kind == "words":
            return self.between.join(self.words(value)[: self.most])
        if self.kind == "share" and self.short is None and value is not None:
            return f"{100 * value:.1f}%"
        return _written(self.text if self.short is None else self.short, value)

    def printed(self, value: Any) -> str:
        """A value as the screen has it."""
        return self.shown(value) if self.screen is None else _written(self.screen, value)

    def words(self, value: Any) -> list[str]:
        """The entries of a value of several, as texts."""
        return [one if isinstance(one, str) else f"{one[0]} {self.number(one[1])}" for one in value]

    def number(self, value: float) -> str:
        """The number of an entry."""
        return _written(self.short or "", value)


def _written(form: str | Callable[[Any], str], value: Any) -> str:
    if value is None:
        return ""
    return form(value) if callable(form) else format(value, form)


def block(names: Sequence[object], values: Any, text: str = ".8g") -> tuple[Column, ...]:
    """The columns of an array (n, D), which only files have."""
    return tuple(Column(str(name), own, text, where="f") for name, own in zip(names, np.asarray(values).T, strict=True))


def graded(
    evidence: Evidence, n: int, name: str = "expected error", *, unit: str = "", meaning: str = ""
) -> tuple[Column, ...]:
    """Whether each of ``n`` components is found again, where that was measured, its expected error and its grade."""
    errors, components = evidence.component_errors, evidence.components
    measured = [None] * n if errors is None else [float(error) for error in errors]
    grades = [one.grade for one in components] if len(components) == n else [""] * n
    error = Column(name, measured, ".4f", ".2f", unit=unit, head="error", where="sf", meaning=meaning)
    grade = Column("grade", grades, kind="grade", heading=error.title)
    found = evidence.of_components.found_again
    if found is None or len(found) != n:
        return error, grade
    says = (
        f"Whether fits on {parts_text(evidence.nouns)} have the same one: yes from 75%, mostly from 50%. It says "
        "nothing of numbers."
    )
    again = Column("found again", found, ".3f", again_text, kind="text", where="psf", meaning=says)
    return again, error, grade


def histogram(
    name: str, of: str, values: np.ndarray, edges: Sequence[int], title: str = "", hint: str = "", place: str = ""
) -> Table:
    """How many ``values`` lie between percentages, with bars."""
    between = [f"{low} to {high}%" for low, high in pairwise(edges)]
    counts = np.histogram(values, [0, *(edge / 100 for edge in edges), np.inf])[0]
    labels = [f"below {edges[0]}%", *between, f"above {edges[-1]}%"]
    columns = Column(name, labels, kind="name"), Column(of, counts, short=",", kind="bar")
    return Table(name, columns, title, hint, place=place, label=place)


@dataclass(frozen=True)
class Table:
    """Rows of what is known of components, rows of the data, or others.

    Attributes
    ----------
    name : str
        Under which ``model.tables`` has it.
    columns : tuple of Column
    title, hint : str
        On the page, where a table without a title is not shown.
    file : str
        Name of its file; none without it.
    caption : str
        On the screen, where a table without one is not shown.
    note : str
        On the screen, below it.
    rest : str
        Files in which the screen says that other rows are, by default its own.
    above : Section, optional
        On the page, between the title and the hint.
    place, label : str
        Identifiers on the page of its section and of the table, by default the name.
    most : int, optional
        Rows on the page.
    tall : bool
        Whether a long table has its own frame on the page.
    order : sequence of int, optional
        Rows that the page shows, and in which order; by default the first.
    folded : str
        On the page, what opens it; by default it is open.
    screen : tuple of str
        Names of its columns on the screen, where their order is another one.
    printed : int, optional
        How many of its rows are meant for the screen, by default all.
    """

    name: str
    columns: tuple[Column, ...]
    title: str = ""
    hint: str = ""
    file: str = ""
    caption: str = ""
    label: str = ""
    most: int | None = None
    tall: bool = False
    note: str = ""
    rest: str = ""
    above: Section | None = None
    place: str = ""
    order: Sequence[int] | np.ndarray | None = None
    folded: str = ""
    screen: tuple[str, ...] = ()
    printed: int | None = None

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def __getitem__(self, name: str) -> Column:
        """The column of a name."""
        return next(column for column in self.columns if column.name == name)

    def of(self, where: str) -> list[Column]:
        """Its columns on the "page", on the "screen" or in the "file"."""
        if self.screen and where == "screen":
            return [self[name] for name in self.screen]
        return [column for column in self.columns if where[0] in column.where]

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary a row, by the names of all columns."""
        names = [column.name for column in self.columns]
        values = zip(*(map(_plain, column.values) for column in self.columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in values]

    def to_frame(self) -> Any:
        """All columns as a data frame of pandas, or of polars after ``sklearn.set_config(transform_output="polars")``."""
        return new_frame({column.name: list(map(_plain, column.values)) for column in self.columns}, "Table.to_frame")

    def texts(self) -> Iterator[list[str]]:
        """The rows of its file, after the line of headings."""
        columns = self.of("file")
        write = [partial(_written, column.text) for column in columns]
        for row in zip(*(column.values for column in columns), strict=True):
            yield [one(value) for one, value in zip(write, row, strict=True)]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file as CSV, with a line of headings."""
        heads = [f"{column.name} ({column.unit})" if column.unit else column.name for column in self.of("file")]
        write_csv(path, heads, self.texts())


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?|inf|nan)")


def write_csv(path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table with a line of headings, in which no text is a formula to a spreadsheet.

    Texts that begin as formulas do have an apostrophe before them; numbers stay numbers. Halves of characters, as in names of
    files that are not UTF-8, are written in hexadecimal.
    """
    with atomic_file(path, "w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        writer = csv.writer(file)
        writer.writerow(map(_without_formula, header))
        writer.writerows(map(_without_formula, row) for row in rows)


def _without_formula(cell: Any) -> Any:
    starts = isinstance(cell, str) and cell.startswith(_FORMULA_STARTS)
    return f"'{cell}" if starts and not _NUMBER.fullmatch(cell) else cell


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Figure:
    """A figure as data.

    Attributes
    ----------
    name : str
    data : dict
        As `latentia.report.figures` makes it.
    title : str
        Heading on the page.
    label : str
        What it is, for those who cannot see it.
    hint, caption : str
        Above and below it.
    term, meaning : str
        Entry of the glossary.
    shape : str
        Class of its style.
    place : str
        Identifier of its section on the page.
    """

    name: str
    data: Mapping[str, Any]
    title: str = ""
    label: str = ""
    caption: str = ""
    term: str = ""
    meaning: str = ""
    shape: str = ""
    place: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a page with a template of its own.

    Attributes
    ----------
    template : str
        Name of its file.
    values : dict
        What the template is given.
    tables : tuple of Table
        Tables that it shows, for files, frames and the screen.
    figures : dict
        Figures that it has places for, by name.
    data : dict
        Further data for the script of the page.
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """Answer of a page: the question, the words and the picture that it opens with.

    Attributes
    ----------
    question, words : str
        What was asked of the data, and the answer in a sentence or two, by names wherever the data has some.
    picture : Figure or Section, optional
        The answer as a picture, which has no other place on the page.
    """

    question: str
    words: str
    picture: Figure | Section | None = None


@dataclass(frozen=True, repr=False)
class Summary:
    """Tables, figures and sentences that describe a fitted model; printed, the verdict and the main table.

    Attributes
    ----------
    title, source : str
        Heading, and where the data came from.
    says : str
        In a sentence.
    nouns : (str, str, str)
        What one component is called, several, and the rows.
    evidence : Evidence
    error : str
        What the expected error is, in a sentence.
    parts : tuple of Table, Figure and Section
        In the order of the page.
    answer : Answer
        Above all of them.
    reading : tuple of (str, str)
        Entries of the glossary after those of tables and figures.
    comparison : sequence of dict
        Rows that compare numbers of components, the first value the number.
    size : int
        Which of them is this one.
    missing : str
        What the page lacks.
    note : str
        What else the verdict says.
    styles : tuple of str
        Style sheets of its sections.
    lines : tuple of str
        On the screen, below the tables.
    scripts : tuple of str
        Scripts of the page, by default the one that draws figures.
    colours : tuple of str
        Of components, where there are more than figures have.
    numbered : str, optional
        What the foot of the page says of their numbers; by default that they begin at 0, in the tables and the model too.
    """

    title: str = ""
    says: str = ""
    nouns: tuple[str, str, str] = ("", "", "")
    evidence: Evidence = field(default_factory=lambda: Evidence([]))
    parts: tuple[Table | Figure | Section, ...] = ()
    answer: Answer = Answer("", "")
    size: int = 0
    source: str = ""
    error: str = ""
    reading: tuple[tuple[str, str], ...] = ()
    comparison: Sequence[Mapping[str, Any]] | None = None
    missing: str = ""
    note: str = ""
    styles: tuple[str, ...] = ("tables.css",)
    lines: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ("figures.js",)
    colours: tuple[str, ...] = ()
    numbered: str | None = None

    def __repr__(self) -> str:
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_page(self)

    @property
    def _all(self) -> tuple[Table | Figure | Section, ...]:
        picture = self.answer.picture
        return self.parts if picture is None else (picture, *self.parts)

    @property
    def tables(self) -> dict[str, Table]:
        """Its tables by name, and that of the evidence."""
        found = {
            table.name: table
            for part in self._all
            for table in ((part,) if isinstance(part, Table) else part.tables if isinstance(part, Section) else ())
        }
        rows = self.evidence.rows()
        names = list(rows[0]) if rows else []
        return found | {"evidence": Table("evidence", tuple(Column(one, [row[one] for row in rows]) for one in names))}

    @property
    def figures(self) -> dict[str, Mapping[str, Any]]:
        """Its figures by name."""
        found: dict[str, Mapping[str, Any]] = {}
        for part in self._all:
            if isinstance(part, Figure):
                found[part.name] = part.data
            elif isinstance(part, Section):
                found |= part.figures
        return found

    @property
    def data(self) -> dict[str, Any]:
        """Data for the scripts of its sections."""
        return {name: data for part in self._all if isinstance(part, Section) for name, data in part.data.items()}

    @property
    def glossary(self) -> list[tuple[str, str]]:
        """Terms and what they mean: of the tables and figures in their order, then others."""
        told: list[tuple[str, str]] = []
        for part in self._all:
            entries = part.columns if isinstance(part, Table) else (part,) if isinstance(part, Figure) else ()
            told += [(one.term or one.title, one.meaning) for one in entries if one.meaning]
        return [*told, *self.reading]
