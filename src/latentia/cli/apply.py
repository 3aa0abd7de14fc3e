"""``latentia apply``: what a saved model says of other data."""

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
from ._results import MODEL_FILE, Results
from ._run import asked_of
from ._shared import ReadOptions, named

_LACKS = {
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
        Other data, in a form that the command which learned the model reads.
    other : V
        Of 'contrast' models: V, a second table of the same rows.
    missing
        Cells without a value: drop leaves their rows out, keep takes them as not known (of 'mixture', 'nmf', 'hmm' and
        'noisy-or', whose default it is); by default they are an error.
    denoise
        Of 'dictionary' and 'network': write the rows as the model has them, not their codes.
    ask : >= 0
        Of 'noisy-or': for each row with empty cells, name this many findings to ask for next, those first whose answers are
        expected to say most of its causes.
    column
        Text column of a CSV file or workbook; by default the one that the model was learned from.
    split
        Of texts: how they are cut, see 'topics'; none, or by default as the model's were.
    """
    path = model / MODEL_FILE if model.is_dir() else model
    if not path.exists():
        raise LatentiaError(f"no model there. Give a folder of results, or its {MODEL_FILE}.", source=model)
    fitted = persistence.load(path)
    kind = type(fitted).__name__
    family = family_of(kind)
    if family is None or kind in _NOT_APPLIED:
        raise LatentiaError(f"a {kind}, which cannot be applied to other data here.", source=path)
    module = import_module(f".{family.module}", __package__)
    work = getattr(module, f"apply_{family.module}")
    given = {"other": other, "denoise": denoise, "ask": ask, "column": column, "split": split}
    own = {name: value for name, value in given.items() if name in inspect.signature(work).parameters}
    for name, value in given.items():
        if name not in own and value not in (None, False, 0):
            raise LatentiaError(f"{other if name == 'other' else f'--{name}'}: a {kind} {_LACKS[name]} out.")
    file = module.name_output_file(fitted, source, denoise) if "denoise" in own else family.applied
    results = Results(out, source, (file,), force, progress=not quiet, model=path)
    for one in (source, other):
        if one is not None:
            replace(results, source=one).check()
    findings = family.command == "noisy-or"
    kept = findings or family.command == "mixture" or (family.reads == "rows" and get_tags(fitted).input_tags.allow_nan)
    ways = ("keep", "drop") if kept else ("drop",) if family.reads == "rows" else ()
    ways = ("keep",) if kind == "SpectralHMM" else ways
    if missing is not None and not ways:
        raise LatentiaError(f"--missing: a {kind} is not applied to rows of a table; leave it out.")
    known = fitted.reading_
    missing = missing or ("keep" if findings else known.get("missing"))
    asked = asked_of(role, missing_codes, empty, positive, id).like(known)
    sheet = sheet or (known.get("sheet") if is_excel(source) else None)
    how = ReadOptions.of(quiet, cache, no_cache, missing, ways, encoding=encoding, asked=asked, sheet=sheet)
    fitted.set_params(n_jobs=jobs, verbose=not quiet)
    with (
        named(source.name),
        reading_as(asked, sheet),
        warnings.catch_warnings(),
    ):  # names of columns are compared as the source is read
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        write: Callable[[Path], object] = work(fitted, source, how, **own)
        files = results.write(lambda folder: write(folder / file))
    say(f"Wrote {file} of the {kind} in {path} to {out}")
    return {
        "source": str(source), "out": str(out), "files": files, "model": str(path), "estimator": kind,
    }  # fmt: skip
