"""What the theorems on topics assume, measured on a fitted model."""

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
from ._corpus import Documents, Words
from ._embedding import Embedding

TRUSTED = 0.4  # mean l1 error (0 to 2), below which topics are worth reading one by one
_ANCHOR_DOCUMENTS = 20
_LEFT_OUT = 0.15
_OWN, _OWN_SHARE = 0.8, 0.03  # of a word, that makes it a topic's own; of a topic, that is in such words


@dataclass(frozen=True)
class Measured:
    """What a fit by anchor words knows about itself.

    Attributes
    ----------
    embedding : Embedding
    vertices : ndarray of shape (K, d)
    weights : ndarray of shape (V', K)
        Nearest mixture of the anchors' rows for every row of the embedding.
    moment : ndarray of shape (K, K)
    prevalence : ndarray of shape (K,)
    anchor_documents, anchor_probability : ndarray of shape (K,)
        Document frequency of each anchor, and its probability in its topic.
    own_share : ndarray of shape (K,)
        Of each topic in words of its own.
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
    own_share: np.ndarray
    documents: Documents
    words: Words
    dirichlet_total: float


def topic_error_checks(parts: PartErrors, limit: float = TRUSTED, n_documents: int = 0) -> list[Check]:
    """The lines on expected errors of topics."""
    symbol, unit = "mean |A_k - A'_k|_1", "0 is exact, 2 is all wrong"
    return error_checks(parts, limit, symbol, unit, "topic", n_rows=n_documents)


def anchor_checks(m: Measured, parts: PartErrors, limit: float) -> list[Check]:
    """The lines of the evidence table; those about documents only where the model was fitted on documents."""
    of_documents = [*_anchor_frequency(m), *_dropped(m), *_theorems(m)] if m.documents.used else []
    errors = topic_error_checks(parts, limit, m.documents.used)
    return [*errors, *_simplex(m), *_own_words(m), *_topic_mixture(m), *of_documents]


def own_share(topics: np.ndarray, prevalence: np.ndarray) -> np.ndarray:
    """Probability of the words that are mostly of one topic, 80% of their occurrences at least, in each topic, shape (K,)."""
    joint = prevalence[:, None] * topics
    own = joint >= _OWN * joint.sum(axis=0)
    return np.asarray((topics * own).sum(axis=1))


def share_left_out(embedding: Embedding) -> float:
    """Share of the co-occurrence matrix, noise aside, that the topics do not explain (see `left_out`)."""
    if not len(embedding.spectrum) or not embedding.noise > 0:
        return 0.0
    return missing_spectrum_share(embedding.spectrum, embedding.sketch.shape[1], embedding.noise_edge(), first=1)


def _simplex(m: Measured) -> list[Check]:
    k = len(m.vertices)
    smallest = float(np.linalg.svd(m.vertices, compute_uv=False)[-1])
    active = m.embedding.marginal > 0
    rows, p = m.embedding.rows[active], m.embedding.marginal[active]
    outside = p @ ((rows - m.weights[active] @ m.vertices) ** 2).sum(axis=1)
    total = p @ ((rows - p @ rows) ** 2).sum(axis=1)
    noise = p @ m.embedding.row_noise[active]
    beyond = max(float(outside - noise), 0.0) / max(float(total - noise), np.finfo(float).tiny)
    anchor_noise = float(np.sqrt(np.mean(m.embedding.noise / np.maximum(_frequency(m), np.finfo(float).tiny))))
    known = m.embedding.noise > 0
    lines = [
        Check(
            "anchor simplex", "sigma_min", smallest, above(anchor_noise, "noise of a row") if known else None,
            "Smallest singular value of the anchors' rows: how far the topics are from being confused.",
            "Def. 4.1, Thm. 4.3",
        ),
        Check(
            "outside the simplex", "|x - CS|^2", beyond, at_most(0.1),
            "Share of the words' variation that no mixture of anchors explains, beyond noise.", "Def. 3.1",
        ),
    ]  # fmt: skip
    if len(m.embedding.spectrum) and known:
        lines += rank_checks(m.embedding.spectrum, m.embedding.noise_edge(), k, reference="sec. 3.3", veto=0.5)
        lines.append(
            Check(
                "goodness of fit", "|lambda_left| / |lambda|", share_left_out(m.embedding), at_most(_LEFT_OUT, "of the fit"),
                "Share of the co-occurrence of words, noise aside, that the topics do not explain. It widens the "
                "errors.",
                "not in the papers", "caution",
                "The documents have structure that these topics do not explain: compare with other numbers of them.",
            )
        )  # fmt: skip
    return lines


def _own_words(m: Measured) -> list[Check]:
    if len(m.own_share) == 1:
        return []
    least = int(m.own_share.argmin())
    return [
        Check(
            "words of its own", "", float(m.own_share[least]), at_least(_OWN_SHARE),
            f"Probability in topic {least} of words that are mostly of that topic. Anchors need some: without them it may be "
            "mixed with others, and parts of the data are mixed alike.", "Def. 3.1", "caution",
            f"Topic {least} has hardly any words of its own: compare with latent Dirichlet allocation, which needs none.",
        )
    ]  # fmt: skip


def _anchor_frequency(m: Measured) -> list[Check]:
    rarest = int(m.anchor_documents.argmin())
    return [
        Check(
            "rarest anchor", "documents", float(m.anchor_documents[rarest]), at_least(_ANCHOR_DOCUMENTS),
            f"Documents with the anchor of topic {rarest}; the median over topics is "
            f"{int(np.median(m.anchor_documents))}.", "Def. 3.1",
        )
    ]  # fmt: skip


def _frequency(m: Measured) -> np.ndarray:
    """Probability of each anchor in the corpus, shape (K,)."""
    return m.anchor_probability * m.prevalence


def _topic_mixture(m: Measured) -> list[Check]:
    imbalance = float(m.prevalence.max() / max(m.prevalence.min(), np.finfo(float).tiny))
    gamma = bounds.l1_condition_number(m.moment)
    return [
        Check("topic imbalance", "a", imbalance, None, "Most frequent topic over least frequent.", "Def. 3.2"),
        Check(
            "conditioning of R", "gamma", gamma, above(0),
            f"l1 condition number of E[w w^T]; as a matrix its condition number is {np.linalg.cond(m.moment):.3g}.",
            "Def. 3.3, 3.5",
        ),
    ]  # fmt: skip


def _dropped(m: Measured) -> list[Check]:
    d, w = m.documents, m.words
    return [
        Check(
            "documents dropped", "", float(d.empty + d.short), None,
            f"{d.empty} empty and {d.short} of a single word; {d.used} were used.", "sec. 4.1",
        ),
        Check(
            "words dropped", "", float(w.n_unseen), None,
            f"Never seen. {w.n_merged} more are too rare to learn and share one runoff word; {w.n_kept} were kept.",
            "Lemma 3.16",
        ),
    ]  # fmt: skip


def _theorems(m: Measured) -> list[Check]:
    k, n_words = m.moment.shape[0], m.words.n_kept + 1
    imbalance = float(m.prevalence.max() / max(m.prevalence.min(), 1e-12))
    p, gamma = float(max(m.anchor_probability.min(), 1e-12)), max(bounds.l1_condition_number(m.moment), 1e-12)
    size = {"n_topics": k, "n_words": n_words, "length": m.documents.length, "separability": p, "imbalance": imbalance}
    eps = 0.1
    main = bounds.topic_documents(eps, condition=gamma, **size)
    lda = bounds.dirichlet_topic_documents(eps, alpha0=m.dirichlet_total, **size)
    robustness = float(1 / np.linalg.norm(np.linalg.pinv(m.vertices), axis=0).max())  # least distance to a span
    limit = bounds.anchor_noise_limit(robustness, k)
    noise = float(np.sqrt(np.max(m.embedding.noise / np.maximum(_frequency(m), np.finfo(float).tiny))))
    used = float(m.documents.used)
    return [
        Check(
            "documents, Theorem 3.4", "m", used, None,
            f"The worst-case theorem asks for {main:.1e} (constant 1) for an entry-wise error of 0.1; practice needs far "
            "fewer.", "Thm. 3.4",
        ),
        Check(
            "documents, Theorem 3.17", "m", used, None,
            f"Under LDA, for the Dirichlet parameters too, the theorem asks for {lda:.1e} (constant 1).", "Thm. 3.17",
        ),
        Check(
            "noise, Theorem 4.3", "eps", noise, None,
            f"l2 noise of the noisiest anchor's row. Greedy anchors are proven up to {limit:.1e}.", "Thm. 4.3",
        ),
    ]  # fmt: skip
