"""Damaged files of every format: they are read as they stand, or refused with a message that names them.

LATENTIA_FUZZ=1 reads 15,000 of them, as ``make fuzz`` does, and some hundred are read otherwise.
"""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from latentia.datasets import read_table
from latentia.datasets.readers import read_texts
from latentia.exceptions import FileNotice, LatentiaError
from latentia.passes import Blocks

pytest.importorskip("resource", reason="limits of memory need POSIX")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

LONG = bool(os.environ.get("LATENTIA_FUZZ"))
N_CASES = 15_000 if LONG else 500
PATIENCE = 120.0  # seconds without a word from the worker

often = hypothesis.settings(
    max_examples=500 if LONG else 60, deadline=None, database=None, derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)  # fmt: skip


def run_cases(start, stop):
    """What is wrong with the cases, and how many files could be read; a worker that dies names the case by its last word."""
    problems, n_read, finished = [], 0, False
    worker = Path(__file__).with_name("_worker.py")
    while start < stop and not finished:
        process = subprocess.Popen(
            [sys.executable, str(worker), str(start), str(stop)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        said, last = [], start - 1
        reader = threading.Thread(target=lambda p=process, s=said: s.append(p.stderr.read()), daemon=True)
        reader.start()
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        for line in process.stdout:
            watch.cancel()
            watch = threading.Timer(PATIENCE, process.kill)
            watch.start()
            number, problem = json.loads(line)
            if number == "read":
                n_read, finished = n_read + problem, True
                continue
            last = number
            problems += [(number, problem)] if problem else []
        watch.cancel()
        process.wait()
        reader.join()
        if not finished:
            assert last >= start, f"the worker does not start: {said}"
            problems.append((last, f"the process ended with {process.returncode}: {''.join(said)[-2000:]}"))
            start = last + 1
    return problems, n_read


@pytest.mark.parametrize("start", range(0, N_CASES, 5000))
def test_damaged_files(start):
    stop = min(start + 5000, N_CASES)
    problems, n_read = run_cases(start, stop)
    assert not problems, "\n".join(f"case {number}: {problem}" for number, problem in problems)
    assert 0.05 < n_read / (stop - start) < 0.6  # some damage hurts, and some does not


# --- files that are as they should be ---------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.lists(finite, min_size=3, max_size=3), min_size=1, max_size=8)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileNotice)
        yield


@often
@hypothesis.given(rows, st.sampled_from([repr, "{:.17e}".format, "{:.30g}".format]))
def test_any_number_of_matrixmarket_is_read_to_the_last_bit(tmp_path, table, form):
    values = np.array(table)
    hypothesis.assume(np.all((values == 0) | (np.abs(values) > 1e-307)))
    text = "\n".join(form(value) for value in values.T.ravel().tolist())
    path = tmp_path / "x.mtx"
    path.write_text(f"%%MatrixMarket matrix array real general\n{len(table)} 3\n{text}\n")
    np.testing.assert_array_equal(
        Blocks.from_files(path, cache=False).table(), [[float(form(v)) for v in r] for r in table]
    )


@often
@hypothesis.given(
    rows,
    st.sampled_from([",", ";", "\t", "|", " "]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
)
def test_a_table_is_the_same_however_it_is_written(tmp_path, table, separator, encoding, end, packed, comma):
    hypothesis.assume(any(float(v) != round(float(v), 0) for r in table for v in r) or separator != ",")
    cells = [[repr(value) for value in row] for row in table]
    if comma and separator == ";":
        cells = [[cell.replace(".", ",") for cell in row] for row in cells]
    text = end.join(separator.join(row) for row in [["x", "gr\u00f6\u00dfe", "z"], *cells, []])
    data = text.encode(encoding)
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    found = read_table(path)
    np.testing.assert_array_equal(found.values, table)
    assert found.columns == ["x", "gr\u00f6\u00dfe", "z"]


letters = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(str.strip)


@often
@hypothesis.given(st.lists(letters, min_size=1, max_size=8), st.sampled_from([",", ";", "\t", "|"]))
def test_texts_of_a_column_come_back(tmp_path, texts, separator):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator)
    writer.writerows([["id", "text"], *([i, text] for i, text in enumerate(texts))])
    (tmp_path / "t.csv").write_bytes(file.getvalue().encode())
    assert read_texts(tmp_path / "t.csv").texts == texts


@often
@hypothesis.given(
    st.binary(max_size=200), st.sampled_from(["x.txt", "x.csv", "docword.x.txt", "x.mtx", "x.svm", "x.npy"])
)
def test_any_bytes_are_read_or_refused(tmp_path, data, name):
    (tmp_path / name).write_bytes(data)
    for read in (read_texts, read_table, lambda path: Blocks.from_files(path, cache=False)):
        said = name
        try:
            read(tmp_path / name)
        except LatentiaError as error:
            said = str(error)
        assert name in said
