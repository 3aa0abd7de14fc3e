"""Pictures with matplotlib: what is drawn is what the model has."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from contract import CASES, chain, clusters, findings, mixed_topics, sources
from sklearn.exceptions import NotFittedError

from latentia import plots
from latentia.exceptions import LatentiaError, MissingExtraError
from latentia.mixtures import SphericalGaussianMixture
from latentia.plots._axes import GRADES, INK
from latentia.report import figures
from latentia.sequences import SpectralHMM
from latentia.topics import AnchorTopics

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


@cache
def fitted(name):
    return next(case for case in CASES if case.name == name).shared()


@pytest.fixture(autouse=True)
def _closed():
    plt.close("all")  # which other tests of this worker may have left
    yield
    plt.close("all")


def texts(axis):
    return [label.get_text() for label in axis]


# --- all functions --------------------------------------------------------------------------------------------------

DRAWN = {
    "plot_clusters": lambda **ax: plots.plot_clusters(fitted("SphericalGaussianMixture"), clusters().X, **ax),
    "plot_coefficients": lambda **ax: plots.plot_coefficients(fitted("ContrastiveRegression"), **ax),
    "plot_comparison": lambda **ax: plots.plot_comparison(compared(), **ax),
    "plot_components": lambda **ax: plots.plot_components(fitted("SphericalGaussianMixture"), **ax),
    "plot_connectivity": lambda **ax: plots.plot_connectivity(fitted("MixedMembershipBlockModel"), **ax),
    "plot_evidence": lambda **ax: plots.plot_evidence(fitted("AnchorTopics"), **ax),
    "plot_figure": lambda **ax: plots.plot_figure(fitted("TensorICA").summary().figures["mixing"], **ax),
    "plot_memberships": lambda **ax: plots.plot_memberships(fitted("MixedMembershipBlockModel"), **ax),
    "plot_network": lambda **ax: plots.plot_network(fitted("NoisyOr"), **ax),
    "plot_refinement": lambda **ax: plots.plot_refinement(fitted("SpectralHMM"), **ax),
    "plot_spectrum": lambda **ax: plots.plot_spectrum(fitted("NoisyOr"), **ax),
    "plot_states": lambda **ax: plots.plot_states(fitted("SpectralHMM"), chain().symbols[:300], **ax),
    "plot_topics": lambda **ax: plots.plot_topics(fitted("AnchorTopics"), topics=[0], **ax),
    "plot_transitions": lambda **ax: plots.plot_transitions(fitted("SpectralHMM"), **ax),
}


@cache
def compared():
    return SphericalGaussianMixture([2, 4, 6]).fit(clusters().X)


def test_every_function_has_a_case():
    assert set(DRAWN) == set(plots.__all__) - {"plot_effects", "plot_prevalence"}  # which have tests of their own


@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_returned_and_those_given_are_used(name, tmp_path):
    made = np.ravel(DRAWN[name]())[0]
    made.get_figure().savefig(tmp_path / "picture.png")
    assert made.has_data() or made.texts
    _, ax = plt.subplots()
    assert np.ravel(DRAWN[name](ax=ax))[0] is ax
    assert len(plt.get_fignums()) == 2
    with pytest.raises(LatentiaError, match="Axes|axes"):
        DRAWN[name](ax=[] if name == "plot_topics" else "here")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evidence_of_every_estimator_can_be_drawn(case):
    model = fitted(case.name)
    ax = plots.plot_evidence(model)
    drawn = np.concatenate([points.get_offsets()[:, 1] for points in ax.collections])
    np.testing.assert_allclose(np.sort(drawn), np.sort(model.evidence_.component_errors))


def test_importing_draws_nothing_and_needs_nothing():
    code = "import sys, latentia.plots; print([m for m in ('matplotlib', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package_says_which_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match="pip install matplotlib"):
        plots.plot_evidence(fitted("AnchorTopics"))


def test_a_model_must_be_fitted():
    with pytest.raises(NotFittedError):
        plots.plot_evidence(AnchorTopics())
    with pytest.raises(NotFittedError):
        plots.plot_topics(AnchorTopics())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_figure_of_a_page_can_be_drawn(case, tmp_path):
    model = fitted(case.name)
    for name, figure in model.summary(**case.data()).figures.items():
        axes = np.ravel(plots.plot_figure(figure))
        axes[0].get_figure().savefig(tmp_path / f"{name}.png", dpi=40)
        assert len(axes) == len(figure.get("panels", [None]))
        for ax, panel in zip(axes, figure.get("panels", []), strict=False):
            assert len([mark for mark in panel["marks"] if mark["mark"] == "line"]) <= len(ax.lines)
            assert ax.get_xlabel() == panel["x"].get("title", "")
        if figure["kind"] == "heat":
            np.testing.assert_allclose(axes[0].images[0].get_array(), np.array(figure["values"], dtype=float))
        if figure["kind"] == "links":
            assert sum(len(line.get_xdata()) == 2 for line in axes[0].lines) >= len(figure["edges"])
        plt.close("all")


def test_ticks_are_what_the_figure_says():
    """Whole numbers, shares in percent, from zero on, every second of many names, colours by number and by name."""
    names = [f"name {i}" for i in range(30)]
    drawn = {"hover": [["", ""]], "title": "", "y_title": ""}
    ax = plots.plot_figure(figures.bars([1, 2], [("", np.array([1, 2]), 0)], counts=True, **drawn))
    assert all(float(tick).is_integer() for tick in ax.get_yticks())
    ax = plots.plot_figure(figures.bars([1, 2], [("", np.array([1, 2]), 0)], **drawn))
    assert not all(float(tick).is_integer() for tick in ax.get_yticks())
    assert ax.get_ylim()[0] == 0
    ax = plots.plot_figure(figures.horizontal_bars(["a", "b"], [0.25, 0.5], title="", colours=["bad", "unknown name"]))
    ax.set_xticks([0.25, 0.5])
    assert texts(ax.get_xticklabels()) == ["25%", "50%"]
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == ["#a33b00", INK]
    band = np.arange(30.0)
    ax = plots.plot_figure(figures.bands([("", band, band, band - 1, band + 1)], labels=names))
    assert texts(ax.get_xticklabels()) == names[::2]
    assert ax.get_ylim()[0] < 0


def test_what_is_no_figure():
    with pytest.raises(LatentiaError, match="expected a figure"):
        plots.plot_figure({"kind": "pie"})


# --- evidence -------------------------------------------------------------------------------------------------------


def test_points_of_the_evidence_have_shares_errors_and_the_colours_of_grades():
    model = fitted("SparseNetwork")
    records = model.evidence_.components
    ax = plots.plot_evidence(model)
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(records)
    for points, label in zip(ax.collections, texts(ax.get_legend().get_texts()), strict=True):
        grade = label.partition(" (")[0]
        own = records.of(grade)
        found = points.get_offsets()
        np.testing.assert_allclose(found, [(100 * one.share, one.expected_error) for one in own])
        assert to_hex(points.get_facecolor()[0]) == GRADES[grade][0]
    assert model.evidence_.limit in [line.get_ydata()[0] for line in ax.lines]


def test_components_without_shares_stand_side_by_side():
    ax = plots.plot_evidence(fitted("TensorICA"))
    np.testing.assert_array_equal(np.sort(ax.collections[0].get_offsets()[:, 0]), range(4))
    assert ax.get_xlabel() == "source"


def test_evidence_that_was_not_measured_is_an_error():
    model = SphericalGaussianMixture(4, n_splits=0).fit(clusters().X)
    with pytest.raises(LatentiaError, match="n_splits"):
        plots.plot_evidence(model)


# --- comparison, refinement, spectrum -------------------------------------------------------------------------------


def test_compared_numbers_are_drawn_with_the_one_that_was_taken():
    model = compared()
    ax = plots.plot_comparison(model)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [2, 4, 6])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [row["expected error"] for row in model.comparison_])
    assert f"{model.n_components_} chosen" in texts(ax.texts)
    with pytest.raises(LatentiaError, match="auto"):
        plots.plot_comparison(fitted("SphericalGaussianMixture"))


def test_steps_of_refinement():
    model = fitted("SpectralHMM")
    np.testing.assert_array_equal(plots.plot_refinement(model).lines[0].get_ydata(), model.refinement_)
    with pytest.raises(LatentiaError, match="refine other than 0"):
        plots.plot_refinement(fitted("SeparableNMF"))


@pytest.mark.parametrize(
    ("name", "needed"), [("NoisyOr", 5), ("ProbabilityMatrix", 2), ("MixedMembershipBlockModel", 2)]
)
def test_bars_of_the_spectrum(name, needed):
    model = fitted(name)
    ax = plots.plot_spectrum(model)
    heights, colours = zip(*((bar.get_height(), to_hex(bar.get_facecolor())) for bar in ax.patches), strict=True)
    np.testing.assert_allclose(heights, model.spectrum_)
    assert colours.count(colours[0]) == needed
    with pytest.raises(LatentiaError, match="no spectrum"):
        plots.plot_spectrum(fitted("AnchorTopics"))
    with pytest.raises(LatentiaError, match="single number"):
        plots.plot_spectrum(fitted("TwoStateHMM"))


# --- topics ---------------------------------------------------------------------------------------------------------


def test_panels_have_the_words_of_their_topics():
    model = fitted("AnchorTopics")
    panels = plots.plot_topics(model, 6, topics=[3, 1])
    assert len(panels) == 2
    for panel, k in zip(panels, [3, 1], strict=True):
        assert texts(panel.get_yticklabels()) == list(model.top_words(6)[k])
        assert panel.get_title(loc="left").startswith(f"topic {k} ")
    probable = plots.plot_topics(model, 6, topics=[2], relevance=1)[0]
    np.testing.assert_allclose(
        [bar.get_width() for bar in probable.patches[:6]], 100 * np.sort(model.components_[2])[:-7:-1]
    )


def test_the_best_and_largest_topics_come_first():
    panels = plots.plot_topics(fitted("AnchorTopics"))
    shares = [float(panel.get_title(loc="left").split()[-1][:-1]) for panel in panels]
    assert shares == sorted(shares, reverse=True)


def test_names_of_words_are_given_or_known():
    model = AnchorTopics(3, vocabulary=[f"w{i}" for i in range(300)]).fit(mixed_topics().counts)
    assert all(word.startswith("w") for word in texts(plots.plot_topics(model)[0].get_yticklabels()))
    other = plots.plot_topics(model, vocabulary=[f"v{i}" for i in range(300)])
    assert all(word.startswith("v") for word in texts(other[0].get_yticklabels()))
    with pytest.raises(LatentiaError, match="agree"):
        plots.plot_topics(model, vocabulary=["one"])
    with pytest.raises(LatentiaError, match="agree"):
        plots.plot_topics(model, vocabulary=[f"v{i}" for i in range(301)])
    with pytest.raises(LatentiaError, match="topics 0 to 2"):
        plots.plot_topics(model, topics=[7])
    with pytest.raises(LatentiaError, match="no topics"):
        plots.plot_topics(fitted("NoisyOr"))


def test_topics_of_a_classifier_of_labels():
    assert len(plots.plot_topics(fitted("MomentMultiLabelClassifier"))) == 4


# --- vectors --------------------------------------------------------------------------------------------------------


def test_means_are_drawn_as_distances_from_the_overall_mean():
    model = fitted("SphericalGaussianMixture")
    drawn = np.asarray(plots.plot_components(model).images[0].get_array())
    np.testing.assert_allclose(model.weights_ @ drawn, 0, atol=1e-9)
    np.testing.assert_allclose(drawn[0] - drawn[1], model.means_[0] - model.means_[1])


def test_sources_are_drawn_by_their_mixing_and_factors_as_they_are():
    ica, nmf = fitted("TensorICA"), fitted("SeparableNMF")
    np.testing.assert_allclose(plots.plot_components(ica).images[0].get_array(), ica.mixing_.T)
    curves = plots.plot_components(nmf, kind="lines", columns=[str(0.5 * i) for i in range(40)])
    np.testing.assert_allclose([line.get_ydata() for line in curves.lines], nmf.components_)
    np.testing.assert_allclose(curves.lines[0].get_xdata(), 0.5 * np.arange(40))
    with pytest.raises(LatentiaError, match="lines"):
        plots.plot_components(nmf, kind="dots")


def test_wide_components_show_the_columns_that_differ():
    image = plots.plot_components(fitted("AnchorTopics"), n_columns=12).images[0].get_array()
    assert image.shape == (5, 12)
    assert image.max() == pytest.approx(fitted("AnchorTopics").components_.max())


def test_components_that_are_pictures():
    ax = plots.plot_components(fitted("IncoherentDictionary"), shape=(4, 6), n=9)
    assert ax.images[0].get_array().shape == (3 * 4 + 2, 3 * 6 + 2)
    with pytest.raises(LatentiaError, match="24 columns"):
        plots.plot_components(fitted("IncoherentDictionary"), shape=(5, 5))


def test_names_of_columns_come_from_the_data_frame():
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    model = fitted("SphericalGaussianMixture")
    named = SphericalGaussianMixture(4).fit(pd.DataFrame(clusters().X, columns=[f"m{i}" for i in range(8)]))
    assert texts(plots.plot_components(named).get_xticklabels()) == [f"m{i}" for i in range(8)]
    assert texts(plots.plot_components(model).get_xticklabels())[0] == "column 0"


@pytest.mark.parametrize("name", ["ContrastiveRegression", "ContrastiveLogisticRegression", "ContrastiveIsing"])
def test_coefficients_with_bars_of_their_errors(name):
    model = fitted(name)
    ax = plots.plot_coefficients(model)
    values = np.ravel(model.couplings_ if hasattr(model, "couplings_") else model.coef_)
    found = next(one for one in ax.containers)
    np.testing.assert_allclose(found[0].get_xdata(), values)
    halves = np.array([np.ptp(np.array(segment)[:, 0]) / 2 for segment in found[2][0].get_segments()])
    if name != "ContrastiveIsing":  # Errors are relative to coefficients in standard deviations of the columns.
        values, halves = values * model.scale_, halves * model.scale_
        halves /= np.sqrt((values**2).mean())
    np.testing.assert_allclose(halves, model.evidence_.component_errors)
    assert (halves > 0).all()
    with pytest.raises(LatentiaError, match="no coefficients"):
        plots.plot_coefficients(fitted("NoisyOr"))


def test_rows_in_the_plane_of_the_means():
    ax = plots.plot_clusters(fitted("SphericalGaussianMixture"), clusters().X, n=500)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 500
    with pytest.raises(LatentiaError, match="no means"):
        plots.plot_clusters(fitted("TensorICA"), sources().X)


# --- states, memberships, networks ----------------------------------------------------------------------------------


def test_transitions():
    model = fitted("SpectralHMM")
    ax = plots.plot_transitions(model, names=["calm", "busy", "off"])
    np.testing.assert_allclose(ax.images[0].get_array(), model.transmat_)
    assert texts(ax.get_yticklabels()) == ["calm", "busy", "off"]
    with pytest.raises(LatentiaError, match="agree"):
        plots.plot_transitions(model, names=["calm"])
    with pytest.raises(LatentiaError, match="no transitions"):
        plots.plot_transitions(fitted("TensorICA"))


def test_states_lie_behind_the_steps():
    data = planted_vectors()
    model = SpectralHMM(2).fit(data)
    states = model.predict(data)
    ax = plots.plot_states(model, data, column=1, start=10, stop=60)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), data[10:60, 1])
    assert len(ax.patches) == 1 + int((np.diff(states[10:60]) != 0).sum())
    with pytest.raises(LatentiaError, match="2 columns"):
        plots.plot_states(model, data, column=5)
    with pytest.raises(LatentiaError, match="No steps"):
        plots.plot_states(model, data, start=10_000)


@cache
def planted_vectors():
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(0, 2, 200), 10)
    return np.array([[0.0, 5.0], [6.0, -5.0]])[states] + rng.standard_normal((2000, 2))


def test_memberships_stand_upon_each_other_by_the_strongest():
    model = fitted("MixedMembershipBlockModel")
    ax = plots.plot_memberships(model, n=100)
    steps = [patch.get_data() for patch in ax.patches]
    np.testing.assert_allclose(steps[-1].values, 1)
    widths = np.array([one.values - one.baseline for one in steps])
    assert (np.diff(widths.argmax(axis=0)) >= 0).all()
    assert "400 nodes" in ax.get_xlabel()


def test_memberships_of_rows_need_the_rows():
    ax = plots.plot_memberships(fitted("AnchorTopics"), mixed_topics().counts, sort=False)
    assert len(ax.patches) == 5
    with pytest.raises(LatentiaError, match=r"plot_memberships\(model, X\)"):
        plots.plot_memberships(fitted("AnchorTopics"))
    for name, X in (("TensorICA", sources().X), ("NoisyOr", findings().X)):  # causes are at work independently
        with pytest.raises(LatentiaError, match="no shares"):
            plots.plot_memberships(fitted(name), X)


@pytest.mark.parametrize(
    "name", ["SeparableNMF", "SphericalGaussianMixture", "MomentMultiLabelClassifier", "SpectralHMM"]
)
def test_memberships_of_other_families(name):
    case = next(case for case in CASES if case.name == name)
    ax = plots.plot_memberships(fitted(name), case.data()["X"], n=50)
    assert len(ax.patches) == len(fitted(name).weights_)
    np.testing.assert_allclose(ax.patches[-1].get_data().values, 1)


def test_lines_of_a_network_are_its_strengths():
    model = fitted("NoisyOr")
    ax = plots.plot_network(model, threshold=0.2)
    assert len(ax.lines) == int((model.strengths_ >= 0.2).sum())
    widest = max(line.get_linewidth() for line in ax.lines)
    assert widest == pytest.approx(0.6 + 5 * model.strengths_.max())
    with pytest.raises(LatentiaError, match="threshold"):
        plots.plot_network(model, threshold=2.0)
