"""Reading files and data frames: a role for every column, reported before any fit.

``read(source)`` returns a `Reading`, which commands print and estimators accept. ``latentia look FILE`` shows it.
"""

from ._counts import holds_texts, table_counts, triple_columns
from ._ends import is_clock
from ._excel import is_excel
from ._others import holds_chains
from ._read import (
    is_table_name,
    look_at,
    open_reading,
    put_in_order,
    read,
    reading_as,
    reading_of,
    reading_settings,
    readings,
)
from ._reading import Reading
from ._roles import ROLES, Column, ColumnOptions, find_columns, is_coded, positive_value
from ._shapes import is_named_matrix, is_symmetric_matrix, long_columns, matrix_of
from ._tables import RawTable, column_names, has_columns, is_csv, open_table
from ._tags import split_tags

__all__ = [
    "ROLES",
    "Column",
    "ColumnOptions",
    "RawTable",
    "Reading",
    "column_names",
    "find_columns",
    "has_columns",
    "holds_chains",
    "holds_texts",
    "is_clock",
    "is_coded",
    "is_csv",
    "is_excel",
    "is_named_matrix",
    "is_symmetric_matrix",
    "is_table_name",
    "long_columns",
    "look_at",
    "matrix_of",
    "open_reading",
    "open_table",
    "positive_value",
    "put_in_order",
    "read",
    "reading_as",
    "reading_of",
    "reading_settings",
    "readings",
    "split_tags",
    "table_counts",
    "triple_columns",
]
