"""The report of a noisy-or network: what it says, that it is safe, and that a browser shows it."""

from copy import copy

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.noisyor import NoisyOr
from latentia.report import noisy_or as report_noisy_or
from latentia.report import parts as parts
from latentia.report import write_noisy_or_report

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
NAMES = [HOSTILE, *(f"sign {i}" for i in range(1, 24))]
ROW = 2
COMPARISON = [{"causes": m, "held-out log-likelihood": -m / 7, "needed": "<= 0.3"} for m in (3, 4)]


@pytest.fixture(scope="module")
def given():
    return planted.noisy_or_network(24, 4, leak=0.03).sample(5000).X


@pytest.fixture(scope="module")
def model(given):
    return NoisyOr(4).fit(given)


@pytest.fixture(scope="module")
def path(model, given, tmp_path_factory):
    return write_noisy_or_report(
        tmp_path_factory.mktemp("report") / "r.html", model, given, columns=NAMES, rows=[ROW, 5], row_names=["line 3", HOSTILE],
        title=HOSTILE, source=HOSTILE, comparison=COMPARISON,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


def test_every_cause_has_its_share_error_and_grade(model, page):
    for prior, apart, one in zip(model.priors_, model.prior_errors_, model.evidence_.components, strict=True):
        assert f"{100 * prior:.1f}%" in page.cells
        assert report_noisy_or.percent(apart) in page.cells
        assert f"{one.expected_error:.2f}" in page.cells
        assert one.grade in page.cells
    for check in model.evidence_.checks:
        assert check.name in page.cells
    assert "held-out log-likelihood" in page.cells


def test_the_strongest_findings_of_a_cause_stand_first(model, page):
    start = page.cells.index("Its findings") + 1
    listed = " ".join(page.cells[start : start + 400])
    for strengths in model.strengths_:
        first = strengths.argmax()
        assert f"{NAMES[first]} {100 * strengths[first]:.0f}%" in listed


def test_rows_are_explained(model, given, page):
    diagnosis = model.explain(given[ROW])
    assert "Line 3" in page.cells
    present = ", ".join(NAMES[i] for i in np.flatnonzero(given[ROW]))
    assert any(present in cell for cell in page.cells)
    best = int(diagnosis.probabilities.argmax())
    assert report_noisy_or.percent(diagnosis.probabilities[best]) in page.cells
    speaking = int(diagnosis.attribution[best].argmax())
    factor = parts.short_number(np.exp(min(diagnosis.attribution[best, speaking], np.log(1e6))))
    assert f"\u00d7{factor}" in page.cells


def test_what_to_ask_first_and_then(model, page):
    asked = np.full(24, np.nan)
    first = model.ask(asked, 5)
    asked[first[0].number] = 1
    start = page.cells.index("What to ask first")
    listed = page.cells[start : start + 80]
    for question in (*first, *model.ask(asked, 5)):
        assert NAMES[question.number] in listed
        assert f"{question.gain:.3f}" in listed
    assert f"{NAMES[first[0].number]}: present" in listed


def test_figures(model, page):
    figures = page.data
    places = {attrs["id"] for tag, attrs in page.tags if tag == "div" and attrs.get("role") == "img"}
    assert set(figures) == places == {"network", "spectrum"}
    assert len(figures["network"]["edges"]) == (model.strengths_ >= 0.05).sum()
    bars, noise = figures["spectrum"]["panels"][0]["marks"]
    np.testing.assert_allclose(bars["y"], model.spectrum_, atol=1e-3)
    assert noise["y"] == pytest.approx(model.noise_level_, abs=1e-3)


def test_causes_stand_apart_and_beside_their_findings():
    strengths = np.zeros((5, 9))
    strengths[0, :6], strengths[1, 6:], strengths[2:, 8] = 0.9, 0.8, 0.1
    heights = report_noisy_or.compute_heights(strengths)
    np.testing.assert_allclose(heights[:2], [3, 7.5])
    assert (np.diff(heights) > 1.69).all()


def test_a_large_network_shows_its_strongest_findings(model, given, read_page, tmp_path):
    wide = copy(model)
    wide.weights_ = np.hstack([model.weights_] * 20)
    wide.strengths_, wide.leak_ = 1 - np.exp(-wide.weights_), np.tile(model.leak_, 20)
    wide.n_features_in_ = 480
    page = read_page(write_noisy_or_report(tmp_path / "r.html", wide, sparse.csr_array(np.hstack([given] * 20))))
    assert len(page.data["network"]["right"]) == 24
    assert any("The 300 most frequent of 480" in cell for cell in page.cells)


def test_hostile_text_stays_text(page):
    assert page.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in page.cells
    assert HOSTILE in page.cells


def test_the_page_loads_nothing_from_the_network(page):
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")
    assert page.addresses == []


@pytest.mark.parametrize("known", [2, 9])
def test_more_or_fewer_directions_than_causes(model, given, read_page, tmp_path, known):
    model = copy(model)
    model.noise_level_ = float(np.sort(model.spectrum_)[::-1][known])
    page = read_page(write_noisy_or_report(tmp_path / "r.html", model, given))
    said = "may be invented" if known == 2 else "a larger number may show further causes"
    assert any(said in cell for cell in page.cells)


def test_a_model_without_error_bars_was_not_checked(given, read_page, tmp_path):
    model = NoisyOr(4, n_splits=0, prior=0.2).fit(given)
    page = read_page(write_noisy_or_report(tmp_path / "r.html", model, given))
    assert "Not supported" in page.cells
    assert any(cell.startswith("How far to trust") for cell in page.cells)
    assert "as given" in page.cells


def test_sampled_rows_say_so(model, given, read_page, tmp_path):
    diagnosis = model.explain(given[0])
    sampled = type(diagnosis)(diagnosis.probabilities, 0.012, False, diagnosis.attribution, -3.0)
    page = read_page(write_noisy_or_report(tmp_path / "r.html", model, given, rows=[0], diagnoses=[sampled]))
    assert any("estimates from sampling, to about 1.2%" in cell for cell in page.cells)
    assert "Row 1" in page.cells


@pytest.mark.parametrize(("value", "text"), [(0, "0.0%"), (1e-5, "<0.1%"), (0.25, "25.0%"), (0.99999, ">99.9%")])
def test_percent(value, text):
    assert report_noisy_or.percent(value) == text


def test_what_does_not_agree_is_refused(model, given, tmp_path):
    with pytest.raises(LatentiaError, match="expected 24, the findings of the model"):
        write_noisy_or_report(tmp_path / "r.html", model, given, columns=["a"])
    with pytest.raises(LatentiaError, match="expected 24, the findings of the model"):
        write_noisy_or_report(tmp_path / "r.html", model, given[:, :5])
    with pytest.raises(LatentiaError, match="expected one name and one diagnosis for each row"):
        write_noisy_or_report(tmp_path / "r.html", model, given, rows=[1], row_names=["a", "b"])


def test_a_browser_draws_every_figure_and_is_silent(browser, path):
    browser.get(path.as_uri())
    browser.get_log("browser")
    browser.refresh()
    for place in browser.find_elements("css selector", "[role=img]"):
        assert place.find_elements("css selector", "svg.chart"), place.get_attribute("id")
        assert place.size["height"] > 80
    assert browser.title == HOSTILE
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_nothing_is_wider_than_a_phone(browser, path):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(path.as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
