"""C_V against its definition, window by window, and FREX against its formula."""

import numpy as np

from latentia.metrics import cv_coherence, frex


def naive(topic, documents, window):
    views = []
    for words in documents:
        views += [set(words[i : i + window]) for i in range(max(len(words) - window + 1, 1))] if words else []

    def share(*words):
        return sum(all(word in view for word in words) for view in views) / len(views)

    vectors = np.zeros((len(topic), len(topic)))
    for i, a in enumerate(topic):
        for j, b in enumerate(topic):
            if share(a) * share(b) > 0:
                joint = share(a, b) + 1e-12
                vectors[i, j] = np.log(joint / (share(a) * share(b))) / -np.log(joint)
    total = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(total)
    return np.mean([v @ total / n if n else 0.0 for v, n in zip(vectors, lengths, strict=True)])


def test_cv_is_its_definition():
    rng = np.random.default_rng(0)
    documents = [[f"w{i}" for i in rng.integers(0, 15, n)] for n in (0, 1, 3, 8, 20, 31)]
    topics = [["w0", "w1", "w2"], ["w3", "w4", "absent"], ["w5", "w6", "w7", "w0"]]
    for window in (4, 8, 110):
        found = cv_coherence(topics, documents, window)
        np.testing.assert_allclose(found, [naive(topic, documents, window) for topic in topics], atol=1e-9)


def test_words_of_one_subject_are_more_coherent():
    documents = [["river", "valley", "flood"], ["bread", "butter", "oven"]] * 10
    found = cv_coherence([["river", "valley", "flood"], ["river", "butter", "oven"]], documents)
    assert found[0] > 0.9 > found[1]


def test_frex_is_its_formula():
    topics = np.array([[0.6, 0.3, 0.1, 0.0], [0.6, 0.0, 0.1, 0.3]])
    # exclusive: .5 1 .5 0; of them at most as large: .75 1 .75 .25; probable: 1 .75 .5 .25
    np.testing.assert_allclose(frex(topics)[0], [2 / (1 / 0.75 + 1), 2 / (1 + 1 / 0.75), 2 / (1 / 0.75 + 2), 0.25])
    assert frex(topics, 1.0)[0].argmax() == 1
