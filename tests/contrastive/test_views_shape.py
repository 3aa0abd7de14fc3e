"""Views of which the shape says that they cannot be used are refused before any work."""

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)
from latentia.passes import Blocks

EVERY = [
    ContrastiveComponents(), ContrastiveGaussianMixture(2), ContrastiveIsing([(0, 1)]), ContrastiveLogisticRegression(),
    ContrastivePCA(), ContrastiveRegression(),
]  # fmt: skip


class Unread(Blocks):
    """Blocks of this shape, which must not be read."""

    names = None
    lengths = None
    n_selections = 0

    def __init__(self, n_rows, *widths):
        self.n_rows, self.shapes = n_rows, tuple((n_rows, width) for width in widths)

    def __len__(self):
        return 1

    def __getitem__(self, number):
        raise AssertionError("no row is needed")

    def group(self, groups, folds):
        return self


@pytest.mark.parametrize("model", EVERY, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((600, 5000, 5000), "10,000 columns together and 600 rows"),
        ((40, 20, 20), "40 columns together and 40 rows"),
        ((6000, 2000, 2000), "third cumulants of 16,000,000,000 entries.*order=4"),
        ((10**9, 50, 50), "at most 1,342,177 rows"),
    ],
)
def test_shapes_that_cannot_be_used_are_refused_unread(model, shape, said):
    with pytest.raises(LatentiaError, match=said):
        model.fit(Unread(shape[0], *shape[1:], *[1] * model._target))


def test_wide_views_are_used_up_to_their_limit():
    rng = np.random.default_rng(0)
    shared = rng.exponential(size=(500, 2))
    U, V = (rng.standard_normal((500, 40)) + shared @ rng.standard_normal((2, 40)) for _ in range(2))
    assert ContrastivePCA(2, n_shared=2, order=4).fit(U, V).components_.shape == (2, 40)
