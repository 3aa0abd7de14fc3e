"""Rows of words with labels."""

import numpy as np
import pytest

from latentia.datasets import read_labelled
from latentia.datasets.labelled import read_rows
from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.multilabel import MomentMultiLabelClassifier

COUNTS = "0 0:1 1:2 2:1\n0,2 1:1 2:1\n 3:1 4:1\n"
POSTS = "body,tags\nred house,art; home\nred car,art\nblue car,\n"


@pytest.fixture
def counts(tmp_path):
    (tmp_path / "x.txt").write_text("3 5 4\n" + COUNTS)
    return tmp_path / "x.txt"


@pytest.fixture
def posts(tmp_path):
    (tmp_path / "p.csv").write_text(POSTS)
    return tmp_path / "p.csv"


def labels_of(data):
    return np.vstack([block[1].toarray() for block in data.rows])


def test_counts_and_others_like_them(counts, tmp_path):
    data = read_labelled(counts, cache=False)
    assert (data.size, data.words, data.labels, data.names) == ((3, 5, 4), None, None, None)
    np.testing.assert_array_equal(data.rows.table().toarray()[0], [1, 2, 1, 0, 0])
    np.testing.assert_array_equal(labels_of(data), [[1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]])
    assert (data.first, data.counted) == ((0, 0), {"zero_based": True})
    (tmp_path / "t.txt").write_text("3 1:1\n")
    other = read_labelled(tmp_path / "t.txt", like=data, cache=False)
    assert other.size == (1, 5, 4)
    assert read_rows(tmp_path / "t.txt", 5, zero_based=True, cache=False).shapes[0] == (1, 5)
    (tmp_path / "t.txt").write_text("1 6 4\n3 1:1\n")
    with pytest.raises(
        LatentiaError, match=r"t.txt: expected 5 words and 4 labels, as in .*x.txt; found 6 words and 4 labels"
    ):
        read_labelled(tmp_path / "t.txt", like=data, cache=False)
    with pytest.raises(LatentiaError, match=r"t.txt: expected 5 words, as in the model; found 6 words"):
        read_rows(tmp_path / "t.txt", 5, cache=False)


def test_counts_from_one(counts, tmp_path):
    counts.write_text("1 1:1 2:1\n2 2:1\n")
    data = read_labelled(counts, zero_based=False, cache=False)
    assert (data.size, data.first, data.counted) == ((2, 2, 2), (1, 1), {"zero_based": False})


def test_names_from_files(counts, tmp_path):
    (tmp_path / "w.txt").write_text("a\nb\nc\nd\ne\n\n")
    (tmp_path / "l.txt").write_text("p\nq\nr\n")
    assert read_labelled(counts, vocabulary=tmp_path / "w.txt", cache=False).words == [*"abcde"]
    with pytest.raises(
        LatentiaError, match=r"labels='.*l.txt': expected 4 names, one for each of the labels in .*x.txt; found 3"
    ):
        read_labelled(counts, labels=tmp_path / "l.txt", cache=False)
    (tmp_path / "l.txt").write_text("p\n\nr\ns\n")
    with pytest.raises(LatentiaError, match=r"l.txt, line 2': expected a name"):
        read_labelled(counts, labels=tmp_path / "l.txt", cache=False)


def test_texts_and_tags(posts, tmp_path):
    data = read_labelled(posts, column="body", min_df=1, max_df=1.0)
    assert (data.words, data.labels) == (["blue", "car", "house", "red"], ["art", "home"])
    assert data.names == ["line 2", "line 3", "line 4"]
    np.testing.assert_array_equal(labels_of(data), [[1, 1], [1, 0], [0, 0]])
    (tmp_path / "q.csv").write_text("body,tags\nred zebra,art; rare\n")
    with pytest.warns(DroppedDataWarning, match=r"q.csv: 1 tag without a training row cannot be predicted: rare"):
        other = read_labelled(tmp_path / "q.csv", column="body", like=data)
    np.testing.assert_array_equal(other.rows.table().toarray(), [[0, 0, 0, 1]])
    np.testing.assert_array_equal(labels_of(other), [[1, 0]])


def test_what_is_read_is_what_the_classifier_takes(tmp_path):
    lines = [f"{kind}{i % 3} {kind}{i % 5} word{i % 4},{kind}" for i in range(60) for kind in ("sport", "music")]
    (tmp_path / "p.csv").write_text("\n".join(["text,tags", *lines]))
    data = read_labelled(tmp_path / "p.csv")
    model = MomentMultiLabelClassifier(2, vocabulary=data.words, label_names=data.labels, refine=0).fit(data.rows)
    assert model.predict_proba(data.rows).shape == (120, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "body", "tags": "z"}, "tags='z': {}/p.csv: no such column. Besides the texts there are tags."),
        ({"column": "tags"}, "which column holds the tags? Besides the texts there are body; name one with tags=."),
        ({"column": "body", "zero_based": False}, "zero_based=False: p.csv: its words and tags have names"),
    ],
)
def test_errors_name_parameters(posts, options, message):
    with pytest.raises(LatentiaError) as error:
        read_labelled(posts, **options)
    assert message.format(posts.parent) in str(error.value)


def test_counts_have_no_columns_of_texts(counts):
    with pytest.raises(LatentiaError, match="min_df=2: x.txt: it holds counts of words, and is no table of texts"):
        read_labelled(counts, min_df=2)
