"""
How many topics?
================

**Question: how many topics does a corpus carry?**

Held-out likelihood goes on growing long after single topics have become arbitrary. What can be *read* is another
question: up to which number would another half of the documents give the same topics? ``n_components`` takes a range;
the fit compares the numbers by its own expected errors, and recommends one.
"""

import matplotlib.pyplot as plt
import pandas as pd

from latentia.datasets import planted
from latentia.plots import plot_comparison
from latentia.topics import AnchorTopics

# %%
# Documents of twelve topics, a number that the fit does not know.
corpus = planted.topic_corpus(1500, n_topics=12, n_words=600, length=100, random_state=1)
model = AnchorTopics(range(6, 19, 3)).fit(corpus.counts)
print("recommended:", model.n_components_)
print(pd.DataFrame(model.comparison_).to_string(index=False))

# %%
ax = plot_comparison(model)
ax.set_title("How many topics can be read? (12 were planted)")
plt.show()
