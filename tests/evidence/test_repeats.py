"""Whether components are found again on other rows: the first of the four statements."""

from __future__ import annotations

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.dictionary import IncoherentDictionary
from latentia.evidence import ComponentView, Evidence, again, again_text, mean_repeat_shares, repeat_shares
from latentia.evidence.repeats import no_better_than_chance
from latentia.exceptions import NotSupportedWarning
from latentia.ica import TensorICA
from latentia.mixtures import SphericalGaussianMixture
from latentia.nmf import ApproximateNMF
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics


def _shares(rng: np.random.Generator, k: int = 3, n: int = 200) -> np.ndarray:
    return rng.dirichlet(np.ones(k), n).T


def test_the_same_components_in_another_order_are_found_again() -> None:
    shares = _shares(np.random.default_rng(0))
    assert repeat_shares(ComponentView(shares), ComponentView(shares[[2, 0, 1]])) == pytest.approx(1.0)


def test_of_two_that_stand_for_one_the_other_fit_has_one() -> None:
    rng = np.random.default_rng(1)
    shares = _shares(rng)
    doubled = np.vstack([shares, shares[:1] + 1e-3 * rng.standard_normal(200)])
    found = repeat_shares(ComponentView(doubled), ComponentView(shares))
    assert np.sort(found)[0] == 0
    assert np.sort(found)[1:] == pytest.approx(1.0, abs=1e-3)


def test_components_that_are_turned_round_are_found_again_where_they_have_no_sign() -> None:
    shares = np.random.default_rng(2).standard_normal((3, 300))
    assert repeat_shares(ComponentView(shares, signed=True), ComponentView(-shares)) == pytest.approx(1.0)
    assert repeat_shares(ComponentView(shares), ComponentView(-shares)).max() < 0.3


def test_axes_of_a_cloud_are_near_others_by_chance() -> None:
    rng = np.random.default_rng(4)
    shares, found = rng.standard_normal((3, 4000)), []
    for _ in range(20):
        turned = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ shares
        found.append(no_better_than_chance(ComponentView(shares, signed=True), ComponentView(turned, signed=True)))
    assert sum(found) >= 16
    assert not no_better_than_chance(ComponentView(shares, signed=True), ComponentView(-shares[::-1], signed=True))


def test_axes_that_are_much_nearer_than_random_ones_show_that_others_are_not_by_chance() -> None:
    """Three of five axes have a correlation of .94 with theirs, two of .6: their mean alone might be chance."""
    rng = np.random.default_rng(5)
    shares = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    near = np.array([0.94, 0.94, 0.94, 0.6, 0.6])[:, None]
    others = near * shares[:5] + np.sqrt(1 - near**2) * shares[5:]
    assert near.mean() < 0.82
    first, second = (ComponentView(np.hstack([rows, -rows]), signed=True) for rows in (shares[:5], others))
    assert not no_better_than_chance(first, second)


def test_what_rows_without_components_give_is_not_found_again() -> None:
    """One row of any size, wide counts in any order, and columns that have nothing to do with each other."""
    rng = np.random.default_rng(0)
    sizes = rng.lognormal(0, 0.5, (400, 1)) * rng.random(40) + 0.02 * rng.random((400, 40))
    assert ApproximateNMF().fit(sizes).evidence_.found_again.max() < 0.75
    counts = rng.negative_binomial(2, 0.3, (3000, 1))
    with pytest.warns(NotSupportedWarning):
        assert SpectralHMM(2, kind="counts").fit(counts).evidence_.found_again.max() < 0.75
    columns = rng.standard_t(3, (2000, 24))
    model = IncoherentDictionary(24, n_splits=1).fit(columns)
    alone = (model.components_**2).max(axis=1) > 0.75
    assert alone.any()
    assert model.evidence_.found_again[alone].max() < 0.75


def test_parts_of_rows_of_any_size_are_found_again() -> None:
    rng = np.random.default_rng(0)
    parts = rng.exponential(size=(3, 40)) * (rng.random((3, 40)) < 0.3)
    rows = rng.dirichlet(np.full(3, 0.3), 400) @ parts * rng.lognormal(0, 0.5, (400, 1))
    assert ApproximateNMF().fit(rows).evidence_.found_again.min() > 0.9


def test_sources_of_a_cloud_are_not_found_again() -> None:
    rows = np.random.default_rng(2).standard_normal((1000, 3))
    assert TensorICA().fit(rows).evidence_.found_again.max() < 0.75
    assert TensorICA().fit(np.random.default_rng(2).laplace(size=(1000, 3))).evidence_.found_again.min() > 0.9


def test_the_same_rows_under_other_words_are_not_quite_the_same() -> None:
    shares, words = _shares(np.random.default_rng(3)), np.arange(30).reshape(3, 10)
    found = repeat_shares(ComponentView(shares, words), ComponentView(shares, words + 30))
    assert found == pytest.approx(0.75)
    assert repeat_shares(ComponentView(shares, words), ComponentView(shares, words)) == pytest.approx(1.0)


def test_one_component_and_no_halves_leave_nothing_to_say() -> None:
    shares = _shares(np.random.default_rng(6))
    assert mean_repeat_shares(ComponentView(np.ones((1, 50))), [ComponentView(np.ones((1, 50)))]) is None
    assert mean_repeat_shares(ComponentView(shares[:1], signed=True), [ComponentView(-shares[:1])]) == pytest.approx(
        1.0
    )
    assert mean_repeat_shares(ComponentView(shares), []) is None
    assert mean_repeat_shares(
        ComponentView(shares), [ComponentView(shares), ComponentView(shares[::-1])]
    ) == pytest.approx(1.0)


def test_constant_shares_say_nothing() -> None:
    shares = np.full((2, 50), 1 / 3)
    assert repeat_shares(ComponentView(shares), ComponentView(shares)) == pytest.approx(0.0)


@pytest.mark.parametrize(("share", "word"), [(None, ""), (0.2, "no"), (0.5, "mostly"), (0.75, "yes"), (1.0, "yes")])
def test_a_share_in_a_word(share: float | None, word: str) -> None:
    assert again(share) == word
    assert again_text(share).startswith(word)


def test_topics_are_found_again_and_surplus_ones_are_not() -> None:
    corpus = planted.topic_corpus(2000, n_topics=4, n_words=300, random_state=5)
    evidence = AnchorTopics(6).fit(corpus.counts).evidence_
    found = [one.found_again for one in evidence.components]
    assert sum(again(value) == "yes" for value in found) == 4
    assert (
        "4 of 6 topics are found again in halves of the documents, 2 not; 4 of 6 topics can be used" in evidence.verdict
    )
    frame = evidence.components.to_frame()
    assert list(frame["found_again"]) == found
    assert "expected_error" in frame


def test_it_is_on_the_page_in_the_tables_and_in_the_notebook() -> None:
    data = planted.gaussian_mixture(1500, n_components=3, n_features=6, random_state=3)
    model = SphericalGaussianMixture(3).fit(data.X)
    column = model.tables["components"]["found again"]
    assert [column.shown(value) for value in column.values] == ["yes, 100%"] * 3
    assert "found again" in model.evidence_._repr_html_()
    assert "yes, 100%" in model.evidence_._repr_html_()


def test_it_is_not_measured_without_halves_and_for_one_component() -> None:
    X = planted.gaussian_mixture(600, n_components=2, n_features=3, random_state=6).X
    without = SphericalGaussianMixture(2, n_splits=0).fit(X)
    assert without.evidence_.found_again is None
    assert "found again" not in without.evidence_.verdict
    assert SphericalGaussianMixture(1).fit(X).evidence_.found_again is None


@pytest.mark.filterwarnings("ignore::latentia.exceptions.EvidenceWarning")
def test_copies_of_one_row_leave_a_half_empty() -> None:
    model = IncoherentDictionary(3, sparsity=1, n_splits=1).fit(np.tile([1.0, 2.0, 3.0, 4.0], (200, 1)))
    assert model.evidence_.grade == "not supported"


def test_the_grade_follows_from_it() -> None:
    data = planted.gaussian_mixture(1500, n_components=3, n_features=6, random_state=3)
    evidence = SphericalGaussianMixture(3).fit(data.X).evidence_
    for found, grade in ((None, "with care"), (np.zeros(3), "not supported"), (np.ones(3), "supported")):
        other = Evidence(evidence.checks, evidence.component_errors, found_again=found)
        assert other.grade == grade
        assert (other.statements[0].passed, other.statements[0].value) == (
            (None, None) if found is None else (found[0] == 1, found[0])
        )
