import contextlib

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from latentia import LatentiaError, load, save
from latentia.datasets import planted
from latentia.exceptions import AnchorWarning, DroppedDataWarning, NonIntegerCountWarning
from latentia.metrics import nearest_distances, recovery_errors
from latentia.passes import Blocks, Folds, write_cache
from latentia.topics import AnchorTopics, _anchors


@pytest.fixture(scope="module")
def model(corpus):
    return AnchorTopics(10).fit(corpus.counts)


@pytest.fixture(scope="module")
def words(corpus):
    return np.array([f"w{i}" for i in range(corpus.counts.shape[1])])


def test_attributes_have_the_promised_shapes(model, corpus):
    n_words = corpus.counts.shape[1]
    assert model.components_.shape == (10, n_words)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    assert (model.components_ >= 0).all()
    assert model.anchors_.shape == (10,)
    assert len(set(model.anchors_)) == 10
    assert model.topic_covariance_.shape == (10, 10)
    assert np.linalg.eigvalsh(model.topic_covariance_).min() > -1e-9
    assert model.topic_covariance_.sum() == pytest.approx(1)
    assert (model.dirichlet_ > 0).all()
    assert list(model.get_feature_names_out()[:2]) == ["anchortopics0", "anchortopics1"]


def test_passes_without_refinement_are_few(corpus):
    model = AnchorTopics(10, refine=0, n_splits=0).fit(corpus.counts)
    assert model.n_passes_ == 3  # words, counts for the eigenspace, and its sketch


def test_every_kind_of_input_gives_the_same_topics(model, corpus, words, tmp_path):
    counts = corpus.counts
    write_cache(tmp_path / "c", [(counts[:900],), (counts[900:],)])
    inputs = [
        counts.toarray(),
        counts.astype(float),
        sparse.csc_array(counts),
        pd.DataFrame(counts.toarray(), columns=words),
        Blocks.from_array(counts),
        Blocks.from_files(tmp_path / "c"),
    ]
    for table in inputs:
        assert (AnchorTopics(10, n_splits=0).fit(table).components_ == model.components_).all()
    small_blocks = AnchorTopics(10, n_splits=0).fit(Blocks.from_array(counts, block_rows=100))
    assert np.abs(small_blocks.components_ - model.components_).sum(axis=1).max() < 0.01


@pytest.mark.parametrize("refine", [0, 2])
def test_same_seed_same_bits_for_any_number_of_threads(corpus, refine):
    blocks = Blocks.from_array(corpus.counts, block_rows=300)
    one, two = (AnchorTopics(10, refine=refine, n_jobs=n).fit(blocks) for n in (1, 2))
    for name in ("components_", "topic_covariance_", "dirichlet_", "anchors_"):
        assert (getattr(one, name) == getattr(two, name)).all()
    assert (one.evidence_.component_errors == two.evidence_.component_errors).all()
    assert (one.transform(corpus.counts) == two.transform(corpus.counts)).all()


def test_transform_score_and_perplexity(model, corpus):
    held_out = corpus.truth.sample(300, length=100, random_state=99)
    shares = model.transform(held_out.counts)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    order = [np.argmin(np.abs(model.components_ - topic).sum(axis=1)) for topic in corpus.topics]
    assert np.abs(shares[:, order] - held_out.proportions).sum(axis=1).mean() < 0.25
    assert model.perplexity(held_out.counts) == pytest.approx(np.exp(-model.score(held_out.counts)))
    unigram = AnchorTopics(1).fit(corpus.counts)
    assert model.perplexity(held_out.counts) < 0.8 * unigram.perplexity(held_out.counts)


def test_order_and_repetition_of_stored_entries_do_not_matter(model, corpus):
    tidy = corpus.counts[:200].astype(float)
    rng = np.random.default_rng(0)
    rows, columns = tidy.nonzero()
    values = tidy.data.copy()
    twice = np.flatnonzero(values > 1)
    values[twice] -= 1  # one occurrence is stored as an entry of its own
    rows, columns = np.append(rows, rows[twice]), np.append(columns, columns[twice])
    values = np.append(values, np.ones(len(twice)))
    order = np.lexsort((rng.random(len(rows)), rows))
    untidy = sparse.csr_array(tidy.shape)
    untidy.data, untidy.indices = values[order], columns[order].astype(np.int32)
    untidy.indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=200))]).astype(np.int32)
    assert not untidy.has_canonical_format
    assert model.score(untidy) == model.score(tidy)
    assert model.perplexity(untidy) == model.perplexity(tidy)
    assert (model.transform(untidy) == model.transform(tidy)).all()
    assert len(untidy.data) == len(values)  # the caller's matrix is as it was


def test_sizes_and_seeds_of_samples_are_checked(model):
    for sizes in ({"n_samples": 0}, {"n_samples": 2.5}, {"length": -1}, {"random_state": "a"}):
        with pytest.raises(LatentiaError, match=next(iter(sizes))):
            model.sample(**sizes)
    assert model.sample(3, random_state=np.random.default_rng(0))[0].shape == (3, 800)


def test_an_empty_document_gets_the_prior(model, corpus):
    empty = sparse.csr_array((2, corpus.counts.shape[1]))
    np.testing.assert_allclose(model.transform(empty), np.tile(model.dirichlet_ / model.dirichlet_.sum(), (2, 1)))


def test_refine_improves_and_counts_its_passes(corpus):
    few = corpus.counts[:300]
    plain, refined = (AnchorTopics(10, refine=n).fit(few) for n in (0, 3))
    before, after = (recovery_errors(m.components_, corpus.topics).mean() for m in (plain, refined))
    assert after < 0.95 * before
    assert refined.n_passes_ == plain.n_passes_ + 3


def test_sample_follows_the_model(model):
    counts, proportions = model.sample(2000, length=50, random_state=1)
    assert (counts.sum(axis=1) == 50).all()
    expected = model.prevalence_ @ model.components_
    observed = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    assert np.abs(expected - observed).sum() < 0.15
    assert proportions.shape == (2000, 10)


def test_words_in_one_document_share_the_runoff_word(corpus):
    counts = corpus.counts.toarray()
    counts[:, 700:] = 0
    counts[np.arange(90), 700 + np.arange(90)] = 1
    model = AnchorTopics(10, refine=0).fit(counts)
    runoff = model.components_[:, 700:790]
    assert model.evidence_["words dropped"].measured == (counts.sum(axis=0) == 0).sum()
    ratio = runoff / model.word_frequencies_[700:790]
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[:, :1], ratio.shape), rtol=1e-9)
    assert (model.components_[:, 790:] == 0).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)


def test_dirichlet_parameters_are_recovered():
    corpus = planted.topic_corpus(4000, n_topics=8, n_words=600, length=150, concentration=0.2, spread=3)
    for method in ("likelihood", "moments"):
        model = AnchorTopics(8, refine=5, dirichlet=method, n_splits=0).fit(corpus.counts)
        order = [np.argmin(np.abs(model.components_ - topic).sum(axis=1)) for topic in corpus.topics]
        ratio = model.dirichlet_[order] / corpus.truth.dirichlet
        assert (ratio > 0.4).all(), method
        assert (ratio < 2.5).all(), method


# --- anchors that the user gives --------------------------------------------------------------------------------


def test_given_anchors_are_used_and_the_rest_found(corpus, words):
    frame = pd.DataFrame(corpus.counts.toarray(), columns=words)
    strong = corpus.topics[3] / corpus.topics.sum(axis=0)
    own = [words[i] for i in np.argsort(-strong * (corpus.topics[3] > 2e-3))[:3]]
    model = AnchorTopics(10, anchors=[own], n_splits=0).fit(frame)
    assert model.anchor_words_[0] == own
    error = np.abs(model.components_[0] - corpus.topics[3]).sum()
    assert error < 0.5
    assert recovery_errors(model.components_, corpus.topics).mean() < 0.4


def test_vocabulary_of_a_vectorizer(corpus, words):
    columns = {str(word): np.int64(i) for i, word in reversed(list(enumerate(words)))}
    by_columns, by_words = (
        AnchorTopics(10, anchors=["w5"], vocabulary=v, n_splits=0).fit(corpus.counts) for v in (columns, words)
    )
    assert by_columns.anchor_words_ == by_words.anchor_words_
    assert by_columns.anchor_words_[0] == ["w5"]
    assert (by_columns.components_ == by_words.components_).all()
    changed = by_columns.reanchor(replace={1: "w7"})
    assert changed.anchor_words_[1] == ["w7"]
    x = corpus.counts[:2].toarray()
    x[1, 3] = -1
    with pytest.raises(LatentiaError, match=r"row 1, column 3 \('w3'\)"):
        by_columns.transform(x)


def test_missing_anchor_words_are_reported_and_skipped(corpus, words):
    model = AnchorTopics(10, anchors=[["w5", "nosuch"], "absent"], vocabulary=words, n_splits=0)
    with pytest.warns(AnchorWarning, match="2 not in the vocabulary: nosuch, absent"):
        model.fit(corpus.counts)
    assert model.anchor_words_[0] == ["w5"]
    hopeless = AnchorTopics(10, anchors=["nosuch"], vocabulary=words)
    with pytest.warns(AnchorWarning), pytest.raises(LatentiaError, match="None of the anchor words"):
        hopeless.fit(corpus.counts)
    with pytest.raises(LatentiaError, match="no column names"):
        AnchorTopics(10, anchors=["w5"]).fit(corpus.counts)


def test_strength_is_the_share_of_a_words_occurrences():
    truth = planted.topic_model(5, 200, anchors=True, random_state=3)
    # The first topic's anchor is half noise: half of its occurrences follow the corpus at large.
    topics = truth.topics.copy()
    mean = truth.prevalence @ topics
    topics[:, 200] = 0.5 * topics[:, 200] + 0.5 * mean[200]
    topics /= topics.sum(axis=1, keepdims=True)
    q = topics.T @ truth.second_moment() @ topics
    rest = [int(w) for w in truth.anchors[1:]]
    plain = AnchorTopics(5, anchors=[200, *rest]).fit_moments(q)
    strength = AnchorTopics(5, anchors=[{200: 0.5}, *rest]).fit_moments(q)
    errors = [np.abs(m.components_[0] - topics[0]).sum() for m in (plain, strength)]
    assert errors[1] < 0.35 * errors[0]
    assert np.abs(strength.components_ - topics).sum(axis=1).max() < 0.05  # of all topics, as none is too far out


def test_reanchor_edits_without_the_data(corpus):
    model = AnchorTopics(10, refine=0).fit(corpus.counts)
    kept = model.components_.copy()
    other = int(np.argsort(-model.components_[2])[0])
    changed = model.reanchor(replace={2: [int(model.anchors_[2]), other], 7: None})
    assert len(changed.components_) == 9
    assert changed.anchor_words_[2] == [int(model.anchors_[2]), other]
    assert changed.n_passes_ == 0
    assert changed.evidence_.component_errors is None
    assert not changed.evidence_.holds
    assert (model.components_ == kept).all()
    assert (model.reanchor(replace={}).components_ == model.components_).all()
    fewer = model.reanchor([int(model.anchors_[4])])
    assert len(fewer.components_) == 10
    assert fewer.anchors_[0] == model.anchors_[4]
    assert changed.transform(corpus.counts[:5]).shape == (5, 9)
    with pytest.raises(LatentiaError, match="no topic 10"):
        model.reanchor(replace={10: 3})
    with pytest.raises(LatentiaError, match="either"):
        model.reanchor()


def test_reanchor_shares_nothing_and_checks_its_parameters(corpus):
    model = AnchorTopics(4, refine=0).fit(corpus.counts)
    changed, before = model.reanchor(replace={}), model.components_.copy()
    for name in ("word_frequencies_", "components_", "anchors_", "dirichlet_"):
        assert not np.shares_memory(getattr(changed, name), getattr(model, name))
    for array in (changed._embedding.sketch, changed._embedding.test, changed._words.document_frequency):
        array[:] = 0
    assert (model.reanchor(replace={}).components_ == before).all()
    for parameters in ({"tol": "a"}, {"n_components": "a"}, {"vocabulary": ["a"]}):
        with pytest.raises(LatentiaError, match=next(iter(parameters))):
            model.reanchor(replace={}).set_params(**parameters).reanchor([1])
    with pytest.raises(LatentiaError, match="dict from topic numbers"):
        model.reanchor(replace=[3])
    with pytest.raises(LatentiaError, match="anchors=5"):
        model.reanchor(5)


def test_a_word_cannot_be_two_anchors_nor_a_mixture(corpus, model):
    with pytest.raises(LatentiaError, match="anchor of more than one topic"):
        AnchorTopics(10, anchors=[3, [4, 3]]).fit(corpus.counts)
    with pytest.raises(LatentiaError, match="at most 10 anchors"):
        model.reanchor(list(range(11)))
    with pytest.raises(LatentiaError, match="expected a list of words"):
        model.reanchor("greedy")


def test_words_of_dropped_documents_are_no_anchors(corpus):
    x = np.hstack([corpus.counts.toarray(), np.zeros((2000, 1), int)])
    x[:60] = 0
    x[:60, 800] = 1
    with pytest.warns(AnchorWarning), pytest.warns(DroppedDataWarning):
        model = AnchorTopics(10, anchors=[[800, 4]], n_splits=0).fit(x)
    assert model.anchor_words_[0] == [4]


# --- evidence ---------------------------------------------------------------------------------------------------


def test_evidence_reports_what_it_should(model):
    names = [check.name for check in model.evidence_.checks]
    for name in (
        "expected error", "least stable topic", "anchor simplex", "outside the simplex", "rank supported",
        "topic imbalance", "conditioning of R", "rarest anchor", "documents dropped", "words dropped",
        "documents, Theorem 3.4", "documents, Theorem 3.17", "noise, Theorem 4.3",
    ):  # fmt: skip
        assert name in names
    assert model.evidence_["rank supported"].measured == 10
    assert model.evidence_.component_errors.shape == (10,)


def test_free_and_independent_error_bars_agree(model, corpus):
    independent = model.evidence_.stability(corpus.counts, n_splits=2)
    assert independent.shape == (10,)
    assert independent.mean() == pytest.approx(model.evidence_.component_errors.mean(), rel=0.15)
    of_blocks = model.evidence_.stability(Blocks.from_array(corpus.counts, block_rows=200))
    assert of_blocks.mean() == pytest.approx(independent.mean(), rel=0.1)


def test_evidence_stays_what_it_was_when_the_model_is_fitted_again(corpus):
    model = AnchorTopics(10).fit(corpus.counts)
    evidence = model.evidence_
    before = evidence.stability(corpus.counts, n_splits=1)
    model.set_params(n_components=5).fit(corpus.counts[:500])
    assert (evidence.stability(corpus.counts, n_splits=1) == before).all()


def test_halves_that_cannot_carry_the_topics(corpus):
    model = AnchorTopics(6, min_df=1).fit(corpus.counts[:8])
    assert not model.evidence_.holds


def test_parts_that_cannot_be_fitted_are_counted():
    """Topics of one group of documents each: halves lack two of them."""
    rng, groups = np.random.default_rng(0), Folds(4, 0, 2).of(np.arange(400))  # two neighbours are dealt together
    topics = np.where(rng.random(400) < 0.5, 3, groups)
    x = np.zeros((400, 24))
    for row, topic in zip(x, topics, strict=True):
        np.add.at(row, rng.integers(6 * topic, 6 * topic + 6, 30), 1)
    evidence = AnchorTopics(4, anchors=[0, 6, 12, 18], refine=0).fit(x).evidence_
    assert evidence.component_errors.shape == (4,)
    assert 0 < evidence["parts fitted"].measured < 6
    assert "got no words" in evidence["parts fitted"].meaning
    assert evidence["parts fitted"] in evidence.failed


def test_stable_surplus_topics_do_not_hold():
    corpus = planted.topic_corpus(20_000, n_topics=4, n_words=60, length=50, random_state=1)
    model = AnchorTopics(30).fit(corpus.counts)
    rank = model.evidence_["rank supported"]
    assert rank.measured < 15
    assert rank.role == "veto"
    assert "fewer patterns above the noise" in rank.meaning
    assert rank in model.evidence_.failed
    assert not model.evidence_.holds
    few = AnchorTopics(7, refine=0).fit(corpus.counts).evidence_
    assert few["rank supported"].measured == 4
    assert few.grade != "supported"
    assert AnchorTopics(4, refine=0).fit(corpus.counts).evidence_["rank supported"].holds


def test_too_few_topics_are_not_taken_for_sure_ones():
    corpus = planted.topic_corpus(5000, n_topics=8, n_words=400, length=80, concentration=0.1, random_state=3)
    model = AnchorTopics(4).fit(corpus.counts)
    evidence = model.evidence_
    assert evidence["rank supported"].suggests == 8
    assert evidence["goodness of fit"] in evidence.failed
    assert evidence.grade == "not supported"
    assert nearest_distances(model.components_, corpus.topics).mean() < 2 * evidence.component_errors.mean()


def test_documents_without_topics_are_not_supported():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(200, 0.5))
    model = AnchorTopics(4).fit(rng.multinomial(rng.poisson(60, 2000), words))
    assert model.evidence_.grade == "not supported"
    assert model.evidence_["better than word frequencies"].measured < 0.05


def test_copied_documents_do_not_make_errors_small():
    few = planted.topic_corpus(400, n_topics=5, n_words=300, length=60, random_state=4)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(400), 10))
    model = AnchorTopics(5).fit(few.counts[rows])
    true = nearest_distances(model.components_, few.topics).mean()
    assert 2 / 3 < true / model.evidence_.component_errors.mean() < 1.5


def test_components_have_shares_and_grades(model):
    components = model.evidence_.components
    np.testing.assert_allclose([one.share for one in components], model.prevalence_)
    assert {one.grade for one in components} == {"supported"}
    assert model.evidence_.nouns == ("topic", "topics", "documents")


def test_no_splits_no_verdict(corpus):
    model = AnchorTopics(10, n_splits=0).fit(corpus.counts)
    assert model.evidence_.component_errors is None
    assert not model.evidence_.holds
    assert model.evidence_["expected error"].measured is None


# --- embeddings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedding", ["subspace", "projection"])
def test_recovery_from_documents(corpus, embedding):
    model = AnchorTopics(10, embedding=embedding, min_df=20, n_splits=1).fit(corpus.counts)
    assert recovery_errors(model.components_, corpus.topics).mean() < 0.5


# --- bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 2.5}, "n_components=2.5"),
        ({"embedding": "pca"}, "embedding='pca': use one of 'subspace', 'projection'"),
        ({"anchors": "random"}, "anchors='random'"),
        ({"refine": -1}, "refine=-1"),
        ({"tol": 0}, "tol=0"),
        ({"tol": "a"}, "tol='a'"),
        ({"tol": True}, "tol=True"),
        ({"min_df": 1.5}, "min_df=1.5"),
        ({"runoff_df": -1}, "runoff_df=-1"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"verbose": "yes"}, "verbose='yes'"),
        ({"dirichlet": "mle"}, "dirichlet='mle'"),
        ({"anchors": None}, "anchors=None"),
        ({"anchors": [2.5]}, "Anchor 2.5: expected a word, a list of words or a dict"),
        ({"anchors": [{3: "a"}]}, "Anchor 3: strength 'a' must be"),
        ({"vocabulary": 5}, "vocabulary=5"),
        ({"vocabulary": "words"}, "vocabulary='words'"),
        ({"vocabulary": dict.fromkeys(map(str, range(800)), 3)}, "each of the columns 0 to 799"),
        ({"n_splits": 4}, "n_splits=4"),
        ({"vocabulary": ["a"]}, "vocabulary has 1 words"),
        ({"n_components": 900}, "n_components=900: 2000 documents with .* words support at most"),
        ({"min_df": 1999}, "frequent enough to be anchors; there are 0"),
        ({"anchors": list(range(11))}, "n_components=10: expected at most one anchor for each topic; 11 are given"),
    ],
)
def test_bad_parameters(corpus, parameters, message):
    with pytest.raises(LatentiaError, match=message):
        AnchorTopics(**{"n_components": 10} | parameters).fit(corpus.counts)


def test_linear_programs_are_for_some_candidates_only(corpus, monkeypatch):
    monkeypatch.setattr(_anchors, "MAX_LP_CANDIDATES", 400)
    with pytest.raises(LatentiaError, match="at most 400 candidate words"):
        AnchorTopics(10, anchors="lp", min_df=1).fit(corpus.counts)


def test_moments_after_a_frame_forget_its_names(corpus, words):
    model = AnchorTopics(5, n_splits=0).fit(pd.DataFrame(corpus.counts.toarray(), columns=words))
    q = planted.topic_model(5, 900, anchors=True).cooccurrence()
    assert isinstance(model.fit_moments(q).anchor_words_[0][0], int)
    with pytest.raises(LatentiaError, match="vocabulary has 2 words"):
        AnchorTopics(5, vocabulary=["a", "b"]).fit_moments(q)


def test_tf_idf_and_random_states(corpus):
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer().fit_transform(corpus.counts)
    with pytest.warns(NonIntegerCountWarning):
        assert np.isfinite(AnchorTopics(5, n_splits=0).fit(weights).components_).all()
    for state in (None, np.random.RandomState(0)):
        assert AnchorTopics(5, random_state=state, refine=3, n_splits=0).fit(corpus.counts).components_.shape == (
            5,
            800,
        )


def test_bad_data(corpus):
    x = corpus.counts.toarray().astype(float)
    with pytest.raises(LatentiaError, match="none of the 5 has two"):
        AnchorTopics(2).fit(np.zeros((5, 4)))
    with pytest.raises(LatentiaError, match="empty"):
        AnchorTopics(2).fit(Blocks.from_array(np.empty((0, 4))))
    x[3, 5] = -1
    with pytest.raises(LatentiaError, match="row 3, column 5"):
        AnchorTopics(10).fit(x)
    x[3, 5] = np.nan
    with pytest.raises(LatentiaError, match="NaN"):
        AnchorTopics(10).fit(x)
    with pytest.raises(LatentiaError, match="row 3, column 5"):
        AnchorTopics(10).fit(Blocks.from_array(x))
    fitted = AnchorTopics(10, n_splits=0).fit(corpus.counts)
    with pytest.raises(LatentiaError, match="800"):
        fitted.transform(corpus.counts[:, :9])
    with pytest.raises(LatentiaError, match="Row 3, column 5: NaN"):
        fitted.transform(Blocks.from_array(x))
    with pytest.raises(LatentiaError, match="tol='a'"):
        AnchorTopics(2).fit_moments(np.ones((4, 4)), tol="a")


def test_a_fit_that_fails_leaves_the_model_as_it_was(corpus):
    model = AnchorTopics(5, n_splits=0).fit(corpus.counts)
    before = model.transform(corpus.counts[:9])
    with pytest.raises(LatentiaError, match="support at most"):
        model.fit(corpus.counts[:3, :700])
    assert (model.transform(corpus.counts[:9]) == before).all()


def test_more_topics_than_the_data_has(corpus):
    truth = planted.topic_model(4, 60, anchors=True)
    with pytest.raises(LatentiaError, match="n_components=8: this data supports at most 4 topics"):
        AnchorTopics(8).fit_moments(truth.cooccurrence())


@pytest.mark.parametrize(("embedding", "is_drawn"), [("subspace", False), ("projection", True)])
def test_moments_with_noise_are_projected_at_random_on_request_alone(embedding, is_drawn):
    place = np.arange(64)
    q = planted.topic_model(4, 60, anchors=True).cooccurrence() * np.exp(0.1 * np.sin(place[:, None] + place))
    first, second = (
        AnchorTopics(4, embedding=embedding, random_state=seed).fit_moments(q / q.sum()).components_ for seed in (0, 1)
    )
    assert np.array_equal(first, second) is not is_drawn


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_topics_of_huge_counts_are_distributions():
    rng, n_fits = np.random.default_rng(5), 0
    for _ in range(40):
        counts = 2.0**40 * (rng.random((rng.integers(3, 12), rng.integers(5, 14))) < 0.9)
        with contextlib.suppress(LatentiaError):  # one topic, or too few words
            model = AnchorTopics(2, min_df=1, n_splits=0).fit(counts)
            assert model.components_.min() >= 0
            np.testing.assert_allclose(model.components_.sum(axis=1), 1)
            n_fits += 1
    assert n_fits > 10


def test_dropped_documents_and_fractions_are_said(corpus):
    x = corpus.counts.toarray()
    x[:7] = 0
    with pytest.warns(DroppedDataWarning, match="7 of 2000 documents"):
        model = AnchorTopics(10).fit(x)
    assert model.evidence_["documents dropped"].measured == 7
    with pytest.warns(NonIntegerCountWarning, match="tf-idf"):
        AnchorTopics(10, n_splits=0).fit(1.5 * corpus.counts)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.ones((3, 4)), "square"),
        (-np.eye(3), "nonnegative"),
        (np.array([[1, 2.0], [0, 1]]), "not symmetric"),
        (np.eye(1), "n_components=2: Q of 1 words"),
        ([["a", "b"], ["c", "d"]], "Expected a matrix of numbers"),
        (np.zeros((3, 3)), "is zero"),
        (np.empty((0, 0)), "square"),
    ],
)
def test_bad_moments(q, message):
    with pytest.raises(LatentiaError, match=message):
        AnchorTopics(2).fit_moments(q)


def test_a_number_that_the_evidence_chose_serves_every_method(tmp_path):
    """Anchors are edited, the model is saved, and halves are compared, all with the number that was taken."""
    corpus = planted.topic_corpus(800, n_topics=4, n_words=300, random_state=1)
    counts = sparse.vstack([corpus.counts, sparse.csr_array((3, 300))], format="csr")
    with pytest.warns(DroppedDataWarning, match="left out"):
        model = AnchorTopics("auto").fit(counts)
    assert model.n_components_ == 4
    assert len(model.reanchor([int(word) for word in model.anchors_]).components_) == 4
    save(model, tmp_path / "m.npz")
    loaded = load(tmp_path / "m.npz")
    assert (loaded.n_components, loaded.n_components_) == ("auto", 4)
    assert loaded.evidence_.stability(corpus.counts, n_splits=1).shape == (4,)
