"""
Ten seeds of LDA, and one answer
================================

**Question: does a topic model find the topics, or other ones with another seed?**

Documents are drawn from twelve topics that are known. Variational LDA, as in scikit-learn, begins from a random
start, and another seed gives other topics: some are right, some are two topics in one.
:class:`~latentia.topics.AnchorTopics` begins from an answer that the data determines, so that there is no seed to
choose, and says beside each topic how far off it expects it to be.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.topics import AnchorTopics

corpus = planted.topic_corpus(200, n_topics=12, n_words=300, length=100, random_state=3)
true = corpus.truth.topics


def errors(topics):
    """The l1 distance of every true topic from the one that was matched with it; 2 is the most."""
    topics = topics / topics.sum(axis=1, keepdims=True)
    return np.sort(recovery_errors(topics, true))


# %%
# Ten seeds, and one fit
# ----------------------
seeds = range(10)
lda = [
    errors(LatentDirichletAllocation(12, max_iter=12, random_state=seed).fit(corpus.counts).components_)
    for seed in seeds
]
model = AnchorTopics(12).fit(corpus.counts)
ours = errors(model.components_)
print(f"worst topic: LDA {min(e[-1] for e in lda):.2f} to {max(e[-1] for e in lda):.2f}, AnchorTopics {ours[-1]:.2f}")
print(
    f"mean of all: LDA {np.mean(lda):.2f}, AnchorTopics {ours.mean():.2f}, which expected {model.evidence_.expected_error:.2f}"
)

# %%
# Each point is a topic
# ---------------------
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for seed, found in zip(seeds, lda, strict=True):
    ax.plot(
        np.full(12, seed), found, "o", color="#d55e00", mfc="none", label="LDA, a random start" if seed == 0 else None
    )
ax.plot(np.full(12, 10.5), ours, "s", color="#0072b2", label="AnchorTopics")
ax.set_xticks([*seeds, 10.5], [*map(str, seeds), "none"])
ax.set(title="How far is each topic from the truth?", xlabel="seed", ylabel="l1 error of a topic (of 2)", ylim=(0, 2))
fig.legend(loc="outside lower center", ncols=2)
plt.show()
