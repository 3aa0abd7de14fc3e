"""Pages: templates filled in, and written complete or not at all."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..summaries import Figure, Section, Summary, Table
from ..system.scratch import atomic_file
from .parts import comparison_rows, evidence_of, evidence_parts, grade_mark, mean_error, short_number, version

# --- summaries ------------------------------------------------------------------------------------------------------


def write_summary(path: str | os.PathLike[str], summary: Summary) -> Path:
    """Write a summary to one HTML file that works offline; the file appears complete or not at all."""
    told = {
        "summary": summary.says,
        "nouns": dict(zip(("one", "many", "data"), summary.nouns, strict=True)),
        "evidence": evidence_parts(summary.evidence),
        "parts": [_part(part) for part in summary.parts],
        "picture": None if summary.answer.picture is None else _part(summary.answer.picture),
        "data": summary.figures | summary.data,
        "comparison": comparison_rows(summary.comparison, summary.size),
        "glossary": summary.glossary,
        "version": version(),
    }
    page = render("summary.html", **vars(summary) | told)
    return write_page(path, page)


def _part(part: Table | Figure | Section) -> dict[str, Any]:
    """What the template is told of a part: of a table, its cells."""
    if isinstance(part, Section):
        return {"template": part.template} | dict(part.values)
    if isinstance(part, Figure):
        return {"figure": part}
    columns = sorted(part.of("page"), key=lambda column: column.kind == "grade")
    order = range(len(part))[: part.most] if part.order is None else part.order
    rows = [[column.values[i] for column in columns] for i in order]
    errors: list[Any] = [None] * len(columns)
    for before, column in pairwise(part.columns):
        if column.kind == "grade":  # which stands with the error before it
            known = [error is not None and math.isfinite(error) for error in before.values]
            errors[columns.index(column)] = [before.values[i] if known[i] else None for i in order]
    errors = [[None] * len(rows) if one is None else one for one in errors]
    tops = [
        max(map(float, column.values), default=0.0) if column.kind in ("share", "bar") else 0.0 for column in columns
    ]
    above = {} if part.above is None else {"above": _part(part.above)}
    return {"table": part, "columns": columns, "rows": rows, "errors": errors, "tops": tops} | above


def page(
    heading: str = "", lacks: str = "", data: str = "X"
) -> Callable[[Callable[..., Summary]], Callable[..., Summary]]:
    """What a function says of a model, with what all pages have: heading, source and comparison, evidence, and what they lack.

    Parameters
    ----------
    heading : str
        By default the name of the class.
    lacks, data : str
        What is not shown, in the plural, where the first argument after the model is not given; and arguments of ``fit`` with
        which it would be.
    """

    def decorate(tell: Callable[..., Summary]) -> Callable[..., Summary]:
        given = inspect.signature(tell)
        compares, (_, first, *_) = "comparison" in given.parameters, given.parameters

        @functools.wraps(tell)
        def summarize(
            model: Any, *args: Any, title: str = heading, source: str = "", comparison: Any = None, **options: Any
        ) -> Summary:
            options |= {"comparison": comparison} if compares else {}
            found = tell(model, *args, **options)
            evidence, nouns = found.evidence if found.evidence.checks else evidence_of(model), found.nouns
            shown = given.bind(model, *args, **options).arguments.get(first) is not None
            return replace(
                found, title=title or type(model).__name__, source=source, comparison=comparison, evidence=evidence,
                size=found.size or len(found.tables.get("components", ())),
                nouns=nouns if any(nouns) else evidence.nouns,
                error=mean_error(evidence, found.error) if "{" in found.error else found.error,
                missing=LACKS.format(lacks, data) if lacks and not shown else found.missing,
            )  # fmt: skip

        own = [one for one in given.parameters.values() if one.name != "comparison"]
        keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        more = [
            keyword("title", default=heading, annotation="str"),
            keyword("source", default="", annotation="str"),
            keyword("comparison", default=None, annotation="Sequence[Mapping[str, Any]] | None"),
        ]
        summarize.__signature__ = given.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        said = inspect.cleandoc(tell.__doc__ or "")
        added = "".join(text for name, text in _ALL_HAVE.items() if f"\n{name} :" not in said)
        summarize.__doc__ = said.replace("\n\nReturns\n", f"\n{added}\nReturns\n", 1)
        return summarize

    return decorate


LACKS = "This page was written from the model alone and lacks {}. model.report(path, {}) shows them too."
_ALL_HAVE = {
    "title, source": "title, source : str\n    Heading of the page, and where the data came from.\n",
    "comparison": "comparison : sequence of dict, optional\n"
    "    Rows of a table that compares numbers of components, the first value the number.\n",
}


def written(summarize: Callable[..., Summary]) -> Callable[..., Path]:
    """The function that writes the page of what another one says of a model."""

    @functools.wraps(summarize)
    def write(path: str | os.PathLike[str], model: Any, *args: Any, **options: Any) -> Path:
        check_is_fitted(model)
        return write_summary(path, summarize(model, *args, **options))

    del write.__wrapped__  # which has no path
    given = inspect.signature(summarize)
    first = inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="str | os.PathLike[str]")
    write.__signature__ = given.replace(parameters=[first, *given.parameters.values()], return_annotation="Path")  # type: ignore[attr-defined]
    write.__name__ = write.__qualname__ = summarize.__name__.replace("summarize", "write") + "_report"
    write.__module__ = __package__  # where it is found, also by those who pickle it
    said = inspect.cleandoc(summarize.__doc__ or "").replace("Say what", "Write what", 1)
    said = said.replace(".\n", ", to one HTML file that works offline.\n", 1).replace(
        "\nmodel : ", _PATH + "model : ", 1
    )
    write.__doc__ = re.sub(r"\nSummary$", "\nPath of the file", said, flags=re.MULTILINE)
    return write


_PATH = """
path : path
    The file appears complete or not at all; one that is there is replaced.
"""


# --- templates ------------------------------------------------------------------------------------------------------


def render(template: str, **values: Any) -> str:
    """Fill in a template of this package; every value is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Any:
    """The templates, each compiled once in a process."""
    import jinja2  # a page is the only thing that needs it

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
    """A sentence with *emphasis*, **strong words**, `code` and [places](#of-the-page)."""
    from markupsafe import Markup, escape

    said = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text)))
    said = re.sub(r"\[([^\]]+)\]\((#[\w-]+)\)", r'<a href="\2">\1</a>', said)
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", re.sub(r"\*(.+?)\*", r"<em>\1</em>", said)))


def write_page(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page, whole or not at all; parts of characters become question marks."""
    with atomic_file(path) as file:
        file.write(page.encode("utf-8", "replace"))
    return Path(path)
