"""Heads: which are compared and chosen, what they are, their probabilities, and fits without topics."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import f1_score

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.metrics import document_auc, precision_at_k, top_indices
from latentia.multilabel import MomentMultiLabelClassifier, _evidence
from latentia.multilabel import _choice as choice
from latentia.multilabel._calibration import Calibration, fit_calibration
from latentia.multilabel._features import features, inverse_document_frequency
from latentia.multilabel._full import LogisticHeads, Rows, full_ridge, moment_head
from latentia.multilabel._held_out import assess
from latentia.multilabel.moments import CountDocuments
from latentia.passes import Blocks, accumulate

KINDS = ["ridge", "logistic", "full"]


@pytest.fixture(scope="module")
def corpus():
    return planted.labelled_corpus(2500, n_topics=6, n_words=300, n_labels=40, features=30, random_state=1)


@pytest.fixture(scope="module")
def words_of_labels():
    """Every label has a word of its own: what K directions cannot hold and a model of all words can."""
    rng = np.random.default_rng(0)
    Y = rng.random((3000, 60)) < 0.04
    X = rng.random((3000, 200)) < 0.1
    X[:, :60] |= Y & (rng.random(Y.shape) < 0.9)
    return X.astype(int), Y.astype(int)


def rows_of(X, Y):
    X = sparse.csr_array(X)
    weights = inverse_document_frequency(np.bincount(X.indices, minlength=X.shape[1]), X.shape[0])
    return Rows(choice._tidy(features(X, weights), np.float32), choice._tidy(Y, np.int8))


def first_is_right(model, X, Y):
    return precision_at_k(Y, model.top_labels(X, 1)[0], 1).mean()


# --- what heads are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [150, 2500])  # fewer than words, and more
def test_full_ridge_is_ridge_regression_on_all_words(corpus, n_rows):
    rows = rows_of(corpus.X[:n_rows], corpus.Y[:n_rows])
    head = full_ridge(rows)
    F, Y = rows.features.toarray().astype(float), rows.labels.toarray().astype(float)
    centred, targets = F - F.mean(axis=0), Y - Y.mean(axis=0)
    gram = centred.T @ centred

    def solved(penalty):
        return np.linalg.solve(gram + penalty * np.eye(300), centred.T @ targets)

    def gcv(penalty):
        hat = np.trace(np.linalg.solve(gram + penalty * np.eye(300), gram)) + 1
        return ((targets - centred @ solved(penalty)) ** 2).sum() / (1 - hat / n_rows) ** 2

    np.testing.assert_allclose(head.coefficients, solved(head.penalty), atol=1e-5)
    np.testing.assert_allclose(head.scores(rows.features), centred @ solved(head.penalty) + Y.mean(axis=0), atol=1e-5)
    assert gcv(head.penalty) <= min(gcv(head.penalty * f) for f in (0.7, 1.4)) * (1 + 1e-6)


def test_copies_of_rows_do_not_choose_the_penalty(corpus):
    """Where some rows are there twice and words are more than rows, cross-validation falls to nothing without a penalty."""
    X, Y = (sparse.vstack([table[:200], table[:60]], format="csr") for table in (corpus.X, corpus.Y))
    once, twice = (full_ridge(rows_of(*tables)) for tables in ((corpus.X[:200], corpus.Y[:200]), (X, Y)))
    assert twice.penalty > 0.1 * once.penalty
    fresh = corpus.truth.sample(500, random_state=2)
    F = rows_of(fresh.X, fresh.Y).features
    auc = [np.nanmean(document_auc(fresh.Y, head.scores(F))) for head in (once, twice)]
    assert auc[1] > auc[0] - 0.02


@pytest.mark.parametrize("directions", [False, True])
def test_the_logistic_head_is_logistic_regression_and_a_share_of_ridge(corpus, directions):
    rows = rows_of(corpus.X, corpus.Y)
    moment = moment_head(rows, 6, 0)
    heads = LogisticHeads.prepare(rows, moment, directions, 0)
    alone = heads.head(3.0)
    both = heads.add_ridge(alone, 7.0)
    helping = heads.moment.scores(rows.features)
    np.testing.assert_allclose(both.scores(rows.features), alone.scores(rows.features) + 7 * helping, atol=1e-4)
    assert (both.features is None) is not directions
    assert heads.moment.features.shape[1] == (6 if directions else 40)
    frequent = int(rows.label_counts.argmax())
    p = expit(alone.scores(rows.features)[:, frequent])
    assert p.mean() == pytest.approx(rows.label_counts[frequent] / 2500, rel=0.05)


def test_directions_beyond_the_number_of_labels():
    rng = np.random.default_rng(3)
    mixed = rng.standard_normal((8, 120)) / 3
    X = rng.random((4000, 120)) < expit(rng.standard_normal((4000, 8)) @ mixed * 2 - 2)
    Y = rng.random((4000, 3)) < expit((X[:, :60] @ rng.standard_normal((60, 3))) * 0.7 - 1)
    rows = rows_of(X.astype(int), Y.astype(int))
    heads = {k: moment_head(rows, k, 0) for k in (3, 12, 90, 500)}
    assert {k: head.features.shape[1] for k, head in heads.items()} == {3: 3, 12: 12, 90: 90, 500: 120}
    for head in heads.values():
        U = head.features.astype(float)
        np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-4)
    assert heads[12].explained > heads[3].explained + 0.01
    assert heads[90].explained > heads[3].explained
    np.testing.assert_allclose(heads[500].scores(rows.features), full_ridge(rows).scores(rows.features), atol=5e-3)
    first = heads[3].features.astype(float)
    assert np.linalg.svd(first.T @ heads[12].features)[1].min() > 0.999


def test_passes_of_directions_beyond_the_number_of_labels(corpus):
    few = sparse.csr_array(corpus.Y[:, :4])
    models = [
        MomentMultiLabelClassifier(k, head="ridge", topics=False, n_jobs=j).fit(corpus.X, few)
        for k, j in ((4, 1), (10, 1), (10, 2))
    ]
    assert [m.word_features_.shape[1] for m in models] == [4, 10, 10]
    assert [m.n_passes_ for m in models] == [5, 5 + 2 + 1, 5 + 2 + 1]
    assert (models[1].coef_ == models[2].coef_).all()


# --- the choice -----------------------------------------------------------------------------------------------------


def seen(n=3000, d=500, n_labels=100, entries=30_000):
    found = accumulate(Blocks.from_array(np.eye(4), np.eye(4)), CountDocuments(4, 4))
    found.n_rows, found.document_frequency, found.label_counts = n, np.ones(d), np.ones(n_labels)
    found.powers = np.array([entries, 0, 0, 0.0])
    return found


@pytest.mark.parametrize(
    ("sizes", "kinds", "directions"),
    [
        ({}, ("logistic", "ridge", "full"), False),
        ({"d": 5000}, ("logistic", "ridge"), False),
        ({"d": 5000, "n": 800}, ("logistic", "ridge", "full"), False),
        ({"n": 40}, None, None),
        ({"d": 200_000, "n_labels": 1000}, ("logistic", "ridge"), True),  # too many coefficients
        (
            {"n": 60_000, "n_labels": 1000, "entries": 5e6},
            ("logistic", "ridge", "full"),
            True,
        ),  # too much work on words
        ({"n": 1_186_239, "d": 203_882, "n_labels": 13_330, "entries": 84e6}, None, None),
        ({"n": 14_146, "d": 101_938, "n_labels": 30_938, "entries": 9.5e6}, None, None),
    ],
)
def test_what_is_compared_is_bounded(sizes, kinds, directions):
    found = choice.choose_kinds("auto", seen(**sizes), 50)
    assert (
        (kinds, directions) == (None, None) if found is None else (found.kinds, found.directions) == (kinds, directions)
    )


def test_heads_that_were_asked_for():
    huge = seen(n=10**6, d=10**6, n_labels=10**4, entries=1e9)
    assert choice.choose_kinds("ridge", seen(), 50) is None
    assert choice.choose_kinds("bayes", seen(), 50) is None
    assert choice.choose_kinds("full", huge, 50).kinds == ("full",)
    assert choice.choose_kinds("logistic", huge, 50) == choice.Heads(("logistic",), directions=True)
    assert choice.choose_kinds("logistic", seen(), 50) == choice.Heads(("logistic",), directions=False)


def test_auto_looks_at_all_words_where_labels_hang_on_single_words(words_of_labels):
    X, Y = words_of_labels
    auto, ridge = (
        MomentMultiLabelClassifier(5, head=h, topics=False).fit(X[:2000], Y[:2000]) for h in ("auto", "ridge")
    )
    assert auto.head_ in ("logistic", "full")
    assert auto.word_features_ is None
    assert auto.coef_.shape == (200, 60)
    assert first_is_right(auto, X[2000:], Y[2000:]) > 1.7 * first_is_right(ridge, X[2000:], Y[2000:])


def test_auto_is_about_the_best_of_its_heads(corpus, words_of_labels):
    fresh = corpus.truth.sample(1500, random_state=9)
    X, Y = words_of_labels
    for train, test in (((corpus.X, corpus.Y), (fresh.X, fresh.Y)), ((X[:2000], Y[:2000]), (X[2000:], Y[2000:]))):
        models = {h: MomentMultiLabelClassifier(6, head=h, topics=False).fit(*train) for h in ["auto", *KINDS]}
        reached = {h: first_is_right(m, *test) for h, m in models.items()}
        assert reached["auto"] > max(reached.values()) - 0.03


def test_the_evidence_names_the_head_and_its_precision(corpus):
    fresh = corpus.truth.sample(2000, random_state=9)
    model = MomentMultiLabelClassifier(6).fit(corpus.X, corpus.Y)
    assert model.evidence_["head"].measured
    for kind in KINDS:
        assert f"{kind} " in model.evidence_["head"].meaning
    assert model.evidence_["first label is right"].measured == pytest.approx(
        first_is_right(model, fresh.X, fresh.Y), abs=0.06
    )
    assert model.evidence_["better than label frequencies"].holds
    alone = MomentMultiLabelClassifier(6, head="ridge").fit(corpus.X, corpus.Y)
    assert "each left out of its own scores" in alone.evidence_["first label is right"].meaning
    assert alone.evidence_["first label is right"].measured == pytest.approx(
        first_is_right(alone, fresh.X, fresh.Y), abs=0.06
    )
    bayes = MomentMultiLabelClassifier(6, head="bayes").fit(corpus.X, corpus.Y)
    assert bayes.head_ == "bayes"
    assert not [check for check in bayes.evidence_.checks if check.name == "head"]


def test_scores_that_leave_a_row_out_are_those_of_a_fit_without_it(corpus):
    rows = rows_of(corpus.X[:300], corpus.Y[:300])
    head = moment_head(rows, 6, 0)
    blocks = Blocks.from_array(rows.features, rows.labels, rows.features)
    counted = accumulate(Blocks.from_array(corpus.X[:300], corpus.Y[:300]), CountDocuments(300, 40))
    found = choice.leave_own_labels_out(head, blocks, counted)
    Z = head.coordinates(rows.features)
    own = head.leverage(Z)
    for row in (0, 7, 150):
        rest = np.delete(np.arange(300), row)
        centred, Y = Z[rest] - Z[rest].mean(axis=0), rows.labels.toarray()[rest].astype(float)
        coefficients = np.linalg.solve(centred.T @ centred + head.penalty * np.eye(6), centred.T @ (Y - Y.mean(axis=0)))
        expected = (Z[row] - Z[rest].mean(axis=0)) @ coefficients + Y.mean(axis=0)
        scores = Z[row] @ head.coefficients + head.intercept
        np.testing.assert_allclose(
            (scores - own[row] * rows.labels.toarray()[row]) / (1 - own[row]), expected, atol=2e-4
        )
    assert found.assessment.n_rows == 300


def test_rare_labels_are_told(words_of_labels):
    X, Y = words_of_labels
    Y = Y.copy()
    Y[:, 50:] = 0
    Y[:3, 50:] = 1
    model = MomentMultiLabelClassifier(5, topics=False).fit(X, Y)
    rare = model.evidence_["rare labels"]
    assert rare.measured == "10 of 60"
    assert "too seldom" in rare.meaning
    scores = np.tile(np.arange(6.0), (30, 1))
    labels = sparse.csr_array(np.tile([0, 0, 0, 0, 0, 1], (30, 1)))
    found = assess("", scores, labels, np.array([9.0, 9, 9, 9, 9, 4]))
    assert (found.n_rare, found.rare_predicted, found.rare_right) == (1, 30, 30)


def test_nothing_to_learn_gives_no_support():
    rng = np.random.default_rng(0)
    X, Y = rng.random((500, 40)) < 0.3, rng.random((500, 8)) < 0.2
    model = MomentMultiLabelClassifier(4, topics=False).fit(X.astype(int), Y.astype(int))
    assert not model.evidence_.holds
    assert not model.evidence_["better than label frequencies"].holds


def test_the_verdict_is_on_predictions_that_do_not_use_the_topics(corpus):
    """Documents without topics of their own may have labels that words tell well, and the other way round."""
    rng = np.random.default_rng(0)
    X = (rng.random((1500, 60)) < 0.3).astype(int)
    model = MomentMultiLabelClassifier(4, head="ridge").fit(X, X[:, :20])
    evidence = model.evidence_
    assert evidence.grade in ("supported", "with care")
    assert "first label is right" in evidence.verdict
    assert evidence.topics.grade == "not supported"
    assert "The predictions do not use the topics, which are graded separately: not supported." in evidence.advice
    assert evidence.topics.verdict in str(evidence).replace("\n", " ")
    assert list(evidence.components) == list(evidence.topics.components)
    assert evidence.component_errors.shape == (4,)
    shuffled = MomentMultiLabelClassifier(4).fit(corpus.X, corpus.Y[rng.permutation(len(corpus.Y.toarray()))]).evidence_
    assert shuffled.grade == "not supported"
    assert shuffled.topics.grade in ("supported", "with care")
    assert "do not use the predictions" in shuffled.advice


def test_hardly_any_shuffled_labels_are_supported(corpus):
    """Of 30 data sets in which labels have nothing to do with the words, whichever head ranks them best by chance."""
    rng, grades = np.random.default_rng(1), []
    for _ in range(30):
        rows = rng.choice(corpus.X.shape[0], (2, 300))
        model = MomentMultiLabelClassifier(5, topics=False).fit(corpus.X[rows[0]], corpus.Y[rows[1]])
        grades.append(model.evidence_.grade)
    assert grades.count("not supported") >= 29


def test_topics_that_say_nothing_of_the_labels_are_not_supported(corpus):
    """The posterior's labels come from the topics, which are as good with labels of other documents."""
    shuffled = np.random.default_rng(5).permutation(corpus.X.shape[0])
    right, wrong = (
        MomentMultiLabelClassifier(5, head="bayes").fit(corpus.X, Y).evidence_ for Y in (corpus.Y, corpus.Y[shuffled])
    )
    assert right["better than label frequencies"].holds
    assert right.grade != "not supported"
    assert wrong["better than label frequencies"].holds is False
    assert wrong.grade == "not supported"


def test_a_head_that_ranks_worse_than_naive_bayes_asks_for_care():
    """Logistic regression in one direction cannot tell twelve labels apart, and naive Bayes can."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 12, 3000)
    chances = np.clip(0.1 * np.exp(0.5 * rng.standard_normal((12, 200))), 0, 1)
    X, Y = (rng.random((3000, 200)) < chances[labels]).astype(int), np.eye(12, dtype=int)[labels]
    rows = rows_of(sparse.csr_array(X), sparse.csr_array(Y))
    held = choice.choose(rows, choice.Heads(("ridge",)), 1, 0).assessment
    assert held.over_bayes.mean < -4 * held.over_bayes.error
    good = choice.choose(rows, choice.Heads(("ridge",)), 12, 0).assessment
    assert good.over_bayes.mean > held.over_bayes.mean + 0.1
    check = next(c for c in _evidence._ranking(held) if c.name == "as good as naive Bayes")
    assert (check.holds, check.role) == (False, "caution")


@pytest.mark.parametrize("topics", [True, False])
@pytest.mark.parametrize("head", ["auto", "ridge", "logistic", "full", "bayes"])
def test_warnings_name_what_is_there(corpus, head, topics):
    """Few rows for the topics: a fit without them says nothing of topics, and none speaks of another head."""
    if head == "bayes" and not topics:
        pytest.skip("refused")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MomentMultiLabelClassifier(30, head=head, topics=topics).fit(corpus.X[:200], corpus.Y[:200])
    said = " ".join(str(one.message) for one in told) + " " + str(model.evidence_.verdict)
    assert ("30 topics" in said) == topics
    assert ("the predictions do not use them" in said) == (topics and head != "bayes")
    for other in {"ridge", "logistic", "full", "bayes"} - {model.head_}:
        assert other not in said


def test_short_documents_of_counts_have_predictions_without_topics():
    """Moments of counts need three words a document, and directions of a head do not."""
    rng = np.random.default_rng(0)
    X = np.zeros((300, 20), int)
    X[np.arange(300), rng.integers(0, 20, 300)] = 2
    Y = (X > 0).astype(int)
    with pytest.raises(LatentiaError, match="moments of counts"):
        MomentMultiLabelClassifier(5).fit(X, Y)
    assert MomentMultiLabelClassifier(5, topics=False).fit(X, Y).score(X, Y) > 0.99


@pytest.mark.parametrize("head", ["ridge", "logistic", "full", "bayes"])
def test_every_head_can_be_saved_with_both_grades(corpus, head, tmp_path):
    model = MomentMultiLabelClassifier(5, head=head).fit(corpus.X, corpus.Y)
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert loaded.head_ == head
    assert str(loaded.evidence_) == str(model.evidence_)
    assert (loaded.evidence_.topics is None) == (head == "bayes")
    np.testing.assert_array_equal(loaded.decision_function(corpus.X[:9]), model.decision_function(corpus.X[:9]))


def test_few_rows_are_not_compared(corpus):
    for head, expected in (("auto", "ridge"), ("logistic", "logistic"), ("full", "full")):
        model = MomentMultiLabelClassifier(3, head=head, topics=False).fit(corpus.X[:30], corpus.Y[:30])
        assert model.head_ == expected
        assert np.isfinite(model.predict_proba(corpus.X[:9])).all()


# --- probabilities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("logistic", [False, True])
def test_calibration_finds_the_map(logistic):
    rng = np.random.default_rng(0)
    scores = rng.uniform(-6, 3, (4000, 5)) if logistic else rng.uniform(-0.1, 0.8, (4000, 5))
    truth = Calibration(logistic, 0.05, 0.8, 0.4, -0.7)
    labels = sparse.csr_array((rng.random(scores.shape) < truth(scores)).astype(np.int8))
    found = fit_calibration(Calibration(logistic, 0.05), scores, labels)
    assert np.abs(found(scores) - truth(scores)).max() < 0.04
    assert np.abs(Calibration(logistic, 0.05)(scores) - truth(scores)).max() > 0.1


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("worth", [-1, 0, 1])
def test_calibration_is_strictly_increasing_whatever_the_scores_are_worth(logistic, worth):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((60, 4))
    labels = sparse.csr_array((worth * scores + rng.standard_normal(scores.shape) > 1).astype(np.int8))
    found = fit_calibration(Calibration(logistic, 0.05), scores, labels)
    p = found(np.linspace(-8, 8, 500))
    assert (np.diff(p) > 0).all()
    assert 0 < p[0] < p[-1] < 1
    none = fit_calibration(Calibration(logistic, 0.05), scores, sparse.csr_array((60, 4), dtype=np.int8))
    assert none(scores).max() < 0.2


@pytest.mark.parametrize("head", ["auto", *KINDS])
def test_probabilities_are_frequencies(corpus, head):
    fresh = corpus.truth.sample(4000, random_state=5)
    model = MomentMultiLabelClassifier(6, head=head, topics=False).fit(corpus.X, corpus.Y)
    p, right = model.predict_proba(fresh.X).ravel(), fresh.Y.toarray().ravel() != 0
    assert p.mean() == pytest.approx(right.mean(), rel=0.1)
    for own in np.array_split(np.argsort(p), 20)[5:]:
        assert p[own].mean() == pytest.approx(right[own].mean(), abs=0.05)


@pytest.mark.parametrize("head", ["auto", *KINDS])
def test_the_threshold_of_f1_finds_more_of_rare_labels(corpus, head, tmp_path):
    fresh = corpus.truth.sample(4000, random_state=5)
    model = MomentMultiLabelClassifier(6, head=head, topics=False).fit(corpus.X, corpus.Y)
    f1 = {t: f1_score(fresh.Y, model.predict(fresh.X, threshold=t), average="micro") for t in (0.5, "f1")}
    best = max(
        f1_score(fresh.Y, model.predict(fresh.X, threshold=t), average="micro") for t in np.arange(0.05, 0.5, 0.05)
    )
    assert 0 < model.threshold_ < 0.5
    assert f1["f1"] > f1[0.5]
    assert f1["f1"] > best - 0.01
    assert latentia.load(latentia.save(model, tmp_path / "model")).threshold_ == model.threshold_


def test_thresholds_that_are_none(corpus):
    model = MomentMultiLabelClassifier(6, head="bayes").fit(corpus.X, corpus.Y)
    assert model.threshold_ == 0.5
    with pytest.raises(LatentiaError, match="threshold='f2'"):
        model.predict(corpus.X, threshold="f2")


# --- without topics -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["auto", *KINDS])
def test_a_fit_without_topics(corpus, head, tmp_path):
    with_topics, model = (
        MomentMultiLabelClassifier(6, head=head, topics=t).fit(corpus.X, corpus.Y) for t in (True, False)
    )
    for name in ("weights_", "word_probabilities_", "label_probabilities_", "refinement_"):
        assert not hasattr(model, name)
        assert hasattr(with_topics, name)
    assert (model.coef_ == with_topics.coef_).all()
    assert model.n_passes_ == (5 if head == "ridge" else 2)
    # Logistic regression alone ranks these labels a little worse than naive Bayes, which was not made beside ridge regression.
    assert model.evidence_.grade == ("with care" if head in ("logistic", "ridge") else "supported")
    assert (model.evidence_.statements[3].passed is None) is (head == "ridge")
    assert model.evidence_["topics"].measured == "none asked for"
    assert "expected error" not in str(model.evidence_.to_frame()["name"].tolist())
    assert [told.topics for told in model.explain(corpus.X[:1])[0]] == [[]] * 3
    for use in (model.posterior, model.evidence_.stability):
        with pytest.raises(LatentiaError, match="topics=True"):
            use(corpus.X, **({"Y": corpus.Y} if use != model.posterior else {}))
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert (loaded.predict_proba(corpus.X[:20]) == model.predict_proba(corpus.X[:20])).all()
    assert loaded.head_ == model.head_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": "bayes", "topics": False}, "head='bayes' predicts with the topics"),
        ({"n_components": [2, 4], "topics": False}, "topics=False leaves no topics"),
        ({"n_components": "auto", "topics": False}, "topics=False leaves no topics"),
        ({"topics": "no"}, "expected True or False"),
    ],
)
def test_parameters_that_do_not_go_together(corpus, options, message):
    with pytest.raises(LatentiaError, match=message):
        MomentMultiLabelClassifier(**{"n_components": 3, **options}).fit(corpus.X, corpus.Y)


@pytest.mark.parametrize("head", KINDS)
def test_all_words_or_few_directions_the_same_public_meaning(corpus, head):
    """Scores are f^T U coef_ + intercept_, with the identity for U where it is None."""
    model = MomentMultiLabelClassifier(6, head=head, topics=False).fit(corpus.X, corpus.Y)
    F = features(sparse.csr_array(corpus.X[:50]), model.inverse_document_frequency_).toarray().astype(float)
    U = np.eye(300) if model.word_features_ is None else model.word_features_.astype(float)
    np.testing.assert_allclose(
        model.decision_function(corpus.X[:50]), F @ U @ model.coef_ + model.intercept_, atol=1e-5
    )
    top, _ = top_indices(model.decision_function(corpus.X[:50]), 5)
    assert (model.top_labels(corpus.X[:50], 5)[0] == top).mean() > 0.99


def test_same_bits_for_any_number_of_threads_and_any_blocks(corpus):
    whole = Blocks.from_array(corpus.X, corpus.Y)
    cut = Blocks.from_array(corpus.X, corpus.Y, block_rows=300)
    for head, (blocks, n_jobs) in itertools.product(("logistic", "full"), ((whole, 2), (cut, 1))):
        first, second = (
            MomentMultiLabelClassifier(6, head=head, topics=False, n_jobs=j).fit(b)
            for b, j in ((whole, 1), (blocks, n_jobs))
        )
        assert (first.coef_ == second.coef_).all()
        assert first._calibration == second._calibration


def test_directions_where_coefficients_of_all_words_are_too_many(corpus, monkeypatch):
    monkeypatch.setattr(choice, "_MAX_COEFFICIENTS", 1000)
    fresh = corpus.truth.sample(1000, random_state=9)
    model = MomentMultiLabelClassifier(6, head="logistic", topics=False).fit(corpus.X, corpus.Y)
    assert model.word_features_.shape == (300, 6)
    assert model.evidence_["head"].measured == "logistic regression on supervised directions"
    known = np.nanmean(document_auc(fresh.Y, corpus.truth.label_probabilities[fresh.topics]))
    assert model.score(fresh.X, fresh.Y) > known - 0.02


def test_rows_that_were_collected_apart_come_together_in_their_order():
    tables = [sparse.csr_array(np.arange(start, start + 12.0).reshape(6, 2)) for start in (1, 20, 40)]
    blocks, collector = Blocks.from_array(*tables, block_rows=2), choice._RowCollector()
    first, second = (
        [row for i in numbers for row in collector.add_tasks(collector.zero(), blocks[i], None)]
        for numbers in ((0, 1), (2,))
    )
    merged = collector.merge(first, second)
    for part, expected in enumerate((tables[2], tables[1])):
        collected = sparse.vstack([pair[part] for pair in merged]).toarray()
        np.testing.assert_array_equal(collected, expected.toarray())
