"""``latentia merge``: one model of all rows from several models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..comparing import Match
from ..comparing import match as match_models
from ..exceptions import LatentiaError
from ..fitting.additive import add_models
from ..summaries import Column, Table
from ._records import MergeOptions
from ._results import Results, find_model
from .update import load_extendable_model, report_changed_model


def merge(options: MergeOptions) -> dict[str, Any]:
    """Merge several models into one model of all their rows, without the rows themselves."""
    results = Results(options.out, options.models[0], ("matches.csv",), options.force, progress=not options.quiet)
    results.check()
    _check_distinct(options.models)
    loaded_models = [load_extendable_model(path) for path in options.models]
    merged_model = add_models(loaded_models)
    matches, lines = _match_sites(options.models, loaded_models)
    table = [_join_tables(matches)] if matches else []
    return report_changed_model(results, f"{len(loaded_models)} models", lambda _: merged_model, lines, table)


def _check_distinct(paths: list[Path]) -> None:
    """Raise for a model that is given twice, whose rows would count twice."""
    models = [find_model(path).resolve() for path in paths]
    for number, path in enumerate(models):
        if path in models[:number]:
            raise LatentiaError(
                "the model is given twice, and its rows would count twice. Give it once.", source=paths[number]
            )


def _match_sites(paths: list[Path], models: list[Any]) -> tuple[dict[Path, Match], list[str]]:
    """Match each model with the first; return matches, and sentences on those that disagree or cannot be compared."""
    matches, lines = {}, []
    for path, model in zip(paths[1:], models[1:], strict=True):
        sites = f"{paths[0]} (a) and {path} (b)"
        try:
            matches[path] = match_models(models[0], model)
        except LatentiaError as error:
            lines.append(f"{sites} are not compared. {error}")
            continue
        differences = matches[path].differences()
        lines += [f"{sites} disagree: {' '.join(differences)}"] if differences else []
    return matches, lines


def _join_tables(matches: dict[Path, Match]) -> Table:
    """Join the tables of several matches, with the folder of each."""
    tables = [match.table() for match in matches.values()]
    places = [str(path) for path, table in zip(matches, tables, strict=True) for _ in range(len(table))]
    columns = [
        replace(columns[0], values=[value for column in columns for value in column.values])
        for columns in zip(*(table.columns for table in tables), strict=True)
    ]
    return replace(tables[0], columns=(Column("site of b", places, kind="text"), *columns), file="matches.csv")
