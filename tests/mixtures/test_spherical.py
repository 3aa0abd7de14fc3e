import warnings
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning
from latentia.metrics import match_components, recovery_errors
from latentia.mixtures import SphericalGaussianMixture
from latentia.passes import Blocks


@pytest.fixture(scope="module")
def data():
    return planted.gaussian_mixture(
        8000, 6, 12, separation=6, spread=3, variance=[1, 2, 1, 0.5, 1, 1.5], random_state=0
    )


@pytest.fixture(scope="module")
def fitted(data):
    """A fit that tests read only."""
    return SphericalGaussianMixture(6).fit(data.X)


def test_means_weights_and_variances(data):
    plain, refined = SphericalGaussianMixture(6, refine=0).fit(data.X), SphericalGaussianMixture(6).fit(data.X)
    known = np.array([data.X[data.labels == k].mean(axis=0) for k in range(6)])
    best = recovery_errors(known, data.means, norm="l2")
    assert recovery_errors(refined.means_, data.means, norm="l2").max() <= 1.3 * best.max()
    assert recovery_errors(plain.means_, data.means, norm="l2").max() <= 0.6
    found, true = match_components(refined.means_, data.means)
    np.testing.assert_allclose(refined.weights_[found], data.weights[true], atol=0.02)
    np.testing.assert_allclose(refined.variance_[found], data.variance[true], rtol=0.05)
    assert (np.diff(refined.weights_) <= 0).all()
    assert plain.n_passes_ == 2
    assert refined.n_passes_ == 2 + len(refined.refinement_)
    assert refined.evidence_["EM has converged"].holds
    labels = np.argsort(found)[refined.predict(data.X)]
    assert (labels == data.labels).mean() > 0.95


def test_twenty_components_at_six_sigma():
    data = planted.gaussian_mixture(50_000, 20, 50, separation=6, random_state=0)
    model = SphericalGaussianMixture(20, refine=10, n_splits=0).fit(data.X)
    assert recovery_errors(model.means_, data.means, norm="l2").max() <= 0.25


def test_moving_and_turning_the_data_moves_and_turns_the_means(data):
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    first = SphericalGaussianMixture(6).fit(data.X)
    second = SphericalGaussianMixture(6).fit(data.X @ rotation + 1e5)
    np.testing.assert_allclose(second.means_, first.means_ @ rotation + 1e5, atol=1e-4)
    np.testing.assert_allclose(second.variance_, first.variance_, rtol=1e-4)


def test_as_many_components_as_features_and_means_in_a_plane_through_no_origin():
    data = planted.gaussian_mixture(20_000, 4, 4, separation=8, random_state=3)
    found = SphericalGaussianMixture(4, refine=5).fit(data.X)
    assert recovery_errors(found.means_, data.means, norm="l2").max() < 0.2
    rng = np.random.default_rng(0)  # two means on a line through the origin: linearly dependent, affinely independent
    x = np.vstack([rng.standard_normal((2000, 3)) + 3, rng.standard_normal((2000, 3)) + 9])
    assert np.sort(SphericalGaussianMixture(2).fit(x).means_[:, 0]) == pytest.approx([3, 9], abs=0.3)


def test_many_features_are_reduced_first():
    data = planted.gaussian_mixture(6000, 5, 300, separation=20, random_state=1)
    model = SphericalGaussianMixture(5, refine=0).fit(data.X)
    known = np.array([data.X[data.labels == k].mean(axis=0) for k in range(5)])
    assert (
        recovery_errors(model.means_, data.means, norm="l2").max()
        < 1.3 * recovery_errors(known, data.means, norm="l2").max()
    )
    assert model.n_passes_ == 5


def test_the_same_bits_for_any_input_form_and_number_of_threads(data):
    first = SphericalGaussianMixture(6, refine=2).fit(data.X)
    for other in (
        SphericalGaussianMixture(6, refine=2, n_jobs=2).fit(data.X),
        SphericalGaussianMixture(6, refine=2).fit(Blocks.from_array(data.X)),
    ):
        assert (other.means_ == first.means_).all()
        assert (other.evidence_.component_errors == first.evidence_.component_errors).all()
    thin = SphericalGaussianMixture(6, refine=2).fit(sparse.csr_array(data.X))
    np.testing.assert_allclose(thin.means_, first.means_, atol=1e-6)


def test_use_save_and_load(data, tmp_path):
    model = SphericalGaussianMixture(6, refine=3).fit(data.X)
    proba = model.predict_proba(data.X[:50])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == model.predict(data.X[:50])).all()
    assert model.score(data.X) == pytest.approx(model.score_samples(data.X).mean())
    x, labels = model.sample(4000)
    assert x.shape == (4000, 12)
    np.testing.assert_allclose(x[labels == 0].mean(axis=0), model.means_[0], atol=0.3)
    loaded = latentia.load(latentia.save(model, tmp_path / "m"))
    assert (loaded.predict(data.X) == model.predict(data.X)).all()
    assert loaded.evidence_.stability(data.X, n_splits=1).shape == (6,)


def test_evidence(data, fitted):
    assert fitted.evidence_.holds
    assert fitted.evidence_["rank supported"].measured == 5
    true = recovery_errors(fitted.means_, data.means, norm="l2").mean()
    assert fitted.evidence_.component_errors.mean() == pytest.approx(true, rel=0.5)
    hopeless = planted.gaussian_mixture(400, 8, 40, separation=1.5, random_state=2)
    assert not SphericalGaussianMixture(8).fit(hopeless.X).evidence_.holds


def test_one_component():
    x = np.random.default_rng(0).standard_normal((500, 3)) * 2 + 7
    model = SphericalGaussianMixture(1).fit(x)
    np.testing.assert_allclose(model.means_[0], x.mean(axis=0))
    assert model.variance_[0] == pytest.approx(4, rel=0.1)


def test_bad_input(data):
    x = data.X[:100]
    for by_moments in ({"method": "hsu-kakade"}, {"refine": 0}):
        with pytest.raises(
            LatentiaError, match="^n_components=13: 100 rows of 12 features support at most 12 components"
        ):
            SphericalGaussianMixture(13, **by_moments).fit(x)
    with pytest.raises(
        LatentiaError, match="^n_components=101: 100 rows of 12 features support at most 100 components"
    ):
        SphericalGaussianMixture(101).fit(x)
    with pytest.raises(LatentiaError, match="^refine=0: covariance_type='full' needs EM"):
        SphericalGaussianMixture(2, covariance_type="full", refine=0).fit(x)
    with pytest.raises(LatentiaError, match="all 50 rows are the same"):
        SphericalGaussianMixture(2).fit(np.ones((50, 3)))
    line = np.outer(np.arange(40.0), [1, 2, 3, 4]) + 1e-3 * np.random.default_rng(0).standard_normal((40, 4))
    with pytest.raises(LatentiaError, match="does not exceed the noise"):
        SphericalGaussianMixture(3, method="hsu-kakade").fit(line)
    with (
        pytest.warns(DroppedDataWarning, match="column 1 .a copy of column 0."),
        pytest.raises(LatentiaError, match="40 rows of 1 features support at most 1 components by moments"),
    ):
        SphericalGaussianMixture(3, method="hsu-kakade").fit(np.outer(np.arange(40.0), np.ones(4)))
    with pytest.raises(LatentiaError, match="NaN"):
        SphericalGaussianMixture(2).fit(np.full((20, 3), np.nan))
    with pytest.raises(LatentiaError, match="n_splits=5"):
        SphericalGaussianMixture(2, n_splits=5).fit(x)


def test_constant_features_are_reported(data):
    x = np.hstack([data.X, np.full((8000, 1), 3.0)])
    with pytest.warns(DroppedDataWarning, match="column 12 .constant."):
        model = SphericalGaussianMixture(6).fit(x)
    np.testing.assert_allclose(model.means_[:, -1], 3.0, atol=1e-6)
    with pytest.warns(DroppedDataWarning, match="column 12 .constant."):
        kept = SphericalGaussianMixture(6, keep_moments=True).fit(x)
    varying = np.hstack([data.X[:100], np.arange(100.0)[:, None]])  # later rows may make it vary
    assert np.ptp(kept.partial_fit(varying).means_[:, -1]) > 1


def test_errors_that_were_not_measured_do_not_hold(data):
    evidence = SphericalGaussianMixture(6, n_splits=0).fit(data.X).evidence_
    assert evidence.component_errors is None
    assert not evidence.holds


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_what_is_no_number_is_named_in_blocks(data, fitted, make):
    x = data.X[:100].copy()
    x[77, 3] = np.nan if make is sparse.csr_array else np.inf
    for use in (fitted.predict, fitted.predict_proba, fitted.score, fitted.score_samples):
        with pytest.raises(LatentiaError, match="Row 77, column 3: (NaN|inf)"):
            use(Blocks.from_array(make(x), block_rows=30))


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "3", None])
def test_bad_sizes_of_samples(fitted, size):
    with pytest.raises(LatentiaError, match="^n_samples="):
        fitted.sample(size)


def test_a_fit_that_fails_changes_nothing(data):
    model = SphericalGaussianMixture(6).fit(data.X)
    labels = model.predict(data.X)
    with pytest.raises(LatentiaError, match="all 50 rows are the same"):
        model.fit(np.ones((50, 20)))
    assert (model.predict(data.X) == labels).all()


def clusters(rng, n, k=4, d=10, apart=6.0, stay=0.0):
    means = rng.standard_normal((k, d)) * apart / np.sqrt(2 * d)
    labels = rng.integers(k, size=n)
    for t in np.flatnonzero(rng.random(n) < stay):
        labels[t] = labels[t - 1]
    return means, labels


def true_error(model, means):
    return np.linalg.norm(model.means_[:, None] - means, axis=2).min(axis=1).mean()


@pytest.mark.parametrize("refine", [0, "auto"])
def test_neighbours_and_copies_do_not_make_errors_small(refine):
    """Rows that say the same again are no further evidence."""
    rng = np.random.default_rng(21)
    means, labels = clusters(rng, 400)
    rows = means[labels] + rng.standard_normal((400, 10))
    model = SphericalGaussianMixture(4, refine=refine).fit(rows[rng.permutation(np.repeat(np.arange(400), 10))])
    assert model.evidence_.expected_error == pytest.approx(true_error(model, means), rel=0.8)
    means, labels = clusters(rng, 5000, stay=0.98)
    noise = rng.standard_normal((5000, 10))
    for t in range(1, 5000):
        noise[t] = 0.97 * noise[t - 1] + np.sqrt(1 - 0.97**2) * noise[t]
    model = SphericalGaussianMixture(4, refine=refine).fit(means[labels] + noise)
    assert model.evidence_.expected_error == pytest.approx(true_error(model, means), rel=0.8)


@pytest.mark.parametrize("refine", [0, "auto"])
def test_clusters_of_two_are_not_supported_as_one(refine):
    rng = np.random.default_rng(22)
    centers, labels = clusters(rng, 6000)
    twins = (
        centers[labels] + np.where(rng.random(6000) < 0.5, 1, -1)[:, None] * rng.standard_normal((4, 10))[labels] / 2
    )
    model = SphericalGaussianMixture(4, refine=refine).fit(twins + rng.standard_normal((6000, 10)))
    assert model.evidence_["round components"].holds is False
    assert model.evidence_.grade == "with care"
    assert model.evidence_.expected_error > 0.3


@pytest.mark.parametrize("refine", [0, "auto"])
def test_fits_that_predict_worse_than_one_gaussian_are_not_supported(refine):
    rng = np.random.default_rng(23)
    X = rng.standard_normal((3000, 8)) * np.geomspace(1, 6, 8) @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    evidence = SphericalGaussianMixture(5, refine=refine).fit(X).evidence_
    assert evidence["better than one component"].holds is False
    assert evidence["better than single clouds"].holds is False
    assert evidence.grade == "not supported"
    assert all(one.grade == "not supported" for one in evidence.components)
    assert evidence.advice.startswith("Simulated single clouds give components")


@pytest.mark.parametrize(("options", "has_rival"), [({}, True), ({"refine": 0}, False)])
def test_the_error_names_the_rival_that_was_made(options, has_rival):
    X = planted.gaussian_mixture(1000, n_components=3, n_features=6, random_state=0).X
    error = SphericalGaussianMixture(3, **options).fit(X).evidence_.statements[1]
    assert ("distance to a rival" in error.sentence) is has_rival
    assert ("No rival" in error.sentence) is not has_rival


def test_advice_names_the_shape_that_fits():
    rng = np.random.default_rng(5)
    groups = np.where(rng.random(1500) < 0.5, 6.0, -6.0)
    long = rng.standard_normal((1500, 4)) * [1, 1, 1, 5] + np.outer(groups, [1, 0, 0, 0])
    evidence = SphericalGaussianMixture(2).fit(long).evidence_
    assert evidence["better than one component"].holds is False
    assert "covariance_type='diag'" in evidence.advice
    assert SphericalGaussianMixture(2, covariance_type="diag").fit(long).evidence_.holds
    cloud = rng.standard_normal((1500, 4)) * [1, 2, 3, 4]
    assert "covariance_type" not in SphericalGaussianMixture(3).fit(cloud).evidence_.advice


@pytest.mark.parametrize("seed", [127, 136, 186, 233])
def test_one_cloud_of_which_one_component_is_left_is_not_supported(seed):
    """Where the components that have rows are one, the fit is what it is compared with."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(200, 2001)), int(rng.integers(3, 6))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SphericalGaussianMixture(2).fit(X)
    assert model.n_components_ == 1
    assert model.evidence_["better than single clouds"].holds is False
    assert model.evidence_.grade == "not supported"


def test_hardly_any_cloud_is_taken_for_clusters():
    """Of 60 Gaussian clouds none has clusters of the first grade, and at most one of the second."""
    grades = Counter()
    for seed in range(2000, 2060):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(200, 1001)), int(rng.integers(3, 6))
        X = rng.standard_normal((n, d)) @ (np.eye(d) if seed % 2 else rng.standard_normal((d, d)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grades[SphericalGaussianMixture(2).fit(X).evidence_.grade] += 1
    assert grades["supported"] == 0
    assert grades["with care"] <= 1
    assert grades["partly"] <= 3


def test_the_number_of_components_that_the_evidence_recommends(data):
    model = SphericalGaussianMixture("auto").fit(data.X)
    assert (model.n_components, model.n_components_) == ("auto", 6)
    assert model.means_.shape[0] == 6
    assert [row["n_components"] for row in model.comparison_][:5] == [2, 3, 4, 5, 6]
    assert "6 components" in model.recommendation_
    few = SphericalGaussianMixture(range(2, 5), refine=0).fit(data.X)
    assert few.n_components_ in range(2, 5)
    assert len(few.comparison_) == 3
    with pytest.raises(LatentiaError, match="n_components="):
        SphericalGaussianMixture([0, 3]).fit(data.X)


def test_heavy_tails_ask_for_care():
    data = planted.gaussian_mixture(4000, 4, 8, separation=8.0, random_state=1)
    rng = np.random.default_rng(0)
    noise = (data.X - data.means[data.labels]) / np.sqrt(rng.chisquare(3, (4000, 1)) / 3)
    heavy = SphericalGaussianMixture(4).fit(data.means[data.labels] + noise)
    assert heavy.evidence_["spread about components"].holds is False
    assert heavy.evidence_.grade != "supported"
    right = SphericalGaussianMixture(4).fit(data.X).evidence_
    assert right["spread about components"].holds


@pytest.mark.filterwarnings("ignore::latentia.exceptions.DroppedDataWarning")
@pytest.mark.parametrize("shape", ["spherical", "diag", "full", "tied"])
def test_as_many_components_as_rows(shape):
    """Halves have fewer rows than components, so that nothing is known of errors."""
    X = np.random.default_rng(3).standard_normal((3, 5))
    assert SphericalGaussianMixture(3, covariance_type=shape).fit(X).evidence_.grade == "not supported"


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning", "error::RuntimeWarning")
def test_rows_that_are_equal_but_for_one():
    X = np.zeros((300, 5))
    X[0] = np.random.default_rng(0).standard_normal(5)
    assert SphericalGaussianMixture(3).fit(X).evidence_.grade != "supported"
