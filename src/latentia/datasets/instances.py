"""Matrices in exact numbers whose nonnegative rank is known, or hard to find, and a likelihood that is hard to maximise.

A factorization of a matrix of rank r by r components is a simplex between a polytope and points in it. M_ij = H_i x_j - b_i are
the distances of points x_j to the facets of {x : H x >= b}, which has dimension r - 1; M = A W where the columns of A are the
distances of the corners of a simplex in the polytope, and those of W the barycentric coordinates of the points in it (Vavasis
2009; Theorem 2.29 of Ge's thesis, which leaves out that the polyhedron has to be bounded: a factorization may also use a point
at infinity).

References
----------
Vavasis. On the complexity of nonnegative matrix factorization. 2009.
Ge. Provable algorithms for machine learning problems. Thesis, 2013, sections 2.4 and 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..linalg import rational
from ..moments import as_graph

__all__ = [
    "BisectionCorpus",
    "DSum",
    "HexagonGadget",
    "IntermediateSimplex",
    "bisection_corpus",
    "bisection_objective",
    "d_sum_instance",
    "euclidean_distance_matrix",
    "hardness_gadget",
    "hexagon_gadget",
    "polygon_slack_matrix",
    "unique_disjointness",
]

Number = int | Fraction | Decimal | str
Point = tuple[Fraction, ...]

_RATIONAL_POLYGONS = {
    3: ((0, 0), (1, 0), (0, 1)),
    4: ((0, 0), (1, 0), (1, 1), (0, 1)),
    6: ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)),
}


@dataclass(frozen=True)
class IntermediateSimplex:
    """A polytope {x : H x >= b} of dimension r - 1, and points in it: is there a simplex between the two?

    Attributes
    ----------
    H : array of Fraction, shape (n, r - 1)
    b : array of Fraction, shape (n,)
    points : array of Fraction, shape (m, r - 1)
    """

    H: np.ndarray
    b: np.ndarray
    points: np.ndarray

    @classmethod
    def of_matrix(cls, M: Sequence[Sequence[Number]] | np.ndarray) -> IntermediateSimplex:
        """Return the equivalent instance for a nonnegative matrix M of rank r: has it a factorization by r components?

        The matrix of the instance is M without zero columns, and with columns that sum to one.
        """
        entries = _exact(M)
        if entries.min() < 0:
            raise LatentiaError(f"The matrix has the entry {entries.min()}; expected entries of at least 0.")
        entries = entries[:, entries.sum(axis=0) > 0]
        entries = entries / entries.sum(axis=0)
        coordinates = [list(row) for row in entries]
        basis = entries[:, rational.reduce_rows(coordinates)]
        r = basis.shape[1]
        last = basis[:, r - 1]
        return cls(basis[:, : r - 1] - last[:, None], -last, _table(coordinates[:r])[: r - 1].T)

    @property
    def r(self) -> int:
        """Corners of the simplex."""
        return self.H.shape[1] + 1

    @property
    def matrix(self) -> np.ndarray:
        """M, the distances of the points to the facets: array of Fraction, shape (n, m)."""
        return _distances(self.H, self.b, self.points)

    def factorization(self, corners: Sequence[Sequence[Number]] | np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return A, shape (n, r), and W, shape (r, m), from the corners of a simplex; None if it is no solution.

        Both are exact: ``A @ W`` is `matrix`.
        """
        simplex = _exact(corners)
        if simplex.shape != (self.r, self.r - 1):
            raise LatentiaError(
                f"The corners have shape {simplex.shape}; expected {self.r} points of {self.r - 1} numbers."
            )
        inverse = rational.inverse([*simplex.T, [1] * self.r])
        if inverse is None:
            return None
        A = _distances(self.H, self.b, simplex)
        W = _table(inverse) @ _table([*self.points.T, [Fraction(1)] * len(self.points)])
        return (A, W) if min(A.min(), W.min()) >= 0 else None

    def is_solved_by(self, corners: Sequence[Sequence[Number]] | np.ndarray) -> bool:
        """Return True if the corners are in the polytope, and their simplex contains all points."""
        return self.factorization(corners) is not None


@dataclass(frozen=True)
class HexagonGadget:
    """A hexagon with three short edges, and points that only N triangles in it contain (section 2.4.1).

    Coordinates are (y, z): the corners A, ..., F have y(A) = y(B) = 0 and y(D) = y(E) = 1, and z runs along AB. They are the
    regular picture after an affine map, which makes them rational.

    Attributes
    ----------
    values : tuple of Fraction
        s_1 < ... < s_N.
    eps : Fraction
        Length of AB in z.
    hexagon : array of Fraction, shape (6, 2)
    centre : array of Fraction, shape (2,)
    triangles : array of Fraction, shape (N, 3, 2)
        A_i, C_i and E_i.
    simplex : IntermediateSimplex
        The edges as inequalities, and the corners of the intersection of all triangles as points.
    """

    values: tuple[Fraction, ...]
    eps: Fraction
    hexagon: np.ndarray
    centre: np.ndarray
    triangles: np.ndarray
    simplex: IntermediateSimplex

    @property
    def matrix(self) -> np.ndarray:
        """M, of rank 3: array of Fraction, shape (6, 3 N)."""
        return self.simplex.matrix


@dataclass(frozen=True)
class DSum:
    """An instance of the intermediate simplex problem that has a solution if d values sum to d / 2 (section 2.4.2).

    Attributes
    ----------
    values : tuple of Fraction
        s_1 < ... < s_N.
    d : int
    gadget : HexagonGadget
    simplex : IntermediateSimplex
        In dimension 3 d + 1, with coordinates x_1, y_1, z_1, ..., x_d, y_d, z_d, w.
    """

    values: tuple[Fraction, ...]
    d: int
    gadget: HexagonGadget
    simplex: IntermediateSimplex

    @property
    def matrix(self) -> np.ndarray:
        """M, of rank 3 d + 2: array of Fraction, shape (15 d + 2, 3 N d + 3)."""
        return self.simplex.matrix

    def corners(self, chosen: Sequence[int]) -> np.ndarray:
        """Return the corners of the simplex of a choice of d values, given by their numbers.

        The corners are an array of Fraction, shape (3 d + 2, 3 d + 1). They solve the instance if the values sum to d / 2.
        """
        if len(chosen) != self.d:
            raise LatentiaError(f"expected d = {self.d} values, found {len(chosen)}.")
        corners = _zeros(3 * self.d + 2, 3 * self.d + 1)
        corners[1, -1] = Fraction(1)
        for i, k in enumerate(chosen):
            for corner, place in enumerate(self.gadget.triangles[k]):
                row = corners[2 + 3 * i + corner]
                row[3 * i : 3 * i + 3] = [Fraction(1), *place]
                row[-1] = self.values[k] if corner == 0 else Fraction(0)
        return corners


@dataclass(frozen=True)
class BisectionCorpus:
    """Documents of two words whose likeliest two topics are a minimum bisection of a graph (Theorem 3.28).

    Attributes
    ----------
    X : csr_array of shape (n_words + n_edges, n_words)
        Counts of words of the different documents: each word twice, then the two endpoints of each edge.
    copies : ndarray of shape (n_words + n_edges,)
        How often each document occurs: N times, and once.
    """

    X: sparse.csr_array
    copies: np.ndarray

    def topics(self, side: Iterable[int]) -> np.ndarray:
        """Topics of a bisection, shape (n_words, 2): uniform on the words of ``side``, and on the others."""
        A = np.zeros((self.X.shape[1], 2))
        A[:, 1] = 1.0
        A[list(side)] = 1.0, 0.0
        return A / A.sum(axis=0)


def polygon_slack_matrix(n: int, kind: Literal["regular", "parabola", "circle"] = "parabola") -> np.ndarray:
    """Distances of the corners of a polygon to its edges: array of Fraction, shape (n, n), of rank 3.

    The nonnegative rank of a slack matrix is the least number of facets of a polytope of which the polygon is a shadow
    (Yannakakis 1991): 5 for the regular hexagon, 6 for the regular octagon.

    Parameters
    ----------
    n : int
        Corners, at least 3.
    kind : {"regular", "parabola", "circle"}
        The regular polygon after an affine map, which only a triangle, a square and a hexagon have in rational numbers;
        the corners (i, i^2); or rational points on the circle next to those of the regular polygon.

    Examples
    --------
    >>> polygon_slack_matrix(6, "regular").astype(int)
    array([[0, 0, 1, 2, 2, 1],
           [1, 0, 0, 1, 2, 2],
           [2, 1, 0, 0, 1, 2],
           [2, 2, 1, 0, 0, 1],
           [1, 2, 2, 1, 0, 0],
           [0, 1, 2, 2, 1, 0]])
    """
    if n < 3:
        raise LatentiaError("a polygon has at least 3 corners.", parameter="n", value=n)
    if kind == "regular":
        if n not in _RATIONAL_POLYGONS:
            raise LatentiaError(
                "the regular polygon is the affine image of one with rational corners only for 3, 4 and 6; use "
                "kind='circle' for one that is nearly regular.",
                parameter="n",
                value=n,
            )
        corners = [tuple(map(Fraction, corner)) for corner in _RATIONAL_POLYGONS[n]]
    elif kind == "parabola":
        corners = [(Fraction(i), Fraction(i * i)) for i in range(n)]
    elif kind == "circle":
        corners = [_round_to_circle(2 * math.pi * (i + 0.5) / n - math.pi) for i in range(n)]
    else:
        raise LatentiaError("use 'regular', 'parabola' or 'circle'.", parameter="kind", value=kind)
    polygon = _table(corners)
    return _distances(*_edges(polygon), polygon)


def euclidean_distance_matrix(points: Iterable[Any]) -> np.ndarray:
    """Squared distances of rational points: array of Fraction, shape (n, n).

    Of n different points on a line they have rank 3. The nonnegative rank is 5 for (0, 1, ..., 5) though four rectangles cover
    the support.

    Parameters
    ----------
    points : iterable of numbers, or of sequences of numbers
        Whole numbers, fractions or decimal strings.
    """
    places = [point if isinstance(point, (list, tuple, np.ndarray)) else (point,) for point in points]
    exact = _exact(places)
    return _table([[((a - b) ** 2).sum() for b in exact] for a in exact])


def unique_disjointness(n: int, fill: Literal["square", "zero"] = "square") -> np.ndarray:
    """Unique disjointness of subsets of n elements: array of Fraction, shape (2^n, 2^n).

    An entry is 1 where two sets have no element in common, and 0 where they have one. Unique disjointness says nothing of
    the others: here they are (1 - |a and b|)^2, which gives rank 1 + n + n (n - 1) / 2 and nonnegative rank at least (3/2)^n;
    or with ``fill="zero"`` 0, which is the disjointness matrix, of full rank.

    Parameters
    ----------
    n : int
        Elements. Subset number a has element i if bit i of a is one.
    fill : {"square", "zero"}
        What the entries of sets with more than one element in common are.
    """
    if fill not in ("square", "zero"):
        raise LatentiaError("use 'square' or 'zero'.", parameter="fill", value=fill)
    common = [[(a & b).bit_count() for b in range(2**n)] for a in range(2**n)]
    return _table([[Fraction(_disjointness(c, fill)) for c in row] for row in common])


def hexagon_gadget(values: Iterable[Number], *, shift: Number = 0, eps: Number = Fraction(1, 2000)) -> HexagonGadget:
    """Return the gadget of section 2.4.1 for values s_1, ..., s_N.

    On three short edges AB, CD and EF of a hexagon lie points at s_i times their length. The corners of the intersection of the
    triangles A_i C_i E_i are contained in these N triangles, and in no other triangle within the hexagon.

    Parameters
    ----------
    values : iterable of numbers
        Different numbers from 0 to 1: whole, fractions, or decimal strings.
    shift : number
        The points are moved away from the centre by this share of their distance. There is no solution for a number above 0,
        and infinitely many for one below.
    eps : number
        Length of the short edges, if the long ones have 1; below 1/1000, as Lemma 2.31 asks.
    """
    s, short, moved = _values(values), _number(eps, "eps"), _number(shift, "shift")
    if not 0 < short < Fraction(1, 1000):
        raise LatentiaError("use a number above 0 and below 1/1000.", parameter="eps", value=eps)
    # Edges along the six directions of the triangular lattice, in the basis of two of them; then y(D) = 1.
    steps = [(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)]
    corners = [(Fraction(0), Fraction(0))]
    for k, (along, up) in enumerate(steps[:-1]):
        length = short if k % 2 == 0 else Fraction(1)
        corners.append((corners[-1][0] + length * along, corners[-1][1] + length * up))
    hexagon = _table([(up / (1 + short), along + 1) for along, up in corners])
    centre = hexagon.sum(axis=0) / 6
    triangles = np.stack([hexagon[[0, 2, 4]] + value * (hexagon[[1, 3, 5]] - hexagon[[0, 2, 4]]) for value in s])
    inner = triangles[0]
    for triangle in triangles[1:]:
        inner = _clip(inner, *_edges(triangle))
    points = centre + (1 + moved) * (inner - centre)
    instance = IntermediateSimplex(*_edges(hexagon), points)
    if instance.matrix.min() < 0:
        raise LatentiaError(
            "the points leave the hexagon; use a smaller number. Those of a single value are on its edges.",
            parameter="shift",
            value=shift,
        )
    return HexagonGadget(s, short, hexagon, centre, triangles, instance)


def hardness_gadget(values: Iterable[Number], *, shift: Number = 0, eps: Number = Fraction(1, 2000)) -> np.ndarray:
    """Return the matrix of `hexagon_gadget`: array of Fraction, shape (6, 3 N), of rank 3.

    Its nonnegative rank is 3 if ``shift`` is at most 0, and above 3 otherwise.

    Examples
    --------
    >>> hardness_gadget(["0.1", "0.5", "0.7"], shift="1e-9").shape
    (6, 9)
    """
    return hexagon_gadget(values, shift=shift, eps=eps).matrix


def d_sum_instance(values: Iterable[Number], d: int, *, eps: Number | None = None) -> DSum:
    """Return the reduction of section 2.4.2: do d of the values, with repetition, sum to d / 2?

    It has a solution, a factorization of its matrix by 3 d + 2 components, if and only if they do.

    Parameters
    ----------
    values : iterable of numbers
        Different numbers from 0 to 1: whole, fractions, or decimal strings.
    d : int
        At least 1.
    eps : number, optional
        Length of the short edges of the gadgets. By default small enough that a sum that is off by 2 d eps is exact: values
        with common denominator q need 2 d eps < 1 / (2 q).
    """
    s = _values(values)
    if d < 1:
        raise LatentiaError("at least one value has to be chosen.", parameter="d", value=d)
    finest = Fraction(1, 2 * math.lcm(*(value.denominator for value in s)))
    short = min(Fraction(1, 2000), finest / (4 * d)) if eps is None else _number(eps, "eps")
    if 2 * d * short >= finest:
        raise LatentiaError(
            f"sums need to be told apart; use a number below {finest / (2 * d)}.", parameter="eps", value=eps
        )
    gadget = hexagon_gadget(s, eps=short)
    facets = [facet for i in range(d) for facet in _gadget_facets(gadget, i, d)]
    w = 3 * d
    facets += [_facet(w, {w: 1}, 0), _facet(w, {w: -1}, -1)]
    H, b = _table([row for row, _ in facets]), _table([[offset] for _, offset in facets])[:, 0]
    return DSum(s, d, gadget, IntermediateSimplex(H, b, _d_sum_points(gadget, d)))


def bisection_corpus(graph: Any, copies: int | None = None) -> BisectionCorpus:
    """Documents whose likeliest model of two topics is a minimum bisection of a graph (Theorem 3.28).

    Nodes are words. Each word fills N documents, twice in each, and each edge is a document of its two endpoints.

    Parameters
    ----------
    graph : sparse matrix or array-like of shape (n, n), or a graph
        As `latentia.moments.as_graph` takes it, without weights; n is even.
    copies : int, optional
        N, by default 3200 m^3 log n for m edges. The thesis has 200: it takes a row of A that is 1 / (20 n m) too heavy to cost
        N / (50 m^2) of the likelihood, and it is N / (1600 m^2).
    """
    adjacency = sparse.csr_array(as_graph(graph, directed=False).adjacency)
    n_words = adjacency.shape[0]
    if n_words % 2:
        raise LatentiaError(f"The graph has {n_words} nodes, and an even number can be bisected.")
    upper = sparse.coo_array(sparse.triu(adjacency, k=1))
    n_edges = upper.nnz
    n_copies = math.ceil(3200 * n_edges**3 * math.log(n_words)) if copies is None else copies
    documents = np.repeat(np.arange(n_words, n_words + n_edges), 2)
    ends = np.column_stack([upper.row, upper.col]).ravel()
    rows, columns = np.concatenate([np.arange(n_words), documents]), np.concatenate([np.arange(n_words), ends])
    counts = np.concatenate([np.full(n_words, 2), np.ones(2 * n_edges, dtype=int)])
    X = sparse.csr_array((counts, (rows, columns)), shape=(n_words + n_edges, n_words))
    return BisectionCorpus(X, np.concatenate([np.full(n_words, n_copies), np.ones(n_edges, dtype=int)]))


def bisection_objective(corpus: BisectionCorpus, A: np.ndarray) -> float:
    """Return the log-likelihood of topics with proportions that are uniform, up to a constant of the corpus.

    A document of the words i and j has probability A^i . A^j / 3 + (A^i_1 A^j_2 + A^j_1 A^i_2) / 6.

    Parameters
    ----------
    corpus : BisectionCorpus
    A : ndarray of shape (n_words, 2)
        Topics in columns, which sum to one.
    """
    topics = np.asarray(A, dtype=float)
    if topics.shape != (corpus.X.shape[1], 2):
        raise LatentiaError(f"A has shape {topics.shape}; expected ({corpus.X.shape[1]}, 2).")
    mixing = (np.eye(2) + 1) / 6
    words = np.repeat(corpus.X.indices, corpus.X.data).reshape(-1, 2)
    probabilities = np.einsum("da,ab,db->d", topics[words[:, 0]], mixing, topics[words[:, 1]])
    with np.errstate(divide="ignore"):
        return float(corpus.copies @ np.log(probabilities))


def _gadget_facets(gadget: HexagonGadget, i: int, d: int) -> list[tuple[list[Fraction], Fraction]]:
    """Return constraints 1 to 4 of one gadget, each a row of H and its b."""
    w, (x, y, z) = 3 * d, range(3 * i, 3 * i + 3)
    first, eps = gadget.hexagon[0, 1], gadget.eps
    box = [({v: 1}, 0) for v in (x, y, z)] + [({x: -1}, -1), ({y: -1}, -1), ({z: -1}, -2)]
    # The cone over the hexagon at x = 1; x <= 1 is in the box.
    H, b = gadget.simplex.H, gadget.simplex.b
    cone = [({x: -offset, y: row[0], z: row[1]}, 0) for row, offset in zip(H, b, strict=True)]
    on_ce = [({w: -1, y: -1, x: -1}, -2)]
    # w is within 10 y / eps + 1 - x of (z - z(A) x) / eps.
    on_ab = [({w: 1, z: -1 / eps, x: first / eps - 1, y: 10 / eps}, -1)]
    on_ab += [({w: -1, z: 1 / eps, x: -first / eps - 1, y: 10 / eps}, -1)]
    return [_facet(w, terms, offset) for terms, offset in [*box, *cone, *on_ce, *on_ab]]


def _facet(last: int, terms: dict[int, Any], offset: Any) -> tuple[list[Fraction], Fraction]:
    row = [Fraction(0)] * (last + 1)
    for variable, factor in terms.items():
        row[variable] = Fraction(factor)
    return row, Fraction(offset)


def _d_sum_points(gadget: HexagonGadget, d: int) -> np.ndarray:
    """Return points O, W, I_k of each gadget, and Q (Definition 2.35)."""
    inner = gadget.simplex.points
    points = _zeros(3 + d * len(inner), 3 * d + 1)
    points[1, -1] = Fraction(1)
    first, eps = gadget.hexagon[0, 1], gadget.eps
    for i in range(d):
        for k, (y, z) in enumerate(inner):
            highest = min(Fraction(1), 1 - y, (z - first + 10 * y) / eps)
            row = points[2 + i * len(inner) + k]
            row[3 * i : 3 * i + 3] = [Fraction(1, 4), y / 4, z / 4]
            row[-1] = highest / 4
        points[-1, 3 * i : 3 * i + 3] = [Fraction(1, d), *(gadget.centre / d)]
    points[-1, -1] = Fraction(1, 6)
    return points


def _clip(polygon: np.ndarray, H: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Clip a convex polygon to H x >= b; return its corners in order."""
    for normal, offset in zip(H, b, strict=True):
        heights = polygon @ normal - offset
        corners: list[np.ndarray] = []
        for k, (corner, height) in enumerate(zip(polygon, heights, strict=True)):
            before, low = polygon[k - 1], heights[k - 1]
            if low * height < 0:
                corners.append(before + (corner - before) * (low / (low - height)))
            if height >= 0:
                corners.append(corner)
        polygon = np.array(corners, dtype=object)
    return polygon


def _edges(polygon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return H and b of the edges of a polygon, from the first corner on, for either orientation."""
    after = np.roll(polygon, -1, axis=0)
    step = after - polygon
    H = np.column_stack([-step[:, 1], step[:, 0]])
    inside = polygon.sum(axis=0) / len(polygon)
    if H[0] @ (inside - polygon[0]) < 0:
        H = -H
    return H, (H * polygon).sum(axis=1)


def _distances(H: np.ndarray, b: np.ndarray, points: np.ndarray) -> np.ndarray:
    return H @ points.T - b[:, None]


def _round_to_circle(angle: float) -> Point:
    """Return a rational point of the unit circle near the one at this angle, which is not pi."""
    t = Fraction(math.tan(angle / 2)).limit_denominator(1000)
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


def _disjointness(common: int, fill: str) -> int:
    return (1 - common) ** 2 if fill == "square" else int(common == 0)


def _values(values: Iterable[Number]) -> tuple[Fraction, ...]:
    numbers = [_number(value, "values") for value in values]
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0 or max(numbers) > 1:
        listed_values = ", ".join(map(str, numbers))
        raise LatentiaError(f"values=[{listed_values}]: expected different numbers from 0 to 1, at least one.")
    return tuple(sorted(numbers))


def _number(value: Any, name: str) -> Fraction:
    """Return an exact number as a fraction."""
    if isinstance(value, (float, np.floating)):
        raise LatentiaError(
            f"{name}: {value!r} is a float; expected an exact number. Use a fraction, or the decimals as a string.",
        )
    try:
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise LatentiaError(
            f"{name}: expected a whole number, a fraction, or decimals as a string; found {value!r}."
        ) from None


def _exact(table: Iterable[Iterable[Any]]) -> np.ndarray:
    return _table([[_number(x, "Entry") for x in row] for row in table])


def _table(rows: Iterable[Iterable[Any]]) -> np.ndarray:
    """Return an array of objects, shape (n, m)."""
    listed = [list(row) for row in rows]
    table = np.empty((len(listed), len(listed[0]) if listed else 0), dtype=object)
    for i, row in enumerate(listed):
        table[i] = row
    return table


def _zeros(n: int, m: int) -> np.ndarray:
    return np.full((n, m), Fraction(0), dtype=object)
