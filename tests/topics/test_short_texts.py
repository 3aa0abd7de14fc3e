"""Documents of a few words: what is shown of topics, and what is said of how they predict."""

import numpy as np
import pytest
from scipy import sparse

from latentia.evidence import Check
from latentia.exceptions import LatentiaError
from latentia.metrics import npmi_coherence, split_tokens
from latentia.metrics.coherence import npmi_of_words
from latentia.passes import Blocks, Folds
from latentia.topics import AnchorTopics, SingleTopicModel
from latentia.topics._prediction import prediction_checks, select_unseen_documents
from latentia.topics.race import race_on_hidden_words


def short_texts(seed, n, n_topics=8, n_words=800, common=0.3, alpha=None):
    """Counts of documents of 4 to 8 words, of one topic each or with proportions of Dirichlet alpha."""
    rng = np.random.default_rng(seed)
    topics = (1 - common) * rng.dirichlet(np.full(n_words, 0.03), n_topics) + common * rng.dirichlet(
        np.full(n_words, 0.1)
    )
    words = topics[rng.choice(n_topics, n)]
    lengths = rng.integers(4, 9, n)
    if alpha is not None:
        words, lengths = rng.dirichlet(np.full(n_topics, alpha), n) @ topics, 5 * lengths
    return sparse.csr_array(rng.multinomial(lengths, words).astype(float))


@pytest.fixture(scope="module")
def texts():
    return short_texts(1, 2500)


@pytest.fixture(scope="module")
def model(texts):
    return SingleTopicModel(8).fit(texts)


@pytest.mark.parametrize("kind", [AnchorTopics, SingleTopicModel])
def test_words_shown_are_as_coherent_as_the_most_probable_ones(texts, kind):
    model = kind(8, n_splits=0).fit(texts)
    shown = npmi_of_words(model.word_columns(10), texts)
    assert (shown >= npmi_coherence(model.components_, texts) - 1e-12).all()


def test_coherence_of_given_words_is_that_of_the_most_probable_ones(texts, model):
    first = np.argsort(-model.components_, axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(npmi_of_words(first, texts), npmi_coherence(model.components_, texts))


def test_all_topics_are_needed_where_they_predict(model):
    assert model.evidence_["topics that predict nothing"].measured == 0
    assert model.evidence_["better than word frequencies"].holds


def gain(per_share, noise=0.3):
    """The line on topics that gain so much with a half and with three quarters of the documents."""
    rows, groups = Blocks.from_array(short_texts(2, 2000)), Folds(4, 0)
    others = select_unseen_documents(rows, groups, refined=True)
    rng = np.random.default_rng(3)
    frequencies = np.full(800, 1 / 800)

    def fitted(fold):
        value = per_share[len(fold.learned) / 4]
        if value is None:
            raise LatentiaError("These documents cannot carry the topics.")
        trivial = prediction_of_frequencies(fold, frequencies)
        return trivial + value + noise * rng.standard_normal(fold.counts.shape[0])

    lines = prediction_checks(fitted, frequencies, others, rows, groups)
    return lines[0] if lines else None


def prediction_of_frequencies(fold, frequencies):
    return split_tokens(fold.counts)[1] @ np.log(0.999 * frequencies + 0.001 / len(frequencies))


@pytest.mark.parametrize(
    ("half", "most", "better"),
    [
        (0.2, None, True),
        (-0.3, 0.1, True),
        (-0.3, -0.05, True),  # Of all documents .075 follows.
        (-0.3, -0.2, False),
        (-0.1, -0.1, False),
        (-0.1, None, False),
    ],
)
def test_the_gain_of_all_documents_follows_from_those_of_parts(half, most, better):
    line = gain({0.5: half, 0.75: most})
    assert isinstance(line, Check)
    assert line.holds is better


def test_nothing_is_said_where_nothing_can_be_learned():
    assert gain({0.5: None, 0.75: None}) is None


def test_the_race_takes_what_predicts_hidden_words():
    single, mixed = short_texts(4, 3000), short_texts(4, 1500, alpha=0.3)
    for counts, winner in ((single, "single"), (mixed, "anchor")):
        train, test = counts[: counts.shape[0] * 3 // 4], counts[counts.shape[0] * 3 // 4 :]
        kinds = {"anchor": AnchorTopics, "single": SingleTopicModel}
        race = race_on_hidden_words({name: kind(8, n_splits=0).fit(train) for name, kind in kinds.items()}, test)
        assert race.chosen == winner
        assert min(race.perplexities, key=race.perplexities.get) == winner
        assert (race.gain > 0) == (winner == "single")
        assert str(race).startswith(f"{winner}: perplexity of {race.n_words:,} hidden words")


def test_a_draw_is_won_by_the_default(texts, model):
    race = race_on_hidden_words({"anchor": model, "single": model}, texts)
    assert race.chosen == "anchor"
    assert race.gain == race.standard_error == 0
    assert "not clear" in str(race)


def test_documents_without_words_cannot_be_raced(model):
    with pytest.raises(LatentiaError, match="no words to hide"):
        race_on_hidden_words({"anchor": model, "single": model}, sparse.csr_array((3, 800)))
