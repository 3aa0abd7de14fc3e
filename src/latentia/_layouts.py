"""What fitted estimators hold: types, sizes, ranges and sums of all that a saved model has, which `latentia.load` checks.

A table has a line for every attribute, and for every field of a record and item of a list in it: ``_chain.startprob``,
``means_[]`` of a list, ``_layout.columns()[]`` of lists in a tuple, ``linear_maps_{}`` of a dict. A size is a letter that must
stand for one number in the whole estimator; V is ``n_features_in_``.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol, Union

import numpy as np
from scipy import sparse

from ._parameters import check_parameters
from ._validation import check_vocabulary
from .evidence import Evidence
from .exceptions import LatentiaError
from .words import UnsavedVectorizer, WordVectorizer

__all__ = ["check_fitted", "check_record", "undeclared"]

_TOLERANCE, _OF_SUMS = 1e-6, 1e-9
_LEAST, _MOST = 1e-100, 1e100  # sizes of numbers whose products stay in range
_MOST_SINGLE = 1e15  # of float32
_PLACE = re.compile(r"(?<=[\[({])\d+(?=[\])}])")
_WHOLE = ("int64", "int32")


@dataclass(frozen=True)
class Layout:
    """What an array, a number, a text or a record must be.

    Attributes
    ----------
    shape : str
        Letters of the sizes, such as "K V"; "*" for any one size; none for a number or a text.
    types : tuple of str
        Those of NumPy's types that it may have; "symbols" for numbers or texts, as labels are.
    low, high : float
        Between which all entries lie.
    below : str
        Letter of the size that entries, places in another array, stay below.
    size : str
        Letter of the size that the number is.
    options : tuple of str
        The texts that there are.
    record : str
        The classes that a record may have.
    sums : bool
        Whether rows sum to one.
    sparse : bool
        Whether it is a CSR matrix, in order and with each entry once.
    number : bool
        Whether one number may stand for all.
    finite : bool
    required : bool
        Whether the attribute must be there.
    none : bool
        Whether it may be None.
    """

    shape: str = ""
    types: tuple[str, ...] = ("float64",)
    low: float = -np.inf
    high: float = np.inf
    below: str = ""
    size: str = ""
    options: tuple[str, ...] = ()
    record: str = ""
    sums: bool = False
    sparse: bool = False
    number: bool = False
    finite: bool = True
    required: bool = True
    none: bool = False


def _numbers(shape: str, low: float = -np.inf, high: float = np.inf) -> Layout:
    return Layout(shape, low=low, high=high)


def _number(low: float = -np.inf, high: float = np.inf) -> Layout:
    return Layout(low=low, high=high)


def _whole(low: float = 0) -> Layout:
    return Layout(types=_WHOLE, low=low)


def _size(letter: str) -> Layout:
    return Layout(types=_WHOLE, low=0, size=letter)


def _places(shape: str, below: str = "", low: float = 0) -> Layout:
    return Layout(shape, _WHOLE, low, below=below)


def _flag() -> Layout:
    return Layout(types=("bool",))


def _text(*options: str) -> Layout:
    return Layout(types=("str",), options=options)


def _record(*classes: str) -> Layout:
    return Layout(record=" ".join(classes))


def _distributions(shape: str) -> Layout:
    return Layout(shape, low=0.0, high=1.0 + _TOLERANCE, sums=True)


def _symbols(shape: str) -> Layout:
    return Layout(shape, ("symbols",))


def _optional(layout: Layout) -> Layout:
    """May be missing."""
    return replace(layout, required=False, none=True)


def _or_none(layout: Layout) -> Layout:
    """May be None."""
    return replace(layout, none=True)


_NONE = Layout(record="None", required=False, none=True)


def _errors(size: str) -> dict[str, Layout]:
    """Expected errors of the components."""
    return {
        "evidence_.component_errors": _or_none(_numbers(size, 0.0)), "evidence_.shares": _or_none(_numbers(size, *_SHARE)),
    }  # fmt: skip


_SHARE = (0.0, 1.0 + _TOLERANCE)
_EVERY = {
    "_seed": _whole(),
    "n_features_in_": _size("V"),
    "n_passes_": _whole(),
    "n_components_": _optional(_size("K")),
}
_ROUNDS = {"refinement_": _numbers("*")}
_TOPICS = _EVERY | _ROUNDS | _errors("K") | {
    "components_": _distributions("K V"), "word_frequencies_": _numbers("V", *_SHARE), "_confusions": _numbers("* K K"),
    "_n_features_out": _size("K"),
}  # fmt: skip
_ADMIXTURE = _TOPICS | {"prevalence_": _numbers("K", *_SHARE), "dirichlet_": _numbers("K", 0.0)}
_CHAIN = _EVERY | _ROUNDS | _errors("K") | {
    "startprob_": _distributions("K"), "transmat_": _distributions("K K"), "weights_": _distributions("K"),
}  # fmt: skip
_FACTORS = _EVERY | _errors("K") | {
    "weights_": _numbers("K", *_SHARE), "reconstruction_err_": _number(0.0), "relative_error_": _number(0.0),
}  # fmt: skip
_CONTRASTIVE = _EVERY | {
    "linear_map_": _numbers("W V"), "inverse_map_": _numbers("V W"), "mean_": _numbers("V"), "_mean_v": _numbers("W"),
    "_own_given_views": _numbers("V B"), "n_features_v_": _size("W"),
}  # fmt: skip

LAYOUTS: Mapping[str, Mapping[str, Layout]] = {
    "AnchorTopics": _ADMIXTURE | {
        "topic_covariance_": _numbers("K K"),
        "anchors_": _places("K", "V"),
        "anchor_words_[][]": Layout(types=(*_WHOLE, "str")),
        "_anchors[]": _record("Anchor"),
        "_anchors[].words()": _places("", "V"),
        "_anchors[].strengths()": _number(0.0),
        "_anchors[].given": _flag(),
        "_anchors[].vertex": _or_none(_numbers("D")),
        "_embedding": _record("Embedding"),
        "_embedding.sketch": _numbers("W D"),
        "_embedding.test": _numbers("W D"),
        "_embedding.marginal": _numbers("W", *_SHARE),
        "_embedding.noise": _number(0.0),
        "_embedding.excess": Layout("W", low=0.0, number=True),
        "_embedding.spectrum": _numbers("*"),
        "_words": _record("Words"),
        "_words.codes": _places("V", "W"),
        "_words.document_frequency": Layout("V", low=0.0, finite=False),
        "_words.probabilities": _numbers("V", *_SHARE),
        "_documents": _record("Documents"),
        "_documents.used": _whole(), "_documents.empty": _whole(), "_documents.short": _whole(),
        "_documents.length": _number(0.0),
    },
    "SpectralLDA": _ADMIXTURE | {"alpha0_": _number(0.0)},
    "SingleTopicModel": _TOPICS | {"weights_": _distributions("K"), "smoothing_": _numbers("K", *_SHARE)},
    "SphericalGaussianMixture": _EVERY | _ROUNDS | _errors("K") | {
        "means_": _numbers("K V"), "weights_": _distributions("K"), "variance_": _numbers("K", _LEAST),
        "n_components_": _size("K"), "_covariances": _optional(_numbers("...")),
    },
    "MultiViewMixture": _ROUNDS | _errors("K") | {
        "means_[]": _numbers("K #"), "weights_": _distributions("K"), "_scales[]": _numbers("#", _LEAST),
        "variances_[]": _optional(_numbers("K #", _LEAST)), "_seed": _whole(), "n_passes_": _whole(),
        "n_components_": _optional(_size("K")), "_layout": _record("_Layout"), "_layout.widths[]": _whole(1),
        "_layout.columns[][]": Layout(types=(*_WHOLE, "str")), "_layout.columns": _NONE,
        "_layout.width": _or_none(_whole(1)),
    },
    "TensorICA": _EVERY | _ROUNDS | _errors("K") | {
        "components_": _numbers("K V"), "mixing_": _numbers("V K"), "mean_": _numbers("V"),
        "whitening_": _numbers("K V"), "kurtosis_": _numbers("K"), "n_iter_": _whole(), "_n_features_out": _size("K"),
    },
    "SpectralHMM": _CHAIN | {
        "_chain": _record("Chain"),
        "_chain.startprob": _distributions("K"),
        "_chain.transmat": _distributions("K K"),
        "_chain.emissions": _numbers("K S"),
        "_chain.variances": _or_none(_numbers("K S", _LEAST)),
        "_chain.covariances": _or_none(_numbers("K S S")),
        "_deviations": _numbers("S", _LEAST),
        "_kind": _record("Symbols", "Vectors"),
        "_kind.alphabet": _symbols("S"),
        "_kind.constant": _flag(),
        "_kind.most": Layout(low=0.0, finite=False),
        "_kind.covariance": _text("diag", "full", "tied"),
        "start_": _text(),
        "symbols_": _optional(_symbols("S")),
        "emissionprob_": _optional(_distributions("K S")),
        "means_": _optional(_numbers("K V")),
        "variances_": _optional(_numbers("K V", _LEAST)),
        "covariances_": _optional(_numbers("... V V")),
    },
    "TwoStateHMM": _CHAIN | {
        "emissionprob_": _distributions("K S"), "symbols_": _symbols("S"), "_marginal": _numbers("S", *_SHARE),
        "edge_": _number(0.0), "spectrum_": _number(), "eigenvalue_": _number(), "detected_": _flag(),
    },
    "NoisyOr": _EVERY | _ROUNDS | _errors("K") | {
        "weights_": _numbers("K V", 0.0), "strengths_": _numbers("K V", *_SHARE), "priors_": _numbers("K", *_SHARE),
        "leak_": _numbers("V", *_SHARE), "spectrum_": _numbers("*"), "prior_errors_": _or_none(_numbers("K", 0.0)),
        "noise_": _number(0.0), "n_components_range_()": _optional(_whole()), "n_components_range_": _NONE,
        "_given_names{}": Layout(types=("str",)),
    },
    "ProbabilityMatrix": _EVERY | _ROUNDS | _errors("J") | {
        "marginals_": _numbers("V", *_SHARE), "_scale": _numbers("V", 0.0), "spectrum_": _numbers("*"),
        "embedding_": _numbers("V E"), "_matrix": _record("_Matrix", "OrderedMatrix"), "n_pairs_": _number(0.0),
        "edge_": _number(0.0), "n_kept_": _whole(), "bins_[]": _optional(_whole()),
        "_matrix.factored": _record("Factored"), "_matrix.factored.left": _numbers("V R"),
        "_matrix.factored.core": _numbers("R R"), "_matrix.factored.least": _or_none(_numbers("V", 0.0)),
        "_matrix.sums_to_one": _flag(), "_matrix.n_jobs": _or_none(Layout(types=_WHOLE)),
        "column_marginals_": _optional(_numbers("W", *_SHARE)), "column_embedding_": _optional(_numbers("W E")),
        "discounts_": _optional(_numbers("*", 0.0)), "_matrix.left": _numbers("V R"),
        "_matrix.right": _numbers("W R"), "_matrix.row_shares": _numbers("V", *_SHARE),
        "_matrix.column_shares": _numbers("W", *_SHARE), "_matrix.floor": _number(0.0),
        "_matrix.sums": _numbers("V", 0.0), "_matrix.marginals": _numbers("V", *_SHARE),
        "_matrix.continuation": _numbers("W", *_SHARE), "_matrix.given_up": _or_none(_numbers("V", 0.0)),
        "_matrix.n_pairs": _number(0.0),
        "_matrix.seen": _or_none(Layout("V W", low=0.0, high=1.0, sparse=True)),
        "components_": _optional(_numbers("R V", 0.0)), "mixing_": _optional(_numbers("R R", 0.0)),
        "_communities": _record("_Communities"), "_communities.points": _numbers("V P"),
        "_communities.marginals": _numbers("V", *_SHARE), "_communities.seed": _whole(),
    },
    "MixedMembershipBlockModel": _EVERY | _ROUNDS | _errors("K") | {
        "memberships_": Layout("V K", low=0.0, high=1.0 + _TOLERANCE, finite=False),
        "averages_": Layout("V K", finite=False),
        "labels_": _places("V", "K", low=-1), "isolated_": _places("*", "V"),
        "connectivity_": _numbers("K K", 0.0), "_rates": _numbers("K K", 0.0),
        "dirichlet_": _numbers("K", 0.0), "weights_": _numbers("K", *_SHARE),
        "activity_": _numbers("V", 0.0), "activity_in_": _numbers("V", 0.0), "spectrum_": _numbers("*"),
        "edge_": _number(0.0), "n_suggested_": _whole(), "n_edges_": _whole(), "degree_corrected_": _flag(),
        "homophilic_": _flag(), "directed_": _flag(), "_as_counts": _record("Weights"), "_as_counts.root": _flag(),
        "_as_counts.dispersion": _number(_LEAST),
    },
    "SeparableNMF": _FACTORS | _ROUNDS | {
        "components_": _numbers("K V"), "anchors_": _places("K"), "method_": _text(), "mixing_": _text("simplex", "cone"),
    },
    "ApproximateNMF": _FACTORS | {
        "components_": _numbers("K V", 0.0), "starts_": _numbers("*", 0.0), "lower_bound_": _number(0.0),
        "certificate_": _number(0.0),
    },
    "IncoherentDictionary": _EVERY | _ROUNDS | _errors("K") | {
        "components_": _numbers("K V", -1.0 - _TOLERANCE, 1.0 + _TOLERANCE), "usage_": _numbers("K", *_SHARE),
        "errors_": _numbers("R", 0.0), "sparsity_": _whole(1), "start_": _text("graph", "random"), "noise_": _number(0.0),
        "reconstruction_error_": _number(0.0), "_n_features_out": _size("K"),
    },
    "ContrastiveComponents": _CONTRASTIVE | _errors("N") | {
        "_regression": _numbers("V W"), "_covariances[]": _numbers("C# C#"), "_cumulants{}": _optional(_numbers("...")),
        "_n_features_out": _size("V"),
    },
    "ContrastivePCA": _CONTRASTIVE | _errors("K") | {
        "components_": _numbers("K V"), "explained_variance_": _numbers("K"), "explained_variance_ratio_": _numbers("K"),
        "naive_variance_": _numbers("V"), "_n_features_out": _size("K"),
    },
    "ContrastiveRegression": _CONTRASTIVE | _errors("V") | {
        "coef_": _numbers("V"), "covariates_coef_": _numbers("V"), "naive_coef_": _numbers("V"), "intercept_": _number(),
        "_scale": _numbers("V", _LEAST),
    },
    "ContrastiveLogisticRegression": _CONTRASTIVE | _errors("V") | {
        "coef_": _numbers("* V"), "intercept_": _numbers("*"), "classes_": _symbols("C"), "_scale": _numbers("V", _LEAST),
        "n_iter_": _whole(),
    },
    "ContrastiveGaussianMixture": _CONTRASTIVE | _errors("K") | {
        "means_": _numbers("K V"), "weights_": _distributions("K"), "_within_root": _numbers("B B"),
        "variance_": _number(0.0),
    },
    "ContrastiveIsing": _CONTRASTIVE | _errors("E") | {
        "couplings_": _numbers("E"), "edges_": _places("E *", "V"), "correlations_": _numbers("V V"),
    },
    "RichComponents": _EVERY | _errors("N") | {
        "_scale": _numbers("I V", _LEAST), "zero_test_": _numbers("J"), "present_": Layout("J", ("bool",)),
        "linear_maps_{}": _numbers("V V"), "_cumulants{}": _numbers("..."), "n_views_": _size("I"),
        "subsets_[]()": _places("", "I"), "distinguishing_sets_[]()": _places("", "I"),
    },
    "MomentMultiLabelClassifier": _EVERY | _errors("K") | {
        "refinement_": _optional(_numbers("*")),
        "weights_": _optional(_numbers("K", *_SHARE)), "word_probabilities_": _optional(_numbers("K V", *_SHARE)),
        "label_probabilities_": _optional(_numbers("K L", *_SHARE)), "word_frequencies_": _numbers("V", 0.0),
        "label_frequencies_": _numbers("L", *_SHARE), "inverse_document_frequency_": _or_none(_numbers("V", 0.0, _MOST_SINGLE)),
        "classes_": _symbols("L"), "_labels": _record("LabelSets"), "_labels.classes": _symbols("L"),
        "_labels.one_class": _flag(), "_labels.dense": _flag(), "_labels.dtype": _text(),
        "_labels.names": _NONE, "_labels.names[]": _text(),
        "word_features_": _optional(Layout("V H", ("float32", "float64"))),
        "coef_": _optional(_numbers("H L", -_MOST_SINGLE, _MOST_SINGLE)),
        "intercept_": _optional(_numbers("L", -_MOST_SINGLE, _MOST_SINGLE)),
        "_occurrences": _flag(), "head_": _text("bayes", "ridge", "logistic", "full"),
        "_calibration": _or_none(_record("Calibration")), "_calibration.logistic": _flag(),
        "_calibration.edge": _number(), "_calibration.low": _number(),
        "_calibration.high": _number(), "_calibration.shift": _number(),
        "_penalty": _optional(_number(0.0)), "_explained": _optional(_number()), "_share": _optional(_number(*_SHARE)),
    },
    "SparseNetwork": _EVERY | _errors("U") | {
        "layers_[]": Layout("U# W#", ("int8",), -1, 1, sparse=True),
        "undetermined_[]": Layout("U# W#", ("bool",), sparse=True),
        "densities_[]": _numbers("U#", *_SHARE), "observed_density_": _number(*_SHARE),
        "scale_": _or_none(_numbers("V", _LEAST)), "offset_": _or_none(_numbers("V")), "noise_": _or_none(_numbers("V", 0.0)),
        "variance_": _or_none(_numbers("V", 0.0)),
    },
}  # fmt: skip
"""The attributes of every class by their paths. A size with "#" is one for each item of a list; "..." are any sizes."""

_APART = frozenset({
    "_column_names", "feature_names_in_", "_v_names", "names_", "vectorizer_", "reading_", "comparison_", "recommendation_",
    "_sklearn_output_config",
})  # fmt: skip
"""Attributes that have checks of their own, in all classes."""


# --- estimators ---------------------------------------------------------------------------------------------------


def check_fitted(model: Any) -> None:
    """Raise a `LatentiaError` unless parameters and fitted attributes of an estimator are such as its class makes."""
    check_parameters(model)
    model._check_parameters()
    _check_types(model, vars(model))
    if not any(name.endswith("_") for name in vars(model)):
        return
    table, sizes = LAYOUTS[type(model).__name__], _Sizes()
    roots = {_root(path) for path in table}
    found = [(_path(place), place, value) for place, value in _items(vars(model)) if _root(place) in roots]
    found = [one for one in found if one[0] in table or not _of_checks(*one)]  # records with types of their own
    paths, empty = {path for path, *_ in found}, tuple(path for path, _, value in found if value is _EMPTY)
    for path, layout in table.items():
        if layout.required and "." not in path and path not in paths and not path.startswith(empty):
            raise LatentiaError(f"{path} is missing")
    found = [one for one in found if one[2] is not _EMPTY or not any(path.startswith(one[0]) for path in table)]
    for path, place, value in found:
        if path not in table:
            raise LatentiaError(f"{place} is a {type(value).__name__}")
    for path, place, value in sorted(found, key=lambda one: bool(table[one[0]].below)):
        _check_item(place, value, table[path], sizes)
    if not isinstance(getattr(model, "evidence_", None), Evidence):
        raise LatentiaError("evidence_ is missing")
    _check_apart(model)
    for check in _FURTHER.get(type(model).__name__, ()):
        check(model, sizes)


def undeclared(model: Any) -> list[str]:
    """Paths of what a fitted estimator keeps beside its parameters, and no table has."""
    table = LAYOUTS.get(type(model).__name__, {})
    apart = _APART | set(model.get_params(deep=False))
    found = [(_path(place), place, value) for place, value in _items(vars(model)) if value is not _EMPTY]
    paths = {path for path, place, value in found if _root(path) not in apart and not _of_checks(path, place, value)}
    return sorted(paths - table.keys())


def _of_checks(path: str, place: str, value: Any) -> bool:
    """Whether an item is of the evidence, and no array."""
    return _root(path) == "evidence_" and not isinstance(value, np.ndarray)


class _Sizes:
    """What the letters of sizes stand for."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def agree(self, letter: str, size: Any, place: str) -> None:
        if size < 1 - (letter[0] in _MAY_BE_ZERO):
            raise LatentiaError(f"{place} has the size {size!r}")
        if letter != "*" and self.of.setdefault(letter, size) != size:
            raise LatentiaError(f"{place} has the size {size} where {self.of[letter]} is needed")


_EMPTY = object()  # stands for the items of an empty list
_MAY_BE_ZERO = "EDPHU*"


def _items(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Attributes, fields of records and items of lists, each with its place, such as ``_chain.startprob`` or ``means_[0]``."""
    if isinstance(value, (list, tuple, dict)) and place:
        first, last = {"list": ("[", "]"), "tuple": ("(", ")")}.get(type(value).__name__, ("{", "}"))
        if not value:
            yield f"{place}{first}{last}", _EMPTY
        for i, one in enumerate(value.values() if isinstance(value, dict) else value):
            yield from _items(one, f"{place}{first}{i}{last}")
        return
    if place:
        yield place, value
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            for field in dataclasses.fields(value):
                yield from _items(getattr(value, field.name), f"{place}.{field.name}")
        return
    for name, one in value.items():
        yield from _items(one, name)


def _path(place: str) -> str:
    return _PLACE.sub("", place).replace("evidence_.topics.", "evidence_.")  # of a classifier that has evidence on both


def _root(path: str) -> str:
    return re.split(r"[.\[({]", path)[0]


def _check_item(place: str, value: Any, layout: Layout, sizes: _Sizes) -> None:
    """Raise unless an attribute, a field or an item is as its layout says."""
    if value is None and layout.none:
        return
    if layout.record:
        if type(value).__name__ not in layout.record.split():
            raise LatentiaError(f"{place} is a {type(value).__name__}")
        return
    array = _as_array(place, value, layout)
    one = layout.number and isinstance(value, float)
    letters, shape = [] if one else layout.shape.split(), value.shape if layout.sparse else array.shape
    if letters[:1] == ["..."]:
        letters = letters[1:]
        shape = shape[len(shape) - len(letters) :]
    if not _has_type(array.dtype, layout.types) or len(shape) != len(letters):
        raise LatentiaError(f"{place} has the type {array.dtype} and the shape {array.shape}")
    for letter, size in zip(letters, shape, strict=True):
        sizes.agree(letter + place[place.find("[") :] if letter.endswith("#") else letter, size, place)
    if layout.size:
        sizes.agree(layout.size, int(array), place)
    if layout.options and value not in layout.options:
        raise LatentiaError(f"{place} is {value!r}")
    if array.dtype.kind in "iuf" and array.size:
        _check_numbers(place, array, layout, sizes)


def _as_array(place: str, value: Any, layout: Layout) -> np.ndarray:
    """Its numbers: of a sparse matrix, which must be in order, those that are stored."""
    if layout.sparse:
        if not isinstance(value, sparse.csr_array) or not value.has_canonical_format:
            raise LatentiaError(f"{place} is no sparse matrix in order")
        return np.asarray(value.data)
    if isinstance(value, np.ndarray) is not bool(layout.shape) and not (layout.number and isinstance(value, float)):
        raise LatentiaError(f"{place} is a {type(value).__name__}")
    return np.asarray(value, dtype=np.float64 if type(value) is int and "float64" in layout.types else None)


def _has_type(dtype: np.dtype, types_: tuple[str, ...]) -> bool:
    if types_ == ("symbols",):
        return dtype.kind in "biuUSO" or dtype.name in ("float64", "float32")
    return ("str" if dtype.kind == "U" else dtype.name) in types_


def _check_numbers(place: str, array: np.ndarray, layout: Layout, sizes: _Sizes) -> None:
    if layout.finite and not (np.abs(array) <= np.float64(_MOST if array.dtype != np.float32 else _MOST_SINGLE)).all():
        raise LatentiaError(f"{place} has NaN, infinity or numbers out of range")
    high = sizes.of.get(layout.below, 0) - 1 if layout.below else layout.high
    if (array < layout.low).any() or (array > high).any():  # NaN is neither: where it may be, it says nothing
        raise LatentiaError(f"{place} has entries outside of {layout.low:g} to {high:g}")
    if layout.sums and not np.allclose(array.sum(axis=-1), 1.0, rtol=0, atol=_OF_SUMS):
        raise LatentiaError(f"{place} has rows that do not sum to one")


def _check_apart(model: Any) -> None:
    """Names, and what the command line and scikit-learn keep."""
    _check_names(model)
    state = vars(model)
    rows = state.get("comparison_", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) and _all_plain(row) for row in rows):
        raise LatentiaError("comparison_ is no list of rows")
    if not isinstance(state.get("recommendation_", ""), str):
        raise LatentiaError("recommendation_ is no text")
    reading = state.get("reading_", {})
    if not isinstance(reading, dict) or not all(isinstance(name, str) for name in reading):
        raise LatentiaError("reading_ is no dict of options")
    output = state.get("_sklearn_output_config", {})
    if not isinstance(output, dict) or not set(output.values()) <= {"default", "pandas", "polars", None}:
        raise LatentiaError("_sklearn_output_config is not what set_output makes")


def _all_plain(row: Mapping[Any, Any]) -> bool:
    """Whether a row of a table has names, and numbers or texts."""
    return all(isinstance(key, str) and (one is None or isinstance(one, (str, float, int))) for key, one in row.items())


def _check_names(model: Any) -> None:
    """Names of columns, which must be as many as the columns."""
    width, state = getattr(model, "n_features_in_", None), vars(model)
    for name, n, kind in (
        ("_column_names", width, (list, tuple, np.ndarray)),
        ("feature_names_in_", width, np.ndarray),
        ("_v_names", state.get("n_features_v_"), (list, tuple)),
        ("names_", width, (list, tuple)),
    ):
        names = state.get(name)
        if names is None:
            continue
        if not isinstance(names, kind) or np.ndim(names) != 1 or len(names) != n:
            raise LatentiaError(f"{name} does not name {n} columns")
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
    try:
        np.linalg.cholesky(found)
    except np.linalg.LinAlgError as error:
        raise LatentiaError(f"{name} is not positive definite") from error


def _two_states(model: Any, sizes: _Sizes) -> None:
    if sizes.of["K"] != 2 or not _ascending(model.symbols_):
        raise LatentiaError("there must be two states, and symbols in order")


def _ascending(symbols: np.ndarray) -> bool:
    return bool((symbols[:-1] < symbols[1:]).all())


def _factors_of_pairs(model: Any, sizes: _Sizes) -> None:
    own = vars(model)
    if type(model._matrix).__name__ != ("_Matrix" if model.symmetric else "OrderedMatrix"):
        raise LatentiaError("_matrix is not that of pairs with or without order")
    if not model.symmetric:
        if own.get("column_marginals_") is None or own.get("column_embedding_") is None:
            raise LatentiaError("column_marginals_ is missing")
        if (model._matrix.seen is None) is not (model._matrix.given_up is None):
            raise LatentiaError("_matrix.seen is not what the discounts leave")
        for name in ("sums", "marginals"):  # which entries are divided by
            found = getattr(model._matrix, name)
            if not found.any() or found[found > 0].min() < _LEAST:
                raise LatentiaError(f"_matrix.{name} are nothing")
        return
    factored = model._matrix.factored
    if factored.least is not None:  # whose products no entry is below
        return
    if "components_" not in own or "mixing_" not in own:
        raise LatentiaError("_matrix.factored.least is missing")
    if not np.array_equal(factored.left, own["components_"].T) or not np.array_equal(factored.core, own["mixing_"]):
        raise LatentiaError("_matrix.factored is not that of components_ and mixing_")


def _head_of_labels(model: Any, sizes: _Sizes) -> None:
    needed = ["inverse_document_frequency_", "_occurrences", "_calibration", "head_"]
    needed += ["word_features_", "coef_", "intercept_"] if model.head != "bayes" else []
    needed += (
        ["weights_", "word_probabilities_", "label_probabilities_", "_share", "refinement_"] if model.topics else []
    )
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


def _layers_of_network(model: Any, sizes: _Sizes) -> None:
    widths = [model.n_features_in_, *(layer.shape[0] for layer in model.layers_)]
    below = [layer.shape[1] for layer in model.layers_]
    if not below or below != widths[:-1] or not len(below) == len(model.undetermined_) == len(model.densities_):
        raise LatentiaError("layers_ do not stand on each other")
    real = {getattr(model, name) is not None for name in ("scale_", "offset_", "noise_", "variance_")}
    if real != {model.observed == "real"}:
        raise LatentiaError("scale_ and noise_ are not those of the columns")


def _whole_inverse(model: Any, sizes: _Sizes) -> None:
    if not np.allclose(model.components_ @ model.mixing_, np.eye(sizes.of["K"]), rtol=0, atol=_TOLERANCE):
        raise LatentiaError("mixing_ is not the inverse of components_")


def _volume_of_views(model: Any, sizes: _Sizes) -> None:
    if not np.isfinite(np.linalg.slogdet(model._within_root)[1]):
        raise LatentiaError("_within_root is singular")


def _nodes_of_graph(model: Any, sizes: _Sizes) -> None:
    known = model.labels_ >= 0
    shares = model.memberships_[known]
    whole = np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=_TOLERANCE)
    if not known.any() or not whole or not np.isfinite(model.averages_[known]).all():
        raise LatentiaError("memberships_ are not those of the nodes that have labels_")
    if "names_" not in vars(model):
        raise LatentiaError("names_ is missing")
    if not model._rates.any():
        raise LatentiaError("_rates are zero")


def _pairs_of_ising(model: Any, sizes: _Sizes) -> None:
    if model.edges_.shape[1] != 2 or (model.edges_[:, 0] == model.edges_[:, 1]).any():
        raise LatentiaError("edges_ are no pairs of columns")


def _parts_of_views(model: Any, sizes: _Sizes) -> None:
    v, w = sizes.of["V"], sizes.of["W"]
    if sizes.of.get("B", v + w) != v + w:
        raise LatentiaError("_own_given_views has not the columns of both views")


def _cumulants_of_views(model: Any, sizes: _Sizes) -> None:
    v, w = sizes.of["V"], sizes.of["W"]
    if [len(one) for one in model._covariances] != [v, v, w]:
        raise LatentiaError("_covariances are not those of three components")
    if any(type(t) is not int or one.shape != (v + w,) * t for t, one in model._cumulants.items()):
        raise LatentiaError("_cumulants are not of both views")


def _sets_of_views(model: Any, sizes: _Sizes) -> None:
    subsets, v = model.subsets_, sizes.of["V"]
    if not len(subsets) == len(model.distinguishing_sets_) == len(model.present_) or not all(subsets):
        raise LatentiaError("subsets_ are not those of present_")
    present = {(i, j) for j in np.flatnonzero(model.present_).tolist() for i in subsets[j]}
    if model.linear_maps_.keys() != present:
        raise LatentiaError("linear_maps_ are not those of the components that are present")
    for key, one in model._cumulants.items():
        j, order = key
        if not (0 <= j < len(subsets) and model.present_[j]) or one.shape != (v,) * order:
            raise LatentiaError("_cumulants are not those of the components")


def _names_of_causes(model: Any, sizes: _Sizes) -> None:
    names, k = model._given_names, sizes.of["K"]
    if not all(type(i) is int and 0 <= i < k for i in names) or len(set(names.values())) < len(names):
        raise LatentiaError("_given_names are not those of causes")
    if model.n_components_range_ is not None and len(model.n_components_range_) != 2:
        raise LatentiaError("n_components_range_ is no range")


_FURTHER: Mapping[str, Sequence[Callable[[Any, _Sizes], None]]] = {
    "AnchorTopics": (_anchors_of_topics, _proportions_of_topics),
    "SpectralLDA": (_proportions_of_topics,),
    "MultiViewMixture": (_widths_of_views,),
    "SpectralHMM": (_states_of_chain, _covariances_of_states),
    "SphericalGaussianMixture": (_covariances_of_clusters,),
    "TwoStateHMM": (_two_states,),
    "ProbabilityMatrix": (_factors_of_pairs,),
    "MomentMultiLabelClassifier": (_head_of_labels,),
    "ContrastiveLogisticRegression": (_one_of_two_classes, _parts_of_views),
    "ContrastiveComponents": (_parts_of_views, _cumulants_of_views),
    **dict.fromkeys(("ContrastivePCA", "ContrastiveRegression"), (_parts_of_views,)),
    "ContrastiveGaussianMixture": (_parts_of_views, _volume_of_views),
    "MixedMembershipBlockModel": (_nodes_of_graph,),
    "TensorICA": (_whole_inverse,),
    "ContrastiveIsing": (_parts_of_views, _pairs_of_ising),
    "RichComponents": (_sets_of_views,),
    "NoisyOr": (_names_of_causes,),
    "SparseNetwork": (_layers_of_network,),
}


# --- types --------------------------------------------------------------------------------------------------------


def check_record(record: Any) -> None:
    """Raise a `LatentiaError` unless the fields of a dataclass have the types that it declares."""
    _check_types(record, {one.name: getattr(record, one.name) for one in dataclasses.fields(record)})


def _check_types(owner: Any, state: Mapping[str, Any]) -> None:
    hints = _hints(type(owner))  # type: ignore[arg-type]
    for name, value in state.items():
        if name in hints and not _is_a(value, hints[name]):
            raise LatentiaError(f"{type(owner).__name__}.{name} is a {type(value).__name__}")


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(
        cls, localns={"Evidence": Evidence}
    )  # which the base of estimators imports for types alone


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
        return isinstance(value, (int, hint)) and not isinstance(value, bool) and _in_words(value)
    if hint is sparse.csr_array or hint is np.ndarray or (isinstance(hint, type) and not _is_protocol(hint)):
        return isinstance(value, hint)
    return dataclasses.is_dataclass(value)


def _in_words(value: float) -> bool:
    """Whether a whole number is none that only Python has."""
    return isinstance(value, float) or abs(value) < 1 << 63


def _is_protocol(hint: type) -> bool:
    return Protocol in hint.__mro__ and bool(getattr(hint, "_is_protocol", False))
