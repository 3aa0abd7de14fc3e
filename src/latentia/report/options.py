"""Options of reports, in one form: what can be given for each is checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._fields import MAX_MAGNITUDE
from .._parameters import Constraint, Flag, Integer, Number, check_parameter
from .._validation import check_same_rows, list_of, number_array, number_table
from ..effects.results import Effects
from ..exceptions import LatentiaError
from ..noisyor import Diagnosis
from ..passes import Blocks
from ..summaries import Column
from ..topics.prevalence import Prevalence
from .dictionary import RebuiltPicture
from .labels import Names

_MEASURE: Mapping[str, type] = {"name": str, "value": Real, "plain": Real, "rows": Real, "meaning": str}
Reader = Callable[[str, Any], Any]


def read_options(options: Mapping[str, Any], data: Sequence[Any], types: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a page about some data in the forms that its function takes; raise for values that do not fit.

    ``types`` are the annotations of the function, which decide how an option is read. None stands for the default.
    """
    result = {name: READERS[types[name]](name, value) for name, value in options.items() if value is not None}
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


# --- readers --------------------------------------------------------------------------------------------------------


def _check(constraint: Constraint) -> Reader:
    def read(name: str, value: Any) -> Any:
        check_parameter(name, value, constraint)
        return value

    return read


def _instance(kind: type, expected: str) -> Reader:
    def read(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise _refusal(name, expected, value)
        return value

    return read


def _check_each(read: Reader) -> Reader:
    return lambda name, value: [read(name, item) for item in list_of(value, name)]


def _pair(read: Reader) -> Reader:
    def read_pair(name: str, value: Any) -> tuple[Any, ...]:
        if isinstance(value, str) or len(pair := list_of(value, name)) != 2:
            raise _refusal(name, "a pair", value)
        return tuple(read(name, item) for item in pair)

    return read_pair


def _mapping(read: Reader) -> Reader:
    def read_mapping(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not value:
            raise _refusal(name, "a dict", value)
        return {str(key): read(name, item) for key, item in value.items()}

    return read_mapping


def _read_text(name: str, value: Any) -> str:
    if not isinstance(value, (str, Path)):
        raise _refusal(name, "a text", value)
    return str(value)


def _read_cell(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, (str, Real, np.bool_)):
        raise _refusal(name, "texts and numbers", value)
    return value


def _read_number(name: str, value: Any) -> float:
    check_parameter(name, value, Number())
    return float(value)


def _read_measure(name: str, value: Any) -> dict[str, Any]:
    measure = _mapping(_read_cell)(name, value)
    if not all(isinstance(measure.get(key), kind) for key, kind in _MEASURE.items()):
        raise _refusal(name, f"dicts of {', '.join(_MEASURE)}", value)
    return measure


def _read_array(name: str, value: Any) -> np.ndarray:
    array = number_array(value, name)
    if not array.ndim or not (np.abs(array) <= MAX_MAGNITUDE).all():
        raise LatentiaError(f"Expected an array of numbers up to {MAX_MAGNITUDE:g}.", parameter=name)
    return array


def _read_list(name: str, value: Any) -> Any:
    if isinstance(value, (str, bytes)):
        raise _refusal(name, "a list of texts", value)
    return value if isinstance(value, Names) else list_of(value, name)


def _read_shape(name: str, value: Any) -> tuple[int, ...]:
    sizes = list_of(value, name)
    if len(sizes) < 2 or not all(Integer(1).allows(size) for size in sizes):
        raise LatentiaError("expected a height and a width.", parameter=name, value=value)
    return tuple(int(size) for size in sizes)


def _read_row_label(name: str, value: Any) -> Column:
    column: Column = _instance(Column, "columns of the class Column")(name, value)
    list_of(column.values, name)
    return column


def _read_prevalence(name: str, value: Any) -> list[tuple[str, Prevalence]]:
    """Return groupings of documents with their names; one without a name has that of its kind."""
    if isinstance(value, Prevalence) or _is_pair(value):
        value = [value]
    entries = [*value.items()] if isinstance(value, Mapping) else list_of(value, name)
    pairs: list[Any] = [
        entry if _is_pair(entry) else ("time" if _read_over_time(entry) else "group", entry) for entry in entries
    ]
    for _, prevalence in pairs:
        if not isinstance(prevalence, Prevalence):
            raise _refusal(name, "results of prevalence_by or prevalence_over, or pairs of a name and one", prevalence)
    return [(str(title), prevalence) for title, prevalence in pairs]


def _read_over_time(entry: Any) -> bool:
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


READERS: Mapping[str, Reader] = {
    "str": _read_text, "bool": _check(Flag()), "int": _check(Integer(1)), "float": _check(Number(0.0, closed="low")),
    **dict.fromkeys(("Sequence[str]", "Sequence[str] | None", "Sequence[str] | Names | None"), _read_list),
    "Sequence[int]": _read_list, "Sequence[int] | None": _read_shape, "Sequence[Column]": _check_each(_read_row_label),
    "Sequence[Mapping[str, Any]]": _check_each(_read_measure),
    "Sequence[Mapping[str, Any]] | None": _check_each(_mapping(_read_cell)),
    "Mapping[str, float] | None": _mapping(_read_number),
    "np.ndarray | None": _read_array,
    "sparse.csr_array | None": lambda name, value: sparse.csr_array(number_table(value, name)),
    "Mapping[str, np.ndarray] | None": _mapping(_read_array), "tuple[np.ndarray, np.ndarray] | None": _pair(_read_array),
    "tuple[str, str]": _pair(_read_text), "Sequence[tuple[str, str]]": _check_each(_pair(_read_text)),
    "Sequence[RebuiltPicture]": _check_each(_instance(RebuiltPicture, "pictures of the class RebuiltPicture")),
    "Sequence[Diagnosis] | None": _check_each(_instance(Diagnosis, "results of explain")),
    "Sequence[tuple[str, Prevalence]] | None": _read_prevalence, "tuple[str, Effects] | None": _read_effects,
    "Any": lambda _, value: value,
}  # fmt: skip
"""Readers of options, by the annotation of the option."""
