"""Topics for readers: words, tables, topics of a word, merged topics."""

import sys

import numpy as np
import pytest
from sklearn.base import clone

import latentia
from latentia import LatentiaError
from latentia.datasets import Texts, planted, readers
from latentia.exceptions import MissingExtraError
from latentia.metrics import nearest_distances
from latentia.passes import Blocks
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.words import stop_words

pandas = pytest.importorskip("pandas")

WORDS = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(200)]
MODELS = [AnchorTopics(6), SpectralLDA(6), SingleTopicModel(6)]


@pytest.fixture(scope="module")
def table():
    single = planted.topic_corpus(3000, n_topics=6, n_words=200, length=40, proportions="single", random_state=4)
    return pandas.DataFrame(single.counts.toarray(), columns=WORDS, index=[f"d{i}" for i in range(3000)])


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def model(request, table):
    return clone(request.param).fit(table)


# --- words ----------------------------------------------------------------------------------------------------------


def test_top_words(model):
    words = model.top_words(4)
    assert words.shape == (6, 4)
    assert words.dtype == object
    assert {type(word) for row in words for word in row} == {str}
    probable = model.top_words(1, relevance=1)
    assert list(probable[:, 0]) == [WORDS[i] for i in model.components_.argmax(axis=1)]
    lifted = model.top_words(3, relevance=0)
    places = [WORDS.index(word) for word in lifted[:, 0]]
    others = (model.components_.sum(axis=0) - model.components_)[range(6), places] / 5
    assert (model.components_[range(6), places] > 5 * others).all()
    assert model.top_words(999).shape == (6, 200)
    for wrong in (0, 2.5, "3"):
        with pytest.raises(LatentiaError, match=r"n="):
            model.top_words(wrong)
    for wrong in (-0.1, 1.5, "x"):
        with pytest.raises(LatentiaError, match=r"relevance="):
            model.top_words(3, relevance=wrong)


def test_words_without_names(table):
    model = SingleTopicModel(3, n_splits=0, refine=0).fit(table.to_numpy())
    assert model.top_words(1, relevance=0.3)[0, 0] == f"word {int(np.argmax(model._relevance(0.3)[0]))}"
    assert model.get_feature_names_out()[0] == "singletopicmodel0"
    assert len(model.topic_table()) == 3


def test_names_of_topics(model, table):
    names = model.get_feature_names_out()
    assert list(names) == [f"topic{k}_{'_'.join(words)}" for k, words in enumerate(model.top_words(3))]
    assert list(model.get_feature_names_out(WORDS)) == list(names)
    with pytest.raises(ValueError, match="input_features is not equal"):
        model.get_feature_names_out(WORDS[::-1])


def test_expected_words(model, table):
    shares = model.transform(table[:20])
    expected = model.inverse_transform(shares)
    assert expected.shape == (20, 200)
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    np.testing.assert_allclose(model.inverse_transform(np.eye(6)), model.components_)
    observed = table[:20].to_numpy() / table[:20].to_numpy().sum(axis=1, keepdims=True)
    assert np.corrcoef(expected.ravel(), observed.ravel())[0, 1] > 0.6
    for wrong in ([[1.0]], np.full((2, 6), -1), [["a"] * 6], np.full((1, 6), np.nan)):
        with pytest.raises(LatentiaError):
            model.inverse_transform(wrong)


# --- tables ---------------------------------------------------------------------------------------------------------


def test_topic_table(model):
    table = model.topic_table(4)
    anchored = isinstance(model, AnchorTopics)
    assert list(table.columns) == ["share", "expected error", "grade", *(["anchor words"] if anchored else []), "words"]
    assert table.index.name == "topic"
    assert table["share"].is_monotonic_decreasing
    assert table["share"].sum() == pytest.approx(1)
    first = table.index[0]
    assert table.loc[first, "words"] == " ".join(model.top_words(4)[first])
    assert table.loc[first, "grade"] == model.evidence_.components[first].grade
    np.testing.assert_allclose(table["expected error"].sort_index(), model.evidence_.component_errors)
    if anchored:
        assert table.loc[first, "anchor words"] == " ".join(model.anchor_words_[first])


def test_without_errors_the_table_has_none(table):
    found = SpectralLDA(3, n_splits=0, refine=0).fit(table).topic_table()
    assert list(found.columns) == ["share", "words"]


@pytest.mark.parametrize("columns", [60, 100, 160])
def test_the_table_fits_the_terminal(model, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = repr(model.topic_table()).splitlines()
    assert len(lines) == 7
    assert max(map(len, lines)) <= max(columns, 90)
    assert "%" in lines[1]
    assert repr(model.topic_table()[["share"]])
    assert repr(model.topic_table().iloc[:0])
    assert model.top_words(10)[0, -1] in model.topic_table().to_html()
    assert type(model.topic_table().to_dict("records")[0]["share"]) is float


def test_document_table(model, table):
    found = model.document_table(table[:30])
    assert list(found.index) == list(table.index[:30])
    assert list(found.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(found.to_numpy(), model.transform(table[:30]))
    counts = table[:2].to_numpy()
    named = model.set_output(transform="default").document_table(table[:2], names=["one", "other"])
    assert list(named.index) == ["one", "other"]
    assert list(AnchorTopics(2, n_splits=0, refine=0).fit(table.to_numpy()).document_table(counts).index) == [0, 1]
    with pytest.raises(LatentiaError, match="names: expected one for each of 2 documents; there are 1"):
        model.document_table(table[:2], names=["one"])


def test_documents_keep_their_names(table):
    texts = Texts(["red apple pear", "blue sky bird", "red pear"] * 30, [f"file {i}" for i in range(90)], "here")
    model = SingleTopicModel(2, n_splits=0).fit(texts)
    assert list(model.document_table(texts).index[:2]) == ["file 0", "file 1"]
    series = pandas.Series(texts.texts[:3], index=["a", "b", "c"])
    assert list(model.document_table(series).index) == ["a", "b", "c"]


def test_topics_of_a_word(model):
    word = model.top_words(1)[2, 0]
    found = model.find_topics(word)
    assert found.index[0] == 2
    assert found["rank"].iloc[0] == 1
    assert found["probability"].is_monotonic_decreasing
    assert found["probability"].sum() == pytest.approx(1)
    held = model._shares() * model.components_[:, WORDS.index(word)]
    np.testing.assert_allclose(found["probability"].sort_index(), held / held.sum())
    assert found.equals(model.find_topics(WORDS.index(word)))
    assert found.equals(model.find_topics(word.upper()))
    assert len(model.find_topics(word, 2)) == 2
    both = model.find_topics([word, model.top_words(1)[4, 0]], n=2)
    assert set(both.index) == {2, 4}
    assert both["probability"].sum() == pytest.approx(
        sum(model.find_topics(model.top_words(1)[k, 0]).loc[[2, 4], "probability"].sum() for k in (2, 4)) / 2
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("wordaab", "Similar words: .*wordaa"),
        (None, "Expected a list"),
        ("zzz", "not in the vocabulary \\(200 words\\)\\.$"),
        (200, "columns are 0 to 199"),
        (-1, "columns are 0 to 199"),
        ([], "no words were given"),
    ],
)
def test_an_unknown_word(model, word, message):
    with pytest.raises(LatentiaError, match=message):
        model.find_topics(word)


def test_words_by_column_only(table):
    model = SpectralLDA(3, n_splits=0, refine=0).fit(table.to_numpy())
    assert len(model.find_topics(5)) == 3
    with pytest.raises(LatentiaError, match="knows columns only"):
        model.find_topics("wordaa")


def test_tables_without_pandas_read_as_those_of_pandas(model, table, monkeypatch):
    frames = [model.topic_table(4), model.find_topics("wordaa", 3)]
    counts = table.to_numpy()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pandas", None)
        plain = [model.topic_table(4), model.find_topics("wordaa", 3)]
        with pytest.raises(MissingExtraError, match="pip install pandas"):
            model.document_table(counts)
    for frame, found in zip(frames, plain, strict=True):
        assert not isinstance(found, pandas.DataFrame)
        assert repr(found) == repr(frame)
        assert found.shape == frame.shape
        assert len(found) == len(frame)
        for names in (list, lambda rows: list(rows.columns), lambda rows: list(rows.index)):
            assert names(found) == names(frame)
        for (topic, row), (same_topic, same_row) in zip(found.iterrows(), frame.iterrows(), strict=True):
            assert topic == same_topic
            assert row == dict(same_row)
        assert list(found["words"]) == list(frame["words"])
        assert len(found["words"]) == len(frame)
        assert found["words"][found.index[-1]] == frame["words"][frame.index[-1]]
        assert repr(found[["words"]].head(2)) == repr(frame[["words"]].head(2))


# --- merging --------------------------------------------------------------------------------------------------------


def test_merged_topics(model, table, tmp_path):
    before = model.components_.copy()
    merged = model.merge([[4, 1], [2, 5]])
    np.testing.assert_array_equal(model.components_, before)
    shares = model._shares()
    assert merged.n_components == 4
    for k, part in enumerate(([0], [1, 4], [2, 5], [3])):
        assert merged._shares()[k] == pytest.approx(shares[part].sum())
        np.testing.assert_allclose(merged.components_[k], shares[part] @ model.components_[part] / shares[part].sum())
        error = shares[part] @ model.evidence_.component_errors[part] / shares[part].sum()
        assert merged.evidence_.component_errors[k] == pytest.approx(error)
    assert "before merging" in merged.evidence_["merged topics"].meaning
    assert merged.evidence_.expected_error == pytest.approx(merged.evidence_.component_errors.mean())
    assert list(merged.topic_table().columns) == list(model.topic_table().columns)
    assert merged.get_feature_names_out().shape == (4,)
    together = np.column_stack(
        [model.transform(table[:200])[:, part].sum(axis=1) for part in ([0], [1, 4], [2, 5], [3])]
    )
    assert np.abs(merged.transform(table[:200]) - together).mean() < 0.03
    assert np.isfinite(merged.score(table[:200]))
    loaded = latentia.load(latentia.save(merged, tmp_path / "merged"))
    np.testing.assert_array_equal(loaded.transform(table[:9]), merged.transform(table[:9]))
    assert merged.evidence_.stability(table, n_splits=1).shape == (4,)


def test_merging_by_anchors_keeps_what_anchors_need(table):
    model = AnchorTopics(6).fit(table)
    merged = model.merge([[0, 3]])
    np.testing.assert_allclose(merged.dirichlet_.sum(), model.dirichlet_.sum())
    np.testing.assert_allclose(merged.topic_covariance_.sum(axis=1), merged.prevalence_)
    assert merged.anchor_words_[0] == model.anchor_words_[0] + model.anchor_words_[3]
    assert merged.anchors_[0] in model.anchors_[[0, 3]]
    again = merged.reanchor(replace={1: None})
    assert again.components_.shape == (4, 200)
    whole = AnchorTopics(6, refine=0).fit(table)  # whose topics come from the anchors
    kept = whole.merge([[0, 3]]).reanchor(replace={1: whole.anchor_words_[1]})
    assert nearest_distances(kept.components_, whole.merge([[0, 3]]).components_).mean() < 0.2


def test_all_or_none_become_one(model):
    assert model.merge([range(6)]).components_.shape == (1, 200)
    np.testing.assert_allclose(model.merge([]).components_, model.components_)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], "a list of lists"),
        (3, "a list of lists"),
        ([[0, 6]], "whole numbers from 0 to 5"),
        ([[0, -1]], "whole numbers from 0 to 5"),
        ([["a", "b"]], "whole numbers from 0 to 5"),
        ([[]], "whole numbers from 0 to 5"),
        ([[0, 1], [1, 2]], "topic 1 is in two groups"),
    ],
)
def test_groups_that_are_none(model, groups, message):
    with pytest.raises(LatentiaError, match=message):
        model.merge(groups)


# --- real text ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_no_topic_of_newsgroups_begins_with_a_stop_word(data, tmp_path):
    folder = data / "newsgroups20"
    counts = Blocks.from_files(folder / "docword-train.txt.gz", cache=tmp_path)
    words = readers.read_lines(folder / "vocab.txt")
    model = AnchorTopics(20, vocabulary=words, n_splits=0).fit(counts)
    assert not stop_words("english") & set(model.top_words(1)[:, 0])
    assert stop_words("english") & set(model.top_words(1, relevance=1)[:, 0])
