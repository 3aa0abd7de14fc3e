"""Every method reads its data as ``fit`` does: forms of tables, targets and sequences, and numbers near the ends of floats."""

import contextlib
import pickle
import sys
import warnings
from inspect import signature

import numpy as np
import pytest
from fuzzing import fitted as fitted_world
from fuzzing import models, worlds
from scipy import sparse
from sklearn.base import clone

import latentia
import latentia.plots
from latentia import LatentiaError
from latentia.contrastive import ContrastiveLogisticRegression, ContrastiveRegression
from latentia.exceptions import MissingExtraError
from latentia.families import family_of
from latentia.mixtures import SphericalGaussianMixture
from latentia.nmf import ApproximateNMF
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks
from latentia.report.model import SUMMARIES
from latentia.summaries import Column
from latentia.topics import EmbeddingTopics, SingleTopicModel

pandas = pytest.importorskip("pandas")
pytestmark = [
    pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
]


def world_of(name):
    """The first world of an estimator, and its fit."""
    number = next(i for i, world in enumerate(worlds()) if world.name == name)
    return worlds()[number], fitted_world(number)


# --- reports --------------------------------------------------------------------------------------------------------


FORMS = {
    "objects": lambda table: table.astype(object),
    "texts of numbers": lambda table: table.astype(str),
    "nullable": lambda table: pandas.DataFrame(table).convert_dtypes(),
    "list": lambda table: table.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_report_takes_the_forms_that_fit_takes(form, tmp_path):
    world, model = world_of("SphericalGaussianMixture")
    plain = model.summary(world.table).tables["rows"].rows()
    data = FORMS[form](world.table)
    type(model)(3).fit(data)
    assert model.report(tmp_path / "page.html", data).exists()
    assert model.summary(data).tables["rows"].rows() == plain


def test_a_report_takes_truth_values_that_are_missing(tmp_path):
    world, model = world_of("NoisyOr")
    frame = pandas.DataFrame(np.asarray(world.table).astype(bool)).astype("boolean")
    frame.iloc[3, 2] = pandas.NA
    NoisyOr(2).fit(frame)
    assert model.report(tmp_path / "page.html", frame).exists()


@pytest.mark.parametrize("name", ["SpectralHMM", "TwoStateHMM"])
def test_a_report_takes_a_list_of_sequences(name):
    world, model = world_of(name)
    steps = np.asarray(world.table)
    joined = model.summary(steps, lengths=[500, len(steps) - 500])
    several = model.summary([steps[:500], steps[500:]])
    assert several.tables["rows"].rows() == joined.tables["rows"].rows()


def test_symbols_in_objects_are_those_of_the_array():
    world, model = world_of("SpectralHMM")
    steps = np.array(world.table, dtype=float)
    steps[1:4] = np.nan
    objects = np.array([None if np.isnan(step) else int(step) for step in steps])
    assert model.score(objects) == model.score(steps)
    assert model.score(objects.tolist()) == model.score(steps)
    as_numbers, as_objects = (model.summary(form).tables["components"].rows() for form in (steps, objects))
    assert as_numbers == as_objects
    again = type(model)(2).fit(world.table.astype(object))
    assert again.symbols_.dtype.kind == "i"
    np.testing.assert_array_equal(again.transmat_, model.transmat_)
    mixed = type(model)(2).fit(np.where(np.arange(1500) < 1200, "a", world.table.astype(object)))
    assert mixed.score(objects[4:]) == mixed.score(np.array([*map(str, objects[4:])]))


def test_steps_to_refine_on_may_come_without_lengths():
    world, model = world_of("SpectralHMM")
    steps = world.table
    plain, pair = (type(model)(2).partial_fit(steps, refine_on=rows) for rows in (steps, (steps, [len(steps)])))
    np.testing.assert_array_equal(plain.transmat_, pair.transmat_)
    for wrong in (5, (), (steps, None, None)):
        with pytest.raises(LatentiaError):
            type(model)(2).partial_fit(steps, refine_on=wrong)


def test_a_view_may_be_a_sparse_frame():
    world, model = world_of("ContrastivePCA")
    U, V = world.data.values()
    frame = pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(U))
    np.testing.assert_array_equal(model.transform(frame, V), model.transform(U, V))


def test_a_mixture_of_kinds_takes_a_matrix():
    world = next(world for world in worlds() if isinstance(world.estimator.get_params().get("distribution"), list))
    model = fitted_world(worlds().index(world))
    assert model.score(np.asmatrix(world.table)) == model.score(world.table)


@pytest.fixture(scope="module")
def topics():
    world, model = world_of("AnchorTopics")
    counts = world.table
    groups = np.arange(counts.shape[0]) % 3
    return model, counts, model.prevalence_by(counts, groups), model.prevalence_over(counts, groups + 2000)


def test_a_report_takes_prevalences_with_and_without_names(topics):
    model, counts, by_group, over_time = topics
    for given, names in [
        (by_group, {"group"}),
        (over_time, {"time"}),
        ([by_group, over_time], {"group", "time"}),
        (("party", by_group), {"party"}),
        ({"party": by_group, "date": over_time}, {"party", "date"}),
        ([("party", by_group)], {"party"}),
    ]:
        rows = model.summary(counts, prevalence=given).tables["prevalence"].rows()
        assert {row["column"] for row in rows} == names


def test_a_report_takes_effects_with_and_without_a_formula(topics):
    model, counts, *_ = topics
    found = model.effects(counts, "~ x", {"x": np.arange(counts.shape[0]) / 100})
    pairs = model.summary(counts, effects=("~ x", found)).tables
    assert model.summary(counts, effects=found).tables["effects"].rows() == pairs["effects"].rows()


ODD_OPTIONS = [
    5,
    "x",
    [5],
    [None] * 300,
    [],
    object(),
    {"a": 1},
    np.zeros((2, 2)),
    -1,
    np.nan,
    True,
    [10**9],
    [-1],
    [0.5],
    [[]],
    [{}],
    {"bic": "x"},
    {"subtracted": np.zeros(2), "divided_by": np.full(2, np.nan)},
    (np.zeros(2), np.ones(2)),
    sparse.csr_array((2, 3)),
    [("a", "b", "c")],
]


@pytest.mark.parametrize("number", range(len(worlds())))
def test_options_of_a_report_that_do_not_fit_are_refused(number):
    world, model = worlds()[number], fitted_world(number)
    page = SUMMARIES[family_of(world.name).page].args[0]
    named = {p.name for p in signature(page).parameters.values() if p.kind is p.KEYWORD_ONLY}
    data = [value for key, value in world.data.items() if key != "views"]
    columns = [[Column("a", ["b"])]]
    for name in sorted(named | {"prevalence", "effects", "row_labels", "comparison", "unknown"}):
        for value in [*ODD_OPTIONS, *columns]:
            for given in (data, []):
                with contextlib.suppress(LatentiaError):
                    model.summary(*given, **{name: value})
    with pytest.raises(LatentiaError, match="no option unknown"):
        model.summary(*data, unknown=1)


def test_results_that_are_given_to_a_page_are_those_that_it_computes():
    world, model = world_of("SphericalGaussianMixture")
    plain = model.summary(world.table)
    probabilities = model.predict_proba(world.table)
    given = model.summary(world.table, means=model.means_, probabilities=probabilities.tolist(), criteria={"bic": 5})
    assert given.tables["rows"].rows() == plain.tables["rows"].rows()
    assert given.tables["components"].rows() == plain.tables["components"].rows()
    with pytest.raises(LatentiaError, match="probabilities: Expected 300 x 3 numbers; found 299 x 3"):
        model.summary(world.table, probabilities=probabilities[1:])
    assert model.summary(world.table, row_labels=None).tables["rows"].rows() == plain.tables["rows"].rows()


def test_labels_of_other_rows_are_refused():
    world, model = world_of("SphericalGaussianMixture")
    with pytest.raises(LatentiaError, match="X has 300 rows and the column name of row_labels has 2"):
        model.summary(world.table, row_labels=[Column("name", ["a", "b"])])


TARGETS = {
    "a column": lambda y: y[:, None],
    "a frame": lambda y: pandas.DataFrame({"y": y}),
    "a series": lambda y: pandas.Series(y, index=range(5, len(y) + 5)),
    "objects": lambda y: y.astype(object),
    "nullable": lambda y: pandas.Series(y).convert_dtypes(),
}


@pytest.mark.parametrize("form", TARGETS)
def test_a_target_has_one_meaning(form):
    world, model = world_of("ContrastiveRegression")
    U, V, y = world.data.values()
    given = TARGETS[form](y)
    np.testing.assert_array_equal(ContrastiveRegression().fit(U, V, given).coef_, model.coef_)
    assert model.score(U, V, given) == model.score(U, V, y)
    plain, other = (model.summary(U, V, each).tables["components"].rows() for each in (y, given))
    assert plain == other
    assert latentia.verify(latentia.manifest(model, U, V, y), model, U, V, given) == []
    errors = model.evidence_.stability(U, V, given, n_splits=1)
    np.testing.assert_array_equal(errors, model.evidence_.stability(U, V=V, y=y, n_splits=1))


def test_classes_of_any_size():
    world, _ = world_of("ContrastiveLogisticRegression")
    U, V, y = world.data.values()
    model = ContrastiveLogisticRegression().fit(U, V, 1e300 * y)
    assert model.classes_.tolist() == [0, 1e300]
    with pytest.raises(LatentiaError, match=r"Row 0 of y holds 1\.5; expected one of few classes"):
        ContrastiveLogisticRegression().fit(U, V, 0.5 + y)


EMPTY = ["AnchorTopics", "EmbeddingTopics", "IncoherentDictionary", "NoisyOr", "ContrastivePCA", "ContrastiveIsing",
         "ContrastiveGaussianMixture", "SeparableNMF"]  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_a_report_refuses_tables_without_rows_or_columns(name, tmp_path):
    world, model = world_of(name)
    table = world.table.toarray() if hasattr(world.table, "toarray") else np.asarray(world.table)
    first, *others = world.data.items()
    for empty in (table[:0], table[:, :0], pandas.DataFrame(table)[:0], pandas.DataFrame(table).iloc[:, :0]):
        with pytest.raises(LatentiaError):
            model.report(tmp_path / "page.html", **{first[0]: empty, **dict(others)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_a_manifest_describes_what_is_empty(shape):
    _, model = world_of("SphericalGaussianMixture")
    assert latentia.manifest(model, np.zeros(shape))["data"]["X"]["shape"] == list(shape)


@pytest.mark.parametrize("name", ["NoisyOr", "AnchorTopics", "SpectralLDA", "SphericalGaussianMixture"])
def test_a_report_refuses_blocks_without_rows(name):
    world, model = world_of(name)
    with pytest.raises(LatentiaError, match="no rows"):
        model.summary(Blocks.from_array(sparse.csr_array(world.table)[:0]))


def test_a_mixture_of_kinds_refuses_tables_without_rows():
    number = next(
        i for i, world in enumerate(worlds()) if isinstance(world.estimator.get_params().get("distribution"), list)
    )
    world, model = worlds()[number], fitted_world(number)
    for use in (*world.uses, "summary"):
        with pytest.raises(LatentiaError, match="no rows"):
            getattr(model, use)(world.table[:0])


@pytest.mark.parametrize("name", ["SphericalGaussianMixture", "MultiViewMixture", "AnchorTopics", "NoisyOr"])
def test_two_columns_of_one_name_are_refused(name):
    world, model = world_of(name)
    table = world.table.toarray() if hasattr(world.table, "toarray") else np.asarray(world.table)
    frame = pandas.DataFrame(table)
    frame.columns = ["a", "a", *map(str, frame.columns[2:])]
    uses = [getattr(model, use) for use in world.uses] + [model.summary, lambda X: latentia.manifest(model, X)]
    for use in (type(model)(2).fit, *uses):
        with pytest.raises(LatentiaError, match="2 columns have the name 'a'") as error:
            use(frame)
        assert error.value.column == "a"


# --- numbers near the ends ------------------------------------------------------------------------------------------


SMALL = ["SphericalGaussianMixture", "TensorICA", "ContrastivePCA", "BackgroundPCA"]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-90])
def test_small_numbers_are_not_called_constant(name, size):
    world, model = world_of(name)
    data = {key: size * value if key in ("X", "U", "V", "background") else value for key, value in world.data.items()}
    with pytest.raises(LatentiaError, match="powers are out of range"):
        type(model)(**model.get_params()).fit(**data)


@pytest.fixture(scope="module")
def groups():
    """A mixture of two groups, its rows, and a covariate."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3)) + 3 * rng.integers(0, 2, 400)[:, None]
    return SphericalGaussianMixture(2).fit(rows), rows, rng.normal(size=400)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_effects_have_the_units_of_their_covariates(groups, size):
    model, rows, x = groups
    plain, scaled = (model.effects(rows, "~ x", {"x": each}) for each in (x, size * x))
    np.testing.assert_allclose(scaled.estimate[1] * size, plain.estimate[1], rtol=1e-9)
    np.testing.assert_allclose(scaled.error[1] * size, plain.error[1], rtol=1e-9)
    np.testing.assert_allclose(scaled.p_value, plain.p_value, rtol=1e-6)
    plain, scaled = (model.regress(rows, x, each[:, None]) for each in (x**2, size * x**2))
    np.testing.assert_allclose(scaled.estimate, plain.estimate, rtol=1e-9)
    np.testing.assert_allclose(scaled.error, plain.error, rtol=1e-9)


def test_outcomes_have_any_units(groups):
    model, rows, y = groups
    plain, scaled = model.regress(rows, y), model.regress(rows, 1e-300 * y)
    np.testing.assert_allclose(scaled.estimate * 1e300, plain.estimate, rtol=1e-9)
    np.testing.assert_allclose(scaled.error * 1e300, plain.error, rtol=1e-9)
    with pytest.raises(LatentiaError, match="powers are out of range"):
        model.regress(rows, 1e300 * y)


def test_outcomes_are_read_as_tables_are(groups):
    model, rows, y = groups
    hidden = y > 1
    masked = model.regress(rows, np.ma.masked_array(y, hidden))
    np.testing.assert_array_equal(masked.estimate, model.regress(rows, np.where(hidden, np.nan, y)).estimate)
    for wrong, said in (
        (pandas.date_range("2020", periods=400).to_series(), "dates"),
        (y + 1j, "Complex"),
        (rows, "y has 3 columns"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(LatentiaError, match=said):
                model.regress(rows, wrong)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"formula": "~ 0"}, "has no terms"),
        ({"formula": "~ x", "cluster": 5}, "cluster: Expected the name of a column"),
        ({"controls": "abc"}, "controls: Expected a data frame"),
        ({"controls": np.zeros((400, 1, 2))}, "controls: Expected a data frame"),
        ({"cluster": "x"}, "controls: Expected a data frame"),
    ],
)
def test_covariates_that_cannot_be_used(groups, arguments, said):
    model, rows, x = groups
    data = {"data": {"x": x}} if "formula" in arguments else {"y": x}
    with pytest.raises(LatentiaError, match=said):
        (model.effects if "formula" in arguments else model.regress)(rows, **data, **arguments)


def test_the_level_that_others_are_compared_with_is_named(groups):
    model, rows, x = groups
    party = np.where(x > 0, "left", "centre")
    found = model.effects(rows, "~ party", {"party": party})
    assert found.references == {"party": "centre"}
    assert found.rows()[1]["reference"] == "centre"
    assert "party: each level compared with 'centre'" in repr(found)
    page = "".join(model.summary(rows, effects=(found.formula, found)).lines)
    assert "party: left (vs centre)" in page
    assert model.effects(rows, "~ 0 + party", {"party": party}).references == {}


def test_an_embedder_that_raises_is_named():
    def embed(texts):
        raise RuntimeError("no network")

    texts = [f"word{i % 7} other{i % 5} more" for i in range(200)]
    with pytest.raises(LatentiaError, match=r"raised RuntimeError: no network") as error:
        EmbeddingTopics(2, embedder=embed).fit(texts)
    assert error.value.parameter == "embedder"


def test_a_missing_package_is_named_before_anything_is_read(groups, monkeypatch):
    model, _, x = groups
    for package, use in (
        ("formulaic", lambda: model.effects("no rows", "~ x", {"x": x})),
        ("matplotlib", lambda: latentia.plots.plot_clusters(model, "no rows")),
    ):
        with monkeypatch.context() as patch:
            for name in [name for name in sys.modules if name.partition(".")[0] == package]:
                patch.setitem(sys.modules, name, None)
            patch.setitem(sys.modules, package, None)
            with pytest.raises(MissingExtraError, match=package):
                use()


# --- errors ---------------------------------------------------------------------------------------------------------


def test_errors_have_the_place_and_the_number_that_they_are_about():
    world, model = world_of("SphericalGaussianMixture")
    frame = pandas.DataFrame(world.table, columns=list("abcde"))
    frame["b"] = frame["b"].astype(object)
    frame.loc[3, "b"] = "n/a"
    for use in (type(model)(3).fit, model.predict, model.summary):
        with pytest.raises(LatentiaError) as error:
            use(frame)
        assert (error.value.row, error.value.column, error.value.value) == (3, "b", "n/a")
    table = world.table.copy()
    table[5, 2] = np.inf
    with pytest.raises(LatentiaError) as error:
        model.predict(table)
    assert (error.value.row, error.value.column, error.value.value) == (5, 2, np.inf)
    with pytest.raises(LatentiaError) as error:
        type(model)(9, method="hsu-kakade").fit(world.table)
    assert (error.value.parameter, error.value.value) == ("n_components", 9)
    assert error.value.at_most is not None
    type(model)(error.value.at_most, method="hsu-kakade").fit(world.table)
    assert str(LatentiaError("why.", parameter="data")) == "data: why."


# --- fits on halves, and comparisons --------------------------------------------------------------------------------


OTHERS = {
    "SphericalGaussianMixture": lambda world: (world.table[:, :4],),
    "SparseNetwork": lambda world: (np.hstack([world.table.toarray(), world.table.toarray()[:, :1]]),),
    "ProbabilityMatrix": lambda world: (world.table.toarray()[:10, :10],),
    "ContrastivePCA": lambda world: (world.data["U"], world.data["V"][:-5]),
    "ContrastiveRegression": lambda world: (world.data["U"], world.data["V"], 5),
    "SpectralHMM": lambda world: (np.random.default_rng(0).normal(size=(1500, 3)),),
}


@pytest.mark.parametrize("name", OTHERS)
def test_fits_on_halves_are_of_the_data_of_the_fit(name):
    world, model = world_of(name)
    with pytest.raises(LatentiaError, match="of the fit|expected the same rows|expected a table"):
        model.evidence_.stability(*OTHERS[name](world), n_splits=1)


@pytest.mark.parametrize(
    "name", ["SphericalGaussianMixture", "ContrastivePCA", "ContrastiveRegression", "RichComponents"]
)
def test_fits_on_halves_of_data_with_a_column_that_follows_from_others(name):
    world = next(world for world in models() if world.name == name)
    key, table = next(iter(world.data.items()))
    table = (
        [np.hstack([view, view[:, :1]]) for view in table]
        if isinstance(table, list)
        else np.hstack([table, table[:, :1]])
    )
    data = {**world.data, key: table}
    model = type(world.estimator)(**world.estimator.get_params()).fit(**data)
    assert np.isfinite(model.evidence_.stability(**data, n_splits=1)).all()


@pytest.mark.parametrize("name", ["SphericalGaussianMixture", "AnchorTopics"])
def test_fits_on_halves_of_blocks_are_those_of_the_table(name):
    world, model = world_of(name)
    blocks = Blocks.from_array(world.table, block_rows=37)
    found, expected = (model.evidence_.stability(data, n_splits=1) for data in (blocks, world.table))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["ContrastivePCA", "ContrastiveComponents", "ContrastiveGaussianMixture", "ContrastiveIsing"]
)
def test_a_comparison_reads_both_views_as_fit_does(name, tmp_path):
    world, model = world_of(name)
    U, V = world.data["U"], world.data["V"]
    for data in ((U[:, :-1], V), (U, V[:, :-1]), (U[:-1], V), (Blocks.from_array(U),), (U[:1], V[:1]), (0 * U, V)):
        with pytest.raises(LatentiaError):
            model.report(tmp_path / "page.html", *data)
    assert not list(tmp_path.iterdir())
    constant = np.where(np.arange(V.shape[1]) == 1, 3.0, V)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.summary(U, constant).tables


def test_labels_of_scores_are_read_as_tables_are():
    world, model = world_of("MomentMultiLabelClassifier")
    X, Y = world.data.values()
    with pytest.raises(LatentiaError, match="y: row 1 has 1 entries and row 0 has 2"):
        model.score(X, [[1, 2], [3]])
    table = Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)
    assert model.score(X, pandas.DataFrame(table)) == model.score(X, Y)


def test_probabilities_of_what_is_no_score():
    _, model = world_of("MomentMultiLabelClassifier")
    for scores in ("x", None, [0.5, np.nan]):
        with pytest.raises(LatentiaError, match="scores: expected raw scores"):
            model.probability_of(scores)


def test_stability_of_blocks_with_a_dependent_column():
    world, _ = world_of("SphericalGaussianMixture")
    table = np.column_stack([world.table, world.table[:, 0]])
    plain = SphericalGaussianMixture(3).fit(table).evidence_.stability(table)
    found = SphericalGaussianMixture(3).fit(table).evidence_.stability(Blocks.from_array(table, block_rows=37))
    np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_the_message_of_an_error_follows_from_its_data():
    error = LatentiaError(
        "an empty cell.", parameter="columns", value="a", source="t.csv", place="line 3", row=1, column="a"
    )
    assert str(error) == "columns='a': t.csv, line 3: an empty cell."
    error.parameter, error.source, error.hint = None, "copy.csv", "Fill it in."
    assert str(error) == "copy.csv, line 3: an empty cell. Fill it in."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    lacking = MissingExtraError("polars", "files", "Reading a table")
    assert str(pickle.loads(pickle.dumps(lacking))) == str(lacking)


# --- containers of one table ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(NoisyOr(None, prior=0.1, n_splits=0), id="slopes that are rounding"),
        pytest.param(SingleTopicModel(3, n_splits=0), id="batches of documents"),
        pytest.param(ApproximateNMF(2, n_init=2, n_splits=0), id="factorizations of equal error"),
    ],
)
def test_decisions_do_not_hang_on_rounding(model):
    """Sums over blocks and over sparse rows round otherwise, which must not choose another answer."""
    table, _ = world_of(type(model).__name__)
    table = table.table.toarray() if sparse.issparse(table.table) else np.asarray(table.table, dtype=float)
    plain = clone(model).fit(table)
    for other in (Blocks.from_array(table, block_rows=37), sparse.csr_array(table)):
        found = clone(model).fit(other)
        for name, value in vars(plain).items():
            if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
                np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-9 * np.abs(value).max())


def test_rows_far_from_zero_cannot_be_compared_with_simpler_methods():
    world, model = world_of("ContrastiveGaussianMixture")
    U, V = world.data.values()
    with pytest.raises(LatentiaError, match="Subtract the mean"):
        model.summary(U + 1e16, V)
