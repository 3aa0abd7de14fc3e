import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.noisyor.absences import ExactAbsences
from latentia.passes import Blocks


def test_rows_follow_the_network():
    truth = planted.noisy_or_network(30, 5, spread=2, leak=0.1, random_state=1)
    data = truth.sample(200_000, 0)
    assert data.X.dtype == data.causes.dtype == bool
    assert data.causes.mean(axis=0) == pytest.approx(truth.priors, abs=0.005)
    exact = ExactAbsences(truth.weights, truth.priors, truth.leak).logs()
    assert 1 - data.X.mean(axis=0) == pytest.approx(np.exp(exact.single), abs=0.006)
    alone = data.X[(data.causes.sum(axis=1) == 1) & data.causes[:, 2]].mean(axis=0)
    assert alone == pytest.approx(1 - (1 - truth.leak) * np.exp(-truth.weights[2]), abs=0.02)


def test_the_random_model():
    truth = planted.noisy_or_network(400, 20, density=0.25, least_weight=1, largest_weight=3, active=2, spread=4)
    on = truth.weights > 0
    assert on.mean() == pytest.approx(0.25, abs=0.02)
    assert 1 <= truth.weights[on].min() < truth.weights.max() <= 3
    assert truth.priors.sum() == pytest.approx(2)
    assert truth.priors.max() / truth.priors.min() == pytest.approx(4)
    assert (truth.leak == 0).all()


def test_same_seed_same_rows_and_blocks_add_up(tmp_path):
    truth = planted.qmr_network(3000, 50, mean_findings=40)
    data = truth.sample(3000, 5)
    assert (data.X == truth.sample(3000, 5).X).all()
    assert (data.X != truth.sample(3000, 6).X).any()
    blocks = list(truth.sample_blocks(3000, 5))
    assert len(blocks) > 1
    assert (np.vstack([X for X, _ in blocks]) == data.X).all()
    written = Blocks.from_files(truth.write(tmp_path / "rows", 3000, 5))
    assert (np.vstack([block[0].toarray() for block in written]) == data.X).all()


def test_a_sparse_network():
    truth = planted.qmr_network()
    assert truth.weights.shape == (500, 4000)
    sizes = (truth.weights > 0).sum(axis=1)
    assert 60 < sizes.mean() < 100
    assert sizes.max() > 3 * sizes.min()
    assert truth.priors.sum() == pytest.approx(2)
    assert 5 < truth.sample(2000).X.sum(axis=1).mean() < 150


@pytest.mark.parametrize(
    "change", [{"density": 0}, {"leak": 0.6}, {"least_weight": 3}, {"active": 20}, {"n_components": 0}]
)
def test_networks_that_cannot_be(change):
    name = next(iter(change))
    with pytest.raises(LatentiaError, match=f"{name}="):
        planted.noisy_or_network(**change)
