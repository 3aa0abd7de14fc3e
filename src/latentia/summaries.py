"""Results of a fitted model as data: tables with units and meanings, figures, and sentences for pages.

Pages, the screen, files, data frames and matplotlib all show the same `Summary`.
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

__all__ = ["Answer", "Column", "Figure", "Section", "Summary", "Table", "block", "grade_columns", "histogram"]

Kind = Literal["number", "bold", "key", "name", "text", "share", "bar", "meter", "words", "grade"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Name in files and data frames.
    values : sequence
        One value per row. For ``words``, a value is a sequence of texts, or of a text, a number and maybe a text for
        brackets.
    text : str or callable
        Format of values in files: a format specification, or a function of the value.
    short : str or callable
        Format on pages and on the screen; by default as in files.
    screen : str or callable
        Format on the screen alone, if it differs.
    kind : str
        Display on pages: ``number``, ``text`` or ``bold``; ``key`` is the number of a component, in its colour; ``name`` heads
        the row; ``share`` is a percentage with a bar, ``bar`` a number with a bar, ``meter`` a bar from 0 to 1; ``words`` are
        lists, last on the screen and cut to fit; ``grade`` is a badge with the value of the column before it.
    unit : str
        Unit, in brackets in files.
    heading : str
        Heading on pages; by default the name.
    head : str
        Heading on the screen; by default the name.
    tip : str
        For words: hover text on pages, with ``{}`` for the number, which is then not shown otherwise.
    term, meaning : str
        Entry of the glossary; the term is by default the heading.
    where : str
        Places that show it: the first letters of "page", "screen" and "file".
    between, after : str
        For ``words``: the separator, and the format of the text in brackets.
    most : int, optional
        Number of ``words`` that are shown; pages add how many more there are.
    empty : str
        Text on pages for a missing value or an empty list of ``words``.
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
        """Return a value as in files; empty for None."""
        return _format_value(self.text, value)

    def shown(self, value: Any) -> str:
        """Return a value as on pages and on the screen."""
        if self.kind == "words":
            return self.between.join(self.words(value)[: self.most])
        if self.kind == "share" and self.short is None and value is not None:
            return f"{100 * value:.1f}%"
        return _format_value(self.text if self.short is None else self.short, value)

    def printed(self, value: Any) -> str:
        """Return a value as on the screen."""
        return self.shown(value) if self.screen is None else _format_value(self.screen, value)

    def words(self, value: Any) -> list[str]:
        """Return the entries of a list value as texts."""
        return [item if isinstance(item, str) else f"{item[0]} {self.number(item[1])}" for item in value]

    def number(self, value: float) -> str:
        """Return the number of an entry as text."""
        return _format_value(self.short or "", value)


def _format_value(form: str | Callable[[Any], str], value: Any) -> str:
    if value is None:
        return ""
    return form(value) if callable(form) else format(value, form)


def block(names: Sequence[object], values: Any, text: str | Callable[[Any], str] = ".8g") -> tuple[Column, ...]:
    """Return the columns of an array (n, D), for files only."""
    return tuple(
        Column(str(name), column, text, where="f") for name, column in zip(names, np.asarray(values).T, strict=True)
    )


def grade_columns(
    evidence: Evidence, n: int, name: str = "expected error", *, unit: str = "", meaning: str = ""
) -> tuple[Column, ...]:
    """Return the columns for ``n`` components: expected error, grade and, if measured, how much of each other fits repeat."""
    errors, components = evidence.component_errors, evidence.components
    measured = [None] * n if errors is None else [float(error) for error in errors]
    grades = [component.grade for component in components] if len(components) == n else [""] * n
    error = Column(name, measured, ".4f", ".2f", unit=unit, head="error", where="sf", meaning=meaning)
    grade = Column("grade", grades, kind="grade", heading=error.title)
    found_again = evidence.of_components.found_again
    if found_again is None or len(found_again) != n:
        return error, grade
    explanation = (
        f"Whether fits on {parts_text(evidence.nouns)} give the same one: yes from 75%, mostly from 50%. It does not "
        "measure numbers."
    )
    again = Column("found again", found_again, ".3f", again_text, kind="text", where="psf", meaning=explanation)
    return again, error, grade


def histogram(
    name: str, of: str, values: np.ndarray, edges: Sequence[int], title: str = "", hint: str = "", place: str = ""
) -> Table:
    """Count the ``values`` between percentages, as a table with bars."""
    between = [f"{low} to {high}%" for low, high in pairwise(edges)]
    counts = np.histogram(values, [0, *(edge / 100 for edge in edges), np.inf])[0]
    labels = [f"below {edges[0]}%", *between, f"above {edges[-1]}%"]
    columns = Column(name, labels, kind="name"), Column(of, counts, short=",", kind="bar")
    return Table(name, columns, title, hint, place=place, label=place)


@dataclass(frozen=True)
class Table:
    """A table about components, rows of the data, or others.

    Attributes
    ----------
    name : str
        Name in ``summary.tables``.
    columns : tuple of Column
    title, hint : str
        Title and hint on the page; a table without title is not shown there.
    file : str
        Name of its file; empty for none.
    caption : str
        Caption on the screen; a table without caption is not shown there.
    note : str
        Line below the table on the screen.
    rest : str
        Files with the remaining rows, as named on the screen; by default its own file.
    above : Section, optional
        Section between title and hint on the page.
    place, label : str
        Identifiers of its section and of the table on the page; by default the name.
    most : int, optional
        Maximal number of rows on the page.
    tall : bool
        Whether the table scrolls in a frame on the page.
    order : sequence of int, optional
        Rows on the page, in this order; by default the first.
    folded : str
        Label that opens a folded table on the page; by default it is open.
    screen : tuple of str
        Names of its columns on the screen, if their order differs.
    printed : int, optional
        Number of rows for the screen; by default all.
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
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)

    def of(self, where: str) -> list[Column]:
        """Return its columns on the "page", on the "screen" or in the "file"."""
        if self.screen and where == "screen":
            return [self[name] for name in self.screen]
        return [column for column in self.columns if where[0] in column.where]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary per row, keyed by the names of all columns."""
        names = [column.name for column in self.columns]
        values = zip(*(map(_to_python, column.values) for column in self.columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in values]

    def to_frame(self) -> Any:
        """Return all columns as a pandas data frame, or polars after ``sklearn.set_config(transform_output="polars")``."""
        return new_frame(
            {column.name: list(map(_to_python, column.values)) for column in self.columns}, "Table.to_frame"
        )

    def texts(self) -> Iterator[list[str]]:
        """Yield the rows of its file, without the headings."""
        columns = self.of("file")
        write = [partial(_format_value, column.text) for column in columns]
        for row in zip(*(column.values for column in columns), strict=True):
            yield [format_cell(value) for format_cell, value in zip(write, row, strict=True)]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file as CSV, with a line of headings."""
        heads = [f"{column.name} ({column.unit})" if column.unit else column.name for column in self.of("file")]
        write_csv(path, heads, self.texts())


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?|inf|nan)")


def write_csv(path: str | os.PathLike[str], header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table with a line of headings that is safe to open in a spreadsheet.

    An apostrophe precedes texts that begin like a formula; numbers stay numbers. Bytes that are not UTF-8, as in some file
    names, are written in hexadecimal.
    """
    with atomic_file(path, "w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        writer = csv.writer(file)
        writer.writerow(map(_escape_formula, header))
        writer.writerows(map(_escape_formula, row) for row in rows)


def _escape_formula(cell: Any) -> Any:
    starts = isinstance(cell, str) and cell.startswith(_FORMULA_STARTS)
    return f"'{cell}" if starts and not _NUMBER.fullmatch(cell) else cell


def _to_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Figure:
    """A figure as data.

    Attributes
    ----------
    name : str
    data : dict
        Data from `latentia.report.figures`.
    title : str
        Heading on the page.
    label : str
        Description for readers who cannot see it.
    hint, caption : str
        Text above and below the figure.
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
        Values for the template.
    tables : tuple of Table
        Tables that it shows; they also go to files, frames and the screen.
    figures : dict
        Figures that it shows, by name.
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
    """Opening of a page: the question, the answer in words and a picture.

    Attributes
    ----------
    question, words : str
        The question about the data, and the answer in a sentence or two, with names from the data if there are any.
    picture : Figure or Section, optional
        The answer as a picture, shown only here.
    """

    question: str
    words: str
    picture: Figure | Section | None = None


@dataclass(frozen=True, repr=False)
class Summary:
    """Tables, figures and sentences about a fitted model; printing shows the verdict and the main table.

    Attributes
    ----------
    title, source : str
        Heading, and source of the data.
    headline : str
        Summary in a sentence.
    nouns : (str, str, str)
        Names of one component, of several, and of the rows.
    evidence : Evidence
    error : str
        Sentence about the expected error.
    parts : tuple of Table, Figure and Section
        Parts of the page, in order.
    answer : Answer
        Opening of the page.
    reading : tuple of (str, str)
        Glossary entries after those of tables and figures.
    comparison : sequence of dict
        Rows that compare numbers of components; the first value is the number.
    size : int
        Number of components of this model.
    missing : str
        Note on missing parts of the page.
    note : str
        Addition to the verdict.
    styles : tuple of str
        Style sheets of its sections.
    lines : tuple of str
        Lines on the screen, below the tables.
    scripts : tuple of str
        Scripts of the page; by default the one that draws figures.
    colours : tuple of str
        Colours of components, if there are more than figures have.
    numbered : str, optional
        Sentence on the numbering of components at the foot of the page; by default that it starts at 0.
    """

    title: str = ""
    headline: str = ""
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
        """Tables by name, with the table of the evidence."""
        tables = {
            table.name: table
            for part in self._all
            for table in ((part,) if isinstance(part, Table) else part.tables if isinstance(part, Section) else ())
        }
        rows = self.evidence.rows()
        names = list(rows[0]) if rows else []
        return tables | {
            "evidence": Table("evidence", tuple(Column(name, [row[name] for row in rows]) for name in names))
        }

    @property
    def figures(self) -> dict[str, Mapping[str, Any]]:
        """Figures by name."""
        figures: dict[str, Mapping[str, Any]] = {}
        for part in self._all:
            if isinstance(part, Figure):
                figures[part.name] = part.data
            elif isinstance(part, Section):
                figures |= part.figures
        return figures

    @property
    def data(self) -> dict[str, Any]:
        """Data for the scripts of its sections."""
        return {name: data for part in self._all if isinstance(part, Section) for name, data in part.data.items()}

    @property
    def glossary(self) -> list[tuple[str, str]]:
        """Terms with their meanings: those of tables and figures in order, then others."""
        terms: list[tuple[str, str]] = []
        for part in self._all:
            entries = part.columns if isinstance(part, Table) else (part,) if isinstance(part, Figure) else ()
            terms += [(entry.term or entry.title, entry.meaning) for entry in entries if entry.meaning]
        return [*terms, *self.reading]
