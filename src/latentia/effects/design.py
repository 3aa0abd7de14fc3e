"""Tables of covariates: a design matrix by a formula, and the clusters of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from .._entries import is_missing
from ..exceptions import LatentiaError, MissingExtraError

_EXTRA = 1e-9  # length of a column, of one, that is left of it beside the others


@dataclass(frozen=True)
class Design:
    """Columns that a formula makes of a table.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, P)
        NaN in rows that lack an entry which the formula needs.
    terms : list of str
        Names of the P columns.
    """

    matrix: np.ndarray
    terms: list[str]

    @property
    def known(self) -> np.ndarray:
        """Rows that have all entries, bool, shape (n_rows,)."""
        return np.asarray(np.isfinite(self.matrix).all(axis=1))


def design_of(formula: str, data: Any, n_rows: int, method: str = "effects") -> Design:
    """Columns that a formula makes of a table: see `latentia.effects`.

    Parameters
    ----------
    formula : str
        Such as ``"~ party + year"``, as `formulaic` reads it.
    data : DataFrame or dict of columns
        A row for every row of the model's data, in the same order.
    n_rows : int
    method : str
        For messages.
    """
    try:
        import pandas as pd
        from formulaic import Formula
    except ImportError:
        raise MissingExtraError("formulaic", "formulas", method) from None
    table = _table(data, n_rows)
    frame = pd.DataFrame({name: _cells(column) for name, column in table.items()}, index=range(n_rows))
    try:
        found = Formula(formula).get_model_matrix(frame, context={}, na_action="drop", output="pandas")
        matrix = np.full((n_rows, found.shape[1]), np.nan)
        matrix[found.index] = found.to_numpy(dtype=float)
    except Exception as error:  # of the many that a formula may raise, each says what it is about
        columns = ", ".join(map(str, table))
        raise LatentiaError(
            f"It cannot be used on the columns {columns}: {_said(error)}",
            parameter="formula",
            value=formula,
        ) from error
    return Design(matrix, [str(term) for term in found.columns])


def columns_in(formula: str) -> list[str]:
    """Names of the columns that a formula asks for, sorted."""
    try:
        from formulaic import Formula
    except ImportError:
        raise MissingExtraError("formulaic", "formulas", "effects") from None
    try:
        return sorted(map(str, Formula(formula).required_variables))
    except Exception as error:
        raise LatentiaError(f"It cannot be read: {_said(error)}", parameter="formula", value=formula) from error


def columns_of(table: Any, n_rows: int) -> Design:
    """The columns of a table, centred: numbers as they are, others as their levels but the first."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        values = np.asarray(table, dtype=float).reshape(len(table), -1)
        table = {f"x{i}": column for i, column in enumerate(values.T)}
    formula = " + ".join(f"`{name}`" for name in _table(table, n_rows))
    found = design_of(formula, table, n_rows, "regress")
    matrix = found.matrix[:, 1:]
    return Design(matrix - np.nanmean(matrix, axis=0), found.terms[1:])


def clusters_of(cluster: Any, data: Any, n_rows: int) -> np.ndarray:
    """Number of the cluster of every row, shape (n_rows,), -1 where it has none; without clusters each row is its own."""
    if cluster is None:
        return np.arange(n_rows)
    if isinstance(cluster, str):
        columns = _table(data, n_rows)
        if cluster not in columns:
            raise LatentiaError(
                f"there is no such column. There are {', '.join(map(str, columns))}.",
                parameter="cluster",
                value=cluster,
            )
        cluster = columns[cluster]
    values = [None if is_missing(value) or value == "" else str(value) for value in list(cluster)]
    if len(values) != n_rows:
        raise LatentiaError(f"cluster has {len(values)} entries and X has {n_rows} rows: they must agree.")
    place = {value: i for i, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
    return np.array([-1 if value is None else place[value] for value in values])


def check_independent(matrix: np.ndarray, terms: Sequence[str], cluster: np.ndarray) -> None:
    """Raise where columns depend on each other, or outnumber the rows, and where all rows are one cluster."""
    n, p = matrix.shape
    if n <= p:
        raise LatentiaError(f"{n} rows have all entries, which is too few for {p} terms.")
    if len(np.unique(cluster)) < 2:
        raise LatentiaError(f"The {n} rows that have all entries are one cluster, and two or more are needed.")
    scaled = matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    _, r, order = qr(scaled, mode="economic", pivoting=True)
    extra = [terms[i] for i in order[np.abs(np.diag(r)) < _EXTRA]]
    if extra:
        follow, them = ("follows", "it") if len(extra) == 1 else ("follow", "them")
        raise LatentiaError(f"{', '.join(extra)} {follow} from the other terms: leave {them} out.")


def _said(error: Exception) -> str:
    """The kind of an error and its first line: those of formulaic go on with colours."""
    return f"{type(error).__name__}, {str(error).strip().partition(chr(10))[0]}"


def _table(data: Any, n_rows: int) -> dict[Any, Any]:
    """The columns of a table by name."""
    if data is None or not (isinstance(data, Mapping) or hasattr(data, "columns")):
        raise LatentiaError(
            f"a data frame or a dict of columns is needed, not {type(data).__name__}.", parameter="data"
        )
    names = list(data) if isinstance(data, Mapping) else getattr(data, "column_names", None) or list(data.columns)
    table = {name: data[name] for name in names}
    for name, column in table.items():
        if len(column) != n_rows:
            raise LatentiaError(f"Column {name!r} has {len(column)} entries and X has {n_rows} rows: they must agree.")
    return table


def _cells(column: Any) -> Any:
    """A column in which empty texts are missing."""
    values = np.asarray(column)
    if values.dtype.kind not in "OUS":
        return column if hasattr(column, "cat") else values
    return np.array(
        [None if is_missing(one) or (isinstance(one, str) and not one.strip()) else one for one in values.tolist()],
        object,
    )
