"""Recovery, prediction and evidence of sparse networks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.datasets import planted
from latentia.deep import SparseNetwork
from latentia.deep._evidence import unit_distances
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.passes import Blocks


@pytest.fixture(scope="module")
def network():
    return planted.sparse_network(4000, (600, 150), 8, 0.015, random_state=1)


@pytest.fixture(scope="module")
def model(network):
    return SparseNetwork().fit(network.Y)


@pytest.fixture(scope="module")
def deep():
    return planted.sparse_network(40_000, (1500, 300, 400), (5, 24), 0.002, random_state=3)


def same_units(model, network, layer=0):
    """For every unit of the truth its place in the model, from exactly equal positive edges; -1 where there is none."""
    found = {row.tobytes(): i for i, row in enumerate(model.layers_[layer].toarray() > 0)}
    return np.array([found.get(row.tobytes(), -1) for row in network.layers[layer].toarray() > 0])


def test_units_and_their_positive_edges_are_found(model, network):
    assert model.layers_[0].shape == (150, 600)
    assert (same_units(model, network) >= 0).mean() >= 0.99


def test_negative_edges_are_right_where_they_are_decided(model, network):
    place = same_units(model, network)
    truth = network.layers[0].toarray()[place >= 0]
    found, undetermined = (
        table[0].toarray()[place[place >= 0]] for table in (model.layers_, model.undetermined_)
    )  # fmt: skip
    known = ~undetermined & (truth <= 0)
    assert (truth[known] != found[known]).mean() < 1e-3
    assert ((found == -1) & (truth == -1)).sum() > 0.5 * (truth == -1).sum()
    assert not found[undetermined].any()


def test_codes_are_the_hidden_units(model, network):
    place = same_units(model, network)
    true = network.hidden[0].toarray()[:, place >= 0]
    assert (model.encode(network.Y).toarray()[:, place[place >= 0]] == true).all(axis=1).mean() > 0.98


def test_decoding_gives_rows_back_and_denoising_takes_flips_out(model, network):
    rng = np.random.default_rng(0)
    clean = network.Y[:1000].toarray()
    flipped = clean ^ (rng.random(clean.shape) < 0.01)
    assert (model.denoise(flipped).toarray() != clean).mean() < 0.25 * (flipped != clean).mean()


def test_flipped_bits_do_no_harm():
    network = planted.sparse_network(4000, (600, 150), 8, 0.015, flips=0.02, random_state=1)
    model = SparseNetwork(n_splits=0).fit(network.Y)
    assert model.layers_[0].shape[0] == 150
    assert unit_distances(model.layers_, network.layers).mean() < 0.01


def test_two_layers(deep):
    model = SparseNetwork(2, n_splits=0).fit(deep.Y)
    errors = unit_distances(model.layers_, deep.layers)
    first = model.layers_[0].shape[0]
    assert abs(first - 300) <= 2
    assert (errors[:first] == 0).mean() > 0.95
    assert model.layers_[1].shape[0] >= 0.9 * 400
    assert (errors[first:] == 0).mean() > 0.95
    assert model.encode(deep.Y[:10]).shape == (10, model.layers_[1].shape[0])
    assert model.encode(deep.Y[:10], layer=1).shape == (10, first)
    assert model.decode(model.encode(deep.Y[:10])).shape == (10, 1500)


def test_evidence_of_a_network(model, network):
    errors = model.evidence_.component_errors
    assert model.evidence_.grade == "supported"
    assert errors.shape == (150,)
    assert abs(errors.mean() - unit_distances(model.layers_, network.layers).mean()) < 0.02
    assert model.evidence_["better than independent columns"].holds
    assert model.evidence_["goodness of fit"].holds
    assert model.evidence_.stability(network.Y, n_splits=1).shape == (150,)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((40, 6), int),
        np.ones((40, 6), int),
        np.eye(2, 5, dtype=int),
        np.random.default_rng(0).random((2000, 300)) < 0.05,
        np.random.default_rng(1).random((500, 100)) < 0.5,
        np.random.default_rng(2).random((3000, 300)) < 10 ** np.random.default_rng(3).uniform(-3, -0.1, 300),
    ],
    ids=["zeros", "ones", "two rows", "noise", "dense", "unequal rates"],
)
def test_nothing_is_found_where_nothing_is(table):
    with pytest.warns(EvidenceWarning, match="No hidden unit"):
        model = SparseNetwork().fit(table)
    assert model.layers_[0].shape == (0, table.shape[1])
    assert model.evidence_.grade == "not supported"
    assert model.transform(table).shape == (len(table), 0)
    assert model.denoise(table).nnz == 0
    assert model.sample(3)[0].shape == (3, table.shape[1])


def test_correlated_columns_are_no_units():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((3000, 1))
    rows = 0.7 * common + 0.7 * rng.standard_normal((3000, 60)) > 1
    with pytest.warns(EvidenceWarning):
        assert SparseNetwork().fit(rows).layers_[0].shape[0] == 0


def test_series_in_time_have_no_units():
    rng = np.random.default_rng(0)
    steps = rng.standard_normal((3000, 150))
    for t in range(1, 3000):
        steps[t] = 0.98 * steps[t - 1] + 0.2 * steps[t]
    with pytest.warns(EvidenceWarning):
        assert SparseNetwork().fit(steps > 1).layers_[0].shape[0] == 0


def test_rows_that_are_copies_are_not_trusted():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.random((300, 300)) < 0.06, 10, axis=0)[rng.permutation(3000)]
    model = SparseNetwork().fit(rows)
    assert model.evidence_.grade == "not supported"


def test_units_that_overlap_too_much_are_not_found():
    network = planted.sparse_network(2000, (400, 100), 20, 0.2, random_state=0)
    with pytest.warns(EvidenceWarning):
        assert SparseNetwork().fit(network.Y).layers_[0].shape[0] == 0


def test_layers_that_cannot_be_seen_are_not_invented(network):
    with pytest.warns(EvidenceWarning, match="layer 2"):
        model = SparseNetwork(2, n_splits=0).fit(network.Y)
    assert len(model.layers_) == 1
    assert model.evidence_["layers found"].holds is False


def test_same_answer_for_any_form_of_the_table_and_any_threads(network):
    pytest.importorskip("pandas")
    import pandas as pd

    few = network.Y[:1500]
    base = SparseNetwork(n_splits=0).fit(few)
    forms = (
        few.toarray().astype(float),
        pd.DataFrame(few.toarray().astype(int)),
        Blocks.from_array(few.astype(np.int32), block_rows=100),
        sparse.csc_array(few),
    )
    for table in forms:
        other = SparseNetwork(n_splits=0, n_jobs=3).fit(table)
        for one, two in zip(base.layers_ + base.undetermined_, other.layers_ + other.undetermined_, strict=True):
            assert (one != two).nnz == 0
        np.testing.assert_array_equal(base.densities_[0], other.densities_[0])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (np.array([[0, 1], [1, 2]]), "0 or 1 in column 1; row 1 holds 2"),
        (np.array([[0, 0.5], [1, 1]]), "0 or 1 in column 1; row 0 holds 0.5"),
        (np.array([[0, -1], [1, 1]]), "0 or 1 in column 1; row 0 holds -1"),
        (np.array([[0, np.nan], [1, 1]]), "NaN"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros((5, 1)), "minimum of 2"),
    ],
)
def test_what_is_no_table_of_bits_is_refused(table, said):
    with pytest.raises(LatentiaError, match=said):
        SparseNetwork().fit(table)


def test_rows_of_other_values_or_widths_are_refused(model):
    with pytest.raises(LatentiaError, match='input_type="real"'):
        model.encode(np.full((2, 600), 0.3))
    with pytest.raises(LatentiaError, match="600"):
        model.encode(np.zeros((2, 5)))
    with pytest.raises(LatentiaError, match="hidden layers 1 to 1"):
        model.encode(np.zeros((2, 600)), layer=2)
    with pytest.raises(LatentiaError, match="150 columns"):
        model.decode(np.zeros((2, 5)))


def test_samples_are_decoded_codes(model):
    Y, H = model.sample(500, random_state=1)
    assert Y.shape == (500, 600)
    assert (model.decode(H) != Y).nnz == 0
    assert abs(H.mean() - model.densities_[0].mean()) < 0.002
    assert (model.encode(Y) != H).sum(axis=1).astype(bool).mean() < 0.05


def test_no_errors_without_splits(network):
    model = SparseNetwork(n_splits=0).fit(network.Y[:1500])
    assert model.evidence_.component_errors is None
    assert model.evidence_.grade == "not supported"


def test_units_are_ordered_by_their_firings_and_named(model):
    assert (np.diff(model.densities_[0]) <= 0).all()
    assert len(model.get_feature_names_out()) == 150
    assert model.n_passes_ <= 2


def changed(path, name, change):
    """The same file with another array."""
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = change(arrays[name])
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("header", lambda a: np.frombuffer(a.tobytes().replace(b"60]}", b"67]}"), np.uint8)),
        ("layers_.0.data", lambda a: np.full_like(a, 99)),
        ("layers_.0.data", lambda a: a.astype(np.float64)),
        ("layers_.0.indices", lambda a: np.zeros_like(a)),
        ("undetermined_.0.data", lambda a: a.astype(np.int8)),
        ("densities_.0", lambda a: a[:-1]),
    ],
    ids=["columns", "edges", "type", "places", "undetermined", "densities"],
)
@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_a_saved_network_that_no_fit_makes_is_not_loaded(name, change, tmp_path):
    model = SparseNetwork(n_splits=0).fit(planted.sparse_network(500, (60, 15), 6, 0.05, random_state=1).Y)
    path = latentia.save(model, tmp_path / "network.npz")
    assert latentia.load(path).layers_[0].shape[1] == 60
    changed(path, name, change)
    with pytest.raises(latentia.LatentiaError, match="not a model saved by latentia, or damaged"):
        latentia.load(path)
