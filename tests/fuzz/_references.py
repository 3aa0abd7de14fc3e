"""Plain readers of the formats of numbers: slow, lenient, and short enough to be seen to be right.

What they refuse nobody may accept, and what both accept must be the same.
"""

import bz2
import gzip
import lzma
import re

import numpy as np

__all__ = ["market", "numbers", "svmlight", "uci"]


DECOMPRESS = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\0": lzma.decompress}


def _unpacked(data):
    return next((decompress(data) for magic, decompress in DECOMPRESS.items() if data.startswith(magic)), data)


def _lines(data):
    data = _unpacked(data)
    return re.split(r"\r\n|\r|\n", data.decode("latin-1"))


def _words(line):
    return line.strip(" \t\r").replace("\t", " ").replace("\r", " ").split(" ")


def _fields(line):
    return [word for word in _words(line) if word]


def _entries(lines, width):
    return [_fields(line)[:width] for line in lines if _fields(line)]


def uci(data):
    """A table of counts."""
    lines = _lines(data)
    table = np.zeros((int(lines[0]), int(lines[1])))
    found = _entries(lines[3:], 4)
    assert len(found) == int(lines[2])
    for i, j, value in found:
        assert min(int(i), int(j)) > 0
        table[int(i) - 1, int(j) - 1] += float(value)
    return table


def market(data):
    """A table of any kind."""
    lines = _lines(data)
    _, _, layout, field, symmetry = lines[0].lower().split()
    first = 1
    while lines[first].startswith("%") or not lines[first].strip():
        first += 1
    size = [int(word) for word in lines[first].split()]
    sign = {"general": 0, "symmetric": 1, "skew-symmetric": -1}[symmetry]
    table = np.zeros(size[:2])
    if layout == "array":
        cells = [(i, j) for j in range(size[1]) for i in range(j + (sign < 0) if sign else 0, size[0])]
        values = [float(value) for (value,) in _entries(lines[first + 1 :], 2)]
        entries = [(i, j, value) for (i, j), value in zip(cells, values, strict=True)]
    else:
        found = _entries(lines[first + 1 :], 4)
        assert len(found) == size[2]
        entries = [(int(row[0]) - 1, int(row[1]) - 1, 1.0 if field == "pattern" else float(row[2])) for row in found]
        assert all(len(row) == (2 if field == "pattern" else 3) for row in found)
    for i, j, value in entries:
        assert min(i, j) >= 0
        table[i, j] += value
        if sign and i != j:
            table[j, i] += sign * value
    return table


def svmlight(data, base):
    """Values that are not zero, a dict from (row, column), labels, a set of such, and the number of rows."""
    lines = _unpacked(data).decode("latin-1").split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    head = lines[0].split()
    if len(head) == 3 and all(word.isdecimal() for word in head):
        lines = lines[1:]
    values, labels, row = {}, set(), 0
    for line in lines:
        if line.startswith("#"):
            continue
        before = line.partition("#")[0]
        parts = _fields(before)
        if before[:1] not in (" ", "\t", "\r") and parts and ":" not in parts[0]:
            labels |= {(row, int(label) - base) for label in parts.pop(0).split(",")}
        for part in parts:
            column, value = part.split(":")
            place = (row, int(column) - base)
            values[place] = values.get(place, 0.0) + float(value)
        row += 1
    return {place: value for place, value in values.items() if value}, labels, row


def numbers(data):
    """A list of two or three whole numbers a line."""
    rows = [_fields(line.partition("#")[0]) for line in _lines(data)]
    return np.array([[float(word) for word in row] for row in rows if row])
