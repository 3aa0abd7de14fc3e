"""Reports of all estimators: the page of each class, and the conversion of arguments of ``fit`` to those of the page."""

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
from .._validation import check_same_rows, not_empty, number_column, number_table
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
from .options import check_names, read_options
from .page import LACKS, write_summary

Tell = Callable[..., Summary]
_TYPES = [np.float64, np.float32, np.int64, np.int32, np.bool_]  # Other types become float64.
_MAX_EXPLAINED_FINDINGS, _N_EXAMPLES = 14, 3  # Three rows of at most 14 findings are explained.


def write_report(path: str | os.PathLike[str], model: Any, *data: Any, **options: Any) -> Path:
    """Write the results of a fitted estimator, and how far to trust them, to one HTML file that works offline.

    Parameters
    ----------
    path : path
        The file appears complete or not at all; an existing file is replaced.
    model : estimator of this library
        A fitted model.
    *data
        Arguments of its ``fit``, by position or name. Without them the page shows what the model stores, and names the missing
        parts.
    **options
        Options of the family's page in this module: ``title``, ``source``, names of columns and others.

    Returns
    -------
    Path of the file
    """
    return write_summary(path, summarize(model, *data, **options))


def summarize(model: Any, *data: Any, **options: Any) -> Summary:
    """Return the results of a fitted estimator as tables, figures and notes; the arguments are those of `write_report`."""
    check_is_fitted(model)
    ancestors = ((ancestor.__name__, family_of(ancestor.__name__)) for ancestor in type(model).__mro__)
    pages = (family.page for name, family in ancestors if family is not None and name not in family.plain)
    summarize_page = next((SUMMARIES[page] for page in pages), _any)
    if options.get("comparison") is None and model.compared:
        options["comparison"] = [_rename_size_column(row, model.nouns[1]) for row in model.compared]
    fit_parameters = inspect.signature(type(model).fit).parameters
    tell = summarize_page.args[0] if isinstance(summarize_page, partial) else summarize_any
    types = _option_types(tell)
    check_names(options, {*fit_parameters, *types} - {"self"})
    data_options = {name: options.pop(name) for name in [*options] if name in fit_parameters}
    data, data_options = convert_collections(type(model).fit, data, data_options)
    for table in (*data, *data_options.values()):
        if isinstance(table, Blocks):
            not_empty(table)
    options = read_options(options, data, types) | data_options
    with warnings.catch_warnings():  # Column names have been checked, and tables replace data frames.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"sklearn\.utils\.validation")
        return summarize_page(model, *data, **options)


def _option_types(tell: Tell) -> dict[str, str]:
    """Return the annotations of the options of a page."""
    return {p.name: p.annotation for p in inspect.signature(tell).parameters.values() if p.kind is p.KEYWORD_ONLY}


def _rename_size_column(row: Mapping[str, Any], plural: str) -> dict[str, Any]:
    return {plural if name == "n_components" else name: value for name, value in row.items()}


# --- from the arguments of fit to those of the page ------------------------------------------------------------------


def _table(X: Any, name: str = "X") -> Any:
    """Read rows as ``fit`` does, as a sparse matrix or an array with NaN for missing entries."""
    return X.table() if isinstance(X, Blocks) else number_table(X, name, dtype=_TYPES, missing=True)


def _names(model: Any, X: Any = None) -> dict[str, list[str]]:
    """Return the column names of the table or the model as an option; empty if neither has any."""
    names: Iterable[Any] | None = X.names if isinstance(X, Blocks) else column_names_of(X)
    names = model.column_names if names is None else names
    return {} if names is None else {"columns": [str(name) for name in names]}


def _summarize_rows(tell: Tell, model: Any, X: Any = None, y: Any = None, **options: Any) -> Summary:
    """Summarize a model of one table."""
    _check_columns(model, X)
    return tell(model, None if X is None else _table(X), **_names(model, X) | options)


def _check_columns(model: Any, X: Any) -> None:
    """Raise for a data frame whose columns differ from those of the fit."""
    model_names, data_names = model.column_names, column_names_of(X)
    if model_names is not None and data_names is not None and model_names != data_names:
        raise LatentiaError(
            f"Expected the columns of the fit, {', '.join(map(str, model_names[:3]))} ..., in the same order; found "
            f"{', '.join(map(str, data_names[:3]))} ..."
        )


def _topics(tell: Tell, model: Any, X: Any = None, embeddings: Any = None, **options: Any) -> Summary:
    return tell(model, X, embeddings, **options)


def _labels(tell: Tell, model: Any, X: Any = None, Y: Any = None, **options: Any) -> Summary:
    if Y is not None and not isinstance(X, Blocks):
        Y = _label_sets(model, Y)
    if not isinstance(options.get("label_sets"), Blocks | None):
        options["label_sets"] = _label_sets(model, options["label_sets"])
    return tell(model, X, Y, **options)


def _label_sets(model: Any, Y: Any) -> Any:
    """Return a 0/1 table with a column per label; a column of classes becomes one label per row."""
    table = None if sparse.issparse(Y) or not model.one_class else np.asarray(Y)
    if table is not None and (table.ndim == 1 or table.shape[1] == 1):
        return sparse.csr_array(table.reshape(-1, 1) == model.classes_)
    labels = sparse.csr_array(model._read_label_sets(Y, "Y"))
    if labels.shape[1] != len(model.classes_):
        raise LatentiaError(f"Y has {labels.shape[1]:,} columns; expected {len(model.classes_):,}, one for each label.")
    return labels


def _matrix(tell: Tell, model: Any, C: Any = None, y: Any = None, **options: Any) -> Summary:
    """Summarize a matrix of pairs, with ``communities=True`` also groups of nodes."""
    return tell(model, None if C is None else _table(C), **options)


def _hmm(tell: Tell, model: Any, X: Any = None, lengths: Any = None, **options: Any) -> Summary:
    names = {} if model.of_symbols else _names(model, X)
    if X is None:
        return tell(model, None, lengths, **names | options)
    steps, lengths = model.join_steps(X, lengths)
    return tell(model, steps.ravel() if model.of_symbols else _table(steps), lengths, **names | options)


def _mixture(tell: Tell, model: Any, X: Any = None, y: Any = None, *, views: Any = None, **options: Any) -> Summary:
    if isinstance(model, SphericalGaussianMixture):
        return _summarize_rows(tell, model, X, **options)
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
        table_names, view_names = _names(model, X).get("columns"), [column for view in columns for column in view]
        if table_names is not None or all(isinstance(column, str) for column in view_names):
            options.setdefault(
                "columns", [str(c if isinstance(c, str) or table_names is None else table_names[c]) for c in view_names]
            )
    return tell(model, rows, **options)


def _noisy_or(tell: Tell, model: Any, X: Any = None, y: Any = None, **options: Any) -> Summary:
    if X is None:
        return tell(model, **_names(model) | options)
    _check_columns(model, X)
    rows = _table(X)
    if "rows" not in options:
        present = np.asarray(rows.sum(axis=1)).ravel()
        options["rows"] = [
            int(i) for i in np.flatnonzero((present > 0) & (present <= _MAX_EXPLAINED_FINDINGS))[:_N_EXAMPLES]
        ]
    return tell(model, rows, **_names(model, X) | options)


def _contrast(tell: Tell, model: Any, U: Any = None, V: Any = None, y: Any = None, **options: Any) -> Summary:
    if U is None:
        data = "U, V, y" if isinstance(model, ContrastiveRegression | ContrastiveLogisticRegression) else "U, V"
        note = LACKS.format("figures and the comparison with simpler methods", data)
        return _any(model, **{"note": note} | options)
    names, names_v = _names(model, U), column_names_of(V)
    v_options = {} if names_v is None else {"columns_v": names_v}
    y = None if isinstance(U, Blocks) else _target(model, y)
    blocks = two_views(model, U, V, reset=False)
    needed = max(2, model.n_found or 0)
    if blocks.n_rows < needed:
        raise LatentiaError(f"U has {blocks.n_rows} rows; the comparison with simpler methods needs at least {needed}.")
    U, V, *target_blocks = (np.vstack([_dense(block[i]) for block in blocks]) for i in range(len(blocks.shapes)))
    y = target_blocks[0].ravel() if target_blocks else y
    if not np.square(np.ptp(U, axis=0)).any():  # squares below 1e-308 are zero
        raise LatentiaError(
            "All rows of U are equal, or too close for their variance: simpler methods cannot be compared."
        )
    if y is not None:
        check_same_rows(U=len(U), y=len(y))
    return tell(model, U, V, y, **names | v_options | options)


def _target(model: Any, y: Any) -> Any:
    """Read the target of a contrast as ``fit`` does."""
    if y is None or not isinstance(model, ContrastiveRegression | ContrastiveLogisticRegression):
        return None
    return number_column(y) if isinstance(model, ContrastiveRegression) else target_column(y, numbers=False)


def _communities(tell: Tell, model: Any, A: Any = None, y: Any = None, **options: Any) -> Summary:
    graph = None if A is None else graph_of(_table(A) if isinstance(A, Blocks) else A, model.directed_)
    return tell(model, graph, **options)


def _any(model: Any, X: Any = None, y: Any = None, background: Any = None, **options: Any) -> Summary:
    """Summarize a model that has no page of its own, without rows."""
    options = {name: value for name, value in options.items() if name in _option_types(summarize_any)}
    return summarize_any(model, **_names(model, X) | options)


def _dense(part: Any) -> np.ndarray:
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=float)


_ADAPTERS: Mapping[str, Callable[..., Summary]] = {
    "topics": _topics, "labels": _labels, "hmm": _hmm, "mixture": _mixture, "noisy_or": _noisy_or, "matrix": _matrix,
    "communities": _communities, "contrast": _contrast,
}  # fmt: skip
SUMMARIES: Mapping[str, Callable[..., Summary]] = {
    family.page: partial(
        _ADAPTERS.get(family.page, _summarize_rows),
        getattr(import_module(f".{family.page}", __package__), f"summarize_{family.page}"),
    )
    for family in FAMILIES
}
"""Functions that summarize models, by the page of their family; they take the arguments of ``fit``."""
