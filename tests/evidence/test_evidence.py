import math

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.evidence import Check, Evidence, bounds


def line(name, holds, decides=False):
    return Check(name, "x", 1.5, "<= 2", holds, "why", "Thm. 1", decides)


def test_verdict_depends_on_deciding_checks_alone():
    assert Evidence([line("a", True, True), line("b", False)]).holds
    assert not Evidence([line("a", False, True), line("b", True)]).holds
    assert not Evidence([line("b", True)]).holds


def test_table_frame_and_lookup():
    evidence = Evidence([line("a", True, True), line("b", None)])
    assert "does NOT" not in str(evidence)
    assert "does NOT" in str(Evidence([]))
    frame = evidence.to_frame()
    assert list(frame.columns) == ["name", "symbol", "measured", "needed", "holds", "meaning", "reference"]
    assert evidence["b"].holds is None
    with pytest.raises(KeyError, match="there are a, b"):
        evidence["c"]
    with pytest.raises(LatentiaError, match="no model"):
        evidence.stability(np.ones((3, 3)))


def test_theorem_3_4_scales_as_it_says():
    base = {"n_topics": 10, "n_words": 1000, "length": 100, "separability": 0.1, "condition": 0.5}
    m = bounds.topic_documents(0.1, **base)
    assert m == pytest.approx(math.log(1000) * 10**6 / (0.01 * 0.1**6 * 0.25 * 100))
    assert bounds.topic_documents(0.05, **base) == pytest.approx(4 * m)
    assert bounds.topic_documents(0.1, **base | {"length": 200}) == pytest.approx(m / 2)
    assert bounds.topic_documents(0.1, **base | {"separability": 0.05}) == pytest.approx(64 * m)
    assert bounds.topic_documents(1e5, **base, imbalance=2) == pytest.approx(math.log(10) * 4 * 10**4 / 0.25)
    with pytest.raises(LatentiaError, match="separability=0"):
        bounds.topic_documents(0.1, **base | {"separability": 0})


def test_theorem_3_17_and_4_3():
    m = bounds.dirichlet_topic_documents(0.1, n_topics=5, n_words=100, length=50, separability=0.2, alpha0=1.0)
    assert m == pytest.approx(math.log(100) * 5**8 * 16 / (0.01 * 0.2**6 * 50))
    assert bounds.anchor_noise_limit(0.5, 10) == pytest.approx(0.125 / 200)
    assert bounds.anchor_cover(0.01, 0.5) == pytest.approx(0.02)
    assert bounds.runoff_threshold(0.4, 10, 2) == pytest.approx(0.005)


def test_l1_condition_number_is_the_minimum():
    rng = np.random.default_rng(0)
    b = rng.random((4, 4)) + 2 * np.eye(4)
    rows = b / b.sum(axis=1, keepdims=True)
    number = bounds.l1_condition_number(b)
    x = rng.standard_normal((200_000, 4))
    x /= np.abs(x).sum(axis=1, keepdims=True)
    tried = np.abs(x @ rows).sum(axis=1).min()
    assert number <= tried <= 1.1 * number
    assert bounds.l1_condition_number(np.eye(3)) == pytest.approx(1)
    assert bounds.l1_condition_number(np.ones((3, 3))) == 0
    alpha = np.array([0.3, 0.5, 1.2])  # Lemma 3.18
    r = np.outer(alpha, alpha) + np.diag(alpha)
    assert bounds.l1_condition_number(r) >= 1 / (2 * (alpha.sum() + 1))


def test_bounds_of_the_tensor_power_method():
    limit = bounds.tensor_noise_limit(2.0, 10)
    assert limit == pytest.approx(0.2)
    assert bounds.tensor_vector_error(0.1, 2.0) == pytest.approx(0.4)
    assert bounds.tensor_samples(1000, 0.4, 2.0, 10) == pytest.approx(4000)  # half of the noise: four times the rows
    with pytest.raises(LatentiaError, match="must be positive"):
        bounds.tensor_vector_error(0.1, 0.0)


def test_bounds_of_multi_label_learning():
    known = {"smallest": 0.01, "pairs": 100.0, "triples": 2000.0, "delta": 0.1}
    e = 1 + np.sqrt(np.log(10) / 2)
    third = (5 * (10 / (100 * 0.01**2.5) + 2 * np.sqrt(2) / (2000 * 0.01**1.5)) * e) ** 2
    assert bounds.multilabel_documents(5, **known) == pytest.approx(third)
    errors = bounds.multilabel_errors(10_000, largest=0.1, labelled_pairs=300.0, **known)
    root, n = np.sqrt(0.1), 100.0
    words = 160 * root / (100 * 0.01**2.5) + 32 * np.sqrt(2) * root / (2000 * 0.01**1.5) + 4 * root / (100 * 0.01)
    assert errors.words == pytest.approx(words * e / n)
    weight = 200 / (100 * 0.01**2.5) + 40 * np.sqrt(2) / (2000 * 0.01**1.5)
    assert errors.weight == pytest.approx(weight * e / n)
    labels = 160 / (100 * 0.01**3.5) + 32 * np.sqrt(2) / (2000 * 0.01**2.5) + (2 + 2 * np.sqrt(2)) / (100 * 0.01**2)
    other = 8 * (1 + np.sqrt(np.log(20) / 2)) / (300 * 0.01)
    assert errors.labels == pytest.approx((labels * 2 * e + other) / n)
    more = bounds.multilabel_errors(40_000, largest=0.1, labelled_pairs=300.0, **known)
    assert more.words == pytest.approx(errors.words / 2)
    assert bounds.multilabel_documents(5, **known, longest=9.0) > 80 * third
    with pytest.raises(LatentiaError, match="delta"):
        bounds.multilabel_documents(5, **(known | {"delta": 1.5}))


def test_bounds_of_noisy_or_networks():
    assert bounds.noisy_or_rows(0.1, 100, 0.1) == pytest.approx(math.log(100) / 0.001)
    assert bounds.noisy_or_error(9, 0.25, 0.1, 4.0) == pytest.approx(1.5 * 0.1 * 8)
    with pytest.raises(LatentiaError, match="least_absence=0"):
        bounds.noisy_or_rows(0, 100)
