"""Tables of covariates: formulas, missing entries, clusters, and what cannot be used."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from latentia.effects.design import check_independent, clusters_of, columns_of, design_of
from latentia.exceptions import LatentiaError, MissingExtraError

pytest.importorskip("formulaic")
TABLE = {"party": ["a", "b", "", "b", None, "a"], "year": [1.0, 2.0, 3.0, np.nan, 5.0, 6.0]}


def test_rows_that_lack_an_entry_are_not_known() -> None:
    found = design_of("~ party + year", TABLE, 6)
    assert found.terms == ["Intercept", "party[T.b]", "year"]
    assert found.known.tolist() == [True, True, False, False, False, True]
    np.testing.assert_array_equal(found.matrix[found.known], [[1, 0, 1], [1, 1, 2], [1, 0, 6]])
    assert design_of("~ year", TABLE, 6).known.sum() == 5


def test_frames_with_rows_of_any_name() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE, index=[9, 9, 3, 2, 1, 0])
    np.testing.assert_array_equal(
        design_of("~ party:year", frame, 6).matrix, design_of("~ party:year", TABLE, 6).matrix
    )


def test_controls_are_columns_of_any_kind() -> None:
    found = columns_of({"of a kind": ["a", "b", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]}, 4)
    np.testing.assert_allclose(found.matrix.mean(axis=0), 0)
    assert found.matrix.shape == (4, 2)
    np.testing.assert_allclose(columns_of(np.arange(4.0), 4).matrix[:, 0], [-1.5, -0.5, 0.5, 1.5])


def test_clusters() -> None:
    assert clusters_of(None, None, 3).tolist() == [0, 1, 2]
    assert clusters_of("party", TABLE, 6).tolist() == [0, 1, -1, 1, -1, 0]
    assert clusters_of([5, 5, np.nan], None, 3).tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: design_of("~ age", TABLE, 6), "columns party, year"),
        (lambda: design_of("~ party +", TABLE, 6), "formula='~ party"),
        (lambda: design_of("~ year", TABLE, 5), "6 entries and X has 5 rows"),
        (lambda: design_of("~ year", None, 5), "a data frame or a dict"),
        (lambda: clusters_of("author", TABLE, 6), "There are party, year"),
        (lambda: clusters_of([1, 2], None, 6), "2 entries and X has 6 rows"),
        (lambda: check_independent(np.ones((9, 2)), ["a", "b"], np.arange(9)), "from the other terms"),
        (lambda: check_independent(np.eye(2), ["a", "b"], np.arange(2)), "too few for 2 terms"),
        (lambda: check_independent(np.ones((9, 1)), ["a"], np.zeros(9)), "one cluster"),
    ],
)
def test_what_cannot_be_used(call, words) -> None:
    with pytest.raises(LatentiaError, match=words):
        call()


def test_the_extra_is_named(monkeypatch) -> None:
    def without(name, *args, **kwargs):
        if name == "formulaic":
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    plain = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"formulaic.*\[formulas\]"):
        design_of("~ year", TABLE, 6)
