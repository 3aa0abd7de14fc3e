"""Columns that say nothing of their own, and rows of few patterns: neither changes an answer, nor ends in a traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from contract import CASES

import latentia
from latentia.contrastive import (
    BackgroundPCA,
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments import span_of
from latentia.passes import Blocks
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
}  # fmt: skip
each = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@each
def test_constant_and_copied_columns_change_no_answer(method, tmp_path):
    X = method.table()
    whole = method.fit(X)
    for more in (np.full(len(X), 3.7), X[:, 1]):
        wide = np.column_stack([X, more])
        with pytest.warns(DroppedDataWarning, match=f"say nothing of their own: column {X.shape[1]} "):
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


@pytest.mark.parametrize("decimals", [None, 2, 4, 6])
@pytest.mark.parametrize("name", [name for name in METHODS if name != "background"])
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


def test_what_a_span_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3)) * [1, 100, 0.01] + [0, 1e6, 5]
    assert span_of(Blocks.from_array(X)) is None
    late = np.where(np.arange(5000) == 4321, 1.0, 0.0)  # seen in no sample
    wide = np.column_stack([np.full(5000, 2.5), X, X[:, 0], X[:, 0] - 0.01 * X[:, 1], late])
    span = span_of(Blocks.from_array(wide))
    assert list(span.left_out) == [0, 4, 5]
    np.testing.assert_allclose(span.points(wide[:, span.kept]), wide, rtol=1e-9)
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
    assert "too few to be split" not in said
