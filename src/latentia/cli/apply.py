"""``latentia apply``: results of a saved model on new data."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.utils import get_tags

from .. import persistence
from ..exceptions import LatentiaError
from ..families import family_of
from ..reading import is_excel, reading_as
from ..system.terminal import say
from ._results import Results, find_model
from ._run import parse_column_options
from ._shared import ReadOptions, name_source

_UNSUPPORTED = {
    "other": "is applied to one source; leave this one", "denoise": "has no rows to write; leave it",
    "ask": "has no findings to ask for; leave it", "column": "is not applied to texts; leave it",
    "split": "is not applied to texts; leave it",
}  # fmt: skip
_NOT_APPLIED = ("RichComponents",)


def apply(
    model: Path,
    source: Path,
    other: Path | None = None,
    out: Path = Path("applied"),
    missing: str | None = None,
    denoise: bool = False,
    ask: int = 0,
    column: str | None = None,
    split: str | None = None,
    cache: Path | None = None,
    no_cache: bool = False,
    encoding: str | None = None,
    role: list[str] | None = None,
    missing_codes: str | None = None,
    empty: str = "missing",
    positive: list[str] | None = None,
    id: str | None = None,
    sheet: str | None = None,
    jobs: int = -1,
    force: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Apply a model to other data: its topics, labels, states, components, sources, causes, pairs, communities or codes.

    Parameters
    ----------
    model
        A folder of results, or its model.npz.
    source
        New data, in a form that the command of the model reads.
    other : V
        For 'contrast' models: V, a second table of the same rows.
    missing
        Cells without a value: drop leaves their rows out, keep takes them as not known ('mixture', 'nmf', 'hmm' and
        'noisy-or', where it is the default); otherwise they are an error by default.
    denoise
        For 'dictionary' and 'network': write the rows as the model reconstructs them, not their codes.
    ask : >= 0
        For 'noisy-or': for each row with empty cells, name this many findings to ask for next, the most informative about
        its causes first.
    column
        Text column of a CSV file or workbook; by default the training column of the model.
    split
        How texts are cut into documents, see 'topics'; or none. By default as for the model.
    """
    path = find_model(model)
    fitted = persistence.load(path)
    kind = type(fitted).__name__
    family = family_of(kind)
    if family is None or kind in _NOT_APPLIED:
        raise LatentiaError(f"the model is a {kind}, which this command cannot apply to new data.", source=path)
    module = import_module(f".{family.module}", __package__)
    work = getattr(module, f"apply_{family.module}")
    family_options = {"other": other, "denoise": denoise, "ask": ask, "column": column, "split": split}
    supported_options = {
        name: value for name, value in family_options.items() if name in inspect.signature(work).parameters
    }
    for name, value in family_options.items():
        if name not in supported_options and value not in (None, False, 0):
            raise LatentiaError(f"{other if name == 'other' else f'--{name}'}: a {kind} {_UNSUPPORTED[name]} out.")
    file = module.name_output_file(fitted, source, denoise) if "denoise" in supported_options else family.applied
    results = Results(out, source, (file,), force, progress=not quiet, model=path)
    for path_read in (source, other):
        if path_read is not None:
            replace(results, source=path_read).check()
    findings = family.command == "noisy-or"
    keeps_missing = (
        findings or family.command == "mixture" or (family.reads == "rows" and get_tags(fitted).input_tags.allow_nan)
    )
    ways = ("keep", "drop") if keeps_missing else ("drop",) if family.reads == "rows" else ()
    ways = ("keep",) if kind == "SpectralHMM" else ways
    if missing is not None and not ways:
        raise LatentiaError(f"--missing: a {kind} is not applied to rows of a table; leave it out.")
    model_reading = fitted.reading_
    missing = missing or ("keep" if findings else model_reading.get("missing"))
    column_options = parse_column_options(role, missing_codes, empty, positive, id).like(model_reading)
    sheet = sheet or (model_reading.get("sheet") if is_excel(source) else None)
    read_options = ReadOptions.from_options(
        quiet, cache, no_cache, missing, ways, encoding=encoding, column_options=column_options, sheet=sheet
    )
    fitted.set_params(n_jobs=jobs, verbose=not quiet)
    with (
        name_source(source.name),
        reading_as(column_options, sheet),
        warnings.catch_warnings(),
    ):  # Column names are compared while the source is read.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        write: Callable[[Path], object] = work(fitted, source, read_options, **supported_options)
        files = results.write(lambda folder: write(folder / file))
    say(f"Wrote {file} of the {kind} in {path} to {out}")
    return {
        "source": str(source), "out": str(out), "files": files, "model": str(path), "estimator": kind,
    }  # fmt: skip
