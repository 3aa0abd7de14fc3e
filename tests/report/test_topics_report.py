"""The report of a topic model: what the page says, that it is safe and complete, and that a browser can use it."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.evidence import Check, Evidence, at_most
from latentia.exceptions import LatentiaError, MissingExtraError
from latentia.passes import Blocks
from latentia.report import topics as report_topics
from latentia.report import write_topics_report
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

pytest.importorskip("jinja2", reason="the report needs jinja2")
pytest.importorskip("plotly", reason="the report needs plotly")

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def fitted():
    """A model of a small planted corpus, its counts, vocabulary, document names and texts; some of them hostile."""
    counts = sparse.csr_array(planted.topic_corpus(400, n_topics=4, n_words=150, random_state=0).counts)
    vocabulary = [f"term{i}" for i in range(counts.shape[1])]
    model = AnchorTopics(4).fit(counts)
    vocabulary[int(model.components_[0].argmax())] = HOSTILE
    names = [f"letter {i}" for i in range(counts.shape[0])]
    texts = [f"{HOSTILE} text of letter {i}" for i in range(counts.shape[0])]
    return model, counts, vocabulary, names, texts


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory):
    """The written file, in a folder of its own."""
    model, counts, vocabulary, names, texts = fitted
    path = tmp_path_factory.mktemp("report") / "report.html"
    comparison = [{"topics": k, "expected_error": k / 10, "grade": "supported"} for k in (3, 4)]
    return write_topics_report(
        path, model, counts, vocabulary=vocabulary, names=names, texts=texts, title=HOSTILE, source=f"the {HOSTILE}",
        comparison=comparison,
    )  # fmt: skip


@pytest.fixture(scope="module")
def parsed(page, read_page):
    return read_page(page)


@pytest.fixture(scope="module")
def data(parsed):
    """What the script of the page reads."""
    return json.loads(parsed.scripts[0])


def test_the_page_has_every_topic_with_its_words(fitted, data, parsed):
    model, _, vocabulary, *_ = fitted
    assert [int(a["data-topic"]) for tag, a in parsed.tags if tag == "tr" and "data-topic" in a] == [0, 1, 2, 3]
    for topic, row in zip(data, model.components_, strict=True):
        expected = [vocabulary[i] for i in np.argsort(-row)[:20]]
        assert {word["text"] for word in topic["words"]} == set(expected)
        assert topic["words"][0]["topic"] == pytest.approx(row.max())
        anchor = vocabulary[model.anchors_[topic["number"]]]
        assert topic["anchors"] == [anchor]
        assert [word["text"] for word in topic["words"] if word["anchor"]] in ([anchor], [])


def test_the_documents_of_a_topic_have_its_largest_shares(fitted, data):
    model, counts, _, names, _ = fitted
    shares = model.transform(counts)
    for topic in data:
        listed = [document["share"] for document in topic["documents"]]
        assert listed == sorted(shares[:, topic["number"]], reverse=True)[:5]
        first = topic["documents"][0]
        row = names.index(first["name"])
        assert first["words"] == counts[[row]].sum()
        assert first["excerpt"].endswith(f"text of letter {row}")


def test_the_most_similar_topics_come_first_and_the_map_has_places(fitted, data):
    model = fitted[0]
    for topic in data:
        k = topic["number"]
        distances = np.abs(model.components_ - model.components_[k]).sum(axis=1)
        order = [i for i in np.argsort(distances) if i != k]
        assert [number for number, _ in topic["similar"]] == order
        assert topic["similar"][0][1] == pytest.approx(1 - distances[order[0]] / 2)
    assert len({(topic["x"], topic["y"]) for topic in data}) == 4


def test_three_equidistant_points_keep_their_distances_on_the_map():
    places = report_topics._places(1.0 - np.eye(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(places[i] - places[j]) == pytest.approx(1.0)


@pytest.mark.parametrize(("kind", "shares"), [(SpectralLDA, "prevalence_"), (SingleTopicModel, "weights_")])
def test_models_without_anchors_have_no_word_of_them(fitted, tmp_path, kind, shares, read_page):
    model = kind(4).fit(fitted[1])
    page = read_page(write_topics_report(tmp_path / "r.html", model, fitted[1], vocabulary=fitted[2]))
    data = json.loads(page.scripts[0])
    assert [topic["share"] for topic in data] == list(getattr(model, shares))
    assert not any("nchor" in cell for cell in page.cells)
    assert all(topic["anchors"] is None and not any(word["anchor"] for word in topic["words"]) for topic in data)
    assert "anchors" not in {attrs.get("id") for _, attrs in page.tags}
    kinds = {"Documents most surely of this topic", "Documents with the largest share"}
    assert len(kinds.intersection(page.cells)) == 1


def test_hostile_text_stays_text(parsed, data):
    assert len(parsed.scripts) == 3  # data, plotting library, the page's own
    assert "bold" not in parsed.cells
    assert any(HOSTILE in cell for cell in parsed.cells)  # entities read back as the text that was given
    assert HOSTILE in {word["text"] for word in data[0]["words"]}
    assert data[0]["documents"][0]["excerpt"].startswith(HOSTILE)


def test_the_page_loads_nothing_from_the_network(page, parsed):
    for tag, attrs in parsed.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")
    policy = next(attrs["content"] for tag, attrs in parsed.tags if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    styles = "".join(re.findall(r"<style>.*?</style>", page.read_text("utf-8"), flags=re.DOTALL))
    assert "url(" not in styles
    assert "@import" not in styles
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest", parsed.scripts[2])


def test_evidence_and_comparison_are_shown(fitted, parsed):
    assert {"map", "topic-table", "word-bars", "topic-title", "documents", "evidence-table", "comparison-table"} <= {
        attrs.get("id") for _, attrs in parsed.tags
    }
    for check in fitted[0].evidence_.checks:
        assert check.name in parsed.cells
    assert "expected error" in parsed.cells
    assert sum(attrs.get("class") == "current" for tag, attrs in parsed.tags if tag == "tr") == 1


def _evidence(error, errors):
    check = Check("expected error", "", error, at_most(0.4), "", "", "verdict")
    return Evidence([check], None if errors is None else np.array(errors))


@pytest.mark.parametrize(
    ("evidence", "headline", "grades"),
    [
        (_evidence(0.2, [0.1, 0.2, 0.3, 0.2]), "Supported", ["supported"] * 4),
        (_evidence(0.42, [0.1, 0.2, 0.5, 0.9]), "With care", ["supported", "supported", "with care", "not supported"]),
        (
            _evidence(0.5, [0.1, 0.2, 1.0, 0.7]),
            "Partly supported",
            ["supported", "supported", "not supported", "with care"],
        ),
        (_evidence(0.9, [0.9, 0.9, 0.9, 0.9]), "Not supported", ["not supported"] * 4),
        (
            _evidence(np.nan, [0.1, 0.9, 1.3, np.nan]),
            "Not supported",
            ["supported", *["not supported"] * 2, "not measured"],
        ),
        (_evidence(None, None), "Not supported", ["not measured"] * 4),
        (None, "Not supported", ["not measured"] * 4),
    ],
)
def test_the_verdict_and_the_marks_follow_the_evidence(fitted, tmp_path, evidence, headline, grades, read_page):
    model = AnchorTopics(4).fit(fitted[1])
    model.evidence_ = evidence
    page = read_page(write_topics_report(tmp_path / "r.html", model, fitted[1]))
    assert headline in page.cells
    if evidence is not None:
        assert evidence.verdict.partition(". ")[2] in page.cells
        assert evidence.advice in page.cells
    assert [topic["grade"]["label"] for topic in json.loads(page.scripts[0])] == grades
    errors = [topic["error"] for topic in json.loads(page.scripts[0])]
    if evidence is None or evidence.component_errors is None:
        assert errors == [None] * 4
    else:
        assert errors == [None if np.isnan(e) else e for e in evidence.component_errors]


def test_without_names_words_and_documents_are_numbered(fitted, tmp_path, read_page):
    model, counts, *_ = fitted
    page = read_page(write_topics_report(tmp_path / "r.html", model, Blocks.from_array(counts)))
    data = json.loads(page.scripts[0])
    assert data[1]["anchors"] == [f"word {model.anchors_[1]}"]
    assert all(re.fullmatch(r"document \d+", d["name"]) and not d["excerpt"] for t in data for d in t["documents"])


def test_one_topic_and_empty_documents(tmp_path, read_page):
    counts = sparse.csr_array(np.vstack([np.eye(6)[[0, 1, 2]] + 1, np.zeros((2, 6))]))
    with pytest.warns(match="left out"):
        model = AnchorTopics(1, min_df=1).fit(counts)
    page = read_page(write_topics_report(tmp_path / "r.html", model, counts))
    (topic,) = json.loads(page.scripts[0])
    assert [d["name"] for d in topic["documents"]] == ["document 1", "document 2", "document 3"]
    assert topic["similar"] == []
    assert len(topic["words"]) == 6


def test_an_excerpt_ends_between_words():
    text = "many words " * 200
    excerpt = report_topics._excerpt(text)
    assert excerpt.endswith(("many …", "words …"))
    assert len(excerpt) <= report_topics._EXCERPT + 2
    assert report_topics._excerpt("  a \n b ") == "a b"
    assert len(report_topics._excerpt("x" * 5000)) <= report_topics._EXCERPT + 2


@pytest.mark.parametrize("name", ["vocabulary", "names", "texts"])
def test_lengths_must_agree(fitted, tmp_path, name):
    with pytest.raises(LatentiaError, match=f"{name} has 2 entries"):
        write_topics_report(tmp_path / "r.html", fitted[0], fitted[1], **{name: ["a", "b"]})
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing_and_keeps_what_was_there(fitted, tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(28, "No space left on device")

    target = tmp_path / "report.html"
    target.write_text("before")
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(LatentiaError, match="No space left"):
        write_topics_report(target, fitted[0], fitted[1])
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "before"


def test_a_missing_folder_is_named(fitted, tmp_path):
    with pytest.raises(LatentiaError, match="cannot be written"):
        write_topics_report(tmp_path / "nowhere" / "report.html", fitted[0], fitted[1])


def test_the_same_model_gives_the_same_bytes(fitted, tmp_path):
    first, second = (write_topics_report(tmp_path / name, fitted[0], fitted[1]) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_a_missing_package_names_its_extra(fitted, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.offline", None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*latentia\[report\]"):
        write_topics_report(tmp_path / "r.html", fitted[0], fitted[1])
    assert list(tmp_path.iterdir()) == []


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, page):
    browser.get("about:blank")
    browser.get(page.as_uri())
    return browser


def _find(browser, selector):
    return browser.find_element("css selector", selector)


def _shown(browser):
    """Title, bars and documents of the selected topic."""
    bars = browser.execute_script("return document.getElementById('word-bars').data[0].x")
    return _find(browser, "#topic-title").text, bars, _find(browser, "#documents").text


def _check_shown(browser, topic):
    title, bars, documents = _shown(browser)
    assert title.startswith(f"Topic {topic['number']}: ")
    assert bars == [word["topic"] for word in topic["words"]]
    assert all(document["name"] in documents for document in topic["documents"])
    (current,) = browser.find_elements("css selector", "#topic-table tr[aria-current]")
    assert current.get_attribute("data-topic") == str(topic["number"])


def test_clicking_rows_selects_topics(opened, data):
    _check_shown(opened, data[0])
    for number in (3, 1):
        _find(opened, f'#topic-table tr[data-topic="{number}"]').click()
        _check_shown(opened, data[number])
        assert opened.current_url.endswith(f"#topic-{number}")


def test_the_page_is_intact_and_silent(opened):
    assert opened.title == HOSTILE
    assert not opened.find_elements("xpath", "//b[text()='bold']")
    assert HOSTILE in _find(opened, "#topic-title").text
    assert HOSTILE in _find(opened, "#documents").text
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry["message"] for entry in opened.get_log("browser")] == []


def test_a_topic_is_selected_by_the_address(browser, page, data):
    browser.get("about:blank")
    browser.get(page.as_uri() + "#topic-2")
    _check_shown(browser, data[2])
    browser.execute_script("location.hash = '#topic-1'")
    browser.execute_async_script("setTimeout(arguments[0], 100)")
    _check_shown(browser, data[1])
    browser.execute_script("location.hash = '#topic-99'")
    browser.execute_async_script("setTimeout(arguments[0], 100)")
    _check_shown(browser, data[1])


def test_a_topic_is_selected_by_keys(opened, data):
    row = _find(opened, '#topic-table tr[data-topic="2"]')
    row.send_keys("\ue007")  # Enter
    _check_shown(opened, data[2])
    row.send_keys("\ue015")  # down to the next row
    opened.switch_to.active_element.send_keys("\ue007")
    _check_shown(opened, data[3])


def test_a_topic_is_selected_on_the_map(opened, data):
    from selenium.webdriver import ActionChains

    _find(opened, "#map").location_once_scrolled_into_view  # noqa: B018
    circles = opened.find_elements("css selector", "#map .scatterlayer .points path")
    ActionChains(opened).move_to_element(circles[3]).click().perform()
    opened.execute_async_script("setTimeout(arguments[0], 400)")
    _check_shown(opened, data[3])


def test_headings_sort_the_table(opened, data):
    def order():
        rows = opened.find_elements("css selector", "#topic-table tbody tr")
        return [int(row.get_attribute("data-topic")) for row in rows]

    heading = opened.find_elements("css selector", "#topic-table th button")[1]
    heading.click()
    assert order() == [topic["number"] for topic in sorted(data, key=lambda topic: topic["share"])]
    heading.click()
    assert order() == [topic["number"] for topic in sorted(data, key=lambda topic: -topic["share"])]
    assert heading.find_element("xpath", "..").get_attribute("aria-sort") == "descending"


def test_a_page_without_anchors_works(browser, fitted, tmp_path):
    path = write_topics_report(tmp_path / "r.html", SpectralLDA(4).fit(fitted[1]), fitted[1])
    browser.get(path.as_uri())
    data = json.loads(_find(browser, "#report-data").get_attribute("textContent"))
    _find(browser, '#topic-table tr[data-topic="2"]').click()
    _check_shown(browser, data[2])
    heading = browser.find_elements("css selector", "#topic-table th button")[-1]
    heading.click()
    rows = browser.find_elements("css selector", "#topic-table tbody tr")
    order = [int(row.get_attribute("data-topic")) for row in rows]
    assert order == [topic["number"] for topic in sorted(data, key=lambda topic: topic["error"])]
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_nothing_is_wider_than_a_phone(opened):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    opened.refresh()
    width = opened.execute_script("return document.documentElement.scrollWidth")
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
