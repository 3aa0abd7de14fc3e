"""Files without headings: texts, edges, matrices, sequences; their kind and the commands for them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ..exceptions import LatentiaError
from ..passes.formats import detect_format, open_lines, open_unicode, plain_name, readable
from ._dialect import SAMPLE, find_dialect
from ._reading import Reading
from ._tables import is_csv, is_even

_N_SAMPLE_LINES = 200  # enough to find the kind of a file
_GRAPH_SUFFIXES = (".graphml", ".gml", ".gexf", ".net")
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".pgm", ".ppm")
_EDGE_CELLS = 3  # two nodes and a weight
_MAX_HEADING_LENGTH = 200  # characters; longer cells are text
_MIN_PROSE_WORDS = 6  # mean words per line of text


def is_binary(path: Path) -> bool:
    """Return True if a file is not text."""
    if plain_name(path).endswith((".npy", ".npz", ".png", ".jpg", ".jpeg", ".mtx", ".bif")):
        return True
    with readable(path), open_lines(path) as file:
        return b"\0" in file.read(SAMPLE)


def is_plain_table(path: Path) -> bool:
    """Return True if a text with another suffix is a table: headings above lines of equally many cells."""
    sample, is_complete = _sample(path)
    if sample.startswith((">", "%%MatrixMarket")):
        return False
    dialect = find_dialect(sample, ",", is_complete=is_complete)
    lines = [line for line in sample.splitlines() if line.strip()][dialect.start :]
    heading = lines[0].split(None if dialect.separator == " " else dialect.separator) if lines else []
    if (
        len(heading) < 2
        or max(map(len, heading)) > _MAX_HEADING_LENGTH
        or all(re.fullmatch(r"[-+.\deE]+", cell.strip()) for cell in heading)
    ):
        return False
    if dialect.separator == " ":
        return dialect.names_rows or len(heading) > _EDGE_CELLS
    return is_even(sample, is_complete=is_complete)


def holds_chains(path: Path, encoding: str | None = None) -> bool:
    """Return True if the lines of a CSV file without headings are sequences whose symbols recur."""
    return is_csv(path) and path.is_file() and _classify_lines(path, path.name, encoding).shape == "sequences"


def read_without_headings(path: Path, name: str, encoding: str | None) -> Reading:
    """Find the kind of a file or folder without headings, and the commands for it."""
    file = shlex.quote(name)
    if path.is_dir():
        n = sum(1 for entry in path.rglob("*") if entry.is_file() and not entry.name.startswith("."))
        shape = "counts" if any(path.glob("*.mtx*")) or any(path.glob("docword*")) else "texts"
        return Reading(name, shape, (), n, ("a folder: one document per file",), (f"latentia topics {file} -k 5:25:5",))
    if not path.exists():
        raise LatentiaError("no such file.", source=path)
    lower = plain_name(path)
    if lower.endswith(_GRAPH_SUFFIXES):
        return Reading(name, "pairs", (), 0, ("a graph",), (f"latentia communities {file} -k auto",))
    if lower.endswith(_IMAGE_SUFFIXES):
        return Reading(name, "image", (), 0, ("a picture",), (f"latentia dictionary {file}",))
    if lower.endswith((".npy", ".npz")):
        return Reading(
            name,
            "array",
            (),
            0,
            ("an array of NumPy",),
            (f"latentia nmf {file} -k 5", f"latentia communities {file} -k auto"),
        )
    kind = _detect_matrix_format(path)
    if kind in ("uci", "matrixmarket"):
        return Reading(
            name,
            "counts",
            (),
            0,
            (f"a matrix ({kind})",),
            (f"latentia topics {file} -k 10", f"latentia communities {file} -k auto"),
        )
    if kind == "svmlight":
        return Reading(name, "counts", (), 0, ("counts of words with labels (svmlight)",), (f"latentia labels {file}",))
    return _classify_lines(path, name, encoding)


def _detect_matrix_format(path: Path) -> str:
    try:
        return detect_format(path)
    except LatentiaError:
        return ""


def _sample(path: Path, encoding: str | None = None) -> tuple[str, bool]:
    with open_unicode(path, None, encoding) as file:
        sample = file.read(SAMPLE)
        return sample, len(sample) < SAMPLE


def _classify_lines(path: Path, name: str, encoding: str | None) -> Reading:
    """Distinguish texts, edges, sequences and baskets by their lines."""
    sample, _ = _sample(path, encoding)
    lines = [line.strip() for line in sample.splitlines() if line.strip()][:_N_SAMPLE_LINES]
    with open_unicode(path, None, encoding) as file:
        n = sum(1 for _ in file)
    file_name = shlex.quote(name)
    if not lines:
        raise LatentiaError("the file is empty.", source=path)
    if lines[0].startswith(">"):
        return Reading(
            name,
            "sequences",
            (),
            n,
            ("FASTA: a sequence below each line that begins with >",),
            (f"latentia hmm {file_name} -k 2:6",),
        )
    words = [len(line.split()) for line in lines]
    body = [line for line in lines if not line.startswith(("#", "%"))]
    if body and all(re.fullmatch(r"\S+\s+\S+(\s+[-+.\deE]+)?", line) for line in body):
        return Reading(
            name,
            "pairs",
            (),
            n,
            ("two names per line",),
            (f"latentia communities {file_name} -k auto", f"latentia matrix {file_name} -k 10"),
        )
    commas = sum("," in line for line in lines)
    mean = sum(words) / len(words)
    distinct = len({word for line in lines for word in line.split()})
    cells = [[cell.strip() for cell in line.split(",") if cell.strip()] for line in lines]
    repeated = sum(len(set(row)) < len(row) for row in cells)
    if 2 * commas > len(lines) and 2 * repeated > len(lines):
        n_symbols = len({cell for row in cells for cell in row})
        note = f"one sequence per line, of {n_symbols} symbols separated by commas"
        return Reading(name, "sequences", (), n, (note,), (f"latentia hmm {file_name} -k 2:6",))
    if 2 * commas > len(lines) and mean < 2 * _MIN_PROSE_WORDS and not any(line.endswith(".") for line in lines):
        return Reading(
            name, "baskets", (), n, ("a list of items per line",), (f"latentia noisy-or {file_name} --baskets",)
        )
    if distinct <= max(20, sum(words) / 20):
        return Reading(
            name,
            "sequences",
            (),
            n,
            (f"one sequence per line, of {distinct} symbols",),
            (f"latentia hmm {file_name} -k 2:6",),
        )
    commands = (f"latentia topics {file_name} -k 5:25:5", f"latentia matrix {file_name} --window 2 -k 20")
    return Reading(name, "texts", (), n, ("one document per line",), commands)
