import bz2
import gzip
import lzma
import tracemalloc
import warnings

import pytest

from latentia import LatentiaError
from latentia.datasets import load_bible, readers
from latentia.passes.formats import _text
from latentia.system import compressed as _compressed

LINES = "the red house stood here\n\nred house and blue house\nblue river flows\n"


def test_lines_folder_and_csv_give_the_same_documents(tmp_path):
    (tmp_path / "lines.txt").write_text(LINES)
    folder = tmp_path / "folder"
    folder.mkdir()
    texts = [line for line in LINES.splitlines() if line]
    for i, text in enumerate(texts):
        (folder / f"{i}.txt").write_text(text)
    (tmp_path / "t.csv").write_text("id,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts)))
    for path in ("lines.txt", "folder", "t.csv"):
        corpus = readers.read_corpus(tmp_path / path, min_df=1, max_df=1.0)
        assert corpus.vocabulary == ["blue", "flows", "house", "red", "river", "stood"]
        assert corpus.counts.toarray().sum() == 10
    assert readers.read_corpus(tmp_path / "lines.txt", min_df=1).names == ["line 1", "line 3", "line 4"]


def test_gzip_and_extra_stop_words(tmp_path):
    with gzip.open(tmp_path / "l.txt.gz", "wt") as file:
        file.write(LINES)
    corpus = readers.read_corpus(tmp_path / "l.txt.gz", min_df=1, stop_words=["house"])
    assert "house" not in corpus.vocabulary
    assert "the" not in corpus.vocabulary


@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("utf-16-le", None), ("utf-16-be", None), ("utf-32", None),
        ("cp1251", "cp1251"), ("koi8-r", "koi8-r"), ("shift_jis", "shift_jis"),
    ],
)  # fmt: skip
def test_encodings(tmp_path, encoding, named):
    text = "red caf\u00e9\nblue \u20ac river\n" if named is None else "\u043a\u0440\u0430\u0441\u043d\nred\n"
    for name, content in (("x.txt", text), ("x.csv", "text\n" + text)):
        (tmp_path / name).write_bytes(content.encode(encoding))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert readers.read_texts(tmp_path / name, encoding=named).texts == text.splitlines()


def test_a_column_of_what_has_none_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text(LINES)
    with pytest.raises(LatentiaError, match=r"x\.txt: has no columns. Leave 'body' out"):
        readers.read_corpus(tmp_path / "x.txt", column="body")


def test_bytes_that_only_look_like_utf_16_are_no_text(tmp_path):
    (tmp_path / "x.txt").write_bytes(bytes(byte for i in range(100) for byte in (i % 20 + 1, 0)))
    with pytest.raises(LatentiaError, match="not a text file"):
        readers.read_texts(tmp_path / "x.txt")


@pytest.mark.parametrize("name", ["x.txt.gz", "x.csv.gz", "docword.x.txt.gz", "x.mtx.gz", "x.txt.bz2", "x.txt.xz"])
def test_what_unpacks_to_more_than_any_text_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_compressed, "_MIN_LIMIT_BYTES", 1 << 20)
    compress = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[name[name.rindex(".") :]]
    monkeypatch.setattr(_text, "_CHUNK", 1 << 16)
    start = {"docword": b"3\n3\n3\n", "x.mtx.g": b"%%MatrixMarket matrix array real general\n9 9\n"}.get(
        name[:7], b"text\n"
    )
    (tmp_path / name).write_bytes(compress(start + b" " * (1 << 25)))
    tracemalloc.start()
    with pytest.raises(
        LatentiaError, match=rf"{name}: its \d+ bytes unpack to more than \d+ bytes, unlike texts and tables"
    ):
        readers.read_corpus(tmp_path / name)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 25  # it is not unpacked whole
    (tmp_path / name).write_bytes(compress(b"red house\nblue river\n" * 5000))  # Much alike, and within the limit.
    if name.startswith("x.txt"):
        assert len(readers.read_texts(tmp_path / name)) == 10_000


def test_a_line_that_is_longer_than_any_row_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_CHUNK", 1 << 10)
    monkeypatch.setattr(_text, "LONGEST_LINE", 1 << 12)
    (tmp_path / "docword.x.txt").write_bytes(b"2\n2\n2\n1 1 1\n" + b" " * (1 << 14))
    with pytest.raises(LatentiaError, match=r"docword.x.txt, line 5: longer than 4096 bytes"):
        readers.read_corpus(tmp_path / "docword.x.txt")
    for name, start in (("x.txt", "red house\n"), ("x.csv", "text\n")):
        (tmp_path / name).write_text(start + "a" * (1 << 14) + "\nred\n")
        monkeypatch.setattr(_text, "_SCAN_BYTES", 1 << 10)
        with pytest.raises(LatentiaError, match=rf"{name}, line 2: longer than 4096 characters"):
            readers.read_texts(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "expected text, found an empty file"),
        ("a.txt", b"fine\nna\xefve\x81\n", "line 2: not UTF-8"),
        ("a.txt", "gar\u00e7on\n".encode() * 3 + b"gar\xc3on\n", "line 4: not UTF-8"),
        ("a.txt", b"\xff\xfer\0e\0d\0\n\0h", "line 2: not UTF-16"),
        ("a.txt", b"%PDF-1.7 of words", "not a text file, but a PDF document"),
        ("a.txt", b"abc\n" * 9000 + b"\0\n", "line 9001: a NUL byte"),
        ("a.txt", b"abc\0def", "not a text file"),
        ("a.txt.gz", gzip.compress(b"hello", mtime=0)[:-9], "damaged or truncated"),
        ("a.csv", b"id,body\n1,x\n", "which column.*id, body"),
        ("a.csv", b"text\n", "no rows"),
        ("a.csv", b"", "empty"),
        ("a.csv", b"id,text\n1,fine\n2\n", "line 3: 1 fields"),
        ("a.csv", b"text\nred, blue\n", "line 2: 2 fields, and the header has 1"),
        ("a.csv", b'id,text\n1,"red\n2,blue\n', "line 2: not readable as CSV"),
        ("a.txt", b"the and of\nwith by\n", "no words remain of 2 texts"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LatentiaError, match=message) as error:
        readers.read_corpus(tmp_path / name, min_df=1, max_df=1.0)
    assert name in str(error.value)


def test_missing_things(tmp_path):
    with pytest.raises(LatentiaError, match="no such file or folder"):
        readers.read_corpus(tmp_path / "x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LatentiaError, match="has no files"):
        readers.read_corpus(tmp_path / "empty")
    (tmp_path / "t.csv").write_text("id,text\n1,a\n")
    with pytest.raises(LatentiaError, match="no column 'body'"):
        readers.read_corpus(tmp_path / "t.csv", column="body")


def test_table_with_a_vocabulary_of_the_wrong_size(tmp_path):
    (tmp_path / "docword.txt").write_text("1\n2\n2\n1 1 3\n1 2 1\n")
    (tmp_path / "words.txt").write_text("a\nb\nc\n")
    with pytest.raises(LatentiaError, match="expected 2 words.*found 3"):
        readers.read_corpus(tmp_path / "docword.txt", vocabulary=tmp_path / "words.txt")


def test_bundled_bible():
    bible = load_bible()
    assert len(bible) == 1189
    assert bible.names[0] == "Genesis 1"
    assert bible.names[-1] == "Revelation 22"
    assert bible.texts[0].startswith("In the beginning God created")


def test_lines_end_where_a_reader_sees_them_end(tmp_path):
    (tmp_path / "l.txt").write_bytes("red\u2028house\x85 tree\r\nblue river\rgreen field".encode())
    assert readers.read_texts(tmp_path / "l.txt").texts == ["red\u2028house\x85 tree", "blue river", "green field"]
    (tmp_path / "t.csv").write_bytes('id,text\n1,"two\nlines"\n2,one\u2028line\n'.encode())
    texts = readers.read_texts(tmp_path / "t.csv")
    assert texts.texts == ["two\nlines", "one\u2028line"]
    assert texts.names == ["line 2", "line 4"]


def test_hidden_folders_and_utf16(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref")
    (tmp_path / "header.json").write_text("{}")
    (tmp_path / "a.txt").write_bytes("red house".encode("utf-16"))
    assert readers.read_texts(tmp_path).texts == ["red house", "{}"]


def test_options_without_effect_are_refused(tmp_path):
    (tmp_path / "l.txt").write_text(LINES)
    with pytest.raises(LatentiaError, match="contain their words"):
        readers.read_corpus(tmp_path / "l.txt", vocabulary="words.txt")
