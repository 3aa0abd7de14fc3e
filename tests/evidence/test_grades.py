import re

import numpy as np
import pytest

from latentia.evidence import (
    Check,
    Evidence,
    Size,
    above,
    at_most,
    beyond,
    enough_sizes,
    recommend,
)
from latentia.evidence.sizes import find_allowed_grades, is_worse_than_promised
from latentia.evidence.tensors import rank_checks


def error(measured, limit=0.4):
    return Check("expected error", "e", measured, at_most(limit), "how far off", "parts", "verdict", "Get more rows.")


def line(name, measured, role, limit=2.0, remedy=""):
    return Check(name, "x", measured, at_most(limit), "why", "section 1", role, remedy)


def evidence(mean, *others, errors=(0.1, 0.2), shares=None, again=None):
    """With a structure that is there and a fit that is good, and components that are found again."""
    good = [line("null", 1.0, "veto"), line("goodness", 1.0, "caution")]
    found = Evidence([error(mean), *good, *others], np.array(errors) if errors is not None else None)
    found.found_again = np.full(len(errors), 0.7) if errors is not None and again is None else again
    found.shares = None if shares is None else np.array(shares)
    return found


@pytest.mark.parametrize(
    ("mean", "others", "errors", "grade"),
    [
        (0.2, [], (0.1, 0.3), "supported"),
        (0.2, [line("note", 9.0, "note")], (0.1, 0.3), "supported"),
        (0.38, [], (0.3, 0.46), "supported"),  # below the limit
        (0.44, [], (0.38, 0.5), "with care"),  # about the limit
        (0.2, [line("fit", 3.0, "caution")], (0.1, 0.3), "with care"),
        (0.6, [], (0.1, 1.1), "partly"),
        (0.6, [], (0.5, 0.7), "not supported"),  # both are about as far off as the mean, which is too far
        (0.6, [], (0.45, 0.75), "partly"),  # one can be used with care
        (1.5, [], (1.4, 1.6), "not supported"),
        (0.2, [line("trivial", 3.0, "veto")], (0.1, 0.3), "not supported"),
        (0.6, [line("trivial", 3.0, "veto")], (0.1, 1.1), "not supported"),
        (0.2, [line("parts fitted", 3.0, "verdict")], (0.1, 0.3), "not supported"),
        (None, [], None, "not supported"),  # what was not measured is not supported
        (float("nan"), [], (float("nan"), 0.9), "not supported"),
    ],
)
def test_the_rule_of_grades(mean, others, errors, grade):
    found = evidence(mean, *others, errors=errors)
    assert found.grade == grade
    assert found.holds == (grade == "supported")


def test_cautions_that_were_not_measured_do_not_count():
    assert evidence(0.2, line("fit", None, "caution")).grade == "supported"


def test_no_component_is_better_than_the_fit_allows():
    errors = (0.1, 0.5, 1.0)
    assert [one.grade for one in evidence(0.6, errors=errors).components] == ["supported", "with care", "not supported"]
    care = evidence(0.3, line("fit", 3.0, "caution"), errors=errors)
    assert [one.grade for one in care.components] == ["with care", "with care", "not supported"]
    veto = evidence(0.3, line("trivial", 3.0, "veto"), errors=errors)
    assert {one.grade for one in veto.components} == {"not supported"}


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_a_verdict_agrees_with_the_line_on_the_expected_error(k):
    """Where the mean error is bad, not all can be used; where no error alone is too large, the mean of the others is fine."""
    rng = np.random.default_rng(k)
    for errors in rng.uniform(0, 1.2, (300, k)):
        found = evidence(float(errors.mean()), errors=errors)
        usable = [one.expected_error for one in found.components if one.grade != "not supported"]
        if errors.mean() > 1.15 * 0.4:
            assert len(usable) < k
            assert f"{k} of {k}" not in found.verdict
        assert not usable or np.mean(usable) <= 1.15 * 0.4 or errors.max() > 2 * 0.4
        assert (found.grade == "partly") == (0 < len(usable) < k)


def test_equal_errors_have_equal_grades():
    assert {one.grade for one in evidence(0.5, errors=(0.5, 0.5, 0.5)).components} == {"not supported"}
    found = evidence(0.5, errors=(0.1, 0.65, 0.65)).components
    assert [one.grade for one in found] == ["supported", "not supported", "not supported"]
    assert evidence(0.0, line("x", 1.0, "note"), errors=(0.0, 0.0)).grade == "supported"


def test_what_other_rows_have_less_than_half_of_cannot_be_used():
    found = evidence(0.2, errors=(0.1, 0.3), again=np.array([0.9, 0.36]))
    assert [one.grade for one in found.components] == ["supported", "not supported"]
    assert found.grade == "partly"
    assert found.statements[0].passed is False
    assert (
        "1 of 2 components is found again in halves of the rows, 1 not; 1 of 2 components can be used" in found.verdict
    )


def test_what_is_found_again_can_be_used_with_care_up_to_the_next_component():
    """Its numbers are rough."""
    found = evidence(0.9, errors=(0.1, 0.3, 1.1, 1.3), again=np.array([0.9, 0.9, 0.9, 0.9]))
    assert [one.grade for one in found.components] == ["supported", "supported", "with care", "not supported"]
    assert found.grade == "partly"


def test_a_fit_that_cannot_be_used_has_no_component_that_can():
    rng = np.random.default_rng(0)
    roles = ("veto", "caution", "verdict", "note")
    for _ in range(2000):
        k = int(rng.integers(1, 6))
        errors, again = rng.uniform(0, 1.5, k), rng.random(k) if rng.random() < 0.8 else None
        others = [line(f"x{i}", float(rng.uniform(0, 3)), str(rng.choice(roles))) for i in range(3)]
        checks = [error(float(errors.mean())), *others]
        found = Evidence(checks, errors, found_again=again)
        usable = [one for one in found.components if one.grade != "not supported"]
        assert (found.grade == "not supported") == (not usable)
        assert found.grade not in ("supported", "with care") or len(usable) == k
        assert found.grade != "supported" or all(one.passed for one in found.statements)
        assert found.holds == (found.grade == "supported")
        for number, word in re.findall(r"(\d+) of \d+ components? can be used( with care)?", found.verdict):
            assert int(number) == len(found.components.of("with care" if word else "supported"))


def test_partly_says_what_share_of_the_data_can_be_used():
    found = evidence(1.0, errors=(0.1, 1.9), shares=(0.3, 0.7))
    assert found.grade == "partly"
    assert found.components[0].share == 0.3
    assert "30%" in found.verdict
    assert "0" in found.advice


def rank(edge, k=2, extra=0):
    """The note on directions above the noise, of eigenvalues 5, 4, 3, 2, 1."""
    return rank_checks(np.array([5.0, 4, 3, 2, 1]), edge, k, extra)[0]


@pytest.mark.parametrize(("edge", "number"), [(0.5, "5 or more"), (1.5, "4")])
def test_advice_names_no_number_that_was_compared(edge, number):
    found = evidence(0.2, line("fit", 3.0, "caution"), rank(edge), errors=(0.1, 0.3))
    assert found.checks[-1].role == "note"
    found.forget_sizes([2, 9])
    assert f"compare with {number}." in found.advice
    whole = Evidence([error(0.2)], topics=found)
    whole.forget_sizes(range(2, 9))
    assert "compare with" not in found.advice
    assert "compare with" not in str(found.checks)
    assert found.checks[-1].measured == float(number[0])


def test_where_errors_are_too_large_advice_asks_for_no_more_components():
    assert evidence(9.0, rank(0.5), errors=(9.0, 9.0)).advice == "Get more rows."
    fewer = evidence(9.0, rank(4.5, k=4, extra=1), errors=(9.0,) * 5)
    assert fewer.advice == "Get more rows. The data carries 1 direction above its noise: compare with 2."


def test_advice_begins_with_what_is_worst_and_was_measured():
    cautioned = line("fit", 3.0, "caution", remedy="Try more components.")
    assert evidence(0.2, cautioned).advice == "Try more components."
    both = evidence(1.5, cautioned, errors=(1.4, 1.6)).advice
    assert both == "Get more rows. Try more components."
    assert "can be read" in evidence(0.2).advice


def test_a_dozen_lines_and_the_notes_apart():
    notes = [line(f"theorem {i}", 9.0, "note") for i in range(8)]
    found = evidence(0.2, *notes, line("trivial", 1.0, "veto"))
    text = str(found)
    assert len(text.splitlines()) <= 12
    assert [row.split()[1] for row in text.splitlines() if row.startswith("  ok")] == [
        "found",
        "error",
        "structure",
        "fit",
    ]
    assert "theorem" not in text
    assert "NO" not in found.table()
    assert "theorem 7" in found.table()
    page = evidence(0.2, line("a < b", 3.0, "caution"))._repr_html_()
    assert "a &lt; b" in page
    assert "SUPPORTED WITH CARE" in page


def test_components_as_a_frame():
    frame = evidence(0.2, shares=(0.5, 0.5)).components.to_frame()
    assert list(frame.columns) == ["component", "share", "found_again", "expected_error", "grade"]
    assert list(frame["expected_error"]) == [0.1, 0.2]
    assert len(evidence(None, errors=None).components) == 0


def size(n, grade, ratio):
    return Size(n, grade, 0.4 * ratio, 0.4)


def test_the_last_number_before_the_error_jumps():
    found = [
        size(2, "with care", 0.1),
        size(3, "supported", 0.2),
        size(5, "supported", 0.25),
        size(6, "supported", 0.8),
    ]
    number, why = recommend(found, "topics")
    assert number == 5
    assert "before the expected error jumps" in why
    assert recommend(found[:3])[0] == 5


def test_a_jump_is_passed_over_where_a_larger_number_is_as_good():
    ratios = {4: 0.13, 5: 0.14, 6: 0.39, 7: 0.13, 8: 0.14, 9: 0.46, 10: 0.8}
    found = [size(k, "supported", ratio) for k, ratio in ratios.items()]
    assert recommend(found)[0] == 8
    assert recommend(found[:3])[0] == 5


def test_numbers_beyond_an_end_at_which_the_best_one_is():
    best_last = [size(4, "with care", 0.1), size(5, "supported", 0.2)]
    assert beyond(best_last) == 6
    assert beyond([*best_last, size(6, "supported", 0.8)]) == 7
    assert beyond([*best_last, size(6, "supported", 0.8), size(7, "supported", 0.9)]) is None
    assert beyond([size(6, "supported", 0.1), size(8, "partly", 1.5), size(10, "partly", 1.5)]) == 4
    assert beyond([size(40, "partly", 1.5), size(50, "partly", 1.4)]) == 30
    assert beyond([size(1, "not supported", 1.5), size(2, "not supported", 1.6)]) is None


def test_the_best_grade_comes_before_the_most_components():
    assert recommend([size(4, "supported", 0.3), size(8, "with care", 0.3), size(9, "partly", 1.3)])[0] == 4


def test_where_none_is_supported_the_least_error_and_a_word_of_it():
    number, why = recommend(
        [size(2, "not supported", 3.0), size(4, "not supported", 2.5), size(8, "not supported", 5.0)]
    )
    assert number == 4
    assert "none of these numbers" in why
    unmeasured = Size(3, "not supported", None, 0.4)
    assert recommend([unmeasured])[0] == 3


def test_larger_numbers_are_tried_until_four_in_a_row_cannot_be_used():
    bad = [size(n, "not supported", 3.0) for n in range(4, 8)]
    assert not enough_sizes(bad)
    assert enough_sizes([size(3, "with care", 0.2), *bad])
    assert not enough_sizes([size(3, "with care", 0.2), *bad[:3]])


def test_bounds_of_vetoes_hold_where_they_are_met():
    assert evidence(0.2, Check("gain", "g", 0.5, above(0), "", "", "veto")).grade == "supported"


def test_partly_takes_the_most_near_the_least_error():
    near = [size(4, "partly", 1.2), size(6, "partly", 1.25), size(8, "partly", 1.6)]
    number, why = recommend(near)
    assert number == 6
    assert "close to the lowest" in why


def test_no_number_is_recommended_that_predicts_no_better_than_none():
    none, better, worse = (
        Size(k, "not supported", e, 0.5, vetoed=v) for k, e, v in ((1, 0.0, True), (2, 0.7, False), (2, 0.7, True))
    )
    assert recommend([none, better])[0] == 2
    assert recommend([none, worse])[0] == 1


def likely(n, grade, nats, ratio=0.5):
    """With the log-likelihood of 100 rows, some far more likely than others, in all numbers alike."""
    noise = np.random.default_rng(n).normal(0, 0.02, 100)
    return Size(n, grade, 0.4 * ratio, 0.4, held_out=5 * np.sin(np.arange(100)) + nats + noise - noise.mean())


def test_the_smallest_number_that_predicts_other_rows_about_as_well():
    found = [likely(2, "with care", -7.0), likely(4, "with care", -6.001), likely(6, "supported", -6.0)]
    number, why = recommend(found, "causes")
    assert number == 4
    assert "the smallest with about the best held-out log-likelihood" in why
    assert recommend([found[0], likely(4, "with care", -6.2), found[2]])[0] == 6


def test_a_standard_error_is_at_most_a_fiftieth_of_a_nat():
    rng = np.random.default_rng(0)
    wide = [Size(k, "supported", 0.1, 0.4, held_out=rng.normal(nats, 2.0, 50)) for k, nats in ((2, -9.0), (3, -6.0))]
    assert recommend(wide)[0] == 3


def test_no_number_is_taken_that_is_not_supported_while_another_is():
    found = [likely(2, "partly", -7.0), likely(4, "not supported", -6.0)]
    assert recommend(found)[0] == 2
    none = [likely(2, "not supported", -7.0), likely(4, "not supported", -6.0)]
    assert recommend(none)[0] == 4
    assert "supports none of these numbers" in recommend(none)[1]


def test_larger_numbers_are_tried_while_they_predict_better():
    rising = [likely(k, "not supported" if k > 3 else "supported", -8.0 + 0.2 * k, ratio=k) for k in range(2, 9)]
    assert not enough_sizes(rising)
    assert enough_sizes([*rising, *(likely(k, "supported", -8.0) for k in range(9, 13))])


def test_a_grade_that_falls_with_all_rows():
    assert is_worse_than_promised(likely(4, "with care", -6), likely(4, "not supported", -6))
    assert not is_worse_than_promised(likely(4, "with care", -6), likely(4, "supported", -6))


def test_numbers_that_can_be_used_come_before_those_partly_supported():
    def fit(k, grade, loss):
        return Size(k, grade, 0.1, 0.3, held_out=np.full(200, -1.0 - loss))

    sizes = [fit(2, "with care", 0.2), fit(3, "with care", 0.1), fit(4, "partly", 0.0), fit(5, "not supported", -0.5)]
    assert recommend(sizes)[0] == 3
    assert recommend(sizes[2:])[0] == 4
    assert recommend(sizes[3:])[0] == 5
    assert recommend([fit(1, "supported", 1.0), *sizes])[0] == 3  # Both grades can be used: the likelihood decides.
    assert find_allowed_grades(["with care", "partly"]) == {"with care"}
