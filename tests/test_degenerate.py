"""Columns that say nothing of their own, and rows of few patterns: neither changes an answer, nor ends in a traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from contract import CASES
from sklearn.base import clone

import latentia
from latentia.contrastive import (
    BackgroundPCA,
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
    RichComponents,
)
from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.evidence import trivial_checks
from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.moments import span_of
from latentia.nmf import ApproximateNMF, PoissonNMF, SeparableNMF
from latentia.passes import Blocks, Folds, assign_folds, join_copies
from latentia.sequences import SpectralHMM

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


@dataclass(frozen=True)
class Method:
    """A fit on a table, its arrays with an entry for each column, and what it says of rows.

    Attributes
    ----------
    fit : callable
        From a table to a fitted model.
    table : callable
        The table that has no such columns.
    arrays : tuple of str
        Names of arrays with an entry for each column.
    answers : callable
        What the model says of the rows.
    """

    fit: Callable[[np.ndarray], Any]
    table: Callable[[], np.ndarray]
    arrays: tuple[str, ...]
    answers: Callable[[Any, np.ndarray], np.ndarray] = lambda model, X: model.predict(X)


def clouds():
    return planted.gaussian_mixture(600, n_components=3, n_features=5, separation=6).X


def chain():
    rng, states = np.random.default_rng(1), np.zeros(2000, int)
    for t in range(1, len(states)):
        states[t] = states[t - 1] if rng.random() < 0.9 else rng.integers(3)
    return rng.normal(size=(3, 4))[states] * 3 + rng.normal(size=(len(states), 4))


def contrast(cls, kind, arrays, part="U", **options):
    data = planted.contrastive_views(2000, 3, kind, linear_map="orthogonal")
    target = () if data.y is None else (data.y,)

    def fit(table):
        views = (table, data.V) if part == "U" else (data.U, table)
        return cls(n_splits=1, **options).fit(*views, *target)

    def answers(model, table):
        use = "predict" if hasattr(model, "predict") else "transform"
        found = getattr(model, use)(*((table, data.V) if part == "U" else (data.U, table)))
        return found[:, :3] if found.ndim > 1 else found

    return Method(fit, lambda: getattr(data, part), arrays, answers)


def background():
    data = planted.cases_and_controls(800, 800)
    extra = {"constant": lambda X: np.full(len(X), 3.7), "copy": lambda X: X[:, 1]}

    def fit(table):
        controls = data.background
        for column in range(controls.shape[1], table.shape[1]):
            kind = "constant" if np.ptp(table[:, column]) == 0 else "copy"
            controls = np.column_stack([controls, extra[kind](controls)])
        return BackgroundPCA(1, n_splits=1).fit(table, controls)

    return Method(
        fit,
        lambda: data.X,
        (
            "components_",
            "mean_",
        ),
        lambda model, X: model.transform(X),
    )


def mixture(shape):
    arrays = ("means_",) if shape == "spherical" else ("means_", "covariances_")
    return Method(lambda X: SphericalGaussianMixture(3, covariance_type=shape, n_splits=1).fit(X), clouds, arrays)


def with_gaps(X):
    gaps = np.random.default_rng(5).random(X.shape) < 0.1
    gaps[:, 0] = False
    return np.where(gaps, np.nan, X)


def mixture_with(table=clouds, **options):
    return Method(lambda X: SphericalGaussianMixture(3, n_splits=1, **options).fit(X), table, ("means_",))


def chain_from_a_given_one():
    first = SpectralHMM(3, n_splits=0, refine=0).fit(chain())

    def fit(X):
        means = np.column_stack([first.means_, np.zeros((3, X.shape[1] - first.means_.shape[1]))])
        given = {"startprob": first.startprob_, "transmat": first.transmat_, "means": means}
        return SpectralHMM(3, n_splits=1, init=given).fit(X)

    return Method(fit, chain, ("means_", "variances_"))


METHODS = {
    **{f"mixture-{shape}": mixture(shape) for shape in ("spherical", "diag", "tied", "full")},
    "chain": Method(lambda X: SpectralHMM(3, n_splits=1).fit(X), chain, ("means_", "variances_",)),
    "sources": Method(
        lambda X: TensorICA(n_splits=1).fit(X), lambda: planted.independent_sources(2000, 3, 3).X,
        ("mixing_", "mean_"), lambda model, X: model.transform(X),
    ),
    "components": contrast(ContrastiveComponents, "pca", ("linear_map_", "inverse_map_",)),
    "components-V": contrast(ContrastiveComponents, "pca", ("linear_map_", "inverse_map_",), "V"),
    "directions": contrast(ContrastivePCA, "pca", ("components_", "mean_",)),
    "means": contrast(ContrastiveGaussianMixture, "mixture", ("means_",), n_components=2),
    "regression": contrast(ContrastiveRegression, "regression", ("coef_",)),
    "logistic": contrast(ContrastiveLogisticRegression, "logistic", ("coef_",)),
    "background": background(),
    "mixture-missing": mixture_with(lambda: with_gaps(clouds())),
    "mixture-missing-tied": mixture_with(lambda: with_gaps(clouds()), covariance_type="tied"),
    "mixture-kept": mixture_with(keep_moments=True),
    "chain-given": chain_from_a_given_one(),
    "sources-kept": Method(
        lambda X: TensorICA(n_splits=1, keep_moments=True).fit(X), lambda: planted.independent_sources(2000, 3, 3).X,
        ("mixing_", "mean_"), lambda model, X: model.transform(X),
    ),
}  # fmt: skip
KEPT = [name for name in METHODS if name.endswith("-kept")]  # sums do not show what was rounded away
each = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@each
def test_constant_and_copied_columns_change_no_answer(method, tmp_path):
    X = method.table()
    whole = method.fit(X)
    for more in (np.full(len(X), 3.7), X[:, 1]):
        wide = np.column_stack([X, more])
        with pytest.warns(DroppedDataWarning, match=f"they add no information: column {X.shape[1]} "):
            model = method.fit(wide)
        assert model.evidence_.grade == whole.evidence_.grade
        for name in method.arrays:
            found, expected = np.asarray(getattr(model, name)), np.asarray(getattr(whole, name))
            assert X.shape[1] + 1 in found.shape
            own = found[tuple(slice(X.shape[1] if size == X.shape[1] + 1 else None) for size in found.shape)]
            np.testing.assert_allclose(own, expected, atol=1e-6 * np.abs(expected).max())
        np.testing.assert_allclose(method.answers(model, wide), method.answers(whole, X), atol=2e-6)
        again = latentia.load(latentia.save(model, tmp_path / "model"))
        np.testing.assert_array_equal(method.answers(again, wide), method.answers(model, wide))


@pytest.mark.parametrize(
    ("name", "decimals"),
    [(name, decimals) for name in METHODS if name != "background" for decimals in (None, 2, 4, 6)
     if decimals is None or name not in KEPT],
)  # fmt: skip
def test_a_combination_of_columns_changes_no_verdict(name, decimals):
    method = METHODS[name]
    X = method.table()
    wide = np.column_stack([X, X @ np.linspace(0.3, 0.9, X.shape[1])])
    if decimals is not None:  # the combination is rounded too, and off by that
        X, wide = np.round(X, decimals), np.round(wide, decimals)
    whole, model = method.fit(X), method.fit(wide)
    assert model.evidence_.grade == whole.evidence_.grade
    rounding = 0.0 if decimals is None or name != "sources" else 2 * 10.0**-decimals  # sources are read off all columns
    np.testing.assert_allclose(method.answers(model, wide), method.answers(whole, X), atol=2e-6 + rounding)


@pytest.mark.parametrize("decimals", [None, 2, 3, 4, 6])
def test_the_rank_of_signals_about_their_average_is_said_and_their_rounding_is_no_source(decimals):
    data = planted.independent_sources(3000, 3, 4)
    X = data.X - data.X.mean(axis=1, keepdims=True)
    X = X if decimals is None else np.round(X, decimals)
    with pytest.warns(DroppedDataWarning, match="column 3 .a combination of others.*other 3 columns"):
        model = TensorICA(n_splits=1).fit(X)
    assert model.components_.shape == (3, 4)
    assert model.mixing_.shape == (4, 3)
    assert model.evidence_.grade == "supported"
    assert np.abs(model.mixing_.sum(axis=0)).max() < 0.05


EXTRA = {
    "constant": lambda X: np.full(len(X), 3.7),
    "copy": lambda X: X[:, 1],
    "combination": lambda X: X @ np.linspace(0.3, 0.9, X.shape[1]),
}
kinds = pytest.mark.parametrize("kind", EXTRA)


@kinds
@pytest.mark.parametrize("cls", [ContrastivePCA, ContrastiveComponents])
def test_kept_moments_of_views_have_the_columns_that_say_something(cls, kind, monkeypatch):
    monkeypatch.setattr(
        cls, "_assign_content_folds", lambda self, rows: assign_folds(rows, 0)
    )  # by what is in a row, groups would be others
    data = planted.contrastive_views(2000, 3, "pca", linear_map="orthogonal")
    more = np.column_stack([data.U, EXTRA[kind](data.U)]), np.column_stack([data.V, EXTRA[kind](data.V)])
    whole = cls(n_splits=1, keep_moments=True).fit(data.U, data.V)
    for U, V in ((more[0], data.V), (data.U, more[1])):
        model = cls(n_splits=1, keep_moments=True).fit(U, V)
        assert model.evidence_.grade == whole.evidence_.grade
        found, expected = (one.transform(*tables) for one, tables in ((model, (U, V)), (whole, (data.U, data.V))))
        np.testing.assert_allclose(found[:, :3], expected[:, :3], atol=1e-6 * np.abs(expected).max())


def test_a_column_that_later_rows_make_vary_is_kept_from_then_on():
    X = np.column_stack([clouds(), np.full(600, 3.7)])
    model = SphericalGaussianMixture(3).partial_fit(X)
    np.testing.assert_allclose(model.means_[:, -1], 3.7)
    X[300:, -1] = X[300:, 0] ** 2
    assert np.ptp(model.partial_fit(X).means_[:, -1]) > 0


@kinds
@pytest.mark.parametrize("distribution", [None, "gaussian", "mixed"])
@pytest.mark.parametrize("missing", [False, True])
def test_columns_of_views_that_say_nothing_of_their_own_change_no_answer(distribution, kind, missing, tmp_path):
    X = planted.gaussian_mixture(900, n_components=3, n_features=9, separation=8, random_state=1).X
    X = with_gaps(X) if missing else X

    def fit(table):
        views = None if distribution == "mixed" else [range(3), range(3, 6), range(6, table.shape[1])]
        return MultiViewMixture(3, distribution=distribution, n_splits=1).fit(table, views=views)

    whole, wide = fit(X), np.column_stack([X, EXTRA[kind](X)])
    with pytest.warns(DroppedDataWarning, match=r"(column 9|column x9|3 of view 3) \("):
        model = fit(wide)
    model = latentia.load(latentia.save(model, tmp_path / "model"))
    assert model.evidence_.grade == whole.evidence_.grade
    np.testing.assert_allclose(np.hstack(model.means_)[:, :9], np.hstack(whole.means_), atol=1e-6)
    if distribution is not None:
        np.testing.assert_allclose(model.predict_proba(wide), whole.predict_proba(X), atol=1e-6)


@kinds
def test_columns_of_rich_views_that_say_nothing_of_their_own_change_no_answer(kind, tmp_path):
    views = planted.rich_components(5000, 2, absent=[3]).views
    wide = [np.column_stack([view, EXTRA[kind](view)]) for view in views]
    whole, model = RichComponents().fit(views), RichComponents().fit(wide)
    model = latentia.load(latentia.save(model, tmp_path / "model"))
    assert model.evidence_.grade == whole.evidence_.grade
    assert (model.present_ == whole.present_).all()
    for place, one in whole.linear_maps_.items():
        np.testing.assert_allclose(model.linear_maps_[place][:2, :2], one, atol=1e-6)
    with pytest.raises(LatentiaError, match="View 1 has 3 linearly independent columns and view 0 has 2"):
        RichComponents().fit([wide[0], np.column_stack([views[1], views[2][:, 0]]), wide[2]])


@pytest.mark.parametrize("decimals", [2, 4, 6])
@pytest.mark.parametrize("distribution", [None, "gaussian", "mixed", "rich"])
def test_a_rounded_combination_of_columns_of_views_changes_no_verdict(distribution, decimals):
    tables = planted.rich_components(5000, 2, absent=[3]).views if distribution == "rich" else [
        planted.gaussian_mixture(900, n_components=3, n_features=9, separation=8, random_state=1).X
    ]  # fmt: skip

    def fit(*views):
        if distribution == "rich":
            return RichComponents().fit(views)
        (table,) = views
        groups = None if distribution == "mixed" else [range(3), range(3, 6), range(6, table.shape[1])]
        return MultiViewMixture(3, distribution=distribution, n_splits=1).fit(table, views=groups)

    wide = [np.round(np.column_stack([X, EXTRA["combination"](X)]), decimals) for X in tables]
    whole, model = fit(*(np.round(X, decimals) for X in tables)), fit(*wide)
    assert model.evidence_.grade == whole.evidence_.grade
    if distribution == "rich":
        assert (model.present_ == whole.present_).all()
    else:
        np.testing.assert_allclose(np.hstack(model.means_)[:, :9], np.hstack(whole.means_), atol=1e-6)


FACTORS = {
    "approximate": ApproximateNMF(2, n_init=2),
    "simplex": SeparableNMF(3),
    "cone": SeparableNMF(3, mixing="cone", refine=2),
    "poisson": PoissonNMF(2),
    "dictionary": IncoherentDictionary(12, random_state=0),
}


@pytest.mark.parametrize("name", FACTORS)
def test_a_constant_column_changes_no_factorization(name, tmp_path):
    X = np.abs(planted.separable_rows(100, 10, 3, n_pure=3, noise=0.03, random_state=1).X)
    if name == "poisson":
        X = np.rint(20 * X)
    if name == "dictionary":
        X = planted.sparse_codes(400, n_features=10, n_components=12, sparsity=2, noise=0.05, random_state=1).X
    wide = np.column_stack([X, np.full(len(X), 4.0)])
    whole, model = clone(FACTORS[name]).fit(X), clone(FACTORS[name]).fit(wide)
    model = latentia.load(latentia.save(model, tmp_path / "model"))
    assert model.evidence_.grade == whole.evidence_.grade
    np.testing.assert_allclose(model.components_[:, :10], whole.components_, atol=1e-6)
    found, expected = model.transform(wide), whole.transform(X)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    if name != "poisson":  # whose components sum to one, over the columns that count
        np.testing.assert_allclose(model.inverse_transform(found)[:, 10].mean(), 4.0, rtol=0.1)


def test_a_column_of_zeros_changes_no_dictionary():
    X = planted.sparse_codes(300, n_features=10, n_components=12, sparsity=2, noise=0.05, random_state=700).X
    whole, model = (IncoherentDictionary(12, n_splits=1).fit(table) for table in (X, np.c_[X, np.zeros(300)]))
    assert [str(check) for check in model.evidence_.checks] == [str(check) for check in whole.evidence_.checks]
    np.testing.assert_array_equal(model.components_, np.c_[whole.components_, np.zeros(12)])


def test_a_negative_constant_is_left_out_or_refused():
    X = np.rint(20 * np.abs(planted.separable_rows(100, 10, 3, n_pure=3, noise=0.03, random_state=1).X))
    wide = np.column_stack([X, np.full(len(X), -2.0)])
    model, whole = SeparableNMF(3).fit(wide), SeparableNMF(3).fit(X)
    np.testing.assert_allclose(model.components_[:, :10], whole.components_, atol=1e-6)
    for name in ("approximate", "poisson"):
        with pytest.raises(LatentiaError, match="Negative"):
            clone(FACTORS[name]).fit(wide)


@kinds
def test_tables_of_many_columns(kind):
    X = np.random.default_rng(0).normal(size=(2100, 700)) + np.linspace(0, 5, 700)
    span = span_of(Blocks.from_array(np.column_stack([X, EXTRA[kind](X)])))
    assert list(span.dependent_columns) == [700]
    if kind != "combination":  # which more columns than are compared would hide
        wide = np.column_stack([np.hstack([X[:300], X[300:600]]), EXTRA[kind](X[:300])])
        assert list(span_of(Blocks.from_array(wide)).dependent_columns) == [1400]


def test_cells_that_others_lack_are_something_of_its_own():
    X = with_gaps(np.random.default_rng(0).normal(size=(500, 3)))
    whole = np.where(np.isnan(X[:, 1]), 0.5, X[:, 1])
    assert span_of(Blocks.from_array(np.column_stack([X, whole]))) is None
    fewer = np.where(np.arange(500) % 7, X[:, 1], np.nan)
    span = span_of(Blocks.from_array(np.column_stack([X, fewer, X[:, 0] - X[:, 2]])))
    assert list(span.dependent_columns) == [3, 4]


def test_groups_of_few_different_rows_all_have_rows():
    rng = np.random.default_rng(0)
    for _ in range(20):
        leaders = rng.integers(2**60, size=5)[rng.integers(5, size=100)]
        assert set(join_copies(Folds(4), leaders).of(np.arange(100))) == set(range(4))
    X = rng.normal(size=(4, 5))[rng.integers(4, size=300)]
    assert SphericalGaussianMixture(3).fit(X).evidence_.grade
    assert SpectralHMM(range(2, 4), kind="counts").fit(np.array([[3, 0], [1, 2], [0, 5]]), lengths=[3]).evidence_.grade


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_at_the_ends_of_floating_point():
    X = np.array([[1, 0], [0, 1e-310], [1e-310, 0], [0, 2e-310]])
    assert SeparableNMF(2, mixing="cone").fit(X).evidence_.grade
    assert (
        trivial_checks(np.array([0.0, 1e200]), np.array([1e200, 0.0]), extra=0, n_rows=2, against="one")[0].holds
        is False
    )
    assert span_of(Blocks.from_array(np.column_stack([1e160 * X, np.arange(4) * 1e200]))) is None


def test_what_a_span_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)) * [1, 100, 0.01] + [0, 1e6, 5]
    assert span_of(Blocks.from_array(X)) is None
    late = np.where(np.arange(5000) == 4321, 1.0, 0.0)  # seen in no sample
    wide = np.column_stack([np.full(5000, 2.5), X, X[:, 0], X[:, 0] - 0.01 * X[:, 1], late])
    span = span_of(Blocks.from_array(wide))
    assert list(span.dependent_columns) == [0, 4, 5]
    np.testing.assert_allclose(span.points(wide[:, span.kept]), wide, rtol=1e-9)
    for scale, offset in ((1e-6, 100.0), (1e-7, -1e4), (1e6, 1e8), (-1e-3, 1e9)):
        rescaled = np.column_stack([X, offset + scale * (X[:, 1] - 1e6)])
        assert list(span_of(Blocks.from_array(rescaled)).dependent_columns) == [3], (scale, offset)
    assert (
        span_of(Blocks.from_array(rng.poisson(0.1, size=(5000, 4)).astype(float))) is None
    )  # small counts are no rounding
    assert span_of(Blocks.from_array(rng.normal(size=(8, 20)))) is None  # fewer rows than columns say nothing


@pytest.mark.parametrize("n_patterns", [1, 2, 3])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_of_few_patterns_give_an_answer_or_a_clear_error(case, n_patterns):
    data = dict(case.data())
    sizes = [len(table[0]) if isinstance(table, list) else table.shape[0] for table in data.values()]
    n, rng = min(sizes[:2]), np.random.default_rng(n_patterns)
    if "C" in data or "A" in data:
        pytest.skip("a matrix of pairs, or of a network, has no rows to repeat")
    rows = rng.choice(n, n_patterns, replace=False)[rng.integers(n_patterns, size=600)]
    for name, table in data.items():
        if name == "lengths":
            data[name] = [600]
        elif name != "views":
            data[name] = [part[rows] for part in table] if isinstance(table, list) else table[rows]
    said = ""
    try:
        assert case.new().fit(**data).evidence_.grade
    except LatentiaError as error:
        said = str(error)
    assert "too few to split" not in said
