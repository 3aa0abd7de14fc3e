"""The report of a sparse network: what it says, that it is safe, and that a browser shows it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.deep import SparseNetwork
from latentia.deep.agreement import encode_layers, measure_agreements
from latentia.deep.edges import unit_names
from latentia.evidence import Evidence
from latentia.exceptions import EvidenceWarning, LatentiaError
from latentia.report import write_network_report
from latentia.report.network import units_table

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def data():
    return planted.sparse_network(3000, (200, 40), 5, 0.02)


@pytest.fixture(scope="module")
def model(data):
    return SparseNetwork().fit(data.Y)


@pytest.fixture(scope="module")
def deep(data):
    """A network with five units above the others, each of which switches on eight of them and one off."""
    model = SparseNetwork().fit(data.Y)
    n = model.layers_[0].shape[0]
    edges = np.zeros((5, n), np.int8)
    for unit in range(5):
        edges[unit, 8 * unit : 8 * unit + 8], edges[unit, 8 * unit - 1] = 1, -1
    model.layers_.append(sparse.csr_array(edges))
    model.undetermined_.append(sparse.csr_array(np.eye(5, n, 3, dtype=bool)))
    model.densities_.append(np.full(5, 0.01))
    model.evidence_ = Evidence(model.evidence_.checks, np.append(model.evidence_.component_errors, np.full(5, 0.1)))
    return model


@pytest.fixture(scope="module")
def names():
    return [HOSTILE, *(f"item {i}" for i in range(1, 200))]


@pytest.fixture(scope="module")
def path(model, data, names, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "r.html"
    return write_network_report(target, model, data.Y, columns=names, title=HOSTILE, source=HOSTILE)


@pytest.fixture(scope="module")
def of_two(deep, data, names, tmp_path_factory):
    return write_network_report(tmp_path_factory.mktemp("deep") / "r.html", deep, data.Y, columns=names)


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


def _figures(page):
    return page.data


def units(model, names):
    return [
        SimpleNamespace(
            number=row["unit"], layer=row["layer"], rate=row["on in"], error=row["expected error"],
            positive=row["switches on"], negative=row["switches off"], below=row["columns below"],
            undetermined=row["undetermined"],
        )
        for row in units_table(model, names).rows()
    ]  # fmt: skip


# --- what it says ---------------------------------------------------------------------------------------------------


def test_units(model, deep, names):
    for one in (model, deep):
        found = units(one, names)
        assert [unit.number for unit in found] == list(range(sum(layer.shape[0] for layer in one.layers_)))
        below = [names, *unit_names(one)]
        for unit in found:
            place = unit.number - (40 if unit.layer == 2 else 0)
            edges = one.layers_[unit.layer - 1].toarray()[place]
            assert unit.positive == [below[unit.layer - 1][i] for i in np.flatnonzero(edges > 0)]
            assert unit.negative == [below[unit.layer - 1][i] for i in np.flatnonzero(edges < 0)]
            assert unit.rate == one.densities_[unit.layer - 1][place]
            assert unit.undetermined == one.undetermined_[unit.layer - 1][[place]].nnz
            assert unit.error == one.evidence_.component_errors[unit.number]
    upper = found[41]
    paths = (deep.layers_[1].toarray()[1] > 0).astype(int) @ (deep.layers_[0].toarray() > 0).astype(int)
    assert len(upper.below) == 8
    assert min(paths[names.index(name)] for name in upper.below) >= np.sort(paths)[-8]
    assert unit_names(deep)[1][0] == "unit 40"


def test_agreement_of_encoder_and_decoder(model, deep, data):
    hidden = encode_layers(model, data.Y)
    (found,) = measure_agreements(model, data.Y, hidden)
    Y, said = data.Y.toarray(), model.denoise(data.Y).toarray()
    assert found.explained == pytest.approx((Y & said).sum() / Y.sum())
    assert found.right == pytest.approx((Y & said).sum() / said.sum())
    assert min(found.explained, found.right) > 0.95
    lower, upper = measure_agreements(deep, data.Y, encode_layers(deep, data.Y))
    assert (lower.explained, lower.right) == (found.explained, found.right)
    below, on = (layer.toarray() for layer in encode_layers(deep, data.Y))
    lit = on.astype(int) @ deep.layers_[1].toarray() > 0
    assert upper.explained == pytest.approx((below & lit).sum() / below.sum())


def test_agreement_of_real_columns():
    data = planted.sparse_network(3000, (60, 12), 4, 0.04, observed="real", noise=0.1)
    model = SparseNetwork(input_type="real", n_splits=0).fit(data.Y)
    (found,) = measure_agreements(model, data.Y, encode_layers(model, data.Y))
    left = ((data.Y - model.denoise(data.Y)) ** 2).sum() / ((data.Y - data.Y.mean(axis=0)) ** 2).sum()
    assert found.explained == pytest.approx(1 - left)
    assert found.right is None


def test_evidence_and_units(model, data, names, page):
    assert model.evidence_.verdict.partition(". ")[2] in page.cells
    for check in model.evidence_.checks:
        assert check.name in page.cells
    assert "40 hidden units above 200 columns, from 3,000 rows." in page.cells
    start = page.cells.index("The units")
    cells = page.cells[start : page.cells.index("Evidence", start)]
    for unit in units(model, names):
        assert f"{unit.error:.2f}" in cells
        for name in [*unit.positive[:24], *unit.negative[:24]]:
            assert name in cells or f"{name}," in cells
    edges = model.layers_[0].data
    expected = f"{(edges > 0).sum():,} edges that switch on, {(edges < 0).sum():,} that switch off"
    assert expected in page.cells


def test_two_layers(deep, of_two, read_page):
    page = read_page(of_two)
    assert "45 hidden units in 2 layers (40, 5) above 200 columns, from 3,000 rows." in page.cells
    assert "layer 2: 5 units, 1.0% on" in page.cells
    assert "40 edges that switch on, 5 that switch off" in page.cells
    assert "Columns below" in page.cells
    boxes = {
        attrs["y"]: float(attrs["width"])
        for tag, attrs in page.tags
        if tag == "rect" and "rx" in attrs and "x" in attrs
    }
    assert sorted(boxes.values()) == [
        boxes[y] for y in sorted(boxes, key=float)
    ]  # the highest layer, on top, is the least
    assert {"degrees-1", "parents-2", "rates-2"} <= set(_figures(page))


def test_figures(model, page):
    figures = _figures(page)
    edges = model.layers_[0].toarray() > 0
    for name, values in (("degrees-1", edges.sum(axis=1)), ("parents-1", edges.sum(axis=0)), ("rates-1", edges[:, 0])):
        assert sum(figures[name]["panels"][0]["marks"][0]["y"]) == len(values)
    (bars,) = figures["parents-1"]["panels"][0]["marks"]
    parents = dict(zip(bars["x"], bars["y"], strict=True))
    assert parents == dict(enumerate(np.bincount(edges.sum(axis=0))))


def test_no_units(read_page, tmp_path):
    Y = np.random.default_rng(0).random((500, 30)) < 0.1
    with pytest.warns(EvidenceWarning, match="No hidden unit found"):
        model = SparseNetwork().fit(Y)
    page = read_page(write_network_report(tmp_path / "r.html", model, Y))
    assert any("No units were found" in cell for cell in page.cells)
    assert "0 hidden units above 30 columns, from 500 rows." in page.cells
    assert _figures(page) == {}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_of_many_rows_some_are_read(model, data, read_page, tmp_path, kind):
    Y = kind(np.tile(data.Y.toarray(), (8, 1)))
    page = read_page(write_network_report(tmp_path / "r.html", model, Y))
    assert any("on 20,000 random rows" in cell for cell in page.cells)


def test_another_table_is_refused(model, data, tmp_path):
    with pytest.raises(LatentiaError, match="columns has 200 entries, the data 20 columns and the network 200"):
        write_network_report(tmp_path / "r.html", model, data.Y[:, :20])


# --- safety, and browsers -------------------------------------------------------------------------------------------


def test_hostile_text_stays_text(page):
    assert page.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in page.cells
    assert any(HOSTILE[:20] in cell for cell in page.cells)
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")


@pytest.mark.parametrize("which", ["path", "of_two"])
def test_a_browser_shows_it_and_is_silent(browser, which, request):
    browser.get(request.getfixturevalue(which).as_uri())
    browser.get_log("browser")
    browser.refresh()
    for place in browser.find_elements("css selector", "[role=img]"):
        assert place.size["height"] > 40, place.get_attribute("aria-label")
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_units_are_searched(browser, path, model, names):
    browser.get(path.as_uri())

    def shown():
        return browser.execute_script(
            "return [...document.querySelectorAll('.units tbody tr')].filter(row => row.checkVisibility())"
            ".map(row => +row.querySelector('td').innerText)"
        )

    assert shown() == list(range(40))
    browser.find_element("css selector", "#units input[type=search]").send_keys("ITEM 17")
    found = [
        unit.number for unit in units(model, names) if any("item 17" in name for name in unit.positive + unit.negative)
    ]
    assert shown() == found
    assert 0 < len(found) < 40


@pytest.mark.parametrize("which", ["path", "of_two"])
def test_nothing_is_wider_than_a_phone(browser, which, request):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(request.getfixturevalue(which).as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
