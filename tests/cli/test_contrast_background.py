"""Cases and controls: other rows with the same columns, in a second file."""

import json

import numpy as np
import pytest

import latentia
from latentia.cli.commands import app
from latentia.datasets import planted

NAMES = [f"m{i}" for i in range(8)]


def write(path, names, values):
    path.write_text("\n".join([",".join(names), *(",".join(f"{v:.8g}" for v in row) for row in values)]) + "\n")
    return path


@pytest.fixture
def tables(tmp_path):
    """Files of cases and controls, whose columns stand in another order, beside one that cases lack; and what was planted."""
    data = planted.cases_and_controls(400, 500, 8, random_state=1)
    order = np.random.default_rng(0).permutation(8)
    cases = write(tmp_path / "cases.csv", NAMES, data.X)
    further = np.column_stack([data.background[:, order], np.arange(500)])
    return cases, write(tmp_path / "controls.csv", [*(NAMES[i] for i in order), "further"], further), data


def test_columns_are_matched_by_name(call, written, rows, tables, tmp_path):
    cases, controls, data = tables
    printed = call("contrast", cases, "--background", controls, "-k", 1, "--no-scale", "--out", tmp_path / "o")
    assert "1 direction along which cases.csv varies more than controls.csv" in printed
    assert "filtered" in printed
    assert "directions.csv" in written(tmp_path / "o")
    assert "scaling.csv" not in written(tmp_path / "o")
    [direction] = rows(tmp_path / "o" / "directions.csv")
    weights = np.array([float(direction[name]) for name in NAMES])
    assert abs(weights @ data.directions[0]) > 0.95
    scores = rows(tmp_path / "o" / "scores.csv")
    assert [int(row["row"]) for row in scores] == list(range(2, 402))
    model = latentia.load(tmp_path / "o" / "model.npz")
    np.testing.assert_allclose([float(row["direction 0"]) for row in scores], model.transform(data.X)[:, 0], atol=1e-4)
    call("apply", tmp_path / "o", controls, "--out", tmp_path / "a")
    applied = [float(row["direction 0"]) for row in rows(tmp_path / "a" / "scores.csv")]
    np.testing.assert_allclose(applied, model.transform(data.background)[:, 0], atol=1e-4)


def test_columns_are_scaled_by_the_cases(call, rows, tables, tmp_path):
    cases, controls, data = tables
    call("contrast", cases, "--background", controls, "--out", tmp_path / "o")
    scaling = rows(tmp_path / "o" / "scaling.csv")
    np.testing.assert_allclose([float(row["divided by"]) for row in scaling], data.X.std(axis=0), rtol=1e-5)
    call("apply", tmp_path / "o", cases, "--out", tmp_path / "a")
    assert (tmp_path / "a" / "scores.csv").read_bytes() == (tmp_path / "o" / "scores.csv").read_bytes()


def test_columns_that_controls_lack_are_named(refused, tables, tmp_path):
    cases, _, data = tables
    few = write(tmp_path / "few.csv", NAMES[:6], data.background[:, :6])
    message = refused("contrast", cases, "--background", few)
    assert "few.csv: expected the columns of cases.csv; it lacks m6, m7." in message
    assert "--ignore m6,m7" in message


def test_ignored_columns_may_be_lacking(call, rows, tables, tmp_path):
    cases, _, data = tables
    few = write(tmp_path / "few.csv", NAMES[:6], data.background[:, :6])
    call("contrast", cases, "--background", few, "--ignore", "m6,m7", "-k", "1:2", "--out", tmp_path / "o")
    assert set(NAMES[:6]) <= set(rows(tmp_path / "o" / "directions.csv")[0])
    assert len(rows(tmp_path / "o" / "comparison.csv")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fit", "ising"], "--fit ising: expected a table V of the same rows"),
        (["--shared", "2"], "--shared 2: expected a table V of the same rows"),
        (["--columns-v", "m1"], "--columns-v m1: expected a table V of the same rows"),
        (["-k", "9"], "support at most 8 directions: -k 9 is too large"),
        (["--columns", "m0"], "1 column"),
    ],
)
def test_options_that_cannot_be(refused, tables, options, message):
    cases, controls, _ = tables
    assert message in refused("contrast", cases, "--background", controls, *options)


def test_a_second_table_is_expected_once(refused, tables):
    cases, controls, _ = tables
    assert "Expected a second table" in refused("contrast", cases)
    assert "leave this one out" in refused("contrast", cases, controls, "--background", controls)


def test_a_model_of_cases_is_applied_to_one_table(call, refused, tables, tmp_path):
    cases, controls, _ = tables
    call("contrast", cases, "--background", controls, "--out", tmp_path / "r")
    assert "applied to one table" in refused("apply", tmp_path / "r", cases, controls)


def test_programs_get_the_source_of_the_background(tables, tmp_path):
    cases, controls, _ = tables
    arguments = ["contrast", str(cases), "--background", str(controls), "--out", str(tmp_path / "o"), "--quiet"]
    summary = app(arguments, standalone_mode=False)
    assert summary["source_background"] == str(controls)
    json.dumps(summary)
