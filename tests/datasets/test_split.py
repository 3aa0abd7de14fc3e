import gzip

import pytest

from latentia import LatentiaError
from latentia.datasets.readers import read_corpus, read_texts
from latentia.exceptions import FileNotice

TEXT = " ".join(["word"] * 30)


def written(path, text):
    path.write_text(text, "utf-8")
    return path


def chapters(*headings, title="A NOVEL\n\nby Somebody\n\n\n"):
    """A text with these headings, and in every chapter a word of its own."""
    return title + "".join(f"{heading}\n\n\nown{i} {TEXT}\n{TEXT}\n\n\n" for i, heading in enumerate(headings))


@pytest.mark.parametrize(
    ("headings", "names"),
    [
        (["CHAPTER I", "CHAPTER II", "CHAPTER III"], ["chapter 1", "chapter 2", "chapter 3"]),
        (["Chapter 1.", "Chapter 2: The End"], ["chapter 1", "chapter 2"]),
        (
            ["CHAPTER THE FIRST", "CHAPTER THE SECOND.", "EPILOGUE"],
            ["chapter the first", "chapter the second", "epilogue"],
        ),
        (["# Chapter One", "## Chapter Twenty-One: Home"], ["chapter one", "chapter twenty-one"]),
        (["Erstes Kapitel", "Zweites Kapitel.", "3. Kapitel"], ["erstes kapitel", "zweites kapitel", "3. kapitel"]),
        (["CHAPITRE PREMIER", "CHAPITRE II", "CHAPITRE IX"], ["chapitre premier", "chapitre 2", "chapitre 9"]),
        (["Capítulo primero", "CAPÍTULO II"], None),
        (["CAPÍTULO PRIMERO", "CAPÍTULO XIV"], ["capítulo primero", "capítulo 14"]),
        (["ГЛАВА I", "Глава 2. Дом"], ["глава 1", "глава 2"]),
        (["第一章 甲", "第二章"], ["第一章", "第二章"]),
        (["I.", "II.", "III."], ["chapter 1", "chapter 2", "chapter 3"]),
        (["1", "2", "3"], ["chapter 1", "chapter 2", "chapter 3"]),
        (["I. A SCANDAL", "II. THE LEAGUE", "III. THE PIPS"], ["chapter 1", "chapter 2", "chapter 3"]),
        (["BOOK I", "BOOK II"], ["book 1", "book 2"]),
        (["Letter 1", "Letter 2", "Chapter 1"], ["letter 1", "letter 2", "chapter 1"]),
    ],
)
def test_headings_of_novels(tmp_path, headings, names):
    source = written(tmp_path / "n.txt", chapters(*headings))
    if names is None:
        with pytest.raises(LatentiaError, match=r"^split='chapter': n.txt: expected headings of chapters, found none"):
            read_texts(source, split="chapter")
        return
    texts = read_texts(source, split="chapter")
    assert texts.names == [f"n.txt, {name}" for name in names]
    assert [text.split()[0] for text in texts.texts] == [f"own{i}" for i in range(len(names))]
    assert all(len(text.split()) == 61 for text in texts.texts)


def test_chapters_of_volumes_are_named_by_both(tmp_path):
    novel = (
        "EMMA\n\n\nVOLUME I\n\n\n"
        + chapters("CHAPTER I", "CHAPTER II", title="")
        + "VOLUME II\n\n"
        + chapters("CHAPTER I")
    )
    with gzip.open(tmp_path / "emma.txt.gz", "wt") as file:
        file.write(novel.replace("\n", "\r\n"))
    names = ["volume 1, chapter 1", "volume 1, chapter 2", "volume 2, chapter 1"]
    assert read_texts(tmp_path / "emma.txt.gz", split="chapter").names == [f"emma.txt, {name}" for name in names]


def test_chapters_that_count_anew_without_a_volume_are_numbered(tmp_path):
    source = written(tmp_path / "n.txt", chapters("Chapter 1", "Chapter 2", "Chapter 1", "Chapter 2"))
    assert read_texts(source, split="chapter").names == [f"n.txt, chapter {i}" for i in range(1, 5)]


def test_contents_licence_and_preface(tmp_path):
    contents = "CONTENTS\n\nCHAPTER I.     Down\nCHAPTER II.    Pool\n\n"
    novel = (
        contents
        + f"A preface. {TEXT} {TEXT} {TEXT} {TEXT}\n\n\n"
        + chapters("CHAPTER I.\nDown", "CHAPTER II.\nPool", title="")
    )
    start, end = (f"*** {mark} OF THE PROJECT GUTENBERG EBOOK ALICE ***\n" for mark in ("START", "END"))
    source = written(tmp_path / "n.txt", f"licence\n\n{start}\n{novel}\n{end}licence {TEXT}")
    texts = read_texts(source, split="chapter")
    assert texts.names == ["n.txt, opening", "n.txt, chapter 1", "n.txt, chapter 2"]
    assert texts.texts[1].startswith("Down")
    assert "licence" not in " ".join(texts.texts)


def test_sentences_that_begin_like_headings_are_none(tmp_path):
    text = f"Chapter 3 of this book says so.\n\n{TEXT}\nChapter 4 and\nchapter 5 do not\n\nI. was here\n\n{TEXT}"
    with pytest.raises(LatentiaError, match="expected headings of chapters"):
        read_texts(written(tmp_path / "n.txt", text), split="chapter")


def test_texts_without_headings_stay_whole_among_others(tmp_path):
    written(tmp_path / "a.txt", chapters("CHAPTER I", "CHAPTER II"))
    written(tmp_path / "b.txt", TEXT)
    with pytest.warns(FileNotice, match=r"1 of 2 texts have no headings of chapters and are not cut: b.txt\."):
        assert read_texts(tmp_path, split="chapter").names == ["a.txt, chapter 1", "a.txt, chapter 2", "b.txt"]


def test_paragraphs_are_joined_until_they_are_long_enough(tmp_path):
    text = "\n\n".join([TEXT] * 5 + [" ".join([TEXT] * 5)] + ["short"])
    texts = read_texts(written(tmp_path / "n.txt", text), split="paragraph")
    assert texts.names == ["n.txt, paragraphs 1 to 4", "n.txt, paragraphs 5 to 7"]
    assert [len(text.split()) for text in texts.texts] == [120, 181]
    one_each_line = read_texts(written(tmp_path / "l.txt", "\n".join([TEXT] * 8)), split="paragraph")
    assert [len(text.split()) for text in one_each_line.texts] == [120, 120]


def test_so_many_words(tmp_path):
    source = written(tmp_path / "n.txt", "\n".join(f"word{i} other{i}" for i in range(5)))
    texts = read_texts(source, split=4)
    assert texts.names == ["n.txt, part 1", "n.txt, part 2", "n.txt, part 3"]
    assert " ".join(texts.texts).split() == source.read_text().split()
    assert [len(text.split()) for text in read_texts(source, split=9).texts] == [10]  # a short rest goes to the last
    corpus = read_corpus(source, split=4)
    assert corpus.blocks.n_rows == len(corpus.names) == 3


@pytest.mark.parametrize("split", ["chapters", 0, -3, 2.5, True, ""])
def test_other_ways_to_cut_are_refused(tmp_path, split):
    with pytest.raises(LatentiaError, match="expected 'chapter', 'paragraph', or a number of words"):
        read_texts(written(tmp_path / "n.txt", TEXT), split=split)


def test_tables_of_counts_have_no_texts_to_cut(tmp_path):
    written(tmp_path / "docword.txt", "1\n2\n1\n1 2 3\n")
    with pytest.raises(LatentiaError, match=r"^split='chapter': .*docword.txt: a table of counts"):
        read_corpus(tmp_path / "docword.txt", split="chapter")


def test_running_text_is_told_from_a_document_per_line(tmp_path):
    page = (
        "It was a bright cold day and the clocks\nwere striking thirteen as he went home\nto sleep. He\nthen slept.\n"
    )
    with pytest.warns(FileNotice, match="looks like running text. split='chapter'"):
        read_corpus(written(tmp_path / "n.txt", page * 40), min_df=1, max_df=1.0)
    read_corpus(written(tmp_path / "t.txt", "A title of a paper\n" * 200), min_df=1, max_df=1.0)
