"""The report of what one table has and another has not: what it says, that it is safe, and that a browser shows it."""

import re

import numpy as np
import pytest

from latentia.contrastive import (
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
)
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.report import parts as parts
from latentia.report import write_contrast_report
from latentia.report.contrast import summarize_contrast
from latentia.report.contrast_peers import PEERS, contrast_peers, differences, variances

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
MODELS = {
    "pca": lambda: ContrastivePCA(2),
    "regression": ContrastiveRegression,
    "logistic": ContrastiveLogisticRegression,
    "mixture": lambda: ContrastiveGaussianMixture(3),
    "ising": ContrastiveIsing,
    "components": ContrastiveComponents,
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A model, its data and its page of every kind."""
    folder, made = tmp_path_factory.mktemp("reports"), {}
    for kind, make in MODELS.items():
        d = 9 if kind == "ising" else 4
        data = planted.contrastive_views(
            8000, d, "regression" if kind == "components" else kind, linear_map="orthogonal", n_features_v=d + 1
        )
        target = data.y if kind in ("regression", "logistic") else None
        arguments = (data.U, data.V) if target is None else (data.U, data.V, target)
        model = make().fit(*arguments)
        names = [HOSTILE, *(f"u{i}" for i in range(1, d))]
        comparison = [{"directions": k, "score": k / 10} for k in (1, 2)] if kind == "pca" else None
        path = write_contrast_report(
            folder / f"{kind}.html", model, *arguments, columns=names, columns_v=[f"v{i}" for i in range(d + 1)],
            files=(HOSTILE, "v.csv"), target=HOSTILE, title=HOSTILE, source=HOSTILE, comparison=comparison,
        )  # fmt: skip
        made[kind] = model, data, path
    return made


@pytest.fixture(scope="module", params=MODELS)
def report(request, reports, read_page):
    """The model, its data, and the parsed page."""
    model, data, path = reports[request.param]
    return model, data, read_page(path)


# --- all kinds ------------------------------------------------------------------------------------------------------


def test_the_page_says_what_the_evidence_says(report):
    model, _, page = report
    evidence = model.evidence_
    assert parts.mark_of(evidence.grade).label.capitalize() in page.cells
    assert evidence.verdict.partition(". ")[2] in page.cells
    assert evidence.advice in page.cells
    shown = [cell for cell in page.cells if re.fullmatch(r"\d+(\.\d\d)?", cell)]
    for one in evidence.components:
        assert (f"{one.expected_error:.2f}" if one.expected_error < 100 else f"{one.expected_error:.0f}") in shown
    for check in evidence.checks:
        assert check.name in page.cells


def test_it_says_what_u_v_and_the_parts_are(report):
    model, data, page = report
    for part in ("Only in U", "In both", "Only in V"):
        assert part in page.cells
    before, after = variances(model, data.U, data.V)
    own = 100 * np.trace(after) / np.trace(before)
    assert any(f"{own:.0f}% of the variance of U" in cell for cell in page.cells)
    (words,) = [cell for cell in page.cells if f"{own:.0f}% of the variance of {HOSTILE} is its own" in cell]
    assert "U" not in words.replace(HOSTILE, "").split()
    assert any(cell.startswith("V stands for what disturbs U") or "U = s1 + s2" in cell for cell in page.cells)


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
    assert set(page.data) == places == {"answers", "spectrum", "map"}


def test_simpler_methods_stand_beside_the_fit(report):
    model, data, page = report
    found = differences(model, data.U, contrast_peers(model, data.U, data.V, data.y))
    assert tuple(found) == PEERS
    rows = page.cells[page.cells.index("What simpler methods say") :]
    for name, distance in found.items():
        place = rows.index(name, rows.index("What that means"))
        assert float(rows[place + 1]) == pytest.approx(distance, rel=0.06, abs=0.006)
    assert found["V as covariates"] < found["U alone"]


# --- what they say --------------------------------------------------------------------------------------------------


def test_the_variance_of_the_own_part(reports):
    for kind in ("regression", "components"):
        model, data, _ = reports[kind]
        before, after = variances(model, data.U, data.V)
        scale = data.U.std(axis=0, ddof=1)
        np.testing.assert_allclose(before, np.corrcoef(data.U.T), atol=1e-9)
        np.testing.assert_allclose(after * np.outer(scale, scale), np.cov(data.own.T), atol=0.1)
    model, data, _ = reports["components"]
    np.testing.assert_allclose(after * np.outer(scale, scale), model.covariance(1), atol=1e-9)


def test_spectrum_and_map_are_drawn(reports, read_page):
    model, data, path = reports["pca"]
    figures = read_page(path).data
    before, after = variances(model, data.U, data.V)
    for bars, matrix in zip(figures["spectrum"]["panels"][0]["marks"], (before, after), strict=True):
        np.testing.assert_allclose(bars["y"], np.linalg.eigvalsh(matrix)[::-1], atol=1e-3)
    expected = model.linear_map_ * data.U.std(axis=0) / data.V.std(axis=0)[:, None]
    np.testing.assert_allclose(figures["map"]["values"], expected, atol=1e-3)


def test_answers_are_drawn_beside_each_other(reports, read_page):
    model, data, path = reports["regression"]
    dots = read_page(path).data["answers"]["panels"][0]["marks"]
    assert [mark["name"] for mark in dots] == ["after: without what is shared", "before: as it is"]
    effects = model.coef_ * data.U.std(axis=0, ddof=1)
    np.testing.assert_allclose(dots[0]["x"], effects[np.argsort(-np.abs(effects))], rtol=1e-3)
    assert all(low < x < high for low, x, high in zip(dots[0]["low"], dots[0]["x"], dots[0]["high"], strict=True))
    model, _, path = reports["pca"]
    heat = read_page(path).data["answers"]
    np.testing.assert_allclose(heat["values"][0], model.components_[0], atol=1e-3)
    np.testing.assert_allclose(heat["values"][2], model.components_[1], atol=1e-3)


def test_peers_keep_the_shape_and_the_order_of_the_answer(reports):
    model, data, _ = reports["pca"]
    for found in contrast_peers(model, data.U, data.V).values():
        assert found.shape == model.components_.shape
        np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-8)
        assert ((found * model.components_).sum(axis=1) >= 0).all()
    model, data, _ = reports["ising"]
    for found in contrast_peers(model, data.U, data.V).values():
        assert found.shape == model.couplings_.shape


def test_errors_have_the_unit_of_the_answer(reports):
    units = {"regression": "relative", "logistic": "relative", "mixture": "standard deviations"}
    for kind, (model, data, _) in reports.items():
        arguments = (data.U, data.V, *([data.y] if kind in ("regression", "logistic") else []))
        scaling = (np.zeros(data.U.shape[1]), np.ones(data.U.shape[1])) if kind in ("mixture", "pca") else None
        (error,) = (
            column
            for column in summarize_contrast(model, *arguments, scaling=scaling).tables["components"].columns
            if column.name == "expected error"
        )
        assert error.unit == units.get(kind, "")
    model, data, _ = reports["mixture"]
    columns = summarize_contrast(model, data.U, data.V).tables["components"].columns
    assert "" in [column.unit for column in columns if column.name == "expected error"]


def test_canonical_directions_are_left_out():
    rng = np.random.default_rng(0)
    shared = rng.exponential(size=(4000, 1))
    U = np.hstack([shared + 0.1 * rng.standard_normal((4000, 1)), rng.standard_normal((4000, 2)) * [2, 1]])
    V = np.hstack([shared, rng.standard_normal((4000, 2))]) + 0.1 * rng.standard_normal((4000, 3))
    model = ContrastivePCA(1, n_shared=1).fit(U, V)
    found = contrast_peers(model, U, V)["CCA"]
    assert abs(found[0, 1]) > 0.99


def test_names_must_agree_with_the_data(reports, tmp_path):
    model, data, _ = reports["pca"]
    with pytest.raises(LatentiaError, match="they must agree"):
        write_contrast_report(tmp_path / "r.html", model, data.U, data.V, columns=["a"])
    with pytest.raises(LatentiaError, match="columns_v has 1 entries"):
        write_contrast_report(tmp_path / "r.html", model, data.U, data.V, columns_v=["a"])


def test_a_model_without_error_bars_was_not_checked(reports, read_page, tmp_path):
    data = reports["regression"][1]
    model = ContrastiveRegression(n_splits=0).fit(data.U, data.V, data.y)
    page = read_page(write_contrast_report(tmp_path / "r.html", model, data.U, data.V, data.y))
    assert "Not supported" in page.cells
    assert "not measured" in page.cells
    assert any("V as covariates" in cell for cell in page.cells)


def test_the_comparison_marks_the_size_of_the_report(reports, read_page):
    page = read_page(reports["pca"][2])
    assert sum(attrs.get("class") == "current" for tag, attrs in page.tags if tag == "tr") == 1


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_a_browser_draws_every_figure_and_is_silent(browser, reports, kind):
    browser.get(reports[kind][2].as_uri())
    browser.get_log("browser")
    browser.refresh()
    places = browser.find_elements("css selector", "[role=img]")
    assert len(places) == 3
    for place in places:
        assert place.find_elements("css selector", "svg.chart"), place.get_attribute("id")
        assert place.size["height"] > 80
    assert browser.title == HOSTILE
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_is_wider_than_a_phone(browser, reports, kind):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(reports[kind][2].as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
