"""Two tables of the same rows, and the target."""

import numpy as np
import pytest

from latentia.contrastive import ContrastiveRegression
from latentia.datasets import planted, read_table, read_views
from latentia.datasets.views import match_rows
from latentia.exceptions import LatentiaError

N = 40
U = np.array([[i % 7, i * i % 11, i % 3] for i in range(N)], dtype=float)
V = np.array([[i % 5, i * 3 % 13] for i in range(N)], dtype=float)


def write(path, head, cells):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in cells)]) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    """Files of U, with a target and a column that says nothing, and of V."""
    first = [[*row, "yes" if i % 2 else "no", 5] for i, row in enumerate(U.tolist())]
    return write(tmp_path / "u.csv", "a,b,t,ill,one", first), write(tmp_path / "v.csv", "x,y", V.tolist())


def test_views_of_two_files(files):
    found = read_views(*files, target="t")
    np.testing.assert_array_equal(found.U[:, :2], U[:, :2])
    np.testing.assert_array_equal(found.V, V)
    np.testing.assert_array_equal(found.y, U[:, 2])
    assert found.U[:, 2].tolist() == [0, 1] * (N // 2)  # no and yes
    assert (found.columns, found.columns_v, found.target) == (["a", "b", "ill"], ["x", "y"], "t")
    assert (found.constant, found.constant_v, found.n_dropped, found.edges) == (["one"], [], 0, None)
    assert found.rows == list(range(2, N + 2))
    assert found.names == []
    assert [table.source for table in found.tables] == ["u.csv", "v.csv"]


def test_classes_and_chosen_columns(files, tmp_path):
    found = read_views(*files, columns=["b", "a"], columns_v=["y"], target="ill", classes=True)
    np.testing.assert_array_equal(found.U, U[:, [1, 0]])
    assert found.y.tolist() == ["no", "yes"] * (N // 2)
    assert found.columns_v == ["y"]
    target = write(tmp_path / "w.csv", "w", U[:, 2:].tolist())
    found = read_views(*files, target=target, ignore=["t"])
    np.testing.assert_array_equal(found.y, U[:, 2])
    assert (found.target, found.columns) == ("w", ["a", "b", "ill"])


def test_pairs_of_columns(files, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("a,b\n\nt b\n")
    assert read_views(*files, edges=pairs).edges == [[0, 1], [2, 1]]
    pairs.write_text("a b\na one\n")
    with pytest.raises(LatentiaError, match=r"pairs.txt': line 2: U has no column 'one'\. It has a, b, t, ill\."):
        read_views(*files, edges=pairs)
    with pytest.raises(LatentiaError, match=r"edges='nowhere': no such file"):
        read_views(*files, edges="nowhere")


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
def test_rows_that_one_file_lacks_leave_all(tmp_path):
    first, second, target = U[:, :2].astype(object), V.astype(object), U[:, 2:].astype(object)
    first[3, 1], second[7, 0], target[11, 0] = "", "NA", "NA"
    u, v = write(tmp_path / "u.csv", "a,b", first.tolist()), write(tmp_path / "v.csv", "x,y", second.tolist())
    y = write(tmp_path / "y.csv", "t", target.tolist())
    kept = np.delete(np.arange(N), [3, 7, 11])
    found = read_views(u, v, target=y, missing="drop")
    np.testing.assert_array_equal(found.U, U[kept, :2])
    np.testing.assert_array_equal(found.V, V[kept])
    np.testing.assert_array_equal(found.y, U[kept, 2])
    assert (found.n_dropped, found.rows) == (3, (kept + 2).tolist())
    found = read_views(u, v, target=y, missing="mean")  # a target is never made up
    assert (found.n_dropped, found.n_filled, len(found.U)) == (1, 2, N - 1)
    tables = [read_table(path, missing="drop") for path in (u, v)]
    masks = match_rows(tables, [u, v])
    np.testing.assert_array_equal(tables[0].values[masks[0]], U[np.delete(np.arange(N), [3, 7]), :2])
    assert [len(mask) for mask in masks] == [N - 1, N - 1]
    with pytest.raises(LatentiaError, match=r"no value .*. Or use other columns with columns=\. missing='drop'"):
        read_views(u, v)


def test_a_model_is_fitted_on_what_is_read(tmp_path):
    data = planted.contrastive_views(12_000, 3, "regression", linear_map="orthogonal")
    u = write(tmp_path / "u.csv", "a,b,c,y", np.column_stack([data.U, data.y]).tolist())
    views = read_views(u, write(tmp_path / "v.csv", "d,e,f", data.V.tolist()), target="y")
    model = ContrastiveRegression().fit(views.U, views.V, views.y)
    np.testing.assert_allclose(model.coef_, data.truth, atol=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["a", "q"]}, "no column 'q', which columns= names"),
        ({"columns_v": ["a"]}, "no column 'a', which columns_v= names"),
        ({"columns_v": ["x", "x"]}, "columns_v= names 'x' twice"),
        ({"columns_v": ["x"], "ignore": ["x"]}, "columns_v= and ignore= both name 'x'"),
        ({"ignore": ["nope"]}, "ignore= names 'nope', and neither"),
        ({"columns": ["a"], "min_columns": 2}, "1 column of numbers; expected at least two"),
        ({"target": "q"}, "target='q': no such file, and no such column in"),
        ({"target": "a", "columns": ["a"]}, "columns= and target= both name 'a'"),
        ({"target": "ill"}, "target='ill': expected a column of numbers for a regression, found texts"),
        ({"target": "one"}, "target='one': it is 5 in all 40 rows"),
        ({"target": "t", "classes": True}, "target='t': expected two classes, found 3 different values (0.0, 1.0, 2.0)."),
        ({"missing": "keep"}, "missing='keep': expected 'error', 'drop' or 'mean'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(files, options, message):
    with pytest.raises(LatentiaError) as error:
        read_views(*files, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("head", "rows", "message"),
    [
        ("x,y", V[:30], "v.csv 30: expected the same rows in U and V, in the same order."),
        ("x,y", np.ones((N, 2)), "v.csv: all 2 columns of V are constant over 40 rows"),
        ("x,y", V[:, [0, 0]], "columns depend on each other: x of V, y of V. One of them follows"),
    ],
)
def test_tables_that_do_not_fit(files, head, rows, message):
    write(files[1], head, rows.tolist())
    with pytest.raises(LatentiaError) as error:
        read_views(*files)
    assert message in str(error.value)


def test_one_file_may_be_both(files):
    found = read_views(files[0], files[0], columns=["a", "b"], columns_v=["t"])
    np.testing.assert_array_equal(np.hstack([found.U, found.V]), U)
    with pytest.raises(LatentiaError, match=r"is given as U and as V, and both have column 'a'"):
        read_views(files[0], files[0])
