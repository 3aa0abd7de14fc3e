"""Columns of several kinds in one table: numbers, categories and counts, with gaps."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson

import latentia
from latentia import LatentiaError
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning
from latentia.metrics import match_components
from latentia.mixtures import MultiViewMixture
from latentia.passes import Blocks


@pytest.fixture(scope="module")
def data():
    return planted.mixed_table(3000, 3, contrast=1.2, missing=0.2, random_state=5)


@pytest.fixture(scope="module")
def frame(data):
    return pd.DataFrame(data.X)


@pytest.fixture(scope="module")
def model(frame):
    return MultiViewMixture(3).fit(frame)


def values_of(model):
    """The parameters by column and name, each (K,)."""
    return {(column, said): values for column, said, values in model.parameters}


def truth(data):
    found = {}
    for i in range(4):
        found[f"number {i}", "mean"] = data.means[:, i]
        found[f"number {i}", "standard deviation"] = data.deviations[:, i]
        found[f"count {i}", "mean"] = data.rates[:, i]
        for j, value in enumerate("abc"):
            found[f"category {i}", f"probability of {value}"] = data.probabilities[:, i, j]
    return found


def test_parameters_of_planted_columns_are_found(data, model):
    found, true = values_of(model), truth(data)
    assert set(found) == set(true)
    order = [f"number {i}" for i in range(4)]
    mine, theirs = match_components(
        np.column_stack([found[name, "mean"] for name in order]),
        np.column_stack([true[name, "mean"] for name in order]),
    )
    for key, values in true.items():
        size = 1.0 if key[1].startswith("prob") else max(values.std(), 0.5)
        np.testing.assert_allclose(found[key][mine] / size, values[theirs] / size, atol=0.3)
    np.testing.assert_allclose(model.weights_[mine], data.weights[theirs], atol=0.04)
    assert (theirs[np.argsort(mine)][model.predict(pd.DataFrame(data.X))] == data.labels).mean() > 0.9
    assert model.evidence_.grade == "supported"
    assert model.evidence_["missing cells"].measured == pytest.approx(0.2, abs=0.02)


def test_the_likelihood_is_that_of_the_cells_that_are_there(frame, model):
    """A column after the other, cell by cell."""
    rows, found, kinds = frame[:20], values_of(model), model.kinds
    for i, row in enumerate(rows.to_dict("records")):
        joint = np.log(model.weights_)
        for name, cell in row.items():
            if pd.isna(cell):
                continue
            if kinds[name] == "gaussian":
                joint = joint + norm.logpdf(cell, found[name, "mean"], found[name, "standard deviation"])
            elif kinds[name] == "poisson":
                joint = joint + poisson.logpmf(cell, found[name, "mean"])
            else:
                joint = joint + np.log(found[name, f"probability of {cell}"])
        assert model.score_samples(rows)[i] == pytest.approx(np.logaddexp.reduce(joint), abs=1e-8)


def test_em_ends_at_a_maximum_of_the_likelihood(frame, model):
    """Steps of EM, of which each gains, from the moments; further plain ones gain nothing."""
    assert (np.diff(model.refinement_) > -1e-3).all()  # of the likelihood with its priors, which are a row each
    assert model.converged_
    longer = MultiViewMixture(3, distribution="mixed", refine=300, n_splits=0).fit(frame)
    assert longer.score(frame) - model.score(frame) < 1e-3


def test_kinds_are_found_by_type_or_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "real": rng.random(200), "text": rng.choice(["x", "y"], 200), "flag": rng.random(200) < 0.5,
        "count": rng.poisson(3, 200), "gaps": np.where(rng.random(200) < 0.2, np.nan, rng.poisson(3, 200)),
        "zero-one": rng.integers(0, 2, 200), "year": rng.integers(1990, 2020, 200), "below": rng.integers(-5, 5, 200),
        "level": pd.Categorical(rng.choice(["low", "high"], 200)), "whole": rng.integers(0, 9, 200).astype(float),
    })  # fmt: skip
    kinds = MultiViewMixture(1).fit(frame).kinds
    assert [name for name, kind in kinds.items() if kind == "categorical"] == ["text", "flag", "zero-one", "level"]
    assert [name for name, kind in kinds.items() if kind == "poisson"] == ["count", "gaps"]
    said = MultiViewMixture(1, distribution={"count": "categorical", "whole": "poisson"}).fit(frame).kinds
    assert {name for name in said if said[name] != kinds[name]} == {"count", "whole"}
    listed = MultiViewMixture(1, distribution=["gaussian"] * 3).fit(frame[["real", "count", "year"]].to_numpy())
    assert listed.kinds == {"x0": "gaussian", "x1": "gaussian", "x2": "gaussian"}


def test_views_may_be_given_and_forms_do_not_matter(frame, model, tmp_path):
    views = [[f"{kind} {i}" for kind in ("number", "category", "count")] for i in range(3)]
    cut = MultiViewMixture(3, distribution="mixed").fit(frame, views=views)
    assert list(cut.kinds) == [name for view in views for name in view]
    shuffled = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(cut.predict(shuffled), cut.predict(frame))
    again = latentia.load(latentia.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.kinds == model.kinds
    numbers = frame[[f"{kind} {i}" for kind in ("number", "count") for i in range(4)]]
    one = MultiViewMixture(2, distribution="mixed", n_splits=0).fit(numbers)
    other = MultiViewMixture(2, distribution="mixed", n_splits=0).fit(Blocks.from_array(numbers))
    np.testing.assert_array_equal(one.predict_proba(numbers), other.predict_proba(numbers))
    assert model.evidence_.stability(frame, n_splits=1).shape == (3,)


def test_a_category_that_the_fit_did_not_have_is_a_missing_cell(frame, model):
    new = frame[:5].assign(**{"category 0": "z"})
    with pytest.warns(DroppedDataWarning, match="column 'category 0' holds 'z'"):
        found = model.score_samples(new)
    np.testing.assert_allclose(found, model.score_samples(frame[:5].assign(**{"category 0": None})))


def test_columns_that_only_have_odd_distributions_are_no_classes(data):
    rng = np.random.default_rng(0)
    whole = planted.mixed_table(2000, 3, contrast=1.2, random_state=5)
    alone = pd.DataFrame({name: rng.permutation(cells) for name, cells in whole.X.items()})
    with pytest.warns(latentia.exceptions.NotSupportedWarning):
        evidence = MultiViewMixture(3).fit(alone).evidence_
    assert evidence["better than one component"].holds is False


def test_counts_that_vary_more_than_poisson_ones_are_told(frame):
    active = np.random.default_rng(0).gamma(2, 0.5, len(frame))
    uneven = frame.assign(**{f"count {i}": np.rint(4 * frame[f"count {i}"] * active) for i in range(4)})
    kinds = {
        name: {"number": "gaussian", "category": "categorical", "count": "poisson"}[name.split()[0]] for name in frame
    }
    check = MultiViewMixture(2, distribution=kinds, n_splits=0).fit(uneven).evidence_["spread of counts"]
    assert check.holds is False
    assert "distribution={'count" in check.remedy


def test_tables_of_classes_and_columns(frame, model, tmp_path):
    table = model.tables["columns"].to_frame()
    assert list(table.columns) == ["column", "parameter", "component 0", "component 1", "component 2"]
    assert len(table) == 8 + 12 + 4
    chances = table[table["column"] == "category 1"].iloc[:, 2:].to_numpy()
    np.testing.assert_allclose(chances.sum(axis=0), 1.0)
    assert "probability of a" in model.report(tmp_path / "page.html", frame).read_text("utf-8")


def test_what_cannot_be_used_is_told(frame, model):
    with pytest.raises(LatentiaError, match="distribution=.* there is no column 'nosuch'"):
        MultiViewMixture(2, distribution={"nosuch": "gaussian"}).fit(frame)
    with pytest.raises(LatentiaError, match="expected 12 kinds, one per column; found 2"):
        MultiViewMixture(2, distribution=["gaussian"] * 2).fit(frame)
    with pytest.raises(LatentiaError, match="distribution=.*use one of 'bernoulli'"):
        MultiViewMixture(2, distribution={"number 0": "normal"}).fit(frame)
    with pytest.raises(LatentiaError, match="column 'category 0': '.' is text; expected a number"):
        MultiViewMixture(2, distribution={"category 0": "gaussian"}).fit(frame)
    with pytest.raises(LatentiaError, match="column 'number 0': .*expected a count"):
        MultiViewMixture(2, distribution={"number 0": "poisson"}).fit(frame)
    with pytest.raises(LatentiaError, match="column 'id': 3,000 categories in 3,000 rows"):
        MultiViewMixture(2).fit(frame.assign(id=[f"row {i}" for i in range(len(frame))]))
    with pytest.raises(LatentiaError, match="'number 0' of X has type .*dates"):
        MultiViewMixture(2).fit(frame.assign(**{"number 0": pd.Timestamp("2020-01-01")}))
    with pytest.raises(LatentiaError, match="All cells of column 'number 1' are missing"):
        MultiViewMixture(2).fit(frame.assign(**{"number 1": np.nan}))
    with pytest.raises(LatentiaError, match="Expected a column 'count 3', as in the fit"):
        model.predict(frame.drop(columns="count 3"))
    with pytest.raises(LatentiaError, match="n_components=9: expected at least 8 features"):
        MultiViewMixture(9, n_splits=0).fit(frame)
