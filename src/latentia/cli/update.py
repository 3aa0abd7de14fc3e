"""``latentia update``: rows added to a saved model, or removed from it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from .. import persistence
from ..exceptions import LatentiaError
from ..families import family_of
from ..reading import reading_as
from ..summaries import Table
from ._records import UpdateOptions
from ._results import MODEL_FILE, Results, step_of
from ._shared import learn, name_source


def update(options: UpdateOptions) -> dict[str, Any]:
    """Add rows to a model, or remove them, as if it had been learned from the remaining rows."""
    fitted = load_extendable_model(options.model)
    read_rows = _find_family_function(fitted, "added")
    if read_rows is None:
        raise LatentiaError(f"add rows to a {type(fitted).__name__} in Python, with partial_fit.", source=options.model)
    source, is_same = options.source, options.out is None
    further_sources = {} if options.other is None else {"other": options.other}
    if further_sources and "other" not in inspect.signature(read_rows).parameters:
        raise LatentiaError(
            f"{options.other}: rows of a {type(fitted).__name__} are in one source; leave this one out."
        )
    sources = (source, *further_sources.values())
    step = step_of("forget" if options.forget else "add", *sources) if is_same else ""
    results = Results(
        options.out or options.model, source, (), options.force or is_same, progress=not options.quiet, step=step
    )
    for path_read in sources:
        replace(results, source=path_read).check()
    missing = fitted.reading_.get("missing")
    read_options = options.reading_like(fitted, source, missing and "drop", ("drop",))
    with name_source(source.name), reading_as(read_options.column_options, read_options.sheet):
        rows = read_rows(fitted, source, read_options, **further_sources)
    fitted.set_params(n_jobs=options.jobs, verbose=not options.quiet)

    def change_model(_: Any) -> Any:
        if results.is_done():
            messages.append(
                "An earlier run made this change and was interrupted before it could report it; the model is unchanged."
            )
            return fitted
        if not options.forget:
            return fitted.partial_fit(*rows)
        receipt = fitted.forget(*rows)
        messages.append(f"Forgot {receipt.n_rows:,} rows (SHA-256 {receipt.digest}); {receipt.n_left:,} remain.")
        return fitted

    messages: list[str] = []
    return report_changed_model(results, source.name, change_model, messages)


def _find_family_function(model: Any, action: str) -> Any:
    """Return a function of the model's command by its kind; None if the command has none."""
    family: Any = family_of(type(model).__name__)
    return getattr(import_module(f".{family.module}", __package__), f"{action}_{family.module}", None)


def load_extendable_model(path: Path) -> Any:
    """Load the model of a folder of results; raise unless it stores its moments."""
    if not (path / MODEL_FILE).exists():
        raise LatentiaError("no model found. Give a folder of results.", source=path)
    fitted = persistence.load(path / MODEL_FILE)
    if "moments_" not in vars(fitted):
        raise LatentiaError(
            f"the model was learned without its moments, so rows cannot be added. {_advice(fitted)}", source=path
        )
    return fitted


def _advice(model: Any) -> str:
    """Return advice on learning a model of this family so that rows can be added."""
    name = type(model).__name__
    if "keep_moments" not in model.get_params(deep=False):
        return f"Learn it again from all rows: a {name} stores no moments."
    if _find_family_function(model, "added") is not None:
        return "Learn it with --keep-moments."
    return f"Learn it in Python, by {name}(keep_moments=True).fit, and add rows by partial_fit."


def report_changed_model(
    results: Results, source: str, fit: Any, messages: list[str], tables: Sequence[Table] = ()
) -> dict[str, Any]:
    """Write and print the results of an updated or merged model, with further tables."""
    reading: dict[str, Any] = {}

    def fitted(size: Any) -> Any:
        model = fit(size)
        reading.update(model.reading_)
        messages.append(
            f"{model.moments_.n_rows:,} rows in all; {model.moments_.n_bytes / 2**20:.2g} MB of moments are stored."
        )
        return model

    def summarize(model: Any, _: Any) -> Any:
        units = _find_family_function(model, "units")
        total = f"{model.moments_.n_rows:,} rows, added up"  # Files of removed rows are not named.
        summary = model.summary(source=total, **({} if units is None else units(model)))
        return replace(summary, parts=(*summary.parts, *tables))

    return learn(
        results, source, [None], fitted, summarize, reading=reading, messages=lambda model: messages,
    )  # fmt: skip
