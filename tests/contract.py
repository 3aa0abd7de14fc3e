"""One case for every public estimator: what `test_api.py` needs in order to run it through the contract.

A new family adds its case here, and nothing to `test_api.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from latentia.communities import MixedMembershipBlockModel
from latentia.contrastive import (
    BackgroundPCA,
    ContrastiveComponents,
    ContrastiveGaussianMixture,
    ContrastiveIsing,
    ContrastiveLogisticRegression,
    ContrastivePCA,
    ContrastiveRegression,
    RichComponents,
)
from latentia.datasets import planted
from latentia.deep import SparseNetwork
from latentia.dictionary import IncoherentDictionary
from latentia.exceptions import LatentiaWarning
from latentia.ica import TensorICA
from latentia.matrices import ProbabilityMatrix
from latentia.metrics import atom_distances
from latentia.mixtures import MultiViewMixture, SphericalGaussianMixture
from latentia.multilabel import MomentMultiLabelClassifier
from latentia.nmf import ApproximateNMF, PoissonNMF, SeparableNMF
from latentia.nmf._evidence import component_distances
from latentia.noisyor import NoisyOr
from latentia.passes import Blocks
from latentia.sequences import SpectralHMM, TwoStateHMM
from latentia.topics import AnchorTopics, EmbeddingTopics, SingleTopicModel, SpectralLDA

Arguments = Mapping[str, Any]
_FITS: dict[tuple[str, str], Any] = {}


@dataclass(frozen=True)
class Case:
    """An estimator, and data of all the kinds that the contract speaks of.

    Attributes
    ----------
    estimator : estimator, not fitted
    data : callable
        Arguments of ``fit`` that it learns from easily; the first is the table.
    other : callable
        The same with another number of columns, or another alphabet.
    hopeless : callable
        Arguments that hold nothing to find, and can be fitted.
    truth : callable
        ``truth(model)``: the true mean error of a model fitted on ``data``, in the unit of the expected error.
    uses : tuple of str
        Methods that take the table.
    refined : dict
        Parameters with which the fit is refined; empty where nothing is refined.
    blocks : callable
        From arguments to those of ``fit`` with `Blocks`; by default ``X`` alone becomes Blocks.
    predicts : callable
        From arguments to those of ``uses``; by default the first argument alone.
    common_checks : bool
        Whether scikit-learn's common checks apply: one table of features.
    why_not : str
        Why they do not.
    missing : bool
        Whether NaN stands for an entry that is missing.
    needs_splits : bool
        Whether expected errors need fits on parts of the data, so that there are none with ``n_splits=0``.
    exact : bool
        Whether what is found are sets, whose errors vanish exponentially with the rows and not with their root: fits on halves
        then have far larger ones, and bound the error from above alone.
    """

    estimator: Any
    data: Callable[[], Arguments]
    other: Callable[[], Arguments]
    hopeless: Callable[[], Arguments]
    truth: Callable[[Any], float]
    uses: tuple[str, ...]
    refined: Mapping[str, Any] = field(default_factory=dict)
    blocks: Callable[[Arguments], Arguments] = lambda data: {"X": Blocks.from_array(data["X"])}
    predicts: Callable[[Arguments], Arguments] = lambda data: dict([next(iter(data.items()))])
    common_checks: bool = True
    why_not: str = ""
    needs_splits: bool = True
    missing: bool = False
    exact: bool = False

    @property
    def plain(self) -> Arguments:
        """Parameters without refining."""
        return {"refine": 0} if "refine" in self.estimator.get_params() else {}

    @property
    def name(self) -> str:
        kind, said = vars(self.estimator).get("kind"), vars(self.estimator).get("distribution")
        kind = "columns" if isinstance(said, list) else kind if kind == "counts" else ""
        return type(self.estimator).__name__ + (f"({kind})" if kind else "")

    def fit(self, **parameters: Any) -> Any:
        """A fresh estimator, fitted on the data."""
        return self.new(**parameters).fit(**self.data())

    def shared(self, **parameters: Any) -> Any:
        """The same, fitted once for all tests and copied for each, so that no test sees what another one does to it."""
        asked = {**self.estimator.get_params(), **parameters}
        asked["n_jobs"] = asked.get("n_jobs") or 1  # which None means
        key = (self.name, str(sorted(asked.items())))
        if key not in _FITS:
            _FITS[key] = self.fit(**parameters)
        return deepcopy(_FITS[key])

    def lost(self) -> tuple[Any, list[Any]]:
        """The fit on `hopeless`, made once and changed by no test, and the library's warnings of it."""
        key = (self.name, "hopeless")
        if key not in _FITS:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always", LatentiaWarning)
                model = self.new().fit(**self.hopeless())
            _FITS[key] = model, [one for one in heard if issubclass(one.category, LatentiaWarning)]
        return _FITS[key]

    def stability(self, model: Any, data: Arguments) -> np.ndarray:
        """The errors that refits on halves of the data give."""
        first, *others = data.items()
        return model.evidence_.stability(first[1], n_splits=1, **dict(others))

    def new(self, **parameters: Any) -> Any:
        """A fresh estimator."""
        return type(self.estimator)(**{**self.estimator.get_params(), **parameters})


def mean_distance(found: np.ndarray, true: np.ndarray, metric: str) -> float:
    """Of components matched one to one."""
    apart = cdist(found, true, metric)
    return float(apart[linear_sum_assignment(apart)].mean())


# --- planted data -------------------------------------------------------------------------------------------------


@cache
def mixed_topics():
    return planted.topic_corpus(1500, n_topics=5, n_words=300, length=60, concentration=0.1, random_state=11)


@cache
def graph():
    return planted.mixed_membership_graph(400, 3, alpha0=0.1, degree=30, snr=4, random_state=11)


def without_communities():
    upper = sparse.random_array((300, 300), density=0.04, random_state=np.random.default_rng(11))
    upper.data[:] = 1.0
    return sparse.csr_array(sparse.triu(upper, 1) + sparse.triu(upper, 1).T)


def relative_memberships(model):
    """Mean over the communities of the l1 error of their columns, over their size."""
    found, true = model.memberships_.T, graph().memberships.T
    apart = cdist(found, true, "cityblock") / found.sum(axis=1)[:, None]
    return float(apart[linear_sum_assignment(apart)].mean())


@cache
def single_topics():
    return planted.topic_corpus(2500, n_topics=4, n_words=200, length=20, proportions="single", random_state=11)


@cache
def embedded(n=2000):
    return planted.embedded_corpus(n, n_topics=6, n_words=200, random_state=11)


def embedding_error(model):
    """Distance of the means to those of many documents of the planted topics."""
    many = embedded(20_000)
    found = model.directions(None, many.embeddings)
    return mean_distance(model.means_, np.array([found[many.labels == k].mean(axis=0) for k in range(6)]), "euclidean")


@cache
def clusters():
    return planted.gaussian_mixture(2500, n_components=4, n_features=8, separation=6, random_state=11)


@cache
def sources():
    return planted.independent_sources(6000, n_components=4, random_state=11)


@cache
def views():
    return planted.product_mixture(6000, n_components=3, n_features=24, contrast=0.6, random_state=11)


@cache
def several_kinds():
    return planted.mixed_table(4000, 3, contrast=1.2, random_state=11)


def codes(data: Any) -> np.ndarray:
    """A table of several kinds in numbers, the categories in the middle."""
    columns = [data.X[f"{kind} {i}"] for kind in ("number", "category", "count") for i in range(4)]
    return np.column_stack([[ord(one) - ord("a") for one in c] if c.dtype == object else c for c in columns])


@cache
def chain():
    return planted.hidden_markov_chain(12_000, n_states=3, n_symbols=10, persistence=0.6, random_state=11)


@cache
def counts():
    return planted.count_chain(5000, 3, 8, persistence=0.7, random_state=11)


@cache
def cases():
    return planted.cases_and_controls(1500, 1200, 20, 2, variance=10, random_state=11)


@cache
def two_states():
    return planted.two_state_chain(12_000, n_symbols=150, random_state=11)


@cache
def findings():
    return planted.noisy_or_network(40, 5, leak=0.02, random_state=11).sample(8000)


@cache
def labelled():
    return planted.labelled_corpus(2500, n_topics=4, n_words=300, n_labels=30, random_state=11)


@cache
def sparse_rows():
    return planted.sparse_codes(2500, n_features=24, n_components=30, sparsity=2, noise=0.03, random_state=11)


@cache
def mixtures():
    return planted.separable_rows(600, 40, 4, n_pure=4, noise=0.05, random_state=11)


@cache
def factors():
    """Rows and the three components that they are sums of, each with features that the others lack."""
    rng = random(11)
    W = rng.exponential(size=(3, 40)) * (rng.random((3, 40)) < 0.4)
    A = rng.exponential(size=(300, 3)) * (rng.random((300, 3)) < 0.6)
    return rng.poisson(20 * A @ W).astype(float), W


@cache
def network():
    return planted.sparse_network(1400, (250, 60), 12, 0.02, flips=0.03, random_state=13)


def unit_error(model: Any) -> float:
    """Mean over the units of the Jaccard distance of their positive edges to those of the nearest true unit."""
    found, true = ((layer.toarray() > 0).astype(float) for layer in (model.layers_[0], network().layers[0]))
    shared = found @ true.T
    return float((1 - shared / (found.sum(axis=1)[:, None] + true.sum(axis=1) - shared)).min(axis=1).mean())


@cache
def pairs():
    return planted.word_pairs(30_000, n_components=3, n_words=300, random_state=11)


@cache
def contrast(problem: str, n_rows: int = 8000, n_features: int = 5):
    seed = 16 if problem == "ising" else 11  # with couplings of moderate size
    return planted.contrastive_views(
        n_rows, n_features, problem, shared="exponential", linear_map="orthogonal", random_state=seed
    )


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def noise_words(n: int, length: int) -> sparse.csr_array:
    """Documents of words without topics."""
    return sparse.csr_array(random().multinomial(length, random(1).dirichlet(np.ones(80)), size=n))


# --- errors in the unit of the evidence ----------------------------------------------------------------------------


def view_error(model: Any) -> float:
    columns = np.split(np.arange(24), 3)
    scale = np.concatenate([views().X[:, some].std(axis=0) for some in columns])
    return mean_distance(np.hstack(model.means_) / scale, views().means / scale, "euclidean")


def kinds_error(model: Any) -> float:
    """Of the features side by side, in standard deviations."""
    data, names = several_kinds(), [name for view in model.feature_names for name in view]
    wanted = [f"x{i}" for i in range(4)] + [f"x{4 + i} = {j}" for i in range(4) for j in range(3)]
    wanted += [f"x{8 + i}" for i in range(4)]
    order = [names.index(name) for name in wanted]
    scale = np.concatenate(model.column_scales)[order]
    true = np.hstack([data.means, data.probabilities.reshape(3, -1), data.rates])
    return mean_distance(np.hstack(model.means_)[:, order] / scale, true / scale, "euclidean")


def crosstalk(model: Any) -> float:
    gains = model.components_ @ sources().mixing
    shares = (gains / np.linalg.norm(gains, axis=1, keepdims=True)) ** 2
    return float(np.sqrt(1 - shares.max(axis=1)).mean())


def network_error(model: Any) -> float:
    truth = findings().truth.weights
    apart = cdist(truth, model.weights_) / np.linalg.norm(truth, axis=1, keepdims=True)
    return float(apart[linear_sum_assignment(apart)].mean())


def label_error(model: Any) -> float:
    found, true = (
        p / p.sum(axis=1, keepdims=True) for p in (model.word_probabilities_, labelled().truth.word_probabilities)
    )
    return mean_distance(found, true, "cityblock")


def relative_covariances(model: Any) -> float:
    data = contrast("regression")
    errors = []
    for part, rows, view in ((1, data.own, data.U), (2, data.shared, data.U), (3, data.other, data.V)):
        scale = np.outer(view.std(axis=0), view.std(axis=0))
        found, true = model.covariance(part) / scale, np.cov(rows.T) / scale
        errors.append(np.linalg.norm(found - true) / np.linalg.norm(true))
    return float(np.mean(errors))


def sine(model: Any) -> float:
    return float(np.sqrt(max(1 - (model.components_[0] @ contrast("pca").truth) ** 2, 0)))


def coefficient_error(model: Any, problem: str) -> float:
    data = contrast(problem)
    scale = data.U.std(axis=0)
    true = data.truth * scale
    return float(np.abs(np.ravel(model.coef_) * scale - true).mean() / np.sqrt(np.mean(true**2)))


@cache
def three_views():
    return planted.rich_components(40_000, 3, absent=[0, 4], random_state=2)


def map_errors(model: Any) -> float:
    """Of the components in several views: over all maps but the first, columns in unit variance."""
    errors = []
    for j, one in enumerate(model.subsets_):
        if model.present_[j] and len(one) > 1:
            true, found = (
                np.hstack([maps[i, j] * model._scale[one[0]] / model._scale[i][:, None] for i in one[1:]])
                for maps in (three_views().linear_maps, model.linear_maps_)
            )
            errors.append(np.linalg.norm(found - true) / np.linalg.norm(true))
    return float(np.mean(errors))


def two_views_of(problem: str, target: bool = False, n_columns: int | None = None) -> Arguments:
    data = contrast(problem) if problem != "ising" else contrast("ising", 20_000, 9)
    found = {"U": data.U[:, :n_columns], "V": data.V}
    return {**found, "y": data.y} if target else found


def gaussian_views(target: str = "", n_columns: int = 5) -> Arguments:
    found = {"U": random().standard_normal((400, n_columns)), "V": random(1).standard_normal((400, n_columns))}
    if target == "classes":
        return {**found, "y": random(2).integers(0, 2, 400)}
    return {**found, "y": random(2).standard_normal(400)} if target else found


def side_by_side(data: Arguments) -> Arguments:
    """Blocks with a part for each view and for the target."""
    tables = [np.asarray(table, dtype=float) for table in data.values()]
    return {"U": Blocks.from_array(*[table[:, None] if table.ndim == 1 else table for table in tables])}


def both_views(data: Arguments) -> Arguments:
    """What methods that use a model take."""
    return {name: data[name] for name in ("U", "V") if name in data}


def cut(data: Arguments) -> Arguments:
    """Blocks with one part a view."""
    return {"X": Blocks.from_array(*[data["X"][:, list(columns)] for columns in data["views"]])}


def with_lengths(data: Arguments) -> Arguments:
    return {"X": Blocks.from_array(data["X"], lengths=data.get("lengths", [len(data["X"])]))}


KINDS = ["gaussian"] * 4 + ["categorical"] * 4 + ["poisson"] * 4
VIEWS = [range(8), range(8, 16), range(16, 24)]
SQUARE = "fitted on a square table of counts"
SEQUENCES = "fitted on sequences"
TWO_VIEWS: Any = {
    "blocks": side_by_side,
    "predicts": both_views,
    "common_checks": False,
    "why_not": "fitted on two views",
}

CASES = [
    Case(
        AnchorTopics(5),
        data=lambda: {"X": mixed_topics().counts},
        other=lambda: {"X": sparse.csr_array(mixed_topics().counts[:, :250])},
        hopeless=lambda: {"X": noise_words(300, 20)},
        truth=lambda model: mean_distance(model.components_, mixed_topics().topics, "cityblock"),
        uses=("transform", "score", "perplexity"),
        refined={"refine": 3},
    ),
    Case(
        SpectralLDA(5),
        data=lambda: {"X": mixed_topics().counts},
        other=lambda: {"X": sparse.csr_array(mixed_topics().counts[:, :250])},
        hopeless=lambda: {"X": noise_words(300, 20)},
        truth=lambda model: mean_distance(model.components_, mixed_topics().topics, "cityblock"),
        uses=("transform", "score", "perplexity"),
        refined={"refine": 5},
    ),
    Case(
        SingleTopicModel(4),
        data=lambda: {"X": single_topics().counts},
        other=lambda: {"X": sparse.csr_array(single_topics().counts[:, :150])},
        hopeless=lambda: {"X": noise_words(300, 10)},
        truth=lambda model: mean_distance(model.components_, single_topics().topics, "cityblock"),
        uses=("transform", "predict", "predict_proba", "score"),
        refined={"refine": "auto"},
    ),
    Case(
        EmbeddingTopics(6),
        data=lambda: {"X": embedded().counts, "embeddings": embedded().embeddings},
        other=lambda: {"X": embedded().counts[:900, :150], "embeddings": embedded().embeddings[:900, :30]},
        hopeless=lambda: {"X": noise_words(300, 10), "embeddings": random().standard_normal((300, 8))},
        truth=embedding_error,
        uses=("transform", "predict", "directions"),
        blocks=lambda data: {"X": Blocks.from_array(data["X"], data["embeddings"])},
        predicts=lambda data: data,
        common_checks=False,
        why_not="fitted on documents and their embeddings",
    ),
    Case(
        SphericalGaussianMixture(4),
        data=lambda: {"X": clusters().X},
        other=lambda: {"X": clusters().X[:, :6]},
        hopeless=lambda: {"X": random().standard_normal((400, 8))},
        truth=lambda model: mean_distance(model.means_, clusters().means, "euclidean"),
        uses=("predict", "predict_proba", "score", "score_samples"),
        refined={"refine": "auto"},
        missing=True,
    ),
    Case(
        TensorICA(4),
        data=lambda: {"X": sources().X},
        other=lambda: {"X": np.hstack([sources().X, random().standard_normal((6000, 1))])},
        hopeless=lambda: {"X": random().standard_normal((400, 6))},
        truth=crosstalk,
        uses=("transform",),
        refined={"refine": "auto"},
    ),
    Case(
        SparseNetwork(),
        data=lambda: {"X": network().Y},
        other=lambda: {"X": sparse.csr_array(network().Y[:, :150])},
        hopeless=lambda: {"X": (random().random((400, 30)) < 0.1).astype(float)},
        truth=unit_error,
        uses=("encode", "transform", "denoise"),
        refined={"refine": 2},
        common_checks=False,
        why_not="fitted on binary data",
        exact=True,
    ),
    Case(
        SeparableNMF(4),
        data=lambda: {"X": mixtures().X},
        other=lambda: {"X": mixtures().X[:, :30]},
        hopeless=lambda: {"X": random().random((300, 12))},
        truth=lambda model: float(
            component_distances(model.components_, mixtures().components, model.mixing_kind_).mean()
        ),
        uses=("transform", "score"),
        refined={"refine": 3},
        missing=True,
    ),
    Case(
        ApproximateNMF(3, n_init=2, n_splits=1),
        data=lambda: {"X": factors()[0]},
        other=lambda: {"X": factors()[0][:100, :20]},
        hopeless=lambda: {"X": random().random((300, 12))},
        truth=lambda model: float(component_distances(model.components_, factors()[1], "cone").mean()),
        uses=("transform", "score"),
        missing=True,
    ),
    Case(
        PoissonNMF(3),
        data=lambda: {"X": sparse.csr_array(factors()[0])},
        other=lambda: {"X": factors()[0][:100, :20]},
        hopeless=lambda: {"X": random().poisson(2.0, (300, 12))},
        truth=lambda model: float(component_distances(model.components_, factors()[1], "cone").mean()),
        uses=("transform", "score"),
        missing=True,
    ),
    Case(
        IncoherentDictionary(30),
        data=lambda: {"X": sparse_rows().X},
        other=lambda: {"X": sparse_rows().X[:1000, :20]},
        hopeless=lambda: {"X": random().standard_normal((400, 12))},
        truth=lambda model: float(atom_distances(model.components_, sparse_rows().components).mean()),
        uses=("transform", "score"),
        refined={"refine": "auto"},
    ),
    Case(
        MomentMultiLabelClassifier(4),
        data=lambda: {"X": labelled().X, "Y": labelled().Y},
        other=lambda: {"X": sparse.csr_array(labelled().X[:800, :250]), "Y": labelled().Y[:800]},
        hopeless=lambda: {"X": random().random((400, 50)) < 0.3, "Y": random(1).random((400, 10)) < 0.2},
        truth=label_error,
        uses=("decision_function", "predict_proba", "predict", "posterior"),
        refined={"refine": "auto"},
        blocks=lambda data: {"X": Blocks.from_array(data["X"], data["Y"])},
    ),
    Case(
        MultiViewMixture(3, distribution="bernoulli"),
        data=lambda: {"X": views().X, "views": VIEWS},
        other=lambda: {"X": views().X[:, :21], "views": [range(7), range(7, 14), range(14, 21)]},
        hopeless=lambda: {"X": (random().random((300, 24)) < 0.5).astype(float), "views": VIEWS},
        truth=view_error,
        uses=("predict", "predict_proba", "score"),
        refined={"refine": "auto"},
        blocks=cut,
        common_checks=False,
        why_not="fitted on several views",
        missing=True,
    ),
    Case(
        MultiViewMixture(3, distribution=KINDS),
        data=lambda: {"X": codes(several_kinds())},
        other=lambda: {"X": codes(several_kinds())[:2000] % 2},
        hopeless=lambda: {"X": np.hstack([random().standard_normal((300, 4)), random().integers(0, 3, (300, 8))])},
        truth=kinds_error,
        uses=("predict", "predict_proba", "score"),
        refined={"refine": "auto"},
        common_checks=False,
        why_not="several distributions for one number of columns",
        missing=True,
    ),
    Case(
        SpectralHMM(3),
        data=lambda: {"X": chain().symbols},
        other=lambda: {"X": chain().symbols[:4000] % 7},
        hopeless=lambda: {"X": random().integers(0, 8, 500)},
        truth=lambda model: mean_distance(model.emissionprob_, chain().emissionprob, "cityblock"),
        uses=("predict", "predict_proba", "score"),
        refined={"refine": "auto"},
        blocks=with_lengths,
        common_checks=False,
        why_not=SEQUENCES,
    ),
    Case(
        SpectralHMM(3, kind="counts"),
        data=lambda: {"X": counts().X},
        other=lambda: {"X": counts().X[:2000, :7]},
        hopeless=lambda: {"X": random().poisson(3.0, (500, 8))},
        truth=lambda model: mean_distance(
            model.means_ / counts().X.std(axis=0), counts().rates / counts().X.std(axis=0), "euclidean"
        ),
        uses=("predict", "predict_proba", "score", "filter"),
        refined={"refine": "auto"},
        blocks=with_lengths,
        common_checks=False,
        why_not=SEQUENCES,
        missing=True,
    ),
    Case(
        TwoStateHMM(),
        data=lambda: {"X": two_states().symbols},
        other=lambda: {"X": two_states().symbols % 100},
        hopeless=lambda: {"X": random().integers(0, 200, 400)},
        truth=lambda model: mean_distance(model.emissionprob_, two_states().emissionprob, "cityblock"),
        uses=("predict", "predict_proba", "score"),
        refined={"refine": 10},
        blocks=with_lengths,
        common_checks=False,
        why_not=SEQUENCES,
    ),
    Case(
        NoisyOr(5),
        data=lambda: {"X": findings().X},
        other=lambda: {"X": findings().X[:2000, :36]},
        hopeless=lambda: {"X": random().random((400, 40)) < 0.2},
        truth=network_error,
        uses=("transform", "predict_proba", "score"),
        refined={"refine": 5},
        common_checks=False,
        why_not="fitted on binary data",
        missing=True,
    ),
    Case(
        ProbabilityMatrix(3),
        data=lambda: {"C": pairs().counts},
        other=lambda: {"C": sparse.csr_array(pairs().counts[:250][:, :250])},
        hopeless=lambda: {"C": sparse.csr_array(random().poisson(0.02, (200, 200)))},
        truth=lambda model: model.l1_distance(pairs()),
        uses=("score",),
        refined={"refine": "auto"},
        blocks=lambda data: {"C": Blocks.from_array(data["C"])},
        common_checks=False,
        why_not=SQUARE,
        needs_splits=False,
    ),
    Case(
        MixedMembershipBlockModel(3),
        data=lambda: {"A": graph().adjacency},
        other=lambda: {"A": sparse.csr_array(graph().adjacency[:150][:, :150])},
        hopeless=lambda: {"A": without_communities()},
        truth=relative_memberships,
        uses=("score", "transform", "predict"),
        refined={"refine": 5},
        blocks=lambda data: {"A": Blocks.from_array(data["A"])},
        common_checks=False,
        why_not=SQUARE,
    ),
    Case(
        ContrastiveComponents(),
        data=lambda: two_views_of("regression"),
        other=lambda: two_views_of("regression", n_columns=4),
        hopeless=gaussian_views,
        truth=relative_covariances,
        uses=("transform",),
        **TWO_VIEWS,
    ),
    Case(
        ContrastivePCA(1),
        data=lambda: two_views_of("pca"),
        other=lambda: two_views_of("pca", n_columns=4),
        hopeless=gaussian_views,
        truth=sine,
        uses=("transform",),
        **TWO_VIEWS,
    ),
    Case(
        ContrastiveRegression(),
        data=lambda: two_views_of("regression", target=True),
        other=lambda: two_views_of("regression", target=True, n_columns=4),
        hopeless=lambda: gaussian_views("numbers"),
        truth=lambda model: coefficient_error(model, "regression"),
        uses=("predict",),
        **TWO_VIEWS,
    ),
    Case(
        ContrastiveLogisticRegression(),
        data=lambda: two_views_of("logistic", target=True),
        other=lambda: two_views_of("logistic", target=True, n_columns=4),
        hopeless=lambda: gaussian_views("classes"),
        truth=lambda model: coefficient_error(model, "logistic"),
        uses=("decision_function", "predict_proba", "predict"),
        **TWO_VIEWS,
    ),
    Case(
        ContrastiveGaussianMixture(5),
        data=lambda: two_views_of("mixture"),
        other=lambda: two_views_of("mixture", n_columns=5) | {"V": two_views_of("mixture")["V"][:, :5]},
        hopeless=gaussian_views,
        truth=lambda model: mean_distance(
            model.means_ - model.mean_, contrast("mixture").truth - contrast("mixture").truth.mean(axis=0), "euclidean"
        ),
        uses=("predict", "predict_proba"),
        **TWO_VIEWS,
    ),
    Case(
        ContrastiveIsing(planted.grid_edges(9).tolist()),
        data=lambda: two_views_of("ising"),
        other=lambda: {"U": two_views_of("ising")["U"], "V": two_views_of("ising")["V"]},
        hopeless=lambda: gaussian_views(n_columns=9),
        truth=lambda model: float(np.abs(model.couplings_ - contrast("ising", 20_000, 9).truth).mean()),
        uses=(),
        **TWO_VIEWS,
    ),
    Case(
        BackgroundPCA(2),
        data=lambda: {"X": cases().X, "background": cases().background},
        other=lambda: {"X": cases().X[:500, :12], "background": cases().background[:600, :12]},
        hopeless=lambda: {"X": random().standard_normal((200, 20)), "background": random().standard_normal((300, 20))},
        truth=lambda model: float(
            np.sqrt(np.clip(1 - np.abs(model.components_ @ cases().directions.T).max(axis=1) ** 2, 0, None)).mean()
        ),
        uses=("transform",),
        blocks=lambda data: {name: Blocks.from_array(table) for name, table in data.items()},
        common_checks=False,
        why_not="fitted on two tables",
    ),
    Case(
        RichComponents(),
        data=lambda: {"X": three_views().views},
        other=lambda: {"X": [view[:5000, :2] for view in three_views().views]},
        hopeless=lambda: {"X": planted.rich_components(400, 3, distribution="gaussian").views},
        truth=map_errors,
        uses=(),
        blocks=lambda data: {"X": Blocks.from_array(*data["X"])},
        common_checks=False,
        why_not="fitted on several views",
    ),
]
