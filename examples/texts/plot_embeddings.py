"""
Topics of embeddings
====================

**Question: do the words of texts tell the groups that their embeddings are in?**

Embeddings of a language model say which texts mean alike. :class:`~latentia.topics.EmbeddingTopics` groups them, and asks
the words of documents that it has not learned from which group they are in. Here 1,500 documents of six topics are drawn with
embeddings. In a second copy the rows of the embeddings are shuffled, as happens where a table was sorted and the other was not:
the groups are as good as before, and the words give it away.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.topics import EmbeddingTopics

data = planted.embedded_corpus(1500, n_topics=6, length=12, random_state=4)
shuffled = np.random.default_rng(0).permutation(data.embeddings)

# %%
# The same embeddings, in order and shuffled
# ------------------------------------------
models = {
    "in order": EmbeddingTopics(6).fit(data.texts, data.embeddings),
    "shuffled": EmbeddingTopics(6).fit(data.texts, shuffled),
}
for name, model in models.items():
    print(f"{name}: {model.evidence_.grade}. {model.evidence_.advice}")

# %%
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for offset, (name, model) in zip((-0.2, 0.2), models.items(), strict=True):
    ax.bar(np.arange(6) + offset, model.recall_, 0.4, label=name)
ax.axhline(1 / 6, color="gray", linestyle=":", label="by chance")
ax.set(
    xlabel="topic", ylabel="documents that their words bring back", title="Do words identify the topics?", ylim=(0, 1)
)
ax.legend()
plt.show()
