"""What gives its bytes but once is read once, whole, and never waited for in vain."""

import gzip
import os
import tempfile
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets import read_pairs, read_text_pairs
from latentia.datasets.readers import read_corpus, read_lines, read_texts
from latentia.moments import count_pairs
from latentia.passes import Blocks
from latentia.passes.formats import _text

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")

LINES = [f"document {'abcdefghij'[i % 10] * 4} of the red house {'klmnopqrst'[i % 7] * 3}" for i in range(4000)]
TEXT = "\n".join(LINES).encode()  # more than is read at the first look
TABLE = np.arange(1, 7).reshape(2, 3)
UCI = b"2\n3\n6\n" + b"".join(b"%d %d %d\n" % (i + 1, j + 1, TABLE[i, j]) for i in range(2) for j in range(3))
MARKET = b"%%MatrixMarket matrix array integer general\n2 3\n1\n4\n2\n5\n3\n6\n"
SQUARE = b"%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 5\n2 1 3\n"


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A folder for all temporary files, which is empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture(params=["named", "descriptor", "standard input"])
def pipe(request, tmp_path):
    """A function that gives the path of a pipe with these bytes in it."""
    opened, saved = [], os.dup(0)

    def make(data, name="pipe.txt"):
        if request.param == "named":
            os.mkfifo(tmp_path / name)
            path = target = str(tmp_path / name)
        else:
            read, target = os.pipe()
            opened.append(read)
            path = f"/dev/fd/{read}"
            if request.param == "standard input":
                os.dup2(read, 0)
                path = "-"
        threading.Thread(target=write, args=(target, data), daemon=True).start()
        return path

    def write(target, data):
        with open(target, "wb") as file:
            file.write(data)

    yield make
    os.dup2(saved, 0)
    for descriptor in (saved, *opened):
        os.close(descriptor)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_a_corpus_is_read_whole(pipe, packed):
    corpus = read_corpus(pipe(packed(TEXT)), min_df=1)
    assert corpus.texts == LINES
    assert corpus.names[0] == "line 1"


def test_texts_and_lines_are_read_whole(pipe):
    assert read_texts(pipe(TEXT)).texts == LINES


def test_pairs_of_a_list_are_read_whole(pipe):
    pairs = read_pairs(pipe(b"".join(b"a%d b\n" % (i % 50) for i in range(20_000))))
    assert (len(pairs.words), pairs.counts.sum()) == (51, 20_000)


def test_pairs_of_texts_are_read_whole_and_reach_over_lines(pipe):
    pairs = read_text_pairs(pipe(b"red house\nblue tree\n" * 5000), min_count=1)
    assert pairs.counts.sum() == 19_999
    assert pairs.words == ["red", "house", "blue", "tree"]


@pytest.mark.parametrize("data", [UCI, MARKET, gzip.compress(UCI, mtime=0)])
def test_tables_are_read_whole_and_leave_no_cache(pipe, data, tmp_path):
    before = sorted(tmp_path.iterdir())
    table = Blocks.from_files(pipe(data)).table()
    found = table.toarray() if sparse.issparse(table) else table
    np.testing.assert_array_equal(found, TABLE)
    after = [path for path in tmp_path.iterdir() if path.name != "pipe.txt"]
    assert sorted(after) == before


def test_a_table_is_a_corpus_and_its_cache_is_of_no_use_later(pipe, tmp_path):
    corpus = read_corpus(pipe(UCI), cache=tmp_path / "cache")
    np.testing.assert_array_equal(corpus.counts.toarray(), TABLE)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("name", "data", "read", "total"),
    [
        ("x.mtx", SQUARE, lambda path: read_pairs(path).counts, 11),
        ("x.mtx.gz", gzip.compress(SQUARE, mtime=0), lambda path: read_pairs(path).counts, 11),
        ("x.csv", b"a,b\np,q\nq,r\n", lambda path: read_pairs(path).counts, 2),
        ("x.txt", b"0 1\n1 2\n" * 5000, count_pairs, 10_000),
        ("x.csv", b"id,text\n1,red house\n2,red tree\n", lambda path: read_corpus(path, min_df=1).counts, 4),
    ],
)
def test_the_name_of_a_pipe_says_what_comes_out_of_it(tmp_path, name, data, read, total):
    os.mkfifo(tmp_path / name)
    threading.Thread(target=(tmp_path / name).write_bytes, args=(data,), daemon=True).start()
    assert read(tmp_path / name).sum() == total


def test_errors_name_the_pipe_and_the_line(pipe):
    path = pipe(b"2\n3\n1\n1 x 1\n", "docword.pipe.txt")
    name = "/dev/stdin" if path == "-" else path
    with pytest.raises(LatentiaError, match=f"{name}, line 4: expected 'document word count'") as caught:
        Blocks.from_files(path, format="uci")
    assert "temporary" not in str(caught.value)
    assert caught.value.message == str(caught.value)


def test_a_pipe_that_ends_at_once_is_an_empty_file(pipe):
    with pytest.raises(LatentiaError, match="expected text, found an empty file"):
        read_corpus(pipe(b""))


def test_a_damaged_packed_pipe(pipe):
    with pytest.raises(LatentiaError, match="damaged or truncated"):
        read_corpus(pipe(gzip.compress(TEXT, mtime=0)[:-40]))


@pytest.mark.parametrize("read", [read_corpus, read_texts, read_pairs, read_text_pairs, Blocks.from_files, count_pairs])
def test_nobody_writes(read, tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_PIPE_TIMEOUT_S", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LatentiaError, match="pipe: no process opened this pipe for writing in 0.2 seconds"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize("opened_after", [0.0, 0.3])
def test_a_writer_may_take_its_time(opened_after, tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_PIPE_TIMEOUT_S", 0.5)
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        time.sleep(opened_after)
        with open(path, "wb", buffering=0) as file:
            for part in (TEXT[:1000], TEXT[1000:]):
                time.sleep(0.7 - opened_after)
                file.write(part)

    threading.Thread(target=write, daemon=True).start()
    assert read_lines(path) == LINES


def test_a_file_as_standard_input_is_read_from_its_beginning(tmp_path):
    (tmp_path / "docword.txt").write_bytes(UCI)
    saved = os.dup(0)
    try:
        with open(tmp_path / "docword.txt", "rb") as file:
            os.dup2(file.fileno(), 0)
        for path in ("-", "/dev/stdin"):
            np.testing.assert_array_equal(Blocks.from_files(path).table().toarray(), TABLE)
        assert not os.path.exists("/dev/stdin.latentia-cache")
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def test_devices_and_folders(tmp_path):
    with pytest.raises(LatentiaError, match="/dev/zero: expected a file or a pipe, found a device"):
        read_corpus("/dev/zero")
    (tmp_path / "texts").mkdir()
    with pytest.raises(LatentiaError, match="the folder has no files"):
        read_corpus(tmp_path / "texts")
