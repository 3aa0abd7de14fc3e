"""Names of columns, words, nodes and files that a terminal, a spreadsheet or a file system would obey."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import numpy as np
import pytest

import latentia
from latentia import LatentiaError
from latentia._control_characters import escape_controls
from latentia.exceptions import FileNotice
from latentia.mixtures import SphericalGaussianMixture
from latentia.summaries import write_csv
from latentia.system.terminal import Terminal

NAMES = [
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "+1+1",
    "-1-1",
    "\tx",
    "\rx",
    "\x1b[31mred",
    "\x9b31m",
    "a\x07",
    "\u202eback",
    "[/red]",
    "[bold]x",
]
VALUES = np.vstack([np.random.default_rng(0).normal(centre, 1, (60, len(NAMES))) for centre in (-3, 3)])


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "latentia", *map(str, arguments)], capture_output=True, check=False, **options
    )


def obeyed(output: bytes) -> bytes:
    """The bytes of an output that a terminal obeys."""
    text = output.decode()
    return escape_controls(text) != text


def test_control_characters_are_shown() -> None:
    assert escape_controls("a\tb\nc\x1b[31m\x9b\r\x7f\udcff\u202e") == r"a\tb\nc\x1b[31m\x9b\r\x7f\udcff\u202e".replace(
        r"\t", "\t"
    ).replace(r"\n", "\n")
    assert str(LatentiaError("no column '\x1b[2J'.", parameter="x", value=1)) == r"x=1: no column '\x1b[2J'."
    assert str(FileNotice("\x1b", "\x9b")) == r"\x1b \x9b"


def test_a_terminal_shows_control_characters_in_all_that_it_is_given(capsys) -> None:
    from rich.table import Table

    console = Terminal()
    table = Table("\x1b[2J", title="\x1b[2J")
    table.add_row("\x9b\x1b]0;title\x07")
    console.print(table)
    console.print("[bold]\x1b[2J[/bold]")
    output = capsys.readouterr().out
    assert output.count(r"\x1b") == 4
    assert "\x1b" not in output
    assert "\x9b" not in output


def test_no_cell_of_a_csv_file_is_a_formula_and_numbers_stay_numbers(tmp_path) -> None:
    numbers = [-1.5, 3, np.float64(-2e-9), "-1.5", "+3", "-1e-5", "-.5", "-12.5%", "-inf", "", None]
    write_csv(tmp_path / "x.csv", NAMES, [NAMES, numbers, ["\udcff", "a=b", " =1"]])
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        header, names, values, others = csv.reader(file)
    assert header == names == [f"'{name}" if name[0] in "=+-@\t\r" else name for name in NAMES]
    assert values == ["" if number is None else str(number) for number in numbers]
    assert others == [r"\udcff", "a=b", " =1"]


def test_tables_and_pages_of_a_model_with_hostile_names(tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(VALUES, columns=pd.Index([*NAMES[:-1], "\udcff"], dtype=object))
    model = SphericalGaussianMixture(2).fit(frame)
    assert escape_controls(str(model.evidence_)) == str(model.evidence_)
    for table in model.summary(frame).tables.values():
        table.write(tmp_path / "x.csv")
        with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell[:1] in "=@" and cell]
    model.report(tmp_path / "x.html", frame)
    assert latentia.load(latentia.save(model, tmp_path / "x")).column_names == model.column_names


def test_commands_with_hostile_names(tmp_path) -> None:
    folder = os.fsencode(tmp_path)
    path = os.path.join(folder, b"\x1b[31m\xff\x9b.csv")
    names = [f"{name.strip()} {i}" for i, name in enumerate(NAMES)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *VALUES.tolist()])
    out = tmp_path / "out"
    done = run("mixture", os.fsdecode(path), "-k", 2, "--out", out, "--no-cache")
    assert done.returncode == 0, done.stderr.decode()
    assert not obeyed(done.stdout + done.stderr)
    assert r"\x1b[31m" in done.stdout.decode()
    for file in out.glob("*.csv"):
        assert not [line for line in file.read_text().splitlines() if line[:1] in "=@" and line]
    for arguments in (
        ["mixture", "\x1b[2J", "\x1b[2J"],
        ["mixture", f"{tmp_path}/\x1b[2J"],
        ["\x1b[2J"],
        ["mixture", "--\x1b[2J"],
    ):
        failed = run(*arguments)
        assert failed.returncode == 2
        assert not obeyed(failed.stdout + failed.stderr), arguments


def test_names_with_dollars_are_drawn_as_they_are(tmp_path) -> None:
    pytest.importorskip("matplotlib").use("agg")
    from latentia.plots import plot_components

    pd = pytest.importorskip("pandas")
    names = [r"$\frac$", "a $ b $ c_", "$", r"\\$x^{$"]
    model = SphericalGaussianMixture(2, n_splits=0).fit(pd.DataFrame(VALUES[:, :4], columns=names))
    axes = plot_components(model)
    figure = np.atleast_1d(axes).ravel()[0].figure
    figure.savefig(tmp_path / "x.png")
