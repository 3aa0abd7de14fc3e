"""Options of reports, in one form: what can be given for each is checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._parameters import Constraint, Flag, Integer, Number, OrNone, check_parameter
from .._validation import check_same_rows, list_of
from ..effects.results import Effects
from ..exceptions import LatentiaError
from ..passes import Blocks
from ..summaries import Column
from ..topics.prevalence import Prevalence
from .labels import Names

_LISTS = ("columns", "columns_v", "label_names", "names", "near", "row_names", "rows", "texts", "vocabulary")
_TEXTS = ("source", "target", "tested", "title")
_SHAPES = ("image", "patch", "picture_shape")
_CHECKED: dict[str, Constraint] = {
    "communities": Flag(), "listed": Integer(1), "printed": Flag(), "threshold": OrNone(Number(0.0, closed="low")),
}  # fmt: skip


def read_options(options: Mapping[str, Any], data: Sequence[Any]) -> dict[str, Any]:
    """Return the options of a page about some data in the forms that its function takes; raise for values that do not fit."""
    for name, constraint in _CHECKED.items():
        if name in options:
            check_parameter(name, options[name], constraint)
    result = {
        name: _READERS[name](name, value) if value is not None and name in _READERS else value
        for name, value in options.items()
    }
    n_rows = _count_rows(data[0]) if data else None
    if n_rows is not None:
        for column in result.get("row_labels", ()):
            check_same_rows(**{"X": n_rows, f"the column {column.name} of row_labels": len(column.values)})
    return result


def _count_rows(table: Any) -> int | None:
    """Return the number of rows of a table or of blocks; None for texts and sequences."""
    if isinstance(table, Blocks):
        return table.n_rows
    return int(table.shape[0]) if len(getattr(table, "shape", ())) == 2 else None


def check_names(options: Iterable[str], accepted: Collection[str]) -> None:
    """Raise for an option that a page does not have."""
    for name in options:
        if name not in accepted:
            raise LatentiaError(f"The report of this model has no option {name}. It has {', '.join(sorted(accepted))}.")


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, (str, Path)):
        raise _refusal(name, "a text", value)
    return str(value)


def _read_list(name: str, value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        raise _refusal(name, "a list of texts", value)
    return value if isinstance(value, Names) else list_of(value, name)


def _read_shape(name: str, value: Any) -> tuple[int, ...]:
    sizes = list_of(value, name)
    if len(sizes) < 2 or not all(Integer(1).allows(size) for size in sizes):
        raise LatentiaError("expected a height and a width.", parameter=name, value=value)
    return tuple(int(size) for size in sizes)


def _read_row_labels(name: str, value: Any) -> list[Column]:
    columns = list_of(value, name)
    for column in columns:
        if not isinstance(column, Column):
            raise _refusal(name, "columns of the class Column", column)
    return columns


def _read_prevalence(name: str, value: Any) -> list[tuple[str, Prevalence]]:
    """Return groupings of documents with their names; one without a name has that of its kind."""
    if isinstance(value, Prevalence) or _is_pair(value):
        value = [value]
    entries = [*value.items()] if isinstance(value, Mapping) else list_of(value, name)
    pairs: list[Any] = [
        entry if _is_pair(entry) else ("time" if _over_time(entry) else "group", entry) for entry in entries
    ]
    for _, prevalence in pairs:
        if not isinstance(prevalence, Prevalence):
            raise _refusal(name, "results of prevalence_by or prevalence_over, or pairs of a name and one", prevalence)
    return [(str(title), prevalence) for title, prevalence in pairs]


def _over_time(entry: Any) -> bool:
    return isinstance(entry, Prevalence) and entry.places is not None


def _read_effects(name: str, value: Any) -> tuple[str, Effects]:
    formula, effects = value if _is_pair(value) else (getattr(value, "formula", ""), value)
    if not isinstance(effects, Effects):
        raise _refusal(name, "the result of effects, or a pair of a formula and one", effects)
    return str(formula), effects


def _is_pair(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) == 2 and isinstance(value[0], str)


def _refusal(name: str, expected: str, value: Any) -> LatentiaError:
    return LatentiaError(f"Expected {expected}; found {type(value).__name__}.", parameter=name)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(_LISTS, _read_list), **dict.fromkeys(_TEXTS, _read_text), **dict.fromkeys(_SHAPES, _read_shape),
    "row_labels": _read_row_labels, "prevalence": _read_prevalence, "effects": _read_effects,
}  # fmt: skip
