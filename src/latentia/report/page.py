"""Pages: filled templates, written completely or not at all."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._control_characters import escape_controls
from ..summaries import Figure, Section, Summary, Table
from ..system.scratch import atomic_file, path_of
from .parts import comparison_rows, evidence_of, evidence_parts, grade_mark, mean_error, short_number, version

# --- summaries ------------------------------------------------------------------------------------------------------


def write_summary(path: str | os.PathLike[str], summary: Summary) -> Path:
    """Write a summary to one HTML file that works offline; the file appears complete or not at all."""
    template_values = {
        "summary": summary.headline,
        "nouns": dict(zip(("one", "many", "data"), summary.nouns, strict=True)),
        "evidence": evidence_parts(summary.evidence),
        "parts": [_part(part) for part in summary.parts],
        "picture": None if summary.answer.picture is None else _part(summary.answer.picture),
        "data": summary.figures | summary.data,
        "comparison": comparison_rows(summary.comparison, summary.size),
        "glossary": summary.glossary,
        "version": version(),
    }
    page = render("summary.html", **vars(summary) | template_values)
    return write_page(path, page)


def write_tables(
    path: str | os.PathLike[str], title: str, tables: Sequence[Table], source: str, messages: Sequence[str] = ()
) -> Path:
    """Write messages, and tables below them, to one HTML file that works offline."""
    look = {"styles": ("tables.css",), "scripts": (), "data": {}, "version": version()}
    return write_page(
        path, render("listing.html", title=title, tables=tables, source=source, messages=messages, **look)
    )


def _part(part: Table | Figure | Section) -> dict[str, Any]:
    """Return the template values of a part; for a table, its cells."""
    if isinstance(part, Section):
        return {"template": part.template} | dict(part.values)
    if isinstance(part, Figure):
        return {"figure": part}
    columns = sorted(part.of("page"), key=lambda column: column.kind == "grade")
    order = range(len(part))[: part.most] if part.order is None else part.order
    rows = [[column.values[i] for column in columns] for i in order]
    errors: list[Any] = [None] * len(columns)
    for before, column in pairwise(part.columns):
        if column.kind == "grade":  # A grade is shown with the error in the column before it.
            is_measured = [error is not None and math.isfinite(error) for error in before.values]
            errors[columns.index(column)] = [before.values[i] if is_measured[i] else None for i in order]
    errors = [[None] * len(rows) if column_errors is None else column_errors for column_errors in errors]
    tops = [
        max(map(float, column.values), default=0.0) if column.kind in ("share", "bar") else 0.0 for column in columns
    ]
    above = {} if part.above is None else {"above": _part(part.above)}
    return {"table": part, "columns": columns, "rows": rows, "errors": errors, "tops": tops} | above


def page(
    heading: str = "", lacks: str = "", data: str = "X"
) -> Callable[[Callable[..., Summary]], Callable[..., Summary]]:
    """Decorate a function that summarizes a model: add heading, source, comparison, evidence and a note on missing parts.

    Parameters
    ----------
    heading : str
        Heading; by default the name of the class.
    lacks, data : str
        The parts, in the plural, that are missing without the first argument after the model; and the arguments of ``fit`` that
        would add them.
    """

    def decorate(describe: Callable[..., Summary]) -> Callable[..., Summary]:
        signature = inspect.signature(describe)
        compares, (_, first, *_) = "comparison" in signature.parameters, signature.parameters

        @functools.wraps(describe)
        def summarize(
            model: Any, *args: Any, title: str = heading, source: str = "", comparison: Any = None, **options: Any
        ) -> Summary:
            options |= {"comparison": comparison} if compares else {}
            summary = describe(model, *args, **options)
            evidence, nouns = summary.evidence if summary.evidence.checks else evidence_of(model), summary.nouns
            has_data = signature.bind(model, *args, **options).arguments.get(first) is not None
            return replace(
                summary, title=title or type(model).__name__, source=source, comparison=comparison, evidence=evidence,
                size=summary.size or len(summary.tables.get("components", ())),
                nouns=nouns if any(nouns) else evidence.nouns,
                error=mean_error(evidence, summary.error) if "{" in summary.error else summary.error,
                missing=LACKS.format(lacks, data) if lacks and not has_data else summary.missing,
            )  # fmt: skip

        parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "comparison"]
        keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        common_parameters = [
            keyword("title", default=heading, annotation="str"),
            keyword("source", default="", annotation="str"),
            keyword("comparison", default=None, annotation="Sequence[Mapping[str, Any]] | None"),
        ]
        summarize.__signature__ = signature.replace(parameters=[*parameters, *common_parameters])  # type: ignore[attr-defined]
        docstring = inspect.cleandoc(describe.__doc__ or "")
        added = "".join(text for name, text in _ALL_HAVE.items() if f"\n{name} :" not in docstring)
        summarize.__doc__ = docstring.replace("\n\nReturns\n", f"\n{added}\nReturns\n", 1)
        return summarize

    return decorate


LACKS = "This page was written from the model alone and does not show {}. model.report(path, {}) shows them too."
_ALL_HAVE = {
    "title, source": "title, source : str\n    Heading of the page, and where the data came from.\n",
    "comparison": "comparison : sequence of dict, optional\n"
    "    Rows of a table that compares numbers of components, the first value the number.\n",
}


def make_writer(summarize: Callable[..., Summary]) -> Callable[..., Path]:
    """Make the function that writes the page of a summary."""

    @functools.wraps(summarize)
    def write(path: str | os.PathLike[str], model: Any, *args: Any, **options: Any) -> Path:
        check_is_fitted(model)
        return write_summary(path, summarize(model, *args, **options))

    del write.__wrapped__  # Its signature has no path.
    signature = inspect.signature(summarize)
    first = inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="str | os.PathLike[str]")
    parameters = [first, *signature.parameters.values()]
    write.__signature__ = signature.replace(parameters=parameters, return_annotation="Path")  # type: ignore[attr-defined]
    write.__name__ = write.__qualname__ = summarize.__name__.replace("summarize", "write") + "_report"
    write.__module__ = __package__  # where users and pickle find it
    docstring = inspect.cleandoc(summarize.__doc__ or "").replace("Say what", "Write what", 1)
    docstring = docstring.replace(".\n", ", to one HTML file that works offline.\n", 1).replace(
        "\nmodel : ", _PATH + "model : ", 1
    )
    write.__doc__ = re.sub(r"\nSummary$", "\nPath of the file", docstring, flags=re.MULTILINE)
    return write


_PATH = """
path : path
    The file appears complete or not at all; an existing file is replaced.
"""


# --- templates ------------------------------------------------------------------------------------------------------


def render(template: str, **values: Any) -> str:
    """Fill a template of this package; every value is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Any:
    """Return the template environment, which compiles each template once per process."""
    import jinja2  # Only pages need it.

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("latentia.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short_number, "prose": _prose, "mark": grade_mark}
    return environment


def _prose(text: str) -> Any:
    """Convert *emphasis*, **strong words**, `code` and [links](#of-the-page) to HTML."""
    from markupsafe import Markup, escape

    markup = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text)))
    markup = re.sub(r"\[([^\]]+)\]\((#[\w-]+)\)", r'<a href="\2">\1</a>', markup)
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", re.sub(r"\*(.+?)\*", r"<em>\1</em>", markup)))


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page completely or not at all; control characters of names and texts are shown, and not obeyed."""
    target = path_of(path)
    with atomic_file(target) as file:
        file.write(escape_controls(page).encode("utf-8", "replace"))
    return target
