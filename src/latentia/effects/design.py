"""Design matrices of covariates by a formula, and clusters of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import qr

from .._entries import is_missing
from .._frames import check_names_differ
from .._validation import list_of
from ..exceptions import LatentiaError
from ..passes.tables import fill_masked
from .estimates import column_sizes
from .formulas import CONTEXT, MAX_COLUMNS, CheckedFormula, describe_error

_MAX_CELLS = 1 << 27
_MIN_RESIDUAL = 1e-9  # columns with a smaller residual, relative to length one, are redundant


@dataclass(frozen=True)
class Design:
    """Design matrix of a formula and a table.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, P)
        Design matrix; NaN in rows with a missing entry.
    terms : list of str
        Names of the P columns.
    references : dict of str
        Reference level of each categorical column that enters as differences from one level.
    """

    matrix: np.ndarray
    terms: list[str]
    references: dict[str, str] = field(default_factory=dict)

    @property
    def is_known(self) -> np.ndarray:
        """Mask of complete rows, shape (n_rows,)."""
        return np.asarray(np.isfinite(self.matrix).all(axis=1))


def design_of(formula: str, data: Any, n_rows: int) -> Design:
    """Build the design matrix of a formula and a table: see `latentia.effects`.

    Parameters
    ----------
    formula : str
        Such as ``"~ party + year"``, as `formulaic` reads it.
    data : DataFrame or dict of columns
        A row for every row of the model's data, in the same order.
    n_rows : int

    Raises
    ------
    LatentiaError
        If the formula has more than names, numbers and known functions, or does not fit the table.
    """
    parsed_formula = CheckedFormula(formula)
    import pandas as pd

    table = columns_by_name(data, n_rows)
    columns = {str(name): column for name, column in table.items()}
    parsed_formula.check_columns(list(columns))
    cells = {
        identifier: _cells(name, columns[name], identifier in parsed_formula.categories)
        for identifier, name in parsed_formula.columns.items()
    }
    levels = {
        name: len(set(_present_texts(column)))
        for name, column in cells.items()
        if _is_text(column) or name in parsed_formula.categories
    }
    n_columns = parsed_formula.max_columns(levels)
    if n_columns > MAX_COLUMNS or n_columns * n_rows > _MAX_CELLS:
        raise LatentiaError(
            f"It gives up to {n_columns} columns of {n_rows} rows, which is too many. Leave out products of columns with many "
            "levels.",
            parameter="formula", value=formula,
        )  # fmt: skip
    try:
        frame = pd.DataFrame(cells, index=range(n_rows))
        with np.errstate(all="ignore"):  # incomplete rows are left out
            design_matrix = parsed_formula.parsed.get_model_matrix(
                frame, context=CONTEXT, na_action="drop", output="pandas"
            )
        matrix = np.full((n_rows, design_matrix.shape[1]), np.nan)
        matrix[design_matrix.index] = design_matrix.to_numpy(dtype=float)
    except Exception as error:  # formulas raise many kinds of errors, each with a clear message
        raise LatentiaError(
            f"It cannot be used on the columns {', '.join(columns)}: {parsed_formula.name_columns(describe_error(error))}",
            parameter="formula",
            value=formula,
        ) from error
    if not design_matrix.shape[1]:
        raise LatentiaError("It has no terms. Use '~ 1' for the mean.", parameter="formula", value=formula)
    references = {parsed_formula.name_columns(name): level for name, level in _references(design_matrix).items()}
    return Design(matrix, [parsed_formula.name_columns(str(term)) for term in design_matrix.columns], references)


def _references(design_matrix: Any) -> dict[str, str]:
    """Return the reference level of each categorical column, from a matrix of formulaic."""
    references = {}
    for factor, contrasts in design_matrix.model_spec.factor_contrasts.items():
        if any(str(term).startswith(f"{factor}[T.") for term in design_matrix.columns):
            references[str(factor)] = str(contrasts.contrasts.get_drop_field(contrasts.levels, reduced_rank=False))
    return references


def columns_of(table: Any, n_rows: int) -> Design:
    """Return the centred columns of a table: numbers unchanged, others as indicators of all levels but the first."""
    if not isinstance(table, Mapping) and not hasattr(table, "columns"):
        table = _name_columns(table)
    columns, terms = [], []
    for name, column in columns_by_name(table, n_rows).items():
        cells = _cells(name, column)
        if not _is_text(cells):
            columns.append(np.asarray(cells, dtype=float))
            terms.append(str(name))
            continue
        categories = getattr(getattr(cells, "cat", None), "categories", None)
        levels = (
            sorted({str(cell) for cell in _present_texts(cells)}) if categories is None else list(map(str, categories))
        )
        if len(columns) + len(levels) > n_rows:
            raise LatentiaError(
                f"Column {name!r} has {len(levels)} levels, which is too many for {n_rows} rows: leave it out."
            )
        texts = [None if is_missing(cell) else str(cell) for cell in cells]
        for level in levels[1:]:
            columns.append(np.array([np.nan if text is None else float(text == level) for text in texts]))
            terms.append(f"{name}[T.{level}]")
    matrix = np.column_stack([*columns, np.zeros((n_rows, 0))])
    is_complete = np.isfinite(matrix).all(axis=1)
    return Design(matrix - matrix[is_complete].mean(axis=0) if is_complete.any() else matrix, terms)


def _name_columns(table: Any) -> dict[str, np.ndarray]:
    """Name the columns of an array x0, x1, ..."""
    try:
        values = np.asarray(fill_masked(table), dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        n_columns = values.shape[1] if values.ndim == 2 else None
    except (TypeError, ValueError):
        n_columns = None
    if n_columns is None:
        raise LatentiaError(
            f"Expected a data frame, a dict of columns, or an array of numbers, not {type(table).__name__}.",
            parameter="controls",
        )
    return {f"x{i}": values[:, i] for i in range(n_columns)}


def clusters_of(cluster: Any, data: Any, n_rows: int, parameter: str = "data") -> np.ndarray:
    """Return the number of the cluster of every row, shape (n_rows,), -1 for none; by default each row is a cluster."""
    if cluster is None:
        return np.arange(n_rows)
    if isinstance(cluster, str):
        columns = columns_by_name(data, n_rows, parameter)
        if cluster not in columns:
            raise LatentiaError(
                f"there is no such column. There are {', '.join(map(str, columns))}.",
                parameter="cluster",
                value=cluster,
            )
        cluster = columns[cluster]
    try:
        labels = list_of(cluster, "cluster")
    except LatentiaError as error:
        error.problem = f"Expected the name of a column, or a label for every row, not {type(cluster).__name__}."
        raise
    values = [None if is_missing(label) or str(label) == "" else str(label) for label in labels]
    if len(values) != n_rows:
        raise LatentiaError(f"cluster has {len(values)} entries; expected {n_rows}, one for each row of X.")
    numbers = {value: i for i, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
    return np.array([-1 if value is None else numbers[value] for value in values])


def check_independent(matrix: np.ndarray, terms: Sequence[str], cluster: np.ndarray) -> None:
    """Raise if columns are collinear or outnumber the rows, or if all rows are one cluster."""
    n, p = matrix.shape
    if n <= p:
        raise LatentiaError(f"{n} rows are complete, which is too few for {p} terms.")
    if len(np.unique(cluster)) < 2:
        raise LatentiaError(f"The {n} complete rows are one cluster; expected at least two.")
    matrix = matrix / column_sizes(matrix)
    scaled = matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    _, r, order = qr(scaled, mode="economic", pivoting=True)
    redundant = [terms[i] for i in order[np.abs(np.diag(r)) < _MIN_RESIDUAL]]
    if redundant:
        verb, pronoun = ("follows", "it") if len(redundant) == 1 else ("follow", "them")
        raise LatentiaError(
            f"{', '.join(redundant)} {verb} from the other terms: leave {pronoun} out, or centre columns with large values, as "
            "in center(year)."
        )


def columns_by_name(data: Any, n_rows: int, parameter: str = "data") -> dict[Any, Any]:
    """Return the columns of a table by name."""
    if data is None or not (isinstance(data, Mapping) or hasattr(data, "columns")):
        raise LatentiaError(
            f"Expected a data frame or a dict of columns, not {type(data).__name__}.", parameter=parameter
        )
    if not isinstance(data, Mapping):
        check_names_differ(data)
    names = list(data) if isinstance(data, Mapping) else getattr(data, "column_names", None) or list(data.columns)
    table = {name: data[name] for name in names}
    for name, column in table.items():
        n_entries = len(column) if hasattr(column, "__len__") else 1
        if n_entries != n_rows:
            raise LatentiaError(f"Column {name!r} has {n_entries} entries; expected {n_rows}, one for each row of X.")
    return table


def _cells(name: Any, column: Any, is_category: bool = False) -> Any:
    """Return a column for a design: numbers, categories, or objects with None for missing cells.

    Numbers are float, which do not overflow in powers, except of a category, whose levels are named as they are.
    """
    values = np.asarray(column)
    if values.dtype.kind in "Mmc" or values.ndim != 1:
        raise LatentiaError(f"Column {name!r} has type {values.dtype}; expected numbers or texts. Make numbers of it.")
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):
        return column
    if values.dtype.kind in "iuf":
        return values if is_category else values.astype(float)
    if values.dtype.kind not in "OUS":
        return values
    cells = [
        None if is_missing(entry) or (isinstance(entry, str) and not entry.strip()) else entry
        for entry in values.tolist()
    ]
    if any(cell is not None for cell in cells) and all(cell is None or isinstance(cell, Real) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    return np.array(cells, object)


def _is_text(cells: Any) -> bool:
    """Return True for a column that is coded by indicators of its levels."""
    return hasattr(cells, "cat") or cells.dtype.kind == "O"


def _present_texts(cells: Any) -> list[str]:
    """Return the entries of a column that are not missing, as texts."""
    return [str(cell) for cell in cells if not is_missing(cell)]
