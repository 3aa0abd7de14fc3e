"""Manifests: every family has one, which says what differs, and the same content has the same digest in any form."""

import json

import numpy as np
import pytest
from contract import CASES
from scipy import sparse

import latentia
from latentia._manifest import _convert_setting, _describe_argument
from latentia.communities import MixedMembershipBlockModel
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.mixtures import SphericalGaussianMixture
from latentia.moments.graphs import as_graph
from latentia.passes import Blocks
from latentia.topics import AnchorTopics
from latentia.words import WordVectorizer

pytestmark = pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_saved_model_is_that_of_its_manifest(case, tmp_path):
    model, data = case.shared(), case.data()
    record = json.loads(json.dumps(latentia.manifest(model, **data)))
    assert record["class"].endswith(f".{type(model).__name__}")
    assert record["data"].keys() == data.keys()
    assert record["seed"] == 0
    again = latentia.load(latentia.save(model, tmp_path / "model"))
    assert latentia.verify(record, again, **data) == []
    assert latentia.verify(record, again) == []
    assert all(line.startswith("data ") for line in latentia.verify(record, again, **case.other()))


def test_content_has_one_digest_in_any_form():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).poisson(0.7, (300, 4))
    model = SphericalGaussianMixture(2, n_splits=0).fit(X)
    record = latentia.manifest(model, X)
    forms = [X.astype(float), sparse.csr_array(X), sparse.coo_array(X), pd.DataFrame(X), X.tolist()]
    assert all(latentia.verify(record, model, one) == [] for one in forms)
    for size in (7, 300):
        blocks = Blocks.from_array(X, block_rows=size)
        assert latentia.manifest(model, blocks)["data"]["X"] == [record["data"]["X"]]
    X[3, 2] += 1
    (said,) = latentia.verify(record, model, X)
    assert said.startswith("data X sha256: ")
    assert latentia.verify(record, model, np.roll(X, 1, axis=0))


def test_texts_settings_and_seeds_that_differ():
    texts = ["a red apple", "a green tree", "red tree and apple", "green apple"] * 10
    model = AnchorTopics(2, min_df=1, n_splits=0, refine=0).fit(texts)
    record = latentia.manifest(model, texts)
    assert record["data"]["X"]["shape"] == [40]
    assert record["parameters"]["n_components"] == 2
    other = AnchorTopics(2, min_df=1, n_splits=0, refine=2, random_state=5, n_jobs=1).fit(texts)
    said = latentia.verify(record, other, [*texts[1:], "apple"])
    assert {line.split(":")[0] for line in said} >= {"parameters refine", "seed", "fit sha256", "data X sha256"}
    record["libraries"]["numpy"] = "0.1"
    (line,) = latentia.verify(record, model)
    assert line.startswith('libraries numpy: "0.1" in the manifest, and ')


def test_what_has_no_manifest():
    with pytest.raises(LatentiaError, match="fitted estimator"):
        latentia.manifest(AnchorTopics(2))
    model = SphericalGaussianMixture(1, n_splits=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(LatentiaError, match="not a manifest"):
        latentia.verify({}, model)


def test_a_model_that_was_added_to_is_learned_for_its_manifest_and_its_figures():
    X = planted.gaussian_mixture(300, n_components=2, n_features=4, separation=8).X
    added, fitted = SphericalGaussianMixture(2).partial_fit(X), SphericalGaussianMixture(2, keep_moments=True).fit(X)
    assert latentia.manifest(added, X)["data"] == latentia.manifest(fitted, X)["data"]
    assert SphericalGaussianMixture(2).partial_fit(X).tables.keys() == fitted.tables.keys()


def changed_forms():
    """Pairs of arguments that differ in one number, in every form in which ``fit`` reads them."""
    networkx = pytest.importorskip("networkx")
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).poisson(3, (30, 4)) + 1.0

    class Annotated:
        def __init__(self, X):
            self.X, self.shape = X, X.shape
            self.obs_names, self.var_names = pd.RangeIndex(X.shape[0]), pd.Index(list("abcd"))

    def frame(X):
        return pd.DataFrame({"a": X[:, 0], "b": [f"{x:g}" for x in X[:, 1]], "c": pd.Categorical(X[:, 2].astype(str))})

    def graph(X):
        return networkx.Graph([(0, 1, {"weight": X[0, 0]}), (1, 2), (2, 3)])

    makers = {
        "AnnData": Annotated, "AnnData of sparse": lambda X: Annotated(sparse.csr_matrix(X)), "frame": frame, "networkx": graph,
        "our graph": lambda X: as_graph(graph(X)), "views": lambda X: [X, X[:, :2]],
        "views of frames": lambda X: [frame(X), frame(X)],
        "lists": lambda X: [[str(x)] * int(1 + x) for x in X[:, 0]], "dictionary": lambda X: {"a": X[:, 0].tolist()},
        "sets": lambda X: [{f"{x}"} for x in X[:, 0]],
    }  # fmt: skip
    other = X.copy()
    other[0, :3] += 7
    return {name: (make(X), make(X.copy()), make(other)) for name, make in makers.items()}


def test_arguments_that_differ_in_a_number_have_other_records():
    for name, (one, same, other) in changed_forms().items():
        first, again, changed = (json.dumps(_describe_argument(value, "X")) for value in (one, same, other))
        assert first == again, name
        assert first != changed, name


@pytest.mark.parametrize(
    "value", [object(), [object()], np.array([object()]), {"a": object()}, (x for x in "ab"), print]
)
def test_what_cannot_be_described_is_refused(value):
    with pytest.raises(LatentiaError, match="expected numbers, texts, tables or graphs"):
        _describe_argument(value, "X")


def test_settings_are_described_by_what_they_are():
    model = SphericalGaussianMixture(1, n_splits=0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    assert _convert_setting(WordVectorizer(min_df=3)) != _convert_setting(WordVectorizer(min_df=4))
    assert _convert_setting(np.mean) != _convert_setting(np.std)
    assert _convert_setting(range(2, 4)) == [2, 3]
    assert latentia.verify(latentia.manifest(model), model) == []


def test_a_manifest_tells_graphs_apart():
    networkx = pytest.importorskip("networkx")
    graph = networkx.planted_partition_graph(2, 40, 0.4, 0.05, seed=0)
    other = networkx.planted_partition_graph(2, 40, 0.4, 0.05, seed=1)
    model = MixedMembershipBlockModel(2, n_splits=0).fit(graph)
    record = latentia.manifest(model, graph)
    assert latentia.verify(record, model, graph) == []
    assert any(line.startswith("data A sha256") for line in latentia.verify(record, model, other))
