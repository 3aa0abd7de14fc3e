"""What the report of every estimator has to pass, with its data, on a phone by day and on a screen by night."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from contract import CASES

from latentia.evidence.grades import GRADES

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")

AUDIT, FIRST = ((Path(__file__).parent / name).read_text("utf-8") for name in ("audit.js", "first.js"))
MOST = 1_500_000  # bytes
NAMES = [case.name for case in CASES]
COMPARED = [
    {"rank": k, "grade": grade, "above independent words": k / 7, **{f"measure {i}": k / 7 for i in range(6)}}
    for k, grade in enumerate(GRADES, 1)
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """``report(name)``: path of the page of an estimator with a wide table of all grades, written when first asked for."""
    folder = tmp_path_factory.mktemp("every")

    @cache
    def page(name):
        (case,) = (case for case in CASES if case.name == name)
        return case.shared().report(folder / f"{name}.html", comparison=COMPARED, **case.data())

    return page


@pytest.fixture
def shown(browser):
    """``shown(path, width, scheme)``: a page in a browser; reset afterwards."""

    def show(path, width, scheme):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        browser.get(path.as_uri())
        return browser

    browser.get_log("browser")
    yield show
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.fixture
def opened(shown, report):
    """``opened(name, width, scheme)``: the same of an estimator."""
    return lambda name, width, scheme: shown(report(name), width, scheme)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_small_and_complete(name, report, read_page):
    path = report(name)
    assert path.stat().st_size < MOST
    page = read_page(path)
    assert page.addresses == []
    for tag, attributes in page.tags:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        assert (attributes.get("src") or "data:").startswith("data:")


@pytest.mark.parametrize("name", NAMES)
def test_a_browser_has_nothing_to_complain_of_and_every_table_of_components_can_be_saved(name, opened):
    found = []
    for width, fold, scheme in ((400, 800, "light"), (1400, 900, "dark")):
        page = opened(name, width, scheme)
        said = page.execute_script(FIRST, fold) + page.execute_script(AUDIT)
        found += [f"{width} px, {scheme}: {complaint}" for complaint in said]
        assert page.get_log("browser") == []
    assert found == []
    titles = page.execute_script("return [...document.querySelectorAll('button')].map(b => b.title || b.innerText)")
    tables = page.find_elements("css selector", "table.stacked[id]")
    assert tables
    saved = sum(title.startswith("Save this table") for title in titles)
    assert saved >= len(tables)


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_called_by_their_names(name, tmp_path, read_page):
    (case,) = (case for case in CASES if case.name == name)
    model = case.shared()
    if (
        name.endswith("(columns)")
        or model.column_names is not None
        or model.nouns[2] in ("documents", "pairs", "nodes")
    ):
        pytest.skip("The model knows names, or its columns are words.")
    named = {
        key: pd.DataFrame(value, columns=[f"{key}_{i} kg" for i in range(value.shape[1])])
        if isinstance(value, np.ndarray) and value.ndim == 2
        else value
        for key, value in case.data().items()
    }
    if not any(isinstance(value, pd.DataFrame) for value in named.values()):
        pytest.skip("There is no table of numbers.")
    page = read_page(model.report(tmp_path / "named.html", **named))
    told = [*page.cells, page.scripts[page.kinds.index("report-data")]]
    assert any(" kg" in text for text in told)
    assert [text for text in told if re.search(r"\bcolumn \d", text)] == []


@pytest.mark.parametrize("width", [400, 1400])
def test_the_audit_finds_what_is_wrong(shown, tmp_path, width):
    path = tmp_path / "bad.html"
    path.write_text(
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<p style='color: #999; background: #fff'>pale</p><p style='font-size: 8px'>small</p><button></button>"
        "<div style='width: calc(100vw + 200px)'>wide</div><a href='#nowhere'>link</a><h3>deep</h3><i id='a'></i><i id='a'></i>"
        "<div role='img' id='figure' aria-label='drawing'>figure</div>"
    )
    page = shown(path, width, "light")
    assert page.execute_script(FIRST, 900) == ["no question", "no verdict", "no answer in words", "no picture"]
    said = "\n".join(page.execute_script(AUDIT))
    for words in ("contrast", "small", "no name", "wider", "leads nowhere", "heading", "ids twice", "no caption"):
        assert words in said


@pytest.mark.parametrize("name", ["NoisyOr", "IncoherentDictionary", "ContrastiveIsing"])
def test_rows_of_long_tables_are_found(name, opened):
    page = opened(name, 1400, "light")
    places = page.find_elements("css selector", ".find")
    assert places
    for place in places:
        table = place.find_element("xpath", "following-sibling::*[1]/descendant-or-self::table")
        rows = table.find_elements("css selector", "tbody tr")
        assert len(rows) >= 12
        box = place.find_element("css selector", "input")
        box.send_keys(rows[-1].text.split("\n")[0].split()[0])
        assert rows[-1].is_displayed()
        assert f"of {len(rows)} rows" in place.text
        box.clear()
        box.send_keys("no row has this")
        assert place.text.endswith(f"0 of {len(rows)} rows")
        assert not page.execute_script("return arguments[0].filter(row => row.checkVisibility()).length", rows)
