"""What every estimator checks of its data, once: `test_odd_input.py` has each estimator's own way to it."""

from collections import UserList, deque

import numpy as np
import pytest
from odd_tables import UNUSABLE, frame, with_entry
from scipy import sparse
from sklearn.base import BaseEstimator

from latentia import LatentiaError
from latentia._validation import check_form, finite_blocks, number_table, table_blocks
from latentia.passes import Blocks

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
WRONG = {
    np.nan: "NaN; expected",
    np.inf: ": infinity",
    -np.inf: ": -infinity",
    1e200: "1e.200, whose",
    -1e200: "-1e.200, whose",
}


def table():
    return np.arange(40.0).reshape(10, 4)


def fitted():
    """An estimator that remembers a table."""
    estimator = BaseEstimator()
    table_blocks(estimator, table(), reset=True)
    return estimator


@pytest.mark.parametrize("kind", UNUSABLE)
@pytest.mark.parametrize("options", [{}, {"dtype": "numeric"}, {"missing": True}, {"min_rows": 2}], ids=str)
def test_what_is_no_table_of_numbers_is_refused_with_its_place(kind, options):
    make, message = UNUSABLE[kind]
    with pytest.raises(LatentiaError, match=message) as error:
        number_table(make(table()), **options)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("make", [list, tuple, deque, UserList])
def test_any_sequence_of_rows_is_a_table_and_a_text_is_none(make):
    np.testing.assert_array_equal(number_table(make(table().tolist())), table())
    for text in ("1 2", b"1 2"):
        with pytest.raises(LatentiaError, match="X is of type (str|bytes): expected a table of numbers"):
            number_table(text)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_fits_and_predictions_refuse_it_alike(kind, reset):
    make, message = UNUSABLE[kind]
    with pytest.raises(LatentiaError, match=message):
        table_blocks(fitted(), make(table()), reset=reset)


@pytest.mark.parametrize("value", WRONG)
def test_numbers_that_are_none_or_out_of_range(value):
    wrong = with_entry(table(), value).astype(float)
    for given in (wrong, wrong.tolist(), sparse.csr_array(wrong), sparse.coo_array(wrong), np.asfortranarray(wrong)):
        with pytest.raises(LatentiaError, match=f"Row 3, column 1: .*{WRONG[value].strip(': ')}"):
            number_table(given)
    with pytest.raises(LatentiaError, match=f"Row 3, column 'c1'.*{WRONG[value]}"):
        number_table(frame(wrong))
    blocks = table_blocks(fitted(), Blocks.from_array(wrong), reset=False)
    with pytest.raises(LatentiaError, match=f"Row 3, column 1.*{WRONG[value]}"):
        list(blocks)
    parts = finite_blocks(Blocks.from_array(table(), wrong), (0, 1), ("X", "V"))
    with pytest.raises(LatentiaError, match=f"Row 3, column 1 of V.*{WRONG[value]}"):
        list(parts)


def test_missing_numbers():
    gap = with_entry(table(), np.nan).astype(float)
    masked = np.ma.masked_array(table(), mask=np.isnan(gap))
    for given, column in ((gap, "1"), (frame(gap), "'c1'"), (masked, "1")):
        with pytest.raises(LatentiaError, match=f"Row 3, column {column}.*NaN; expected a number"):
            number_table(given)
        np.testing.assert_array_equal(number_table(given, missing=True), gap)
    with pytest.raises(LatentiaError, match="NaN"):
        number_table(sparse.csr_array(gap), missing=True)
    list(finite_blocks(Blocks.from_array(gap), missing=True))
    gap[5, 2] = np.inf
    with pytest.raises(LatentiaError, match="Row 5, column 2: infinity"):
        number_table(gap, missing=True)


def test_several_wrong_numbers_are_counted():
    wrong = table()
    wrong[2:5, 1] = np.nan
    with pytest.raises(LatentiaError, match=r"Row 2, column 1: NaN.*\(2 more like it\)"):
        number_table(wrong)


@pytest.mark.parametrize("kind", [object, "U8", complex, "M8[s]", "m8[s]", "V8"])
def test_blocks_of_what_is_no_number(kind):
    wrong = table().astype(int).astype(kind)
    for make in (
        lambda: Blocks.from_array(wrong),
        lambda: Blocks.from_array(table(), wrong),
        lambda: Blocks.from_array(wrong, lengths=[10]),
        lambda: Blocks.from_array(wrong[:, :1], lengths=[10]) if kind != "U8" else Blocks.from_array(wrong),
    ):
        with pytest.raises(LatentiaError, match="expected numbers"):
            make()


@pytest.mark.parametrize("kind", [complex, "M8[s]", "m8[s]"])
def test_arrays_of_complex_numbers_and_dates(kind):
    with pytest.raises(LatentiaError, match="Complex data not supported|dates or spans of time"):
        number_table(table().astype(int).astype(kind))


@pytest.mark.parametrize("given", [np.zeros((10, 5)), Blocks.from_array(np.zeros((10, 5)))], ids=["array", "blocks"])
def test_another_width(given):
    with pytest.raises(LatentiaError, match="5 features"):
        table_blocks(fitted(), given, reset=False)


def test_columns_in_another_order():
    estimator = BaseEstimator()
    table_blocks(estimator, frame(table()), reset=True)
    with pytest.raises(LatentiaError, match="feature names should match"):
        table_blocks(estimator, frame(table())[["c1", "c0", "c2", "c3"]], reset=False)


@pytest.mark.parametrize("given", [table()[:1], Blocks.from_array(table()[:1])], ids=["array", "blocks"])
def test_a_fit_needs_rows_and_a_prediction_one(given):
    with pytest.raises(LatentiaError, match="minimum of 2|at least 2"):
        table_blocks(BaseEstimator(), given, reset=True)
    assert len(list(table_blocks(fitted(), given, reset=False))) == 1
    with pytest.raises(LatentiaError, match="minimum of 5|at least 2 and 5"):
        table_blocks(
            BaseEstimator(),
            table() if isinstance(given, np.ndarray) else Blocks.from_array(table()),
            reset=True,
            min_columns=5,
        )


def test_blocks_without_rows():
    for reset in (True, False):
        with pytest.raises(LatentiaError, match="The data is empty: it has no rows"):
            table_blocks(fitted(), Blocks.from_array(np.empty((0, 4))), reset=reset)


def test_sparse_tables_where_dense_ones_are_needed():
    with pytest.raises(LatentiaError, match=r"X is sparse; expected a dense table. Use its toarray\(\)"):
        number_table(sparse.csr_array(table()), sparse_allowed=False)


def test_texts_are_to_be_counted_first():
    for texts in (["some words", "of a text"], np.array(["some words", "of a text"])):
        with pytest.raises(LatentiaError, match="2 texts.*WordVectorizer"):
            check_form(texts, "X")


def test_usable_tables_stay_as_they_are():
    for given in (table(), table().tolist(), frame(table()), table().astype(np.float16), table().astype(np.longdouble)):
        np.testing.assert_array_equal(number_table(given), table())
    found = number_table(sparse.coo_array(table()))
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), table())
