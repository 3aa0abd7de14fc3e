"""Files of every format that is read, and what is done to them: each case is a function of its number alone."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

__all__ = ["Case", "case", "mutated", "seeds"]

SEED = 20260726
COMPRESS = {b"\x1f\x8b": lambda data: gzip.compress(data, mtime=0), b"BZh": bz2.compress, b"\xfd7zXZ\0": lzma.compress}
DECOMPRESS = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\0": lzma.decompress}
RNG = np.random.default_rng(SEED)
COUNTS = RNG.poisson(0.7, (9, 7))
REALS = np.round(RNG.standard_normal((6, 5)), 4)

NUMBERS = [
    b"0", b"-0", b"-1", b"1", b"1.5", b"1e3", b"2147483646", b"2147483647", b"2147483648", b"4294967296", b"4294967297",
    b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"99999999999999999999",
    b"1e308", b"1e309", b"1e-320", b"1e999999999999", b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"1_000", b"1,000",
    b"0x10", b"+3", b".", b"1.", b".5", b"1e", b"--1", b"1" + b"0" * 40, b"0" * 40 + b"1",
]  # fmt: skip
TOKENS = [
    b"\0", b"\r", b"\n", b"\r\n", b"\t", b" ", b",", b";", b"|", b":", b'"', b"'", b"#", b"%", b"%%", b"\x1a", b"\x0b", b"\x0c",
    b"\x85", b"\xff", b"\xc3", b"\xa0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xe2\x80\xa8", b"sep=;\n", b"=1+1",
    b"%%MatrixMarket matrix array real general\n", b"%PDF-1.4\n", b"\x1f\x8b", b"PK\x03\x04", b"\n\n\n", b"NA", b"null", b"?",
]  # fmt: skip


@dataclass(frozen=True)
class Seed:
    """A file that is as it should be, and the ways to read it.

    Attributes
    ----------
    name : str
        Of the file.
    content : bytes or dict of str to bytes
        A dict holds the files of a folder.
    readers : tuple of str
        Keys of `_worker.READERS`.
    beside : dict of str to bytes
        Other files in the folder.
    """

    name: str
    content: bytes | dict[str, bytes]
    readers: tuple[str, ...]
    beside: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A damaged file."""

    number: int
    seed: Seed
    content: bytes | dict[str, bytes]
    reader: str


def lines(*rows):
    return "".join(f"{row}\n" for row in rows).encode()


def triples(table, first=1):
    table = sparse.coo_array(table)
    cells = zip(table.row, table.col, table.data, strict=True)
    return [f"{i + first} {j + first} {value}" for i, j, value in cells]


def market(kind, size, rows):
    return lines(f"%%MatrixMarket matrix {kind}", "% a comment", size, *rows)


def svmlight(first):
    rows = []
    for i, row in enumerate(COUNTS):
        words = " ".join(f"{j}:{value}" for j, value in enumerate(row) if value)
        rows.append(f"{i % 3},{i % 2 + 1} {words}".replace("1,1 ", "1 "))
    return lines(*([first] if first else []), *rows)


def saved(save):
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def zipped(files):
    def save(file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content)

    return saved(save)


def tables(separator, comma=False):
    rows = [separator.join(["id", "x", "y"])]
    rows += [separator.join([f"n{i}", f"{a:.3f}", f"{b:g}"]) for i, (a, b) in enumerate(REALS[:, :2])]
    text = "\n".join(rows)
    return (text.replace(".", ",") if comma else text).encode()


TEXT = 'id,text\n1,the red house stood here\n2,"a blue house, and\na green river"\n3,the river flows by the house\n'
STORY = "the red house stood here\nfran\u00e7ais et fa\u00e7ade\nblue river flows by the house\nthe end of it\n"


def seeds():
    """Every format, in the forms that it has."""
    found = [
        Seed("docword.x.txt", lines(9, 7, np.count_nonzero(COUNTS), *triples(COUNTS)), ("uci", "corpus"),
             {"vocab.x.txt": lines(*"abcdefg")}),
        Seed("docword.y.txt", lines(9, 7, np.count_nonzero(COUNTS), *triples(COUNTS)[::-1]), ("uci", "nocache")),
        Seed("general.mtx", market("coordinate real general", f"6 5 {REALS.size}", triples(REALS)), ("market", "table")),
        Seed("symmetric.mtx", market("coordinate integer symmetric", "7 7 4", ["1 1 2", "3 2 1", "7 1 5", "6 6 1"]),
             ("market", "pairs")),
        Seed("skew.mtx", market("coordinate real skew-symmetric", "4 4 2", ["2 1 2.5", "4 3 1e-3"]), ("market",)),
        Seed("pattern.mtx", market("coordinate pattern general", "4 4 3", ["2 1", "4 3", "1 4"]), ("market", "corpus")),
        Seed("array.mtx", market("array real general", "6 5", REALS.T.ravel().tolist()), ("market", "table")),
        Seed("packed.mtx", market("array integer symmetric", "3 3", [1, 2, 3, 4, 5, 6]), ("market", "pairs")),
        Seed("lower.mtx", market("array real skew-symmetric", "4 4", [1, 2, 3, 4, 5, 6.5]), ("market",)),
        Seed("train.txt", svmlight("9 7 3"), ("svmlight", "headed")),
        Seed("train.svm", svmlight(""), ("svmlight",)),
        Seed("one.svm", svmlight("").replace(b"0:", b"8:"), ("svmlight1",)),
        Seed("pairs2.txt", lines(*(f"{i % 4} {i % 3}" for i in range(12))), ("numbers", "pairs")),
        Seed("pairs3.txt", lines(*(f"{i % 4} {i % 3} {i}" for i in range(12)), "# end"), ("numbers",)),
        Seed("pairs.npy", saved(lambda f: np.save(f, RNG.integers(0, 5, (20, 2)))), ("numbers", "pairs", "blocks")),
        Seed("times.npy", saved(lambda f: np.save(f, RNG.integers(0, 5, (20, 3)).astype(float))), ("numbers", "pairs")),
        Seed("words.txt", lines("red house 3", "blue house 2", "# note", "red river 1"), ("pairs",)),
        Seed("words.csv", lines("from,to,times", "red,house,3", "blue,house,2", '"a, b",house,1.5'), ("pairs",)),
        Seed("comma.csv", tables(","), ("table", "drop", "mean")),
        Seed("semicolon.csv", tables(";", comma=True), ("table", "drop")),
        Seed("tab.tsv", tables("\t"), ("table", "mean")),
        Seed("bar.csv", tables("|"), ("table",)),
        Seed("blank.dat", b"x y z\n" + lines(*("   ".join(f"{v:g}" for v in row[:3]) for row in REALS)), ("table",)),
        Seed("utf16.csv", tables(";").decode().encode("utf-16"), ("table", "drop")),
        Seed("holes.csv", lines("a,b,c", "1,,x", "NA,2,y", "3,4,z", "5,6,", "7,8,w"), ("drop", "mean", "texts")),
        Seed("t.csv", TEXT.encode(), ("texts", "corpus", "text pairs")),
        Seed("western.csv", TEXT.replace("red", "r\u00e9d").encode("cp1252"), ("texts", "corpus")),
        Seed("story.txt", STORY.encode(), ("texts", "corpus", "text pairs", "blocks")),
        Seed("western.txt", STORY.encode("cp1252"), ("texts", "corpus")),
        Seed("packed.txt.gz", gzip.compress(STORY.encode(), mtime=0), ("texts", "corpus")),
        Seed("packed.txt.bz2", bz2.compress(STORY.encode()), ("texts", "corpus")),
        Seed("packed.csv.xz", lzma.compress(tables(",")), ("table", "drop")),
        Seed("x.npz", saved(lambda f: np.savez_compressed(f, a=REALS, b=COUNTS)), ("array",)),
        Seed("stored.npz", saved(lambda f: np.savez(f, a=REALS, b=COUNTS)), ("array",)),
        Seed("sparse.npz", saved(lambda f: sparse.save_npz(f, sparse.csr_array(COUNTS[:7]))), ("array", "graph")),
        Seed("x.npy", saved(lambda f: np.save(f, REALS)), ("array",)),
        Seed("bomb.npz", saved(lambda f: np.savez_compressed(f, a=np.zeros((1 << 10, 1 << 10)))), ("array",)),
        Seed("bomb.xlsx", zipped({"xl/workbook.xml": b" " * (6 << 20)}), ("table",)),
        Seed("bomb.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * (2 << 20), mtime=0), ("table",)),
        Seed("bomb.csv.bz2", bz2.compress(b"a,b\n" + b"1,2\n" * (2 << 20)), ("table",)),
        Seed("folder", {"a.txt": STORY.encode(), "b.txt": TEXT.encode(), "c.pdf": b"%PDF-1.4 \0"}, ("texts", "corpus")),
    ]  # fmt: skip
    return found + _of_packages() + [_cache()]


def _of_packages():
    """Formats that others write."""
    found = []
    try:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table({"a": REALS[:, 0], "b": COUNTS[:6, 0], "c": [f"n{i}" for i in range(6)]})
        content = saved(lambda f: parquet.write_table(table, f))
        found += [Seed("x.parquet", content, ("table", "drop", "parquet"))]
        plain = saved(lambda f: parquet.write_table(table, f, compression="none", use_dictionary=False))
        found += [Seed("plain.parquet", plain, ("table", "parquet", "blocks"))]
    except ImportError:
        pass
    try:
        import openpyxl

        book = openpyxl.Workbook()
        for row in [["a", "b", "text"], [1, 2.5, "red house"], [3, None, "blue"], [True, 4, "green"]]:
            book.active.append(row)
        found += [Seed("x.xlsx", saved(book.save), ("table", "drop", "texts"))]
    except ImportError:
        pass
    return found


def _cache():
    import tempfile

    from latentia.passes import write_cache

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        write_cache(path, [(sparse.csr_array(COUNTS), REALS[[0] * 9])], names=list("abcdefg"))
        return Seed("x.latentia-cache", {file.name: file.read_bytes() for file in path.iterdir()}, ("cache", "blocks"))


# --- damage -----------------------------------------------------------------------------------------------------


def case(number, all_seeds):
    """The case of this number."""
    rng = np.random.default_rng([SEED, number])
    seed = all_seeds[number % len(all_seeds)]
    reader = seed.readers[rng.integers(len(seed.readers))]
    content = seed.content
    if isinstance(content, dict):
        name = sorted(content)[rng.integers(len(content))]
        content = {**content, name: mutated(content[name], rng)}
        if rng.random() < 0.1:
            del content[name]
        return Case(number, seed, content, reader)
    if content.startswith(b"PK") and not seed.name.startswith("bomb") and rng.random() < 0.7:
        return Case(number, seed, _inside_zip(content, rng), reader)
    for magic, decompress in DECOMPRESS.items():
        if content.startswith(magic) and seed.name.startswith("packed") and rng.random() < 0.7:
            return Case(number, seed, COMPRESS[magic](mutated(decompress(content), rng)), reader)
    return Case(number, seed, mutated(content, rng), reader)


def mutated(data, rng):
    """The bytes after one to four blows."""
    for _ in range(int(rng.integers(1, 5))):
        data = MUTATIONS[rng.integers(len(MUTATIONS))](data, rng)
    return data[: 1 << 20]


def _place(data, rng):
    return int(rng.integers(len(data) + 1))


def _flip(data, rng):
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _put(data, rng):
    at = _place(data, rng)
    return data[:at] + bytes(rng.integers(0, 256, int(rng.integers(1, 5)), dtype=np.uint8)) + data[at:]


def _truncate(data, rng):
    return data[: _place(data, rng)]


def _cut(data, rng):
    a, b = sorted((_place(data, rng), _place(data, rng)))
    return data[:a] + data[b if b - a < 40 else a + 1 :]


def _repeat(data, rng):
    a, b = sorted((_place(data, rng), _place(data, rng)))
    return data[:b] + data[a:b] * int(rng.integers(1, 4)) + data[b:]


def _number(data, rng):
    """One of its numbers is another."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if not found:
        return data
    # The first ones are sizes: meant more often than the many others.
    match = found[rng.integers(min(len(found), 4) if rng.random() < 0.5 else len(found))]
    return data[: match.start()] + NUMBERS[rng.integers(len(NUMBERS))] + data[match.end() :]


def _token(data, rng):
    at = _place(data, rng)
    return data[:at] + TOKENS[rng.integers(len(TOKENS))] + data[at:]


def _lines(data, rng):
    """A line twice, or not at all, or two that change places."""
    rows = data.split(b"\n")
    a, b = rng.integers(len(rows), size=2)
    kind = rng.integers(3)
    if kind == 0:
        rows.insert(a, rows[b])
    elif kind == 1:
        del rows[a]
    else:
        rows[a], rows[b] = rows[b], rows[a]
    return b"\n".join(rows)


def _separator(data, rng):
    old, new = rng.choice([b",", b";", b"\t", b" ", b"|", b"\n", b":", b".", b"\r\n"], 2)
    return data.replace(bytes(old), bytes(new), int(rng.choice([1, 1000000])))


def _encode(data, rng):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    names = ["latin-1", "cp1252", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037"]
    return text.encode(names[rng.integers(len(names))], "replace")


def _pack(data, rng):
    packed = COMPRESS[list(COMPRESS)[rng.integers(len(COMPRESS))]](data)
    return packed[: _place(packed, rng)] if rng.random() < 0.3 else packed


MUTATIONS = [
    _flip, _flip, _put, _truncate, _cut, _repeat, _number, _number, _number, _token, _token, _lines, _lines, _separator,
    _encode, _pack,
]  # fmt: skip


def _inside_zip(content, rng):
    """One of the files in an archive is damaged, and the archive is not."""
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        files = {name: parts.read(name) for name in parts.namelist()}
    names = sorted(files)
    sheets = [name for name in names if "sheet1" in name]
    name = sheets[0] if sheets and rng.random() < 0.5 else names[rng.integers(len(names))]
    files[name] = mutated(files[name], rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as parts:
        for name, data in files.items():
            parts.writestr(zipfile.ZipInfo(name), data)
    return packed.getvalue()
