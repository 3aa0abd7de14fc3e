"""The comparison of two versions: the same answers in any number of threads, and whatever differs is named."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def numbers():
    """The module of the benchmarks."""
    folder = str(Path(__file__).parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    yield import_module("fitted_numbers")
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def causes(numbers):
    """All answers of a family."""
    return numbers.collect("noisyor", n_jobs=1)


def test_one_version_differs_from_itself_in_nothing(numbers, tmp_path, capsys):
    file = str(tmp_path / "before.npz")
    assert numbers.main(["--only", "ica", "--save", file]) == 0
    assert numbers.main(["--only", "ica", "--compare", file, "--n-jobs", "2"]) == 0
    assert re.fullmatch(r"ica: all \d+ are the same\n", capsys.readouterr().out)


def test_a_family_has_all_that_users_get(causes):
    for name in (
        "NoisyOr strengths_", "NoisyOr evidence checks", "NoisyOr evidence component_errors", "NoisyOr transform()",
        "NoisyOr predict_proba()", "NoisyOr score()", "NoisyOr report", "NoisyOr {'refine': 0} strengths_",
        "findings: noisy-or --json", "findings: noisy-or on screen", "findings: learned/report.html",
        "findings: learned/evidence.csv", "findings: learned/model.npz strengths_", "findings: applied/posteriors.csv",
    ):  # fmt: skip
        assert f"noisyor: {name}" in causes
    texts = [value for value in causes.values() if isinstance(value, str)]
    assert not any(re.search(r"/tmp/|n_jobs=|0x[0-9a-f]{6}", text) for text in texts)


def test_what_differs_is_named_with_its_family_and_by_how_much(numbers, causes, capsys):
    changed = dict(causes)
    changed["noisyor: NoisyOr strengths_"] = causes["noisyor: NoisyOr strengths_"] + 0.25
    changed["noisyor: NoisyOr report"] = causes["noisyor: NoisyOr report"].replace("cause", "reason", 1)
    del changed["noisyor: NoisyOr score()"]
    assert numbers.compare(causes, changed) == 3
    printed = capsys.readouterr().out
    assert f"noisyor: 3 of {len(causes)} differ\n" in printed
    assert re.search(r"NoisyOr strengths_: \d+ of \d+ numbers by 0.25 at most, 0\.\d+ of the largest\n", printed)
    assert re.search(r"NoisyOr report: - .*cause.*\n +\+ .*reason", printed)
    assert "NoisyOr score(): is no more\n" in printed


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (np.eye(2), np.eye(3), "shape (2, 2) -> (3, 3)"),
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), ""),
        (np.array([1.0, 2.0]), np.array([1.0, np.nan]), "; 1 of them NaN or infinite"),
        (np.array([True, False]), np.array([True, True]), "1 of 2 numbers by 1 at most, 1 of the largest"),
        ("a 1\nb 20", "a 1\nb 25", "1 of 2 numbers by 5 at most, 0.2 of a number\n        - b 20\n        + b 25"),
        ("a", np.eye(1), "str -> ndarray"),
        (None, "a", "is new"),
    ],
)
def test_differences(numbers, old, new, text):
    assert (numbers.describe_difference(old, new) == text) or (text and text in numbers.describe_difference(old, new))


def test_an_estimator_or_a_command_without_a_case_is_named(numbers, monkeypatch):
    monkeypatch.setattr(numbers, "CASES", [case for case in numbers.CASES if case.name != "PoissonNMF"])
    monkeypatch.setattr(numbers, "SOURCES", {"sources": numbers.SOURCES["sources"]})
    with pytest.raises(SystemExit, match="tries PoissonNMF, communities, contrast, "):
        numbers.main([])
