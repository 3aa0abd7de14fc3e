"""The report method of every estimator: with the data of its fit, and from the model alone."""

import inspect
import pickle
import re
import warnings
from functools import cache

import numpy as np
import pytest
from contract import CASES, clusters, findings, graph
from sklearn.exceptions import NotFittedError

import latentia
from latentia import report
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.families import FAMILIES, family_of
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.report import parts as parts
from latentia.report import write_any_report
from latentia.report.communities import _Expected
from latentia.report.model import SUMMARIES
from latentia.report.noisy_or import _expected_frequencies
from latentia.topics import AnchorTopics

COMPLETE = ("MomentMultiLabelClassifier", "ProbabilityMatrix")  # what their pages show by default is in the model

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")

ALONE, NO_ROWS = "This page was written from the model alone", "This page shows the model alone"


@cache
def fitted(name):
    return next(case for case in CASES if case.name == name).shared()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Path of the page of each estimator, with its data or without, written when first asked for."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def page(name, with_data):
        case = next(case for case in CASES if case.name == name)
        data = case.data() if with_data else {}
        return fitted(name).report(folder / f"{name}-{with_data}.html", **data)

    return page


def notes(page):
    return [cell for cell in page.cells if cell.startswith((ALONE, NO_ROWS))]


@pytest.mark.parametrize("name", [case.name for case in CASES])
@pytest.mark.parametrize("with_data", [False, True], ids=["alone", "with data"])
def test_every_page_has_the_verdict_and_says_what_it_lacks(name, with_data, pages, read_page):
    page, evidence = read_page(pages(name, with_data)), fitted(name).evidence_
    assert evidence.verdict.partition(". ")[2] in page.cells
    assert evidence.advice in page.cells
    assert parts.mark_of(evidence.grade).label.capitalize() in page.cells
    for check in evidence.checks:
        assert check.name in page.cells
    cls = name.partition("(")[0]
    if cls in family_of(cls).plain:
        assert any(note.startswith(NO_ROWS) for note in notes(page))
    elif cls in COMPLETE:
        assert not notes(page)
    else:
        assert len(notes(page)) == (not with_data)


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_every_figure_has_its_place(name, pages, read_page):
    for with_data in (False, True):
        page = read_page(pages(name, with_data))
        places = {attrs.get("id") for _, attrs in page.tags}
        drawn = [key for key, value in page.data.items() if isinstance(value, dict) and "kind" in value]
        assert set(drawn) <= places


def test_every_public_estimator_has_a_page_or_the_common_one():
    assert set(SUMMARIES) == {family.page for family in FAMILIES}
    assert {name for family in FAMILIES for name in family.plain} < {case.name for case in CASES}


def test_a_browser_shows_every_page_without_complaint(pages, browser):
    browser.get_log("browser")
    for case in CASES:
        browser.get(pages(case.name, False).as_uri())
        assert browser.get_log("browser") == [], case.name


# --- what is shown of the data --------------------------------------------------------------------------------------


def test_column_names_come_from_a_data_frame_or_from_the_fit(tmp_path, read_page):
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    frame = pd.DataFrame(clusters().X, columns=[f"measure {i}" for i in range(8)])
    model = SphericalGaussianMixture(4).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in ((), (frame,)):
            assert "measure 3" in read_page(model.report(tmp_path / "page.html", *data)).cells
    with pytest.raises(LatentiaError, match="same order"):
        model.report(tmp_path / "page.html", frame[frame.columns[::-1]])


def test_views_stand_side_by_side(tmp_path, read_page):
    data = planted.product_mixture(2000, n_components=2, n_features=9)
    views = [data.X[:, :3], data.X[:, 3:6], data.X[:, 6:]]
    model = MultiViewMixture(2, distribution="bernoulli").fit(views)
    page = read_page(model.report(tmp_path / "page.html", views))
    assert any(cell.endswith("in 2,000 rows of 9 columns.") for cell in page.cells)
    assert "plane" in page.data
    moments_alone = MultiViewMixture(2).fit(views)  # predicts nothing, and still has a page
    assert "plane" not in read_page(moments_alone.report(tmp_path / "page.html", views)).data


def test_texts_are_counted_and_their_beginnings_shown(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array([["apple", "pear", "plum", "cherry", "grape"], ["iron", "copper", "silver", "tin", "gold"]])
    texts = [" ".join(rng.choice(words[i % 2], 30)) for i in range(200)]
    model = AnchorTopics(2).fit(texts)
    assert texts[0][:40] not in model.report(tmp_path / "alone.html").read_text("utf-8")
    page = model.report(tmp_path / "page.html", texts, title="Fruit and metal").read_text("utf-8")
    assert any(text[:100] in page for text in texts)
    assert "<title>Fruit and metal</title>" in page


def test_numbers_that_were_compared_are_on_the_page(tmp_path, read_page):
    model = SphericalGaussianMixture([2, 4]).fit(clusters().X)
    page = read_page(model.report(tmp_path / "page.html"))
    assert "comparison-table" in [attrs.get("id") for _, attrs in page.tags]
    assert "components" in page.cells
    marked = [attrs for tag, attrs in page.tags if tag == "tr" and attrs.get("aria-current")]
    assert len(marked) == 1


def test_a_derived_class_and_a_loaded_model_have_the_same_page(tmp_path):
    class Own(TensorICA):
        pass

    X = planted.independent_sources(3000, n_components=3).X
    model = TensorICA(3).fit(X)
    first = model.report(tmp_path / "first.html", X).read_bytes()
    again = latentia.load(latentia.save(model, tmp_path / "model")).report(tmp_path / "again.html", X).read_bytes()
    assert first == again == Own(3).fit(X).report(tmp_path / "own.html", X).read_bytes()


# --- what the model expects, where there is no data -----------------------------------------------------------------


def test_expected_frequencies_are_near_those_of_the_rows():
    model = fitted("NoisyOr")
    np.testing.assert_allclose(_expected_frequencies(model), np.asarray(findings().X.mean(axis=0)).ravel(), atol=0.03)


def test_expected_degrees_add_up_to_the_edges():
    found, degrees = _Expected(fitted("MixedMembershipBlockModel")), np.asarray(graph().adjacency.sum(axis=1)).ravel()
    assert found.degrees.sum() == pytest.approx(degrees.sum(), rel=0.02)
    assert found.n_edges == graph().adjacency.nnz // 2


def test_means_are_as_far_apart_with_and_without_the_rows(pages, read_page):
    alone, with_rows = (
        np.array(read_page(pages("SphericalGaussianMixture", given)).data["means"]["values"]) for given in (False, True)
    )
    np.testing.assert_allclose(alone, with_rows, atol=0.1)


# --- errors ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_shown_is_said(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(NotFittedError):
        TensorICA().report(path)
    with pytest.raises(LatentiaError, match="second view"):
        fitted("ContrastivePCA").report(path, np.ones((5, 5)))
    with pytest.raises(LatentiaError, match="Expected counts"):
        fitted("ProbabilityMatrix").report(path, communities=True)
    with pytest.raises(LatentiaError, match="positions in X"):
        fitted("NoisyOr").report(path, rows=[1])
    with pytest.raises(LatentiaError, match="pixels"):
        fitted("SeparableNMF").report(path, image=(20, 30))
    with pytest.raises(LatentiaError, match="agree"):
        fitted("RichComponents").report(path, columns=["a"])
    assert not path.exists()


def test_the_page_of_all_is_that_of_models_without_one(tmp_path):
    first, second = tmp_path / "one.html", tmp_path / "two.html"
    model = fitted("ApproximateNMF")
    model.report(first)
    write_any_report(second, model)
    assert first.read_text("utf-8") == second.read_text("utf-8")


@pytest.mark.parametrize("name", sorted({*report.__all__} - {"write_report"}))
def test_what_writes_a_page_says_once_what_each_argument_is(name):
    write = getattr(report, name)
    entries = re.findall(r"^(\w[\w, ]*) :", inspect.getdoc(write), re.MULTILINE)
    said = [one for entry in entries for one in entry.split(", ")]
    assert sorted(said) == sorted(inspect.signature(write).parameters)
    assert pickle.loads(pickle.dumps(write)) is write
