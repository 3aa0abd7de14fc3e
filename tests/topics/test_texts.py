"""Fits on texts: what counts their words, and names that come through pipelines."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import latentia
from latentia import LatentiaError
from latentia.datasets import Texts, planted
from latentia.exceptions import DroppedDataWarning, FileNotice
from latentia.metrics import recovery_errors
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA
from latentia.words import WordVectorizer

MODELS = [AnchorTopics(5), SpectralLDA(5), SingleTopicModel(5)]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def spelt(number):
    """A word of letters for a number."""
    return "word" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}")


@pytest.fixture(scope="module")
def planted_corpus():
    return planted.topic_corpus(1200, n_topics=5, n_words=120, length=60, concentration=0.1, random_state=3)


@pytest.fixture(scope="module")
def texts(planted_corpus):
    """The documents, with stop words among their words."""
    names = np.array([spelt(i) for i in range(120)])
    counts = planted_corpus.counts.toarray()
    return [f"The {' and '.join(np.repeat(names, row))}." for row in counts]


@pytest.fixture(scope="module")
def model(texts):
    return AnchorTopics(5).fit(texts)


@every
def test_texts_give_what_their_counts_give(model, texts):
    vectorizer = WordVectorizer()
    counts = vectorizer.fit_transform(texts)
    by_texts, by_counts = clone(model).fit(texts), clone(model).fit(counts)
    np.testing.assert_array_equal(by_texts.components_, by_counts.components_)
    np.testing.assert_array_equal(by_texts.evidence_.component_errors, by_counts.evidence_.component_errors)
    np.testing.assert_array_equal(by_texts.transform(texts), by_counts.transform(counts))
    np.testing.assert_array_equal(by_texts.transform(counts), by_counts.transform(counts))
    assert by_texts.score(texts) == by_counts.score(counts)
    if hasattr(model, "perplexity"):
        assert by_texts.perplexity(texts) == by_counts.perplexity(counts)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(by_texts.predict(texts), by_counts.predict(counts))
    assert type(by_texts.vectorizer_) is WordVectorizer
    assert not hasattr(by_counts, "vectorizer_")
    errors = by_texts.evidence_.stability(texts, n_splits=1)
    np.testing.assert_array_equal(errors, by_counts.evidence_.stability(counts, n_splits=1))


def test_topics_of_texts_are_recovered(model, planted_corpus):
    places = [
        int("".join(str(ord(c) - ord("a")) for c in word[4:])) for word in model.vectorizer_.get_feature_names_out()
    ]
    truth = planted_corpus.topics[:, places]  # without words in most documents
    assert recovery_errors(model.components_, truth / truth.sum(axis=1, keepdims=True)).mean() < 0.15


def test_forms_of_texts(model, texts):
    pandas = pytest.importorskip("pandas")
    same = model.transform(texts)
    forms = [tuple(texts), np.array(texts), pandas.Series(texts), Texts(texts, [str(i) for i in range(1200)], "here")]
    for form in forms:
        np.testing.assert_array_equal(model.transform(form), same)
    np.testing.assert_array_equal(AnchorTopics(5, n_splits=0).fit(forms[-1]).components_, model.components_)
    np.testing.assert_array_equal(AnchorTopics(5, n_splits=0).fit(X=texts).components_, model.components_)


def test_a_vectorizer_of_ones_own_is_copied(texts):
    own = CountVectorizer(min_df=3, stop_words=["the", "and"])
    model = AnchorTopics(5, vectorizer=own, n_splits=0).fit(texts)
    assert not hasattr(own, "vocabulary_")
    assert model.vectorizer_.min_df == 3
    assert model.anchor_words_[0][0] in model.vectorizer_.vocabulary_
    nameless = HashingVectorizer(norm=None, alternate_sign=False, n_features=64)
    assert SingleTopicModel(2, vectorizer=nameless, n_splits=0).fit(texts).top_words(1)[0, 0].startswith("word ")


def test_a_second_fit_on_counts_forgets_the_vectorizer(texts):
    model = AnchorTopics(5, n_splits=0).fit(texts)
    model.fit(WordVectorizer().fit_transform(texts))
    assert not hasattr(model, "vectorizer_")
    with pytest.raises(LatentiaError, match="Expected counts in the columns of the fit"):
        model.transform(texts)


def test_texts_are_counted_once_for_all_numbers_of_topics(texts):
    class Counting(CountVectorizer):
        fits = 0

        def fit_transform(self, raw_documents, y=None):
            Counting.fits += 1
            return super().fit_transform(raw_documents, y)

    model = AnchorTopics([2, 3, 5], vectorizer=Counting(stop_words=["the", "and"]), n_splits=1, refine=0).fit(texts)
    assert Counting.fits == 1
    assert model.transform(texts[:2]).shape == (2, model.n_components_)


def test_words_of_the_columns_are_those_that_are_counted(texts):
    words = [spelt(i) for i in range(60)]
    assert AnchorTopics(3, vocabulary=words, n_splits=0).fit(texts).n_features_in_ == 60
    with pytest.raises(LatentiaError, match="both are given"):
        AnchorTopics(3, vocabulary=words, vectorizer=CountVectorizer()).fit(texts)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("one text", "got a single text"),
        ([["red", "apple"]] * 9, "lists of words"),
        (["red apple", None] * 9, "Text 1 is missing"),
        (["今天天气很好我们去公园散步"] * 9, "Segment them by"),
        (["the", "of and"] * 9, "no words remain of 18 texts"),
        (iter(["red"]), "can be read only once"),
    ],
)
@every
def test_what_is_nearly_texts_is_refused(model, wrong, message):
    with pytest.raises(LatentiaError, match=message):
        clone(model).fit(wrong)


def test_a_table_with_texts_says_what_to_give():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"body": ["red apple", "blue pear"] * 9, "year": range(18)})
    with pytest.raises(LatentiaError, match=r"Give the column, table\['body'\]"):
        AnchorTopics(2).fit(table[["body"]])
    with pytest.raises(LatentiaError, match="column 'body'.* one column of a data frame"):
        AnchorTopics(2).fit(table)


def test_a_vectorizer_that_is_none():
    for wrong in ("english", CountVectorizer, 3):
        with pytest.raises(LatentiaError, match="expected a vectorizer of texts"):
            AnchorTopics(2, vectorizer=wrong).fit(["red apple"])


def test_texts_without_known_words(model):
    with pytest.warns(DroppedDataWarning, match="none of the"):
        shares = model.transform(["nothing of it"])
    np.testing.assert_allclose(shares, [model.dirichlet_ / model.dirichlet_.sum()])


# --- names through pipelines ----------------------------------------------------------------------------------------


def words_of(model):
    return {word for words in model.top_words(5) for word in words}


def test_a_pipeline_knows_its_words(texts):
    vectorizer = CountVectorizer(stop_words=["the", "and"])
    pipeline = make_pipeline(vectorizer, AnchorTopics(5, n_splits=0)).fit(texts)
    assert words_of(pipeline[-1]) <= set(vectorizer.vocabulary_)
    assert all(word in vectorizer.vocabulary_ for words in pipeline[-1].anchor_words_ for word in words)
    assert all(re.fullmatch(r"topic\d(_word\w{3}){3}", name) for name in pipeline.get_feature_names_out())
    longer = make_pipeline(
        CountVectorizer(),
        TfidfTransformer(use_idf=False, norm=None),
        VarianceThreshold(),
        SingleTopicModel(3, n_splits=0),
    )
    assert words_of(longer.fit(texts)[-1]) <= {*vectorizer.vocabulary_, "the", "and"}


def test_a_step_in_the_middle_knows_its_words(texts):
    pipeline = make_pipeline(CountVectorizer(), SpectralLDA(3, n_splits=0), LogisticRegression())
    pipeline.fit(texts, np.arange(len(texts)) % 2)
    assert spelt(0) in set(pipeline[1]._column_names)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_search_knows_its_words(texts, n_jobs):
    model = AnchorTopics(2, anchors=[spelt(3), spelt(40)], n_splits=0, refine=0)  # by name, in every fold
    search = GridSearchCV(
        make_pipeline(CountVectorizer(), model),
        {"anchortopics__runoff_df": [2, 3]},
        cv=2,
        n_jobs=n_jobs,
        error_score="raise",
    ).fit(texts[:400])
    assert search.best_estimator_[-1].anchor_words_ == [[spelt(3)], [spelt(40)]]


def test_made_up_names_are_none(texts):
    counts = CountVectorizer().fit_transform(texts)
    model = make_pipeline(TfidfTransformer(use_idf=False, norm=None), AnchorTopics(3, n_splits=0)).fit(counts)[-1]
    assert model._column_names is None
    assert list(model.get_feature_names_out()) == ["anchortopics0", "anchortopics1", "anchortopics2"]
    given = model.get_feature_names_out([spelt(i) for i in range(counts.shape[1])])
    assert given[0].startswith("topic0_word")


def test_texts_in_a_column_transformer(texts):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"body": texts, "year": range(len(texts))})
    parts = ColumnTransformer([("topics", AnchorTopics(3, n_splits=0), "body"), ("year", "passthrough", ["year"])])
    found = parts.set_output(transform="pandas").fit_transform(table)
    assert found.shape == (len(texts), 4)
    assert found.columns[0].startswith("topics__topic0_word")


# --- saving ---------------------------------------------------------------------------------------------------------


def test_the_vectorizer_is_saved_by_its_words(model, texts, tmp_path):
    loaded = latentia.load(latentia.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(loaded.transform(texts), model.transform(texts))
    assert loaded.vectorizer_.vocabulary_ == model.vectorizer_.vocabulary_
    own = WordVectorizer("german", stop_words=["worda"], min_df=2, ngram_range=(1, 2))
    model = AnchorTopics(3, vectorizer=own, n_splits=0).fit(texts)
    loaded = latentia.load(latentia.save(model, tmp_path / "own"))
    assert loaded.vectorizer.get_params() == own.get_params()
    np.testing.assert_array_equal(loaded.transform(texts), model.transform(texts))
    np.testing.assert_array_equal(clone(loaded).fit(texts).components_, model.components_)


def test_a_foreign_vectorizer_is_not_saved(texts, tmp_path):
    model = AnchorTopics(3, vectorizer=CountVectorizer(stop_words=["the", "and"]), n_splits=0).fit(texts)
    with pytest.warns(FileNotice, match="CountVectorizer that counts the words is not saved"):
        path = latentia.save(model, tmp_path / "model")
    loaded = latentia.load(path)
    with pytest.raises(LatentiaError, match=r"a CountVectorizer counted, which is not saved with it. Give the counts"):
        loaded.transform(texts)
    with pytest.raises(LatentiaError, match="Set vectorizer= to one"):
        clone(loaded).fit(texts)
    counts = model.vectorizer_.transform(texts)
    np.testing.assert_array_equal(loaded.transform(counts), model.transform(texts))
    latentia.save(loaded, path)
    again = latentia.load(path)
    again.vectorizer_ = model.vectorizer_
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))


@pytest.mark.parametrize("damage", ["words", "twice", "parameter"])
def test_a_damaged_vectorizer_is_refused(model, tmp_path, damage):
    model = clone(model).set_params(n_splits=0).fit(["red apple pear", "blue sky bird", "red pear"] * 20)
    words = list(model.vectorizer_.vocabulary_)
    if damage == "words":
        del model.vectorizer_.vocabulary_[words[0]]
    elif damage == "twice":
        model.vectorizer_.vocabulary_ = {f"a{' ' * i}": 0 for i in range(len(words) + 1)}
    else:
        model.vectorizer_.min_df = -1
    with pytest.raises(LatentiaError, match=r"m\.npz"):
        latentia.load(latentia.save(model, tmp_path / "m"))
