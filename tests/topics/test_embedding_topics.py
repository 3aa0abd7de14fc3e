"""Topics of documents with embeddings: recovery, evidence, inputs, what is kept."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import normalized_mutual_info_score

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import LatentiaWarning, MissingExtraError
from latentia.passes import Blocks
from latentia.topics import EmbeddingTopics

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


@pytest.fixture(scope="module")
def data():
    return planted.embedded_corpus(800, n_topics=4, n_words=120, n_features=12, random_state=2)


@pytest.fixture(scope="module")
def model(data):
    return EmbeddingTopics(4).fit(data.texts, data.embeddings)


def test_groups_and_their_words_are_recovered(data, model):
    found = model.predict(data.texts, data.embeddings)
    assert normalized_mutual_info_score(data.labels, found) > 0.9
    words = [data.vocabulary.index(word) for word in model.vectorizer_.get_feature_names_out()]
    true = data.topics[:, words]
    assert cdist(model.components_, true, "cityblock").min(axis=1).max() < 0.5
    assert model.evidence_.holds
    assert model.recall_.min() > 0.9


def test_any_seed_gives_the_same_topics(data, model):
    other = EmbeddingTopics(4, random_state=7).fit(data.texts, data.embeddings)
    np.testing.assert_array_equal(other.components_, model.components_)


@pytest.mark.parametrize("seed", range(4))
def test_expected_errors_are_of_the_size_of_the_true_ones(seed):
    data = planted.embedded_corpus(600, 4, 80, 10, random_state=seed)
    many = planted.embedded_corpus(20_000, 4, 80, 10, random_state=seed)
    model = EmbeddingTopics(4).fit(data.counts, data.embeddings)
    found = model.directions(None, many.embeddings)
    true = np.array([found[many.labels == k].mean(axis=0) for k in range(4)])
    assert 0.5 < cdist(model.means_, true).min(axis=1).mean() / model.evidence_.expected_error < 2


def test_words_of_other_documents_do_not_tell_the_topics(data):
    shuffled = np.random.default_rng(0).permutation(data.embeddings)
    model = EmbeddingTopics(4).fit(data.texts, shuffled)
    assert model.evidence_["words identify the topics"].holds is False
    assert model.evidence_.grade == "not supported"
    assert "same order" in model.evidence_.advice


def test_one_cloud_is_not_supported():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(20, np.full(50, 0.02), 600)
    model = EmbeddingTopics(4).fit(counts, 3 + rng.standard_normal((600, 15)))
    assert model.evidence_.grade == "not supported"


def test_the_number_of_topics_is_found(data):
    model = EmbeddingTopics(range(2, 8, 2)).fit(data.counts, data.embeddings)
    assert model.n_components_ == 4


def test_independent_sources():
    rng = np.random.default_rng(1)
    strength = rng.gamma(0.3, 1.0, (3000, 3))
    embeddings = strength @ rng.standard_normal((3, 8)) + 0.05 * rng.standard_normal((3000, 8)) + 9 * np.eye(8)[0]
    words = np.kron(np.eye(3), np.full(10, 0.1))
    shares = (strength + 0.01) / (strength + 0.01).sum(axis=1, keepdims=True)
    model = EmbeddingTopics(3, method="ica", n_splits=0).fit(rng.multinomial(30, shares @ words), embeddings)
    blocks = model.word_columns(5) // 10
    assert (blocks == blocks[:, :1]).all()
    assert sorted(blocks[:, 0]) == [0, 1, 2]


def test_texts_counts_blocks_and_embedders_give_the_same(data, model):
    counts = model.counted(data.texts)
    by_counts = EmbeddingTopics(4).fit(Blocks.from_array(counts, data.embeddings))
    embedded = EmbeddingTopics(4, embedder=lambda texts: data.embeddings[: len(texts)]).fit(data.texts)
    for other in (by_counts, embedded):
        np.testing.assert_array_equal(other.components_, model.components_)
    np.testing.assert_array_equal(
        embedded.transform(data.texts[:9]), model.transform(data.texts[:9], data.embeddings[:9])
    )
    np.testing.assert_array_equal(embedded.fit_predict(data.texts), model.predict((data.texts, data.embeddings)))


def test_a_saved_model_has_its_groups_and_not_its_embedder(data, model, tmp_path):
    function = EmbeddingTopics(4, embedder=lambda texts: data.embeddings).fit(data.texts)
    with pytest.warns(LatentiaWarning, match="embeds the texts is not saved"):
        loaded = latentia.load(latentia.save(function, tmp_path / "model"))
    assert loaded.embedder is None
    np.testing.assert_array_equal(loaded.transform(None, data.embeddings), model.transform(None, data.embeddings))


def test_merged_topics_have_the_sum_of_the_shares(data, model):
    merged = model.merge([[0, 2]])
    shares = model.transform(None, data.embeddings)
    np.testing.assert_allclose(
        merged.transform(None, data.embeddings),
        np.column_stack([shares[:, 0] + shares[:, 2], shares[:, 1], shares[:, 3]]),
    )
    with pytest.raises(LatentiaError, match="have not been merged"):
        merged.effects((data.texts, data.embeddings), "~ x", {"x": data.labels})


def test_effects_on_shares(data, model):
    pytest.importorskip("formulaic")
    of = model.predict(None, data.embeddings)
    x = (of == 1).astype(float)
    frame = model.effects((data.texts, data.embeddings), "~ x", {"x": x}).to_frame()
    row = frame[(frame["term"] == "x") & (frame["component"] == 1)].iloc[0]
    assert row["low"] > 0.8


def test_a_report_of_texts_and_embeddings(data, model, tmp_path):
    page = model.report(tmp_path / "report.html", data.texts, data.embeddings).read_text("utf-8")
    assert model.top_words(3)[0, 0] in page
    assert model.summary().tables["components"].rows()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (lambda data: (data.texts,), "There are no embeddings"),
        (lambda data: (data.texts, data.embeddings[:5]), "the same rows in the same order"),
        (lambda data: (data.texts, data.embeddings[:, 0]), "embeddings"),
        (lambda data: (data.texts, np.where(data.embeddings > 3, np.nan, data.embeddings)), "NaN"),
        (lambda data: (Blocks.from_array(data.counts),), "second part"),
        (lambda data: (data.texts[:3], data.embeddings[:3]), "at most"),
    ],
)
def test_what_cannot_be_fitted_says_why(data, arguments, said):
    with pytest.raises(LatentiaError, match=said):
        EmbeddingTopics(4).fit(*arguments(data))


def test_embeddings_of_another_width(data, model):
    with pytest.raises(LatentiaError, match="embeddings of 12 columns, as in the fit; they have 3"):
        model.predict(None, data.embeddings[:, :3])


def test_models_of_other_packages(data, monkeypatch):
    class Static:
        @classmethod
        def from_pretrained(cls, name):
            assert name == "some/model"
            return cls()

        def encode(self, texts):
            return data.embeddings[: len(texts)]

    class Fast(Static):
        def __init__(self, model_name=None):
            assert model_name == "some/model"

        def embed(self, texts):
            return iter(self.encode(texts))

    monkeypatch.setitem(sys.modules, "model2vec", SimpleNamespace(StaticModel=type("S", (Static,), {})))
    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=Fast))
    plain = EmbeddingTopics(4, n_splits=0).fit(data.texts, data.embeddings)
    for package in ("model2vec", "fastembed"):
        model = EmbeddingTopics(4, n_splits=0, embedder=f"{package}:some/model").fit(data.texts)
        np.testing.assert_array_equal(model.components_, plain.components_)


def test_a_package_that_is_missing_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(MissingExtraError, match="embeddings"):
        EmbeddingTopics(4, embedder="model2vec:some/model").fit(data.texts)
    with pytest.raises(LatentiaError, match="a row for each of 800 texts"):
        EmbeddingTopics(4, embedder=lambda texts: np.ones(3)).fit(data.texts)


def test_names_are_those_of_a_function(data, model):
    shares = model.transform(None, data.embeddings)
    asked = []

    def namer(words, documents):
        asked.append(documents)
        return words[0].upper()

    names = model.name_topics(namer, data.texts, shares, n_words=3, n_documents=2)
    assert names == [word.upper() for word in model.top_words(1)[:, 0]]
    assert asked[1][0] == data.texts[shares[:, 1].argmax()]
    with pytest.raises(LatentiaError, match="shares: expected a row for each of 3 texts"):
        model.name_topics(namer, data.texts[:3], shares)
