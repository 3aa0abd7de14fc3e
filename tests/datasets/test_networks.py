"""Planted sparse networks: what they draw, what they measure, and what one layer cannot do."""

import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets import planted


def below(samples, i):
    """What layer i of weights makes of the layer above, dense."""
    return samples.hidden[i].toarray().astype(int) @ samples.layers[i].toarray().astype(int)


def test_layers_follow_from_the_one_above():
    samples = planted.sparse_network(800, (300, 100, 80), (6, 12), 0.02, random_state=1)
    assert np.array_equal(samples.Y.toarray(), below(samples, 0) > 0)
    assert np.array_equal(samples.hidden[0].toarray(), below(samples, 1) > 0)
    assert [edges.shape for edges in samples.layers] == [(100, 300), (80, 100)]
    assert samples.layers[0].dtype == np.int8
    assert samples.Y.dtype == bool
    assert np.allclose(samples.densities[1], samples.hidden[1].toarray().mean(axis=0))


def test_degrees_and_density_are_those_asked_for():
    samples = planted.sparse_network(20_000, (1000, 400), 10, 0.02, random_state=2)
    edges = samples.layers[0].toarray()
    assert (edges != 0).sum(axis=0).mean() == pytest.approx(10, rel=0.05)
    assert (edges > 0).sum() == pytest.approx((edges < 0).sum(), rel=0.1)
    assert samples.densities[0].mean() == pytest.approx(0.02, rel=0.02)
    positive = planted.sparse_network(10, (1000, 400), 5, 0.02, negative=False).layers[0]
    assert positive.data.min() == 1


def test_flips_and_noise():
    settings = {"sizes": (400, 100), "degrees": 8, "density": 0.03, "random_state": 3}
    flipped = planted.sparse_network(2000, flips=0.02, **settings)
    assert (flipped.Y.toarray() != (below(flipped, 0) > 0)).mean() == pytest.approx(0.02, rel=0.05)
    real = planted.sparse_network(2000, observed="real", noise=0.3, **settings)
    assert (real.Y - below(real, 0)).std() == pytest.approx(0.3, rel=0.02)
    exact = planted.sparse_network(200, observed="real", **settings)
    assert np.array_equal(exact.Y, below(exact, 0))


def test_large_networks_are_drawn_in_pieces(monkeypatch):
    whole = planted.sparse_network(500, (200, 60), 6, 0.05, random_state=4)
    monkeypatch.setattr("latentia.datasets.planted.networks._PIECE_EDGES", 2000)
    pieces = planted.sparse_network(500, (200, 60), 6, 0.05, random_state=4)
    assert (whole.Y != pieces.Y).nnz == 0
    assert pieces.Y.has_sorted_indices


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sizes": (100,)}, "hidden layer"),
        ({"sizes": (100, 0)}, "at least 1"),
        ({"degrees": 60}, "parents"),
        ({"degrees": (3, 3)}, "expected 1, one for each"),
        ({"density": 0.0}, "density"),
        ({"observed": "both"}, "'binary' or 'real'"),
        ({"flips": 1.0}, "flips"),
        ({"noise": 0.1}, "other must be 0"),
    ],
)
def test_wrong_settings_are_named(wrong, message):
    with pytest.raises(LatentiaError, match=message):
        planted.sparse_network(**{"n_rows": 10, "sizes": (100, 50), "degrees": 5, **wrong})


def test_no_single_layer_has_the_outputs_of_two():
    network = planted.uncompressible_network(3)
    hidden = network.inputs.astype(int) @ network.layers[1].toarray() > 0
    assert np.array_equal(hidden.astype(int) @ network.layers[0].toarray() > 0, network.outputs)
    assert np.array_equal(network.outputs, np.array([[0], [0], [1], [1]], dtype=bool).repeat(3, axis=1))
    assert not planted.threshold_margins(network.inputs, network.outputs).any()
    for left_out in range(4):  # each of the four is needed
        kept = np.delete(np.arange(4), left_out)
        assert planted.threshold_margins(network.inputs[kept], network.outputs[kept]).min() > 0.1


def test_a_single_layer_has_its_own_outputs():
    samples = planted.sparse_network(300, (20, 15), 5, 0.2, random_state=5)
    outputs = samples.Y.toarray()
    assert (planted.threshold_margins(samples.hidden[0].toarray(), outputs) > 0).all()
    with pytest.raises(LatentiaError, match="as many rows"):
        planted.threshold_margins(np.ones((3, 2)), np.ones((2, 1)))


def test_unique_neighbours_of_given_sets():
    edges = sparse.csr_array(np.array([[1, 1, 1, 1, 0, 0], [0, 0, 0, 1, -1, 1], [0, 0, 0, 0, 0, 1]]))
    by_set = [planted.network_properties(edges, 0.3, sets=[chosen]).checks[0] for chosen in ([], [0, 1], [1])]
    assert [check.measured for check in by_set] == pytest.approx([1.0, 0.0, 0.0])
    alone = planted.network_properties(edges[:2], 0.3, sets=[[0, 1]], epsilon=0.34)
    assert alone.checks[0].measured == pytest.approx(2 / 3)
    assert alone.holds("unique")


def test_properties_hold_where_units_overlap_little():
    few = planted.sparse_network(1, (8000, 40), 2, 0.05, negative=False, random_state=6)
    properties = planted.network_properties(few.layers, 0.05, n_samples=50)
    assert properties.holds("sing+")
    recovery = [check for check in properties.checks if check.group == "rec+"]
    assert all(check.holds for check in recovery[:4])
    assert not properties.holds("neg+")  # some nodes have no positive parent
    many = planted.sparse_network(1, (300, 100), 40, 0.05, random_state=6)
    crowded = planted.network_properties(many.layers, 0.05, n_samples=50)
    assert not any(crowded.holds(group) for group in ("unique", "rec+", "sing"))


def test_properties_of_several_layers():
    samples = planted.sparse_network(1, (600, 200, 200), (6, 20), 0.01, random_state=7)
    properties = planted.network_properties(samples.layers, 0.01, n_samples=30)
    assert {check.group for check in properties.checks} == {"unique", "sing", "sing+", "mul", "mul+", "rec+", "neg+"}
    ancestors = samples.layers[1].toarray().T > 0
    positive = (samples.layers[0].toarray().T > 0).astype(int) @ ancestors > 0
    degrees = [np.abs(edges).sum() / edges.shape[1] for edges in samples.layers]
    measured = next(c for c in properties.checks if c.layer == 0 and c.name == "2 positive ancestors, relative")
    assert measured.measured == pytest.approx(positive.sum(axis=1).min() / (degrees[0] * degrees[1] / 4))
    shared = positive.astype(int) @ positive.T
    np.fill_diagonal(shared, 0)
    most = next(c for c in properties.checks if c.name == "1 positive ancestors in common")
    assert most.measured == pytest.approx(shared.max() / (degrees[1] / 2))
    assert len(str(properties).splitlines()) == len(properties.checks)


@pytest.mark.parametrize("negative", [False, True])
def test_degrees_of_positive_edges_are_measured_where_there_are_negative_ones(negative):
    network = planted.sparse_network(1, (300, 100), 10, 0.05, negative=negative, random_state=6)
    checks = {
        check.name: check.measured for check in planted.network_properties(network.layers, 0.05, n_samples=5).checks
    }
    edges = network.layers[0].toarray()
    for i, noun in enumerate(("parents", "children")):
        name = f"{i + 1} positive {noun}, from their mean"
        assert (name in checks) == negative
        if negative:
            counts, mean = (edges > 0).sum(axis=i), np.abs(edges).sum() / edges.shape[1 - i]
            assert checks[name] == pytest.approx(np.abs(2 * counts / mean - 1).max())


def test_properties_refuse_what_is_no_network():
    edges = planted.sparse_network(1, (30, 20), 3, 0.1).layers[0]
    with pytest.raises(LatentiaError, match="as many columns"):
        planted.network_properties([edges, edges], 0.1)
    with pytest.raises(LatentiaError, match="density"):
        planted.network_properties(edges, 0.0)
    with pytest.raises(LatentiaError, match="no measurement"):
        planted.network_properties(edges, 0.1).holds("mul+")
