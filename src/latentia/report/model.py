"""The report of any estimator: which page is for which class, and what the page takes of what ``fit`` takes."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._frames import column_names_of
from .._validation import check_same_rows, number_column, number_table
from ..contrastive import ContrastiveLogisticRegression, ContrastiveRegression
from ..contrastive.views import target_column, two_views
from ..datasets.graphs import graph_of
from ..exceptions import LatentiaError
from ..families import FAMILIES, family_of
from ..mixtures import SphericalGaussianMixture
from ..passes import Blocks
from ..passes.dask import convert_collections
from ..summaries import Summary
from ._any import summarize_any
from .page import LACKS, write_summary

Tell = Callable[..., Summary]
_TYPES = [np.float64, np.float32, np.int64, np.int32, np.bool_]  # kept as they are; others become the first
_FEW, _EXAMPLES = 14, 3  # findings of rows that are explained, and how many of them


def write_report(path: str | os.PathLike[str], model: Any, *data: Any, **options: Any) -> Path:
    """Write what a fitted estimator found, and how far it can be trusted, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; one that is there is replaced.
    model : estimator of this library
        A fitted model.
    *data
        What its ``fit`` took, by position or name. Without it the page shows what the model alone knows, and says what it
        lacks.
    **options
        Of the function of this module that writes the family's page: ``title``, ``source``, names of columns and others.

    Returns
    -------
    Path of the file
    """
    return write_summary(path, summarize(model, *data, **options))


def summarize(model: Any, *data: Any, **options: Any) -> Summary:
    """Say what a fitted estimator found, as data: tables, figures and notes; takes what `write_report` takes after the path."""
    check_is_fitted(model)
    known = ((one.__name__, family_of(one.__name__)) for one in type(model).__mro__)
    pages = (family.page for name, family in known if family is not None and name not in family.plain)
    tell = next((SUMMARIES[page] for page in pages), _any)
    if options.get("comparison") is None and model.compared:
        options["comparison"] = [_renamed(row, model.nouns[1]) for row in model.compared]
    of_fit = inspect.signature(type(model).fit).parameters
    named = {name: options.pop(name) for name in [*options] if name in of_fit}
    data, named = convert_collections(type(model).fit, data, named)
    options |= named
    with warnings.catch_warnings():  # names of columns have been checked, and of data frames the tables are used
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return tell(model, *data, **options)


def _renamed(row: Mapping[str, Any], many: str) -> dict[str, Any]:
    return {many if name == "n_components" else name: value for name, value in row.items()}


# --- from what is fitted to what is shown ---------------------------------------------------------------------------


def _table(X: Any, name: str = "X") -> Any:
    """Rows as a sparse matrix or an array of numbers, read as ``fit`` reads them; NaN where an entry is missing."""
    return X.table() if isinstance(X, Blocks) else number_table(X, name, dtype=_TYPES, missing=True)


def _names(model: Any, X: Any = None) -> dict[str, list[str]]:
    """Names of the columns as an option, where the table or the model has them."""
    found: Iterable[Any] | None = X.names if isinstance(X, Blocks) else column_names_of(X)
    found = model.column_names if found is None else found
    return {} if found is None else {"columns": [str(name) for name in found]}


def _of_rows(tell: Tell, model: Any, X: Any = None, y: Any = None, **options: Any) -> Summary:
    """What is said of a model of one table."""
    _check_columns(model, X)
    return tell(model, None if X is None else _table(X), **_names(model, X) | options)


def _check_columns(model: Any, X: Any) -> None:
    """Raise for a data frame whose columns are not those of the fit."""
    known, given = model.column_names, column_names_of(X)
    if known is not None and given is not None and known != given:
        raise LatentiaError(
            f"The columns begin {', '.join(map(str, given[:3]))}, and those of the fit {', '.join(map(str, known[:3]))}: "
            "give the same ones, in the same order."
        )


def _topics(tell: Tell, model: Any, X: Any = None, embeddings: Any = None, **options: Any) -> Summary:
    return tell(model, X, embeddings, **options)


def _labels(tell: Tell, model: Any, X: Any = None, Y: Any = None, **options: Any) -> Summary:
    if Y is not None and not isinstance(X, Blocks):
        Y = _label_sets(model, Y)
    return tell(model, X, Y, **options)


def _label_sets(model: Any, Y: Any) -> Any:
    """A table of 0 and 1 with a column for every label; one class a row becomes one label a row."""
    table = Y if sparse.issparse(Y) else np.asarray(Y)
    if table.ndim == 1 or (model.one_class and table.shape[1] == 1):
        return sparse.csr_array(table.reshape(-1, 1) == model.classes_)
    return sparse.csr_array(number_table(table, "Y"))


def _matrix(tell: Tell, model: Any, C: Any = None, y: Any = None, **options: Any) -> Summary:
    """With ``communities=True`` the groups of nodes as well."""
    return tell(model, None if C is None else _table(C), **options)


def _hmm(tell: Tell, model: Any, X: Any = None, lengths: Any = None, **options: Any) -> Summary:
    names = {} if model.of_symbols else _names(model, X)
    if X is None:
        return tell(model, None, lengths, **names | options)
    steps, lengths = model.joined_steps(X, lengths)
    return tell(model, steps.ravel() if model.of_symbols else _table(steps), lengths, **names | options)


def _mixture(tell: Tell, model: Any, X: Any = None, y: Any = None, *, views: Any = None, **options: Any) -> Summary:
    if isinstance(model, SphericalGaussianMixture):
        return _of_rows(tell, model, X, **options)
    rows = None
    if X is not None:
        blocks = model.views_of(X)
        rows = np.vstack([np.hstack([_dense(part) for part in block]) for block in blocks])
        if model.has_densities:
            options.setdefault("probabilities", model.predict_proba(X))
    if model.kinds is not None:
        options.setdefault("columns", [name for view in model.feature_names for name in view])
    columns = model.view_columns
    if columns is not None:
        known, named = _names(model, X).get("columns"), [column for view in columns for column in view]
        if known is not None or all(isinstance(column, str) for column in named):
            options.setdefault("columns", [str(c if isinstance(c, str) or known is None else known[c]) for c in named])
    return tell(model, rows, **options)


def _noisy_or(tell: Tell, model: Any, X: Any = None, y: Any = None, **options: Any) -> Summary:
    if X is None:
        return tell(model, **_names(model) | options)
    _check_columns(model, X)
    rows = _table(X)
    if "rows" not in options:
        present = np.asarray(rows.sum(axis=1)).ravel()
        options["rows"] = [int(i) for i in np.flatnonzero((present > 0) & (present <= _FEW))[:_EXAMPLES]]
    return tell(model, rows, **_names(model, X) | options)


def _contrast(tell: Tell, model: Any, U: Any = None, V: Any = None, y: Any = None, **options: Any) -> Summary:
    if U is None:
        data = "U, V, y" if isinstance(model, ContrastiveRegression | ContrastiveLogisticRegression) else "U, V"
        note = LACKS.format("figures, and what simpler methods say", data)
        return _any(model, **{"note": note} | options)
    names, names_v = _names(model, U), column_names_of(V)
    for_v = {} if names_v is None else {"columns_v": names_v}
    y = None if isinstance(U, Blocks) else _target(model, y)
    blocks = two_views(model, U, V, reset=False)
    needed = max(2, model.n_found or 0)
    if blocks.n_rows < needed:
        raise LatentiaError(f"U has {blocks.n_rows} rows, and simpler methods need at least {needed}.")
    U, V, *others = (np.vstack([_dense(block[i]) for block in blocks]) for i in range(len(blocks.shapes)))
    y = others[0].ravel() if others else y
    if not np.ptp(U, axis=0).any():
        raise LatentiaError("All rows of U are the same: there is nothing to compare.")
    if y is not None:
        check_same_rows(U=len(U), y=len(y))
    return tell(model, U, V, y, **names | for_v | options)


def _target(model: Any, y: Any) -> Any:
    """The target of a contrast, read as ``fit`` reads it."""
    if y is None or not isinstance(model, ContrastiveRegression | ContrastiveLogisticRegression):
        return None
    return number_column(y) if isinstance(model, ContrastiveRegression) else target_column(y, numbers=False)


def _communities(tell: Tell, model: Any, A: Any = None, y: Any = None, **options: Any) -> Summary:
    graph = None if A is None else graph_of(_table(A) if isinstance(A, Blocks) else A, model.directed_)
    return tell(model, graph, **options)


def _any(model: Any, X: Any = None, y: Any = None, background: Any = None, **options: Any) -> Summary:
    """What is said of models that have no page of their own: no rows are shown."""
    return summarize_any(model, **_names(model, X) | options)


def _dense(part: Any) -> np.ndarray:
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=float)


_OTHERS: Mapping[str, Callable[..., Summary]] = {
    "topics": _topics, "labels": _labels, "hmm": _hmm, "mixture": _mixture, "noisy_or": _noisy_or, "matrix": _matrix,
    "communities": _communities, "contrast": _contrast,
}  # fmt: skip
SUMMARIES: Mapping[str, Callable[..., Summary]] = {
    family.page: partial(
        _OTHERS.get(family.page, _of_rows),
        getattr(import_module(f".{family.page}", __package__), f"summarize_{family.page}"),
    )
    for family in FAMILIES
}
"""What tells what models say, by the page of their family; it takes what ``fit`` takes."""
