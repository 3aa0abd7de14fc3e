"""
Topics over time, with error bars
=================================

**Question: which topics rise and which fall, and could it be chance?**

Documents of ten years are drawn from eight topics, two of which really change. ``prevalence_over`` gives the share of
every topic in every year with an interval that knows of the documents that happened to be drawn, and of the errors of
the topics themselves. Such intervals are what a plain average of proportions lacks.
"""

import matplotlib.pyplot as plt
import numpy as np

from latentia.datasets import planted
from latentia.metrics import match_components
from latentia.topics import AnchorTopics

# %%
# A corpus with a trend
# ---------------------
# Topic 0 grows from 5% to 30% in ten years, topic 1 shrinks from 30% to 5%, and the others stay.
rng = np.random.default_rng(0)
n_topics, years = 8, np.arange(2010, 2020)
model_of_text = planted.topic_model(n_topics, 800, random_state=0)
times = np.repeat(years, 200)
rise = np.linspace(0.05, 0.30, len(years))
shares = np.column_stack([rise, rise[::-1], *[np.full(len(years), 0.65 / (n_topics - 2))] * (n_topics - 2)])
mixed = np.array([rng.dirichlet(0.8 * shares[time - years[0]]) for time in times])
counts = np.array([rng.multinomial(120, proportions @ model_of_text.topics) for proportions in mixed])

# %%
# Shares by year
# --------------
model = AnchorTopics(n_topics).fit(counts)
trend = model.prevalence_over(counts, times)
found, _ = match_components(model.components_, model_of_text.topics)
clear = np.asarray(trend.change.clear)
print("topics that change beyond chance:", [int(k) for k in range(n_topics) if clear[found[k]]])

# %%
# The dashed lines are the truth
# ------------------------------
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
named = [(0, "rises", "#d55e00", "o"), (1, "falls", "#0072b2", "s"), (2, "stays", "#666666", "^")]
for topic, label, colour, marker in named:
    k = found[topic]
    value, low, high = (100 * side[:, k] for side in (trend.share.value, trend.share.low, trend.share.high))
    ax.errorbar(
        years, value, [value - low, high - value], color=colour, fmt=marker, capsize=3, label=f"topic that {label}"
    )
    ax.plot(years, 100 * mixed[:, topic].reshape(len(years), -1).mean(axis=1), "--", color=colour)
ax.set(
    title="Which topics rise and which fall?",
    xlabel="year",
    ylabel="share of the topic, % (90% intervals)",
    ylim=(0, None),
)
ax.legend(ncols=3)
plt.show()
