"""Pairs counted from lists, tables and texts."""

import gzip

import numpy as np
import pytest

from latentia.datasets import match_pairs, read_pairs, read_text_pairs
from latentia.exceptions import LatentiaError


def counted(pairs):
    """Counts as a dictionary of words."""
    table = pairs.counts.tocoo()
    return {
        (pairs.words[i], pairs.words[j]): n for i, j, n in zip(*table.coords, table.data.tolist(), strict=True) if n
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", "# friends\nann bob 2\n\nbob cid\nann\tbob\n"),
        ("x.csv", 'one,other,times\nann,bob,2\n"bob",cid,1\nann,bob,1.0\n'),
        ("x.tsv", "one\tother\ttimes\nann\tbob\t3\nbob\tcid\t1\n"),
        ("x.txt.gz", gzip.compress(b"ann bob 3\nbob cid\n", mtime=0)),
    ],
)
def test_lists_of_words(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    pairs = read_pairs(path)
    assert counted(pairs) == {("ann", "bob"): 3, ("bob", "cid"): 1}
    assert (pairs.words, pairs.source, pairs.left_out) == (["ann", "bob", "cid"], name, 0)


def workbook(path, *rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_workbooks(tmp_path):
    path = workbook(
        tmp_path / "x.xlsx", ("one", "other", "times"), ("ann", "bob", 2), ("bob", "cid", 1), ("ann", "bob", 1)
    )
    pairs = read_pairs(path, progress=True)
    assert counted(pairs) == {("ann", "bob"): 3, ("bob", "cid"): 1}
    assert (pairs.words, pairs.source) == (["ann", "bob", "cid"], "x.xlsx")
    named = read_pairs(path, columns=["other", "one"])
    assert counted(named) == {("bob", "ann"): 2, ("cid", "bob"): 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("ann", None, 2), "x.xlsx, row 3, column .*: expected a word, found an empty cell"),
        (("ann", "bob", "often"), "x.xlsx, row 3, column .*: 'often' is no count"),
    ],
)
def test_workbooks_that_hold_no_pairs(tmp_path, row, message):
    path = workbook(tmp_path / "x.xlsx", ("one", "other", "times"), ("ann", "bob", 2), row)
    with pytest.raises(LatentiaError, match=message):
        read_pairs(path)
    with pytest.raises(LatentiaError, match="no column 'absent'. There are one, other, times"):
        read_pairs(path, columns=["absent", "other"])


def test_the_encoding_of_pairs(tmp_path):
    text = "one,other\n\u044f,\u0436\n"
    (tmp_path / "x.csv").write_bytes(text.encode("cp1251"))
    (tmp_path / "x.txt").write_bytes("\u044f \u0436\n".encode("cp1251"))
    for name in ("x.csv", "x.txt"):
        assert counted(read_pairs(tmp_path / name, encoding="cp1251")) == {("\u044f", "\u0436"): 1}
    found = read_text_pairs(tmp_path / "x.txt", encoding="cp1251", min_count=1)
    assert counted(found) == {("\u044f", "\u0436"): 1}


def test_numbers_stand_in_their_order(tmp_path):
    (tmp_path / "x.txt").write_text("10 2\n2 1000000000\n")
    pairs = read_pairs(tmp_path / "x.txt")
    assert pairs.words == ["2", "10", "1000000000"]
    assert counted(pairs) == {("10", "2"): 1, ("2", "1000000000"): 1}


def test_weights_and_both_orders(tmp_path):
    (tmp_path / "x.txt").write_text("a b 0.5\nb c 0.01\n#a b\nb c 1e18\nb c 1e30\n")
    pairs = read_pairs(tmp_path / "x.txt")
    assert pairs.words == ["a", "b", "c", "#a"]
    assert counted(pairs)[("a", "b")] == 0.5
    path = "\n".join(f"{i} {j}\n{j} {i}" for i, j in ((0, 1), (1, 2), (2, 3)))
    (tmp_path / "y.txt").write_text(path)
    assert read_pairs(tmp_path / "y.txt", min_count=2).words == ["1", "2"]


def test_letters_with_marks_are_one_word(tmp_path):
    (tmp_path / "x.txt").write_text("cafe\u0301 caf\u00e9 \u0939\u093f\u0928\u094d\u0926\u0940", encoding="utf-8")
    assert read_text_pairs(tmp_path / "x.txt", min_count=1).words == [
        "caf\u00e9",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
    ]


def test_columns_are_chosen_by_name(tmp_path):
    (tmp_path / "x.csv").write_text("id,a,n,b\n1,p,5,q\n2,q,1,r\n")
    pairs = read_pairs(tmp_path / "x.csv", columns=["a", "b", "n"])
    assert counted(pairs) == {("p", "q"): 5, ("q", "r"): 1}


def test_rare_words_are_left_out(tmp_path):
    (tmp_path / "x.txt").write_text("a b 5\nb c\na a\n")
    pairs = read_pairs(tmp_path / "x.txt", min_count=2)
    assert (counted(pairs), pairs.left_out) == ({("a", "b"): 5, ("a", "a"): 1}, 1)


def test_tables(tmp_path):
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 4\n2 2 1\n")
    assert counted(read_pairs(tmp_path / "x.mtx")) == {("1", "2"): 4, ("2", "2"): 1}
    (tmp_path / "words").write_text("p\nq\nr\n")
    pairs = read_pairs(tmp_path / "x.mtx", vocabulary=tmp_path / "words")
    assert (counted(pairs), pairs.left_out) == ({("p", "q"): 4, ("q", "q"): 1}, 1)  # r is in no pair
    np.save(tmp_path / "x.npy", np.array([[0, 1], [1, 2], [0, 1]]))
    assert counted(read_pairs(tmp_path / "x.npy")) == {("0", "1"): 2, ("1", "2"): 1}


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", "a b\nthe quick brown fox\n", {}, "x.txt, line 2: 4 columns, and a pair is two words"),
        ("x.txt", "a b\na b many\n", {}, "x.txt, line 2: 'many' is no count"),
        ("x.txt", "a b -1\n", {}, "'-1' is no count"),
        ("x.txt", "a b nan\n", {}, "'nan' is no count"),
        ("x.txt", "# nothing\n", {}, "expected pairs, found none in the file"),
        ("x.txt", b"a b\n\xff\x81 b\n", {}, "x.txt, line 2: not UTF-8 text .byte 0xff"),
        ("x.txt.gz", gzip.compress(b"\xc3\xa9 b\n" * 50_000 + b"\xc3", mtime=0), {}, "line 50001: not UTF-8 text .byte 0xc3"),
        ("x.csv", 'a,b\n"p\n",q\n\np\n', {}, "x.csv, line 5: 1 fields"),
        ("x.txt", "a b\n", {"columns": ["a", "b"]}, "no named columns"),
        ("x.txt", "a b\n", {"vocabulary": "words"}, "contains its words"),
        ("x.txt", "a b\n", {"min_count": 3}, "no word is in 3 pairs or more"),
        ("x.csv", "a\np\n", {}, "expected two columns of words, found 1"),
        ("x.csv", "a,b\np\n", {}, "x.csv, line 2: 1 fields"),
        ("x.csv", "0,1,5\n1,2,7\n", {}, "expected headings, found numbers in the first line, 0, 1, 5"),
        ("x.csv", "a,b\np,q\n,q\n", {}, "x.csv, line 3, column .*: expected a word, found an empty cell"),
        ("x.csv", "a,b\np,q\n", {"columns": ["a", "c"]}, "no column 'c'"),
        ("x.csv", "a,b\np,q\n", {"columns": ["a"]}, "optionally one of counts; found 1"),
        ("x.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 2 4\n", {}, "2 rows and 3 columns"),
        ("x.txt.gz", gzip.compress(b"a b\n" * 99, mtime=0)[:-9], {}, "x.txt.gz: the compressed file is damaged or truncated"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path, name, content, options, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LatentiaError, match=message):
        read_pairs(tmp_path / name, **options)


def test_no_file(tmp_path):
    with pytest.raises(LatentiaError, match="no such file"):
        read_pairs(tmp_path / "x.txt")
    with pytest.raises(LatentiaError, match="a folder"):
        read_pairs(tmp_path)


def test_neighbouring_words(tmp_path):
    (tmp_path / "x.txt").write_text("The cat's tail.\n\nThe cat, 3 dogs\n")
    pairs = read_text_pairs(tmp_path / "x.txt", min_count=1)
    assert counted(pairs) == {
        ("the", "cat's"): 1, ("cat's", "tail"): 1, ("tail", "the"): 1, ("the", "cat"): 1, ("cat", "dogs"): 1,
    }  # fmt: skip
    assert pairs.words[0] == "the"
    apart = read_text_pairs(tmp_path / "x.txt", min_count=1, lines=True)
    assert ("tail", "the") not in counted(apart)
    wide = counted(read_text_pairs(tmp_path / "x.txt", min_count=1, lines=True, window=2))
    assert wide[("the", "tail")] == wide[("the", "dogs")] == 1


def test_pairs_do_not_reach_over_rare_words_or_texts(tmp_path):
    (tmp_path / "a.txt").write_text("red rare blue red blue")
    (tmp_path / "b.txt").write_text("blue red")
    pairs = read_text_pairs(tmp_path, min_count=2)
    assert counted(pairs) == {("blue", "red"): 2, ("red", "blue"): 1}
    assert pairs.left_out == 1
    (tmp_path / "c.csv").write_text("text,n\nblue red,1\nblue red,2\n")
    assert counted(read_text_pairs(tmp_path / "c.csv", min_count=1)) == {("blue", "red"): 2}


def test_texts_without_words(tmp_path):
    (tmp_path / "x.txt").write_text("a b c")
    with pytest.raises(LatentiaError, match="no word occurs 5 times"):
        read_text_pairs(tmp_path / "x.txt")
    with pytest.raises(LatentiaError, match="window=0"):
        read_text_pairs(tmp_path / "x.txt", window=0)


def test_the_first_column_may_follow_a_mark_of_utf8(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfa,b\r\np,q\r\n")
    assert counted(read_pairs(tmp_path / "x.csv", columns=["a", "b"])) == {("p", "q"): 1}


def test_pairs_of_words_that_a_model_has(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a b 2\nb c 3\nc a 5\na q 7\n")
    pairs = read_pairs(path)
    found = match_pairs(pairs, ["c", "b", "a"])
    cells = zip(found.first.tolist(), found.second.tolist(), found.times.tolist(), strict=True)
    assert sorted(cells) == [(0, 2, 5), (1, 0, 3), (2, 1, 2)]
    assert (found.n_ignored, found.n_unknown) == (1, 1)
    with pytest.raises(LatentiaError, match=r"x.txt: the model knows none of its pairs. Was it learned from words"):
        match_pairs(pairs, range(3))
