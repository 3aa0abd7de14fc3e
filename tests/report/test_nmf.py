"""The report of a factorization: what it says, that it is safe and small, and that a browser shows it."""

import base64
import io
from dataclasses import replace

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.nmf import SeparableNMF
from latentia.report import write_nmf_report
from latentia.report.nmf import axis_of, colour_map, contributions, picture_of_component

Image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
COMPARISON = [{"components": r, "grade": "partly", "held-out error": 1 / r} for r in (3, 4)]
SHAPE = 15, 20


@pytest.fixture(scope="module")
def data():
    drawn = planted.separable_rows(300, 40, 4, n_pure=4, noise=0.01, kind="spectra")
    return replace(drawn, X=np.abs(drawn.X))


@pytest.fixture(scope="module")
def model(data):
    return SeparableNMF(4, refine=6).fit(data.X)


@pytest.fixture(scope="module")
def path(model, data, tmp_path_factory):
    """With names of rows and columns."""
    target = tmp_path_factory.mktemp("report") / "r.html"
    columns = [HOSTILE, *(f"sensor {i}" for i in range(1, 40))]
    rows = [HOSTILE] * 300
    return write_nmf_report(
        target, model, data.X, columns=columns, rows=rows, title=HOSTILE, source=HOSTILE, comparison=COMPARISON
    )


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


@pytest.fixture(scope="module")
def maps(data, tmp_path_factory):
    """Of an image in bands with wavelengths."""
    target = tmp_path_factory.mktemp("maps") / "r.html"
    model = SeparableNMF(4, mixing="cone").fit(data.X)
    waves = [f"{400 + 2.5 * i:g}" for i in range(40)]
    return write_nmf_report(target, model, data.X, columns=waves, image=SHAPE, title=HOSTILE, source=HOSTILE)


@pytest.fixture(scope="module")
def pictures(data, tmp_path_factory):
    target = tmp_path_factory.mktemp("pictures") / "r.html"
    model = SeparableNMF(4, n_splits=0).fit(data.X)
    names = [HOSTILE] * 300
    return write_nmf_report(target, model, data.X, rows=names, picture_shape=(5, 8), title=HOSTILE, source=HOSTILE)


def _figures(page):
    return page.data


def _image(address):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


# --- numbers --------------------------------------------------------------------------------------------------------


def test_contributions_do_not_depend_on_the_scale_of_components(model):
    class Seen:
        components_ = np.array([[1.0, 1.0], [0.0, 20.0]])
        mixing_kind_ = "cone"

    weights = np.array([[5.0, 0.5], [0.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(contributions(Seen, weights), [[0.5, 0.5], [0, 1], [0, 0]])
    Seen.mixing_kind_ = "simplex"
    np.testing.assert_allclose(contributions(Seen, np.array([[0.25, 0.75]])), [[0.25, 0.75]])


def test_an_axis_is_of_increasing_numbers():
    np.testing.assert_allclose(axis_of(["400", " 402.5", "410"]), [400, 402.5, 410])
    assert axis_of(["400", "300"]) is None
    assert axis_of(["1", "nan"]) is None
    assert axis_of(["1", "b"]) is None


def test_maps_and_pictures():
    found = colour_map(np.array([0.0, 0.5, 1.0, 2.0]), (2, 2))
    assert found.shape == (2, 2, 3)
    np.testing.assert_allclose(found[0, 0], 1)
    np.testing.assert_allclose(found[1, 0] * 255, [0, 80, 125])
    np.testing.assert_allclose(found[1, 1], found[1, 0])
    np.testing.assert_allclose(picture_of_component(np.array([-1.0, 1, 2, 4]), (2, 2)), [[0, 0.25], [0.5, 1]])
    np.testing.assert_allclose(picture_of_component(np.zeros(4), (2, 2)), 0)


# --- the page -------------------------------------------------------------------------------------------------------


def test_components_and_certificate(page, model, data):
    text = " ".join(page.cells)
    assert "4 components in 300 rows of 40 columns; each row is a mixture of them." in text
    for share in contributions(model, model.transform(data.X)).mean(axis=0):
        assert f"{100 * share:.1f}% of the data" in text
    assert f"{100 * model.relative_error_:.3g}%" in text
    assert "robust simplicial" in text
    assert "Rounds of polish" in text
    assert "comparison-table" in [attrs.get("id") for _, attrs in page.tags]
    assert list(_figures(page)) == ["map", "rounds"]


def test_maps_of_components(maps, read_page, data):
    page = read_page(maps)
    addresses = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert len(addresses) == 4 + 2
    assert all(_image(one).shape == (*SHAPE, 3) for one in addresses)
    figure = _figures(page)["spectra"]
    assert [mark["x"][0] for mark in figure["panels"][0]["marks"]] == [400] * 4
    model = SeparableNMF(4, mixing="cone").fit(data.X)
    rings = [attrs["style"] for tag, attrs in page.tags if attrs.get("class") == "ring"]
    across, down = 100 * (model.anchors_ % 20 + 0.5) / 20, 100 * (model.anchors_ // 20 + 0.5) / 15
    assert rings == [f"left: {x:.2f}%; top: {y:.2f}%" for x, y in zip(across, down, strict=True)]
    for anchor, address in zip(model.anchors_, addresses, strict=False):
        colour = _image(address)[anchor // 20, anchor % 20]
        assert colour.sum() < 330  # dark: it is its own component


def test_components_as_pictures(pictures, read_page):
    page = read_page(pictures)
    addresses = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert [_image(one).shape for one in addresses] == [(5, 8)] * 4
    assert any("300 pictures of 8 x 5 pixels" in cell for cell in page.cells)


def test_files_are_small(path, maps):
    assert max(path.stat().st_size, maps.stat().st_size) < 5_500_000


def test_defaults_are_enough(model, data, tmp_path, read_page):
    page = read_page(write_nmf_report(tmp_path / "r.html", model, data.X))
    assert f"row {model.anchors_[0]}" in " ".join(page.cells)


def test_what_does_not_fit_is_refused(model, data, tmp_path):
    target = tmp_path / "r.html"
    with pytest.raises(LatentiaError, match="columns has 3 entries, the data 40 columns and the components 40"):
        write_nmf_report(target, model, data.X, columns=["a", "b", "c"])
    with pytest.raises(LatentiaError, match="rows has 1 entries, and the data 300 rows"):
        write_nmf_report(target, model, data.X, rows=["a"])
    with pytest.raises(LatentiaError, match="7 x 5 pixels are 35, and there are 300 rows"):
        write_nmf_report(target, model, data.X, image=(5, 7))
    with pytest.raises(LatentiaError, match="7 x 5 pixels are 35, and there are 40 columns"):
        write_nmf_report(target, model, data.X, picture_shape=(5, 7))
    with pytest.raises(LatentiaError, match="The data has 2 rows, and row .* is a component: give the rows of the fit"):
        write_nmf_report(target, model, data.X[:2])


# --- safety, and browsers -------------------------------------------------------------------------------------------


def test_hostile_text_stays_text(page, maps, pictures, read_page):
    for one in (page, read_page(maps), read_page(pictures)):
        assert one.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
        assert "bold" not in one.cells
        assert any(HOSTILE[:20] in cell for cell in one.cells)
        for tag, attrs in one.tags:
            assert tag not in {"link", "iframe", "object", "embed", "base"}
            for name in ("src", "srcset", "href", "action", "data", "poster"):
                assert (attrs.get(name) or "#").startswith(("#", "data:image/png;base64,"))


@pytest.mark.parametrize("which", ["path", "maps", "pictures"])
def test_a_browser_shows_it_and_is_silent(browser, which, request):
    browser.get(request.getfixturevalue(which).as_uri())
    browser.get_log("browser")
    browser.refresh()
    for place in browser.find_elements("css selector", "[role=img], .maps img"):
        assert place.size["height"] > 15, place.get_attribute("aria-label")
    assert browser.execute_script("return [...document.images].every((image) => image.naturalWidth > 0)")
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.parametrize("which", ["path", "maps", "pictures"])
def test_nothing_is_wider_than_a_phone(browser, which, request):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(request.getfixturevalue(which).as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
