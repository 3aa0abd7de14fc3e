"""What a block model's fit knows about itself, and the checks that follow from it.

Expected errors are l1 distances of a community's memberships, relative to its size: sum_i |pi_ik - pi'_ik| / sum_i pi_ik, of a
possible 2; their mean by size is the mean l1 error of a node. Five things say how large they are.

- The posterior knows what a node's own edges leave open, but takes all else for known.
- Fits on three quarters of the edges see all that edges leave open, but near the edge of what can be detected they fall apart
  before the whole does. So where every node is in one community their distance only says how much too sure posteriors are.
- Counts of a node's edges to each community, given its own, scatter as a multinomial if the model holds. They scatter more
  where nodes that were put in one community are in several, where neighbours of a node know each other, and where nodes have
  positions. Fits of parts share this bias; see `Scatter`.
- So they do that of too few communities, of which the eigenvalues that are left out tell.
- And that of nodes with positions instead of communities: directions are left, and more triangles than communities explain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ..evidence import (
    Check,
    PartErrors,
    above,
    at_least,
    at_most,
    bounds,
    convergence_checks,
    error_checks,
    missing_spectrum_share,
    noise_limit,
    rank_checks,
    trivial_checks,
)
from ..metrics import link_auc
from ..moments import Graph
from ._fit import Found
from ._model import Communities, EdgeLists
from ._scatter import Scatter

TRUSTED = 0.5  # mean relative l1 error of a community (0 to 2)
_PAIRS = 100_000  # without an edge, that held-out edges are compared with
_SMOOTH = 0.01  # share of even chances in likelihoods of held-out edges
_LEAST_SNR = 1.2
_PREDICTED = 0.65  # distance of two fits over the sum of their errors: so it is on graphs with known answers
_SHARED = 2.0  # error of mixed memberships over the distance, also there: root 3 is of noise, more of shared priors
_MERGED = 0.5  # error of a community, where two of a size became one
_LOST = 5.0  # times what three quarters of the edges have not of a community: what other edges would not have
_POSITIONS = 0.75  # error of a community over its surplus of triangles times that of the leading direction that is left
_TRIANGLES = 1.5  # over those expected: up to 1.25 on planted communities, 1.3 to 1.6 on graphs of people
_TINY = 1e-300
_NOBODY = 1e-6  # members of a community that is empty: nothing is known of it


@dataclass(frozen=True)
class Part:
    """A fit on some of the edges.

    Attributes
    ----------
    distances : ndarray of shape (K,)
        Relative l1 distance of each community to the nearest one of the part.
    spread : ndarray of shape (K,)
        What the part's own posterior leaves open, for these.
    again : ndarray of shape (K,)
        How much of each community it has, see `latentia.evidence.repeats`.
    fitted, trivial : ndarray
        Log-probabilities of the edges that were left out, under the fit and under a graph without communities.
    auc : float
        Chance that an edge left out scores higher than a pair without edge.
    """

    distances: np.ndarray
    spread: np.ndarray
    again: np.ndarray
    fitted: np.ndarray
    trivial: np.ndarray
    auc: float


@dataclass(frozen=True)
class Measured:
    """What the checks are made of.

    Attributes
    ----------
    graph : Graph
    ends : EdgeLists
    found : Found
    errors : PartErrors
    parts : list of Part
    residual : float
        Leading eigenvalue of what the model leaves of the scaled adjacency matrix, over the edge of noise.
    triangles : float
        Over those that the communities expect.
    high, low : float
        Mean probability, or weight, of edges inside and across communities.
    scatter : Scatter
        Of edges to communities, given a node's own.
    """

    graph: Graph
    ends: EdgeLists
    found: Found
    errors: PartErrors
    parts: list[Part]
    residual: float
    triangles: float
    high: float
    low: float
    scatter: Scatter


def column_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """sum_i |pi_ik - pi'_il| / sum_i pi_ik of memberships (n, K) and (n, L), shape (K, L); rows of NaN are left out."""
    seen = ~(np.isnan(first).any(axis=1) | np.isnan(second).any(axis=1))
    first, second = first[seen], second[seen]
    sizes = first.sum(axis=0)[:, None]
    apart = cdist(first.T, second.T, "cityblock")
    return np.where(sizes > _NOBODY, np.minimum(apart / np.maximum(sizes, _NOBODY), 2.0), 2.0)


def relative_spread(found: Found) -> np.ndarray:
    """Expected relative l1 error of each community under the posterior, of shares of edges, shape (K,)."""
    pi = found.communities.memberships
    return found.mixed.spread() / np.maximum(pi.sum(axis=0), np.finfo(float).tiny)


def unexplained(found: Found, residual: float, triangles: np.ndarray) -> np.ndarray:
    """Error of communities among nodes that have positions, of their triangles over those expected, shape (K,)."""
    left = max(residual / noise_limit(len(found.start.space.scale)) - 1, 0.0)
    return np.minimum(_POSITIONS * left * np.maximum(triangles - 1, 0.0), 2.0)


def expected_errors(
    found: Found, parts: list[Part], scatter: Scatter, beyond: np.ndarray, directed: bool
) -> np.ndarray:
    """Expected relative l1 error of each community, shape (K,).

    One community a node: the error under the posterior, times the distance of the parts over what the posteriors predict of
    it, if that is more than one. Without steps of EM there is no posterior; the chance that a node is in the wrong community
    falls exponentially in its edges, so that three quarters of them have an error of which that of the whole is the power 4/3.
    Mixed memberships: the distance too, as posteriors take for known which community explains an end of an edge.

    To these comes what is ``beyond`` the model, shape (K,), and every membership that is misplaced, which counts in two
    communities.
    """
    own, refined = relative_spread(found), len(found.mixed.refinement.log_likelihood) > 0
    distances = np.mean([part.distances for part in parts], axis=0)
    if found.mixed.dirichlet.any():
        errors = np.hypot(own if refined else 0.0, _SHARED * distances)
    elif not refined:
        errors = distances ** (4 / 3)
    else:
        errors = _inflated(own, np.mean([part.spread for part in parts], axis=0), distances)
    space = found.start.space
    merged = _MERGED * missing_spectrum_share(np.abs(spectrum_of(found, directed)), len(own) - 1, space.edge)
    wrong = np.hypot(2 * scatter.misplaced, np.hypot(merged, beyond))
    return np.minimum(np.hypot(errors, wrong), 2.0)


def _inflated(own: np.ndarray, of_parts: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Errors under the posterior, of a whole and its parts, as large as it takes to explain their distances.

    The whole has the share of the distance that its posterior has of both; about half, where the distance is so much larger
    that posteriors are not to be believed.
    """
    both = np.maximum(own + of_parts, _TINY)
    times = np.maximum(distances / (_PREDICTED * both), 1.0)
    share = np.maximum(own / both, (1 - 1 / times) / 2)
    return np.maximum(own, share * distances / _PREDICTED)


def found_again(parts: list[Part]) -> np.ndarray | None:
    """How much of each community is found again, shape (K,); None of one, or without parts.

    Three quarters of the edges are nearly the whole graph, so that what they have not counts five times.
    """
    if not parts or len(parts[0].again) < 2:
        return None
    return np.maximum(1 - _LOST * (1 - np.mean([part.again for part in parts], axis=0)), 0.0)


# --- parts --------------------------------------------------------------------------------------------------------


def held_out(
    c: Communities,
    kept: np.ndarray,
    known: sparse.csr_array,
    hidden: sparse.csr_array,
    directed: bool,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Log-probabilities of edges, times their weight over its mean, under the fit and under a graph without communities.

    And the AUC of telling these edges from pairs without one.

    Parameters
    ----------
    c : Communities
        Of the nodes ``kept``, of n, those that have edges in ``known``.
    known, hidden : csr_array of shape (n, n)
        Edges that were fitted, and those that were left out.
    """
    n = known.shape[0]
    place = np.full(n, -1)
    place[kept] = np.arange(len(kept))
    cells = sparse.coo_array(hidden if directed else sparse.triu(hidden, 1))
    i, j = cells.coords
    total = float((c.mass * c.connectivity).sum())
    out, into = (np.asarray(known.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    out, into = (x / x.sum() for x in (out, into))

    def chances(i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = (place[i] >= 0) & (place[j] >= 0)
        fitted = np.zeros(len(i))
        fitted[both] = c.rates(place[i[both]], place[j[both]]) / total
        even = _SMOOTH / n**2
        return (1 - _SMOOTH) * fitted + even, (1 - _SMOOTH) * out[i] * into[j] + even

    fitted, trivial = chances(i, j)
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, n, (2, min(_PAIRS, 4 * len(i) + 100)))
    free = (a != b) & ~_has_edge(known, a, b) & ~_has_edge(hidden, a, b)
    auc = link_auc(fitted, chances(a[free], b[free])[0]) if free.any() and len(i) else 0.5
    weights = cells.data / max(float(cells.data.mean()), _TINY) if len(i) else np.empty(0)
    return weights * np.log(fitted), weights * np.log(trivial), auc


def _has_edge(table: sparse.csr_array, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    return np.asarray(table[i, j]).ravel() > 0


def spectrum_of(found: Found, directed: bool) -> np.ndarray:
    """Eigenvalues, or singular values, of the scaled adjacency matrix, by decreasing modulus.

    Of a directed graph every singular value is an eigenvalue with both signs, and the first one tells its ends apart.
    """
    observed = found.start.space.observed
    return np.abs(observed[1::2]) if directed else observed


def snr(n_nodes: int, high: float, low: float, k: int, alpha0: float) -> float:
    """Root of the signal over the threshold of Kesten and Stigum, with the sign of H - L, less what mixing takes of it."""
    inside, across = (float(np.clip(chance, 0, 1)) for chance in (high, low))
    if inside + across <= 0:
        return 0.0
    return float(np.sign(high - low) * np.sqrt(bounds.kesten_stigum(n_nodes, k, inside, across))) / (1 + alpha0)


# --- checks -------------------------------------------------------------------------------------------------------


def checks(m: Measured) -> list[Check]:
    """The lines of the evidence."""
    k, found, ends = len(m.found.communities.connectivity), m.found, m.ends
    n, unit = ends.n_nodes, "relative to its size (0 to 2)"
    lines = error_checks(
        m.errors, TRUSTED, "mean |pi_k - pi'_k|_1 / |pi_k|_1", unit, "community", "the posterior and parts of the edges"
    )
    if m.parts:
        fitted, trivial = (np.concatenate([getattr(part, name) for part in m.parts]) for name in ("fitted", "trivial"))
        fitted = fitted if k > 1 else trivial  # of one community there is nothing to tell
        lines += trivial_checks(
            fitted, trivial, extra=0, n_rows=len(fitted), against="degrees alone", unit="edge", deviations=1.0
        )
        lines.append(
            Check(
                "held-out links", "AUC", float(np.mean([part.auc for part in m.parts])), above(0.5, "chance"),
                "Chance that an edge which was left out scores higher than a pair without one.", "not in the thesis",
            )
        )  # fmt: skip
    lines.append(
        Check(
            "goodness of fit", "|A - A'| / e", m.residual, at_most(noise_limit(len(found.start.space.scale)), "1 for noise"),
            "Leading eigenvalue of what the communities leave of the edges, beside the edge of the noise. Above the limit the "
            "graph has structure that they do not have, such as more communities, or positions on a line or a map.",
            "not in the thesis", "caution",
            "The graph has structure that these communities do not explain: compare with other numbers of them.",
        )
    )  # fmt: skip
    lines.append(
        Check(
            "triangles", "t / t'", m.triangles, at_most(_TRIANGLES, "1 for communities alone"),
            "Edges between two neighbours of a node over those that the communities expect there. Above the limit neighbours "
            "know each other for other reasons, such as positions on a map, or events at which they met.",
            "not in the thesis", "caution",
            "Neighbours of a node know each other far more often than communities say: read them as regions, or groups of "
            "people who meet, and compare with more of them.",
        )
    )  # fmt: skip
    return [
        *lines,
        *_scatter_checks(m, k),
        *_spectral_checks(m, k),
        *_graph_checks(m),
        *_theorem_checks(m, k, n),
        *convergence_checks(found.mixed.refinement),
    ]


def _scatter_checks(m: Measured, k: int) -> list[Check]:
    if k == 1:
        return []
    return [
        Check(
            "scatter of neighbours", "|s - d q|^2 / d (1 - |q|^2)", m.scatter.ratio,
            at_most(m.scatter.limit, "1 for noise"),
            "How the edges of nodes to communities scatter, over what chance does. Above the limit nodes of one community "
            "differ: they are in several, have positions rather than communities, or their neighbours know each other.",
            "not in the thesis", "caution",
            "Nodes of one community differ in whom they are linked to: let them be in several by alpha0, merge nodes that are "
            "copies of each other, or read the communities as regions without borders.",
        )
    ]  # fmt: skip


def _spectral_checks(m: Measured, k: int) -> list[Check]:
    space = m.found.start.space
    moduli = np.abs(spectrum_of(m.found, m.ends.directed))
    directions = k - 1
    edge = noise_limit(len(space.scale)) * space.edge
    lines = [] if k == 1 else rank_checks(moduli, edge, directions, 1, "section 8.3.2")
    if k > 1 and not (moduli > edge).any():
        meaning = "Whom a node is linked to says nothing beside degrees: there are no communities to be found."
        remedy = "More edges are needed to see communities, if there are any."
        lines.append(Check("structure", "|lambda_2| > e", 0.0, at_least(1), meaning, "section 8.4", "veto", remedy))
    if 0 < directions < len(moduli):
        last, after = float(moduli[directions - 1]), float(moduli[directions])
        lines.append(
            Check(
                "eigengap", f"lambda_{k} - lambda_{k + 1}, over e", (last - after) / max(space.edge, 1e-300), above(0),
                "How far the last direction of the communities is from the next one.", "section 8.5.1",
            )
        )  # fmt: skip
    return lines


def _graph_checks(m: Measured) -> list[Check]:
    found, graph = m.found, m.graph
    corrected = (
        "Nodes have an activity of their own here." if found.shape.corrected else "Nodes are equally active here."
    )
    return [
        Check(
            "dispersion of degrees", "sum (d - e)^2 / e / n", found.dispersion, None,
            f"Variance of degrees within communities over their mean, 1 where nodes are equally active. {corrected}",
            "the model",
        ),
        Check(
            "isolated nodes", "d_i = 0", float(len(graph.isolated)), None,
            "They have no memberships: NaN, and label -1.", "the model",
        ),
        Check(
            "connected parts", "", float(graph.parts), None,
            "Of nodes with edges. What is not connected says nothing of each other.", "the model",
        ),
    ]  # fmt: skip


def _theorem_checks(m: Measured, k: int, n: int) -> list[Check]:
    if k == 1:
        return []
    strength = snr(n, m.high, m.low, k, m.found.alpha0)
    return [
        Check(
            "homophily", "H - L", m.high - m.low, above(0),
            f"Mean probability of edges inside communities, {m.high:.2g}, less that across, {m.low:.2g}. The theorems, and "
            "averages over neighbours, need it; the fit does not.", "section 8.1.2",
        ),
        Check(
            "signal to noise", "(H - L) (n / K)^(1/2) / ((1 + alpha_0) (H + (K - 1) L)^(1/2))", strength, at_least(_LEAST_SNR),
            "Above 1, the threshold of Kesten and Stigum, efficient methods detect communities of equal size. Below, no test "
            "detects two of them, and no efficient one is known for more.", "not in the thesis",
        ),
        Check(
            "regime of the theorem", "(p - q) / sqrt(p)", (m.high - m.low) / max(m.high, 1e-300) ** 0.5,
            at_least(bounds.community_strength(n, k), "k / sqrt(n)"),
            "Above it (constant 1, without logarithms) recovery is proven.", "Theorem 8.4",
        ),
    ]  # fmt: skip
