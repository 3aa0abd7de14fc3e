"""Recovery of planted dictionaries, what is done where there is none, and use in place of scikit-learn's learners."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.dictionary._evidence import new_row_checks
from latentia.dictionary._sparse_codes import AtomsUpdate, Rounds
from latentia.dictionary._split import split_atoms
from latentia.dictionary.pursuit import matching_pursuit
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.linalg import unit_rows
from latentia.metrics import atom_coherence, atom_distances
from latentia.passes import Blocks, accumulate

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.EvidenceWarning")


@pytest.fixture(scope="module")
def data():
    return planted.sparse_codes(4000, n_features=40, n_components=64, sparsity=2, random_state=3)


@pytest.mark.parametrize("sparsity", [2, None])
def test_every_atom_of_rows_without_noise_is_found(data, sparsity):
    model = IncoherentDictionary(64, sparsity=sparsity, n_splits=0).fit(data.X)
    assert model.start_ == "graph"
    assert model.sparsity_ == 2
    assert atom_distances(data.components, model.components_).max() < 0.01
    assert model.reconstruction_err_ < 1e-3  # pursuit fails on a few rows, whatever the dictionary
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    assert (np.diff(model.usage_) <= 0).all()


@pytest.mark.parametrize("coefficients", ["signs", "uniform", "normal"])
def test_noise_moves_the_atoms_as_much_as_the_evidence_says(coefficients):
    data = planted.sparse_codes(6000, 40, 60, 2, noise=0.05, coefficients=coefficients, random_state=4)
    model = IncoherentDictionary(60).fit(data.X)
    error = atom_distances(model.components_, data.components).mean()
    assert error < 0.05
    assert 0.5 < error / model.evidence_.expected_error < 2
    assert model.evidence_.holds


def test_directions_of_atoms_that_always_come_together_are_not_trusted():
    rng = np.random.default_rng(2)
    atoms = unit_rows(rng.standard_normal((40, 48)))
    pairs, values = rng.integers(0, 20, 3000), rng.uniform(1, 2, (3000, 2)) * rng.choice([-1, 1], (3000, 2))
    rows = values[:, :1] * atoms[pairs] + values[:, 1:] * atoms[pairs + 20] + 0.05 * rng.standard_normal((3000, 48))
    evidence = IncoherentDictionary(40, sparsity=2).fit(rows).evidence_
    assert not next(check for check in evidence.checks if check.name == "atoms that come together").holds
    assert not evidence.holds
    assert evidence.expected_error > 0.5


@pytest.mark.parametrize("columns", ["svd", "average"])
def test_averages_are_as_near_as_those_of_the_true_supports(columns):
    """Algorithm 5.2 with all rows: its error falls as one over the root of their number."""
    errors = []
    for n_rows in (2000, 16_000):
        data = planted.sparse_codes(n_rows, n_features=40, n_components=60, sparsity=2, random_state=3)
        model = IncoherentDictionary(60, sparsity=2, atom_update=columns, refine=0).fit(data.X)
        errors.append(np.median(atom_distances(data.components, model.components_)))
        told = unit_rows(data.codes.sign().T @ data.X)
        assert errors[-1] < 1.2 * np.median(atom_distances(data.components, told))
        assert len(model.errors_) == 0
        assert 0.8 < model.evidence_.expected_error / atom_distances(model.components_, data.components).mean() < 3
    assert errors[1] < 0.45 * errors[0]


def test_averages_of_all_rows_find_the_sparsity_too(data):
    assert IncoherentDictionary(64, refine=0, n_splits=0).fit(data.X).sparsity_ == 2


def test_averages_are_the_same_bits_in_any_number_of_threads(data):
    blocks = Blocks.from_array(data.X, block_rows=700)
    one, two = (IncoherentDictionary(64, sparsity=2, refine=0, n_splits=0, n_jobs=n).fit(blocks) for n in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize("coefficients", ["signs", "uniform"])
def test_atoms_that_come_in_pairs_with_coefficients_off_zero_are_found(coefficients):
    """Class D of the thesis."""
    data = planted.sparse_codes(
        4000, 48, 72, 3, coefficients=coefficients, mean=0.5, pair_correlation=0.3, random_state=1
    )
    model = IncoherentDictionary(72, sparsity=3).fit(data.X)
    assert atom_distances(data.components, model.components_).max() < 0.01
    assert model.evidence_.grade in ("supported", "with care")


def test_one_row_without_a_code_is_no_veto(data):
    """Of 2,000, where no noise is left of the rows that the atoms were learned from."""
    exact = data.X[matching_pursuit(data.X, data.components, 2).residuals[:, 2] < 1e-9]
    learned, others = exact[:1500], exact[1500:3500].copy()
    others[0] += 0.3
    sums = accumulate(Blocks.from_array(learned), AtomsUpdate(data.components, 2, Rounds(), 0))
    (check,) = new_row_checks(learned, others, data.components, 2, sums)
    assert check.measured > 0


def test_random_rows_begin_where_the_graph_has_no_clusters():
    data = planted.sparse_codes(1500, n_features=64, n_components=200, sparsity=12, noise=1.0, random_state=0)
    with pytest.warns(EvidenceWarning, match="The connection graph gave"):
        model = IncoherentDictionary(200, sparsity=12).fit(data.X)
    assert model.start_ == "random"
    assert not model.evidence_.holds


def test_an_atom_between_two_becomes_both():
    rng = np.random.default_rng(0)
    true = unit_rows(rng.standard_normal((6, 30)))
    rows = rng.choice([-1.0, 1.0], (600, 1)) * true[np.arange(600) % 6] + 0.01 * rng.standard_normal((600, 30))
    between = unit_rows(np.vstack([true[0] + true[1], true[2:], rng.standard_normal(30)]))
    sums = accumulate(Blocks.from_array(rows), AtomsUpdate(between, 1, Rounds(), 0))
    assert atom_distances(true, between).max() > 0.5
    assert atom_distances(true, split_atoms(between, sums, rows, matching_pursuit(rows, between, 1))).max() < 0.05


def test_a_random_start_asks_for_no_graph(data):
    model = IncoherentDictionary(64, sparsity=2, init="random", n_splits=0).fit(data.X)
    assert model.start_ == "random"
    assert "clusters of the graph" not in model.evidence_.to_frame().index
    assert (atom_distances(data.components, model.components_) < 0.1).mean() > 0.9


def test_white_noise_is_not_supported():
    rows = np.random.default_rng(0).standard_normal((2000, 16))
    model = IncoherentDictionary(24).fit(rows)
    assert model.evidence_.grade == "not supported"


def test_too_many_and_too_few_atoms_are_seen(data):
    many = IncoherentDictionary(90, sparsity=2).fit(data.X)
    assert many.evidence_["atoms in use"].measured < 81
    assert not IncoherentDictionary(20, sparsity=2).fit(data.X).evidence_.holds


def test_their_number_is_found():
    data = planted.sparse_codes(4000, n_features=40, n_components=64, sparsity=2, noise=0.05, random_state=3)
    model = IncoherentDictionary("auto", sparsity=2, n_splits=1).fit(data.X)
    assert 58 <= model.n_components_ <= 72


def test_it_stands_in_for_the_learners_of_scikit_learn(data):
    model = IncoherentDictionary(64, sparsity=2, n_splits=0)
    codes = make_pipeline(FunctionTransformer(), model).fit_transform(data.X)
    assert codes.shape == (4000, 64)
    assert (codes != 0).sum(axis=1).max() <= 2
    left = np.linalg.norm(model.inverse_transform(codes) - data.X, axis=1)
    assert np.median(left) < 0.02
    np.testing.assert_allclose(model.inverse_transform(sparse.csr_array(codes)), model.inverse_transform(codes))
    assert list(model.get_feature_names_out()[:2]) == ["incoherentdictionary0", "incoherentdictionary1"]
    assert model.score(data.X) <= 0


def test_blocks_sparse_tables_and_threads_give_the_same(data):
    one = IncoherentDictionary(64, sparsity=2, n_splits=0).fit(data.X)
    blocks = Blocks.from_array(data.X, block_rows=700)
    other = IncoherentDictionary(64, sparsity=2, n_splits=0, n_jobs=2).fit(blocks)
    assert atom_distances(one.components_, other.components_).max() < 1e-4


def test_rows_with_an_offset_are_seen(data):
    model = IncoherentDictionary(64, sparsity=3, n_splits=0).fit(data.X + 0.5)
    assert model.evidence_["mean of the rows"].holds is False


def test_zeros_and_small_tables_are_fitted():
    rows = np.zeros((20, 5))
    rows[:10] = np.random.default_rng(0).standard_normal((10, 5))
    model = IncoherentDictionary(4, n_splits=0).fit(rows)
    assert np.isfinite(model.transform(rows)).all()
    assert IncoherentDictionary(1, n_splits=0).fit(rows).components_.shape == (1, 5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5000}, "at most 4000 atoms"),
        ({"n_components": 3, "sparsity": 4}, "at most 3"),
        ({"n_components": 64, "sparsity": 50}, "at most 40"),
    ],
)
def test_sizes_that_cannot_be(data, parameters, message):
    with pytest.raises(LatentiaError, match=message):
        IncoherentDictionary(**parameters).fit(data.X)


def test_codes_of_another_width_are_refused(data):
    model = IncoherentDictionary(64, sparsity=2, refine=2, n_splits=0).fit(data.X)
    with pytest.raises(LatentiaError, match="expected 64"):
        model.inverse_transform(np.zeros((2, 3)))


def test_distances_are_up_to_sign_and_order():
    atoms = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    np.testing.assert_allclose(atom_distances(-atoms[::-1], atoms), 0.0, atol=1e-12)
    np.testing.assert_allclose(atom_coherence(atoms), 0.0, atol=1e-12)
    np.testing.assert_allclose(atom_distances(atoms[:1], atoms[1:]), np.sqrt(2))


def test_planted_codes_make_the_rows(data):
    np.testing.assert_allclose(data.codes @ data.components, data.X)
    np.testing.assert_array_equal(np.diff(data.codes.indptr), 2)
    assert data.codes.has_canonical_format
    with pytest.raises(LatentiaError, match="sparsity=9"):
        planted.sparse_codes(10, 4, 8, 9)


def test_planted_pairs_and_means():
    data = planted.sparse_codes(20_000, 8, 20, 3, coefficients="uniform", mean=0.5, pair_correlation=0.3)
    used = (data.codes != 0).toarray()
    correlations = np.corrcoef(used.T)
    assert correlations[np.arange(0, 20, 2), np.arange(1, 20, 2)].mean() == pytest.approx(0.3, abs=0.02)
    np.testing.assert_allclose(used.mean(axis=0), 3 / 20, atol=0.01)
    np.testing.assert_array_equal(used.sum(axis=1), 3)
    assert data.codes.data.mean() / np.abs(data.codes.data).mean() == pytest.approx(0.5, abs=0.02)
    for wrong in ({"mean": 1.5}, {"pair_correlation": 0.9}, {"pair_correlation": -0.5}):
        with pytest.raises(LatentiaError, match=next(iter(wrong))):
            planted.sparse_codes(10, 8, 20, 3, **wrong)
