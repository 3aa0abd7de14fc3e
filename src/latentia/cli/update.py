"""``latentia update``: rows added to a saved model, or taken away again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from .. import persistence
from ..exceptions import LatentiaError
from ..families import family_of
from ..reading import is_excel, reading_as
from ._results import MODEL_FILE, Results, step_of
from ._run import asked_of
from ._shared import ReadOptions, learn, named


def update(
    model: Path,
    source: Path,
    forget: bool = False,
    out: Path | None = None,
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
    """Add rows to a model, or take them away, as if it had been learned from all that are left.

    Its folder is written anew, or another one (--out).

    Parameters
    ----------
    model
        A folder of results whose model was learned with --keep-moments.
    source
        Rows, in a form that the command which learned the model reads.
    forget
        Take these rows away, in place of adding them.
    """
    fitted = kept_model(model)
    read = _of_family(fitted, "added")
    if read is None:
        raise LatentiaError(f"rows are added to a {type(fitted).__name__} in Python, by partial_fit.", source=model)
    step = step_of("forget" if forget else "add", source) if out is None else ""
    results = Results(out or model, source, (), force or out is None, progress=not quiet, step=step)
    results.check()
    asked = asked_of(role, missing_codes, empty, positive, id).like(fitted.reading_)
    sheet = sheet or (fitted.reading_.get("sheet") if is_excel(source) else None)
    with named(source.name), reading_as(asked, sheet):
        rows = read(fitted, source, ReadOptions.of(quiet, cache, no_cache, encoding=encoding, asked=asked, sheet=sheet))
    fitted.set_params(n_jobs=jobs, verbose=not quiet)

    def changed(_: Any) -> Any:
        if results.is_done():
            said.append("An earlier run did this and was stopped before it could say so: nothing was changed again.")
            return fitted
        if not forget:
            return fitted.partial_fit(*rows)
        receipt = fitted.forget(*rows)
        said.append(f"Forgot {receipt.n_rows:,} rows (SHA-256 {receipt.digest}); {receipt.n_left:,} are left.")
        return fitted

    said: list[str] = []
    return learn_again(results, source.name, changed, said)


def _of_family(model: Any, what: str) -> Any:
    """A function of the command that learned a model; None where it has none of this kind."""
    family: Any = family_of(type(model).__name__)
    return getattr(import_module(f".{family.module}", __package__), f"{what}_{family.module}", None)


def kept_model(path: Path) -> Any:
    """The model in a folder of results."""
    if not (path / MODEL_FILE).exists():
        raise LatentiaError("no model there. Give a folder of results.", source=path)
    fitted = persistence.load(path / MODEL_FILE)
    if "moments_" not in vars(fitted):
        raise LatentiaError(
            f"the model was learned without its moments, so that nothing can be added. {_advice(fitted)}", source=path
        )
    return fitted


def _advice(model: Any) -> str:
    """Return how a model of this family is learned so that rows can be added."""
    name = type(model).__name__
    if "keep_moments" not in model.get_params(deep=False):
        return f"Learn it again from all rows: a {name} keeps none."
    if _of_family(model, "added") is not None:
        return "Learn it with --keep-moments."
    return f"Learn it in Python, by {name}(keep_moments=True).fit, and add rows by partial_fit."


def learn_again(results: Results, source: str, fit: Any, said: list[str]) -> dict[str, Any]:
    """Write and print what a model says that was put together."""
    reading: dict[str, Any] = {}

    def fitted(size: Any) -> Any:
        model = fit(size)
        reading.update(model.reading_)
        said.append(f"{model.moments_.n_rows:,} rows in all; {model.moments_.n_bytes / 2**20:.2g} MB are kept of them.")
        return model

    def told(model: Any, _: Any) -> Any:
        units = _of_family(model, "units")
        whole = f"{model.moments_.n_rows:,} rows that were added up"  # a file that was forgotten is not named
        return model.summary(source=whole, **({} if units is None else units(model)))

    return learn(
        results, source, [None], fitted, told, reading=reading, said=lambda model: said,
    )  # fmt: skip
