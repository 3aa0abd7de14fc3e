import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import latentia
from latentia import LatentiaError
from latentia.contrastive import RichComponents
from latentia.contrastive._rich_maps import find_parts, solve
from latentia.contrastive._sets import SetSystem, all_subsets, set_system
from latentia.datasets import planted
from latentia.exceptions import EvidenceWarning
from latentia.moments import moments_to_cumulants
from latentia.passes import Blocks

SEVEN = all_subsets(3)
CONTRASTIVE = [(0,), (1,), (0, 1)]


# --- the paper's algorithms on exact cumulants ----------------------------------------------------------------------


class Population:
    """Views of components with independent discrete distributions on a few points of R^d, and all their cumulants."""

    def __init__(self, subsets, d=2, n_points=5, absent=(), seed=0):
        rng = np.random.default_rng(seed)
        self.subsets, self.d, self.n_views = subsets, d, 1 + max(max(one) for one in subsets)
        self.maps = {(i, j): np.eye(d) if i == one[0] else rng.uniform(-1, 1, (d, d)) + np.eye(d)
                     for j, one in enumerate(subsets) for i in one}  # fmt: skip
        self.own = []
        for j in range(len(subsets)):
            points, weights = rng.standard_normal((n_points, d)), rng.dirichlet(np.ones(n_points))
            points = (points - weights @ points) * (j not in absent)
            moments = [np.einsum("n" + "".join(f",n{c}" for c in "abcd"[:t]) + "->" + "abcd"[:t], weights, *[points] * t)
                       for t in range(1, 5)]  # fmt: skip
            self.own.append(moments_to_cumulants(moments))

    def part(self, j, index):
        tensor = self.own[j][len(index) - 1]
        for mode, i in enumerate(index):
            tensor = np.moveaxis(np.tensordot(self.maps[i, j], tensor, axes=(1, mode)), 0, mode)
        return tensor

    def __call__(self, index):
        """kappa(U_i1, ..., U_it), of independent components."""
        return sum(self.part(j, index) for j, one in enumerate(self.subsets) if set(index) <= set(one))


def in_modes(tensor, matrices):
    """kappa(X)(B_1^T, ..., B_t^T): the cumulant of (B_1 X, ..., B_t X)."""
    for mode, matrix in enumerate(matrices):
        tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, mode)), 0, mode)
    return tensor


def distinguishing_set(subsets, j, size):
    """By exhaustive search, padded to ``size`` by its last view."""
    for many in range(1, len(subsets[j]) + 1):
        for views in itertools.combinations(subsets[j], many):
            if all(set(subsets[j]) <= set(other) or not set(views) <= set(other) for other in subsets):
                return views + (views[-1],) * (size - many)
    raise AssertionError


def in_order(subsets):
    return sorted(range(len(subsets)), key=lambda j: -len(subsets[j]))


def algorithm_2(subsets, kappa, L):
    """FindLinear as printed, with M_{min Q_j} and the sum over strict supersets."""
    maps, own, done = {}, {}, []
    for j in in_order(subsets):
        first, T = subsets[j][0], distinguishing_set(subsets, j, L)
        above = [one for one in done if set(subsets[j]) < set(subsets[one])]
        unfolded = {}
        for i in subsets[j]:
            tensor = kappa((*T, i))
            for one in above:
                tensor = tensor - in_modes(own[one], [maps[w, one] for w in (*T, i)])
            unfolded[i] = tensor.reshape(-1, tensor.shape[-1])
        if np.abs(unfolded[first]).max() < 1e-10:
            continue
        for i in subsets[j]:
            maps[i, j] = (np.linalg.pinv(unfolded[first]) @ unfolded[i]).T
        inverses = [np.linalg.inv(maps[w, j]) for w in T]
        own[j] = in_modes(kappa((*T, first)), [*inverses, np.eye(len(maps[first, j]))])
        for one in above:
            turned = [inverse @ maps[w, one] for inverse, w in zip(inverses, T, strict=True)]
            own[j] = own[j] - in_modes(own[one], [*turned, maps[first, one]])
        done.append(j)
    return maps, done


def algorithm_3(subsets, kappa, L, t):
    """ComputeCumulant."""
    maps, present = algorithm_2(subsets, kappa, L)
    left = [subsets[j] for j in range(len(subsets)) if j in present]
    names = [j for j in range(len(subsets)) if j in present]
    own = {}
    for place in in_order(left):
        j = names[place]
        T = distinguishing_set(left, place, t)
        inverses = [np.linalg.inv(maps[w, j]) for w in T]
        above = [one for one in own if set(subsets[j]) < set(subsets[one])]
        own[j] = in_modes(kappa(T), inverses)
        for one in above:
            turned = [inverse @ maps[w, one] for inverse, w in zip(inverses, T, strict=True)]
            own[j] = own[j] - in_modes(own[one], turned)
    return own


def any_order(system, j):
    return [t for t in (2, 3, 4) if system.instruments(j, t)]


@pytest.mark.parametrize(
    ("subsets", "absent", "L"),
    [(SEVEN, (), 3), (SEVEN, (3, 0), 3), (CONTRASTIVE, (), 2), ([(0, 1, 2), (0, 1), (1, 2), (2, 3), (3,)], (1,), 2)],
    ids=["seven", "some absent", "contrastive", "a chain"],
)
def test_algorithms_2_and_3_on_exact_cumulants(subsets, absent, L):
    world = Population(subsets, absent=absent)
    plan, parts = find_parts(SetSystem(tuple(subsets)), world, [], world.n_views, any_order, 4.0)
    maps, present = algorithm_2(subsets, world, L)
    assert plan.present == sorted(present) == [j for j in range(len(subsets)) if j not in absent]
    assert parts.maps.keys() == maps.keys()
    for key, found in parts.maps.items():
        np.testing.assert_allclose(found, maps[key], atol=1e-8)
        np.testing.assert_allclose(found, world.maps[key], atol=1e-8)
        np.testing.assert_allclose(parts.inverses[key] @ found, np.eye(world.d), atol=1e-8)
    for order in range(L, 5):
        own = algorithm_3(subsets, world, L, order)
        for j in plan.present:
            np.testing.assert_allclose(parts.cumulant(j, order), own[j], atol=1e-8)
            np.testing.assert_allclose(parts.cumulant(j, order), world.own[j][order - 1], atol=1e-8)
    again = solve(plan, world)
    np.testing.assert_allclose([again.maps[key] for key in maps], [world.maps[key] for key in maps], atol=1e-8)


def test_the_regressions_for_weak_signals_agree_on_exact_cumulants():
    world = Population(SEVEN, seed=1)
    plan, _ = find_parts(SetSystem(tuple(SEVEN)), world, [], 3, any_order, 4.0)
    plan.weakest = dict.fromkeys(plan.weakest, 0.0)
    found = solve(plan, world)
    for key, matrix in world.maps.items():
        np.testing.assert_allclose(found.maps[key], matrix, atol=1e-7)
        np.testing.assert_allclose(found.inverses[key] @ matrix, np.eye(2), atol=1e-7)


# --- systems of sets ------------------------------------------------------------------------------------------------


def test_distinguishing_sets():
    system = SetSystem(tuple(SEVEN))
    assert [system.distinguishing(j) for j in range(7)] == SEVEN
    assert [len(system.instruments(6, t)) for t in (2, 3, 4)] == [0, 0, 1]
    assert system.instruments(3, 4) == [(0, 0, 1), (0, 1, 1)]
    assert not system.available(6, 2)
    assert not system.available(0, 2)
    apart = SetSystem(((0, 1), (2, 3), (1, 2)))
    assert [apart.distinguishing(j) for j in range(3)] == [(0,), (3,), (1, 2)]
    assert apart.available(0, 2)
    without = system.mark_absent([6])
    assert without.distinguishing(3) == (0, 1)
    assert without.available(3, 2)
    assert set(system.sources(6, (0, 0, 1))) == {(0, 2, 1), (2, 0, 1)}


@pytest.mark.parametrize(
    ("subsets", "reason"),
    [
        ([], "there is no set"),
        ([(0, 1), ()], "set 1 is empty"),
        ([(0, 1), (2,), (1, 0)], "sets 0 and 2 are the same"),
        ([(0, 1, 3), (2,)], "set 0 has view 3"),
        ([(-1, 0), (1, 2)], "set 0 has view -1"),
        ([(0, 0), (1, 2)], "different whole numbers"),
        ([(0.5, 1), (2,)], "different whole numbers"),
        ([0, 1, 2], "a tuple of numbers of views"),
        ([(0, 1)], "view 2 is in no set"),
        (7, "a list of tuples"),
        ("012", "a list of tuples"),
    ],
)
def test_systems_that_are_refused(subsets, reason):
    views = [np.random.default_rng(i).standard_exponential((200, 2)) for i in range(3)]
    with pytest.raises(LatentiaError, match=reason) as error:
        RichComponents(subsets).fit(views)
    assert error.value.parameter == "subsets"


def test_systems_that_need_higher_orders_than_there_are():
    with pytest.raises(LatentiaError, match="6 views separate set 62"):
        set_system(all_subsets(6), 6, 5)
    assert set_system(all_subsets(5), 5, 5).subsets == tuple(all_subsets(5))
    with pytest.raises(LatentiaError, match="all 15 subsets of 4 views"):
        RichComponents().fit([np.random.default_rng(i).standard_exponential((200, 2)) for i in range(4)])
    with pytest.raises(LatentiaError, match=r"order=3: component 6 of views \(0, 1, 2\).* of order 4 or more"):
        RichComponents(order=3).fit([np.random.default_rng(i).standard_exponential((200, 2)) for i in range(3)])
    for order in (1, 7, 2.5, True, "three"):
        with pytest.raises(LatentiaError, match="from 2 to 6") as error:
            RichComponents(order=order).fit(None)
        assert error.value.parameter == "order"


# --- recovery -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return planted.rich_components(60_000, 3, absent=[0, 4], random_state=2)


@pytest.fixture(scope="module")
def model(data):
    return RichComponents().fit(data.views)


def map_errors(model, data):
    return np.array(
        [
            np.linalg.norm(model.linear_maps_[i, j] - matrix) / np.linalg.norm(matrix)
            for (i, j), matrix in data.linear_maps.items()
            if data.present[j] and i != data.subsets[j][0]
        ]
    )


def test_maps_zero_test_and_cumulants(model, data):
    np.testing.assert_array_equal(model.present_, data.present)
    assert model.zero_test_[data.present].min() > 10
    assert model.zero_test_[~data.present].max() < 3
    assert map_errors(model, data).max() < 0.1
    assert all(
        (model.linear_maps_[one[0], j] == np.eye(3)).all() for j, one in enumerate(data.subsets) if data.present[j]
    )
    assert model.subsets_ == model.distinguishing_sets_ == data.subsets
    assert model.n_passes_ == 2
    for j in range(7):
        for order, value in ((3, 2.0), (4, 6.0)):
            own = np.zeros((3,) * order)
            own[(range(3),) * order] = value * data.present[j]
            found = model.cumulant(j, order)
            np.testing.assert_allclose(found, own, atol=0.25 * value)
            np.testing.assert_allclose(found, np.moveaxis(found, 0, -1), atol=1e-10)
    assert model.evidence_.holds
    assert model.evidence_.component_errors.shape == (3,)
    assert 0.5 < model.evidence_.expected_error / map_errors(model, data).mean() < 2


def test_seven_components_of_three_views():
    errors = []
    for seed in range(3):
        absent = np.random.default_rng(seed).choice(7, seed, replace=False).tolist()
        data = planted.rich_components(500_000, 5, absent=absent, random_state=seed)
        model = RichComponents().fit(data.views)
        np.testing.assert_array_equal(model.present_, data.present)
        errors.append(map_errors(model, data).mean())
    assert np.mean(errors) < 0.06


def test_covariances_of_the_contrastive_model():
    data = planted.rich_components(40_000, 3, CONTRASTIVE, random_state=0)
    model = RichComponents(CONTRASTIVE).fit(data.views)
    for j in range(3):
        np.testing.assert_allclose(model.covariance(j), np.eye(3), atol=0.2)
        np.testing.assert_array_equal(model.covariance(j), model.cumulant(j, 2))
    fifth = model.cumulant(2, 5, data.views)
    assert fifth.shape == (3,) * 5
    assert 0.6 < fifth[0, 0, 0, 0, 0] / 24 < 1.4  # of an exponential distribution


def test_cumulants_that_are_not_known(model, data):
    with pytest.raises(
        LatentiaError, match="component 3 are known from order 3 on. It takes 3 views to separate component 6"
    ):
        model.covariance(3)
    with pytest.raises(LatentiaError, match="give the views as well"):
        model.cumulant(3, 5)
    for component in (7, -1, 1.5):
        with pytest.raises(LatentiaError, match="a component from 0 to 6"):
            model.cumulant(component, 3)
    for order in (1, 7, "3"):
        with pytest.raises(LatentiaError, match="from 2 to 6"):
            model.cumulant(3, order)
    with pytest.raises(LatentiaError, match="fitted on 3 views of 3"):
        model.cumulant(3, 5, data.views[:2])


@pytest.mark.parametrize("subsets", [[(0, 1), (2, 3), (1, 2)], [(0, 1, 2, 3), (0,), (1,), (2,), (3,)]])
def test_other_systems(subsets):
    data = planted.rich_components(40_000, 3, subsets, random_state=1)
    model = RichComponents(subsets).fit(data.views)
    assert model.present_.all()
    assert map_errors(model, data).max() < 0.08
    assert model.evidence_["goodness of fit"].holds


def test_views_that_determine_each_other():
    data = planted.rich_components(5000, 3, [(0, 1), (2,)], random_state=1)
    model = RichComponents([(0, 1), (2,)]).fit(data.views)
    np.testing.assert_allclose(model.linear_maps_[1, 0], data.linear_maps[1, 0], atol=1e-8)
    assert model.evidence_["goodness of fit"].holds


def test_higher_orders():
    subsets = [one for one in all_subsets(4) if len(one) != 2]
    absent = [j for j, one in enumerate(subsets) if len(one) == 3]
    data = planted.rich_components(50_000, 1, subsets, absent=absent, random_state=3)
    model = RichComponents(subsets, n_splits=0).fit(data.views)
    assert model.distinguishing_sets_[-1] == (0, 1, 2, 3)
    assert model.n_passes_ > 2
    np.testing.assert_array_equal(model.present_, data.present)
    assert map_errors(model, data).max() < 0.2


@pytest.mark.parametrize("order", [3, 4, 5])
def test_a_single_order(order):
    data = planted.rich_components(20_000, 2, CONTRASTIVE, random_state=0)
    model = RichComponents(CONTRASTIVE, order=order, n_splits=0).fit(data.views)
    assert map_errors(model, data).max() < 0.25


def test_symmetric_components_are_told_by_fourth_cumulants():
    data = planted.rich_components(40_000, 3, CONTRASTIVE, distribution="uniform", random_state=0)
    assert map_errors(RichComponents(CONTRASTIVE).fit(data.views), data).max() < 0.1


def test_units_do_not_matter(model, data):
    units = np.array([1e-4, 1.0, 1e5])
    other = RichComponents().fit([view * units for view in data.views])
    for key, found in model.linear_maps_.items():
        np.testing.assert_allclose(other.linear_maps_[key], found * np.outer(units, 1 / units), rtol=1e-6)
    np.testing.assert_allclose(other.cumulant(6, 3)[0, 1, 2], model.cumulant(6, 3)[0, 1, 2] * 10, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.evidence_.component_errors, model.evidence_.component_errors, rtol=1e-6)


# --- evidence -------------------------------------------------------------------------------------------------------


def test_gaussian_views_hold_nothing():
    data = planted.rich_components(5000, 3, distribution="gaussian", random_state=0)
    with pytest.warns(EvidenceWarning, match="independent or Gaussian"):
        model = RichComponents().fit(data.views)
    assert not model.present_.any()
    assert model.linear_maps_ == {}
    assert model.evidence_.grade == "not supported"
    assert not model.evidence_["shared components"].holds
    assert not model.evidence_["goodness of fit"].holds  # covariances of the views do not vanish
    with pytest.warns(EvidenceWarning):
        assert model.evidence_.stability(data.views, n_splits=1).shape == (0,)


@pytest.mark.parametrize("missing", [(0, 1), (0, 1, 2)])
def test_a_set_that_is_missing_is_seen(data, missing):
    data = planted.rich_components(60_000, 3, random_state=2)
    model = RichComponents([one for one in SEVEN if one != missing]).fit(data.views)
    assert not model.evidence_["goodness of fit"].holds
    assert not model.evidence_.holds


def test_a_component_of_fewer_dimensions_is_seen():
    data = planted.rich_components(60_000, 3, CONTRASTIVE, random_state=0)
    lost = data.components[2] * [0, 0, 1]
    views = [data.views[i] - lost @ data.linear_maps[i, 2].T for i in range(2)]
    evidence = RichComponents(CONTRASTIVE).fit(views).evidence_
    assert not evidence["weakest direction"].holds
    assert not evidence.holds


def test_few_rows_are_not_supported():
    data = planted.rich_components(1000, 3, random_state=0)
    assert RichComponents().fit(data.views).evidence_.grade == "not supported"


def test_stability(model, data):
    errors = model.evidence_.stability(data.views, n_splits=1)
    assert errors.shape == model.evidence_.component_errors.shape
    assert 0.4 < errors.mean() / model.evidence_.expected_error < 2.5


# --- conventions ----------------------------------------------------------------------------------------------------


def same(first, second):
    assert first.linear_maps_.keys() == second.linear_maps_.keys()
    for key, found in first.linear_maps_.items():
        np.testing.assert_array_equal(found, second.linear_maps_[key])
    np.testing.assert_array_equal(first.zero_test_, second.zero_test_)
    np.testing.assert_array_equal(first.evidence_.component_errors, second.evidence_.component_errors)
    np.testing.assert_array_equal(first.cumulant(6, 4), second.cumulant(6, 4))


def test_bits_depend_neither_on_threads_nor_on_the_form(model, data):
    for other in (
        RichComponents(n_jobs=2).fit(data.views),
        RichComponents().fit(Blocks.from_array(*data.views)),
        RichComponents().fit([pd.DataFrame(view) for view in data.views]),
        RichComponents(SEVEN).fit(tuple(data.views)),
    ):
        same(model, other)


def test_a_saved_model_is_the_same(model, data, tmp_path):
    loaded = latentia.load(latentia.save(model, tmp_path / "model"))
    same(model, loaded)
    assert loaded.subsets_ == model.subsets_
    assert loaded.evidence_.checks == model.evidence_.checks
    assert loaded.evidence_.stability(data.views, n_splits=1).shape == (3,)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda views: [views[0], views[1][:-1], views[2]], "view 0 has 500 rows and view 1 has 499"),
        (lambda views: [views[0], views[1], views[2][:, 1:]], "View 2 has 2 columns and view 0 has 3"),
        (lambda views: [views[0], sparse.csr_array(views[1]), views[2]], "view 1 is sparse"),
        (
            lambda views: [views[0], views[1], views[2] * [1, 0, 1]],
            "View 2 has 2 linearly independent columns",
        ),
        (lambda views: [views[0][:, [0, 1, 1]], views[1], views[2]], "linearly independent columns"),
        (lambda views: [view[:20] for view in views], "The data has 20 rows"),
        (lambda views: [view[:, 0] for view in views], "view 0 has one dimension, of 500 entries"),
        (lambda views: [np.array([["a", "b", "c"]] * 500)] * 3, "Row 0, column 0 of view 0: 'a' is text"),
        (lambda views: views[:1], "there is one"),
        (lambda views: [], "there is none"),
        (lambda views: views[0], "Expected a list of tables"),
        (lambda views: None, "Expected a list of tables"),
        (
            lambda views: list(np.random.default_rng(0).standard_normal((3, 500, 30))),
            "in all views together",
        ),
    ],
)
def test_views_that_are_refused(change, reason):
    data = planted.rich_components(500, 3, random_state=0)
    with pytest.raises(LatentiaError, match=reason):
        RichComponents().fit(change(data.views))


def test_entries_that_are_no_numbers_are_named():
    data = planted.rich_components(500, 3, random_state=0)
    data.views[1][7, 2] = np.nan
    frames = [pd.DataFrame(view, columns=["a", "b", "c"]) for view in data.views]
    for views, column in ((data.views, "2"), (Blocks.from_array(*data.views), "2"), (frames, "'c'")):
        with pytest.raises(LatentiaError, match=f"Row 7, column {column} of view 1: NaN"):
            RichComponents().fit(views)
