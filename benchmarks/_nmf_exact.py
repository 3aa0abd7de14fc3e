"""Matrices of rank three whose nonnegative rank is known to be three, or above, by how they are made.

Each is the slack matrix of points within a polygon: entry (i, j) is the distance of point j to the line of edge i,
times the length of the edge. Three components are enough if and only if a triangle lies between the points and the
polygon.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from latentia.datasets.instances import hardness_gadget

Point = tuple[Fraction, Fraction]
TINY = Fraction(1, 10**9)


class Instance(NamedTuple):
    """A matrix, whether three components are enough, and whether a change of 1e-9 could change that."""

    kind: str
    M: np.ndarray
    feasible: bool
    degenerate: bool


def rank_three_instances(n: int = 300, seed: int = 0) -> Iterator[Instance]:
    """n instances of all kinds in turn, two thirds of them degenerate."""
    rng = np.random.default_rng(seed)
    kinds = itertools.cycle((planted, by_area, gadget, squares, separable, slack, double_root, sparse, touching))
    made = 0
    for make in kinds:
        if made == n:
            return
        instance = make(rng, made)
        if instance is not None:
            made += 1
            yield instance._replace(M=disguised(instance.M, rng))


# --- kinds ------------------------------------------------------------------------------------------------------------


def planted(rng: np.random.Generator, number: int) -> Instance | None:
    """Dense factors."""
    return _product("planted", rng.integers(1, 12, (8, 3)), rng.integers(1, 12, (3, 9)), False)


def sparse(rng: np.random.Generator, number: int) -> Instance | None:
    """Factors with so many zeros that often no other ones exist."""
    A, W = (rng.integers(1, 9, shape) * (rng.random(shape) < 0.6) for shape in ((10, 3), (3, 10)))
    return _product("sparse", A, W, True)


def separable(rng: np.random.Generator, number: int) -> Instance | None:
    """The corners of the triangle are columns of M."""
    W = np.hstack([np.eye(3, dtype=int), rng.integers(0, 5, (3, 6))])
    return _product("separable", rng.integers(0, 5, (8, 3)), W, True)


def by_area(rng: np.random.Generator, number: int) -> Instance | None:
    """Points whose hull is larger than all triangles within the polygon; those have the corners of the largest one."""
    polygon = circle(rng, int(rng.integers(5, 10)))
    centre = mean(polygon)
    shrink = Fraction(int(rng.integers(800, 1000)), 1000)
    points = [between(centre, p, shrink) for p in polygon]
    largest = max(abs(cross(*three)) for three in itertools.combinations(polygon, 3))
    area = sum(cross(points[0], a, b) for a, b in itertools.pairwise(points[1:]))
    return Instance("by area", slack_matrix(polygon, points), False, False) if area > largest else None


def gadget(rng: np.random.Generator, number: int) -> Instance:
    """The gadget of section 2.4.1: N triangles fit; outward by 1e-9 none does."""
    values = sorted({Fraction(int(x), 1000) for x in rng.choice(1001, rng.integers(2, 13), replace=False)})
    shift = int(rng.integers(-1, 2))
    return Instance("gadget", hardness_gadget(values, shift=shift * TINY), shift <= 0, True)


def squares(rng: np.random.Generator, number: int) -> Instance:
    """A triangle fits between squares of a ratio up to sqrt(2) - 1, and no others (Mond, Smith, van Straten 2003).

    The ratio is one of the best approximations of this number, which are above and below in turn.
    """
    p, q = 0, 1
    for _ in range(int(rng.integers(3, 60))):
        p, q = q, 2 * q + p
    ratio = Fraction(p, q)
    corners = [(Fraction(x), Fraction(y)) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    M = slack_matrix(corners, [(ratio * x, ratio * y) for x, y in corners])
    return Instance("squares", M, (p + q) ** 2 < 2 * q * q, True)


def slack(rng: np.random.Generator, number: int) -> Instance:
    """Corners of the polygon itself."""
    polygon = circle(rng, int(rng.integers(3, 8)))
    return Instance("slack", slack_matrix(polygon, polygon), len(polygon) == 3, True)


def touching(rng: np.random.Generator, number: int) -> Instance:
    """Points on the edges of the polygon, which are the corners of a triangle, or of a quadrilateral."""
    polygon = circle(rng, int(rng.integers(4, 8)))
    k = 3 + number % 2
    edges = np.sort(rng.choice(len(polygon), k, replace=False))
    corners = [between(polygon[i], polygon[(i + 1) % len(polygon)], share(rng)) for i in edges]
    inside = [mean([corners[i] for i in rng.choice(k, 2, replace=False)]) for _ in range(3)]
    # A triangle within the polygon reaches a point of an edge with a corner, or with two corners on this edge. So it
    # reaches points of no more than three edges.
    return Instance("touching", slack_matrix(polygon, corners + inside), k == 3, True)


def double_root(rng: np.random.Generator, number: int) -> Instance | None:
    """Three sides that touch one point each, so that turning the triangle closes to second order.

    Lines through q_0, q_1, q_2 lead from p(t) on an edge of the polygon over two others back to the first. The third
    point is put where the derivative of this map at the corner of the triangle is one.
    """
    polygon = circle(rng, int(rng.integers(5, 8)))
    edges = [int(i) for i in np.sort(rng.choice(len(polygon), 3, replace=False))]
    lines = [(polygon[i], polygon[(i + 1) % len(polygon)]) for i in edges]
    p = [between(*line, share(rng)) for line in lines]
    directions = [(b[0] - a[0], b[1] - a[1]) for a, b in lines]
    rate = Fraction(1)
    q = []
    for i in range(3):
        a, b = p[i], p[(i + 1) % 3]
        chord = b[0] - a[0], b[1] - a[1]
        u, v = directions[i], directions[(i + 1) % 3]
        # p moves by u dt, the other end by -v dt c (|b - q| / |q - a|) with c the ratio of the sines.
        sines = wedge(u, chord) / wedge(v, chord)
        if i < 2:
            part = share(rng)
        elif rate * sines == 1:
            return None
        else:
            part = rate * sines / (rate * sines - 1)  # so that the rate is one after the next line
        if not 0 < part < 1:
            return None
        rate = rate * -sines * (1 - part) / part
        q.append(between(a, b, part))
    points = [*q, *(between(mean(q), corner, Fraction(1, 50)) for corner in p)]
    return Instance("double root", slack_matrix(polygon, points), True, True)


# --- geometry ---------------------------------------------------------------------------------------------------------


def circle(rng: np.random.Generator, n: int) -> list[Point]:
    """n rational points on the circle, counterclockwise, with the centre within their hull."""
    while True:
        halves = np.tan((np.sort(rng.uniform(0, 2 * np.pi, n)) - np.pi) / 2)
        exact = sorted({Fraction(float(t)).limit_denominator(40) for t in halves})
        angles = 2 * np.arctan(np.array(exact, dtype=float))
        if len(exact) == n and np.diff(np.append(angles, angles[0] + 2 * np.pi)).max() < 3:
            return [((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)) for t in exact]


def slack_matrix(polygon: list[Point], points: list[Point]) -> np.ndarray:
    sides = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return np.array([[cross(a, b, point) for point in points] for a, b in sides], dtype=object)


def disguised(M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows and columns in another order and scaled, some of them twice, and a zero row."""
    rows, columns = (np.append(rng.permutation(size), rng.integers(size, size=2)) for size in M.shape)
    by_row, by_column = (
        np.array([Fraction(int(x), 7) for x in rng.integers(1, 30, len(part))], dtype=object)
        for part in (rows, columns)
    )
    zero = np.full(len(columns), Fraction(0), dtype=object)
    return np.vstack([by_row[:, None] * M[np.ix_(rows, columns)] * by_column, zero])


def cross(a: Point, b: Point, c: Point) -> Fraction:
    """Twice the area of a triangle."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def wedge(u: Point, v: Point) -> Fraction:
    return u[0] * v[1] - u[1] * v[0]


def between(a: Point, b: Point, t: Fraction) -> Point:
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])


def mean(points: list[Point]) -> Point:
    return sum(p[0] for p in points) / Fraction(len(points)), sum(p[1] for p in points) / Fraction(len(points))


def share(rng: np.random.Generator) -> Fraction:
    return Fraction(int(rng.integers(1, 12)), 12)


def _product(kind: str, A: np.ndarray, W: np.ndarray, degenerate: bool) -> Instance | None:
    M = A.astype(object) @ W.astype(object)
    if np.linalg.matrix_rank(M.astype(float)) < 3:
        return None
    exact = np.array([[Fraction(int(x)) for x in row] for row in M], dtype=object)
    return Instance(kind, exact, True, degenerate)
