"""The smallest family, which docs/adding-a-family.md walks through: a mixture of exponentials, with its page and command."""

import contextlib
import importlib.util
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from contract import Case
from sklearn.base import clone
from write_defaults import defaults_of

import latentia
from latentia._parameters import Number
from latentia.cli import commands
from latentia.cli._shared import ReadOptions
from latentia.exceptions import LatentiaError

FOLDER = Path(__file__).parents[1] / "examples" / "new_family"
FILES, LINES = 12, 150  # a new family touches, and has around its algorithm, at most


@pytest.fixture(scope="module", autouse=True)
def modules():
    """Its three files, where they would stand in the library."""
    places = {
        "exponentials": "latentia.exponentials",
        "page": "latentia.report.exponentials",
        "command": "latentia.cli.exponentials",
    }
    found = []
    for name, place in places.items():
        spec = importlib.util.spec_from_file_location(place, FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[place] = sys.modules[name] = module
        spec.loader.exec_module(module)
        found.append(module)
    latentia.exponentials = found[0]
    yield found
    del latentia.exponentials
    for name, place in places.items():
        del sys.modules[name], sys.modules[place]


def waits(n=20_000, means=(8.0, 1.0), share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.exponential(np.where(rng.random(n) < share, *means))[:, None]


@pytest.fixture(scope="module")
def model(modules):
    return modules[0].ExponentialMixture(2).fit(waits())


def test_exact_moments_give_the_exact_mixture(modules):
    exponentials = modules[0]
    weights, means = np.array([0.5, 0.3, 0.2]), np.array([9.0, 2.0, 0.5])
    part = type("Part", (), {"groups": (0,)})
    moments = (means[None, :] ** np.arange(6)[:, None]) @ weights
    found = exponentials.ExponentialMixture(3)._recover(moments[None], part, None)
    np.testing.assert_allclose(found.means, means, rtol=1e-8)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-8)


def test_the_mixture_is_found_with_errors_of_the_right_size(model):
    assert model.evidence_.grade == "supported"
    true = np.abs(model.means_ - [8.0, 1.0]) / [8.0, 1.0]
    assert (true < 3 * model.evidence_.component_errors + 0.02).all()
    np.testing.assert_allclose(model.weights_, [0.3, 0.7], atol=0.05)


def test_one_exponential_has_no_two_components(modules):
    grades = []
    for seed in range(6):
        rows = np.random.default_rng(seed).exponential(2.0, size=(20_000, 1))
        with contextlib.suppress(LatentiaError):  # their moments may be of no mixture
            grades.append(modules[0].ExponentialMixture(2).fit(rows).evidence_.grade)
    assert grades
    assert set(grades) == {"not supported"}


def test_subsets_learn_nothing_from_the_full_fit(modules):
    given = []

    class Recording(modules[0].ExponentialMixture):
        def _recover(self, moments, subset, choices):
            given.append((subset.is_whole, choices))
            return super()._recover(moments, subset, choices)

    Recording(2).fit(waits())
    assert {is_whole for is_whole, _ in given} == {True, False}
    assert all(choices is None for _, choices in given)


def test_what_every_estimator_does(model, modules):
    again = clone(model).fit(waits())
    np.testing.assert_array_equal(again.means_, model.means_)
    with pytest.raises(LatentiaError, match="negative"):
        modules[0].ExponentialMixture(2).fit(-waits(100))
    with pytest.raises(LatentiaError, match="n_components=9"):
        modules[0].ExponentialMixture(9).fit(waits(100))
    probabilities = model.predict_proba(waits(50))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert Case(model, waits, waits, waits, lambda model: 0.0, ("predict_proba",)).name == "ExponentialMixture"


def test_its_tables_and_its_page(model, modules, tmp_path):
    summary = modules[1].summarize_exponentials(model, waits(100))
    assert list(summary.tables) == ["components", "rows", "evidence"]
    assert summary.tables["components"].rows()[0]["mean"] == model.means_[0]
    text = modules[1].write_exponentials_report(tmp_path / "r.html", model, waits(100)).read_text("utf-8")
    assert "Mean waiting time" in text
    assert model.evidence_.verdict.partition(". ")[2] in text


def command_of(modules, monkeypatch, tmp_path, record):
    """Its command, with the defaults of its estimator."""
    monkeypatch.setattr(commands, "DEFAULTS", tmp_path / "defaults.json")
    defaults = defaults_of(record, modules[2].ExponentialMixture)
    commands.DEFAULTS.write_text(json.dumps({"exponentials": defaults}))
    return commands.command_of("exponentials", record=record)


def test_its_command(modules, tmp_path, monkeypatch):
    np.savetxt(tmp_path / "waits.csv", waits(3000), header="minutes", comments="")
    monkeypatch.chdir(tmp_path)
    command = command_of(modules, monkeypatch, tmp_path, modules[2].ExponentialsOptions)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        command(["waits.csv", "--column", "minutes", "--out", "o", "--quiet"], standalone_mode=False)
    assert "2 components" in printed.getvalue()
    written = sorted(path.name for path in (tmp_path / "o").iterdir() if not path.name.startswith("."))
    assert written == ["components.csv", "evidence.csv", "labels.csv", "model.npz", "report.html", "result.json"]
    loaded = latentia.load(tmp_path / "o" / "model.npz")
    modules[2].apply_exponentials(loaded, tmp_path / "waits.csv", ReadOptions())(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "o" / "labels.csv").read_bytes()


def test_an_option_that_an_estimator_gets_is_written_once(modules, tmp_path, monkeypatch):
    """Its default stands in the constructor; a field of the record brings it to help, to fits and to the page."""
    parent, given = modules[0].ExponentialMixture, []

    class ExponentialMixture(parent):
        _constraints = parent._constraints | {"least_share": Number(0, 1)}

        def __init__(self, n_components=2, *, least_share=0.125, n_splits=3, random_state=0, n_jobs=None, verbose=0):
            super().__init__(n_components, n_splits=n_splits, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
            self.least_share = least_share

        def _recover(self, moments, subset, choices):
            given.append(self.least_share)
            return super()._recover(moments, subset, choices)

    @dataclass(frozen=True, kw_only=True)
    class Options(modules[2].ExponentialsOptions):
        """Options with another.

        Parameters
        ----------
        least_share
            Least share of a component.
        """

        least_share: float

    for module in (modules[0], modules[2]):
        monkeypatch.setattr(module, "ExponentialMixture", ExponentialMixture)
    ExponentialMixture.__module__, ExponentialMixture.__qualname__ = parent.__module__, parent.__qualname__
    command = command_of(modules, monkeypatch, tmp_path, Options)
    option = next(one for one in command.params if one.opts == ["--least-share"])
    assert (option.default, option.help) == (0.125, "Least share of a component.")
    np.savetxt(tmp_path / "waits.csv", waits(3000), header="minutes", comments="")
    for share in ([], ["--least-share", "0.25"]):
        arguments = ["--column", "minutes", *share, "--out", str(tmp_path / "o"), "--force", "--quiet"]
        with contextlib.redirect_stdout(io.StringIO()):
            command([str(tmp_path / "waits.csv"), *arguments], standalone_mode=False)
        assert set(given) == {0.25 if share else 0.125}
        loaded = latentia.load(tmp_path / "o" / "model.npz")
        assert ("least_share=0.25" in loaded.methods_text()) == bool(share)
        assert re.search(rf"least_share.*{given[0]}", loaded.report(tmp_path / "p.html").read_text("utf-8"), re.DOTALL)
        given.clear()


def test_it_is_as_small_as_the_page_on_families_says(modules):
    around = [path for path in FOLDER.glob("*.py") if path.name != "exponentials.py"]
    lines = [line for path in around for line in path.read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= LINES
    text = (FOLDER.parents[1] / "docs" / "adding-a-family.md").read_text("utf-8")
    listed = text.partition("## The files")[2].partition("##")[0]
    assert 0 < sum(line.startswith("| `") for line in listed.splitlines()) <= FILES
