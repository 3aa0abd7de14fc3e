"""The report of a probability matrix: what it says, that it is safe, and that a browser shows it."""

import numpy as np
import pytest

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.matrices import ProbabilityMatrix
from latentia.report import write_matrix_report
from latentia.report.matrix import choose_telling_words, summarize_communities

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
COMPARISON = [
    {"rank": r, "held-out log-likelihood": -11 + r / 99, "above independent words": r / 99, "directions kept": r - 1}
    for r in (2, 4, 6)
]


@pytest.fixture(scope="module")
def data():
    return planted.word_pairs(50_000, n_components=4, n_words=200, contrast=1.5)


@pytest.fixture(scope="module")
def model(data):
    words = [HOSTILE, *(f"word{i}" for i in range(1, 200))]
    return ProbabilityMatrix(4, vocabulary=words).fit(data.counts)


@pytest.fixture(scope="module")
def path(model, data, tmp_path_factory):
    return write_matrix_report(
        tmp_path_factory.mktemp("report") / "r.html", model, data.counts, near=[HOSTILE, "word9"], title=HOSTILE,
        source=HOSTILE, comparison=COMPARISON,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


@pytest.fixture(scope="module")
def graph():
    return planted.block_model(300, 3, degree=20.0, snr=6.0)


def test_nearest_words_and_evidence(model, page):
    assert model.evidence_.verdict.partition(". ")[2] in page.cells
    assert any(f"all probabilities together: {model.evidence_.expected_error:.2f}" in cell for cell in page.cells)
    cells = page.cells[page.cells.index("Nearest words") :]
    for word in (HOSTILE, "word9"):
        row = cells.index(word)
        other, cosine = model.most_similar(word, 1)[0]
        assert cells[row + 2 : row + 4] == [other, f"{cosine:.2f}"]
    for check in model.evidence_.checks:
        assert check.name in page.cells


def test_figures(model, page):
    figures = page.data
    places = {attrs["id"] for tag, attrs in page.tags if tag == "div" and attrs.get("role") == "img"}
    assert set(figures) == places == {"spectrum", "similar", "held-out"}
    bars, noise = figures["spectrum"]["panels"][0]["marks"]
    np.testing.assert_allclose(bars["y"], model.spectrum_, atol=1e-3)
    assert noise["y"] == pytest.approx(model.noise_level_, abs=1e-3)
    assert figures["held-out"]["panels"][0]["marks"][0]["x"] == [2, 4, 6]
    similar = np.array(figures["similar"]["values"])
    assert 8 < len(similar) == similar.shape[1] <= 16
    np.testing.assert_allclose(np.diag(similar), 1)
    beside = np.diag(similar, 1).mean()
    assert beside > similar.mean() + 0.2  # like words stand together


def test_words_that_tell_most_are_apart(model):
    chosen = choose_telling_words(model, 6)
    places = model.embedding_[chosen] / np.linalg.norm(model.embedding_[chosen], axis=1, keepdims=True)
    assert np.triu(places @ places.T, 1).max() <= 0.8
    weight = (model.embedding_**2).sum(axis=1)
    assert chosen[0] == weight.argmax()


def test_communities(graph, read_page, tmp_path):
    model = ProbabilityMatrix(3, tau=0.5).fit(graph.adjacency)
    table, nodes, _between = summarize_communities(model, graph.adjacency)
    found, labels = table.rows(), model.communities(graph.adjacency)
    assert sum(each["nodes"] for each in found) == 300
    assert [each["community"] for each in found] == [0, 1, 2]
    assert sum(each["by chance"] for each in found) == pytest.approx(1)
    for each in found:
        own = nodes["community"].values == each["community"]
        assert len(set(labels[own])) == 1
        ends = graph.adjacency[own]
        assert each["inside"] == pytest.approx(ends[:, own].sum() / ends.sum())
        assert each["inside"] > 2 * each["by chance"] * 0.8
    page = read_page(write_matrix_report(tmp_path / "r.html", model, graph.adjacency, communities=True))
    figures = page.data
    assert set(figures) == {"spectrum", "between"}
    times = np.array(figures["between"]["values"])
    assert np.diag(times).min() > 1 > times[~np.eye(3, dtype=bool)].max()
    assert "All communities" in page.cells
    assert "Supported" in page.cells
    assert "The data supports these 3 communities." in page.cells


def test_more_communities_than_stand_out(graph, read_page, tmp_path):
    model = ProbabilityMatrix(6, tau=0.5).fit(graph.adjacency)
    page = read_page(write_matrix_report(tmp_path / "r.html", model, graph.adjacency, communities=True))
    assert "Not supported" in page.cells
    assert "The data does not support these 6 communities." in page.cells
    assert "At most 3 communities can be distinguished: try -k 3." in page.cells


def test_nothing_above_the_noise(read_page, tmp_path):
    pairs = np.random.default_rng(0).integers(0, 200, (1000, 2))
    model = ProbabilityMatrix(3).fit_pairs(pairs)
    counts = np.zeros((200, 200))
    np.add.at(counts, tuple(pairs.T), 1)
    page = read_page(write_matrix_report(tmp_path / "r.html", model, counts, near=["5"]))
    assert model.evidence_.grade == "not supported"
    assert "Not supported" in page.cells
    assert any("No direction stands out of the noise" in cell for cell in page.cells)
    assert any("its associations do not stand out" in cell for cell in page.cells)


def test_hostile_text_stays_text(page):
    assert page.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in page.cells
    assert HOSTILE in page.cells
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")
    assert page.addresses == []


def test_what_does_not_agree_is_refused(model, data, tmp_path):
    with pytest.raises(LatentiaError, match="expected as many"):
        write_matrix_report(tmp_path / "r.html", model, data.counts[:9, :9])
    with pytest.raises(LatentiaError, match="'absent' is not in the model's vocabulary"):
        write_matrix_report(tmp_path / "r.html", model, data.counts, near=["absent"])


def test_a_browser_draws_every_figure_and_is_silent(browser, path):
    browser.get(path.as_uri())
    browser.get_log("browser")
    browser.refresh()
    for place in browser.find_elements("css selector", "[role=img]"):
        assert place.find_elements("css selector", "svg.chart"), place.get_attribute("id")
        assert place.size["height"] > 80
    assert browser.title == HOSTILE
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_nothing_is_wider_than_a_phone(browser, path):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(path.as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
