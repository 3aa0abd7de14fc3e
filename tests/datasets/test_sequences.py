"""Sequences of symbols and of vectors."""

import numpy as np
import pytest

from latentia.datasets import read_sequences
from latentia.datasets.sequences import RARE
from latentia.exceptions import LatentiaError
from latentia.sequences import SpectralHMM

TABLE = "who,word,x,y\na,Red,1.5,2\na,,1,\na,blue,2,3\nb,red,4,5\nb,green,6,7\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "x.csv").write_text(TABLE)
    return tmp_path / "x.csv"


def test_a_text_is_a_sequence_a_line(tmp_path):
    (tmp_path / "x.txt").write_text("a b  a\n\nc\n")
    data = read_sequences(tmp_path / "x.txt")
    assert data.symbols
    assert data.steps.tolist() == ["a", "b", "a", "c"]
    assert (data.lengths.tolist(), data.names, data.rows) == ([3, 1], ["line 1", "line 3"], None)


def test_a_column_whose_changes_begin_a_sequence(table):
    data = read_sequences(table, column="word", sequence="who", missing="keep", lower=True)
    assert data.given.tolist() == ["red", None, "blue", "red", "green"]
    assert (data.lengths.tolist(), data.names, list(data.rows)) == ([3, 2], ["a", "b"], [2, 3, 4, 5, 6])
    rare = read_sequences(table, column="word", missing="keep", lower=True, min_count=2)
    assert rare.steps.tolist() == ["red", "", RARE, "red", RARE]


def test_cells_of_vectors_are_missing_alone_or_with_their_step(table):
    data = read_sequences(table, columns=["x", "y"], sequence="who", missing="keep")
    gappy = np.isnan(data.steps)
    assert gappy.any(axis=1).tolist() == [False, True, False, False, False]
    assert not gappy.all(axis=1).any()
    assert data.there.all()
    np.testing.assert_array_equal(data.whole().steps, [[1.5, 2], [np.nan, np.nan], [2, 3], [4, 5], [6, 7]])
    assert data.whole().there.tolist() == [True, False, True, True, True]
    assert data.columns == ["x", "y"]


def test_symbols_are_those_of_a_model(table):
    data = read_sequences(table, column="word", missing="keep", symbols=["red", "blue", RARE], lower=True)
    assert (data.steps.tolist(), data.n_unknown) == (["red", "", "blue", "red", RARE], 1)
    data = read_sequences(table, column="word", missing="keep", symbols=["red", "blue"])
    assert (data.steps.tolist(), data.n_unknown) == (["", "", "blue", "red", ""], 2)
    with pytest.raises(LatentiaError, match=r"x.csv: the model knows none of its symbols, such as 'Red'"):
        read_sequences(table, column="word", missing="keep", symbols=["up", "down"])


def test_what_is_read_is_what_models_take(tmp_path):
    steps = np.random.default_rng(0).choice([*"abc"], size=(40, 50))
    (tmp_path / "x.txt").write_text("\n".join(" ".join(line) for line in steps))
    data = read_sequences(tmp_path / "x.txt")
    assert SpectralHMM(1).fit(data.given, data.lengths).symbols_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "word", "columns": ["x"]}, "column= names a column of symbols, and columns= columns of numbers"),
        ({"column": "word", "kind": "vectors"}, "kind='vectors': name the columns of numbers with columns="),
        ({"column": "z"}, "no column 'z', which column= names"),
        ({"column": "z", "of_model": True}, "no column 'z', which the model needs"),
        ({"column": "who", "sequence": "who"}, "sequence='who': the column is used for the steps too"),
        ({"kind": "symbols"}, "which column holds the symbols? There are who, word, x, y; name one with column=."),
        ({"column": "word"}, "Or use other columns with columns=. missing='keep' treats them as missing."),
        ({"columns": ["x"], "lower": True}, "min_count= and lower= are for symbols"),
        ({"column": "word", "missing": "keep", "min_count": 3}, "fewer than two symbols occur 3 times or more"),
        ({"kind": "pears"}, "kind='pears': expected 'auto'"),
        ({"missing": "mean"}, "missing='mean': expected 'error' or 'keep'"),
    ],
)
def test_errors_name_parameters(table, options, message):
    with pytest.raises(LatentiaError) as error:
        read_sequences(table, **options)
    assert message in str(error.value)
