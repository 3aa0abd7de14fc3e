"""``latentia topics --group-by``, ``--over`` and ``--effects``."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import shell

from latentia.datasets import load_bible


def run(*arguments, code=0):
    done = shell.latentia(*arguments)
    assert done.returncode == code, done.stderr
    return done


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def speeches(tmp_path_factory):
    """Chapters with a year that rises through the book, and a testament."""
    path, texts = tmp_path_factory.mktemp("speeches") / "speeches.csv", load_bible().texts
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["date", "testament", "text"])
        for i, text in enumerate(texts):
            year = 1900 + 100 * i // len(texts)
            testament = "new" if i > 0.78 * len(texts) else "old"
            writer.writerow([f"{year}-{rng.integers(1, 13):02d}-15", testament if i % 20 else "", text])
    return path


def test_shares_by_group_and_over_time(speeches, tmp_path):
    out = tmp_path / "o"
    done = run("topics", speeches, "-k", 3, "--column", "text", "--group-by", "testament", "--over", "date", "--out", out,
               "--quiet")  # fmt: skip
    assert "By testament, 2 groups; 60 documents left out:" in done.stdout
    assert "Over date, 10 periods; changes by a straight line" in done.stdout
    assert "rises" in done.stdout
    assert "Nothing is called clear for 1 topic without support by the evidence." in done.stdout
    rows = table(out / "prevalence.csv")
    assert {row["column"] for row in rows} == {"testament", "date"}
    assert len(rows) == 3 * (2 + 10)
    assert all(0 <= float(row["low"]) <= float(row["share"]) <= float(row["high"]) <= 1 for row in rows)
    assert [row["group"] for row in rows if row["column"] == "date"][::3] == [f"{y}s" for y in range(1900, 2000, 10)]
    trends = table(out / "trends.csv")
    assert len(trends) == 3
    rising = {row["topic"] for row in trends if row["trend"] == "rises"}
    newer = {
        row["topic"] for row in rows if row["group"] == "new" and row["clear"] == "yes" and float(row["difference"]) > 0
    }
    assert rising & newer
    page = (out / "report.html").read_text()
    assert "Topics by testament" in page
    assert "Topics over date" in page
    documents = table(out / "documents.csv")
    assert list(documents[0])[:3] == ["document", "testament", "date"]


def test_widths_of_periods(speeches, tmp_path):
    done = run("topics", speeches, "-k", 3, "--column", "text", "--over", "date", "--period", "century", "--refine", 0,
               "--out", tmp_path / "o", "--quiet")  # fmt: skip
    assert "Over date, 1 period:" in done.stdout
    assert len(table(tmp_path / "o" / "prevalence.csv")) == 3


def test_effects_of_columns(speeches, tmp_path):
    pytest.importorskip("formulaic")
    out = tmp_path / "o"
    done = run("topics", speeches, "-k", 3, "--column", "text", "--effects", "~ testament", "--cluster", "date", "--refine", 0,
               "--out", out, "--quiet")  # fmt: skip
    assert "Effects of testament, the clearest first; " in done.stdout
    assert "clusters, 60 left out" in done.stdout
    rows = table(out / "effects.csv")
    assert list(rows[0])[:5] == ["component", "term", "estimate", "low", "high"]
    assert len(rows) == 3 * 2
    assert "Effects of testament" in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--effects", "~ party"], "--effects '~ party': There is no column 'party'. There are date, testament."),
        (["--effects", "~ testament", "--cluster", "author"], "--cluster author: no such column"),
        (["--cluster", "date"], "needs --effects"),
        (["--group-by", "party"], "expected one of the columns date, testament"),
        (["--over", "testament"], "Expected a number or a date"),
        (["--period", "year"], "--period needs --over"),
        (["--over", "date", "--period", "fortnight"], "one of day, week"),
    ],
)
def test_columns_that_cannot_be_used_end_the_run_before_it_learns(options, words, speeches, tmp_path):
    done = run("topics", speeches, "-k", 3, "--column", "text", *options, "--out", tmp_path / "o", "--quiet", code=2)
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "o").exists()


def test_texts_without_columns_say_what_to_do(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(load_bible().texts[:30]))
    done = run("topics", path, "-k", 3, "--over", "date", "--out", tmp_path / "o", "--quiet", code=2)
    assert "--metadata" in done.stderr
