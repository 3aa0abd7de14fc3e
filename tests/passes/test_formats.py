import gzip

import numpy as np
import pytest
from scipy import io, sparse
from sklearn.datasets import dump_svmlight_file

from latentia import LatentiaError
from latentia.passes import Blocks, formats, read_cache, write_cache


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    return sparse.csr_array(rng.poisson(0.3, (40, 25)) * rng.integers(1, 12, (40, 25)))


def uci(path, counts, order=None, head=None, opener=open):
    coo = counts.tocoo()
    rows = list(zip(coo.row + 1, coo.col + 1, coo.data, strict=True))
    rows = [rows[i] for i in order] if order is not None else rows
    head = head or (*counts.shape, counts.nnz)
    text = "".join(f"{n}\n" for n in head) + "".join(f"{d} {w} {c}\n" for d, w, c in rows)
    with opener(path, "wt") as file:
        file.write(text)
    return path


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("chunk", [40, 1 << 25])
def test_uci_in_any_order_and_any_chunk(tmp_path, counts, shuffled, chunk, monkeypatch):
    monkeypatch.setattr(formats, "_CHUNK", chunk)
    order = np.random.default_rng(1).permutation(counts.nnz) if shuffled else None
    blocks = Blocks.from_files(uci(tmp_path / "docword.x.txt", counts, order))
    assert (blocks.table() != counts).nnz == 0
    assert blocks.table().dtype.kind == "i"


def test_gzip_vocabulary_and_stale_caches(tmp_path, counts):
    path = uci(tmp_path / "docword.x.txt.gz", counts, opener=gzip.open)
    (tmp_path / "vocab.x.txt").write_text("".join(f"w{i}\n" for i in range(25)))
    assert Blocks.from_files(path).names == [f"w{i}" for i in range(25)]
    cache = tmp_path / "docword.x.txt.gz.latentia-cache" / "header.json"
    written = cache.stat().st_mtime_ns
    Blocks.from_files(path)
    assert cache.stat().st_mtime_ns == written
    uci(path, 2 * counts, opener=gzip.open)
    assert (Blocks.from_files(path).table() != 2 * counts).nnz == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("2\n3\nx\n", "line 3: expected the number of entries, found 'x'"),
        ("2\n3\n2\n1 1 1\n1 a 2\n", "line 5: expected 'document word count'.*found '1 a 2'"),
        ("2\n3\n2\n1 1 1\n3 1 2\n", "line 5: .*row 1 to 2"),
        ("2\n3\n2\n1 1 1\n2 4 2\n", "line 5: .*column 1 to 3"),
        ("2\n3\n2\n1 1 1\n2 1 -2\n", "line 5: .*a whole count"),
        ("2\n3\n2\n1 1 1\n2 1 1.5\n", "line 5: .*a whole count"),
        ("2\n3\n2\n1 1 1\n2 1 nan\n", "line 5"),
        ("2\n3\n2\n1 1 1\n", "promises 2 entries and 1 were found"),
        ("2\n3\n1\n1 1 1\n2 1 1\n", "promises 1 entries, and there are more"),
        ("2\n3\n2\n1 1 1\n2 1 1 7\n", "line 5"),
    ],
)
def test_malformed_uci_names_file_and_line_and_leaves_nothing(tmp_path, lines, message):
    path = tmp_path / "docword.bad.txt"
    path.write_text(lines)
    with pytest.raises(LatentiaError, match=message) as error:
        Blocks.from_files(path)
    assert "docword.bad.txt" in str(error.value)
    assert [p.name for p in tmp_path.iterdir()] == ["docword.bad.txt"]


def test_truncated_gzip(tmp_path, counts):
    path = uci(tmp_path / "docword.x.txt.gz", counts, opener=gzip.open)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LatentiaError, match="damaged or truncated"):
        Blocks.from_files(path)


@pytest.mark.parametrize("field", ["integer", "real", "pattern"])
def test_matrixmarket(tmp_path, counts, field):
    table = counts.astype(bool).astype(int) if field == "pattern" else counts * (0.125 if field == "real" else 1)
    io.mmwrite(tmp_path / "x.mtx", sparse.coo_matrix(table), field=field)
    assert abs(Blocks.from_files(tmp_path / "x.mtx").table() - table).max() == 0


def test_matrixmarket_decimals_are_exact(tmp_path):
    values = np.array([0.1, 1e-7, 123456.789, 3.0e22, -2.5, 1e10])
    table = sparse.csr_array((values, (np.arange(6), np.zeros(6, int))))
    lines = "".join(f"{i + 1} 1 {v!r}\n" for i, v in enumerate(values.tolist()))
    (tmp_path / "x.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n% c\n6 1 6\n{lines}")
    assert (Blocks.from_files(tmp_path / "x.mtx").table() != table).nnz == 0


def test_matrixmarket_symmetric_and_dense_go_through_scipy(tmp_path):
    square = np.array([[1.0, 2.0], [2.0, 0.0]])
    io.mmwrite(tmp_path / "s.mtx", sparse.coo_matrix(square), symmetry="symmetric")
    io.mmwrite(tmp_path / "d.mtx", square)
    np.testing.assert_array_equal(Blocks.from_files(tmp_path / "s.mtx").table().toarray(), square)
    np.testing.assert_array_equal(Blocks.from_files(tmp_path / "d.mtx").table(), square)


def test_extreme_classification_file(tmp_path):
    (tmp_path / "train.txt").write_text("3 4 5\n0,4 0:1 3:2.5\n 1:1e-1\n2 \n")
    blocks = Blocks.from_files(tmp_path / "train.txt")
    x, y = blocks[0]
    np.testing.assert_array_equal(x.toarray(), [[1, 0, 0, 2.5], [0, 0.1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(y.toarray(), [[1, 0, 0, 0, 1], [0] * 5, [0, 0, 1, 0, 0]])


def svmlight(tmp_path, text, **options):
    """X and Y of a file, dense."""
    path = tmp_path / "train.svm"
    path.write_bytes(text.encode())
    x, y = Blocks.from_files(path, format="svmlight", **options)[0]
    return x.toarray(), y.toarray()


def test_svmlight_that_never_shows_a_0_is_refused(tmp_path):
    text = "1 1:1 2:2\n2 3:1\n"
    with pytest.raises(LatentiaError, match="Found features 1 to 3 and labels 1 to 2.*zero_based=True or zero_based=F"):
        svmlight(tmp_path, text)
    for options in ({"zero_based": False}, {"zero_based": False, "n_features": 3, "n_labels": 2}):
        x, y = svmlight(tmp_path, text, **options)
        np.testing.assert_array_equal(x, [[1, 2, 0], [0, 0, 1]])
        np.testing.assert_array_equal(y, [[1, 0], [0, 1]])
    x, y = svmlight(tmp_path, text, zero_based=True, labels_zero_based=None)
    np.testing.assert_array_equal(x, [[0, 1, 2, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(y, [[0, 1, 0], [0, 0, 1]])
    x, y = svmlight(tmp_path, text, zero_based=True, labels_zero_based=False)
    assert (x.shape, y.shape) == ((2, 4), (2, 2))


def test_svmlight_where_a_0_proves_the_start(tmp_path):
    x, y = svmlight(tmp_path, "0,2 3:1\n1 0:2\n")
    np.testing.assert_array_equal(x, [[0, 0, 0, 1], [2, 0, 0, 0]])
    np.testing.assert_array_equal(y, [[1, 0, 1], [0, 1, 0]])
    x, y = svmlight(tmp_path, "0,2 3:1\n1 0:2\n", n_features=6, n_labels=5)
    assert (x.shape, y.shape) == ((2, 6), (2, 5))
    y = svmlight(tmp_path, "1,2 3:1\n1 0:2\n")[1]
    np.testing.assert_array_equal(y, [[0, 1, 1], [0, 1, 0]])
    y = svmlight(tmp_path, "1,2 3:1\n1 0:2\n", labels_zero_based=False)[1]
    np.testing.assert_array_equal(y, [[1, 1], [1, 0]])
    with pytest.raises(LatentiaError, match="no 0 among the labels,.*no features and labels 1 to 2.*Pass labels_zero"):
        svmlight(tmp_path, "1,2\n1\n", n_features=3)
    with pytest.raises(
        LatentiaError, match="no 0 among the features,.*features 1 to 3 and labels 0 to 2.*only the feat"
    ):
        svmlight(tmp_path, "0,2 3:1\n1 1:2\n")


def test_classic_svmlight_counts_features_from_1_and_labels_from_0(tmp_path):
    text = "0 1:1\n1 2:2\n"
    with pytest.raises(LatentiaError, match="line 1: expected labels from 1, not 0 .*labels_zero_based=True"):
        svmlight(tmp_path, text, zero_based=False)
    with pytest.raises(LatentiaError, match="line 1: expected labels from 1, not 0 .*labels_zero_based=True"):
        svmlight(tmp_path, "0 1:1\n0 2:2\n", zero_based=False)
    with pytest.raises(LatentiaError, match="features 1 to 2 and labels 0 to 1.*Pass zero_based=True, or zero_based=F"):
        svmlight(tmp_path, text, labels_zero_based=True)
    x, y = svmlight(tmp_path, text, zero_based=False, labels_zero_based=True)
    np.testing.assert_array_equal(x, [[1, 0], [0, 2]])
    np.testing.assert_array_equal(y, [[1, 0], [0, 1]])


@pytest.mark.parametrize("chunk", [12, 1 << 25])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_svmlight_rows_without_labels_features_or_anything(tmp_path, chunk, end, monkeypatch):
    monkeypatch.setattr(formats, "_CHUNK", chunk)
    lines = [
        "# a file: 1,2",
        "0,2 0:1 2:-2.5  ",
        " 1:3",
        "1:4",
        "1",
        "2\t",
        "",
        "1,1,0 1:1 1:2 # 5:5, 6",
        " # none",
        "1#x",
    ]
    x, y = svmlight(tmp_path, end.join([*lines, "0 0:1#"]))
    rows = [[1, 0, -2.5], [0, 3, 0], [0, 4, 0], [0] * 3, [0] * 3, [0] * 3, [0, 3, 0], [0] * 3, [0] * 3, [1, 0, 0]]
    labels = [[1, 0, 1], [0] * 3, [0] * 3, [0, 1, 0], [0, 0, 1], [0] * 3, [1, 1, 0], [0] * 3, [0, 1, 0], [1, 0, 0]]
    np.testing.assert_array_equal(x, rows)
    np.testing.assert_array_equal(y, labels)


def test_a_blank_line_of_svmlight_is_an_empty_document(tmp_path):
    x, y = svmlight(tmp_path, "\n0 0:1\n\n1 1:1\n\n")
    np.testing.assert_array_equal(x, [[0, 0], [1, 0], [0, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(y, [[0, 0], [1, 0], [0, 0], [0, 1], [0, 0]])
    with pytest.raises(LatentiaError, match="first line promises 1 rows and 2 were found: remove the others, blank"):
        svmlight(tmp_path, "1 2 2\n0 0:1\n\n")


def test_first_documents_without_words_are_still_recognised(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("5 2 12\n0,11\n \n3\n\n1 0:1\n")
    x, y = Blocks.from_files(path)[0]
    np.testing.assert_array_equal(x.toarray(), [[0, 0]] * 4 + [[1, 0]])
    np.testing.assert_array_equal(y.sum(axis=1), [2, 0, 1, 0, 1])
    path.write_text("5 2 12\n1 1 4\n")  # of a MatrixMarket file without its first line
    with pytest.raises(LatentiaError, match="not recognised"):
        Blocks.from_files(path)


def test_a_label_named_often_counts_once_and_a_feature_adds_up(tmp_path):
    x, y = svmlight(tmp_path, ",".join(["0"] * 256) + " 1:1 0:2 1:3\n")
    np.testing.assert_array_equal(x, [[2, 4]])
    np.testing.assert_array_equal(y, [[1]])


def test_svmlight_without_any_label_or_feature(tmp_path):
    x, y = svmlight(tmp_path, "0:1\n1:1\n")
    assert (x.shape, y.shape) == ((2, 2), (2, 0))
    assert svmlight(tmp_path, "0:1\n1:1\n", n_labels=4)[1].shape == (2, 4)
    with pytest.raises(LatentiaError, match="no feature in the file: give n_features="):
        svmlight(tmp_path, "0\n1\n")
    assert svmlight(tmp_path, "0\n1\n", n_features=3)[0].shape == (2, 3)
    for text, options in (("# nothing\n", {"n_features": 3}), ("0 3 4\n", {})):
        with pytest.raises(LatentiaError, match="no rows in the file"):
            svmlight(tmp_path, text, **options)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "0 4:1",
            "expected features from 0 to 3, not 4 .pass zero_based=False if the file counts from 1., found '0 4:1'",
        ),
        (
            "5 1:1",
            "expected labels from 0 to 4, not 5 .pass zero_based=False .*, labels_zero_based=False if only the lab",
        ),
        ("0 5:1", "expected features from 0 to 3, not 5, found"),
        ("0 99999999999999999999:1", "expected 'label,label feature:value ...', found"),
        ("99999999999999999999 1:1", "expected 'label,label"),
        ("0, 1:1", "expected 'label,label"),
        (",0 1:1", "expected 'label,label"),
        ("0;1 1:1", "expected 'label,label"),
        ("-1 1:1", "expected 'label,label"),
        ("0 1", "expected 'label,label"),
        ("0 1:", "expected 'label,label"),
        ("0 1:a", "expected 'label,label"),
        ("0 1:1,2:1", "expected 'label,label"),
        ("0 qid:1 1:1", "expected 'label,label"),
        ("0 1:nan", "expected 'label,label"),
        (" 0 1:1", "expected 'label,label"),
    ],
)
@pytest.mark.parametrize("head", ["3 4 5\n", "# no header\n"])
def test_malformed_svmlight_names_file_and_line(tmp_path, head, line, message):
    options = {} if head[0] == "3" else {"zero_based": True, "n_features": 4, "n_labels": 5}
    with pytest.raises(LatentiaError, match=f"train.svm, line 3: {message}"):
        svmlight(tmp_path, f"{head}0 0:1\n{line}\n1 1:1\n", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["train.svm"]


def test_malformed_svmlight_is_named_by_the_first_look_too(tmp_path):
    with pytest.raises(LatentiaError, match="train.svm, line 2: expected 'label,label feature:value ...', found '0 x'"):
        svmlight(tmp_path, "0 0:1\n0 x\n")
    with pytest.raises(LatentiaError, match="line 2: expected features from 1, not 0 .pass zero_based=True"):
        svmlight(tmp_path, "1 1:1\n1 0:1\n", zero_based=False)
    with pytest.raises(LatentiaError, match="line 1: expected no labels, as there are to be 0, found '0 0:1'"):
        svmlight(tmp_path, "0 0:1\n", n_labels=0)


def test_a_headed_svmlight_file_may_count_from_1(tmp_path):
    text = "2 3 2\n1,2 1:1 3:2\n2 2:1\n"
    with pytest.raises(LatentiaError, match="line 2: expected labels from 0 to 1, not 2 .pass zero_based=False"):
        svmlight(tmp_path, text)
    x, y = svmlight(tmp_path, text, zero_based=False)
    np.testing.assert_array_equal(x, [[1, 0, 2], [0, 1, 0]])
    np.testing.assert_array_equal(y, [[1, 1], [0, 1]])
    y = svmlight(tmp_path, "1 3 2\n0,1 1:1 3:2\n", zero_based=False, labels_zero_based=True)[1]
    np.testing.assert_array_equal(y, [[1, 1]])


def test_svmlight_dimensions_may_be_said_and_must_agree_with_the_first_line(tmp_path):
    text = "1 3 2\n0,1 1:1 2:2\n"
    x, y = svmlight(tmp_path, text, zero_based=True, n_features=np.int64(3), n_labels=2)
    assert (x.shape, y.shape) == ((1, 3), (1, 2))
    with pytest.raises(LatentiaError, match="train.svm: its first line says 3 features and 2 labels, and n_features=4"):
        svmlight(tmp_path, text, n_features=4, n_labels=2)
    with pytest.raises(LatentiaError, match="n_labels=7"):
        svmlight(tmp_path, text, n_labels=7)


@pytest.mark.parametrize(
    "options", [{"zero_based": "no"}, {"labels_zero_based": 1}, {"n_features": 0}, {"n_labels": 2.5}, {"n_labels": -1}]
)
def test_svmlight_options_are_checked(tmp_path, options):
    name, value = next(iter(options.items()))
    with pytest.raises(LatentiaError, match=f"train.svm: {name}={value!r}: "):
        svmlight(tmp_path, "0 0:1\n", **options)


def test_scikit_learn_writes_what_is_read(tmp_path, counts):
    labels = sparse.csr_array(np.random.default_rng(2).random((40, 6)) < 0.3).astype(int)
    with open(tmp_path / "train.svm", "wb") as file:
        dump_svmlight_file(counts, sparse.csr_matrix(labels), file, multilabel=True, comment="a comment: none")
    x, y = Blocks.from_files(tmp_path / "train.svm", format="svmlight", n_features=25, n_labels=6)[0]
    np.testing.assert_array_equal(x.toarray(), counts.toarray())
    np.testing.assert_array_equal(y.toarray(), labels.toarray())


def test_real_repository_file(data, tmp_path):
    blocks = Blocks.from_files(data / "bibtex" / "train.txt.gz", cache=tmp_path)
    assert blocks.shapes == ((4880, 1836), (4880, 159))
    assert blocks[0][1].sum() / 4880 == pytest.approx(2.4, abs=0.1)


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]}), tmp_path / "t.parquet")
    with pytest.raises(LatentiaError, match="column 'c' holds string"):
        Blocks.from_files(tmp_path / "t.parquet")
    blocks = Blocks.from_files(tmp_path / "t.parquet", columns=["a", "b"])
    np.testing.assert_array_equal(blocks.table(), [[1, 0.5], [2, 1.5]])
    assert blocks.names == ["a", "b"]


def test_write_cache_streams_and_is_whole_or_absent(tmp_path, counts):
    write_cache(tmp_path / "c", ((counts[i : i + 7],) for i in range(0, 40, 7)), names=["w"] * 25)
    tables, names = read_cache(tmp_path / "c")
    assert (tables[0] != counts).nnz == 0
    assert len(names) == 25
    assert (Blocks.from_files(tmp_path / "c", block_rows=6).table() != counts).nnz == 0

    def broken():
        yield (counts,)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_cache(tmp_path / "d", broken())
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    (tmp_path / "c" / "0-data.bin").write_bytes(b"123")
    with pytest.raises(LatentiaError, match="damaged, expected .* bytes"):
        read_cache(tmp_path / "c")


def test_unknown_formats(tmp_path):
    (tmp_path / "x.txt").write_text("hello\n")
    with pytest.raises(LatentiaError, match="not recognised.*'hello'"):
        Blocks.from_files(tmp_path / "x.txt")
    with pytest.raises(LatentiaError, match="no such file"):
        Blocks.from_files(tmp_path / "absent")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2.5", "line 4"),
        ("1 1", "line 4"),
        ("1 2-3", "line 4"),
        ("1 1 1e400", "line 4"),
        ("4294967297 1 2", "line 4"),
    ],
)
def test_matrixmarket_lines_that_are_nearly_right(tmp_path, line, message):
    (tmp_path / "x.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n{line}\n")
    with pytest.raises(LatentiaError, match=message):
        Blocks.from_files(tmp_path / "x.mtx")


def test_zero_with_an_exponent_and_tiny_numbers(tmp_path):
    lines = "1 1 0e400\n2 1 1e-310\n3 1 2.5E+3\r\n"
    (tmp_path / "x.mtx").write_text(f"%%MatrixMarket matrix coordinate real general\n3 1 3\n{lines}")
    values = Blocks.from_files(tmp_path / "x.mtx").table().toarray()[:, 0]
    np.testing.assert_allclose(values, [0, 1e-310, 2500], rtol=1e-6)


def test_counts_that_do_not_fit_are_refused_not_wrapped(tmp_path):
    path = tmp_path / "docword.x.txt"
    path.write_text("1\n2\n1\n1 1 3000000000\n")
    with pytest.raises(LatentiaError, match="line 4"):
        Blocks.from_files(path)
    path.write_text("1\n2\n2\n1 1 1500000000\n1 1 1500000000\n")
    with pytest.raises(LatentiaError, match="more than 2147483647 times"):
        Blocks.from_files(path)
    path.write_text("1000000000000\n2\n1\n1 1 1\n")
    with pytest.raises(LatentiaError, match="no table can have"):
        Blocks.from_files(path)


def test_a_damaged_cache_is_made_again_and_never_followed(tmp_path, counts):
    path = uci(tmp_path / "docword.x.txt", counts)
    Blocks.from_files(path)
    indices = tmp_path / "docword.x.txt.latentia-cache" / "0-indices.bin"
    values = np.fromfile(indices, np.int32)
    values[5] = 10**9
    values.tofile(indices)
    with pytest.raises(LatentiaError, match="out of range"):
        read_cache(indices.parent)
    assert (Blocks.from_files(path).table() != counts).nnz == 0
    (indices.parent / "header.json").write_text('{"version": 1}')
    assert (Blocks.from_files(path).table() != counts).nnz == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["docword.x.txt", "docword.x.txt.latentia-cache"]


def test_a_changed_vocabulary_is_read_again_and_must_fit(tmp_path, counts):
    path, vocabulary = uci(tmp_path / "docword.x.txt", counts), tmp_path / "vocab.x.txt"
    vocabulary.write_text("\n".join(f"a{i}" for i in range(25)))
    assert Blocks.from_files(path).names[0] == "a0"
    vocabulary.write_text("\n".join(f"bb{i}" for i in range(25)))
    assert Blocks.from_files(path).names[0] == "bb0"
    vocabulary.write_text("one\ntwo\n")
    with pytest.raises(LatentiaError, match="2 words, and docword.x.txt has 25 columns"):
        Blocks.from_files(path)


def test_one_cache_folder_keeps_files_of_the_same_name_apart(tmp_path, counts):
    for name, table in (("a", counts), ("b", counts[::-1])):
        (tmp_path / name).mkdir()
        uci(tmp_path / name / "docword.txt", table)
    first, second = (Blocks.from_files(tmp_path / n / "docword.txt", cache=tmp_path / "c").table() for n in "ab")
    assert (first != counts).nnz == 0
    assert (second != counts[::-1]).nnz == 0


def test_threads_converting_one_file_at_once(tmp_path, counts):
    from concurrent.futures import ThreadPoolExecutor

    path = uci(tmp_path / "docword.x.txt", counts)
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(lambda _: Blocks.from_files(path).table(), range(12)))
    assert all((table != counts).nnz == 0 for table in tables)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["docword.x.txt", "docword.x.txt.latentia-cache"]
