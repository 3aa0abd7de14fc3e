"""The contract of every estimator: one case each in `contract.py`, every case through every clause."""

import inspect
import pkgutil
import threading
from importlib import import_module

import numpy as np
import pytest
import sklearn
from contract import CASES
from fuzzing import fitted as fitted_world
from fuzzing import models
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_info, threadpool_limits

import latentia
from latentia import LatentiaError
from latentia._parameters import (
    SHARED,
    Anything,
    Choice,
    Flag,
    Integer,
    Names,
    Number,
    OrNone,
    Verbosity,
    check_parameters,
)
from latentia.datasets import planted
from latentia.evidence import Evidence
from latentia.fitting.base import Estimator
from latentia.fitting.records import find_undeclared
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.nmf import ApproximateNMF
from latentia.passes import Blocks, write_cache
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

# --- weights ----------------------------------------------------------------------------------------------------


def takes_weights(case):
    return has_fit_parameter(type(case.estimator), "sample_weight")


@pytest.mark.parametrize("case", [case for case in CASES if takes_weights(case)], ids=lambda case: case.name)
def test_weights_are_numbers_of_rows(case):
    tables = case.data()
    n = len(tables["X"][0]) if isinstance(tables.get("X"), list) else next(iter(tables.values())).shape[0]
    times = np.random.default_rng(1).integers(0, 3, size=n)
    rows = np.repeat(np.arange(n), times)
    repeated = {
        name: [part[rows] for part in table] if isinstance(table, list) else table[rows]
        for name, table in tables.items()
        if name != "views"
    } | {name: columns for name, columns in tables.items() if name == "views"}
    plain = {"n_splits": 0} if "n_splits" in case.estimator.get_params() else {}
    one = case.new(**plain).fit(**tables, sample_weight=times)
    other = case.new(**plain).fit(**repeated)
    for name in one._compared:
        if isinstance(getattr(one, name, None), np.ndarray):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.evidence_.grade == other.evidence_.grade
    with pytest.raises(LatentiaError, match="whole numbers"):
        case.new(**plain).fit(**tables, sample_weight=times / 2)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (-1.0, "is -1.0 at position 0; expected numbers of at least 0"),
        (0.5, "is 0.5 at position 0; expected whole numbers of copies"),
        (np.nan, "is nan at position 0; expected numbers of at least 0"),
        (np.inf, "is inf at position 0; expected numbers of at least 0"),
        (1e18, "adds up to .* expected at most"),
        (None, r"has shape \(49,\); expected \(50,\)"),
        ("zero", "is zero for all rows"),
    ],
)
def test_weights_that_are_no_numbers_of_rows_are_refused(first, said):
    X = np.random.default_rng(0).standard_normal((50, 3))
    weights = np.ones(50)
    if first is None:
        weights = weights[1:]
    elif first == "zero":
        weights[:] = 0
    else:
        weights[0] = first
    with pytest.raises(LatentiaError, match=said):
        SphericalGaussianMixture(2).fit(X, sample_weight=weights)


def test_weights_are_routed():
    X, times = planted.gaussian_mixture(300, n_components=2, n_features=4, separation=8).X, np.arange(300) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        mixture = SphericalGaussianMixture(2, n_splits=0)
        mixture.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), mixture)
        pipe.set_score_request(sample_weight=True)  # scikit-learn 1.6 asks the pipeline itself
        pipe.fit(X, sample_weight=times)
        search = GridSearchCV(pipe, {"sphericalgaussianmixture__n_components": [1, 2]}, cv=2)
        search.fit(X, sample_weight=times)
    scaled = StandardScaler().fit(X, sample_weight=times).transform(X)
    alone = SphericalGaussianMixture(2, n_splits=0).fit(np.repeat(scaled, times, axis=0))
    np.testing.assert_array_equal(pipe[-1].means_, alone.means_)
    assert search.best_params_ == {"sphericalgaussianmixture__n_components": 2}
    found = alone.score_samples(scaled)
    assert pipe[-1].score(scaled, sample_weight=times / 2) == pytest.approx(np.average(found, weights=times))


# --- scikit-learn's own checks --------------------------------------------------------------------------------------

COMMON = [
    AnchorTopics(2, min_df=1, refine=3, n_splits=1),
    SingleTopicModel(1, n_splits=1),
    SpectralLDA(1, n_splits=1),
    *(
        case.new(n_components=2, n_splits=1, **({"n_init": 1} if "n_init" in case.estimator.get_params() else {}))
        for case in CASES
        if case.common_checks and "topics" not in type(case.estimator).__module__
    ),
    TensorICA(n_splits=1),
]
SPARSE = "on sparse data the check takes any predict_proba for that of a classifier"
CLUSTERS = {"check_estimator_sparse_array": SPARSE, "check_estimator_sparse_matrix": SPARSE}
NO_Y = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "the check gives y by name, and the labels are Y",
)
ORDER = dict.fromkeys(NO_Y, "the check changes the order of the rows as well, in which starts are drawn")
MORE_ROWS = {
    "check_sample_weight_equivalence_on_dense_data": "as many sources as columns need more than the check's 13 rows"
}
DENSE = {
    "check_sample_weight_equivalence_on_sparse_data": "scikit-learn 1.6 asks it of estimators of dense tables as well"
}
ADDED = dict.fromkeys(
    ["check_fit_score_takes_y", "check_n_features_in_after_fitting"], "partial_fit is of topics by projection"
)
SHORT = {"check_sample_weights_list": "only 4 of the 30 documents have two words, and copies of them are in one group"}
NEGATIVE = {"check_decision_proba_consistency": "its data has negative entries, whatever the estimator's tags say"}


def expected_failures(estimator):
    if isinstance(estimator, MomentMultiLabelClassifier):
        return NEGATIVE | NO_Y
    if isinstance(estimator, AnchorTopics):
        return ADDED
    if isinstance(estimator, (SpectralLDA, SingleTopicModel)):
        return SHORT | (CLUSTERS if hasattr(estimator, "predict_proba") else {})
    if isinstance(estimator, ApproximateNMF):
        return ORDER
    if isinstance(estimator, TensorICA):
        return DENSE | (MORE_ROWS if estimator.n_components is None else {})
    return CLUSTERS if hasattr(estimator, "predict_proba") else {}


@parametrize_with_checks(COMMON, expected_failed_checks=expected_failures)
def test_common_checks(estimator, check):
    check(estimator)


# --- the registry ---------------------------------------------------------------------------------------------------


def public_estimators():
    """Every estimator that a package of the library names in ``__all__``."""
    for module in pkgutil.iter_modules(latentia.__path__, "latentia."):
        if module.ispkg:
            package = import_module(module.name)
            for name in getattr(package, "__all__", ()):
                found = getattr(package, name)
                if (
                    inspect.isclass(found)
                    and issubclass(found, BaseEstimator)
                    and not issubclass(found, CountVectorizer)
                ):
                    yield found


def test_every_public_estimator_has_a_case():
    assert {type(case.estimator) for case in CASES} == set(public_estimators())


def test_exemptions_from_the_common_checks_have_a_reason():
    assert all(case.common_checks or case.why_not for case in CASES)


# --- parameters -----------------------------------------------------------------------------------------------------


@every
def test_conventions_of_the_constructor(case):
    assert issubclass(type(case.estimator), Estimator)
    parameters = inspect.signature(type(case.estimator)).parameters
    first, *others = parameters.values()
    assert first.name == "n_components" or "n_components" not in parameters
    assert first.default is not inspect.Parameter.empty
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in others)
    drawn = "random_state" in parameters  # where nothing is drawn there is none
    assert not drawn or parameters["random_state"].default == 0
    assert set(parameters) <= {*type(case.estimator)._constraints, *SHARED}


@every
def test_clones_and_parameters(case):
    seed = {"random_state": 5} if "random_state" in case.new().get_params() else {}
    other = clone(case.new(n_splits=0, **seed))
    assert other.get_params() == case.new(n_splits=0, **seed).get_params()
    assert not [name for name in vars(other) if name.startswith("_") or name.endswith("_")]


@every
def test_numbers_that_ask_for_progress_are_those_of_scikit_learn(case):
    for verbose in (0, 1, 10, np.int64(2), True, np.False_):
        check_parameters(case.new(verbose=verbose))


def wrong_values(constraint):
    """Values of other types, and numbers out of range."""
    if isinstance(constraint, OrNone):
        return wrong_values(constraint.inner)
    if isinstance(constraint, Integer):
        return ["3", 1.5, True, np.nan, [2], constraint.low - 1]
    if isinstance(constraint, Number):
        return ["a", True, np.nan, [0.5], np.inf]
    if isinstance(constraint, (Choice, Flag)):
        return ["no such thing", 7, ["auto"]]
    if isinstance(constraint, Verbosity):
        return ["yes", 1.5, -1, [1], np.nan]
    if isinstance(constraint, Names):
        return [5, "words", object()]
    return [] if isinstance(constraint, Anything) else ["3", 2.5, True, object()]


@every
def test_wrong_values_of_parameters_are_refused_before_the_data_is_looked_at(case):
    table = {**SHARED, **type(case.estimator)._constraints}
    tried = 0
    for name in case.estimator.get_params():
        for value in wrong_values(table[name]):
            with pytest.raises(LatentiaError, match=name) as error:
                case.new(**{name: value}).fit(object())
            assert error.value.parameter == name
            tried += 1
    assert tried > 10


# --- fitting again --------------------------------------------------------------------------------------------------


def answers(case, model, data=None):
    """What the methods that use a model say."""
    arguments = case.predicts(case.data() if data is None else data)
    return [getattr(model, use)(*arguments.values()) for use in case.uses]


def same(first, second):
    for a, b in zip(first, second, strict=True):
        a, b = (x.toarray() if sparse.issparse(x) else np.asarray(x) for x in (a, b))
        np.testing.assert_array_equal(a, b)


def numbers(model):
    """Public fitted arrays by name."""
    found = {}
    for name in (n for n in vars(model) if n.endswith("_") and not n.startswith("_")):
        value = getattr(model, name)
        for i, one in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(one, (np.ndarray, float)):
                found[f"{name}{i}"] = np.asarray(one)
    if model.evidence_.component_errors is not None:
        found["errors"] = model.evidence_.component_errors
    return found


def same_numbers(first, second):
    one, other = numbers(first), numbers(second)
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@every
def test_a_second_fit_forgets_the_first(case):
    twice = case.new().fit(**case.other()).fit(**case.data())
    once = case.shared()
    assert vars(twice).keys() == vars(once).keys()
    same_numbers(once, twice)


@every
def test_a_failed_fit_leaves_the_model_as_it_was(case):
    model = case.shared()
    said = answers(case, model)
    before = dict(vars(model))
    bad = dict(case.other())
    name = next(iter(bad))
    broken = bad[name].astype(float) if hasattr(bad[name], "astype") else np.asarray(bad[name], dtype=float)
    (broken.data if sparse.issparse(broken) else broken)[-1] = np.inf if case.missing else np.nan
    for wrong in ({**bad, name: broken}, {**bad, name: broken[:0]}):
        with pytest.raises(LatentiaError):
            model.fit(**wrong)
        assert vars(model).keys() == before.keys()
        assert all(value is before[key] for key, value in vars(model).items())
    same(said, answers(case, model))


@every
def test_methods_of_a_model_that_is_not_fitted_say_so(case):
    arguments = case.predicts(case.data())
    for use in case.uses:
        with pytest.raises(ValueError, match="not fitted"):
            getattr(case.new(), use)(*arguments.values())
    if hasattr(case.estimator, "score"):
        with pytest.raises(NotFittedError):
            case.new().score(**scored(case.new(), case.data()))


def scored(model, data):
    """The arguments of ``fit`` that ``score`` takes."""
    names = inspect.signature(model.score).parameters
    found = {name: value for name, value in data.items() if name in names}
    return found | {"y": data["Y"]} if "Y" in data else found


def every_second(data, first):
    """Half of the rows; tables that are one whole stay it."""
    tables = {name: value for name, value in data.items() if hasattr(value, "shape")}
    n, *width = next(iter(tables.values())).shape
    return data if width == [n] else {**data, **{name: value[first::2] for name, value in tables.items()}}


@every
def test_a_score_is_a_finite_number_on_new_rows(case):
    if not hasattr(case.estimator, "score"):
        pytest.skip("this model has no score")
    model = case.new(n_splits=0).fit(**every_second(case.data(), 0))
    score = model.score(**scored(model, every_second(case.data(), 1)))
    assert isinstance(score, float)
    assert np.isfinite(score)


@pytest.mark.parametrize("use", ["transform", "predict"])
@every
def test_to_fit_and_use_is_to_use_after_a_fit(case, use):
    """With all tables of the fit that the use knows."""
    both = f"fit_{use}"
    if not hasattr(type(case.estimator), both):
        pytest.skip("there is no such method")
    (_, first), *others = case.data().items()
    known = inspect.signature(getattr(type(case.estimator), use)).parameters
    expected = getattr(case.shared(), use)(first, **{name: table for name, table in others if name in known})
    np.testing.assert_array_equal(getattr(case.new(), both)(first, **dict(others)), expected)


@every
def test_columns_have_names_wherever_rows_are_transformed(case):
    pandas = pytest.importorskip("pandas")
    if not hasattr(case.estimator, "transform"):
        pytest.skip("this model transforms nothing")
    model = case.shared(n_splits=0).set_output(transform="pandas")
    found = model.transform(*case.predicts(case.data()).values())
    assert isinstance(found, pandas.DataFrame)
    assert list(found.columns) == list(model.get_feature_names_out())
    assert len(set(found.columns)) == found.shape[1]


# --- the same bits --------------------------------------------------------------------------------------------------


def refined(case):
    """The refined fit in one thread, with one of BLAS: for most it is the default."""
    with threadpool_limits(1, user_api="blas"):
        return case.shared(n_jobs=1, **case.refined)


@every
def test_bits_depend_neither_on_the_threads_nor_on_those_of_blas(case):
    one = refined(case)
    with threadpool_limits(1, user_api="blas"):
        said = answers(case, one)
    with threadpool_limits(2, user_api="blas"):
        two = case.fit(n_jobs=2, **case.refined)
        same(said, answers(case, two))
    same_numbers(one, two)


def test_overlapping_fits_leave_the_limits_of_blas_as_they_were():
    case = next(case for case in CASES if case.name == "SphericalGaussianMixture")
    with threadpool_limits(2, user_api="blas"):
        before = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
        together = threading.Barrier(3)

        def fit():
            together.wait()
            case.fit(refine=3)

        running = [threading.Thread(target=fit) for _ in range(3)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        assert [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"] == before


def mapped(data):
    return {
        name: value.map(tuple, value.shapes) if isinstance(value, Blocks) else value for name, value in data.items()
    }


@every
def test_an_array_its_blocks_and_blocks_computed_from_them_give_the_same(case):
    model, blocks = case.shared(), case.blocks(case.data())
    said = answers(case, model)
    for form in (blocks, mapped(blocks)):
        other = case.new().fit(**form)
        same_numbers(model, other)
        same(said, answers(case, other, form))
        same(said, answers(case, model, form))
        assert case.stability(other, form).shape == np.shape(model.evidence_.component_errors)


@every
def test_files_give_the_same_as_arrays(case, tmp_path):
    blocks = next(iter(case.blocks(case.data()).values()))
    if blocks.lengths is not None:
        pytest.skip("files have no lengths of sequences")
    tables = tuple(sparse.csr_array(part) if sparse.issparse(part) else np.asarray(part) for part in blocks[0])
    assert len(blocks) == 1
    write_cache(tmp_path / "data", iter([tables]))
    name = next(iter(case.blocks(case.data())))
    other = case.new().fit(**{**case.blocks(case.data()), name: Blocks.from_files(tmp_path / "data")})
    same_numbers(case.shared(), other)


@every
def test_a_model_survives_saving(case, tmp_path):
    model = case.shared()
    loaded = latentia.load(latentia.save(model, tmp_path / "model"))
    assert type(loaded) is type(model)
    assert str(loaded.get_params()) == str(model.get_params())
    same_numbers(model, loaded)
    same(answers(case, model), answers(case, loaded))
    assert loaded.evidence_.checks == model.evidence_.checks
    assert case.stability(loaded, case.data()).shape == np.shape(model.evidence_.component_errors)


class CountedBlocks(Blocks):
    """Blocks that count how often each is read."""

    def __init__(self, blocks, reads=None):
        self.blocks, self.reads = blocks, [0] * len(blocks) if reads is None else reads
        self.n_rows, self.shapes, self.names = blocks.n_rows, blocks.shapes, blocks.names

    lengths = property(lambda self: self.blocks.lengths)
    n_selections = property(lambda self: self.blocks.n_selections)

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, number):
        block = self.blocks[number]
        self.reads[number] += 1
        return block

    def some_rows(self, most):
        return self.blocks.some_rows(most)

    def first_rows(self, most):
        return self.blocks.first_rows(most)

    def group(self, groups, folds):
        return CountedBlocks(self.blocks.group(groups, folds), self.reads)


@every
@pytest.mark.parametrize("refined", [False, True], ids=["theorem", "refined"])
def test_passes_are_counted(case, refined):
    data = case.blocks(case.data())
    name, blocks = next(iter(data.items()))
    counted = CountedBlocks(blocks)
    model = case.new(n_splits=0, **(case.refined if refined else case.plain)).fit(**{**data, name: counted})
    looks = 0 if blocks.lengths is None else 1  # at some sequences, for copies
    assert max(counted.reads) <= model.n_passes_ + looks


# --- evidence -------------------------------------------------------------------------------------------------------


@every
def test_the_evidence_has_what_everyone_may_ask_for(case):
    model = case.shared()
    evidence = model.evidence_
    assert isinstance(evidence, Evidence)
    assert evidence.holds
    assert evidence.expected_error == pytest.approx(evidence.component_errors.mean())
    assert evidence.expected_error <= evidence.limit == evidence["expected error"].bound.limit
    assert {check.role for check in evidence.checks} <= {"note", "caution", "veto", "verdict"}
    assert all(type(check.holds) in (bool, type(None)) for check in evidence.checks)
    errors = case.stability(model, case.data())
    assert errors.shape == evidence.component_errors.shape
    assert 0.3 < errors.mean() / evidence.expected_error < (np.inf if case.exact else 3)
    with pytest.raises(LatentiaError, match="fit takes no 'nosuch'"):
        evidence.stability(next(iter(case.data().values())), nosuch=1)


@every
def test_what_was_not_measured_is_not_supported(case):
    whole = case.shared(n_splits=0).evidence_
    evidence = whole.topics or whole  # predictions that do not use the components have a grade of their own
    measured = all(one.passed is not None for one in evidence.statements)
    assert evidence.holds is measured
    assert not (measured and case.needs_splits)
    assert (evidence.expected_error is None) is case.needs_splits


@every
def test_the_expected_error_of_a_refined_fit_is_of_the_size_of_the_true_one(case):
    for model in (case.shared(**case.plain), refined(case)):
        assert 1 / 2 < case.truth(model) / model.evidence_.expected_error < 2


@every
def test_all_that_a_fit_keeps_is_checked_when_it_is_loaded(case):
    assert find_undeclared(case.shared(n_splits=0)) == []
    assert find_undeclared(refined(case)) == []


@pytest.mark.parametrize("number", range(len(models())), ids=lambda i: f"{models()[i].name}-{i}")
def test_all_that_options_of_a_fit_leave_is_checked_when_it_is_loaded(number):
    assert find_undeclared(fitted_world(number)) == []


# --- errors and warnings --------------------------------------------------------------------------------------------


@every
def test_blocks_with_nan_are_refused_at_prediction(case):
    model = case.shared()
    good = next(iter(case.blocks(case.data()).values()))

    def spoil(block):
        first = block[0].astype(float).copy() if sparse.issparse(block[0]) else np.array(block[0], dtype=float)
        (first.data if sparse.issparse(first) else first.ravel())[-1] = np.inf if case.missing else np.nan
        return [first, *block[1:]]

    for use in case.uses:
        with pytest.raises(LatentiaError, match=r"(?i)inf" if case.missing else r"(?i)nan"):
            getattr(model, use)(good.map(spoil, good.shapes))


# --- saving ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(corpus):
    return AnchorTopics(10, anchors=[{3: 0.5}, [4, 5]], vocabulary=[f"w{i}" for i in range(800)]).fit(corpus.counts)


def test_save_and_load(fitted, corpus, tmp_path):
    path = latentia.save(fitted, tmp_path / "model")
    assert path.name == "model.npz"
    loaded = latentia.load(path)
    assert type(loaded) is AnchorTopics
    assert loaded.get_params() == fitted.get_params()
    assert (loaded.components_ == fitted.components_).all()
    assert (loaded.transform(corpus.counts[:9]) == fitted.transform(corpus.counts[:9])).all()
    assert isinstance(loaded.evidence_, Evidence)
    assert loaded.evidence_.checks == fitted.evidence_.checks
    assert loaded.evidence_.stability(corpus.counts, n_splits=1).shape == (10,)
    assert loaded.reanchor(replace={0: 7}).anchor_words_[0] == ["w7"]


def test_a_saved_model_holds_no_documents(fitted, tmp_path):
    with np.load(latentia.save(fitted, tmp_path / "m.npz")) as file:
        assert not [name for name in file.files if name.endswith((".data", ".indices", ".indptr"))]


def test_loading_damaged_or_foreign_files(fitted, tmp_path):
    path = latentia.save(fitted, tmp_path / "m.npz")
    (tmp_path / "short.npz").write_bytes(path.read_bytes()[:500])
    np.savez(tmp_path / "foreign.npz", a=np.ones(3))
    np.savez(tmp_path / "pickled.npz", header=np.array([object()], dtype=object))
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, np.ones(3))
    for name in ("short.npz", "foreign.npz", "pickled.npz", "array.npz"):
        with pytest.raises(latentia.LatentiaError, match=f"{name}: not a model saved by latentia"):
            latentia.load(tmp_path / name)
    with pytest.raises(latentia.LatentiaError, match="absent.npz: cannot be read"):
        latentia.load(tmp_path / "absent.npz")


def test_loading_builds_no_foreign_class(fitted, tmp_path):
    import json

    path = latentia.save(fitted, tmp_path / "m.npz")
    with np.load(path) as file:
        arrays = dict(file)
    for kind in ("os:system", "latentia.nosuch:Model", "latentia.persistence:load", "latentia.topics.anchor_topics:np"):
        header = json.loads(bytes(arrays["header"]))
        header["class"] = kind
        changed = arrays | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        np.savez(tmp_path / "evil.npz", **changed)
        with pytest.raises(latentia.LatentiaError, match="lacks|damaged"):
            latentia.load(tmp_path / "evil.npz")


def test_a_failed_save_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    path = latentia.save(fitted, tmp_path / "m.npz")
    before = path.read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(latentia.LatentiaError, match="No space left"):
        latentia.save(fitted, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_pipeline_grid_search_and_set_output():
    texts = ["red apple pear fruit", "apple pear juice fruit", "wolf bear forest hunt", "bear forest wolf snow"] * 15
    pipeline = make_pipeline(CountVectorizer(), AnchorTopics(2))
    search = GridSearchCV(pipeline, {"anchortopics__n_components": [1, 2]}, cv=2, error_score="raise").fit(texts)
    assert search.best_params_["anchortopics__n_components"] == 2
    frame = clone(AnchorTopics(2)).set_output(transform="pandas").fit_transform(CountVectorizer().fit_transform(texts))
    assert list(frame.columns) == ["anchortopics0", "anchortopics1"]
