"""
How mixed may documents be?
===========================

**Question: are topics still found where every document is about several of them?**

Documents about one topic each are easy; documents that all mix everything tell nothing. Between these,
:class:`~latentia.topics.SpectralLDA` learns from third moments of words and asks that shares follow a Dirichlet
distribution, and :class:`~latentia.topics.AnchorTopics` asks that each topic have a word of its own. Both say
beforehand how far off they expect to be, which here can be compared with the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.topics import AnchorTopics, SpectralLDA

# %%
# From one topic to a mixture of all
# ----------------------------------
# With a sum of the Dirichlet parameters of 0.1 a document is nearly about one of the eight topics; with 10 it has
# some of each.
sums = [0.1, 0.3, 1.0, 3.0, 10.0]
estimators = {"SpectralLDA": SpectralLDA(8), "AnchorTopics": AnchorTopics(8)}
errors = {name: np.empty((len(sums), 2)) for name in estimators}
for row, total in enumerate(sums):
    corpus = planted.topic_corpus(2000, n_topics=8, n_words=400, length=100, concentration=total / 8, random_state=2)
    for name, estimator in estimators.items():
        model = estimator.fit(corpus.counts)
        true = recovery_errors(model.components_, corpus.truth.topics).mean()
        errors[name][row] = true, model.evidence_.expected_error
        print(
            f"{total:4}: {name:12} error {true:.2f}, expected {model.evidence_.expected_error:.2f}, {model.evidence_.grade}"
        )

# %%
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, table), colour, marker in zip(errors.items(), ["#0072b2", "#d55e00"], "so", strict=True):
    ax.plot(sums, table[:, 0], marker + "-", color=colour, label=f"{name}: error")
    ax.plot(sums, table[:, 1], ":", color=colour, label=f"{name}: expected error")
ax.set(title="How mixed may documents be?", xscale="log", yscale="log")
ax.set(
    xlabel="sum of the Dirichlet parameters: from one topic to a mixture of all",
    ylabel="mean l1 error of a topic (of 2)",
)
ax.legend()
plt.show()
