"""
Short texts with one topic each
===============================

**Question: how many short texts does it take to learn their topics?**

Titles, messages and queries have a dozen words, and one topic each. :class:`~latentia.topics.SingleTopicModel` is
made for them: it learns from triples of words in the same text. Here texts of ten words are drawn from eight topics,
and the fit says beforehand how far off it expects its topics to be.
"""

import matplotlib.pyplot as plt

from latentia.datasets import planted
from latentia.metrics import recovery_errors
from latentia.topics import SingleTopicModel

# %%
# From a few hundred texts to tens of thousands
# ---------------------------------------------
sizes, errors, expected, grades = [500, 1000, 2000, 4000, 8000, 16000], [], [], []
for n_texts in sizes:
    corpus = planted.topic_corpus(n_texts, n_topics=8, n_words=500, length=10, proportions="single", random_state=1)
    model = SingleTopicModel(8).fit(corpus.counts)
    errors.append(recovery_errors(model.components_, corpus.truth.topics).mean())
    expected.append(model.evidence_.expected_error)
    grades.append(model.evidence_.grade)
    print(f"{n_texts:6,} texts: error {errors[-1]:.2f}, expected {expected[-1]:.2f}, {grades[-1]}")

# %%
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(sizes, errors, "o-", color="#0072b2", label="error")
ax.plot(sizes, expected, "s:", color="#d55e00", mfc="none", label="what the fit expected")
for size, error, grade in zip(sizes, errors, grades, strict=True):
    ax.annotate(grade, (size, error), xytext=(6, 8), textcoords="offset points", fontsize=8)
ax.set(
    title="How many short texts does it take?",
    xscale="log",
    xlabel="texts of ten words",
    ylabel="mean l1 error of a topic (of 2)",
)
ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
ax.minorticks_off()
ax.set_ylim(0, None)
ax.margins(x=0.12)
ax.legend()
plt.show()
