import math

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.evidence import (
    Check,
    Evidence,
    PartErrors,
    above,
    at_least,
    at_most,
    between,
    bounds,
    equal_to,
)
from latentia.fitting.stages import Fitted, Staged
from latentia.mixtures import SphericalGaussianMixture
from latentia.passes import Folds

BOUND = at_most(2)


def line(name, measured, role="note", bound=BOUND):
    return Check(name, "x", measured, bound, "why", "Thm. 1", role)


def test_every_verdict_must_be_measured_and_met():
    fit = line("fit", 1.5, "caution")
    assert Evidence([line("a", 1.5, "verdict"), line("b", 3.0), fit]).holds
    assert not Evidence([line("a", 3.0, "verdict"), line("b", 1.5), fit]).holds
    assert not Evidence([line("a", 1.5, "verdict"), line("b", None, "verdict"), fit]).holds
    assert not Evidence([line("a", np.nan, "verdict"), fit]).holds
    assert not Evidence([line("b", 1.5), fit]).holds
    assert not Evidence([]).holds


def test_what_was_not_measured_has_not_passed():
    assert Evidence([line("a", 1.5, "verdict")]).grade == "with care"
    assert [one.passed for one in Evidence([line("a", 1.5, "verdict")]).statements] == [True, True, True, None]
    assert [one.passed for one in Evidence([]).statements] == [None] * 4
    assert Evidence([], missing="Kept moments have no rows.").statements[0].sentence.endswith("have no rows.")


def test_a_veto_counts_only_when_it_fails():
    good = [line("a", 1.5, "verdict"), line("fit", 1.5, "caution")]
    assert Evidence([*good, line("b", 1.5, "veto")]).holds
    assert Evidence([*good, line("b", None, "veto")]).holds
    assert not Evidence([*good, line("b", 3.0, "veto")]).holds
    assert not Evidence([line("b", 1.5, "veto")]).holds
    assert [check.name for check in Evidence([*good, line("b", 3.0, "veto"), line("c", 9.0)]).failed] == ["b"]


@pytest.mark.parametrize(
    ("bound", "text", "met", "missed"),
    [
        (at_most(0.4), "<= 0.4", 0.4, 0.41),
        (at_least(3, "of 4"), ">= 3 (of 4)", 3, 2),
        (above(0.25, "its noise"), "> 0.25 (its noise)", 0.3, 0.25),
        (equal_to(5), "= 5", 5, 4),
        (between(0.01, 100), "in (0.01, 100)", 1, 100),
    ],
)
def test_bounds_say_what_they_ask(bound, text, met, missed):
    assert str(bound) == text
    assert bound.holds(met) is True
    assert bound.holds(missed) is False
    assert bound.holds(np.nan) is False


def test_the_expected_error_and_its_limit():
    evidence = Evidence([line("expected error", 0.3, "verdict", at_most(0.4))])
    assert (evidence.expected_error, evidence.limit) == (0.3, 0.4)
    unknown = Evidence([line("expected error", None, "verdict", at_most(0.4))])
    assert (unknown.expected_error, unknown.limit, unknown.holds) == (None, 0.4, False)
    assert "not measured" in str(unknown)


def test_table_frame_and_lookup():
    evidence = Evidence([line("a", 1.5, "verdict"), line("b", 1.5, bound=None)])
    assert "NOT SUPPORTED" not in str(evidence)
    assert "NOT MEASURED" in str(Evidence([]))
    frame = evidence.to_frame()
    assert list(frame["name"]) == ["found again", "error", "structure", "fit", "a", "b"]
    assert list(frame.columns) == ["name", "symbol", "measured", "needed", "holds", "meaning", "reference"]
    assert evidence["b"].holds is None
    with pytest.raises(KeyError, match="there are a, b"):
        evidence["c"]
    with pytest.raises(LatentiaError, match="no model"):
        evidence.stability(np.ones((3, 3)))


# Numbers as stand-ins: a "fit" of some groups is the mean of their values.
VALUES = np.array([1.0, 2.0, 4.0, 8.0])


def fits(fails=(), cost="free", most=np.inf):
    seen = []

    def recover(groups):
        seen.append(groups)
        if groups in fails:
            raise LatentiaError("too little")
        return VALUES[list(groups)].mean()

    class Mean(Staged):
        _max_distance = most

        def _recover(self, moments, part, whole):
            return recover(part.groups)

        def _refine(self, found, moments, part, whole):
            return np.array([found])

        def _distance(self, one, other, moments):
            return np.abs(one - other)

        def _cost(self):
            return cost

    return Fitted.run(Mean(), None, Folds(4, 0), None), seen


def test_the_whole_and_errors_from_halves_and_three_quarters():
    parts, seen = fits()
    assert parts.recovered == parts.model[0] == 3.75
    errors = parts.errors(3)
    halves = np.mean([abs(VALUES[list(h)].mean() - 3.75) for split in Folds(4).splits for h in split])
    quarters = np.mean([abs(np.delete(VALUES, g).mean() - 3.75) for g in range(4)]) * np.sqrt(3)
    assert errors.errors == pytest.approx([min(halves, quarters)])
    assert (errors.n_parts, errors.n_failed) == (10, 0)
    assert len(seen) == 11


@pytest.mark.parametrize(("cost", "n_splits", "n_parts"), [("free", 1, 6), ("algebra", 3, 6), ("passes", 3, 2)])
def test_the_cost_of_a_fit_rules_how_many_are_made(cost, n_splits, n_parts):
    parts, seen = fits(cost=cost)
    assert parts.errors(n_splits).n_parts == n_parts == len(seen) - 1


def test_three_quarters_where_no_half_can_be_fitted():
    halves = [half for split in Folds(4).splits for half in split]
    parts, _ = fits(fails=halves, cost="passes", most=0.5)
    errors = parts.errors(3)
    assert (errors.n_parts, errors.n_failed, errors.reason) == (6, 2, "too little")
    assert errors.errors == [0.5]
    quarters = [tuple(i for i in range(4) if i != g) for g in range(4)]
    nothing = fits(fails=halves + quarters)[0].errors(1)
    assert nothing.errors is None
    assert "too little" in nothing.reason
    assert fits()[0].errors(0).errors is None


def test_theorem_3_4_scales_as_it_says():
    base = {"n_topics": 10, "n_words": 1000, "length": 100, "separability": 0.1, "condition": 0.5}
    m = bounds.topic_documents(0.1, **base)
    assert m == pytest.approx(math.log(1000) * 10**6 / (0.01 * 0.1**6 * 0.25 * 100))
    assert bounds.topic_documents(0.05, **base) == pytest.approx(4 * m)
    assert bounds.topic_documents(0.1, **base | {"length": 200}) == pytest.approx(m / 2)
    assert bounds.topic_documents(0.1, **base | {"separability": 0.05}) == pytest.approx(64 * m)
    assert bounds.topic_documents(1e5, **base, imbalance=2) == pytest.approx(math.log(10) * 4 * 10**4 / 0.25)
    with pytest.raises(LatentiaError, match="separability=0"):
        bounds.topic_documents(0.1, **base | {"separability": 0})


def test_theorem_3_17_and_4_3():
    m = bounds.dirichlet_topic_documents(0.1, n_topics=5, n_words=100, length=50, separability=0.2, alpha0=1.0)
    assert m == pytest.approx(math.log(100) * 5**8 * 16 / (0.01 * 0.2**6 * 50))
    assert bounds.anchor_noise_limit(0.5, 10) == pytest.approx(0.125 / 200)


def test_l1_condition_number_is_the_minimum():
    rng = np.random.default_rng(0)
    b = rng.random((4, 4)) + 2 * np.eye(4)
    rows = b / b.sum(axis=1, keepdims=True)
    number = bounds.l1_condition_number(b)
    x = rng.standard_normal((200_000, 4))
    x /= np.abs(x).sum(axis=1, keepdims=True)
    tried = np.abs(x @ rows).sum(axis=1).min()
    assert number <= tried <= 1.1 * number
    assert bounds.l1_condition_number(np.eye(3)) == pytest.approx(1)
    assert bounds.l1_condition_number(np.ones((3, 3))) == 0
    alpha = np.array([0.3, 0.5, 1.2])  # Lemma 3.18
    r = np.outer(alpha, alpha) + np.diag(alpha)
    assert bounds.l1_condition_number(r) >= 1 / (2 * (alpha.sum() + 1))


def test_bounds_of_the_tensor_power_method():
    limit = bounds.tensor_noise_limit(2.0, 10)
    assert limit == pytest.approx(0.2)
    assert bounds.tensor_samples(1000, 0.4, 2.0, 10) == pytest.approx(4000)  # half of the noise: four times the rows
    with pytest.raises(LatentiaError, match="must be positive"):
        bounds.tensor_samples(1000, 0.1, 0.0, 10)


def test_bounds_of_multi_label_learning():
    known = {"smallest": 0.01, "pairs": 100.0, "triples": 2000.0, "delta": 0.1}
    e = 1 + np.sqrt(np.log(10) / 2)
    third = (5 * (10 / (100 * 0.01**2.5) + 2 * np.sqrt(2) / (2000 * 0.01**1.5)) * e) ** 2
    assert bounds.multilabel_documents(5, **known) == pytest.approx(third)
    errors = bounds.multilabel_errors(10_000, largest=0.1, labelled_pairs=300.0, **known)
    root, n = np.sqrt(0.1), 100.0
    words = 160 * root / (100 * 0.01**2.5) + 32 * np.sqrt(2) * root / (2000 * 0.01**1.5) + 4 * root / (100 * 0.01)
    assert errors.words == pytest.approx(words * e / n)
    weight = 200 / (100 * 0.01**2.5) + 40 * np.sqrt(2) / (2000 * 0.01**1.5)
    assert errors.weight == pytest.approx(weight * e / n)
    labels = 160 / (100 * 0.01**3.5) + 32 * np.sqrt(2) / (2000 * 0.01**2.5) + (2 + 2 * np.sqrt(2)) / (100 * 0.01**2)
    other = 8 * (1 + np.sqrt(np.log(20) / 2)) / (300 * 0.01)
    assert errors.labels == pytest.approx((labels * 2 * e + other) / n)
    more = bounds.multilabel_errors(40_000, largest=0.1, labelled_pairs=300.0, **known)
    assert more.words == pytest.approx(errors.words / 2)
    assert bounds.multilabel_documents(5, **known, longest=9.0) > 80 * third
    with pytest.raises(LatentiaError, match="delta"):
        bounds.multilabel_documents(5, **(known | {"delta": 1.5}))


def test_bounds_of_noisy_or_networks():
    assert bounds.noisy_or_rows(0.1, 100, 0.1) == pytest.approx(math.log(100) / 0.001)
    assert bounds.noisy_or_error(9, 0.25, 0.1, 4.0) == pytest.approx(1.5 * 0.1 * 8)
    with pytest.raises(LatentiaError, match="least_absence=0"):
        bounds.noisy_or_rows(0, 100)


def test_what_was_not_measured_is_open_and_not_bad():
    unmeasured = Evidence([line("expected error", None, "verdict"), line("trivial", 1.5, "veto")])
    assert not unmeasured.measured
    assert [mark for mark, _ in unmeasured.rests_on()] == ["open", "ok"]
    assert unmeasured.verdict.startswith("NOT MEASURED")
    assert unmeasured.grade == "not supported"
    worse = Evidence([line("expected error", None, "verdict"), line("trivial", 2.5, "veto")])
    assert worse.measured
    assert worse.verdict.startswith("NOT SUPPORTED")


def test_errors_are_widened_by_what_all_parts_share():
    parts = PartErrors(np.array([0.3, 0.05]), 2)
    once = parts.widen(np.array([0.4, 0.12]))
    np.testing.assert_allclose(once.errors, [0.5, 0.13])
    assert once.shared == pytest.approx((0.16 + 0.0144) / 2)
    assert once.widen(np.array([0.4, 0.12])).shared == pytest.approx(0.16 + 0.0144)
    np.testing.assert_allclose(parts.widen(np.array([0.4, 0.12]), 0.2).errors, [0.2, 0.13])
    np.testing.assert_allclose(once.raise_to(np.array([0.1, 0.2])).errors, [0.5, 0.2])
    missing = PartErrors.missing()
    assert missing.widen(np.ones(2)) is missing.raise_to(np.ones(2)) is missing


@pytest.mark.parametrize("n_splits", [0, 101, 10**9])
def test_numbers_of_splits_that_would_not_end_are_refused(n_splits):
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = SphericalGaussianMixture(1).fit(X)
    with pytest.raises(LatentiaError, match="n_splits"):
        model.evidence_.stability(X, n_splits=n_splits)
