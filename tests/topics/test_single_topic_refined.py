"""SingleTopicModel, refined: documents are asked where they belong without themselves."""

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.likelihood import MultinomialMixtureUpdate, over, refine
from latentia.metrics import nearest_distances, recovery_errors
from latentia.passes import Blocks, write_cache
from latentia.topics import SingleTopicModel


def short_texts(n, k=10, seed=300, **options):
    options = {"n_words": 50 * k, "length": 5} | options
    return planted.topic_corpus(n, n_topics=k, proportions="single", random_state=seed, **options)


def error(model, corpus):
    return recovery_errors(model.components_, corpus.topics).mean()


def of_one_each(rng, topics, n, length):
    """Counts of documents of one topic each."""
    return rng.multinomial(rng.poisson(length, n), topics[rng.choice(len(topics), n)]).astype(float)


@pytest.fixture(scope="module")
def texts():
    return short_texts(2000)


@pytest.fixture(scope="module")
def model(texts):
    return SingleTopicModel(10).fit(texts.counts)


def test_refining_is_the_default_and_settles(texts, model):
    assert 2 <= len(model.refinement_) < 60
    assert model.n_passes_ == 4 + len(model.refinement_)
    assert model.evidence_["refinement has converged"].holds
    again = SingleTopicModel(10, refine=len(model.refinement_) + 20, n_splits=0).fit(texts.counts)
    assert abs(error(again, texts) - error(model, texts)) < 0.01


def test_topics_of_short_texts_are_as_good_as_with_known_ones(texts, model):
    labels = texts.proportions.argmax(axis=1)
    known = np.vstack([texts.counts[labels == k].sum(axis=0) for k in range(10)]).astype(float)
    best = recovery_errors(known / known.sum(axis=1, keepdims=True), texts.topics).mean()
    assert error(model, texts) < 1.1 * best
    assert error(model, texts) < 0.85 * error(SingleTopicModel(10, refine=0, n_splits=0).fit(texts.counts), texts)
    agree = model.predict(texts.counts)
    assert np.mean([np.bincount(labels[agree == k]).max() for k in range(10)]) > 0.9 * 200


def test_topics_that_overlap_are_better_than_those_of_plain_em():
    """Plain EM keeps documents where they are: its topics are farther from the true ones."""
    rng = np.random.default_rng(301)
    topics = 0.6 * rng.dirichlet(np.full(500, 0.1)) + 0.4 * rng.dirichlet(np.full(500, 0.05), 10)
    counts, new = of_one_each(rng, topics, 2500, 10), of_one_each(rng, topics, 1000, 10)
    start = SingleTopicModel(10, refine=0, n_splits=0).fit(counts)
    refined = SingleTopicModel(10, n_splits=0).fit(counts)
    update = MultinomialMixtureUpdate(*start._model(), prior=5 * start.word_frequencies_)
    plain = refine(update, over(Blocks.from_array(counts)), "auto").values[0]
    errors = [recovery_errors(found, topics).mean() for found in (refined.components_, plain, start.components_)]
    assert errors[0] < 0.8 * min(errors[1:])
    assert refined.score(new) > start.score(new)


@pytest.mark.parametrize(("n", "k", "length"), [(500, 5, 20), (3000, 5, 60), (3000, 15, 15)])
def test_never_worse_than_the_theorem_alone(n, k, length):
    corpus = short_texts(n, k, length=length)
    plain, refined = (SingleTopicModel(k, refine=r, n_splits=0).fit(corpus.counts) for r in (0, "auto"))
    assert error(refined, corpus) <= 1.03 * error(plain, corpus)
    assert refined.score(corpus.counts) > plain.score(corpus.counts)


def test_the_same_bits_for_any_number_of_threads_and_from_files(texts, model, tmp_path):
    write_cache(tmp_path / "texts", iter([(texts.counts,)]))
    for other in (
        SingleTopicModel(10, n_jobs=2).fit(texts.counts),
        SingleTopicModel(10).fit(Blocks.from_files(tmp_path / "texts")),
        SingleTopicModel(10).fit(texts.counts.toarray()),
    ):
        assert (other.components_ == model.components_).all()
        assert (other.refinement_ == model.refinement_).all()
        assert (other.evidence_.component_errors == model.evidence_.component_errors).all()


def test_blocks_of_another_size_give_nearly_the_same(texts, model):
    other = SingleTopicModel(10).fit(Blocks.from_array(texts.counts, block_rows=300))
    assert nearest_distances(model.components_, other.components_).max() < 0.05


def test_another_seed_gives_the_same_topics(texts, model):
    other = SingleTopicModel(10, n_splits=0, random_state=7).fit(texts.counts)
    assert nearest_distances(model.components_, other.components_).max() < 0.05


@pytest.mark.parametrize("seed", [300, 301, 302])
def test_expected_errors_are_true(seed):
    corpus = short_texts(3000, length=8, seed=seed)
    model = SingleTopicModel(10).fit(corpus.counts)
    true = nearest_distances(model.components_, corpus.topics).mean()
    assert 1 / 1.3 < true / model.evidence_.component_errors.mean() < 1.3
    assert model.evidence_.grade == "supported"


def test_documents_without_words_and_of_one_word_do_no_harm(texts, model):
    empty = sparse.csr_array((500, texts.counts.shape[1]))
    with pytest.warns(UserWarning, match="fewer than two words"):
        other = SingleTopicModel(10, n_splits=0).fit(sparse.vstack([texts.counts, empty], format="csr"))
    assert nearest_distances(model.components_, other.components_).max() < 0.05
    np.testing.assert_allclose(np.sort(other.weights_), np.sort(model.weights_), atol=0.01)


def test_more_topics_than_there_are_collapse_and_are_not_supported():
    rng = np.random.default_rng(302)
    topics = rng.dirichlet(np.full(300, 0.1), 4)
    model = SingleTopicModel(8).fit(of_one_each(rng, topics, 5000, 20))
    assert model.evidence_.grade not in ("supported", "with care")
    assert 3 <= model.evidence_["topics that predict nothing"].measured <= 5
    assert model.evidence_["topics that predict nothing"] in model.evidence_.failed


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
@pytest.mark.parametrize("length", [6, 30])
def test_nothing_but_word_frequencies_is_not_supported(length):
    rng = np.random.default_rng(303)
    model = SingleTopicModel(4).fit(of_one_each(rng, rng.dirichlet(np.full(200, 0.5), 1), 1200, length))
    assert model.evidence_.grade == "not supported"


def test_mixed_documents_are_seen_and_widen_the_errors():
    rng = np.random.default_rng(304)
    topics = rng.dirichlet(np.full(200, 0.1), 5)
    shares = rng.dirichlet(np.full(5, 0.2), 4000)
    model = SingleTopicModel(5).fit(rng.multinomial(rng.poisson(20, 4000), shares @ topics).astype(float))
    alike = model.evidence_["one topic a document"]
    assert alike in model.evidence_.failed
    true = nearest_distances(model.components_, topics).mean()
    assert 0.5 < true / model.evidence_.expected_error < 2


def test_errors_that_are_not_measured_are_not_supported(texts):
    model = SingleTopicModel(10, n_splits=0).fit(texts.counts)
    assert model.evidence_.component_errors is None
    assert not model.evidence_.holds


def test_one_topic_is_the_words_of_all_documents(texts):
    model = SingleTopicModel(1).fit(texts.counts)
    counts = np.asarray(texts.counts.sum(axis=0)).ravel()
    assert np.abs(model.components_[0] - counts / counts.sum()).sum() < 0.02
