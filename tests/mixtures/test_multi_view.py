import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning
from latentia.metrics import match_components, recovery_errors
from latentia.mixtures import MultiViewMixture
from latentia.passes import Blocks

VIEWS = [range(10), range(10, 20), range(20, 30)]


@pytest.fixture(scope="module")
def data():
    return planted.product_mixture(20_000, 5, 30, random_state=0)


def distance(model, means):
    """Mean distance of a probability or mean from the truth."""
    joint = np.hstack(model.means_)
    found, true = match_components(joint, means)
    return np.abs(joint[found] - means[true]).mean()


def test_centres_of_a_product_mixture(data):
    known = np.array([data.X[data.labels == k].mean(axis=0) for k in range(5)])
    best = np.abs(known - data.means).mean()
    plain = MultiViewMixture(5).fit(data.X, views=VIEWS)
    refined = MultiViewMixture(5, distribution="bernoulli", refine=5).fit(data.X, views=VIEWS)
    assert distance(plain, data.means) < 2 * best
    assert distance(refined, data.means) < 1.1 * best
    joint = np.hstack(refined.means_)
    found, true = match_components(joint, data.means)
    np.testing.assert_allclose(refined.weights_[found], data.weights[true], atol=0.02)
    assert (true[np.argsort(found)][refined.predict(data.X)] == data.labels).mean() > 0.85
    assert plain.n_passes_ == 2


def test_gaussian_features_with_their_variances():
    data = planted.product_mixture(20_000, 4, 24, kind="gaussian", separation=5, random_state=1)
    model = MultiViewMixture(4, distribution="gaussian").fit(data.X, views=np.array_split(np.arange(24), 3))
    assert distance(model, data.means) < 0.05
    assert np.abs(np.hstack(model.variances_) - 1).mean() < 0.1
    assert np.isfinite(model.score(data.X))


def test_views_of_different_size_more_than_three_and_in_any_form(data):
    tables = [data.X[:, :7], data.X[:, 7:12], data.X[:, 12:20], data.X[:, 20:30]]
    model = MultiViewMixture(5).fit(tables)
    assert [m.shape for m in model.means_] == [(5, 7), (5, 5), (5, 8), (5, 10)]
    assert distance(model, data.means) < 0.02
    blocks = MultiViewMixture(5, n_jobs=2).fit(Blocks.from_array(*tables))
    assert all((a == b).all() for a, b in zip(blocks.means_, model.means_, strict=True))
    thin = MultiViewMixture(5).fit([sparse.csr_array(t) for t in tables])
    assert all(np.allclose(a, b, atol=1e-8) for a, b in zip(thin.means_, model.means_, strict=True))
    frame = pd.DataFrame(data.X, columns=[f"f{i}" for i in range(30)])
    named = MultiViewMixture(5).fit(frame, views=[[f"f{i}" for i in view] for view in VIEWS])
    plain = MultiViewMixture(5).fit(data.X, views=VIEWS)
    assert all((a == b).all() for a, b in zip(named.means_, plain.means_, strict=True))
    by_number = MultiViewMixture(5, distribution="bernoulli").fit(frame, views=VIEWS)
    assert (by_number.views_of(frame)[0][1] == named.views_of(frame[frame.columns[::-1]])[0][1]).all()
    with pytest.raises(LatentiaError, match="View 1: expected the columns .'f0'.*found .'f29'"):
        by_number.predict(frame[frame.columns[::-1]])
    cut = [frame.iloc[:, list(view)] for view in VIEWS]
    several = MultiViewMixture(5, distribution="bernoulli").fit(cut)
    with pytest.raises(LatentiaError, match="View 2: expected the columns"):
        several.predict([cut[0], cut[2], cut[1]])


def test_units_do_not_matter(data):
    scale = np.random.default_rng(0).uniform(0.01, 100, 30)
    first = MultiViewMixture(5).fit(data.X, views=VIEWS)
    second = MultiViewMixture(5).fit(data.X * scale + 50, views=VIEWS)
    np.testing.assert_allclose(np.hstack(second.means_), np.hstack(first.means_) * scale + 50, rtol=1e-5)


def test_one_feature_a_view_carries_two_components():
    rng = np.random.default_rng(0)
    labels = rng.random(20_000) < 0.3
    x = rng.standard_normal((20_000, 3)) + np.where(labels[:, None], [2, -2, 3], [0, 1, 0])
    model = MultiViewMixture(2).fit(x, views=[[0], [1], [2]])
    np.testing.assert_allclose(np.hstack(model.means_), [[0, 1, 0], [2, -2, 3]], atol=0.12)
    np.testing.assert_allclose(model.weights_, [0.7, 0.3], atol=0.03)
    distance = np.linalg.norm(np.diff(np.hstack(model.means_), axis=0) / x.std(axis=0))
    assert model.evidence_.limit == pytest.approx(distance / 3)


def test_evidence(data, tmp_path):
    model = MultiViewMixture(5).fit(data.X, views=VIEWS)
    assert model.evidence_.holds
    assert model.evidence_["rank supported"].measured == 5
    again = latentia.load(latentia.save(model, tmp_path / "m")).evidence_.stability(data.X, n_splits=1, views=VIEWS)
    assert again.mean() == pytest.approx(model.evidence_.component_errors.mean(), rel=0.5)
    few = MultiViewMixture(4).fit(data.X, views=VIEWS).evidence_["rank supported"]
    assert few.measured == 5
    assert not few.holds
    assert all(one.passed for one in model.evidence_.statements)


def test_views_without_a_component_are_denied():
    rows = np.random.default_rng(401).random((3000, 30)) < 0.3
    evidence = MultiViewMixture(3).fit(rows.astype(float), views=VIEWS).evidence_
    assert evidence.statements[2].passed is False
    assert evidence.grade == "not supported"


def test_constant_features_keep_their_value(data):
    x = np.hstack([data.X, np.full((20_000, 1), 2.5)])
    with pytest.warns(DroppedDataWarning, match="column 30 .constant."):
        model = MultiViewMixture(5).fit(x, views=[*VIEWS[:2], [*VIEWS[2], 30]])
    np.testing.assert_allclose(model.means_[2][:, -1], 2.5, atol=1e-9)


def test_bad_input(data):
    x = data.X[:500]
    with pytest.raises(LatentiaError, match="at least three views; found 2"):
        MultiViewMixture(2).fit([x, x])
    with pytest.raises(LatentiaError, match="view 1 has 500 rows and view 2 has 400"):
        MultiViewMixture(2).fit([x, x[:400], x])
    with pytest.raises(LatentiaError, match="one table with views="):
        MultiViewMixture(2).fit(x)
    with pytest.raises(LatentiaError, match="column 9 is in another view too"):
        MultiViewMixture(2).fit(x, views=[range(10), range(9, 20), range(20, 30)])
    with pytest.raises(LatentiaError, match="column 30; the table has 30"):
        MultiViewMixture(2).fit(x, views=[range(10), range(10, 20), range(20, 31)])
    with pytest.raises(
        LatentiaError,
        match=r"^n_components=12: .* supports at most 11 components\. Its moments carry fewer: 6 can be fitted",
    ):
        MultiViewMixture(12).fit(x, views=VIEWS)
    with pytest.raises(LatentiaError, match="^n_components=5: 9 rows support at most 4 components"):
        MultiViewMixture(5).fit(x[:9], views=VIEWS)
    with pytest.raises(LatentiaError, match="View 2 has no independent column"):
        MultiViewMixture(2).fit([x, np.ones((500, 3)), x])
    with pytest.raises(LatentiaError, match="^refine=2: EM needs a likelihood"):
        MultiViewMixture(2, refine=2).fit(x, views=VIEWS)
    with pytest.raises(LatentiaError, match="use one of 'bernoulli', 'gaussian'"):
        MultiViewMixture(2, distribution="poisson").fit(x, views=VIEWS)
    with pytest.raises(LatentiaError, match="^distribution=None: the model has means but no densities"):
        MultiViewMixture(2).fit(data.X, views=VIEWS).predict(data.X)
    two = np.repeat(np.random.default_rng(0).standard_normal((2, 30)), 200, axis=0)
    with pytest.raises(
        LatentiaError, match="^n_components=3: singular value 3 .* this data supports at most 2 components"
    ):
        MultiViewMixture(3).fit(two, views=VIEWS)


@pytest.mark.parametrize("seed", range(3))
def test_independent_features_are_not_called_a_mixture(seed):
    x = (np.random.default_rng(seed).random((2000, 30)) < 0.5).astype(float)
    evidence = MultiViewMixture(4).fit(x, views=VIEWS).evidence_
    assert evidence.expected_error > evidence.limit
    assert not evidence.holds


def test_errors_that_were_not_measured_do_not_hold(data):
    evidence = MultiViewMixture(5, n_splits=0).fit(data.X, views=VIEWS).evidence_
    assert evidence.component_errors is None
    assert evidence["expected error"].measured is None
    assert not evidence.holds


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (5, "views=5: expected a list of lists of columns"),
        ([1, 2, 3], "expected a list of columns for each view; view 1 is 1"),
        ([[0.5], [1], [2]], "numbers or names of columns; view 1 has 0.5"),
        ([[True], [1], [2]], "numbers or names of columns; view 1 has True"),
        ([["a"], [1], [2]], "view 1 names column 'a', which is not in the table"),
        ([[], [1], [2]], "view 1 has no column"),
    ],
)
def test_views_must_be_lists_of_columns(data, views, message):
    with pytest.raises(LatentiaError, match=message):
        MultiViewMixture(2).fit(data.X[:500], views=views)


def test_views_of_several_tables_are_refused(data):
    tables = np.split(data.X[:500], 3, axis=1)
    for several in (tables, Blocks.from_array(*tables)):
        with pytest.raises(LatentiaError, match="it splits one table"):
            MultiViewMixture(2).fit(several, views=VIEWS)


@pytest.mark.parametrize(
    ("make", "value"), [(np.asarray, np.inf), (sparse.csr_array, np.inf), (sparse.csr_array, np.nan)]
)
def test_what_is_no_number_is_named_in_every_view_of_blocks(data, make, value):
    model = MultiViewMixture(5, distribution="bernoulli").fit(data.X, views=VIEWS)
    x = data.X[:100].copy()
    x[77, 24] = value
    blocks = Blocks.from_array(*(make(x[:, list(view)]) for view in VIEWS), block_rows=30)
    for use in (model.predict, model.predict_proba, model.score):
        with pytest.raises(LatentiaError, match=f"(?i)Row 77, column 4 of view 3: {value}"):
            use(blocks)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_features_that_are_not_binary_are_named(data, make):
    x = data.X[:100].copy()
    x[77, 24] = 0.5
    tables = [make(x[:, list(view)]) for view in VIEWS]
    model = MultiViewMixture(2, distribution="bernoulli", refine=1)
    with pytest.raises(LatentiaError, match="^distribution='bernoulli': .*; row 77 has 0.5 in column 4 of view 3"):
        model.fit(Blocks.from_array(*tables, block_rows=30))
    frame = pd.DataFrame(x, columns=[f"f{i}" for i in range(30)])
    with pytest.raises(LatentiaError, match="row 77 has 0.5 in column 'f24'"):
        model.fit(frame, views=[[f"f{i}" for i in view] for view in VIEWS])


def test_a_fit_that_fails_changes_nothing_and_another_kind_forgets_the_first(data):
    model = MultiViewMixture(5, distribution="gaussian").fit(data.X, views=VIEWS)
    path = model.predict(data.X[:50])
    with pytest.raises(LatentiaError, match="View 2 has no independent column"):
        model.fit([data.X, np.ones((len(data.X), 6)), data.X])
    assert (model.predict(data.X[:50]) == path).all()
    assert not hasattr(model.set_params(distribution=None).fit(data.X, views=VIEWS), "variances_")


def test_tables_unlike_those_of_the_fit_are_refused(data):
    model = MultiViewMixture(5, distribution="bernoulli").fit(data.X, views=VIEWS)
    with pytest.raises(LatentiaError, match="Expected 30 columns, as in the fit; X has 29"):
        model.predict(data.X[:, :29])
    with pytest.raises(LatentiaError, match=r"found \[10, 10, 9\]"):
        model.predict(np.split(data.X[:9, :29], [10, 20], axis=1))
    several = MultiViewMixture(5, distribution="bernoulli").fit(np.split(data.X, 3, axis=1))
    with pytest.raises(LatentiaError, match="a list of 3 tables"):
        several.predict(data.X)
    with pytest.raises(LatentiaError, match="The data is empty"):
        several.predict(Blocks.from_array(*np.split(data.X[:0], 3, axis=1)))


def shared(rng, n, views, strength):
    """Rows of two components, with something else that all views share."""
    labels, other = rng.random(n) < 0.5, rng.standard_normal((n, 1))
    x = rng.standard_normal((n, 9)) + 1.5 * np.where(labels[:, None], 1, -1) * ([1, 1, -1] * 3)
    return x + strength * other * views


def test_misfit_is_seen_and_widens_the_errors():
    rng = np.random.default_rng(0)
    views = np.array_split(np.arange(9), 3)
    right = MultiViewMixture(2, distribution="gaussian", refine=0).fit(shared(rng, 4000, 0, 0), views=views).evidence_
    assert right.grade == "supported"
    assert right["goodness of fit"].holds
    wrong = MultiViewMixture(2, distribution="gaussian", refine=0).fit(shared(rng, 4000, 1, 1.5), views=views).evidence_
    assert wrong.grade != "supported"
    assert not wrong["independence of views"].holds
    assert not wrong["rank supported"].holds
    assert wrong.expected_error > 3 * right.expected_error


def test_features_of_a_view_that_repeat_each_other_are_no_components():
    rng = np.random.default_rng(1)
    x = (rng.random((4000, 24)) < 0.5).astype(float)
    x[:, 1::2] = np.where(rng.random((4000, 12)) < 0.8, x[:, ::2], x[:, 1::2])
    model = MultiViewMixture(3, distribution="bernoulli").fit(x, views=np.array_split(np.arange(24), 3))
    assert not model.evidence_["independence of features of a view"].holds
    assert model.evidence_.grade == "not supported"


@pytest.mark.parametrize("refine", [0, "auto"])
def test_fits_that_predict_worse_than_one_component_are_not_supported(refine):
    x = np.random.default_rng(2).standard_normal((300, 18))
    model = MultiViewMixture(4, distribution="gaussian", refine=refine).fit(x, views=np.array_split(np.arange(18), 3))
    assert model.evidence_["better than one component"].measured < 0
    assert model.evidence_.grade == "not supported"


def test_copied_rows_do_not_make_errors_smaller(data):
    few = MultiViewMixture(5).fit(data.X[:2000], views=VIEWS).evidence_
    many = MultiViewMixture(5).fit(np.repeat(data.X[:2000], 10, axis=0), views=VIEWS).evidence_
    assert many.expected_error > 0.6 * few.expected_error


def with_holes(X, seed=0, share=0.2):
    holes = X.astype(float).copy()
    holes[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return holes


@pytest.mark.parametrize(("distribution", "limit"), [("bernoulli", 0.06), (None, 0.08)])
def test_cells_may_be_missing(distribution, limit):
    data = planted.product_mixture(10_000, 3, 24, random_state=3)
    views = [range(8), range(8, 16), range(16, 24)]
    model = MultiViewMixture(3, distribution=distribution).fit(with_holes(data.X), views=views)
    errors = recovery_errors(np.hstack(model.means_), data.means, norm="l2")
    assert errors.mean() < limit
    assert model.evidence_["missing cells"].measured == pytest.approx(0.2, abs=0.01)


def test_variances_beside_missing_cells():
    data = planted.gaussian_mixture(10_000, 3, 12, separation=5.0, random_state=2)
    views = [range(4), range(4, 8), range(8, 12)]
    for refine in (0, "auto"):
        model = MultiViewMixture(3, distribution="gaussian", refine=refine).fit(with_holes(data.X), views=views)
        assert np.abs(np.hstack(model.variances_) - 1).max() < (0.4 if refine == 0 else 0.15)


@pytest.mark.parametrize("distribution", ["bernoulli", "gaussian"])
def test_missing_cells_count_for_nothing(distribution):
    data = planted.product_mixture(2000, 3, 24, random_state=3)
    views = [range(8), range(8, 16), range(16, 24)]
    model = MultiViewMixture(3, distribution=distribution, n_splits=0).fit(data.X, views=views)
    rows = with_holes(data.X[:50])
    means = np.hstack(model.means_)
    if distribution == "bernoulli":
        each = np.where(rows[:, None] > 0, np.log(means), np.log1p(-means))
    else:
        variances = np.hstack(model.variances_)
        each = -0.5 * ((rows[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances))
    joint = np.where(np.isnan(rows)[:, None], 0, each).sum(axis=2) + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(rows), np.logaddexp.reduce(joint, axis=1))


def test_likelihood_climbs_where_cells_are_missing():
    data = planted.product_mixture(3000, 3, 24, random_state=3)
    views = [range(8), range(8, 16), range(16, 24)]
    model = MultiViewMixture(3, distribution="bernoulli", refine=8, n_splits=0).fit(with_holes(data.X), views=views)
    assert (np.diff(model.refinement_) > -1e-6).all()
    assert model.bic(with_holes(data.X)) > model.aic(with_holes(data.X))


def test_rows_and_columns_without_entries_are_refused():
    data = planted.product_mixture(500, 2, 9, random_state=0)
    views = [range(3), range(3, 6), range(6, 9)]
    X = data.X.astype(float)
    X[7] = np.nan
    with pytest.raises(LatentiaError, match="Row 7"):
        MultiViewMixture(2).fit(X, views=views)
    X = data.X.astype(float)
    X[:, 4] = np.nan
    with pytest.raises(LatentiaError, match="View 2: column 1"):
        MultiViewMixture(2).fit(X, views=views)
