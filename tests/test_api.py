"""Every estimator: scikit-learn's common checks, and the contract that all of them share."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import latentia
from latentia.evidence import Evidence
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.noisyor import NoisyOr
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.topics import AnchorTopics, SingleTopicModel, SpectralLDA

ESTIMATORS = [
    AnchorTopics(2, min_df=1),
    SingleTopicModel(1),
    SpectralLDA(1),
    SphericalGaussianMixture(2),
    TensorICA(),
    MomentMultiLabelClassifier(2),
]
SPARSE = "on sparse data the check takes any predict_proba for that of a classifier"
CLUSTERS = {"check_estimator_sparse_array": SPARSE, "check_estimator_sparse_matrix": SPARSE}
NEGATIVE = {"check_decision_proba_consistency": "its data has negative entries, whatever the estimator's tags say"}
OTHERS = [  # fitted on sequences, on several views, on binary data, and on square tables
    SpectralHMM(2),
    TwoStateHMM(),
    MultiViewMixture(2),
    NoisyOr(),
    ProbabilityMatrix(2),
]


def expected_failures(estimator):
    if isinstance(estimator, MomentMultiLabelClassifier):
        return NEGATIVE
    return CLUSTERS if hasattr(estimator, "predict_proba") else {}


@pytest.mark.filterwarnings("ignore::latentia.exceptions.LatentiaWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS + OTHERS, ids=lambda e: type(e).__name__)
def test_conventions_of_the_constructor(estimator):
    parameters = inspect.signature(type(estimator)).parameters
    first, *others = parameters.values()
    assert first.name == "n_components"
    assert first.default is not inspect.Parameter.empty
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in others)
    assert parameters["random_state"].default == 0


@pytest.fixture(scope="module")
def fitted(corpus):
    return AnchorTopics(10, anchors=[{3: 0.5}, [4, 5]], vocabulary=[f"w{i}" for i in range(800)]).fit(corpus.counts)


def test_save_and_load(fitted, corpus, tmp_path):
    path = latentia.save(fitted, tmp_path / "model")
    assert path.name == "model.npz"
    loaded = latentia.load(path)
    assert type(loaded) is AnchorTopics
    assert loaded.get_params() == fitted.get_params()
    assert (loaded.components_ == fitted.components_).all()
    assert (loaded.transform(corpus.counts[:9]) == fitted.transform(corpus.counts[:9])).all()
    assert isinstance(loaded.evidence_, Evidence)
    assert loaded.evidence_.checks == fitted.evidence_.checks
    assert loaded.evidence_.stability(corpus.counts, n_splits=1).shape == (10,)
    assert loaded.reanchor(replace={0: 7}).anchor_words_[0] == ["w7"]


def test_a_saved_model_holds_no_documents(fitted, tmp_path):
    with np.load(latentia.save(fitted, tmp_path / "m.npz")) as file:
        assert not [name for name in file.files if name.endswith((".data", ".indices", ".indptr"))]


def test_loading_damaged_or_foreign_files(fitted, tmp_path):
    path = latentia.save(fitted, tmp_path / "m.npz")
    (tmp_path / "short.npz").write_bytes(path.read_bytes()[:500])
    np.savez(tmp_path / "foreign.npz", a=np.ones(3))
    np.savez(tmp_path / "pickled.npz", header=np.array([object()], dtype=object))
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, np.ones(3))
    for name in ("short.npz", "foreign.npz", "pickled.npz", "array.npz"):
        with pytest.raises(latentia.LatentiaError, match=f"{name}: not a model saved by latentia"):
            latentia.load(tmp_path / name)
    with pytest.raises(latentia.LatentiaError, match="absent.npz: cannot be read"):
        latentia.load(tmp_path / "absent.npz")


def test_loading_builds_no_foreign_class(fitted, tmp_path):
    import json

    path = latentia.save(fitted, tmp_path / "m.npz")
    with np.load(path) as file:
        arrays = dict(file)
    for kind in ("os:system", "latentia.nosuch:Model", "latentia.persistence:load", "latentia.topics.anchor_topics:np"):
        header = json.loads(bytes(arrays["header"]))
        header["model"]["class"] = kind
        changed = arrays | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        np.savez(tmp_path / "evil.npz", **changed)
        with pytest.raises(latentia.LatentiaError, match="does not have|damaged or of another version"):
            latentia.load(tmp_path / "evil.npz")


def test_a_failed_save_leaves_the_old_file(fitted, tmp_path, monkeypatch):
    path = latentia.save(fitted, tmp_path / "m.npz")
    before = path.read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(latentia.LatentiaError, match="No space left"):
        latentia.save(fitted, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_pipeline_grid_search_and_set_output():
    texts = ["red apple pear fruit", "apple pear juice fruit", "wolf bear forest hunt", "bear forest wolf snow"] * 15
    pipeline = make_pipeline(CountVectorizer(), AnchorTopics(2))
    search = GridSearchCV(pipeline, {"anchortopics__n_components": [1, 2]}, cv=2, error_score="raise").fit(texts)
    assert search.best_params_["anchortopics__n_components"] == 2
    frame = clone(AnchorTopics(2)).set_output(transform="pandas").fit_transform(CountVectorizer().fit_transform(texts))
    assert list(frame.columns) == ["anchortopics0", "anchortopics1"]
