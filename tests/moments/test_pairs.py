"""Pairs counted from arrays and files."""

import gzip
import os
import struct

import numpy as np
import pytest
from numpy.lib import format as npy

from latentia.exceptions import LatentiaError
from latentia.matrices import ProbabilityMatrix
from latentia.moments import count_pairs
from latentia.passes import Blocks
from latentia.passes.formats import _text

PAIRS = np.random.default_rng(0).integers(0, 30, (500, 3))


def text(pairs):
    return "".join(" ".join(map(str, row)) + "\n" for row in pairs)


def same(first, second):
    return first.shape == second.shape and first.dtype == second.dtype and (first != second).nnz == 0


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("chunk", [50, 1 << 25])
def test_files_are_counted_as_arrays_are(tmp_path, width, chunk, monkeypatch):
    monkeypatch.setattr(_text, "_CHUNK", chunk)
    pairs = PAIRS[:, :width]
    expected = count_pairs(pairs)
    np.save(tmp_path / "c.npy", pairs)
    np.save(tmp_path / "f.npy", np.asfortranarray(pairs.astype(">i4")))
    np.save(tmp_path / "u.npy", pairs.astype(np.uint16))
    (tmp_path / "x.txt").write_text("# words\n" + text(pairs).replace("\n", "\t # once\r\n\n"))
    (tmp_path / "x.gz").write_bytes(gzip.compress(text(pairs).encode()[:-1], mtime=0))
    before = sorted(tmp_path.iterdir())
    for name in ("c.npy", "f.npy", "u.npy", "x.txt", "x.gz"):
        assert same(count_pairs(tmp_path / name), expected)
        assert same(count_pairs(str(tmp_path / name), 40), count_pairs(pairs, 40))
    assert sorted(tmp_path.iterdir()) == before


def test_lists_of_pairs_are_blocks(tmp_path):
    (tmp_path / "x.txt").write_text(text(PAIRS))
    np.save(tmp_path / "x.npy", PAIRS)
    for path, options in ((tmp_path / "x.txt", {"format": "pairs"}), (tmp_path / "x.npy", {})):
        blocks = Blocks.from_files(path, **options)
        assert blocks.shapes == ((500, 3),)
        np.testing.assert_array_equal(blocks.table(), PAIRS)
    assert (tmp_path / "x.txt.latentia-cache").is_dir()
    assert not (tmp_path / "x.npy.latentia-cache").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected pairs, found none in the file"),
        ("# nothing\n\n", "expected pairs, found none in the file"),
        ("0 1\n\n5\n", "line 3: expected two whole numbers from 0 to 2147483646, found '5'"),
        ("0 1\n0 1 2\n", "line 2: expected two whole numbers"),
        ("0 1 2\n0 1\n", "line 2: expected three whole numbers from 0 to 2147483646, the third to 9007199254740992"),
        ("0 1 2 3\n", "line 1: expected two or three whole numbers, found '0 1 2 3'"),
        ("0 1\n0 a\n", "line 2: expected two whole numbers"),
        ("0 1\n0 -1\n", "line 2: expected two whole numbers"),
        ("0 1\n0 1.5\n", "line 2: expected two whole numbers"),
        ("0 1\n0 2147483647\n", "line 2: expected two whole numbers"),
        ("0 1 5\n0 1 1e300\n", "line 2: expected three whole numbers"),
        ("0 1\n0 \0\n", "line 2: a NUL byte"),
        ("0 1\n0 7\n", ": Pair 1 has the word 7; expected whole numbers from 0 to 4"),
    ],
)
def test_damaged_texts(tmp_path, content, message):
    (tmp_path / "x.txt").write_text(content)
    with pytest.raises(LatentiaError, match=f"x.txt.*{message}"):
        count_pairs(tmp_path / "x.txt", 5)
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def header(text, version=1):
    """A NumPy file with this text for a header, and nothing after it."""
    text = text.encode() + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable NumPy file"),
        (b"\x93NUMPY", "not a readable NumPy file"),
        (b"0 1\n", "not a readable NumPy file"),
        (header("{'descr': '<i8'}"), "not a readable NumPy file"),
        (header("[" * 5000), "not a readable NumPy file"),
        (header("{'descr': '<i8', 'fortran_order': False, 'shape': (9, 2)}", 9), "not a readable NumPy file"),
        (header("{'descr': '<i8', 'fortran_order': False, 'shape': (4000000000000, 2)}"), "promises 4000000000000 pairs"),
        (header("{'descr': '<i8', 'fortran_order': False, 'shape': (-4, 2)}"), "array of shape .-4, 2."),
        (header("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 2)}"), "expected pairs, found none in the file"),
        (header("{'descr': '|O', 'fortran_order': False, 'shape': (9, 2)}"), "dtype object"),
        (header("{'descr': '<c16', 'fortran_order': False, 'shape': (9, 2)}"), "type complex128"),
        (header("{'descr': '<i8', 'fortran_order': False, 'shape': (9,)}"), "shape .9,. and dtype int64"),
        (header("{'descr': '<i8', 'fortran_order': False, 'shape': (9, 4)}", 2), "shape .9, 4. and dtype int64"),
        (gzip.compress(b"\x93NUMPY", mtime=0), "a packed .npy file cannot be mapped"),
    ],
)  # fmt: skip
def test_damaged_arrays(tmp_path, content, message):
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(LatentiaError, match=f"x.npy: .*{message}"):
        count_pairs(tmp_path / "x.npy")


def test_a_truncated_array(tmp_path):
    np.save(tmp_path / "x.npy", PAIRS)
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    with pytest.raises(LatentiaError, match="x.npy: its header promises 500 pairs, and 11999 bytes follow: truncated"):
        ProbabilityMatrix(2).fit_pairs(tmp_path / "x.npy")


def test_arrays_of_floats_are_checked(tmp_path):
    for value in (np.nan, 0.5, -1.0, np.inf):
        np.save(tmp_path / "x.npy", np.array([[0, 1], [value, 1]]))
        with pytest.raises(LatentiaError, match=f"x.npy: Pair 1 has the word {value}"):
            count_pairs(tmp_path / "x.npy")


def test_newer_headers_are_read(tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        npy.write_array(file, PAIRS, version=(2, 0))
    assert same(count_pairs(tmp_path / "x.npy"), count_pairs(PAIRS))


def test_more_words_than_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 1 << 12)
    with pytest.raises(
        LatentiaError, match="Pair 1 has the word 2147483000: a table of that many words is too large for 2"
    ):
        count_pairs(np.array([[0, 1], [5, 2147483000]]))
    with pytest.raises(
        LatentiaError, match="Pair 1 has the word 9000000: a table of that many words does not fit into mem"
    ):
        count_pairs(np.array([[0, 1], [5, 9_000_000]]))
    with pytest.raises(LatentiaError, match="^n_words=9000000: a table of that many words does not fit"):
        count_pairs(np.array([[0, 1], [5, 6]]), 9_000_000)
    with pytest.raises(LatentiaError, match="^n_words=1000000000: a table of that many words is too large for 2 pairs"):
        count_pairs(np.array([[0, 1], [5, 6]]), 10**9)


def test_blocks_of_other_widths_are_refused():
    with pytest.raises(LatentiaError, match="The pairs have 4 columns"):
        count_pairs(Blocks.from_array(np.zeros((3, 4), int)))
    with pytest.raises(LatentiaError, match="shape .3, 4. and type int64"):
        count_pairs(np.zeros((3, 4), int))


def test_no_file(tmp_path):
    with pytest.raises(LatentiaError, match="absent.npy: no such file"):
        count_pairs(tmp_path / "absent.npy")
    with pytest.raises(LatentiaError, match="expected a file, found a folder"):
        count_pairs(tmp_path)
