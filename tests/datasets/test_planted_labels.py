import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.stats import norm

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.passes import Blocks


def standardised(present, topics, probabilities):
    """(Frequency - probability) / standard error of every term in every topic."""
    counts = np.bincount(topics, minlength=len(probabilities))
    totals = np.vstack([present[topics == k].sum(axis=0) for k in range(len(probabilities))])
    expected = counts[:, None] * probabilities
    return (totals - expected) / np.sqrt(expected * (1 - probabilities))


def assert_standard_normal(z):
    assert np.abs(z).max() < 5
    assert np.mean(z**2) == pytest.approx(1, abs=5 * np.sqrt(2 / z.size))


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


@pytest.mark.parametrize("length_variation", [0.0, 0.9])
def test_frequencies_are_the_probabilities_given_the_topic(length_variation):
    corpus = planted.labelled_corpus(
        40_000, n_topics=4, n_words=300, n_labels=40, features=30, length_variation=length_variation, spread=3
    )
    truth = corpus.truth
    assert truth.word_probabilities.shape == (4, 300)
    assert truth.label_probabilities.shape == (4, 40)
    assert truth.weights.max() / truth.weights.min() == pytest.approx(3)
    np.testing.assert_allclose(np.bincount(corpus.topics) / 40_000, truth.weights, atol=0.012)
    assert_standard_normal(standardised(corpus.Y, corpus.topics, truth.label_probabilities))
    z = standardised(corpus.X, corpus.topics, truth.word_probabilities)
    if length_variation:
        assert np.abs(z).max() < 5
    else:
        assert_standard_normal(z)


def test_words_are_independent_given_the_topic():
    corpus = planted.labelled_corpus(60_000, n_topics=1, n_words=40, n_labels=12, features=10, topic_words=20)
    present = sparse.hstack([corpus.X, corpus.Y]).toarray().astype(float)
    p = np.hstack([corpus.truth.word_probabilities, corpus.truth.label_probabilities])[0]
    scores = (present - p) / np.sqrt(p * (1 - p))
    covariance = scores.T @ scores / np.sqrt(len(scores))
    assert_standard_normal(covariance[np.triu_indices(len(p), 1)])


@pytest.mark.parametrize(("features", "labels", "length_variation"), [(60, 3, 0), (71, 5, 0.955), (5, 0.2, 0)])
def test_mean_numbers_of_distinct_words_and_labels(features, labels, length_variation):
    corpus = planted.labelled_corpus(20_000, features=features, labels=labels, length_variation=length_variation)
    for table, mean in ((corpus.X, features), (corpus.Y, labels)):
        counts = table.sum(axis=1)
        assert counts.mean() == pytest.approx(mean, abs=5 * counts.std() / np.sqrt(20_000))
    weights, truth = corpus.truth.weights, corpus.truth
    assert weights @ truth.word_probabilities.sum(axis=1) == pytest.approx(features)
    assert weights @ truth.label_probabilities.sum(axis=1) == pytest.approx(labels)


def test_lengths_vary_as_asked():
    corpus = planted.labelled_corpus(20_000, n_words=50_000, features=71, length_variation=0.955)
    assert np.median(corpus.X.sum(axis=1)) == pytest.approx(45, abs=2)
    rate = corpus.truth.words.rate
    p = 0.4 * corpus.truth.words.base[7]
    present = quad(lambda z: -np.expm1(-rate * p * np.exp(0.955 * z - 0.955**2 / 2)) * norm.pdf(z), -9, 9)[0]
    without = np.setdiff1d(np.arange(20), np.nonzero(corpus.truth.words.own == 7)[0])
    np.testing.assert_allclose(corpus.truth.words.probabilities(without)[:, 7], present, rtol=1e-6)


def test_topics_share_some_words_and_differ_in_most():
    truth = planted.label_model(10, 5000, 400)
    assert truth.words.own.shape == (10, 250)
    assert truth.labels.own.shape == (10, 80)
    assert all(len(set(row)) == 250 for row in truth.words.own.tolist())
    shared = [len(set(truth.words.own[0]) & set(row)) for row in truth.words.own[1:]]
    assert 0 < np.mean(shared) < 60
    assert (truth.words.own > 2500).mean() > 0.2
    everything = planted.label_model(2, 40, 12, features=5, topic_words=40)
    np.testing.assert_array_equal(np.sort(everything.words.own), np.tile(np.arange(40), (2, 1)))
    np.testing.assert_array_equal(truth.words.probabilities([3, 1]), truth.word_probabilities[[3, 1]])


@pytest.mark.parametrize("background", [0.0, 1.0])
def test_only_own_words_and_only_the_base(background):
    corpus = planted.labelled_corpus(500, n_topics=3, n_words=400, features=9, background=background)
    probabilities = corpus.truth.word_probabilities
    if background:
        assert (probabilities == probabilities[0]).all()
    else:
        assert (np.count_nonzero(probabilities, axis=1) == 50).all()
        assert (probabilities[np.repeat(corpus.topics, np.diff(corpus.X.indptr)), corpus.X.indices] > 0).all()


def test_same_seed_same_bits_and_blocks_are_the_whole():
    truth = planted.label_model(5, 500, 50, features=20, random_state=3)
    again = planted.label_model(5, 500, 50, features=20, random_state=3)
    a, b, c = truth.sample(9000, 7), again.sample(9000, 7), truth.sample(9000, 8)
    assert same(a.X, b.X)
    assert same(a.Y, b.Y)
    np.testing.assert_array_equal(a.topics, b.topics)
    assert not same(a.X, c.X)
    blocks = list(truth.sample_blocks(9000, 7))
    assert [len(topics) for _, _, topics in blocks] == [4096, 4096, 808]
    assert same(sparse.vstack([X for X, _, _ in blocks]), a.X)
    assert same(sparse.vstack([Y for _, Y, _ in blocks]), a.Y)
    np.testing.assert_array_equal(np.concatenate([topics for _, _, topics in blocks]), a.topics)
    X, Y, _ = next(iter(truth.sample_blocks(8192, 7)))
    assert same(X, blocks[0][0])
    for table in (X, Y, a.X):
        assert isinstance(table, sparse.csr_array)
        assert table.dtype == np.int8
        assert (table.data == 1).all()
        rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        assert (np.diff(rows * table.shape[1] + table.indices) > 0).all()


def test_a_written_file_is_the_sample(tmp_path):
    truth = planted.label_model(4, 1200, 150, features=12, labels=2)
    path = truth.write(tmp_path / "train.txt", 5000, random_state=5)
    assert path == tmp_path / "train.txt"
    assert [file.name for file in tmp_path.iterdir()] == ["train.txt"]
    corpus = truth.sample(5000, random_state=5)
    lines = path.read_text().split("\n")
    assert lines[0] == "5000 1200 150"
    assert lines[-1] == ""
    for i in range(300):
        words = "".join(f" {v}:1" for v in corpus.X[[i]].indices)
        assert lines[i + 1] == ",".join(map(str, corpus.Y[[i]].indices)) + words
    blocks = Blocks.from_files(path, cache=tmp_path)
    assert blocks.shapes == ((5000, 1200), (5000, 150))
    assert same(sparse.vstack([block[0] for block in blocks]), corpus.X)
    assert same(sparse.vstack([block[1] for block in blocks]), corpus.Y)


def test_documents_without_words_or_labels(tmp_path):
    truth = planted.label_model(2, 50, 11, features=0.7, labels=0.7)
    corpus = truth.sample(3000)
    words, labels = corpus.X.sum(axis=1) > 0, corpus.Y.sum(axis=1) > 0
    path = truth.write(tmp_path / "train.txt", 3000)
    lines = path.read_text().split("\n")[1:-1]
    for has_words, has_labels in ((0, 0), (0, 1), (1, 0), (1, 1)):
        kind = [line for line, w, b in zip(lines, words, labels, strict=True) if (w, b) == (has_words, has_labels)]
        assert kind
        assert all(line.startswith(" ") != has_labels for line in kind)
        assert all((":" in line) == has_words for line in kind)
        assert has_words or has_labels or set(kind) == {" "}
    blocks = Blocks.from_files(path, cache=tmp_path, format="svmlight")
    assert same(sparse.vstack([block[0] for block in blocks]), corpus.X)
    assert same(sparse.vstack([block[1] for block in blocks]), corpus.Y)


def test_a_file_that_cannot_be_completed_is_not_there(tmp_path, monkeypatch):
    truth = planted.label_model(2, 200, 20, features=5)
    target = tmp_path / "train.txt"
    target.write_text("older")
    block = next(truth.sample_blocks(10))

    def interrupted(*args):
        yield block
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(planted.LabelModelTruth, "sample_blocks", interrupted)
        with pytest.raises(KeyboardInterrupt):
            truth.write(target, 20)
    assert [file.name for file in tmp_path.iterdir()] == ["train.txt"]
    assert target.read_text() == "older"
    for bad in (tmp_path / "none" / "train.txt", target / "train.txt"):
        with pytest.raises(LatentiaError, match=r"train.txt: cannot be written"):
            truth.write(bad, 10)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"n_topics": 0}, "n_topics=0"),
        ({"background": 1.5}, "background=1.5"),
        ({"label_background": -1}, "label_background=-1"),
        ({"features": 0}, "features=0: need a positive"),
        ({"labels": np.inf}, "labels=inf"),
        ({"features": 50, "topic_words": 50, "background": 0}, "features=50: 1024 times as many draws give 50 dist"),
        ({"labels": 300}, "labels=300: 1024 times as many draws give 200 distinct ones. Lower it, or raise label_b"),
        ({"topic_words": 3000}, "topic_words=3000: need a number from 1 to n_words=2000"),
        ({"topic_labels": 0}, "topic_labels=0"),
        ({"length_variation": -1}, "length_variation=-1"),
        ({"spread": 0.5}, "spread=0.5"),
    ],
)
def test_bad_parameters(model, message):
    with pytest.raises(LatentiaError, match=message):
        planted.label_model(**model)


def test_bad_sizes():
    truth = planted.label_model(200, 1_600_000, 100, topic_words=30)
    with pytest.raises(LatentiaError, match=r"200 topics x 1600000 terms would take 2.6 GB.*probabilities\(\[0, 1\]\)"):
        _ = truth.word_probabilities
    assert truth.words.probabilities([0]).shape == (1, 1_600_000)
    with pytest.raises(LatentiaError, match="n_documents=0"):
        truth.sample(0)
    with pytest.raises(LatentiaError, match="block_rows=0"):
        next(truth.sample_blocks(5, block_rows=0))
