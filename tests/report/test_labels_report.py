"""The report of a multi-label classifier: what it says, that it is safe, and that a browser shows it."""

import re

import numpy as np
import pytest
from scipy import sparse

from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.passes import Blocks
from latentia.report import labels as report_labels
from latentia.report import write_labels_report
from latentia.report.labels import Names

HOSTILE = "</script><b>bold</b><script>document.title='broken'</script>"
LABELS = [HOSTILE, *(f"tag {i}" for i in range(1, 30))]
WORDS = [HOSTILE, *(f"w{i}" for i in range(1, 300))]
MEASURES = [
    {"name": "precision@1", "value": 0.64, "plain": 0.14, "rows": 2515, "meaning": HOSTILE},
    {"name": "nDCG@1", "value": float("nan"), "plain": float("nan"), "rows": 0, "meaning": ""},
]
FACTS = [("rows learned from", "4,880"), (HOSTILE, HOSTILE)]


@pytest.fixture(scope="module")
def corpus():
    return planted.labelled_corpus(2500, n_topics=5, n_words=300, n_labels=30, features=40)


@pytest.fixture(scope="module")
def model(corpus):
    return MomentMultiLabelClassifier(5).fit(corpus.X[:2000], corpus.Y[:2000])


@pytest.fixture(scope="module")
def rows(corpus):
    """New rows."""
    return corpus.X[2000:], corpus.Y[2000:]


@pytest.fixture(scope="module")
def path(model, rows, tmp_path_factory):
    return write_labels_report(
        tmp_path_factory.mktemp("report") / "r.html", model, *rows, vocabulary=WORDS, label_names=LABELS,
        measures=MEASURES, facts=FACTS, title=HOSTILE, source=HOSTILE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(path, read_page):
    return read_page(path)


def test_every_topic_has_its_error_and_grade(model, page):
    for one in model.evidence_.components:
        assert f"{one.expected_error:.2f}" in page.cells
        assert one.grade in page.cells


def test_the_evidence_is_shown(model, page):
    names = [check.name for check in model.evidence_.checks + model.evidence_.topics.checks]
    assert {"better than label frequencies", "documents against topics", "condition of M2"} <= set(names)
    for name in names:
        assert name in page.cells


def test_words_and_labels_of_topics(model, corpus, page):
    names = [LABELS[label] for label in np.argsort(-model.label_probabilities_[1], kind="stable")[:5]]
    assert all(name in page.cells or name + "," in page.cells for name in names)
    lifts = model.word_probabilities_ / (model.weights_ @ model.word_probabilities_)
    best = int((model.word_probabilities_[1] * np.log(np.maximum(lifts[1], 1e-12))).argmax())
    assert f"{WORDS[best]}," in page.cells


def test_metrics_and_facts(page):
    for text in ("0.640", "0.140", "2,515", "not defined", "4,880", "rows learned from"):
        assert text in page.cells
    assert any("The first predicted label is right for 64% of the test rows" in cell for cell in page.cells)


def test_examples_are_rows_with_their_labels_predictions_and_words(model, rows):
    X, Y = rows
    words, labels = Names("word", WORDS), Names("label", LABELS)
    examples = report_labels._examples(model, X, Y, words, labels)
    assert len(examples) == 10
    assert np.all(np.diff([e.number for e in examples]) > 20)
    for example in examples:
        row = example.number - 1
        own = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        assert sorted(name for name, _ in example.labels) == sorted(LABELS[label] for label in own)
        top = model.top_labels(X[[row]], 3)[0][0]
        assert [name for name, *_ in example.predictions] == [LABELS[label] for label in top]
        assert [hit for _, _, hit, _ in example.predictions] == [label in own for label in top]
        present = {WORDS[v] for v in X.indices[X.indptr[row] : X.indptr[row + 1]]}
        for _, probability, _, behind in example.predictions:
            assert 0 < probability < 1
            assert set(behind) <= present
    small = Blocks.from_array(X, Y, block_rows=37)
    assert report_labels._examples(model, small, None, words, labels) == examples


def test_rows_without_labels_or_words_are_no_examples(model, rows):
    X, Y = rows
    empty = sparse.csr_array(Y.shape, dtype=np.int8)
    names = Names("word", WORDS), Names("label", LABELS)
    assert report_labels._examples(model, X, empty, *names) == []
    assert report_labels._examples(model, X, None, *names) == []
    one = sparse.vstack([empty[:3], Y[[np.flatnonzero(np.diff(Y.indptr))[0]]]], format="csr")
    assert [e.number for e in report_labels._examples(model, X[:4], one, *names)] == [4]


def test_the_headline_is_on_the_predictions_and_topics_have_a_box_of_their_own(model, page):
    sentence, own = (one.verdict.partition(". ")[2] for one in (model.evidence_, model.evidence_.topics))
    text = " ".join(page.cells)
    assert 0 <= text.find(sentence) < text.find("All topics") < text.find(own)
    assert "first label is right for" in sentence
    assert "Labels are predicted without the topics" not in text


def test_the_map_holds_correlations_of_labels_in_rows(rows, page):
    figure = page.data["label-space"]
    z, names = np.array(figure["values"]), figure["columns"]
    order = [0 if "script" in name else int(name.removeprefix("tag ")) for name in names]
    expected = np.corrcoef(rows[1].toarray().T)[np.ix_(order, order)]
    np.testing.assert_allclose(z, np.maximum(expected, 0), atol=1e-3)
    n = len(order)
    beside = np.mean([expected[i, i + 1] for i in range(n - 1)])
    assert beside > 0.01 + expected[~np.eye(n, dtype=bool)].mean()


def test_labels_that_are_never_together_do_not_go_together(corpus, read_page, tmp_path):
    """Not even where both are labels of the same topic."""
    X, tags = corpus.X[:600], np.random.default_rng(0).integers(0, 2, 600) + 2 * (corpus.topics[:600] > 1)
    Y = np.eye(4, dtype=int)[tags]
    model = MomentMultiLabelClassifier(3).fit(X, Y)
    for given in ((X, Y), (Blocks.from_array(X, sparse.csr_array(Y), block_rows=100), None)):
        page = read_page(write_labels_report(tmp_path / "r.html", model, *given))
        assert list(page.data) == ["labels"]
    twice = np.hstack([Y, Y[:, :1]])
    model = MomentMultiLabelClassifier(3).fit(X, twice)
    figure = read_page(write_labels_report(tmp_path / "r.html", model, label_sets=twice)).data["label-space"]
    values = np.array(figure["values"])
    assert values.sum() == pytest.approx(7, abs=0.01)  # themselves, and one label and its copy
    assert (values > 0.99).sum() == 7
    hover = [text for line in figure["hover"] for text in line]
    assert sum(text.endswith("no document has both") for text in hover) == 25 - 7


def test_hostile_text_stays_text(page):
    assert page.kinds == [None, "report-data", None, None]  # colours, data, drawing, the page's own
    assert "bold" not in page.cells
    assert HOSTILE in page.cells


def test_the_page_loads_nothing_from_the_network(page):
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "href", "action", "data", "poster"):
            assert (attrs.get(name) or "#").startswith("#")
    assert page.addresses == []


def test_the_model_alone_is_enough(model, read_page, tmp_path):
    page = read_page(write_labels_report(tmp_path / "r.html", model))
    assert "label 3" in " ".join(page.cells)
    ids = {attrs.get("id") for _, attrs in page.tags}
    assert ids & {"examples", "measures", "facts", "space"} == set()  # rows tell which labels go together
    assert "topics" in ids


def test_two_labels_have_no_map(corpus, read_page, tmp_path):
    model = MomentMultiLabelClassifier(1).fit(corpus.X[:500], corpus.Y[:500, :2])
    page = read_page(write_labels_report(tmp_path / "r.html", model, corpus.X[:50], corpus.Y[:50, :2]))
    assert list(page.data) == ["labels"]


def test_the_bayes_head(corpus, read_page, tmp_path):
    model = MomentMultiLabelClassifier(5, head="bayes", n_splits=0).fit(corpus.X, corpus.Y)
    text = " ".join(read_page(write_labels_report(tmp_path / "r.html", model, corpus.X[:50], corpus.Y[:50])).cells)
    assert "The topics show the subjects of the documents and predict their labels" in text
    assert "without the topics" not in text
    assert "Not measured How far to trust" in text
    assert "Not supported" not in text.partition("How to read this")[0]


def test_without_topics_there_are_none_on_the_page(corpus, read_page, tmp_path):
    model = MomentMultiLabelClassifier(5, topics=False).fit(corpus.X, corpus.Y)
    page = read_page(write_labels_report(tmp_path / "r.html", model, corpus.X[:50], corpus.Y[:50]))
    text = " ".join(page.cells)
    ids = {attrs.get("id") for _, attrs in page.tags}
    assert "topics" not in ids
    assert {"examples", "space"} <= ids
    assert "no topics were asked for" in text
    assert "better than label frequencies" in page.cells
    assert "about three in ten labels with a probability of 30% are right" in text
    assert model.evidence_["rare labels"].measured in text or model.evidence_["rare labels"].measured.startswith("0 ")


def test_a_verdict_speaks_of_predictions_where_these_do_not_use_the_topics(model, corpus):
    assert report_labels._sentence(model, []) == ""
    assert report_labels._sentence(model, MEASURES).endswith("is right for 64% of the test rows.")
    bayes = MomentMultiLabelClassifier(5, head="bayes").fit(corpus.X, corpus.Y)
    said = f"Expected error of a topic: {np.mean(bayes.evidence_.component_errors):.2f} on average"
    assert said in report_labels._sentence(bayes, MEASURES)


def test_names_count_as_the_source_counts():
    assert [Names("label")[3], Names("label", None, 1)[3], Names("label", ["a"])[0]] == ["label 3", "label 4", "a"]
    assert [Names("label").short(3), Names("label", None, 1).short(3), Names("label", ["a"]).short(0)] == [
        "3",
        "4",
        "a",
    ]


def test_names_and_parts_must_agree(model, rows, tmp_path):
    with pytest.raises(LatentiaError, match="2 names of words; expected 300"):
        write_labels_report(tmp_path / "r.html", model, vocabulary=["a", "b"])
    with pytest.raises(LatentiaError, match="2 names of labels; expected 30"):
        write_labels_report(tmp_path / "r.html", model, label_names=["a", "b"])
    with pytest.raises(LatentiaError, match="expected blocks of both"):
        write_labels_report(tmp_path / "r.html", model, Blocks.from_array(rows[0]), rows[1])
    assert list(tmp_path.iterdir()) == []


def test_the_same_model_gives_the_same_bytes(model, rows, tmp_path):
    first, second = (write_labels_report(tmp_path / name, model, *rows) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()


def test_many_labels_show_the_most_frequent(read_page, tmp_path):
    corpus = planted.labelled_corpus(1500, n_topics=4, n_words=200, n_labels=3000, labels=20.0, features=40)
    model = MomentMultiLabelClassifier(4).fit(corpus.X, corpus.Y)
    page = read_page(write_labels_report(tmp_path / "r.html", model, corpus.X[:40], corpus.Y[:40]))
    names = page.data["label-space"]["columns"]
    assert len(names) == 40
    frequent = np.argsort(-model.label_frequencies_, kind="stable")[:40]
    assert {int(name.removeprefix("label ")) for name in names} == set(frequent.tolist())
    assert any(re.fullmatch(r"and \d+ more", cell) for cell in page.cells)


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_a_browser_draws_the_map_and_is_silent(browser, path):
    browser.get(path.as_uri())
    browser.get_log("browser")
    browser.refresh()
    places = browser.find_elements("css selector", "[role=img]")
    assert len(places) == 2
    for place in places:
        assert place.find_elements("css selector", "svg.chart")
        assert place.size["height"] > 80
    assert browser.title == HOSTILE
    assert not browser.find_elements("xpath", "//b[text()='bold']")
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_nothing_is_wider_than_a_phone(browser, path):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(path.as_uri())
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 400
