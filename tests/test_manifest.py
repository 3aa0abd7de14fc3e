"""Manifests: every family has one, which says what differs, and the same content has the same digest in any form."""

import json

import numpy as np
import pytest
from contract import CASES
from scipy import sparse

import latentia
from latentia.datasets import planted
from latentia.exceptions import LatentiaError
from latentia.mixtures import SphericalGaussianMixture
from latentia.passes import Blocks
from latentia.topics import AnchorTopics

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
    with pytest.raises(LatentiaError, match="no manifest"):
        latentia.verify({}, model)


def test_a_model_that_was_added_to_is_learned_for_its_manifest_and_its_figures():
    X = planted.gaussian_mixture(300, n_components=2, n_features=4, separation=8).X
    added, fitted = SphericalGaussianMixture(2).partial_fit(X), SphericalGaussianMixture(2, keep_moments=True).fit(X)
    assert latentia.manifest(added, X)["data"] == latentia.manifest(fitted, X)["data"]
    assert SphericalGaussianMixture(2).partial_fit(X).tables.keys() == fitted.tables.keys()
