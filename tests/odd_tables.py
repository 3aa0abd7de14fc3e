"""Tables that are none of numbers, and what their errors say."""

import numpy as np
import pytest


def frame(table):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(table, columns=[f"c{i}" for i in range(table.shape[1])])


def with_entry(table, value, row=3, column=1):
    """The table as one of objects, with another entry."""
    changed = table.astype(object)
    changed[row, column] = value
    return changed


def with_dates(table):
    dated = frame(table)
    dated["c1"] = np.datetime64("2020-01-01", "s")
    return dated


def with_categories(table):
    return frame(with_entry(table, "red")).astype({"c1": "category"})


def with_names_of_two_types(table):
    named = frame(table)
    named.columns = [0, *named.columns[1:]]
    return named


def with_fields(table):
    return np.zeros(len(table), dtype=[(f"c{i}", float) for i in range(table.shape[1])])


UNUSABLE = {
    "text in an array": (lambda t: with_entry(t, "red"), "Row 3, column 1.*'red' is text"),
    "text in a frame": (lambda t: frame(with_entry(t, "red")), "Row 3, column 'c1'.*'red' is text"),
    "text in a list": (lambda t: with_entry(t, "red").tolist(), "Row 3, column 1.*'red' is text"),
    "an object": (lambda t: with_entry(t, {}), "Row 3, column 1.*not 'dict'"),
    "a large whole number": (lambda t: with_entry(t, 10**400), r"Row 3, column 1.*10{10}.*\.\.\. is too large"),
    "a large long number": (lambda t: with_entry(t, 0).astype(np.longdouble) * np.longdouble("1e400"), None),
    "infinity of 16 bits": (lambda t: with_entry(t, np.inf).astype(np.float16), "Row 3, column 1.*: infinity"),
    "infinity in a frame": (lambda t: frame(with_entry(t, -np.inf).astype(float)), "Row 3, column 'c1'.*: -infinity"),
    "categories of text": (with_categories, "Row 3, column 'c1'.*'red' is text"),
    "dates": (with_dates, "olumn 'c1' .*datetime64"),
    "names of two types": (with_names_of_two_types, "several types, int and str"),
    "fields": (with_fields, "named fields, c0, c1"),
    "a generator": (lambda t: (row for row in t), "list"),
    "a dict": (lambda t: {"a": [1, 2], "b": [3, 4]}, "of type dict.*DataFrame"),
    "a set": (lambda t: {1, 2}, "of type set.*list"),
    "ragged rows": (lambda t: [[1, 2], [3]], "row 1 has 1 entries and row 0 has 2"),
    "one dimension": (lambda t: t[:, 0], "one dimension, of .* Reshape your data"),
    "three dimensions": (lambda t: t[None], "3 dimensions"),
    "nothing": (lambda t: [], "is empty: it has no rows"),
    "None": (lambda t: None, "is None: expected a table"),
    "truth": (lambda t: True, "of type bool"),
}
"""Each from a table of numbers, and a pattern of the error."""
