"""``latentia compare``: two folders of results, matched."""

import json
import re

import numpy as np
import pytest

HEADER = "one,=<b>two,three"
MEANS = 9 * np.eye(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows about three means, of which one moves in the third file; columns have very different scales."""
    folder = tmp_path_factory.mktemp("years")
    for name, seed, shift in (("a", 1, 0), ("b", 2, 0), ("c", 3, 4)):
        rng = np.random.default_rng(seed)
        means = MEANS + shift * np.outer([1, 0, 0], [0, 1, 0])
        X = (means[rng.integers(3, size=900)] + rng.standard_normal((900, 3))) * [1, 1000, 0.01]
        np.savetxt(folder / f"{name}.csv", X, delimiter=",", header=HEADER, comments="", fmt="%.9g")
    return folder


@pytest.mark.filterwarnings("ignore")
def test_folders_are_compared_in_the_units_of_the_file(call, refused, rows, written, folder, tmp_path):
    for name in "abc":
        call("mixture", folder / f"{name}.csv", "-k", 3, "--no-cache", "--out", tmp_path / name)
    printed = call("compare", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "same")
    assert printed.count(" same ") + printed.count(" changed ") >= 3
    assert written(tmp_path / "same") == ["matches.csv", "report.html", "result.json"]
    call("compare", tmp_path / "a" / "model.npz", tmp_path / "c", "--out", tmp_path / "moved")
    record = json.loads((tmp_path / "moved" / "result.json").read_text())
    furthest = max(record["pairs"], key=lambda pair: pair["distance"])
    assert furthest["status"] == "changed"
    page = (tmp_path / "same" / "report.html").read_text()
    assert re.search(r"&lt;b&gt;two [\d.]+e\+03", page)
    printed = call("compare", tmp_path / "a", tmp_path / "a", "--out", tmp_path / "equal")
    assert "All 3 components are the same within their errors." in printed
    name, before, after = furthest["largest_moves"][0]
    assert name == "=<b>two"
    assert after - before == pytest.approx(4000, rel=0.2)
    table = rows(tmp_path / "moved" / "matches.csv")
    assert list(table[0]) == [
        "a",
        "b",
        "distance",
        "joint_error",
        "status",
        "component_a",
        "component_b",
        "largest_moves",
    ]
    assert not any(row["largest_moves"].startswith("=") for row in table)
    page = (tmp_path / "moved" / "report.html").read_text()
    assert "&lt;b&gt;two" in page
    assert "<b>two" not in page
    assert "no model found" in refused("compare", tmp_path / "a", tmp_path / "nothing")


@pytest.mark.filterwarnings("ignore")
def test_models_of_two_families_are_refused(call, refused, folder, tmp_path):
    call("mixture", folder / "a.csv", "-k", 3, "--no-cache", "--out", tmp_path / "mixture")
    call("ica", folder / "a.csv", "--no-cache", "--out", tmp_path / "ica")
    assert "one class" in refused("compare", tmp_path / "mixture", tmp_path / "ica")
