"""The gallery: every example runs, with real data and without, and draws one figure that says what it shows."""

import ast
import os
import re
import runpy
import warnings
from pathlib import Path

import pytest
from test_api import public_estimators

matplotlib = pytest.importorskip("matplotlib", reason="examples draw with matplotlib")
pytest.importorskip("pandas", reason="examples make data frames")
pytest.importorskip("PIL", reason="the picture of an example is a JPEG")

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.rglob("plot_*.py")) if FOLDER.is_dir() else []
READS_DATA = [path for path in EXAMPLES if "LATENTIA_DATA" in path.read_text("utf-8")]


@pytest.fixture
def draw(monkeypatch):
    """Run an example; its figures."""
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda *_, **__: None)
    plt.switch_backend("agg")

    def run(path):
        plt.close("all")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some examples show what warnings are for
            runpy.run_path(str(path), run_name="__main__")
        return [plt.figure(number) for number in plt.get_fignums()]

    yield run
    plt.close("all")


def check(figures):
    """One figure with a title, labels at the axes that have ticks, and something drawn."""
    (figure,) = figures
    figure.canvas.draw()
    assert figure.get_suptitle() or any(ax.get_title() for ax in figure.axes)
    assert any(ax.get_xlabel() for ax in figure.axes)
    assert any(ax.get_ylabel() for ax in figure.axes)
    assert any(ax.lines or ax.collections or ax.images or ax.patches for ax in figure.axes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_without_real_data(path, draw, monkeypatch, tmp_path):
    monkeypatch.setenv("LATENTIA_DATA", str(tmp_path / "absent"))
    monkeypatch.chdir(tmp_path)
    check(draw(path))


@pytest.mark.parametrize("path", READS_DATA, ids=lambda path: path.stem)
def test_an_example_runs_with_real_data(path, draw, data, monkeypatch, tmp_path):
    monkeypatch.setenv("LATENTIA_DATA", str(data))
    monkeypatch.chdir(tmp_path)
    check(draw(path))
    assert not os.listdir(tmp_path)


def test_every_estimator_has_an_example():
    used = {name for path in EXAMPLES for name in re.findall(r"\w+", code(path))}
    public = {estimator.__name__ for estimator in public_estimators()}
    assert len(public) > 20
    assert not public - used
    assert {"decompose", "exact_nmf"} <= used


def code(path):
    """An example without its introduction."""
    tree = ast.parse(path.read_text("utf-8"))
    return ast.unparse(ast.Module(tree.body[1:], []))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_asks_one_question(path):
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")), clean=False).strip()
    title, rule, empty, question = text.split("\n")[:4]
    assert (len(rule), set(rule), empty) == (len(title), {"="}, "")
    assert question.startswith("**Question: ")
    assert text.count("**Question: ") == 1
