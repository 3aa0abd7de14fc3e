"""SingleTopicModel and SpectralLDA: recovery, use, evidence, bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, NonIntegerCountWarning
from latentia.metrics import nearest_distances, recovery_errors
from latentia.passes import Blocks
from latentia.topics import SingleTopicModel, SpectralLDA

MODELS = [SingleTopicModel, SpectralLDA]


@pytest.fixture(scope="module")
def single():
    return planted.topic_corpus(5000, n_topics=10, n_words=1000, length=20, proportions="single", random_state=0)


@pytest.fixture(scope="module")
def mixed():
    return planted.topic_corpus(5000, n_topics=10, n_words=1000, length=100, concentration=0.1, random_state=0)


def test_single_topics_are_as_good_as_with_known_topics(single):
    labels = single.proportions.argmax(axis=1)
    known = np.vstack([single.counts[labels == k].sum(axis=0) for k in range(10)]).astype(float)
    known /= known.sum(axis=1, keepdims=True)
    best = recovery_errors(known, single.topics).mean()
    plain, refined = (SingleTopicModel(10, refine=refine).fit(single.counts) for refine in (0, 5))
    assert recovery_errors(plain.components_, single.topics).mean() <= 1.1 * best
    assert recovery_errors(refined.components_, single.topics).mean() <= 1.05 * best
    assert plain.n_passes_ == 4
    matched = refined.predict(single.counts)
    purity = np.mean([np.bincount(labels[matched == k]).max() for k in range(10)]) / 500
    assert purity > 0.9
    np.testing.assert_allclose(np.sort(refined.weights_), np.sort(single.truth.prevalence), atol=0.02)


def test_lda_finds_alpha0_and_topics(mixed):
    plain = SpectralLDA(10, refine=0).fit(mixed.counts)
    given = SpectralLDA(10, alpha0=1.0, refine=0).fit(mixed.counts)
    refined = SpectralLDA(10).fit(mixed.counts)
    assert 0.8 < plain.alpha0_ < 1.25
    assert plain.dirichlet_.sum() == pytest.approx(plain.alpha0_)
    assert given.alpha0_ == 1.0
    errors = [recovery_errors(m.components_, mixed.topics).mean() for m in (plain, given, refined)]
    assert max(errors) < 0.1
    assert errors[2] < 0.85 * errors[0]


@pytest.mark.parametrize("alpha0", [0.2, 4.0])
def test_other_alpha0(alpha0):
    corpus = planted.topic_corpus(8000, n_topics=8, n_words=500, length=100, concentration=alpha0 / 8, random_state=2)
    model = SpectralLDA(8).fit(corpus.counts)
    assert model.alpha0_ == pytest.approx(alpha0, rel=0.3)


def test_refining_short_documents_stops_in_time_and_many_sweeps_do_little_harm():
    corpus = planted.topic_corpus(10_000, n_topics=10, n_words=500, length=20, concentration=0.1, random_state=1)
    none, few, many, auto = (
        recovery_errors(SpectralLDA(10, refine=r, n_splits=0).fit(corpus.counts).components_, corpus.topics).mean()
        for r in (0, 5, 25, "auto")
    )
    assert auto <= 1.05 * few
    assert auto <= 0.85 * none
    assert many <= 0.9 * none


@pytest.mark.parametrize("model", MODELS)
def test_the_same_bits_for_any_input_form_and_number_of_threads(model, mixed):
    counts = mixed.counts[:1500]
    first = model(4, refine=1).fit(counts)
    for other in (
        model(4, refine=1, n_jobs=2).fit(counts),
        model(4, refine=1).fit(counts.toarray()),
        model(4, refine=1).fit(Blocks.from_array(counts)),
    ):
        assert (other.components_ == first.components_).all()
        assert (other.evidence_.component_errors == first.evidence_.component_errors).all()


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_and_use(model, mixed):
    fitted = model(6, vocabulary=[f"w{i}" for i in range(1000)]).fit(mixed.counts)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1)
    assert (fitted.components_ >= 0).all()
    shares = fitted.transform(sparse.vstack([mixed.counts[:5], sparse.csr_array((1, 1000))], format="csr"))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    prior = fitted.weights_ if model is SingleTopicModel else fitted.prevalence_
    np.testing.assert_allclose(shares[-1], prior, rtol=1e-6)
    assert np.isfinite(fitted.score(mixed.counts[:50]))
    counts, _ = fitted.sample(7, length=30)
    assert (counts.sum(axis=1) == 30).all()
    with pytest.raises(LatentiaError, match=r"row 0, column 1 \('w1'\)"):
        fitted.transform(np.eye(3, 1000) - 2 * np.eye(3, 1000, 1))


@pytest.mark.parametrize("model", MODELS)
def test_save_load_and_stability(model, mixed, tmp_path):
    fitted = model(5, n_splits=1).fit(mixed.counts[:2000])
    loaded = latentia.load(latentia.save(fitted, tmp_path / "m"))
    assert (loaded.components_ == fitted.components_).all()
    assert (loaded.transform(mixed.counts[:9]) == fitted.transform(mixed.counts[:9])).all()
    errors = loaded.evidence_.stability(mixed.counts[:2000], n_splits=1)
    assert errors.mean() == pytest.approx(fitted.evidence_.component_errors.mean(), rel=0.6)


@pytest.mark.parametrize("model", MODELS)
def test_evidence(model, single):
    fitted = model(10).fit(single.counts)
    assert fitted.evidence_.holds
    assert fitted.evidence_["rank supported"].measured == 10
    assert fitted.evidence_["tensor noise"].measured > 0
    assert fitted.evidence_["documents used"].measured == 5000
    assert model(10, n_splits=0).fit(single.counts).evidence_.component_errors is None
    hopeless = model(10).fit(single.counts[:150])
    assert not hopeless.evidence_.holds


def test_rank_tells_too_few_from_too_many(single):
    few, many = (SingleTopicModel(k).fit(single.counts).evidence_["rank supported"] for k in (8, 12))
    assert (few.measured, many.measured) == (10, 10)
    assert "mix several" in few.meaning
    assert "fewer patterns above the noise" in many.meaning
    assert not few.holds
    assert not many.holds


def _documents(rng, topics, proportions, length):
    words = proportions @ topics
    return rng.multinomial(rng.poisson(length, len(words)), words).astype(float)


def _errors(model, topics):
    """True and expected errors of the topics, in the mean."""
    return nearest_distances(model.components_, topics).mean(), model.evidence_.component_errors.mean()


@pytest.mark.parametrize("model", MODELS)
def test_documents_without_topics_are_not_supported(model):
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(200, 0.5))
    fitted = model(4).fit(rng.multinomial(rng.poisson(20, 3000), words).astype(float))
    assert fitted.evidence_.grade == "not supported"
    assert fitted.evidence_["better than word frequencies"].measured < 0.05


@pytest.mark.parametrize("model", MODELS)
def test_copied_documents_do_not_make_errors_small(model):
    rng = np.random.default_rng(1)
    topics, shares = rng.dirichlet(np.full(200, 0.1), 4), np.full(4, 0.25)
    proportions = np.eye(4)[rng.choice(4, 300)] if model is SingleTopicModel else rng.dirichlet(shares, 300)
    rows = rng.permutation(np.repeat(np.arange(300), 10))
    true, expected = _errors(model(4).fit(_documents(rng, topics, proportions, 40)[rows]), topics)
    assert 2 / 3 < true / expected < 1.5


def test_documents_with_foreign_words_are_no_single_topics():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(200, 0.1), 5)
    own, other = np.eye(5)[rng.choice(5, 4000)], np.eye(5)[rng.choice(5, 4000)]
    clean = SingleTopicModel(5).fit(_documents(rng, topics, own, 20))
    mixed = SingleTopicModel(5).fit(_documents(rng, topics, 0.8 * own + 0.2 * other, 20))
    assert clean.evidence_["one topic a document"].holds
    assert mixed.evidence_["one topic a document"] in mixed.evidence_.failed
    true, expected = _errors(mixed, topics)
    assert 0.5 < true / expected < 2
    assert expected > 3 * _errors(clean, topics)[1]


def test_proportions_that_are_not_dirichlet_widen_the_errors():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(250, 0.1), 5)
    weights = np.exp(2 * rng.standard_normal((3000, 5)))
    model = SpectralLDA(5, refine=0).fit(_documents(rng, topics, weights / weights.sum(axis=1, keepdims=True), 80))
    preferred = model.evidence_["preferred Dirichlet sum"]
    assert preferred.measured > 2 * model.alpha0_
    assert preferred in model.evidence_.failed
    true, expected = _errors(model, topics)
    assert 0.5 < true / expected < 2


def test_a_wrong_alpha0_is_seen():
    rng = np.random.default_rng(4)
    topics = rng.dirichlet(np.full(250, 0.1), 5)
    counts = _documents(rng, topics, rng.dirichlet(np.full(5, 0.4), 4000), 80)
    told, found = SpectralLDA(5, alpha0=0.3, refine=0).fit(counts), SpectralLDA(5, refine=0).fit(counts)
    assert found.evidence_.holds
    assert not told.evidence_.holds
    true, expected = _errors(told, topics)
    assert 0.5 < true / expected < 2


def test_alpha0_of_documents_of_one_topic_is_small(single):
    assert SpectralLDA(10, n_splits=0).fit(single.counts).alpha0_ < 0.3


@pytest.mark.parametrize("model", MODELS)
def test_too_few_topics_are_not_taken_for_sure_ones(model):
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(300, 0.1), 8)
    proportions = np.eye(8)[rng.choice(8, 4000)] if model is SingleTopicModel else rng.dirichlet(np.full(8, 0.1), 4000)
    fitted = model(4).fit(_documents(rng, topics, proportions, 40))
    assert not fitted.evidence_.holds
    true, expected = _errors(fitted, topics)
    assert true < 2 * expected


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
@pytest.mark.parametrize("model", MODELS)
def test_bad_input(model, single):
    counts = single.counts[:200].toarray()
    with pytest.raises(LatentiaError, match="none of the 5 has two"):
        model(2).fit(np.eye(5))
    with pytest.raises(LatentiaError, match="0 of 40 documents have three words or more"):
        model(2).fit(np.tile(np.eye(4) + np.eye(4, k=1), (10, 1)))
    with pytest.raises(LatentiaError, match=r"n_components=90: 60 documents with \d+ words support at most \d+ topics"):
        model(90).fit(counts[:60])
    with pytest.raises(LatentiaError, match=r"n_components=3\b.* supports at most 1 components"):
        model(3).fit(np.tile([3.0, 5.0, 4.0], (50, 1)))
    with pytest.raises(LatentiaError, match="whole number of at least 1"):
        model(0).fit(counts)
    with pytest.raises(LatentiaError, match="vocabulary has 3 words"):
        model(2, vocabulary=["a", "b", "c"]).fit(counts)
    with pytest.raises(LatentiaError, match="each of the columns 0 to 999"):
        model(2, vocabulary={f"w{i}": i + 1 for i in range(1000)}).fit(counts)
    with pytest.raises(LatentiaError, match="n_splits=4: .* halved in three ways"):
        model(2, n_splits=4).fit(counts)
    with pytest.raises(LatentiaError, match="NaN"):
        model(2).fit(np.where(counts > 0, np.nan, counts))
    with pytest.raises(LatentiaError, match="has 9 words and the model was fitted on 1000|features"):
        model(2).fit(counts).transform(counts[:, :9])


@pytest.mark.parametrize("alpha0", [0, -1.0, np.inf, np.nan, "a", True])
def test_alpha0_must_be_positive(single, alpha0):
    with pytest.raises(LatentiaError, match=f"alpha0={alpha0!r}: expected a number of at least 1e-06"):
        SpectralLDA(2, alpha0=alpha0).fit(single.counts)


def test_a_search_for_alpha0_that_fails_leaves_the_model_as_it_was(mixed):
    model = SpectralLDA(3, n_splits=0).fit(mixed.counts[:1000])
    alpha0, topics = model.alpha0_, model.components_
    with pytest.raises(LatentiaError, match="supports at most"):
        model.fit(np.tile([3.0, 5.0, 4.0], (50, 1)))
    assert model.alpha0_ == alpha0
    assert model.components_ is topics
    assert model.transform(mixed.counts[:2]).shape == (2, 3)


@pytest.mark.parametrize("model", MODELS)
def test_order_of_stored_entries_does_not_matter(model, mixed):
    tidy = mixed.counts[:300].astype(float)
    untidy = tidy.copy()
    for start, stop in zip(tidy.indptr[:-1], tidy.indptr[1:], strict=True):
        untidy.indices[start:stop], untidy.data[start:stop] = (
            tidy.indices[start:stop][::-1],
            tidy.data[start:stop][::-1],
        )
    untidy.has_sorted_indices = untidy.has_canonical_format = False
    fitted = model(3, n_splits=0).fit(mixed.counts)
    assert fitted.score(untidy) == fitted.score(tidy)
    assert (fitted.transform(untidy) == fitted.transform(tidy)).all()
    assert (model(3, n_splits=0).fit(untidy).components_ == model(3, n_splits=0).fit(tidy).components_).all()


@pytest.mark.parametrize("model", MODELS)
def test_sizes_of_samples_are_checked(model, mixed):
    fitted = model(3, n_splits=0).fit(mixed.counts[:1000])
    for sizes in ({"n_samples": -1}, {"length": 0}, {"length": True}):
        with pytest.raises(LatentiaError, match=next(iter(sizes))):
            fitted.sample(**sizes)


def test_warnings_say_what_was_left_out(single):
    counts = single.counts[:500].toarray().astype(float)
    counts[3] = 0
    counts[4] = np.eye(1000)[7]
    with pytest.warns(DroppedDataWarning, match="2 of 500 documents have fewer than two words \\(1 have none\\)"):
        SingleTopicModel(3).fit(counts)
    with pytest.warns(NonIntegerCountWarning):
        SingleTopicModel(3).fit(single.counts[:500] * 1.5)


def test_refitting_forgets_the_data_before(single, mixed):
    model = SpectralLDA(4).fit(mixed.counts[:1000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(single.counts[:, :500])
    assert model.components_.shape == (4, 500)
    fresh = SpectralLDA(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh.fit(single.counts[:, :500])
    assert (model.components_ == fresh.components_).all()
