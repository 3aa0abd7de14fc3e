import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning, NotSupportedWarning
from latentia.ica import TensorICA, _fast_ica, tensor_ica
from latentia.metrics import amari_index
from latentia.passes import Blocks
from latentia.tensor.decompose import decompose_operator


@pytest.fixture(scope="module")
def data():
    return planted.independent_sources(20_000, 10, random_state=0)


def test_separation(data):
    plain, refined = TensorICA(refine=0).fit(data.X), TensorICA().fit(data.X)
    assert amari_index(plain.components_, data.mixing) < 0.013
    assert amari_index(refined.components_, data.mixing) < 0.008
    assert (plain.n_passes_, refined.n_passes_) == (2, 2 + refined.n_iter_)
    sources = plain.transform(data.X)
    np.testing.assert_allclose(sources.T @ sources / len(sources), np.eye(10), atol=1e-6)
    np.testing.assert_allclose(plain.inverse_transform(sources), data.X, atol=1e-8)
    np.testing.assert_allclose(plain.components_ @ plain.mixing_, np.eye(10), atol=1e-8)
    assert (plain.mixing_[np.abs(plain.mixing_).argmax(axis=0), np.arange(10)] > 0).all()
    np.testing.assert_allclose(plain.kurtosis_, 3, atol=1.2)  # a Laplace distribution has 3


@pytest.mark.parametrize("n_gaussian", [1, 3])
def test_several_gaussian_sources_are_directions_at_random(n_gaussian):
    rng = np.random.default_rng(0)
    sources = np.hstack([rng.laplace(size=(8000, 6 - n_gaussian)), rng.standard_normal((8000, n_gaussian))])
    model = TensorICA().fit(sources @ rng.standard_normal((6, 6)))
    errors = np.sort(model.evidence_.component_errors)
    assert errors[: 6 - n_gaussian].max() < 0.1
    assert (errors[6 - n_gaussian :].min() > 0.5) == (n_gaussian > 1)


@pytest.mark.parametrize("refine", [0, "auto"])
@pytest.mark.parametrize("distribution", ["uniform", "mixed", "exponential"])
def test_sources_of_either_sign_of_kurtosis(distribution, refine):
    data = planted.independent_sources(20_000, 6, distribution=distribution, random_state=1)
    assert amari_index(TensorICA(refine=refine).fit(data.X).components_, data.mixing) < 0.04


@pytest.mark.parametrize("refine", [0, "auto"])
def test_units_and_origin_do_not_matter(data, refine):
    scale = np.geomspace(1e-7, 1e7, 10)
    model = TensorICA(refine=refine).fit(data.X * scale + 1e3 * scale)
    assert amari_index(model.components_ * scale, data.mixing) < 0.013
    back = model.inverse_transform(model.transform(data.X * scale + 1e3 * scale))
    np.testing.assert_allclose(back, data.X * scale + 1e3 * scale, rtol=1e-6)


def test_more_features_than_sources():
    data = planted.independent_sources(20_000, 4, 30, random_state=2)
    model = TensorICA(4).fit(data.X)
    assert model.components_.shape == (4, 30)
    assert amari_index(model.components_, data.mixing) < 0.02
    assert model.evidence_["variance left out"].measured < 1e-9
    assert model.evidence_.holds
    with pytest.raises(LatentiaError, match="^n_components=6: 26 of 30 features .* at most 4 components"):
        TensorICA(6).fit(data.X)


def test_fewer_components_than_sources_do_not_hold(data):
    evidence = TensorICA(4).fit(data.X).evidence_
    left_out = evidence["variance left out"]
    assert left_out.holds is False
    assert not evidence.holds
    assert evidence.component_errors.min() >= np.sqrt(left_out.measured)


def test_the_same_bits_for_any_input_form_and_number_of_threads(data):
    x = data.X[:5000]
    first = TensorICA(10).fit(x)
    for other in (TensorICA(10, n_jobs=2).fit(x), TensorICA(10).fit(Blocks.from_array(x))):
        assert (other.components_ == first.components_).all()
        assert (other.evidence_.component_errors == first.evidence_.component_errors).all()


@pytest.mark.parametrize("refine", [0, "auto"])
def test_evidence(data, tmp_path, refine):
    model = TensorICA(refine=refine).fit(data.X)
    assert model.evidence_.holds
    gains = model.components_ @ data.mixing
    gains /= np.linalg.norm(gains, axis=1, keepdims=True)
    true = np.sqrt(1 - (gains**2).max(axis=1)).mean()
    assert model.evidence_.component_errors.mean() == pytest.approx(true, rel=0.4)
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert (loaded.transform(data.X[:9]) == model.transform(data.X[:9])).all()
    assert loaded.evidence_.stability(data.X, n_splits=1).mean() == pytest.approx(true, rel=0.5)


def test_gaussian_sources_are_told():
    x = np.random.default_rng(0).standard_normal((4000, 5))
    evidence = TensorICA(refine=0).fit(x).evidence_
    assert evidence["sources that look Gaussian"].measured >= 3
    assert not evidence.holds


def test_refining_that_does_not_converge_warns():
    x = np.random.default_rng(0).standard_normal((1000, 8))
    with pytest.warns(EvidenceWarning, match="not converged after 2 iterations.* raise refine=2"):
        model = TensorICA(refine=2).fit(x)
    assert model.n_iter_ == len(model.refinement_) == 2
    assert model.evidence_["FastICA has converged"].holds is False
    with pytest.warns(EvidenceWarning, match="not converged after 200 iterations.*nearly Gaussian\\.$"):
        TensorICA(n_splits=0).fit(np.random.default_rng(0).standard_normal((4000, 8)))


def test_iterations_are_those_of_fast_ica(data):
    x = data.X[:5000]
    start, most = TensorICA(refine=0).fit(x), 3
    fast = FastICA(whiten=False, w_init=np.eye(10), max_iter=most, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fast.fit(start.transform(x))
    found = TensorICA(refine=most).fit(x)
    expected = fast.components_ @ start.components_
    np.testing.assert_allclose(np.abs(found.components_), np.abs(expected), rtol=1e-9, atol=1e-12)
    assert found.n_iter_ == fast.n_iter_
    assert (found.kurtosis_ == start.kurtosis_).all()


def test_refinement_is_what_fast_ica_climbs(data):
    x = data.X[:5000]
    start, model = TensorICA(refine=0).fit(x), TensorICA().fit(x)
    assert start.refinement_.shape == (0,)
    assert model.refinement_.shape == (model.n_iter_,)
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    gaussian = weights @ np.log(np.cosh(nodes)) / weights.sum()
    climbed = [
        np.abs(np.log(np.cosh(one.transform(x))).mean(axis=0) - gaussian).sum() for one in (start, model)
    ]  # fmt: skip
    assert model.refinement_[0] == pytest.approx(climbed[0], rel=1e-6)
    assert (np.diff(model.refinement_) > 0).all()
    assert climbed[1] > model.refinement_[-1] - 1e-9
    assert model.evidence_["FastICA has converged"].holds
    with pytest.raises(KeyError):
        start.evidence_["FastICA has converged"]


def test_data_is_read_block_by_block(data):
    x = data.X[:5000]
    one, many = TensorICA().fit(x), TensorICA().fit(Blocks.from_array(x, block_rows=333))
    np.testing.assert_allclose(one.components_, many.components_, rtol=1e-9)
    assert one.n_iter_ == many.n_iter_


@pytest.mark.parametrize("rows", [7, 5000])
def test_coordinates_are_kept_where_they_are_few_and_computed_anew_otherwise(data, monkeypatch, rows):
    blocks = Blocks.from_array(data.X[:5000], block_rows=rows)
    kept = TensorICA(n_splits=0).fit(blocks)
    monkeypatch.setattr(_fast_ica, "_MAX_CACHE", 0)
    anew = TensorICA(n_splits=0).fit(blocks)
    np.testing.assert_allclose(kept.components_, anew.components_, rtol=1e-9)
    assert kept.n_iter_ == anew.n_iter_ > 0


def test_one_source_needs_no_iterations():
    model = TensorICA().fit(np.random.default_rng(0).laplace(size=(500, 1)))
    assert (model.n_passes_, len(model.refinement_)) == (2, 0)


def test_bad_input(data):
    x = data.X[:200]
    with pytest.raises(LatentiaError, match="^n_components=11: 1 of 11 features are constant, copies or combinations"):
        TensorICA(11).fit(np.hstack([x, np.full((200, 1), 0.1)]))
    with pytest.raises(
        LatentiaError,
        match="^n_components=11: the data has 200 rows and 10 features: this data supports at most 10 components",
    ):
        TensorICA(11).fit(x)
    with pytest.raises(LatentiaError, match="parse"):
        TensorICA().fit(sparse.csr_array(x))
    with pytest.raises(LatentiaError, match="^n_components=120: .* more than a gigabyte"):
        TensorICA().fit(np.random.default_rng(0).standard_normal((300, 120)))
    with pytest.raises(LatentiaError, match=r"shape \(n_rows, 10\)"):
        TensorICA().fit(x).inverse_transform(np.ones((3, 4)))
    with pytest.raises(LatentiaError, match="random_state=-1"):
        TensorICA(random_state=-1).fit(x)


@pytest.mark.parametrize("refine", [0, 30, "auto"])
def test_errors_that_were_not_measured_do_not_hold(refine):
    data = planted.independent_sources(5000, 5, random_state=0)
    evidence = TensorICA(3, refine=refine, n_splits=0).fit(data.X[:, :5]).evidence_
    assert evidence["expected error"].measured is None
    assert not evidence.holds
    assert not TensorICA(n_splits=0, refine=refine).fit(data.X).evidence_.holds
    assert TensorICA(n_splits=1, refine=refine).fit(data.X).evidence_.holds


def test_what_is_no_number_is_named_in_blocks(data):
    model = TensorICA().fit(data.X[:2000])
    x = data.X[:100].copy()
    x[77, 3] = np.nan
    with pytest.raises(LatentiaError, match="Row 77, column 3: NaN"):
        model.transform(Blocks.from_array(x, block_rows=30))
    with pytest.raises(LatentiaError, match="NaN"):
        model.transform(x)
    with pytest.raises(LatentiaError, match="NaN"):
        model.inverse_transform(x)


def test_a_fit_that_fails_changes_nothing(data):
    model = TensorICA().fit(data.X[:2000])
    sources = model.transform(data.X)
    with pytest.raises(LatentiaError, match="features are constant"):
        model.fit(np.ones((50, 20)))
    assert (model.transform(data.X) == sources).all()


def test_the_warning_points_at_the_line_that_fits():
    x = np.random.default_rng(0).standard_normal((1000, 8))
    with pytest.warns(EvidenceWarning) as caught:
        TensorICA(refine=2).fit(x)
    assert {warning.filename for warning in caught} == {__file__}


def test_right_data_has_no_misfit(data):
    evidence = TensorICA(refine=0).fit(data.X).evidence_
    assert evidence["goodness of fit"].holds
    assert evidence["cumulant above noise"].holds
    assert evidence.grade == "supported"


@pytest.mark.parametrize("wrong", ["noise", "too many sources", "correlated"])
def test_misfit_widens_the_errors_and_asks_for_care(wrong):
    rng = np.random.default_rng(0)
    sources = rng.laplace(size=(20_000, 8 if wrong == "too many sources" else 5))
    if wrong == "correlated":
        sources = sources + 0.6 * rng.laplace(size=(20_000, 1))
    mixing = rng.standard_normal((5, sources.shape[1]))
    x = sources @ mixing.T
    x = x + 2 * rng.standard_normal(x.shape) if wrong == "noise" else x
    model = TensorICA(refine=0).fit(x)
    gains = model.components_ @ mixing
    gains /= np.linalg.norm(gains, axis=1, keepdims=True)
    true = np.sqrt(1 - (gains**2).max(axis=1)).mean()
    assert model.evidence_["goodness of fit"].holds is False
    assert not model.evidence_.holds
    assert model.evidence_.expected_error > true / 2


def test_sources_that_are_loud_together_ask_for_care_and_keep_their_errors():
    rng = np.random.default_rng(1)
    sources = rng.laplace(size=(20_000, 5)) * np.exp(0.3 * rng.standard_normal((20_000, 1)))
    evidence = TensorICA(refine=0).fit(sources @ rng.standard_normal((5, 5))).evidence_
    assert evidence["goodness of fit"].holds is False
    assert evidence.expected_error < 0.2


@pytest.mark.filterwarnings("ignore:FastICA has not converged")
@pytest.mark.parametrize("refine", [0, "auto"])
def test_gaussian_data_is_in_no_good_grade(refine):
    x = np.random.default_rng(0).standard_normal((4000, 5)) @ np.random.default_rng(1).standard_normal((5, 5))
    evidence = TensorICA(refine=refine).fit(x).evidence_
    assert evidence["cumulant above noise"].holds is False
    assert evidence.grade == "not supported"


@pytest.mark.parametrize("k", [2, 4])
def test_the_cumulant_of_gaussian_rows_over_its_mean_has_the_distribution_of_f(k, monkeypatch):
    """Whatever the rows and their covariance, so that the limit is exceeded as often as it says; and whatever the sources."""
    monkeypatch.setattr(tensor_ica, "decompose_operator", partial(decompose_operator, n_init=1, max_iter=3))
    rng, chances = np.random.default_rng(k), []
    free = k * (k + 1) * (k + 2) * (k + 3) // 24, 3 * k * (k + 1) // 2
    for _ in range(100):
        X = rng.standard_normal((int(rng.integers(200, 801)), k)) @ rng.standard_normal((k, k))
        check = TensorICA(refine=0, n_splits=0).fit(X).evidence_["cumulant above noise"]
        chances.append(stats.f.sf(check.measured, *free))
        assert stats.f.sf(check.bound.limit, *free) <= 0.005 * (1 + 1e-9)
    assert abs(np.mean(chances) - 0.5) < 0.115  # four standard errors
    assert np.mean(np.array(chances) < 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)
    assert np.min(chances) > 1e-5


@pytest.mark.parametrize("seed", range(5))
def test_heavy_tailed_sources_are_not_taken_for_gaussian(seed):
    """Their cumulant is far above that of Gaussian data, though halves of the rows disagree on its size."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(6, (1000, 2)) @ rng.standard_normal((2, 2))
    assert TensorICA(refine=0, n_splits=0).fit(X).evidence_["cumulant above noise"].holds


def test_hardly_any_gaussian_rows_are_taken_for_sources():
    """Of 40 none has sources of the first grade, and at most one of the second or the third."""
    grades = []
    for seed in range(2000, 2040):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(200, 2001)), int(rng.integers(3, 6))
        X = rng.standard_normal((n, d)) @ (np.eye(d) if seed % 2 else rng.standard_normal((d, d)))
        grades.append(TensorICA(2 if seed % 3 == 0 else None, refine=0).fit(X).evidence_.grade)
    assert "supported" not in grades
    assert np.mean([grade == "not supported" for grade in grades]) >= 39 / 40


def test_copies_are_no_evidence():
    data = planted.independent_sources(1000, 5, random_state=3)
    once = TensorICA(refine=0).fit(data.X).evidence_.expected_error
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(1000), 10))
    assert once / 2 < TensorICA(refine=0).fit(data.X[rows]).evidence_.expected_error < 2 * once


@pytest.mark.parametrize("size", [4, 2])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
def test_units_of_sources_are_those_of_scikit_learn(whiten, size):
    data = planted.independent_sources(5000, n_components=4)
    model = TensorICA(size, whiten=whiten).fit(data.X)
    peer = FastICA(size, whiten=whiten, random_state=0).fit(data.X)
    sources = model.transform(data.X)
    np.testing.assert_allclose(sources.std(axis=0), peer.transform(data.X).std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(size), atol=1e-9)
    if size == 4:
        np.testing.assert_allclose(model.inverse_transform(sources), data.X, atol=1e-8)


def test_rows_that_are_white_already():
    data = planted.independent_sources(20_000, n_components=4)
    root = np.linalg.inv(np.linalg.cholesky(np.cov(data.X.T)))
    white = (data.X - data.X.mean(axis=0)) @ root.T
    model = TensorICA(whiten=False).fit(white)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-9)
    assert not hasattr(model, "whitening_")
    assert amari_index(model.components_ @ root, data.mixing) < 0.02
    with pytest.raises(LatentiaError, match="expected white rows"):
        TensorICA(whiten=False).fit(data.X)
    with pytest.raises(LatentiaError, match="takes all 4 features as sources"):
        TensorICA(2, whiten=False).fit(white)


def crosstalk(model, mixing):
    gains = model.components_ @ mixing
    shares = (gains / np.linalg.norm(gains, axis=1, keepdims=True)) ** 2
    return np.sqrt(1 - shares.max(axis=1)).mean()


@pytest.fixture(scope="module")
def noisy():
    root = np.random.default_rng(7).standard_normal((4, 4))
    return planted.independent_sources(50_000, 4, noise=root @ root.T, max_condition=10, random_state=5)


def test_gaussian_noise_is_found_and_does_not_bias(noisy, tmp_path):
    model, plain = TensorICA().fit(noisy.X), TensorICA(noise=None).fit(noisy.X)
    assert crosstalk(plain, noisy.mixing) > 0.15
    assert crosstalk(model, noisy.mixing) < 0.06
    assert model.evidence_.component_errors.mean() == pytest.approx(crosstalk(model, noisy.mixing), rel=1)
    assert model.evidence_["Gaussian noise"].holds is False
    assert model.evidence_["goodness of fit"].holds
    assert not plain.evidence_["goodness of fit"].holds
    assert plain.noise_covariance_ is None
    assert (model.components_ == TensorICA(noise="gaussian", n_jobs=2).fit(noisy.X).components_).all()
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(model.mixing_ @ model.mixing_.T + model.noise_covariance_, np.cov(noisy.X.T), rtol=1e-3)
    assert np.linalg.eigvalsh(model.noise_covariance_)[0] > -1e-9
    signal = model.whitening_ @ model.mixing_
    np.testing.assert_allclose(signal @ signal.T, np.eye(4), atol=1e-9)
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert (loaded.noise_covariance_ == model.noise_covariance_).all()


def test_mixed_signs_of_kurtosis_in_noise():
    rng = np.random.default_rng(3)
    sources = np.column_stack(
        [rng.laplace(scale=0.5**0.5, size=(50_000, 2)), rng.uniform(-(3**0.5), 3**0.5, (50_000, 2))]
    )
    mixing, root = rng.standard_normal((4, 4)) + 2 * np.eye(4), 0.5 * rng.standard_normal((4, 4))
    model = TensorICA().fit(sources @ mixing.T + rng.standard_normal((50_000, 4)) @ root.T)
    assert crosstalk(model, mixing) < 0.06
    assert sorted(np.sign(model.kurtosis_)) == [-1, -1, 1, 1]


def test_without_noise_the_default_models_none(data):
    model, plain = TensorICA(refine=0).fit(data.X), TensorICA(refine=0, noise=None).fit(data.X)
    assert (model.components_ == plain.components_).all()
    assert model.noise_covariance_ is None


def test_noise_in_more_features_than_sources():
    root = 0.4 * np.random.default_rng(7).standard_normal((9, 9))
    data = planted.independent_sources(50_000, 4, 9, noise=root @ root.T, random_state=2)
    model = TensorICA(4, noise="gaussian").fit(data.X)
    assert crosstalk(model, data.mixing) < 0.05
    assert model.evidence_["goodness of fit"].holds
    inverse = np.linalg.pinv(model.mixing_)
    sources = data.X - data.sources @ data.mixing.T
    ours, pseudo = ((sources @ matrix.T).var(axis=0).sum() for matrix in (model.components_, inverse))
    assert ours < pseudo  # noise that is left in the sources
    few = TensorICA(2, noise="gaussian").fit(data.X).evidence_
    assert few["goodness of fit"].holds is False
    assert not few.holds


def test_what_is_no_gaussian_noise_is_not_taken_for_it():
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(20_000, 8)) @ rng.standard_normal((8, 5))
    model = TensorICA().fit(x)
    assert model.noise_covariance_ is None
    assert not model.evidence_.holds


def test_noise_needs_rows_that_are_not_white(data):
    with pytest.raises(LatentiaError, match="^noise='gaussian': noise needs whitening"):
        TensorICA(whiten=False, noise="gaussian").fit(data.X)
    with pytest.raises(LatentiaError, match="noise"):
        TensorICA(noise="white").fit(data.X)


def test_errors_in_noise_that_the_cumulant_does_not_show():
    rng, wrong, clean = np.random.default_rng(7), 0, []
    for _ in range(12):
        mixing, shape = rng.standard_normal((4, 4)), np.linalg.qr(rng.standard_normal((4, 4)))[0] * [3, 2, 1.5, 1]
        signal = rng.uniform(-np.sqrt(3), np.sqrt(3), (5000, 4)) @ mixing.T
        noise = rng.standard_normal((5000, 4)) @ shape.T * 0.3 * signal.std() / np.sqrt((shape**2).sum() / 4)
        for X in (signal, signal + noise):
            model = TensorICA().fit(X)
            gains = (model.components_ @ mixing) ** 2
            true = np.sqrt(1 - gains.max(axis=1) / gains.sum(axis=1)).mean()
            expected, supported = model.evidence_.expected_error, model.evidence_.grade == "supported"
            if X is signal:
                clean.append(0.5 < expected / true < 2)
            else:
                wrong += supported and not 0.5 < true / expected < 2
    assert np.mean(clean) > 0.8
    assert wrong <= 2


def test_a_cloud_with_tails_in_every_direction_has_no_sources():
    rng = np.random.default_rng(101)
    rows = rng.standard_normal((1500, 4)) / np.sqrt(rng.chisquare(5, (1500, 1)) / 5)
    with pytest.warns(NotSupportedWarning):
        evidence = TensorICA().fit(rows).evidence_
    assert evidence["cumulant above noise"].holds is False
    assert evidence.found_again.max() < 0.75
