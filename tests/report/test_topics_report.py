"""The report of a topic model: what the page says, that it is safe and complete, and that a browser can use it."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.evidence import Check, Evidence, at_most
from latentia.exceptions import LatentiaError
from latentia.metrics import other_topics, top_words
from latentia.passes import Blocks
from latentia.report import topics as report_topics
from latentia.report import write_topics_report
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

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
    """Of the topics, what the script of the page reads."""
    return parsed.data["topics"]


def _ranked(page, topic, weight, count=20):
    """The words that the script puts first: their texts and probabilities."""
    words, names = topic["words"], page.data["vocabulary"]["text"]
    scores = weight * np.log(words["p"]) + (1 - weight) * np.array(words["lift"])
    order = np.argsort(-scores, kind="stable")[:count]
    return [names[words["at"][i]] for i in order], [words["p"][i] for i in order]


def _order(page):
    """The topics as the table has them."""
    return [int(attrs["data-topic"]) for tag, attrs in page.tags if tag == "tr" and "data-topic" in attrs]


def test_the_page_has_every_topic_with_its_anchors(fitted, data, parsed):
    model, _, vocabulary, *_ = fitted
    assert sorted(_order(parsed)) == [topic["number"] for topic in data] == [0, 1, 2, 3]
    for topic in data:
        assert topic["anchors"] == [vocabulary[model.anchors_[topic["number"]]]]


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.7, 1.0])
def test_words_are_ranked_as_the_metrics_rank_them(fitted, data, parsed, weight):
    model, _, vocabulary, *_ = fitted
    others = other_topics(model.components_, model.prevalence_)
    ranked = top_words(model.components_, 20, word_frequencies=others, relevance=weight)
    for topic, expected, row in zip(data, ranked, model.components_, strict=True):
        names, probabilities = _ranked(parsed, topic, weight)
        assert set(names[:15]) <= {vocabulary[i] for i in expected}  # equal but for ties of rounded numbers
        assert names[0] == vocabulary[expected[0]]
        assert probabilities[0] == pytest.approx(row[expected[0]], rel=1e-3)


def test_words_are_shown_as_the_model_shows_them(fitted, data, parsed):
    model, _, vocabulary, *_ = fitted
    listed = parsed.data["vocabulary"]["text"]
    for topic, expected, own in zip(data, model.word_columns(20), model.components_, strict=True):
        places = {rank: listed[at] for rank, at in zip(topic["words"]["rank"], topic["words"]["at"], strict=True)}
        assert all(places[i] == vocabulary[word] for i, word in enumerate(expected) if own[word] > 0)


def test_the_numbers_of_a_word_say_which_topics_hold_it(fitted, data, parsed):
    model, _, vocabulary, *_ = fitted
    listed = parsed.data["vocabulary"]
    for place in (0, 7, 20):
        column = vocabulary.index(listed["text"][place])
        uses = model.prevalence_ * model.components_[:, column]
        assert listed["total"][place] == pytest.approx(uses.sum(), rel=1e-3)
        assert listed["corpus"][place] == pytest.approx(model.word_frequencies_[column], rel=1e-3)
        holding = {topic["number"] for topic in data if place in topic["words"]["at"]}
        assert set(np.flatnonzero(uses >= 0.051 * uses.sum())) <= holding


def test_the_firmest_topics_come_first_then_the_largest(fitted, tmp_path, read_page):
    model = AnchorTopics(4).fit(fitted[1])
    model.evidence_ = _evidence(0.42, [0.9, 0.1, 0.5, 0.2])
    order = _order(read_page(write_topics_report(tmp_path / "r.html", model, fitted[1])))
    firm = sorted([1, 3], key=lambda k: -model.prevalence_[k])
    assert order == [*firm, 2, 0]


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
    places = report_topics._place_on_plane(1.0 - np.eye(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(places[i] - places[j]) == pytest.approx(1.0)


@pytest.mark.parametrize(("kind", "shares"), [(SpectralLDA, "prevalence_"), (SingleTopicModel, "weights_")])
def test_models_without_anchors_have_no_word_of_them(fitted, tmp_path, kind, shares, read_page):
    model = kind(4).fit(fitted[1])
    page = read_page(write_topics_report(tmp_path / "r.html", model, fitted[1], vocabulary=fitted[2]))
    data = page.data["topics"]
    assert [topic["share"] for topic in data] == list(getattr(model, shares))
    assert not any("nchor" in cell for cell in page.cells)
    assert all(topic["anchors"] is None for topic in data)
    assert "anchors" not in {attrs.get("id") for _, attrs in page.tags}
    kinds = {"Documents with the highest probability of this topic", "Documents with the largest share"}
    assert len(kinds.intersection(page.cells)) == 1


def test_hostile_text_stays_text(parsed, data):
    assert parsed.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in parsed.cells
    assert any(HOSTILE in cell for cell in parsed.cells)  # entities read back as the text that was given
    assert HOSTILE in parsed.data["vocabulary"]["text"]
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
    assert parsed.addresses == []


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
    good = (Check(role, "", 1.0, at_most(2), "", "", role) for role in ("veto", "caution"))
    return Evidence([check, *good], None if errors is None else np.array(errors))


@pytest.mark.parametrize(
    ("evidence", "headline", "grades"),
    [
        (
            _evidence(0.2, [0.1, 0.2, 0.3, 0.2]),
            "With care",
            ["supported"] * 4,
        ),  # whether they are found again was not measured
        (_evidence(0.42, [0.1, 0.2, 0.5, 0.7]), "With care", ["supported", "supported", "with care", "with care"]),
        (
            _evidence(0.5, [0.1, 0.2, 1.0, 0.7]),
            "Partly supported",
            ["supported", "supported", "not supported", "with care"],
        ),
        (_evidence(0.9, [0.9, 0.9, 0.9, 0.9]), "Not supported", ["not supported"] * 4),
        (
            _evidence(np.nan, [0.1, 0.9, 1.3, np.nan]),
            "Partly supported",
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
    assert [topic["grade"]["label"] for topic in page.data["topics"]] == grades
    errors = [topic["error"] for topic in page.data["topics"]]
    if evidence is None or evidence.component_errors is None:
        assert errors == [None] * 4
    else:
        assert errors == [None if np.isnan(e) else e for e in evidence.component_errors]


def test_without_names_words_and_documents_are_numbered(fitted, tmp_path, read_page):
    model, counts, *_ = fitted
    page = read_page(write_topics_report(tmp_path / "r.html", model, Blocks.from_array(counts)))
    data = page.data["topics"]
    assert data[1]["anchors"] == [f"word {model.anchors_[1]}"]
    assert all(re.fullmatch(r"document \d+", d["name"]) and not d["excerpt"] for t in data for d in t["documents"])


def test_one_topic_and_empty_documents(tmp_path, read_page):
    counts = sparse.csr_array(np.vstack([np.eye(6)[[0, 1, 2]] + 1, np.zeros((2, 6))]))
    with pytest.warns(match="left out"):
        model = AnchorTopics(1, min_df=1).fit(counts)
    page = read_page(write_topics_report(tmp_path / "r.html", model, counts))
    (topic,) = page.data["topics"]
    assert [d["name"] for d in topic["documents"]] == ["document 1", "document 2", "document 3"]
    assert topic["similar"] == []
    assert len(topic["words"]["at"]) == 6


def test_an_excerpt_ends_between_words():
    text = "many words " * 200
    excerpt = report_topics._excerpt(text)
    assert excerpt.endswith(("many …", "words …"))
    assert len(excerpt) <= report_topics._EXCERPT_LENGTH + 2
    assert report_topics._excerpt("  a \n b ") == "a b"
    assert len(report_topics._excerpt("x" * 5000)) <= report_topics._EXCERPT_LENGTH + 2


@pytest.mark.parametrize("name", ["vocabulary", "names", "texts"])
def test_lengths_must_agree(fitted, tmp_path, name):
    with pytest.raises(LatentiaError, match=f"{name}: expected"):
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


def test_texts_are_counted_as_the_model_counts_them(tmp_path, read_page):
    texts = [
        f"{'sea ship wave ' * 3}{'storm ' * (i % 3)}" if i % 2 else "corn field plough harvest " * 3 for i in range(60)
    ]
    model = SingleTopicModel(2).fit(texts)
    page = read_page(write_topics_report(tmp_path / "r.html", model, texts))
    assert {"sea", "corn"} <= set(page.data["vocabulary"]["text"])
    for document in (each for topic in page.data["topics"] for each in topic["documents"]):
        text = texts[int(document["name"].removeprefix("document ")) - 1]
        assert document["excerpt"] == " ".join(text.split())
        assert document["words"] == len(text.split())


def test_a_page_of_many_topics_is_small(tmp_path):
    counts = sparse.csr_array(planted.topic_corpus(1500, n_topics=40, n_words=3000, random_state=0).counts)
    model = AnchorTopics(40, n_splits=0, refine=0).fit(counts)
    assert write_topics_report(tmp_path / "r.html", model, counts).stat().st_size < 500_000


def test_the_same_model_gives_the_same_bytes(fitted, tmp_path):
    first, second = (write_topics_report(tmp_path / name, fitted[0], fitted[1]) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser, page):
    browser.get("about:blank")
    browser.get(page.as_uri())
    return browser


def _find(browser, selector):
    return browser.find_element("css selector", selector)


def _shown(browser):
    """Title, words, number of bars and documents of the selected topic."""
    cells = "return [...document.querySelectorAll('#word-numbers td:first-child')].map((cell) => cell.textContent)"
    bars = browser.find_elements("css selector", "#word-bars rect")
    return (
        _find(browser, "#topic-title").text,
        browser.execute_script(cells),
        len(bars),
        _find(browser, "#documents").text,
    )


def _vocabulary(browser):
    return json.loads(_find(browser, "#report-data").get_attribute("textContent"))["vocabulary"]


def _first_words(topic, names, weight):
    p, lift, rank = (np.array(topic["words"][name]) for name in ("p", "lift", "rank"))
    scores = -rank if weight is None else weight * np.log(p) + (1 - weight) * lift
    return [names[topic["words"]["at"][i]] for i in np.argsort(-scores, kind="stable")[:20]]


def _check_shown(browser, topic, weight=None):
    title, words, bars, documents = _shown(browser)
    assert title.startswith(f"Topic {topic['number']}: ")
    assert words == _first_words(topic, _vocabulary(browser)["text"], weight)
    assert bars == 2 * len(words) + 2  # and two in the legend
    assert all(document["name"] in documents for document in topic["documents"])
    (current,) = browser.find_elements("css selector", "#topic-table tr[aria-current]")
    assert current.get_attribute("data-topic") == str(topic["number"])


def test_clicking_rows_selects_topics(opened, data):
    _check_shown(opened, data[int(_find(opened, "#topic-table tbody tr").get_attribute("data-topic"))])
    for number in (3, 1):
        _find(opened, f'#topic-table tr[data-topic="{number}"]').click()
        _check_shown(opened, data[number])
        assert opened.current_url.endswith(f"#topic-{number}")


def test_the_page_is_intact_and_silent(opened):
    assert opened.title == HOSTILE
    assert not opened.find_elements("xpath", "//b[text()='bold']")
    assert HOSTILE in _find(opened, "#topic-table").text
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
    order = [
        int(each.get_attribute("data-topic")) for each in opened.find_elements("css selector", "#topic-table tbody tr")
    ]
    row.send_keys("\ue011")  # to the first row
    opened.switch_to.active_element.send_keys("\ue015")  # down to the next
    opened.switch_to.active_element.send_keys("\ue007")
    _check_shown(opened, data[order[1]])
    tabbed = opened.find_elements("css selector", "#topic-table tbody tr[tabindex='0']")
    assert [each.get_attribute("data-topic") for each in tabbed] == [str(order[1])]  # one stop for the Tab key


def test_a_topic_is_selected_on_the_map(opened, data):
    from selenium.webdriver import ActionChains

    _find(opened, "#map").location_once_scrolled_into_view  # noqa: B018
    ActionChains(opened).move_to_element(_find(opened, "#map circle[data-topic='3']")).click().perform()
    _check_shown(opened, data[3])
    assert _find(opened, ".tip").text.startswith("Topic 3")
    _find(opened, "#map").send_keys("\ue011")  # to the first circle
    assert _find(opened, ".tip").text.startswith("Topic 0")
    _find(opened, "#map").send_keys("\ue007")
    _check_shown(opened, data[0])
    _find(opened, "#map").send_keys("\ue00c")  # Escape
    assert not _find(opened, ".tip").is_displayed()


def _slide(browser, weight):
    script = "const s = arguments[0]; s.value = arguments[1]; s.dispatchEvent(new Event('input'))"
    browser.execute_script(script, _find(browser, "#weight"), weight)


def test_the_slider_orders_the_words_anew(opened, data):
    _find(opened, '#topic-table tr[data-topic="1"]').click()
    names = _vocabulary(opened)["text"]
    for weight in (0, 1, 0.6):
        _slide(opened, weight)
        _check_shown(opened, data[1], weight)
        assert _find(opened, "#weight-value").text == f"{weight:.1f}"
        cell = _find(opened, '#topic-table tr[data-topic="2"] .words').get_attribute("textContent")
        assert cell == ", ".join(_first_words(data[2], names, weight)[:10])
    _find(opened, "#weight").send_keys("\ue014")  # an arrow key moves it, too
    assert _find(opened, "#weight-value").text == "0.7"
    _find(opened, "#together").click()
    _check_shown(opened, data[1])


def test_a_word_is_found_in_its_topics(opened, data):
    names = _vocabulary(opened)["text"]
    holders = [[topic for topic in data if place in topic["words"]["at"]] for place in range(len(names))]
    word, (holder,) = next(
        (name, own) for name, own in zip(names, holders, strict=True) if len(own) == 1 and name[0] == "t"
    )
    box = _find(opened, "#search")
    box.send_keys(word)
    (button,) = opened.find_elements("css selector", "#found button")
    assert button.text.startswith(f"Topic {holder['number']}")
    faded = {each.get_attribute("data-topic") for each in opened.find_elements("css selector", "#topic-table tr.faded")}
    assert faded == {str(topic["number"]) for topic in data} - {str(holder["number"])}
    box.send_keys("\ue007")
    assert _find(opened, "#topic-title").text.startswith(f"Topic {holder['number']}: ")
    box.send_keys("\ue00c")
    assert not opened.find_elements("css selector", "#topic-table tr.faded, #topic-table mark")
    box.send_keys("ter")
    assert len(opened.find_elements("css selector", "#found button")) == 8  # words that begin so
    box.send_keys("nothing like it")
    assert "No similar word" in _find(opened, "#found").text


def test_words_that_are_among_the_first_of_no_topic_are_found(opened, fitted, parsed):
    model, _, vocabulary, *_ = fitted
    listed, rest = parsed.data["vocabulary"]["text"], parsed.data["rest"]
    assert sorted([*listed, *rest["text"]]) == sorted(vocabulary)
    place = next(i for i, held in enumerate(rest["in"]) if held)
    column, (topic, part, *_others) = vocabulary.index(rest["text"][place]), rest["in"][place]
    uses = model.prevalence_ * model.components_[:, column]
    assert topic == uses.argmax()
    assert part == pytest.approx(1000 * uses[topic] / uses.sum(), abs=0.6)
    _find(opened, "#search").send_keys(rest["text"][place])
    assert "not among the first words of any topic" in _find(opened, "#found").text
    assert _find(opened, "#found button").text == f"Topic {topic} {part / 10:.0f}% of its uses"


def test_tables_are_saved(opened, data):
    opened.execute_script("window.saved = []; Charts.save = (name, blob) => saved.push([name, blob])")
    for button in opened.find_elements("css selector", "[data-save]"):
        button.click()
    script = "const done = arguments[0]; Promise.all(saved.map(async ([n, b]) => [n, await b.text()])).then(done)"
    files = {name.rpartition("-")[2]: text for name, text in opened.execute_async_script(script)}
    tables = {name: list(csv.reader(io.StringIO(text.removeprefix("\ufeff")))) for name, text in files.items()}
    assert set(tables) == {"topics.csv", "words.csv", "documents.csv", "evidence.csv"}
    heading, *rows = tables["topics.csv"]
    assert heading == ["topic", "share", "expected error", "grade", "anchor words", "words"]
    assert {int(row[0]): pytest.approx(float(row[1]), rel=1e-3) for row in rows} == {
        t["number"]: t["share"] for t in data
    }
    assert len(tables["words.csv"]) == 1 + 20 * len(data)
    assert {row[1] for row in tables["documents.csv"][1:]} == {d["name"] for t in data for d in t["documents"]}
    assert "expected error" in {row[1] for row in tables["evidence.csv"]}


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
    data = json.loads(_find(browser, "#report-data").get_attribute("textContent"))["topics"]
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
