"""Checks of what the theorems on topics assume, measured on a fitted model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..evidence import (
    Check,
    PartErrors,
    above,
    at_least,
    at_most,
    bounds,
    error_checks,
    missing_spectrum_share,
    rank_checks,
)
from ..evidence.limits import MAX_L1_ERROR
from ..linalg.ratios import ratio_of
from ._corpus import Documents, Words
from ._embedding import Embedding

_MIN_ANCHOR_DOCUMENTS = 20  # An anchor in fewer documents fails its check.
_MAX_UNEXPLAINED = 0.15  # A larger unexplained share of the co-occurrences fails its check.
_EXCLUSIVE_SHARE = 0.8  # A word with this part of its occurrences in one topic is exclusive to it.
_MIN_EXCLUSIVE_MASS = 0.03  # A topic with a smaller probability of exclusive words fails its check.


@dataclass(frozen=True)
class AnchorFit:
    """A fit by anchor words, as its checks need it.

    Attributes
    ----------
    embedding : Embedding
    vertices : ndarray of shape (K, d)
    weights : ndarray of shape (V', K)
        Weights of the nearest mixture of the anchors' rows for every row of the embedding.
    moment : ndarray of shape (K, K)
    prevalence : ndarray of shape (K,)
    anchor_documents, anchor_probability : ndarray of shape (K,)
        Document frequency of each anchor, and its probability in its topic.
    exclusive_share : ndarray of shape (K,)
        Probability of each topic's exclusive words in it.
    documents : Documents
    words : Words
    dirichlet_total : float
        Sum of the Dirichlet parameters.
    """

    embedding: Embedding
    vertices: np.ndarray
    weights: np.ndarray
    moment: np.ndarray
    prevalence: np.ndarray
    anchor_documents: np.ndarray
    anchor_probability: np.ndarray
    exclusive_share: np.ndarray
    documents: Documents
    words: Words
    dirichlet_total: float


def topic_error_checks(parts: PartErrors, limit: float = MAX_L1_ERROR, n_documents: int = 0) -> list[Check]:
    """Return the checks on the expected errors of topics."""
    symbol, unit = "mean |A_k - A'_k|_1", "0 is exact, 2 is all wrong"
    return error_checks(parts, limit, symbol, unit, "topic", n_rows=n_documents)


def anchor_checks(fit: AnchorFit, parts: PartErrors, limit: float) -> list[Check]:
    """Return the checks of a fit; those on documents only if there are documents."""
    document_checks = [*_anchor_frequency(fit), *_omission_checks(fit), *_theorems(fit)] if fit.documents.used else []
    errors = topic_error_checks(parts, limit, fit.documents.used)
    return [*errors, *_simplex(fit), *_exclusive_words(fit), *_topic_mixture(fit), *document_checks]


def exclusive_share(topics: np.ndarray, prevalence: np.ndarray) -> np.ndarray:
    """Return the probability of each topic's exclusive words, with 80% of their occurrences in it, shape (K,)."""
    joint = prevalence[:, None] * topics
    is_exclusive = joint >= _EXCLUSIVE_SHARE * joint.sum(axis=0)
    return np.asarray((topics * is_exclusive).sum(axis=1))


def measure_unexplained_share(embedding: Embedding) -> float:
    """Return the share of the co-occurrence matrix, without noise, that the topics do not explain."""
    if not len(embedding.spectrum) or not embedding.noise > 0:
        return 0.0
    return missing_spectrum_share(embedding.spectrum, embedding.sketch.shape[1], embedding.noise_edge(), first=1)


def _simplex(fit: AnchorFit) -> list[Check]:
    k = len(fit.vertices)
    smallest = float(np.linalg.svd(fit.vertices, compute_uv=False)[-1])
    active = fit.embedding.marginal > 0
    rows, p = fit.embedding.rows[active], fit.embedding.marginal[active]
    outside = p @ ((rows - fit.weights[active] @ fit.vertices) ** 2).sum(axis=1)
    total = p @ ((rows - p @ rows) ** 2).sum(axis=1)
    noise = p @ fit.embedding.row_noise[active]
    beyond = float(ratio_of(max(outside - noise, 0.0), max(total - noise, 0.0)))
    anchor_noise = float(np.sqrt(np.mean(ratio_of(fit.embedding.noise, _frequency(fit)))))
    is_noise_known = fit.embedding.noise > 0
    lines = [
        Check(
            "anchor simplex", "sigma_min", smallest, above(anchor_noise, "noise of a row") if is_noise_known else None,
            "Smallest singular value of the anchors' rows: the larger, the better the topics can be distinguished.",
            "Def. 4.1, Thm. 4.3",
        ),
        Check(
            "outside the simplex", "|x - CS|^2", beyond, at_most(0.1),
            "Share of the words' variation beyond noise that no mixture of anchors explains.", "Def. 3.1",
        ),
    ]  # fmt: skip
    if len(fit.embedding.spectrum) and is_noise_known:
        lines += rank_checks(fit.embedding.spectrum, fit.embedding.noise_edge(), k, reference="sec. 3.3", veto=0.5)
        lines.append(
            Check(
                "goodness of fit", "|lambda_left| / |lambda|", measure_unexplained_share(fit.embedding),
                at_most(_MAX_UNEXPLAINED, "of the fit"),
                "Share of the co-occurrence of words, without noise, that the topics do not explain. It widens the "
                "errors.",
                "not in the papers", "caution",
                "The documents have structure that these topics do not explain: compare with other numbers of them.",
            )
        )  # fmt: skip
    return lines


def _exclusive_words(fit: AnchorFit) -> list[Check]:
    if len(fit.exclusive_share) == 1:
        return []
    poorest = int(fit.exclusive_share.argmin())
    return [
        Check(
            "words of its own", "", float(fit.exclusive_share[poorest]), at_least(_MIN_EXCLUSIVE_MASS),
            f"Probability in topic {poorest} of words that occur mostly in that topic. Anchors need such words: without "
            "them the topic may be mixed with others, in the same way in all parts of the data.", "Def. 3.1", "caution",
            f"Topic {poorest} has hardly any words of its own: compare with latent Dirichlet allocation, which needs none.",
        )
    ]  # fmt: skip


def _anchor_frequency(fit: AnchorFit) -> list[Check]:
    rarest = int(fit.anchor_documents.argmin())
    return [
        Check(
            "rarest anchor", "documents", float(fit.anchor_documents[rarest]), at_least(_MIN_ANCHOR_DOCUMENTS),
            f"Documents with the anchor of topic {rarest}; the median over topics is "
            f"{int(np.median(fit.anchor_documents))}.", "Def. 3.1",
        )
    ]  # fmt: skip


def _frequency(fit: AnchorFit) -> np.ndarray:
    """Return the probability of each anchor in the corpus, shape (K,)."""
    return fit.anchor_probability * fit.prevalence


def _topic_mixture(fit: AnchorFit) -> list[Check]:
    imbalance = float(ratio_of(fit.prevalence.max(), fit.prevalence.min()))
    gamma = bounds.l1_condition_number(fit.moment)
    return [
        Check("topic imbalance", "a", imbalance, None, "Most frequent topic over least frequent.", "Def. 3.2"),
        Check(
            "conditioning of R", "gamma", gamma, above(0),
            f"l1 condition number of E[w w^T]; as a matrix its condition number is {np.linalg.cond(fit.moment):.3g}.",
            "Def. 3.3, 3.5",
        ),
    ]  # fmt: skip


def _omission_checks(fit: AnchorFit) -> list[Check]:
    documents, words = fit.documents, fit.words
    return [
        Check(
            "documents dropped", "", float(documents.empty + documents.short), None,
            f"{documents.empty} empty and {documents.short} of a single word; {documents.used} were used.", "sec. 4.1",
        ),
        Check(
            "words dropped", "", float(words.n_unseen), None,
            f"They never occur. {words.n_merged} more are too rare and share one runoff word; {words.n_kept} were used.",
            "Lemma 3.16",
        ),
    ]  # fmt: skip


def _theorems(fit: AnchorFit) -> list[Check]:
    k, n_words = fit.moment.shape[0], fit.words.n_kept + 1
    imbalance = float(fit.prevalence.max() / max(fit.prevalence.min(), 1e-12))
    min_probability, gamma = (
        float(max(fit.anchor_probability.min(), 1e-12)),
        max(bounds.l1_condition_number(fit.moment), 1e-12),
    )
    size = {
        "n_topics": k,
        "n_words": n_words,
        "length": fit.documents.length,
        "separability": min_probability,
        "imbalance": imbalance,
    }
    eps = 0.1
    n_documents = bounds.topic_documents(eps, condition=gamma, **size)
    n_documents_lda = bounds.dirichlet_topic_documents(eps, alpha0=fit.dirichlet_total, **size)
    robustness = float(1 / np.linalg.norm(np.linalg.pinv(fit.vertices), axis=0).max())  # smallest distance to a span
    limit = bounds.anchor_noise_limit(robustness, k)
    noise = float(np.sqrt(np.max(ratio_of(fit.embedding.noise, _frequency(fit)))))
    n_used = float(fit.documents.used)
    return [
        Check(
            "documents, Theorem 3.4", "m", n_used, None,
            f"The worst-case theorem asks for {n_documents:.1e} (constant 1) for an entry-wise error of 0.1; practice needs "
            "far fewer.", "Thm. 3.4",
        ),
        Check(
            "documents, Theorem 3.17", "m", n_used, None,
            f"Under LDA, for the Dirichlet parameters too, the theorem asks for {n_documents_lda:.1e} (constant 1).",
            "Thm. 3.17",
        ),
        Check(
            "noise, Theorem 4.3", "eps", noise, None,
            f"l2 noise of the noisiest anchor's row. Greedy anchors are proven up to {limit:.1e}.", "Thm. 4.3",
        ),
    ]  # fmt: skip
