import gzip
import os

import numpy as np
import pytest
from scipy import io, sparse
from sklearn.datasets import dump_svmlight_file

from latentia import LatentiaError
from latentia.passes import Blocks, read_cache, write_cache
from latentia.passes.formats import _text, matrixmarket


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
    monkeypatch.setattr(_text, "_CHUNK", chunk)
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
        ("2\n3\n2\n1 1 1\n2 1 \0001\n", "line 5: a NUL byte"),
        ("0\n3\n0\n", "lines 1 and 2: 0 rows and 3 columns"),
        ("2\n3\n99999999999999999999\n1 1 1\n", "line 3: the header says 99999999999999999999, which is too large"),
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


def market(kind, size, *lines):
    """The text of a MatrixMarket file."""
    return "\n".join([f"%%MatrixMarket matrix {kind}", size, *map(str, lines), ""])


def entries(rng, layout, symmetry, n, m, number):
    """Lines of a table of this kind, with its size above them: some cells of it, or all."""
    first = {"general": lambda i: 0, "symmetric": lambda i: i, "skew-symmetric": lambda i: i + 1}[symmetry]
    cells = [(i, j) for j in range(m) for i in range(first(j), n)]
    if layout == "array":
        return f"{n} {m}", [number() for _ in cells]
    chosen = rng.permutation(cells)[: len(cells) // 2] if cells else []
    return f"{n} {m} {len(chosen)}", [f"{i + 1} {j + 1} {number()}" for i, j in chosen]


@pytest.mark.parametrize("chunk", [9, 1 << 25])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("layout", ["coordinate", "array"])
def test_every_kind_of_matrixmarket_is_what_scipy_reads(tmp_path, layout, field, symmetry, chunk, monkeypatch):
    if (layout, field) == ("array", "pattern"):
        return
    monkeypatch.setattr(_text, "_CHUNK", chunk)
    monkeypatch.setattr(matrixmarket, "_PIECE_ENTRIES", 7)
    rng = np.random.default_rng(3)
    number = {
        "real": lambda: repr(float(rng.standard_normal() * 10.0 ** rng.integers(-25, 25))),
        "integer": lambda: int(rng.integers(-(2**53), 2**53)),
        "pattern": lambda: "",
    }[field]
    for n, m in ((1, 1), (6, 6), (3, 8) if symmetry == "general" else (2, 2)):
        size, lines = entries(rng, layout, symmetry, n, m, number)
        path = tmp_path / f"{n}.mtx"
        path.write_text(market(f"{layout} {field} {symmetry}", f"% a comment\n\n{size}", *lines))
        found, wanted = Blocks.from_files(path).table(), io.mmread(path)
        assert sparse.issparse(found) == sparse.issparse(wanted)
        if sparse.issparse(found):
            found, wanted = found.toarray(), wanted.toarray()
        np.testing.assert_array_equal(found, wanted)
        streamed = (layout, symmetry) == ("coordinate", "general")
        assert found.dtype == (np.float64 if streamed else wanted.dtype)


def test_matrixmarket_words_that_mean_the_same(tmp_path):
    (tmp_path / "a.mtx").write_text("%%MatrixMarket MATRIX Array Double General\n 1 2 \n 1\n\n2\t\n")
    np.testing.assert_array_equal(Blocks.from_files(tmp_path / "a.mtx").table(), [[1, 2]])
    (tmp_path / "b.mtx").write_text(market("coordinate unsigned-integer symmetric", "2 2 1", "2 1 5"))
    np.testing.assert_array_equal(Blocks.from_files(tmp_path / "b.mtx").table().toarray(), [[0, 5], [5, 0]])


@pytest.mark.parametrize("chunk", [1, 2, 3, 8, 1 << 25])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("opener", [open, gzip.open])
def test_ends_of_lines(tmp_path, end, chunk, opener, monkeypatch):
    monkeypatch.setattr(_text, "_CHUNK", chunk)
    for name, text in (
        ("a.mtx", market("array real general", "% c\n2 2", 1, "", 2.5, 3, 4)),
        ("c.mtx", market("coordinate real general", "2 2 4", "1 1 1", "", "1 2 3", "2 1 2.5", "2 2 4")),
        ("docword.txt", "2\n2\n4\n1 1 1\n1 2 3\n2 1 2\n2 2 4"),
    ):
        with opener(tmp_path / name, "wb") as file:
            file.write(text.replace("\n", end).encode())
        table = Blocks.from_files(tmp_path / name).table()
        table = table.toarray() if sparse.issparse(table) else table
        np.testing.assert_array_equal(table, [[1, 3], [2.5 if "mtx" in name else 2, 4]])


# Some of these end the whole process in SciPy's reader.
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (market("array real general", "0 2", 1, 2, 3), "line 2: 0 rows and 2 columns: expected at least one"),
        (market("coordinate integer symmetric", "2 2 2", "1 1 1") + "2 1 1\0\0\0", "line 4: a NUL byte"),
        (market("array real general", "2 2") + "1\r2\r3\rx\r", "line 6: expected one number a line.*found 'x'"),
        (market("array real general", "2 2", 1, 2, 3) + "\0\0", "line 6: a NUL byte"),
        (market("array real general", "%\0\n2 2", 1, 2, 3, 4), "line 2: a NUL byte"),
        (market("array real general", "2 2", 1, 2, 3), "promises 4 entries and 3 were found: truncated"),
        (market("array real general", "2 2", 1, 2, 3, 4, 5), "promises 4 entries, and there are more"),
        (
            market("array real general", "2 2", "1 2", "3 4"),
            "line 3: expected one number a line, a finite number, found",
        ),
        (market("array real general", "2 2", 1, 2, "nan", 4), "line 5: .*found 'nan'"),
        (market("array real general", "2 2", 1, "-inf", 3, 4), "line 4: .*found '-inf'"),
        (market("array real general", "2 2", 1, "1e999", 3, 4), "line 4: .*found '1e999'"),
        (
            market("array integer general", "2 2", 1, 2, 3, 4.5),
            "line 6: expected one number a line, a whole number from",
        ),
        (market("array integer general", "1 1", 2**53 + 2), "line 3: .*a whole number from -9007199254740992 to 900"),
        (market("array real general", "2 2 4", 1, 2, 3, 4), "line 2: expected 'rows columns', found '2 2 4'"),
        (market("array real general", "-2 2", 1, 2, 3, 4), "line 2: expected 'rows columns'"),
        (market("array real general", "% only a comment"), "expected a line with the size"),
        (
            market("array real symmetric", "2 3", 1, 2, 3),
            "line 2: expected as many rows as columns in a symmetric table, found 2 rows and 3",
        ),
        (market("array real skew-symmetric", "3 3", 1, 2), "promises 3 entries and 2 were found"),
        (market("array pattern general", "1 1", 1), "line 1: expected an array that is real or integer"),
        (
            market("array complex general", "1 1", "1 2"),
            r"line 1: expected real numbers, found complex ones \(complex general\)",
        ),
        (
            market("coordinate real hermitian", "1 1 1", "1 1 2"),
            "line 1: expected real numbers, found complex ones .real hermitian",
        ),
        (
            market("list real general", "1 1", 1),
            "line 1: expected '%%MatrixMarket matrix coord.*found '%%MatrixM.*list",
        ),
        (market("array real", "1 1", 1), "line 1: expected '%%MatrixMarket matrix"),
        (market("array whole general", "1 1", 1), "line 1: expected '%%MatrixMarket matrix"),
        (market("array real lower", "1 1", 1), "line 1: expected '%%MatrixMarket matrix"),
        ("%%MatrixMarket vector array real general\n1\n1\n", "line 1: expected '%%MatrixMarket matrix"),
        (market("coordinate real symmetric", "2 2 2", "1 1 1"), "promises 2 entries and 1 were found"),
        (market("coordinate real symmetric", "2 2 1", "1 1 1", "2 1 1"), "promises 1 entries, and there are more"),
        (
            market("coordinate real symmetric", "2 2 1", "3 1 1"),
            "line 3: .*with row 1 to 2 and column 1 to 2, a finite",
        ),
        (market("coordinate real symmetric", "2 2 1", "1 0 1"), "line 3: .*with row 1 to 2"),
        (market("coordinate real general", "2 2 1", "0 1 1"), "line 3: .*with row 1 to 2"),
        (market("coordinate real symmetric", "2 2 1", "1 1 inf"), "line 3: .*a finite number, found '1 1 inf'"),
        (market("coordinate integer symmetric", "2 2 1", "1 1 0.5"), "line 3: .*a whole number"),
        (market("coordinate pattern symmetric", "2 2 1", "1 1 1"), "line 3: expected 'row column' with"),
        (market("coordinate real skew-symmetric", "2 2 1", "2 2 1"), "line 3: .*off the diagonal, found '2 2 1'"),
        (market("coordinate real general", "0 0 0"), "line 2: 0 rows and 0 columns"),
        (market("coordinate real general", "2 2", "1 1 1"), "line 2: expected 'rows columns entries', found '2 2'"),
    ],
)
def test_damaged_matrixmarket(tmp_path, text, message):
    path = tmp_path / "x.mtx"
    path.write_bytes(text.encode())
    with pytest.raises(LatentiaError, match=f"x.mtx.*{message}"):
        Blocks.from_files(path)
    assert [p.name for p in tmp_path.iterdir()] == ["x.mtx"]


@pytest.mark.parametrize(
    ("kind", "size", "n"),
    [
        ("array real general", "100000 100000", 10**10),
        ("array integer symmetric", "100000 100000", 100_001 * 50_000),
        ("coordinate pattern symmetric", "9 9 9000000000", 9 * 10**9),
        ("coordinate real general", "9 9 9000000000", 9 * 10**9),
    ],
)
def test_sizes_that_no_file_of_this_length_can_have(tmp_path, kind, size, n):
    (tmp_path / "x.mtx").write_text(market(kind, size, 1, 2))
    with pytest.raises(
        LatentiaError, match=f"line 2: the header promises {n} entries, which do not fit into a file of .. bytes"
    ):
        Blocks.from_files(tmp_path / "x.mtx")
    with gzip.open(tmp_path / "x.mtx.gz", "wt") as file:
        file.write(market(kind, size, *([1, 2] if kind.startswith("array") else [])))
    with pytest.raises(LatentiaError, match=f"x.mtx.gz: the header promises {n} entries and . were found: truncated"):
        Blocks.from_files(tmp_path / "x.mtx.gz", format="matrixmarket")


def test_more_rows_than_fit_into_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 1 << 12)
    (tmp_path / "x.mtx").write_text(market("coordinate real general", "9000000 3 1", "1 1 1"))
    with pytest.raises(LatentiaError, match="x.mtx, line 2: 9000000 rows and 3 columns: that many rows do not fit"):
        Blocks.from_files(tmp_path / "x.mtx")
    (tmp_path / "docword.x.txt").write_text("9000000\n3\n1\n1 1 1\n")
    with pytest.raises(LatentiaError, match="docword.x.txt, lines 1 and 2: 9000000 rows"):
        Blocks.from_files(tmp_path / "docword.x.txt")


def test_entries_of_one_cell_must_not_add_up_to_infinity(tmp_path):
    for kind, value in (("real general", "1e308"), ("real symmetric", "1e308"), ("integer symmetric", 2**52 + 1)):
        (tmp_path / "x.mtx").write_text(market(f"coordinate {kind}", "2 2 2", *[f"2 1 {value}"] * 2))
        with pytest.raises(LatentiaError, match="x.mtx: the entries of one cell add up to .*, which is too large"):
            Blocks.from_files(tmp_path / "x.mtx")


def test_decimals_are_rounded_once(tmp_path):
    rng = np.random.default_rng(0)
    values = np.abs(rng.integers(0, 2**63, 20_000)).view(np.float64)
    values = values[np.isfinite(values) & (values > 1e-307)]
    texts = [form % value for value in values.tolist() for form in ("%r", "%.18e", "%.13e", "%.24e")]
    halves = rng.integers(2**52, 2**53, 2000)  # and a half: just between two floats
    texts += [f"{half}.{rest}" for half in halves.tolist() for rest in ("5", "500", "50000001", "49999999")]
    texts += [
        "9007199254740993",
        "0." + "0" * 400 + "1e401",
        "1" + "0" * 300,
        "00000000000000000000123",
        "5e-500",
        "0e999",
    ]
    wanted = [float(text) for text in texts]
    (tmp_path / "a.mtx").write_text(market("array real general", f"{len(texts)} 1", *texts))
    np.testing.assert_array_equal(Blocks.from_files(tmp_path / "a.mtx").table()[:, 0], wanted)
    lines = (f"{i} 1 {text}" for i, text in enumerate(texts, 1))
    (tmp_path / "c.mtx").write_text(market("coordinate real general", f"{len(texts)} 1 {len(texts)}", *lines))
    np.testing.assert_array_equal(Blocks.from_files(tmp_path / "c.mtx").table().toarray()[:, 0], wanted)


def test_words_stand_beside_a_table_of_any_kind(tmp_path):
    (tmp_path / "vocab.x.txt").write_text("red\nblue\n")
    for text in (market("array real symmetric", "2 2", 1, 2, 3), market("coordinate real symmetric", "2 2 1", "2 1 1")):
        (tmp_path / "x.mtx").write_text(text)
        assert Blocks.from_files(tmp_path / "x.mtx").names == ["red", "blue"]


def test_progress_of_every_reader(tmp_path, counts, capsys):
    io.mmwrite(tmp_path / "x.mtx", counts.toarray())
    for path in (uci(tmp_path / "docword.x.txt.gz", counts, opener=gzip.open), tmp_path / "x.mtx"):
        table = Blocks.from_files(path, progress=True).table()
        assert np.array_equal(table if isinstance(table, np.ndarray) else table.toarray(), counts.toarray())
    assert capsys.readouterr().out == ""


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
    with pytest.raises(
        LatentiaError, match="^zero_based=None: .*Found features 1 to 3 and labels 1 to 2. Give the number"
    ):
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
    with pytest.raises(
        LatentiaError, match="^labels_zero_based=None: .*no 0 among the labels,.*no features and labels 1 to 2"
    ):
        svmlight(tmp_path, "1,2\n1\n", n_features=3)
    with pytest.raises(
        LatentiaError, match="no 0 among the features,.*features 1 to 3 and labels 0 to 2.*only the feat"
    ):
        svmlight(tmp_path, "0,2 3:1\n1 1:2\n")


def test_classic_svmlight_counts_features_from_1_and_labels_from_0(tmp_path):
    text = "0 1:1\n1 2:2\n"
    with pytest.raises(
        LatentiaError, match="^labels_zero_based=None: .*line 1: expected labels from 1, not 0.*count from 0?"
    ):
        svmlight(tmp_path, text, zero_based=False)
    with pytest.raises(
        LatentiaError, match="^labels_zero_based=None: .*line 1: expected labels from 1, not 0.*count from 0?"
    ):
        svmlight(tmp_path, "0 1:1\n0 2:2\n", zero_based=False)
    with pytest.raises(
        LatentiaError, match="^zero_based=None: .*features 1 to 2 and labels 0 to 1.*give it for the labels"
    ):
        svmlight(tmp_path, text, labels_zero_based=True)
    x, y = svmlight(tmp_path, text, zero_based=False, labels_zero_based=True)
    np.testing.assert_array_equal(x, [[1, 0], [0, 2]])
    np.testing.assert_array_equal(y, [[1, 0], [0, 1]])


@pytest.mark.parametrize("chunk", [12, 1 << 25])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_svmlight_rows_without_labels_features_or_anything(tmp_path, chunk, end, monkeypatch):
    monkeypatch.setattr(_text, "_CHUNK", chunk)
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
    with pytest.raises(
        LatentiaError, match="first line promises 1 rows and 2 were found: remove the other lines, blank"
    ):
        svmlight(tmp_path, "1 2 2\n0 0:1\n\n")


def test_first_documents_without_words_are_still_recognised(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("5 2 12\n0,11\n \n3\n\n1 0:1\n")
    x, y = Blocks.from_files(path)[0]
    np.testing.assert_array_equal(x.toarray(), [[0, 0]] * 4 + [[1, 0]])
    np.testing.assert_array_equal(y.sum(axis=1), [2, 0, 1, 0, 1])
    path.write_text("5 2 12\n1 1 4\n")  # of a MatrixMarket file without its first line
    with pytest.raises(LatentiaError, match="expected UCI bag of words"):
        Blocks.from_files(path)


def test_a_label_named_often_counts_once_and_a_feature_adds_up(tmp_path):
    x, y = svmlight(tmp_path, ",".join(["0"] * 256) + " 1:1 0:2 1:3\n")
    np.testing.assert_array_equal(x, [[2, 4]])
    np.testing.assert_array_equal(y, [[1]])


def test_values_of_one_feature_must_not_add_up_to_infinity(tmp_path):
    with pytest.raises(LatentiaError, match="train.svm: the values of a feature that a line names twice"):
        svmlight(tmp_path, "0 0:1\n0 1:1e308 1:1e308\n")


def test_svmlight_without_any_label_or_feature(tmp_path):
    x, y = svmlight(tmp_path, "0:1\n1:1\n")
    assert (x.shape, y.shape) == ((2, 2), (2, 0))
    assert svmlight(tmp_path, "0:1\n1:1\n", n_labels=4)[1].shape == (2, 4)
    with pytest.raises(LatentiaError, match="^n_features=None: .*expected the number of features"):
        svmlight(tmp_path, "0\n1\n")
    assert svmlight(tmp_path, "0\n1\n", n_features=3)[0].shape == (2, 3)
    for text, options in (("# nothing\n", {"n_features": 3}), ("0 3 4\n", {})):
        with pytest.raises(LatentiaError, match="expected rows, found none in the file"):
            svmlight(tmp_path, text, **options)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "0 4:1",
            "expected features from 0 to 3, not 4, found '0 4:1'. Does the file count from 1?",
        ),
        (
            "5 1:1",
            "expected labels from 0 to 4, not 5, found '5 1:1'. Do labels count from 1. Unless said otherwise",
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
    with pytest.raises(
        LatentiaError, match="^zero_based=False: .*line 2: expected features from 1, not 0.*count from 0?"
    ):
        svmlight(tmp_path, "1 1:1\n1 0:1\n", zero_based=False)
    with pytest.raises(LatentiaError, match="line 1: expected no labels, as their number is 0, found '0 0:1'"):
        svmlight(tmp_path, "0 0:1\n", n_labels=0)


def test_a_headed_svmlight_file_may_count_from_1(tmp_path):
    text = "2 3 2\n1,2 1:1 3:2\n2 2:1\n"
    with pytest.raises(
        LatentiaError, match="^labels_zero_based=None: .*line 2: expected labels from 0 to 1, not 2.*from 1?"
    ):
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
    with pytest.raises(
        LatentiaError, match="^n_features=4: .*train.svm: its first line says 3 features and 2 labels: they"
    ):
        svmlight(tmp_path, text, n_features=4, n_labels=2)
    with pytest.raises(LatentiaError, match="n_labels=7"):
        svmlight(tmp_path, text, n_labels=7)


@pytest.mark.parametrize(
    "options", [{"zero_based": "no"}, {"labels_zero_based": 1}, {"n_features": 0}, {"n_labels": 2.5}, {"n_labels": -1}]
)
def test_svmlight_options_are_checked(tmp_path, options):
    name, value = next(iter(options.items()))
    with pytest.raises(LatentiaError, match=f"^{name}={value!r}: "):
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
    with pytest.raises(LatentiaError, match="expected numbers in column 'c', found string"):
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
    with pytest.raises(LatentiaError, match="expected UCI bag of words.*begins with b'hello'"):
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
    with pytest.raises(LatentiaError, match="docword.x.txt: a word occurs more than 2147483647 times"):
        Blocks.from_files(path)
    path.write_text("1000000000000\n2\n1\n1 1 1\n")
    with pytest.raises(LatentiaError, match="too large for a table"):
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
