import numpy as np
import pytest

from latentia import LatentiaError
from latentia.datasets.readers import Texts, count_words, read_corpus, read_texts
from latentia.passes import Blocks


def written(path, text):
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    """Three texts."""
    (tmp_path / "speeches").mkdir()
    for name in ("anna", "bela", "carl"):
        written(tmp_path / "speeches" / f"{name}.txt", f"{name} red house\n\n\nblue {name} river")
    return tmp_path / "speeches"


def test_the_other_columns_of_a_table(tmp_path):
    path = written(tmp_path / "t.csv", ',text,date,date,"a, b"\n1,red,2020,x,y\n2,,2021,z,\n3,blue,2022,,w\n')
    texts = read_texts(path)
    assert texts.columns == {
        "column 1": ["1", "2", "3"], "date": ["2020", "2021", "2022"], "date (2)": ["x", "z", ""], "a, b": ["y", "", "w"],
    }  # fmt: skip
    corpus = read_corpus(path)
    assert corpus.columns == texts.columns
    assert corpus.blocks.n_rows == len(corpus.texts) == 3


def test_the_other_columns_of_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["party", "speech", "year"], ["left", "red house", 2020], ["right", "blue house", None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    columns = read_corpus(tmp_path / "t.xlsx", column="speech").columns
    assert columns == {"party": ["left", "right"], "year": ["2020", ""]}


def test_columns_follow_the_parts_of_a_text(tmp_path):
    path = written(tmp_path / "t.csv", 'text,date\n"one two three four",2020\n,2021\nfive six,2022\n')
    texts = read_texts(path, split=2)
    assert texts.names == ["line 2, part 1", "line 2, part 2", "line 4, part 1"]
    assert texts.columns == {"date": ["2020", "2020", "2022"]}


def test_no_columns_where_there_are_none(folder, tmp_path):
    assert read_texts(folder).columns == {}
    assert count_words(Texts(["red house", "blue house"], [], "x")).columns == {}
    assert read_texts(written(tmp_path / "l.txt", "red\nblue\n")).columns == {}


@pytest.mark.parametrize("names", ["anna.txt bela.txt carl.txt", "anna bela carl", "x y z"])
def test_metadata_by_name_or_in_order(folder, tmp_path, names):
    rows = [f"{name},{i}" for i, name in enumerate(names.split())]
    rows = rows if names.startswith("x") else [*rows[::-1], "else,9"]
    texts = read_texts(folder, metadata=written(tmp_path / "about.csv", "\n".join(["who,year", *rows])))
    assert texts.columns["year"] == ["0", "1", "2"]
    assert texts.columns.get("who") == (["x", "y", "z"] if names.startswith("x") else None)


def test_metadata_of_files_and_of_their_parts(folder, tmp_path):
    of_files = written(tmp_path / "files.csv", "who,year\nanna,1\nbela,2\ncarl,3\n")
    assert read_texts(folder, split=3, metadata=of_files).columns == {"year": ["1", "1", "2", "2", "3", "3"]}
    of_parts = written(tmp_path / "parts.csv", "n\n" + "".join(f"{i}\n" for i in range(6)))
    assert read_texts(folder, split=3, metadata=of_parts).columns == {"n": list("012345")}


def test_metadata_of_lines_blank_ones_or_not(tmp_path):
    path = written(tmp_path / "l.txt", "red house\n\nblue house\n")
    of_all = written(tmp_path / "all.txt", "1\n2\n3\n")
    assert read_corpus(path, metadata=of_all).columns == {"all": ["1", "3"]}
    of_filled = written(tmp_path / "filled.csv", "n\n1\n3\n")
    assert read_corpus(path, metadata=of_filled).columns == {"n": ["1", "3"]}


def test_metadata_in_the_folder_is_no_document(folder):
    texts = read_texts(folder, metadata=written(folder / "about.csv", "who,year\nanna,1\nbela,2\ncarl,3\n"))
    assert len(texts) == 3


def test_metadata_of_a_table_of_counts(tmp_path):
    written(tmp_path / "docword.txt", "2\n2\n2\n1 2 3\n2 1 1\n")
    corpus = read_corpus(
        tmp_path / "docword.txt", metadata=written(tmp_path / "labels.txt", "sport\nspace\n"), cache=False
    )
    assert corpus.columns == {"labels": ["sport", "space"]}


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ("who,year\nanna,1\nbela,2\n", r"about.csv: 1 of 3 documents have no row: carl.txt. Add a row"),
        ("who,year\nanna,1\nbela,2\ncarl,3\nanna,4\n", r"about.csv: two rows for 'anna'. Keep one"),
        (
            "year\n1\n2\n",
            r"about.csv: expected a row for each of the 3 documents.*\(anna.txt, bela.txt, carl.txt\)",
        ),
        ("who,year\n", r"about.csv: there are no rows"),
        ("who,year\nanna\n", r"about.csv, line 2: 1 fields"),
    ],
)
def test_metadata_that_does_not_fit(folder, tmp_path, about, message):
    with pytest.raises(LatentiaError, match=message):
        read_texts(folder, metadata=written(tmp_path / "about.csv", about))


def test_metadata_that_is_not_there_or_there_twice(tmp_path):
    path = written(tmp_path / "t.csv", "text,date\nred,1\nblue,2\n")
    with pytest.raises(LatentiaError, match=r"x.csv: no such file"):
        read_texts(path, metadata=tmp_path / "x.csv")
    with pytest.raises(LatentiaError, match=r"a column 'date', which t.csv has too"):
        read_texts(path, metadata=written(tmp_path / "m.csv", "date\n1\n2\n"))
    written(tmp_path / "docword.txt", "2\n2\n2\n1 2 3\n2 1 1\n")
    with pytest.raises(
        LatentiaError, match=r"m.csv: expected a row for each of the 2 documents, in their order; found 3 rows"
    ):
        read_corpus(tmp_path / "docword.txt", metadata=written(tmp_path / "m.csv", "date\n1\n2\n3\n"), cache=False)


# --- words of tables of counts ------------------------------------------------------------------------------------


@pytest.fixture
def bag(tmp_path):
    """Four hundred documents of six words; "house" is in all, "river" in half, "rare" in one."""
    counts = np.zeros((400, 6), int)
    words = ["the", "house", "river", "don", "rare", "tree"]
    counts[:, :2], counts[::2, 2], counts[:90, 3], counts[0, 4], counts[50:200, 5] = 2, 1, 1, 1, 3
    entries = [f"{d + 1} {w + 1} {counts[d, w]}" for d, w in zip(*counts.nonzero(), strict=True)]
    written(tmp_path / "docword.b.txt", "\n".join(["400", "6", str(len(entries)), *entries]))
    written(tmp_path / "vocab.b.txt", "\n".join(words) + "\n")
    return tmp_path / "docword.b.txt", counts


def test_words_of_a_table_are_chosen_as_those_of_texts(bag):
    path, counts = bag
    corpus = read_corpus(path, cache=False)
    assert corpus.vocabulary == corpus.blocks.names == ["river", "tree"]
    assert corpus.left_out == {"stop words": 2, "in fewer than 2 documents": 1, "in more than 50% of the documents": 1}
    np.testing.assert_array_equal(corpus.counts.toarray(), counts[:, [2, 5]])
    every = read_corpus(path, cache=False, stop_words=None, min_df=1, max_df=1.0)
    assert every.vocabulary == ["the", "house", "river", "don", "rare", "tree"]
    assert not every.left_out
    mine = read_corpus(path, cache=False, stop_words=["tree"], min_df=1, max_df=1.0)
    assert mine.vocabulary == ["house", "river", "rare"]
    assert read_corpus(path, cache=False, max_features=1).vocabulary == ["tree"]
    with pytest.raises(LatentiaError, match="no words are left of 6"):
        read_corpus(path, cache=False, min_df=300)


def test_a_table_is_read_by_blocks_without_its_stop_words(bag):
    path, counts = bag
    corpus = read_corpus(path, cache=False)
    part = corpus.blocks.split(2)[0]
    rows = np.concatenate([block.rows for block in part])
    np.testing.assert_array_equal(part.table().toarray(), counts[rows][:, [2, 5]])


def test_a_table_without_a_vocabulary(bag):
    path, counts = bag
    path.with_name("vocab.b.txt").unlink()
    assert read_corpus(path, cache=False).blocks.shapes == ((400, 6),)
    corpus = read_corpus(path, cache=False, max_df=0.9)
    assert corpus.vocabulary == ["word 2", "word 3", "word 4", "word 5"]
    with pytest.raises(LatentiaError, match=r"docword.b.txt: the columns of the table have no names"):
        read_corpus(path, cache=False, stop_words="english")
    again = read_corpus(path, cache=False, words=corpus.vocabulary)
    np.testing.assert_array_equal(again.counts.toarray(), counts[:, 2:])


def test_words_of_a_dense_table(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    pd.DataFrame({"the": [1, 2], "red": [0, 3]}).to_parquet(tmp_path / "t.parquet")
    corpus = read_corpus(tmp_path / "t.parquet", cache=False)
    assert corpus.vocabulary == ["red"]
    np.testing.assert_array_equal(corpus.counts, [[0], [3]])


def test_counts_below_zero_are_named_by_their_word(tmp_path):
    matrix = "%%MatrixMarket matrix coordinate real general\n30 2 2\n1 1 1\n2 2 -3\n"
    written(tmp_path / "x.mtx", matrix)
    written(tmp_path / "w.txt", "red\nblue\n")
    with pytest.raises(LatentiaError, match=r"count of -3.0 in row 1, column 1 \('blue'\)"):
        read_corpus(tmp_path / "x.mtx", vocabulary=tmp_path / "w.txt", cache=False)


def test_words_of_a_model(bag):
    path, counts = bag
    corpus = read_corpus(path, cache=False, words=["tree", "zebra", "house"], stop_words=None)
    np.testing.assert_array_equal(corpus.counts.toarray(), np.c_[counts[:, 5], np.zeros(400), counts[:, 1]])
    assert corpus.n_unknown == counts[:, [0, 2, 3, 4]].sum()
    texts = count_words(["red house", "blue red the"], words=["blue", "green", "red"])
    assert texts.counts.toarray().tolist() == [[0, 0, 1], [1, 0, 1]]
    assert texts.n_unknown == 1
    with pytest.raises(LatentiaError, match="none of its words"):
        count_words(["red house"], words=["zebra"])


@pytest.mark.parametrize("language", ["german", "de"])
def test_stop_words_of_a_language(language):
    pytest.importorskip("stopwordsiso")
    corpus = count_words(["der Hund und die Katze", "ein Hund ohne Katze"], stop_words=language)
    assert corpus.vocabulary == ["hund", "katze"]
    assert "the" in count_words(["the Hund", "the Katze"], stop_words="german").vocabulary
    extra = count_words(["der Hund und die Katze"], stop_words=["hund"], language=language)
    assert extra.vocabulary == ["katze"]


def test_a_language_that_nobody_knows():
    with pytest.raises(LatentiaError, match="^stop_words='germann': did you mean 'german'"):
        count_words(["ein Hund"], stop_words="germann")


def test_blocks_of_chosen_words_are_those_of_the_source(bag):
    path, _ = bag
    whole = Blocks.from_files(path, cache=False)
    corpus = read_corpus(path, cache=False)
    assert [block.start for block in corpus.blocks] == [block.start for block in whole]


def test_texts_are_iterated_and_indexed():
    texts = Texts(["red", "green", "blue"], ["a", "b", "c"], "here", columns={"n": ["1", "2", "3"]})
    assert list(texts) == texts.texts
    assert [texts[0], texts[-1], texts[np.int64(1)]] == ["red", "blue", "green"]
    assert texts[1:] == Texts(["green", "blue"], ["b", "c"], "here", columns={"n": ["2", "3"]})
    assert texts[::-1].columns == {"n": ["3", "2", "1"]}
    assert Texts(["red", "green"], [], "here")[:1].names == []
    with pytest.raises(IndexError):
        texts[3]
