"""Claim: latentia reads 57 of 64 polluted tables, and refuses 6 of the others; libraries alone read at most 50.

    python benchmarks/readers_of_tables.py [--rows 1000000]

The files are made here, each with one pollution of those that Pollock names (separators, quotes, line ends, encodings,
titles, ragged rows, headings), with the table that a person reads in it. ``right`` has the same headings and cells, ``silent``
are files that were read without an error, and wrongly. Libraries are called with all that they find out by themselves. ``cpu``
is that of a table of numbers of 20 columns, ``import`` that of importing the library, ``megabytes`` the size of its packages.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.metadata
import io
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import report

from latentia.reading import open_table

HEAD = ["id", "name", "price", "note"]
BASE = [
    ["101", "anna", "1.5", "ok"],
    ["102", "bert", "2.25", "late, twice"],
    ["103", "carl", "3.75", ""],
    ["104", "dora", "4.5", "new"],
] * 5


def cells_as_text(head, rows, sep=",", quote='"', end="\n", quoting=csv.QUOTE_MINIMAL, escape=None, double=True):
    out = io.StringIO()
    w = csv.writer(
        out, delimiter=sep, quotechar=quote, lineterminator=end, quoting=quoting, escapechar=escape, doublequote=double
    )
    if head:
        w.writerow(head)
    w.writerows(rows)
    return out.getvalue()


def polluted() -> dict[str, tuple[str, bytes, list[str], list[list[str]]]]:
    found = {}

    def add(name, text, head=HEAD, rows=BASE, suffix=".csv"):
        data = text if isinstance(text, bytes) else text.encode()
        found[name] = (suffix, data, list(head), [list(r) for r in rows])

    plain = cells_as_text(HEAD, BASE)
    for sep, label in (
        (",", "comma"),
        (";", "semicolon"),
        ("\t", "tab"),
        ("|", "bar"),
        ("^", "caret"),
        ("~", "tilde"),
        (":", "colon"),
    ):
        add(f"separator_{label}", cells_as_text(HEAD, BASE, sep))
    add("separator_blank", cells_as_text(HEAD[:3], [r[:3] for r in BASE], " "), HEAD[:3], [r[:3] for r in BASE])
    add(
        "separator_blanks_aligned",
        "\n".join("".join(f"{c:>8}" for c in r) for r in [HEAD[:3], *[r[:3] for r in BASE]]) + "\n",
        HEAD[:3],
        [r[:3] for r in BASE],
        ".txt",
    )
    add(
        "separator_comma_blank",
        plain.replace(",", ", ").replace("late,  twice", "late, twice").replace("late, twice", "late, twice"),
    )
    for end, label in (("\n", "lf"), ("\r\n", "crlf"), ("\r", "cr")):
        add(f"line_end_{label}", cells_as_text(HEAD, BASE, end=end))
    add("no_last_newline", plain.rstrip("\n"))
    add("two_last_newlines", plain + "\n")
    add("many_last_newlines", plain + "\n\n\n")
    add("bom_utf8", b"\xef\xbb\xbf" + plain.encode())
    acc = [[r[0], "Zoë", *r[2:]] for r in BASE]
    add("utf16", cells_as_text(HEAD, acc).encode("utf-16"), HEAD, acc)
    add("latin1", cells_as_text(HEAD, acc).encode("latin-1"), HEAD, acc)
    add("utf8_accents", cells_as_text(HEAD, acc), HEAD, acc)
    add("quote_all", cells_as_text(HEAD, BASE, quoting=csv.QUOTE_ALL))
    add("quote_single", cells_as_text(HEAD, BASE, quote="'"))
    add(
        "quote_doubled",
        cells_as_text(HEAD, [[r[0], 'the "big" ' + r[1], *r[2:]] for r in BASE]),
        HEAD,
        [[r[0], 'the "big" ' + r[1], *r[2:]] for r in BASE],
    )
    add(
        "quote_escaped",
        cells_as_text(HEAD, [[r[0], 'the "big" ' + r[1], *r[2:]] for r in BASE], escape="\\", double=False),
        HEAD,
        [[r[0], 'the "big" ' + r[1], *r[2:]] for r in BASE],
    )
    brk = [[r[0], r[1], r[2], "two\nlines"] for r in BASE]
    add("quoted_newlines", cells_as_text(HEAD, brk), HEAD, brk)
    add(
        "quoted_header",
        cells_as_text(["id", "name, full", 'price "net"', "note"], BASE),
        ["id", "name, full", 'price "net"', "note"],
    )
    add(
        "newline_in_header",
        cells_as_text(["id", "full\nname", "price", "note"], BASE),
        ["id", "full\nname", "price", "note"],
    )
    add("emoji_header", cells_as_text(["id", "name", "price 💶", "note"], BASE), ["id", "name", "price 💶", "note"])
    add("no_header", cells_as_text(None, BASE), ["column 1", "column 2", "column 3", "column 4"])
    nums = [[f"{i}.5", f"{i * 3 % 7}.25", f"{i}"] for i in range(20)]
    add("no_header_numbers", cells_as_text(None, nums), ["column 1", "column 2", "column 3"], nums)
    add("title_line", "Prices of 2020\n" + plain)
    add("title_line_and_blank", "Prices of 2020\n\n" + plain)
    add("title_with_separators", "Prices of 2020,,,\n" + plain)
    add("three_title_lines", "Prices of 2020\nsource: office\nunits: euro\n" + plain)
    add("comment_lines", "# made by us\n# on Monday\n" + plain)
    add("sep_line", "sep=;\n" + cells_as_text(HEAD, BASE, ";"))
    add("units_row", cells_as_text(HEAD, [["", "", "(EUR)", ""], *BASE]), HEAD, [["", "", "(EUR)", ""], *BASE])
    add("footnote", plain + "\nSource: the office\n")
    add("total_row", plain + "Total,,60.0,\n", HEAD, [*BASE, ["Total", "", "60.0", ""]])
    add("empty_rows_between", cells_as_text(HEAD, BASE[:10]) + "\n\n" + cells_as_text(None, BASE[10:]))
    add(
        "separators_only_row",
        cells_as_text(HEAD, BASE[:10]) + ",,,\n" + cells_as_text(None, BASE[10:]),
        HEAD,
        [*BASE[:10], [""] * 4, *BASE[10:]],
    )
    add("trailing_separator", "".join(line + ",\n" for line in plain.splitlines()))
    add(
        "trailing_separator_rows_only",
        plain.splitlines()[0] + "\n" + "".join(line + ",\n" for line in plain.splitlines()[1:]),
    )
    short = [r if i != 7 else r[:3] for i, r in enumerate(BASE)]
    add("short_row", cells_as_text(HEAD, short), HEAD, [[*r, ""][:4] for r in short])
    named = [[f"r{i}", *row[1:]] for i, row in enumerate(BASE)]
    add("short_header_row_names", cells_as_text(HEAD[1:], named), ["row", *HEAD[1:]], named)
    add(
        "write_table_blank",
        "\n".join(['"name" "price"', *[f'"{i}" "{r[1]}" {r[2]}' for i, r in enumerate(BASE, 1)]]) + "\n",
        ["row", "name", "price"],
        [[str(i), r[1], r[2]] for i, r in enumerate(BASE, 1)],
        ".txt",
    )
    add(
        "unnamed_index",
        cells_as_text(["", *HEAD], [[str(i), *r] for i, r in enumerate(BASE)]),
        ["column 1", *HEAD],
        [[str(i), *r] for i, r in enumerate(BASE)],
    )
    add("double_names", cells_as_text(["id", "x", "x", "note"], BASE), ["id", "x", "x (2)", "note"])
    add("empty_name", cells_as_text(["id", "name", "", "note"], BASE), ["id", "name", "column 3", "note"])
    add(
        "padded_cells",
        "\n".join(" , ".join(c for c in r) for r in [HEAD, *[[x.replace(",", "") for x in r] for r in BASE]]) + "\n",
        HEAD,
        [[x.replace(",", "") for x in r] for r in BASE],
    )
    dec = [[r[0], r[1], r[2].replace(".", ","), r[3]] for r in BASE]
    add("decimal_comma", cells_as_text(HEAD, dec, ";"), HEAD, dec)
    add("decimal_comma_tab", cells_as_text(HEAD, dec, "\t"), HEAD, dec)
    big = [[str(123456789012345678 + i), *r[1:]] for i, r in enumerate(BASE)]
    add("ids_of_18_digits", cells_as_text(HEAD, big), HEAD, big)
    zero = [[f"{i:05d}", *r[1:]] for i, r in enumerate(BASE)]
    add("leading_zeros", cells_as_text(HEAD, zero), HEAD, zero)
    late = [[r[0], r[1], r[2] if i < 18 else "n.a.", r[3]] for i, r in enumerate(BASE)]
    add("late_text_in_numbers", cells_as_text(HEAD, late), HEAD, late)
    add("gzip", gzip.compress(plain.encode()), suffix=".csv.gz")
    add("one_column", cells_as_text(["price"], [[r[2]] for r in BASE]), ["price"], [[r[2]] for r in BASE])
    add("one_row", cells_as_text(HEAD, BASE[:1]), HEAD, BASE[:1])
    wide = [f"x{i}" for i in range(300)]
    add(
        "three_hundred_columns",
        cells_as_text(wide, [[str(i * j % 11) for i in range(300)] for j in range(1, 6)]),
        wide,
        [[str(i * j % 11) for i in range(300)] for j in range(1, 6)],
    )
    add("blank_line_first", "\n" + plain)
    add("tsv_named_csv", cells_as_text(HEAD, BASE, "\t"))
    add("csv_named_txt", plain, suffix=".txt")
    dates = [[r[0], "24 Dec 2019", r[2], "2020-01-31"] for r in BASE]
    add("dates", cells_as_text(HEAD, dates), HEAD, dates)
    add(
        "long_cell",
        cells_as_text(HEAD, [[r[0], "x" * 70_000, *r[2:]] for r in BASE]),
        HEAD,
        [[r[0], "x" * 70_000, *r[2:]] for r in BASE],
    )
    return found


# --- readers ----------------------------------------------------------------------------------------------------------

Cells = tuple[list[str], list[list[Any]]]


def of_latentia(path: Path) -> Cells:
    table = open_table(path)
    return table.names, [list(row) for row in zip(*(table.texts(name) for name in table.names), strict=True)]


def of_polars(path: Path) -> Cells:
    import polars as pl

    frame = pl.read_csv(path, infer_schema=False, truncate_ragged_lines=True)
    return frame.columns, [list(row) for row in frame.rows()]


def of_duckdb(path: Path) -> Cells:
    import duckdb

    found = duckdb.connect().execute("select * from read_csv(?, all_varchar=true)", [str(path)])
    return [column[0] for column in found.description], [list(row) for row in found.fetchall()]


def of_pandas(path: Path) -> Cells:
    import pandas as pd

    frame = pd.read_csv(path, sep=None, engine="python", dtype=str, keep_default_na=False)
    return list(frame.columns), frame.fillna("").to_numpy().tolist()


def of_pyarrow(path: Path) -> Cells:
    from pyarrow import csv as arrow
    from pyarrow import string

    breaks = arrow.ParseOptions(newlines_in_values=True)
    names = arrow.read_csv(path, parse_options=breaks).column_names
    table = arrow.read_csv(
        path, parse_options=breaks, convert_options=arrow.ConvertOptions(column_types=dict.fromkeys(names, string()))
    )
    return names, [list(row) for row in zip(*(table[i].to_pylist() for i in range(table.num_columns)), strict=True)]


READERS: dict[str, Callable[[Path], Cells]] = {
    "latentia": of_latentia, "duckdb": of_duckdb, "polars": of_polars, "pandas": of_pandas, "pyarrow": of_pyarrow,
}  # fmt: skip
NUMBERS = {
    "latentia": "from latentia.datasets import read_table; read_table(path)",
    "duckdb": "import duckdb; duckdb.connect().execute('select * from read_csv(?)', [path]).fetchnumpy()",
    "polars": "import polars; polars.read_csv(path).to_numpy()",
    "pandas": "import pandas; pandas.read_csv(path).to_numpy()",
    "pyarrow": "from pyarrow import csv; [c.to_numpy() for c in csv.read_csv(path).columns]",
}
PACKAGES = {"polars": ["polars", "polars-runtime-32"], "latentia": []}
MADE_UP = "column ", "row"


def is_right(found: Cells, names: list[str], rows: list[list[str]]) -> bool:
    """Return True if cells and headings are those of the file; what has no heading may have any."""
    given = [[("" if cell is None else str(cell)).strip() for cell in row] for row in found[1]]
    same = given == [[cell.strip() for cell in row] for row in rows]
    named = len(found[0]) == len(names) and all(
        a.strip() == b or b.startswith(MADE_UP) or b.endswith("(2)") for a, b in zip(found[0], names, strict=True)
    )
    return same and named


def measured(name: str, files: dict[str, Any], folder: Path, numbers: Path) -> dict[str, Any]:
    """Return how many files a reader has right, wrong without a word, and refuses, and what it takes."""
    right = silent = 0
    for file, (suffix, data, names, rows) in files.items():
        path = folder / f"{file}{suffix}"
        path.write_bytes(data)
        try:
            good = is_right(READERS[name](path), names, rows)
        except Exception:  # whatever a reader says of such a file
            continue
        right, silent = right + good, silent + (not good)
    code = (
        "import resource, sys; path = sys.argv[1]; cpu = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2]); "
        f"a = cpu(); import {'polars, latentia.datasets' if name == 'latentia' else name}; b = cpu(); {NUMBERS[name]}; "
        "print(b - a, cpu() - b)"
    )
    result = subprocess.run([sys.executable, "-c", code, str(numbers)], capture_output=True, text=True, check=True)
    imported, cpu = map(float, result.stdout.split()[-2:])
    return {
        "reader": name, "right": right, "silent": silent, "refused": len(files) - right - silent, "cpu": cpu,
        "import": imported, "megabytes": sum(map(megabytes, PACKAGES.get(name, [name]))),
    }  # fmt: skip


def megabytes(package: str) -> float:
    """Return the size of an installed package."""
    files = importlib.metadata.files(package) or []
    return sum(file.size or 0 for file in files) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    warnings.simplefilter("ignore")
    files, rows = polluted(), []
    with tempfile.TemporaryDirectory() as folder:
        numbers = Path(folder) / "numbers.csv"
        table = np.random.default_rng(0).normal(size=(n, 20)).round(6)
        np.savetxt(numbers, table, "%.6f", ",", header=",".join(f"x{i}" for i in range(20)), comments="")
        for name in READERS:
            try:
                rows.append(measured(name, files, Path(folder), numbers))
            except ImportError:
                print(f"{name} is not installed")
    report("readers_of_tables", rows, files=len(files), n_rows=n)


if __name__ == "__main__":
    main()
