"""Tables of pandas, polars and pyarrow, and what looks like AnnData, are read alike."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse

from latentia import LatentiaError
from latentia.datasets import planted
from latentia.ica import TensorICA
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.passes import Blocks
from latentia.topics import AnchorTopics

X = planted.gaussian_mixture(300, n_components=3, n_features=5, separation=6).X
NAMES = [f"c{i}" for i in range(5)]


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def pyarrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


class Annotated:
    """What AnnData has of a table."""

    def __init__(self, X, obs_names, var_names):
        self.X, self.obs_names, self.var_names, self.shape = X, pd.Index(obs_names), pd.Index(var_names), X.shape


def annotated(columns):
    table = np.column_stack(list(columns.values()))
    return Annotated(table, [f"row {i}" for i in range(len(table))], list(columns))


frames = pytest.mark.parametrize("make", [pd.DataFrame, polars, pyarrow, annotated])
COLUMNS = dict(zip(NAMES, X.T, strict=True))


@frames
def test_tables_and_names_of_columns(make, tmp_path):
    table, plain = make(COLUMNS), SphericalGaussianMixture(3).fit(X)
    model = SphericalGaussianMixture(3).fit(table)
    assert model.column_names == NAMES
    np.testing.assert_array_equal(model.predict(table), plain.predict(X))
    assert "c3" in model.report(tmp_path / "page.html", table).read_text("utf-8")
    blocks = Blocks.from_array(table)
    assert blocks.names == NAMES
    np.testing.assert_array_equal(blocks.table(), X)
    other = make({f"d{i}": column for i, column in enumerate(X.T)})
    with pytest.raises(LatentiaError, match=r"d0|feature names"):
        model.predict(other)


@pytest.mark.parametrize("make", [polars, pyarrow])
def test_cells_and_views_of_frames(make):
    gaps = [None if i == 3 else float(x) for i, x in enumerate(X[:, 1])]
    with pytest.raises(LatentiaError, match="Row 3, column 'c1'.*NaN; expected a number"):
        TensorICA(3).fit(make(COLUMNS | {"c1": gaps}))
    with pytest.raises(LatentiaError, match="Row 0, column 'c1' of X: 'a' is text"):
        SphericalGaussianMixture(3).fit(make(COLUMNS | {"c1": ["a"] * 300}))
    views = [NAMES[:2], NAMES[2:4], NAMES[4:]]
    model = MultiViewMixture(2, distribution="gaussian").fit(make(COLUMNS | {"c1": gaps}), views=views)
    assert model.predict(make(COLUMNS)).shape == (300,)


@pytest.mark.parametrize("make", [polars, pyarrow])
def test_columns_of_several_kinds(make):
    data = planted.mixed_table(800, 2, contrast=1.2, missing=0.1, random_state=1)
    columns = {
        name: [None if cell is None or cell != cell else cell for cell in cells] for name, cells in data.X.items()
    }
    columns["count 0"] = [None if cell is None else int(cell) for cell in columns["count 0"]]
    of_pandas, other = pd.DataFrame(data.X), make(columns)
    model = MultiViewMixture(2, n_splits=0).fit(of_pandas)
    again = MultiViewMixture(2, n_splits=0).fit(other)
    assert again.kinds == model.kinds
    np.testing.assert_array_equal(again.predict_proba(other), model.predict_proba(of_pandas))


@frames
def test_topics_of_frames_and_effects(make):
    counts = planted.topic_corpus(200, n_topics=2, n_words=20, length=60, random_state=1).counts.toarray()
    words = {f"w{i}": column for i, column in enumerate(counts.T)}
    model = AnchorTopics(2, min_df=1).fit(make(words))
    assert model.column_names == list(words)
    if make is not annotated:
        side = {"side": ["left" if i % 2 else "right" for i in range(200)], "age": np.arange(200.0)}
        found = model.effects(make(words), "~ side + age", make(side))
        assert found.terms == model.effects(counts, "~ side + age", side).terms
    else:
        cells = Annotated(sparse.csr_matrix(counts), [f"cell {i}" for i in range(200)], list(words))
        assert list(model.document_table(cells).index[:2]) == ["cell 0", "cell 1"]


def test_tables_come_out_as_scikit_learn_is_told():
    pl = pytest.importorskip("polars")
    model = SphericalGaussianMixture(3).fit(X)
    assert isinstance(model.tables["components"].to_frame(), pd.DataFrame)
    with sklearn.config_context(transform_output="polars"):
        for found in (model.tables["components"], model.evidence_, model.evidence_.components):
            assert isinstance(found.to_frame(), pl.DataFrame)
        assert isinstance(TensorICA(3).fit(X).transform(X), pl.DataFrame)
