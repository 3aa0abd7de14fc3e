"""Matrices of pair probabilities: recovery, against dense transcriptions, inputs, use, read-offs and errors."""

import gzip

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning, LatentiaWarning, NonIntegerCountWarning, NotSupportedWarning
from latentia.linalg import scaled_eigenspace
from latentia.matrices import ProbabilityMatrix
from latentia.metrics import recovery_errors
from latentia.moments import count_pairs, split_counts, symmetric_counts
from latentia.passes import Blocks


@pytest.fixture(scope="module")
def data():
    return planted.word_pairs(20_000, 3, 1000, contrast=1.7, n_triples=20_000, random_state=1)


@pytest.fixture(scope="module")
def fitted(data):
    return ProbabilityMatrix(3).fit(data.counts)


def dense_shrink(counts, rank, tau=0.3, floor=0.1):
    """The recipe on dense arrays."""
    C = counts.toarray().astype(float)
    m, n = len(C), C.sum()
    both = (C + C.T) / (2 * n)
    r = both.sum(axis=1)
    D = r + tau / m
    S = (both - np.outer(r, r)) / np.sqrt(np.outer(D, D))
    values, vectors = np.linalg.eigh(S)
    top = np.argsort(-np.abs(values))[: rank - 1]
    e = 2 * np.sqrt(((r / D) ** 2).sum() / (2 * n))
    shrunk = np.sign(values[top]) * np.sqrt(np.maximum(values[top] ** 2 - e**2, 0))
    half = np.sqrt(D)[:, None] * vectors[:, top]
    B = np.maximum(np.outer(r, r) + (half * shrunk) @ half.T, floor * np.outer(r, r))
    return B / B.sum(), values[top], e


def test_it_is_the_recipe_on_dense_arrays(data, fitted):
    B, values, edge = dense_shrink(data.counts, 3)
    assert fitted.spectrum_ == pytest.approx(values, rel=1e-3)
    assert fitted.noise_level_ == pytest.approx(edge)
    assert np.abs(fitted.rows(slice(None)) - B).sum() < 5e-3
    assert fitted.l1_distance(B) < 5e-3


def test_it_is_better_than_independence_and_the_svd(data, fitted):
    truth = data.rows(slice(None))
    rank_one = ProbabilityMatrix(1).fit(data.counts).l1_distance(data)
    u, s, vt = np.linalg.svd((data.counts + data.counts.T).toarray() / 2 / 20_000)
    svd = np.maximum((u[:, :3] * s[:3]) @ vt[:3], 0)
    error = fitted.l1_distance(data)
    assert error < 0.85 * min(rank_one, np.abs(svd / svd.sum() - truth).sum())
    assert ProbabilityMatrix(3, refine=10).fit(data.counts).l1_distance(data) < 1.02 * error


def test_entries_rows_and_distances_agree(fitted, data):
    rows = fitted.rows([3, 5])
    assert (rows >= 0).all()
    assert fitted.rows(3) == pytest.approx(rows[0])
    assert fitted.entries([3, 5], [7, 9]) == pytest.approx(rows[[0, 1], [7, 9]])
    assert fitted.entries([[3], [5]], [7, 9]).shape == (2, 2)
    whole = fitted.rows(slice(None))
    assert whole.sum() == pytest.approx(1)
    np.testing.assert_allclose(whole, whole.T, rtol=1e-6)
    assert fitted.l1_distance(data) == pytest.approx(np.abs(whole - data.rows(slice(None))).sum())
    assert fitted.l1_distance(fitted) == 0
    assert fitted.conditional(4).sum() == pytest.approx(1)


@pytest.mark.parametrize("options", [{}, {"refine": 3}], ids=str)
def test_every_kind_of_fit_gives_a_distribution(data, options):
    model = ProbabilityMatrix(3, **options).fit(data.counts)
    whole = model.rows(slice(None))
    assert (whole >= 0).all()
    assert whole.sum() == pytest.approx(1)
    assert np.isfinite(model.score(data.counts))
    assert model.evidence_.component_errors.shape == (1,)


def test_the_score_ranks_models_on_new_pairs(data):
    fresh = planted.word_pairs(20_000, 3, 1000, contrast=1.7, n_triples=1, random_state=1)
    model, one = ProbabilityMatrix(3).fit(data.counts), ProbabilityMatrix(1).fit(data.counts)
    assert model.score(fresh.counts) > one.score(fresh.counts)


def test_samples_follow_the_matrix(fitted):
    pairs = fitted.sample(200_000, random_state=3)
    assert pairs.shape == (200_000, 2)
    table = count_pairs(pairs, 1000).toarray()
    top = np.argsort(-fitted.marginals_)[:20]
    expected = fitted.rows(top)[:, top] * len(pairs)
    assert np.abs(table[np.ix_(top, top)] - expected).max() < 6 * np.sqrt(expected.max())
    assert (fitted.sample(10, random_state=3) == fitted.sample(10, random_state=3)).all()


def test_all_ways_in_give_the_same(data, fitted, tmp_path):
    counts = data.counts
    np.save(tmp_path / "pairs.npy", data.pairs)
    text = "".join(f"{i} {j}\n" for i, j in data.pairs)
    (tmp_path / "pairs.txt").write_text(text)
    with gzip.open(tmp_path / "pairs.txt.gz", "wt") as file:
        file.write(text)
    coo = counts.tocoo()
    ways = [
        ProbabilityMatrix(3, n_splits=0).fit(counts.toarray()),
        ProbabilityMatrix(3, n_splits=0).fit(sparse.csc_matrix(counts)),
        ProbabilityMatrix(3, n_splits=0).fit(Blocks.from_array(counts)),
        ProbabilityMatrix(3, n_splits=0).fit(counts + counts.T),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(data.pairs, 1000),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(data.pairs.astype(float), 1000),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(np.column_stack([*coo.coords, coo.data]), 1000),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(Blocks.from_array(data.pairs, block_rows=700), 1000),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(tmp_path / "pairs.npy", 1000),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(str(tmp_path / "pairs.txt"), 1000),
        ProbabilityMatrix(3, n_splits=0).fit_pairs(tmp_path / "pairs.txt.gz", 1000),
    ]
    for model in ways:
        assert model.n_pairs_ == 20_000
        assert model.l1_distance(fitted) < 1e-9
        assert model.n_passes_ == 1


def test_same_bits_for_any_number_of_threads(data):
    for options in ({}, {"refine": 3}):
        one, two = (ProbabilityMatrix(3, n_jobs=n, **options).fit(data.counts) for n in (1, 2))
        assert (one.rows(slice(None)) == two.rows(slice(None))).all()


def test_counting_merges_blocks_of_growing_words():
    pairs = np.array([[0, 1], [1, 0], [5, 2], [0, 1], [9, 9]])
    for rows in (1, 2, 5):
        table = count_pairs(Blocks.from_array(pairs, block_rows=rows))
        assert table.shape == (10, 10)
        assert table[0, 1] == 2
        assert table.sum() == 5


def test_the_edge_is_where_the_noise_ends():
    words = np.random.default_rng(0).integers(0, 2000, (40_000, 2))
    space = scaled_eigenspace(symmetric_counts(count_pairs(words, 2000))[0], 3)
    assert np.abs(space.observed[0]) == pytest.approx(space.edge, rel=0.06)
    assert abs(space.norm) < 4 * space.norm_deviation


def test_no_signal_leaves_the_marginals():
    words = np.random.default_rng(1).integers(0, 1000, (10_000, 2))
    model = ProbabilityMatrix(4).fit_pairs(words, 1000)
    independent = ProbabilityMatrix(1).fit_pairs(words, 1000)
    assert model.l1_distance(independent) < 0.2
    assert not model.evidence_.holds


def test_a_mixing_matrix_that_is_not_positive():
    mixing = np.array([[0.05, 0.45], [0.45, 0.05]])
    data = planted.word_pairs(50_000, 2, 500, contrast=1.7, mixing=mixing)
    model = ProbabilityMatrix(2).fit(data.counts)
    assert model.spectrum_[0] < -model.noise_level_
    assert model.l1_distance(data) < 0.8 * ProbabilityMatrix(1).fit(data.counts).l1_distance(data)
    assert not model.evidence_["negative eigenvalues"].holds
    with pytest.raises(LatentiaError, match="negative eigenvalue"):
        model.topics([[0, 1, 2]])


def test_topics_from_triples_and_anchors():
    data = planted.word_pairs(300_000, 3, 300, base="uniform", contrast=2.0, n_triples=200_000, random_state=2)
    model = ProbabilityMatrix(3).fit(data.counts)
    from_triples = model.topics(data.triples)
    assert recovery_errors(from_triples.components, data.components).max() < 0.25
    assert np.sort(from_triples.weights) == pytest.approx(np.sort(np.diag(data.mixing)), abs=0.05)
    anchors = [int(np.argmax(p / data.components.sum(axis=0) + (p > np.median(p)))) for p in data.components]
    for topics in (model.topics(), model.topics(anchors=anchors)):
        assert recovery_errors(topics.components, data.components).max() < 0.6
        assert topics.components.sum(axis=1) == pytest.approx(1)
        assert len(topics.anchors) == 3


@pytest.mark.parametrize(("degree", "blocks"), [(3, 2), (6, 3)])
def test_communities_at_constant_degree(degree, blocks):
    graph = planted.block_model(3000, blocks, degree=degree, snr=2.5, random_state=1)
    model = ProbabilityMatrix(blocks, tau=0.5).fit(graph.adjacency)
    assert model.n_pairs_ == graph.adjacency.nnz / 2
    table = np.zeros((blocks, blocks))
    np.add.at(table, (model.labels_, graph.labels), 1)
    share = max(table[list(order), range(blocks)].sum() for order in permutations(blocks)) / 3000
    assert (share - 1 / blocks) / (1 - 1 / blocks) > 0.6


def permutations(n):
    from itertools import permutations as of

    return of(range(n))


def test_nearest_words(data):
    names = [f"w{i}" for i in range(1000)]
    model = ProbabilityMatrix(3, vocabulary=names).fit(data.counts)
    found = model.most_similar("w3", 5)
    assert len(found) == 5
    assert found[0][1] >= found[-1][1] > 0.5
    assert found == model.most_similar(3, 5)
    assert "w3" not in [word for word, _ in found]
    with pytest.raises(LatentiaError, match="not in the vocabulary"):
        model.most_similar("absent")
    model.vocabulary = {name: column for column, name in reversed(list(enumerate(names)))}
    assert model.most_similar("w3", 5) == found


def test_save_load_clone_and_stability(fitted, data, tmp_path):
    loaded = latentia.load(latentia.save(fitted, tmp_path / "m"))
    assert loaded.l1_distance(fitted) == 0
    assert (loaded.labels_ == fitted.labels_).all()
    assert clone(fitted).get_params() == fitted.get_params()
    error = loaded.evidence_.stability(data.counts, n_splits=1)
    assert error.shape == (1,)
    assert 0.5 < error[0] / fitted.l1_distance(data) < 2


def test_the_table_of_evidence(fitted, data):
    assert "  error  " in str(fitted.evidence_)
    assert "expected error" in fitted.evidence_.table()
    assert fitted.evidence_.holds
    assert fitted.evidence_.component_errors[0] == pytest.approx(fitted.l1_distance(data), rel=0.3)
    assert fitted.evidence_["asymmetry"].measured == pytest.approx(1, abs=0.2)
    ordered = data.counts.toarray()
    ordered[:, 500:] *= 3
    assert not ProbabilityMatrix(3).fit(ordered).evidence_["asymmetry"].holds


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\): expected a square table"),
        (np.ones(4), "C has one dimension"),
        (np.zeros((3, 3)), "all counts are zero"),
        (np.array([[0, 1], [-2, 0]]), r"-2(\.0)? in row 1, column 0: expected counts of at least 0"),
        (np.array([[0, 1], [3, np.nan]]), "Row 1, column 1 of C: NaN; expected a number"),
        (Blocks.from_array(np.array([[0, np.inf], [3, 1.0]])), "inf in row 0, column 1"),
        (np.array([["a", "b"], ["c", "d"]]), "Row 0, column 0 of C: 'a' is text"),
        (np.ones((3, 3)), "n_components=10: 3 words carry a rank of at most 3"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(LatentiaError, match=message):
        ProbabilityMatrix().fit(counts)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.ones((3, 4)), "two columns"),
        (np.empty((0, 2), int), "no pairs"),
        ([[0, -1]], "Pair 0 has the word -1"),
        ([[0.5, 1]], "has the word 0.5"),
        ([[0, 1], [7, 1]], "Pair 1 has the word 7; expected whole numbers from 0 to 4"),
        ([[0, 1, -2]], "finite counts of at least 0"),
        ("absent.npy", "no such file"),
    ],
)
def test_bad_pairs(pairs, message):
    with pytest.raises(LatentiaError, match=message):
        ProbabilityMatrix(2).fit_pairs(pairs, 5)


def test_bad_text(tmp_path):
    (tmp_path / "bad.txt").write_text("0 1\n2 x\n")
    (tmp_path / "one.txt").write_text("0\n1\n")
    (tmp_path / "empty.txt").write_text("")
    for name in ("bad.txt", "one.txt"):
        with pytest.raises(LatentiaError, match="line [12]: expected two "):
            ProbabilityMatrix(2).fit_pairs(tmp_path / name)
    with pytest.raises(LatentiaError, match="expected pairs, found none"):
        ProbabilityMatrix(2).fit_pairs(tmp_path / "empty.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"tau": 0.0}, "tau=0.0: expected a number above 0"),
        ({"tau": True}, "tau=True"),
        ({"tau": np.nan}, "tau=nan"),
        ({"floor": 1.0}, "floor=1.0: expected a number of at least 0 and below 1"),
        ({"pseudo_counts": -1}, "pseudo_counts=-1"),
        ({"refine": -1}, "refine=-1"),
        ({"n_splits": 4}, "n_splits=4"),
        ({"max_products": 0}, "max_products=0"),
        ({"vocabulary": ["a"]}, "vocabulary has 1 words"),
        ({"vocabulary": 5}, "vocabulary=5"),
        ({"random_state": 2**33}, "random_state=8589934592"),
    ],
)
def test_bad_parameters(data, options, message):
    with pytest.raises(LatentiaError, match=message):
        ProbabilityMatrix(**{"n_components": 3, **options}).fit(data.counts)


def test_few_pairs_and_parts_of_counts_warn():
    with pytest.warns(EvidenceWarning, match="only the marginals"):
        model = ProbabilityMatrix(2).fit_pairs([[0, 1], [2, 3]], 10)
    assert model.n_kept_ == 0
    assert model.rows(slice(None)).sum() == pytest.approx(1)
    with pytest.warns(NonIntegerCountWarning):
        ProbabilityMatrix(2).fit(np.random.default_rng(0).random((20, 20)) * 9)


def test_requests_for_the_whole_of_a_large_matrix():
    pairs = np.random.default_rng(0).integers(0, 60_000, (70_000, 2))
    model = ProbabilityMatrix(1).fit_pairs(pairs, 60_000)
    with pytest.raises(LatentiaError, match="ask for some rows"):
        model.rows(slice(None))
    with pytest.raises(LatentiaError, match="whole numbers from 0"):
        model.entries(60_000, 0)


def test_blocks_without_noise():
    group = np.arange(60) % 2
    model = ProbabilityMatrix(2, tau=0.5).fit(np.where(group[:, None] == group, 20, 2))
    assert model.n_kept_ == 1
    assert (model.labels_ == group).mean() in (0, 1)


def test_rounding_and_small_integers_do_not_change_what_pairs_are():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((30, 30)), 1)
    both = weights + weights.T
    uneven = both * (1 + 1e-13 * rng.standard_normal(both.shape))
    assert symmetric_counts(sparse.csr_array(uneven))[1]
    large = np.full((3, 3), 1_500_000_000, np.int32)
    large[0, 1] = 1
    assert symmetric_counts(sparse.csr_array(large))[0].sum() == pytest.approx(2.0 * large.sum(dtype=float))
    assert not symmetric_counts(sparse.csr_array(np.diag([2, 1])))[1]  # words with themselves alone
    assert ProbabilityMatrix(1).fit_pairs([[0, 0], [1, 1], [0, 0]]).n_pairs_ == 3


def test_the_callers_counts_are_left_alone():
    data, indices = np.array([1.0, 2.0, 3.0, 1.0]), np.array([1, 0, 1, 0])
    table = sparse.csr_array((data, indices, np.array([0, 2, 4])), shape=(2, 2))
    for array in (table.data, table.indices):
        array.flags.writeable = False
    ProbabilityMatrix(2).fit(table)
    assert table.indices.tolist() == [1, 0, 1, 0]


def test_fewer_words_seen_than_communities():
    counts = np.zeros((20, 20))
    counts[3, 7] = 80
    assert len(np.unique(ProbabilityMatrix(5).fit(counts).labels_)) <= 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.topics(anchors=[-1, 2, 3]), "3 different numbers of words"),
        (lambda m: m.topics(anchors=[2, 2, 3]), "3 different numbers of words"),
        (lambda m: m.l1_distance(np.zeros((200, 3))), "expected a square array"),
        (lambda m: m.sample(0), "n_samples=0"),
        (lambda m: m.sample(True), "n_samples=True"),
        (lambda m: m.sample(2, random_state="a"), "random_state='a'"),
        (lambda m: m.rows([[0, 1], [2, 3]]), "expected one word, or a list of them"),
        (lambda m: m.entries([0, 1], [0, 1, 2]), r"shape \(2,\) and j \(3,\): expected equally many words"),
        (lambda m: m.most_similar([0, 1]), r"word has the shape \(2,\): expected one word"),
        (lambda m: m.most_similar(0, 0), "n=0"),
        (lambda m: m.most_similar(0, min_count=-1), "min_count=-1"),
        (lambda m: m.most_similar("a"), "'a' is not in the vocabulary, which was not given"),
        (lambda m: m.score(np.full((200, 200), np.nan)), "Row 0, column 0 of C: NaN"),
        (lambda m: m.score(Blocks.from_array(np.diag([1.0] * 199 + [np.nan]))), "nan in row 199, column 199"),
        (
            lambda m: ProbabilityMatrix(30).fit(np.rint(m.rows(slice(None)) * 9e4)).topics(),
            "n_components=30: .* at most",
        ),
        (lambda m: ProbabilityMatrix(3, tau="a").fit(np.eye(4)), "tau='a'"),
        (lambda m: m.fit_pairs([[0, 1e300]]), "whole numbers from 0 to"),
        (lambda m: m.fit_pairs([[0, 1]], n_words=1.5), "n_words=1.5"),
    ],
)
def test_bad_calls_say_what_is_wrong(call, message):
    model = ProbabilityMatrix(3).fit(planted.word_pairs(50_000, n_components=3, n_words=200, contrast=1.5).counts)
    with pytest.raises(LatentiaError, match=message):
        call(model)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = ProbabilityMatrix(3).fit(planted.word_pairs(20_000, n_components=3, n_words=100).counts)
    with pytest.raises(LatentiaError, match="a rank of at most 2"):
        model.fit(np.ones((2, 2)))
    assert model.n_features_in_ == len(model.marginals_) == 100


def test_another_fit_leaves_nothing_of_the_one_before(data):
    model = ProbabilityMatrix(3, refine=2).fit(data.counts)
    before = model.labels_
    model.set_params(refine=0).fit(data.counts[:500, :500])
    assert not hasattr(model, "components_")
    assert len(model.labels_) == 500 != len(before)


@pytest.mark.parametrize(
    "fit",
    [
        lambda m: m.fit_pairs(np.array([[0, 1, 0.5], [2, 3, 1.25]]), 10),
        lambda m: m.fit(np.triu(np.full((10, 10), 0.1))),
    ],
    ids=["pairs", "counts"],
)
def test_warnings_name_the_line_that_called(fit):
    with pytest.warns(LatentiaWarning) as caught:
        fit(ProbabilityMatrix(2))
    assert {warning.filename for warning in caught} == {__file__}
    assert [warning.category for warning in caught] == [NonIntegerCountWarning, EvidenceWarning, NotSupportedWarning]


def test_halves_enter_the_expected_error(data):
    """They are fits on halves of the pairs, as `split_counts` deals them."""
    options = {"refine": 3}
    model = ProbabilityMatrix(3, n_splits=1, **options).fit(data.counts)
    halves = split_counts(symmetric_counts(data.counts)[0], True, 0)
    apart = [ProbabilityMatrix(3, n_splits=0, **options).fit(half).l1_distance(model) for half in halves]
    assert model.evidence_["distance to halves"].measured == pytest.approx(np.mean(apart), rel=0.05)
    more = ProbabilityMatrix(3, n_splits=3, **options).fit(data.counts)
    assert more.evidence_["distance to halves"].measured == pytest.approx(np.mean(apart), rel=0.1)
    none = ProbabilityMatrix(3, n_splits=0, **options).fit(data.counts)
    assert "distance to halves" not in str(none.evidence_)
    assert none.evidence_["expected error"].measured > 0  # from the counts


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_parts_without_pairs_are_counted():
    model = ProbabilityMatrix(1, refine=1).fit_pairs([[0, 1]])
    assert model.evidence_["parts fitted"].holds is False
    assert "found none" in model.evidence_["parts fitted"].meaning
    assert not model.evidence_.holds


def test_evidence_without_a_direction_does_not_hold():
    words = np.random.default_rng(1).integers(0, 1000, (10_000, 2))
    model = ProbabilityMatrix(2).fit_pairs(words, 1000)
    assert model.n_kept_ == 0
    assert model.evidence_["signal"] in model.evidence_.failed
    assert model.evidence_.grade == "not supported"
    one = ProbabilityMatrix(1).fit_pairs(words, 1000)
    assert one.evidence_["signal"].role == "note"  # One component has no directions.


def pairs_of_documents(n_documents, length, rng, n_words=200, n_topics=4):
    """Counts of all pairs of words of documents of one topic each, and the probability of a pair."""
    topics = rng.dirichlet(np.full(n_words, 0.3), n_topics)
    words = rng.multinomial(length, topics[rng.integers(0, n_topics, n_documents)])
    counts = words.T @ words - np.diag(words.sum(axis=0))
    return counts, topics.T @ topics / n_topics


def test_dependent_pairs_widen_the_error_and_ask_for_care():
    counts, truth = pairs_of_documents(200, 40, np.random.default_rng(0))
    model = ProbabilityMatrix(4).fit(sparse.csr_array(counts))
    assert model.evidence_["goodness of fit"].holds is False
    assert not model.evidence_.holds
    assert model.evidence_.expected_error > model.l1_distance(truth) / 2


def test_too_small_a_rank_widens_the_error_and_asks_for_care():
    data = planted.word_pairs(200_000, 8, 200, contrast=1.7, random_state=0)
    model = ProbabilityMatrix(3).fit(data.counts)
    assert model.evidence_["goodness of fit"].holds is False
    assert not model.evidence_.holds
    assert model.evidence_.expected_error == pytest.approx(model.l1_distance(data), rel=0.5)


def test_copied_pairs_count_once(data, fitted):
    copied = ProbabilityMatrix(3).fit(data.counts * 10)
    assert copied.n_pairs_ == fitted.n_pairs_
    assert copied.evidence_.expected_error == fitted.evidence_.expected_error
    assert copied.evidence_.limit == fitted.evidence_.limit


@pytest.mark.parametrize("copies", [1, 10])
def test_a_matrix_of_independent_words_is_in_no_good_grade(copies):
    rng = np.random.default_rng(0)
    counts = copies * np.bincount(rng.integers(0, 100, (5000, 2)) @ [100, 1], minlength=10_000).reshape(100, 100)
    evidence = ProbabilityMatrix(4).fit(counts).evidence_
    assert evidence.grade in ("partly", "not supported")
