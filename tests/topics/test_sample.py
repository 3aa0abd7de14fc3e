"""Documents drawn from a fitted model."""

import numpy as np
import pytest

from latentia.topics import SpectralLDA


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_topics_that_never_are_get_no_words(corpus):
    model = SpectralLDA(4, refine=0, n_splits=0).fit(corpus.counts)
    model.dirichlet_ = np.array([0.0, 0.05, 0.0, 0.0])
    counts, proportions = model.sample(20, length=30)
    assert (proportions == [0.0, 1.0, 0.0, 0.0]).all()
    assert (counts.sum(axis=1) == 30).all()
