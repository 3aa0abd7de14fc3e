"""Expected errors of a block model's fit, and the checks of its assumptions.

Expected errors are l1 distances of a community's memberships, relative to its size: sum_i |pi_ik - pi'_ik| / sum_i pi_ik, of a
possible 2; their mean by size is the mean l1 error of a node. Five sources contribute to them.

- The posterior has the uncertainty from a node's own edges, but takes everything else for known.
- Fits on three quarters of the edges have all uncertainty from edges, but near the detection threshold they fail before the
full
  fit does. So where every node is in one community, their distance only corrects posteriors that are too certain.
- Counts of a node's edges to each community, given the node's community, scatter as a multinomial if the model holds. They
  scatter more where nodes in one community belong to several, where neighbours of a node know each other, and where nodes have
  positions. Fits of parts share this bias; see `Scatter`.
- Fits of parts also share the bias from too few communities, which the next eigenvalues show.
- And the bias where nodes have positions instead of communities: directions remain, and there are more triangles than
  communities explain.
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
from ..evidence.limits import MAX_MEMBERSHIP_ERROR
from ..linalg.ratios import ratio_of
from ..metrics import link_auc
from ..moments import Graph
from ._fit import CommunityFit
from ._model import Communities, EdgeLists
from ._scatter import Scatter

_N_PAIRS = 100_000  # pairs without an edge, to compare held-out edges with
_UNIFORM_SHARE = 0.01  # share of uniform probabilities in likelihoods of held-out edges
_MIN_SNR = 1.2
_DISTANCE_OVER_ERRORS = 0.65  # distance of two fits over the sum of their errors, measured on graphs with known answers
_ERROR_OVER_DISTANCE = (
    2.0  # error of mixed memberships over the distance, also there: root 3 is of noise, more of shared priors
)
_ERROR_OF_MERGED = 0.5  # error of a community that merges two of equal size
_LOSS_FACTOR = 5.0  # turns the loss of a community on three quarters of the edges into the loss on other edges
_POSITION_FACTOR = (
    0.75  # error of a community over its excess of triangles times that of the leading remaining direction
)
_TINY = 1e-300
_MIN_MEMBERS = 1e-6  # communities with fewer members are empty: their memberships are unknown


@dataclass(frozen=True)
class PartialFit:
    """A fit on some of the edges.

    Attributes
    ----------
    distances : ndarray of shape (K,)
        Relative l1 distance of each community to the nearest one of the part.
    spread : ndarray of shape (K,)
        Expected errors of these under the posterior of the part.
    repeatability : ndarray of shape (K,)
        How much of each community the part has, see `latentia.evidence.repeats`.
    fitted, trivial : ndarray
        Log-probabilities of the edges that were left out, under the fit and under a graph without communities.
    auc : float
        Chance that an edge left out scores higher than a pair without edge.
    """

    distances: np.ndarray
    spread: np.ndarray
    repeatability: np.ndarray
    fitted: np.ndarray
    trivial: np.ndarray
    auc: float


@dataclass(frozen=True)
class Measurements:
    """Measurements that the checks are built from.

    Attributes
    ----------
    graph : Graph
    ends : EdgeLists
    fit : CommunityFit
    errors : PartErrors
    parts : list of PartialFitialFit
    residual : float
        Leading eigenvalue of the scaled adjacency matrix less the model, over the edge of noise.
    triangles : float
        Triangles over those that the communities expect.
    high, low : float
        Mean probability, or weight, of edges inside and across communities.
    scatter : Scatter
        Scatter of nodes' edges over communities, given the node's community.
    """

    graph: Graph
    ends: EdgeLists
    fit: CommunityFit
    errors: PartErrors
    parts: list[PartialFit]
    residual: float
    triangles: float
    high: float
    low: float
    scatter: Scatter


def column_distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return sum_i |pi_ik - pi'_il| / sum_i pi_ik of memberships (n, K) and (n, L), shape (K, L); rows of NaN are left out."""
    is_known = ~(np.isnan(first).any(axis=1) | np.isnan(second).any(axis=1))
    first, second = first[is_known], second[is_known]
    sizes = first.sum(axis=0)[:, None]
    distances = cdist(first.T, second.T, "cityblock")
    return np.where(sizes > _MIN_MEMBERS, np.minimum(distances / np.maximum(sizes, _MIN_MEMBERS), 2.0), 2.0)


def posterior_errors_of(fit: CommunityFit) -> np.ndarray:
    """Return the expected relative l1 error of each community under the posterior of shares of edges, shape (K,)."""
    pi = fit.communities.memberships
    return np.asarray(ratio_of(fit.mixed.spread(), pi.sum(axis=0)))


def estimate_position_errors(fit: CommunityFit, residual: float, triangles: np.ndarray) -> np.ndarray:
    """Estimate errors of communities among nodes that have positions, from observed over expected triangles, shape (K,)."""
    excess_residual = max(residual / noise_limit(len(fit.start.space.scale)) - 1, 0.0)
    return np.minimum(_POSITION_FACTOR * excess_residual * np.maximum(triangles - 1, 0.0), 2.0)


def estimate_errors(
    fit: CommunityFit, parts: list[PartialFit], scatter: Scatter, model_errors: np.ndarray, directed: bool
) -> np.ndarray:
    """Estimate the relative l1 error of each community, shape (K,).

    One community a node: the error under the posterior, raised where parts are further away than the posteriors predict.
    Without steps of EM there is no posterior; the probability that a node is in the wrong community falls exponentially in its
    number of edges, so that the error of the full fit is that of three quarters of the edges to the power 4/3. Mixed
    memberships: the distance of the parts too, as posteriors take for known which community explains an end of an edge.

    Added to these are the ``model_errors``, shape (K,), of a model that does not hold, and every misplaced membership, which
    counts in two communities.
    """
    posterior_errors, refined = posterior_errors_of(fit), len(fit.mixed.refinement.log_likelihood) > 0
    distances = np.mean([part.distances for part in parts], axis=0)
    if fit.mixed.dirichlet.any():
        errors = np.hypot(posterior_errors if refined else 0.0, _ERROR_OVER_DISTANCE * distances)
    elif not refined:
        errors = distances ** (4 / 3)
    else:
        errors = _inflate_errors(posterior_errors, np.mean([part.spread for part in parts], axis=0), distances)
    space = fit.start.space
    merged = _ERROR_OF_MERGED * missing_spectrum_share(
        np.abs(spectrum_of(fit, directed)), len(posterior_errors) - 1, space.edge
    )
    misplaced = np.hypot(2 * scatter.misplaced, np.hypot(merged, model_errors))
    return np.minimum(np.hypot(errors, misplaced), 2.0)


def _inflate_errors(full_errors: np.ndarray, part_errors: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Raise errors under the posterior, of the full fit and its parts, until they explain their distances.

    The full fit takes the share of the distance that its posterior has in both; about half, where the distance is so much
    larger that posteriors are meaningless.
    """
    total_errors = np.maximum(full_errors + part_errors, _TINY)
    inflation = np.maximum(distances / (_DISTANCE_OVER_ERRORS * total_errors), 1.0)
    share = np.maximum(full_errors / total_errors, (1 - 1 / inflation) / 2)
    return np.maximum(full_errors, share * distances / _DISTANCE_OVER_ERRORS)


def rate_repeatability(parts: list[PartialFit]) -> np.ndarray | None:
    """Rate how much of each community repeats on other edges, shape (K,); None for one community, or without parts.

    Three quarters of the edges are nearly the full graph, so that losses on them count five times.
    """
    if not parts or len(parts[0].repeatability) < 2:
        return None
    return np.maximum(1 - _LOSS_FACTOR * (1 - np.mean([part.repeatability for part in parts], axis=0)), 0.0)


# --- parts --------------------------------------------------------------------------------------------------------


def score_held_out_edges(
    c: Communities,
    nodes: np.ndarray,
    fitted_edges: sparse.csr_array,
    held_out_edges: sparse.csr_array,
    directed: bool,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return log-probabilities of held-out edges under the fit, and under a graph without communities, and the AUC.

    They are weighted by the edges' weights over their mean. The AUC compares these edges with pairs without one.

    Parameters
    ----------
    c : Communities
        Communities of ``nodes``, those of the n that have edges in ``fitted_edges``.
    fitted_edges, held_out_edges : csr_array of shape (n, n)
    """
    n = fitted_edges.shape[0]
    positions = np.full(n, -1)
    positions[nodes] = np.arange(len(nodes))
    cells = sparse.coo_array(held_out_edges if directed else sparse.triu(held_out_edges, 1))
    i, j = cells.coords
    total = float((c.mass * c.connectivity).sum())
    out, into = (np.asarray(fitted_edges.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    out, into = (x / x.sum() for x in (out, into))

    def chances(i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        is_fitted = (positions[i] >= 0) & (positions[j] >= 0)
        fitted = np.zeros(len(i))
        fitted[is_fitted] = c.rates(positions[i[is_fitted]], positions[j[is_fitted]]) / total
        uniform = _UNIFORM_SHARE / n**2
        return (1 - _UNIFORM_SHARE) * fitted + uniform, (1 - _UNIFORM_SHARE) * out[i] * into[j] + uniform

    fitted, trivial = chances(i, j)
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, n, (2, min(_N_PAIRS, 4 * len(i) + 100)))
    has_no_edge = (
        (first != second) & ~_has_edge(fitted_edges, first, second) & ~_has_edge(held_out_edges, first, second)
    )
    auc = link_auc(fitted, chances(first[has_no_edge], second[has_no_edge])[0]) if has_no_edge.any() and len(i) else 0.5
    weights = cells.data / max(float(cells.data.mean()), _TINY) if len(i) else np.empty(0)
    return weights * np.log(fitted), weights * np.log(trivial), auc


def _has_edge(table: sparse.csr_array, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    return np.asarray(table[i, j]).ravel() > 0


def spectrum_of(fit: CommunityFit, directed: bool) -> np.ndarray:
    """Return eigenvalues, or singular values, of the scaled adjacency matrix, by decreasing modulus.

    For a directed graph every singular value is an eigenvalue with both signs, and the first eigenvalue separates both ends.
    """
    observed = fit.start.space.observed
    return np.abs(observed[1::2]) if directed else observed


def snr(n_nodes: int, high: float, low: float, k: int, alpha0: float) -> float:
    """Return the root of the signal over the Kesten-Stigum threshold, with the sign of H - L, reduced by mixing."""
    inside, across = (float(np.clip(chance, 0, 1)) for chance in (high, low))
    if inside + across <= 0:
        return 0.0
    return float(np.sign(high - low) * np.sqrt(bounds.kesten_stigum(n_nodes, k, inside, across))) / (1 + alpha0)


# --- checks -------------------------------------------------------------------------------------------------------


def checks(m: Measurements) -> list[Check]:
    """Build the checks of the evidence."""
    k, fit, ends = len(m.fit.communities.connectivity), m.fit, m.ends
    n, unit = ends.n_nodes, "relative to its size (0 to 2)"
    checks_so_far = error_checks(
        m.errors,
        MAX_MEMBERSHIP_ERROR,
        "mean |pi_k - pi'_k|_1 / |pi_k|_1",
        unit,
        "community",
        "the posterior and parts of the edges",
    )
    if m.parts:
        fitted, trivial = (np.concatenate([getattr(part, name) for part in m.parts]) for name in ("fitted", "trivial"))
        fitted = fitted if k > 1 else trivial  # a single community equals the trivial model
        checks_so_far += trivial_checks(
            fitted, trivial, extra=0, n_rows=len(fitted), against="degrees alone", unit="edge", deviations=1.0
        )
        checks_so_far.append(
            Check(
                "held-out links", "AUC", float(np.mean([part.auc for part in m.parts])), above(0.5, "chance"),
                "Probability that a held-out edge scores higher than a pair without an edge.", "not in the thesis",
            )
        )  # fmt: skip
    checks_so_far.append(
        Check(
            "goodness of fit", "|A - A'| / e", m.residual, at_most(noise_limit(len(fit.start.space.scale)), "1 for noise"),
            "Leading eigenvalue of the edges less those that the communities explain, over that of noise. Above the limit the "
            "graph has further structure, such as more communities, or positions on a line or a map.",
            "not in the thesis", "caution",
            "The graph has structure that these communities do not explain: compare with other numbers of them.",
        )
    )  # fmt: skip
    checks_so_far.append(
        Check(
            "triangles", "t / t'", m.triangles, None,
            "Edges between two neighbours of a node, over the number that the communities predict: 1 for communities alone. "
            "Above 1.5 neighbours know each other for other reasons, such as positions on a map, or events at which they met.",
            "not in the thesis",
        )
    )  # fmt: skip
    return [
        *checks_so_far,
        *_scatter_checks(m, k),
        *_spectral_checks(m, k),
        *_graph_checks(m),
        *_theorem_checks(m, k, n),
        *convergence_checks(fit.mixed.refinement),
    ]


def _scatter_checks(m: Measurements, k: int) -> list[Check]:
    if k == 1:
        return []
    return [
        Check(
            "scatter of neighbours", "|s - d q|^2 / d (1 - |q|^2)", m.scatter.ratio,
            at_most(m.scatter.limit, "1 for noise"),
            "Scatter of nodes' edges over communities, relative to chance. Above the limit nodes of one community differ: "
            "they are in several, have positions rather than communities, or their neighbours know each other.",
            "not in the thesis", "caution",
            "Nodes of one community differ in whom they are linked to: let them be in several by alpha0, merge nodes that are "
            "copies of each other, or read the communities as regions without borders.",
        )
    ]  # fmt: skip


def _spectral_checks(m: Measurements, k: int) -> list[Check]:
    space = m.fit.start.space
    moduli = np.abs(spectrum_of(m.fit, m.ends.directed))
    directions = k - 1
    edge = noise_limit(len(space.scale)) * space.edge
    checks_so_far = [] if k == 1 else rank_checks(moduli, edge, directions, 1, "section 8.3.2")
    if 0 < directions < len(moduli):
        last_modulus, next_modulus = float(moduli[directions - 1]), float(moduli[directions])
        checks_so_far.append(
            Check(
                "eigengap", f"lambda_{k} - lambda_{k + 1}, over e", float(ratio_of(last_modulus - next_modulus, space.edge)),
                above(0),
                "Distance of the last direction of the communities from the next one.", "section 8.5.1",
            )
        )  # fmt: skip
    return checks_so_far


def _graph_checks(m: Measurements) -> list[Check]:
    fit, graph = m.fit, m.graph
    corrected = "Nodes have an activity of their own here." if fit.shape.corrected else "Nodes are equally active here."
    return [
        Check(
            "dispersion of degrees", "sum (d - e)^2 / e / n", fit.dispersion, None,
            f"Variance of degrees within communities over their mean, 1 where nodes are equally active. {corrected}",
            "the model",
        ),
        Check(
            "isolated nodes", "d_i = 0", float(len(graph.isolated)), None,
            "Their memberships are NaN, and their label is -1.", "the model",
        ),
        Check(
            "connected parts", "", float(graph.parts), None,
            "Connected components of nodes with edges. They carry no information about each other.", "the model",
        ),
    ]  # fmt: skip


def _theorem_checks(m: Measurements, k: int, n: int) -> list[Check]:
    if k == 1:
        return []
    strength = snr(n, m.high, m.low, k, m.fit.alpha0)
    return [
        Check(
            "homophily", "H - L", m.high - m.low, above(0),
            f"Mean probability of edges inside communities, {m.high:.2g}, less that across, {m.low:.2g}. The theorems, and "
            "averages over neighbours, need it; the fit does not.", "section 8.1.2",
        ),
        Check(
            "signal to noise", "(H - L) (n / K)^(1/2) / ((1 + alpha_0) (H + (K - 1) L)^(1/2))", strength, at_least(_MIN_SNR),
            "Above 1, the threshold of Kesten and Stigum, efficient methods detect communities of equal size. Below, no test "
            "detects two of them, and no efficient one is known for more.", "not in the thesis",
        ),
        Check(
            "regime of the theorem", "(p - q) / sqrt(p)", (m.high - m.low) / max(m.high, 1e-300) ** 0.5,
            at_least(bounds.community_strength(n, k), "k / sqrt(n)"),
            "Above it (constant 1, without logarithms) recovery is proven.", "Theorem 8.4",
        ),
    ]  # fmt: skip
