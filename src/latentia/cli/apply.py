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
from ..reading import reading_as
from ..system.terminal import say
from ._records import ApplyOptions
from ._results import Results, find_model
from ._shared import BLANK, name_source
from ._tables import insert_empty_answers

_UNSUPPORTED = {
    "other": "is applied to one source; leave this one", "denoise": "has no rows to write; leave it",
    "ask": "has no findings to ask for; leave it", "column": "is not applied to texts; leave it",
    "split": "is not applied to texts; leave it",
}  # fmt: skip
_NOT_APPLIED = ("RichComponents",)


def apply(options: ApplyOptions) -> dict[str, Any]:
    """Apply a model to other data: its topics, labels, states, components, sources, causes, pairs, communities or codes."""
    path = find_model(options.model)
    fitted = persistence.load(path)
    kind = type(fitted).__name__
    family = family_of(kind)
    if family is None or kind in _NOT_APPLIED:
        raise LatentiaError(f"the model is a {kind}, which this command cannot apply to new data.", source=path)
    module = import_module(f".{family.module}", __package__)
    work = getattr(module, f"apply_{family.module}")
    family_options = {name: getattr(options, name) for name in _UNSUPPORTED}
    supported_options = {
        name: value for name, value in family_options.items() if name in inspect.signature(work).parameters
    }
    for name, value in family_options.items():
        if name not in supported_options and value not in (None, False, 0):
            raise LatentiaError(f"{value if name == 'other' else f'--{name}'}: a {kind} {_UNSUPPORTED[name]} out.")
    source, file = options.source, family.applied
    if "denoise" in supported_options:
        file = module.name_output_file(fitted, source, options.denoise)
    results = Results(options.out, source, (file,), options.force, progress=not options.quiet, model=path)
    for path_read in (source, options.other):
        if path_read is not None:
            replace(results, source=path_read).check()
    findings = family.command == "noisy-or"
    keeps_missing = (
        findings or family.command == "mixture" or (family.reads == "rows" and get_tags(fitted).input_tags.allow_nan)
    )
    ways = ("keep", "drop") if keeps_missing else ("drop",) if family.reads == "rows" else ()
    ways = ("keep",) if kind == "SpectralHMM" else ways
    if options.missing is not None and not ways:
        raise LatentiaError(f"--missing: a {kind} is not applied to rows of a table; leave it out.")
    is_set = findings or fitted.reading_.get("missing") is not None
    missing = options.missing or ("keep" if is_set and "keep" in ways else None)
    read_options = replace(options.reading_like(fitted, source, missing, ways), left_out=[])
    if is_set and missing is None and ways:
        read_options = replace(read_options, missing=BLANK)
    fitted.set_params(n_jobs=options.jobs, verbose=not options.quiet)
    with (
        name_source(source.name),
        reading_as(read_options.column_options, read_options.sheet),
        warnings.catch_warnings(),
    ):  # Column names are compared while the source is read.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.utils\.validation")
        write: Callable[[Path], object] = work(fitted, source, read_options, **supported_options)

        def write_answers(folder: Path) -> None:
            write(folder / file)
            insert_empty_answers(folder / file, read_options.left_out or ())

        files = results.write(write_answers)
    say(f"Wrote {file} of the {kind} in {path} to {options.out}")
    return {
        "source": str(source), "out": str(options.out), "files": files, "model": str(path), "estimator": kind,
    }  # fmt: skip
