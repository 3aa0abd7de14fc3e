"""Drawings of graphs: places from forces between nodes, and pies for nodes in several communities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..system.threads import single_blas_thread

_SIZE, _MARGIN = np.array([1000.0, 720.0]), 24.0
_STEPS, _PULL, _GRAVITY = 200, 4.0, 0.25
_MIN_RADIUS, _MAX_RADIUS, _GAP = 3.5, 13.0, 1.5
_MIN_SINGLE_SHARE = 0.9  # nodes with a larger share have one colour
_MIN_EDGES_PER_NODE = 3.0  # with fewer edges a node, communities attract nodes of a partial graph, too
_GREY = "#7b8794"
_CENTRE_POWER = 0.35  # power of the distance from the centre that is removed
_MAX_EDGES, _MAX_LABELS, _LABELS_OF_EACH = (
    8000,
    30,
    6,
)  # edges that are drawn, and names of nodes: of all and of a community
_LETTER, _LINE = 6.6, 14.0  # width and height of letters


@dataclass(frozen=True)
class Pie:
    """A node of a drawing: `slices` are colours and shares, the largest first; edges between nodes of one `colour` have it."""

    label: str
    title: str
    weight: float
    slices: list[tuple[str, float]]
    colour: str


def draw_graph(adjacency: Any, pies: Sequence[Pie], shares: np.ndarray, is_complete: bool) -> dict[str, Any]:
    """Draw a graph.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
        If there are many edges, a sample is drawn.
    pies : sequence of Pie, of length n
    shares : ndarray of shape (n, K)
        In a partial graph with very few edges, nodes with the same shares attract each other.
    whole : bool
        Whether these are all nodes.

    Returns
    -------
    dict
        In SVG terms ``width`` and ``height``; ``edges``: colour, opacity and path of lines; ``nodes`` with ``x, y, r, fill,
        slices, title``, where slices are (colour, path); ``labels``: places and texts. ``n_nodes, n_edges``: numbers of drawn
        nodes, and of edges between them; ``whole, all_edges, pulled``: whether all nodes, and all edges between them, are
        drawn, and whether communities attract nodes.
    """
    table = sparse.csr_array(adjacency, dtype=np.float64)
    table = table + table.T
    table.data[:] = 1.0
    n = table.shape[0]
    is_sparse = not is_complete and table.nnz / max(n, 1) < _MIN_EDGES_PER_NODE
    weight = np.array([pie.weight for pie in pies])
    top = np.sqrt(weight / max(weight.max(initial=0.0), 1e-300))
    radius = (_MIN_RADIUS + (_MAX_RADIUS - _MIN_RADIUS) * top) * min(1.0, np.sqrt(150 / max(n, 1)) * 0.6 + 0.4)
    with single_blas_thread():
        places = _separate_circles(_fit_to_picture(force_layout(table, shares if is_sparse else None)), radius)
    first, second = sparse.triu(table, 1).tocoo().coords
    n_edges = len(first)
    if n_edges > _MAX_EDGES:
        sample = np.sort(np.random.default_rng(0).permutation(n_edges)[:_MAX_EDGES])
        first, second = first[sample], second[sample]
    nodes = [_draw_node(pies[i], places[i], float(radius[i])) for i in np.argsort(-radius, kind="stable")]
    width, height = _SIZE.astype(int).tolist()
    return {
        "width": width, "height": height, "edges": _draw_edges(places, pies, first, second), "nodes": nodes, "n_nodes": n,
        "labels": _place_labels(places, radius, pies, shares * weight[:, None]), "n_edges": n_edges, "whole": is_complete,
        "all_edges": n_edges <= _MAX_EDGES, "pulled": is_sparse,
    }  # fmt: skip


def force_layout(table: Any, shares: np.ndarray | None = None) -> np.ndarray:
    """Compute places (n, 2) where edges attract nodes and all nodes repel each other, after Fruchterman and Reingold.

    Parameters
    ----------
    table : csr_array of shape (n, n)
        Symmetric. An edge attracts with its weight over the root of the product of the degrees, which limits hubs.
    shares : ndarray of shape (n, K), optional
        Nodes with the same shares attract each other, too.
    """
    n = table.shape[0]
    degrees = np.maximum(np.asarray(table.sum(axis=1)).ravel(), 1.0)
    scale = 1 / np.sqrt(degrees)
    pull = (table * scale[:, None] * scale).toarray() * _PULL
    if shares is not None:
        likeness = shares @ shares.T
        np.fill_diagonal(likeness, 0.0)
        pull += _PULL * likeness / np.maximum(likeness.sum(axis=1).mean(), 1e-300)
    rng, distance = np.random.default_rng(0), 1 / np.sqrt(max(n, 1))
    pull /= 4 * distance
    places = rng.standard_normal((n, 2)) * 0.3
    for step in range(_STEPS):
        square = np.maximum(_squares(places), 1e-6)
        force = distance**2 / square - pull * np.sqrt(square)
        move = _sum_forces(force, places) - _GRAVITY * places * distance
        length = np.maximum(np.sqrt((move**2).sum(axis=1, keepdims=True)), 1e-12)
        places = places + move / length * np.minimum(length, 0.12 * (1 - step / _STEPS) ** 1.5 + 1e-4)
    return np.asarray(places)


def _squares(places: np.ndarray) -> np.ndarray:
    """Return squared distances (n, n)."""
    norms = (places**2).sum(axis=1)
    return np.asarray(norms[:, None] + norms - 2 * places @ places.T)


def _sum_forces(force: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return sums over j of force_ij (x_i - x_j), shape (n, 2)."""
    return np.asarray(force.sum(axis=1, keepdims=True) * places - force @ places)


def _fit_to_picture(places: np.ndarray) -> np.ndarray:
    """Rotate places to be widest from left to right, and scale them to the picture, compressed far from the centre."""
    centred = places - places.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2] if len(places) > 1 else np.eye(2)
    for axis in axes:
        axis *= np.sign(axis[np.abs(axis).argmax()]) or 1.0
    rotated = centred @ axes.T
    rotated = rotated / np.maximum(np.sqrt((rotated**2).sum(axis=1, keepdims=True)), 1e-12) ** _CENTRE_POWER
    low, high = rotated.min(axis=0), rotated.max(axis=0)
    stretch = (_SIZE - 2 * _MARGIN) / np.maximum(high - low, 1e-9)
    return np.asarray((rotated - (low + high) / 2) * np.minimum(stretch, 1.35 * stretch.min()) + _SIZE / 2)


def _separate_circles(places: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Move places until hardly any circle hides another."""
    reach = radius[:, None] + radius + _GAP
    for _ in range(60):
        length = np.sqrt(np.maximum(_squares(places), 1e-6))
        np.fill_diagonal(length, np.inf)
        push = np.maximum(reach - length, 0) / length / 2
        if not push.any():
            break
        places = places + 0.5 * _sum_forces(push, places)
    rim = radius[:, None] + 2
    return np.clip(places, rim, _SIZE - rim)


def _draw_edges(
    places: np.ndarray, pies: Sequence[Pie], first: np.ndarray, second: np.ndarray
) -> list[tuple[str, str, str]]:
    """Return edges as one path for each colour; those between nodes of different colours are grey, and below the others."""
    paths: dict[str, str] = {_GREY: ""}
    points = [f"{x:.0f} {y:.0f}" for x, y in places]
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        colour = pies[i].colour if pies[i].colour == pies[j].colour else _GREY
        paths[colour] = paths.get(colour, "") + f"M{points[i]}L{points[j]}"
    opacity = float(np.clip(25 / np.sqrt(max(len(first), 1)), 0.08, 0.6))
    faint = {_GREY: 0.6}
    return [(colour, f"{opacity * faint.get(colour, 1):.2f}", path) for colour, path in paths.items() if path]


def _draw_node(pie: Pie, place: np.ndarray, radius: float) -> dict[str, Any]:
    """Return a circle in the colour of the largest slice, and paths of the other slices."""
    (x, y), slices = place, pie.slices or [(_GREY, 1.0)]
    mixed, total = len(slices) > 1 and slices[0][1] < _MIN_SINGLE_SHARE, sum(share for _, share in slices)
    paths, angle = list[tuple[str, str]](), 2 * np.pi * slices[0][1] / total
    for colour, share in slices[1:] if mixed else ():
        turn = 2 * np.pi * share / total
        (a, b), (c, d) = ((x + radius * np.sin(t), y - radius * np.cos(t)) for t in (angle, angle + turn))
        arc = f"A{radius:.1f} {radius:.1f} 0 {int(turn > np.pi)} 1 {c:.1f} {d:.1f}z"
        paths.append((colour, f"M{x:.1f} {y:.1f}L{a:.1f} {b:.1f}{arc}"))
        angle += turn
    circle = {"x": f"{x:.1f}", "y": f"{y:.1f}", "r": f"{radius:.1f}"}
    return circle | {"fill": slices[0][0], "title": pie.title, "slices": paths}


def _place_labels(
    places: np.ndarray, radius: np.ndarray, pies: Sequence[Pie], central: np.ndarray
) -> list[tuple[str, str, str]]:
    """Place names of the most central nodes of every community in turn, where they hide no other name."""
    order = np.argsort(-central, axis=0, kind="stable")[: min(_LABELS_OF_EACH, _MAX_LABELS // central.shape[1] + 1)]
    boxes: list[tuple[float, float, float, float]] = []
    labels: list[tuple[str, str, str]] = []
    for i in dict.fromkeys(order.ravel().tolist()):
        width, (x, y) = _LETTER * len(pies[i].label), places[i]
        x_left = x + radius[i] + 3
        if x_left + width > _SIZE[0]:
            x_left = x - radius[i] - 3 - width
        box = (x_left, y - _LINE / 2, x_left + width, y + _LINE / 2)
        if x_left < 0 or any(box[0] < c and a < box[2] and box[1] < d and b < box[3] for a, b, c, d in boxes):
            continue
        boxes.append(box)
        labels.append((f"{x_left:.1f}", f"{y + 4.5:.1f}", pies[i].label))
    return labels[:_MAX_LABELS]
