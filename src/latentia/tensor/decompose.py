"""Common entrance of the decompositions: checks, a method, and diagnostics of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from .._parameters import Anything, Constraint, Integer, Number, check_parameter, seed_of
from .._validation import list_of
from ..exceptions import LatentiaError
from .cp import als
from .operators import SymmetricTensor, are_stable, make_operator
from .polar import ascent

Method = Literal["polar", "als"]
_METHODS = ("polar", "als")
_OPTIONS: dict[str, Constraint] = {
    "n_init": Integer(1),
    "max_iter": Integer(1),
    "tol": Number(0.0, closed="low"),
    "starts": Anything(),
}


class Decomposition(NamedTuple):
    """T ~ sum_k weights_k v_k (x) ... (x) v_k.

    Attributes
    ----------
    weights : ndarray of shape (K,)
        By absolute value, descending. Positive for three modes; with four modes the sign is the tensor's.
    vectors : ndarray of shape (K, d), or three of them, (K, d_i), for an asymmetric tensor
        Unit rows.
    info : Bunch
        ``method``; ``iterations`` and ``converged``; ``residual``, |T - sum| / |T| in Frobenius
        norm; ``orthogonality_defect``, the spectral norm of V V^T - I (the largest of the modes); ``stable``, shape
        (K,): whether power iterations that start near the vector return to it, that is whether (order - 1) |T(I, I, v,
        ...)| restricted to the complement of v is below its weight. Other vectors are mostly noise, and the power method
        would not find them.
    """

    weights: np.ndarray
    vectors: Any
    info: Any


def decompose(
    T: Any, n_components: int | None = None, random_state: Any = 0, method: Method = "polar", **options: Any
) -> Decomposition:
    """Decompose a tensor into rank-one components.

    Parameters
    ----------
    T : array of shape (d, d, d), (d, d, d, d) or (d_1, d_2, d_3)
        Symmetric for "polar"; four modes for "polar" only.
    n_components : int, optional
        K, by default the smallest dimension. With K < d a symmetric tensor is first projected to the leading
        K-dimensional space of its unfolding; "polar" needs K <= d.
    random_state : int, RandomState or Generator
        Seed of the starts; the same seed gives the same bits.
    method : {"polar", "als"}
        "polar"
            All components of a nearly orthogonal symmetric tensor at once; fastest and most accurate. [1]_
        "als"
            Alternating least squares: components need not be orthogonal, and modes may differ. ``starts`` refines an answer.
    **options
        ``n_init``, ``max_iter``, ``tol`` and ``starts``: see `latentia.tensor.polar` and `latentia.tensor.als`.

    Returns
    -------
    Decomposition
        A named tuple (weights, vectors, info).

    References
    ----------
    .. [1] R. Ge, thesis 2013, chapter 7. S. Arora, R. Ge, T. Ma, A. Risteski, Provable learning of
       noisy-or networks, STOC 2017, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from latentia.tensor import decompose
    >>> v = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    >>> tensor = np.einsum("k,ka,kb,kc->abc", [4, 3, 2, 1], v, v, v)
    >>> weights, vectors, info = decompose(tensor, 4)
    >>> weights.round(6)
    array([4., 3., 2., 1.])
    """
    tensor = _check_tensor(T, n_components, method)
    rng = _generator(random_state)
    symmetric = _is_symmetric(tensor)
    if method == "polar" and not symmetric:
        alternative = ", or use 'als'" if tensor.ndim == 3 else ""
        raise LatentiaError(
            "expected a symmetric T. Average T over the orders of its modes if it is an estimate of a "
            f"symmetric tensor{alternative}.",
            parameter="method",
            value=method,
        )
    k = min(tensor.shape) if n_components is None else int(n_components)
    _check_options(method, options, k, tensor.shape)
    if method == "polar":
        return decompose_operator(make_operator(tensor), k, rng, **options)
    return _describe_asymmetric(tensor, *als(tensor, k, rng, **options), symmetric)


def decompose_operator(
    tensor: SymmetricTensor, n_components: int, random_state: Any = 0, **options: Any
) -> Decomposition:
    """Decompose a symmetric tensor in packed form (`SymmetricThree`, `SymmetricFour`) by "polar"."""
    rng = _generator(random_state)
    if n_components > tensor.dim:
        raise _too_many_error(n_components, tensor.dim, f"there are {tensor.dim} dimensions")
    values, basis = np.linalg.eigh(tensor.unfolding_gram())
    _check_rank(values[::-1], n_components)
    small, lift = tensor, None
    if n_components < tensor.dim:
        lift = basis[:, ::-1][:, :n_components]
        small = tensor.project(lift)
    vectors, n_iter, converged, weights, attracts = ascent(small, n_components, rng, **_project_starts(options, lift))
    if lift is not None:
        return describe_components(tensor, vectors @ lift.T, "polar", n_iter, converged)
    return describe_components(tensor, vectors, "polar", n_iter, converged, weights if converged else None, attracts)


def describe_components(
    tensor: SymmetricTensor,
    vectors: np.ndarray,
    method: str,
    n_iter: int,
    converged: bool,
    weights: np.ndarray | None = None,
    attracts: np.ndarray | None = None,
) -> Decomposition:
    """Sort the components of a symmetric tensor by weight, fix their signs, and describe how well they fit it.

    Parameters
    ----------
    vectors : ndarray of shape (K, d)
    weights : ndarray of shape (K,), optional
        T(v_k, ..., v_k).
    attracts : ndarray of bool, shape (K,), optional
        Whether the vectors are stable.
    """
    if weights is None:
        weights = np.einsum("ki,ki->k", tensor.contract(vectors), vectors)
    if tensor.order % 2:
        vectors = vectors * np.where(weights < 0, -1.0, 1.0)[:, None]
        weights = np.abs(weights)
    order = np.argsort(-np.abs(weights), kind="stable")
    weights, vectors = weights[order], vectors[order]
    attracts = are_stable(tensor, weights, vectors) if attracts is None else attracts[order]
    overlap = vectors @ vectors.T
    norm = tensor.norm_squared()
    rest = norm - 2 * weights @ weights + weights @ overlap**tensor.order @ weights
    info = Bunch(
        method=method,
        iterations=n_iter,
        converged=converged,
        residual=float(np.sqrt(max(rest, 0.0) / norm)),
        orthogonality_defect=float(np.abs(np.linalg.eigvalsh(overlap - np.eye(len(overlap)))).max()),
        stable=attracts,
    )
    return Decomposition(weights, vectors, info)


def _describe_asymmetric(
    tensor: np.ndarray, triple: tuple[np.ndarray, ...], n_iter: int, converged: bool, symmetric: bool
) -> Decomposition:
    """Describe components with three different modes; merge the modes if the tensor is symmetric."""
    if symmetric:
        mean = triple[0] + sum(np.sign(np.einsum("ki,ki->k", triple[0], m))[:, None] * m for m in triple[1:])
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), np.finfo(float).tiny)
        triple = (mean, mean, mean)
    gram = np.prod([mode @ mode.T for mode in triple], axis=0)
    images = np.einsum("abc,ka,kb->kc", tensor, triple[0], triple[1], optimize=True)
    values = np.einsum("kc,kc->k", images, triple[2])
    weights = np.linalg.lstsq(gram, values, rcond=None)[0]
    sign = np.where(weights < 0, -1.0, 1.0)
    triple = tuple(mode * sign[:, None] for mode in triple) if symmetric else (*triple[:2], triple[2] * sign[:, None])
    weights = weights * sign
    order = np.argsort(-weights, kind="stable")
    weights, triple = weights[order], tuple(mode[order] for mode in triple)
    fitted = np.einsum("k,ka,kb,kc->abc", weights, *triple, optimize=True)
    defect = max(float(np.linalg.norm(mode @ mode.T - np.eye(len(weights)), 2)) for mode in triple)
    info = Bunch(
        method="als",
        iterations=n_iter,
        converged=converged,
        residual=float(np.linalg.norm(tensor - fitted) / np.linalg.norm(tensor)),
        orthogonality_defect=defect,
        stable=_find_stable_triples(tensor, weights, triple),
    )
    return Decomposition(weights, triple[0] if symmetric else triple, info)


def _find_stable_triples(tensor: np.ndarray, weights: np.ndarray, triple: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return which components of three modes are stable: twice the second singular value of T(I, I, w) is below the weight."""
    is_stable = np.empty(len(weights), bool)
    for k, weight in enumerate(weights):
        u, v, w = (mode[k] for mode in triple)
        matrix = np.tensordot(tensor, w, axes=(2, 0))
        matrix = matrix - np.outer(u, u @ matrix)
        matrix -= np.outer(matrix @ v, v)
        is_stable[k] = 2 * np.linalg.norm(matrix, 2) < weight
    return is_stable


def _check_tensor(T: Any, n_components: int | None, method: str) -> np.ndarray:
    if method not in _METHODS:
        names = " or ".join(map(repr, _METHODS))
        raise LatentiaError(
            f"use one of {names}. The printed algorithms are functions of latentia.papers.tensors.",
            parameter="method",
            value=method,
        )
    try:
        tensor = np.asarray(T)
    except ValueError as error:  # nested lists of different lengths
        raise LatentiaError(f"T is no array of numbers: {error}") from error
    if tensor.dtype.kind not in "fiub" or tensor.ndim not in (3, 4) or not tensor.size:
        raise LatentiaError(
            f"Expected real numbers in three or four modes; T has shape {tensor.shape} and type {tensor.dtype}."
        )
    if tensor.ndim == 4 and method != "polar":
        raise LatentiaError(
            f"this takes three modes, and T has shape {tensor.shape}: use 'polar'.",
            parameter="method",
            value=method,
        )
    tensor = tensor.astype(np.float32 if tensor.dtype == np.float32 else np.float64, copy=False)
    smallest, largest = tensor.min(), tensor.max()  # NaN if there is one
    if not (np.isfinite(smallest) and np.isfinite(largest)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(tensor))[0])
        raise LatentiaError(f"T has {tensor[where]} at {where}: all entries must be finite.")
    size = float(max(largest, -smallest))
    if not size:
        raise LatentiaError("T is zero: there is nothing to decompose.")
    if not 1e-90 < size < 1e90:
        raise LatentiaError(
            f"T has entries of size {size:.0e}, whose products are out of range: divide it by their size."
        )
    if n_components is not None:
        check_parameter("n_components", n_components, Integer(1))
        if n_components > min(tensor.shape) and method != "als":
            shape = f"T has shape {tensor.shape} and {method!r} finds orthogonal components; 'als' finds others"
            raise _too_many_error(n_components, min(tensor.shape), shape)
        n_needed = int(np.prod(sorted(tensor.shape)[:2]))
        if n_components > n_needed:
            raise _too_many_error(n_components, n_needed, f"T has shape {tensor.shape}, and is a sum of as many")
    return tensor


def _too_many_error(n_components: int, max_components: int, reason: str) -> LatentiaError:
    return LatentiaError(
        f"this tensor supports at most {max_components}: {reason}.",
        at_most=max_components,
        parameter="n_components",
        value=n_components,
    )


def _check_rank(values: np.ndarray, n_components: int) -> None:
    """Raise unless the squared singular values of the unfolding, descending, support n components."""
    rank = int((values > len(values) * np.finfo(float).eps * values[0]).sum())
    if rank < n_components:
        zero = f"{np.sqrt(max(values[rank], 0)):.2g} beside {np.sqrt(values[0]):.2g}"
        raise _too_many_error(n_components, rank, f"singular value {rank + 1} of its unfolding is zero ({zero})")


def _check_options(method: str, options: dict[str, Any], n_components: int, shape: Sequence[int]) -> None:
    """Raise for unknown options and for invalid values; starts become arrays."""
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        has = f"there is no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}."
        raise LatentiaError(has, parameter="method", value=method)
    for name, constraint in _OPTIONS.items():
        if name in options:
            check_parameter(name, options[name], constraint)
    starts = options.pop("starts", None)
    if starts is not None:
        options["starts"] = _check_starts(method, starts, n_components, shape)


def _check_starts(method: str, starts: Any, n_components: int, shape: Sequence[int]) -> Any:
    """Return the starts as an array, or as three for "als"; one array stands for all modes of a symmetric tensor."""
    if method != "als":
        shape, starts = shape[:1], [starts]
    elif _matrix_of(starts) is not None:
        starts = [starts] * 3
    factors = [
        _matrix_of(factor) for factor in list_of([*starts] if isinstance(starts, np.ndarray) else starts, "starts")
    ]
    expected_shapes = [(n_components, dim) for dim in shape]
    shapes = [None if factor is None else factor.shape for factor in factors]
    if [size and (min(size[0], n_components), size[1]) for size in shapes] != expected_shapes:
        texts = ("; ".join(map(str, sizes)) for sizes in (expected_shapes, shapes))
        raise LatentiaError("Expected finite numbers of shape {}; found {}.".format(*texts), parameter="starts")
    return factors if method == "als" else factors[0]


def _matrix_of(values: Any) -> np.ndarray | None:
    """Return values as a matrix; None unless they are one of finite numbers."""
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return matrix if matrix.ndim == 2 and np.isfinite(matrix).all() else None


def _is_symmetric(tensor: np.ndarray) -> bool:
    if len(set(tensor.shape)) > 1:
        return False
    bound = max(tensor.max(), -tensor.min()) * (1e-4 if tensor.dtype == np.float32 else 1e-8)
    return _swaps_modes(tensor, bound)


def _swaps_modes(tensor: np.ndarray, bound: float) -> bool:
    """Return True if neighbouring modes may be swapped; slice by slice, which stays in the cache."""
    if tensor.ndim == 2:
        return bool(np.abs(tensor - tensor.T).max() <= bound)
    return all(
        np.abs(part - tensor[:, i]).max() <= bound and _swaps_modes(part, bound) for i, part in enumerate(tensor)
    )


def _project_starts(options: dict[str, Any], lift: np.ndarray | None) -> dict[str, Any]:
    """Return the options with ``starts`` in the coordinates of the projected tensor."""
    if options.get("starts") is None or lift is None:
        return options
    return options | {"starts": np.asarray(options["starts"]) @ lift}


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))
