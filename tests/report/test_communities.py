"""The report of communities: what it says, that it is safe and small, and that a browser shows it."""

import numpy as np
import pytest
from scipy import sparse

from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, LatentiaError
from latentia.moments import Graph, as_graph
from latentia.report import write_communities_report
from latentia.report._graph import force_layout
from latentia.report.communities import PALETTE, communities_of, cut, describe_suggested_number

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
COMPARISON = [{"communities": k, "grade": "partly", "AUC of held-out links": k / 10} for k in (2, 3)]


@pytest.fixture(scope="module")
def graph():
    found = as_graph(planted.mixed_membership_graph(300, 3, alpha0=0.3, degree=25, snr=4).adjacency)
    return Graph(found.adjacency, [HOSTILE, *(f"node{i}" for i in range(1, 300))], False)


@pytest.fixture(scope="module")
def model(graph):
    return MixedMembershipBlockModel(3).fit(graph)


@pytest.fixture(scope="module")
def path(model, graph, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "r.html"
    return write_communities_report(target, model, graph, title=HOSTILE, source=HOSTILE, comparison=COMPARISON)


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The page of a graph that is drawn in part."""
    graph = planted.mixed_membership_graph(3000, 4, alpha0=0.1, degree=30, snr=4).adjacency
    model = MixedMembershipBlockModel(4, n_splits=0, refine=5).fit(graph)
    return write_communities_report(tmp_path_factory.mktemp("large") / "r.html", model, graph)


def _figures(page):
    return page.data


# --- what it says ---------------------------------------------------------------------------------------------------


def test_evidence_and_communities(model, graph, page):
    assert model.evidence_.verdict.partition(". ")[2] in page.cells
    for check in model.evidence_.checks:
        assert check.name in page.cells
    cells = page.cells[page.cells.index("All communities") : page.cells.index("Who belongs where")]
    for one in communities_of(model, graph).rows():
        assert f"{100 * one['share']:.1f}%" in cells
        assert f"{one['expected error']:.2f}" in cells
        assert any(cell.startswith(one["most central"][0][0]) for cell in cells)
    assert any("The spectrum suggests 3 communities, as many as there are" in cell for cell in cells)
    assert "AUC of held-out links" in page.cells


def test_communities(model, graph):
    found = communities_of(model, graph, threshold=0.5).rows()
    shares, degrees = model.memberships_, graph.degrees
    labels = shares.argmax(axis=1)
    for k, one in enumerate(found):
        assert one["size"] == pytest.approx(shares[:, k].sum())
        assert one["nodes"] == (shares[:, k] >= 0.5).sum()
        central = np.argsort(-np.where(shares[:, k] >= 0.5, shares[:, k] * degrees, 0), kind="stable")[:12]
        assert [name for name, *_ in one["most central"]] == [graph.names[i] for i in central]
        own = graph.adjacency[labels == k]
        # Ends of mixed nodes' edges count for the community that explains them, more of them inside than by strongest shares.
        assert own[:, labels == k].sum() / own.sum() - 0.05 < one["inside"] < 1
        assert one["inside"] > 1.4 * one["inside by chance"]
    assert sum(one["inside by chance"] for one in found) == pytest.approx(1)
    assert sum(one["share"] for one in found) == pytest.approx(1)


def test_the_number_that_the_spectrum_suggests(model):
    class Seen:
        memberships_, spectrum_, n_suggested_ = np.ones((5, 3)), np.ones(6), 1

    assert "it shows no communities" in describe_suggested_number(Seen)
    Seen.n_suggested_ = 2
    assert describe_suggested_number(Seen) == "The spectrum suggests 2 communities: 1 direction is above the noise."
    Seen.n_suggested_ = 7
    assert (
        describe_suggested_number(Seen)
        == "The spectrum suggests at least 7 communities: 6 directions are above the noise."
    )
    assert "as many as there are" in describe_suggested_number(model)


def test_the_table_of_nodes(model, graph, page):
    listed = _figures(page)["nodes"]
    assert sorted(row[0] for row in listed) == sorted(cut(name, 80) for name in graph.names)
    assert [row[1] for row in listed] == sorted(graph.degrees.tolist(), reverse=True)
    names = {name: i for i, name in enumerate(graph.names)}
    for name, _, *parts in listed:
        shares = model.memberships_[names[name]]
        assert dict(map(tuple, parts)) == {k: round(float(shares[k]), 3) for k in np.flatnonzero(shares >= 0.1)}


def test_the_drawing(model, graph, page):
    circles = [attrs for tag, attrs in page.tags if tag == "circle" and "fill" in attrs]
    assert len(circles) == 300
    colours = [circle["fill"] for circle in circles]
    assert {colour: colours.count(colour) for colour in PALETTE[:3]} == {
        PALETTE[k]: number for k, number in enumerate(np.bincount(model.labels_))
    }
    for circle in circles:
        x, y, r = (float(circle[name]) for name in ("cx", "cy", "r"))
        assert r <= x <= 1000 - r
        assert r <= y <= 720 - r
    lines = "".join(attrs["d"] for tag, attrs in page.tags if tag == "path" and "stroke-opacity" in attrs)
    assert lines.count("M") == graph.adjacency.nnz // 2
    pies = sum(tag == "path" and attrs.get("fill") in PALETTE and "A" in attrs["d"] for tag, attrs in page.tags)
    assert pies >= (model.memberships_.max(axis=1) < 0.9).sum()


def test_linked_nodes_are_drawn_together(graph):
    truth = planted.mixed_membership_graph(300, 3, alpha0=0.3, degree=25, snr=4).memberships.argmax(axis=1)
    places = force_layout(sparse.csr_array(graph.adjacency, dtype=float))
    np.testing.assert_array_equal(places, force_layout(sparse.csr_array(graph.adjacency, dtype=float)))
    centres = np.array([places[truth == k].mean(axis=0) for k in range(3)])
    spread = np.sqrt(np.mean((places - centres[truth]) ** 2) * 2)
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    assert apart[np.triu_indices(3, 1)].min() > spread


def test_edges_and_directions(model, page):
    figures = page.data
    found = np.array(figures["connectivity"]["values"])
    assert found.shape == (3, 3)
    np.testing.assert_allclose(
        found / found.max(), model.connectivity_ / model.connectivity_.max(), rtol=0.01, atol=1e-3
    )
    bars, noise, *_ = figures["spectrum"]["panels"][0]["marks"]
    np.testing.assert_allclose(bars["y"], model.spectrum_, rtol=1e-3, atol=1e-4 * np.abs(model.spectrum_).max())
    assert noise["y"] == pytest.approx(model.noise_level_, rel=1e-3)
    above = int((np.abs(model.spectrum_) > model.noise_level_).sum())
    assert any(f"{above} of the first {len(model.spectrum_)}" in cell for cell in page.cells)


# --- graphs of other kinds --------------------------------------------------------------------------------------------


def test_of_a_large_graph_a_part_is_shown(large, read_page):
    page = read_page(large)
    assert large.stat().st_size < 500_000
    assert sum(tag == "circle" and "fill" in attrs for tag, attrs in page.tags) == 300
    assert any("The 300 nodes of most edges, of 3,000" in cell for cell in page.cells)
    assert any("drawn evenly from all communities" in cell for cell in page.cells)
    assert len(_figures(page)["nodes"]) == 2000
    assert {attrs.get("class") for tag, attrs in page.tags if tag == "span" and "badge" in attrs.get("class", "")} >= {
        "badge unknown"
    }  # no expected errors


@pytest.mark.filterwarnings("ignore::latentia.exceptions.EvidenceWarning")
def test_directions_weights_and_nodes_without_edges(read_page, tmp_path):
    drawn = planted.mixed_membership_graph(
        200, 2, alpha0=0, degree=20, connectivity=[[1, 5], [1, 1]], directed=True, random_state=1
    ).adjacency.tolil()
    drawn[3], drawn[:, 3] = 0, 0
    table = sparse.csr_array(drawn.tocsr())
    table.eliminate_zeros()
    graph = as_graph(table * 0.5, True)
    with pytest.warns(DroppedDataWarning):
        model = MixedMembershipBlockModel(2).fit(graph)
    page = read_page(write_communities_report(tmp_path / "r.html", model, graph))
    assert any(
        "with directions of 200 nodes" in cell and "1 node without edges is left out" in cell for cell in page.cells
    )
    assert any("edges lead from the row to the column" in cell for cell in page.cells)
    assert sum(tag == "circle" and "fill" in attrs for tag, attrs in page.tags) == 199
    assert _figures(page)["nodes"][-1] == ["3", 0]
    assert "Weight" in page.cells


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The page of 24 communities."""
    blocks = sparse.block_diag([np.ones((6, 6)) - np.eye(6)] * 24, format="csr")
    model = MixedMembershipBlockModel(24, alpha0=0, n_splits=0).fit(blocks)
    return write_communities_report(tmp_path_factory.mktemp("many") / "r.html", model, blocks)


def test_more_communities_than_colours(many, read_page):
    page = read_page(many)
    assert len(set(PALETTE)) == 20
    assert np.shape(page.data["connectivity"]["values"]) == (24, 24)


def test_another_graph_is_refused(model, graph, tmp_path):
    with pytest.raises(LatentiaError, match="The graph has 20 nodes; expected the 300 nodes of the fit"):
        write_communities_report(tmp_path / "r.html", model, graph.adjacency[:20, :20])


# --- safety, and browsers -------------------------------------------------------------------------------------------


def test_hostile_text_stays_text(page):
    assert page.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in page.cells
    assert any(HOSTILE[:20] in cell for cell in page.cells)
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")
    assert page.addresses == []


def test_a_browser_shows_it_and_is_silent(browser, path):
    browser.get(path.as_uri())
    browser.get_log("browser")
    browser.refresh()
    for place in browser.find_elements("css selector", "[role=img]"):
        assert place.size["height"] > 40, place.get_attribute("aria-label")
    assert browser.title == HOSTILE
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_nodes_are_searched_and_sorted(browser, path, model, graph):
    browser.get(path.as_uri())

    def shown(column):
        cells = f"document.querySelectorAll('#node-table td:nth-child({column})')"
        return browser.execute_script(f"return [...{cells}].map(cell => cell.innerText.trim())")

    assert len(shown(1)) == 50
    browser.find_element("css selector", "#more button").click()
    assert len(shown(1)) == 100
    search = browser.find_element("id", "search")
    search.send_keys("NODE29")
    assert set(shown(1)) == {"node29", *(f"node{i}" for i in range(290, 300))}
    browser.find_element("css selector", "#node-table th:nth-child(1) button").click()
    assert shown(1) == ["node29", *(f"node{i}" for i in range(290, 300))]
    browser.find_element("css selector", "#node-table th:nth-child(2) button").click()
    degrees = [int(cell) for cell in shown(2)]
    assert degrees == sorted(degrees, reverse=True)
    browser.execute_script("only.value = '1'; only.dispatchEvent(new Event('change'))")
    expected = {f"node{i}" for i in [29, *range(290, 300)] if model.memberships_[i, 1] >= 0.1}
    assert set(shown(1)) == expected


def test_nothing_is_wider_than_a_phone(browser, path, many):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    widths = []
    for page in (path, many):
        browser.get(page.as_uri())
        widths.append(browser.execute_script("return document.documentElement.scrollWidth"))
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert max(widths) <= 400
