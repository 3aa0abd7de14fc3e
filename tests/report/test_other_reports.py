"""Reports of hidden Markov models, mixtures and sources: what they say, that they are safe, and that a browser shows them."""

import re

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.evidence import Check, Evidence, above, at_most
from latentia.evidence.grades import GRADES
from latentia.exceptions import LatentiaError
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.report import figures as figures
from latentia.report import parts as parts
from latentia.report import write_hmm_report, write_ica_report, write_mixture_report
from latentia.report.hmm import emission_lifts, mean_stays
from latentia.report.ica import excess_kurtosis
from latentia.sequences import SpectralHMM

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
KINDS = ("symbols", "vectors", "mixture", "views", "sources")


def _symbols(path):
    chain = planted.hidden_markov_chain(4000, n_states=3, n_symbols=6, lengths=[40] * 100)
    steps = np.array([HOSTILE, "a", "b", "c", "d", "e"])[chain.symbols]
    model = SpectralHMM(3).fit(steps, chain.lengths)
    return model, write_hmm_report(path, model, steps, chain.lengths, title=HOSTILE, source=HOSTILE)


def _vectors(path):
    chain = planted.hidden_markov_chain(4000, n_states=3, n_symbols=6, lengths=[40] * 100)
    steps = np.array([[0.0, 50.0], [8.0, 10.0], [4.0, 90.0]])[chain.states]
    steps += np.random.default_rng(0).standard_normal(steps.shape) * [1, 5]
    model = SpectralHMM(3).fit(steps, chain.lengths)
    return model, write_hmm_report(path, model, steps, chain.lengths, columns=[HOSTILE, "x"], title=HOSTILE)


def _mixture(path):
    data = planted.gaussian_mixture(3000, n_components=3, n_features=5, separation=8)
    model = SphericalGaussianMixture(3).fit(data.X)
    comparison = [{"components": k, "score": k / 10, "needed": "<= 1"} for k in (2, 3)]
    columns = [HOSTILE, "b", "c", "d", "e"]
    return model, write_mixture_report(path, model, data.X, columns=columns, title=HOSTILE, comparison=comparison)


def _views(path):
    data = planted.product_mixture(3000, n_components=2, n_features=9)
    model = MultiViewMixture(2, distribution="bernoulli").fit(data.X, views=[range(3), range(3, 6), range(6, 9)])
    return model, write_mixture_report(path, model, data.X, title=HOSTILE)


def _sources(path):
    data = planted.independent_sources(5000, n_components=3)
    model = TensorICA(3).fit(data.X)
    return model, write_ica_report(path, model, data.X, columns=[HOSTILE, "b", "c"], title=HOSTILE)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A model and its page of every kind."""
    folder = tmp_path_factory.mktemp("reports")
    writers = (_symbols, _vectors, _mixture, _views, _sources)
    return {kind: write(folder / f"{kind}.html") for kind, write in zip(KINDS, writers, strict=True)}


@pytest.fixture(scope="module", params=KINDS)
def report(request, reports, read_page):
    """The model, and the parsed page."""
    model, path = reports[request.param]
    return model, path, read_page(path)


# --- all kinds ------------------------------------------------------------------------------------------------------


def test_every_component_has_its_error_and_grade(report):
    model, _, page = report
    evidence = model.evidence_
    shown = [cell for cell in page.cells if re.fullmatch(r"\d+\.\d\d", cell)]
    for one in evidence.components:
        assert f"{one.expected_error:.2f}" in shown
        assert one.grade in page.cells
    assert any(f"With an error up to {evidence.limit:.3g}, a" in cell for cell in page.cells)
    for check in evidence.checks:
        assert check.name in page.cells


def test_the_page_says_what_the_evidence_says(report):
    model, _, page = report
    evidence = model.evidence_
    said = parts.mark_of(evidence.grade)
    assert said.label.capitalize() in page.cells
    assert evidence.verdict.partition(". ")[2] in page.cells
    assert evidence.advice in page.cells
    marks = [attrs["class"] for _, attrs in page.tags if (attrs.get("class") or "").startswith("says ")]
    expected = [f"says {mark}" for mark, _ in [*evidence.marks, *evidence.reasons, *evidence.rests_on()]]
    assert marks == expected  # at the top, and folded in the table
    assert all(one.sentence in page.cells for one in evidence.statements)
    assert not {"NO", "yes"} & set(page.cells)
    grades = [one.grade for one in evidence.components]
    for grade in set(grades):
        assert any(cell.startswith(f"{grades.count(grade)} of {len(grades)} ") for cell in page.cells)


def test_hostile_text_stays_text(report):
    page = report[2]
    assert page.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in page.cells
    assert HOSTILE in page.cells


def test_the_page_loads_nothing_from_the_network(report):
    page = report[2]
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")
    assert page.addresses == []


def test_every_figure_has_its_place(report):
    page = report[2]
    places = {attrs["id"] for tag, attrs in page.tags if tag == "div" and attrs.get("role") == "img"}
    assert set(page.data) == places


def test_a_model_without_error_bars_was_not_checked(read_page, tmp_path):
    data = planted.gaussian_mixture(3000, n_components=3, n_features=5, separation=8)
    model = SphericalGaussianMixture(3, n_splits=0).fit(data.X)
    page = read_page(write_mixture_report(tmp_path / "r.html", model, data.X))
    assert "Not supported" in page.cells
    assert any(cell.startswith("How far to trust") for cell in page.cells)
    assert "not measured" in page.cells


# --- what they say --------------------------------------------------------------------------------------------------


def test_symbols_of_a_state(reports, read_page):
    model, path = reports["symbols"]
    page = read_page(path)
    names = [attrs["title"] for tag, attrs in page.tags if tag == "td" and attrs.get("class") == "name"]
    expected = [
        str(model.symbols_[s])
        for row in model.emissionprob_
        for s in np.argsort(-row, kind="stable")
        if row[s] >= min(5e-4, row.max())
    ]
    assert names == expected
    np.testing.assert_allclose(page.data["transitions"]["values"], model.transmat_, atol=1e-4)


def test_means_of_states_and_components_are_standardised(reports, read_page):
    model, path = reports["mixture"]
    figure = read_page(path).data["means"]
    data = planted.gaussian_mixture(3000, n_components=3, n_features=5, separation=8)
    expected = (model.means_ - data.X.mean(axis=0)) / data.X.std(axis=0)
    np.testing.assert_allclose(figure["values"], expected, atol=1e-3)
    assert figure["signed"]
    assert figure["top"] == pytest.approx(np.abs(expected).max(), abs=1e-3)


def test_sources_are_drawn(reports, read_page):
    model, path = reports["sources"]
    drawn = read_page(path).data["sources"]["panels"]
    sources = model.transform(planted.independent_sources(5000, n_components=3).X)
    assert len(drawn) == 3
    for panel, values in zip(drawn, sources.T, strict=True):
        (curve,) = panel["marks"]
        assert max(curve["y"]) == pytest.approx(values.max(), abs=1e-3)
        assert min(curve["y"]) == pytest.approx(values.min(), abs=1e-3)


def test_the_comparison_marks_the_size_of_the_report(reports, read_page):
    page = read_page(reports["mixture"][1])
    assert sum(attrs.get("class") == "current" for tag, attrs in page.tags if tag == "tr") == 1


def test_marks_are_those_of_the_grades_of_components():
    error = Check("expected error", "", 0.2, at_most(0.25), "", "", "verdict")
    noise = Check("smallest singular value", "", 0.1, above(0.4), "", "", "caution")
    errors = np.array([0.1, 0.3, 0.6])
    good = [Check(role, "", 1.0, at_most(2), "", "", role) for role in ("veto", "caution")]
    for checks, labels in (
        ([error, *good], ["supported", "with care", "not supported"]),
        ([error, *good, noise], ["with care", "with care", "not supported"]),
    ):
        found = parts.component_marks(Evidence(checks, errors), 3)
        assert [error for error, _ in found] == errors.tolist()
        assert [mark.label for _, mark in found] == labels
    assert [mark.label for _, mark in parts.component_marks(Evidence([]), 2)] == ["not measured"] * 2


def test_every_grade_has_a_look_of_its_own():
    marks = [parts.mark_of(grade) for grade in GRADES]
    assert len({mark.key for mark in marks}) == len({mark.label for mark in marks}) == 4


def test_a_comparison_marks_grades():
    rows = [{"states": 2, "grade": "partly", "score": float("nan")}, {"states": 3, "grade": "supported", "score": 0.5}]
    (first, own), (second, other) = parts.comparison_rows(rows, 2)["rows"]
    assert (own, other) == (True, False)
    assert first == ["2", parts.mark_of("partly"), ""]
    assert second == ["3", parts.mark_of("supported"), "0.5"]


def test_lifts_stays_and_kurtosis(reports):
    model = reports["symbols"][0]
    steps = model.symbols_[[0, 0, 1, 2, 3, 4, 5, 5]]
    np.testing.assert_allclose(emission_lifts(model, steps)[:, 0], model.emissionprob_[:, 0] * 4)
    np.testing.assert_allclose(mean_stays(np.array([[0.75, 0.25], [0.0, 1.0]])), [4, np.inf])
    np.testing.assert_allclose(excess_kurtosis(np.array([[-1.0], [1.0], [-1.0], [1.0]])), -2)


def test_names_must_agree_with_the_data(reports, tmp_path):
    model = reports["mixture"][0]
    with pytest.raises(LatentiaError, match="they must agree"):
        write_mixture_report(tmp_path / "r.html", model, np.zeros((2, 5)), columns=["a"])
    with pytest.raises(LatentiaError, match="lengths add up to 3"):
        write_hmm_report(tmp_path / "r.html", reports["symbols"][0], ["a", "b"], [3])


def test_a_long_curve_keeps_its_extremes():
    values = np.sin(np.arange(50_000) / 900)
    values[31_234] = 7
    rows, kept = figures.thin_curve(values)
    assert len(rows) <= 2000
    assert kept[rows == 31_235] == [7]
    np.testing.assert_array_equal(values[rows - 1], kept)
    short = figures.thin_curve(values[:10])
    np.testing.assert_array_equal(short[0], np.arange(1, 11))


def test_the_plane_keeps_distances_of_three_means():
    centres = np.eye(6)[:3]
    places = centres @ figures.places_on_a_plane(centres, np.full(3, 1 / 3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(places[i] - places[j]) == pytest.approx(np.sqrt(2))


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_browser_draws_every_figure_and_is_silent(browser, reports, kind):
    browser.get(reports[kind][1].as_uri())
    browser.get_log("browser")
    browser.refresh()
    places = browser.find_elements("css selector", "[role=img]")
    assert places
    for place in places:
        assert place.find_elements("css selector", "svg.chart"), place.get_attribute("id")
        assert place.size["height"] > 60
    assert browser.title == HOSTILE
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wider_than_a_phone(browser, reports, kind):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(reports[kind][1].as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
