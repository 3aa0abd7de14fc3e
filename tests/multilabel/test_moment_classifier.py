"""MomentMultiLabelClassifier: Algorithm 1, recovery, the head, use, evidence, bad input."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia import LatentiaError, LatentiaWarning
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning
from latentia.metrics import document_auc, match_components, precision_at_k, recovery_errors
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.multilabel._features import features, inverse_document_frequency
from latentia.multilabel._scores import unit_interval
from latentia.passes import Blocks, TableBlocks


@pytest.fixture(scope="module")
def corpus():
    return planted.labelled_corpus(6000, n_topics=6, n_words=400, n_labels=50, features=40, random_state=1)


@pytest.fixture(scope="module")
def fitted(corpus):
    return MomentMultiLabelClassifier(6).fit(corpus.X, corpus.Y)


def normalised(rows):
    return rows / rows.sum(axis=1, keepdims=True)


class CountingBlocks(TableBlocks):
    read = 0

    def __getitem__(self, number):
        CountingBlocks.read += 1
        return super().__getitem__(number)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"head": "bayes"},
        {"head": "ridge"},
        {"head": "full", "topics": False},
        {"refine": 2},
        {"refine": 2, "n_splits": 0},
        {"refine": "auto"},
    ],
    ids=str,
)
def test_passes_are_counted_truly(corpus, options):
    source = Blocks.from_array(corpus.X, corpus.Y, block_rows=100)
    blocks = CountingBlocks(source._parts, source._boundaries)
    CountingBlocks.read = 0
    model = MomentMultiLabelClassifier(6, **options).fit(blocks)
    # Halves are blocks of their own; whether rows are copies is looked up in a sample of 16 blocks and the first, and where
    # the moment head is alone the rows that judge it are another such sample.
    samples = 2 if options.get("head") == "ridge" else 1
    assert 0 <= CountingBlocks.read - len(blocks) * model.n_passes_ <= 17 * samples


def test_recovery_of_the_generative_model(corpus, fitted):
    truth = corpus.truth
    words = normalised(truth.word_probabilities)
    errors = recovery_errors(normalised(fitted.word_probabilities_), words)
    assert errors.mean() < 0.12
    found, true = match_components(normalised(fitted.word_probabilities_), words)
    np.testing.assert_allclose(fitted.weights_[found], truth.weights[true], atol=0.03)
    # Probabilities are those of the model: neither mu nor gamma is normalised, as the paper does.
    ratio = fitted.word_probabilities_[found].sum(axis=1) / truth.word_probabilities[true].sum(axis=1)
    np.testing.assert_allclose(ratio, 1, atol=0.1)
    assert np.abs(fitted.label_probabilities_[found] - truth.label_probabilities[true]).max() < 0.1
    assert fitted.n_passes_ == 5
    assert fitted.evidence_.holds
    assert fitted.evidence_["sum of the weights"].measured == pytest.approx(1, abs=0.05)
    assert fitted.evidence_.component_errors.mean() == pytest.approx(errors.mean(), rel=0.3)


def test_counts_are_taken_for_counts():
    topics = planted.topic_corpus(6000, n_topics=5, n_words=300, length=30, proportions="single", random_state=0)
    rng = np.random.default_rng(0)
    gamma = np.minimum(3 * rng.dirichlet(np.full(20, 0.2), 5), 0.9)
    labels = (rng.random((6000, 20)) < gamma[topics.proportions.argmax(axis=1)]).astype(int)
    model = MomentMultiLabelClassifier(5, head="bayes").fit(topics.counts, labels)
    assert recovery_errors(model.word_probabilities_, topics.topics).mean() < 0.08
    np.testing.assert_allclose(model.word_probabilities_.sum(axis=1), 1)
    found, true = match_components(model.word_probabilities_, topics.topics)
    np.testing.assert_allclose(model.label_probabilities_[found], gamma[true], atol=0.06)


HEADS = ["auto", "ridge", "logistic", "full", "bayes"]


@pytest.fixture(scope="module")
def of_head(corpus):
    """``of_head(head)``: a fit that tests read only, made once."""
    return cache(lambda head: MomentMultiLabelClassifier(6, head=head).fit(corpus.X, corpus.Y))


@pytest.mark.parametrize("head", HEADS)
def test_heads_rank_as_well_as_the_truth(corpus, of_head, head):
    fresh = corpus.truth.sample(2000, random_state=77)
    model = of_head(head)
    known = np.nanmean(document_auc(fresh.Y, corpus.truth.label_probabilities[fresh.topics]))
    # Heads of all words have 400 directions for what six have made.
    assert model.score(fresh.X, fresh.Y) > known - (0.02 if head not in ("full", "logistic") else 0.06)


def test_head_is_ridge_regression_on_supervised_features(corpus):
    fitted = MomentMultiLabelClassifier(6, head="ridge", topics=False).fit(corpus.X, corpus.Y)
    X, Y = corpus.X, corpus.Y.toarray().astype(float)
    weights = inverse_document_frequency(np.asarray((X > 0).sum(axis=0)).ravel(), X.shape[0])
    F = features(X, weights).toarray().astype(float)
    C = F.T @ Y / np.sqrt(1 + Y.sum(axis=0))
    exact = np.linalg.svd(C)[0][:, :6]
    U = fitted.word_features_.astype(float)
    np.testing.assert_allclose(U.T @ U, np.eye(6), atol=1e-5)
    assert np.linalg.svd(U.T @ exact)[1].min() > 0.999
    Z = F @ U
    centred = Z - Z.mean(axis=0)
    right = centred.T @ (Y - Y.mean(axis=0))
    coefficients = np.linalg.solve(centred.T @ centred + fitted._penalty * np.eye(6), right)
    np.testing.assert_allclose(fitted.coef_, coefficients, atol=1e-6 * np.abs(coefficients).max())
    expected = centred @ coefficients + Y.mean(axis=0)
    np.testing.assert_allclose(fitted.decision_function(X), expected, atol=1e-5)
    hat = np.trace(np.linalg.solve(centred.T @ centred + fitted._penalty * np.eye(6), centred.T @ centred)) + 1
    gcv = ((Y - expected) ** 2).sum() / (1 - hat / len(Y)) ** 2
    assert fitted._explained == pytest.approx(1 - gcv / ((Y - Y.mean(axis=0)) ** 2).sum(), abs=1e-5)


def test_refining_improves(short):
    corpus = short
    words = normalised(corpus.truth.word_probabilities)
    errors = []
    for refine in (0, 5):
        model = MomentMultiLabelClassifier(6, refine=refine).fit(corpus.X, corpus.Y)
        errors.append(recovery_errors(normalised(model.word_probabilities_), words).mean())
        assert model.evidence_.component_errors.mean() == pytest.approx(errors[-1], rel=0.3)
        assert (np.diff(model.weights_) <= 0).all()
    assert errors[1] < 0.8 * errors[0]


@pytest.fixture(scope="module")
def short():
    """Documents of few words, most of them from the base."""
    return planted.labelled_corpus(5000, n_topics=6, n_words=400, n_labels=50, features=8, background=0.6)


def test_refining_until_it_settles(short):
    few, many, model = (
        MomentMultiLabelClassifier(6, refine=r, n_splits=int(r == "auto")).fit(short.X, short.Y)
        for r in (3, 60, "auto")
    )
    assert [len(m.refinement_) for m in (few, many)] == [3, 60]
    assert (np.diff(many.refinement_) > -1).all()  # nats: EM climbs, and its prior may fall
    assert model.refinement_[-1] == pytest.approx(many.refinement_[-1], abs=2)
    assert model.refinement_[-1] > few.refinement_[-1] + 1
    assert model.n_passes_ == 5 + len(model.refinement_)
    assert model.evidence_["EM has converged"].holds
    assert not few.evidence_["EM has converged"].holds
    errors = recovery_errors(normalised(model.word_probabilities_), normalised(short.truth.word_probabilities))
    assert model.evidence_.component_errors.mean() == pytest.approx(errors.mean(), rel=0.3)
    np.testing.assert_allclose(model.word_probabilities_, many.word_probabilities_, atol=0.01)


def test_refining_ranks_labels_better(short):
    fresh = short.truth.sample(2000, random_state=77)
    scores = [
        MomentMultiLabelClassifier(6, refine=r, head="bayes", n_splits=0).fit(short.X, short.Y).score(fresh.X, fresh.Y)
        for r in (0, 3, "auto")
    ]
    assert scores[1] > scores[0] + 0.01
    assert scores[2] > scores[0] + 0.01


# --- use --------------------------------------------------------------------------------------------------------


def test_same_bits_for_any_number_of_threads(corpus):
    fits = [MomentMultiLabelClassifier(6, n_jobs=j, refine=1).fit(corpus.X, corpus.Y) for j in (1, 2)]
    for name in ("word_probabilities_", "label_probabilities_", "weights_", "coef_", "word_features_"):
        assert (getattr(fits[0], name) == getattr(fits[1], name)).all(), name
    first, second = (m.top_labels(corpus.X, 3) for m in fits)
    assert (first[0] == second[0]).all()


@pytest.mark.parametrize("head", HEADS)
def test_probabilities_scores_and_best_labels_agree(corpus, of_head, head):
    model = of_head(head)
    X = corpus.X[:300]
    scores, proba = model.decision_function(X), model.predict_proba(X)
    assert proba.shape == scores.shape == (300, 50)
    assert ((proba > 0) & (proba < 1)).all()
    for s, p in zip(scores, proba, strict=True):
        order = np.argsort(s)
        assert ((np.diff(p[order]) > 0) | (np.diff(s[order]) == 0)).all()
    labels, values = model.top_labels(X, 4)
    np.testing.assert_allclose(values, -np.sort(-scores, axis=1)[:, :4], rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(scores, labels.astype(int), 1), values, rtol=1e-9)
    best = model.predict_proba(X, n_labels=4)
    assert sparse.issparse(best)
    assert (np.diff(best.indptr) == 4).all()
    assert best.has_sorted_indices
    kept = best.toarray()
    np.testing.assert_allclose(kept[kept > 0], proba[kept > 0])
    chosen = model.predict(X, threshold=0.3)
    assert sparse.issparse(chosen)
    assert (chosen.toarray() == (proba >= 0.3)).all()
    assert (model.predict(X, n_labels=4).toarray() == (kept > 0)).all()
    assert model.top_labels(X, 99)[0].shape == (300, 50)


def test_many_labels_are_searched_in_tiles():
    rng = np.random.default_rng(0)
    from latentia.multilabel._scores import LinearScores

    scores = LinearScores(rng.standard_normal((3, 20_000)), rng.standard_normal(20_000))
    rows = rng.standard_normal((5, 3))
    labels, values = scores.top(rows, 6)
    np.testing.assert_allclose(values, -np.sort(-scores(rows), axis=1)[:, :6], rtol=1e-12)
    assert len(np.unique(labels[0])) == 6


def test_best_labels_of_all_words_are_those_of_few_coordinates():
    rng = np.random.default_rng(0)
    from latentia.multilabel._scores import LinearScores

    rows = sparse.csr_array(sparse.random(9, 40, 0.2, random_state=0, format="csr"))
    scores = LinearScores(rng.standard_normal((40, 30)), rng.standard_normal(30))
    for found, expected in zip(scores.top(rows, 4), scores.top(rows.toarray(), 4), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_map_into_the_unit_interval():
    scores = np.sort(np.concatenate([np.linspace(-50, 50, 20_001), np.linspace(-0.01, 0.02, 5001)]))
    p = unit_interval(scores, 0.004)
    assert (np.diff(p)[np.diff(scores) > 0] > 0).all()
    assert 0 < p[0] < p[-1] < 1
    inside = (scores > 0.004) & (scores < 0.996)
    assert (p[inside] == scores[inside]).all()


def test_blocks_from_disk_are_the_same_as_tables(corpus, fitted, tmp_path):
    path = corpus.truth.write(tmp_path / "train.txt", 6000, random_state=2)
    table = corpus.truth.sample(6000, random_state=2)
    blocks = Blocks.from_files(path, cache=tmp_path)
    a, b = MomentMultiLabelClassifier(6).fit(blocks), MomentMultiLabelClassifier(6).fit(table.X, table.Y)
    assert (a.word_probabilities_ == b.word_probabilities_).all()
    assert (a.top_labels(blocks, 2)[0] == b.top_labels(table.X, 2)[0]).all()


def test_dense_tables_and_stored_zeros(corpus):
    X, Y = corpus.X[:1500].astype(float), corpus.Y[:1500]
    zeros = X.copy()
    zeros.data[::7] = 0
    stripped = zeros.copy()
    stripped.eliminate_zeros()
    fits = [MomentMultiLabelClassifier(4).fit(x, y) for x, y in
            ((zeros, Y), (stripped, Y), (stripped.toarray(), Y.toarray()))]  # fmt: skip
    for other in fits[1:]:
        np.testing.assert_allclose(other.word_probabilities_, fits[0].word_probabilities_, atol=1e-10)
        np.testing.assert_allclose(other.coef_, fits[0].coef_, atol=1e-6)
    assert isinstance(fits[2].predict(stripped.toarray()[:5]), np.ndarray)
    np.testing.assert_allclose(fits[0].posterior(zeros[:9]), fits[0].posterior(stripped[:9]))


def test_weights_are_taken_as_they_are(corpus):
    X = corpus.X[:2000].astype(float)
    X.data = np.random.default_rng(0).uniform(0.1, 3.0, X.nnz)
    model = MomentMultiLabelClassifier(6).fit(X, corpus.Y[:2000])
    assert model.inverse_document_frequency_ is None
    assert model._occurrences
    doubled = model.decision_function(2 * X[:5])
    np.testing.assert_allclose(doubled, model.decision_function(X[:5]), atol=1e-6)


def test_explanations_add_up(corpus, fitted):
    rows = corpus.X[:4]
    for explanations, scores in zip(fitted.explain(rows, n_words=400), fitted.decision_function(rows), strict=True):
        assert len(explanations) == 3
        for told in explanations:
            assert told.score == pytest.approx(scores[told.label])
            assert sum(c for _, c in told.words) + told.intercept == pytest.approx(told.score, abs=1e-6)
            assert [c for _, c in told.words] == sorted((c for _, c in told.words), reverse=True)
            assert told.topics[0][1] * told.topics[0][2] >= told.topics[1][1] * told.topics[1][2]
    one = fitted.explain(rows[:1], labels=[7], n_words=2, n_topics=1)[0]
    assert [(len(one), one[0].label, one[0].name, len(one[0].words), len(one[0].topics))] == [(1, 7, "label 7", 2, 1)]


def test_names_of_words_and_labels(corpus):
    words, labels = [f"w{i}" for i in range(400)], [f"l{i}" for i in range(50)]
    model = MomentMultiLabelClassifier(6, head="bayes", vocabulary=words, label_names=labels).fit(corpus.X, corpus.Y)
    told = model.explain(corpus.X[:1])[0][0]
    assert told.name == f"l{told.label}"
    assert all(word.startswith("w") for word, _ in told.words)
    assert told.words[0][1] > 0
    model.vocabulary = {word: column for column, word in reversed(list(enumerate(words)))}
    assert model.explain(corpus.X[:1])[0][0].words == told.words
    frame = pytest.importorskip("pandas").DataFrame(corpus.Y.toarray(), columns=labels)
    assert MomentMultiLabelClassifier(6).fit(corpus.X, frame).explain(corpus.X[:1])[0][0].name.startswith("l")


def test_one_class_a_row():
    X, y = corpus_of_classes()
    model = MomentMultiLabelClassifier(3).fit(X, y)
    assert set(model.predict(X)) <= {"a", "b", "c"}
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()


def corpus_of_classes():
    corpus = planted.labelled_corpus(1500, n_topics=3, n_words=200, n_labels=10, features=40, background=0.1)
    return corpus.X, np.array(["a", "b", "c"])[corpus.topics]


def test_saved_and_loaded(fitted, corpus, tmp_path):
    loaded = latentia.load(latentia.save(fitted, tmp_path / "model"))
    assert (loaded.top_labels(corpus.X[:50], 3)[0] == fitted.top_labels(corpus.X[:50], 3)[0]).all()
    assert (loaded.predict_proba(corpus.X[:5]) == fitted.predict_proba(corpus.X[:5])).all()
    assert loaded.evidence_.checks == fitted.evidence_.checks
    errors = loaded.evidence_.stability(corpus.X, n_splits=1, Y=corpus.Y)
    assert errors.shape == (6,)
    assert errors.mean() == pytest.approx(fitted.evidence_.component_errors.mean(), rel=0.3)


def test_empty_rows_and_empty_label_sets(corpus):
    X, Y = corpus.X[:2000].tolil(), corpus.Y[:2000].tolil()
    X[:20], Y[10:200] = 0, 0
    model = MomentMultiLabelClassifier(6).fit(X.tocsr(), Y.tocsr())
    assert model.evidence_["rows without words, without labels"].measured.startswith("20, ")
    nothing = sparse.csr_array((1, 400))
    assert np.isfinite(model.predict_proba(nothing)).all()
    np.testing.assert_allclose(model.posterior(nothing).sum(), 1)
    assert model.explain(nothing)[0][0].words == []


def test_labels_and_words_that_never_occur(corpus):
    X = sparse.hstack([corpus.X, sparse.csr_array((6000, 5))], format="csr")
    Y = sparse.hstack([corpus.Y, sparse.csr_array((6000, 3))], format="csr")
    model = MomentMultiLabelClassifier(6, head="ridge").fit(X, Y)
    assert model.word_probabilities_.shape == (6, 405)
    assert np.abs(model.decision_function(X[:50])[:, 50:]).max() < 1e-9
    assert np.isfinite(model.posterior(X[:3])).all()
    for head in ("full", "logistic"):
        scores = MomentMultiLabelClassifier(6, head=head, topics=False).fit(X, Y).decision_function(X[:50])
        assert np.ptp(scores[:, 50:]) < 1e-9
        assert (
            scores[:, 50:].max() <= np.abs(scores[:, :50]).max() * 1e-9 or scores[:, 50:].max() < scores[:, :50].max()
        )


# --- bad input --------------------------------------------------------------------------------------------------


def test_fewer_rows_than_the_square_of_topics_warn(corpus):
    with pytest.warns(EvidenceWarning, match=r"50 rows; 8 topics need more than K\^2 = 64"):
        model = MomentMultiLabelClassifier(8).fit(corpus.X[:50], corpus.Y[:50])
    assert model.evidence_["documents against topics"].holds is False


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X, Y * 0), "None of the 500 rows has a label"),
        (lambda X, Y: (X * 0, Y), "None of the 500 rows has a word"),
        (lambda X, Y: (-X, Y), "Negative values in data"),
        (lambda X, Y: (X, Y * 2), "Y has 2 in row"),
        (lambda X, Y: (X, Y[:400]), "X has 500 rows and Y has 400"),
        (lambda X, Y: (X, None), "requires y to be passed"),
        (lambda X, Y: (X, np.zeros(500, int)), "one class"),
        (lambda X, Y: (X, np.full((500, 2), np.nan)), "Y contains NaN"),
        (lambda X, Y: (X, np.array([["a", "b"]] * 500)), "expected a table of 0 and 1"),
        (lambda X, Y: (X, np.zeros((500, 2, 2))), "3 dimensions"),
        (lambda X, Y: (X, np.linspace(0, 1, 500)), "Y: Unknown label type"),
        (lambda X, Y: (Blocks.from_array(X), None), "expected two, X and Y"),
        (lambda X, Y: (Blocks.from_array(X), Y), "expected blocks of both"),
    ],
)
def test_bad_data(corpus, change, message):
    with pytest.raises(LatentiaError, match=message):
        MomentMultiLabelClassifier(4).fit(*change(corpus.X[:500], corpus.Y[:500]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "at least 1"),
        ({"n_components": 401}, "n_components=401: 500 rows with 400 different words carry at most 400 topics"),
        ({"moments": "third"}, "use one of"),
        ({"head": "svm"}, "use one of"),
        ({"moments": ["auto"]}, "use one of"),
        ({"eta": 1.0}, "eta=1.0: expected a number of at least 0 and below 1"),
        ({"eta": "a"}, "eta='a': expected a number"),
        ({"eta": True}, "eta=True: expected a number"),
        ({"refine": -1}, "at least 0"),
        ({"refine": "always"}, "refine='always': expected a number of steps"),
        ({"n_splits": 4}, "three ways"),
        ({"label_names": "ab"}, "label_names='ab': expected a sequence of names"),
        ({"vocabulary": ["a"]}, "expected 400, one for each column"),
        ({"label_names": ["a"]}, "expected 50, one for each column of Y"),
    ],
)
def test_bad_parameters(corpus, options, message):
    with pytest.raises(LatentiaError, match=message):
        MomentMultiLabelClassifier(**{"n_components": 4, **options}).fit(corpus.X[:500], corpus.Y[:500])


def test_wrong_width_in_use_and_too_large_an_answer(corpus, fitted, monkeypatch):
    with pytest.raises(LatentiaError, match="400"):
        fitted.predict(corpus.X[:5, :300])
    with pytest.raises(LatentiaError, match="n_labels=0: .* at least 1"):
        fitted.top_labels(corpus.X[:5], 0)
    with pytest.raises(LatentiaError, match="n_words=-1"):
        fitted.explain(corpus.X[:1], n_words=-1)
    monkeypatch.setattr("latentia.multilabel._methods._MAX_BYTES", 1000)
    with pytest.raises(LatentiaError, match=r"use top_labels\(X, n\)"):
        fitted.decision_function(corpus.X)
    assert fitted.predict_proba(corpus.X, n_labels=2).nnz == 12_000


def test_words_without_topics():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1, (200, 6))
    Y = (X[:, :3] > 0.6).astype(int)
    with pytest.warns(EvidenceWarning, match="The words carry fewer than 3 topics"):
        model = MomentMultiLabelClassifier(3).fit(X, Y)
    assert model.word_probabilities_.shape == (1, 6)
    assert not model.evidence_.topics.holds
    assert model.score(X, Y) > 0.8
    with pytest.raises(LatentiaError, match="supports|no topics"):
        MomentMultiLabelClassifier(3, head="bayes").fit(X, Y)


# --- real data --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@pytest.mark.parametrize(("name", "k", "auc", "first"), [("bibtex", 50, 0.925, 0.60), ("delicious", 50, 0.885, 0.645)])
def test_real_text(data, tmp_path, name, k, auc, first):
    train, test = (Blocks.from_files(data / name / f"{part}.txt.gz", cache=tmp_path) for part in ("train", "test"))
    model = MomentMultiLabelClassifier(k, n_splits=0).fit(train)
    labels = sparse.vstack([block[1] for block in test], format="csr")
    scores = model.decision_function(test)
    assert np.nanmean(document_auc(labels, scores)) >= auc
    assert precision_at_k(labels, model.top_labels(test, 1)[0], 1).mean() >= first


@pytest.mark.parametrize("n_words", [15, 30, 120])
def test_few_words_leave_no_bias(n_words):
    """An occurrence has no pair with itself: the diagonal of the model must come from somewhere, or few words are wrong."""
    rng = np.random.default_rng(0)
    mu, gamma = rng.uniform(0, 0.6, (3, n_words)), rng.uniform(0, 0.5, (3, 8))
    topics = rng.choice(3, 40_000, p=[0.38, 0.33, 0.29])
    X, Y = (
        (rng.random((40_000, n_words)) < mu[topics]).astype(int),
        (rng.random((40_000, 8)) < gamma[topics]).astype(int),
    )
    model = MomentMultiLabelClassifier(3, n_splits=3).fit(X, Y)
    errors = recovery_errors(normalised(model.word_probabilities_), normalised(mu))
    assert errors.max() < 0.04
    assert model.evidence_.component_errors.mean() > 0.6 * errors.mean()
    found, true = match_components(normalised(model.word_probabilities_), normalised(mu))
    assert np.abs(model.label_probabilities_[found] - gamma[true]).max() < 0.05
    np.testing.assert_allclose(model.weights_[found], np.array([0.38, 0.33, 0.29])[true], atol=0.02)


def test_rows_that_do_not_differ_and_rows_without_words_or_labels(corpus):
    X, Y = np.tile([1, 0, 1, 1], (200, 1)), (np.arange(400).reshape(200, 2) % 3 == 0).astype(int)
    with pytest.warns(EvidenceWarning):
        model = MomentMultiLabelClassifier(2, head="ridge").fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X[:3]), np.tile(Y.mean(axis=0), (3, 1)))
    np.testing.assert_allclose(model.predict_proba(X[:3]), np.tile(Y.mean(axis=0), (3, 1)), atol=0.02)
    words, labels = corpus.X[:500].tolil(), corpus.Y[:500]
    words[np.flatnonzero(labels.sum(axis=1))] = 0
    with pytest.raises(LatentiaError, match="None of the 500 rows has both words and labels"):
        MomentMultiLabelClassifier(3).fit(words.tocsr(), labels)


def test_blocks_with_empty_pieces_and_thresholds(corpus, fitted):
    half = Blocks.from_array(corpus.X[:40], corpus.Y[:40], block_rows=1).split(2)[0]
    assert fitted.predict(half).shape == (half.n_rows, 50)
    for labels in ([99], ["a"], [1.0], [-1]):
        with pytest.raises(LatentiaError, match="from 0 to 49"):
            fitted.explain(corpus.X[:1], labels=labels)
    with pytest.raises(LatentiaError, match="whole number"):
        fitted.top_labels(corpus.X[:1], 2.5)
    for threshold in (2, "a", True):
        with pytest.raises(LatentiaError, match="threshold="):
            fitted.predict(corpus.X[:2], threshold=threshold)


def test_blocks_with_what_is_no_number_are_refused_at_prediction(corpus, fitted):
    X = corpus.X[:50].astype(float).toarray()
    X[37, 5] = np.nan
    for table in (X, sparse.csr_array(X)):
        blocks = Blocks.from_array(table, block_rows=20)
        for use in (
            fitted.predict_proba,
            fitted.predict,
            fitted.top_labels,
            fitted.posterior,
            fitted.decision_function,
        ):
            with pytest.raises(LatentiaError, match="Row 37, column 5: NaN"):
                use(blocks)


def test_evidence_that_was_not_measured_does_not_hold(corpus):
    model = MomentMultiLabelClassifier(6, n_splits=0).fit(corpus.X, corpus.Y)
    assert model.evidence_["expected error"].measured is None
    assert "stability(X, Y=Y)" in model.evidence_["expected error"].meaning
    assert not model.evidence_.topics.holds
    assert not model.evidence_.topics.measured
    assert model.evidence_.topics.verdict.startswith("NOT MEASURED")
    assert model.evidence_.holds  # the predictions, which were measured
    assert "graded separately: not measured" in model.evidence_.advice
    assert not MomentMultiLabelClassifier(6, n_splits=0, head="bayes").fit(corpus.X, corpus.Y).evidence_.holds
    with pytest.raises(LatentiaError, match="stability needs the labels as well"):
        model.evidence_.stability(corpus.X)
    assert model.evidence_.stability(corpus.X, n_splits=1, Y=corpus.Y).shape == (6,)


def test_documents_of_one_topic_are_not_alike_where_words_come_from_others():
    rng = np.random.default_rng(0)
    words = 1 / (np.arange(150) + 5.0) * np.exp(1.5 * rng.standard_normal((5, 150)))
    words = np.minimum(20 * words / words.sum(axis=1, keepdims=True), 0.9)
    topics, others = rng.integers(0, 5, (2, 5000))
    Y = np.eye(5)[topics]

    def fitted(share):
        X = rng.random((5000, 150)) < (1 - share) * words[topics] + share * words[others]
        model = MomentMultiLabelClassifier(5).fit(X.astype(int), Y)
        return model, recovery_errors(normalised(model.word_probabilities_), normalised(words)).mean()

    right, _ = fitted(0)
    assert right.evidence_.topics.grade == "supported"
    assert right.evidence_["documents of a topic alike"].measured == 0
    wrong, error = fitted(1 / 3)
    assert wrong.evidence_.topics.grade != "supported"
    assert wrong.evidence_.expected_error == pytest.approx(error, rel=0.4)


@pytest.mark.parametrize("refine", [0, "auto"])
@pytest.mark.parametrize("spread", [0, 0.8])
def test_topics_that_predict_no_better_than_word_frequencies_are_not_supported(refine, spread):
    rng = np.random.default_rng(1)
    frequencies = 7 / (np.arange(150) + 8.0)
    X = rng.random((1500, 150)) < 1 - np.exp(np.log1p(-frequencies) * np.exp(spread * rng.standard_normal((1500, 1))))
    model = MomentMultiLabelClassifier(4, refine=refine).fit(X.astype(int), rng.random((1500, 10)) < 0.15)
    assert not model.evidence_["better than word frequencies"].holds
    assert model.evidence_.topics.grade == "not supported"


def test_another_head_leaves_nothing_of_the_one_before(corpus):
    model = MomentMultiLabelClassifier(4).fit(corpus.X[:1000], corpus.Y[:1000])
    model.set_params(head="bayes").fit(corpus.X[:1000], corpus.Y[:1000])
    assert not hasattr(model, "coef_")
    assert model.predict_proba(corpus.X[:3]).shape == (3, 50)


def test_warnings_name_the_line_that_called(corpus):
    X = corpus.X[:20].astype(float)
    X.data[:] = 0.5
    with pytest.warns(LatentiaWarning) as caught:
        MomentMultiLabelClassifier(5, moments="factorial").fit(X * 7, corpus.Y[:20])
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) >= 2


def test_lists_of_labels_are_read_as_fit_reads_them(tmp_path):
    corpus = planted.labelled_corpus(1200, n_topics=3, n_words=150, n_labels=10)
    table = corpus.Y.toarray()
    lists = [[f"label {j}" for j in np.flatnonzero(row)] for row in table]
    of_table, of_lists = (MomentMultiLabelClassifier(3).fit(corpus.X, Y) for Y in (table, lists))
    assert of_lists.score(corpus.X, lists) == of_table.score(corpus.X, table)
    with pytest.warns(latentia.exceptions.DroppedDataWarning, match="does not know are left out: other"):
        assert of_lists.score(corpus.X, [[*row, "other"] for row in lists]) == of_table.score(corpus.X, table)
    of_lists.report(tmp_path / "page.html", corpus.X, lists)
    assert "label 3" in (tmp_path / "page.html").read_text()


def test_lists_of_whole_numbers_are_labels_whatever_their_length():
    corpus = planted.labelled_corpus(1200, n_topics=3, n_words=150, n_labels=10)
    table = corpus.Y.toarray()
    pairs = table.sum(axis=1) == 2
    of_table = MomentMultiLabelClassifier(3).fit(corpus.X, table)
    of_lists = MomentMultiLabelClassifier(3).fit(corpus.X, [np.flatnonzero(row).tolist() for row in table])
    lists = [np.flatnonzero(row).tolist() for row in table[pairs]]
    assert pairs.any()
    assert of_lists.score(corpus.X[pairs], lists) == of_table.score(corpus.X[pairs], table[pairs])
