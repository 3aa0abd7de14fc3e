"""What the pages draw themselves: figures as data, their drawings, colours by day and by night, and what can be saved."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.mixtures import SphericalGaussianMixture
from latentia.report import figures as figures
from latentia.report import write_mixture_report

LEFT, RIGHT, DOWN, END, ESCAPE = "\ue012", "\ue014", "\ue015", "\ue010", "\ue00c"
NAMES = ["<b>first</b>", "second"]
GAP = 3


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    data = planted.gaussian_mixture(1500, n_components=3, n_features=4, separation=8)
    model = SphericalGaussianMixture(3).fit(data.X)
    return write_mixture_report(
        tmp_path_factory.mktemp("report") / "r.html", model, data.X, columns=["=a", "b", "c", "d"]
    )


@pytest.fixture
def opened(browser, path):
    """The page, in the colours of the day."""
    _prefer(browser, "light")
    browser.get(path.as_uri())
    browser.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
    browser.refresh()
    browser.get_log("browser")
    yield browser
    browser.execute_script("localStorage.clear()")
    _prefer(browser, "light")


@pytest.fixture
def many():
    """Small multiples of curves with bands; one point is not known."""
    x = np.arange(2000, 2012)
    rng = np.random.default_rng(0)
    panels = []
    for name in (*NAMES, "third"):
        y = rng.uniform(0.1, 0.3, len(x))
        y[GAP] = np.nan if name == "second" else y[GAP]
        panels.append((name, x, y, y - 0.05, y + 0.05))
    return figures.bands(panels, title="year", y_title="share", percent=True)


def _prefer(browser, scheme, media=""):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def _find(browser, selector):
    return browser.find_element("css selector", selector)


def _ground(browser):
    """Brightness of the page, from 0 to 255."""
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return np.mean([int(value) for value in re.findall(r"\d+", colour)[:3]])


# --- figures as data ------------------------------------------------------------------------------------------------


def test_bands_share_their_axes_and_leave_gaps(many):
    assert [panel["title"] for panel in many["panels"]] == [*NAMES, "third"]
    assert many["same"]
    band, curve = many["panels"][1]["marks"]
    assert [i for i, y in enumerate(curve["y"]) if y is None] == [GAP]
    assert band["low"][GAP] is band["high"][GAP] is None
    assert all(
        low < y < high for low, y, high in zip(band["low"], curve["y"], band["high"], strict=True) if y is not None
    )
    assert "90% interval" in band["says"]
    json.dumps(many, allow_nan=False)


def test_bands_with_labels_are_counted_from_zero():
    figure = figures.bands([("one", np.arange(2), *np.ones((3, 2)))], labels=["Jan", "Feb"])
    assert figure["panels"][0]["x"]["names"] == ["Jan", "Feb"]


def test_intervals_hold_bars_and_their_ends():
    labels, values = ["left", "right"], np.array([0.2, 0.3])
    figure = figures.intervals(
        [("one", labels, values, values - 0.1, values + 0.1)], title="share", percent=True, level=0.8
    )
    (panel,) = figure["panels"]
    (bar,) = panel["marks"]
    assert panel["y"]["names"] == labels
    assert (bar["y"], bar["low"], bar["high"]) == ([0.2, 0.3], [0.1, 0.2], [0.3, 0.4])
    assert "80%" in bar["says"]


def test_heat_maps_of_many_cells_have_no_numbers():
    for size, digits in ((20, 2), (21, None)):
        values = np.linspace(-1, 0.5, size**2).reshape(size, size)
        names = [str(i) for i in range(size)]
        figure = figures.heat_map(values, names, names, hover="{row}, {column}", signed=True)
        assert figure["digits"] == digits
        assert figure["top"] == 1
        assert np.shape(figure["values"]) == (size, size)


def test_a_spectrum_tells_what_is_used_from_noise():
    figure = figures.spectrum(np.array([3.0, 2.0, 0.5]), 2, [1.0], "size")
    bars, rule = figure["panels"][0]["marks"]
    assert bars["y"] == [3.0, 2.0, 0.5]
    assert len(set(bars["colour"][:2])) == 1 < len(set(bars["colour"]))
    assert rule["y"] == 1.0


def test_bars_of_several_series_stand_beside_each_other():
    figure = figures.bars(
        [1, 2], [("a", np.ones(2), 0), ("b", np.ones(2), 1)], hover=[["", ""]] * 2, title="", y_title=""
    )
    first, second = figure["panels"][0]["marks"]
    assert np.subtract(second["x"], first["x"]) == pytest.approx([first["width"]] * 2)
    assert first["width"] + second["width"] == 0.75


def test_numbers_that_are_whole_have_no_point():
    assert json.dumps(figures._round_values([1.0, 2.0])) == "[1, 2]"
    assert json.dumps(figures._round_values([0.123456789, -0.0])) == "[0.12346, 0.0]"
    assert json.dumps(figures._round_values([np.inf, 2.0])) == "[null, 2]"


# --- drawings -------------------------------------------------------------------------------------------------------


def test_every_figure_has_a_caption_and_buttons(opened):
    shown = opened.find_elements("css selector", "figure.figure")
    assert len(shown) == 2
    for figure in shown:
        assert len(figure.find_element("css selector", "figcaption").text) > 30
        assert [button.text for button in figure.find_elements("css selector", ".tools button")] == ["SVG", "PNG"]


def test_keys_go_from_cell_to_cell(opened):
    place = _find(opened, "#means")
    for key, cell in (
        (RIGHT, "component 0, =a"),
        (RIGHT, "component 0, b"),
        (DOWN, "component 1, b"),
        (END, "component 2, d"),
    ):
        place.send_keys(key)
        assert _find(opened, ".tip").text.startswith(cell)
    place.send_keys(RIGHT)  # there is no more
    assert _find(opened, ".tip").text.startswith("component 2, d")
    assert _find(opened, "#means .over rect")
    place.send_keys(ESCAPE)
    assert not _find(opened, ".tip").is_displayed()
    _find(opened, "#plane").send_keys(RIGHT)  # keys stop at the means, not at the rows
    assert _find(opened, ".tip").text == "component 0: its mean"


def test_small_multiples_are_drawn_and_tell_their_intervals(opened, many):
    opened.execute_script("Charts.draw(document.getElementById('means'), arguments[0])", many)
    drawn = _find(opened, "#means svg")
    assert [text for text in (each.text for each in drawn.find_elements("css selector", "text.strong")) if text][
        :2
    ] == NAMES
    bands = drawn.find_elements("css selector", "path[fill-opacity='0.2']")
    assert [each.get_attribute("d").count("M") for each in bands] == [1] * 4  # two of them beside the gap
    _find(opened, "#means").send_keys(RIGHT)
    heading, value, spread = _find(opened, ".tip").text.split("\n")
    assert heading == "year 2000"
    y, low, high = (100 * many["panels"][0]["marks"][i][name][0] for i, name in ((1, "y"), (0, "low"), (0, "high")))
    assert value == f"{NAMES[0]}: {y:.3g}%"
    assert spread == f"90% interval {low:.3g}% to {high:.3g}%"
    assert [entry["message"] for entry in opened.get_log("browser")] == []


def test_bars_with_intervals_are_drawn(opened):
    values = np.array([0.2, 0.3, 0.1])
    panels = [(name, ["x", "y", "<i>z</i>"], values, values - 0.05, values + 0.05) for name in NAMES]
    opened.execute_script(
        "Charts.draw(document.getElementById('means'), arguments[0])", figures.intervals(panels, percent=True)
    )
    rectangles = opened.find_elements("css selector", "#means rect")
    widths = [float(each.get_attribute("width")) for each in rectangles]
    assert np.array(widths) / widths[0] == pytest.approx(np.tile(values / 0.2, 2), rel=0.01)
    _find(opened, "#means").send_keys(END)
    assert _find(opened, ".tip").text == "<i>z</i>\n10%\n90% interval 5% to 15%"


def test_nothing_but_gaps_is_an_empty_frame(opened):
    nothing = np.full(3, np.nan)
    figure = figures.bands([("one", np.arange(3), nothing, nothing, nothing)])
    opened.execute_script("Charts.draw(document.getElementById('means'), arguments[0])", figure)
    assert _find(opened, "#means svg").size["height"] > 60
    assert [entry["message"] for entry in opened.get_log("browser")] == []


def test_drawings_follow_the_width(opened):
    def width():
        return float(_find(opened, "#plane svg").get_attribute("width"))

    before = width()
    opened.execute_script("document.getElementById('plane').style.width = '400px'")
    opened.execute_async_script("setTimeout(arguments[0], 200)")
    assert width() == 400 < before


# --- colours --------------------------------------------------------------------------------------------------------


def test_colours_are_those_of_the_system_until_the_reader_chooses(opened):
    from selenium.webdriver.support.ui import WebDriverWait

    button = _find(opened, "#theme")
    assert _ground(opened) > 200
    _prefer(opened, "dark")
    assert _ground(opened) < 60
    WebDriverWait(opened, 10).until(lambda _: "Light" in button.text)  # the browser tells the page when it is idle
    button.click()
    assert _ground(opened) > 200
    assert opened.execute_script("return localStorage.getItem('latentia-theme')") == "light"

    def is_light_after_reload(_):
        # Chromium now and then reloads a page in an instant before it has stored what the page wrote.
        opened.execute_script("localStorage.setItem('latentia-theme', 'light')")
        opened.refresh()
        return _ground(opened) > 200

    WebDriverWait(opened, 10).until(is_light_after_reload)
    _prefer(opened, "light")
    _find(opened, "#theme").send_keys("\ue007")
    assert _ground(opened) < 60


def test_paper_is_always_light(opened):
    _prefer(opened, "dark", media="print")
    assert _ground(opened) > 200
    assert not _find(opened, "#theme").is_displayed()


# --- what can be saved ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["means", "plane"])
def test_a_saved_drawing_stands_alone_and_is_light(opened, scheme, place):
    _prefer(opened, scheme)
    script = f"return Charts.standalone(document.querySelector('#{place} svg')).file"
    text = opened.execute_script(script)
    root = ElementTree.fromstring(text)
    assert "var(" not in text
    assert "class=" not in text
    ground, *marks = [node for node in root.iter() if node.tag.endswith(("rect", "path"))]
    assert ground.get("fill") == "rgb(255, 255, 255)"
    assert len(marks) > 10
    labels = [node for node in root.iter() if node.tag.endswith("text")]
    assert all(node.get("font-family") and node.get("font-size") == "12px" for node in labels)


def test_a_saved_picture_is_a_png(opened):
    script = """
    const done = arguments[0], bytes = async (blob) => [...new Uint8Array(await blob.arrayBuffer())];
    Charts.pngOf(document.querySelector('#means svg')).then(bytes).then(done);
    """
    found = bytes(opened.execute_async_script(script))
    assert found.startswith(b"\x89PNG")
    assert len(found) > 2000
    assert [entry["message"] for entry in opened.get_log("browser")] == []


def test_tables_are_saved_as_texts_that_no_spreadsheet_computes(opened):
    opened.execute_script("window.saved = []; Charts.save = (name, blob) => saved.push([name, blob])")
    opened.execute_script("document.querySelector('#evidence details').open = true")
    button = opened.find_element("css selector", "#evidence .tools button")
    button.click()
    script = "const done = arguments[0]; const [[name, blob]] = saved; blob.text().then((text) => done([name, text]))"
    name, text = opened.execute_async_script(script)
    assert name == "components-evidence.csv"
    heading, *rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    assert heading[:4] == ["Result", "Check", "Measured", "Needed"]
    assert "expected error" in [row[1] for row in rows]
    written = opened.execute_script('return Page.csv([["=SUM(A1)", "-3.5", "@x", "a,b", \'say "no"\']])')
    assert written == '\ufeff\'=SUM(A1),-3.5,\'@x,"a,b","say ""no"""\r\n'
