"""What fitted estimators hold, as data: sizes, ranges and sums of their arrays, which `latentia.load` checks.

A size is a letter that must stand for one number in the whole estimator; V is ``n_features_in_``. What no table names must
still be finite, and records must have the types that their classes declare.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Union

import numpy as np
from scipy import sparse

from ._parameters import check_parameters
from ._validation import check_vocabulary
from .evidence import Evidence
from .exceptions import LatentiaError
from .words import UnsavedVectorizer, WordVectorizer

__all__ = ["check_fitted", "check_record"]

_TOLERANCE = 1e-6
_LEAST, _MOST = 1e-100, 1e100  # sizes of numbers whose products stay in range
_PLACE = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Layout:
    """What an array must be.

    Attributes
    ----------
    shape : str
        Letters of the sizes, such as "K V"; "*" for any one size.
    kinds : str
        Those of NumPy's types.
    low, high : float
        Between which all entries lie.
    below : str
        Letter of the size that entries, places in another array, stay below.
    sums : bool
        Whether rows sum to one.
    finite, required : bool
    """

    shape: str
    kinds: str = "f"
    low: float = -np.inf
    high: float = np.inf
    below: str = ""
    sums: bool = False
    finite: bool = True
    required: bool = True


def _numbers(shape: str, low: float = -np.inf, high: float = np.inf) -> Layout:
    return Layout(shape, low=low, high=high)


def _distributions(shape: str) -> Layout:
    return Layout(shape, low=0.0, high=1.0 + _TOLERANCE, sums=True)


def _symbols(shape: str) -> Layout:
    return Layout(shape, kinds="biufUSO")


def _optional(layout: Layout) -> Layout:
    return replace(layout, required=False)


_ANY = Layout("", "biufUSO")
_SHARE = (0.0, 1.0 + _TOLERANCE)
_TOPICS = {
    "components_": _distributions("K V"), "word_frequencies_": _numbers("V", *_SHARE), "_confusions": _numbers("* K K"),
}  # fmt: skip
_ADMIXTURE = _TOPICS | {"prevalence_": _numbers("K", *_SHARE), "dirichlet_": _numbers("K", 0.0)}
_CHAIN = {"startprob_": _distributions("K"), "transmat_": _distributions("K K"), "weights_": _distributions("K")}

_CONTRASTIVE = {
    "linear_map_": _numbers("W V"), "inverse_map_": _numbers("V W"), "mean_": _numbers("V"), "_mean_v": _numbers("W"),
    "_own_given_views": _numbers("V B"),
}  # fmt: skip

LAYOUTS: Mapping[str, Mapping[str, Layout]] = {
    "AnchorTopics": _ADMIXTURE | {
        "topic_covariance_": _numbers("K K"),
        "anchors_": Layout("K", "iu", low=0, below="V"),
        "_embedding.sketch": _numbers("W D"),
        "_embedding.test": _numbers("W D"),
        "_embedding.marginal": _numbers("W", *_SHARE),
        "_embedding.excess": _optional(_numbers("W", 0.0)),
        "_embedding.spectrum": _numbers("*"),
        "_words.codes": Layout("V", "iu", low=0, below="W"),
        "_words.document_frequency": Layout("V", low=0.0, finite=False),
        "_words.probabilities": _numbers("V", *_SHARE),
    },
    "SpectralLDA": _ADMIXTURE,
    "SingleTopicModel": _TOPICS | {"weights_": _distributions("K"), "smoothing_": _numbers("K", *_SHARE)},
    "SphericalGaussianMixture": {
        "means_": _numbers("K V"), "weights_": _distributions("K"), "variance_": _numbers("K", _LEAST),
    },
    "MultiViewMixture": {
        "means_": _numbers("K #"), "weights_": _distributions("K"), "_scales": _numbers("#", _LEAST),
        "variances_": _optional(_numbers("K #", _LEAST)),
    },
    "TensorICA": {
        "components_": _numbers("K V"), "mixing_": _numbers("V K"), "mean_": _numbers("V"),
        "whitening_": _numbers("K V"), "kurtosis_": _numbers("K"),
    },
    "SpectralHMM": _CHAIN | {
        "_chain.startprob": _distributions("K"),
        "_chain.transmat": _distributions("K K"),
        "_chain.emissions": _numbers("K S"),
        "_chain.variances": _optional(_numbers("K S", _LEAST)),
        "_chain.covariances": _optional(_numbers("K S S")),
        "_deviations": _numbers("S", _LEAST),
        "_kind.alphabet": _optional(_symbols("S")),
        "symbols_": _optional(_symbols("S")),
        "emissionprob_": _optional(_distributions("K S")),
        "means_": _optional(_numbers("K V")),
        "variances_": _optional(_numbers("K V", _LEAST)),
    },
    "TwoStateHMM": _CHAIN | {
        "emissionprob_": _distributions("K S"), "symbols_": _symbols("S"), "_marginal": _numbers("S", *_SHARE),
    },
    "NoisyOr": {
        "weights_": _numbers("K V", 0.0), "strengths_": _numbers("K V", *_SHARE), "priors_": _numbers("K", *_SHARE),
        "leak_": _numbers("V", *_SHARE), "spectrum_": _numbers("*"), "prior_errors_": _optional(_numbers("K", 0.0)),
    },
    "ProbabilityMatrix": {
        "marginals_": _numbers("V", *_SHARE), "_scale": _numbers("V", 0.0), "spectrum_": _numbers("*"),
        "embedding_": _numbers("V E"), "_matrix.factored.left": _optional(_numbers("V R")),
        "_matrix.factored.core": _optional(_numbers("R R")), "column_marginals_": _optional(_numbers("W", *_SHARE)),
        "column_embedding_": _optional(_numbers("W E")), "discounts_": _optional(_numbers("*", 0.0)),
        "_matrix.left": _optional(_numbers("V R")), "_matrix.right": _optional(_numbers("W R")),
        "_matrix.row_shares": _optional(_numbers("V", *_SHARE)), "_matrix.column_shares": _optional(_numbers("W", *_SHARE)),
        "_matrix.sums": _optional(_numbers("V", 0.0)), "_matrix.marginals": _optional(_numbers("V", *_SHARE)),
        "_matrix.continuation": _optional(_numbers("W", *_SHARE)), "_matrix.given_up": _optional(_numbers("V", 0.0)),
        "_matrix.factored.least": _optional(_numbers("V", 0.0)), "components_": _optional(_numbers("R V", 0.0)),
        "mixing_": _optional(_numbers("R R", 0.0)), "_communities.points": _numbers("V P"),
        "_communities.marginals": _numbers("V", *_SHARE),
    },
    "MixedMembershipBlockModel": {
        "memberships_": Layout("V K", low=0.0, high=1.0 + _TOLERANCE, finite=False),
        "averages_": Layout("V K", finite=False),
        "labels_": Layout("V", "i", low=-1, below="K"), "isolated_": Layout("*", "iu", low=0, below="V"),
        "connectivity_": _numbers("K K", 0.0), "_rates": _numbers("K K", 0.0),
        "dirichlet_": _numbers("K", 0.0), "weights_": _numbers("K", *_SHARE),
        "activity_": _numbers("V", 0.0), "activity_in_": _numbers("V", 0.0), "spectrum_": _numbers("*"),
    },
    "SeparableNMF": {
        "components_": _numbers("K V"), "weights_": _numbers("K", *_SHARE), "anchors_": Layout("K", "iu", low=0),
    },
    "ApproximateNMF": {
        "components_": _numbers("K V", 0.0), "weights_": _numbers("K", *_SHARE), "starts_": _numbers("*", 0.0),
    },
    "IncoherentDictionary": {
        "components_": _numbers("K V", -1.0 - _TOLERANCE, 1.0 + _TOLERANCE), "usage_": _numbers("K", *_SHARE),
        "errors_": _numbers("R", 0.0),
    },
    "ContrastiveComponents": _CONTRASTIVE | {"_regression": _numbers("V W")},
    "ContrastivePCA": _CONTRASTIVE | {
        "components_": _numbers("K V"), "explained_variance_": _numbers("K"), "explained_variance_ratio_": _numbers("K"),
        "naive_variance_": _numbers("V"),
    },
    "ContrastiveRegression": _CONTRASTIVE | {
        "coef_": _numbers("V"), "covariates_coef_": _numbers("V"), "naive_coef_": _numbers("V"),
        "_scale": _numbers("V", _LEAST),
    },
    "ContrastiveLogisticRegression": _CONTRASTIVE | {
        "coef_": _numbers("* V"), "intercept_": _numbers("*"), "classes_": _symbols("C"), "_scale": _numbers("V", _LEAST),
    },
    "ContrastiveGaussianMixture": _CONTRASTIVE | {
        "means_": _numbers("K V"), "weights_": _distributions("K"), "_within_root": _numbers("B B"),
    },
    "ContrastiveIsing": _CONTRASTIVE | {
        "couplings_": _numbers("E"), "edges_": Layout("E *", "iu", low=0), "correlations_": _numbers("V V"),
    },
    "RichComponents": {
        "_scale": _numbers("I V", _LEAST), "zero_test_": _numbers("J"), "present_": Layout("J", "b"),
        "linear_maps_": _optional(_numbers("V V")),
    },
    "MomentMultiLabelClassifier": {
        "weights_": _optional(_numbers("K", *_SHARE)), "word_probabilities_": _optional(_numbers("K V", *_SHARE)),
        "label_probabilities_": _optional(_numbers("K L", *_SHARE)), "word_frequencies_": _numbers("V", 0.0),
        "label_frequencies_": _numbers("L", *_SHARE), "inverse_document_frequency_": _optional(_numbers("V")),
        "classes_": _symbols("L"), "_labels.classes": _symbols("L"), "word_features_": _optional(_numbers("V H")),
        "coef_": _optional(_numbers("H L")), "intercept_": _optional(_numbers("L")),
    },
}  # fmt: skip
"""The arrays of every class, by the path of the attribute; "#" is a size of its own for each array of a list."""

_EVIDENCE = {
    "evidence_.component_errors": _optional(_numbers("*", 0.0)),
    "evidence_.shares": _optional(_numbers("*", *_SHARE)),
}


# --- estimators ---------------------------------------------------------------------------------------------------


def check_fitted(model: Any) -> None:
    """Raise a `LatentiaError` unless parameters and fitted attributes of an estimator are such as its class makes."""
    check_parameters(model)
    model._check_parameters()
    _check_types(model, vars(model))
    if not any(name.endswith("_") for name in vars(model)):
        return
    sizes = _Sizes()
    if "n_features_in_" in vars(model):
        sizes.agree("V", model.n_features_in_, "n_features_in_")
    table = {**LAYOUTS.get(type(model).__name__, {}), **_EVIDENCE}
    if "V" not in sizes.of and any("V" in layout.shape for layout in table.values()):
        raise LatentiaError("n_features_in_ is missing")
    found = dict(_arrays(vars(model)))
    laid_out = [(path, array, table.get(_PLACE.sub("", path), _ANY)) for path, array in found.items()]
    for path, array, layout in sorted(laid_out, key=lambda one: bool(one[2].below)):
        _check_array(path, array, layout, sizes)
    for name in table.keys() & vars(model).keys():
        if vars(model)[name] is not None and not _has(found, name):
            raise LatentiaError(f"{name} is no array")
    missing = [path for path, layout in table.items() if layout.required and not _has(found, path)]
    if missing or not isinstance(getattr(model, "evidence_", None), Evidence):
        raise LatentiaError(f"{[*missing, 'evidence_'][0]} is missing")
    _check_names(model)
    for check in _FURTHER.get(type(model).__name__, ()):
        check(model, sizes)


def _has(found: Mapping[str, Any], path: str) -> bool:
    return path in found or f"{path}[0]" in found


class _Sizes:
    """What the letters of sizes stand for."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def agree(self, letter: str, size: Any, path: str) -> None:
        if type(size) is not int or size < 1 - (letter in "EDPH*"):
            raise LatentiaError(f"{path} has the size {size!r}")
        if letter != "*" and self.of.setdefault(letter, size) != size:
            raise LatentiaError(f"{path} has the size {size} where {self.of[letter]} is needed")


def _check_array(path: str, array: np.ndarray, layout: Layout, sizes: _Sizes) -> None:
    """Raise unless an array is as its layout says."""
    letters = layout.shape.split()
    if array.dtype.kind not in layout.kinds or (letters and array.ndim != len(letters)):
        raise LatentiaError(f"{path} has the type {array.dtype} and the shape {array.shape}")
    for letter, size in zip(letters, array.shape, strict=False):
        own = letter + path.partition("[")[2] if letter == "#" else letter
        sizes.agree(own, size, path)
    if array.dtype.kind not in "biuf" or not array.size:
        return
    if layout.finite and not (np.abs(array) <= np.float64(_MOST)).all():
        raise LatentiaError(f"{path} has NaN, infinity or numbers out of range")
    high = sizes.of.get(layout.below, 0) - 1 if layout.below else layout.high
    if (array < layout.low).any() or (array > high).any():  # NaN is neither: where it may be, it says nothing
        raise LatentiaError(f"{path} has entries outside of {layout.low:g} to {high:g}")
    if layout.sums and not np.allclose(array.sum(axis=-1), 1.0, rtol=0, atol=_TOLERANCE):
        raise LatentiaError(f"{path} has rows that do not sum to one")


def _arrays(state: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of attributes, of lists and dicts in them and of records, by their paths."""
    for name, value in state.items():
        items: Any = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else None
        )
        for place, one in [(above + name, value)] if items is None else [
            (f"{above}{name}[{i}]", item) for i, item in enumerate(item for _, item in items)
        ]:  # fmt: skip
            if isinstance(one, np.ndarray):
                yield place, one
            elif dataclasses.is_dataclass(one) and not isinstance(one, type):
                yield from _arrays(vars(one), f"{place}.")


def _check_names(model: Any) -> None:
    """Names of columns, which must be as many as the columns."""
    width = getattr(model, "n_features_in_", None)
    for name in ("_column_names", "feature_names_in_"):
        names = getattr(model, name, None)
        if names is None:
            continue
        if not isinstance(names, (list, tuple, np.ndarray)) or len(names) != width:
            raise LatentiaError(f"{name} does not name {width} columns")
        if not all(isinstance(each, str) for each in names):
            raise LatentiaError(f"{name} has names that are no text")
    if hasattr(model, "vocabulary") and width is not None:
        check_vocabulary(model)
    vectorizer = getattr(model, "vectorizer_", None)
    if isinstance(vectorizer, WordVectorizer):
        if len(getattr(vectorizer, "vocabulary_", ())) != width:
            raise LatentiaError(f"vectorizer_ does not count {width} words")
    elif vectorizer is not None and not isinstance(vectorizer, UnsavedVectorizer):
        raise LatentiaError("vectorizer_ is no vectorizer")


# --- what sizes and types do not say ------------------------------------------------------------------------------


def _proportions_of_topics(model: Any, sizes: _Sizes) -> None:
    if not model.dirichlet_.any():
        raise LatentiaError("dirichlet_ is zero")


def _anchors_of_topics(model: Any, sizes: _Sizes) -> None:
    anchors = model._anchors
    words = [word for anchor in anchors for word in anchor.words]
    if len(anchors) != sizes.of["K"] or not all(0 <= word < sizes.of["V"] for word in words):
        raise LatentiaError("_anchors are not words of every topic")
    if any(len(a.words) != len(a.strengths) or not a.words for a in anchors) or len(model.anchor_words_) != len(
        anchors
    ):
        raise LatentiaError("_anchors have no strength for every word")
    if (np.bincount(model._words.codes, minlength=sizes.of["W"]) == 0).any():
        raise LatentiaError("_words.codes leave out columns of the embedding")


def _widths_of_views(model: Any, sizes: _Sizes) -> None:
    layout, means = model._layout, model.means_
    widths = [mean.shape[1] for mean in means]
    same = layout.widths == widths and [len(scale) for scale in model._scales] == widths and len(widths) >= 3
    columns = layout.columns
    if columns is not None:
        same = same and [len(view) for view in columns] == widths and layout.width is not None
        same = same and all(isinstance(c, str) or 0 <= c < layout.width for view in columns for c in view)
    if model.distribution == "gaussian":
        same = same and [variance.shape for variance in model.variances_] == [mean.shape for mean in means]
    if not same:
        raise LatentiaError("the views have other widths in different attributes")


def _states_of_chain(model: Any, sizes: _Sizes) -> None:
    symbols = "symbols_" in vars(model)
    if type(model._kind).__name__ != ("Symbols" if symbols else "Vectors"):
        raise LatentiaError("_kind is not that of the symbols")
    needed = ("emissionprob_",) if symbols else ("means_", "variances_")
    if any(name not in vars(model) for name in needed) or (model._chain.variances is None) is not symbols:
        raise LatentiaError(f"{needed[0]} is missing")
    if symbols and not np.allclose(model._chain.emissions, model.emissionprob_, rtol=0, atol=_TOLERANCE):
        raise LatentiaError("_chain.emissions is not emissionprob_")
    if symbols and (
        model.n_features_in_ != 1 or not _ascending(model.symbols_) or not _ascending(model._kind.alphabet)
    ):
        raise LatentiaError("symbols_ are not in order")


def _covariances_of_states(model: Any, sizes: _Sizes) -> None:
    kind = "diag" if "symbols_" in vars(model) else model.covariance_type  # symbols have none
    _check_covariances(model._chain.covariances, kind, "_chain.covariances")
    found, wide = vars(model).get("covariances_"), model._chain.covariances
    if (found is None) is not (wide is None):
        raise LatentiaError("covariances_ is not that of _chain")
    if found is not None and np.shape(found) != (wide.shape[1:] if model.covariance_type == "tied" else wide.shape):
        raise LatentiaError(f"covariances_ has shape {np.shape(found)}")


def _covariances_of_clusters(model: Any, sizes: _Sizes) -> None:
    found, (k, v) = vars(model).get("_covariances"), (sizes.of["K"], sizes.of["V"])
    shape = {"diag": (k, v), "full": (k, v, v), "tied": (1, v, v)}.get(model.covariance_type)
    if (None if found is None else np.shape(found)) != shape:
        raise LatentiaError(f"_covariances is not of shape {shape}")
    if model.covariance_type == "diag":
        if not (np.isfinite(found).all() and (found >= _LEAST).all()):
            raise LatentiaError("_covariances has an entry that is no variance")
        return
    _check_covariances(found, model.covariance_type, "_covariances")


def _check_covariances(found: np.ndarray | None, kind: str, name: str) -> None:
    """Symmetric and positive definite where there are such, which are those of "full" and "tied"."""
    if (found is None) is (kind in ("full", "tied")):
        raise LatentiaError(f"{name} is not that of covariance_type={kind!r}")
    if found is None:
        return
    if not np.isfinite(found).all() or not np.allclose(found, found.swapaxes(1, 2)):
        raise LatentiaError(f"{name} is not symmetric")
    if not (np.linalg.eigvalsh(found) > 0).all():
        raise LatentiaError(f"{name} is not positive definite")


def _two_states(model: Any, sizes: _Sizes) -> None:
    if sizes.of["K"] != 2 or not _ascending(model.symbols_):
        raise LatentiaError("there must be two states, and symbols in order")


def _ascending(symbols: np.ndarray) -> bool:
    return bool((symbols[:-1] < symbols[1:]).all())


def _factors_of_pairs(model: Any, sizes: _Sizes) -> None:
    factored, own = model._matrix.factored, vars(model)
    if not model.symmetric:
        seen, shape = model._matrix.seen, (sizes.of["V"], sizes.of["W"])
        if {"_matrix.right", "column_marginals_"} - {name for name, _ in _arrays(own)}:
            raise LatentiaError("_matrix is not that of ordered pairs")
        if (seen is None) is not (model._matrix.given_up is None) or (seen is not None and seen.shape != shape):
            raise LatentiaError("_matrix.seen is not what the discounts leave")
        return
    if not hasattr(factored, "core"):
        raise LatentiaError("_matrix is not that of pairs without order")
    if factored.least is not None:  # whose products no entry is below
        return
    if "components_" not in own or "mixing_" not in own:
        raise LatentiaError("_matrix.factored.least is missing")
    if not np.array_equal(factored.left, own["components_"].T) or not np.array_equal(factored.core, own["mixing_"]):
        raise LatentiaError("_matrix.factored is not that of components_ and mixing_")


def _head_of_labels(model: Any, sizes: _Sizes) -> None:
    needed = ["inverse_document_frequency_", "_occurrences", "_calibration", "head_"]
    needed += ["word_features_", "coef_", "intercept_"] if model.head != "bayes" else []
    needed += ["weights_", "word_probabilities_", "label_probabilities_", "_share"] if model.topics else []
    missing = [name for name in needed if name not in vars(model)]
    if missing:
        raise LatentiaError(f"{missing[0]} is missing")
    if (model.head == "bayes") is not (model._calibration is None):
        raise LatentiaError("_calibration is not that of the head")
    if model.head != "bayes" and model.word_features_ is None and len(model.coef_) != sizes.of["V"]:
        raise LatentiaError("coef_ has not a row for every word")
    names = model.label_names
    if names is not None and len(names) != sizes.of["L"]:
        raise LatentiaError("label_names does not name every label")
    np.dtype(model._labels.dtype)


def _one_of_two_classes(model: Any, sizes: _Sizes) -> None:
    if len(model.coef_) != 1 or len(model.intercept_) != 1 or len(model.classes_) != 2:
        raise LatentiaError("there must be two classes, and one intercept")


_FURTHER: Mapping[str, Sequence[Callable[[Any, _Sizes], None]]] = {
    "AnchorTopics": (_anchors_of_topics, _proportions_of_topics),
    "SpectralLDA": (_proportions_of_topics,),
    "MultiViewMixture": (_widths_of_views,),
    "SpectralHMM": (_states_of_chain, _covariances_of_states),
    "SphericalGaussianMixture": (_covariances_of_clusters,),
    "TwoStateHMM": (_two_states,),
    "ProbabilityMatrix": (_factors_of_pairs,),
    "MomentMultiLabelClassifier": (_head_of_labels,),
    "ContrastiveLogisticRegression": (_one_of_two_classes,),
}


# --- types --------------------------------------------------------------------------------------------------------


def check_record(record: Any) -> None:
    """Raise a `LatentiaError` unless the fields of a dataclass have the types that it declares."""
    _check_types(record, {one.name: getattr(record, one.name) for one in dataclasses.fields(record)})


def _check_types(owner: Any, state: Mapping[str, Any]) -> None:
    hints = typing.get_type_hints(type(owner))
    for name, value in state.items():
        if name in hints and not _is_a(value, hints[name]):
            raise LatentiaError(f"{type(owner).__name__}.{name} is a {type(value).__name__}")


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value has a declared type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin in (Union, types.UnionType):
        return any(_is_a(value, one) for one in arguments)
    if origin is typing.ClassVar:
        return True
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is tuple:
        if not isinstance(value, tuple) or (arguments[-1:] != (...,) and len(value) != len(arguments)):
            return False
        return all(_is_a(v, arguments[0] if arguments[-1] is ... else arguments[i]) for i, v in enumerate(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, origin) and all(
            _is_a(k, arguments[0]) and _is_a(v, arguments[1]) for k, v in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return isinstance(value, origin) and all(_is_a(one, arguments[0]) for one in value)
    if hint is None or hint is type(None):
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if hint is sparse.csr_array or hint is np.ndarray or (isinstance(hint, type) and not _is_protocol(hint)):
        return isinstance(value, hint)
    return dataclasses.is_dataclass(value)


def _is_protocol(hint: type) -> bool:
    return Protocol in hint.__mro__ and bool(getattr(hint, "_is_protocol", False))
