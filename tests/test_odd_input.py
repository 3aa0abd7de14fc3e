"""Data and questions that make no sense, of every estimator: prediction refuses what a fit refuses, and says so."""

import warnings

import numpy as np
import pytest
from fuzzing import documented, worlds
from fuzzing import fitted as fitted_world
from odd_tables import UNUSABLE, frame, with_entry
from scipy import sparse

import latentia
from latentia import LatentiaError
from latentia.communities._memberships import dirichlet_fit
from latentia.contrastive import RichComponents
from latentia.evidence import bounds
from latentia.evidence.goodness import Misfit
from latentia.evidence.views import ViewMisfits
from latentia.linalg import scaled_eigenspace
from latentia.matrices import ProbabilityMatrix
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.tensor import decompose

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning", "error::RuntimeWarning")
GAPS = (
    "MultiViewMixture",
    "SphericalGaussianMixture",
    "SeparableNMF",
    "ApproximateNMF",
    "PoissonNMF",
)  # cells may be missing


def label(world):
    return world.name


every = pytest.mark.parametrize("world", worlds(), ids=label)


def fitted(world):
    """A fit, made once."""
    return fitted_world(worlds().index(world))


def named(*names):
    """The worlds of these estimators."""
    found = [world for world in worlds() if world.name in names]
    assert {world.name for world in found} == set(names)
    return found


def dense(world, n=None):
    table = world.table.toarray() if sparse.issparse(world.table) else np.asarray(world.table)
    return (table if n is None or world.name == "ProbabilityMatrix" else table[:n]).astype(float)


def as_blocks(world, table):
    """Blocks of a table, in the form that the estimator takes."""
    table = table[:, None] if np.ndim(table) == 1 else table
    if "views" in world.data:
        return Blocks.from_array(*[table[:, list(columns)] for columns in world.data["views"]])
    if "V" in world.data:
        return Blocks.from_array(table, world.data["V"][: len(table)])
    return Blocks.from_array(table, lengths=[len(table)] if world.name.endswith("HMM") else None)


def refused(world, table, match=None):
    for use in world.uses:
        with pytest.raises(LatentiaError, match=match):
            getattr(fitted(world), use)(table)


@every
def test_numbers_that_are_none_or_out_of_range(world):
    for value in (np.nan, np.inf, -np.inf, 1e200, -1e200):
        table = dense(world, 20)
        table.flat[-1] = value
        if not (np.isnan(value) and world.name in ("NoisyOr", *GAPS)):  # of which NaN is an entry that is missing
            refused(world, as_blocks(world, table))
            # A step may be missing, or a cell of a vector.
            if not (np.isnan(value) and world.name == "SpectralHMM" and world.estimator.kind != "counts"):
                refused(world, table)


@every
def test_negative_numbers_where_counts_or_truth_values_are_meant(world):
    if (
        world.name
        in (
            "SphericalGaussianMixture",
            "BackgroundPCA",
            "TensorICA",
            "IncoherentDictionary",
            "SeparableNMF",
            "ApproximateNMF",
        )
        or "V" in world.data
        or fitted(world).get_params().get("distribution") == "gaussian"
    ):
        pytest.skip("any numbers are data")
    if world.name == "SpectralHMM" and world.table.ndim == 2 and world.estimator.kind != "counts":
        pytest.skip("any numbers are data")
    table = dense(world, 20)
    table.flat[-1] = -1.0
    refused(world, table)
    refused(world, as_blocks(world, table))


@every
def test_arrays_of_complex_numbers_and_dates(world):
    if world.name == "MomentMultiLabelClassifier":
        pytest.skip("checked by scikit-learn, which takes dates for numbers")
    for kind in (complex, "M8[s]", "m8[s]"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for use in world.uses:
                with pytest.raises((LatentiaError, TypeError)):
                    getattr(fitted(world), use)(dense(world, 20).astype(int).astype(kind))


@every
def test_another_width(world):
    table = dense(world, 20)
    if table.ndim == 1:
        pytest.skip("symbols come in one column")
    wide = np.pad(table, ((0, table.shape[0] == table.shape[1]), (0, 1)))
    refused(world, wide)
    if "views" not in world.data:
        refused(world, as_blocks(world, wide))


def is_table(world):
    return world.table.ndim == 2 and world.name not in ("MixedMembershipBlockModel", "SpectralHMM")


@pytest.mark.parametrize("world", [world for world in worlds() if is_table(world)], ids=label)
def test_what_is_no_table_of_numbers_is_told_with_its_place(world):
    """Kinds of tables that come by different ways; `test_validation.py` has all of them."""
    for kind in (
        "text in a frame", "text in a list", "infinity of 16 bits", "dates", "names of two types", "a dict", "three dimensions",
        "None",
    ):  # fmt: skip
        make, said = UNUSABLE[kind]
        for use in ("fit", *world.uses):
            _first, *others = world.data.items()
            more = dict(others) if use == "fit" else {}
            model = type(world.estimator)(**world.estimator.get_params()) if use == "fit" else fitted(world)
            with pytest.raises(LatentiaError, match=said) as error:
                getattr(model, use)(make(dense(world)), **more)
            assert len(str(error.value)) < 400


@every
def test_numbers_that_are_missing_are_told_with_their_place(world):
    of_vectors = world.name == "SpectralHMM" and world.estimator.kind != "counts"
    if not is_table(world) or of_vectors or world.name in ("NoisyOr", *GAPS):
        pytest.skip("a form of its own, or NaN is an entry that is missing")
    table = with_entry(dense(world), np.nan).astype(float)
    masked = np.ma.masked_array(dense(world), mask=np.isnan(table))
    for data, column in ((table, "1"), (frame(table), "'c1'"), (masked, "1")):
        for use in world.uses:
            with pytest.raises(LatentiaError, match=f"Row 3, column {column}.*NaN; expected a number") as error:
                getattr(fitted(world), use)(data)
            assert "Gradient" not in str(error.value)


@pytest.mark.parametrize("world", named("NoisyOr", *GAPS), ids=label)
def test_masked_entries_are_missing(world):
    table = dense(world)
    hidden = np.zeros(table.shape, bool)
    hidden[::7, 2] = True
    masked, gaps = np.ma.masked_array(table, mask=hidden), np.where(hidden, np.nan, table)
    for use in world.uses:
        np.testing.assert_array_equal(*(getattr(fitted(world), use)(each) for each in (masked, gaps)))


@pytest.mark.parametrize("world", named("ProbabilityMatrix"), ids=label)
@pytest.mark.parametrize("kind", [np.float16, np.longdouble])
def test_counts_of_other_lengths_are_taken(world, kind):
    assert fitted(world).score(dense(world).astype(kind)) == fitted(world).score(dense(world))


def test_sequences_of_different_lengths_may_be_a_list():
    steps = np.random.default_rng(0).integers(0, 3, 300)
    lists = [steps[:100].tolist(), steps[100:180].tolist(), steps[180:].tolist()]
    joined = SpectralHMM(2).fit(steps, lengths=[100, 80, 120])
    np.testing.assert_array_equal(SpectralHMM(2).fit(lists).transmat_, joined.transmat_)
    arrays = [np.random.default_rng(1).normal(size=(n, 2)) + [3 * (n % 2), 0] for n in (101, 80)]
    joined = SpectralHMM(2).fit(np.concatenate(arrays), lengths=[101, 80])
    np.testing.assert_array_equal(SpectralHMM(2).fit(arrays).transmat_, joined.transmat_)
    with pytest.raises(LatentiaError, match=r"row 0 holds a list.*numpy\.concatenate"):
        SpectralHMM(2).fit(np.array([[0, 1, 2], [1, 0]], dtype=object))


@every
def test_what_is_no_table(world):
    ragged = [] if hasattr(fitted(world), "emissionprob_") else [[[1, 2], [3]]]  # Else two sequences of symbols.
    for table in (None, 5, "abc", [], *ragged, np.zeros((2, 3, 4)), [["a", "b"]]):
        for use in world.uses:
            with pytest.raises((LatentiaError, TypeError)):
                getattr(fitted(world), use)(table)


@pytest.mark.parametrize(
    "world", named("AnchorTopics", "SpectralLDA", "SingleTopicModel", "MomentMultiLabelClassifier"), ids=label
)
def test_entries_that_are_listed_twice(world):
    single = sparse.csr_array(dense(world, 30))
    twice = sparse.csr_array(
        (single.data.repeat(2) / 2, single.indices.repeat(2), single.indptr * 2), shape=single.shape
    )
    for use in world.uses:
        found, same = (getattr(fitted(world), use)(each) for each in (twice, single))
        for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, same)), strict=True):
            one, other = (each.toarray() if sparse.issparse(each) else each for each in (one, other))
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert twice.nnz == 2 * single.nnz


@pytest.mark.parametrize("world", named("ContrastiveRegression", "ContrastiveLogisticRegression"), ids=label)
def test_targets_of_two_views(world):
    U, V, y = world.data.values()
    missing = np.r_[np.nan, y[1:]]
    model = fitted(world)
    for arguments, said in (
        ((U, V), "Expected a target.*after both views"),
        ((U, V, y[:9]), "U has 400 rows and y has 9"),
        ((U, V[:9], y), "U has 400 rows and V has 9"),
        ((U, V, missing), "Row 0.* of y"),
        ((U, V, missing.astype(object)), "Row 0.* of y"),
        ((U, V, np.r_[np.inf, y[1:]]), "Row 0.* of y"),
        ((U, V, [None] * 400), "Row 0.* of y"),
    ):
        for method in (type(model)().fit, model.score):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(LatentiaError, match=said) as error:
                    method(*arguments)
            assert len(str(error.value)) < 300
    for method in (type(model)().fit, model.score):
        with pytest.raises(LatentiaError, match="Expected a target"):
            method(U, y)
    assert np.isfinite(model.score(U, V, y))


def test_rows_of_labels_are_those_of_the_table():
    world = named("MomentMultiLabelClassifier")[0]
    X, Y = world.data.values()
    with pytest.raises(LatentiaError, match="X has 300 rows and Y has 9"):
        MomentMultiLabelClassifier(2).fit(X, Y[:9])
    with pytest.raises(LatentiaError, match="X has 300 rows and y has 9"):
        fitted(world).score(X, Y[:9])
    with pytest.raises(LatentiaError, match="300 texts.*WordVectorizer"):
        MomentMultiLabelClassifier(2).fit(["some words of a text"] * 300, Y)


@pytest.mark.parametrize("views", [np.array(5), np.float64(5), 5, None, "abc", {}, []], ids=repr)
def test_views_that_are_no_list(views):
    with pytest.raises(LatentiaError, match="Expected a list of tables|there is none"):
        RichComponents().fit(views)


@pytest.mark.parametrize("seed", [-1, "abc", [], [1, 2], 1e300, 2.5, True, 2**32], ids=repr)
def test_seeds_of_decompositions(seed):
    for method in ("polar", "als"):
        with pytest.raises(LatentiaError, match=r"random_state=.*whole number from 0"):
            decompose(np.ones((2, 2, 2)), 1, random_state=seed, method=method)
    with pytest.raises(LatentiaError, match="T is no array of numbers"):
        decompose([[[1, 2]], [[3]]], 1)


@pytest.mark.parametrize("eps", ["a", None, 0, 1, -0.5, np.nan, [0.1], True], ids=repr)
def test_sizes_of_nets(eps):
    model = fitted(named("ApproximateNMF")[0])
    if eps is not None:
        with pytest.raises(LatentiaError, match="eps="):
            model.net_size(eps)
    assert model.net_size(0.1) < model.net_size(0.01) < model.net_size(1e-300) == np.inf


@pytest.mark.parametrize("alpha0", [5e-324, 1e-320, 1e-310, 1e-300, 1e-30])
def test_concentrations_near_zero(alpha0):
    world = named("MixedMembershipBlockModel")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = type(world.estimator)(2, alpha0=alpha0).fit(**world.data)
    assert np.isfinite(found.memberships_).all()


@pytest.mark.parametrize("logs", [-np.inf, -1e300, -1e5, 0.0])
def test_dirichlet_parameters_of_extreme_logarithms(logs):
    for start in (0.0, 5e-324, 1.0, 1e8):
        assert np.isfinite(dirichlet_fit(np.array([logs, -1.0]), np.full(2, start))).all()


@pytest.mark.parametrize(
    "numbers", [(1.0, 0.0, 1.0), (1e300, 0.0, 0.0), (0.0, 0.0, 0.0), (1e300, 1e-300, 1e-300)], ids=repr
)
def test_quotients_without_noise(numbers):
    left = tuple(np.float64(one) for one in numbers)
    misfit = Misfit.from_norms(*left)
    assert not np.isnan(misfit.ratio)
    assert np.isfinite(misfit.bias(np.array([0.0, 1.0]))).all()
    for surplus in (False, True):
        views = ViewMisfits.from_norms(left, left, left, surplus)
        assert np.isfinite(views.together(True).bias(np.array([0.0, 1.0]))).all()


def test_error_of_the_theorem_where_there_is_no_bound():
    for density, tau in ((0.0, np.inf), (0.5, np.inf), (0.5, np.nan), (0.5, 1e300)):
        assert bounds.noisy_or_error(3, density, 0.1, tau) == np.inf
    assert bounds.noisy_or_error(3, 0.0, 0.1, 2.0) == 0.0


def test_reports_with_tables_of_other_types(tmp_path):
    codes, labels = named("IncoherentDictionary")[0], named("MomentMultiLabelClassifier")[0]
    assert fitted(codes).report(tmp_path / "codes.html", dense(codes) > 0).exists()
    X, Y = (table.toarray().astype(object) for table in labels.data.values())
    assert fitted(labels).report(tmp_path / "labels.html", X, Y).exists()
    with pytest.raises(LatentiaError, match="Row 3, column 1 of Y: 'red' is text"):
        fitted(labels).report(tmp_path / "labels.html", X, with_entry(Y, "red"))


@pytest.mark.parametrize("world", named("TensorICA", "IncoherentDictionary", "SeparableNMF", "AnchorTopics"), ids=label)
def test_tables_of_inverse_transforms(world):
    model = fitted(world)
    wrong = [None, 5, [], [1.0], {"a": 1}, np.full((2, len(model.components_)), np.nan), np.zeros((2, 99)), [["a"]]]
    wrong += [sparse.csr_array((2, 3))] * (world.name in ("TensorICA", "AnchorTopics"))
    for table in wrong:
        with pytest.raises(LatentiaError):
            model.inverse_transform(table)


@pytest.mark.parametrize(
    "lengths", [[[1, 2], [3]], ["a"], [2**62] * 4 + [500], [1.5], 5, [-1, 501], [0, 500], "abc", {3: 4}, [499], []]
)
@pytest.mark.parametrize("world", named("SpectralHMM", "TwoStateHMM"), ids=label)
def test_lengths_of_sequences(world, lengths):
    for use in world.uses:
        with pytest.raises(LatentiaError, match="lengths"):
            getattr(fitted(world), use)(world.table[:500], lengths)
    with pytest.raises(LatentiaError, match="lengths"):
        world.estimator.__class__().fit(world.table[:500], lengths)


@every
def test_sizes_of_samples(world):
    if not hasattr(world.estimator, "sample"):
        pytest.skip("nothing is drawn from this model")
    for size in (0, -1, 2.5, "3", True, None, 10**12):
        with pytest.raises(LatentiaError, match="whole number of at least 1|expected at most .* at a time"):
            fitted(world).sample(size)


def test_questions_of_matrices_and_chains():
    matrix, chain = fitted(named("ProbabilityMatrix")[0]), fitted(named("TwoStateHMM")[0])
    for question in (
        lambda: matrix.entries([0, 1], [0, 1, 2]),
        lambda: matrix.most_similar([0, 1]),
        lambda: matrix.rows([[0]]),
        lambda: matrix.entries(-1, 0),
        lambda: matrix.entries(0.5, 0),
        lambda: matrix.most_similar(10**9),
        lambda: chain.entropy_rate(0),
        lambda: chain.entropy_rate(10**12),
    ):
        with pytest.raises(LatentiaError):
            question()


@pytest.mark.parametrize("estimator", [SpectralHMM(2), TwoStateHMM()], ids=lambda one: type(one).__name__)
def test_symbols_up_to_a_thousand_million_take_no_memory_for_those_between(estimator):
    steps = np.array([0, 1, 2, 10**9] * 100)
    for data in (steps, Blocks.from_array(steps, lengths=[400])):
        with pytest.raises(LatentiaError, match=r"too large for 400 steps.*numpy\.unique"):
            estimator.fit(data)


def test_an_alphabet_that_is_declared_too_large():
    with pytest.raises(LatentiaError, match="too large"):
        SpectralHMM(2, n_symbols=10**10).fit(np.arange(400) % 3)


@pytest.mark.parametrize("word", [10**9, 10**12, -1])
def test_pairs_of_words_with_large_numbers(word):
    with pytest.raises(LatentiaError, match="Pair 1 has the word"):
        ProbabilityMatrix(2).fit_pairs(np.array([[0, 1], [2, word]]))


@pytest.mark.parametrize("missing", [None, np.nan, "pandas"])
def test_missing_symbols_are_no_symbols(missing):
    missing = pytest.importorskip("pandas").NA if missing == "pandas" else missing
    with pytest.raises(LatentiaError, match="three consecutive observed steps"):
        SpectralHMM(1).fit(np.array(["a", "b", missing] * 50, dtype=object))
    found = SpectralHMM(1).fit(np.array(["a", "b", "b", "a", missing] * 50, dtype=object))
    assert found.symbols_.tolist() == ["a", "b"]


@pytest.mark.parametrize("value", [[1], (1, 2), {"a": 1}, np.array([1, 2]), range(3)], ids=repr)
@pytest.mark.parametrize("estimator", [SpectralHMM(1), TwoStateHMM()], ids=lambda one: type(one).__name__)
def test_symbols_that_are_no_single_value(estimator, value):
    symbols = np.array(["a", "b", "c"] * 100, dtype=object)
    found = estimator.fit(symbols)
    symbols[5] = value
    for method in (estimator.fit, found.score):
        with pytest.raises(LatentiaError, match=f"row 5 holds a {type(value).__name__}"):
            method(symbols)


@pytest.mark.parametrize("tau", [5e-324, 1e-300, 1e-20, 1e160, 1e300])
def test_scaling_of_words_that_were_not_seen(tau, tmp_path):
    counts = np.zeros((35, 35))
    counts[:30, :30] = dense(named("ProbabilityMatrix")[0])
    for model, data in (
        (ProbabilityMatrix(2, tau=tau), counts),
        (TwoStateHMM(n_symbols=25, tau=tau), dense(named("TwoStateHMM")[0])),
    ):
        assert np.isfinite(model.fit(data).score(data))
        assert latentia.load(latentia.save(model, tmp_path / "model")).score(data) == model.score(data)


@every
def test_data_of_extreme_size(world, capfd):
    for size in (1e-300, 1e-160, 1e-80, 1e80, 1e154, 1e300):
        with documented(), np.errstate(under="ignore"):
            data = dict(world.data)
            data[next(iter(data))] = dense(world) * size
            model = type(world.estimator)(**world.estimator.get_params()).fit(**data)
            learned = [value for value in vars(model).values() if getattr(value, "dtype", None) == np.float64]
            assert np.isfinite(np.concatenate([np.ravel(value) for value in learned])).all()
    assert "On entry to" not in capfd.readouterr().err


@every
def test_a_number_of_components_that_the_data_does_not_support(world):
    if world.name == "TwoStateHMM" or "n_components" not in world.estimator.get_params():
        pytest.skip("the number is fixed")
    numbers, parameters = set(), world.estimator.get_params()
    parameters |= {"n_splits": 1} if "n_splits" in parameters else {}
    data = world.data
    if world.name == "SpectralHMM" and dense(world).ndim == 2:
        data = {name: table[:100] for name, table in data.items()}  # A chain may have half as many states as steps.
    for size in (45, 10**6):
        model = type(world.estimator)(**{**parameters, "n_components": size})
        try:
            model.fit(**data)
        except LatentiaError as error:
            number = error.at_most
            if error.parameter != "n_components" or number is None:
                continue
            if number not in numbers:
                model.set_params(n_components=number).fit(**data)
            numbers.add(number)


@pytest.mark.parametrize("world", named("SpectralLDA", "SingleTopicModel"), ids=label)
def test_samples_of_many_long_documents_are_refused(world):
    with pytest.raises(LatentiaError, match=r"^n_samples \* length=.*expected at most .* at a time"):
        fitted(world).sample(10**6, length=10**6)


def test_counts_without_a_pair_are_too_few():
    with pytest.raises(LatentiaError, match="no pairs"):
        scaled_eigenspace(sparse.csr_array((5, 5)), 1)


RAGGED, STRANGE_ARRAYS = (
    [[0, 1], [1]],
    [np.array([1j]), np.ma.masked_array([1.0, 2.0], [True, False]), np.zeros((2, 3, 4)), "x", {}],
)
ODD_ARGUMENTS = [
    ("AnchorTopics", lambda model, X: model.document_table(X, RAGGED)),
    ("AnchorTopics", lambda model, X: model.document_table(X, 5)),
    ("AnchorTopics", lambda model, X: model.get_feature_names_out(5)),
    ("AnchorTopics", lambda model, X: model.get_feature_names_out(["a"])),
    ("AnchorTopics", lambda model, X: model.score(X, sample_weight=RAGGED)),
    ("AnchorTopics", lambda model, X: model.score(X, sample_weight=np.full(X.shape[0], 1e308))),
    ("AnchorTopics", lambda model, X: model.name_topics(str, STRANGE_ARRAYS[1], None)),
    ("AnchorTopics", lambda model, X: model.prevalence_over(X, np.array([1j]))),
    ("AnchorTopics", lambda model, X: model.effects(X, "~ a", {"a": 1})),
    ("AnchorTopics", lambda model, X: model.evidence_.stability(X, n_splits=None)),
    ("SphericalGaussianMixture", lambda model, X: model.effects(X, "~ a", {"a": X[:, 0]}, cluster=X)),
    ("MomentMultiLabelClassifier", lambda model, X: model.explain(X, RAGGED)),
    ("MomentMultiLabelClassifier", lambda model, X: model.predict(X, threshold=X)),
    ("NoisyOr", lambda model, X: model.explain(RAGGED)),
    ("NoisyOr", lambda model, X: model.write_bif(None)),
    ("NoisyOr", lambda model, X: latentia.save(model, "")),
    ("ProbabilityMatrix", lambda model, X: model.rows(RAGGED)),
    ("ProbabilityMatrix", lambda model, X: model.topics(RAGGED)),
    ("ProbabilityMatrix", lambda model, X: model.topics(anchors=RAGGED)),
    ("ProbabilityMatrix", lambda model, X: model.fit_pairs(RAGGED)),
    ("MixedMembershipBlockModel", lambda model, X: model.edge_probability(RAGGED, 0)),
    *(("SpectralHMM", lambda model, X, value=value: model.filter_step(0, value)) for value in STRANGE_ARRAYS),
    *(("SparseNetwork", lambda model, X, value=value: model.decode(value)) for value in STRANGE_ARRAYS),
    *(("ProbabilityMatrix", lambda model, X, value=value: model.l1_distance(value)) for value in STRANGE_ARRAYS),
    *(("ProbabilityMatrix", lambda model, X, value=value: model.topics(min_count=value)) for value in STRANGE_ARRAYS),
    ("ProbabilityMatrix", lambda model, X: model.topics(min_count=None)),
    *(
        ("ContrastiveRegression", lambda model, X, value=value: model.score(*views_and_target(), sample_weight=value))
        for value in [5, [], np.zeros(400), np.full(400, 1e308), *STRANGE_ARRAYS]
    ),
    *(
        ("AnchorTopics", lambda model, X, value=value: model.prevalence_over(X, np.arange(X.shape[0]), period=value))
        for value in [5e-324, b"x", [], np.datetime64("2020-01-01"), *STRANGE_ARRAYS]
    ),
]  # fmt: skip


def views_and_target():
    return named("ContrastiveRegression")[0].data.values()


@pytest.mark.parametrize(("name", "call"), ODD_ARGUMENTS)
def test_arguments_beside_the_data_are_read_through_one_door(name, call):
    (world, *_) = named(name)
    with pytest.raises(LatentiaError):
        call(fitted(world), world.table)


def test_outcomes_near_the_smallest_numbers_are_regressed():
    (world,) = named("SphericalGaussianMixture")
    y = np.random.default_rng(0).integers(1, 5, 300)
    plain, tiny = (fitted(world).regress(world.table, values).to_frame() for values in (y * 2.0**-900, y * 5e-324))
    assert len(tiny) == len(plain)
