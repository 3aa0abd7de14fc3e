"""News: rows that a model does not explain raise an alarm, and are measured, shown and fitted."""

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import SphericalGaussianMixture
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

MEANS = 8 * np.eye(4)


def draw(seed, n=600, means=MEANS[:3]):
    rng = np.random.default_rng(seed)
    return means[rng.integers(len(means), size=n)] + rng.standard_normal((n, 4))


@pytest.fixture(scope="module")
def mixture():
    return SphericalGaussianMixture(3).fit(draw(0, 4000))


@pytest.fixture(scope="module")
def batch():
    return np.vstack([draw(1), draw(2, 150, MEANS[3:])])


def test_new_component_is_measured_and_fitted(mixture, batch):
    news = mixture.news(batch)
    assert news.alarm
    assert news.share == pytest.approx(0.2, abs=0.05)
    assert news.interval[0] <= news.share <= news.interval[1]
    assert min(news.examples) >= 600
    assert np.linalg.norm(news.components.means_[0] - MEANS[3]) < 1
    assert news.components.evidence_ is not None
    assert "Alarm" in str(news)
    assert news._repr_html_().startswith("<p>")


def test_no_news(mixture):
    news = mixture.news(draw(3))
    assert not news.alarm
    assert news.components is None
    assert news.interval[0] == 0
    assert news.examples == ()


def test_same_rows_same_news(mixture, batch):
    first, second = mixture.news(batch), mixture.news(batch)
    assert (first.share, first.interval, first.examples) == (second.share, second.interval, second.examples)


def test_reference_rows_instead_of_drawn_ones(mixture, batch):
    assert mixture.news(batch, reference=draw(4)).alarm
    assert not mixture.news(batch, reference=batch).alarm


def test_gaps_of_rows_are_drawn_too(mixture):
    rows = draw(5)
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    assert not mixture.news(rows).alarm


def test_documents_of_a_new_topic():
    counts = planted.topic_corpus(3500, n_topics=4, n_words=100, random_state=1).counts
    model = AnchorTopics(4).fit(counts[:3000])
    new = np.random.default_rng(0).multinomial(100, np.r_[np.full(10, 0.1), np.zeros(90)], size=100)
    assert model.news(np.vstack([counts[3000:].toarray(), new])).share > 0.1


def test_findings_of_a_new_cause():
    network = planted.noisy_or_network(20, 3, leak=0.02, random_state=1)
    model, rows = NoisyOr(3).fit(network.sample(3000, random_state=1).X), network.sample(500, random_state=2).X
    rows = np.asarray(rows, dtype=float)
    rows[:100, :12] = np.maximum(rows[:100, :12], np.random.default_rng(0).random((100, 12)) < 0.8)
    assert model.news(rows).alarm


def test_windows_of_a_sequence():
    rng = np.random.default_rng(0)
    states = rng.integers(2, size=500).repeat(10)
    steps = np.where(states == 0, rng.integers(3, size=5000), 3 + rng.integers(3, size=5000))
    model = SpectralHMM(2).fit(steps)
    news = model.news(np.r_[steps[:2000], rng.integers(6, size=400)])
    assert news.alarm
    assert news.n_rows == 120
    assert min(news.examples) >= 100
    assert "of 120 windows of 20 steps" in news.headline
    with pytest.raises(latentia.LatentiaError, match=r"at least 50 windows of 20 steps, found 5\. Give more"):
        model.news(steps[:100])


def test_pairs_of_other_words():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(60, 0.1), 3)

    def draw_pairs(n, components):
        return np.array([rng.choice(60, 2, p=words[k]) for k in rng.choice(components, n)])

    model = ProbabilityMatrix(2, n_splits=0).fit_pairs(draw_pairs(8000, 2), 60)
    assert not model.news(draw_pairs(2000, 2)).alarm
    news = model.news(np.vstack([draw_pairs(2000, 2), draw_pairs(500, [2])]))
    assert news.alarm
    assert 0.05 < news.share <= 0.25
    assert min(news.examples) >= 2000
    assert "pairs" in news.headline
    assert np.argmax(news.components.marginals_) == np.argmax(words[2])
    with pytest.raises(latentia.LatentiaError, match=r"shape \(N, 2\), as for fit_pairs; found shape \(60, 60\)"):
        model.news(np.ones((60, 60)))


def test_few_rows_of_a_fit_widen_the_interval():
    """The rows of the fit bound how well the model knows its tails."""
    models = [SphericalGaussianMixture(3, n_splits=0).fit(draw(0, n)) for n in (100, 20_000)]
    widths = [np.ptp(model.news(np.vstack([draw(1), draw(2, 150, MEANS[3:])])).interval) for model in models]
    assert widths[0] > 1.3 * widths[1]


def blocks(table):
    return Blocks.from_array(table, block_rows=37)


def frame(table):
    return pytest.importorskip("pandas").DataFrame(np.asarray(table)).convert_dtypes()


@pytest.mark.parametrize(
    "form", [blocks, frame, sparse.csr_array, np.ndarray.tolist, lambda table: table.astype(object)]
)
def test_news_of_any_container_are_those_of_the_array(mixture, batch, form):
    gaps = batch.copy()
    gaps[::7, 1] = np.nan
    for rows in (batch, gaps) if form is not sparse.csr_array else (batch,):
        plain, found = mixture.news(rows), mixture.news(form(rows))
        assert found.examples == plain.examples
        np.testing.assert_allclose([found.share, *found.interval], [plain.share, *plain.interval], rtol=1e-12)
        np.testing.assert_allclose(found.components.means_, plain.components.means_, rtol=1e-9)


def test_news_of_sequences_in_any_container():
    rng = np.random.default_rng(0)
    steps = np.where(
        rng.integers(2, size=240).repeat(10) == 0, rng.integers(3, size=2400), 3 + rng.integers(3, size=2400)
    )
    steps[2000:] = rng.integers(6, size=400)
    model = SpectralHMM(2).fit(steps[:2000])
    plain = model.news(steps)
    assert plain.alarm
    assert model.news(Blocks.from_array(steps[:, None], lengths=[1000, 1400])) == plain
    assert model.news([steps[:1000], steps[1000:]]) == plain
    with pytest.raises(latentia.LatentiaError, match="csr_array"):
        model.news(sparse.csr_array(steps[:, None]))


def test_documents_without_words_are_refused():
    model = AnchorTopics(2, n_splits=0).fit(planted.topic_corpus(300, n_topics=2, n_words=40, random_state=1).counts)
    with pytest.raises(latentia.LatentiaError, match="expected documents with words of the model"):
        model.news(np.zeros((60, 40)))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_that_are_far_away_are_news(mixture, batch):
    assert mixture.news(batch * 1e28).alarm


def test_errors_say_what_to_do(mixture):
    with pytest.raises(latentia.LatentiaError, match="at least 50"):
        mixture.news(draw(1, 20))
    with pytest.raises(latentia.LatentiaError, match="news: a TensorICA"):
        TensorICA(2).fit(np.random.default_rng(0).laplace(size=(500, 3))).news(draw(1)[:, :3])


def test_a_new_cause_is_named_beside_those_of_the_model():
    network = planted.noisy_or_network(20, 3, leak=0.02, random_state=1)
    model, rows = NoisyOr(3).fit(network.sample(3000, random_state=1).X), network.sample(500, random_state=2).X
    rows = np.asarray(rows, dtype=float)
    rows[:60, :12] = np.maximum(rows[:60, :12], np.random.default_rng(0).random((60, 12)) < 0.8)
    news = model.news(rows)
    strengths = news.components.weights_[news.number]
    assert news.components.n_components_ == 4
    assert set(np.argsort(-strengths)[:8].tolist()) <= set(range(12))
    assert {name for name, _, _ in news.largest_moves} <= {f"column {i}" for i in range(12)}
