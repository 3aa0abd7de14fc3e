"""The report of a dictionary: what it says, that it is safe and small, and that a browser shows it."""

import base64
import io
import re

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import image_patches, planted
from latentia.dictionary import IncoherentDictionary
from latentia.dictionary.codes import count_needed_atoms, row_errors, sparse_codes
from latentia.dictionary.patches import mosaic, psnr
from latentia.dictionary.pursuit import matching_pursuit
from latentia.exceptions import LatentiaError
from latentia.report import write_dictionary_report
from latentia.report.dictionary import RebuiltPicture

Image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
COMPARISON = [{"atoms": m, "grade": "partly", "held-out error": 1 / m} for m in (20, 30)]


@pytest.fixture(scope="module")
def data():
    return planted.sparse_codes(2500, n_features=24, n_components=30, sparsity=2, noise=0.03)


@pytest.fixture(scope="module")
def model(data):
    return IncoherentDictionary(30, sparsity=2).fit(data.X)


@pytest.fixture(scope="module")
def names():
    return [HOSTILE, *(f"sensor {i}" for i in range(1, 24))]


@pytest.fixture(scope="module")
def path(model, data, names, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "r.html"
    return write_dictionary_report(
        target, model, data.X, columns=names, title=HOSTILE, source=HOSTILE, comparison=COMPARISON
    )


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


@pytest.fixture(scope="module")
def image():
    y, x = np.mgrid[:60, :80]
    return np.clip(0.5 + 0.3 * np.sign(np.sin(x / 2)) * (y > 25) + 0.2 * np.sign(np.sin(y / 1.5)) * (y <= 25), 0, 1)


@pytest.fixture(scope="module")
def of_patches(image):
    patches = image_patches(image, 6)
    patches -= patches.mean(axis=1, keepdims=True)
    return IncoherentDictionary(20, sparsity=3, init="random", n_splits=0, refine=5).fit(patches), patches


@pytest.fixture(scope="module")
def pictures(of_patches, image, tmp_path_factory):
    model, patches = of_patches
    shown = [
        RebuiltPicture(HOSTILE, image, np.clip(image + 0.1, 0, 1)),
        RebuiltPicture("wide", np.ones((20, 900)), np.ones((20, 900))),
    ]
    target = tmp_path_factory.mktemp("pictures") / "r.html"
    return write_dictionary_report(target, model, patches, patch=(6, 6), pictures=shown, title="Atoms")


def _figures(page):
    return page.data


def _image(address):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


# --- numbers --------------------------------------------------------------------------------------------------------


def test_codes_and_what_they_leave(model, data):
    codes = sparse_codes(model, data.X)
    np.testing.assert_array_equal(codes.toarray(), model.transform(data.X))
    errors = row_errors(model, data.X, codes)
    left = data.X - model.transform(data.X) @ model.components_
    np.testing.assert_allclose(errors, (left**2).sum(axis=1) / (data.X**2).sum(axis=1))
    total = float(errors @ (data.X**2).sum(axis=1)) / float((data.X**2).sum())
    assert total == pytest.approx(model.reconstruction_err_, rel=0.05)
    rows = sparse.csr_array(data.X)
    np.testing.assert_allclose(row_errors(model, rows, sparse_codes(model, rows)), errors, atol=1e-9)
    assert row_errors(model, np.zeros((2, 24)), sparse.csr_array((2, 30))).tolist() == [0, 0]


def test_atoms_that_rows_need():
    class Seen:
        noise_ = 0.1

    limit = 1.5 * 0.1 * np.sqrt(2 * np.log(4))
    codes = sparse.csr_array(np.array([[0, 0, 0, 0], [2, 0.9 * limit, 0, -1], [0, -0.5 * limit, 0, 0], [1, 1, 1, 1.0]]))
    assert count_needed_atoms(Seen, codes).tolist() == [0, 2, 0, 4]
    noisy = planted.sparse_codes(2000, n_features=128, n_components=60, sparsity=2, noise=0.02)
    codes = matching_pursuit(noisy.X, noisy.components, 4).dense(60)
    Seen.noise_ = 0.02
    assert np.mean(count_needed_atoms(Seen, sparse.csr_array(codes)) == 2) > 0.9


def test_decibels():
    image = np.full((4, 4), 0.5)
    assert psnr(image, image) == 100
    assert psnr(image, image + 0.1) == pytest.approx(20)


def test_the_mosaic():
    atoms = np.array([np.r_[1.0, np.zeros(7)], np.r_[-2.0, 1.0, np.zeros(6)], np.zeros(8)])
    found = mosaic(atoms, (2, 4))
    assert found.shape == (2 * 2 + 1, 2 * 4 + 1)
    np.testing.assert_allclose(found[0, :4], [1, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(found[0, 5:], [0, 0.75, 0.5, 0.5])
    np.testing.assert_allclose(found[3:, :4], 0.5)
    np.testing.assert_allclose(found[3:, 4:], 1)  # room for a fourth
    assert mosaic(np.ones((5, 12)), (2, 2, 3)).shape == (5, 8, 3)


# --- what it says ---------------------------------------------------------------------------------------------------


def test_evidence_and_atoms(model, names, page):
    assert model.evidence_.verdict.partition(". ")[2] in page.cells
    for check in model.evidence_.checks:
        assert check.name in page.cells
    assert "30 atoms in 2,500 rows of 24 columns; each is a sum of up to 2 atoms." in page.cells
    for i, atom in enumerate(model.components_):
        first = int(np.abs(atom).argmax())
        assert f"{atom[first]:+.2f}" in page.cells
        assert f"{model.evidence_.component_errors[i]:.2f}" in page.cells
    assert "held-out error" in page.cells


def test_bars_of_atoms(model, names, page):
    curves = page.data["atoms"]["panels"]
    assert len(curves) == 12
    np.testing.assert_allclose(curves[3]["marks"][0]["y"], model.components_[3], atol=1e-4)
    bars = [attrs for tag, attrs in page.tags if tag == "i" and re.match(r"(left|right): 50%", attrs.get("style", ""))]
    assert len(bars) == 24 * 8
    for i in range(24):
        order = np.argsort(-np.abs(model.components_[i]), kind="stable")[:8]
        weights = model.components_[i, order]
        own = bars[8 * i : 8 * i + 8]
        assert [attrs["style"].startswith("left") for attrs in own] == (weights >= 0).tolist()
        widths = [float(re.search(r"width: ([\d.]+)%", attrs["style"])[1]) for attrs in own]
        np.testing.assert_allclose(widths, 50 * np.abs(weights) / np.abs(weights[0]), atol=0.06)


def test_how_many_rows_are_described_how_well(model, data, page):
    codes = sparse_codes(model, data.X)
    place = page.cells.index("How well rows are described")
    cells = page.cells[place : page.cells.index("How often each atom is used")]
    counts = np.bincount(count_needed_atoms(model, codes), minlength=3)
    assert cells[-6:] == [text for i, n in enumerate(counts) for text in (["none", "1 atom", "2 atoms"][i], f"{n:,}")]
    errors = row_errors(model, data.X, codes)
    assert cells[cells.index("below 1%") + 1] == f"{(errors < 0.01).sum():,}"
    assert f"{100 * (1 - model.reconstruction_err_):.1f}%" in cells


def test_figures(model, page):
    figures = _figures(page)
    np.testing.assert_allclose(figures["usage"]["panels"][0]["marks"][0]["y"], 100 * model.usage_, atol=1e-3)
    np.testing.assert_allclose(figures["rounds"]["panels"][0]["marks"][0]["y"], 100 * model.errors_, rtol=1e-2)


def test_pictures_of_atoms(of_patches, image, pictures, read_page):
    model, _ = of_patches
    page = read_page(pictures)
    addresses = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert len(addresses) == 20 + 4
    for atom, address in zip(model.components_, addresses, strict=False):
        shown = _image(address).ravel() / 255
        np.testing.assert_allclose(shown, 0.5 + 0.5 * atom / np.abs(atom).max(), atol=0.5 / 255 + 1e-9)
    np.testing.assert_allclose(_image(addresses[20]) / 255, image, atol=0.5 / 255 + 1e-9)
    assert _image(addresses[22]).shape == (20, 640)  # the middle of a wide one
    assert f"{psnr(image, np.clip(image + 0.1, 0, 1)):.1f} dB" in page.cells
    assert any("patches of 6 x 6 pixels, each without its mean" in cell for cell in page.cells)
    assert {attrs.get("class") for tag, attrs in page.tags if tag == "span" and "badge" in attrs.get("class", "")} >= {
        "badge unknown"
    }  # no expected errors
    assert pictures.stat().st_size < 5_500_000


def test_patches_in_colour(of_patches, tmp_path, read_page):
    rows = np.random.default_rng(0).standard_normal((300, 48))
    model = IncoherentDictionary(10, sparsity=2, init="random", n_splits=0, refine=1).fit(rows)
    page = read_page(write_dictionary_report(tmp_path / "r.html", model, rows, patch=(4, 4, 3)))
    assert _image(next(attrs["src"] for tag, attrs in page.tags if tag == "img")).shape == (4, 4, 3)
    assert any("4 x 4 pixels in colour" in cell for cell in page.cells)


def test_what_does_not_fit_is_refused(model, data, tmp_path):
    with pytest.raises(LatentiaError, match="columns has 3 entries, the data 24 columns and the atoms 24"):
        write_dictionary_report(tmp_path / "r.html", model, data.X, columns=["a", "b", "c"])
    with pytest.raises(LatentiaError, match=r"patches of the shape \(5, 5\) have 25 values; the atoms have 24"):
        write_dictionary_report(tmp_path / "r.html", model, data.X, patch=(5, 5))


# --- safety, and browsers -------------------------------------------------------------------------------------------


def test_hostile_text_stays_text(page, pictures, read_page):
    for one in (page, read_page(pictures)):
        assert one.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
        assert "bold" not in one.cells
        assert any(HOSTILE[:20] in cell for cell in one.cells)
        for tag, attrs in one.tags:
            assert tag not in {"link", "iframe", "object", "embed", "base"}
            for name in ("src", "srcset", "href", "action", "data", "poster"):
                assert (attrs.get(name) or "#").startswith(("#", "data:image/png;base64,"))


@pytest.mark.parametrize("which", ["path", "pictures"])
def test_a_browser_shows_it_and_is_silent(browser, which, request):
    browser.get(request.getfixturevalue(which).as_uri())
    browser.get_log("browser")
    browser.refresh()
    for place in browser.find_elements("css selector", "[role=img], .pairs img"):
        assert place.size["height"] > 15, place.get_attribute("aria-label")
    assert browser.execute_script("return [...document.images].every((image) => image.naturalWidth > 0)")
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.parametrize("which", ["path", "pictures"])
def test_nothing_is_wider_than_a_phone(browser, which, request):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(request.getfixturevalue(which).as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
