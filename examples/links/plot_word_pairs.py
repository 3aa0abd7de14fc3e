"""
Which words follow which?
=========================

**Question: how likely is a pair of words that was never seen?**

A table of pairs of neighbouring words is nearly empty: most pairs that will come have never occurred.
:class:`~latentia.matrices.ProbabilityMatrix` learns a table of low rank from the pairs seen, which gives every pair a
probability. Here pairs are drawn from a table that is known, and estimates are compared with counting.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.matrices import ProbabilityMatrix

# %%
# More and more pairs of 500 words
# --------------------------------
sizes, counted, learned, expected = [3_000, 10_000, 30_000, 100_000, 300_000], [], [], []
for n_pairs in sizes:
    data = planted.word_pairs(n_pairs, n_components=4, n_words=500, random_state=1)
    counts = data.counts.toarray()
    truth = data.components.T @ data.mixing @ data.components
    model = ProbabilityMatrix(4).fit(data.counts)
    counted.append(np.abs(counts / counts.sum() - truth).sum())
    learned.append(np.abs(model.rows(np.arange(500)) - truth).sum())
    expected.append(model.evidence_.expected_error)
    print(
        f"{n_pairs:7,} pairs: counting {counted[-1]:.2f}, learned {learned[-1]:.2f}, "
        f"expected {expected[-1]:.2f}, {model.evidence_.grade}"
    )

# %%
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(sizes, counted, "o--", color="#d55e00", label="counting")
ax.plot(sizes, learned, "s-", color="#0072b2", label="ProbabilityMatrix")
ax.plot(sizes, expected, ":", color="#0072b2", label="its expected error")
ax.set(title="How well are probabilities of all 250,000 pairs known?", xscale="log", yscale="log")
ax.set(xlabel="pairs seen", ylabel="l1 error of the whole table (of 2)")
ax.legend()
plt.show()
