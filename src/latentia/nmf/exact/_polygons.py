r"""Nested polygons: matrices of rank three.

Let M = U V have rank three, U of shape (n, 3) and V of shape (3, m). The cone P = {x : U x >= 0} contains the columns
of V, and so the cone Q that they generate. Cut by a plane, both are bounded convex polygons in the projective plane. M
has a factorization M = A W with nonnegative factors of inner dimension k and rank(A) = 3 if and only if a polygon with
k vertices lies between the two: A = U X for its vertices X, and column j of W says how v_j is a combination of them.

*Tangents.* Let F(p), for p on the boundary of P, be the last point of the boundary, counterclockwise from p, such that
Q is to the left of the line from p to F(p). F is monotone, and a polygon with k vertices and one of them at p fits if
and only if k steps of F lead from p around to p or beyond (Aggarwal, Booth, O'Rourke, Suri, Yap 1989). If any polygon
fits, one with all vertices on the boundary does: push each vertex outward, away from a point inside of Q.

*Pieces.* On an edge of P let p(t) be linear in t. As long as the line of F touches the same vertex q of Q and ends on
the same edge, with line L(x) >= 0, F(p) is the linear map q L(p) - p L(q) in homogeneous coordinates. So between
finitely many breakpoints, which are rational, p_1(t), ..., p_{k-1}(t) are linear in t after cancelling, and the polygon
closes if and only if

    g(t) = det[p_{k-1}(t), p(t), q_k] >= 0,

a quadratic polynomial with rational coefficients. F may jump up at a breakpoint, where Q touches the boundary of P, so
these are looked at on their own. In whole numbers all this is exact. If g >= 0 anywhere, it is at a rational t (an end,
the vertex of a parabola, or an interval around it): matrices of rank three that have such a factorization have one in
rational numbers.

*Which r this decides.* rank(A) + rank(W) <= r + rank(M). For r = 3 both have rank three. For r = 4 one of the two has;
and whether it is A or W is the same: the polar of a polygon between those of M is a polygon between those of the
transpose, with as many vertices. For r >= 5 polygons give factorizations, but no proof that there is none.

*Certificates.* A line from p through any vertex q of Q reaches at least as far as F does. So a proof that no polygon
fits lists, for pieces that cover the boundary of P, the vertices q_1, ..., q_k and the edges, and `PolygonProof.verify`
checks in whole numbers at both ends of each piece that the lines end on these edges, and that g < 0 in between.

References
----------
Aggarwal, Booth, O'Rourke, Suri, Yap. Finding minimal convex nested polygons. 1989.
Gillis, Glineur. On the geometric interpretation of the nonnegative rank. 2012.
R. Ge, Provable Algorithms for Machine Learning Problems, thesis, Princeton 2013, sections 2.2 (Theorem 2.6) and
2.4 (intermediate simplex).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

Vector = tuple[int, int, int]
Place = tuple[int, Fraction]  # edge j and t: the point (1 - t) v_j + t v_{j+1}


class Piece(NamedTuple):
    """An open interval of an edge, or a point of it, from which k lines do not lead around.

    Attributes
    ----------
    edges : tuple of int
        Edges on which p, p_1, ..., p_{k-1} lie, counted on after a full turn.
    low, high : Fraction
        Ends of the interval on the first edge; the same for a single point.
    touched : tuple of int
        Columns of the matrix through which the k lines go.
    """

    edges: tuple[int, ...]
    low: Fraction
    high: Fraction
    touched: tuple[int, ...]


@dataclass(frozen=True)
class PolygonProof:
    """No polygon with k vertices lies between the two polygons of M.

    Attributes
    ----------
    vertices : int
        k.
    minor : (tuple of int, tuple of int)
        Rows and columns of a minor that is not zero; U are these columns of M.
    outer : tuple of int
        Rows of M whose lines are the edges of the outer polygon, counterclockwise.
    pieces : tuple of Piece
        They cover the boundary of the outer polygon.
    """

    vertices: int
    minor: tuple[tuple[int, ...], tuple[int, ...]]
    outer: tuple[int, ...] = field(repr=False)
    pieces: tuple[Piece, ...] = field(repr=False)

    @property
    def bound(self) -> int:
        """No triangle: four components at least; no quadrilateral: five."""
        return min(self.vertices, 4) + 1

    @property
    def reason(self) -> str:
        shape = {3: "triangle", 4: "quadrilateral"}.get(self.vertices, f"polygon with {self.vertices} vertices")
        return (
            f"The rank is 3, and no {shape} fits between the two nested polygons of the matrix: {self.vertices} "
            f"tangents do not lead around from any of {len(self.pieces)} pieces of the boundary."
        )

    def verify(self, M: np.ndarray) -> bool:
        """Return True if M has rank three, the outer polygon is correct, and every piece fails."""
        factors = _factor_rank_three(M, *self.minor)
        if factors is None or len(set(self.outer)) < max(3, len(self.outer)):
            return False
        U, V, _ = factors
        lines = [U[i] for i in self.outer]
        inside = _sum(V)
        corners = [_primitive(_cross(lines[j - 1], line)) for j, line in enumerate(lines)]
        if not all(any(c) and all(_dot(line, c) >= 0 for line in lines) for c in corners):
            return False
        if not all(_det(c, d, inside) > 0 for c, d in zip(corners, corners[1:] + corners[:1], strict=True)):
            return False
        return self._pieces_cover(len(lines)) and all(
            self._piece_fails(piece, V, lines, corners) for piece in self.pieces
        )

    def extend(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> PolygonProof:
        """Return the same proof for a matrix that has the matrix of this one in some of its rows and columns."""
        minor = _rename_numbers(self.minor[0], rows), _rename_numbers(self.minor[1], columns)
        pieces = tuple(piece._replace(touched=_rename_numbers(piece.touched, columns)) for piece in self.pieces)
        return replace(self, minor=minor, outer=_rename_numbers(self.outer, rows), pieces=pieces)

    def _pieces_cover(self, n_edges: int) -> bool:
        spans: dict[int, list[tuple[Fraction, Fraction]]] = {j: [] for j in range(n_edges)}
        for piece in self.pieces:
            if len(piece.edges) != self.vertices or len(piece.touched) != self.vertices or piece.edges[0] not in spans:
                return False
            spans[piece.edges[0]].append((piece.low, piece.high))
        for ranges in spans.values():
            ranges.sort()
            # Point, interval, point, ..., interval; the end of an edge is the first point of the next one.
            points, intervals = [low for low, high in ranges if low == high], [s for s in ranges if s[0] < s[1]]
            ends = [*points[1:], Fraction(1)]
            if not points or points[0] != 0 or intervals != list(zip(points, ends, strict=True)):
                return False
        return True

    def _piece_fails(self, piece: Piece, V: list[Vector], lines: list[Vector], corners: list[Vector]) -> bool:
        n_edges, inside = len(lines), _sum(V)
        start = piece.edges[0]
        ends = [_interpolate(corners[start], corners[(start + 1) % n_edges], t) for t in (piece.low, piece.high)]
        begin, pair = ends, ends
        for edge, after, j in zip(piece.edges, piece.edges[1:], piece.touched, strict=False):
            e = after % n_edges
            landed = _cancel([_intersect(p, V[j], lines[e]) for p in pair])
            start_corner, end_corner = corners[e], corners[(e + 1) % n_edges]
            on_edge = all(_det(start_corner, x, inside) >= 0 and _det(x, end_corner, inside) >= 0 for x in landed)
            on_edge = on_edge and all(_dot(lines[e], x) == 0 for x in landed) and any(map(any, landed))
            turns = [_det(p, V[j], inside) for p in pair]
            forward = edge < after < edge + n_edges and min(turns) >= 0 and max(turns) > 0
            if piece.low == piece.high:
                on_edge = on_edge and all(map(any, landed))
            if not on_edge or not forward:
                return False
            pair = landed
        if piece.edges[-1] >= start + n_edges:
            return False
        return _is_negative_inside(_closing(pair, begin, V[piece.touched[-1]]))


class PolygonPair:
    """The two polygons of a matrix of rank three.

    Parameters
    ----------
    M : array of int or Fraction, shape (n, m)
        A matrix of rank three.
    rows, columns : tuple of int
        Of a 3 x 3 minor that is not zero.
    """

    def __init__(self, M: np.ndarray, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
        factors = _factor_rank_three(M, rows, columns)
        if factors is None:
            raise ValueError("Expected a matrix of rank three.")
        self.minor, self._factors = (rows, columns), factors
        U, V = ([_primitive(x) for x in vectors] for vectors in factors[:2])
        self.outer = _hull(U, _sum(V))  # rows whose lines are edges
        self.inner = _hull(V, _sum(U))  # columns that are vertices
        self._lines = [U[i] for i in self.outer]
        self._q = [V[j] for j in self.inner]
        self._corners = [_primitive(_cross(self._lines[j - 1], line)) for j, line in enumerate(self._lines)]

    # --- deciding ---------------------------------------------------------------------------------------------------

    def find_polygon(self, k: int) -> list[Vector] | PolygonProof:
        """Return vertices of a polygon with at most k vertices that lies between the two, or a proof that there is none."""
        pieces = []
        breaks = self._breakpoints(k)
        for place, after in zip(breaks, breaks[1:] + breaks[:1], strict=True):
            j, low = place
            high = after[1] if after > place and after[0] == j else Fraction(1)
            for end in (low, high):
                edges, touched = self._walk(j, (low + end) / 2, k)
                closed = self._closing_place(edges, touched, low, end)
                if closed is not None:
                    return self._polygon(j, closed, k)
                pieces.append(Piece(edges, low, end, tuple(self.inner[i] for i in touched)))
        return PolygonProof(k, self.minor, self.outer, tuple(pieces))

    @cached_property
    def smallest(self) -> list[Vector]:
        """Vertices of a polygon between the two with as few vertices as possible.

        From any start tangents lead around with at most one vertex more than that (Aggarwal et al. 1989).
        """
        polygon = self._polygon(0, Fraction(0), len(self._lines) + 1)
        smaller = self.find_polygon(len(polygon) - 1) if len(polygon) > 3 else None
        return smaller if isinstance(smaller, list) else polygon

    def factors(self, polygon: Sequence[Vector]) -> tuple[np.ndarray, np.ndarray]:
        """Return A = U X and W with M = A W, for the vertices X of a polygon between the two.

        Each column of M is in a triangle of the first and two neighbouring vertices.
        """
        U, V, scale = self._factors
        A = np.array([[Fraction(_dot(u, x)) for x in polygon] for u in U], dtype=object)
        W = np.full((len(polygon), len(V)), Fraction(0), dtype=object)
        for j, v in enumerate(V):
            i, shares = next(triangle for i in range(1, len(polygon) - 1) if (triangle := _find_shares(v, polygon, i)))
            W[[0, i, i + 1], j] = [share / scale for share in shares]
        return A, W

    def _walk(self, j: int, t: Fraction, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return edges and touched vertices of k tangents from a place; fewer where they lead around before."""
        n_edges = len(self._lines)
        edge, p, edges, touched = j, self._point_at((j, t)), [j], []
        while True:
            i = self._tangent(edge, p)
            touched.append(i)
            if len(touched) == k:
                return tuple(edges), tuple(touched)
            landed, p = self._land(edge, p, self._q[i])
            edges.append(edges[-1] + (landed - edge) % n_edges)
            edge = landed
            if edges[-1] >= j + n_edges:
                return tuple(edges), tuple(touched)

    def _closing_place(
        self, edges: tuple[int, ...], touched: tuple[int, ...], low: Fraction, high: Fraction
    ) -> Fraction | None:
        """Return a place t from low to high from which tangents lead around; None if there is none."""
        n_edges, j = len(self._lines), edges[0]
        if edges[-1] >= j + n_edges:
            return (low + high) / 2
        begin = pair = self._ends(j, low, high)
        for edge, i in zip(edges[1:], touched, strict=False):
            pair = _cancel([_intersect(p, self._q[i], self._lines[edge % n_edges]) for p in pair])
        g = _closing(pair, begin, self._q[touched[-1]])
        if _is_negative_inside(g):
            return None
        return _simple_place(g, low, high)

    def _polygon(self, j: int, t: Fraction, k: int) -> list[Vector]:
        """Return vertices from the place t of edge j on, by tangents, until they lead around."""
        n_edges = len(self._lines)
        j, t = (j, t) if t < 1 else ((j + 1) % n_edges, Fraction(0))
        edge, turned, p = j, j, self._point_at((j, t))
        vertices = [p]
        for _ in range(k - 1):
            landed, p = self._land(edge, p, self._q[self._tangent(edge, p)])
            turned, edge = turned + (landed - edge) % n_edges, landed
            around = turned - (j + n_edges)
            if around < 0 or (around == 0 and self._t(j, p) < t):
                vertices.append(p)
            if around >= 0:
                break
        return vertices

    def _ends(self, j: int, low: Fraction, high: Fraction) -> list[Vector]:
        start_corner, end_corner = self._corners[j], self._corners[(j + 1) % len(self._corners)]
        return [_interpolate(start_corner, end_corner, low), _interpolate(start_corner, end_corner, high)]

    # --- tangents ---------------------------------------------------------------------------------------------------

    def _tangent(self, j: int, p: Vector) -> int:
        """Return the vertex of Q (number in ``inner``) that the line from p, on edge j, touches with Q to its left."""
        place = j, self._t(j, p)
        return self._vertices_after[(bisect_right(self._touch_places, place) - 1) % len(self._touch_places)]

    def _land(self, j: int, p: Vector, q: Vector) -> tuple[int, Vector]:
        """Edge and point where the line from p, on edge j, through q leaves P; a corner is on the edge after it."""
        n_edges = len(self._lines)
        # Corners are to the right of the line first, then to its left.
        low, high = j + 1, j + n_edges
        while low < high:
            middle = (low + high) // 2
            if _det(p, q, self._corners[middle % n_edges]) >= 0:
                high = middle
            else:
                low = middle + 1
        corner = self._corners[low % n_edges]
        if _det(p, q, corner) == 0:
            return low % n_edges, corner
        edge = (low - 1) % n_edges
        return edge, _primitive(_intersect(p, q, self._lines[edge]))

    @cached_property
    def _touches(self) -> list[tuple[Place, int]]:
        """Places where the touched vertex changes, in order, with the vertex that is touched from there on."""
        vertex_after: dict[Place, int] = {}
        for i, q in enumerate(self._q):
            following = (i + 1) % len(self._q)
            place = self._backward(self._q[following], q)
            vertex_after[place] = following
        return sorted(vertex_after.items())

    @cached_property
    def _touch_places(self) -> list[Place]:
        return [place for place, _ in self._touches]

    @cached_property
    def _vertices_after(self) -> list[int]:
        return [i for _, i in self._touches]

    def _backward(self, origin: Vector, q: Vector) -> Place:
        """Return the place where the ray from a point of P through q leaves P."""
        best, far = -1, (0, 1)
        for j, line in enumerate(self._lines):
            a, b = _dot(line, q), _dot(line, origin)
            if b > 0 and (best < 0 or a * far[1] < far[0] * b):
                best, far = j, (a, b)
        return self._place(best, _primitive(_intersect(origin, q, self._lines[best])))

    def _breakpoints(self, k: int) -> list[Place]:
        """Corners, and places from which one of the first k tangents changes its vertex or its edge; in order."""
        corners = [(j, Fraction(0)) for j in range(len(self._lines))]
        places = initial_places = set(self._touch_places).union(corners)
        fresh: set[Place] = set(initial_places)
        for _ in range(k - 1):
            fresh = {self._find_predecessor(place) for place in fresh} - places
            places = places | fresh
        return sorted(places)

    def _find_predecessor(self, place: Place) -> Place:
        """Return the place whose tangent ends at a place: the mirrored tangent."""
        j, c = place[0], self._point_at(place)
        best: int | None = None
        for i, q in enumerate(self._q):
            if _dot(self._lines[j], q) > 0 and (best is None or _det(c, self._q[best], q) > 0):
                best = i
        assert best is not None
        return self._backward(c, self._q[best])

    # --- places -----------------------------------------------------------------------------------------------------

    def _point_at(self, place: Place) -> Vector:
        j, t = place
        return _primitive(_interpolate(self._corners[j], self._corners[(j + 1) % len(self._corners)], t))

    def _t(self, j: int, p: Vector) -> Fraction:
        """t of a point of edge j."""
        start_corner, end_corner = self._corners[j], self._corners[(j + 1) % len(self._corners)]
        i = next(i for i, x in enumerate(self._lines[j]) if x)
        a, b = _cross(start_corner, p)[i], _cross(p, end_corner)[i]
        return Fraction(a, a + b)

    def _place(self, j: int, p: Vector) -> Place:
        t = self._t(j, p)
        return (j, t) if t != 1 else ((j + 1) % len(self._lines), Fraction(0))


# --- homogeneous coordinates in whole numbers -------------------------------------------------------------------------


def _cross(a: Sequence[int], b: Sequence[int]) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _det(a: Sequence[int], b: Sequence[int], c: Sequence[int]) -> int:
    """Return the determinant, which is positive if a, b, c are in counterclockwise order."""
    return _dot(a, _cross(b, c))


def _primitive(a: Sequence[int]) -> Vector:
    common = math.gcd(*a) or 1
    return a[0] // common, a[1] // common, a[2] // common


def _cancel(vectors: Sequence[Vector]) -> list[Vector]:
    """Return vectors without the factor that all their entries share."""
    common = math.gcd(*(x for v in vectors for x in v)) or 1
    return [(x // common, y // common, z // common) for x, y, z in vectors]


def _sum(vectors: Sequence[Vector]) -> Vector:
    x, y, z = (sum(column) for column in zip(*vectors, strict=True))
    return x, y, z


def _interpolate(a: Vector, b: Vector, t: Fraction) -> Vector:
    """(1 - t) a + t b, times the denominator of t."""
    s, u = t.denominator - t.numerator, t.numerator
    return s * a[0] + u * b[0], s * a[1] + u * b[1], s * a[2] + u * b[2]


def _intersect(p: Vector, q: Vector, line: Vector) -> Vector:
    """Return the point where the ray from p through q meets a line: q L(p) - p L(q), linear in p."""
    a, b = _dot(line, p), _dot(line, q)
    return q[0] * a - p[0] * b, q[1] * a - p[1] * b, q[2] * a - p[2] * b


def _factor_rank_three(
    M: np.ndarray, rows: tuple[int, ...], columns: tuple[int, ...]
) -> tuple[list[Vector], list[Vector], int] | None:
    """U, V and d > 0 in whole numbers with U V = d M, up to scales of rows; None if the rank is not three."""
    if len(rows) != 3 or len(columns) != 3:
        return None
    integer_rows = [_clear_denominators(row) for row in M]
    U: list[Vector] = [(row[columns[0]], row[columns[1]], row[columns[2]]) for row in integer_rows]
    a, b, c = (U[i] for i in rows)
    d = _det(a, b, c)
    if not d:
        return None
    sign = 1 if d > 0 else -1
    bc, ca, ab = _cross(b, c), _cross(c, a), _cross(a, b)
    V: list[Vector] = []
    for x, y, z in zip(*(integer_rows[i] for i in rows), strict=True):
        v = [sign * (x * bc[i] + y * ca[i] + z * ab[i]) for i in range(3)]
        V.append((v[0], v[1], v[2]))
    for row, u in zip(integer_rows, U, strict=True):
        if any(_dot(u, v) != abs(d) * x for x, v in zip(row, V, strict=True)):
            return None
    return U, V, abs(d)


def _clear_denominators(row: Sequence[int | Fraction]) -> list[int]:
    scale = math.lcm(*(x.denominator for x in row))
    return [int(x.numerator) * (scale // x.denominator) for x in row]


def _hull(vectors: Sequence[Vector], inside: Vector) -> tuple[int, ...]:
    """Return numbers of the extreme rays of a cone, counterclockwise; ``inside`` has a positive product with every vector.

    Andrew's monotone chain in the plane where this product is one.
    """
    axes = next(
        (a, b)
        for a, b in (((1, 0, 0), (0, 1, 0)), ((0, 1, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0)))
        if _det(a, b, inside)
    )
    first, second = axes if _det(*axes, inside) > 0 else axes[::-1]
    points: dict[tuple[Fraction, Fraction], int] = {}
    for i, v in enumerate(vectors):
        height = _dot(inside, v)
        if height:  # a zero vector has none
            points.setdefault((Fraction(_dot(first, v), height), Fraction(_dot(second, v), height)), i)
    order = [i for _, i in sorted(points.items())]
    lower, upper = _chain(vectors, order), _chain(vectors, order[::-1])
    return tuple(lower[:-1] + upper[:-1])


def _chain(vectors: Sequence[Vector], order: Sequence[int]) -> list[int]:
    hull: list[int] = []
    for i in order:
        while len(hull) > 1 and _det(vectors[hull[-2]], vectors[hull[-1]], vectors[i]) <= 0:
            hull.pop()
        hull.append(i)
    return hull


def _find_shares(v: Vector, polygon: Sequence[Vector], i: int) -> tuple[int, list[Fraction]] | None:
    """i and the shares of vertices 0, i and i + 1 in v; None if v is not in their cone."""
    a, b, c = polygon[0], polygon[i], polygon[i + 1]
    area, parts = _det(a, b, c), (_det(v, b, c), _det(a, v, c), _det(a, b, v))
    if area <= 0 or min(parts) < 0:
        return None
    return i, [Fraction(part, area) for part in parts]


# --- the quadratic polynomial of a piece ------------------------------------------------------------------------------

Quadratic = tuple[int, int, int]  # a, b, c: g(x) = a (1 - x)^2 + b x (1 - x) + c x^2 on [0, 1]


def _closing(last: Sequence[Vector], begin: Sequence[Vector], q: Vector) -> Quadratic:
    """det[p_{k-1}(x), p(x), q] for points linear in x from one end of a piece to the other."""
    (c, d), (a, b) = last, begin
    return _det(c, a, q), _det(c, b, q) + _det(d, a, q), _det(d, b, q)


def _is_negative_inside(g: Quadratic) -> bool:
    """Return True if g < 0 for all x between 0 and 1, without the ends."""
    a, b, c = g
    if a > 0 or c > 0:
        return False
    return b < 0 or (b == 0 and a + c < 0) or (b > 0 and b * b < 4 * a * c)


def _simple_place(g: Quadratic, low: Fraction, high: Fraction) -> Fraction:
    """Return a place t from low to high with g >= 0 and a small denominator, for g that is not negative inside."""
    a, b, c = g
    if a >= 0:
        best = low
    elif c >= 0:
        best = high
    else:
        # g / (1 - x)^2 is largest where x / (1 - x) = b / (-2 c); ends have the weights of their denominators.
        s, t = -2 * c * low.denominator, b * high.denominator
        best = (s * low + t * high) / (s + t)
    if low == high:
        return low

    def fits(t: Fraction) -> bool:
        low_weight, high_weight = (high - t) * high.denominator, (t - low) * low.denominator
        # t = ((1 - x) d low + x e high) / ((1 - x) d + x e) for the denominators d and e.
        return (
            low <= t <= high
            and a * low_weight * low_weight + b * low_weight * high_weight + c * high_weight * high_weight >= 0
        )

    return next(t for t in _convergents(best) if fits(t))


def _convergents(t: Fraction) -> Iterator[Fraction]:
    """Yield convergents of the continued fraction of t, which is the last of them."""
    previous, last, n, d = (0, 1), (1, 0), t.numerator, t.denominator
    while d:
        quotient, remainder = divmod(n, d)
        previous, last = last, (quotient * last[0] + previous[0], quotient * last[1] + previous[1])
        yield Fraction(*last)
        n, d = d, remainder


def _rename_numbers(numbers: tuple[int, ...], numbers_in_whole: tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers in a whole matrix of rows or columns of a part."""
    return tuple(numbers_in_whole[i] for i in numbers)
