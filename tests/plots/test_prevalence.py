"""Pictures of topics by group and over time."""

from __future__ import annotations

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.plots import plot_prevalence
from latentia.topics import AnchorTopics

pytest.importorskip("matplotlib").use("Agg")


@pytest.fixture(scope="module")
def found():
    corpus = planted.topic_corpus(400, n_topics=4, n_words=200, length=80)
    model = AnchorTopics(4, refine=0).fit(corpus.counts)
    year = np.arange(400) % 5
    return model.prevalence_over(corpus.counts, 2000 + year), model.prevalence_by(corpus.counts, year.astype(str))


def test_a_panel_for_every_topic(found) -> None:
    over, by = found
    for prevalence in (over, by):
        axes = plot_prevalence(prevalence)
        assert len(axes) == 4
        assert [ax.get_title(loc="left") for ax in axes] == prevalence.topics
        ends = [ax.get_ylim() if prevalence is over else ax.get_xlim() for ax in axes]
        assert len(set(ends)) == 1
        assert ends[0][0] == 0
        assert ends[0][1] >= prevalence.share.high.max()
    values = [bar.get_width() for bar in axes[0].patches]
    np.testing.assert_allclose(values, by.share.value[:, 0], rtol=1e-3)  # a page has four digits


def test_a_topic_keeps_its_colour(found) -> None:
    over = found[0]
    all_of_them, alone = plot_prevalence(over), plot_prevalence(over, topics=[2])
    assert alone.lines[0].get_color() == all_of_them[2].lines[0].get_color() != all_of_them[0].lines[0].get_color()


def test_one_topic_on_given_axes(found) -> None:
    axes = plot_prevalence(found[0], topics=[2])
    assert plot_prevalence(found[0], topics=[1], ax=axes) is axes


@pytest.mark.parametrize("options", [{"topics": [4]}, {"topics": []}, {"names": ["a"]}, {"ax": 3, "topics": [0, 1]}])
def test_what_cannot_be_drawn(options, found) -> None:
    with pytest.raises(LatentiaError):
        plot_prevalence(found[0], **options)
