"""A layer with real columns: its units with signs, its bits, and nothing where there is nothing."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.deep._real import decode_real, encode_real, recover_real


def layer_of(noise=0.0, seed=1, sizes=(120, 60), degrees=5, density=0.05, n_rows=3000):
    return planted.sparse_network(n_rows, sizes, degrees, density, observed="real", noise=noise, random_state=seed)


def rows_of(weights):
    return {tuple(row) for row in weights.toarray().tolist()}


def test_signed_units_are_found_exactly():
    samples = layer_of()
    layer = recover_real(samples.Y)
    assert rows_of(layer.weights) == rows_of(samples.layers[0])
    assert layer.weights.dtype == np.int8
    assert not layer.undetermined.nnz
    assert np.allclose(decode_real(layer, encode_real(layer, samples.Y)), samples.Y, atol=1e-3)


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_noise_costs_few_units_and_adds_none(noise):
    samples = layer_of(noise, seed=2)
    layer = recover_real(samples.Y)
    found, true = rows_of(layer.weights), rows_of(samples.layers[0])
    assert len(found & true) >= 57
    assert len(found - true) <= 1
    assert np.median(layer.noise) == pytest.approx(noise, rel=0.05)


def test_scales_and_offsets_of_columns_are_found():
    samples, rng = layer_of(0.1, seed=3), np.random.default_rng(3)
    scale, offset = np.exp(rng.normal(0, 1, 120)), rng.normal(0, 5, 120)
    layer = recover_real(samples.Y * scale + offset)
    assert len(rows_of(layer.weights) & rows_of(samples.layers[0])) >= 57
    reached = np.abs(samples.layers[0].toarray()).sum(axis=0) > 0
    assert np.median(np.abs(layer.scale / scale - 1)[reached]) < 0.02
    assert np.median(np.abs(layer.offset - offset) / scale) < 0.02


def test_bits_of_new_rows():
    samples = layer_of(0.2, seed=4, n_rows=4000)
    layer = recover_real(samples.Y[:3000])
    true = samples.layers[0].toarray().astype(float)
    match = (layer.weights.toarray().astype(float) @ true.T).argmax(axis=1)
    bits = encode_real(layer, samples.Y[3000:])
    assert (bits != samples.hidden[0].toarray()[3000:, match]).mean() < 1e-3
    assert np.array_equal(bits, encode_real(layer, samples.Y[3000:], n_jobs=2))


def test_more_units_than_columns():
    samples = layer_of(0.05, seed=5, sizes=(60, 70), degrees=5, density=0.04, n_rows=6000)
    layer = recover_real(samples.Y)
    found, true = rows_of(layer.weights), rows_of(samples.layers[0])
    assert len(found & true) >= 45
    assert len(found - true) <= 4


NOTHING = {
    "noise": lambda rng: rng.standard_normal((2000, 60)),
    "factors": lambda rng: rng.standard_normal((2000, 15)) @ rng.standard_normal((15, 60)),
    "skewed factors": lambda rng: rng.exponential(size=(2000, 15)) @ rng.standard_normal((15, 60)),
    "sparse factors": lambda rng: (
        rng.standard_normal((2000, 15)) @ (rng.integers(-1, 2, (15, 60)) * (rng.random((15, 60)) < 0.2))
    ),
    "skewed columns": lambda rng: rng.exponential(size=(2000, 60)),
    "constant": lambda rng: np.ones((2000, 60)),
}


@pytest.mark.parametrize("kind", NOTHING)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_units_where_there_are_none(kind, seed):
    rng = np.random.default_rng(seed)
    Y = NOTHING[kind](rng) + (0.3 * rng.standard_normal((2000, 60)) if "factors" in kind else 0)
    layer = recover_real(Y)
    assert layer.weights.shape == (0, 60)
    assert encode_real(layer, Y).shape == (2000, 0)
    assert np.allclose(decode_real(layer, encode_real(layer, Y)), Y.mean(axis=0))


def test_units_that_a_layer_above_makes_dependent():
    samples = layer_of(0.1, seed=2, sizes=(150, 60, 300), degrees=(4, 20), density=0.005, n_rows=5000)
    layer = recover_real(samples.Y)
    assert rows_of(layer.weights) == rows_of(samples.layers[0])
