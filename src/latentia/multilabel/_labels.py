"""Forms of the labels of a fit: label sets in a table, lists of labels, or one class a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .. import _fields as of
from .._frames import column_names_of, table_of
from .._validation import number_table
from ..exceptions import DroppedDataWarning, LatentiaError, warn
from ..passes.tables import as_table

_MAX_SHOWN = 5  # labels that a warning names


@dataclass(frozen=True)
class LabelSets:
    """Form of Y in a fit, and of predictions.

    Attributes
    ----------
    classes : ndarray of shape (L,)
        Numbers of the columns, or the classes if every row has one.
    one_class : bool
    dense : bool
    dtype : str
    names : list of str or None
        Column names of a data frame, or the labels of lists.
    of_lists : bool
        True if every row was a list of labels.
    """

    classes: Annotated[np.ndarray, of.symbols("L")]
    one_class: bool = False
    dense: bool = False
    dtype: str = "int8"
    names: list[str] | None = None
    of_lists: bool = False

    def like_fitted(self, table: sparse.csr_array) -> Any:
        """Return a predicted table of 0 and 1 in the form of Y."""
        table = table.astype(self.dtype)
        return table.toarray() if self.dense else table


def read_label_sets(Y: Any) -> tuple[sparse.csr_array, LabelSets]:
    """Return a sparse table of label sets and the form of Y; one class a row becomes one label a row."""
    if sparse.issparse(Y):
        return as_table(Y, "Y"), LabelSets(np.arange(Y.shape[1]), dtype=Y.dtype.name)
    if _holds_lists(Y):
        return _tables_of_lists(Y)
    names, table = column_names_of(Y), _plain(np.asarray(table_of(Y)))
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        raise LatentiaError("Y contains NaN or infinity; expected 0 and 1.")
    if table.ndim > 2 or table.ndim == 0:
        raise LatentiaError(
            f"Y has {table.ndim} dimensions; expected a table of 0 and 1 with a column for every label."
        )
    column = table.ndim == 2 and table.shape[1] == 1
    if table.ndim == 1 or (column and not (table.dtype.kind in "biuf" and np.isin(table, (0, 1)).all())):
        return _classes(table)
    if table.dtype.kind not in "biuf":
        raise LatentiaError(f"Y has type {table.dtype}; expected a table of 0 and 1 with a column for every label.")
    return sparse.csr_array(table), LabelSets(np.arange(table.shape[1]), False, True, table.dtype.name, names)


def read_labels_like(Y: Any, form: LabelSets, name: str = "y") -> Any:
    """Return label sets of other rows with a column for each label of the fit; lists of labels go by name."""
    if form.names is None or not (_holds_lists(Y) or (form.of_lists and _are_lists(Y))):
        return number_table(Y, name)
    labels = [[str(label) for label in row] for row in Y]
    unknown = sorted({label for row in labels for label in row}.difference(form.names))
    if unknown:
        shown = ", ".join(unknown[:_MAX_SHOWN]) + (" ..." if len(unknown) > _MAX_SHOWN else "")
        warn(f"{name}: labels that the model does not know are left out: {shown}.", DroppedDataWarning)
    known_labels = [[label for label in row if label not in unknown] for row in labels]
    return sparse.csr_array(MultiLabelBinarizer(classes=form.names, sparse_output=True).fit_transform(known_labels))


def _holds_lists(Y: Any) -> bool:
    """Return True if every row is a list, tuple or set of labels: texts, or of different lengths."""
    if not _are_lists(Y):
        return False
    rows = list(Y)
    texts = any(isinstance(label, str) for row in rows for label in row)
    return texts or any(isinstance(row, (set, frozenset)) for row in rows) or len({len(row) for row in rows}) > 1


def _are_lists(Y: Any) -> bool:
    """Return True if every row is a list, tuple or set."""
    rows = list(Y) if isinstance(Y, (list, tuple)) or getattr(Y, "ndim", 0) == 1 else []
    return bool(rows) and all(isinstance(row, (list, tuple, set, frozenset, np.ndarray)) for row in rows)


def _tables_of_lists(Y: Any) -> tuple[sparse.csr_array, LabelSets]:
    """Return the table of lists of labels, a column for each label in their order."""
    labels = MultiLabelBinarizer(sparse_output=True)
    try:
        table = sparse.csr_array(labels.fit_transform(list(Y)))
    except TypeError as error:
        raise LatentiaError(f"Y: the labels have several types ({error}). Give texts, or whole numbers.") from error
    if not table.shape[1]:
        raise LatentiaError("All lists of labels in Y are empty; expected some labels.")
    table.sort_indices()
    names = [str(label) for label in labels.classes_]
    return table.astype(np.int8), LabelSets(np.arange(len(names)), False, True, "int8", names, True)


def _plain(table: np.ndarray) -> np.ndarray:
    """Return a table of objects as numbers, if that is what they are, such as whole numbers of pandas' Int64."""
    if table.dtype != object or table.ndim != 2:
        return table
    try:
        return np.asarray(table, float)
    except (TypeError, ValueError):
        return table


def read_classes(Y: Any, name: str) -> np.ndarray:
    """Return the class of every row."""
    try:
        column = np.asarray(column_or_1d(Y, warn=True))
        check_classification_targets(column)
    except (TypeError, ValueError) as error:
        raise LatentiaError(f"{name}: {error}") from error
    return column


def _classes(column: np.ndarray) -> tuple[sparse.csr_array, LabelSets]:
    column = read_classes(column, "Y")
    classes, codes = np.unique(column, return_inverse=True)
    if not len(classes):
        raise LatentiaError("Y is empty; expected a label set or a class for every row.")
    if len(classes) < 2:
        raise LatentiaError(f"Y has one class, {classes[0]!r}; expected at least two. Label sets need two dimensions.")
    rows = np.arange(len(codes))
    table = sparse.csr_array((np.ones(len(codes), np.int8), (rows, codes)), shape=(len(codes), len(classes)))
    return table, LabelSets(classes, True, True, column.dtype.name)
