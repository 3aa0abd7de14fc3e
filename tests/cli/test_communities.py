import json

import numpy as np
import pytest
from scipy import sparse

import latentia
from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted
from latentia.exceptions import DroppedDataWarning, EvidenceWarning

FILES = [
    "communities.csv", "connectivity.csv", "evidence.csv", "memberships.csv", "model.npz", "report.html", "result.json",
    "spectrum.csv",
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return planted.mixed_membership_graph(400, 3, alpha0=0.2, degree=25, snr=4)


def _write(path, adjacency, line="n{} n{}", directed=False):
    """A list of edges, those of an undirected graph once."""
    pairs = zip(*sparse.coo_array(adjacency).coords, strict=True)
    path.write_text("\n".join(line.format(i, j) for i, j in pairs if directed or i < j) + "\n")
    return path


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    return _write(tmp_path_factory.mktemp("communities") / "friends.txt", data.adjacency)


@pytest.fixture(scope="module")
def learned(path, tmp_path_factory):
    """A folder of results, and what was printed."""
    from latentia.cli.commands import app

    out = tmp_path_factory.mktemp("results") / "o"
    app(["communities", str(path), "-k", "3", "--out", str(out), "--quiet"], standalone_mode=False)
    return out


def _shares(found):
    """Memberships (n, K) of a table, NaN where they are not known."""
    columns = [name for name in found[0] if name.startswith("community ")]
    return np.array([[float(row[name] or "nan") for name in columns] for row in found])


def _truth(data, found):
    return data.memberships[[int(row["node"].lstrip("n")) for row in found]]


def _l1(shares, truth):
    """Mean l1 distance of memberships, communities matched by their overlap."""
    order = (truth.T @ shares).argmax(axis=1)
    assert sorted(order) == list(range(shares.shape[1]))
    return np.abs(shares[:, order] - truth).sum(axis=1).mean()


def test_a_list_of_edges(call, rows, written, path, data, tmp_path):
    out = tmp_path / "o"
    printed = call("communities", path, "-k", 3, "--out", out)
    n_edges = data.adjacency.nnz // 2
    assert f"friends.txt: {n_edges:,} edges of 400 nodes, {n_edges / 200:.3g} per node" in printed
    assert "3 communities, largest first" in printed
    assert "The spectrum suggests 3 communities, as many as there are: 2 directions are above the noise." in printed
    assert "SUPPORTED. 3 of 3 communities are found again in" in printed
    assert written(out) == FILES
    found = rows(out / "memberships.csv")
    assert _l1(_shares(found), _truth(data, found)) < 0.25
    np.testing.assert_allclose(_shares(found).sum(axis=1), 1, atol=1e-4)
    assert [int(row["community"]) for row in found] == _shares(found).argmax(axis=1).tolist()
    degrees = {f"n{i}": degree for i, degree in enumerate(data.adjacency.sum(axis=1))}
    assert all(int(row["edges"]) == degrees[row["node"]] for row in found)


def test_tables_agree_with_the_model(rows, learned):
    model = latentia.load(learned / "model.npz")
    found = rows(learned / "memberships.csv")
    assert [row["node"] for row in found] == list(model.names_)
    np.testing.assert_allclose(_shares(found), model.memberships_, atol=1e-5)
    for row, shares in zip(found, model.memberships_, strict=True):
        assert {int(k) for k in row["communities"].split()} == set(np.flatnonzero(shares >= 0.1))
    table = rows(learned / "communities.csv")
    for k, row in enumerate(table):
        assert float(row["size"]) == pytest.approx(model.memberships_[:, k].sum(), rel=1e-4)
        assert float(row["share"]) == pytest.approx(model.weights_[k], abs=1e-6)
        assert int(row["nodes"]) == (model.memberships_[:, k] >= 0.1).sum()
        assert float(row["expected error"]) == pytest.approx(model.evidence_.component_errors[k], abs=1e-4)
        assert row["grade"] == model.evidence_.components[k].grade
        assert float(row["inside"]) > 2 * float(row["inside by chance"]) * 0.8
        degrees = np.array([float(one["edges"]) for one in found])
        assert row["most central"].split("; ")[0] == model.names_[(degrees * model.memberships_[:, k]).argmax()]
    cells = [[float(row[f"community {k}"]) for k in range(3)] for row in rows(learned / "connectivity.csv")]
    np.testing.assert_allclose(cells, model.connectivity_, rtol=1e-6)
    spectrum = rows(learned / "spectrum.csv")
    assert [row["above"] for row in spectrum[:3]] == ["yes", "yes", "no"]
    assert [float(row["eigenvalue"]) for row in spectrum] == pytest.approx(model.spectrum_.tolist(), rel=1e-6)


def test_the_threshold_says_what_is_listed(call, rows, path, tmp_path):
    call("communities", path, "-k", 3, "--threshold", 0.6, "--splits", 0, "--out", tmp_path / "o")
    found = rows(tmp_path / "o" / "memberships.csv")
    assert all(len(row["communities"].split()) <= 1 for row in found)
    table = rows(tmp_path / "o" / "communities.csv")
    assert [int(row["nodes"]) for row in table] == (_shares(found) >= 0.6).sum(axis=0).tolist()
    assert {row["expected error"] for row in table} == {""}
    assert "with a share of 60% or more" in (tmp_path / "o" / "report.html").read_text("utf-8")


def test_a_range_is_compared(call, rows, recommended, path, tmp_path):
    printed = call("communities", path, "-k", "2:4", "--refine", 5, "--out", tmp_path / "o")
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["communities"] for row in compared] == ["2", "3", "4"]
    assert float(compared[1]["AUC of held-out links"]) > float(compared[0]["AUC of held-out links"]) > 0.5
    assert "Comparison (held out: a quarter of the edges)" in printed
    size, _ = recommended(printed, compared)
    assert latentia.load(tmp_path / "o" / "model.npz").n_components == size == 3


def test_as_many_as_it_takes(call, rows, path, tmp_path):
    call("communities", path, "-k", "auto", "--refine", 5, "--out", tmp_path / "o")
    compared = rows(tmp_path / "o" / "comparison.csv")
    assert [row["communities"] for row in compared][:3] == ["2", "3", "4"]
    assert len(compared) < 15  # larger numbers are not tried once they are worse
    assert len(rows(tmp_path / "o" / "communities.csv")) == 3


def test_directions_of_a_table_with_headings(call, rows, tmp_path):
    connectivity = [[1, 8, 1], [1, 1, 8], [8, 1, 1]]
    data = planted.mixed_membership_graph(
        400, 3, alpha0=0.1, degree=25, connectivity=connectivity, directed=True, random_state=2
    )
    source = _write(tmp_path / "x.csv", data.adjacency, "{0},2020,{1}", directed=True)
    source.write_text("from,year,to\n" + source.read_text())
    printed = call("communities", source, "--columns", "from,to", "--directed", "-k", 3, "--out", tmp_path / "o")
    assert "edges with directions of 400 nodes" in printed
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert model.directed_
    found = rows(tmp_path / "o" / "memberships.csv")
    assert _l1(_shares(found), _truth(data, found)) < 0.3
    table = np.array(
        [[float(row[f"community {k}"]) for k in range(3)] for row in rows(tmp_path / "o" / "connectivity.csv")]
    )
    assert (np.sort(table, axis=1)[:, 2] > 3 * np.sort(table, axis=1)[:, 1]).all()  # each leads to one other
    assert (table.argmax(axis=1) != np.arange(3)).all()
    new = tmp_path / "new.csv"
    ends = list(zip(*data.adjacency.tocoo().coords, strict=True))
    lines = [f"new,1,{j}" for i, j in ends if i == 5] + [f"{i},1,new" for i, j in ends if j == 5]
    new.write_text("\n".join(["from,year,to", *lines]))
    call("apply", tmp_path / "o", new, "--out", tmp_path / "a")
    (row,) = rows(tmp_path / "a" / "memberships.csv")
    assert int(row["edges"]) == len(lines)
    own = next(row for row in found if row["node"] == "5")
    assert row["community"] == own["community"]


def test_what_is_left_out_is_said(call, rows, data, tmp_path):
    n, (i, j) = 400, sparse.triu(data.adjacency, 1).tocoo().coords
    linked = (i != 7) & (j != 7)
    pairs = [*zip(i[linked] + 1, j[linked] + 1, strict=True), (10, 10)]
    lines = [
        "%%MatrixMarket matrix coordinate pattern general",
        f"{n} {n} {len(pairs)}",
        *(f"{a} {b}" for a, b in pairs),
    ]
    (tmp_path / "x.mtx").write_text("\n".join(lines) + "\n")
    with pytest.warns(DroppedDataWarning) as said:
        printed = call("communities", tmp_path / "x.mtx", "-k", 3, "--no-cache", "--out", tmp_path / "o")
    assert any("1 loop was left out" in str(one.message) for one in said)
    assert any("Nodes without edges: 1 of 400" in str(one.message) for one in said)
    assert "edges of 400 nodes" in printed
    found = rows(tmp_path / "o" / "memberships.csv")
    assert list(found[7].values()) == ["8", "0", "", "", "", "", ""]
    assert all(row["community"] for row in found if row["node"] != "8")
    assert "1 node without edges is left out" in (tmp_path / "o" / "report.html").read_text("utf-8")


def test_weights_and_long_names(call, data, tmp_path):
    long = "a person whose name is very long and goes on {}"
    source = _write(tmp_path / "x.csv", data.adjacency, f"{long},{long},2")
    source.write_text("from,to,weight\n" + source.read_text().replace(",2\n", ",1.5\n", 500))
    printed = call("communities", source, "-k", 3, "--out", tmp_path / "o")
    assert "weights 1.5 to 2" in printed
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "a person whose name is very long and go…" in page


def test_nothing_but_noise(call, tmp_path):
    graph = planted.mixed_membership_graph(300, 2, alpha0=0, degree=20, snr=0.0, random_state=1)
    source = _write(tmp_path / "x.txt", graph.adjacency)
    with pytest.warns(EvidenceWarning, match="The spectrum shows no communities"):
        printed = call("communities", source, "-k", 3, "--out", tmp_path / "o")
    assert "it shows no communities" in printed
    assert "NOT SUPPORTED" in printed


def test_degree_correction_and_method(call, path, tmp_path):
    call(
        "communities", path, "-k", 3, "--degree-corrected", "no", "--alpha0", 0, "--splits", 0, "--out", tmp_path / "o"
    )
    model = latentia.load(tmp_path / "o" / "model.npz")
    assert not model.degree_corrected_
    assert not model.dirichlet_.any()
    call("communities", path, "-k", 3, "--degree-corrected", "yes", "--splits", 0, "--out", tmp_path / "p")
    assert latentia.load(tmp_path / "p" / "model.npz").degree_corrected_


# --- other nodes ----------------------------------------------------------------------------------------------------


def test_new_nodes(call, rows, learned, data, tmp_path):
    model = latentia.load(learned / "model.npz")
    place = {name: i for i, name in enumerate(model.names_)}
    lines, table = [], np.zeros((3, 400))
    for new, old in enumerate((11, 42)):
        neighbours = data.adjacency[[old]].nonzero()[1]
        lines += [f"new{new} n{j} 2" if new else f"n{j} new{new} 2" for j in neighbours]  # in either order
        table[new, [place[f"n{j}"] for j in neighbours]] = 2
    lines += ["n11 n12 1", "stranger alien 1"]  # the first of two known nodes is placed, too
    table[2, place["n12"]] = 1
    (tmp_path / "new.txt").write_text("\n".join(lines) + "\n")
    printed = call("apply", learned, tmp_path / "new.txt", "--out", tmp_path / "a")
    assert f"new.txt: {len(lines) - 1} edges of 3 nodes to those of the model" in printed
    assert (
        "1 edge between nodes that the model does not have: ignored, such as that of 'stranger' and 'alien'." in printed
    )
    found = {row["node"]: row for row in rows(tmp_path / "a" / "memberships.csv")}
    assert set(found) == {"new0", "new1", "n11"}
    shares = _shares([found[name] for name in ("new0", "new1", "n11")])
    np.testing.assert_allclose(shares, model.transform(table), atol=1e-5)
    assert found["new0"]["edges"] == f"{table[0].sum():.0f}"


def test_new_nodes_without_edges_to_known_ones(call, refused, learned, tmp_path):
    (tmp_path / "new.txt").write_text("a b\n")
    with pytest.raises(latentia.exceptions.LatentiaError, match="new.txt: the model knows none of its nodes"):
        call("apply", learned, tmp_path / "new.txt", "--out", tmp_path / "a")
    (tmp_path / "new.txt").write_text("a n1\nn2 n2\n")
    printed = call("apply", learned, tmp_path / "new.txt", "--out", tmp_path / "a")
    assert "1 edge of a node to itself: ignored, as new nodes need names of their own." in printed


def test_a_model_from_python(call, rows, data, tmp_path):
    model = MixedMembershipBlockModel(3, n_splits=0).fit(data.adjacency)
    file = latentia.save(model, tmp_path / "m.npz")
    (tmp_path / "new.csv").write_text("a,b,weight\nx,5,1\nx,17,2\n")
    call("apply", file, tmp_path / "new.csv", "--out", tmp_path / "a")
    table = np.zeros((1, 400))
    table[0, [5, 17]] = 1, 2
    np.testing.assert_allclose(_shares(rows(tmp_path / "a" / "memberships.csv")), model.transform(table), atol=1e-5)


# --- errors ---------------------------------------------------------------------------------------------------------

TRIANGLE = "a b\nb c\nc a\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", TRIANGLE, ["-k", 1], "-k 1: expected two communities or more"),
        ("x.txt", TRIANGLE, ["-k", "many"], "give a number of communities, or FROM:TO:STEP as in 10:50:10, or auto"),
        ("x.txt", TRIANGLE, ["-k", 4], "x.txt: 3 nodes with edges support at most 3 communities: -k 4 is too large"),
        ("x.txt", TRIANGLE, ["-k", "2:3", "--splits", 0], "--splits 0: -k 2:3 compares measurements"),
        ("x.txt", TRIANGLE, ["-k", 2, "--degree-corrected", "perhaps"], "use one of auto, yes, no"),
        ("x.txt", TRIANGLE, ["-k", 2, "--threshold", 0], "--threshold 0: expected a share above 0"),
        ("x.txt", TRIANGLE, ["-k", 2, "--refine", "x"], "--refine x: give a number of steps"),
        ("x.txt", TRIANGLE, ["-k", 2, "--columns", "a,b"], "the file has no named columns"),
        ("x.csv", "a,b\n1,2\n", ["--columns", "a,c"], "no column 'c'. There are a, b."),
        ("x.txt", "a b c d\n", [], "line 1: 4 columns, and an edge is two nodes"),
        ("x.txt", "a b -1\n", [], "line 1: '-1' is no weight"),
        ("x.txt", "", [], "expected edges, found none in the file"),
        ("x.npy", "", ["--encoding", "utf-8"], "x.npy"),
    ],
)
def test_bad_input(refused, tmp_path, name, content, options, message):
    (tmp_path / name).write_text(content)
    assert message in refused("communities", tmp_path / name, *options)


def test_the_shell_says_what_is_wrong(shell, tmp_path):
    code, error = shell("communities", tmp_path / "none.txt", "--out", tmp_path / "o")
    assert code == 2
    assert "none.txt: no such file" in error
    code, error = shell("communities", tmp_path / "none.txt", "--alpha0", "-1", "--out", tmp_path / "o")
    assert code == 2
    assert "'--alpha0'" in error


def test_weights_and_unused_directions_of_a_table_are_said(call, rows, data, tmp_path):
    draw = np.random.default_rng(0)
    first, second = data.adjacency.tocoo().coords
    names = [f"node {i}" for i in range(400)]
    lines = [f"{names[i]};{names[j]};{draw.integers(1, 4)}" for i, j in zip(first, second, strict=True) if i < j]
    (tmp_path / "x.csv").write_text("\n".join(["Arzt;Kollege;Anzahl", *lines]))
    printed = call("communities", tmp_path / "x.csv", "-k", 3, "--splits", 0, "--out", tmp_path / "o")
    assert "Edges are used without their directions: --directed" in printed
    found = rows(tmp_path / "o" / "memberships.csv")
    weights = dict.fromkeys(names, 0)
    for line in lines:
        *ends, weight = line.split(";")
        for name in ends:
            weights[name] += int(weight)
    assert all(int(row["weight of edges"]) == weights[row["node"]] for row in found)
    record = json.loads((tmp_path / "o" / "result.json").read_text())
    assert "edges between the nodes of 'Arzt' and 'Kollege', with weights in 'Anzahl'" in record["read"][0]["notes"][0]
    (tmp_path / "new.csv").write_text("Arzt;Kollege;Anzahl\nnew;node 1;2\nnew;node 2;1\n")
    call("apply", tmp_path / "o", tmp_path / "new.csv", "--out", tmp_path / "a")
    assert [row["weight of edges"] for row in rows(tmp_path / "a" / "memberships.csv")] == ["3"]
